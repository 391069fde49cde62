/* vkt_export_adapter: a run's adapter as PEFT (github.com/huggingface/peft) saves one, which names
 * tensors base_model.model.LAYER.lora_A.weight; its adapter_config.json says the rest. */
#include <jansson.h>
#include <math.h>

#include "base/os.h"
#include "models/adapter.h"
#include "models/language.h"
#include "vktrain/models.h"

/* As peft.LoraConfig is saved; what is not said has PEFT's defaults. */
static char *config_json(const vkt__trained *t, const vkt__hf_config *c)
{
    static const char separators[] = ", ";
    const vkt_lora *l = &t->lora;
    double alpha = (double)(vkt_lora_scale(l) * (float)l->rank);
    /* As nn/transformer.c has them by default. */
    const char *usual = c->gpt2                     ? "c_attn"
                        : !strcmp(c->names, "phi3") ? "qkv_proj"
                        : !strcmp(c->names, "neox") ? "query_key_value"
                                                    : "q_proj, v_proj",
               *p = l->targets ? l->targets : usual;
    json_t *targets = json_array();
    for (; *(p += strspn(p, separators)); p += strcspn(p, separators))
        json_array_append_new(targets, json_stringn(p, strcspn(p, separators)));
    const char *first = json_string_value(json_array_get(targets, 0));
    if (first && !strcmp(first, VKT_LORA_ALL)) {
        json_decref(targets);
        targets = json_string(VKT_LORA_ALL);
    }
    /* PEFT says a whole alpha as an integer. */
    json_t *o = json_pack(
        "{s:s, s:s, s:s, s:i, s:o, s:f, s:o, s:b, s:s, s:b, s:b, s:b, s:n}", "peft_type", "LORA",
        "task_type", "CAUSAL_LM", "base_model_name_or_path", t->config->init, "r", (int)l->rank,
        "lora_alpha", alpha == floor(alpha) ? json_integer((json_int_t)alpha) : json_real(alpha),
        "lora_dropout", (double)l->dropout, "target_modules", targets, "fan_in_fan_out",
        (int)c->gpt2, "bias", "none", "inference_mode", 1, "init_lora_weights", 1, "use_rslora", 0,
        "modules_to_save");
    char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(o);
    return text;
}

/* The adapter's tensors under PEFT's names; the caller frees their data, also after an error. */
static vkt_status read_tensors(const vkt__trained *t, vkt__arena *a, vkt__st_tensor *out, size_t *n)
{
    bool average = t->config->optim.ema > 0;
    vkt__safetensors *f = average ? t->ckpt->optim : t->ckpt->model;
    const char *prefix = average ? "ema." : "";
    const vkt_tensor_info *info;
    for (size_t i = 0; (info = vkt__safetensors_tensor(f, i)); i++) {
        if (strncmp(info->name, prefix, strlen(prefix)) != 0 || !strstr(info->name, ".lora_"))
            continue;
        vkt__st_tensor *x = &out[(*n)++];
        *x = (vkt__st_tensor) { .dtype = "F32",
                                .rank = info->rank,
                                .data = vkt__adapter_read(f, i) };
        x->name = vkt__arena_printf(a, "base_model.model.%s", info->name + strlen(prefix));
        memcpy(x->shape, info->shape, sizeof x->shape);
        if (!x->data) return VKT_E_IO;
    }
    return VKT_OK;
}

vkt_status vkt_export_adapter(const char *checkpoint, const char *folder)
{
    vkt_status st;
    vkt__trained t = { 0 };
    vkt__hf_config h;
    vkt__arena a = { 0 };
    vkt__st_tensor *tensors = NULL;
    size_t n = 0, most = 0;
    char *config = NULL;
    const vkt__st_meta meta = { "format", "pt" };
    char *aside = vkt__file_aside(folder);
    VKT_TRY(vkt__export_is_new(folder));
    VKT_TRY(vkt__trained_open(checkpoint, &t));
    if (!t.lora.rank) {
        st =
            vkt__fail(VKT_E_ARG, "export",
                      "'%s' trained no adapter: set lora.rank, or export the whole model with --hf",
                      checkpoint);
        goto fail;
    }
    VKT_TRY(vkt__hf_config_of(t.config->layers, t.config->n_layers, &h));
    while (vkt__safetensors_tensor(t.ckpt->model, most)) most++;
    tensors = vkt__alloc(most * sizeof *tensors);
    VKT_TRY(read_tensors(&t, &a, tensors, &n));
    config = config_json(&t, &h);
    VKT_TRY(vkt__mkdirs(aside));
    VKT_TRY(vkt__file_replace(vkt__arena_printf(&a, "%s/adapter_config.json", aside), config,
                              strlen(config)));
    VKT_TRY(vkt__safetensors_write(vkt__arena_printf(&a, "%s/adapter_model.safetensors", aside),
                                   tensors, n, &meta, 1, NULL));
    VKT_TRY(vkt__rename(aside, folder));
fail:
    if (st != VKT_OK) vkt__remove_tree(aside);
    free(aside);
    for (size_t i = 0; i < n; i++) free(tensors[i].data);
    free(tensors);
    free(config);
    vkt__trained_close(&t);
    vkt__arena_finish(&a);
    return st;
}
