/* What a tensor holds in every run, where that can be told before one. */
#ifndef VKT_TENSOR_KNOWN_H
#define VKT_TENSOR_KNOWN_H

#include "tensor/graph/op.h"

/* Three steps of a mask of 4096 x 4096. */
#define VKT__KNOWN_WORK (1u << 26)

/* The numbers of t, which the caller frees: those that vkt_known said, or computed from such by the
 * twins. NULL: they follow from what a run brings, or their gradient is asked for, or the twins
 * would compute more than `most` numbers or do more operations, those of all steps added up. */
double *vkt__known(const vkt_tensor *t, uint64_t most);

#endif
