/* Losses of rows that are no softmax: means over elements, x, y [R, C] -> loss [R]; and the focal
 * loss, which is a function of each row's cross-entropy. */
#include <math.h>

#include "tensor/graph/cost.h"
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

static bool weights_have_none(const vkt_node *n, const vkt_tensor *w)
{
    if (!vkt__needs(w)) return true;
    vkt__shape_error(&(vkt_node) { .op = n->op, .g = n->g },
                     "no gradient with respect to weights: they are constants");
    return false;
}

/* ---- means over elements ---- */

enum { X, Y, WEIGHT, POSITIVE, DLOSS, N_INPUTS };

static bool element_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[X], *y = n->in[Y], *w = n->in[WEIGHT], *p = n->in[POSITIVE];
    bool huber = n->attr.element_loss.kind == VKT_LOSS_HUBER;
    if (!vkt__shape_equal(x->shape, y->shape))
        return vkt__shape_error(n, "%s and %s must have one shape", vkt__text(x), vkt__text(y));
    uint32_t R = vkt__rows_of(x->shape);
    if (w && w->count != R)
        return vkt__shape_error(n, "row weight %s must be [%u] for %s", vkt__text(w), R,
                                vkt__text(x));
    if (p && (p->count != vkt__last(x->shape) || n->attr.element_loss.kind != VKT_LOSS_BCE))
        return vkt__shape_error(n, "weight of positives %s must be [%u], of bce", vkt__text(p),
                                vkt__last(x->shape));
    if (huber && !(n->attr.element_loss.delta > 0))
        return vkt__shape_error(n, "delta %g is not above 0", (double)n->attr.element_loss.delta);
    vkt__out(n, 0, vkt_shape1(R), VKT_F32);
    return true;
}

static struct element_loss_params element_params(vkt__rec *rec, const vkt_node *n)
{
    struct element_loss_params p = { .x = vkt__addr(rec, n->in[X]),
                                     .y = vkt__addr(rec, n->in[Y]),
                                     .weight = vkt__addr_or(rec, n->in[WEIGHT], n->in[X]),
                                     .positive = vkt__addr_or(rec, n->in[POSITIVE], n->in[X]),
                                     .dloss = vkt__addr_or(rec, n->in[DLOSS], n->in[X]),
                                     .z = vkt__addr(rec, n->out[0]),
                                     .rows = vkt__rows_of(n->in[X]->shape),
                                     .cols = vkt__last(n->in[X]->shape),
                                     .delta = n->attr.element_loss.delta };
    p.flags = (n->in[WEIGHT] ? VKT_XENT_WEIGHT : 0) |
              (n->in[POSITIVE] ? VKT_XENT_CLASS_WEIGHT : 0) | (n->in[DLOSS] ? VKT_XENT_DLOSS : 0);
    return p;
}

static void element_record(vkt__rec *rec, const vkt_node *n)
{
    struct element_loss_params p = element_params(rec, n);
    uint32_t wg = vkt__row_workgroup(rec->caps, p.cols, 1);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) },
                                   { VKT_SPEC_LOSS, (uint32_t)n->attr.element_loss.kind } };
    vkt__dispatch(rec, VKT_SHADER_ELEMENT_LOSS, spec, VKT_COUNT(spec), &p, sizeof p, p.rows);
}

static double loss_of(const vkt_attr *a, double x, double y, double positive)
{
    double d = x - y, delta = (double)a->element_loss.delta;
    switch (a->element_loss.kind) {
    case VKT_LOSS_MSE:
        return d * d;
    case VKT_LOSS_HUBER:
        return fabs(d) <= delta ? d * d / 2 : delta * (fabs(d) - delta / 2);
    case VKT_LOSS_BCE:
        break;
    }
    return (1 - y) * x + (1 + (positive - 1) * y) * (fmax(-x, 0) + log1p(exp(-fabs(x))));
}

static double slope_of(const vkt_attr *a, double x, double y, double positive)
{
    double d = x - y, delta = (double)a->element_loss.delta;
    switch (a->element_loss.kind) {
    case VKT_LOSS_MSE:
        return 2 * d;
    case VKT_LOSS_HUBER:
        return fmin(fmax(d, -delta), delta);
    case VKT_LOSS_BCE:
        break;
    }
    return (1 - y) - (1 + (positive - 1) * y) / (1 + exp(x));
}

static void element_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t C = vkt__last(n->in[X]->shape);
    for (uint64_t r = 0; r < n->out[0]->count; r++) {
        double sum = 0;
        for (uint64_t i = r * C; i < (r + 1) * C; i++)
            sum += loss_of(&n->attr, in[X][i], in[Y][i], in[POSITIVE] ? in[POSITIVE][i % C] : 1);
        out[0][r] = (in[WEIGHT] ? in[WEIGHT][r] : 1) * sum / (double)C;
    }
}

/* exp and log for each element, where there are any. */
static vkt_cost element_cost(const vkt_node *n)
{
    double each = n->attr.element_loss.kind == VKT_LOSS_BCE ? 10 : 3;
    return (vkt_cost) { each * (double)n->in[X]->count, vkt__node_bytes(n) };
}

/* The row's sum; of bce exp and log of some ulp more (Vulkan: 3 + 2 |x|, |x| to about 12). */
static double element_terms(const vkt_node *n)
{
    return vkt__last(n->in[X]->shape) + (n->attr.element_loss.kind == VKT_LOSS_BCE ? 128.0 : 8.0);
}

static bool element_bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[X]->shape, VKT_F32);
    return true;
}

static void element_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct element_loss_params p = element_params(rec, n);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256), unit = n->out[0]->dtype == VKT_F32 ? 1 : 2;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_DX, vkt__type(n->out[0]) },
                                   { VKT_SPEC_LOSS, (uint32_t)n->attr.element_loss.kind } };
    vkt__dispatch(rec, VKT_SHADER_ELEMENT_LOSS_BWD, spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[0]->count / unit + wg - 1) / wg);
}

static void element_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t C = vkt__last(n->in[X]->shape);
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[0][i] = slope_of(&n->attr, in[X][i], in[Y][i], in[POSITIVE] ? in[POSITIVE][i % C] : 1) /
                    (double)C * (in[WEIGHT] ? in[WEIGHT][i / C] : 1) *
                    (in[DLOSS] ? in[DLOSS][i / C] : 1);
}

/* Losses of a difference are the same from the other side. */
static vkt_tensor *element_bwd(vkt_graph *g, const vkt_node *f, vkt_tensor *dloss, bool of_y)
{
    return vkt__op(
        g, &vkt__op_element_loss_bwd,
        (vkt_tensor *[]) { f->in[of_y], f->in[!of_y], f->in[WEIGHT], f->in[POSITIVE], dloss },
        N_INPUTS, f->attr);
}

static void element_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *dloss = vkt__is_ones(dy[0]) ? NULL : dy[0];
    if (!weights_have_none(n, n->in[WEIGHT]) || !weights_have_none(n, n->in[POSITIVE])) return;
    if (n->attr.element_loss.kind == VKT_LOSS_BCE && vkt__needs(n->in[Y])) {
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g },
                         "no gradient of bce with respect to its target");
        return;
    }
    if (vkt__needs(n->in[X])) dx[0] = element_bwd(g, n, dloss, false);
    if (vkt__needs(n->in[Y])) dx[1] = element_bwd(g, n, dloss, true);
}

static const struct {
    const char *name;
    uint32_t r, c;
} sizes[] = {
    { "one", 1, 1 },      { "three", 5, 3 },   { "digits", 128, 10 }, { "odd", 7, 129 },
    { "bytes", 33, 256 }, { "wide", 3, 5000 }, { "tall", 70001, 2 },  { "no rows", 0, 7 },
};
/* Every size of the mean squared error; of the others a few. */
static const struct {
    const char *name;
    vkt_element_loss kind;
    uint32_t r, c;
    bool weight, positive;
    float delta;
} others[] = {
    { "huber", VKT_LOSS_HUBER, 9, 5, true, false, 1 },
    { "huber of large errors", VKT_LOSS_HUBER, 33, 1, false, false, 0.25f },
    { "bce", VKT_LOSS_BCE, 17, 6, true, false, 0 },
    { "bce of rare labels", VKT_LOSS_BCE, 5, 130, false, true, 0 },
};

/* The i-th case: NULL past the last. */
static const char *element_case(vkt_graph *g, uint32_t i, vkt_node **f)
{
    bool plain = i < VKT_COUNT(sizes);
    uint32_t k = plain ? 0 : i - (uint32_t)VKT_COUNT(sizes);
    if (k >= VKT_COUNT(others)) return NULL;
    uint32_t R = plain ? sizes[i].r : others[k].r, C = plain ? sizes[i].c : others[k].c;
    vkt_attr attr = { .element_loss = { plain ? VKT_LOSS_MSE : others[k].kind,
                                        plain ? 0 : others[k].delta } };
    bool bce = attr.element_loss.kind == VKT_LOSS_BCE;
    vkt_tensor *x = vkt__sample2(g, R, C),
               *y = vkt__sample(g, vkt_shape2(R, C), VKT_F32,
                                bce ? VKT_HINT_POSITIVE : VKT_HINT_NORMAL, 0),
               *w = (plain ? i % 2 : others[k].weight)
                        ? vkt__sample(g, vkt_shape1(R), VKT_F32, VKT_HINT_POSITIVE, 0)
                        : NULL,
               *p = !plain && others[k].positive
                        ? vkt__sample(g, vkt_shape1(C), VKT_F32, VKT_HINT_POSITIVE, 0)
                        : NULL;
    *f = vkt__node(g, &vkt__op_element_loss, (vkt_tensor *[]) { x, y, w, p, NULL }, N_INPUTS, attr);
    return plain ? sizes[i].name : others[k].name;
}

static const char *element_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    vkt_node *f;
    return element_case(g, i, &f);
}

static const char *element_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    vkt_node *f = NULL;
    const char *name = element_case(g, i, &f);
    if (name) element_bwd(g, f, i % 3 ? vkt__sample1(g, (uint32_t)f->out[0]->count) : NULL, false);
    return name;
}

const vkt_op vkt__op_element_loss = {
    .name = "element_loss",
    .n_in = N_INPUTS,
    .n_out = 1,
    .in = { [WEIGHT] = VKT_OPTIONAL, [POSITIVE] = VKT_OPTIONAL, [DLOSS] = VKT_OPTIONAL },
    .shape = element_shape,
    .record = element_record,
    .grad = element_grad,
    .ref = element_ref,
    .cost = element_cost,
    .terms = element_terms,
    .sample = element_sample
};
const vkt_op vkt__op_element_loss_bwd = { .name = "element_loss_bwd",
                                          .n_in = N_INPUTS,
                                          .n_out = 1,
                                          .in = { [X] = VKT_INPLACE,
                                                  [Y] = VKT_INPLACE,
                                                  [WEIGHT] = VKT_OPTIONAL,
                                                  [POSITIVE] = VKT_OPTIONAL,
                                                  [DLOSS] = VKT_OPTIONAL },
                                          .out = { VKT_INPLACE | VKT_NARROW },
                                          .shape = element_bwd_shape,
                                          .record = element_bwd_record,
                                          .ref = element_bwd_ref,
                                          .cost = element_cost,
                                          .terms = element_terms,
                                          .sample = element_bwd_sample };

vkt_loss vkt_element_losses(vkt_graph *g, vkt_tensor *x, vkt_tensor *y,
                            const vkt_element_loss_desc *desc)
{
    vkt_attr attr = { .element_loss = { desc->kind, desc->delta } };
    return (vkt_loss) { .loss =
                            vkt__op(g, &vkt__op_element_loss,
                                    (vkt_tensor *[]) { x, y, desc->weight, desc->positive, NULL },
                                    N_INPUTS, attr) };
}

vkt_loss vkt_mse(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *weight)
{
    return vkt_element_losses(g, x, y, &(vkt_element_loss_desc) { VKT_LOSS_MSE, weight, NULL, 0 });
}

/* ---- focal ---- */

enum { CE, TARGET, ROW_WEIGHT, CLASS_WEIGHT, DFOCAL, N_FOCAL };

static bool focal_shape(vkt_node *n)
{
    const vkt_tensor *l = n->in[CE], *t = n->in[TARGET], *w = n->in[ROW_WEIGHT];
    if (w && w->count != l->count)
        return vkt__shape_error(n, "row weight %s must be [%llu]", vkt__text(w),
                                (unsigned long long)l->count);
    if (n->in[CLASS_WEIGHT] && (!t || t->count != l->count))
        return vkt__shape_error(n, "class weights need a target [%llu] u32",
                                (unsigned long long)l->count);
    if (!(n->attr.focal.gamma >= 0))
        return vkt__shape_error(n, "gamma %g is below 0", (double)n->attr.focal.gamma);
    vkt__out(n, 0, l->shape, VKT_F32);
    return true;
}

static void focal_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *l = n->in[CE], *cw = n->in[CLASS_WEIGHT];
    struct focal_params p = { .loss = vkt__addr(rec, l),
                              .target = vkt__addr_or(rec, n->in[TARGET], l),
                              .weight = vkt__addr_or(rec, n->in[ROW_WEIGHT], l),
                              .class_weight = vkt__addr_or(rec, cw, l),
                              .dloss = vkt__addr_or(rec, n->in[DFOCAL], l),
                              .z = vkt__addr(rec, n->out[0]),
                              .rows = (uint32_t)l->count,
                              .classes = cw ? (uint32_t)cw->count : 0,
                              .gamma = n->attr.focal.gamma };
    p.flags = (n->in[ROW_WEIGHT] ? VKT_XENT_WEIGHT : 0) | (cw ? VKT_XENT_CLASS_WEIGHT : 0) |
              (n->in[DFOCAL] ? VKT_XENT_DLOSS : 0) |
              (n->op == &vkt__op_focal_bwd ? VKT_FOCAL_SLOPE : 0);
    vkt__dispatch_each(rec, VKT_SHADER_FOCAL, &p, sizeof p, p.rows, 256);
}

static double focal_weight(const vkt_node *n, double *const *in, uint64_t r)
{
    double k = in[ROW_WEIGHT] ? in[ROW_WEIGHT][r] : 1;
    if (!in[CLASS_WEIGHT]) return k;
    double t = in[TARGET][r];
    return t < (double)n->in[CLASS_WEIGHT]->count ? k * in[CLASS_WEIGHT][(uint64_t)t] : 0;
}

static void focal_ref(const vkt_node *n, double *const *in, double *const *out)
{
    double gamma = (double)n->attr.focal.gamma;
    for (uint64_t r = 0; r < n->out[0]->count; r++) {
        double l = fmax(in[CE][r], 0);
        out[0][r] = focal_weight(n, in, r) * pow(-expm1(-l), gamma) * l;
    }
}

static void focal_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    double gamma = (double)n->attr.focal.gamma;
    for (uint64_t r = 0; r < n->out[0]->count; r++) {
        double l = fmax(in[CE][r], 0), q = -expm1(-l);
        out[0][r] = focal_weight(n, in, r) * (in[DFOCAL] ? in[DFOCAL][r] : 1) * pow(q, gamma) *
                    (1 + gamma * (1 - q) * (q > 0 ? l / q : 1));
    }
}

static vkt_cost focal_cost(const vkt_node *n)
{
    return (vkt_cost) { 12 * (double)n->in[CE]->count, vkt__node_bytes(n) };
}

/* log2 of q to about -10 times gamma, then exp2 of it: 3 + 2 |x| ulp. */
static double focal_terms(const vkt_node *n)
{
    double x = 16 * (1 + (double)n->attr.focal.gamma);
    return x * x;
}

static vkt_tensor *focal_bwd(vkt_graph *g, const vkt_node *f, vkt_tensor *dloss)
{
    return vkt__op(g, &vkt__op_focal_bwd,
                   (vkt_tensor *[]) { f->in[CE], f->in[TARGET], f->in[ROW_WEIGHT],
                                      f->in[CLASS_WEIGHT], dloss },
                   N_FOCAL, f->attr);
}

static void focal_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (!weights_have_none(n, n->in[ROW_WEIGHT]) || !weights_have_none(n, n->in[CLASS_WEIGHT]))
        return;
    if (vkt__needs(n->in[CE])) dx[CE] = focal_bwd(g, n, vkt__is_ones(dy[0]) ? NULL : dy[0]);
}

static const struct {
    const char *name;
    uint32_t r;
    bool weight, classes;
    float gamma;
} focals[] = {
    { "one", 1, false, false, 2 },        { "weighted", 129, true, false, 2 },
    { "classes", 300, true, true, 1.5f }, { "cross-entropy", 7, false, false, 0 },
    { "none", 0, false, false, 2 },
};

/* The loss is above 0, as those that a model gives are. */
static const char *focal_case(vkt_graph *g, uint32_t i, vkt_node **f)
{
    enum { CLASSES = 5 };
    if (i >= VKT_COUNT(focals)) return NULL;
    vkt_shape rows = vkt_shape1(focals[i].r);
    vkt_tensor *l = vkt__sample(g, rows, VKT_F32, VKT_HINT_POSITIVE, 0), *t = NULL, *w = NULL,
               *cw = NULL;
    if (focals[i].weight) w = vkt__sample(g, rows, VKT_F32, VKT_HINT_POSITIVE, 0);
    if (focals[i].classes) {
        t = vkt__sample(g, rows, VKT_U32, VKT_HINT_INDEX, CLASSES + 1);
        cw = vkt__sample(g, vkt_shape1(CLASSES), VKT_F32, VKT_HINT_POSITIVE, 0);
    }
    *f = vkt__node(g, &vkt__op_focal, (vkt_tensor *[]) { l, t, w, cw, NULL }, N_FOCAL,
                   (vkt_attr) { .focal = { focals[i].gamma } });
    return focals[i].name;
}

static const char *focal_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    vkt_node *f;
    return focal_case(g, i, &f);
}

static const char *focal_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    vkt_node *f = NULL;
    const char *name = focal_case(g, i, &f);
    if (name) focal_bwd(g, f, i % 2 ? vkt__sample1(g, focals[i].r) : NULL);
    return name;
}

const vkt_op vkt__op_focal = { .name = "focal",
                               .n_in = N_FOCAL,
                               .n_out = 1,
                               .in = { [TARGET] = VKT_OPTIONAL | VKT_WORDS,
                                       [ROW_WEIGHT] = VKT_OPTIONAL,
                                       [CLASS_WEIGHT] = VKT_OPTIONAL,
                                       [DFOCAL] = VKT_OPTIONAL },
                               .shape = focal_shape,
                               .record = focal_record,
                               .grad = focal_grad,
                               .ref = focal_ref,
                               .cost = focal_cost,
                               .terms = focal_terms,
                               .sample = focal_sample };
const vkt_op vkt__op_focal_bwd = { .name = "focal_bwd",
                                   .n_in = N_FOCAL,
                                   .n_out = 1,
                                   .in = { [TARGET] = VKT_OPTIONAL | VKT_WORDS,
                                           [ROW_WEIGHT] = VKT_OPTIONAL,
                                           [CLASS_WEIGHT] = VKT_OPTIONAL,
                                           [DFOCAL] = VKT_OPTIONAL },
                                   .shape = focal_shape,
                                   .record = focal_record,
                                   .ref = focal_bwd_ref,
                                   .cost = focal_cost,
                                   .terms = focal_terms,
                                   .sample = focal_bwd_sample };

vkt_tensor *vkt_focal(vkt_graph *g, vkt_tensor *ce, const vkt_focal_desc *desc)
{
    return vkt__op(g, &vkt__op_focal,
                   (vkt_tensor *[]) { ce, desc->target, desc->weight, desc->class_weight, NULL },
                   N_FOCAL, (vkt_attr) { .focal = { desc->gamma } });
}
