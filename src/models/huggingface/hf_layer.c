/* hf_config.h: a config <-> the one layer of a model list. */
#include <stdio.h>

#include "models/huggingface/hf_config.h"

#include "models/huggingface/hf_family.h"
#include "tensor/graph/act.h"

static const char *const kinds[] = { [VKT_ROPE_LINEAR] = "linear",
                                     [VKT_ROPE_LLAMA3] = "llama3",
                                     [VKT_ROPE_YARN] = "yarn",
                                     [VKT_ROPE_LONGROPE] = "longrope" };

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

/* 0 where it is `usual`. */
static float but(double v, double usual)
{
    return v == usual ? 0 : (float)v;
}

static void add_rope(const vkt__hf_config *c, vkt_transformer *t)
{
    const vkt_rope_scaling *s = &c->scaling;
    t->theta = (float)c->theta;
    t->window_theta = (float)c->window_theta;
    t->rope_layers = or_null(c->rope_layers);
    t->rotary = c->rotary;
    if (!c->scaled) return;
    t->rope_scaling = kinds[s->kind];
    t->rope_factor = (float)s->factor;
    t->rope_low = (float)s->low;
    t->rope_high = (float)s->high;
    t->rope_context = s->context;
    t->rope_attention = (float)s->attention;
    t->rope_exact = s->exact;
    t->rope_short = or_null(c->rope_short);
    t->rope_long = or_null(c->rope_long);
}

vkt_layer vkt__hf_config_layer(const vkt__hf_config *c)
{
    bool all_bias = c->attention_bias && c->mlp_bias;
    const vkt__hf_family *f = vkt__hf_family_of(c);
    VKT_ASSERT(f);
    vkt_layer l = { .type = "transformer",
                    .eps = (float)c->eps,
                    .transformer = {
                        .names = c->names,
                        .layers = c->layers,
                        .heads = c->heads,
                        .kv_heads = c->kv_heads,
                        .head_dim = (uint64_t)c->head_dim * c->heads == c->width ? 0 : c->head_dim,
                        .width = c->width,
                        .mlp = c->mlp,
                        .context = c->context,
                        .window = c->window,
                        .experts = c->experts,
                        .experts_used = c->experts_used,
                        .experts_mlp = c->experts_mlp,
                        .experts_layers = or_null(c->experts_layers),
                        .experts_norm = c->experts_norm,
                        .experts_balance = (float)c->experts_balance,
                        .window_layers = or_null(c->window_layers),
                        .norm = f->plain ? "layernorm" : "rmsnorm",
                        .norm_place = strcmp(c->norm_place, "pre") != 0 ? c->norm_place : NULL,
                        .positions = c->gpt2 ? "learned" : "rope",
                        .activation = c->activation,
                        .untied = !c->tied,
                        .bias = all_bias,
                        .attention_bias = c->attention_bias && !all_bias,
                        .mlp_bias = c->mlp_bias && !all_bias,
                        .qk_norm = c->qk_norm,
                        .qk_norm_all = c->qk_norm_all,
                        .qkv_bias = c->qkv_bias,
                        .gain_plus_one = c->plus_one,
                        .parallel = c->parallel,
                        .embedding_scale = but(c->embedding_scale, 1),
                        .residual_scale = but(c->residual_scale, 1),
                        .logit_divisor = but(c->logit_divisor, 1),
                        .attention_scale = (float)c->attention_scale,
                        .attention_cap = (float)c->attention_cap,
                        .logit_cap = (float)c->logit_cap } };
    if (!c->gpt2) add_rope(c, &l.transformer);
    return l;
}

/* ---- back ---- */

/* A layer's option by the name that recipes give it. */
static const void *option(const vkt_layer *l, const char *name)
{
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; !strcmp(t[i].name, l->type) && k < VKT_COUNT(t[i].opts); k++)
            if (t[i].opts[k].name && !strcmp(t[i].opts[k].name, name))
                return (const char *)l + t[i].opts[k].offset;
    return NULL;
}

static uint32_t option_uint(const vkt_layer *l, const char *name, uint32_t fallback)
{
    uint32_t v = 0;
    const void *at = option(l, name);
    if (at) memcpy(&v, at, sizeof v);
    return v ? v : fallback;
}

static double option_real(const vkt_layer *l, const char *name, double fallback)
{
    float v = 0;
    const void *at = option(l, name);
    if (at) memcpy(&v, at, sizeof v);
    return v > 0 ? (double)v : fallback;
}

static const char *option_word(const vkt_layer *l, const char *name, const char *fallback)
{
    const char *v = NULL;
    const void *at = option(l, name);
    if (at) memcpy(&v, at, sizeof v);
    return v ? v : fallback;
}

/* The field itself: of an option that says the opposite, it holds the opposite. */
static bool option_bool(const vkt_layer *l, const char *name)
{
    bool v = false;
    const void *at = option(l, name);
    if (at) memcpy(&v, at, sizeof v);
    return v;
}

static vkt_status not_theirs(const char *what)
{
    return vkt__fail(VKT_E_ARG, "model",
                     "this model can't be written for transformers: %s; GPT-2's and Llama's "
                     "architectures can",
                     what);
}

static void copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
}

static void take_rope(const vkt_layer *l, vkt__hf_config *c)
{
    const char *scaling = option_word(l, "rope_scaling", NULL);
    vkt_rope_scaling *s = &c->scaling;
    c->theta = option_real(l, "theta", 10000);
    c->window_theta = option_real(l, "window_theta", 0);
    c->rotary = option_uint(l, "rotary", 0);
    if (c->rotary == c->head_dim) c->rotary = 0;
    copy(c->rope_layers, sizeof c->rope_layers, option_word(l, "rope_layers", ""));
    c->scaled = scaling != NULL;
    if (!scaling) return;
    for (uint32_t k = 0; k < VKT_COUNT(kinds); k++)
        if (!strcmp(kinds[k], scaling)) s->kind = (vkt_rope_kind)k;
    s->factor = option_real(l, "rope_factor", 1);
    s->low = option_real(l, "rope_low", 1);
    s->high = option_real(l, "rope_high", s->kind == VKT_ROPE_YARN ? 32 : 4);
    s->context = option_uint(l, "rope_context", 0);
    s->attention = option_real(l, "rope_attention", 0);
    s->exact = option_bool(l, "rope_exact");
    copy(c->rope_short, sizeof c->rope_short, option_word(l, "rope_short", ""));
    copy(c->rope_long, sizeof c->rope_long, option_word(l, "rope_long", ""));
}

static void take_experts(const vkt_layer *l, vkt__hf_config *c)
{
    c->experts = option_uint(l, "experts", 0);
    if (!c->experts) return;
    c->experts_used = option_uint(l, "experts_used", 0);
    c->experts_mlp = option_uint(l, "experts_mlp", c->mlp);
    c->experts_norm = option_bool(l, "experts_norm");
    c->experts_balance = option_real(l, "experts_balance", 0);
    copy(c->experts_layers, sizeof c->experts_layers, option_word(l, "experts_layers", ""));
}

static void take_sizes(const vkt_layer *l, vkt__hf_config *c)
{
    c->layers = option_uint(l, "layers", 0);
    c->heads = option_uint(l, "heads", 0);
    c->kv_heads = option_uint(l, "kv_heads", c->heads);
    c->width = option_uint(l, "width", 0);
    c->window = option_uint(l, "window", 0);
    copy(c->window_layers, sizeof c->window_layers, option_word(l, "window_layers", ""));
    c->context = option_uint(l, "context", 0);
    c->mlp = option_uint(l, "mlp", 0);
    c->eps = option_real(l, "eps", 1e-5);
    c->tied = !option_bool(l, "tie");
    c->head_dim = option_uint(l, "head_dim", c->width / VKT_MAX(c->heads, 1));
    c->embedding_scale = option_real(l, "embedding_scale", 1);
    c->residual_scale = option_real(l, "residual_scale", 1);
    c->logit_divisor = option_real(l, "logit_divisor", 1);
    c->attention_scale = option_real(l, "attention_scale", 0);
    c->attention_cap = option_real(l, "attention_cap", 0);
    c->logit_cap = option_real(l, "logit_cap", 0);
}

static void take_flags(const vkt_layer *l, vkt__hf_config *c)
{
    bool all = option_bool(l, "all_bias");
    c->attention_bias = option_bool(l, "attention_bias") || all;
    c->qkv_bias = option_bool(l, "qkv_bias") && !c->attention_bias;
    c->mlp_bias = option_bool(l, "mlp_bias") || all;
    c->qk_norm = option_bool(l, "qk_norm");
    c->qk_norm_all = option_bool(l, "qk_norm_all");
    c->plus_one = option_bool(l, "gain_plus_one");
    c->parallel = option_bool(l, "parallel");
    c->score = option_bool(l, "score");
}

vkt_status vkt__hf_config_of(const vkt_layer *layers, size_t n_layers, vkt__hf_config *c)
{
    const vkt_layer *l = layers;
    *c = (vkt__hf_config) { 0 };
    if (n_layers != 1 || strcmp(l->type, "transformer") != 0)
        return not_theirs("it is not one `transformer`");
    const char *activation = option_word(l, "activation", "gelu"),
               *positions = option_word(l, "positions", "learned");
    vkt_act act;
    bool gated, known = vkt__act_find(activation, &act, &gated), rope = !strcmp(positions, "rope"),
                rms = !strcmp(option_word(l, "norm", ""), "rmsnorm");
    if (!known || !vkt__acts[act].hf) return not_theirs("its activation");
    c->activation = activation;
    c->names = option_word(l, "names", !gated && !rope ? "gpt2" : "llama");
    c->gpt2 = !strcmp(c->names, "gpt2");
    c->norm_place = option_word(l, "norm_place", "pre");
    bool neox = !strcmp(c->names, "neox");
    if (!strcmp(c->norm_place, "post")) return not_theirs("norm_place: post");
    if (!strcmp(option_word(l, "rope_layout", "half"), "interleaved"))
        return not_theirs("rope_layout: interleaved");
    if (c->gpt2 && (strcmp(positions, "learned") != 0 || rms || option_bool(l, "bias") ||
                    option_uint(l, "window", 0)))
        return not_theirs("GPT-2 has learned positions, layernorm, biases and no window");
    if (neox && (gated || !rope || rms || option_bool(l, "bias")))
        return not_theirs("GPT-NeoX has rope, layernorm, biases and no gate");
    if (!c->gpt2 && !neox && (!gated || !rope || !rms))
        return not_theirs("Llama has a gated activation, rope and rmsnorm");
    take_sizes(l, c);
    if (c->gpt2 && c->kv_heads != c->heads) return not_theirs("GPT-2 with kv_heads");
    take_flags(l, c);
    take_experts(l, c);
    take_rope(l, c);
    if (!vkt__hf_family_of(c))
        return not_theirs("no architecture there has these biases, norms, windows, scales and "
                          "layers without rope together");
    return VKT_OK;
}
