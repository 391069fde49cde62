/* When each tensor of a plan is alive. */
#ifndef VKT_TENSOR_LEVELS_H
#define VKT_TENSOR_LEVELS_H

#include "tensor/graph/op.h"

/* Whether the planner gives it memory of its own. */
bool vkt__is_planned(const vkt_tensor *t);
/* Bytes it takes in the slab; with a guard behind it when reuse is off, for tests. */
uint64_t vkt__footprint(const vkt_graph *g, const vkt_tensor *t);
/* Levels, lifetimes, in-place memory and the lower bound of the slab, for the current nodes. */
void vkt__plan_lifetimes(vkt_graph *g);
/* by_level and level_start, once the levels are final. */
void vkt__sort_by_level(vkt_graph *g);

#endif
