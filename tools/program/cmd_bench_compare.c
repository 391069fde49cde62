/* cmd_bench_compare.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_bench_compare.h"
#include "cmd_bench_print.h"

/* "A", "B", ... with the file's name in the legend. */
static const char *letter(size_t i)
{
    return cli_text("%c", (int)('A' + i));
}

static void print_group(const vkt_bench *const *files, size_t n, vkt_bench_group g, bool md)
{
    cli_column col[CMD_TABLE_COLUMNS] = { { "", false, n > 3 ? 22 : 40 }, { "unit", false, 0 } };
    char title[CMD_TABLE_COLUMNS][16];
    size_t n_cols = 2, shared;
    for (size_t f = 0; f < n; f++) {
        snprintf(title[n_cols], sizeof title[0], "%s", letter(f));
        col[n_cols] = (cli_column) { title[n_cols], true, 0 };
        n_cols++;
        if (g == VKT_BENCH_HOST) col[n_cols++] = (cli_column) { "growth", true, 0, 1 };
        if (!f) continue;
        snprintf(title[n_cols], sizeof title[0], "%s / A", letter(f));
        col[n_cols] = (cli_column) { title[n_cols], true, 0 };
        n_cols++;
    }
    col[0].title = vkt_bench_group_name(g);
    cmd_table t = { .col = col, .n_cols = n_cols };
    printf("\n");
    for (size_t i = 0; i < files[0]->n_rows; i++) {
        const vkt_bench_row *a = &files[0]->rows[i];
        size_t c = 0;
        if (a->group != g) continue;
        cmd_table_cell(&t, c++, a->name);
        cmd_table_cell(&t, c++, a->unit);
        for (size_t f = 0; f < n; f++) {
            const vkt_bench_row *r = vkt_bench_find(files[f], g, a->name);
            cmd_table_cell(&t, c++, r ? r->refused ? "refused" : cmd_bench_num(r->value) : "-");
            if (g == VKT_BENCH_HOST) cmd_table_cell(&t, c++, cmd_bench_growth(r));
            double v = vkt_bench_speedup(a, r);
            if (f) cmd_table_cell(&t, c++, isfinite(v) ? cli_text("%sx", cmd_bench_num(v)) : "-");
        }
    }
    size_t c = 0;
    vkt_bench_group_speedup(files, n, 0, g, &shared);
    if (shared) {
        cmd_table_cell(&t, c++, cli_text("geometric mean of %zu", shared));
        cmd_table_cell(&t, c++, "");
        for (size_t f = 0; f < n; f++) {
            cmd_table_cell(&t, c++, "");
            if (g == VKT_BENCH_HOST) cmd_table_cell(&t, c++, "");
            if (f)
                cmd_table_cell(
                    &t, c++,
                    cli_text("%sx", cmd_bench_num(vkt_bench_group_speedup(files, n, f, g, NULL))));
        }
    }
    cmd_table_print(&t, md);
}

/* ---- what got slower, and why ---- */

typedef struct loss {
    const vkt_bench_row *a, *b;
    double speedup;
} loss;

static int by_loss(const void *a, const void *b)
{
    const loss *x = a, *y = b;
    return (x->speedup > y->speedup) - (x->speedup < y->speedup);
}

static const char *kernel_text(const loss *l)
{
    char which[64];
    switch (vkt_bench_kernels_compare(l->a, l->b, which)) {
    case VKT_BENCH_KERNELS_SAME:
        return "the same";
    case VKT_BENCH_KERNELS_SAME_CODE:
        return "the same code";
    case VKT_BENCH_KERNELS_RECOMPILED:
        return cli_text("%s: compiled differently", which);
    case VKT_BENCH_KERNELS_OTHER:
        return cli_text("%s: other code or constants", which);
    default:
        return "-";
    }
}

/* What is slower than in A beyond the noise, the largest loss first. */
static void print_losses(const vkt_bench *a, const vkt_bench *b, const char *name, bool md)
{
    enum { MOST = 20 };
    static const cli_column col[] = { { "", false, 40 },    { "unit", false, 0 },
                                      { "A", true, 0 },     { "now", true, 0 },
                                      { "speed", true, 0 }, { "kernels", false, 50 } };
    loss *l = cli_zeros(a->n_rows + 1, sizeof *l);
    cmd_table t = { .col = col, .n_cols = CLI_COUNT(col) };
    size_t n = 0;
    double noise;
    for (size_t i = 0; i < a->n_rows; i++) {
        const vkt_bench_row *r = &a->rows[i], *now = vkt_bench_find(b, r->group, r->name);
        l[n] = (loss) { r, now, 0 };
        n += vkt_bench_judge(r, now, 0.05, &l[n].speedup, &noise) == VKT_BENCH_SLOWER;
    }
    qsort(l, n, sizeof *l, by_loss);
    for (size_t i = 0; i < n && i < MOST; i++) {
        const char *const c[] = { l[i].a->name,
                                  l[i].a->unit,
                                  cmd_bench_num(l[i].a->value),
                                  cmd_bench_num(l[i].b->value),
                                  cli_text("%sx", cmd_bench_num(l[i].speedup)),
                                  kernel_text(&l[i]) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) cmd_table_cell(&t, k, c[k]);
    }
    if (n)
        cmd_bench_heading(cli_text("Slower in %s than in A beyond the noise: %zu row%s%s", name, n,
                                   n > 1 ? "s" : "", n > MOST ? "; the largest losses" : ""),
                          md);
    if (t.n_rows) cmd_table_print(&t, md);
    free(l);
}

/* Rows whose own runs differ by more than this share of the median. */
static size_t spread_over(const vkt_bench *b, double share)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_rows; i++)
        n += !b->rows[i].refused && b->rows[i].q3 - b->rows[i].q1 > share * b->rows[i].value;
    return n;
}

static size_t flagged(const vkt_bench *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n_rows; i++) n += b->rows[i].flag != NULL;
    return n;
}

/* How many rows agree; of one device and driver also why more don't, as far as the files tell. */
static void print_agreement(const vkt_bench *a, const vkt_bench *b, const char *name)
{
    enum { WITHIN_PERCENT = 3, ENOUGH_PERCENT = 95 };
    const vkt_bench_info *x = &a->info, *y = &b->info;
    size_t n,
        agree = vkt_bench_agree(a, b, WITHIN_PERCENT / 100.0, &n),
        vary = spread_over(a, WITHIN_PERCENT / 100.0) + spread_over(b, WITHIN_PERCENT / 100.0),
        doubtful = flagged(a) + flagged(b);
    if (!n) return;
    printf("\n%s and A agree within %d%% on %zu of %zu rows (%.0f%%).", name, WITHIN_PERCENT, agree,
           n, 100.0 * (double)agree / (double)n);
    if (agree * 100 < n * ENOUGH_PERCENT && !strcmp(x->device, y->device) &&
        !strcmp(x->driver, y->driver) && !strcmp(x->cpu, y->cpu)) {
        printf(" Both are of one device and driver. Why not more:");
        if (strcmp(x->commit, y->commit) != 0) printf(" the commits of vktrain differ;");
        if (strcmp(x->settings, y->settings) != 0) printf(" the settings differ;");
        if (strcmp(x->clocks, y->clocks) != 0)
            printf(" the clocks were other ones before (%s; %s);", x->clocks, y->clocks);
        if (strcmp(x->host, y->host) != 0) printf(" A: %s, %s: %s;", x->host, name, y->host);
        printf(" %zu rows vary by more than %d%% within their own runs, %zu are flagged as "
               "disturbed.",
               vary, WITHIN_PERCENT, doubtful);
    }
    printf("\n");
}

int cmd_bench_compare(const char *const *path, size_t n, const char *svg, bool markdown)
{
    vkt_bench *files[5] = { 0 };
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
            printf("%s%s  %s%s: ", markdown ? "- " : "", letter(i), path[i], markdown ? "" : "");
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
            if (cmd_bench_has(files[0], (vkt_bench_group)g))
                print_group(list, n, (vkt_bench_group)g, markdown);
        for (size_t i = 1; i < n; i++) {
            size_t more = 0;
            for (size_t r = 0; r < files[i]->n_rows; r++)
                more += !vkt_bench_find(files[0], files[i]->rows[r].group, files[i]->rows[r].name);
            if (more) printf("\n%zu results of %s are not in A and not shown.\n", more, letter(i));
        }
        for (size_t i = 1; i < n; i++) {
            char name[4];
            snprintf(name, sizeof name, "%s", letter(i)); /* its text is one of a ring */
            print_losses(files[0], files[i], name, markdown);
            print_agreement(files[0], files[i], name);
        }
        if (svg) st = vkt_bench_save_svg(list, names, n, svg);
        if (svg && st == VKT_OK) printf("\nwritten: %s\n", svg);
    }
    for (size_t i = 0; i < CLI_COUNT(files); i++) vkt_bench_destroy(&files[i]);
    return cli_exit_code(st);
}

/* ---- a baseline ---- */

/* How many rows are slower or broken. */
size_t cmd_bench_judge(const vkt_bench *base, const vkt_bench *now, const char *name,
                       double tolerance, bool markdown)
{
    static const cli_column col[] = { { "compared with the baseline", false, 40 },
                                      { "unit", false, 0 },
                                      { "baseline", true, 0 },
                                      { "now", true, 0 },
                                      { "speed", true, 0 },
                                      { "noise", true, 0 },
                                      { "verdict", false, 0 } };
    static const char *const words[] = { "same", "faster", "SLOWER", "BROKEN", "-" };
    cmd_table t = { .col = col, .n_cols = CLI_COUNT(col) };
    size_t n_bad = 0, n_judged = 0, n_faster = 0;
    if (strcmp(base->info.device, now->info.device) != 0 ||
        strcmp(base->info.driver, now->info.driver) != 0)
        printf("\n"
               "Note: the baseline was measured on another device or driver: %s, %s\n",
               base->info.device, base->info.driver);
    for (size_t i = 0; i < now->n_rows; i++) {
        const vkt_bench_row *r = &now->rows[i], *b = vkt_bench_find(base, r->group, r->name);
        double speedup, noise;
        vkt_bench_verdict v = vkt_bench_judge(b, r, tolerance, &speedup, &noise);
        if (v == VKT_BENCH_NO_VERDICT) continue;
        n_judged++;
        n_faster += v == VKT_BENCH_FASTER;
        n_bad += v == VKT_BENCH_SLOWER || v == VKT_BENCH_BROKEN;
        if (v == VKT_BENCH_SAME) continue;
        const char *const c[] = { r->name,
                                  r->unit,
                                  cmd_bench_num(b->value),
                                  cmd_bench_num(r->value),
                                  isfinite(speedup) ? cli_text("%sx", cmd_bench_num(speedup)) : "-",
                                  cmd_bench_percent(100 * noise),
                                  words[v] };
        for (size_t k = 0; k < CLI_COUNT(col); k++) cmd_table_cell(&t, k, c[k]);
    }
    printf("\n");
    if (t.n_rows) cmd_table_print(&t, markdown);
    printf("%scompared with %s: %zu results, %zu slower or broken, %zu faster, %zu the same within "
           "noise\n",
           n_bad ? "REGRESSION " : "", name, n_judged, n_bad, n_faster,
           n_judged - n_bad - n_faster);
    if (!n_judged) cli_error("bench: '%s' has no results in common with this measurement", name);
    return n_judged ? n_bad : 1;
}
