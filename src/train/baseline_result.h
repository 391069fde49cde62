/* The linear model beside a run's result. */
#ifndef VKT_TRAIN_BASELINE_RESULT_H
#define VKT_TRAIN_BASELINE_RESULT_H

#include "train/trainer_state.h"

/* Fits a baseline to the run's data and compares it with the network that is on the device, by the
 * measure that selects and on the split that does, and on the test split, into t->result and
 * t->record. Rank 0 only. Nothing is done where eval.baseline is none, the run's description says
 * so, or the data are a language model's. */
vkt_status vkt__trainer_baseline(vkt__trainer *t, vkt_split split);

#endif
