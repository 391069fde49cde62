/* Transposed convolutions, which are gradients of convolutions, and those along one axis, which are
 * convolutions of pictures of one row. */
#include "tensor/ops/conv/ops_conv.h"

/* The size of a transposed convolution along one axis; 0: nothing is left. */
static uint32_t transposed_count(uint32_t extent, uint32_t taps, const vkt_attr *a, bool columns,
                                 uint32_t output_pad)
{
    int64_t pads = (int64_t)(columns ? vkt__conv_pad(a, VKT__LEFT) : a->conv.pad) +
                   vkt__conv_pad(a, columns ? VKT__RIGHT : VKT__BOTTOM);
    int64_t n =
        ((int64_t)extent - 1) * (columns ? vkt__conv_stride_w(a) : a->conv.stride) - pads +
        (int64_t)(columns ? vkt__conv_dilation_w(a) : a->conv.dilation) * ((int64_t)taps - 1) +
        output_pad + 1;
    return n < 1 || n > INT32_MAX ? 0 : (uint32_t)n;
}

/* line: along columns only, there is one row. */
static vkt_tensor *transpose(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                             const vkt_conv_desc *desc, uint32_t output_pad, bool line)
{
    vkt_node told = { .op = &(vkt_op) { .name = "conv_transpose2d" }, .g = g };
    vkt_attr a = { 0 };
    vkt__conv_set_desc(&a, desc);
    const uint32_t both[] = { output_pad, output_pad },
                   *output_pads = desc->output_pads ? desc->output_pads : both;
    if (x->inert || w->inert || (b && b->inert)) return vkt__inert(g);
    bool fits = x->shape.rank == 4 && w->shape.rank == 4 && w->shape.d[3] == x->shape.d[3] &&
                x->shape.d[3] % a.conv.groups == 0 && w->shape.d[0] && w->shape.d[1];
    uint32_t h = fits ? transposed_count(x->shape.d[1], w->shape.d[0], &a, false,
                                         line ? 0 : output_pads[0])
                      : 0,
             width = fits ? transposed_count(x->shape.d[2], w->shape.d[1], &a, true, output_pads[1])
                          : 0;
    if (!fits || !h || !width || (!line && output_pads[0] >= a.conv.stride) ||
        output_pads[1] >= vkt__conv_stride_w(&a)) {
        vkt__shape_error(&told,
                         "%s and %s with strides %u x %u, padding %u, output padding %u x %u, %u "
                         "groups do not fit: it takes [N, H, W, C] and [KH, KW, CO / groups, C], "
                         "output padding below the stride",
                         vkt__text(x), vkt__text(w), a.conv.stride, vkt__conv_stride_w(&a),
                         a.conv.pad, output_pads[0], output_pads[1], a.conv.groups);
        return vkt__inert(g);
    }
    a.conv.kh = w->shape.d[0];
    a.conv.kw = w->shape.d[1];
    vkt_tensor *y = vkt__conv_dx(g, x, w, a, h, width);
    if (b) y = vkt_add(g, y, b);
    return vkt_activate(g, y, desc->act);
}

vkt_tensor *vkt_conv_transpose2d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                 const vkt_conv_desc *desc, uint32_t output_pad)
{
    return transpose(g, x, w, b, desc, output_pad, false);
}

/* ---- along one axis ---- */

/* [N, L, C] as [N, 1, L, C], a filter [K, ..] as [1, K, ..]. */
static vkt_tensor *with_row(vkt_graph *g, vkt_tensor *x, uint32_t at)
{
    vkt_shape s = x->shape;
    if (x->inert) return x;
    if (s.rank != 3) {
        vkt_node told = { .op = &(vkt_op) { .name = "conv along one axis" }, .g = g };
        vkt__shape_error(&told, "%s must be %s", vkt__text(x),
                         at ? "[N, L, C]" : "[K, C / groups, CO]");
        return vkt__inert(g);
    }
    memmove(s.d + at + 1, s.d + at, (s.rank - at) * sizeof *s.d);
    s.d[at] = 1;
    s.rank++;
    return vkt_reshape(g, x, s);
}

static vkt_tensor *without_row(vkt_graph *g, vkt_tensor *y)
{
    if (y->inert) return y;
    return vkt_reshape(g, y, vkt_shape3(y->shape.d[0], y->shape.d[2], y->shape.d[3]));
}

/* What the description of a picture of one row points at. */
typedef struct row_desc {
    uint32_t pads[4], strides[2], dilations[2];
} row_desc;

static vkt_conv_desc of_row(const vkt_conv_desc *desc, row_desc *row)
{
    vkt_conv_desc d = *desc;
    uint32_t *pads = row->pads;
    pads[0] = pads[1] = 0;
    pads[2] = desc->pads ? desc->pads[0] : desc->pad;
    pads[3] = desc->pads ? desc->pads[1] : desc->pad;
    row->strides[0] = row->dilations[0] = 1;
    row->strides[1] = desc->strides ? desc->strides[0] : VKT_MAX(desc->stride, 1);
    row->dilations[1] = desc->dilations ? desc->dilations[0] : VKT_MAX(desc->dilation, 1);
    d.pads = pads;
    d.strides = row->strides;
    d.dilations = row->dilations;
    d.output_pads = NULL;
    return d;
}

vkt_tensor *vkt_conv1d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                       const vkt_conv_desc *desc)
{
    row_desc row;
    vkt_conv_desc d = of_row(desc, &row);
    x = with_row(g, x, 1);
    w = with_row(g, w, 0);
    return without_row(g, vkt_conv2d(g, x, w, b, &d));
}

vkt_tensor *vkt_conv_transpose1d(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                                 const vkt_conv_desc *desc, uint32_t output_pad)
{
    row_desc row;
    vkt_conv_desc d = of_row(desc, &row);
    x = with_row(g, x, 1);
    w = with_row(g, w, 0);
    return without_row(g, transpose(g, x, w, b, &d, output_pad, true));
}
