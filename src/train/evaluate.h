/* A split of a data set through a session's evaluation graph: sums, and the outputs example by
 * example. */
#ifndef VKT_TRAIN_EVALUATE_H
#define VKT_TRAIN_EVALUATE_H

#include "train/measures/eval_sums.h"
#include "train/session.h"

/* Called for each example (not of text) with the outputs and its labels [n_labels]: probabilities,
 * or the targets in their own units, which `number` [2, n_outputs] has as doubles: the
 * predictions, then the true values; NULL except for regression. */
typedef void (*vkt__example_fn)(void *user, uint64_t index, const float *out, const vkt_label *y,
                                const double *number);

/* Runs the evaluation graph over a split of `data` (NULL: the session's own). limit: an evenly
 * spread sample of that many examples; 0: all. The device must not be training. sums: free the
 * arrays with vkt__eval_sums_finish. With several ranks and fn NULL, every rank must call this:
 * each evaluates a part, and the sums are those of all. */
vkt_status vkt__evaluate(vkt__session *s, const vkt_dataset *data, vkt_split split, uint64_t limit,
                         vkt__eval_sums *sums, vkt__example_fn fn, void *user);
/* Makes the evaluations of a session that is not training test-time augmented: see VKT_TTA_FLIPS of
 * train.h. ARG. */
vkt_status vkt__evaluate_views(vkt__session *s, int tta);

#endif
