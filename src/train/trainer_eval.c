/* What the trainer does at step intervals: evaluation, and what a checkpoint begins with. The
 * device is idle. */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "base/os.h"
#include "data/dataset.h"
#include "train/measures/classes.h"
#include "train/measures/instance_scores.h"
#include "train/measures/point_scores.h"
#include "train/predictions.h"
#include "train/trainer_eval.h"
#include "train/ranks/trainer_ranks.h"

/* The checkpoint that was begun is none. */
static void take_back(vkt__trainer *t)
{
    t->saved = t->before_save.saved;
    t->record.best_step = t->before_save.best_step;
    t->record.best_metric = t->before_save.best_metric;
}

vkt_status vkt__trainer_settle(vkt__trainer *t)
{
    bool any = t->saver.thread != NULL;
    vkt_status st = vkt__saver_wait(&t->saver);
    if (any && st == VKT_OK)
        vkt_log(VKT_LOG_DEBUG, "train", "the checkpoint of step %llu took %.3f s beside the steps",
                (unsigned long long)t->saver.job.state.step, t->saver.seconds);
    if (st == VKT_OK) return VKT_OK;
    take_back(t);
    return vkt__fail(st, "train", "%s", t->saver.why);
}

vkt_status vkt__trainer_save(vkt__trainer *t, double value)
{
    vkt_status st = VKT_OK;
    vkt__checkpoint_item best;
    vkt__weights *w = &t->host;
    float scale;
    uint32_t good;
    bool lead = vkt__ranks_lead(t);
    double start = vkt__now();
    VKT_TRY(vkt__trainer_settle(t));
    if (lead || t->c->shard) VKT_TRY(vkt__weights_fetch(t->gpu, t->s->model, t->s->optim, w));
    if (!lead) {
        t->saved = t->done;
        return VKT_OK;
    }
    VKT_TRY(vkt_optim_get_loss_scale(t->s->optim, &scale, &good));
    VKT_TRY(vkt__checkpoint_best_with(t->run->dir, t->done, value, t->c->metric_sign, &best));
    t->before_save.saved = t->saved;
    t->before_save.best_step = t->record.best_step;
    t->before_save.best_metric = t->record.best_metric;
    if (*best.name) {
        t->record.best_step = best.step;
        t->record.best_metric = best.value;
        t->progress.best = best.step == t->done;
    }
    t->record.step = t->done;
    t->record.seconds = t->before_s + vkt__now() - t->began;
    t->record.items_per_s = vkt__speed_all(&t->speed) * t->step_items;
    vkt__save_job job = { .run = t->run,
                          .record = t->record,
                          .metrics = t->metrics,
                          .model = t->s->model,
                          .optim = t->s->optim,
                          .weights = w,
                          .keep = t->c->keep,
                          .sign = t->c->metric_sign,
                          .last = t->done >= t->total };
    snprintf(job.best, sizeof job.best, "%s", best.name);
    if (t->c->precision == VKT_F16)
        vkt__format(job.extra, sizeof job.extra, "{\"loss_scale\":%.0f,\"loss_scale_good\":%u}",
                    (double)scale, good);
    job.state = (vkt__checkpoint_state) { .step = t->done,
                                          .loader_batches = t->done * t->c->accumulate,
                                          .seed = t->c->seed,
                                          .config_hash = t->config_hash,
                                          .data_hash = t->data_hash,
                                          .metric = t->c->metric,
                                          .value = value,
                                          .config = t->yaml,
                                          .schema = vkt_dataset_schema(t->data),
                                          .folder = t->folder,
                                          .has_base = w->n_base > 0,
                                          .base_crc = t->base_crc };
    t->saved = t->done;
    st = vkt__saver_begin(&t->saver, &job);
    if (st != VKT_OK) take_back(t);
    vkt_log(VKT_LOG_DEBUG, "train", "a checkpoint of step %llu: steps waited for %.3f s",
            (unsigned long long)t->done, vkt__now() - start);
fail:
    return st;
}

void vkt__trainer_write_eval(vkt__trainer *t, const char *split, const vkt__eval_sums *e,
                             uint64_t checkpoint, vkt_status *st)
{
    vkt__error_scores errors = vkt__eval_errors(e);
    if (!vkt__ranks_lead(t)) return;
    vkt__metrics_row row = vkt__metrics_row_empty(t->done, split);
    row.loss = e->loss / (double)e->n;
    row.accuracy = vkt__eval_accuracy(e);
    row.mae = errors.mae;
    row.rmse = errors.rmse;
    row.r2 = errors.r2;
    row.perplexity = vkt__eval_perplexity(e);
    row.bits_per_byte = vkt__eval_bits_per_byte(e);
    vkt__reward_means rewards = vkt__eval_rewards(e);
    row.rewards_chosen = rewards.chosen;
    row.rewards_rejected = rewards.rejected;
    row.rewards_margin = rewards.margin;
    row.n = e->n;
    if (checkpoint) row.checkpoint = (double)checkpoint;
    row.seconds = t->before_s + vkt__now() - t->began;
    row.balanced_accuracy = vkt__balanced_accuracy(e);
    row.macro_f1 = vkt__macro_f1(e);
    row.micro_f1 = vkt__micro_f1(e);
    row.roc_auc = e->roc_auc;
    row.average_precision = e->average_precision;
    row.ece = vkt__eval_ece(&e->raw);
    row.mean_iou = vkt__mean_iou(e);
    row.psnr = vkt__mean_psnr(e);
    row.ssim = vkt__mean_ssim(e);
    row.map = e->map;
    row.map50 = e->map50;
    row.oks_ap = e->oks_ap;
    row.pck = vkt__pck(e);
    row.point_error = vkt__point_error(e);
    row.instance_ap50 = vkt__instance_ap50(e);
    row.n_classes = e->n_classes;
    row.class_count = e->class_count;
    row.class_correct = e->class_correct;
    row.class_predicted = e->class_predicted;
    double each[VKT__MAX_LOSSES];
    row.n_losses = e->n_terms;
    row.loss_names = t->s->terms.names;
    row.losses = each;
    for (uint32_t i = 0; i < e->n_terms; i++) each[i] = e->term[i] / (double)e->n;
    *st = vkt__metrics_add(t->metrics, &row);
    if (*st != VKT_OK) return;
    const struct {
        const char *name;
        double value;
    } shown[] = { { "loss", row.loss },
                  { "accuracy", row.accuracy },
                  { "mae", row.mae },
                  { "rmse", row.rmse },
                  { "r2", row.r2 },
                  { "macro_f1", row.macro_f1 },
                  { "micro_f1", row.micro_f1 },
                  { "roc_auc", row.roc_auc },
                  { "average_precision", row.average_precision },
                  { "ece", row.ece },
                  { "mean_iou", row.mean_iou },
                  { "psnr", row.psnr },
                  { "ssim", row.ssim },
                  { "map", row.map },
                  { "map50", row.map50 },
                  { "oks_ap", row.oks_ap },
                  { "pck", row.pck },
                  { "point_error", row.point_error },
                  { "instance_ap50", row.instance_ap50 },
                  { "bits_per_byte", row.bits_per_byte },
                  { "rewards/chosen", row.rewards_chosen },
                  { "rewards/rejected", row.rewards_rejected },
                  { "rewards/margins", row.rewards_margin } };
    char name[VKT_COUNT(shown)][64], loss_name[VKT__MAX_LOSSES][160];
    vkt__tfscalar tags[VKT_COUNT(shown) + VKT__MAX_LOSSES];
    for (size_t i = 0; i < VKT_COUNT(shown); i++) {
        snprintf(name[i], sizeof name[i], "%s/%s", split, shown[i].name);
        tags[i] = (vkt__tfscalar) { name[i], shown[i].value };
    }
    for (uint32_t i = 0; i < e->n_terms; i++) {
        snprintf(loss_name[i], sizeof loss_name[i], "%s/loss/%s", split, row.loss_names[i]);
        tags[VKT_COUNT(shown) + i] = (vkt__tfscalar) { loss_name[i], each[i] };
    }
    *st = vkt__tfevents_add(t->events, t->done, tags, VKT_COUNT(shown) + e->n_terms);
}

double vkt__trainer_metric(const vkt__trainer *t, const vkt__eval_sums *e)
{
    double sum = 0;
    if (!t->c->loss_on) return vkt__eval_metric(e, t->c->metric);
    for (uint32_t i = 0; i < e->n_terms; i++)
        if (!strcmp(t->c->losses[i].on, t->c->loss_on)) sum += e->term[i] / (double)e->n;
    return sum;
}

/* What a run without checkpoints remembers of its best evaluation. */
static void note_best(vkt__trainer *t, double value)
{
    bool first = isnan(t->record.best_metric);
    if (isnan(value) || (!first && t->c->metric_sign * (value - t->record.best_metric) <= 0))
        return;
    t->record.best_metric = value;
    t->record.best_step = t->done;
    t->progress.best = true;
}

/* Generates sample texts with the current weights; logs once if that takes more than a twentieth of
 * the time since the last evaluation. */
static vkt_status write_samples(vkt__trainer *t)
{
    if (!t->s->samples || !vkt__ranks_lead(t)) return VKT_OK;
    double start = vkt__now();
    vkt_status st = vkt__samples_write(t->s->samples, t->run->dir, t->done);
    double now = vkt__now(), span = now - t->time_mark;
    if (st != VKT_OK || t->said_samples || span < 0.5 || now - start < 0.05 * span) return st;
    vkt_log(
        VKT_LOG_INFO, "train",
        "samples: %.0f%% of the time since the last evaluation (%.1f s); samples.tokens (%u) or "
        "samples.count (%u) lowers it",
        100 * (now - start) / span, now - start, t->c->sample_tokens, t->c->n_samples);
    t->said_samples = true;
    return st;
}

/* The averaged weights in the place of the raw ones, which come back afterwards: what they reach is
 * what selects, and they write the samples. *e is replaced. */
static vkt_status evaluate_average(vkt__trainer *t, vkt_split split, vkt__eval_sums *e)
{
    vkt_status st = VKT_OK;
    char name[32];
    vkt__weights *w = &t->host;
    vkt__eval_sums_finish(e);
    VKT_TRY(vkt__trainer_settle(t));
    VKT_TRY(vkt__weights_download(t->gpu, t->s->model, t->s->optim, w));
    vkt__weights_swap_average(t->s->model, t->s->optim, w);
    st = vkt__weights_upload(t->gpu, t->s->model, NULL, w);
    if (st == VKT_OK) st = vkt__evaluate(t->s, NULL, split, t->c->eval_sample, e, NULL, NULL);
    if (st == VKT_OK) st = write_samples(t);
    vkt__weights_swap_average(t->s->model, t->s->optim, w);
    VKT_TRY(st);
    VKT_TRY(vkt__weights_upload(t->gpu, t->s->model, NULL, w));
    snprintf(name, sizeof name, "%s_ema", vkt_split_name(split));
    vkt__trainer_write_eval(t, name, e, 0, &st);
fail:
    return st;
}

vkt_status vkt__trainer_evaluate(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    double start = vkt__now();
    vkt__eval_sums e = { 0 };
    vkt_split split = vkt__selecting_split(t->info);
    VKT_TRY(vkt__evaluate(t->s, NULL, split, t->c->eval_sample, &e, NULL, NULL));
    vkt__trainer_write_eval(t, vkt_split_name(split), &e, 0, &st);
    VKT_TRY(st);
    VKT_TRY(t->c->optim.ema > 0 ? evaluate_average(t, split, &e) : write_samples(t));
    if (t->c->eval_predictions && !t->desc->no_checkpoints && t->info->kind != VKT_DATA_KIND_TEXT &&
        !vkt__is_dense(t->info->task) && vkt__ranks_lead(t))
        VKT_TRY(vkt__predictions_sample(t->s, split, t->c->eval_predictions, t->run->dir, t->done));
    t->last_value = vkt__trainer_metric(t, &e);
    t->last_eval_loss = e.loss / (double)e.n;
    t->last_eval_mae = vkt__eval_errors(&e).mae;
    t->last_eval_accuracy = vkt__eval_accuracy(&e);
    if (t->desc->no_checkpoints)
        note_best(t, t->last_value);
    else
        VKT_TRY(vkt__trainer_save(t, t->last_value));
    VKT_TRY(vkt__ranks_share_best(t));
    double waited = t->steps.wait_s - t->wait_mark, span = start - t->time_mark;
    if (!t->said_input_bound && span > 0.5 && waited > 0.1 * span) {
        vkt_log(
            VKT_LOG_WARN, "train",
            "input-bound: %.0f%% of the time went into waiting for data; raise data.workers (%u)",
            100 * waited / span, t->c->data_workers);
        t->said_input_bound = true;
    }
    t->eval_s += vkt__now() - start;
    t->wait_mark = t->steps.wait_s;
    t->time_mark = vkt__now();
    if (t->desc->on_progress) {
        t->progress.evaluated = true;
        t->progress.eval_loss = t->last_eval_loss;
        t->progress.eval_accuracy = t->last_eval_accuracy;
        t->progress.eval_mae = t->last_eval_mae;
        t->progress.eval_metric = t->last_value;
        t->progress.metric = t->c->metric;
        t->progress.eval_split = vkt_split_name(split);
        t->desc->on_progress(t->desc->user, &t->progress);
        t->progress.evaluated = t->progress.best = false;
    }
fail:
    vkt__eval_sums_finish(&e);
    return st;
}
