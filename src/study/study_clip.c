/* Gradient clipping: the norms of a run without it, their percentiles and histogram, and runs with
 * thresholds around the 90th. */
#include <math.h>
#include <stdio.h>

#include "study/study_run.h"
#include "runs/curve.h"

static const char playbook[] =
    "Log the norm of the gradient before clipping, look at its curve and its histogram over all "
    "steps, and set the threshold just above the typical norm; start with the 90th percentile. If "
    "training is still unstable, lower it. If more than half of the updates are clipped, lower the "
    "learning rate instead. Clipping also helps against instability in the middle of training, "
    "where warmup can't.";

static const double percentiles[] = { 0.5, 0.75, 0.9, 0.95, 0.99 };
/* Of these, as thresholds: the 90th and its neighbours. */
static const double candidates[] = { 0.75, 0.9, 0.95 };

typedef struct norms {
    double *v;
    size_t n;
} norms;

static vkt_status read_norms(const char *dir, norms *out)
{
    vkt_history *h;
    vkt_status st = vkt_history_load(dir, &h);
    if (st != VKT_OK) return st;
    out->v = vkt__alloc((h->n_steps + 1) * sizeof *out->v);
    for (size_t i = 0; i < h->n_steps; i++)
        if (isfinite(h->steps[i].grad_norm)) out->v[out->n++] = h->steps[i].grad_norm;
    vkt_history_destroy(&h);
    if (!out->n)
        st = vkt__fail(VKT_E_FORMAT, "study",
                       "'%s' has no gradient norms to choose a threshold from", dir);
    return st;
}

static void describe(vkt_study *s, const norms *m)
{
    vkt__str t = { 0 };
    for (size_t i = 0; i < VKT_COUNT(percentiles); i++)
        vkt__str_printf(&t, "%sp%.0f %.4g", i ? ", " : "", 100 * percentiles[i],
                        vkt__quantile(m->v, m->n, percentiles[i]));
    vkt__study_advise(s, "gradient norms of %zu steps: %s, largest %.4g", m->n, t.data,
                      vkt__quantile(m->v, m->n, 1));
    vkt__str_finish(&t);
}

static void add_row(vkt_study *s, const char *clip, const vkt_study_trial *t)
{
    vkt__study_cell(s, "%s", clip);
    if (t->clipped >= 0)
        vkt__study_cell(s, "%.1f%%", 100 * t->clipped);
    else
        vkt__study_cell(s, "-");
    vkt__study_cell_number(s, t->final_loss);
    vkt__study_cell_number(s, t->best);
    vkt__study_cell(s, "%s", vkt__trial_word(t, t->final_loss));
}

/* The norms of another run are read first: a wrong folder is found out before a trial. */
vkt_status vkt__study_clip_check(vkt_study *s)
{
    norms m = { 0 };
    vkt_status st = s->priv->desc->norms_from ? read_norms(s->priv->desc->norms_from, &m) : VKT_OK;
    free(m.v);
    return st;
}

vkt_status vkt__study_clip(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    const char *columns[] = { "optim.clip", "clipped", "final train loss",
                              vkt__study_text(s, "best valid %s", s->metric), "training" };
    vkt_status st = VKT_OK;
    norms m = { 0 };
    const vkt_study_trial *t;
    const char *off = "optim.clip=0", *best_set = NULL;
    double best = NAN, best_clipped = 0;
    bool base_stable = true;
    s->playbook = playbook;
    vkt__study_columns(s, columns, VKT_COUNT(columns));
    VKT_TRY(vkt__study_trial(s, &(vkt__trial_spec) { "no-clip", &off, 1 }, &t));
    if (d->dry_run) {
        s->n_more = VKT_COUNT(candidates) + 2 * d->repeats;
        return VKT_OK;
    }
    base_stable = t->state == VKT_TRIAL_DONE && !(t->rise > 0);
    add_row(s, "0 (off)", t);
    double without = t->best;
    VKT_TRY(read_norms(d->norms_from ? d->norms_from : vkt__study_text(s, "%s/%s", s->dir, t->name),
                       &m));
    for (size_t i = 0; i < VKT_COUNT(candidates); i++) {
        double threshold = vkt__quantile(m.v, m.n, candidates[i]);
        const char *set = vkt__study_value(s, "optim.clip", threshold);
        VKT_TRY(vkt__study_trial(s, &(vkt__trial_spec) { "clip", &set, 1 }, &t));
        add_row(s, vkt__study_text(s, "%.4g (p%.0f)", threshold, 100 * candidates[i]), t);
        if (!vkt__study_better(s, t->best, best)) continue;
        best = t->best;
        best_set = set;
        best_clipped = t->clipped;
    }
    s->command = vkt__study_command(s, NULL, 0);
    if (best_set && vkt__study_better(s, best, without))
        VKT_TRY(vkt__study_conclude(s, best_set, &best_set, 1));
    else if (base_stable)
        vkt__study_advise(s, "keep clipping off: no threshold was better than none, and training "
                             "is stable without it");
    else
        vkt__study_advise(s,
                          "clipping does not make training stable: lower the threshold, or try "
                          "`%s`",
                          vkt__study_of(s, "warmup", NULL));
    describe(s, &m);
    if (best_clipped > 0.5)
        vkt__study_advise(s,
                          "more than half of the updates are clipped at %s, which acts like a "
                          "lower learning rate: lower optim.lr instead",
                          best_set);
fail:
    free(m.v);
    return st;
}
