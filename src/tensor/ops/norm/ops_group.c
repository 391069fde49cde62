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

enum { X, W, B, N_IN };
enum { Y, MEAN, RSTD, N_OUT };

static bool norm_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[X];
    uint32_t C = vkt__last(x->shape), groups = n->attr.group.groups;
    if (x->shape.rank < 2) return vkt__shape_error(n, "%s must be [N, ..., C]", vkt__text(x));
    if (!groups || C % groups)
        return vkt__shape_error(n, "%u groups do not divide the channels of %s", groups,
                                vkt__text(x));
    for (uint32_t i = W; i <= B; i++)
        if (n->in[i]->shape.rank != 1 || n->in[i]->shape.d[0] != C)
            return vkt__shape_error(n, "%s %s must be [%u]", i == W ? "weight" : "bias",
                                    vkt__text(n->in[i]), C);
    vkt__out(n, Y, x->shape, VKT_F32);
    for (uint32_t i = MEAN; i <= RSTD; i++)
        vkt__out(n, i, vkt_shape1(x->shape.d[0] * groups), VKT_F32);
    return true;
}

static void norm_record(vkt__rec *rec, const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[X]);
    p.x = vkt__addr(rec, n->in[X]);
    p.w = vkt__addr(rec, n->in[W]);
    p.b = vkt__addr(rec, n->in[B]);
    p.mean = vkt__addr(rec, n->out[MEAN]);
    p.rstd = vkt__addr(rec, n->out[RSTD]);
    p.y = vkt__addr(rec, n->out[Y]);
    dispatch(rec, VKT_SHADER_GROUP_NORM, &p, 3);
}

static void norm_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct group_norm_params p = params(n, n->in[X]);
    uint64_t count = (uint64_t)p.pixels * p.width, c;
    for (uint64_t i = 0; i < p.n; i++) {
        double mean = 0, var = 0;
        for (uint64_t k = 0; k < count; k++) mean += in[X][place(&p, i, k, &c)] / (double)count;
        for (uint64_t k = 0; k < count; k++) {
            double d = in[X][place(&p, i, k, &c)] - mean;
            var += d * d / (double)count;
        }
        double rstd = 1 / sqrt(var + (double)p.eps);
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = place(&p, i, k, &c);
            out[Y][at] = (in[X][at] - mean) * rstd * in[W][c] + in[B][c];
        }
        out[MEAN][i] = mean;
        out[RSTD][i] = rstd;
    }
}

/* As layer norm's: the group's sums, then square root and divisions of up to 3 ulp each. */
static double norm_terms(const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[X]);
    return (double)p.pixels * p.width + 32.0;
}

/* ---- backward: dy, x, w, mean, rstd -> dx ---- */

enum { BWD_DY, BWD_X, BWD_W, BWD_MEAN, BWD_RSTD, N_BWD_IN };

static bool bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[BWD_X]->shape, VKT_F32);
    return true;
}

static void bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[BWD_X]);
    p.b = vkt__addr(rec, n->in[BWD_DY]);
    p.x = vkt__addr(rec, n->in[BWD_X]);
    p.w = vkt__addr(rec, n->in[BWD_W]);
    p.mean = vkt__addr(rec, n->in[BWD_MEAN]);
    p.rstd = vkt__addr(rec, n->in[BWD_RSTD]);
    p.y = vkt__addr(rec, n->out[0]);
    dispatch(rec, VKT_SHADER_GROUP_NORM_BWD, &p, 2);
}

static void bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct group_norm_params p = params(n, n->in[BWD_X]);
    uint64_t count = (uint64_t)p.pixels * p.width, c;
    for (uint64_t i = 0; i < p.n; i++) {
        double mean_g = 0, mean_gh = 0;
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = place(&p, i, k, &c);
            double g = in[BWD_DY][at] * in[BWD_W][c];
            mean_g += g / (double)count;
            mean_gh += g * (in[BWD_X][at] - in[BWD_MEAN][i]) * in[BWD_RSTD][i] / (double)count;
        }
        for (uint64_t k = 0; k < count; k++) {
            uint64_t at = place(&p, i, k, &c);
            double h = (in[BWD_X][at] - in[BWD_MEAN][i]) * in[BWD_RSTD][i];
            out[0][at] = in[BWD_RSTD][i] * (in[BWD_DY][at] * in[BWD_W][c] - mean_g - h * mean_gh);
        }
    }
}

static double bwd_terms(const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[BWD_X]);
    return (double)p.pixels * p.width + 32.0;
}

/* ---- gradients of w and b of each image: dy, x, mean, rstd -> dw, db [N, C] ---- */

/* The first two are those of the gradient of x: they have its roundings. */
enum { DW_DY = BWD_DY, DW_X, DW_MEAN, DW_RSTD, N_DW_IN };
enum { DW, DB, N_DW_OUT };

static bool dw_shape(vkt_node *n)
{
    vkt_shape out = vkt_shape2(n->in[DW_X]->shape.d[0], vkt__last(n->in[DW_X]->shape));
    vkt__out(n, DW, out, VKT_F32);
    vkt__out(n, DB, out, VKT_F32);
    return true;
}

static void dw_record(vkt__rec *rec, const vkt_node *n)
{
    struct group_norm_params p = params(n, n->in[DW_X]);
    p.b = vkt__addr(rec, n->in[DW_DY]);
    p.x = vkt__addr(rec, n->in[DW_X]);
    p.mean = vkt__addr(rec, n->in[DW_MEAN]);
    p.rstd = vkt__addr(rec, n->in[DW_RSTD]);
    p.y = vkt__addr(rec, n->out[DW]);
    p.w = vkt__addr(rec, n->out[DB]);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, 0 },
                                   { VKT_SPEC_TOGETHER, vkt__together(rec->caps, 2) } };
    vkt__dispatch(rec, VKT_SHADER_GROUP_NORM_DW, spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[DW]->count + wg - 1) / wg);
}

static void dw_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct group_norm_params p = params(n, n->in[DW_X]);
    for (uint64_t i = 0; i < n->out[DW]->count; i++) {
        uint64_t image = i / p.cols, group = image * p.groups + i % p.cols / p.width;
        out[DW][i] = out[DB][i] = 0;
        for (uint64_t k = 0; k < p.pixels; k++) {
            uint64_t at = (image * p.pixels + k) * p.cols + i % p.cols;
            out[DW][i] += in[DW_DY][at] * (in[DW_X][at] - in[DW_MEAN][group]) * in[DW_RSTD][group];
            out[DB][i] += in[DW_DY][at];
        }
    }
}

/* ---- the gradient ---- */

static void norm_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[X], *w = n->in[W], *b = n->in[B], *mean = n->out[MEAN],
               *rstd = n->out[RSTD];
    if (!dy[Y]) return;
    vkt_tensor *d = vkt__real(g, dy[Y], n->out[Y]);
    if (vkt__needs(x))
        dx[X] = vkt__op(g, &vkt__op_group_norm_bwd, (vkt_tensor *[]) { d, x, w, mean, rstd }, 5,
                        n->attr);
    if (!vkt__needs(w) && !vkt__needs(b)) return;
    const vkt_node *dw =
        vkt__node(g, &vkt__op_group_norm_dw, (vkt_tensor *[]) { d, x, mean, rstd }, 4, n->attr);
    if (!dw) return;
    if (vkt__needs(w)) dx[W] = vkt_sum_rows(g, dw->out[DW]);
    if (vkt__needs(b)) dx[B] = vkt_sum_rows(g, dw->out[DB]);
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
    vkt_tensor *dy = vkt__sample(g, n->in[X]->shape, VKT_F32, VKT_HINT_NORMAL, 0),
               *dx[VKT_MAX_IN] = { 0 };
    n->in[X]->needs = n->in[W]->needs = true;
    norm_grad(g, n, &dy, dx);
    return cases[i].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_group_norm = { .name = "group_norm",
                                    .n_in = N_IN,
                                    .n_out = N_OUT,
                                    .in = { [X] = VKT_INPLACE },
                                    .out = { [Y] = VKT_INPLACE },
                                    .shape = norm_shape,
                                    .record = norm_record,
                                    .grad = norm_grad,
                                    .ref = norm_ref,
                                    .terms = norm_terms,
                                    .sample = norm_sample };
const vkt_op vkt__op_group_norm_bwd = { .name = "group_norm_bwd",
                                        .n_in = N_BWD_IN,
                                        .n_out = 1,
                                        .in = { [BWD_DY] = VKT_INPLACE },
                                        .out = { VKT_INPLACE },
                                        .shape = bwd_shape,
                                        .record = bwd_record,
                                        .ref = bwd_ref,
                                        .terms = bwd_terms,
                                        .sample = bwd_sample };
const vkt_op vkt__op_group_norm_dw = { .name = "group_norm_dw",
                                       .n_in = N_DW_IN,
                                       .n_out = N_DW_OUT,
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
