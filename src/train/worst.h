/* What a model gets most wrong, and the labels that it contradicts, as files of a run that a report
 * shows: RUN/SPLIT-errors.csv, RUN/SPLIT-doubtful.csv, and the pictures of both beside them. */
#ifndef VKT_TRAIN_WORST_H
#define VKT_TRAIN_WORST_H

#include "train/evaluate.h"
#include "train/measures/label_doubt.h"

/* Collects an evaluation, example by example. */
typedef struct vkt__worst vkt__worst;
/* *out NULL: errors of this task are not listed (texts and boxes). OOM_HOST.
 */
vkt_status vkt__worst_create(const vkt__session *s, vkt_split split, vkt__worst **out);
/* A vkt__example_fn, whose user is a vkt__worst. */
void vkt__worst_take(void *user, uint64_t index, const float *out, const vkt_label *y,
                     const double *number);
/* Both files: index, where, target, predicted, p(predicted), p(target), picture, then a table's
 * cells. The errors are those of largest loss; doubtful labels, of classes
 * alone, are the 10,000 surest.
 * *doubts: as vkt__label_doubts; n_examples 0: of no classes. IO, OOM_HOST. */
vkt_status vkt__worst_write(vkt__worst *w, const char *run_dir, vkt__doubts *doubts);
void vkt__worst_destroy(vkt__worst **w);

#endif
