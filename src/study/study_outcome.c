/* What a trial says in numbers, from its run's metrics; and how long one would take. */
#include <math.h>

#include "study/study_run.h"
#include "runs/curve.h"

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

vkt_status vkt__trial_outcome(const vkt_study *s, const vkt_config *c, const char *dir,
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
