/* The layers of nets that are no list: those that join outputs of several layers, and those that
 * move or resize what one of them gave. Made of the general ops. */
#include <math.h>

#include "nn/layer_list.h"
#include "nn/layers.h"
#include "tensor/graph/op.h"
#include "tensor/ops/general/nd.h"

static vkt_status image_only(const vkt__layer *l)
{
    char text[96];
    if (l->in.rank == 3) return VKT_OK;
    return vkt__layer_error(l, "the input must be an image, [H, W, C], not %s",
                            vkt_shape_text(l->in, VKT_F32, text));
}

/* A tensor has fewer than 2^31 elements. */
static vkt_status not_too_large(const vkt__layer *l)
{
    char text[96];
    uint64_t count = 1;
    for (uint32_t k = 0; k < l->out.rank && count <= INT32_MAX; k++) count *= l->out.d[k];
    if (count <= INT32_MAX) return VKT_OK;
    return vkt__layer_error(l, "it would give %s: 2^31 elements of an example are too many",
                            vkt_shape_text(l->out, VKT_F32, text));
}

/* A shape of examples as one of a batch of n. */
static vkt_shape batch_of(uint32_t n, vkt_shape example)
{
    vkt_shape s = { example.rank + 1, { n } };
    memcpy(s.d + 1, example.d, example.rank * sizeof *s.d);
    return s;
}

/* The axis that the layer names, or the last. */
static vkt_status axis_of(const vkt__layer *l, uint32_t *axis)
{
    char text[96];
    *axis = l->spec.axis.given ? l->spec.axis.n : l->in.rank - 1;
    if (*axis < l->in.rank) return VKT_OK;
    return vkt__layer_error(l, "there is no axis %u: an example is %s, whose axes count from 0",
                            *axis, vkt_shape_text(l->in, VKT_F32, text));
}

/* ---- add, mul, concat ---- */

static vkt_status do_not_fit(const vkt__layer *l, size_t k, const char *rule)
{
    char a[96], b[96];
    return vkt__layer_error(l, "'%s' gives %s and '%s' gives %s: %s", l->spec.from[0],
                            vkt_shape_text(l->ins[0], VKT_F32, a), l->spec.from[k],
                            vkt_shape_text(l->ins[k], VKT_F32, b), rule);
}

static vkt_status several(const vkt__layer *l)
{
    if (l->spec.n_from > 1) return VKT_OK;
    return vkt__layer_error(l, "it takes outputs of two layers or more: from: [a, b]");
}

static vkt_status sum_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = several(l);
    (void)m;
    l->out = l->in;
    for (size_t k = 1; k < l->spec.n_from && st == VKT_OK; k++)
        if (!vkt__broadcast(l->out, l->ins[k], &l->out))
            return do_not_fit(l, k,
                              "from the last dimension on, sizes must be equal or one of them 1");
    return st;
}

/* x, whose example has `from`, with as many dimensions as examples of `to` have. */
static vkt_tensor *with_rank_of(vkt_graph *g, vkt_tensor *x, vkt_shape from, vkt_shape to)
{
    vkt_shape s = { to.rank, { 0 } };
    if (from.rank == to.rank || x->inert) return x;
    for (uint32_t k = 0, left = to.rank - from.rank; k < to.rank; k++)
        s.d[k] = k < left ? 1 : from.d[k - left];
    return vkt_reshape(g, x, batch_of(x->shape.d[0], s));
}

/* In order. Equal shapes by the ops of the layers that are lists, which are the fused ones. */
static vkt_tensor *sum_join(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *const *x)
{
    (void)m;
    vkt_shape have = l->ins[0];
    vkt_tensor *y = x[0];
    bool is_sum = !strcmp(l->kind->name, "add");
    for (size_t k = 1; k < l->spec.n_from; k++) {
        vkt_shape both = have, in = l->ins[k];
        if (vkt__shape_equal(have, in)) {
            y = is_sum ? vkt_add(g, y, x[k]) : vkt_mul(g, y, x[k]);
            continue;
        }
        VKT_ASSERT(vkt__broadcast(have, in, &both));
        y = with_rank_of(g, y, have, both);
        y = vkt_binary(g, is_sum ? VKT_FN2_ADD : VKT_FN2_MUL, y, with_rank_of(g, x[k], in, both));
        have = both;
    }
    return y;
}

static vkt_status concat_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = several(l);
    uint32_t axis;
    (void)m;
    VKT_TRY(st);
    VKT_TRY(axis_of(l, &axis));
    l->out = l->in;
    for (size_t k = 1; k < l->spec.n_from; k++) {
        vkt_shape same = l->ins[k];
        if (axis < same.rank) same.d[axis] = l->in.d[axis];
        if (!vkt__shape_equal(same, l->in))
            return do_not_fit(l, k, "all sizes but those along the axis must be equal");
        if (l->ins[k].d[axis] > INT32_MAX - l->out.d[axis])
            l->out.d[axis] = INT32_MAX;
        else
            l->out.d[axis] += l->ins[k].d[axis];
    }
    VKT_TRY(not_too_large(l));
fail:
    return st;
}

static vkt_tensor *concat_join(vkt_model *m, vkt_graph *g, const vkt__layer *l,
                               vkt_tensor *const *x)
{
    (void)m;
    uint32_t axis = 1 + (l->spec.axis.given ? l->spec.axis.n : l->in.rank - 1);
    vkt_tensor *all[VKT_MAX_IN] = { x[0] };
    for (size_t k = 1; k < l->spec.n_from;) {
        uint32_t n = 1;
        for (; n < VKT_MAX_IN && k < l->spec.n_from; n++) all[n] = x[k++];
        all[0] = vkt_concat(g, all, n, axis);
    }
    return all[0];
}

/* ---- slice, permute, reshape ---- */

static vkt_status slice_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = VKT_OK;
    char text[96];
    uint32_t axis, step = VKT_MAX(l->spec.step, 1);
    (void)m;
    VKT_TRY(axis_of(l, &axis));
    uint32_t size = l->in.d[axis], first = l->spec.first, count = l->spec.count;
    if (!count && first < size) count = (size - first - 1) / step + 1;
    if (!count || first + (count - 1) * (uint64_t)step >= size)
        return vkt__layer_error(l, "axis %u of %s has no %u elements from %u on, each %u-th", axis,
                                vkt_shape_text(l->in, VKT_F32, text), VKT_MAX(count, 1), first,
                                step);
    l->out = l->in;
    l->out.d[axis] = count;
fail:
    return st;
}

static vkt_tensor *slice_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                               bool train)
{
    uint32_t axis = l->spec.axis.given ? l->spec.axis.n : l->in.rank - 1;
    uint32_t first[VKT_MAX_RANK] = { 0 }, step[VKT_MAX_RANK];
    (void)m;
    (void)train;
    if (x->inert) return x;
    for (uint32_t k = 0; k < VKT_MAX_RANK; k++) step[k] = 1;
    first[axis + 1] = l->spec.first;
    step[axis + 1] = VKT_MAX(l->spec.step, 1);
    return vkt_slice(g, x, first, batch_of(x->shape.d[0], l->out).d, step);
}

static vkt_status permute_plan(vkt_model *m, vkt__layer *l)
{
    uint32_t seen = 0;
    vkt_shape order = l->spec.sizes;
    char text[96];
    (void)m;
    l->out = l->in;
    bool ok = order.rank == l->in.rank;
    for (uint32_t k = 0; k < order.rank && ok; k++) {
        ok = order.d[k] < order.rank && !(seen >> order.d[k] & 1);
        if (!ok) break;
        seen |= 1u << order.d[k];
        l->out.d[k] = l->in.d[order.d[k]];
    }
    if (ok) return VKT_OK;
    return vkt__layer_error(l,
                            "`order` must name each axis of an example once: it is %s, whose axes "
                            "count from 0",
                            vkt_shape_text(l->in, VKT_F32, text));
}

static vkt_tensor *permute_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                 bool train)
{
    uint32_t order[VKT_MAX_RANK] = { 0 };
    (void)m;
    (void)train;
    for (uint32_t k = 0; k < l->spec.sizes.rank; k++) order[k + 1] = l->spec.sizes.d[k] + 1;
    return x->inert ? x : vkt_permute(g, x, order);
}

static vkt_status reshape_plan(vkt_model *m, vkt__layer *l)
{
    uint64_t have = vkt_shape_count(l->in), known = 1;
    char a[96], b[96];
    uint32_t n_open = 0;
    (void)m;
    l->out = l->spec.sizes;
    if (!l->out.rank) return vkt__layer_error(l, "it needs `shape`: [4, 4, 8]");
    for (uint32_t k = 0; k < l->out.rank && known <= have; k++) {
        if (l->out.d[k])
            known *= l->out.d[k];
        else
            n_open++;
    }
    for (uint32_t k = 0; k < l->out.rank && n_open == 1; k++)
        if (!l->out.d[k] && have % known == 0) l->out.d[k] = (uint32_t)(have / known);
    if (n_open < 2 && known <= have && vkt_shape_count(l->out) == have) return VKT_OK;
    return vkt__layer_error(l,
                            "%s, %llu elements, can't become %s: as many are needed; one size may "
                            "be 0, to be inferred",
                            vkt_shape_text(l->in, VKT_F32, a), (unsigned long long)have,
                            vkt_shape_text(l->spec.sizes, VKT_F32, b));
}

static vkt_tensor *reshape_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                 bool train)
{
    (void)m;
    (void)train;
    return x->inert ? x : vkt_reshape(g, x, batch_of(x->shape.d[0], l->out));
}

/* ---- upsample, conv_transpose ---- */

static bool is_bilinear(const vkt__layer *l)
{
    return l->spec.mode && !strcmp(l->spec.mode, "bilinear");
}

static vkt_status upsample_plan(vkt_model *m, vkt__layer *l)
{
    enum { MOST = 30000 }; /* of vkt_resize */
    vkt_status st = image_only(l);
    uint64_t size[2];
    (void)m;
    VKT_TRY(st);
    if (l->spec.sizes.rank && (l->spec.sizes.rank != 2 || l->spec.scale))
        return vkt__layer_error(l, "give `scale`, or `size` as [rows, columns]");
    if (l->spec.align_corners && !is_bilinear(l))
        return vkt__layer_error(l, "align_corners is bilinear's: set mode: bilinear");
    l->out = l->in;
    for (int i = 0; i < 2; i++) {
        size[i] = l->spec.sizes.rank ? l->spec.sizes.d[i]
                                     : (uint64_t)l->in.d[i] * (l->spec.scale ? l->spec.scale : 2);
        if (size[i] < 1 || size[i] > MOST || l->in.d[i] < 1 || l->in.d[i] > MOST)
            return vkt__layer_error(l, "%u to %llu rows or columns: 1 to %d are possible",
                                    l->in.d[i], (unsigned long long)size[i], MOST);
        l->out.d[i] = (uint32_t)size[i];
    }
    VKT_TRY(not_too_large(l));
fail:
    return st;
}

static vkt_tensor *upsample_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                  bool train)
{
    vkt_resize_desc d = { .kind = is_bilinear(l) ? VKT_RESIZE_BILINEAR : VKT_RESIZE_NEAREST,
                          .h = l->out.d[0],
                          .w = l->out.d[1],
                          .align_corners = l->spec.align_corners };
    (void)m;
    (void)train;
    return x->inert ? x : vkt_resize(g, x, &d);
}

static vkt_conv_desc transpose_desc(const vkt__layer *l)
{
    return (vkt_conv_desc) { .stride = l->spec.stride ? l->spec.stride : 2,
                             .pad = l->spec.pad.n,
                             .dilation = VKT_MAX(l->spec.dilation, 1),
                             .groups = VKT_MAX(l->spec.groups, 1) };
}

/* As if a filter of kaiming had the terms that a pixel of the result has. */
static float transpose_scale(const vkt__layer *l, const vkt_conv_desc *d, uint32_t kernel,
                             uint32_t out)
{
    double taps = (double)kernel * kernel, in = l->in.d[2] / (double)d->groups,
           terms = in * fmax(taps / ((double)d->stride * d->stride), 1);
    bool kaiming = vkt__layer_init_of(l) == VKT_INIT_KAIMING;
    return kaiming ? (float)sqrt(out / (double)d->groups * taps / terms) : 1.0f;
}

static vkt_status transpose_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = image_only(l);
    vkt_conv_desc d = transpose_desc(l);
    uint32_t k = l->spec.kernel ? l->spec.kernel : 2, in = l->in.d[2],
             out = l->spec.out ? l->spec.out : in;
    char text[96];
    VKT_TRY(st);
    if (in % d.groups || out % d.groups)
        return vkt__layer_error(l, "%u groups must divide both %u input and %u output channels",
                                d.groups, in, out);
    if (l->spec.output_pad >= d.stride)
        return vkt__layer_error(l, "output_pad %u must be below the stride, %u", l->spec.output_pad,
                                d.stride);
    l->out = l->in;
    for (int i = 0; i < 2; i++) {
        int64_t size = ((int64_t)l->in.d[i] - 1) * d.stride - 2 * (int64_t)d.pad +
                       (int64_t)d.dilation * (k - 1) + l->spec.output_pad + 1;
        if (size < 1 || size > INT32_MAX)
            return vkt__layer_error(l, "a padding of %u leaves nothing of %s", d.pad,
                                    vkt_shape_text(l->in, VKT_F32, text));
        l->out.d[i] = (uint32_t)size;
    }
    l->out.d[2] = out;
    VKT_TRY(not_too_large(l));
    float scale = l->spec.init_scale > 0 ? l->spec.init_scale : 1.0f;
    l->w = vkt__model_add_param(m, l, "weight", (vkt_shape) { 4, { in, out / d.groups, k, k } },
                                vkt__layer_init_of(l), scale * transpose_scale(l, &d, k, out));
    vkt__model_set_order(m, l->w, VKT_PARAM_ORDER_CONV);
    if (!l->spec.no_bias)
        l->b = vkt__model_add_param(m, l, "bias", vkt_shape1(out), VKT_INIT_ZEROS, 1);
fail:
    return st;
}

static vkt_tensor *transpose_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                   bool train)
{
    vkt_conv_desc d = transpose_desc(l);
    (void)train;
    return vkt_conv_transpose2d(g, x, vkt__model_tensor(m, g, l->w), vkt__model_tensor(m, g, l->b),
                                &d, l->spec.output_pad);
}

/* ---- squeeze_excite: Hu et al. 2017 (arXiv 1709.01507) ---- */

static vkt_status excite_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = image_only(l);
    vkt_shape one;
    VKT_TRY(st);
    uint32_t c = l->in.d[2], hidden = l->spec.hidden ? l->spec.hidden : VKT_MAX(c / 4, 1);
    const vkt_layer parts[] = {
        { .type = "conv", .name = "fc1", .out = hidden, .kernel = 1 },
        { .type = l->spec.activation ? l->spec.activation : "relu", .name = "activation" },
        { .type = "conv", .name = "fc2", .out = c, .kernel = 1 },
    };
    VKT_TRY(
        vkt__model_plan_part(m, l, parts, VKT_COUNT(parts), vkt_shape3(1, 1, c), &l->body, &one));
    l->out = l->in;
fail:
    return st;
}

static vkt_tensor *excite_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                bool train)
{
    if (x->inert) return x;
    uint32_t n = x->shape.d[0], c = x->shape.d[3];
    vkt_tensor *s = vkt_global_avg_pool(g, x);
    if (s->inert) return s;
    s = vkt__model_build_list(m, g, &l->body, vkt_reshape(g, s, (vkt_shape) { 4, { n, 1, 1, c } }),
                              train);
    if (l->spec.gate && !strcmp(l->spec.gate, "hardsigmoid")) {
        s = vkt_unary(g, VKT_FN_CLAMP, vkt_add(g, s, vkt_fill(g, vkt_shape1(c), 3)), 0, 6);
        s = vkt_binary(g, VKT_FN2_DIV, s, vkt_fill(g, vkt_shape1(c), 6));
    } else {
        s = vkt_activate(g, s, VKT_ACT_SIGMOID);
    }
    return vkt_binary(g, VKT_FN2_MUL, x, s);
}

const vkt__layer_kind vkt__graph_kinds[] = {
    { "add", sum_plan, .join = sum_join },
    { "mul", sum_plan, .join = sum_join },
    { "concat", concat_plan, .join = concat_join },
    { "slice", slice_plan, slice_build },
    { "permute", permute_plan, permute_build },
    { "reshape", reshape_plan, reshape_build },
    { "upsample", upsample_plan, upsample_build },
    { "conv_transpose", transpose_plan, transpose_build },
    { "squeeze_excite", excite_plan, excite_build },
    { .name = NULL },
};
