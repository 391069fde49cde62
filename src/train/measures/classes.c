/* classes.h: the figures. Source of the conventions: scikit-learn's balanced_accuracy_score and
 * f1_score(average="macro", zero_division=0). */
#include <math.h>

#include "train/measures/classes.h"
#include "train/measures/instance_scores.h"
#include "train/measures/point_scores.h"

vkt__class_scores vkt__class_scores_of(const vkt__eval_sums *e, uint32_t c)
{
    double hit = (double)e->class_correct[c], n = (double)e->class_count[c],
           said = (double)e->class_predicted[c];
    return (vkt__class_scores) { .precision = said > 0 ? hit / said : NAN,
                                 .recall = n > 0 ? hit / n : NAN,
                                 .f1 = n + said > 0 ? 2 * hit / (n + said) : NAN };
}

double vkt__class_iou(const vkt__eval_sums *e, uint32_t c)
{
    double both = (double)e->class_correct[c],
           either = (double)e->class_count[c] + (double)e->class_predicted[c] - both;
    return e->pixels && either > 0 ? both / either : NAN;
}

double vkt__mean_iou(const vkt__eval_sums *e)
{
    double sum = 0, n = 0;
    for (uint32_t c = 0; c < e->n_classes; c++) {
        double iou = vkt__class_iou(e, c);
        if (isnan(iou)) continue;
        sum += iou;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

double vkt__mean_psnr(const vkt__eval_sums *e)
{
    return e->pictures ? e->psnr / (double)e->n : NAN;
}

double vkt__mean_ssim(const vkt__eval_sums *e)
{
    return e->pictures ? e->ssim / (double)e->n : NAN;
}

double vkt__balanced_accuracy(const vkt__eval_sums *e)
{
    double sum = 0, n = 0;
    if (e->several || e->boxes || e->instances) return NAN;
    for (uint32_t c = 0; c < e->n_classes; c++) {
        if (!e->class_count[c]) continue;
        sum += vkt__class_scores_of(e, c).recall;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

double vkt__macro_f1(const vkt__eval_sums *e)
{
    double sum = 0, n = 0;
    if (e->points) return NAN;
    for (uint32_t c = 0; c < e->n_classes; c++) {
        double f1 = vkt__class_scores_of(e, c).f1;
        if (isnan(f1)) continue;
        sum += f1;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

double vkt__micro_f1(const vkt__eval_sums *e)
{
    double hit = 0, n = 0;
    for (uint32_t c = 0; c < e->n_classes && e->several; c++) {
        hit += (double)e->class_correct[c];
        n += (double)(e->class_count[c] + e->class_predicted[c]);
    }
    return n > 0 ? 2 * hit / n : NAN;
}

double vkt__eval_metric(const vkt__eval_sums *e, const char *name)
{
    if (!strcmp(name, "accuracy")) return vkt__eval_accuracy(e);
    if (!strcmp(name, "balanced_accuracy")) return vkt__balanced_accuracy(e);
    if (!strcmp(name, "macro_f1")) return vkt__macro_f1(e);
    if (!strcmp(name, "roc_auc")) return e->roc_auc;
    if (!strcmp(name, "average_precision")) return e->average_precision;
    if (!strcmp(name, "ece")) return vkt__eval_ece(&e->raw);
    if (!strcmp(name, "micro_f1")) return vkt__micro_f1(e);
    if (!strcmp(name, "mean_iou")) return vkt__mean_iou(e);
    if (!strcmp(name, "psnr")) return vkt__mean_psnr(e);
    if (!strcmp(name, "ssim")) return vkt__mean_ssim(e);
    if (!strcmp(name, "map")) return e->map;
    if (!strcmp(name, "map50")) return e->map50;
    if (!strcmp(name, "oks_ap")) return e->oks_ap;
    if (!strcmp(name, "pck")) return vkt__pck(e);
    if (!strcmp(name, "point_error")) return vkt__point_error(e);
    if (!strcmp(name, "instance_ap50")) return vkt__instance_ap50(e);
    if (!strcmp(name, "mae")) return vkt__eval_errors(e).mae;
    if (!strcmp(name, "rmse")) return vkt__eval_errors(e).rmse;
    if (!strcmp(name, "r2")) return vkt__eval_errors(e).r2;
    VKT_ASSERT(!strcmp(name, "loss"));
    return e->loss / (double)e->n;
}
