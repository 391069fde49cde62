/* point_loss.h: of general ops, with their gradients. */
#include "train/points/point_loss.h"

enum { ROWS = 1, COLUMNS = 2, POINTS = 3, ALL = 1 << ROWS | 1 << COLUMNS | 1 << POINTS }; /* axes */

static vkt_shape four(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return (vkt_shape) { .rank = 4, .d = { a, b, c, d } };
}

/* The k-th number of each point: [B, points + 1, 3] -> [B, 1, 1, points]. */
static vkt_tensor *numbers(vkt_graph *g, vkt_tensor *y, uint32_t n, uint32_t k)
{
    uint32_t batch = vkt_tensor_shape(y).d[0];
    const uint32_t from[VKT_MAX_RANK] = { 0, 0, k }, count[VKT_MAX_RANK] = { batch, n, 1 };
    return vkt_reshape(g, vkt_slice(g, y, from, count, NULL), four(batch, 1, 1, n));
}

/* exp(-d^2 / 2 sigma^2) of the cells along an axis, d: to the points' places `at`. */
static vkt_tensor *bell(vkt_graph *g, uint32_t axis, uint32_t cells, uint32_t stride,
                        vkt_tensor *at)
{
    float sigma = VKT__HEAT_SIGMA * (float)stride;
    vkt_shape along = four(1, 1, 1, 1), one = along;
    along.d[axis] = cells;
    vkt_tensor *number = vkt_cumsum(g, vkt_fill(g, along, (float)stride), axis, false),
               *middle = vkt_binary(g, VKT_FN2_SUB, number, vkt_fill(g, one, 0.5f * (float)stride)),
               *d = vkt_binary(g, VKT_FN2_SUB, middle, at);
    return vkt_unary(g, VKT_FN_EXP, vkt_scale(g, vkt_mul(g, d, d), -0.5f / (sigma * sigma)), 0, 0);
}

vkt_tensor *vkt__point_loss(vkt_graph *g, vkt_tensor *out, vkt_tensor *y, vkt_tensor *w,
                            uint32_t stride)
{
    vkt_shape s = vkt_tensor_shape(out);
    const float alone = 3.14159265f * VKT__HEAT_SIGMA * VKT__HEAT_SIGMA;
    if (s.rank != 4) return out; /* an error that the graph has */
    uint32_t n = s.d[POINTS];
    vkt_tensor *t = vkt_reshape(g, y, vkt_shape3(s.d[0], n + 1, 3)), *x = numbers(g, t, n, 0),
               *v = numbers(g, t, n, 1),
               *there =
                   vkt_binary(g, VKT_FN2_LT, vkt_fill(g, vkt_shape1(1), 0), numbers(g, t, n, 2)),
               *heat = vkt_binary(g, VKT_FN2_MUL, bell(g, ROWS, s.d[ROWS], stride, v),
                                  bell(g, COLUMNS, s.d[COLUMNS], stride, x)),
               *error = vkt_binary(g, VKT_FN2_SUB, out, heat),
               *squares = vkt_binary(g, VKT_FN2_MUL, vkt_mul(g, error, error), there),
               *sum = vkt_reduce(g, VKT_REDUCE_SUM, squares, ALL, false),
               *count = vkt_binary(g, VKT_FN2_MAX, vkt_reduce(g, VKT_REDUCE_SUM, there, ALL, false),
                                   vkt_fill(g, vkt_shape1(1), 1));
    return vkt_mul(g, vkt_scale(g, vkt_binary(g, VKT_FN2_DIV, sum, count), 1 / alone), w);
}
