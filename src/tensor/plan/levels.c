/* Dependency levels from declared accesses, lifetimes, in-place memory, and the lower bound of the
 * slab. */
#include "tensor/graph/graph.h"
#include "tensor/graph/ranges.h"
#include "tensor/graph/view.h"
#include "tensor/plan/levels.h"
#include "tensor/plan/unpacks.h"

/* ---- levels ---- */

/* The last write and read of a piece of memory: a planned tensor, or a range of the caller's
 * buffer. */
typedef struct {
    uint32_t write, read; /* 1 + level; 0: never */
} access;

typedef struct {
    access *list;      /* by tensor index */
    vkt__ranges bound; /* bound roots: the only ones that can overlap others */
} accesses;

typedef struct {
    const accesses *a;
    bool write;
    uint32_t level;
} looking;

static bool look(const vkt_tensor *t, void *arg)
{
    looking *l = arg;
    const access *x = &l->a->list[t->index];
    l->level = VKT_MAX(l->level, x->write);
    if (l->write) l->level = VKT_MAX(l->level, x->read);
    t->g->work++;
    return false;
}

/* The level that an access has to come after, plus 1. */
static uint32_t conflict(const accesses *a, const vkt_tensor *t, bool write)
{
    looking l = { a, write, 0 };
    if (t->bound)
        vkt__ranges_find(&a->bound, t, look, &l);
    else
        look(t, &l);
    return l.level;
}

static bool writes_input(const vkt_node *n, uint32_t i)
{
    return (n->op->in[i] & VKT_CHANGED) != 0;
}

static void assign_levels(vkt_graph *g)
{
    accesses a = { .list = vkt__alloc(g->n_tensors * sizeof(access)) };
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->bound) vkt__ranges_add(&a.bound, g->tensors[i]);
    g->n_levels = 0;
    uint32_t after_backward = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        uint32_t level = n->late ? after_backward : 0;
        for (uint32_t i = 0; i < n->op->n_in; i++)
            if (n->in[i])
                level = VKT_MAX(level, conflict(&a, vkt__root(n->in[i]), writes_input(n, i)));
        for (uint32_t i = 0; i < n->op->n_out; i++)
            if (n->out[i]) level = VKT_MAX(level, conflict(&a, vkt__root(n->out[i]), true));
        n->level = level;
        if (n->backward && !n->late) after_backward = VKT_MAX(after_backward, level + 1);
        for (uint32_t i = 0; i < n->op->n_in; i++) {
            if (!n->in[i]) continue;
            access *x = &a.list[vkt__root(n->in[i])->index];
            x->read = VKT_MAX(x->read, level + 1);
            if (writes_input(n, i)) x->write = VKT_MAX(x->write, level + 1);
        }
        for (uint32_t i = 0; i < n->op->n_out; i++)
            if (n->out[i]) a.list[vkt__root(n->out[i])->index].write = level + 1;
        g->n_levels = VKT_MAX(g->n_levels, level + 1);
    }
    free(a.list);
    vkt__ranges_finish(&a.bound);
}

static void assign_lifetimes(vkt_graph *g)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        g->tensors[i]->first = UINT32_MAX;
        g->tensors[i]->last = 0;
        g->tensors[i]->home = g->tensors[i];
    }
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        for (uint32_t i = 0; i < VKT_MAX_IN + VKT_MAX_OUT; i++) {
            vkt_tensor *t = i < VKT_MAX_IN ? n->in[i] : n->out[i - VKT_MAX_IN];
            if (!t) continue;
            t = vkt__root(t);
            t->first = VKT_MIN(t->first, n->level);
            t->last = VKT_MAX(t->last, n->level);
        }
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->kept) vkt__root(g->tensors[i])->last = g->n_levels;
}

/* An output takes the memory of an input that dies at this node and that no other node of the level
 * reads. */
static void assign_inplace(vkt_graph *g)
{
    uint32_t *readers =
        vkt__alloc(g->n_tensors * sizeof *readers); /* of a root at its last level */
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            vkt_tensor *t = g->nodes[k]->in[i] ? vkt__root(g->nodes[k]->in[i]) : NULL;
            if (t && t->last == g->nodes[k]->level) readers[t->index]++;
        }
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        vkt_tensor *out = NULL;
        for (uint32_t i = 0; i < n->op->n_out; i++)
            if (n->op->out[i] & VKT_INPLACE) out = n->out[i];
        if (!out || out->bound || out->view_of) continue;
        for (uint32_t i = 0; i < n->op->n_in; i++) {
            if (!(n->op->in[i] & VKT_INPLACE) || !n->in[i]) continue;
            vkt_tensor *in = vkt__root(n->in[i]), *h = vkt__home(in);
            if (in->bound || !in->node || in->kept || in->bytes != out->bytes) continue;
            if (in->last != n->level || readers[in->index] != 1 || h->last != n->level) continue;
            out->home = h;
            h->last = VKT_MAX(h->last, out->last);
            break;
        }
    }
    free(readers);
}

bool vkt__is_planned(const vkt_tensor *t)
{
    return !t->bound && !t->view_of && t->home == t && t->node && t->bytes > 0;
}

uint64_t vkt__footprint(const vkt_graph *g, const vkt_tensor *t)
{
    return vkt__align(t->bytes, 256) + (g->no_reuse ? 256 : 0);
}

/* The largest sum of tensors alive at one level. */
static void bound_bytes(vkt_graph *g)
{
    int64_t *change = vkt__alloc((g->n_levels + 2) * sizeof *change), sum = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const vkt_tensor *t = g->tensors[i];
        if (!vkt__is_planned(t)) continue;
        change[t->first] += (int64_t)vkt__align(t->bytes, 256);
        change[t->last + 1] -= (int64_t)vkt__align(t->bytes, 256);
    }
    g->slab_bound = g->peak = 0;
    for (uint32_t l = 0; l <= g->n_levels; l++) {
        sum += change[l];
        if ((uint64_t)sum > g->slab_bound) g->slab_bound = (uint64_t)sum, g->peak = l;
    }
    free(change);
}

void vkt__plan_lifetimes(vkt_graph *g)
{
    assign_levels(g);
    vkt__delay_unpacks(g);
    assign_lifetimes(g);
    if (!g->no_reuse) assign_inplace(g);
    bound_bytes(g);
}

void vkt__sort_by_level(vkt_graph *g)
{
    g->by_level = vkt__arena_alloc(&g->arena, (g->n_nodes + 1) * sizeof *g->by_level);
    g->level_start = vkt__arena_alloc(&g->arena, (g->n_levels + 3) * sizeof *g->level_start);
    for (size_t k = 0; k < g->n_nodes; k++) g->level_start[g->nodes[k]->level + 2]++;
    for (uint32_t l = 2; l < g->n_levels + 2; l++) g->level_start[l] += g->level_start[l - 1];
    for (size_t k = 0; k < g->n_nodes; k++)
        g->by_level[g->level_start[g->nodes[k]->level + 1]++] = g->nodes[k];
}
