/* A vector added to every row of a product, or to every pixel of a convolution, or to a layer
 * norm's rows, as its bias; rows of a table added to those of tokens as their positions. Before
 * differentiation, so that an activation behind it can follow, and the bias's gradient is summed
 * beside the weights'. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

enum { CONV_BIAS = 2, NORM_BIAS = 2, POSITIONS = 2, START, DOCS = 6 };

/* The operand for what is added to n's result, if its row has one and it is not taken; *shape is
 * the one that it must have. */
static vkt_tensor **bias_of(vkt_node *n, vkt_shape *shape)
{
    const vkt_attr *a = &n->attr;
    vkt_shape s = n->out[0]->shape;
    *shape = vkt_shape1(vkt__last(s));
    if (n->out[1]) return NULL;
    if (n->op == &vkt__op_layernorm) return n->in[NORM_BIAS] ? NULL : &n->in[NORM_BIAS];
    if (n->op == &vkt__op_embedding && s.rank > 1) {
        *shape = vkt_shape2(s.d[s.rank - 2], vkt__last(s));
        return n->in[POSITIONS] || n->in[START] || n->in[DOCS] ? NULL : &n->in[POSITIONS];
    }
    if (n->op == &vkt__op_matmul && !a->matmul.batched && a->matmul.layout != VKT_LAYOUT_TN &&
        a->matmul.act == VKT_ACT_NONE && !n->in[VKT__MM_IN_R])
        return n->in[VKT__MM_IN_BIAS] ? NULL : &n->in[VKT__MM_IN_BIAS];
    if (n->op == &vkt__op_conv2d && a->conv.act == VKT_ACT_NONE)
        return n->in[CONV_BIAS] ? NULL : &n->in[CONV_BIAS];
    return NULL;
}

static bool fuse(vkt_graph *g, vkt_node *add, bool training)
{
    (void)training;
    if (add->op != &vkt__op_add) return false;
    vkt_tensor *x = add->in[0], *b = add->in[1], *y = add->out[0], *product = vkt__root(x);
    vkt_node *n = product->node;
    vkt_shape shape;
    vkt_tensor **bias = n && product == n->out[0] ? bias_of(n, &shape) : NULL;
    if (!bias || b->count != vkt_shape_count(shape) || vkt__last(x->shape) != vkt__last(shape) ||
        x->count != product->count || product->dtype != VKT_F32 || y->dtype != VKT_F32 ||
        b->dtype != VKT_F32 || y->bound || product->needs || !vkt__is_private(product) ||
        !vkt__unchanged(b, n->index, add->index))
        return false;
    *bias = vkt_reshape(g, b, shape);
    if (vkt__shape_equal(y->shape, product->shape)) {
        n->out[0] = y;
        y->node = n;
        y->out_index = 0;
        vkt__remove_tensor(product);
    } else {
        vkt__make_view(y, product);
    }
    vkt__remove_node(add);
    vkt__uses_changed(n);
    return true;
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_bias = { .name = "vector added to rows into what makes them",
                                   .run = run };
