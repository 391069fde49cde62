/* Embedding rows: token and position lookup, and their gradients, from ids that the loader sorted
 * and from where documents begin: each element of a table is one sum in a fixed order. Kernels
 * embedding.comp, embedding_bwd.comp, embedding_pos_bwd.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

/* ORDER and SEGMENTS are carried for the gradient. */
enum { TABLE, IDS, POS, START, ORDER, SEGMENTS, DOCS };

static bool embedding_shape(vkt_node *n)
{
    const vkt_tensor *table = n->in[TABLE], *ids = n->in[IDS], *pos = n->in[POS],
                     *order = n->in[ORDER], *segments = n->in[SEGMENTS], *docs = n->in[DOCS];
    if (table->shape.rank != 2 || table->shape.d[0] == 0)
        return vkt__shape_error(n, "the table %s must be [V, C]", vkt__text(table));
    if (ids->shape.rank == 0 || ids->shape.rank >= VKT_MAX_RANK)
        return vkt__shape_error(n, "the ids %s must be [.., T] u32", vkt__text(ids));
    uint32_t V = table->shape.d[0], C = table->shape.d[1], T = vkt__last(ids->shape);
    if (pos && (pos->shape.rank != 2 || pos->shape.d[1] != C))
        return vkt__shape_error(n, "positions %s do not fit %s", vkt__text(pos), vkt__text(table));
    if (pos && pos->shape.d[0] < T)
        return vkt__shape_error(n, "%u tokens, but positions %s: a shorter context is needed", T,
                                vkt__text(pos));
    if (n->in[START] && n->in[START]->count != 1)
        return vkt__shape_error(n, "start %s must be [1] u32", vkt__text(n->in[START]));
    if (order && order->count != ids->count)
        return vkt__shape_error(n, "order %s must have an element for each of %s", vkt__text(order),
                                vkt__text(ids));
    if (segments && segments->count != (uint64_t)V + 1)
        return vkt__shape_error(n, "segments %s must be [%u] u32", vkt__text(segments), V + 1);
    if (docs && (docs->count != ids->count || n->in[START]))
        return vkt__shape_error(n, "documents %s must be u32 as %s, and without a start",
                                vkt__text(docs), vkt__text(ids));
    vkt_shape out = ids->shape;
    out.d[out.rank++] = C;
    vkt__out(n, 0, out, VKT_F32);
    return true;
}

static void embedding_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *table = n->in[TABLE];
    struct embedding_params p = { .table = vkt__addr(rec, table),
                                  .ids = vkt__addr(rec, n->in[IDS]),
                                  .pos = vkt__addr_or(rec, n->in[POS], table),
                                  .start = vkt__addr_or(rec, n->in[START], n->in[IDS]),
                                  .docs = vkt__addr_or(rec, n->in[DOCS], n->in[IDS]),
                                  .y = vkt__addr(rec, n->out[0]),
                                  .rows = (uint32_t)n->in[IDS]->count,
                                  .cols = table->shape.d[1],
                                  .T = vkt__last(n->in[IDS]->shape),
                                  .vocab = table->shape.d[0],
                                  .n_pos = n->in[POS] ? n->in[POS]->shape.d[0] : 1 };
    p.flags = (n->in[POS] ? VKT_EMBED_POS : 0) | (n->in[START] ? VKT_EMBED_START : 0) |
              (n->in[DOCS] ? VKT_EMBED_DOCS : 0);
    vkt__dispatch_each(rec, VKT_SHADER_EMBEDDING, &p, sizeof p, n->out[0]->count, 256);
}

static void embedding_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t V = n->in[TABLE]->shape.d[0], C = n->in[TABLE]->shape.d[1],
             T = vkt__last(n->in[IDS]->shape), P = n->in[POS] ? n->in[POS]->shape.d[0] : 0;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t r = i / C, c = i % C, id = (uint64_t)in[IDS][r],
                 at = r % T + (in[START] ? (uint64_t)in[START][0] : 0) -
                      (in[DOCS] ? (uint64_t)in[DOCS][r] : 0);
        out[0][i] = (id < V ? in[TABLE][id * C + c] : 0) + (at < P ? in[POS][at * C + c] : 0);
    }
}

/* Ids and the rows of the tables that they name. */
static vkt_cost embedding_cost(const vkt_node *n)
{
    double y = (double)n->out[0]->count, rows = (double)n->in[IDS]->count;
    vkt_cost c = { n->in[POS] ? y : 0,
                   4 * (rows * (n->in[DOCS] ? 2 : 1) + y * (n->in[POS] ? 3 : 2)) };
    return c;
}

/* ---- gradients: dy, order, segments, another gradient of the table or NULL -> dtable, the sum;
 * dy, documents or NULL -> dpos ---- */

enum { DY, BWD_ORDER, BWD_SEGMENTS, ADDEND, N_BWD_IN }; /* embedding_bwd */
enum { POS_DOCS = DY + 1, N_POS_BWD_IN };               /* embedding_pos_bwd */

static bool embedding_bwd_shape(vkt_node *n)
{
    vkt__out(n, 0, vkt_shape2(n->attr.embedding.n, vkt__last(n->in[DY]->shape)), VKT_F32);
    return true;
}

static void embedding_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape dy = n->in[DY]->shape;
    struct embedding_bwd_params p = { .dy = vkt__addr(rec, n->in[DY]),
                                      .order = vkt__addr(rec, n->in[BWD_ORDER]),
                                      .segments = vkt__addr(rec, n->in[BWD_SEGMENTS]),
                                      .r = vkt__addr_or(rec, n->in[ADDEND], n->out[0]),
                                      .dx = vkt__addr(rec, n->out[0]),
                                      .rows = vkt__rows_of(dy),
                                      .cols = vkt__last(dy),
                                      .n = n->attr.embedding.n,
                                      .flags = n->in[ADDEND] ? VKT_EMBED_ADD : 0 };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_R, vkt__type(n->in[ADDEND]) } };
    vkt__dispatch(rec, VKT_SHADER_EMBEDDING_BWD, spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[0]->count + wg - 1) / wg);
}

static void embedding_pos_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape dy = n->in[DY]->shape;
    struct embedding_pos_bwd_params p = { .dy = vkt__addr(rec, n->in[DY]),
                                          .docs = vkt__addr_or(rec, n->in[POS_DOCS], n->in[DY]),
                                          .dx = vkt__addr(rec, n->out[0]),
                                          .rows = vkt__rows_of(dy),
                                          .cols = vkt__last(dy),
                                          .n = n->attr.embedding.n,
                                          .T = dy.d[dy.rank - 2],
                                          .flags = n->in[POS_DOCS] ? VKT_EMBED_DOCS : 0 };
    vkt__dispatch_each(rec, VKT_SHADER_EMBEDDING_POS_BWD, &p, sizeof p, n->out[0]->count, 64);
}

static void embedding_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t C = vkt__last(n->in[DY]->shape);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t v = i / C, end = (uint64_t)in[BWD_SEGMENTS][v + 1];
        out[0][i] = 0;
        for (uint64_t k = (uint64_t)in[BWD_SEGMENTS][v]; k < end; k++)
            out[0][i] += in[DY][(uint64_t)in[BWD_ORDER][k] * C + i % C];
        if (in[ADDEND]) out[0][i] += in[ADDEND][i];
    }
}

static void embedding_pos_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_shape dy = n->in[DY]->shape;
    uint64_t C = vkt__last(dy), T = dy.d[dy.rank - 2], rows = vkt__rows_of(dy);
    memset(out[0], 0, n->out[0]->count * sizeof *out[0]);
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t at = r % T - (in[POS_DOCS] ? (uint64_t)in[POS_DOCS][r] : 0);
        for (uint64_t c = 0; c < C; c++) out[0][at * C + c] += in[DY][r * C + c];
    }
}

/* The longest sum there may be: every row has one id. */
static double bwd_terms(const vkt_node *n)
{
    return vkt__rows_of(n->in[DY]->shape);
}

static vkt_tensor *embedding_bwd(vkt_graph *g, vkt_tensor *dy, const vkt_node *f)
{
    return vkt__op(g, &vkt__op_embedding_bwd,
                   (vkt_tensor *[]) { dy, f->in[ORDER], f->in[SEGMENTS] }, 3,
                   (vkt_attr) { .embedding = { f->in[TABLE]->shape.d[0] } });
}

static vkt_tensor *embedding_pos_bwd(vkt_graph *g, vkt_tensor *dy, const vkt_node *f)
{
    return vkt__op(g, &vkt__op_embedding_pos_bwd, (vkt_tensor *[]) { dy, f->in[DOCS] }, 2,
                   (vkt_attr) { .embedding = { f->in[POS]->shape.d[0] } });
}

static void embedding_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_node at = { .op = n->op, .g = g };
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    if (vkt__needs(n->in[TABLE])) {
        if (n->in[ORDER] && n->in[SEGMENTS])
            dx[TABLE] = embedding_bwd(g, d, n);
        else
            vkt__shape_error(&at, "no gradient of the table without the ids' order and segments");
    }
    if (!vkt__needs(n->in[POS])) return;
    if (n->in[START])
        vkt__shape_error(&at, "no gradient of positions with a start");
    else
        dx[POS] = embedding_pos_bwd(g, d, n);
}

/* ---- samples ---- */

/* Fewer and more tokens than ids, ids that do not occur, fewer positions than the table has, more
 * than 65,535 rows; doc: tokens of a document. */
static const struct {
    const char *name;
    uint32_t b, t, v, c, p, doc;
} sizes[] = {
    { "one", 1, 1, 1, 1, 1, 0 },          { "characters", 3, 16, 7, 33, 16, 0 },
    { "no positions", 2, 9, 5, 8, 0, 0 }, { "positions left over", 3, 5, 40, 12, 9, 0 },
    { "one id", 2, 50, 1, 3, 50, 0 },     { "tall", 2, 40000, 300, 2, 40000, 0 },
    { "no rows", 0, 4, 5, 3, 4, 0 },      { "documents", 3, 16, 7, 33, 17, 7 },
    { "tokens apart", 2, 9, 5, 8, 9, 1 }, { "one document", 2, 6, 5, 4, 6, 6 },
};

static vkt_node *sample(vkt_graph *g, uint32_t i, uint32_t start)
{
    uint32_t n = sizes[i].b * sizes[i].t, V = sizes[i].v;
    vkt_embedding_in in = {
        .table = vkt__sample2(g, V, sizes[i].c),
        .ids = vkt__sample(g, vkt_shape2(sizes[i].b, sizes[i].t), VKT_U32, VKT_HINT_CYCLE, V),
        .pos = sizes[i].p ? vkt__sample2(g, sizes[i].p, sizes[i].c) : NULL,
        .start = start ? vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_CONSTANT, start) : NULL,
        .order = vkt__sample(g, vkt_shape1(n), VKT_U32, VKT_HINT_ORDER, V),
        .segments = vkt__sample(g, vkt_shape1(V + 1), VKT_U32, VKT_HINT_SEGMENTS, n),
        .docs = sizes[i].doc ? vkt__sample(g, vkt_shape2(sizes[i].b, sizes[i].t), VKT_U32,
                                           VKT_HINT_DOCUMENTS, sizes[i].doc)
                             : NULL,
    };
    vkt_tensor *y = vkt_embedding(g, &in);
    return y->node;
}

static const char *embedding_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i < VKT_COUNT(sizes)) {
        sample(g, i, 0);
        return sizes[i].name;
    }
    if (i == VKT_COUNT(sizes)) {
        sample(g, 3, 4);
        return "from position 4";
    }
    if (i > VKT_COUNT(sizes) + 1) return NULL;
    vkt_embedding_in in = { .table = vkt__sample2(g, 4, 6),
                            .ids = vkt__sample(g, vkt_shape2(2, 10), VKT_U32, VKT_HINT_INDEX, 7) };
    vkt_embedding(g, &in);
    return "ids past the table";
}

static const char *embedding_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const uint32_t added[] = { 1, 3 }; /* to another gradient of the table */
    bool adds = i >= VKT_COUNT(sizes);
    if (adds) i -= VKT_COUNT(sizes);
    if (adds && i >= VKT_COUNT(added)) return NULL;
    if (adds) i = added[i];
    const vkt_node *f = sample(g, i, 0);
    vkt_tensor *d =
        embedding_bwd(g, vkt__sample(g, f->out[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0), f);
    if (adds) d->node->in[ADDEND] = vkt__sample(g, d->shape, VKT_F32, VKT_HINT_NORMAL, 0);
    return sizes[i].name;
}

static const char *embedding_pos_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const uint32_t with_positions[] = { 0, 1, 3, 4, 5, 7, 8, 9 };
    if (i >= VKT_COUNT(with_positions)) return NULL;
    const vkt_node *f = sample(g, with_positions[i], 0);
    embedding_pos_bwd(g, vkt__sample(g, f->out[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0), f);
    return sizes[with_positions[i]].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_embedding = { .name = "embedding",
                                   .n_in = 7,
                                   .n_out = 1,
                                   .in = { [IDS] = VKT_WORDS,
                                           [POS] = VKT_OPTIONAL,
                                           [START] = VKT_OPTIONAL | VKT_WORDS,
                                           [ORDER] = VKT_OPTIONAL | VKT_WORDS,
                                           [SEGMENTS] = VKT_OPTIONAL | VKT_WORDS,
                                           [DOCS] = VKT_OPTIONAL | VKT_WORDS },
                                   .shape = embedding_shape,
                                   .record = embedding_record,
                                   .grad = embedding_grad,
                                   .ref = embedding_ref,
                                   .cost = embedding_cost,
                                   .sample = embedding_sample };
const vkt_op vkt__op_embedding_bwd = { .name = "embedding_bwd",
                                       .n_in = N_BWD_IN,
                                       .n_out = 1,
                                       .in = { [BWD_ORDER] = VKT_WORDS,
                                               [BWD_SEGMENTS] = VKT_WORDS,
                                               [ADDEND] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW },
                                       .out = { VKT_INPLACE },
                                       .shape = embedding_bwd_shape,
                                       .record = embedding_bwd_record,
                                       .ref = embedding_bwd_ref,
                                       .terms = bwd_terms,
                                       .sample = embedding_bwd_sample };
const vkt_op vkt__op_embedding_pos_bwd = { .name = "embedding_pos_bwd",
                                           .n_in = N_POS_BWD_IN,
                                           .n_out = 1,
                                           .in = { [POS_DOCS] = VKT_OPTIONAL | VKT_WORDS },
                                           .shape = embedding_bwd_shape,
                                           .record = embedding_pos_bwd_record,
                                           .ref = embedding_pos_bwd_ref,
                                           .terms = bwd_terms,
                                           .sample = embedding_pos_bwd_sample };

vkt_tensor *vkt_embedding(vkt_graph *g, const vkt_embedding_in *in)
{
    vkt_tensor *list[] = {
        in->table, in->ids, in->pos, in->start, in->order, in->segments, in->docs
    };
    return vkt__op(g, &vkt__op_embedding, list, VKT_COUNT(list), (vkt_attr) { .embedding = { 0 } });
}
