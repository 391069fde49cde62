/* One trial: a run in the study's folder, resumed where it was killed, and what it says in numbers.
 * A trial that diverges or does not fit is a result, not an error. */
#include <math.h>
#include <stdio.h>

#include "study/study_run.h"
#include "train/curve.h"
#include "train/run.h"

vkt_status vkt__trial_config(const vkt_study *s, const char *const *set, size_t n_set,
                             vkt_config **out)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_status st = VKT_OK;
    vkt_config *c = NULL;
    char steps[48];
    VKT_TRY(vkt_config_create(&c));
    VKT_TRY(vkt_config_load(c, d->recipe));
    VKT_TRY(vkt_config_set(c, "checkpoint.keep=1")); /* many trials, one of them is wanted */
    for (size_t i = 0; i < d->n_set; i++) VKT_TRY(vkt_config_set(c, d->set[i]));
    if (d->steps) {
        snprintf(steps, sizeof steps, "train.steps=%llu", (unsigned long long)d->steps);
        VKT_TRY(vkt_config_set(c, steps));
    }
    for (size_t i = 0; i < n_set; i++) VKT_TRY(vkt_config_set(c, set[i]));
    VKT_TRY(vkt_config_finish(c));
    *out = c;
    return VKT_OK;
fail:
    vkt_config_destroy(&c);
    return st;
}

/* ---- what the run says ---- */

static bool evaluated_between(const vkt_history *h, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < h->n_evals; i++)
        if (h->evals[i].step >= from && h->evals[i].step < to) return true;
    return false;
}

/* Seconds of a step after the first fifth, without those that had an evaluation before them. Steps
 * may come in bunches, so means of up to 20 stretches are taken; of those the lower quartile, since
 * other programs only ever add time. */
static double step_seconds(const vkt_history *h)
{
    enum { STRETCHES = 20 };
    double *dt = vkt__alloc((h->n_steps + 1) * sizeof *dt), mean[STRETCHES];
    size_t n = 0, k = 0;
    for (size_t i = VKT_MAX(h->n_steps / 5, 1); i < h->n_steps; i++) {
        double d = h->steps[i].seconds - h->steps[i - 1].seconds;
        if (d >= 0 && !evaluated_between(h, h->steps[i - 1].step, h->steps[i].step)) dt[n++] = d;
    }
    for (; k < STRETCHES && n; k++) {
        size_t from = k * n / STRETCHES, to = VKT_MAX((k + 1) * n / STRETCHES, from + 1);
        mean[k] = 0;
        for (size_t i = from; i < to; i++) mean[k] += dt[i] / (double)(to - from);
    }
    free(dt);
    return vkt__quantile(mean, k, 0.25);
}

static vkt_status read_outcome(vkt_study *s, const vkt_config *c, const char *dir,
                               vkt_study_trial *t)
{
    vkt_history *h = NULL;
    vkt_status st = vkt_history_load(dir, &h);
    if (st != VKT_OK) return st;
    double *loss = vkt__alloc((h->n_steps + 1) * sizeof *loss);
    size_t tail = VKT_MIN(VKT_MAX(h->n_steps / 20, 5), h->n_steps), clipped = 0;
    for (size_t i = 0; i < h->n_steps; i++) {
        loss[i] = h->steps[i].updated || h->steps[i].overflow ? h->steps[i].loss : NAN;
        clipped += h->steps[i].clip < 1;
    }
    t->steps = h->n_steps;
    t->first_loss = h->n_steps ? loss[0] : NAN;
    t->final_loss = vkt__median(loss + h->n_steps - tail, tail);
    vkt__rise rise = vkt__curve_rise(loss, h->n_steps);
    t->rise = rise.rises ? rise.by : 0;
    t->clipped = h->n_steps ? (double)clipped / (double)h->n_steps : NAN;
    t->step_ms = 1e3 * step_seconds(h);
    t->items_per_s = 1e3 * c->batch * c->accumulate / t->step_ms;
    for (size_t i = 0; i < h->n_evals && s->priv->desc->has_target && !t->to_target; i++)
        if (strcmp(h->evals[i].split, "test") &&
            !vkt__study_better(s, s->priv->desc->target,
                               vkt_history_metric(&h->evals[i], s->metric)))
            t->to_target = h->evals[i].step;
    free(loss);
    vkt_history_destroy(&h);
    return VKT_OK;
}

/* ---- running it ---- */

static void stop_at_target(void *user, const vkt_progress *p)
{
    vkt_study *s = user;
    struct vkt__study_private *v = s->priv;
    if (!p->evaluated || !v->stop_metric || v->stopped_at_target) return;
    double value = !strcmp(v->stop_metric, "accuracy") ? p->eval_accuracy
                   : !strcmp(v->stop_metric, "mae")    ? p->eval_mae
                   : !strcmp(v->stop_metric, "loss")   ? p->eval_loss
                                                       : NAN; /* then the whole budget is run */
    if (isnan(value) || vkt__study_better(s, v->stop_target, value) || p->step == p->total) return;
    v->stopped_at_target = true;
    vkt_train_stop();
}

static bool has_run(vkt_study *s, const char *dir)
{
    return vkt__file_exists(vkt__arena_printf(&s->priv->arena, "%s/.lock", dir));
}

static bool is_outcome(vkt_status st)
{
    return st == VKT_NUMERIC || st == VKT_OOM_DEVICE || st == VKT_OOM_HOST || st == VKT_ARG ||
           st == VKT_SHAPE;
}

static vkt_status run_trial(vkt_study *s, const vkt__trial_spec *spec, const vkt_config *c,
                            vkt_study_trial *t)
{
    struct vkt__study_private *p = s->priv;
    const char *dir = vkt__arena_printf(&p->arena, "%s/%s", s->dir, t->name);
    vkt_train_result r = { 0 };
    vkt_train_desc d = { .run_dir = dir,
                         .resume = has_run(s, dir),
                         .gpu = p->desc->gpu,
                         .no_checkpoints = spec->check,
                         .on_progress = stop_at_target,
                         .user = s,
                         .command = vkt__study_command(s, t->set, t->n_set) };
    p->stop_metric = spec->until_target ? s->metric : NULL;
    p->stop_target = p->desc->target;
    p->stopped_at_target = false;
    double began = vkt__now();
    vkt__log_hold(true);
    vkt_status st = vkt_train(c, &d, &r);
    vkt__log_hold(false);
    t->seconds = vkt__now() - began;
    if (st == VKT_INTERRUPTED && p->stopped_at_target) st = VKT_OK;
    if (st == VKT_INTERRUPTED) return st;
    if (is_outcome(st)) {
        t->state = VKT_TRIAL_INFEASIBLE;
        t->why = vkt__arena_strdup(&p->arena, *vkt__last_failure() ? vkt__last_failure()
                                                                   : vkt_status_name(st));
        if (st == VKT_NUMERIC) {
            read_outcome(s, c, dir, t);
            t->rise = INFINITY;
        }
        return VKT_OK;
    }
    if (st != VKT_OK)
        return vkt__fail(st, "study", "%s: %s", t->name,
                         *vkt__last_failure() ? vkt__last_failure() : vkt_status_name(st));
    st = read_outcome(s, c, dir, t);
    t->best = r.best_metric;
    t->best_step = r.best_step;
    t->device_bytes = r.device_bytes;
    t->state = VKT_TRIAL_DONE;
    return st;
}

static void tell(vkt_study *s, const vkt_study_trial *t, bool reused)
{
    struct vkt__study_private *p = s->priv;
    vkt_study_progress pr = { .trial = t, .n_done = p->n_done, .reused = reused };
    if (p->desc->on_progress) p->desc->on_progress(p->desc->user, &pr);
}

static vkt_study_trial *add_trial(vkt_study *s, const vkt__trial_spec *spec)
{
    struct vkt__study_private *p = s->priv;
    const char **set = vkt__arena_alloc(&p->arena, (spec->n_set + 1) * sizeof *set);
    for (size_t i = 0; i < spec->n_set; i++) set[i] = vkt__arena_strdup(&p->arena, spec->set[i]);
    s->trials = vkt__grow(s->trials, s->n_trials, &p->cap_trials, sizeof *s->trials);
    vkt_study_trial *t = &s->trials[s->n_trials++];
    *t = (vkt_study_trial) { .group = spec->group,
                             .set = set,
                             .n_set = spec->n_set,
                             .best = NAN,
                             .first_loss = NAN,
                             .final_loss = NAN,
                             .clipped = NAN,
                             .items_per_s = NAN,
                             .step_ms = NAN };
    snprintf(t->name, sizeof t->name, "trial-%04zu", s->n_trials - 1);
    return t;
}

vkt_status vkt__study_trial(vkt_study *s, const vkt__trial_spec *spec, const vkt_study_trial **out)
{
    vkt_status st = VKT_OK;
    vkt_config *c = NULL;
    vkt_study_trial *t = add_trial(s, spec);
    bool found = false;
    *out = t;
    if (s->priv->desc->dry_run) return VKT_OK;
    if (s->priv->old) VKT_TRY(vkt__study_recall(s, s->n_trials - 1, t, &found));
    s->priv->n_done += found;
    if (found) {
        tell(s, t, true);
        return VKT_OK;
    }
    vkt__log_hold(true);
    st = vkt__trial_config(s, t->set, t->n_set, &c);
    vkt__log_hold(false);
    t->state = VKT_TRIAL_RUNNING;
    VKT_TRY(vkt__study_save(s));
    tell(s, t, false);
    if (!c) {
        t->state = VKT_TRIAL_INFEASIBLE;
        t->why = vkt__arena_strdup(&s->priv->arena, vkt__last_failure());
    } else {
        VKT_TRY(run_trial(s, spec, c, t));
    }
    VKT_TRY(vkt__study_save(s));
    s->priv->n_done++;
    tell(s, t, false);
fail:
    vkt_config_destroy(&c);
    return st;
}

vkt_status vkt__trial_estimate(vkt_study *s, const char *const *set, size_t n_set, double *seconds)
{
    vkt_status st = VKT_OK;
    vkt_config *c = NULL, *full = NULL;
    vkt_history *h = NULL;
    vkt_train_result r = { 0 };
    char cache[512];
    const char *dir =
                   vkt__arena_printf(&s->priv->arena, "%s/probe-%d",
                                     vkt__cache_dir(cache, sizeof cache) ? cache : ".", vkt__pid()),
               **probe = vkt__arena_alloc(&s->priv->arena, (n_set + 5) * sizeof *probe);
    *seconds = NAN;
    VKT_TRY(vkt__trial_config(s, set, n_set, &full));
    memcpy(probe, set, n_set * sizeof *probe);
    probe[n_set] = "train.steps=24";
    probe[n_set + 1] = "schedule.warmup=0";
    probe[n_set + 2] = "eval.every=24";
    probe[n_set + 3] = "schedule.kind=constant";
    probe[n_set + 4] = "schedule.milestones=[]";
    VKT_TRY(vkt__trial_config(s, probe, n_set + 5, &c));
    vkt_train_desc d = { .run_dir = dir, .gpu = s->priv->desc->gpu, .no_checkpoints = true };
    double began = vkt__now();
    vkt__log_hold(true);
    st = vkt_train(c, &d, &r);
    vkt__log_hold(false);
    double all = vkt__now() - began;
    if (st == VKT_OK) st = vkt_history_load(dir, &h);
    vkt__remove_tree(dir);
    if (st != VKT_OK) {
        vkt__fail(st, "study", "the short run that measures the time failed: %s",
                  *vkt__last_failure() ? vkt__last_failure() : vkt_status_name(st));
        goto fail;
    }
    double step = step_seconds(h);
    double eval = h->n_evals && h->n_steps
                      ? fmax(h->evals[0].seconds - h->steps[h->n_steps - 1].seconds, 0)
                      : 0;
    double start = fmax(all - r.seconds, 0);
    uint64_t steps = vkt_schedule_total(&full->schedule);
    *seconds =
        start + step * (double)steps + eval * (double)(steps / VKT_MAX(full->eval_every, 1) + 2);
fail:
    vkt_history_destroy(&h);
    vkt_config_destroy(&c);
    vkt_config_destroy(&full);
    return st;
}
