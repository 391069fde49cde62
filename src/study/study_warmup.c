/* Warmup: from the rate at which training becomes unstable, the shortest linear ramp that makes a
 * peak `factor` times higher stable; its length over orders of magnitude, at most a tenth of the
 * training steps, then twice as many steps at the peak, but enough of them to tell. What is stable
 * in such a trial must be stable in a run of the whole length, too. */
#include <math.h>
#include <stdio.h>

#include "study/study_run.h"
#include "runs/curve.h"

enum { PROBE_STEPS = 300, MAX_DOUBLINGS = 14 };
/* So far below the unstable rate a recipe's rate is not held down by instability. */
#define FAR 4

static const char playbook[] =
    "The unstable rate is the lowest learning rate at which training becomes unstable. Warm up "
    "linearly from 0 to at least 10 times that rate, hold the peak for twice as long, and try "
    "warmups of different orders of magnitude, up to 10% of the training steps; use the shortest "
    "that is stable. The warmup comes before the recipe's schedule and makes the run longer. If it "
    "takes more than 5% of the run, consider a longer run.";

/* A trial and what it was for: a row of the table. */
typedef struct row {
    size_t trial;
    double lr;
    uint64_t warmup;
    const char *word;
} row;

typedef struct warmup {
    /* The recipe's own rate, constant and without warmup: what a rate must keep up with. */
    double *loss; /* [n], smoothed */
    size_t n;
    row *rows;
    size_t n_rows, cap_rows;
    /* What was found stable. */
    double peak;
    uint64_t steps; /* 0: nothing */
    double reached; /* training loss that the recipe's rate ends with after that warmup */
    vkt_study_trial at_lr, at_peak;
    size_t n_vetoed;
} warmup;

static double reference_at(const warmup *w, uint64_t steps)
{
    return w->n ? w->loss[VKT_MIN(steps, w->n) - 1] : NAN;
}

static vkt_status run(vkt_study *s, warmup *w, const char *group, const char *const *set,
                      size_t n_set, double lr, uint64_t steps, vkt_study_trial *out)
{
    const vkt_study_trial *t;
    vkt__trial_spec spec = { group, set, n_set, .check = strcmp(group, "rate") != 0 };
    vkt_status st = vkt__study_trial(s, &spec, &t);
    if (st != VKT_OK) return st;
    *out = *t;
    w->rows = vkt__grow(w->rows, w->n_rows, &w->cap_rows, sizeof *w->rows);
    w->rows[w->n_rows++] = (row) { s->n_trials - 1, lr, steps, "" };
    return VKT_OK;
}

static void judge(warmup *w, const char *word)
{
    w->rows[w->n_rows - 1].word = word;
}

/* ---- the unstable rate ---- */

/* A short run at a constant rate. */
static vkt_status probe(vkt_study *s, double lr, warmup *w, bool *is_stable, vkt_study_trial *t)
{
    const char *set[] = { vkt__study_value(s, "optim.lr", lr),
                          vkt__study_text(s, "train.steps=%llu",
                                          (unsigned long long)VKT_MIN(s->steps, PROBE_STEPS)),
                          "schedule.kind=constant", "schedule.milestones=[]", "schedule.warmup=0" };
    vkt_status st = run(s, w, "unstable-rate", set, VKT_COUNT(set), lr, 0, t);
    if (st != VKT_OK) return st;
    const char *word = vkt__trial_word(t, reference_at(w, t->steps));
    judge(w, word);
    *is_stable = !strcmp(word, "stable");
    return VKT_OK;
}

static vkt_status run_reference(vkt_study *s, warmup *w, bool *is_stable)
{
    vkt_study_trial t;
    vkt_history *h = NULL;
    vkt_status st = VKT_OK;
    VKT_TRY(probe(s, s->priv->base->schedule.lr, w, is_stable, &t));
    if (s->priv->desc->dry_run || t.state != VKT_TRIAL_DONE) return VKT_OK;
    VKT_TRY(vkt_history_load(vkt__study_text(s, "%s/%s", s->dir, t.name), &h));
    w->loss = vkt__alloc((h->n_steps + 1) * sizeof *w->loss);
    for (; w->n < h->n_steps; w->n++) w->loss[w->n] = h->steps[w->n].loss;
    vkt__smooth(w->loss, w->n, 0.2, w->loss);
fail:
    vkt_history_destroy(&h);
    return st;
}

/* The lowest doubling of the recipe's rate that is unstable (or, where that one is unstable itself,
 * the lowest halving); NAN if none was. ok: the recipe's rate is stable. */
static vkt_status find_unstable(vkt_study *s, warmup *w, bool ok, double *out)
{
    double lr = s->priv->base->schedule.lr;
    vkt_study_trial t;
    vkt_status st = VKT_OK;
    *out = ok ? NAN : lr;
    for (int i = 0; i < MAX_DOUBLINGS; i++) {
        bool next;
        lr = ok ? 2 * lr : lr / 2;
        VKT_TRY(probe(s, lr, w, &next, &t));
        if (ok && !next) *out = lr;
        if (ok != next) return VKT_OK;
        if (!ok) *out = lr;
    }
fail:
    return st;
}

/* ---- the warmup ---- */

/* 10, 100, 1000, ... and the largest that is allowed. */
static size_t lengths(const vkt_study *s, uint64_t *out, size_t n)
{
    size_t k = 0;
    uint64_t most = VKT_MAX(s->steps / 10, 1);
    for (uint64_t w = 10; w < most && k + 1 < n; w *= 10) out[k++] = w;
    out[k++] = most;
    return k;
}

static vkt_status try_short(vkt_study *s, double peak, uint64_t steps, warmup *w, bool *ok)
{
    /* warmup comes on top of train.steps */
    uint64_t hold = VKT_MAX(2 * steps, VKT_MIN(s->steps, PROBE_STEPS));
    const char *set[] = { vkt__study_value(s, "optim.lr", peak),
                          vkt__study_text(s, "schedule.warmup=%llu", (unsigned long long)steps),
                          "schedule.warmup_included=false",
                          vkt__study_text(s, "train.steps=%llu", (unsigned long long)hold),
                          "schedule.kind=constant",
                          "schedule.milestones=[]" };
    vkt_study_trial t;
    vkt_status st = run(s, w, "warmup", set, VKT_COUNT(set), peak, steps, &t);
    if (st != VKT_OK || s->priv->desc->dry_run) return st;
    const char *word = vkt__trial_word_near(&t, reference_at(w, t.steps));
    judge(w, word);
    *ok = !strcmp(word, "stable");
    return VKT_OK;
}

static const char **settings(vkt_study *s, double lr, uint64_t steps)
{
    const char **set = vkt__arena_alloc(&s->priv->arena, 2 * sizeof *set);
    set[0] = vkt__study_value(s, "optim.lr", lr);
    set[1] = vkt__study_text(s, "schedule.warmup=%llu", (unsigned long long)steps);
    return set;
}

/* The whole length, at the recipe's rate and at the peak: may the peak be called stable? */
static vkt_status try_whole(vkt_study *s, double peak, uint64_t steps, warmup *w, bool *ok)
{
    double lr = s->priv->base->schedule.lr;
    vkt_status st = VKT_OK;
    VKT_TRY(run(s, w, "rate", settings(s, lr, steps), 2, lr, steps, &w->at_lr));
    w->reached = w->at_lr.state == VKT_TRIAL_DONE ? w->at_lr.final_loss : NAN;
    judge(w, vkt__trial_word(&w->at_lr, w->reached));
    VKT_TRY(run(s, w, "rate", settings(s, peak, steps), 2, peak, steps, &w->at_peak));
    const char *word = vkt__trial_word(&w->at_peak, w->reached);
    judge(w, word);
    *ok = !strcmp(word, "stable");
    w->n_vetoed += !*ok;
fail:
    return st;
}

static vkt_status try_lengths(vkt_study *s, double peak, warmup *w)
{
    uint64_t steps[16];
    size_t n = lengths(s, steps, VKT_COUNT(steps));
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < n; i++) {
        bool ok = false;
        VKT_TRY(try_short(s, peak, steps[i], w, &ok));
        if (ok) VKT_TRY(try_whole(s, peak, steps[i], w, &ok));
        if (!ok) continue;
        w->steps = steps[i];
        w->peak = peak;
        break;
    }
fail:
    return st;
}

static double next_peak(double peak, double unstable)
{
    return fmax(peak / 3, 2 * unstable);
}

/* Which peak to train with is another question than which is stable: the recipe's rate, the peak,
 * and one between them, each with the warmup. NULL: none gave a metric. */
static vkt_status choose_rate(vkt_study *s, warmup *w, const char ***set)
{
    double lr = s->priv->base->schedule.lr, between = sqrt(lr * w->peak);
    vkt_status st = VKT_OK;
    vkt_study_trial t;
    *set = isnan(w->at_lr.best) ? NULL : settings(s, lr, w->steps);
    double best = w->at_lr.best;
    if (between > 1.01 * lr) {
        VKT_TRY(run(s, w, "rate", settings(s, between, w->steps), 2, between, w->steps, &t));
        judge(w, vkt__trial_word(&t, w->reached));
        if (vkt__study_better(s, t.best, best)) {
            best = t.best;
            *set = settings(s, between, w->steps);
        }
    }
    if (vkt__study_better(s, w->at_peak.best, best)) *set = settings(s, w->peak, w->steps);
fail:
    return st;
}

/* ---- the answer ---- */

/* All trials, in their order. */
static void fill_table(vkt_study *s, const warmup *w)
{
    const char *columns[] = { "trial",
                              "for",
                              "peak rate",
                              "warmup",
                              "steps",
                              "final train loss",
                              vkt__study_text(s, "best valid %s", s->metric),
                              "training" };
    vkt__study_columns(s, columns, VKT_COUNT(columns));
    for (size_t i = 0, k = 0; i < s->n_trials; i++) {
        const vkt_study_trial *t = &s->trials[i];
        const row *r = k < w->n_rows && w->rows[k].trial == i ? &w->rows[k++] : NULL;
        vkt__study_cell(s, "%s", t->name);
        vkt__study_cell(s, "%s", t->group);
        vkt__study_cell_number(s, r ? r->lr : NAN);
        vkt__study_cell(s, r ? "%llu" : "-", (unsigned long long)(r ? r->warmup : 0));
        vkt__study_cell(s, "%llu", (unsigned long long)t->steps);
        vkt__study_cell_number(s, t->final_loss);
        vkt__study_cell_number(s, t->best);
        vkt__study_cell(s, "%s", r ? r->word : vkt__trial_word(t, w->reached));
    }
}

/* The trials of a dry run, and at most how many more. */
static vkt_status plan(vkt_study *s, warmup *w, double factor)
{
    const vkt_study_desc *d = s->priv->desc;
    uint64_t steps[16];
    uint32_t peaks = 1, n = (uint32_t)lengths(s, steps, VKT_COUNT(steps));
    double unstable = d->unstable_lr > 0 ? d->unstable_lr : s->priv->base->schedule.lr * 10;
    for (double p = factor * unstable; p > 2 * unstable; peaks++) p = next_peak(p, unstable);
    /* a short trial and two whole ones for each length and peak, the short ones of the first here
     */
    s->n_more = (d->unstable_lr > 0 ? 0 : MAX_DOUBLINGS) + (3 * peaks - 1) * n + 1 + 2 * d->repeats;
    return try_lengths(s, factor * unstable, w);
}

static void explain(vkt_study *s, const warmup *w, double factor, double unstable)
{
    if (w->peak < factor * unstable * 0.99)
        vkt__study_advise(s,
                          "at %g times the unstable rate (%.4g) no warmup was stable; at %.3g "
                          "times it, %llu steps are stable, in a run of the whole length too",
                          factor, unstable, w->peak / unstable, (unsigned long long)w->steps);
    else
        vkt__study_advise(s,
                          "%llu steps are the shortest warmup that is stable at %.4g, %g times the "
                          "unstable rate, in a run of the whole length too",
                          (unsigned long long)w->steps, w->peak, factor);
    if (20 * w->steps > s->steps)
        vkt__study_advise(s, "that is more than 5%% of the run: consider a longer run");
    if (s->n_apply)
        vkt__study_advise(s, "the run then takes %llu + %llu steps", (unsigned long long)s->steps,
                          (unsigned long long)w->steps);
}

static void say_vetoes(vkt_study *s, const warmup *w)
{
    if (w->n_vetoed)
        vkt__study_advise(s,
                          "%zu time%s a warmup was stable in a short trial, and a run of the whole "
                          "length at the same rate was not: it does not count",
                          w->n_vetoed, w->n_vetoed == 1 ? "" : "s");
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
    double unstable = d->unstable_lr, factor = d->factor ? d->factor : 10;
    const char **set = NULL;
    warmup w = { .reached = NAN };
    bool ok = true;
    vkt_status st = VKT_OK;
    s->playbook = playbook;
    VKT_TRY(run_reference(s, &w, &ok));
    if (d->dry_run) {
        st = plan(s, &w, factor);
        goto fail;
    }
    if (!unstable) VKT_TRY(find_unstable(s, &w, ok, &unstable));
    s->command = vkt__study_command(s, NULL, 0);
    if (isnan(unstable)) {
        vkt__study_advise(
            s, "no warmup is needed: training was stable up to %g times the recipe's learning rate",
            pow(2, MAX_DOUBLINGS));
        fill_table(s, &w);
        goto fail;
    }
    double peak = factor * unstable;
    VKT_TRY(try_lengths(s, peak, &w));
    while (!w.steps && peak > 2 * unstable) {
        peak = next_peak(peak, unstable);
        VKT_TRY(try_lengths(s, peak, &w));
    }
    if (!w.steps) {
        vkt__study_advise(s,
                          "no warmup of up to a tenth of the steps (%llu) makes a learning rate "
                          "above the unstable one (%.4g) stable: try `%s`, then "
                          "normalisation layers, or another optimizer",
                          (unsigned long long)VKT_MAX(s->steps / 10, 1), unstable,
                          vkt__study_of(s, "clip", NULL));
        if (unstable >= FAR * s->priv->base->schedule.lr)
            vkt__study_advise(s,
                              "the recipe's learning rate, %.4g, is %.3g times lower than that, so "
                              "it needs no warmup; `%s` finds a better one",
                              s->priv->base->schedule.lr, unstable / s->priv->base->schedule.lr,
                              vkt__study_of(s, "lr", NULL));
    } else {
        VKT_TRY(choose_rate(s, &w, &set));
        if (set)
            VKT_TRY(
                vkt__study_conclude(s, vkt__study_text(s, "%s with %s", set[0], set[1]), set, 2));
        explain(s, &w, factor, unstable);
    }
    say_vetoes(s, &w);
    fill_table(s, &w);
fail:
    free(w.loss);
    free(w.rows);
    return st;
}
