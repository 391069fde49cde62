/* ONNX's matrix products and convolutions. Pictures are taken and given with channels last. */
#include "onnx/onnx_op.h"

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
    if (!row && vb->rank == 2 && (w = untransposed(b, vb)) != NULL) {
        vkt__onnx_give(b, 0, vkt_linear(b->g, x, vkt__onnx_first(b, w), NULL, VKT_ACT_NONE), type);
        return;
    }
    y = vkt__onnx_first(b, vb);
    if (column) y = with_rank(b, y, 0, 1);
    bool plain = vkt_tensor_shape(y).rank == 2;
    y = plain ? vkt_matmul(b->g, VKT_LAYOUT_NN, x, y)
              : vkt_matmul_broadcast(b->g, VKT_LAYOUT_NN, x, y);
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
    if (tb)
        y = vkt_linear(b->g, x, w, bias ? c : NULL, VKT_ACT_NONE);
    else
        y = vkt_matmul(b->g, VKT_LAYOUT_NN, x, w);
    if (bias && !tb) y = vkt_add(b->g, y, c);
    if (alpha != 1) y = vkt_scale(b->g, y, alpha);
    if (vc && !bias) {
        if (beta != 1) c = vkt_scale(b->g, c, beta);
        y = vkt_binary(b->g, VKT_FN2_ADD, y, c);
    }
    vkt__onnx_give(b, 0, y, va->type);
}

/* ---- convolutions ---- */

typedef struct window {
    uint32_t axes; /* 1 or 2 */
    int64_t kernel[2], stride[2], dilation[2], begin[2], end[2];
} window;

/* Zeros around the picture so that the result has ceil(size / stride) places. */
static void same_pads(window *w, const int64_t *size, bool upper)
{
    for (uint32_t k = 0; k < w->axes; k++) {
        int64_t out = (size[k] + w->stride[k] - 1) / w->stride[k],
                all = (out - 1) * w->stride[k] + w->dilation[k] * (w->kernel[k] - 1) + 1 - size[k];
        all = VKT_MAX(all, 0);
        w->begin[k] = upper ? all / 2 : all - all / 2;
        w->end[k] = all - w->begin[k];
    }
}

static bool read_pairs(vkt__onnx_build *b, const char *attr, uint32_t axes, int64_t least,
                       int64_t *out)
{
    int64_t v[4];
    int n = vkt__onnx_list(b, attr, SIZE_MAX, v, 4);
    if (n < 0) return b->st == VKT_OK;
    if (n != (int)axes) {
        vkt__onnx_refuse(b, "%s has %d numbers, not %u", attr, n, axes);
        return false;
    }
    for (int k = 0; k < n; k++) {
        if (v[k] < least || v[k] > 1 << 20) {
            vkt__onnx_refuse(b, "%s: %lld", attr, (long long)v[k]);
            return false;
        }
        out[k] = v[k];
    }
    return true;
}

/* How the kernel goes over a picture v [N, C, size...]; false: refused. */
static bool read_window(vkt__onnx_build *b, const vkt__onnx_value *v, const int64_t *kernel,
                        window *w)
{
    const char *pad = vkt__onnx_word(b, "auto_pad", "NOTSET");
    int64_t pads[4];
    *w = (window) { .axes = v->rank - 2, .stride = { 1, 1 }, .dilation = { 1, 1 } };
    for (uint32_t k = 0; k < w->axes; k++) w->kernel[k] = kernel[k];
    if (!read_pairs(b, "strides", w->axes, 1, w->stride) ||
        !read_pairs(b, "dilations", w->axes, 1, w->dilation))
        return false;
    int n = vkt__onnx_list(b, "pads", SIZE_MAX, pads, 4);
    for (int k = 0; k < n; k++)
        if (pads[k] < 0 || pads[k] > 1 << 20) vkt__onnx_refuse(b, "pads: %lld", (long long)pads[k]);
    if (n > 0 && n != 2 * (int)w->axes) vkt__onnx_refuse(b, "pads has %d numbers", n);
    if (b->st != VKT_OK) return false;
    for (uint32_t k = 0; n > 0 && k < w->axes; k++) {
        w->begin[k] = pads[k];
        w->end[k] = pads[k + w->axes];
    }
    if (!strncmp(pad, "SAME", 4)) same_pads(w, v->dims + 2, !strcmp(pad, "SAME_UPPER"));
    if (!strcmp(pad, "VALID"))
        memset(w->begin, 0, sizeof w->begin), memset(w->end, 0, sizeof w->end);
    return true;
}

static bool check_picture(vkt__onnx_build *b, const vkt__onnx_value *x, const vkt__onnx_value *w)
{
    if ((x->rank == 3 || x->rank == 4) && w->rank == x->rank) return true;
    vkt__onnx_refuse(b,
                     "of a tensor of rank %u and a filter of rank %u: pictures and lines are "
                     "supported",
                     x->rank, w->rank);
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
static vkt_conv_desc desc_of(const window *w, uint32_t groups, uint32_t pads[4],
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

static void build_conv(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *vx = vkt__onnx_need(b, 0), *vw = vkt__onnx_need(b, 1);
    int64_t groups = vkt__onnx_int(b, "group", 1);
    window w;
    if (!check_picture(b, vx, vw) || !read_window(b, vx, vw->dims + 2, &w)) return;
    if (groups < 1 || groups > vx->dims[1] || vx->dims[1] % groups || vw->dims[0] % groups ||
        vx->dims[1] / groups != vw->dims[1]) {
        vkt__onnx_refuse(b, "%lld channels in %lld groups and filters of %lld",
                         (long long)vx->dims[1], (long long)groups, (long long)vw->dims[1]);
        return;
    }
    bool two = w.axes == 2;
    uint32_t pads[4], strides[2], dilations[2];
    vkt_conv_desc d = desc_of(&w, (uint32_t)groups, pads, strides, dilations);
    vkt_tensor *x = vkt__onnx_last(b, vx), *f = filter_of(b, vw), *bias = bias_of(b, 2), *y;
    y = two ? vkt_conv2d(b->g, x, f, bias, &d) : vkt_conv1d(b->g, x, f, bias, &d);
    vkt__onnx_give_last(b, 0, y, vx->type);
}

/* ONNX's pads are taken off the result, PyTorch's too; a longer end is output_padding. */
static void build_transpose(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *vx = vkt__onnx_need(b, 0), *vw = vkt__onnx_need(b, 1);
    int64_t more[2] = { 0, 0 }, groups = vkt__onnx_int(b, "group", 1);
    window w;
    if (!check_picture(b, vx, vw) || !read_window(b, vx, vw->dims + 2, &w) ||
        !read_pairs(b, "output_padding", w.axes, 0, more))
        return;
    if (vkt__onnx_attr_of(b->n, "output_shape") ||
        !strncmp(vkt__onnx_word(b, "auto_pad", ""), "SAME", 4)) {
        vkt__onnx_refuse(b, "output_shape and auto_pad are not supported: give pads");
        return;
    }
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

/* ---- pools ---- */

/* Elements after the picture so that whole windows cover what ceil_mode adds. */
static int64_t ceil_more(const window *w, uint32_t k, int64_t size, bool ceil, int64_t *out)
{
    int64_t span = size + w->begin[k] + w->end[k] - (w->dilation[k] * (w->kernel[k] - 1) + 1);
    if (ceil && span < 0 && span + w->stride[k] > 0) {
        *out = 1;
        return -span;
    }
    if (span < 0) return -1;
    *out = span / w->stride[k] + 1;
    if (ceil && span % w->stride[k] && *out * w->stride[k] < size + w->begin[k]) ++*out;
    return VKT_MAX((*out - 1) * w->stride[k] - span, 0);
}

/* For each place of the result 1 / the elements that count, times the window's size. */
static vkt_tensor *mean_factors(vkt__onnx_build *b, const window *w, const int64_t *size,
                                const int64_t *out, bool counts_pads)
{
    int64_t dims[] = { 1, out[0], out[1], 1 };
    vkt__onnx_host *h = vkt__onnx_host_new(b, dims, 4, false);
    if (!h) return NULL;
    for (int64_t i = 0; i < out[0] * out[1]; i++) {
        int64_t at[] = { i / out[1], i % out[1] }, n = 1, all = 1;
        for (int k = 0; k < 2; k++) {
            int64_t first = at[k] * w->stride[k] - w->begin[k],
                    lo = VKT_MAX(first, counts_pads ? -w->begin[k] : 0),
                    hi = VKT_MIN(first + w->kernel[k], size[k] + (counts_pads ? w->end[k] : 0));
            n *= VKT_MAX(hi - lo, 0);
            all *= w->kernel[k];
        }
        h->d[i] = n ? (double)all / (double)n : 0;
    }
    vkt__onnx_value *v = vkt__onnx_out(b, 0);
    *v = (vkt__onnx_value) { .type = VKT__ONNX_FLOAT, .rank = 4, .host = h, .initializer = -1 };
    return vkt__onnx_first(b, v);
}

static void build_pool(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    bool max = op->fn == 0, ceil = vkt__onnx_int(b, "ceil_mode", 0),
         counts = vkt__onnx_int(b, "count_include_pad", 0);
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t kernel[2] = { 1, 1 }, out[2] = { 1, 1 }, more[2] = { 0, 0 }, size[2];
    window w;
    if (max && vkt__onnx_wanted(b, 1)) vkt__onnx_refuse(b, "its indices are used");
    if (v->rank != 3 && v->rank != 4)
        vkt__onnx_refuse(b, "of a tensor of rank %u: pictures and lines are supported", v->rank);
    if (b->st != VKT_OK || !read_pairs(b, "kernel_shape", v->rank - 2, 1, kernel) ||
        !read_window(b, v, kernel, &w))
        return;
    bool line = v->rank == 3, simple = true;
    if (line) w.kernel[1] = 1;
    size[0] = v->dims[2];
    size[1] = line ? 1 : v->dims[3];
    for (uint32_t k = 0; k < 2; k++) {
        if (w.dilation[k] != 1) vkt__onnx_refuse(b, "dilations are not supported");
        more[k] = ceil_more(&w, k, size[k], ceil, &out[k]);
        if (more[k] < 0) vkt__onnx_refuse(b, "a window larger than the picture");
        simple = simple && 2 * VKT_MAX(w.begin[k], w.end[k]) <= w.kernel[k];
    }
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_last(b, v);
    vkt_shape s = vkt_tensor_shape(x);
    if (line) x = vkt_reshape(b->g, x, (vkt_shape) { 4, { s.d[0], s.d[1], 1, s.d[2] } });
    uint32_t sizes[] = { (uint32_t)w.kernel[0], (uint32_t)w.kernel[1] },
             strides[] = { (uint32_t)w.stride[0], (uint32_t)w.stride[1] },
             sides[] = { (uint32_t)w.begin[0], (uint32_t)w.end[0], (uint32_t)w.begin[1],
                         (uint32_t)w.end[1] };
    vkt_pool_desc d = { .sizes = sizes, .strides = strides };
    if (simple) {
        d.sides = sides;
        d.ceil = ceil;
        d.pixels_only = !counts;
    } else { /* more padding than half a window */
        uint32_t before[] = { 0, sides[0], sides[2], 0 },
                 after[] = { 0, (uint32_t)(w.end[0] + more[0]), (uint32_t)(w.end[1] + more[1]), 0 };
        x = vkt_pad(b->g, x, before, after, max ? -3.0e38f : 0);
    }
    vkt_tensor *y = max ? vkt_max_pool(b->g, x, &d) : vkt_avg_pool(b->g, x, &d);
    if (!simple && !max) {
        vkt_tensor *f = mean_factors(b, &w, size, out, counts);
        if (f) y = vkt_binary(b->g, VKT_FN2_MUL, y, f);
    }
    s = vkt_tensor_shape(y);
    if (line) y = vkt_reshape(b->g, y, vkt_shape3(s.d[0], s.d[1], s.d[3]));
    vkt__onnx_give_last(b, 0, y, v->type);
}

/* [N, C, ...] -> [N, C, 1, ...] */
static void build_global_pool(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    uint32_t axes = 0;
    if (v->rank < 3) {
        vkt__onnx_refuse(b, "of a tensor of rank %u", v->rank);
        return;
    }
    vkt_tensor *x = vkt__onnx_last(b, v), *y;
    vkt_shape s = vkt_tensor_shape(x), one = { .rank = s.rank };
    for (uint32_t k = 0; k < s.rank; k++) {
        bool inner = k > 0 && k + 1 < s.rank;
        one.d[k] = inner ? 1 : s.d[k];
        axes |= inner ? 1u << k : 0;
    }
    if (op->fn == 1 && s.rank == 4)
        y = vkt_reshape(b->g, vkt_global_avg_pool(b->g, x), one);
    else
        y = vkt_reduce(b->g, op->fn ? VKT_REDUCE_MEAN : VKT_REDUCE_MAX, x, axes, true);
    vkt__onnx_give_last(b, 0, y, v->type);
}

const vkt__onnx_op vkt__onnx_product_ops[] = {
    { "MatMul", build_matmul, NULL, 0, 0, 0, "matmul", NULL },
    { "Gemm", build_gemm, NULL, 0, 0, 0, "linear, or matmul", NULL },
    { "Conv", build_conv, NULL, 0, 0, 0, "conv2d, conv1d", "pictures and lines" },
    { "ConvTranspose", build_transpose, NULL, 0, 0, 0, "conv_transpose2d, conv_transpose1d",
      "pictures and lines; no output_shape, no auto_pad" },
    { "MaxPool", build_pool, NULL, 0, 0, 0, "max_pool",
      "pictures and lines; no dilations; indices are no output" },
    { "AveragePool", build_pool, NULL, 1, 0, 0, "avg_pool", "pictures and lines; no dilations" },
    { "GlobalAveragePool", build_global_pool, NULL, 1, 0, 0, "global_avg_pool", NULL },
    { "GlobalMaxPool", build_global_pool, NULL, 0, 0, 0, "reduce", NULL },
    { .name = NULL },
};
