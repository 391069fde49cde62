/* What the batch norm rows share: how rows are cut in groups and chunks, the dispatches over them,
 * and roundings. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/norm/batch.h"

uint32_t vkt__batch_group_rows(const vkt_node *n, uint32_t rows)
{
    return n->attr.batch.group_rows ? VKT_MIN(n->attr.batch.group_rows, rows) : rows;
}

uint32_t vkt__batch_groups(const vkt_node *n, uint32_t rows)
{
    return rows ? (rows - 1) / vkt__batch_group_rows(n, rows) + 1 : 0;
}

/* Rows of a chunk whose sums are merged later: about the square root of the group's, so that
 * neither stage is long; a function of shapes only, or results would differ between devices. */
static uint32_t sum_chunk(uint32_t rows)
{
    return VKT_MAX(32, (uint32_t)ceil(sqrt(rows)));
}

/* Rows that one invocation of an elementwise kernel takes, having found its place and loaded what
 * belongs to its channel: many on CPU drivers, where a division is a loop over the lanes. */
static uint32_t apply_chunk(const vkt_node *n)
{
    bool cpu = vkt__gpu_of(n->g) && vkt_gpu_caps(vkt__gpu_of(n->g))->klass == VKT_GPU_CLASS_CPU;
    return cpu ? 128 : 32;
}

static uint32_t chunks_of(uint32_t rows, uint32_t chunk)
{
    return (rows + chunk - 1) / chunk;
}

/* All of struct batch_norm_params but the addresses. */
struct batch_norm_params vkt__batch_params(const vkt_node *n, const vkt_tensor *x, bool sums)
{
    struct batch_norm_params p = { .rows = vkt__rows_of(x->shape),
                                   .cols = vkt__last(x->shape),
                                   .eps = n->attr.batch.eps };
    p.group_rows = vkt__batch_group_rows(n, p.rows);
    p.groups = vkt__batch_groups(n, p.rows);
    p.chunk = !sums                 ? apply_chunk(n)
              : n->attr.batch.chunk ? n->attr.batch.chunk
                                    : sum_chunk(p.group_rows);
    p.per_group = chunks_of(p.group_rows, p.chunk);
    return p;
}

struct batch_norm_params vkt__batch_bwd_params(vkt__rec *rec, const vkt_node *n)
{
    struct batch_norm_params p = vkt__batch_params(n, n->in[VKT__BNB_X], false);
    p.dy = vkt__addr(rec, n->in[VKT__BNB_G]);
    p.x = vkt__addr(rec, n->in[VKT__BNB_X]);
    p.mean = vkt__addr(rec, n->in[VKT__BNB_MEAN]);
    p.rstd = vkt__addr(rec, n->in[VKT__BNB_RSTD]);
    p.w = vkt__addr(rec, n->in[VKT__BNB_W]);
    p.b = vkt__addr_or(rec, n->in[VKT__BNB_SUM_G], n->in[VKT__BNB_MEAN]);
    p.r = vkt__addr_or(rec, n->in[VKT__BNB_SUM_GH], n->in[VKT__BNB_MEAN]);
    p.out0 = vkt__addr(rec, n->out[0]);
    return p;
}

void vkt__batch_dispatch(vkt__rec *rec, vkt__shader kernel, vkt__shader pairs,
                         struct batch_norm_params *p, uint32_t act, uint32_t fixed, bool added)
{
    bool two = vkt__use_pairs(rec->caps) && p->cols % 2 == 0;
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_ACT, act },
                                   { VKT_SPEC_FIXED, fixed },
                                   { VKT_SPEC_ADDED, added },
                                   { VKT_SPEC_TOGETHER, vkt__together(rec->caps, act ? 3 : 2) } };
    uint64_t n = (uint64_t)p->groups * p->per_group * (p->cols / (two ? 2 : 1));
    vkt__dispatch(rec, two ? pairs : kernel, spec, VKT_COUNT(spec), p, sizeof *p,
                  (n + wg - 1) / wg);
}

vkt__batch_tile vkt__batch_tile_of(const vkt_caps *c, uint32_t cols, uint32_t chunks)
{
    enum { WORKGROUP = 256, MOST_BESIDE = 16, MANY = 512 };
    /* Intel before Xe 2, whose lanes share a thread's registers: four numbers each spill. */
    bool intel = c->klass == VKT_GPU_CLASS_INTEL, few_registers = intel && c->subgroup_min < 16;
    vkt__batch_tile t = { .wg = vkt__reduce_workgroup(c, chunks > MANY ? 2 * WORKGROUP : WORKGROUP),
                          .beside = 1,
                          .vectors = cols > 0 && cols % 4 == 0 && !few_registers };
    uint32_t wide = t.vectors ? cols / 4 : cols;
    while (t.beside * 2 <= VKT_MIN(t.wg, MOST_BESIDE) && t.beside * 2 <= wide) t.beside *= 2;
    t.blocks = (wide + t.beside - 1) / t.beside;
    t.together = t.vectors ? 4 : 8;
    if (c->klass == VKT_GPU_CLASS_INTEL) t.together = t.vectors ? 1 : 2;
    if (c->klass == VKT_GPU_CLASS_CPU) t.together = 1;
    return t;
}

uint32_t vkt__batch_strip(const vkt_caps *c, uint32_t rows, uint32_t cols, uint32_t chunks)
{
    enum { WORKGROUPS = 256 };
    vkt__batch_tile t = vkt__batch_tile_of(c, cols, chunks);
    uint32_t strips = VKT_MAX(1, WORKGROUPS / t.blocks), lanes = t.wg / t.beside;
    return (uint32_t)vkt__align(VKT_MAX(chunks_of(rows, strips), chunks / 2), lanes);
}

/* Half as many rows at a time where each has an activation's value or a second gradient, too: with
 * all of them RDNA 2 would run 12 subgroups at a time of 16. */
static uint32_t together_with(const vkt__batch_tile *t, const vkt__constant *more, uint32_t n_more)
{
    bool third = false;
    for (uint32_t i = 0; i < n_more; i++)
        third |= (more[i].id == VKT_SPEC_ACT || more[i].id == VKT_SPEC_ADDED) && more[i].value;
    return third ? VKT_MAX(t->together / 2, 1) : t->together;
}

void vkt__batch_dispatch_strips(vkt__rec *rec, vkt__shader tiled, vkt__shader vectors,
                                const void *p, uint32_t bytes, uint32_t cols, uint32_t chunks,
                                uint32_t strips, const vkt__constant *more, uint32_t n_more)
{
    vkt__batch_tile t = vkt__batch_tile_of(rec->caps, cols, chunks);
    vkt__constant spec[3 + VKT__BATCH_CONSTANTS] = { { VKT_SPEC_WORKGROUP, t.wg },
                                                     { VKT_SPEC_BESIDE, t.beside },
                                                     { VKT_SPEC_TOGETHER,
                                                       together_with(&t, more, n_more) } };
    for (uint32_t i = 0; i < n_more; i++) spec[3 + i] = more[i];
    vkt__dispatch(rec, t.vectors ? vectors : tiled, spec, 3 + n_more, p, bytes,
                  (uint64_t)t.blocks * strips);
}

void vkt__batch_dispatch_chunks(vkt__rec *rec, const vkt__batch_kernels *k,
                                struct batch_norm_params *p, uint32_t act, uint32_t fixed,
                                bool added)
{
    const vkt__constant more[VKT__BATCH_CONSTANTS] = { { VKT_SPEC_ACT, act },
                                                       { VKT_SPEC_FIXED, fixed },
                                                       { VKT_SPEC_ADDED, added } };
    if (rec->caps->klass == VKT_GPU_CLASS_CPU)
        vkt__batch_dispatch(rec, k->kernel, k->pairs, p, act, fixed, added);
    else
        vkt__batch_dispatch_strips(rec, k->tiled, k->vectors, p, sizeof *p, p->cols, 0,
                                   p->groups * p->per_group, more, VKT__BATCH_CONSTANTS);
}

void vkt__batch_dispatch_merge(vkt__rec *rec, vkt__shader kernel, vkt__shader tiled,
                               vkt__shader vectors, const void *p, uint32_t bytes, uint32_t cols,
                               uint32_t chunks)
{
    if (rec->caps->klass != VKT_GPU_CLASS_CPU) {
        vkt__batch_dispatch_strips(rec, tiled, vectors, p, bytes, cols, chunks, 1, NULL, 0);
        return;
    }
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TOGETHER, vkt__together(rec->caps, 2) } };
    vkt__dispatch(rec, kernel, spec, VKT_COUNT(spec), p, bytes, ((uint64_t)cols + wg - 1) / wg);
}

/* Rows of a group that a chunk of it holds: from *begin to before the result. */
uint64_t vkt__batch_chunk_rows(const struct batch_norm_params *p, uint64_t chunk, uint64_t *begin)
{
    uint64_t group = chunk / p->per_group,
             end = VKT_MIN((group + 1) * p->group_rows, (uint64_t)p->rows);
    *begin = VKT_MIN(group * p->group_rows + chunk % p->per_group * p->chunk, end);
    return VKT_MIN(*begin + p->chunk, end);
}

uint64_t vkt__batch_rows_in(const struct batch_norm_params *p, uint64_t group)
{
    return VKT_MIN(p->group_rows, p->rows - group * p->group_rows);
}

double vkt__batch_rstd(const vkt_node *n, double v)
{
    return n->attr.batch.fixed ? 1 / sqrt(v + (double)n->attr.batch.eps) : v;
}

/* Sums of distances from a first row d deviations off: squares of 1 + d^2, where d^2 cancels; |d| <
 * 5 in almost every column. */
double vkt__batch_stats_terms(const vkt_node *n)
{
    return 25.0 * 25 * sum_chunk(vkt__batch_group_rows(n, vkt__rows_of(n->in[0]->shape)));
}

const vkt_tensor *vkt__batch_x(const vkt_node *finish)
{
    const vkt_node *n = finish->in[0]->node; /* batch_stats of its input, or what made it */
    return finish->in[0]->out_index == 0 ? n->in[0] : n->out[0];
}

/* The chunks' own errors, and those of merging them. */
double vkt__batch_finish_terms(const vkt_node *n)
{
    if (n->out[2]) { /* batch_finish_norm, which has x itself */
        struct batch_norm_params p = vkt__batch_params(n, n->in[0], true);
        return 25.0 * 25 * p.chunk + 8.0 * p.per_group;
    }
    return vkt__batch_stats_terms(n->in[0]->node) + 8.0 * vkt__rows_of(n->in[0]->shape);
}

double vkt__batch_norm_terms(const vkt_node *n)
{
    const vkt_node *finish = n->in[1]->node;
    return 64 + (finish ? vkt__batch_finish_terms(finish) : 0);
}

/* ---- sample cases ---- */

/* Groups that are the batch, divide it, don't, are larger; chunks below, at and above their size.
 */
static const vkt__batch_case cases[] = {
    { "plain", { 6, 9, 5 }, 0, VKT_ACT_NONE, false, false },
    { "three values", { 3, 1, 1 }, 0, VKT_ACT_NONE, false, false },
    { "relu", { 4, 10, 34 }, 0, VKT_ACT_RELU, false, false },
    { "residual and relu", { 4, 10, 33 }, 4, VKT_ACT_RELU, true, false },
    { "residual", { 4, 10, 8 }, 0, VKT_ACT_NONE, true, false },
    { "silu", { 3, 12, 7 }, 0, VKT_ACT_SILU, true, false },
    { "ghost batches", { 8, 11, 6 }, 4, VKT_ACT_NONE, false, false },
    { "ghost batches, the last shorter, relu", { 9, 11, 6 }, 4, VKT_ACT_RELU, true, false },
    { "a virtual batch above the batch", { 5, 11, 6 }, 64, VKT_ACT_NONE, false, false },
    { "chunks", { 5, 300, 3 }, 2, VKT_ACT_NONE, false, false },
    { "mean far from zero", { 3, 20, 5 }, 0, VKT_ACT_NONE, false, true },
};

const vkt__batch_case *vkt__batch_case_at(uint32_t i)
{
    return i < VKT_COUNT(cases) ? &cases[i] : NULL;
}

vkt_tensor *vkt__batch_case_x(vkt_graph *g, const vkt__batch_case *s)
{
    return vkt__sample(g, (vkt_shape) { 3, { s->x[0], s->x[1], s->x[2] } }, VKT_F32,
                       s->far ? VKT_HINT_POSITIVE : VKT_HINT_NORMAL, 0);
}
