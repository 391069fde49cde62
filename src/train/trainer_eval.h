/* What the trainer does at step intervals. */
#ifndef VKT_TRAIN_TRAINER_EVAL_H
#define VKT_TRAIN_TRAINER_EVAL_H

#include "train/trainer_state.h"

/* Writes an evaluation into metrics and events. checkpoint, in the run's conclusion: the step of
 * the checkpoint that was evaluated; 0: the current weights were. */
void vkt__trainer_write_eval(vkt__trainer *t, const char *split, const vkt__eval_sums *e,
                             uint64_t checkpoint, vkt_status *st);
/* Evaluates, and saves a checkpoint unless the run has none. No step is in flight. */
vkt_status vkt__trainer_evaluate(vkt__trainer *t);
/* Links the run's `best` to this checkpoint (NULL: there is none) and removes the checkpoints that
 * are not to be kept. */
vkt_status vkt__trainer_sort_out(const vkt__trainer *t, const vkt__checkpoint_item *best);
/* A checkpoint of the step that is done; value: of the monitored metric, NAN: not evaluated. */
vkt_status vkt__trainer_save(vkt__trainer *t, double value);

#endif
