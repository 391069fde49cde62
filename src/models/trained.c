/* trained.h */
#include <jansson.h>

#include "models/trained.h"

#include "base/os.h"
#include "data/text/corpus.h"
#include "models/peft/adapter.h"
#include "models/huggingface/hf_folder.h"
#include "models/import.h"
#include "models/onnx_base.h"
#include "recipe/config.h"
#include "recipe/relocate.h"

/* What a run was trained on that had its examples in memory. */
static const vkt_arrays gone;

static vkt_status open_checkpoint(const char *path, vkt__trained *t)
{
    vkt_status st;
    char dir[1100];
    vkt_data_desc *data;
    VKT_TRY(vkt__checkpoint_find(path, dir, sizeof dir));
    VKT_TRY(vkt__checkpoint_open(dir, &t->ckpt));
    VKT_TRY(vkt_config_create(&t->config));
    VKT_TRY(vkt_config_parse(t->config, t->ckpt->state.config, strlen(t->ckpt->state.config), dir));
    data = &t->config->data;
    if (data->source && !strcmp(data->source, "npy") && !data->path) data->arrays = &gone;
    vkt__config_defaults(t->config); /* of options that it is too old to have */
    VKT_TRY(vkt__config_check(t->config));
    vkt__layer_paths_from(t->config->layers, t->config->n_layers, t->ckpt->state.folder, &t->arena);
    if (t->ckpt->state.has_base && t->config->init)
        t->config->init = vkt__path_from(t->config->init, t->ckpt->state.folder, &t->arena);
    t->lora = t->config->lora;
    t->config->lora = (vkt_lora) { 0 };
    t->dir = t->ckpt->dir;
    t->schema = t->ckpt->state.schema;
fail:
    return st;
}

/* A folder has no recipe: its configuration has the defaults of one of text. No run is made of it,
 * so that there is nothing to check. */
static vkt_status folder_config(const char *path, vkt_config **out)
{
    vkt_status st;
    vkt_config *c;
    VKT_TRY(vkt_config_create(out));
    c = *out;
    c->source = c->init = vkt__arena_strdup(&c->priv->arena, path);
    c->name = "folder";
    c->batch = 1;
    c->data.source = "text";
    VKT_TRY(vkt__hf_folder_apply(c));
    vkt__config_defaults(c);
    c->data.context = VKT_MIN(c->layers[0].transformer.context, VKT__FOLDER_CONTEXT);
    if (!c->data.tokenizer)
        st = vkt__fail(VKT_E_FORMAT, "model",
                       "'%s' has no tokenizer: neither tokenizer.json nor "
                       "vocab.json",
                       path);
fail:
    return st;
}

static vkt_status make_schema(vkt__trained *t)
{
    vkt_status st;
    vkt_tokenizer *tokenizer = NULL;
    vkt__schema schema;
    const vkt_data_desc *d = &t->config->data;
    VKT_TRY(vkt_tokenizer_open(d->tokenizer, &tokenizer));
    VKT_TRY(vkt__text_schema(tokenizer, d->context, d->vocab, &t->arena, &schema));
    VKT_TRY(vkt__schema_print(&schema, &t->arena, &t->schema));
fail:
    vkt_tokenizer_destroy(&tokenizer);
    return st;
}

static vkt_status open_folder(const char *path, vkt__trained *t)
{
    vkt_status st;
    VKT_TRY(folder_config(path, &t->config));
    VKT_TRY(make_schema(t));
    t->dir = vkt__arena_strdup(&t->arena, path);
fail:
    return st;
}

static vkt_status open_plain(const char *path, vkt__trained *t)
{
    return vkt__is_model(path) ? open_folder(path, t) : open_checkpoint(path, t);
}

/* An adapter that was trained with more tokens than its base has, has their tokenizer and tables
 * beside it. */
static vkt_status take_tokenizer(const char *path, vkt__trained *t)
{
    vkt_data_desc *d = &t->config->data;
    uint64_t rows = vkt__peft_rows(&t->peft);
    if (rows <= d->vocab || rows > 1u << 24 ||
        vkt__file_size(vkt__arena_printf(&t->arena, "%s/tokenizer.json", path)) < 0)
        return VKT_OK;
    t->new_rows = (uint32_t)rows - d->vocab;
    d->vocab = (uint32_t)rows;
    d->tokenizer = vkt__arena_strdup(&t->config->priv->arena, path);
    return make_schema(t);
}

static vkt_status open_adapter(const char *path, vkt__trained *t)
{
    vkt_status st;
    VKT_TRY(vkt__peft_open(path, &t->peft));
    const char *base = t->peft.base ? t->peft.base : "";
    if ((!vkt__is_dir(base) && !vkt__is_model(base)) || vkt__is_peft_folder(base)) {
        st = vkt__fail(VKT_E_IO, "model",
                       "'%s' is an adapter, but its base '%s' is not a folder of a model: set "
                       "base_model_name_or_path in its adapter_config.json to the path of one",
                       path, vkt__show(base).s);
        goto fail;
    }
    VKT_TRY(open_plain(base, t));
    if (!t->ckpt) VKT_TRY(take_tokenizer(path, t));
fail:
    return st;
}

vkt_status vkt__trained_open(const char *path, vkt__trained *t)
{
    *t = (vkt__trained) { 0 };
    return vkt__is_peft_folder(path) ? open_adapter(path, t) : open_plain(path, t);
}

vkt_status vkt__trained_set_context(vkt__trained *t, uint32_t context)
{
    vkt_data_desc *d = &t->config->data;
    vkt_layer *l = t->config->layers;
    if (!context) return VKT_OK;
    if (!t->config->n_layers || !l->type || strcmp(l->type, "transformer") != 0 ||
        l->transformer.score)
        return vkt__fail(VKT_E_ARG, "model", "'%s' is no language model: it has no context to set",
                         t->dir);
    uint32_t positions = VKT_MAX(l->transformer.context, d->context);
    if (context > positions)
        return vkt__fail(VKT_E_ARG, "model", "a context of %u is too long: '%s' has %u positions",
                         context, t->dir, positions);
    json_t *schema = json_loads(t->schema, 0, NULL);
    json_object_set_new(schema, "context", json_integer(context));
    char *text = json_dumps(schema, JSON_COMPACT);
    json_decref(schema);
    if (!text) return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for the model's description");
    l->transformer.context = positions; /* learned ones stay as many as there are */
    d->context = context;
    t->schema = vkt__arena_strdup(&t->arena, text);
    free(text);
    return VKT_OK;
}

void vkt__trained_close(vkt__trained *t)
{
    vkt__peft_close(&t->peft);
    vkt_config_destroy(&t->config);
    vkt__checkpoint_close(&t->ckpt);
    vkt__arena_finish(&t->arena);
}

uint32_t vkt__trained_n_vocab(const vkt__trained *t, const vkt_tokenizer *tokenizer)
{
    return VKT_MAX(t->config->data.vocab, vkt_tokenizer_get_info(tokenizer)->n_vocab);
}

vkt__import_how vkt__import_all_of(const vkt_config *c)
{
    static const char separators[] = ", ";
    vkt__import_how how = { .all = true };
    const char *p = c->data.added_tokens;
    for (; p && *(p += strspn(p, separators)); p += strcspn(p, separators)) how.new_rows++;
    return how;
}

/* What the checkpoint does not hold comes from where the run began, and is what it was; what it
 * does, layers trained in full beside an adapter, is its own. */
static vkt_status fill_base(const vkt__trained *t, const vkt__st_tensor *all, size_t n, bool raw)
{
    vkt_status st;
    const char *init = t->config->init, *name = vkt__config_base(t->config);
    vkt__st_tensor *base = vkt__alloc(n * sizeof *base), *own = vkt__alloc(n * sizeof *own);
    size_t n_base = 0, n_own = 0, at;
    for (size_t i = 0; i < n; i++) {
        bool is_own = vkt__safetensors_find(t->ckpt->model, all[i].name, &at);
        *(is_own ? &own[n_own++] : &base[n_base++]) = all[i];
    }
    if (!vkt__file_exists(name)) {
        st = vkt__fail(VKT_E_IO, "checkpoint",
                       "'%s' holds only an adapter, and its base '%s' is missing: put it there, or "
                       "run vktrain in the folder that this path is relative to",
                       t->ckpt->dir, name);
        goto fail;
    }
    VKT_TRY(init ? vkt__weights_import(init, all, n, vkt__import_all_of(t->config))
                 : vkt__onnx_numbers(t->config, base, n_base));
    if (t->ckpt->state.base_crc != vkt__st_crc(0, base, n_base)) {
        st = vkt__fail(VKT_E_FORMAT, "checkpoint",
                       "'%s' holds only an adapter, and the weights of its base '%s' have changed "
                       "since it was trained",
                       t->ckpt->dir, name);
        goto fail;
    }
    VKT_TRY(vkt__checkpoint_load(t->ckpt, raw, own, n_own, true));
fail:
    free(base);
    free(own);
    return st;
}

static vkt_status fill_plain(const vkt__trained *t, const vkt__st_tensor *tensors, size_t n,
                             bool raw)
{
    vkt_status st;
    vkt__arena a = { 0 };
    vkt__adapter_place *places;
    if (!t->ckpt)
        return vkt__weights_import(t->dir, tensors, n, (vkt__import_how) { true, t->new_rows });
    if (!t->lora.rank) return vkt__checkpoint_load(t->ckpt, raw, tensors, n, true);
    VKT_TRY(fill_base(t, tensors, n, raw));
    VKT_TRY(vkt__onnx_places(t->config, &a, &places));
    vkt__checkpoint_place own = vkt__checkpoint_weights(t->ckpt, raw);
    st = vkt__adapter_merge(own.file, own.prefix, &t->lora, places, tensors, n);
fail:
    vkt__arena_finish(&a);
    return st;
}

/* Some or all of the model's tensors. */
static vkt_status fill(const vkt__trained *t, const vkt__st_tensor *tensors, size_t n, bool raw)
{
    vkt_status st = fill_plain(t, tensors, n, raw);
    if (st != VKT_OK || !t->peft.tensors) return st;
    return vkt__peft_merge(&t->peft, tensors, n);
}

vkt_status vkt__trained_fill(const vkt__trained *t, const vkt__st_tensor *tensors, size_t n,
                             bool raw)
{
    vkt_status st;
    VKT_TRY(fill(t, tensors, n, raw));
    if (!t->ckpt) VKT_TRY(vkt__import_check(t->dir, tensors, n));
    st = vkt__weights_check_finite(t->dir, tensors, n);
fail:
    return st;
}

vkt_status vkt__trained_check_adapter(const vkt__trained *t, const char *path, const char *whole)
{
    if (t->peft.tensors)
        return vkt__fail(VKT_E_ARG, "export",
                         "'%s' is an adapter in PEFT's format, not a run that trained one: %s "
                         "exports its base with it merged",
                         path, whole);
    if (!t->ckpt)
        return vkt__fail(VKT_E_ARG, "export",
                         "'%s' is a model, not a run that trained an adapter: give the run, or "
                         "export the whole model with %s",
                         path, whole);
    if (t->lora.rank) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "export",
                     "'%s' trained no adapter: set lora.rank, or export the whole model with %s",
                     path, whole);
}

vkt_status vkt__trained_classes(const vkt__trained *t, vkt__arena *arena, vkt__schema *out)
{
    vkt_status st = vkt__schema_parse(t->schema, arena, out);
    if (st == VKT_OK && (out->task != VKT_TASK_CLASSIFY || !out->tokenizer || !out->class_values))
        st = vkt__fail(VKT_E_ARG, "model", "'%s' is no model of classes of texts", t->dir);
    return st;
}

vkt_status vkt__trained_text(const vkt__trained *t, const vkt_tokenizer *tokenizer,
                             vkt_model **model, vkt__weights *weights)
{
    vkt_status st;
    const vkt_config *c = t->config;
    vkt__arena arena = { 0 };
    vkt__schema schema;
    vkt_model_desc desc = { .layers = c->layers,
                            .n_layers = c->n_layers,
                            .input = vkt_shape1(c->data.context),
                            .n_outputs = vkt__trained_n_vocab(t, tokenizer),
                            .source = t->dir };
    if (c->layers[0].transformer.score) {
        VKT_TRY(vkt__trained_classes(t, &arena, &schema));
        desc.embed_rows = desc.n_outputs;
        desc.n_outputs = schema.n_outputs;
    }
    VKT_TRY(vkt_model_create(NULL, &desc, model));
    VKT_TRY(vkt__weights_create(*model, NULL, weights));
    VKT_TRY(vkt__trained_fill(t, weights->model, weights->n_model, false));
fail:
    vkt__arena_finish(&arena);
    return st;
}

/* An adapter's model, with rows of new tokens behind its own. */
static vkt_status fill_with_rows(const vkt__trained *t, const vkt__st_tensor *tensors, size_t n,
                                 uint32_t new_rows)
{
    uint64_t rows = t->config->data.vocab;
    vkt__st_tensor *own = vkt__alloc((n + 1) * sizeof *own);
    for (size_t i = 0; i < n; i++) {
        const vkt__st_tensor *x = &tensors[i];
        own[i] = *x;
        if (rows && vkt__has_token_rows(x) && x->shape[0] > rows && x->shape[0] - rows <= new_rows)
            own[i].shape[0] = rows;
    }
    vkt_status st = fill(t, own, n, false);
    for (size_t i = 0; i < n && st == VKT_OK; i++)
        if (own[i].shape[0] != tensors[i].shape[0]) vkt__fill_new_rows(&tensors[i], rows);
    free(own);
    return st;
}

/* Plain files are copied; a run or a checkpoint is opened, and its adapter merged, if it has one.
 */
vkt_status vkt__weights_import(const char *path, const vkt__st_tensor *t, size_t n,
                               vkt__import_how how)
{
    vkt_status st;
    vkt__trained base = { 0 };
    if (!vkt__is_dir(path) || vkt__is_hf_folder(path) ||
        (!vkt__checkpoint_is(path) && vkt__is_weights_folder(path)))
        return vkt__import_files(path, t, n, how);
    VKT_TRY(vkt__trained_open(path, &base));
    if (base.lora.rank || base.peft.tensors) {
        st = fill_with_rows(&base, t, n, how.new_rows);
        goto fail;
    }
    VKT_TRY(vkt__import_files(base.dir, t, n, how));
    if (base.ckpt) VKT_TRY(vkt__checkpoint_overlay(base.ckpt, false, t, n));
fail:
    vkt__trained_close(&base);
    return st;
}
