/* A checkpoint as a folder that transformers loads: config.json, model.safetensors, the tokenizer.
 */
#include <jansson.h>
#include <math.h>

#include "base/os.h"
#include "base/half.h"
#include "data/text/tokenizer_chat.h"
#include "models/language.h"
#include "vktrain/models.h"

static vkt_status put(vkt__arena *a, const char *folder, const char *name, const char *text)
{
    return vkt__file_replace(vkt__arena_printf(a, "%s/%s", folder, name), text, strlen(text));
}

/* Which tokens end a text: a number, or a list of several. */
static json_t *end_ids(const vkt_tokenizer *t)
{
    json_t *ids = json_array();
    for (uint32_t id = 0; id < vkt_tokenizer_get_info(t)->n_vocab; id++)
        if (vkt__tokenizer_ends(t, id)) json_array_append_new(ids, json_integer(id));
    if (json_array_size(ids) != 1) return ids;
    json_t *one = json_incref(json_array_get(ids, 0));
    json_decref(ids);
    return one;
}

static vkt_status write_generation(vkt__arena *a, const char *folder, const vkt_tokenizer *t)
{
    static const char *const names[][2] = { { "bos_token", "bos_token_id" },
                                            { "pad_token", "pad_token_id" } };
    json_t *o = json_pack("{s:o}", "eos_token_id", end_ids(t));
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        const char *token = vkt__tokenizer_setting(t, names[i][0]);
        uint32_t id = token ? vkt_tokenizer_find(t, token) : VKT_NO_TOKEN;
        if (id != VKT_NO_TOKEN) json_object_set_new(o, names[i][1], json_integer(id));
    }
    char *text = json_dumps(o, JSON_INDENT(2));
    vkt_status st = put(a, folder, "generation_config.json", text);
    json_decref(o);
    free(text);
    return st;
}

/* A classifier's rows are filled up by the token that its config.json names. */
vkt_status vkt__export_tokenizer(const char *folder, const vkt_tokenizer *t,
                                 const vkt__hf_config *h)
{
    static const char *const kept[] = { "eos_token", "bos_token", "pad_token", "unk_token",
                                        "chat_template" };
    vkt_status st;
    vkt__arena a = { 0 };
    uint32_t end = vkt_tokenizer_get_info(t)->end;
    size_t n = 0;
    const char *bytes = end == VKT_NO_TOKEN ? NULL : vkt_tokenizer_bytes(t, end, &n);
    json_t *o = json_pack("{s:s, s:i, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                          "model_max_length", (int)h->context, "clean_up_tokenization_spaces", 0);
    if (bytes) json_object_set_new(o, "eos_token", json_stringn(bytes, n));
    for (size_t i = 0; i < VKT_COUNT(kept); i++) {
        const char *value = vkt__tokenizer_setting(t, kept[i]);
        if (value) json_object_set_new(o, kept[i], json_string(value));
    }
    const char *tools = vkt__tokenizer_setting(t, "tool_use_template");
    if (tools)
        json_object_set_new(o, "chat_template",
                            json_pack("[{s:s, s:O}, {s:s, s:s}]", "name", "default", "template",
                                      json_object_get(o, "chat_template"), "name", "tool_use",
                                      "template", tools));
    const char *pad = h->score ? vkt_tokenizer_bytes(t, h->pad, &n) : NULL;
    if (pad) json_object_set_new(o, "pad_token", json_stringn(pad, n));
    char *config = json_dumps(o, JSON_INDENT(2)), *json = vkt_tokenizer_json(t);
    VKT_TRY(put(&a, folder, "tokenizer.json", json));
    VKT_TRY(put(&a, folder, "tokenizer_config.json", config));
    VKT_TRY(write_generation(&a, folder, t));
fail:
    vkt__arena_finish(&a);
    json_decref(o);
    free(config);
    free(json);
    return st;
}

/* The tensors that transformers has of one: of a stack of experts' matrices each by itself. */
static size_t parts_of(vkt__arena *a, const vkt__st_tensor *t, vkt__st_tensor *out)
{
    static const char experts[] = ".mlp.experts.";
    const char *at = strstr(t->name, experts);
    if (!at || t->rank != 3) {
        if (out) *out = *t;
        return 1;
    }
    at += sizeof experts - 1;
    size_t bytes = t->shape[1] * t->shape[2] * (strcmp(t->dtype, "F32") ? 2 : 4);
    for (uint64_t e = 0; out && e < t->shape[0]; e++)
        out[e] = (vkt__st_tensor) { .name = vkt__arena_printf(a, "%.*s%llu.%s", (int)(at - t->name),
                                                              t->name, (unsigned long long)e, at),
                                    .dtype = t->dtype,
                                    .rank = 2,
                                    .shape = { t->shape[1], t->shape[2] },
                                    .data = (char *)t->data + e * bytes };
    return t->shape[0];
}

static vkt_status write_weights(vkt__arena *a, const char *path, const vkt__weights *x)
{
    const vkt__st_meta meta = { "format", "pt" };
    size_t n = 0, to = 0;
    for (size_t i = 0; i < x->n_model; i++) n += parts_of(a, &x->model[i], NULL);
    vkt__st_tensor *t = vkt__arena_alloc(a, n * sizeof *t);
    for (size_t i = 0; i < x->n_model; i++) to += parts_of(a, &x->model[i], t + to);
    return vkt__safetensors_write(path, t, n, &meta, 1, NULL);
}

static vkt_status write_folder(const char *folder, const vkt__hf_config *h, const vkt__weights *x,
                               const vkt_tokenizer *t)
{
    vkt_status st;
    vkt__arena a = { 0 };
    char *config = vkt__hf_config_json(h, vkt_tokenizer_get_info(t)->end);
    VKT_TRY(vkt__mkdirs(folder));
    VKT_TRY(put(&a, folder, "config.json", config));
    VKT_TRY(vkt__export_tokenizer(folder, t, h));
    VKT_TRY(write_weights(&a, vkt__arena_printf(&a, "%s/model.safetensors", folder), x));
fail:
    free(config);
    vkt__arena_finish(&a);
    return st;
}

/* Rounds the tensor's f32 values where they lie. False: one is too large for f16. */
static bool narrow(vkt__st_tensor *t, vkt_export_type type)
{
    uint64_t n = 1;
    bool fits = true;
    for (uint32_t i = 0; i < t->rank; i++) n *= t->shape[i];
    for (uint64_t i = 0; i < n; i++) {
        float f;
        memcpy(&f, (char *)t->data + i * sizeof f, sizeof f);
        uint16_t h = type == VKT_EXPORT_F16 ? vkt__to_f16(f) : vkt__to_bf16(f);
        fits = fits && (type != VKT_EXPORT_F16 || !isfinite(f) || isfinite(vkt__from_f16(h)));
        memcpy((char *)t->data + i * sizeof h, &h, sizeof h);
    }
    t->dtype = type == VKT_EXPORT_F16 ? "F16" : "BF16";
    return fits;
}

static vkt_status narrow_all(vkt__language *l, vkt_export_type type)
{
    if (type == VKT_EXPORT_F32) return VKT_OK;
    l->config.dtype = type == VKT_EXPORT_F16 ? "float16" : "bfloat16";
    for (size_t i = 0; i < l->weights.n_model; i++)
        if (!narrow(&l->weights.model[i], type))
            return vkt__fail(VKT_E_ARG, "export",
                             "%s has values too large for f16: export as bf16 or f32",
                             l->weights.model[i].name);
    return VKT_OK;
}

vkt_status vkt_export_hf(const char *checkpoint, const char *folder, vkt_export_type type)
{
    vkt_status st;
    vkt__language l = { 0 };
    char *aside = vkt__file_aside(folder);
    VKT_TRY(vkt__export_is_new(folder));
    if (type > VKT_EXPORT_BF16) {
        st = vkt__fail(VKT_E_ARG, "export",
                       "a Hugging Face folder is written in f32, f16 or bf16: the other types are "
                       "GGUF's");
        goto fail;
    }
    VKT_TRY(vkt__language_open(checkpoint, &l));
    VKT_TRY(narrow_all(&l, type));
    VKT_TRY(write_folder(aside, &l.config, &l.weights, l.tokenizer));
    VKT_TRY(vkt__rename(aside, folder));
fail:
    if (st != VKT_OK) vkt__discard_tree(aside);
    vkt__language_close(&l);
    free(aside);
    return st;
}
