/* Graph rewrites: fusions as small passes over the nodes, some before differentiation, some before
 * planning. */
#include "tensor/matmul.h"

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

/* matmul, activate -> matmul with the activation in its epilogue. The matmul's result becomes the
 * saved pre-activation where the gradient needs it. */
static bool fuse_activation(vkt_graph *g, vkt_node *act, bool training)
{
    vkt_tensor *x = act->in[0];
    vkt_node *mm = x && x->node && x->node->op == &vkt__op_matmul ? x->node : NULL;
    if (act->op != &vkt__op_act || !mm || mm->attr.matmul.act != VKT_ACT_NONE || mm->out[0] != x)
        return false;
    if (x->kept || x->bound || n_readers(g, x) != 1) return false;
    mm->attr.matmul.act = act->attr.eltwise.act;
    mm->out[0] = act->out[0];
    mm->out[0]->node = mm;
    mm->out[1] = training && !vkt__act_from_output(mm->attr.matmul.act) ? x : NULL;
    x->out_index = 1;
    if (!mm->out[1]) x->node = NULL, x->inert = true;
    return true;
}

/* Whether nodes from `begin` to before `end` leave t as it is. */
static bool unchanged(const vkt_graph *g, const vkt_tensor *t, size_t begin, size_t end)
{
    while (t->view_of) t = t->view_of;
    if (t->bound || (t->node && t->node->index >= begin)) return false;
    for (size_t k = begin; k < end; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            const vkt_tensor *x = g->nodes[k]->in[i];
            while (x && x->view_of) x = x->view_of;
            if (x == t && (g->nodes[k]->op->mutates >> i & 1)) return false;
        }
    return true;
}

/* matmul, activate_bwd -> matmul whose epilogue multiplies by the derivative: at the matmul's
 * place, where v must be known already. */
static bool fuse_activation_bwd(const vkt_graph *g, const vkt_node *act)
{
    vkt_tensor *x = act->in[0], *v = act->in[1];
    vkt_node *mm = x && x->node && x->node->op == &vkt__op_matmul ? x->node : NULL;
    if (act->op != &vkt__op_act_bwd || !mm || mm->attr.matmul.act != VKT_ACT_NONE || mm->in[2])
        return false;
    if (v->count != x->count || v->dtype != x->dtype || x->kept || x->bound ||
        n_readers(g, x) != 1 || !unchanged(g, v, mm->index, act->index))
        return false;
    mm->op = &vkt__op_matmul_act_bwd;
    mm->attr.matmul.act = act->attr.eltwise.act;
    mm->in[3] = v;
    mm->out[0] = act->out[0];
    mm->out[0]->node = mm;
    x->node = NULL;
    x->inert = true;
    return true;
}

/* Takes the nodes out that have no results any more. */
static void remove_nodes(vkt_graph *g, const bool *gone)
{
    size_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        if (gone[k]) continue;
        g->nodes[k]->index = (uint32_t)n;
        g->nodes[n++] = g->nodes[k];
    }
    g->n_nodes = n;
}

/* matmul -> matmul_parts, matmul_sum where the result is too small to give every core work. */
static void split_products(vkt_graph *g)
{
    size_t n = g->n_nodes, made = 0;
    vkt_node **nodes = g->gpu ? vkt__alloc(2 * n * sizeof *nodes) : NULL;
    for (size_t k = 0; k < n && g->gpu; k++) {
        vkt_node *mm = g->nodes[k];
        vkt_attr attr = mm->attr;
        bool is_matmul = mm->op == &vkt__op_matmul || mm->op == &vkt__op_matmul_act_bwd;
        attr.matmul.slices = is_matmul ? vkt__matmul_slices(g->gpu, mm) : 1;
        attr.matmul.act = VKT_ACT_NONE;
        attr.matmul.out = VKT_F32;
        if (attr.matmul.slices > 1) {
            vkt_node *parts = vkt__node(g, &vkt__op_matmul_parts, mm->in, 2, attr);
            nodes[made++] = parts;
            mm->op = &vkt__op_matmul_sum;
            mm->in[0] = parts->out[0];
            mm->in[1] = NULL;
            g->n_split++;
        }
        nodes[made++] = mm;
    }
    for (size_t k = 0; k < made; k++) {
        g->nodes[k] = nodes[k];
        nodes[k]->index = (uint32_t)k;
    }
    free(nodes);
}

void vkt__rewrite_whole(vkt_graph *g)
{
    if (g->no_rewrite) return;
    bool *gone = vkt__alloc(g->n_nodes * sizeof *gone);
    for (size_t k = 0; k < g->n_nodes; k++) {
        gone[k] = fuse_activation_bwd(g, g->nodes[k]);
        g->n_fused_act_bwd += gone[k];
    }
    remove_nodes(g, gone);
    free(gone);
    vkt__rewrite_precision(g);
    split_products(g);
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
