/* What nodes must compute and move, by their rows. */
#include <stdio.h>

#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"

double vkt__node_bytes(const vkt_node *n)
{
    double bytes = 0;
    for (uint32_t i = 0; i < n->op->n_in; i++)
        if (n->in[i]) bytes += (double)n->in[i]->bytes * (n->op->in[i] & VKT_CHANGED ? 2 : 1);
    for (uint32_t i = 0; i < n->op->n_out; i++)
        if (n->out[i]) bytes += (double)n->out[i]->bytes;
    return bytes;
}

vkt_cost vkt__node_cost(const vkt_node *n)
{
    if (n->op->cost) return n->op->cost(n);
    return (vkt_cost) { n->out[0] ? (double)n->out[0]->count : 0, vkt__node_bytes(n) };
}

void vkt_graph_cost(const vkt_graph *g, double *flops, double *bytes)
{
    *flops = *bytes = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_cost c = vkt__node_cost(g->nodes[k]);
        *flops += c.flops;
        *bytes += c.bytes;
    }
}

double vkt_graph_seconds(const vkt_graph *g, double flops_per_s, double bytes_per_s,
                         size_t *n_nodes)
{
    double seconds = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_cost c = vkt__node_cost(g->nodes[k]);
        seconds += VKT_MAX(c.flops / flops_per_s, c.bytes / bytes_per_s);
    }
    *n_nodes = g->n_nodes;
    return seconds;
}

double vkt__node_ms(const vkt_node *n)
{
    vkt_cost c = vkt__node_cost(n);
    return VKT_MAX(c.flops / 40e6, c.bytes / 10e6) + 0.01;
}
