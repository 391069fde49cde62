/* What follows a batch norm into it: the sum with a residual, the activation, max pooling. Before
 * differentiation: the row's own gradient does the rest. */
#include "gpu/commands.h"
#include "tensor/graph/view.h"
#include "tensor/ops/norm/batch.h"
#include "tensor/ops/conv/ops_conv.h"
#include "tensor/passes/passes.h"

/* The node that makes the private tensor t, a batch norm without an activation, or NULL. */
static vkt_node *norm_of(const vkt_tensor *t)
{
    vkt_node *n = t && !t->view_of ? t->node : NULL;
    if (!n || n->op != &vkt__op_batch_norm || n->attr.batch.act != VKT_ACT_NONE) return NULL;
    return vkt__is_private(t) ? n : NULL;
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
    vkt__uses_changed(to);
    vkt__remove_tensor(y);
}

/* batch_norm, add -> batch_norm with a residual, in the add's place. */
static bool fuse_add(vkt_graph *g, vkt_node *add, bool training)
{
    (void)g;
    (void)training;
    if (add->op != &vkt__op_add || !vkt__shape_equal(add->in[0]->shape, add->in[1]->shape))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        vkt_node *norm = norm_of(add->in[i]);
        vkt_tensor *r = add->in[1 - i];
        if (!norm || norm->in[VKT__BN_R]) continue;
        bool same = true;
        for (uint32_t k = 0; k < VKT__BN_R; k++)
            same = same && vkt__unchanged(norm->in[k], norm->index + 1, add->index);
        if (!same) continue;
        move_norm(norm, add);
        add->in[VKT__BN_R] = r;
        vkt__uses_changed(add);
        return true;
    }
    return false;
}

/* batch_norm, activate -> batch_norm with the activation. What is before the activation is kept
 * where the gradient needs it. */
static bool fuse_act(vkt_graph *g, vkt_node *act, bool training)
{
    (void)g;
    vkt_node *norm = act->op == &vkt__op_act ? norm_of(act->in[0]) : NULL;
    if (!norm) return false;
    vkt_tensor *pre = norm->out[VKT__BN_Y];
    norm->attr.batch.act = act->attr.eltwise.act;
    norm->out[VKT__BN_Y] = act->out[0];
    norm->out[VKT__BN_Y]->node = norm;
    if (training && !vkt__act_from_output(norm->attr.batch.act)) {
        norm->out[VKT__BN_PRE] = pre;
        pre->out_index = VKT__BN_PRE;
    } else {
        vkt__remove_tensor(pre);
    }
    vkt__uses_changed(norm);
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
    (void)g;
    (void)training;
    if (pool->op != &vkt__op_max_pool) return false;
    vkt_tensor *y = pool->in[0];
    vkt_node *norm = y->view_of ? NULL : y->node;
    const vkt_attr *a = &pool->attr;
    if (!norm || norm->op != &vkt__op_batch_norm || norm->in[VKT__BN_R] || !vkt__is_private(y))
        return false;
    if (norm->attr.batch.act != VKT_ACT_NONE && norm->attr.batch.act != VKT_ACT_RELU) return false;
    if (a->pool.pad || a->pool.stride < VKT_MAX(a->pool.kh, a->pool.kw)) return false;
    if (a->pool.more_pad || a->pool.more_stride || a->pool.ceil || a->pool.more_after[0] ||
        a->pool.more_after[1])
        return false;
    norm->op = &vkt__op_batch_norm_pool;
    norm->attr.batch.pool_h = a->pool.kh;
    norm->attr.batch.pool_w = a->pool.kw;
    norm->attr.batch.pool_stride = a->pool.stride;
    for (uint32_t i = 0; i < 2; i++) {
        norm->out[i] = pool->out[i];
        norm->out[i]->node = norm;
    }
    vkt__uses_changed(norm);
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

/* ---- on GPUs: what merges chunks into what reads the result ---- */

/* Whether n's statistics are those of all its rows, by no host and no running average. */
static bool is_whole(const vkt_graph *g, const vkt_node *n, const vkt_tensor *x)
{
    return !g->sync && !n->attr.batch.fixed && vkt__batch_groups(n, vkt__rows_of(x->shape)) == 1;
}

/* Output `from` of the earlier node becomes output `to` of the later one. */
static void move_output(vkt_node *a, uint32_t from, vkt_node *b, uint32_t to)
{
    b->out[to] = a->out[from];
    b->out[to]->node = b;
    b->out[to]->out_index = to;
}

/* batch_finish, batch_norm -> batch_finish_norm. */
static bool join_finish(vkt_graph *g, vkt_node *norm)
{
    vkt_node *f = norm->op == &vkt__op_batch_norm ? norm->in[VKT__BN_MEAN]->node : NULL;
    if (!f || f->op != &vkt__op_batch_finish || norm->in[VKT__BN_RSTD] != f->out[1] ||
        !is_whole(g, norm, norm->in[VKT__BN_X]) || !vkt__can_move(f, norm))
        return false;
    norm->op = &vkt__op_batch_finish_norm;
    norm->attr.batch.momentum = f->attr.batch.momentum;
    norm->in[1] = f->in[0];
    norm->in[2] = f->in[1];
    for (uint32_t i = 0; i < 3; i++) norm->in[6 + i] = f->in[2 + i];
    move_output(f, 0, norm, 2);
    move_output(f, 1, norm, 3);
    vkt__uses_changed(norm);
    vkt__remove_node(f);
    return true;
}

/* batch_norm_total, batch_norm_bwd -> batch_total_bwd. */
static bool join_total(vkt_graph *g, vkt_node *bwd)
{
    vkt_node *t = bwd->op == &vkt__op_batch_norm_bwd && bwd->in[VKT__BNB_SUM_G]
                      ? bwd->in[VKT__BNB_SUM_G]->node
                      : NULL;
    if (!t || t->op != &vkt__op_batch_norm_total || bwd->in[VKT__BNB_SUM_GH] != t->out[1] ||
        !is_whole(g, bwd, bwd->in[VKT__BNB_X]) || !vkt__is_private(t->out[0]) ||
        !vkt__is_private(t->out[1]) || !vkt__can_move(t, bwd))
        return false;
    bwd->op = &vkt__op_batch_total_bwd;
    for (uint32_t i = 0; i < 2; i++) {
        bwd->in[VKT__BNB_SUM_G + i] = t->in[i];
        vkt__remove_tensor(t->out[i]);
        move_output(t, 2 + i, bwd, 1 + i);
    }
    vkt__uses_changed(bwd);
    vkt__remove_node(t);
    return true;
}

static bool join(vkt_graph *g, vkt_node *n, bool training)
{
    (void)training;
    return join_finish(g, n) || join_total(g, n);
}

/* Recomputation keeps what changes the running averages, and would keep the norm's result with it.
 */
static bool joins(const vkt_graph *g)
{
    return g->gpu && vkt_gpu_caps(g->gpu)->klass != VKT_GPU_CLASS_CPU && !g->recompute;
}

static uint32_t run_join(vkt_graph *g, bool training)
{
    return joins(g) ? vkt__each_node(g, training, join) : 0;
}

const vkt__pass vkt__pass_batch_join = { .name = "a batch norm's last sums into what reads them",
                                         .whole = true,
                                         .run = run_join };

/* conv2d, batch_stats, batch_finish_norm -> a conv2d that writes its tiles' statistics, and the
 * norm. */
static bool fuse_stats(vkt_graph *g, vkt_node *norm, bool training)
{
    enum { MOST_TILES = 4096 }; /* that every workgroup of the norm merges */
    (void)training;
    vkt_node *stats = norm->op == &vkt__op_batch_finish_norm ? norm->in[1]->node : NULL;
    if (!stats || stats->op != &vkt__op_batch_stats) return false;
    vkt_tensor *x = stats->in[0];
    vkt_node *conv = x->view_of ? NULL : x->node;
    if (!conv || conv->op != &vkt__op_conv2d || conv->attr.conv.act != VKT_ACT_NONE ||
        conv->in[2] || conv->attr.conv.stats || conv->attr.conv.groups != 1 || x->count == 0)
        return false;
    const vkt__conv_geometry q = vkt__conv_geometry_of(conv);
    uint32_t kernel = vkt__conv_choose(g->gpu, &q), rows = vkt__conv_stats_rows(kernel);
    if (!rows || vkt__rows_of(x->shape) / rows >= MOST_TILES || !vkt__is_private(stats->out[0]) ||
        !vkt__is_private(stats->out[1]))
        return false;
    for (uint32_t i = 0; i < 2; i++) vkt__remove_tensor(stats->out[i]);
    vkt__remove_node(stats);
    vkt__conv_add_stats(conv, kernel, rows);
    norm->in[1] = conv->out[2];
    norm->in[2] = conv->out[3];
    norm->attr.batch.chunk = rows;
    vkt__uses_changed(conv);
    vkt__uses_changed(norm);
    return true;
}

static uint32_t run_stats(vkt_graph *g, bool training)
{
    return joins(g) ? vkt__each_node(g, training, fuse_stats) : 0;
}

const vkt__pass vkt__pass_conv_stats = { .name = "a batch norm's statistics into the convolution",
                                         .whole = true,
                                         .run = run_stats };
