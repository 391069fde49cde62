/* What nodes must compute and move. */
#ifndef VKT_TENSOR_COST_H
#define VKT_TENSOR_COST_H

#include "tensor/graph/op.h"

/* Bytes of every input read once and every output written once; of what is mutated, both. */
double vkt__node_bytes(const vkt_node *n);
/* By the row's cost function, or its default. */
vkt_cost vkt__node_cost(const vkt_node *n);
/* Before anything is measured: on a slow device of 40 GFLOP/s and 10 GB/s, with what a dispatch
 * costs in itself. */
double vkt__node_ms(const vkt_node *n);

#endif
