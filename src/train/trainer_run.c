/* The trainer's beginning and end: opening or resuming a run folder, choosing the best checkpoint
 * in retrospect, the figures of the result. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "data/dataset.h"
#include "runs/curve.h"
#include "runs/run_note.h"
#include "runs/sample_files.h"
#include "train/measures/classes.h"
#include "train/measures/share_error.h"
#include "models/initial.h"
#include "recipe/config.h"
#include "train/baseline_result.h"
#include "train/calibrate.h"
#include "train/importance.h"
#include "train/same_recipe.h"
#include "train/trainer_eval.h"
#include "train/ranks/trainer_ranks.h"
#include "train/trainer_run.h"
#include "train/worst_result.h"

void vkt__trainer_count(vkt__trainer *t, const vkt_history_step *s)
{
    bool overflow = vkt__is_overflow(s);
    if (t->n_norms == t->cap_norms)
        t->norms = vkt__grow(t->norms, t->n_norms, &t->cap_norms, sizeof *t->norms);
    t->norms[t->n_norms++] = s->updated ? (float)s->grad_norm : NAN;
    t->n_overflows += overflow;
    t->n_skipped += !s->updated && !overflow;
    t->n_clipped += s->updated && s->clip < 1;
}

/* A row a step: what is not there was lost, by a crash of the machine or by hand. */
static void say_missing(const vkt_history *h, uint64_t n, const char *path)
{
    uint64_t n_missing = 0, first = 0, next = 1;
    for (size_t i = 0; i <= h->n_steps; i++) {
        uint64_t step = i < h->n_steps ? h->steps[i].step : n + 1;
        if (step > next && !n_missing) first = next;
        if (step > next) n_missing += step - next;
        next = VKT_MAX(next, step + 1);
    }
    if (n_missing)
        vkt_log(VKT_LOG_WARN, "train",
                "'%s' lacks %llu of the %llu steps so far, beginning with step %llu: curves and "
                "counts of clipped steps leave them out",
                path, (unsigned long long)n_missing, (unsigned long long)n,
                (unsigned long long)first);
}

/* Norms, clips and skips of the steps before, from metrics.jsonl. */
vkt_status vkt__trainer_history(vkt__trainer *t, const char *run_dir)
{
    char path[1100];
    vkt_history *h = NULL;
    snprintf(path, sizeof path, "%s/metrics.jsonl", run_dir);
    vkt_status st = vkt_history_load(run_dir, &h);
    for (size_t i = 0; st == VKT_OK && i < h->n_steps; i++) vkt__trainer_count(t, &h->steps[i]);
    if (st == VKT_OK) say_missing(h, t->first, path);
    vkt_history_destroy(&h);
    return st;
}

/* `best` may have been left behind by a kill between a checkpoint and its link. */
static vkt_status tidy_checkpoints(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    vkt__checkpoint_item *items = NULL;
    size_t n = 0;
    VKT_TRY(vkt__checkpoint_list(t->run->dir, &items, &n));
    const vkt__checkpoint_item *best = vkt__checkpoint_best(items, n, t->c->metric_sign);
    VKT_TRY(vkt__saver_sort_out(t->run, best ? best->name : "", t->c->keep, t->c->metric_sign,
                                t->done >= t->total));
    if (best) {
        t->record.best_step = best->step;
        t->record.best_metric = best->value;
    }
fail:
    free(items);
    return st;
}

/* A run that was killed before its first checkpoint starts again from step 0. One that had some has
 * lost them, and must not start from step 0 under the same name. */
static vkt_status find_checkpoints(const vkt__trainer *t, bool *some)
{
    vkt_status st = VKT_OK;
    char dir[1100];
    vkt__checkpoint_item *items = NULL;
    size_t n = 0;
    snprintf(dir, sizeof dir, "%s/checkpoints", t->run->dir);
    VKT_TRY(vkt__checkpoint_list(t->run->dir, &items, &n));
    *some = n > 0;
    if (!n && (t->record.best_step || (vkt__is_absent(dir) && t->had_steps)))
        st = vkt__fail(VKT_E_IO, "train",
                       "the checkpoints of '%s' are gone: put '%s' back, or start another run with "
                       "--run and without --resume",
                       t->run->dir, dir);
fail:
    free(items);
    return st;
}

/* A checkpoint of another precision has none: it starts as in a new run. */
static vkt_status restore_loss_scale(vkt__trainer *t, const vkt__checkpoint *ckpt)
{
    vkt_status st = VKT_OK;
    json_t *o = ckpt->state.extra ? json_loads(ckpt->state.extra, 0, NULL) : NULL;
    const json_t *scale = json_object_get(o, "loss_scale"),
                 *good = json_object_get(o, "loss_scale_good");
    if (t->c->precision == VKT_F16 && scale) {
        double s = json_number_value(scale);
        json_int_t n = json_integer_value(good);
        if (s >= 1 && s <= 0x1p24 && n >= 0 && n < 1 << 24)
            st = vkt_optim_set_loss_scale(t->s->optim, (float)s, (uint32_t)n);
        else
            st = vkt__fail(VKT_E_FORMAT, "train",
                           "'%s': the loss scale in state.json is out of range", ckpt->dir);
    }
    json_decref(o);
    return st;
}

vkt_status vkt__trainer_init(vkt__trainer *t)
{
    vkt_status st =
        vkt__weights_initial(t->c, vkt_dataset_schema(t->s->data), t->s->model, &t->host);
    if (st == VKT_OK) t->base_crc = t->host.base_crc;
    return st;
}

/* The weights of a run belong to the ops of the file that it began with. */
static vkt_status same_nets(const vkt__trainer *t, const vkt__checkpoint *ckpt)
{
    const char *before = ckpt->state.config;
    for (size_t i = 0; before && i < t->fit.n_layers; i++) {
        const vkt_layer *l = &t->fit.layers[i];
        if (!l->sum || !strstr(before, "sum: ") || strstr(before, l->sum)) continue;
        return vkt__fail(VKT_E_FORMAT, "train",
                         "'%s' has changed since '%s' was written: resume needs the file that the "
                         "run began with",
                         l->file, ckpt->dir);
    }
    return VKT_OK;
}

vkt_status vkt__trainer_resume(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    vkt__checkpoint *ckpt = NULL;
    bool some;
    VKT_TRY(find_checkpoints(t, &some));
    if (!some) {
        vkt_log(VKT_LOG_INFO, "train", "'%s' has no checkpoint yet: starting at step 0 of %llu",
                t->run->dir, (unsigned long long)t->total);
        return vkt__trainer_init(t);
    }
    VKT_TRY(vkt__checkpoint_newest(t->run->dir, &ckpt));
    if (ckpt->state.data_hash != t->data_hash &&
        vkt__dataset_reads_anew(t->data, ckpt->state.schema)) {
        vkt_log(VKT_LOG_WARN, "train",
                "the tokens of the text, or which of them count, are not those that the run began "
                "with (an earlier version counted other tokens of conversations, and put none "
                "before texts), or the text has changed: the run continues with them, and its loss "
                "may jump");
    } else if (ckpt->state.data_hash != t->data_hash) {
        st = vkt__fail(
            VKT_E_FORMAT, "train",
            "the data has changed since '%s' was written: resume needs the same examples and split",
            ckpt->dir);
        goto fail;
    }
    VKT_TRY(same_nets(t, ckpt));
    if (ckpt->state.config_hash != t->config_hash && !vkt__recipe_same(ckpt->state.config, t->yaml))
        vkt_log(VKT_LOG_WARN, "train",
                "the recipe differs from the one that the run began with: the run continues with "
                "the new one, not bit for bit");
    else if (ckpt->state.loader_batches != ckpt->state.step * t->c->accumulate)
        vkt_log(VKT_LOG_WARN, "train",
                "the run began with micro-batches of another size, because memory was short then "
                "or is now: it continues, but not bit for bit");
    if (t->host.n_base) VKT_TRY(vkt__trainer_init(t)); /* the checkpoint holds the adapter alone */
    if (t->host.n_base && t->base_crc != ckpt->state.base_crc) {
        st = vkt__fail(VKT_E_FORMAT, "train",
                       "the weights of '%s' have changed since '%s' was trained on them",
                       vkt__config_base(t->c), ckpt->dir);
        goto fail;
    }
    VKT_TRY(vkt__weights_resume(ckpt, t->s->model, t->s->optim, &t->host));
    VKT_TRY(vkt__weights_upload(t->gpu, t->s->model, t->s->optim, &t->host));
    VKT_TRY(restore_loss_scale(t, ckpt));
    t->first = t->done = t->saved = ckpt->state.step;
    if (t->first > t->total) {
        st = vkt__fail(VKT_E_ARG, "train", "the run is at step %llu, past the %llu of train.steps",
                       (unsigned long long)t->first, (unsigned long long)t->total);
        goto fail;
    }
    VKT_TRY(tidy_checkpoints(t));
    vkt_log(VKT_LOG_INFO, "train", "resuming '%s' at step %llu of %llu", t->run->dir,
            (unsigned long long)t->first, (unsigned long long)t->total);
fail:
    vkt__checkpoint_close(&ckpt);
    return st;
}

/* Reads a resumed run's run.json, which the checkpoints do not need: a damaged one costs only what
 * it alone knew; one that can't be read is an error, since it may be readable later. */
static vkt_status load_record(vkt__trainer *t, vkt__arena *a, vkt__run_record *old, bool *there)
{
    const char *why = NULL;
    *old = vkt__run_record_empty();
    *there = t->desc->resume && !vkt__is_absent(vkt__arena_printf(a, "%s/run.json", t->run->dir));
    if (!*there) return VKT_OK;
    vkt_status st = vkt__run_load(t->run->dir, a, old, &why);
    t->had_steps = st == VKT_E_FORMAT || old->step > 0;
    if (st == VKT_E_IO) return vkt__fail(st, "train", "'%s': %s", t->run->dir, why);
    if (st != VKT_E_FORMAT) return st;
    vkt_log(
        VKT_LOG_WARN, "train",
        "'%s': %s: continuing without it; the start and the duration of the run so far are lost",
        t->run->dir, why);
    return VKT_OK;
}

/* A note that is given now counts, though somebody has changed the one that the run had. */
static vkt_status take_note(const vkt__trainer *t, const vkt__run_record *old)
{
    const char *note = t->c->note, *had = old->own_note ? old->own_note : "";
    bool known = old->status != NULL; /* else its run.json is damaged */
    bool other = known && note && *note && strcmp(note, had) != 0;
    return other || t->desc->new_note ? vkt__run_note_drop(t->run->dir) : VKT_OK;
}

/* The least weight that a layer's newest batch has in its running averages; 1: it has none. */
static double least_momentum(const vkt_layer *l, size_t n)
{
    double least = 1;
    for (size_t i = 0; i < n; i++) {
        double own = !strcmp(l[i].type, "batch_norm") ? 0.1 : 0.01;
        bool has = !l[i].frozen &&
                   (!strcmp(l[i].type, "batch_norm") || !strcmp(l[i].type, "inverted_block"));
        if (has) least = fmin(least, l[i].momentum > 0 ? (double)l[i].momentum : own);
        least = fmin(least, least_momentum(l[i].body, l[i].n_body));
        least = fmin(least, least_momentum(l[i].shortcut, l[i].n_shortcut));
    }
    return least;
}

/* Evaluation normalises by running averages, which a short run leaves near where they began: at
 * 0.01 a net of MobileNetV3's blocks was right in 27% after 60 steps that gave 84% at 0.1. */
static void warn_of_averages(const vkt__trainer *t)
{
    enum { LEAST_STEPS = 25 }; /* fewer say nothing anyway */
    const vkt_config *c = t->c;
    double momentum = least_momentum(c->layers, c->n_layers),
           left = pow(1 - momentum, (double)t->total);
    if (c->init || t->desc->resume || t->total < LEAST_STEPS || left < 0.1) return;
    vkt_log(
        VKT_LOG_WARN, "train",
        "batch norm: after %llu steps the running averages, by which evaluation normalises, are "
        "still %.0f%% of what they began with: set momentum: 0.1 in the layers that have %g, or "
        "train longer",
        (unsigned long long)t->total, 100 * left, momentum);
}

/* Opens the run folder and its files; loads the checkpoint of a resumed run or the initial weights.
 */
vkt_status vkt__trainer_open_run(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = t->c;
    const vkt_caps *caps = vkt_gpu_caps(t->gpu);
    vkt__arena arena = { 0 };
    /* First, so that weights that are refused leave no folder. */
    if (!t->desc->resume) VKT_TRY(vkt__trainer_init(t));
    VKT_TRY(vkt__run_open(t->desc->run_dir, c->name, t->desc->resume, &t->run));
    vkt__control_open(t->run->dir, &t->control);
    vkt__run_record *r = &t->record;
    *r = vkt__run_record_empty();
    if (!t->desc->resume && !t->desc->no_checkpoints)
        VKT_TRY(vkt__mkdirs_synced(vkt__arena_printf(&arena, "%s/checkpoints", t->run->dir)));
    vkt__run_record old;
    bool there;
    VKT_TRY(load_record(t, &arena, &old, &there));
    if (there) {
        r->n_resumes = old.n_resumes + 1;
        snprintf(t->started, sizeof t->started, "%s", old.started ? old.started : "");
        t->before_s = isnan(old.seconds) ? 0 : old.seconds;
        r->best_step = old.best_step;
        r->best_metric = old.best_metric;
        VKT_TRY(take_note(t, &old));
    }
    vkt__ranks_name_devices(t, t->device, sizeof t->device);
    snprintf(t->driver, sizeof t->driver, "%s %s", caps->driver, caps->driver_info);
    r->name = c->name;
    r->note = c->note;
    r->status = "running";
    if (!t->started[0]) vkt__time_iso(t->started);
    r->started = t->started;
    r->command = t->desc->command;
    r->config = t->yaml;
    r->source = c->source;
    r->folder = t->folder;
    vkt__git_checkout_of(c->source, &t->checkout);
    r->commit = *t->checkout.commit ? t->checkout.commit : NULL;
    r->changes = t->checkout.known ? t->checkout.changes : NULL;
    if (!there) VKT_TRY(vkt__git_keep_diff(c->source, &t->checkout, t->run->dir));
    r->device = t->device;
    r->driver = t->driver;
    r->data = t->info->source;
    r->seed = c->seed;
    r->data_seed = c->data.seed;
    r->n_params = vkt_model_count(t->s->model);
    r->n_train = t->info->n[VKT_SPLIT_TRAIN];
    r->n_valid = t->info->n[VKT_SPLIT_VALID];
    r->n_test = t->info->n[VKT_SPLIT_TEST];
    r->n_shared = t->n_shared;
    r->n_near = t->n_near;
    r->total = t->total;
    r->micro_batch = c->batch == t->recipe->batch ? 0 : c->batch;
    r->eval_batch = c->eval_batch == t->recipe->eval_batch ? 0 : c->eval_batch;
    r->metric = c->metric;
    r->ranks = c->ranks;
    r->shares = t->record_shares;
    if (there && old.ranks != r->ranks)
        vkt_log(VKT_LOG_WARN, "train",
                "the run was on %llu ranks and goes on with %u: not bit for bit",
                (unsigned long long)VKT_MAX(old.ranks, 1), VKT_MAX(c->ranks, 1));
    if (there && c->ranks > 1 && c->sync_every > 1)
        vkt_log(VKT_LOG_WARN, "train",
                "train.sync: every rank goes on with rank 0's moments, which the checkpoint has: "
                "not bit for bit");
    if (there && c->ranks > 1 && c->compress != VKT_COMPRESS_NONE)
        vkt_log(VKT_LOG_WARN, "train",
                "train.compress: what rounding had left of each rank's gradients is lost, which no "
                "checkpoint has: not bit for bit");
    warn_of_averages(t);
    if (t->desc->resume) VKT_TRY(vkt__trainer_resume(t));
    uint64_t at = t->desc->resume ? t->first : VKT__METRICS_NEW;
    VKT_TRY(vkt__metrics_open(t->run->dir, at, &t->metrics));
    VKT_TRY(vkt__tfevents_open(t->run->dir, t->desc->resume ? t->first : UINT64_MAX, &t->events));
    if (t->desc->resume) {
        vkt__samples_cut(t->run->dir, t->first);
        VKT_TRY(vkt__trainer_history(t, t->run->dir));
    }
    r->step = t->first;
    VKT_TRY(vkt__run_save(t->run, r));
fail:
    vkt__arena_finish(&arena);
    return st;
}

static void percentiles(vkt__trainer *t)
{
    size_t n = 0;
    vkt_train_result *r = t->result;
    double *norm = vkt__alloc((t->n_norms + 1) * sizeof *norm);
    for (size_t i = 0; i < t->n_norms; i++)
        if (isfinite(t->norms[i])) norm[n++] = (double)t->norms[i];
    r->norm_p50 = vkt__quantile(norm, n, 0.5);
    r->norm_p90 = vkt__quantile(norm, n, 0.9);
    r->norm_p99 = vkt__quantile(norm, n, 0.99);
    free(norm);
}

/* The best checkpoint so far; none if nothing was evaluated. */
vkt_status vkt__trainer_find_best(vkt__trainer *t)
{
    vkt__checkpoint_item *items = NULL;
    size_t n = 0;
    vkt_train_result *r = t->result;
    vkt_status st = vkt__checkpoint_list(t->run->dir, &items, &n);
    const vkt__checkpoint_item *best =
        st == VKT_OK ? vkt__checkpoint_best(items, n, t->c->metric_sign) : NULL;
    if (best) {
        snprintf(r->best_checkpoint, sizeof r->best_checkpoint, "%s/checkpoints/%s", t->run->dir,
                 best->name);
        r->best_step = best->step;
        r->best_metric = best->value;
    }
    free(items);
    return st;
}

/* RUN/confusion-SPLIT.csv and .png, RUN/SPLIT-ranking.csv, RUN/SPLIT-reliability.csv */
static vkt_status write_classes(const vkt__trainer *t, const char *split, const vkt__eval_sums *e)
{
    char path[1100];
    if (!vkt__ranks_lead(t)) return VKT_OK;
    snprintf(path, sizeof path, "%s/confusion-%s", t->run->dir, split);
    vkt_status st = vkt__confusion_write(e, t->info->class_names, path);
    snprintf(path, sizeof path, "%s/%s", t->run->dir, split);
    if (st == VKT_OK) st = vkt__curves_write(e, t->info->class_names, path);
    return st;
}

/* The best checkpoint onto the device. */
static vkt_status load_best(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    vkt_train_result *r = t->result;
    vkt__checkpoint *ckpt = NULL;
    VKT_TRY(vkt__trainer_find_best(t));
    if (!*r->best_checkpoint) {
        st = vkt__fail(VKT_E_IO, "train", "'%s' has no evaluated checkpoint left", t->run->dir);
        goto fail;
    }
    if (r->best_step == t->done && !(t->c->optim.ema > 0)) goto fail; /* it is there */
    VKT_TRY(vkt__checkpoint_open(r->best_checkpoint, &ckpt));
    VKT_TRY(vkt__checkpoint_load(ckpt, false, t->host.saved, t->host.n_saved, false));
    VKT_TRY(vkt__weights_upload(t->gpu, t->s->model, NULL, &t->host));
fail:
    vkt__checkpoint_close(&ckpt);
    return st;
}

/* Fits the best checkpoint's calibration, which lies beside its weights from then on. Only on
 * examples that select: never on those of the test. */
static vkt_status calibrate(vkt__trainer *t, vkt_split split)
{
    vkt_status st = VKT_OK;
    const vkt__calibration *c = &t->s->calibration;
    if (split == VKT_SPLIT_VALID) VKT_TRY(vkt__calibrate(t->s, split));
    t->result->temperature = c->temperature;
    if (vkt__ranks_lead(t) && c->n_examples)
        st = vkt__calibration_write(t->result->best_checkpoint, c, t->info->class_names);
fail:
    return st;
}

/* RUN/valid-importance.csv, of as many rows as cost little beside the training: it says how much
 * each column matters, and reports show it. */
static vkt_status write_importance(vkt__trainer *t, vkt_split split)
{
    enum { SHUFFLES = 5, BUDGET = 50000 };
    vkt_status st = VKT_OK;
    char path[1100];
    vkt__importance m = { 0 };
    if (split != VKT_SPLIT_VALID || !vkt__ranks_lead(t)) return VKT_OK;
    VKT_TRY(vkt__importance_measure(t->s, t->s->data, split, SHUFFLES, BUDGET, &m));
    snprintf(path, sizeof path, "%s/%s-importance.csv", t->run->dir, vkt_split_name(split));
    if (m.n) VKT_TRY(vkt__importance_write(&m, path));
fail:
    vkt__importance_finish(&m);
    return st;
}

/* The best checkpoint in retrospect, on the full validation set and on the test set. */
vkt_status vkt__trainer_conclude(vkt__trainer *t)
{
    vkt_status st = VKT_OK;
    vkt_train_result *r = t->result;
    vkt__eval_sums e = { 0 };
    vkt_split split = vkt__selecting_split(t->info);
    if (vkt__ranks_lead(t)) VKT_TRY(load_best(t));
    VKT_TRY(vkt__ranks_share_weights(t, false));
    VKT_TRY(calibrate(t, split));
    t->s->curves = true;
    VKT_TRY(vkt__trainer_list_errors(t, split, &e));
    r->ece[0] = vkt__eval_ece(&e.raw);
    r->ece[1] = vkt__eval_ece(&e.calibrated);
    r->valid_loss = e.loss / (double)e.n;
    r->valid_accuracy = vkt__eval_accuracy(&e);
    vkt__error_scores errors = vkt__eval_errors(&e);
    r->valid_mae = errors.mae;
    r->valid_rmse = errors.rmse;
    r->valid_r2 = errors.r2;
    r->valid_metric = vkt__trainer_metric(t, &e);
    r->valid_perplexity = vkt__eval_perplexity(&e);
    r->valid_bits_per_byte = vkt__eval_bits_per_byte(&e);
    r->sample_gap = t->c->eval_sample && t->c->eval_sample < t->info->n[split]
                        ? r->valid_metric - r->best_metric
                        : NAN;
    VKT_TRY(write_classes(t, vkt_split_name(split), &e));
    vkt__eval_sums_finish(&e);
    VKT_TRY(write_importance(t, split));
    VKT_TRY(vkt__trainer_baseline(t, split));
    t->record.valid_loss = r->valid_loss;
    t->record.valid_accuracy = r->valid_accuracy;
    t->record.valid_mae = r->valid_mae;
    if (t->info->n[VKT_SPLIT_TEST] && !t->desc->no_test) {
        VKT_TRY(vkt__evaluate(t->s, NULL, VKT_SPLIT_TEST, 0, &e, NULL, NULL));
        r->test_loss = e.loss / (double)e.n;
        errors = vkt__eval_errors(&e);
        r->test_ece[0] = vkt__eval_ece(&e.raw);
        r->test_ece[1] = vkt__eval_ece(&e.calibrated);
        r->test_accuracy = vkt__eval_accuracy(&e);
        r->test_mae = errors.mae;
        r->test_rmse = errors.rmse;
        r->test_r2 = errors.r2;
        r->test_metric = vkt__trainer_metric(t, &e);
        uint64_t n_test = t->info->kind == VKT_DATA_KIND_TEXT ? 0 : t->info->n[VKT_SPLIT_TEST];
        r->test_error = vkt__share_error(r->test_accuracy, n_test);
        r->n_few_test = vkt__is_small_set(r->test_error, n_test) ? n_test : 0;
        t->record.test_loss = r->test_loss;
        t->record.test_accuracy = r->test_accuracy;
        t->record.test_mae = r->test_mae;
        vkt__trainer_write_eval(t, "test", &e, r->best_step, &st);
        VKT_TRY(st);
        VKT_TRY(write_classes(t, "test", &e));
    }
fail:
    vkt__eval_sums_finish(&e);
    return st;
}

void vkt__trainer_fill_result(vkt__trainer *t)
{
    vkt_train_result *r = t->result;
    vkt_gpu_stats stats = vkt_gpu_get_stats(t->gpu);
    uint64_t steps = t->n_read;
    double train_s = vkt__now() - t->began - t->eval_s;
    snprintf(r->run_dir, sizeof r->run_dir, "%s", t->run->dir);
    snprintf(r->metric, sizeof r->metric, "%s", t->c->metric);
    r->step = t->done;
    r->n_steps = steps;
    r->n_clipped = t->n_clipped;
    r->n_skipped = t->n_skipped;
    r->n_overflows = t->n_overflows;
    r->seconds = t->lost_s + (t->began > 0 ? vkt__now() - t->began : 0);
    r->items_per_s = vkt__speed_all(&t->speed) * t->step_items;
    r->step_ms = 1e3 * t->step_items / r->items_per_s;
    r->start_s = t->speed.n ? t->speed.first_s : NAN;
    r->host_us = steps ? 1e6 * t->host_cpu / (double)steps : NAN;
    r->input_wait = train_s > 0 ? t->steps.wait_s / train_s : 0;
    r->device_bytes = stats.peak_bytes;
    r->planned_bytes = t->s->planned_bytes;
    r->n_allocs_last = stats.n_allocs;
    percentiles(t);
}
