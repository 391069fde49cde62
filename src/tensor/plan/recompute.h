/* Activations that are recomputed instead of kept. */
#ifndef VKT_TENSOR_RECOMPUTE_H
#define VKT_TENSOR_RECOMPUTE_H

#include "tensor/graph/op.h"

/* Puts nodes that compute activations again before the backward nodes that read them, where that
 * lowers the bound. */
void vkt__recompute(vkt_graph *g);
/* How many ops of the forward pass are run again. */
uint32_t vkt__recomputed_ops(const vkt_graph *g);
/* Describes the effect and cost of recomputation, without a newline; writes nothing if it was not
 * requested. */
void vkt__recompute_explain(const vkt_graph *g, vkt__str *s);

#endif
