/* Batch size: throughput at doubling sizes until memory ends or throughput stops rising; with a
 * target also the steps that each size needs to reach it. It recommends by speed, never by the
 * validation result. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/study_run.h"
#include "runs/run_folder.h"

/* Doubling pays while it raises throughput by a tenth; it is (nearly) perfect from 1.8. */
#define PAYS 1.1
#define NEARLY_DOUBLE 1.8
/* Long enough to be reliable: seconds of measured steps, and a number of them. */
#define SECONDS 2.0
enum { MIN_STEPS = 20, MAX_STEPS = 2000, MAX_SIZES = 24 };

static const char playbook[] =
    "The batch size determines the speed of training; do not tune it for validation performance. "
    "With the optimizer and regularisation tuned for it, and enough steps, every size can reach "
    "the same. After a change of the batch size most metaparameters must be tuned again, above all "
    "the learning rate and regularisation, so choose it early. Below the critical size, twice the "
    "batch needs half the steps; above, the gain becomes smaller. The fastest size is usually the "
    "largest that still reduces the number of steps.";

typedef struct size {
    uint32_t batch;
    vkt_study_trial t;
    double ratio; /* items/s over the half size's; NAN: none */
} size;

/* Where memory is short the trainer goes on in micro-batches, which bring no throughput. */
static void check_fits(vkt_study *s, uint32_t batch, vkt_study_trial *t)
{
    vkt__run_record r;
    const char *why;
    if (vkt__run_load(vkt__study_text(s, "%s/%s", s->dir, t->name), &s->priv->arena, &r, &why) !=
            VKT_OK ||
        !r.micro_batch || r.micro_batch >= batch)
        return;
    t->state = VKT_TRIAL_INFEASIBLE;
    t->why = vkt__study_text(s, "does not fit into device memory; ran as micro-batches of %llu",
                             (unsigned long long)r.micro_batch);
}

static vkt_status measure(vkt_study *s, const char *group, uint32_t batch, double step_ms,
                          vkt_study_trial *out)
{
    uint64_t steps =
        isnan(step_ms)
            ? 60
            : (uint64_t)fmin(fmax(round(1e3 * SECONDS / (2 * step_ms)), MIN_STEPS), MAX_STEPS);
    const vkt_study_trial *t;
    const char *set[] = { vkt__study_text(s, "train.batch=%u", batch),
                          "train.accumulate=1",
                          "eval.batch=0",
                          vkt__study_text(s, "train.steps=%llu", (unsigned long long)steps),
                          vkt__study_text(s, "eval.every=%llu", (unsigned long long)steps),
                          "schedule.kind=constant",
                          "schedule.milestones=[]",
                          "schedule.warmup=0",
                          "train.nan_patience=1000000" };
    vkt_status st =
        vkt__study_trial(s, &(vkt__trial_spec) { group, set, VKT_COUNT(set), .check = true }, &t);
    *out = *t;
    if (st == VKT_OK && t->state == VKT_TRIAL_DONE) check_fits(s, batch, out);
    return st;
}

/* The number of steps follows from times, which differ each time: a resumed study takes those of
 * its trial. */
static double recalled_step_ms(const vkt_study *s, double step_ms)
{
    const json_t *j = json_array_get(json_object_get(s->priv->old, "trials"), s->n_trials),
                 *set = json_object_get(j, "set");
    for (size_t i = 0; i < json_array_size(set); i++) {
        const char *v = json_string_value(json_array_get(set, i));
        if (v && !strncmp(v, "train.steps=", 12)) {
            return 1e3 * SECONDS / (2 * vkt__number_or_nan(v + 12));
        }
    }
    return step_ms;
}

static void fill_table(vkt_study *s, const size *z, size_t n)
{
    static const char *const columns[] = { "batch",           "step ms",
                                           "items/s",         "vs half the size",
                                           "peak memory MiB", "note" };
    vkt__study_columns(s, columns, VKT_COUNT(columns));
    for (size_t i = 0; i < n; i++) {
        vkt__study_cell(s, "%u", z[i].batch);
        vkt__study_cell_number(s, z[i].t.step_ms);
        vkt__study_cell(s, "%.0f", z[i].t.items_per_s);
        if (isnan(z[i].ratio))
            vkt__study_cell(s, "-");
        else
            vkt__study_cell(s, "%.2f x", z[i].ratio);
        vkt__study_cell(s, "%.1f", (double)z[i].t.device_bytes / 1048576);
        vkt__study_cell(s, "%s", z[i].t.state == VKT_TRIAL_INFEASIBLE ? "does not fit" : "");
    }
}

/* ---- steps to a target ---- */

static vkt_status steps_to_target(vkt_study *s, const size *z, size_t n)
{
    vkt_status st = VKT_OK;
    double last = NAN, cheapest = NAN;
    uint32_t last_batch = 0, critical = 0, cheapest_batch = 0;
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t;
        const char *set[] = { vkt__study_text(s, "train.batch=%u", z[i].batch),
                              "train.accumulate=1",
                              "eval.batch=0",
                              vkt__study_text(s, "eval.every=%llu",
                                              (unsigned long long)VKT_MAX(s->steps / 100, 1)),
                              "schedule.kind=constant",
                              "schedule.milestones=[]" };
        if (z[i].t.state != VKT_TRIAL_DONE) continue;
        VKT_TRY(vkt__study_trial(
            s, &(vkt__trial_spec) { "target", set, VKT_COUNT(set), true, true }, &t));
        if (s->priv->desc->dry_run) continue;
        if (!t->to_target) {
            vkt__study_advise(s, "batch size %u: the target was not reached in %llu steps",
                              z[i].batch, (unsigned long long)t->steps);
            continue;
        }
        double steps = (double)t->to_target, time = 1e-3 * steps * z[i].t.step_ms;
        double cut = last / steps;
        vkt__study_advise(
            s, "batch size %u: the target is reached after %.0f steps and %.3g s of training%s%s",
            z[i].batch, steps, time,
            isnan(cut) ? ""
                       : vkt__study_text(s, ", %.2f times fewer steps than with batch size %u", cut,
                                         last_batch),
            isnan(cut)   ? ""
            : cut >= 1.7 ? " (nearly perfect scaling)"
            : cut > 1.05 ? " (diminishing returns)"
                         : " (no gain)");
        if (isnan(last) || cut > 1.05) critical = z[i].batch;
        if (isnan(cheapest) || time < cheapest) cheapest = time, cheapest_batch = z[i].batch;
        last = steps;
        last_batch = z[i].batch;
    }
    if (critical)
        vkt__study_advise(s,
                          "%s batch size %u (evaluated every %llu steps, other metaparameters "
                          "unchanged); batch size %u reaches the target in the least time",
                          critical == last_batch
                              ? "the number of steps still falls at the largest size tried,"
                              : "the number of steps no longer falls beyond",
                          critical, (unsigned long long)VKT_MAX(s->steps / 100, 1), cheapest_batch);
fail:
    return st;
}

/* ---- the whole ---- */

static vkt_status explain_limit(vkt_study *s, uint32_t batch)
{
    const vkt_study_desc *d = s->priv->desc;
    char text[1000] = "";
    vkt_config *c = NULL;
    vkt_status st = VKT_OK;
    const char *set[] = { vkt__study_text(s, "train.batch=%u", batch), "eval.batch=0" };
    if (!d->bottleneck) return VKT_OK;
    VKT_TRY(vkt__trial_config(s, set, VKT_COUNT(set), &c));
    vkt__log_hold(true);
    st = d->bottleneck(d->user, c, text, sizeof text);
    vkt__log_hold(false);
    if (st != VKT_OK) {
        vkt__fail(st, "study", "profiling batch size %u: %s", batch, vkt__last_failure());
        goto fail;
    }
    vkt__study_advise(s, "what limits batch size %u: %s", batch, text);
fail:
    vkt_config_destroy(&c);
    return st;
}

static void recommend(vkt_study *s, const size *z, size_t n, size_t pays, size_t doubles)
{
    uint32_t batch = z[pays].batch, now = s->priv->base->batch;
    const char *set = vkt__study_text(s, "train.batch=%u", batch);
    vkt__study_advise(s,
                      "%u is the largest batch size that still raises throughput: %.0f examples/s, "
                      "%.3g ms per step%s",
                      batch, z[pays].t.items_per_s, z[pays].t.step_ms,
                      batch == now ? "; the recipe uses it" : "");
    if (doubles)
        vkt__study_advise(s, "throughput (nearly) doubles with the batch size up to %u",
                          z[doubles].batch);
    if (z[n - 1].t.state == VKT_TRIAL_INFEASIBLE)
        vkt__study_advise(s, "batch size %u does not fit into memory: %s", z[n - 1].batch,
                          z[n - 1].t.why);
    if (batch == now) return;
    vkt__study_advise(
        s,
        "the batch size is about speed and is not applied automatically; after --set %s tune the "
        "learning rate again (`vktrain study lr %s --set %s`), and the regularisation",
        set, vkt__study_word(s, s->recipe), set);
    s->command = vkt__study_command(s, &set, 1);
}

static void find_range(const vkt_study *s, double *from, double *to)
{
    const vkt_study_desc *d = s->priv->desc;
    *from = d->from ? d->from : VKT_MIN(8, s->priv->n_train);
    *to = fmin(d->to ? d->to : 1 << 20, (double)s->priv->n_train);
}

vkt_status vkt__study_batch_size_check(vkt_study *s)
{
    double from, to;
    find_range(s, &from, &to);
    if (from >= 1 && from <= to && from == floor(from)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "study",
                     "batch-size: %g to %g is not a valid range: --from must be a whole number "
                     "from 1 to --to, and at most the %llu training examples",
                     from, to, (unsigned long long)s->priv->n_train);
}

vkt_status vkt__study_batch_size(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    double from, to;
    size z[MAX_SIZES];
    size_t n = 0, pays = 0, doubles = 0, flat = 0, limited = 0;
    double step_ms = NAN;
    vkt_status st = VKT_OK;
    s->playbook = playbook;
    find_range(s, &from, &to);
    for (double b = from; b <= to && n < MAX_SIZES && flat < 2; b *= 2) {
        size *x = &z[n++];
        *x = (size) { .batch = (uint32_t)b, .ratio = NAN };
        if (n == 1) VKT_TRY(measure(s, "warm-up", x->batch, NAN, &x->t)); /* how long is a step? */
        if (n == 1) step_ms = x->t.step_ms;
        if (x->t.state != VKT_TRIAL_INFEASIBLE)
            VKT_TRY(measure(s, "speed", x->batch, recalled_step_ms(s, step_ms), &x->t));
        if (x->t.state == VKT_TRIAL_INFEASIBLE) break;
        if (d->dry_run) continue;
        step_ms = x->t.step_ms;
        if (n > 1) x->ratio = x->t.items_per_s / z[n - 2].t.items_per_s;
        if (n > 1 && x->ratio >= NEARLY_DOUBLE && doubles == n - 2) doubles = n - 1;
        if (!limited && x->ratio < NEARLY_DOUBLE) limited = n - 1;
        if (x->t.items_per_s >= PAYS * z[pays].t.items_per_s) pays = n - 1;
        flat = n > 1 && x->ratio < PAYS ? flat + 1 : 0;
    }
    if (d->dry_run) {
        s->n_more = d->has_target ? (uint32_t)n : 0;
        return VKT_OK;
    }
    if (z[0].t.state == VKT_TRIAL_INFEASIBLE) {
        st = vkt__fail(VKT_E_OOM_DEVICE, "study", "not even batch size %u can be trained: %s",
                       z[0].batch, z[0].t.why);
        goto fail;
    }
    fill_table(s, z, n);
    s->command = vkt__study_command(s, NULL, 0);
    recommend(s, z, n, pays, doubles);
    /* Where throughput ends, or else where it first does not double. */
    if (limited) VKT_TRY(explain_limit(s, z[flat ? pays : limited].batch));
    if (d->has_target) VKT_TRY(steps_to_target(s, z, n));
fail:
    return st;
}
