/* Rows of a table by numbers of the input, beside those of its numbers that are no ids: columns of
 * a table with many categories, and tokens of a text. Unlike ops_embedding.c's it needs no sorted
 * ids: its gradient goes through all of them for each row, or, of a table with many rows, sorts
 * them first. Kernels lookup.comp, lookup_bwd.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

/* MOST_IDS, of a batch: an invocation of the gradient goes through all of them, four a trip, and
 * has 50,000 trips (quirk LOOP_TRIPS). */
enum { MOST_ROWS = 1 << 24, MOST_IDS = 196608 };

enum { IDS, TABLE, N_IN };

static uint32_t width_of(const vkt_node *n, uint32_t cols, uint32_t d)
{
    return n->attr.lookup.plain + (cols - n->attr.lookup.plain) * d;
}

static bool lookup_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[IDS], *table = n->in[TABLE];
    if (x->shape.rank != 2 || x->shape.d[1] <= n->attr.lookup.plain)
        return vkt__shape_error(n, "%s must be [N, C] f32, C above %u", vkt__text(x),
                                n->attr.lookup.plain);
    if (table->shape.rank != 2 || table->shape.d[0] == 0 || table->shape.d[0] >= MOST_ROWS ||
        table->shape.d[1] == 0)
        return vkt__shape_error(n, "the table %s must be [K, D], K below 2^24", vkt__text(table));
    vkt__out(n, 0, vkt_shape2(x->shape.d[0], width_of(n, x->shape.d[1], table->shape.d[1])),
             VKT_F32);
    return true;
}

static void lookup_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_shape *x = &n->in[IDS]->shape, *table = &n->in[TABLE]->shape;
    struct lookup_params p = { .x = vkt__addr(rec, n->in[IDS]),
                               .table = vkt__addr(rec, n->in[TABLE]),
                               .y = vkt__addr(rec, n->out[0]),
                               .n = x->d[0],
                               .cols = x->d[1],
                               .plain = n->attr.lookup.plain,
                               .width = n->out[0]->shape.d[1],
                               .rows = table->d[0],
                               .d = table->d[1] };
    vkt__dispatch_each(rec, VKT_SHADER_LOOKUP, &p, sizeof p, n->out[0]->count, 64);
}

static void lookup_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t cols = n->in[IDS]->shape.d[1], K = n->in[TABLE]->shape.d[0],
             D = n->in[TABLE]->shape.d[1], plain = n->attr.lookup.plain,
             width = n->out[0]->shape.d[1];
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t row = i / width, c = i % width;
        const double *x = in[IDS] + row * cols;
        double id = c < plain ? -1 : x[plain + (c - plain) / D];
        out[0][i] = c < plain                   ? x[c]
                    : id >= 0 && id < (double)K ? in[TABLE][(uint64_t)id * D + (c - plain) % D]
                                                : 0;
    }
}

/* ---- gradient: dy, x -> dtable ---- */

enum { DY, BWD_IDS, N_BWD_IN };

static bool lookup_bwd_shape(vkt_node *n)
{
    const vkt_tensor *dy = n->in[DY], *x = n->in[BWD_IDS];
    uint32_t m = x->shape.d[1] - n->attr.lookup.plain;
    vkt__out(n, 0,
             vkt_shape2(n->attr.lookup.n, (dy->shape.d[1] - n->attr.lookup.plain) / VKT_MAX(m, 1)),
             VKT_F32);
    return true;
}

static void lookup_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_shape *x = &n->in[BWD_IDS]->shape, *table = &n->out[0]->shape;
    struct lookup_params p = { .x = vkt__addr(rec, n->in[BWD_IDS]),
                               .table = vkt__addr(rec, n->out[0]),
                               .y = vkt__addr(rec, n->in[DY]),
                               .n = x->d[0],
                               .cols = x->d[1],
                               .plain = n->attr.lookup.plain,
                               .width = n->in[DY]->shape.d[1],
                               .rows = table->d[0],
                               .d = table->d[1] };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    uint64_t parts = (p.d + VKT_LOOKUP_COLUMNS - 1) / VKT_LOOKUP_COLUMNS;
    enum { NUMBERS = 4 * VKT_LOOKUP_COLUMNS }; /* sums, and what is added to them */
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_LANES, vkt__lanes(rec->caps, wg, NUMBERS) } };
    vkt__dispatch(rec, VKT_SHADER_LOOKUP_BWD, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.rows * parts + wg - 1) / wg);
}

static void lookup_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t cols = n->in[BWD_IDS]->shape.d[1], K = n->out[0]->shape.d[0],
             D = n->out[0]->shape.d[1], plain = n->attr.lookup.plain, width = n->in[DY]->shape.d[1];
    memset(out[0], 0, n->out[0]->count * sizeof *out[0]);
    for (uint64_t row = 0; row < n->in[BWD_IDS]->shape.d[0]; row++)
        for (uint64_t k = plain; k < cols; k++) {
            double id = in[BWD_IDS][row * cols + k];
            const double *dy = in[DY] + row * width + plain + (k - plain) * D;
            for (uint64_t d = 0; d < D && id >= 0 && id < (double)K; d++)
                out[0][(uint64_t)id * D + d] += dy[d];
        }
}

/* The longest sum there may be: every number names one row. */
static double bwd_terms(const vkt_node *n)
{
    return (double)n->in[BWD_IDS]->shape.d[0] * (n->in[BWD_IDS]->shape.d[1] - n->attr.lookup.plain);
}

/* Every id for each row. */
static vkt_cost bwd_cost(const vkt_node *n)
{
    double ids = bwd_terms(n), d = n->out[0]->shape.d[1];
    vkt_cost c = { ids * d, 4 * (ids * (1 + d) + (double)n->out[0]->count) };
    return c;
}

static vkt_tensor *lookup_bwd(vkt_graph *g, vkt_tensor *dy, vkt_tensor *x, uint32_t plain,
                              uint32_t rows)
{
    return vkt__op(g, &vkt__op_lookup_bwd, (vkt_tensor *[]) { dy, x }, 2,
                   (vkt_attr) { .lookup = { plain, rows } });
}

/* Columns from `first` on, one row after another. */
static vkt_tensor *columns_from(vkt_graph *g, vkt_tensor *x, uint32_t first, vkt_shape as)
{
    uint32_t rows = x->shape.d[0], cols = x->shape.d[1] - first;
    if (first) x = vkt_slice(g, x, (uint32_t[]) { 0, first }, (uint32_t[]) { rows, cols }, NULL);
    return vkt_reshape(g, x, as);
}

/* lookup_bwd looks at each id for each part of each row of the table: FEW_LOOKS or fewer take less
 * time than sorting's dispatches. Measured (lavapipe 22.3, two cores, ms, looking and sorting):
 * 32,000 looks 0.7 and 1.0; 320,000 looks 5.8 and 1.3; 33 million looks 564 and 9.4. And it has a
 * bound of ids. */
static bool sorts(const vkt_node *n, uint64_t ids)
{
    enum { FEW_LOOKS = 1 << 16 };
    uint64_t parts = (n->in[TABLE]->shape.d[1] + VKT_LOOKUP_COLUMNS - 1) / VKT_LOOKUP_COLUMNS;
    return ids > MOST_IDS || n->in[TABLE]->shape.d[0] * parts * ids > FEW_LOOKS;
}

/* Ids as whole numbers; one that names no row of the table as `rows`. */
static vkt_tensor *whole_ids(vkt_graph *g, vkt_tensor *x, uint32_t rows)
{
    vkt_tensor *past = vkt_fill(g, vkt_shape1(1), (float)rows),
               *is = vkt_binary(g, VKT_FN2_LE, vkt_fill(g, vkt_shape1(1), 0), x);
    return vkt_cast(g, vkt_where(g, is, vkt_binary(g, VKT_FN2_MIN, x, past), past), VKT_U32);
}

static vkt_tensor *sorted_bwd(vkt_graph *g, const vkt_node *n, vkt_tensor *dy, uint32_t n_ids)
{
    uint32_t plain = n->attr.lookup.plain, rows = n->in[TABLE]->shape.d[0];
    vkt_tensor *ids = columns_from(g, n->in[IDS], plain, vkt_shape1(n_ids));
    dy = columns_from(g, dy, plain, vkt_shape2(n_ids, n->in[TABLE]->shape.d[1]));
    return vkt__add_rows_sorted(g, dy, whole_ids(g, ids, rows), rows);
}

static void lookup_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_node at = { .op = n->op, .g = g };
    const vkt_shape *x = &n->in[IDS]->shape;
    uint64_t n_ids = (uint64_t)x->d[0] * (x->d[1] - n->attr.lookup.plain);
    if (vkt__needs(n->in[IDS])) vkt__shape_error(&at, "no gradient of ids");
    if (!vkt__needs(n->in[TABLE])) return;
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    dx[TABLE] = n_ids && n_ids < INT32_MAX && sorts(n, n_ids)
                    ? sorted_bwd(g, n, d, (uint32_t)n_ids)
                    : lookup_bwd(g, d, n->in[IDS], n->attr.lookup.plain, n->in[TABLE]->shape.d[0]);
}

/* ---- samples ---- */

/* Ids that come again and that do not come, and some past the table; columns of the table that are
 * no multiple of an invocation's; as many ids as there may be. */
static const struct {
    const char *name;
    uint32_t n, cols, plain, rows, d, ids;
} sizes[] = {
    { "one", 1, 1, 0, 1, 1, 1 },
    { "tokens", 3, 17, 0, 40, 33, 40 },
    { "columns", 9, 5, 3, 7, 8, 10 },
    { "one id", 50, 2, 1, 1, 3, 1 },
    { "wide", 5, 2, 0, 3, 70, 3 },
    { "most ids", 98304, 3, 1, 3, 1, 3 },
    { "many rows", 4, 3, 1, 70000, 2, 70000 },
    { "no rows", 0, 4, 2, 5, 3, 4 },
};

static vkt_tensor *ids(vkt_graph *g, uint32_t i)
{
    return vkt__sample(g, vkt_shape2(sizes[i].n, sizes[i].cols), VKT_F32, VKT_HINT_INDEX,
                       sizes[i].ids);
}

static const char *lookup_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *x = ids(g, i);
    vkt_lookup(g, x, vkt__sample2(g, sizes[i].rows, sizes[i].d), sizes[i].plain);
    return sizes[i].name;
}

static const char *lookup_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    uint32_t plain = sizes[i].plain, m = sizes[i].cols - plain;
    vkt_tensor *x = ids(g, i);
    lookup_bwd(g, vkt__sample2(g, sizes[i].n, plain + m * sizes[i].d), x, plain, sizes[i].rows);
    return sizes[i].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_lookup = { .name = "lookup",
                                .n_in = N_IN,
                                .n_out = 1,
                                .shape = lookup_shape,
                                .record = lookup_record,
                                .grad = lookup_grad,
                                .ref = lookup_ref,
                                .sample = lookup_sample };
const vkt_op vkt__op_lookup_bwd = { .name = "lookup_bwd",
                                    .n_in = N_BWD_IN,
                                    .n_out = 1,
                                    .shape = lookup_bwd_shape,
                                    .record = lookup_bwd_record,
                                    .ref = lookup_bwd_ref,
                                    .cost = bwd_cost,
                                    .terms = bwd_terms,
                                    .sample = lookup_bwd_sample };

vkt_tensor *vkt_lookup(vkt_graph *g, vkt_tensor *x, vkt_tensor *table, uint32_t plain)
{
    return vkt__op(g, &vkt__op_lookup, (vkt_tensor *[]) { x, table }, 2,
                   (vkt_attr) { .lookup = { .plain = plain } });
}
