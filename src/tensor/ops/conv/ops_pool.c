/* Max and average pooling rows and zero padding, NHWC, with gradients in gather form. Kernels
 * pool.comp, pool_bwd.comp, pad.comp. */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/kernels/conv.h"
#include "tensor/ops/ops.h"

static bool is_mean(const vkt_node *n)
{
    return n->op == &vkt__op_avg_pool || n->op == &vkt__op_avg_pool_bwd;
}

/* Of columns. */
static uint32_t stride_w(const vkt_node *n)
{
    return n->attr.pool.stride + n->attr.pool.more_stride;
}

static uint32_t pad_w(const vkt_node *n)
{
    return n->attr.pool.pad + n->attr.pool.more_pad;
}

/* At the bottom; at the right. */
static uint32_t pad_after(const vkt_node *n, bool columns)
{
    return (columns ? pad_w(n) : n->attr.pool.pad) + n->attr.pool.more_after[columns];
}

static bool has_padding(const vkt_node *n)
{
    return n->attr.pool.pad || pad_w(n) || pad_after(n, false) || pad_after(n, true);
}

/* Whether windows have different numbers of places that count in their means. */
static bool is_counted(const vkt_node *n)
{
    return is_mean(n) && (n->attr.pool.ceil || (n->attr.pool.pixels_only && has_padding(n)));
}

/* Rows, or columns, of `extent` with its padding that count in a mean. */
static void counted(const vkt_node *n, bool columns, uint32_t extent, uint32_t *low, uint32_t *high)
{
    uint32_t pad = columns ? pad_w(n) : n->attr.pool.pad;
    bool pixels = n->attr.pool.pixels_only;
    *low = pixels ? pad : 0;
    *high = extent + pad + (pixels ? 0 : pad_after(n, columns));
}

/* x is the side with the pixels, y that with the windows, forward and backward. */
static struct pool_params params(const vkt_node *n, const vkt_tensor *x, const vkt_tensor *y)
{
    struct pool_params p = { .h = x->shape.d[1],
                             .wd = x->shape.d[2],
                             .c = x->shape.d[3],
                             .oh = y->shape.d[1],
                             .ow = y->shape.d[2],
                             .pad = n->attr.pool.pad,
                             .pad_w = pad_w(n),
                             .lines = n->out[0]->shape.d[0] * n->out[0]->shape.d[1],
                             .scale = 1.0f / (float)(n->attr.pool.kh * n->attr.pool.kw) };
    counted(n, false, p.h, &p.low, &p.high);
    counted(n, true, p.wd, &p.low_w, &p.high_w);
    return p;
}

/* Numbers that an invocation of the gradient has at once: compilers unroll its walk over windows,
 * and load three for each before they use the first. */
static uint32_t numbers_of(const vkt_node *n)
{
    uint32_t stride = n->attr.pool.stride;
    return 3 * ((n->attr.pool.kh + stride - 1) / stride) *
           ((n->attr.pool.kw + stride_w(n) - 1) / stride_w(n));
}

static void record(vkt__rec *rec, const vkt_node *n, bool backward, struct pool_params p)
{
    static const vkt__shader kernels[2][2] = { { VKT_SHADER_POOL, VKT_SHADER_POOL_PAIRS },
                                               { VKT_SHADER_POOL_BWD, VKT_SHADER_POOL_BWD_PAIRS } };
    bool pairs = vkt__use_pairs(rec->caps) && p.c % 2 == 0;
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_LANES,
                                     vkt__lanes(rec->caps, wg, backward ? numbers_of(n) : 1) },
                                   { VKT_SPEC_MEAN, is_mean(n) },
                                   { VKT_SPEC_COUNTED, is_counted(n) },
                                   { VKT_SPEC_KH, n->attr.pool.kh },
                                   { VKT_SPEC_KW, n->attr.pool.kw },
                                   { VKT_SPEC_STRIDE, n->attr.pool.stride },
                                   { VKT_SPEC_STRIDE_W, stride_w(n) } };
    vkt__dispatch(rec, kernels[backward][pairs], spec, VKT_COUNT(spec), &p, sizeof p,
                  ((uint64_t)p.lines * p.c / (pairs ? 2 : 1) + wg - 1) / wg);
}

/* Windows along an axis; 0: there are none. */
static uint32_t n_windows(const vkt_node *n, bool columns, uint32_t extent)
{
    uint32_t k = columns ? n->attr.pool.kw : n->attr.pool.kh,
             stride = columns ? stride_w(n) : n->attr.pool.stride,
             pad = columns ? pad_w(n) : n->attr.pool.pad;
    uint64_t padded = (uint64_t)extent + pad + pad_after(n, columns),
             reach = padded + (n->attr.pool.ceil ? stride - 1 : 0);
    if (reach < k || padded > INT32_MAX) return 0;
    uint64_t windows = (reach - k) / stride + 1;
    /* A last one that has less must begin within the pixels or before. */
    if (n->attr.pool.ceil && (windows - 1) * stride >= (uint64_t)extent + pad) windows--;
    return (uint32_t)windows;
}

/* ---- forward: x [N, H, W, C] -> y [N, OH, OW, C], place in the window u32 (max) ---- */

enum { X, N_IN };
enum { Y, INDEX, N_OUT };

static bool pool_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[X];
    const uint32_t k[2] = { n->attr.pool.kh, n->attr.pool.kw };
    const uint32_t stride[2] = { n->attr.pool.stride, stride_w(n) },
                   pad[4] = { n->attr.pool.pad, pad_w(n), pad_after(n, false), pad_after(n, true) };
    if (x->shape.rank != 4) return vkt__shape_error(n, "%s must be [N, H, W, C]", vkt__text(x));
    if (!k[0] || !k[1] || !stride[0] || !stride[1] || k[0] > 4096 || k[1] > 4096)
        return vkt__shape_error(n, "a window of %u x %u, stride %u", k[0], k[1],
                                VKT_MIN(stride[0], stride[1]));
    for (int i = 0; i < 4; i++)
        if (2ull * pad[i] > k[i % 2])
            return vkt__shape_error(n, "padding %u is more than half of the window, %u x %u",
                                    pad[i], k[0], k[1]);
    vkt_shape out = x->shape;
    for (int i = 0; i < 2; i++) {
        out.d[i + 1] = n_windows(n, i == 1, x->shape.d[i + 1]);
        if (!out.d[i + 1])
            return vkt__shape_error(n, "a window of %u x %u is larger than %s", k[0], k[1],
                                    vkt__text(x));
    }
    vkt__out(n, 0, out, VKT_F32);
    if (!is_mean(n)) vkt__out(n, 1, out, VKT_U32);
    return true;
}

static void pool_record(vkt__rec *rec, const vkt_node *n)
{
    struct pool_params p = params(n, n->in[X], n->out[Y]);
    p.x = vkt__addr(rec, n->in[X]);
    p.y = vkt__addr(rec, n->out[Y]);
    p.index = vkt__addr(rec, n->out[INDEX]);
    record(rec, n, false, p);
}

/* Element of x that tap t of the window of element i of y sees; UINT64_MAX: it is padding. */
static uint64_t seen(const vkt_node *n, const vkt_tensor *xt, const vkt_tensor *yt, uint64_t i,
                     uint64_t t)
{
    const uint32_t *x = xt->shape.d, *y = yt->shape.d;
    uint64_t kw = n->attr.pool.kw,
             row = i / y[3] / y[2] % y[1] * n->attr.pool.stride + t / kw - n->attr.pool.pad,
             col = i / y[3] % y[2] * stride_w(n) + t % kw - pad_w(n),
             image = i / y[3] / y[2] / y[1];
    if (row >= x[1] || col >= x[2]) return UINT64_MAX;
    return ((image * x[1] + row) * x[2] + col) * x[3] + i % y[3];
}

/* How many places the window of element i of y has in a mean. */
static double places(const vkt_node *n, const vkt_tensor *xt, const vkt_tensor *yt, uint64_t i)
{
    const uint32_t *x = xt->shape.d, *y = yt->shape.d, k[] = { n->attr.pool.kh, n->attr.pool.kw },
                   stride[] = { n->attr.pool.stride, stride_w(n) };
    const uint64_t at[] = { i / y[3] / y[2] % y[1], i / y[3] % y[2] };
    double count = 1;
    for (uint32_t a = 0; a < 2; a++) {
        uint32_t low, high;
        counted(n, a == 1, x[a + 1], &low, &high);
        uint64_t first = at[a] * stride[a];
        count *= (double)VKT_MIN(first + k[a], high) - (double)VKT_MAX(first, low);
    }
    return count;
}

static void pool_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t taps = (uint64_t)n->attr.pool.kh * n->attr.pool.kw;
    for (uint64_t i = 0; i < n->out[Y]->count; i++) {
        double best = 0, sum = 0;
        bool any = false;
        for (uint64_t t = 0; t < taps; t++) {
            uint64_t at = seen(n, n->in[X], n->out[Y], i, t);
            if (at == UINT64_MAX) continue;
            double v = in[X][at];
            sum += v;
            if (!is_mean(n) && (!any || v > best || isnan(v))) {
                best = v;
                out[INDEX][i] = (double)t;
            }
            any = true;
        }
        out[Y][i] = is_mean(n) ? sum / places(n, n->in[X], n->out[Y], i) : best;
    }
}

static double pool_terms(const vkt_node *n)
{
    return is_mean(n) ? (double)n->attr.pool.kh * n->attr.pool.kw + 4 : 0;
}

/* ---- backward: dy, place (max), or nothing (mean) -> dx of the size in attr ---- */

enum { DY, DY_INDEX, N_BWD_IN };

static bool pool_bwd_shape(vkt_node *n)
{
    vkt_shape out = n->in[DY]->shape;
    out.d[1] = n->attr.pool.h;
    out.d[2] = n->attr.pool.w;
    vkt__out(n, 0, out, VKT_F32);
    return true;
}

static void pool_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct pool_params p = params(n, n->out[0], n->in[DY]);
    p.x = vkt__addr(rec, n->out[0]);
    p.y = vkt__addr(rec, n->in[DY]);
    p.index = vkt__addr_or(rec, n->in[DY_INDEX], n->in[DY]);
    record(rec, n, true, p);
}

static void pool_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t taps = (uint64_t)n->attr.pool.kh * n->attr.pool.kw;
    for (uint64_t i = 0; i < n->out[0]->count; i++) out[0][i] = 0;
    for (uint64_t i = 0; i < n->in[DY]->count; i++)
        for (uint64_t t = 0; t < taps; t++) {
            uint64_t at = seen(n, n->out[0], n->in[DY], i, t);
            if (at == UINT64_MAX || (in[DY_INDEX] && in[DY_INDEX][i] != (double)t)) continue;
            out[0][at] += in[DY_INDEX] ? in[DY][i] : in[DY][i] / places(n, n->out[0], n->in[DY], i);
        }
}

static vkt_tensor *pool_bwd(vkt_graph *g, const vkt_op *op, vkt_tensor *dy, vkt_tensor *index,
                            vkt_attr attr, const vkt_tensor *x)
{
    attr.pool.h = x->shape.d[1];
    attr.pool.w = x->shape.d[2];
    return vkt__op(g, op, (vkt_tensor *[]) { dy, index }, index ? 2 : 1, attr);
}

static void pool_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (!dy[0] || !vkt__needs(n->in[X])) return;
    dx[0] = pool_bwd(g, is_mean(n) ? &vkt__op_avg_pool_bwd : &vkt__op_max_pool_bwd,
                     vkt__real(g, dy[0], n->out[Y]), n->out[INDEX], n->attr, n->in[X]);
}

/* ---- padding ---- */

static bool pad_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[0];
    if (x->shape.rank != 4) return vkt__shape_error(n, "%s must be [N, H, W, C]", vkt__text(x));
    vkt_shape out = x->shape;
    for (int i = 0; i < 2; i++) {
        int64_t d = (int64_t)out.d[i + 1] + n->attr.pad.before[i] + n->attr.pad.after[i];
        if (d <= 0 || d > INT32_MAX)
            return vkt__shape_error(n, "nothing, or too much, is left of %s", vkt__text(x));
        out.d[i + 1] = (uint32_t)d;
    }
    vkt__out(n, 0, out, VKT_F32);
    return true;
}

static void pad_record(vkt__rec *rec, const vkt_node *n)
{
    const uint32_t *x = n->in[0]->shape.d, *y = n->out[0]->shape.d;
    struct pad_params p = { .x = vkt__addr(rec, n->in[0]),
                            .y = vkt__addr(rec, n->out[0]),
                            .h = x[1],
                            .wd = x[2],
                            .c = x[3],
                            .oh = y[1],
                            .ow = y[2],
                            .top = (uint32_t)n->attr.pad.before[0],
                            .left = (uint32_t)n->attr.pad.before[1],
                            .lines = y[0] * y[1] };
    vkt__dispatch_each(rec, VKT_SHADER_PAD, &p, sizeof p, (uint64_t)p.lines * p.c, 64);
}

static void pad_ref(const vkt_node *n, double *const *in, double *const *out)
{
    const uint32_t *s = n->in[0]->shape.d, *d = n->out[0]->shape.d;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        int64_t y = (int64_t)(i / d[3] / d[2] % d[1]) - n->attr.pad.before[0],
                x = (int64_t)(i / d[3] % d[2]) - n->attr.pad.before[1];
        uint64_t image = i / d[3] / d[2] / d[1];
        bool inside = y >= 0 && y < s[1] && x >= 0 && x < s[2];
        out[0][i] =
            inside ? in[0][((image * s[1] + (uint64_t)y) * s[2] + (uint64_t)x) * s[3] + i % d[3]]
                   : 0;
    }
}

static vkt_tensor *pad(vkt_graph *g, vkt_tensor *x, int32_t top, int32_t bottom, int32_t left,
                       int32_t right)
{
    return vkt__op(g, &vkt__op_pad2d, &x, 1,
                   (vkt_attr) { .pad = { { top, left }, { bottom, right } } });
}

static void pad_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    const int32_t *before = n->attr.pad.before, *after = n->attr.pad.after;
    if (!dy[0] || !vkt__needs(n->in[0])) return;
    dx[0] = pad(g, vkt__real(g, dy[0], n->out[0]), -before[0], -after[0], -before[1], -after[1]);
}

/* ---- samples ---- */

static vkt_tensor *sample4(vkt_graph *g, const uint32_t d[4])
{
    return vkt__sample(g, (vkt_shape) { 4, { d[0], d[1], d[2], d[3] } }, VKT_F32, VKT_HINT_NORMAL,
                       0);
}

static const struct {
    const char *name;
    uint32_t x[4], kh, kw, stride, pad, more_stride, more_pad;
    bool ceil, pixels_only;
    uint32_t more_after[2];
} cases[] = {
    { "rounded up", { 2, 8, 9, 6 }, 3, 2, 2, 1, 1, 0, true, false },
    { "rounded up, of pixels", { 1, 7, 8, 5 }, 3, 2, 2, 1, 1, -1u, true, true },
    { "of pixels, four sides", { 2, 5, 6, 4 }, 3, 4, 1, 1, 1, 0, false, true, { -1u, 1 } },
    { "unlike axes", { 2, 11, 14, 6 }, 3, 4, 1, 0, 2, 2 },
    { "a line", { 2, 1, 33, 5 }, 1, 5, 1, 0, 1, 1 },
    { "less across", { 1, 9, 8, 4 }, 5, 2, 3, 2, -1u, -1u },
    { "halves", { 2, 6, 8, 5 }, 2, 2, 2, 0 },
    { "one", { 1, 1, 1, 1 }, 1, 1, 1, 0 },
    { "a row and a column left over", { 2, 7, 9, 33 }, 2, 2, 2, 0 },
    { "overlapping, padded", { 2, 7, 8, 3 }, 3, 3, 2, 1 },
    { "every pixel", { 2, 5, 6, 4 }, 3, 3, 1, 1 },
    { "gaps between windows", { 2, 11, 10, 3 }, 2, 2, 4, 1 },
    { "flat windows", { 2, 6, 10, 3 }, 1, 4, 2, 0 },
    { "all of the image", { 3, 5, 7, 130 }, 5, 7, 1, 0 },
    { "no images", { 0, 4, 4, 3 }, 2, 2, 2, 0 },
};

static vkt_attr case_attr(uint32_t i)
{
    return (vkt_attr) { .pool = { .kh = cases[i].kh,
                                  .kw = cases[i].kw,
                                  .stride = cases[i].stride,
                                  .pad = cases[i].pad,
                                  .more_stride = cases[i].more_stride,
                                  .more_pad = cases[i].more_pad,
                                  .more_after = { cases[i].more_after[0], cases[i].more_after[1] },
                                  .ceil = cases[i].ceil,
                                  .pixels_only = cases[i].pixels_only } };
}

static const char *pool_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(cases)) return NULL;
    vkt_tensor *x = sample4(g, cases[i].x);
    vkt__op(g, op, &x, 1, case_attr(i));
    return cases[i].name;
}

static const char *pool_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(cases)) return NULL;
    vkt_tensor *x = sample4(g, cases[i].x);
    const vkt_node *n =
        vkt__op(g, op == &vkt__op_avg_pool_bwd ? &vkt__op_avg_pool : &vkt__op_max_pool, &x, 1,
                case_attr(i))
            ->node;
    vkt_tensor *dy = vkt__sample(g, n->out[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0);
    pool_bwd(g, op, dy, n->out[1], n->attr, x);
    return cases[i].name;
}

static const char *pad_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t x[4];
        int32_t top, bottom, left, right;
    } s[] = {
        { "all round", { 2, 5, 7, 3 }, 1, 1, 1, 1 },
        { "one side", { 2, 4, 4, 33 }, 0, 0, 0, 3 },
        { "cut", { 2, 6, 7, 3 }, -1, -2, -3, 0 },
        { "cut and pad", { 2, 6, 7, 3 }, -2, 3, 2, -3 },
        { "past the image", { 1, 2, 2, 1 }, -3, 4, 0, 0 },
        { "no images", { 0, 2, 2, 1 }, 1, 1, 1, 1 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    pad(g, sample4(g, s[i].x), s[i].top, s[i].bottom, s[i].left, s[i].right);
    return s[i].name;
}

/* ---- rows and builders ---- */

const vkt_op vkt__op_max_pool = { .name = "max_pool",
                                  .n_in = N_IN,
                                  .n_out = N_OUT,
                                  .shape = pool_shape,
                                  .record = pool_record,
                                  .grad = pool_grad,
                                  .ref = pool_ref,
                                  .terms = pool_terms,
                                  .sample = pool_sample };
const vkt_op vkt__op_avg_pool = { .name = "avg_pool",
                                  .n_in = N_IN,
                                  .n_out = 1,
                                  .shape = pool_shape,
                                  .record = pool_record,
                                  .grad = pool_grad,
                                  .ref = pool_ref,
                                  .terms = pool_terms,
                                  .sample = pool_sample };
const vkt_op vkt__op_max_pool_bwd = { .name = "max_pool_bwd",
                                      .n_in = N_BWD_IN,
                                      .n_out = 1,
                                      .in = { [DY_INDEX] = VKT_WORDS },
                                      .shape = pool_bwd_shape,
                                      .record = pool_bwd_record,
                                      .ref = pool_bwd_ref,
                                      .sample = pool_bwd_sample };
const vkt_op vkt__op_avg_pool_bwd = { .name = "avg_pool_bwd",
                                      .n_in = 1,
                                      .n_out = 1,
                                      .shape = pool_bwd_shape,
                                      .record = pool_bwd_record,
                                      .ref = pool_bwd_ref,
                                      .terms = pool_terms,
                                      .sample = pool_bwd_sample };
const vkt_op vkt__op_pad2d = { .name = "pad2d",
                               .n_in = 1,
                               .n_out = 1,
                               .shape = pad_shape,
                               .record = pad_record,
                               .grad = pad_grad,
                               .ref = pad_ref,
                               .sample = pad_sample };

static vkt_tensor *pool(vkt_graph *g, const vkt_op *op, vkt_tensor *x, const vkt_pool_desc *d)
{
    uint32_t kh = d->sizes ? d->sizes[0] : d->size, kw = d->sizes ? d->sizes[1] : d->size,
             stride = d->strides  ? d->strides[0]
                      : d->stride ? d->stride
                                  : kh,
             across = d->strides  ? d->strides[1]
                      : d->stride ? d->stride
                                  : kw,
             pad = d->sides  ? d->sides[0]
                   : d->pads ? d->pads[0]
                             : d->pad,
             beside = d->sides  ? d->sides[2]
                      : d->pads ? d->pads[1]
                                : d->pad;
    vkt_attr attr = { .pool = { .kh = kh,
                                .kw = kw,
                                .stride = stride,
                                .pad = pad,
                                .more_stride = across - stride,
                                .more_pad = beside - pad,
                                .ceil = d->ceil,
                                .pixels_only = d->pixels_only } };
    for (uint32_t i = 0; i < 2 && d->sides; i++)
        attr.pool.more_after[i] = d->sides[2 * i + 1] - d->sides[2 * i];
    return vkt__op(g, op, &x, 1, attr);
}

vkt_tensor *vkt_max_pool(vkt_graph *g, vkt_tensor *x, const vkt_pool_desc *desc)
{
    return pool(g, &vkt__op_max_pool, x, desc);
}

vkt_tensor *vkt_avg_pool(vkt_graph *g, vkt_tensor *x, const vkt_pool_desc *desc)
{
    return pool(g, &vkt__op_avg_pool, x, desc);
}

vkt_tensor *vkt_global_avg_pool(vkt_graph *g, vkt_tensor *x)
{
    if (x->inert) return x;
    vkt_attr attr = { .pool = { .kh = x->shape.d[1], .kw = x->shape.d[2] } };
    attr.pool.stride = VKT_MAX(attr.pool.kh, attr.pool.kw); /* the backward looks for one window */
    vkt_tensor *y = vkt__op(g, &vkt__op_avg_pool, &x, 1, attr);
    return vkt_reshape(g, y, vkt_shape2(x->shape.d[0], x->shape.d[3]));
}

vkt_tensor *vkt_pad2d(vkt_graph *g, vkt_tensor *x, uint32_t top, uint32_t bottom, uint32_t left,
                      uint32_t right)
{
    return pad(g, x, (int32_t)top, (int32_t)bottom, (int32_t)left, (int32_t)right);
}
