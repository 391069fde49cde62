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
    if (vkt__onnx_wanted(b, 1) || vkt__onnx_wanted(b, 2))
        vkt__onnx_refuse(b, "its mean or deviation is used, which is not supported");
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
    vkt__onnx_give(b, 0, y, v->type);
}

/* ---- sizes of pictures ---- */

/* Rows and columns of the result; false: refused. whole: by a whole number of times. */
static bool new_size(vkt__onnx_build *b, const vkt__onnx_value *v, bool old, int64_t out[2],
                     bool *whole)
{
    int64_t sizes[4], axes[4] = { 0, 1, 2, 3 };
    vkt__onnx_value *scales = vkt__onnx_in(b, old ? 1 : b->f->opset < 11 ? 1 : 2);
    int n_axes = vkt__onnx_list(b, "axes", SIZE_MAX, axes, 4);
    uint32_t n = n_axes < 0 ? v->rank : (uint32_t)n_axes;
    int n_sizes = old || b->f->opset < 11 ? -1 : vkt__onnx_list(b, NULL, 3, sizes, 4);
    const vkt__onnx_attr *attr = vkt__onnx_attr_of(b->n, "scales");
    *whole = true;
    out[0] = v->dims[2];
    out[1] = v->dims[3];
    if (b->st != VKT_OK) return false;
    bool has_scales = scales && scales->host && scales->host->count == n;
    if (n_sizes != (int)n && !has_scales && !(attr && attr->n_floats == n)) {
        vkt__onnx_refuse(b, "its sizes are not known before the net runs");
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t axis = vkt__onnx_axis(b, axes[k], 4);
        double scale = n_sizes == (int)n ? (double)sizes[k] / (double)VKT_MAX(v->dims[axis], 1)
                       : has_scales      ? vkt__onnx_host_number(scales->host, k)
                                         : (double)attr->floats[k];
        double size = (double)v->dims[axis] * scale;
        if (fabs(size - nearbyint(size)) > 1e-4 * fabs(size) || size < 1 || size > 1e6 ||
            (axis < 2 && scale != 1)) {
            vkt__onnx_refuse(b, "a scale of %g of %lld", scale, (long long)v->dims[axis]);
            return false;
        }
        if (axis >= 2) out[axis - 2] = (int64_t)nearbyint(size);
        if (axis >= 2) *whole = *whole && out[axis - 2] % v->dims[axis] == 0;
    }
    return true;
}

/* PyTorch's nearest takes floor(place / scale); other words mean the same where scales are whole.
 */
static bool nearest_fits(vkt__onnx_build *b, const char *how, bool whole, bool twice)
{
    const char *round = vkt__onnx_word(b, "nearest_mode", "round_prefer_floor");
    bool floor = !strcmp(round, "floor"), half = strstr(how, "half_pixel") != NULL;
    if (!strcmp(how, "asymmetric")) return floor || (twice && !strcmp(round, "round_prefer_floor"));
    return half && whole && !strncmp(round, "round_prefer", 12);
}

static void build_resize(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    bool old = op->fn == 1 || b->f->opset < 11, whole;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    const char *mode = vkt__onnx_word(b, "mode", "nearest"),
               *how = old ? "asymmetric"
                          : vkt__onnx_word(b, "coordinate_transformation_mode", "half_pixel");
    int64_t out[2];
    if (v->rank != 4) {
        vkt__onnx_refuse(b, "of a tensor of rank %u: pictures are supported", v->rank);
        return;
    }
    if (!new_size(b, v, op->fn == 1, out, &whole)) return;
    vkt_resize_desc d = { .h = (uint32_t)out[0], .w = (uint32_t)out[1] };
    bool linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear");
    d.kind = linear ? VKT_RESIZE_BILINEAR : VKT_RESIZE_NEAREST;
    d.align_corners = linear && !strcmp(how, "align_corners");
    bool half = !strcmp(how, "half_pixel") ||
                (!strcmp(how, "pytorch_half_pixel") && out[0] > 1 && out[1] > 1);
    bool twice = out[0] == 2 * v->dims[2] && out[1] == 2 * v->dims[3];
    bool fits = linear ? half || d.align_corners
                       : !strcmp(mode, "nearest") &&
                             (op->fn == 1 || old || nearest_fits(b, how, whole, twice));
    if (!fits || vkt__onnx_int(b, "antialias", 0)) {
        vkt__onnx_refuse(b, "mode %s, %s is not supported", vkt__show(mode).s, vkt__show(how).s);
        return;
    }
    vkt__onnx_give_last(b, 0, vkt_resize(b->g, vkt__onnx_last(b, v), &d), v->type);
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
    { "LayerNormalization", build_row_norm, NULL, 0, 0, 0, "layernorm",
      "mean and deviation are no output" },
    { "RMSNormalization", build_row_norm, NULL, 1, 0, 0, "rmsnorm", NULL },
    { "Resize", build_resize, NULL, 0, 14, 0, "resize",
      "pictures; nearest and linear as PyTorch's, by scales that give whole sizes" },
    { "Upsample", build_resize, NULL, 1, 2, 0, "resize", "pictures; nearest" },
    { "DepthToSpace", build_depth, NULL, 0, 0, 0, "permute", NULL },
    { "SpaceToDepth", build_depth, NULL, 1, 0, 0, "permute", NULL },
    { .name = NULL },
};
