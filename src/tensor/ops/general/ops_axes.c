/* Reductions over any axes; expand, the other way; softmax over any axis and its logarithm. Kernels
 * reduce_nd.comp and nd.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

/* ---- reduce ---- */

static bool is_sum(const vkt_node *n)
{
    vkt_reduction kind = n->attr.reduce.kind;
    return kind != VKT_REDUCE_MAX && kind != VKT_REDUCE_MIN && kind != VKT_REDUCE_LOGSUMEXP;
}

/* A shape by what stays and what goes of it, each with its strides in x. */
typedef struct {
    vkt_shape kept, gone;
    vkt__strides at_kept, at_gone;
} split;

static split split_of(const vkt_node *n)
{
    split s = { 0 };
    vkt_shape x = n->in[0]->shape;
    vkt__strides at = vkt__strides_of(x);
    for (uint32_t k = 0; k < x.rank; k++) {
        bool goes = n->attr.reduce.axes >> k & 1;
        vkt_shape *to = goes ? &s.gone : &s.kept;
        (goes ? &s.at_gone : &s.at_kept)->s[to->rank] = at.s[k];
        to->d[to->rank++] = x.d[k];
    }
    return s;
}

/* Of reduce and place. */
static bool reduce_shape(vkt_node *n)
{
    enum { MOST_PLACES = 1 << 24 }; /* whole numbers that floats hold */
    bool place = n->op == &vkt__op_place;
    vkt_shape x = n->in[0]->shape;
    if (x.rank < 32 && n->attr.reduce.axes >> x.rank)
        return vkt__shape_error(n, "%s has only %u axes", vkt__text(n->in[0]), x.rank);
    split s = split_of(n);
    if (!is_sum(n) && vkt_shape_count(s.gone) == 0 && vkt_shape_count(s.kept) > 0)
        return vkt__shape_error(n,
                                "%s: no elements have no largest, smallest or logarithm of a sum",
                                vkt__text(n->in[0]));
    if (n->attr.reduce.kind == VKT_REDUCE_MEAN && vkt_shape_count(s.gone) == 0)
        return vkt__shape_error(n, "%s: no elements have no mean", vkt__text(n->in[0]));
    if (place && vkt_shape_count(s.gone) > MOST_PLACES)
        return vkt__shape_error(n, "%s: more than 2^24 elements along the axis",
                                vkt__text(n->in[0]));
    vkt__out(n, 0, s.kept.rank ? s.kept : vkt_shape1(1), place ? VKT_U32 : VKT_F32);
    return true;
}

/* The last three dimensions of a walk; x has its elements in order, so that at most three stay and
 * three go once those beside each other are one. */
static void put(const vkt__walk *w, uint32_t d[3], uint32_t s[3])
{
    VKT_ASSERT(w->dims <= 3);
    for (uint32_t k = 0; k < 3; k++) {
        bool here = k + w->dims >= 3;
        d[k] = here ? w->d[k + w->dims - 3] : 1;
        s[k] = here ? (uint32_t)w->s[0][k + w->dims - 3] : 0;
    }
}

static void reduce_record(vkt__rec *rec, const vkt_node *n)
{
    enum { MOST_ALONE = 4096 }; /* elements that one invocation takes */
    split s = split_of(n);
    vkt__walk kept = vkt__walk_of(s.kept, &s.at_kept, 1),
              gone = vkt__walk_of(s.gone, &s.at_gone, 1);
    struct reduce_nd_params p = { .x = vkt__addr(rec, n->in[0]),
                                  .y = vkt__addr(rec, n->out[0]),
                                  .kept = (uint32_t)n->out[0]->count,
                                  .gone = (uint32_t)vkt_shape_count(s.gone),
                                  .scale = 1 };
    if (n->attr.reduce.kind == VKT_REDUCE_MEAN) p.scale = 1 / (float)p.gone;
    put(&kept, p.dk, p.sk);
    put(&gone, p.dg, p.sg);
    bool beside = kept.s[0][kept.dims - 1] == 1 || p.gone < 8,
         apart = beside && p.gone <= MOST_ALONE;
    uint32_t wg =
        apart ? VKT_MIN(rec->caps->workgroup, 64) : vkt__row_workgroup(rec->caps, p.gone, 2);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) },
                                   { VKT_SPEC_OP, n->attr.reduce.kind },
                                   { VKT_SPEC_SPLIT, apart },
                                   { VKT_SPEC_DIMS, gone.dims },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[0]) },
                                   { VKT_SPEC_FORM, n->op == &vkt__op_place } };
    vkt__dispatch(rec, VKT_SHADER_REDUCE_ND, spec, VKT_COUNT(spec), &p, sizeof p,
                  apart ? ((uint64_t)p.kept + wg - 1) / wg : p.kept);
}

/* Of n numbers, by their places. */
static double reduce_one(vkt_reduction kind, const double *x, const split *s, uint64_t n)
{
    double sum = 0, top = -INFINITY, sign = kind == VKT_REDUCE_MIN ? -1 : 1;
    for (uint64_t j = 0; j < n; j++) {
        double v = sign * x[vkt__place_of(s->gone, &s->at_gone, j)];
        sum += kind == VKT_REDUCE_NORM1 ? fabs(v) : kind == VKT_REDUCE_NORM2 ? v * v : v;
        if (v > top || (isnan(v) && !isnan(top))) top = v;
    }
    if (kind == VKT_REDUCE_SUM || kind == VKT_REDUCE_NORM1) return sum;
    if (kind == VKT_REDUCE_NORM2) return sqrt(sum);
    if (kind == VKT_REDUCE_MEAN) return sum / (double)n;
    if (kind != VKT_REDUCE_LOGSUMEXP || !isfinite(top)) return sign * top;
    sum = 0;
    for (uint64_t j = 0; j < n; j++) sum += exp(x[vkt__place_of(s->gone, &s->at_gone, j)] - top);
    return top + log(sum);
}

static void reduce_ref(const vkt_node *n, double *const *in, double *const *out)
{
    split s = split_of(n);
    uint64_t gone = vkt_shape_count(s.gone);
    for (uint64_t o = 0; o < n->out[0]->count; o++)
        out[0][o] =
            reduce_one(n->attr.reduce.kind, in[0] + vkt__place_of(s.kept, &s.at_kept, o), &s, gone);
}

/* A sum's; beside it exp's 3 + 2 |x| units, and a logarithm's 2^-21 near 1. */
static double reduce_terms(const vkt_node *n)
{
    split s = split_of(n);
    double count = (double)vkt_shape_count(s.gone);
    if (n->attr.reduce.kind == VKT_REDUCE_NORM2) return count + 16; /* the root's */
    return is_sum(n) ? count : n->attr.reduce.kind == VKT_REDUCE_LOGSUMEXP ? count + 256 : 0;
}

/* x's shape with size 1 where axes have gone. */
static vkt_shape kept_shape(vkt_shape x, uint32_t axes)
{
    for (uint32_t k = 0; k < x.rank; k++)
        if (axes >> k & 1) x.d[k] = 1;
    return x;
}

static void reduce_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[0];
    uint32_t axes = n->attr.reduce.axes;
    if (!vkt__needs(x)) return;
    vkt_shape kept = kept_shape(x->shape, axes);
    vkt_tensor *d = vkt_reshape(g, vkt__real(g, dy[0], n->out[0]), kept),
               *y = vkt_reshape(g, n->out[0], kept), *count;
    switch (n->attr.reduce.kind) {
    case VKT_REDUCE_MEAN:
        count = vkt_fill(g, vkt_shape1(1), (float)(x->count / VKT_MAX(n->out[0]->count, 1)));
        d = vkt_binary(g, VKT_FN2_DIV, d, count);
        dx[0] = vkt_expand(g, d, x->shape);
        return;
    case VKT_REDUCE_SUM:
        dx[0] = vkt_expand(g, d, x->shape);
        return;
    case VKT_REDUCE_NORM1:
        dx[0] = vkt__op(g, &vkt__op_unary_bwd, (vkt_tensor *[]) { d, x }, 2,
                        (vkt_attr) { .map = { VKT_ND_SLOPE, VKT_FN_ABS, 0, 0 } });
        return;
    case VKT_REDUCE_NORM2:
        /* A norm of 0 divides nothing, so that no element is NaN, not even one that is left out. */
        count = vkt_where(g, y, y, vkt_fill(g, vkt_shape1(1), 1));
        d = vkt_where(g, y, vkt_binary(g, VKT_FN2_DIV, d, count), vkt_fill(g, vkt_shape1(1), 0));
        dx[0] = vkt_binary(g, VKT_FN2_MUL, x, d);
        return;
    case VKT_REDUCE_LOGSUMEXP:
        dx[0] = vkt_binary(g, VKT_FN2_MUL, vkt_binary(g, VKT_FN2_EXP_SUB, x, y), d);
        return;
    default: {
        vkt_tensor *hit = vkt_binary(g, VKT_FN2_EQ, x, y);
        d = vkt_binary(g, VKT_FN2_DIV, d, vkt_reduce(g, VKT_REDUCE_SUM, hit, axes, true));
        dx[0] = vkt_binary(g, VKT_FN2_MUL, hit, d);
    }
    }
}

/* Of reduce and place, which has one axis. */
static const char *reduce_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const vkt_reduction kinds[] = { VKT_REDUCE_SUM,  VKT_REDUCE_MEAN,      VKT_REDUCE_MAX,
                                           VKT_REDUCE_MIN,  VKT_REDUCE_LOGSUMEXP, VKT_REDUCE_NORM1,
                                           VKT_REDUCE_NORM2 },
                               places[] = { VKT_REDUCE_MAX, VKT_REDUCE_MIN };
    static const struct {
        const char *name;
        vkt_shape x;
        uint32_t axes;
    } s[] = {
        { "rows", { 2, { 19, 129 } }, 2 },
        { "columns", { 2, { 33, 70 } }, 1 },
        { "the middle", { 3, { 5, 37, 6 } }, 2 },
        { "outside", { 3, { 3, 5, 301 } }, 5 },
        { "in turns", { 6, { 2, 3, 4, 2, 3, 5 } }, 1 | 4 | 16 },
        { "the others", { 6, { 2, 3, 4, 2, 3, 6 } }, 2 | 8 | 32 },
        { "all", { 3, { 7, 11, 13 } }, 7 },
        { "long columns", { 2, { 5000, 3 } }, 1 },
        { "one", { 1, { 1 } }, 1 },
        { "to nothing", { 2, { 0, 3 } }, 2 },
        { "no rows", { 3, { 2, 0, 3 } }, 2 }, /* sums only */
    };
    bool place = op == &vkt__op_place;
    uint32_t of = i / VKT_COUNT(s), k = i % VKT_COUNT(s);
    if (of >= (place ? VKT_COUNT(places) : VKT_COUNT(kinds))) return NULL;
    vkt_reduction kind = place ? places[of] : kinds[of];
    if (kind != VKT_REDUCE_SUM && k + 1 == VKT_COUNT(s)) k = 0;
    if (place && (s[k].axes & (s[k].axes - 1))) k = 2;
    vkt_tensor *x = vkt__sample(g, s[k].x, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt__op(g, op, &x, 1, (vkt_attr) { .reduce = { kind, s[k].axes } });
    return s[k].name;
}

const vkt_op vkt__op_reduce = { .name = "reduce",
                                .n_in = 1,
                                .n_out = 1,
                                .in = { VKT_NARROW | VKT_NARROW_ODD },
                                .shape = reduce_shape,
                                .record = reduce_record,
                                .grad = reduce_grad,
                                .ref = reduce_ref,
                                .terms = reduce_terms,
                                .sample = reduce_sample };

/* ---- place: where the largest or smallest is ---- */

static void place_ref(const vkt_node *n, double *const *in, double *const *out)
{
    split s = split_of(n);
    uint64_t gone = vkt_shape_count(s.gone);
    double sign = n->attr.reduce.kind == VKT_REDUCE_MIN ? -1 : 1;
    for (uint64_t o = 0; o < n->out[0]->count; o++) {
        const double *x = in[0] + vkt__place_of(s.kept, &s.at_kept, o);
        double top = 0;
        for (uint64_t j = 0; j < gone; j++) {
            double v = sign * x[vkt__place_of(s.gone, &s.at_gone, j)];
            if (j && !(v > top) && !(isnan(v) && !isnan(top))) continue;
            top = v;
            out[0][o] = (double)j;
        }
    }
}

const vkt_op vkt__op_place = { .name = "place",
                               .n_in = 1,
                               .n_out = 1,
                               .in = { VKT_NARROW | VKT_NARROW_ODD },
                               .shape = reduce_shape,
                               .record = reduce_record,
                               .ref = place_ref,
                               .terms = vkt__no_terms,
                               .sample = reduce_sample };

vkt_tensor *vkt_arg(vkt_graph *g, vkt_reduction kind, vkt_tensor *x, uint32_t axis, bool keep)
{
    uint32_t axes = axis < VKT_MAX_RANK ? 1u << axis : 1u << VKT_MAX_RANK;
    VKT_ASSERT(kind == VKT_REDUCE_MAX || kind == VKT_REDUCE_MIN);
    vkt_tensor *y = vkt__op(g, &vkt__op_place, &x, 1, (vkt_attr) { .reduce = { kind, axes } });
    return y->inert || !keep ? y : vkt_reshape(g, y, kept_shape(x->shape, axes));
}

/* ---- the builder of reduce ---- */

/* Sums of all elements or over leading axes have kernels of their own, in several stages. */
static vkt_tensor *sum_in_stages(vkt_graph *g, vkt_tensor *x, uint32_t axes)
{
    uint32_t leading = 0;
    uint64_t rows = 1;
    while (leading < x->shape.rank && axes >> leading & 1) rows *= x->shape.d[leading++];
    if (x->count == 0 || axes >> leading || leading == 0) return NULL;
    if (leading == x->shape.rank) return vkt_sum(g, x);
    return vkt_sum_rows(g,
                        vkt_reshape(g, x, vkt_shape2((uint32_t)rows, (uint32_t)(x->count / rows))));
}

vkt_tensor *vkt_reduce(vkt_graph *g, vkt_reduction kind, vkt_tensor *x, uint32_t axes, bool keep)
{
    if (x->inert) return x;
    vkt_shape shape = { 0, { 0 } };
    if (axes == VKT_ALL_AXES) axes = (1u << x->shape.rank) - 1;
    bool wrong = axes >> x->shape.rank;
    vkt_tensor *y = kind == VKT_REDUCE_SUM && !wrong ? sum_in_stages(g, x, axes) : NULL;
    if (!y) y = vkt__op(g, &vkt__op_reduce, &x, 1, (vkt_attr) { .reduce = { kind, axes } });
    if (y->inert) return y;
    for (uint32_t k = 0; k < x->shape.rank; k++)
        if (!(axes >> k & 1)) shape.d[shape.rank++] = x->shape.d[k];
    if (!shape.rank) shape = vkt_shape1(1);
    return vkt_reshape(g, y, keep ? kept_shape(x->shape, axes) : shape);
}

vkt_tensor *vkt__sum_to(vkt_graph *g, vkt_tensor *d, vkt_shape shape)
{
    uint32_t axes = 0, before = d->shape.rank - shape.rank;
    for (uint32_t k = 0; k < d->shape.rank; k++)
        if (k < before || (shape.d[k - before] == 1 && d->shape.d[k] != 1)) axes |= 1u << k;
    if (axes) d = vkt_reduce(g, VKT_REDUCE_SUM, d, axes, true);
    return vkt_reshape(g, d, shape);
}

/* ---- expand, which is a sum's gradient ---- */

static bool expand_shape(vkt_node *n)
{
    vkt_shape to = n->attr.window.shape, both;
    if (to.rank > VKT_MAX_RANK || !vkt__broadcast(n->in[0]->shape, to, &both) ||
        !vkt__shape_equal(both, to)) {
        char text[96];
        return vkt__shape_error(n, "%s can't become %s: only sizes of 1 are repeated",
                                vkt__text(n->in[0]), vkt_shape_text(to, n->in[0]->dtype, text));
    }
    vkt__out(n, 0, to, vkt__moved_type(n->in[0]));
    return true;
}

static void expand_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__strides s = vkt__strides_as(n->in[0]->shape, n->out[0]->shape);
    vkt__nd_copy(rec, n, &s, 0);
}

static void expand_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt__strides s = vkt__strides_as(n->in[0]->shape, n->out[0]->shape);
    vkt__nd_copy_ref(n, &s, 0, in[0], out[0]);
}

static void expand_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[0]))
        dx[0] = vkt__sum_to(g, vkt__real(g, dy[0], n->out[0]), n->in[0]->shape);
}

static const char *expand_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        vkt_shape x, y;
        vkt_dtype dtype;
    } s[] = {
        { "rows", { 1, { 129 } }, { 2, { 7, 129 } }, VKT_F32 },
        { "columns", { 2, { 33, 1 } }, { 2, { 33, 20 } }, VKT_F32 },
        { "in turns", { 6, { 2, 1, 3, 1, 4, 1 } }, { 6, { 2, 3, 3, 2, 4, 6 } }, VKT_F32 },
        { "one number", { 1, { 1 } }, { 3, { 3, 5, 70 } }, VKT_F32 },
        { "whole numbers", { 2, { 1, 9 } }, { 3, { 4, 5, 9 } }, VKT_U32 },
        { "to nothing", { 2, { 1, 4 } }, { 2, { 0, 4 } }, VKT_F32 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    bool words = s[i].dtype == VKT_U32;
    vkt_expand(g,
               vkt__sample(g, s[i].x, s[i].dtype, words ? VKT_HINT_INDEX : VKT_HINT_NORMAL, 1000),
               s[i].y);
    return s[i].name;
}

const vkt_op vkt__op_expand = { .name = "expand",
                                .n_in = 1,
                                .n_out = 1,
                                .in = { VKT_WORDS | VKT_NARROW | VKT_NARROW_ODD },
                                .out = { VKT_NARROW },
                                .shape = expand_shape,
                                .record = expand_record,
                                .grad = expand_grad,
                                .ref = expand_ref,
                                .terms = vkt__no_terms,
                                .sample = expand_sample };

vkt_tensor *vkt_expand(vkt_graph *g, vkt_tensor *x, vkt_shape shape)
{
    if (!x->inert && vkt__shape_equal(x->shape, shape)) return x;
    return vkt__op(g, &vkt__op_expand, &x, 1, (vkt_attr) { .window = { .shape = shape } });
}

/* ---- softmax ---- */

/* fn of x and of the logarithm of the sum of its exp over the axis. */
static vkt_tensor *with_log_sum(vkt_graph *g, vkt_tensor *x, uint32_t axis, vkt_fn2 fn)
{
    if (x->inert || x->count == 0) return x;
    uint32_t axes = axis < VKT_MAX_RANK ? 1u << axis : 1u << VKT_MAX_RANK;
    return vkt_binary(g, fn, x, vkt_reduce(g, VKT_REDUCE_LOGSUMEXP, x, axes, true));
}

vkt_tensor *vkt_softmax_axis(vkt_graph *g, vkt_tensor *x, uint32_t axis)
{
    if (!x->inert && axis + 1 == x->shape.rank) return vkt_softmax(g, x);
    return with_log_sum(g, x, axis, VKT_FN2_EXP_SUB);
}

vkt_tensor *vkt_log_softmax(vkt_graph *g, vkt_tensor *x, uint32_t axis)
{
    return with_log_sum(g, x, axis, VKT_FN2_SUB);
}
