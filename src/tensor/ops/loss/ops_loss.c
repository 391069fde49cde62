/* Softmax, and softmax cross-entropy of a row of logits. */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/cost.h"
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

/* walked: a kernel that walks a row `passes` times in memory; held: one that needs `each` registers
 * for each of its elements. */
typedef struct {
    vkt__shader walked, held;
    uint32_t passes, each;
} row_kernels;

/* One workgroup per row. */
static void row_dispatch(vkt__rec *rec, const row_kernels *k, uint32_t rows, uint32_t cols,
                         const void *push, uint32_t push_bytes)
{
    vkt__row_form f = vkt__row_form_of(rec->caps, cols, k->passes, k->each);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, f.wg },
                                   { VKT_SPEC_LANES, f.lanes },
                                   { VKT_SPEC_REDUCE, f.reduce },
                                   { VKT_SPEC_PER, f.per },
                                   { VKT_SPEC_WIDE, f.wide } };
    uint32_t n = VKT_COUNT(spec) - (f.held ? 0 : 2); /* that walks it needs neither of the last */
    vkt__dispatch(rec, f.held ? k->held : k->walked, spec, n, push, push_bytes, rows);
}

/* ---- softmax ---- */

static bool softmax_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[0]->shape, VKT_F32);
    return true;
}

static void softmax_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *x = n->in[0];
    struct softmax_params p = { .x = vkt__addr(rec, x),
                                .y = vkt__addr(rec, n->out[0]),
                                .rows = vkt__rows_of(x->shape),
                                .cols = vkt__last(x->shape) };
    const row_kernels k = { VKT_SHADER_SOFTMAX, VKT_SHADER_SOFTMAX_HELD, 3, 2 };
    row_dispatch(rec, &k, p.rows, p.cols, &p, sizeof p);
}

/* Largest of a row and the sum of exp(x - it); the sum is NaN where the row has no softmax. */
static double row_sum(const double *x, uint64_t V, double *top)
{
    double sum = 0;
    *top = -INFINITY;
    for (uint64_t c = 0; c < V; c++) *top = x[c] > *top ? x[c] : *top;
    for (uint64_t c = 0; c < V; c++) sum += exp(x[c] - *top);
    return isfinite(*top) ? sum : NAN;
}

static void softmax_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t rows = vkt__rows_of(n->in[0]->shape), V = vkt__last(n->in[0]->shape);
    for (uint64_t r = 0; r < rows; r++) {
        double top, sum = row_sum(in[0] + r * V, V, &top);
        for (uint64_t i = r * V; i < (r + 1) * V; i++) out[0][i] = exp(in[0][i] - top) / sum;
    }
}

static vkt_cost softmax_cost(const vkt_node *n)
{
    double count = (double)n->out[0]->count;
    vkt_cost c = { 5 * count, 4 * count * (n->in[1] ? 3 : 2) };
    return c;
}

/* The row's sum; exp of 3 + 2 |x| ulp (Vulkan), |x| to about 12. */
static double softmax_terms(const vkt_node *n)
{
    return vkt__last(n->in[0]->shape) + 128.0;
}

enum { DY, Y, N_BWD_IN };

static bool softmax_bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[Y]->shape, VKT_F32);
    return true;
}

static void softmax_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *y = n->in[Y];
    struct softmax_params p = { .dy = vkt__addr(rec, n->in[DY]),
                                .x = vkt__addr(rec, y),
                                .y = vkt__addr(rec, n->out[0]),
                                .rows = vkt__rows_of(y->shape),
                                .cols = vkt__last(y->shape) };
    const row_kernels k = { VKT_SHADER_SOFTMAX_BWD, VKT_SHADER_SOFTMAX_BWD_HELD, 2, 2 };
    row_dispatch(rec, &k, p.rows, p.cols, &p, sizeof p);
}

static void softmax_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t rows = vkt__rows_of(n->in[Y]->shape), V = vkt__last(n->in[Y]->shape);
    for (uint64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (uint64_t i = r * V; i < (r + 1) * V; i++) sum += in[DY][i] * in[Y][i];
        for (uint64_t i = r * V; i < (r + 1) * V; i++) out[0][i] = in[Y][i] * (in[DY][i] - sum);
    }
}

static vkt_tensor *softmax_bwd(vkt_graph *g, vkt_tensor *dy, vkt_tensor *y)
{
    return vkt__op(g, &vkt__op_softmax_bwd, (vkt_tensor *[]) { dy, y }, 2,
                   (vkt_attr) { .eltwise = { 0 } });
}

static void softmax_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[0])) dx[0] = softmax_bwd(g, vkt__real(g, dy[0], n->out[0]), n->out[0]);
}

static const struct {
    const char *name;
    uint32_t r, c;
} sizes[] = {
    { "one", 1, 1 },      { "three", 5, 3 },   { "digits", 128, 10 },      { "odd", 7, 129 },
    { "bytes", 33, 256 }, { "wide", 3, 5000 }, { "vocabulary", 2, 50257 }, { "tall", 70001, 2 },
    { "no rows", 0, 7 },
};

static const char *softmax_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_softmax(g, vkt__sample2(g, sizes[i].r, sizes[i].c));
    return sizes[i].name;
}

static const char *softmax_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    softmax_bwd(g, vkt__sample2(g, sizes[i].r, sizes[i].c),
                vkt_softmax(g, vkt__sample2(g, sizes[i].r, sizes[i].c)));
    return sizes[i].name;
}

const vkt_op vkt__op_softmax = { .name = "softmax",
                                 .n_in = 1,
                                 .n_out = 1,
                                 .in = { VKT_INPLACE },
                                 .out = { VKT_INPLACE },
                                 .shape = softmax_shape,
                                 .record = softmax_record,
                                 .grad = softmax_grad,
                                 .ref = softmax_ref,
                                 .cost = softmax_cost,
                                 .terms = softmax_terms,
                                 .sample = softmax_sample };
const vkt_op vkt__op_softmax_bwd = { .name = "softmax_bwd",
                                     .n_in = N_BWD_IN,
                                     .n_out = 1,
                                     .in = { [DY] = VKT_INPLACE },
                                     .out = { VKT_INPLACE },
                                     .shape = softmax_bwd_shape,
                                     .record = softmax_bwd_record,
                                     .ref = softmax_bwd_ref,
                                     .cost = softmax_cost,
                                     .terms = softmax_terms,
                                     .sample = softmax_bwd_sample };

vkt_tensor *vkt_softmax(vkt_graph *g, vkt_tensor *x)
{
    return vkt__op(g, &vkt__op_softmax, &x, 1, (vkt_attr) { .eltwise = { 0 } });
}

/* ---- softmax cross-entropy ----
 * Forward: logits, target, weight?, class weight?, its sum? -> loss, hit, top, lse, dlogits? The
 * sum is an input so that it is taken once. Gradient: those inputs, top, lse, dloss? -> dlogits in
 * the logits' memory: what training needs of the logits afterwards is two numbers a row. A rewrite
 * (rewrite_step.c) has the forward row write dlogits where dloss is 1 or known before, and then
 * its sixth input. Weights are constants:
 * asking for their gradient is an error. */

enum {
    LOGITS,
    TARGET,
    WEIGHT,
    CLASS_WEIGHT,
    CLASS_SUM,
    DLOSS_NOW = VKT_XENT_IN_DLOSS_NOW,
    TOP = VKT_XENT_IN_TOP,
    LSE,
    DLOSS = VKT_XENT_IN_DLOSS
};
enum { LOSS, HIT, OUT_TOP, OUT_LSE, DLOGITS = VKT_XENT_OUT_DLOGITS };

/* The rest of a row is padding, whose gradient is 0. */
static uint32_t classes_of(const vkt_node *n)
{
    uint32_t classes = n->attr.xent.classes;
    return classes ? classes : vkt__last(n->in[LOGITS]->shape);
}

static bool xent_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[LOGITS], *t = n->in[TARGET], *w = n->in[WEIGHT],
                     *cw = n->in[CLASS_WEIGHT];
    uint32_t R = vkt__rows_of(x->shape), V = classes_of(n);
    float e = n->attr.xent.smoothing;
    if (V > vkt__last(x->shape))
        return vkt__shape_error(n, "logits %s have no %u classes", vkt__text(x), V);
    if (t->count != R)
        return vkt__shape_error(n, "target %s must be [%u] u32 for logits %s", vkt__text(t), R,
                                vkt__text(x));
    if (w && w->count != R)
        return vkt__shape_error(n, "row weight %s must be [%u] for logits %s", vkt__text(w), R,
                                vkt__text(x));
    if (cw && cw->count != V)
        return vkt__shape_error(n, "class weight %s must be [%u] for logits %s", vkt__text(cw), V,
                                vkt__text(x));
    if (n->op == &vkt__op_softmax_xent && n->in[DLOSS_NOW] &&
        (n->in[DLOSS_NOW]->count != R || !n->attr.xent.slope))
        return vkt__shape_error(n, "gradient of the loss %s must be [%u] for logits %s",
                                vkt__text(n->in[DLOSS_NOW]), R, vkt__text(x));
    if (!(e >= 0 && e <= 1)) return vkt__shape_error(n, "smoothing %g is not in [0, 1]", (double)e);
    for (uint32_t i = 0; i < DLOGITS; i++) vkt__out(n, i, vkt_shape1(R), VKT_F32);
    if (n->attr.xent.slope) vkt__out(n, DLOGITS, x->shape, VKT_F32);
    return true;
}

static struct xent_params xent_params(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *x = n->in[LOGITS];
    struct xent_params p = { .logits = vkt__addr(rec, x),
                             .target = vkt__addr(rec, n->in[TARGET]),
                             .weight = vkt__addr_or(rec, n->in[WEIGHT], x),
                             .class_weight = vkt__addr_or(rec, n->in[CLASS_WEIGHT], x),
                             .class_sum = vkt__addr_or(rec, n->in[CLASS_SUM], x),
                             .dloss = vkt__addr_or(rec, n->in[DLOSS], x),
                             .rows = vkt__rows_of(x->shape),
                             .cols = classes_of(n),
                             .pitch = vkt__last(x->shape),
                             .ignore = n->attr.xent.ignore,
                             .smoothing = n->attr.xent.smoothing };
    p.flags =
        (n->in[WEIGHT] ? VKT_XENT_WEIGHT : 0) | (n->in[CLASS_WEIGHT] ? VKT_XENT_CLASS_WEIGHT : 0);
    return p;
}

static void xent_record(vkt__rec *rec, const vkt_node *n)
{
    struct xent_params p = xent_params(rec, n);
    p.loss = vkt__addr(rec, n->out[LOSS]);
    p.hit = vkt__addr(rec, n->out[HIT]);
    p.top = vkt__addr(rec, n->out[OUT_TOP]);
    p.lse = vkt__addr(rec, n->out[OUT_LSE]);
    p.dlogits = vkt__addr(rec, n->out[DLOGITS]);
    if (n->out[DLOGITS]) p.flags |= VKT_XENT_DLOGITS;
    p.dloss = vkt__addr_or(rec, n->in[DLOSS_NOW], n->in[LOGITS]);
    if (n->in[DLOSS_NOW]) p.flags |= VKT_XENT_DLOSS;
    enum { PASSES = 2, ARRAYS = 4 };
    enum { NUMBERS = 48 }; /* of two fours and of what is known of the row */
    vkt__row_form f = vkt__row_form_of(rec->caps, p.cols, PASSES, ARRAYS);
    uint32_t type = n->out[DLOGITS] ? vkt__type(n->out[DLOGITS]) : VKT_F32;
    vkt__shader shader = f.held ? VKT_SHADER_SOFTMAX_XENT_HELD : VKT_SHADER_SOFTMAX_XENT;
    bool fits = f.held && (type == VKT_F32 || f.wide) && p.cols == p.pitch;
    if (rec->caps->klass != VKT_GPU_CLASS_CPU && !fits) {
        shader = VKT_SHADER_SOFTMAX_XENT_ONLINE;
        f = vkt__row_form_walked(rec->caps, p.cols, 1, NUMBERS);
        f.wide = p.pitch % 4 == 0;
    }
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, f.wg },  { VKT_SPEC_LANES, f.lanes },
                                   { VKT_SPEC_REDUCE, f.reduce }, { VKT_SPEC_TYPE_DX, type },
                                   { VKT_SPEC_WIDE, f.wide },     { VKT_SPEC_PER, f.per } };
    uint32_t n_spec = VKT_COUNT(spec) - (f.held ? 0 : 1);
    vkt__dispatch(rec, shader, spec, n_spec, &p, sizeof p, p.rows);
}

static bool row_counts(const vkt_node *n, double target)
{
    return target < classes_of(n) &&
           (n->attr.xent.ignore == 0 || target != n->attr.xent.ignore - 1.0);
}

/* dlogits, of rows whose top and lse are known. */
static void slope_ref(const vkt_node *n, double *const *in, const double *top, const double *lse,
                      const double *dloss, double *dlogits)
{
    uint64_t rows = vkt__rows_of(n->in[LOGITS]->shape), pitch = vkt__last(n->in[LOGITS]->shape),
             V = classes_of(n);
    double e = (double)n->attr.xent.smoothing;
    for (uint64_t i = 0; i < rows * pitch; i++) {
        uint64_t r = i / pitch, c = i % pitch;
        dlogits[i] = 0;
        if (c >= V || !row_counts(n, in[TARGET][r])) continue;
        uint64_t t = (uint64_t)in[TARGET][r];
        const double *cw = in[CLASS_WEIGHT];
        double p = exp(in[LOGITS][i] - top[r] - lse[r]),
               k = (in[WEIGHT] ? in[WEIGHT][r] : 1) * (dloss ? dloss[r] : 1);
        double sum = in[CLASS_SUM] ? in[CLASS_SUM][0] : (double)V;
        dlogits[i] = k * ((1 - e) * (cw ? cw[t] : 1) * (p - (c == t)) +
                          e / (double)V * (p * sum - (cw ? cw[c] : 1)));
    }
}

static void xent_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t rows = vkt__rows_of(n->in[LOGITS]->shape), pitch = vkt__last(n->in[LOGITS]->shape),
             V = classes_of(n);
    double e = (double)n->attr.xent.smoothing;
    for (uint64_t r = 0; r < rows; r++) {
        const double *x = in[LOGITS] + r * pitch, *cw = in[CLASS_WEIGHT];
        double top, lse = log(row_sum(x, V, &top)), loss = 0, smooth = 0;
        uint64_t best = 0;
        for (uint64_t c = 1; c < V; c++) best = x[c] > x[best] ? c : best;
        if (row_counts(n, in[TARGET][r])) {
            uint64_t t = (uint64_t)in[TARGET][r];
            loss = (1 - e) * (cw ? cw[t] : 1) * (lse + top - x[t]);
            for (uint64_t c = 0; c < V && e > 0; c++)
                smooth += (cw ? cw[c] : 1) * (lse + top - x[c]);
            loss = (in[WEIGHT] ? in[WEIGHT][r] : 1) * (loss + e / (double)V * smooth);
            out[HIT][r] = !isnan(lse) && best == t;
        } else {
            out[HIT][r] = 0;
        }
        out[LOSS][r] = loss;
        out[OUT_TOP][r] = top;
        out[OUT_LSE][r] = lse;
    }
    if (out[DLOGITS]) slope_ref(n, in, out[OUT_TOP], out[OUT_LSE], in[DLOSS_NOW], out[DLOGITS]);
}

static vkt_cost xent_cost(const vkt_node *n)
{
    return (vkt_cost) { 6 * (double)n->in[LOGITS]->count, vkt__node_bytes(n) };
}

static bool xent_bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[LOGITS]->shape, VKT_F32);
    return true;
}

static void xent_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct xent_params p = xent_params(rec, n);
    p.top = vkt__addr(rec, n->in[TOP]);
    p.lse = vkt__addr(rec, n->in[LSE]);
    p.dlogits = vkt__addr(rec, n->out[0]);
    if (n->in[DLOSS]) p.flags |= VKT_XENT_DLOSS;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, vkt__row_workgroup(rec->caps, p.cols, 1) },
                                   { VKT_SPEC_TYPE_DX, vkt__type(n->out[0]) } };
    vkt__dispatch(rec, VKT_SHADER_SOFTMAX_XENT_BWD, spec, VKT_COUNT(spec), &p, sizeof p, p.rows);
}

static void xent_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    slope_ref(n, in, in[TOP], in[LSE], in[DLOSS], out[0]);
}

static vkt_tensor *xent_bwd(vkt_graph *g, const vkt_node *f, vkt_tensor *dloss)
{
    vkt_tensor *in[] = { f->in[LOGITS],    f->in[TARGET],   f->in[WEIGHT],   f->in[CLASS_WEIGHT],
                         f->in[CLASS_SUM], f->out[OUT_TOP], f->out[OUT_LSE], dloss };
    return vkt__op(g, &vkt__op_softmax_xent_bwd, in, VKT_COUNT(in), f->attr);
}

static void xent_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if ((vkt__needs(n->in[WEIGHT]) || vkt__needs(n->in[CLASS_WEIGHT])) && dy[0]) {
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g },
                         "no gradient with respect to weights: they are constants");
        return;
    }
    if (vkt__needs(n->in[LOGITS]) && dy[0])
        dx[LOGITS] = xent_bwd(g, n, vkt__is_ones(dy[0]) ? NULL : dy[0]);
}

/* What a case has beyond logits and targets. */
enum {
    HAS_WEIGHT = 1,
    HAS_CLASS_WEIGHT = 2,
    HAS_SMOOTHING = 4,
    HAS_IGNORE = 8,
    HAS_DLOSS = 16,
    HAS_TIES = 32,
    HAS_LARGE = 64,
    HAS_PADDING = 128
};
static const struct {
    const char *name;
    uint32_t r, c, has;
} xents[] = {
    { "one", 1, 1, 0 },
    { "three", 5, 3, HAS_DLOSS },
    { "digits", 128, 10, HAS_WEIGHT },
    { "class weights", 65, 7, HAS_CLASS_WEIGHT },
    { "smoothing", 65, 33, HAS_SMOOTHING },
    { "everything", 100, 129,
      HAS_WEIGHT | HAS_CLASS_WEIGHT | HAS_SMOOTHING | HAS_IGNORE | HAS_DLOSS },
    { "ties", 64, 5, HAS_TIES },
    { "large logits", 400, 50, HAS_LARGE },
    { "wide", 3, 5000, HAS_CLASS_WEIGHT | HAS_SMOOTHING },
    { "long", 3, 12288, HAS_SMOOTHING | HAS_DLOSS },
    { "long and odd", 3, 9001, HAS_WEIGHT | HAS_CLASS_WEIGHT | HAS_LARGE },
    { "long and even", 3, 9002, HAS_CLASS_WEIGHT | HAS_IGNORE },
    { "padded", 9, 61, HAS_CLASS_WEIGHT | HAS_SMOOTHING | HAS_IGNORE | HAS_PADDING },
    { "long and padded", 3, 9009, HAS_WEIGHT | HAS_CLASS_WEIGHT | HAS_SMOOTHING | HAS_PADDING },
    { "vocabulary", 2, 50257, 0 },
    { "tall", 70001, 2, HAS_WEIGHT },
    { "no rows", 0, 7, HAS_WEIGHT },
};

static const vkt_node *sample_xent(vkt_graph *g, uint32_t i, vkt_tensor **dloss)
{
    uint32_t R = xents[i].r, V = xents[i].c, has = xents[i].has;
    vkt_tensor *x = vkt__sample2(g, R, has & HAS_PADDING ? (uint32_t)vkt__align(V, 8) : V);
    if (has & HAS_TIES) x = vkt_scale(g, x, 0.0f);
    if (has & HAS_LARGE) x = vkt_scale(g, x, 32.0f); /* beyond exp's range */
    vkt_tensor *t =
        vkt__sample(g, vkt_shape1(R), VKT_U32, VKT_HINT_INDEX, has & HAS_IGNORE ? V + V / 8 : V);
    vkt_tensor *w =
        has & HAS_WEIGHT ? vkt__sample(g, vkt_shape1(R), VKT_F32, VKT_HINT_POSITIVE, 0) : NULL;
    vkt_tensor *cw = has & HAS_CLASS_WEIGHT
                         ? vkt__sample(g, vkt_shape1(V), VKT_F32, VKT_HINT_POSITIVE, 0)
                         : NULL;
    *dloss = has & HAS_DLOSS ? vkt__sample1(g, R) : NULL;
    vkt_tensor *sum = cw && has & HAS_SMOOTHING ? vkt_sum(g, cw) : NULL;
    vkt_attr attr = { .xent = { .smoothing = has & HAS_SMOOTHING ? 0.1f : 0.0f,
                                .ignore = has & HAS_IGNORE ? 4 : 0,
                                .classes = has & HAS_PADDING ? V : 0 } };
    return vkt__node(g, &vkt__op_softmax_xent, (vkt_tensor *[]) { x, t, w, cw, sum }, 5, attr);
}

/* The same with dlogits from the forward row; neither the tall nor the longest. */
static const char *sample_slope(vkt_graph *g, uint32_t i)
{
    static char name[64];
    vkt_tensor *dloss;
    if (i >= VKT_COUNT(xents) - 3) return NULL;
    const vkt_node *f = sample_xent(g, i, &dloss);
    vkt_attr attr = f->attr;
    attr.xent.slope = true;
    vkt_tensor *in[DLOSS_NOW + 1] = { [DLOSS_NOW] = dloss };
    memcpy(in, f->in, DLOSS_NOW * sizeof *in);
    vkt__op(g, f->op, in, VKT_COUNT(in), attr);
    snprintf(name, sizeof name, "%s, with its gradient", xents[i].name);
    return name;
}

static const char *xent_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    vkt_tensor *dloss;
    if (i >= VKT_COUNT(xents)) return sample_slope(g, i - VKT_COUNT(xents));
    sample_xent(g, i, &dloss);
    return xents[i].name;
}

static const char *xent_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    vkt_tensor *dloss;
    if (i >= VKT_COUNT(xents)) return NULL;
    /* Of other targets than the loss's, or a rewrite makes both one node. */
    uint32_t V = xents[i].c, has = xents[i].has;
    vkt_node f = *sample_xent(g, i, &dloss);
    f.in[TARGET] = vkt__sample(g, vkt_shape1(xents[i].r), VKT_U32, VKT_HINT_INDEX,
                               has & HAS_IGNORE ? V + V / 8 : V);
    xent_bwd(g, &f, dloss);
    return xents[i].name;
}

const vkt_op vkt__op_softmax_xent = { .name = "softmax_xent",
                                      .n_in = 6,
                                      .n_out = 5,
                                      .in = { [LOGITS] = VKT_INPLACE,
                                              [TARGET] = VKT_WORDS,
                                              [WEIGHT] = VKT_OPTIONAL,
                                              [CLASS_WEIGHT] = VKT_OPTIONAL,
                                              [CLASS_SUM] = VKT_OPTIONAL,
                                              [DLOSS_NOW] = VKT_OPTIONAL },
                                      .out = { [DLOGITS] = VKT_INPLACE | VKT_NARROW },
                                      .shape = xent_shape,
                                      .record = xent_record,
                                      .grad = xent_grad,
                                      .ref = xent_ref,
                                      .cost = xent_cost,
                                      .terms = softmax_terms,
                                      .sample = xent_sample };
const vkt_op vkt__op_softmax_xent_bwd = { .name = "softmax_xent_bwd",
                                          .n_in = 8,
                                          .n_out = 1,
                                          .in = { [LOGITS] = VKT_INPLACE,
                                                  [TARGET] = VKT_WORDS,
                                                  [WEIGHT] = VKT_OPTIONAL,
                                                  [CLASS_WEIGHT] = VKT_OPTIONAL,
                                                  [CLASS_SUM] = VKT_OPTIONAL,
                                                  [DLOSS] = VKT_OPTIONAL },
                                          .out = { VKT_INPLACE | VKT_NARROW },
                                          .shape = xent_bwd_shape,
                                          .record = xent_bwd_record,
                                          .ref = xent_bwd_ref,
                                          .cost = xent_cost,
                                          .terms = softmax_terms,
                                          .sample = xent_bwd_sample };

vkt_loss vkt_softmax_xent(vkt_graph *g, vkt_tensor *logits, vkt_tensor *target, vkt_tensor *weight,
                          vkt_tensor *class_weight, const vkt_xent_desc *desc)
{
    const vkt_xent_desc none = { 0 };
    if (!desc) desc = &none;
    vkt_tensor *sum = class_weight && desc->smoothing > 0 ? vkt_sum(g, class_weight) : NULL;
    vkt_attr attr = { .xent = { .smoothing = desc->smoothing,
                                .ignore =
                                    desc->ignore_index.given ? desc->ignore_index.n + 1 : 0 } };
    vkt_node *n =
        vkt__node(g, &vkt__op_softmax_xent,
                  (vkt_tensor *[]) { logits, target, weight, class_weight, sum }, 5, attr);
    return n ? (vkt_loss) { n->out[LOSS], n->out[HIT] }
             : (vkt_loss) { vkt__inert(g), vkt__inert(g) };
}
