/* ONNX's ops that move elements, ask for shapes and make constants. */
#include <math.h>

#include "onnx/onnx_op.h"

/* ---- shapes and constants ---- */

static void build_shape(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t n = v->rank, first = vkt__onnx_int(b, "start", 0), end = vkt__onnx_int(b, "end", n);
    if (op->fn) { /* Size */
        vkt__onnx_host *h = vkt__onnx_host_new(b, NULL, 0, true);
        if (h) h->i[0] = (int64_t)vkt__onnx_count(v);
        vkt__onnx_give_host(b, 0, h, VKT__ONNX_INT64);
        return;
    }
    first = VKT_MIN(VKT_MAX(first < 0 ? first + n : first, 0), n);
    end = VKT_MIN(VKT_MAX(end < 0 ? end + n : end, first), n);
    int64_t count = end - first;
    vkt__onnx_host *h = vkt__onnx_host_new(b, &count, 1, true);
    for (int64_t k = 0; h && k < count; k++) h->i[k] = v->dims[first + k];
    vkt__onnx_give_host(b, 0, h, VKT__ONNX_INT64);
}

static void build_constant(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    const vkt__onnx_attr *a = b->n->n_attrs ? &b->n->attrs[0] : NULL;
    if (a && a->tensor) {
        vkt__onnx_give_host(b, 0, vkt__onnx_host_of(b, a->tensor), a->tensor->type);
        return;
    }
    bool whole = a && !strncmp(a->name, "value_int", 9),
         many = a && *a->name && strchr(a->name, '\0')[-1] == 's';
    if (!a || (!whole && strncmp(a->name, "value_float", 11) != 0)) {
        vkt__onnx_refuse(b, "its value is no number");
        return;
    }
    int64_t n = (int64_t)(whole ? a->n_ints : a->n_floats);
    vkt__onnx_host *h = vkt__onnx_host_new(b, &n, many ? 1 : 0, whole);
    for (uint64_t k = 0; h && k < h->count; k++) {
        if (whole)
            h->i[k] = many ? a->ints[k] : a->i;
        else
            h->d[k] = (double)(many ? a->floats[k] : a->f);
    }
    vkt__onnx_give_host(b, 0, h, whole ? VKT__ONNX_INT64 : VKT__ONNX_FLOAT);
}

static void build_filled(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_refuse(b, "it depends on what the net computes");
}

/* ---- other shapes of the same elements ---- */

static void build_reshape(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    int64_t dims[VKT__ONNX_RANK];
    uint64_t count = 1;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    uint32_t rank = vkt__onnx_new_dims(b, op, v, dims);
    if (b->st != VKT_OK) return;
    for (uint32_t k = 0; k < rank; k++) count *= (uint64_t)dims[k];
    if (count != vkt__onnx_count(v)) {
        char from[96], to[96];
        vkt__onnx_refuse(b, "%s does not hold the elements of %s",
                         vkt_shape_text(vkt__onnx_shape(b, dims, rank), VKT_F32, to),
                         vkt_shape_text(vkt__onnx_shape(b, v->dims, v->rank), VKT_F32, from));
        return;
    }
    bool flat = vkt__onnx_is_last(v) && v->rank == 4 && rank == 2 && dims[0] == v->dims[0];
    vkt_tensor *y;
    if (flat && v->dims[2] * v->dims[3] > 1)
        y = vkt_flatten(b->g, v->last);
    else if (!vkt__onnx_is_last(v) && v->first && vkt_tensor_dtype(v->first) == VKT_U32)
        y = vkt_reshape(b->g, v->first, vkt__onnx_shape(b, dims, rank));
    else
        y = vkt_reshape(b->g, vkt__onnx_first(b, v), vkt__onnx_shape(b, dims, rank));
    if (rank)
        vkt__onnx_give(b, 0, y, v->type);
    else
        vkt__onnx_give_rank0(b, 0, y, v->type);
}

/* A file of channels last moves them in front of a convolution: then nothing is to be done. */
static void build_transpose(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t perm[VKT__ONNX_RANK];
    uint32_t from[VKT__ONNX_RANK] = { 0 }, own[VKT_MAX_RANK], seen = 0;
    int n = vkt__onnx_list(b, "perm", SIZE_MAX, perm, VKT__ONNX_RANK);
    bool last = vkt__onnx_is_last(v), same = true, becomes_last = v->rank > 2 && !last;
    if (v->rank > VKT_MAX_RANK || (n >= 0 && n != (int)v->rank)) {
        vkt__onnx_refuse(b, "its order has %d axes of %u", n, v->rank);
        return;
    }
    for (uint32_t k = 0; k < v->rank; k++) {
        from[k] = vkt__onnx_axis(b, n >= 0 ? perm[k] : (int64_t)(v->rank - 1 - k), v->rank);
        if (seen >> from[k] & 1) vkt__onnx_refuse(b, "its order names an axis twice");
        seen |= 1u << from[k];
        own[k] = last ? vkt__onnx_last_axis(from[k], v->rank) : from[k];
        same = same && own[k] == k;
        becomes_last = becomes_last && vkt__onnx_last_axis(k, v->rank) == from[k];
    }
    if (b->st != VKT_OK) return;
    vkt_tensor *x = last ? v->last : vkt__onnx_first(b, v);
    if (becomes_last)
        vkt__onnx_give_last(b, 0, x, v->type);
    else
        vkt__onnx_give(b, 0, same ? x : vkt_permute(b->g, x, own), v->type);
}

static void build_expand(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t to[VKT__ONNX_RANK], dims[VKT__ONNX_RANK];
    uint32_t rank;
    int n = vkt__onnx_list(b, NULL, 1, to, VKT__ONNX_RANK);
    if (b->st != VKT_OK || n < 0) return;
    if (n && b->written > 0 && to[0] == b->written && n >= (int)v->rank && b->written != b->batch &&
        n == (int)v->rank && v->dims[0] == b->batch)
        to[0] = b->batch;
    if (!vkt__onnx_broadcast(v->dims, v->rank, to, (uint32_t)n, dims, &rank)) {
        vkt__onnx_refuse(b, "its shape does not fit");
        return;
    }
    vkt_shape s = vkt__onnx_shape(b, dims, rank);
    if (b->st == VKT_OK) vkt__onnx_give(b, 0, vkt_expand(b->g, vkt__onnx_first(b, v), s), v->type);
}

static void build_tile(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t times[VKT__ONNX_RANK];
    uint32_t counts[VKT__ONNX_RANK];
    int n = vkt__onnx_list(b, NULL, 1, times, VKT__ONNX_RANK);
    if (n != (int)v->rank || !n) vkt__onnx_refuse(b, "it has %d repeats of %u axes", n, v->rank);
    for (int k = 0; b->st == VKT_OK && k < n; k++) {
        if (times[k] < 1 || times[k] > 1 << 20)
            vkt__onnx_refuse(b, "%lld times", (long long)times[k]);
        counts[k] = (uint32_t)times[k];
    }
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v);
    for (int k = 0; k < n; k++) { /* one by one, as each takes an axis more */
        uint32_t one[VKT__ONNX_RANK];
        for (int j = 0; j < n; j++) one[j] = j == k ? counts[k] : 1;
        if (n < VKT_MAX_RANK && counts[k] > 1) x = vkt_repeat(b->g, x, one);
    }
    if (n == VKT_MAX_RANK) x = vkt_repeat(b->g, x, counts);
    vkt__onnx_give(b, 0, x, v->type);
}

/* ---- parts ---- */

static void build_slice(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t first[VKT__ONNX_RANK], count[VKT__ONNX_RANK], step[VKT__ONNX_RANK];
    uint32_t at[VKT_MAX_RANK], n[VKT_MAX_RANK], by[VKT_MAX_RANK], flips = 0;
    vkt__onnx_slices(b, v, first, count, step);
    vkt__onnx_shape(b, v->dims, v->rank);
    if (b->st != VKT_OK) return;
    bool last = vkt__onnx_is_last(v), none = false;
    for (uint32_t k = 0; k < v->rank; k++) none = none || !count[k];
    if (none) { /* a Concat leaves it out, as PyTorch's roll by 0 needs it */
        vkt__onnx_give_host(b, 0, vkt__onnx_host_new(b, count, v->rank, false), v->type);
        return;
    }
    for (uint32_t k = 0; k < v->rank; k++) {
        uint32_t own = last ? vkt__onnx_last_axis(k, v->rank) : k;
        bool back = step[k] < 0;
        flips |= back ? 1u << own : 0;
        at[own] = (uint32_t)(back ? v->dims[k] - 1 - first[k] : first[k]);
        n[own] = (uint32_t)count[k];
        by[own] = (uint32_t)(back ? -step[k] : step[k]);
    }
    if (b->st != VKT_OK) return;
    bool ids = !last && v->first && vkt_tensor_dtype(v->first) == VKT_U32;
    vkt_tensor *x = last ? v->last : ids ? v->first : vkt__onnx_first(b, v);
    if (flips) x = vkt_flip(b->g, x, flips);
    vkt__onnx_give_as(b, 0, vkt_slice(b->g, x, at, n, by), last, v->type);
}

static void build_split(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    enum { MOST = 256 };
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    int64_t sizes[MOST];
    uint32_t parts[MOST], axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), v->rank);
    vkt_tensor *out[MOST];
    int n = vkt__onnx_list(b, "split", 1, sizes, MOST), n_out = (int)VKT_MIN(b->n->n_out, MOST + 1);
    if (b->st != VKT_OK) return;
    if (n < 0 && n_out >= 1 && n_out <= MOST) {
        int64_t each = (v->dims[axis] + n_out - 1) / n_out;
        for (n = 0; n < n_out; n++) sizes[n] = VKT_MAX(VKT_MIN(each, v->dims[axis] - n * each), 0);
    }
    int64_t all = 0;
    for (int k = 0; k < n; k++) {
        if (sizes[k] < 0 || sizes[k] > INT32_MAX)
            vkt__onnx_refuse(b, "a part of %lld", (long long)sizes[k]);
        all += sizes[k];
        parts[k] = (uint32_t)sizes[k];
    }
    if (n != n_out || all != v->dims[axis])
        vkt__onnx_refuse(b, "its parts are not those of an axis of %lld", (long long)v->dims[axis]);
    if (b->st != VKT_OK) return;
    bool last = vkt__onnx_is_last(v);
    uint32_t own = last ? vkt__onnx_last_axis(axis, v->rank) : axis;
    int type = v->type;
    int64_t dims[VKT__ONNX_RANK];
    uint32_t rank = v->rank;
    memcpy(dims, v->dims, sizeof dims);
    vkt_split_along(b->g, last ? v->last : vkt__onnx_first(b, v), parts, (uint32_t)n, own, out);
    for (int k = 0; k < n; k++) {
        if (parts[k]) {
            vkt__onnx_give_as(b, (size_t)k, out[k], last, type);
        } else { /* a Concat leaves it out */
            dims[axis] = 0;
            vkt__onnx_give_host(b, (size_t)k, vkt__onnx_host_new(b, dims, rank, false), type);
        }
    }
}

static void build_concat(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), v->rank);
    size_t n = b->n->n_in, n_last = 0;
    if (b->st != VKT_OK) return;
    for (size_t i = 0; i < n; i++) {
        vkt__onnx_value *x = vkt__onnx_need(b, i);
        n_last += vkt__onnx_is_last(x);
        if (x->rank != v->rank) vkt__onnx_refuse(b, "its inputs have different ranks");
    }
    if (b->st != VKT_OK) return;
    vkt_tensor **x = vkt__arena_alloc(&b->arena, n * sizeof(vkt_tensor *));
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        vkt__onnx_value *one = vkt__onnx_need(b, i);
        if (!vkt__onnx_count(one)) continue; /* nothing, as an empty cache is */
        /* A class token of one example beside a batch of them. */
        x[used] = n_last ? vkt__onnx_last(b, one) : vkt__onnx_first(b, one);
        vkt_shape s = vkt_tensor_shape(x[used]);
        bool whole_batch =
            axis > 0 && b->written == 1 && b->batch > 1 && one->rank > 1 && one->dims[0] == 1;
        if (whole_batch) {
            s.d[0] = (uint32_t)b->batch;
            x[used] = vkt_expand(b->g, x[used], s);
        }
        used++;
    }
    if (!used) {
        vkt__onnx_refuse(b, "all of its inputs are empty");
        return;
    }
    uint32_t own = n_last ? vkt__onnx_last_axis(axis, v->rank) : axis;
    int type = v->type;
    vkt__onnx_give_as(b, 0, used == 1 ? x[0] : vkt_concat(b->g, x, (uint32_t)used, own), n_last > 0,
                      type);
}

static void build_pad(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    const char *mode = vkt__onnx_word(b, "mode", "constant");
    int64_t pads[2 * VKT__ONNX_RANK], axes[VKT__ONNX_RANK];
    uint32_t before[VKT_MAX_RANK] = { 0 }, after[VKT_MAX_RANK] = { 0 };
    int n = vkt__onnx_list(b, "pads", 1, pads, 2 * VKT__ONNX_RANK),
        n_axes = vkt__onnx_list(b, NULL, 3, axes, VKT__ONNX_RANK);
    double value = vkt__onnx_scalar(b, "value", 2, 0);
    vkt__onnx_shape(b, v->dims, v->rank);
    int of = n_axes >= 0 ? n_axes : (int)v->rank;
    if (n != 2 * of || !v->rank) vkt__onnx_refuse(b, "it has %d pads of %d axes", n, of);
    if (b->st != VKT_OK) return;
    bool last = vkt__onnx_is_last(v);
    for (int k = 0; k < of; k++) {
        uint32_t a = vkt__onnx_axis(b, n_axes >= 0 ? axes[k] : k, v->rank),
                 own = last ? vkt__onnx_last_axis(a, v->rank) : a;
        if (pads[k] < 0 || pads[k + of] < 0 || pads[k] > INT32_MAX || pads[k + of] > INT32_MAX)
            vkt__onnx_refuse(b, "pads below 0 are not supported");
        if (b->st != VKT_OK) return;
        before[own] = (uint32_t)pads[k];
        after[own] = (uint32_t)pads[k + of];
    }
    vkt_tensor *x = last ? v->last : vkt__onnx_first(b, v);
    static const char *const modes[] = { "constant", "reflect", "edge", "wrap" };
    int kind = 0;
    while (kind < 4 && strcmp(mode, modes[kind]) != 0) kind++;
    if (kind == 4) {
        vkt__onnx_refuse(b, "mode %s is not supported", vkt__show(mode).s);
        return;
    }
    x = kind ? vkt_pad_by(b->g, x, (vkt_padding)kind, before, after)
             : vkt_pad(b->g, x, before, after, (float)VKT_MAX(VKT_MIN(value, 3.0e38), -3.0e38));
    vkt__onnx_give_as(b, 0, x, last, v->type);
}

/* ---- by ids ---- */

/* Whether ids stand one behind another, so that what they take is a slice. */
static bool are_neighbours(const vkt__onnx_host *ids)
{
    for (uint64_t i = 1; i < ids->count; i++)
        if (vkt__onnx_host_number(ids, i) != vkt__onnx_host_number(ids, i - 1) + 1) return false;
    return vkt__onnx_host_number(ids, 0) >= 0 || vkt__onnx_host_number(ids, ids->count - 1) < 0;
}

/* Ids where the one that names a padding row, which is zeros, is past the table: that gives zeros,
 * too, and no gradient, so that the row stays as it is. */
static vkt_tensor *past_padding(vkt__onnx_build *b, const vkt__onnx_value *table, vkt_tensor *ids)
{
    int64_t row = table->initializer >= 0 ? b->plan->padding[table->initializer] : -1;
    if (row < 0) return ids;
    vkt_tensor *x = vkt_cast(b->g, ids, VKT_F32),
               *is = vkt_binary(b->g, VKT_FN2_EQ, x, vkt_fill(b->g, vkt_shape1(1), (float)row));
    x = vkt_where(b->g, is, vkt_fill(b->g, vkt_shape1(1), (float)table->dims[0]), x);
    return vkt_cast(b->g, x, VKT_U32);
}

/* x.shape[:axis] + ids.shape + x.shape[axis + 1:]. */
static void build_gather(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0), *ids = vkt__onnx_need(b, 1);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), v->rank), rank = 0;
    int64_t dims[2 * VKT__ONNX_RANK], n = (int64_t)vkt__onnx_count(ids);
    if (b->st != VKT_OK) return;
    for (uint32_t k = 0; k < v->rank; k++) {
        for (uint32_t j = 0; k == axis && j < ids->rank; j++) dims[rank++] = ids->dims[j];
        if (k != axis) dims[rank++] = v->dims[k];
    }
    vkt_shape out = vkt__onnx_shape(b, dims, rank);
    vkt__onnx_shape(b, v->dims, v->rank);
    if (!n) vkt__onnx_refuse(b, "it takes nothing");
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v), *y;
    vkt_shape s = vkt_tensor_shape(x), lines = { .rank = s.rank };
    if (ids->host && are_neighbours(ids->host)) {
        int64_t id = (int64_t)vkt__onnx_host_number(ids->host, 0);
        uint32_t first[VKT_MAX_RANK] = { 0 }, count[VKT_MAX_RANK];
        if (id < 0) id += v->dims[axis];
        if (id < 0 || id + n > v->dims[axis]) {
            vkt__onnx_refuse(b, "the index %lld of an axis of %lld", (long long)(id + n - 1),
                             (long long)v->dims[axis]);
            return;
        }
        for (uint32_t k = 0; k < s.rank; k++) count[k] = k == axis ? (uint32_t)n : s.d[k];
        first[axis] = (uint32_t)id;
        y = n == v->dims[axis] ? x : vkt_slice(b->g, x, first, count, NULL);
    } else if (axis == 0 && s.rank == 2 && !ids->host && ids->first &&
               vkt_tensor_dtype(ids->first) == VKT_U32 && b->source.embedded &&
               (y = b->source.embedded(b->source.user, b->g, x, ids->first)) != NULL) {
    } else {
        vkt_tensor *t = vkt__onnx_ids(b, ids, v->dims[axis]);
        if (axis == 0 && !ids->host) t = past_padding(b, v, t);
        for (uint32_t k = 0; k < s.rank; k++) lines.d[k] = k == axis ? (uint32_t)n : 1;
        t = vkt_reshape(b->g, t, lines);
        for (uint32_t k = 0; k < s.rank; k++) lines.d[k] = k == axis ? (uint32_t)n : s.d[k];
        y = vkt_gather(b->g, x, vkt_expand(b->g, t, lines), axis);
    }
    y = vkt_reshape(b->g, y, out);
    if (rank)
        vkt__onnx_give(b, 0, y, v->type);
    else
        vkt__onnx_give_rank0(b, 0, y, v->type);
}

/* Along the other axes ids may be fewer than x's elements. */
static void build_gather_elements(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0), *ids = vkt__onnx_need(b, 1);
    uint32_t axis = vkt__onnx_axis(b, vkt__onnx_int(b, "axis", 0), v->rank);
    uint32_t first[VKT_MAX_RANK] = { 0 }, count[VKT_MAX_RANK];
    bool cut = false;
    vkt__onnx_shape(b, v->dims, v->rank);
    if (ids->rank != v->rank) vkt__onnx_refuse(b, "its ids have another rank");
    for (uint32_t k = 0; b->st == VKT_OK && k < v->rank; k++) {
        int64_t n = k == axis ? v->dims[k] : ids->dims[k];
        if (n > v->dims[k] || n < 1) vkt__onnx_refuse(b, "its ids are more than axis %u has", k);
        count[k] = (uint32_t)n;
        cut = cut || n != v->dims[k];
    }
    if (b->st != VKT_OK) return;
    vkt_tensor *x = vkt__onnx_first(b, v);
    if (cut) x = vkt_slice(b->g, x, first, count, NULL);
    vkt__onnx_give(b, 0, vkt_gather(b->g, x, vkt__onnx_ids(b, ids, v->dims[axis]), axis), v->type);
}

static void build_one_hot(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *ids = vkt__onnx_need(b, 0), *values = vkt__onnx_need(b, 2);
    double depth = vkt__onnx_scalar(b, NULL, 1, 0);
    int64_t axis = vkt__onnx_int(b, "axis", -1);
    uint32_t at = vkt__onnx_axis(b, axis, ids->rank + 1), order[VKT_MAX_RANK] = { 0 };
    if (ids->rank + 1 > VKT_MAX_RANK) vkt__onnx_refuse(b, "of a tensor of rank %u", ids->rank);
    if (!(depth >= 1 && depth < 1 << 24)) vkt__onnx_refuse(b, "of %g classes", depth);
    if (!values->host || values->host->count != 2) vkt__onnx_refuse(b, "its values are not known");
    if (b->st != VKT_OK) return;
    double off = vkt__onnx_host_number(values->host, 0),
           on = vkt__onnx_host_number(values->host, 1);
    vkt_tensor *y = vkt_one_hot(b->g, vkt__onnx_ids(b, ids, (int64_t)depth), (uint32_t)depth);
    if (off != 0 || on != 1)
        y = vkt_binary(b->g, VKT_FN2_ADD, vkt_scale(b->g, y, (float)(on - off)),
                       vkt_fill(b->g, vkt_shape1(1), (float)off));
    uint32_t rank = ids->rank + 1;
    if (!ids->rank) y = vkt_reshape(b->g, y, vkt_shape1((uint32_t)depth));
    for (uint32_t k = 0; k < rank; k++) order[k] = k == at ? rank - 1 : k < at ? k : k - 1;
    if (at + 1 < rank) y = vkt_permute(b->g, y, order);
    vkt__onnx_give(b, 0, y, values->type);
}

/* x where the column is not below (upper) or above (lower) the diagonal k, else 0. */
static void build_trilu(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    vkt__onnx_value *v = vkt__onnx_need(b, 0);
    bool upper = vkt__onnx_int(b, "upper", 1) != 0;
    double k = vkt__onnx_scalar(b, NULL, 1, 0);
    if (v->rank < 2) {
        vkt__onnx_refuse(b, "of a tensor of rank %u", v->rank);
        return;
    }
    int64_t rows = v->dims[v->rank - 2], cols = v->dims[v->rank - 1];
    uint64_t count = vkt__onnx_count(v);
    vkt__onnx_host *h = v->host ? vkt__onnx_host_new(b, v->dims, v->rank, v->host->whole)
                                : vkt__onnx_host_new(b, v->dims + v->rank - 2, 2, false);
    for (uint64_t i = 0; h && i < (v->host ? count : h->count); i++) {
        int64_t c = (int64_t)i % cols, r = (int64_t)i / cols % rows;
        bool in = upper ? (double)(c - r) >= k : (double)(c - r) <= k;
        if (v->host)
            h->bits[i] = in ? v->host->bits[i] : 0;
        else
            h->d[i] = in;
    }
    if (!h) return;
    int type = v->type;
    if (v->host) {
        vkt__onnx_give_host(b, 0, h, type);
        return;
    }
    vkt_tensor *x = vkt__onnx_first(b, v);
    vkt__onnx_give_host(b, 0, h, VKT__ONNX_FLOAT);
    vkt__onnx_give(b, 0, vkt_mul(b->g, x, vkt__onnx_first(b, vkt__onnx_out(b, 0))), type);
}

#define SAME(name, fn)                                                                             \
    {                                                                                              \
        name, build_reshape, vkt__onnx_fold_reshape, VKT__ONNX_##fn, 2, 0, "reshape", NULL         \
    }

/* The values of the branch that is taken; those of both stand one after the other. */
static void build_if(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    (void)op;
    size_t n = b->n->n_out;
    bool is, differs;
    if (!vkt__onnx_condition(b, b->n->in[0], &is, &differs)) {
        vkt__onnx_refuse(b,
                         "its condition depends on what the net computes: a branch is taken when "
                         "the graph is built, by shapes and constants");
        return;
    }
    if (differs)
        vkt_log(VKT_LOG_WARN, "onnx",
                "%s: %s says another branch for a batch of %lld than for more: it is not followed",
                b->f->path, b->n->where, (long long)b->batch);
    for (size_t i = 0; i < n; i++) {
        vkt__onnx_value *v = vkt__onnx_need(b, 1 + i + (is ? 0 : n)), *out = vkt__onnx_out(b, i);
        if (out) *out = *v;
    }
}

const vkt__onnx_op vkt__onnx_shape_ops[] = {
    { "If", build_if, NULL, 0, 1, 0, "the branch that is taken",
      "its condition is known before the net runs", true, true },
    { "Shape", build_shape, NULL, 0, 0, 0, "a constant", NULL },
    { "Size", build_shape, NULL, 1, 0, 0, "a constant", NULL },
    { "Constant", build_constant, NULL, 0, 0, 0, "a constant", NULL },
    { "ConstantOfShape", build_filled, vkt__onnx_fold_filled, 0, 1, 0, "a constant", NULL },
    { "Range", build_filled, vkt__onnx_fold_range, 0, 7, 0, "a constant", NULL },
    SAME("Reshape", RESHAPE),
    SAME("Flatten", FLATTEN),
    SAME("Squeeze", SQUEEZE),
    SAME("Unsqueeze", UNSQUEEZE),
    { "Transpose", build_transpose, vkt__onnx_fold_transpose, 0, 0, 0, "permute, or nothing",
      NULL },
    { "Expand", build_expand, vkt__onnx_fold_expand, 0, 2, 0, "expand", NULL },
    { "Tile", build_tile, NULL, 0, 2, 0, "repeat", NULL },
    { "Slice", build_slice, vkt__onnx_fold_slice, 0, 30, 0, "slice", NULL },
    { "Split", build_split, NULL, 0, 2, 0, "slice", "at most 256 parts" },
    { "Concat", build_concat, vkt__onnx_fold_concat, 0, 0, 0, "concat", NULL },
    { "Pad", build_pad, NULL, 0, 14, 0, "pad", "not below 0" },
    { "Gather", build_gather, vkt__onnx_fold_gather, 0, 0, 0, "slice, gather", NULL },
    { "GatherElements", build_gather_elements, NULL, 0, 0, 0, "gather", NULL },
    { "OneHot", build_one_hot, NULL, 0, 6, 0, "one_hot", "how many and which values is known" },
    { "Trilu", build_trilu, NULL, 0, 2, 0, "mul", NULL },
    { .name = NULL },
};
