/* Mixed precision: what was done, and a way for tests to do more. */
#ifndef VKT_TENSOR_PRECISION_H
#define VKT_TENSOR_PRECISION_H

#include "tensor/graph/op.h"

/* Describes the requested precision and its effect, in one line. */
void vkt__precision_explain(const vkt_graph *g, vkt__str *s);
/* For self-tests: everything that rows can have in 16 bits gets them, inputs of the graph too;
 * returns how many tensors. */
size_t vkt__narrow_all(vkt_graph *g, vkt_dtype to);

#endif
