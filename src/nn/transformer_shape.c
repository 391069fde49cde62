/* transformer_shape.h: sizes with their defaults; what can't be is refused here. */
#include <math.h>
#include <stdio.h>

#include "nn/transformer_shape.h"

#include "base/number.h"
#include "nn/layer_set.h"
#include "tensor/graph/act.h"

/* ---- kinds of files ---- */

#define LLAMA_NORMS .norm_1 = "input_layernorm", .norm_2 = "post_attention_layernorm"

static const vkt__naming namings[] = {
    { .word = "gpt2",
      .block = "transformer.h.",
      .embedding = "transformer.wte",
      .positions = "transformer.wpe",
      .last_norm = "transformer.ln_f",
      .head = "lm_head",
      .qkv = "attn.c_attn",
      .o = "attn.c_proj",
      .up = "mlp.c_fc",
      .down = "mlp.c_proj",
      .norm_1 = "ln_1",
      .norm_2 = "ln_2",
      .columns = true,
      .biases = true },
    { .word = "llama",
      .block = "model.layers.",
      .embedding = "model.embed_tokens",
      .last_norm = "model.norm",
      .head = "lm_head",
      .o = "self_attn.o_proj",
      .gate = "mlp.gate_proj",
      .up = "mlp.up_proj",
      .down = "mlp.down_proj",
      LLAMA_NORMS },
    { .word = "phi3",
      .block = "model.layers.",
      .embedding = "model.embed_tokens",
      .last_norm = "model.norm",
      .head = "lm_head",
      .qkv = "self_attn.qkv_proj",
      .o = "self_attn.o_proj",
      .up = "mlp.gate_up_proj",
      .down = "mlp.down_proj",
      .gate_in_up = true,
      LLAMA_NORMS },
    { .word = "neox",
      .block = "gpt_neox.layers.",
      .embedding = "gpt_neox.embed_in",
      .last_norm = "gpt_neox.final_layer_norm",
      .head = "embed_out",
      .qkv = "attention.query_key_value",
      .o = "attention.dense",
      .up = "mlp.dense_h_to_4h",
      .down = "mlp.dense_4h_to_h",
      .by_heads = true,
      .biases = true,
      LLAMA_NORMS },
};

const vkt__naming *vkt__naming_of(const char *word)
{
    for (size_t i = 0; i < VKT_COUNT(namings); i++)
        if (!strcmp(namings[i].word, word)) return &namings[i];
    return NULL;
}

const vkt__naming *vkt__naming_for(const vkt_transformer *t)
{
    vkt_act act;
    bool gated, known = vkt__act_find(t->activation ? t->activation : "gelu", &act, &gated);
    bool rope = t->positions && !strcmp(t->positions, "rope");
    return vkt__naming_of(t->names ? t->names : known && !gated && !rope ? "gpt2" : "llama");
}

vkt__norm_names vkt__norm_names_of(const vkt__tshape *s)
{
    static const char after_attention[] = "post_attention_layernorm",
                      before_mlp[] = "pre_feedforward_layernorm",
                      after_mlp[] = "post_feedforward_layernorm";
    const vkt__naming *n = s->names;
    if (s->place == VKT_NORM_AFTER)
        return (vkt__norm_names) { NULL, after_attention, NULL, after_mlp };
    if (s->place == VKT_NORM_BOTH)
        return (vkt__norm_names) { n->norm_1, after_attention, before_mlp, after_mlp };
    return (vkt__norm_names) { n->norm_1, NULL, n->norm_2, NULL };
}

/* ---- sizes ---- */

static bool is(const char *word, const char *what)
{
    return word && !strcmp(word, what);
}

static vkt__norm_place place_of(const char *word)
{
    return is(word, "post")    ? VKT_NORM_POST
           : is(word, "after") ? VKT_NORM_AFTER
           : is(word, "both")  ? VKT_NORM_BOTH
                               : VKT_NORM_PRE;
}

/* Longrope has other angles beyond the first context, and a model is built for either. */
static bool is_long(const vkt__tshape *s, const vkt_transformer *t)
{
    return s->T > t->rope_context;
}

/* What the kind of files has no place for. */
static vkt_status check_names(const vkt__layer *l, const vkt__tshape *s)
{
    const vkt_transformer *t = &l->spec.transformer;
    const vkt__naming *n = s->names;
    bool llama = is(n->word, "llama"), gpt2 = is(n->word, "gpt2"), neox = is(n->word, "neox");
    const char *what = NULL;
    if (s->gated && (gpt2 || neox)) what = "a gated activation";
    if (!s->gated && n->gate_in_up) what = "an activation without a gate";
    if (s->rope && gpt2) what = "rope";
    if (s->learned && !n->positions) what = "learned positions";
    if (t->head_dim && n->biases) what = "head_dim";
    if (s->Hkv != s->H && n->by_heads) what = "kv_heads";
    if ((t->qk_norm || t->qk_norm_all) && !llama) what = "qk_norm or qk_norm_all";
    if ((t->attention_bias || t->qkv_bias || t->mlp_bias || t->bias) && !llama)
        what = "attention_bias, qkv_bias, mlp_bias or all_bias";
    if (t->experts && !(llama && s->gated)) what = "experts without a gated activation";
    if (s->place >= VKT_NORM_AFTER && !llama) what = "norm_place: after or both";
    if (!what) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "model", "%s: names %s have no place for %s", l->where, n->word,
                     what);
}

static vkt_status check_layers(const vkt__layer *l, const vkt__tshape *s, const char *option,
                               const char *set, bool ok)
{
    if (!set || (ok && vkt__layer_set_ok(set, s->n_layers))) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "model",
                     "%s: %s and some of the layers 0 to %u, as in "
                     "\"0 2 5-8\", are expected, not '%.60s'",
                     l->where, option, s->n_layers - 1, set);
}

static vkt_status check_heads(const vkt__layer *l, const vkt__tshape *s)
{
    const vkt_transformer *t = &l->spec.transformer;
    if ((!t->head_dim && s->C % s->H) || s->D % 4)
        return vkt__fail(VKT_E_SHAPE, "model", "%s: width %u must be %u heads of a multiple of 4",
                         l->where, s->C, s->H);
    if (s->H % s->Hkv)
        return vkt__fail(VKT_E_SHAPE, "model", "%s: %u heads can't share %u kv_heads", l->where,
                         s->H, s->Hkv);
    if (s->R > s->D || s->R % 2 || (t->rotary && !s->rope))
        return vkt__fail(VKT_E_SHAPE, "model",
                         "%s: rotary: an even number up to the head's %u is expected, not %u, with "
                         "positions: rope",
                         l->where, s->D, s->R);
    return VKT_OK;
}

/* Top-k of a row goes through all experts for each that is used; see ops_route.c. */
static vkt_status check_experts(const vkt__layer *l, const vkt__tshape *s)
{
    const vkt_transformer *t = &l->spec.transformer;
    bool any = t->experts > 0;
    if (!any && (t->experts_used || t->experts_mlp || t->experts_norm || t->experts_balance > 0))
        return vkt__fail(VKT_E_ARG, "model",
                         "%s: experts_used, experts_mlp, experts_norm and "
                         "experts_balance need experts",
                         l->where);
    if (any && (!t->experts_used || t->experts_used > t->experts))
        return vkt__fail(VKT_E_ARG, "model",
                         "%s: experts_used: 1 to the %u experts are expected, not %u", l->where,
                         t->experts, t->experts_used);
    if (any && (uint64_t)t->experts * t->experts_used > 50000)
        return vkt__fail(VKT_E_ARG, "model", "%s: experts times experts_used is more than 50000",
                         l->where);
    if (any && (s->C % 4 || s->expert_mlp % 4))
        return vkt__fail(VKT_E_SHAPE, "model",
                         "%s: with experts width %u and experts_mlp %u must be multiples of 4",
                         l->where, s->C, s->expert_mlp);
    return VKT_OK;
}

vkt_status vkt__transformer_shape(const vkt__layer *l, uint32_t n_vocab, vkt__tshape *s)
{
    vkt_status st;
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
    s->names = vkt__naming_for(t);
    VKT_ASSERT(s->names);
    s->rms = is(t->norm, "rmsnorm");
    s->place = place_of(t->norm_place);
    s->P = VKT_MAX(t->context, s->T);
    if (is(t->rope_scaling, "longrope") && !is_long(s, t)) s->P = VKT_MIN(s->P, t->rope_context);
    if ((!s->n_layers && l->kind->is_whole) || !s->H || !s->C)
        return vkt__fail(VKT_E_ARG, "model", "%s: layers, heads and width are needed", l->where);
    s->D = t->head_dim ? t->head_dim : s->C / s->H;
    s->R = t->rotary ? t->rotary : s->D;
    VKT_TRY(check_heads(l, s));
    VKT_TRY(check_names(l, s));
    VKT_TRY(check_layers(l, s, "window_layers: a window", t->window_layers, t->window > 0));
    VKT_TRY(check_layers(l, s, "rope_layers: positions: rope", t->rope_layers, s->rope));
    if (t->parallel && s->place != VKT_NORM_PRE)
        return vkt__fail(VKT_E_ARG, "model", "%s: parallel needs norm_place: pre", l->where);
    /* Llama's two thirds of four widths for a gated mlp, rounded up to a multiple of 64. */
    s->mlp = t->mlp     ? t->mlp
             : s->gated ? (uint32_t)vkt__align(((uint64_t)s->C * 8 + 2) / 3, 64)
                        : 4 * s->C;
    s->expert_mlp = t->experts_mlp ? t->experts_mlp : s->mlp;
    VKT_TRY(check_layers(l, s, "experts_layers: experts", t->experts_layers, t->experts > 0));
    VKT_TRY(check_experts(l, s));
fail:
    return st;
}

/* ---- rope ---- */

/* A number for each angle. */
static vkt_status read_factors(const vkt__layer *l, const char *option, const char *text,
                               uint32_t n, float *out)
{
    uint32_t i = 0;
    bool ok = text != NULL;
    for (const char *p = text ? text + strspn(text, " ") : ""; ok && *p; p += strspn(p, " ")) {
        char word[32];
        size_t len = strcspn(p, " ");
        double d = 0;
        ok = i < n && len < sizeof word;
        if (ok) snprintf(word, sizeof word, "%.*s", (int)len, p);
        ok = ok && vkt__number(word, &d) && d > 0 && isfinite((float)d) && (float)d > 0;
        if (ok) out[i++] = (float)d;
        p += len;
    }
    if (ok && i == n) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "model", "%s: %s: %u numbers above 0 are expected", l->where,
                     option, n);
}

/* 0.1 ln(factor) + 1 (yarn); sqrt(1 + ln(factor) / ln(context)) (longrope). */
static double length_of(const vkt_transformer *t)
{
    double factor = (double)t->rope_factor;
    if (t->rope_attention > 0) return (double)t->rope_attention;
    if (factor <= 1) return 1;
    if (is(t->rope_scaling, "yarn")) return 0.1 * log(factor) + 1;
    return is(t->rope_scaling, "longrope") ? sqrt(1 + log(factor) / log(t->rope_context)) : 1;
}

static vkt_status scaling_of(const vkt__layer *l, vkt__tshape *s, vkt_rope_scaling *out,
                             float *factors)
{
    const vkt_transformer *t = &l->spec.transformer;
    static const char *const kinds[] = { "linear", "llama3", "yarn", "longrope" };
    uint32_t kind = 0;
    while (kind + 1 < VKT_COUNT(kinds) && strcmp(kinds[kind], t->rope_scaling) != 0) kind++;
    bool by_turns = kind == VKT_ROPE_LLAMA3 || kind == VKT_ROPE_YARN;
    *out = (vkt_rope_scaling) { .kind = (vkt_rope_kind)kind,
                                .factor = (double)t->rope_factor,
                                .low = t->rope_low > 0 ? (double)t->rope_low : 1,
                                .high = t->rope_high > 0        ? (double)t->rope_high
                                        : kind == VKT_ROPE_YARN ? 32
                                                                : 4,
                                .exact = t->rope_exact,
                                .context = t->rope_context,
                                .attention = length_of(t),
                                .factors = factors };
    bool ok = s->rope && (kind == VKT_ROPE_LONGROPE || t->rope_factor >= 1);
    if (by_turns) ok = ok && t->rope_context && out->low < out->high;
    if (kind == VKT_ROPE_YARN) ok = ok && !(t->theta > 0 && t->theta <= 1);
    if (kind == VKT_ROPE_LONGROPE) ok = ok && t->rope_context > 1;
    if (!ok)
        return vkt__fail(VKT_E_ARG, "model",
                         "%s: rope_scaling needs positions: rope and a rope_factor, llama3 and "
                         "yarn also a rope_context and a rope_low below rope_high, longrope a "
                         "rope_context, rope_short and rope_long",
                         l->where);
    if (kind != VKT_ROPE_LONGROPE) return VKT_OK;
    vkt_status st = read_factors(l, "rope_short", t->rope_short, s->R / 2, factors);
    float *second = is_long(s, t) ? factors : factors + s->R / 2;
    return st == VKT_OK ? read_factors(l, "rope_long", t->rope_long, s->R / 2, second) : st;
}

vkt_status vkt__rope_tables(const vkt__layer *l, vkt__tshape *s, uint32_t *n, float **tables)
{
    vkt_status st = VKT_OK;
    const vkt_transformer *t = &l->spec.transformer;
    vkt_rope_scaling scaling;
    float *factors = vkt__alloc(s->R * sizeof *factors);
    double theta = t->theta > 0 ? (double)t->theta : 10000.0;
    *tables = NULL;
    *n = 0;
    if (t->rope_scaling) {
        VKT_TRY(scaling_of(l, s, &scaling, factors));
    } else if (t->rope_factor > 0) {
        st = vkt__fail(VKT_E_ARG, "model", "%s: rope_factor needs a rope_scaling", l->where);
        goto fail;
    }
    if (!s->rope) goto fail;
    *n = t->window_theta > 0 ? 2 : 1;
    size_t each = (size_t)s->P * s->R;
    *tables = vkt__alloc(*n * each * sizeof **tables);
    vkt_rope_table(s->P, s->R, theta, t->rope_scaling ? &scaling : NULL, *tables);
    if (*n > 1) vkt_rope_table(s->P, s->R, (double)t->window_theta, NULL, *tables + each);
fail:
    free(factors);
    return st;
}
