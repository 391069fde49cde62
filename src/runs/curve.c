/* curve.h */
#include <math.h>

#include "runs/curve.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double vkt__quantile(const double *v, size_t n, double q)
{
    double *s = vkt__alloc((n + 1) * sizeof *s), r = NAN;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i])) s[k++] = v[i];
    if (k) {
        qsort(s, k, sizeof *s, by_value);
        double at = q * (double)(k - 1);
        size_t i = (size_t)at;
        double part = at - (double)i;
        r = part > 0 ? s[i] + part * (s[i + 1] - s[i]) : s[i];
    }
    free(s);
    return r;
}

double vkt__median(const double *v, size_t n)
{
    return vkt__quantile(v, n, 0.5);
}

void vkt__smooth(const double *v, size_t n, double alpha, double *out)
{
    double sum = 0, weight = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(v[i])) {
            sum = (1 - alpha) * sum + alpha * v[i];
            weight = (1 - alpha) * weight + alpha;
        }
        out[i] = weight > 0 ? sum / weight : NAN;
    }
}

/* A window of a curve: its median, and that one's standard error; of the logarithms, too, which
 * tell where noise grows with the loss. */
typedef struct window {
    double median, error, log_error; /* log_error INFINITY: not all values are above 0 */
} window;
enum { MOST_WINDOWS = 64, BESIDE = 3 };
/* Standard errors that a rise is. */
#define ERRORS 5

/* From the spread of its values around the median; d [n] is room. */
static double median_error(const double *v, size_t n, double median, bool logs, double *d)
{
    for (size_t i = 0; i < n; i++) {
        if (logs && !(v[i] > 0)) return INFINITY;
        d[i] = fabs(logs ? log(v[i] / median) : v[i] - median);
    }
    return 1.2533 * 1.4826 * vkt__median(d, n) / sqrt((double)n);
}

/* Consecutive windows. The spread of a few values is often far too small by chance, so none has a
 * smaller error than those around it usually have. */
static size_t read_windows(const double *v, size_t n, size_t width, window *out)
{
    double error[MOST_WINDOWS], log_error[MOST_WINDOWS], *d = vkt__alloc(width * sizeof *d);
    size_t count = VKT_MIN(n / width, MOST_WINDOWS);
    for (size_t k = 0; k < count; k++) {
        const double *at = v + k * width;
        out[k].median = vkt__median(at, width);
        error[k] = median_error(at, width, out[k].median, false, d);
        log_error[k] = median_error(at, width, out[k].median, true, d);
    }
    for (size_t k = 0; k < count; k++) {
        size_t from = k > BESIDE ? k - BESIDE : 0, near = VKT_MIN(k + BESIDE + 1, count) - from;
        out[k].error = fmax(error[k], vkt__median(error + from, near));
        out[k].log_error = fmax(log_error[k], vkt__median(log_error + from, near));
    }
    free(d);
    return count;
}

/* Whether window b lies above window a by more than their errors explain. */
static bool lies_above(const window *b, const window *a)
{
    double error = hypot(a->error, b->error), log_error = hypot(a->log_error, b->log_error);
    return b->median - a->median > ERRORS * error ||
           (a->median > 0 && log(b->median / a->median) > ERRORS * log_error);
}

/* A spike of a few steps in the first EARLY, which the medians of windows don't see: how far a
 * value lies above the lowest one before it. It must be a quarter of the first loss, and 3.5 times
 * what 95% of the next 40 steps change the loss by at most: of 1000 healthy curves with the noise
 * of 4 exponentially distributed losses a step, 7 then have one. Up to ten times that, a step
 * beside it must be raised by a fifth as much: what an update has spoiled the next one does not
 * mend at once, while a batch of odd examples is over after its step. */
static void early_spike(const double *v, size_t n, vkt__rise *r)
{
    enum { EARLY = 20, SETTLED = 5, COMPARED = 40 };
    static const double ALSO = 0.2;
    double low = v[0], change[COMPARED], by = 0;
    size_t low_at = 0, n_changes = 0, from = 0, to = 0;
    for (size_t i = SETTLED; i + 1 < n && n_changes < COMPARED; i++)
        change[n_changes++] = fabs(v[i + 1] - v[i]);
    for (size_t i = 1; i < VKT_MIN(n, EARLY); i++) {
        if (v[i] - low > by) by = v[i] - low, from = low_at, to = i;
        if (v[i] < low) low = v[i], low_at = i;
    }
    double usual = vkt__quantile(change, n_changes, 0.95);
    if (by <= fmax(3.5 * usual, 0.25 * fabs(v[0]))) return;
    double beside = fmax(v[to - 1], to + 1 < n ? v[to + 1] : -INFINITY) - (v[to] - by);
    if (by < 10 * usual && beside < ALSO * by) return;
    r->rises = r->early = true;
    if (by <= r->by) return;
    r->by = by;
    r->before = v[0] - v[from];
    r->from = from;
    r->to = to;
}

vkt__rise vkt__curve_rise(const double *v, size_t n)
{
    vkt__rise r = { 0 };
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i]))
            return (vkt__rise) { .rises = true, .by = INFINITY, .fall = NAN, .from = i, .to = i };
    if (n < 20) return r;
    window w[MOST_WINDOWS];
    size_t width = VKT_MAX(n / 25, 5), count = read_windows(v, n, width, w), low_at = 0;
    double low = w[0].median, first = low, worst = 0;
    for (size_t k = 1; k < count; k++) {
        double m = w[k].median;
        if (m - low > worst && lies_above(&w[k], &w[low_at])) {
            worst = m - low;
            r.before = first - low;
            r.from = low_at * width;
            r.to = (k + 1) * width - 1;
        }
        if (m < low) low = m, low_at = k;
    }
    r.by = worst;
    r.fall = first - low;
    r.rises = worst > 0.1 * fmax(r.fall, 0.1 * fabs(first));
    if (!r.rises) r.by = 0; /* of what is no rise, a spike need not be the larger */
    early_spike(v, n, &r);
    if (!r.rises) r.by = worst;
    return r;
}

double vkt__periodicity(const double *v, size_t n, size_t *lag)
{
    *lag = 0;
    if (n < 12) return 0;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return 0;
    /* What is left after the mean of a window that is wide against a period of a few points. */
    size_t half = n / 6;
    double *d = vkt__alloc(n * sizeof *d), power = 0, best = 0;
    for (size_t i = 0; i < n; i++) {
        size_t h = VKT_MIN(half, VKT_MIN(i, n - 1 - i)); /* symmetric, so that a slope goes away */
        double mean = 0;
        for (size_t k = i - h; k <= i + h; k++) mean += v[k];
        d[i] = v[i] - mean / (double)(2 * h + 1);
        power += d[i] * d[i];
    }
    bool dipped = false;
    for (size_t k = 1; k <= n / 3 && power > 0; k++) {
        double c = 0;
        for (size_t i = 0; i + k < n; i++) c += d[i] * d[i + k];
        c *= (double)n / (double)(n - k) / power;
        dipped |= c < 0;
        if (dipped && k >= 2 && c > best) best = c, *lag = k;
    }
    free(d);
    return VKT_MIN(best, 1);
}
