/* What the trainer does at step intervals. */
#ifndef VKT_TRAIN_TRAINER_EVAL_H
#define VKT_TRAIN_TRAINER_EVAL_H

#include "train/trainer_state.h"

/* An evaluation into metrics and events. checkpoint: the step of the one that it is of, in the
 * run's conclusion; 0: of the weights as they are. */
void vkt__trainer_write_eval(vkt__trainer *t, const char *split, const vkt__eval_sums *e,
                             uint64_t checkpoint, vkt_status *st);
/* Evaluates, and saves a checkpoint unless the run has none. No step is in flight. */
vkt_status vkt__trainer_evaluate(vkt__trainer *t);
/* Of the run's checkpoints: `best` names the best one (NULL: there is none), and what is not to be
 * kept is gone. */
vkt_status vkt__trainer_sort_out(const vkt__trainer *t, const vkt__checkpoint_item *best);
/* A checkpoint of the step that is done; value: of the monitored metric, NAN: not evaluated. */
vkt_status vkt__trainer_save(vkt__trainer *t, double value);

#endif
