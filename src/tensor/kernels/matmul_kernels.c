/* The matmul kernels, a row each; which one a device's class gets at a shape, and how a product is
 * launched and cut into slices. Knows products, not graphs; what a family does stands in its file.
 */
#include <math.h>
#include <stdio.h>

#include "gpu/journal.h"
#include "tensor/graph/workgroup.h"
#include "tensor/kernels/matmul_family.h"

/* A kernel's number is for tests only; its name is kept, and read. */
static const vkt__mm_tile tiles[] = {
    { 0 },
    { "naive", &vkt__mm_naive, 0, 0, 0, 0, 0 },
    { "rows.32x4", &vkt__mm_rows, 32, 4, 4, 4, 0 },
    { "rows.16x2", &vkt__mm_rows, 16, 2, 4, 4, 0 },
    { "block", &vkt__mm_block, 8, 4, 0, 0, 0 },
    { "pairs.32x4", &vkt__mm_pairs, 32, 4, 4, 4, 0 },
    { "pairs.16x4", &vkt__mm_pairs, 16, 4, 4, 4, 0 },
    { "pairs.64x2", &vkt__mm_pairs, 64, 2, 4, 4, 0 },
    { "pairs.64x4", &vkt__mm_pairs, 64, 4, 4, 4, 0 },
    { "row", &vkt__mm_row, 1, 8, 2, 0, 0 },
    { "tiled.32x32", &vkt__mm_tiled, 32, 32, 16, 4, 4 },
    { "tiled.32x64", &vkt__mm_tiled, 32, 64, 16, 4, 4 },
    { "tiled.64x32", &vkt__mm_tiled, 64, 32, 16, 4, 4 },
    { "tiled.32x32x32", &vkt__mm_tiled, 32, 32, 32, 4, 4 },
    { "tiled.64x64", &vkt__mm_tiled, 64, 64, 16, 8, 4 },
    { "tiled.64x64.4x4", &vkt__mm_tiled, 64, 64, 16, 4, 4 },
    { "tiled.64x128", &vkt__mm_tiled, 64, 128, 16, 8, 4 },
    { "tiled.128x64", &vkt__mm_tiled, 128, 64, 16, 8, 4 },
    { "tiled.128x128", &vkt__mm_tiled, 128, 128, 16, 8, 8 },
    { "tiled.128x128x8", &vkt__mm_tiled, 128, 128, 8, 8, 8 },
    { "tiled.128x256.8x16", &vkt__mm_tiled, 128, 256, 16, 8, 16 },
    { "vec", &vkt__mm_vec, 0, 0, 0, 0, 0 },
    { "few.32", &vkt__mm_few, 16, 32, 4, 0, 0 },
    { "few.64", &vkt__mm_few, 16, 64, 4, 0, 0 },
    { "matrix.32x32", &vkt__mm_matrix, 32, 32, 32, 16, 16 },
    { "matrix.64x64", &vkt__mm_matrix, 64, 64, 32, 32, 32 },
    { "matrix.64x64.16x32", &vkt__mm_matrix, 64, 64, 32, 16, 32 },
    { "matrix.64x64.16x16", &vkt__mm_matrix, 64, 64, 32, 16, 16 },
    { "matrix.128x128", &vkt__mm_matrix, 128, 128, 32, 64, 64 },
    { "matrix.32x32.twice", &vkt__mm_matrix_more, 32, 32, 32, 16, 16, 2 },
    { "matrix.64x64.twice", &vkt__mm_matrix_more, 64, 64, 32, 32, 32, 2 },
    { "matrix.128x128.twice", &vkt__mm_matrix_more, 128, 128, 32, 64, 64, 2 },
    { "matrix.128x128x64.64x32", &vkt__mm_matrix_more, 128, 128, 64, 64, 32 },
    { "matrix.128x128x64.32x64", &vkt__mm_matrix_more, 128, 128, 64, 32, 64 },
    { "matrix.128x128x64.32x32", &vkt__mm_matrix_more, 128, 128, 64, 32, 32 },
    { "matrix.128x64x64", &vkt__mm_matrix_more, 128, 64, 64, 64, 32 },
    { "matrix.64x64x64", &vkt__mm_matrix_more, 64, 64, 64, 32, 32 },
    { "matrix.64x64x64.twice", &vkt__mm_matrix_more, 64, 64, 64, 32, 32, 2 },
    { "matrix.128x256.64x32", &vkt__mm_matrix_more, 128, 256, 32, 64, 32 },
    { "matrix.256x128.64x32", &vkt__mm_matrix_more, 256, 128, 32, 64, 32 },
    { "matrix.128x256", &vkt__mm_matrix_more, 128, 256, 32, 64, 64 },
    { "matrix.256x128", &vkt__mm_matrix_more, 256, 128, 32, 64, 64 },
    { "matrix2.128x128", &vkt__mm_matrix2, 128, 128, 64, 64, 32, 4 },
    { "matrix2.128x256", &vkt__mm_matrix2, 128, 256, 64, 64, 64, 4 },
    { "matrix2.256x128", &vkt__mm_matrix2, 256, 128, 64, 64, 64, 4 },
    { "matrix2.128x256x32", &vkt__mm_matrix2, 128, 256, 32, 64, 64, 4 },
    { "matrix2.256x128x32", &vkt__mm_matrix2, 256, 128, 32, 64, 64, 4 },
    { "matrix2.128x256.rolled", &vkt__mm_matrix2, 128, 256, 64, 64, 64 },
    { "split.32x32", &vkt__mm_split, 32, 32, 16, 16, 16 },
    { "split.32x32.8x16", &vkt__mm_split, 32, 32, 16, 8, 16 },
    { "split.64x64", &vkt__mm_split, 64, 64, 16, 32, 32 },
    { "split.128x128", &vkt__mm_split, 128, 128, 16, 64, 32 },
};

/* 0: there is none of this name. */
static uint32_t number_of(const char *name)
{
    uint32_t k = VKT_COUNT(tiles) - 1;
    while (k && strcmp(tiles[k].name, name) != 0) k--;
    return k;
}

static uint64_t n_tiles(const vkt__mm_tile *t, const vkt__product *p)
{
    return (uint64_t)((p->M + t->rows - 1) / t->rows) * ((p->N + t->columns - 1) / t->columns);
}

/* ---- slices ---- */

enum { SLICE_STEP = 64 };

uint32_t vkt__matmul_slice(uint32_t K, uint32_t slices)
{
    return slices <= 1 ? K : (uint32_t)vkt__align((K + slices - 1) / slices, SLICE_STEP);
}

static vkt__mm_tile tile_of(uint32_t kernel, const vkt_caps *caps, const vkt__product *p)
{
    const vkt__mm_family *f = tiles[kernel].family;
    return f->tile ? f->tile(tiles[kernel], caps, p) : tiles[kernel];
}

/* The workgroups that fill a device's cores, of those that have one of a product's tiles. An H200
 * takes 0.8 us for each slice of k of a workgroup that has a core to itself, and the same for those
 * of several: there a core wants 256 threads. */
static uint64_t tiles_at_once(const vkt__mm_tile *t, const vkt_caps *caps)
{
    uint32_t lanes = t->family->on_units || t->family->splits ? caps->subgroup : 1,
             threads = t->thread_rows ? vkt__mm_threads(t) * lanes : 256;
    return caps->klass == VKT_GPU_CLASS_NVIDIA ? vkt__cores(caps) * VKT_MAX(256 / threads, 1)
                                               : vkt__cores(caps);
}

/* A deep product of no more than half the tiles that the device computes at once leaves most of it
 * idle (of NVIDIA's, of all of them, as their cores take turns with several). Each slice has at
 * least 256 steps, 2048 where a core gets a second one, which works while the first waits; NVIDIA's
 * 128, as the sum of slices takes little more than a barrier, 1 us. Their sum is another kernel's:
 * no more than eight, or a quarter of the cores. */
static uint32_t slices_for_cores(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    bool nvidia = caps->klass == VKT_GPU_CLASS_NVIDIA;
    uint32_t least = nvidia ? 128 : 256, deep = nvidia ? 256 : 2048;
    uint64_t cores = vkt__cores(caps), n = t->columns ? n_tiles(t, p) : 0;
    if (caps->klass == VKT_GPU_CLASS_CPU || p->batch || !n || p->K < deep) return 1;
    uint64_t wanted = tiles_at_once(t, caps);
    if ((nvidia ? n : 2 * n) > wanted) return 1;
    uint64_t most = VKT_MIN(VKT_MAX(cores / 4, 8), p->K / least),
             want = VKT_MAX(wanted / n, VKT_MIN(2 * wanted / n, p->K / 2048));
    uint32_t slice = vkt__matmul_slice(p->K, (uint32_t)VKT_MIN(most, want));
    return (p->K + slice - 1) / slice; /* none of them empty */
}

/* ---- the table: a class gets the first kernel that fits, if its condition holds ---- */

/* Mesa's CPU driver at 16 lanes: a tile of 64 rows loads a third less for a product than one of 32,
 * a quarter of its time; it takes twice as long to compile. Rows past the last are computed too: at
 * most an eighth. */
static bool is_tall(const vkt_caps *caps, const vkt__product *p)
{
    return caps->subgroup >= 16 && !vkt__mm_is_16bit(p) && vkt__align(p->M, 64) - p->M <= p->M / 8;
}

/* Mesa's CPU driver, and not SwiftShader, which has no 64-bit integers. */
static bool has_int64(const vkt_caps *caps, const vkt__product *p)
{
    (void)p;
    return caps->int64;
}

/* Whether a lane multiplies B with all rows in the time that B takes to arrive. 16-bit numbers come
 * twice as fast: where matrix units multiply them, of more than 8 rows these are faster. */
static bool is_bound_by_reading(const vkt_caps *caps, const vkt__product *p)
{
    return p->M <= 8 || !vkt__mm_is_16bit(p) || !vkt__mm_has_units(caps, p);
}

/* CPU drivers: pairs of floats where the shape allows, single floats where not. GPUs: what reads B
 * once for one row, for few; else the largest tile that still gives every core of a mid-range
 * device work, on matrix units where they multiply the operands' type. NVIDIA's rows were timed on
 * an H200 (tools/results/h200.md), those of other GPUs were not: no other GPU has run this yet.
 *
 * TRIED: the row's kernel is the first that the tuner times and is checked with all that untuned
 * products run (check/units.c), but these pass it over: the H200 took 1.2 times the time of
 * matrix.128x128.twice for it, other cards may not. */
typedef enum { TAKEN, TRIED } standing;
static const struct {
    uint32_t classes;
    const char *kernel;
    bool (*when)(const vkt_caps *caps, const vkt__product *p);
    uint32_t least_tiles; /* of the product, all that are batched, all slices: see has_tiles */
    standing standing;
} table[] = {
    { VKT__CPUS, "row", NULL, 0 },
    { VKT__CPUS, "pairs.64x4", is_tall, 0 },
    { VKT__CPUS, "pairs.32x4", NULL, 0 },
    { VKT__CPUS, "rows.32x4", has_int64, 0 },
    { VKT__CPUS, "block", NULL, 0 },
    { VKT__GPUS, "vec", NULL, 0 },
    { VKT__GPUS, "few.32", is_bound_by_reading, 0 },
    { VKT__NVIDIA, "matrix2.128x128", NULL, 64, TRIED },
    { VKT__NVIDIA, "matrix.128x128.twice", NULL, 64 },
    { VKT__NVIDIA, "matrix.64x64x64.twice", NULL, 24 },
    { VKT__UNITS, "matrix.128x128", NULL, 64 },
    { VKT__UNITS, "matrix.64x64", NULL, 24 },
    { VKT__UNITS, "matrix.64x64.16x32", NULL, 24 },
    { VKT__UNITS, "matrix.64x64.16x16", NULL, 24 },
    { VKT__UNITS, "matrix.32x32", NULL, 0 },
    { VKT__NVIDIA, "tiled.128x64", NULL, 64 },
    { VKT__GPUS, "tiled.64x64", NULL, 24 },
    { VKT__NVIDIA, "tiled.32x32x32", NULL, 0 },
    { VKT__GPUS, "tiled.32x32", NULL, 0 },
    { VKT__DEVICES, "naive", NULL, 0 },
};

/* Whether a product has enough tiles for a row: on a device of fewer cores, one for each. A deep
 * one of fewer is cut into slices of these, rather than into smaller tiles, if they give most cores
 * work and are three quarters full. */
static bool has_tiles(uint32_t least, uint32_t kernel, const vkt_caps *caps, const vkt__product *p)
{
    if (!least) return true;
    vkt__mm_tile t = tile_of(kernel, caps, p);
    uint64_t n = n_tiles(&t, p) * VKT_MAX(p->batch, 1), sliced = 0;
    if (caps->cores) least = VKT_MIN(least, caps->cores);
    if (caps->klass == VKT_GPU_CLASS_NVIDIA) least = VKT_MAX(least, (uint32_t)vkt__cores(caps) / 2);
    if (4ull * p->M * p->N >= 3ull * n * t.rows * t.columns)
        sliced = n * slices_for_cores(&t, caps, p);
    return n >= least || (sliced > n && sliced >= VKT_MAX(least, 2 * vkt__cores(caps) / 3));
}

/* The kernel of a row of the table; 0: this device, or this product, has not that. */
static uint32_t of_row(size_t row, const vkt_caps *caps, const vkt__product *p)
{
    uint32_t kernel = number_of(table[row].kernel);
    VKT_ASSERT(kernel);
    bool is_its = vkt__is_of(table[row].classes, caps) && vkt__matmul_fits(kernel, caps, p) &&
                  (!table[row].when || table[row].when(caps, p));
    return is_its && has_tiles(table[row].least_tiles, kernel, caps, p) ? kernel : 0;
}

uint32_t vkt__matmul_table(const vkt_caps *caps, const vkt__product *p)
{
    for (size_t i = 0; i < VKT_COUNT(table); i++) {
        uint32_t kernel = table[i].standing == TAKEN ? of_row(i, caps, p) : 0;
        if (kernel) return kernel;
    }
    VKT_ASSERT(!"the naive kernel fits everywhere");
    return 0;
}

bool vkt__matmul_in_table(uint32_t kernel)
{
    for (size_t i = 0; i < VKT_COUNT(table); i++)
        if (number_of(table[i].kernel) == kernel) return true;
    return false;
}

/* ---- what kernels are ---- */

const char *vkt__matmul_kernel_name(uint32_t kernel)
{
    return kernel < VKT_COUNT(tiles) ? tiles[kernel].name : NULL;
}

bool vkt__matmul_is_first(uint32_t kernel)
{
    return tiles[kernel].family != tiles[kernel - 1].family;
}

bool vkt__matmul_is_foreign(uint32_t kernel, const vkt_caps *caps)
{
    const vkt__mm_family *f = tiles[kernel].family;
    return f && f->classes && !vkt__is_of(f->classes, caps);
}

bool vkt__matmul_splits(uint32_t kernel)
{
    return kernel > 0 && kernel < VKT_COUNT(tiles) && tiles[kernel].family->splits;
}

bool vkt__matmul_can_split(const vkt_caps *caps)
{
    return vkt__mm_has_units(caps, &(vkt__product) { .in = VKT_F32 });
}

bool vkt__matmul_on_units(uint32_t kernel)
{
    return kernel > 0 && kernel < VKT_COUNT(tiles) && tiles[kernel].family->on_units;
}

bool vkt__matmul_of_any_size(uint32_t kernel)
{
    return kernel > 0 && kernel < VKT_COUNT(tiles) && tiles[kernel].family == &vkt__mm_matrix2;
}

/* Matrix units add 8 or 16 products to a sum and cut the bits off that no longer fit, where others
 * round: towards zero each time, so that K / 8 errors of up to a last place of the sum, 2 eps of
 * it, add up. On its way to its end a sum is about as large as that, or as chance makes it: |want|
 * + scale of vkt__limit; the eps * 2 (root) of vkt__tol is K / 8 times 2 eps. Source: Ootomo and
 * Yokota 2022 (arXiv 2203.03341), section 3. What is cut where products are aligned is less, and
 * falls to both sides. */
double vkt__units_terms(double terms)
{
    enum { LEAST_STEPS = 8 }; /* between two cuts */
    double root = sqrt(terms) + terms / LEAST_STEPS;
    return root * root;
}

double vkt__matmul_terms(uint32_t kernel, uint32_t K)
{
    double root = sqrt(K) + 2;
    if (vkt__matmul_on_units(kernel)) return vkt__units_terms(K);
    return vkt__matmul_splits(kernel) ? root * root : K;
}

static vkt__shader shader_of(const vkt__mm_family *f, const vkt__product *p)
{
    return vkt__mm_is_16bit(p) ? f->half : f->shader;
}

bool vkt__matmul_fits(uint32_t kernel, const vkt_caps *caps, const vkt__product *p)
{
    const vkt__mm_tile *t = &tiles[kernel];
    const vkt__mm_family *f = t->family;
    /* Words of two 16-bit numbers are stored whole. */
    bool whole_words = p->out == VKT_F32 || p->N % 2 == 0 || f->crosses_rows;
    return shader_of(f, p) && whole_words && (!f->fits || f->fits(t, caps, p));
}

/* Whether a tile is worth trying on a GPU: not if the matrix fills less than half of it (unless it
 * is the smallest), nor if there would be more than 16,384 of them. */
static bool is_of_size(const vkt__mm_tile *t, const vkt__product *p)
{
    bool too_large = t->rows > 32 && t->rows >= 2 * p->M,
         too_wide = t->columns > 32 && t->columns >= 2 * p->N;
    return !t->columns || (!too_large && !too_wide && n_tiles(t, p) <= 16384);
}

/* Whether the table has a kernel on matrix units for it: scalar ones won't come near. */
static bool is_for_units(const vkt_caps *caps, const vkt__product *p)
{
    return vkt__mm_is_16bit(p) && vkt__matmul_on_units(vkt__matmul_table(caps, p));
}

bool vkt__matmul_is_candidate(uint32_t kernel, const vkt_caps *caps, const vkt__product *p,
                              bool all)
{
    const vkt__mm_tile *t = &tiles[kernel];
    const vkt__mm_family *f = t->family;
    if (!vkt__is_of(f->classes, caps) || !vkt__matmul_fits(kernel, caps, p)) return false;
    if (f->splits && caps->math == VKT_MATH_STRICT) return false;
    if (f->better) return !vkt__matmul_fits(number_of(f->better), caps, p);
    if (all || vkt__is_of(VKT__CPUS, caps)) return true;
    return is_of_size(t, p) && (vkt__matmul_on_units(kernel) || !is_for_units(caps, p));
}

uint32_t vkt__matmul_candidate(const vkt_caps *caps, const vkt__product *p, bool all, uint32_t i)
{
    const uint32_t of_table = vkt__matmul_table(caps, p);
    bool first[VKT_COUNT(tiles)] = { [0] = true };
    if (i-- == 0) return of_table;
    first[of_table] = true;
    for (size_t row = 0; row < VKT_COUNT(table); row++) {
        uint32_t k = table[row].standing == TRIED ? of_row(row, caps, p) : 0;
        if (!k || first[k] || !vkt__matmul_is_candidate(k, caps, p, all)) continue;
        if (i-- == 0) return k;
        first[k] = true;
    }
    for (uint32_t k = 1; k < VKT_COUNT(tiles); k++)
        if (!first[k] && vkt__matmul_is_candidate(k, caps, p, all) && i-- == 0) return k;
    return 0;
}

/* ---- tuned choices ---- */

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
    uint32_t rows = vkt__mm_row_a(p) | vkt__mm_row_b(p) | p->N;
    int n = snprintf(key, 40, "matmul %s %u %u %u%s", vkt_layout_name(p->layout), log2_of(p->M),
                     log2_of(p->N), log2_of(p->K),
                     rows % 2   ? " odd"
                     : rows % 8 ? " even"
                                : "");
    if (p->batch) n += snprintf(key + n, 40 - (size_t)n, " x%u", log2_of(p->batch));
    if (vkt__mm_is_16bit(p))
        snprintf(key + n, 40 - (size_t)n, " %s %s", vkt_dtype_name(p->in), vkt_dtype_name(p->out));
    return key;
}

vkt_status vkt__matmul_check_held(const vkt_caps *caps)
{
    const char *names[VKT_COUNT(tiles)];
    if (!*caps->kernel || number_of(caps->kernel)) return VKT_OK;
    for (size_t i = 1; i < VKT_COUNT(tiles); i++) names[i - 1] = tiles[i].name;
    return vkt__fail(VKT_E_ARG, "matmul",
                     "no matmul kernel '%s' (--cap kernel=, VKT_KERNEL)%s; `vktrain tune --list "
                     "256x256x256` prints those of this device",
                     caps->kernel,
                     vkt_did_you_mean(caps->kernel, names, VKT_COUNT(tiles) - 1).text);
}

/* Whether a kernel that is not the table's may be taken. */
static bool may_take(const vkt_gpu *gpu, uint32_t kernel, const char *key, const vkt__product *p)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    return kernel && !vkt__left_out(gpu, tiles[kernel].name, key) &&
           vkt__matmul_fits(kernel, caps, p) &&
           (caps->math == VKT_MATH_FAST || !vkt__matmul_splits(kernel));
}

/* Once for a device. */
static void tell_not_held(const vkt_gpu *gpu, const vkt__product *p, uint32_t instead)
{
    enum { TOLD = 1u << 30 };
    if (vkt__gpu_first_time((vkt_gpu *)(uintptr_t)gpu, TOLD))
        vkt_log(VKT_LOG_INFO, "matmul",
                "kernel %s can't compute all products here, e.g. %s %u x %u x %u %s to %s: these "
                "run on the table's, e.g. %s",
                vkt_gpu_caps(gpu)->kernel, vkt_layout_name(p->layout), p->M, p->N, p->K,
                vkt_dtype_name(p->in), vkt_dtype_name(p->out), tiles[instead].name);
}

uint32_t vkt__matmul_choose(const vkt_gpu *gpu, const vkt__product *p)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    char key[40];
    vkt__matmul_key(p, key);
    if (*caps->kernel) {
        uint32_t held = number_of(caps->kernel), instead = vkt__matmul_table(caps, p);
        if (may_take(gpu, held, key, p)) return held;
        tell_not_held(gpu, p, instead);
        return instead;
    }
    const char *tuned = vkt__choice_get(gpu, key);
    uint32_t k = tuned ? number_of(tuned) : 0;
    return may_take(gpu, k, key, p) ? k : vkt__matmul_table(caps, p);
}

/* ---- the slices of a product ---- */

/* Mesa's CPU driver. A tile of a TN product walks down whole columns of both factors, a page or so
 * a step: more than caches and the TLB hold, so every tile fetches them again; those of 256 steps
 * stay for all tiles. Other layouts, smaller products and SwiftShader took 1.0 to 1.6 times as long
 * in slices. */
static uint32_t slices_for_caches(const vkt__product *p)
{
    uint64_t most = (64ull << 20) / (4ull * p->M * p->N); /* of memory for the parts */
    if (p->layout != VKT_LAYOUT_TN || most < 2) return 1;
    uint32_t slice = vkt__matmul_slice(p->K, (uint32_t)VKT_MIN(p->K / 256, most));
    return (p->K + slice - 1) / slice;
}

/* CPU drivers have few cores, but caches. */
uint32_t vkt__matmul_slices(const vkt_gpu *gpu, const vkt__product *p)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    if (p->batch || (uint64_t)p->M * p->N == 0) return 1;
    uint32_t kernel = vkt__matmul_choose(gpu, p);
    if (caps->klass == VKT_GPU_CLASS_CPU)
        return tiles[kernel].family->cut_for_caches && p->K >= 2048 ? slices_for_caches(p) : 1;
    vkt__mm_tile t = tile_of(kernel, caps, p);
    return slices_for_cores(&t, caps, p);
}

/* ---- launch ---- */

vkt__matmul_launch vkt__matmul_prepare(uint32_t kernel, const vkt_caps *caps, const vkt__product *p,
                                       uint32_t slices, uint32_t act, uint64_t a, uint64_t b,
                                       uint64_t c)
{
    if (tiles[kernel].family->whole_vectors && (a | b | c) % 16)
        kernel = vkt__matmul_table(caps, p);
    vkt__mm_tile t = tile_of(kernel, caps, p);
    const vkt__mm_job j = {
        .caps = caps, .p = p, .a = a, .b = b, .c = c, .products = VKT_MAX(p->batch, slices)
    };
    vkt__matmul_launch l = { .shader = shader_of(t.family, p),
                             .spec = { [VKT__MM_WORKGROUP] = { VKT_SPEC_WORKGROUP,
                                                               VKT_MIN(caps->workgroup, 64) },
                                       [VKT__MM_C_PAIRS] = { VKT_SPEC_C_PAIRS, p->out != VKT_F32 },
                                       { VKT_SPEC_LAYOUT, (uint32_t)p->layout },
                                       { VKT_SPEC_ACT, act },
                                       { VKT_SPEC_BF16, p->in == VKT_BF16 },
                                       { VKT_SPEC_TOGETHER, vkt__together(caps, 2) } },
                             .n_spec = 6 };
    t.family->launch(&t, &j, &l);
    if (t.columns) {
        l.groups = n_tiles(&t, p) * j.products;
        l.sums = l.spec[VKT__MM_WORKGROUP].value * t.family->width;
    }
    return l;
}
