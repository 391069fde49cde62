/* A graph's plan, step by step: rewrites, what must be bound, recomputation, levels and lifetimes
 * (levels.c), places in the slab (offsets.c). */
#include "tensor/graph/view.h"
#include "tensor/kernels/matmul.h"
#include "tensor/passes/rewrite.h"
#include "tensor/plan/levels.h"
#include "tensor/plan/offsets.h"
#include "tensor/plan/recompute.h"
#include "tensor/plan/unpacks.h"

vkt_status vkt_graph_plan(vkt_graph *g, const vkt_plan_desc *desc)
{
    if (g->status != VKT_OK) return g->status;
    if (g->planned) return VKT_OK;
    if (g->gpu && vkt__matmul_check_held(vkt_gpu_caps(g->gpu)) != VKT_OK)
        return g->status = VKT_E_ARG;
    vkt__rewrite(g, false);
    vkt__rewrite_whole(g);
    vkt__place_unpacks(g);
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_tensor *t = g->nodes[k]->in[i] ? vkt__root(g->nodes[k]->in[i]) : NULL;
            if (t && !t->node && !t->bound)
                return g->status =
                           vkt__fail(VKT_E_ARG, "plan", "input %s of '%s' is not bound to memory",
                                     vkt__text(t), g->nodes[k]->op->name);
        }
    g->n_slots = desc->n_slots ? desc->n_slots : 1;
    VKT_ASSERT(g->n_slots <= VKT_MAX_SLOTS);
    g->no_reuse = desc->no_reuse;
    const vkt_caps *c = g->gpu ? vkt_gpu_caps(g->gpu) : NULL;
    uint64_t chunk = c ? VKT_MIN(c->max_alloc_bytes, c->max_buffer_bytes) : 1ull << 40;
    g->chunk_bytes = chunk / 256 * 256;
    if (g->recompute) vkt__recompute(g);
    vkt__plan_lifetimes(g);
    vkt_status st = vkt__assign_offsets(g);
    if (st != VKT_OK) return g->status = st;
    vkt__sort_by_level(g);
    g->planned = true;
    return VKT_OK;
}

uint64_t vkt_graph_bytes(const vkt_graph *g)
{
    return g->slab_bytes;
}

uint64_t vkt_graph_bytes_bound(const vkt_graph *g)
{
    return g->slab_bound;
}
