/* Attention whose scores are stored, so that any bias or mask can be added to them: two batched
 * products with a softmax between. */
#include <math.h>

#include "tensor/ops/ops.h"

/* What the fused kernels compute of it. */
static bool is_fused(const vkt_attention_in *in, const vkt_attention_desc *d)
{
    uint32_t head = in->q->shape.rank == 3 && d->heads ? in->q->shape.d[2] / d->heads : 0;
    bool same =
        in->q->shape.rank == 3 && in->k->shape.rank == 3 && in->q->shape.d[1] == in->k->shape.d[1];
    return !in->bias && !in->mask && head % 4 == 0 && head <= 256 && (d->full || same);
}

/* x [B, T, H D] as [B, H, T, D]. */
static vkt_tensor *by_head(vkt_graph *g, vkt_tensor *x, uint32_t heads)
{
    const uint32_t *d = x->shape.d;
    x = vkt_reshape(g, x, (vkt_shape) { 4, { d[0], d[1], heads, d[2] / heads } });
    return vkt_permute(g, x, (uint32_t[]) { 0, 2, 1, 3 });
}

/* x [B, Hkv, S, D] as [B, H, S, D]: neighbours share keys and values. */
static vkt_tensor *shared(vkt_graph *g, vkt_tensor *x, uint32_t heads)
{
    const uint32_t *d = x->shape.d;
    if (x->inert || d[1] == heads) return x;
    vkt_shape one = { 5, { d[0], d[1], 1, d[2], d[3] } }, wide = one;
    wide.d[2] = heads / d[1];
    return vkt_reshape(g, vkt_expand(g, vkt_reshape(g, x, one), wide),
                       (vkt_shape) { 4, { d[0], heads, d[2], d[3] } });
}

/* 1 where key s is not behind query t: [T, S]. */
static vkt_tensor *causal(vkt_graph *g, uint32_t t, uint32_t s)
{
    vkt_tensor *query = vkt_cumsum(g, vkt_fill(g, vkt_shape2(t, 1), 1), 0, false),
               *key = vkt_cumsum(g, vkt_fill(g, vkt_shape2(1, s), 1), 1, false);
    return vkt_binary(g, VKT_FN2_LE, key, query);
}

static vkt_tensor *masked(vkt_graph *g, vkt_tensor *scores, vkt_tensor *mask)
{
    const float never = -1e30f; /* beyond any score; its exponential is 0 unless all are so */
    return vkt_where(g, mask, scores, vkt_fill(g, vkt_shape1(1), never));
}

static bool fits(vkt_node *told, const vkt_attention_in *in, const vkt_attention_desc *d)
{
    const vkt_tensor *q = in->q, *k = in->k, *v = in->v;
    uint32_t heads = d->heads, kv = d->kv_heads ? d->kv_heads : heads;
    const uint32_t *x = q->shape.d, *y = k->shape.d;
    if (d->window || d->cap > 0)
        return vkt__shape_error(told, "a window or a cap is not taken here: give a mask");
    if (q->shape.rank != 3 || k->shape.rank != 3 || !vkt__shape_equal(k->shape, v->shape) ||
        !heads || heads % kv || x[2] % heads || (uint64_t)y[2] * heads != (uint64_t)x[2] * kv ||
        x[0] != y[0])
        return vkt__shape_error(told,
                                "%s, %s and %s do not fit %u heads, %u of keys: it takes "
                                "[B, T, heads D] and twice [B, S, heads of keys D]",
                                vkt__text(q), vkt__text(k), vkt__text(v), heads, kv);
    return true;
}

vkt_tensor *vkt_attention_general(vkt_graph *g, const vkt_attention_in *in,
                                  const vkt_attention_desc *desc)
{
    vkt_node told = { .op = &(vkt_op) { .name = "attention_general" }, .g = g };
    vkt_tensor *q = in->q, *k = in->k, *v = in->v;
    if (q->inert || k->inert || v->inert || !fits(&told, in, desc)) return vkt__inert(g);
    if (is_fused(in, desc)) return vkt_attention(g, q, k, v, NULL, NULL, desc);
    uint32_t heads = desc->heads, kv = desc->kv_heads ? desc->kv_heads : heads, t = q->shape.d[1],
             s = k->shape.d[1], d = q->shape.d[2] / heads;
    float scale = desc->scale != 0 ? desc->scale : 1 / sqrtf((float)VKT_MAX(d, 1));
    vkt_shape result = q->shape;
    q = by_head(g, vkt_scale(g, q, scale), heads);
    k = shared(g, by_head(g, k, kv), heads);
    v = shared(g, by_head(g, v, kv), heads);
    vkt_tensor *scores = vkt_matmul_batched(g, VKT_LAYOUT_NT, q, k, VKT_F32);
    if (in->bias) scores = vkt_binary(g, VKT_FN2_ADD, scores, in->bias);
    if (in->mask) scores = masked(g, scores, in->mask);
    if (!desc->full) scores = masked(g, scores, causal(g, t, s));
    if (!scores->inert &&
        (scores->shape.rank != 4 || scores->shape.d[0] != result.d[0] ||
         scores->shape.d[1] != heads || scores->shape.d[2] != t || scores->shape.d[3] != s)) {
        vkt__shape_error(&told, "bias or mask make the scores %s: they must be [%u, %u, %u, %u]",
                         vkt__text(scores), result.d[0], heads, t, s);
        return vkt__inert(g);
    }
    vkt_tensor *y = vkt_matmul_batched(g, VKT_LAYOUT_NN, vkt_softmax(g, scores), v, VKT_F32);
    return vkt_reshape(g, vkt_permute(g, y, (uint32_t[]) { 0, 2, 1, 3 }), result);
}
