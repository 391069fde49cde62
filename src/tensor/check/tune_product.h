/* One product, computed by whichever kernel, and compared with its twin: what the tuner and the
 * self-test of matrix units (units.h) share. */
#ifndef VKT_TENSOR_TUNE_PRODUCT_H
#define VKT_TENSOR_TUNE_PRODUCT_H

#include "tensor/check/tune_wants.h"

typedef struct vkt__tune_product {
    vkt_gpu *gpu;
    vkt_tune_shape s;
    vkt__tune_inputs in;
    vkt__tune_wants wants;
} vkt__tune_product;

/* Operands on the device, and what should come out; closed whatever is returned. */
vkt_status vkt__tune_product_open(vkt_gpu *gpu, const vkt_tune_shape *s, vkt__tune_product *out);
void vkt__tune_product_close(vkt__tune_product *p);
/* Wishes for a kernel (gpu/specialization.h). */
void vkt__tune_product_wish(const vkt__tune_product *p, uint32_t kernel);
/* Compiles and runs c's graph, which is the caller's to destroy. *share: vkt__tune_share. */
vkt_status vkt__tune_product_run(const vkt__tune_product *p, uint32_t kernel, vkt__tuned *c,
                                 double *share);

#endif
