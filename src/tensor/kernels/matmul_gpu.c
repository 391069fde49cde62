/* Matmul families shaped for GPUs without matrix units: tiles through shared memory
 * (matmul_tiled.comp), a single row (matmul_vec.comp), few rows (matmul_few.comp); and the naive
 * one, which runs everywhere. */
#include "tensor/graph/workgroup.h"
#include "tensor/kernels/matmul_family.h"

/* ---- naive ---- */

static void launch_naive(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    (void)t;
    uint32_t wg = l->spec[VKT__MM_WORKGROUP].value;
    uint64_t size = j->products * j->p->M * j->p->N,
             invocations = vkt__mm_is_16bit(j->p) ? (size + 1) / 2 : size;
    l->groups = (invocations + wg - 1) / wg;
    l->sums = wg;
}

const vkt__mm_family vkt__mm_naive = { .shader = VKT_SHADER_MATMUL_NAIVE,
                                       .half = VKT_SHADER_MATMUL_NAIVE_HALF,
                                       .width = 1,
                                       .crosses_rows = true,
                                       .launch = launch_naive };

/* ---- tiled ---- */

/* More than 64 sums a thread: only AMD and NVIDIA have registers for them. On RDNA 3, where shared
 * memory just keeps up with 8 x 8 sums, 8 x 16 ask for three quarters of that. CPU drivers, on
 * which tests run, have them too. */
static bool has_registers(const vkt__mm_tile *t, const vkt_caps *caps)
{
    return t->thread_rows * t->thread_columns <= 64 ||
           vkt__is_of(VKT__NVIDIA | VKT__CPUS | 1u << VKT_GPU_CLASS_AMD, caps);
}

/* More than 16 steps: a thread has the next slice in registers, too, which are NVIDIA's (on AMD
 * fewer subgroups would run at a time), and CPU drivers', on which tests run. */
static bool has_room_ahead(const vkt__mm_tile *t, const vkt_caps *caps)
{
    return t->steps <= 16 || vkt__is_of(VKT__NVIDIA | VKT__CPUS, caps);
}

/* No idle lanes: whole subgroups, of whatever size they are here. */
static bool fits_tiled(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    (void)p;
    return has_registers(t, caps) && has_room_ahead(t, caps) &&
           vkt__mm_threads(t) <= caps->workgroup &&
           vkt__mm_threads(t) % VKT_MIN(caps->subgroup, 64) == 0 &&
           t->steps * (t->rows + t->columns + 8) * 4 <= caps->shared_bytes;
}

static void launch_tiled(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    uint32_t vector = vkt__mm_is_16bit(j->p) ? 8 : 16; /* bytes of four elements */
    const vkt__constant tile[] = {
        { VKT_SPEC_LANES, vkt__lanes(j->caps, vkt__mm_threads(t), VKT__MANY) },
        { VKT_SPEC_BM, t->rows },
        { VKT_SPEC_BN, t->columns },
        { VKT_SPEC_BK, t->steps },
        { VKT_SPEC_REST, j->p->K % t->steps != 0 },
        { VKT_SPEC_TM, t->thread_rows },
        { VKT_SPEC_TN, t->thread_columns },
        { VKT_SPEC_ROLLED, j->caps->klass == VKT_GPU_CLASS_INTEL },
        { VKT_SPEC_VEC_A, vkt__mm_row_a(j->p) % 4 == 0 && j->a % vector == 0 },
        { VKT_SPEC_VEC_B, vkt__mm_row_b(j->p) % 4 == 0 && j->b % vector == 0 },
        { VKT_SPEC_C_FOURS, vkt__mm_stores_fours(j) }
    };
    l->spec[VKT__MM_WORKGROUP].value = vkt__mm_threads(t);
    vkt__mm_add(l, tile, VKT_COUNT(tile));
}

const vkt__mm_family vkt__mm_tiled = { .shader = VKT_SHADER_MATMUL_TILED,
                                       .half = VKT_SHADER_MATMUL_TILED_HALF,
                                       .classes = VKT__GPUS,
                                       .width = 1,
                                       .fits = fits_tiled,
                                       .launch = launch_tiled };

/* ---- vec ---- */

static bool fits_vec(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    (void)t;
    return p->M == 1 && p->layout != VKT_LAYOUT_TN && p->batch == 0 && caps->workgroup >= 32;
}

static void launch_vec(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    (void)t;
    bool nt = j->p->layout == VKT_LAYOUT_NT, vec = vkt__mm_row_b(j->p) % 4 == 0 && j->b % 16 == 0;
    uint32_t along = nt ? 16 : 8, wg = 32, columns;
    while (2 * wg <= VKT_MIN(j->caps->workgroup, 256)) wg *= 2;
    const vkt__constant own[] = { { VKT_SPEC_ALONG, along },
                                  { VKT_SPEC_VEC, vec && (!nt || j->a % 16 == 0) } };
    l->spec[VKT__MM_WORKGROUP].value = wg;
    vkt__mm_add(l, own, VKT_COUNT(own));
    columns = nt ? wg / along : along * (vec ? 4 : 1);
    l->groups = (j->p->N + columns - 1) / columns;
}

const vkt__mm_family vkt__mm_vec = { .shader = VKT_SHADER_MATMUL_VEC,
                                     .classes = VKT__GPUS,
                                     .width = 1,
                                     .fits = fits_vec,
                                     .launch = launch_vec };

/* ---- few ---- */

enum { FEW_TOLD = 4 }; /* rows whose parts are in shared memory at once */

/* A power of two: what adds up a column's sums counts on it. */
static uint32_t threads_few(const vkt_caps *caps)
{
    uint32_t wg = 64;
    while (2 * wg <= VKT_MIN(caps->workgroup, 256)) wg *= 2;
    return wg;
}

/* NT: as many neighbours along k as load 128 bytes. */
static uint32_t along_few(const vkt__product *p)
{
    return vkt__mm_is_16bit(p) ? 16 : 8;
}

/* Rows whose numbers are on their way at once. Intel's have no registers for more; with many rows'
 * sums RDNA 2 and AMD's integrated graphics, which have two thirds of the others', have room for
 * eight subgroups with four of them, for four with all; Apple's spill with all. CPU drivers, on
 * which tests run, do the same. */
static uint32_t sharing_few(const vkt_caps *caps, uint32_t rows)
{
    if (caps->klass == VKT_GPU_CLASS_INTEL) return 1;
    return caps->klass != VKT_GPU_CLASS_NVIDIA && rows > 10 ? 4 : rows;
}

/* Where a subgroup has 128 lanes, as on Adreno, there are no registers for more rows' sums. */
static uint32_t most_few(const vkt__mm_tile *t, const vkt_caps *caps)
{
    return caps->subgroup > 64 ? VKT_MIN(t->rows, 8) : t->rows;
}

static bool fits_few(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    if (vkt__mm_is_16bit(p) && !caps->int64) return false; /* quirk ENDLESS_HALVES */
    uint32_t wg = threads_few(caps), groups = t->columns / 4,
             vectors = FEW_TOLD * (wg + wg / groups) + (p->M + FEW_TOLD - 1) * groups;
    return p->M >= 1 && p->M <= most_few(t, caps) && wg <= caps->workgroup &&
           wg >= groups * VKT_MAX(along_few(p), FEW_TOLD) && 16 * vectors <= caps->shared_bytes;
}

static void launch_few(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    const vkt__product *p = j->p;
    uint32_t vector = vkt__mm_is_16bit(p) ? 8 : 16, wg = threads_few(j->caps);
    const vkt__constant own[] = {
        { VKT_SPEC_LANES, vkt__lanes(j->caps, wg, 4 * p->M + 60) }, /* sums; B's, addresses */
        { VKT_SPEC_ROWS, p->M },
        { VKT_SPEC_SHARING, sharing_few(j->caps, p->M) },
        { VKT_SPEC_BN, t->columns },
        { VKT_SPEC_ALONG, along_few(p) },
        { VKT_SPEC_REST, p->K % 4 != 0 },
        { VKT_SPEC_VEC_A, vkt__mm_row_a(p) % 4 == 0 && j->a % vector == 0 },
        { VKT_SPEC_VEC_B, vkt__mm_row_b(p) % 4 == 0 && j->b % vector == 0 },
        { VKT_SPEC_C_FOURS, vkt__mm_stores_fours(j) }
    };
    l->spec[VKT__MM_WORKGROUP].value = wg;
    vkt__mm_add(l, own, VKT_COUNT(own));
}

const vkt__mm_family vkt__mm_few = { .shader = VKT_SHADER_MATMUL_FEW,
                                     .half = VKT_SHADER_MATMUL_FEW_HALF,
                                     .classes = VKT__GPUS,
                                     .width = 1,
                                     .fits = fits_few,
                                     .launch = launch_few };
