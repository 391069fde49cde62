/* uses.h: for each tensor the nodes in order, as they were when it was made, and a list of what was
 * changed since. */
#include "tensor/graph/uses.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/ranges.h"
#include "tensor/graph/view.h"

enum { KINDS = 2 }; /* bits of VKT__READS, VKT__WRITES */

typedef struct {
    size_t *start; /* by tensor index; of tensor t: list[start[t]..start[t + 1]] */
    vkt_node **list;
    uint32_t *newest; /* by tensor index: 1 + place in `later` */
} kind;

struct vkt__uses {
    size_t n_tensors; /* that `start` knows */
    size_t cap_tensors;
    kind kinds[KINDS];
    struct later {
        vkt_node *n;
        uint32_t older;
    } * later;
    size_t n_later, cap_later;
    vkt__ranges bound;
};

/* Whether access number i of a node, inputs first, is of that kind: its root, or NULL. */
static const vkt_tensor *access_of(const vkt_node *n, uint32_t i, uint32_t k)
{
    if (i >= VKT_MAX_IN) return k ? vkt__root(n->out[i - VKT_MAX_IN]) : NULL;
    return n->in[i] && (!k || n->op->in[i] & VKT_CHANGED) ? vkt__root(n->in[i]) : NULL;
}

enum { ACCESSES = VKT_MAX_IN + VKT_MAX_OUT };

static uint64_t print_of(const vkt_node *n)
{
    uint64_t h = (uintptr_t)n->op;
    for (uint32_t i = 0; i < ACCESSES; i++) {
        const vkt_tensor *t = i < VKT_MAX_IN ? n->in[i] : n->out[i - VKT_MAX_IN];
        h = (h ^ (uintptr_t)vkt__root(t)) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return h;
}

static void make_kind(const vkt_graph *g, kind *x, uint32_t k)
{
    size_t nt = g->n_tensors;
    x->start = vkt__alloc((nt + 2) * sizeof *x->start);
    x->newest = vkt__alloc((nt + 1) * sizeof *x->newest);
    for (size_t i = 0; i < g->n_nodes; i++)
        for (uint32_t a = 0; a < ACCESSES && g->nodes[i]->op; a++) {
            const vkt_tensor *t = access_of(g->nodes[i], a, k);
            if (t) x->start[t->index + 2]++;
        }
    for (size_t i = 2; i < nt + 2; i++) x->start[i] += x->start[i - 1];
    x->list = vkt__alloc((x->start[nt + 1] + 1) * sizeof *x->list);
    for (size_t i = 0; i < g->n_nodes; i++)
        for (uint32_t a = 0; a < ACCESSES && g->nodes[i]->op; a++) {
            const vkt_tensor *t = access_of(g->nodes[i], a, k);
            if (t) x->list[x->start[t->index + 1]++] = g->nodes[i];
        }
}

static void add_place(const vkt_tensor *t)
{
    vkt__ranges_add(&t->g->uses->bound, t);
}

static struct vkt__uses *make(vkt_graph *g)
{
    struct vkt__uses *u = vkt__alloc(sizeof *u);
    u->n_tensors = u->cap_tensors = g->n_tensors;
    for (uint32_t k = 0; k < KINDS; k++) make_kind(g, &u->kinds[k], k);
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->bound) vkt__ranges_add(&u->bound, g->tensors[i]);
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op) g->nodes[i]->print = print_of(g->nodes[i]);
    g->work += g->n_nodes + g->n_tensors;
    g->new_node = vkt__uses_changed;
    g->new_place = add_place;
    return u;
}

/* Room for tensors that came later. */
static void make_room(const vkt_graph *g, struct vkt__uses *u)
{
    if (g->n_tensors <= u->cap_tensors) return;
    size_t cap = 2 * g->n_tensors;
    for (uint32_t k = 0; k < KINDS; k++) {
        uint32_t *newest = vkt__alloc(cap * sizeof *newest);
        memcpy(newest, u->kinds[k].newest, u->cap_tensors * sizeof *newest);
        free(u->kinds[k].newest);
        u->kinds[k].newest = newest;
    }
    u->cap_tensors = cap;
}

void vkt__uses_changed(vkt_node *n)
{
    struct vkt__uses *u = n->g->uses;
    if (!u) return;
    make_room(n->g, u);
    for (uint32_t k = 0; k < KINDS; k++)
        for (uint32_t a = 0; a < ACCESSES; a++) {
            const vkt_tensor *t = access_of(n, a, k);
            if (!t) continue;
            u->later = vkt__grow(u->later, u->n_later, &u->cap_later, sizeof *u->later);
            u->later[u->n_later++] = (struct later) { n, u->kinds[k].newest[t->index] };
            u->kinds[k].newest[t->index] = (uint32_t)u->n_later;
        }
    n->print = print_of(n);
}

void vkt__uses_forget(vkt_graph *g)
{
    struct vkt__uses *u = g->uses;
    if (!u) return;
    for (uint32_t k = 0; k < KINDS; k++) {
        free(u->kinds[k].start);
        free(u->kinds[k].list);
        free(u->kinds[k].newest);
    }
    free(u->later);
    vkt__ranges_finish(&u->bound);
    free(u);
    g->uses = NULL;
    g->new_node = NULL;
    g->new_place = NULL;
}

bool vkt__uses_are_right(const vkt_graph *g)
{
    for (size_t i = 0; i < g->n_nodes && g->uses; i++)
        if (g->nodes[i]->op && g->nodes[i]->print != print_of(g->nodes[i])) return false;
    return true;
}

/* ---- asking ---- */

typedef struct {
    struct vkt__uses *u;
    uint32_t kinds;
    size_t begin, end;
    bool (*fn)(vkt_node *n, void *arg);
    void *arg;
} asking;

/* Where the nodes from place `begin` on are in a list in order. */
static size_t first_from(vkt_node *const *list, size_t from, size_t to, size_t begin)
{
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (list[middle]->index < begin)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool ask(const vkt_tensor *t, void *arg)
{
    const asking *q = arg;
    const struct vkt__uses *u = q->u;
    for (uint32_t k = 0; k < KINDS; k++) {
        const kind *x = &u->kinds[k];
        if (!(q->kinds >> k & 1)) continue;
        size_t end = t->index < u->n_tensors ? x->start[t->index + 1] : 0,
               i = t->index < u->n_tensors ? first_from(x->list, x->start[t->index], end, q->begin)
                                           : 0;
        for (; i < end && x->list[i]->index < q->end; i++) {
            t->g->work++;
            if (q->fn(x->list[i], q->arg)) return true;
        }
        uint32_t l = t->index < u->cap_tensors ? x->newest[t->index] : 0;
        for (; l; l = u->later[l - 1].older) {
            vkt_node *n = u->later[l - 1].n;
            t->g->work++;
            if (n->index >= q->begin && n->index < q->end && q->fn(n, q->arg)) return true;
        }
    }
    return false;
}

bool vkt__each_use(const vkt_tensor *t, uint32_t kinds, size_t begin, size_t end,
                   bool (*fn)(vkt_node *n, void *arg), void *arg)
{
    t = vkt__root(t);
    if (!t->g->uses) t->g->uses = make(t->g);
    asking q = { t->g->uses, kinds, begin, end, fn, arg };
    return t->bound ? vkt__ranges_find(&t->g->uses->bound, t, ask, &q) : ask(t, &q);
}
