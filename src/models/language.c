/* language.h: the sizes that a recipe left to their defaults are read off the weights. */
#include "models/language.h"

#include "base/os.h"
#include "data/text/tokenizer_chat.h"
#include "tokenizers/tokenizer_json.h"
#include "vktrain/models.h"

/* Dimension d of the tensor whose name ends so; 0: there is none. */
static uint32_t dimension(const vkt__weights *x, const char *end, uint32_t d)
{
    for (size_t i = 0; i < x->n_model; i++) {
        const vkt__st_tensor *t = &x->model[i];
        size_t n = strlen(t->name), k = strlen(end);
        if (n >= k && !strcmp(t->name + n - k, end) && d < t->rank) return (uint32_t)t->shape[d];
    }
    return 0;
}

/* Sizes that the recipe left to their defaults. */
static void complete(vkt__hf_config *h, const vkt__weights *x, uint32_t context)
{
    static const struct {
        const char *names, *table, *mlp;
        uint32_t d, parts; /* which dimension of mlp, of how many parts of one size */
    } rows[] = { { "gpt2", "wte.weight", "mlp.c_fc.weight", 1, 1 },
                 { "llama", "embed_tokens.weight", "mlp.up_proj.weight", 0, 1 },
                 { "phi3", "embed_tokens.weight", "mlp.gate_up_proj.weight", 0, 2 },
                 { "neox", "embed_in.weight", "mlp.dense_h_to_4h.weight", 0, 1 } };
    size_t i = 0;
    while (strcmp(rows[i].names, h->names) != 0) i++;
    h->vocab = dimension(x, rows[i].table, 0);
    /* Where all layers have experts, what the config says stays. */
    uint32_t mlp = dimension(x, rows[i].mlp, rows[i].d) / rows[i].parts;
    if (h->experts) h->experts_mlp = dimension(x, "mlp.experts.up_proj.weight", 1);
    if (mlp || !h->mlp) h->mlp = mlp ? mlp : h->experts_mlp;
    if (h->gpt2) h->context = dimension(x, "wpe.weight", 0);
    h->context = VKT_MAX(h->context, h->gpt2 ? 0 : context);
}

vkt_status vkt__export_is_new(const char *path)
{
    if (!vkt__file_exists(path)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "export",
                     "'%s' already exists: remove it, give another name, or --force", path);
}

/* Everything in the folder is a file of an export's. */
static vkt_status is_export(const char *folder)
{
    static const char *const files[] = { "config.json",         "generation_config.json",
                                         "tokenizer.json",      "tokenizer_config.json",
                                         "adapter_config.json", "adapter_model.safetensors",
                                         "model*.json",         "model*.safetensors" };
    char **names = NULL;
    size_t n = 0;
    vkt_status st = vkt__list_dir(folder, &names, &n);
    for (size_t i = 0; i < n && st == VKT_OK; i++) {
        bool known = false;
        for (size_t k = 0; k < VKT_COUNT(files); k++) known |= vkt__glob(files[k], names[i]);
        if (!known)
            st = vkt__fail(VKT_E_ARG, "export",
                           "'%s' holds '%s', which no export writes: remove the folder, or give "
                           "another name",
                           folder, vkt__show(names[i]).s);
    }
    vkt__names_free(names, n);
    return st;
}

vkt_status vkt_export_replace(const char *made, const char *path)
{
    vkt_status st = VKT_OK;
    bool folder = vkt__is_dir(path);
    char *aside = vkt__file_aside(path);
    if (folder) VKT_TRY(is_export(path));
    if (!made) goto fail;
    if (folder) VKT_TRY(vkt__rename(path, aside));
    st = vkt__rename(made, path);
    if (folder && st != VKT_OK) vkt__rename(aside, path);
    if (folder && st == VKT_OK) st = vkt__remove_tree(aside);
fail:
    free(aside);
    return st;
}

void vkt__language_close(vkt__language *l)
{
    vkt__weights_finish(&l->weights);
    vkt_model_destroy(&l->model);
    vkt_tokenizer_destroy(&l->tokenizer);
    vkt__trained_close(&l->trained);
    vkt__arena_finish(&l->arena);
}

/* Opens a classifier of texts: its tokenizer, its classes, and the id that fills rows up: the
 * tokenizer's, or the end of a text where it has none. */
static vkt_status open_classes(vkt__language *l)
{
    vkt_status st;
    vkt__schema s;
    VKT_TRY(vkt__trained_classes(&l->trained, &l->arena, &s));
    VKT_TRY(vkt__tokenizer_parse_json(s.tokenizer, strlen(s.tokenizer),
                                      "the checkpoint's tokenizer", &l->tokenizer));
    const char *pad = vkt__tokenizer_setting(l->tokenizer, "pad_token");
    if (!pad) pad = vkt__tokenizer_setting(l->tokenizer, "eos_token");
    uint32_t id = pad ? vkt_tokenizer_find(l->tokenizer, pad) : VKT_NO_TOKEN;
    l->config.pad = id == VKT_NO_TOKEN ? vkt_tokenizer_get_info(l->tokenizer)->end : id;
    l->config.labels = s.class_values;
    l->config.n_labels = s.n_outputs;
fail:
    return st;
}

vkt_status vkt__language_open(const char *checkpoint, vkt__language *l)
{
    vkt_status st;
    *l = (vkt__language) { 0 };
    VKT_TRY(vkt__trained_open(checkpoint, &l->trained));
    const vkt_config *c = l->trained.config;
    VKT_TRY(vkt__hf_config_of(c->layers, c->n_layers, &l->config));
    VKT_TRY(l->config.score ? open_classes(l)
                            : vkt_tokenizer_from_schema(l->trained.schema, &l->tokenizer));
    VKT_TRY(vkt__trained_text(&l->trained, l->tokenizer, &l->model, &l->weights));
    complete(&l->config, &l->weights, c->data.context);
fail:
    return st;
}
