/* A study's life: what all kinds share before and after their trials. */
#include <math.h>
#include <stdio.h>

#include "study/study_run.h"

typedef struct kind {
    vkt_status (*check)(vkt_study *s);
    vkt_status (*run)(vkt_study *s);
} kind;
static const kind kinds[VKT_STUDY_N_KINDS] = {
    [VKT_STUDY_SEARCH] = { vkt__study_search_check, vkt__study_search },
    [VKT_STUDY_LR] = { vkt__study_lr_check, vkt__study_lr },
    [VKT_STUDY_WARMUP] = { vkt__study_warmup_check, vkt__study_warmup },
    [VKT_STUDY_CLIP] = { vkt__study_clip_check, vkt__study_clip },
    [VKT_STUDY_BATCH_SIZE] = { vkt__study_batch_size_check, vkt__study_batch_size },
    [VKT_STUDY_FOLDS] = { vkt__study_folds_check, vkt__study_folds },
    [VKT_STUDY_AUTO] = { vkt__study_auto_check, vkt__study_auto },
    [VKT_STUDY_DATA] = { vkt__study_data_check, vkt__study_data },
};

/* ---- the whole ---- */

static const char *default_dir(vkt_study *s)
{
    char t[32];
    vkt__time_iso(t);
    const char *base = vkt__study_text(s, "runs/%s-%s-%.4s%.2s%.2s-%.2s%.2s%.2s", s->name,
                                       vkt_study_kind_name(s->kind), t, t + 5, t + 8, t + 11,
                                       t + 14, t + 17),
               *dir = base;
    for (int i = 2; vkt__file_exists(dir); i++) dir = vkt__study_text(s, "%s-%d", base, i);
    return dir;
}

static vkt_status check_data(vkt_study *s)
{
    struct vkt__study_private *p = s->priv;
    vkt_dataset *data = NULL;
    vkt_data_desc desc = p->base->data;
    if (s->kind == VKT_STUDY_FOLDS) desc.folds = p->desc->folds, desc.fold = 0;
    vkt_status st = vkt_dataset_open(&desc, &data);
    if (st != VKT_OK) return st;
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    bool text = info->kind == VKT_DATA_KIND_TEXT;
    p->n_train = info->n[VKT_SPLIT_TRAIN];
    p->n_valid = info->n[VKT_SPLIT_VALID];
    p->n_test = info->n[VKT_SPLIT_TEST];
    p->has_classes = !text && info->task == VKT_TASK_CLASSIFY && info->n_outputs > 1;
    vkt_dataset_destroy(&data);
    if (text && s->kind == VKT_STUDY_DATA)
        return vkt__fail(
            VKT_E_ARG, "study",
            "a learning curve by data size is for tables and pictures: of a text train "
            "on a part of the files");
    if (!p->n_valid)
        return vkt__fail(VKT_E_ARG, "study",
                         "there are no validation examples: set data.valid_fraction");
    return VKT_OK;
}

/* Checks all devices of the trials before the folder is created. A resumed study has its folder
 * already, and perhaps no trial left to run. */
static vkt_status check_devices(const vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_gpu_desc gpu = d->gpu;
    vkt_status st = VKT_OK;
    if (d->resume) return VKT_OK;
    if (!gpu.device) gpu.device = s->priv->base->device;
    if (!d->n_devices) return vkt_gpu_check(&gpu);
    for (size_t i = 0; i < d->n_devices && st == VKT_OK; i++) {
        gpu.device = d->devices[i];
        st = vkt_gpu_check(&gpu);
    }
    return st;
}

static vkt_status prepare(vkt_study *s)
{
    struct vkt__study_private *p = s->priv;
    const vkt_study_desc *d = p->desc;
    vkt_status st = VKT_OK;
    char *data = NULL;
    size_t n;
    VKT_TRY(vkt__trial_config(s, NULL, 0, &p->base));
    p->base_yaml = vkt_config_yaml(p->base);
    s->name = p->base->name;
    s->note = d->note ? d->note : p->base->note;
    s->metric = p->base->metric;
    s->metric_sign = p->base->metric_sign;
    s->steps = p->base->schedule.steps;
    if (d->space) {
        VKT_TRY(vkt__file_read(d->space, 1 << 20, &data, &n));
        p->space = vkt__arena_strdup(&p->arena, data);
    }
    p->options = vkt__study_text(
        s,
        "trials=%u points=%u from=%g to=%g seeds=%u unstable_lr=%g factor=%g norms_from=%s "
        "target=%g%s",
        d->trials, d->points, d->from, d->to, d->repeats, d->unstable_lr, d->factor,
        d->norms_from ? d->norms_from : "-", d->has_target ? d->target : NAN,
        d->ramp ? " ramp" : "");
    if (s->kind == VKT_STUDY_FOLDS) {
        p->options = vkt__study_text(s, "folds=%u rounds=%u%s", d->folds, d->rounds,
                                     d->labels ? " labels" : "");
        for (size_t i = 0; i < d->n_against; i++)
            p->options = vkt__study_text(s, "%s %s", p->options, d->against[i]);
    }
    if (s->kind == VKT_STUDY_DATA) p->options = vkt__study_text(s, "seeds=%u", d->repeats);
    if (s->kind == VKT_STUDY_AUTO)
        p->options = vkt__study_text(s, "minutes=%g seeds=%u", d->minutes, d->repeats);
    VKT_TRY(check_data(s));
    vkt__git_checkout_of(d->recipe, &p->checkout);
    s->dir = d->dir ? vkt__arena_strdup(&p->arena, d->dir) : default_dir(s);
    VKT_TRY(kinds[s->kind].check(s));
    VKT_TRY(check_devices(s));
    VKT_TRY(vkt__study_open(s));
    if (!p->old) VKT_TRY(vkt__git_keep_diff(d->recipe, &p->checkout, s->dir));
fail:
    free(data);
    return st;
}

static vkt_status estimate(vkt_study *s)
{
    double most = 0, seconds;
    vkt_status st = VKT_OK;
    if (!s->n_trials) return VKT_OK;
    VKT_TRY(vkt__trial_estimate(s, s->trials[0].set, s->trials[0].n_set, &seconds));
    most = seconds;
    size_t at_a_time = VKT_MAX(s->priv->desc->n_devices, 1);
    s->estimate_s = most * (double)((s->n_trials + at_a_time - 1) / at_a_time);
fail:
    return st;
}

vkt_status vkt_study_run(const vkt_study_desc *desc, vkt_study **out)
{
    vkt_status st = VKT_OK;
    vkt_study_desc d = *desc;
    vkt_study *s = vkt__alloc(sizeof *s);
    s->priv = vkt__alloc(sizeof *s->priv);
    *out = NULL;
    if (!d.repeats) d.repeats = 3;
    if (!d.folds) d.folds = 5;
    if (!d.rounds) d.rounds = 1;
    s->priv->desc = &d;
    s->kind = d.kind;
    s->recipe = d.recipe;
    s->status = "running";
    s->estimate_s = NAN;
    if ((unsigned)d.kind >= VKT_STUDY_N_KINDS) {
        st = vkt__fail(VKT_E_ARG, "study", "there is no study number %d", (int)d.kind);
        goto fail;
    }
    VKT_TRY(prepare(s));
    st = kinds[d.kind].run(s);
    if (st == VKT_OK && d.dry_run) st = estimate(s);
    s->status = st == VKT_OK ? "done" : st == VKT_E_INTERRUPTED ? "interrupted" : "failed";
    for (size_t i = 0; i < s->n_trials; i++)
        if (s->trials[i].state == VKT_TRIAL_RUNNING) s->trials[i].state = VKT_TRIAL_INTERRUPTED;
    bool told = st != VKT_OK && st != VKT_E_INTERRUPTED; /* that it ended for that is enough */
    if (told) vkt__log_ignore(true);
    vkt_status saved = s->priv->lock ? vkt__study_save(s) : VKT_OK;
    if (told) vkt__log_ignore(false);
    if (st == VKT_OK) st = saved;
    if (st == VKT_OK || st == VKT_E_INTERRUPTED) {
        *out = s;
        s = NULL;
    }
fail:
    if (*out) {
        vkt__lock_release(&(*out)->priv->lock);
        (*out)->priv->desc = NULL;
    }
    vkt_study_destroy(&s);
    return st;
}

void vkt_study_destroy(vkt_study **s)
{
    if (!*s) return;
    struct vkt__study_private *p = (*s)->priv;
    vkt__lock_release(&p->lock);
    vkt_config_destroy(&p->base);
    free(p->base_yaml);
    json_decref(p->old);
    vkt__arena_finish(&p->arena);
    free((*s)->trials);
    free((void *)(*s)->columns);
    free((void *)(*s)->cells);
    free((void *)(*s)->advice);
    free((void *)(*s)->apply);
    free(p);
    free(*s);
    *s = NULL;
}
