/* unpacks.h. Their inputs are the caller's memory, which nothing in a graph writes: they may run at
 * any time. A frozen weight unpacked for a layer's product then lives for two levels, and all
 * layers take turns in the same memory. */
#include "tensor/plan/unpacks.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/view.h"
#include "tensor/passes/pass.h"

static bool is_at_use(const vkt_node *n)
{
    return n->op->at_use && !n->out[0]->kept && !n->out[0]->bound;
}

/* What is read instead of each result, by its tensor's index: in the forward pass, in the backward
 * pass; NULL until then. */
typedef struct {
    vkt_tensor **turn[2];
    vkt_node **list;
    size_t n, cap, n_tensors;
} placing;

static void append(placing *p, vkt_node *n)
{
    p->list = vkt__grow(p->list, p->n, &p->cap, sizeof *p->list);
    n->index = (uint32_t)p->n;
    p->list[p->n++] = n;
}

/* n itself for its first turn, a copy for the second; appended. */
static vkt_tensor *take_turn(vkt_graph *g, placing *p, vkt_node *n, bool backward)
{
    vkt_tensor *t = n->out[0];
    if (p->turn[!backward][t->index]) {
        vkt_node *again = vkt__arena_alloc(&g->arena, sizeof *again);
        *again = (vkt_node) { .op = n->op, .g = g, .attr = n->attr };
        memcpy(again->in, n->in, sizeof again->in);
        t = vkt__out(again, 0, t->shape, t->dtype);
        n = again;
    }
    n->backward = backward;
    append(p, n);
    return t;
}

static void place_for(vkt_graph *g, placing *p, vkt_node *reader)
{
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
        vkt_tensor *t = reader->in[i], *root = t ? vkt__root(t) : NULL;
        if (!root || !root->node || root->index >= p->n_tensors || !is_at_use(root->node)) continue;
        vkt_tensor **turn = &p->turn[reader->backward][root->index];
        if (!*turn) *turn = take_turn(g, p, root->node, reader->backward);
        if (*turn != root) reader->in[i] = vkt_reshape(g, *turn, t->shape);
    }
}

void vkt__place_unpacks(vkt_graph *g)
{
    placing p = { .n_tensors = g->n_tensors };
    bool any = false;
    for (size_t k = 0; k < g->n_nodes; k++) any |= is_at_use(g->nodes[k]);
    if (!any) return;
    for (size_t i = 0; i < 2; i++) p.turn[i] = vkt__alloc(g->n_tensors * sizeof *p.turn[i]);
    size_t n = g->n_nodes;
    for (size_t k = 0; k < n; k++) {
        if (is_at_use(g->nodes[k])) continue;
        place_for(g, &p, g->nodes[k]);
        append(&p, g->nodes[k]);
    }
    for (size_t k = 0; k < n; k++) {
        vkt_tensor *t = is_at_use(g->nodes[k]) ? g->nodes[k]->out[0] : NULL;
        if (t && !p.turn[0][t->index] && !p.turn[1][t->index]) vkt__remove_tensor(t);
    }
    free(g->nodes);
    g->nodes = p.list;
    g->n_nodes = p.n;
    g->cap_nodes = p.cap;
    free(p.turn[0]);
    free(p.turn[1]);
}

void vkt__delay_unpacks(vkt_graph *g)
{
    uint32_t *first = NULL; /* 1 + the level of a root's first reader; 0: none */
    for (size_t k = 0; k < g->n_nodes && !first; k++)
        if (is_at_use(g->nodes[k])) first = vkt__alloc(g->n_tensors * sizeof *first);
    for (size_t k = 0; k < g->n_nodes && first; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_node *n = g->nodes[k];
            if (!n->in[i]) continue;
            uint32_t *at = &first[vkt__root(n->in[i])->index];
            if (!*at || *at > n->level + 1) *at = n->level + 1;
        }
    for (size_t k = 0; k < g->n_nodes && first; k++) {
        vkt_node *n = g->nodes[k];
        if (is_at_use(n) && first[n->out[0]->index]) n->level = first[n->out[0]->index] - 2;
    }
    free(first);
}
