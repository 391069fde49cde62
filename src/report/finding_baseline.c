/* finding_baseline.h */
#include <math.h>

#include "report/finding_baseline.h"

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

bool vkt__finding_baseline(const vkt__run_record *r, vkt__str *text)
{
    vkt__arena a = { 0 };
    if (!has_one(r) || !r->baseline_verdict) return false;
    bool level = !strcmp(r->baseline_verdict, "level");
    if (!level && strcmp(r->baseline_verdict, "worse") != 0) return false;
    vkt__str_printf(text, "the network is %s a linear model (%s): %s %s against %s",
                    level ? "no better than" : "worse than", r->baseline, r->metric,
                    value(r, &a, r->baseline_net), value(r, &a, r->baseline_metric));
    if (isfinite(r->baseline_accuracy) && !is_share(r))
        vkt__str_printf(text, ", accuracy %.2f%% against %.2f%%", 100 * r->baseline_net_accuracy,
                        100 * r->baseline_accuracy);
    vkt__str_printf(text, ", difference %s noise", level ? "within" : "beyond");
    if (isfinite(r->baseline_error))
        vkt__str_printf(text, " (standard error of the %s %s)", r->metric,
                        value(r, &a, r->baseline_error));
    vkt__str_printf(text, level ? ": the linear model says as much and is simpler; a network needs "
                                  "more examples or other inputs to be worth it"
                                : ": look for a better rate (`vktrain study lr`), less or more "
                                  "regularisation, or take the linear model");
    vkt__arena_finish(&a);
    return true;
}
