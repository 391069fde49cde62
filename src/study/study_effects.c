/* What a search says about each metaparameter: how much it matters, and what its values reach with
 * the best values of the others (the playbook's isolation plot). */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "runs/curve.h"
#include "study/forest.h"
#include "study/study_effects.h"

enum { BINS = 5, RESAMPLES = 200, ENOUGH = 4 };

/* ---- parts of an axis ---- */

/* Which part of the axis a trial lies in; SIZE_MAX: none. */
static size_t part_of(const vkt__axis *x, const vkt_study_trial *t)
{
    const char *v = vkt__axis_value(x, t->set, t->n_set);
    if (!v) return SIZE_MAX;
    for (size_t k = 0; k < x->n_choices; k++)
        if (!strcmp(v, x->choice[k])) return k;
    if (x->kind == VKT__AXIS_CHOICE) return SIZE_MAX;
    double at = fmax(vkt__axis_position(x, vkt__number_or_nan(v)), 0);
    return VKT_MIN((size_t)(at * BINS), BINS - 1);
}

/* The best of n trials, if others of their kind had been drawn: 80% of 200 samples of n of them. */
static void spread(const vkt_study *s, const double *v, size_t n, uint64_t seed,
                   vkt_study_part *out)
{
    double best[RESAMPLES];
    for (size_t r = 0; r < RESAMPLES; r++) {
        best[r] = NAN;
        for (size_t i = 0; i < n; i++) {
            double one = v[vkt_rand_below(seed, VKT_RNG_SAMPLE, ((uint64_t)4 << 40) + r * 65536 + i,
                                          (uint32_t)n)];
            if (vkt__study_better(s, one, best[r])) best[r] = one;
        }
    }
    out->best_low = vkt__quantile(best, n ? RESAMPLES : 0, 0.1);
    out->best_high = vkt__quantile(best, n ? RESAMPLES : 0, 0.9);
}

static vkt_study_part part(vkt_study *s, const vkt__axis *x, size_t k, const size_t *order,
                           size_t n)
{
    vkt_study_part p = { .low = INFINITY, .high = -INFINITY, .best = NAN };
    double *v = vkt__alloc((n + 1) * sizeof *v);
    size_t n_v = 0;
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t = &s->trials[order[i]];
        if (part_of(x, t) != k) continue;
        double at = vkt__number_or_nan(vkt__axis_value(x, t->set, t->n_set));
        p.n++;
        p.low = fmin(p.low, at);
        p.high = fmax(p.high, at);
        p.infeasible += t->state == VKT_TRIAL_INFEASIBLE;
        p.pruned += t->state == VKT_TRIAL_PRUNED;
        if (t->state != VKT_TRIAL_DONE || isnan(t->best)) continue;
        v[n_v++] = t->best;
        if (!vkt__study_better(s, t->best, p.best)) continue;
        p.best = t->best;
        p.trial = vkt__study_text(s, "%s", t->name);
    }
    spread(s, v, n_v, s->priv->desc->seed, &p);
    if (x->kind == VKT__AXIS_CHOICE) p.low = p.high = NAN;
    p.label = x->kind == VKT__AXIS_CHOICE
                  ? x->choice[k]
                  : vkt__study_text(s, p.low < p.high ? "%.3g to %.3g" : "%.3g", p.low, p.high);
    free(v);
    return p;
}

static const char *condition(vkt_study *s, const vkt__axis *x)
{
    vkt__str t = { 0 };
    if (!x->when_key) return NULL;
    vkt__str_printf(&t, "%s=", x->when_key);
    for (size_t i = 0; i < x->n_when; i++) vkt__str_printf(&t, "%s%s", i ? "|" : "", x->when[i]);
    const char *out = vkt__study_text(s, "%s", t.data);
    vkt__str_finish(&t);
    return out;
}

static vkt_study_effect effect(vkt_study *s, const vkt__axis *x, const size_t *order, size_t n)
{
    static const char *const scales[] = { "linear", "log", "log_one_minus", "choice" },
                             *const roles[] = { "nuisance", "scientific", "fixed" };
    size_t parts = x->kind == VKT__AXIS_CHOICE ? x->n_choices : BINS;
    vkt_study_part *list = vkt__arena_alloc(&s->priv->arena, parts * sizeof *list);
    vkt_study_effect e = { .key = x->key,
                           .when = condition(s, x),
                           .role = roles[x->role],
                           .scale = scales[x->kind],
                           .low = x->kind == VKT__AXIS_CHOICE ? NAN : x->low,
                           .high = x->kind == VKT__AXIS_CHOICE ? NAN : x->high,
                           .share = NAN,
                           .share_low = NAN,
                           .share_high = NAN,
                           .parts = list };
    for (size_t k = 0; k < parts; k++) {
        vkt_study_part p = part(s, x, k, order, n);
        if (p.n) list[e.n_parts++] = p;
    }
    return e;
}

/* ---- importance ---- */

/* By rank, so that one that diverged weighs no more than one that is merely last. order: best
 * first. */
static void weigh(vkt_study *s, const vkt__space *space, const size_t *order, size_t n)
{
    size_t d = space->n_dims;
    double *u = vkt__alloc((n * d + 1) * sizeof *u), *rank = vkt__alloc((n + 1) * sizeof *rank);
    vkt__share share[VKT__MAX_AXES];
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t = &s->trials[order[i]];
        double at[VKT__MAX_AXES];
        vkt__space_locate(space, t->set, t->n_set, at);
        for (size_t a = 0; a < d; a++) u[i * d + a] = NAN;
        for (size_t a = 0; a < space->n; a++)
            if (space->axis[a].role != VKT__ROLE_FIXED && !isnan(at[a]))
                u[i * d + space->axis[a].dim] = at[a];
        /* Those that are as good share a rank. */
        bool tie = i && !vkt__trial_ahead(s, &s->trials[order[i - 1]], t);
        rank[i] = tie ? rank[i - 1] : (double)i;
    }
    if (vkt__importance(u, rank, n, d, s->priv->desc->seed, share))
        for (size_t a = 0; a < space->n; a++) {
            const vkt__share *of = &share[space->axis[a].dim];
            if (space->axis[a].role == VKT__ROLE_FIXED) continue;
            s->effects[a].share = of->mean;
            s->effects[a].share_low = of->low;
            s->effects[a].share_high = of->high;
            s->effects[a].shown = of->shown;
        }
    free(u);
    free(rank);
}

static void say_importance(vkt_study *s)
{
    vkt__str shown = { 0 }, other = { 0 };
    const char *last = "";
    for (size_t i = 0; i < s->n_effects; i++) {
        const vkt_study_effect *e = &s->effects[i];
        if (isnan(e->share) || !strcmp(e->key, last)) continue;
        last = e->key;
        if (e->shown)
            vkt__str_printf(&shown, "%s%s %.0f%% (%.0f to %.0f%%)", shown.len ? ", " : "", e->key,
                            100 * e->share, 100 * e->share_low, 100 * e->share_high);
        else
            vkt__str_printf(&other, "%s%s", other.len ? ", " : "", e->key);
    }
    if (shown.len)
        vkt__study_advise(s,
                          "importance, the share of the differences in rank that a metaparameter "
                          "explains by itself (mean and 80%% range over a forest of trees): %s%s%s",
                          shown.data, other.len ? "; no more than chance: " : "",
                          other.len ? other.data : "");
    else if (other.len)
        vkt__study_advise(s, "these trials do not show that one metaparameter matters more than "
                             "chance: more trials, or a wider space");
    vkt__str_finish(&shown);
    vkt__str_finish(&other);
}

/* ---- the answer to a scientific question ---- */

/* Compares parts with enough trials each: one is better than all other ranges, or no difference is
 * shown. */
static void compare_parts(vkt_study *s, const vkt_study_effect *e)
{
    const vkt_study_part *best = NULL;
    bool shown = true;
    size_t n = 0;
    for (size_t i = 0; i < e->n_parts; i++) {
        const vkt_study_part *p = &e->parts[i];
        if (p->n - p->infeasible - p->pruned < ENOUGH) continue;
        n++;
        if (!best || vkt__study_better(s, p->best, best->best)) best = p;
    }
    if (n < 2) {
        vkt__study_advise(
            s, "%s: too few trials ended for its values to be compared: raise --trials", e->key);
        return;
    }
    double worst = s->metric_sign > 0 ? best->best_low : best->best_high;
    for (size_t i = 0; i < e->n_parts; i++) {
        const vkt_study_part *p = &e->parts[i];
        if (p == best || p->n - p->infeasible - p->pruned < ENOUGH) continue;
        shown &= vkt__study_better(s, worst, s->metric_sign > 0 ? p->best_high : p->best_low);
    }
    vkt__study_advise(s,
                      shown
                          ? "%s: %s is best, each with the best values of the others: %s %.4g "
                            "(%.4g to %.4g, 80%% of resamplings of its trials), which no other's "
                            "range reaches"
                          : "%s: no difference is shown between its values, each with the best "
                            "values of the others: the best is %s with %s %.4g (%.4g to %.4g, 80%% "
                            "of resamplings of its trials), and another's range overlaps it",
                      e->key, best->label, s->metric, best->best,
                      fmin(best->best_low, best->best_high), fmax(best->best_low, best->best_high));
}

void vkt__study_effects(vkt_study *s, const vkt__space *space, const size_t *order, size_t n)
{
    const char *asked = s->priv->desc->isolate;
    bool scientific = false;
    s->effects = vkt__arena_alloc(&s->priv->arena, (space->n + 1) * sizeof *s->effects);
    s->n_effects = space->n;
    for (size_t i = 0; i < space->n; i++) {
        s->effects[i] = effect(s, &space->axis[i], order, n);
        scientific |= space->axis[i].role == VKT__ROLE_SCIENTIFIC;
    }
    for (size_t i = 0; i < space->n; i++)
        s->effects[i].isolated =
            (space->axis[i].role == VKT__ROLE_SCIENTIFIC) ||
            (asked ? !strcmp(space->axis[i].key, asked)
                   : !scientific && !strcmp(space->axis[i].key, space->axis[0].key));
    weigh(s, space, order, n);
    for (size_t i = 0; i < space->n; i++)
        if (space->axis[i].role == VKT__ROLE_SCIENTIFIC) compare_parts(s, &s->effects[i]);
    say_importance(s);
}
