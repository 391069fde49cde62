/* What a tensor holds in every run, where that can be told before one. */
#ifndef VKT_TENSOR_KNOWN_H
#define VKT_TENSOR_KNOWN_H

#include "tensor/graph/op.h"

/* The numbers of t, which the caller frees: those that vkt_known said, or computed from such by the
 * twins. NULL: they follow from what a run brings, or more than a mask of 4096 x 4096 would have to
 * be computed, or their gradient is asked for. */
double *vkt__known(const vkt_tensor *t);

#endif
