/* What a step of a history says by its fields: for those that count steps as they come, and those
 * that read them back. */
#ifndef VKT_RUNS_HISTORY_H
#define VKT_RUNS_HISTORY_H

#include "vktrain/runs.h"

/* vkt_history_step.overflow, by its other fields. */
bool vkt__is_overflow(const vkt_history_step *s);

#endif
