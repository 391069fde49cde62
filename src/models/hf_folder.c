/* hf_folder.h */
#include "models/hf_folder.h"

#include "base/os.h"
#include "models/hf_config.h"
#include "recipe/config.h"
#include "recipe/options.h"
#include "recipe/recipe_model.h"

vkt_status vkt__hf_folder_apply(vkt_config *c)
{
    vkt_status st;
    vkt__arena *a = &c->priv->arena;
    char *text = NULL;
    size_t n;
    vkt__hf_config h;
    vkt_layer layer;
    const char *path = vkt__arena_printf(a, "%s/config.json", c->init),
               *tokenizer = vkt__arena_printf(a, "%s/tokenizer.json", c->init),
               *vocab = vkt__arena_printf(a, "%s/vocab.json", c->init);
    VKT_TRY(vkt__file_read(path, 16u << 20, &text, &n));
    VKT_TRY(vkt__hf_config_parse(text, n, path, &h));
    layer = vkt__hf_config_layer(&h);
    VKT_TRY(vkt__model_take(c, &layer, 1, path));
    if (!c->data.vocab) c->data.vocab = h.vocab;
    if (!c->data.tokenizer && vkt__config_is_text(c) &&
        (vkt__file_size(tokenizer) >= 0 || vkt__file_size(vocab) >= 0))
        c->data.tokenizer = c->init;
    if (!c->data.tokenizer && vkt__config_is_text(c))
        vkt_log(VKT_LOG_WARN, "config",
                "'%s' has no tokenizer.json and no vocab.json: text is read as bytes unless it is "
                "packed; set data.tokenizer for another tokenizer",
                c->init);
    if (!vkt__config_was_set(c, "data.context"))
        c->data.context = VKT_MIN(c->data.context, h.context);
    if (c->data.context > h.context)
        st = vkt__config_refuse(c, "data.context", "%u is more than the model's %u positions",
                                c->data.context, h.context);
fail:
    free(text);
    return st;
}
