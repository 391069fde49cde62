/* How long a trial would take, by a short run of it whose folder is removed again. */
#include <math.h>

#include "study/study_run.h"

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
    vkt__discard_tree(dir);
    if (st != VKT_OK) {
        vkt__fail(st, "study", "the short run that measures the time failed: %s",
                  *vkt__last_failure() ? vkt__last_failure() : vkt_status_name(st));
        goto fail;
    }
    double step = vkt__step_seconds(h);
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
