/* A checkpoint as a folder that transformers loads: config.json, model.safetensors, the tokenizer.
 */
#include <jansson.h>

#include "base/os.h"
#include "train/hf.h"
#include "train/options.h"

/* The checkpoint's tensors in host memory. */
typedef struct {
    vkt__st_tensor *t;
    size_t n;
} tensors;

static void tensors_finish(tensors *x)
{
    for (size_t i = 0; i < x->n; i++) free(x->t[i].data);
    free(x->t);
}

static vkt_status tensors_read(vkt__safetensors *f, tensors *x)
{
    vkt_status st = VKT_OK;
    const vkt_tensor_info *info;
    size_t n = 0;
    while (vkt__safetensors_tensor(f, n)) n++;
    x->t = vkt__alloc(n * sizeof *x->t);
    for (; (info = vkt__safetensors_tensor(f, x->n)) != NULL;) {
        vkt__st_tensor *t = &x->t[x->n++];
        *t = (vkt__st_tensor) { .name = info->name, .dtype = info->dtype, .rank = info->rank };
        memcpy(t->shape, info->shape, sizeof t->shape);
        t->data = malloc(info->bytes ? (size_t)info->bytes : 1);
        if (!t->data) return vkt__fail(VKT_OOM_HOST, "export", "no memory for '%s'", info->name);
        VKT_TRY(vkt__safetensors_read(f, x->n - 1, t->data));
    }
fail:
    return st;
}

/* Dimension d of the tensor whose name ends so; 0: there is none. */
static uint32_t dimension(const tensors *x, const char *end, uint32_t d)
{
    for (size_t i = 0; i < x->n; i++) {
        size_t n = strlen(x->t[i].name), k = strlen(end);
        if (n >= k && !strcmp(x->t[i].name + n - k, end) && d < x->t[i].rank)
            return (uint32_t)x->t[i].shape[d];
    }
    return 0;
}

/* Sizes that the recipe left to their defaults. */
static void complete(vkt__hf_config *h, const tensors *x, uint32_t context)
{
    h->vocab = dimension(x, h->gpt2 ? "wte.weight" : "embed_tokens.weight", 0);
    h->mlp = h->gpt2 ? dimension(x, "mlp.c_fc.weight", 1) : dimension(x, "mlp.up_proj.weight", 0);
    if (h->gpt2) h->context = dimension(x, "wpe.weight", 0);
    h->context = VKT_MAX(h->context, h->gpt2 ? 0 : context);
}

static vkt_status put(vkt__arena *a, const char *folder, const char *name, const char *text)
{
    return vkt__file_replace(vkt__arena_printf(a, "%s/%s", folder, name), text, strlen(text));
}

static vkt_status write_tokenizer(vkt__arena *a, const char *folder, const vkt_tokenizer *t,
                                  uint32_t context)
{
    vkt_status st;
    uint32_t end = vkt_tokenizer_get_info(t)->end;
    size_t n = 0;
    const char *bytes = end == VKT_NO_TOKEN ? NULL : vkt_tokenizer_bytes(t, end, &n);
    json_t *o = json_pack("{s:s, s:i, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                          "model_max_length", (int)context, "clean_up_tokenization_spaces", 0);
    if (bytes) json_object_set_new(o, "eos_token", json_stringn(bytes, n));
    char *config = json_dumps(o, JSON_INDENT(2)), *json = vkt_tokenizer_json(t);
    VKT_TRY(put(a, folder, "tokenizer.json", json));
    VKT_TRY(put(a, folder, "tokenizer_config.json", config));
fail:
    json_decref(o);
    free(config);
    free(json);
    return st;
}

static vkt_status write_folder(const char *folder, const vkt__hf_config *h, const tensors *x,
                               const vkt_tokenizer *t)
{
    vkt_status st;
    vkt__arena a = { 0 };
    const vkt__st_meta meta = { "format", "pt" };
    char *config = vkt__hf_config_json(h, vkt_tokenizer_get_info(t)->end);
    VKT_TRY(vkt__mkdirs(folder));
    VKT_TRY(put(&a, folder, "config.json", config));
    VKT_TRY(write_tokenizer(&a, folder, t, h->context));
    VKT_TRY(vkt__safetensors_write(vkt__arena_printf(&a, "%s/model.safetensors", folder), x->t,
                                   x->n, &meta, 1, NULL));
fail:
    free(config);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt_export_hf(const char *checkpoint, const char *folder)
{
    vkt_status st;
    char dir[1024];
    vkt__checkpoint *ckpt = NULL;
    vkt_config *c = NULL;
    vkt_tokenizer *t = NULL;
    vkt__hf_config h;
    tensors x = { 0 };
    vkt__str aside = { 0 };
    if (vkt__file_exists(folder))
        return vkt__fail(VKT_ARG, "export", "'%s' is there already: remove it or name another",
                         folder);
    vkt__str_printf(&aside, "%s.tmp%d", folder, vkt__pid());
    VKT_TRY(vkt__checkpoint_find(checkpoint, dir, sizeof dir));
    VKT_TRY(vkt__checkpoint_open(dir, &ckpt));
    VKT_TRY(vkt_config_create(&c));
    VKT_TRY(vkt_config_parse(c, ckpt->state.config, strlen(ckpt->state.config), dir));
    VKT_TRY(vkt__hf_config_of(c->layers, c->n_layers, &h));
    VKT_TRY(vkt_tokenizer_from_schema(ckpt->state.schema, &t));
    VKT_TRY(tensors_read(ckpt->model, &x));
    complete(&h, &x, c->data.context);
    VKT_TRY(write_folder(aside.data, &h, &x, t));
    VKT_TRY(vkt__rename(aside.data, folder));
fail:
    if (st != VKT_OK) vkt__remove_tree(aside.data);
    tensors_finish(&x);
    vkt_tokenizer_destroy(&t);
    vkt_config_destroy(&c);
    vkt__checkpoint_close(&ckpt);
    vkt__str_finish(&aside);
    return st;
}
