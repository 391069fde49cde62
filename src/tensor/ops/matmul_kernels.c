/* The matmul kernels: what each needs, which one a device's class gets at a shape, and how it is
 * launched. Knows products, not graphs. */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/workgroup.h"
#include "tensor/ops/matmul.h"

enum {
    MM_CHOOSE,
    MM_NAIVE,
    MM_ROWS,
    MM_BLOCK = 4,
    MM_PAIRS,
    MM_PAIRS_TALL = 8,
    MM_ROW,
    MM_TILED,
    MM_VEC = 19,
    MM_MATRIX,
    MM_SPLIT = 23,
    MM_COUNT = 26
};

/* Which shader, for operands of 32 and of 16 bits (NONE: none). rows, columns: what a workgroup
 * computes, columns per lane on CPU drivers. steps: of k at a time. thread_rows, thread_columns: a
 * thread's share of a tile, on matrix units a subgroup's; in matmul_rows thread_rows share
 * registers. Numbers of kernels are for tests only; what is kept, and read, is the name. */
typedef struct {
    const char *name;
    vkt__shader shader, shader16;
    uint32_t rows, columns, steps, thread_rows, thread_columns;
} mm_kernel;
static const mm_kernel kernels[MM_COUNT] = {
    [MM_NAIVE] = { "naive", VKT_SHADER_MATMUL_NAIVE, VKT_SHADER_MATMUL_NAIVE_HALF, 0, 0, 0, 0, 0 },
    [MM_ROWS] = { "rows.32x4", VKT_SHADER_MATMUL_ROWS, VKT_SHADER_NONE, 32, 4, 4, 4, 0 },
    { "rows.16x2", VKT_SHADER_MATMUL_ROWS, VKT_SHADER_NONE, 16, 2, 4, 4, 0 },
    [MM_BLOCK] = { "block", VKT_SHADER_MATMUL_BLOCK, VKT_SHADER_NONE, 8, 4, 0, 0, 0 },
    [MM_PAIRS] = { "pairs.32x4", VKT_SHADER_MATMUL_ROWS_WIDE, VKT_SHADER_MATMUL_ROWS_HALF, 32, 4, 4,
                   4, 0 },
    { "pairs.16x4", VKT_SHADER_MATMUL_ROWS_WIDE, VKT_SHADER_MATMUL_ROWS_HALF, 16, 4, 4, 4, 0 },
    { "pairs.64x2", VKT_SHADER_MATMUL_ROWS_WIDE, VKT_SHADER_MATMUL_ROWS_HALF, 64, 2, 4, 4, 0 },
    [MM_PAIRS_TALL] = { "pairs.64x4", VKT_SHADER_MATMUL_ROWS_WIDE, VKT_SHADER_MATMUL_ROWS_HALF, 64,
                        4, 4, 4, 0 },
    [MM_ROW] = { "row", VKT_SHADER_MATMUL_ROW, VKT_SHADER_NONE, 1, 8, 2, 0, 0 },
    [MM_TILED] = { "tiled.32x32", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 32, 32, 16,
                   4, 4 },
    { "tiled.32x64", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 32, 64, 16, 4, 4 },
    { "tiled.64x32", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 64, 32, 16, 4, 4 },
    { "tiled.64x64", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 64, 64, 16, 8, 4 },
    { "tiled.64x64.4x4", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 64, 64, 16, 4, 4 },
    { "tiled.64x128", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 64, 128, 16, 8, 4 },
    { "tiled.128x64", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 128, 64, 16, 8, 4 },
    { "tiled.128x128", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 128, 128, 16, 8, 8 },
    { "tiled.128x128x8", VKT_SHADER_MATMUL_TILED, VKT_SHADER_MATMUL_TILED_HALF, 128, 128, 8, 8, 8 },
    [MM_VEC] = { "vec", VKT_SHADER_MATMUL_VEC, VKT_SHADER_NONE, 1, 0, 0, 0, 0 },
    [MM_MATRIX] = { "matrix.32x32", VKT_SHADER_NONE, VKT_SHADER_MATMUL_COOPMAT_FLOAT16, 32, 32, 32,
                    16, 16 },
    { "matrix.64x64", VKT_SHADER_NONE, VKT_SHADER_MATMUL_COOPMAT_FLOAT16, 64, 64, 32, 32, 32 },
    { "matrix.128x128", VKT_SHADER_NONE, VKT_SHADER_MATMUL_COOPMAT_FLOAT16, 128, 128, 32, 64, 64 },
    [MM_SPLIT] = { "split.32x32", VKT_SHADER_MATMUL_SPLIT_FLOAT16, VKT_SHADER_NONE, 32, 32, 16, 16,
                   16 },
    { "split.64x64", VKT_SHADER_MATMUL_SPLIT_FLOAT16, VKT_SHADER_NONE, 64, 64, 16, 32, 32 },
    { "split.128x128", VKT_SHADER_MATMUL_SPLIT_FLOAT16, VKT_SHADER_NONE, 128, 128, 16, 64, 32 },
};
enum { MM_TILED_64 = MM_TILED + 3, MM_TILED_128 = MM_TILED + 7 };

static bool is_rows(uint32_t kernel)
{
    return kernel >= MM_ROWS && kernel < MM_ROW && kernel != MM_BLOCK;
}

/* Numbers that matmul_rows loads at once. */
static uint32_t width_of(uint32_t kernel)
{
    return kernel >= MM_PAIRS ? 2 : 1;
}

/* Threads, on matrix units subgroups. */
static uint32_t threads_of(const mm_kernel *k)
{
    return k->rows / k->thread_rows * (k->columns / k->thread_columns);
}

/* Length of A's and of B's rows in memory. */
static uint32_t row_a(const vkt__product *p)
{
    return p->layout == VKT_TN ? p->M : p->K;
}

static uint32_t row_b(const vkt__product *p)
{
    return p->layout == VKT_NT ? p->K : p->N;
}

static bool is_16bit(const vkt__product *p)
{
    return p->in != VKT_F32;
}

/* Of sums that a subgroup keeps in registers: 128 numbers a lane where 32 lanes hold 16 x 16; half
 * of that beside the pieces of split operands. */
enum { MOST_FRAGMENTS = 16, MOST_FRAGMENTS_SPLIT = 8 };

/* What a kernel on matrix units multiplies: 16-bit operands as they are; pieces of f32 ones, in
 * bf16, which has their range, else in fp16 where tests allow it. */
static vkt_dtype multiplied(const vkt_caps *caps, const vkt__product *p)
{
    if (is_16bit(p)) return p->in;
    return !caps->coopmat_bf16[0] && !caps->exact_split ? VKT_F16 : VKT_BF16;
}

static vkt__shader matrix_shader(const vkt_caps *caps, const vkt__product *p)
{
    bool bf16 = multiplied(caps, p) == VKT_BF16;
    if (is_16bit(p))
        return bf16 ? VKT_SHADER_MATMUL_COOPMAT_BFLOAT16 : VKT_SHADER_MATMUL_COOPMAT_FLOAT16;
    return bf16 ? VKT_SHADER_MATMUL_SPLIT_BFLOAT16 : VKT_SHADER_MATMUL_SPLIT_FLOAT16;
}

static const uint32_t *fragment_of(const vkt_caps *caps, const vkt__product *p)
{
    return multiplied(caps, p) == VKT_BF16 ? caps->coopmat_bf16 : caps->coopmat_f16;
}

static bool has_matrix_units(const vkt_caps *caps, const vkt__product *p)
{
    return caps->coopmat && fragment_of(caps, p)[0] && vkt__kernel_built(matrix_shader(caps, p));
}

bool vkt__matmul_can_split(const vkt_caps *caps)
{
    return has_matrix_units(caps, &(vkt__product) { .in = VKT_F32 });
}

bool vkt__matmul_splits(uint32_t kernel)
{
    return kernel >= MM_SPLIT && kernel < MM_COUNT;
}

double vkt__matmul_terms(uint32_t kernel, uint32_t K)
{
    double root = sqrt(K) + 2;
    return vkt__matmul_splits(kernel) ? root * root : K;
}

/* The device's fragments divide a subgroup's share, whole subgroups the workgroup; 128-bit vectors
 * of a tile and a vector of padding a row fit shared memory, of f32 operands three times. */
static bool fits_matrix(const mm_kernel *k, const vkt_caps *caps, const vkt__product *p)
{
    const uint32_t *f = fragment_of(caps, p), pieces = is_16bit(p) ? 1 : 3;
    if (!has_matrix_units(caps, p)) return false;
    uint32_t a = p->layout == VKT_TN ? k->steps * (k->rows + 8) : k->rows * (k->steps + 8),
             b = p->layout == VKT_NT ? k->columns * (k->steps + 8) : k->steps * (k->columns + 8);
    bool fixed = caps->subgroup_control || caps->subgroup_min == caps->subgroup_max,
         whole_words = !is_16bit(p) || (row_a(p) % 2 == 0 && row_b(p) % 2 == 0);
    uint32_t fragments = k->thread_rows / f[0] * (k->thread_columns / f[1]),
             most = is_16bit(p) ? MOST_FRAGMENTS : MOST_FRAGMENTS_SPLIT;
    return fixed && whole_words && fragments <= most && k->thread_rows % f[0] == 0 &&
           k->thread_columns % f[1] == 0 && k->steps % f[2] == 0 &&
           threads_of(k) * caps->subgroup <= caps->workgroup &&
           2 * pieces * (a + b) + 4 * threads_of(k) * f[0] * f[1] <= caps->shared_bytes;
}

bool vkt__matmul_fits(uint32_t kernel, const vkt_caps *caps, const vkt__product *p)
{
    const mm_kernel *k = &kernels[kernel];
    /* Words of two 16-bit numbers are stored whole: only the naive kernel has them cross rows. */
    if (kernel >= MM_MATRIX &&
        (is_16bit(p) == vkt__matmul_splits(kernel) || !fits_matrix(k, caps, p)))
        return false;
    if (kernel >= MM_MATRIX && p->out != VKT_F32 && p->N % 2) return false;
    if (kernel >= MM_MATRIX) return true;
    if (is_16bit(p) && (!k->shader16 || (kernel != MM_NAIVE && p->out != VKT_F32 && p->N % 2)))
        return false;
    if (is_rows(kernel)) {
        if (width_of(kernel) == 2 &&
            (row_a(p) % 2 || row_b(p) % 2 || !(caps->int64 || is_16bit(p))))
            return false;
        return caps->subgroup_arith && caps->subgroup >= 4;
    }
    if (kernel == MM_ROW) /* pairs along both rows, and bytes */
        return !is_16bit(p) && caps->int64 && caps->storage8 && caps->subgroup_arith &&
               caps->subgroup >= 4 && p->M == 1 && p->layout != VKT_TN && p->batch == 0 &&
               p->K % 2 == 0 && (p->layout == VKT_NT || p->N % 2 == 0);
    if (kernel < MM_TILED) return true;
    if (kernel == MM_VEC)
        return !is_16bit(p) && p->M == 1 && p->layout != VKT_TN && p->batch == 0 &&
               caps->workgroup >= 32;
    /* No idle lanes: whole subgroups, of whatever size they are here. */
    return threads_of(k) <= caps->workgroup && threads_of(k) % VKT_MIN(caps->subgroup, 64) == 0 &&
           k->steps * (k->rows + k->columns + 8) * 4 <= caps->shared_bytes;
}

static uint64_t tiles(const mm_kernel *k, const vkt__product *p)
{
    return (uint64_t)((p->M + k->rows - 1) / k->rows) * ((p->N + k->columns - 1) / k->columns);
}

/* Mesa's CPU driver at 16 lanes: a tile of 64 rows loads a third less for a product than one of 32,
 * a quarter of its time; it takes twice as long to compile. Rows past the last are computed too: at
 * most an eighth. */
static bool prefers_tall(const vkt_caps *caps, const vkt__product *p)
{
    return caps->subgroup >= 16 && !is_16bit(p) && vkt__align(p->M, 64) - p->M <= p->M / 8 &&
           vkt__matmul_fits(MM_PAIRS_TALL, caps, p);
}

/* CPU drivers: pairs of floats where the shape allows, single floats where not; Mesa's only, which
 * is what 64-bit integers tell here: SwiftShader has none. GPUs: what reads B once for one row,
 * the largest tile that still gives every core of a mid-range device work for more (both
 * unmeasured: no GPU has run this yet); 128 x 128 needs NVIDIA's register file (KERNELS.md, 4.2).
 */
uint32_t vkt__matmul_table(const vkt_caps *caps, const vkt__product *p)
{
    if (caps->klass == VKT_CLASS_CPU) {
        if (vkt__matmul_fits(MM_ROW, caps, p)) return MM_ROW;
        if (prefers_tall(caps, p)) return MM_PAIRS_TALL;
        if (vkt__matmul_fits(MM_PAIRS, caps, p)) return MM_PAIRS;
        if (is_16bit(p)) return MM_NAIVE;
        return caps->int64 && vkt__matmul_fits(MM_ROWS, caps, p) ? MM_ROWS : MM_BLOCK;
    }
    if (vkt__matmul_fits(MM_VEC, caps, p)) return MM_VEC;
    if (caps->klass == VKT_CLASS_NVIDIA && vkt__matmul_fits(MM_TILED_128, caps, p) &&
        tiles(&kernels[MM_TILED_128], p) * VKT_MAX(p->batch, 1) >= 64)
        return MM_TILED_128;
    if (vkt__matmul_fits(MM_TILED_64, caps, p) &&
        tiles(&kernels[MM_TILED_64], p) * VKT_MAX(p->batch, 1) >= 24)
        return MM_TILED_64;
    return vkt__matmul_fits(MM_TILED, caps, p) ? MM_TILED : MM_NAIVE;
}

bool vkt__matmul_is_first(uint32_t kernel)
{
    if (kernel >= MM_MATRIX) return kernel == MM_MATRIX || kernel == MM_SPLIT;
    return kernels[kernel].shader != kernels[kernel - 1].shader;
}

const char *vkt__matmul_kernel_name(uint32_t kernel)
{
    return kernel < MM_COUNT ? kernels[kernel].name : NULL;
}

/* Not worth it: a tile of which a GPU's matrix fills less than half, but for the smallest; one of
 * which there are thousands. */
bool vkt__matmul_is_candidate(uint32_t kernel, const vkt_caps *caps, const vkt__product *p,
                              bool all)
{
    const mm_kernel *k = &kernels[kernel];
    bool of_cpu = kernel < MM_TILED;
    if (kernel == MM_NAIVE || of_cpu != (caps->klass == VKT_CLASS_CPU) ||
        !vkt__matmul_fits(kernel, caps, p))
        return false;
    if (vkt__matmul_splits(kernel) && caps->math == VKT_MATH_STRICT) return false;
    if (of_cpu)
        return !is_rows(kernel) || width_of(kernel) == 2 || !vkt__matmul_fits(MM_PAIRS, caps, p);
    bool too_large = k->rows > 32 && k->rows >= 2 * p->M,
         too_wide = k->columns > 32 && k->columns >= 2 * p->N;
    return all || kernel == MM_VEC || (!too_large && !too_wide && tiles(k, p) <= 16384);
}

static uint32_t log2_of(uint32_t n)
{
    uint32_t log = 0;
    while (n >>= 1) log++;
    return log;
}

const char *vkt_layout_name(vkt_layout layout)
{
    static const char *const names[] = { "NT", "NN", "TN" };
    return names[layout];
}

const char *vkt__matmul_key(const vkt__product *p, char key[40])
{
    int n = snprintf(key, 40, "matmul %s %u %u %u", vkt_layout_name(p->layout), log2_of(p->M),
                     log2_of(p->N), log2_of(p->K));
    if (p->batch) n += snprintf(key + n, 40 - (size_t)n, " x%u", log2_of(p->batch));
    if (is_16bit(p))
        snprintf(key + n, 40 - (size_t)n, " %s %s", vkt_dtype_name(p->in), vkt_dtype_name(p->out));
    return key;
}

uint32_t vkt__matmul_choose(const vkt_gpu *gpu, const vkt__product *p)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    char key[40];
    const char *tuned = vkt__choice_get(gpu, vkt__matmul_key(p, key));
    for (uint32_t k = 1; k < MM_COUNT && tuned; k++)
        if (!strcmp(tuned, kernels[k].name) && vkt__matmul_fits(k, caps, p) &&
            (caps->math == VKT_MATH_FAST || !vkt__matmul_splits(k)))
            return k;
    return vkt__matmul_table(caps, p);
}

/* A row tile no taller than the matrix needs: unused rows are computed too. */
static uint32_t rows_needed(uint32_t most, uint32_t M)
{
    uint32_t rows = most;
    while (rows >= 2 && rows / 2 >= M) rows /= 2;
    return rows;
}

/* The kernel with the tile that it has on this device, at this shape; MM_NAIVE has none. Of
 * matmul_rows thread_columns is columns per lane. */
static mm_kernel with_tile(uint32_t kernel, const vkt_caps *caps, const vkt__product *p)
{
    mm_kernel k = kernels[kernel];
    uint32_t width = width_of(kernel);
    if (kernel == MM_BLOCK) k.columns *= caps->subgroup;
    if (kernel == MM_ROW) {
        enum { FEW = 8 }; /* tiles: for all cores */
        if (p->N < FEW * k.columns * caps->subgroup) k.columns /= 2, k.steps *= 2;
        k.columns *= caps->subgroup;
    }
    if (!is_rows(kernel)) return k;
    k.rows = rows_needed(k.rows, p->M);
    k.thread_rows = VKT_MIN(k.thread_rows, k.rows);
    k.thread_columns = p->N <= width * caps->subgroup ? width : k.columns;
    k.columns = k.thread_columns * caps->subgroup;
    return k;
}

enum { SLICE_STEP = 64 };

uint32_t vkt__matmul_slice(uint32_t K, uint32_t slices)
{
    return slices <= 1 ? K : (uint32_t)vkt__align((K + slices - 1) / slices, SLICE_STEP);
}

/* Mesa's CPU driver. A tile of a TN product walks down whole columns of both factors, a page or so
 * a step: more than caches and the TLB hold, so every tile fetches them anew; of 256 steps they
 * stay for all tiles. Other layouts, smaller products and SwiftShader took 1.0 to 1.6 times as long
 * in slices. */
static uint32_t slices_for_caches(const vkt__product *p)
{
    uint64_t most = (64ull << 20) / (4ull * p->M * p->N); /* of memory for the parts */
    if (p->layout != VKT_TN || most < 2) return 1;
    uint32_t slice = vkt__matmul_slice(p->K, (uint32_t)VKT_MIN(p->K / 256, most));
    return (p->K + slice - 1) / slice;
}

/* KERNELS.md, 4.5: fewer tiles than half the cores, and a deep product. Cores are taken as 32 on
 * discrete GPUs, 8 on others: the number must not change from run to run, or results would. Each
 * slice has at least 256 steps. CPU drivers have few cores, but caches: see slices_for_caches. */
uint32_t vkt__matmul_slices(const vkt_gpu *gpu, const vkt__product *p)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    uint32_t cores = caps->type == VKT_GPU_DISCRETE ? 32 : 8;
    if (p->batch || (uint64_t)p->M * p->N == 0 || p->K < 2048) return 1;
    uint32_t kernel = vkt__matmul_choose(gpu, p);
    if (caps->klass == VKT_CLASS_CPU) return is_rows(kernel) ? slices_for_caches(p) : 1;
    if (kernel == MM_NAIVE || kernel == MM_VEC) return 1;
    mm_kernel k = with_tile(kernel, caps, p);
    uint64_t t = tiles(&k, p);
    if (t >= cores / 2) return 1;
    uint32_t slices = (uint32_t)VKT_MIN(VKT_MIN(8, cores / t), p->K / 256),
             slice = vkt__matmul_slice(p->K, slices);
    return (p->K + slice - 1) / slice; /* none of them empty */
}

static void constants(vkt__matmul_launch *l, const vkt__constant *c, uint32_t n)
{
    memcpy(l->spec + l->n_spec, c, n * sizeof *c);
    l->n_spec += n;
}

static void constant(vkt__matmul_launch *l, uint32_t id, uint32_t value)
{
    constants(l, &(vkt__constant) { id, value }, 1);
}

vkt__matmul_launch vkt__matmul_prepare(uint32_t kernel, const vkt_caps *caps, const vkt__product *p,
                                       uint32_t slices, uint32_t act, uint64_t a, uint64_t b)
{
    mm_kernel k = with_tile(kernel, caps, p);
    uint64_t products = VKT_MAX(p->batch, slices);
    uint32_t vector = is_16bit(p) ? 8 : 16; /* bytes of four elements */
    vkt__matmul_launch l = { .shader = is_16bit(p) ? k.shader16 : k.shader,
                             .spec = { { VKT_SPEC_WORKGROUP, VKT_MIN(caps->workgroup, 64) },
                                       { VKT_SPEC_C_PAIRS, p->out != VKT_F32 },
                                       { VKT_SPEC_LAYOUT, (uint32_t)p->layout },
                                       { VKT_SPEC_ACT, act },
                                       { VKT_SPEC_BF16, p->in == VKT_BF16 } },
                             .n_spec = 5 };
    uint32_t *wg = &l.spec[0].value, *c_pairs = &l.spec[1].value;
    if (kernel == MM_NAIVE) {
        uint64_t size = products * p->M * p->N, invocations = is_16bit(p) ? (size + 1) / 2 : size;
        l.groups = (invocations + *wg - 1) / *wg;
        l.sums = *wg;
        return l;
    }
    if (kernel == MM_VEC) {
        bool nt = p->layout == VKT_NT, vec = row_b(p) % 4 == 0 && b % 16 == 0;
        uint32_t along = nt ? 16 : 8, columns;
        *wg = 32;
        while (2 * *wg <= VKT_MIN(caps->workgroup, 256)) *wg *= 2;
        constant(&l, VKT_SPEC_ALONG, along);
        constant(&l, VKT_SPEC_VEC, vec && (!nt || a % 16 == 0));
        columns = nt ? *wg / along : along * (vec ? 4 : 1);
        l.groups = (p->N + columns - 1) / columns;
        return l;
    }
    if (is_rows(kernel)) {
        /* 16-lane shuffles are a loop over the lanes, 16-lane broadcasts are not */
        const vkt__constant tile[] = {
            { VKT_SPEC_SHUFFLE, caps->subgroup <= 8 }, { VKT_SPEC_ROWS, k.rows },
            { VKT_SPEC_COLUMNS, k.thread_columns },    { VKT_SPEC_STEPS, k.steps },
            { VKT_SPEC_SHARING, k.thread_rows },       { VKT_SPEC_REST, p->K % k.steps }
        };
        *wg = caps->subgroup;
        if (!is_16bit(p)) *c_pairs = vkt__use_pairs(caps) && p->N % 2 == 0;
        constants(&l, tile, VKT_COUNT(tile));
    } else if (kernel == MM_ROW) {
        const vkt__constant tile[] = { { VKT_SPEC_SHUFFLE, caps->subgroup <= 8 },
                                       { VKT_SPEC_COLUMNS, k.columns / caps->subgroup },
                                       { VKT_SPEC_STEPS, k.steps } };
        *wg = caps->subgroup;
        *c_pairs = vkt__use_pairs(caps) && p->N % 2 == 0;
        constants(&l, tile, VKT_COUNT(tile));
    } else if (kernel == MM_BLOCK) {
        *wg = caps->subgroup;
    } else if (kernel >= MM_MATRIX) {
        const uint32_t *f = fragment_of(caps, p), wide = is_16bit(p) ? 8 : 4; /* of 16 bytes */
        const vkt__constant tile[] = { { VKT_SPEC_BM, k.rows },
                                       { VKT_SPEC_BN, k.columns },
                                       { VKT_SPEC_BK, k.steps },
                                       { VKT_SPEC_WM, k.thread_rows },
                                       { VKT_SPEC_WN, k.thread_columns },
                                       { VKT_SPEC_CM, f[0] },
                                       { VKT_SPEC_CN, f[1] },
                                       { VKT_SPEC_CK, f[2] },
                                       { VKT_SPEC_VEC_A, row_a(p) % wide == 0 && a % 16 == 0 },
                                       { VKT_SPEC_VEC_B, row_b(p) % wide == 0 && b % 16 == 0 } };
        l.shader = matrix_shader(caps, p);
        *wg = threads_of(&k) * caps->subgroup;
        constants(&l, tile, VKT_COUNT(tile));
    } else {
        const vkt__constant tile[] = { { VKT_SPEC_BM, k.rows },
                                       { VKT_SPEC_BN, k.columns },
                                       { VKT_SPEC_BK, k.steps },
                                       { VKT_SPEC_TM, k.thread_rows },
                                       { VKT_SPEC_TN, k.thread_columns },
                                       { VKT_SPEC_VEC_A, row_a(p) % 4 == 0 && a % vector == 0 },
                                       { VKT_SPEC_VEC_B, row_b(p) % 4 == 0 && b % vector == 0 } };
        *wg = threads_of(&k);
        constants(&l, tile, VKT_COUNT(tile));
    }
    l.groups = tiles(&k, p) * products;
    l.sums = *wg * (is_rows(kernel) ? width_of(kernel) : 1);
    return l;
}
