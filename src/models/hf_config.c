/* config.json of GPT-2 and the Llama family (Llama, SmolLM2, TinyLlama, Mistral, Qwen2). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "models/hf_config.h"

#include "models/hf_keys.h"
#include "nn/layer_set.h"
#include "tensor/ops/act.h"

/* ---- the families ---- */

/* A row of the Llama family: what its model_type takes for granted, and what its keys may ask for.
 */
typedef struct {
    const char *type, *architecture;
    uint32_t head_dim;   /* without the key; 0: width / heads */
    bool qkv_bias;       /* always */
    bool qk_norm;        /* always */
    bool attention_bias; /* the key is honoured */
    bool mlp_bias;       /* the key is honoured */
    bool window;         /* of all layers; unless sliding_window is null, there is one */
    bool windows;        /* of the layers that are said, if use_sliding_window is true */
} family;

static const family families[] = {
    { .type = "llama",
      .architecture = "LlamaForCausalLM",
      .attention_bias = true,
      .mlp_bias = true },
    { .type = "mistral", .architecture = "MistralForCausalLM", .window = true },
    { .type = "qwen2", .architecture = "Qwen2ForCausalLM", .qkv_bias = true, .windows = true },
    { .type = "qwen3",
      .architecture = "Qwen3ForCausalLM",
      .head_dim = 128,
      .qk_norm = true,
      .attention_bias = true,
      .windows = true },
};

static const family *find_family(const char *type)
{
    for (size_t i = 0; i < VKT_COUNT(families); i++)
        if (!strcmp(families[i].type, type)) return &families[i];
    return NULL;
}

/* The first that computes this; NULL: none does. */
static const family *family_of(const vkt__hf_config *c)
{
    for (size_t i = 0; i < VKT_COUNT(families); i++) {
        const family *f = &families[i];
        bool windows = !c->window || f->windows || (f->window && !*c->window_layers);
        if (f->qkv_bias == c->qkv_bias && f->qk_norm == c->qk_norm && windows &&
            f->attention_bias >= c->attention_bias && f->mlp_bias >= c->mlp_bias)
            return f;
    }
    return NULL;
}

const char *vkt__hf_config_type(const vkt__hf_config *c)
{
    return c->gpt2 ? "gpt2" : family_of(c)->type;
}

/* ---- reading ---- */

typedef struct {
    const json_t *o;
    const char *name;
    vkt_status st; /* the first failure */
} reader;

static void refuse(reader *r, const char *key, const char *what)
{
    if (r->st == VKT_OK)
        r->st = vkt__fail(VKT_E_FORMAT, "model", "'%s': %s %s", r->name, key, what);
}

/* NULL: the key is not there, or null. */
static const json_t *get(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

/* A whole number from 1; fallback 0: it must be there. */
static uint32_t get_uint(reader *r, const char *key, uint32_t fallback)
{
    const json_t *v = get(r->o, key);
    if (!v && fallback) return fallback;
    json_int_t i = json_integer_value(v);
    if (json_is_integer(v) && i >= 1 && i <= 1 << 24) return (uint32_t)i;
    refuse(r, key, v ? "must be a whole number from 1 to 16777216" : "is missing");
    return 1;
}

static double get_real(reader *r, const json_t *o, const char *key, double fallback)
{
    const json_t *v = get(o, key);
    if (!v) return fallback;
    double d = json_number_value(v);
    if (json_is_number(v) && (float)d > 0 && isfinite((float)d)) return d; /* kept as float32 */
    refuse(r, key, "must be a number above 0");
    return fallback;
}

static bool get_bool(reader *r, const char *key, bool fallback)
{
    const json_t *v = get(r->o, key);
    if (v && !json_is_boolean(v)) refuse(r, key, "must be true or false");
    return v ? json_is_true(v) : fallback;
}

/* Our word for the activation that they call `name`; NULL: there is none. */
static const char *our_activation(const char *name, bool gated)
{
    for (int i = 1; i < VKT__N_ACTS; i++) {
        const vkt__act_row *a = &vkt__acts[i];
        if ((a->hf && !strcmp(name, a->hf)) || (a->hf_too && !strcmp(name, a->hf_too)))
            return gated ? vkt__gate_name((vkt_act)i) : a->name;
    }
    return NULL;
}

static const char *get_activation(reader *r, const char *key, const char *fallback, bool gated)
{
    const json_t *v = json_object_get(r->o, key);
    const char *name = v ? json_string_value(v) : fallback,
               *ours = name ? our_activation(name, gated) : NULL;
    if (!ours) refuse(r, key, "is an activation that is not supported");
    return ours ? ours : "gelu";
}

/* Heads that are none of a language model's have other weights. */
static void read_architectures(reader *r)
{
    static const char *const ends[] = { "ForCausalLM", "LMHeadModel", "Model" };
    const json_t *list = get(r->o, "architectures"), *v;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)list, i, v)
    {
        const char *name = json_string_value(v);
        bool ok = false;
        for (size_t k = 0; name && k < VKT_COUNT(ends); k++) {
            size_t n = strlen(name), n_end = strlen(ends[k]);
            ok = ok || (n > n_end && !strcmp(name + n - n_end, ends[k]));
        }
        if (!ok)
            refuse(r, "architectures", "names no language model: its name must end in ForCausalLM");
    }
}

static void read_gpt2(reader *r, vkt__hf_config *c)
{
    c->gpt2 = true;
    c->layers = get_uint(r, "n_layer", 0);
    c->heads = c->kv_heads = get_uint(r, "n_head", 0);
    c->width = get_uint(r, "n_embd", 0);
    c->mlp = get_uint(r, "n_inner", c->width <= 1 << 22 ? 4 * c->width : 1);
    c->context = get_uint(r, "n_positions", 1024);
    c->eps = get_real(r, r->o, "layer_norm_epsilon", 1e-5);
    c->activation = get_activation(r, "activation_function", "gelu_new", false);
    c->tied = get_bool(r, "tie_word_embeddings", true);
}

/* As transformers says what is stretched; our word is the same. */
static void read_scaling(reader *r, const json_t *p, const char *type, vkt__hf_config *c)
{
    static const char *const llama3[] = { "low_freq_factor", "high_freq_factor",
                                          "original_max_position_embeddings" };
    bool is_llama3 = !strcmp(type, "llama3");
    if (!get(p, "factor")) refuse(r, "factor", "is missing in rope's parameters");
    for (size_t i = 0; is_llama3 && i < VKT_COUNT(llama3); i++)
        if (!get(p, llama3[i])) refuse(r, llama3[i], "is missing in rope's parameters");
    c->scaled = true;
    c->scaling = (vkt_rope_scaling) { .llama3 = is_llama3,
                                      .factor = get_real(r, p, "factor", 1),
                                      .low = get_real(r, p, llama3[0], 1),
                                      .high = get_real(r, p, llama3[1], 4) };
    if (c->scaling.factor < 1) refuse(r, "factor", "must be 1 or more");
    if (!is_llama3) return;
    double context = get_real(r, p, llama3[2], 1);
    if (context != floor(context) || context > 1 << 24)
        refuse(r, llama3[2], "must be a whole number from 1 to 16777216");
    else
        c->scaling.context = (uint32_t)context;
    if (c->scaling.low >= c->scaling.high) refuse(r, llama3[0], "must be below high_freq_factor");
}

/* transformers 5 has rope_parameters; before, rope_theta and rope_scaling were keys of their own.
 * A value given in both places must be the same, because versions differ in which one they read. */
static void read_rope(reader *r, vkt__hf_config *c)
{
    const json_t *p = get(r->o, "rope_parameters"), *scaling = get(r->o, "rope_scaling");
    if ((p && !json_is_object(p)) || (scaling && !json_is_object(scaling)))
        refuse(r, p && !json_is_object(p) ? "rope_parameters" : "rope_scaling",
               "must be an object");
    if (p && scaling && !json_equal(p, scaling))
        refuse(r, "rope_scaling", "and rope_parameters say different things: remove one of them");
    if (!p) p = scaling;
    const json_t *v = get(p, "rope_type") ? get(p, "rope_type") : get(p, "type");
    const char *type = v ? json_string_value(v) : "default";
    if (r->st == VKT_OK && (!type || (strcmp(type, "default") != 0 && strcmp(type, "linear") != 0 &&
                                      strcmp(type, "llama3") != 0)))
        r->st = vkt__fail(VKT_E_FORMAT, "model",
                          "'%s': rope_type is '%s': only default, linear and llama3 are supported",
                          r->name, vkt__show(type ? type : "").s);
    if (p && r->st == VKT_OK) r->st = vkt__hf_rope_keys_check(p, r->name);
    c->theta = get_real(r, p && get(p, "rope_theta") ? p : r->o, "rope_theta", 10000);
    if (get_real(r, r->o, "rope_theta", c->theta) != c->theta)
        refuse(r, "rope_theta", "has another value in rope_parameters: remove the wrong one");
    if (r->st == VKT_OK && strcmp(type, "default") != 0) read_scaling(r, p, type, c);
}

/* Which layers have a window, by layer_types; without it, all from `first` on. */
static void read_windowed(reader *r, const family *f, uint32_t first, vkt__hf_config *c)
{
    const json_t *types = get(r->o, "layer_types");
    bool has[VKT__HF_MAX_LAYERS];
    uint32_t n = 0;
    vkt__str set = { 0 };
    if (types && json_array_size(types) != c->layers)
        refuse(r, "layer_types", "must be a list of num_hidden_layers words");
    for (uint32_t i = 0; i < c->layers; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        bool sliding = type && !strcmp(type, "sliding_attention");
        if (types && !sliding && (!type || strcmp(type, "full_attention") != 0))
            refuse(r, "layer_types",
                   "has a word that is not supported; full_attention and sliding_attention are");
        has[i] = types ? sliding : c->window && i >= first;
        n += has[i];
    }
    if (n && !c->window)
        refuse(r, "layer_types", "names sliding_attention, but there is no sliding_window");
    if (!n && c->window && f->window)
        refuse(r, "layer_types", "names no sliding_attention, but there is a sliding_window");
    if (n && n < c->layers && !f->windows)
        refuse(r, "layer_types", "must have one word for all layers of this architecture");
    if (!n) c->window = 0;
    if (n && n < c->layers) vkt__layer_set_text(has, c->layers, &set);
    snprintf(c->window_layers, sizeof c->window_layers, "%s", set.len ? set.data : "");
    vkt__str_finish(&set);
}

static void read_windows(reader *r, const family *f, vkt__hf_config *c)
{
    const json_t *none = json_object_get(r->o, "sliding_window"),
                 *use = get(r->o, "use_sliding_window"), *max = get(r->o, "max_window_layers");
    bool used = get_bool(r, "use_sliding_window", f->window);
    if (!f->windows && use && used != f->window)
        refuse(r, "use_sliding_window",
               f->window ? "must be true, or sliding_window null"
                         : "must be false for this architecture");
    if (!f->windows && !f->window && get(r->o, "sliding_window"))
        refuse(r, "sliding_window", "must be null for this architecture");
    if (used && !json_is_null(none)) c->window = get_uint(r, "sliding_window", 4096);
    json_int_t first = f->windows ? max ? json_integer_value(max) : 28 : 0;
    if (max && (!json_is_integer(max) || first < 0))
        refuse(r, "max_window_layers", "must be a whole number from 0");
    if (r->st == VKT_OK) read_windowed(r, f, (uint32_t)VKT_MIN(first, VKT__HF_MAX_LAYERS), c);
}

static void read_llama(reader *r, const family *f, vkt__hf_config *c)
{
    c->layers = get_uint(r, "num_hidden_layers", 0);
    if (c->layers > VKT__HF_MAX_LAYERS)
        refuse(r, "num_hidden_layers", "must be a whole number from 1 to 1000");
    c->heads = get_uint(r, "num_attention_heads", 0);
    c->kv_heads = get_uint(r, "num_key_value_heads", c->heads);
    c->width = get_uint(r, "hidden_size", 0);
    c->mlp = get_uint(r, "intermediate_size", 0);
    c->context = get_uint(r, "max_position_embeddings", 2048);
    c->eps = get_real(r, r->o, "rms_norm_eps", 1e-6);
    c->activation = get_activation(r, "hidden_act", "silu", true);
    c->tied = get_bool(r, "tie_word_embeddings", false);
    c->qkv_bias = f->qkv_bias;
    c->qk_norm = f->qk_norm;
    c->attention_bias = f->attention_bias && get_bool(r, "attention_bias", false);
    c->mlp_bias = f->mlp_bias && get_bool(r, "mlp_bias", false);
    c->head_dim =
        get_uint(r, "head_dim", f->head_dim ? f->head_dim : VKT_MAX(c->width / c->heads, 1));
    if (!f->head_dim && !get(r->o, "head_dim") && c->width % c->heads)
        refuse(r, "hidden_size", "must be a multiple of num_attention_heads without a head_dim");
    read_windows(r, f, c);
    read_rope(r, c);
}

vkt_status vkt__hf_config_parse(const char *text, size_t n, const char *name, vkt__hf_config *c)
{
    json_error_t error;
    json_t *o = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    reader r = { .o = o, .name = name };
    const char *type = json_string_value(json_object_get(o, "model_type"));
    const family *f = type ? find_family(type) : NULL;
    bool gpt2 = type && !strcmp(type, "gpt2");
    *c = (vkt__hf_config) { 0 };
    if (!json_is_object(o)) {
        r.st = vkt__fail(VKT_E_FORMAT, "model", "'%s' is not a JSON object: %s", name,
                         o ? "it is another value" : error.text);
    } else if (!type) {
        refuse(&r, "model_type", "is missing: is it the config.json of a model?");
    } else if (!f && !gpt2) {
        r.st = vkt__fail(VKT_E_FORMAT, "model",
                         "'%s': architecture '%.60s' is not supported; gpt2, llama (SmolLM2, "
                         "TinyLlama), mistral, qwen2 and qwen3 are",
                         name, type);
    } else {
        r.st = vkt__hf_keys_check(o, gpt2, name);
        read_architectures(&r);
        if (gpt2)
            read_gpt2(&r, c);
        else
            read_llama(&r, f, c);
        c->vocab = get_uint(&r, "vocab_size", 0);
    }
    json_decref(o);
    return r.st;
}

/* ---- to and from a model list ---- */

vkt_layer vkt__hf_config_layer(const vkt__hf_config *c)
{
    bool all_bias = c->attention_bias && c->mlp_bias;
    const vkt_rope_scaling *s = &c->scaling;
    return (vkt_layer) {
        .type = "transformer",
        .eps = (float)c->eps,
        .transformer = { .names = c->gpt2 ? "gpt2" : "llama",
                         .layers = c->layers,
                         .heads = c->heads,
                         .kv_heads = c->kv_heads,
                         .head_dim = (uint64_t)c->head_dim * c->heads == c->width ? 0 : c->head_dim,
                         .width = c->width,
                         .mlp = c->mlp,
                         .context = c->context,
                         .window = c->window,
                         .window_layers = *c->window_layers ? c->window_layers : NULL,
                         .norm = c->gpt2 ? "layernorm" : "rmsnorm",
                         .positions = c->gpt2 ? "learned" : "rope",
                         .activation = c->activation,
                         .theta = c->gpt2 ? 0 : (float)c->theta,
                         .untied = !c->tied,
                         .rope_scaling = !c->scaled  ? NULL
                                         : s->llama3 ? "llama3"
                                                     : "linear",
                         .rope_factor = (float)s->factor,
                         .rope_low = s->llama3 ? (float)s->low : 0,
                         .rope_high = s->llama3 ? (float)s->high : 0,
                         .rope_context = s->context,
                         .bias = all_bias,
                         .attention_bias = c->attention_bias && !all_bias,
                         .mlp_bias = c->mlp_bias && !all_bias,
                         .qk_norm = c->qk_norm,
                         .qkv_bias = c->qkv_bias }
    };
}

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
    c->gpt2 = !gated && !rope;
    if (!strcmp(option_word(l, "norm_place", "pre"), "post")) return not_theirs("norm_place: post");
    if (!strcmp(option_word(l, "rope_layout", "half"), "interleaved"))
        return not_theirs("rope_layout: interleaved");
    if (c->gpt2 && (strcmp(positions, "learned") != 0 || rms || option_bool(l, "bias") ||
                    option_uint(l, "window", 0)))
        return not_theirs("GPT-2 has learned positions, layernorm, biases and no window");
    if (!c->gpt2 && (!gated || !rope || !rms))
        return not_theirs("Llama has a gated activation, rope and rmsnorm");
    c->layers = option_uint(l, "layers", 0);
    c->heads = option_uint(l, "heads", 0);
    c->kv_heads = option_uint(l, "kv_heads", c->heads);
    if (c->gpt2 && c->kv_heads != c->heads) return not_theirs("GPT-2 with kv_heads");
    c->width = option_uint(l, "width", 0);
    c->window = option_uint(l, "window", 0);
    snprintf(c->window_layers, sizeof c->window_layers, "%s", option_word(l, "window_layers", ""));
    c->context = option_uint(l, "context", 0);
    c->mlp = option_uint(l, "mlp", 0);
    c->eps = option_real(l, "eps", 1e-5);
    c->theta = option_real(l, "theta", 10000);
    c->activation = activation;
    c->tied = !option_bool(l, "tie");
    c->attention_bias = option_bool(l, "attention_bias") || option_bool(l, "all_bias");
    c->qkv_bias = option_bool(l, "qkv_bias") && !c->attention_bias;
    c->mlp_bias = option_bool(l, "mlp_bias") || option_bool(l, "all_bias");
    c->qk_norm = option_bool(l, "qk_norm");
    c->head_dim = option_uint(l, "head_dim", c->width / VKT_MAX(c->heads, 1));
    const char *scaling = option_word(l, "rope_scaling", NULL);
    c->scaled = scaling != NULL;
    if (scaling)
        c->scaling = (vkt_rope_scaling) { .llama3 = !strcmp(scaling, "llama3"),
                                          .factor = option_real(l, "rope_factor", 1),
                                          .low = option_real(l, "rope_low", 1),
                                          .high = option_real(l, "rope_high", 4),
                                          .context = option_uint(l, "rope_context", 0) };
    if (!c->gpt2 && !family_of(c))
        return not_theirs("no architecture there has these biases, norms and windows together");
    return VKT_OK;
}

/* ---- writing ---- */

static const char *their_activation(const vkt__hf_config *c)
{
    vkt_act act;
    bool gated, known = vkt__act_find(c->activation, &act, &gated);
    VKT_ASSERT(known && vkt__acts[act].hf);
    return vkt__acts[act].hf;
}

static void set(json_t *o, const char *key, json_t *v)
{
    json_object_set_new(o, key, v);
}

static void write_gpt2(const vkt__hf_config *c, json_t *o)
{
    set(o, "architectures", json_pack("[s]", "GPT2LMHeadModel"));
    set(o, "model_type", json_string("gpt2"));
    set(o, "n_layer", json_integer(c->layers));
    set(o, "n_head", json_integer(c->heads));
    set(o, "n_embd", json_integer(c->width));
    set(o, "n_inner", json_integer(c->mlp));
    set(o, "n_positions", json_integer(c->context));
    set(o, "n_ctx", json_integer(c->context));
    set(o, "layer_norm_epsilon", json_real(c->eps));
    set(o, "activation_function", json_string(their_activation(c)));
    set(o, "embd_pdrop", json_real(0));
    set(o, "attn_pdrop", json_real(0));
    set(o, "resid_pdrop", json_real(0));
}

/* Qwen2's windows by layer; before transformers 4.53, by the first layer that has one. */
static void write_windows(const vkt__hf_config *c, json_t *o)
{
    json_t *types = json_array();
    uint32_t first = 0;
    const char *windowed = *c->window_layers ? c->window_layers : NULL;
    for (uint32_t i = 0; i < c->layers; i++) {
        bool sliding = c->window && vkt__layer_set_has(windowed, i);
        if (!sliding) first = i + 1;
        json_array_append_new(types, json_string(sliding ? "sliding_attention" : "full_attention"));
    }
    set(o, "use_sliding_window", json_boolean(c->window != 0));
    set(o, "sliding_window", c->window ? json_integer(c->window) : json_null());
    if (c->window) set(o, "max_window_layers", json_integer(first));
    set(o, "layer_types", types);
}

/* rope_theta stands outside, too, and so does what scales it, for versions before 5. */
static void write_rope(const vkt__hf_config *c, json_t *o)
{
    const vkt_rope_scaling *s = &c->scaling;
    json_t *p = json_pack("{s:s, s:f}", "rope_type",
                          !c->scaled  ? "default"
                          : s->llama3 ? "llama3"
                                      : "linear",
                          "rope_theta", c->theta);
    if (c->scaled) set(p, "factor", json_real(s->factor));
    if (s->llama3) {
        set(p, "low_freq_factor", json_real(s->low));
        set(p, "high_freq_factor", json_real(s->high));
        set(p, "original_max_position_embeddings", json_integer(s->context));
    }
    if (c->scaled) json_object_set(o, "rope_scaling", p);
    set(o, "rope_parameters", p);
}

static void write_llama(const vkt__hf_config *c, json_t *o)
{
    const family *f = family_of(c);
    set(o, "architectures", json_pack("[s]", f->architecture));
    set(o, "model_type", json_string(f->type));
    set(o, "num_hidden_layers", json_integer(c->layers));
    set(o, "num_attention_heads", json_integer(c->heads));
    set(o, "num_key_value_heads", json_integer(c->kv_heads));
    set(o, "hidden_size", json_integer(c->width));
    set(o, "intermediate_size", json_integer(c->mlp));
    set(o, "max_position_embeddings", json_integer(c->context));
    set(o, "rms_norm_eps", json_real(c->eps));
    set(o, "hidden_act", json_string(their_activation(c)));
    set(o, "rope_theta", json_real(c->theta));
    set(o, "head_dim", json_integer(c->head_dim));
    write_rope(c, o);
    if (f->attention_bias) set(o, "attention_bias", json_boolean(c->attention_bias));
    if (f->mlp_bias) set(o, "mlp_bias", json_boolean(c->mlp_bias));
    if (f->window) set(o, "sliding_window", json_integer(c->window));
    if (f->windows) write_windows(c, o);
}

char *vkt__hf_config_json(const vkt__hf_config *c, uint32_t end_token)
{
    json_t *o = json_object();
    if (c->gpt2)
        write_gpt2(c, o);
    else
        write_llama(c, o);
    set(o, "vocab_size", json_integer(c->vocab));
    set(o, "tie_word_embeddings", json_boolean(c->tied));
    json_t *end = end_token == UINT32_MAX ? json_null() : json_integer(end_token);
    json_object_set(o, "bos_token_id", end);
    set(o, "eos_token_id", end);
    set(o, "dtype", json_string(c->dtype ? c->dtype : "float32"));
    set(o, "torch_dtype", json_string(c->dtype ? c->dtype : "float32"));
    char *text = json_dumps(o, JSON_INDENT(2));
    json_decref(o);
    return text;
}
