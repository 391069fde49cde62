/* The learning curve by the number of training examples: the recipe on an eighth, a quarter, half
 * and all of them, in equal steps, judged on the same validation examples; each size on several
 * seeds, which draw the examples and the weights. Is more data worth it? */
#include <math.h>

#include "study/study_run.h"

static const char playbook[] =
    "It assumes that the problem is formulated and the data cleaned, so that time spent on the "
    "model "
    "and its training makes sense. Whether more or better data would help more is the question "
    "before.";

static const double shares[] = { 0.125, 0.25, 0.5, 1 };
enum { N_SHARES = 4, FEWEST_EXAMPLES = 80 };

/* The smallest share must fill a batch. Class by class at least a sixteenth is left of the
 * examples, so that the data of a smaller batch are not opened for this. */
static vkt_status check_batch(const vkt_study *s)
{
    const vkt_config *c = s->priv->base;
    uint64_t n = s->priv->n_train;
    vkt_data_desc desc = c->data;
    vkt_dataset *data = NULL;
    if (c->batch <= n / 16) return VKT_OK;
    desc.train_fraction = shares[0];
    vkt__log_quiet(true);
    vkt_status st = vkt_dataset_open(&desc, &data);
    vkt__log_quiet(false);
    if (st != VKT_OK) return vkt__fail(st, "study", "%s", vkt__last_failure());
    uint64_t least = vkt_dataset_get_info(data)->n[VKT_SPLIT_TRAIN];
    vkt_dataset_destroy(&data);
    if (c->batch <= least) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "study",
                     "train.batch %u is more than an eighth of the %llu training examples: --set "
                     "train.batch=%llu",
                     c->batch, (unsigned long long)n, (unsigned long long)least);
}

vkt_status vkt__study_data_check(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    for (size_t i = 0; i < d->n_set; i++)
        if (!strncmp(d->set[i], "data.train_", 11))
            return vkt__fail(VKT_E_ARG, "study", "%s is what this study sets itself", d->set[i]);
    if (s->priv->base->data.train_fraction < 1)
        return vkt__fail(
            VKT_E_ARG, "study",
            "data.train_fraction is %g in the recipe: this study sets it itself, leave "
            "it out",
            s->priv->base->data.train_fraction);
    if (s->priv->n_train < FEWEST_EXAMPLES)
        return vkt__fail(VKT_E_ARG, "study",
                         "%llu training examples are too few for a learning curve, which begins "
                         "with an eighth of them: at least %d are needed",
                         (unsigned long long)s->priv->n_train, FEWEST_EXAMPLES);
    if (s->priv->desc->repeats < 2)
        return vkt__fail(VKT_E_ARG, "study",
                         "--seeds 1 shows no noise: a learning curve needs 2 or more");
    return check_batch(s);
}

static void plan(vkt_study *s, vkt__trial_spec *spec)
{
    struct vkt__study_private *p = s->priv;
    uint32_t seeds = p->desc->repeats;
    for (size_t k = 0; k < N_SHARES; k++)
        for (uint32_t r = 0; r < seeds; r++) {
            const char **set = vkt__arena_alloc(&p->arena, 3 * sizeof *set);
            set[0] = vkt__study_text(s, "data.train_fraction=%g", shares[k]);
            set[1] = vkt__study_text(s, "data.train_seed=%u", r + 1);
            set[2] = vkt__study_text(s, "seed=%llu", (unsigned long long)(p->base->seed + r + 1));
            spec[k * seeds + r] =
                (vkt__trial_spec) { .group = "size", .set = set, .n_set = 3, .check = true };
        }
}

/* From size a to size b, seed by seed: a seed has the same weights at each size, so what it adds to
 * all of them is no noise of their differences. Returns how many seeds have both. */
static size_t gain_between(const double *a, const double *b, size_t seeds, int sign, double *gain,
                           double *error)
{
    double *by = vkt__alloc((seeds + 1) * sizeof *by);
    for (size_t r = 0; r < seeds; r++) by[r] = sign * (b[r] - a[r]);
    vkt__moments m = vkt__moments_of(by, seeds);
    *gain = m.n ? m.mean : NAN;
    *error = m.n > 1 ? m.deviation / sqrt((double)m.n) : NAN;
    free(by);
    return m.n;
}

vkt__data_verdict vkt__data_verdict_of(const double *value, size_t n, size_t seeds, int sign)
{
    vkt__data_verdict v;
    const double *all = value + (n - 1) * seeds, *half = all - seeds, *quarter = half - seeds;
    double before, unused;
    size_t pairs = gain_between(half, all, seeds, sign, &v.gain, &v.error),
           whole_pairs = gain_between(value, all, seeds, sign, &v.whole, &v.whole_error);
    v.critical = vkt__critical_t(pairs > 1 ? pairs - 1 : 0);
    v.whole_critical = vkt__critical_t(whole_pairs > 1 ? whole_pairs - 1 : 0);
    v.shown = pairs > 1 && v.gain > v.critical * v.error;
    v.whole_known = whole_pairs > 1;
    v.whole_shown = v.whole_known && v.whole > v.whole_critical * v.whole_error;
    /* Each doubling gives less than the one before, by the factor between the last two. */
    gain_between(n > 2 ? quarter : half, half, seeds, sign, &before, &unused);
    v.next_high = v.gain;
    v.next_low = before > 0 ? v.gain * fmin(v.gain / before, 1) : v.gain;
    return v;
}

static void tabulate(vkt_study *s, const double *best)
{
    uint32_t seeds = s->priv->desc->repeats;
    const char *columns[] = { "training examples",
                              "share",
                              vkt__study_text(s, "mean %s", s->metric),
                              "deviation",
                              "best",
                              "worst",
                              "runs" };
    vkt__study_columns(s, columns, VKT_COUNT(columns));
    for (size_t k = 0; k < N_SHARES; k++) {
        vkt__moments m = vkt__moments_of(best + k * seeds, seeds);
        bool rises = s->metric_sign > 0;
        vkt__study_cell(s, "%.0f", round(shares[k] * (double)s->priv->n_train));
        vkt__study_cell(s, "%g", shares[k]);
        vkt__study_cell_number(s, m.n ? m.mean : NAN);
        vkt__study_cell_number(s, m.deviation);
        vkt__study_cell_number(s, m.n ? (rises ? m.high : m.low) : NAN);
        vkt__study_cell_number(s, m.n ? (rises ? m.low : m.high) : NAN);
        vkt__study_cell(s, "%zu", m.n);
    }
}

static void advise(vkt_study *s, const double *best)
{
    uint32_t seeds = s->priv->desc->repeats;
    vkt__data_verdict v = vkt__data_verdict_of(best, N_SHARES, seeds, s->metric_sign);
    vkt__moments half = vkt__moments_of(best + (N_SHARES - 2) * seeds, seeds),
                 all = vkt__moments_of(best + (N_SHARES - 1) * seeds, seeds),
                 smallest = vkt__moments_of(best, seeds);
    const char *last = vkt__study_text(
        s, "from half to all of the %llu training examples %s goes from %.4g to %.4g",
        (unsigned long long)s->priv->n_train, s->metric, half.mean, all.mean);
    if (half.n < 2 || all.n < 2)
        vkt__study_advise(s,
                          "nothing can be said: %zu and %zu runs of the two largest sizes have a "
                          "result",
                          half.n, all.n);
    else if (v.shown)
        vkt__study_advise(s,
                          "more data is worth it: %s, better by %.2g (standard error %.2g; beyond "
                          "%.2g it is no chance), and as many examples again would give about %.2g "
                          "to %.2g more if it goes on as before",
                          last, v.gain, v.error, v.critical * v.error, v.next_low, v.next_high);
    else if (!v.whole_known)
        vkt__study_advise(s,
                          "nothing can be said: %s, a difference that %u seeds don't tell from "
                          "chance (within %.2g), and %zu runs of an eighth of the examples have a "
                          "result",
                          last, seeds, v.critical * v.error, smallest.n);
    else if (v.whole_shown)
        vkt__study_advise(s,
                          "more data would give little: %s, a difference of %.2g that %u seeds "
                          "don't tell from chance (within %.2g), while eight times as many gave "
                          "%.2g: look at the model, the inputs and the labels first; more seeds "
                          "(--seeds) show smaller gains",
                          last, v.gain, seeds, v.critical * v.error, v.whole);
    else
        vkt__study_advise(s,
                          "more data of this kind is not what is missing: even from an eighth to "
                          "all of the examples %s improves by no more than chance (%.2g, within "
                          "%.2g): look at the model, its rate, the inputs and the labels; more "
                          "seeds (--seeds) show smaller gains",
                          s->metric, v.whole, v.whole_critical * v.whole_error);
    vkt__noise z = vkt__study_noise(s, &s->trials[s->n_trials - 1]);
    if (!isnan(z.error))
        vkt__study_advise(s,
                          "all sizes are judged on the same %llu validation examples, so the "
                          "differences are those of the training examples; the level itself, %s "
                          "%.4g, has a standard error of %.2g",
                          (unsigned long long)z.n, z.metric, z.value, z.error);
    vkt__study_advise(s, "all runs have the same number of steps, and each is judged by its best "
                         "evaluation; constants of the inputs and the classes are those of all "
                         "training examples");
}

vkt_status vkt__study_data(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_status st = VKT_OK;
    size_t n = (size_t)N_SHARES * d->repeats, first;
    vkt__trial_spec *spec = vkt__alloc(n * sizeof *spec);
    double *best = vkt__alloc(n * sizeof *best);
    s->playbook = playbook;
    plan(s, spec);
    VKT_TRY(vkt__study_trials(s, spec, n, &first));
    if (d->dry_run) goto fail;
    for (size_t i = 0; i < n; i++) best[i] = s->trials[first + i].best;
    tabulate(s, best);
    advise(s, best);
fail:
    free(spec);
    free(best);
    return st;
}
