/* Reverse-mode differentiation: walk the nodes backwards, let each row put its gradient ops into
 * the graph, add up where a tensor was used more than once. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/rewrite.h"

static void mark_needs(vkt_graph *g)
{
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *node = g->nodes[k];
        if (!node->op->grad) continue;
        bool any = false;
        for (uint32_t i = 0; i < node->op->n_in; i++)
            any = any || (node->in[i] && vkt__needs(node->in[i]));
        for (uint32_t i = 0; i < node->op->n_out && any; i++)
            if (node->out[i]) node->out[i]->needs = true;
    }
}

/* Gradients belong to memory, not to views of it. grads[] goes by the index of tensors made before
 * differentiation. */
static void accumulate(vkt_graph *g, vkt_tensor **grads, vkt_tensor *t, vkt_tensor *d)
{
    t = vkt__root(t);
    if (!vkt__is_ones(d) && !vkt__shape_equal(d->shape, t->shape)) d = vkt_reshape(g, d, t->shape);
    vkt_tensor **sum = &grads[t->index];
    *sum = *sum ? vkt_add(g, vkt__real(g, *sum, t), vkt__real(g, d, t)) : d;
}

/* What the gradient of the loss with respect to itself is: 1, or the loss scale. */
static vkt_tensor *seed(vkt_graph *g, const vkt_tensor *loss)
{
    vkt_tensor *s = g->loss_scale;
    if (!s) return g->ones;
    return vkt__shape_equal(loss->shape, s->shape) ? s
                                                   : vkt_mul(g, vkt_fill(g, loss->shape, 1.0f), s);
}

/* A gradient in memory of its own, so that it can be bound. taken: by tensor index. */
static vkt_tensor *own(vkt_graph *g, vkt_tensor *d, bool *taken)
{
    if (d->view_of || !d->node || d->bound || taken[d->index]) return vkt_copy(g, d);
    taken[d->index] = true;
    return d;
}

void vkt_backward(vkt_graph *g, vkt_tensor *loss, vkt_tensor *const *wrt, size_t n,
                  vkt_tensor **dwrt)
{
    for (size_t i = 0; i < n; i++) dwrt[i] = g->inert;
    if (g->status != VKT_OK || loss->inert) return;
    VKT_ASSERT(!g->differentiated);
    g->differentiated = true;
    for (size_t i = 0; i < n; i++) vkt__root(wrt[i])->needs = true;
    vkt__rewrite(g, true);
    mark_needs(g);
    size_t n_before = g->n_tensors, n_nodes = g->n_nodes; /* the seed may add to both */
    vkt_tensor **grads = vkt__alloc(n_before * sizeof *grads);
    accumulate(g, grads, loss, seed(g, loss));
    for (size_t k = n_nodes; k-- > 0;) {
        vkt_node *node = g->nodes[k];
        vkt_tensor *dy[VKT_MAX_OUT] = { 0 }, *dx[VKT_MAX_IN] = { 0 };
        bool any = false, needed = false;
        for (uint32_t i = 0; i < node->op->n_out; i++) {
            if (!node->out[i]) continue;
            dy[i] = grads[node->out[i]->index];
            any = any || dy[i];
            needed = needed || node->out[i]->needs;
        }
        if (!any || !needed || !node->op->grad) continue;
        node->op->grad(g, node, dy, dx);
        for (uint32_t i = 0; i < node->op->n_in; i++)
            if (dx[i] && !dx[i]->inert) accumulate(g, grads, node->in[i], dx[i]);
    }
    bool *taken = vkt__alloc(g->n_tensors * sizeof *taken);
    for (size_t i = 0; i < n; i++) {
        vkt_tensor *d = grads[vkt__root(wrt[i])->index];
        if (!d || vkt__is_ones(d))
            dwrt[i] = vkt_fill(g, wrt[i]->shape, d ? 1.0f : 0.0f);
        else
            dwrt[i] = own(g, d, taken);
    }
    free(taken);
    free(grads);
}
