/* What the convolution rows (ops_conv.c) and the choice of their kernels (conv_kernels.c) share. */
#ifndef VKT_TENSOR_CONV_H
#define VKT_TENSOR_CONV_H

#include "tensor/ops/ops.h"

/* KH KW C / groups stays below this: kernels divide such numbers in floats (conv.glsl). */
#define VKT__CONV_DEPTH_MAX (1u << 21)

/* Of conv2d, conv2d_dx and conv2d_dw. x [n, h, w, c] is what the filter moves over, its positions
 * are [n, oh, ow, co]: for the gradient of x that is dy and dx. */
typedef struct vkt__conv_geometry {
    const vkt_attr *attr;
    uint32_t n, h, w, c, oh, ow, co;
    uint32_t ci, depth; /* c / groups; kh kw ci */
    bool transposed;
} vkt__conv_geometry;
vkt__conv_geometry vkt__conv_geometry_of(const vkt_node *n);

/* Kernels by number from 1, 1 the naive one; NULL past the last. */
const char *vkt__conv_kernel_name(uint32_t kernel);
const char *vkt__conv_kernel(const vkt_gpu *gpu, const vkt_node *n);
/* The one for a node if nothing was tuned. */
uint32_t vkt__conv_table(const vkt_gpu *gpu, const vkt_node *n);
/* Whether tuning should time it: it can run, and may be the fastest on such a device. */
bool vkt__conv_is_candidate(uint32_t kernel, const vkt_gpu *gpu, const vkt_node *n);
/* Under which a choice is kept: "conv2d_dx 3x3/2 d1 g1 11 4 5", with logarithms of the positions,
 * of a group's input and of its output channels to base 2. */
const char *vkt__conv_key(const vkt_node *n, char key[40]);
void vkt__conv_record(vkt__rec *rec, const vkt_node *n);
/* By the twin: element i of the result, without bias and activation, of the inputs' values; scale:
 * the root of its terms' squares. */
double vkt__conv_element(const vkt_node *n, double *const *in, uint64_t i, double *scale);

/* In how many slices of the output's rows the gradient of a filter is summed; and their rows. */
uint32_t vkt__conv_slices(const vkt_gpu *gpu, const vkt_tensor *x, const vkt_tensor *dy,
                          const vkt_attr *attr);
uint32_t vkt__conv_slice(const vkt__conv_geometry *q, uint32_t slices);

#endif
