/* How far a validation set of its size can tell trials apart: the standard error of a result, and
 * what the best of many is ahead by through luck. */
#include <math.h>

#include "study/study_run.h"
#include "train/measures/share_error.h"

double vkt__standard_error(const char *metric, double value, uint64_t n)
{
    double count = (double)n;
    if (!n || isnan(value)) return NAN;
    if (!strcmp(metric, "accuracy") || !strcmp(metric, "balanced_accuracy"))
        return vkt__share_error(value, n);
    if (!strcmp(metric, "r2")) return 2 * sqrt(fmax(value, 0)) * (1 - value) / sqrt(count);
    if (!strcmp(metric, "rmse")) return value / sqrt(2 * count);
    if (!strcmp(metric, "mae")) return value * sqrt((acos(-1) / 2 - 1) / count);
    return NAN;
}

/* The mean of the largest, x n phi(x) Phi(x)^(n - 1) integrated by steps of 1/50. */
double vkt__luck_of_best(size_t n)
{
    double sum = 0;
    for (int i = -400; i <= 400; i++) {
        double x = i / 50.0, density = exp(-x * x / 2) / sqrt(2 * acos(-1)),
               below = erfc(-x / sqrt(2)) / 2;
        sum += x * (double)n * density * pow(below, (double)n - 1) / 50;
    }
    return n ? fmax(sum, 0) : 0;
}

/* The evaluation that chose a trial's checkpoint. */
static bool best_evaluation(const vkt_study *s, const vkt_study_trial *t, vkt_history_eval *out)
{
    vkt_history *h = NULL;
    bool found = false;
    vkt__log_hold(true);
    if (vkt_history_load(vkt__arena_printf(&s->priv->arena, "%s/%s", s->dir, t->name), &h) ==
        VKT_OK)
        for (size_t i = 0; i < h->n_evals && !found; i++) {
            found = h->evals[i].step == t->best_step && strcmp(h->evals[i].split, "test");
            if (found) *out = h->evals[i];
        }
    vkt__log_hold(false);
    vkt_history_destroy(&h);
    return found;
}

vkt__noise vkt__study_noise(const vkt_study *s, const vkt_study_trial *t)
{
    vkt_history_eval e;
    vkt__noise z = { .metric = s->metric, .value = t->best, .error = NAN };
    if (!best_evaluation(s, t, &e)) return z;
    z.n = e.n;
    z.error = vkt__standard_error(s->metric, t->best, e.n);
    if (isnan(z.error) && !strcmp(s->metric, "loss") && e.n_classes) {
        z.metric = "accuracy";
        z.value = e.accuracy;
        z.error = vkt__standard_error("accuracy", e.accuracy, e.n);
    }
    return z;
}

void vkt__study_say_noise(vkt_study *s, const vkt_study_trial *best, double other, size_t n)
{
    vkt__noise z = vkt__study_noise(s, best);
    if (isnan(z.error)) return;
    double luck = vkt__luck_of_best(n) * z.error, gain = s->metric_sign * (best->best - other);
    bool same = z.metric == s->metric;
    const char *told = vkt__study_text(
        s,
        "%zu trials were compared on %llu validation examples: %s %.4g of %s has a standard "
        "error of %.2g there",
        n, (unsigned long long)z.n, z.metric, z.value, best->name, z.error);
    const char *ahead = vkt__study_text(
        s, "the best of %zu equal ones would be ahead by %.2g through luck", n, luck);
    if (same && gain > luck)
        vkt__study_advise(s, "%s; %s, and it is by %.2g", told, ahead, gain);
    else
        vkt__study_advise(s,
                          "%s, and %s%s: `%s`, or more validation examples (data.valid_fraction), "
                          "tell more; more trials do not",
                          told, ahead, same ? vkt__study_text(s, " (it is by %.2g)", gain) : "",
                          vkt__study_of(s, "folds", NULL));
}
