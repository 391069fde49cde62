/* attention_twin.h: the twins query by query, in double. */
#include "tensor/twins/attention_twin.h"

#include <math.h>

#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"

static const double NEVER = -1e30; /* lse of no keys, as attention_mask.glsl has it */

/* One query of one head: where its row and its keys' rows are, and which keys it sees. */
typedef struct {
    const vkt_node *n;
    vkt__att_dims d;
    double *const *in;
    uint64_t b, h, t;
    uint64_t part, begin, end; /* keys */
} query;

static uint64_t q_at(const query *w)
{
    return (w->b * w->d.T + w->t) * w->d.q_row + w->h * w->d.D;
}

static uint64_t parts_of(const query *w)
{
    return VKT_MAX(w->n->attr.attention.parts, 1);
}

static uint64_t y_at(const query *w)
{
    return (((w->b * w->d.T + w->t) * parts_of(w) + w->part) * w->d.H + w->h) * w->d.D;
}

/* In in[VKT__ATT_K], or where there is none in in[VKT__ATT_Q]; `part` 1: the key, 2: the value. */
static uint64_t kv_at(const query *w, uint64_t j, uint32_t part)
{
    uint64_t head = w->h / (w->d.H / w->d.Hkv);
    if (!w->n->in[VKT__ATT_K]) head += w->d.H + (part - 1ull) * w->d.Hkv;
    return (w->b * w->d.S + j) * w->d.kv_row + head * w->d.D;
}

static bool query_sees(const query *w, uint64_t j)
{
    /* The backward row has dy there. */
    bool cached = w->n->op->n_in == VKT__ATT_START + 1 && w->in[VKT__ATT_START];
    uint64_t start = cached ? (uint64_t)w->in[VKT__ATT_START][0] : 0, i = start + w->t;
    uint64_t window = w->n->attr.attention.window;
    if (cached && j >= start + w->d.T) return false;
    if (!w->n->attr.attention.full && j > i) return false;
    if (window && (i >= j + window || j >= i + window)) return false;
    const double *docs = w->in[VKT__ATT_DOCS];
    return !docs || docs[w->b * w->d.T + w->t] == docs[w->b * w->d.T + j];
}

double vkt__att_dot(const double *a, const double *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double score(const query *w, uint64_t j)
{
    const double *k = w->in[w->n->in[VKT__ATT_K] ? VKT__ATT_K : VKT__ATT_Q] + kv_at(w, j, 1);
    double s = (double)w->n->attr.attention.scale *
               vkt__att_dot(w->in[VKT__ATT_Q] + q_at(w), k, w->d.D),
           cap = (double)w->n->attr.attention.cap;
    return cap > 0 ? cap * tanh(s / cap) : s;
}

/* On matrix units q, k, v and dy are rounded when staged. */
static void each_query(const vkt_node *n, double *const *in, double *const *out,
                       void (*fn)(const query *w, double *const *out))
{
    double *given[VKT_MAX_IN];
    vkt_dtype type = n->attr.attention.multiply;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
        bool rounds = type != VKT_F32 && n->in[i] && n->in[i]->dtype == VKT_F32 &&
                      (i <= VKT__ATT_V || (i == VKT__ATT_DY && n->op->n_in > VKT__ATT_START + 1));
        given[i] = rounds ? vkt__alloc(n->in[i]->count * sizeof(double)) : in[i];
        for (uint64_t k = 0; rounds && k < n->in[i]->count; k++)
            given[i][k] = vkt__round_to(type, in[i][k]);
    }
    query w = { .n = n, .d = vkt__att_dims_of(n), .in = given };
    for (w.b = 0; w.b < w.d.B; w.b++)
        for (w.h = 0; w.h < w.d.H; w.h++)
            for (w.t = 0; w.t < w.d.T; w.t++) fn(&w, out);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (given[i] != in[i]) free(given[i]);
}

/* A query's attention to the keys from begin to end. */
static void part_ref(const query *w, double *const *out)
{
    double top = NEVER, sum = 0, *y = out[0] + y_at(w);
    for (uint64_t j = w->begin; j < w->end; j++)
        if (query_sees(w, j)) top = fmax(top, score(w, j));
    for (uint64_t i = 0; i < w->d.D; i++) y[i] = 0;
    for (uint64_t j = w->begin; j < w->end; j++) {
        if (!query_sees(w, j)) continue;
        const double *v = w->in[w->n->in[VKT__ATT_V] ? VKT__ATT_V : VKT__ATT_Q] + kv_at(w, j, 2);
        double p = exp(score(w, j) - top);
        sum += p;
        for (uint64_t i = 0; i < w->d.D; i++) y[i] += p * v[i];
    }
    for (uint64_t i = 0; i < w->d.D && sum != 0; i++) y[i] /= sum;
    uint64_t row = (w->b * w->d.H + w->h) * w->d.T + w->t;
    out[1][row * parts_of(w) + w->part] = sum != 0 ? top + log(sum) : top;
}

/* Its keys, from the first that it sees to the last, in parts of one size. */
static void query_ref(const query *whole, double *const *out)
{
    query w = *whole;
    uint64_t begin = w.d.S, end = 0;
    for (uint64_t j = 0; j < w.d.S; j++)
        if (query_sees(&w, j)) begin = VKT_MIN(begin, j), end = j + 1;
    begin = VKT_MIN(begin, end);
    uint64_t each = (end - begin + parts_of(&w) - 1) / parts_of(&w);
    for (w.part = 0; w.part < parts_of(&w); w.part++) {
        w.begin = VKT_MIN(end, begin + w.part * each);
        w.end = VKT_MIN(end, w.begin + each);
        part_ref(&w, out);
    }
}

void vkt__attention_ref(const vkt_node *n, double *const *in, double *const *out)
{
    each_query(n, in, out, query_ref);
}

static void query_bwd_ref(const query *w, double *const *out)
{
    uint64_t stat = (w->b * w->d.H + w->h) * w->d.T + w->t, D = w->d.D;
    const double *dy = w->in[VKT__ATT_DY] + y_at(w), *q = w->in[VKT__ATT_Q] + q_at(w);
    double scale = (double)w->n->attr.attention.scale, cap = (double)w->n->attr.attention.cap;
    for (uint64_t j = 0; j < w->d.S; j++) {
        if (!query_sees(w, j)) continue;
        uint64_t at_k = kv_at(w, j, 1), at_v = kv_at(w, j, 2);
        const double *k = w->in[w->n->in[VKT__ATT_K] ? VKT__ATT_K : VKT__ATT_Q] + at_k,
                     *v = w->in[w->n->in[VKT__ATT_V] ? VKT__ATT_V : VKT__ATT_Q] + at_v;
        double *dk = out[w->n->in[VKT__ATT_K] ? 1 : 0] + at_k,
               *dv = out[w->n->in[VKT__ATT_V] ? 2 : 0] + at_v;
        double s = score(w, j), p = exp(s - w->in[VKT__ATT_LSE][stat]),
               slope = cap > 0 ? 1 - s / cap * (s / cap) : 1,
               ds = scale * slope * p * (vkt__att_dot(dy, v, D) - w->in[VKT__ATT_DELTA][stat]);
        for (uint64_t i = 0; i < D; i++) {
            out[0][q_at(w) + i] += ds * k[i];
            dk[i] += ds * q[i];
            dv[i] += p * dy[i];
        }
    }
}

void vkt__attention_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint32_t i = 0; i < 3; i++)
        if (n->out[i]) memset(out[i], 0, n->out[i]->count * sizeof(double));
    each_query(n, in, out, query_bwd_ref);
}

void vkt__attention_delta_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t D = n->attr.attention.head, H = n->attr.attention.heads, T = n->in[0]->shape.d[1];
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t at = ((i / T / H * T + i % T) * H + i / T % H) * D;
        out[0][i] = vkt__att_dot(in[0] + at, in[1] + at, D);
    }
}
