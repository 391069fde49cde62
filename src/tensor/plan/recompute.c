/* Recomputation: activations that the backward pass needs are dropped after the forward pass and
 * computed again just before. The forward nodes are cut into segments; what crosses a cut is kept,
 * what lies within is recomputed from it, each segment once (Chen et al. 2016, arXiv 1604.06174).
 * The same ops on the same inputs: the same bits. How many segments is found by trying. */
#include "tensor/graph/cost.h"
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/pass.h"
#include "tensor/plan/levels.h"
#include "tensor/plan/recompute.h"

enum { MAX_SEGMENTS = 24 };

typedef struct {
    vkt_graph *g;
    size_t n_forward;
    /* by tensor index, of roots: the last forward and the first backward node that reads it */
    size_t *last_forward, *first_backward;
    bool *dupable;           /* by forward node: computing it again gives the same */
    uint64_t *cross, *saved; /* by place before a node: bytes read across it; bytes
                                that the backward pass reads, made before it */
    uint32_t *segment;       /* by forward node */
    bool *again;             /* by forward node */
    vkt_tensor **dup;        /* by tensor index: the recomputed one */
    size_t at[MAX_SEGMENTS]; /* the backward node before which a segment is recomputed */
    /* the graph without recomputation */
    vkt_node **plain;
    vkt_tensor *(*plain_in)[VKT_MAX_IN];
    size_t n_plain, n_tensors;
} state;

/* ---- survey ---- */

static bool is_copy(const vkt_node *n)
{
    return n->op == &vkt__op_copy; /* of a batch, out of slow memory */
}

/* A part of a tensor that other nodes write too. */
static bool writes_slice(const vkt_node *n)
{
    return n->out[0] && n->out[0]->view_of;
}

static void survey(state *s)
{
    vkt_graph *g = s->g;
    size_t last_use = 0;
    for (size_t k = 0; k < s->n_plain; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_tensor *t = vkt__root(g->nodes[k]->in[i]);
            if (!t || !t->node || t->node->index >= s->n_forward) continue;
            if (k < s->n_forward)
                s->last_forward[t->index] = k;
            else if (!s->first_backward[t->index])
                s->first_backward[t->index] = k;
            last_use = k;
        }
    for (size_t k = 0; k < s->n_forward; k++) {
        const vkt_node *n = g->nodes[k];
        s->dupable[k] = !is_copy(n) && !writes_slice(n);
        /* Nor one that reads what it changes itself, which is bound: running averages. */
        for (uint32_t i = 0; i < VKT_MAX_IN && s->dupable[k]; i++)
            if (n->in[i] && vkt__root(n->in[i])->bound)
                s->dupable[k] = vkt__unchanged(n->in[i], k, last_use);
        s->saved[k + 1] = s->saved[k];
        for (uint32_t o = 0; o < VKT_MAX_OUT; o++) {
            const vkt_tensor *t = n->out[o];
            if (!t || t->bound) continue;
            if (s->first_backward[t->index]) s->saved[k + 1] += t->bytes;
            size_t last = s->last_forward[t->index];
            if (last <= k) continue;
            s->cross[k + 1] += t->bytes;
            s->cross[last + 1] -= t->bytes;
        }
    }
    for (size_t p = 1; p <= s->n_forward; p++) s->cross[p] += s->cross[p - 1];
    vkt__uses_forget(g);
}

/* ---- segments ---- */

/* Cuts the forward nodes into n segments of about the same saved bytes, each cut where few bytes
 * cross. */
static void cut(state *s, uint32_t n)
{
    uint64_t total = s->saved[s->n_forward], near = total / (2 * n);
    size_t from = 0;
    for (uint32_t i = 1; i <= n; i++) {
        uint64_t target = total / n * i, best = UINT64_MAX;
        size_t to = i == n ? s->n_forward : from;
        for (size_t p = from + 1; p < s->n_forward && i < n; p++) {
            uint64_t off = s->saved[p] > target ? s->saved[p] - target : target - s->saved[p];
            if (off > near || s->cross[p] >= best) continue;
            best = s->cross[p];
            to = p;
        }
        for (size_t k = from; k < to; k++) s->segment[k] = i - 1;
        from = to;
    }
}

/* Whether t stays in memory from the forward pass on. */
static bool is_stored(const state *s, const vkt_tensor *t)
{
    size_t k = t->node->index;
    return t->kept || t->bound || !s->dupable[k] ||
           s->segment[s->last_forward[t->index]] > s->segment[k] ||
           s->segment[k] == s->segment[s->n_forward - 1];
}

static bool is_forward(const state *s, const vkt_tensor *t)
{
    return t && t->node && t->node->index < s->n_forward && s->plain[t->node->index] == t->node;
}

/* Which nodes run again, and where. */
static void choose(state *s)
{
    for (uint32_t i = 0; i < MAX_SEGMENTS; i++) s->at[i] = SIZE_MAX;
    for (size_t k = s->n_forward; k-- > 0;) {
        const vkt_node *n = s->plain[k];
        for (uint32_t o = 0; o < VKT_MAX_OUT; o++) {
            const vkt_tensor *t = n->out[o];
            if (!t || !s->first_backward[t->index] || is_stored(s, t)) continue;
            s->again[k] = true;
            s->at[s->segment[k]] = VKT_MIN(s->at[s->segment[k]], s->first_backward[t->index]);
        }
        for (uint32_t i = 0; i < VKT_MAX_IN && s->again[k]; i++) {
            const vkt_tensor *t = vkt__root(n->in[i]);
            if (is_forward(s, t) && !is_stored(s, t)) s->again[t->node->index] = true;
        }
    }
}

/* ---- rebuilding ---- */

/* What a node reads instead of t, if that is recomputed. */
static vkt_tensor *instead(state *s, vkt_tensor *t)
{
    const vkt_tensor *root = vkt__root(t);
    if (!t || root->index >= s->n_tensors || !s->dup[root->index]) return t;
    return vkt_reshape(s->g, s->dup[root->index], t->shape);
}

static vkt_node *duplicate(state *s, const vkt_node *n)
{
    vkt_node *d = vkt__arena_alloc(&s->g->arena, sizeof *d);
    d->op = n->op;
    d->g = s->g;
    d->attr = n->attr;
    d->backward = d->late = true;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) d->in[i] = instead(s, n->in[i]);
    for (uint32_t o = 0; o < VKT_MAX_OUT; o++) {
        const vkt_tensor *t = n->out[o];
        if (!t) continue;
        vkt_tensor *again = vkt__out(d, o, t->shape, t->dtype);
        if (!is_stored(s, t)) s->dup[t->index] = again;
    }
    return d;
}

/* The graph with n segments. */
static void apply(state *s, uint32_t n)
{
    vkt_graph *g = s->g;
    memset(s->again, 0, s->n_forward * sizeof *s->again);
    memset(s->dup, 0, s->n_tensors * sizeof(vkt_tensor *));
    cut(s, n);
    choose(s);
    g->nodes = vkt__alloc((s->n_plain + s->n_forward) * sizeof(vkt_node *));
    g->cap_nodes = s->n_plain + s->n_forward;
    g->n_nodes = 0;
    g->recomputed_ops = 0;
    for (size_t k = 0; k < s->n_plain; k++) {
        for (uint32_t i = 0; i < n && k >= s->n_forward; i++)
            for (size_t f = 0; f < s->n_forward && s->at[i] == k; f++) {
                if (!s->again[f] || s->segment[f] != i) continue;
                g->nodes[g->n_nodes++] = duplicate(s, s->plain[f]);
                g->recomputed_ops++;
            }
        vkt_node *b = s->plain[k];
        for (uint32_t i = 0; i < VKT_MAX_IN && k >= s->n_forward; i++)
            b->in[i] = instead(s, b->in[i]);
        g->nodes[g->n_nodes++] = b;
    }
    for (size_t k = s->n_forward; k < g->n_nodes; k++) g->nodes[k]->index = (uint32_t)k;
}

/* Back to the graph without recomputation. */
static void undo(state *s)
{
    vkt_graph *g = s->g;
    free(g->nodes);
    g->nodes = vkt__alloc((s->n_plain + 1) * sizeof(vkt_node *));
    g->cap_nodes = s->n_plain + 1;
    g->n_nodes = s->n_plain;
    memcpy(g->nodes, s->plain, s->n_plain * sizeof(vkt_node *));
    for (size_t k = 0; k < s->n_plain; k++) {
        memcpy(g->nodes[k]->in, s->plain_in[k], sizeof s->plain_in[k]);
        g->nodes[k]->index = (uint32_t)k;
    }
    g->n_tensors = s->n_tensors;
    g->recomputed_ops = 0;
}

void vkt__recompute(vkt_graph *g)
{
    size_t nt = g->n_tensors, nn = g->n_nodes;
    state s = { .g = g, .n_plain = nn, .n_tensors = nt };
    /* Passes at planning may have put nodes among the forward ones. */
    for (size_t k = 0; k < nn; k++)
        if (!g->nodes[k]->backward) s.n_forward = k + 1;
    for (size_t k = 0; k < s.n_forward; k++) g->nodes[k]->backward = false;
    vkt__plan_lifetimes(g);
    g->plain_bound = g->slab_bound;
    if (!g->differentiated || s.n_forward < 2 || s.n_forward == nn) return;
    s.last_forward = vkt__alloc(nt * sizeof *s.last_forward);
    s.first_backward = vkt__alloc(nt * sizeof *s.first_backward);
    s.dup = vkt__alloc(nt * sizeof(vkt_tensor *));
    s.dupable = vkt__alloc(s.n_forward * sizeof *s.dupable);
    s.again = vkt__alloc(s.n_forward * sizeof *s.again);
    s.segment = vkt__alloc(s.n_forward * sizeof *s.segment);
    s.cross = vkt__alloc((s.n_forward + 1) * sizeof *s.cross);
    s.saved = vkt__alloc((s.n_forward + 1) * sizeof *s.saved);
    s.plain = vkt__alloc(nn * sizeof(vkt_node *));
    s.plain_in = vkt__alloc(nn * sizeof *s.plain_in);
    for (size_t k = 0; k < nn; k++) {
        s.plain[k] = g->nodes[k];
        memcpy(s.plain_in[k], g->nodes[k]->in, sizeof s.plain_in[k]);
    }
    survey(&s);
    uint64_t best = g->plain_bound - g->plain_bound / 50; /* less is not worth the work */
    uint32_t n_best = 0;
    for (uint32_t n = 2; n <= VKT_MIN(MAX_SEGMENTS, s.n_forward); n++) {
        free(g->nodes);
        apply(&s, n);
        vkt__plan_lifetimes(g);
        if (g->slab_bound < best) best = g->slab_bound, n_best = n;
        undo(&s);
    }
    if (n_best) {
        free(g->nodes);
        apply(&s, n_best);
    }
    free(s.last_forward), free(s.first_backward), free(s.dup), free(s.dupable);
    free(s.again), free(s.segment), free(s.cross), free(s.saved);
    free(s.plain), free(s.plain_in);
}

uint32_t vkt__recomputed_ops(const vkt_graph *g)
{
    return g->recomputed_ops;
}

void vkt__recompute_explain(const vkt_graph *g, vkt__str *s)
{
    if (!g->recompute) return;
    if (!g->recomputed_ops) {
        vkt__str_printf(s, "recompute: nothing to gain");
        return;
    }
    double flops = 0, all, bytes;
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->late) flops += vkt__node_cost(g->nodes[k]).flops;
    vkt_graph_cost(g, &all, &bytes);
    vkt__str_printf(s,
                    "recompute: %u ops of the forward pass run again, %.0f%% more arithmetic; "
                    "activations %.2f MiB instead of %.2f MiB",
                    g->recomputed_ops, 100 * flops / VKT_MAX(all - flops, 1),
                    (double)g->slab_bytes / 1048576, (double)g->plain_bound / 1048576);
}
