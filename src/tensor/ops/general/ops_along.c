/* Elements by ids along an axis: gather, and scatter_add, each the other's gradient. Kernels
 * gather_nd.comp and scatter_add.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

enum { X, IDS, N_IN };

/* An invocation of scatter_add looks at all ids of a line (quirk LOOP_TRIPS); where a line's looks
 * are more than MOST_LOOKS, lookup's bound, they are sorted. Measured (lavapipe 22.3, two busy
 * cores, one line of three columns, a graph with its gather, least of 20, ms, looking and sorting):
 * 4,096 looks 0.21 and 0.14; 32,761 looks 0.71 and 0.34; 131,044 looks 2.5 and 0.64; 1 million
 * looks 38 and 1.9; 4 million looks 144 and 4.2. No GPU was measured, where sorting's dispatches
 * cost more beside looks. */
enum { MOST = 30000, MOST_LOOKS = 1 << 16 };

static bool along_shape(vkt_node *n)
{
    uint32_t axis = n->attr.along.axis;
    bool adds = n->op == &vkt__op_scatter_add;
    if (!vkt__has_axis(n, axis)) return false;
    vkt_shape x = n->in[X]->shape, ids = n->in[IDS]->shape, same = x;
    if (!adds && axis < ids.rank) same.d[axis] = ids.d[axis];
    if (!vkt__shape_equal(same, ids))
        return vkt__shape_error(n, "%s and ids %s do not fit: their dimensions are equal%s",
                                vkt__text(n->in[X]), vkt__text(n->in[IDS]),
                                adds ? "" : " except along the axis");
    if (adds && x.d[axis] > MOST)
        return vkt__shape_error(n, "%s: more than %d to add along axis %u: add them in parts",
                                vkt__text(n->in[X]), (int)MOST, axis);
    if (adds) same.d[axis] = n->attr.along.size;
    vkt__out(n, 0, same, vkt__moved_type(n->in[X]));
    return true;
}

static void along_record(vkt__rec *rec, const vkt_node *n)
{
    struct along_params p = vkt__along(n);
    p.x = vkt__addr(rec, n->in[X]);
    p.ids = vkt__addr(rec, n->in[IDS]);
    p.y = vkt__addr(rec, n->out[0]);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[X]) } };
    vkt__dispatch(rec, n->op == &vkt__op_gather ? VKT_SHADER_GATHER_ND : VKT_SHADER_SCATTER_ADD,
                  spec, VKT_COUNT(spec), &p, sizeof p, (n->out[0]->count + wg - 1) / wg);
}

static void gather_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct along_params p = vkt__along(n);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t id = (uint64_t)in[IDS][i], o = i / p.inner / p.to;
        out[0][i] = id < p.from ? in[X][(o * p.from + id) * p.inner + i % p.inner] : 0;
    }
}

static void scatter_add_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct along_params p = vkt__along(n);
    memset(out[0], 0, n->out[0]->count * sizeof **out);
    for (uint64_t i = 0; i < n->in[X]->count; i++) {
        uint64_t id = (uint64_t)in[IDS][i], o = i / p.inner / p.from;
        if (id < p.to) out[0][(o * p.to + id) * p.inner + i % p.inner] += in[X][i];
    }
}

static double along_terms(const vkt_node *n)
{
    return n->op == &vkt__op_gather ? 0 : n->in[X]->shape.d[n->attr.along.axis];
}

static void gather_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    uint32_t axis = n->attr.along.axis;
    if (vkt__needs(n->in[X]))
        dx[X] = vkt_scatter_add(g, vkt__real(g, dy[0], n->out[0]), n->in[IDS], axis,
                                n->in[X]->shape.d[axis]);
}

static void scatter_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[X]))
        dx[X] = vkt_gather(g, vkt__real(g, dy[0], n->out[0]), n->in[IDS], n->attr.along.axis);
}

static const char *along_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        vkt_shape x;
        uint32_t axis, n; /* ids along the axis, or its size */
    } s[] = {
        { "rows", { 2, { 17, 33 } }, 0, 40 },
        { "columns", { 2, { 9, 130 } }, 1, 7 },
        { "the middle", { 3, { 5, 11, 6 } }, 1, 11 },
        { "six", { 6, { 2, 3, 1, 4, 2, 3 } }, 3, 9 },
        { "one", { 1, { 1 } }, 0, 129 },
        { "none", { 2, { 3, 5 } }, 1, 0 },
        { "long", { 1, { 3000 } }, 0, 5 },
    };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    uint32_t k = i / 2, axis = s[k].axis;
    bool gathers = op == &vkt__op_gather, words = i % 2 && gathers;
    vkt_shape ids = s[k].x;
    if (gathers) ids.d[axis] = s[k].n;
    vkt_tensor *x = vkt__sample(g, s[k].x, words ? VKT_U32 : VKT_F32,
                                words ? VKT_HINT_INDEX : VKT_HINT_NORMAL, 1000);
    /* One id more than there is. */
    vkt_tensor *at =
        vkt__sample(g, ids, VKT_U32, VKT_HINT_INDEX, (gathers ? s[k].x.d[axis] : s[k].n) + 1);
    if (gathers)
        vkt_gather(g, x, at, axis);
    else
        vkt_scatter_add(g, x, at, axis, s[k].n);
    return s[k].name;
}

const vkt_op vkt__op_gather = {
    .name = "gather",
    .n_in = N_IN,
    .n_out = 1,
    .in = { [X] = VKT_WORDS | VKT_NARROW | VKT_NARROW_ODD, [IDS] = VKT_WORDS },
    .shape = along_shape,
    .record = along_record,
    .grad = gather_grad,
    .ref = gather_ref,
    .terms = along_terms,
    .sample = along_sample
};
const vkt_op vkt__op_scatter_add = { .name = "scatter_add",
                                     .n_in = N_IN,
                                     .n_out = 1,
                                     .in = { [IDS] = VKT_WORDS },
                                     .shape = along_shape,
                                     .record = along_record,
                                     .grad = scatter_grad,
                                     .ref = scatter_add_ref,
                                     .terms = along_terms,
                                     .sample = along_sample };

vkt_tensor *vkt_gather(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t axis)
{
    return vkt__op(g, &vkt__op_gather, (vkt_tensor *[]) { x, ids }, 2,
                   (vkt_attr) { .along = { .axis = axis } });
}

vkt_tensor *vkt_scatter_add(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t axis,
                            uint32_t size)
{
    bool fits = !x->inert && !ids->inert && axis < x->shape.rank && ids->dtype == VKT_U32 &&
                x->dtype == VKT_F32 && vkt__shape_equal(x->shape, ids->shape) && !vkt__needs(x);
    uint64_t from = fits ? x->shape.d[axis] : 0;
    vkt_tensor *y =
        from > MOST || from * size > MOST_LOOKS ? vkt__add_sorted(g, x, ids, axis, size) : NULL;
    if (y) return y;
    return vkt__op(g, &vkt__op_scatter_add, (vkt_tensor *[]) { x, ids }, 2,
                   (vkt_attr) { .along = { .axis = axis, .size = size } });
}
