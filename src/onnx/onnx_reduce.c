/* ONNX's reductions, softmaxes, and what sorts or adds up along an axis. */
#include "onnx/onnx_op.h"

enum { SQUARES = 100, LOGS, PRODUCT };

/* Axes of the tensor with channels last that are ONNX's. */
static uint32_t moved(uint32_t axes, uint32_t rank)
{
    uint32_t bits = 0;
    for (uint32_t k = 0; k < rank; k++)
        if (axes >> k & 1) bits |= 1u << vkt__onnx_last_axis(k, rank);
    return bits;
}

static void build_reduce(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    uint32_t axes = vkt__onnx_axes(b, v), all = (1u << v->rank) - 1;
    bool keep = vkt__onnx_int(b, "keepdims", 1) != 0;
    if (op->fn == PRODUCT) {
        vkt__onnx_refuse(b, "it is not computed on tensors");
        return;
    }
    if (b->st != VKT_OK) return;
    if (!axes || !v->rank) {
        vkt__onnx_give_same(b, v);
        return;
    }
    /* With channels last only where the order of what stays is the same. */
    bool last = vkt__onnx_is_last(v) && (keep || (all & ~axes & ~3u) == 0);
    vkt_tensor *x = last ? v->last : vkt__onnx_first(b, v), *y;
    uint32_t own = last ? moved(axes, v->rank) : axes;
    if (op->fn == SQUARES) x = vkt_mul(b->g, x, x);
    vkt_reduction kind =
        op->fn == SQUARES || op->fn == LOGS ? VKT_REDUCE_SUM : (vkt_reduction)op->fn;
    y = vkt_reduce(b->g, kind, x, own, keep);
    if (op->fn == LOGS) y = vkt_unary(b->g, VKT_FN_LOG, y, 0, 0);
    if (!keep && axes == all)
        vkt__onnx_give_rank0(b, 0, y, v->type);
    else
        vkt__onnx_give_as(b, 0, y, last && keep, v->type);
}

static void build_softmax(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    bool old = b->f->opset < 13;
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", old ? 1 : -1), v->rank);
    if (b->st != VKT_OK) return;
    bool last = vkt__onnx_is_last(v) && !old;
    vkt_tensor *x = last ? v->last : vkt__onnx_first(b, v);
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t own = last ? vkt__onnx_last_axis(axis, v->rank) : axis;
    if (old && axis + 1 < v->rank) { /* of all axes from it on, as one */
        int64_t rows = 1, cols = 1;
        for (uint32_t k = 0; k < v->rank; k++) *(k < axis ? &rows : &cols) *= v->dims[k];
        x = vkt_reshape(b->g, x, vkt__onnx_shape(b, (int64_t[]) { rows, cols }, 2));
        own = 1;
    }
    x = op->fn ? vkt_log_softmax(b->g, x, own) : vkt_softmax_axis(b->g, x, own);
    if (vkt_tensor_shape(x).rank != s.rank) x = vkt_reshape(b->g, x, s);
    vkt__onnx_give_as(b, 0, x, last, v->type);
}

static void build_arg(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), v->rank);
    bool keep = vkt__onnx_int(b, "keepdims", 1) != 0;
    bool from_end = vkt__onnx_int(b, "select_last_index", 0) != 0;
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v);
    if (from_end) x = vkt_flip(b->g, x, 1u << axis);
    vkt_tensor *y = vkt_arg(b->g, (vkt_reduction)op->fn, x, axis, keep);
    if (from_end)
        y = vkt_binary(b->g, VKT_FN2_SUB, vkt_fill(b->g, vkt_shape1(1), (float)(v->dims[axis] - 1)),
                       vkt_cast(b->g, y, VKT_F32));
    if (!keep && v->rank == 1)
        vkt__onnx_give_rank0(b, 0, y, VKT__ONNX_INT64);
    else
        vkt__onnx_give(b, 0, y, VKT__ONNX_INT64);
}

static void build_top_k(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    double k = vkt__onnx_attr_of(b->n, "k") ? (double)vkt__onnx_int(b, "k", 1)
                                            : vkt__onnx_scalar(b, NULL, 1, 1);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", -1), v->rank);
    bool smallest = !vkt__onnx_int(b, "largest", 1);
    vkt_tensor *ids;
    if (axis + 1 != v->rank) vkt__onnx_refuse(b, "of an axis that is not the last");
    if (!(k >= 1 && k <= 1 << 20)) vkt__onnx_refuse(b, "of %g elements", k);
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v);
    if (smallest) x = vkt_unary(b->g, VKT_FN_NEG, x, 0, 0);
    vkt_tensor *y = vkt_top_k(b->g, x, (uint32_t)k, &ids);
    if (smallest) y = vkt_unary(b->g, VKT_FN_NEG, y, 0, 0);
    vkt__onnx_give(b, 0, y, v->type);
    vkt__onnx_give(b, 1, ids, VKT__ONNX_INT64);
}

static void build_cumsum(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    double along = vkt__onnx_scalar(b, NULL, 1, 0);
    uint32_t axis = vkt__onnx_axis(b, (int64_t)along, v->rank);
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v),
               *y = vkt_cumsum(b->g, x, axis, vkt__onnx_int(b, "reverse", 0) != 0);
    if (vkt__onnx_int(b, "exclusive", 0)) y = vkt_binary(b->g, VKT_FN2_SUB, y, x);
    vkt__onnx_give(b, 0, y, v->type);
}

#define REDUCE(name, fn)                                                                           \
    {                                                                                              \
        name, build_reduce, NULL, fn, 2, 0, "reduce", NULL                                         \
    }

const vkt__onnx_op vkt__onnx_reduce_ops[] = {
    { "ReduceSum", build_reduce, vkt__onnx_fold_reduce, VKT_REDUCE_SUM, 2, 0, "reduce", NULL },
    { "ReduceMax", build_reduce, vkt__onnx_fold_reduce, VKT_REDUCE_MAX, 2, 0, "reduce", NULL },
    { "ReduceProd", build_reduce, vkt__onnx_fold_reduce, PRODUCT, 3, 0, "a constant",
      "only of numbers that are known before the net runs" },
    REDUCE("ReduceMean", VKT_REDUCE_MEAN),
    REDUCE("ReduceMin", VKT_REDUCE_MIN),
    REDUCE("ReduceLogSumExp", VKT_REDUCE_LOGSUMEXP),
    REDUCE("ReduceL1", VKT_REDUCE_NORM1),
    REDUCE("ReduceL2", VKT_REDUCE_NORM2),
    REDUCE("ReduceSumSquare", SQUARES),
    REDUCE("ReduceLogSum", LOGS),
    { "Softmax", build_softmax, NULL, 0, 0, 0, "softmax", NULL },
    { "LogSoftmax", build_softmax, NULL, 1, 0, 0, "log_softmax", NULL },
    { "ArgMax", build_arg, NULL, VKT_REDUCE_MAX, 0, 0, "arg", NULL },
    { "ArgMin", build_arg, NULL, VKT_REDUCE_MIN, 0, 0, "arg", NULL },
    { "TopK", build_top_k, NULL, 0, 2, 0, "top_k", "along the last axis" },
    { "CumSum", build_cumsum, NULL, 0, 2, 0, "cumsum", NULL },
    { .name = NULL },
};
