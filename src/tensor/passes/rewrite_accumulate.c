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

typedef struct {
    const vkt_tensor *t;
    const vkt_node *a, *b;
} others;

static bool is_other(vkt_node *n, void *arg)
{
    const others *o = arg;
    if (n == o->a || n == o->b) return false;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && vkt__overlap(vkt__root(n->in[i]), o->t)) return true;
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i] && vkt__overlap(n->out[i], o->t)) return true;
    return false;
}

/* Whether nodes other than the two read or write t's memory. */
static bool is_used_by_others(const vkt_tensor *t, const vkt_node *a, const vkt_node *b)
{
    return vkt__each_use(t, VKT__READS | VKT__WRITES, 0, SIZE_MAX, is_other, &(others) { t, a, b });
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
static bool makes_part(const vkt_node *n, const vkt_node *acc)
{
    const vkt_tensor *c = n->out[0];
    return (n->op == &vkt__op_matmul || n->op == &vkt__op_matmul_act_bwd) && !n->in[MM_R] &&
           c->bound && !c->kept && c->dtype == VKT_F32 && c->count >= LEAST_COUNT &&
           c->bytes % BIND_ALIGN == 0 && n->index < acc->index &&
           offset_in(c, vkt__root(acc->in[X])) != UINT64_MAX && !is_used_by_others(c, n, acc);
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

/* The matmuls, by the place of what they write. */
typedef struct {
    const vkt_node *acc;
    vkt_node **list;
    size_t n, cap;
} products;

static bool add_product(vkt_node *n, void *arg)
{
    products *p = arg;
    if (!n->op || !makes_part(n, p->acc)) return false;
    p->list = vkt__grow(p->list, p->n, &p->cap, sizeof *p->list);
    p->list[p->n++] = n;
    return false;
}

/* Of different memory, as no other node uses theirs; where one came twice, both are alike. */
static int by_place(const void *pa, const void *pb)
{
    const vkt_tensor *a = (*(vkt_node *const *)pa)->out[0], *b = (*(vkt_node *const *)pb)->out[0];
    return (a->buf_offset[0] > b->buf_offset[0]) - (a->buf_offset[0] < b->buf_offset[0]);
}

static bool fuse(vkt_graph *g, vkt_node *acc, bool training)
{
    (void)training;
    if (acc->op != &vkt__op_accumulate) return false;
    vkt_tensor *sum = vkt__root(acc->in[SUM]), *x = vkt__root(acc->in[X]);
    if (!sum->bound || !x->bound || sum->count != x->count || vkt__overlap(sum, x) ||
        is_used_by_others(sum, acc, NULL))
        return false;
    products p = { .acc = acc };
    vkt__each_use(x, VKT__WRITES, 0, acc->index, add_product, &p);
    if (!p.n) return false;
    qsort(p.list, p.n, sizeof *p.list, by_place);
    uint64_t begin = 0;
    for (size_t k = 0; k < p.n; k++) {
        vkt_node *mm = p.list[k];
        if (k && mm == p.list[k - 1]) continue;
        vkt_tensor *c = mm->out[0];
        uint64_t at = offset_in(c, x);
        add_rest(g, acc, begin, at);
        begin = at + c->bytes;
        mm->in[MM_R] = part(g, sum, at, c->shape);
        mm->in[MM_STEP] = acc->in[STEP];
        for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
            if (sum->buf[s]) vkt_bind(c, s, sum->buf[s], sum->buf_offset[s] + at);
        vkt__uses_changed(mm);
    }
    free(p.list);
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
