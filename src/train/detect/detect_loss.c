/* detect_loss.h: of general ops, with their gradients. */
#include "data/boxes/cells.h"
#include "train/detect/detect_loss.h"

enum { CELL = 1, LAST = 2, EACH = 1 << CELL | 1 << LAST }; /* axes of [B, cells, n] */

typedef struct corners {
    vkt_tensor *low, *high; /* [B, cells, 2] left and upper, right and lower edge, in strides */
} corners;

/* Elements [first, first + n) of the last axis. */
static vkt_tensor *part(vkt_graph *g, vkt_tensor *x, uint32_t first, uint32_t n)
{
    vkt_shape s = vkt_tensor_shape(x);
    uint32_t from[VKT_MAX_RANK] = { 0 }, count[VKT_MAX_RANK] = { s.d[0], s.d[1], n };
    from[LAST] = first;
    return vkt_slice(g, x, from, count, NULL);
}

static vkt_tensor *number(vkt_graph *g, float v)
{
    return vkt_fill(g, vkt_shape1(1), v);
}

static vkt_tensor *sub(vkt_graph *g, vkt_tensor *x, vkt_tensor *y)
{
    return vkt_binary(g, VKT_FN2_SUB, x, y);
}

static vkt_tensor *max(vkt_graph *g, vkt_tensor *x, vkt_tensor *y)
{
    return vkt_binary(g, VKT_FN2_MAX, x, y);
}

/* width x height: [B, cells, 2] -> [B, cells, 1] */
static vkt_tensor *area(vkt_graph *g, vkt_tensor *size)
{
    return vkt_mul(g, part(g, size, 0, 1), part(g, size, 1, 1));
}

static corners predicted(vkt_graph *g, vkt_tensor *out)
{
    const float longest = VKT__DETECT_LONGEST;
    vkt_tensor *middle = part(g, out, 0, 2),
               *half = vkt_scale(
                   g,
                   vkt_unary(g, VKT_FN_EXP,
                             vkt_unary(g, VKT_FN_CLAMP, part(g, out, 2, 2), -longest, longest), 0,
                             0),
                   0.5f);
    return (corners) { sub(g, middle, half), vkt_add(g, middle, half) };
}

/* *iou, [B, cells, 1]; returns the generalised one. */
static vkt_tensor *overlap(vkt_graph *g, corners a, corners b, vkt_tensor **iou)
{
    vkt_tensor *
        least = number(g, 1e-9f),
       *zero = number(g, 0),
       *both =
           area(g, max(g, sub(g, vkt_binary(g, VKT_FN2_MIN, a.high, b.high), max(g, a.low, b.low)),
                       zero)),
       *either =
           sub(g, vkt_add(g, area(g, sub(g, a.high, a.low)), area(g, sub(g, b.high, b.low))), both),
       *around = area(g, sub(g, max(g, a.high, b.high), vkt_binary(g, VKT_FN2_MIN, a.low, b.low)));
    *iou = vkt_binary(g, VKT_FN2_DIV, both, max(g, either, least));
    return sub(g, *iou, vkt_binary(g, VKT_FN2_DIV, sub(g, around, either), max(g, around, least)));
}

/* 1 for the class that a cell is to find: class [B, cells, 1] -> [B, cells, n]. */
static vkt_tensor *one_of(vkt_graph *g, vkt_tensor *class, uint32_t n)
{
    vkt_tensor *numbers = vkt_cumsum(g, vkt_fill(g, vkt_shape3(1, 1, n), 1), LAST, false);
    return vkt_binary(g, VKT_FN2_EQ, vkt_binary(g, VKT_FN2_ADD, class, number(g, 1)), numbers);
}

/* there: [B, cells, n] 1 for the class that a cell is to find; q: the same times its quality. */
static vkt_tensor *class_loss(vkt_graph *g, vkt_tensor *logits, vkt_tensor *there, vkt_tensor *q)
{
    vkt_tensor *z = vkt_binary(g, VKT_FN2_ADD, logits, number(g, VKT__DETECT_PRIOR)),
               *p = vkt_activate(g, z, VKT_ACT_SIGMOID),
               *entropy = sub(g, vkt_unary(g, VKT_FN_SOFTPLUS, z, 0, 0), vkt_mul(g, q, z)),
               *others = vkt_mul(g, sub(g, number(g, 1), there),
                                 vkt_scale(g, vkt_mul(g, p, p), VKT__DETECT_OTHERS));
    return vkt_mul(g, vkt_add(g, q, others), entropy);
}

vkt_tensor *vkt__detect_loss(vkt_graph *g, vkt_tensor *out, vkt_tensor *y, vkt_tensor *w)
{
    vkt_shape s = vkt_tensor_shape(out);
    if (s.rank != 3 || s.d[LAST] <= VKT__DETECT_BOX) return out; /* an error that the graph has */
    uint32_t n = s.d[LAST] - VKT__DETECT_BOX;
    vkt_tensor *t = vkt_reshape(g, y, vkt_shape3(s.d[0], s.d[CELL], VKT__CELL_TARGETS)),
               *class = part(g, t, 0, 1),
               *finds = vkt_binary(g, VKT_FN2_LT, number(g, -0.5f), class), *iou,
               *giou = overlap(g, predicted(g, out),
                               (corners) { part(g, t, 1, 2), part(g, t, 3, 2) }, &iou),
               *boxes = vkt_mul(g, finds, sub(g, number(g, 1), giou)), *there = one_of(g, class, n),
               *q = vkt_binary(g, VKT_FN2_MUL, there, vkt_detach(g, iou)),
               *classes = class_loss(g, part(g, out, VKT__DETECT_BOX, n), there, q);
    vkt_tensor *count = max(g, vkt_reduce(g, VKT_REDUCE_SUM, finds, EACH, false), number(g, 1)),
               *sum = vkt_add(g, vkt_reduce(g, VKT_REDUCE_SUM, classes, EACH, false),
                              vkt_reduce(g, VKT_REDUCE_SUM, boxes, EACH, false));
    return vkt_mul(g, vkt_binary(g, VKT_FN2_DIV, sum, count), w);
}
