/* The transformer layer: a whole language model, tokens [B, T] u32 -> logits [B, T, V]. Parameters
 * are named and laid out as Hugging Face's GPT-2 (fused c_attn, weights [in, out]) or Llama files
 * (separate projections, weights [out, in]) have them, so that these load as they are. */
#include <math.h>
#include <stdio.h>

#include "nn/transformer.h"

#include "nn/layer_set.h"
#include "nn/lora.h"
#include "tensor/graph/graph.h"
#include "tensor/ops/ops.h"

/* ---- what the description means ---- */

static bool is(const char *word, const char *what)
{
    return word && !strcmp(word, what);
}

static vkt_status scaling_of(const vkt__layer *l, vkt__tshape *s)
{
    const vkt_transformer *t = &l->spec.transformer;
    s->scaled = t->rope_scaling != NULL;
    s->scaling = (vkt_rope_scaling) { .llama3 = is(t->rope_scaling, "llama3"),
                                      .factor = (double)t->rope_factor,
                                      .low = t->rope_low > 0 ? (double)t->rope_low : 1,
                                      .high = t->rope_high > 0 ? (double)t->rope_high : 4,
                                      .context = t->rope_context };
    bool ok = s->scaled ? s->rope && s->scaling.factor >= 1 : s->scaling.factor == 0;
    if (s->scaling.llama3) ok = ok && s->scaling.context && s->scaling.low < s->scaling.high;
    if (ok) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "model",
                     "%s: rope_scaling needs positions: rope and a rope_factor, llama3 also a "
                     "rope_context and a rope_low below rope_high",
                     l->where);
}

vkt_status vkt__transformer_shape(const vkt__layer *l, uint32_t n_vocab, vkt__tshape *s)
{
    const vkt_transformer *t = &l->spec.transformer;
    if (l->in.rank != 1)
        return vkt__fail(VKT_E_SHAPE, "model", "%s: its input must be tokens: use text data",
                         l->where);
    *s = (vkt__tshape) { .T = l->in.d[0], .V = n_vocab, .C = t->width, .H = t->heads };
    s->Hkv = t->kv_heads ? t->kv_heads : s->H;
    s->n_layers = t->layers;
    /* The words are known: vkt__model_plan_list has checked them. */
    bool known = vkt__act_find(t->activation ? t->activation : "gelu", &s->act, &s->gated);
    VKT_ASSERT(known);
    s->rope = is(t->positions, "rope");
    s->learned = !t->positions || is(t->positions, "learned");
    s->gpt2 = t->names ? is(t->names, "gpt2") : !s->gated && !s->rope;
    s->rms = is(t->norm, "rmsnorm");
    s->post = is(t->norm_place, "post");
    s->P = VKT_MAX(t->context, s->T);
    if (!s->n_layers || !s->H || !s->C)
        return vkt__fail(VKT_E_ARG, "model", "%s: layers, heads and width are needed", l->where);
    s->D = t->head_dim ? t->head_dim : s->C / s->H;
    if ((!t->head_dim && s->C % s->H) || s->D % 4)
        return vkt__fail(VKT_E_SHAPE, "model",
                         "%s: width %u must be %u heads times a multiple of 4", l->where, s->C,
                         s->H);
    if (s->H % s->Hkv)
        return vkt__fail(VKT_E_SHAPE, "model", "%s: %u heads can't share %u kv_heads", l->where,
                         s->H, s->Hkv);
    if (s->gpt2 && (s->gated || s->rope))
        return vkt__fail(VKT_E_ARG, "model",
                         "%s: `names: gpt2` does not support a gated activation or rope", l->where);
    if (s->gpt2 && (t->head_dim || t->qk_norm || t->attention_bias || t->mlp_bias))
        return vkt__fail(
            VKT_E_ARG, "model",
            "%s: `names: gpt2` does not support head_dim, qk_norm, attention_bias or mlp_bias",
            l->where);
    if (!s->gpt2 && s->learned)
        return vkt__fail(VKT_E_ARG, "model",
                         "%s: `names: llama` does not support learned positions", l->where);
    if (t->window_layers && !(t->window && vkt__layer_set_ok(t->window_layers, s->n_layers)))
        return vkt__fail(VKT_E_ARG, "model",
                         "%s: window_layers: a window and some of the layers 0 to %u, as in "
                         "\"0 2 5-8\", are expected, not '%.60s'",
                         l->where, s->n_layers - 1, t->window_layers);
    /* Llama's two thirds of four widths for a gated mlp, rounded up to a multiple of 64. */
    s->mlp = t->mlp     ? t->mlp
             : s->gated ? (uint32_t)vkt__align(((uint64_t)s->C * 8 + 2) / 3, 64)
                        : 4 * s->C;
    return scaling_of(l, s);
}

/* ---- parameters ---- */

typedef struct {
    vkt_model *m;
    vkt__layer *l;
    const vkt__tshape *s;
    float scale; /* of the initial weights */
    bool bias;
} planner;

static void add(planner *p, const char *name, vkt_shape shape, vkt__init init, float scale)
{
    int param = vkt__model_add_named(p->m, name, shape, init, scale);
    if (p->l->w < 0) p->l->w = param;
    p->l->n_params++;
}

/* A projection: its weight, and its bias where it has one. */
static void add_linear(planner *p, const char *prefix, const char *name, uint32_t in, uint32_t out,
                       bool bias, float scale)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s.weight", prefix, name);
    add(p, text, p->s->gpt2 ? vkt_shape2(in, out) : vkt_shape2(out, in), VKT_INIT_NORMAL, scale);
    if (bias) {
        snprintf(text, sizeof text, "%s%s.bias", prefix, name);
        add(p, text, vkt_shape1(out), VKT_INIT_ZEROS, 1);
    }
    bool by_default = !strcmp(name, "attn.c_attn") || !strcmp(name, "self_attn.q_proj") ||
                      !strcmp(name, "self_attn.v_proj"); /* as PEFT's */
    snprintf(text, sizeof text, "%s%s", prefix, name);
    p->l->n_params += vkt__lora_add(p->m, text, in, out, by_default);
}

static void add_gain(planner *p, const char *prefix, const char *name, uint32_t n)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s.weight", prefix, name);
    add(p, text, vkt_shape1(n), VKT_INIT_ONES, 1);
}

static void add_norm(planner *p, const char *prefix, const char *name)
{
    char text[128];
    add_gain(p, prefix, name, p->s->C);
    if (p->s->rms || !p->bias) return;
    snprintf(text, sizeof text, "%s%s.bias", prefix, name);
    add(p, text, vkt_shape1(p->s->C), VKT_INIT_ZEROS, 1);
}

/* GPT-2 scales what is added to the residual stream by 1 / sqrt(additions): Radford et al. 2019. */
static void add_gpt2_block(planner *p, uint32_t i)
{
    const vkt__tshape *s = p->s;
    float residual = p->scale / sqrtf(2.0f * (float)s->n_layers);
    char prefix[64];
    snprintf(prefix, sizeof prefix, "transformer.h.%u.", i);
    add_norm(p, prefix, "ln_1");
    add_linear(p, prefix, "attn.c_attn", s->C, (s->H + 2 * s->Hkv) * s->D, p->bias, p->scale);
    add_linear(p, prefix, "attn.c_proj", s->C, s->C, p->bias, residual);
    add_norm(p, prefix, "ln_2");
    add_linear(p, prefix, "mlp.c_fc", s->C, s->mlp, p->bias, p->scale);
    add_linear(p, prefix, "mlp.c_proj", s->mlp, s->C, p->bias, residual);
}

static void add_llama_block(planner *p, uint32_t i)
{
    const vkt__tshape *s = p->s;
    const vkt_transformer *t = &p->l->spec.transformer;
    bool o_bias = p->bias || t->attention_bias, qkv_bias = o_bias || t->qkv_bias,
         mlp_bias = p->bias || t->mlp_bias;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model.layers.%u.", i);
    add_norm(p, prefix, "input_layernorm");
    add_linear(p, prefix, "self_attn.q_proj", s->C, s->H * s->D, qkv_bias, p->scale);
    add_linear(p, prefix, "self_attn.k_proj", s->C, s->Hkv * s->D, qkv_bias, p->scale);
    add_linear(p, prefix, "self_attn.v_proj", s->C, s->Hkv * s->D, qkv_bias, p->scale);
    add_linear(p, prefix, "self_attn.o_proj", s->H * s->D, s->C, o_bias, p->scale);
    if (t->qk_norm) {
        add_gain(p, prefix, "self_attn.q_norm", s->D);
        add_gain(p, prefix, "self_attn.k_norm", s->D);
    }
    add_norm(p, prefix, "post_attention_layernorm");
    if (s->gated) add_linear(p, prefix, "mlp.gate_proj", s->C, s->mlp, mlp_bias, p->scale);
    add_linear(p, prefix, "mlp.up_proj", s->C, s->mlp, mlp_bias, p->scale);
    add_linear(p, prefix, "mlp.down_proj", s->mlp, s->C, mlp_bias, p->scale);
}

static vkt_status transformer_plan(vkt_model *m, vkt__layer *l)
{
    vkt__tshape s;
    vkt_status st = vkt__transformer_shape(l, vkt__model_n_outputs(m), &s);
    if (st != VKT_OK) return st;
    const vkt_transformer *t = &l->spec.transformer;
    planner p = { m, l, &s, l->spec.init_scale > 0 ? l->spec.init_scale : 1.0f,
                  s.gpt2 ? !l->spec.no_bias : t->bias };
    add(&p, s.gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight", vkt_shape2(s.V, s.C),
        VKT_INIT_NORMAL, p.scale);
    if (s.learned)
        add(&p, "transformer.wpe.weight", vkt_shape2(s.P, s.C), VKT_INIT_NORMAL, p.scale);
    for (uint32_t i = 0; i < s.n_layers; i++)
        s.gpt2 ? add_gpt2_block(&p, i) : add_llama_block(&p, i);
    if (!s.post) add_norm(&p, "", s.gpt2 ? "transformer.ln_f" : "model.norm");
    if (t->untied) add(&p, "lm_head.weight", vkt_shape2(s.V, s.C), VKT_INIT_NORMAL, p.scale);
    if (s.rope) {
        float *table = vkt__alloc((size_t)s.P * s.D * sizeof *table);
        vkt_rope_table(s.P, s.D, t->theta > 0 ? (double)t->theta : 10000.0,
                       s.scaled ? &s.scaling : NULL, table);
        vkt__model_set_constants(m, vkt_shape2(s.P, s.D), table);
    }
    l->out = vkt_shape2(s.T, s.V);
    return VKT_OK;
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
    vkt_tensor *in[] = { x, param(b, prefix, weight), param(b, prefix, bias) };
    vkt_tensor *y =
        vkt__op(b->g, &vkt__op_matmul, in, VKT_COUNT(in),
                (vkt_attr) { .matmul = { .layout = b->s.gpt2 ? VKT_LAYOUT_NN : VKT_LAYOUT_NT } });
    snprintf(weight, sizeof weight, "%s%s", prefix, name);
    return vkt__lora_build(b->m, b->g, weight, x, y, b->train);
}

static float eps_of(const vkt__tbuilder *b)
{
    return b->l->spec.eps > 0 ? b->l->spec.eps : 1e-5f;
}

static vkt_tensor *norm(vkt__tbuilder *b, const char *prefix, const char *name, vkt_tensor *x)
{
    char weight[128], bias[128];
    float eps = eps_of(b);
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    vkt_tensor *w = param(b, prefix, weight);
    if (b->s.rms) return vkt_rmsnorm(b->g, x, w, NULL, eps, NULL);
    return vkt_layernorm(b->g, x, w, param(b, prefix, bias), NULL, eps, NULL);
}

static vkt_tensor *dropout(vkt__tbuilder *b, vkt_tensor *x)
{
    float p = b->l->spec.p;
    return b->train && p > 0 ? vkt_dropout(b->g, x, vkt_step(b->g), p) : x;
}

/* Each head's queries or keys to mean square 1, times a gain that heads share. */
static vkt_tensor *norm_heads(vkt__tbuilder *b, const char *prefix, const char *name, vkt_tensor *x)
{
    vkt_shape s = x->shape, heads = vkt_shape2((uint32_t)(x->count / b->s.D), b->s.D);
    if (!b->l->spec.transformer.qk_norm) return x;
    x = vkt_reshape(b->g, x, heads);
    return vkt_reshape(b->g, vkt_rmsnorm(b->g, x, param(b, prefix, name), NULL, eps_of(b), NULL),
                       s);
}

static vkt_tensor *rotate(vkt__tbuilder *b, vkt_tensor *x, uint32_t heads)
{
    bool neighbours = is(b->l->spec.transformer.rope_layout, "interleaved");
    vkt_rope_desc desc = { .head = b->s.D,
                           .heads = heads,
                           .layout = neighbours ? VKT_ROPE_INTERLEAVED : VKT_ROPE_HALF };
    return vkt_rope(b->g, x, vkt__model_constants(b->m, b->g), b->docs, b->start, &desc);
}

/* Queries, keys and values, side by side (then *k and *v are NULL) or apart. */
static vkt_tensor *project(vkt__tbuilder *b, const char *prefix, vkt_tensor *x, vkt_tensor **k,
                           vkt_tensor **v)
{
    *k = *v = NULL;
    if (b->s.gpt2) return linear(b, prefix, "attn.c_attn", x);
    vkt_tensor *q = linear(b, prefix, "self_attn.q_proj", x);
    *k = linear(b, prefix, "self_attn.k_proj", x);
    q = norm_heads(b, prefix, "self_attn.q_norm.weight", q);
    *k = norm_heads(b, prefix, "self_attn.k_norm.weight", *k);
    *v = linear(b, prefix, "self_attn.v_proj", x);
    if (!b->s.rope) return q;
    *k = rotate(b, *k, b->s.Hkv);
    return rotate(b, q, b->s.H);
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
    vkt_tensor *k, *v, *q = project(b, prefix, x, &k, &v);
    if (b->cache_k) append(b, layer, q, &k, &v);
    const vkt_transformer *t = &b->l->spec.transformer;
    vkt_attention_desc desc = { .heads = b->s.H, .kv_heads = b->s.Hkv };
    if (vkt__layer_set_has(t->window_layers, layer)) desc.window = t->window;
    vkt_tensor *y = vkt_attention(b->g, q, k, v, b->docs, b->start, &desc);
    return linear(b, prefix, b->s.gpt2 ? "attn.c_proj" : "self_attn.o_proj", y);
}

static vkt_tensor *feed_forward(vkt__tbuilder *b, const char *prefix, vkt_tensor *x)
{
    const char *up = b->s.gpt2 ? "mlp.c_fc" : "mlp.up_proj",
               *down = b->s.gpt2 ? "mlp.c_proj" : "mlp.down_proj";
    vkt_tensor *h = linear(b, prefix, up, x);
    h = b->s.gated ? vkt_gated(b->g, linear(b, prefix, "mlp.gate_proj", x), h, b->s.act)
                   : vkt_activate(b->g, h, b->s.act);
    return linear(b, prefix, down, h);
}

static vkt_tensor *block(vkt__tbuilder *b, uint32_t i, vkt_tensor *x)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, b->s.gpt2 ? "transformer.h.%u." : "model.layers.%u.", i);
    const char *n1 = b->s.gpt2 ? "ln_1" : "input_layernorm",
               *n2 = b->s.gpt2 ? "ln_2" : "post_attention_layernorm";
    if (b->s.post) {
        x = norm(b, prefix, n1, vkt_add(b->g, x, dropout(b, attend(b, i, prefix, x))));
        return norm(b, prefix, n2, vkt_add(b->g, x, dropout(b, feed_forward(b, prefix, x))));
    }
    x = vkt_add(b->g, x, dropout(b, attend(b, i, prefix, norm(b, prefix, n1, x))));
    return vkt_add(b->g, x, dropout(b, feed_forward(b, prefix, norm(b, prefix, n2, x))));
}

vkt_tensor *vkt__transformer_body(vkt__tbuilder *b, vkt_tensor *tokens)
{
    vkt_graph *g = b->g;
    vkt_embedding_in in = {
        .table = param(b, "", b->s.gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight"),
        .ids = tokens,
        .pos = b->s.learned ? param(b, "", "transformer.wpe.weight") : NULL,
        .start = b->start,
        .order = b->train ? vkt__input_named(g, VKT_TOKEN_ORDER) : NULL,
        .segments = b->train ? vkt__input_named(g, VKT_TOKEN_SEGMENTS) : NULL,
        .docs = b->s.learned ? b->docs : NULL,
    };
    vkt_tensor *x = dropout(b, vkt_embedding(g, &in));
    for (uint32_t i = 0; i < b->s.n_layers; i++) x = block(b, i, x);
    return b->s.post ? x : norm(b, "", b->s.gpt2 ? "transformer.ln_f" : "model.norm", x);
}

vkt_tensor *vkt__transformer_head(vkt__tbuilder *b, vkt_tensor *x)
{
    const char *tied = b->s.gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight";
    vkt_tensor *w = param(b, "", b->l->spec.transformer.untied ? "lm_head.weight" : tied);
    return vkt_matmul(b->g, VKT_LAYOUT_NT, x, w);
}

static vkt_tensor *transformer_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                     bool train)
{
    vkt__tbuilder b = { .m = m, .g = g, .l = l, .train = train };
    if (vkt__transformer_shape(l, vkt__model_n_outputs(m), &b.s) != VKT_OK) return g->inert;
    b.docs = vkt__input_named(g, VKT_TOKEN_DOCUMENTS);
    /* Copied, because every layer reads it and a batch may be in memory that is slow for the
     * device. */
    if (b.docs && g->gpu && !vkt_gpu_caps(g->gpu)->unified) b.docs = vkt_copy(g, b.docs);
    return vkt__transformer_head(&b, vkt__transformer_body(&b, x));
}

const vkt__layer_kind vkt__transformer_kinds[] = {
    { "transformer", transformer_plan, transformer_build, .is_whole = true },
    { .name = NULL },
};
