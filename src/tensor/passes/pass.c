/* What passes ask of the graph and do to its nodes. */
#include "tensor/graph/view.h"
#include "tensor/passes/pass.h"

/* ---- who uses what ---- */

typedef struct {
    const vkt_tensor *t; /* root */
    const vkt_node *but;
    uint32_t n, most;
    const vkt_node *seen[VKT__COUNTED];
    uint32_t n_seen;
} question;

static bool counts(vkt_node *n, void *arg)
{
    question *q = arg;
    for (uint32_t i = 0; i < q->n_seen; i++)
        if (q->seen[i] == n) return false;
    uint32_t before = q->n;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) q->n += vkt__root(n->in[i]) == q->t;
    if (q->n >= q->most) return true;
    if (q->n > before) q->seen[q->n_seen++] = n;
    return false;
}

uint32_t vkt__n_readers(const vkt_tensor *t, uint32_t most)
{
    question q = { .t = vkt__root(t), .most = most };
    VKT_ASSERT(most <= VKT__COUNTED);
    vkt__each_use(q.t, VKT__READS, 0, SIZE_MAX, counts, &q);
    return VKT_MIN(q.n, most);
}

bool vkt__is_private(const vkt_tensor *t)
{
    t = vkt__root(t);
    return t->node && !t->kept && !t->bound && vkt__n_readers(t, 2) == 1;
}

static bool reads(vkt_node *n, void *arg)
{
    const question *q = arg;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n != q->but && n->in[i] && vkt__overlap(vkt__root(n->in[i]), q->t)) return true;
    return false;
}

bool vkt__is_unread(const vkt_tensor *t, size_t begin, size_t end, const vkt_node *but)
{
    question q = { .t = vkt__root(t), .but = but };
    return !vkt__each_use(q.t, VKT__READS, begin, end, reads, &q);
}

static bool writes_mutated(const vkt_node *n, const vkt_tensor *t)
{
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && n->op->in[i] & VKT_CHANGED && vkt__overlap(vkt__root(n->in[i]), t))
            return true;
    return false;
}

static bool writes(vkt_node *n, void *arg)
{
    const question *q = arg;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i] && vkt__overlap(vkt__root(n->out[i]), q->t)) return true;
    return writes_mutated(n, q->t);
}

bool vkt__is_unwritten(const vkt_tensor *t, size_t begin, size_t end)
{
    question q = { .t = vkt__root(t) };
    return !vkt__each_use(q.t, VKT__WRITES, begin, end, writes, &q);
}

bool vkt__can_move(const vkt_node *n, const vkt_node *place)
{
    bool later = place->index > n->index;
    size_t begin = later ? n->index + 1 : place->index, end = later ? place->index + 1 : n->index;
    const vkt_node *but = later ? place : NULL;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
        if (!n->in[i]) continue;
        if (!vkt__unchanged(n->in[i], begin, later ? end - 1 : end)) return false;
        if (n->op->in[i] & VKT_CHANGED && !vkt__is_unread(n->in[i], begin, end, NULL)) return false;
    }
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i] && (!vkt__is_unread(n->out[i], begin, end, but) ||
                          !vkt__is_unwritten(n->out[i], begin, end)))
            return false;
    return true;
}

/* A part of it that is made is no change. */
static bool changes(vkt_node *n, void *arg)
{
    const question *q = arg;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i] && vkt__overlap(n->out[i], q->t)) return true;
    return writes_mutated(n, q->t);
}

bool vkt__unchanged(const vkt_tensor *t, size_t begin, size_t end)
{
    question q = { .t = vkt__root(t) };
    if (q.t->node && q.t->node->index >= begin) return false;
    return !vkt__each_use(q.t, VKT__WRITES, begin, end, changes, &q);
}

typedef struct {
    const vkt_tensor *t; /* root */
    vkt_node **list;
    size_t n, cap, most;
} readers;

static bool reads_it(vkt_node *n, void *arg)
{
    readers *r = arg;
    bool is = false;
    for (uint32_t i = 0; i < VKT_MAX_IN && n->op; i++)
        is = is || (n->in[i] && vkt__root(n->in[i]) == r->t);
    if (!is) return false;
    r->list = vkt__grow(r->list, r->n, &r->cap, sizeof *r->list);
    r->list[r->n++] = n;
    return r->n == r->most;
}

vkt_node *vkt__a_reader(const vkt_tensor *t)
{
    readers r = { .t = t, .most = 1 };
    vkt__each_use(t, VKT__READS, 0, SIZE_MAX, reads_it, &r);
    vkt_node *n = r.n ? r.list[0] : NULL;
    free(r.list);
    return n;
}

/* ---- changing nodes ---- */

void vkt__make_view(vkt_tensor *t, vkt_tensor *of)
{
    readers r = { .t = t };
    vkt__each_use(t, VKT__READS, 0, SIZE_MAX, reads_it, &r);
    t->node = NULL;
    t->out_index = 0;
    t->view_of = of;
    of->kept = of->kept || t->kept;
    of->needs = of->needs || t->needs;
    for (size_t i = 0; i < r.n; i++) vkt__uses_changed(r.list[i]);
    free(r.list);
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
    n->op = NULL; /* uses.h need not know: it reads and writes nothing that is looked for */
}

uint32_t vkt__each_node(vkt_graph *g, bool training,
                        bool (*at)(vkt_graph *g, vkt_node *n, bool training))
{
    uint32_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->op) n += at(g, g->nodes[k], training);
    return n;
}

/* ---- what nobody needs ---- */

void vkt__drop_maker(vkt_tensor *t)
{
    vkt_tensor *in[VKT_MAX_IN];
    t = vkt__root(t);
    vkt_node *n = t ? t->node : NULL;
    if (!n || !n->op || vkt__inputs_with(n->op, VKT_CHANGED)) return;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i] &&
            (n->out[i]->kept || n->out[i]->bound || n->out[i]->needs || vkt__a_reader(n->out[i])))
            return;
    memcpy(in, n->in, sizeof in);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i]) vkt__remove_tensor(n->out[i]);
    vkt__remove_node(n);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (in[i]) vkt__drop_maker(in[i]);
}

static bool is_needed(const vkt_node *n, const bool *read)
{
    bool needed = vkt__inputs_with(n->op, VKT_CHANGED) != 0;
    for (uint32_t i = 0; i < VKT_MAX_OUT && !needed; i++) {
        const vkt_tensor *t = n->out[i];
        needed = t && (t->kept || t->bound || read[t->index]);
    }
    return needed;
}

void vkt__drop_unread(vkt_graph *g, size_t first, vkt_tensor *const *results, size_t n_results)
{
    size_t n = first;
    bool *read = vkt__alloc((g->n_tensors + 1) * sizeof *read);
    VKT_ASSERT(!g->uses);
    for (size_t k = 0; k < n_results; k++) read[vkt__root(results[k])->index] = true;
    for (size_t k = g->n_nodes; k-- > first;) {
        vkt_node *node = g->nodes[k];
        bool needed = is_needed(node, read);
        for (uint32_t i = 0; i < VKT_MAX_IN && needed; i++)
            if (node->in[i]) read[vkt__root(node->in[i])->index] = true;
        for (uint32_t i = 0; i < VKT_MAX_OUT && !needed; i++)
            if (node->out[i]) vkt__remove_tensor(node->out[i]);
        if (!needed) vkt__remove_node(node);
    }
    for (size_t k = first; k < g->n_nodes; k++) {
        if (!g->nodes[k]->op) continue;
        g->nodes[k]->index = (uint32_t)n;
        g->nodes[n++] = g->nodes[k];
    }
    g->n_nodes = n;
    free(read);
}
