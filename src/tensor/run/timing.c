/* How long each node of a compiled graph takes: a second recording with a timestamp and a barrier
 * around every node, run several times. Nodes that overlap in the real recording are timed one
 * after the other here. */
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

vkt_status vkt_graph_time(vkt_graph *g, uint32_t slot, uint32_t runs, vkt_node_time **out,
                          size_t *n_out)
{
    vkt_status st = VKT_OK;
    vkt__rec rec = { g->gpu, vkt_gpu_caps(g->gpu), NULL, slot, VKT_OK };
    size_t n = g->n_nodes, k = 0;
    double *ms = vkt__alloc((n + 1) * sizeof *ms), *all = vkt__alloc((n + 1) * runs * sizeof *all);
    const vkt_node **order = vkt__alloc((n + 1) * sizeof *order);
    vkt_node_time *t = vkt__alloc((n + 1) * sizeof *t);
    *out = NULL;
    VKT_ASSERT(g->planned && slot < g->n_slots && runs > 0);
    VKT_TRY(vkt__cmd_create(g->gpu, "timing", (uint32_t)n + 1, &rec.cmd));
    vkt__cmd_timestamp(rec.cmd, 0);
    for (uint32_t l = 0; l < g->n_levels; l++)
        for (size_t i = 0; i < n; i++) {
            if (g->nodes[i]->level != l) continue;
            vkt__record_node(&rec, g->nodes[i]);
            vkt__cmd_barrier(rec.cmd);
            order[k++] = g->nodes[i];
            vkt__cmd_timestamp(rec.cmd, (uint32_t)k);
        }
    VKT_TRY(rec.status);
    VKT_TRY(vkt__cmd_end(rec.cmd));
    for (uint32_t r = 0; r < runs; r++) {
        uint64_t ticket = 0;
        VKT_TRY(vkt__submit(g->gpu, rec.cmd, &ticket));
        VKT_TRY(vkt_ticket_wait(g->gpu, ticket));
        VKT_TRY(vkt__cmd_times(g->gpu, rec.cmd, ms));
        for (size_t i = 0; i < n; i++) all[i * runs + r] = ms[i + 1] - ms[i];
    }
    double start = 0;
    for (size_t i = 0; i < n; i++) {
        double *v = all + i * runs;
        vkt_cost c = vkt__node_cost(order[i]);
        qsort(v, runs, sizeof *v, by_size);
        t[i] = (vkt_node_time) { .op = order[i]->op->name,
                                 .level = order[i]->level,
                                 .start_ms = start,
                                 .ms = v[runs / 2],
                                 .min_ms = v[0],
                                 .flops = c.flops,
                                 .bytes = c.bytes };
        const vkt_tensor *o = order[i]->out[0];
        if (o) vkt_shape_text(o->shape, o->dtype, t[i].result);
        start += t[i].ms;
    }
    *out = t;
    *n_out = n;
    t = NULL;
fail:
    vkt__cmd_destroy(g->gpu, &rec.cmd);
    free(ms);
    free(all);
    free(order);
    free(t);
    return st;
}
