/* point_scores.h */
#include <math.h>

#include "train/measures/detections.h"
#include "train/measures/point_scores.h"

enum { COCO = 17, N = 3 };
static const struct {
    const char *name;
    double sigma;
} coco[COCO] = {
    { "nose", 0.026 },           { "left_eye", 0.025 },    { "right_eye", 0.025 },
    { "left_ear", 0.035 },       { "right_ear", 0.035 },   { "left_shoulder", 0.079 },
    { "right_shoulder", 0.079 }, { "left_elbow", 0.072 },  { "right_elbow", 0.072 },
    { "left_wrist", 0.062 },     { "right_wrist", 0.062 }, { "left_hip", 0.107 },
    { "right_hip", 0.107 },      { "left_knee", 0.087 },   { "right_knee", 0.087 },
    { "left_ankle", 0.089 },     { "right_ankle", 0.089 },
};

void vkt__point_sigmas(const char *const *name, uint32_t n, double *sigma)
{
    bool cocos = n == COCO;
    for (uint32_t k = 0; k < n && cocos; k++) cocos = !strcmp(name[k], coco[k].name);
    for (uint32_t k = 0; k < n; k++) sigma[k] = cocos ? coco[k].sigma : VKT__POINT_SIGMA;
}

static double distance(const vkt_label *at, const vkt__point *found)
{
    return hypot(found->x - (double)at[0].f, found->y - (double)at[1].f);
}

double vkt__oks(const vkt_label *target, const vkt__point *found, const double *sigma, uint32_t n)
{
    double root = (double)target[(size_t)n * N + 1].f, sum = 0, there = 0;
    for (uint32_t k = 0; k < n; k++, target += N) {
        if (!(target[2].f > 0)) continue;
        double d = distance(target, &found[k]) / (2 * sigma[k] * root);
        sum += exp(-d * d / 2);
        there++;
    }
    return there > 0 && root > 0 ? sum / there : NAN;
}

void vkt__points_add(vkt__eval_sums *s, uint64_t example, const vkt_label *target,
                     const vkt__point *found)
{
    uint32_t n = s->n_classes;
    double side = (double)target[(size_t)n * N].f, score = 0,
           oks = vkt__oks(target, found, s->sigma, n);
    for (uint32_t k = 0; k < n; k++) {
        const vkt_label *at = target + (size_t)k * N;
        score += found[k].score;
        if (!(at[2].f > 0)) continue;
        double d = distance(at, &found[k]);
        s->class_count[k]++;
        s->class_predicted[k]++;
        s->class_correct[k] += d <= VKT__PCK * side;
        s->class_error[k] += d;
    }
    if (!isnan(oks)) vkt__detections_add_alone(s->boxes, example, (float)(score / n), oks);
}

static double sum_of(const uint64_t *count, uint32_t n)
{
    double sum = 0;
    for (uint32_t k = 0; k < n; k++) sum += (double)count[k];
    return sum;
}

double vkt__pck(const vkt__eval_sums *s)
{
    double n = s->points ? sum_of(s->class_count, s->n_classes) : 0;
    return n > 0 ? sum_of(s->class_correct, s->n_classes) / n : NAN;
}

double vkt__point_error(const vkt__eval_sums *s)
{
    double n = s->points ? sum_of(s->class_count, s->n_classes) : 0, sum = 0;
    for (uint32_t k = 0; k < s->n_classes && s->points; k++) sum += s->class_error[k];
    return n > 0 ? sum / n : NAN;
}
