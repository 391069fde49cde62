/* tune_time.h */
#include <math.h>

#include "gpu/commands.h"
#include "base/os.h"
#include "tensor/check/tune_time.h"
#include "tensor/graph/graph.h"

enum { ROUNDS = 5, ROUNDS_CPU = 3, MOST_ROUNDS = 64, REPEATS = 4 };
static const double LEAST_S = 0.03, THOROUGH_S = 0.3, WARM_S = 0.1, WARM_FIRST_S = 1,
                    WARM_MOST_S = 2;
static const double STEADY = 0.97; /* of the time before: clocks that still rise are faster */
static const double HOPELESS = 2;  /* times the table's: one round tells */
static const uint64_t MOST_COMPARED = 64 << 20; /* bytes of a result */

double vkt__tune_seconds(const vkt_tune_desc *desc)
{
    return desc->thorough ? THOROUGH_S : LEAST_S;
}

static bool is_cpu(const vkt_graph *g)
{
    return vkt_gpu_caps(g->gpu)->klass == VKT_GPU_CLASS_CPU;
}

/* One after the other, as in a step, where there are timestamps: the least of the copies. CPU
 * drivers' have no meaning there. */
static vkt_status run(const vkt__tuned *c, double *ms)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = c->g;
    double start = vkt__now();
    if (is_cpu(g) || vkt_gpu_caps(g->gpu)->timestamp_ns <= 0) {
        VKT_TRY(vkt_graph_run(g));
        *ms = (vkt__now() - start) * 1e3 / VKT_MAX(c->copies, 1);
    } else {
        vkt_node_time *t = NULL;
        size_t n = 0;
        *ms = INFINITY;
        VKT_TRY(vkt_graph_time(g, 0, 1, &t, &n));
        for (size_t k = 0; k < n; k++) *ms = fmin(*ms, t[k].ms);
        free(t);
    }
fail:
    return st;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *x, uint32_t n)
{
    qsort(x, n, sizeof *x, by_size);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static bool are_enough(const vkt_graph *g, uint32_t rounds, double begin, double seconds)
{
    if (rounds < (is_cpu(g) ? ROUNDS_CPU : ROUNDS)) return false;
    return rounds == MOST_ROUNDS || vkt__now() - begin >= seconds;
}

/* A GPU's clocks fall within milliseconds without work, and take longer to rise: an H200's from 345
 * to 1980 MHz take a second. Until a tenth of a second is no faster than the one before, a
 * session's first time for a second at least. */
static vkt_status warm(const vkt__tuned *c)
{
    vkt_status st = VKT_OK;
    double begin = vkt__now(), before = INFINITY, now = INFINITY, ms;
    double least = vkt__gpu_first_time(c->g->gpu, 1u << 30) ? WARM_FIRST_S : 0;
    do {
        before = now;
        now = INFINITY;
        for (double t = vkt__now(); vkt__now() - t < WARM_S;) {
            VKT_TRY(run(c, &ms));
            now = fmin(now, ms);
        }
    } while (vkt__now() - begin < least ||
             (!(now >= STEADY * before) && vkt__now() - begin < WARM_MOST_S));
fail:
    return st;
}

static vkt_status alone(const vkt__tuned *c, double seconds, double *ms)
{
    vkt_status st = VKT_OK;
    const vkt_graph *g = c->g;
    double times[MOST_ROUNDS], begin = vkt__now();
    uint32_t n = 0;
    if (!is_cpu(g)) VKT_TRY(warm(c));
    begin = vkt__now();
    do VKT_TRY(run(c, &times[n]));
    while (!are_enough(g, ++n, begin, seconds));
    *ms = median(times, n);
fail:
    return st;
}

static vkt_status in_turns(const vkt__tuned *table, const vkt__tuned *c, double seconds, double *ms)
{
    vkt_status st = VKT_OK;
    double ratios[MOST_ROUNDS], begin = vkt__now();
    uint32_t n = 0;
    do {
        double a, b;
        VKT_TRY(run(table, &a));
        VKT_TRY(run(c, &b));
        ratios[n++] = a > 0 ? b / a : 1; /* 0: a clock that did not tick */
    } while (!(n == 1 && ratios[0] > HOPELESS) && !are_enough(c->g, n, begin, 2 * seconds));
    *ms = table->ms * median(ratios, n);
fail:
    return st;
}

/* Whether more runs give the same bits: kernels add in a fixed order, so that a race shows. */
static vkt_status repeats(vkt_graph *g, vkt_tensor *result, bool *same)
{
    vkt_status st = VKT_OK;
    uint64_t bytes = VKT_MIN(result->bytes, MOST_COMPARED);
    void *first = vkt__alloc(bytes), *again = vkt__alloc(bytes);
    *same = true;
    VKT_TRY(vkt_tensor_read(result, 0, first, bytes));
    for (int i = 0; i < REPEATS && *same; i++) {
        VKT_TRY(vkt_graph_run(g));
        VKT_TRY(vkt_tensor_read(result, 0, again, bytes));
        *same = !memcmp(first, again, bytes);
    }
fail:
    free(first);
    free(again);
    return st;
}

vkt_status vkt__tune_candidate(const vkt__tuned *table, vkt__tuned *c, double seconds,
                               double best_ms)
{
    vkt_status st = VKT_OK;
    bool same = true;
    c->ms = INFINITY;
    if (table->g)
        VKT_TRY(in_turns(table, c, seconds, &c->ms));
    else
        VKT_TRY(alone(c, seconds, &c->ms));
    if (c->ms >= best_ms) return VKT_OK;
    VKT_TRY(repeats(c->g, c->out, &same));
    if (same) return VKT_OK;
    vkt_log(VKT_LOG_WARN, "tune",
            "kernel %s gives other bits from run to run on this device: it is not used", c->kernel);
fail:
    c->ms = INFINITY;
    return st;
}

void vkt__tune_keep(vkt__tuned *table, vkt__tuned *c, bool is_table)
{
    if (is_table && isfinite(c->ms)) {
        *table = *c;
        c->g = NULL;
    }
    vkt_graph_destroy(&c->g);
}
