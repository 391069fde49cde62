/* eval_sums.h */
#include <math.h>

#include "train/measures/detections.h"
#include "train/measures/eval_sums.h"

void vkt__eval_sums_begin(vkt__eval_sums *s, const vkt_dataset_info *info)
{
    bool numbers = info->task == VKT_TASK_REGRESS, pictures = info->task == VKT_TASK_PICTURE,
         classes = info->kind != VKT_DATA_KIND_TEXT && !numbers && !pictures;
    *s = (vkt__eval_sums) { .n_classes = classes ? info->n_outputs : 0,
                            .pixels = info->task == VKT_TASK_SEGMENT,
                            .pictures = pictures,
                            .n_targets = numbers ? info->n_outputs : 0,
                            .outputs = info->outputs,
                            .several = info->task == VKT_TASK_MULTILABEL,
                            .pairs = info->pairs,
                            .points = info->task == VKT_TASK_POINTS,
                            .instances = info->task == VKT_TASK_INSTANCES,
                            .map = NAN,
                            .map50 = NAN,
                            .oks_ap = NAN,
                            .roc_auc = NAN,
                            .average_precision = NAN };
    s->class_count = vkt__alloc((s->n_classes + 1) * sizeof *s->class_count);
    s->class_correct = vkt__alloc((s->n_classes + 1) * sizeof *s->class_correct);
    s->class_predicted = vkt__alloc((s->n_classes + 1) * sizeof *s->class_predicted);
    if (s->n_classes && s->n_classes <= VKT__CONFUSION_CLASSES && !s->several &&
        info->task != VKT_TASK_DETECT && !s->points && !s->instances)
        s->confusion = vkt__alloc((size_t)s->n_classes * s->n_classes * sizeof *s->confusion);
    if (s->outputs) s->right = vkt__alloc(s->n_targets * sizeof *s->right);
    s->error = vkt__alloc((s->n_targets + 1) * sizeof *s->error);
}

/* Bins are open below: a probability of exactly k / VKT__BINS lies in bin k - 1. */
void vkt__eval_add_confidence(vkt__reliability *s, float p, bool hit)
{
    if (!(p >= 0 && p <= 1)) return; /* no number: the loss says so */
    uint32_t k = (uint32_t)fmax(ceil((double)p * VKT__BINS) - 1, 0);
    s->bin[k].n++;
    s->bin[k].correct += hit;
    s->bin[k].confidence += (double)p;
}

/* The targets' mean and squares by Welford's updates: their sum of squares would lose what is small
 * against a large mean. */
void vkt__eval_add_error(vkt__eval_sums *s, uint32_t k, double predicted, double target)
{
    vkt__error_sums *e = &s->error[k];
    double error = predicted - target, from_mean = target - e->target_mean;
    e->absolute += fabs(error);
    e->square += error * error;
    e->target_mean += from_mean / (double)s->n;
    e->target_square += from_mean * (target - e->target_mean);
}

void vkt__eval_add_right(vkt__eval_sums *s, uint32_t k, const float *out, const vkt_label *y)
{
    s->right[k] += y[vkt__eval_largest(out, s->outputs[k].n_classes)].f > 0;
}

double vkt__eval_right(const vkt__eval_sums *s, uint32_t k)
{
    return (double)s->right[k] / (double)s->n;
}

void vkt__eval_add_labels(vkt__eval_sums *s, const float *out, const vkt_label *y,
                          const float *threshold)
{
    bool all = true;
    for (uint32_t c = 0; c < s->n_classes; c++) {
        bool is = y[c].f > 0, said = out[c] >= (threshold ? threshold[c] : 0.5f);
        s->class_count[c] += is;
        s->class_predicted[c] += said;
        s->class_correct[c] += is && said;
        all = all && is == said;
    }
    s->correct += all;
}

uint32_t vkt__eval_largest(const float *out, uint32_t n)
{
    uint32_t top = 0;
    for (uint32_t k = 1; k < n; k++)
        if (out[k] > out[top]) top = k;
    return top;
}

void vkt__eval_count_class(vkt__eval_sums *s, uint32_t target, uint32_t predicted, bool hit)
{
    s->class_count[target]++;
    s->class_correct[target] += hit;
    s->class_predicted[predicted]++;
    if (s->confusion) s->confusion[(size_t)target * s->n_classes + predicted]++;
}

void vkt__eval_add_pixel(vkt__eval_sums *s, const float *out, uint32_t class, double loss)
{
    uint32_t top = vkt__eval_largest(out, s->n_classes);
    bool hit = top == class;
    s->n++;
    s->loss += loss;
    s->correct += hit;
    vkt__eval_count_class(s, class, top, hit);
    vkt__eval_add_confidence(&s->raw, out[top], hit);
}

void vkt__eval_sums_finish(vkt__eval_sums *sums)
{
    free(sums->class_count);
    free(sums->class_correct);
    free(sums->class_predicted);
    free(sums->confusion);
    free(sums->class_ap);
    free(sums->class_ap50);
    free(sums->sigma);
    free(sums->class_error);
    vkt__detections_destroy(&sums->boxes);
    free(sums->point);
    free(sums->error);
    free(sums->right);
    sums->class_count = sums->class_correct = sums->class_predicted = sums->confusion = NULL;
    sums->class_ap = sums->class_ap50 = sums->sigma = sums->class_error = NULL;
    sums->point = NULL;
    sums->n_points = 0;
    sums->error = NULL;
    sums->right = NULL;
}

double vkt__eval_perplexity(const vkt__eval_sums *sums)
{
    return sums->n_bytes ? exp(sums->loss / (double)sums->n) : NAN;
}

vkt__reward_means vkt__eval_rewards(const vkt__eval_sums *sums)
{
    double n = sums->pairs ? (double)sums->n : NAN;
    return (vkt__reward_means) { sums->chosen / n, sums->rejected / n,
                                 (sums->chosen - sums->rejected) / n };
}

double vkt__eval_bits_per_byte(const vkt__eval_sums *sums)
{
    bool known = sums->n_bytes && !sums->normalized;
    return known ? sums->loss / log(2) / (double)sums->n_bytes : NAN;
}

double vkt__eval_ece(const vkt__reliability *r)
{
    double gap = 0, n = 0;
    for (uint32_t k = 0; k < VKT__BINS; k++) {
        gap += fabs((double)r->bin[k].correct - r->bin[k].confidence);
        n += (double)r->bin[k].n;
    }
    return n > 0 ? gap / n : NAN;
}

double vkt__eval_accuracy(const vkt__eval_sums *sums)
{
    double right = 0, n = 0;
    for (uint32_t k = 0; k < sums->n_targets && sums->outputs; k++) {
        if (!sums->outputs[k].n_classes) continue;
        right += vkt__eval_right(sums, k);
        n++;
    }
    if (n > 0) return right / n;
    return sums->n_targets || sums->pictures || sums->boxes || sums->instances
               ? NAN
               : (double)sums->correct / (double)sums->n;
}

vkt__error_scores vkt__eval_errors_of(const vkt__eval_sums *sums, uint32_t k)
{
    const vkt__error_sums *e = &sums->error[k];
    double n = (double)sums->n;
    vkt__error_scores out = { e->absolute / n, sqrt(e->square / n), NAN };
    if (sums->n >= 2 && e->target_square > 0)
        out.r2 = 1 - e->square / e->target_square;
    else if (sums->n >= 2)
        out.r2 = e->square > 0 ? 0 : 1;
    return out;
}

vkt__error_scores vkt__eval_errors(const vkt__eval_sums *sums)
{
    vkt__error_scores out = { 0, 0, 0 };
    double n = 0;
    for (uint32_t k = 0; k < sums->n_targets; k++) {
        if (sums->outputs && sums->outputs[k].value) continue;
        n++;
        vkt__error_scores one = vkt__eval_errors_of(sums, k);
        out.mae += one.mae;
        out.rmse += one.rmse;
        out.r2 += one.r2;
    }
    if (n == 0) n = NAN;
    return (vkt__error_scores) { out.mae / n, out.rmse / n, out.r2 / n };
}
