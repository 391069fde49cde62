/* Batch norm rows, forward: statistics of chunks of rows, merged in order into those of each ghost
 * batch and into the running averages; the normalisation with residual and activation fused in.
 * Kernels batch_stats.comp, batch_finish.comp, their tiled forms, batch_norm.comp. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/norm/batch.h"

enum { MEANS, SQUARES, RUN_MEAN, RUN_VAR, COUNT, N_FINISH_IN };
enum { MEAN, RSTD, N_FINISH_OUT };

/* ---- statistics of chunks: x -> means, squares [chunks, C] ---- */

static bool stats_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[0];
    uint32_t rows = vkt__rows_of(x->shape), in_last = 0;
    if (x->shape.rank < 2) return vkt__shape_error(n, "%s must be [B, ..., C]", vkt__text(x));
    if (rows) in_last = rows - (vkt__batch_groups(n, rows) - 1) * vkt__batch_group_rows(n, rows);
    if (in_last < 2)
        return vkt__shape_error(n,
                                "%s in ghost batches of %u values a channel: the last has %u, of "
                                "which there is no variance; choose another batch or virtual batch",
                                vkt__text(x), rows ? vkt__batch_group_rows(n, rows) : 0, in_last);
    struct batch_norm_params p = vkt__batch_params(n, x, true);
    for (uint32_t i = 0; i < 2; i++)
        vkt__out(n, i, vkt_shape2(p.groups * p.per_group, p.cols), VKT_F32);
    return true;
}

static void stats_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[0], true);
    p.x = vkt__addr(rec, n->in[0]);
    p.out0 = vkt__addr(rec, n->out[MEANS]);
    p.out1 = vkt__addr(rec, n->out[SQUARES]);
    static const vkt__batch_kernels k = { VKT_SHADER_BATCH_STATS, VKT_SHADER_BATCH_STATS_PAIRS,
                                          VKT_SHADER_BATCH_STATS_TILED,
                                          VKT_SHADER_BATCH_STATS_TILED_VECTORS };
    vkt__batch_dispatch_chunks(rec, &k, &p, 0, 0, false);
}

static void stats_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[0], true);
    for (uint64_t i = 0; i < n->out[MEANS]->count; i++) {
        uint64_t c = i % p.cols, begin, end = vkt__batch_chunk_rows(&p, i / p.cols, &begin);
        double mean = 0, squares = 0;
        for (uint64_t r = begin; r < end; r++)
            mean += in[0][r * p.cols + c] / (double)(end - begin);
        for (uint64_t r = begin; r < end; r++)
            squares += (in[0][r * p.cols + c] - mean) * (in[0][r * p.cols + c] - mean);
        out[MEANS][i] = mean;
        out[SQUARES][i] = squares;
    }
}

/* ---- merged: means, squares, running mean, variance, count -> mean, rstd [groups, C] ---- */

static bool finish_shape(vkt_node *n)
{
    uint32_t C = vkt__last(n->in[MEANS]->shape);
    static const char *const names[] = { "running mean", "running variance" };
    for (uint32_t i = 0; i < 2; i++)
        if (n->in[RUN_MEAN + i]->shape.rank != 1 || n->in[RUN_MEAN + i]->shape.d[0] != C)
            return vkt__shape_error(n, "%s %s must be [%u]", names[i],
                                    vkt__text(n->in[RUN_MEAN + i]), C);
    if (n->in[COUNT]->count != 1)
        return vkt__shape_error(n, "count %s must be [1] u32", vkt__text(n->in[COUNT]));
    const vkt_tensor *x = vkt__batch_x(n);
    for (uint32_t i = 0; i < 2; i++)
        vkt__out(n, i, vkt_shape2(vkt__batch_groups(n, vkt__rows_of(x->shape)), C), VKT_F32);
    return true;
}

static void finish_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params q = vkt__batch_params(n, vkt__batch_x(n), true);
    struct batch_finish_params p = { .means = vkt__addr(rec, n->in[MEANS]),
                                     .squares = vkt__addr(rec, n->in[SQUARES]),
                                     .run_mean = vkt__addr(rec, n->in[RUN_MEAN]),
                                     .run_var = vkt__addr(rec, n->in[RUN_VAR]),
                                     .count = vkt__addr(rec, n->in[COUNT]),
                                     .mean = vkt__addr(rec, n->out[MEAN]),
                                     .rstd = vkt__addr(rec, n->out[RSTD]),
                                     .rows = q.rows,
                                     .cols = q.cols,
                                     .groups = q.groups,
                                     .group_rows = q.group_rows,
                                     .per_group = q.per_group,
                                     .chunk = q.chunk,
                                     .eps = q.eps,
                                     .momentum = n->attr.batch.momentum,
                                     .whole = n->attr.batch.whole };
    vkt__batch_dispatch_merge(rec, VKT_SHADER_BATCH_FINISH, VKT_SHADER_BATCH_FINISH_TILED,
                              VKT_SHADER_BATCH_FINISH_TILED_VECTORS, &p, sizeof p, p.cols,
                              p.per_group);
}

static void finish_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, vkt__batch_x(n), true);
    double momentum = (double)n->attr.batch.momentum;
    for (uint64_t c = 0; c < p.cols; c++)
        for (uint64_t g = 0; g < p.groups; g++) {
            double count = 0, mean = 0, squares = 0;
            for (uint64_t k = 0; k < p.per_group; k++) {
                uint64_t begin, i = (g * p.per_group + k) * p.cols + c,
                                end = vkt__batch_chunk_rows(&p, g * p.per_group + k, &begin);
                double m = (double)(end - begin), d = in[MEANS][i] - mean;
                if (m == 0) continue;
                mean += d * m / (count + m);
                squares += in[SQUARES][i] + d * d * count * m / (count + m);
                count += m;
            }
            out[MEAN][g * p.cols + c] = mean;
            out[RSTD][g * p.cols + c] = 1 / sqrt(squares / count + (double)n->attr.batch.eps);
            double whole = (double)n->attr.batch.whole,
                   var = whole > 1 ? squares / count * (whole / (whole - 1))
                                   : squares / VKT_MAX(count - 1, 1);
            if (!isfinite(mean) || !isfinite(var)) continue;
            in[RUN_MEAN][c] += momentum * (mean - in[RUN_MEAN][c]);
            in[RUN_VAR][c] += momentum * (var - in[RUN_VAR][c]);
        }
    in[COUNT][0] += p.groups;
}

/* ---- the norm: x, mean, rstd (or running mean, variance), w, b, r? -> y, pre? ---- */

static bool norm_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[VKT__BN_X], *r = n->in[VKT__BN_R];
    uint32_t C = vkt__last(x->shape);
    static const char *const names[] = { "mean", "variance", "weight", "bias" };
    for (uint32_t i = 0; i < 4; i++) {
        const vkt_tensor *t = n->in[VKT__BN_MEAN + i];
        bool ok = i < 2 && !n->attr.batch.fixed
                      ? t->count == (uint64_t)C * vkt__batch_groups(n, vkt__rows_of(x->shape))
                      : t->shape.rank == 1 && t->shape.d[0] == C;
        if (!ok)
            return vkt__shape_error(n, "%s %s must be [%u] for %s", names[i], vkt__text(t), C,
                                    vkt__text(x));
    }
    if (r && !vkt__shape_equal(r->shape, x->shape))
        return vkt__shape_error(n, "residual %s must have the shape of %s", vkt__text(r),
                                vkt__text(x));
    vkt__out(n, VKT__BN_Y, x->shape, VKT_F32);
    if (n->attr.batch.act != VKT_ACT_NONE && !vkt__act_from_output(n->attr.batch.act))
        vkt__out(n, VKT__BN_PRE, x->shape, VKT_F32);
    return true;
}

static void norm_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BN_X], false);
    p.x = vkt__addr(rec, n->in[VKT__BN_X]);
    p.mean = vkt__addr(rec, n->in[VKT__BN_MEAN]);
    p.rstd = vkt__addr(rec, n->in[VKT__BN_RSTD]);
    p.w = vkt__addr(rec, n->in[VKT__BN_W]);
    p.b = vkt__addr(rec, n->in[VKT__BN_B]);
    p.r = vkt__addr_or(rec, n->in[VKT__BN_R], n->in[VKT__BN_X]);
    p.out0 = vkt__addr(rec, n->out[VKT__BN_Y]);
    p.out1 = vkt__addr_or(rec, n->out[VKT__BN_PRE], n->out[VKT__BN_Y]);
    p.flags = (n->in[VKT__BN_R] ? VKT_BN_RESIDUAL : 0) | (n->out[VKT__BN_PRE] ? VKT_BN_PRE : 0);
    vkt__batch_dispatch(rec, VKT_SHADER_BATCH_NORM, VKT_SHADER_BATCH_NORM_PAIRS, &p,
                        (uint32_t)n->attr.batch.act, n->attr.batch.fixed, false);
}

static void norm_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BN_X], false);
    for (uint64_t i = 0; i < n->out[VKT__BN_Y]->count; i++) {
        uint64_t c = i % p.cols, at = i / p.cols / p.group_rows * p.cols + c;
        double y = (in[VKT__BN_X][i] - in[VKT__BN_MEAN][at]) *
                       vkt__batch_rstd(n, in[VKT__BN_RSTD][at]) * in[VKT__BN_W][c] +
                   in[VKT__BN_B][c] + (in[VKT__BN_R] ? in[VKT__BN_R][i] : 0);
        if (out[VKT__BN_PRE]) out[VKT__BN_PRE][i] = y;
        out[VKT__BN_Y][i] = vkt__act(n->attr.batch.act, y);
    }
}

static vkt_cost norm_cost(const vkt_node *n)
{
    double count = (double)n->out[VKT__BN_Y]->count;
    vkt_cost c = { 4 * count,
                   4 * count * (2 + (n->in[VKT__BN_R] != NULL) + (n->out[VKT__BN_PRE] != NULL)) };
    return c;
}

/* ---- samples ---- */

/* NULL past the last case. */
static const char *sample(vkt_graph *g, uint32_t i, bool train)
{
    const vkt__batch_case *s = vkt__batch_case_at(i);
    if (!s) return NULL;
    uint32_t C = s->x[2];
    vkt_tensor *x = vkt__batch_case_x(g, s), *r = s->residual ? vkt__batch_case_x(g, s) : NULL;
    vkt_batch_norm_desc d = { .w = vkt__sample1(g, C),
                              .b = vkt__sample1(g, C),
                              .running_mean = vkt__sample1(g, C),
                              .running_var =
                                  vkt__sample(g, vkt_shape1(C), VKT_F32, VKT_HINT_POSITIVE, 0),
                              .count = vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_INDEX, 99),
                              .eps = 1e-5f,
                              .momentum = 0.1f,
                              .virtual_batch = s->virtual_batch,
                              .train = train };
    vkt_node *plain = vkt_batch_norm(g, x, &d)->node;
    if (!r && s->act == VKT_ACT_NONE) return s->name;
    /* As the rewrite makes it. */
    vkt_attr attr = plain->attr;
    attr.batch.act = s->act;
    vkt__node(g, &vkt__op_batch_norm,
              (vkt_tensor *[]) { x, plain->in[VKT__BN_MEAN], plain->in[VKT__BN_RSTD], d.w, d.b, r },
              VKT__BN_IN, attr);
    return s->name;
}

static const char *norm_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    return sample(g, i, true);
}

/* By the batch, then by the running averages. */
static const char *finish_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    return sample(g, i / 2, i % 2 == 0);
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_batch_stats = { .name = "batch_stats",
                                     .n_in = 1,
                                     .n_out = 2,
                                     .shape = stats_shape,
                                     .record = stats_record,
                                     .ref = stats_ref,
                                     .terms = vkt__batch_stats_terms,
                                     .sample = norm_sample };
const vkt_op vkt__op_batch_finish = {
    .name = "batch_finish",
    .n_in = N_FINISH_IN,
    .n_out = N_FINISH_OUT,
    .in = { [RUN_MEAN] = VKT_CHANGED, [RUN_VAR] = VKT_CHANGED, [COUNT] = VKT_WORDS | VKT_CHANGED },
    .shape = finish_shape,
    .record = finish_record,
    .ref = finish_ref,
    .terms = vkt__batch_finish_terms,
    .sample = finish_sample
};
const vkt_op vkt__op_batch_norm = {
    .name = "batch_norm",
    .n_in = VKT__BN_IN,
    .n_out = VKT__BN_OUT,
    .in = { [VKT__BN_X] = VKT_INPLACE, [VKT__BN_R] = VKT_OPTIONAL | VKT_INPLACE },
    .out = { [VKT__BN_Y] = VKT_INPLACE },
    .shape = norm_shape,
    .record = norm_record,
    .grad = vkt__batch_norm_grad,
    .ref = norm_ref,
    .cost = norm_cost,
    .terms = vkt__batch_norm_terms,
    .sample = finish_sample
};

vkt_tensor *vkt_batch_norm(vkt_graph *g, vkt_tensor *x, const vkt_batch_norm_desc *d)
{
    if (x->inert) return x;
    uint64_t per_example = x->shape.d[0] ? vkt__rows_of(x->shape) / x->shape.d[0] : 0,
             rows = VKT_MIN(per_example * d->virtual_batch, UINT32_MAX);
    vkt_attr attr = { .batch = { .eps = d->eps,
                                 .momentum = d->momentum,
                                 .group_rows = d->train ? (uint32_t)rows : 0,
                                 .fixed = !d->train } };
    vkt_tensor *mean = d->running_mean, *rstd = d->running_var;
    if (d->train) {
        const vkt_node *stats = vkt__node(g, &vkt__op_batch_stats, &x, 1, attr);
        if (!stats) return vkt__inert(g);
        const vkt_node *finish = vkt__node(
            g, &vkt__op_batch_finish,
            (vkt_tensor *[]) { stats->out[MEANS], stats->out[SQUARES], mean, rstd, d->count }, 5,
            attr);
        if (!finish) return vkt__inert(g);
        mean = finish->out[MEAN];
        rstd = finish->out[RSTD];
    }
    return vkt__op(g, &vkt__op_batch_norm, (vkt_tensor *[]) { x, mean, rstd, d->w, d->b }, 5, attr);
}
