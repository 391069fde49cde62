/* The table of many machines: files of one machine together, a line of figures for each. */
#include <math.h>

#include "base/format.h"
#include "bench/bench_rows.h"
#include "runs/curve.h"

/* What a file has in each column: its score, its fastest copy, the medians of three steps. */
static const struct {
    const char *title, *step;
} columns[VKT_BENCH_COLUMNS] = {
    { "score", NULL },
    { "copy, GB/s", NULL },
    { "MLP 784, ms", "MLP 784-512-512-10, batch 128, adam" },
    { "CNN 28x28, ms", "CNN 28x28, conv 32-64, batch 64, adam" },
    { "GPT 0.8M, ms", "GPT 0.8M, 12 x 64 tokens, adamw" },
};

const char *vkt_bench_column(size_t i)
{
    return columns[i].title;
}

static double value_of(const vkt_bench *b, size_t column)
{
    double best = NAN;
    if (column == 0) return b->score_version ? b->score : NAN;
    if (columns[column].step) {
        const vkt_bench_row *r = vkt_bench_find(b, VKT_BENCH_STEPS, columns[column].step);
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

static void take_figures(vkt_bench_machine *m, double *v)
{
    for (size_t half = 0; half < 2; half++) {
        for (size_t f = 0; f < m->n_files; f++) {
            const vkt_bench *b = m->files[f];
            v[f] = b->suite_version != VKT_BENCH_SUITE_VERSION ? NAN
                   : half                                      ? b->suite_half
                                                               : b->suite_fp32;
        }
        m->suite_median[half] = vkt__median(v, m->n_files);
        m->suite_low[half] = vkt__quantile(v, m->n_files, 0);
        m->suite_high[half] = vkt__quantile(v, m->n_files, 1);
    }
    for (size_t c = 0; c < VKT_BENCH_COLUMNS; c++) {
        for (size_t f = 0; f < m->n_files; f++) v[f] = value_of(m->files[f], c);
        m->median[c] = vkt__median(v, m->n_files);
        m->low[c] = vkt__quantile(v, m->n_files, 0);
        m->high[c] = vkt__quantile(v, m->n_files, 1);
    }
    for (size_t f = 0; f < m->n_files; f++)
        for (size_t r = 0; r < m->files[f]->n_rows; r++)
            m->n_flagged += m->files[f]->rows[r].flag != NULL;
}

/* The files and their peers, which stand beside their machines as further ones. To be freed. */
static const vkt_bench **with_peers(const vkt_bench *const *files, size_t *n)
{
    size_t all = *n, k = 0;
    for (size_t i = 0; i < *n; i++) all += files[i]->n_peers;
    const vkt_bench **out = vkt__alloc((all + 1) * sizeof *out);
    for (size_t i = 0; i < *n; i++) {
        out[k++] = files[i];
        for (size_t p = 0; p < files[i]->n_peers; p++) out[k++] = files[i]->peers[p];
    }
    *n = all;
    return out;
}

vkt_bench_machine *vkt_bench_table(const vkt_bench *const *given, size_t n, size_t *n_machines)
{
    const vkt_bench **files = with_peers(given, &n);
    /* Behind the machines stand their files, in one allocation. */
    vkt_bench_machine *m = vkt__alloc((n + 1) * (sizeof *m + sizeof(vkt_bench *)));
    const vkt_bench **of = (const vkt_bench **)(void *)(m + n + 1);
    double *v = vkt__alloc((n + 1) * sizeof *v);
    bool *taken = vkt__alloc((n + 1) * sizeof *taken);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (taken[i]) continue;
        m[k] = (vkt_bench_machine) { .info = files[i]->info,
                                     .score_version = files[i]->score_version,
                                     .files = of };
        for (size_t f = i; f < n; f++) {
            if (taken[f] || !same_machine(files[i], files[f])) continue;
            taken[f] = true;
            of[m[k].n_files++] = files[f];
        }
        of += m[k].n_files;
        take_figures(&m[k++], v);
    }
    free(taken);
    free(v);
    free(files);
    qsort(m, k, sizeof *m, by_score);
    *n_machines = k;
    return m;
}
