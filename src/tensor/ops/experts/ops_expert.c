/* ops_expert.h: rows to their experts' places and back, and products with each expert's own matrix.
 * Kernels expert_gather.comp, expert_combine.comp, expert_combine_bwd.comp, expert_combine_dw.comp,
 * expert_matmul.comp. */
#include "tensor/ops/experts/ops_expert.h"

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

/* An invocation of a matrix's gradient goes through an expert's places, two a trip, and has 50,000
 * trips (quirk LOOP_TRIPS). */
enum { MOST_PLACES = 98304 };

/* That an invocation of a product keeps at a time: sums, steps of b and addresses. */
enum { NUMBERS = 96 };

static bool fours(vkt_node *n, const vkt_tensor *t)
{
    if (t->shape.rank == 2 && t->shape.d[1] % 4 == 0) return true;
    return vkt__shape_error(n, "%s must be [R, C] f32, C a multiple of 4", vkt__text(t));
}

/* Sizes of gather, combine and their gradients, which have a row's place list or a place's source.
 */
static void dispatch_rows(vkt__rec *rec, const vkt_node *n, vkt__shader shader,
                          struct expert_rows_params *p, const vkt_tensor *rows,
                          const vkt_tensor *places, uint64_t count)
{
    p->rows = rows->shape.d[0];
    p->places = places->shape.d[0];
    p->c4 = rows->shape.d[1] / 4;
    p->k = n->attr.route.k;
    vkt__dispatch_each(rec, shader, p, sizeof *p, count, 64);
}

/* ---- gather: x [R, C], source, place -> y [P, C] ---- */

enum { G_X, G_SOURCE, G_PLACE, N_GATHER_IN };

static bool gather_shape(vkt_node *n)
{
    if (!fours(n, n->in[G_X])) return false;
    vkt__out(n, 0, vkt_shape2((uint32_t)n->in[G_SOURCE]->count, n->in[G_X]->shape.d[1]), VKT_F32);
    return true;
}

static void gather_record(vkt__rec *rec, const vkt_node *n)
{
    struct expert_rows_params p = { .x = vkt__addr(rec, n->in[G_X]),
                                    .y = vkt__addr(rec, n->out[0]),
                                    .at = vkt__addr(rec, n->in[G_SOURCE]),
                                    .w = vkt__addr(rec, n->in[G_SOURCE]) };
    dispatch_rows(rec, n, VKT_SHADER_EXPERT_GATHER, &p, n->in[G_X], n->out[0],
                  n->out[0]->count / 4);
}

/* y[p] = x[source[p] / k], times w[source[p]] if there is one. */
static void spread(const vkt_node *n, const double *x, const double *source, const double *w,
                   double *y)
{
    uint64_t C = n->in[G_X]->shape.d[1], k = n->attr.route.k, ids = n->in[G_X]->shape.d[0] * k;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t from = (uint64_t)source[i / C];
        y[i] = from < ids ? (w ? w[from] : 1) * x[from / k * C + i % C] : 0;
    }
}

static void gather_ref(const vkt_node *n, double *const *in, double *const *out)
{
    spread(n, in[G_X], in[G_SOURCE], NULL, out[0]);
}

/* A row's gradient is the sum of its places'. */
static void gather_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *in[] = { vkt__real(g, dy[0], n->out[0]), n->in[G_PLACE], n->in[G_SOURCE], NULL };
    if (vkt__needs(n->in[G_X])) dx[0] = vkt__op(g, &vkt__op_expert_combine, in, 4, n->attr);
}

/* ---- combine: x [P, C], place [R, k], source [P], w [R, k] or NULL -> y [R, C] ---- */

enum { C_X, C_PLACE, C_SOURCE, C_W, N_COMBINE_IN };

static bool combine_shape(vkt_node *n)
{
    if (!fours(n, n->in[C_X])) return false;
    vkt__out(n, 0, vkt_shape2(n->in[C_PLACE]->shape.d[0], n->in[C_X]->shape.d[1]), VKT_F32);
    return true;
}

static void combine_record(vkt__rec *rec, const vkt_node *n)
{
    struct expert_rows_params p = { .x = vkt__addr(rec, n->in[C_X]),
                                    .y = vkt__addr(rec, n->out[0]),
                                    .at = vkt__addr(rec, n->in[C_PLACE]),
                                    .w = vkt__addr_or(rec, n->in[C_W], n->in[C_PLACE]),
                                    .weighted = n->in[C_W] != NULL };
    dispatch_rows(rec, n, VKT_SHADER_EXPERT_COMBINE, &p, n->out[0], n->in[C_X],
                  n->out[0]->count / 4);
}

static void combine_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t C = n->in[C_X]->shape.d[1], P = n->in[C_X]->shape.d[0], k = n->attr.route.k;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        out[0][i] = 0;
        for (uint64_t j = i / C * k; j < (i / C + 1) * k; j++) {
            uint64_t place = (uint64_t)in[C_PLACE][j];
            if (place < P) out[0][i] += (in[C_W] ? in[C_W][j] : 1) * in[C_X][place * C + i % C];
        }
    }
}

static void combine_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    if (vkt__needs(n->in[C_X]))
        dx[C_X] = vkt__op(g, &vkt__op_expert_combine_bwd,
                          (vkt_tensor *[]) { d, n->in[C_SOURCE], n->in[C_W] }, 3, n->attr);
    if (n->in[C_W] && vkt__needs(n->in[C_W]))
        dx[C_W] = vkt__op(g, &vkt__op_expert_combine_dw,
                          (vkt_tensor *[]) { d, n->in[C_X], n->in[C_PLACE] }, 3, n->attr);
}

static vkt_cost rows_cost(const vkt_node *n)
{
    double moved = (double)n->attr.route.k * (double)n->out[0]->count;
    vkt_cost c = { 2 * moved, 4 * (moved + (double)n->out[0]->count) };
    return c;
}

static double combine_terms(const vkt_node *n)
{
    return 4 + n->attr.route.k;
}

/* ---- combine_bwd: dy [R, C], source [P], w [R, k] -> dx [P, C] ---- */

/* The first two are gather's: they have its shape rule. */
enum { CB_DY = G_X, CB_SOURCE, CB_W, N_COMBINE_BWD_IN };

static void combine_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct expert_rows_params p = { .x = vkt__addr(rec, n->in[CB_DY]),
                                    .y = vkt__addr(rec, n->out[0]),
                                    .at = vkt__addr(rec, n->in[CB_SOURCE]),
                                    .w = vkt__addr(rec, n->in[CB_W]),
                                    .weighted = 1 };
    dispatch_rows(rec, n, VKT_SHADER_EXPERT_COMBINE_BWD, &p, n->in[CB_DY], n->out[0],
                  n->out[0]->count / 4);
}

static void combine_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    spread(n, in[CB_DY], in[CB_SOURCE], in[CB_W], out[0]);
}

/* ---- combine_dw: dy [R, C], x [P, C], place [R, k] -> dw [R, k] ---- */

enum { CD_DY, CD_X, CD_PLACE, N_COMBINE_DW_IN };

static bool combine_dw_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[CD_PLACE]->shape, VKT_F32);
    return true;
}

static void combine_dw_record(vkt__rec *rec, const vkt_node *n)
{
    struct expert_rows_params p = { .x = vkt__addr(rec, n->in[CD_DY]),
                                    .y = vkt__addr(rec, n->in[CD_X]),
                                    .at = vkt__addr(rec, n->in[CD_PLACE]),
                                    .w = vkt__addr(rec, n->out[0]) };
    dispatch_rows(rec, n, VKT_SHADER_EXPERT_COMBINE_DW, &p, n->in[CD_DY], n->in[CD_X],
                  n->out[0]->count);
}

static void combine_dw_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t C = n->in[CD_DY]->shape.d[1], P = n->in[CD_X]->shape.d[0], k = n->attr.route.k;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t place = (uint64_t)in[CD_PLACE][i];
        out[0][i] = 0;
        for (uint64_t c = 0; c < C && place < P; c++)
            out[0][i] += in[CD_DY][i / k * C + c] * in[CD_X][place * C + c];
    }
}

static vkt_cost combine_dw_cost(const vkt_node *n)
{
    double products = (double)n->out[0]->count * n->in[CD_DY]->shape.d[1];
    vkt_cost c = { 2 * products, 8 * products };
    return c;
}

static double combine_dw_terms(const vkt_node *n)
{
    return n->in[CD_DY]->shape.d[1];
}

/* ---- products ---- */

enum { A, B, FIRST, N_MATMUL_IN };

/* NT: a [P, K], b [E, N, K] -> [P, N]; NN: a [P, K], b [E, K, N] -> [P, N]; TN: a [P, K],
 * b [P, N] -> [E, K, N]; first [E + 1]. */
static void sizes_of(const vkt_node *n, struct expert_matmul_params *p)
{
    vkt_layout layout = n->attr.route.layout;
    const uint32_t *b = n->in[B]->shape.d;
    p->places = n->in[A]->shape.d[0];
    p->k = n->in[A]->shape.d[1];
    p->n = b[layout == VKT_LAYOUT_NN ? 2 : 1];
    p->experts = (uint32_t)n->in[FIRST]->count - 1;
}

static bool matmul_shape(vkt_node *n)
{
    const vkt_tensor *a = n->in[A], *b = n->in[B];
    vkt_layout layout = n->attr.route.layout;
    bool tn = layout == VKT_LAYOUT_TN;
    struct expert_matmul_params p;
    if (!fours(n, a) || (tn && !fours(n, b))) return false;
    if (a->shape.d[0] > MOST_PLACES)
        return vkt__shape_error(n, "%s has more than %d rows: a smaller batch is needed",
                                vkt__text(a), MOST_PLACES);
    if (!tn && (b->shape.rank != 3 || b->shape.d[1] % 4 || b->shape.d[2] % 4 ||
                b->shape.d[layout == VKT_LAYOUT_NT ? 2 : 1] != a->shape.d[1]))
        return vkt__shape_error(n, "%s and %s don't fit, or are no multiples of 4", vkt__text(a),
                                vkt__text(b));
    sizes_of(n, &p);
    vkt__out(n, 0, tn ? vkt_shape3(p.experts, p.k, p.n) : vkt_shape2(p.places, p.n), VKT_F32);
    return true;
}

static void matmul_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_layout layout = n->attr.route.layout;
    struct expert_matmul_params p = { .a = vkt__addr(rec, n->in[A]),
                                      .b = vkt__addr(rec, n->in[B]),
                                      .first = vkt__addr(rec, n->in[FIRST]),
                                      .c = vkt__addr(rec, n->out[0]) };
    sizes_of(n, &p);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 32);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_LANES, vkt__lanes(rec->caps, wg, NUMBERS) },
                                   { VKT_SPEC_LAYOUT, layout } };
    uint64_t blocks = (p.n + 4ull * wg - 1) / (4ull * wg),
             tiles = layout == VKT_LAYOUT_TN ? (p.k + 7ull) / 8 * p.experts
                                             : p.places / VKT_EXPERT_ROWS;
    vkt__dispatch(rec, VKT_SHADER_EXPERT_MATMUL, spec, VKT_COUNT(spec), &p, sizeof p,
                  tiles * blocks);
}

/* One place's part: c [N] += a [K] b, or of TN c [K, N] += a^T b. */
static void add_place(const struct expert_matmul_params *p, vkt_layout layout, const double *a,
                      const double *b, double *c)
{
    bool nt = layout == VKT_LAYOUT_NT, tn = layout == VKT_LAYOUT_TN;
    for (uint64_t k = 0; k < p->k; k++)
        for (uint64_t j = 0; j < p->n; j++)
            c[tn ? k * p->n + j : j] += a[k] * b[nt ? j * p->k + k : tn ? j : k * p->n + j];
}

static void matmul_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct expert_matmul_params p;
    vkt_layout layout = n->attr.route.layout;
    bool tn = layout == VKT_LAYOUT_TN;
    sizes_of(n, &p);
    uint64_t matrix = (uint64_t)p.n * p.k;
    memset(out[0], 0, n->out[0]->count * sizeof *out[0]);
    for (uint64_t e = 0; e < p.experts; e++) {
        uint64_t end = VKT_MIN((uint64_t)in[FIRST][e + 1] * VKT_EXPERT_ROWS, p.places);
        for (uint64_t at = (uint64_t)in[FIRST][e] * VKT_EXPERT_ROWS; at < end; at++)
            add_place(&p, layout, in[A] + at * p.k, in[B] + (tn ? at * p.n : e * matrix),
                      out[0] + (tn ? e * matrix : at * p.n));
    }
}

static vkt_tensor *matmul(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b,
                          vkt_tensor *first)
{
    return vkt__op(g, &vkt__op_expert_matmul, (vkt_tensor *[]) { a, b, first }, 3,
                   (vkt_attr) { .route = { .layout = layout } });
}

static void matmul_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_node at = { .op = n->op, .g = g };
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    if (n->attr.route.layout != VKT_LAYOUT_NT) {
        vkt__shape_error(&at, "no gradient of a gradient");
        return;
    }
    if (vkt__needs(n->in[A])) dx[A] = matmul(g, VKT_LAYOUT_NN, d, n->in[B], n->in[FIRST]);
    if (vkt__needs(n->in[B])) dx[B] = matmul(g, VKT_LAYOUT_TN, d, n->in[A], n->in[FIRST]);
}

/* Of every place, also the empty ones; the matrices of all experts. */
static vkt_cost matmul_cost(const vkt_node *n)
{
    struct expert_matmul_params p;
    sizes_of(n, &p);
    vkt_cost c = { 2.0 * p.places * p.n * p.k,
                   4 * ((double)p.places * ((double)p.n + p.k) + (double)p.experts * p.n * p.k) };
    return c;
}

static double matmul_terms(const vkt_node *n)
{
    return n->attr.route.layout == VKT_LAYOUT_TN ? n->in[A]->shape.d[0] : n->in[A]->shape.d[1];
}

/* ---- samples ---- */

/* rows of k places each; `places` has tiles of VKT_EXPERT_ROWS; `tiles` tiles are used. */
static const struct {
    const char *name;
    uint32_t rows, k, places, tiles, experts, n, m;
} sizes[] = {
    { "one", 1, 1, 8, 1, 1, 4, 4 },
    { "some", 13, 2, 64, 6, 4, 20, 12 },
    { "experts without rows", 5, 1, 24, 3, 9, 36, 8 },
    { "wide", 24, 2, 72, 8, 3, 132, 260 },
    { "none", 3, 2, 16, 0, 2, 8, 4 },
    { "no rows", 0, 2, 0, 0, 2, 8, 4 },
};

static vkt_attr attr_of(uint32_t i)
{
    return (vkt_attr) { .route = { .k = sizes[i].k, .experts = sizes[i].experts } };
}

/* Some name nothing. */
static vkt_tensor *sample_source(vkt_graph *g, uint32_t i)
{
    return vkt__sample(g, vkt_shape1(sizes[i].places), VKT_U32, VKT_HINT_INDEX,
                       sizes[i].rows * sizes[i].k + 2);
}

static vkt_tensor *sample_place(vkt_graph *g, uint32_t i)
{
    return vkt__sample(g, vkt_shape2(sizes[i].rows, sizes[i].k), VKT_U32, VKT_HINT_INDEX,
                       sizes[i].places + 2);
}

static const char *gather_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *in[] = { vkt__sample2(g, sizes[i].rows, sizes[i].n), sample_source(g, i),
                         sample_place(g, i) };
    vkt__op(g, op, in, VKT_COUNT(in), attr_of(i));
    return sizes[i].name;
}

/* The second time without w. */
static const char *combine_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    uint32_t k = i / 2;
    if (k >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *in[] = { vkt__sample2(g, sizes[k].places, sizes[k].n), sample_place(g, k),
                         sample_source(g, k),
                         i % 2 ? NULL : vkt__sample2(g, sizes[k].rows, sizes[k].k) };
    vkt__op(g, op, in, VKT_COUNT(in), attr_of(k));
    return sizes[k].name;
}

static const char *combine_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *in[] = { vkt__sample2(g, sizes[i].rows, sizes[i].n), sample_source(g, i),
                         vkt__sample2(g, sizes[i].rows, sizes[i].k) };
    vkt__op(g, op, in, VKT_COUNT(in), attr_of(i));
    return sizes[i].name;
}

static const char *combine_dw_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *in[] = { vkt__sample2(g, sizes[i].rows, sizes[i].n),
                         vkt__sample2(g, sizes[i].places, sizes[i].n), sample_place(g, i) };
    vkt__op(g, op, in, VKT_COUNT(in), attr_of(i));
    return sizes[i].name;
}

static const char *matmul_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const char *const names[][3] = {
        { "one NT", "one NN", "one TN" },          { "some NT", "some NN", "some TN" },
        { "unused NT", "unused NN", "unused TN" }, { "wide NT", "wide NN", "wide TN" },
        { "none NT", "none NN", "none TN" },       { "no rows NT", "no rows NN", "no rows TN" }
    };
    uint32_t k = i / 3;
    if (k >= VKT_COUNT(sizes)) return NULL;
    vkt_layout layout = (vkt_layout)(i % 3);
    uint32_t P = sizes[k].places, E = sizes[k].experts, n = sizes[k].n, m = sizes[k].m;
    vkt_shape w = layout == VKT_LAYOUT_NT   ? vkt_shape3(E, n, m)
                  : layout == VKT_LAYOUT_NN ? vkt_shape3(E, m, n)
                                            : vkt_shape2(P, n);
    vkt_tensor *a = vkt__sample2(g, P, m), *b = vkt__sample(g, w, VKT_F32, VKT_HINT_NORMAL, 0);
    matmul(g, layout, a, b,
           vkt__sample(g, vkt_shape1(E + 1), VKT_U32, VKT_HINT_SEGMENTS, sizes[k].tiles));
    return names[k][layout];
}

/* ---- rows and builders ---- */

const vkt_op vkt__op_expert_gather = { .name = "expert_gather",
                                       .n_in = N_GATHER_IN,
                                       .n_out = 1,
                                       .in = { [G_SOURCE] = VKT_WORDS, [G_PLACE] = VKT_WORDS },
                                       .shape = gather_shape,
                                       .record = gather_record,
                                       .grad = gather_grad,
                                       .ref = gather_ref,
                                       .sample = gather_sample };
const vkt_op vkt__op_expert_combine = {
    .name = "expert_combine",
    .n_in = N_COMBINE_IN,
    .n_out = 1,
    .in = { [C_PLACE] = VKT_WORDS, [C_SOURCE] = VKT_WORDS, [C_W] = VKT_OPTIONAL },
    .shape = combine_shape,
    .record = combine_record,
    .grad = combine_grad,
    .ref = combine_ref,
    .cost = rows_cost,
    .terms = combine_terms,
    .sample = combine_sample
};
const vkt_op vkt__op_expert_combine_bwd = { .name = "expert_combine_bwd",
                                            .n_in = N_COMBINE_BWD_IN,
                                            .n_out = 1,
                                            .in = { [CB_SOURCE] = VKT_WORDS },
                                            .shape = gather_shape,
                                            .record = combine_bwd_record,
                                            .ref = combine_bwd_ref,
                                            .sample = combine_bwd_sample };
const vkt_op vkt__op_expert_combine_dw = { .name = "expert_combine_dw",
                                           .n_in = N_COMBINE_DW_IN,
                                           .n_out = 1,
                                           .in = { [CD_PLACE] = VKT_WORDS },
                                           .shape = combine_dw_shape,
                                           .record = combine_dw_record,
                                           .ref = combine_dw_ref,
                                           .cost = combine_dw_cost,
                                           .terms = combine_dw_terms,
                                           .sample = combine_dw_sample };
const vkt_op vkt__op_expert_matmul = { .name = "expert_matmul",
                                       .n_in = N_MATMUL_IN,
                                       .n_out = 1,
                                       .in = { [FIRST] = VKT_WORDS },
                                       .shape = matmul_shape,
                                       .record = matmul_record,
                                       .grad = matmul_grad,
                                       .ref = matmul_ref,
                                       .cost = matmul_cost,
                                       .terms = matmul_terms,
                                       .sample = matmul_sample };

/* The constants of a node with these routes. */
static vkt_attr with(const vkt__routes *r)
{
    return (vkt_attr) { .route = { .k = vkt__last(r->place->shape) } };
}

vkt_tensor *vkt__expert_gather(vkt_graph *g, vkt_tensor *x, const vkt__routes *r)
{
    return vkt__op(g, &vkt__op_expert_gather, (vkt_tensor *[]) { x, r->source, r->place }, 3,
                   with(r));
}

vkt_tensor *vkt__expert_linear(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, const vkt__routes *r)
{
    return matmul(g, VKT_LAYOUT_NT, x, w, r->first);
}

vkt_tensor *vkt__expert_combine(vkt_graph *g, vkt_tensor *x, const vkt__routes *r)
{
    return vkt__op(g, &vkt__op_expert_combine, (vkt_tensor *[]) { x, r->place, r->source, r->w }, 4,
                   with(r));
}
