/* The table of ONNX's ops that are known. A row says how an op becomes nodes of our graph, and how
 * it is computed on the host where all its inputs are known. To add an op is to add a row. */
#ifndef VKT_ONNX_ONNX_OP_H
#define VKT_ONNX_ONNX_OP_H

#include "onnx/onnx_build.h"

typedef struct vkt__onnx_op {
    const char *name;
    void (*build)(vkt__onnx_build *b, const struct vkt__onnx_op *op);
    void (*fold)(vkt__onnx_build *b, const struct vkt__onnx_op *op); /* NULL: it is not */
    int fn;             /* which of several that share functions */
    uint32_t host;      /* bit i: input i must be known when the graph is built */
    uint32_t state;     /* bit i: input i is a running mean or variance */
    const char *to;     /* what it becomes, for the reference */
    const char *limits; /* what of it is not supported; NULL: nothing */
    bool any_output;    /* it looks which outputs are asked for; else the first must be */
    bool any_input;     /* it looks which inputs are there; else all that are named must be */
} vkt__onnx_op;

/* NULL: it is not known. */
const vkt__onnx_op *vkt__onnx_op_of(const vkt__onnx_node *n);
/* Row i of all; NULL past the last. */
const vkt__onnx_op *vkt__onnx_op_at(size_t i);

/* Tables, each ended by name NULL. */
extern const vkt__onnx_op vkt__onnx_element_ops[], vkt__onnx_shape_ops[], vkt__onnx_product_ops[],
    vkt__onnx_picture_ops[], vkt__onnx_reduce_ops[], vkt__onnx_sequence_ops[],
    vkt__onnx_resize_ops[], vkt__onnx_attention_ops[], vkt__onnx_place_ops[],
    vkt__onnx_quantised_ops[], vkt__onnx_pool_ops[], vkt__onnx_sample_ops[];

/* ---- shared by rows: on the host ---- */

void vkt__onnx_fold_unary(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_binary(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_where(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_cast(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_gather(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_concat(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_slice(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_transpose(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_expand(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_reshape(vkt__onnx_build *b, const vkt__onnx_op *op); /* and its kin */
void vkt__onnx_fold_reduce(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_scatter(vkt__onnx_build *b, const vkt__onnx_op *op); /* ScatterND */
void vkt__onnx_fold_range(vkt__onnx_build *b, const vkt__onnx_op *op);
void vkt__onnx_fold_filled(vkt__onnx_build *b, const vkt__onnx_op *op); /* ConstantOfShape */

/* x to the nearest whole number, of two the even one. */
vkt_tensor *vkt__onnx_rounded(vkt__onnx_build *b, vkt_tensor *x);

/* What a row of elements computes; the numbers are own, as ONNX has more than we. */
typedef enum vkt__onnx_fn {
    VKT__ONNX_FN_IDENTITY,
    VKT__ONNX_FN_RELU,
    VKT__ONNX_FN_SIGMOID,
    VKT__ONNX_FN_TANH,
    VKT__ONNX_FN_EXP,
    VKT__ONNX_FN_LOG,
    VKT__ONNX_FN_SQRT,
    VKT__ONNX_FN_RECIPROCAL,
    VKT__ONNX_FN_ABS,
    VKT__ONNX_FN_NEG,
    VKT__ONNX_FN_SIN,
    VKT__ONNX_FN_COS,
    VKT__ONNX_FN_ERF,
    VKT__ONNX_FN_FLOOR,
    VKT__ONNX_FN_CEIL,
    VKT__ONNX_FN_ROUND,
    VKT__ONNX_FN_SIGN,
    VKT__ONNX_FN_NOT,
    VKT__ONNX_FN_SOFTPLUS,
    VKT__ONNX_FN_SOFTSIGN,
    VKT__ONNX_FN_MISH,
    VKT__ONNX_FN_HARDSWISH,
    VKT__ONNX_FN_GELU,
    VKT__ONNX_FN_LEAKY_RELU,
    VKT__ONNX_FN_ELU,
    VKT__ONNX_FN_SELU,
    VKT__ONNX_FN_CELU,
    VKT__ONNX_FN_HARD_SIGMOID,
    VKT__ONNX_FN_THRESHOLDED,
    VKT__ONNX_FN_TAN,
    VKT__ONNX_FN_SINH,
    VKT__ONNX_FN_COSH,
    VKT__ONNX_FN_SWISH,
    VKT__ONNX_FN_ASIN,
    VKT__ONNX_FN_ACOS,
    VKT__ONNX_FN_ATAN,
    VKT__ONNX_FN_ASINH,
    VKT__ONNX_FN_ACOSH,
    VKT__ONNX_FN_ATANH,
    VKT__ONNX_FN_SHRINK,
    VKT__ONNX_FN_ISNAN,
    VKT__ONNX_FN_ISINF,
    VKT__ONNX_FN_ADD,
    VKT__ONNX_FN_SUB,
    VKT__ONNX_FN_MUL,
    VKT__ONNX_FN_DIV,
    VKT__ONNX_FN_POW,
    VKT__ONNX_FN_MIN,
    VKT__ONNX_FN_MAX,
    VKT__ONNX_FN_MOD,
    VKT__ONNX_FN_EQUAL,
    VKT__ONNX_FN_LESS,
    VKT__ONNX_FN_LESS_EQUAL,
    VKT__ONNX_FN_GREATER,
    VKT__ONNX_FN_GREATER_EQUAL,
    VKT__ONNX_FN_AND,
    VKT__ONNX_FN_OR,
    VKT__ONNX_FN_XOR,
    VKT__ONNX_FN_MEAN,
    VKT__ONNX_FN_SUM,
    VKT__ONNX_FN_BIT_NOT,
    VKT__ONNX_FN_BIT_AND,
    VKT__ONNX_FN_BIT_OR,
    VKT__ONNX_FN_BIT_XOR,
    VKT__ONNX_FN_SHIFT
} vkt__onnx_fn;

/* The dims that a Reshape, Flatten, Squeeze or Unsqueeze gives of v. */
uint32_t vkt__onnx_new_dims(vkt__onnx_build *b, const vkt__onnx_op *op, const vkt__onnx_value *v,
                            int64_t *dims);
enum { VKT__ONNX_RESHAPE, VKT__ONNX_FLATTEN, VKT__ONNX_SQUEEZE, VKT__ONNX_UNSQUEEZE };
/* What a Slice takes from v along each axis: the first element, how many, and the step, which may
 * be negative. */
void vkt__onnx_slices(vkt__onnx_build *b, const vkt__onnx_value *v, int64_t *first, int64_t *count,
                      int64_t *step);
/* The axes that a reduction of v goes over, as bits. */
uint32_t vkt__onnx_axes(vkt__onnx_build *b, const vkt__onnx_value *v);

#endif
