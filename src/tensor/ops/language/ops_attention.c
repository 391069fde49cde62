/* Attention rows: forward, of parts of one query's keys (ops_attention_join.c), what its gradient
 * subtracts (delta), and the gradients of q, k and v. Queries, keys and values may lie side by side
 * in one tensor, and then so do their gradients. Kernels: kernels/attention.h, and
 * attention_delta.comp. */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/twins/attention_twin.h"
#include "tensor/ops/ops.h"

/* Inputs: kernels/attention.h. Results of the backward row are numbered as q, k and v are. */
enum { Y, LSE, N_OUT };
enum { DELTA_DY, DELTA_Y, N_DELTA_IN };

/* ---- shapes ---- */

static bool check_heads(vkt_node *n)
{
    const vkt_tensor *q = n->in[VKT__ATT_Q], *k = n->in[VKT__ATT_K], *v = n->in[VKT__ATT_V],
                     *docs = n->in[VKT__ATT_DOCS], *start = n->in[VKT__ATT_START];
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
    if (D == 0 || D % 4 || D > VKT__ATT_MOST_HEAD)
        return vkt__shape_error(n, "a head of %u: it must be a multiple of 4, at most %d", D,
                                VKT__ATT_MOST_HEAD);
    if ((k == NULL) != (v == NULL) || (k && !vkt__shape_equal(k->shape, v->shape)))
        return vkt__shape_error(n, "keys and values must have one shape");
    if (k && k->dtype != v->dtype)
        return vkt__shape_error(n, "keys %s and values %s must have one type", vkt__text(k),
                                vkt__text(v));
    if (k &&
        (k->shape.rank != 3 || k->shape.d[0] != q->shape.d[0] || vkt__last(k->shape) != Hkv * D))
        return vkt__shape_error(n, "keys %s must be [%u, S, %u] for %s", vkt__text(k),
                                q->shape.d[0], Hkv * D, vkt__text(q));
    vkt__att_dims d = vkt__att_dims_of(n);
    if (d.S != d.T && !start && (!n->attr.attention.full || docs))
        return vkt__shape_error(n, "%u queries and %u keys: only full attention or a cache", d.T,
                                d.S);
    if (docs && (docs->count != (uint64_t)d.B * d.T || start))
        return vkt__shape_error(n, "documents %s must be [%u, %u] u32, without a cache",
                                vkt__text(docs), d.B, d.T);
    if (start && start->count != 1)
        return vkt__shape_error(n, "start %s must be [1] u32", vkt__text(start));
    n->attr.attention.scale =
        n->attr.attention.scale != 0 ? n->attr.attention.scale : (float)(1 / sqrt((double)D));
    return true;
}

static bool attention_shape(vkt_node *n)
{
    if (!check_heads(n)) return false;
    vkt__att_dims d = vkt__att_dims_of(n);
    vkt__out(n, Y, vkt_shape3(d.B, d.T, d.H * d.D), VKT_F32);
    vkt__out(n, LSE, vkt_shape3(d.B, d.H, d.T), VKT_F32);
    return true;
}

static bool cached_shape(vkt_node *n)
{
    if (!n->in[VKT__ATT_K] || !n->in[VKT__ATT_START] || n->in[VKT__ATT_DOCS])
        return vkt__shape_error(n, "keys, values and a start are needed, and no documents");
    return attention_shape(n);
}

static bool parts_shape(vkt_node *n)
{
    if (!check_heads(n)) return false;
    vkt__att_dims d = vkt__att_dims_of(n);
    if (d.T != 1 || n->in[VKT__ATT_DOCS] || !n->attr.attention.parts)
        return vkt__shape_error(n, "parts are of one query's keys, without documents");
    vkt__out(n, Y, vkt_shape3(d.B, n->attr.attention.parts, d.H * d.D), VKT_F32);
    vkt__out(n, LSE, vkt_shape3(d.B, d.H, n->attr.attention.parts), VKT_F32);
    return true;
}

static bool delta_shape(vkt_node *n)
{
    vkt_shape s = n->in[DELTA_DY]->shape;
    vkt__out(n, 0, vkt_shape3(s.d[0], n->attr.attention.heads, s.d[1]), VKT_F32);
    return true;
}

static bool bwd_shape(vkt_node *n)
{
    vkt__out(n, VKT__ATT_Q, n->in[VKT__ATT_Q]->shape, VKT_F32);
    for (uint32_t i = VKT__ATT_K; i <= VKT__ATT_V && n->in[VKT__ATT_K]; i++)
        vkt__out(n, i, n->in[i]->shape, VKT_F32);
    return true;
}

/* ---- recording ---- */

static uint32_t flags_of(const vkt_node *n, bool start)
{
    return (n->attr.attention.full ? 0 : VKT_ATT_CAUSAL) |
           (n->in[VKT__ATT_DOCS] ? VKT_ATT_DOCS : 0) | (start ? VKT_ATT_START : 0);
}

static uint64_t n_groups(uint32_t rows, uint32_t owned, uint64_t pairs)
{
    return (rows + owned - 1) / owned * pairs;
}

/* Addresses of keys and values, wherever they are. */
static void keys_at(const vkt__rec *rec, const vkt_node *n, const vkt__att_dims *d, uint64_t *k,
                    uint64_t *v)
{
    uint64_t q = vkt__addr(rec, n->in[VKT__ATT_Q]),
             head = (uint64_t)vkt_dtype_bytes(n->in[VKT__ATT_Q]->dtype) * d->D;
    *k = n->in[VKT__ATT_K] ? vkt__addr(rec, n->in[VKT__ATT_K]) : q + head * d->H;
    *v = n->in[VKT__ATT_V] ? vkt__addr(rec, n->in[VKT__ATT_V]) : q + head * (d->H + d->Hkv);
}

static void record_with(vkt__rec *rec, const vkt_node *n, const vkt__att_launch *k, uint32_t parts)
{
    vkt__att_dims d = vkt__att_dims_of(n);
    struct attention_params p = { .q = vkt__addr(rec, n->in[VKT__ATT_Q]),
                                  .docs =
                                      vkt__addr_or(rec, n->in[VKT__ATT_DOCS], n->in[VKT__ATT_Q]),
                                  .start =
                                      vkt__addr_or(rec, n->in[VKT__ATT_START], n->in[VKT__ATT_Q]),
                                  .y = vkt__addr(rec, n->out[Y]),
                                  .lse = vkt__addr(rec, n->out[LSE]),
                                  .batch = d.B,
                                  .T = d.T,
                                  .S = d.S,
                                  .heads = d.H,
                                  .group = d.H / d.Hkv,
                                  .q_row = (uint32_t)(d.q_row / 4),
                                  .kv_row = (uint32_t)(d.kv_row / 4),
                                  .window = n->attr.attention.window,
                                  .flags = flags_of(n, n->in[VKT__ATT_START] != NULL),
                                  .scale = n->attr.attention.scale,
                                  .cap = n->attr.attention.cap,
                                  .parts = parts };
    keys_at(rec, n, &d, &p.k, &p.v);
    vkt__dispatch(rec, k->shader, k->spec, k->n_spec, &p, sizeof p,
                  n_groups(d.T, k->owned, (uint64_t)d.B * d.H * parts));
}

static void attention_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__att_launch k = vkt__att_prepare(rec->caps, n, VKT__ATT_FORWARD);
    record_with(rec, n, &k, 1);
}

static void parts_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__att_launch k = vkt__att_of_query(rec->caps, n);
    record_with(rec, n, &k, n->attr.attention.parts);
}

static void delta_record(vkt__rec *rec, const vkt_node *n)
{
    struct attention_delta_params p = { .dy = vkt__addr(rec, n->in[DELTA_DY]),
                                        .y = vkt__addr(rec, n->in[DELTA_Y]),
                                        .delta = vkt__addr(rec, n->out[0]),
                                        .T = n->in[DELTA_DY]->shape.d[1],
                                        .heads = n->attr.attention.heads,
                                        .n = (uint32_t)n->out[0]->count };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_D4, n->attr.attention.head / 4 },
                                   { VKT_SPEC_TYPE_DY, vkt__type(n->in[DELTA_DY]) },
                                   { VKT_SPEC_TYPE_Y, vkt__type(n->in[DELTA_Y]) } };
    vkt__dispatch(rec, VKT_SHADER_ATTENTION_DELTA, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.n + wg - 1ull) / wg);
}

static void bwd_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__att_dims d = vkt__att_dims_of(n);
    struct attention_bwd_params p = { .q = vkt__addr(rec, n->in[VKT__ATT_Q]),
                                      .docs = vkt__addr_or(rec, n->in[VKT__ATT_DOCS],
                                                           n->in[VKT__ATT_Q]),
                                      .dy = vkt__addr(rec, n->in[VKT__ATT_DY]),
                                      .lse = vkt__addr(rec, n->in[VKT__ATT_LSE]),
                                      .delta = vkt__addr(rec, n->in[VKT__ATT_DELTA]),
                                      .dx = vkt__addr(rec, n->out[VKT__ATT_Q]),
                                      .batch = d.B,
                                      .T = d.T,
                                      .S = d.S,
                                      .heads = d.H,
                                      .group = d.H / d.Hkv,
                                      .q_row = (uint32_t)(d.q_row / 4),
                                      .kv_row = (uint32_t)(d.kv_row / 4),
                                      .window = n->attr.attention.window,
                                      .flags = flags_of(n, false),
                                      .scale = n->attr.attention.scale,
                                      .cap = n->attr.attention.cap };
    keys_at(rec, n, &d, &p.k, &p.v);
    vkt__att_launch k = vkt__att_prepare(rec->caps, n, VKT__ATT_BWD_Q);
    vkt__dispatch(rec, k.shader, k.spec, k.n_spec, &p, sizeof p,
                  n_groups(d.T, k.owned, (uint64_t)d.B * d.H));
    uint64_t dq = p.dx, head = (uint64_t)vkt_dtype_bytes(n->out[VKT__ATT_Q]->dtype) * d.D;
    p.dx = n->in[VKT__ATT_K] ? vkt__addr(rec, n->out[VKT__ATT_K]) : dq + head * d.H;
    p.dv = n->in[VKT__ATT_V] ? vkt__addr(rec, n->out[VKT__ATT_V]) : dq + head * (d.H + d.Hkv);
    bool splits = vkt__att_splits(rec->caps, n);
    for (int part = 0; part <= splits; part++) {
        k = vkt__att_prepare(rec->caps, n,
                             !splits ? VKT__ATT_BWD_KV
                             : part  ? VKT__ATT_BWD_V
                                     : VKT__ATT_BWD_K);
        vkt__dispatch(rec, k.shader, k.spec, k.n_spec, &p, sizeof p,
                      n_groups(d.S, k.owned, (uint64_t)d.B * d.Hkv));
    }
}

static const char *attention_kernel(const vkt_gpu *gpu, const vkt_node *n)
{
    vkt__att_pass pass = n->op == &vkt__op_attention_bwd ? VKT__ATT_BWD_KV : VKT__ATT_FORWARD;
    return vkt__att_kernel_name(vkt__att_choose(vkt_gpu_caps(gpu), n, pass));
}

/* On matrix units where one of its kernels is this device's choice. */
static bool attention_can_narrow(const vkt_node *n, vkt_dtype type)
{
    const vkt_gpu *gpu = vkt__gpu_of(n->g);
    if (!gpu || n->attr.attention.multiply != type) return false;
    const vkt_caps *c = vkt_gpu_caps(gpu);
    return n->op == &vkt__op_attention
               ? vkt__att_on_units(vkt__att_choose(c, n, VKT__ATT_FORWARD))
               : vkt__att_on_units(vkt__att_choose(c, n, VKT__ATT_BWD_Q)) &&
                     vkt__att_on_units(vkt__att_choose(c, n, VKT__ATT_BWD_KV));
}

static bool attention_narrow(const vkt_gpu *gpu, vkt_node *n, vkt_dtype to)
{
    (void)gpu;
    n->attr.attention.multiply = to;
    if (!attention_can_narrow(n, to)) n->attr.attention.multiply = VKT_F32;
    return n->attr.attention.multiply != VKT_F32;
}

/* ---- cost and tolerance ---- */

/* Pairs of a query and a key that it sees; documents are not known here. */
static double pairs_of(const vkt_node *n, const vkt__att_dims *d)
{
    double T = d->T, S = d->S,
           pairs = n->attr.attention.full || d->S != d->T ? T * S : T * (T + 1) / 2;
    double window = n->attr.attention.window;
    if (window > 0) pairs = VKT_MIN(pairs, T * (n->attr.attention.full ? 2 * window - 1 : window));
    return pairs * d->B * d->H;
}

static vkt_cost cost_of(const vkt_node *n, double products)
{
    vkt__att_dims d = vkt__att_dims_of(n);
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

/* On matrix units weights and the scores' gradients are rounded to 16 bits: terms for vkt__tol that
 * allow that number of roundings of a result. The twin rounds what is multiplied. */
static double rounded_terms(const vkt_node *n, double roundings)
{
    double ratio = vkt__tol(n->attr.attention.multiply, 0) / vkt__tol(VKT_F32, 0);
    return ratio > 1 ? roundings * ratio * ratio : 0;
}

/* Results are measured by the root of all rows' mean square. In a causal sequence the row with
 * one key is as large as that row's value; all rows together are smaller, since a row is the mean
 * of the values of t keys and about 1 / t of their square: the sum of 1 / t is 1 + ln T. */
static double largest_row(const vkt__att_dims *d)
{
    return d->S > 1 ? (double)d->S / (1 + log((double)d->S)) : 1;
}

/* A score's D roundings become an error of exp's argument, which the sum over keys carries; exp
 * itself is allowed 3 + 2 |x| ulp, |x| up to a few tens. */
static double attention_terms(const vkt_node *n)
{
    vkt__att_dims d = vkt__att_dims_of(n);
    return d.D + d.S + 256.0 + rounded_terms(n, 4);
}

/* The same for p and ds, then sums over queries of all heads of a group. ds of a row of one key is
 * dy v - delta, two sums of D that cancel each other: what their roundings leave is of the largest
 * row's size. Of 16-bit roundings the largest row has twice as many as others: kernels that only
 * round p and ds reach 0.99 of four of them with 200 keys. */
static double bwd_terms(const vkt_node *n)
{
    vkt__att_dims d = vkt__att_dims_of(n);
    double sums = 2.0 * d.D + (double)d.S + (double)d.T * (d.H / d.Hkv) + 512.0;
    return sums * largest_row(&d) + rounded_terms(n, 16);
}

static double delta_terms(const vkt_node *n)
{
    return n->attr.attention.head;
}

/* ---- gradient ---- */

static vkt_node *attention_bwd(vkt_graph *g, const vkt_node *f, vkt_tensor *dy)
{
    vkt_tensor *delta =
        vkt__op(g, &vkt__op_attention_delta, (vkt_tensor *[]) { dy, f->out[Y] }, 2, f->attr);
    return vkt__node(g, &vkt__op_attention_bwd,
                     (vkt_tensor *[]) { f->in[VKT__ATT_Q], f->in[VKT__ATT_K], f->in[VKT__ATT_V],
                                        f->in[VKT__ATT_DOCS], dy, f->out[LSE], delta },
                     7, f->attr);
}

static void attention_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (!dy[0]) return;
    if (n->in[VKT__ATT_START]) {
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g }, "no gradient through a cache");
        return;
    }
    vkt_node *b = attention_bwd(g, n, vkt__real(g, dy[0], n->out[Y]));
    for (uint32_t i = VKT__ATT_Q; i <= VKT__ATT_V && b; i++)
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
    float cap;
} sizes[] = {
    /* Of one token the gradients of q and k are 0 by cancellation: no measure of an error. */
    { "two", 1, 2, 2, 1, 1, 4, false, false, 0, 0, 0, 0 },
    { "odd", 2, 37, 37, 3, 3, 12, false, false, 0, 0, 0, 0 },
    { "side by side, shared keys", 2, 33, 33, 4, 2, 8, true, false, 0, 0, 0, 0 },
    { "capped, window, shared keys", 1, 70, 70, 4, 2, 16, true, false, 9, 0, 0, 2 },
    { "window and documents", 2, 50, 50, 2, 1, 16, true, false, 7, 19, 0, 0 },
    { "full, documents", 1, 41, 41, 2, 2, 16, true, true, 0, 9, 0, 0 },
    { "full, window", 1, 60, 60, 2, 2, 20, false, true, 5, 0, 0, 0 },
    { "widest head", 1, 65, 65, 1, 1, 256, false, false, 0, 0, 0, 0 },
    { "many keys", 1, 200, 200, 2, 2, 64, true, false, 0, 0, 0, 0 },
    { "documents", 1, 70, 70, 1, 1, 32, true, false, 0, 11, 0, 0 },
    { "full, other keys", 2, 5, 29, 2, 2, 64, false, true, 0, 0, 0, 0 },
    { "wide head", 1, 66, 66, 2, 1, 128, true, false, 0, 0, 0, 0 },
    { "capped", 2, 37, 37, 3, 3, 12, false, false, 0, 0, 0, 0.7f },
    { "window", 1, 140, 140, 1, 1, 32, true, false, 33, 0, 0, 0 },
    { "no rows", 0, 5, 5, 1, 1, 8, true, false, 0, 0, 0, 0 },
    { "full, one query", 3, 1, 33, 2, 1, 12, false, true, 0, 0, 0, 0 },
    { "cache, one query", 2, 1, 40, 4, 2, 16, false, false, 0, 0, 21, 0 },
    { "cache, one query of a wide head", 1, 1, 90, 2, 2, 128, false, false, 0, 0, 77, 0 },
    { "cache, one query, window", 1, 1, 70, 2, 1, 64, false, false, 19, 0, 61, 0 },
    { "cache, one query, capped", 2, 1, 40, 4, 2, 16, false, false, 0, 0, 21, 0.5f },
    { "cache, some queries", 1, 5, 40, 2, 2, 16, false, false, 0, 0, 17, 0 },
    { "cache, window", 1, 3, 40, 2, 1, 16, false, false, 6, 0, 30, 0 },
};
enum {
    N_SIZES = VKT_COUNT(sizes),
    N_WITHOUT_CACHE = N_SIZES - 6,
    OF_EVERY_KERNEL = 9,
    FIRST_QUERY = 15,
    LAST_QUERY = 19
};

static const uint32_t whole_fragments[] = { 3, 4, 5, 9, 8, 11, 13 };
/* Sizes for each further kernel on matrix units; a CPU driver takes the first. */
static const uint32_t more_on_units[] = { 3, 13, 8 };

static vkt_node *sample(vkt_graph *g, const vkt_op *op, uint32_t i, uint32_t kernel,
                        vkt_dtype multiply, uint32_t parts)
{
    uint32_t B = sizes[i].b, T = sizes[i].t, S = sizes[i].s, H = sizes[i].h, kv = sizes[i].kv,
             D = sizes[i].d;
    vkt_shape q = vkt_shape3(B, T, (H + (sizes[i].packed ? 2 * kv : 0)) * D),
              k = vkt_shape3(B, S, kv * D);
    vkt_tensor *in[5] = { vkt__sample(g, q, VKT_F32, VKT_HINT_NORMAL, 0) };
    for (uint32_t j = VKT__ATT_K; j <= VKT__ATT_V && !sizes[i].packed; j++)
        in[j] = vkt__sample(g, k, VKT_F32, VKT_HINT_NORMAL, 0);
    if (sizes[i].doc)
        in[VKT__ATT_DOCS] =
            vkt__sample(g, vkt_shape2(B, T), VKT_U32, VKT_HINT_DOCUMENTS, sizes[i].doc);
    if (sizes[i].start)
        in[VKT__ATT_START] =
            vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_CONSTANT, sizes[i].start);
    vkt_attr attr = { .attention = { .heads = H,
                                     .kv_heads = kv,
                                     .window = sizes[i].window,
                                     .kernel = kernel,
                                     .full = sizes[i].full,
                                     .cap = sizes[i].cap,
                                     .multiply = multiply,
                                     .parts = parts } };
    return vkt__node(g, op, in, 5, attr);
}

/* On matrix units, in the types that the device's multiply: of sizes that have whole fragments. A
 * CPU driver takes a minute to compile a head of 64. How many there are; case i of them. */
static uint32_t units_case(const vkt_graph *g, uint32_t i, uint32_t *size, uint32_t *kernel,
                           vkt_dtype *type)
{
    const vkt_caps *c = vkt__gpu_of(g) ? vkt_gpu_caps(vkt__gpu_of(g)) : NULL;
    bool cpu = c && c->type == VKT_GPU_CPU;
    uint32_t n_first = cpu ? 4 : VKT_COUNT(whole_fragments),
             n_more = cpu ? 1 : VKT_COUNT(more_on_units),
             n_kernels = c ? vkt__att_more_on_units(c) : 0, each = n_first + n_more * n_kernels,
             n = 0;
    vkt_dtype types[2];
    if (c && c->coopmat && c->coopmat_f16[0]) types[n++] = VKT_F16;
    if (c && c->coopmat && c->coopmat_bf16[0]) types[n++] = VKT_BF16;
    if (i >= n * each) return n * each;
    *type = types[i / each];
    i %= each;
    *kernel = i < n_first ? VKT__ATT_MATRIX : VKT__ATT_MATRIX + 1 + (i - n_first) / n_more;
    *size = i < n_first ? whole_fragments[i] : more_on_units[(i - n_first) % n_more];
    return n * each;
}

/* Case i with its size and kernel; NULL past the last. */
static const vkt_node *case_of(vkt_graph *g, uint32_t i, uint32_t n_sizes, char name[64])
{
    uint32_t kernel = 0, each = n_sizes, size, n_units;
    vkt_dtype type = VKT_F32;
    for (; i >= each && kernel < VKT__ATT_MATRIX; each = OF_EVERY_KERNEL, kernel++) i -= each;
    if (kernel < VKT__ATT_MATRIX) {
        size = i;
    } else if (i >= (n_units = units_case(g, i, &size, &kernel, &type))) {
        kernel = VKT__ATT_QUERY;
        size = FIRST_QUERY + i - n_units;
        if (n_sizes < N_SIZES || size > LAST_QUERY) return NULL;
    }
    vkt_node *n = sample(g, &vkt__op_attention, size, kernel, type, 0);
    /* A kernel that does not fit the shared memory is replaced by one that multiplies f32. */
    if (n && type && vkt__gpu_of(g) &&
        !vkt__att_fits(kernel, vkt_gpu_caps(vkt__gpu_of(g)), n, VKT__ATT_FORWARD))
        n->attr.attention.multiply = type = VKT_F32;
    snprintf(name, 64, "%s%s%s%s%s", sizes[size].name, type ? " in " : "",
             type ? vkt_dtype_name(type) : "", type ? ", " : "",
             type ? vkt__att_kernel_name(kernel) : "");
    return n;
}

static const char *attention_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static char name[64];
    return case_of(g, i, N_SIZES, name) ? name : NULL;
}

static const char *bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static char name[64];
    const vkt_node *f = case_of(g, i, N_WITHOUT_CACHE, name);
    if (!f) return NULL;
    attention_bwd(g, f, vkt__sample(g, f->out[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0));
    return name;
}

/* Each cache by the device's kernel and by every one that reads 16 bits. */
static const char *cached_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const uint32_t kernels[] = { VKT__ATT_BY_DEVICE, VKT__ATT_DIRECT, VKT__ATT_STAGED,
                                        VKT__ATT_QUERY };
    enum { N_CACHES = N_SIZES - N_WITHOUT_CACHE };
    uint32_t size = N_WITHOUT_CACHE + i % N_CACHES;
    if (i >= N_CACHES * VKT_COUNT(kernels)) return NULL;
    sample(g, op, size, kernels[i / N_CACHES], VKT_F32, 0);
    return sizes[size].name;
}

/* One query by parts of its keys: some of a few keys or of one, some without any. */
static const char *parts_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const uint32_t parts[] = { 3, 25 };
    uint32_t size = FIRST_QUERY + i / VKT_COUNT(parts);
    if (size > LAST_QUERY) return NULL;
    sample(g, op, size, VKT__ATT_BY_DEVICE, VKT_F32, parts[i % VKT_COUNT(parts)]);
    return sizes[size].name;
}

const vkt_node *vkt__attention_units_sample(vkt_graph *g, vkt_dtype multiply)
{
    enum { MANY_KEYS = 8 };
    const vkt_node *f = sample(g, &vkt__op_attention, MANY_KEYS, VKT__ATT_MATRIX, multiply, 0);
    attention_bwd(g, f, vkt__sample(g, f->out[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0));
    return f;
}

static const char *delta_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const uint32_t some[] = { 0, 1, 8, 11 };
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

const vkt_op vkt__op_attention = {
    .name = "attention",
    .n_in = 5,
    .n_out = N_OUT,
    .in = { [VKT__ATT_Q] = VKT_MAY_NARROW | VKT_MAY_ALIKE,
            [VKT__ATT_K] = VKT_OPTIONAL | VKT_MAY_NARROW | VKT_MAY_ALIKE,
            [VKT__ATT_V] = VKT_OPTIONAL | VKT_MAY_NARROW | VKT_MAY_ALIKE,
            [VKT__ATT_DOCS] = VKT_OPTIONAL | VKT_WORDS,
            [VKT__ATT_START] = VKT_OPTIONAL | VKT_WORDS },
    .out = { [Y] = VKT_MAY_NARROW },
    .shape = attention_shape,
    .record = attention_record,
    .grad = attention_grad,
    .kernel = attention_kernel,
    .narrow = attention_narrow,
    .can_narrow = attention_can_narrow,
    .ref = vkt__attention_ref,
    .cost = attention_cost,
    .terms = attention_terms,
    .sample = attention_sample
};
/* A cache may have 16 bits, so it has a row of its own: in attention's row, VKT_NARROW would let
 * mixed precision narrow keys and values for every kernel. */
const vkt_op vkt__op_attention_cached = { .name = "attention_cached",
                                          .n_in = 5,
                                          .n_out = N_OUT,
                                          .in = { [VKT__ATT_K] = VKT_OPTIONAL | VKT_NARROW,
                                                  [VKT__ATT_V] = VKT_OPTIONAL | VKT_NARROW,
                                                  [VKT__ATT_DOCS] = VKT_OPTIONAL | VKT_WORDS,
                                                  [VKT__ATT_START] = VKT_OPTIONAL | VKT_WORDS },
                                          .shape = cached_shape,
                                          .record = attention_record,
                                          .kernel = attention_kernel,
                                          .ref = vkt__attention_ref,
                                          .cost = attention_cost,
                                          .terms = attention_terms,
                                          .sample = cached_sample };
const vkt_op vkt__op_attention_parts = { .name = "attention_parts",
                                         .n_in = 5,
                                         .n_out = N_OUT,
                                         .in = { [VKT__ATT_K] = VKT_NARROW,
                                                 [VKT__ATT_V] = VKT_NARROW,
                                                 [VKT__ATT_DOCS] = VKT_OPTIONAL | VKT_WORDS,
                                                 [VKT__ATT_START] = VKT_OPTIONAL | VKT_WORDS },
                                         .shape = parts_shape,
                                         .record = parts_record,
                                         .ref = vkt__attention_ref,
                                         .cost = attention_cost,
                                         .terms = attention_terms,
                                         .sample = parts_sample };
const vkt_op vkt__op_attention_delta = { .name = "attention_delta",
                                         .n_in = N_DELTA_IN,
                                         .n_out = 1,
                                         .in = { [DELTA_DY] = VKT_NARROW, [DELTA_Y] = VKT_NARROW },
                                         .shape = delta_shape,
                                         .record = delta_record,
                                         .ref = vkt__attention_delta_ref,
                                         .terms = delta_terms,
                                         .sample = delta_sample };
const vkt_op vkt__op_attention_bwd = {
    .name = "attention_bwd",
    .n_in = 7,
    .n_out = 3,
    .in = { [VKT__ATT_Q] = VKT_MAY_NARROW | VKT_MAY_ALIKE,
            [VKT__ATT_K] = VKT_OPTIONAL | VKT_MAY_NARROW | VKT_MAY_ALIKE,
            [VKT__ATT_V] = VKT_OPTIONAL | VKT_MAY_NARROW | VKT_MAY_ALIKE,
            [VKT__ATT_DOCS] = VKT_OPTIONAL | VKT_WORDS,
            [VKT__ATT_DY] = VKT_MAY_NARROW },
    .out = { [VKT__ATT_Q] = VKT_MAY_NARROW,
             [VKT__ATT_K] = VKT_MAY_NARROW,
             [VKT__ATT_V] = VKT_MAY_NARROW },
    .shape = bwd_shape,
    .record = bwd_record,
    .kernel = attention_kernel,
    .narrow = attention_narrow,
    .can_narrow = attention_can_narrow,
    .ref = vkt__attention_bwd_ref,
    .cost = bwd_cost,
    .terms = bwd_terms,
    .sample = bwd_sample
};

vkt_tensor *vkt_attention(vkt_graph *g, vkt_tensor *q, vkt_tensor *k, vkt_tensor *v,
                          vkt_tensor *docs, vkt_tensor *start, const vkt_attention_desc *desc)
{
    vkt_attr attr = { .attention = { .heads = desc->heads,
                                     .kv_heads = desc->kv_heads ? desc->kv_heads : desc->heads,
                                     .window = desc->window,
                                     .full = desc->full,
                                     .scale = desc->scale,
                                     .cap = desc->cap } };
    bool narrow = k && vkt_dtype_bytes(k->dtype) == 2;
    return vkt__op(g, narrow ? &vkt__op_attention_cached : &vkt__op_attention,
                   (vkt_tensor *[]) { q, k, v, docs, start }, 5, attr);
}
