/* Evaluation of a split: fixed order, the last batch padded with weight zero, sums in double on the
 * host. */
#include <math.h>

#include "data/pictures/augment.h"
#include "train/eval_totals.h"
#include "train/evaluate.h"
#include "train/ranks.h"

typedef struct {
    vkt__session *s;
    vkt__eval_sums *sums;
    vkt__ranks ranks; /* without room: not measured */
    vkt__example_fn fn;
    void *user;
    double scale, mean; /* of a regression target */
    float *row;         /* [n_outputs] in the target's own units */
    float *mean_of;     /* [n_outputs] test-time augmentation: sum of the views so far */
    uint32_t n_seen;    /* views of the example at hand */
    bool bad;           /* one of them could not be read */
    uint32_t end;       /* text: the token between documents, which is no text */
} pass;

static void take_windows(pass *p, uint32_t slot)
{
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

/* The first of the largest. */
static uint32_t largest(const float *out, uint32_t n)
{
    uint32_t top = 0;
    for (uint32_t k = 1; k < n; k++)
        if (out[k] > out[top]) top = k;
    return top;
}

static void count_class(vkt__eval_sums *s, uint32_t target, uint32_t predicted, bool hit)
{
    s->class_count[target]++;
    s->class_correct[target] += hit;
    s->class_predicted[predicted]++;
    if (s->confusion) s->confusion[(size_t)target * s->n_classes + predicted]++;
}

/* Bins are open below: a probability of exactly k / VKT__BINS lies in bin k - 1. */
void vkt__eval_add_confidence(vkt__eval_sums *s, float p, bool hit)
{
    if (!(p >= 0 && p <= 1)) return; /* no number: the loss says so */
    uint32_t k = (uint32_t)fmax(ceil((double)p * VKT__BINS) - 1, 0);
    s->bin[k].n++;
    s->bin[k].correct += hit;
    s->bin[k].confidence += (double)p;
}

/* The targets' mean and squares by Welford's updates: their sum of squares would lose what is small
 * against a large mean. */
void vkt__eval_add_error(vkt__eval_sums *s, double predicted, double target)
{
    double error = predicted - target, from_mean = target - s->target_mean;
    s->abs_error += fabs(error);
    s->square_error += error * error;
    s->target_mean += from_mean / (double)s->n;
    s->target_square += from_mean * (target - s->target_mean);
}

static bool is_among(const float *out, uint32_t n, uint32_t target, uint32_t most)
{
    uint32_t before = 0;
    for (uint32_t k = 0; k < n; k++)
        before += out[k] > out[target] || (out[k] == out[target] && k < target);
    return before < most;
}

static void take_class(pass *p, const float *out, uint32_t y, bool hit)
{
    uint32_t n_out = p->s->info->n_outputs, top = largest(out, n_out);
    p->sums->correct += hit;
    if (y < n_out) {
        count_class(p->sums, y, hit ? y : top, hit);
        p->sums->among5 += is_among(out, n_out, y, 5);
    }
    vkt__eval_add_confidence(p->sums, out[top], hit);
    if (y < n_out && p->ranks.cap) vkt__ranks_add(&p->ranks, out, y);
}

static void take_one(pass *p, uint32_t index, const float *out, vkt_label y, double loss, bool hit)
{
    p->sums->n++;
    p->sums->loss += loss;
    if (p->s->info->task == VKT_TASK_CLASSIFY) {
        take_class(p, out, y.u, hit);
    } else {
        p->row[0] = (float)((double)out[0] * p->scale + p->mean);
        y.f = (float)((double)y.f * p->scale + p->mean);
        vkt__eval_add_error(p->sums, (double)p->row[0], (double)y.f);
        out = p->row;
    }
    if (p->fn) p->fn(p->user, index, out, y);
}

/* A view of an example, which is taken when all of its views are there. */
static void take_view(pass *p, uint32_t index, const float *out, vkt_label y, bool read)
{
    uint32_t n_out = p->s->info->n_outputs, views = p->s->views;
    if (p->n_seen == 0) memset(p->mean_of, 0, n_out * sizeof *p->mean_of);
    p->bad = (p->n_seen && p->bad) || !read;
    for (uint32_t k = 0; k < n_out; k++) p->mean_of[k] += out[k] / (float)views;
    if (++p->n_seen < views) return;
    p->n_seen = 0;
    if (p->bad) return;
    bool known = y.u < n_out;
    double loss = known ? -log(fmax((double)p->mean_of[y.u], 1e-38)) : 0;
    take_one(p, index, p->mean_of, y, loss, known && largest(p->mean_of, n_out) == y.u);
}

static void take_batch(pass *p, uint32_t slot)
{
    const vkt__ring *l = &p->s->eval;
    const vkt_batch *b = &l->slots[slot];
    uint32_t n_out = p->s->info->n_outputs;
    for (uint32_t i = 0; i < b->n_valid; i++) {
        const float *out = l->out[slot] + (size_t)i * n_out;
        bool read = b->w[i] > 0; /* else its picture could not be read: said by the loader */
        if (p->s->views > 1)
            take_view(p, b->index[i], out, b->y[i], read);
        else if (read)
            take_one(p, b->index[i], out, b->y[i], (double)l->loss[slot][i], l->hit[slot][i] > 0);
    }
}

vkt_status vkt__evaluate_views(vkt__session *s, int tta)
{
    const vkt_augment *a = &s->config->augment;
    if (!tta || tta == 1) return VKT_OK;
    if (s->info->kind != VKT_DATA_KIND_PICTURES)
        return vkt__fail(VKT_E_ARG, "eval",
                         "test-time augmentation (--tta) is for models of pictures");
    s->views = tta == VKT_TTA_FLIPS ? 2 : (uint32_t)tta;
    s->view = tta == VKT_TTA_FLIPS ? (vkt_augment) { .flip = 1 } : *a;
    s->view.mixup = s->view.cutmix = 0;
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
    if (p->sums->n_classes < 2 || !info->has_labels ||
        (!asked && vkt__ranks_scores(n, p->sums->n_classes) > VKT__RANKED_SCORES))
        return VKT_OK;
    return vkt__ranks_create(n, p->sums->n_classes, &p->ranks);
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
    bool text = s->info->kind == VKT_DATA_KIND_TEXT,
         classes = s->info->task == VKT_TASK_CLASSIFY && !text;
    if (text) p.end = vkt_tokenizer_get_info(s->info->tokenizer)->end;
    if (!data) data = s->data;
    *sums = (vkt__eval_sums) { .n_classes = classes ? s->info->n_outputs : 0,
                               .roc_auc = NAN,
                               .average_precision = NAN };
    sums->class_count = vkt__alloc((sums->n_classes + 1) * sizeof *sums->class_count);
    sums->class_correct = vkt__alloc((sums->n_classes + 1) * sizeof *sums->class_correct);
    sums->class_predicted = vkt__alloc((sums->n_classes + 1) * sizeof *sums->class_predicted);
    if (sums->n_classes && sums->n_classes <= VKT__CONFUSION_CLASSES)
        sums->confusion =
            vkt__alloc((size_t)sums->n_classes * sums->n_classes * sizeof *sums->confusion);
    p.row = vkt__alloc(s->info->n_outputs * sizeof *p.row);
    p.mean_of = vkt__alloc(s->info->n_outputs * sizeof *p.mean_of);
    vkt_dataset_target_scale(data, &p.scale, &p.mean);
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
            else
                take_batch(&p, waiting);
            vkt_loader_release(loader, waiting);
        }
        if (slot == UINT32_MAX) break;
        waiting = slot;
    }
    if (shared) VKT_TRY(vkt__eval_total(shared, sums, &p.ranks));
    if (p.ranks.cap)
        VKT_TRY(vkt__ranks_measure(&p.ranks, &sums->roc_auc, &sums->average_precision));
fail:
    if (st != VKT_OK) {
        vkt__gpu_settle(s->gpu);
        vkt__eval_sums_finish(sums);
    }
    vkt_loader_destroy(&loader);
    vkt__ranks_finish(&p.ranks);
    free(p.row);
    free(p.mean_of);
    return st;
}

void vkt__eval_sums_finish(vkt__eval_sums *sums)
{
    free(sums->class_count);
    free(sums->class_correct);
    free(sums->class_predicted);
    free(sums->confusion);
    sums->class_count = sums->class_correct = sums->class_predicted = sums->confusion = NULL;
}

double vkt__eval_perplexity(const vkt__eval_sums *sums)
{
    return sums->n_bytes ? exp(sums->loss / (double)sums->n) : NAN;
}

double vkt__eval_bits_per_byte(const vkt__eval_sums *sums)
{
    return sums->n_bytes ? sums->loss / log(2) / (double)sums->n_bytes : NAN;
}

double vkt__eval_rmse(const vkt__eval_sums *sums)
{
    return sqrt(sums->square_error / (double)sums->n);
}

double vkt__eval_ece(const vkt__eval_sums *sums)
{
    double gap = 0, n = 0;
    for (uint32_t k = 0; k < VKT__BINS; k++) {
        gap += fabs((double)sums->bin[k].correct - sums->bin[k].confidence);
        n += (double)sums->bin[k].n;
    }
    return n > 0 ? gap / n : NAN;
}

double vkt__eval_r2(const vkt__eval_sums *sums)
{
    if (sums->n < 2) return NAN;
    if (sums->target_square > 0) return 1 - sums->square_error / sums->target_square;
    return sums->square_error > 0 ? 0 : 1;
}
