/* cmd_bench_print.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_bench_print.h"

/* ---- tables: plain text of at most 100 columns, or Markdown ---- */

void cmd_table_cell(cmd_table *t, size_t c, const char *s)
{
    if (c == 0 && t->n_rows == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->text = cli_grow(t->text, t->cap * t->n_cols * sizeof *t->text);
    }
    snprintf(t->text[t->n_rows * t->n_cols + c], CMD_TABLE_CELL, "%s", s);
    if (c + 1 == t->n_cols) t->n_rows++;
}

static void markdown_cell(const char *s)
{
    for (; *s; s++) {
        if (strchr("|\\`*_<>", *s)) putchar('\\');
        putchar((unsigned char)*s < 32 ? ' ' : *s);
    }
}

void cmd_table_print(cmd_table *t, bool markdown)
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
    *t = (cmd_table) { 0 };
}

void cmd_bench_heading(const char *text, bool markdown)
{
    if (markdown)
        printf("\n### %s\n\n", text);
    else
        printf("\n%s%s%s\n", cli_color(stdout, CLI_BOLD), text, cli_color(stdout, CLI_PLAIN));
}

/* Three digits that count, without exponents. */
const char *cmd_bench_num(double v)
{
    if (!isfinite(v)) return "-";
    if (v >= 100) return cli_text("%.0f", v);
    return cli_text(v >= 10 ? "%.1f" : v >= 1 ? "%.2f" : v >= 0.001 || v == 0 ? "%.3f" : "%.2g", v);
}

const char *cmd_bench_percent(double v)
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

bool cmd_bench_has(const vkt_bench *b, vkt_bench_group g)
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
    cmd_table t = { .col = col, .n_cols = CLI_COUNT(col) };
    cmd_bench_heading("Ceilings of this device", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_CEILINGS) continue;
        const char *const c[] = { r->name,
                                  cmd_bench_num(r->value),
                                  r->unit,
                                  cmd_bench_num(r->min),
                                  cmd_bench_num(r->max),
                                  spread(r),
                                  cli_text("%u", r->runs),
                                  r->refused ? "refused" : r->note };
        for (size_t k = 0; k < CLI_COUNT(col); k++) cmd_table_cell(&t, k, c[k]);
    }
    cmd_table_print(&t, md);
}

static void print_ops(const vkt_bench *b, bool md)
{
    static const cli_column col[] = { { "op", false, 38 },         { "us", true, 0 },
                                      { "+-", true, 0, 4 },        { "GB/s", true, 0 },
                                      { "GFLOP/s", true, 0 },      { "of ceiling", true, 0 },
                                      { "of matmul", true, 0, 3 }, { "error", true, 0, 2 },
                                      { "runs", true, 0, 1 } };
    cmd_table t = { .col = col, .n_cols = CLI_COUNT(col) };
    cmd_bench_heading("Ops", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_OPS) continue;
        const char *const c[] = { r->name,
                                  cmd_bench_num(r->value),
                                  spread(r),
                                  cmd_bench_num(r->gbps),
                                  r->gflops >= 0.05 ? cmd_bench_num(r->gflops) : "-",
                                  r->refused ? "refused" : cmd_bench_percent(r->percent),
                                  isfinite(r->of_matmul) ? cmd_bench_percent(r->of_matmul) : "-",
                                  error_text(r),
                                  cli_text("%u", r->runs) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) cmd_table_cell(&t, k, c[k]);
    }
    cmd_table_print(&t, md);
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
    cmd_table t = { .col = col, .n_cols = CLI_COUNT(col) };
    cmd_bench_heading("Training and generation", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_STEPS) continue;
        const char *const c[] = { r->name,
                                  cmd_bench_num(r->value),
                                  cmd_bench_num(r->kernels_ms),
                                  spread(r),
                                  cli_rate(r->items_per_s),
                                  cmd_bench_num(r->gflops),
                                  r->refused ? "refused" : cmd_bench_percent(r->percent),
                                  isfinite(r->memory_bytes) ? cli_bytes((uint64_t)r->memory_bytes)
                                                            : "-",
                                  cmd_bench_num(r->host_us),
                                  cmd_bench_num(r->energy_j) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) cmd_table_cell(&t, k, c[k]);
    }
    if (t.n_rows) {
        cmd_table_print(&t, md);
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
            printf("%s s (%s to %s in %u runs; %s)\n", cmd_bench_num(r->value),
                   cmd_bench_num(r->min), cmd_bench_num(r->max), r->runs, r->note);
    }
}

const char *cmd_bench_growth(const vkt_bench_row *r)
{
    return r && isfinite(r->growth) ? cli_text("%.2f", r->growth) : "-";
}

static void print_host(const vkt_bench *b, bool md)
{
    static const cli_column col[] = { { "work", false, 50 }, { "ms", true, 0 },
                                      { "+-", true, 0 },     { "items/s", true, 0 },
                                      { "growth", true, 0 }, { "runs", true, 0, 1 } };
    cmd_table t = { .col = col, .n_cols = CLI_COUNT(col) };
    cmd_bench_heading("Around the kernels", md);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group != VKT_BENCH_HOST) continue;
        const char *const c[] = { r->name,
                                  r->refused ? "refused" : cmd_bench_num(r->value),
                                  spread(r),
                                  cli_rate(r->items_per_s),
                                  cmd_bench_growth(r),
                                  cli_text("%u", r->runs) };
        for (size_t k = 0; k < CLI_COUNT(col); k++) cmd_table_cell(&t, k, c[k]);
    }
    cmd_table_print(&t, md);
}

static void print_rest(const vkt_bench *b, bool md)
{
    bool any = false;
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (!r->refused) continue;
        if (!any)
            cmd_bench_heading("Refused (wrong or unusable results): no speed is reported", md);
        any = true;
        printf("%s%s: %s\n", md ? "- " : "  ", r->name, r->refused);
    }
    any = false;
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->refused || !r->flag) continue;
        if (!any) cmd_bench_heading("Doubtful, also when measured again: not in the score", md);
        any = true;
        printf("%s%s: %s\n", md ? "- " : "  ", r->name, r->flag);
    }
    if (b->n_left_out) cmd_bench_heading("Left out", md);
    for (size_t i = 0; i < b->n_left_out; i++) printf("%s%s\n", md ? "- " : "  ", b->left_out[i]);
}

void cmd_bench_print(const vkt_bench *b, bool md)
{
    print_info(&b->info, md);
    if (cmd_bench_has(b, VKT_BENCH_CEILINGS)) print_ceilings(b, md);
    if (cmd_bench_has(b, VKT_BENCH_OPS)) print_ops(b, md);
    if (cmd_bench_has(b, VKT_BENCH_STEPS) || cmd_bench_has(b, VKT_BENCH_TARGET)) print_steps(b, md);
    if (cmd_bench_has(b, VKT_BENCH_HOST)) print_host(b, md);
    print_rest(b, md);
}
