/* vktrain bench: measure a device, save, compare, guard against regressions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_bench_scaling.h"
#include "start_ranks.h"
#include "cmd_bench_table.h"
#include "cmd_bench_verify.h"

typedef struct bench_options {
    cli_options common;
    bool quick, once, key, list, markdown, scaling, submit, host;
    const char *json, *csv, *svg, *html, *baseline, *op, *step;
    int only;
    uint32_t tolerance;
} bench_options;

#define AT(field) offsetof(bench_options, field)
static const char *const only_names[] = { NULL, "ceilings", "ops", "steps" };
static const cli_flag flags[] = {
    { "--quick", CLI_BOOL, AT(quick), NULL, NULL,
      "small shapes and short times: under a minute on two CPU cores" },
    { "--key", CLI_BOOL, AT(key), NULL, NULL,
      "measure the rows that decide, in 90 s on a GPU: ceilings, products (GPT-2's, too), "
      "attention, "
      "what memory bounds, training steps; smaller ones where the processor computes" },
    { "--list", CLI_BOOL, AT(list), NULL, NULL,
      "print the names of what is measured on a GPU, or with --key, and measure nothing" },
    { "--only", CLI_CHOICE, AT(only), "all|ceilings|ops|steps", "all",
      "run one part (ops and steps also measure the ceilings that they are compared with)" },
    { "--math", CLI_CHOICE, AT(common.gpu.math), "strict|fast", "strict",
      "fast: products of fp32 matrices may run on matrix units, split into bf16 parts that keep 22 "
      "bits" },
    { "--host", CLI_BOOL, AT(host), NULL, NULL,
      "measure what stands around the kernels, in its place: tables, lists of runs, histories, "
      "packing, planning, checkpoints" },
    { "--op", CLI_TEXT, AT(op), "NAME[,NAME]", NULL,
      "measure only these ops, e.g. matmul,attention" },
    { "--step", CLI_TEXT, AT(step), "PART", NULL,
      "measure only training steps and generation with this in their name, e.g. MLP, generating" },
    { "--json", CLI_OUT, AT(json), "FILE", NULL,
      "save the results, for `bench compare` and --baseline" },
    { "--csv", CLI_OUT, AT(csv), "FILE", NULL, "save the results as CSV" },
    { "--markdown", CLI_BOOL, AT(markdown), NULL, NULL, "print tables in Markdown" },
    { "--baseline", CLI_TEXT, AT(baseline), "FILE", NULL,
      "compare with saved results; what looks slower is measured again; exit code 1 if something "
      "is slower beyond the noise" },
    { "--tolerance", CLI_UINT, AT(tolerance), "PERCENT", "5",
      "smallest slow-down that --baseline reports; larger where the measurements vary more than "
      "this" },
    { "--scaling", CLI_BOOL, AT(scaling), NULL, NULL,
      "measure how step time grows: with batch, width and depth, or under mpirun with `ranks`" },
    { "--svg", CLI_OUT, AT(svg), "FILE", NULL, "compare, --scaling: draw the result as a picture" },
    { "--submit", CLI_BOOL, AT(submit), NULL, NULL,
      "measure everything and write one file, named by device and date, for `bench table`" },
    { "--html", CLI_OUT, AT(html), "FILE", NULL,
      "table: write the page of all machines; a path that does not end in .html is a folder: "
      "a page for each device, charts as PNG, all values as CSV and JSON" },
    { "--once", CLI_BOOL, AT(once), NULL, NULL,
      "run each item once to test the benchmark itself; ignore the numbers" },
    { 0 },
};

/* ---- tables: plain text of at most 100 columns, or Markdown ---- */

enum { MAX_COLS = 12, CELL = 200 };

typedef struct table {
    const cli_column *col;
    size_t n_cols, n_rows, cap;
    char (*text)[CELL];
} table;

static void table_cell(table *t, size_t c, const char *s)
{
    if (c == 0 && t->n_rows == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->text = cli_grow(t->text, t->cap * t->n_cols * sizeof *t->text);
    }
    snprintf(t->text[t->n_rows * t->n_cols + c], CELL, "%s", s);
    if (c + 1 == t->n_cols) t->n_rows++;
}

static void markdown_cell(const char *s)
{
    for (; *s; s++) {
        if (strchr("|\\`*_<>", *s)) putchar('\\');
        putchar((unsigned char)*s < 32 ? ' ' : *s);
    }
}

static void table_print(table *t, bool markdown)
{
    if (markdown) {
        for (size_t c = 0; c < t->n_cols; c++) printf("| %s ", t->col[c].title);
        printf("|\n");
        for (size_t c = 0; c < t->n_cols; c++) printf(t->col[c].right ? "|---:" : "|---");
        printf("|\n");
        for (size_t r = 0; r < t->n_rows; r++) {
            for (size_t c = 0; c < t->n_cols; c++) {
                printf("| ");
                markdown_cell(t->text[r * t->n_cols + c]);
                putchar(' ');
            }
            printf("|\n");
        }
    } else {
        const char **cell = cli_zeros(t->n_rows * t->n_cols, sizeof *cell);
        for (size_t i = 0; i < t->n_rows * t->n_cols; i++) cell[i] = t->text[i];
        cli_table(stdout, t->col, t->n_cols, cell, t->n_rows);
        free(cell);
    }
    free(t->text);
    *t = (table) { 0 };
}

static void heading(const char *text, bool markdown)
{
    if (markdown)
        printf("\n### %s\n\n", text);
    else
        printf("\n%s%s%s\n", cli_color(stdout, CLI_BOLD), text, cli_color(stdout, CLI_PLAIN));
}

/* Three digits that count, without exponents. */
static const char *num(double v)
{
    if (!isfinite(v)) return "-";
    if (v >= 100) return cli_text("%.0f", v);
    return cli_text(v >= 10 ? "%.1f" : v >= 1 ? "%.2f" : v >= 0.001 || v == 0 ? "%.3f" : "%.2g", v);
}

static const char *pct(double v)
{
    return isfinite(v) ? cli_text(v >= 9.95 ? "%.0f%%" : "%.1f%%", v) : "-";
}

/* Half the quartile range: what "+-" means in these tables. */
static const char *spread(const vkt_bench_row *r)
{
    return isfinite(r->value) ? cli_text("%.0f%%", 50 * (r->q3 - r->q1) / r->value) : "-";
}

static const char *error_text(const vkt_bench_row *r)
{
    return isfinite(r->error) ? cli_text("%.0f%%", 100 * r->error) : "-";
}

static bool has_group(const vkt_bench *b, vkt_bench_group g)
{
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].group == g) return true;
    return false;
}

/* ---- one result ---- */

static void print_info(const vkt_bench_info *i, bool markdown)
{
    const char *const line[][2] = { { "device", i->device },
                                    { "type", i->type },
                                    { "driver", i->driver },
                                    { "Vulkan", i->api },
                                    { "can do", i->caps },
                                    { "host", cli_text("%s, power: %s", i->host, i->power) },
                                    { "vktrain", cli_text("%s, commit %s", i->version, i->commit) },
                                    { "date", i->date },
                                    { "settings",
                                      cli_text("%s; verdicts by %s", i->settings, i->clock) } };
    if (markdown) printf("| | |\n|---|---|\n");
    for (size_t k = 0; k < CLI_COUNT(line); k++) {
        if (markdown) {
            printf("| %s | ", line[k][0]);
            markdown_cell(line[k][1]);
            printf(" |\n");
        } else {
            printf("%-10s", line[k][0]);
            cli_wrap(stdout, line[k][1], 10, 10);
        }
    }
}

static void print_ceilings(const vkt_bench *b, bool md)
{
    static const cli_column col[] = { { "what", false, 30 },  { "median", true, 0 },
                                      { "unit", false, 0 },   { "min", true, 0 },
                                      { "max", true, 0 },     { "+-", true, 0 },
                                      { "runs", true, 0, 1 }, { "form", false, 30, 2 } };
    table t = { .col = col, .n_cols = CLI_COUNT(col) };
    heading("Ceilings of this device", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_CEILINGS) continue;
        const char *const c[] = { r->name,
                                  num(r->value),
                                  r->unit,
                                  num(r->min),
                                  num(r->max),
                                  spread(r),
                                  cli_text("%u", r->runs),
                                  r->refused ? "refused" : r->note };
        for (size_t k = 0; k < CLI_COUNT(col); k++) table_cell(&t, k, c[k]);
    }
    table_print(&t, md);
}

static void print_ops(const vkt_bench *b, bool md)
{
    static const cli_column col[] = { { "op", false, 38 },         { "us", true, 0 },
                                      { "+-", true, 0, 4 },        { "GB/s", true, 0 },
                                      { "GFLOP/s", true, 0 },      { "of ceiling", true, 0 },
                                      { "of matmul", true, 0, 3 }, { "error", true, 0, 2 },
                                      { "runs", true, 0, 1 } };
    table t = { .col = col, .n_cols = CLI_COUNT(col) };
    heading("Ops", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_OPS) continue;
        const char *const c[] = { r->name,
                                  num(r->value),
                                  spread(r),
                                  num(r->gbps),
                                  r->gflops >= 0.05 ? num(r->gflops) : "-",
                                  r->refused ? "refused" : pct(r->percent),
                                  isfinite(r->of_matmul) ? pct(r->of_matmul) : "-",
                                  error_text(r),
                                  cli_text("%u", r->runs) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) table_cell(&t, k, c[k]);
    }
    table_print(&t, md);
    printf("%sof ceiling: time at the best bandwidth and multiply-adds above / median time; more "
           "than 100%% means that\n"
           "the ceiling was measured too low or that a cache helped. of matmul: a convolution's "
           "GFLOP/s in percent of\n"
           "matmul's for the same product. error: share of the tolerance, compared with plain C in "
           "double precision,\n"
           "checked before the timing. +-: half the interquartile range.\n",
           md ? "\n" : "");
}

static void print_steps(const vkt_bench *b, bool md)
{
    static const cli_column col[] = { { "step or token", false, 40 }, { "ms", true, 0 },
                                      { "kernels", true, 0, 2 },      { "+-", true, 0, 3 },
                                      { "items/s", true, 0 },         { "GFLOP/s", true, 0 },
                                      { "of ceiling", true, 0 },      { "memory", true, 0, 4 },
                                      { "host us", true, 0, 1 },      { "J", true, 0, 5 } };
    table t = { .col = col, .n_cols = CLI_COUNT(col) };
    heading("Training and generation", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_STEPS) continue;
        const char *const c[] = { r->name,
                                  num(r->value),
                                  num(r->kernels_ms),
                                  spread(r),
                                  cli_rate(r->items_per_s),
                                  num(r->gflops),
                                  r->refused ? "refused" : pct(r->percent),
                                  isfinite(r->memory_bytes) ? cli_bytes((uint64_t)r->memory_bytes)
                                                            : "-",
                                  num(r->host_us),
                                  num(r->energy_j) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) table_cell(&t, k, c[k]);
    }
    if (t.n_rows) {
        table_print(&t, md);
        printf("%skernels: sum of the times of its kernels in ms, timed one by one. of ceiling: "
               "sum of the times that the ops\n"
               "would take at the ceilings / median time. memory: planned device memory.\n"
               "host us: CPU time of the training thread per step, without the driver. J: energy "
               "of a step, where the\n"
               "driver or the system tells it.\n",
               md ? "\n" : "");
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_TARGET) continue;
        printf("%s%s: ", md ? "\n" : "", r->name);
        if (r->refused)
            printf("not reached\n");
        else
            printf("%s s (%s to %s in %u runs; %s)\n", num(r->value), num(r->min), num(r->max),
                   r->runs, r->note);
    }
}

static void print_host(const vkt_bench *b, bool md)
{
    static const cli_column col[] = { { "work", false, 50 },
                                      { "ms", true, 0 },
                                      { "+-", true, 0 },
                                      { "items/s", true, 0 },
                                      { "runs", true, 0, 1 } };
    table t = { .col = col, .n_cols = CLI_COUNT(col) };
    heading("Around the kernels", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_HOST) continue;
        const char *const c[] = { r->name, r->refused ? "refused" : num(r->value), spread(r),
                                  cli_rate(r->items_per_s), cli_text("%u", r->runs) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) table_cell(&t, k, c[k]);
    }
    table_print(&t, md);
}

static void print_rest(const vkt_bench *b, bool md)
{
    bool any = false;
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (!r->refused) continue;
        if (!any) heading("Refused (wrong or unusable results): no speed is reported", md);
        any = true;
        printf("%s%s: %s\n", md ? "- " : "  ", r->name, r->refused);
    }
    any = false;
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->refused || !r->flag) continue;
        if (!any) heading("Doubtful, also when measured again: not in the score", md);
        any = true;
        printf("%s%s: %s\n", md ? "- " : "  ", r->name, r->flag);
    }
    if (b->n_left_out) heading("Left out", md);
    for (size_t i = 0; i < b->n_left_out; i++) printf("%s%s\n", md ? "- " : "  ", b->left_out[i]);
}

static void print_result(const vkt_bench *b, bool md)
{
    print_info(&b->info, md);
    if (has_group(b, VKT_BENCH_CEILINGS)) print_ceilings(b, md);
    if (has_group(b, VKT_BENCH_OPS)) print_ops(b, md);
    if (has_group(b, VKT_BENCH_STEPS) || has_group(b, VKT_BENCH_TARGET)) print_steps(b, md);
    if (has_group(b, VKT_BENCH_HOST)) print_host(b, md);
    print_rest(b, md);
}

/* ---- compare ---- */

/* "A", "B", ... with the file's name in the legend. */
static const char *letter(size_t i)
{
    return cli_text("%c", (int)('A' + i));
}

static void print_group(const vkt_bench *const *files, size_t n, vkt_bench_group g, bool md)
{
    cli_column col[MAX_COLS] = { { "", false, n > 3 ? 22 : 40 }, { "unit", false, 0 } };
    char title[MAX_COLS][16];
    size_t n_cols = 2, shared;
    for (size_t f = 0; f < n; f++) {
        snprintf(title[n_cols], sizeof title[0], "%s", letter(f));
        col[n_cols] = (cli_column) { title[n_cols], true, 0 };
        n_cols++;
        if (!f) continue;
        snprintf(title[n_cols], sizeof title[0], "%s / A", letter(f));
        col[n_cols] = (cli_column) { title[n_cols], true, 0 };
        n_cols++;
    }
    col[0].title = vkt_bench_group_name(g);
    table t = { .col = col, .n_cols = n_cols };
    printf("\n");
    for (size_t i = 0; i < files[0]->n_rows; i++) {
        const vkt_bench_row *a = &files[0]->rows[i];
        size_t c = 0;
        if (a->group != g) continue;
        table_cell(&t, c++, a->name);
        table_cell(&t, c++, a->unit);
        for (size_t f = 0; f < n; f++) {
            const vkt_bench_row *r = vkt_bench_find(files[f], g, a->name);
            table_cell(&t, c++, r ? r->refused ? "refused" : num(r->value) : "-");
            double v = vkt_bench_speedup(a, r);
            if (f) table_cell(&t, c++, isfinite(v) ? cli_text("%sx", num(v)) : "-");
        }
    }
    size_t c = 0;
    vkt_bench_group_speedup(files, n, 0, g, &shared);
    if (shared) {
        table_cell(&t, c++, cli_text("geometric mean of %zu", shared));
        table_cell(&t, c++, "");
        for (size_t f = 0; f < n; f++) {
            table_cell(&t, c++, "");
            if (f)
                table_cell(&t, c++,
                           cli_text("%sx", num(vkt_bench_group_speedup(files, n, f, g, NULL))));
        }
    }
    table_print(&t, md);
}

static int compare(const bench_options *o)
{
    vkt_bench *files[5] = { 0 };
    const char *const *path = o->common.args + 1;
    size_t n = o->common.n_args - 1;
    vkt_status st = VKT_OK;
    if (n < 2 || n > CLI_COUNT(files)) {
        cli_error("bench compare: give 2 to %zu files: vktrain bench compare A.json B.json",
                  CLI_COUNT(files));
        return CLI_USAGE;
    }
    for (size_t i = 0; i < n && st == VKT_OK; i++) st = vkt_bench_load(path[i], &files[i]);
    const vkt_bench *const *list = (const vkt_bench *const *)files;
    if (st == VKT_OK) {
        const char *names[CLI_COUNT(files)];
        for (size_t i = 0; i < n; i++) {
            const vkt_bench_info *f = &files[i]->info;
            names[i] = path[i];
            printf("%s%s  %s%s: ", o->markdown ? "- " : "", letter(i), path[i],
                   o->markdown ? "" : "");
            cli_wrap(stdout,
                     cli_text("%s; %s; commit %s; %s; power: %s; %s", f->device, f->driver,
                              f->commit, f->date, f->power, f->settings),
                     (int)strlen(path[i]) + 5, 3);
        }
        printf("Medians; \"B / A\" is how many times faster B is than A, for every unit.\n");
        for (size_t i = 1; i < n; i++)
            if (strcmp(files[i]->info.settings, files[0]->info.settings) != 0)
                printf("Note: %s and A were measured with different settings; only rows in both "
                       "are compared.\n",
                       letter(i));
        for (int g = 0; g < VKT_BENCH_N_GROUPS; g++)
            if (has_group(files[0], (vkt_bench_group)g))
                print_group(list, n, (vkt_bench_group)g, o->markdown);
        for (size_t i = 1; i < n; i++) {
            size_t more = 0;
            for (size_t r = 0; r < files[i]->n_rows; r++)
                more += !vkt_bench_find(files[0], files[i]->rows[r].group, files[i]->rows[r].name);
            if (more) printf("\n%zu results of %s are not in A and not shown.\n", more, letter(i));
        }
        if (o->svg) st = vkt_bench_save_svg(list, names, n, o->svg);
        if (o->svg && st == VKT_OK) printf("\nwritten: %s\n", o->svg);
    }
    for (size_t i = 0; i < CLI_COUNT(files); i++) vkt_bench_destroy(&files[i]);
    return cli_exit_code(st);
}

/* ---- a baseline ---- */

/* How many rows are slower or broken. */
static size_t judge(const vkt_bench *base, const vkt_bench *now, const bench_options *o)
{
    static const cli_column col[] = { { "compared with the baseline", false, 40 },
                                      { "unit", false, 0 },
                                      { "baseline", true, 0 },
                                      { "now", true, 0 },
                                      { "speed", true, 0 },
                                      { "noise", true, 0 },
                                      { "verdict", false, 0 } };
    static const char *const words[] = { "same", "faster", "SLOWER", "BROKEN", "-" };
    table t = { .col = col, .n_cols = CLI_COUNT(col) };
    size_t n_bad = 0, n_judged = 0, n_faster = 0;
    if (strcmp(base->info.device, now->info.device) != 0 ||
        strcmp(base->info.driver, now->info.driver) != 0)
        printf("\n"
               "Note: the baseline was measured on another device or driver: %s, %s\n",
               base->info.device, base->info.driver);
    for (size_t i = 0; i < now->n_rows; i++) {
        const vkt_bench_row *r = &now->rows[i], *b = vkt_bench_find(base, r->group, r->name);
        double speedup, noise;
        vkt_bench_verdict v = vkt_bench_judge(b, r, o->tolerance / 100.0, &speedup, &noise);
        if (v == VKT_BENCH_NO_VERDICT) continue;
        n_judged++;
        n_faster += v == VKT_BENCH_FASTER;
        n_bad += v == VKT_BENCH_SLOWER || v == VKT_BENCH_BROKEN;
        if (v == VKT_BENCH_SAME) continue;
        const char *const c[] = { r->name,
                                  r->unit,
                                  num(b->value),
                                  num(r->value),
                                  isfinite(speedup) ? cli_text("%sx", num(speedup)) : "-",
                                  pct(100 * noise),
                                  words[v] };
        for (size_t k = 0; k < CLI_COUNT(col); k++) table_cell(&t, k, c[k]);
    }
    printf("\n");
    if (t.n_rows) table_print(&t, o->markdown);
    printf("%scompared with %s: %zu results, %zu slower or broken, %zu faster, %zu the same within "
           "noise\n",
           n_bad ? "REGRESSION " : "", o->baseline, n_judged, n_bad, n_faster,
           n_judged - n_bad - n_faster);
    if (!n_judged)
        cli_error("bench: '%s' has no results in common with this measurement", o->baseline);
    return n_judged ? n_bad : 1;
}

/* ---- measuring ---- */

/* What is measured is on the disk, whatever comes after. */
typedef struct saving {
    const bench_options *o;
    vkt_status st;
} saving;

static bool stops(void *user)
{
    (void)user;
    return cli_interrupted(false);
}

static void on_rows(void *user, const vkt_bench *b)
{
    saving *s = user;
    if (s->st != VKT_OK) return; /* told once, and the exit code says it */
    if (s->o->json) s->st = vkt_bench_save_json(b, s->o->json);
    if (s->o->csv && s->st == VKT_OK) s->st = vkt_bench_save_csv(b, s->o->csv);
}

static int measure(const bench_options *given)
{
    bench_options copy = *given, *o = &copy;
    char submitted[120];
    vkt_gpu *gpu = NULL;
    vkt_bench *b = NULL, *base = NULL;
    double start = cli_now();
    saving save = { o, VKT_OK };
    /* A baseline that can't be read is better known before minutes of measuring. */
    vkt_status st = o->baseline ? vkt_bench_load(o->baseline, &base) : VKT_OK;
    vkt_bench_desc desc = { .quick = o->quick,
                            .once = o->once,
                            .key = o->key,
                            .only = o->host ? "host" : only_names[o->only],
                            .op = o->op,
                            .step = o->step,
                            .gpu = &o->common.gpu,
                            .baseline = base,
                            .tolerance = o->tolerance / 100.0,
                            .on_progress = o->common.quiet ? NULL : cmd_bench_progress,
                            .on_rows = on_rows,
                            .stops = stops,
                            .user = &save };
    if (st == VKT_OK) st = vkt_gpu_create(&o->common.gpu, &gpu);
    if (st == VKT_OK && o->submit) {
        cmd_bench_name_file(vkt_gpu_caps(gpu)->name, submitted, sizeof submitted);
        o->json = submitted;
    }
    cli_catch_interrupts("finishing this measurement, then showing the results so far");
    if (st == VKT_OK) st = vkt_bench_run(gpu, &desc, &b);
    cli_progress("");
    int rc = cli_exit_code(st);
    if (b) {
        print_result(b, o->markdown);
        on_rows(&save, b);
        cmd_bench_print_score(b, o->submit);
        if (o->submit && save.st == VKT_OK) printf("written: %s\n", submitted);
        if (base && judge(base, b, o)) rc = rc ? rc : CLI_FAILED;
        if (save.st != VKT_OK) rc = cli_exit_code(save.st);
        if (!o->common.quiet && !o->markdown)
            printf("\nmeasured in %s\n", cli_time(cli_now() - start));
    }
    vkt_bench_destroy(&b);
    vkt_bench_destroy(&base);
    vkt_gpu_destroy(&gpu);
    return rc;
}

static int print_names(bool key)
{
    char *names = vkt_bench_names(key);
    fputs(names, stdout);
    vkt_free(names);
    return 0;
}

static int run(void *options)
{
    const bench_options *o = options;
    bool is_compare = o->common.n_args && !strcmp(o->common.args[0], "compare"),
         is_table = o->common.n_args && !strcmp(o->common.args[0], "table"),
         is_verify = o->common.n_args && !strcmp(o->common.args[0], "verify"),
         is_ranks = o->scaling && o->common.n_args && !strcmp(o->common.args[0], "ranks");
    if (vkt_launch_get().size > 1 && !is_ranks) return start_ranks_refuse("bench");
    if (o->common.n_args && !is_compare && !is_table && !is_verify && !is_ranks) {
        cli_error("bench: unexpected argument '%s'; to compare files: vktrain bench compare A.json "
                  "B.json, or table DIR, or verify FILE",
                  o->common.args[0]);
        return CLI_USAGE;
    }
    bool measures = o->json || o->csv || o->baseline || o->quick || o->once || o->op || o->step ||
                    o->only || o->submit;
    if (is_table) {
        if (o->common.n_args == 2 && !measures && !o->scaling && !o->svg)
            return cmd_bench_table(o->common.args[1], o->markdown, o->html);
        cli_error("bench table: give one folder, and only --html and --markdown: vktrain bench "
                  "table DIR");
        return CLI_USAGE;
    }
    if (is_verify) {
        if (o->common.n_args > 1 && !measures && !o->scaling && !o->svg && !o->html)
            return cmd_bench_verify(o->common.args + 1, o->common.n_args - 1);
        cli_error("bench verify: give files or folders, and no options: vktrain bench verify "
                  "mine.json");
        return CLI_USAGE;
    }
    if (o->html) {
        cli_error("bench: --html is only for `vktrain bench table`");
        return CLI_USAGE;
    }
    if (o->submit && (o->json || o->op || o->step || o->only)) {
        cli_error("bench: --submit measures everything and names its file by itself: leave out "
                  "--json, --only, --op and --step");
        return CLI_USAGE;
    }
    if (o->list && (measures || is_compare || o->scaling || o->svg)) {
        cli_error("bench: --list can be combined only with --key");
        return CLI_USAGE;
    }
    if (o->key && (o->submit || o->scaling || is_compare)) {
        cli_error("bench: --key is a list of rows of its own: leave out --submit and --scaling");
        return CLI_USAGE;
    }
    if (o->host && (o->key || o->list || o->only || o->op || o->step || o->scaling || o->submit ||
                    o->svg || is_compare)) {
        cli_error("bench: --host measures rows of its own: leave out --key, --list, --only, --op, "
                  "--step, --scaling, --submit and --svg");
        return CLI_USAGE;
    }
    if (o->list) return print_names(o->key);
    if (o->scaling &&
        (is_compare || o->baseline || o->op || o->step || o->only || o->markdown || o->submit)) {
        cli_error(
            "bench: --scaling can be combined only with --quick, --once, --json, --csv and --svg");
        return CLI_USAGE;
    }
    bench_scaling_options scaling = { o->quick, o->once, o->json, o->csv, o->svg };
    if (is_ranks) return cmd_bench_ranks(&o->common, &scaling);
    if (o->scaling) return cmd_bench_scaling(&o->common, &scaling);
    if (!is_compare && o->svg) {
        cli_error("bench: --svg is only for `vktrain bench compare` and --scaling");
        return CLI_USAGE;
    }
    if (is_compare && measures) {
        cli_error("bench compare: accepts only files, --svg and --markdown");
        return CLI_USAGE;
    }
    if (o->op && o->only && o->only != 2) {
        cli_error("bench: --op needs --only ops, or no --only");
        return CLI_USAGE;
    }
    if (o->step && (o->op || (o->only && o->only != 3))) {
        cli_error("bench: --step needs --only steps, or no --only");
        return CLI_USAGE;
    }
    return is_compare ? compare(o) : measure(o);
}

const cli_command cmd_bench = {
    .name = "bench",
    .args = "[compare A.json B.json ... | table DIR | verify FILE ...]",
    .summary =
        "measure a device: its ceilings, every op, training steps, generation; compare results",
    .details =
        "Every result is checked for correctness before it is timed. Speeds are also given in "
        "percent of the ceilings: what this device reaches in plain copies and multiply-adds.\n"
        "\n"
        "  vktrain bench --quick --json mine.json\n"
        "  vktrain bench --key --json mine.json        what decides, in 90 s on a GPU\n"
        "  vktrain bench compare mine.json theirs.json --svg chart.svg\n"
        "  vktrain bench --submit                      one file, to be shown beside others\n"
        "  vktrain bench verify mine.json              whether a file can be believed\n"
        "  vktrain bench table DIR --html page.html    files of many machines as charts\n"
        "  vktrain bench --baseline mine.json          exit code 1 if something got slower\n"
        "  vktrain bench --scaling --svg scaling.svg   how step time grows with the work",
    .max_args = 6,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(bench_options),
    .run = run,
};
