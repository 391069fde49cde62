/* What the planner's files share: plan.c (levels, lifetimes), offsets.c (places in the slab),
 * recompute.c (activations computed twice). */
#ifndef VKT_TENSOR_PLAN_H
#define VKT_TENSOR_PLAN_H

#include "tensor/graph/op.h"

/* Whether two roots share memory: the same one, or ranges of one bound buffer. */
bool vkt__overlap(const vkt_tensor *a, const vkt_tensor *b);
/* Whether the planner gives it memory of its own. */
bool vkt__is_planned(const vkt_tensor *t);
/* Bytes it takes in the slab; with a guard behind it when reuse is off, for tests. */
uint64_t vkt__footprint(const vkt_graph *g, const vkt_tensor *t);
/* Levels, lifetimes, in-place memory and the lower bound of the slab, of the nodes as they are. */
void vkt__plan_lifetimes(vkt_graph *g);
/* Puts nodes that compute activations again before the backward nodes that read them, where that
 * lowers the bound. */
void vkt__recompute(vkt_graph *g);
/* Offsets of all planned tensors, whose lifetimes and lower bound are known, and slab_bytes.
 * OOM_DEVICE if one is larger than the device allocates. */
vkt_status vkt__assign_offsets(vkt_graph *g);

#endif
