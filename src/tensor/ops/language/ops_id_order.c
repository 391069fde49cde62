/* Ids of a lookup, sorted on the device: the gradient of a table with many rows then adds up each
 * row's segment (embedding_bwd). Kernels id_order.comp, id_segments.comp. */
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

/* An invocation goes through all ids, four a trip, and has 50,000 trips (quirk LOOP_TRIPS). */
enum { MOST_IDS = 196608 };

enum { IDS, ORDER, N_IN }; /* id_order has no ORDER */

static uint64_t row_of(const vkt_node *n, const double *ids, uint64_t i)
{
    double id = ids[i], rows = n->attr.lookup.n;
    return id >= 0 && id < rows ? (uint64_t)id : n->attr.lookup.n;
}

static struct id_order_params params_of(vkt__rec *rec, const vkt_node *n)
{
    return (struct id_order_params) { .ids = vkt__addr(rec, n->in[IDS]),
                                      .order = vkt__addr_or(rec, n->in[ORDER], n->out[0]),
                                      .segments = vkt__addr(rec, n->out[0]),
                                      .n = (uint32_t)n->in[IDS]->count,
                                      .rows = n->attr.lookup.n };
}

/* ---- id_order: ids [n] f32 -> order [n] u32 ---- */

static bool order_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[IDS];
    if (x->count > MOST_IDS)
        return vkt__shape_error(n,
                                "%s has more than %d ids to learn from: a smaller batch is needed",
                                vkt__text(x), MOST_IDS);
    vkt__out(n, 0, vkt_shape1((uint32_t)x->count), VKT_U32);
    return true;
}

static void order_record(vkt__rec *rec, const vkt_node *n)
{
    struct id_order_params p = params_of(rec, n);
    vkt__dispatch_each(rec, VKT_SHADER_ID_ORDER, &p, sizeof p, p.n, 64);
}

/* Counted and dealt out, unlike the kernel. */
static void order_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t count = n->in[IDS]->count, to = 0;
    for (uint64_t row = 0; row <= n->attr.lookup.n && to < count; row++)
        for (uint64_t i = 0; i < count; i++)
            if (row_of(n, in[IDS], i) == row) out[0][to++] = (double)i;
}

static vkt_cost order_cost(const vkt_node *n)
{
    double ids = (double)n->in[IDS]->count;
    return (vkt_cost) { ids * ids, 8 * ids };
}

/* ---- id_segments: ids [n] f32, order [n] -> segments [rows + 1] u32 ---- */

static bool segments_shape(vkt_node *n)
{
    vkt__out(n, 0, vkt_shape1(n->attr.lookup.n + 1), VKT_U32);
    return true;
}

static void segments_record(vkt__rec *rec, const vkt_node *n)
{
    struct id_order_params p = params_of(rec, n);
    vkt__dispatch_each(rec, VKT_SHADER_ID_SEGMENTS, &p, sizeof p, p.rows + 1ull, 64);
}

static void segments_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint64_t row = 0; row <= n->attr.lookup.n; row++) {
        uint64_t before = 0;
        for (uint64_t i = 0; i < n->in[IDS]->count; i++) before += row_of(n, in[IDS], i) < row;
        out[0][row] = (double)before;
    }
}

/* ---- samples ---- */

static const struct {
    const char *name;
    uint32_t n, rows, ids;
} sizes[] = {
    { "one", 1, 1, 1 },
    { "tokens", 51, 40, 40 },
    { "one id", 50, 1, 1 },
    { "no such row", 70, 5, 9 },
    { "few of many", 33, 70000, 70000 },
    { "many of few", 3001, 3, 3 },
    { "no ids", 0, 4, 4 },
};

static vkt_tensor *order_of(vkt_graph *g, vkt_tensor *ids, uint32_t rows)
{
    return vkt__op(g, &vkt__op_id_order, &ids, 1, (vkt_attr) { .lookup = { 0, rows } });
}

static const char *order_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    order_of(g, vkt__sample(g, vkt_shape1(sizes[i].n), VKT_F32, VKT_HINT_INDEX, sizes[i].ids),
             sizes[i].rows);
    return sizes[i].name;
}

static const char *segments_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_tensor *ids = vkt__sample(g, vkt_shape1(sizes[i].n), VKT_F32, VKT_HINT_INDEX, sizes[i].ids);
    vkt__op(g, op, (vkt_tensor *[]) { ids, order_of(g, ids, sizes[i].rows) }, 2,
            (vkt_attr) { .lookup = { 0, sizes[i].rows } });
    return sizes[i].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_id_order = { .name = "id_order",
                                  .n_in = 1,
                                  .n_out = 1,
                                  .shape = order_shape,
                                  .record = order_record,
                                  .ref = order_ref,
                                  .cost = order_cost,
                                  .sample = order_sample };
const vkt_op vkt__op_id_segments = { .name = "id_segments",
                                     .n_in = N_IN,
                                     .n_out = 1,
                                     .in = { [ORDER] = VKT_WORDS },
                                     .shape = segments_shape,
                                     .record = segments_record,
                                     .ref = segments_ref,
                                     .sample = segments_sample };

vkt_tensor *vkt__id_order(vkt_graph *g, vkt_tensor *ids, uint32_t rows, vkt_tensor **segments)
{
    vkt_tensor *order = order_of(g, ids, rows);
    *segments = vkt__op(g, &vkt__op_id_segments, (vkt_tensor *[]) { ids, order }, 2,
                        (vkt_attr) { .lookup = { 0, rows } });
    return order;
}
