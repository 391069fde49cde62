/* What follows a batch norm into it: the sum with a residual, the activation, max pooling. Before
 * differentiation: the row's own gradient does the rest. */
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

/* The node that makes the private tensor t, a batch norm without an activation, or NULL. */
static vkt_node *norm_of(const vkt_graph *g, const vkt_tensor *t)
{
    vkt_node *n = t && !t->view_of ? t->node : NULL;
    if (!n || n->op != &vkt__op_batch_norm || n->attr.batch.act != VKT_ACT_NONE) return NULL;
    return vkt__is_private(g, t) ? n : NULL;
}

/* The norm takes the place of the later node, and its result. */
static void move_norm(vkt_node *norm, vkt_node *to)
{
    vkt_tensor *y = norm->out[0], *out = to->out[0];
    to->op = norm->op;
    to->attr = norm->attr;
    memcpy(to->in, norm->in, sizeof to->in);
    to->out[0] = out;
    vkt__remove_node(norm);
    vkt__remove_tensor(y);
}

/* batch_norm, add -> batch_norm with a residual, in the add's place. */
static bool fuse_add(vkt_graph *g, vkt_node *add, bool training)
{
    (void)training;
    if (add->op != &vkt__op_add || !vkt__shape_equal(add->in[0]->shape, add->in[1]->shape))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        vkt_node *norm = norm_of(g, add->in[i]);
        vkt_tensor *r = add->in[1 - i];
        if (!norm || norm->in[5]) continue;
        bool same = true;
        for (uint32_t k = 0; k < 5; k++)
            same = same && vkt__unchanged(g, norm->in[k], norm->index + 1, add->index);
        if (!same) continue;
        move_norm(norm, add);
        add->in[5] = r;
        return true;
    }
    return false;
}

/* batch_norm, activate -> batch_norm with the activation. What is before the activation is kept
 * where the gradient needs it. */
static bool fuse_act(vkt_graph *g, vkt_node *act, bool training)
{
    vkt_node *norm = act->op == &vkt__op_act ? norm_of(g, act->in[0]) : NULL;
    if (!norm) return false;
    vkt_tensor *pre = norm->out[0];
    norm->attr.batch.act = act->attr.eltwise.act;
    norm->out[0] = act->out[0];
    norm->out[0]->node = norm;
    if (training && !vkt__act_from_output(norm->attr.batch.act)) {
        norm->out[1] = pre;
        pre->out_index = 1;
    } else {
        vkt__remove_tensor(pre);
    }
    vkt__remove_node(act);
    return true;
}

static uint32_t run(vkt_graph *g, bool training)
{
    uint32_t n = vkt__each_node(g, training, fuse_add);
    return n + vkt__each_node(g, training, fuse_act);
}

const vkt__pass vkt__pass_batch_norm = { .name = "residual sum and activation into the batch norm",
                                         .run = run };

/* batch_norm, max_pool -> batch_norm_pool: where windows neither overlap nor reach outside, of an
 * activation whose gradient the place in the window can tell. */
static bool fuse_pool(vkt_graph *g, vkt_node *pool, bool training)
{
    (void)training;
    if (pool->op != &vkt__op_max_pool) return false;
    vkt_tensor *y = pool->in[0];
    vkt_node *norm = y->view_of ? NULL : y->node;
    const vkt_attr *a = &pool->attr;
    if (!norm || norm->op != &vkt__op_batch_norm || norm->in[5] || !vkt__is_private(g, y))
        return false;
    if (norm->attr.batch.act != VKT_ACT_NONE && norm->attr.batch.act != VKT_ACT_RELU) return false;
    if (a->pool.pad || a->pool.stride < VKT_MAX(a->pool.kh, a->pool.kw)) return false;
    norm->op = &vkt__op_batch_norm_pool;
    norm->attr.batch.pool_h = a->pool.kh;
    norm->attr.batch.pool_w = a->pool.kw;
    norm->attr.batch.pool_stride = a->pool.stride;
    for (uint32_t i = 0; i < 2; i++) {
        norm->out[i] = pool->out[i];
        norm->out[i]->node = norm;
    }
    vkt__remove_tensor(y);
    vkt__remove_node(pool);
    return true;
}

static uint32_t run_pool(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse_pool);
}

const vkt__pass vkt__pass_batch_pool = { .name = "max pooling into the batch norm before it",
                                         .run = run_pool };
