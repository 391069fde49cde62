/* Elementwise nodes one after another into one pass over memory, where nothing else reads what lies
 * between them. After differentiation, when it is known what the gradient reads. */
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "shaders/params.h"

/* ---- relu under dropout ---- */

static vkt_node *maker(vkt_tensor *t, const vkt_op *op)
{
    t = vkt__root(t);
    return t && t->node && t->node->op == op ? t->node : NULL;
}

typedef struct {
    const vkt_tensor *y;
    const vkt_node *found;
} first_dropout;

static bool is_dropout(vkt_node *n, void *arg)
{
    first_dropout *d = arg;
    if (n->op == &vkt__op_dropout && vkt__root(n->in[0]) == d->y &&
        (!d->found || n->index < d->found->index))
        d->found = n;
    return false;
}

/* z = dropout(y), y = relu(x); dy = dropout(dz), dx = activate_bwd(dy, y) -> activate_bwd(dy, z).
 * Where dropout keeps y, z > 0 iff y > 0, as it is multiplied by at least 1; where not, dy is 0. So
 * y may die at the dropout, which then works in place. */
static bool read_after_dropout(vkt_graph *g, vkt_node *bwd, bool training)
{
    (void)g;
    (void)training;
    if (bwd->op != &vkt__op_act_bwd || bwd->attr.eltwise.act != VKT_ACT_RELU) return false;
    vkt_tensor *y = vkt__root(bwd->in[1]);
    const vkt_node *back = maker(bwd->in[0], &vkt__op_dropout);
    if (!back || y->kept || y->bound || vkt__n_readers(y, 3) != 2) return false;
    first_dropout drop = { y, NULL };
    vkt__each_use(y, VKT__READS, 0, back->index, is_dropout, &drop);
    if (!drop.found || drop.found->attr.dropout.id != back->attr.dropout.id) return false;
    bwd->in[1] = drop.found->out[0];
    vkt__uses_changed(bwd);
    return true;
}

static uint32_t run_relu_dropout(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, read_after_dropout);
}

const vkt__pass vkt__pass_relu_dropout = { .name = "relu's gradient from what dropout left of it",
                                           .whole = true,
                                           .run = run_relu_dropout };

/* ---- chains ---- */

typedef struct {
    vkt_attr attr;
    vkt_tensor *in[VKT__CHAIN_N_IN]; /* as of the row */
} chain;

enum { X = VKT__CHAIN_IN_X, Y = VKT__CHAIN_IN_Y, STEP = VKT__CHAIN_IN_STEP };

/* A node as a chain on its input number `x`; false if it is none. Chains are of f32. */
static bool as_chain(const vkt_node *n, uint32_t x, chain *c)
{
    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && vkt_dtype_bytes(n->in[i]->dtype) == 2) return false;
    if (n->out[0] && n->out[0]->dtype != VKT_F32) return false;
    if (n->op == &vkt__op_chain) {
        c->attr = n->attr;
        memcpy(c->in, n->in, sizeof c->in);
        return x == 0;
    }
    c->attr.chain.n = 1;
    c->in[X] = n->in[x];
    if (n->op == &vkt__op_dropout) {
        c->attr.chain.stage[0].op = VKT_EL_DROPOUT;
        c->attr.chain.dropout_id = n->attr.dropout.id;
        c->attr.chain.dropout_p = n->attr.dropout.p;
        c->in[STEP] = n->in[1];
        return x == 0;
    }
    if (n->op == &vkt__op_noise) {
        c->attr.chain.stage[0].op = VKT_EL_NOISE;
        c->attr.chain.stage[0].s = n->attr.noise.size;
        c->attr.chain.dropout_id = n->attr.noise.id;
        c->in[STEP] = n->in[1];
        return x == 0;
    }
    bool commutes = n->op == &vkt__op_add || n->op == &vkt__op_mul;
    if (!commutes && n->op != &vkt__op_scale && n->op != &vkt__op_act && n->op != &vkt__op_act_bwd)
        return false;
    c->attr.chain.stage[0].op = n->attr.eltwise.op;
    c->attr.chain.stage[0].act = n->attr.eltwise.act;
    c->attr.chain.stage[0].s = n->attr.eltwise.s;
    if (commutes || n->op == &vkt__op_act_bwd) c->in[Y] = n->in[1 - x];
    return x == 0 || (commutes && n->in[0]->count == n->in[1]->count);
}

/* first, then second on its result. False: too long, or both draw random bits. */
static bool join(const chain *first, const chain *second, chain *out)
{
    uint32_t a = first->attr.chain.n, b = second->attr.chain.n;
    if (a + b > VKT_CHAIN_STAGES || (first->in[STEP] && second->in[STEP])) return false;
    *out = *first;
    for (uint32_t i = 0; i < b; i++) {
        out->attr.chain.stage[a + i] = second->attr.chain.stage[i];
        out->in[Y + a + i] = second->in[Y + i];
    }
    out->attr.chain.n = a + b;
    if (!second->in[STEP]) return true;
    out->attr.chain.dropout_id = second->attr.chain.dropout_id;
    out->attr.chain.dropout_p = second->attr.chain.dropout_p;
    out->in[STEP] = second->in[STEP];
    return true;
}

static bool reads(vkt_node *n, void *t)
{
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && vkt__root(n->in[i]) == t) return true;
    return false;
}

/* Whether running n's work at a later place keeps more memory alive in between: two inputs that
 * would have died instead of one result. */
static bool prolongs(const vkt_node *n, const vkt_node *later)
{
    uint32_t dying = 0;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
        vkt_tensor *t = vkt__root(n->in[i]);
        dying += t && t->node && !t->bound && !t->kept && t->count == n->out[0]->count &&
                 !vkt__each_use(t, VKT__READS, later->index, SIZE_MAX, reads, t);
    }
    return dying > 1 && later->index > n->index + 1;
}

static bool fuse_at(vkt_node *n, uint32_t x)
{
    chain first, second, both;
    vkt_node *p = n->in[x] ? vkt__root(n->in[x])->node : NULL;
    if (!p || !as_chain(n, x, &second) || !as_chain(p, 0, &first) || !join(&first, &second, &both))
        return false;
    if (!vkt__is_private(n->in[x]) || prolongs(p, n)) return false;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (p->in[i] && !vkt__unchanged(p->in[i], p->index, n->index)) return false;
    vkt__remove_tensor(p->out[0]);
    vkt__remove_node(p);
    n->op = &vkt__op_chain;
    n->attr = both.attr;
    memset(n->in, 0, sizeof n->in);
    memcpy(n->in, both.in, sizeof both.in);
    vkt__uses_changed(n);
    return true;
}

static bool fuse(vkt_graph *g, vkt_node *n, bool training)
{
    (void)g;
    (void)training;
    bool any = false;
    while (fuse_at(n, 0) || fuse_at(n, 1)) any = true;
    return any;
}

static uint32_t run_chain(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_chain = { .name = "elementwise nodes one after another in one pass",
                                    .whole = true,
                                    .run = run_chain };
