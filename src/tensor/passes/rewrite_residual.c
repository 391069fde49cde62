/* Sums into the matmul that makes one of their terms, whose epilogue then reads the other: residual
 * connections, and gradients of what several products read. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

enum { R = 4 }; /* the matmul rows' input that is added */

/* The matmul that makes t, if it can write t + r, as `sum`, where it stands: nothing else reads t,
 * and r is known there. Memory of the caller's is not written earlier than it was. */
static vkt_node *matmul_of(const vkt_graph *g, vkt_tensor *t, vkt_tensor *r, const vkt_tensor *sum,
                           const vkt_node *add)
{
    const vkt_tensor *c = vkt__root(t);
    vkt_node *mm = c->node;
    if (!mm || (mm->op != &vkt__op_matmul && mm->op != &vkt__op_matmul_act_bwd) || mm->in[R] ||
        mm->out[0] != c || sum->bound)
        return NULL;
    if (r->count != c->count || vkt__last(r->shape) != vkt__last(c->shape) ||
        vkt__last(sum->shape) != vkt__last(c->shape) || r->dtype != c->dtype)
        return NULL;
    return vkt__is_private(g, t) && vkt__unchanged(g, r, mm->index, add->index) ? mm : NULL;
}

/* Makes `sum`, of terms[0] and terms[1], the result of a matmul that makes one of them. The later
 * of two: its place has the other one. */
static bool move_sum(vkt_graph *g, vkt_tensor *const terms[2], vkt_tensor *sum, const vkt_node *add)
{
    vkt_node *mm[2];
    for (int i = 0; i < 2; i++) mm[i] = matmul_of(g, terms[i], terms[1 - i], sum, add);
    int later = mm[1] && (!mm[0] || mm[1]->index > mm[0]->index);
    vkt_node *n = mm[later];
    if (!n) return false;
    vkt__remove_tensor(n->out[0]);
    n->in[R] = terms[1 - later];
    n->out[0] = sum;
    sum->node = n;
    sum->out_index = 0;
    return true;
}

static bool fuse_add(vkt_graph *g, vkt_node *add)
{
    if (add->op != &vkt__op_add || add->in[0]->count != add->in[1]->count ||
        !move_sum(g, add->in, add->out[0], add))
        return false;
    vkt__remove_node(add);
    return true;
}

/* The sum that a norm would write beside its result: it then reads one tensor instead of two and
 * writes one. The gradient, made before, reads the sum wherever it comes from. */
static bool fuse_norm(vkt_graph *g, vkt_node *norm)
{
    if ((norm->op != &vkt__op_layernorm && norm->op != &vkt__op_rmsnorm) || !norm->in[3])
        return false;
    vkt_tensor *const terms[2] = { norm->in[0], norm->in[3] };
    if (!move_sum(g, terms, norm->out[1], norm)) return false;
    norm->in[0] = norm->out[1];
    norm->in[3] = norm->out[1] = NULL;
    return true;
}

static bool fuse(vkt_graph *g, vkt_node *n, bool training)
{
    (void)training;
    return fuse_add(g, n) || fuse_norm(g, n);
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_residual = { .name = "sum into the matmul that makes a term of it",
                                       .whole = true,
                                       .run = run };
