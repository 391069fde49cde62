/* Ops that move elements: permute and flip, concat. Whole numbers move, too. Kernels nd.comp and
 * transpose.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

/* ---- permute ---- */

/* How the result walks x, and from which element on. */
static vkt__strides walk_of(const vkt_node *n, uint64_t *from)
{
    const vkt_tensor *x = n->in[0];
    vkt__strides s = vkt__strides_of(x->shape), out = s;
    *from = 0;
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        uint32_t axis = n->attr.permute.order[k];
        bool flips = n->attr.permute.flips >> axis & 1;
        out.s[k] = flips ? -s.s[axis] : s.s[axis];
        if (flips) *from += (x->shape.d[axis] - 1) * (uint64_t)s.s[axis];
    }
    return out;
}

static void permute_record(vkt__rec *rec, const vkt_node *n)
{
    uint64_t from;
    vkt__strides s = walk_of(n, &from);
    vkt__nd_copy(rec, n, &s, from);
}

static void permute_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t from;
    vkt__strides s = walk_of(n, &from);
    vkt__nd_copy_ref(n, &s, from, in[0], out[0]);
}

static bool permute_shape(vkt_node *n)
{
    vkt_shape x = n->in[0]->shape, y = x;
    uint32_t seen = 0;
    if (n->attr.permute.flips >> x.rank)
        return vkt__shape_error(n, "%s has only %u axes to flip", vkt__text(n->in[0]), x.rank);
    for (uint32_t k = 0; k < x.rank; k++) {
        uint32_t from = n->attr.permute.order[k];
        if (from >= x.rank || seen >> from & 1)
            return vkt__shape_error(n, "%s: the order must name each of its %u axes once",
                                    vkt__text(n->in[0]), x.rank);
        seen |= 1u << from;
        y.d[k] = x.d[from];
    }
    vkt__out(n, 0, y, vkt__moved_type(n->in[0]));
    return true;
}

static void permute_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = { .permute = { { 0 }, 0 } };
    if (!vkt__needs(n->in[0])) return;
    for (uint32_t k = 0; k < n->in[0]->shape.rank; k++) {
        uint32_t from = n->attr.permute.order[k];
        a.permute.order[from] = k;
        a.permute.flips |= (n->attr.permute.flips >> from & 1) << k;
    }
    dx[0] = vkt__is_ones(dy[0]) ? dy[0] : vkt__op(g, &vkt__op_permute, &dy[0], 1, a);
}

static const char *permute_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        vkt_shape x;
        uint32_t order[VKT_MAX_RANK];
        vkt_dtype dtype;
        uint32_t flips;
    } s[] = {
        { "transpose", { 2, { 129, 37 } }, { 1, 0 }, VKT_F32, 0 },
        { "even transpose", { 2, { 34, 66 } }, { 1, 0 }, VKT_F32, 0 },
        { "tiles of several", { 4, { 3, 70, 2, 45 } }, { 0, 3, 2, 1 }, VKT_F32, 0 },
        { "heads", { 4, { 2, 7, 3, 8 } }, { 0, 2, 1, 3 }, VKT_F32, 0 },
        { "channels first", { 4, { 3, 5, 9, 6 } }, { 0, 3, 1, 2 }, VKT_F32, 0 },
        { "six", { 6, { 2, 3, 1, 4, 5, 2 } }, { 5, 3, 0, 4, 2, 1 }, VKT_F32, 0 },
        { "in order", { 3, { 4, 1, 1031 } }, { 0, 1, 2 }, VKT_F32, 0 },
        { "whole numbers", { 3, { 3, 5, 7 } }, { 2, 0, 1 }, VKT_U32, 0 },
        { "flipped", { 2, { 19, 130 } }, { 0, 1 }, VKT_F32, 2 },
        { "rows flipped", { 3, { 5, 33, 6 } }, { 0, 1, 2 }, VKT_F32, 3 },
        { "flipped and turned", { 3, { 3, 70, 34 } }, { 2, 0, 1 }, VKT_F32, 5 },
        { "whole numbers flipped", { 2, { 7, 9 } }, { 1, 0 }, VKT_U32, 1 },
        { "empty", { 3, { 3, 0, 7 } }, { 2, 0, 1 }, VKT_F32, 0 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    bool words = s[i].dtype == VKT_U32;
    vkt_attr a = { .permute = { .flips = s[i].flips } };
    memcpy(a.permute.order, s[i].order, sizeof s[i].order);
    vkt_tensor *x =
        vkt__sample(g, s[i].x, s[i].dtype, words ? VKT_HINT_INDEX : VKT_HINT_NORMAL, 1000);
    vkt__op(g, op, &x, 1, a);
    return s[i].name;
}

/* ---- concat ---- */

static bool concat_shape(vkt_node *n)
{
    vkt_shape y = n->in[0]->shape;
    uint32_t axis = n->attr.along.axis;
    if (!vkt__has_axis(n, axis)) return false;
    for (uint32_t i = 1; i < VKT_MAX_IN && n->in[i]; i++) {
        vkt_shape x = n->in[i]->shape, same = x;
        if (axis < x.rank) same.d[axis] = y.d[axis];
        if (!vkt__shape_equal(same, y) || n->in[i]->dtype != n->in[0]->dtype)
            return vkt__shape_error(n, "%s does not go behind %s along axis %u: all else is equal",
                                    vkt__text(n->in[i]), vkt__text(n->in[0]), axis);
        if (x.d[axis] > UINT32_MAX - y.d[axis])
            return vkt__shape_error(n, "more than 2^32 elements along axis %u", axis);
        y.d[axis] += x.d[axis];
    }
    vkt__out(n, 0, y, vkt__moved_type(n->in[0]));
    return true;
}

/* One dispatch for each: none writes what another does. */
static void concat_record(vkt__rec *rec, const vkt_node *n)
{
    uint64_t to = 0;
    vkt__strides whole = vkt__strides_of(n->out[0]->shape);
    for (uint32_t i = 0; i < VKT_MAX_IN && n->in[i]; i++) {
        vkt__nd nd = { .part = VKT_ND_COPY,
                       .x = n->in[i],
                       .z = n->out[0],
                       .shape = n->in[i]->shape,
                       .strides = { vkt__strides_of(n->in[i]->shape), whole },
                       .to = to };
        vkt__nd_dispatch(rec, &nd);
        to += n->in[i]->shape.d[n->attr.along.axis] * (uint64_t)whole.s[n->attr.along.axis];
    }
}

static void concat_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t to = 0;
    vkt__strides whole = vkt__strides_of(n->out[0]->shape);
    for (uint32_t i = 0; i < VKT_MAX_IN && n->in[i]; i++) {
        for (uint64_t k = 0; k < n->in[i]->count; k++)
            out[0][to + vkt__place_of(n->in[i]->shape, &whole, k)] = in[i][k];
        to += n->in[i]->shape.d[n->attr.along.axis] * (uint64_t)whole.s[n->attr.along.axis];
    }
}

static void concat_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    uint32_t first[VKT_MAX_RANK] = { 0 }, axis = n->attr.along.axis;
    for (uint32_t i = 0; i < VKT_MAX_IN && n->in[i]; i++) {
        vkt_shape x = n->in[i]->shape;
        if (vkt__needs(n->in[i]))
            dx[i] = vkt__is_ones(dy[0]) ? dy[0] : vkt_slice(g, dy[0], first, x.d, NULL);
        first[axis] += x.d[axis];
    }
}

static const char *concat_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t n, axis;
        vkt_shape x[3];
    } s[] = {
        { "columns", 3, 1, { { 2, { 9, 5 } }, { 2, { 9, 130 } }, { 2, { 9, 1 } } } },
        { "even columns", 2, 1, { { 2, { 9, 6 } }, { 2, { 9, 130 } } } },
        { "rows", 2, 0, { { 2, { 100, 7 } }, { 2, { 33, 7 } } } },
        { "channels", 2, 3, { { 4, { 2, 3, 5, 4 } }, { 4, { 2, 3, 5, 6 } } } },
        { "six, an empty one",
          3,
          2,
          { { 6, { 2, 3, 2, 1, 2, 3 } },
            { 6, { 2, 3, 0, 1, 2, 3 } },
            { 6, { 2, 3, 1, 1, 2, 3 } } } },
        { "alone", 1, 0, { { 1, { 1030 } } } },
    };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    vkt_tensor *x[3];
    for (uint32_t k = 0; k < s[i / 2].n; k++)
        x[k] = vkt__sample(g, s[i / 2].x[k], i % 2 ? VKT_U32 : VKT_F32,
                           i % 2 ? VKT_HINT_INDEX : VKT_HINT_NORMAL, 1000);
    vkt_concat(g, x, s[i / 2].n, s[i / 2].axis);
    return s[i / 2].name;
}

/* ---- rows and builders ---- */

const vkt_op vkt__op_permute = { .name = "permute",
                                 .n_in = 1,
                                 .n_out = 1,
                                 .in = { VKT_WORDS | VKT_NARROW | VKT_NARROW_ODD },
                                 .out = { VKT_NARROW },
                                 .shape = permute_shape,
                                 .record = permute_record,
                                 .grad = permute_grad,
                                 .ref = permute_ref,
                                 .terms = vkt__no_terms,
                                 .sample = permute_sample };
enum { PART = VKT_WORDS | VKT_NARROW, MORE = PART | VKT_OPTIONAL };
_Static_assert(VKT_MAX_IN == 11, "as many as concat lists");
const vkt_op vkt__op_concat = { .name = "concat",
                                .n_in = VKT_MAX_IN,
                                .n_out = 1,
                                .in = { PART, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE, MORE,
                                        MORE },
                                .out = { VKT_NARROW },
                                .alike = true,
                                .shape = concat_shape,
                                .record = concat_record,
                                .grad = concat_grad,
                                .ref = concat_ref,
                                .terms = vkt__no_terms,
                                .sample = concat_sample };

vkt_tensor *vkt_permute(vkt_graph *g, vkt_tensor *x, const uint32_t *order)
{
    vkt_attr a = { .permute = { { 0 }, 0 } };
    memcpy(a.permute.order, order, x->shape.rank * sizeof *order);
    return vkt__op(g, &vkt__op_permute, &x, 1, a);
}

vkt_tensor *vkt_flip(vkt_graph *g, vkt_tensor *x, uint32_t axes)
{
    vkt_attr a = { .permute = { { 0, 1, 2, 3, 4, 5 }, axes } };
    return vkt__op(g, &vkt__op_permute, &x, 1, a);
}

/* As many as a node takes; their result is the first of the next. */
vkt_tensor *vkt_concat(vkt_graph *g, vkt_tensor *const *x, uint32_t n, uint32_t axis)
{
    vkt_attr a = { .along = { .axis = axis } };
    vkt_tensor *list[VKT_MAX_IN] = { x[0] };
    for (uint32_t done = 1, here; done < n || done == 1; done += here) {
        here = VKT_MIN(n - done, VKT_MAX_IN - 1);
        memcpy(list + 1, x + done, here * sizeof *list);
        list[0] = vkt__op(g, &vkt__op_concat, list, here + 1, a);
        if (here == 0) break;
    }
    return list[0];
}
