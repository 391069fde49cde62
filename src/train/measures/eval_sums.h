/* What an evaluation adds up. */
#ifndef VKT_TRAIN_EVAL_SUMS_H
#define VKT_TRAIN_EVAL_SUMS_H

#include "base/words.h"
#include "recipe/loss_terms.h"
#include "vktrain/data.h"

enum { VKT__CONFUSION_CLASSES = 1000 }; /* a matrix of more would not be read */
enum { VKT__BINS = 15 }; /* of confidence: as many as Guo et al. 2017 (arXiv 1706.04599) */

/* Of one target of a regression, in its own units: errors, absolute and squared; the targets' mean
 * and sum of squared deviations from it. */
typedef struct vkt__error_sums {
    double absolute, square, target_mean, target_square;
} vkt__error_sums;

/* Of classes: how often the likeliest one is right, by its probability: bin k of it from
 * k / VKT__BINS up to its end. */
typedef struct vkt__reliability {
    struct {
        uint64_t n, correct;
        double confidence; /* sum */
    } bin[VKT__BINS];
} vkt__reliability;

/* Sums over examples, or for text over the targets that count; counts per class for classifiers. */
typedef struct vkt__eval_sums {
    uint64_t n, correct;
    uint64_t among5;  /* classes: the target is one of the five likeliest */
    uint64_t n_bytes; /* text: of the targets' tokens */
    bool normalized;  /* text: these are not the bytes that it had */
    double loss;
    double term[VKT__MAX_LOSSES]; /* [n_terms] of the entries of `losses`, without their weights */
    uint32_t n_terms;
    double chosen, rejected;      /* preferences: of the answers' rewards */
    bool pairs;                   /* the examples are such */
    uint32_t n_targets;           /* of a regression; else 0 */
    vkt__error_sums *error;       /* [n_targets]; not of outputs that are classes */
    const vkt_output_of *outputs; /* [n_targets] of a regression with classes; else NULL */
    uint64_t *right; /* [n_targets] at the first output of a label of classes: examples whose
                        likeliest class is right */
    double roc_auc, average_precision; /* of classes, see ranks.h; NAN: not measured */
    double *class_ap; /* [n_classes] average precision of each; NULL: not measured */
    size_t n_points;  /* of class_ap's curves, see vkt__ranks_curves; 0: not measured */
    struct vkt__rank_point *point;
    bool pixels;                   /* masks: n and the counts of classes are of pixels */
    bool pictures;                 /* targets are pictures: these are sums over examples */
    struct vkt__detections *boxes; /* detection: n is of pictures, counts of classes are of boxes;
                                      else NULL */
    double map, map50;             /* of these, see detections.h; NAN: not measured */
    double *class_ap50;            /* [n_classes], beside class_ap; or NULL */
    bool points;    /* counts of classes are of points, and boxes of examples: see point_scores.h */
    bool instances; /* counts of the one class are of instances: see instance_scores.h */
    double *sigma, *class_error; /* [n_classes] of them; else NULL */
    double oks_ap;               /* NAN: not measured */
    double psnr, ssim;           /* dB; NAN: smaller than a window */
    bool several; /* labels of an example: correct counts examples with all of them right, class
                     counts are of positives, and there is no confusion */
    vkt__reliability raw, calibrated; /* of classes; calibrated: where there is a temperature */
    uint32_t n_classes;
    uint64_t *class_count, *class_correct, *class_predicted; /* [n_classes] */
    uint64_t *confusion; /* [n_classes, n_classes] target, prediction; NULL: too many classes */
} vkt__eval_sums;
/* Nothing added yet, of a model for such data. Detections, sigmas and terms are the caller's. */
void vkt__eval_sums_begin(vkt__eval_sums *sums, const vkt_dataset_info *info);
void vkt__eval_sums_finish(vkt__eval_sums *sums);
/* exp of the mean loss; and the loss of a byte of text in bits, by which models of different
 * tokenizers compare. NAN where the sums are not of text. */
double vkt__eval_perplexity(const vkt__eval_sums *sums);
double vkt__eval_bits_per_byte(const vkt__eval_sums *sums);
/* Means over preferences: the chosen answers' rewards, the rejected ones', and by how much the
 * former are higher. NAN where the sums are of something else. Source of the names: TRL. */
typedef struct vkt__reward_means {
    double chosen, rejected, margin;
} vkt__reward_means;
vkt__reward_means vkt__eval_rewards(const vkt__eval_sums *sums);
/* Adds the error in target k of one example of a regression; n counts it already. */
void vkt__eval_add_error(vkt__eval_sums *sums, uint32_t k, double predicted, double target);
/* Adds an example to the label of classes whose first output is k: out, y [its classes]. */
void vkt__eval_add_right(vkt__eval_sums *sums, uint32_t k, const float *out, const vkt_label *y);
/* Share of the examples whose class of that label is right. */
double vkt__eval_right(const vkt__eval_sums *sums, uint32_t k);
/* Adds an example of several labels: out, y [n_classes]; a label is predicted from a probability of
 * threshold[c] on, NULL: of one half. n counts it already. */
void vkt__eval_add_labels(vkt__eval_sums *sums, const float *out, const vkt_label *y,
                          const float *threshold);
/* The first of the largest of out [n]. */
uint32_t vkt__eval_largest(const float *out, uint32_t n);
void vkt__eval_count_class(vkt__eval_sums *sums, uint32_t target, uint32_t predicted, bool hit);
/* Adds one pixel of a class that counts: out [n_classes]. */
void vkt__eval_add_pixel(vkt__eval_sums *sums, const float *out, uint32_t class, double loss);
/* Adds the probability that one example's likeliest class was given. */
void vkt__eval_add_confidence(vkt__reliability *r, float p, bool hit);
/* Expected calibration error: how far confidence and accuracy are apart, over the bins, each by its
 * share of the examples. NAN where there are no classes. Source: Guo et al. 2017, equation 3. */
double vkt__eval_ece(const vkt__reliability *r);
/* Share of the examples that are right; of several labels: in all of them; of classes beside
 * numbers: the mean over the labels that are classes. NAN: a regression. */
double vkt__eval_accuracy(const vkt__eval_sums *sums);
/* Errors of a regression, in units of the target: the mean absolute error; the root of the mean
 * squared one; and the share of the targets' variance that is explained (NAN with fewer than two
 * examples; where all targets are the same, 1 if each was met, else 0). With several targets: those
 * of target k, and the means over the targets that are numbers. NAN: there are none. Source of the
 * conventions: scikit-learn's r2_score. */
typedef struct vkt__error_scores {
    double mae, rmse, r2;
} vkt__error_scores;
vkt__error_scores vkt__eval_errors_of(const vkt__eval_sums *sums, uint32_t k);
vkt__error_scores vkt__eval_errors(const vkt__eval_sums *sums);

#endif
