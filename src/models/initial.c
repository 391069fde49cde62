/* initial.h: at random, or what `init` names, and into the adapters what `lora.from` names. */
#include <math.h>
#include <stdio.h>

#include "base/quant.h"
#include "models/gguf/gguf_model.h"
#include "models/initial.h"
#include "models/initial_names.h"
#include "models/import.h"
#include "models/onnx_base.h"
#include "models/peft/peft.h"
#include "models/trained.h"
#include "nn/frozen.h"
#include "nn/lora.h"
#include "nn/onnx_net.h"

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Loads the weights of lora.from into the model's adapter. */
static vkt_status load_adapter(const vkt_config *c, vkt__weights *w)
{
    vkt_status st;
    vkt__peft p;
    VKT_TRY(vkt__peft_open(c->lora_from, &p));
    bool scaled = fabsf(vkt_lora_scale(&p.lora) - vkt_lora_scale(&c->lora)) <=
                  1e-6f * vkt_lora_scale(&c->lora);
    if (p.lora.rank != c->lora.rank || (!scaled && p.lora.alpha != c->lora.alpha)) {
        st = vkt__fail(VKT_E_ARG, "model",
                       "'%s' has rank %u and alpha %g, the recipe rank %u and alpha %g: leave both "
                       "out with lora.from",
                       c->lora_from, p.lora.rank, (double)p.lora.alpha, c->lora.rank,
                       (double)c->lora.alpha);
        goto fail;
    }
    const char *other = !scaled                                              ? "rslora"
                        : !same(p.lora.rank_pattern, c->lora.rank_pattern)   ? "rank_pattern"
                        : !same(p.lora.alpha_pattern, c->lora.alpha_pattern) ? "alpha_pattern"
                        : !same(p.lora.modules, c->lora.modules)             ? "modules_to_save"
                        : p.lora.bias != c->lora.bias                        ? "bias"
                        : p.lora.dora != c->lora.dora                        ? "dora"
                                                                             : NULL;
    if (other) {
        st = vkt__fail(VKT_E_ARG, "model",
                       "lora.%s is not what the adapter '%s' has: leave it out with lora.from",
                       other, c->lora_from);
        goto fail;
    }
    VKT_TRY(vkt__peft_load(&p, w->saved, w->n_saved - w->n_states, w->model, w->n_model));
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

/* DoRA's magnitudes begin as the norms of the rows that the device has, of few bits as those are
 * unpacked. */
static vkt_status begin_magnitude(const vkt_config *c, const vkt_model *m, vkt__weights *w,
                                  size_t i)
{
    const vkt__st_tensor *t = &w->base[i];
    const vkt__onnx_linear *of = vkt__onnx_adapted(m, w->base_param[i]);
    bool in_first = of && of->in_first;
    char name[200];
    size_t n = strlen(t->name), end = strlen(".weight");
    if (!c->lora.dora || t->rank != 2 || (n <= end && !of)) return VKT_OK;
    snprintf(name, sizeof name, "%.*s.lora_magnitude_vector", of ? 180 : (int)(n - end),
             of ? of->module : t->name);
    for (size_t k = 0; k < w->n_saved; k++) {
        if (strcmp(w->saved[k].name, name) != 0) continue;
        vkt_status st = vkt__weights_thaw(m, w, i);
        if (st == VKT_OK)
            vkt__lora_norms(t->data, t->shape[in_first], t->shape[!in_first], in_first,
                            w->saved[k].data);
        return st;
    }
    return VKT_OK;
}

/* Moves base[i] to the device. Where the device keeps a GGUF file's types, it gets the file's
 * words. */
static vkt_status freeze(const vkt_config *c, vkt_model *m, const vkt__weights *w, size_t i)
{
    const vkt_param *p = vkt_model_param(m, w->base_param[i]);
    bool done = false;
    if (c->lora.base != VKT_QUANT_FILE || !p->quant || p->order != VKT_PARAM_ORDER_SHAPE)
        return vkt__weights_freeze(m, w, i);
    uint32_t *words = calloc(vkt__quant_words(p->quant, p->count), sizeof *words);
    if (!words) return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for '%s'", p->name);
    vkt_status st = vkt__gguf_base_words(c->init, p->name, p->quant, words, &done);
    if (st == VKT_OK)
        st = done ? vkt__frozen_write_words(m, w->base_param[i], words)
                  : vkt__weights_freeze(m, w, i);
    free(words);
    return st;
}

static vkt_status import_one(const vkt_config *c, vkt_model *m, vkt__weights *w, size_t i)
{
    vkt_status st;
    VKT_TRY(vkt__weights_hold(w, i));
    VKT_TRY(vkt__weights_import(c->init, &w->base[i], 1, vkt__import_all_of(c)));
    VKT_TRY(vkt__weights_check_finite(c->init, &w->base[i], 1));
    w->base_crc = vkt__st_crc(w->base_crc, &w->base[i], 1);
    VKT_TRY(freeze(c, m, w, i));
    VKT_TRY(begin_magnitude(c, m, w, i));
fail:
    vkt__weights_drop(w, i);
    return st;
}

static bool is_adapter(const vkt__st_tensor *t)
{
    return strstr(t->name, ".lora_") != NULL;
}

/* What is trained in full beside the adapters begins as the base's, too. Out of a folder each
 * weight alone, so that they are never all in host memory. */
static vkt_status import_base(const vkt_config *c, vkt_model *m, vkt__weights *w)
{
    vkt_status st = VKT_OK;
    size_t n = 0;
    vkt__st_tensor *all = vkt__alloc((w->n_base + w->n_saved) * sizeof *all);
    w->base_crc = 0;
    for (size_t i = 0; i < w->n_saved; i++)
        if (!is_adapter(&w->saved[i])) all[n++] = w->saved[i];
    if (!c->init) n = 0; /* what no file has begins at random */
    if (c->init && vkt__is_model(c->init)) {
        if (n) VKT_TRY(vkt__weights_import(c->init, all, n, vkt__import_all_of(c)));
        for (size_t i = 0; i < w->n_base && st == VKT_OK; i++) st = import_one(c, m, w, i);
        goto fail;
    }
    VKT_TRY(vkt__weights_hold_all(w));
    memcpy(all + n, w->base, w->n_base * sizeof *all);
    VKT_TRY(c->init ? vkt__weights_import(c->init, all, n + w->n_base, vkt__import_all_of(c))
                    : vkt__onnx_numbers(c, all, w->n_base));
    VKT_TRY(vkt__weights_check_finite(vkt__config_base(c), w->base, w->n_base));
    w->base_crc = vkt__st_crc(0, w->base, w->n_base);
    for (size_t i = 0; i < w->n_base; i++) {
        VKT_TRY(vkt__weights_freeze(m, w, i));
        VKT_TRY(begin_magnitude(c, m, w, i));
    }
fail:
    vkt__weights_drop_all(w);
    free(all);
    return st;
}

static vkt_status initial_adapters(const vkt_config *c, vkt_model *m, vkt__weights *w)
{
    vkt_status st;
    VKT_TRY(vkt__model_init_trained(m, c->seed));
    VKT_TRY(vkt__weights_download(vkt_model_gpu(m), m, NULL, w));
    VKT_TRY(import_base(c, m, w));
    if (c->lora_from) VKT_TRY(load_adapter(c, w));
    VKT_TRY(vkt__weights_check_finite(c->lora_from ? c->lora_from : vkt__config_base(c), w->saved,
                                      w->n_saved));
fail:
    return st;
}

vkt_status vkt__weights_of_base(const vkt_config *c, vkt_model *m, vkt__weights *w)
{
    vkt_status st;
    VKT_TRY(import_base(c, m, w));
    if (c->init) VKT_TRY(check_folder(c->init, w));
fail:
    return st;
}

/* The tensors that are not filled yet, from files. */
static vkt_status import_rest(const vkt_config *c, bool all, const vkt__by_name *by,
                              vkt__weights *w)
{
    size_t n = 0;
    vkt__st_tensor *rest = vkt__alloc((w->n_model + 1) * sizeof *rest);
    for (size_t i = 0; i < w->n_model; i++) {
        size_t k = 0;
        while (k < by->n && strcmp(by->tensor[k], w->model[i].name) != 0) k++;
        if (k == by->n) rest[n++] = w->model[i];
    }
    vkt__import_how how = vkt__import_all_of(c);
    how.all = all;
    how.filled = by->tensor;
    how.n_filled = by->n;
    vkt_status st = vkt__weights_import(c->init, rest, n, how);
    free(rest);
    return st;
}

vkt_status vkt__weights_initial(const vkt_config *c, const char *schema, vkt_model *m,
                                vkt__weights *w)
{
    vkt_status st;
    vkt__by_name by = { 0 };
    if (!c->init && !w->n_base) return vkt_model_init(m, c->seed);
    bool all = w->n_base || vkt__is_model(c->init);
    if (w->n_base) {
        if (c->init) VKT_TRY(vkt__match_names(c, schema, true, w, &by));
        VKT_TRY(initial_adapters(c, m, w));
    } else {
        VKT_TRY(vkt_model_init(m, c->seed));
        VKT_TRY(vkt__weights_download(vkt_model_gpu(m), m, NULL, w));
        VKT_TRY(vkt__match_names(c, schema, false, w, &by));
        VKT_TRY(import_rest(c, all, &by, w));
        VKT_TRY(vkt__weights_check_finite(c->init, w->model, w->n_model));
    }
    if (c->init) VKT_TRY(check_folder(c->init, w));
    VKT_TRY(vkt__weights_upload(vkt_model_gpu(m), m, NULL, w));
    if (all)
        vkt_log(VKT_LOG_INFO, "train", "training starts with the weights of '%s'",
                vkt__config_base(c));
fail:
    vkt__by_name_finish(&by);
    return st;
}
