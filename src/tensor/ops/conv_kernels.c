/* Which kernel computes a convolution, by device class and shape, and how it is recorded. */
#include <stdio.h>

#include "tensor/graph/record.h"
#include "tensor/ops/conv.h"

enum {
    CONV_CHOOSE,
    CONV_NAIVE,
    CONV_BLOCK,
    CONV_ROWS_32,
    CONV_ROWS_64,
    CONV_TILED_32,
    CONV_TILED_64,
    CONV_COUNT
};
/* rows: of the row kernels' tile; bm to tn: of conv_tiled, as of matmul_tiled. Numbers of kernels
 * are for tests only; what is kept, and read, is the name. */
typedef struct {
    const char *name;
    vkt__shader shader, dw_shader;
    uint32_t rows, bm, bn, bk, tm, tn;
} conv_kernel;
static const conv_kernel kernels[CONV_COUNT] = {
    [CONV_NAIVE] = { "naive", VKT_SHADER_CONV_NAIVE, VKT_SHADER_CONV_DW_NAIVE, 0, 0, 0, 0, 0, 0 },
    [CONV_BLOCK] = { "block", VKT_SHADER_CONV_BLOCK, VKT_SHADER_CONV_DW_BLOCK, 0, 0, 0, 0, 0, 0 },
    [CONV_ROWS_32] = { "rows.32", VKT_SHADER_CONV_ROWS_PAIRS, VKT_SHADER_CONV_DW_ROWS_PAIRS, 32, 0,
                       0, 0, 0, 0 },
    [CONV_ROWS_64] = { "rows.64", VKT_SHADER_CONV_ROWS_PAIRS, VKT_SHADER_CONV_DW_ROWS_PAIRS, 64, 0,
                       0, 0, 0, 0 },
    [CONV_TILED_32] = { "tiled.32", VKT_SHADER_CONV_TILED, VKT_SHADER_CONV_TILED, 0, 32, 32, 16, 4,
                        4 },
    [CONV_TILED_64] = { "tiled.64", VKT_SHADER_CONV_TILED, VKT_SHADER_CONV_TILED, 0, 64, 64, 16, 8,
                        4 },
};

static bool is_rows(uint32_t kernel)
{
    return kernels[kernel].rows != 0;
}

/* Of the row kernels: columns a lane where there are many, sums that share registers; by time on
 * lavapipe 25.0 with 16 lanes, whose compiler crashes of tiles taller than 64. */
enum { COLUMNS = 4, SHARING = 8 };

/* Steps at a time of a sum of n, whole units of them: those that overshoot n least, of these the
 * nearest to four. */
static uint32_t steps_of(uint32_t n, uint32_t unit)
{
    static const uint32_t steps[] = { 4, 5, 6, 7, 8, 3, 2, 1 };
    uint32_t best = unit, least = UINT32_MAX;
    for (uint32_t i = 0; i < VKT_COUNT(steps); i++) {
        uint32_t all = steps[i] % unit ? UINT32_MAX : (n + steps[i] - 1) / steps[i] * steps[i];
        if (all < least) best = steps[i], least = all;
    }
    return best;
}

const char *vkt__conv_kernel_name(uint32_t kernel)
{
    return kernel < CONV_COUNT ? kernels[kernel].name : NULL;
}

static bool fits(uint32_t kernel, const vkt_caps *caps, const vkt__conv_geometry *q)
{
    switch (kernel) {
    case CONV_ROWS_32:
    case CONV_ROWS_64: /* no more trips than loops may have (KERNELS.md, 8.1) */
        return caps->int64 && caps->subgroup_arith && caps->subgroup >= 4 && q->depth < 30000;
    case CONV_TILED_32:
    case CONV_TILED_64:
        return kernels[kernel].bm / kernels[kernel].tm *
                       (kernels[kernel].bn / kernels[kernel].tn) <=
                   caps->workgroup &&
               kernels[kernel].bk * (kernels[kernel].bm + kernels[kernel].bn + 8) * 4 <=
                   caps->shared_bytes;
    default:
        return true;
    }
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Many groups too narrow to fill a vector: one invocation an element. Mesa's CPU driver: a filter's
 * depth is seldom a multiple of 64, and what is over costs less only where it has one column.
 * GPUs: the larger tile where that still gives every core of a mid-range device work (unmeasured:
 * no GPU has run this yet). */
static uint32_t table(const vkt_caps *caps, const vkt__conv_geometry *q, bool dw)
{
    uint32_t per_group = q->co / q->attr->conv.groups, slices = VKT_MAX(q->attr->conv.slices, 1);
    if (caps->klass == VKT_CLASS_CPU) {
        if (q->attr->conv.groups > 1 && per_group < caps->subgroup / 2) return CONV_NAIVE;
        if (!fits(CONV_ROWS_64, caps, q)) return CONV_BLOCK;
        return dw && per_group > caps->subgroup ? CONV_ROWS_32 : CONV_ROWS_64;
    }
    uint64_t rows = dw ? q->depth : (uint64_t)q->n * q->oh * q->ow,
             tiles = ceil_div(rows, 64) * ceil_div(per_group, 64) * q->attr->conv.groups * slices;
    if (per_group < 8) return CONV_NAIVE;
    if (per_group >= 48 && tiles >= 24 && fits(CONV_TILED_64, caps, q)) return CONV_TILED_64;
    return fits(CONV_TILED_32, caps, q) ? CONV_TILED_32 : CONV_NAIVE;
}

uint32_t vkt__conv_table(const vkt_gpu *gpu, const vkt_node *n)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    return table(vkt_gpu_caps(gpu), &q, n->attr.conv.pass == VKT_CONV_DW);
}

bool vkt__conv_is_candidate(uint32_t kernel, const vkt_gpu *gpu, const vkt_node *n)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    bool of_cpu = kernel == CONV_BLOCK || is_rows(kernel), grouped = n->attr.conv.groups > 1;
    if (!fits(kernel, caps, &q)) return false;
    if (kernel == CONV_NAIVE) return grouped;
    if (kernel == CONV_BLOCK && fits(CONV_ROWS_64, caps, &q) && !grouped) return false;
    return of_cpu == (caps->klass == VKT_CLASS_CPU);
}

static uint32_t log2_of(uint64_t n)
{
    uint32_t log = 0;
    while (n >>= 1) log++;
    return log;
}

const char *vkt__conv_key(const vkt_node *n, char key[40])
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    const vkt_attr *a = &n->attr;
    snprintf(key, 40, "%s %ux%u/%u d%u g%u %u %u %u", n->op->name, a->conv.kh, a->conv.kw,
             a->conv.stride, a->conv.dilation, a->conv.groups, log2_of((uint64_t)q.n * q.oh * q.ow),
             log2_of(q.ci), log2_of(q.co / a->conv.groups));
    return key;
}

static uint32_t kernel_of(const vkt_gpu *gpu, const vkt_node *n)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    uint32_t kernel = n->attr.conv.kernel;
    char key[40];
    if (kernel) return fits(kernel, caps, &q) ? kernel : CONV_NAIVE;
    const char *tuned = vkt__choice_get(gpu, vkt__conv_key(n, key));
    for (uint32_t k = 1; k < CONV_COUNT && tuned; k++)
        if (!strcmp(tuned, kernels[k].name) && fits(k, caps, &q)) return k;
    return vkt__conv_table(gpu, n);
}

const char *vkt__conv_kernel(const vkt_gpu *gpu, const vkt_node *n)
{
    return kernels[kernel_of(gpu, n)].name;
}

/* A tile no taller than there are rows: unused ones are computed too. */
static uint32_t rows_needed(uint32_t rows, uint32_t most, uint32_t sharing)
{
    return rows >= most ? most : (uint32_t)vkt__align(VKT_MAX(rows, 1), sharing);
}

/* What is dispatched, but for the parameters. */
typedef struct {
    vkt__constant spec[VKT__MAX_CONSTANTS];
    uint32_t n_spec;
    uint64_t groups;
} launch;

/* A node as its launch sees it. */
typedef struct {
    const vkt__conv_geometry *q;
    bool dw;
    uint32_t kernel, slices, lanes, per_group; /* output channels of a group */
} job;

static void add(launch *l, const vkt__constant *spec, uint32_t n)
{
    memcpy(l->spec + l->n_spec, spec, n * sizeof *spec);
    l->n_spec += n;
}

/* Workgroups of `tall` pixels, or of k, by `wide` channels; of a transpose over strides stride^2
 * phases of pixels. */
static uint64_t pixel_tiles(const job *j, uint32_t tall, uint32_t wide)
{
    const vkt__conv_geometry *q = j->q;
    uint32_t stride = q->transposed ? q->attr->conv.stride : 1;
    uint64_t pixels = (uint64_t)q->n * ceil_div(q->oh, stride) * ceil_div(q->ow, stride);
    return ceil_div(pixels, tall) * ceil_div(j->per_group, wide) * q->attr->conv.groups * stride *
           stride;
}

static uint64_t depth_tiles(const job *j, uint32_t tall, uint32_t wide)
{
    return ceil_div(j->q->depth, tall) * ceil_div(j->per_group, wide) * j->q->attr->conv.groups *
           j->slices;
}

static void launch_rows(launch *l, const job *j)
{
    const vkt__conv_geometry *q = j->q;
    const vkt_attr *a = q->attr;
    bool side_by_side = !q->transposed && a->conv.dilation == 1 && a->conv.groups == 1;
    uint32_t width = j->per_group % 2 == 0 && j->per_group > j->lanes ? 2 : 1,
             columns = j->per_group <= width * j->lanes ? width : COLUMNS,
             x_width = q->ci % 2 == 0 ? 2 : 1, sharing = SHARING / columns,
             steps = j->dw ? steps_of(q->ow, 1)
                           : steps_of(side_by_side ? a->conv.kw * q->ci : q->ci, x_width),
             rows = j->dw ? q->depth : q->n * q->oh * q->ow,
             tile = rows_needed(rows, kernels[j->kernel].rows, sharing);
    const vkt__constant spec[] = {
        { VKT_SPEC_SHUFFLE, j->lanes <= 8 }, { VKT_SPEC_ROWS, tile },
        { VKT_SPEC_COLUMNS, columns },       { VKT_SPEC_X_WIDTH, x_width },
        { VKT_SPEC_WIDTH, width },           { VKT_SPEC_STEPS, steps },
        { VKT_SPEC_SHARING, sharing }
    };
    l->spec[0].value = j->lanes;
    add(l, spec, VKT_COUNT(spec));
    l->groups = (j->dw ? depth_tiles : pixel_tiles)(j, tile, columns * j->lanes);
}

static void launch_block(launch *l, const job *j)
{
    enum { TALL = 8, WIDE = 4 }; /* an invocation's, as the shaders have them; of dw within a tap */
    const vkt_attr *a = j->q->attr;
    uint32_t wide = WIDE * j->lanes;
    l->spec[0].value = j->lanes;
    l->groups = j->dw ? ceil_div(j->q->ci, TALL) * a->conv.kh * a->conv.kw *
                            ceil_div(j->per_group, wide) * a->conv.groups * j->slices
                      : pixel_tiles(j, TALL, wide);
}

static void launch_tiled(launch *l, const job *j, const struct conv_params *p)
{
    const conv_kernel *k = &kernels[j->kernel];
    const vkt__constant spec[] = { { VKT_SPEC_DW, j->dw },
                                   { VKT_SPEC_BM, k->bm },
                                   { VKT_SPEC_BN, k->bn },
                                   { VKT_SPEC_BK, k->bk },
                                   { VKT_SPEC_TM, k->tm },
                                   { VKT_SPEC_TN, k->tn },
                                   { VKT_SPEC_VEC_X, j->q->ci % 4 == 0 && p->x % 16 == 0 },
                                   { VKT_SPEC_VEC_W, j->per_group % 4 == 0 && p->w % 16 == 0 } };
    l->spec[0].value = k->bm / k->tm * (k->bn / k->tn);
    add(l, spec, VKT_COUNT(spec));
    l->groups = j->dw ? depth_tiles(j, k->bm, k->bn)
                      : ceil_div(p->pixels, k->bm) * ceil_div(j->per_group, k->bn) *
                            j->q->attr->conv.groups;
}

void vkt__conv_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_caps *caps = rec->caps;
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    const vkt_attr *a = &n->attr;
    bool dw = n->attr.conv.pass == VKT_CONV_DW;
    const job j = { .q = &q,
                    .dw = dw,
                    .kernel = kernel_of(rec->gpu, n),
                    .slices = VKT_MAX(a->conv.slices, 1),
                    .lanes = caps->subgroup,
                    .per_group = q.co / a->conv.groups };
    struct conv_params p = { .x = vkt__addr(rec, n->in[0]),
                             .w = vkt__addr(rec, n->in[1]),
                             .bias = vkt__addr_or(rec, n->in[2], n->in[1]),
                             .y = vkt__addr(rec, n->out[0]),
                             .pre = vkt__addr(rec, n->out[1]),
                             .h = q.h,
                             .wd = q.w,
                             .c = q.c,
                             .oh = q.oh,
                             .ow = q.ow,
                             .co = q.co,
                             .kh = a->conv.kh,
                             .kw = a->conv.kw,
                             .ci = q.ci,
                             .pad = a->conv.pad,
                             .dil = a->conv.dilation,
                             .groups = a->conv.groups,
                             .pixels = q.n * q.oh * q.ow,
                             .slice = dw ? vkt__conv_slice(&q, j.slices) : 0,
                             .flags = (n->in[2] ? VKT_MM_BIAS : 0) | (n->out[1] ? VKT_MM_PRE : 0) };
    p.x4 = p.x;
    p.w4 = p.w;
    launch l = { .spec = { { VKT_SPEC_WORKGROUP, VKT_MIN(caps->workgroup, 64) },
                           { VKT_SPEC_ACT, (uint32_t)a->conv.act },
                           { VKT_SPEC_TRANSPOSED, q.transposed },
                           { VKT_SPEC_STRIDE, a->conv.stride } },
                 .n_spec = 4 };
    if (j.kernel == CONV_NAIVE)
        l.groups = ceil_div(n->out[0]->count, l.spec[0].value);
    else if (j.kernel == CONV_BLOCK)
        launch_block(&l, &j);
    else if (is_rows(j.kernel))
        launch_rows(&l, &j);
    else
        launch_tiled(&l, &j, &p);
    vkt__dispatch(rec, dw ? kernels[j.kernel].dw_shader : kernels[j.kernel].shader, l.spec,
                  l.n_spec, &p, sizeof p, l.groups);
}

/* Enough workgroups for a device's cores, whose number must not change from run to run, or results
 * would (as vkt__matmul_slices); and never more pixels in a slice than loops may have trips on CPU
 * drivers (KERNELS.md, 8.1), where each may be a line of its own. */
uint32_t vkt__conv_slices(const vkt_gpu *gpu, const vkt_tensor *x, const vkt_tensor *dy,
                          const vkt_attr *attr)
{
    enum { TILE_K = 32, TILE_N = 64, MOST_TRIPS = 30000 };
    const uint32_t *d = dy->shape.d;
    uint64_t lines = (uint64_t)d[0] * d[1], groups = attr->conv.groups,
             depth = (uint64_t)attr->conv.kh * attr->conv.kw * (x->shape.d[3] / groups),
             tiles = ceil_div(depth, TILE_K) * ceil_div(d[3] / groups, TILE_N) * groups, want = 32;
    if (!gpu || lines == 0) return 1;
    if (vkt_gpu_caps(gpu)->klass != VKT_CLASS_CPU)
        want = vkt_gpu_caps(gpu)->type == VKT_GPU_DISCRETE ? 256 : 64;
    uint64_t slices = VKT_MAX(tiles < want ? ceil_div(want, tiles) : 1,
                              ceil_div(lines * d[2], MOST_TRIPS)),
             each = ceil_div(lines, VKT_MIN(slices, lines));
    return (uint32_t)ceil_div(lines, each); /* none of them empty */
}

uint32_t vkt__conv_slice(const vkt__conv_geometry *q, uint32_t slices)
{
    return (uint32_t)ceil_div((uint64_t)q->n * q->oh, VKT_MAX(slices, 1));
}

vkt__conv_geometry vkt__conv_geometry_of(const vkt_node *n)
{
    bool dw = n->attr.conv.pass == VKT_CONV_DW;
    const uint32_t *x = n->in[0]->shape.d, *y = dw ? n->in[1]->shape.d : n->out[0]->shape.d;
    vkt__conv_geometry q = { .attr = &n->attr,
                             .n = x[0],
                             .h = x[1],
                             .w = x[2],
                             .c = x[3],
                             .oh = y[1],
                             .ow = y[2],
                             .co = y[3],
                             .transposed = n->attr.conv.pass == VKT_CONV_DX };
    q.ci = q.c / n->attr.conv.groups;
    q.depth = n->attr.conv.kh * n->attr.conv.kw * q.ci;
    return q;
}
