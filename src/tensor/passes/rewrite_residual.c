/* Sums into the matmul that makes one of their terms, whose epilogue then reads the other: residual
 * connections, and gradients of what several products read. So into gradients of norms and tables;
 * and into sums of a batch norm's gradient, which read both terms. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

/* Rows that can add another term to their first output: which input that is. bound: they may write
 * memory of the caller's earlier than it was, where nothing needs what was there. */
static const struct {
    const vkt_op *op;
    uint32_t r;
    bool bound;
} makers[] = { { &vkt__op_matmul, 4, false },
               { &vkt__op_matmul_act_bwd, 4, false },
               { &vkt__op_norm_bwd, 5, false },
               { &vkt__op_embedding_bwd, 3, true } };

/* 0: n is none of them. */
static uint32_t r_of(const vkt_node *n, bool bound)
{
    for (size_t i = 0; i < VKT_COUNT(makers); i++)
        if (n->op == makers[i].op) return !bound || makers[i].bound ? makers[i].r : 0;
    return 0;
}

/* Whether the nodes from `begin` to before `end` neither read nor write t's memory. */
static bool is_untouched(const vkt_tensor *t, size_t begin, size_t end)
{
    return vkt__is_unread(t, begin, end, NULL) && vkt__is_unwritten(t, begin, end);
}

/* The node that makes t, if it can write t + r, as `sum`, where it stands: nothing else reads t,
 * and r is known there. */
static vkt_node *maker_of(vkt_tensor *t, vkt_tensor *r, const vkt_tensor *sum, const vkt_node *add)
{
    const vkt_tensor *c = vkt__root(t);
    vkt_node *n = c->node;
    uint32_t at = n ? r_of(n, sum->bound) : 0;
    if (!at || n->in[at] || n->out[0] != c) return NULL;
    if (r->count != c->count || vkt__last(r->shape) != vkt__last(c->shape) ||
        vkt__last(sum->shape) != vkt__last(c->shape) || r->dtype != c->dtype)
        return NULL;
    if (sum->bound && !is_untouched(sum, n->index, add->index)) return NULL;
    return vkt__is_private(t) && vkt__unchanged(r, n->index, add->index) ? n : NULL;
}

/* Makes `sum`, of terms[0] and terms[1], the result of a node that makes one of them. The later of
 * two: its place has the other one. */
static bool move_sum(vkt_tensor *const terms[2], vkt_tensor *sum, const vkt_node *add)
{
    vkt_node *made[2];
    for (int i = 0; i < 2; i++) made[i] = maker_of(terms[i], terms[1 - i], sum, add);
    int later = made[1] && (!made[0] || made[1]->index > made[0]->index);
    vkt_node *n = made[later];
    if (!n) return false;
    vkt__remove_tensor(n->out[0]);
    n->in[r_of(n, false)] = terms[1 - later];
    n->out[0] = sum;
    sum->node = n;
    sum->out_index = 0;
    vkt__uses_changed(n);
    return true;
}

static bool fuse_add(vkt_node *add)
{
    if (add->op != &vkt__op_add || add->in[0]->count != add->in[1]->count ||
        !move_sum(add->in, add->out[0], add))
        return false;
    vkt__remove_node(add);
    return true;
}

/* The sum that a norm would write beside its result: it then reads one tensor instead of two and
 * writes one. The gradient, made before, reads the sum wherever it comes from. */
static bool fuse_norm(vkt_node *norm)
{
    if ((norm->op != &vkt__op_layernorm && norm->op != &vkt__op_rmsnorm) || !norm->in[3])
        return false;
    vkt_tensor *const terms[2] = { norm->in[0], norm->in[3] };
    if (!move_sum(terms, norm->out[1], norm)) return false;
    norm->in[0] = norm->out[1];
    norm->in[3] = norm->out[1] = NULL;
    vkt__uses_changed(norm);
    return true;
}

/* The sum of two gradients into the batch norm's sums that read it and multiply it by an
 * activation's slope: they keep that product, and nobody needs the sum. */
static bool fuse_sums(vkt_node *sums)
{
    if (sums->op != &vkt__op_batch_norm_sums || sums->in[5] || !sums->out[2]) return false;
    vkt_tensor *d = sums->in[0];
    vkt_node *add = d->view_of ? NULL : d->node;
    if (!add || add->op != &vkt__op_add || !vkt__is_private(d)) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (add->in[i]->count != d->count || add->in[i]->dtype != VKT_F32 ||
            !vkt__unchanged(add->in[i], add->index, sums->index))
            return false;
    sums->in[0] = add->in[0];
    sums->in[5] = add->in[1];
    vkt__uses_changed(sums);
    vkt__remove_tensor(d);
    vkt__remove_node(add);
    return true;
}

static bool fuse(vkt_graph *g, vkt_node *n, bool training)
{
    (void)g;
    (void)training;
    return fuse_add(n) || fuse_norm(n) || fuse_sums(n);
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_residual = { .name = "sum into what makes a term of it, or reads it",
                                       .whole = true,
                                       .run = run };
