/* Queries about nodes of the convolution rows. */
#ifndef VKT_TENSOR_OPS_CONV_H
#define VKT_TENSOR_OPS_CONV_H

#include "tensor/kernels/conv.h"
#include "tensor/ops/ops.h"

/* Of conv2d, conv2d_dx and conv2d_dw. */
bool vkt__is_conv(const vkt_node *n);
vkt__conv_geometry vkt__conv_geometry_of(const vkt_node *n);
/* The name of its kernel. */
const char *vkt__conv_kernel(const vkt_gpu *gpu, const vkt_node *n);
/* n, a conv2d without bias and activation, also writes the means and squares of its tiles of `rows`
 * pixels, as batch_stats of chunks: out[2], out[3]; by that kernel, which must not change. */
void vkt__conv_add_stats(vkt_node *n, uint32_t kernel, uint32_t rows);
/* By the twin: element i of the result, without bias and activation, of the inputs' values; scale:
 * the root of its terms' squares. */
double vkt__conv_element(const vkt_node *n, double *const *in, uint64_t i, double *scale);

/* What a description says, but the activation. */
void vkt__conv_set_desc(vkt_attr *a, const vkt_conv_desc *desc);
/* What a convolution's gradient dy becomes as that of its input [N, h, w, C], by its filter. */
vkt_tensor *vkt__conv_dx(vkt_graph *g, vkt_tensor *dy, vkt_tensor *w, vkt_attr attr, uint32_t h,
                         uint32_t width);

#endif
