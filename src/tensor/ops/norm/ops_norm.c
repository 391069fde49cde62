/* Layer norm and RMS norm rows: forward with the residual sum fused in, gradient of the input with
 * the residual's gradient fused in, gradients of weight and bias, or all in one pass. Kernels
 * norm.comp, norm_bwd.comp, norm_dw.comp, norm_bwd_sums.comp. */
#include <math.h>

#include "tensor/graph/cost.h"
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

static bool wrong_row(const vkt_tensor *t, uint32_t C)
{
    return t->shape.rank != 1 || t->shape.d[0] != C;
}

/* ---- forward: x [..., C], w [C], b [C]?, r [..., C]? -> y, s?, mean?, rstd ---- */

enum { X, W, B, R, N_FORWARD_IN };
enum { Y, S, MEAN, RSTD, N_FORWARD_OUT };

static bool norm_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[X], *w = n->in[W], *b = n->in[B], *r = n->in[R];
    uint32_t C = vkt__last(x->shape);
    if (wrong_row(w, C))
        return vkt__shape_error(n, "weight %s must be [%u] for %s", vkt__text(w), C, vkt__text(x));
    if (b && wrong_row(b, C))
        return vkt__shape_error(n, "bias %s must be [%u] for %s", vkt__text(b), C, vkt__text(x));
    if (r && !vkt__shape_equal(r->shape, x->shape))
        return vkt__shape_error(n, "residual %s must have the shape of %s", vkt__text(r),
                                vkt__text(x));
    vkt_shape rows = vkt_shape1(vkt__rows_of(x->shape));
    vkt__out(n, Y, x->shape, VKT_F32);
    if (r) vkt__out(n, S, x->shape, VKT_F32);
    if (!n->attr.norm.rms) vkt__out(n, MEAN, rows, VKT_F32);
    vkt__out(n, RSTD, rows, VKT_F32);
    return true;
}

enum { N_TYPED = 4 };

/* The three forms of a kernel. */
typedef struct {
    vkt__shader walks, holds, pairs;
} row_kernels;

/* A tensor whose type is a constant of the kernel. */
typedef struct {
    uint32_t constant;
    const vkt_tensor *t;
} typed_tensor;

/* By a kernel that holds a row in registers, where the device and the row's length suit it (16-bit
 * rows: in fours or pairs), else by the one that walks it `passes` times. */
static void row_dispatch(vkt__rec *rec, const vkt_node *n, const row_kernels *k, uint32_t passes,
                         uint32_t arrays, const typed_tensor typed[N_TYPED], const void *push,
                         uint32_t push_bytes)
{
    uint32_t rows = vkt__rows_of(typed[0].t->shape), cols = vkt__last(typed[0].t->shape);
    vkt__row_form f = vkt__row_form_of(rec->caps, cols, passes, arrays);
    bool narrow = false, in_pairs = false;
    if (!f.held) {
        vkt__row_form pairs = vkt__row_form_pairs(rec->caps, cols);
        in_pairs = pairs.held;
        if (in_pairs) f = pairs;
    }
    for (uint32_t i = 0; i < N_TYPED; i++) narrow = narrow || typed[i].t->dtype != VKT_F32;
    if (narrow && !f.wide) f = vkt__row_form_walked(rec->caps, cols, passes, 1);
    vkt__constant spec[7 + N_TYPED] = { { VKT_SPEC_WORKGROUP, f.wg },
                                        { VKT_SPEC_LANES, f.lanes },
                                        { VKT_SPEC_REDUCE, f.reduce },
                                        { VKT_SPEC_RMS, n->attr.norm.rms },
                                        { VKT_SPEC_PLUS_ONE, n->attr.norm.plus_one } };
    uint32_t n_spec = 5;
    for (uint32_t i = 0; i < N_TYPED; i++)
        spec[n_spec++] = (vkt__constant) { typed[i].constant, vkt__type(typed[i].t) };
    if (f.held) {
        spec[n_spec++] = (vkt__constant) { VKT_SPEC_PER, f.per };
        spec[n_spec++] = (vkt__constant) { VKT_SPEC_WIDE, f.wide };
    }
    vkt__dispatch(rec,
                  in_pairs ? k->pairs
                  : f.held ? k->holds
                           : k->walks,
                  spec, n_spec, push, push_bytes, rows);
}

static void norm_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *x = n->in[X];
    struct norm_params p = { .x = vkt__addr(rec, x),
                             .w = vkt__addr(rec, n->in[W]),
                             .b = vkt__addr_or(rec, n->in[B], n->in[W]),
                             .r = vkt__addr_or(rec, n->in[R], x),
                             .y = vkt__addr(rec, n->out[Y]),
                             .s = vkt__addr(rec, n->out[S] ? n->out[S] : x),
                             .mean = vkt__addr(rec, n->out[MEAN]),
                             .rstd = vkt__addr(rec, n->out[RSTD]),
                             .rows = vkt__rows_of(x->shape),
                             .cols = vkt__last(x->shape),
                             .eps = n->attr.norm.eps };
    p.flags = (n->in[B] ? VKT_NORM_BIAS : 0) | (n->in[R] ? VKT_NORM_RESIDUAL : 0);
    const typed_tensor typed[] = { { VKT_SPEC_TYPE_X, x },
                                   { VKT_SPEC_TYPE_R, n->in[R] ? n->in[R] : x },
                                   { VKT_SPEC_TYPE_S, n->out[S] ? n->out[S] : x },
                                   { VKT_SPEC_TYPE_Y, n->out[Y] } };
    row_dispatch(
        rec, n,
        &(row_kernels) { VKT_SHADER_NORM, VKT_SHADER_NORM_HELD, VKT_SHADER_NORM_HELD_PAIRS }, 3, 2,
        typed, &p, sizeof p);
}

static void norm_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t rows = vkt__rows_of(n->in[X]->shape), C = vkt__last(n->in[X]->shape);
    for (uint64_t r = 0; r < rows; r++) {
        double mean = 0, var = 0;
        for (uint64_t i = r * C; i < (r + 1) * C && out[S]; i++)
            out[S][i] = vkt__round_to(n->out[S]->dtype, in[X][i] + in[R][i]);
        const double *s = (out[S] ? out[S] : in[X]) + r * C;
        for (uint64_t c = 0; c < C && out[MEAN]; c++) mean += s[c] / (double)C;
        for (uint64_t c = 0; c < C; c++) var += (s[c] - mean) * (s[c] - mean) / (double)C;
        double rstd = 1 / sqrt(var + (double)n->attr.norm.eps);
        for (uint64_t c = 0; c < C; c++)
            out[Y][r * C + c] =
                (s[c] - mean) * rstd * (in[W][c] + n->attr.norm.plus_one) + (in[B] ? in[B][c] : 0);
        if (out[MEAN]) out[MEAN][r] = mean;
        out[RSTD][r] = rstd;
    }
}

static vkt_cost norm_cost(const vkt_node *n)
{
    return (vkt_cost) { 8 * (double)n->out[Y]->count, vkt__node_bytes(n) };
}

/* The row's sums, then square root and divisions of up to 3 ulp each. */
static double norm_terms(const vkt_node *n)
{
    return vkt__last(n->in[X]->shape) + 32.0;
}

/* ---- gradient of x and r: dy, s, w, mean?, rstd, ds? -> dx; and, a chunk of rows at a time, of w
 * and b, where the attributes have a chunk -> dw, db? ---- */

enum { BWD_DY, BWD_S, BWD_W, BWD_MEAN, BWD_RSTD, BWD_DS, N_BWD_IN };
enum { DX, DX_DW, DX_DB, N_BWD_OUT };

/* dw, db: sums of `chunk` rows each, a row of C numbers a chunk. */
static vkt_shape sums_shape(uint32_t rows, uint32_t C, uint32_t chunk)
{
    uint32_t splits = VKT_MAX(1, (rows + chunk - 1) / chunk);
    return splits == 1 ? vkt_shape1(C) : vkt_shape2(splits, C);
}

static void sums_ref(const vkt_node *n, vkt_shape shape, const double *dy, const double *s,
                     const double *mean, const double *rstd, double *dw, double *db)
{
    uint64_t rows = vkt__rows_of(shape), C = vkt__last(shape), chunk = n->attr.norm.chunk,
             splits = VKT_MAX(1, (rows + chunk - 1) / chunk);
    for (uint64_t i = 0; i < splits * C; i++) {
        uint64_t c = i % C, end = VKT_MIN(rows, (i / C + 1) * chunk);
        double w = 0, b = 0;
        for (uint64_t r = i / C * chunk; r < end; r++) {
            w += dy[r * C + c] * (s[r * C + c] - (mean ? mean[r] : 0)) * rstd[r];
            b += dy[r * C + c];
        }
        dw[i] = w;
        if (db) db[i] = b;
    }
}

static bool norm_bwd_shape(vkt_node *n)
{
    vkt_shape s = n->in[BWD_S]->shape;
    vkt__out(n, DX, s, VKT_F32);
    if (!n->attr.norm.chunk) return true;
    vkt_shape sums = sums_shape(vkt__rows_of(s), vkt__last(s), n->attr.norm.chunk);
    vkt__out(n, DX_DW, sums, VKT_F32);
    if (n->attr.norm.bias) vkt__out(n, DX_DB, sums, VKT_F32);
    return true;
}

enum { SUMS_ARRAYS = 5 }; /* that norm_bwd_sums.comp keeps of a row */

static void norm_bwd_sums_record(vkt__rec *rec, const vkt_node *n, const struct norm_bwd_params *b,
                                 const typed_tensor typed[N_TYPED])
{
    struct norm_bwd_sums_params p = { .dy = b->dy,
                                      .s = b->s,
                                      .w = b->w,
                                      .mean = b->mean,
                                      .rstd = b->rstd,
                                      .ds = b->ds,
                                      .dx = b->dx,
                                      .dw = vkt__addr(rec, n->out[DX_DW]),
                                      .db = vkt__addr_or(rec, n->out[DX_DB], n->out[DX_DW]),
                                      .rows = b->rows,
                                      .cols = b->cols,
                                      .chunk = n->attr.norm.chunk,
                                      .flags = b->flags | (n->out[DX_DB] ? VKT_NORM_BIAS : 0) };
    p.splits = (uint32_t)(n->out[DX_DW]->count / p.cols);
    vkt__row_form f = vkt__row_form_sums(rec->caps, p.cols, SUMS_ARRAYS);
    vkt__constant spec[6 + N_TYPED] = { { VKT_SPEC_WORKGROUP, f.wg },
                                        { VKT_SPEC_LANES, f.lanes },
                                        { VKT_SPEC_REDUCE, f.reduce },
                                        { VKT_SPEC_RMS, n->attr.norm.rms },
                                        { VKT_SPEC_PLUS_ONE, n->attr.norm.plus_one },
                                        { VKT_SPEC_PER, f.per } };
    for (uint32_t i = 0; i < N_TYPED; i++)
        spec[6 + i] = (vkt__constant) { typed[i].constant, vkt__type(typed[i].t) };
    vkt__dispatch(rec, VKT_SHADER_NORM_BWD_SUMS, spec, VKT_COUNT(spec), &p, sizeof p, p.splits);
}

static void norm_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct norm_bwd_params p = { .dy = vkt__addr(rec, n->in[BWD_DY]),
                                 .s = vkt__addr(rec, n->in[BWD_S]),
                                 .w = vkt__addr(rec, n->in[BWD_W]),
                                 .mean = vkt__addr(rec, n->in[BWD_MEAN]),
                                 .rstd = vkt__addr(rec, n->in[BWD_RSTD]),
                                 .ds = vkt__addr_or(rec, n->in[BWD_DS], n->in[BWD_DY]),
                                 .dx = vkt__addr(rec, n->out[DX]),
                                 .rows = vkt__rows_of(n->in[BWD_S]->shape),
                                 .cols = vkt__last(n->in[BWD_S]->shape),
                                 .flags = n->in[BWD_DS] ? VKT_NORM_RESIDUAL : 0 };
    const typed_tensor typed[] = { { VKT_SPEC_TYPE_DY, n->in[BWD_DY] },
                                   { VKT_SPEC_TYPE_S, n->in[BWD_S] },
                                   { VKT_SPEC_TYPE_DS,
                                     n->in[BWD_DS] ? n->in[BWD_DS] : n->in[BWD_DY] },
                                   { VKT_SPEC_TYPE_DX, n->out[DX] } };
    if (n->out[DX_DW]) {
        norm_bwd_sums_record(rec, n, &p, typed);
        return;
    }
    row_dispatch(rec, n,
                 &(row_kernels) { VKT_SHADER_NORM_BWD, VKT_SHADER_NORM_BWD_HELD,
                                  VKT_SHADER_NORM_BWD_HELD_PAIRS },
                 2, 3, typed, &p, sizeof p);
}

static void norm_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t rows = vkt__rows_of(n->in[BWD_S]->shape), C = vkt__last(n->in[BWD_S]->shape);
    for (uint64_t r = 0; r < rows; r++) {
        const double *dy = in[BWD_DY] + r * C, *s = in[BWD_S] + r * C;
        double mean = in[BWD_MEAN] ? in[BWD_MEAN][r] : 0, rstd = in[BWD_RSTD][r], mean_g = 0,
               mean_gh = 0, one = n->attr.norm.plus_one;
        for (uint64_t c = 0; c < C; c++) {
            mean_g += dy[c] * (in[BWD_W][c] + one) / (double)C;
            mean_gh += dy[c] * (in[BWD_W][c] + one) * (s[c] - mean) * rstd / (double)C;
        }
        if (n->attr.norm.rms) mean_g = 0;
        for (uint64_t c = 0; c < C; c++)
            out[DX][r * C + c] =
                rstd * (dy[c] * (in[BWD_W][c] + one) - mean_g - (s[c] - mean) * rstd * mean_gh) +
                (in[BWD_DS] ? in[BWD_DS][r * C + c] : 0);
    }
    if (out[DX_DW])
        sums_ref(n, n->in[BWD_S]->shape, in[BWD_DY], in[BWD_S], in[BWD_MEAN], in[BWD_RSTD],
                 out[DX_DW], out[DX_DB]);
}

static vkt_cost norm_bwd_cost(const vkt_node *n)
{
    return (vkt_cost) { (n->out[DX_DW] ? 15 : 12) * (double)n->out[DX]->count, vkt__node_bytes(n) };
}

/* Sums that are added along a chunk are of fewer terms than a row's or about as many. */
static double norm_bwd_terms(const vkt_node *n)
{
    return VKT_MAX(vkt__last(n->in[BWD_S]->shape), n->out[DX_DW] ? n->attr.norm.chunk : 0) + 32.0;
}

/* chunk 0: dx alone. */
static vkt_node *norm_bwd(vkt_graph *g, vkt_tensor *dy, const vkt_node *f, vkt_tensor *ds,
                          uint32_t chunk, bool bias)
{
    vkt_attr attr = f->attr;
    attr.norm.chunk = chunk;
    attr.norm.bias = bias;
    vkt_tensor *s = f->out[S] ? f->out[S] : f->in[X];
    return vkt__node(g, &vkt__op_norm_bwd,
                     (vkt_tensor *[]) { dy, s, f->in[W], f->out[MEAN], f->out[RSTD], ds }, 6, attr);
}

/* ---- gradients of w and b, a chunk of rows at a time: dy, s, mean?, rstd -> dw, db? ---- */

enum { DW_DY, DW_S, DW_MEAN, DW_RSTD, N_DW_IN };
enum { DW, DB, N_DW_OUT };

static bool norm_dw_shape(vkt_node *n)
{
    vkt_shape s = n->in[DW_S]->shape;
    vkt_shape sums = sums_shape(vkt__rows_of(s), vkt__last(s), n->attr.norm.chunk);
    vkt__out(n, DW, sums, VKT_F32);
    if (n->attr.norm.bias) vkt__out(n, DB, sums, VKT_F32);
    return true;
}

static void norm_dw_record(vkt__rec *rec, const vkt_node *n)
{
    struct norm_dw_params p = { .dy = vkt__addr(rec, n->in[DW_DY]),
                                .s = vkt__addr(rec, n->in[DW_S]),
                                .mean = vkt__addr(rec, n->in[DW_MEAN]),
                                .rstd = vkt__addr(rec, n->in[DW_RSTD]),
                                .dw = vkt__addr(rec, n->out[DW]),
                                .db = vkt__addr(rec, n->out[DB]),
                                .rows = vkt__rows_of(n->in[DW_S]->shape),
                                .cols = vkt__last(n->in[DW_S]->shape),
                                .chunk = n->attr.norm.chunk,
                                .flags = n->out[DB] ? VKT_NORM_BIAS : 0 };
    p.splits = (uint32_t)(n->out[DW]->count / p.cols);
    bool pairs = vkt__use_pairs(rec->caps) && p.cols % 2 == 0;
    uint32_t wg = pairs ? rec->caps->subgroup : VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_RMS, n->attr.norm.rms },
                                   { VKT_SPEC_TYPE_DY, vkt__type(n->in[DW_DY]) },
                                   { VKT_SPEC_TYPE_S, vkt__type(n->in[DW_S]) },
                                   { VKT_SPEC_TOGETHER, vkt__together(rec->caps, 2) } };
    uint64_t invocations = n->out[DW]->count / (pairs ? 2 : 1);
    vkt__dispatch(rec, pairs ? VKT_SHADER_NORM_DW_PAIRS : VKT_SHADER_NORM_DW, spec, VKT_COUNT(spec),
                  &p, sizeof p, (invocations + wg - 1) / wg);
}

static void norm_dw_ref(const vkt_node *n, double *const *in, double *const *out)
{
    sums_ref(n, n->in[DW_S]->shape, in[DW_DY], in[DW_S], in[DW_MEAN], in[DW_RSTD], out[DW],
             out[DB]);
}

static vkt_cost norm_dw_cost(const vkt_node *n)
{
    return (vkt_cost) { 5 * (double)n->in[DW_S]->count, vkt__node_bytes(n) };
}

static double norm_dw_terms(const vkt_node *n)
{
    return 4.0 + VKT_MIN(n->attr.norm.chunk, vkt__rows_of(n->in[DW_S]->shape));
}

static vkt_node *norm_dw(vkt_graph *g, vkt_tensor *dy, const vkt_node *f, bool bias)
{
    vkt_attr attr = { .norm = {
                          .rms = f->attr.norm.rms, .bias = bias, .chunk = vkt__row_chunk(g) } };
    vkt_tensor *s = f->out[S] ? f->out[S] : f->in[X];
    return vkt__node(g, &vkt__op_norm_dw, (vkt_tensor *[]) { dy, s, f->out[MEAN], f->out[RSTD] }, 4,
                     attr);
}

static vkt_tensor *add_chunks(vkt_graph *g, vkt_tensor *t)
{
    return t->shape.rank == 1 ? t : vkt__sum_chunks(g, t);
}

/* How many rows a workgroup sums that finds dx and the gradients of w and b in one pass, which
 * reads dy and s once; 0: two passes. CPU drivers keep the kernels that are made for them. Few rows
 * would be few workgroups; what a row keeps must have room in the registers. */
static uint32_t chunk_of_all(const vkt_graph *g, const vkt_node *n)
{
    enum { LEAST_ROWS = 4096, MOST_COLUMNS = 4096, MOST_PER = 16, CHUNK = 16, MOST_GROUPS = 1024 };
    uint32_t rows = vkt__rows_of(n->in[DW_DY]->shape), C = vkt__last(n->in[DW_DY]->shape);
    const vkt_caps *c = vkt__gpu_of(g) ? vkt_gpu_caps(vkt__gpu_of(g)) : NULL;
    if (!c || c->klass == VKT_GPU_CLASS_CPU || rows < LEAST_ROWS || C == 0 || C % 4 ||
        C > MOST_COLUMNS || vkt__row_form_sums(c, C, SUMS_ARRAYS).per > MOST_PER)
        return 0;
    return VKT_MAX(CHUNK, (rows + MOST_GROUPS - 1) / MOST_GROUPS);
}

static void norm_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[X], *w = n->in[W], *b = n->in[B], *r = n->in[R];
    vkt_tensor *d = dy[Y] ? vkt__real(g, dy[Y], n->out[Y]) : NULL,
               *both = dy[S] ? vkt__real(g, dy[S], n->out[S]) : NULL;
    bool row = vkt__needs(x) || vkt__needs(r);
    uint32_t chunk = d && row && vkt__needs(w) ? chunk_of_all(g, n) : 0;
    const vkt_node *of_row = d && row ? norm_bwd(g, d, n, both, chunk, vkt__needs(b)) : NULL;
    if (d && row) both = of_row ? of_row->out[DX] : vkt__inert(g);
    if (vkt__needs(x)) dx[X] = both;
    if (vkt__needs(r)) dx[R] = both;
    if (!d || (!vkt__needs(w) && !vkt__needs(b))) return;
    const vkt_node *sums = chunk ? of_row : norm_dw(g, d, n, vkt__needs(b));
    if (!sums) return;
    if (vkt__needs(w)) dx[W] = add_chunks(g, sums->out[chunk ? DX_DW : DW]);
    if (vkt__needs(b)) dx[B] = add_chunks(g, sums->out[chunk ? DX_DB : DB]);
}

/* ---- samples ---- */

/* Rows below, at and above a subgroup, a workgroup and a chunk of dw; long rows; more than 65,535
 * rows. */
static const struct {
    const char *name;
    uint32_t r, c;
    bool bias, residual, plus_one;
} sizes[] = {
    { "one", 1, 1, true, false, false },
    { "three", 4, 3, true, true, false },
    { "odd", 7, 129, true, true, false },
    { "no bias", 33, 64, false, false, false },
    { "residual, no bias", 5, 257, false, true, false },
    { "wide", 3, 5000, true, true, false },
    { "chunk of rows + 1", 129, 33, true, false, false },
    { "longer chunk of rows + 1", 1025, 34, true, false, false },
    { "tall", 70001, 12, true, true, false },
    { "gains 1 + w", 9, 96, false, true, true },
    { "gains 1 + w, long rows", 3, 4100, true, false, true },
    { "no rows", 0, 7, true, true, false },
};

static vkt_node *sample_norm(vkt_graph *g, uint32_t i, bool rms, vkt_shape shape)
{
    uint32_t C = vkt__last(shape);
    vkt_tensor *x = vkt__sample(g, shape, VKT_F32, VKT_HINT_NORMAL, 0), *w = vkt__sample1(g, C);
    vkt_tensor *b = sizes[i].bias && !rms ? vkt__sample1(g, C) : NULL;
    vkt_tensor *r = sizes[i].residual ? vkt__sample(g, shape, VKT_F32, VKT_HINT_NORMAL, 0) : NULL;
    vkt_attr attr = { .norm = { .eps = 1e-5f, .rms = rms, .plus_one = sizes[i].plus_one } };
    return vkt__node(g, rms ? &vkt__op_rmsnorm : &vkt__op_layernorm,
                     (vkt_tensor *[]) { x, w, b, r }, 4, attr);
}

static const char *norm_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    bool rms = op == &vkt__op_rmsnorm;
    if (i < VKT_COUNT(sizes)) {
        sample_norm(g, i, rms, vkt_shape2(sizes[i].r, sizes[i].c));
        return sizes[i].name;
    }
    if (i == VKT_COUNT(sizes)) {
        sample_norm(g, 2, rms, (vkt_shape) { 4, { 2, 3, 5, 9 } });
        return "rank 4";
    }
    if (i == VKT_COUNT(sizes) + 1) {
        vkt_tensor *x = vkt__sample(g, vkt_shape2(9, 130), VKT_F32, VKT_HINT_POSITIVE, 0),
                   *w = vkt__sample1(g, 130);
        if (rms)
            vkt_rmsnorm(g, x, w, NULL, 1e-6f, NULL);
        else
            vkt_layernorm(g, x, w, NULL, NULL, 1e-6f, NULL);
        return "mean far from zero";
    }
    return NULL;
}

/* With a chunk of rows, whose last is cut or the only one; rows that fill a workgroup and do not;
 * tensors of different types. */
static const struct {
    const char *name;
    uint32_t r, c, chunk;
    bool rms, bias, residual, plus_one;
    vkt_dtype dy, s, ds;
} sums[] = {
    { "sums of one row", 1, 4, 16, .bias = true },
    { "sums, fewer rows than a chunk", 5, 100, 16, .bias = true, .residual = true },
    { "sums, chunk + 1", 17, 768, 16, .bias = true, .residual = true },
    { "sums, odd chunks, no bias", 40, 36, 7, .plus_one = false },
    { "sums, rms", 33, 576, 16, .rms = true, .residual = true },
    { "sums, rms, gains 1 + w", 50, 96, 16, .rms = true, .plus_one = true },
    { "sums, rms with bias", 20, 64, 3, .rms = true, .bias = true },
    { "sums, long rows", 19, 4096, 16, .bias = true, .residual = true, .plus_one = true },
    { "sums, dy of 16 bits", 18, 260, 16, .bias = true, .residual = true, .dy = VKT_BF16 },
    { "sums, s and ds of 16 bits", 18, 260, 16, .residual = true, .s = VKT_F16, .ds = VKT_BF16 },
    { "sums, tall", 4099, 32, 16, .bias = true },
    { "sums, no rows", 0, 8, 16, .bias = true, .residual = true },
};

static void sample_sums(vkt_graph *g, uint32_t i)
{
    vkt_shape rows = vkt_shape1(sums[i].r), all = vkt_shape2(sums[i].r, sums[i].c);
    vkt_attr attr = { .norm = { .rms = sums[i].rms,
                                .bias = sums[i].bias,
                                .plus_one = sums[i].plus_one,
                                .chunk = sums[i].chunk } };
    vkt_tensor *in[N_BWD_IN] = { vkt__sample(g, all, sums[i].dy, VKT_HINT_NORMAL, 0),
                                 vkt__sample(g, all, sums[i].s, VKT_HINT_NORMAL, 0),
                                 vkt__sample1(g, sums[i].c) };
    if (!sums[i].rms) in[BWD_MEAN] = vkt__sample(g, rows, VKT_F32, VKT_HINT_NORMAL, 0);
    in[BWD_RSTD] = vkt__sample(g, rows, VKT_F32, VKT_HINT_POSITIVE, 0);
    if (sums[i].residual) in[BWD_DS] = vkt__sample(g, all, sums[i].ds, VKT_HINT_NORMAL, 0);
    vkt__node(g, &vkt__op_norm_bwd, in, N_BWD_IN, attr);
}

/* RMS norm of one column is its sign, apart from eps, so its gradient is all cancellation; of three
 * it is well-conditioned. */
static const char *norm_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= 2 * VKT_COUNT(sizes)) {
        i -= 2 * VKT_COUNT(sizes);
        if (i >= VKT_COUNT(sums)) return NULL;
        sample_sums(g, i);
        return sums[i].name;
    }
    uint32_t rows = sizes[i / 2].r, C = VKT_MAX(sizes[i / 2].c, 1 + i % 2 * 2);
    const vkt_node *f = sample_norm(g, i / 2, i % 2, vkt_shape2(rows, C));
    vkt_tensor *ds = sizes[i / 2].residual ? vkt__sample2(g, rows, C) : NULL;
    norm_bwd(g, vkt__sample2(g, rows, C), f, ds, 0, false);
    return sizes[i / 2].name;
}

static const char *norm_dw_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= 2 * VKT_COUNT(sizes)) return NULL;
    const vkt_node *f = sample_norm(g, i / 2, i % 2, vkt_shape2(sizes[i / 2].r, sizes[i / 2].c));
    norm_dw(g, vkt__sample2(g, sizes[i / 2].r, sizes[i / 2].c), f, sizes[i / 2].bias);
    return sizes[i / 2].name;
}

/* ---- rows and builders ---- */

const vkt_op vkt__op_layernorm = { .name = "layernorm",
                                   .n_in = N_FORWARD_IN,
                                   .n_out = N_FORWARD_OUT,
                                   .in = { [X] = VKT_INPLACE | VKT_NARROW,
                                           [B] = VKT_OPTIONAL,
                                           [R] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW },
                                   .out = { [Y] = VKT_INPLACE | VKT_NARROW, [S] = VKT_NARROW },
                                   .shape = norm_shape,
                                   .record = norm_record,
                                   .grad = norm_grad,
                                   .ref = norm_ref,
                                   .cost = norm_cost,
                                   .terms = norm_terms,
                                   .sample = norm_sample };
const vkt_op vkt__op_rmsnorm = { .name = "rmsnorm",
                                 .n_in = N_FORWARD_IN,
                                 .n_out = N_FORWARD_OUT,
                                 .in = { [X] = VKT_INPLACE | VKT_NARROW,
                                         [B] = VKT_OPTIONAL,
                                         [R] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW },
                                 .out = { [Y] = VKT_INPLACE | VKT_NARROW, [S] = VKT_NARROW },
                                 .shape = norm_shape,
                                 .record = norm_record,
                                 .grad = norm_grad,
                                 .ref = norm_ref,
                                 .cost = norm_cost,
                                 .terms = norm_terms,
                                 .sample = norm_sample };
const vkt_op vkt__op_norm_bwd = { .name = "norm_bwd",
                                  .n_in = N_BWD_IN,
                                  .n_out = N_BWD_OUT,
                                  .in = { [BWD_DY] = VKT_INPLACE | VKT_NARROW,
                                          [BWD_S] = VKT_NARROW,
                                          [BWD_MEAN] = VKT_OPTIONAL,
                                          [BWD_DS] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW },
                                  .out = { [DX] = VKT_INPLACE | VKT_NARROW },
                                  .shape = norm_bwd_shape,
                                  .record = norm_bwd_record,
                                  .ref = norm_bwd_ref,
                                  .cost = norm_bwd_cost,
                                  .terms = norm_bwd_terms,
                                  .sample = norm_bwd_sample };
const vkt_op vkt__op_norm_dw = {
    .name = "norm_dw",
    .n_in = N_DW_IN,
    .n_out = N_DW_OUT,
    .in = { [DW_DY] = VKT_NARROW, [DW_S] = VKT_NARROW, [DW_MEAN] = VKT_OPTIONAL },
    .shape = norm_dw_shape,
    .record = norm_dw_record,
    .ref = norm_dw_ref,
    .cost = norm_dw_cost,
    .terms = norm_dw_terms,
    .sample = norm_dw_sample
};

static vkt_tensor *norm(vkt_graph *g, const vkt_op *op, vkt_tensor *const *in, vkt_attr attr,
                        vkt_tensor **sum)
{
    vkt_node *n = vkt__node(g, op, in, 4, attr);
    if (sum) *sum = !n ? vkt__inert(g) : n->out[S] ? n->out[S] : n->in[X];
    return n ? n->out[Y] : vkt__inert(g);
}

vkt_tensor *vkt_layernorm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b, vkt_tensor *r,
                          float eps, vkt_tensor **sum)
{
    return norm(g, &vkt__op_layernorm, (vkt_tensor *[]) { x, w, b, r },
                (vkt_attr) { .norm = { .eps = eps } }, sum);
}

vkt_tensor *vkt_rmsnorm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *r, float eps,
                        vkt_tensor **sum)
{
    return norm(g, &vkt__op_rmsnorm, (vkt_tensor *[]) { x, w, NULL, r },
                (vkt_attr) { .norm = { .eps = eps, .rms = true } }, sum);
}
