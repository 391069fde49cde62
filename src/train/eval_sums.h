/* What an evaluation adds up. */
#ifndef VKT_TRAIN_EVAL_SUMS_H
#define VKT_TRAIN_EVAL_SUMS_H

#include "base/words.h"

enum { VKT__BINS = 15 }; /* of confidence: as many as Guo et al. 2017 (arXiv 1706.04599) */

/* Sums over examples, or for text over the targets that count; counts per class for classifiers. */
typedef struct vkt__eval_sums {
    uint64_t n, correct;
    uint64_t among5;  /* classes: the target is one of the five likeliest */
    uint64_t n_bytes; /* text: of the targets' tokens */
    double loss;
    /* Regression, in units of the target: sums of errors, absolute and squared; the targets' mean
     * and sum of squared deviations from it. */
    double abs_error, square_error, target_mean, target_square;
    double roc_auc, average_precision; /* of classes, see ranks.h; NAN: not measured */
    /* Classes, by the likeliest one's probability: bin k of it from k / VKT__BINS up to its end. */
    struct {
        uint64_t n, correct;
        double confidence; /* sum */
    } bin[VKT__BINS];
    uint32_t n_classes;
    uint64_t *class_count, *class_correct, *class_predicted; /* [n_classes] */
    uint64_t *confusion; /* [n_classes, n_classes] target, prediction; NULL: too many classes */
} vkt__eval_sums;

#endif
