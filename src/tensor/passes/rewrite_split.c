/* Deep products in slices of k, one query's long attention in parts of its keys. */
#include "tensor/kernels/attention.h"
#include "tensor/ops/matmul/ops_matmul.h"
#include "tensor/passes/passes.h"

/* matmul -> matmul_parts, matmul_sum where the result is too small to give every core work, or the
 * factors are too large for a CPU's caches. */
static vkt_node *split_matmul(vkt_graph *g, vkt_node *n)
{
    vkt_attr attr = n->attr;
    bool is_matmul = n->op == &vkt__op_matmul || n->op == &vkt__op_matmul_act_bwd;
    /* Sums are of few rows of A. A kernel that was named is kept. */
    if (!is_matmul || attr.matmul.sums || attr.matmul.kernel) return NULL;
    vkt__product p = vkt__product_of(n);
    attr.matmul.slices = vkt__matmul_slices(g->gpu, &p);
    attr.matmul.act = VKT_ACT_NONE;
    attr.matmul.out = VKT_F32;
    if (attr.matmul.slices <= 1) return NULL;
    vkt_node *parts = vkt__node(g, &vkt__op_matmul_parts, n->in, 2, attr);
    n->op = &vkt__op_matmul_sum;
    n->in[0] = parts->out[0];
    n->in[1] = NULL;
    return parts;
}

/* attention of a query a sequence -> attention_parts, attention_join where heads are too few to
 * give every core work. A kernel that was named is kept. */
static vkt_node *split_attention(vkt_graph *g, vkt_node *n)
{
    vkt_attr attr = n->attr;
    bool is_attention = n->op == &vkt__op_attention || n->op == &vkt__op_attention_cached;
    if (!is_attention || attr.attention.kernel) return NULL;
    attr.attention.parts = vkt__att_parts(vkt_gpu_caps(g->gpu), n);
    if (attr.attention.parts <= 1) return NULL;
    vkt_node *parts = vkt__node(g, &vkt__op_attention_parts, n->in, 5, attr);
    n->op = &vkt__op_attention_join;
    n->in[0] = parts->out[0];
    n->in[1] = parts->out[1];
    for (uint32_t i = 2; i < 5; i++) n->in[i] = NULL;
    return parts;
}

static uint32_t run(vkt_graph *g, bool training)
{
    (void)training;
    if (!g->gpu) return 0;
    uint32_t n_split = 0;
    size_t n = g->n_nodes, made = 0;
    vkt_node **nodes = vkt__alloc((2 * n + 1) * sizeof *nodes);
    for (size_t k = 0; k < n; k++) {
        vkt_node *whole = g->nodes[k], *parts = split_matmul(g, whole);
        if (!parts) parts = split_attention(g, whole);
        if (parts) {
            parts->backward = whole->backward;
            nodes[made++] = parts;
            n_split++;
        }
        nodes[made++] = whole;
    }
    for (size_t k = 0; k < made; k++) {
        g->nodes[k] = nodes[k];
        nodes[k]->index = (uint32_t)k;
    }
    free(nodes);
    vkt__uses_forget(g);
    return n_split;
}

const vkt__pass vkt__pass_split = {
    .name = "matmul cut into slices of k, attention of a token into parts of its keys, for cores "
            "without work or caches too small",
    .whole = true,
    .run = run
};
