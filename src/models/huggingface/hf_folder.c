/* hf_folder.h: of a folder and of a GGUF file alike. */
#include "models/huggingface/hf_folder.h"

#include "base/os.h"
#include "models/gguf/gguf_model.h"
#include "models/huggingface/hf_config.h"
#include "recipe/config.h"
#include "recipe/options.h"
#include "recipe/recipe_model.h"

/* What a model says of itself: its config.json, or a GGUF file's values as one. */
typedef struct {
    char *text; /* to be freed */
    size_t n;
    const char *name; /* for messages */
    bool tokenizer;
} description;

static vkt_status describe_gguf(const char *path, description *d)
{
    vkt_status st;
    vkt__gguf g;
    VKT_TRY(vkt__gguf_open(path, &g));
    VKT_TRY(vkt__gguf_config(&g, &d->text));
    d->n = strlen(d->text);
    d->name = path;
    d->tokenizer = vkt__gguf_has_tokenizer(&g);
fail:
    vkt__gguf_close(&g);
    return st;
}

static vkt_status describe_folder(const char *path, vkt__arena *a, description *d)
{
    d->name = vkt__arena_printf(a, "%s/config.json", path);
    d->tokenizer = vkt__file_size(vkt__arena_printf(a, "%s/tokenizer.json", path)) >= 0 ||
                   vkt__file_size(vkt__arena_printf(a, "%s/vocab.json", path)) >= 0;
    return vkt__file_read(d->name, 16u << 20, &d->text, &d->n);
}

vkt_status vkt__hf_folder_apply(vkt_config *c)
{
    vkt_status st;
    vkt__hf_config h;
    vkt_layer layer;
    description d = { 0 };
    bool gguf = vkt__is_gguf(c->init);
    VKT_TRY(gguf ? describe_gguf(c->init, &d) : describe_folder(c->init, &c->priv->arena, &d));
    VKT_TRY(vkt__hf_config_parse(d.text, d.n, d.name, &h));
    layer = vkt__hf_config_layer(&h);
    layer.transformer.score = c->data.text != NULL;
    VKT_TRY(vkt__model_take(c, &layer, 1, d.name));
    if (!c->data.vocab) c->data.vocab = h.vocab;
    bool text = vkt__config_is_text(c) || c->data.text;
    if (!c->data.tokenizer && text && d.tokenizer) c->data.tokenizer = c->init;
    if (!c->data.tokenizer && c->data.text) {
        st = vkt__config_refuse(c, "data.tokenizer", "is missing: '%s' has none of its own",
                                c->init);
        goto fail;
    }
    if (!c->data.tokenizer && text)
        vkt_log(VKT_LOG_WARN, "config",
                "'%s' has no %s: text is read as bytes unless it is packed; set data.tokenizer for "
                "another tokenizer",
                c->init, gguf ? "tokenizer" : "tokenizer.json and no vocab.json");
    if (!vkt__config_was_set(c, "data.context"))
        c->data.context = VKT_MIN(c->data.context, h.context);
    if (c->data.context > h.context)
        st = vkt__config_refuse(c, "data.context", "%u is more than the model's %u positions",
                                c->data.context, h.context);
fail:
    free(d.text);
    return st;
}
