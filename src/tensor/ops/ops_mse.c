/* Mean squared error: x, y [R, C], weight [R]? -> loss [R]. */
#include "tensor/graph/cost.h"
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

static bool mse_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[0], *y = n->in[1], *w = n->in[2];
    if (!vkt__shape_equal(x->shape, y->shape))
        return vkt__shape_error(n, "%s and %s must have one shape", vkt__text(x), vkt__text(y));
    uint32_t R = vkt__rows_of(x->shape);
    if (w && w->count != R)
        return vkt__shape_error(n, "row weight %s must be [%u] for %s", vkt__text(w), R,
                                vkt__text(x));
    vkt__out(n, 0, vkt_shape1(R), VKT_F32);
    return true;
}

static struct mse_params mse_params(vkt__rec *rec, const vkt_node *n)
{
    struct mse_params p = { .x = vkt__addr(rec, n->in[0]),
                            .y = vkt__addr(rec, n->in[1]),
                            .weight = vkt__addr_or(rec, n->in[2], n->in[0]),
                            .dloss = vkt__addr_or(rec, n->in[3], n->in[0]),
                            .z = vkt__addr(rec, n->out[0]),
                            .rows = vkt__rows_of(n->in[0]->shape),
                            .cols = vkt__last(n->in[0]->shape) };
    p.flags = (n->in[2] ? VKT_XENT_WEIGHT : 0) | (n->in[3] ? VKT_XENT_DLOSS : 0);
    return p;
}

static void mse_record(vkt__rec *rec, const vkt_node *n)
{
    struct mse_params p = mse_params(rec, n);
    uint32_t wg = vkt__row_workgroup(rec->caps, p.cols, 1);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) } };
    vkt__dispatch(rec, VKT_SHADER_MSE, spec, VKT_COUNT(spec), &p, sizeof p, p.rows);
}

static void mse_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t C = vkt__last(n->in[0]->shape);
    for (uint64_t r = 0; r < n->out[0]->count; r++) {
        double sum = 0;
        for (uint64_t i = r * C; i < (r + 1) * C; i++)
            sum += (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]);
        out[0][r] = (in[2] ? in[2][r] : 1) * sum / (double)C;
    }
}

static vkt_cost mse_cost(const vkt_node *n)
{
    return (vkt_cost) { 3 * (double)n->in[0]->count, vkt__node_bytes(n) };
}

static double mse_terms(const vkt_node *n)
{
    return 8.0 + vkt__last(n->in[0]->shape);
}

static bool mse_bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[0]->shape, VKT_F32);
    return true;
}

static void mse_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct mse_params p = mse_params(rec, n);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256), unit = n->out[0]->dtype == VKT_F32 ? 1 : 2;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_DX, vkt__type(n->out[0]) } };
    vkt__dispatch(rec, VKT_SHADER_MSE_BWD, spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[0]->count / unit + wg - 1) / wg);
}

static void mse_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t C = vkt__last(n->in[0]->shape);
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[0][i] = 2 / (double)C * (in[2] ? in[2][i / C] : 1) * (in[3] ? in[3][i / C] : 1) *
                    (in[0][i] - in[1][i]);
}

static vkt_tensor *mse_bwd(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *weight,
                           vkt_tensor *dloss)
{
    return vkt__op(g, &vkt__op_mse_bwd, (vkt_tensor *[]) { x, y, weight, dloss }, 4,
                   (vkt_attr) { .eltwise = { 0 } });
}

static void mse_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[2])) {
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g },
                         "no gradient with respect to weights: they are constants");
        return;
    }
    vkt_tensor *dloss = vkt__is_ones(dy[0]) ? NULL : dy[0];
    if (vkt__needs(n->in[0])) dx[0] = mse_bwd(g, n->in[0], n->in[1], n->in[2], dloss);
    if (vkt__needs(n->in[1])) dx[1] = mse_bwd(g, n->in[1], n->in[0], n->in[2], dloss);
}

static const struct {
    const char *name;
    uint32_t r, c;
} sizes[] = {
    { "one", 1, 1 },      { "three", 5, 3 },   { "digits", 128, 10 }, { "odd", 7, 129 },
    { "bytes", 33, 256 }, { "wide", 3, 5000 }, { "tall", 70001, 2 },  { "no rows", 0, 7 },
};

static const char *mse_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    uint32_t R = sizes[i].r, C = sizes[i].c;
    vkt_mse(g, vkt__sample2(g, R, C), vkt__sample2(g, R, C),
            i % 2 ? vkt__sample(g, vkt_shape1(R), VKT_F32, VKT_HINT_POSITIVE, 0) : NULL);
    return sizes[i].name;
}

static const char *mse_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    uint32_t R = sizes[i].r, C = sizes[i].c;
    vkt_tensor *w = i % 2 ? vkt__sample(g, vkt_shape1(R), VKT_F32, VKT_HINT_POSITIVE, 0) : NULL;
    mse_bwd(g, vkt__sample2(g, R, C), vkt__sample2(g, R, C), w, i % 3 ? vkt__sample1(g, R) : NULL);
    return sizes[i].name;
}

const vkt_op vkt__op_mse = { .name = "mse",
                             .n_in = 3,
                             .n_out = 1,
                             .shape = mse_shape,
                             .record = mse_record,
                             .grad = mse_grad,
                             .ref = mse_ref,
                             .cost = mse_cost,
                             .terms = mse_terms,
                             .sample = mse_sample };
const vkt_op vkt__op_mse_bwd = { .name = "mse_bwd",
                                 .n_in = 4,
                                 .n_out = 1,
                                 .inplace = 1 | 2,
                                 .narrow_out = 1,
                                 .shape = mse_bwd_shape,
                                 .record = mse_bwd_record,
                                 .ref = mse_bwd_ref,
                                 .cost = mse_cost,
                                 .sample = mse_bwd_sample };

vkt_loss vkt_mse(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *weight)
{
    return (vkt_loss) { .loss = vkt__op(g, &vkt__op_mse, (vkt_tensor *[]) { x, y, weight }, 3,
                                        (vkt_attr) { .eltwise = { 0 } }) };
}
