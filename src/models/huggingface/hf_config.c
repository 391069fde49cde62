/* config.json of the architectures that hf_family.c has rows of. */
#include <math.h>
#include <stdio.h>

#include "formats/json_text.h"
#include "models/huggingface/hf_config.h"

#include "models/huggingface/hf_experts.h"
#include "models/huggingface/hf_family.h"
#include "models/huggingface/hf_keys.h"
#include "models/huggingface/hf_reader.h"
#include "models/huggingface/hf_rope.h"
#include "nn/layer_set.h"
#include "tensor/graph/act.h"

const char *vkt__hf_config_type(const vkt__hf_config *c)
{
    return vkt__hf_family_of(c)->type;
}

/* Numbers that a key gives directly. */
static const struct {
    const char *key;
    uint32_t families; /* VKT__HF_KEYS_* */
    size_t at;         /* a double of vkt__hf_config */
    double without;    /* the key; 0: it may be null */
} numbers[] = {
    { "embedding_multiplier", VKT__HF_KEYS_GRANITE, offsetof(vkt__hf_config, embedding_scale), 1 },
    { "residual_multiplier", VKT__HF_KEYS_GRANITE, offsetof(vkt__hf_config, residual_scale), 1 },
    { "attention_multiplier", VKT__HF_KEYS_GRANITE, offsetof(vkt__hf_config, attention_scale), 1 },
    { "logits_scaling", VKT__HF_KEYS_GRANITE, offsetof(vkt__hf_config, logit_divisor), 1 },
    { "attn_logit_softcapping", VKT__HF_KEYS_GEMMA2, offsetof(vkt__hf_config, attention_cap), 50 },
    { "final_logit_softcapping", VKT__HF_KEYS_GEMMA2, offsetof(vkt__hf_config, logit_cap), 30 },
    { "attn_logit_softcapping", VKT__HF_KEYS_GEMMA3, offsetof(vkt__hf_config, attention_cap), 0 },
    { "final_logit_softcapping", VKT__HF_KEYS_GEMMA3, offsetof(vkt__hf_config, logit_cap), 0 },
};

/* ---- reading ---- */

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

static const char *get_activation(vkt__hf_reader *r, const char *key, const char *fallback,
                                  bool gated)
{
    const json_t *v = json_object_get(r->o, key);
    const char *name = v ? json_string_value(v) : fallback,
               *ours = name ? our_activation(name, gated) : NULL;
    if (!ours) vkt__hf_refuse(r, key, "is an activation that is not supported");
    return ours ? ours : "gelu";
}

/* Heads that are none of a language model's have other weights. */
static void read_architectures(vkt__hf_reader *r)
{
    static const char *const ends[] = { "ForCausalLM", "LMHeadModel", "Model" };
    const json_t *list = vkt__hf_get(r->o, "architectures"), *v;
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
            vkt__hf_refuse(r, "architectures",
                           "names no language model: its name must end in ForCausalLM");
    }
}

static void read_gpt2(vkt__hf_reader *r, vkt__hf_config *c)
{
    c->gpt2 = true;
    c->layers = vkt__hf_uint(r, r->o, "n_layer", 0);
    c->heads = c->kv_heads = vkt__hf_uint(r, r->o, "n_head", 0);
    c->width = vkt__hf_uint(r, r->o, "n_embd", 0);
    c->mlp = vkt__hf_uint(r, r->o, "n_inner", c->width <= 1 << 22 ? 4 * c->width : 1);
    c->context = vkt__hf_uint(r, r->o, "n_positions", 1024);
    c->eps = vkt__hf_real(r, r->o, "layer_norm_epsilon", 1e-5);
    c->activation = get_activation(r, "activation_function", "gelu_new", false);
    c->tied = vkt__hf_bool(r, "tie_word_embeddings", true);
}

/* A 1 in no_rope_layers means that the layer has rope. */
static void read_rope_layers(vkt__hf_reader *r, vkt__hf_config *c)
{
    const json_t *list = vkt__hf_get(r->o, "no_rope_layers");
    uint32_t every = vkt__hf_uint(r, r->o, "no_rope_layer_interval", 4), n = 0;
    bool has[VKT__HF_MAX_LAYERS];
    vkt__str set = { 0 };
    if (list && json_array_size(list) < c->layers)
        vkt__hf_refuse(r, "no_rope_layers", "must be a list of num_hidden_layers numbers, 0 or 1");
    for (uint32_t i = 0; i < c->layers && r->st == VKT_OK; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t one = list ? json_integer_value(v) : (i + 1) % every != 0;
        if (list && (!json_is_integer(v) || one < 0 || one > 1))
            vkt__hf_refuse(r, "no_rope_layers",
                           "must be a list of num_hidden_layers numbers, 0 or 1");
        has[i] = one;
        n += has[i];
    }
    if (r->st == VKT_OK && n == 0) vkt__hf_refuse(r, "no_rope_layers", "leaves no layer with rope");
    if (r->st == VKT_OK && n < c->layers) vkt__layer_set_text(has, c->layers, &set);
    if (set.len >= sizeof c->rope_layers)
        vkt__hf_refuse(r, "no_rope_layers", "changes too often from layer to layer");
    snprintf(c->rope_layers, sizeof c->rope_layers, "%s", set.len ? set.data : "");
    vkt__str_finish(&set);
}

/* Whether layer i has the window, where layer_types does not say it. first: max_window_layers. */
static bool is_windowed(const vkt__hf_family *f, const vkt__hf_config *c, uint32_t pattern,
                        uint32_t first, uint32_t i)
{
    switch (f->windows) {
    case VKT__HF_WINDOWS_FROM:
        return i >= first;
    case VKT__HF_WINDOWS_PATTERN:
        return (i + 1) % pattern != 0;
    case VKT__HF_WINDOWS_NO_ROPE:
        return *c->rope_layers && !vkt__layer_set_has(c->rope_layers, i);
    default:
        return true;
    }
}

/* Which layers have a window, by layer_types; without it, by the family's rule. */
static void read_windowed(vkt__hf_reader *r, const vkt__hf_family *f, uint32_t pattern,
                          uint32_t first, vkt__hf_config *c)
{
    const json_t *types = vkt__hf_get(r->o, "layer_types");
    bool has[VKT__HF_MAX_LAYERS], some = f->may & VKT__HF_WINDOWS;
    uint32_t n = 0;
    vkt__str set = { 0 };
    if (types && json_array_size(types) != c->layers)
        vkt__hf_refuse(r, "layer_types", "must be a list of num_hidden_layers words");
    for (uint32_t i = 0; i < c->layers; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        bool sliding = type && !strcmp(type, "sliding_attention");
        if (types && !sliding && (!type || strcmp(type, "full_attention") != 0))
            vkt__hf_refuse(r, "layer_types",
                           "has a word that is not supported; full_attention and "
                           "sliding_attention are");
        has[i] = types ? sliding : c->window && is_windowed(f, c, pattern, first, i);
        n += has[i];
    }
    if (n && !c->window)
        vkt__hf_refuse(r, "layer_types", "names sliding_attention, but there is no sliding_window");
    if (!n && c->window && !some)
        vkt__hf_refuse(r, "layer_types",
                       "names no sliding_attention, and there is a sliding_window");
    if (n && n < c->layers && !some)
        vkt__hf_refuse(r, "layer_types", "must have one word for all layers of this architecture");
    if (!n) c->window = 0;
    if (n && n < c->layers) vkt__layer_set_text(has, c->layers, &set);
    if (set.len >= sizeof c->window_layers)
        vkt__hf_refuse(r, "layer_types", "changes too often from layer to layer");
    snprintf(c->window_layers, sizeof c->window_layers, "%s", set.len ? set.data : "");
    vkt__str_finish(&set);
}

static void read_windows(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c)
{
    const json_t *none = json_object_get(r->o, "sliding_window"),
                 *use = vkt__hf_get(r->o, "use_sliding_window"),
                 *max = vkt__hf_get(r->o, "max_window_layers");
    bool any = f->may & (VKT__HF_WINDOW | VKT__HF_WINDOWS),
         by_use = f->windows == VKT__HF_WINDOWS_FROM || f->windows == VKT__HF_WINDOWS_NO_ROPE ||
                  f->windows == VKT__HF_WINDOWS_USED,
         used = vkt__hf_bool(r, "use_sliding_window", any && !by_use);
    if (!by_use && use && used != any)
        vkt__hf_refuse(r, "use_sliding_window",
                       any ? "must be true, or sliding_window null"
                           : "must be false for this architecture");
    if (!any && vkt__hf_get(r->o, "sliding_window"))
        vkt__hf_refuse(r, "sliding_window", "must be null for this architecture");
    /* Phi-3 without the key has none. */
    bool said = none || !(f->keys & VKT__HF_KEYS_PHI3);
    if (used && any && said && !json_is_null(none))
        c->window = vkt__hf_uint(r, r->o, "sliding_window", 4096);
    json_int_t first = f->windows == VKT__HF_WINDOWS_FROM ? max ? json_integer_value(max) : 28 : 0;
    if (max && (!json_is_integer(max) || first < 0))
        vkt__hf_refuse(r, "max_window_layers", "must be a whole number from 0");
    uint32_t pattern = f->pattern;
    if (pattern && f->keys & VKT__HF_KEYS_GEMMA3) {
        pattern = vkt__hf_uint(r, r->o, "_sliding_window_pattern", pattern);
        pattern = vkt__hf_uint(r, r->o, "sliding_window_pattern", pattern);
    }
    if (r->st == VKT_OK)
        read_windowed(r, f, pattern, (uint32_t)VKT_MIN(first, VKT__HF_MAX_LAYERS), c);
}

static void read_numbers(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c)
{
    for (size_t i = 0; i < VKT_COUNT(numbers); i++) {
        if (!(numbers[i].families & f->keys)) continue;
        bool null = json_is_null(json_object_get(r->o, numbers[i].key));
        double v = vkt__hf_real(r, r->o, numbers[i].key, null ? 0 : numbers[i].without);
        memcpy((char *)c + numbers[i].at, &v, sizeof v);
    }
    if (f->keys & (VKT__HF_KEYS_GEMMA2 | VKT__HF_KEYS_GEMMA3))
        c->attention_scale = 1 / sqrt(vkt__hf_real(r, r->o, "query_pre_attn_scalar", 256));
    if (f->needs & VKT__HF_EMBEDDING_ROOT) c->embedding_scale = sqrt(c->width);
    /* What is usual is not kept. */
    if ((float)c->attention_scale == (float)(1 / sqrt(c->head_dim))) c->attention_scale = 0;
}

static void read_flags(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c)
{
    c->norm_place = f->needs & VKT__HF_NORM_AFTER  ? "after"
                    : f->needs & VKT__HF_NORM_BOTH ? "both"
                                                   : "pre";
    c->qkv_bias = f->needs & VKT__HF_QKV_BIAS;
    c->qk_norm = f->needs & VKT__HF_QK_NORM;
    c->qk_norm_all = f->needs & VKT__HF_QK_NORM_ALL;
    c->plus_one = f->needs & VKT__HF_PLUS_ONE;
    c->parallel = f->may & VKT__HF_PARALLEL && vkt__hf_bool(r, "use_parallel_residual", true);
    bool attention = f->may & VKT__HF_ATTENTION_BIAS, mlp = f->may & VKT__HF_MLP_BIAS;
    c->attention_bias = attention && vkt__hf_bool(r, "attention_bias", false);
    c->mlp_bias = mlp && vkt__hf_bool(r, "mlp_bias", false);
}

static void read_llama(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c)
{
    const json_t *o = r->o;
    c->layers = vkt__hf_uint(r, o, "num_hidden_layers", 0);
    if (c->layers > VKT__HF_MAX_LAYERS) {
        vkt__hf_refuse(r, "num_hidden_layers", "must be a whole number from 1 to 1000");
        return;
    }
    c->heads = vkt__hf_uint(r, o, "num_attention_heads", 0);
    c->kv_heads = vkt__hf_uint(r, o, "num_key_value_heads", c->heads);
    c->width = vkt__hf_uint(r, o, "hidden_size", 0);
    c->mlp = vkt__hf_uint(r, o, "intermediate_size", 0);
    c->context = vkt__hf_uint(r, o, "max_position_embeddings", f->context);
    c->eps = vkt__hf_real(r, o, f->eps_key, f->eps);
    c->activation = get_activation(r, f->act_key, f->act, !f->plain);
    c->tied = vkt__hf_bool(r, "tie_word_embeddings", f->tied);
    c->head_dim =
        vkt__hf_uint(r, o, "head_dim", f->head_dim ? f->head_dim : VKT_MAX(c->width / c->heads, 1));
    if (!f->head_dim && !vkt__hf_get(o, "head_dim") && c->width % c->heads)
        vkt__hf_refuse(r, "hidden_size",
                       "must be a multiple of num_attention_heads without a head_dim");
    read_flags(r, f, c);
    read_numbers(r, f, c);
    if (f->needs & VKT__HF_EXPERTS) vkt__hf_experts_read(r, f, c);
    if (f->may & VKT__HF_NO_ROPE) read_rope_layers(r, c);
    read_windows(r, f, c);
    vkt__hf_rope_read(r, f, c);
}

static void refuse_type(vkt__hf_reader *r, const char *type)
{
    vkt__str list = { 0 };
    vkt__hf_family_list(&list);
    r->st = vkt__fail(VKT_E_FORMAT, "model", "'%s': architecture '%.60s' is not supported; %s are",
                      r->name, type, list.data);
    vkt__str_finish(&list);
}

vkt_status vkt__hf_config_parse(const char *text, size_t n, const char *name, vkt__hf_config *c)
{
    json_error_t error;
    json_t *o = vkt__json_parse(text, n, JSON_REJECT_DUPLICATES, &error);
    vkt__hf_reader r = { .o = o, .name = name };
    const char *type = json_string_value(json_object_get(o, "model_type"));
    const vkt__hf_family *f = type ? vkt__hf_family_find(type) : NULL;
    *c = (vkt__hf_config) {
        .norm_place = "pre", .embedding_scale = 1, .residual_scale = 1, .logit_divisor = 1
    };
    if (!json_is_object(o)) {
        r.st = vkt__fail(VKT_E_FORMAT, "model", "'%s' is not a JSON object: %s", name,
                         o ? "it is another value" : error.text);
    } else if (!type) {
        vkt__hf_refuse(&r, "model_type", "is missing: is it the config.json of a model?");
    } else if (!f) {
        refuse_type(&r, type);
    } else {
        r.st = vkt__hf_keys_check(o, f->keys, name);
        read_architectures(&r);
        c->names = f->names;
        if (f->keys & VKT__HF_KEYS_GPT2)
            read_gpt2(&r, c);
        else
            read_llama(&r, f, c);
        c->vocab = vkt__hf_uint(&r, o, "vocab_size", 0);
    }
    json_decref(o);
    return r.st;
}

/* ---- writing ---- */

/* The family's own word for it, where activations have several. */
static const char *their_activation(const vkt__hf_config *c, const vkt__hf_family *f)
{
    vkt_act act;
    bool gated, known = vkt__act_find(c->activation, &act, &gated);
    VKT_ASSERT(known && vkt__acts[act].hf);
    const char *usual = f->act ? our_activation(f->act, !f->plain) : NULL;
    return usual && !strcmp(usual, c->activation) ? f->act : vkt__acts[act].hf;
}

static void set(json_t *o, const char *key, json_t *v)
{
    vkt__hf_set(o, key, v);
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
    set(o, "activation_function", json_string(their_activation(c, vkt__hf_family_of(c))));
    set(o, "embd_pdrop", json_real(0));
    set(o, "attn_pdrop", json_real(0));
    set(o, "resid_pdrop", json_real(0));
}

/* Windows by layer; of Qwen2 before transformers 4.53, by the first layer that has one. */
static void write_windows(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o)
{
    json_t *types = json_array();
    uint32_t first = 0;
    const char *windowed = *c->window_layers ? c->window_layers : NULL;
    for (uint32_t i = 0; i < c->layers; i++) {
        bool sliding = c->window && vkt__layer_set_has(windowed, i);
        if (!sliding) first = i + 1;
        json_array_append_new(types, json_string(sliding ? "sliding_attention" : "full_attention"));
    }
    set(o, "sliding_window", c->window ? json_integer(c->window) : json_null());
    set(o, "layer_types", types);
    if (f->windows == VKT__HF_WINDOWS_PATTERN) return;
    set(o, "use_sliding_window", json_boolean(c->window != 0));
    if (c->window && f->windows == VKT__HF_WINDOWS_FROM)
        set(o, "max_window_layers", json_integer(first));
}

static void write_rope_layers(const vkt__hf_config *c, json_t *o)
{
    json_t *list = json_array();
    const char *layers = *c->rope_layers ? c->rope_layers : NULL;
    for (uint32_t i = 0; i < c->layers; i++)
        json_array_append_new(list, json_integer(vkt__layer_set_has(layers, i)));
    set(o, "no_rope_layers", list);
}

static void write_numbers(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o)
{
    for (size_t i = 0; i < VKT_COUNT(numbers); i++) {
        if (!(numbers[i].families & f->keys)) continue;
        double v;
        memcpy(&v, (const char *)c + numbers[i].at, sizeof v);
        if (numbers[i].at == offsetof(vkt__hf_config, attention_scale) && !(v > 0))
            v = 1 / sqrt(c->head_dim);
        set(o, numbers[i].key, v > 0 ? json_real(v) : json_null());
    }
    if (f->keys & (VKT__HF_KEYS_GEMMA2 | VKT__HF_KEYS_GEMMA3)) {
        double scale = c->attention_scale, n = scale > 0 ? 1 / scale / scale : c->head_dim;
        bool whole = fabs(n - round(n)) < 1e-5 * n; /* the scale is a float32 of recipes */
        set(o, "query_pre_attn_scalar", whole ? json_integer((json_int_t)round(n)) : json_real(n));
    }
}

static void write_llama(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o)
{
    set(o, "architectures", json_pack("[s]", f->architecture));
    set(o, "model_type", json_string(f->type));
    set(o, "num_hidden_layers", json_integer(c->layers));
    set(o, "num_attention_heads", json_integer(c->heads));
    set(o, "hidden_size", json_integer(c->width));
    set(o, "intermediate_size", json_integer(c->mlp));
    set(o, "max_position_embeddings", json_integer(c->context));
    set(o, f->eps_key, json_real(c->eps));
    set(o, f->act_key, json_string(their_activation(c, f)));
    if (!f->plain) {
        set(o, "num_key_value_heads", json_integer(c->kv_heads));
        set(o, "head_dim", json_integer(c->head_dim));
    }
    vkt__hf_rope_write(c, f, o);
    write_numbers(c, f, o);
    if (f->may & VKT__HF_ATTENTION_BIAS) set(o, "attention_bias", json_boolean(c->attention_bias));
    if (f->may & VKT__HF_MLP_BIAS) set(o, "mlp_bias", json_boolean(c->mlp_bias));
    if (f->may & VKT__HF_PARALLEL) set(o, "use_parallel_residual", json_boolean(c->parallel));
    if (f->may & VKT__HF_NO_ROPE) write_rope_layers(c, o);
    if (f->needs & VKT__HF_EXPERTS) vkt__hf_experts_write(c, f, o);
    if (f->windows == VKT__HF_WINDOWS_USED)
        set(o, "use_sliding_window", json_boolean(c->window != 0));
    if (f->may & VKT__HF_WINDOWS)
        write_windows(c, f, o);
    else if (f->may & VKT__HF_WINDOW)
        set(o, "sliding_window", c->window ? json_integer(c->window) : json_null());
}

/* "LlamaForCausalLM" -> "LlamaForSequenceClassification", and its classes. */
static void write_classes(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o)
{
    static const char end[] = "ForCausalLM";
    json_t *names = json_object(), *ids = json_object();
    char key[16];
    for (uint32_t i = 0; i < c->n_labels; i++) {
        snprintf(key, sizeof key, "%u", i);
        set(names, key, json_string(c->labels[i]));
        set(ids, c->labels[i], json_integer(i));
    }
    int n = (int)(strlen(f->architecture) - strlen(end));
    set(o, "architectures",
        json_pack("[o]", json_sprintf("%.*sForSequenceClassification", n, f->architecture)));
    set(o, "id2label", names);
    set(o, "label2id", ids);
    set(o, "problem_type", json_string("single_label_classification"));
    set(o, "pad_token_id", c->pad == UINT32_MAX ? json_null() : json_integer(c->pad));
}

char *vkt__hf_config_json(const vkt__hf_config *c, uint32_t end_token)
{
    json_t *o = json_object();
    if (c->gpt2)
        write_gpt2(c, o);
    else
        write_llama(c, vkt__hf_family_of(c), o);
    set(o, "vocab_size", json_integer(c->vocab));
    set(o, "tie_word_embeddings", json_boolean(c->tied));
    json_t *end = end_token == UINT32_MAX ? json_null() : json_integer(end_token);
    json_object_set(o, "bos_token_id", end);
    set(o, "eos_token_id", end);
    /* Else that of the family's large vocabulary, whose embedding gets no gradient in transformers.
     */
    set(o, "pad_token_id", json_null());
    if (c->score) write_classes(c, vkt__hf_family_of(c), o);
    set(o, "dtype", json_string(c->dtype ? c->dtype : "float32"));
    set(o, "torch_dtype", json_string(c->dtype ? c->dtype : "float32"));
    char *text = json_dumps(o, JSON_INDENT(2));
    json_decref(o);
    return text;
}
