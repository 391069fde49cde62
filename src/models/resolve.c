/* vkt_config_finish: resolves, then checks. A recipe that leaves its model, or its adapter's
 * settings, to what `init` and `lora.from` name gets them from these files; config_defaults.c fills
 * in the rest. */
#include "base/os.h"
#include "data/text/tokenizer_chat.h"
#include "formats/gguf.h"
#include "models/huggingface/hf_folder.h"
#include "models/import.h"
#include "models/onnx_init.h"
#include "models/pretrained.h"
#include "models/trained.h"
#include "nn/transformer_shape.h"
#include "recipe/config.h"
#include "recipe/options.h"
#include "recipe/recipe_model.h"

/* The tokens that the run has added keep their ids: they come first. */
static void add_words(vkt_config *c, const char *of_run)
{
    vkt__arena *a = &c->priv->arena;
    c->data.added_tokens = c->data.added_tokens
                               ? vkt__arena_printf(a, "%s, %s", of_run, c->data.added_tokens)
                               : vkt__arena_strdup(a, of_run);
}

/* A run or checkpoint to begin with says the model, and of text the tokens, where the recipe does
 * not. */
static vkt_status init_of_run(vkt_config *c)
{
    vkt_status st;
    vkt__arena *a = &c->priv->arena;
    vkt__trained base;
    VKT_TRY(vkt__trained_open(c->init, &base));
    const vkt_data_desc *d = &base.config->data;
    VKT_TRY(vkt__model_take(c, base.config->layers, base.config->n_layers, c->init));
    bool scores = c->data.text && base.config->data.text && c->layers[0].transformer.score;
    if ((vkt__config_is_text(c) && vkt__config_is_text(base.config)) || scores) {
        if (!c->data.vocab) c->data.vocab = d->vocab;
        if (!c->data.tokenizer && d->tokenizer)
            c->data.tokenizer = vkt__arena_strdup(a, d->tokenizer);
        if (d->added_tokens) add_words(c, d->added_tokens);
        if (!vkt__config_was_set(c, "data.context") && base.ckpt) c->data.context = d->context;
    }
fail:
    vkt__trained_close(&base);
    return st;
}

/* The adapter of lora.from sets all of `lora` but base and dropout and, if the recipe has no init,
 * the base model. A recipe with a rank (such as a checkpoint's) has all these settings:
 * vkt__weights_initial compares them. */
static vkt_status lora_of_folder(vkt_config *c)
{
    vkt_status st;
    vkt__peft p;
    if (!vkt__is_peft_folder(c->lora_from))
        return vkt__config_refuse(
            c, "lora.from", "'%s' is not the folder of an adapter: it has no adapter_config.json",
            c->lora_from);
    VKT_TRY(vkt__peft_open(c->lora_from, &p));
    vkt_quant base = c->lora.base;
    float dropout = vkt__config_was_set(c, "lora.dropout") ? c->lora.dropout : p.lora.dropout;
    const char *own = c->lora.targets         ? "lora.targets"
                      : c->lora.rslora        ? "lora.rslora"
                      : c->lora.dora          ? "lora.dora"
                      : c->lora.rank_pattern  ? "lora.rank_pattern"
                      : c->lora.alpha_pattern ? "lora.alpha_pattern"
                      : c->lora.modules       ? "lora.modules_to_save"
                      : c->lora.bias          ? "lora.bias"
                      : c->lora.alpha > 0     ? "lora.alpha"
                                              : NULL;
    if (own) {
        st = vkt__config_refuse(c, own, "is the adapter's own with lora.from: leave it out");
        goto fail;
    }
    vkt__arena *a = &c->priv->arena;
    c->lora = p.lora;
    c->lora.base = base;
    c->lora.dropout = dropout;
    c->lora.targets = vkt__arena_strdup(a, p.lora.targets);
    if (p.lora.modules) c->lora.modules = vkt__arena_strdup(a, p.lora.modules);
    if (p.lora.rank_pattern) c->lora.rank_pattern = vkt__arena_strdup(a, p.lora.rank_pattern);
    if (p.lora.alpha_pattern) c->lora.alpha_pattern = vkt__arena_strdup(a, p.lora.alpha_pattern);
    if (!c->init && p.base) c->init = vkt__arena_strdup(&c->priv->arena, p.base);
    if (!c->init || !vkt__file_exists(c->init))
        st = vkt__config_refuse(c, "lora.from",
                                "the adapter's base '%s' is not here: set `init` to its folder",
                                c->init ? c->init : "");
fail:
    vkt__peft_close(&p);
    return st;
}

/* Weights that were trained on ImageNet, as torchvision and timm ship them, expect pixels as they
 * were standardized there, in RGB. What the recipe sets stays. */
static vkt_status pixels_of_init(vkt_config *c)
{
    vkt_status st;
    vkt_source_info s;
    vkt_standardize how;
    const char *why, *file = vkt__timm_file(&c->priv->arena, c->init);
    if (!vkt_source_find(c->data.source, &s) || s.kinds != VKT_DATA_KIND_PICTURES) return VKT_OK;
    if (file) c->init = file;
    if (c->data.standardize != VKT_STANDARDIZE_AUTO || !vkt__is_weights_file(c->init))
        return VKT_OK;
    VKT_TRY(vkt__pretrained_pixels(c->init, &how, &why));
    if (how == VKT_STANDARDIZE_AUTO) return VKT_OK;
    c->data.standardize = how;
    if (c->data.color == VKT_PICTURE_COLOR_AUTO) c->data.color = VKT_PICTURE_COLOR_RGB;
    vkt_log(VKT_LOG_INFO, "train", "pixels for '%s' get data.standardize: %s (%s)", c->init,
            how == VKT_STANDARDIZE_IMAGENET ? "imagenet" : "symmetric", why);
fail:
    return st;
}

/* The layer is one of those that are trained in full beside adapters. */
static void save_module(vkt_config *c, const char *layer)
{
    const char *words = c->lora.modules;
    vkt__arena *a = &c->priv->arena;
    for (const char *p = words; p && *(p += strspn(p, ", ")); p += strcspn(p, ", "))
        if (strcspn(p, ", ") == strlen(layer) && !strncmp(p, layer, strlen(layer))) return;
    c->lora.modules =
        words ? vkt__arena_printf(a, "%s, %s", words, layer) : vkt__arena_strdup(a, layer);
}

/* The weights of classes are no base's: an adapter has its own. */
static void save_score(vkt_config *c)
{
    if (c->lora.rank && c->n_layers && c->layers[0].transformer.score) save_module(c, "score");
}

/* Tokens that the tokenizer of `init` lacks: its model gets rows for them, which are trained. */
static vkt_status add_tokens(vkt_config *c)
{
    vkt_status st;
    vkt_tokenizer *t = NULL;
    const char *spec = c->data.tokenizer ? c->data.tokenizer : "bytes";
    bool model = c->init && c->n_layers && !strcmp(c->layers[0].type, "transformer");
    if (!c->data.added_tokens || !model || !strcmp(spec, "chars")) return VKT_OK;
    VKT_TRY(vkt_tokenizer_open(spec, &t));
    uint32_t before = vkt_tokenizer_get_info(t)->n_vocab;
    VKT_TRY(vkt__tokenizer_extend(&t, c->data.added_tokens));
    uint32_t after = vkt_tokenizer_get_info(t)->n_vocab;
    if (before <= c->data.vocab) c->data.vocab = VKT_MAX(c->data.vocab, after);
    if (after == before) {
        vkt_log(VKT_LOG_INFO, "config", "data.added_tokens: '%s' has all of them", spec);
        goto fail;
    }
    const vkt_transformer *m = &c->layers[0].transformer;
    const vkt__naming *names = vkt__naming_for(m);
    if (c->lora.rank && names) {
        save_module(c, strrchr(names->embedding, '.') + 1);
        if (m->untied && !m->score) save_module(c, names->head);
    }
    vkt_log(VKT_LOG_INFO, "config", "data.added_tokens: %u new, ids from %u on%s%s", after - before,
            before, c->lora.rank ? "; beside the adapters are trained in full: " : "",
            c->lora.rank ? c->lora.modules : "");
fail:
    vkt_tokenizer_destroy(&t);
    return st;
}

/* ---- the configuration ---- */

/* A recipe without a model has that of `init`; one with a model may have what its weights expect.
 */
static vkt_status take_init(vkt_config *c)
{
    vkt_status st = VKT_OK;
    if (!c->init) return VKT_OK;
    if (vkt__is_onnx(c->init)) return vkt__onnx_init(c);
    if (c->n_layers) return c->data.source ? pixels_of_init(c) : VKT_OK;
    if (!vkt__is_peft_folder(c->init) && !vkt__checkpoint_is(c->init))
        VKT_TRY(vkt__adapter_refuse(c->init));
    if (!vkt__is_dir(c->init) && !vkt__is_model(c->init))
        return vkt__config_refuse(
            c, "init", "'%s' does not describe a model: add a `model` list to the recipe", c->init);
    if (!c->data.source) return VKT_OK; /* the check says so */
    return vkt__is_model(c->init) ? vkt__hf_folder_apply(c) : init_of_run(c);
fail:
    return st;
}

/* From the files that `lora.from` and `init` name, then from the options themselves. */
static vkt_status resolve(vkt_config *c)
{
    vkt_status st = VKT_OK;
    if (c->lora_from && !c->lora.rank) VKT_TRY(lora_of_folder(c));
    VKT_TRY(take_init(c));
    VKT_TRY(vkt__onnx_sums(c));
    if (c->lora.base == VKT_QUANT_FILE && (!c->init || !vkt__is_gguf(c->init)))
        return vkt__config_refuse(c, "lora.base", "file is for an `init` that is a GGUF file");
    save_score(c);
    VKT_TRY(add_tokens(c));
    vkt__config_defaults(c);
fail:
    return st;
}

vkt_status vkt_config_finish(vkt_config *c)
{
    vkt_status st = resolve(c);
    return st == VKT_OK ? vkt__config_check(c) : st;
}
