/* Which kernel computes a convolution or a gradient of one on a device, and how it is launched.
 * Knows geometry, not graphs: used by the convolution rows (ops/ops_conv.c) and the tuner
 * (check/tune_conv.c). */
#ifndef VKT_TENSOR_CONV_H
#define VKT_TENSOR_CONV_H

#include "gpu/commands.h"
#include "tensor/graph/op.h"

/* KH KW C / groups stays below this: kernels divide such numbers in floats (conv.glsl). */
#define VKT__CONV_DEPTH_MAX (1u << 21)

/* Of conv2d, conv2d_dx and conv2d_dw, the three passes. x [n, h, w, c] is what the filter moves
 * over, its positions are [n, oh, ow, co]: for the gradient of x that is dy and dx. */
typedef struct vkt__conv_geometry {
    const vkt_attr *attr;
    uint32_t n, h, w, c, oh, ow, co;
    uint32_t ci, depth; /* c / groups; kh kw ci */
} vkt__conv_geometry;

/* Kernels by number from 1, 1 the naive one; NULL past the last. */
const char *vkt__conv_kernel_name(uint32_t kernel);
/* Whether it is its family's first kernel; is shaped for other devices than this one. */
bool vkt__conv_is_first(uint32_t kernel);
bool vkt__conv_is_foreign(uint32_t kernel, const vkt_caps *caps);
/* Whether it multiplies 16-bit roundings of its factors, as attr.conv.multiply asks for. */
bool vkt__conv_on_units(uint32_t kernel);
bool vkt__conv_fits(uint32_t kernel, const vkt_caps *caps, const vkt__conv_geometry *q);
/* The one that was named where it can run, else what was tuned, else the table's. */
uint32_t vkt__conv_choose(const vkt_gpu *gpu, const vkt__conv_geometry *q);
/* Pixels of a tile of a kernel that can write their statistics; 0: it can't. */
uint32_t vkt__conv_stats_rows(uint32_t kernel);
/* The one for a shape if nothing was tuned. */
uint32_t vkt__conv_table(const vkt_caps *caps, const vkt__conv_geometry *q);
/* Whether tuning should time it: it can run, and may be the fastest on such a device. */
bool vkt__conv_is_candidate(uint32_t kernel, const vkt_caps *caps, const vkt__conv_geometry *q);
/* Under which a choice is kept: "conv2d_dx 3x3/2 d1 g1 11 4 5", with logarithms of the positions,
 * of a group's input and of its output channels to base 2, and the type of 16 bits that is
 * multiplied. */
const char *vkt__conv_key(const vkt__conv_geometry *q, char key[40]);

/* Positions of a window of `taps` along `extent`; 0 where it doesn't fit. */
uint32_t vkt__window_count(uint32_t extent, uint32_t taps, uint32_t stride, uint32_t pad,
                           uint32_t dilation);
/* Positions of a convolution along an axis of its input. */
uint32_t vkt__conv_positions(const vkt_attr *a, bool columns, uint32_t extent, uint32_t taps);

/* In how many slices of the output's rows the gradient of a filter is summed; and their rows. */
uint32_t vkt__conv_slices(const vkt_gpu *gpu, const vkt_tensor *x, const vkt_tensor *dy,
                          const vkt_attr *attr);
uint32_t vkt__conv_slice(const vkt__conv_geometry *q, uint32_t slices);

/* What is dispatched. */
typedef struct vkt__conv_launch {
    vkt__shader shader;
    vkt__constant spec[VKT__MAX_CONSTANTS]; /* conv.glsl's, then the kernel's own */
    uint32_t n_spec;
    uint64_t groups;
} vkt__conv_launch;
/* n: elements of the result. x, w, y: addresses, whose alignment decides how they are loaded
 * and stored. */
vkt__conv_launch vkt__conv_prepare(uint32_t kernel, const vkt_caps *caps,
                                   const vkt__conv_geometry *q, uint64_t n, uint64_t x, uint64_t w,
                                   uint64_t y);

#endif
