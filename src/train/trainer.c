/* The trainer: a fixed number of steps, submitted ahead of the device; evaluation and a checkpoint
 * at step intervals; what a step leaves behind; a lost device. Everything it writes goes through
 * the run folder. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/os.h"
#include "data/pictures/augment.h"
#include "recipe/config.h"
#include "runs/sample_files.h"
#include "nn/params.h"
#include "recipe/relocate.h"
#include "train/batch_for.h"
#include "train/batch_norm_notes.h"
#include "train/measures/classes.h"
#include "train/one_core.h"
#include "train/ranks/rank_speed.h"
#include "train/trainer_eval.h"
#include "train/ranks/trainer_ranks.h"
#include "train/trainer_run.h"

/* Lock-free, so that a signal handler may set it. Trainers may run in several threads. */
static atomic_int stop_asked, n_training;

void vkt_train_stop(void)
{
    stop_asked = 1;
}

static void recent_add(vkt__recent *r, double v)
{
    r->sum = 0.98 * r->sum + v;
    r->weight = 0.98 * r->weight + 1;
}

static double recent_mean(const vkt__recent *r)
{
    return r->weight > 0 ? r->sum / r->weight : NAN;
}

/* ---- reading steps back ---- */

static vkt_status write_row(vkt__trainer *t, const vkt__metrics_row *row)
{
    vkt_status st = VKT_OK;
    if (!vkt__ranks_lead(t)) return VKT_OK;
    VKT_TRY(vkt__metrics_add(t->metrics, row));
    if (t->done % VKT_MAX(t->total / 1000, 1) == 0) {
        vkt__tfscalar tags[] = { { "train/loss", row->loss },
                                 { "train/accuracy", row->accuracy },
                                 { "train/grad_norm", row->grad_norm },
                                 { "train/lr", row->lr },
                                 { "train/items_per_s", row->items_per_s } };
        VKT_TRY(vkt__tfevents_add(t->events, t->done, tags, VKT_COUNT(tags)));
    }
fail:
    return st;
}

static vkt_status read_flight(vkt__trainer *t, const vkt__flight *f)
{
    vkt_status st = VKT_OK;
    const float *s = t->s->train.scalars[f->slot];
    bool classify = t->info->task == VKT_TASK_CLASSIFY || t->info->task == VKT_TASK_SEGMENT,
         ok = s[VKT_SCALAR_OK] > 0, scaled = t->c->precision == VKT_F16;
    double now = vkt__now(), accuracy = classify ? (double)s[VKT_SCALAR_HITS] / f->n_counted : NAN;
    t->done = f->step + 1;
    t->n_read++;
    vkt_history_step counted = { .loss = (double)s[VKT_SCALAR_LOSS],
                                 .grad_norm = (double)s[VKT_SCALAR_GRAD_NORM],
                                 .clip = (double)s[VKT_SCALAR_CLIP],
                                 .loss_scale = (double)s[VKT_SCALAR_LOSS_SCALE],
                                 .updated = ok };
    vkt__trainer_count(t, &counted);
    if (ok) {
        recent_add(&t->loss, (double)s[VKT_SCALAR_LOSS]);
        if (classify) recent_add(&t->accuracy, accuracy);
    }
    double train_s = now - t->began - t->eval_s;
    vkt_progress *p = &t->progress;
    *p = (vkt_progress) { .step = t->done,
                          .total = t->total,
                          .loss = recent_mean(&t->loss),
                          .accuracy = classify ? recent_mean(&t->accuracy) : NAN,
                          .grad_norm = (double)s[VKT_SCALAR_GRAD_NORM],
                          .clip = (double)s[VKT_SCALAR_CLIP],
                          .lr = f->lr };
    vkt__speed_add(&t->speed, t->done, train_s);
    p->items_per_s = vkt__speed_recent(&t->speed) * t->step_items;
    p->eta_s = (now - t->began) / (double)(t->done - t->first) * (double)(t->total - t->done);
    p->input_wait = t->steps.wait_s / train_s;

    vkt__metrics_row row = vkt__metrics_row_empty(t->done, NULL);
    row.loss = (double)s[VKT_SCALAR_LOSS];
    row.accuracy = accuracy;
    row.grad_norm = p->grad_norm;
    row.clip = p->clip;
    row.lr = f->lr;
    row.items_per_s = p->items_per_s;
    row.input_wait = f->input_wait;
    row.update_ok = ok ? NAN : 0;
    row.loss_scale = scaled ? (double)s[VKT_SCALAR_LOSS_SCALE] : NAN;
    row.skipped = scaled ? (double)(t->n_skipped + t->n_overflows) : NAN;
    row.seconds = t->before_s + now - t->began;
    VKT_TRY(write_row(t, &row));
    bool overflow = vkt__is_overflow(&counted);
    if (overflow)
        vkt_log(VKT_LOG_DEBUG, "train", "step %llu: overflow: the loss scale falls from %g",
                (unsigned long long)t->done, counted.loss_scale);
    t->skipped_in_a_row = ok || overflow ? 0 : t->skipped_in_a_row + 1;
    if (t->skipped_in_a_row == 1)
        vkt_log(VKT_LOG_WARN, "train",
                "step %llu: loss %g, gradient norm %g: the update was skipped",
                (unsigned long long)t->done, row.loss, row.grad_norm);
    if (t->skipped_in_a_row >= t->c->nan_patience)
        st = vkt__fail(VKT_E_NUMERIC, "train",
                       "step %llu: %llu updates in a row had NaN or Inf in the loss or gradient, "
                       "beginning with step %llu: lower optim.lr, "
                       "or set optim.clip or schedule.warmup",
                       (unsigned long long)t->done, (unsigned long long)t->skipped_in_a_row,
                       (unsigned long long)(t->done + 1 - t->skipped_in_a_row));
fail:
    return st;
}

/* A micro-batch has ended. */
static vkt_status on_done(void *user, const vkt__flight *f)
{
    vkt__trainer *t = user;
    vkt_status st = VKT_OK;
    if (!f->last) return VKT_OK;
    st = read_flight(t, f);
    if (t->desc->on_progress && st == VKT_OK) t->desc->on_progress(t->desc->user, &t->progress);
    return st;
}

/* ---- the loop ---- */

static bool evaluates_after(const vkt__trainer *t, uint64_t step)
{
    return (step + 1) % t->c->eval_every == 0 || step + 1 == t->total;
}

/* Handles a request of another process (vkt_run_control). */
static vkt_status take_order(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    vkt_run_order order;
    bool several = vkt_comm_size(t->desc->comm) > 1, save = several && t->steps.save;
    t->steps.save = false;
    if (vkt__ranks_lead(t) && vkt__control_poll(&t->control, &order)) {
        bool later = order == VKT_RUN_ORDER_STOP_AFTER_EVALUATION,
             now = order == VKT_RUN_ORDER_CHECKPOINT;
        if (later)
            vkt_log(VKT_LOG_INFO, "train", "on request, the run stops after the next evaluation");
        t->stop_after_evaluation = t->stop_after_evaluation || later;
        if (order == VKT_RUN_ORDER_STOP) {
            vkt_log(VKT_LOG_INFO, "train", "on request, the run stops with a checkpoint");
            vkt_train_stop();
        }
        t->steps.save = now && several; /* after the next step, which all learn it with */
        save = save || (now && !several);
    }
    if (!save) return VKT_OK;
    VKT_TRY(vkt__steps_drain(&t->steps));
    if (!t->desc->no_checkpoints && t->saved != t->done) VKT_TRY(vkt__trainer_save(t, NAN));
    VKT_TRY(vkt__trainer_settle(t));
    vkt_log(VKT_LOG_INFO, "train", "on request, step %llu is saved as a checkpoint",
            (unsigned long long)t->done);
fail:
    return st;
}

/* Early stopping; a function of what is saved, so that a resumed run ends where it would have. */
static bool out_of_patience(const vkt__trainer *t)
{
    uint64_t wait = t->c->patience * (uint64_t)t->c->eval_every;
    if (!wait || !t->record.best_step || t->done >= t->total) return false;
    if (t->done < t->record.best_step + wait) return false;
    vkt_log(VKT_LOG_INFO, "train",
            "no better %s in %u evaluations, the best was at step %llu: training ends at step %llu "
            "of %llu (train.patience)",
            t->c->metric, t->c->patience, (unsigned long long)t->record.best_step,
            (unsigned long long)t->done, (unsigned long long)t->total);
    return true;
}

/* With several ranks, an exchange tells all of them whether one was asked to stop. */
static bool stops(const vkt__trainer *t)
{
    if (vkt_comm_size(t->desc->comm) > 1) return t->steps.stop;
    return stop_asked || (t->desc->stop && *t->desc->stop);
}

static vkt_status start_loader(vkt__trainer *t, uint64_t step)
{
    vkt_loader_desc d = vkt__session_loader(t->s, t->data);
    d.start = step * t->c->accumulate;
    vkt_status st = vkt_loader_create(&d, &t->loader);
    vkt__steps_init(&t->steps, t->s, t->loader, on_done, t);
    return st;
}

/* Goes on with other shares of the batch, which are in t->fit. Its time is that of evaluations. */
static vkt_status take_other_shares(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    vkt__steps before = t->steps;
    double start = vkt__now();
    VKT_TRY(vkt__trainer_settle(t)); /* fetches the weights again */
    vkt_loader_destroy(&t->loader);
    VKT_TRY(vkt__ranks_rebuild(t));
    VKT_TRY(start_loader(t, t->done));
    t->steps.wait_s = before.wait_s;
    t->steps.stop = before.stop;
    t->steps.save = before.save;
    t->steps.later = before.later;
    t->record.shares = t->record_shares;
    if (vkt__ranks_lead(t)) VKT_TRY(vkt__run_save(t->run, &t->record));
    t->eval_s += vkt__now() - start;
    t->time_mark = vkt__now();
fail:
    return st;
}

static vkt_status loop(vkt__trainer *t)
{
    bool early = false, unlike;
    vkt_status st = VKT_OK;
    t->began = t->time_mark = vkt__now();
    vkt__ranks_begin_window(t);
    for (uint64_t step = t->first; step < t->total && !stops(t); step++) {
        double cpu = vkt__thread_cpu(), driver = vkt__gpu_driver_cpu(t->gpu);
        t->sent = step + 1;
        t->steps.stop = stop_asked;
        VKT_TRY(vkt__steps_run(&t->steps, step, vkt_schedule_lr(&t->c->schedule, step)));
        t->host_cpu += vkt__thread_cpu() - cpu - (vkt__gpu_driver_cpu(t->gpu) - driver);
        if (step == t->first) t->result->n_allocs_first = vkt_gpu_get_stats(t->gpu).n_allocs;
        if (evaluates_after(t, step)) {
            VKT_TRY(vkt__steps_drain(&t->steps));
            VKT_TRY(vkt__ranks_end_window(t, &unlike));
            VKT_TRY(vkt__trainer_evaluate(t));
            if (t->stop_after_evaluation) break;
            if ((early = out_of_patience(t))) break;
            if (unlike) VKT_TRY(take_other_shares(t));
            vkt__ranks_begin_window(t);
        }
        if (vkt__saver_ended(&t->saver)) VKT_TRY(vkt__trainer_settle(t));
        VKT_TRY(take_order(t));
    }
    VKT_TRY(vkt__steps_drain(&t->steps));
    if (t->done < t->total && !early) {
        bool save = !t->desc->no_checkpoints;
        if (save && t->saved != t->done) VKT_TRY(vkt__trainer_save(t, NAN));
        VKT_TRY(vkt__trainer_settle(t));
        vkt_log(VKT_LOG_INFO, "train", "stopped at step %llu of %llu with%s a checkpoint",
                (unsigned long long)t->done, (unsigned long long)t->total, save ? "" : "out");
        st = VKT_E_INTERRUPTED;
    }
fail:
    return st;
}

/* ---- before and after ---- */

/* A resumed run keeps the micro-batches that it began with, on which the last bits depend. */
static vkt_status split_as_before(vkt__trainer *t)
{
    vkt__arena arena = { 0 };
    vkt__run_record old;
    const char *why;
    vkt_config *c = &t->fit;
    vkt_status st = VKT_OK;
    if (!t->desc->resume || !t->desc->run_dir) return VKT_OK;
    if (!vkt__is_absent(vkt__arena_printf(&arena, "%s/run.json", t->desc->run_dir)))
        st = vkt__run_load(t->desc->run_dir, &arena, &old, &why);
    else
        old = vkt__run_record_empty();
    if (st == VKT_OK) {
        if (old.micro_batch && old.micro_batch < c->batch && c->batch % old.micro_batch == 0) {
            c->accumulate *= (uint32_t)(c->batch / old.micro_batch);
            c->batch = (uint32_t)old.micro_batch;
        }
        if (old.eval_batch && old.eval_batch < c->eval_batch)
            c->eval_batch = (uint32_t)old.eval_batch;
    }
    if (st == VKT_E_IO) vkt__fail(st, "train", "'%s': %s", t->desc->run_dir, why);
    vkt__arena_finish(&arena);
    return st == VKT_E_FORMAT ? VKT_OK : st; /* damaged: said where the run is opened */
}

/* The device and all that lies on it. submit_ms 0: the device's own. */
/* as_before: kernels as the choices are now, so that the bits are those of the steps before. */
static vkt_status open_gpu(vkt__trainer *t, uint32_t submit_ms, bool as_before)
{
    vkt_status st = VKT_OK;
    vkt_gpu *serial = NULL;
    vkt_gpu_desc gpu = vkt__config_gpu(t->c, &t->desc->gpu);
    char device[64];
    bool again = false;
    VKT_TRY(vkt__ranks_device(t, &gpu, device));
    if (as_before) gpu.deterministic = VKT_DETERMINISTIC_CROSS_RUN;
    VKT_TRY(vkt_gpu_create(&gpu, &t->gpu));
    vkt__gpu_stop_by(t->gpu, &stop_asked);
    vkt__gpu_recovers(t->gpu, t->tries_again);
    if (submit_ms) vkt__gpu_set_submit_ms(t->gpu, submit_ms);
    VKT_TRY(vkt__ranks_meet_devices(t));
    double start;
    do {
        start = vkt__now();
        vkt__session_destroy(&t->s);
        VKT_TRY(vkt__session_fit(t->gpu, &t->fit, t->data, true, &t->s));
        VKT_TRY(vkt__ranks_fit(t, &again));
        if (!again) VKT_TRY(vkt__ranks_time(t, &again));
    } while (again);
    t->open_s = vkt__now() - start;
    VKT_TRY(vkt__session_reopen(&gpu, &t->s, &serial));
    if (serial) {
        vkt_gpu_destroy(&t->gpu);
        t->gpu = serial;
        vkt__gpu_stop_by(t->gpu, &stop_asked);
    }
    vkt_graph_log_math(t->s->train.graph);
    vkt__batch_norm_notes(t->c, t->c->batch, t->s->train.batch);
    if (!vkt__gpu_plans_only(t->gpu))
        VKT_TRY(vkt__weights_create(t->s->model, t->s->optim, &t->host));
fail:
    return st;
}

/* A kernel that loses the device while it is timed is left out after that, so the device is opened
 * again. Not with several ranks, which open theirs together. */
static vkt_status open_first(vkt__trainer *t)
{
    enum { MOST_LOST = 4 };
    const int most = vkt_comm_size(t->desc->comm) == 1 ? MOST_LOST : 1;
    bool as_before = t->desc->resume;
    t->tries_again = most > 1;
    vkt_status st = open_gpu(t, 0, as_before);
    for (int i = 1; st == VKT_E_DEVICE && t->gpu && vkt__gpu_lost(t->gpu) && i < most; i++) {
        if (stop_asked) return VKT_E_INTERRUPTED;
        vkt_log(VKT_LOG_WARN, "train",
                "the device was lost before the first step: it is opened again");
        vkt__session_destroy(&t->s);
        vkt_gpu_destroy(&t->gpu);
        t->tries_again = i + 1 < most;
        st = open_gpu(t, 0, as_before);
    }
    t->tries_again = false;
    if (st == VKT_OK) vkt__batch_for_note(t->c, vkt_model_count(t->s->model));
    return st;
}

/* A resumed run's data may lie where it was started. */
static vkt_status find_data(vkt__trainer *t)
{
    const char *why, *path = t->fit.data.path;
    vkt__run_record old;
    t->folder = vkt__folder_here();
    if (!t->desc->resume || !t->desc->run_dir) return VKT_OK;
    vkt_status st = vkt__run_load(t->desc->run_dir, &t->paths, &old, &why);
    if (st == VKT_E_OOM_HOST) return st;
    if (st != VKT_OK || !old.folder) return VKT_OK;
    vkt__data_paths_from(&t->fit.data, old.folder, &t->paths);
    vkt__layer_paths_from(t->fit.layers, t->fit.n_layers, old.folder, &t->paths);
    if (t->fit.data.path == path) return VKT_OK;
    free(t->folder);
    t->folder = strcpy(vkt__alloc(strlen(old.folder) + 1), old.folder);
    return VKT_OK;
}

static vkt_status prepare(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = t->c;
    VKT_TRY(vkt__ranks_same_recipe(t));
    VKT_TRY(find_data(t));
    VKT_TRY(vkt__config_find(c, "data.path", c->data.path));
    VKT_TRY(vkt__config_find(c, "data.test_path", c->data.test_path));
    VKT_TRY(vkt_dataset_open(&c->data, &t->data));
    t->info = vkt_dataset_get_info(t->data);
    VKT_TRY(vkt__ranks_same_data(t));
    vkt_log(VKT_LOG_INFO, "data", "%s: %llu train, %llu valid, %llu test", t->info->source,
            (unsigned long long)t->info->n[VKT_SPLIT_TRAIN],
            (unsigned long long)t->info->n[VKT_SPLIT_VALID],
            (unsigned long long)t->info->n[VKT_SPLIT_TEST]);
    VKT_TRY(vkt_dataset_report(t->data, &t->n_shared, &t->n_near));
    t->step_examples = (double)c->batch * c->accumulate;
    t->step_items = t->step_examples;
    if (t->info->kind == VKT_DATA_KIND_TEXT) t->step_items *= t->info->n_targets;
    if (t->info->pairs) t->step_items *= 2;
    if (c->accumulate > 1)
        vkt_log(VKT_LOG_INFO, "train",
                "a step is %u micro-batches of %u examples: the same result as a batch of %.0f, "
                "not faster",
                c->accumulate, c->batch, t->step_examples);
    if (c->batch > t->info->n[VKT_SPLIT_TRAIN]) {
        st = vkt__fail(VKT_E_ARG, "train",
                       "train.batch %u is larger than the training set of %llu examples", c->batch,
                       (unsigned long long)t->info->n[VKT_SPLIT_TRAIN]);
        goto fail;
    }
    bool held_out = t->info->n[VKT_SPLIT_VALID] || t->info->n[VKT_SPLIT_TEST];
    if (!held_out && !t->desc->train_on_all) {
        st = vkt__fail(
            VKT_E_ARG, "train",
            "there are no validation examples to choose a checkpoint by: set data.valid_fraction");
        goto fail;
    }
    if (held_out && !t->info->n[VKT_SPLIT_VALID])
        vkt_log(VKT_LOG_WARN, "train",
                "no validation examples: checkpoints are chosen by the test set, so its result is "
                "optimistic; set data.valid_fraction");
    VKT_TRY(vkt__augment_check(&c->augment, t->info));
    VKT_TRY(vkt_schedule_check(&c->schedule, c->source ? c->source : "schedule"));
    VKT_TRY(split_as_before(t));
    VKT_TRY(open_first(t));
    t->total = vkt_schedule_total(&c->schedule);
    t->yaml = vkt_config_yaml(t->recipe);
    t->config_hash = vkt__hash(t->yaml, strlen(t->yaml), 0);
    t->data_hash = vkt_dataset_fingerprint(t->data);
    const char *added = t->total > c->schedule.steps
                            ? vkt__arena_printf(&t->paths, " (train.steps %llu and %llu of warmup)",
                                                (unsigned long long)c->schedule.steps,
                                                (unsigned long long)c->schedule.warmup)
                            : "";
    vkt_log(
        VKT_LOG_INFO, "train",
        "%llu parameters, %llu steps%s of %.0f examples (%.1f epochs), peak device memory %.1f MiB",
        (unsigned long long)vkt_model_count(t->s->model), (unsigned long long)t->total, added,
        t->step_examples, (double)t->total * t->step_examples / (double)t->info->n[VKT_SPLIT_TRAIN],
        (double)t->s->planned_bytes / 1048576);
    vkt__model_say_unfit(t->s->model);
    if (vkt_model_frozen_flat(t->s->model))
        vkt_log(VKT_LOG_INFO, "train",
                "%llu of the parameters are trained, on the frozen base '%s'",
                (unsigned long long)vkt_model_trained_count(t->s->model), vkt__config_base(c));
fail:
    return st;
}

/* Nothing is being written after the loop. If the loop ended by an error, only that one is logged.
 */
static vkt_status loop_and_settle(vkt__trainer *t)
{
    vkt_status st = loop(t);
    bool told = st != VKT_OK && st != VKT_E_INTERRUPTED;
    if (told) vkt__log_quiet(true);
    vkt_status saved = vkt__trainer_settle(t);
    if (told) vkt__log_quiet(false);
    return told || saved == VKT_OK ? st : saved;
}

static vkt_status work(vkt__trainer *t)
{
    vkt_status st = loop_and_settle(t);
    vkt__ranks_note_exchange(t);
    vkt__trainer_fill_result(t);
    if (t->desc->no_checkpoints) {
        t->result->best_step = t->record.best_step;
        t->result->best_metric = t->record.best_metric;
        return st;
    }
    if (st == VKT_E_INTERRUPTED) {
        vkt_status found = vkt__ranks_lead(t) ? vkt__trainer_find_best(t) : VKT_OK;
        if (found != VKT_OK) st = found;
    }
    return st == VKT_OK ? vkt__trainer_conclude(t) : st;
}

/* After a lost device: builds everything on it again; the run goes on from its last checkpoint, or
 * its beginning. */
static vkt_status recover(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    vkt__checkpoint_item *items = NULL;
    size_t n = 0;
    uint32_t ms = vkt_gpu_caps(t->gpu)->submit_ms;
    vkt_log(VKT_LOG_WARN, "train",
            "the device was lost: step %llu was the last one submitted, %llu the last one finished",
            (unsigned long long)t->sent, (unsigned long long)t->done);
    vkt__gpu_log_fault(t->gpu);
    t->before_s += vkt__now() - t->began;
    t->lost_s += vkt__now() - t->began;
    vkt__gpu_settle(t->gpu);
    vkt_loader_destroy(&t->loader);
    vkt__metrics_close(&t->metrics);
    vkt__tfevents_close(&t->events);
    vkt__weights_finish(&t->host);
    t->host = (vkt__weights) { 0 };
    vkt__session_destroy(&t->s);
    vkt_gpu_destroy(&t->gpu);
    t->n_norms = 0;
    t->n_clipped = t->n_skipped = t->n_overflows = t->skipped_in_a_row = 0;
    t->loss = t->accuracy = (vkt__recent) { 0 };
    t->eval_s = t->wait_mark = 0;

    VKT_TRY(open_gpu(t, ms > 1 ? ms / 2 : ms, true));
    VKT_TRY(vkt__checkpoint_list(t->run->dir, &items, &n));
    t->first = t->done = 0;
    t->saved = UINT64_MAX;
    if (n)
        VKT_TRY(vkt__trainer_resume(t));
    else
        VKT_TRY(vkt__trainer_init(t));
    VKT_TRY(vkt__metrics_open(t->run->dir, n ? t->first : VKT__METRICS_NEW, &t->metrics));
    VKT_TRY(vkt__tfevents_open(t->run->dir, n ? t->first : UINT64_MAX, &t->events));
    vkt__samples_cut(t->run->dir, t->first);
    if (n) VKT_TRY(vkt__trainer_history(t, t->run->dir));
    VKT_TRY(start_loader(t, t->first));
    vkt_log(VKT_LOG_WARN, "train",
            "device recovered: continuing from step %llu with submissions of %u ms",
            (unsigned long long)t->first, vkt_gpu_caps(t->gpu)->submit_ms);
fail:
    free(items);
    return st;
}

/* Else the error is the loss; why there is no device again comes after it. */
static bool recovered(vkt__trainer *t)
{
    char lost[128], why[512];
    snprintf(lost, sizeof lost, "%s", vkt__gpu_why_lost(t->gpu));
    vkt__log_quiet(true);
    vkt_status st = recover(t);
    snprintf(why, sizeof why, "%s", vkt__last_failure());
    vkt__log_quiet(false);
    if (st != VKT_OK)
        vkt__fail(VKT_E_DEVICE, "train",
                  "the device was lost at step %llu (%s) and could not be used again: %s",
                  (unsigned long long)t->done, lost, *why ? why : vkt_status_name(st));
    return st == VKT_OK;
}

static void finish(vkt__trainer *t)
{
    if (t->gpu) vkt__gpu_settle(t->gpu);
    vkt_loader_destroy(&t->loader);
    vkt__metrics_close(&t->metrics);
    vkt__tfevents_close(&t->events);
    vkt__run_close(&t->run);
    vkt__weights_finish(&t->host);
    vkt__session_destroy(&t->s);
    vkt_gpu_destroy(&t->gpu);
    vkt_dataset_destroy(&t->data);
    free(t->norms);
    free(t->yaml);
    free(t->folder);
    vkt__arena_finish(&t->paths);
}

vkt_status vkt_train(const vkt_config *c, const vkt_train_desc *desc, vkt_train_result *out)
{
    vkt_status st = VKT_OK;
    vkt__trainer t = {
        .recipe = c, .fit = *c, .desc = desc, .result = out, .last_value = NAN, .saved = UINT64_MAX
    };
    *out = (vkt_train_result) { .ece = { NAN, NAN },
                                .test_ece = { NAN, NAN },
                                .test_loss = NAN,
                                .test_accuracy = NAN,
                                .test_mae = NAN,
                                .test_rmse = NAN,
                                .test_r2 = NAN,
                                .test_metric = NAN,
                                .valid_loss = NAN,
                                .valid_accuracy = NAN,
                                .valid_mae = NAN,
                                .valid_rmse = NAN,
                                .valid_r2 = NAN,
                                .valid_metric = NAN,
                                .valid_perplexity = NAN,
                                .valid_bits_per_byte = NAN,
                                .best_metric = NAN,
                                .sample_gap = NAN,
                                .baseline_metric = NAN,
                                .baseline_net = NAN,
                                .baseline_error = NAN,
                                .baseline_constant = NAN,
                                .baseline_accuracy = NAN,
                                .baseline_net_accuracy = NAN,
                                .baseline_test = NAN,
                                .baseline_test_net = NAN,
                                .baseline_test_error = NAN,
                                .baseline_test_constant = NAN,
                                .baseline_test_accuracy = NAN,
                                .baseline_test_net_accuracy = NAN,
                                .baseline_seconds = NAN };
    atomic_fetch_add(&n_training, 1);
    t.c = &t.fit;
    t.fit.no_rewrite = desc->no_rewrite;
    t.fit.samples = !desc->no_checkpoints;
    if (c->loss == VKT_LOSS_KIND_AUTO) {
        st =
            vkt__fail(VKT_E_ARG, "train", "the configuration is not whole: call vkt_config_finish");
        goto fail;
    }
    if (desc->gpu.profile && !desc->explain) {
        st = vkt__fail(VKT_E_ARG, "train",
                       "a device profile is only for planning: nothing can be trained");
        goto fail;
    }
    VKT_TRY(prepare(&t));
    if (desc->explain) {
        *desc->explain_text = vkt__session_explain(t.s);
        goto fail;
    }
    if (desc->tune) {
        out->planned_bytes = t.s->planned_bytes;
        st = vkt__session_tune(t.s, desc->tune);
        goto fail;
    }
    if (vkt__ranks_lead(&t)) VKT_TRY(vkt__trainer_open_run(&t));
    VKT_TRY(vkt__ranks_follow(&t));
    VKT_TRY(start_loader(&t, t.first));
    bool recovers = vkt_comm_size(desc->comm) == 1;
    vkt__gpu_recovers(t.gpu, recovers);
    st = work(&t);
    if (st == VKT_E_DEVICE && vkt__gpu_lost(t.gpu) && stop_asked) st = VKT_E_INTERRUPTED;
    if (st == VKT_E_DEVICE && vkt__gpu_lost(t.gpu) && recovers)
        st = recovered(&t) ? work(&t) : VKT_E_DEVICE;
    char now[32];
    vkt__time_iso(now);
    t.record.finished = now;
    t.record.status = st == VKT_OK ? "done" : st == VKT_E_INTERRUPTED ? "interrupted" : "failed";
    t.record.error = st == VKT_OK || st == VKT_E_INTERRUPTED ? NULL : vkt_status_name(st);
    t.record.step = t.done;
    t.record.seconds = t.before_s - t.lost_s + out->seconds;
    t.record.items_per_s = out->items_per_s;
    bool told = t.record.error != NULL; /* a full disk refuses run.json, too: one line is enough */
    if (told) vkt__log_quiet(true);
    vkt_status saved = vkt__ranks_lead(&t) ? vkt__run_save(t.run, &t.record) : VKT_OK;
    if (told) vkt__log_quiet(false);
    if (st == VKT_OK) st = saved;
fail:
    finish(&t);
    /* Here and not at the start, so that no request is lost before the first step. */
    if (atomic_fetch_sub(&n_training, 1) == 1) stop_asked = 0;
    return st;
}
