/* How long recorded work takes: it warms up by time, then measures by time, in submissions with
 * enough repetitions for the clock to be trusted. */
#include <math.h>

#include "base/os.h"
#include "bench/bench_clock.h"

enum { MAX_RUNS = 400 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Half of the 95% confidence interval of the median of n sorted values, by their ranks, as a share
 * of it; 0: too few to tell. */
static double confidence(const double *s, uint32_t n)
{
    double reach = 0.98 * sqrt(n), low = floor((n - 1) / 2.0 - reach),
           high = ceil((n - 1) / 2.0 + reach), median = (s[(n - 1) / 2] + s[n / 2]) / 2;
    if (low < 0 || !(median > 0)) return 0;
    return (s[(uint32_t)high] - s[(uint32_t)low]) / 2 / median;
}

uint32_t vkt__bench_min_runs(const vkt__bencher *b)
{
    return b->share < 0.5 ? VKT_MIN(b->min_runs, 3) : b->min_runs;
}

bool vkt__bench_is_sure(const vkt__bencher *b, const double *s, uint32_t n)
{
    static const double SURE = 0.02;
    if (!b->suite || b->desc->once) return true;
    double *sorted = vkt__alloc(n * sizeof *sorted);
    memcpy(sorted, s, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    double ci = confidence(sorted, n);
    free(sorted);
    return ci > 0 && ci < SURE;
}

void vkt__bench_stats(double *s, uint32_t n, vkt__times *out)
{
    VKT_ASSERT(n > 0);
    qsort(s, n, sizeof *s, by_value);
    *out = (vkt__times) { .median = (s[(n - 1) / 2] + s[n / 2]) / 2,
                          .min = s[0],
                          .max = s[n - 1],
                          .q1 = s[(n - 1) / 4],
                          .q3 = s[n - 1 - (n - 1) / 4],
                          .other = NAN,
                          .ci = confidence(s, n),
                          .runs = n };
}

/* One submission of `reps` repetitions: seconds by the host's clock and by timestamps (NAN
 * without). */
static vkt_status run_once(vkt__bencher *b, vkt__cmd *cmd, double *wall, double *gpu)
{
    vkt_status st = VKT_OK;
    uint64_t ticket = 0;
    double ms[2] = { 0, NAN }, start = vkt__now();
    VKT_TRY(vkt__submit(b->gpu, cmd, &ticket));
    VKT_TRY(vkt_ticket_wait(b->gpu, ticket));
    *wall = vkt__now() - start;
    if (b->caps->timestamp_ns > 0) VKT_TRY(vkt__cmd_times(b->gpu, cmd, ms));
    *gpu = ms[1] * 1e-3;
fail:
    return st;
}

static vkt_status record(vkt__bencher *b, const vkt__bench_job *job, uint32_t reps, vkt__cmd **out)
{
    vkt_status st = VKT_OK;
    vkt__cmd *c = NULL;
    VKT_TRY(vkt__cmd_create(b->gpu, job->label, 2, &c));
    vkt__cmd_timestamp(c, 0);
    for (uint32_t i = 0; i < reps; i++) {
        VKT_TRY(job->record(job->user, c, i));
        if (!job->no_barriers && i + 1 < reps) vkt__cmd_barrier(c);
    }
    vkt__cmd_timestamp(c, 1);
    VKT_TRY(vkt__cmd_end(c));
    *out = c;
    return VKT_OK;
fail:
    vkt__cmd_destroy(b->gpu, &c);
    return st;
}

vkt_status vkt__bench_time(vkt__bencher *b, const vkt__bench_job *job, vkt__times *out)
{
    vkt_status st = VKT_OK;
    vkt__cmd *cmd = NULL;
    double wall, gpu, fill = b->desc->quick ? 0.01 : 0.02,
                      *s = vkt__alloc(2 * MAX_RUNS * sizeof *s), *s2 = s + MAX_RUNS;
    double warm_s = b->share * (job->warm_s > 0 ? job->warm_s : b->warm_s),
           time_s = b->share * (job->time_s > 0 ? job->time_s : b->time_s);
    uint32_t reps = 1, n = 0, most = job->max_reps ? job->max_reps : 2000;
    VKT_TRY(record(b, job, 1, &cmd));
    bool slow = false;    /* so slow that a few runs must do */
    if (!b->desc->once) { /* repetitions that fill a submission, by growing until the time can be
                             trusted */
        for (;;) {
            VKT_TRY(run_once(b, cmd, &wall, &gpu));
            slow = wall > (job->trial ? 0.1 : 0.5);
            if (slow) break;
            VKT_TRY(run_once(b, cmd, &wall, &gpu));
            double took = b->wall ? wall : gpu;
            if (took >= 0.5 * fill || reps == most) break;
            double want = took > 0 ? 1.2 * fill / took * reps : 8.0 * reps;
            reps = (uint32_t)VKT_MAX(reps + 1, VKT_MIN(want, VKT_MIN((double)most, 8.0 * reps)));
            vkt__cmd_destroy(b->gpu, &cmd);
            VKT_TRY(record(b, job, reps, &cmd));
        }
        for (double end = vkt__now() + warm_s; vkt__now() < end && !slow;)
            VKT_TRY(run_once(b, cmd, &wall, &gpu));
    }
    uint32_t min_runs = b->desc->once ? 1 : job->trial ? 2 : slow ? 3 : vkt__bench_min_runs(b);
    double begun = vkt__now(), end = begun + (b->desc->once ? 0 : time_s),
           last = begun + VKT__BENCH_MOST_TIMES * time_s;
    while (n < min_runs || (n < MAX_RUNS && vkt__now() < end) ||
           (n < MAX_RUNS && vkt__now() < last && !vkt__bench_is_sure(b, s, n))) {
        VKT_TRY(run_once(b, cmd, &wall, &gpu));
        s[n] = (b->wall ? wall : gpu) / reps;
        s2[n++] = (b->wall ? gpu : wall) / reps;
    }
    vkt__times other;
    vkt__bench_stats(s2, n, &other);
    vkt__bench_stats(s, n, out);
    out->other = other.median;
    if (!(out->min > 0)) { /* a timestamp period longer than the work */
        for (uint32_t i = 0; i < n; i++) s[i] = VKT_MAX(s[i], 1e-9);
        vkt__bench_stats(s, n, out);
    }
fail:
    vkt__cmd_destroy(b->gpu, &cmd);
    free(s);
    return st;
}

double vkt__bench_bandwidth(const vkt__bencher *b, double working_set, double write_share)
{
    double best = 0, largest = 0;
    for (uint32_t i = 0; i < b->n_copy; i++) {
        largest = VKT_MAX(largest, b->copy[i].bytes);
        if (b->copy[i].bytes >= working_set) best = VKT_MAX(best, b->copy[i].rate);
    }
    for (uint32_t i = 0; i < b->n_copy && best == 0; i++) /* larger than any */
        if (b->copy[i].bytes == largest) best = b->copy[i].rate;
    best = VKT_MAX(best, b->triad);
    if (write_share < 0.1) best = VKT_MAX(best, b->read);
    if (write_share > 0.9) best = VKT_MAX(best, b->write);
    return best;
}
