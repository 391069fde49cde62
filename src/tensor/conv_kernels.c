/* Which kernel computes a convolution, by device class and shape, and how it is recorded. */
#include "tensor/conv.h"

enum {
    CONV_CHOOSE,
    CONV_NAIVE,
    CONV_ROWS,
    CONV_ROWS_PAIRS,
    CONV_TILED_32,
    CONV_TILED_64,
    CONV_COUNT
};
static const struct {
    const char *name, *shader, *dw_shader;
    uint32_t bm, bn, bk, tm, tn; /* of conv_tiled, as of matmul_tiled */
} kernels[CONV_COUNT] = {
    [CONV_NAIVE] = { "naive", "conv_naive", "conv_dw_naive" },
    [CONV_ROWS] = { "rows", "conv_rows", "conv_dw_rows" },
    [CONV_ROWS_PAIRS] = { "rows.pairs", "conv_rows.pairs", "conv_dw_rows.pairs" },
    [CONV_TILED_32] = { "tiled.32", "conv_tiled", "conv_tiled", 32, 32, 16, 4, 4 },
    [CONV_TILED_64] = { "tiled.64", "conv_tiled", "conv_tiled", 64, 64, 16, 8, 4 },
};

/* conv_rows: pixels and column vectors, as matmul_rows has them. conv_dw_rows: steps of k; one
 * pixel a trip. Of 8 to 64 steps by 1 to 3 vectors and 1 to 14 pixels these took the least
 * processor time on lavapipe 25.0 with 16 lanes, 32 -> 64 channels of 14 x 14. */
enum { ROWS = 16, DW_ROWS = 32, VECTORS = 2 };

const char *vkt__conv_kernel_name(uint32_t kernel)
{
    return kernel < CONV_COUNT ? kernels[kernel].name : NULL;
}

static bool fits(uint32_t kernel, const vkt_caps *caps, const vkt__conv_geometry *q)
{
    uint32_t per_group = q->co / q->attr->conv.groups;
    switch (kernel) {
    case CONV_ROWS:
        return caps->subgroup_arith && caps->subgroup >= 4;
    case CONV_ROWS_PAIRS:
        return caps->subgroup_arith && caps->subgroup >= 4 && caps->int64 && q->ci % 2 == 0 &&
               per_group % 2 == 0;
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

/* Groups too narrow to fill a vector share nothing between channels: one invocation an element.
 * GPUs: the larger tile where that still gives every core of a mid-range device work (unmeasured:
 * no GPU has run this yet). */
static uint32_t table(const vkt_caps *caps, const vkt__conv_geometry *q, bool dw, uint32_t slices)
{
    uint32_t per_group = q->co / q->attr->conv.groups;
    if (caps->klass == VKT_CLASS_CPU) {
        if (!caps->int64 || per_group < caps->subgroup / 2) return CONV_NAIVE;
        return fits(CONV_ROWS_PAIRS, caps, q) ? CONV_ROWS_PAIRS
               : fits(CONV_ROWS, caps, q)     ? CONV_ROWS
                                              : CONV_NAIVE;
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

/* A row tile no taller than needed: unused rows are computed too. */
static uint32_t rows_needed(uint32_t most, uint32_t rows)
{
    uint32_t r = most;
    while (r >= 4 && r / 2 >= rows) r /= 2;
    return r;
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
    uint32_t per_vector = caps->subgroup * (kernel == CONV_ROWS_PAIRS ? 2 : 1),
             vectors = per_group <= per_vector ? 1 : VECTORS, rows = dw ? q.depth : p.pixels,
             tile = rows_needed(dw ? DW_ROWS : ROWS, rows);
    spec[0] = caps->subgroup;
    spec[n_spec++] = caps->subgroup <= 8; /* as matmul_rows */
    spec[n_spec++] = tile;
    spec[n_spec++] = vectors;
    if (!dw) spec[n_spec++] = q.depth / (kernel == CONV_ROWS_PAIRS ? 2 : 1) % caps->subgroup;
    vkt__dispatch(rec, shader, spec, n_spec, &p, sizeof p,
                  ceil_div(rows, tile) * ceil_div(per_group, vectors * per_vector) *
                      a->conv.groups * slices);
}

/* Enough workgroups for a device's cores, whose number must not change from run to run, or results
 * would (as vkt__matmul_slices); and never more pixels in a slice than loops may have trips on CPU
 * drivers (KERNELS.md, 8.1). */
uint32_t vkt__conv_slices(const vkt_gpu *gpu, const vkt_tensor *x, const vkt_tensor *dy,
                          const vkt_attr *attr)
{
    enum { TILE_K = 32, TILE_N = 64, MOST_TRIPS = 32768 };
    const uint32_t *d = dy->shape.d;
    uint64_t lines = (uint64_t)d[0] * d[1], groups = attr->conv.groups,
             depth = (uint64_t)attr->conv.kh * attr->conv.kw * (x->shape.d[3] / groups),
             tiles = ceil_div(depth, TILE_K) * ceil_div(d[3] / groups, TILE_N) * groups, want = 8;
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
