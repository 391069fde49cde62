/* A split of a data set through a session's evaluation graph: sums, and the outputs example by
 * example. */
#ifndef VKT_TRAIN_EVALUATE_H
#define VKT_TRAIN_EVALUATE_H

#include "train/session.h"

/* Sums over examples, or for text over the targets that count; counts per class for classifiers. */
typedef struct vkt__eval_sums {
    uint64_t n, correct;
    uint64_t n_bytes; /* text: of the targets' tokens */
    double loss;
    /* Regression, in units of the target: sums of errors, absolute and squared; the targets' mean
     * and sum of squared deviations from it. */
    double abs_error, square_error, target_mean, target_square;
    double roc_auc, average_precision; /* of classes, see ranks.h; NAN: not measured */
    uint32_t n_classes;
    uint64_t *class_count, *class_correct, *class_predicted; /* [n_classes] */
    uint64_t *confusion; /* [n_classes, n_classes] target, prediction; NULL: too many classes */
} vkt__eval_sums;
enum { VKT__CONFUSION_CLASSES = 1000 }; /* a matrix of more would not be read */
/* Called for each example (not of text) with the outputs: probabilities, or the target in its own
 * units. */
typedef void (*vkt__example_fn)(void *user, uint64_t index, const float *out, vkt_label y);

/* Runs the evaluation graph over a split of `data` (NULL: the session's own). limit: an evenly
 * spread sample of that many examples; 0: all. The device must not be training. sums: free the
 * arrays with vkt__eval_sums_finish. */
vkt_status vkt__evaluate(vkt__session *s, const vkt_dataset *data, vkt_split split, uint64_t limit,
                         vkt__eval_sums *sums, vkt__example_fn fn, void *user);
void vkt__eval_sums_finish(vkt__eval_sums *sums);
/* exp of the mean loss; and the loss of a byte of text in bits, by which models of different
 * tokenizers compare. NAN where the sums are not of text. */
double vkt__eval_perplexity(const vkt__eval_sums *sums);
double vkt__eval_bits_per_byte(const vkt__eval_sums *sums);
/* Adds the error of one example of a regression; n counts it already. */
void vkt__eval_add_error(vkt__eval_sums *sums, double predicted, double target);
/* Of a regression, in units of the target: the root of the mean squared error; and the share of the
 * targets' variance that is explained (NAN of fewer than two examples; of targets that are all the
 * same 1 if each was met, else 0). Source of the conventions: scikit-learn's r2_score. */
double vkt__eval_rmse(const vkt__eval_sums *sums);
double vkt__eval_r2(const vkt__eval_sums *sums);

#endif
