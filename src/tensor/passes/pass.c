/* What passes ask of the graph and do to its nodes. */
#include "tensor/graph/view.h"
#include "tensor/passes/pass.h"

uint32_t vkt__n_readers(const vkt_graph *g, const vkt_tensor *t)
{
    uint32_t n = 0;
    t = vkt__root(t);
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) n += vkt__root(g->nodes[k]->in[i]) == t;
    return n;
}

bool vkt__is_private(const vkt_graph *g, const vkt_tensor *t)
{
    t = vkt__root(t);
    return t->node && !t->kept && !t->bound && vkt__n_readers(g, t) == 1;
}

bool vkt__is_unread(const vkt_graph *g, const vkt_tensor *t, size_t begin, size_t end,
                    const vkt_node *but)
{
    t = vkt__root(t);
    for (size_t k = begin; k < end; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_node *n = g->nodes[k];
            if (n != but && n->in[i] && vkt__overlap(vkt__root(n->in[i]), t)) return false;
        }
    return true;
}

bool vkt__can_move(const vkt_graph *g, const vkt_node *n, const vkt_node *place)
{
    bool later = place->index > n->index;
    size_t begin = later ? n->index + 1 : place->index, end = later ? place->index + 1 : n->index;
    const vkt_node *but = later ? place : NULL;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
        if (!n->in[i]) continue;
        if (!vkt__unchanged(g, n->in[i], begin, later ? end - 1 : end)) return false;
        if (n->op->mutates >> i & 1 && !vkt__is_unread(g, n->in[i], begin, end, NULL)) return false;
    }
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) {
        const vkt_tensor *t = n->out[i];
        if (!t) continue;
        if (!vkt__is_unread(g, t, begin, end, but)) return false;
        for (size_t k = begin; k < end; k++)
            for (uint32_t o = 0; o < VKT_MAX_OUT + VKT_MAX_IN; o++) {
                const vkt_node *m = g->nodes[k];
                const vkt_tensor *w = o < VKT_MAX_OUT ? m->out[o] : m->in[o - VKT_MAX_OUT];
                bool writes = o < VKT_MAX_OUT || (m->op && m->op->mutates >> (o - VKT_MAX_OUT) & 1);
                if (w && writes && vkt__overlap(vkt__root(w), vkt__root(t))) return false;
            }
    }
    return true;
}

bool vkt__unchanged(const vkt_graph *g, const vkt_tensor *t, size_t begin, size_t end)
{
    t = vkt__root(t);
    if (t->node && t->node->index >= begin) return false;
    for (size_t k = begin; k < end; k++) {
        const vkt_node *n = g->nodes[k];
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (n->in[i] && n->op->mutates >> i & 1 && vkt__overlap(vkt__root(n->in[i]), t))
                return false;
        for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
            if (n->out[i] && vkt__overlap(n->out[i], t)) return false;
    }
    return true;
}

void vkt__remove_tensor(vkt_tensor *t)
{
    t->node = NULL;
    t->inert = true;
}

void vkt__remove_node(vkt_node *n)
{
    memset(n->in, 0, sizeof n->in);
    memset(n->out, 0, sizeof n->out);
    n->op = NULL;
}

uint32_t vkt__each_node(vkt_graph *g, bool training,
                        bool (*at)(vkt_graph *g, vkt_node *n, bool training))
{
    uint32_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->op) n += at(g, g->nodes[k], training);
    return n;
}
