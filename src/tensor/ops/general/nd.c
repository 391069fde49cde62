/* Broadcasting, strides, and nd.comp's dispatch. */
#include <string.h>

#include "tensor/ops/general/nd.h"

vkt__strides vkt__strides_of(vkt_shape s)
{
    return vkt__strides_as(s, s);
}

vkt__strides vkt__strides_as(vkt_shape from, vkt_shape as)
{
    vkt__strides out = { 0 };
    int64_t stride = 1;
    for (uint32_t k = 1; k <= from.rank; k++) {
        uint32_t size = from.d[from.rank - k];
        out.s[as.rank - k] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return out;
}

bool vkt__broadcast(vkt_shape a, vkt_shape b, vkt_shape *out)
{
    *out = (vkt_shape) { VKT_MAX(a.rank, b.rank), { 0 } };
    for (uint32_t k = 1; k <= out->rank; k++) {
        uint32_t x = k <= a.rank ? a.d[a.rank - k] : 1, y = k <= b.rank ? b.d[b.rank - k] : 1;
        if (x != y && x != 1 && y != 1) return false;
        out->d[out->rank - k] = x == 1 ? y : x;
    }
    return true;
}

uint64_t vkt__place_of(vkt_shape shape, const vkt__strides *strides, uint64_t i)
{
    int64_t at = 0;
    for (uint32_t k = shape.rank; k-- > 0; i /= shape.d[k])
        at += (int64_t)(i % shape.d[k]) * strides->s[k];
    return (uint64_t)at;
}

/* Whether all operands walk dimension k + 1, of size d, and the one before it as one. */
static bool joins(const vkt__walk *w, const vkt__strides *strides, uint32_t k, uint32_t d)
{
    for (uint32_t o = 0; o < w->n_operands; o++)
        if (w->s[o][w->dims - 1] != strides[o].s[k] * d) return false;
    return true;
}

vkt__walk vkt__walk_of(vkt_shape shape, const vkt__strides *strides, uint32_t n_operands)
{
    vkt__walk w = { .n_operands = n_operands };
    for (uint32_t k = 0; k < shape.rank; k++) {
        if (shape.d[k] == 1) continue;
        if (w.dims && joins(&w, strides, k, shape.d[k]))
            w.d[w.dims - 1] *= shape.d[k];
        else
            w.d[w.dims++] = shape.d[k];
        for (uint32_t o = 0; o < n_operands; o++) w.s[o][w.dims - 1] = strides[o].s[k];
    }
    if (w.dims == 0) w.d[w.dims++] = 1;
    return w;
}

static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

void vkt__nd_dispatch(vkt__rec *rec, const vkt__nd *nd)
{
    bool copies = nd->part == VKT_ND_COPY, alone = copies || nd->part == VKT_ND_UNARY;
    uint32_t n_operands = nd->w ? 3 : nd->y || copies ? 2 : 1;
    vkt__walk w = vkt__walk_of(nd->shape, nd->strides, n_operands);
    struct nd_params p = { .x = vkt__addr(rec, nd->x),
                           .y = vkt__addr_or(rec, nd->y, nd->x),
                           .w = vkt__addr_or(rec, nd->w, nd->x),
                           .z = vkt__addr(rec, nd->z),
                           .n = (uint32_t)vkt_shape_count(nd->shape) };
    uint32_t *s[3] = { p.sx, p.sy, p.sw };
    for (uint32_t k = 0; k < w.dims; k++) {
        if (k) p.d[k - 1] = w.d[k];
        for (uint32_t o = 0; o < n_operands; o++) s[o][k] = (uint32_t)w.s[o][k];
    }
    if (alone) {
        p.sw[VKT_ND_S] = bits_of(nd->s), p.sw[VKT_ND_T] = bits_of(nd->t);
        p.sw[VKT_ND_FROM] = (uint32_t)nd->from, p.sw[VKT_ND_TO] = (uint32_t)nd->to;
    }
    if (nd->part == VKT_ND_SLOPE) p.sw[VKT_ND_S] = bits_of(nd->s), p.sw[VKT_ND_T] = bits_of(nd->t);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_FORM, nd->part },
                                   { VKT_SPEC_OP, nd->fn },
                                   { VKT_SPEC_DIMS, w.dims },
                                   { VKT_SPEC_TYPE_X, vkt__type(nd->x) },
                                   { VKT_SPEC_TYPE_Y, vkt__type(nd->y) },
                                   { VKT_SPEC_TYPE_S, vkt__type(nd->w) },
                                   { VKT_SPEC_TYPE_Z, vkt__type(nd->z) } };
    vkt__dispatch(rec, VKT_SHADER_ND, spec, VKT_COUNT(spec), &p, sizeof p,
                  ((uint64_t)p.n + 4 * wg - 1) / (4 * wg));
}

bool vkt__has_axis(vkt_node *n, uint32_t axis)
{
    if (axis < n->in[0]->shape.rank) return true;
    return vkt__shape_error(n, "%s has no axis %u: the first is 0", vkt__text(n->in[0]), axis);
}

void vkt__nd_copy(vkt__rec *rec, const vkt_node *n, const vkt__strides *strides, uint64_t from)
{
    vkt__nd nd = { .part = VKT_ND_COPY,
                   .x = n->in[0],
                   .z = n->out[0],
                   .shape = n->out[0]->shape,
                   .strides = { *strides, vkt__strides_of(n->out[0]->shape) },
                   .from = from };
    vkt__nd_dispatch(rec, &nd);
}

void vkt__nd_copy_ref(const vkt_node *n, const vkt__strides *strides, uint64_t from,
                      const double *in, double *out)
{
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[i] = in[from + vkt__place_of(n->out[0]->shape, strides, i)];
}
