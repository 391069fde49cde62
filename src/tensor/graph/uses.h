/* Which nodes read and write which memory, looked up and not searched for among all nodes. Kept
 * while a pass rewrites the graph. */
#ifndef VKT_TENSOR_USES_H
#define VKT_TENSOR_USES_H

#include "tensor/graph/op.h"

enum { VKT__READS = 1, VKT__WRITES = 2 };

/* Calls fn for each node from place `begin` to before `end` that reads or writes t's memory, views
 * of it and what overlaps it included, in no order. It may come more than once, and so may nodes
 * that did so earlier: fn looks for itself. Stops when fn returns true, which it then returns, too.
 */
bool vkt__each_use(const vkt_tensor *t, uint32_t kinds, size_t begin, size_t end,
                   bool (*fn)(vkt_node *n, void *arg), void *arg);
/* For whoever changes what a node reads or writes: n reads and writes other memory now. New nodes,
 * and tensors that are bound, are known without it. */
void vkt__uses_changed(vkt_node *n);
/* For whoever moves nodes or replaces them: the next question looks everything up again. */
void vkt__uses_forget(vkt_graph *g);
/* Whether nothing was changed without a call of the above. */
bool vkt__uses_are_right(const vkt_graph *g);

#endif
