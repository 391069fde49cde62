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
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNS_X], true);
    for (uint32_t i = 0; i < 2; i++)
        vkt__out(n, i, vkt_shape2(p.groups * p.per_group, p.cols), VKT_F32);
    if (n->attr.batch.act != VKT_ACT_NONE)
        vkt__out(n, VKT__BNS_G, n->in[VKT__BNS_X]->shape, VKT_F32);
    return true;
}

static void sums_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNS_X], true);
    p.dy = vkt__addr(rec, n->in[VKT__BNS_DY]);
    p.x = vkt__addr(rec, n->in[VKT__BNS_X]);
    p.mean = vkt__addr(rec, n->in[VKT__BNS_MEAN]);
    p.rstd = vkt__addr(rec, n->in[VKT__BNS_RSTD]);
    p.b = vkt__addr_or(rec, n->in[VKT__BNS_V], n->in[VKT__BNS_X]);
    p.w = vkt__addr_or(rec, n->in[VKT__BNS_DY2], n->in[VKT__BNS_DY]);
    p.r = vkt__addr_or(rec, n->out[VKT__BNS_G], n->in[VKT__BNS_DY]);
    p.out0 = vkt__addr(rec, n->out[VKT__BNS_SUM_G]);
    p.out1 = vkt__addr(rec, n->out[VKT__BNS_SUM_GH]);
    static const vkt__batch_kernels k = { VKT_SHADER_BATCH_NORM_SUMS,
                                          VKT_SHADER_BATCH_NORM_SUMS_PAIRS,
                                          VKT_SHADER_BATCH_NORM_SUMS_TILED,
                                          VKT_SHADER_BATCH_NORM_SUMS_TILED_VECTORS };
    vkt__batch_dispatch_chunks(rec, &k, &p, (uint32_t)n->attr.batch.act, n->attr.batch.fixed,
                               n->in[VKT__BNS_DY2] != NULL);
}

static void sums_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNS_X], true);
    for (uint64_t i = 0; i < n->out[VKT__BNS_SUM_G]->count; i++) {
        uint64_t c = i % p.cols, begin, end = vkt__batch_chunk_rows(&p, i / p.cols, &begin),
                 at = i / p.cols / p.per_group * p.cols + c;
        out[VKT__BNS_SUM_G][i] = out[VKT__BNS_SUM_GH][i] = 0;
        for (uint64_t k = begin * p.cols + c; k < end * p.cols; k += p.cols) {
            double g = in[VKT__BNS_DY][k] + (in[VKT__BNS_DY2] ? in[VKT__BNS_DY2][k] : 0);
            if (in[VKT__BNS_V])
                out[VKT__BNS_G][k] = g *= vkt__act_derivative(n->attr.batch.act, in[VKT__BNS_V][k]);
            out[VKT__BNS_SUM_G][i] += g;
            out[VKT__BNS_SUM_GH][i] += g * (in[VKT__BNS_X][k] - in[VKT__BNS_MEAN][at]) *
                                       vkt__batch_rstd(n, in[VKT__BNS_RSTD][at]);
        }
    }
}

static vkt_cost sums_cost(const vkt_node *n)
{
    double count = (double)n->in[VKT__BNS_X]->count;
    vkt_cost c = { 5 * count,
                   4 * count * ((n->out[VKT__BNS_G] ? 4 : 2) + (n->in[VKT__BNS_DY2] != NULL)) };
    return c;
}

enum { PARTS_G, PARTS_GH, N_TOTAL_IN };
enum { SUM_G, SUM_GH, DB, DW, N_TOTAL_OUT };

/* ---- backward, totals: sums -> of each group, of all ---- */

static bool total_shape(vkt_node *n)
{
    uint32_t C = vkt__last(n->in[PARTS_G]->shape),
             groups = vkt__batch_params(n, n->in[PARTS_G]->node->in[VKT__BNS_X], true).groups;
    for (uint32_t i = 0; i < 4; i++)
        vkt__out(n, i, i < 2 ? vkt_shape2(groups, C) : vkt_shape1(C), VKT_F32);
    return true;
}

static void total_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params q = vkt__batch_params(n, n->in[PARTS_G]->node->in[VKT__BNS_X], true);
    struct batch_total_params p = { .parts_g = vkt__addr(rec, n->in[PARTS_G]),
                                    .parts_gh = vkt__addr(rec, n->in[PARTS_GH]),
                                    .sum_g = vkt__addr(rec, n->out[SUM_G]),
                                    .sum_gh = vkt__addr(rec, n->out[SUM_GH]),
                                    .db = vkt__addr(rec, n->out[DB]),
                                    .dw = vkt__addr(rec, n->out[DW]),
                                    .cols = q.cols,
                                    .groups = q.groups,
                                    .per_group = q.per_group };
    vkt__batch_dispatch_merge(rec, VKT_SHADER_BATCH_NORM_TOTAL, VKT_SHADER_BATCH_NORM_TOTAL_TILED,
                              VKT_SHADER_BATCH_NORM_TOTAL_TILED_VECTORS, &p, sizeof p, p.cols,
                              p.per_group);
}

static void total_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[PARTS_G]->node->in[VKT__BNS_X], true);
    for (uint64_t c = 0; c < p.cols; c++)
        for (uint32_t i = 0; i < 2; i++) {
            out[DB + i][c] = 0;
            for (uint64_t g = 0; g < p.groups; g++) {
                double sum = 0;
                for (uint64_t k = 0; k < p.per_group; k++)
                    sum += in[i][(g * p.per_group + k) * p.cols + c];
                out[i][g * p.cols + c] = sum;
                out[DB + i][c] += sum;
            }
        }
}

double vkt__batch_sums_terms(const vkt_node *n)
{
    const vkt_node *finish = n->in[VKT__BNS_MEAN]->node;
    return vkt__rows_of(n->in[VKT__BNS_X]->shape) + (finish ? vkt__batch_finish_terms(finish) : 0);
}

static double total_terms(const vkt_node *n)
{
    return 2 * vkt__batch_sums_terms(n->in[PARTS_G]->node);
}

/* ---- backward, of x: g, x, mean, rstd, w, sums of g, of g h -> dx ---- */

static bool bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[VKT__BNB_X]->shape, VKT_F32);
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
    double m = (double)vkt__batch_rows_in(p, group),
           rstd = vkt__batch_rstd(n, in[VKT__BNB_RSTD][at]),
           h = (in[VKT__BNB_X][i] - in[VKT__BNB_MEAN][at]) * rstd;
    if (!n->attr.batch.fixed) g -= in[VKT__BNB_SUM_G][at] / m + h * in[VKT__BNB_SUM_GH][at] / m;
    return in[VKT__BNB_W][c] * rstd * g;
}

static void bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNB_X], false);
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[0][i] = vkt__batch_dx(n, &p, in, i, in[VKT__BNB_G][i]);
}

static vkt_cost bwd_cost(const vkt_node *n)
{
    double count = (double)n->out[0]->count;
    vkt_cost c = { 6 * count, 12 * count };
    return c;
}

double vkt__batch_bwd_terms(const vkt_node *n)
{
    return n->attr.batch.fixed
               ? 8
               : 4 * vkt__batch_sums_terms(n->in[VKT__BNB_SUM_G]->node->in[PARTS_G]->node);
}

/* ---- the gradient ---- */

void vkt__batch_norm_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[VKT__BN_X], *mean = n->in[VKT__BN_MEAN], *rstd = n->in[VKT__BN_RSTD];
    if (!dy[VKT__BN_Y]) return;
    bool act = n->attr.batch.act != VKT_ACT_NONE;
    vkt_tensor *d = vkt__real(g, dy[VKT__BN_Y], n->out[VKT__BN_Y]),
               *v = act ? n->out[VKT__BN_PRE] ? n->out[VKT__BN_PRE] : n->out[VKT__BN_Y] : NULL;
    const vkt_node *sums = vkt__node(g, &vkt__op_batch_norm_sums,
                                     (vkt_tensor *[]) { d, x, mean, rstd, v }, 5, n->attr);
    if (!sums) return;
    if (act) d = sums->out[VKT__BNS_G];
    if (vkt__needs(n->in[VKT__BN_R])) dx[VKT__BN_R] = d;
    vkt__batch_grad(g, n, d, sums, NULL, &vkt__op_batch_norm_bwd, dx);
}

void vkt__batch_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *d, const vkt_node *sums,
                     vkt_tensor *place, const vkt_op *backward, vkt_tensor **dx)
{
    bool fixed = n->attr.batch.fixed;
    const vkt_node *total = vkt__node(
        g, &vkt__op_batch_norm_total,
        (vkt_tensor *[]) { sums->out[VKT__BNS_SUM_G], sums->out[VKT__BNS_SUM_GH] }, 2, n->attr);
    if (!total) return;
    if (vkt__needs(n->in[VKT__BN_W])) dx[VKT__BN_W] = total->out[DW];
    if (vkt__needs(n->in[VKT__BN_B])) dx[VKT__BN_B] = total->out[DB];
    if (!vkt__needs(n->in[VKT__BN_X])) return;
    vkt_tensor *in[] = { d,
                         n->in[VKT__BN_X],
                         n->in[VKT__BN_MEAN],
                         n->in[VKT__BN_RSTD],
                         n->in[VKT__BN_W],
                         fixed ? NULL : total->out[SUM_G],
                         fixed ? NULL : total->out[SUM_GH],
                         place };
    dx[VKT__BN_X] = vkt__op(g, backward, in, backward->n_in, n->attr);
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
    n.in[VKT__BN_X] = vkt__batch_case_x(g, s);
    n.in[VKT__BN_MEAN] = vkt__sample(g, sums, VKT_F32, hint, 0);
    n.in[VKT__BN_RSTD] = vkt__sample(g, sums, VKT_F32, VKT_HINT_POSITIVE, 0);
    n.in[VKT__BN_W] = vkt__sample1(g, C);
    if (s->act != VKT_ACT_NONE) n.out[VKT__BN_Y] = vkt__batch_case_x(g, s);
    vkt_tensor *dy = vkt__sample(g, n.in[VKT__BN_X]->shape, VKT_F32, VKT_HINT_NORMAL, 0),
               *dx[VKT_MAX_IN] = { 0 };
    n.in[VKT__BN_X]->needs = true;
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
    vkt__node(g, op, (vkt_tensor *[]) { dy[0], x, mean, rstd, v, dy[1] }, VKT__BNS_IN,
              (vkt_attr) { .batch = { .eps = 1e-5f, .act = s->act } });
    return s->name;
}

/* ---- rows ---- */

const vkt_op vkt__op_batch_norm_sums = { .name = "batch_norm_sums",
                                         .n_in = VKT__BNS_IN,
                                         .n_out = VKT__BNS_OUT,
                                         .in = { [VKT__BNS_DY] = VKT_INPLACE,
                                                 [VKT__BNS_V] = VKT_OPTIONAL,
                                                 [VKT__BNS_DY2] = VKT_OPTIONAL | VKT_INPLACE },
                                         .out = { [VKT__BNS_G] = VKT_INPLACE },
                                         .shape = sums_shape,
                                         .record = sums_record,
                                         .ref = sums_ref,
                                         .cost = sums_cost,
                                         .terms = vkt__batch_sums_terms,
                                         .sample = sums_sample };
const vkt_op vkt__op_batch_norm_total = { .name = "batch_norm_total",
                                          .n_in = N_TOTAL_IN,
                                          .n_out = N_TOTAL_OUT,
                                          .shape = total_shape,
                                          .record = total_record,
                                          .ref = total_ref,
                                          .terms = total_terms,
                                          .sample = bwd_sample };
const vkt_op vkt__op_batch_norm_bwd = { .name = "batch_norm_bwd",
                                        .n_in = VKT__BNB_IN,
                                        .n_out = 1,
                                        .in = { [VKT__BNB_G] = VKT_INPLACE,
                                                [VKT__BNB_SUM_G] = VKT_OPTIONAL,
                                                [VKT__BNB_SUM_GH] = VKT_OPTIONAL },
                                        .out = { VKT_INPLACE },
                                        .shape = bwd_shape,
                                        .record = bwd_record,
                                        .ref = bwd_ref,
                                        .cost = bwd_cost,
                                        .terms = vkt__batch_bwd_terms,
                                        .sample = bwd_sample };
