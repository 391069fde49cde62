/* Convolution rows, NHWC: y = act(conv(x, w) + b), w [KH, KW, C / groups, CO]; the gradient of x in
 * gather form, by the same kernels on a filter with each tap transposed; the gradient of w in
 * slices of the pixels, added up in order. No copy of the input in columns, no atomics. Which
 * kernel runs is chosen in kernels/conv_kernels.c. */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/kernels/matmul.h"
#include "tensor/ops/conv/ops_conv.h"

/* ---- geometry ---- */

/* Positions of a filter of `taps` along `extent`; 0 where it doesn't fit. */
uint32_t vkt__window_count(uint32_t extent, uint32_t taps, uint32_t stride, uint32_t pad,
                           uint32_t dilation)
{
    uint64_t reach = (uint64_t)dilation * (taps - 1) + 1, padded = (uint64_t)extent + 2ull * pad;
    return padded < reach ? 0 : (uint32_t)((padded - reach) / stride + 1);
}

vkt__conv_geometry vkt__conv_geometry_of(const vkt_node *n)
{
    bool dw = n->attr.conv.pass == VKT_CONV_DW;
    const uint32_t *x = n->in[0]->shape.d, *y = dw ? n->in[1]->shape.d : n->out[0]->shape.d;
    vkt__conv_geometry q = { .attr = &n->attr,
                             .n = x[0],
                             .h = x[1],
                             .w = x[2],
                             .c = x[3],
                             .oh = y[1],
                             .ow = y[2],
                             .co = y[3] };
    q.ci = q.c / n->attr.conv.groups;
    q.depth = n->attr.conv.kh * n->attr.conv.kw * q.ci;
    return q;
}

/* Output positions along an axis; 0 where the filter doesn't fit. */
static uint32_t positions(const vkt_attr *a, bool columns, uint32_t extent, uint32_t taps)
{
    uint64_t padded = (uint64_t)extent + (columns ? vkt__conv_pad(a, VKT__LEFT) : a->conv.pad) +
                      vkt__conv_pad(a, columns ? VKT__RIGHT : VKT__BOTTOM);
    if (padded > INT32_MAX) return 0;
    return vkt__window_count((uint32_t)padded, taps, a->conv.stride, 0, a->conv.dilation);
}

/* The input row or column of output position o at tap t, with that padding before the first. */
static bool tap_at(const vkt__conv_geometry *q, uint32_t o, uint32_t t, uint32_t extent,
                   uint32_t before, uint32_t *at)
{
    int64_t s = q->attr->conv.stride, pad = before, moved = (int64_t)t * q->attr->conv.dilation,
            i = q->attr->conv.pass == VKT_CONV_DX ? o + pad - moved : o * s - pad + moved;
    if (q->attr->conv.pass == VKT_CONV_DX) {
        if (i < 0 || i % s) return false;
        i /= s;
    }
    *at = (uint32_t)i;
    return i >= 0 && i < (int64_t)extent;
}

/* ---- recording, of all three ---- */

const char *vkt__conv_kernel(const vkt_gpu *gpu, const vkt_node *n)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    return vkt__conv_kernel_name(vkt__conv_choose(gpu, &q));
}

static void conv_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    const vkt_attr *a = &n->attr;
    struct conv_params p = { .x = vkt__addr(rec, n->in[0]),
                             .w = vkt__addr(rec, n->in[1]),
                             .bias = vkt__addr_or(rec, n->in[2], n->in[1]),
                             .y = vkt__addr(rec, n->out[0]),
                             .pre = vkt__addr(rec, n->out[1]),
                             .h = q.h,
                             .wd = q.w,
                             .c = q.c,
                             .oh = q.oh,
                             .ow = q.ow,
                             .co = q.co,
                             .kh = a->conv.kh,
                             .kw = a->conv.kw,
                             .ci = q.ci,
                             .pad = a->conv.pad,
                             .pad_w = vkt__conv_pad(a, VKT__LEFT),
                             .dil = a->conv.dilation,
                             .groups = a->conv.groups,
                             .pixels = q.n * q.oh * q.ow,
                             .slice = a->conv.pass == VKT_CONV_DW
                                          ? vkt__conv_slice(&q, a->conv.slices)
                                          : 0,
                             .flags = (n->in[2] ? VKT_MM_BIAS : 0) | (n->out[1] ? VKT_MM_PRE : 0) };
    p.x4 = p.x;
    p.w4 = p.w;
    p.y4 = p.y;
    if (a->conv.stats) {
        p.pre = vkt__addr(rec, n->out[2]);
        p.bias = vkt__addr(rec, n->out[3]);
    }
    uint32_t kernel = vkt__conv_choose(rec->gpu, &q);
    VKT_ASSERT(!a->conv.stats || kernel == a->conv.kernel); /* another would not write them */
    vkt__conv_launch l = vkt__conv_prepare(kernel, rec->caps, &q, n->out[0]->count, p.x, p.w, p.y);
    vkt__dispatch(rec, l.shader, l.spec, l.n_spec, &p, sizeof p, l.groups);
}

/* On matrix units if such a kernel is this device's choice. */
static bool conv_narrow(const vkt_gpu *gpu, vkt_node *n, vkt_dtype to)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    n->attr.conv.multiply = to;
    if (!vkt__conv_on_units(vkt__conv_choose(gpu, &q))) n->attr.conv.multiply = VKT_F32;
    return n->attr.conv.multiply != VKT_F32;
}

bool vkt__is_conv(const vkt_node *n)
{
    return n->op->record == conv_record;
}

/* ---- forward, and the gradient of x ---- */

void vkt__conv_add_stats(vkt_node *n, uint32_t kernel, uint32_t rows)
{
    uint32_t pixels = vkt__rows_of(n->out[0]->shape), co = vkt__last(n->out[0]->shape);
    n->attr.conv.kernel = kernel;
    n->attr.conv.stats = rows;
    for (uint32_t i = 2; i < 4; i++)
        vkt__out(n, i, vkt_shape2((pixels + rows - 1) / rows, co), VKT_F32);
}

static bool conv_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[0], *w = n->in[1], *b = n->in[2];
    vkt_attr *a = &n->attr;
    a->conv.pass = n->op == &vkt__op_conv2d ? VKT_CONV_FORWARD : VKT_CONV_DX;
    if (x->shape.rank != 4 || w->shape.rank != 4)
        return vkt__shape_error(n, "%s and %s must be [N, H, W, C] and [KH, KW, C / groups, CO]",
                                vkt__text(x), vkt__text(w));
    uint32_t c = x->shape.d[3], co = w->shape.d[3], groups = a->conv.groups;
    a->conv.kh = w->shape.d[0];
    a->conv.kw = w->shape.d[1];
    if (!a->conv.stride || !a->conv.dilation || !groups || !a->conv.kh || !a->conv.kw)
        return vkt__shape_error(n, "a stride, dilation, group count or filter of 0");
    if (c % groups || co % groups || w->shape.d[2] != c / groups)
        return vkt__shape_error(n,
                                "%s and %s do not fit in %u groups: the filter must be [KH, KW, %u "
                                "/ groups, CO], and groups divide both channel counts",
                                vkt__text(x), vkt__text(w), groups, c);
    if (b && (b->shape.rank != 1 || b->shape.d[0] != co))
        return vkt__shape_error(n, "bias %s must be [%u]", vkt__text(b), co);
    if ((uint64_t)a->conv.kh * a->conv.kw * (c / groups) >= VKT__CONV_DEPTH_MAX)
        return vkt__shape_error(n, "filter %s is too large", vkt__text(w));
    vkt_shape out = { 4, { x->shape.d[0], a->conv.h, a->conv.w, co } };
    if (n->op == &vkt__op_conv2d) {
        for (int i = 1; i <= 2; i++) {
            out.d[i] = positions(a, i == 2, x->shape.d[i], w->shape.d[i - 1]);
            if (!out.d[i])
                return vkt__shape_error(n, "the filter of %s with padding %u is larger than %s",
                                        vkt__text(w), a->conv.pad, vkt__text(x));
        }
    }
    vkt__out(n, 0, out, VKT_F32);
    if (a->conv.act != VKT_ACT_NONE && !vkt__act_from_output(a->conv.act))
        vkt__out(n, 1, out, VKT_F32);
    if (a->conv.stats) vkt__conv_add_stats(n, a->conv.kernel, a->conv.stats);
    return true;
}

/* As it is multiplied. */
static double factor(const vkt__conv_geometry *q, double x)
{
    return q->attr->conv.multiply == VKT_F32 ? x : vkt__round_to(q->attr->conv.multiply, x);
}

/* Element i of y, and the root of its terms' squares. */
static double conv_element(const vkt__conv_geometry *q, double *const *in, uint64_t i,
                           double *scale)
{
    uint32_t y, x, kh = q->attr->conv.kh, kw = q->attr->conv.kw,
                   per_group = q->co / q->attr->conv.groups, o = (uint32_t)(i % q->co),
                   col = (uint32_t)(i / q->co % q->ow), row = (uint32_t)(i / q->co / q->ow % q->oh);
    uint64_t image = i / q->co / q->ow / q->oh;
    double sum = 0, squares = 0;
    for (uint32_t t = 0; t < kh * kw; t++) {
        if (!tap_at(q, row, t / kw, q->h, q->attr->conv.pad, &y) ||
            !tap_at(q, col, t % kw, q->w, vkt__conv_pad(q->attr, VKT__LEFT), &x))
            continue;
        const double *from = in[0] + ((image * q->h + y) * q->w + x) * q->c + o / per_group * q->ci;
        for (uint32_t c = 0; c < q->ci; c++) {
            double term =
                factor(q, from[c]) * factor(q, in[1][((uint64_t)t * q->ci + c) * q->co + o]);
            sum += term;
            squares += term * term;
        }
    }
    *scale = sqrt(squares);
    return sum;
}

/* Statistics of each tile's pixels, as batch_stats takes those of chunks. */
static void stats_ref(const vkt_node *n, double *const *out)
{
    uint64_t co = vkt__last(n->out[0]->shape), rows = vkt__rows_of(n->out[0]->shape);
    for (uint64_t i = 0; i < n->out[2]->count; i++) {
        uint64_t begin = i / co * n->attr.conv.stats,
                 end = VKT_MIN(rows, begin + n->attr.conv.stats);
        out[2][i] = out[3][i] = 0;
        for (uint64_t r = begin; r < end; r++)
            out[2][i] += out[0][r * co + i % co] / (double)(end - begin);
        for (uint64_t r = begin; r < end; r++) {
            double d = out[0][r * co + i % co] - out[2][i];
            out[3][i] += d * d;
        }
    }
}

static void conv_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    double scale;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        double sum = conv_element(&q, in, i, &scale) + (in[2] ? in[2][i % q.co] : 0);
        if (out[1]) out[1][i] = sum;
        out[0][i] = vkt__act(n->attr.conv.act, sum);
    }
    if (n->attr.conv.stats) stats_ref(n, out);
}

static vkt_cost conv_cost(const vkt_node *n)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    double products = (double)n->out[0]->count * q.depth;
    if (n->attr.conv.pass == VKT_CONV_DW)
        products = (double)n->in[1]->count * q.depth;
    else if (q.attr->conv.pass == VKT_CONV_DX) /* of the taps only those that hit */
        products /= (double)n->attr.conv.stride * n->attr.conv.stride;
    vkt_cost c = { 2 * products, (double)n->in[0]->bytes + (double)n->in[1]->bytes +
                                     (double)n->out[0]->bytes * (n->out[1] ? 2 : 1) +
                                     (n->out[2] ? 2 * (double)n->out[2]->bytes : 0) };
    return c;
}

/* Of samples, whose values have variance 1. An activation adds errors of its own.
 * One that is bounded is so where the sum is of size sqrt(depth): its error, relative to that,
 * is sqrt(depth) times as large relative to them, and their slopes, at most 1, do not lessen it. */
static double conv_terms(const vkt_node *n)
{
    const vkt__act_row *act = &vkt__acts[n->attr.conv.act];
    double depth = vkt__conv_geometry_of(n).depth, terms = depth;
    if (n->attr.conv.multiply != VKT_F32) terms = vkt__units_terms(depth);
    /* 2 sqrt(terms) = (4 + 2 sqrt(terms)) sqrt(depth), for vkt__tol */
    if (act->bounded) terms = depth * (2 + sqrt(terms)) * (2 + sqrt(terms));
    return terms + act->terms;
}

/* ---- the filter of the gradient ---- */

static bool conv_flip_shape(vkt_node *n)
{
    const uint32_t *w = n->in[0]->shape.d;
    uint32_t groups = n->attr.conv.groups;
    vkt__out(n, 0, (vkt_shape) { 4, { w[0], w[1], w[3] / groups, w[2] * groups } }, VKT_F32);
    return true;
}

static void conv_flip_record(vkt__rec *rec, const vkt_node *n)
{
    struct conv_flip_params p = { .w = vkt__addr(rec, n->in[0]),
                                  .y = vkt__addr(rec, n->out[0]),
                                  .n = (uint32_t)n->out[0]->count,
                                  .c = n->out[0]->shape.d[3],
                                  .co = n->in[0]->shape.d[3],
                                  .groups = n->attr.conv.groups };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, VKT_SHADER_CONV_FLIP, spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[0]->count + wg - 1) / wg);
}

static void conv_flip_ref(const vkt_node *n, double *const *in, double *const *out)
{
    const uint32_t *w = n->in[0]->shape.d;
    uint32_t co = w[3], in_c = w[2], out_c = co / n->attr.conv.groups,
             c_all = in_c * n->attr.conv.groups;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t c = i % c_all, o = i / c_all % out_c, tap = i / c_all / out_c;
        out[0][i] = in[0][(tap * in_c + c % in_c) * co + c / in_c * out_c + o];
    }
}

/* ---- of several filters without groups, in one dispatch ---- */

static bool conv_flips_shape(vkt_node *n)
{
    for (uint32_t i = 0; i < VKT_GROUPED && n->in[i]; i++) {
        const uint32_t *w = n->in[i]->shape.d;
        vkt__out(n, i, (vkt_shape) { 4, { w[0], w[1], w[3], w[2] } }, VKT_F32);
    }
    return true;
}

static void conv_flips_record(vkt__rec *rec, const vkt_node *n)
{
    struct conv_flips_params p = { 0 };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    uint64_t groups = 0;
    for (uint32_t i = 0; i < VKT_GROUPED; i++) {
        const vkt_tensor *w = n->in[n->in[i] ? i : 0], *y = n->out[n->in[i] ? i : 0];
        p.w[i] = vkt__addr(rec, w);
        p.y[i] = vkt__addr(rec, y);
        p.n[i] = n->in[i] ? (uint32_t)y->count : 0;
        p.channels[i] = w->shape.d[2] | w->shape.d[3] << 16;
        groups += ((uint64_t)p.n[i] + wg - 1) / wg;
    }
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, VKT_SHADER_CONV_FLIPS, spec, VKT_COUNT(spec), &p, sizeof p, groups);
}

static void conv_flips_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint32_t i = 0; i < VKT_GROUPED && n->in[i]; i++) {
        const vkt_node one = { .op = &vkt__op_conv2d_flip,
                               .in = { n->in[i] },
                               .out = { n->out[i] },
                               .attr = { .conv = { .groups = 1 } } };
        conv_flip_ref(&one, &in[i], &out[i]);
    }
}

static const char *conv_flips_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const uint32_t shapes[][4] = {
        { 3, 3, 16, 16 }, { 1, 1, 5, 7 }, { 3, 3, 1, 64 }, { 2, 5, 33, 3 }, { 1, 1, 1, 1 }
    };
    static const char *const names[] = { "one", "two", "three", "four", "five" };
    if (i >= VKT_GROUPED) return NULL;
    vkt_tensor *w[VKT_GROUPED];
    for (uint32_t k = 0; k <= i; k++) {
        vkt_shape s = { 4, { 0 } };
        memcpy(s.d, shapes[k], sizeof shapes[k]);
        w[k] = vkt__sample(g, s, VKT_F32, VKT_HINT_NORMAL, 0);
    }
    vkt__node(g, op, w, i + 1, (vkt_attr) { 0 });
    return names[i];
}

static vkt_tensor *conv_flip(vkt_graph *g, vkt_tensor *w, uint32_t groups)
{
    return vkt__op(g, &vkt__op_conv2d_flip, &w, 1, (vkt_attr) { .conv = { .groups = groups } });
}

/* ---- gradient of w: x, dy -> [slices, KH, KW, CI, CO], without the first if there is one slice */

static bool conv_dw_shape(vkt_node *n)
{
    n->attr.conv.pass = VKT_CONV_DW;
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    vkt_shape out = { 4, { n->attr.conv.kh, n->attr.conv.kw, q.ci, q.co } };
    if (n->attr.conv.slices > 1) {
        memmove(out.d + 1, out.d, 4 * sizeof *out.d);
        out.d[0] = n->attr.conv.slices;
        out.rank = 5;
    }
    vkt__out(n, 0, out, VKT_F32);
    return true;
}

static double conv_dw_element(const vkt__conv_geometry *q, double *const *in, uint64_t i,
                              double *scale)
{
    uint32_t y, x, kw = q->attr->conv.kw, per_group = q->co / q->attr->conv.groups,
                   slice = vkt__conv_slice(q, q->attr->conv.slices), o = (uint32_t)(i % q->co),
                   k = (uint32_t)(i / q->co % q->depth), t = k / q->ci,
                   c = k % q->ci + o / per_group * q->ci;
    uint64_t first = i / q->co / q->depth * slice,
             end = VKT_MIN(first + slice, (uint64_t)q->n * q->oh);
    double sum = 0, squares = 0;
    for (uint64_t line = first; line < end; line++) {
        if (!tap_at(q, (uint32_t)(line % q->oh), t / kw, q->h, q->attr->conv.pad, &y)) continue;
        for (uint32_t col = 0; col < q->ow; col++) {
            if (!tap_at(q, col, t % kw, q->w, vkt__conv_pad(q->attr, VKT__LEFT), &x)) continue;
            double term = factor(q, in[0][((line / q->oh * q->h + y) * q->w + x) * q->c + c]) *
                          factor(q, in[1][(line * q->ow + col) * q->co + o]);
            sum += term;
            squares += term * term;
        }
    }
    *scale = sqrt(squares);
    return sum;
}

static void conv_dw_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    double scale;
    for (uint64_t i = 0; i < n->out[0]->count; i++) out[0][i] = conv_dw_element(&q, in, i, &scale);
}

double vkt__conv_element(const vkt_node *n, double *const *in, uint64_t i, double *scale)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    return (n->attr.conv.pass == VKT_CONV_DW ? conv_dw_element : conv_element)(&q, in, i, scale);
}

static double conv_dw_terms(const vkt_node *n)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    return (double)vkt__conv_slice(&q, n->attr.conv.slices) * q.ow;
}

static vkt_tensor *conv_dw(vkt_graph *g, vkt_tensor *x, vkt_tensor *dy, vkt_attr attr)
{
    attr.conv.act = VKT_ACT_NONE;
    attr.conv.stats = 0;
    attr.conv.slices = vkt__conv_slices(vkt__gpu_of(g), x, dy, &attr);
    vkt_tensor *dw = vkt__op(g, &vkt__op_conv2d_dw, (vkt_tensor *[]) { x, dy }, 2, attr);
    if (attr.conv.slices <= 1) return dw;
    return vkt__op(g, &vkt__op_matmul_sum, (vkt_tensor *[]) { dw }, 1, (vkt_attr) { 0 });
}

vkt_tensor *vkt__conv_dx(vkt_graph *g, vkt_tensor *dy, vkt_tensor *w, vkt_attr attr, uint32_t h,
                         uint32_t width)
{
    attr.conv.h = h;
    attr.conv.w = width;
    attr.conv.act = VKT_ACT_NONE;
    attr.conv.stats = 0;
    return vkt__op(g, &vkt__op_conv2d_dx,
                   (vkt_tensor *[]) { dy, conv_flip(g, w, attr.conv.groups) }, 2, attr);
}

static void conv_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[0], *w = n->in[1], *b = n->in[2], *d;
    vkt_act act = n->attr.conv.act;
    if (!dy[0]) return;
    d = vkt__real(g, dy[0], n->out[0]);
    if (act != VKT_ACT_NONE) d = vkt__act_bwd(g, d, n->out[1] ? n->out[1] : n->out[0], act);
    if (vkt__needs(x)) dx[0] = vkt__conv_dx(g, d, w, n->attr, x->shape.d[1], x->shape.d[2]);
    if (vkt__needs(w)) dx[1] = conv_dw(g, x, d, n->attr);
    if (b && vkt__needs(b)) dx[2] = vkt_sum_rows(g, d);
}

/* Of conv2d_dx, whose filter is flipped: what moved over its result gives back what it is made
 * from. */
static void conv_dx_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.conv.kernel = 0;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    if (vkt__needs(n->in[0]))
        dx[0] = vkt__op(g, &vkt__op_conv2d,
                        (vkt_tensor *[]) { d, conv_flip(g, n->in[1], a.conv.groups) }, 2, a);
    if (vkt__needs(n->in[1])) dx[1] = conv_flip(g, conv_dw(g, d, n->in[0], a), a.conv.groups);
}

static void conv_flip_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[0]))
        dx[0] = conv_flip(g, vkt__real(g, dy[0], n->out[0]), n->attr.conv.groups);
}

/* ---- samples ---- */

/* Filters, strides, dilations and groups of every kind, extents that no tile divides, with the
 * kernel that the device's class gets; the first few with every kernel that can take them. */
enum { FOR_EVERY_KERNEL = 7 };
static const struct {
    const char *name;
    uint32_t n, h, w, c, co, kh, kw, stride, pad, dilation, groups, more[3];
} cases[] = {
    { "3x3", 2, 7, 9, 6, 10, 3, 3, 1, 1, 1, 1 },
    { "grey", 3, 9, 8, 1, 33, 3, 3, 1, 1, 1, 1 },
    { "colour, stride 2", 2, 11, 13, 3, 34, 7, 7, 2, 3, 1, 1 },
    { "three groups, odd", 2, 5, 7, 9, 15, 3, 3, 2, 1, 1, 3 },
    { "deep", 2, 5, 5, 64, 68, 3, 3, 1, 1, 1, 1 },
    { "padding past the filter", 1, 3, 3, 2, 2, 2, 2, 1, 3, 1, 1 },
    { "four sides, stride 2", 2, 7, 10, 6, 10, 3, 4, 2, 1, 1, 1, { 1, 2, 0 } },
    { "one pixel", 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1 },
    { "1x1, stride 2", 2, 8, 7, 18, 20, 1, 1, 2, 0, 1, 1 },
    { "dilated", 2, 11, 10, 4, 6, 3, 3, 1, 2, 2, 1 },
    { "dilated, stride 2", 2, 11, 9, 3, 5, 3, 3, 2, 2, 2, 1 },
    { "dilated by 3, stride 2", 1, 12, 13, 2, 6, 3, 4, 2, 3, 3, 1 },
    { "tall filter", 2, 9, 6, 5, 7, 5, 2, 1, 1, 1, 1 },
    { "stride 3", 2, 14, 11, 2, 4, 4, 3, 3, 1, 1, 1 },
    { "two groups", 2, 6, 6, 8, 12, 3, 3, 1, 1, 1, 2 },
    { "depthwise", 2, 8, 9, 17, 17, 3, 3, 1, 1, 1, 17 },
    { "depthwise, doubled, stride 2", 2, 8, 9, 6, 12, 5, 5, 2, 2, 1, 6 },
    { "no images", 0, 5, 5, 2, 3, 3, 3, 1, 1, 1, 1 },
    { "a line, stride 3", 2, 1, 34, 3, 5, 1, 5, 3, 0, 1, 1, { 0, 4, 2 } },
    { "less on the left, dilated", 2, 9, 8, 4, 6, 3, 3, 1, 2, 2, 2, { 0, -1u, 3 } },
};

static vkt_attr case_attr(uint32_t i, uint32_t kernel)
{
    return (vkt_attr) { .conv = { .stride = cases[i].stride,
                                  .pad = cases[i].pad,
                                  .more = { cases[i].more[0], cases[i].more[1], cases[i].more[2] },
                                  .dilation = cases[i].dilation,
                                  .groups = cases[i].groups,
                                  .kh = cases[i].kh,
                                  .kw = cases[i].kw,
                                  .kernel = kernel } };
}

static vkt_tensor *sample4(vkt_graph *g, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return vkt__sample(g, (vkt_shape) { 4, { a, b, c, d } }, VKT_F32, VKT_HINT_NORMAL, 0);
}

static vkt_tensor *sample_x(vkt_graph *g, uint32_t i)
{
    return sample4(g, cases[i].n, cases[i].h, cases[i].w, cases[i].c);
}

static vkt_tensor *sample_w(vkt_graph *g, uint32_t i)
{
    return sample4(g, cases[i].kh, cases[i].kw, cases[i].c / cases[i].groups, cases[i].co);
}

static vkt_tensor *sample_dy(vkt_graph *g, uint32_t i)
{
    vkt_attr a = case_attr(i, 0);
    return sample4(g, cases[i].n, positions(&a, false, cases[i].h, cases[i].kh),
                   positions(&a, true, cases[i].w, cases[i].kw), cases[i].co);
}

/* Shape and attributes of sample i; false past the last. On matrix units in the types that the
 * device's have, few cases: a CPU driver takes seconds to compile one. */
static bool sample_of(const vkt_graph *g, uint32_t i, uint32_t *j, vkt_attr *a, char name[64])
{
    static const struct {
        uint32_t j, type;
    } on_units[] = { { 2, 0 }, { 4, 0 }, { 8, 0 }, { 4, 1 } };
    const vkt_caps *caps = vkt__gpu_of(g) ? vkt_gpu_caps(vkt__gpu_of(g)) : NULL;
    vkt_dtype types[2];
    uint32_t n_types = 0, kernel = 0, each = VKT_COUNT(cases);
    if (caps && caps->coopmat && caps->coopmat_bf16[0]) types[n_types++] = VKT_BF16;
    if (caps && caps->coopmat && caps->coopmat_f16[0]) types[n_types++] = VKT_F16;
    for (; i >= each; kernel++) {
        if (!vkt__conv_kernel_name(kernel + 1)) return false;
        i -= each;
        each = !vkt__conv_on_units(kernel + 1) ? FOR_EVERY_KERNEL
               : n_types == 2                  ? VKT_COUNT(on_units)
                                               : n_types * (VKT_COUNT(on_units) - 1);
    }
    bool units = vkt__conv_on_units(kernel);
    *j = units ? on_units[i].j : i;
    *a = case_attr(*j, kernel);
    if (units) a->conv.multiply = types[on_units[i].type];
    snprintf(name, 64, "%s, kernel %u%s%s", cases[*j].name, kernel, units ? " in " : "",
             units ? vkt_dtype_name(a->conv.multiply) : "");
    return true;
}

static const uint32_t with_stats[] = { 0, 2, 4, 8 }; /* of the cases */

static uint32_t n_stats(void)
{
    uint32_t n = 0;
    for (uint32_t k = 1; vkt__conv_kernel_name(k); k++)
        n += vkt__conv_stats_rows(k) ? VKT_COUNT(with_stats) : 0;
    return n;
}

/* With statistics of tiles, by each kernel that writes them: one and several tiles, whose last
 * pixels or channels are missing. */
static const char *stats_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static char name[64];
    uint32_t kernel = 1, n = i / VKT_COUNT(with_stats), j = with_stats[i % VKT_COUNT(with_stats)];
    while (!vkt__conv_stats_rows(kernel) || n-- > 0) kernel++;
    vkt_attr a = case_attr(j, kernel);
    a.conv.stats = vkt__conv_stats_rows(kernel);
    vkt__op(g, op, (vkt_tensor *[]) { sample_x(g, j), sample_w(g, j) }, 2, a);
    snprintf(name, sizeof name, "%s, with statistics, kernel %u", cases[j].name, kernel);
    return name;
}

static const char *conv_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    enum { FOURS = 4 }; /* a case whose channels are whole fours, on matrix units too */
    static char name[64];
    uint32_t j;
    vkt_attr a;
    if (i < VKT__N_ACTS) {
        vkt_attr attr = case_attr(0, 0);
        attr.conv.act = (vkt_act)i;
        vkt__op(g, op,
                (vkt_tensor *[]) { sample_x(g, 0), sample_w(g, 0), vkt__sample1(g, cases[0].co) },
                3, attr);
        snprintf(name, sizeof name, i ? "bias %s" : "bias", vkt__acts[i].name);
        return name;
    }
    i -= VKT__N_ACTS;
    if (i < n_stats()) return stats_sample(op, g, i);
    if (!sample_of(g, i - n_stats(), &j, &a, name)) return NULL;
    vkt_tensor *in[] = { sample_x(g, j), sample_w(g, j), NULL };
    if (a.conv.kernel && j == FOURS) { /* every kernel ends sums, too */
        in[2] = vkt__sample1(g, cases[j].co);
        a.conv.act = VKT_ACT_GELU;
        strncat(name, ", bias gelu", sizeof name - strlen(name) - 1);
    }
    vkt__op(g, op, in, 3, a);
    return name;
}

static const char *conv_dx_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static char name[64];
    uint32_t j;
    vkt_attr a;
    if (!sample_of(g, i, &j, &a, name)) return NULL;
    vkt__conv_dx(g, sample_dy(g, j), sample_w(g, j), a, cases[j].h, cases[j].w);
    return name;
}

static const char *conv_flip_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(cases)) return NULL;
    conv_flip(g, sample_w(g, i), cases[i].groups);
    return cases[i].name;
}

/* In one slice, then in three, the last shorter. */
static const char *conv_dw_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static char name[64];
    uint32_t j;
    vkt_attr attr;
    if (!sample_of(g, i / 2, &j, &attr, name)) return NULL;
    attr.conv.slices = i % 2 && cases[j].n * cases[j].h >= 5 ? 3 : 1;
    vkt__op(g, op, (vkt_tensor *[]) { sample_x(g, j), sample_dy(g, j) }, 2, attr);
    return name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_conv2d = { .name = "conv2d",
                                .n_in = 3,
                                .n_out = 4,
                                .shape = conv_shape,
                                .record = conv_record,
                                .grad = conv_grad,
                                .narrow = conv_narrow,
                                .kernel = vkt__conv_kernel,
                                .ref = conv_ref,
                                .cost = conv_cost,
                                .terms = conv_terms,
                                .sample = conv_sample };
const vkt_op vkt__op_conv2d_dx = { .name = "conv2d_dx",
                                   .n_in = 2,
                                   .n_out = 1,
                                   .shape = conv_shape,
                                   .record = conv_record,
                                   .grad = conv_dx_grad,
                                   .narrow = conv_narrow,
                                   .kernel = vkt__conv_kernel,
                                   .ref = conv_ref,
                                   .cost = conv_cost,
                                   .terms = conv_terms,
                                   .sample = conv_dx_sample };
const vkt_op vkt__op_conv2d_dw = { .name = "conv2d_dw",
                                   .n_in = 2,
                                   .n_out = 1,
                                   .shape = conv_dw_shape,
                                   .record = conv_record,
                                   .narrow = conv_narrow,
                                   .kernel = vkt__conv_kernel,
                                   .ref = conv_dw_ref,
                                   .cost = conv_cost,
                                   .terms = conv_dw_terms,
                                   .sample = conv_dw_sample };
const vkt_op vkt__op_conv2d_flip = { .name = "conv2d_flip",
                                     .n_in = 1,
                                     .n_out = 1,
                                     .shape = conv_flip_shape,
                                     .record = conv_flip_record,
                                     .grad = conv_flip_grad,
                                     .ref = conv_flip_ref,
                                     .sample = conv_flip_sample };
const vkt_op vkt__op_conv2d_flips = { .name = "conv2d_flips",
                                      .n_in = VKT_GROUPED,
                                      .n_out = VKT_GROUPED,
                                      .shape = conv_flips_shape,
                                      .record = conv_flips_record,
                                      .ref = conv_flips_ref,
                                      .sample = conv_flips_sample };

void vkt__conv_set_pads(vkt_attr *a, const vkt_conv_desc *desc)
{
    const uint32_t *pads = desc->pads;
    a->conv.pad = pads ? pads[0] : desc->pad;
    for (uint32_t i = 0; i < 3; i++) a->conv.more[i] = pads ? pads[i + 1] - pads[0] : 0;
}

vkt_tensor *vkt_conv2d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                       const vkt_conv_desc *desc)
{
    vkt_attr attr = { .conv = { .stride = VKT_MAX(desc->stride, 1),
                                .dilation = VKT_MAX(desc->dilation, 1),
                                .groups = VKT_MAX(desc->groups, 1),
                                .act = desc->act } };
    vkt__conv_set_pads(&attr, desc);
    return vkt__op(g, &vkt__op_conv2d, (vkt_tensor *[]) { x, w, b }, 3, attr);
}
