/* ONNX's ops that take or put elements at places, which tensors or constants name. */
#include "onnx/onnx_op.h"

static uint64_t product_of(const int64_t *dims, uint32_t from, uint32_t to)
{
    uint64_t n = 1;
    for (uint32_t k = from; k < to; k++) n *= (uint64_t)dims[k];
    return n;
}

/* The last axis of ids names a place in axes `from` to `from + depth` of dims: its number in a line
 * of all of them, [rows] u32. Exact below 2^24. */
static vkt_tensor *line_ids(vkt__onnx_build *b, vkt__onnx_value *ids, const int64_t *dims,
                            uint32_t from, uint32_t depth)
{
    uint32_t rows = (uint32_t)(vkt__onnx_count(ids) / depth);
    uint64_t stride = product_of(dims, from, from + depth);
    if (stride >= 1 << 24) vkt__onnx_refuse(b, "places among %llu", (unsigned long long)stride);
    vkt_tensor *x = vkt_reshape(b->g, vkt__onnx_first(b, ids), vkt_shape2(rows, depth)),
               *sum = NULL, *none = vkt_fill(b->g, vkt_shape1(1), 0);
    for (uint32_t k = 0; k < depth; k++) {
        int64_t size = dims[from + k];
        stride /= (uint64_t)VKT_MAX(size, 1);
        vkt_tensor *one = vkt_slice(b->g, x, (uint32_t[]) { 0, k }, (uint32_t[]) { rows, 1 }, NULL);
        vkt_tensor *back =
            vkt_binary(b->g, VKT_FN2_ADD, one, vkt_fill(b->g, vkt_shape1(1), (float)size));
        one = vkt_where(b->g, vkt_binary(b->g, VKT_FN2_LT, one, none), back, one);
        one = vkt_scale(b->g, one, (float)stride);
        sum = sum ? vkt_add(b->g, sum, one) : one;
    }
    return vkt_cast(b->g, vkt_reshape(b->g, sum, vkt_shape1(rows)), VKT_U32);
}

/* [batch, rows] as ids of [batch, rows, each] along axis 1. */
static vkt_tensor *widened(vkt__onnx_build *b, vkt_tensor *ids, uint32_t batch, uint32_t rows,
                           uint32_t each)
{
    ids = vkt_reshape(b->g, ids, vkt_shape3(batch, rows, 1));
    return vkt_expand(b->g, ids, vkt_shape3(batch, rows, each));
}

static void build_gather_nd(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0), *ids = vkt__onnx_need(b, 1);
    int64_t batches = vkt__onnx_int(b, "batch_dims", 0), dims[2 * VKT__ONNX_RANK];
    int64_t depth = ids->rank ? ids->dims[ids->rank - 1] : 0;
    uint32_t rank = 0;
    if (batches < 0 || batches >= ids->rank || depth < 1 || batches + depth > v->rank ||
        !vkt__onnx_count(ids))
        vkt__onnx_refuse(b, "its ids do not name places");
    for (uint32_t k = 0; k < (uint32_t)VKT_MAX(batches, 0) && b->st == VKT_OK; k++)
        if (ids->dims[k] != v->dims[k]) vkt__onnx_refuse(b, "its batches differ");
    vkt__onnx_shape(b, v->dims, v->rank);
    if (b->st != VKT_OK) return;
    uint32_t from = (uint32_t)batches, deep = (uint32_t)depth;
    for (uint32_t k = 0; k + 1 < ids->rank; k++) dims[rank++] = ids->dims[k];
    for (uint32_t k = from + deep; k < v->rank; k++) dims[rank++] = v->dims[k];
    uint32_t batch = (uint32_t)product_of(v->dims, 0, from),
             places = (uint32_t)product_of(v->dims, from, from + deep),
             each = (uint32_t)product_of(v->dims, from + deep, v->rank),
             rows = (uint32_t)(vkt__onnx_count(ids) / deep / batch);
    vkt_shape out = vkt__onnx_shape(b, dims, rank);
    vkt_tensor *line = line_ids(b, ids, v->dims, from, deep);
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt_reshape(b->g, vkt__onnx_first(b, v), vkt_shape3(batch, places, each));
    x = vkt_gather(b->g, x, widened(b, line, batch, rows, each), 1);
    x = vkt_reshape(b->g, x, out);
    if (rank)
        vkt__onnx_give(b, 0, x, v->type);
    else
        vkt__onnx_give_rank0(b, 0, x, v->type);
}

/* x where nothing is put, else what is put there (or the sum with it): each place gets at most one
 * where they are not added. */
static vkt_tensor *put(vkt__onnx_build *b, vkt_tensor *x, vkt_tensor *updates, vkt_tensor *ids,
                       uint32_t axis, const char *how)
{
    uint32_t size = vkt_tensor_shape(x).d[axis];
    vkt_tensor *sum = vkt_scatter_add(b->g, updates, ids, axis, size);
    if (!strcmp(how, "add")) return vkt_add(b->g, x, sum);
    vkt_tensor *ones = vkt_fill(b->g, vkt_tensor_shape(updates), 1);
    return vkt_where(b->g, vkt_scatter_add(b->g, ones, ids, axis, size), sum, x);
}

static bool check_how(vkt__onnx_build *b, const char *how)
{
    bool ok = !strcmp(how, "none") || !strcmp(how, "add");
    if (!ok) vkt__onnx_refuse(b, "reduction %s is not supported", vkt__show(how).s);
    return ok;
}

static void build_scatter_nd(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0), *ids = vkt__onnx_need(b, 1),
                    *by = vkt__onnx_need(b, 2);
    const char *how = vkt__onnx_word(b, "reduction", "none");
    int64_t depth = ids->rank ? ids->dims[ids->rank - 1] : 0;
    if (depth < 1 || depth > v->rank || !vkt__onnx_count(ids))
        vkt__onnx_refuse(b, "its ids do not name places");
    vkt__onnx_shape(b, v->dims, v->rank);
    if (b->st != VKT_OK || !check_how(b, how)) return;
    uint32_t deep = (uint32_t)depth, places = (uint32_t)product_of(v->dims, 0, deep),
             each = (uint32_t)product_of(v->dims, deep, v->rank),
             rows = (uint32_t)(vkt__onnx_count(ids) / deep);
    if (vkt__onnx_count(by) != (uint64_t)rows * each)
        vkt__onnx_refuse(b, "its updates are not as many as its ids say");
    vkt_tensor *line = line_ids(b, ids, v->dims, 0, deep);
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt_reshape(b->g, vkt__onnx_first(b, v), vkt_shape3(1, places, each)),
               *u = vkt_reshape(b->g, vkt__onnx_first(b, by), vkt_shape3(1, rows, each));
    x = put(b, x, u, widened(b, line, 1, rows, each), 1, how);
    vkt__onnx_give(b, 0, vkt_reshape(b->g, x, vkt__onnx_shape(b, v->dims, v->rank)), v->type);
}

static void build_scatter_elements(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0), *ids = vkt__onnx_need(b, 1),
                    *by = vkt__onnx_need(b, 2);
    const char *how = vkt__onnx_word(b, "reduction", "none");
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), v->rank),
             before[VKT_MAX_RANK] = { 0 }, after[VKT_MAX_RANK] = { 0 };
    bool fewer = false;
    vkt__onnx_shape(b, v->dims, v->rank);
    if (ids->rank != v->rank || by->rank != v->rank || !vkt__onnx_count(ids))
        vkt__onnx_refuse(b, "its ids and updates have another rank");
    for (uint32_t k = 0; k < v->rank && b->st == VKT_OK; k++) {
        if (ids->dims[k] != by->dims[k] || (k != axis && ids->dims[k] > v->dims[k]))
            vkt__onnx_refuse(b, "its ids and updates do not fit");
        if (k != axis && ids->dims[k] < v->dims[k]) fewer = true;
        if (k != axis) after[k] = (uint32_t)(v->dims[k] - ids->dims[k]);
    }
    if (b->st != VKT_OK || !check_how(b, how)) return;
    vkt_tensor *x = vkt__onnx_first(b, v), *u = vkt__onnx_first(b, by),
               *t = vkt__onnx_ids(b, ids, v->dims[axis]);
    if (fewer) { /* what is filled up names a place past the end */
        u = vkt_pad(b->g, u, before, after, 0);
        t = vkt_pad(b->g, vkt_cast(b->g, t, VKT_F32), before, after, (float)v->dims[axis]);
        t = vkt_cast(b->g, t, VKT_U32);
    }
    vkt__onnx_give(b, 0, put(b, x, u, t, axis, how), v->type);
}

/* ---- known places ---- */

static void fold_non_zero(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_host *x = vkt__onnx_need(b, 0)->host;
    int64_t dims[] = { VKT_MAX(x->rank, 1), 0 };
    for (uint64_t i = 0; i < x->count; i++) dims[1] += vkt__onnx_host_number(x, i) != 0;
    vkt__onnx_host *y = vkt__onnx_host_new(b, dims, 2, true);
    uint64_t n = 0;
    for (uint64_t i = 0; y && i < x->count; i++) {
        uint64_t rest = i;
        if (vkt__onnx_host_number(x, i) == 0) continue;
        for (uint32_t k = x->rank; k-- > 0; rest /= (uint64_t)x->dims[k])
            y->i[k * (uint64_t)dims[1] + n] = (int64_t)(rest % (uint64_t)x->dims[k]);
        n++;
    }
    vkt__onnx_give_host(b, 0, y, VKT__ONNX_INT64);
}

static void build_non_zero(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_refuse(b, "it depends on what the net computes");
}

static void build_compress(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    const vkt__onnx_host *which = vkt__onnx_need(b, 1)->host;
    bool flat = !vkt__onnx_attr_of(b->n, "axis");
    uint32_t axis = flat ? 0 : vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), v->rank);
    int64_t n = 0, size = flat ? (int64_t)vkt__onnx_count(v) : v->dims[axis];
    for (uint64_t i = 0; which && i < which->count; i++)
        n += vkt__onnx_host_number(which, i) != 0 && (int64_t)i < size;
    if (!which || !n) vkt__onnx_refuse(b, "it takes nothing, or what is not known");
    vkt_shape s = flat ? vkt__onnx_shape(b, &size, 1) : vkt__onnx_shape(b, v->dims, v->rank);
    vkt__onnx_host *h = b->st == VKT_OK ? vkt__onnx_host_new(b, &n, 1, true) : NULL;
    if (!h) return;
    n = 0;
    for (uint64_t i = 0; i < which->count && (int64_t)i < size; i++)
        if (vkt__onnx_host_number(which, i) != 0) h->i[n++] = (int64_t)i;
    vkt_tensor *x = vkt_reshape(b->g, vkt__onnx_first(b, v), s),
               *ids = vkt_cast(b->g, vkt__onnx_made(b, "places", h), VKT_U32);
    vkt_shape line = { .rank = s.rank };
    for (uint32_t k = 0; k < s.rank; k++) line.d[k] = k == axis ? (uint32_t)n : 1;
    ids = vkt_reshape(b->g, ids, line);
    s.d[axis] = (uint32_t)n;
    vkt__onnx_give(b, 0, vkt_gather(b->g, x, vkt_expand(b->g, ids, s), axis), v->type);
}

/* Each sequence's first elements, as many as it is long, from the last to the first. What is equal
 * in all of a batch is made for one. */
static void build_reverse(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    const vkt__onnx_host *n = vkt__onnx_need(b, 1)->host;
    uint32_t time = (uint32_t)vkt__onnx_int(b, "time_axis", 0),
             batch = (uint32_t)vkt__onnx_int(b, "batch_axis", 1);
    bool fits = v->rank >= 2 && time < 2 && batch < 2 && time != batch && n &&
                n->count == (uint64_t)v->dims[batch] && n->count && vkt__onnx_count(v),
         same = true;
    for (uint64_t i = 0; fits && i < n->count; i++) {
        double length = vkt__onnx_host_number(n, i);
        fits = length >= 0 && length <= (double)v->dims[time];
        same = same && length == vkt__onnx_host_number(n, 0);
    }
    if (!fits) vkt__onnx_refuse(b, "its lengths do not fit its sequences, or are not known");
    vkt_shape s = vkt__onnx_shape(b, v->dims, v->rank), line = { .rank = s.rank };
    if (b->st != VKT_OK) return;
    int64_t dims[] = { time == 0 || !same ? v->dims[0] : 1, time == 1 || !same ? v->dims[1] : 1 };
    vkt__onnx_host *h = vkt__onnx_host_new(b, dims, 2, true);
    if (!h) return;
    for (int64_t i = 0; i < (int64_t)h->count; i++) {
        int64_t place[] = { i / dims[1], i % dims[1] }, t = place[time],
                length = (int64_t)vkt__onnx_host_number(n, same ? 0 : (uint64_t)place[batch]);
        h->i[i] = t < length ? length - 1 - t : t;
    }
    for (uint32_t k = 0; k < s.rank; k++) line.d[k] = k < 2 ? (uint32_t)dims[k] : 1;
    vkt_tensor *ids = vkt_cast(b->g, vkt__onnx_made(b, "places", h), VKT_U32);
    ids = vkt_expand(b->g, vkt_reshape(b->g, ids, line), s);
    vkt__onnx_give(b, 0, vkt_gather(b->g, vkt__onnx_first(b, v), ids, time), v->type);
}

/* Ones on a diagonal, of the size of the input. */
static void build_eye(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int type = (int)vkt__onnx_int(b, "dtype", v->type);
    int64_t k = vkt__onnx_int(b, "k", 0);
    if (v->rank != 2 || !vkt__onnx_type_bytes(type)) {
        vkt__onnx_refuse(b, "of a tensor of rank %u", v->rank);
        return;
    }
    bool whole = !vkt__onnx_is_float(type);
    vkt__onnx_host *h = vkt__onnx_host_new(b, v->dims, 2, whole);
    for (uint64_t i = 0; h && i < h->count; i++) {
        int64_t off = (int64_t)(i % (uint64_t)v->dims[1]) - (int64_t)(i / (uint64_t)v->dims[1]);
        if (whole)
            h->i[i] = off == k;
        else
            h->d[i] = off == k;
    }
    vkt__onnx_give_host(b, 0, h, type);
}

/* 1 at the largest element along an axis, the first of equal ones, else 0. */
static void build_hardmax(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    bool old = b->f->opset < 13;
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", old ? 1 : -1), v->rank),
             order[VKT_MAX_RANK] = { 0 };
    vkt_shape s = vkt__onnx_shape(b, v->dims, v->rank), flat = s;
    if (b->st != VKT_OK) return;
    if (old) { /* of all axes from it on, as one */
        flat = vkt_shape2((uint32_t)product_of(v->dims, 0, axis),
                          (uint32_t)product_of(v->dims, axis, v->rank));
        axis = 1;
    }
    vkt_tensor *x = vkt_reshape(b->g, vkt__onnx_first(b, v), flat),
               *y = vkt_one_hot(b->g, vkt_arg(b->g, VKT_REDUCE_MAX, x, axis, false), flat.d[axis]);
    for (uint32_t k = 0; k < flat.rank; k++) order[k] = k < axis ? k : k - 1;
    order[axis] = flat.rank - 1;
    if (flat.rank == 1)
        y = vkt_reshape(b->g, y, flat);
    else if (axis + 1 < flat.rank)
        y = vkt_permute(b->g, y, order);
    vkt__onnx_give(b, 0, vkt_reshape(b->g, y, s), v->type);
}

static void scatter_nd(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    const char *how = vkt__onnx_word(b, "reduction", "none");
    if (!strcmp(how, "none"))
        vkt__onnx_fold_scatter(b, op);
    else
        build_scatter_nd(b, op);
}

#define PUT "each place once, or reduction add; lines of up to 30,000 where updates have a gradient"

const vkt__onnx_op vkt__onnx_place_ops[] = {
    { "GatherND", build_gather_nd, NULL, 0, 0, 0, "gather", "below 2^24 places" },
    { "ScatterND", build_scatter_nd, scatter_nd, 0, 0, 0, "scatter_add, where", PUT },
    { "ScatterElements", build_scatter_elements, NULL, 0, 0, 0, "scatter_add, where", PUT },
    { "Scatter", build_scatter_elements, NULL, 0, 0, 0, "scatter_add, where", PUT },
    { "NonZero", build_non_zero, fold_non_zero, 0, 1, 0, "a constant",
      "only of numbers that are known before the net runs" },
    { "Compress", build_compress, NULL, 0, 2, 0, "gather", "what it takes is known" },
    { "ReverseSequence", build_reverse, NULL, 0, 2, 0, "gather", "its lengths are known" },
    { "EyeLike", build_eye, NULL, 0, 0, 0, "a constant", NULL },
    { "Hardmax", build_hardmax, NULL, 0, 0, 0, "arg, one_hot", NULL },
    { .name = NULL },
};
