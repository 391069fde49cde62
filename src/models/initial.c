/* initial.h: at random, or what `init` names, and into the adapters what `lora.from` names. */
#include "models/initial.h"
#include "models/import.h"
#include "models/peft.h"
#include "models/trained.h"
#include "nn/params.h"

/* Loads the weights of lora.from into the model's adapter. */
static vkt_status load_adapter(const vkt_config *c, vkt__weights *w)
{
    vkt_status st;
    vkt__peft p;
    VKT_TRY(vkt__peft_open(c->lora_from, &p));
    if (p.lora.rank != c->lora.rank || p.lora.alpha != c->lora.alpha) {
        st = vkt__fail(VKT_E_ARG, "model",
                       "'%s' has rank %u and alpha %g, the recipe rank %u and alpha %g: leave both "
                       "out with lora.from",
                       c->lora_from, p.lora.rank, (double)p.lora.alpha, c->lora.rank,
                       (double)c->lora.alpha);
        goto fail;
    }
    VKT_TRY(vkt__peft_load(&p, w->saved, w->n_saved - w->n_states));
fail:
    vkt__peft_close(&p);
    return st;
}

/* The folder that `init` is, or the base of the adapter that it is, holds this model and no other.
 */
static vkt_status check_folder(const char *init, const vkt__weights *w)
{
    vkt_status st = VKT_OK;
    vkt__trained t = { 0 };
    if (vkt__is_model(init)) return vkt__import_check(init, w->model, w->n_model);
    if (!vkt__is_peft_folder(init)) return VKT_OK;
    VKT_TRY(vkt__trained_open(init, &t));
    if (!t.ckpt) VKT_TRY(vkt__import_check(t.dir, w->model, w->n_model));
fail:
    vkt__trained_close(&t);
    return st;
}

static vkt_status import_one(const char *init, vkt_model *m, vkt__weights *w, size_t i)
{
    vkt_status st;
    VKT_TRY(vkt__weights_hold(w, i));
    VKT_TRY(vkt__weights_import(init, &w->base[i], 1, true));
    VKT_TRY(vkt__weights_check_finite(init, &w->base[i], 1));
    w->base_crc = vkt__st_crc(w->base_crc, &w->base[i], 1);
    VKT_TRY(vkt__weights_freeze(m, w, i));
fail:
    vkt__weights_drop(w, i);
    return st;
}

/* The frozen weights; out of a folder one by one, so that they are never all in host memory. */
static vkt_status import_base(const char *init, vkt_model *m, vkt__weights *w)
{
    vkt_status st = VKT_OK;
    w->base_crc = 0;
    if (vkt__is_model(init)) {
        for (size_t i = 0; i < w->n_base && st == VKT_OK; i++) st = import_one(init, m, w, i);
        return st;
    }
    VKT_TRY(vkt__weights_hold_all(w));
    VKT_TRY(vkt__weights_import(init, w->base, w->n_base, true));
    VKT_TRY(vkt__weights_check_finite(init, w->base, w->n_base));
    w->base_crc = vkt__st_crc(0, w->base, w->n_base);
    for (size_t i = 0; i < w->n_base; i++) VKT_TRY(vkt__weights_freeze(m, w, i));
fail:
    vkt__weights_drop_all(w);
    return st;
}

static vkt_status initial_adapters(const vkt_config *c, vkt_model *m, vkt__weights *w)
{
    vkt_status st;
    VKT_TRY(vkt__model_init_trained(m, c->seed));
    VKT_TRY(vkt__weights_download(vkt_model_gpu(m), m, NULL, w));
    VKT_TRY(import_base(c->init, m, w));
    if (w->n_states)
        VKT_TRY(
            vkt__weights_import(c->init, w->saved + w->n_saved - w->n_states, w->n_states, true));
    if (c->lora_from) VKT_TRY(load_adapter(c, w));
    VKT_TRY(vkt__weights_check_finite(c->lora_from ? c->lora_from : c->init, w->saved, w->n_saved));
fail:
    return st;
}

vkt_status vkt__weights_initial(const vkt_config *c, vkt_model *m, vkt__weights *w)
{
    vkt_status st;
    if (!c->init) return vkt_model_init(m, c->seed);
    bool all = w->n_base || vkt__is_model(c->init);
    if (w->n_base) {
        VKT_TRY(initial_adapters(c, m, w));
    } else {
        VKT_TRY(vkt_model_init(m, c->seed));
        VKT_TRY(vkt__weights_download(vkt_model_gpu(m), m, NULL, w));
        VKT_TRY(vkt__weights_import(c->init, w->model, w->n_model, all));
        VKT_TRY(vkt__weights_check_finite(c->init, w->model, w->n_model));
    }
    VKT_TRY(check_folder(c->init, w));
    VKT_TRY(vkt__weights_upload(vkt_model_gpu(m), m, NULL, w));
    if (all) vkt_log(VKT_LOG_INFO, "train", "training starts with the weights of '%s'", c->init);
fail:
    return st;
}
