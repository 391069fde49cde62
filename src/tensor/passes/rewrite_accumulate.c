/* Gradient accumulation into the matmuls that make the gradients: their epilogue adds the sum so
 * far and writes the new one, and the gradient itself never reaches memory. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"

/* Inputs: of accumulate, of the matmul rows. */
enum { SUM, X, STEP };
enum { MM_R = 4, MM_STEP };

/* What is left of the pass over all gradients becomes one more dispatch around each product taken
 * out of it. On CPU drivers a dispatch costs up to 60 us (quirk DISPATCH_COST) and 15 GB/s are
 * moved: 2 MiB less, which is what this many elements save, are worth more. */
enum { LEAST_COUNT = 1 << 18, BIND_ALIGN = 16 };

/* Bytes from x's beginning to t's, the same in every slot; UINT64_MAX where t is not within x. */
static uint64_t offset_in(const vkt_tensor *t, const vkt_tensor *x)
{
    uint64_t offset = t->buf_offset[0] - x->buf_offset[0];
    for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
        if (t->buf[s] != x->buf[s] || t->buf_offset[s] < x->buf_offset[s] ||
            t->buf_offset[s] - x->buf_offset[s] != offset || offset + t->bytes > x->bytes)
            return UINT64_MAX;
    return offset;
}

/* Whether nodes other than the two read or write t's memory. */
static bool is_used_by_others(const vkt_graph *g, const vkt_tensor *t, const vkt_node *a,
                              const vkt_node *b)
{
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (n == a || n == b) continue;
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (n->in[i] && vkt__overlap(vkt__root(n->in[i]), t)) return true;
        for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
            if (n->out[i] && vkt__overlap(n->out[i], t)) return true;
    }
    return false;
}

/* Memory of `of` from byte `offset` on. */
static vkt_tensor *part(vkt_graph *g, const vkt_tensor *of, uint64_t offset, vkt_shape shape)
{
    vkt_tensor *t = vkt_input(g, shape, VKT_F32, of->name);
    for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
        if (of->buf[s]) vkt_bind(t, s, of->buf[s], of->buf_offset[s] + offset);
    return t;
}

/* A matmul that writes a large part of what acc adds, which only acc reads. */
static bool makes_part(const vkt_graph *g, const vkt_node *n, const vkt_node *acc)
{
    const vkt_tensor *c = n->out[0];
    return (n->op == &vkt__op_matmul || n->op == &vkt__op_matmul_act_bwd) && !n->in[MM_R] &&
           c->bound && !c->kept && c->dtype == VKT_F32 && c->count >= LEAST_COUNT &&
           c->bytes % BIND_ALIGN == 0 && n->index < acc->index &&
           offset_in(c, vkt__root(acc->in[X])) != UINT64_MAX && !is_used_by_others(g, c, n, acc);
}

/* Bytes `begin` to `end` of what acc adds, as a node of their own. */
static void add_rest(vkt_graph *g, const vkt_node *acc, uint64_t begin, uint64_t end)
{
    if (begin == end) return;
    vkt_shape shape = vkt_shape1((uint32_t)((end - begin) / 4));
    vkt_tensor *in[] = { part(g, vkt__root(acc->in[SUM]), begin, shape),
                         part(g, vkt__root(acc->in[X]), begin, shape), acc->in[STEP] };
    vkt_node *rest = vkt__node(g, &vkt__op_accumulate, in, VKT_COUNT(in), (vkt_attr) { 0 });
    rest->backward = acc->backward;
}

/* The first of the matmuls, by the place of what they write; NULL: none from `begin` on. */
static vkt_node *next_part(const vkt_graph *g, const vkt_node *acc, uint64_t begin)
{
    vkt_node *first = NULL;
    uint64_t first_at = UINT64_MAX;
    for (size_t k = 0; k < acc->index; k++) {
        vkt_node *n = g->nodes[k];
        if (!n->op || !makes_part(g, n, acc)) continue;
        uint64_t at = offset_in(n->out[0], vkt__root(acc->in[X]));
        if (at >= begin && at < first_at) first = n, first_at = at;
    }
    return first;
}

static bool fuse(vkt_graph *g, vkt_node *acc, bool training)
{
    (void)training;
    if (acc->op != &vkt__op_accumulate) return false;
    vkt_tensor *sum = vkt__root(acc->in[SUM]), *x = vkt__root(acc->in[X]);
    if (!sum->bound || !x->bound || sum->count != x->count || vkt__overlap(sum, x) ||
        is_used_by_others(g, sum, acc, NULL))
        return false;
    uint64_t begin = 0;
    vkt_node *mm = next_part(g, acc, begin);
    if (!mm) return false;
    for (; mm; mm = next_part(g, acc, begin)) {
        vkt_tensor *c = mm->out[0];
        uint64_t at = offset_in(c, x);
        add_rest(g, acc, begin, at);
        begin = at + c->bytes;
        mm->in[MM_R] = part(g, sum, at, c->shape);
        mm->in[MM_STEP] = acc->in[STEP];
        for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
            if (sum->buf[s]) vkt_bind(c, s, sum->buf[s], sum->buf_offset[s] + at);
    }
    add_rest(g, acc, begin, x->bytes);
    vkt__remove_node(acc);
    return true;
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_accumulate = { .name = "gradient sums into the matmuls that make terms",
                                         .whole = true,
                                         .run = run };
