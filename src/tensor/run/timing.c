/* How long each node of a compiled graph takes: a second recording with a timestamp and a barrier
 * around every node, run several times. Nodes that overlap in the real recording are timed one
 * after the other here. A submission holds only some nodes, or a part of one, so that no watchdog
 * stops it. */
#include <math.h>

#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What a submission runs: nodes first..last of the order, or one part of one. */
typedef struct piece {
    size_t first, last;
    uint32_t part, n_parts;
    double expected_ms;
    vkt__cmd *cmd;
} piece;

enum { MAX_PARTS = 64 };

static piece *cut(const vkt_graph *g, const vkt_node *const *order, size_t *n_out)
{
    double target = vkt_gpu_caps(g->gpu)->submit_ms, pace = vkt__graph_pace(g);
    piece *list = NULL, *last = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        double ms = pace * vkt__node_ms(order[i]), parts = target > 0 ? ceil(ms / target) : 3;
        uint32_t n_parts = (uint32_t)VKT_MAX(1, VKT_MIN(parts, MAX_PARTS));
        if (n_parts == 1 && last && last->n_parts == 1 && last->expected_ms + ms <= target) {
            last->last = i;
            last->expected_ms += ms;
            continue;
        }
        for (uint32_t p = 0; p < n_parts; p++) {
            list = vkt__grow(list, n, &cap, sizeof *list);
            last = &list[n++];
            *last = (piece) { i, i, p, n_parts, ms / n_parts, NULL };
        }
    }
    *n_out = n;
    return list;
}

static vkt_status record_piece(vkt_graph *g, uint32_t slot, const vkt_node *const *order, piece *p)
{
    vkt_status st = VKT_OK;
    vkt__rec rec = { .gpu = g->gpu,
                     .caps = vkt_gpu_caps(g->gpu),
                     .slot = slot,
                     .part = p->part,
                     .n_parts = p->n_parts };
    VKT_TRY(vkt__cmd_create(g->gpu, "timing", (uint32_t)(p->last - p->first) + 2, &p->cmd));
    rec.cmd = p->cmd;
    vkt__cmd_expect(rec.cmd, p->expected_ms);
    vkt__cmd_timestamp(rec.cmd, 0);
    for (size_t i = p->first; i <= p->last; i++) {
        vkt__record_node(&rec, order[i]);
        vkt__cmd_barrier(rec.cmd);
        vkt__cmd_timestamp(rec.cmd, (uint32_t)(i - p->first) + 1);
    }
    VKT_TRY(rec.status);
    VKT_TRY(vkt__cmd_end(rec.cmd));
fail:
    return st;
}

/* Adds each node's milliseconds to each[i * runs]. */
static vkt_status run_piece(vkt_graph *g, const piece *p, uint32_t runs, double *ms, double *each)
{
    vkt_status st = VKT_OK;
    uint64_t ticket = 0;
    VKT_TRY(vkt__submit(g->gpu, p->cmd, &ticket));
    VKT_TRY(vkt_ticket_wait(g->gpu, ticket));
    VKT_TRY(vkt__cmd_times(g->gpu, p->cmd, ms));
    for (size_t i = p->first; i <= p->last; i++)
        each[i * runs] += ms[i - p->first + 1] - ms[i - p->first];
fail:
    return st;
}

vkt_status vkt_graph_time(vkt_graph *g, uint32_t slot, uint32_t runs, vkt_node_time **out,
                          size_t *n_out)
{
    vkt_status st = VKT_OK;
    size_t n = g->n_nodes, n_pieces = 0;
    double *ms = vkt__alloc((n + 1) * sizeof *ms), *all = vkt__alloc((n + 1) * runs * sizeof *all);
    const vkt_node *const *order = (const vkt_node *const *)g->by_level;
    vkt_node_time *t = vkt__alloc((n + 1) * sizeof *t);
    piece *pieces = NULL;
    *out = NULL;
    VKT_ASSERT(g->planned && slot < g->n_slots && runs > 0);
    pieces = cut(g, order, &n_pieces);
    for (size_t i = 0; i < n_pieces; i++) VKT_TRY(record_piece(g, slot, order, &pieces[i]));
    for (uint32_t r = 0; r < runs; r++)
        for (size_t i = 0; i < n_pieces; i++) VKT_TRY(run_piece(g, &pieces[i], runs, ms, all + r));
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
    for (size_t i = 0; i < n_pieces; i++) vkt__cmd_destroy(g->gpu, &pieces[i].cmd);
    free(pieces);
    free(ms);
    free(all);
    free(t);
    return st;
}
