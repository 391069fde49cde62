/* The transformer layer: a whole language model, tokens [B, T] u32 -> logits [B, T, V]. Parameters
 * are named and laid out as Hugging Face's files have them (vkt__naming), so that these load
 * unchanged. And the sentence layer, the same blocks for a column of sentences: ids of tokens [B,
 * T] f32, below 0 where there is none -> [B, C]. With `score` a transformer gives classes of such
 * ids.
 */
#include <math.h>
#include <stdio.h>

#include "nn/transformer.h"

#include "nn/layer_list.h"
#include "nn/layer_set.h"
#include "nn/lora.h"
#include "tensor/graph/graph.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/experts/ops_expert.h"

#define SCORE "score.weight"

static bool is(const char *word, const char *what)
{
    return word && !strcmp(word, what);
}

/* ---- parameters ---- */

typedef struct {
    vkt_model *m;
    vkt__layer *l;
    const vkt__tshape *s;
    float scale; /* of the initial weights */
    bool bias;
    int last; /* the parameter that was added last */
} planner;

static void add(planner *p, const char *name, vkt_shape shape, vkt__init init, float scale)
{
    int param = vkt__model_add_named(p->m, name, shape, init, scale);
    if (p->l->w < 0) p->l->w = param;
    p->l->n_params++;
    p->last = param;
}

/* A projection: its weight, and its bias where it has one. */
static void add_linear(planner *p, const char *prefix, const char *name, uint32_t in, uint32_t out,
                       bool bias, float scale)
{
    char text[128];
    const vkt__naming *names = p->s->names;
    bool is_qkv = names->qkv && !strcmp(name, names->qkv);
    uint32_t heads = is_qkv && names->by_heads ? p->s->H : 0;
    snprintf(text, sizeof text, "%s%s.weight", prefix, name);
    add(p, text, names->columns ? vkt_shape2(in, out) : vkt_shape2(out, in), VKT_INIT_NORMAL,
        scale);
    if (heads) vkt__model_set_by_head(p->m, p->last, heads);
    if (bias) {
        snprintf(text, sizeof text, "%s%s.bias", prefix, name);
        add(p, text, vkt_shape1(out), VKT_INIT_ZEROS, 1);
        if (heads) vkt__model_set_by_head(p->m, p->last, heads);
    }
    bool by_default = is_qkv || !strcmp(name, "self_attn.q_proj") ||
                      !strcmp(name, "self_attn.v_proj"); /* as PEFT's */
    snprintf(text, sizeof text, "%s%s", prefix, name);
    p->l->n_params += vkt__lora_add(p->m, text, in, out, heads, by_default);
}

static void add_gain(planner *p, const char *prefix, const char *name, uint32_t n)
{
    char text[128];
    bool plus_one = p->l->spec.transformer.gain_plus_one;
    snprintf(text, sizeof text, "%s%s.weight", prefix, name);
    add(p, text, vkt_shape1(n), plus_one ? VKT_INIT_ZEROS : VKT_INIT_ONES, 1);
}

/* name NULL: there is none. */
static void add_norm(planner *p, const char *prefix, const char *name)
{
    char text[128];
    if (!name) return;
    add_gain(p, prefix, name, p->s->C);
    if (p->s->rms || !p->bias) return;
    snprintf(text, sizeof text, "%s%s.bias", prefix, name);
    add(p, text, vkt_shape1(p->s->C), VKT_INIT_ZEROS, 1);
}

static void add_attention(planner *p, const char *prefix, float residual)
{
    const vkt__tshape *s = p->s;
    const vkt_transformer *t = &p->l->spec.transformer;
    bool o_bias = p->bias || t->attention_bias, qkv_bias = o_bias || t->qkv_bias;
    uint32_t q = s->H * s->D, kv = s->Hkv * s->D;
    if (s->names->qkv) {
        add_linear(p, prefix, s->names->qkv, s->C, q + 2 * kv, qkv_bias, p->scale);
    } else {
        add_linear(p, prefix, "self_attn.q_proj", s->C, q, qkv_bias, p->scale);
        add_linear(p, prefix, "self_attn.k_proj", s->C, kv, qkv_bias, p->scale);
        add_linear(p, prefix, "self_attn.v_proj", s->C, kv, qkv_bias, p->scale);
    }
    add_linear(p, prefix, s->names->o, q, s->C, o_bias, residual);
    if (!t->qk_norm && !t->qk_norm_all) return;
    add_gain(p, prefix, "self_attn.q_norm", t->qk_norm_all ? q : s->D);
    add_gain(p, prefix, "self_attn.k_norm", t->qk_norm_all ? kv : s->D);
}

static bool has_experts(const vkt__layer *l, uint32_t i)
{
    const vkt_transformer *t = &l->spec.transformer;
    return t->experts && vkt__layer_set_has(t->experts_layers, i);
}

/* E matrices in one, so that a product finds each expert's by its number. */
static void add_stack(planner *p, const char *prefix, const char *name, uint32_t out, uint32_t in,
                      float scale)
{
    char text[128];
    snprintf(text, sizeof text, "%smlp.experts.%s.weight", prefix, name);
    add(p, text, vkt_shape3(p->l->spec.transformer.experts, out, in), VKT_INIT_NORMAL, scale);
    vkt__model_set_stacked(p->m, p->last);
}

static void add_experts(planner *p, const char *prefix, float residual)
{
    char text[128];
    const vkt__tshape *s = p->s;
    snprintf(text, sizeof text, "%smlp.gate.weight", prefix);
    add(p, text, vkt_shape2(p->l->spec.transformer.experts, s->C), VKT_INIT_NORMAL, p->scale);
    vkt__model_set_exact(p->m, p->last);
    add_stack(p, prefix, "gate_proj", s->expert_mlp, s->C, p->scale);
    add_stack(p, prefix, "up_proj", s->expert_mlp, s->C, p->scale);
    add_stack(p, prefix, "down_proj", s->C, s->expert_mlp, residual);
}

static void add_feed_forward(planner *p, uint32_t i, const char *prefix, float residual)
{
    const vkt__tshape *s = p->s;
    if (has_experts(p->l, i)) {
        add_experts(p, prefix, residual);
        return;
    }
    bool bias = p->bias || p->l->spec.transformer.mlp_bias, in_up = s->names->gate_in_up;
    if (s->gated && !in_up) add_linear(p, prefix, s->names->gate, s->C, s->mlp, bias, p->scale);
    add_linear(p, prefix, s->names->up, s->C, in_up ? 2 * s->mlp : s->mlp, bias, p->scale);
    add_linear(p, prefix, s->names->down, s->mlp, s->C, bias, residual);
}

/* GPT-2 scales what is added to the residual stream by 1 / sqrt(additions): Radford et al. 2019. */
static void add_block(planner *p, uint32_t i)
{
    const vkt__tshape *s = p->s;
    vkt__norm_names norms = vkt__norm_names_of(s);
    float residual = s->names->columns ? p->scale / sqrtf(2.0f * (float)s->n_layers) : p->scale;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s%u.", s->names->block, i);
    add_norm(p, prefix, norms.attention_in);
    add_attention(p, prefix, residual);
    add_norm(p, prefix, norms.attention_out);
    add_norm(p, prefix, norms.mlp_in);
    add_feed_forward(p, i, prefix, residual);
    add_norm(p, prefix, norms.mlp_out);
}

static void add_table(planner *p, const char *name, uint32_t rows)
{
    char text[128];
    snprintf(text, sizeof text, "%s.weight", name);
    add(p, text, vkt_shape2(rows, p->s->C), VKT_INIT_NORMAL, p->scale);
    vkt__model_set_table(p->m, p->last);
}

static vkt_status plan(vkt_model *m, vkt__layer *l, uint32_t n_vocab)
{
    vkt__tshape s;
    vkt_status st;
    uint32_t n_tables;
    float *tables;
    VKT_TRY(vkt__transformer_shape(l, n_vocab, &s));
    if (s.names->columns && vkt__model_adapters(m)->desc.dora)
        return vkt__layer_error(l, "lora.dora: not for GPT-2's weights, which lie by columns");
    VKT_TRY(vkt__rope_tables(l, &s, &n_tables, &tables));
    const vkt_transformer *t = &l->spec.transformer;
    planner p = { .m = m,
                  .l = l,
                  .s = &s,
                  .scale = l->spec.init_scale > 0 ? l->spec.init_scale : 1.0f,
                  .bias = s.names->biases ? !l->spec.no_bias : t->bias };
    add_table(&p, s.names->embedding, s.V);
    if (s.learned) add_table(&p, s.names->positions, s.P);
    for (uint32_t i = 0; i < s.n_layers; i++) add_block(&p, i);
    if (s.place != VKT_NORM_POST) add_norm(&p, "", s.names->last_norm);
    if (t->untied && !t->score) add_table(&p, s.names->head, s.V);
    if (n_tables) vkt__model_set_constants(m, n_tables, vkt_shape2(s.P, s.R), tables);
    l->out = l->kind->is_whole && !t->score ? vkt_shape2(s.T, s.V) : vkt_shape1(s.C);
fail:
    return st;
}

/* Classes: rows that are looked up have no place for learned positions. */
static vkt_status score_plan(vkt_model *m, vkt__layer *l)
{
    const vkt_transformer *t = &l->spec.transformer;
    uint32_t rows = m->embed_rows, n = vkt__model_n_outputs(m);
    if (!rows || m->n_plain)
        return vkt__layer_error(l, "score: the data must be a table whose data.text names a column "
                                   "of texts");
    if (!t->positions || is(t->positions, "learned") || is(t->norm_place, "post"))
        return vkt__layer_error(l, "score: not with learned positions (GPT-2's) or norm_place: "
                                   "post");
    if (t->experts) return vkt__layer_error(l, "score: not with experts");
    m->embed_rows = 0;
    vkt_status st = plan(m, l, rows);
    if (st != VKT_OK) return st;
    vkt__model_add_named(m, SCORE, vkt_shape2(n, t->width), VKT_INIT_NORMAL, 1);
    l->n_params++;
    l->out = vkt_shape1(n);
    return VKT_OK;
}

static vkt_status transformer_plan(vkt_model *m, vkt__layer *l)
{
    if (l->spec.transformer.score) return score_plan(m, l);
    return plan(m, l, vkt__model_n_outputs(m));
}

/* Rope, since rows that are looked up have no place for learned positions. */
static vkt_status sentence_plan(vkt_model *m, vkt__layer *l)
{
    if (!m->embed_rows || m->n_plain)
        return vkt__layer_error(l, "it must be the first layer, and data.text name the column");
    uint32_t rows = m->embed_rows;
    m->embed_rows = 0;
    l->spec.transformer.positions = "rope";
    l->spec.transformer.norm = "rmsnorm";
    if (!l->spec.transformer.layers) l->spec.transformer.heads = 1; /* there is no attention */
    return plan(m, l, rows);
}

/* ---- building ---- */

static vkt_tensor *param(vkt__tbuilder *b, const char *prefix, const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    return vkt__model_named(b->m, b->g, text);
}

static vkt_tensor *linear(vkt__tbuilder *b, const char *prefix, const char *name, vkt_tensor *x)
{
    char weight[128], bias[128];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    vkt__linear l = { x, param(b, prefix, weight), param(b, prefix, bias),
                      b->s.names->columns ? VKT_LAYOUT_NN : VKT_LAYOUT_NT };
    snprintf(weight, sizeof weight, "%s%s", prefix, name);
    return vkt__lora_linear(b->m, b->g, weight, &l, b->train);
}

static float eps_of(const vkt__tbuilder *b)
{
    return b->l->spec.eps > 0 ? b->l->spec.eps : 1e-5f;
}

/* Over the last dimension of x, by the gain `name`. */
static vkt_tensor *rmsnorm(vkt__tbuilder *b, const char *prefix, const char *name, vkt_tensor *x)
{
    vkt_tensor *in[] = { x, param(b, prefix, name), NULL, NULL };
    return vkt__op(b->g, &vkt__op_rmsnorm, in, VKT_COUNT(in),
                   (vkt_attr) { .norm = { .eps = eps_of(b),
                                          .rms = true,
                                          .plus_one = b->l->spec.transformer.gain_plus_one } });
}

/* name NULL: x. */
static vkt_tensor *norm(vkt__tbuilder *b, const char *prefix, const char *name, vkt_tensor *x)
{
    char weight[128], bias[128];
    if (!name) return x;
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    if (b->s.rms) return rmsnorm(b, prefix, weight, x);
    return vkt_layernorm(b->g, x, param(b, prefix, weight), param(b, prefix, bias), NULL, eps_of(b),
                         NULL);
}

static vkt_tensor *dropout(vkt__tbuilder *b, vkt_tensor *x)
{
    float p = b->l->spec.p;
    return b->train && p > 0 ? vkt_dropout(b->g, x, vkt_step(b->g), p) : x;
}

static vkt_tensor *scaled(vkt__tbuilder *b, vkt_tensor *x, float s)
{
    return s > 0 && s != 1 ? vkt_scale(b->g, x, s) : x;
}

/* Each head's queries or keys, or all heads' together, to mean square 1, times a gain. */
static vkt_tensor *norm_heads(vkt__tbuilder *b, const char *prefix, const char *name, vkt_tensor *x)
{
    vkt_shape s = x->shape, heads = vkt_shape2((uint32_t)(x->count / b->s.D), b->s.D);
    if (b->l->spec.transformer.qk_norm_all) return rmsnorm(b, prefix, name, x);
    if (!b->l->spec.transformer.qk_norm) return x;
    x = rmsnorm(b, prefix, name, vkt_reshape(b->g, x, heads));
    return vkt_reshape(b->g, x, s);
}

static bool has_window(const vkt__tbuilder *b, uint32_t layer)
{
    const vkt_transformer *t = &b->l->spec.transformer;
    return t->window && vkt__layer_set_has(t->window_layers, layer);
}

/* The first `heads` heads of x, where the layer has rope. */
static vkt_tensor *rotate(vkt__tbuilder *b, uint32_t layer, vkt_tensor *x, uint32_t heads)
{
    const vkt_transformer *t = &b->l->spec.transformer;
    if (!b->s.rope || !vkt__layer_set_has(t->rope_layers, layer)) return x;
    uint32_t which = has_window(b, layer) && t->window_theta > 0;
    vkt_rope_desc desc = { .head = b->s.D,
                           .heads = heads,
                           .layout = is(t->rope_layout, "interleaved") ? VKT_ROPE_INTERLEAVED
                                                                       : VKT_ROPE_HALF };
    return vkt_rope(b->g, x, vkt__model_constants(b->m, b->g, which), b->docs, b->start, &desc);
}

/* Queries, keys and values, side by side (then *k and *v are NULL) or apart. */
static vkt_tensor *project(vkt__tbuilder *b, uint32_t layer, const char *prefix, vkt_tensor *x,
                           vkt_tensor **k, vkt_tensor **v)
{
    *k = *v = NULL;
    if (b->s.names->qkv)
        return rotate(b, layer, linear(b, prefix, b->s.names->qkv, x), b->s.H + b->s.Hkv);
    vkt_tensor *q = linear(b, prefix, "self_attn.q_proj", x);
    *k = linear(b, prefix, "self_attn.k_proj", x);
    q = norm_heads(b, prefix, "self_attn.q_norm.weight", q);
    *k = norm_heads(b, prefix, "self_attn.k_norm.weight", *k);
    *v = linear(b, prefix, "self_attn.v_proj", x);
    *k = rotate(b, layer, *k, b->s.Hkv);
    return rotate(b, layer, q, b->s.H);
}

/* New keys and values behind those in the caches, which are then what is attended to. */
static void append(vkt__tbuilder *b, uint32_t layer, vkt_tensor *q, vkt_tensor **k, vkt_tensor **v)
{
    uint32_t head = b->s.D, first = *k ? 0 : b->s.H * head;
    vkt_tensor *ck = b->cache_k[layer], *cv = b->cache_v[layer];
    vkt_cache_write(b->g, ck, cv, *k ? *k : q, first, *v ? *v : q, *v ? 0 : first + b->s.Hkv * head,
                    b->start);
    *k = ck;
    *v = cv;
}

static vkt_tensor *attend(vkt__tbuilder *b, uint32_t layer, const char *prefix, vkt_tensor *x)
{
    vkt_tensor *k, *v, *q = project(b, layer, prefix, x, &k, &v);
    if (b->cache_k) append(b, layer, q, &k, &v);
    const vkt_transformer *t = &b->l->spec.transformer;
    vkt_attention_desc desc = {
        .heads = b->s.H,
        .kv_heads = b->s.Hkv,
        .full = t->full,
        .scale = t->attention_scale,
        .cap = t->attention_cap,
    };
    if (has_window(b, layer)) desc.window = t->window;
    vkt_tensor *docs = t->full ? b->there : b->docs,
               *y = vkt_attention(b->g, q, k, v, docs, b->start, &desc);
    return linear(b, prefix, b->s.names->o, y);
}

static vkt_tensor *sum_of(vkt_graph *g, vkt_tensor *a, vkt_tensor *b)
{
    return a ? vkt_add(g, a, b) : b;
}

/* The rows are sorted by expert, each expert's multiplied with its own matrices, and added up. */
static vkt_tensor *experts(vkt__tbuilder *b, const char *prefix, vkt_tensor *x)
{
    vkt_graph *g = b->g;
    const vkt_transformer *t = &b->l->spec.transformer;
    vkt_shape shape = x->shape;
    vkt_tensor *rows = vkt_reshape(g, x, vkt_shape2((uint32_t)(x->count / b->s.C), b->s.C)),
               *p = vkt_softmax(g, vkt_matmul_as(g, VKT_LAYOUT_NT, rows,
                                                 param(b, prefix, "mlp.gate.weight"), VKT_F32));
    vkt__routes to = vkt__route(g, p, t->experts_used, t->experts_norm);
    if (b->train && t->experts_balance > 0) {
        b->expert_rows = sum_of(g, b->expert_rows, to.count);
        b->expert_sums = sum_of(g, b->expert_sums, vkt_sum_rows(g, p));
        b->routed += rows->shape.d[0];
    }
    vkt_tensor *in = vkt__expert_gather(g, rows, &to),
               *gate =
                   vkt__expert_linear(g, in, param(b, prefix, "mlp.experts.gate_proj.weight"), &to),
               *up = vkt__expert_linear(g, in, param(b, prefix, "mlp.experts.up_proj.weight"), &to),
               *y = vkt__expert_linear(g, vkt_gated(g, gate, up, b->s.act),
                                       param(b, prefix, "mlp.experts.down_proj.weight"), &to);
    return vkt_reshape(g, vkt__expert_combine(g, y, &to), shape);
}

/* As transformers' load_balancing_loss_func: shares are of the tokens of all layers. */
static vkt_tensor *balance(const vkt__tbuilder *b)
{
    const vkt_transformer *t = &b->l->spec.transformer;
    if (!b->routed) return NULL;
    double rows = b->routed, factor = (double)t->experts_balance * t->experts / rows / rows;
    return vkt_scale(b->g, vkt_sum(b->g, vkt_mul(b->g, b->expert_sums, b->expert_rows)),
                     (float)factor);
}

static vkt_tensor *feed_forward(vkt__tbuilder *b, uint32_t i, const char *prefix, vkt_tensor *x)
{
    const vkt__naming *names = b->s.names;
    if (has_experts(b->l, i)) return experts(b, prefix, x);
    vkt_tensor *h = linear(b, prefix, names->up, x);
    if (names->gate_in_up)
        h = vkt_gated(b->g, h, NULL, b->s.act);
    else if (b->s.gated)
        h = vkt_gated(b->g, linear(b, prefix, names->gate, x), h, b->s.act);
    else
        h = vkt_activate(b->g, h, b->s.act);
    return linear(b, prefix, names->down, h);
}

/* What a branch adds to the sum. */
static vkt_tensor *added(vkt__tbuilder *b, const char *prefix, const char *name, vkt_tensor *y)
{
    return scaled(b, dropout(b, norm(b, prefix, name, y)), b->l->spec.transformer.residual_scale);
}

static vkt_tensor *block(vkt__tbuilder *b, uint32_t i, vkt_tensor *x)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s%u.", b->s.names->block, i);
    if (b->s.place == VKT_NORM_POST) {
        const char *n1 = b->s.names->norm_1, *n2 = b->s.names->norm_2;
        x = norm(b, prefix, n1, vkt_add(b->g, x, added(b, "", NULL, attend(b, i, prefix, x))));
        return norm(b, prefix, n2,
                    vkt_add(b->g, x, added(b, "", NULL, feed_forward(b, i, prefix, x))));
    }
    vkt__norm_names n = vkt__norm_names_of(&b->s);
    vkt_tensor *y = attend(b, i, prefix, norm(b, prefix, n.attention_in, x));
    y = vkt_add(b->g, x, added(b, prefix, n.attention_out, y));
    if (!b->l->spec.transformer.parallel) x = y;
    x = feed_forward(b, i, prefix, norm(b, prefix, n.mlp_in, x));
    return vkt_add(b->g, y, added(b, prefix, n.mlp_out, x));
}

/* "NAME.weight". */
static vkt_tensor *table(vkt__tbuilder *b, const char *name)
{
    return name ? param(b, name, ".weight") : NULL;
}

/* [B, n, C]; of a frozen table only the tokens' rows are unpacked. */
static vkt_tensor *embed(vkt__tbuilder *b, vkt_tensor *tokens)
{
    char name[128];
    snprintf(name, sizeof name, "%s.weight", b->s.names->embedding);
    if (tokens->dtype == VKT_F32) /* a column of sentences */
        return vkt_reshape(b->g, vkt_lookup(b->g, tokens, param(b, "", name), 0),
                           vkt_shape3(tokens->shape.d[0], b->s.T, b->s.C));
    vkt_tensor *rows = b->s.learned ? NULL : vkt__model_rows(b->m, b->g, name, tokens);
    if (rows) return rows;
    vkt_embedding_in in = {
        .table = table(b, b->s.names->embedding),
        .ids = tokens,
        .pos = b->s.learned ? table(b, b->s.names->positions) : NULL,
        .start = b->start,
        .order = b->train ? vkt__input_named(b->g, VKT_TOKEN_ORDER) : NULL,
        .segments = b->train ? vkt__input_named(b->g, VKT_TOKEN_SEGMENTS) : NULL,
        .docs = b->s.learned ? b->docs : NULL,
    };
    return vkt_embedding(b->g, &in);
}

/* Over all tokens of a row, padding included, as in transformers. */
static vkt_tensor *noisy(vkt__tbuilder *b, vkt_tensor *x)
{
    float size = b->m->noise / sqrtf((float)b->s.T * (float)b->s.C);
    return b->train && size > 0 ? vkt_noise(b->g, x, vkt_step(b->g), size) : x;
}

static vkt_tensor *blocks(vkt__tbuilder *b, vkt_tensor *tokens)
{
    vkt_tensor *x = scaled(b, embed(b, tokens), b->l->spec.transformer.embedding_scale);
    x = dropout(b, noisy(b, x));
    for (uint32_t i = 0; i < b->s.n_layers; i++) x = block(b, i, x);
    return x;
}

vkt_tensor *vkt__transformer_body(vkt__tbuilder *b, vkt_tensor *tokens)
{
    const vkt_transformer *t = &b->l->spec.transformer;
    vkt_tensor *x = blocks(b, tokens);
    if (b->s.place != VKT_NORM_POST) x = norm(b, "", b->s.names->last_norm, x);
    /* The scores' divisor where there are fewer numbers. */
    return t->logit_divisor > 0 ? scaled(b, x, 1 / t->logit_divisor) : x;
}

vkt_tensor *vkt__transformer_head(vkt__tbuilder *b, vkt_tensor *x)
{
    const vkt_transformer *t = &b->l->spec.transformer;
    vkt_tensor *w = table(b, t->untied ? b->s.names->head : b->s.names->embedding);
    vkt_tensor *y = vkt_matmul(b->g, VKT_LAYOUT_NT, x, w);
    if (!(t->logit_cap > 0)) return y;
    y = vkt_activate(b->g, vkt_scale(b->g, y, 1 / t->logit_cap), VKT_ACT_TANH);
    return vkt_scale(b->g, y, t->logit_cap);
}

/* [B, 1, T]: one where a row of ids [B, T] has its last token. */
static vkt_tensor *last_tokens(vkt__tbuilder *b, vkt_tensor *ids)
{
    uint32_t B = ids->shape.d[0], T = b->s.T;
    vkt_tensor *there = vkt_lookup(b->g, ids, vkt_fill(b->g, vkt_shape2(b->s.V, 1), 1), 0);
    if (T == 1) return vkt_reshape(b->g, there, vkt_shape3(B, 1, 1));
    there = vkt_reshape(b->g, there, (vkt_shape) { 4, { B, 1, T, 1 } });
    vkt_tensor *next =
        vkt__op(b->g, &vkt__op_pad2d, &there, 1, (vkt_attr) { .pad = { { 0, -1 }, { 0, 1 } } });
    there = vkt_add(b->g, there, vkt_scale(b->g, next, -1));
    return vkt_reshape(b->g, there, vkt_shape3(B, 1, T));
}

/* Ids of tokens [B, T] f32, below 0 behind the last -> classes [B, n]. */
static vkt_tensor *score_build(vkt__tbuilder *b, vkt_tensor *x)
{
    uint32_t B = x->shape.d[0];
    b->s.V = b->m->params[b->l->w].pub.shape.d[0];
    vkt_tensor *last = last_tokens(b, x),
               *y = vkt_matmul_batched(b->g, VKT_LAYOUT_NN, last, blocks(b, x), VKT_F32);
    y = norm(b, "", b->s.names->last_norm, vkt_reshape(b->g, y, vkt_shape2(B, b->s.C)));
    return vkt_matmul(b->g, VKT_LAYOUT_NT, y, vkt__model_named(b->m, b->g, SCORE));
}

static vkt_tensor *transformer_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                     bool train)
{
    vkt__tbuilder b = { .m = m, .g = g, .l = l, .train = train };
    vkt_status st = vkt__transformer_shape(l, vkt__model_n_outputs(m), &b.s);
    if (st != VKT_OK) return g->status = st, g->inert;
    if (l->spec.transformer.score) return score_build(&b, x);
    b.docs = vkt__input_named(g, VKT_TOKEN_DOCUMENTS);
    /* Copied, because every layer reads it and a batch may be in memory that is slow for the
     * device. */
    if (b.docs && g->gpu && !vkt_gpu_caps(g->gpu)->unified) b.docs = vkt_copy(g, b.docs);
    vkt_tensor *logits = vkt__transformer_head(&b, vkt__transformer_body(&b, x));
    if (train) {
        m->added_loss = balance(&b);
        m->added_to = g;
    }
    return logits;
}

/* No token sees the padding behind the last one: each attends to those before it or, with `full`,
 * to the tokens of its sentence, and the padding to padding. The sum over the tokens that there
 * are, as a product with ones and zeros, is normalised, which makes it their mean. */
static vkt_tensor *sentence_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                  bool train)
{
    vkt__tbuilder b = { .m = m, .g = g, .l = l, .train = train };
    const vkt__param *table = &m->params[l->w];
    vkt_status st = vkt__transformer_shape(l, table->pub.shape.d[0], &b.s);
    if (st != VKT_OK) return g->status = st, g->inert;
    uint32_t B = x->shape.d[0];
    vkt_tensor *there = vkt_lookup(g, x, vkt_fill(g, vkt_shape2(b.s.V, 1), 1), 0);
    if (l->spec.transformer.full)
        b.there = vkt_reshape(g, vkt_cast(g, there, VKT_U32), vkt_shape2(B, b.s.T));
    there = vkt_reshape(g, there, vkt_shape3(B, 1, b.s.T));
    vkt_tensor *sum = vkt_matmul_batched(g, VKT_LAYOUT_NN, there, blocks(&b, x), VKT_F32);
    return norm(&b, "", b.s.names->last_norm, vkt_reshape(g, sum, vkt_shape2(B, b.s.C)));
}

const vkt__layer_kind vkt__transformer_kinds[] = {
    { "transformer", transformer_plan, transformer_build, .is_whole = true },
    { "sentence", sentence_plan, sentence_build },
    { .name = NULL },
};
