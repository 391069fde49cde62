/* Matmul families shaped for CPU drivers, where a workgroup is one subgroup: rows of a tile in
 * registers (matmul_rows.comp, with single numbers and in pairs), a single row (matmul_row.comp),
 * and what runs without 64-bit integers (matmul_block.comp). */
#include "tensor/graph/workgroup.h"
#include "tensor/kernels/matmul_family.h"

/* ---- rows, pairs ---- */

static bool fits_rows(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    bool in_pairs = vkt__mm_row_a(p) % 2 == 0 && vkt__mm_row_b(p) % 2 == 0 &&
                    (caps->int64 || vkt__mm_is_16bit(p));
    return (t->family->width == 1 || in_pairs) && caps->subgroup_arith && caps->subgroup >= 4;
}

/* A row tile no taller than the matrix needs: unused rows are computed too. */
static uint32_t rows_needed(uint32_t most, uint32_t M)
{
    uint32_t rows = most;
    while (rows >= 2 && rows / 2 >= M) rows /= 2;
    return rows;
}

/* A rest of the steps is code of its own, as long to compile as half of all without it. A product
 * of few steps, as a classifier's gradient is, takes fewer at a time where these leave none. */
static uint32_t steps_that_divide(uint32_t most, uint32_t width, uint32_t K)
{
    enum { FEW = 32 };
    uint32_t steps = most;
    while (K <= FEW && steps > width && K % steps) steps /= 2;
    return K % steps ? most : steps;
}

/* thread_columns becomes columns per lane. */
static vkt__mm_tile tile_rows(vkt__mm_tile t, const vkt_caps *caps, const vkt__product *p)
{
    uint32_t width = t.family->width;
    t.rows = rows_needed(t.rows, p->M);
    t.thread_rows = VKT_MIN(t.thread_rows, t.rows);
    t.thread_columns = p->N <= width * caps->subgroup ? width : t.columns;
    t.columns = t.thread_columns * caps->subgroup;
    t.steps = steps_that_divide(t.steps, width, p->K);
    return t;
}

/* A loop over the rows compiles in a third of the time with 8 lanes, in a fifth with 16; with 4,
 * the ends are few. Mesa 26 with 8 lanes fails in it, and 22 has not been tried. */
static bool ends_in_loop(const vkt_caps *caps)
{
    return caps->subgroup > 8 || (caps->subgroup == 8 && strstr(caps->driver_info, "Mesa 25."));
}

static void launch_rows(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    const vkt_caps *caps = j->caps;
    const vkt__constant tile[] = {
        { VKT_SPEC_SHUFFLE, caps->subgroup <= 8 }, { VKT_SPEC_ROWS, t->rows },
        { VKT_SPEC_COLUMNS, t->thread_columns },   { VKT_SPEC_STEPS, t->steps },
        { VKT_SPEC_SHARING, t->thread_rows },      { VKT_SPEC_REST, j->p->K % t->steps },
        { VKT_SPEC_ENDS_LOOP, ends_in_loop(caps) }
    };
    l->spec[VKT__MM_WORKGROUP].value = caps->subgroup;
    /* Of another class, too, where a test names the kernel: quirk SINGLE_STORES. */
    if (!vkt__mm_is_16bit(j->p))
        l->spec[VKT__MM_C_PAIRS].value = vkt__stores_pairs(caps) && j->p->N % 2 == 0;
    vkt__mm_add(l, tile, VKT_COUNT(tile));
}

const vkt__mm_family vkt__mm_rows = { .shader = VKT_SHADER_MATMUL_ROWS,
                                      .classes = VKT__CPUS,
                                      .better = "pairs.32x4",
                                      .width = 1,
                                      .cut_for_caches = true,
                                      .fits = fits_rows,
                                      .tile = tile_rows,
                                      .launch = launch_rows };
const vkt__mm_family vkt__mm_pairs = { .shader = VKT_SHADER_MATMUL_ROWS_WIDE,
                                       .half = VKT_SHADER_MATMUL_ROWS_HALF,
                                       .classes = VKT__CPUS,
                                       .width = 2,
                                       .cut_for_caches = true,
                                       .fits = fits_rows,
                                       .tile = tile_rows,
                                       .launch = launch_rows };

/* ---- row ---- */

/* Pairs along both rows, and bytes. */
static bool fits_row(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    (void)t;
    return caps->int64 && caps->storage8 && caps->subgroup_arith && caps->subgroup >= 4 &&
           p->M == 1 && p->layout != VKT_LAYOUT_TN && p->batch == 0 && p->K % 2 == 0 &&
           (p->layout == VKT_LAYOUT_NT || p->N % 2 == 0);
}

static vkt__mm_tile tile_row(vkt__mm_tile t, const vkt_caps *caps, const vkt__product *p)
{
    enum { FEW = 8 }; /* tiles: for all cores */
    if (p->N < FEW * t.columns * caps->subgroup) t.columns /= 2, t.steps *= 2;
    t.columns *= caps->subgroup;
    return t;
}

static void launch_row(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    const vkt_caps *caps = j->caps;
    const vkt__constant tile[] = { { VKT_SPEC_SHUFFLE, caps->subgroup <= 8 },
                                   { VKT_SPEC_COLUMNS, t->columns / caps->subgroup },
                                   { VKT_SPEC_STEPS, t->steps } };
    l->spec[VKT__MM_WORKGROUP].value = caps->subgroup;
    l->spec[VKT__MM_C_PAIRS].value = vkt__stores_pairs(caps) && j->p->N % 2 == 0;
    vkt__mm_add(l, tile, VKT_COUNT(tile));
}

const vkt__mm_family vkt__mm_row = { .shader = VKT_SHADER_MATMUL_ROW,
                                     .classes = VKT__CPUS,
                                     .width = 1,
                                     .fits = fits_row,
                                     .tile = tile_row,
                                     .launch = launch_row };

/* ---- block ---- */

static vkt__mm_tile tile_block(vkt__mm_tile t, const vkt_caps *caps, const vkt__product *p)
{
    (void)p;
    t.columns *= caps->subgroup;
    return t;
}

static void launch_block(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    (void)t;
    l->spec[VKT__MM_WORKGROUP].value = j->caps->subgroup;
}

const vkt__mm_family vkt__mm_block = { .shader = VKT_SHADER_MATMUL_BLOCK,
                                       .classes = VKT__CPUS,
                                       .width = 1,
                                       .tile = tile_block,
                                       .launch = launch_block };
