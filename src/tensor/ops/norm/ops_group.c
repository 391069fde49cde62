/* Group norm rows: each image's channels in groups to mean 0 and variance 1. Kernels
 * group_norm*.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

static struct group_norm_params params(const vkt_node *n, const vkt_tensor *x)
{
    struct group_norm_params p = { .groups = n->attr.group.groups,
                                   .cols = vkt__last(x->shape),
                                   .eps = n->attr.group.eps };
    p.n = x->shape.d[0] * p.groups;
    p.width = p.cols / p.groups;
    p.pixels = x->shape.d[0] ? vkt__rows_of(x->shape) / x->shape.d[0] : 0;
    return p;
}

static void dispatch(vkt__rec *rec, vkt__shader kernel, const struct group_norm_params *p,
                     uint32_t passes)
{
    uint32_t wg = vkt__row_workgroup(rec->caps, p->pixels * p->width, passes);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) } };
    vkt__dispatch(rec, kernel, spec, VKT_COUNT(spec), p, sizeof *p, p->n);
}

/* Element k of the group with number i, in x. */
static uint64_t place(const struct group_norm_params *p, uint64_t i, uint64_t k, uint64_t *c)
{
    *c = i % p->groups * p->width + k % p->width;
    return (i / p->groups * p->pixels + k / p->width) * p->cols + *c;
}

/* ---- forward: x [N, ..., C], w, b [C] -> y, mean, rstd [N groups] ---- */

static bool norm_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[0];
    uint32_t C = vkt__last(x->shape), groups = n->attr.group.groups;
    if (x->shape.rank < 2) return vkt__shape_error(n, "%s must be [N, ..., C]", vkt__text(x));
    if (!groups || C % groups)
        return vkt__shape_error(n, "%u groups do not divide the channels of %s", groups,
                                vkt__text(x));
    for (uint32_t i = 1; i < 3; i++)
        if (n->in[i]->shape.rank != 1 || n->in[i]->shape.d[0] != C)
            return vkt__shape_error(n, "%s %s must be [%u]", i == 1 ? "weight" : "bias",
                                    vkt__text(n->in[i]), C);
    vkt__out(n, 0, x->shape, VKT_F32);
    for (uint32_t i = 1; i < 3; i++) vkt__out(n, i, vkt_shape1(x->shape.d[0] * groups), VKT_F32);
    return true;
}

static void norm_record(vkt__rec *rec, const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[0]);
    p.x = vkt__addr(rec, n->in[0]);
    p.w = vkt__addr(rec, n->in[1]);
    p.b = vkt__addr(rec, n->in[2]);
    p.mean = vkt__addr(rec, n->out[1]);
    p.rstd = vkt__addr(rec, n->out[2]);
    p.y = vkt__addr(rec, n->out[0]);
    dispatch(rec, VKT_SHADER_GROUP_NORM, &p, 3);
}

static void norm_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct group_norm_params p = params(n, n->in[0]);
    uint64_t count = (uint64_t)p.pixels * p.width, c;
    for (uint64_t i = 0; i < p.n; i++) {
        double mean = 0, var = 0;
        for (uint64_t k = 0; k < count; k++) mean += in[0][place(&p, i, k, &c)] / (double)count;
        for (uint64_t k = 0; k < count; k++) {
            double d = in[0][place(&p, i, k, &c)] - mean;
            var += d * d / (double)count;
        }
        double rstd = 1 / sqrt(var + (double)p.eps);
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = place(&p, i, k, &c);
            out[0][at] = (in[0][at] - mean) * rstd * in[1][c] + in[2][c];
        }
        out[1][i] = mean;
        out[2][i] = rstd;
    }
}

/* As layer norm's: the group's sums, then square root and divisions of up to 3 ulp each. */
static double norm_terms(const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[0]);
    return (double)p.pixels * p.width + 32.0;
}

/* ---- backward: dy, x, w, mean, rstd -> dx ---- */

static bool bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[1]->shape, VKT_F32);
    return true;
}

static void bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[1]);
    p.b = vkt__addr(rec, n->in[0]);
    p.x = vkt__addr(rec, n->in[1]);
    p.w = vkt__addr(rec, n->in[2]);
    p.mean = vkt__addr(rec, n->in[3]);
    p.rstd = vkt__addr(rec, n->in[4]);
    p.y = vkt__addr(rec, n->out[0]);
    dispatch(rec, VKT_SHADER_GROUP_NORM_BWD, &p, 2);
}

static void bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct group_norm_params p = params(n, n->in[1]);
    uint64_t count = (uint64_t)p.pixels * p.width, c;
    for (uint64_t i = 0; i < p.n; i++) {
        double mean_g = 0, mean_gh = 0;
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = place(&p, i, k, &c);
            double g = in[0][at] * in[2][c];
            mean_g += g / (double)count;
            mean_gh += g * (in[1][at] - in[3][i]) * in[4][i] / (double)count;
        }
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = place(&p, i, k, &c);
            double h = (in[1][at] - in[3][i]) * in[4][i];
            out[0][at] = in[4][i] * (in[0][at] * in[2][c] - mean_g - h * mean_gh);
        }
    }
}

static double bwd_terms(const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[1]);
    return (double)p.pixels * p.width + 32.0;
}

/* ---- gradients of w and b of each image: dy, x, mean, rstd -> dw, db [N, C] ---- */

static bool dw_shape(vkt_node *n)
{
    vkt_shape out = vkt_shape2(n->in[1]->shape.d[0], vkt__last(n->in[1]->shape));
    vkt__out(n, 0, out, VKT_F32);
    vkt__out(n, 1, out, VKT_F32);
    return true;
}

static void dw_record(vkt__rec *rec, const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[1]);
    p.b = vkt__addr(rec, n->in[0]);
    p.x = vkt__addr(rec, n->in[1]);
    p.mean = vkt__addr(rec, n->in[2]);
    p.rstd = vkt__addr(rec, n->in[3]);
    p.y = vkt__addr(rec, n->out[0]);
    p.w = vkt__addr(rec, n->out[1]);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, 0 },
                                   { VKT_SPEC_TOGETHER, vkt__together(rec->caps, 2) } };
    vkt__dispatch(rec, VKT_SHADER_GROUP_NORM_DW, spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[0]->count + wg - 1) / wg);
}

static void dw_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct group_norm_params p = params(n, n->in[1]);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t image = i / p.cols, group = image * p.groups + i % p.cols / p.width;
        out[0][i] = out[1][i] = 0;
        for (uint64_t k = 0; k < p.pixels; k++) {
            uint64_t at = (image * p.pixels + k) * p.cols + i % p.cols;
            out[0][i] += in[0][at] * (in[1][at] - in[2][group]) * in[3][group];
            out[1][i] += in[0][at];
        }
    }
}

/* ---- the gradient ---- */

static void norm_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[0], *w = n->in[1], *b = n->in[2], *mean = n->out[1], *rstd = n->out[2];
    if (!dy[0]) return;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    if (vkt__needs(x))
        dx[0] = vkt__op(g, &vkt__op_group_norm_bwd, (vkt_tensor *[]) { d, x, w, mean, rstd }, 5,
                        n->attr);
    if (!vkt__needs(w) && !vkt__needs(b)) return;
    const vkt_node *dw =
        vkt__node(g, &vkt__op_group_norm_dw, (vkt_tensor *[]) { d, x, mean, rstd }, 4, n->attr);
    if (!dw) return;
    if (vkt__needs(w)) dx[1] = vkt_sum_rows(g, dw->out[0]);
    if (vkt__needs(b)) dx[2] = vkt_sum_rows(g, dw->out[1]);
}

/* ---- samples ---- */

static const struct {
    const char *name;
    uint32_t x[3], groups;
} cases[] = {
    { "one group", { 3, 10, 6 }, 1 },
    { "two groups", { 2, 9, 34 }, 2 },
    { "a group a channel", { 2, 50, 5 }, 5 },
    { "wide groups", { 2, 3, 600 }, 2 },
    { "many pixels", { 2, 3000, 6 }, 3 },
    { "three channels a group", { 5, 7, 33 }, 11 },
    { "rows", { 4, 1, 12 }, 3 },
    { "no images", { 0, 4, 6 }, 2 },
};

static vkt_node *sample_norm(vkt_graph *g, uint32_t i)
{
    const uint32_t *d = cases[i].x;
    vkt_tensor *x =
        vkt__sample(g, (vkt_shape) { 3, { d[0], d[1], d[2] } }, VKT_F32, VKT_HINT_NORMAL, 0);
    return vkt_group_norm(g, x, vkt__sample1(g, d[2]), vkt__sample1(g, d[2]), cases[i].groups,
                          1e-5f)
        ->node;
}

static const char *norm_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(cases)) return NULL;
    sample_norm(g, i);
    return cases[i].name;
}

static const char *bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(cases)) return NULL;
    const vkt_node *n = sample_norm(g, i);
    vkt_tensor *dy = vkt__sample(g, n->in[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0),
               *dx[VKT_MAX_IN] = { 0 };
    n->in[0]->needs = n->in[1]->needs = true;
    norm_grad(g, n, &dy, dx);
    return cases[i].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_group_norm = { .name = "group_norm",
                                    .n_in = 3,
                                    .n_out = 3,
                                    .in = { VKT_INPLACE },
                                    .out = { VKT_INPLACE },
                                    .shape = norm_shape,
                                    .record = norm_record,
                                    .grad = norm_grad,
                                    .ref = norm_ref,
                                    .terms = norm_terms,
                                    .sample = norm_sample };
const vkt_op vkt__op_group_norm_bwd = { .name = "group_norm_bwd",
                                        .n_in = 5,
                                        .n_out = 1,
                                        .in = { VKT_INPLACE },
                                        .out = { VKT_INPLACE },
                                        .shape = bwd_shape,
                                        .record = bwd_record,
                                        .ref = bwd_ref,
                                        .terms = bwd_terms,
                                        .sample = bwd_sample };
const vkt_op vkt__op_group_norm_dw = { .name = "group_norm_dw",
                                       .n_in = 4,
                                       .n_out = 2,
                                       .shape = dw_shape,
                                       .record = dw_record,
                                       .ref = dw_ref,
                                       .terms = bwd_terms,
                                       .sample = bwd_sample };

vkt_tensor *vkt_group_norm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b,
                           uint32_t groups, float eps)
{
    return vkt__op(g, &vkt__op_group_norm, (vkt_tensor *[]) { x, w, b }, 3,
                   (vkt_attr) { .group = { .groups = groups, .eps = eps } });
}
