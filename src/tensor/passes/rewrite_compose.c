/* Functions that exporters write out, back into the rows that compute them: GELU by erf or tanh,
 * layer norm and RMS norm over the last axis. Before differentiation, so that gradients gain. */
#include <math.h>

#include "tensor/graph/known.h"
#include "tensor/graph/view.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "shaders/params.h"

/* The node that makes t as its first result, unless t's own gradient is asked for. */
static vkt_node *maker(const vkt_tensor *t)
{
    const vkt_tensor *root = t ? vkt__root(t) : NULL;
    vkt_node *n = root && !root->needs && root->count == t->count ? root->node : NULL;
    return n && n->op && n->out[0] == root ? n : NULL;
}

/* The same where nobody else reads it. */
static vkt_node *own_maker(const vkt_tensor *t)
{
    vkt_node *n = maker(t);
    return n && vkt__is_private(t) ? n : NULL;
}

static bool is_fn(const vkt_node *n, vkt_fn fn)
{
    return n && n->op == &vkt__op_unary && n->attr.map.fn == (uint32_t)fn;
}

static bool is_fn2(const vkt_node *n, vkt_fn2 fn)
{
    return n && n->op == &vkt__op_binary && n->attr.map.fn == (uint32_t)fn;
}

static bool is_sum(const vkt_node *n)
{
    return n && (n->op == &vkt__op_add || is_fn2(n, VKT_FN2_ADD));
}

static bool is_product(const vkt_node *n)
{
    return n && (n->op == &vkt__op_mul || is_fn2(n, VKT_FN2_MUL));
}

/* All of the same memory. */
static bool are_one(const vkt_tensor *a, const vkt_tensor *b)
{
    const vkt_tensor *root = vkt__root(a);
    return root == vkt__root(b) && a->count == root->count && b->count == root->count;
}

/* Whether n may read t's memory in place of the nodes that did so before it. */
static bool is_steady(const vkt_tensor *t, const vkt_node *n)
{
    const vkt_tensor *root = vkt__root(t);
    return vkt__unchanged(root, root->node ? root->node->index + 1 : 0, n->index);
}

enum { NUMBER_WORK = 10000 }; /* for one number: it is asked for at every product */

/* One number that is known, and not trained. */
static bool number_of(const vkt_tensor *t, double *v)
{
    const vkt_tensor *root = vkt__root(t);
    const vkt_node *n = root->node;
    if (n && n->op == &vkt__op_fill && !root->needs) return *v = (double)n->attr.eltwise.s, true;
    double *all = t->count == 1 ? vkt__known(t, NUMBER_WORK) : NULL;
    if (all) *v = *all;
    free(all);
    return all != NULL;
}

/* n = a number + a tensor; or NULL. */
static vkt_tensor *beside_number(const vkt_node *n, double *v)
{
    if (!is_sum(n)) return NULL;
    return number_of(n->in[1], v) ? n->in[0] : number_of(n->in[0], v) ? n->in[1] : NULL;
}

static bool near_to(double v, double want)
{
    return fabs(v - want) <= 2e-6 * want;
}

/* ---- GELU ---- */

enum { MOST_FACTORS = 4, DEEPEST = 6 };

/* A product: a number and the roots of tensors. */
typedef struct {
    double s;
    vkt_tensor *t[MOST_FACTORS];
    uint32_t n;
} product;

static void multiply(const vkt_node *n, uint32_t depth, product *p);

static void factor(vkt_tensor *t, uint32_t depth, product *p)
{
    double v;
    vkt_node *n = own_maker(t);
    if (number_of(t, &v))
        p->s *= v;
    else if (n && depth < DEEPEST &&
             (is_product(n) || n->op == &vkt__op_scale || is_fn2(n, VKT_FN2_DIV) ||
              is_fn2(n, VKT_FN2_POW)))
        multiply(n, depth + 1, p);
    else if (p->n < MOST_FACTORS && are_one(t, t))
        p->t[p->n++] = vkt__root(t);
    else
        p->s = NAN;
}

/* n's factors. */
static void multiply(const vkt_node *n, uint32_t depth, product *p)
{
    double v = NAN;
    if (n->op == &vkt__op_scale) {
        p->s *= (double)n->attr.eltwise.s;
        factor(n->in[0], depth, p);
    } else if (is_product(n)) {
        factor(n->in[0], depth, p);
        factor(n->in[1], depth, p);
    } else if (is_fn2(n, VKT_FN2_DIV) && number_of(n->in[1], &v)) {
        p->s /= v;
        factor(n->in[0], depth, p);
    } else if (is_fn2(n, VKT_FN2_POW) && number_of(n->in[1], &v) && (v == 2 || v == 3)) {
        for (int i = 0; i < (int)v; i++) factor(n->in[0], DEEPEST, p);
    } else {
        p->s = NAN;
    }
}

static product factors_of(vkt_tensor *t)
{
    product p = { .s = 1 };
    factor(t, 0, &p);
    return p;
}

/* c x^n */
static bool is_power(const product *p, const vkt_tensor *x, double c, uint32_t n)
{
    bool is = p->n == n && near_to(p->s, c);
    for (uint32_t i = 0; i < p->n; i++) is = is && p->t[i] == x;
    return is;
}

/* sqrt(2 / pi) (x + 0.044715 x^3), perhaps x taken out. */
static bool is_tanh_inside(vkt_tensor *t, const vkt_tensor *x)
{
    const double c = 0.044715;
    product p = factors_of(t);
    double one;
    if (!near_to(p.s, 0.7978845608028654) || !p.n || p.n > 2) return false;
    if (p.n == 1) {
        const vkt_node *sum = own_maker(p.t[0]);
        for (int i = 0; is_sum(sum) && i < 2; i++) {
            product cubic = factors_of(sum->in[1 - i]);
            if (are_one(sum->in[i], x) && is_power(&cubic, x, c, 3)) return true;
        }
        return false;
    }
    const vkt_node *sum = own_maker(p.t[p.t[0] == x]);
    vkt_tensor *rest = beside_number(sum, &one);
    if (!rest || one != 1 || (p.t[0] != x && p.t[1] != x)) return false;
    product square = factors_of(rest);
    return is_power(&square, x, c, 2);
}

/* x of 0.5 x (1 + erf(x / sqrt(2))), and of the same with tanh; or NULL. */
static vkt_tensor *gelu_of(const vkt_node *n, vkt_act *act)
{
    product p = { .s = 1 };
    double one;
    if (!is_product(n) && n->op != &vkt__op_scale) return NULL;
    multiply(n, 0, &p);
    if (!near_to(p.s, 0.5) || p.n != 2) return NULL;
    for (int i = 0; i < 2; i++) {
        vkt_tensor *x = p.t[1 - i], *inner = beside_number(own_maker(p.t[i]), &one);
        const vkt_node *f = inner && one == 1 ? own_maker(inner) : NULL;
        if (!f || x->count != n->out[0]->count) continue;
        if (is_fn(f, VKT_FN_ERF)) {
            product inside = factors_of(f->in[0]);
            *act = VKT_ACT_GELU_ERF;
            if (is_power(&inside, x, sqrt(0.5), 1)) return x;
        }
        *act = VKT_ACT_GELU;
        if (f->op == &vkt__op_act && f->attr.eltwise.act == VKT_ACT_TANH &&
            is_tanh_inside(f->in[0], x))
            return x;
    }
    return NULL;
}

/* n computes `op` of these from now on, and what it read goes if nobody else reads it. */
static void become(vkt_node *n, const vkt_op *op, vkt_tensor *const *in, uint32_t n_in,
                   vkt_attr attr)
{
    vkt_tensor *was[VKT_MAX_IN], *y = n->out[0];
    memcpy(was, n->in, sizeof was);
    memset(n->in, 0, sizeof n->in);
    memset(n->out, 0, sizeof n->out);
    for (uint32_t i = 0; i < n_in; i++) n->in[i] = in[i];
    n->op = op;
    n->attr = attr;
    bool made = op->shape(n);
    VKT_ASSERT(made);
    vkt__remove_tensor(n->out[0]);
    n->out[0] = y;
    vkt__uses_changed(n);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (was[i]) vkt__drop_maker(was[i]);
}

static bool fuse_gelu(vkt_graph *g, vkt_node *n)
{
    vkt_act act;
    vkt_tensor *x = gelu_of(n, &act);
    if (!x || !is_steady(x, n)) return false;
    x = vkt_reshape(g, x, n->out[0]->shape);
    become(n, &vkt__op_act, &x, 1, (vkt_attr) { .eltwise = { .op = VKT_EL_ACT, .act = act } });
    return true;
}

/* ---- norms ---- */

/* What `mean` is the mean over the last axis of, in rows as d's, where `by`, which is made of it
 * and joined with d, has one number for each of those; or NULL. */
static vkt_tensor *averaged(const vkt_tensor *mean, const vkt_tensor *by, const vkt_tensor *d)
{
    const vkt_node *n = maker(mean);
    if (!n || n->op != &vkt__op_reduce || n->attr.reduce.kind != VKT_REDUCE_MEAN) return NULL;
    vkt_tensor *x = n->in[0];
    bool rows = n->attr.reduce.axes == 1u << (x->shape.rank - 1) && x->count == d->count &&
                vkt__last(x->shape) == vkt__last(d->shape) && vkt__last(by->shape) == 1 &&
                by->count == mean->count;
    return rows ? x : NULL;
}

/* What q is that divided by sqrt(its mean square + eps); or NULL. */
static vkt_tensor *normalised(const vkt_node *q, double *eps)
{
    for (uint32_t i = 0; i < 2 && q; i++) {
        vkt_tensor *d = q->in[i];
        const vkt_node *root = maker(q->in[1 - i]);
        if (is_fn2(q, VKT_FN2_DIV) ? i == 1 || !is_fn(root, VKT_FN_SQRT) : !is_product(q)) continue;
        if (is_product(q) && is_fn(root, VKT_FN_RECIPROCAL))
            root = is_fn(maker(root->in[0]), VKT_FN_SQRT) ? maker(root->in[0]) : NULL;
        else if (is_product(q) && !is_fn(root, VKT_FN_RSQRT))
            continue;
        vkt_tensor *mean = root ? beside_number(maker(root->in[0]), eps) : NULL,
                   *square = mean ? averaged(mean, q->in[1 - i], d) : NULL;
        const vkt_node *by_itself = square ? maker(square) : NULL;
        if (by_itself && by_itself->op == &vkt__op_mul && *eps > 0 &&
            are_one(by_itself->in[0], d) && are_one(by_itself->in[1], d))
            return d;
    }
    return NULL;
}

/* n = w times what is normalised -> a norm; a bias behind it is the next pass's. */
static bool fuse_norm(vkt_graph *g, vkt_node *n)
{
    double eps;
    if (n->op != &vkt__op_mul || n->in[1]->count != vkt__last(n->out[0]->shape)) return false;
    vkt_tensor *w = n->in[1], *d = normalised(own_maker(n->in[0]), &eps), *x = d;
    if (!d || d->count != n->out[0]->count || vkt__last(d->shape) != w->count) return false;
    const vkt_node *less = maker(d);
    vkt_tensor *of = is_fn2(less, VKT_FN2_SUB) ? less->in[0] : NULL;
    const vkt_tensor *mean_of = of ? averaged(less->in[1], less->in[1], of) : NULL;
    bool rms = !mean_of || !are_one(mean_of, of) || vkt__last(of->shape) != vkt__last(d->shape);
    if (!rms) x = of;
    if (x->dtype != VKT_F32 || w->dtype != VKT_F32 || !is_steady(x, n)) return false;
    vkt_tensor *in[] = { vkt_reshape(g, x, n->out[0]->shape),
                         vkt_reshape(g, w, vkt_shape1((uint32_t)w->count)) };
    become(n, rms ? &vkt__op_rmsnorm : &vkt__op_layernorm, in, 2,
           (vkt_attr) { .norm = { .eps = (float)eps, .rms = rms } });
    return true;
}

static bool fuse(vkt_graph *g, vkt_node *n, bool training)
{
    (void)training;
    if (!n->out[0] || n->out[0]->bound) return false;
    return fuse_gelu(g, n) || fuse_norm(g, n);
}

static uint32_t run(vkt_graph *g, bool training)
{
    return vkt__each_node(g, training, fuse);
}

const vkt__pass vkt__pass_compose = { .name = "GELU and norms that were written out", .run = run };
