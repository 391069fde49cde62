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

/* Standard error of the median of a window, from the spread of its values around it. */
static double median_error(const double *v, size_t n, double median)
{
    double *d = vkt__alloc(n * sizeof *d);
    for (size_t i = 0; i < n; i++) d[i] = fabs(v[i] - median);
    double e = 1.2533 * 1.4826 * vkt__median(d, n) / sqrt((double)n);
    free(d);
    return e;
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
    size_t window = VKT_MAX(n / 25, 5), low_at = 0;
    double low = vkt__median(v, window), first = low, worst = 0;
    double low_error = median_error(v, window, low);
    for (size_t at = window; at + window <= n; at += window) {
        double m = vkt__median(v + at, window), e = median_error(v + at, window, m);
        /* By how many standard errors of the difference it lies above. */
        double share = (m - low) / fmax(4 * sqrt(e * e + low_error * low_error), 1e-300);
        if (m > low && share > 1 && m - low > worst) {
            worst = m - low;
            r.before = first - low;
            r.from = low_at;
            r.to = at + window - 1;
        }
        if (m < low) low = m, low_at = at, low_error = e;
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
