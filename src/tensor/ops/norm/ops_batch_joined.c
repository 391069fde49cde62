/* Batch norm rows that a rewrite puts on GPUs, where a dispatch and its barrier cost more than
 * merging a few hundred chunks again in every workgroup: batch_finish and batch_norm in one,
 * batch_norm_total and batch_norm_bwd in one; of one group. Kernels batch_finish_norm.comp,
 * batch_total_bwd.comp. */
#include "tensor/graph/cost.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/norm/batch.h"

/* ---- forward: x, means, squares, w, b, r?, running mean, variance, count -> y, pre?, mean, rstd
 * [1, C] ---- */

enum { X, MEANS, SQUARES, W, BIAS, R, RUN_MEAN, RUN_VAR, STEPS, N_IN };
enum { Y, PRE, MEAN, RSTD, N_OUT };

/* The two nodes that n stands for: their inputs. */
static vkt_node finish_of(const vkt_node *n)
{
    vkt_node f = { .op = &vkt__op_batch_finish, .g = n->g, .attr = n->attr };
    const uint32_t from[] = { MEANS, SQUARES, RUN_MEAN, RUN_VAR, STEPS, N_IN };
    for (uint32_t i = 0; i < VKT_COUNT(from); i++) f.in[i] = n->in[from[i]];
    return f;
}

static vkt_node norm_of(const vkt_node *n)
{
    vkt_node f = { .op = &vkt__op_batch_norm, .g = n->g, .attr = n->attr };
    const uint32_t from[] = { X, 0, 0, W, BIAS, R };
    for (uint32_t i = 0; i < VKT_COUNT(from); i++)
        if (i == 0 || from[i]) f.in[i] = n->in[from[i]];
    f.in[VKT__BN_MEAN] = n->out[MEAN];
    f.in[VKT__BN_RSTD] = n->out[RSTD];
    f.out[VKT__BN_Y] = n->out[Y];
    f.out[VKT__BN_PRE] = n->out[PRE];
    return f;
}

static bool finish_norm_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[X];
    VKT_ASSERT(vkt__batch_groups(n, vkt__rows_of(x->shape)) == 1);
    vkt__out(n, Y, x->shape, VKT_F32);
    if (n->attr.batch.act != VKT_ACT_NONE && !vkt__act_from_output(n->attr.batch.act))
        vkt__out(n, PRE, x->shape, VKT_F32);
    for (uint32_t i = MEAN; i <= RSTD; i++)
        vkt__out(n, i, vkt_shape2(1, vkt__last(x->shape)), VKT_F32);
    return true;
}

static void finish_norm_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params q = vkt__batch_params(n, n->in[X], true);
    struct batch_finish_norm_params p = { .x = vkt__addr(rec, n->in[X]),
                                          .means = vkt__addr(rec, n->in[MEANS]),
                                          .squares = vkt__addr(rec, n->in[SQUARES]),
                                          .w = vkt__addr(rec, n->in[W]),
                                          .b = vkt__addr(rec, n->in[BIAS]),
                                          .r = vkt__addr_or(rec, n->in[R], n->in[X]),
                                          .run_mean = vkt__addr(rec, n->in[RUN_MEAN]),
                                          .run_var = vkt__addr(rec, n->in[RUN_VAR]),
                                          .count = vkt__addr(rec, n->in[STEPS]),
                                          .y = vkt__addr(rec, n->out[Y]),
                                          .pre = vkt__addr_or(rec, n->out[PRE], n->out[Y]),
                                          .mean = vkt__addr(rec, n->out[MEAN]),
                                          .rstd = vkt__addr(rec, n->out[RSTD]),
                                          .rows = q.rows,
                                          .cols = q.cols,
                                          .chunk = q.chunk,
                                          .eps = q.eps,
                                          .momentum = n->attr.batch.momentum };
    const vkt__constant own[] = { { VKT_SPEC_ACT, (uint32_t)n->attr.batch.act },
                                  { VKT_SPEC_FLAGS, (n->in[R] ? VKT_BN_RESIDUAL : 0) |
                                                        (n->out[PRE] ? VKT_BN_PRE : 0) } };
    p.strip = vkt__batch_strip(rec->caps, p.rows, p.cols, q.per_group);
    vkt__batch_dispatch_strips(rec, VKT_SHADER_BATCH_FINISH_NORM,
                               VKT_SHADER_BATCH_FINISH_NORM_VECTORS, &p, sizeof p, p.cols,
                               q.per_group, (p.rows + p.strip - 1) / p.strip, own, VKT_COUNT(own));
}

static void finish_norm_ref(const vkt_node *n, double *const *in, double *const *out)
{
    const vkt_node finish = finish_of(n), norm = norm_of(n);
    finish.op->ref(&finish,
                   (double *[]) { in[MEANS], in[SQUARES], in[RUN_MEAN], in[RUN_VAR], in[STEPS] },
                   (double *[]) { out[MEAN], out[RSTD] });
    norm.op->ref(&norm, (double *[]) { in[X], out[MEAN], out[RSTD], in[W], in[BIAS], in[R] },
                 (double *[]) { out[Y], out[PRE] });
}

static vkt_cost finish_norm_cost(const vkt_node *n)
{
    const vkt_node norm = norm_of(n);
    vkt_cost c = norm.op->cost(&norm);
    c.bytes += 8.0 * (double)n->in[MEANS]->count;
    return c;
}

static double finish_norm_terms(const vkt_node *n)
{
    return 64 + vkt__batch_finish_terms(n);
}

/* ---- backward: g, x, mean, rstd, w, the chunks' sums of g, of g h -> dx, db, dw ---- */

/* The first ones are batch_norm_bwd's. */
enum { PARTS_G = VKT__BNB_SUM_G, PARTS_GH, N_TOTAL_BWD_IN };
enum { DX, DB, DW, N_TOTAL_BWD_OUT };

static bool total_bwd_shape(vkt_node *n)
{
    vkt__out(n, DX, n->in[VKT__BNB_X]->shape, VKT_F32);
    for (uint32_t i = DB; i <= DW; i++)
        vkt__out(n, i, vkt_shape1(vkt__last(n->in[VKT__BNB_X]->shape)), VKT_F32);
    return true;
}

static void total_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params q = vkt__batch_params(n, n->in[VKT__BNB_X], true);
    struct batch_total_bwd_params p = { .g = vkt__addr(rec, n->in[VKT__BNB_G]),
                                        .x = vkt__addr(rec, n->in[VKT__BNB_X]),
                                        .mean = vkt__addr(rec, n->in[VKT__BNB_MEAN]),
                                        .rstd = vkt__addr(rec, n->in[VKT__BNB_RSTD]),
                                        .w = vkt__addr(rec, n->in[VKT__BNB_W]),
                                        .parts_g = vkt__addr(rec, n->in[PARTS_G]),
                                        .parts_gh = vkt__addr(rec, n->in[PARTS_GH]),
                                        .dx = vkt__addr(rec, n->out[DX]),
                                        .db = vkt__addr(rec, n->out[DB]),
                                        .dw = vkt__addr(rec, n->out[DW]),
                                        .rows = q.rows,
                                        .cols = q.cols,
                                        .chunks = q.per_group };
    p.strip = vkt__batch_strip(rec->caps, p.rows, p.cols, p.chunks);
    vkt__batch_dispatch_strips(rec, VKT_SHADER_BATCH_TOTAL_BWD, VKT_SHADER_BATCH_TOTAL_BWD_VECTORS,
                               &p, sizeof p, p.cols, p.chunks, (p.rows + p.strip - 1) / p.strip,
                               NULL, 0);
}

static void total_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNB_X], true);
    for (uint64_t c = 0; c < p.cols; c++)
        for (uint32_t i = 0; i < 2; i++) {
            out[DB + i][c] = 0;
            for (uint64_t k = 0; k < p.per_group; k++)
                out[DB + i][c] += in[PARTS_G + i][k * p.cols + c];
        }
    for (uint64_t i = 0; i < n->out[DX]->count; i++)
        out[DX][i] =
            vkt__batch_dx(n, &p,
                          (double *[]) { in[VKT__BNB_G], in[VKT__BNB_X], in[VKT__BNB_MEAN],
                                         in[VKT__BNB_RSTD], in[VKT__BNB_W], out[DB], out[DW] },
                          i, in[VKT__BNB_G][i]);
}

static vkt_cost total_bwd_cost(const vkt_node *n)
{
    double count = (double)n->out[DX]->count;
    return (vkt_cost) { 6 * count, 12 * count + 8.0 * (double)n->in[PARTS_G]->count };
}

static double total_bwd_terms(const vkt_node *n)
{
    return 4 * vkt__batch_sums_terms(n->in[PARTS_G]->node);
}

/* ---- samples: the rows' cases, each as one group, as the rewrite makes them ---- */

static const char *sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    const vkt__batch_case *s = vkt__batch_case_at(i);
    if (!s) return NULL;
    uint32_t C = s->x[2];
    vkt_attr attr = { .batch = { .eps = 1e-5f, .momentum = 0.1f, .act = s->act } };
    vkt_tensor *x = vkt__batch_case_x(g, s), *w = vkt__sample1(g, C), *b = vkt__sample1(g, C),
               *r = s->residual ? vkt__batch_case_x(g, s) : NULL, *run_mean = vkt__sample1(g, C),
               *run_var = vkt__sample(g, vkt_shape1(C), VKT_F32, VKT_HINT_POSITIVE, 0),
               *steps = vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_INDEX, 99);
    const vkt_node *stats = vkt__node(g, &vkt__op_batch_stats, &x, 1, attr);
    vkt__node(
        g, &vkt__op_batch_finish_norm,
        (vkt_tensor *[]) { x, stats->out[0], stats->out[1], w, b, r, run_mean, run_var, steps }, 9,
        attr);
    return s->name;
}

static const char *bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    const vkt__batch_case *s = vkt__batch_case_at(i);
    if (!s) return NULL;
    uint32_t C = s->x[2];
    vkt_attr attr = { .batch = { .eps = 1e-5f, .act = s->act } };
    vkt_tensor *x = vkt__batch_case_x(g, s),
               *d = vkt__sample(g, x->shape, VKT_F32, VKT_HINT_NORMAL, 0),
               *mean = vkt__sample(g, vkt_shape2(1, C), VKT_F32,
                                   s->far ? VKT_HINT_POSITIVE : VKT_HINT_NORMAL, 0),
               *rstd = vkt__sample(g, vkt_shape2(1, C), VKT_F32, VKT_HINT_POSITIVE, 0),
               *w = vkt__sample1(g, C),
               *v = s->act != VKT_ACT_NONE ? vkt__batch_case_x(g, s) : NULL;
    const vkt_node *sums =
        vkt__node(g, &vkt__op_batch_norm_sums, (vkt_tensor *[]) { d, x, mean, rstd, v }, 5, attr);
    if (v) d = sums->out[VKT__BNS_G];
    vkt__node(g, &vkt__op_batch_total_bwd,
              (vkt_tensor *[]) { d, x, mean, rstd, w, sums->out[VKT__BNS_SUM_G],
                                 sums->out[VKT__BNS_SUM_GH] },
              7, attr);
    return s->name;
}

/* ---- rows ---- */

const vkt_op vkt__op_batch_finish_norm = { .name = "batch_finish_norm",
                                           .n_in = N_IN,
                                           .n_out = N_OUT,
                                           .in = { [X] = VKT_INPLACE,
                                                   [R] = VKT_OPTIONAL | VKT_INPLACE,
                                                   [RUN_MEAN] = VKT_CHANGED,
                                                   [RUN_VAR] = VKT_CHANGED,
                                                   [STEPS] = VKT_WORDS | VKT_CHANGED },
                                           .out = { [Y] = VKT_INPLACE },
                                           .shape = finish_norm_shape,
                                           .record = finish_norm_record,
                                           .ref = finish_norm_ref,
                                           .cost = finish_norm_cost,
                                           .terms = finish_norm_terms,
                                           .sample = sample };
const vkt_op vkt__op_batch_total_bwd = { .name = "batch_total_bwd",
                                         .n_in = N_TOTAL_BWD_IN,
                                         .n_out = N_TOTAL_BWD_OUT,
                                         .in = { [VKT__BNB_G] = VKT_INPLACE },
                                         .out = { [DX] = VKT_INPLACE },
                                         .shape = total_bwd_shape,
                                         .record = total_bwd_record,
                                         .ref = total_bwd_ref,
                                         .cost = total_bwd_cost,
                                         .terms = total_bwd_terms,
                                         .sample = bwd_sample };
