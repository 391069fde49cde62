/* Graph rewrites: running the passes of the table in rewrite.c, and what they did. */
#ifndef VKT_TENSOR_REWRITE_H
#define VKT_TENSOR_REWRITE_H

#include "tensor/passes/pass.h"

/* Small passes over the nodes, before differentiation or planning; each is equal to the plain
 * graph. */
void vkt__rewrite(vkt_graph *g, bool training);
/* Those that need the whole graph, gradients included: at planning. Before, those of them after
 * which operands have the types, and products the epilogues, that they run with: what the tuner
 * must see, on whose choice the rest depends. */
void vkt__rewrite_types(vkt_graph *g);
void vkt__rewrite_whole(vkt_graph *g);
/* What they did and what it saves, a line each. */
void vkt__rewrite_explain(const vkt_graph *g, vkt__str *s);
/* How often one pass did something. */
uint32_t vkt__rewrite_count(const vkt_graph *g, const vkt__pass *pass);

#endif
