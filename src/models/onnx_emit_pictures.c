/* Ops of pictures, [N, H, W, C] here, as nodes of an ONNX file. They work on channels first there,
 * so each stands between two transpositions, which runtimes cancel. */
#include <string.h>

#include "models/onnx_nodes.h"
#include "tensor/ops/ops.h"
#include "shaders/params.h"

static const int64_t to_first[] = { 0, 3, 1, 2 }, to_last[] = { 0, 2, 3, 1 };

static const char *channels_first(vkt__exporter *e, const char *x)
{
    vkt__attr_ints(e, "perm", to_first, 4);
    return vkt__emit_node(e, "Transpose", VKT__IN(x), vkt__emit_extra(e));
}

bool vkt__emit_channels_last(vkt__exporter *e, const char *x, const char *out)
{
    vkt__attr_ints(e, "perm", to_last, 4);
    vkt__emit_node(e, "Transpose", VKT__IN(x), out);
    return true;
}

/* pads: at the top, left, bottom and right. */
static void window(vkt__exporter *e, uint32_t kh, uint32_t kw, const int64_t strides[2],
                   const int64_t pads[4])
{
    vkt__attr_ints(e, "kernel_shape", (int64_t[]) { kh, kw }, 2);
    vkt__attr_ints(e, "strides", strides, 2);
    vkt__attr_ints(e, "pads", pads, 4);
}

/* The filter is stored as PyTorch's, [CO, CI, KH, KW], which is ONNX's too. */
bool vkt__emit_conv(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    const char *x = channels_first(e, in[0]), *y;
    const int64_t strides[] = { n->attr.conv.stride, vkt__conv_stride_w(&n->attr) },
                  dilations[] = { n->attr.conv.dilation, vkt__conv_dilation_w(&n->attr) },
                  pads[] = { n->attr.conv.pad, vkt__conv_pad(&n->attr, VKT__LEFT),
                             vkt__conv_pad(&n->attr, VKT__BOTTOM),
                             vkt__conv_pad(&n->attr, VKT__RIGHT) };
    if (n->in[1]->node || n->in[0]->dtype != VKT_F32) return false;
    window(e, n->attr.conv.kh, n->attr.conv.kw, strides, pads);
    vkt__attr_ints(e, "dilations", dilations, 2);
    vkt__attr_int(e, "group", n->attr.conv.groups);
    y = vkt__emit_node(e, "Conv", *in[2] ? VKT__IN(x, in[1], in[2]) : VKT__IN(x, in[1]),
                       vkt__emit_extra(e));
    if (n->attr.conv.act == VKT_ACT_NONE) return vkt__emit_channels_last(e, y, out);
    const char *active = vkt__emit_extra(e);
    return vkt__emit_activation(e, n->attr.conv.act, y, active) &&
           vkt__emit_channels_last(e, active, out);
}

bool vkt__emit_pool(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    bool mean = strcmp(n->op->name, "avg_pool") == 0;
    const int64_t pad = n->attr.pool.pad, beside = (uint32_t)(pad + n->attr.pool.more_pad),
                  stride = n->attr.pool.stride,
                  across = (uint32_t)(stride + n->attr.pool.more_stride),
                  bottom = (uint32_t)(pad + n->attr.pool.more_after[0]),
                  right = (uint32_t)(beside + n->attr.pool.more_after[1]);
    const char *x = channels_first(e, in[0]);
    window(e, n->attr.pool.kh, n->attr.pool.kw, (int64_t[]) { stride, across },
           (int64_t[]) { pad, beside, bottom, right });
    if (n->attr.pool.ceil) vkt__attr_int(e, "ceil_mode", 1);
    if (mean) vkt__attr_int(e, "count_include_pad", !n->attr.pool.pixels_only);
    return vkt__emit_channels_last(
        e, vkt__emit_node(e, mean ? "AveragePool" : "MaxPool", VKT__IN(x), vkt__emit_extra(e)),
        out);
}

bool vkt__emit_pad(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    const int32_t *before = n->attr.pad.before, *after = n->attr.pad.after;
    const char *pads =
        vkt__emit_ints(e, (int64_t[]) { 0, before[0], before[1], 0, 0, after[0], after[1], 0 }, 8);
    vkt__emit_node(e, "Pad", VKT__IN(in[0], pads), out);
    return true;
}

bool vkt__emit_batch_norm(vkt__exporter *e, const vkt_node *n, const char *const *in,
                          const char *out)
{
    bool image = n->in[0]->shape.rank == 4;
    if (!n->attr.batch.fixed || (!image && n->in[0]->shape.rank != 2)) return false;
    const char *x = image ? channels_first(e, in[0]) : in[0],
               *y = image || n->attr.batch.act ? vkt__emit_extra(e) : out;
    vkt__attr_float(e, "epsilon", n->attr.batch.eps);
    vkt__emit_node(e, "BatchNormalization", VKT__IN(x, in[3], in[4], in[1], in[2]), y);
    if (n->attr.batch.act) {
        const char *active = image ? vkt__emit_extra(e) : out;
        if (!vkt__emit_activation(e, n->attr.batch.act, y, active)) return false;
        y = active;
    }
    return !image || vkt__emit_channels_last(e, y, out);
}

bool vkt__emit_group_norm(vkt__exporter *e, const vkt_node *n, const char *const *in,
                          const char *out)
{
    if (n->in[0]->shape.rank != 4 || !*in[1] || !*in[2]) return false;
    const char *x = channels_first(e, in[0]);
    vkt__attr_float(e, "epsilon", n->attr.group.eps);
    vkt__attr_int(e, "num_groups", n->attr.group.groups);
    return vkt__emit_channels_last(
        e, vkt__emit_node(e, "GroupNormalization", VKT__IN(x, in[1], in[2]), vkt__emit_extra(e)),
        out);
}

/* PyTorch's nearest takes the pixel that a result's begins in, its bilinear the centers. */
bool vkt__emit_resize(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    bool nearest = n->attr.resize.kind == VKT_RESIZE_NEAREST;
    const char *x = channels_first(e, in[0]);
    vkt__attr_ints(e, "axes", (int64_t[]) { 2, 3 }, 2);
    vkt__attr_text(e, "coordinate_transformation_mode",
                   nearest                        ? "asymmetric"
                   : n->attr.resize.align_corners ? "align_corners"
                                                  : "half_pixel");
    vkt__attr_text(e, "mode", nearest ? "nearest" : "linear");
    if (nearest) vkt__attr_text(e, "nearest_mode", "floor");
    const char *size = vkt__emit_ints(e, (int64_t[]) { n->attr.resize.h, n->attr.resize.w }, 2);
    return vkt__emit_channels_last(
        e, vkt__emit_node(e, "Resize", VKT__IN(x, "", "", size), vkt__emit_extra(e)), out);
}

/* The filter of conv2d_dx: vkt__emit_transpose writes the unflipped one. */
bool vkt__emit_flip(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    (void)e;
    (void)in;
    (void)out;
    return !n->in[0]->node;
}

bool vkt__emit_transpose(vkt__exporter *e, const vkt_node *n, const char *const *in,
                         const char *out)
{
    const vkt_node *flip = n->in[1]->node;
    const uint32_t *x = n->in[0]->shape.d;
    const int64_t strides[] = { n->attr.conv.stride, vkt__conv_stride_w(&n->attr) },
                  dilations[] = { n->attr.conv.dilation, vkt__conv_dilation_w(&n->attr) },
                  kernel[] = { n->attr.conv.kh, n->attr.conv.kw },
                  size[] = { n->attr.conv.h, n->attr.conv.w },
                  pads[] = { n->attr.conv.pad, vkt__conv_pad(&n->attr, VKT__LEFT),
                             vkt__conv_pad(&n->attr, VKT__BOTTOM),
                             vkt__conv_pad(&n->attr, VKT__RIGHT) };
    int64_t more[2];
    if (!flip || flip->op != &vkt__op_conv2d_flip || flip->in[0]->node) return false;
    for (int i = 0; i < 2; i++)
        more[i] = size[i] - ((x[i + 1] - 1) * strides[i] - pads[i] - pads[i + 2] +
                             dilations[i] * (kernel[i] - 1) + 1);
    const char *first = channels_first(e, in[0]);
    window(e, n->attr.conv.kh, n->attr.conv.kw, strides, pads);
    vkt__attr_ints(e, "dilations", dilations, 2);
    vkt__attr_ints(e, "output_padding", more, 2);
    vkt__attr_int(e, "group", n->attr.conv.groups);
    const char *w = vkt__emit_name(e, flip->in[0]);
    return vkt__emit_channels_last(
        e, vkt__emit_node(e, "ConvTranspose", VKT__IN(first, w), vkt__emit_extra(e)), out);
}
