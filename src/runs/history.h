/* What follows from a step's fields: for the trainer, which counts steps, and for readers of a
 * history. */
#ifndef VKT_RUNS_HISTORY_H
#define VKT_RUNS_HISTORY_H

#include "vktrain/runs.h"

/* vkt_history_step.overflow, by its other fields. */
bool vkt__is_overflow(const vkt_history_step *s);

#endif
