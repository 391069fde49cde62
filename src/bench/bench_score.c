/* The score, and the table of many machines' files. */
#include <math.h>

#include "base/format.h"
#include "bench/bench_rows.h"
#include "runs/curve.h"

/* Version 1. A change of a row or of a reference is another version. The references are the medians
 * of tools/results/steps-lavapipe-25.0-8ffd17f.json, in ms. --quick measures these rows, too. */
static const struct {
    const char *name;
    double reference_ms;
} score_rows[] = {
    { "MLP 64-128-10, batch 64, adam", 0.1730249 },
    { "MLP 784-256-128-10, batch 128, adam", 2.462097 },
    { "MLP 784-512-512-10, batch 128, adam", 5.627854 },
    { "CNN 28x28, conv 32-64, batch 64, adam", 24.48092 },
    { "GPT 0.8M, 12 x 64 tokens, adamw", 54.26317 },
};

double vkt_bench_score(const vkt_bench *b, const char **missing)
{
    double sum = 0;
    for (size_t i = 0; i < VKT_COUNT(score_rows); i++) {
        const vkt_bench_row *r = vkt_bench_find(b, VKT_BENCH_STEPS, score_rows[i].name);
        if (!r || r->refused || r->flag || !(r->value > 0)) {
            if (missing) *missing = score_rows[i].name;
            return NAN;
        }
        sum += log(score_rows[i].reference_ms / r->value);
    }
    return 100 * exp(sum / (double)VKT_COUNT(score_rows));
}

/* ---- the table ---- */

static const char *const columns[VKT_BENCH_COLUMNS] = { "score", "copy, GB/s", "MLP 784, ms",
                                                        "CNN 28x28, ms", "GPT 0.8M, ms" };

const char *vkt_bench_column(size_t i)
{
    return columns[i];
}

/* The fastest copy, the medians of three steps: what a file has under a column. */
static double value_of(const vkt_bench *b, size_t column)
{
    static const size_t step[] = { 2, 3, 4 };
    double best = NAN;
    if (column == 0) return b->score_version ? b->score : NAN;
    if (column > 1) {
        const vkt_bench_row *r =
            vkt_bench_find(b, VKT_BENCH_STEPS, score_rows[step[column - 2]].name);
        return r && !r->refused && !r->flag ? r->value : NAN;
    }
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group == VKT_BENCH_CEILINGS && !strncmp(r->name, "copy ", 5) && !r->refused)
            best = fmax(isnan(best) ? 0 : best, r->value);
    }
    return best;
}

/* Files that may be averaged: of one device and driver, measured by one program in one way. */
static bool same_machine(const vkt_bench *a, const vkt_bench *b)
{
    const vkt_bench_info *x = &a->info, *y = &b->info;
    return a->score_version == b->score_version && !strcmp(x->device, y->device) &&
           !strcmp(x->ids, y->ids) && !strcmp(x->driver, y->driver) && !strcmp(x->cpu, y->cpu) &&
           !strcmp(x->version, y->version) && !strcmp(x->commit, y->commit) &&
           !strcmp(x->settings, y->settings);
}

/* The newest version first, in it the best score first, without a score last. */
static int by_score(const void *a, const void *b)
{
    const vkt_bench_machine *x = a, *y = b;
    double v = x->median[0], w = y->median[0];
    if (x->score_version != y->score_version) return x->score_version < y->score_version ? 1 : -1;
    if (isnan(v) || isnan(w)) return isnan(v) - isnan(w);
    return (v < w) - (v > w);
}

vkt_bench_machine *vkt_bench_table(const vkt_bench *const *files, size_t n, size_t *n_machines)
{
    vkt_bench_machine *m = vkt__alloc((n + 1) * sizeof *m);
    double *v = vkt__alloc((n + 1) * sizeof *v);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (first < i && !same_machine(files[first], files[i])) first++;
        if (first < i) continue;
        m[k] = (vkt_bench_machine) { .info = files[i]->info,
                                     .score_version = files[i]->score_version };
        for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++) {
            size_t of = 0;
            for (size_t f = i; f < n; f++)
                if (same_machine(files[i], files[f])) v[of++] = value_of(files[f], c);
            m[k].n_files = of;
            m[k].median[c] = vkt__median(v, of);
            m[k].low[c] = vkt__quantile(v, of, 0);
            m[k].high[c] = vkt__quantile(v, of, 1);
        }
        for (size_t r = 0; r < files[i]->n_rows; r++)
            m[k].n_flagged += files[i]->rows[r].flag != NULL;
        k++;
    }
    free(v);
    qsort(m, k, sizeof *m, by_score);
    *n_machines = k;
    return m;
}
