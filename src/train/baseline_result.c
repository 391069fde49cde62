/* baseline_result.h */
#include <math.h>
#include <stdio.h>

#include "data/dataset.h"
#include "base/os.h"
#include "baseline/baseline.h"
#include "train/baseline_result.h"
#include "train/measures/beside.h"
#include "train/ranks/trainer_ranks.h"

enum { MOST_EXAMPLES = 10000, FEWEST_EXAMPLES = 10 };

/* Multiply-adds that are at most a twentieth of the training's time, beginning and end included: a
 * run takes half a second, a step 0.2 ms at least, and a core's multiply-adds are a tenth as fast
 * as a slow device's. A function of the recipe, so that the result is the same however fast the
 * machine is; what it took is said with the result. */
static double allowance(const vkt__trainer *t)
{
    double steps = (double)t->done, share = 0.05;
    double by_steps = steps * 5e5,
           by_products = 0.3 * (double)vkt_model_count(t->s->model) * t->step_examples * steps;
    return fmin(fmax(share * fmax(by_steps, by_products), 2.4e7), 3e9);
}

/* The network's outputs of the examples, in a vkt__example_fn's order. */
typedef struct outputs {
    const vkt_dataset_info *info;
    vkt_maybe ignore;
    const vkt__target *target; /* [n_outputs] of numbers */
    size_t n;
    double *net, *base; /* [most, n_outputs] */
    vkt_label *y;       /* [most, n_labels] */
    uint64_t *index;
} outputs;

static void keep(void *user, uint64_t index, const float *out, const vkt_label *y,
                 const double *number)
{
    outputs *o = user;
    uint32_t n_out = o->info->n_outputs, n_labels = o->info->n_labels;
    bool classify = o->info->task == VKT_TASK_CLASSIFY;
    double *to = o->net + o->n * n_out;
    vkt_label *label = o->y + o->n * n_labels;
    if (classify && (y->u >= n_out || (o->ignore.given && y->u == o->ignore.n))) return;
    memcpy(label, y, n_labels * sizeof *y);
    for (uint32_t k = 0; k < n_out; k++) to[k] = (double)out[k];
    for (uint32_t k = 0; k < n_out && number; k++) {
        to[k] = vkt__target_learned(&o->target[k], number[k]);
        label[k].f = (float)vkt__target_learned(&o->target[k], number[n_out + k]);
    }
    o->index[o->n++] = index;
}

/* By the measure that selects, and of classes by the share that is right. */
typedef struct compared {
    double net, base, constant, error;
    double right_net, right_base, right_error;
    size_t n;
} compared;
static const compared nothing = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0 };

static vkt_status run_base(vkt__baseline *base, vkt_split split, outputs *o)
{
    vkt_status st = VKT_OK;
    size_t n = 0, n_out = o->info->n_outputs, n_labels = o->info->n_labels;
    for (size_t i = 0; i < o->n; i++) {
        bool read;
        VKT_TRY(vkt__baseline_predict(base, split, o->index[i], o->base + n * n_out, &read));
        if (!read) continue;
        memmove(o->net + n * n_out, o->net + i * n_out, n_out * sizeof *o->net);
        memmove(o->y + n * n_labels, o->y + i * n_labels, n_labels * sizeof *o->y);
        n++;
    }
    o->n = n;
fail:
    return st;
}

static vkt_status compare(vkt__trainer *t, vkt__baseline *base, vkt_split split, compared *out)
{
    vkt_status st = VKT_OK;
    const vkt_dataset_info *info = t->info;
    uint32_t n_out = info->n_outputs;
    uint64_t most = VKT_MIN(info->n[split], (uint64_t)MOST_EXAMPLES);
    outputs o = { .info = info, .ignore = vkt__session_ignore(t->s) };
    double *constant = NULL;
    *out = nothing;
    vkt__eval_sums sums = { 0 };
    most = vkt__baseline_affords(base, most);
    if (info->task == VKT_TASK_REGRESS) o.target = t->data->schema.targets;
    VKT_TRY(vkt__alloc_large(most * n_out + 1, sizeof *o.net, "a comparison", &o.net));
    VKT_TRY(vkt__alloc_large(most * n_out + 1, sizeof *o.base, "a comparison", &o.base));
    VKT_TRY(vkt__alloc_large(most * info->n_labels + 1, sizeof *o.y, "a comparison", &o.y));
    VKT_TRY(vkt__alloc_large(most + 1, sizeof *o.index, "a comparison", &o.index));
    /* with its temperature, where there is one: what predictions have */
    VKT_TRY(vkt__evaluate(t->s, NULL, split, most, &sums, keep, &o));
    VKT_TRY(run_base(base, split, &o));
    vkt__beside b = { info->task, n_out, info->n_labels, o.n, o.y, o.target };
    out->n = o.n;
    if (o.n < FEWEST_EXAMPLES) goto fail;
    VKT_TRY(vkt__beside_metric(&b, o.net, t->c->metric, NULL, &out->net));
    VKT_TRY(vkt__beside_metric(&b, o.base, t->c->metric, NULL, &out->base));
    if (info->task == VKT_TASK_CLASSIFY) {
        VKT_TRY(vkt__beside_metric(&b, o.net, "accuracy", NULL, &out->right_net));
        VKT_TRY(vkt__beside_metric(&b, o.base, "accuracy", NULL, &out->right_base));
        VKT_TRY(vkt__beside_error(&b, o.net, o.base, "accuracy", &out->right_error));
    }
    VKT_TRY(vkt__beside_error(&b, o.net, o.base, t->c->metric, &out->error));
    constant = o.base;
    for (size_t i = 0; i < o.n; i++) vkt__baseline_constant(base, constant + i * n_out);
    VKT_TRY(vkt__beside_metric(&b, constant, t->c->metric, NULL, &out->constant));
fail:
    vkt__eval_sums_finish(&sums);
    free(o.net);
    free(o.base);
    free(o.y);
    free(o.index);
    return st;
}

static vkt__leads leads_of(const vkt__trainer *t, const compared *c)
{
    return (vkt__leads) { { t->c->metric_sign * (c->net - c->base), c->error },
                          { c->right_net - c->right_base, c->right_error },
                          c->n };
}

static void record(vkt__trainer *t, const vkt__baseline *base, vkt_split split,
                   const compared *valid, const compared *test, double seconds)
{
    bool chosen = split == VKT_SPLIT_VALID && t->c->eval_every > 0, by_test;
    uint64_t looks = chosen ? VKT_MAX(t->done / t->c->eval_every, (uint64_t)1) : 0;
    vkt__leads of_valid = leads_of(t, valid), of_test = leads_of(t, test);
    const char *verdict = vkt__beside_judge(&of_valid, looks, &of_test, &by_test);
    vkt_train_result *r = t->result;
    vkt__run_record *x = &t->record;
    snprintf(r->baseline, sizeof r->baseline, "%s", vkt__baseline_name(base));
    snprintf(t->baseline_about, sizeof t->baseline_about, "%s; compared on %zu examples",
             vkt__baseline_about(base), valid->n);
    size_t about = strlen(t->baseline_about), room = sizeof t->baseline_about - about;
    if (by_test)
        snprintf(t->baseline_about + about, room, "; judged by %zu test examples", test->n);
    else if (looks > 1)
        snprintf(t->baseline_about + about, room,
                 ", on which the network was chosen among %llu evaluations",
                 (unsigned long long)looks);
    x->baseline = r->baseline;
    x->baseline_about = t->baseline_about;
    x->baseline_metric = r->baseline_metric = valid->base;
    x->baseline_net = r->baseline_net = valid->net;
    x->baseline_error = r->baseline_error = valid->error;
    x->baseline_accuracy = r->baseline_accuracy = valid->right_base;
    x->baseline_net_accuracy = r->baseline_net_accuracy = valid->right_net;
    snprintf(r->baseline_verdict, sizeof r->baseline_verdict, "%s", verdict);
    x->baseline_verdict = r->baseline_verdict;
    x->baseline_constant = r->baseline_constant = valid->constant;
    x->baseline_test = r->baseline_test = test->base;
    x->baseline_test_net = r->baseline_test_net = test->net;
    x->baseline_test_error = r->baseline_test_error = test->error;
    x->baseline_test_constant = r->baseline_test_constant = test->constant;
    x->baseline_test_accuracy = r->baseline_test_accuracy = test->right_base;
    x->baseline_test_net_accuracy = r->baseline_test_net_accuracy = test->right_net;
    snprintf(r->baseline_split, sizeof r->baseline_split, "%s",
             vkt_split_name(by_test ? VKT_SPLIT_TEST : split));
    x->baseline_split = r->baseline_split;
    x->baseline_examples = r->baseline_examples = by_test ? test->n : valid->n;
    x->baseline_seconds = r->baseline_seconds = seconds;
}

vkt_status vkt__trainer_baseline(vkt__trainer *t, vkt_split split)
{
    vkt_status st = VKT_OK;
    const char *why = "";
    vkt__baseline *base = NULL;
    compared valid, test = nothing;
    double start = vkt__now();
    if (!vkt__ranks_lead(t) || t->desc->no_baseline || t->c->baseline == VKT_BASELINE_NONE ||
        vkt__is_dense(t->info->task) || split == VKT_SPLIT_TRAIN ||
        t->info->n[split] < FEWEST_EXAMPLES)
        return VKT_OK;
    if (t->info->outputs) {
        vkt_log(VKT_LOG_INFO, "train",
                "no baseline beside this result: linear models are of classes or of numbers alone");
        return VKT_OK;
    }
    VKT_TRY(vkt__baseline_fit(t->data, vkt__session_ignore(t->s), allowance(t), &base, &why));
    double fitted = vkt__now();
    if (!base) {
        if (*why) vkt_log(VKT_LOG_INFO, "train", "no baseline beside this result: %s", why);
        goto fail;
    }
    VKT_TRY(compare(t, base, split, &valid));
    if (split == VKT_SPLIT_VALID && t->info->n[VKT_SPLIT_TEST])
        VKT_TRY(compare(t, base, VKT_SPLIT_TEST, &test));
    if (isfinite(valid.net) && isfinite(valid.base))
        record(t, base, split, &valid, &test, vkt__now() - start);
    else
        vkt_log(
            VKT_LOG_WARN, "train",
            "no baseline beside this result: the %s of %s on %zu %s examples is no finite number",
            t->c->metric, isfinite(valid.net) ? vkt__baseline_name(base) : "the network", valid.n,
            vkt_split_name(split));
    vkt_log(VKT_LOG_DEBUG, "train", "baseline: %s: %.3g s to fit, %.3g s to compare",
            vkt__baseline_about(base), fitted - start, vkt__now() - fitted);
fail:
    vkt__baseline_destroy(&base);
    return st;
}
