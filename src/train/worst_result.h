/* The evaluation that is a run's result, with the files of its errors. */
#ifndef VKT_TRAIN_WORST_RESULT_H
#define VKT_TRAIN_WORST_RESULT_H

#include "train/trainer_state.h"

/* The best checkpoint is on the device. IO, OOM_HOST, and what an evaluation returns. */
vkt_status vkt__trainer_list_errors(vkt__trainer *t, vkt_split split, vkt__eval_sums *e);

#endif
