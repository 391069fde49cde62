/* Products of the columns of rows, and systems of equations of them. linear.h */
#include <math.h>
#include <string.h>

#include "baseline/linear.h"

void vkt__cholesky(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n, most = row[i];
        for (size_t j = 0; j <= i; j++) {
            const double *other = a + j * n;
            double s = row[j];
            for (size_t k = 0; k < j; k++) s -= row[k] * other[k];
            if (j < i)
                row[j] = other[j] > 0 ? s / other[j] : 0;
            else
                row[j] = s > 1e-14 * most ? sqrt(s) : 0;
        }
    }
}

void vkt__cholesky_solve(const double *l, size_t n, double *b, size_t q)
{
    for (size_t i = 0; i < n; i++) {
        const double *row = l + i * n;
        double by = row[i] > 0 ? 1 / row[i] : 0;
        for (size_t k = 0; k < i; k++)
            for (size_t j = 0; j < q; j++) b[i * q + j] -= row[k] * b[k * q + j];
        for (size_t j = 0; j < q; j++) b[i * q + j] *= by;
    }
    for (size_t i = n; i-- > 0;) {
        const double *row = l + i * n;
        double by = row[i] > 0 ? 1 / row[i] : 0;
        for (size_t j = 0; j < q; j++) b[i * q + j] *= by;
        for (size_t k = 0; k < i; k++)
            for (size_t j = 0; j < q; j++) b[k * q + j] -= row[k] * b[i * q + j];
    }
}

void vkt__column_products(const vkt__rows *x, const uint32_t *at, size_t n, double *g, size_t wide)
{
    for (size_t i = 0; i < n; i++) {
        size_t first = x->begin[at[i]], end = x->begin[at[i] + 1];
        for (size_t a = first; a < end; a++) {
            double v = (double)x->value[a], *row = g + x->column[a] * wide;
            for (size_t b = first; b <= a; b++) row[x->column[b]] += v * (double)x->value[b];
        }
    }
}
