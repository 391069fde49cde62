/* gguf_model.h: values as a config.json, which hf_config.c then reads and checks as any other. Each
 * key of the architecture is read, known to change no number, or refused. Source:
 * github.com/ggml-org/llama.cpp, gguf-py/gguf/constants.py and src/llama-model.cpp. */
#include <jansson.h>
#include <math.h>

#include "formats/ggml_blocks.h"
#include "models/gguf/gguf_model.h"
#include "tensor/ops/ops.h"

typedef struct {
    const vkt__gguf *g;
    const vkt__gguf_arch *arch;
    json_t *o;
    vkt_status st; /* the first failure */
} reader;

/* READ: by a function below. SAME: under another name. FREE: no number depends on it. */
typedef enum { READ, SAME, FREE } fate;
enum { GPT2 = 1, OTHERS = 2, ALL = 3 };

static const struct {
    const char *key; /* behind the architecture's name */
    fate fate;
    uint32_t where;
    const char *theirs; /* in config.json */
} rows[] = {
    { "block_count", SAME, OTHERS, "num_hidden_layers" },
    { "block_count", SAME, GPT2, "n_layer" },
    { "context_length", SAME, OTHERS, "max_position_embeddings" },
    { "context_length", SAME, GPT2, "n_positions" },
    { "embedding_length", SAME, OTHERS, "hidden_size" },
    { "embedding_length", SAME, GPT2, "n_embd" },
    { "feed_forward_length", SAME, OTHERS, "intermediate_size" },
    { "feed_forward_length", SAME, GPT2, "n_inner" },
    { "expert_count", SAME, OTHERS, "num_experts" },
    { "expert_used_count", SAME, OTHERS, "num_experts_per_tok" },
    { "expert_feed_forward_length", SAME, OTHERS, "moe_intermediate_size" },
    { "attention.head_count", SAME, OTHERS, "num_attention_heads" },
    { "attention.head_count", SAME, GPT2, "n_head" },
    { "attention.head_count_kv", SAME, OTHERS, "num_key_value_heads" },
    { "attention.head_count_kv", FREE, GPT2, NULL },
    { "attention.layer_norm_rms_epsilon", SAME, OTHERS, "rms_norm_eps" },
    { "attention.layer_norm_epsilon", SAME, GPT2, "layer_norm_epsilon" },
    { "attention.key_length", SAME, OTHERS, "head_dim" },
    { "attention.value_length", READ, OTHERS, NULL },
    { "attention.key_length_swa", READ, OTHERS, NULL },
    { "attention.value_length_swa", READ, OTHERS, NULL },
    { "attention.sliding_window", READ, OTHERS, NULL },
    { "attention.sliding_window_pattern", READ, OTHERS, NULL },
    { "attn_logit_softcapping", SAME, OTHERS, "attn_logit_softcapping" },
    { "final_logit_softcapping", SAME, OTHERS, "final_logit_softcapping" },
    { "attention.causal", READ, ALL, NULL },
    { "rope.freq_base", READ, OTHERS, NULL },
    { "rope.freq_base_swa", READ, OTHERS, NULL },
    { "rope.dimension_count", READ, OTHERS, NULL },
    { "rope.dimension_count_swa", READ, OTHERS, NULL },
    { "rope.scaling.type", READ, OTHERS, NULL },
    { "rope.scaling.factor", READ, OTHERS, NULL },
    { "rope.scale_linear", READ, OTHERS, NULL },
    { "rope.scaling.original_context_length", READ, OTHERS, NULL },
    { "rope.scaling.attn_factor", READ, OTHERS, NULL },
    { "rope.scaling.yarn_beta_fast", READ, OTHERS, NULL },
    { "rope.scaling.yarn_beta_slow", READ, OTHERS, NULL },
    { "rope.scaling.finetuned", FREE, OTHERS, NULL },
    { "vocab_size", FREE, ALL, NULL }, /* the embedding says it */
    { "tensor_data_layout", FREE, ALL, NULL },
};

static void refuse(reader *r, const char *key, const char *what)
{
    if (r->st == VKT_OK)
        r->st = vkt__fail(VKT_E_FORMAT, "model", "'%s': %s.%s %s", r->g->name, r->arch->name,
                          vkt__show(key).s, what);
}

static const vkt__gguf_value *find(const reader *r, const char *key)
{
    vkt__arena a = { 0 };
    const vkt__gguf_value *v =
        vkt__gguf_find(r->g, vkt__arena_printf(&a, "%s.%s", r->arch->name, key));
    vkt__arena_finish(&a);
    return v;
}

static void set(reader *r, const char *key, json_t *v)
{
    json_object_set_new(r->o, key, v);
}

/* A number of a header, or that of an array, if all its elements are equal. */
static double number(reader *r, const char *key, double without)
{
    const vkt__gguf_value *v = find(r, key);
    double x = vkt__gguf_number(v, 0);
    if (!v) return without;
    if (!isfinite(x)) refuse(r, key, "must be a number");
    for (uint64_t i = 1; v->type == VKT__GGUF_ARRAY && i < v->n; i++)
        if (vkt__gguf_number(v, i) != x)
            refuse(r, key, "differs from layer to layer, which is not supported");
    return isfinite(x) ? x : without;
}

static json_t *as_json(double x)
{
    bool whole = x == floor(x) && fabs(x) < 1e15;
    return whole ? json_integer((json_int_t)x) : json_real(x);
}

/* The float32 of a header, as it was written: 1e-05, not 9.9999997e-06. */
static double as_written(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", x);
    double shorter = strtod(text, NULL);
    return (float)shorter == (float)x ? shorter : x;
}

static bool is_text(const vkt__gguf_value *v, const char *text)
{
    return v && v->type == VKT__GGUF_STRING && v->n == strlen(text) && !memcmp(v->data, text, v->n);
}

static bool asks_nothing(const vkt__gguf_value *v)
{
    return v->type != VKT__GGUF_ARRAY && v->type != VKT__GGUF_STRING &&
           fabs(vkt__gguf_number(v, 0)) <= 0;
}

static void take_keys(reader *r)
{
    uint32_t where = !strcmp(r->arch->name, "gpt2") ? GPT2 : OTHERS;
    size_t n = strlen(r->arch->name), k;
    for (size_t i = 0; i < r->g->n_values; i++) {
        const vkt__gguf_value *v = &r->g->value[i];
        if (strncmp(v->key, r->arch->name, n) != 0 || v->key[n] != '.') continue;
        const char *key = v->key + n + 1;
        for (k = 0; k < VKT_COUNT(rows); k++)
            if (rows[k].where & where && !strcmp(rows[k].key, key)) break;
        if (k == VKT_COUNT(rows)) {
            if (!asks_nothing(v)) refuse(r, key, "is not supported: no such thing is computed");
        } else if (rows[k].fate == SAME) {
            double x = number(r, key, 0);
            set(r, rows[k].theirs, as_json(v->type == VKT__GGUF_F32 ? as_written(x) : x));
        }
    }
}

static const vkt__gguf_tensor *tensor(const reader *r, const char *name)
{
    return vkt__gguf_tensor_find(r->g, name);
}

/* ---- rope ---- */

/* [n] factors of a tensor as JSON; NULL: there is none. */
static json_t *factors_of(reader *r, const char *name, uint32_t *n)
{
    const vkt__gguf_tensor *t = tensor(r, name);
    json_t *list = NULL;
    *n = 0;
    if (!t) return NULL;
    if (t->info.rank != 1 || t->info.shape[0] > 4096 || t->type != VKT__GGML_F32) {
        if (r->st == VKT_OK)
            r->st = vkt__fail(VKT_E_FORMAT, "model", "'%s': tensor '%s' must be a list of F32",
                              r->g->name, name);
        return NULL;
    }
    *n = (uint32_t)t->info.shape[0];
    list = json_array();
    for (uint32_t i = 0; i < *n; i++) {
        float f;
        vkt__ggml_read(t->type, t->data + 4 * (size_t)i, 1, &f);
        json_array_append_new(list, json_real((double)f));
    }
    return list;
}

/* Whether Llama 3's rule with its usual settings gives these factors. */
static bool is_llama3(const json_t *factors, uint32_t n, double theta, vkt_rope_scaling *s)
{
    *s = (vkt_rope_scaling) {
        .kind = VKT_ROPE_LLAMA3, .factor = 1, .low = 1, .high = 4, .context = 8192
    };
    for (uint32_t i = 0; i < n; i++)
        s->factor = fmax(s->factor, json_real_value(json_array_get(factors, i)));
    s->factor = as_written(s->factor);
    for (uint32_t i = 0; i < n; i++) {
        double want = vkt__rope_frequency(i, 2 * n, theta, NULL) /
                      vkt__rope_frequency(i, 2 * n, theta, s),
               have = json_real_value(json_array_get(factors, i));
        if (fabs(have - want) > 1e-5 * want) return false;
    }
    return true;
}

/* Factors that llama.cpp divides the angles by: Llama 3's, or any as LongRoPE's, of one kind. */
static json_t *rope_of_factors(reader *r, double theta)
{
    uint32_t n;
    vkt_rope_scaling s;
    json_t *factors = factors_of(r, "rope_freqs.weight", &n), *o;
    if (!factors) return NULL;
    if (is_llama3(factors, n, theta, &s)) {
        json_decref(factors);
        return json_pack("{s:s, s:o, s:i, s:i, s:i}", "rope_type", "llama3", "factor",
                         as_json(s.factor), "low_freq_factor", 1, "high_freq_factor", 4,
                         "original_max_position_embeddings", 8192);
    }
    o = json_pack("{s:s, s:o, s:O, s:f, s:o}", "rope_type", "longrope", "short_factor", factors,
                  "long_factor", factors, "attention_factor", 1.0,
                  "original_max_position_embeddings", as_json(number(r, "context_length", 0)));
    return o;
}

static json_t *longrope(reader *r)
{
    uint32_t n;
    json_t *shorter = factors_of(r, "rope_factors_short.weight", &n),
           *longer = factors_of(r, "rope_factors_long.weight", &n);
    double attention = number(r, "rope.scaling.attn_factor", 0);
    if (!shorter || !longer) {
        if (shorter || longer) refuse(r, "rope.scaling.type", "has only one of its two tensors");
        json_decref(shorter);
        json_decref(longer);
        return NULL;
    }
    json_t *o = json_pack("{s:s, s:o, s:o}", "rope_type", "longrope", "short_factor", shorter,
                          "long_factor", longer);
    double all = number(r, "context_length", 0),
           first = number(r, "rope.scaling.original_context_length", all),
           usual = sqrt(1 + log(fmax(1, all / first)) / log(first));
    if (attention > 0 && fabs(attention - usual) > 1e-6 * usual)
        json_object_set_new(o, "attention_factor", json_real(attention));
    json_object_set_new(o, "original_max_position_embeddings", as_json(first));
    return o;
}

static json_t *yarn(reader *r, double factor)
{
    static const char *const keys[][2] = { { "rope.scaling.original_context_length",
                                             "original_max_position_embeddings" },
                                           { "rope.scaling.yarn_beta_fast", "beta_fast" },
                                           { "rope.scaling.yarn_beta_slow", "beta_slow" } };
    json_t *o = json_pack("{s:s, s:o}", "rope_type", "yarn", "factor", as_json(factor));
    for (size_t i = 0; i < VKT_COUNT(keys); i++)
        if (find(r, keys[i][0]))
            json_object_set_new(o, keys[i][1], as_json(number(r, keys[i][0], 0)));
    if (number(r, "rope.scaling.attn_factor", 1) != 1)
        refuse(r, "rope.scaling.attn_factor", "is not supported beside yarn");
    return o;
}

static void take_rope(reader *r, double head_dim)
{
    const vkt__gguf_value *type = find(r, "rope.scaling.type");
    double theta = as_written(number(r, "rope.freq_base", 10000)),
           factor = as_written(number(r, "rope.scaling.factor", number(r, "rope.scale_linear", 1))),
           turning = number(r, "rope.dimension_count", head_dim);
    json_t *o = rope_of_factors(r, theta), *two = longrope(r);
    bool linear = is_text(type, "linear") || (!type && factor > 1);
    if (o && (two || linear || is_text(type, "yarn")))
        refuse(r, "rope.scaling.type", "is not supported beside the tensor rope_freqs");
    if (two) o = two;
    if (!o && linear) o = json_pack("{s:s, s:o}", "rope_type", "linear", "factor", as_json(factor));
    if (!o && is_text(type, "yarn")) o = yarn(r, factor);
    if (!o && type && !is_text(type, "none"))
        refuse(r, "rope.scaling.type", "must be none, linear, yarn or longrope with its tensors");
    set(r, "rope_theta", as_json(theta));
    if (o) set(r, "rope_scaling", o);
    if (turning != head_dim) /* a bit more: it is rounded down again */
        set(r, "partial_rotary_factor", json_real((turning + 1e-6) / head_dim));
    if (strcmp(r->arch->name, "phi3") == 0 && find(r, "rope.scaling.original_context_length"))
        set(r, "original_max_position_embeddings",
            as_json(number(r, "rope.scaling.original_context_length", 0)));
}

/* ---- the rest ---- */

static void take_same(reader *r, const char *key, double as)
{
    if (number(r, key, as) != as) refuse(r, key, "must be the same for keys and values");
}

/* Gemma's: which are larger than others takes its scale from its width. */
static void take_gemma(reader *r, double head_dim)
{
    bool two = !strcmp(r->arch->name, "gemma2");
    double layers = number(r, "block_count", 0), width = number(r, "embedding_length", 0),
           heads = number(r, "attention.head_count", 1);
    bool largest = layers == (two ? 46 : 62); /* 27B, as llama.cpp tells it */
    set(r, "query_pre_attn_scalar", as_json(largest ? width / heads : head_dim));
    set(r, "hidden_activation", json_string("gelu_pytorch_tanh"));
    if (!two) {
        double window_theta = number(r, "rope.freq_base_swa", 10000);
        set(r, "rope_local_base_freq", as_json(as_written(window_theta)));
        const vkt__gguf_value *v = find(r, "attention.sliding_window_pattern");
        double pattern = v && v->type == VKT__GGUF_ARRAY
                             ? 6
                             : number(r, v ? "attention.sliding_window_pattern" : "", 6);
        for (uint64_t i = 0; v && v->type == VKT__GGUF_ARRAY && i < v->n; i++)
            if (vkt__gguf_number(v, i) != (double)((i + 1) % 6 != 0))
                refuse(r, "attention.sliding_window_pattern", "must be five of six layers");
        set(r, "sliding_window_pattern", as_json(pattern));
        /* Null where the file has none; the family's usual is not meant then. */
        if (!find(r, "final_logit_softcapping")) set(r, "final_logit_softcapping", json_null());
        if (!find(r, "attn_logit_softcapping")) set(r, "attn_logit_softcapping", json_null());
    }
}

static void take_window(reader *r)
{
    double window = number(r, "attention.sliding_window", 0);
    bool takes = !strncmp(r->arch->name, "gemma", 5) || !strcmp(r->arch->name, "phi3");
    if (window > 0 && !takes)
        refuse(r, "attention.sliding_window", "is not supported: llama.cpp has no windows there");
    if (takes) set(r, "sliding_window", window > 0 ? as_json(window) : json_null());
}

static void take_rest(reader *r)
{
    const vkt__gguf_tensor *table = tensor(r, "token_embd.weight");
    double heads = number(r, "attention.head_count", 0);
    if (!table || table->info.rank != 2) {
        if (r->st == VKT_OK)
            r->st = vkt__fail(VKT_E_FORMAT, "model", "'%s' has no tensor 'token_embd.weight'",
                              r->g->name);
        return;
    }
    set(r, "vocab_size", as_json((double)table->info.shape[0]));
    set(r, "model_type", json_string(r->arch->type));
    set(r, "tie_word_embeddings", json_boolean(!tensor(r, "output.weight")));
    if (number(r, "attention.causal", 1) != 1) refuse(r, "attention.causal", "must be true");
    if (!strcmp(r->arch->name, "gpt2")) return;
    if (heads < 1) refuse(r, "attention.head_count", "is missing");
    double head_dim =
        number(r, "attention.key_length", number(r, "embedding_length", 0) / fmax(heads, 1));
    set(r, "head_dim", as_json(head_dim));
    take_same(r, "attention.value_length", head_dim);
    take_same(r, "attention.key_length_swa", head_dim);
    take_same(r, "attention.value_length_swa", head_dim);
    take_same(r, "rope.dimension_count_swa", number(r, "rope.dimension_count", head_dim));
    take_window(r);
    take_rope(r, head_dim);
    if (!strncmp(r->arch->name, "gemma", 5)) {
        take_gemma(r, head_dim);
        return;
    }
    set(r, "hidden_act", json_string("silu"));
    /* llama.cpp divides by their sum in the one and not in the other. */
    if (!strcmp(r->arch->name, "qwen3moe")) set(r, "norm_topk_prob", json_true());
    bool own = !strcmp(r->arch->name, "llama") || !strcmp(r->arch->name, "qwen3");
    if (own && tensor(r, "blk.0.attn_q.bias")) set(r, "attention_bias", json_true());
    if (own && tensor(r, "blk.0.ffn_up.bias")) set(r, "mlp_bias", json_true());
}

static vkt_status check_kind(const vkt__gguf *g)
{
    const vkt__gguf_value *type = vkt__gguf_find(g, "general.type");
    double parts = vkt__gguf_number(vkt__gguf_find(g, "split.count"), 0);
    if (type && !is_text(type, "model"))
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s' is no whole model, as its general.type says; adapters are read from "
                         "PEFT's folders",
                         g->name);
    if (parts > 1)
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s' is one of %.0f parts: put them together by `llama-gguf-split "
                         "--merge`",
                         g->name, parts);
    return VKT_OK;
}

vkt_status vkt__gguf_config(const vkt__gguf *g, char **json)
{
    const vkt__gguf_value *v = vkt__gguf_find(g, "general.architecture");
    vkt__arena a = { 0 };
    vkt__str list = { 0 };
    *json = NULL;
    reader r = { .g = g, .st = check_kind(g), .o = json_object() };
    const char *name =
        v && v->type == VKT__GGUF_STRING
            ? vkt__arena_printf(&a, "%.*s", (int)VKT_MIN(v->n, 60u), (const char *)v->data)
            : "";
    if (r.st == VKT_OK && !(r.arch = vkt__gguf_arch_find(name))) {
        vkt__gguf_arch_list(&list);
        r.st = vkt__fail(VKT_E_FORMAT, "model", "'%s': architecture '%s' is not supported; %s are",
                         g->name, vkt__show(name).s, list.data);
    }
    if (r.st == VKT_OK) {
        take_keys(&r);
        take_rest(&r);
    }
    if (r.st == VKT_OK) *json = json_dumps(r.o, 0);
    json_decref(r.o);
    vkt__str_finish(&list);
    vkt__arena_finish(&a);
    return r.st;
}

bool vkt__gguf_has_tokenizer(const vkt__gguf *g)
{
    const vkt__gguf_value *v = vkt__gguf_find(g, "tokenizer.ggml.model");
    return v && !is_text(v, "none") && !is_text(v, "no_vocab");
}
