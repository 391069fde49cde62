/* Attention rows: forward, what its gradient subtracts (delta), and the gradients of q, k and v.
 * Queries, keys and values may lie side by side in one tensor, and then so do their gradients.
 * Kernels attention.comp, attention_one.comp, attention_delta.comp, attention_dq.comp,
 * attention_dkv.comp, and attention_tiled.comp with its like for the gradients. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/attention_twin.h"
#include "tensor/ops/ops.h"

enum { BY_DEVICE, DIRECT, STAGED, TILED, N_KERNELS, ONE }; /* attr.attention.kernel */
enum { MOST_HEAD = 256 };

/* ---- shapes ---- */

static bool attention_shape(vkt_node *n)
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
    if (D == 0 || D % 4 || D > MOST_HEAD)
        return vkt__shape_error(n, "a head of %u: it must be a multiple of 4, at most %d", D,
                                MOST_HEAD);
    if ((k == NULL) != (v == NULL) || (k && !vkt__shape_equal(k->shape, v->shape)))
        return vkt__shape_error(n, "keys and values must have one shape");
    if (k &&
        (k->shape.rank != 3 || k->shape.d[0] != q->shape.d[0] || vkt__last(k->shape) != Hkv * D))
        return vkt__shape_error(n, "keys %s must be [%u, S, %u] for %s", vkt__text(k),
                                q->shape.d[0], Hkv * D, vkt__text(q));
    vkt__att_dims d = vkt__att_dims_of(n);
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
    vkt__out(n, 0, n->in[VKT__ATT_Q]->shape, VKT_F32);
    for (uint32_t i = VKT__ATT_K; i <= VKT__ATT_V && n->in[VKT__ATT_K]; i++)
        vkt__out(n, i, n->in[i]->shape, VKT_F32);
    return true;
}

/* ---- recording ---- */

/* Whether attention_one.comp runs: one query a sequence, on Mesa's CPU driver. It knows no
 * documents, of which one token has but its own. */
static bool is_one(const vkt_caps *c, const vkt_node *n)
{
    return n->op == &vkt__op_attention && vkt__att_dims_of(n).T == 1 && vkt__use_pairs(c) &&
           c->subgroup_arith;
}

/* Tiles of scores: a row's are handed over among TILED_LANES neighbours. */
enum { TILED_WORKGROUP = 128, TILED_LANES = 8, TILED_COLUMNS = 64, TILED_SHARED = 21504 };

static bool can_tile(const vkt_caps *c)
{
    return c->subgroup_arith && c->subgroup >= TILED_LANES && c->workgroup >= TILED_WORKGROUP &&
           c->shared_bytes >= TILED_SHARED;
}

/* What an attention kernel keeps in registers: arrays of a head's size by row, or, with tiles,
 * tiles of scores and of results. Its shaders: for GPUs, in pairs for CPU drivers, tiled. */
typedef struct {
    uint32_t rows, scores, results;
    vkt__shader shader, pairs, tiled;
} att_form;
static const att_form FORWARD = { 2,
                                  1,
                                  1,
                                  VKT_SHADER_ATTENTION,
                                  VKT_SHADER_ATTENTION_PAIRS,
                                  VKT_SHADER_ATTENTION_TILED },
                      DQ = { 3,
                             2,
                             1,
                             VKT_SHADER_ATTENTION_DQ,
                             VKT_SHADER_ATTENTION_DQ_PAIRS,
                             VKT_SHADER_ATTENTION_DQ_TILED },
                      DKV = { 4,
                              2,
                              2,
                              VKT_SHADER_ATTENTION_DKV,
                              VKT_SHADER_ATTENTION_DKV_PAIRS,
                              VKT_SHADER_ATTENTION_DKV_TILED };

/* A kernel, its constants, and how many rows a workgroup owns. */
typedef struct {
    vkt__shader shader;
    vkt__constant spec[8];
    uint32_t n_spec, owned;
} att_kernel;

/* The rows of a tile that an invocation has: up to four, fewer where their numbers would not fit
 * registers. */
static uint32_t tiled_rows(const vkt_caps *c, const vkt_node *n, const att_form *f)
{
    uint32_t columns = (n->attr.attention.head / 4 + TILED_LANES - 1) / TILED_LANES,
             numbers = f->scores * TILED_COLUMNS / TILED_LANES + f->results * 4 * columns,
             most = c->klass == VKT_GPU_CLASS_NVIDIA || c->klass == VKT_GPU_CLASS_AMD ? 144 : 63,
             rows = 4;
    while (rows > 1 && rows * numbers > most) rows /= 2;
    return rows;
}

/* The node's wish, else by class; what lanes hand each other needs subgroup operations. One row of
 * a tile an invocation reads shared memory more than rows in registers do, but has few registers.
 */
static uint32_t kernel_of(const vkt_caps *c, const vkt_node *n, const att_form *f)
{
    uint32_t kernel = n->attr.attention.kernel;
    vkt__att_dims d = vkt__att_dims_of(n);
    if (kernel == BY_DEVICE && is_one(c, n)) return ONE;
    if (kernel == BY_DEVICE && c->klass == VKT_GPU_CLASS_CPU) kernel = DIRECT;
    if (kernel == BY_DEVICE)
        kernel = VKT_MIN(d.T, d.S) < TILED_COLUMNS || (tiled_rows(c, n, f) < 2 && d.D <= 64)
                     ? STAGED
                     : TILED;
    if (kernel == TILED && can_tile(c)) return TILED;
    return kernel == DIRECT && c->subgroup_arith ? DIRECT : STAGED;
}

static att_kernel tiled(const vkt_caps *c, const vkt_node *n, const att_form *f)
{
    uint32_t rows = tiled_rows(c, n, f);
    return (att_kernel) { f->tiled,
                          { { VKT_SPEC_WORKGROUP, TILED_WORKGROUP },
                            { VKT_SPEC_LANES, vkt__lanes(c, TILED_WORKGROUP, VKT__MANY) },
                            { VKT_SPEC_D4, n->attr.attention.head / 4 },
                            { VKT_SPEC_TM, rows },
                            { VKT_SPEC_CAPPED, n->attr.attention.cap > 0 } },
                          5,
                          TILED_WORKGROUP / TILED_LANES * rows };
}

/* CPU drivers: one subgroup a workgroup. GPUs: 16 KiB staged, and at most 64 registers for the
 * arrays, where lanes can share a row. Intel: half of that, and of the rows at once, all of which
 * its compiler loads before it uses the first. */
static att_kernel choose(const vkt__rec *rec, const vkt_node *n, const att_form *f, uint32_t rows)
{
    const vkt_caps *c = rec->caps;
    if (kernel_of(c, n, f) == TILED) return tiled(c, n, f);
    bool staged = kernel_of(c, n, f) == STAGED, intel = c->klass == VKT_GPU_CLASS_INTEL;
    uint32_t D = n->attr.attention.head, split = 1, kept = f->rows, at_once = kept > 2 ? 4 : 8,
             wg = c->subgroup, lanes = vkt__lanes(c, wg, VKT__MANY), most_kept = intel ? 32 : 64,
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
    return (att_kernel) { !staged && vkt__use_pairs(c) ? f->pairs : f->shader,
                          { { VKT_SPEC_WORKGROUP, wg },
                            { VKT_SPEC_LANES, lanes },
                            { VKT_SPEC_D4, D / 4 },
                            { VKT_SPEC_AT_ONCE, at_once },
                            { VKT_SPEC_SPLIT, split },
                            { VKT_SPEC_TILE, staged ? most : 0 },
                            { VKT_SPEC_SHUFFLE, c->subgroup <= 8 },
                            { VKT_SPEC_CAPPED, n->attr.attention.cap > 0 } },
                          8,
                          wg / split };
}

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
    uint64_t q = vkt__addr(rec, n->in[VKT__ATT_Q]), head = 4ull * d->D;
    *k = n->in[VKT__ATT_K] ? vkt__addr(rec, n->in[VKT__ATT_K]) : q + head * d->H;
    *v = n->in[VKT__ATT_V] ? vkt__addr(rec, n->in[VKT__ATT_V]) : q + head * (d->H + d->Hkv);
}

static void attention_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__att_dims d = vkt__att_dims_of(n);
    struct attention_params p = { .q = vkt__addr(rec, n->in[VKT__ATT_Q]),
                                  .docs =
                                      vkt__addr_or(rec, n->in[VKT__ATT_DOCS], n->in[VKT__ATT_Q]),
                                  .start =
                                      vkt__addr_or(rec, n->in[VKT__ATT_START], n->in[VKT__ATT_Q]),
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
                                  .flags = flags_of(n, n->in[VKT__ATT_START] != NULL),
                                  .scale = n->attr.attention.scale,
                                  .cap = n->attr.attention.cap };
    keys_at(rec, n, &d, &p.k, &p.v);
    if (kernel_of(rec->caps, n, &FORWARD) == ONE) {
        const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, rec->caps->subgroup },
                                       { VKT_SPEC_D4, d.D / 4 },
                                       { VKT_SPEC_CAPPED, p.cap > 0 } };
        vkt__dispatch(rec, VKT_SHADER_ATTENTION_ONE_PAIRS, spec, VKT_COUNT(spec), &p, sizeof p,
                      (uint64_t)d.B * d.H);
        return;
    }
    att_kernel k = choose(rec, n, &FORWARD, d.T);
    vkt__dispatch(rec, k.shader, k.spec, k.n_spec, &p, sizeof p,
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
    vkt__att_dims d = vkt__att_dims_of(n);
    struct attention_bwd_params p = { .q = vkt__addr(rec, n->in[VKT__ATT_Q]),
                                      .docs = vkt__addr_or(rec, n->in[VKT__ATT_DOCS],
                                                           n->in[VKT__ATT_Q]),
                                      .dy = vkt__addr(rec, n->in[VKT__ATT_DY]),
                                      .lse = vkt__addr(rec, n->in[VKT__ATT_LSE]),
                                      .delta = vkt__addr(rec, n->in[VKT__ATT_DELTA]),
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
                                      .scale = n->attr.attention.scale,
                                      .cap = n->attr.attention.cap };
    keys_at(rec, n, &d, &p.k, &p.v);
    att_kernel k = choose(rec, n, &DQ, d.T);
    vkt__dispatch(rec, k.shader, k.spec, k.n_spec, &p, sizeof p,
                  n_groups(d.T, k.owned, (uint64_t)d.B * d.H));
    uint64_t dq = p.dx, head = 4ull * d.D;
    p.dx = n->in[VKT__ATT_K] ? vkt__addr(rec, n->out[1]) : dq + head * d.H;
    p.dv = n->in[VKT__ATT_V] ? vkt__addr(rec, n->out[2]) : dq + head * (d.H + d.Hkv);
    k = choose(rec, n, &DKV, d.S);
    vkt__dispatch(rec, k.shader, k.spec, k.n_spec, &p, sizeof p,
                  n_groups(d.S, k.owned, (uint64_t)d.B * d.Hkv));
}

bool vkt__attention_is_foreign(const vkt_node *n, const vkt_caps *caps)
{
    if (n->op != &vkt__op_attention && n->op != &vkt__op_attention_bwd) return false;
    uint32_t kernel = n->attr.attention.kernel;
    return kernel != BY_DEVICE && (kernel == DIRECT) != (caps->klass == VKT_GPU_CLASS_CPU);
}

static const char *attention_kernel(const vkt_gpu *gpu, const vkt_node *n)
{
    static const char *const names[] = {
        [DIRECT] = "direct", [STAGED] = "staged", [TILED] = "tiled", [ONE] = "one"
    };
    return names[kernel_of(vkt_gpu_caps(gpu), n, n->op == &vkt__op_attention ? &FORWARD : &DKV)];
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

/* A score's D roundings become an error of exp's argument, which the sum over keys carries; exp
 * itself is allowed 3 + 2 |x| ulp, |x| up to a few tens. */
static double attention_terms(const vkt_node *n)
{
    vkt__att_dims d = vkt__att_dims_of(n);
    return d.D + d.S + 256.0;
}

/* The same for p and ds, then sums over queries of all heads of a group. */
static double bwd_terms(const vkt_node *n)
{
    vkt__att_dims d = vkt__att_dims_of(n);
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
    return vkt__node(g, &vkt__op_attention_bwd,
                     (vkt_tensor *[]) { f->in[VKT__ATT_Q], f->in[VKT__ATT_K], f->in[VKT__ATT_V],
                                        f->in[VKT__ATT_DOCS], dy, f->out[1], delta },
                     7, f->attr);
}

static void attention_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (!dy[0]) return;
    if (n->in[VKT__ATT_START]) {
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g }, "no gradient through a cache");
        return;
    }
    vkt_node *b = attention_bwd(g, n, vkt__real(g, dy[0], n->out[0]));
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
    { "full, documents", 1, 41, 41, 2, 2, 8, true, true, 0, 9, 0, 0 },
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
enum { N_SIZES = VKT_COUNT(sizes), N_WITHOUT_CACHE = N_SIZES - 6, OF_EVERY_KERNEL = 9 };

static const vkt_node *sample(vkt_graph *g, uint32_t i, uint32_t kernel)
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
                                     .cap = sizes[i].cap } };
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

const vkt_op vkt__op_attention = { .name = "attention",
                                   .n_in = 5,
                                   .n_out = 2,
                                   .shape = attention_shape,
                                   .record = attention_record,
                                   .grad = attention_grad,
                                   .kernel = attention_kernel,
                                   .ref = vkt__attention_ref,
                                   .cost = attention_cost,
                                   .terms = attention_terms,
                                   .sample = attention_sample };
const vkt_op vkt__op_attention_delta = { .name = "attention_delta",
                                         .n_in = 2,
                                         .n_out = 1,
                                         .shape = delta_shape,
                                         .record = delta_record,
                                         .ref = vkt__attention_delta_ref,
                                         .terms = delta_terms,
                                         .sample = delta_sample };
const vkt_op vkt__op_attention_bwd = { .name = "attention_bwd",
                                       .n_in = 7,
                                       .n_out = 3,
                                       .shape = bwd_shape,
                                       .record = bwd_record,
                                       .kernel = attention_kernel,
                                       .ref = vkt__attention_bwd_ref,
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
                                     .scale = desc->scale,
                                     .cap = desc->cap } };
    return vkt__op(g, &vkt__op_attention, (vkt_tensor *[]) { q, k, v, docs, start }, 5, attr);
}
