/* instance_loss.h: of general ops, with their gradients. */
#include "train/instances/instance_loss.h"

enum { N = VKT__INSTANCE_OUTPUTS, ALL = 1 << 1 | 1 << 2 | 1 << 3 }; /* axes of a picture */

/* Channels from k on of x [B, H, W, 4]. */
static vkt_tensor *channels(vkt_graph *g, vkt_tensor *x, uint32_t k, uint32_t n)
{
    vkt_shape s = vkt_tensor_shape(x);
    const uint32_t from[VKT_MAX_RANK] = { 0, 0, 0, k },
                   count[VKT_MAX_RANK] = { s.d[0], s.d[1], s.d[2], n };
    return vkt_slice(g, x, from, count, NULL);
}

static vkt_tensor *sum(vkt_graph *g, vkt_tensor *x)
{
    return vkt_reduce(g, VKT_REDUCE_SUM, x, ALL, false);
}

/* sum / unit; units below 1 count as 1. */
static vkt_tensor *in_units(vkt_graph *g, vkt_tensor *sum, vkt_tensor *unit)
{
    vkt_tensor *least = vkt_fill(g, vkt_shape1(1), 1);
    return vkt_binary(g, VKT_FN2_DIV, sum, vkt_binary(g, VKT_FN2_MAX, unit, least));
}

static vkt_tensor *absolute(vkt_graph *g, vkt_tensor *x)
{
    return vkt_unary(g, VKT_FN_ABS, x, 0, 0);
}

vkt_tensor *vkt__instance_loss(vkt_graph *g, vkt_tensor *out, vkt_tensor *y, vkt_tensor *w)
{
    vkt_shape s = vkt_tensor_shape(out);
    if (s.rank != 4 || s.d[3] != N) return out; /* an error that the graph has */
    vkt_tensor *t = vkt_reshape(g, y, s), *logit = channels(g, out, VKT__INSTANCE_MASK, 1),
               *there = vkt_binary(g, VKT_FN2_LT, vkt_fill(g, vkt_shape1(1), 0),
                                   channels(g, t, VKT__INSTANCE_MASK, 1));
    vkt_tensor *mask =
        vkt_reduce(g, VKT_REDUCE_MEAN,
                   vkt_binary(g, VKT_FN2_SUB, vkt_unary(g, VKT_FN_SOFTPLUS, logit, 0, 0),
                              vkt_binary(g, VKT_FN2_MUL, logit, there)),
                   ALL, false);
    vkt_tensor *heat = channels(g, t, VKT__INSTANCE_HEAT, 1),
               *far = vkt_binary(g, VKT_FN2_SUB, channels(g, out, VKT__INSTANCE_HEAT, 1), heat),
               *centres = in_units(g, sum(g, vkt_mul(g, far, far)), sum(g, vkt_mul(g, heat, heat)));
    vkt_tensor *offset = channels(g, t, VKT__INSTANCE_RIGHT, 2),
               *off = vkt_binary(g, VKT_FN2_SUB, channels(g, out, VKT__INSTANCE_RIGHT, 2), offset),
               *inside = vkt_binary(g, VKT_FN2_MUL, absolute(g, off), there),
               *offsets = in_units(g, sum(g, inside), sum(g, absolute(g, offset)));
    return vkt_mul(g, vkt_add(g, vkt_add(g, mask, centres), offsets), w);
}
