/* A part of tensor.h: kernels on a device, which one is fastest, whether each is right. */
#ifndef VKTRAIN_TENSOR_KERNELS_H
#define VKTRAIN_TENSOR_KERNELS_H

#include "vktrain/tensor_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tuning ---- */

typedef struct vkt_tune_shape {
    vkt_layout layout;
    uint32_t M, N, K;  /* > 0 */
    vkt_dtype in, out; /* types of the operands and of the result */
    uint32_t count;    /* products in the graph that use the choice for this shape; 0: 1 */
    /* What else the kernel does to a sum, as the first of them has it; zero: nothing. */
    vkt_act act;
    bool bias, residual, derivative; /* adds a bias first, something like the result last; takes
                                        act's derivative, not act */
} vkt_tune_shape;
typedef struct vkt_tune_result {
    vkt_tune_shape shape;
    const char *table,
        *best; /* names of kernels: the built-in choice for this shape, and the one that is kept */
    double table_ms, best_ms; /* time of one product */
    uint32_t n_tried;
    vkt_status failed;      /* why the last of the kernels that were skipped was, else OK */
    size_t index, n_shapes; /* index of the shape, and number of shapes */
    char what[80]; /* describes a convolution, for which shape is not set; empty for a product */
} vkt_tune_result;
/* One kernel on one shape. */
typedef struct vkt_tune_candidate {
    const vkt_tune_shape *shape;
    const char *kernel;
    double ms;          /* of one product; INFINITY: it was not timed */
    double share;       /* the largest error, as a share of what is allowed; INFINITY: no result */
    uint32_t registers; /* of an invocation, where the driver tells; 0: it does not */
    vkt_status failed;  /* why there is no result */
} vkt_tune_candidate;
typedef struct vkt_tune_desc {
    bool thorough;  /* try every kernel that can run, measure longer, and fail where a choice can't
                       be kept; false: try the likely ones, and what can't be kept is a warning */
    double seconds; /* start no further shape after this time; 0: no limit */
    void (*fn)(void *user, const vkt_tune_result *r);      /* after each shape; may be NULL */
    void (*each)(void *user, const vkt_tune_candidate *c); /* after each kernel; may be NULL */
    void *user;
    bool keeps_nothing; /* choices do not change, and a kernel that disagrees with its twin is
                           timed, too */
    bool tries_again; /* a kernel that loses the device is logged as a warning: the caller opens the
                         device again, and leaves it out so */
} vkt_tune_desc;
/* Times the matmul kernels on these shapes, checks each against its twin, and keeps the fastest in
 * the cache folder, by device, driver version, subgroup size and the hash of the kernels. A choice
 * is used for all shapes with the same layout, types and powers of two. Shapes that were not
 * reached in time are not kept. A kernel that fails is skipped with a log line; DEVICE: it lost the
 * device, and will not be tried again on it. Blocks for seconds. */
VKT_API vkt_status vkt_tune(vkt_gpu *gpu, const vkt_tune_shape *shapes, size_t n,
                            const vkt_tune_desc *desc);
/* Lists the products of a graph for vkt_tune, one per choice (equal layout, types and powers of
 * two), at most `most`; returns their number. Call before planning. unknown_only: only those
 * without a kept choice. */
VKT_API size_t vkt_graph_products(const vkt_graph *g, bool unknown_only, vkt_tune_shape *out,
                                  size_t most);

typedef enum vkt_conv_pass {
    VKT_CONV_FORWARD, /* x, filter -> y */
    VKT_CONV_DX,      /* dy, transposed filter -> dx */
    VKT_CONV_DW       /* x, dy -> the filter's gradient, in slices of dy's rows */
} vkt_conv_pass;
typedef struct vkt_conv_shape {
    vkt_conv_pass pass;
    uint32_t n, h, w, c, oh, ow, co; /* [n, h, w, c] is the input, [n, oh, ow, co] the output; for
                                        VKT_CONV_DX these are dy and dx */
    uint32_t kh, kw, stride, pad, dilation, groups, slices; /* pad: at the top */
    uint32_t bottom, left, right;                           /* padding there */
    uint32_t stride_w, dilation_w;                          /* of columns */
    vkt_dtype multiply; /* 16 bits: factors are rounded to it, VKT_F32: they are not */
    uint32_t count;     /* as in vkt_tune_shape */
} vkt_conv_shape;
/* vkt_tune for convolutions. A choice is used for all convolutions with the same pass, filter and
 * groups whose positions and channels have the same powers of two. */
VKT_API vkt_status vkt_tune_convs(vkt_gpu *gpu, const vkt_conv_shape *shapes, size_t n,
                                  const vkt_tune_desc *desc);
/* vkt_graph_products for convolutions. */
VKT_API size_t vkt_graph_convs(const vkt_graph *g, bool unknown_only, vkt_conv_shape *out,
                               size_t most);

/* Under math: fast, logs how many fp32 products of g run on matrix units as split products, or why
 * none can. Under strict, does nothing. */
VKT_API void vkt_graph_log_math(const vkt_graph *g);

/* ---- self-test ---- */

typedef struct vkt_check_result {
    const char *op; /* op row */
    uint32_t n_cases, n_failed;
    double worst;     /* largest share of the tolerance used; < 1 passes */
    char detail[200]; /* of the first failure */
} vkt_check_result;
/* The name of the i-th op row of the self-test; NULL past the last. */
VKT_API const char *vkt_check_name(size_t i);
/* Runs the sample cases of an op on the device and compares them with their C twins, with poisoned
 * outputs and guard bytes; includes a few cases for kernels meant for other devices. FAILED if a
 * case failed; DEVICE if one lost the device; ARG if there is no such op. */
VKT_API vkt_status vkt_check_op(vkt_gpu *gpu, const char *op, vkt_check_result *r);
/* The same, but kernels are only compiled, not run. */
VKT_API vkt_status vkt_compile_op(vkt_gpu *gpu, const char *op, vkt_check_result *r);
/* Checks all ops and calls fn once per row. FAILED if any case failed. */
VKT_API vkt_status vkt_check_ops(vkt_gpu *gpu, void (*fn)(void *user, const vkt_check_result *r),
                                 void *user);

/* The precision of a matrix product on this device, from fp32 operands to the fp32 result. */
typedef struct vkt_accuracy {
    vkt_dtype dtype; /* type that the operands are rounded to first */
    vkt_math math;
    const char *kernel; /* kernel that this device uses; NULL: it has none, and all else is 0 */
    double worst,
        rms;     /* error in units of the last place (2^-23) of the result's root mean square */
    double bits; /* correct bits of the result: -log2 (rms of the error / rms of the result) */
} vkt_accuracy;
enum { VKT_N_ACCURACIES = 4 };
/* Measures C [64, 64] = A B^T of normally distributed numbers over 1024 terms, with fp32, bf16 and
 * fp16 operands and with fp32 ones under math: fast, against sums in double of the fp32 operands.
 */
VKT_API vkt_status vkt_measure_accuracy(vkt_gpu *gpu, vkt_accuracy out[VKT_N_ACCURACIES]);

#ifdef __cplusplus
}
#endif
#endif
