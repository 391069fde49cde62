/* Batch norm rows, forward: statistics of chunks of rows, merged in order into those of each ghost
 * batch and into the running averages; the normalisation with residual and activation fused in.
 * Kernels batch_stats.comp, batch_finish.comp, their tiled forms, batch_norm.comp. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/norm/batch.h"

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
    p.out0 = vkt__addr(rec, n->out[0]);
    p.out1 = vkt__addr(rec, n->out[1]);
    static const vkt__batch_kernels k = { VKT_SHADER_BATCH_STATS, VKT_SHADER_BATCH_STATS_PAIRS,
                                          VKT_SHADER_BATCH_STATS_TILED,
                                          VKT_SHADER_BATCH_STATS_TILED_VECTORS };
    vkt__batch_dispatch_chunks(rec, &k, &p, 0, 0, false);
}

static void stats_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[0], true);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t c = i % p.cols, begin, end = vkt__batch_chunk_rows(&p, i / p.cols, &begin);
        double mean = 0, squares = 0;
        for (uint64_t r = begin; r < end; r++)
            mean += in[0][r * p.cols + c] / (double)(end - begin);
        for (uint64_t r = begin; r < end; r++)
            squares += (in[0][r * p.cols + c] - mean) * (in[0][r * p.cols + c] - mean);
        out[0][i] = mean;
        out[1][i] = squares;
    }
}

/* ---- merged: means, squares, running mean, variance, count -> mean, rstd [groups, C] ---- */

static bool finish_shape(vkt_node *n)
{
    uint32_t C = vkt__last(n->in[0]->shape);
    static const char *const names[] = { "running mean", "running variance" };
    for (uint32_t i = 0; i < 2; i++)
        if (n->in[2 + i]->shape.rank != 1 || n->in[2 + i]->shape.d[0] != C)
            return vkt__shape_error(n, "%s %s must be [%u]", names[i], vkt__text(n->in[2 + i]), C);
    if (n->in[4]->count != 1)
        return vkt__shape_error(n, "count %s must be [1] u32", vkt__text(n->in[4]));
    const vkt_tensor *x = vkt__batch_x(n);
    for (uint32_t i = 0; i < 2; i++)
        vkt__out(n, i, vkt_shape2(vkt__batch_groups(n, vkt__rows_of(x->shape)), C), VKT_F32);
    return true;
}

static void finish_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params q = vkt__batch_params(n, vkt__batch_x(n), true);
    struct batch_finish_params p = { .means = vkt__addr(rec, n->in[0]),
                                     .squares = vkt__addr(rec, n->in[1]),
                                     .run_mean = vkt__addr(rec, n->in[2]),
                                     .run_var = vkt__addr(rec, n->in[3]),
                                     .count = vkt__addr(rec, n->in[4]),
                                     .mean = vkt__addr(rec, n->out[0]),
                                     .rstd = vkt__addr(rec, n->out[1]),
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
                double m = (double)(end - begin), d = in[0][i] - mean;
                if (m == 0) continue;
                mean += d * m / (count + m);
                squares += in[1][i] + d * d * count * m / (count + m);
                count += m;
            }
            out[0][g * p.cols + c] = mean;
            out[1][g * p.cols + c] = 1 / sqrt(squares / count + (double)n->attr.batch.eps);
            double whole = (double)n->attr.batch.whole,
                   var = whole > 1 ? squares / count * (whole / (whole - 1))
                                   : squares / VKT_MAX(count - 1, 1);
            if (!isfinite(mean) || !isfinite(var)) continue;
            in[2][c] += momentum * (mean - in[2][c]);
            in[3][c] += momentum * (var - in[3][c]);
        }
    in[4][0] += p.groups;
}

/* ---- the norm: x, mean, rstd (or running mean, variance), w, b, r? -> y, pre? ---- */

static bool norm_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[0], *r = n->in[5];
    uint32_t C = vkt__last(x->shape);
    static const char *const names[] = { "mean", "variance", "weight", "bias" };
    for (uint32_t i = 0; i < 4; i++) {
        const vkt_tensor *t = n->in[1 + i];
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
    vkt__out(n, 0, x->shape, VKT_F32);
    if (n->attr.batch.act != VKT_ACT_NONE && !vkt__act_from_output(n->attr.batch.act))
        vkt__out(n, 1, x->shape, VKT_F32);
    return true;
}

static void norm_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[0], false);
    p.x = vkt__addr(rec, n->in[0]);
    p.mean = vkt__addr(rec, n->in[1]);
    p.rstd = vkt__addr(rec, n->in[2]);
    p.w = vkt__addr(rec, n->in[3]);
    p.b = vkt__addr(rec, n->in[4]);
    p.r = vkt__addr_or(rec, n->in[5], n->in[0]);
    p.out0 = vkt__addr(rec, n->out[0]);
    p.out1 = vkt__addr_or(rec, n->out[1], n->out[0]);
    p.flags = (n->in[5] ? VKT_BN_RESIDUAL : 0) | (n->out[1] ? VKT_BN_PRE : 0);
    vkt__batch_dispatch(rec, VKT_SHADER_BATCH_NORM, VKT_SHADER_BATCH_NORM_PAIRS, &p,
                        (uint32_t)n->attr.batch.act, n->attr.batch.fixed, false);
}

static void norm_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[0], false);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t c = i % p.cols, at = i / p.cols / p.group_rows * p.cols + c;
        double y = (in[0][i] - in[1][at]) * vkt__batch_rstd(n, in[2][at]) * in[3][c] + in[4][c] +
                   (in[5] ? in[5][i] : 0);
        if (out[1]) out[1][i] = y;
        out[0][i] = vkt__act(n->attr.batch.act, y);
    }
}

static vkt_cost norm_cost(const vkt_node *n)
{
    double count = (double)n->out[0]->count;
    vkt_cost c = { 4 * count, 4 * count * (2 + (n->in[5] != NULL) + (n->out[1] != NULL)) };
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
              (vkt_tensor *[]) { x, plain->in[1], plain->in[2], d.w, d.b, r }, 6, attr);
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
    .n_in = 5,
    .n_out = 2,
    .in = { [2] = VKT_CHANGED, [3] = VKT_CHANGED, [4] = VKT_WORDS | VKT_CHANGED },
    .shape = finish_shape,
    .record = finish_record,
    .ref = finish_ref,
    .terms = vkt__batch_finish_terms,
    .sample = finish_sample
};
const vkt_op vkt__op_batch_norm = { .name = "batch_norm",
                                    .n_in = 6,
                                    .n_out = 2,
                                    .in = { [0] = VKT_INPLACE, [5] = VKT_OPTIONAL | VKT_INPLACE },
                                    .out = { VKT_INPLACE },
                                    .shape = norm_shape,
                                    .record = norm_record,
                                    .grad = vkt__batch_norm_grad,
                                    .ref = norm_ref,
                                    .cost = norm_cost,
                                    .terms = vkt__batch_norm_terms,
                                    .sample = finish_sample };

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
            (vkt_tensor *[]) { stats->out[0], stats->out[1], mean, rstd, d->count }, 5, attr);
        if (!finish) return vkt__inert(g);
        mean = finish->out[0];
        rstd = finish->out[1];
    }
    return vkt__op(g, &vkt__op_batch_norm, (vkt_tensor *[]) { x, mean, rstd, d->w, d->b }, 5, attr);
}
