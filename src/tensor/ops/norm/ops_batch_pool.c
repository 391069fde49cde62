/* Batch norm with an activation and max pooling in one pass, as a rewrite makes it of three rows
 * (rewrite_batch.c): what lies before the pooling is never written, and the gradient reads what the
 * pooling kept. Sums are over the same chunks, on CPU drivers in the same order, so results there
 * are those of the plain rows bit for bit. Kernels batch_norm_pool*.comp. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/norm/batch.h"

static uint32_t windows(uint32_t extent, uint32_t k, uint32_t stride)
{
    return (extent - k) / stride + 1;
}

/* lines: of pictures or of windows, that a kernel takes in blocks; 0: it takes chunks. */
static void dispatch(vkt__rec *rec, const vkt_node *n, vkt__shader kernel, vkt__shader pairs,
                     struct batch_norm_params *p, const vkt_tensor *x, uint64_t lines)
{
    enum { LINES = 8 }; /* of a block on CPU drivers: an integer division is a loop there */
    bool two = vkt__use_pairs(rec->caps) && p->cols % 2 == 0;
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_ACT, (uint32_t)n->attr.batch.act },
                                   { VKT_SPEC_FIXED, n->attr.batch.fixed },
                                   { VKT_SPEC_KH, n->attr.batch.pool_h },
                                   { VKT_SPEC_KW, n->attr.batch.pool_w },
                                   { VKT_SPEC_STRIDE, n->attr.batch.pool_stride } };
    uint64_t blocks = (uint64_t)p->groups * p->per_group;
    p->h = x->shape.d[1];
    p->wd = x->shape.d[2];
    if (lines) {
        p->chunk = rec->caps->klass == VKT_GPU_CLASS_CPU ? LINES : 1;
        blocks = (lines + p->chunk - 1) / p->chunk;
    }
    vkt__dispatch(rec, two ? pairs : kernel, spec, VKT_COUNT(spec), p, sizeof *p,
                  (blocks * (p->cols / (two ? 2 : 1)) + wg - 1) / wg);
}

enum { PLACE = VKT__BN_PRE, N_OUT };

/* ---- forward: x, mean, rstd (or running mean, variance), w, b -> y, place u32 ---- */

static bool shape(vkt_node *n)
{
    vkt_shape out = n->in[VKT__BN_X]->shape;
    const uint32_t k[] = { n->attr.batch.pool_h, n->attr.batch.pool_w };
    for (uint32_t i = 0; i < 2; i++)
        out.d[i + 1] = windows(out.d[i + 1], k[i], n->attr.batch.pool_stride);
    vkt__out(n, VKT__BN_Y, out, VKT_F32);
    vkt__out(n, PLACE, out, VKT_U32);
    return true;
}

static void record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BN_X], false);
    p.x = vkt__addr(rec, n->in[VKT__BN_X]);
    p.mean = vkt__addr(rec, n->in[VKT__BN_MEAN]);
    p.rstd = vkt__addr(rec, n->in[VKT__BN_RSTD]);
    p.w = vkt__addr(rec, n->in[VKT__BN_W]);
    p.b = vkt__addr(rec, n->in[VKT__BN_B]);
    p.out0 = vkt__addr(rec, n->out[VKT__BN_Y]);
    p.place = vkt__addr(rec, n->out[PLACE]);
    const uint32_t *y = n->out[VKT__BN_Y]->shape.d;
    dispatch(rec, n, VKT_SHADER_BATCH_NORM_POOL, VKT_SHADER_BATCH_NORM_POOL_PAIRS, &p,
             n->in[VKT__BN_X], (uint64_t)y[0] * y[1]);
}

/* Row of x (its pixel) that pixel t of the window of element i of y sees. */
static uint64_t pixel(const vkt_node *n, const uint32_t *x, const uint32_t *y, uint64_t i,
                      uint64_t t)
{
    uint64_t stride = n->attr.batch.pool_stride, kw = n->attr.batch.pool_w,
             row = i / y[3] / y[2] % y[1] * stride + t / kw,
             col = i / y[3] % y[2] * stride + t % kw;
    return (i / y[3] / y[2] / y[1] * x[1] + row) * x[2] + col;
}

static void ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BN_X], false);
    uint64_t taps = (uint64_t)n->attr.batch.pool_h * n->attr.batch.pool_w;
    for (uint64_t i = 0; i < n->out[VKT__BN_Y]->count; i++) {
        double best = 0;
        uint64_t place = 0, c = i % p.cols;
        for (uint64_t t = 0; t < taps; t++) {
            uint64_t r = pixel(n, n->in[VKT__BN_X]->shape.d, n->out[VKT__BN_Y]->shape.d, i, t),
                     at = r / p.group_rows * p.cols + c;
            double rstd = vkt__batch_rstd(n, in[VKT__BN_RSTD][at]),
                   y = vkt__act(n->attr.batch.act,
                                (in[VKT__BN_X][r * p.cols + c] - in[VKT__BN_MEAN][at]) * rstd *
                                        in[VKT__BN_W][c] +
                                    in[VKT__BN_B][c]);
            if (t == 0 || y > best || isnan(y)) {
                best = y;
                place = t;
            }
        }
        bool cut = n->attr.batch.act == VKT_ACT_RELU && !(best > 0);
        out[VKT__BN_Y][i] = best;
        out[PLACE][i] = (double)(cut ? taps : place);
    }
}

static vkt_cost cost(const vkt_node *n)
{
    double count = (double)n->in[VKT__BN_X]->count;
    vkt_cost c = { 5 * count, 4 * count + 8 * (double)n->out[VKT__BN_Y]->count };
    return c;
}

/* ---- backward, sums: dy, x, mean, rstd, place -> sums of g, of g h [chunks, C] ---- */

static bool sums_shape(vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNS_X], true);
    for (uint32_t i = 0; i < 2; i++)
        vkt__out(n, i, vkt_shape2(p.groups * p.per_group, p.cols), VKT_F32);
    return true;
}

static void sums_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNS_X], true);
    p.dy = vkt__addr(rec, n->in[VKT__BNS_DY]);
    p.x = vkt__addr(rec, n->in[VKT__BNS_X]);
    p.mean = vkt__addr(rec, n->in[VKT__BNS_MEAN]);
    p.rstd = vkt__addr(rec, n->in[VKT__BNS_RSTD]);
    p.place = vkt__addr(rec, n->in[VKT__BNS_PLACE]);
    p.out0 = vkt__addr(rec, n->out[VKT__BNS_SUM_G]);
    p.out1 = vkt__addr(rec, n->out[VKT__BNS_SUM_GH]);
    dispatch(rec, n, VKT_SHADER_BATCH_NORM_POOL_SUMS, VKT_SHADER_BATCH_NORM_POOL_SUMS_PAIRS, &p,
             n->in[VKT__BNS_X], 0);
}

/* The gradient before the pooling, of x's shape; the caller frees it. */
static double *spread(const vkt_node *n, const double *dy, const double *place)
{
    const vkt_tensor *x = n->in[VKT__BNS_X], *y = n->in[VKT__BNS_DY];
    double *g = vkt__alloc((x->count + 1) * sizeof *g),
           taps = (double)n->attr.batch.pool_h * n->attr.batch.pool_w;
    for (uint64_t i = 0; i < y->count; i++)
        if (place[i] < taps)
            g[pixel(n, x->shape.d, y->shape.d, i, (uint64_t)place[i]) * x->shape.d[3] +
              i % x->shape.d[3]] = dy[i];
    return g;
}

static void sums_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNS_X], true);
    double *g = spread(n, in[VKT__BNS_DY], in[VKT__BNS_PLACE]);
    for (uint64_t i = 0; i < n->out[VKT__BNS_SUM_G]->count; i++) {
        uint64_t c = i % p.cols, begin, end = vkt__batch_chunk_rows(&p, i / p.cols, &begin),
                 at = i / p.cols / p.per_group * p.cols + c;
        out[VKT__BNS_SUM_G][i] = out[VKT__BNS_SUM_GH][i] = 0;
        for (uint64_t k = begin * p.cols + c; k < end * p.cols; k += p.cols) {
            out[VKT__BNS_SUM_G][i] += g[k];
            out[VKT__BNS_SUM_GH][i] += g[k] * (in[VKT__BNS_X][k] - in[VKT__BNS_MEAN][at]) *
                                       vkt__batch_rstd(n, in[VKT__BNS_RSTD][at]);
        }
    }
    free(g);
}

static vkt_cost sums_cost(const vkt_node *n)
{
    double count = (double)n->in[VKT__BNS_X]->count;
    vkt_cost c = { 5 * count, 4 * count + 8 * (double)n->in[VKT__BNS_DY]->count };
    return c;
}

/* ---- backward, of x: dy, x, mean, rstd, w, sums of g, of g h, place -> dx ---- */

static bool bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[VKT__BNB_X]->shape, VKT_F32);
    return true;
}

static void bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_bwd_params(rec, n);
    p.place = vkt__addr(rec, n->in[VKT__BNB_PLACE]);
    const uint32_t *x = n->in[VKT__BNB_X]->shape.d;
    dispatch(rec, n, VKT_SHADER_BATCH_NORM_POOL_BWD, VKT_SHADER_BATCH_NORM_POOL_BWD_PAIRS, &p,
             n->in[VKT__BNB_X], (uint64_t)x[0] * x[1]);
}

static void bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNB_X], false);
    double *g = spread(n, in[VKT__BNB_G], in[VKT__BNB_PLACE]);
    for (uint64_t i = 0; i < n->out[0]->count; i++) out[0][i] = vkt__batch_dx(n, &p, in, i, g[i]);
    free(g);
}

static vkt_cost bwd_cost(const vkt_node *n)
{
    double count = (double)n->out[0]->count;
    vkt_cost c = { 6 * count, 8 * count + 8 * (double)n->in[VKT__BNB_G]->count };
    return c;
}

/* ---- the gradient ---- */

static void grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (!dy[VKT__BN_Y]) return;
    vkt_tensor *d = vkt__real(g, dy[VKT__BN_Y], n->out[VKT__BN_Y]), *place = n->out[PLACE];
    const vkt_node *sums = vkt__node(
        g, &vkt__op_batch_norm_pool_sums,
        (vkt_tensor *[]) { d, n->in[VKT__BN_X], n->in[VKT__BN_MEAN], n->in[VKT__BN_RSTD], place },
        5, n->attr);
    if (sums) vkt__batch_grad(g, n, d, sums, place, &vkt__op_batch_norm_pool_bwd, dx);
}

/* ---- samples ---- */

static const struct {
    const char *name;
    uint32_t x[4], kh, kw, stride, virtual_batch;
    vkt_act act;
    bool fixed;
} cases[] = {
    { "halves, relu", { 3, 6, 8, 6 }, 2, 2, 2, 0, VKT_ACT_RELU, false },
    { "a row and a column left over", { 2, 7, 9, 33 }, 2, 2, 2, 0, VKT_ACT_NONE, false },
    { "gaps between windows, ghost batches", { 5, 8, 7, 4 }, 2, 1, 3, 2, VKT_ACT_RELU, false },
    { "more lines than a block", { 4, 11, 4, 34 }, 3, 3, 3, 0, VKT_ACT_RELU, false },
    { "one window", { 2, 3, 3, 1 }, 3, 3, 3, 0, VKT_ACT_RELU, false },
    { "by the running averages", { 2, 6, 6, 5 }, 2, 2, 2, 0, VKT_ACT_RELU, true },
};

/* As the rewrite makes it. */
static vkt_node *sample_of(vkt_graph *g, uint32_t i)
{
    const uint32_t *d = cases[i].x;
    vkt_tensor *x =
        vkt__sample(g, (vkt_shape) { 4, { d[0], d[1], d[2], d[3] } }, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_batch_norm_desc desc = {
        .w = vkt__sample1(g, d[3]),
        .b = vkt__sample1(g, d[3]),
        .running_mean = vkt__sample1(g, d[3]),
        .running_var = vkt__sample(g, vkt_shape1(d[3]), VKT_F32, VKT_HINT_POSITIVE, 0),
        .count = vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_INDEX, 99),
        .eps = 1e-5f,
        .momentum = 0.1f,
        .virtual_batch = cases[i].virtual_batch,
        .train = !cases[i].fixed
    };
    vkt_node *plain = vkt_batch_norm(g, x, &desc)->node;
    vkt_attr attr = plain->attr;
    attr.batch.act = cases[i].act;
    attr.batch.pool_h = cases[i].kh;
    attr.batch.pool_w = cases[i].kw;
    attr.batch.pool_stride = cases[i].stride;
    return vkt__node(g, &vkt__op_batch_norm_pool, plain->in, 5, attr);
}

static const char *sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(cases)) return NULL;
    sample_of(g, i);
    return cases[i].name;
}

static const char *bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(cases)) return NULL;
    vkt_node *n = sample_of(g, i);
    vkt_tensor *dy = vkt__sample(g, n->out[VKT__BN_Y]->shape, VKT_F32, VKT_HINT_NORMAL, 0),
               *dx[VKT_MAX_IN] = { 0 };
    n->in[VKT__BN_X]->needs = true;
    grad(g, n, &dy, dx);
    return cases[i].name;
}

/* ---- rows ---- */

const vkt_op vkt__op_batch_norm_pool = { .name = "batch_norm_pool",
                                         .n_in = VKT__BN_R,
                                         .n_out = N_OUT,
                                         .shape = shape,
                                         .record = record,
                                         .grad = grad,
                                         .ref = ref,
                                         .cost = cost,
                                         .terms = vkt__batch_norm_terms,
                                         .sample = sample };
const vkt_op vkt__op_batch_norm_pool_sums = { .name = "batch_norm_pool_sums",
                                              .n_in = VKT__BNS_PLACE + 1,
                                              .n_out = 2,
                                              .in = { [VKT__BNS_PLACE] = VKT_WORDS },
                                              .shape = sums_shape,
                                              .record = sums_record,
                                              .ref = sums_ref,
                                              .cost = sums_cost,
                                              .terms = vkt__batch_sums_terms,
                                              .sample = bwd_sample };
const vkt_op vkt__op_batch_norm_pool_bwd = { .name = "batch_norm_pool_bwd",
                                             .n_in = VKT__BNB_PLACE + 1,
                                             .n_out = 1,
                                             .in = { [VKT__BNB_SUM_G] = VKT_OPTIONAL,
                                                     [VKT__BNB_SUM_GH] = VKT_OPTIONAL,
                                                     [VKT__BNB_PLACE] = VKT_WORDS },
                                             .shape = bwd_shape,
                                             .record = bwd_record,
                                             .ref = bwd_ref,
                                             .cost = bwd_cost,
                                             .terms = vkt__batch_bwd_terms,
                                             .sample = bwd_sample };
