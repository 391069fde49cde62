/* onnx_build.h: values and their two orders, attributes, numbers on the host. */
#include <math.h>

#include "onnx/onnx_build.h"
#include "tensor/graph/graph.h"

void vkt__onnx_refuse(vkt__onnx_build *b, const char *fmt, ...)
{
    if (b->st != VKT_OK) return;
    vkt__str s = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&s, fmt, ap);
    va_end(ap);
    b->st = vkt__fail(VKT_E_UNSUPPORTED, "onnx", "%s: %s: %s", b->f->path,
                      b->n ? b->n->where : "the graph", s.data);
    vkt__str_finish(&s);
}

/* ---- inputs, outputs, attributes ---- */

vkt__onnx_value *vkt__onnx_in(vkt__onnx_build *b, size_t i)
{
    if (i >= b->n->n_in || b->n->in[i] < 0) return NULL;
    return &b->values[b->n->in[i]];
}

vkt__onnx_value *vkt__onnx_need(vkt__onnx_build *b, size_t i)
{
    vkt__onnx_value *v = vkt__onnx_in(b, i);
    if (v && v->type) return v;
    vkt__onnx_refuse(b, "input %zu is not given", i);
    v = vkt__arena_alloc(&b->arena, sizeof *v);
    *v = (vkt__onnx_value) { .type = VKT__ONNX_FLOAT, .rank = 1, .dims = { 1 }, .initializer = -1 };
    v->host = vkt__onnx_host_new(b, v->dims, 1, false);
    return v;
}

vkt__onnx_value *vkt__onnx_out(vkt__onnx_build *b, size_t i)
{
    if (i >= b->n->n_out || b->n->out[i] < 0) return NULL;
    return &b->values[b->n->out[i]];
}

bool vkt__onnx_is_out(const vkt__onnx_plan *p, int value)
{
    for (size_t k = 0; k < p->n_outs; k++)
        if (p->outs[k] == value) return true;
    return false;
}

bool vkt__onnx_wanted(const vkt__onnx_build *b, size_t i)
{
    if (i >= b->n->n_out || b->n->out[i] < 0) return false;
    int v = b->n->out[i];
    if (vkt__onnx_is_out(b->plan, v)) return true;
    for (size_t k = 0; k < b->f->n_nodes; k++) {
        const vkt__onnx_node *n = &b->f->nodes[k];
        for (size_t j = 0; b->plan->needed[k] && j < n->n_in; j++)
            if (n->in[j] == v) return true;
    }
    return false;
}

int64_t vkt__onnx_int(vkt__onnx_build *b, const char *attr, int64_t otherwise)
{
    const vkt__onnx_attr *a = vkt__onnx_attr_of(b->n, attr);
    return a ? a->i : otherwise;
}

float vkt__onnx_float(vkt__onnx_build *b, const char *attr, float otherwise)
{
    const vkt__onnx_attr *a = vkt__onnx_attr_of(b->n, attr);
    return a ? a->f : otherwise;
}

const char *vkt__onnx_word(vkt__onnx_build *b, const char *attr, const char *otherwise)
{
    const vkt__onnx_attr *a = vkt__onnx_attr_of(b->n, attr);
    return a ? a->text : otherwise;
}

int vkt__onnx_list(vkt__onnx_build *b, const char *attr, size_t i, int64_t *out, int most)
{
    const vkt__onnx_attr *a = attr ? vkt__onnx_attr_of(b->n, attr) : NULL;
    const vkt__onnx_value *v = i != SIZE_MAX ? vkt__onnx_in(b, i) : NULL;
    uint64_t n = a ? a->n_ints : v && v->host ? v->host->count : 0;
    if (!a && !v) return -1;
    if (!a && !v->host) {
        vkt__onnx_refuse(b, "input %zu depends on what the net computes", i);
        return -1;
    }
    if (n > (uint64_t)most) {
        vkt__onnx_refuse(b, "it has a list of %llu numbers; at most %d are supported",
                         (unsigned long long)n, most);
        return 0;
    }
    for (uint64_t k = 0; k < n; k++)
        out[k] = a                ? a->ints[k]
                 : v->host->whole ? v->host->i[k]
                                  : (int64_t)VKT_MAX(VKT_MIN(v->host->d[k], 1e15), -1e15);
    return (int)n;
}

double vkt__onnx_scalar(vkt__onnx_build *b, const char *attr, size_t i, double otherwise)
{
    const vkt__onnx_attr *a = attr ? vkt__onnx_attr_of(b->n, attr) : NULL;
    const vkt__onnx_value *v = i != SIZE_MAX ? vkt__onnx_in(b, i) : NULL;
    if (a) return (double)a->f;
    if (!v) return otherwise;
    if (v->host && v->host->count == 1) return vkt__onnx_host_number(v->host, 0);
    vkt__onnx_refuse(b, "input %zu must be one number that is known before the net runs", i);
    return otherwise;
}

uint32_t vkt__onnx_axis(vkt__onnx_build *b, int64_t axis, uint32_t rank)
{
    int64_t at = axis < 0 ? axis + rank : axis;
    if (at >= 0 && at < (int64_t)rank) return (uint32_t)at;
    vkt__onnx_refuse(b, "axis %lld of a tensor of rank %u", (long long)axis, rank);
    return 0;
}

/* ---- shapes ---- */

vkt_shape vkt__onnx_shape(vkt__onnx_build *b, const int64_t *dims, uint32_t rank)
{
    vkt_shape s = { .rank = VKT_MAX(rank, 1), .d = { 1 } };
    if (rank > VKT_MAX_RANK) {
        vkt__onnx_refuse(b, "a tensor of rank %u; at most %d are supported", rank, VKT_MAX_RANK);
        return vkt_shape1(1);
    }
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] < 0 || dims[i] > INT32_MAX) {
            vkt__onnx_refuse(b, "a dimension of size %lld", (long long)dims[i]);
            return vkt_shape1(1);
        }
        s.d[i] = (uint32_t)dims[i];
    }
    return s;
}

uint64_t vkt__onnx_count(const vkt__onnx_value *v)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++) n *= (uint64_t)v->dims[i];
    return n;
}

bool vkt__onnx_broadcast(const int64_t *a, uint32_t ra, const int64_t *b, uint32_t rb, int64_t *out,
                         uint32_t *rank)
{
    uint32_t r = VKT_MAX(ra, rb);
    *rank = r;
    for (uint32_t k = 1; k <= r; k++) {
        int64_t x = k <= ra ? a[ra - k] : 1, y = k <= rb ? b[rb - k] : 1;
        if (x != y && x != 1 && y != 1) return false;
        out[r - k] = x == 1 ? y : x;
    }
    return true;
}

uint32_t vkt__onnx_last_axis(uint32_t axis, uint32_t rank)
{
    return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

bool vkt__onnx_is_last(const vkt__onnx_value *v)
{
    return v->last && !v->first;
}

/* ---- numbers on the host ---- */

vkt__onnx_host *vkt__onnx_host_new(vkt__onnx_build *b, const int64_t *dims, uint32_t rank,
                                   bool whole)
{
    enum { MOST = 1 << 28 };
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank && count <= MOST; i++)
        if (dims[i] < 0 || !vkt__mul_ok(count, (uint64_t)dims[i], &count)) count = UINT64_MAX;
    if (rank > VKT__ONNX_RANK) {
        vkt__onnx_refuse(b, "a constant of rank %u", rank);
        return NULL;
    }
    if (count > MOST - b->numbers) {
        vkt__onnx_refuse(b, "the net's constants have more than %d numbers together", MOST);
        return NULL;
    }
    b->numbers += count;
    vkt__onnx_host *h = vkt__arena_alloc(&b->arena, sizeof *h);
    *h = (vkt__onnx_host) { .rank = rank, .count = count, .whole = whole };
    for (uint32_t i = 0; i < rank; i++) h->dims[i] = dims[i];
    h->bits = vkt__arena_alloc(&b->arena, ((size_t)count + 1) * sizeof *h->bits);
    return h;
}

vkt__onnx_host *vkt__onnx_host_of(vkt__onnx_build *b, const vkt__onnx_tensor *t)
{
    int64_t dims[VKT__ONNX_RANK];
    bool whole = !vkt__onnx_is_float(t->type);
    if (!vkt__onnx_type_bytes(t->type)) {
        vkt__onnx_refuse(b, "'%s' holds elements of type %s", vkt__show(t->name).s,
                         vkt__onnx_type_name(t->type));
        return NULL;
    }
    for (uint32_t i = 0; i < t->rank; i++) dims[i] = (int64_t)t->dims[i];
    vkt__onnx_host *h = vkt__onnx_host_new(b, dims, t->rank, whole);
    for (uint64_t i = 0; h && i < h->count; i++) {
        if (whole)
            h->i[i] = vkt__onnx_integer(t, i);
        else
            h->d[i] = vkt__onnx_number(t, i);
    }
    return h;
}

double vkt__onnx_host_number(const vkt__onnx_host *h, uint64_t i)
{
    return h->whole ? (double)h->i[i] : h->d[i];
}

/* ---- values as tensors ---- */

static bool is_uniform(const vkt__onnx_host *h)
{
    for (uint64_t i = 1; i < h->count; i++)
        if (h->bits[i] != h->bits[0]) return false;
    return true;
}

/* The first slice along axis 0, where all are like it: constants of a batch. */
static const vkt__onnx_host *without_batch(vkt__onnx_build *b, const vkt__onnx_host *h)
{
    if (!h->rank || h->dims[0] < 2) return h;
    uint64_t each = h->count / (uint64_t)h->dims[0];
    for (uint64_t i = each; i < h->count; i++)
        if (h->bits[i] != h->bits[i - each]) return h;
    vkt__onnx_host *one = vkt__arena_alloc(&b->arena, sizeof *one);
    *one = *h;
    one->dims[0] = 1;
    one->count = each;
    return one;
}

static vkt_tensor *constant(vkt__onnx_build *b, const vkt__onnx_value *v, vkt_dtype dtype)
{
    const vkt__onnx_host *h = v->host, *one;
    vkt_shape shape = vkt__onnx_shape(b, h->dims, h->rank);
    if (b->st != VKT_OK || !h->count) {
        if (!h->count) vkt__onnx_refuse(b, "a constant without elements");
        return vkt_fill(b->g, vkt_shape1(1), 0);
    }
    if (dtype == VKT_F32 && is_uniform(h))
        return vkt_fill(b->g, shape, (float)vkt__onnx_host_number(h, 0));
    one = without_batch(b, h);
    const char *name = vkt__arena_printf(&b->arena, "%s%s", b->f->values[v - b->values].name,
                                         dtype == VKT_U32 ? " (ids)" : "");
    vkt_tensor *t = b->source.constant(b->source.user, b->g, name,
                                       vkt__onnx_shape(b, one->dims, one->rank), dtype, one);
    if (!t) {
        vkt__onnx_refuse(b, "the constant '%s' depends on the batch size", vkt__show(name).s);
        return vkt_fill(b->g, shape, 0);
    }
    return one == h ? t : vkt_expand(b->g, t, shape);
}

vkt_tensor *vkt__onnx_made(vkt__onnx_build *b, const char *what, const vkt__onnx_host *h)
{
    vkt_shape shape = vkt__onnx_shape(b, h->dims, h->rank);
    if (b->st != VKT_OK || is_uniform(h))
        return vkt_fill(b->g, shape, h->count ? (float)vkt__onnx_host_number(h, 0) : 0);
    const char *of = b->n->n_out && b->n->out[0] >= 0 ? b->f->values[b->n->out[0]].name : "",
               *name = vkt__arena_printf(&b->arena, "%s (%s)", of, what);
    vkt_tensor *t = b->source.constant(b->source.user, b->g, name, shape, VKT_F32, h);
    if (t) return t;
    vkt__onnx_refuse(b, "its %s depend on the batch size", what);
    return vkt_fill(b->g, shape, 0);
}

static vkt_tensor *to_first(vkt__onnx_build *b, vkt_tensor *x, uint32_t rank)
{
    uint32_t order[VKT_MAX_RANK] = { 0 };
    for (uint32_t i = 1; i < rank; i++) order[i] = vkt__onnx_last_axis(i, rank);
    return vkt_permute(b->g, x, order);
}

static vkt_tensor *to_last(vkt__onnx_build *b, vkt_tensor *x, uint32_t rank)
{
    uint32_t order[VKT_MAX_RANK] = { 0 };
    for (uint32_t i = 1; i < rank; i++) order[i] = i + 1 < rank ? i + 1 : 1;
    return vkt_permute(b->g, x, order);
}

/* Where there is at most one dimension behind the batch that is not 1, both orders are the same
 * numbers. */
static bool moves_nothing(const vkt__onnx_value *v)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < v->rank; i++) n += v->dims[i] != 1;
    return n < 2 || v->dims[1] == 1 || (n >= 2 && vkt__onnx_count(v) == 0);
}

static vkt_shape last_shape(vkt__onnx_build *b, const vkt__onnx_value *v)
{
    int64_t dims[VKT__ONNX_RANK];
    for (uint32_t i = 0; i < v->rank; i++) dims[vkt__onnx_last_axis(i, v->rank)] = v->dims[i];
    return vkt__onnx_shape(b, dims, v->rank);
}

vkt_tensor *vkt__onnx_first(vkt__onnx_build *b, vkt__onnx_value *v)
{
    if (!v->first && v->last) {
        v->first = moves_nothing(v)
                       ? vkt_reshape(b->g, v->last, vkt__onnx_shape(b, v->dims, v->rank))
                       : to_first(b, v->last, v->rank);
        return v->first;
    }
    if (!v->first) v->first = constant(b, v, VKT_F32);
    return vkt_tensor_dtype(v->first) == VKT_U32 ? vkt_cast(b->g, v->first, VKT_F32) : v->first;
}

vkt_tensor *vkt__onnx_last(vkt__onnx_build *b, vkt__onnx_value *v)
{
    if (v->last) return v->last;
    if (v->rank > VKT_MAX_RANK) vkt__onnx_shape(b, v->dims, v->rank); /* which refuses it */
    if (b->st != VKT_OK) return vkt_fill(b->g, vkt_shape1(1), 0);
    vkt_tensor *x = vkt__onnx_first(b, v);
    if (v->rank < 2) return x;
    v->last = moves_nothing(v) ? vkt_reshape(b->g, x, last_shape(b, v)) : to_last(b, x, v->rank);
    return v->last;
}

vkt_tensor *vkt__onnx_ids(vkt__onnx_build *b, vkt__onnx_value *v, int64_t size)
{
    if (v->host) {
        vkt__onnx_host *h = vkt__onnx_host_new(b, v->host->dims, v->host->rank, true);
        if (!h) return vkt_fill(b->g, vkt_shape1(1), 0);
        for (uint64_t i = 0; i < h->count; i++) {
            int64_t id = v->host->whole ? v->host->i[i] : (int64_t)v->host->d[i];
            h->i[i] = id < 0 ? id + size : id;
        }
        const vkt__onnx_host *kept = v->host;
        v->host = h;
        vkt_tensor *t = constant(b, v, VKT_U32);
        v->host = kept;
        return t;
    }
    vkt_tensor *x = v->first ? v->first : vkt__onnx_first(b, v);
    if (vkt_tensor_dtype(x) == VKT_U32) return x;
    vkt_tensor *from_end =
        vkt_binary(b->g, VKT_FN2_ADD, x, vkt_fill(b->g, vkt_shape1(1), (float)size));
    vkt_tensor *negative = vkt_binary(b->g, VKT_FN2_LT, x, vkt_fill(b->g, vkt_shape1(1), 0));
    return vkt_cast(b->g, vkt_where(b->g, negative, from_end, x), VKT_U32);
}

/* ---- results ---- */

static void give(vkt__onnx_build *b, size_t i, vkt_tensor *t, bool last, bool rank0, int type)
{
    vkt__onnx_value *v = vkt__onnx_out(b, i);
    if (!v) return;
    vkt_shape s = vkt_tensor_shape(t);
    *v = (vkt__onnx_value) { .type = type, .initializer = -1, .by = b->n };
    v->rank = rank0 ? 0 : s.rank;
    for (uint32_t k = 0; k < v->rank; k++)
        v->dims[k] = s.d[last ? vkt__onnx_last_axis(k, s.rank) : k];
    *(last ? &v->last : &v->first) = t;
}

void vkt__onnx_give(vkt__onnx_build *b, size_t i, vkt_tensor *t, int type)
{
    give(b, i, t, false, false, type);
}

void vkt__onnx_give_rank0(vkt__onnx_build *b, size_t i, vkt_tensor *t, int type)
{
    give(b, i, t, false, true, type);
}

void vkt__onnx_give_last(vkt__onnx_build *b, size_t i, vkt_tensor *t, int type)
{
    give(b, i, t, true, false, type);
}

void vkt__onnx_give_as(vkt__onnx_build *b, size_t i, vkt_tensor *t, bool last, int type)
{
    give(b, i, t, last, false, type);
}

void vkt__onnx_give_host(vkt__onnx_build *b, size_t i, const vkt__onnx_host *h, int type)
{
    vkt__onnx_value *v = vkt__onnx_out(b, i);
    if (!v || !h) return;
    *v = (vkt__onnx_value) { .type = type, .initializer = -1, .host = h, .by = b->n };
    v->rank = h->rank;
    for (uint32_t k = 0; k < h->rank; k++) v->dims[k] = h->dims[k];
}

void vkt__onnx_give_same(vkt__onnx_build *b, const vkt__onnx_value *v)
{
    vkt__onnx_value *y = vkt__onnx_out(b, 0);
    if (y) *y = *v;
}

bool vkt__onnx_condition(const vkt__onnx_build *b, int value, bool *is, bool *differs)
{
    const vkt__onnx_host *h = b->values[value].host;
    char *first = &b->plan->branch[value];
    if (!h || h->count != 1) return false;
    bool here = vkt__onnx_host_number(h, 0) != 0;
    if (!*first) *first = here ? 't' : 'f';
    *is = *first == 't';
    *differs = *is != here;
    return true;
}
