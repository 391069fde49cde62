/* Ops that move elements: permute, slice, pad, concat. Whole numbers move, too, except in
 * pad. Kernels nd.comp and pad_nd.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

/* Of permute and slice: how the result walks x, and from which element on. */
static vkt__strides walk_of(const vkt_node *n, uint64_t *from)
{
    const vkt_tensor *x = n->in[0];
    *from = 0;
    vkt__strides s = vkt__strides_of(x->shape), out = s;
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        if (n->op == &vkt__op_permute) {
            out.s[k] = s.s[n->attr.permute.order[k]];
        } else {
            *from += n->attr.window.first[k] * (uint64_t)s.s[k];
            out.s[k] = s.s[k] * n->attr.window.step[k];
        }
    }
    return out;
}

static void move_record(vkt__rec *rec, const vkt_node *n)
{
    uint64_t from;
    vkt__strides s = walk_of(n, &from);
    vkt__nd_copy(rec, n, &s, from);
}

static void move_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t from;
    vkt__strides s = walk_of(n, &from);
    vkt__nd_copy_ref(n, &s, from, in[0], out[0]);
}

static double no_terms(const vkt_node *n)
{
    (void)n;
    return 0;
}

/* ---- permute ---- */

static bool permute_shape(vkt_node *n)
{
    vkt_shape x = n->in[0]->shape, y = x;
    uint32_t seen = 0;
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
    uint32_t back[VKT_MAX_RANK] = { 0 };
    if (!vkt__needs(n->in[0])) return;
    for (uint32_t k = 0; k < n->in[0]->shape.rank; k++) back[n->attr.permute.order[k]] = k;
    dx[0] = vkt__is_ones(dy[0]) ? dy[0] : vkt_permute(g, dy[0], back);
}

static const char *permute_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        vkt_shape x;
        uint32_t order[VKT_MAX_RANK];
        vkt_dtype dtype;
    } s[] = {
        { "transpose", { 2, { 129, 37 } }, { 1, 0 }, VKT_F32 },
        { "even transpose", { 2, { 34, 66 } }, { 1, 0 }, VKT_F32 },
        { "tiles of several", { 4, { 3, 70, 2, 45 } }, { 0, 3, 2, 1 }, VKT_F32 },
        { "heads", { 4, { 2, 7, 3, 8 } }, { 0, 2, 1, 3 }, VKT_F32 },
        { "channels first", { 4, { 3, 5, 9, 6 } }, { 0, 3, 1, 2 }, VKT_F32 },
        { "six", { 6, { 2, 3, 1, 4, 5, 2 } }, { 5, 3, 0, 4, 2, 1 }, VKT_F32 },
        { "in order", { 3, { 4, 1, 1031 } }, { 0, 1, 2 }, VKT_F32 },
        { "whole numbers", { 3, { 3, 5, 7 } }, { 2, 0, 1 }, VKT_U32 },
        { "empty", { 3, { 3, 0, 7 } }, { 2, 0, 1 }, VKT_F32 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    bool words = s[i].dtype == VKT_U32;
    vkt_permute(g,
                vkt__sample(g, s[i].x, s[i].dtype, words ? VKT_HINT_INDEX : VKT_HINT_NORMAL, 1000),
                s[i].order);
    return s[i].name;
}

/* ---- slice, and pad, which is its gradient ---- */

/* Whether a window of n[k] elements, `step` apart from `first` on, lies within whole[k]. */
static bool is_inside(const vkt_attr *a, vkt_shape whole, vkt_shape n)
{
    for (uint32_t k = 0; k < whole.rank; k++) {
        uint64_t step = a->window.step[k], end = a->window.first[k] + (n.d[k] ? 1 : 0);
        if (n.d[k] > 1) end += (n.d[k] - 1) * step;
        if (step == 0 || end > whole.d[k]) return false;
    }
    return true;
}

/* A window of `part`'s shape lies in `whole`; else an error says so. */
static bool window_fits(vkt_node *n, vkt_shape whole, vkt_shape part)
{
    char text[96];
    if (whole.rank == part.rank && is_inside(&n->attr, whole, part)) return true;
    vkt_shape_text(n->attr.window.shape, n->in[0]->dtype, text);
    return vkt__shape_error(n, "%s and %s: the smaller does not lie within the larger one",
                            vkt__text(n->in[0]), text);
}

static bool slice_shape(vkt_node *n)
{
    vkt_shape y = n->attr.window.shape;
    if (!window_fits(n, n->in[0]->shape, y)) return false;
    vkt__out(n, 0, y, vkt__moved_type(n->in[0]));
    return true;
}

static bool pad_shape(vkt_node *n)
{
    if (!window_fits(n, n->attr.window.shape, n->in[0]->shape)) return false;
    vkt__out(n, 0, n->attr.window.shape, VKT_F32);
    return true;
}

static void pad_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape x = n->in[0]->shape, z = n->out[0]->shape;
    struct pad_nd_params p = { .x = vkt__addr(rec, n->in[0]),
                               .z = vkt__addr(rec, n->out[0]),
                               .n = (uint32_t)n->out[0]->count,
                               .value = n->attr.window.value };
    for (uint32_t k = 0, left = VKT_ND_RANK - x.rank; k < VKT_ND_RANK; k++) {
        bool here = k >= left;
        p.dx[k] = here ? x.d[k - left] : 1;
        p.dz[k] = here ? z.d[k - left] : 1;
        p.first[k] = here ? n->attr.window.first[k - left] : 0;
        p.step[k] = here ? n->attr.window.step[k - left] : 1;
    }
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, VKT_SHADER_PAD_ND, spec, VKT_COUNT(spec), &p, sizeof p,
                  ((uint64_t)p.n + wg - 1) / wg);
}

static void pad_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_shape x = n->in[0]->shape;
    vkt__strides s = vkt__strides_of(n->out[0]->shape), to = s;
    uint64_t from = 0;
    for (uint32_t k = 0; k < x.rank; k++) {
        from += n->attr.window.first[k] * (uint64_t)s.s[k];
        to.s[k] = s.s[k] * n->attr.window.step[k];
    }
    for (uint64_t i = 0; i < n->out[0]->count; i++) out[0][i] = (double)n->attr.window.value;
    for (uint64_t i = 0; i < n->in[0]->count; i++)
        out[0][from + vkt__place_of(x, &to, i)] = in[0][i];
}

static void slice_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.window.shape = n->in[0]->shape;
    a.window.value = 0;
    vkt_tensor *d = vkt__needs(n->in[0]) ? vkt__real(g, dy[0], n->out[0]) : NULL;
    if (d) dx[0] = vkt__op(g, &vkt__op_pad, &d, 1, a);
}

static void pad_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.window.shape = n->in[0]->shape;
    if (!vkt__needs(n->in[0])) return;
    dx[0] = vkt__is_ones(dy[0]) ? dy[0] : vkt__op(g, &vkt__op_slice, &dy[0], 1, a);
}

static const char *slice_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        vkt_shape whole, part;
        uint32_t first[VKT_MAX_RANK], step[VKT_MAX_RANK];
    } s[] = {
        { "columns", { 2, { 19, 130 } }, { 2, { 19, 33 } }, { 0, 70 }, { 1, 1 } },
        { "even columns", { 2, { 19, 130 } }, { 2, { 19, 34 } }, { 0, 69 }, { 1, 1 } },
        { "even columns of odd rows", { 2, { 19, 131 } }, { 2, { 19, 34 } }, { 0, 70 }, { 1, 1 } },
        { "rows", { 2, { 300, 7 } }, { 2, { 100, 7 } }, { 3, 0 }, { 2, 1 } },
        { "a picture's",
          { 4, { 2, 9, 11, 6 } },
          { 4, { 2, 4, 5, 6 } },
          { 0, 1, 0, 0 },
          { 1, 2, 2, 1 } },
        { "six",
          { 6, { 3, 2, 4, 3, 2, 9 } },
          { 6, { 2, 1, 2, 3, 1, 4 } },
          { 1, 1, 1, 0, 0, 2 },
          { 1, 1, 2, 1, 1, 2 } },
        { "all", { 1, { 1029 } }, { 1, { 1029 } }, { 0 }, { 1 } },
        { "nothing", { 2, { 4, 6 } }, { 2, { 0, 6 } }, { 4, 0 }, { 1, 1 } },
    };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    bool pads = op == &vkt__op_pad;
    vkt_attr a = { .window = { .value = -1.5f } };
    uint32_t k = i / 2, words = i % 2 && !pads;
    memcpy(a.window.first, s[k].first, sizeof s[k].first);
    memcpy(a.window.step, s[k].step, sizeof s[k].step);
    a.window.shape = pads ? s[k].whole : s[k].part;
    if (pads && i % 2) a.window.value = 0;
    vkt_tensor *x = vkt__sample(g, pads ? s[k].part : s[k].whole, words ? VKT_U32 : VKT_F32,
                                words ? VKT_HINT_INDEX : VKT_HINT_NORMAL, 1000);
    vkt__op(g, op, &x, 1, a);
    return s[k].name;
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

#define MOVE(NAME)                                                                                 \
    {                                                                                              \
        .name = #NAME, .n_in = 1, .n_out = 1, .words_in = 1, .narrow_in = 1, .narrow_odd = 1,      \
        .narrow_out = 1, .shape = NAME##_shape, .record = move_record, .grad = NAME##_grad,        \
        .ref = move_ref, .terms = no_terms, .sample = NAME##_sample                                \
    }
const vkt_op vkt__op_permute = MOVE(permute);
const vkt_op vkt__op_slice = MOVE(slice);
const vkt_op vkt__op_pad = { .name = "pad",
                             .n_in = 1,
                             .n_out = 1,
                             .shape = pad_shape,
                             .record = pad_record,
                             .grad = pad_grad,
                             .ref = pad_ref,
                             .terms = no_terms,
                             .sample = slice_sample };
const vkt_op vkt__op_concat = { .name = "concat",
                                .n_in = VKT_MAX_IN,
                                .n_out = 1,
                                .words_in = (1u << VKT_MAX_IN) - 1,
                                .narrow_in = (1u << VKT_MAX_IN) - 1,
                                .narrow_out = 1,
                                .alike = true,
                                .shape = concat_shape,
                                .record = concat_record,
                                .grad = concat_grad,
                                .ref = concat_ref,
                                .terms = no_terms,
                                .sample = concat_sample };

vkt_tensor *vkt_permute(vkt_graph *g, vkt_tensor *x, const uint32_t *order)
{
    vkt_attr a = { .permute = { { 0 } } };
    memcpy(a.permute.order, order, x->shape.rank * sizeof *order);
    return vkt__op(g, &vkt__op_permute, &x, 1, a);
}

vkt_tensor *vkt_slice(vkt_graph *g, vkt_tensor *x, const uint32_t *first, const uint32_t *count,
                      const uint32_t *step)
{
    vkt_attr a = { .window = { .shape = x->shape } };
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        a.window.first[k] = first[k];
        a.window.step[k] = step ? step[k] : 1;
        a.window.shape.d[k] = count[k];
    }
    return vkt__op(g, &vkt__op_slice, &x, 1, a);
}

vkt_tensor *vkt_pad(vkt_graph *g, vkt_tensor *x, const uint32_t *before, const uint32_t *after,
                    float value)
{
    vkt_attr a = { .window = { .shape = x->shape, .value = value } };
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        uint64_t size = (uint64_t)x->shape.d[k] + before[k] + after[k];
        if (size > INT32_MAX) {
            vkt_node fake = { .op = &vkt__op_pad, .g = g };
            vkt__shape_error(&fake, "%s: axis %u would have %llu elements; 2^31 is too many",
                             vkt__text(x), k, (unsigned long long)size);
            return vkt__inert(g);
        }
        a.window.first[k] = before[k];
        a.window.step[k] = 1;
        a.window.shape.d[k] = (uint32_t)size;
    }
    return vkt__op(g, &vkt__op_pad, &x, 1, a);
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
