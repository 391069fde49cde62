/* A split of a data set through a session's evaluation graph: sums, and the outputs example by
 * example. */
#ifndef VKT_TRAIN_EVALUATE_H
#define VKT_TRAIN_EVALUATE_H

#include "train/eval_sums.h"
#include "train/session.h"

enum { VKT__CONFUSION_CLASSES = 1000 }; /* a matrix of more would not be read */
/* Called for each example (not of text) with the outputs: probabilities, or the target in its own
 * units. */
typedef void (*vkt__example_fn)(void *user, uint64_t index, const float *out, vkt_label y);

/* Runs the evaluation graph over a split of `data` (NULL: the session's own). limit: an evenly
 * spread sample of that many examples; 0: all. The device must not be training. sums: free the
 * arrays with vkt__eval_sums_finish. Where the session is one of several ranks and fn is NULL, each
 * does a part, all call it, and the sums are of all. */
vkt_status vkt__evaluate(vkt__session *s, const vkt_dataset *data, vkt_split split, uint64_t limit,
                         vkt__eval_sums *sums, vkt__example_fn fn, void *user);
/* Makes the evaluations of a session that is not training test-time augmented: see VKT_TTA_FLIPS of
 * train.h. ARG. */
vkt_status vkt__evaluate_views(vkt__session *s, int tta);
void vkt__eval_sums_finish(vkt__eval_sums *sums);
/* exp of the mean loss; and the loss of a byte of text in bits, by which models of different
 * tokenizers compare. NAN where the sums are not of text. */
double vkt__eval_perplexity(const vkt__eval_sums *sums);
double vkt__eval_bits_per_byte(const vkt__eval_sums *sums);
/* Adds the error of one example of a regression; n counts it already. */
void vkt__eval_add_error(vkt__eval_sums *sums, double predicted, double target);
/* Adds the probability that one example's likeliest class was given. */
void vkt__eval_add_confidence(vkt__eval_sums *sums, float p, bool hit);
/* Expected calibration error: how far confidence and accuracy are apart, over the bins, each by its
 * share of the examples. NAN where there are no classes. Source: Guo et al. 2017, equation 3. */
double vkt__eval_ece(const vkt__eval_sums *sums);
/* Of a regression, in units of the target: the root of the mean squared error; and the share of the
 * targets' variance that is explained (NAN of fewer than two examples; of targets that are all the
 * same 1 if each was met, else 0). Source of the conventions: scikit-learn's r2_score. */
double vkt__eval_rmse(const vkt__eval_sums *sums);
double vkt__eval_r2(const vkt__eval_sums *sums);

#endif
