/* Starting, resuming and ending a run. */
#ifndef VKT_TRAIN_TRAINER_RUN_H
#define VKT_TRAIN_TRAINER_RUN_H

#include "train/trainer_state.h"

/* The weights that a run begins with. */
vkt_status vkt__trainer_init(vkt__trainer *t);
/* Counts a step's norm, clip and skip. */
void vkt__trainer_count(vkt__trainer *t, const vkt_history_step *s);

/* The run folder and its files; the checkpoint of a resumed run, or the initial weights. */
vkt_status vkt__trainer_open_run(vkt__trainer *t);
/* The newest checkpoint into the model, the optimizer and the counters. */
vkt_status vkt__trainer_resume(vkt__trainer *t);
/* Norms, clips and skips of the steps before, from metrics.jsonl. */
vkt_status vkt__trainer_history(vkt__trainer *t, const char *run_dir);
/* The best checkpoint into the result; and its evaluation on the full validation set and the test
 * set. */
vkt_status vkt__trainer_find_best(vkt__trainer *t);
vkt_status vkt__trainer_conclude(vkt__trainer *t);
void vkt__trainer_fill_result(vkt__trainer *t);

#endif
