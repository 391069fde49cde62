/* Nodes that run just before their result is read (at_use). */
#ifndef VKT_TENSOR_UNPACKS_H
#define VKT_TENSOR_UNPACKS_H

#include "tensor/graph/op.h"

/* Puts each before its first reader, once for the forward pass and once for the backward pass, so
 * that between the two the result needs no memory; leaves out those that nothing reads. */
void vkt__place_unpacks(vkt_graph *g);
/* When levels are known: moves them to the level before that of their first reader. */
void vkt__delay_unpacks(vkt_graph *g);

#endif
