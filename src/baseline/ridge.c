/* Ridge regression in closed form. linear.h */
#include <math.h>
#include <string.h>

#include "baseline/linear.h"

static void means(const vkt__fit_rows *d, double *x_mean, double *y_mean)
{
    for (size_t i = 0; i < d->n; i++) {
        const vkt__rows *x = d->x;
        for (size_t e = x->begin[d->at[i]]; e < x->begin[d->at[i] + 1]; e++)
            x_mean[x->column[e]] += (double)x->value[e];
        for (uint32_t k = 0; k < d->q; k++) y_mean[k] += d->y[(size_t)d->at[i] * d->q + k];
    }
    for (uint32_t j = 0; j < d->x->p; j++) x_mean[j] /= (double)d->n;
    for (uint32_t k = 0; k < d->q; k++) y_mean[k] /= (double)d->n;
}

/* The lower triangle of the columns' products around their means [p, p]. */
static void products_around(const vkt__fit_rows *d, const double *mean, double *g)
{
    size_t p = d->x->p;
    vkt__column_products(d->x, d->at, d->n, g, p);
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j <= i; j++) g[i * p + j] -= (double)d->n * mean[i] * mean[j];
}

/* The rows' products around the columns' means [n, n], both triangles. */
static void row_products(const vkt__fit_rows *d, const double *mean, double *g)
{
    const vkt__rows *x = d->x;
    size_t n = d->n;
    double *wide = vkt__alloc((x->p + 1) * sizeof *wide), *by_mean = vkt__alloc(n * sizeof *wide),
           square = 0;
    for (uint32_t j = 0; j < x->p; j++) square += mean[j] * mean[j];
    for (size_t i = 0; i < n; i++)
        for (size_t e = x->begin[d->at[i]]; e < x->begin[d->at[i] + 1]; e++)
            by_mean[i] += mean[x->column[e]] * (double)x->value[e];
    for (size_t i = 0; i < n; i++) {
        size_t first = x->begin[d->at[i]], end = x->begin[d->at[i] + 1];
        for (size_t e = first; e < end; e++) wide[x->column[e]] = (double)x->value[e];
        for (size_t k = 0; k <= i; k++) {
            double sum = square - by_mean[i] - by_mean[k];
            for (size_t e = x->begin[d->at[k]]; e < x->begin[d->at[k] + 1]; e++)
                sum += wide[x->column[e]] * (double)x->value[e];
            g[i * n + k] = g[k * n + i] = sum;
        }
        for (size_t e = first; e < end; e++) wide[x->column[e]] = 0;
    }
    free(wide);
    free(by_mean);
}

/* One output's weights from its solution: of the columns it is they, of the rows their sum. */
static void take_weights(const vkt__fit_rows *d, const double *mean, bool by_columns,
                         const double *solution, double y_mean, double *w)
{
    size_t q = d->q;
    const vkt__rows *x = d->x;
    double at_mean = 0;
    if (by_columns) {
        for (uint32_t j = 0; j < x->p; j++) w[j * q] = solution[j];
    } else {
        double sum = 0;
        for (uint32_t j = 0; j < x->p; j++) w[j * q] = 0;
        for (size_t i = 0; i < d->n; i++) {
            sum += solution[i];
            for (size_t e = x->begin[d->at[i]]; e < x->begin[d->at[i] + 1]; e++)
                w[x->column[e] * q] += solution[i] * (double)x->value[e];
        }
        for (uint32_t j = 0; j < x->p; j++) w[j * q] -= sum * mean[j];
    }
    for (uint32_t j = 0; j < x->p; j++) at_mean += w[j * q] * mean[j];
    w[x->p * q] = y_mean - at_mean;
}

/* The right side of one output's equations. */
static void take_targets(const vkt__fit_rows *d, const double *mean, bool by_columns, uint32_t k,
                         double y_mean, double *b)
{
    const vkt__rows *x = d->x;
    double sum = 0;
    if (by_columns) memset(b, 0, x->p * sizeof *b);
    for (size_t i = 0; i < d->n; i++) {
        double y = d->y[(size_t)d->at[i] * d->q + k] - y_mean;
        if (!by_columns) b[i] = y;
        sum += y;
        for (size_t e = x->begin[d->at[i]]; e < x->begin[d->at[i] + 1] && by_columns; e++)
            b[x->column[e]] += y * (double)x->value[e];
    }
    for (uint32_t j = 0; j < x->p && by_columns; j++) b[j] -= sum * mean[j];
}

vkt_status vkt__ridge_fit(const vkt__fit_rows *d, const double *strength, size_t n_strengths,
                          double *w)
{
    vkt_status st = VKT_OK;
    size_t p = d->x->p, m = VKT_MIN(p, d->n);
    bool by_columns = p <= d->n;
    double *g = NULL, *l = NULL, *mean = vkt__alloc((p + 1) * sizeof *mean),
           *y_mean = vkt__alloc(d->q * sizeof *y_mean), *b = vkt__alloc((m + 1) * sizeof *b);
    VKT_TRY(vkt__alloc_large(m * m + 1, sizeof *g, "a linear model", &g));
    VKT_TRY(vkt__alloc_large(m * m + 1, sizeof *l, "a linear model", &l));
    memset(g, 0, m * m * sizeof *g);
    means(d, mean, y_mean);
    if (by_columns)
        products_around(d, mean, g);
    else
        row_products(d, mean, g);
    for (size_t s = 0; s < n_strengths; s++) {
        memcpy(l, g, m * m * sizeof *l);
        for (size_t i = 0; i < m; i++) l[i * m + i] += strength[s];
        vkt__cholesky(l, m);
        for (uint32_t k = 0; k < d->q; k++) {
            take_targets(d, mean, by_columns, k, y_mean[k], b);
            vkt__cholesky_solve(l, m, b, 1);
            take_weights(d, mean, by_columns, b, y_mean[k], w + s * d->q * (p + 1) + k);
        }
    }
fail:
    free(g);
    free(l);
    free(mean);
    free(y_mean);
    free(b);
    return st;
}

double vkt__ridge_cost(double n, double p, double entries, double n_strengths)
{
    double m = fmin(n, p), products = p <= n ? n * entries * entries / 2 : n * n * entries / 2;
    return products + n_strengths * m * m * m / 6;
}
