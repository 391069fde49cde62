/* The sum before a norm into the norm, which reads both terms and writes the sum beside its result.
 * Before differentiation: the gradient then adds the sum's own gradient in the same way. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

static bool reads(vkt_node *n, void *t)
{
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && vkt__root(n->in[i]) == t) return true;
    return false;
}

/* add, norm -> norm with a residual, in the add's place. The norm must be the sum's first reader:
 * then gradients are added up in the same order as without. */
static bool fuse(vkt_graph *g, vkt_node *norm, bool training)
{
    (void)g;
    (void)training;
    if ((norm->op != &vkt__op_layernorm && norm->op != &vkt__op_rmsnorm) || norm->in[3])
        return false;
    vkt_tensor *s = norm->in[0];
    vkt_node *add = s->node && s->node->op == &vkt__op_add ? s->node : NULL;
    if (!add || s->bound || !vkt__shape_equal(add->in[0]->shape, s->shape) ||
        !vkt__shape_equal(add->in[1]->shape, s->shape))
        return false;
    if (vkt__each_use(s, VKT__READS, add->index, norm->index, reads, s)) return false;
    for (uint32_t i = 1; i < 3; i++)
        if (norm->in[i] && !vkt__unchanged(norm->in[i], add->index, norm->index)) return false;
    vkt_tensor *residual = add->in[1];
    add->op = norm->op;
    add->attr = norm->attr;
    add->in[1] = norm->in[1];
    add->in[2] = norm->in[2];
    add->in[3] = residual;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) add->out[i] = norm->out[i];
    add->out[1] = s;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) {
        if (!add->out[i]) continue;
        add->out[i]->node = add;
        add->out[i]->out_index = i;
    }
    vkt__uses_changed(add);
    vkt__remove_node(norm);
    return true;
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_residual_norm = { .name = "residual sum into the norm after it",
                                            .run = run };
