/* scaling.h. Robust: the median and the range of the middle half give the scale, and what lies far
 * outside is drawn in smoothly (Holzmüller et al. 2024, arXiv 2407.04491). Bins: beside the number
 * an input for each bin between two quantiles, 0 below it, 1 above it and linear within it
 * (Gorishniy et al. 2022, arXiv 2203.05556): a linear layer then computes any function that is
 * linear between the edges. */
#include <math.h>

#include "data/tables/scaling.h"

#define NORMAL_QUARTILES 1.349 /* of a normal distribution: deviations between its quartiles */
#define LIMIT 3                /* what no robust input goes beyond */
enum { FEWEST_EDGES = 3 };     /* fewer say what the number says already */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted numbers, between two of them where it falls there. */
static double quantile(const double *v, uint64_t n, double q)
{
    double at = q * (double)(n - 1);
    uint64_t below = (uint64_t)at, above = VKT_MIN(below + 1, n - 1);
    return v[below] + (at - (double)below) * (v[above] - v[below]);
}

static void fit_robust(vkt__column *c, const double *v, uint64_t n)
{
    double middle = quantile(v, n, 0.75) - quantile(v, n, 0.25);
    c->mean = quantile(v, n, 0.5);
    if (middle > 0) c->std = middle / NORMAL_QUARTILES;
    c->limit = LIMIT;
}

static void fit_edges(vkt__column *c, const double *v, uint64_t n, uint32_t bins, vkt__arena *arena)
{
    double *edges = vkt__arena_alloc(arena, (bins + 1) * sizeof *edges);
    for (uint32_t i = 0; i <= bins; i++) {
        double e = quantile(v, n, (double)i / bins);
        if (!c->n_edges || e > edges[c->n_edges - 1]) edges[c->n_edges++] = e;
    }
    if (c->n_edges < FEWEST_EDGES) c->n_edges = 0;
    c->edges = edges;
}

void vkt__scaling_fit(const vkt_data_desc *desc, vkt__column *c, double *v, uint64_t n,
                      vkt__arena *arena)
{
    bool robust = desc->standardize == VKT_STANDARDIZE_ROBUST;
    if ((!robust && !desc->bins) || n == 0) return;
    qsort(v, n, sizeof *v, by_value);
    if (robust) fit_robust(c, v, n);
    if (desc->bins) fit_edges(c, v, n, desc->bins, arena);
}

bool vkt__scaling_inputs(const vkt__column *c, double v, float *x)
{
    double z = (v - c->mean) / c->std;
    if (c->limit > 0) z = isinf(z) ? copysign(c->limit, z) : z / hypot(1, z / c->limit);
    *x++ = (float)z;
    for (uint32_t i = 0; i + 1 < c->n_edges; i++) {
        double within = (v - c->edges[i]) / (c->edges[i + 1] - c->edges[i]);
        *x++ = (float)VKT_MIN(VKT_MAX(within, 0), 1);
    }
    return isfinite((float)z);
}
