/* ONNX's matrix products and convolutions. Pictures are taken and given with channels last. */
#include "onnx/onnx_window.h"

/* ---- matrices ---- */

/* w of x w where the file has a Transpose of w [N, K]: so that the product reads w as it lies. */
static vkt__onnx_value *untransposed(vkt__onnx_build *b, const vkt__onnx_value *v)
{
    const vkt__onnx_node *n = v->by;
    int64_t perm[2] = { 1, 0 };
    if (!n || strcmp(n->type, "Transpose") != 0 || v->rank != 2 || n->in[0] < 0) return NULL;
    const vkt__onnx_attr *a = vkt__onnx_attr_of(n, "perm");
    if (a && a->n_ints == 2) memcpy(perm, a->ints, sizeof perm);
    vkt__onnx_value *w = &b->values[n->in[0]];
    return perm[0] == 1 && w->rank == 2 && !vkt__onnx_is_last(w) ? w : NULL;
}

/* x w of a linear layer that has an adapter; NULL: it is none, or has none. */
static vkt_tensor *adapted(vkt__onnx_build *b, vkt_tensor *x, vkt__onnx_value *w, vkt_layout layout)
{
    if (w->initializer < 0 || !b->source.adapted) return NULL;
    return b->source.adapted(b->source.user, b->g, (size_t)w->initializer, x, vkt__onnx_first(b, w),
                             layout);
}

static vkt_tensor *with_rank(vkt__onnx_build *b, vkt_tensor *x, uint32_t before, uint32_t after)
{
    vkt_shape s = vkt_tensor_shape(x);
    vkt_shape wide = { .rank = s.rank + before + after };
    for (uint32_t k = 0; k < wide.rank; k++)
        wide.d[k] = k < before || k >= before + s.rank ? 1 : s.d[k - before];
    return vkt_reshape(b->g, x, wide);
}

static void build_matmul(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *va = vkt__onnx_need(b, 0), *vb = vkt__onnx_need(b, 1), *w;
    int type = va->type;
    bool row = va->rank == 1, column = vb->rank == 1;
    if (!va->rank || !vb->rank || va->rank > VKT_MAX_RANK || vb->rank > VKT_MAX_RANK) {
        vkt__onnx_refuse(b, "of tensors of rank %u and %u", va->rank, vb->rank);
        return;
    }
    if (va->dims[va->rank - 1] != vb->dims[column ? 0 : vb->rank - 2]) {
        vkt__onnx_refuse(b, "the inner sizes %lld and %lld differ",
                         (long long)va->dims[va->rank - 1],
                         (long long)vb->dims[column ? 0 : vb->rank - 2]);
        return;
    }
    vkt_tensor *x = vkt__onnx_first(b, va), *y;
    if (row) x = with_rank(b, x, 1, 0);
    if (vb->rank == 2 && (w = untransposed(b, vb)) != NULL) {
        y = adapted(b, x, w, VKT_LAYOUT_NT);
        if (!y) y = vkt_linear(b->g, x, vkt__onnx_first(b, w), NULL, VKT_ACT_NONE);
    } else if (!(y = adapted(b, x, vb, VKT_LAYOUT_NN))) {
        y = vkt__onnx_first(b, vb);
        if (column) y = with_rank(b, y, 0, 1);
        bool plain = vkt_tensor_shape(y).rank == 2;
        y = plain ? vkt_matmul(b->g, VKT_LAYOUT_NN, x, y)
                  : vkt_matmul_broadcast(b->g, VKT_LAYOUT_NN, x, y);
    }
    vkt_shape s = vkt_tensor_shape(y), out = { 0 };
    for (uint32_t k = 0; k < s.rank; k++)
        if (!(row && k + 2 == s.rank) && !(column && k + 1 == s.rank)) out.d[out.rank++] = s.d[k];
    if (!out.rank)
        vkt__onnx_give_rank0(b, 0, vkt_reshape(b->g, y, vkt_shape1(1)), type);
    else
        vkt__onnx_give(b, 0, out.rank == s.rank ? y : vkt_reshape(b->g, y, out), type);
}

static vkt_tensor *transposed(vkt__onnx_build *b, vkt_tensor *x)
{
    return vkt_permute(b->g, x, (uint32_t[]) { 1, 0 });
}

static void build_gemm(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *va = vkt__onnx_need(b, 0), *vb = vkt__onnx_need(b, 1),
                    *vc = vkt__onnx_in(b, 2);
    bool ta = vkt__onnx_int(b, "transA", 0), tb = vkt__onnx_int(b, "transB", 0);
    float alpha = vkt__onnx_float(b, "alpha", 1), beta = vkt__onnx_float(b, "beta", 1);
    if (va->rank != 2 || vb->rank != 2 || va->dims[ta ? 0 : 1] != vb->dims[tb ? 1 : 0]) {
        vkt__onnx_refuse(b, "its matrices do not fit together");
        return;
    }
    vkt_tensor *x = vkt__onnx_first(b, va), *w = vkt__onnx_first(b, vb), *y;
    int64_t n = vb->dims[tb ? 0 : 1];
    bool bias = vc && alpha == 1 && beta == 1 && vkt__onnx_count(vc) == (uint64_t)n &&
                vc->rank >= 1 && vc->dims[vc->rank - 1] == n && n > 1;
    vkt_tensor *c = vc ? vkt__onnx_first(b, vc) : NULL;
    if (bias && vc->rank > 1) c = vkt_reshape(b->g, c, vkt_shape1((uint32_t)n));
    if (vc && n == 1 && vkt__onnx_count(vc) == 1 && alpha == 1 && beta == 1) {
        bias = true;
        c = vkt_reshape(b->g, c, vkt_shape1(1));
    }
    if (ta) x = transposed(b, x);
    vkt_tensor *both = adapted(b, x, vb, tb ? VKT_LAYOUT_NT : VKT_LAYOUT_NN);
    if (both)
        y = both;
    else if (tb)
        y = vkt_linear(b->g, x, w, bias ? c : NULL, VKT_ACT_NONE);
    else
        y = vkt_matmul(b->g, VKT_LAYOUT_NN, x, w);
    if (bias && (both || !tb)) y = vkt_add(b->g, y, c);
    if (alpha != 1) y = vkt_scale(b->g, y, alpha);
    if (vc && !bias) {
        if (beta != 1) c = vkt_scale(b->g, c, beta);
        y = vkt_binary(b->g, VKT_FN2_ADD, y, c);
    }
    vkt__onnx_give(b, 0, y, va->type);
}

/* ---- convolutions ---- */

static bool check_picture(vkt__onnx_build *b, const vkt__onnx_value *x, const vkt__onnx_value *w,
                          uint32_t most)
{
    if (x->rank >= 3 && x->rank <= most && w->rank == x->rank) return true;
    vkt__onnx_refuse(b, "of a tensor of rank %u and a filter of rank %u", x->rank, w->rank);
    return false;
}

/* A filter [CO, CI, KH, KW] as [KH, KW, CI, CO], or [CO, CI, K] as [K, CI, CO]. */
static vkt_tensor *filter_of(vkt__onnx_build *b, vkt__onnx_value *w)
{
    if (w->initializer >= 0 && b->plan->filters[w->initializer])
        return b->source.initializer(b->source.user, b->g, (size_t)w->initializer);
    vkt_tensor *t = vkt__onnx_first(b, w);
    return w->rank == 4 ? vkt_permute(b->g, t, (uint32_t[]) { 2, 3, 1, 0 })
                        : vkt_permute(b->g, t, (uint32_t[]) { 2, 1, 0 });
}

static vkt_tensor *bias_of(vkt__onnx_build *b, size_t i)
{
    vkt__onnx_value *v = vkt__onnx_in(b, i);
    return v ? vkt__onnx_first(b, v) : NULL;
}

/* A window as a description, which points at the other three. */
static vkt_conv_desc desc_of(const vkt__onnx_window *w, uint32_t groups, uint32_t pads[4],
                             uint32_t strides[2], uint32_t dilations[2])
{
    for (int k = 0; k < 2; k++) {
        pads[2 * k] = (uint32_t)w->begin[k];
        pads[2 * k + 1] = (uint32_t)w->end[k];
        strides[k] = (uint32_t)w->stride[k];
        dilations[k] = (uint32_t)w->dilation[k];
    }
    return (vkt_conv_desc) {
        .strides = strides, .dilations = dilations, .groups = groups, .pads = pads
    };
}

/* A volume [N, D, H, W, C] is convolved picture by picture: for each place of the filter along the
 * depth the pictures that it sees, with that part of the filter, and the sum of these. */
static void build_volume(vkt__onnx_build *b, vkt__onnx_value *vx, vkt__onnx_value *vw,
                         const vkt__onnx_window *w, uint32_t groups)
{
    enum { MOST = 64 };
    vkt__onnx_window flat = { .axes = 2 };
    int64_t span = vx->dims[2] + w->begin[0] + w->end[0] - w->dilation[0] * (w->kernel[0] - 1) - 1;
    uint32_t pads[4], strides[2], dilations[2], depth = (uint32_t)(span / w->stride[0] + 1);
    if (span < 0 || w->kernel[0] > MOST)
        vkt__onnx_refuse(b, "a filter of depth %lld over %lld", (long long)w->kernel[0],
                         (long long)vx->dims[2]);
    for (int k = 0; k < 2; k++) {
        flat.kernel[k] = w->kernel[k + 1];
        flat.stride[k] = w->stride[k + 1];
        flat.dilation[k] = w->dilation[k + 1];
        flat.begin[k] = w->begin[k + 1];
        flat.end[k] = w->end[k + 1];
    }
    if (b->st != VKT_OK) return;
    vkt_conv_desc d = desc_of(&flat, groups, pads, strides, dilations);
    vkt_tensor *x = vkt__onnx_last(b, vx), *f = vkt__onnx_first(b, vw), *y = NULL;
    uint32_t before[VKT_MAX_RANK] = { 0, (uint32_t)w->begin[0] },
             after[VKT_MAX_RANK] = { 0, (uint32_t)w->end[0] };
    if (before[1] || after[1]) x = vkt_pad(b->g, x, before, after, 0);
    vkt_shape s = vkt_tensor_shape(x), fs = vkt_tensor_shape(f);
    for (int64_t j = 0; j < w->kernel[0]; j++) {
        uint32_t first[VKT_MAX_RANK] = { 0, (uint32_t)(j * w->dilation[0]) },
                 step[VKT_MAX_RANK] = { 1, (uint32_t)w->stride[0], 1, 1, 1 },
                 count[] = { s.d[0], depth, s.d[2], s.d[3], s.d[4] },
                 from[VKT_MAX_RANK] = { 0, 0, (uint32_t)j },
                 part[] = { fs.d[0], fs.d[1], 1, fs.d[3], fs.d[4] };
        vkt_tensor *xs = vkt_slice(b->g, x, first, count, step),
                   *ws = vkt_slice(b->g, f, from, part, NULL), *one;
        xs = vkt_reshape(b->g, xs, (vkt_shape) { 4, { s.d[0] * depth, s.d[2], s.d[3], s.d[4] } });
        ws = vkt_reshape(b->g, ws, (vkt_shape) { 4, { fs.d[0], fs.d[1], fs.d[3], fs.d[4] } });
        ws = vkt_permute(b->g, ws, (uint32_t[]) { 2, 3, 1, 0 });
        one = vkt_conv2d(b->g, xs, ws, j ? NULL : bias_of(b, 2), &d);
        y = y ? vkt_add(b->g, y, one) : one;
    }
    vkt_shape o = vkt_tensor_shape(y);
    y = vkt_reshape(b->g, y, (vkt_shape) { 5, { s.d[0], depth, o.d[1], o.d[2], o.d[3] } });
    vkt__onnx_give_last(b, 0, y, vx->type);
}

static void build_conv(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *vx = vkt__onnx_need(b, 0), *vw = vkt__onnx_need(b, 1);
    int64_t groups = vkt__onnx_int(b, "group", 1);
    vkt__onnx_window w;
    if (!check_picture(b, vx, vw, 5) || !vkt__onnx_window_read(b, vx, vw->dims + 2, &w)) return;
    if (groups < 1 || groups > vx->dims[1] || vx->dims[1] % groups || vw->dims[0] % groups ||
        vx->dims[1] / groups != vw->dims[1]) {
        vkt__onnx_refuse(b, "%lld channels in %lld groups and filters of %lld",
                         (long long)vx->dims[1], (long long)groups, (long long)vw->dims[1]);
        return;
    }
    if (w.axes == 3) {
        build_volume(b, vx, vw, &w, (uint32_t)groups);
        return;
    }
    bool two = w.axes == 2;
    uint32_t pads[4], strides[2], dilations[2];
    vkt_conv_desc d = desc_of(&w, (uint32_t)groups, pads, strides, dilations);
    vkt_tensor *x = vkt__onnx_last(b, vx), *f = filter_of(b, vw), *bias = bias_of(b, 2), *y;
    y = two ? vkt_conv2d(b->g, x, f, bias, &d) : vkt_conv1d(b->g, x, f, bias, &d);
    vkt__onnx_give_last(b, 0, y, vx->type);
}

/* The pads that make the result as large as output_shape or auto_pad say. false: refused. */
static bool pads_for_size(vkt__onnx_build *b, const vkt__onnx_value *v, vkt__onnx_window *w,
                          int64_t *more)
{
    const char *pad = vkt__onnx_word(b, "auto_pad", "NOTSET");
    bool same = !strncmp(pad, "SAME", 4), upper = !strcmp(pad, "SAME_UPPER");
    int64_t size[VKT__ONNX_AXES];
    if (!same && !vkt__onnx_attr_of(b->n, "output_shape")) return true;
    for (uint32_t k = 0; k < w->axes; k++) size[k] = v->dims[k + 2] * w->stride[k];
    if (!vkt__onnx_each_axis(b, "output_shape", w->axes, 1, size)) return false;
    for (uint32_t k = 0; k < w->axes; k++) {
        int64_t all = w->stride[k] * (v->dims[k + 2] - 1) + more[k] +
                      w->dilation[k] * (w->kernel[k] - 1) + 1 - size[k];
        if (all < 0) more[k] -= all;
        all = VKT_MAX(all, 0);
        w->begin[k] = upper ? all / 2 : all - all / 2;
        w->end[k] = all - w->begin[k];
    }
    return true;
}

/* ONNX's pads are taken off the result, PyTorch's too; a longer end is output_padding. */
static void build_transpose(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *vx = vkt__onnx_need(b, 0), *vw = vkt__onnx_need(b, 1);
    int64_t more[2] = { 0, 0 }, groups = vkt__onnx_int(b, "group", 1);
    vkt__onnx_window w;
    if (!check_picture(b, vx, vw, 4) || !vkt__onnx_window_read(b, vx, vw->dims + 2, &w) ||
        !vkt__onnx_each_axis(b, "output_padding", w.axes, 0, more) ||
        !pads_for_size(b, vx, &w, more))
        return;
    if (groups < 1 || vx->dims[1] % groups || vw->dims[0] != vx->dims[1]) {
        vkt__onnx_refuse(b, "%lld channels in %lld groups and filters of %lld",
                         (long long)vx->dims[1], (long long)groups, (long long)vw->dims[0]);
        return;
    }
    uint32_t pads[4], strides[2], dilations[2],
        output_pads[] = { (uint32_t)more[0], (uint32_t)more[1] };
    vkt_conv_desc d = desc_of(&w, (uint32_t)groups, pads, strides, dilations);
    vkt_tensor *x = vkt__onnx_last(b, vx), *f = filter_of(b, vw), *bias = bias_of(b, 2), *y;
    if (w.axes == 2) {
        d.output_pads = output_pads;
        y = vkt_conv_transpose2d(b->g, x, f, bias, &d, 0);
    } else {
        y = vkt_conv_transpose1d(b->g, x, f, bias, &d, output_pads[0]);
    }
    vkt__onnx_give_last(b, 0, y, vx->type);
}

const vkt__onnx_op vkt__onnx_product_ops[] = {
    { "MatMul", build_matmul, NULL, 0, 0, 0, "matmul", NULL },
    { "Gemm", build_gemm, NULL, 0, 0, 0, "linear, or matmul", NULL },
    { "Conv", build_conv, NULL, 0, 0, 0, "conv2d, conv1d", "lines, pictures and volumes" },
    { "ConvTranspose", build_transpose, NULL, 0, 0, 0, "conv_transpose2d, conv_transpose1d",
      "pictures and lines" },
    { .name = NULL },
};
