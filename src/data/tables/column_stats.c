/* column_stats.h: means and deviations of numbers. */
#include <math.h>

#include "data/tables/column_stats.h"

double vkt__stats_deviation(const vkt__stats *a)
{
    double std = a->n ? sqrt(a->sq / (double)a->n) : 0;
    return std > 0 ? std : 1;
}

vkt__stats vkt__stats_of(const double *v, uint64_t n)
{
    vkt__stats a = { .n = n };
    double sum = 0;
    if (n == 0) return a;
    /* Distances from the first value: a constant column gets exactly that mean and deviation 0. */
    for (uint64_t i = 0; i < n; i++) sum += v[i] - v[0];
    a.mean = v[0] + sum / (double)n;
    for (uint64_t i = 0; i < n; i++) a.sq += (v[i] - a.mean) * (v[i] - a.mean);
    return a;
}

void vkt__stats_share(vkt__schema *s, const vkt__stats *of, vkt_standardize how)
{
    vkt__stats all = { 0 };
    for (uint32_t i = 0; i < s->n_columns; i++) all.n += of[i].n;
    if (all.n == 0) return; /* text only */
    for (uint32_t i = 0; i < s->n_columns; i++)
        all.mean += of[i].mean * ((double)of[i].n / (double)all.n);
    for (uint32_t i = 0; i < s->n_columns; i++) {
        double d = of[i].mean - all.mean;
        all.sq += of[i].sq + (double)of[i].n * d * d;
    }
    for (uint32_t i = 0; i < s->n_columns; i++) {
        s->columns[i].mean = how == VKT_STANDARDIZE_NONE ? 0 : all.mean;
        s->columns[i].std = how == VKT_STANDARDIZE_NONE ? 1 : vkt__stats_deviation(&all);
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double vkt__stats_far(double *v, uint64_t n, double *median, double *quartiles)
{
    enum { FEWEST = 20 };
    double n_far = 0;
    if (n < FEWEST) return NAN;
    qsort(v, n, sizeof *v, by_value);
    *median = v[n / 2];
    *quartiles = v[n - 1 - n / 4] - v[n / 4];
    if (!(*quartiles > 0)) return NAN;
    for (uint64_t i = 0; i < n; i++)
        n_far += fabs(v[i] - *median) > VKT__FAR_QUARTILES * *quartiles;
    return n_far;
}

/* How much farther the 98th percentile lies from the median than the second one; both sides count
 * from 1 in 50 rows on, so that single labels far away are no tail. */
static double tail(const double *v, uint64_t n, bool logs)
{
    const double at[] = { v[n / 50], v[n / 2], v[n - 1 - n / 50] };
    double low = logs ? log(at[1] / at[0]) : at[1] - at[0],
           high = logs ? log(at[2] / at[1]) : at[2] - at[1];
    return high / low;
}

bool vkt__stats_skewed(const double *v, uint64_t n)
{
    enum { FEWEST = 100 };
    const double skewed = 5, even = 2; /* tools/results: "The logarithm of a target" */
    if (n < FEWEST || !(v[0] > 0)) return false;
    double logs = tail(v, n, true);
    return tail(v, n, false) > skewed && logs < even && logs > 1 / even;
}
