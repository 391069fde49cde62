/* The learning-rate ramp: one run whose rate rises in equal ratios, and what its loss says about
 * rates. Cheap, and weaker than a sweep of real runs: it sees the first steps only, rate and time
 * are mixed in it, and how fast it climbs moves the reading; so what it suggests is compared with
 * the recipe on fresh seeds. Source: Smith 2015 (arXiv 1506.01186), section 3.3. */
#include <math.h>

#include "study/study_run.h"
#include "runs/curve.h"

enum { MIN_STEPS = 50, WINDOWS = 40 };
/* The range around the recipe's rate: up to where nearly everything diverges. */
#define BELOW 100
#define ABOVE 1000

static const char playbook[] =
    "Any model becomes unstable if the learning rate is large enough. A ramp shows approximately "
    "where, in one run, but does not replace real runs: early training tolerates other learning "
    "rates than later training, the loss at each point depends on all rates before it, and a "
    "slower ramp gives lower values. So before a long run, sweep around its result (`vktrain study "
    "lr` without --ramp).";

/* ---- reading ---- */

/* Medians of windows: unlike a running mean they don't lag behind the rate. */
typedef struct windows {
    double lr[WINDOWS], loss[WINDOWS];
    size_t n;
} windows;

static windows windows_of(const double *lr, const double *loss, size_t n)
{
    windows w = { .n = VKT_MIN(WINDOWS, n / 5) };
    for (size_t k = 0; k < w.n; k++) {
        size_t from = k * n / w.n, to = (k + 1) * n / w.n;
        bool finite = true;
        for (size_t i = from; i < to; i++) finite = finite && isfinite(loss[i]);
        w.lr[k] = sqrt(lr[from] * lr[to - 1]);
        w.loss[k] = finite ? vkt__median(loss + from, to - from) : INFINITY;
    }
    return w;
}

vkt__ramp vkt__ramp_read(const double *lr, const double *loss, size_t n)
{
    vkt__ramp r = { NAN, NAN, NAN, NAN, false };
    windows w = windows_of(lr, loss, n);
    size_t low = 0;
    double fastest = 0;
    if (w.n < 3 || !isfinite(w.loss[0])) return r;
    for (size_t k = 1; k < w.n; k++)
        if (w.loss[k] < w.loss[low]) low = k;
    for (size_t k = 1; k <= low; k++) {
        double fall = w.loss[k - 1] - w.loss[k]; /* the windows' rates stand in equal ratios */
        if (fall > fastest) fastest = fall, r.steepest = sqrt(w.lr[k - 1] * w.lr[k]);
    }
    /* A tenth of the whole fall above its lowest: beyond the noise between windows. */
    for (size_t k = low + 1; k < w.n && isnan(r.rises); k++)
        if (w.loss[k] > w.loss[low] + 0.1 * (w.loss[0] - w.loss[low])) r.rises = w.lr[k];
    r.lowest = w.lr[low];
    r.lowest_loss = w.loss[low];
    r.falls = low > 0 && fastest > 0;
    return r;
}

/* ---- the study ---- */

static void find_range(const vkt_study *s, double *low, double *high)
{
    const vkt_study_desc *d = s->priv->desc;
    double lr = s->priv->base->schedule.lr;
    *low = d->from ? d->from : lr / BELOW;
    *high = d->to ? d->to : fmin(lr * ABOVE, 1e4);
}

vkt_status vkt__study_ramp_check(vkt_study *s)
{
    double low, high;
    find_range(s, &low, &high);
    if (!(low > 0 && low < high && isfinite(high)))
        return vkt__fail(VKT_E_ARG, "study",
                         "--ramp from %g to %g: --from must be above 0, and --to above --from", low,
                         high);
    if (s->steps < MIN_STEPS)
        return vkt__fail(VKT_E_ARG, "study", "--ramp in %llu steps: it needs at least %d",
                         (unsigned long long)s->steps, MIN_STEPS);
    return VKT_OK;
}

static void add_row(vkt_study *s, const char *what, double lr, double loss)
{
    vkt__study_cell(s, "%s", what);
    vkt__study_cell_number(s, lr);
    vkt__study_cell_number(s, loss);
}

static void fill_table(vkt_study *s, const vkt__ramp *r)
{
    static const char *const columns[] = { "reading", "optim.lr", "train loss" };
    vkt__study_columns(s, columns, VKT_COUNT(columns));
    add_row(s, "loss falls fastest", r->steepest, NAN);
    add_row(s, "a tenth of the rate at the lowest loss", r->lowest / 10, NAN);
    add_row(s, "loss is lowest", r->lowest, r->lowest_loss);
    add_row(s, "loss rises again", r->rises, NAN);
}

static vkt_status run_ramp(vkt_study *s, vkt__ramp *r)
{
    double low, high;
    const vkt_study_trial *t;
    vkt_history *h = NULL;
    vkt_status st = VKT_OK;
    find_range(s, &low, &high);
    const char *set[] = { vkt__study_value(s, "optim.lr", high), "schedule.kind=ramp",
                          vkt__study_text(s, "schedule.final_ratio=%.6g", low / high),
                          "schedule.milestones=[]", "schedule.warmup=0",
                          /* once, at its end: the loss on the way is the training's */
                          vkt__study_text(s, "eval.every=%llu", (unsigned long long)s->steps) };
    VKT_TRY(
        vkt__study_trial(s, &(vkt__trial_spec) { "ramp", set, VKT_COUNT(set), .check = true }, &t));
    if (s->priv->desc->dry_run) return VKT_OK;
    if (t->state == VKT_TRIAL_INFEASIBLE && !isinf(t->rise)) {
        st = vkt__fail(VKT_E_FAILED, "study", "the ramp could not be run: %s", t->why);
        goto fail;
    }
    VKT_TRY(vkt_history_load(vkt__study_text(s, "%s/%s", s->dir, t->name), &h));
    double *lr = vkt__alloc((h->n_steps + 1) * 2 * sizeof *lr), *loss = lr + h->n_steps + 1;
    for (size_t i = 0; i < h->n_steps; i++) {
        lr[i] = h->steps[i].lr;
        loss[i] = h->steps[i].updated ? h->steps[i].loss : NAN;
    }
    *r = vkt__ramp_read(lr, loss, h->n_steps);
    free(lr);
fail:
    vkt_history_destroy(&h);
    return st;
}

vkt_status vkt__study_ramp(vkt_study *s)
{
    vkt__ramp r;
    vkt_status st = VKT_OK;
    s->playbook = playbook;
    VKT_TRY(run_ramp(s, &r));
    if (s->priv->desc->dry_run) {
        s->n_more = 2 * s->priv->desc->repeats;
        return VKT_OK;
    }
    fill_table(s, &r);
    if (!r.falls) {
        s->command = vkt__study_command(s, NULL, 0);
        vkt__study_advise(s, "the ramp gives no answer: its loss never fell; sweep real runs "
                             "instead (without --ramp), or use more --steps or a lower --from");
        return VKT_OK;
    }
    const char *set = vkt__study_value(s, "optim.lr", r.steepest);
    VKT_TRY(vkt__study_conclude(
        s, vkt__study_text(s, "%s (where the ramp's loss fell fastest)", set), &set, 1));
    if (isnan(r.rises))
        vkt__study_advise(s, "the loss did not rise again before the end of the ramp: a higher "
                             "--to would show where training becomes unstable");
    else
        vkt__study_advise(s,
                          "the loss rises again from about %.3g: the recipe can't be trained with "
                          "learning rates near it",
                          r.rises);
    vkt__study_advise(s,
                      "a ramp shows early training only, and its result depends on --steps: sweep "
                      "real runs around it with `%s`",
                      vkt__study_of(s, "lr",
                                    vkt__study_text(s, "--from %.3g --to %.3g", r.steepest / 10,
                                                    fmin(r.steepest * 10, r.lowest))));
fail:
    return st;
}
