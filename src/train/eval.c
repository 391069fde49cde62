/* vkt_eval: a checkpoint, which carries its recipe and schema, on a split of its data or on other
 * data. */
#include <math.h>

#include "data/dataset.h"
#include "data/open.h"
#include "data/permute.h"
#include "data/text/documents.h"
#include "recipe/relocate.h"
#include "train/measures/classes.h"
#include "train/measures/instance_scores.h"
#include "train/measures/point_scores.h"
#include "train/importance.h"
#include "train/predictions.h"
#include "train/tiles.h"
#include "train/trained_session.h"

static void take_scores(const vkt__eval_sums *sums, vkt_eval_result *out)
{
    size_t bytes = (sums->n_classes + 1) * sizeof(double);
    out->class_precision = vkt__alloc(bytes);
    out->class_recall = vkt__alloc(bytes);
    out->class_f1 = vkt__alloc(bytes);
    out->class_ap = vkt__alloc(bytes);
    out->class_iou = vkt__alloc(bytes);
    for (uint32_t c = 0; c < sums->n_classes; c++) {
        vkt__class_scores s = vkt__class_scores_of(sums, c);
        out->class_precision[c] = s.precision;
        out->class_recall[c] = s.recall;
        out->class_f1[c] = s.f1;
        out->class_iou[c] = vkt__class_iou(sums, c);
        out->class_ap[c] = sums->class_ap ? sums->class_ap[c] : NAN;
    }
}

static vkt_status take_importance(vkt__opened *o, const vkt_eval_desc *desc, vkt_split split,
                                  vkt_eval_result *out)
{
    enum { SHUFFLES = 10, MOST_ROWS = 10000 };
    vkt_status st = VKT_OK;
    vkt__importance m = { 0 };
    uint32_t shuffles = desc->shuffles ? desc->shuffles : SHUFFLES;
    uint64_t columns = vkt__permute_columns(o->data);
    VKT_TRY(vkt__importance_measure(o->session, o->data, split, shuffles,
                                    MOST_ROWS * columns * shuffles, &m));
    if (!m.n) {
        st = vkt__fail(VKT_E_ARG, "eval",
                       "there is no importance of columns: it needs a table of at least two "
                       "columns, and 20 rows in the split that is evaluated; this has %llu: take "
                       "another with --split, or --data",
                       (unsigned long long)vkt_dataset_get_info(o->data)->n[split]);
        goto fail;
    }
    VKT_TRY(vkt__importance_write(&m, desc->importance));
    out->n_columns = m.n;
    out->column_score = m.score;
    out->column_examples = m.examples;
    out->columns = vkt__alloc(m.n * sizeof *out->columns);
    for (uint32_t i = 0; i < m.n; i++) {
        const char *name = m.column[i].name;
        out->columns[i] = m.column[i];
        out->columns[i].name = strcpy(vkt__alloc(strlen(name) + 1), name);
    }
fail:
    vkt__importance_finish(&m);
    return st;
}

/* The run's own data, which may lie where the run was started; or others like them, whole. */
static vkt_status open_own(vkt__opened *o, const char *others)
{
    vkt_data_desc d = o->model.config->data;
    vkt__data_paths_from(&d, o->model.ckpt->state.folder, &o->model.arena);
    if (others) {
        d.path = others;
        d.valid_fraction = d.test_fraction = 0;
    }
    return vkt_dataset_open(&d, &o->data);
}

/* Other data are the split `test`; but preferences, JSON lines which are read as the run's own, all
 * of them as `train`. */
static vkt_status open_data(vkt__opened *o, const vkt_eval_desc *desc, vkt_split *split)
{
    bool pairs = desc->data && o->model.config->data.packing == VKT_PACKING_PAIRS &&
                 vkt__is_jsonl(desc->data);
    *split = desc->split;
    if (!desc->data) return open_own(o, NULL);
    *split = pairs ? VKT_SPLIT_TRAIN : VKT_SPLIT_TEST;
    return pairs ? open_own(o, desc->data)
                 : vkt_dataset_open_schema(o->model.schema, desc->data, &o->data);
}

vkt_status vkt_eval(const vkt_eval_desc *desc, vkt_eval_result *out)
{
    vkt_status st = VKT_OK;
    vkt__opened o = { 0 };
    vkt__collected c = { 0 };
    vkt__eval_sums sums = { 0 };
    vkt_split split;
    *out = (vkt_eval_result) { 0 };
    VKT_TRY(vkt__opened_checkpoint(desc->checkpoint, desc->context, &desc->gpu, &o));
    if (!desc->data && !o.model.ckpt) {
        st = vkt__fail(VKT_E_ARG, "eval", "'%s' has no data of its own: give a text with --data",
                       desc->checkpoint);
        goto fail;
    }
    VKT_TRY(open_data(&o, desc, &split));
    const vkt_dataset_info *info = vkt_dataset_get_info(o.data);
    if (!info->has_labels) {
        st = vkt__fail(VKT_E_FORMAT, "eval",
                       "'%s' has no labels to compare with: use `vktrain predict`", desc->data);
        goto fail;
    }
    if (!info->n[split]) {
        st = vkt__fail(VKT_E_ARG, "eval", "the %s split has no examples", vkt_split_name(split));
        goto fail;
    }
    if (!desc->data && o.model.ckpt->state.data_hash != vkt_dataset_fingerprint(o.data))
        vkt_log(VKT_LOG_WARN, "eval",
                "the data has changed since this checkpoint was trained: the split may differ");
    if (desc->tiles) VKT_TRY(vkt__tiles_check(info, desc->tiles));
    VKT_TRY(vkt__opened_session(&o, desc->batch, desc->raw));
    VKT_TRY(vkt__evaluate_views(o.session, desc->tta));
    bool text = info->kind == VKT_DATA_KIND_TEXT;
    bool dense = vkt__is_dense(info->task), boxes = info->task == VKT_TASK_DETECT,
         points = info->task == VKT_TASK_POINTS, instances = info->task == VKT_TASK_INSTANCES,
         pictures = info->task == VKT_TASK_PICTURE || boxes || points || instances;
    if (desc->predictions && (text || dense)) {
        st = vkt__fail(VKT_E_ARG, "eval", "--predictions does not support %s",
                       text ? "language models" : "pictures: use `vktrain predict --out FOLDER`");
        goto fail;
    }
    if (desc->confusion &&
        (text || pictures || info->task == VKT_TASK_REGRESS || info->task == VKT_TASK_MULTILABEL ||
         info->n_outputs > VKT__CONFUSION_CLASSES)) {
        st = vkt__fail(VKT_E_ARG, "eval",
                       "there is no confusion matrix of %s: it is for up to %u classes",
                       text                                ? "a language model"
                       : boxes                             ? "boxes"
                       : points                            ? "points"
                       : instances                         ? "instances"
                       : pictures                          ? "pictures"
                       : info->task == VKT_TASK_REGRESS    ? "numbers"
                       : info->task == VKT_TASK_MULTILABEL ? "several labels"
                                                           : "that many classes",
                       VKT__CONFUSION_CLASSES);
        goto fail;
    }
    if (desc->curves && (text || dense || info->task == VKT_TASK_REGRESS)) {
        st = vkt__fail(VKT_E_ARG, "eval", "there are no curves of %s: they are for classes",
                       text        ? "a language model"
                       : boxes     ? "boxes yet"
                       : points    ? "points"
                       : instances ? "instances"
                       : dense     ? "pixels"
                                   : "numbers");
        goto fail;
    }
    o.session->curves = desc->curves != NULL;
    if (desc->predictions) c = vkt__collected_create(info, info->n[split]);
    c.p.threshold = o.session->calibration.threshold;
    if (desc->tiles)
        VKT_TRY(vkt__tiles_evaluate(o.session, o.model.schema, o.data, split, desc->tiles, &sums));
    else
        VKT_TRY(vkt__evaluate(o.session, NULL, split, 0, &sums,
                              desc->predictions ? vkt__collect : NULL, &c));
    if (desc->predictions) VKT_TRY(vkt__predictions_write(desc->predictions, &c.p));
    if (desc->confusion) VKT_TRY(vkt__confusion_write(&sums, info->class_names, desc->confusion));
    if (desc->curves) VKT_TRY(vkt__curves_write(&sums, info->class_names, desc->curves));
    if (desc->importance) VKT_TRY(take_importance(&o, desc, split, out));
    out->n = sums.n;
    out->loss = sums.loss / (double)sums.n;
    vkt__error_scores errors = vkt__eval_errors(&sums);
    out->accuracy = vkt__eval_accuracy(&sums);
    out->perplexity = vkt__eval_perplexity(&sums);
    out->bits_per_byte = vkt__eval_bits_per_byte(&sums);
    vkt__reward_means rewards = vkt__eval_rewards(&sums);
    out->rewards_chosen = rewards.chosen;
    out->rewards_rejected = rewards.rejected;
    out->rewards_margin = rewards.margin;
    out->context = info->context;
    out->mae = errors.mae;
    out->rmse = errors.rmse;
    out->r2 = errors.r2;
    out->targets = vkt__alloc((sums.n_targets + 1) * sizeof *out->targets);
    for (uint32_t k = 0; k < sums.n_targets; k++) {
        const vkt_output_of *of = info->outputs ? &info->outputs[k] : NULL;
        const char *name = of ? of->label : info->target_names[k];
        bool classes = of && of->value;
        if (classes && !of->n_classes) continue;
        errors = classes ? (vkt__error_scores) { NAN, NAN, NAN } : vkt__eval_errors_of(&sums, k);
        out->targets[out->n_targets++] =
            (vkt_eval_target) { .name = strcpy(vkt__alloc(strlen(name) + 1), name),
                                .mae = errors.mae,
                                .rmse = errors.rmse,
                                .r2 = errors.r2,
                                .accuracy = classes ? vkt__eval_right(&sums, k) : NAN };
    }
    out->n_losses = sums.n_terms;
    out->losses = vkt__alloc((sums.n_terms + 1) * sizeof *out->losses);
    for (uint32_t i = 0; i < sums.n_terms; i++) {
        const char *name = o.session->terms.names[i];
        out->losses[i] = (vkt_eval_loss) { strcpy(vkt__alloc(strlen(name) + 1), name),
                                           sums.term[i] / (double)sums.n };
    }
    out->roc_auc = sums.roc_auc;
    out->average_precision = sums.average_precision;
    out->ece = vkt__eval_ece(&sums.raw);
    out->temperature = o.session->calibration.temperature;
    out->calibrated_ece = vkt__eval_ece(&sums.calibrated);
    if (o.session->calibration.threshold) {
        const vkt__calibration *by = &o.session->calibration;
        out->threshold = vkt__alloc(by->n * sizeof *out->threshold);
        memcpy(out->threshold, by->threshold, by->n * sizeof *out->threshold);
    }
    out->n_classes = sums.n_classes;
    out->class_count = sums.class_count;
    out->class_correct = sums.class_correct;
    out->top5 = sums.n_classes > 5 && !sums.several && !sums.pixels && !sums.boxes
                    ? (double)sums.among5 / (double)sums.n
                    : NAN;
    out->several = sums.several;
    out->balanced_accuracy = vkt__balanced_accuracy(&sums);
    out->pixels = sums.pixels;
    out->mean_iou = vkt__mean_iou(&sums);
    out->psnr = vkt__mean_psnr(&sums);
    out->ssim = vkt__mean_ssim(&sums);
    out->map = sums.map;
    out->map50 = sums.map50;
    out->boxes = sums.boxes != NULL && !sums.points;
    out->points = sums.points;
    out->oks_ap = sums.oks_ap;
    out->pck = vkt__pck(&sums);
    out->point_error = vkt__point_error(&sums);
    out->instances = sums.instances;
    out->instance_ap50 = vkt__instance_ap50(&sums);
    out->class_error = sums.class_error;
    sums.class_error = NULL;
    for (uint32_t k = 0; k < sums.n_classes && sums.points; k++)
        out->class_error[k] /= (double)sums.class_count[k];
    out->class_ap50 = sums.class_ap50;
    sums.class_ap50 = NULL;
    out->macro_f1 = vkt__macro_f1(&sums);
    out->micro_f1 = vkt__micro_f1(&sums);
    take_scores(&sums, out);
    sums.class_count = sums.class_correct = NULL;
    out->class_names = vkt__alloc((sums.n_classes + 1) * sizeof *out->class_names);
    for (uint32_t i = 0; i < sums.n_classes; i++)
        out->class_names[i] =
            strcpy(vkt__alloc(strlen(info->class_names[i]) + 1), info->class_names[i]);
fail:
    vkt__eval_sums_finish(&sums);
    vkt__collected_finish(&c);
    vkt__opened_finish(&o);
    return st;
}

void vkt_eval_result_finish(vkt_eval_result *r)
{
    for (uint32_t i = 0; r->class_names && i < r->n_classes; i++) free(r->class_names[i]);
    free(r->class_names);
    free(r->class_count);
    free(r->class_correct);
    free(r->class_precision);
    free(r->class_recall);
    free(r->class_f1);
    free(r->class_ap);
    free(r->class_ap50);
    free(r->class_iou);
    free(r->class_error);
    free(r->threshold);
    for (uint32_t k = 0; k < r->n_targets; k++) free(r->targets[k].name);
    free(r->targets);
    for (uint32_t i = 0; i < r->n_losses; i++) free(r->losses[i].name);
    free(r->losses);
    for (uint32_t i = 0; i < r->n_columns; i++) free((void *)r->columns[i].name);
    free(r->columns);
    *r = (vkt_eval_result) { 0 };
}
