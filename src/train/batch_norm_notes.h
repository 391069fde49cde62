/* What batch norm takes mean and variance of, said before the first step. */
#ifndef VKT_TRAIN_BATCH_NORM_NOTES_H
#define VKT_TRAIN_BATCH_NORM_NOTES_H

#include "vktrain/recipe.h"

/* batch: examples of a micro-batch; own: those of this rank. Lines only where the layers have a
 * batch norm that is trained, and it is of less than a step's examples, or of few. */
void vkt__batch_norm_notes(const vkt_config *c, uint32_t batch, uint32_t own);

#endif
