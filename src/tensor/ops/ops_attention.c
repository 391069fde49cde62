/* Attention rows: forward, what its gradient subtracts (delta), and the gradients of q, k and v.
 * Queries, keys and values may lie side by side in one tensor, and then so do their gradients.
 * Kernels attention.comp, attention_one.comp, attention_delta.comp, attention_dq.comp,
 * attention_dkv.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

enum { Q, K, V, DOCS, START };                      /* of the forward row */
enum { DY = START, LSE, DELTA };                    /* of the backward row, after the same four */
enum { BY_DEVICE, DIRECT, STAGED, N_KERNELS, ONE }; /* attr.attention.kernel */
enum { MOST_HEAD = 256 };

/* ---- shapes ---- */

typedef struct {
    uint32_t B, T, S, H, Hkv, D;
    uint64_t q_row, kv_row; /* elements from row to row */
} dims;

static dims dims_of(const vkt_node *n)
{
    vkt_shape q = n->in[Q]->shape;
    dims d = { .B = q.d[0],
               .T = q.d[1],
               .S = q.d[1],
               .H = n->attr.attention.heads,
               .Hkv = n->attr.attention.kv_heads,
               .D = n->attr.attention.head };
    d.q_row = vkt__last(q);
    d.kv_row = d.q_row;
    if (n->in[K]) {
        d.S = n->in[K]->shape.d[1];
        d.kv_row = vkt__last(n->in[K]->shape);
    }
    return d;
}

static bool attention_shape(vkt_node *n)
{
    const vkt_tensor *q = n->in[Q], *k = n->in[K], *v = n->in[V], *docs = n->in[DOCS],
                     *start = n->in[START];
    uint32_t H = n->attr.attention.heads, Hkv = n->attr.attention.kv_heads;
    if (H == 0 || Hkv == 0 || H % Hkv)
        return vkt__shape_error(n, "%u heads can't share %u heads of keys", H, Hkv);
    if (q->shape.rank != 3)
        return vkt__shape_error(n, "%s must be [B, T, heads * D]", vkt__text(q));
    uint32_t W = vkt__last(q->shape), all = H + 2 * Hkv,
             D = k ? vkt__last(k->shape) / Hkv : W / all;
    if (W != all * D && !(k && W == H * D))
        return vkt__shape_error(n, "%s must be %u heads of one size%s", vkt__text(q), k ? H : all,
                                k ? " with keys like it" : "");
    n->attr.attention.head = D;
    if (D == 0 || D % 4 || D > MOST_HEAD)
        return vkt__shape_error(n, "a head of %u: it must be a multiple of 4, at most %d", D,
                                MOST_HEAD);
    if ((k == NULL) != (v == NULL) || (k && !vkt__shape_equal(k->shape, v->shape)))
        return vkt__shape_error(n, "keys and values must have one shape");
    if (k &&
        (k->shape.rank != 3 || k->shape.d[0] != q->shape.d[0] || vkt__last(k->shape) != Hkv * D))
        return vkt__shape_error(n, "keys %s must be [%u, S, %u] for %s", vkt__text(k),
                                q->shape.d[0], Hkv * D, vkt__text(q));
    dims d = dims_of(n);
    if (d.S != d.T && !start && (!n->attr.attention.full || docs))
        return vkt__shape_error(n, "%u queries and %u keys: only full attention or a cache", d.T,
                                d.S);
    if (docs && (docs->dtype != VKT_U32 || docs->count != (uint64_t)d.B * d.T || start))
        return vkt__shape_error(n, "documents %s must be [%u, %u] u32, without a cache",
                                vkt__text(docs), d.B, d.T);
    if (start && (start->dtype != VKT_U32 || start->count != 1))
        return vkt__shape_error(n, "start %s must be [1] u32", vkt__text(start));
    n->attr.attention.scale =
        n->attr.attention.scale != 0 ? n->attr.attention.scale : (float)(1 / sqrt((double)D));
    vkt__out(n, 0, vkt_shape3(d.B, d.T, H * D), VKT_F32);
    vkt__out(n, 1, vkt_shape3(d.B, H, d.T), VKT_F32);
    return true;
}

static bool delta_shape(vkt_node *n)
{
    vkt_shape s = n->in[0]->shape;
    vkt__out(n, 0, vkt_shape3(s.d[0], n->attr.attention.heads, s.d[1]), VKT_F32);
    return true;
}

static bool bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[Q]->shape, VKT_F32);
    for (uint32_t i = K; i <= V && n->in[K]; i++) vkt__out(n, i, n->in[i]->shape, VKT_F32);
    return true;
}

/* ---- recording ---- */

/* Whether attention_one.comp runs: one query a sequence, on Mesa's CPU driver. It knows no
 * documents, of which one token has but its own. */
static bool is_one(const vkt_caps *c, const vkt_node *n)
{
    return n->op == &vkt__op_attention && dims_of(n).T == 1 && vkt__use_pairs(c) &&
           c->subgroup_arith;
}

/* The node's wish, else by class; what lanes hand each other needs subgroup operations. */
static uint32_t kernel_of(const vkt_caps *c, const vkt_node *n)
{
    uint32_t kernel = n->attr.attention.kernel;
    if (kernel == BY_DEVICE && is_one(c, n)) return ONE;
    if (kernel == BY_DEVICE) kernel = c->klass == VKT_GPU_CLASS_CPU ? DIRECT : STAGED;
    return kernel == DIRECT && c->subgroup_arith ? DIRECT : STAGED;
}

/* A kernel whose invocations keep `kept` arrays of a head's size: its name, constants, and how many
 * rows a workgroup owns. CPU drivers: one subgroup a workgroup. GPUs: 16 KiB staged, and at most 64
 * registers for the arrays, where lanes can share a row. Intel: half of that, and of the rows at
 * once, all of which its compiler loads before it uses the first. */
typedef struct {
    vkt__shader shader;
    vkt__constant spec[7];
    uint32_t owned;
} att_kernel;

static att_kernel choose(const vkt__rec *rec, const vkt_node *n, const vkt__shader shaders[2],
                         uint32_t kept, uint32_t rows)
{
    const vkt_caps *c = rec->caps;
    bool staged = kernel_of(c, n) == STAGED, intel = c->klass == VKT_GPU_CLASS_INTEL;
    uint32_t D = n->attr.attention.head, split = 1, at_once = kept > 2 ? 4 : 8, wg = c->subgroup,
             lanes = vkt__lanes(c, wg, VKT__MANY), most_kept = intel ? 32 : 64,
             most_split = c->subgroup_arith ? VKT_MIN(lanes, 16) : 1;
    if (staged) {
        while (split < most_split && kept * D / split > most_kept && D / 4 % (2 * split) == 0)
            split *= 2;
        bool over = kept * D / split > most_kept; /* D / 4 is odd, or lanes are few */
        if (intel || over) at_once = intel && over ? 1 : at_once / 2;
        wg = VKT_MIN(c->workgroup, 128);
        while (wg / 2 >= rows * split && wg / 2 >= VKT_MAX(c->subgroup, 32)) wg /= 2;
    }
    uint32_t most = 16384 / (8 * D) / 8 * 8;
    return (att_kernel) { shaders[!staged && vkt__use_pairs(c)],
                          { { VKT_SPEC_WORKGROUP, wg },
                            { VKT_SPEC_LANES, lanes },
                            { VKT_SPEC_D4, D / 4 },
                            { VKT_SPEC_AT_ONCE, at_once },
                            { VKT_SPEC_SPLIT, split },
                            { VKT_SPEC_TILE, staged ? most : 0 },
                            { VKT_SPEC_SHUFFLE, c->subgroup <= 8 } },
                          wg / split };
}

static const vkt__shader forward_shaders[] = { VKT_SHADER_ATTENTION, VKT_SHADER_ATTENTION_PAIRS },
                         dq_shaders[] = { VKT_SHADER_ATTENTION_DQ, VKT_SHADER_ATTENTION_DQ_PAIRS },
                         dkv_shaders[] = { VKT_SHADER_ATTENTION_DKV,
                                           VKT_SHADER_ATTENTION_DKV_PAIRS };

static uint32_t flags_of(const vkt_node *n, bool start)
{
    return (n->attr.attention.full ? 0 : VKT_ATT_CAUSAL) | (n->in[DOCS] ? VKT_ATT_DOCS : 0) |
           (start ? VKT_ATT_START : 0);
}

static uint64_t n_groups(uint32_t rows, uint32_t owned, uint64_t pairs)
{
    return (rows + owned - 1) / owned * pairs;
}

/* Addresses of keys and values, wherever they are. */
static void keys_at(const vkt__rec *rec, const vkt_node *n, const dims *d, uint64_t *k, uint64_t *v)
{
    uint64_t q = vkt__addr(rec, n->in[Q]), head = 4ull * d->D;
    *k = n->in[K] ? vkt__addr(rec, n->in[K]) : q + head * d->H;
    *v = n->in[V] ? vkt__addr(rec, n->in[V]) : q + head * (d->H + d->Hkv);
}

static void attention_record(vkt__rec *rec, const vkt_node *n)
{
    dims d = dims_of(n);
    struct attention_params p = { .q = vkt__addr(rec, n->in[Q]),
                                  .docs = vkt__addr_or(rec, n->in[DOCS], n->in[Q]),
                                  .start = vkt__addr_or(rec, n->in[START], n->in[Q]),
                                  .y = vkt__addr(rec, n->out[0]),
                                  .lse = vkt__addr(rec, n->out[1]),
                                  .batch = d.B,
                                  .T = d.T,
                                  .S = d.S,
                                  .heads = d.H,
                                  .group = d.H / d.Hkv,
                                  .q_row = (uint32_t)(d.q_row / 4),
                                  .kv_row = (uint32_t)(d.kv_row / 4),
                                  .window = n->attr.attention.window,
                                  .flags = flags_of(n, n->in[START] != NULL),
                                  .scale = n->attr.attention.scale };
    keys_at(rec, n, &d, &p.k, &p.v);
    if (kernel_of(rec->caps, n) == ONE) {
        const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, rec->caps->subgroup },
                                       { VKT_SPEC_D4, d.D / 4 } };
        vkt__dispatch(rec, VKT_SHADER_ATTENTION_ONE_PAIRS, spec, VKT_COUNT(spec), &p, sizeof p,
                      (uint64_t)d.B * d.H);
        return;
    }
    att_kernel k = choose(rec, n, forward_shaders, 2, d.T);
    vkt__dispatch(rec, k.shader, k.spec, VKT_COUNT(k.spec), &p, sizeof p,
                  n_groups(d.T, k.owned, (uint64_t)d.B * d.H));
}

static void delta_record(vkt__rec *rec, const vkt_node *n)
{
    struct attention_delta_params p = { .dy = vkt__addr(rec, n->in[0]),
                                        .y = vkt__addr(rec, n->in[1]),
                                        .delta = vkt__addr(rec, n->out[0]),
                                        .T = n->in[0]->shape.d[1],
                                        .heads = n->attr.attention.heads,
                                        .n = (uint32_t)n->out[0]->count };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_D4, n->attr.attention.head / 4 } };
    vkt__dispatch(rec, VKT_SHADER_ATTENTION_DELTA, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.n + wg - 1ull) / wg);
}

static void bwd_record(vkt__rec *rec, const vkt_node *n)
{
    dims d = dims_of(n);
    struct attention_bwd_params p = { .q = vkt__addr(rec, n->in[Q]),
                                      .docs = vkt__addr_or(rec, n->in[DOCS], n->in[Q]),
                                      .dy = vkt__addr(rec, n->in[DY]),
                                      .lse = vkt__addr(rec, n->in[LSE]),
                                      .delta = vkt__addr(rec, n->in[DELTA]),
                                      .dx = vkt__addr(rec, n->out[0]),
                                      .batch = d.B,
                                      .T = d.T,
                                      .S = d.S,
                                      .heads = d.H,
                                      .group = d.H / d.Hkv,
                                      .q_row = (uint32_t)(d.q_row / 4),
                                      .kv_row = (uint32_t)(d.kv_row / 4),
                                      .window = n->attr.attention.window,
                                      .flags = flags_of(n, false),
                                      .scale = n->attr.attention.scale };
    keys_at(rec, n, &d, &p.k, &p.v);
    att_kernel k = choose(rec, n, dq_shaders, 3, d.T);
    vkt__dispatch(rec, k.shader, k.spec, VKT_COUNT(k.spec), &p, sizeof p,
                  n_groups(d.T, k.owned, (uint64_t)d.B * d.H));
    uint64_t dq = p.dx, head = 4ull * d.D;
    p.dx = n->in[K] ? vkt__addr(rec, n->out[1]) : dq + head * d.H;
    p.dv = n->in[V] ? vkt__addr(rec, n->out[2]) : dq + head * (d.H + d.Hkv);
    k = choose(rec, n, dkv_shaders, 4, d.S);
    vkt__dispatch(rec, k.shader, k.spec, VKT_COUNT(k.spec), &p, sizeof p,
                  n_groups(d.S, k.owned, (uint64_t)d.B * d.Hkv));
}

static const char *attention_kernel(const vkt_gpu *gpu, const vkt_node *n)
{
    static const char *const names[] = { [DIRECT] = "direct", [STAGED] = "staged", [ONE] = "one" };
    return names[kernel_of(vkt_gpu_caps(gpu), n)];
}

/* ---- twins ---- */

/* One query of one head: where its row and its keys' rows are, and which keys it sees. */
typedef struct {
    const vkt_node *n;
    dims d;
    double *const *in;
    uint64_t b, h, t;
} query;

static uint64_t q_at(const query *w)
{
    return (w->b * w->d.T + w->t) * w->d.q_row + w->h * w->d.D;
}

static uint64_t y_at(const query *w)
{
    return ((w->b * w->d.T + w->t) * w->d.H + w->h) * w->d.D;
}

/* In in[K], or where there is none in in[Q]; `part` 1: the key, 2: the value. */
static uint64_t kv_at(const query *w, uint64_t j, uint32_t part)
{
    uint64_t head = w->h / (w->d.H / w->d.Hkv);
    if (!w->n->in[K]) head += w->d.H + (part - 1ull) * w->d.Hkv;
    return (w->b * w->d.S + j) * w->d.kv_row + head * w->d.D;
}

static bool query_sees(const query *w, uint64_t j)
{
    bool cached = w->n->op == &vkt__op_attention && w->in[START];
    uint64_t start = cached ? (uint64_t)w->in[START][0] : 0, i = start + w->t;
    uint64_t window = w->n->attr.attention.window;
    if (cached && j >= start + w->d.T) return false;
    if (!w->n->attr.attention.full && j > i) return false;
    if (window && (i >= j + window || j >= i + window)) return false;
    const double *docs = w->in[DOCS];
    return !docs || docs[w->b * w->d.T + w->t] == docs[w->b * w->d.T + j];
}

static double dot(const double *a, const double *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double score(const query *w, uint64_t j)
{
    const double *k = w->in[w->n->in[K] ? K : Q] + kv_at(w, j, 1);
    return (double)w->n->attr.attention.scale * dot(w->in[Q] + q_at(w), k, w->d.D);
}

static void each_query(const vkt_node *n, double *const *in, double *const *out,
                       void (*fn)(const query *w, double *const *out))
{
    query w = { .n = n, .d = dims_of(n), .in = in };
    for (w.b = 0; w.b < w.d.B; w.b++)
        for (w.h = 0; w.h < w.d.H; w.h++)
            for (w.t = 0; w.t < w.d.T; w.t++) fn(&w, out);
}

static void query_ref(const query *w, double *const *out)
{
    double top = -INFINITY, sum = 0, *y = out[0] + y_at(w);
    for (uint64_t j = 0; j < w->d.S; j++)
        if (query_sees(w, j)) top = fmax(top, score(w, j));
    for (uint64_t i = 0; i < w->d.D; i++) y[i] = 0;
    for (uint64_t j = 0; j < w->d.S; j++) {
        if (!query_sees(w, j)) continue;
        const double *v = w->in[w->n->in[V] ? V : Q] + kv_at(w, j, 2);
        double p = exp(score(w, j) - top);
        sum += p;
        for (uint64_t i = 0; i < w->d.D; i++) y[i] += p * v[i];
    }
    for (uint64_t i = 0; i < w->d.D; i++) y[i] /= sum;
    out[1][(w->b * w->d.H + w->h) * w->d.T + w->t] = top + log(sum);
}

static void attention_ref(const vkt_node *n, double *const *in, double *const *out)
{
    each_query(n, in, out, query_ref);
}

static void query_bwd_ref(const query *w, double *const *out)
{
    uint64_t stat = (w->b * w->d.H + w->h) * w->d.T + w->t, D = w->d.D;
    const double *dy = w->in[DY] + y_at(w), *q = w->in[Q] + q_at(w);
    double scale = (double)w->n->attr.attention.scale;
    for (uint64_t j = 0; j < w->d.S; j++) {
        if (!query_sees(w, j)) continue;
        uint64_t at_k = kv_at(w, j, 1), at_v = kv_at(w, j, 2);
        const double *k = w->in[w->n->in[K] ? K : Q] + at_k, *v = w->in[w->n->in[V] ? V : Q] + at_v;
        double *dk = out[w->n->in[K] ? 1 : 0] + at_k, *dv = out[w->n->in[V] ? 2 : 0] + at_v;
        double p = exp(score(w, j) - w->in[LSE][stat]),
               ds = scale * p * (dot(dy, v, D) - w->in[DELTA][stat]);
        for (uint64_t i = 0; i < D; i++) {
            out[0][q_at(w) + i] += ds * k[i];
            dk[i] += ds * q[i];
            dv[i] += p * dy[i];
        }
    }
}

static void bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint32_t i = 0; i < 3; i++)
        if (n->out[i]) memset(out[i], 0, n->out[i]->count * sizeof(double));
    each_query(n, in, out, query_bwd_ref);
}

static void delta_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t D = n->attr.attention.head, H = n->attr.attention.heads, T = n->in[0]->shape.d[1];
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t at = ((i / T / H * T + i % T) * H + i / T % H) * D;
        out[0][i] = dot(in[0] + at, in[1] + at, D);
    }
}

/* ---- cost and tolerance ---- */

/* Pairs of a query and a key that it sees; documents are not known here. */
static double pairs_of(const vkt_node *n, const dims *d)
{
    double T = d->T, S = d->S,
           pairs = n->attr.attention.full || d->S != d->T ? T * S : T * (T + 1) / 2;
    double window = n->attr.attention.window;
    if (window > 0) pairs = VKT_MIN(pairs, T * (n->attr.attention.full ? 2 * window - 1 : window));
    return pairs * d->B * d->H;
}

static vkt_cost cost_of(const vkt_node *n, double products)
{
    dims d = dims_of(n);
    vkt_cost c = { 2 * products * pairs_of(n, &d) * d.D, 0 };
    for (uint32_t i = 0; i < n->op->n_in; i++)
        if (n->in[i]) c.bytes += (double)n->in[i]->bytes;
    for (uint32_t i = 0; i < n->op->n_out; i++)
        if (n->out[i]) c.bytes += (double)n->out[i]->bytes;
    return c;
}

static vkt_cost attention_cost(const vkt_node *n)
{
    return cost_of(n, 2);
}

/* Scores and dy v are made in both kernels. */
static vkt_cost bwd_cost(const vkt_node *n)
{
    return cost_of(n, 7);
}

/* A score's D roundings become an error of exp's argument, which the sum over keys carries; exp
 * itself is allowed 3 + 2 |x| ulp, |x| up to a few tens. */
static double attention_terms(const vkt_node *n)
{
    dims d = dims_of(n);
    return d.D + d.S + 256.0;
}

/* The same for p and ds, then sums over queries of all heads of a group. */
static double bwd_terms(const vkt_node *n)
{
    dims d = dims_of(n);
    return 2.0 * d.D + (double)d.S + (double)d.T * (d.H / d.Hkv) + 512.0;
}

static double delta_terms(const vkt_node *n)
{
    return n->attr.attention.head;
}

/* ---- gradient ---- */

static vkt_node *attention_bwd(vkt_graph *g, const vkt_node *f, vkt_tensor *dy)
{
    vkt_tensor *delta =
        vkt__op(g, &vkt__op_attention_delta, (vkt_tensor *[]) { dy, f->out[0] }, 2, f->attr);
    return vkt__node(
        g, &vkt__op_attention_bwd,
        (vkt_tensor *[]) { f->in[Q], f->in[K], f->in[V], f->in[DOCS], dy, f->out[1], delta }, 7,
        f->attr);
}

static void attention_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (!dy[0]) return;
    if (n->in[START]) {
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g }, "no gradient through a cache");
        return;
    }
    vkt_node *b = attention_bwd(g, n, vkt__real(g, dy[0], n->out[0]));
    for (uint32_t i = Q; i <= V && b; i++)
        if (n->in[i] && vkt__needs(n->in[i])) dx[i] = b->out[i];
}

/* ---- samples ---- */

/* Around a subgroup's and a workgroup's queries and a tile of keys; every mask; shared keys; side
 * by side and apart; caches; fewer queries than keys. Each with the device's kernel, the first few
 * with every kernel. */
static const struct {
    const char *name;
    uint32_t b, t, s, h, kv, d;
    bool packed, full;
    uint32_t window, doc, start;
} sizes[] = {
    /* Of one token the gradients of q and k are 0 by cancellation: no measure of an error. */
    { "two", 1, 2, 2, 1, 1, 4, false, false, 0, 0, 0 },
    { "odd", 2, 37, 37, 3, 3, 12, false, false, 0, 0, 0 },
    { "side by side, shared keys", 2, 33, 33, 4, 2, 8, true, false, 0, 0, 0 },
    { "window and documents", 2, 50, 50, 2, 1, 16, true, false, 7, 19, 0 },
    { "full, documents", 1, 41, 41, 2, 2, 8, true, true, 0, 9, 0 },
    { "full, window", 1, 60, 60, 2, 2, 20, false, true, 5, 0, 0 },
    { "documents", 1, 70, 70, 1, 1, 32, true, false, 0, 11, 0 },
    { "full, other keys", 2, 5, 29, 2, 2, 64, false, true, 0, 0, 0 },
    { "wide head", 1, 20, 20, 2, 1, 128, true, false, 0, 0, 0 },
    { "widest head", 1, 5, 5, 1, 1, 256, false, false, 0, 0, 0 },
    { "many keys", 1, 200, 200, 2, 2, 64, true, false, 0, 0, 0 },
    { "window", 1, 140, 140, 1, 1, 32, true, false, 33, 0, 0 },
    { "no rows", 0, 5, 5, 1, 1, 8, true, false, 0, 0, 0 },
    { "full, one query", 3, 1, 33, 2, 1, 12, false, true, 0, 0, 0 },
    { "cache, one query", 2, 1, 40, 4, 2, 16, false, false, 0, 0, 21 },
    { "cache, one query of a wide head", 1, 1, 90, 2, 2, 128, false, false, 0, 0, 77 },
    { "cache, one query, window", 1, 1, 70, 2, 1, 64, false, false, 19, 0, 61 },
    { "cache, some queries", 1, 5, 40, 2, 2, 16, false, false, 0, 0, 17 },
    { "cache, window", 1, 3, 40, 2, 1, 16, false, false, 6, 0, 30 },
};
enum { N_SIZES = VKT_COUNT(sizes), N_WITHOUT_CACHE = N_SIZES - 5, OF_EVERY_KERNEL = 6 };

static const vkt_node *sample(vkt_graph *g, uint32_t i, uint32_t kernel)
{
    uint32_t B = sizes[i].b, T = sizes[i].t, S = sizes[i].s, H = sizes[i].h, kv = sizes[i].kv,
             D = sizes[i].d;
    vkt_shape q = vkt_shape3(B, T, (H + (sizes[i].packed ? 2 * kv : 0)) * D),
              k = vkt_shape3(B, S, kv * D);
    vkt_tensor *in[5] = { vkt__sample(g, q, VKT_F32, VKT_HINT_NORMAL, 0) };
    for (uint32_t j = K; j <= V && !sizes[i].packed; j++)
        in[j] = vkt__sample(g, k, VKT_F32, VKT_HINT_NORMAL, 0);
    if (sizes[i].doc)
        in[DOCS] = vkt__sample(g, vkt_shape2(B, T), VKT_U32, VKT_HINT_DOCUMENTS, sizes[i].doc);
    if (sizes[i].start)
        in[START] = vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_CONSTANT, sizes[i].start);
    vkt_attr attr = { .attention = { .heads = H,
                                     .kv_heads = kv,
                                     .window = sizes[i].window,
                                     .kernel = kernel,
                                     .full = sizes[i].full } };
    return vkt__node(g, &vkt__op_attention, in, 5, attr);
}

/* Which size and kernel case i is of; false past the last. */
static bool which(uint32_t i, uint32_t n_sizes, uint32_t *size, uint32_t *kernel)
{
    bool own = i < n_sizes;
    *size = own ? i : (i - n_sizes) % OF_EVERY_KERNEL;
    *kernel = own ? BY_DEVICE : 1 + (i - n_sizes) / OF_EVERY_KERNEL;
    return *kernel < N_KERNELS;
}

static const char *attention_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    uint32_t size, kernel;
    if (!which(i, N_SIZES, &size, &kernel)) return NULL;
    sample(g, size, kernel);
    return sizes[size].name;
}

static const char *bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    uint32_t size, kernel;
    if (!which(i, N_WITHOUT_CACHE, &size, &kernel)) return NULL;
    const vkt_node *f = sample(g, size, kernel);
    attention_bwd(g, f, vkt__sample(g, f->out[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0));
    return sizes[size].name;
}

static const char *delta_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const uint32_t some[] = { 0, 1, 8, 10 };
    if (i >= VKT_COUNT(some)) return NULL;
    vkt_shape s =
        vkt_shape3(sizes[some[i]].b, sizes[some[i]].t, sizes[some[i]].h * sizes[some[i]].d);
    vkt_tensor *dy = vkt__sample(g, s, VKT_F32, VKT_HINT_NORMAL, 0),
               *y = vkt__sample(g, s, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt__op(g, op, (vkt_tensor *[]) { dy, y }, 2,
            (vkt_attr) { .attention = { .heads = sizes[some[i]].h, .head = sizes[some[i]].d } });
    return sizes[some[i]].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_attention = { .name = "attention",
                                   .n_in = 5,
                                   .n_out = 2,
                                   .shape = attention_shape,
                                   .record = attention_record,
                                   .grad = attention_grad,
                                   .kernel = attention_kernel,
                                   .ref = attention_ref,
                                   .cost = attention_cost,
                                   .terms = attention_terms,
                                   .sample = attention_sample };
const vkt_op vkt__op_attention_delta = { .name = "attention_delta",
                                         .n_in = 2,
                                         .n_out = 1,
                                         .shape = delta_shape,
                                         .record = delta_record,
                                         .ref = delta_ref,
                                         .terms = delta_terms,
                                         .sample = delta_sample };
const vkt_op vkt__op_attention_bwd = { .name = "attention_bwd",
                                       .n_in = 7,
                                       .n_out = 3,
                                       .shape = bwd_shape,
                                       .record = bwd_record,
                                       .kernel = attention_kernel,
                                       .ref = bwd_ref,
                                       .cost = bwd_cost,
                                       .terms = bwd_terms,
                                       .sample = bwd_sample };

vkt_tensor *vkt_attention(vkt_graph *g, vkt_tensor *q, vkt_tensor *k, vkt_tensor *v,
                          vkt_tensor *docs, vkt_tensor *start, const vkt_attention_desc *desc)
{
    vkt_attr attr = { .attention = { .heads = desc->heads,
                                     .kv_heads = desc->kv_heads ? desc->kv_heads : desc->heads,
                                     .window = desc->window,
                                     .full = desc->full,
                                     .scale = desc->scale } };
    return vkt__op(g, &vkt__op_attention, (vkt_tensor *[]) { q, k, v, docs, start }, 5, attr);
}
