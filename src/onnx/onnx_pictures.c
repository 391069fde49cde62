/* ONNX's norms, and what makes pictures larger or smaller. Norms of channels are computed with
 * channels last. */
#include <math.h>

#include "onnx/onnx_op.h"

/* Input i as a vector of n numbers; NULL: it is not given, or refused. */
static vkt_tensor *vector(vkt__onnx_build *b, size_t i, int64_t n)
{
    vkt__onnx_value *v = vkt__onnx_in(b, i);
    if (!v) return NULL;
    if (vkt__onnx_count(v) != (uint64_t)n) {
        vkt__onnx_refuse(b, "input %zu has %llu numbers, not %lld", i,
                         (unsigned long long)vkt__onnx_count(v), (long long)n);
        return NULL;
    }
    vkt_tensor *t = vkt__onnx_first(b, v);
    return v->rank == 1 ? t : vkt_reshape(b->g, t, vkt_shape1((uint32_t)n));
}

static void build_batch_norm(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t c = v->rank > 1 ? v->dims[1] : 0;
    vkt_tensor *t[5] = { NULL };
    if (v->rank < 2 || vkt__onnx_int(b, "spatial", 1) != 1) {
        vkt__onnx_refuse(b, "of a tensor of rank %u, or not of channels", v->rank);
        return;
    }
    if (vkt__onnx_wanted(b, 1) || vkt__onnx_wanted(b, 2))
        vkt__onnx_refuse(b, "its running averages are used, which is not supported");
    for (size_t i = 1; i < 5; i++) {
        t[i] = vector(b, i, c);
        if (!t[i]) vkt__onnx_refuse(b, "input %zu is not given", i);
    }
    if (b->st != VKT_OK) return;
    vkt__onnx_value *mean = vkt__onnx_in(b, 3), *var = vkt__onnx_in(b, 4);
    bool states = mean->initializer >= 0 && var->initializer >= 0 &&
                  b->plan->roles[mean->initializer] == VKT__ONNX_STATE &&
                  b->plan->roles[var->initializer] == VKT__ONNX_STATE;
    bool train = b->train && !b->frozen_norms && states;
    vkt_batch_norm_desc d = { .w = t[1],
                              .b = t[2],
                              .running_mean = t[3],
                              .running_var = t[4],
                              .eps = vkt__onnx_float(b, "epsilon", 1e-5f),
                              .momentum = 1 - vkt__onnx_float(b, "momentum", 0.9f),
                              .train = train };
    if (states) {
        const char *name = b->f->initializers[mean->initializer].name;
        vkt_tensor *count = b->source.counter(b->source.user, b->g, name);
        if (train) d.count = count;
    }
    vkt__onnx_give_last(b, 0, vkt_batch_norm(b->g, vkt__onnx_last(b, v), &d), v->type);
}

static void build_instance_norm(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t c = v->rank > 2 ? v->dims[1] : 0;
    vkt_tensor *w = vector(b, 1, c), *bias = vector(b, 2, c);
    if (v->rank < 3 || !w || !bias) vkt__onnx_refuse(b, "of a tensor of rank %u", v->rank);
    if (b->st != VKT_OK) return;
    vkt_tensor *y = vkt_instance_norm(b->g, vkt__onnx_last(b, v), w, bias,
                                      vkt__onnx_float(b, "epsilon", 1e-5f));
    vkt__onnx_give_last(b, 0, y, v->type);
}

/* Opset 18 has one scale and bias for each group, opset 21 for each channel. */
static vkt_tensor *of_channels(vkt__onnx_build *b, size_t i, int64_t groups, int64_t c)
{
    vkt__onnx_value *v = vkt__onnx_need(b, i);
    if (b->st != VKT_OK || vkt__onnx_count(v) == (uint64_t)c) return vector(b, i, c);
    vkt_tensor *t = vector(b, i, groups);
    if (!t) return NULL;
    t = vkt_reshape(b->g, t, vkt_shape2((uint32_t)groups, 1));
    t = vkt_expand(b->g, t, vkt_shape2((uint32_t)groups, (uint32_t)(c / groups)));
    return vkt_reshape(b->g, t, vkt_shape1((uint32_t)c));
}

static void build_group_norm(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t c = v->rank > 1 ? v->dims[1] : 0, groups = vkt__onnx_int(b, "num_groups", 1);
    if (v->rank < 2 || groups < 1 || c % groups || groups > c) {
        vkt__onnx_refuse(b, "%lld groups of %lld channels", (long long)groups, (long long)c);
        return;
    }
    vkt_tensor *w = of_channels(b, 1, groups, c), *bias = of_channels(b, 2, groups, c);
    if (b->st != VKT_OK) return;
    vkt__onnx_give_last(b, 0,
                        vkt_group_norm(b->g, vkt__onnx_last(b, v), w, bias, (uint32_t)groups,
                                       vkt__onnx_float(b, "epsilon", 1e-5f)),
                        v->type);
}

/* The means of the rows, and 1 / their deviations, with axes of 1. */
static void give_moments(vkt__onnx_build *b, vkt_tensor *x, const vkt__onnx_value *v, uint32_t axis,
                         float eps)
{
    int64_t dims[VKT__ONNX_RANK];
    uint32_t last = 1u << (vkt_tensor_shape(x).rank - 1);
    for (uint32_t k = 0; k < v->rank; k++) dims[k] = k < axis ? v->dims[k] : 1;
    vkt_shape s = vkt__onnx_shape(b, dims, v->rank);
    vkt_tensor *mean = vkt_reduce(b->g, VKT_REDUCE_MEAN, x, last, true),
               *off = vkt_binary(b->g, VKT_FN2_SUB, x, mean),
               *var = vkt_reduce(b->g, VKT_REDUCE_MEAN, vkt_mul(b->g, off, off), last, true);
    var = vkt_binary(b->g, VKT_FN2_ADD, var, vkt_fill(b->g, vkt_shape1(1), eps));
    vkt__onnx_give(b, 1, vkt_reshape(b->g, mean, s), VKT__ONNX_FLOAT);
    vkt__onnx_give(b, 2, vkt_reshape(b->g, vkt_unary(b->g, VKT_FN_RSQRT, var, 0, 0), s),
                   VKT__ONNX_FLOAT);
}

/* LayerNormalization and RMSNormalization: over all axes from `axis` on. */
static void build_row_norm(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", -1), v->rank);
    int64_t dims[VKT__ONNX_RANK], n = 1;
    uint32_t rank = 0;
    for (uint32_t k = 0; k < v->rank; k++) {
        if (k < axis)
            dims[rank++] = v->dims[k];
        else
            n *= v->dims[k];
    }
    dims[rank++] = n;
    vkt_tensor *w = vector(b, 1, n), *bias = op->fn ? NULL : vector(b, 2, n);
    if (!w) vkt__onnx_refuse(b, "it has no scale");
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v), *y;
    float eps = vkt__onnx_float(b, "epsilon", 1e-5f);
    bool same = axis + 1 == v->rank;
    if (!same) x = vkt_reshape(b->g, x, vkt__onnx_shape(b, dims, rank));
    y = op->fn ? vkt_rmsnorm(b->g, x, w, NULL, eps, NULL)
               : vkt_layernorm(b->g, x, w, bias, NULL, eps, NULL);
    if (!same) y = vkt_reshape(b->g, y, vkt__onnx_shape(b, v->dims, v->rank));
    if (!op->fn && (vkt__onnx_wanted(b, 1) || vkt__onnx_wanted(b, 2)))
        give_moments(b, x, v, axis, eps);
    vkt__onnx_give(b, 0, y, v->type);
}

/* x / (bias + alpha / size * the sum of squares of `size` channels around it)^beta. */
static void build_lrn(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t size = vkt__onnx_int(b, "size", 1);
    double alpha = (double)vkt__onnx_float(b, "alpha", 1e-4f),
           bias = (double)vkt__onnx_float(b, "bias", 1);
    if (v->rank < 2 || size < 1 || size > 256) {
        vkt__onnx_refuse(b, "%lld channels of a tensor of rank %u", (long long)size, v->rank);
        return;
    }
    vkt_tensor *x = vkt__onnx_last(b, v), *squares = vkt_mul(b->g, x, x), *sum = NULL;
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t c = s.rank - 1, before[VKT_MAX_RANK] = { 0 }, after[VKT_MAX_RANK] = { 0 };
    before[c] = (uint32_t)(size - 1) / 2;
    after[c] = (uint32_t)(size - 1) - before[c];
    if (size > 1) squares = vkt_pad(b->g, squares, before, after, 0);
    for (uint32_t i = 0; i < (uint32_t)size; i++) {
        uint32_t first[VKT_MAX_RANK] = { 0 };
        first[c] = i;
        vkt_tensor *one = vkt_slice(b->g, squares, first, s.d, NULL);
        sum = sum ? vkt_add(b->g, sum, one) : one;
    }
    sum = vkt_binary(b->g, VKT_FN2_ADD, vkt_scale(b->g, sum, (float)(alpha / (double)size)),
                     vkt_fill(b->g, vkt_shape1(1), (float)bias));
    sum = vkt_binary(b->g, VKT_FN2_POW, sum,
                     vkt_fill(b->g, vkt_shape1(1), -vkt__onnx_float(b, "beta", 0.75f)));
    vkt__onnx_give_last(b, 0, vkt_mul(b->g, x, sum), v->type);
}

static void build_lp_norm(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", -1), v->rank);
    int64_t p = vkt__onnx_int(b, "p", 2);
    if (p != 1 && p != 2) vkt__onnx_refuse(b, "of p %lld", (long long)p);
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v), *n;
    n = vkt_reduce(b->g, p == 1 ? VKT_REDUCE_NORM1 : VKT_REDUCE_NORM2, x, 1u << axis, true);
    n = vkt_where(b->g, n, n, vkt_fill(b->g, vkt_shape1(1), 1)); /* of zeros alone: zeros */
    vkt__onnx_give(b, 0, vkt_binary(b->g, VKT_FN2_DIV, x, n), v->type);
}

/* (x - mean) / (deviation + 1e-9) over the axes. */
static void build_mean_variance(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t list[VKT__ONNX_RANK] = { 0, 2, 3 };
    int n = vkt__onnx_list(b, "axes", SIZE_MAX, list, VKT__ONNX_RANK);
    uint32_t axes = 0;
    for (int k = 0; k < (n < 0 ? 3 : n); k++) axes |= 1u << vkt__onnx_axis(b, list[k], v->rank);
    if (b->st != VKT_OK || !axes) {
        vkt__onnx_refuse(b, "it has no axes");
        return;
    }
    vkt_tensor *x = vkt__onnx_first(b, v);
    x = vkt_binary(b->g, VKT_FN2_SUB, x, vkt_reduce(b->g, VKT_REDUCE_MEAN, x, axes, true));
    vkt_tensor *var = vkt_reduce(b->g, VKT_REDUCE_MEAN, vkt_mul(b->g, x, x), axes, true),
               *std = vkt_binary(b->g, VKT_FN2_ADD, vkt_unary(b->g, VKT_FN_SQRT, var, 0, 0),
                                 vkt_fill(b->g, vkt_shape1(1), 1e-9f));
    vkt__onnx_give(b, 0, vkt_binary(b->g, VKT_FN2_DIV, x, std), v->type);
}

/* Blocks of a picture's channels to its pixels, and back. */
static void build_depth(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t k = vkt__onnx_int(b, "blocksize", 0), *d = v->dims;
    bool to_space = op->fn == 0, crd = !strcmp(vkt__onnx_word(b, "mode", "DCR"), "CRD");
    if (v->rank != 4 || k < 1 || k > 1 << 10 ||
        (to_space ? d[1] % (k * k) != 0 : d[2] % k != 0 || d[3] % k != 0)) {
        vkt__onnx_refuse(b, "blocks of %lld do not fit", (long long)k);
        return;
    }
    vkt_tensor *x = vkt__onnx_last(b, v);
    int64_t c = to_space ? d[1] / (k * k) : d[1];
    int64_t dcr[] = { d[0], d[2], d[3], k, k, c }, other[] = { d[0], d[2], d[3], c, k, k },
            space[] = { d[0], d[2] / k, k, d[3] / k, k, c },
            pixels[] = { d[0], d[2] * k, d[3] * k, c },
            blocks[] = { d[0], d[2] / k, d[3] / k, k * k * c };
    x = vkt_reshape(b->g, x, vkt__onnx_shape(b, to_space ? crd ? other : dcr : space, 6));
    if (!to_space || !crd)
        x = vkt_permute(b->g, x,
                        to_space ? (uint32_t[]) { 0, 1, 3, 2, 4, 5 }
                                 : (uint32_t[]) { 0, 1, 3, 2, 4, 5 });
    else
        x = vkt_permute(b->g, x, (uint32_t[]) { 0, 1, 4, 2, 5, 3 });
    x = vkt_reshape(b->g, x, vkt__onnx_shape(b, to_space ? pixels : blocks, 4));
    vkt__onnx_give_last(b, 0, x, v->type);
}

const vkt__onnx_op vkt__onnx_picture_ops[] = {
    { "BatchNormalization", build_batch_norm, NULL, 0, 0, 24, "batch_norm",
      "running averages are no output" },
    { "InstanceNormalization", build_instance_norm, NULL, 0, 0, 0, "group_norm", NULL },
    { "GroupNormalization", build_group_norm, NULL, 0, 0, 0, "group_norm", NULL },
    { "LayerNormalization", build_row_norm, NULL, 0, 0, 0, "layernorm", NULL },
    { "RMSNormalization", build_row_norm, NULL, 1, 0, 0, "rmsnorm", NULL },
    { "LRN", build_lrn, NULL, 0, 0, 0, "slice, binary", NULL },
    { "LpNormalization", build_lp_norm, NULL, 0, 0, 0, "reduce, binary", NULL },
    { "MeanVarianceNormalization", build_mean_variance, NULL, 0, 0, 0, "reduce, binary", NULL },
    { "DepthToSpace", build_depth, NULL, 0, 0, 0, "permute", NULL },
    { "SpaceToDepth", build_depth, NULL, 1, 0, 0, "permute", NULL },
    { .name = NULL },
};
