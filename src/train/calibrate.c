/* calibrate.h */
#include "data/dataset.h"
#include "train/calibrate.h"
#include "train/measures/ranks.h"

static void keep(void *user, uint64_t index, const float *out, const vkt_label *y,
                 const double *number)
{
    (void)index, (void)number;
    vkt__said_add(user, out, y);
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

static vkt_status fit(vkt__session *s, vkt_split split, vkt__calibrates what)
{
    vkt_status st = VKT_OK;
    uint32_t n_out = s->info->n_outputs;
    uint64_t most = VKT_MAX(VKT__RANKED_SCORES / n_out, 1), n = VKT_MIN(s->info->n[split], most);
    vkt__eval_sums sums = { 0 };
    vkt__said all;
    bool few;
    vkt__said_begin(&all, what, n_out, s->info->task == VKT_TASK_MULTILABEL, vkt__session_ignore(s),
                    n);
    vkt__calibration_reset(s);
    VKT_TRY(vkt__evaluate(s, NULL, split, n, &sums, keep, &all));
    VKT_TRY(vkt__calibration_fit(&all, s->config, what, &s->calibration, &few));
    if (few && what.thresholds) say_few(s, all.n); /* some could not be read, or do not count */
fail:
    vkt__eval_sums_finish(&sums);
    vkt__said_finish(&all);
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
    vkt__calibrates what = vkt__calibration_wanted(s->config, s->info);
    bool leads = !s->comm || s->comm->rank == 0;
    if (!what.temperature && !what.thresholds) return VKT_OK;
    if (s->info->n[split] < VKT__CALIBRATION_EXAMPLES) {
        if (what.thresholds && leads) say_few(s, s->info->n[split]);
        return VKT_OK;
    }
    if (leads) st = fit(s, split, what);
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
