/* Ops on numbers that are known before the net runs: shapes, and what is computed from them. */
#include <math.h>

#include "onnx/onnx_op.h"

static vkt__onnx_host *new_like(vkt__onnx_build *b, const vkt__onnx_host *x, bool whole)
{
    return vkt__onnx_host_new(b, x->dims, x->rank, whole);
}

static const vkt__onnx_host *host_in(vkt__onnx_build *b, size_t i)
{
    const vkt__onnx_host *h = vkt__onnx_need(b, i)->host;
    VKT_ASSERT(h || b->st != VKT_OK);
    return h ? h : vkt__onnx_host_new(b, (int64_t[]) { 1 }, 1, true);
}

/* v as a whole number of that type has it: its lowest bits. */
static int64_t wrapped(int type, int64_t v)
{
    uint32_t bits = 8 * vkt__onnx_type_bytes(type);
    bool is_signed = type == VKT__ONNX_INT8 || type == VKT__ONNX_INT16 || type == VKT__ONNX_INT32;
    if (!bits || bits == 64 || type == VKT__ONNX_BOOL || vkt__onnx_is_float(type)) return v;
    uint64_t u = (uint64_t)v & ((1ull << bits) - 1);
    return is_signed && u >> (bits - 1) ? (int64_t)u - (int64_t)(1ull << bits) : (int64_t)u;
}

static double unary(vkt__onnx_build *b, int fn, double x)
{
    switch (fn) {
    case VKT__ONNX_FN_RELU:
        return x > 0 ? x : 0;
    case VKT__ONNX_FN_SIGMOID:
        return 1 / (1 + exp(-x));
    case VKT__ONNX_FN_TANH:
        return tanh(x);
    case VKT__ONNX_FN_EXP:
        return exp(x);
    case VKT__ONNX_FN_LOG:
        return log(x);
    case VKT__ONNX_FN_SQRT:
        return sqrt(x);
    case VKT__ONNX_FN_RECIPROCAL:
        return 1 / x;
    case VKT__ONNX_FN_ABS:
        return fabs(x);
    case VKT__ONNX_FN_NEG:
        return -x;
    case VKT__ONNX_FN_SIN:
        return sin(x);
    case VKT__ONNX_FN_COS:
        return cos(x);
    case VKT__ONNX_FN_TAN:
        return tan(x);
    case VKT__ONNX_FN_SINH:
        return sinh(x);
    case VKT__ONNX_FN_COSH:
        return cosh(x);
    case VKT__ONNX_FN_ASIN:
        return asin(x);
    case VKT__ONNX_FN_ACOS:
        return acos(x);
    case VKT__ONNX_FN_ATAN:
        return atan(x);
    case VKT__ONNX_FN_ASINH:
        return asinh(x);
    case VKT__ONNX_FN_ACOSH:
        return acosh(x);
    case VKT__ONNX_FN_ATANH:
        return atanh(x);
    case VKT__ONNX_FN_ERF:
        return erf(x);
    case VKT__ONNX_FN_FLOOR:
        return floor(x);
    case VKT__ONNX_FN_CEIL:
        return ceil(x);
    case VKT__ONNX_FN_ROUND:
        return nearbyint(x);
    case VKT__ONNX_FN_SIGN:
        return (x > 0) - (x < 0);
    case VKT__ONNX_FN_NOT:
        return x == 0;
    case VKT__ONNX_FN_BIT_NOT: /* of whole numbers, which have their own way */
    case VKT__ONNX_FN_IDENTITY:
        return x;
    default:
        vkt__onnx_refuse(b, "it is not computed on constants");
        return 0;
    }
}

void vkt__onnx_fold_unary(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    const vkt__onnx_host *x = host_in(b, 0);
    vkt__onnx_host *y = new_like(b, x, x->whole);
    for (uint64_t i = 0; y && i < y->count && b->st == VKT_OK; i++) {
        double v = unary(b, op->fn, vkt__onnx_host_number(x, i));
        if (!x->whole)
            y->d[i] = v;
        else if (op->fn == VKT__ONNX_FN_IDENTITY)
            y->i[i] = x->i[i];
        else if (op->fn == VKT__ONNX_FN_BIT_NOT)
            y->i[i] = wrapped(vkt__onnx_need(b, 0)->type, ~x->i[i]);
        else
            y->i[i] = fabs(v) < 9e18 ? (int64_t)v : 0;
    }
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

static bool compares(int fn)
{
    return fn >= VKT__ONNX_FN_EQUAL && fn <= VKT__ONNX_FN_XOR;
}

static double of_floats(vkt__onnx_build *b, int fn, double x, double y)
{
    switch (fn) {
    case VKT__ONNX_FN_ADD:
    case VKT__ONNX_FN_SUM:
    case VKT__ONNX_FN_MEAN:
        return x + y;
    case VKT__ONNX_FN_SUB:
        return x - y;
    case VKT__ONNX_FN_MUL:
        return x * y;
    case VKT__ONNX_FN_DIV:
        return x / y;
    case VKT__ONNX_FN_POW:
        return pow(x, y);
    case VKT__ONNX_FN_MIN:
        return fmin(x, y);
    case VKT__ONNX_FN_MAX:
        return fmax(x, y);
    case VKT__ONNX_FN_MOD:
        return vkt__onnx_int(b, "fmod", 0) ? fmod(x, y) : x - floor(x / y) * y;
    case VKT__ONNX_FN_EQUAL:
        return x == y;
    case VKT__ONNX_FN_LESS:
        return x < y;
    case VKT__ONNX_FN_LESS_EQUAL:
        return x <= y;
    case VKT__ONNX_FN_GREATER:
        return x > y;
    case VKT__ONNX_FN_GREATER_EQUAL:
        return x >= y;
    case VKT__ONNX_FN_AND:
        return x != 0 && y != 0;
    case VKT__ONNX_FN_OR:
        return x != 0 || y != 0;
    case VKT__ONNX_FN_XOR:
        return (x != 0) != (y != 0);
    default:
        return 0;
    }
}

/* Wraps, as unsigned numbers do: shapes of liars must not overflow. */
static int64_t of_whole(vkt__onnx_build *b, int fn, int64_t x, int64_t y)
{
    switch (fn) {
    case VKT__ONNX_FN_ADD:
    case VKT__ONNX_FN_SUM:
        return (int64_t)((uint64_t)x + (uint64_t)y);
    case VKT__ONNX_FN_SUB:
        return (int64_t)((uint64_t)x - (uint64_t)y);
    case VKT__ONNX_FN_MUL:
        return (int64_t)((uint64_t)x * (uint64_t)y);
    case VKT__ONNX_FN_MIN:
        return VKT_MIN(x, y);
    case VKT__ONNX_FN_MAX:
        return VKT_MAX(x, y);
    case VKT__ONNX_FN_EQUAL:
        return x == y;
    case VKT__ONNX_FN_BIT_AND:
        return x & y;
    case VKT__ONNX_FN_BIT_OR:
        return x | y;
    case VKT__ONNX_FN_BIT_XOR:
        return x ^ y;
    case VKT__ONNX_FN_SHIFT: {
        bool left = !strcmp(vkt__onnx_word(b, "direction", "LEFT"), "LEFT");
        if (y < 0 || y > 63) return 0;
        return (int64_t)(left ? (uint64_t)x << y : (uint64_t)x >> y);
    }
    case VKT__ONNX_FN_DIV:
    case VKT__ONNX_FN_MOD:
        if (!y || (y == -1 && x == INT64_MIN)) {
            vkt__onnx_refuse(b, "a division by 0");
            return 0;
        }
        if (fn == VKT__ONNX_FN_DIV) return x / y;
        return vkt__onnx_int(b, "fmod", 0) || x % y == 0 || (x < 0) == (y < 0) ? x % y : x % y + y;
    default: {
        double v = of_floats(b, fn, (double)x, (double)y);
        return fabs(v) < 9e18 ? (int64_t)v : 0;
    }
    }
}

/* The element of x that stands at place i of a result of these dims. */
static uint64_t broadcast_at(const vkt__onnx_host *x, const vkt__onnx_host *y, uint64_t i)
{
    uint64_t at = 0, stride = 1;
    for (uint32_t k = 1; k <= y->rank; k++) {
        uint64_t size = (uint64_t)y->dims[y->rank - k], place = i % size;
        i /= size;
        if (k > x->rank) continue;
        uint64_t own = (uint64_t)x->dims[x->rank - k];
        if (own > 1) at += place * stride;
        stride *= own;
    }
    return at;
}

static vkt__onnx_host *broadcast_of(vkt__onnx_build *b, const vkt__onnx_host *x,
                                    const vkt__onnx_host *y, bool whole)
{
    int64_t dims[VKT__ONNX_RANK];
    uint32_t rank;
    if (vkt__onnx_broadcast(x->dims, x->rank, y->dims, y->rank, dims, &rank))
        return vkt__onnx_host_new(b, dims, rank, whole);
    vkt__onnx_refuse(b, "the shapes of its constants do not fit together");
    return NULL;
}

void vkt__onnx_fold_binary(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    const vkt__onnx_host *sum = host_in(b, 0);
    int type = vkt__onnx_need(b, 0)->type;
    for (size_t k = 1; k < b->n->n_in && b->st == VKT_OK; k++) {
        const vkt__onnx_host *x = host_in(b, k);
        bool whole = sum->whole && x->whole, yes = compares(op->fn);
        vkt__onnx_host *y = broadcast_of(b, sum, x, whole || yes);
        for (uint64_t i = 0; y && i < y->count; i++) {
            uint64_t at = broadcast_at(sum, y, i), other = broadcast_at(x, y, i);
            double v = whole ? 0
                             : of_floats(b, op->fn, vkt__onnx_host_number(sum, at),
                                         vkt__onnx_host_number(x, other));
            if (whole && yes)
                y->i[i] = of_whole(b, op->fn, sum->i[at], x->i[other]);
            else if (whole)
                y->i[i] = wrapped(type, of_whole(b, op->fn, sum->i[at], x->i[other]));
            else if (yes)
                y->i[i] = v != 0;
            else
                y->d[i] = v;
        }
        if (y) sum = y;
    }
    vkt__onnx_give_host(b, 0, sum, compares(op->fn) ? VKT__ONNX_BOOL : vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_where(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *c = host_in(b, 0), *x = host_in(b, 1), *y = host_in(b, 2);
    vkt__onnx_host *xy = broadcast_of(b, x, y, x->whole);
    vkt__onnx_host *out = xy ? broadcast_of(b, xy, c, x->whole) : NULL;
    for (uint64_t i = 0; out && i < out->count; i++)
        out->bits[i] = vkt__onnx_host_number(c, broadcast_at(c, out, i)) != 0
                           ? x->bits[broadcast_at(x, out, i)]
                           : y->bits[broadcast_at(y, out, i)];
    if (x->whole != y->whole) vkt__onnx_refuse(b, "its inputs are of different types");
    vkt__onnx_give_host(b, 0, out, vkt__onnx_need(b, 1)->type);
}

void vkt__onnx_fold_cast(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    const vkt__onnx_host *x = host_in(b, 0);
    int to = op->fn ? vkt__onnx_need(b, 1)->type : (int)vkt__onnx_int(b, "to", VKT__ONNX_FLOAT);
    bool whole = !vkt__onnx_is_float(to);
    vkt__onnx_host *y = new_like(b, x, whole);
    if (!vkt__onnx_type_bytes(to)) vkt__onnx_refuse(b, "to %s", vkt__onnx_type_name(to));
    for (uint64_t i = 0; y && i < y->count; i++) {
        double v = vkt__onnx_host_number(x, i);
        if (!whole)
            y->d[i] = v;
        else if (to == VKT__ONNX_BOOL)
            y->i[i] = v != 0;
        else
            y->i[i] = x->whole         ? wrapped(to, x->i[i])
                      : fabs(v) < 9e18 ? wrapped(to, (int64_t)v)
                      : v > 0          ? INT64_MAX
                                       : INT64_MIN;
    }
    vkt__onnx_give_host(b, 0, y, to);
}

void vkt__onnx_fold_gather(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *x = host_in(b, 0), *ids = host_in(b, 1);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), x->rank), rank = 0;
    int64_t dims[2 * VKT__ONNX_RANK];
    uint64_t after = 1;
    if (b->st != VKT_OK || x->rank + ids->rank > VKT__ONNX_RANK + 1) {
        vkt__onnx_refuse(b, "a constant of too high a rank");
        return;
    }
    for (uint32_t k = 0; k < x->rank; k++) {
        if (k > axis) after *= (uint64_t)x->dims[k];
        for (uint32_t j = 0; k == axis && j < ids->rank; j++) dims[rank++] = ids->dims[j];
        if (k != axis) dims[rank++] = x->dims[k];
    }
    vkt__onnx_host *y = vkt__onnx_host_new(b, dims, rank, x->whole);
    for (uint64_t i = 0; y && i < y->count; i++) {
        uint64_t rest = i / after, j = rest % ids->count, before = rest / ids->count;
        int64_t id = (int64_t)vkt__onnx_host_number(ids, j);
        if (id < 0) id += x->dims[axis];
        if (id < 0 || id >= x->dims[axis]) {
            vkt__onnx_refuse(b, "the index %lld of an axis of %lld", (long long)id,
                             (long long)x->dims[axis]);
            return;
        }
        y->bits[i] = x->bits[(before * (uint64_t)x->dims[axis] + (uint64_t)id) * after + i % after];
    }
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_concat(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *x = host_in(b, 0);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), x->rank);
    int64_t dims[VKT__ONNX_RANK] = { 0 };
    if (b->st != VKT_OK) return;
    for (uint32_t k = 0; k < x->rank; k++) dims[k] = k == axis ? 0 : x->dims[k];
    for (size_t i = 0; i < b->n->n_in; i++) {
        const vkt__onnx_host *h = host_in(b, i);
        bool fits = h->rank == x->rank && h->whole == x->whole;
        for (uint32_t k = 0; fits && k < x->rank; k++) fits = k == axis || h->dims[k] == x->dims[k];
        if (!fits) {
            vkt__onnx_refuse(b, "the shapes of its constants do not fit together");
            return;
        }
        dims[axis] += h->dims[axis];
    }
    vkt__onnx_host *y = vkt__onnx_host_new(b, dims, x->rank, x->whole);
    uint64_t after = 1, at = 0;
    if (!y) return;
    for (uint32_t k = axis + 1; k < x->rank; k++) after *= (uint64_t)dims[k];
    uint64_t row = (uint64_t)dims[axis] * after, rows = row ? y->count / row : 0;
    for (size_t i = 0; i < b->n->n_in; i++) {
        const vkt__onnx_host *h = host_in(b, i);
        uint64_t part = (uint64_t)h->dims[axis] * after;
        for (uint64_t r = 0; r < rows; r++)
            memcpy(y->bits + r * row + at, h->bits + r * part, part * sizeof *y->bits);
        at += part;
    }
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

/* y[i] = x[where the strides lead from `start`]. */
static void walk(const vkt__onnx_host *x, vkt__onnx_host *y, int64_t start, const int64_t *strides)
{
    for (uint64_t i = 0; i < y->count; i++) {
        uint64_t rest = i;
        int64_t at = start;
        for (uint32_t k = y->rank; k-- > 0;) {
            at += (int64_t)(rest % (uint64_t)y->dims[k]) * strides[k];
            rest /= (uint64_t)y->dims[k];
        }
        y->bits[i] = x->bits[at];
    }
}

static void strides_of(const vkt__onnx_host *x, int64_t *strides)
{
    int64_t s = 1;
    for (uint32_t k = x->rank; k-- > 0; s *= x->dims[k]) strides[k] = s;
}

void vkt__onnx_fold_slice(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    int64_t first[VKT__ONNX_RANK], count[VKT__ONNX_RANK], step[VKT__ONNX_RANK],
        strides[VKT__ONNX_RANK], start = 0;
    const vkt__onnx_host *x = host_in(b, 0);
    vkt__onnx_slices(b, vkt__onnx_need(b, 0), first, count, step);
    if (b->st != VKT_OK) return;
    vkt__onnx_host *y = vkt__onnx_host_new(b, count, x->rank, x->whole);
    strides_of(x, strides);
    for (uint32_t k = 0; k < x->rank; k++) {
        start += first[k] * strides[k];
        strides[k] *= step[k];
    }
    if (y) walk(x, y, start, strides);
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_transpose(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *x = host_in(b, 0);
    int64_t perm[VKT__ONNX_RANK], own[VKT__ONNX_RANK], strides[VKT__ONNX_RANK],
        dims[VKT__ONNX_RANK];
    int n = vkt__onnx_list(b, "perm", SIZE_MAX, perm, VKT__ONNX_RANK);
    uint32_t seen = 0;
    strides_of(x, own);
    for (uint32_t k = 0; k < x->rank; k++) {
        uint32_t from =
            vkt__onnx_axis(b, n == (int)x->rank ? perm[k] : (int64_t)(x->rank - 1 - k), x->rank);
        dims[k] = x->dims[from];
        strides[k] = own[from];
        if (seen >> from & 1) vkt__onnx_refuse(b, "its order names axis %u twice", from);
        seen |= 1u << from;
    }
    if (b->st != VKT_OK) return;
    vkt__onnx_host *y = vkt__onnx_host_new(b, dims, x->rank, x->whole);
    if (y) walk(x, y, 0, strides);
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_expand(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *x = host_in(b, 0);
    vkt__onnx_host to = { 0 };
    int n = vkt__onnx_list(b, NULL, 1, to.dims, VKT__ONNX_RANK);
    to.rank = (uint32_t)VKT_MAX(n, 0);
    vkt__onnx_host *y = b->st == VKT_OK ? broadcast_of(b, x, &to, x->whole) : NULL;
    for (uint64_t i = 0; y && i < y->count; i++) y->bits[i] = x->bits[broadcast_at(x, y, i)];
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_reshape(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    int64_t dims[VKT__ONNX_RANK];
    const vkt__onnx_host *x = host_in(b, 0);
    uint32_t rank = vkt__onnx_new_dims(b, op, vkt__onnx_need(b, 0), dims);
    if (b->st != VKT_OK) return;
    vkt__onnx_host *y = vkt__onnx_host_new(b, dims, rank, x->whole);
    if (y && y->count != x->count)
        vkt__onnx_refuse(b, "the shape does not hold as many elements");
    else if (y)
        memcpy(y->bits, x->bits, x->count * sizeof *x->bits);
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_reduce(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    const vkt__onnx_host *x = host_in(b, 0);
    uint32_t axes = vkt__onnx_axes(b, vkt__onnx_need(b, 0)), rank = 0;
    bool keep = vkt__onnx_int(b, "keepdims", 1) != 0, product = !strcmp(op->name, "ReduceProd"),
         largest = !strcmp(op->name, "ReduceMax");
    int64_t dims[VKT__ONNX_RANK], kept[VKT__ONNX_RANK];
    if (!product && !largest && strcmp(op->name, "ReduceSum") != 0) {
        vkt__onnx_refuse(b, "it is not computed on constants");
        return;
    }
    for (uint32_t k = 0; k < x->rank; k++) {
        kept[k] = axes >> k & 1 ? 1 : x->dims[k];
        if (keep || !(axes >> k & 1)) dims[rank++] = kept[k];
    }
    vkt__onnx_host *y = vkt__onnx_host_new(b, dims, rank, x->whole);
    if (!y || b->st != VKT_OK) return;
    for (uint64_t i = 0; i < y->count; i++) {
        if (x->whole)
            y->i[i] = product ? 1 : largest ? INT64_MIN : 0;
        else
            y->d[i] = product ? 1 : largest ? -INFINITY : 0;
    }
    vkt__onnx_host to = *y;
    to.rank = x->rank;
    memcpy(to.dims, kept, sizeof kept);
    int fn = product ? VKT__ONNX_FN_MUL : largest ? VKT__ONNX_FN_MAX : VKT__ONNX_FN_ADD;
    for (uint64_t i = 0; i < x->count; i++) {
        uint64_t at = broadcast_at(&to, x, i);
        if (x->whole)
            y->i[at] = of_whole(b, fn, y->i[at], x->i[i]);
        else
            y->d[at] = of_floats(b, fn, y->d[at], x->d[i]);
    }
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

/* Each row of ids is a place in x's first axes, where a slice of the updates goes. */
void vkt__onnx_fold_scatter(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *x = host_in(b, 0), *ids = host_in(b, 1), *by = host_in(b, 2);
    int64_t depth = ids->rank ? ids->dims[ids->rank - 1] : 0;
    vkt__onnx_host *y = new_like(b, x, x->whole);
    if (!y || depth < 1 || depth > x->rank ||
        strcmp(vkt__onnx_word(b, "reduction", "none"), "none")) {
        vkt__onnx_refuse(b, "its ids do not name places, or it adds up");
        return;
    }
    uint64_t each = 1, n = ids->count / (uint64_t)depth;
    for (uint32_t k = (uint32_t)depth; k < x->rank; k++) each *= (uint64_t)x->dims[k];
    if (by->count != n * each || by->whole != x->whole) {
        vkt__onnx_refuse(b, "its updates are not as many as its ids say");
        return;
    }
    memcpy(y->bits, x->bits, (size_t)x->count * sizeof *y->bits);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t id = (int64_t)vkt__onnx_host_number(ids, i * (uint64_t)depth + (uint64_t)k);
            if (id < 0) id += x->dims[k];
            if (id < 0 || id >= x->dims[k]) {
                vkt__onnx_refuse(b, "the index %lld of an axis of %lld", (long long)id,
                                 (long long)x->dims[k]);
                return;
            }
            at = at * (uint64_t)x->dims[k] + (uint64_t)id;
        }
        memcpy(y->bits + at * each, by->bits + i * each, (size_t)each * sizeof *y->bits);
    }
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_range(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *x[] = { host_in(b, 0), host_in(b, 1), host_in(b, 2) };
    double v[3];
    for (int i = 0; i < 3; i++) {
        if (x[i]->count != 1) vkt__onnx_refuse(b, "its inputs must be numbers");
        v[i] = b->st == VKT_OK ? vkt__onnx_host_number(x[i], 0) : 1;
    }
    double n = v[2] != 0 ? ceil((v[1] - v[0]) / v[2]) : -1;
    if (!(n < 1e15) || v[2] == 0) {
        vkt__onnx_refuse(b, "a range without an end");
        return;
    }
    int64_t count = n > 0 ? (int64_t)n : 0;
    vkt__onnx_host *y = vkt__onnx_host_new(b, &count, 1, x[0]->whole);
    for (uint64_t i = 0; y && i < y->count; i++) {
        if (y->whole)
            y->i[i] = (int64_t)(v[0] + (double)i * v[2]);
        else
            y->d[i] = v[0] + (double)i * v[2];
    }
    vkt__onnx_give_host(b, 0, y, vkt__onnx_need(b, 0)->type);
}

void vkt__onnx_fold_filled(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    int64_t dims[VKT__ONNX_RANK];
    int rank = vkt__onnx_list(b, NULL, 0, dims, VKT__ONNX_RANK);
    const vkt__onnx_attr *a = vkt__onnx_attr_of(b->n, "value");
    const vkt__onnx_host *v = NULL;
    if (a && a->tensor) v = vkt__onnx_host_of(b, a->tensor);
    if (b->st != VKT_OK || rank < 0) return;
    if (v && v->count != 1) vkt__onnx_refuse(b, "its value is no number");
    vkt__onnx_host *y = vkt__onnx_host_new(b, dims, (uint32_t)rank, v ? v->whole : false);
    for (uint64_t i = 0; y && b->st == VKT_OK && i < y->count; i++) y->bits[i] = v ? v->bits[0] : 0;
    vkt__onnx_give_host(b, 0, y, v ? a->tensor->type : VKT__ONNX_FLOAT);
}
