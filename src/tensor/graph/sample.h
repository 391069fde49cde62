/* Inputs of sample cases, whose values follow from their hint, and the tolerance of a comparison.
 */
#ifndef VKT_TENSOR_SAMPLE_H
#define VKT_TENSOR_SAMPLE_H

#include "tensor/graph/op.h"

vkt_tensor *vkt__sample(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, uint32_t hint,
                        uint32_t limit);
static inline vkt_tensor *vkt__sample2(vkt_graph *g, uint32_t r, uint32_t c)
{
    return vkt__sample(g, vkt_shape2(r, c), VKT_F32, VKT_HINT_NORMAL, 0);
}
static inline vkt_tensor *vkt__sample1(vkt_graph *g, uint32_t c)
{
    return vkt__sample(g, vkt_shape1(c), VKT_F32, VKT_HINT_NORMAL, 0);
}
/* Value of element i of a sample tensor, as GPU and twin both get it (exact in its dtype). */
double vkt__sample_value(const vkt_tensor *t, uint64_t seed, uint64_t i);
/* Element i of t in `data` as its dtype holds it; and back. */
void vkt__sample_encode(const vkt_tensor *t, uint64_t i, double v, void *data);
double vkt__sample_decode(const vkt_tensor *t, uint64_t i, const void *data);
/* Whether a word of four codes (op->code) is the twin's. */
typedef struct vkt__code_check {
    const vkt_op *op; /* NULL: the tensor holds none */
    uint32_t input;
    double apart, most; /* words that were not the twin's, and how many may be */
} vkt__code_check;
/* For an input of a graph that a node changes; tol: of the numbers that are rounded to codes. */
vkt__code_check vkt__code_check_of(const vkt_tensor *t, double tol);
/* The error of a word as a share of what is allowed: 0; 1, a code next to the twin's; INFINITY. */
double vkt__code_share(vkt__code_check *c, double got, double want);
/* Relative error allowed after n_terms roundings in dtype: eps * (4 + 2 sqrt(n_terms)). */
double vkt__tol(vkt_dtype dtype, double n_terms);
/* What a result in dtype may be off `want` by, computed in f32 with n_terms roundings of sums of
 * the size `scale` and rounded once: what does not grow with the terms is the last rounding. */
double vkt__limit(vkt_dtype dtype, double n_terms, double want, double scale);

#endif
