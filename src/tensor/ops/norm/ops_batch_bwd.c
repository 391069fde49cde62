/* Batch norm rows, backward: sums of chunks of rows, merged in order into those of each ghost
 * batch, then the gradient of x. Kernels batch_norm_sums.comp, batch_norm_total.comp,
 * batch_norm_total_tiled.comp, batch_norm_bwd.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/norm/batch.h"

/* ---- backward, sums: dy, x, mean, rstd, v?, second term of dy? -> sums of g, of g h [chunks, C],
 * g? ---- */

static bool sums_shape(vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[1], true);
    for (uint32_t i = 0; i < 2; i++)
        vkt__out(n, i, vkt_shape2(p.groups * p.per_group, p.cols), VKT_F32);
    if (n->attr.batch.act != VKT_ACT_NONE) vkt__out(n, 2, n->in[1]->shape, VKT_F32);
    return true;
}

static void sums_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[1], true);
    p.dy = vkt__addr(rec, n->in[0]);
    p.x = vkt__addr(rec, n->in[1]);
    p.mean = vkt__addr(rec, n->in[2]);
    p.rstd = vkt__addr(rec, n->in[3]);
    p.b = vkt__addr_or(rec, n->in[4], n->in[1]);
    p.w = vkt__addr_or(rec, n->in[5], n->in[0]);
    p.r = vkt__addr_or(rec, n->out[2], n->in[0]);
    p.out0 = vkt__addr(rec, n->out[0]);
    p.out1 = vkt__addr(rec, n->out[1]);
    static const vkt__batch_kernels k = { VKT_SHADER_BATCH_NORM_SUMS,
                                          VKT_SHADER_BATCH_NORM_SUMS_PAIRS,
                                          VKT_SHADER_BATCH_NORM_SUMS_TILED,
                                          VKT_SHADER_BATCH_NORM_SUMS_TILED_VECTORS };
    vkt__batch_dispatch_chunks(rec, &k, &p, (uint32_t)n->attr.batch.act, n->attr.batch.fixed,
                               n->in[5] != NULL);
}

static void sums_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[1], true);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t c = i % p.cols, begin, end = vkt__batch_chunk_rows(&p, i / p.cols, &begin),
                 at = i / p.cols / p.per_group * p.cols + c;
        out[0][i] = out[1][i] = 0;
        for (uint64_t k = begin * p.cols + c; k < end * p.cols; k += p.cols) {
            double g = in[0][k] + (in[5] ? in[5][k] : 0);
            if (in[4]) out[2][k] = g *= vkt__act_derivative(n->attr.batch.act, in[4][k]);
            out[0][i] += g;
            out[1][i] += g * (in[1][k] - in[2][at]) * vkt__batch_rstd(n, in[3][at]);
        }
    }
}

static vkt_cost sums_cost(const vkt_node *n)
{
    double count = (double)n->in[1]->count;
    vkt_cost c = { 5 * count, 4 * count * ((n->out[2] ? 4 : 2) + (n->in[5] != NULL)) };
    return c;
}

/* ---- backward, totals: sums -> of each group, of all ---- */

static bool total_shape(vkt_node *n)
{
    uint32_t C = vkt__last(n->in[0]->shape),
             groups = vkt__batch_params(n, n->in[0]->node->in[1], true).groups;
    for (uint32_t i = 0; i < 4; i++)
        vkt__out(n, i, i < 2 ? vkt_shape2(groups, C) : vkt_shape1(C), VKT_F32);
    return true;
}

static void total_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params q = vkt__batch_params(n, n->in[0]->node->in[1], true);
    struct batch_total_params p = { .parts_g = vkt__addr(rec, n->in[0]),
                                    .parts_gh = vkt__addr(rec, n->in[1]),
                                    .sum_g = vkt__addr(rec, n->out[0]),
                                    .sum_gh = vkt__addr(rec, n->out[1]),
                                    .db = vkt__addr(rec, n->out[2]),
                                    .dw = vkt__addr(rec, n->out[3]),
                                    .cols = q.cols,
                                    .groups = q.groups,
                                    .per_group = q.per_group };
    vkt__batch_dispatch_merge(rec, VKT_SHADER_BATCH_NORM_TOTAL, VKT_SHADER_BATCH_NORM_TOTAL_TILED,
                              VKT_SHADER_BATCH_NORM_TOTAL_TILED_VECTORS, &p, sizeof p, p.cols,
                              p.per_group);
}

static void total_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[0]->node->in[1], true);
    for (uint64_t c = 0; c < p.cols; c++)
        for (uint32_t i = 0; i < 2; i++) {
            out[2 + i][c] = 0;
            for (uint64_t g = 0; g < p.groups; g++) {
                double sum = 0;
                for (uint64_t k = 0; k < p.per_group; k++)
                    sum += in[i][(g * p.per_group + k) * p.cols + c];
                out[i][g * p.cols + c] = sum;
                out[2 + i][c] += sum;
            }
        }
}

double vkt__batch_sums_terms(const vkt_node *n)
{
    const vkt_node *finish = n->in[2]->node;
    return vkt__rows_of(n->in[1]->shape) + (finish ? vkt__batch_finish_terms(finish) : 0);
}

static double total_terms(const vkt_node *n)
{
    return 2 * vkt__batch_sums_terms(n->in[0]->node);
}

/* ---- backward, of x: g, x, mean, rstd, w, sums of g, of g h -> dx ---- */

static bool bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[1]->shape, VKT_F32);
    return true;
}

static void bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_bwd_params(rec, n);
    vkt__batch_dispatch(rec, VKT_SHADER_BATCH_NORM_BWD, VKT_SHADER_BATCH_NORM_BWD_PAIRS, &p, 0,
                        n->attr.batch.fixed, false);
}

double vkt__batch_dx(const vkt_node *n, const struct batch_norm_params *p, double *const *in,
                     uint64_t i, double g)
{
    uint64_t c = i % p->cols, group = i / p->cols / p->group_rows, at = group * p->cols + c;
    double m = (double)vkt__batch_rows_in(p, group), rstd = vkt__batch_rstd(n, in[3][at]),
           h = (in[1][i] - in[2][at]) * rstd;
    if (!n->attr.batch.fixed) g -= in[5][at] / m + h * in[6][at] / m;
    return in[4][c] * rstd * g;
}

static void bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[1], false);
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[0][i] = vkt__batch_dx(n, &p, in, i, in[0][i]);
}

static vkt_cost bwd_cost(const vkt_node *n)
{
    double count = (double)n->out[0]->count;
    vkt_cost c = { 6 * count, 12 * count };
    return c;
}

double vkt__batch_bwd_terms(const vkt_node *n)
{
    return n->attr.batch.fixed ? 8 : 4 * vkt__batch_sums_terms(n->in[5]->node->in[0]->node);
}

/* ---- the gradient ---- */

void vkt__batch_norm_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[0], *mean = n->in[1], *rstd = n->in[2];
    if (!dy[0]) return;
    bool act = n->attr.batch.act != VKT_ACT_NONE;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]),
               *v = act ? n->out[1] ? n->out[1] : n->out[0] : NULL;
    const vkt_node *sums = vkt__node(g, &vkt__op_batch_norm_sums,
                                     (vkt_tensor *[]) { d, x, mean, rstd, v }, 5, n->attr);
    if (!sums) return;
    if (act) d = sums->out[2];
    if (vkt__needs(n->in[5])) dx[5] = d;
    vkt__batch_grad(g, n, d, sums, NULL, &vkt__op_batch_norm_bwd, dx);
}

void vkt__batch_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *d, const vkt_node *sums,
                     vkt_tensor *place, const vkt_op *backward, vkt_tensor **dx)
{
    bool fixed = n->attr.batch.fixed;
    const vkt_node *total = vkt__node(g, &vkt__op_batch_norm_total,
                                      (vkt_tensor *[]) { sums->out[0], sums->out[1] }, 2, n->attr);
    if (!total) return;
    if (vkt__needs(n->in[3])) dx[3] = total->out[3];
    if (vkt__needs(n->in[4])) dx[4] = total->out[2];
    if (!vkt__needs(n->in[0])) return;
    vkt_tensor *in[] = { d,
                         n->in[0],
                         n->in[1],
                         n->in[2],
                         n->in[3],
                         fixed ? NULL : total->out[0],
                         fixed ? NULL : total->out[1],
                         place };
    dx[0] = vkt__op(g, backward, in, backward->n_in, n->attr);
}

/* By the batch, then by the running averages. The forward pass's results are samples, too, so that
 * these rows need not know those. */
static const char *bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    const vkt__batch_case *s = vkt__batch_case_at(i / 2);
    if (!s) return NULL;
    bool fixed = i % 2;
    uint32_t rows = s->x[0] * s->x[1], C = s->x[2];
    vkt_node n = { .op = op, .g = g };
    n.attr.batch.eps = 1e-5f;
    n.attr.batch.group_rows = fixed ? 0 : s->x[1] * s->virtual_batch;
    n.attr.batch.fixed = fixed;
    n.attr.batch.act = s->act;
    vkt_shape sums = vkt_shape2(fixed ? 1 : vkt__batch_groups(&n, rows), C);
    uint32_t hint = s->far ? VKT_HINT_POSITIVE : VKT_HINT_NORMAL;
    n.in[0] = vkt__batch_case_x(g, s);
    n.in[1] = vkt__sample(g, sums, VKT_F32, hint, 0);
    n.in[2] = vkt__sample(g, sums, VKT_F32, VKT_HINT_POSITIVE, 0);
    n.in[3] = vkt__sample1(g, C);
    if (s->act != VKT_ACT_NONE) n.out[0] = vkt__batch_case_x(g, s);
    vkt_tensor *dy = vkt__sample(g, n.in[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0),
               *dx[VKT_MAX_IN] = { 0 };
    n.in[0]->needs = true;
    vkt__batch_norm_grad(g, &n, &dy, dx);
    return s->name;
}

/* Then with a second term of dy, as a rewrite puts it. */
static const char *sums_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    const char *name = bwd_sample(op, g, i);
    if (name) return name;
    uint32_t n = 0;
    while (vkt__batch_case_at(n)) n++;
    if (i >= 3 * n) return NULL;
    const vkt__batch_case *s = vkt__batch_case_at(i - 2 * n);
    uint32_t C = s->x[2];
    vkt_tensor *x = vkt__batch_case_x(g, s), *mean = vkt__sample2(g, 1, C),
               *v = s->act != VKT_ACT_NONE ? vkt__batch_case_x(g, s) : NULL,
               *rstd = vkt__sample(g, vkt_shape2(1, C), VKT_F32, VKT_HINT_POSITIVE, 0), *dy[2];
    for (uint32_t k = 0; k < 2; k++) dy[k] = vkt__sample(g, x->shape, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt__node(g, op, (vkt_tensor *[]) { dy[0], x, mean, rstd, v, dy[1] }, 6,
              (vkt_attr) { .batch = { .eps = 1e-5f, .act = s->act } });
    return s->name;
}

/* ---- rows ---- */

const vkt_op vkt__op_batch_norm_sums = {
    .name = "batch_norm_sums",
    .n_in = 6,
    .n_out = 3,
    .in = { [0] = VKT_INPLACE, [4] = VKT_OPTIONAL, [5] = VKT_OPTIONAL | VKT_INPLACE },
    .out = { [2] = VKT_INPLACE },
    .shape = sums_shape,
    .record = sums_record,
    .ref = sums_ref,
    .cost = sums_cost,
    .terms = vkt__batch_sums_terms,
    .sample = sums_sample
};
const vkt_op vkt__op_batch_norm_total = { .name = "batch_norm_total",
                                          .n_in = 2,
                                          .n_out = 4,
                                          .shape = total_shape,
                                          .record = total_record,
                                          .ref = total_ref,
                                          .terms = total_terms,
                                          .sample = bwd_sample };
const vkt_op vkt__op_batch_norm_bwd = {
    .name = "batch_norm_bwd",
    .n_in = 7,
    .n_out = 1,
    .in = { [0] = VKT_INPLACE, [5] = VKT_OPTIONAL, [6] = VKT_OPTIONAL },
    .out = { VKT_INPLACE },
    .shape = bwd_shape,
    .record = bwd_record,
    .ref = bwd_ref,
    .cost = bwd_cost,
    .terms = vkt__batch_bwd_terms,
    .sample = bwd_sample
};
