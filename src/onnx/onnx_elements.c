/* ONNX's ops on elements: functions of one number and of several, comparisons, casts. They keep the
 * order of axes that their inputs have. */
#include <math.h>

#include "onnx/onnx_op.h"

static vkt_tensor *number(vkt__onnx_build *b, double v)
{
    return vkt_fill(b->g, vkt_shape1(1), (float)v);
}

/* y without its leading dimensions of 1, if it then has the last dimensions of x: sums and products
 * of that form are what rewrites know. Sizes are fixed here; where a batch may grow, as in a model
 * that is exported, its 1 would be lost. */
static vkt_tensor *without_ones(vkt__onnx_build *b, vkt_tensor *x, vkt_tensor *y)
{
    vkt_shape full = vkt_tensor_shape(x), has = vkt_tensor_shape(y), s = { 0 };
    uint32_t k = 0;
    if (has.rank > full.rank || !has.rank || has.d[0] != 1) return y;
    while (k + 1 < has.rank && has.d[k] == 1) k++;
    for (; k < has.rank; k++) s.d[s.rank++] = has.d[k];
    for (k = 1; k <= s.rank; k++)
        if (s.d[s.rank - k] != full.d[full.rank - k]) return y;
    return s.rank < has.rank ? vkt_reshape(b->g, y, s) : y;
}

static vkt_tensor *fn2(vkt__onnx_build *b, vkt_fn2 fn, vkt_tensor *x, vkt_tensor *y)
{
    if (fn == VKT_FN2_ADD || fn == VKT_FN2_MUL) {
        y = without_ones(b, x, y);
        x = without_ones(b, y, x);
    }
    return vkt_binary(b->g, fn, x, y);
}

/* The value as it is, in whichever order it has. */
static vkt_tensor *as_is(vkt__onnx_build *b, vkt__onnx_value *v, bool *last)
{
    *last = vkt__onnx_is_last(v);
    return *last ? v->last : vkt__onnx_first(b, v);
}

/* x clamped to [lo, hi], then that times `scale`. */
static vkt_tensor *elu(vkt__onnx_build *b, vkt_tensor *x, double alpha, double scale)
{
    vkt_tensor *y = vkt_unary(b->g, VKT_FN_ELU, x, (float)alpha, 0);
    return scale == 1 ? y : vkt_scale(b->g, y, (float)scale);
}

static vkt_tensor *celu(vkt__onnx_build *b, vkt_tensor *x)
{
    float alpha = vkt__onnx_float(b, "alpha", 1);
    vkt_tensor *y = vkt_unary(b->g, VKT_FN_ELU, vkt_scale(b->g, x, 1 / alpha), 1, 0);
    return vkt_scale(b->g, y, alpha);
}

static vkt_tensor *ceil_of(vkt__onnx_build *b, vkt_tensor *x)
{
    vkt_tensor *y = vkt_unary(b->g, VKT_FN_NEG, x, 0, 0);
    return vkt_unary(b->g, VKT_FN_NEG, vkt_unary(b->g, VKT_FN_FLOOR, y, 0, 0), 0, 0);
}

/* Between two neighbours the even one is taken: floor((floor(x) + 1) / 2). */
vkt_tensor *vkt__onnx_rounded(vkt__onnx_build *b, vkt_tensor *x)
{
    vkt_tensor *below = vkt_unary(b->g, VKT_FN_FLOOR, x, 0, 0),
               *half = fn2(b, VKT_FN2_EQ, fn2(b, VKT_FN2_SUB, x, below), number(b, 0.5)),
               *even = vkt_scale(b->g, fn2(b, VKT_FN2_ADD, below, number(b, 1)), 0.5f),
               *near = vkt_unary(b->g, VKT_FN_FLOOR, fn2(b, VKT_FN2_ADD, x, number(b, 0.5)), 0, 0);
    even = vkt_scale(b->g, vkt_unary(b->g, VKT_FN_FLOOR, even, 0, 0), 2);
    return vkt_where(b->g, half, even, near);
}

static vkt_tensor *sign_of(vkt__onnx_build *b, vkt_tensor *x)
{
    return fn2(b, VKT_FN2_SUB, fn2(b, VKT_FN2_LT, number(b, 0), x),
               fn2(b, VKT_FN2_LT, x, number(b, 0)));
}

/* 0 up to lambd from 0 on, then x less (or more) the bias. */
static vkt_tensor *shrunk(vkt__onnx_build *b, vkt_tensor *x)
{
    double lambd = (double)vkt__onnx_float(b, "lambd", 0.5f),
           bias = (double)vkt__onnx_float(b, "bias", 0);
    vkt_tensor *up = vkt_mul(b->g, fn2(b, VKT_FN2_SUB, x, number(b, bias)),
                             fn2(b, VKT_FN2_LT, number(b, lambd), x)),
               *down = vkt_mul(b->g, fn2(b, VKT_FN2_ADD, x, number(b, bias)),
                               fn2(b, VKT_FN2_LT, x, number(b, -lambd)));
    return vkt_add(b->g, up, down);
}

static vkt_tensor *infinite(vkt__onnx_build *b, vkt_tensor *x)
{
    vkt_tensor *y = NULL, *most = number(b, 3.4028234e38);
    if (vkt__onnx_int(b, "detect_positive", 1)) y = fn2(b, VKT_FN2_LT, most, x);
    if (vkt__onnx_int(b, "detect_negative", 1)) {
        vkt_tensor *down = fn2(b, VKT_FN2_LT, x, number(b, -3.4028234e38));
        y = y ? fn2(b, VKT_FN2_MAX, y, down) : down;
    }
    return y ? y : fn2(b, VKT_FN2_LT, x, x);
}

static vkt_tensor *plain(vkt__onnx_build *b, int fn, vkt_tensor *x)
{
    static const struct {
        int onnx;
        vkt_fn fn;
    } fns[] = {
        { VKT__ONNX_FN_EXP, VKT_FN_EXP },
        { VKT__ONNX_FN_LOG, VKT_FN_LOG },
        { VKT__ONNX_FN_SQRT, VKT_FN_SQRT },
        { VKT__ONNX_FN_ABS, VKT_FN_ABS },
        { VKT__ONNX_FN_NEG, VKT_FN_NEG },
        { VKT__ONNX_FN_SIN, VKT_FN_SIN },
        { VKT__ONNX_FN_COS, VKT_FN_COS },
        { VKT__ONNX_FN_ERF, VKT_FN_ERF },
        { VKT__ONNX_FN_FLOOR, VKT_FN_FLOOR },
        { VKT__ONNX_FN_SOFTPLUS, VKT_FN_SOFTPLUS },
        { VKT__ONNX_FN_RECIPROCAL, VKT_FN_RECIPROCAL },
        { VKT__ONNX_FN_ASIN, VKT_FN_ASIN },
        { VKT__ONNX_FN_ACOS, VKT_FN_ACOS },
        { VKT__ONNX_FN_ATAN, VKT_FN_ATAN },
        { VKT__ONNX_FN_SINH, VKT_FN_SINH },
        { VKT__ONNX_FN_COSH, VKT_FN_COSH },
        { VKT__ONNX_FN_ASINH, VKT_FN_ASINH },
        { VKT__ONNX_FN_ACOSH, VKT_FN_ACOSH },
        { VKT__ONNX_FN_ATANH, VKT_FN_ATANH },
    };
    static const struct {
        int onnx;
        vkt_act act;
    } acts[] = {
        { VKT__ONNX_FN_RELU, VKT_ACT_RELU },           { VKT__ONNX_FN_SIGMOID, VKT_ACT_SIGMOID },
        { VKT__ONNX_FN_TANH, VKT_ACT_TANH },           { VKT__ONNX_FN_MISH, VKT_ACT_MISH },
        { VKT__ONNX_FN_HARDSWISH, VKT_ACT_HARDSWISH },
    };
    for (size_t i = 0; i < VKT_COUNT(fns); i++)
        if (fns[i].onnx == fn) return vkt_unary(b->g, fns[i].fn, x, 0, 0);
    for (size_t i = 0; i < VKT_COUNT(acts); i++)
        if (acts[i].onnx == fn) return vkt_activate(b->g, x, acts[i].act);
    return NULL;
}

static vkt_tensor *made(vkt__onnx_build *b, int fn, vkt_tensor *x)
{
    float alpha;
    switch (fn) {
    case VKT__ONNX_FN_IDENTITY:
        return x;
    case VKT__ONNX_FN_CEIL:
        return ceil_of(b, x);
    case VKT__ONNX_FN_NOT:
        return fn2(b, VKT_FN2_SUB, number(b, 1), x);
    case VKT__ONNX_FN_SIGN:
        return sign_of(b, x);
    case VKT__ONNX_FN_ROUND:
        return vkt__onnx_rounded(b, x);
    case VKT__ONNX_FN_SHRINK:
        return shrunk(b, x);
    case VKT__ONNX_FN_ISNAN:
        return fn2(b, VKT_FN2_SUB, number(b, 1), fn2(b, VKT_FN2_EQ, x, x));
    case VKT__ONNX_FN_ISINF:
        return infinite(b, x);
    case VKT__ONNX_FN_SOFTSIGN:
        return fn2(b, VKT_FN2_DIV, x,
                   fn2(b, VKT_FN2_ADD, vkt_unary(b->g, VKT_FN_ABS, x, 0, 0), number(b, 1)));
    case VKT__ONNX_FN_TAN:
        return fn2(b, VKT_FN2_DIV, vkt_unary(b->g, VKT_FN_SIN, x, 0, 0),
                   vkt_unary(b->g, VKT_FN_COS, x, 0, 0));
    case VKT__ONNX_FN_GELU:
        return vkt_activate(b->g, x,
                            strcmp(vkt__onnx_word(b, "approximate", "none"), "tanh")
                                ? VKT_ACT_GELU_ERF
                                : VKT_ACT_GELU);
    case VKT__ONNX_FN_LEAKY_RELU:
        return vkt_unary(b->g, VKT_FN_LEAKY_RELU, x, vkt__onnx_float(b, "alpha", 0.01f), 0);
    case VKT__ONNX_FN_ELU:
        return elu(b, x, (double)vkt__onnx_float(b, "alpha", 1), 1);
    case VKT__ONNX_FN_SELU:
        return elu(b, x, (double)vkt__onnx_float(b, "alpha", 1.67326319217681884765625f),
                   (double)vkt__onnx_float(b, "gamma", 1.05070102214813232421875f));
    case VKT__ONNX_FN_CELU:
        return celu(b, x);
    case VKT__ONNX_FN_HARD_SIGMOID:
        x = vkt_scale(b->g, x, vkt__onnx_float(b, "alpha", 0.2f));
        x = fn2(b, VKT_FN2_ADD, x, number(b, (double)vkt__onnx_float(b, "beta", 0.5f)));
        return vkt_unary(b->g, VKT_FN_CLAMP, x, 0, 1);
    case VKT__ONNX_FN_THRESHOLDED:
        alpha = vkt__onnx_float(b, "alpha", 1);
        return vkt_mul(b->g, x, fn2(b, VKT_FN2_LT, number(b, (double)alpha), x));
    case VKT__ONNX_FN_SWISH:
        alpha = vkt__onnx_float(b, "alpha", 1);
        if (alpha == 1) return vkt_activate(b->g, x, VKT_ACT_SILU);
        return vkt_mul(b->g, x, vkt_activate(b->g, vkt_scale(b->g, x, alpha), VKT_ACT_SIGMOID));
    default:
        vkt__onnx_refuse(b, "it is not computed on tensors");
        return x;
    }
}

static void build_unary(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    bool last;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    if (op->fn == VKT__ONNX_FN_IDENTITY) {
        vkt__onnx_give_same(b, v);
        return;
    }
    vkt_tensor *x = as_is(b, v, &last), *y = plain(b, op->fn, x);
    if (!y) y = made(b, op->fn, x);
    bool yes = op->fn == VKT__ONNX_FN_ISNAN || op->fn == VKT__ONNX_FN_ISINF;
    int type = yes ? VKT__ONNX_BOOL : v->type;
    bool none = !v->rank;
    vkt__onnx_give_as(b, 0, y, last, type);
    if (none && b->st == VKT_OK) vkt__onnx_give_rank0(b, 0, y, type);
}

/* A bound that the net computes: one number. */
static vkt_tensor *bounded(vkt__onnx_build *b, size_t i, vkt_fn2 fn, vkt_tensor *x)
{
    vkt__onnx_value *bound = vkt__onnx_in(b, i);
    if (!bound || !bound->type) return x;
    if (vkt__onnx_count(bound) != 1) vkt__onnx_refuse(b, "its bounds are no numbers");
    return fn2(b, fn, x, vkt_reshape(b->g, vkt__onnx_first(b, bound), vkt_shape1(1)));
}

static bool is_computed(vkt__onnx_build *b, size_t i)
{
    const vkt__onnx_value *v = vkt__onnx_in(b, i);
    return v && v->type && !v->host;
}

static void build_clip(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    bool last;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    if (is_computed(b, 1) || is_computed(b, 2)) {
        vkt_tensor *y = as_is(b, v, &last);
        y = bounded(b, 1, VKT_FN2_MAX, y);
        vkt__onnx_give_as(b, 0, bounded(b, 2, VKT_FN2_MIN, y), last, v->type);
        return;
    }
    double lo = vkt__onnx_scalar(b, "min", 1, -3.4e38), hi = vkt__onnx_scalar(b, "max", 2, 3.4e38);
    vkt_tensor *x = as_is(b, v, &last);
    if (lo > hi) lo = hi; /* ONNX: then all are the maximum */
    vkt__onnx_give_as(b, 0, vkt_unary(b->g, VKT_FN_CLAMP, x, (float)lo, (float)hi), last, v->type);
}

/* ---- of several ---- */

/* A value as one of that rank with channels last: dimensions of 1 go before its own. */
static vkt_tensor *last_of_rank(vkt__onnx_build *b, vkt__onnx_value *v, uint32_t rank)
{
    if (v->rank == rank) return vkt__onnx_last(b, v);
    vkt__onnx_value wide = { .type = v->type, .rank = rank, .initializer = -1 };
    for (uint32_t k = 0; k < rank; k++)
        wide.dims[k] = k < rank - v->rank ? 1 : v->dims[k - (rank - v->rank)];
    wide.first = vkt_reshape(b->g, vkt__onnx_first(b, v), vkt__onnx_shape(b, wide.dims, rank));
    return vkt__onnx_last(b, &wide);
}

/* The two in one order. */
static void in_one_order(vkt__onnx_build *b, vkt__onnx_value *x, vkt__onnx_value *y, bool *last,
                         vkt_tensor *t[2])
{
    uint32_t rank = VKT_MAX(x->rank, y->rank);
    bool one = vkt__onnx_count(x) == 1 && x->rank <= 1,
         other = vkt__onnx_count(y) == 1 && y->rank <= 1;
    *last = (vkt__onnx_is_last(x) && x->rank == rank) || (vkt__onnx_is_last(y) && y->rank == rank);
    t[0] = *last && !one ? last_of_rank(b, x, rank) : vkt__onnx_first(b, x);
    t[1] = *last && !other ? last_of_rank(b, y, rank) : vkt__onnx_first(b, y);
}

/* y's shape is x's, or that of x's last dimensions. */
static bool is_tail(vkt_tensor *x, vkt_tensor *y)
{
    vkt_shape s = vkt_tensor_shape(x), t = vkt_tensor_shape(y);
    if (t.rank > s.rank) return false;
    for (uint32_t k = 1; k <= t.rank; k++)
        if (s.d[s.rank - k] != t.d[t.rank - k]) return false;
    return true;
}

/* x sigmoid(x) and x hardsigmoid(x) are one function each. */
static vkt_tensor *gated_by_itself(vkt__onnx_build *b, const vkt__onnx_value *x,
                                   const vkt__onnx_value *gate, vkt_tensor *t)
{
    const vkt__onnx_node *n = gate->by;
    if (!n || n->n_in != 1 || n->in[0] < 0) return NULL;
    const vkt__onnx_value *of = &b->values[n->in[0]];
    if ((of->first != x->first || of->last != x->last) || of->rank != x->rank) return NULL;
    if (!strcmp(n->type, "Sigmoid")) return vkt_activate(b->g, t, VKT_ACT_SILU);
    const vkt__onnx_attr *alpha = vkt__onnx_attr_of(n, "alpha"),
                         *beta = vkt__onnx_attr_of(n, "beta");
    bool sixth = alpha && fabs((double)alpha->f - 1 / 6.0) < 1e-7 && (!beta || beta->f == 0.5f);
    return !strcmp(n->type, "HardSigmoid") && sixth ? vkt_activate(b->g, t, VKT_ACT_HARDSWISH)
                                                    : NULL;
}

/* By a number that is known. */
static vkt_tensor *by_number(vkt__onnx_build *b, int fn, vkt_tensor *x, double v)
{
    if (fn == VKT__ONNX_FN_MUL) return vkt_scale(b->g, x, (float)v);
    if (fn == VKT__ONNX_FN_DIV && v != 0) return vkt_scale(b->g, x, (float)(1 / v));
    if (fn == VKT__ONNX_FN_POW && v == 2) return vkt_mul(b->g, x, x);
    if (fn == VKT__ONNX_FN_POW && v == 3) return vkt_mul(b->g, vkt_mul(b->g, x, x), x);
    if (fn == VKT__ONNX_FN_POW && v == 1) return x;
    if (fn == VKT__ONNX_FN_POW && v == 0.5) return vkt_unary(b->g, VKT_FN_SQRT, x, 0, 0);
    return NULL;
}

static vkt_tensor *binary(vkt__onnx_build *b, int fn, vkt_tensor *x, vkt_tensor *y)
{
    static const struct {
        int onnx;
        vkt_fn2 fn;
        bool swap;
    } fns[] = {
        { VKT__ONNX_FN_ADD, VKT_FN2_ADD, false },
        { VKT__ONNX_FN_SUM, VKT_FN2_ADD, false },
        { VKT__ONNX_FN_MEAN, VKT_FN2_ADD, false },
        { VKT__ONNX_FN_SUB, VKT_FN2_SUB, false },
        { VKT__ONNX_FN_MUL, VKT_FN2_MUL, false },
        { VKT__ONNX_FN_AND, VKT_FN2_MUL, false },
        { VKT__ONNX_FN_DIV, VKT_FN2_DIV, false },
        { VKT__ONNX_FN_POW, VKT_FN2_POW, false },
        { VKT__ONNX_FN_MIN, VKT_FN2_MIN, false },
        { VKT__ONNX_FN_MAX, VKT_FN2_MAX, false },
        { VKT__ONNX_FN_OR, VKT_FN2_MAX, false },
        { VKT__ONNX_FN_EQUAL, VKT_FN2_EQ, false },
        { VKT__ONNX_FN_LESS, VKT_FN2_LT, false },
        { VKT__ONNX_FN_LESS_EQUAL, VKT_FN2_LE, false },
        { VKT__ONNX_FN_GREATER, VKT_FN2_LT, true },
        { VKT__ONNX_FN_GREATER_EQUAL, VKT_FN2_LE, true },
    };
    bool sum = fn == VKT__ONNX_FN_ADD || fn == VKT__ONNX_FN_SUM || fn == VKT__ONNX_FN_MEAN;
    if (sum || fn == VKT__ONNX_FN_MUL) {
        vkt_tensor *(*op)(vkt_graph *, vkt_tensor *, vkt_tensor *) = sum ? vkt_add : vkt_mul;
        if (is_tail(x, y)) return op(b->g, x, y);
        if (is_tail(y, x)) return op(b->g, y, x);
    }
    if (fn == VKT__ONNX_FN_XOR) return fn2(b, VKT_FN2_SUB, number(b, 1), fn2(b, VKT_FN2_EQ, x, y));
    for (size_t i = 0; i < VKT_COUNT(fns); i++)
        if (fns[i].onnx == fn) return fn2(b, fns[i].fn, fns[i].swap ? y : x, fns[i].swap ? x : y);
    vkt__onnx_refuse(b, "it is not computed on tensors");
    return x;
}

/* x / y towards zero, of whole numbers: half more than x is never a multiple of y, so that no
 * rounding of the quotient leads across one. */
static vkt_tensor *whole_quotient(vkt__onnx_build *b, vkt_tensor *x, vkt_tensor *y)
{
    vkt_tensor *ax = vkt_unary(b->g, VKT_FN_ABS, x, 0, 0),
               *ay = vkt_unary(b->g, VKT_FN_ABS, y, 0, 0),
               *q = fn2(b, VKT_FN2_DIV, fn2(b, VKT_FN2_ADD, ax, number(b, 0.5)), ay);
    q = vkt_unary(b->g, VKT_FN_FLOOR, q, 0, 0);
    return fn2(b, VKT_FN2_MUL, q, fn2(b, VKT_FN2_MUL, sign_of(b, x), sign_of(b, y)));
}

/* x - y q: of whole numbers with y's sign, or of any with x's. */
static vkt_tensor *remainder_of(vkt__onnx_build *b, bool whole, vkt_tensor *x, vkt_tensor *y)
{
    vkt_tensor *q;
    bool towards_zero = vkt__onnx_int(b, "fmod", 0) != 0;
    if (towards_zero && whole) {
        q = whole_quotient(b, x, y);
    } else if (whole) { /* floor((x sign(y) + 1/2) / |y|) */
        q = fn2(b, VKT_FN2_ADD, fn2(b, VKT_FN2_MUL, x, sign_of(b, y)), number(b, 0.5));
        q = fn2(b, VKT_FN2_DIV, q, vkt_unary(b->g, VKT_FN_ABS, y, 0, 0));
        q = vkt_unary(b->g, VKT_FN_FLOOR, q, 0, 0);
    } else {
        q = fn2(b, VKT_FN2_DIV, x, y);
        q = vkt_where(b->g, fn2(b, VKT_FN2_LT, q, number(b, 0)), ceil_of(b, q),
                      vkt_unary(b->g, VKT_FN_FLOOR, q, 0, 0));
    }
    return fn2(b, VKT_FN2_SUB, x, fn2(b, VKT_FN2_MUL, y, q));
}

/* Before opset 7 the second operand's axes are those of the first from `axis` on. */
static vkt__onnx_value *aligned(vkt__onnx_build *b, const vkt__onnx_value *x, vkt__onnx_value *y)
{
    const vkt__onnx_attr *axis = b->f->opset < 7 ? vkt__onnx_attr_of(b->n, "axis") : NULL;
    if (!axis || !y->rank || y->rank >= x->rank) return y;
    uint32_t at = vkt__onnx_axis(b, axis->i, x->rank);
    if (at + y->rank > x->rank || b->st != VKT_OK) return y;
    vkt__onnx_value *wide = vkt__arena_alloc(&b->arena, sizeof *wide);
    *wide = (vkt__onnx_value) { .type = y->type, .rank = x->rank - at, .initializer = -1 };
    for (uint32_t k = 0; k < wide->rank; k++) wide->dims[k] = k < y->rank ? y->dims[k] : 1;
    wide->first =
        vkt_reshape(b->g, vkt__onnx_first(b, y), vkt__onnx_shape(b, wide->dims, wide->rank));
    return wide;
}

static bool fits(vkt__onnx_build *b, const vkt__onnx_value *x, const vkt__onnx_value *y)
{
    int64_t dims[VKT__ONNX_RANK];
    uint32_t rank;
    if (vkt__onnx_broadcast(x->dims, x->rank, y->dims, y->rank, dims, &rank)) return true;
    char one[96], two[96];
    vkt__onnx_refuse(b, "shapes %s and %s do not fit together",
                     vkt_shape_text(vkt__onnx_shape(b, x->dims, x->rank), VKT_F32, one),
                     vkt_shape_text(vkt__onnx_shape(b, y->dims, y->rank), VKT_F32, two));
    return false;
}

static void build_binary(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value sum = *vkt__onnx_need(b, 0);
    bool yes = op->fn >= VKT__ONNX_FN_EQUAL && op->fn <= VKT__ONNX_FN_XOR,
         cut = op->fn == VKT__ONNX_FN_DIV || op->fn == VKT__ONNX_FN_MOD;
    int type = sum.type;
    bool whole = !vkt__onnx_is_float(type);
    for (size_t k = 1; k < b->n->n_in && b->st == VKT_OK; k++) {
        vkt__onnx_value *x = aligned(b, &sum, vkt__onnx_need(b, k));
        vkt_tensor *t[2], *y = NULL;
        bool last;
        /* Constants are made as tensors only where no shorter way takes them. */
        if (!fits(b, &sum, x)) return;
        if (x->host && x->host->count == 1 && x->rank <= sum.rank && !sum.host && !(cut && whole)) {
            vkt_tensor *s = as_is(b, &sum, &last);
            y = by_number(b, op->fn, s, vkt__onnx_host_number(x->host, 0));
        } else if (sum.host && sum.host->count == 1 && sum.rank <= x->rank && !x->host &&
                   op->fn == VKT__ONNX_FN_MUL) {
            y = by_number(b, op->fn, as_is(b, x, &last), vkt__onnx_host_number(sum.host, 0));
        }
        if (!y) {
            vkt__onnx_value *first = k == 1 ? vkt__onnx_need(b, 0) : &sum;
            in_one_order(b, first, x, &last, t);
            if (op->fn == VKT__ONNX_FN_MUL && !y) y = gated_by_itself(b, first, x, t[0]);
            if (op->fn == VKT__ONNX_FN_MUL && !y) y = gated_by_itself(b, x, first, t[1]);
            if (op->fn == VKT__ONNX_FN_MOD)
                y = remainder_of(b, whole, t[0], t[1]);
            else if (cut && whole)
                y = whole_quotient(b, t[0], t[1]);
            if (!y) y = binary(b, op->fn, t[0], t[1]);
        }
        bool none = !sum.rank && !x->rank;
        vkt_shape s = vkt_tensor_shape(y);
        sum = (vkt__onnx_value) { .type = type, .rank = none ? 0 : s.rank, .initializer = -1 };
        for (uint32_t i = 0; i < sum.rank; i++)
            sum.dims[i] = s.d[last ? vkt__onnx_last_axis(i, s.rank) : i];
        *(last ? &sum.last : &sum.first) = y;
    }
    if (op->fn == VKT__ONNX_FN_MEAN && b->n->n_in > 1 && b->st == VKT_OK) {
        vkt_tensor **t = sum.last && !sum.first ? &sum.last : &sum.first;
        *t = vkt_scale(b->g, *t, 1 / (float)b->n->n_in);
    }
    sum.type = yes ? VKT__ONNX_BOOL : type;
    sum.by = b->n;
    vkt__onnx_give_same(b, &sum);
}

static void build_where(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v[3];
    vkt_tensor *t[3];
    uint32_t rank = 0;
    bool last = false;
    for (size_t i = 0; i < 3; i++) {
        v[i] = vkt__onnx_need(b, i);
        rank = VKT_MAX(rank, v[i]->rank);
    }
    if (!fits(b, v[0], v[1]) || !fits(b, v[1], v[2]) || !fits(b, v[0], v[2])) return;
    for (size_t i = 0; i < 3; i++) last = last || (vkt__onnx_is_last(v[i]) && v[i]->rank == rank);
    for (size_t i = 0; i < 3; i++)
        t[i] = last && vkt__onnx_count(v[i]) > 1 ? last_of_rank(b, v[i], rank)
                                                 : vkt__onnx_first(b, v[i]);
    vkt__onnx_give_as(b, 0, vkt_where(b->g, t[0], t[1], t[2]), last, v[1]->type);
}

static void build_prelu(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *x = vkt__onnx_need(b, 0), *slope = vkt__onnx_need(b, 1);
    vkt_tensor *t[2];
    bool last;
    if (b->f->opset < 7 && slope->rank == 1 && x->rank > 2) { /* one for each channel */
        vkt__onnx_value *wide = vkt__arena_alloc(&b->arena, sizeof *wide);
        *wide = (vkt__onnx_value) { .type = slope->type, .rank = x->rank - 1, .initializer = -1 };
        for (uint32_t k = 0; k < wide->rank; k++) wide->dims[k] = k ? 1 : slope->dims[0];
        wide->first = vkt_reshape(b->g, vkt__onnx_first(b, slope),
                                  vkt__onnx_shape(b, wide->dims, wide->rank));
        slope = wide;
    }
    if (!fits(b, x, slope)) return;
    in_one_order(b, x, slope, &last, t);
    vkt_tensor *up = vkt_activate(b->g, t[0], VKT_ACT_RELU),
               *down = fn2(b, VKT_FN2_MIN, t[0], number(b, 0));
    vkt_tensor *y = fn2(b, VKT_FN2_ADD, up, fn2(b, VKT_FN2_MUL, down, t[1]));
    vkt__onnx_give_as(b, 0, y, last, x->type);
}

static void build_cast(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int to = op->fn ? vkt__onnx_need(b, 1)->type : (int)vkt__onnx_int(b, "to", VKT__ONNX_FLOAT);
    bool last;
    if (!vkt__onnx_type_bytes(to)) vkt__onnx_refuse(b, "to %s", vkt__onnx_type_name(to));
    bool same = vkt__onnx_is_float(to) || (!vkt__onnx_is_float(v->type) && to != VKT__ONNX_BOOL);
    vkt__onnx_value y = *v;
    if (!same && b->st == VKT_OK) {
        vkt_tensor *x = as_is(b, v, &last);
        if (to == VKT__ONNX_BOOL) {
            x = fn2(b, VKT_FN2_SUB, number(b, 1), fn2(b, VKT_FN2_EQ, x, number(b, 0)));
        } else { /* towards zero */
            vkt_tensor *up = vkt_unary(b->g, VKT_FN_FLOOR, x, 0, 0);
            x = vkt_where(b->g, fn2(b, VKT_FN2_LT, x, number(b, 0)), ceil_of(b, x), up);
        }
        y.first = last ? NULL : x;
        y.last = last ? x : NULL;
        y.by = NULL; /* its numbers are no longer what that node gave */
    }
    y.type = to;
    y.initializer = -1;
    vkt__onnx_give_same(b, &y);
}

/* Active in training alone, whatever the file says. */
static void build_dropout(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    double p = vkt__onnx_scalar(b, "ratio", 1, 0.5);
    bool last;
    if (vkt__onnx_wanted(b, 1) && b->train)
        vkt__onnx_refuse(b, "its mask is used, which is not supported in training");
    if (vkt__onnx_wanted(b, 1) && b->st == VKT_OK)
        vkt__onnx_give(b, 1, vkt_fill(b->g, vkt__onnx_shape(b, v->dims, v->rank), 1),
                       VKT__ONNX_BOOL);
    if (!b->train || p <= 0 || p >= 1) {
        vkt__onnx_give_same(b, v);
        return;
    }
    vkt_tensor *x = as_is(b, v, &last);
    vkt__onnx_give_as(b, 0, vkt_dropout(b->g, x, vkt_step(b->g), (float)p), last, v->type);
}

#define UNARY(name, fn, to)                                                                        \
    {                                                                                              \
        name, build_unary, vkt__onnx_fold_unary, VKT__ONNX_FN_##fn, 0, 0, to, NULL                 \
    }
#define TENSOR(name, fn, to)                                                                       \
    {                                                                                              \
        name, build_unary, NULL, VKT__ONNX_FN_##fn, 0, 0, to, NULL                                 \
    }
#define BINARY(name, fn, to)                                                                       \
    {                                                                                              \
        name, build_binary, vkt__onnx_fold_binary, VKT__ONNX_FN_##fn, 0, 0, to, NULL               \
    }
#define BITS(name, build, fold, fn)                                                                \
    {                                                                                              \
        name, build, vkt__onnx_fold_##fold, VKT__ONNX_FN_##fn, 0, 0, "a constant",                 \
            "only of numbers that are known before the net runs"                                   \
    }

const vkt__onnx_op vkt__onnx_element_ops[] = {
    UNARY("Identity", IDENTITY, "nothing"),
    UNARY("Relu", RELU, "activate"),
    UNARY("Sigmoid", SIGMOID, "activate"),
    UNARY("Tanh", TANH, "activate"),
    TENSOR("Mish", MISH, "activate"),
    TENSOR("HardSwish", HARDSWISH, "activate"),
    TENSOR("Gelu", GELU, "activate"),
    TENSOR("Swish", SWISH, "activate"),
    UNARY("Exp", EXP, "unary"),
    UNARY("Log", LOG, "unary"),
    UNARY("Sqrt", SQRT, "unary"),
    UNARY("Reciprocal", RECIPROCAL, "unary"),
    UNARY("Abs", ABS, "unary"),
    UNARY("Neg", NEG, "unary"),
    UNARY("Sin", SIN, "unary"),
    UNARY("Cos", COS, "unary"),
    UNARY("Tan", TAN, "unary, binary"),
    UNARY("Sinh", SINH, "unary"),
    UNARY("Cosh", COSH, "unary"),
    UNARY("Asin", ASIN, "unary"),
    UNARY("Acos", ACOS, "unary"),
    UNARY("Atan", ATAN, "unary"),
    UNARY("Asinh", ASINH, "unary"),
    UNARY("Acosh", ACOSH, "unary"),
    UNARY("Atanh", ATANH, "unary"),
    UNARY("Erf", ERF, "unary"),
    UNARY("Floor", FLOOR, "unary"),
    UNARY("Ceil", CEIL, "unary"),
    UNARY("Round", ROUND, "unary, where"),
    TENSOR("Shrink", SHRINK, "binary"),
    TENSOR("IsNaN", ISNAN, "binary"),
    TENSOR("IsInf", ISINF, "binary"),
    UNARY("Sign", SIGN, "binary"),
    UNARY("Not", NOT, "binary"),
    BITS("BitwiseNot", build_unary, unary, BIT_NOT),
    TENSOR("Softplus", SOFTPLUS, "unary"),
    TENSOR("Softsign", SOFTSIGN, "unary, binary"),
    TENSOR("LeakyRelu", LEAKY_RELU, "unary"),
    TENSOR("Elu", ELU, "unary"),
    TENSOR("Selu", SELU, "unary, scale"),
    TENSOR("Celu", CELU, "unary, scale"),
    TENSOR("HardSigmoid", HARD_SIGMOID, "scale, unary"),
    TENSOR("ThresholdedRelu", THRESHOLDED, "binary, mul"),
    { "Clip", build_clip, NULL, 0, 6, 0, "unary, or binary", NULL },
    { "PRelu", build_prelu, NULL, 0, 0, 0, "activate, binary", NULL },
    { "Cast", build_cast, vkt__onnx_fold_cast, 0, 0, 0, "nothing, or unary",
      "floats stay float32; whole numbers are exact below 2^24" },
    { "CastLike", build_cast, vkt__onnx_fold_cast, 1, 0, 0, "nothing, or unary",
      "floats stay float32; whole numbers are exact below 2^24" },
    { "Dropout", build_dropout, NULL, 0, 2, 0, "dropout, in training",
      "its mask is no output in training" },
    BINARY("Add", ADD, "add, or binary"),
    BINARY("Sub", SUB, "binary"),
    BINARY("Mul", MUL, "mul, scale or binary"),
    { "Div", build_binary, vkt__onnx_fold_binary, VKT__ONNX_FN_DIV, 0, 0, "scale or binary",
      "whole numbers below 2^22" },
    BINARY("Pow", POW, "binary"),
    BINARY("Min", MIN, "binary"),
    BINARY("Max", MAX, "binary"),
    BINARY("Sum", SUM, "add, or binary"),
    { "Mean", build_binary, NULL, VKT__ONNX_FN_MEAN, 0, 0, "add, scale", NULL },
    { "Mod", build_binary, vkt__onnx_fold_binary, VKT__ONNX_FN_MOD, 0, 0, "binary",
      "whole numbers below 2^22" },
    BINARY("Equal", EQUAL, "binary"),
    BINARY("Less", LESS, "binary"),
    BINARY("LessOrEqual", LESS_EQUAL, "binary"),
    BINARY("Greater", GREATER, "binary"),
    BINARY("GreaterOrEqual", GREATER_EQUAL, "binary"),
    BINARY("And", AND, "binary"),
    BINARY("Or", OR, "binary"),
    BINARY("Xor", XOR, "binary"),
    BITS("BitwiseAnd", build_binary, binary, BIT_AND),
    BITS("BitwiseOr", build_binary, binary, BIT_OR),
    BITS("BitwiseXor", build_binary, binary, BIT_XOR),
    BITS("BitShift", build_binary, binary, SHIFT),
    { "Where", build_where, vkt__onnx_fold_where, 0, 0, 0, "where", NULL },
    { .name = NULL },
};
