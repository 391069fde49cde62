/* Places sorted by the element that they name, for sums into many elements: id_sort goes over them
 * once and then merges neighbouring runs, twice as long each time; id_segments says where each
 * element's begin; embedding_bwd adds. Kernels id_sort.comp, id_segments.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

enum { IDS, ORDER, N_IN };

static bool id_sort_shape(vkt_node *n)
{
    bool segments = n->op == &vkt__op_id_segments;
    vkt__out(n, 0,
             segments ? vkt_shape1(n->attr.sort.run) : vkt_shape1((uint32_t)n->in[IDS]->count),
             VKT_U32);
    return true;
}

static void id_sort_record(vkt__rec *rec, const vkt_node *n)
{
    struct id_sort_params p = { .ids = vkt__addr(rec, n->in[IDS]),
                                .x = vkt__addr_or(rec, n->in[ORDER], n->in[IDS]),
                                .y = vkt__addr(rec, n->out[0]),
                                .n = (uint32_t)n->in[IDS]->count,
                                .from = n->attr.sort.from,
                                .to = n->attr.sort.to,
                                .inner = n->attr.sort.inner,
                                .run = n->attr.sort.run };
    vkt__dispatch_each(rec, n->op == &vkt__op_id_sort ? VKT_SHADER_ID_SORT : VKT_SHADER_ID_SEGMENTS,
                       &p, sizeof p, n->out[0]->count, 64);
}

static uint64_t key(const vkt_node *n, const double *ids, uint64_t j)
{
    uint64_t inner = n->attr.sort.inner, to = n->attr.sort.to, line = j / inner,
             id = (uint64_t)ids[j];
    return id < to ? (line / n->attr.sort.from * to + id) * inner + j % inner : UINT32_MAX;
}

/* Runs of x from `at` on, [left] and [right] places, into y. */
static void merge(const vkt_node *n, const double *ids, const double *x, uint64_t left,
                  uint64_t right, double *y)
{
    const double *end = x + left, *other = end, *last = other + right;
    while (x < end || other < last) {
        bool first = x < end &&
                     (other == last || key(n, ids, (uint64_t)*x) <= key(n, ids, (uint64_t)*other));
        *y++ = first ? *x++ : *other++;
    }
}

static void id_sort_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t all = n->in[IDS]->count, run = n->attr.sort.run;
    for (uint64_t i = 0; i < all && run; i += 2 * run) {
        uint64_t left = VKT_MIN(run, all - i), right = VKT_MIN(run, all - i - left);
        merge(n, in[IDS], in[ORDER] + i, left, right, out[0] + i);
    }
    for (uint64_t i = 0; i < all && !run; i++) {
        uint64_t at = i; /* into the run before it */
        for (; at % VKT_SORT_RUN; at--) {
            if (key(n, in[IDS], (uint64_t)out[0][at - 1]) <= key(n, in[IDS], i)) break;
            out[0][at] = out[0][at - 1];
        }
        out[0][at] = (double)i;
    }
}

static void id_segments_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t at = 0;
    for (uint64_t v = 0; v < n->attr.sort.run; v++) {
        while (at < n->in[IDS]->count && key(n, in[IDS], (uint64_t)in[ORDER][at]) < v) at++;
        out[0][v] = (double)at;
    }
}

static vkt_cost id_sort_cost(const vkt_node *n)
{
    double words = (double)n->in[IDS]->count + (double)n->out[0]->count, trips = 6;
    for (uint64_t run = n->attr.sort.run; run > 1; run /= 2) trips++;
    return (vkt_cost) { 0, 4 * words + 8 * trips * (double)n->out[0]->count };
}

/* Whole runs, a part of one, one place; ids past the end, and of lines with elements beside. The
 * order of ids that count up again and again is in runs of as many as there are. */
static const char *id_sort_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t n, from, to, inner, run;
    } s[] = {
        { "runs", 1000, 1000, 37, 1, 0 },    { "one", 1, 1, 5, 1, 0 },
        { "past the end", 65, 65, 3, 1, 0 }, { "lines", 7 * 11 * 6, 11, 5, 6, 0 },
        { "merged", 1000, 1000, 70, 1, 70 }, { "a part", 200, 200, 128, 1, 128 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    bool merged = s[i].run, segments = op == &vkt__op_id_segments;
    vkt_tensor *ids =
        vkt__sample(g, vkt_shape1(s[i].n), VKT_U32, merged ? VKT_HINT_CYCLE : VKT_HINT_INDEX,
                    merged ? s[i].run : s[i].to + 1);
    vkt_attr attr = { .sort = { s[i].from, s[i].to, s[i].inner, s[i].run } };
    vkt_tensor *order = vkt__sample(g, vkt_shape1(s[i].n), VKT_U32, VKT_HINT_CYCLE, s[i].n);
    if (segments) {
        uint32_t v = merged ? s[i].run : s[i].to;
        ids = vkt__sample(g, vkt_shape1(s[i].n), VKT_U32, VKT_HINT_CYCLE, v);
        order = vkt__sample(g, vkt_shape1(s[i].n), VKT_U32, VKT_HINT_ORDER, v);
        attr = (vkt_attr) { .sort = { s[i].n, v, 1, v + 1 } };
    }
    vkt__op(g, op, (vkt_tensor *[]) { ids, merged || segments ? order : NULL }, 2, attr);
    return s[i].name;
}

#define ROW_OF(row, optional)                                                                      \
    {                                                                                              \
        .name = #row, .n_in = N_IN, .n_out = 1,                                                    \
        .in = { [IDS] = VKT_WORDS, [ORDER] = VKT_WORDS | (optional) }, .shape = id_sort_shape,     \
        .record = id_sort_record, .ref = row##_ref, .cost = id_sort_cost, .terms = vkt__no_terms,  \
        .sample = id_sort_sample                                                                   \
    }
const vkt_op vkt__op_id_sort = ROW_OF(id_sort, VKT_OPTIONAL);
const vkt_op vkt__op_id_segments = ROW_OF(id_segments, 0);

/* The ids of elements beside one another are one id's, expanded: that one [outer, from, 1], by
 * which whole rows can be added. */
static vkt_tensor *ids_of_rows(vkt_tensor *ids, uint32_t axis)
{
    const vkt_node *n = ids->node;
    if (!n || n->op != &vkt__op_expand) return NULL;
    vkt_shape from = n->in[0]->shape, to = ids->shape;
    if (from.rank != to.rank) return NULL;
    for (uint32_t k = 0; k < to.rank; k++)
        if (from.d[k] != (k > axis ? 1 : to.d[k])) return NULL;
    return n->in[0];
}

/* ids [outer, from, beside] of an axis of `to` elements; x: of each a row of `width` numbers -> the
 * rows' sums, [outer * to * beside, width]; NULL: more than there may be, or none. */
static vkt_tensor *sums_of(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint64_t outer,
                           vkt_attr attr, uint32_t width)
{
    uint64_t beside = attr.sort.inner, count = outer * attr.sort.from * beside,
             elements = outer * attr.sort.to * beside;
    if (!count || count >= INT32_MAX || elements >= INT32_MAX) return NULL;
    vkt_tensor *order = vkt__op(g, &vkt__op_id_sort, (vkt_tensor *[]) { ids, NULL }, 2, attr);
    for (uint64_t run = VKT_SORT_RUN; run < count; run *= 2) {
        attr.sort.run = (uint32_t)run;
        order = vkt__op(g, &vkt__op_id_sort, (vkt_tensor *[]) { ids, order }, 2, attr);
    }
    attr.sort.run = (uint32_t)elements + 1;
    vkt_tensor *segments =
        vkt__op(g, &vkt__op_id_segments, (vkt_tensor *[]) { ids, order }, 2, attr);
    x = vkt_reshape(g, x, vkt_shape2((uint32_t)count, width));
    return vkt__op(g, &vkt__op_embedding_bwd, (vkt_tensor *[]) { x, order, segments }, 3,
                   (vkt_attr) { .embedding = { (uint32_t)elements } });
}

vkt_tensor *vkt__add_sorted(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t axis,
                            uint32_t size)
{
    vkt_shape s = x->shape, out = s;
    uint64_t outer = 1, inner = 1;
    for (uint32_t k = 0; k < s.rank; k++)
        if (k != axis) *(k < axis ? &outer : &inner) *= s.d[k];
    out.d[axis] = size;
    vkt_tensor *rows = ids_of_rows(ids, axis);
    uint64_t beside = rows ? 1 : inner;
    if (beside >= INT32_MAX) return NULL;
    x = sums_of(g, x, rows ? rows : ids, outer,
                (vkt_attr) { .sort = { s.d[axis], size, (uint32_t)beside, 0 } },
                (uint32_t)(inner / beside));
    return x ? vkt_reshape(g, x, out) : NULL;
}

vkt_tensor *vkt__add_rows_sorted(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t rows)
{
    return sums_of(g, x, ids, 1, (vkt_attr) { .sort = { x->shape.d[0], rows, 1, 0 } },
                   x->shape.d[1]);
}
