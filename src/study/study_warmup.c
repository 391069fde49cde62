/* Warmup: from the rate at which training becomes unstable, the shortest linear ramp that makes a
 * peak `factor` times higher stable; its length over orders of magnitude, at most a tenth of the
 * training steps, then twice as many steps at the peak. */
#include <math.h>
#include <stdio.h>

#include "study/study_run.h"
#include "runs/curve.h"

enum { PROBE_STEPS = 300, MAX_DOUBLINGS = 14 };

static const char playbook[] =
    "The unstable rate is the lowest learning rate at which training becomes unstable. Warm up "
    "linearly from 0 to at least 10 times that rate, hold the peak for twice as long, and try "
    "warmups of different orders of magnitude, up to 10% of the training steps; use the shortest "
    "that is stable. The warmup comes before the recipe's schedule and makes the run longer. If it "
    "takes more than 5% of the run, consider a longer run.";

/* The recipe's own rate, constant and without warmup: what a rate must keep up with. */
typedef struct reference {
    double *loss; /* [n], smoothed */
    size_t n;
} reference;

static double reference_at(const reference *r, uint64_t steps)
{
    return r->n ? r->loss[VKT_MIN(steps, r->n) - 1] : NAN;
}

/* A short run at a constant rate. */
static vkt_status probe(vkt_study *s, double lr, const reference *r, bool *is_stable,
                        const vkt_study_trial **out)
{
    const char *set[] = { vkt__study_value(s, "optim.lr", lr),
                          vkt__study_text(s, "train.steps=%llu",
                                          (unsigned long long)VKT_MIN(s->steps, PROBE_STEPS)),
                          "schedule.kind=constant", "schedule.milestones=[]", "schedule.warmup=0" };
    vkt_status st = vkt__study_trial(
        s, &(vkt__trial_spec) { "unstable-rate", set, VKT_COUNT(set), .check = true }, out);
    *is_stable = vkt__trial_stable(*out, reference_at(r, (*out)->steps));
    return st;
}

static vkt_status run_reference(vkt_study *s, reference *r, bool *is_stable)
{
    const vkt_study_trial *t;
    vkt_history *h = NULL;
    vkt_status st = VKT_OK;
    VKT_TRY(probe(s, s->priv->base->schedule.lr, r, is_stable, &t));
    if (s->priv->desc->dry_run || t->state != VKT_TRIAL_DONE) return VKT_OK;
    VKT_TRY(vkt_history_load(vkt__study_text(s, "%s/%s", s->dir, t->name), &h));
    r->loss = vkt__alloc((h->n_steps + 1) * sizeof *r->loss);
    for (; r->n < h->n_steps; r->n++) r->loss[r->n] = h->steps[r->n].loss;
    vkt__smooth(r->loss, r->n, 0.2, r->loss);
fail:
    vkt_history_destroy(&h);
    return st;
}

/* The lowest doubling of the recipe's rate that is unstable (or, where that one is unstable itself,
 * the lowest halving); NAN if none was. ok: the recipe's rate is stable. */
static vkt_status find_unstable(vkt_study *s, const reference *r, bool ok, double *out)
{
    double lr = s->priv->base->schedule.lr;
    const vkt_study_trial *t;
    vkt_status st = VKT_OK;
    *out = ok ? NAN : lr;
    for (int i = 0; i < MAX_DOUBLINGS; i++) {
        bool next;
        lr = ok ? 2 * lr : lr / 2;
        VKT_TRY(probe(s, lr, r, &next, &t));
        if (ok && !next) *out = lr;
        if (ok != next) return VKT_OK;
        if (!ok) *out = lr;
    }
fail:
    return st;
}

/* 10, 100, 1000, ... and the largest that is allowed. */
static size_t lengths(uint64_t most, uint64_t *out, size_t n)
{
    size_t k = 0;
    for (uint64_t w = 10; w < most && k + 1 < n; w *= 10) out[k++] = w;
    out[k++] = most;
    return k;
}

static vkt_status try_lengths(vkt_study *s, double peak, const reference *r, uint64_t *chosen)
{
    uint64_t w[16], most = VKT_MAX(s->steps / 10, 1);
    size_t n = lengths(most, w, VKT_COUNT(w));
    vkt_status st = VKT_OK;
    *chosen = 0;
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t;
        /* warmup comes on top of train.steps: w + 2 w in all */
        const char *set[] = { vkt__study_value(s, "optim.lr", peak),
                              vkt__study_text(s, "schedule.warmup=%llu", (unsigned long long)w[i]),
                              "schedule.warmup_included=false",
                              vkt__study_text(s, "train.steps=%llu",
                                              (unsigned long long)VKT_MAX(2 * w[i], 20)),
                              "schedule.kind=constant",
                              "schedule.milestones=[]" };
        VKT_TRY(vkt__study_trial(
            s, &(vkt__trial_spec) { "warmup", set, VKT_COUNT(set), .check = true }, &t));
        if (s->priv->desc->dry_run) continue;
        vkt__study_cell(s, "%.4g", peak);
        vkt__study_cell(s, "%llu", (unsigned long long)w[i]);
        vkt__study_cell(s, "%.1f%%", 100 * (double)w[i] / (double)s->steps);
        vkt__study_cell_number(s, t->final_loss);
        double keeps_up = reference_at(r, t->steps);
        vkt__study_cell(s, "%s", vkt__trial_word(t, keeps_up));
        if (vkt__trial_stable(t, keeps_up)) {
            *chosen = w[i];
            break;
        }
    }
fail:
    return st;
}

/* Which peak to train with is another question than which is stable: the recipe's rate, and rates
 * up to the stable peak, each with the warmup. */
static vkt_status choose_rate(vkt_study *s, double peak, uint64_t warmup, const char **set)
{
    double lr = s->priv->base->schedule.lr, best = NAN;
    const double rates[] = { lr, sqrt(lr * peak), peak };
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < VKT_COUNT(rates); i++) {
        const vkt_study_trial *t;
        const char *pair[] = { vkt__study_value(s, "optim.lr", rates[i]),
                               vkt__study_text(s, "schedule.warmup=%llu",
                                               (unsigned long long)warmup) };
        if (i && rates[i] <= lr * 1.01) continue;
        VKT_TRY(vkt__study_trial(s, &(vkt__trial_spec) { "rate", pair, VKT_COUNT(pair) }, &t));
        if (!vkt__study_better(s, t->best, best)) continue;
        best = t->best;
        memcpy(set, pair, sizeof pair);
    }
fail:
    return st;
}

vkt_status vkt__study_warmup_check(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    if (d->unstable_lr >= 0 && (!d->factor || d->factor >= 1)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "study",
                     "warmup: --unstable-lr must be above 0, --factor 1 or more");
}

vkt_status vkt__study_warmup(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    static const char *const columns[] = { "peak rate", "warmup", "of the steps",
                                           "final train loss", "training" };
    double unstable = d->unstable_lr, factor = d->factor ? d->factor : 10;
    const char *set[2] = { NULL, NULL };
    uint64_t warmup = 0;
    reference r = { 0 };
    bool ok = true;
    vkt_status st = VKT_OK;
    s->playbook = playbook;
    vkt__study_columns(s, columns, VKT_COUNT(columns));
    VKT_TRY(run_reference(s, &r, &ok));
    if (!unstable && !d->dry_run) VKT_TRY(find_unstable(s, &r, ok, &unstable));
    if (d->dry_run) {
        if (!unstable) unstable = s->priv->base->schedule.lr * 10;
        VKT_TRY(try_lengths(s, factor * unstable, &r, &warmup));
        s->n_more = (d->unstable_lr > 0 ? 0 : MAX_DOUBLINGS) + 3 + 2 * d->repeats;
        goto fail;
    }
    s->command = vkt__study_command(s, NULL, 0);
    if (isnan(unstable)) {
        vkt__study_advise(
            s, "no warmup is needed: training was stable up to %g times the recipe's learning rate",
            pow(2, MAX_DOUBLINGS));
        goto fail;
    }
    VKT_TRY(try_lengths(s, factor * unstable, &r, &warmup));
    double peak = factor * unstable;
    while (!warmup && peak > 2 * unstable) {
        peak = fmax(peak / 3, 2 * unstable);
        VKT_TRY(try_lengths(s, peak, &r, &warmup));
    }
    if (!warmup) {
        vkt__study_advise(s,
                          "no warmup of up to a tenth of the steps (%llu) makes a learning rate "
                          "above the unstable one (%.4g) stable: try `vktrain study clip %s`, then "
                          "normalisation layers, or another optimizer",
                          (unsigned long long)VKT_MAX(s->steps / 10, 1), unstable,
                          vkt__study_word(s, s->recipe));
        goto fail;
    }
    if (peak < factor * unstable * 0.99)
        vkt__study_advise(s,
                          "at %g times the unstable rate (%.4g) no warmup was stable; at %.3g "
                          "times it, %llu steps are stable",
                          factor, unstable, peak / unstable, (unsigned long long)warmup);
    else
        vkt__study_advise(
            s,
            "%llu steps are the shortest warmup that is stable at %.4g, %g times the unstable rate",
            (unsigned long long)warmup, peak, factor);
    if (20 * warmup > s->steps)
        vkt__study_advise(s, "that is more than 5%% of the run: consider a longer run");
    VKT_TRY(choose_rate(s, peak, warmup, set));
    if (set[0])
        VKT_TRY(vkt__study_conclude(s, vkt__study_text(s, "%s with %s", set[0], set[1]), set, 2));
    if (s->n_apply)
        vkt__study_advise(s, "the run then takes %llu + %llu steps", (unsigned long long)s->steps,
                          (unsigned long long)warmup);
fail:
    free(r.loss);
    return st;
}
