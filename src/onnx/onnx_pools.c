/* ONNX's pools. Pictures and lines are taken and given with channels last; what our pools do not
 * compute (volumes, dilations, norms) is made of slices. */
#include "onnx/onnx_window.h"

enum { LARGEST, MEANS, NORMS };

/* Elements after the picture so that whole windows cover what ceil_mode adds. */
static int64_t ceil_more(const vkt__onnx_window *w, uint32_t k, int64_t size, bool ceil,
                         int64_t *out)
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
static vkt_tensor *mean_factors(vkt__onnx_build *b, const vkt__onnx_window *w, const int64_t *size,
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

/* 1 / the elements of each window that count, [1, 1, out...]; NULL: refused. */
static vkt_tensor *shares(vkt__onnx_build *b, const vkt__onnx_value *v, const vkt__onnx_window *w,
                          const int64_t *out, bool counts_pads)
{
    int64_t dims[VKT__ONNX_RANK] = { 1, 1 };
    for (uint32_t k = 0; k < w->axes; k++) dims[k + 2] = out[k];
    vkt__onnx_host *h = vkt__onnx_host_new(b, dims, w->axes + 2, false);
    for (uint64_t i = 0; h && i < h->count; i++) {
        uint64_t rest = i, n = 1;
        for (uint32_t k = w->axes; k-- > 0; rest /= (uint64_t)out[k]) {
            int64_t first = (int64_t)(rest % (uint64_t)out[k]) * w->stride[k] - w->begin[k],
                    lo = counts_pads ? -w->begin[k] : 0,
                    hi = v->dims[k + 2] + (counts_pads ? w->end[k] : 0);
            uint64_t here = 0;
            for (int64_t j = 0; j < w->kernel[k]; j++) {
                int64_t at = first + j * w->dilation[k];
                here += at >= lo && at < hi;
            }
            n *= here;
        }
        h->d[i] = n ? 1 / (double)n : 0;
    }
    return h ? vkt__onnx_made(b, "shares", h) : NULL;
}

/* Any number of axes, one after another: of slices that begin at each place of the window, the
 * largest or the sum. */
static void by_slices(vkt__onnx_build *b, vkt__onnx_value *v, const vkt__onnx_window *w, int fn,
                      bool ceil, bool counts)
{
    enum { MOST = 64 };
    int64_t out[VKT__ONNX_AXES];
    double p = (double)vkt__onnx_int(b, "p", 2);
    vkt_tensor *x = vkt__onnx_first(b, v), *factor = NULL;
    if (fn == NORMS) {
        x = vkt_unary(b->g, VKT_FN_ABS, x, 0, 0);
        x = vkt_binary(b->g, VKT_FN2_POW, x, vkt_fill(b->g, vkt_shape1(1), (float)p));
    }
    for (uint32_t k = 0; k < w->axes && b->st == VKT_OK; k++) {
        uint32_t before[VKT_MAX_RANK] = { 0 }, after[VKT_MAX_RANK] = { 0 }, step[VKT_MAX_RANK];
        int64_t more = ceil_more(w, k, v->dims[k + 2], ceil, &out[k]);
        if (more < 0 || w->kernel[k] > MOST)
            vkt__onnx_refuse(b, "a window of %lld over %lld", (long long)w->kernel[k],
                             (long long)v->dims[k + 2]);
        if (b->st != VKT_OK) return;
        before[k + 2] = (uint32_t)w->begin[k];
        after[k + 2] = (uint32_t)(w->end[k] + more);
        if (before[k + 2] || after[k + 2])
            x = vkt_pad(b->g, x, before, after, fn == LARGEST ? -3.0e38f : 0);
        vkt_shape s = vkt_tensor_shape(x);
        vkt_tensor *y = NULL;
        for (uint32_t i = 0; i < s.rank; i++) step[i] = 1;
        step[k + 2] = (uint32_t)w->stride[k];
        s.d[k + 2] = (uint32_t)out[k];
        for (int64_t j = 0; j < w->kernel[k]; j++) {
            uint32_t first[VKT_MAX_RANK] = { 0 };
            first[k + 2] = (uint32_t)(j * w->dilation[k]);
            vkt_tensor *one = vkt_slice(b->g, x, first, s.d, step);
            y = !y              ? one
                : fn == LARGEST ? vkt_binary(b->g, VKT_FN2_MAX, y, one)
                                : vkt_add(b->g, y, one);
        }
        x = y;
    }
    if (b->st != VKT_OK) return;
    if (fn == MEANS && (factor = shares(b, v, w, out, counts)) != NULL)
        x = vkt_binary(b->g, VKT_FN2_MUL, x, factor);
    if (fn == NORMS)
        x = vkt_binary(b->g, VKT_FN2_POW, x, vkt_fill(b->g, vkt_shape1(1), (float)(1 / p)));
    vkt__onnx_give(b, 0, x, v->type);
}

static void build_pool(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    bool max = op->fn == LARGEST, ceil = vkt__onnx_int(b, "ceil_mode", 0),
         counts = vkt__onnx_int(b, "count_include_pad", 0);
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t kernel[VKT__ONNX_AXES] = { 1, 1, 1, 1 }, out[2] = { 1, 1 }, more[2] = { 0, 0 }, size[2];
    vkt__onnx_window w;
    if (max && vkt__onnx_wanted(b, 1)) vkt__onnx_refuse(b, "its indices are used");
    if (v->rank < 3 || v->rank > VKT_MAX_RANK)
        vkt__onnx_refuse(b, "of a tensor of rank %u", v->rank);
    if (b->st != VKT_OK || !vkt__onnx_each_axis(b, "kernel_shape", v->rank - 2, 1, kernel) ||
        !vkt__onnx_window_read(b, v, kernel, &w))
        return;
    bool line = v->rank == 3, simple = true, dilated = false;
    for (uint32_t k = 0; k < w.axes; k++) dilated = dilated || w.dilation[k] != 1;
    if (dilated || w.axes > 2 || op->fn == NORMS) {
        by_slices(b, v, &w, op->fn, ceil, counts);
        return;
    }
    if (line) w.kernel[1] = 1;
    size[0] = v->dims[2];
    size[1] = line ? 1 : v->dims[3];
    for (uint32_t k = 0; k < 2; k++) {
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
    if (op->fn == 2) {
        vkt_tensor *p = vkt_fill(b->g, vkt_shape1(1), (float)vkt__onnx_int(b, "p", 2));
        x = vkt_binary(b->g, VKT_FN2_POW, vkt_unary(b->g, VKT_FN_ABS, x, 0, 0), p);
        p = vkt_unary(b->g, VKT_FN_RECIPROCAL, p, 0, 0);
        y = vkt_binary(b->g, VKT_FN2_POW, vkt_reduce(b->g, VKT_REDUCE_SUM, x, axes, true), p);
    } else if (op->fn == 1 && s.rank == 4)
        y = vkt_reshape(b->g, vkt_global_avg_pool(b->g, x), one);
    else
        y = vkt_reduce(b->g, op->fn ? VKT_REDUCE_MEAN : VKT_REDUCE_MAX, x, axes, true);
    vkt__onnx_give_last(b, 0, y, v->type);
}

const vkt__onnx_op vkt__onnx_pool_ops[] = {
    { "MaxPool", build_pool, NULL, LARGEST, 0, 0, "max_pool, or slices", "indices are no output" },
    { "AveragePool", build_pool, NULL, MEANS, 0, 0, "avg_pool, or slices", NULL },
    { "LpPool", build_pool, NULL, NORMS, 0, 0, "slices, binary", NULL },
    { "GlobalAveragePool", build_global_pool, NULL, 1, 0, 0, "global_avg_pool", NULL },
    { "GlobalMaxPool", build_global_pool, NULL, 0, 0, 0, "reduce", NULL },
    { "GlobalLpPool", build_global_pool, NULL, 2, 0, 0, "reduce, binary", NULL },
    { .name = NULL },
};
