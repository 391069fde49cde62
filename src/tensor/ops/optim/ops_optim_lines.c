/* The rows of a rule that keeps a number for each row and each column of a matrix in place of one
 * for each element: how those move on, and the directions that they give. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/optim/updates.h"

/* ---- optim_line: of rows, or of columns ---- */

enum { GRAD, KEPT, SCALARS, STEP, N_LINE_IN };

static uint32_t rows_of(const vkt_node *n)
{
    return VKT_MAX(n->attr.optim.rows, 1);
}

static uint32_t cols_of(const vkt_node *n)
{
    return (uint32_t)(n->in[GRAD]->count / rows_of(n));
}

static bool line_shape(vkt_node *n)
{
    VKT_ASSERT(n->in[GRAD]->count % rows_of(n) == 0 && n->in[SCALARS]->count == VKT__N_SCALARS);
    VKT_ASSERT(n->in[KEPT]->count == (n->attr.optim.columns ? cols_of(n) : rows_of(n)));
    return true;
}

static void line_record(vkt__rec *rec, const vkt_node *n)
{
    struct optim_line_params p = { .grad = vkt__addr(rec, n->in[GRAD]),
                                   .kept = vkt__addr(rec, n->in[KEPT]),
                                   .scalars = vkt__addr(rec, n->in[SCALARS]),
                                   .step = vkt__addr(rec, n->in[STEP]),
                                   .rows = rows_of(n),
                                   .cols = cols_of(n) };
    uint32_t wg = vkt__reduce_workgroup(rec->caps, 256), width = VKT_MIN(wg, 32);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) },
                                   { VKT_SPEC_OF_COLUMNS, n->attr.optim.columns } };
    vkt__dispatch(rec, VKT_SHADER_OPTIM_LINE, spec, VKT_COUNT(spec), &p, sizeof p,
                  n->attr.optim.columns ? ((uint64_t)p.cols + width - 1) / width : p.rows);
}

static void line_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    if (in[SCALARS][VKT__SCALAR(ok)] == 0) return;
    uint64_t rows = rows_of(n), cols = cols_of(n);
    bool columns = n->attr.optim.columns;
    double share = (double)vkt__ref_step(in[STEP]).adam_v;
    for (uint64_t line = 0; line < (columns ? cols : rows); line++) {
        double sum = 0, length = (double)(columns ? rows : cols);
        for (uint64_t k = 0; k < (columns ? rows : cols); k++) {
            double g = in[SCALARS][VKT__SCALAR(scale)] *
                       in[GRAD][columns ? k * cols + line : line * cols + k];
            sum += g * g;
        }
        in[KEPT][line] += share * (sum / length - in[KEPT][line]);
    }
}

static double line_terms(const vkt_node *n)
{
    return 8 + (n->attr.optim.columns ? rows_of(n) : cols_of(n));
}

static vkt_cost line_cost(const vkt_node *n)
{
    double count = (double)n->in[GRAD]->count;
    return (vkt_cost) { 2 * count, 4 * count + 2 * (double)n->in[KEPT]->bytes };
}

/* Sizes for both rows. */
static const struct sample {
    const char *name;
    uint32_t rows, cols, scalars; /* rows 0: a vector */
} samples[] = {
    { "one", 1, 1, VKT_HINT_UNIT },          { "one row", 1, 300, VKT_HINT_UNIT },
    { "one column", 300, 1, VKT_HINT_UNIT }, { "tall", 1025, 33, VKT_HINT_POSITIVE },
    { "wide", 7, 1500, VKT_HINT_POSITIVE },  { "square", 130, 129, VKT_HINT_UNIT },
    { "not ok", 40, 50, VKT_HINT_INDEX },    { "a vector", 0, 301, VKT_HINT_POSITIVE },
};

static vkt__update_in sample_in(vkt_graph *g, const struct sample *s)
{
    return (vkt__update_in) { .grad = vkt__sample1(g, VKT_MAX(s->rows, 1) * s->cols),
                              .scalars = vkt__scalars_sample(g, s->scalars),
                              .step = vkt_step(g) };
}

static const char *line_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= 2 * VKT_COUNT(samples)) return NULL;
    const struct sample *s = &samples[i / 2];
    bool columns = i % 2 || !s->rows;
    vkt__update_in in = sample_in(g, s);
    uint32_t n = columns ? s->cols : s->rows;
    vkt__optim_line(g, &in, vkt__sample(g, vkt_shape1(n), VKT_F32, VKT_HINT_POSITIVE, 0), s->rows,
                    columns);
    return s->name;
}

const vkt_op vkt__op_optim_line = { .name = "optim_line",
                                    .n_in = N_LINE_IN,
                                    .in = { [KEPT] = VKT_CHANGED, [STEP] = VKT_WORDS },
                                    .shape = line_shape,
                                    .record = line_record,
                                    .ref = line_ref,
                                    .terms = line_terms,
                                    .cost = line_cost,
                                    .sample = line_sample };

void vkt__optim_line(vkt_graph *g, const vkt__update_in *in, vkt_tensor *kept, uint32_t rows,
                     bool columns)
{
    vkt_tensor *list[N_LINE_IN] = {
        [GRAD] = in->grad, [KEPT] = kept, [SCALARS] = in->scalars, [STEP] = in->step
    };
    vkt__node(g, &vkt__op_optim_line, list, N_LINE_IN,
              (vkt_attr) { .optim = { .rows = rows, .columns = columns } });
}

/* ---- optim_lines: the directions ---- */

enum { L_GRAD, L_U, L_ROWS, L_COLS, L_MEAN, L_SCALARS, N_LINES_IN };

static bool lines_shape(vkt_node *n)
{
    bool vector = !n->attr.optim.rows;
    VKT_ASSERT(n->in[L_GRAD]->count % rows_of(n) == 0 && n->in[L_U]->count == n->in[L_GRAD]->count);
    VKT_ASSERT(n->in[L_COLS]->count == cols_of(n) && n->in[L_SCALARS]->count == VKT__N_SCALARS);
    VKT_ASSERT(vector ? !n->in[L_ROWS] && !n->in[L_MEAN]
                      : n->in[L_ROWS]->count == rows_of(n) && n->in[L_MEAN]->count == 1);
    return true;
}

static void lines_record(vkt__rec *rec, const vkt_node *n)
{
    struct optim_lines_params p = { .grad = vkt__addr(rec, n->in[L_GRAD]),
                                    .u = vkt__addr(rec, n->in[L_U]),
                                    .of_rows = vkt__addr_or(rec, n->in[L_ROWS], n->in[L_COLS]),
                                    .of_cols = vkt__addr(rec, n->in[L_COLS]),
                                    .mean = vkt__addr_or(rec, n->in[L_MEAN], n->in[L_COLS]),
                                    .scalars = vkt__addr(rec, n->in[L_SCALARS]),
                                    .n = (uint32_t)n->in[L_GRAD]->count,
                                    .cols = cols_of(n),
                                    .eps = n->attr.optim.eps };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_OF_COLUMNS, !n->attr.optim.rows } };
    vkt__dispatch(rec, VKT_SHADER_OPTIM_LINES, spec, VKT_COUNT(spec), &p, sizeof p,
                  vkt__update_groups(p.n, wg));
}

static void lines_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    if (in[L_SCALARS][VKT__SCALAR(ok)] == 0) return;
    uint64_t cols = cols_of(n);
    double eps = (double)n->attr.optim.eps;
    for (uint64_t i = 0; i < n->in[L_GRAD]->count; i++) {
        double v = in[L_COLS][i % cols];
        if (in[L_ROWS]) v *= in[L_ROWS][i / cols] / fmax(in[L_MEAN][0], eps);
        in[L_U][i] =
            vkt__optim_over_root(n->attr, in[L_SCALARS][VKT__SCALAR(scale)] * in[L_GRAD][i], v);
    }
}

static double lines_terms(const vkt_node *n)
{
    (void)n;
    return 16; /* two divisions, a root, three products */
}

static vkt_cost lines_cost(const vkt_node *n)
{
    double count = (double)n->in[L_GRAD]->count;
    return (vkt_cost) { 5 * count, 8 * count + (double)n->in[L_COLS]->bytes };
}

static const char *lines_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(samples)) return NULL;
    const struct sample *s = &samples[i];
    vkt__update_in in = sample_in(g, s);
    in.direction = vkt__sample1(g, VKT_MAX(s->rows, 1) * s->cols);
    vkt_tensor *of_cols = vkt__sample(g, vkt_shape1(s->cols), VKT_F32, VKT_HINT_POSITIVE, 0),
               *of_rows = NULL, *mean = NULL;
    if (s->rows) {
        of_rows = vkt__sample(g, vkt_shape1(s->rows), VKT_F32, VKT_HINT_POSITIVE, 0);
        mean = vkt__sample(g, vkt_shape1(1), VKT_F32, VKT_HINT_POSITIVE, 0);
    }
    vkt__optim_lines(g, &in, of_rows, of_cols, mean,
                     (vkt_attr) { .optim = { .rows = s->rows, .eps = 0.125f } });
    return s->name;
}

const vkt_op vkt__op_optim_lines = {
    .name = "optim_lines",
    .n_in = N_LINES_IN,
    .in = { [L_U] = VKT_CHANGED, [L_ROWS] = VKT_OPTIONAL, [L_MEAN] = VKT_OPTIONAL },
    .shape = lines_shape,
    .record = lines_record,
    .ref = lines_ref,
    .terms = lines_terms,
    .cost = lines_cost,
    .sample = lines_sample
};

void vkt__optim_lines(vkt_graph *g, const vkt__update_in *in, vkt_tensor *of_rows,
                      vkt_tensor *of_cols, vkt_tensor *mean, vkt_attr attr)
{
    vkt_tensor *list[N_LINES_IN] = {
        [L_GRAD] = in->grad, [L_U] = in->direction, [L_ROWS] = of_rows,
        [L_COLS] = of_cols,  [L_MEAN] = mean,       [L_SCALARS] = in->scalars
    };
    vkt__node(g, &vkt__op_optim_lines, list, N_LINES_IN, attr);
}
