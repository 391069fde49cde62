/* What graphs of general ops bring and the rows that read it can do themselves: a transposed factor
 * into the product's layout, an expanded operand into an op that broadcasts, a slice of what was
 * joined into a slice of the part, a factor of queries or keys into attention's. Before
 * differentiation, so that gradients gain, too. */
#include "tensor/graph/view.h"
#include "tensor/kernels/attention.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

/* The node that makes t, or what t is a view of. */
static vkt_node *maker(const vkt_tensor *t)
{
    return t ? vkt__root(t)->node : NULL;
}

/* Has n read `to` in place of input i, which was made by `by` from it; `by` goes where that was all
 * that read it. False: `to` is another one by now, or the gradient of what was made is asked for.
 */
static bool read_instead(vkt_node *n, uint32_t i, vkt_tensor *to, vkt_node *by)
{
    vkt_tensor *made = by->out[0];
    if (made->needs) return false;
    if (!vkt__unchanged(to, by->index, n->index)) return false;
    bool alone = vkt__is_private(made);
    n->in[i] = to;
    vkt__uses_changed(n);
    if (!alone) return true;
    vkt__remove_tensor(made);
    vkt__remove_node(by);
    return true;
}

/* ---- transposed factors ---- */

/* t with its last two dimensions the other way round, where it is a copy of such a tensor. */
static vkt_tensor *untransposed(vkt_graph *g, vkt_tensor *t)
{
    const vkt_node *n = maker(t);
    uint32_t r = t->shape.rank;
    if (!n || n->op != &vkt__op_permute || n->attr.permute.flips) return NULL;
    const vkt_tensor *whole = n->out[0];
    uint32_t all = whole->shape.rank;
    const uint32_t *order = n->attr.permute.order;
    if (r < 2 || all < 2 || order[all - 1] != all - 2 || order[all - 2] != all - 1) return NULL;
    for (uint32_t k = 0; k + 2 < all; k++)
        if (order[k] != k) return NULL;
    if (t->shape.d[r - 1] != whole->shape.d[all - 1] ||
        t->shape.d[r - 2] != whole->shape.d[all - 2])
        return NULL;
    if (t == whole) return n->in[0];
    vkt_shape s = t->shape;
    s.d[r - 1] = t->shape.d[r - 2];
    s.d[r - 2] = t->shape.d[r - 1];
    return vkt_reshape(g, n->in[0], s);
}

/* The layout in which a factor, 0 or 1, is the other way round; false: there is none. */
static bool turned(vkt_layout l, uint32_t factor, vkt_layout *out)
{
    if (factor == 0 && l == VKT_LAYOUT_NT) return false;
    *out = factor == 0 ? (l == VKT_LAYOUT_NN ? VKT_LAYOUT_TN : VKT_LAYOUT_NN)
                       : (l == VKT_LAYOUT_NN ? VKT_LAYOUT_NT : VKT_LAYOUT_NN);
    return factor == 0 || l != VKT_LAYOUT_TN;
}

static bool fold_transpose(vkt_graph *g, vkt_node *n, bool training)
{
    bool any = false;
    (void)training;
    for (uint32_t i = 2; n->op == &vkt__op_matmul && i-- > 0;) {
        vkt_tensor *t = n->in[i];
        vkt_layout to;
        vkt_node *by = maker(t);
        if (!n->attr.matmul.batched && t->shape.rank != 2) continue;
        if (n->attr.matmul.kernel || !turned(n->attr.matmul.layout, i, &to)) continue;
        vkt_tensor *from = untransposed(g, t);
        if (!from || !read_instead(n, i, from, by)) continue;
        n->attr.matmul.layout = to;
        any = true;
    }
    return any;
}

static uint32_t run_transpose(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fold_transpose);
}

const vkt__pass vkt__pass_transpose = { .name = "transposition into the product's layout",
                                        .run = run_transpose };

/* ---- expanded operands ---- */

/* Whether the other operands still broadcast to the result. */
static bool fold_expand(vkt_graph *g, vkt_node *n, bool training)
{
    bool any = false;
    (void)g;
    (void)training;
    if (n->op != &vkt__op_binary && n->op != &vkt__op_where) return false;
    for (uint32_t i = 0; i < n->op->n_in; i++) {
        vkt_node *by = n->in[i]->node;
        if (!by || by->op != &vkt__op_expand) continue;
        vkt_shape s = by->in[0]->shape;
        bool fits = true;
        for (uint32_t k = 0; k < n->op->n_in; k++)
            if (k != i) fits = fits && vkt__broadcast(s, n->in[k]->shape, &s);
        if (!fits || !vkt__shape_equal(s, n->out[0]->shape)) continue;
        any = read_instead(n, i, by->in[0], by) || any;
    }
    return any;
}

static uint32_t run_expand(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fold_expand);
}

const vkt__pass vkt__pass_expand = { .name = "expansion into the op that broadcasts",
                                     .run = run_expand };

/* ---- slices of what was joined ---- */

/* A slice that lies in one part. */
static bool fold_slice(vkt_graph *g, vkt_node *n, bool training)
{
    (void)g;
    (void)training;
    vkt_node *by = n->op == &vkt__op_slice ? n->in[0]->node : NULL;
    if (!by || by->op != &vkt__op_concat || !n->out[0]->count) return false;
    uint32_t axis = by->attr.along.axis;
    uint64_t begin = 0, first = n->attr.window.first[axis],
             last =
                 first + (n->out[0]->shape.d[axis] - 1ull) * VKT_MAX(n->attr.window.step[axis], 1);
    for (uint32_t i = 0; i < VKT_MAX_IN && by->in[i]; i++) {
        uint64_t end = begin + by->in[i]->shape.d[axis];
        if (first >= begin && last < end) {
            if (!read_instead(n, 0, by->in[i], by)) return false;
            n->attr.window.first[axis] = (uint32_t)(first - begin);
            return true;
        }
        begin = end;
    }
    return false;
}

static uint32_t run_slice(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fold_slice);
}

const vkt__pass vkt__pass_slice = { .name = "slice of joined tensors from the part it lies in",
                                    .run = run_slice };

/* ---- scaled queries and keys ---- */

/* Attention multiplies its scores by a number anyway. A factor 0 would mean its default there. */
static bool fold_scale(vkt_graph *g, vkt_node *n, bool training)
{
    bool any = false;
    (void)g;
    (void)training;
    if (n->op != &vkt__op_attention || !n->in[VKT__ATT_K] || !n->in[VKT__ATT_V]) return false;
    for (uint32_t i = VKT__ATT_Q; i <= VKT__ATT_K; i++) {
        vkt_node *by = n->in[i]->node;
        if (!by || by->op != &vkt__op_scale || by->attr.eltwise.s == 0) continue;
        float s = by->attr.eltwise.s;
        if (!read_instead(n, i, by->in[0], by)) continue;
        n->attr.attention.scale *= s;
        any = true;
    }
    return any;
}

static uint32_t run_scale(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fold_scale);
}

const vkt__pass vkt__pass_scale = { .name = "factor of queries or keys into attention's",
                                    .run = run_scale };
