/* Deep products in slices of k. */
#include "tensor/ops/ops_matmul.h"
#include "tensor/passes/passes.h"

static uint32_t slices_of(const vkt_node *n)
{
    vkt__product p = vkt__product_of(n);
    return vkt__matmul_slices(n->g->gpu, &p);
}

/* matmul -> matmul_parts, matmul_sum where the result is too small to give every core work, or the
 * factors are too large for a CPU's caches. */
static uint32_t run(vkt_graph *g, bool training)
{
    (void)training;
    if (!g->gpu) return 0;
    uint32_t n_split = 0;
    size_t n = g->n_nodes, made = 0;
    vkt_node **nodes = vkt__alloc((2 * n + 1) * sizeof *nodes);
    for (size_t k = 0; k < n; k++) {
        vkt_node *mm = g->nodes[k];
        vkt_attr attr = mm->attr;
        bool is_matmul = mm->op == &vkt__op_matmul || mm->op == &vkt__op_matmul_act_bwd;
        /* Sums are of few rows of A. A kernel that was named is kept. */
        is_matmul = is_matmul && !attr.matmul.sums && !attr.matmul.kernel;
        attr.matmul.slices = is_matmul ? slices_of(mm) : 1;
        attr.matmul.act = VKT_ACT_NONE;
        attr.matmul.out = VKT_F32;
        if (attr.matmul.slices > 1) {
            vkt_node *parts = vkt__node(g, &vkt__op_matmul_parts, mm->in, 2, attr);
            parts->backward = mm->backward;
            nodes[made++] = parts;
            mm->op = &vkt__op_matmul_sum;
            mm->in[0] = parts->out[0];
            mm->in[1] = NULL;
            n_split++;
        }
        nodes[made++] = mm;
    }
    for (size_t k = 0; k < made; k++) {
        g->nodes[k] = nodes[k];
        nodes[k]->index = (uint32_t)k;
    }
    free(nodes);
    return n_split;
}

const vkt__pass vkt__pass_split = {
    .name = "matmul cut into slices of k, for cores without work or caches too small",
    .whole = true,
    .run = run
};
