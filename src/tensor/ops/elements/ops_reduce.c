/* Sums: of everything, of squares, over rows. Long ones take several nodes, each summing fixed
 * chunks, so that the order does not depend on the device's parallelism. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

enum { SUM_CHUNK = VKT_SUM_CHUNK };

/* ---- sum of all elements, a chunk at a time ---- */

static bool sum_shape(vkt_node *n)
{
    uint64_t groups = (n->in[0]->count + n->attr.sum.chunk - 1) / n->attr.sum.chunk;
    vkt__out(n, 0, vkt_shape1((uint32_t)VKT_MAX(groups, 1)), VKT_F32);
    return true;
}

static void sum_record(vkt__rec *rec, const vkt_node *n)
{
    struct sum_params p = { .x = vkt__addr(rec, n->in[0]),
                            .y = vkt__addr(rec, n->out[0]),
                            .n = (uint32_t)n->in[0]->count,
                            .chunk = n->attr.sum.chunk,
                            .groups = (uint32_t)n->out[0]->count };
    bool pairs = vkt__use_pairs(rec->caps) && p.n % 2 == 0;
    bool f32 = n->in[0]->dtype == VKT_F32;
    uint32_t wide =
        f32 && rec->caps->klass != VKT_GPU_CLASS_CPU && p.n % 4 == 0 && p.chunk % 4 == 0;
    uint32_t wg = vkt__reduce_workgroup(rec->caps, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) },
                                   { VKT_SPEC_SQUARE, n->attr.sum.square },
                                   { VKT_SPEC_WIDE, wide },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[0]) } };
    vkt__dispatch(rec, pairs ? VKT_SHADER_SUM_PAIRS : VKT_SHADER_SUM, spec, VKT_COUNT(spec), &p,
                  sizeof p, p.groups);
}

static void sum_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint64_t g = 0; g < n->out[0]->count; g++) {
        uint64_t end = VKT_MIN(n->in[0]->count, (g + 1) * n->attr.sum.chunk);
        double s = 0;
        for (uint64_t i = g * n->attr.sum.chunk; i < end; i++)
            s += n->attr.sum.square ? in[0][i] * in[0][i] : in[0][i];
        out[0][g] = s;
    }
}

/* Every element of a chunk gets the chunk's gradient. One chunk: a broadcast of one number. */
static void sum_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *x = n->in[0];
    if (!vkt__needs(x)) return;
    VKT_ASSERT(!n->attr.sum.square);
    if (vkt__is_ones(dy[0])) {
        dx[0] = dy[0];
    } else if (n->out[0]->count == 1) {
        dx[0] = vkt_mul(g, vkt_fill(g, x->shape, 1.0f), dy[0]);
    } else {
        /* Gradients reach the stages of one sum as a broadcast, so all chunks have the same one. */
        vkt_node *fill = dy[0]->node;
        VKT_ASSERT(fill && fill->op == &vkt__op_mul && fill->in[1]->count == 1);
        dx[0] = vkt_mul(g, vkt_fill(g, x->shape, 1.0f), fill->in[1]);
    }
}

static double sum_terms(const vkt_node *n)
{
    return (double)n->in[0]->count;
}

static const struct {
    const char *name;
    uint32_t n;
} lengths[] = {
    { "one", 1 },
    { "odd", 129 },
    { "chunk", SUM_CHUNK },
    { "chunk + 1", SUM_CHUNK + 1 },
    { "many chunks", 70001 },
    { "empty", 0 },
};

static const char *sum_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= 2 * VKT_COUNT(lengths)) return NULL;
    vkt_tensor *x = vkt__sample1(g, lengths[i / 2].n);
    if (i % 2)
        vkt__sum_squares(g, x);
    else
        vkt_sum(g, x);
    return lengths[i / 2].name;
}

const vkt_op vkt__op_sum = { .name = "sum",
                             .n_in = 1,
                             .n_out = 1,
                             .in = { VKT_NARROW },
                             .shape = sum_shape,
                             .record = sum_record,
                             .grad = sum_grad,
                             .ref = sum_ref,
                             .terms = sum_terms,
                             .sample = sum_sample };

static vkt_tensor *sum_stages(vkt_graph *g, vkt_tensor *x, bool square)
{
    do {
        x = vkt__op(g, &vkt__op_sum, &x, 1,
                    (vkt_attr) { .sum = { .chunk = SUM_CHUNK, .square = square } });
        square = false;
    } while (!x->inert && x->count > 1);
    return x;
}

vkt_tensor *vkt_sum(vkt_graph *g, vkt_tensor *x)
{
    return sum_stages(g, x, false);
}

vkt_tensor *vkt__sum_squares(vkt_graph *g, vkt_tensor *x)
{
    return sum_stages(g, x, true);
}

/* ---- sum over rows ---- */

static bool sum_rows_shape(vkt_node *n)
{
    uint32_t rows = vkt__rows_of(n->in[0]->shape), cols = vkt__last(n->in[0]->shape);
    uint32_t splits = VKT_MAX(1, (rows + n->attr.sum.chunk - 1) / n->attr.sum.chunk);
    vkt__out(n, 0, splits == 1 ? vkt_shape1(cols) : vkt_shape2(splits, cols), VKT_F32);
    return true;
}

/* How a workgroup of sum_group.comp takes columns and rows. */
static void dispatch_group(vkt__rec *rec, const struct sum_group_params *p)
{
    enum { WORKGROUP = 256, MOST_BESIDE = 32 };
    uint32_t wg = vkt__reduce_workgroup(rec->caps, WORKGROUP), beside = 1;
    uint64_t groups = 0;
    while (beside * 8 <= wg && beside < MOST_BESIDE) beside *= 2;
    for (uint32_t i = 0; i < VKT_GROUPED; i++)
        groups += ((uint64_t)p->cols[i] + beside - 1) / beside;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_BESIDE, beside },
                                   { VKT_SPEC_TOGETHER, vkt__together(rec->caps, 1) } };
    vkt__dispatch(rec, VKT_SHADER_SUM_GROUP, spec, VKT_COUNT(spec), p, sizeof *p, groups);
}

static void put_in_group(vkt__rec *rec, struct sum_group_params *p, uint32_t i, const vkt_tensor *x,
                         const vkt_tensor *y)
{
    p->x[i] = vkt__addr(rec, x);
    p->y[i] = vkt__addr(rec, y);
    p->rows[i] = vkt__rows_of(x->shape);
    p->cols[i] = vkt__last(x->shape);
}

/* On GPUs, in one chunk: by the lanes of a workgroup, as sum_group does it. */
bool vkt__sums_by_lanes(const vkt_caps *c, const vkt_node *n)
{
    return c->klass != VKT_GPU_CLASS_CPU && n->in[0]->dtype == VKT_F32 &&
           n->out[0]->shape.rank == 1;
}

static void sum_rows_record(vkt__rec *rec, const vkt_node *n)
{
    if (vkt__sums_by_lanes(rec->caps, n)) {
        struct sum_group_params one = { 0 };
        put_in_group(rec, &one, 0, n->in[0], n->out[0]);
        for (uint32_t i = 1; i < VKT_GROUPED; i++) one.x[i] = one.x[0], one.y[i] = one.y[0];
        dispatch_group(rec, &one);
        return;
    }
    struct sum_rows_params p = { .x = vkt__addr(rec, n->in[0]),
                                 .y = vkt__addr(rec, n->out[0]),
                                 .rows = vkt__rows_of(n->in[0]->shape),
                                 .cols = vkt__last(n->in[0]->shape),
                                 .chunk = n->attr.sum.chunk };
    p.splits = (uint32_t)(n->out[0]->count / p.cols);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[0]) },
                                   { VKT_SPEC_TOGETHER, vkt__together(rec->caps, 1) } };
    vkt__dispatch(rec, VKT_SHADER_SUM_ROWS, spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[0]->count + wg - 1) / wg);
}

static void sum_rows_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t rows = vkt__rows_of(n->in[0]->shape), cols = vkt__last(n->in[0]->shape);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t first = i / cols * n->attr.sum.chunk,
                 end = VKT_MIN(rows, first + n->attr.sum.chunk);
        double s = 0;
        for (uint64_t r = first; r < end; r++) s += in[0][r * cols + i % cols];
        out[0][i] = s;
    }
}

static void sum_rows_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (!vkt__needs(n->in[0])) return;
    vkt_tensor *ones = vkt_fill(g, n->in[0]->shape, 1.0f);
    if (vkt__is_ones(dy[0])) {
        dx[0] = dy[0];
    } else if (n->out[0]->shape.rank == 1) {
        dx[0] = vkt_mul(g, ones, dy[0]);
    } else {
        vkt_node *fill = dy[0]->node; /* as in sum_grad: every split has the broadcast gradient of
                                         the last stage */
        VKT_ASSERT(fill && fill->op == &vkt__op_mul);
        dx[0] = vkt_mul(g, ones, fill->in[1]);
    }
}

static double sum_rows_terms(const vkt_node *n)
{
    return vkt__rows_of(n->in[0]->shape);
}

static const char *sum_rows_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t r, c;
    } s[] = {
        { "one", 1, 1 },      { "one row", 1, 129 },    { "one column", 200, 1 },
        { "batch", 128, 10 }, { "chunk + 1", 129, 33 }, { "longer chunk + 1", 1025, 33 },
        { "tall", 5000, 3 },  { "no rows", 0, 7 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_sum_rows(g, vkt__sample2(g, s[i].r, s[i].c));
    return s[i].name;
}

const vkt_op vkt__op_sum_rows = { .name = "sum_rows",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .in = { VKT_NARROW },
                                  .shape = sum_rows_shape,
                                  .record = sum_rows_record,
                                  .grad = sum_rows_grad,
                                  .ref = sum_rows_ref,
                                  .terms = sum_rows_terms,
                                  .sample = sum_rows_sample };

/* Few cores: another dispatch costs more than they gain. */
uint32_t vkt__row_chunk(const vkt_graph *g)
{
    return vkt__gpu_of(g) && vkt_gpu_caps(vkt__gpu_of(g))->klass == VKT_GPU_CLASS_CPU ? 1024 : 128;
}

/* ---- of several matrices, in one dispatch: up to VKT_GROUPED of [rows, cols] -> as many [cols]
 * ---- */

static bool sum_group_shape(vkt_node *n)
{
    for (uint32_t i = 0; i < VKT_GROUPED && n->in[i]; i++)
        vkt__out(n, i, vkt_shape1(vkt__last(n->in[i]->shape)), VKT_F32);
    return true;
}

static void sum_group_record(vkt__rec *rec, const vkt_node *n)
{
    struct sum_group_params p = { 0 };
    for (uint32_t i = 0; i < VKT_GROUPED; i++) {
        put_in_group(rec, &p, i, n->in[n->in[i] ? i : 0], n->out[n->in[i] ? i : 0]);
        if (!n->in[i]) p.rows[i] = p.cols[i] = 0;
    }
    dispatch_group(rec, &p);
}

static void sum_group_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint32_t i = 0; i < VKT_GROUPED && n->in[i]; i++) {
        uint64_t rows = vkt__rows_of(n->in[i]->shape), cols = vkt__last(n->in[i]->shape);
        for (uint64_t c = 0; c < cols; c++) {
            out[i][c] = 0;
            for (uint64_t r = 0; r < rows; r++) out[i][c] += in[i][r * cols + c];
        }
    }
}

static double sum_group_terms(const vkt_node *n)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < VKT_GROUPED && n->in[i]; i++)
        most = VKT_MAX(most, vkt__rows_of(n->in[i]->shape));
    return most;
}

static const char *sum_group_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t n, rows[VKT_GROUPED], cols[VKT_GROUPED];
    } s[] = { { "two alike", 2, { 64, 64 }, { 48, 48 } },
              { "five", 5, { 1, 7, 64, 513, 9 }, { 1, 33, 100, 31, 5 } },
              { "four, one column", 4, { 200, 3, 16, 17 }, { 1, 1, 32, 65 } },
              { "three, no rows", 3, { 4, 0, 6 }, { 7, 9, 3 } } };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_tensor *in[VKT_GROUPED];
    for (uint32_t k = 0; k < s[i].n; k++) in[k] = vkt__sample2(g, s[i].rows[k], s[i].cols[k]);
    vkt__node(g, op, in, s[i].n, (vkt_attr) { 0 });
    return s[i].name;
}

const vkt_op vkt__op_sum_group = {
    .name = "sum_group",
    .n_in = VKT_GROUPED,
    .n_out = VKT_GROUPED,
    .in = { [2] = VKT_OPTIONAL, [3] = VKT_OPTIONAL, [4] = VKT_OPTIONAL },
    .shape = sum_group_shape,
    .record = sum_group_record,
    .ref = sum_group_ref,
    .terms = sum_group_terms,
    .sample = sum_group_sample
};

vkt_tensor *vkt__sum_chunks(vkt_graph *g, vkt_tensor *x)
{
    enum { AT_ONCE = 1024 }; /* the lanes of a workgroup share them */
    vkt_attr attr = { .sum = { .chunk = AT_ONCE } };
    do x = vkt__op(g, &vkt__op_sum_rows, &x, 1, attr);
    while (!x->inert && x->shape.rank > 1);
    return x;
}

vkt_tensor *vkt_sum_rows(vkt_graph *g, vkt_tensor *x)
{
    vkt_attr attr = { .sum = { .chunk = vkt__row_chunk(g) } };
    do x = vkt__op(g, &vkt__op_sum_rows, &x, 1, attr);
    while (!x->inert && x->shape.rank > 1);
    return x;
}
