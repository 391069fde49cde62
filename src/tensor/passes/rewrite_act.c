/* Activations into products: forward into the epilogue of the matmul or convolution before,
 * backward as a factor of the matmul that makes the gradient. */
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

/* The activation of a row that ends with one, or NULL. */
static vkt_act *act_of(vkt_node *n)
{
    return n->op == &vkt__op_matmul   ? &n->attr.matmul.act
           : n->op == &vkt__op_conv2d ? &n->attr.conv.act
                                      : NULL;
}

/* matmul, activate -> matmul with the activation in its epilogue; so with conv2d. The product's
 * result becomes the saved pre-activation where the gradient needs it. */
static bool fuse_act(vkt_graph *g, vkt_node *act, bool training)
{
    (void)g;
    vkt_tensor *x = act->in[0];
    vkt_node *n = act->op == &vkt__op_act && x ? x->node : NULL;
    vkt_act *end = n ? act_of(n) : NULL;
    if (!end || *end != VKT_ACT_NONE || n->out[0] != x || !vkt__is_private(x)) return false;
    *end = act->attr.eltwise.act;
    n->out[0] = act->out[0];
    n->out[0]->node = n;
    n->out[1] = training && !vkt__act_from_output(*end) ? x : NULL;
    x->out_index = 1;
    if (!n->out[1]) vkt__remove_tensor(x);
    vkt__uses_changed(n);
    vkt__remove_node(act);
    return true;
}

static uint32_t run_act(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse_act);
}

const vkt__pass vkt__pass_act = { .name = "activation into the product before it", .run = run_act };

/* matmul, activate_bwd -> matmul whose epilogue multiplies by the derivative: at the matmul's
 * place, where v must be known already. */
static bool fuse_act_bwd(vkt_graph *g, vkt_node *act, bool training)
{
    (void)g;
    (void)training;
    vkt_tensor *x = act->in[0], *v = act->in[1];
    vkt_node *mm = x && x->node && x->node->op == &vkt__op_matmul ? x->node : NULL;
    if (act->op != &vkt__op_act_bwd || !mm || mm->attr.matmul.act != VKT_ACT_NONE || mm->in[2])
        return false;
    if (v->count != x->count || v->dtype != x->dtype || !vkt__is_private(x) ||
        !vkt__unchanged(v, mm->index, act->index))
        return false;
    mm->op = &vkt__op_matmul_act_bwd;
    mm->attr.matmul.act = act->attr.eltwise.act;
    mm->in[3] = v;
    mm->out[0] = act->out[0];
    mm->out[0]->node = mm;
    vkt__uses_changed(mm);
    vkt__remove_tensor(x);
    vkt__remove_node(act);
    return true;
}

static uint32_t run_act_bwd(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse_act_bwd);
}

const vkt__pass vkt__pass_act_bwd = { .name = "activation's gradient into the matmul before it",
                                      .whole = true,
                                      .run = run_act_bwd };
