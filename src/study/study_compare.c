/* The end of most studies: its candidate against the recipe, each on fresh seeds. */
#include <math.h>

#include "runs/curve.h"
#include "study/study_run.h"

/* A configuration on fresh seeds, as trials to be run: spec [repeats]. */
static void on_seeds(vkt_study *s, const char *group, const char *const *set, size_t n_set,
                     vkt__trial_spec *spec)
{
    for (uint32_t r = 0; r < s->priv->desc->repeats; r++) {
        const char **all = vkt__arena_alloc(&s->priv->arena, (n_set + 1) * sizeof *all);
        if (n_set) memcpy(all, set, n_set * sizeof *all);
        all[n_set] =
            vkt__study_text(s, "seed=%llu", (unsigned long long)(s->priv->base->seed + 101 + r));
        spec[r] = (vkt__trial_spec) { .group = group, .set = all, .n_set = n_set + 1 };
    }
}

/* The metric of n trials; an infeasible one counts as the worst. */
static void metrics(const vkt_study *s, const size_t *trial, uint32_t n, double *value)
{
    for (uint32_t i = 0; i < n; i++) {
        double v = s->trials[trial[i]].best;
        value[i] = isnan(v) ? -s->metric_sign * INFINITY : v;
    }
}

/* A trial of an earlier comparison that had these settings, and so this result; SIZE_MAX: none. A
 * study that is extended compares again, often what it has compared before. */
static size_t find_done(const vkt_study *s, const vkt__trial_spec *spec)
{
    for (size_t i = 0; i < s->n_trials; i++) {
        const vkt_study_trial *t = &s->trials[i];
        size_t k = 0;
        if (strcmp(t->group, spec->group) != 0 || t->n_set != spec->n_set ||
            (t->state != VKT_TRIAL_DONE && t->state != VKT_TRIAL_INFEASIBLE))
            continue;
        while (k < t->n_set && strcmp(t->set[k], spec->set[k]) == 0) k++;
        if (k == t->n_set) return i;
    }
    return SIZE_MAX;
}

/* Runs those of the trials [n] that were not run before; trial [n]: which they are. */
static vkt_status run_new(vkt_study *s, const vkt__trial_spec *spec, size_t n, size_t *trial)
{
    size_t n_new = 0, first;
    vkt__trial_spec *new = vkt__alloc((n + 1) * sizeof *new);
    for (size_t i = 0; i < n; i++) {
        trial[i] = find_done(s, &spec[i]);
        if (trial[i] == SIZE_MAX) new[n_new++] = spec[i];
    }
    vkt_status st = vkt__study_trials(s, new, n_new, &first);
    for (size_t i = 0; i < n; i++)
        if (trial[i] == SIZE_MAX) trial[i] = first++;
    free(new);
    return st;
}

static void spread(const double *v, uint32_t n, double *median, double *low, double *high)
{
    *median = vkt__median(v, n);
    *low = vkt__quantile(v, n, 0);
    *high = vkt__quantile(v, n, 1);
}

vkt_status vkt__study_compare(vkt_study *s, const char *const *set, size_t n_set,
                              vkt__comparison *out)
{
    uint32_t n = s->priv->desc->repeats;
    vkt_status st = VKT_OK;
    size_t *trial = vkt__alloc((2 * (size_t)n + 1) * sizeof *trial);
    vkt__trial_spec *spec = vkt__alloc((2 * (size_t)n + 1) * sizeof *spec);
    double *a = vkt__alloc((n + 1) * sizeof *a), *b = vkt__alloc((n + 1) * sizeof *b);
    *out = (vkt__comparison) { NAN, NAN, NAN, NAN, NAN, NAN, false };
    on_seeds(s, "recipe", NULL, 0, spec);
    on_seeds(s, "candidate", set, n_set, spec + n);
    VKT_TRY(run_new(s, spec, 2 * (size_t)n, trial));
    if (s->priv->desc->dry_run) goto fail;
    metrics(s, trial, n, a);
    metrics(s, trial + n, n, b);
    spread(a, n, &out->recipe, &out->recipe_low, &out->recipe_high);
    spread(b, n, &out->candidate, &out->candidate_low, &out->candidate_high);
    out->holds = isfinite(out->candidate) && !vkt__study_better(s, out->recipe, out->candidate);
fail:
    free(spec);
    free(trial);
    free(a);
    free(b);
    return st;
}

bool vkt__comparison_shows(const vkt__comparison *c, uint32_t n)
{
    return n > 2 && fmin(c->recipe_high, c->candidate_high) < fmax(c->recipe_low, c->candidate_low);
}

vkt_status vkt__study_conclude(vkt_study *s, const char *what, const char *const *set, size_t n_set)
{
    vkt__comparison c;
    vkt_status st = vkt__study_compare(s, set, n_set, &c);
    if (st != VKT_OK || s->priv->desc->dry_run) return st;
    uint32_t n = s->priv->desc->repeats;
    const char *numbers =
        n == 1 ? vkt__study_text(s, "%s %.4g against %.4g on one new seed", s->metric, c.candidate,
                                 c.recipe)
               : vkt__study_text(s,
                                 "%s %.4g (%.4g to %.4g) against %.4g (%.4g to %.4g), median and "
                                 "range over %u new seeds",
                                 s->metric, c.candidate, c.candidate_low, c.candidate_high,
                                 c.recipe, c.recipe_low, c.recipe_high, n);
    bool shown = vkt__comparison_shows(&c, n);
    if (c.holds && shown)
        vkt__study_advise(s, "use %s: better than the recipe on validation: %s", what, numbers);
    else if (c.holds)
        vkt__study_advise(s,
                          "%s may be used: %s is at least as good as the recipe's, but no "
                          "difference is shown on validation: %s",
                          what, n == 1 ? "its result" : "its median", numbers);
    else if (shown)
        vkt__study_advise(
            s,
            "keep the recipe: %s looked best in the trials, but is worse on new seeds: "
            "%s",
            what, numbers);
    else
        vkt__study_advise(
            s,
            "keep the recipe: %s looked best in the trials, but no difference is shown on "
            "new seeds: %s",
            what, numbers);
    for (size_t i = 0; i < n_set && c.holds; i++) vkt__study_apply(s, set[i]);
    if (!shown)
        vkt__study_advise(s, "%s; --seeds N compares on more seeds",
                          n == 1   ? "one seed can't show a difference"
                          : n == 2 ? "two seeds can't show a difference"
                                   : "the ranges overlap");
    s->command = vkt__study_command(s, s->apply, s->n_apply);
    return VKT_OK;
}
