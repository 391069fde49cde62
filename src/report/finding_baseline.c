/* finding_baseline.h */
#include <math.h>

#include "report/finding_baseline.h"
#include "report/findings_limits.h"

static bool is_share(const vkt__run_record *r)
{
    return !strcmp(r->metric, "accuracy");
}

static const char *value(const vkt__run_record *r, vkt__arena *a, double v)
{
    return is_share(r) ? vkt__arena_printf(a, "%.2f%%", 100 * v) : vkt__arena_printf(a, "%.4g", v);
}

static bool has_one(const vkt__run_record *r)
{
    return r->baseline && r->metric && isfinite(r->baseline_metric) && isfinite(r->baseline_net);
}

const char *vkt__baseline_text(const vkt__run_record *r, vkt__arena *a)
{
    if (!has_one(r)) return NULL;
    const char *text =
        vkt__arena_printf(a, "%s: %s %s, the network %s", r->baseline, r->metric,
                          value(r, a, r->baseline_metric), value(r, a, r->baseline_net));
    if (isfinite(r->baseline_accuracy) && !is_share(r))
        text = vkt__arena_printf(a, "%s; accuracy %.2f%%, the network %.2f%%", text,
                                 100 * r->baseline_accuracy, 100 * r->baseline_net_accuracy);
    if (isfinite(r->baseline_test))
        text = vkt__arena_printf(a, "%s; on test %s, the network %s", text,
                                 value(r, a, r->baseline_test), value(r, a, r->baseline_test_net));
    return text;
}

/* Even of the training examples: by their accuracy where it is known, else by a loss that is a
 * tenth larger. */
static bool underfits(const vkt__run_record *r, const vkt_history *h, vkt__str *text)
{
    double loss = vkt__last_training_loss(h), right = vkt__last_training_accuracy(h);
    bool share = is_share(r) || isfinite(r->baseline_accuracy),
         by_loss = !share && !strcmp(r->metric, "loss");
    double linear = is_share(r) ? r->baseline_metric : r->baseline_accuracy;
    if (share && right < linear) {
        vkt__str_printf(text, ": it is right for %.2f%% of the training examples of its last steps",
                        100 * right);
    } else if (by_loss && loss > 1.1 * r->baseline_metric) {
        vkt__str_printf(text, ": the loss of its last training steps is %.4g", loss);
    } else {
        return false;
    }
    vkt__str_printf(text, ", less than the linear model has on examples it has not "
                          "seen, so it underfits: train longer (train.steps) or with a higher rate "
                          "(`vktrain study lr`), make narrow layers wider, or lower dropout and "
                          "weight decay");
    return true;
}

/* The numbers that the verdict is of, in the places of validation's. */
static vkt__run_record judged(const vkt__run_record *r)
{
    vkt__run_record j = *r;
    if (!r->baseline_split || strcmp(r->baseline_split, "test") != 0 || !isfinite(r->baseline_test))
        return j;
    j.baseline_metric = r->baseline_test;
    j.baseline_net = r->baseline_test_net;
    j.baseline_error = r->baseline_test_error;
    j.baseline_accuracy = r->baseline_test_accuracy;
    j.baseline_net_accuracy = r->baseline_test_net_accuracy;
    return j;
}

bool vkt__finding_baseline(const vkt__run_record *of, const vkt_history *h, vkt__str *text)
{
    vkt__arena a = { 0 };
    if (!has_one(of) || !of->baseline_verdict) return false;
    const vkt__run_record j = judged(of), *r = &j;
    const char *split = of->baseline_split ? vkt__arena_printf(&a, "on %s ", of->baseline_split)
                                           : ""; /* a run before 0.2.0 */
    bool level = !strcmp(r->baseline_verdict, "level");
    if (!strcmp(r->baseline_verdict, "partly")) {
        vkt__str_printf(text,
                        "by %s the network is better than a linear model (%s): %s%s against %s. In "
                        "accuracy it is no better: %.2f%% against %.2f%%, difference within noise",
                        r->metric, r->baseline, split, value(r, &a, r->baseline_net),
                        value(r, &a, r->baseline_metric), 100 * r->baseline_net_accuracy,
                        100 * r->baseline_accuracy);
        vkt__arena_finish(&a);
        return true;
    }
    if (!level && strcmp(r->baseline_verdict, "worse") != 0) return false;
    vkt__str_printf(text, "the network is %s a linear model (%s): %s%s %s against %s",
                    level ? "no better than" : "worse than", r->baseline, split, r->metric,
                    value(r, &a, r->baseline_net), value(r, &a, r->baseline_metric));
    if (isfinite(r->baseline_accuracy) && !is_share(r))
        vkt__str_printf(text, ", accuracy %.2f%% against %.2f%%", 100 * r->baseline_net_accuracy,
                        100 * r->baseline_accuracy);
    vkt__str_printf(text, ", difference %s noise", level ? "within" : "beyond");
    if (isfinite(r->baseline_error))
        vkt__str_printf(text, " (standard error of the %s %s)", r->metric,
                        value(r, &a, r->baseline_error));
    if (level)
        vkt__str_printf(text, ": the linear model says as much and is simpler; a network needs "
                              "more examples or other inputs to be worth it");
    else if (!underfits(r, h, text))
        vkt__str_printf(text, ": look for a better rate (`vktrain study lr`), less or more "
                              "regularisation, or take the linear model");
    vkt__arena_finish(&a);
    return true;
}
