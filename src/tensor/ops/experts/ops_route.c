/* Which experts a mixture's tokens go to: the largest k of each row's probabilities, and their
 * places sorted by expert, so that each expert's rows lie together. Kernels top_k.comp,
 * top_k_bwd.comp, expert_count.comp, expert_order.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/experts/ops_expert.h"

/* An invocation goes through all ids, four a trip, and a row's through k times its n; it has 50,000
 * trips (quirk LOOP_TRIPS). */
enum { MOST_IDS = 196608, MOST_TRIPS = 50000 };

static void dispatch(vkt__rec *rec, vkt__shader shader, const void *p, uint32_t bytes, uint64_t n)
{
    vkt__dispatch_each(rec, shader, p, bytes, n, 64);
}

/* ---- top_k: p [R, n] -> w [R, k], ids [R, k] ---- */

enum { WEIGHTS, IDS, N_TOP_OUT };

static bool top_k_shape(vkt_node *n)
{
    const vkt_tensor *p = n->in[0];
    uint32_t k = n->attr.route.k;
    if (p->shape.rank != 2 || k == 0 || k > p->shape.d[1] ||
        (uint64_t)k * p->shape.d[1] > MOST_TRIPS)
        return vkt__shape_error(n, "%s must be [R, n] f32, n from k = %u on", vkt__text(p), k);
    vkt__out(n, WEIGHTS, vkt_shape2(p->shape.d[0], k), VKT_F32);
    vkt__out(n, IDS, vkt_shape2(p->shape.d[0], k), VKT_U32);
    return true;
}

static void top_k_record(vkt__rec *rec, const vkt_node *n)
{
    struct top_k_params p = { .p = vkt__addr(rec, n->in[0]),
                              .ids = vkt__addr(rec, n->out[IDS]),
                              .w = vkt__addr(rec, n->out[WEIGHTS]),
                              .rows = n->in[0]->shape.d[0],
                              .n = n->in[0]->shape.d[1],
                              .k = n->attr.route.k,
                              .norm = n->attr.route.norm };
    dispatch(rec, VKT_SHADER_TOP_K, &p, sizeof p, p.rows);
}

/* The largest number after number `last` at `last_at`, or of all; n: none is left. */
static uint64_t next_of(const double *p, uint64_t n, bool first, uint64_t last_at)
{
    uint64_t at = n;
    for (uint64_t i = 0; i < n; i++) {
        bool left = first || p[i] < p[last_at] || (p[i] == p[last_at] && i > last_at);
        if (left && (at == n || p[i] > p[at])) at = i;
    }
    return at;
}

static void top_k_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t cols = n->in[0]->shape.d[1], k = n->attr.route.k;
    for (uint64_t r = 0; r < n->in[0]->shape.d[0]; r++) {
        const double *p = in[0] + r * cols;
        double *w = out[WEIGHTS] + r * k, *ids = out[IDS] + r * k, sum = 0;
        for (uint64_t j = 0; j < k; j++) {
            uint64_t at = next_of(p, cols, j == 0, j ? (uint64_t)ids[j - 1] : 0);
            ids[j] = (double)(at == cols ? j : at);
            w[j] = at == cols ? (double)NAN : p[at];
            sum += w[j];
        }
        for (uint64_t j = 0; j < k && n->attr.route.norm; j++) w[j] /= sum;
    }
}

/* Each number of p is tested k times for being the next. */
static vkt_cost top_k_cost(const vkt_node *n)
{
    double trips = (double)n->in[0]->count * n->attr.route.k;
    vkt_cost c = { 2 * trips, 4 * ((double)n->in[0]->count + 2 * (double)n->out[WEIGHTS]->count) };
    return c;
}

static double top_k_terms(const vkt_node *n)
{
    return 4 + n->attr.route.k;
}

static vkt_tensor *top_k_bwd(vkt_graph *g, vkt_tensor *dw, vkt_tensor *ids, vkt_tensor *w,
                             vkt_tensor *p, vkt_attr attr)
{
    return vkt__op(g, &vkt__op_top_k_bwd, (vkt_tensor *[]) { dw, ids, w, p }, 4, attr);
}

static void top_k_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (dy[WEIGHTS] && vkt__needs(n->in[0]))
        dx[0] = top_k_bwd(g, vkt__real(g, dy[WEIGHTS], n->out[WEIGHTS]), n->out[IDS],
                          n->out[WEIGHTS], n->in[0], n->attr);
}

/* ---- top_k_bwd: dw, ids, w, p -> dp ---- */

enum { DW, TOP_IDS, TOP_W, P, N_TOP_BWD_IN };

static bool top_k_bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[P]->shape, VKT_F32);
    return true;
}

static void top_k_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    struct top_k_bwd_params p = { .dw = vkt__addr(rec, n->in[DW]),
                                  .ids = vkt__addr(rec, n->in[TOP_IDS]),
                                  .w = vkt__addr(rec, n->in[TOP_W]),
                                  .p = vkt__addr(rec, n->in[P]),
                                  .dp = vkt__addr(rec, n->out[0]),
                                  .rows = n->in[P]->shape.d[0],
                                  .n = n->in[P]->shape.d[1],
                                  .k = n->attr.route.k,
                                  .norm = n->attr.route.norm };
    dispatch(rec, VKT_SHADER_TOP_K_BWD, &p, sizeof p, n->out[0]->count);
}

static void top_k_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t cols = n->in[P]->shape.d[1], k = n->attr.route.k;
    memset(out[0], 0, n->out[0]->count * sizeof *out[0]);
    for (uint64_t r = 0; r < n->in[P]->shape.d[0]; r++) {
        const double *dw = in[DW] + r * k, *ids = in[TOP_IDS] + r * k, *w = in[TOP_W] + r * k,
                     *p = in[P] + r * cols;
        double sum = n->attr.route.norm ? 0 : 1, mean = 0;
        for (uint64_t j = 0; j < k && n->attr.route.norm; j++) {
            sum += p[(uint64_t)ids[j]];
            mean += dw[j] * w[j];
        }
        for (uint64_t j = 0; j < k; j++)
            out[0][r * cols + (uint64_t)ids[j]] += (dw[j] - mean) / sum;
    }
}

static vkt_cost top_k_bwd_cost(const vkt_node *n)
{
    double trips = (double)n->out[0]->count * n->attr.route.k;
    vkt_cost c = { 4 * trips, 4 * ((double)n->out[0]->count * 2 + 3 * (double)n->in[DW]->count) };
    return c;
}

static double top_k_bwd_terms(const vkt_node *n)
{
    return 8 + 4.0 * n->attr.route.k;
}

/* ---- expert_count, expert_order ---- */

static bool count_shape(vkt_node *n)
{
    if (n->in[0]->count > MOST_IDS)
        return vkt__shape_error(n, "%s must be u32, at most %d: a smaller batch is needed",
                                vkt__text(n->in[0]), MOST_IDS);
    vkt__out(n, 0, vkt_shape1(n->attr.route.experts), VKT_F32);
    return true;
}

/* What expert_count and expert_order both have. */
static struct expert_order_params params_of(vkt__rec *rec, const vkt_node *n)
{
    return (struct expert_order_params) { .ids = vkt__addr(rec, n->in[0]),
                                          .n = (uint32_t)n->in[0]->count,
                                          .experts = n->attr.route.experts };
}

static void count_record(vkt__rec *rec, const vkt_node *n)
{
    struct expert_order_params p = params_of(rec, n);
    p.count = vkt__addr(rec, n->out[0]);
    dispatch(rec, VKT_SHADER_EXPERT_COUNT, &p, sizeof p, p.experts);
}

static void count_ref(const vkt_node *n, double *const *in, double *const *out)
{
    memset(out[0], 0, n->out[0]->count * sizeof *out[0]);
    for (uint64_t i = 0; i < n->in[0]->count; i++) out[0][(uint64_t)in[0][i]]++;
}

/* Every id for each expert. */
static vkt_cost order_cost(const vkt_node *n)
{
    double ids = (double)n->in[0]->count;
    vkt_cost c = { ids * n->attr.route.experts, 12 * ids };
    return c;
}

/* Places that there must be, whichever experts are named: each may leave a tile almost empty. */
static uint32_t places_of(uint64_t ids, uint64_t experts)
{
    uint64_t named = VKT_MIN(ids, experts),
             tiles = (ids + named * (VKT_EXPERT_ROWS - 1)) / VKT_EXPERT_ROWS;
    return (uint32_t)(VKT_MIN(tiles, ids) * VKT_EXPERT_ROWS);
}

enum { ORDER_IDS, ORDER_COUNT, N_ORDER_IN };
enum { SOURCE, PLACE, FIRST, N_ORDER_OUT };

static bool order_shape(vkt_node *n)
{
    uint64_t ids = n->in[ORDER_IDS]->count;
    vkt__out(n, SOURCE, vkt_shape1(places_of(ids, n->attr.route.experts)), VKT_U32);
    vkt__out(n, PLACE, n->in[ORDER_IDS]->shape, VKT_U32);
    vkt__out(n, FIRST, vkt_shape1(n->attr.route.experts + 1), VKT_U32);
    return true;
}

static void order_record(vkt__rec *rec, const vkt_node *n)
{
    struct expert_order_params p = params_of(rec, n);
    p.count = vkt__addr(rec, n->in[ORDER_COUNT]);
    p.source = vkt__addr(rec, n->out[SOURCE]);
    p.place = vkt__addr(rec, n->out[PLACE]);
    p.first = vkt__addr(rec, n->out[FIRST]);
    p.places = (uint32_t)n->out[SOURCE]->count;
    dispatch(rec, VKT_SHADER_EXPERT_ORDER, &p, sizeof p, p.experts);
}

static void order_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t n_ids = n->in[ORDER_IDS]->count, to = 0;
    for (uint64_t p = 0; p < n->out[SOURCE]->count; p++) out[SOURCE][p] = (double)n_ids;
    for (uint64_t e = 0; e < n->attr.route.experts; e++) {
        out[FIRST][e] = (double)(to / VKT_EXPERT_ROWS);
        for (uint64_t i = 0; i < n_ids; i++) {
            if ((uint64_t)in[ORDER_IDS][i] != e) continue;
            out[SOURCE][to] = (double)i;
            out[PLACE][i] = (double)to++;
        }
        to = vkt__align(to, VKT_EXPERT_ROWS);
    }
    out[FIRST][n->attr.route.experts] = (double)(to / VKT_EXPERT_ROWS);
}

/* ---- samples ---- */

static const struct {
    const char *name;
    uint32_t rows, n, k;
    bool norm, alike; /* alike: all numbers are the same */
} sizes[] = {
    { "one", 1, 1, 1, true, false },     { "some", 37, 8, 2, true, false },
    { "plain", 37, 8, 2, false, false }, { "all", 9, 4, 4, true, false },
    { "alike", 5, 7, 3, true, true },    { "many experts", 70, 130, 8, true, false },
    { "no rows", 0, 4, 2, true, false },
};

static vkt_attr attr_of(uint32_t i)
{
    return (
        vkt_attr) { .route = { .k = sizes[i].k, .experts = sizes[i].n, .norm = sizes[i].norm } };
}

static vkt_tensor *sample_p(vkt_graph *g, uint32_t i)
{
    return vkt__sample(g, vkt_shape2(sizes[i].rows, sizes[i].n), VKT_F32,
                       sizes[i].alike ? VKT_HINT_UNIT : VKT_HINT_POSITIVE, 0);
}

static vkt_tensor *sample_ids(vkt_graph *g, uint32_t i)
{
    return vkt__sample(g, vkt_shape2(sizes[i].rows, sizes[i].k), VKT_U32, VKT_HINT_INDEX,
                       sizes[i].alike ? 1 : sizes[i].n);
}

static const char *top_k_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt__op(g, op, (vkt_tensor *[]) { sample_p(g, i) }, 1, attr_of(i));
    return sizes[i].name;
}

static const char *top_k_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *dw = vkt__sample2(g, sizes[i].rows, sizes[i].k), *ids = sample_ids(g, i),
               *w = vkt__sample2(g, sizes[i].rows, sizes[i].k);
    top_k_bwd(g, dw, ids, w, sample_p(g, i), attr_of(i));
    return sizes[i].name;
}

static const char *count_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt__op(g, op, (vkt_tensor *[]) { sample_ids(g, i) }, 1, attr_of(i));
    return sizes[i].name;
}

static const char *order_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *ids = sample_ids(g, i),
               *count = vkt__op(g, &vkt__op_expert_count, &ids, 1, attr_of(i));
    vkt__op(g, op, (vkt_tensor *[]) { ids, count }, 2, attr_of(i));
    return sizes[i].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_top_k = { .name = "top_k",
                               .n_in = 1,
                               .n_out = N_TOP_OUT,
                               .shape = top_k_shape,
                               .record = top_k_record,
                               .grad = top_k_grad,
                               .ref = top_k_ref,
                               .cost = top_k_cost,
                               .terms = top_k_terms,
                               .sample = top_k_sample };
const vkt_op vkt__op_top_k_bwd = { .name = "top_k_bwd",
                                   .n_in = N_TOP_BWD_IN,
                                   .n_out = 1,
                                   .in = { [TOP_IDS] = VKT_WORDS },
                                   .shape = top_k_bwd_shape,
                                   .record = top_k_bwd_record,
                                   .ref = top_k_bwd_ref,
                                   .cost = top_k_bwd_cost,
                                   .terms = top_k_bwd_terms,
                                   .sample = top_k_bwd_sample };
const vkt_op vkt__op_expert_count = { .name = "expert_count",
                                      .n_in = 1,
                                      .n_out = 1,
                                      .in = { VKT_WORDS },
                                      .shape = count_shape,
                                      .record = count_record,
                                      .ref = count_ref,
                                      .cost = order_cost,
                                      .sample = count_sample };
const vkt_op vkt__op_expert_order = { .name = "expert_order",
                                      .n_in = N_ORDER_IN,
                                      .n_out = N_ORDER_OUT,
                                      .in = { [ORDER_IDS] = VKT_WORDS },
                                      .shape = order_shape,
                                      .record = order_record,
                                      .ref = order_ref,
                                      .cost = order_cost,
                                      .sample = order_sample };

vkt__routes vkt__route(vkt_graph *g, vkt_tensor *p, uint32_t k, bool norm)
{
    vkt_attr attr = { .route = { .k = k, .experts = vkt__last(p->shape), .norm = norm } };
    vkt_tensor *none = vkt__inert(g);
    vkt__routes r = { none, none, none, none, none };
    const vkt_node *top = vkt__node(g, &vkt__op_top_k, &p, 1, attr);
    if (!top) return r;
    r.w = top->out[WEIGHTS];
    r.count = vkt__op(g, &vkt__op_expert_count, &top->out[IDS], 1, attr);
    vkt_tensor *in[] = { top->out[IDS], r.count };
    const vkt_node *order = vkt__node(g, &vkt__op_expert_order, in, 2, attr);
    if (!order) return r;
    r.source = order->out[SOURCE];
    r.place = order->out[PLACE];
    r.first = order->out[FIRST];
    return r;
}
