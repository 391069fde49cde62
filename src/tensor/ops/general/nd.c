/* Broadcasting, strides, and nd.comp's dispatch. */
#include <string.h>

#include "tensor/graph/workgroup.h"
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

/* How an operand's elements of a line lie: pairs where each line begins at an even place in memory.
 */
static uint32_t lies(const vkt__walk *w, uint32_t operand, const vkt_tensor *t, uint64_t address,
                     uint64_t first)
{
    const int64_t *s = w->s[operand];
    uint64_t pair = 2 * vkt_dtype_bytes(t->dtype);
    if (s[w->dims - 1] == 0) return VKT_LIES_ONCE;
    if (s[w->dims - 1] != 1) return VKT_LIES_APART;
    for (uint32_t k = 0; k + 1 < w->dims; k++) first |= (uint64_t)s[k];
    return first % 2 == 0 && address % pair == 0 ? VKT_LIES_IN_PAIRS : VKT_LIES_BESIDE;
}

/* The dimension along which a copy reads contiguous elements, if it writes along another one and
 * both are long enough for a tile; else the last. */
static uint32_t turned(const vkt__walk *w)
{
    enum { LEAST = 8 };
    uint32_t last = w->dims - 1;
    if (w->s[0][last] <= 1 || w->s[1][last] != 1 || w->d[last] < LEAST) return last;
    for (uint32_t k = 0; k < last; k++)
        if (w->s[0][k] == 1 && w->d[k] >= LEAST) return k;
    return last;
}

/* Whether it did: not where the device has no kernel that does it faster. */
static bool transpose(vkt__rec *rec, const vkt__nd *nd, const vkt__walk *w)
{
    uint32_t last = w->dims - 1, from = turned(w), n = 0;
    if (from == last) return false;
    struct transpose_params p = { .x = vkt__addr(rec, nd->x),
                                  .z = vkt__addr(rec, nd->z),
                                  .rows = w->d[from],
                                  .cols = w->d[last],
                                  .sx = (uint32_t)w->s[0][last],
                                  .sz = (uint32_t)w->s[1][from],
                                  .from = (uint32_t)nd->from,
                                  .to = (uint32_t)nd->to,
                                  .outer = 1 };
    for (uint32_t k = 0; k < last; k++) {
        if (k == from) continue;
        if (n) p.d[n - 1] = w->d[k];
        p.ox[n] = (uint32_t)w->s[0][k];
        p.oz[n++] = (uint32_t)w->s[1][k];
        p.outer *= w->d[k];
    }
    bool cpu = rec->caps->klass == VKT_GPU_CLASS_CPU,
         pairs = cpu && vkt__use_pairs(rec->caps) && vkt_dtype_bytes(nd->x->dtype) == 4 &&
                 vkt_dtype_bytes(nd->z->dtype) == 4 && p.cols % 2 == 0 &&
                 lies(w, 1, nd->z, p.z, nd->to) == VKT_LIES_IN_PAIRS;
    if (cpu && !pairs) return false;
    uint32_t wg = VKT_MIN(rec->caps->workgroup, cpu ? 64 : 256),
             tile_rows = cpu ? wg : VKT_TRANSPOSE_TILE,
             tile_cols = cpu ? VKT_TRANSPOSE_BLOCK : VKT_TRANSPOSE_TILE;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_DIMS, n },
                                   { VKT_SPEC_TYPE_X, vkt__type(nd->x) },
                                   { VKT_SPEC_TYPE_Z, vkt__type(nd->z) } };
    vkt__dispatch(rec, pairs ? VKT_SHADER_TRANSPOSE_PAIRS : VKT_SHADER_TRANSPOSE, spec,
                  VKT_COUNT(spec), &p, sizeof p,
                  (uint64_t)p.outer * ((p.rows + tile_rows - 1) / tile_rows) *
                      ((p.cols + tile_cols - 1) / tile_cols));
    return true;
}

void vkt__nd_dispatch(vkt__rec *rec, const vkt__nd *nd)
{
    bool copies = nd->part == VKT_ND_COPY, alone = copies || nd->part == VKT_ND_UNARY;
    uint32_t n_operands = nd->w ? 3 : nd->y || copies ? 2 : 1;
    vkt__walk w = vkt__walk_of(nd->shape, nd->strides, n_operands);
    if (vkt_shape_count(nd->shape) == 0 || (copies && transpose(rec, nd, &w))) return;
    const vkt_tensor *operands[3] = { nd->x, copies ? nd->z : nd->y, nd->w };
    uint32_t last = w.dims - 1, lie[3] = { 0 }, n = w.d[last];
    struct nd_params p = { .x = vkt__addr(rec, nd->x),
                           .y = vkt__addr_or(rec, nd->y, nd->x),
                           .w = vkt__addr_or(rec, nd->w, nd->x),
                           .z = vkt__addr(rec, nd->z),
                           .n = n,
                           .lines = (uint32_t)(vkt_shape_count(nd->shape) / n) };
    const uint64_t addresses[3] = { p.x, copies ? p.z : p.y, p.w },
                   first[3] = { nd->from, nd->to, 0 };
    uint32_t *s[3] = { p.sx, p.sy, p.sw };
    for (uint32_t o = 0; o < n_operands; o++) {
        for (uint32_t k = 0; k < w.dims; k++) s[o][k] = (uint32_t)w.s[o][k];
        lie[o] = lies(&w, o, operands[o], addresses[o], first[o]);
    }
    for (uint32_t k = 1; k < last; k++) p.d[k - 1] = w.d[k];
    if (alone) {
        p.sw[VKT_ND_S] = bits_of(nd->s), p.sw[VKT_ND_T] = bits_of(nd->t);
        p.sw[VKT_ND_FROM] = (uint32_t)nd->from, p.sw[VKT_ND_TO] = (uint32_t)nd->to;
    }
    if (nd->part == VKT_ND_SLOPE) p.sw[VKT_ND_S] = bits_of(nd->s), p.sw[VKT_ND_T] = bits_of(nd->t);
    bool narrow = vkt_dtype_bytes(nd->z->dtype) == 2, whole = !narrow, even = n % 2 == 0;
    for (uint32_t o = 0; o < n_operands; o++)
        whole = whole && vkt_dtype_bytes(operands[o]->dtype) == 4;
    if (copies) even = even && lie[1] == VKT_LIES_IN_PAIRS;
    bool pairs = whole && even && p.z % 8 == 0 && vkt__use_pairs(rec->caps);
    VKT_ASSERT(even || !narrow);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256), units = pairs || narrow ? n / 2 : n, span = 1;
    while (span < wg && (uint64_t)span * VKT_ND_UNITS < units) span *= 2;
    span = VKT_MIN(span, wg);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_FORM, nd->part },
                                   { VKT_SPEC_OP, nd->fn },
                                   { VKT_SPEC_DIMS, w.dims },
                                   { VKT_SPEC_SPAN, span },
                                   { VKT_SPEC_LIES_X, lie[0] },
                                   { VKT_SPEC_LIES_Y, lie[1] },
                                   { VKT_SPEC_LIES_W, lie[2] },
                                   { VKT_SPEC_TYPE_X, vkt__type(nd->x) },
                                   { VKT_SPEC_TYPE_Y, vkt__type(nd->y) },
                                   { VKT_SPEC_TYPE_S, vkt__type(nd->w) },
                                   { VKT_SPEC_TYPE_Z, vkt__type(nd->z) } };
    uint64_t parts = (units + (uint64_t)span * VKT_ND_UNITS - 1) / ((uint64_t)span * VKT_ND_UNITS),
             at_once = wg / span;
    vkt__dispatch(rec, pairs ? VKT_SHADER_ND_PAIRS : VKT_SHADER_ND, spec, VKT_COUNT(spec), &p,
                  sizeof p, parts * ((p.lines + at_once - 1) / at_once));
}

double vkt__no_terms(const vkt_node *n)
{
    (void)n;
    return 0;
}

struct along_params vkt__along(const vkt_node *n)
{
    vkt_shape x = n->in[0]->shape;
    uint32_t axis = n->attr.along.axis;
    struct along_params p = { .outer = 1, .inner = 1 };
    for (uint32_t k = 0; k < x.rank; k++)
        if (k != axis) *(k < axis ? &p.outer : &p.inner) *= x.d[k];
    p.from = x.d[axis];
    p.to = n->out[0]->shape.d[axis];
    return p;
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
