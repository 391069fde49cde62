/* calibration_fit.h */
#include "data/dataset.h"
#include "train/measures/calibration_fit.h"

vkt__calibrates vkt__calibration_wanted(const vkt_config *c, const vkt_dataset_info *info)
{
    bool classes = info->task == VKT_TASK_CLASSIFY, labels = info->task == VKT_TASK_MULTILABEL;
    if (info->kind == VKT_DATA_KIND_TEXT) return (vkt__calibrates) { 0 };
    return (vkt__calibrates) { .temperature = classes && c->temperature,
                               .thresholds = c->threshold != VKT_THRESHOLD_NONE &&
                                             (labels || (classes && info->n_outputs == 2)) };
}

void vkt__said_begin(vkt__said *s, vkt__calibrates what, uint32_t n_outputs, bool several,
                     vkt_maybe ignore, uint64_t most)
{
    *s = (vkt__said) { .n_outputs = n_outputs, .several = several, .ignore = ignore };
    s->p = vkt__alloc(most * n_outputs * sizeof *s->p);
    s->target = vkt__alloc(most * sizeof *s->target);
    if (what.thresholds) s->is = vkt__alloc(most * n_outputs * sizeof *s->is);
}

void vkt__said_add(vkt__said *s, const float *out, const vkt_label *y)
{
    if (s->ignore.given && y->u == s->ignore.n) return;
    memcpy(s->p + s->n * s->n_outputs, out, s->n_outputs * sizeof *out);
    if (!s->several) s->target[s->n] = y->u;
    for (uint32_t k = 0; k < s->n_outputs && s->is; k++)
        s->is[s->n * s->n_outputs + k] = s->several ? y[k].f : (float)(y->u == k);
    s->n++;
}

void vkt__said_finish(vkt__said *s)
{
    free(s->p);
    free(s->is);
    free(s->target);
}

static vkt_status fit_thresholds(const vkt_config *c, const vkt__said *s, vkt__calibration *out)
{
    vkt_status st = VKT_OK;
    vkt__threshold_by by = c->threshold == VKT_THRESHOLD_COST ? VKT__BY_COST : VKT__BY_F1;
    if (!out->threshold) out->threshold = vkt__alloc(s->n_outputs * sizeof *out->threshold);
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        out->threshold[k] = 0.5f;
        if (s->several || k == 1)
            VKT_TRY(vkt__fit_threshold(s->p + k, s->is + k, s->n, s->n_outputs, by,
                                       (double)c->miss_cost, &out->threshold[k]));
    }
fail:
    return st;
}

/* 0: it would not help. */
static double fit_temperature(const vkt__said *s)
{
    double without, with;
    if (vkt__temperature_helps(s->p, s->target, s->n, s->n_outputs, &without, &with))
        return vkt__fit_temperature(s->p, s->target, s->n, s->n_outputs);
    vkt_log(VKT_LOG_INFO, "train",
            "no temperature: fitted on four fifths of the %llu validation examples it does not "
            "help the other one (loss %.4g, without it %.4g)",
            (unsigned long long)s->n, with, without);
    return 0;
}

vkt_status vkt__calibration_fit(vkt__said *s, const vkt_config *c, vkt__calibrates what,
                                vkt__calibration *out, bool *few)
{
    *few = s->n < VKT__CALIBRATION_EXAMPLES;
    if (*few) return VKT_OK;
    out->n_examples = s->n;
    if (what.temperature) out->temperature = fit_temperature(s);
    for (uint64_t i = 0; i < s->n && out->temperature > 0; i++)
        vkt__calibration_apply(out, s->p + i * s->n_outputs, s->n_outputs);
    return what.thresholds ? fit_thresholds(c, s, out) : VKT_OK;
}
