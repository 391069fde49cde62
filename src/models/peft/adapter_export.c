/* vkt_export_adapter: a run's adapter as PEFT (github.com/huggingface/peft) saves one, which names
 * tensors base_model.model.LAYER.lora_A.weight; its adapter_config.json says the rest. */
#include <jansson.h>
#include <math.h>

#include "base/number.h"
#include "base/os.h"
#include "models/peft/adapter.h"
#include "models/language.h"
#include "recipe/config.h"
#include "vktrain/models.h"

static const char separators[] = ", ";

static json_t *list_of(const char *words)
{
    json_t *list = json_array();
    for (const char *p = words; *(p += strspn(p, separators)); p += strcspn(p, separators))
        json_array_append_new(list, json_stringn(p, strcspn(p, separators)));
    return list;
}

/* As PEFT says them: a whole number as an integer. */
static json_t *number(double v)
{
    return v == floor(v) ? json_integer((json_int_t)v) : json_real(v);
}

/* "NAME=VALUE, ...". */
static json_t *pattern_of(const char *pairs)
{
    json_t *o = json_object(), *list = list_of(pairs ? pairs : ""), *v;
    size_t i;
    json_array_foreach(list, i, v)
    {
        const char *text = json_string_value(v), *equals = strrchr(text, '=');
        json_object_setn_new_nocheck(o, text, (size_t)(equals - text),
                                     number(vkt__number_or_nan(equals + 1)));
    }
    json_decref(list);
    return o;
}

/* Names of the embedding and of the output layer of a model that has one matrix for both; NULL. */
static const char *const *tied_names(const vkt__hf_config *c)
{
    static const char *const names[][2] = { { "wte", "lm_head" },
                                            { "embed_in", "embed_out" },
                                            { "embed_tokens", "lm_head" } };
    return !c->tied ? NULL : names[c->gpt2 ? 0 : !strcmp(c->names, "neox") ? 1 : 2];
}

/* PEFT's layers of their own: of one matrix under two names, both. */
static json_t *modules_of(const char *words, const char *const *tied)
{
    json_t *list = list_of(words ? words : ""), *v;
    size_t i, n = json_array_size(list);
    for (i = 0; i < n; i++) {
        v = json_array_get(list, i);
        const char *word = json_string_value(v), *dot = strrchr(word, '.');
        if (tied && !strcmp(dot ? dot + 1 : word, tied[0]))
            json_array_append_new(list, json_string(tied[1]));
    }
    if (json_array_size(list)) return list;
    json_decref(list);
    return json_null();
}

/* The layers of a net that have an adapter. */
static json_t *adapted_layers(const vkt__trained *t)
{
    static const char end[] = ".lora_A.weight";
    const vkt__checkpoint_place place = vkt__checkpoint_weights(t->ckpt, false);
    const vkt_tensor_info *info;
    size_t before = strlen(place.prefix), after = strlen(end);
    json_t *list = json_array();
    for (size_t i = 0; (info = vkt__safetensors_tensor(place.file, i)); i++) {
        size_t n = strlen(info->name);
        if (n > before + after && !strncmp(info->name, place.prefix, before) &&
            !strcmp(info->name + n - after, end))
            json_array_append_new(list, json_stringn(info->name + before, n - before - after));
    }
    return list;
}

/* As peft.LoraConfig is saved; what is not said has PEFT's defaults. c NULL: of a net. */
static char *config_json(const vkt__trained *t, const vkt__hf_config *c)
{
    static const char *const biases[] = { "none", "all", "lora_only" };
    const vkt_lora *l = &t->lora;
    /* As nn/transformer.c has them by default. */
    const char *usual = !c                          ? ""
                        : c->gpt2                   ? "c_attn"
                        : !strcmp(c->names, "phi3") ? "qkv_proj"
                        : !strcmp(c->names, "neox") ? "query_key_value"
                                                    : "q_proj, v_proj";
    json_t *targets = c ? list_of(l->targets ? l->targets : usual) : adapted_layers(t);
    const char *first = json_string_value(json_array_get(targets, 0));
    if (first && !strcmp(first, VKT_LORA_ALL)) {
        json_decref(targets);
        targets = json_string(VKT_LORA_ALL);
    }
    json_t *modules = modules_of(l->modules, c ? tied_names(c) : NULL), *o = json_object();
    json_t *words = list_of(l->modules ? l->modules : "");
    bool ties = json_array_size(modules) > json_array_size(words);
    json_decref(words);
    json_object_update_new(
        o, json_pack("{s:s, s:s?, s:s, s:i, s:o, s:f, s:o, s:b}", "peft_type", "LORA", "task_type",
                     !c         ? NULL
                     : c->score ? "SEQ_CLS"
                                : "CAUSAL_LM",
                     "base_model_name_or_path", vkt__config_base(t->config), "r", (int)l->rank,
                     "lora_alpha", number((double)(l->alpha > 0 ? l->alpha : 2 * (float)l->rank)),
                     "lora_dropout", (double)l->dropout, "target_modules", targets,
                     "fan_in_fan_out", c && c->gpt2));
    json_object_update_new(
        o, json_pack("{s:s, s:b, s:b, s:b, s:b, s:o, s:o, s:o}", "bias", biases[l->bias],
                     "inference_mode", 1, "init_lora_weights", 1, "use_rslora", (int)l->rslora,
                     "use_dora", (int)l->dora, "rank_pattern", pattern_of(l->rank_pattern),
                     "alpha_pattern", pattern_of(l->alpha_pattern), "modules_to_save", modules));
    if (ties) json_object_set_new(o, "ensure_weight_tying", json_true());
    char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(o);
    return text;
}

/* Whether the layer of a parameter's name has an adapter: its biases are then inside a layer of
 * PEFT's. */
static bool has_adapter(const vkt__safetensors *f, vkt__arena *a, const char *prefix,
                        const char *name, int n)
{
    size_t at;
    return vkt__safetensors_find(f, vkt__arena_printf(a, "%s%.*s.lora_A.weight", prefix, n, name),
                                 &at);
}

static const char *peft_name(const vkt__safetensors *f, vkt__arena *a, const char *prefix,
                             const char *name)
{
    const char *dot = strrchr(name, '.');
    int n = dot ? (int)(dot - name) : 0;
    if (dot && !strcmp(dot, ".bias") && has_adapter(f, a, prefix, name, n))
        return vkt__arena_printf(a, VKT__PEFT_PREFIX "%.*s.base_layer%s", n, name, dot);
    return vkt__arena_printf(a, VKT__PEFT_PREFIX "%s", name);
}

/* One more of the same data under the output layer's name. */
static void add_tied(const vkt__hf_config *c, vkt__arena *a, vkt__st_tensor *out, size_t *n)
{
    const char *const *tied = tied_names(c);
    for (size_t i = 0, had = *n; tied && i < had; i++) {
        const char *end = strrchr(out[i].name, '.'), *begin = end - strlen(tied[0]);
        if (strcmp(end, ".weight") != 0 || begin <= out[i].name || begin[-1] != '.' ||
            strncmp(begin, tied[0], strlen(tied[0])) != 0)
            continue;
        out[*n] = out[i];
        out[(*n)++].name = vkt__arena_printf(a, VKT__PEFT_PREFIX "%s.weight", tied[1]);
    }
}

/* What was trained, under PEFT's names; the data is the arena's. Beside a net of a file, whose new
 * end and averages PEFT has no place for, the adapters alone: *left counts the others. */
static vkt_status read_tensors(const vkt__trained *t, bool net, vkt__arena *a, vkt__st_tensor *out,
                               size_t *n, size_t *left)
{
    const vkt__checkpoint_place place = vkt__checkpoint_weights(t->ckpt, false);
    vkt__safetensors *f = place.file;
    const char *prefix = place.prefix;
    const vkt_tensor_info *info;
    for (size_t i = 0; (info = vkt__safetensors_tensor(f, i)); i++) {
        if (strncmp(info->name, prefix, strlen(prefix)) != 0) continue;
        if (net && !strstr(info->name, ".lora_")) {
            ++*left;
            continue;
        }
        vkt__st_tensor *x = &out[(*n)++];
        float *data = vkt__adapter_read(f, i);
        if (!data) return VKT_E_IO;
        uint64_t count = 1;
        for (uint32_t d = 0; d < info->rank; d++) count *= info->shape[d];
        *x = (vkt__st_tensor) { .dtype = "F32",
                                .rank = info->rank,
                                .data = vkt__arena_alloc(a, count * sizeof *data) };
        memcpy(x->data, data, count * sizeof *data);
        free(data);
        x->name = peft_name(f, a, prefix, info->name + strlen(prefix));
        memcpy(x->shape, info->shape, sizeof x->shape);
    }
    return VKT_OK;
}

/* With more tokens than the base's: resize_token_embeddings(len(tokenizer)) makes room for the
 * adapter's tables. */
static vkt_status write_tokenizer(const vkt__trained *t, const vkt__hf_config *h,
                                  const char *folder)
{
    vkt_tokenizer *tokenizer = NULL;
    vkt_status st = vkt_tokenizer_from_schema(t->schema, &tokenizer);
    if (st == VKT_OK) st = vkt__export_tokenizer(folder, tokenizer, h);
    vkt_tokenizer_destroy(&tokenizer);
    return st;
}

vkt_status vkt_export_adapter(const char *checkpoint, const char *folder)
{
    vkt_status st;
    vkt__trained t = { 0 };
    vkt__hf_config h = { 0 };
    vkt__arena a = { 0 };
    vkt__st_tensor *tensors = NULL;
    size_t n = 0, most = 0, left = 0;
    char *config = NULL;
    const vkt__st_meta meta = { "format", "pt" };
    char *aside = vkt__file_aside(folder);
    VKT_TRY(vkt__export_is_new(folder));
    VKT_TRY(vkt__trained_open(checkpoint, &t));
    VKT_TRY(vkt__trained_check_adapter(&t, checkpoint, "--hf"));
    bool net = !t.config->init;
    if (!net) VKT_TRY(vkt__hf_config_of(t.config->layers, t.config->n_layers, &h));
    while (vkt__safetensors_tensor(t.ckpt->model, most)) most++;
    tensors = vkt__alloc((most + 1) * sizeof *tensors);
    VKT_TRY(read_tensors(&t, net, &a, tensors, &n, &left));
    if (!net) add_tied(&h, &a, tensors, &n);
    config = config_json(&t, net ? NULL : &h);
    VKT_TRY(vkt__mkdirs(aside));
    VKT_TRY(vkt__file_replace(vkt__arena_printf(&a, "%s/adapter_config.json", aside), config,
                              strlen(config)));
    VKT_TRY(vkt__safetensors_write(vkt__arena_printf(&a, "%s/adapter_model.safetensors", aside),
                                   tensors, n, &meta, 1, NULL));
    if (left)
        vkt_log(
            VKT_LOG_INFO, "export",
            "%zu tensors that are no adapters, as a new end and running averages, are left out: "
            "-o model.safetensors holds all",
            left);
    if (t.config->data.added_tokens && net)
        vkt_log(VKT_LOG_INFO, "export",
                "the tokenizer with data.added_tokens is not written beside the adapter of a net: "
                "the checkpoint has it");
    else if (t.config->data.added_tokens)
        VKT_TRY(write_tokenizer(&t, &h, aside));
    VKT_TRY(vkt__rename(aside, folder));
fail:
    if (st != VKT_OK) vkt__discard_tree(aside);
    free(aside);
    free(tensors);
    free(config);
    vkt__trained_close(&t);
    vkt__arena_finish(&a);
    return st;
}
