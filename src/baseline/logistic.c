/* Logistic regression by L-BFGS (Nocedal 1980; Liu and Nocedal 1989). linear.h */
#include <math.h>
#include <string.h>

#include "baseline/linear.h"

enum { KEPT = 10 }; /* pairs of steps and changes of the gradient */

void vkt__rows_finish(vkt__rows *r)
{
    free(r->begin);
    free(r->column);
    free(r->value);
    *r = (vkt__rows) { 0 };
}

/* Four at a time, as outputs are few. */
static inline void add_times(double *restrict to, double v, const double *restrict from, uint32_t q)
{
    uint32_t k = 0;
    for (; k + 4 <= q; k += 4)
        for (uint32_t i = 0; i < 4; i++) to[k + i] += v * from[k + i];
    for (; k < q; k++) to[k] += v * from[k];
}

void vkt__linear_row(const vkt__rows *x, size_t row, const double *w, uint32_t q, double *out)
{
    size_t e = x->begin[row], end = x->begin[row + 1];
    double sum[4] = { 0 };
    if (q == 1) { /* four sums, so that one need not wait for the other */
        for (; e + 4 <= end; e += 4)
            for (size_t i = 0; i < 4; i++) sum[i] += w[x->column[e + i]] * (double)x->value[e + i];
        for (; e < end; e++) sum[0] += w[x->column[e]] * (double)x->value[e];
        out[0] = w[x->p] + (sum[0] + sum[1] + (sum[2] + sum[3]));
        return;
    }
    memcpy(out, w + (size_t)x->p * q, q * sizeof *out);
    for (; e < end; e++) add_times(out, (double)x->value[e], w + (size_t)x->column[e] * q, q);
}

void vkt__linear_probabilities(double *out, uint32_t q, bool softmax)
{
    double most = out[0], sum = 0;
    for (uint32_t k = 0; k < q && !softmax; k++)
        out[k] = out[k] > 0 ? 1 / (1 + exp(-out[k])) : exp(out[k]) / (1 + exp(out[k]));
    if (!softmax) return;
    for (uint32_t k = 1; k < q; k++) most = fmax(most, out[k]);
    for (uint32_t k = 0; k < q; k++) sum += out[k] = exp(out[k] - most);
    for (uint32_t k = 0; k < q; k++) out[k] /= sum;
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* The loss of a row; z [q] becomes its derivatives by the outputs. */
static double row_loss(double *z, const double *y, uint32_t q, bool softmax)
{
    double loss = 0, most = z[0], sum = 0;
    for (uint32_t k = 0; k < q && !softmax; k++) {
        loss += fmax(z[k], 0) - z[k] * y[k] + log1p(exp(-fabs(z[k])));
        vkt__linear_probabilities(&z[k], 1, false);
        z[k] -= y[k];
    }
    if (!softmax) return loss;
    for (uint32_t k = 1; k < q; k++) most = fmax(most, z[k]);
    loss = most - z[(size_t)y[0]];
    for (uint32_t k = 0; k < q; k++) sum += z[k] = exp(z[k] - most);
    for (uint32_t k = 0; k < q; k++) z[k] /= sum;
    z[(size_t)y[0]] -= 1;
    return loss + log(sum);
}

/* The mean of what is least, and its gradient g. z [q]: room. */
static double value_at(const vkt__fit_rows *d, const vkt__logistic_how *how, const double *w,
                       double *g, double *z)
{
    const vkt__rows *x = d->x;
    uint32_t q = d->q;
    size_t n_weights = (size_t)x->p * q, n_all = n_weights + q;
    uint32_t n_y = how->softmax ? 1 : d->q;
    double loss = 0, square = 0, n = (double)d->n;
    memset(g, 0, n_all * sizeof *g);
    for (size_t i = 0; i < d->n; i++) {
        size_t row = d->at[i], first = x->begin[row], end = x->begin[row + 1];
        vkt__linear_row(x, row, w, d->q, z);
        loss += row_loss(z, d->y + row * n_y, d->q, how->softmax);
        for (uint32_t k = 0; k < q; k++) g[n_weights + k] += z[k];
        for (size_t e = first; e < end; e++)
            add_times(g + (size_t)x->column[e] * q, (double)x->value[e], z, q);
    }
    for (size_t at = 0; at < n_weights; at++) {
        g[at] += how->strength * w[at];
        square += w[at] * w[at];
    }
    for (size_t at = 0; at < n_all; at++) g[at] /= n;
    return (loss + how->strength / 2 * square) / n;
}

void vkt__logistic_products(const vkt__rows *x, const uint32_t *at, size_t n, double *products)
{
    size_t wide = (size_t)x->p + 1;
    double *last = products + x->p * wide;
    memset(products, 0, wide * wide * sizeof *products);
    vkt__column_products(x, at, n, products, wide);
    for (size_t i = 0; i < n; i++)
        for (size_t e = x->begin[at[i]]; e < x->begin[at[i] + 1]; e++)
            last[x->column[e]] += (double)x->value[e];
    last[x->p] = (double)n;
    for (size_t i = 0; i < wide * wide; i++) products[i] /= (double)n;
}

typedef struct memory {
    double *s[KEPT], *y[KEPT], rho[KEPT];
    size_t n, next;
    double scale;      /* of the first guess of the inverse curvature, by the last pair */
    double *curvature; /* [p + 1, p + 1] its Cholesky factor, or NULL */
    size_t wide, q;
} memory;

/* No curvature of the loss exceeds a quarter of the columns' products, of softmax a half (Boehning
 * 1992). */
static vkt_status bound_curvature(memory *m, const vkt__fit_rows *d, const vkt__logistic_how *how)
{
    vkt_status st = VKT_OK;
    size_t n = (size_t)d->x->p + 1;
    m->wide = n;
    m->q = d->q;
    if (!how->products) return VKT_OK;
    VKT_TRY(vkt__alloc_large(n * n, sizeof *m->curvature, "a linear model", &m->curvature));
    for (size_t i = 0; i < n * n; i++)
        m->curvature[i] = how->products[i] * (how->softmax ? 0.5 : 0.25);
    for (size_t i = 0; i < n; i++)
        m->curvature[i * n + i] += i + 1 < n ? how->strength / (double)d->n : 1e-9;
    vkt__cholesky(m->curvature, n);
fail:
    return st;
}

/* The direction down from gradient g. */
static void direction(const memory *m, const double *g, size_t n, double *r)
{
    double alpha[KEPT];
    size_t have = VKT_MIN(m->n, (size_t)KEPT);
    for (size_t i = 0; i < n; i++) r[i] = -g[i];
    for (size_t i = 0; i < have; i++) {
        size_t k = (m->next + KEPT - 1 - i) % KEPT;
        alpha[k] = m->rho[k] * dot(m->s[k], r, n);
        for (size_t j = 0; j < n; j++) r[j] -= alpha[k] * m->y[k][j];
    }
    if (m->curvature) vkt__cholesky_solve(m->curvature, m->wide, r, m->q);
    for (size_t j = 0; j < n && have; j++) r[j] *= m->scale;
    for (size_t i = have; i-- > 0;) {
        size_t k = (m->next + KEPT - 1 - i) % KEPT;
        double beta = alpha[k] - m->rho[k] * dot(m->y[k], r, n);
        for (size_t j = 0; j < n; j++) r[j] += beta * m->s[k][j];
    }
}

/* change: room afterwards. */
static void remember(memory *m, const double *step, double *change, size_t n)
{
    double sy = dot(step, change, n);
    if (!(sy > 1e-18 * dot(change, change, n))) return;
    memcpy(m->s[m->next], step, n * sizeof *step);
    memcpy(m->y[m->next], change, n * sizeof *change);
    m->rho[m->next] = 1 / sy;
    if (m->curvature) vkt__cholesky_solve(m->curvature, m->wide, change, m->q);
    m->scale = sy / dot(m->y[m->next], change, n);
    m->next = (m->next + 1) % KEPT;
    m->n++;
}

static double largest(const double *g, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(g[i]));
    return most;
}

vkt_status vkt__logistic_fit(const vkt__fit_rows *d, const vkt__logistic_how *how, double *w)
{
    vkt_status st = VKT_OK;
    size_t n = (size_t)d->q * ((size_t)d->x->p + 1);
    memory m = { 0 };
    double *all = NULL, *z = vkt__alloc(d->q * sizeof *z);
    VKT_TRY(vkt__alloc_large((2 * KEPT + 5) * n, sizeof *all, "a linear model", &all));
    double *g = all, *r = all + n, *at = all + 2 * n, *g_at = all + 3 * n, *step = all + 4 * n;
    for (size_t i = 0; i < KEPT; i++) {
        m.s[i] = all + (5 + i) * n;
        m.y[i] = all + (5 + KEPT + i) * n;
    }
    VKT_TRY(bound_curvature(&m, d, how));
    double f = value_at(d, how, w, g, z);
    for (uint32_t i = 0; i < how->steps && largest(g, n) > how->tolerance; i++) {
        direction(&m, g, n, r);
        double slope = dot(g, r, n), f_at = f,
               t = m.n || m.curvature ? 1 : 1 / fmax(1, sqrt(dot(g, g, n)));
        bool lower = false;
        if (!(slope < 0)) break;
        for (int k = 0; k < 30 && !lower; k++, t *= lower ? 1 : 0.5) {
            for (size_t j = 0; j < n; j++) at[j] = w[j] + t * r[j];
            f_at = value_at(d, how, at, g_at, z);
            lower = f_at <= f + 1e-4 * t * slope;
        }
        if (!lower) break; /* as low as rounding lets it be told */
        for (size_t j = 0; j < n; j++) {
            step[j] = at[j] - w[j];
            r[j] = g_at[j] - g[j];
        }
        remember(&m, step, r, n);
        memcpy(w, at, n * sizeof *w);
        memcpy(g, g_at, n * sizeof *g);
        f = f_at;
    }
fail:
    free(m.curvature);
    free(all);
    free(z);
    return st;
}
