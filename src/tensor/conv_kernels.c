/* Which kernel computes a convolution, by device class and shape, and how it is recorded. */
#include "tensor/conv.h"

enum { CONV_CHOOSE, CONV_NAIVE, CONV_BLOCK, CONV_ROWS, CONV_TILED_32, CONV_TILED_64, CONV_COUNT };
static const struct {
    const char *name, *shader, *dw_shader;
    uint32_t bm, bn, bk, tm, tn; /* of conv_tiled, as of matmul_tiled */
} kernels[CONV_COUNT] = {
    [CONV_NAIVE] = { "naive", "conv_naive", "conv_dw_naive" },
    [CONV_BLOCK] = { "block", "conv_block", "conv_dw_block" },
    [CONV_ROWS] = { "rows", "conv_rows.pairs", "conv_dw_rows.pairs" },
    [CONV_TILED_32] = { "tiled.32", "conv_tiled", "conv_tiled", 32, 32, 16, 4, 4 },
    [CONV_TILED_64] = { "tiled.64", "conv_tiled", "conv_tiled", 64, 64, 16, 8, 4 },
};

/* Of the row kernels: rows of the tile, of the gradient of w, whose depth a taller one seldom
 * divides, half as many unless they are cheap; columns a lane where there are many; sums that share
 * registers. Taken by time on lavapipe 25.0 with 16 lanes, whose compiler crashes of taller tiles.
 */
enum { ROWS = 64, COLUMNS = 4, SHARING = 8 };

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
    case CONV_ROWS: /* no more trips than loops may have (KERNELS.md, 8.1) */
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

/* Many groups too narrow to fill a vector: one invocation an element.
 * GPUs: the larger tile where that still gives every core of a mid-range device work (unmeasured:
 * no GPU has run this yet). */
static uint32_t table(const vkt_caps *caps, const vkt__conv_geometry *q, bool dw, uint32_t slices)
{
    uint32_t per_group = q->co / q->attr->conv.groups;
    if (caps->klass == VKT_CLASS_CPU) {
        if (q->attr->conv.groups > 1 && per_group < caps->subgroup / 2) return CONV_NAIVE;
        return fits(CONV_ROWS, caps, q) ? CONV_ROWS : CONV_BLOCK;
    }
    uint64_t rows = dw ? q->depth : (uint64_t)q->n * q->oh * q->ow,
             tiles = ceil_div(rows, 64) * ceil_div(per_group, 64) * q->attr->conv.groups * slices;
    if (per_group < 8) return CONV_NAIVE;
    if (per_group >= 48 && tiles >= 24 && fits(CONV_TILED_64, caps, q)) return CONV_TILED_64;
    return fits(CONV_TILED_32, caps, q) ? CONV_TILED_32 : CONV_NAIVE;
}

static uint32_t kernel_of(const vkt_gpu *gpu, const vkt_node *n)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    uint32_t kernel = n->attr.conv.kernel ? n->attr.conv.kernel
                                          : table(caps, &q, n->op == &vkt__op_conv2d_dw,
                                                  VKT_MAX(n->attr.conv.slices, 1));
    return fits(kernel, caps, &q) ? kernel : CONV_NAIVE;
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

/* Workgroups of a forward pass or a transpose by tiles: of a transpose over strides stride^2 phases
 * of pixels. */
static uint64_t pixel_tiles(const vkt__conv_geometry *q, uint32_t tall, uint32_t wide)
{
    uint32_t stride = q->transposed ? q->attr->conv.stride : 1, groups = q->attr->conv.groups;
    uint64_t pixels = (uint64_t)q->n * ceil_div(q->oh, stride) * ceil_div(q->ow, stride);
    return ceil_div(pixels, tall) * ceil_div(q->co / groups, wide) * groups * stride * stride;
}

/* The row kernels' constants and groups. */
static void record_rows(vkt__rec *rec, const vkt__conv_geometry *q, bool dw, uint32_t slices,
                        const char *shader, uint32_t *spec, uint32_t n_spec,
                        const struct conv_params *p)
{
    const vkt_attr *a = q->attr;
    uint32_t lanes = rec->caps->subgroup, per_group = q->co / a->conv.groups,
             width = per_group % 2 == 0 && per_group > lanes ? 2 : 1,
             columns = per_group <= width * lanes ? width : COLUMNS,
             x_width = q->ci % 2 == 0 ? 2 : 1,
             run = !q->transposed && a->conv.dilation == 1 && a->conv.groups == 1
                       ? a->conv.kw * q->ci
                       : q->ci,
             steps = dw ? steps_of(q->ow, 1) : steps_of(run, x_width), sharing = SHARING / columns,
             most = dw && columns > 1 ? ROWS / 2 : ROWS,
             tile = rows_needed(dw ? q->depth : p->pixels, most, sharing);
    const uint32_t more[] = { lanes <= 8, tile, columns, x_width, width, steps, sharing };
    spec[0] = lanes;
    for (uint32_t i = 0; i < VKT_COUNT(more); i++) spec[n_spec++] = more[i];
    vkt__dispatch(rec, shader, spec, n_spec, p, sizeof *p,
                  dw ? ceil_div(q->depth, tile) * ceil_div(per_group, columns * lanes) *
                           a->conv.groups * slices
                     : pixel_tiles(q, tile, columns * lanes));
}

static void record_block(vkt__rec *rec, const vkt__conv_geometry *q, bool dw, uint32_t slices,
                         const char *shader, uint32_t *spec, uint32_t n_spec,
                         const struct conv_params *p)
{
    enum { TALL = 8, WIDE = 4 }; /* of an invocation, as the shaders have them */
    const vkt_attr *a = q->attr;
    uint32_t wide = WIDE * (spec[0] = rec->caps->subgroup);
    vkt__dispatch(rec, shader, spec, n_spec, p, sizeof *p,
                  dw ? ceil_div(q->ci, TALL) * a->conv.kh * a->conv.kw *
                           ceil_div(q->co / a->conv.groups, wide) * a->conv.groups * slices
                     : pixel_tiles(q, TALL, wide));
}

void vkt__conv_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_caps *caps = rec->caps;
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    const vkt_attr *a = &n->attr;
    bool dw = n->op == &vkt__op_conv2d_dw;
    uint32_t kernel = kernel_of(rec->gpu, n), slices = VKT_MAX(a->conv.slices, 1),
             per_group = q.co / a->conv.groups, wg = VKT_MIN(caps->workgroup, 64);
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
                             .slice = dw ? vkt__conv_slice(&q, slices) : 0,
                             .flags = (n->in[2] ? VKT_MM_BIAS : 0) | (n->out[1] ? VKT_MM_PRE : 0) };
    p.x4 = p.x;
    p.w4 = p.w;
    const char *shader = dw ? kernels[kernel].dw_shader : kernels[kernel].shader;
    uint32_t spec[14] = { wg, 1, 1, (uint32_t)a->conv.act, q.transposed, a->conv.stride },
             n_spec = 6;
    if (kernel == CONV_NAIVE) {
        vkt__dispatch(rec, shader, spec, n_spec, &p, sizeof p, ceil_div(n->out[0]->count, wg));
        return;
    }
    if (kernel >= CONV_TILED_32) {
        const uint32_t bm = kernels[kernel].bm, bn = kernels[kernel].bn, tm = kernels[kernel].tm,
                       tn = kernels[kernel].tn, bk = kernels[kernel].bk,
                       more[] = { dw,
                                  bm,
                                  bn,
                                  bk,
                                  tm,
                                  tn,
                                  q.ci % 4 == 0 && p.x % 16 == 0,
                                  per_group % 4 == 0 && p.w % 16 == 0 };
        spec[0] = bm / tm * (bn / tn);
        for (uint32_t i = 0; i < VKT_COUNT(more); i++) spec[n_spec++] = more[i];
        vkt__dispatch(rec, shader, spec, n_spec, &p, sizeof p,
                      ceil_div(dw ? q.depth : p.pixels, bm) * ceil_div(per_group, bn) *
                          a->conv.groups * slices);
        return;
    }
    (kernel == CONV_ROWS ? record_rows : record_block)(rec, &q, dw, slices, shader, spec, n_spec,
                                                       &p);
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
