/* calibrate.h */
#include "data/dataset.h"
#include "train/calibrate.h"
#include "train/measures/ranks.h"

typedef struct said {
    uint32_t n_outputs;
    bool several; /* labels of an example */
    vkt_maybe ignore;
    uint64_t n;
    float *p, *is;    /* [n, n_outputs]; is: several labels, or two classes */
    uint32_t *target; /* [n] classes */
} said;

static void keep(void *user, uint64_t index, const float *out, const vkt_label *y,
                 const double *number)
{
    said *s = user;
    (void)index, (void)number;
    if (s->ignore.given && y->u == s->ignore.n) return;
    memcpy(s->p + s->n * s->n_outputs, out, s->n_outputs * sizeof *out);
    if (!s->several) s->target[s->n] = y->u;
    for (uint32_t k = 0; k < s->n_outputs && s->is; k++)
        s->is[s->n * s->n_outputs + k] = s->several ? y[k].f : (float)(y->u == k);
    s->n++;
}

static vkt_status fit_thresholds(const vkt_config *c, const said *s, vkt__calibration *out)
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
static double fit_temperature(const said *s)
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

static void say_few(const vkt__session *s, uint64_t n)
{
    bool asked = s->info->task == VKT_TASK_CLASSIFY; /* of several labels it is the default */
    vkt_log(asked ? VKT_LOG_WARN : VKT_LOG_INFO, "train",
            "calibration.threshold: %llu validation examples are too few to fit one, which takes "
            "%d: it stays 0.5; raise data.valid_fraction",
            (unsigned long long)n, VKT__CALIBRATION_EXAMPLES);
}

void vkt__calibration_reset(vkt__session *s)
{
    vkt__calibration_finish(&s->calibration);
    s->calibration = vkt__calibration_none(s->info->task, s->info->n_outputs);
}

static vkt_status fit(vkt__session *s, vkt_split split, bool temperature, bool thresholds)
{
    vkt_status st = VKT_OK;
    uint32_t n_out = s->info->n_outputs;
    uint64_t most = VKT_MAX(VKT__RANKED_SCORES / n_out, 1), n = VKT_MIN(s->info->n[split], most);
    bool several = s->info->task == VKT_TASK_MULTILABEL;
    vkt__calibration *c = &s->calibration;
    vkt__eval_sums sums = { 0 };
    said all = { .n_outputs = n_out, .several = several, .ignore = vkt__session_ignore(s) };
    all.p = vkt__alloc(n * n_out * sizeof *all.p);
    all.target = vkt__alloc(n * sizeof *all.target);
    if (thresholds) all.is = vkt__alloc(n * n_out * sizeof *all.is);
    vkt__calibration_reset(s);
    VKT_TRY(vkt__evaluate(s, NULL, split, n, &sums, keep, &all));
    if (all.n < VKT__CALIBRATION_EXAMPLES) { /* some could not be read, or do not count */
        if (thresholds) say_few(s, all.n);
        goto fail;
    }
    c->n_examples = all.n;
    if (temperature) c->temperature = fit_temperature(&all);
    for (uint64_t i = 0; i < all.n && c->temperature > 0; i++)
        vkt__calibration_apply(c, all.p + i * n_out, n_out);
    if (thresholds) VKT_TRY(fit_thresholds(s->config, &all, c));
fail:
    vkt__eval_sums_finish(&sums);
    free(all.p);
    free(all.is);
    free(all.target);
    return st;
}

/* What the first rank has found. */
static vkt_status share(vkt__session *s)
{
    vkt_status st = VKT_OK;
    vkt__calibration *c = &s->calibration;
    struct {
        double temperature;
        uint64_t n_examples;
        uint32_t n, thresholds;
    } head = { c->temperature, c->n_examples, c->n, c->threshold != NULL };
    VKT_TRY(vkt__comm_broadcast(s->comm, &head, sizeof head));
    if (s->comm->rank > 0) {
        vkt__calibration_finish(c);
        *c = (vkt__calibration) { .temperature = head.temperature,
                                  .n = head.n,
                                  .n_examples = head.n_examples };
        if (head.thresholds) c->threshold = vkt__alloc(c->n * sizeof *c->threshold);
    }
    if (head.thresholds)
        VKT_TRY(vkt__comm_broadcast(s->comm, c->threshold, c->n * sizeof *c->threshold));
fail:
    return st;
}

vkt_status vkt__calibrate(vkt__session *s, vkt_split split)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = s->config;
    bool classes = s->info->task == VKT_TASK_CLASSIFY, temperature = classes && c->temperature,
         thresholds = c->threshold != VKT_THRESHOLD_NONE && (!classes || s->info->n_outputs == 2);
    if (s->info->task == VKT_TASK_REGRESS || s->info->kind == VKT_DATA_KIND_TEXT ||
        vkt__is_dense(s->info->task))
        return VKT_OK;
    if (!temperature && !thresholds) return VKT_OK;
    if (s->info->n[split] < VKT__CALIBRATION_EXAMPLES) {
        if (thresholds && (!s->comm || s->comm->rank == 0)) say_few(s, s->info->n[split]);
        return VKT_OK;
    }
    if (!s->comm || s->comm->rank == 0) st = fit(s, split, temperature, thresholds);
    if (s->comm && st == VKT_OK) st = share(s);
    return st;
}

vkt_status vkt__calibration_load(vkt__session *s, const char *checkpoint)
{
    vkt__calibration_finish(&s->calibration);
    if (s->info->task == VKT_TASK_REGRESS || s->info->kind == VKT_DATA_KIND_TEXT ||
        vkt__is_dense(s->info->task))
        return VKT_OK;
    return vkt__calibration_read(checkpoint, s->info->task, s->info->n_outputs,
                                 s->info->class_names, &s->calibration);
}
