/* A vector added to every row of a product, or to every pixel of a convolution, as its bias. Before
 * differentiation, so that an activation behind it can follow, and the bias's gradient is summed
 * beside the weights'. */
#include "tensor/graph/view.h"
#include "tensor/ops/matmul/ops_matmul.h"
#include "tensor/passes/passes.h"

/* The row's bias, if n is a row that has one, and adds none yet. */
static vkt_tensor **bias_of(vkt_node *n)
{
    const vkt_attr *a = &n->attr;
    if (n->out[1]) return NULL;
    if (n->op == &vkt__op_matmul && !a->matmul.batched && a->matmul.layout != VKT_LAYOUT_TN &&
        a->matmul.act == VKT_ACT_NONE && !n->in[VKT__MM_IN_R])
        return n->in[VKT__MM_IN_BIAS] ? NULL : &n->in[VKT__MM_IN_BIAS];
    if (n->op == &vkt__op_conv2d && a->conv.act == VKT_ACT_NONE) return n->in[2] ? NULL : &n->in[2];
    return NULL;
}

static bool fuse(vkt_graph *g, vkt_node *add, bool training)
{
    (void)training;
    if (add->op != &vkt__op_add) return false;
    vkt_tensor *x = add->in[0], *b = add->in[1], *y = add->out[0], *product = vkt__root(x);
    vkt_node *n = product->node;
    vkt_tensor **bias = n && product == n->out[0] ? bias_of(n) : NULL;
    if (!bias || b->count != vkt__last(product->shape) || vkt__last(x->shape) != b->count ||
        b->dtype != VKT_F32 || y->bound || product->needs || !vkt__is_private(product) ||
        !vkt__unchanged(b, n->index, add->index))
        return false;
    *bias = vkt_reshape(g, b, vkt_shape1((uint32_t)b->count));
    y->node = NULL;
    if (vkt__shape_equal(y->shape, product->shape)) {
        n->out[0] = y;
        y->node = n;
        vkt__remove_tensor(product);
    } else {
        y->view_of = product;
        product->kept = y->kept;
    }
    y->out_index = 0;
    vkt__remove_node(add);
    vkt__uses_forget(g);
    return true;
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_bias = { .name = "vector added to rows into the product before it",
                                   .run = run };
