/* What a trial says in numbers, from its run's metrics, and how it is judged by them. */
#include <math.h>

#include "study/study_run.h"
#include "runs/curve.h"

static bool evaluated_between(const vkt_history *h, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < h->n_evals; i++)
        if (h->evals[i].step >= from && h->evals[i].step < to) return true;
    return false;
}

/* Steps may come in bunches, so means of up to 20 stretches are taken; of those the lower quartile,
 * since other programs only ever add time. */
double vkt__step_seconds(const vkt_history *h)
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
    t->step_ms = 1e3 * vkt__step_seconds(h);
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

/* ---- judging a trial ---- */

const char *vkt__trial_word(const vkt_study_trial *t, double reference)
{
    if (t->state == VKT_TRIAL_INFEASIBLE) return isinf(t->rise) ? "diverged" : "infeasible";
    if (t->state == VKT_TRIAL_PRUNED || t->state == VKT_TRIAL_CUT)
        return vkt_trial_state_name(t->state);
    if (t->rise > 0) return "loss rises";
    if (t->final_loss >= t->first_loss ||
        t->first_loss - t->final_loss < 0.5 * (t->first_loss - reference))
        return "hardly learns";
    return "stable";
}

const char *vkt__trial_word_near(const vkt_study_trial *t, double reference)
{
    const char *word = vkt__trial_word(t, reference);
    if (strcmp(word, "stable") ||
        !(t->first_loss - t->final_loss < 0.75 * (t->first_loss - reference)))
        return word;
    return "falls behind";
}

bool vkt__trial_stable(const vkt_study_trial *t, double reference)
{
    return !strcmp(vkt__trial_word(t, reference), "stable");
}

bool vkt__trial_done(const vkt_study_trial *t)
{
    return t->state == VKT_TRIAL_DONE && !isnan(t->best);
}

bool vkt__trial_usable(const vkt_study_trial *t)
{
    return (t->state == VKT_TRIAL_DONE || t->state == VKT_TRIAL_CUT) && !isnan(t->best);
}

bool vkt__study_better(const vkt_study *s, double a, double b)
{
    if (isnan(a) || isnan(b)) return !isnan(a) && isnan(b);
    return s->metric_sign * (a - b) > 0;
}

/* The less, the better off. */
static int standing(const vkt_study_trial *t)
{
    bool part = t->state == VKT_TRIAL_PRUNED || vkt__trial_usable(t);
    return vkt__trial_done(t) ? 0 : part ? 1 : 2;
}

bool vkt__trial_ahead(const vkt_study *s, const vkt_study_trial *a, const vkt_study_trial *b)
{
    int x = standing(a), y = standing(b);
    if (x != y) return x < y;
    if (x == 1 && a->steps != b->steps) return a->steps > b->steps;
    return x < 2 && vkt__study_better(s, a->best, b->best);
}

void vkt__trials_sort(const vkt_study *s, size_t *order, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i;
             k > 0 && vkt__trial_ahead(s, &s->trials[order[k]], &s->trials[order[k - 1]]); k--) {
            size_t t = order[k];
            order[k] = order[k - 1];
            order[k - 1] = t;
        }
}
