/* A batch norm by running averages into the convolution before it: y = (conv(x, w) + b - mean) s +
 * bias with s = weight / sqrt(var + eps) is a convolution by w s, whose bias is (b - mean) s +
 * bias. The small batch norms that make these two are the row's own, once a graph, in place of a
 * pass over all pixels. Where no gradient follows. */
#include "gpu/commands.h"
#include "tensor/ops/norm/batch.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

enum { FILTER = 1, BIAS, N_MADE = 3 };

static bool find_reader(vkt_node *n, void *arg)
{
    *(vkt_node **)arg = n;
    return true;
}

/* A residual or a pooling goes into the norm, which then passes over the pixels anyway. */
static bool is_fused(const vkt_node *norm)
{
    vkt_node *reader = NULL;
    const vkt_tensor *y = norm->out[VKT__BN_Y];
    if (!vkt__is_private(y)) return false;
    vkt__each_use(y, VKT__READS, norm->index + 1, SIZE_MAX, find_reader, &reader);
    return reader && (reader->op == &vkt__op_add || reader->op == &vkt__op_max_pool);
}

/* The convolution that the norm can go into; NULL: none. Whether it pays is a question of one
 * example's pixels, so that the batch has no say in the bits. */
static vkt_node *conv_before(const vkt_node *norm)
{
    if (norm->op != &vkt__op_batch_norm || !norm->attr.batch.fixed || norm->in[VKT__BN_R] ||
        norm->attr.batch.act != VKT_ACT_NONE)
        return NULL;
    const vkt_tensor *x = norm->in[VKT__BN_X];
    vkt_node *conv = x->view_of ? NULL : x->node;
    if (!conv || conv->op != &vkt__op_conv2d || conv->attr.conv.act != VKT_ACT_NONE ||
        conv->attr.conv.kernel || conv->out[0] != x || !vkt__is_private(x))
        return NULL;
    for (uint32_t i = VKT__BN_MEAN; i <= VKT__BN_B; i++)
        if (!vkt__unchanged(norm->in[i], conv->index, norm->index)) return NULL;
    uint64_t pixels = (uint64_t)x->shape.d[1] * x->shape.d[2],
             terms = conv->in[FILTER]->count / vkt__last(x->shape);
    return pixels >= terms && !is_fused(norm) ? conv : NULL;
}

/* The norm's function of other numbers [R, C]. */
static vkt_tensor *norm_of(const vkt_node *norm, vkt_tensor *x, vkt_tensor *mean, vkt_tensor *bias)
{
    vkt_tensor *in[] = { x, mean, norm->in[VKT__BN_RSTD], norm->in[VKT__BN_W], bias };
    return vkt__op(norm->g, &vkt__op_batch_norm, in, VKT_COUNT(in), norm->attr);
}

static void fold(vkt_graph *g, vkt_node *conv, vkt_node *norm)
{
    vkt_tensor *w = conv->in[FILTER], *b = conv->in[BIAS], *y = norm->out[VKT__BN_Y];
    uint32_t c = vkt__last(y->shape), rows = (uint32_t)(w->count / c);
    vkt_tensor *zeros = vkt_fill(g, vkt_shape1(c), 0), *mean = norm->in[VKT__BN_MEAN],
               *filter = norm_of(norm, vkt_reshape(g, w, vkt_shape2(rows, c)), zeros, zeros),
               *bias = norm_of(norm, vkt_reshape(g, b ? b : zeros, vkt_shape2(1, c)), mean,
                               norm->in[VKT__BN_B]);
    conv->in[FILTER] = vkt_reshape(g, filter, w->shape);
    conv->in[BIAS] = vkt_reshape(g, bias, vkt_shape1(c));
    vkt__remove_tensor(conv->out[0]);
    conv->out[0] = y;
    y->node = conv;
    y->out_index = 0;
    vkt__remove_node(norm);
    vkt__uses_changed(conv);
}

/* What was made stands at the end of the list, and goes before the convolution that reads it. */
static void put_before(vkt_graph *g, const vkt_node *conv, size_t n_made)
{
    size_t n = g->n_nodes - n_made;
    vkt_node *made[N_MADE];
    VKT_ASSERT(n_made == N_MADE);
    memcpy(made, g->nodes + n, sizeof made);
    memmove(g->nodes + conv->index + n_made, g->nodes + conv->index,
            (n - conv->index) * sizeof *g->nodes);
    memcpy(g->nodes + conv->index, made, sizeof made);
    for (size_t k = 0; k < g->n_nodes; k++) g->nodes[k]->index = (uint32_t)k;
    vkt__uses_forget(g);
}

static uint32_t run(vkt_graph *g, bool training)
{
    uint32_t n = 0;
    if (training || g->differentiated || g->precision != VKT_F32) return 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *norm = g->nodes[k], *conv = norm->op ? conv_before(norm) : NULL;
        size_t before = g->n_nodes;
        if (!conv) continue;
        fold(g, conv, norm);
        put_before(g, conv, g->n_nodes - before);
        k += N_MADE;
        n++;
    }
    return n;
}

const vkt__pass vkt__pass_conv_norm = { .name =
                                            "norm by running averages into the filters before it",
                                        .run = run };
