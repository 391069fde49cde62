/* Whether a benchmark file can be believed: what is wrong within it, and beside others. Someone who
 * changes the program can still make a file that passes; a file that was edited, a clock that lies
 * and a kernel that skips work show. */
#include <math.h>

#include "base/format.h"
#include "bench/bench_rows.h"

typedef struct doubts {
    const vkt_bench *b;
    vkt_bench_doubt_fn tell;
    void *user;
    size_t n;
} doubts;

static void doubt(doubts *d, const char *fmt, ...) VKT_PRINTF(2, 3);
static void doubt(doubts *d, const char *fmt, ...)
{
    va_list ap;
    char why[400];
    va_start(ap, fmt);
    vkt__vformat(why, sizeof why, fmt, ap);
    va_end(ap);
    d->n++;
    if (d->tell) d->tell(d->user, why);
}

static bool is_measured(const vkt_bench_row *r)
{
    return !r->refused && !r->flag && isfinite(r->value);
}

static void check_score(doubts *d, const char *what, double told, double score)
{
    if (isfinite(score) != isfinite(told) || (isfinite(score) && fabs(score - told) > 1e-3 * score))
        doubt(d, "its %s is %.4g; its steps give %.4g", what, told, score);
}

static void check_file(doubts *d)
{
    const vkt_bench *b = d->b;
    if (b->seal == VKT_BENCH_UNSEALED)
        doubt(d, "it has no digest: an older vktrain wrote it, or the digest was taken out");
    if (b->seal == VKT_BENCH_BROKEN_SEAL)
        doubt(d, "its digest does not fit: it was changed after it was written");
    if (strstr(b->info.settings, "once"))
        doubt(d, "it was made with --once: its times mean nothing");
    if (b->score_version == VKT_BENCH_SCORE_VERSION)
        check_score(d, "score", b->score, vkt_bench_score(b, NULL));
    if (b->suite_version && strstr(b->info.settings, "math fast"))
        doubt(d, "it was made with --math fast, and suite 2 is fp32 throughout");
    if (b->suite_version == VKT_BENCH_SUITE_VERSION) {
        check_score(d, "score of suite 2 in fp32", b->suite_fp32,
                    vkt_bench_suite_score(b, false, NULL));
        check_score(d, "score of suite 2 in 16 bits", b->suite_half,
                    vkt_bench_suite_score(b, true, NULL));
    }
}

/* The most arithmetic that the device reached in plain multiply-adds or on matrix units. */
static double most_gflops(const vkt_bench *b)
{
    double most = 0;
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->group == VKT_BENCH_CEILINGS && is_measured(r) && !strcmp(r->unit, "GFLOP/s"))
            most = fmax(most, r->value);
    }
    return most;
}

/* Wall time holds the GPU's: of a row in units of time it can't be the shorter one. */
static void check_clocks(doubts *d, const vkt_bench_row *r)
{
    enum { NOISE_PERCENT = 20 };
    bool by_gpu = !strcmp(d->b->info.clock, "GPU timestamps");
    double wall = by_gpu ? r->gpu_value : r->value, gpu = by_gpu ? r->value : r->gpu_value;
    if (r->group != VKT_BENCH_OPS || r->higher || !isfinite(r->gpu_value)) return;
    if (wall * 100 < gpu * (100 - NOISE_PERCENT))
        doubt(d, "'%s' took %.4g %s by the wall clock and %.4g by the GPU's: a clock is wrong",
              r->name, wall, r->unit, gpu);
}

static void check_row(doubts *d, const vkt_bench_row *r, double most)
{
    if (!is_measured(r)) return;
    if (r->group == VKT_BENCH_OPS && !(r->error <= 1))
        doubt(d, "'%s' has a speed, but its result was not compared with the reference", r->name);
    if (r->percent > 105)
        doubt(d, "'%s' is at %.0f%% of the device's own ceiling", r->name, r->percent);
    if (most > 0 && r->gflops > 1.05 * most)
        doubt(d, "'%s' reaches %.4g GFLOP/s, plain multiply-adds only %.4g", r->name, r->gflops,
              most);
    double items = r->items_per_s * r->value / 1000;
    if (r->group == VKT_BENCH_STEPS && isfinite(items) &&
        fabs(items - nearbyint(items)) > 1e-4 * items)
        doubt(d, "'%s': %.6g items a second in %.6g ms are %.6g items a step", r->name,
              r->items_per_s, r->value, items);
    if (isfinite(r->loss_first) && !(fabs(r->loss_last - r->loss_first) > 1e-6 * r->loss_first))
        doubt(d, "'%s': the loss stayed at %.4g: nothing was trained", r->name, r->loss_first);
    check_clocks(d, r);
}

/* Times of many runs vary; in a file that was made up they need not. */
static void check_spread(doubts *d)
{
    size_t n = 0, still = 0;
    for (size_t i = 0; i < d->b->n_rows; i++) {
        const vkt_bench_row *r = &d->b->rows[i];
        if (!is_measured(r) || r->runs < 5) continue;
        n++;
        still += !(r->max > r->min);
    }
    if (n > 1 && 2 * still > n)
        doubt(d, "%zu of %zu rows took the same time in each of their runs", still, n);
}

static bool same_values(const vkt_bench *a, const vkt_bench *b)
{
    if (a->n_rows != b->n_rows || !a->n_rows) return false;
    for (size_t i = 0; i < a->n_rows; i++) {
        const vkt_bench_row *x = &a->rows[i], *y = &b->rows[i];
        bool same = isfinite(x->value) == isfinite(y->value) &&
                    (!isfinite(x->value) || (x->value <= y->value && x->value >= y->value));
        if (!same || strcmp(x->name, y->name)) return false;
    }
    return true;
}

size_t vkt_bench_verify(const vkt_bench *const *files, size_t n, size_t which,
                        vkt_bench_doubt_fn on_doubt, void *user)
{
    doubts d = { .b = files[which], .tell = on_doubt, .user = user };
    double most = most_gflops(d.b);
    check_file(&d);
    for (size_t i = 0; i < d.b->n_rows; i++) check_row(&d, &d.b->rows[i], most);
    check_spread(&d);
    for (size_t i = 0; i < which && i < n; i++)
        if (same_values(files[i], d.b)) {
            doubt(&d, "it has the values of another file, of %s, %s", files[i]->info.device,
                  files[i]->info.date);
            break;
        }
    return d.n;
}
