/* Places in the slab. */
#ifndef VKT_TENSOR_OFFSETS_H
#define VKT_TENSOR_OFFSETS_H

#include "tensor/graph/op.h"

/* Offsets of all planned tensors, whose lifetimes and lower bound are known, and slab_bytes.
 * OOM_DEVICE if one is larger than the device allocates. */
vkt_status vkt__assign_offsets(vkt_graph *g);

#endif
