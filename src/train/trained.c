/* trained.h */
#include "train/trained.h"

#include "base/os.h"
#include "train/adapter.h"
#include "train/import.h"

vkt_status vkt__trained_open(const char *path, vkt__trained *t)
{
    vkt_status st;
    char dir[1100];
    *t = (vkt__trained) { 0 };
    VKT_TRY(vkt__checkpoint_find(path, dir, sizeof dir));
    VKT_TRY(vkt__checkpoint_open(dir, &t->ckpt));
    VKT_TRY(vkt_config_create(&t->config));
    VKT_TRY(vkt_config_parse(t->config, t->ckpt->state.config, strlen(t->ckpt->state.config), dir));
    VKT_TRY(vkt_config_finish(t->config));
    t->lora = t->config->lora;
    t->config->lora = (vkt_lora) { 0 };
fail:
    return st;
}

void vkt__trained_close(vkt__trained *t)
{
    vkt_config_destroy(&t->config);
    vkt__checkpoint_close(&t->ckpt);
}

uint32_t vkt__trained_n_vocab(const vkt__trained *t, const vkt_tokenizer *tokenizer)
{
    return VKT_MAX(t->config->data.vocab, vkt_tokenizer_get_info(tokenizer)->n_vocab);
}

/* What the checkpoint does not hold comes from where the run began, and is what it was. */
static vkt_status fill_base(const vkt__trained *t, const vkt__st_tensor *all, size_t n)
{
    vkt_status st;
    const char *init = t->config->init;
    vkt__st_tensor *base = vkt__alloc(n * sizeof *base), *own = vkt__alloc(n * sizeof *own);
    size_t n_base = 0, n_own = 0, at;
    for (size_t i = 0; i < n; i++) {
        bool is_own = vkt__safetensors_find(t->ckpt->model, all[i].name, &at);
        *(is_own ? &own[n_own++] : &base[n_base++]) = all[i];
    }
    if (!vkt__file_exists(init)) {
        st = vkt__fail(VKT_IO, "checkpoint",
                       "'%s' holds an adapter only, and its base '%s' is not there", t->ckpt->dir,
                       init);
        goto fail;
    }
    VKT_TRY(vkt__weights_import(init, base, n_base, true));
    if (t->ckpt->state.base_crc != vkt__st_crc(base, n_base)) {
        st = vkt__fail(VKT_FORMAT, "checkpoint",
                       "'%s' holds an adapter only, and the weights of its base '%s' are no longer "
                       "those that it was trained beside",
                       t->ckpt->dir, init);
        goto fail;
    }
    VKT_TRY(vkt__safetensors_load(t->ckpt->model, own, n_own, true));
fail:
    free(base);
    free(own);
    return st;
}

vkt_status vkt__trained_fill(const vkt__trained *t, const vkt__st_tensor *tensors, size_t n,
                             bool raw)
{
    vkt_status st;
    bool average = t->config->optim.ema > 0 && !raw;
    if (!t->lora.rank) {
        VKT_TRY(vkt__safetensors_load(t->ckpt->model, tensors, n, true));
        return average ? vkt__checkpoint_load_average(t->ckpt->optim, tensors, n) : VKT_OK;
    }
    VKT_TRY(fill_base(t, tensors, n));
    return vkt__adapter_merge(average ? t->ckpt->optim : t->ckpt->model, average ? "ema." : "",
                              vkt_lora_scale(&t->lora), tensors, n);
fail:
    return st;
}

vkt_status vkt__trained_text(const vkt__trained *t, const vkt_tokenizer *tokenizer,
                             vkt_model **model, vkt__weights *weights)
{
    vkt_status st;
    const vkt_config *c = t->config;
    vkt_model_desc desc = { .layers = c->layers,
                            .n_layers = c->n_layers,
                            .input = vkt_shape1(c->data.context),
                            .n_outputs = vkt__trained_n_vocab(t, tokenizer),
                            .source = t->ckpt->dir };
    VKT_TRY(vkt_model_create(NULL, &desc, model));
    VKT_TRY(vkt__weights_create(*model, NULL, weights));
    VKT_TRY(vkt__trained_fill(t, weights->model, weights->n_model, false));
fail:
    return st;
}
