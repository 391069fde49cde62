/* Evaluation of a split: fixed order, the last batch padded with weight zero, sums in double on the
 * host. */
#include <math.h>

#include "data/dataset.h"
#include "data/pictures/augment.h"
#include "train/detect/found.h"
#include "train/measures/eval_totals.h"
#include "train/measures/picture_scores.h"
#include "train/measures/target_numbers.h"
#include "train/evaluate.h"
#include "train/instances/instance_groups.h"
#include "train/measures/instance_scores.h"
#include "train/measures/point_scores.h"
#include "train/measures/ranks.h"
#include "train/points/peaks.h"

typedef struct {
    vkt__session *s;
    vkt__eval_sums *sums;
    vkt__ranks ranks; /* without room: not measured */
    vkt__example_fn fn;
    void *user;
    double *number;    /* [2, n_outputs] the same in double: predictions and labels */
    float *row;        /* [n_outputs] in the targets' own units, or calibrated */
    vkt_label *labels; /* [n_labels] the same of the labels */
    float *mean_of;    /* [n_outputs] test-time augmentation: sum of the views so far */
    uint32_t n_seen;   /* views of the example at hand */
    bool bad;          /* one of them could not be read */
    vkt_maybe ignore;  /* the class that does not count */
    uint64_t n_ignored;
    uint64_t n_far; /* examples with a prediction that is no finite number */
    uint32_t end;   /* text: the token between documents, which is no text */
    bool labelled;  /* the data says what is right */
    const vkt_dataset *data;
    vkt_split split;
    vkt__finder finder; /* detection */
    vkt__object *objects;
    vkt__point *point;           /* [n_outputs] of points */
    vkt__instance_groups groups; /* of instances */
    uint64_t n_full;             /* pictures with more centres than a mask can number */
    vkt_status failed;
} pass;

static void take_pairs(pass *p, uint32_t slot)
{
    const vkt__ring *l = &p->s->eval;
    for (size_t i = 0; i < l->slots[slot].n_valid; i++) {
        p->sums->n++;
        p->sums->loss += (double)l->loss[slot][i];
        p->sums->chosen += (double)l->hit[slot][2 * i];
        p->sums->rejected += (double)l->hit[slot][2 * i + 1];
        p->sums->correct += l->hit[slot][2 * i] > l->hit[slot][2 * i + 1];
    }
}

static void take_windows(pass *p, uint32_t slot)
{
    if (p->s->info->pairs) {
        take_pairs(p, slot);
        return;
    }
    const vkt__ring *l = &p->s->eval;
    const vkt_batch *b = &l->slots[slot];
    size_t n = (size_t)b->n_valid * p->s->info->n_targets, n_bytes;
    for (size_t i = 0; i < n; i++) {
        if (b->targets[i] == VKT_NO_TOKEN) continue;
        vkt_tokenizer_bytes(p->s->info->tokenizer, b->targets[i], &n_bytes);
        if (b->targets[i] != p->end) p->sums->n_bytes += n_bytes;
        p->sums->n++;
        p->sums->loss += (double)l->loss[slot][i];
        p->sums->correct += l->hit[slot][i] > 0;
    }
}

static bool is_among(const float *out, uint32_t n, uint32_t target, uint32_t most)
{
    uint32_t before = 0;
    for (uint32_t k = 0; k < n; k++)
        before += out[k] > out[target] || (out[k] == out[target] && k < target);
    return before < most;
}

/* The calibrated probabilities into row. */
static void take_ignored(pass *p, const float *out)
{
    memcpy(p->row, out, p->s->info->n_outputs * sizeof *out);
    vkt__calibration_apply(&p->s->calibration, p->row, p->s->info->n_outputs);
    p->n_ignored++;
}

/* The same. */
static void take_class(pass *p, const float *out, vkt_label y, bool hit)
{
    const vkt__calibration *c = &p->s->calibration;
    uint32_t n_out = p->s->info->n_outputs, top = vkt__eval_largest(out, n_out);
    vkt__eval_add_confidence(&p->sums->raw, out[top], hit);
    if (y.u < n_out && p->ranks.cap) vkt__ranks_add(&p->ranks, out, y.u);
    memcpy(p->row, out, n_out * sizeof *out);
    if (c->temperature > 0) {
        vkt__calibration_apply(c, p->row, n_out);
        vkt__eval_add_confidence(&p->sums->calibrated, p->row[top], hit);
    }
    if (c->threshold) {
        top = vkt__calibration_class(c, p->row, n_out);
        hit = top == y.u;
    }
    p->sums->correct += hit;
    if (y.u >= n_out) return;
    vkt__eval_count_class(p->sums, y.u, hit ? y.u : top, hit);
    p->sums->among5 += is_among(out, n_out, y.u, 5);
}

static void take_one(pass *p, uint32_t index, const float *out, const vkt_label *y, double loss,
                     bool hit)
{
    if (p->ignore.given && y->u == p->ignore.n) {
        take_ignored(p, out);
        if (p->fn) p->fn(p->user, index, p->row, y, NULL);
        return;
    }
    p->sums->n++;
    p->sums->loss += loss;
    if (p->s->info->task == VKT_TASK_CLASSIFY) {
        take_class(p, out, *y, hit);
        out = p->row;
    } else if (p->s->info->task == VKT_TASK_MULTILABEL) {
        vkt__eval_add_labels(p->sums, out, y, p->s->calibration.threshold);
        if (p->ranks.cap) vkt__ranks_add_labels(&p->ranks, out, y);
    } else {
        const vkt__numbers to = { p->number, p->row, p->labels };
        p->n_far += !vkt__numbers_take(p->data->schema.targets, p->sums->n_targets, out, y,
                                       p->fn && p->labelled, &to, p->sums);
        out = p->row;
        y = p->labels;
    }
    if (p->fn) p->fn(p->user, index, out, y, p->sums->n_targets ? p->number : NULL);
}

/* The loss of the views' mean: cross-entropy of the class or of each label, or the squared error.
 */
static double loss_of_mean(const pass *p, const vkt_label *y)
{
    const vkt_dataset_info *info = p->s->info;
    double sum = 0;
    if (info->task == VKT_TASK_CLASSIFY)
        return y->u < info->n_outputs ? -log(fmax((double)p->mean_of[y->u], 1e-38)) : 0;
    for (uint32_t k = 0; k < info->n_labels; k++) {
        double v = (double)p->mean_of[k], error = v - (double)y[k].f;
        sum += info->task == VKT_TASK_REGRESS ? error * error
                                              : -log(fmax(y[k].f > 0 ? v : 1 - v, 1e-38));
    }
    return sum / info->n_labels;
}

/* A view of an example, which is taken when all of its views are there. */
static void take_view(pass *p, uint32_t index, const float *out, const vkt_label *y, bool read)
{
    uint32_t n_out = p->s->info->n_outputs, views = p->s->views;
    if (p->n_seen == 0) memset(p->mean_of, 0, n_out * sizeof *p->mean_of);
    p->bad = (p->n_seen && p->bad) || !read;
    for (uint32_t k = 0; k < n_out; k++) p->mean_of[k] += out[k] / (float)views;
    if (++p->n_seen < views) return;
    p->n_seen = 0;
    if (p->bad) return;
    bool hit =
        p->s->info->task == VKT_TASK_CLASSIFY && vkt__eval_largest(p->mean_of, n_out) == y->u;
    take_one(p, index, p->mean_of, y, loss_of_mean(p, y), hit);
}

/* ---- targets that are pictures ---- */

/* Pixel by pixel, as if each were an example. */
static void take_mask(pass *p, const float *out, const vkt_label *y, const float *loss)
{
    uint32_t n = p->s->info->n_outputs, n_pixels = p->s->info->n_targets;
    for (uint32_t t = 0; t < n_pixels; t++, out += n) {
        uint32_t class = y[t].u;
        if (class >= n || (p->ignore.given && class == p->ignore.n)) continue;
        vkt__eval_add_pixel(p->sums, out, class, (double)loss[t]);
    }
}

static void take_picture(pass *p, const float *out, const vkt_label *y, double loss)
{
    const vkt_dataset_info *info = p->s->info;
    p->sums->n++;
    p->sums->loss += loss;
    for (uint32_t k = 0; k < info->n_labels; k++) p->row[k] = y[k].f;
    p->sums->psnr += vkt__psnr(out, p->row, info->n_labels);
    p->sums->ssim += vkt__ssim(out, p->row, info->output_shape);
}

/* The boxes that the model finds, and the objects, on the picture as the model sees it. */
static void take_boxes(pass *p, uint32_t index, const float *out, double loss)
{
    static const float least = 0.01f;
    uint32_t n = vkt__objects_seen(p->data, p->split, index, NULL, p->objects);
    p->sums->n++;
    p->sums->loss += loss;
    vkt__find(&p->finder, p->s->info, out, least);
    vkt_status st =
        vkt__detections_add(p->sums->boxes, index, p->finder.found, p->finder.n, p->objects, n);
    if (p->failed == VKT_OK) p->failed = st;
}

static void take_points(pass *p, uint32_t index, const float *out, const vkt_label *y, double loss)
{
    vkt_shape heat = vkt__session_heat(p->s->info);
    p->sums->n++;
    p->sums->loss += loss;
    vkt__peaks(out, heat.d[0], heat.d[1], heat.d[2], vkt__session_stride(p->s->info), p->point);
    vkt__points_add(p->sums, index, y, p->point);
}

static void take_instances(pass *p, const float *out, const vkt_label *y, double loss)
{
    const uint32_t *shape = p->s->info->output_shape;
    p->sums->n++;
    p->sums->loss += loss;
    vkt_status st = vkt__instance_group(&p->groups, out, shape[0], shape[1]);
    p->n_full += p->groups.n_more > 0;
    if (st == VKT_OK)
        st = vkt__instances_add(p->sums, y, p->groups.map, (size_t)shape[0] * shape[1]);
    if (p->failed == VKT_OK) p->failed = st;
}

static void take_dense(pass *p, uint32_t slot)
{
    const vkt__ring *l = &p->s->eval;
    const vkt_batch *b = &l->slots[slot];
    const vkt_dataset_info *info = p->s->info;
    size_t n_out = vkt__session_out(info), n_labels = info->n_labels;
    bool masks = info->task == VKT_TASK_SEGMENT, boxes = info->task == VKT_TASK_DETECT,
         points = info->task == VKT_TASK_POINTS, instances = info->task == VKT_TASK_INSTANCES;
    for (uint32_t i = 0; i < b->n_valid; i++) {
        const float *out = l->out[slot] + i * n_out;
        const vkt_label *y = b->y + i * n_labels;
        bool read = masks || b->w[i] > 0;
        if (masks && p->labelled) take_mask(p, out, y, l->loss[slot] + i * n_labels);
        if (boxes && read && p->labelled)
            take_boxes(p, b->index[i], out, (double)l->loss[slot][i]);
        else if (points && read && p->labelled)
            take_points(p, b->index[i], out, y, (double)l->loss[slot][i]);
        else if (instances && read && p->labelled)
            take_instances(p, out, y, (double)l->loss[slot][i]);
        else if (!masks && !points && !instances && read && p->labelled)
            take_picture(p, out, y, (double)l->loss[slot][i]);
        if (p->fn && read) p->fn(p->user, b->index[i], out, y, NULL);
    }
}

/* The entries of `losses`, of an example that counts. */
static void take_terms(pass *p, uint32_t slot, uint32_t i, const vkt_label *y)
{
    const vkt__ring *l = &p->s->eval;
    if (p->ignore.given && y->u == p->ignore.n) return;
    for (uint32_t t = 0; t < p->sums->n_terms; t++)
        p->sums->term[t] += (double)l->terms[slot][t * vkt__ring_row(l) + i];
}

static void take_batch(pass *p, uint32_t slot)
{
    const vkt__ring *l = &p->s->eval;
    const vkt_batch *b = &l->slots[slot];
    const vkt_dataset_info *info = p->s->info;
    for (uint32_t i = 0; i < b->n_valid; i++) {
        const float *out = l->out[slot] + (size_t)i * info->n_outputs;
        const vkt_label *y = b->y + (size_t)i * info->n_labels;
        bool read = b->w[i] > 0; /* else its picture could not be read: said by the loader */
        if (p->s->views > 1) {
            take_view(p, b->index[i], out, y, read);
        } else if (read) {
            take_one(p, b->index[i], out, y, (double)l->loss[slot][i], l->hit[slot][i] > 0);
            take_terms(p, slot, i, y);
        }
    }
}

vkt_status vkt__evaluate_views(vkt__session *s, int tta)
{
    const vkt_augment *a = &s->config->augment;
    if (!tta || tta == 1) return VKT_OK;
    if (s->info->kind != VKT_DATA_KIND_PICTURES)
        return vkt__fail(VKT_E_ARG, "eval",
                         "test-time augmentation (--tta) is for models of pictures");
    if (vkt__is_dense(s->info->task))
        return vkt__fail(VKT_E_ARG, "eval",
                         "test-time augmentation (--tta) is for classes of pictures: a mask, a "
                         "box, a point or an instance would have to be turned back");
    s->views = tta == VKT_TTA_FLIPS ? 2 : (uint32_t)tta;
    s->view = tta == VKT_TTA_FLIPS ? (vkt_augment) { .flip = 1 } : *a;
    s->view.mixup = s->view.cutmix = s->view.mosaic = 0;
    if (s->views > VKT_TTA_MOST)
        return vkt__fail(VKT_E_ARG, "eval", "%d views are more than %d", tta, VKT_TTA_MOST);
    if (tta > 0 && !vkt__augments(&s->view))
        return vkt__fail(VKT_E_ARG, "eval",
                         "the run was trained without data.augment, which makes the views: use "
                         "--tta flips");
    return VKT_OK;
}

/* Scores are kept where there are not too many, and however many if they choose the best
 * checkpoint. */
static vkt_status begin_ranks(pass *p, const vkt_dataset *data, vkt_split split, uint64_t limit)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    const char *metric = p->s->config->metric;
    uint64_t n = limit ? VKT_MIN(limit, info->n[split]) : info->n[split];
    bool asked = !strcmp(metric, "roc_auc") || !strcmp(metric, "average_precision");
    bool several = p->sums->several;
    if (p->sums->n_classes < (several ? 1 : 2) || p->sums->pixels || p->sums->boxes ||
        !info->has_labels ||
        (!asked && vkt__ranks_scores(n, p->sums->n_classes, several) > VKT__RANKED_SCORES))
        return VKT_OK;
    return vkt__ranks_create(n, p->sums->n_classes, several, &p->ranks);
}

static void begin_sums(pass *p, const vkt_dataset *data)
{
    const vkt_dataset_info *info = p->s->info;
    vkt__eval_sums *s = p->sums;
    bool boxes = info->task == VKT_TASK_DETECT, points = info->task == VKT_TASK_POINTS;
    p->labelled = vkt_dataset_get_info(data)->has_labels;
    vkt__eval_sums_begin(s, info);
    s->n_terms = p->s->views > 1 ? 0 : (uint32_t)p->s->terms.n;
    if (boxes || points) s->boxes = vkt__detections_create(points ? 1 : info->n_outputs);
    if (points) {
        s->sigma = vkt__alloc(s->n_classes * sizeof *s->sigma);
        s->class_error = vkt__alloc(s->n_classes * sizeof *s->class_error);
        p->point = vkt__alloc(s->n_classes * sizeof *p->point);
        vkt__point_sigmas(info->class_names, s->n_classes, s->sigma);
    }
    const vkt__objects *objects = data->part[data->of_part[p->split]].objects;
    if (boxes && objects) p->objects = vkt__alloc((objects->most + 1) * sizeof *p->objects);
    p->row = vkt__alloc(info->n_outputs * sizeof *p->row);
    p->mean_of = vkt__alloc(info->n_outputs * sizeof *p->mean_of);
    p->labels = vkt__alloc((s->n_targets + 1) * sizeof *p->labels);
    p->number = vkt__alloc((2 * (size_t)s->n_targets + 1) * sizeof *p->number);
}

static void finish_pass(pass *p)
{
    vkt__ranks_finish(&p->ranks);
    vkt__finder_finish(&p->finder);
    free(p->objects);
    free(p->point);
    vkt__instance_groups_finish(&p->groups);
    free(p->row);
    free(p->mean_of);
    free(p->labels);
    free(p->number);
}

static void measure_points(vkt__eval_sums *s)
{
    double all, half;
    if (s->boxes->n) s->oks_ap = vkt__detections_measure(s->boxes, &all, &half).map;
}

static void measure_boxes(vkt__eval_sums *s)
{
    size_t bytes = (s->n_classes + 1) * sizeof *s->class_ap;
    s->class_ap = vkt__alloc(bytes);
    s->class_ap50 = vkt__alloc(bytes);
    vkt__detection_scores of = vkt__detections_measure(s->boxes, s->class_ap, s->class_ap50);
    s->map = of.map;
    s->map50 = of.map50;
    for (uint32_t c = 0; c < s->n_classes; c++) {
        s->class_count[c] = s->boxes->n_objects[c];
        s->class_predicted[c] = s->boxes->n_shown[c];
        s->class_correct[c] = s->boxes->n_correct[c];
    }
}

/* Once for each split of a session. */
static void say_far(const pass *p)
{
    static const char *const how[] = { [VKT_TARGET_PLAIN] = "",
                                       [VKT_TARGET_LOG] = " (data.target: log)",
                                       [VKT_TARGET_LOG1P] = " (data.target: log1p)" };
    uint32_t bit = 1u << p->split;
    if (!p->n_far || (p->s->far_said & bit)) return;
    p->s->far_said |= bit;
    vkt_log(VKT_LOG_WARN, "eval",
            "%llu of %llu predictions have no finite value%s, nor have measures of them: "
            "are these inputs far from the training data's, or did training diverge?",
            (unsigned long long)p->n_far, (unsigned long long)p->sums->n,
            how[vkt__targets_curve(p->data->schema.targets, p->data->schema.n_targets)]);
}

/* Says once for each split that pictures have more centres than a mask can number. */
static void say_full(const pass *p)
{
    uint32_t bit = 1u << (VKT_N_SPLITS + p->split);
    if (!p->n_full || (p->s->far_said & bit)) return;
    p->s->far_said |= bit;
    vkt_log(VKT_LOG_WARN, "eval",
            "%llu of %llu pictures have more than 65,535 centres: the pixels of those beyond went "
            "to the nearest of these",
            (unsigned long long)p->n_full, (unsigned long long)p->sums->n);
}

vkt_status vkt__evaluate(vkt__session *s, const vkt_dataset *data, vkt_split split, uint64_t limit,
                         vkt__eval_sums *sums, vkt__example_fn fn, void *user)
{
    vkt_status st = VKT_OK;
    vkt__ring *l = &s->eval;
    vkt_loader *loader = NULL;
    uint64_t ticket[VKT_MAX_SLOTS] = { 0 };
    uint32_t waiting = UINT32_MAX; /* the slot in flight */
    pass p = { .s = s, .sums = sums, .fn = fn, .user = user };
    vkt_comm *shared = fn ? NULL : s->comm;
    bool text = s->info->kind == VKT_DATA_KIND_TEXT, dense = vkt__is_dense(s->info->task);
    if (!data) data = s->data;
    p.data = data;
    p.split = split;
    if (vkt_dataset_get_info(data)->has_labels) p.ignore = vkt__session_ignore(s);
    begin_sums(&p, data);
    if (text) {
        const vkt_tokenizer_info *t = vkt_tokenizer_get_info(s->info->tokenizer);
        p.end = t->end;
        p.sums->normalized = !strcmp(t->kind, "wordpiece") || !strcmp(t->kind, "unigram");
    }
    vkt_loader_desc desc = { .data = data,
                             .split = split,
                             .batch = shared ? l->batch * shared->size : l->batch,
                             .row = shared ? l->batch * shared->rank : 0,
                             .rows = l->batch,
                             .limit = limit,
                             .views = s->views,
                             .augment = s->views > 1 ? &s->view : NULL,
                             .seed = s->config->seed,
                             .weight = 1,
                             .ignore = p.ignore,
                             .stop_on_bad = s->config->data.bad_files == VKT_BAD_FILES_STOP,
                             .n_slots = l->n_slots,
                             .slots = l->slots,
                             .n_threads = 1 };
    VKT_TRY(begin_ranks(&p, data, split, limit));
    VKT_TRY(vkt_loader_create(&desc, &loader));
    for (;;) {
        uint32_t slot;
        VKT_TRY(vkt_loader_next(loader, &slot, NULL));
        if (slot != UINT32_MAX) VKT_TRY(vkt_graph_submit(l->graph, slot, &ticket[slot]));
        if (waiting != UINT32_MAX) {
            VKT_TRY(vkt_ticket_wait(s->gpu, ticket[waiting]));
            if (text)
                take_windows(&p, waiting);
            else if (dense)
                take_dense(&p, waiting);
            else
                take_batch(&p, waiting);
            VKT_TRY(p.failed);
            vkt_loader_release(loader, waiting);
        }
        if (slot == UINT32_MAX) break;
        waiting = slot;
    }
    say_far(&p);
    say_full(&p);
    if (shared) VKT_TRY(vkt__eval_total(shared, sums, &p.ranks));
    if (!sums->n && p.n_ignored && !fn)
        VKT_TRY(vkt__fail(VKT_E_ARG, "eval",
                          "all %s examples are of the class that loss.ignore_index leaves out",
                          vkt_split_name(split)));
    if (!sums->n && !p.n_ignored && !text && (p.labelled || !dense))
        VKT_TRY(vkt__fail(VKT_E_IO, "eval",
                          "none of the %s examples can be read: is the data still there?",
                          vkt_split_name(split)));
    if (sums->points && p.labelled)
        measure_points(sums);
    else if (sums->boxes && p.labelled)
        measure_boxes(sums);
    if (p.ranks.cap) {
        sums->class_ap = vkt__alloc(sums->n_classes * sizeof *sums->class_ap);
        VKT_TRY(
            vkt__ranks_measure(&p.ranks, &sums->roc_auc, &sums->average_precision, sums->class_ap));
        if (s->curves)
            VKT_TRY(vkt__ranks_curves(&p.ranks, sums->class_ap, &sums->point, &sums->n_points));
    }
fail:
    if (st != VKT_OK) {
        vkt__gpu_settle(s->gpu);
        vkt__eval_sums_finish(sums);
    }
    vkt_loader_destroy(&loader);
    finish_pass(&p);
    return st;
}
