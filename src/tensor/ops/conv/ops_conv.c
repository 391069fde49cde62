/* Convolution rows, NHWC: y = act(conv(x, w) + b), w [KH, KW, C / groups, CO]; the gradient of x in
 * gather form, by the same kernels on a filter with each tap transposed; the gradient of w in
 * slices of the pixels, added up in order. No copy of the input in columns, no atomics. Which
 * kernel runs is chosen in kernels/conv_kernels.c. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/value.h"
#include "tensor/kernels/matmul.h"
#include "tensor/ops/conv/conv_samples.h"
#include "tensor/ops/conv/ops_conv.h"
#include "tensor/ops/conv/ops_conv_flip.h"

/* conv2d_dx has the gradient of the result at X and the flipped filter at W, conv2d_dw that
 * gradient at DW_DY. PRE is the result before the activation; MEANS and SQUARES are those of tiles
 * of pixels (conv.stats). */
enum { X, W, BIAS, N_IN, DW_DY = W };
enum { Y, PRE, MEANS, SQUARES, N_OUT };

/* ---- geometry ---- */

vkt__conv_geometry vkt__conv_geometry_of(const vkt_node *n)
{
    bool dw = n->attr.conv.pass == VKT_CONV_DW;
    const uint32_t *x = n->in[X]->shape.d, *y = dw ? n->in[DW_DY]->shape.d : n->out[Y]->shape.d;
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

/* The input row or column of output position o at tap t. */
static bool tap_at(const vkt__conv_geometry *q, bool columns, uint32_t o, uint32_t t, uint32_t *at)
{
    const vkt_attr *a = q->attr;
    uint32_t extent = columns ? q->w : q->h;
    int64_t s = columns ? vkt__conv_stride_w(a) : a->conv.stride,
            pad = columns ? vkt__conv_pad(a, VKT__LEFT) : a->conv.pad,
            moved = (int64_t)t * (columns ? vkt__conv_dilation_w(a) : a->conv.dilation),
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
    struct conv_params p = { .x = vkt__addr(rec, n->in[X]),
                             .w = vkt__addr(rec, n->in[W]),
                             .bias = vkt__addr_or(rec, n->in[BIAS], n->in[W]),
                             .y = vkt__addr(rec, n->out[Y]),
                             .pre = vkt__addr(rec, n->out[PRE]),
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
                             .dil = a->conv.dilation | vkt__conv_dilation_w(a) << 16,
                             .groups = a->conv.groups,
                             .pixels = q.n * q.oh * q.ow,
                             .slice = a->conv.pass == VKT_CONV_DW
                                          ? vkt__conv_slice(&q, a->conv.slices)
                                          : 0 };
    p.flags = (n->in[BIAS] ? VKT_MM_BIAS : 0) | (n->out[PRE] ? VKT_MM_PRE : 0);
    if (a->conv.stats) {
        p.pre = vkt__addr(rec, n->out[MEANS]);
        p.bias = vkt__addr(rec, n->out[SQUARES]);
    }
    uint32_t kernel = vkt__conv_choose(rec->gpu, &q);
    VKT_ASSERT(!a->conv.stats || kernel == a->conv.kernel); /* another would not write them */
    vkt__conv_launch l = vkt__conv_prepare(kernel, rec->caps, &q, n->out[Y]->count, p.x, p.w, p.y);
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
    uint32_t pixels = vkt__rows_of(n->out[Y]->shape), co = vkt__last(n->out[Y]->shape);
    n->attr.conv.kernel = kernel;
    n->attr.conv.stats = rows;
    for (uint32_t i = MEANS; i <= SQUARES; i++)
        vkt__out(n, i, vkt_shape2((pixels + rows - 1) / rows, co), VKT_F32);
}

static bool conv_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[X], *w = n->in[W], *b = n->in[BIAS];
    vkt_attr *a = &n->attr;
    a->conv.pass = n->op == &vkt__op_conv2d ? VKT_CONV_FORWARD : VKT_CONV_DX;
    if (x->shape.rank != 4 || w->shape.rank != 4)
        return vkt__shape_error(n, "%s and %s must be [N, H, W, C] and [KH, KW, C / groups, CO]",
                                vkt__text(x), vkt__text(w));
    uint32_t c = x->shape.d[3], co = w->shape.d[3], groups = a->conv.groups;
    a->conv.kh = w->shape.d[0];
    a->conv.kw = w->shape.d[1];
    if (!a->conv.stride || !a->conv.dilation || !vkt__conv_stride_w(a) ||
        !vkt__conv_dilation_w(a) || !groups || !a->conv.kh || !a->conv.kw)
        return vkt__shape_error(n, "a stride, dilation, group count or filter of 0");
    if (a->conv.dilation > UINT16_MAX || vkt__conv_dilation_w(a) > UINT16_MAX)
        return vkt__shape_error(n, "a dilation of more than %u", UINT16_MAX);
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
            out.d[i] = vkt__conv_positions(a, i == 2, x->shape.d[i], w->shape.d[i - 1]);
            if (!out.d[i])
                return vkt__shape_error(n, "the filter of %s with padding %u is larger than %s",
                                        vkt__text(w), a->conv.pad, vkt__text(x));
        }
    }
    vkt__out(n, Y, out, VKT_F32);
    if (a->conv.act != VKT_ACT_NONE && !vkt__act_from_output(a->conv.act))
        vkt__out(n, PRE, out, VKT_F32);
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
        if (!tap_at(q, false, row, t / kw, &y) || !tap_at(q, true, col, t % kw, &x)) continue;
        const double *from = in[X] + ((image * q->h + y) * q->w + x) * q->c + o / per_group * q->ci;
        for (uint32_t c = 0; c < q->ci; c++) {
            double term =
                factor(q, from[c]) * factor(q, in[W][((uint64_t)t * q->ci + c) * q->co + o]);
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
    uint64_t co = vkt__last(n->out[Y]->shape), rows = vkt__rows_of(n->out[Y]->shape);
    for (uint64_t i = 0; i < n->out[MEANS]->count; i++) {
        uint64_t begin = i / co * n->attr.conv.stats,
                 end = VKT_MIN(rows, begin + n->attr.conv.stats);
        out[MEANS][i] = out[SQUARES][i] = 0;
        for (uint64_t r = begin; r < end; r++)
            out[MEANS][i] += out[Y][r * co + i % co] / (double)(end - begin);
        for (uint64_t r = begin; r < end; r++) {
            double d = out[Y][r * co + i % co] - out[MEANS][i];
            out[SQUARES][i] += d * d;
        }
    }
}

static void conv_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    double scale;
    for (uint64_t i = 0; i < n->out[Y]->count; i++) {
        double sum = conv_element(&q, in, i, &scale) + (in[BIAS] ? in[BIAS][i % q.co] : 0);
        if (out[PRE]) out[PRE][i] = sum;
        out[Y][i] = vkt__act(n->attr.conv.act, sum);
    }
    if (n->attr.conv.stats) stats_ref(n, out);
}

static vkt_cost conv_cost(const vkt_node *n)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    double products = (double)n->out[Y]->count * q.depth;
    if (n->attr.conv.pass == VKT_CONV_DW)
        products = (double)n->in[DW_DY]->count * q.depth;
    else if (q.attr->conv.pass == VKT_CONV_DX) /* of the taps only those that hit */
        products /= (double)n->attr.conv.stride * vkt__conv_stride_w(&n->attr);
    vkt_cost c = { 2 * products, (double)n->in[X]->bytes + (double)n->in[W]->bytes +
                                     (double)n->out[Y]->bytes * (n->out[PRE] ? 2 : 1) +
                                     (n->out[MEANS] ? 2 * (double)n->out[MEANS]->bytes : 0) };
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
    vkt__out(n, Y, out, VKT_F32);
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
        if (!tap_at(q, false, (uint32_t)(line % q->oh), t / kw, &y)) continue;
        for (uint32_t col = 0; col < q->ow; col++) {
            if (!tap_at(q, true, col, t % kw, &x)) continue;
            double term = factor(q, in[X][((line / q->oh * q->h + y) * q->w + x) * q->c + c]) *
                          factor(q, in[DW_DY][(line * q->ow + col) * q->co + o]);
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
    for (uint64_t i = 0; i < n->out[Y]->count; i++) out[Y][i] = conv_dw_element(&q, in, i, &scale);
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
                   (vkt_tensor *[]) { dy, vkt__conv_flip(g, w, attr.conv.groups) }, 2, attr);
}

static void conv_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[X], *w = n->in[W], *b = n->in[BIAS], *d;
    vkt_act act = n->attr.conv.act;
    if (!dy[0]) return;
    d = vkt__real(g, dy[0], n->out[Y]);
    if (act != VKT_ACT_NONE) d = vkt__act_bwd(g, d, n->out[PRE] ? n->out[PRE] : n->out[Y], act);
    if (vkt__needs(x)) dx[X] = vkt__conv_dx(g, d, w, n->attr, x->shape.d[1], x->shape.d[2]);
    if (vkt__needs(w)) dx[W] = conv_dw(g, x, d, n->attr);
    if (b && vkt__needs(b)) dx[BIAS] = vkt_sum_rows(g, d);
}

/* Of conv2d_dx, whose filter is flipped: what moved over its result gives back what it is made
 * from. */
static void conv_dx_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.conv.kernel = 0;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[Y]);
    if (vkt__needs(n->in[X]))
        dx[X] = vkt__op(g, &vkt__op_conv2d,
                        (vkt_tensor *[]) { d, vkt__conv_flip(g, n->in[W], a.conv.groups) }, 2, a);
    if (vkt__needs(n->in[W])) dx[W] = vkt__conv_flip(g, conv_dw(g, d, n->in[X], a), a.conv.groups);
}

static const char *conv_dx_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    vkt__conv_dx_case c;
    (void)op;
    if (!vkt__conv_dx_case_of(g, i, &c)) return NULL;
    vkt__conv_dx(g, c.dy, c.w, c.attr, c.attr.conv.h, c.attr.conv.w);
    return c.name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_conv2d = { .name = "conv2d",
                                .n_in = N_IN,
                                .n_out = N_OUT,
                                .in = { [BIAS] = VKT_OPTIONAL },
                                .shape = conv_shape,
                                .record = conv_record,
                                .grad = conv_grad,
                                .narrow = conv_narrow,
                                .kernel = vkt__conv_kernel,
                                .ref = conv_ref,
                                .cost = conv_cost,
                                .terms = conv_terms,
                                .sample = vkt__conv_sample };
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
                                   .sample = vkt__conv_dw_sample };
void vkt__conv_set_desc(vkt_attr *a, const vkt_conv_desc *desc)
{
    const uint32_t *pads = desc->pads, *strides = desc->strides, *dilations = desc->dilations;
    a->conv.stride = strides ? strides[0] : VKT_MAX(desc->stride, 1);
    a->conv.more_stride = strides ? strides[1] - strides[0] : 0;
    a->conv.dilation = dilations ? dilations[0] : VKT_MAX(desc->dilation, 1);
    a->conv.more_dilation = dilations ? dilations[1] - dilations[0] : 0;
    a->conv.groups = VKT_MAX(desc->groups, 1);
    a->conv.pad = pads ? pads[0] : desc->pad;
    for (uint32_t i = 0; i < 3; i++) a->conv.more[i] = pads ? pads[i + 1] - pads[0] : 0;
}

vkt_tensor *vkt_conv2d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                       const vkt_conv_desc *desc)
{
    vkt_attr attr = { .conv = { .act = desc->act } };
    vkt__conv_set_desc(&attr, desc);
    return vkt__op(g, &vkt__op_conv2d, (vkt_tensor *[]) { x, w, b }, 3, attr);
}
