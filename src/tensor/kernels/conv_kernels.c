/* The convolution kernels, a row each; which one a device's class gets at a shape, and in how many
 * slices the gradient of a filter is summed. What a family does stands in conv_families.c. */
#include <stdio.h>

#include "tensor/kernels/conv_family.h"

/* A kernel's number is for tests only; its name is kept, and read. */
static const vkt__conv_tile tiles[] = {
    { 0 },
    { "naive", &vkt__conv_naive, 0, 0, 0, 0, 0 },
    { "block", &vkt__conv_block, 8, 4, 0, 0, 0 }, /* of a filter's gradient within a tap */
    { "rows.32", &vkt__conv_rows, 32, 4, 0, 0, 0 },
    { "rows.64", &vkt__conv_rows, 64, 4, 0, 0, 0 },
    { "tiled.32", &vkt__conv_tiled, 32, 32, 16, 4, 4 },
    { "tiled.64", &vkt__conv_tiled, 64, 64, 16, 8, 4 },
    { "matrix.32x32", &vkt__conv_matrix, 32, 32, 32, 16, 16 },
    { "matrix.64x64", &vkt__conv_matrix, 64, 64, 32, 32, 32 },
    { "matrix.64x64.16x16", &vkt__conv_matrix, 64, 64, 32, 16, 16 },
    { "matrix.128x64", &vkt__conv_matrix, 128, 64, 32, 32, 32 },
    { "winograd", &vkt__conv_winograd, 0, 0, 0, 0, 0 },
};
enum { NAIVE = 1 };

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

bool vkt__conv_is_first(uint32_t kernel)
{
    return kernel > 0 && tiles[kernel].family != tiles[kernel - 1].family;
}

bool vkt__conv_is_foreign(uint32_t kernel, const vkt_caps *caps)
{
    const vkt__conv_family *f = tiles[kernel].family;
    return f && f->classes && !vkt__is_of(f->classes, caps);
}

bool vkt__conv_on_units(uint32_t kernel)
{
    return kernel > 0 && kernel < VKT_COUNT(tiles) && tiles[kernel].family->units;
}

uint32_t vkt__conv_stats_rows(uint32_t kernel)
{
    return tiles[kernel].family == &vkt__conv_tiled ? tiles[kernel].rows : 0;
}

/* ---- the table: a class gets the first kernel that fits, if its condition holds ---- */

static uint32_t per_group(const vkt__conv_geometry *q)
{
    return q->co / q->attr->conv.groups;
}

/* Many groups too narrow to fill a vector: one invocation an element. */
static bool has_narrow_groups(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    return q->attr->conv.groups > 1 && per_group(q) < caps->subgroup / 2;
}

/* A filter's depth is seldom a multiple of 64, and what is over costs less only where it has one
 * column. */
static bool is_wide_gradient(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    return q->attr->conv.pass == VKT_CONV_DW && per_group(q) > caps->subgroup;
}

/* Winograd's tiles of 2 x 2 all used, and few channels: pixels are transformed again for each
 * vector of them. Measured: 16 channels, 1.2 to 3.0 times as fast as rows; 64 on 25.0, 1.1 forward
 * and 1.3 for filters' gradients on 16 lanes, 1.8 and 1.9 on 8; pixels of 64 channels 0.92 on Mesa
 * 22: quirk SLOW_LOADS. Not measured: 64 channels on 26.1 and their input's gradient, odd sides
 * but 7 x 7. */
static bool has_whole_tiles(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    bool many = q->co > 2 * caps->subgroup && q->attr->conv.pass != VKT_CONV_DW;
    return q->oh % 2 == 0 && q->ow % 2 == 0 && q->co <= 64 &&
           !(many && !strncmp(caps->driver_info, "Mesa 22.", 8));
}

static bool has_few_channels(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    (void)caps;
    return per_group(q) < 8;
}

static uint64_t n_tiles(const vkt__conv_tile *t, const vkt__conv_geometry *q)
{
    uint64_t rows = q->attr->conv.pass == VKT_CONV_DW ? q->depth : (uint64_t)q->n * q->oh * q->ow;
    return ceil_div(rows, t->rows) * ceil_div(per_group(q), t->columns) * q->attr->conv.groups *
           VKT_MAX(q->attr->conv.slices, 1);
}

/* A filter's gradient has kh kw c rows: few of some. */
static bool has_many_rows(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    (void)caps;
    return per_group(q) >= 48 && (q->attr->conv.pass != VKT_CONV_DW || q->depth >= 256);
}

static bool has_channels(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    (void)caps;
    return per_group(q) >= 48;
}

/* A larger tile where it gives every core of a mid-range device work, on matrix units where they
 * are asked for (not timed against each other on a GPU yet). */
static const struct {
    uint32_t classes;
    const char *kernel;
    bool (*when)(const vkt_caps *caps, const vkt__conv_geometry *q);
    uint32_t least_tiles;
} table[] = {
    { VKT__CPUS, "naive", has_narrow_groups, 0 },
    { VKT__CPUS, "winograd", has_whole_tiles, 0 },
    { VKT__CPUS, "rows.32", is_wide_gradient, 0 },
    { VKT__CPUS, "rows.64", NULL, 0 },
    { VKT__CPUS, "block", NULL, 0 },
    { VKT__GPUS, "naive", has_few_channels, 0 },
    { VKT__UNITS, "matrix.128x64", has_many_rows, 128 },
    { VKT__UNITS, "matrix.64x64", has_channels, 24 },
    { VKT__UNITS, "matrix.64x64.16x16", has_channels, 24 },
    { VKT__UNITS, "matrix.32x32", NULL, 0 },
    { VKT__GPUS, "tiled.64", has_channels, 24 },
    { VKT__GPUS, "tiled.32", NULL, 0 },
    { VKT__DEVICES, "naive", NULL, 0 },
};

/* 0: there is none of this name. */
static uint32_t number_of(const char *name)
{
    uint32_t k = VKT_COUNT(tiles) - 1;
    while (k && strcmp(tiles[k].name, name) != 0) k--;
    return k;
}

bool vkt__conv_fits(uint32_t kernel, const vkt_caps *caps, const vkt__conv_geometry *q)
{
    const vkt__conv_tile *t = &tiles[kernel];
    return !t->family->fits || t->family->fits(t, caps, q);
}

uint32_t vkt__conv_table(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    for (size_t i = 0; i < VKT_COUNT(table); i++) {
        if (!vkt__is_of(table[i].classes, caps)) continue;
        uint32_t kernel = number_of(table[i].kernel);
        VKT_ASSERT(kernel);
        if (!vkt__conv_fits(kernel, caps, q) || (table[i].when && !table[i].when(caps, q)))
            continue;
        if (!table[i].least_tiles || n_tiles(&tiles[kernel], q) >= table[i].least_tiles)
            return kernel;
    }
    VKT_ASSERT(!"the naive kernel fits everywhere");
    return 0;
}

/* ---- what kernels are, tuned choices ---- */

const char *vkt__conv_kernel_name(uint32_t kernel)
{
    return kernel < VKT_COUNT(tiles) ? tiles[kernel].name : NULL;
}

bool vkt__conv_is_candidate(uint32_t kernel, const vkt_caps *caps, const vkt__conv_geometry *q)
{
    const vkt__conv_family *f = tiles[kernel].family;
    bool grouped = q->attr->conv.groups > 1;
    if (!vkt__is_of(f->classes, caps) || !vkt__conv_fits(kernel, caps, q)) return false;
    if (f->grouped_only) return grouped;
    return grouped || !f->better || !vkt__conv_fits(number_of(f->better), caps, q);
}

static uint32_t log2_of(uint64_t n)
{
    uint32_t log = 0;
    while (n >>= 1) log++;
    return log;
}

const char *vkt__conv_key(const vkt__conv_geometry *q, char key[40])
{
    static const char *const names[] = {
        [VKT_CONV_FORWARD] = "conv2d", [VKT_CONV_DX] = "conv2d_dx", [VKT_CONV_DW] = "conv2d_dw"
    };
    const vkt_attr *a = q->attr;
    char stride[24] = "", dilation[24] = ""; /* of columns, where they are others */
    if (a->conv.more_stride) snprintf(stride, sizeof stride, "x%u", vkt__conv_stride_w(a));
    if (a->conv.more_dilation) snprintf(dilation, sizeof dilation, "x%u", vkt__conv_dilation_w(a));
    char text[192];
    int n = snprintf(text, sizeof text, "%s %ux%u/%u%s d%u%s g%u %u %u %u%s",
                     names[q->attr->conv.pass], a->conv.kh, a->conv.kw, a->conv.stride, stride,
                     a->conv.dilation, dilation, a->conv.groups,
                     log2_of((uint64_t)q->n * q->oh * q->ow), log2_of(q->ci), log2_of(per_group(q)),
                     a->conv.multiply == VKT_F32    ? ""
                     : a->conv.multiply == VKT_BF16 ? " bf16"
                                                    : " f16");
    if (n < 40) /* else its beginning, and a hash of all of it */
        memcpy(key, text, (size_t)n + 1);
    else
        snprintf(key, 40, "%.22s#%016llx", text, (unsigned long long)vkt__hash(text, (size_t)n, 0));
    return key;
}

uint32_t vkt__conv_choose(const vkt_gpu *gpu, const vkt__conv_geometry *q)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    uint32_t kernel = q->attr->conv.kernel;
    char key[40];
    if (kernel) return vkt__conv_fits(kernel, caps, q) ? kernel : NAIVE;
    const char *tuned = vkt__choice_get(gpu, vkt__conv_key(q, key));
    kernel = tuned ? number_of(tuned) : 0;
    return kernel && vkt__conv_fits(kernel, caps, q) ? kernel : vkt__conv_table(caps, q);
}

/* ---- launch ---- */

vkt__conv_launch vkt__conv_prepare(uint32_t kernel, const vkt_caps *caps,
                                   const vkt__conv_geometry *q, uint64_t n, uint64_t x, uint64_t w,
                                   uint64_t y)
{
    const vkt__conv_tile *t = &tiles[kernel];
    const vkt_attr *a = q->attr;
    const vkt__conv_job j = { .caps = caps,
                              .q = q,
                              .n = n,
                              .x = x,
                              .w = w,
                              .y = y,
                              .slices = VKT_MAX(a->conv.slices, 1),
                              .per_group = per_group(q) };
    vkt__conv_launch l = {
        .shader = q->attr->conv.pass == VKT_CONV_DW ? t->family->dw_shader : t->family->shader,
        .spec = { [VKT__CONV_WORKGROUP] = { VKT_SPEC_WORKGROUP, VKT_MIN(caps->workgroup, 64) },
                  { VKT_SPEC_ACT, (uint32_t)a->conv.act },
                  { VKT_SPEC_TRANSPOSED, q->attr->conv.pass == VKT_CONV_DX },
                  { VKT_SPEC_STRIDE, a->conv.stride },
                  { VKT_SPEC_STRIDE_W, vkt__conv_stride_w(a) } },
        .n_spec = 5
    };
    t->family->launch(t, &j, &l);
    return l;
}

/* ---- positions ---- */

uint32_t vkt__window_count(uint32_t extent, uint32_t taps, uint32_t stride, uint32_t pad,
                           uint32_t dilation)
{
    uint64_t reach = (uint64_t)dilation * (taps - 1) + 1, padded = (uint64_t)extent + 2ull * pad;
    return padded < reach ? 0 : (uint32_t)((padded - reach) / stride + 1);
}

uint32_t vkt__conv_positions(const vkt_attr *a, bool columns, uint32_t extent, uint32_t taps)
{
    uint64_t padded = (uint64_t)extent + (columns ? vkt__conv_pad(a, VKT__LEFT) : a->conv.pad) +
                      vkt__conv_pad(a, columns ? VKT__RIGHT : VKT__BOTTOM);
    if (padded > INT32_MAX) return 0;
    return vkt__window_count((uint32_t)padded, taps,
                             columns ? vkt__conv_stride_w(a) : a->conv.stride, 0,
                             columns ? vkt__conv_dilation_w(a) : a->conv.dilation);
}

/* ---- slices ---- */

/* Enough workgroups for a device's cores, whose number must not change from run to run, or results
 * would (as vkt__cores); and never more pixels in a slice than loops may have trips on CPU
 * drivers (quirk LOOP_TRIPS), where each may be a line of its own. */
uint32_t vkt__conv_slices(const vkt_gpu *gpu, const vkt_tensor *x, const vkt_tensor *dy,
                          const vkt_attr *attr)
{
    enum { TILE_K = 32, TILE_N = 64, MOST_TRIPS = 30000 };
    const uint32_t *d = dy->shape.d;
    uint64_t lines = (uint64_t)d[0] * d[1], groups = attr->conv.groups,
             depth = (uint64_t)attr->conv.kh * attr->conv.kw * (x->shape.d[3] / groups),
             tiles_of_one = ceil_div(depth, TILE_K) * ceil_div(d[3] / groups, TILE_N) * groups,
             want = 32;
    if (!gpu || lines == 0) return 1;
    vkt_attr a = *attr;
    a.conv.pass = VKT_CONV_DW;
    const uint32_t *from = x->shape.d;
    const vkt__conv_geometry q = { .attr = &a,
                                   .n = d[0],
                                   .h = from[1],
                                   .w = from[2],
                                   .c = from[3],
                                   .oh = d[1],
                                   .ow = d[2],
                                   .co = d[3],
                                   .ci = from[3] / a.conv.groups,
                                   .depth = (uint32_t)depth };
    const vkt__conv_family *f = tiles[vkt__conv_choose(gpu, &q)].family;
    if (f->dw_tiles) tiles_of_one = f->dw_tiles(vkt_gpu_caps(gpu), &q);
    tiles_of_one = VKT_MAX(tiles_of_one, 1); /* there may be no channels */
    if (vkt_gpu_caps(gpu)->klass != VKT_GPU_CLASS_CPU) want = 8 * vkt__cores(vkt_gpu_caps(gpu));
    uint64_t slices = VKT_MAX(tiles_of_one < want ? ceil_div(want, tiles_of_one) : 1,
                              ceil_div(lines * d[2], MOST_TRIPS)),
             each = ceil_div(lines, VKT_MIN(slices, lines));
    return (uint32_t)ceil_div(lines, each); /* none of them empty */
}

uint32_t vkt__conv_slice(const vkt__conv_geometry *q, uint32_t slices)
{
    return (uint32_t)ceil_div((uint64_t)q->n * q->oh, VKT_MAX(slices, 1));
}
