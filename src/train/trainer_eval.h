/* What the trainer does at step intervals. */
#ifndef VKT_TRAIN_TRAINER_EVAL_H
#define VKT_TRAIN_TRAINER_EVAL_H

#include "train/trainer_state.h"

/* Writes an evaluation into metrics and events. checkpoint, in the run's conclusion: the step of
 * the checkpoint that was evaluated; 0: the current weights were. */
void vkt__trainer_write_eval(vkt__trainer *t, const char *split, const vkt__eval_sums *e,
                             uint64_t checkpoint, vkt_status *st);
/* The measure that selects, checkpoint.metric. */
double vkt__trainer_metric(const vkt__trainer *t, const vkt__eval_sums *e);
/* Evaluates, and saves a checkpoint unless the run has none. No step is in flight. */
vkt_status vkt__trainer_evaluate(vkt__trainer *t);
/* Begins a checkpoint of the step that is done, once the one before is written; value: of the
 * monitored metric, NAN: not evaluated. Steps may go on; t->host is the writer's. */
vkt_status vkt__trainer_save(vkt__trainer *t, double value);
/* Waits until the checkpoint that was begun is on disk. Where it failed, tells why, and the run's
 * best is the one before. */
vkt_status vkt__trainer_settle(vkt__trainer *t);

#endif
