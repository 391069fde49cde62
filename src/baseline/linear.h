/* Private to src/baseline: linear models of sparse rows. An output is a weighted sum of the columns
 * plus a constant, which is not regularised. */
#ifndef VKT_BASELINE_LINEAR_H
#define VKT_BASELINE_LINEAR_H

#include "base/memory.h"

/* Rows that keep their entries other than zero. */
typedef struct vkt__rows {
    size_t n, cap, n_entries, cap_entries;
    size_t *begin; /* [n + 1] */
    uint32_t *column;
    float *value;
    uint32_t p; /* columns */
} vkt__rows;
void vkt__rows_finish(vkt__rows *r);

/* What a model is fitted to: `at` [n] names rows of x, and of y [x->n, q]. */
typedef struct vkt__fit_rows {
    const vkt__rows *x;
    const double *y;
    const uint32_t *at;
    size_t n;
    uint32_t q; /* outputs */
} vkt__fit_rows;

/* w [p + 1, q]: a column's weight in each output, then the constants: an inner loop over outputs.
 */

/* Ridge: the least sum of squared errors plus strength times the sum of squared weights, solved
 * exactly through the normal equations of the columns, or where there are fewer rows, of the rows.
 * All strengths share one matrix; w [n_strengths, p + 1, q]. OOM_HOST. */
vkt_status vkt__ridge_fit(const vkt__fit_rows *d, const double *strength, size_t n_strengths,
                          double *w);
/* Multiply-adds that it takes. */
double vkt__ridge_cost(double n, double p, double entries, double n_strengths);

/* ---- squares.c ---- */

/* The lower triangle of a positive definite matrix [n, n] becomes its Cholesky factor; a pivot that
 * rounding left without a value makes its row zero. */
void vkt__cholesky(double *a, size_t n);
/* b [n, q] becomes the solutions of q systems of the factor l. */
void vkt__cholesky_solve(const double *l, size_t n, double *b, size_t q);
/* Adds the products of the columns, of rows `at` [n] of x, to the lower triangle of g, whose rows
 * have `wide` numbers. */
void vkt__column_products(const vkt__rows *x, const uint32_t *at, size_t n, double *g, size_t wide);

/* ---- logistic.c ---- */

/* Logistic regression: the least sum of log losses plus half the strength times the sum of squared
 * weights. softmax: one class of q, y the index in each row's first number; else q yes-or-no
 * outputs, y 0 or 1. From w on, by L-BFGS, until no gradient of the mean exceeds `tolerance` or
 * after `steps`. products: the mean products of the columns and a constant 1 behind them, lower
 * triangle [p + 1, p + 1], of these rows or of others like them: what the curvature is thought to
 * be at first; NULL: each weight's the same, which takes more passes. */
typedef struct vkt__logistic_how {
    bool softmax;
    double strength, tolerance;
    uint32_t steps;
    const double *products;
} vkt__logistic_how;
void vkt__logistic_products(const vkt__rows *x, const uint32_t *at, size_t n, double *products);
vkt_status vkt__logistic_fit(const vkt__fit_rows *d, const vkt__logistic_how *how, double *w);

/* A row's outputs: out [q]. */
void vkt__linear_row(const vkt__rows *x, size_t row, const double *w, uint32_t q, double *out);
/* The outputs as probabilities, in their place. */
void vkt__linear_probabilities(double *out, uint32_t q, bool softmax);

#endif
