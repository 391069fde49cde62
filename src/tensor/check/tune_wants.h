/* What a product's results should be, and how near a kernel's are. */
#ifndef VKT_TENSOR_TUNE_WANTS_H
#define VKT_TENSOR_TUNE_WANTS_H

#include "tensor/check/tune_inputs.h"

/* The compared elements: their indices, the twin's sums in double, the sizes of their terms. */
typedef struct vkt__tune_wants {
    uint64_t n, *at;
    double *want, *scale;
} vkt__tune_wants;

/* Every element of a small result, of a large one as many as fit a fraction of a second, evenly
 * spread, and its corners. Freed by vkt__tune_wants_free. */
void vkt__tune_want(const vkt_tune_shape *s, const vkt__tune_inputs *in, vkt__tune_wants *out);
void vkt__tune_wants_free(vkt__tune_wants *w);
/* The largest error of a kernel's result, in `data` as tensor c holds it, as a share of what the
 * kernel is allowed: above 1, it is wrong; INFINITY, where it is no number. */
double vkt__tune_share(const vkt_tune_shape *s, const vkt__tune_wants *w, uint32_t kernel,
                       const vkt_tensor *c, const void *data);

#endif
