/* The families of convolution kernels: one invocation an element (conv_naive.comp), blocks and rows
 * of a subgroup's lanes for CPU drivers (conv_block.comp, conv_rows.comp, conv_winograd.comp),
 * tiles through shared memory for GPUs (conv_tiled.comp), for their matrix units
 * (conv_matrix.comp). */
#include "tensor/graph/workgroup.h"
#include "tensor/kernels/conv_family.h"
#include "tensor/kernels/matmul_family.h"

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static void add(vkt__conv_launch *l, const vkt__constant *spec, uint32_t n)
{
    memcpy(l->spec + l->n_spec, spec, n * sizeof *spec);
    l->n_spec += n;
}

/* Workgroups of `tall` pixels, or of k, by `wide` channels; of a transpose over strides a phase of
 * pixels for each place between two. */
static uint64_t pixel_tiles(const vkt__conv_job *j, uint32_t tall, uint32_t wide)
{
    const vkt__conv_geometry *q = j->q;
    bool transposed = q->attr->conv.pass == VKT_CONV_DX;
    uint32_t stride = transposed ? q->attr->conv.stride : 1,
             across = transposed ? vkt__conv_stride_w(q->attr) : 1;
    uint64_t pixels = (uint64_t)q->n * ceil_div(q->oh, stride) * ceil_div(q->ow, across);
    return ceil_div(pixels, tall) * ceil_div(j->per_group, wide) * q->attr->conv.groups * stride *
           across;
}

static uint64_t depth_tiles(const vkt__conv_job *j, uint32_t tall, uint32_t wide)
{
    return ceil_div(j->q->depth, tall) * ceil_div(j->per_group, wide) * j->q->attr->conv.groups *
           j->slices;
}

/* ---- naive ---- */

static void launch_naive(const vkt__conv_tile *t, const vkt__conv_job *j, vkt__conv_launch *l)
{
    (void)t;
    l->groups = ceil_div(j->n, l->spec[VKT__CONV_WORKGROUP].value);
}

const vkt__conv_family vkt__conv_naive = { .shader = VKT_SHADER_CONV_NAIVE,
                                           .dw_shader = VKT_SHADER_CONV_DW_NAIVE,
                                           .classes = VKT__DEVICES,
                                           .grouped_only = true,
                                           .launch = launch_naive };

/* ---- block ---- */

static void launch_block(const vkt__conv_tile *t, const vkt__conv_job *j, vkt__conv_launch *l)
{
    const vkt_attr *a = j->q->attr;
    uint32_t wide = t->columns * j->caps->subgroup;
    l->spec[VKT__CONV_WORKGROUP].value = j->caps->subgroup;
    l->groups = j->q->attr->conv.pass == VKT_CONV_DW
                    ? ceil_div(j->q->ci, t->rows) * a->conv.kh * a->conv.kw *
                          ceil_div(j->per_group, wide) * a->conv.groups * j->slices
                    : pixel_tiles(j, t->rows, wide);
}

const vkt__conv_family vkt__conv_block = { .shader = VKT_SHADER_CONV_BLOCK,
                                           .dw_shader = VKT_SHADER_CONV_DW_BLOCK,
                                           .classes = VKT__CPUS,
                                           .better = "rows.64",
                                           .launch = launch_block };

/* ---- rows ---- */

/* No more trips than loops may have: quirk LOOP_TRIPS. */
static bool fits_rows(const vkt__conv_tile *t, const vkt_caps *caps, const vkt__conv_geometry *q)
{
    (void)t;
    return caps->int64 && caps->subgroup_arith && caps->subgroup >= 4 && q->depth < 30000;
}

/* Columns a lane where there are many, sums that share registers; by time on lavapipe 25.0 with 16
 * lanes; quirk TALL_TILES. */
enum { SHARING = 8 };

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

/* A tile no taller than there are rows: unused ones are computed too. */
static uint32_t rows_needed(uint32_t rows, uint32_t most, uint32_t sharing)
{
    return rows >= most ? most : (uint32_t)vkt__align(VKT_MAX(rows, 1), sharing);
}

static void launch_rows(const vkt__conv_tile *t, const vkt__conv_job *j, vkt__conv_launch *l)
{
    const vkt__conv_geometry *q = j->q;
    const vkt_attr *a = q->attr;
    bool dw = q->attr->conv.pass == VKT_CONV_DW,
         side_by_side = q->attr->conv.pass == VKT_CONV_FORWARD && vkt__conv_dilation_w(a) == 1 &&
                        a->conv.groups == 1;
    uint32_t lanes = j->caps->subgroup,
             width = j->per_group % 2 == 0 && j->per_group > lanes ? 2 : 1,
             columns = j->per_group <= width * lanes ? width : t->columns,
             x_width = q->ci % 2 == 0 ? 2 : 1, sharing = SHARING / columns,
             steps = dw ? steps_of(q->ow, 1)
                        : steps_of(side_by_side ? a->conv.kw * q->ci : q->ci, x_width),
             rows = rows_needed(dw ? q->depth : q->n * q->oh * q->ow, t->rows, sharing);
    const vkt__constant spec[] = { { VKT_SPEC_SHUFFLE, lanes <= 8 }, { VKT_SPEC_ROWS, rows },
                                   { VKT_SPEC_COLUMNS, columns },    { VKT_SPEC_X_WIDTH, x_width },
                                   { VKT_SPEC_WIDTH, width },        { VKT_SPEC_STEPS, steps },
                                   { VKT_SPEC_SHARING, sharing } };
    l->spec[VKT__CONV_WORKGROUP].value = lanes;
    add(l, spec, VKT_COUNT(spec));
    l->groups = (dw ? depth_tiles : pixel_tiles)(j, rows, columns * lanes);
}

const vkt__conv_family vkt__conv_rows = { .shader = VKT_SHADER_CONV_ROWS_PAIRS,
                                          .dw_shader = VKT_SHADER_CONV_DW_ROWS_PAIRS,
                                          .classes = VKT__CPUS,
                                          .fits = fits_rows,
                                          .launch = launch_rows };

/* ---- winograd ---- */

/* Columns a lane: 256 sums in all on 8 and 16 lanes. 512 take Mesa's compiler a minute and more. */
static uint32_t winograd_columns(const vkt_caps *caps, uint32_t co)
{
    return caps->subgroup <= 8 && co % 2 == 0 && co > caps->subgroup ? 2 : 1;
}

static uint64_t winograd_dw_tiles(const vkt_caps *caps, const vkt__conv_geometry *q)
{
    return ceil_div(q->ci, caps->subgroup) *
           ceil_div(q->co, winograd_columns(caps, q->co) * caps->subgroup);
}

static uint64_t winograd_tiles(const vkt__conv_geometry *q)
{
    return q->n * ceil_div(q->oh, 2) * ceil_div(q->ow, 2);
}

/* For CPU drivers alone: a lane of a GPU has no room for 256 sums. Tiles and workgroups are counted
 * in floats, as channels are: conv.glsl's div_small. */
static bool fits_winograd(const vkt__conv_tile *t, const vkt_caps *caps,
                          const vkt__conv_geometry *q)
{
    const vkt_attr *a = q->attr;
    return caps->klass == VKT_GPU_CLASS_CPU && fits_rows(t, caps, q) && a->conv.kh == 3 &&
           a->conv.kw == 3 && a->conv.stride == 1 && vkt__conv_stride_w(a) == 1 &&
           a->conv.dilation == 1 && vkt__conv_dilation_w(a) == 1 && a->conv.groups == 1 &&
           q->ci % 2 == 0 &&
           winograd_tiles(q) * ceil_div(q->co, caps->subgroup) < VKT__CONV_DEPTH_MAX;
}

static void launch_winograd(const vkt__conv_tile *t, const vkt__conv_job *j, vkt__conv_launch *l)
{
    (void)t;
    const vkt__conv_geometry *q = j->q;
    uint32_t lanes = j->caps->subgroup, columns = winograd_columns(j->caps, q->co);
    const vkt__constant spec[] = {
        { VKT_SPEC_SHUFFLE, lanes <= 8 }, { VKT_SPEC_ROWS, lanes },
        { VKT_SPEC_COLUMNS, columns },    { VKT_SPEC_X_WIDTH, 2 },
        { VKT_SPEC_WIDTH, columns },      { VKT_SPEC_SHARING, VKT_MIN(SHARING / columns, lanes) }
    };
    l->spec[VKT__CONV_WORKGROUP].value = lanes;
    add(l, spec, VKT_COUNT(spec));
    l->groups = q->attr->conv.pass == VKT_CONV_DW
                    ? winograd_dw_tiles(j->caps, q) * j->slices
                    : ceil_div(winograd_tiles(q), lanes) * ceil_div(q->co, columns * lanes);
}

const vkt__conv_family vkt__conv_winograd = { .shader = VKT_SHADER_CONV_WINOGRAD_PAIRS,
                                              .dw_shader = VKT_SHADER_CONV_DW_WINOGRAD_PAIRS,
                                              .classes = VKT__CPUS,
                                              .fits = fits_winograd,
                                              .dw_tiles = winograd_dw_tiles,
                                              .launch = launch_winograd };

/* ---- tiled ---- */

static uint32_t threads_of(const vkt__conv_tile *t)
{
    return t->rows / t->thread_rows * (t->columns / t->thread_columns);
}

static bool fits_tiled(const vkt__conv_tile *t, const vkt_caps *caps, const vkt__conv_geometry *q)
{
    (void)q;
    return threads_of(t) <= caps->workgroup &&
           t->steps * (t->rows + t->columns + 8) * 4 <= caps->shared_bytes;
}

static void launch_tiled(const vkt__conv_tile *t, const vkt__conv_job *j, vkt__conv_launch *l)
{
    const vkt__conv_geometry *q = j->q;
    bool dw = q->attr->conv.pass == VKT_CONV_DW;
    const vkt__constant spec[] = { { VKT_SPEC_LANES,
                                     vkt__lanes(j->caps, threads_of(t), VKT__MANY) },
                                   { VKT_SPEC_DW, dw },
                                   { VKT_SPEC_BM, t->rows },
                                   { VKT_SPEC_BN, t->columns },
                                   { VKT_SPEC_BK, t->steps },
                                   { VKT_SPEC_TM, t->thread_rows },
                                   { VKT_SPEC_TN, t->thread_columns },
                                   { VKT_SPEC_ROLLED, j->caps->klass == VKT_GPU_CLASS_INTEL },
                                   { VKT_SPEC_VEC_X, q->ci % 4 == 0 && j->x % 16 == 0 },
                                   { VKT_SPEC_VEC_W, j->per_group % 4 == 0 && j->w % 16 == 0 },
                                   { VKT_SPEC_C_FOURS, j->per_group % 4 == 0 && j->y % 16 == 0 },
                                   { VKT_SPEC_STATS, q->attr->conv.stats != 0 } };
    l->spec[VKT__CONV_WORKGROUP].value = threads_of(t);
    add(l, spec, VKT_COUNT(spec));
    l->groups = (dw ? depth_tiles : pixel_tiles)(j, t->rows, t->columns);
}

const vkt__conv_family vkt__conv_tiled = { .shader = VKT_SHADER_CONV_TILED,
                                           .dw_shader = VKT_SHADER_CONV_TILED,
                                           .classes = VKT__GPUS,
                                           .fits = fits_tiled,
                                           .launch = launch_tiled };

/* ---- matrix ---- */

/* As a product: what it multiplies, what lies along k. Its extents aren't looked at. */
static vkt__product product_of(const vkt__conv_geometry *q)
{
    bool dw = q->attr->conv.pass == VKT_CONV_DW;
    return (vkt__product) { .layout = dw ? VKT_LAYOUT_TN : VKT_LAYOUT_NN,
                            .in = q->attr->conv.multiply,
                            .out = VKT_F32 };
}

static vkt__mm_tile mm_tile(const vkt__conv_tile *t)
{
    return (vkt__mm_tile) { .name = t->name,
                            .rows = t->rows,
                            .columns = t->columns,
                            .steps = t->steps,
                            .thread_rows = t->thread_rows,
                            .thread_columns = t->thread_columns };
}

/* Intel before Xe2, whose subgroups may have 8 lanes: half as many registers, and it spills. */
static bool fits_matrix(const vkt__conv_tile *t, const vkt_caps *caps, const vkt__conv_geometry *q)
{
    const vkt__mm_tile tile = mm_tile(t);
    const vkt__product p = product_of(q);
    bool has_registers = caps->klass != VKT_GPU_CLASS_INTEL || caps->subgroup_min >= 16;
    return p.in != VKT_F32 && q->attr->conv.groups == 1 && has_registers &&
           vkt__mm_units_fit(&tile, caps, &p);
}

static void launch_matrix(const vkt__conv_tile *t, const vkt__conv_job *j, vkt__conv_launch *l)
{
    const vkt__conv_geometry *q = j->q;
    bool dw = q->attr->conv.pass == VKT_CONV_DW;
    const vkt__mm_tile tile = mm_tile(t);
    const vkt__product p = product_of(q);
    vkt__constant units[VKT__MM_UNITS_SPEC];
    const vkt__constant spec[] = { { VKT_SPEC_LAYOUT, p.layout },
                                   { VKT_SPEC_DW, dw },
                                   { VKT_SPEC_VEC_X, q->ci % 4 == 0 && j->x % 16 == 0 },
                                   { VKT_SPEC_VEC_W, j->per_group % 4 == 0 && j->w % 16 == 0 },
                                   { VKT_SPEC_C_FOURS, j->per_group % 4 == 0 && j->y % 16 == 0 } };
    l->shader = p.in == VKT_BF16 ? VKT_SHADER_CONV_MATRIX_BFLOAT16 : VKT_SHADER_CONV_MATRIX_FLOAT16;
    l->spec[VKT__CONV_WORKGROUP].value = vkt__mm_units_spec(&tile, j->caps, &p, units);
    add(l, units, VKT_COUNT(units));
    add(l, spec, VKT_COUNT(spec));
    l->groups = (dw ? depth_tiles : pixel_tiles)(j, t->rows, t->columns);
}

/* Which of its two shaders it is, the launch decides. */
const vkt__conv_family vkt__conv_matrix = { .shader = VKT_SHADER_CONV_MATRIX_FLOAT16,
                                            .dw_shader = VKT_SHADER_CONV_MATRIX_FLOAT16,
                                            .classes = VKT__GPUS,
                                            .units = true,
                                            .fits = fits_matrix,
                                            .launch = launch_matrix };
