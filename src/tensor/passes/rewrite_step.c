/* What makes a short step shorter: nodes so small that their dispatch costs more than their work
 * become part of a neighbour. Each leaves every sum in its order, and so every bit. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

/* ---- bias gradients ---- */

/* Whether `t`, written by node `from`, may be written by the later node `to` instead. */
static bool can_be_later(const vkt_tensor *t, size_t from, size_t to)
{
    return vkt__is_unread(t, from + 1, to + 1, NULL) && vkt__unchanged(t, from + 1, to + 1);
}

/* Which factor of a TN product d is: what sums of its columns are called, or 0. */
static uint32_t factor_of(const vkt_node *mm, vkt_tensor *d)
{
    for (uint32_t i = 0; i < 2; i++)
        if (vkt__root(mm->in[i]) == vkt__root(d) && vkt__shape_equal(mm->in[i]->shape, d->shape))
            return i == 0 ? VKT__SUMS_OF_A : VKT__SUMS_OF_B;
    return 0;
}

typedef struct {
    vkt_tensor *d;
    vkt_node *found;
} first_product;

static bool is_product(vkt_node *mm, void *arg)
{
    first_product *f = arg;
    if (mm->op == &vkt__op_matmul && mm->attr.matmul.layout == VKT_LAYOUT_TN &&
        !mm->attr.matmul.batched && !mm->in[2] && !mm->out[2] && factor_of(mm, f->d) &&
        f->d->dtype == VKT_F32 && (!f->found || mm->index < f->found->index))
        f->found = mm;
    return false;
}

/* sum_rows of d, matmul TN of d and x or of x and d -> that matmul with d's column sums beside it.
 */
static bool fuse_sum_rows(vkt_graph *g, vkt_node *sum, bool training)
{
    (void)g;
    (void)training;
    if (sum->op != &vkt__op_sum_rows || sum->out[0]->shape.rank != 1) return false;
    vkt_tensor *d = sum->in[0];
    first_product first = { d, NULL };
    vkt__each_use(d, VKT__READS, sum->index + 1, SIZE_MAX, is_product, &first);
    vkt_node *mm = first.found;
    if (!mm || !vkt__unchanged(d, sum->index, mm->index) ||
        !can_be_later(sum->out[0], sum->index, mm->index))
        return false;
    mm->attr.matmul.sums = factor_of(mm, d);
    mm->out[2] = sum->out[0];
    mm->out[2]->node = mm;
    mm->out[2]->out_index = 2;
    vkt__uses_changed(mm);
    vkt__remove_node(sum);
    return true;
}

static uint32_t run_sum_rows(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse_sum_rows);
}

const vkt__pass vkt__pass_sum_rows = { .name = "bias's gradient beside its matrix's",
                                       .whole = true,
                                       .run = run_sum_rows };

/* ---- the loss ---- */

/* softmax_xent, softmax_xent_bwd for a dloss of 1, or one that was there before the first ->
 * softmax_xent that writes both. */
static bool fuse_xent(vkt_graph *g, vkt_node *bwd, bool training)
{
    (void)g;
    (void)training;
    if (bwd->op != &vkt__op_softmax_xent_bwd) return false;
    vkt_node *f = bwd->in[VKT_XENT_IN_TOP]->node;
    vkt_tensor *dloss = bwd->in[VKT_XENT_IN_DLOSS];
    if (!f || f->op != &vkt__op_softmax_xent || f->attr.xent.slope || bwd->out[0]->bound ||
        (dloss && !vkt__unchanged(dloss, f->index, bwd->index)))
        return false;
    for (uint32_t i = 0; i < VKT_XENT_IN_DLOSS_NOW; i++)
        if (f->in[i] != bwd->in[i] || (f->in[i] && !vkt__unchanged(f->in[i], f->index, bwd->index)))
            return false;
    f->attr.xent.slope = true;
    f->in[VKT_XENT_IN_DLOSS_NOW] = dloss;
    f->out[VKT_XENT_OUT_DLOGITS] = bwd->out[0];
    bwd->out[0]->node = f;
    bwd->out[0]->out_index = VKT_XENT_OUT_DLOGITS;
    vkt__uses_changed(f);
    vkt__remove_node(bwd);
    return true;
}

static uint32_t run_xent(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse_xent);
}

const vkt__pass vkt__pass_xent = { .name = "loss and its gradient in one",
                                   .whole = true,
                                   .run = run_xent };

/* ---- the step's scalars ---- */

/* sum, optim_state -> optim_state that adds up itself: one sum of each of its first three inputs.
 */
static bool fuse_state(vkt_graph *g, vkt_node *state, bool training)
{
    (void)g;
    bool any = false;
    (void)training;
    if (state->op != &vkt__op_optim_state) return false;
    for (uint32_t i = 0; i < 3; i++) {
        vkt_tensor *total = state->in[i];
        vkt_node *sum =
            total && total->node && total->node->op == &vkt__op_sum ? total->node : NULL;
        if (!sum || (sum->attr.sum.square && i) || sum->in[0]->dtype != VKT_F32 ||
            sum->in[0]->count > sum->attr.sum.chunk || !vkt__is_private(total) ||
            !vkt__unchanged(sum->in[0], sum->index, state->index))
            continue;
        state->in[i] = sum->in[0];
        if (sum->attr.sum.square) state->attr.state.square = true;
        vkt__uses_changed(state);
        vkt__remove_tensor(total);
        vkt__remove_node(sum);
        any = true;
    }
    return any;
}

static uint32_t run_state(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse_state);
}

const vkt__pass vkt__pass_state = { .name = "last sums into the step's scalars",
                                    .whole = true,
                                    .run = run_state };
