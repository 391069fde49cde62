/* Graph rewrites: fusions as small passes over the nodes, run once, before differentiation (or planning). */
#include "tensor/ops.h"

/* Nodes that read t, views included. */
static size_t n_readers(const vkt_graph *g, const vkt_tensor *t)
{
    size_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_tensor *x = g->nodes[k]->in[i];
            for (; x; x = x->view_of) n += x == t;
        }
    return n;
}

/* matmul, activate -> matmul with the activation in its epilogue. The matmul's result becomes the saved
 * pre-activation where the gradient needs it. */
static bool fuse_activation(vkt_graph *g, vkt_node *act, bool training)
{
    vkt_tensor *x = act->in[0];
    vkt_node *mm = x && x->node && x->node->op == &vkt__op_matmul ? x->node : NULL;
    if (act->op != &vkt__op_act || !mm || mm->attr.matmul.act != VKT_ACT_NONE || mm->out[0] != x) return false;
    if (x->kept || x->bound || n_readers(g, x) != 1) return false;
    mm->attr.matmul.act = act->attr.eltwise.act;
    mm->out[0] = act->out[0];
    mm->out[0]->node = mm;
    mm->out[1] = training && !vkt__act_from_output(mm->attr.matmul.act) ? x : NULL;
    x->out_index = 1;
    if (!mm->out[1]) x->node = NULL, x->inert = true;
    return true;
}

void vkt__rewrite(vkt_graph *g, bool training)
{
    if (g->rewritten) return;
    g->rewritten = true;
    if (g->no_rewrite) return;
    size_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        if (fuse_activation(g, g->nodes[k], training)) {
            g->n_fused_act++;
            continue;
        }
        g->nodes[k]->index = (uint32_t)n;
        g->nodes[n++] = g->nodes[k];
    }
    g->n_nodes = n;
}
