/* tune_wants.h */
#include <math.h>

#include "tensor/check/tune_wants.h"
#include "tensor/graph/act.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/matmul/ops_matmul.h"

static const double CHECKED_FLOPS = 40e6; /* on the host, once for all kernels of a product */

/* An operand's element after element by a step, in the pattern that repeats. */
typedef struct walk {
    const double *values;
    uint64_t at, step, period;
} walk;

static walk walk_from(const vkt__tune_inputs *in, int k, uint64_t at, uint64_t step)
{
    uint64_t period = in->period[k];
    return (walk) { in->values[k], at % period, step % period, period };
}

static double next(walk *w)
{
    double v = w->values[w->at];
    w->at += w->step;
    if (w->at >= w->period) w->at -= w->period;
    return v;
}

static double value(const vkt__tune_inputs *in, int k, uint64_t i)
{
    return in->values[k][i % in->period[k]];
}

/* Element i, of column n, with its sum; what is added to it may cancel, but not its rounding. */
static double ended(const vkt_tune_shape *s, const vkt__tune_inputs *in, uint64_t i, uint64_t n,
                    double sum, double *scale)
{
    double bias = s->bias ? value(in, VKT__MM_IN_BIAS, n) : 0,
           r = s->residual ? value(in, VKT__MM_IN_R, i) : 0;
    *scale += fabs(bias) + fabs(r);
    sum += bias;
    return r + (s->derivative ? sum * vkt__act_derivative(s->act, value(in, VKT__MM_IN_V, i))
                              : vkt__act(s->act, sum));
}

static double twin(const vkt_tune_shape *s, const vkt__tune_inputs *in, uint64_t i, double *scale)
{
    uint64_t m = i / s->N, n = i % s->N;
    bool down_a = s->layout == VKT_LAYOUT_TN, down_b = s->layout != VKT_LAYOUT_NT;
    walk a = walk_from(in, 0, down_a ? m : m * s->K, down_a ? s->M : 1),
         b = walk_from(in, 1, down_b ? n : n * s->K, down_b ? s->N : 1);
    double sum = 0, squares = 0;
    for (uint32_t k = 0; k < s->K; k++) {
        double t = next(&a) * next(&b);
        sum += t;
        squares += t * t;
    }
    *scale = sqrt(squares);
    return ended(s, in, i, n, sum, scale);
}

/* By a step prime to rows and tiles. */
static uint64_t step_over(const vkt_tune_shape *s, uint64_t count)
{
    uint64_t most = (uint64_t)(CHECKED_FLOPS / (2.0 * s->K)) + 1,
             step = count <= most ? 1 : (count / most) | 1;
    while (step > 1 && (s->N % step == 0 || count % step == 0)) step += 2;
    return step;
}

void vkt__tune_want(const vkt_tune_shape *s, const vkt__tune_inputs *in, vkt__tune_wants *out)
{
    uint64_t count = (uint64_t)s->M * s->N, step = step_over(s, count),
             most = (count + step - 1) / step + 4;
    const uint64_t corners[] = { s->N - 1, count - s->N, count - 1 };
    *out = (vkt__tune_wants) { .at = vkt__alloc(most * sizeof *out->at),
                               .want = vkt__alloc(most * sizeof *out->want),
                               .scale = vkt__alloc(most * sizeof *out->scale) };
    for (uint64_t i = 0; i < count; i += step) out->at[out->n++] = i;
    for (size_t i = 0; i < VKT_COUNT(corners) && step > 1; i++) out->at[out->n++] = corners[i];
    for (uint64_t i = 0; i < out->n; i++) out->want[i] = twin(s, in, out->at[i], &out->scale[i]);
}

void vkt__tune_wants_free(vkt__tune_wants *w)
{
    free(w->at);
    free(w->want);
    free(w->scale);
    *w = (vkt__tune_wants) { 0 };
}

double vkt__tune_share(const vkt_tune_shape *s, const vkt__tune_wants *w, uint32_t kernel,
                       const vkt_tensor *c, const void *data)
{
    double worst = 0, terms = vkt__matmul_terms(kernel, s->K) + vkt__acts[s->act].terms;
    for (uint64_t i = 0; i < w->n; i++) {
        double got = vkt__sample_decode(c, w->at[i], data), err = fabs(got - w->want[i]),
               limit = vkt__limit(c->dtype, terms, w->want[i], w->scale[i]),
               share = err == 0    ? 0
                       : limit > 0 ? err / limit
                                   : INFINITY;
        if (!(share <= worst)) worst = isnan(share) ? INFINITY : share;
    }
    return worst;
}
