/* Matmul families for matrix units: 16-bit operands unchanged, in the units' fragments
 * (matmul_coopmat.comp) or in matrices of any size (matmul_matrix2.comp), f32 ones as sums of
 * 16-bit pieces (matmul_split.comp). */
#include "tensor/graph/workgroup.h"
#include "tensor/kernels/matmul_family.h"

/* Accumulator fragments per subgroup: 16 take 128 registers a lane (32 lanes, 16 x 16 fragments);
 * half as many if the operands are split, whose parts need registers too. */
enum { MOST_FRAGMENTS = 16, MOST_FRAGMENTS_SPLIT = 8 };

/* The type that is multiplied: that of 16-bit operands; for f32 operands that of their parts: bf16,
 * which has the same range, or fp16 if tests allow it. */
static vkt_dtype multiplied(const vkt_caps *caps, const vkt__product *p)
{
    if (vkt__mm_is_16bit(p)) return p->in;
    return !caps->coopmat_bf16[0] && !caps->exact_split ? VKT_F16 : VKT_BF16;
}

static vkt__shader shader_of(const vkt_caps *caps, const vkt__product *p)
{
    bool bf16 = multiplied(caps, p) == VKT_BF16;
    if (vkt__mm_is_16bit(p))
        return bf16 ? VKT_SHADER_MATMUL_COOPMAT_BFLOAT16 : VKT_SHADER_MATMUL_COOPMAT_FLOAT16;
    return bf16 ? VKT_SHADER_MATMUL_SPLIT_BFLOAT16 : VKT_SHADER_MATMUL_SPLIT_FLOAT16;
}

static const uint32_t *fragment_of(const vkt_caps *caps, const vkt__product *p)
{
    return multiplied(caps, p) == VKT_BF16 ? caps->coopmat_bf16 : caps->coopmat_f16;
}

bool vkt__mm_has_units(const vkt_caps *caps, const vkt__product *p)
{
    return caps->coopmat && fragment_of(caps, p)[0];
}

/* Of Intel's as few as it has: sums, operands and what is staged fill a thread's registers. */
static uint32_t lanes_of(const vkt_caps *caps)
{
    return vkt__lanes(caps, caps->subgroup, 128);
}

/* Whether a subgroup has registers for its share's sums. Intel: a quarter of a thread's 128, each
 * of as many numbers as the smallest subgroup has lanes; an eighth, where operands have parts. */
static bool has_registers(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    uint32_t most = vkt__mm_is_16bit(p) ? 32 : 16;
    return caps->klass != VKT_GPU_CLASS_INTEL ||
           t->thread_rows * t->thread_columns <= most * caps->subgroup_min;
}

/* Whether an operand of `span` rows or columns to a tile is turned as it is staged: AMD's units
 * load what does not lie along k number by number, and Intel's compiler needs more registers and
 * time for it. Of CPU drivers, on which tests run, some tiles do it. */
static bool turns(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p, uint32_t span,
                  bool along_k)
{
    uint32_t threads = vkt__mm_threads(t) * lanes_of(caps), vectors = span * t->steps / 8;
    bool wanted = caps->klass == VKT_GPU_CLASS_AMD || caps->klass == VKT_GPU_CLASS_INTEL ||
                  (caps->klass == VKT_GPU_CLASS_CPU && vectors == 4 * threads);
    return wanted && vkt__mm_is_16bit(p) && !along_k && vectors % (2 * threads) == 0 &&
           t->steps % (vectors / threads) == 0;
}

static bool turns_a(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    return turns(t, caps, p, t->rows, p->layout != VKT_LAYOUT_TN);
}

static bool turns_b(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    return turns(t, caps, p, t->columns, p->layout == VKT_LAYOUT_NT);
}

/* Slices in shared memory at once, or written out. */
static uint32_t stages_of(const vkt__mm_tile *t)
{
    return VKT_MAX(t->stages, 1);
}

/* Whether a thread has registers for the next slice while it multiplies one: eight vectors beside
 * the sums of the largest share. Intel: not before Xe2, whose subgroups may have 8 lanes, nor
 * beside sums of its largest shares and what is turned. Of CPU drivers, on which tests run, some
 * tiles have none. */
static bool loads_ahead(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    uint32_t share = t->thread_rows * t->thread_columns,
             vectors = (t->rows + t->columns) * t->steps / 8;
    if (caps->klass == VKT_GPU_CLASS_CPU) return t->rows > 32 || t->stages > 1;
    if (caps->klass != VKT_GPU_CLASS_INTEL)
        return share < 64 * 64 || vectors <= 8 * vkt__mm_threads(t) * lanes_of(caps);
    bool few = share <= 16 * caps->subgroup_min || (!turns_a(t, caps, p) && !turns_b(t, caps, p));
    return caps->subgroup_min >= 16 && few;
}

/* The device's fragments divide a subgroup's share, whole subgroups the workgroup; 128-bit vectors
 * of each of a tile's slices and a vector of padding a row fit shared memory, of f32 operands three
 * times, and a fragment of sums of each subgroup where A's were. */
bool vkt__mm_units_fit(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    bool is_16bit = vkt__mm_is_16bit(p);
    const uint32_t *f = fragment_of(caps, p), pieces = is_16bit ? 1 : 3;
    if (!vkt__mm_has_units(caps, p)) return false;
    uint32_t a = p->layout == VKT_LAYOUT_TN && !turns_a(t, caps, p) ? t->steps * (t->rows + 8)
                                                                    : t->rows * (t->steps + 8),
             b = p->layout != VKT_LAYOUT_NT && !turns_b(t, caps, p) ? t->steps * (t->columns + 8)
                                                                    : t->columns * (t->steps + 8);
    bool fixed = caps->subgroup_control || caps->subgroup_min == caps->subgroup_max;
    uint32_t fragments = t->thread_rows / f[0] * (t->thread_columns / f[1]),
             most = is_16bit ? MOST_FRAGMENTS : MOST_FRAGMENTS_SPLIT, threads = vkt__mm_threads(t);
    uint32_t each = 2 * pieces * stages_of(t), tile_b = each * b,
             tile_a = VKT_MAX(each * a, 4 * threads * f[0] * f[1]);
    return fixed && has_registers(t, caps, p) && fragments <= most && t->thread_rows % f[0] == 0 &&
           t->thread_columns % f[1] == 0 && t->steps % f[2] == 0 &&
           threads * lanes_of(caps) <= caps->workgroup && tile_a + tile_b <= caps->shared_bytes;
}

/* How vectors of 16 bytes are loaded from rows of a length at an address: whole, or by words; rows
 * of an odd number of 16-bit elements word by word, each shifted together from two. */
static uint32_t loads_of(const vkt__product *p, uint64_t row, uint64_t addr)
{
    bool is_16bit = vkt__mm_is_16bit(p);
    if (is_16bit && row % 2) return 2;
    return row % (is_16bit ? 8 : 4) == 0 && addr % 16 == 0;
}

uint32_t vkt__mm_units_spec(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p,
                            vkt__constant spec[VKT__MM_UNITS_SPEC])
{
    const uint32_t *f = fragment_of(caps, p);
    const vkt__constant tile[VKT__MM_UNITS_SPEC] = { { VKT_SPEC_LANES, lanes_of(caps) },
                                                     { VKT_SPEC_BM, t->rows },
                                                     { VKT_SPEC_BN, t->columns },
                                                     { VKT_SPEC_BK, t->steps },
                                                     { VKT_SPEC_WM, t->thread_rows },
                                                     { VKT_SPEC_WN, t->thread_columns },
                                                     { VKT_SPEC_CM, f[0] },
                                                     { VKT_SPEC_CN, f[1] },
                                                     { VKT_SPEC_CK, f[2] },
                                                     { VKT_SPEC_TURN_A, turns_a(t, caps, p) },
                                                     { VKT_SPEC_TURN_B, turns_b(t, caps, p) } };
    memcpy(spec, tile, sizeof tile);
    return vkt__mm_threads(t) * lanes_of(caps);
}

static void launch(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    const vkt__product *p = j->p;
    vkt__constant tile[VKT__MM_UNITS_SPEC];
    const vkt__constant loads[] = { { VKT_SPEC_VEC_A, loads_of(p, vkt__mm_row_a(p), j->a) },
                                    { VKT_SPEC_VEC_B, loads_of(p, vkt__mm_row_b(p), j->b) },
                                    { VKT_SPEC_C_FOURS, vkt__mm_stores_fours(j) } },
                        slices[] = { { VKT_SPEC_AHEAD, loads_ahead(t, j->caps, p) },
                                     { VKT_SPEC_REST, p->K % t->steps != 0 },
                                     { VKT_SPEC_STAGES, stages_of(t) } };
    l->shader = shader_of(j->caps, p);
    l->spec[VKT__MM_WORKGROUP].value = vkt__mm_units_spec(t, j->caps, p, tile);
    vkt__mm_add(l, tile, VKT_COUNT(tile));
    vkt__mm_add(l, loads, VKT_COUNT(loads));
    if (vkt__mm_is_16bit(p)) vkt__mm_add(l, slices, VKT_COUNT(slices));
}

/* ---- matrices of any size: the driver's work is what a kernel does above ---- */

static const uint32_t *any_size_of(const vkt_caps *caps, const vkt__product *p)
{
    return p->in == VKT_BF16 ? caps->coopmat2_bf16 : caps->coopmat2_f16;
}

/* Where a subgroup holds a matrix, twice the least in one direction, of two slices: for tests on
 * CPU drivers, which take seconds to compile what is larger. */
static vkt__mm_tile any_size_tile(vkt__mm_tile t, const vkt_caps *caps, const vkt__product *p)
{
    const uint32_t *g = any_size_of(caps, p);
    if (g[3]) return t;
    t.rows = t.thread_rows = g[0];
    t.columns = t.thread_columns = 2 * g[1];
    t.steps = g[2];
    t.stages = VKT_MIN(stages_of(&t), 2);
    return t;
}

/* C of 16 bits leaves as if it were A: its columns are steps, too. So it does only where a subgroup
 * has the matrices: NVIDIA's driver cuts the lower bits off there, where others round (580.159, an
 * H200: 95% of the tolerance, 48% by the units' other kernels). */
static bool any_size_fits(const vkt__mm_tile *row, const vkt_caps *caps, const vkt__product *p)
{
    const uint32_t *g = any_size_of(caps, p);
    if (!caps->coopmat2 || !g[0] || (g[3] && p->out != VKT_F32)) return false;
    vkt__mm_tile t = any_size_tile(*row, caps, p);
    uint32_t threads = vkt__mm_threads(&t) * caps->subgroup;
    bool fixed = caps->subgroup_control || caps->subgroup_min == caps->subgroup_max;
    return fixed && t.rows % g[0] == 0 && t.columns % g[1] == 0 && t.steps % g[2] == 0 &&
           t.columns % g[2] == 0 && VKT_MAX(t.rows, t.columns) <= caps->coopmat2_most &&
           threads <= caps->workgroup && (!g[3] || threads == g[3]);
}

static void any_size_launch(const vkt__mm_tile *t, const vkt__mm_job *j, vkt__matmul_launch *l)
{
    const vkt__product *p = j->p;
    bool clamped = p->M % t->rows || p->N % t->columns || p->K % t->steps;
    const vkt__constant tile[] = { { VKT_SPEC_BM, t->rows },
                                   { VKT_SPEC_BN, t->columns },
                                   { VKT_SPEC_BK, t->steps },
                                   { VKT_SPEC_VEC_A, vkt__mm_row_a(p) % 8 == 0 },
                                   { VKT_SPEC_VEC_B, vkt__mm_row_b(p) % 8 == 0 },
                                   { VKT_SPEC_STAGES, stages_of(t) },
                                   { VKT_SPEC_CLAMPED, clamped } };
    l->shader = !any_size_of(j->caps, p)[3] ? VKT_SHADER_MATMUL_MATRIX2_ELEMENTS
                : p->in == VKT_BF16         ? VKT_SHADER_MATMUL_MATRIX2_BFLOAT16
                                            : VKT_SHADER_MATMUL_MATRIX2_FLOAT16;
    l->spec[VKT__MM_WORKGROUP].value = vkt__mm_threads(t) * j->caps->subgroup;
    vkt__mm_add(l, tile, VKT_COUNT(tile));
}

/* On an H200 slower than fragments (matmul_kernels.c): the table has it as TRIED. */
const vkt__mm_family vkt__mm_matrix2 = { .half = VKT_SHADER_MATMUL_MATRIX2_FLOAT16,
                                         .classes = VKT__NVIDIA,
                                         .width = 1,
                                         .on_units = true,
                                         .crosses_rows = true,
                                         .whole_vectors = true,
                                         .fits = any_size_fits,
                                         .tile = any_size_tile,
                                         .launch = any_size_launch };

/* Which of a family's two shaders it is, the launch decides. */
const vkt__mm_family vkt__mm_matrix = { .half = VKT_SHADER_MATMUL_COOPMAT_FLOAT16,
                                        .classes = VKT__GPUS,
                                        .width = 1,
                                        .on_units = true,
                                        .fits = vkt__mm_units_fit,
                                        .launch = launch };
/* NVIDIA's to time, a CPU driver's to test: on AMD fewer workgroups would run at a time, and on
 * Intel one of them spills. */
static bool more_fit(const vkt__mm_tile *t, const vkt_caps *caps, const vkt__product *p)
{
    return vkt__is_of(VKT__NVIDIA | VKT__CPUS, caps) && vkt__mm_units_fit(t, caps, p);
}

/* More subgroups, steps or slices at once. */
const vkt__mm_family vkt__mm_matrix_more = { .half = VKT_SHADER_MATMUL_COOPMAT_FLOAT16,
                                             .classes = VKT__NVIDIA,
                                             .width = 1,
                                             .on_units = true,
                                             .fits = more_fit,
                                             .launch = launch };
const vkt__mm_family vkt__mm_split = { .shader = VKT_SHADER_MATMUL_SPLIT_FLOAT16,
                                       .classes = VKT__GPUS,
                                       .width = 1,
                                       .splits = true,
                                       .fits = vkt__mm_units_fit,
                                       .launch = launch };
