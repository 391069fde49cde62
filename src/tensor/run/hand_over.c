/* Where a run's submissions must end, because the host has to do with what the device has made: to
 * take it while the device goes on (graph.h: vkt__graph_hand_over), or to change it before the next
 * level reads it (vkt__graph_sync). */
#include "tensor/graph/graph.h"
#include "tensor/graph/view.h"

uint32_t vkt__graph_hand_over(vkt_graph *g, const vkt_buffer *buf, uint64_t offset, uint64_t bytes)
{
    vkt__handed *list = vkt__arena_alloc(&g->arena, (g->n_handed + 1) * sizeof *list);
    if (g->n_handed) memcpy(list, g->handed, g->n_handed * sizeof *list);
    list[g->n_handed] = (vkt__handed) { .buf = buf, .offset = offset, .bytes = bytes };
    g->handed = list;
    return g->n_handed++;
}

uint64_t vkt__graph_handed(const vkt_graph *g, uint32_t i)
{
    return g->handed[i].ticket;
}

static bool lies_in(const vkt_tensor *t, const vkt__handed *h)
{
    t = t ? vkt__root(t) : NULL;
    if (!t || !t->bound) return false;
    for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
        if (t->buf[s] == h->buf && t->buf_offset[s] < h->offset + h->bytes &&
            h->offset < t->buf_offset[s] + t->bytes)
            return true;
    return false;
}

static bool writes(const vkt_node *n, const vkt__handed *h)
{
    for (uint32_t i = 0; i < n->op->n_out; i++)
        if (lies_in(n->out[i], h)) return true;
    for (uint32_t i = 0; i < n->op->n_in; i++)
        if ((n->op->in[i] & VKT_CHANGED) != 0 && lies_in(n->in[i], h)) return true;
    return false;
}

void vkt__graph_mark_ends(vkt_graph *g, bool (*syncs)(const vkt_node *n))
{
    if (!g->sync && !g->n_handed) return;
    g->level_ends = vkt__arena_alloc(&g->arena, (g->n_levels + 1) * sizeof *g->level_ends);
    g->level_syncs = vkt__arena_alloc(&g->arena, (g->n_levels + 1) * sizeof *g->level_syncs);
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (g->sync && syncs(n)) g->level_ends[n->level] = g->level_syncs[n->level] = true;
        for (uint32_t i = 0; i < g->n_handed; i++)
            if (writes(n, &g->handed[i]))
                g->handed[i].level = VKT_MAX(g->handed[i].level, n->level);
    }
    for (uint32_t i = 0; i < g->n_handed; i++) g->level_ends[g->handed[i].level] = true;
}

void vkt__graph_submitted(vkt_graph *g, uint32_t first, uint32_t last, uint64_t ticket)
{
    for (uint32_t i = 0; i < g->n_handed; i++)
        if (g->handed[i].level >= first && g->handed[i].level <= last) g->handed[i].ticket = ticket;
}
