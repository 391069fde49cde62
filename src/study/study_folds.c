/* Cross-validation: the recipe on each fold of its examples, with one seed or several; and, paired
 * with it run by run, the recipe with other settings. The examples of the test set are in no fold.
 */
#include <math.h>

#include "study/study_run.h"

static const char playbook[] =
    "Before adopting a change, run the best trial several times to see how far the result varies: "
    "the smaller the validation set, the more of a difference is chance. A small change is adopted "
    "only if it is worth what it adds in complexity.";

vkt_status vkt__study_folds_check(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_config *c = NULL;
    vkt_status st = VKT_OK;
    if (d->labels && !s->priv->has_classes)
        return vkt__fail(
            VKT_E_ARG, "study",
            "--labels lists the labels of classes, one an example: this data has none, "
            "leave it out");
    for (size_t i = 0; i < d->n_set + d->n_against && st == VKT_OK; i++) {
        const char *set = i < d->n_set ? d->set[i] : d->against[i - d->n_set];
        if (!strncmp(set, "data.fold", 9) || (i >= d->n_set && !strncmp(set, "seed=", 5)))
            st = vkt__fail(VKT_E_ARG, "study", "%s is what this study sets itself", set);
    }
    VKT_TRY(st);
    VKT_TRY(vkt__trial_config(s, d->against, d->n_against, &c)); /* a wrong key is found here */
fail:
    vkt_config_destroy(&c);
    return st;
}

/* Two-sided 95% of Student's t; from 10 degrees of freedom on by its expansion about the normal
 * one (Abramowitz and Stegun 26.7.5), within 0.1%. */
double vkt__critical_t(size_t freedom)
{
    static const double few[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262 };
    double z = 1.959964, n = (double)freedom;
    if (freedom <= VKT_COUNT(few)) return freedom ? few[freedom - 1] : INFINITY;
    return z + (z * z * z + z) / (4 * n) + (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

vkt__moments vkt__moments_of(const double *v, size_t n)
{
    vkt__moments m = { .low = INFINITY, .high = -INFINITY };
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i])) continue;
        m.n++;
        m.mean += (v[i] - m.mean) / (double)m.n;
        m.low = fmin(m.low, v[i]);
        m.high = fmax(m.high, v[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) m.deviation += (v[i] - m.mean) * (v[i] - m.mean);
    m.deviation = m.n > 1 ? sqrt(m.deviation / (double)(m.n - 1)) : NAN;
    return m;
}

vkt__paired vkt__paired_of(const double *difference, size_t n, uint32_t folds)
{
    vkt__moments m = vkt__moments_of(difference, n);
    vkt__paired p = { .n = m.n, .mean = m.mean, .critical = vkt__critical_t(m.n ? m.n - 1 : 0) };
    double variance = m.deviation * m.deviation * (1 / (double)m.n + 1 / ((double)folds - 1));
    p.t = m.n < 2 ? 0 : variance > 0 ? m.mean / sqrt(variance) : m.mean != 0 ? INFINITY : 0;
    p.shown = fabs(p.t) > p.critical;
    return p;
}

/* The trials of one arm: repeats x folds, settings of the arm first. */
static void plan(vkt_study *s, const char *group, const char *const *set, size_t n_set,
                 vkt__trial_spec *spec)
{
    const vkt_study_desc *d = s->priv->desc;
    for (uint32_t r = 0; r < d->rounds; r++)
        for (uint32_t f = 0; f < d->folds; f++) {
            const char **all = vkt__arena_alloc(&s->priv->arena, (n_set + 3) * sizeof *all);
            if (n_set) memcpy(all, set, n_set * sizeof *all);
            all[n_set] = vkt__study_text(s, "data.fold=%u", f);
            all[n_set + 1] = vkt__study_text(s, "data.folds=%u", d->folds);
            all[n_set + 2] =
                vkt__study_text(s, "seed=%llu", (unsigned long long)(s->priv->base->seed + r));
            spec[r * d->folds + f] = (vkt__trial_spec) { .group = group,
                                                         .set = all,
                                                         .n_set = n_set + 3,
                                                         .check = !(d->labels && set == NULL && !r),
                                                         .no_test = true };
        }
}

static void tabulate(vkt_study *s, size_t first, size_t n, bool pairs)
{
    const vkt_study_desc *d = s->priv->desc;
    const char *columns[] = { "fold", "seed", vkt__study_text(s, "best valid %s", s->metric),
                              "with the settings", "difference" };
    vkt__study_columns(s, columns, pairs ? 5 : 3);
    for (size_t i = 0; i < n; i++) {
        double a = s->trials[first + i].best;
        vkt__study_cell(s, "%zu", i % d->folds);
        vkt__study_cell(s, "%llu", (unsigned long long)(s->priv->base->seed + i / d->folds));
        vkt__study_cell_number(s, a);
        if (!pairs) continue;
        double b = s->trials[first + n + i].best;
        vkt__study_cell_number(s, b);
        vkt__study_cell_number(s, b - a);
    }
}

static void say_moments(vkt_study *s, const char *what, const double *v, size_t n)
{
    vkt__moments m = vkt__moments_of(v, n);
    vkt__study_advise(s, "%s%s %.4g, deviation %.2g, from %.4g to %.4g: %zu runs, %u folds", what,
                      s->metric, m.mean, m.deviation, m.low, m.high, m.n, s->priv->desc->folds);
    if (m.n < n)
        vkt__study_advise(s, "%s%zu runs of %zu gave no result and are not counted", what, n - m.n,
                          n);
}

static void compare(vkt_study *s, const double *a, const double *b, size_t n)
{
    const vkt_study_desc *d = s->priv->desc;
    double *difference = vkt__alloc((n + 1) * sizeof *difference);
    for (size_t i = 0; i < n; i++) difference[i] = s->metric_sign * (b[i] - a[i]);
    vkt__paired p = vkt__paired_of(difference, n, d->folds);
    const char *what = vkt__study_text(s, "%s%s", d->against[0], d->n_against > 1 ? " ..." : "");
    const char *numbers =
        vkt__study_text(s, "%s %s by %.3g on average, t = %.3g; beyond %.3g it is no chance (95%%)",
                        s->metric, p.mean < 0 ? "worse" : "better", fabs(p.mean), p.t, p.critical);
    if (p.n < 2)
        vkt__study_advise(s, "nothing can be compared: %zu pairs of runs have a result", p.n);
    else if (p.shown)
        vkt__study_advise(s, "%s %s: %s", p.mean > 0 ? "use" : "keep the recipe, not", what,
                          numbers);
    else
        vkt__study_advise(s, "no difference is shown between the recipe and %s: %s", what, numbers);
    for (size_t i = 0; i < d->n_against && p.shown && p.mean > 0; i++)
        vkt__study_apply(s, d->against[i]);
    free(difference);
}

vkt_status vkt__study_folds(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_status st = VKT_OK;
    size_t n = (size_t)d->folds * d->rounds, arms = d->n_against ? 2 : 1, first;
    vkt__trial_spec *spec = vkt__alloc(2 * n * sizeof *spec);
    double *best = vkt__alloc(2 * n * sizeof *best);
    s->playbook = playbook;
    plan(s, "recipe", NULL, 0, spec);
    if (arms == 2) plan(s, "candidate", d->against, d->n_against, spec + n);
    VKT_TRY(vkt__study_trials(s, spec, arms * n, &first));
    if (d->dry_run) goto fail;
    for (size_t i = 0; i < arms * n; i++) best[i] = s->trials[first + i].best;
    tabulate(s, first, n, arms == 2);
    if (arms == 2) compare(s, best, best + n, n);
    say_moments(s, arms == 2 ? "the recipe: " : "", best, n);
    if (arms == 2) say_moments(s, "with the settings: ", best + n, n);
    vkt__study_advise(s, "each run is judged by its best evaluation on its own fold, which is a "
                         "little too good for both; the test set was not looked at");
    if (d->labels) VKT_TRY(vkt__study_labels(s, first, d->folds));
    s->command = vkt__study_command(s, s->apply, s->n_apply);
fail:
    free(spec);
    free(best);
    return st;
}
