/* What a batch size was measured for: another model or optimizer has other throughput. */
#ifndef VKT_TRAIN_BATCH_FOR_H
#define VKT_TRAIN_BATCH_FOR_H

#include "base/memory.h"
#include "vktrain/recipe.h"

/* train.batch_for of this optimizer, number of weights and batch size, "adamw/91784/64". */
const char *vkt__batch_for(vkt__arena *a, vkt_optim_rule rule, uint64_t n_weights, uint32_t batch);
/* Before the first step: says so where something else was measured. */
void vkt__batch_for_note(const vkt_config *c, uint64_t n_weights);

#endif
