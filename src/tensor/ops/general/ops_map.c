/* Functions of one, two and three numbers on tensors that are broadcast, and their gradients. One
 * kernel, nd.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/general/functions.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

static const vkt__fn_row *fn_of(const vkt_node *n)
{
    return &vkt__fns[n->attr.map.fn];
}

static const vkt__fn2_row *fn2_of(const vkt_node *n)
{
    return &vkt__fns2[n->attr.map.fn];
}

/* ---- shapes ---- */

/* The shape to which all operands broadcast. */
static bool map_shape(vkt_node *n)
{
    vkt_shape s = n->in[0]->shape;
    for (uint32_t i = 1; i < n->op->n_in; i++)
        if (!vkt__broadcast(s, n->in[i]->shape, &s))
            return vkt__shape_error(n,
                                    "%s%s%s and %s do not fit: from the last dimension on, sizes "
                                    "are equal or one of them is 1",
                                    n->op == &vkt__op_binary ? fn2_of(n)->name : "",
                                    n->op == &vkt__op_binary ? " of " : "", vkt__text(n->in[0]),
                                    vkt__text(n->in[i]));
    vkt__out(n, 0, s, VKT_F32);
    return true;
}

/* ---- recording and twins ---- */

static void map_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__nd nd = { .part = n->attr.map.part,
                   .fn = n->attr.map.fn,
                   .x = n->in[0],
                   .y = n->in[1],
                   .w = n->in[2],
                   .z = n->out[0],
                   .shape = n->out[0]->shape,
                   .s = n->attr.map.s,
                   .t = n->attr.map.t };
    for (uint32_t i = 0; i < 3 && n->in[i]; i++)
        nd.strides[i] = vkt__strides_as(n->in[i]->shape, nd.shape);
    vkt__nd_dispatch(rec, &nd);
}

static double element(const vkt_node *n, double x, double y, double w)
{
    double s = (double)n->attr.map.s, t = (double)n->attr.map.t;
    switch (n->attr.map.part) {
    case VKT_ND_UNARY:
        return fn_of(n)->value(x, s, t);
    case VKT_ND_SLOPE:
        return x * fn_of(n)->slope(y, s, t);
    case VKT_ND_BINARY:
        return fn2_of(n)->value(x, y);
    case VKT_ND_SLOPE_X:
        return x * fn2_of(n)->slope[0](y, w);
    case VKT_ND_SLOPE_Y:
        return x * fn2_of(n)->slope[1](y, w);
    case VKT_ND_WHERE:
        return x != 0 ? y : w;
    case VKT_ND_WHERE_X:
        return x != 0 ? y : 0;
    default: /* VKT_ND_WHERE_Y */
        return x != 0 ? 0 : y;
    }
}

static void map_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_shape shape = n->out[0]->shape;
    vkt__strides s[3] = { 0 };
    for (uint32_t i = 0; i < 3 && n->in[i]; i++) s[i] = vkt__strides_as(n->in[i]->shape, shape);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        double v[3] = { 0 };
        for (uint32_t k = 0; k < 3 && n->in[k]; k++) v[k] = in[k][vkt__place_of(shape, &s[k], i)];
        out[0][i] = element(n, v[0], v[1], v[2]);
    }
}

static double unary_terms(const vkt_node *n)
{
    return 4 + fn_of(n)->terms;
}

static double binary_terms(const vkt_node *n)
{
    return 4 + fn2_of(n)->terms;
}

/* ---- gradients ---- */

/* The gradient of a function takes dy before its operands, that of where after the condition. */
enum { X, Y };
enum { CONDITION, THEN, ELSE };

static void unary_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    a.map.part = VKT_ND_SLOPE;
    if (!vkt__needs(n->in[X]) || a.map.fn == VKT_FN_FLOOR) return;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    dx[X] = vkt__op(g, &vkt__op_unary_bwd,
                    (vkt_tensor *[]) { d, fn_of(n)->from_value ? n->out[0] : n->in[X] }, 2, a);
}

static void binary_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr a = n->attr;
    if (fn2_of(n)->compares) return;
    for (uint32_t i = X; i <= Y; i++) {
        if (!vkt__needs(n->in[i])) continue;
        vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
        a.map.part = i == Y ? VKT_ND_SLOPE_Y : VKT_ND_SLOPE_X;
        bool same = a.map.fn == VKT_FN2_ADD || (a.map.fn == VKT_FN2_SUB && i == X);
        if (!same)
            d = vkt__op(g, &vkt__op_binary_bwd, (vkt_tensor *[]) { d, n->in[X], n->in[Y] }, 3, a);
        dx[i] = vkt__sum_to(g, d, n->in[i]->shape);
    }
}

static void where_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    for (uint32_t i = THEN; i <= ELSE; i++) {
        if (!vkt__needs(n->in[i])) continue;
        vkt_attr a = { .map = { .part = i == THEN ? VKT_ND_WHERE_X : VKT_ND_WHERE_Y } };
        vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
        d = vkt__op(g, &vkt__op_where_bwd, (vkt_tensor *[]) { n->in[CONDITION], d }, 2, a);
        dx[i] = vkt__sum_to(g, d, n->in[i]->shape);
    }
}

/* ---- samples ---- */

/* Shapes of two operands: equal, repeated in every way, and all dimensions there are. */
static const struct {
    const char *name;
    vkt_shape x, y;
} shapes[] = {
    { "alike", { 2, { 7, 129 } }, { 2, { 7, 129 } } },
    { "a row and a column", { 2, { 1, 33 } }, { 2, { 19, 1 } } },
    { "even rows", { 2, { 18, 34 } }, { 2, { 1, 34 } } },
    { "of fewer dimensions", { 1, { 5 } }, { 3, { 2, 3, 5 } } },
    { "one number", { 1, { 1 } }, { 3, { 3, 1, 127 } } },
    { "six", { 6, { 2, 1, 3, 1, 2, 6 } }, { 6, { 1, 3, 3, 2, 1, 6 } } },
    { "in turns", { 6, { 2, 1, 3, 1, 5, 1 } }, { 6, { 1, 2, 1, 3, 1, 4 } } },
    { "many groups", { 3, { 3, 1, 1001 } }, { 3, { 1, 3, 1001 } } },
    { "empty", { 2, { 0, 5 } }, { 2, { 1, 5 } } },
};

static vkt_tensor *sample(vkt_graph *g, vkt_shape s, bool positive)
{
    return vkt__sample(g, s, VKT_F32, positive ? VKT_HINT_POSITIVE : VKT_HINT_NORMAL, 0);
}

static vkt_tensor *between(vkt_graph *g, vkt_tensor *x, float from, float to)
{
    x = vkt_scale(g, vkt_activate(g, x, VKT_ACT_SIGMOID), to - from);
    return vkt_add(g, x, vkt_fill(g, vkt_shape1(vkt__last(x->shape)), from));
}

static const char *unary_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    bool back = op == &vkt__op_unary_bwd;
    if (i > VKT__N_FNS) return NULL;
    const vkt__fn_row *f = &vkt__fns[i % VKT__N_FNS];
    vkt_shape s = i == VKT__N_FNS ? vkt_shape2(0, 3)
                  : i % 2         ? vkt_shape2(9, 130)
                                  : vkt_shape1(1027);
    vkt_attr a = { .map = { back ? VKT_ND_SLOPE : VKT_ND_UNARY, i % VKT__N_FNS, f->s, f->t } };
    vkt_tensor *x = sample(g, s, f->positive);
    if (f->from < f->to)
        x = between(g, x, f->from, f->to);
    else if (!f->positive && i % VKT__N_FNS)
        x = vkt_scale(g, x, 3.0f);
    vkt__op(g, op, (vkt_tensor *[]) { back ? sample(g, s, false) : x, x }, back ? 2 : 1, a);
    return i == VKT__N_FNS ? "empty" : f->name;
}

/* Every function on the first shapes; each shape once more. */
static const char *binary_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    bool back = op == &vkt__op_binary_bwd;
    uint32_t fn = i < VKT__N_FNS2 ? i : VKT_FN2_DIV, at = i < VKT__N_FNS2 ? i % 3 : i - VKT__N_FNS2;
    if (at >= VKT_COUNT(shapes)) return NULL;
    const vkt__fn2_row *f = &vkt__fns2[fn];
    vkt_shape z;
    vkt__broadcast(shapes[at].x, shapes[at].y, &z);
    bool ties = fn == VKT_FN2_EQ || fn == VKT_FN2_LE;
    vkt_tensor *x = sample(g, shapes[at].x, f->positive), *y = sample(g, shapes[at].y, f->positive);
    if (ties) x = vkt_scale(g, x, 0), y = vkt_scale(g, y, 0);
    for (uint32_t part = VKT_ND_SLOPE_X; back && part <= VKT_ND_SLOPE_Y; part++)
        vkt__op(g, op, (vkt_tensor *[]) { sample(g, z, false), x, y }, 3,
                (vkt_attr) { .map = { part, fn, 0, 0 } });
    if (!back)
        vkt__op(g, op, (vkt_tensor *[]) { x, y }, 2,
                (vkt_attr) { .map = { VKT_ND_BINARY, fn, 0, 0 } });
    return i < VKT__N_FNS2 ? f->name : shapes[at].name;
}

static vkt_tensor *condition(vkt_graph *g, vkt_shape s)
{
    return vkt__sample(g, s, VKT_F32, VKT_HINT_INDEX, 2);
}

static const char *where_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(shapes)) return NULL;
    vkt_shape x = shapes[i].x, y = shapes[i].y, z;
    vkt__broadcast(x, y, &z);
    if (op == &vkt__op_where)
        vkt_where(g, condition(g, x), sample(g, y, false), sample(g, i % 2 ? z : x, false));
    for (uint32_t part = VKT_ND_WHERE_X; op != &vkt__op_where && part <= VKT_ND_WHERE_Y; part++)
        vkt__op(g, op, (vkt_tensor *[]) { condition(g, x), sample(g, z, false) }, 2,
                (vkt_attr) { .map = { .part = part } });
    return shapes[i].name;
}

/* ---- convert: between whole numbers and floats ---- */

static bool convert_shape(vkt_node *n)
{
    bool words = n->in[0]->dtype == VKT_U32;
    n->attr.map.part = words ? VKT_ND_FLOATS : VKT_ND_WORDS;
    vkt__out(n, 0, n->in[0]->shape, words ? VKT_F32 : VKT_U32);
    return true;
}

static void convert_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        double x = in[0][i], most = UINT32_MAX;
        out[0][i] = n->attr.map.part == VKT_ND_FLOATS ? x : x > most ? most : x > 0 ? floor(x) : 0;
    }
}

static const char *convert_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        vkt_shape x;
        uint32_t most; /* 0: floats */
        float scale;
    } s[] = {
        { "whole numbers", { 2, { 9, 131 } }, 70000, 0 },
        { "large ones", { 1, { 1026 } }, UINT32_MAX, 0 },
        { "floats", { 2, { 9, 131 } }, 0, 300.0f },
        { "past the largest", { 1, { 130 } }, 0, 1e10f },
        { "empty", { 2, { 0, 3 } }, 0, 1.0f },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_tensor *x = vkt__sample(g, s[i].x, s[i].most ? VKT_U32 : VKT_F32,
                                s[i].most ? VKT_HINT_INDEX : VKT_HINT_NORMAL, s[i].most);
    if (!s[i].most) x = vkt_scale(g, x, s[i].scale);
    vkt__op(g, &vkt__op_convert, &x, 1, (vkt_attr) { 0 });
    return s[i].name;
}

/* ---- one_hot: ids [.., 1] -> [.., n] ---- */

static bool one_hot_shape(vkt_node *n)
{
    vkt_shape s = n->in[0]->shape;
    if (s.rank == 0 || vkt__last(s) != 1 || n->attr.along.size == 0)
        return vkt__shape_error(n, "%s in %u classes: ids are [.., 1], classes at least one",
                                vkt__text(n->in[0]), n->attr.along.size);
    s.d[s.rank - 1] = n->attr.along.size;
    vkt__out(n, 0, s, VKT_F32);
    return true;
}

static void one_hot_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape shape = n->out[0]->shape;
    vkt__nd nd = { .part = VKT_ND_HOT,
                   .x = n->in[0],
                   .z = n->out[0],
                   .shape = shape,
                   .strides = { vkt__strides_as(n->in[0]->shape, shape) } };
    vkt__nd_dispatch(rec, &nd);
}

static void one_hot_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t classes = n->attr.along.size;
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[0][i] = in[0][i / classes] == (double)(i % classes);
}

static const char *one_hot_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        vkt_shape ids;
        uint32_t n;
    } s[] = {
        { "classes", { 1, { 37 } }, 10 }, { "an odd number", { 2, { 5, 7 } }, 33 },
        { "many", { 1, { 3 } }, 2050 },   { "one class", { 1, { 19 } }, 1 },
        { "one id", { 1, { 1 } }, 129 },  { "six", { 5, { 2, 1, 3, 2, 2 } }, 6 },
        { "empty", { 1, { 0 } }, 4 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    /* one id more than there are classes */
    vkt_one_hot(g, vkt__sample(g, s[i].ids, VKT_U32, VKT_HINT_INDEX, s[i].n + 1), s[i].n);
    return s[i].name;
}

/* ---- rows and builders ---- */

#define FLOATS (VKT_NARROW | VKT_NARROW_ODD)
#define MAP(NAME, N, ...)                                                                          \
    {                                                                                              \
        .name = NAME, .n_in = N, .n_out = 1,                                                       \
        .in = { FLOATS, (N) > 1 ? FLOATS : 0, (N) > 2 ? FLOATS : 0 }, .out = { VKT_NARROW },       \
        .shape = map_shape, .record = map_record, .ref = map_ref, __VA_ARGS__                      \
    }
const vkt_op vkt__op_unary =
    MAP("unary", 1, .grad = unary_grad, .terms = unary_terms, .sample = unary_sample);
const vkt_op vkt__op_unary_bwd = MAP("unary_bwd", 2, .terms = unary_terms, .sample = unary_sample);
const vkt_op vkt__op_binary =
    MAP("binary", 2, .grad = binary_grad, .terms = binary_terms, .sample = binary_sample);
const vkt_op vkt__op_binary_bwd =
    MAP("binary_bwd", 3, .terms = binary_terms, .sample = binary_sample);
const vkt_op vkt__op_where = MAP("where", 3, .grad = where_grad, .sample = where_sample);
const vkt_op vkt__op_where_bwd = MAP("where_bwd", 2, .sample = where_sample);

const vkt_op vkt__op_convert = { .name = "convert",
                                 .n_in = 1,
                                 .n_out = 1,
                                 .in = { VKT_WORDS | VKT_NARROW | VKT_NARROW_ODD },
                                 .shape = convert_shape,
                                 .record = map_record,
                                 .ref = convert_ref,
                                 .sample = convert_sample };
const vkt_op vkt__op_one_hot = { .name = "one_hot",
                                 .n_in = 1,
                                 .n_out = 1,
                                 .in = { VKT_WORDS },
                                 .shape = one_hot_shape,
                                 .record = one_hot_record,
                                 .ref = one_hot_ref,
                                 .terms = vkt__no_terms,
                                 .sample = one_hot_sample };

vkt_tensor *vkt_one_hot(vkt_graph *g, vkt_tensor *ids, uint32_t n)
{
    vkt_shape s = ids->shape;
    if (ids->inert) return ids;
    if (s.rank < VKT_MAX_RANK) s.d[s.rank++] = 1; /* else the row says what is wrong */
    if (s.rank > ids->shape.rank) ids = vkt_reshape(g, ids, s);
    return vkt__op(g, &vkt__op_one_hot, &ids, 1, (vkt_attr) { .along = { .size = n } });
}

vkt_tensor *vkt_unary(vkt_graph *g, vkt_fn fn, vkt_tensor *x, float s, float t)
{
    return vkt__op(g, &vkt__op_unary, &x, 1,
                   (vkt_attr) { .map = { VKT_ND_UNARY, (uint32_t)fn, s, t } });
}

/* Whether y has x's shape or that of its last dimensions: eltwise.comp's way, which rewrites know.
 */
static bool is_plain(const vkt_tensor *x, const vkt_tensor *y)
{
    if (x->inert || y->inert || y->shape.rank > x->shape.rank) return false;
    for (uint32_t k = 1; k <= y->shape.rank; k++)
        if (x->shape.d[x->shape.rank - k] != y->shape.d[y->shape.rank - k]) return false;
    return true;
}

vkt_tensor *vkt_binary(vkt_graph *g, vkt_fn2 fn, vkt_tensor *x, vkt_tensor *y)
{
    if (fn == VKT_FN2_ADD && is_plain(x, y)) return vkt_add(g, x, y);
    if (fn == VKT_FN2_ADD && is_plain(y, x)) return vkt_add(g, y, x);
    if (fn == VKT_FN2_MUL && is_plain(x, y)) return vkt_mul(g, x, y);
    if (fn == VKT_FN2_MUL && is_plain(y, x)) return vkt_mul(g, y, x);
    return vkt__op(g, &vkt__op_binary, (vkt_tensor *[]) { x, y }, 2,
                   (vkt_attr) { .map = { VKT_ND_BINARY, (uint32_t)fn, 0, 0 } });
}

vkt_tensor *vkt_where(vkt_graph *g, vkt_tensor *condition, vkt_tensor *x, vkt_tensor *y)
{
    return vkt__op(g, &vkt__op_where, (vkt_tensor *[]) { condition, x, y }, 3,
                   (vkt_attr) { .map = { .part = VKT_ND_WHERE } });
}
