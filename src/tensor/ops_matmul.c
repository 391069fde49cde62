/* Matrix product rows: C = act(op(A) op(B) + bias), or = op(A) op(B) act'(v), in the layouts that a
 * linear layer's forward and backward need. Which kernel runs is chosen here, by device class. */
#include <stdio.h>

#include "tensor/ops.h"

static void dims(const vkt_node *n, uint32_t *M, uint32_t *N, uint32_t *K)
{
    vkt_layout l = n->attr.matmul.layout;
    vkt_shape a = n->in[0]->shape, b = n->in[1]->shape;
    *M = l == VKT_TN ? vkt__last(a) : vkt__rows_of(a);
    *K = l == VKT_TN ? vkt__rows_of(a) : vkt__last(a);
    *N = l == VKT_NT ? b.d[0] : vkt__last(b);
}

static bool matmul_shape(vkt_node *n)
{
    const vkt_tensor *a = n->in[0], *b = n->in[1], *bias = n->in[2];
    vkt_layout l = n->attr.matmul.layout;
    static const char *const forms[] = { "[M, K] and [N, K]", "[M, K] and [K, N]",
                                         "[K, M] and [K, N]" };
    if (a->shape.rank < 2 || b->shape.rank < 2)
        return vkt__shape_error(n, "%s and %s must be matrices", vkt__text(a), vkt__text(b));
    uint32_t ka = l == VKT_TN ? vkt__rows_of(a->shape) : vkt__last(a->shape);
    uint32_t kb = l == VKT_NT ? vkt__last(b->shape) : vkt__rows_of(b->shape);
    if (ka != kb || (l == VKT_NT && b->shape.rank != 2) || (l == VKT_NN && b->shape.rank != 2))
        return vkt__shape_error(n, "%s and %s do not fit as %s", vkt__text(a), vkt__text(b),
                                forms[l]);
    uint32_t M, N, K;
    dims(n, &M, &N, &K);
    if (bias && (bias->shape.rank != 1 || bias->shape.d[0] != N))
        return vkt__shape_error(n, "bias %s must be [%u]", vkt__text(bias), N);
    vkt_shape out = vkt_shape2(M, N);
    if (l != VKT_TN) {
        out = a->shape;
        out.d[out.rank - 1] = N;
    }
    if (n->attr.matmul.slices) out = (vkt_shape) { 3, { n->attr.matmul.slices, M, N } };
    vkt__out(n, 0, out, VKT_F32);
    vkt_act act = n->attr.matmul.act;
    if (n->in[3])
        return vkt__shape_equal(n->in[3]->shape, out) ||
               vkt__shape_error(n, "%s must be shaped like the result", vkt__text(n->in[3]));
    if (act != VKT_ACT_NONE && !vkt__act_from_output(act)) vkt__out(n, 1, out, VKT_F32);
    return true;
}

/* ---- which kernel ---- */

/* Every kernel with its tile; `matmul.kernel` of a node names one for tests. Columns: the name; the
 * shader; rows and columns that a workgroup computes (0: derived); BK, TM, TN of matmul_tiled. */
enum {
    MM_CHOOSE,
    MM_NAIVE,
    MM_ROWS,
    MM_ROWS_WIDE,
    MM_BLOCK,
    MM_TILED_32,
    MM_TILED_64,
    MM_TILED_128,
    MM_COUNT
};
typedef struct {
    const char *name, *shader;
    uint32_t bm, bn, bk, tm, tn;
} mm_kernel;
static const mm_kernel kernels[MM_COUNT] = {
    [MM_NAIVE] = { "naive", "matmul_naive", 0, 0, 0, 0, 0 },
    [MM_ROWS] = { "rows", "matmul_rows", 0, 0, 0, 0, 0 },
    [MM_ROWS_WIDE] = { "rows.wide", "matmul_rows.wide", 0, 0, 0, 0, 0 },
    [MM_BLOCK] = { "block", "matmul_block", 8, 0, 0, 0, 0 },
    [MM_TILED_32] = { "tiled.32", "matmul_tiled", 32, 32, 16, 4, 4 },
    [MM_TILED_64] = { "tiled.64", "matmul_tiled", 64, 64, 16, 8, 4 },
    [MM_TILED_128] = { "tiled.128", "matmul_tiled", 128, 128, 16, 8, 8 },
};

/* matmul_rows: rows, column vectors, steps per trip; the best or close to it in all three layouts
 * on lavapipe 22.3, 25.0 and 26.1, with 8 and 16 lanes, of 6 to 32 rows by 1 to 3 vectors. */
enum { ROWS = 16, VECTORS = 2, UNROLL = 4 };

/* Can the kernel run on this device, at this shape? */
static bool mm_fits(uint32_t kernel, const vkt_caps *caps, vkt_layout l, uint32_t M, uint32_t N,
                    uint32_t K)
{
    const mm_kernel *k = &kernels[kernel];
    switch (kernel) {
    case MM_ROWS_WIDE:
        if (!caps->int64 || (l == VKT_TN ? M : K) % 2 || (l == VKT_NT ? K : N) % 2) return false;
        return caps->subgroup_arith && caps->subgroup >= 4;
    case MM_ROWS:
        return caps->subgroup_arith && caps->subgroup >= 4;
    case MM_TILED_32:
    case MM_TILED_64:
    case MM_TILED_128:
        return k->bm / k->tm * (k->bn / k->tn) <= caps->workgroup &&
               k->bk * (k->bm + k->bn + 8) * 4 <= caps->shared_bytes;
    default:
        return true;
    }
}

static uint64_t tiles(const mm_kernel *k, uint32_t M, uint32_t N)
{
    return (uint64_t)((M + k->bm - 1) / k->bm) * ((N + k->bn - 1) / k->bn);
}

/* CPU drivers: pairs of floats where the shape allows, single floats where not; Mesa's only, which
 * is what 64-bit integers tell here: SwiftShader has none. GPUs: the largest tile that still gives
 * every core of a mid-range device work (unmeasured: no GPU has run this yet); 128 x 128 needs
 * NVIDIA's register file (KERNELS.md, 4.2). */
uint32_t vkt__matmul_table(const vkt_caps *caps, vkt_layout l, uint32_t M, uint32_t N, uint32_t K)
{
    if (caps->klass == VKT_CLASS_CPU) {
        if (!caps->int64 || !mm_fits(MM_ROWS, caps, l, M, N, K)) return MM_BLOCK;
        return mm_fits(MM_ROWS_WIDE, caps, l, M, N, K) ? MM_ROWS_WIDE : MM_ROWS;
    }
    if (caps->klass == VKT_CLASS_NVIDIA && mm_fits(MM_TILED_128, caps, l, M, N, K) &&
        tiles(&kernels[MM_TILED_128], M, N) >= 64)
        return MM_TILED_128;
    if (mm_fits(MM_TILED_64, caps, l, M, N, K) && tiles(&kernels[MM_TILED_64], M, N) >= 24)
        return MM_TILED_64;
    return mm_fits(MM_TILED_32, caps, l, M, N, K) ? MM_TILED_32 : MM_NAIVE;
}

const char *vkt__matmul_kernel_name(uint32_t kernel)
{
    return kernel < MM_COUNT ? kernels[kernel].name : NULL;
}

bool vkt__matmul_is_candidate(uint32_t kernel, const vkt_caps *caps, vkt_layout l, uint32_t M,
                              uint32_t N, uint32_t K)
{
    bool of_cpu = kernel == MM_ROWS || kernel == MM_ROWS_WIDE || kernel == MM_BLOCK;
    return kernel != MM_NAIVE && of_cpu == (caps->klass == VKT_CLASS_CPU) &&
           mm_fits(kernel, caps, l, M, N, K);
}

static uint32_t log2_of(uint32_t n)
{
    uint32_t log = 0;
    while (n >>= 1) log++;
    return log;
}

const char *vkt__matmul_key(vkt_layout l, uint32_t M, uint32_t N, uint32_t K, char key[40])
{
    static const char *const forms[] = { "NT", "NN", "TN" };
    snprintf(key, 40, "matmul %s %u %u %u", forms[l], log2_of(M), log2_of(N), log2_of(K));
    return key;
}

/* What was tuned, where it can run, else the table's. */
static uint32_t mm_choose(const vkt_gpu *gpu, vkt_layout l, uint32_t M, uint32_t N, uint32_t K)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    char key[40];
    const char *tuned = vkt__choice_get(gpu, vkt__matmul_key(l, M, N, K, key));
    for (uint32_t k = 1; k < MM_COUNT && tuned; k++)
        if (!strcmp(tuned, kernels[k].name) && mm_fits(k, caps, l, M, N, K)) return k;
    return vkt__matmul_table(caps, l, M, N, K);
}

/* A node's: by a test's wish, by tuning, by the table. */
static uint32_t mm_kernel_of(const vkt_gpu *gpu, const vkt_node *n)
{
    uint32_t M, N, K, kernel = n->attr.matmul.kernel;
    vkt_layout l = n->attr.matmul.layout;
    dims(n, &M, &N, &K);
    if (!kernel) kernel = mm_choose(gpu, l, M, N, K);
    return mm_fits(kernel, vkt_gpu_caps(gpu), l, M, N, K) ? kernel : MM_NAIVE;
}

static const char *matmul_kernel(const vkt_gpu *gpu, const vkt_node *n)
{
    return kernels[mm_kernel_of(gpu, n)].name;
}

/* A row tile no taller than the matrix needs: unused rows are computed too. */
static uint32_t rows_needed(uint32_t most, uint32_t M)
{
    uint32_t rows = most;
    while (rows >= 2 && rows / 2 >= M) rows /= 2;
    return rows;
}

/* The kernel with the tile that it has on this device, at this shape; MM_NAIVE has none. */
static mm_kernel mm_with_tile(uint32_t kernel, const vkt_caps *caps, vkt_layout l, uint32_t M,
                              uint32_t N)
{
    mm_kernel k = kernels[kernel];
    uint32_t S = caps->subgroup;
    if (kernel == MM_BLOCK) k.bn = 4 * S;
    if (kernel != MM_ROWS && kernel != MM_ROWS_WIDE) return k;
    uint32_t per_vector = kernel == MM_ROWS_WIDE && l != VKT_NT ? 2 * S : S;
    k.bm = rows_needed(ROWS, M);
    k.tn = N <= per_vector ? 1 : VECTORS;
    k.bn = k.tn * per_vector;
    return k;
}

/* Slices are whole multiples of the steps that any kernel takes at once. */
enum { SLICE_STEP = 64 };

static uint32_t slice_of(uint32_t K, uint32_t slices)
{
    return slices <= 1 ? K : (uint32_t)vkt__align((K + slices - 1) / slices, SLICE_STEP);
}

/* KERNELS.md, 4.5: fewer tiles than half the cores, and a deep product. Cores are taken as 32 on
 * discrete GPUs, 8 on others: the number must not change from run to run, or results would. Each
 * slice has at least 256 steps. Never on CPU drivers: on two shared cores it took 1.0 to 1.6 times
 * as long on Mesa and SwiftShader, outputs of one tile included. */
uint32_t vkt__matmul_slices(const vkt_gpu *gpu, const vkt_node *n)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    uint32_t M, N, K, cores = caps->type == VKT_GPU_DISCRETE ? 32 : 8;
    vkt_layout l = n->attr.matmul.layout;
    dims(n, &M, &N, &K);
    if (caps->klass == VKT_CLASS_CPU || (uint64_t)M * N == 0 || n->attr.matmul.kernel || K < 2048)
        return 1;
    uint32_t kernel = mm_choose(gpu, l, M, N, K);
    if (kernel == MM_NAIVE) return 1;
    mm_kernel k = mm_with_tile(kernel, caps, l, M, N);
    uint64_t t = tiles(&k, M, N);
    if (t >= cores / 2) return 1;
    uint32_t slices = (uint32_t)VKT_MIN(VKT_MIN(8, cores / t), K / 256),
             slice = slice_of(K, slices);
    return (K + slice - 1) / slice; /* none of them empty */
}

static void matmul_record(vkt__rec *rec, const vkt_node *n)
{
    struct matmul_params p = { .a = vkt__addr(rec, n->in[0]),
                               .b = vkt__addr(rec, n->in[1]),
                               .bias = vkt__addr(rec, n->in[2]),
                               .c = vkt__addr(rec, n->out[0]),
                               .pre = vkt__addr(rec, n->out[1]),
                               .v = vkt__addr(rec, n->in[3]) };
    const vkt_caps *caps = rec->caps;
    vkt_layout l = n->attr.matmul.layout;
    dims(n, &p.M, &p.N, &p.K);
    p.a4 = p.a;
    p.b4 = p.b;
    p.flags = (n->in[2] ? VKT_MM_BIAS : 0) | (n->out[1] ? VKT_MM_PRE : 0);
    uint32_t slices = VKT_MAX(n->attr.matmul.slices, 1);
    p.slice = slice_of(p.K, slices);
    uint32_t kernel = mm_kernel_of(rec->gpu, n);
    mm_kernel k = mm_with_tile(kernel, caps, l, p.M, p.N);
    uint32_t act = (uint32_t)n->attr.matmul.act + (n->in[3] ? VKT_MM_ACT_BWD : 0);
    uint32_t spec[12] = { VKT_MIN(caps->workgroup, 64), 1, 1, (uint32_t)l, act }, n_spec = 5;
    uint64_t groups;
    if (kernel == MM_NAIVE) {
        groups = ((uint64_t)slices * p.M * p.N + spec[0] - 1) / spec[0];
        slices = 1;
    } else if (kernel == MM_ROWS || kernel == MM_ROWS_WIDE) {
        spec[0] = caps->subgroup;
        spec[n_spec++] =
            caps->subgroup <=
            8; /* 16-lane shuffles are a loop over the lanes, 16-lane broadcasts are not */
        spec[n_spec++] = k.bm;
        spec[n_spec++] = k.tn;
        spec[n_spec++] = UNROLL;
        groups = tiles(&k, p.M, p.N);
    } else if (kernel == MM_BLOCK) {
        spec[0] = caps->subgroup;
        groups = tiles(&k, p.M, p.N);
    } else {
        spec[0] = k.bm / k.tm * (k.bn / k.tn);
        const uint32_t tile[] = { k.bm, k.bn, k.bk, k.tm, k.tn };
        for (uint32_t i = 0; i < VKT_COUNT(tile); i++) spec[n_spec++] = tile[i];
        spec[n_spec++] = (l == VKT_TN ? p.M : p.K) % 4 == 0 && p.a % 16 == 0;
        spec[n_spec++] = (l == VKT_NT ? p.K : p.N) % 4 == 0 && p.b % 16 == 0;
        groups = tiles(&k, p.M, p.N);
    }
    vkt__dispatch(rec, k.shader, spec, n_spec, &p, sizeof p, groups * slices);
}

static bool matmul_sum_shape(vkt_node *n)
{
    vkt_shape parts = n->in[0]->shape, out = { parts.rank - 1, { 0 } };
    memcpy(out.d, parts.d + 1, out.rank * sizeof *out.d);
    vkt_act act = n->attr.matmul.act;
    vkt__out(n, 0, out, VKT_F32);
    if (act != VKT_ACT_NONE && !n->in[3] && !vkt__act_from_output(act))
        vkt__out(n, 1, out, VKT_F32);
    return true;
}

static void matmul_sum_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape parts = n->in[0]->shape;
    struct matmul_params p = { .a = vkt__addr(rec, n->in[0]),
                               .bias = vkt__addr(rec, n->in[2]),
                               .c = vkt__addr(rec, n->out[0]),
                               .pre = vkt__addr(rec, n->out[1]),
                               .v = vkt__addr(rec, n->in[3]),
                               .M = vkt__rows_of(n->out[0]->shape),
                               .N = vkt__last(parts),
                               .K = parts.d[0] };
    p.flags = (n->in[2] ? VKT_MM_BIAS : 0) | (n->out[1] ? VKT_MM_PRE : 0);
    uint32_t spec[] = { VKT_MIN(rec->caps->workgroup, 64), 1, 1,
                        (uint32_t)n->attr.matmul.act + (n->in[3] ? VKT_MM_ACT_BWD : 0) };
    vkt__dispatch(rec, "matmul_sum", spec, VKT_COUNT(spec), &p, sizeof p,
                  (n->out[0]->count + spec[0] - 1) / spec[0]);
}

static void end_ref(const vkt_node *n, uint64_t i, double sum, double *const *in,
                    double *const *out)
{
    if (out[1]) out[1][i] = sum;
    out[0][i] = in[3] ? sum * vkt__act_derivative(n->attr.matmul.act, in[3][i])
                      : vkt__act(n->attr.matmul.act, sum);
}

static void matmul_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint32_t M, N, K, slices = VKT_MAX(n->attr.matmul.slices, 1);
    dims(n, &M, &N, &K);
    vkt_layout l = n->attr.matmul.layout;
    uint32_t slice = slice_of(K, slices);
    for (uint64_t s = 0; s < slices; s++)
        for (uint64_t m = 0; m < M; m++)
            for (uint64_t j = 0; j < N; j++) {
                double sum = in[2] ? in[2][j] : 0;
                for (uint64_t k = s * slice, end = VKT_MIN(k + slice, K); k < end; k++)
                    sum += in[0][l == VKT_TN ? k * M + m : m * K + k] *
                           in[1][l == VKT_NT ? j * K + k : k * N + j];
                end_ref(n, (s * M + m) * N + j, sum, in, out);
            }
}

static void matmul_sum_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t count = n->out[0]->count, N = vkt__last(n->in[0]->shape);
    for (uint64_t i = 0; i < count; i++) {
        double sum = in[2] ? in[2][i % N] : 0;
        for (uint64_t s = 0; s < n->in[0]->shape.d[0]; s++) sum += in[0][s * count + i];
        end_ref(n, i, sum, in, out);
    }
}

static void matmul_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_act act = n->attr.matmul.act;
    vkt_tensor *a = n->in[0], *b = n->in[1], *d;
    if (!dy[0]) return;
    d = vkt__real(g, dy[0], n->out[0]);
    if (act != VKT_ACT_NONE) d = vkt__act_bwd(g, d, n->out[1] ? n->out[1] : n->out[0], act);
    switch (n->attr.matmul.layout) {
    case VKT_NT:
        if (vkt__needs(a)) dx[0] = vkt_matmul(g, VKT_NN, d, b);
        if (vkt__needs(b)) dx[1] = vkt_matmul(g, VKT_TN, d, a);
        break;
    case VKT_NN:
        if (vkt__needs(a)) dx[0] = vkt_matmul(g, VKT_NT, d, b);
        if (vkt__needs(b)) dx[1] = vkt_matmul(g, VKT_TN, a, d);
        break;
    case VKT_TN:
        if (vkt__needs(a)) dx[0] = vkt_matmul(g, VKT_NT, b, d);
        if (vkt__needs(b)) dx[1] = vkt_matmul(g, VKT_NN, a, d);
        break;
    }
    if (n->in[2] && vkt__needs(n->in[2])) dx[2] = vkt_sum_rows(g, d);
}

static vkt_cost matmul_cost(const vkt_node *n)
{
    uint32_t M, N, K;
    dims(n, &M, &N, &K);
    vkt_cost c = { 2.0 * M * N * K,
                   4.0 * ((double)M * K + (double)N * K +
                          (double)M * N *
                              (n->out[1] || n->in[3] ? 2 : VKT_MAX(n->attr.matmul.slices, 1))) };
    return c;
}

static double matmul_terms(const vkt_node *n)
{
    uint32_t M, N, K;
    dims(n, &M, &N, &K);
    return K + (n->attr.matmul.act > VKT_ACT_RELU ? 64.0 : 0);
}

static double matmul_sum_terms(const vkt_node *n)
{
    return n->in[0]->shape.d[0] + (n->attr.matmul.act > VKT_ACT_RELU ? 64.0 : 0);
}

/* Edges of every tile size in use, tiny and odd sizes, deep and shallow products, epilogues, with
 * the kernel that the device's class gets; the first few with every other kernel too. */
static const char *matmul_sample(vkt_graph *g, uint32_t i)
{
    static const char *const forms[] = { "NT", "NN", "TN" };
    enum { FOR_EVERY_KERNEL = 5 };
    static const struct {
        const char *name;
        uint32_t m, n, k;
    } s[] = {
        { "odd", 33, 65, 31 },     { "tiles + 1", 129, 257, 129 }, { "tiles + 2", 130, 34, 70 },
        { "flat", 10, 200, 60 },   { "no inner", 6, 10, 0 },       { "one", 1, 1, 1 },
        { "row", 1, 129, 3 },      { "column", 127, 1, 17 },       { "pairs", 34, 66, 34 },
        { "tiles", 128, 128, 64 }, { "tiles - 1", 63, 127, 127 },  { "thin", 200, 10, 60 },
        { "deep", 5, 9, 3001 },    { "no inner, odd", 5, 9, 0 },   { "no rows", 0, 9, 4 },
    };
    static const char *const acts[] = { "bias",      "bias relu",    "bias gelu", "bias gelu_erf",
                                        "bias silu", "bias sigmoid", "bias tanh" };
    enum {
        OWN = 3 * VKT_COUNT(s),
        OTHERS = 3 * FOR_EVERY_KERNEL * (MM_COUNT - 1),
        EPILOGUES = VKT_COUNT(acts) + MM_COUNT - 1
    };
    static char name[64];
    uint32_t kernel = MM_CHOOSE, j = i / 3, l = i % 3;
    if (i >= OWN + OTHERS) {
        vkt_act act = (vkt_act)(i - OWN - OTHERS);
        if (i >= OWN + OTHERS + EPILOGUES) return NULL;
        if (act >= VKT_COUNT(acts)) {
            kernel = 1 + act - VKT_COUNT(acts);
            act = VKT_ACT_GELU;
        }
        vkt_tensor *x = vkt__sample2(g, 37, 20), *w = vkt__sample2(g, 41, 20),
                   *b = vkt__sample1(g, 41);
        vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { x, w, b }, 3,
                (vkt_attr) { .matmul = { .layout = VKT_NT, .act = act, .kernel = kernel } });
        snprintf(name, sizeof name, "%s, kernel %u", acts[act], kernel);
        return name;
    }
    if (i >= OWN) {
        kernel = 1 + (i - OWN) / (3 * FOR_EVERY_KERNEL);
        j = (i - OWN) / 3 % FOR_EVERY_KERNEL;
    }
    vkt_tensor *a = l == VKT_TN ? vkt__sample2(g, s[j].k, s[j].m) : vkt__sample2(g, s[j].m, s[j].k);
    vkt_tensor *b = l == VKT_NT ? vkt__sample2(g, s[j].n, s[j].k) : vkt__sample2(g, s[j].k, s[j].n);
    vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { a, b }, 2,
            (vkt_attr) { .matmul = { .layout = (vkt_layout)l, .kernel = kernel } });
    snprintf(name, sizeof name, "%s %s, kernel %u", s[j].name, forms[l], kernel);
    return name;
}

/* Every activation, then every kernel in every layout. */
static const char *matmul_act_bwd_sample(vkt_graph *g, uint32_t i)
{
    enum { ACTS = VKT_ACT_TANH, ODD = 2 };
    static char name[64];
    bool by_kernel = i >= ACTS;
    uint32_t j = i - ACTS, odd = by_kernel ? j % ODD : 0, l = by_kernel ? j / ODD % 3 : VKT_NN,
             kernel = by_kernel ? 1 + j / ODD / 3 : MM_CHOOSE;
    vkt_act act = by_kernel ? VKT_ACT_SILU : (vkt_act)(i + 1);
    uint32_t M = 34 - odd, N = 66 - odd, K = 22 - odd;
    if (kernel >= MM_COUNT) return NULL;
    vkt_tensor *a = l == VKT_TN ? vkt__sample2(g, K, M) : vkt__sample2(g, M, K);
    vkt_tensor *b = l == VKT_NT ? vkt__sample2(g, N, K) : vkt__sample2(g, K, N);
    vkt_attr attr = { .matmul = { .layout = (vkt_layout)l, .act = act, .kernel = kernel } };
    vkt__op(g, &vkt__op_matmul_act_bwd, (vkt_tensor *[]) { a, b, NULL, vkt__sample2(g, M, N) }, 4,
            attr);
    snprintf(name, sizeof name, "activation %u, layout %u, %s, kernel %u", act, l,
             odd ? "odd" : "even", kernel);
    return name;
}

/* Every kernel and layout; the last slice is shorter than the others. */
static const char *matmul_parts_sample(vkt_graph *g, uint32_t i)
{
    enum { ODD = 2 };
    static char name[64];
    uint32_t odd = i % ODD, l = i / ODD % 3, kernel = i / ODD / 3, M = 34 - odd, N = 66 - odd,
             K = 150 - odd;
    if (kernel >= MM_COUNT) return NULL;
    vkt_tensor *a = l == VKT_TN ? vkt__sample2(g, K, M) : vkt__sample2(g, M, K);
    vkt_tensor *b = l == VKT_NT ? vkt__sample2(g, N, K) : vkt__sample2(g, K, N);
    vkt__op(g, &vkt__op_matmul_parts, (vkt_tensor *[]) { a, b }, 2,
            (vkt_attr) { .matmul = { .layout = (vkt_layout)l, .kernel = kernel, .slices = 3 } });
    snprintf(name, sizeof name, "layout %u, %s, kernel %u", l, odd ? "odd" : "even", kernel);
    return name;
}

static const char *matmul_sum_sample(vkt_graph *g, uint32_t i)
{
    static const char *const names[] = { "plain", "bias", "bias gelu", "bias relu",
                                         "times a derivative" };
    static const vkt_act acts[] = { VKT_ACT_NONE, VKT_ACT_NONE, VKT_ACT_GELU, VKT_ACT_RELU,
                                    VKT_ACT_SILU };
    if (i >= VKT_COUNT(names)) return NULL;
    vkt_tensor *parts =
        vkt__sample(g, (vkt_shape) { 3, { 5, 19, 33 } }, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_tensor *bias = i >= 1 && i <= 3 ? vkt__sample1(g, 33) : NULL,
               *v = i == 4 ? vkt__sample2(g, 19, 33) : NULL;
    vkt__op(g, &vkt__op_matmul_sum, (vkt_tensor *[]) { parts, NULL, bias, v }, 4,
            (vkt_attr) { .matmul = { .act = acts[i] } });
    return names[i];
}

const vkt_op vkt__op_matmul = { .name = "matmul",
                                .n_in = 3,
                                .n_out = 2,
                                .shape = matmul_shape,
                                .record = matmul_record,
                                .grad = matmul_grad,
                                .kernel = matmul_kernel,
                                .ref = matmul_ref,
                                .cost = matmul_cost,
                                .terms = matmul_terms,
                                .sample = matmul_sample };
const vkt_op vkt__op_matmul_act_bwd = { .name = "matmul_act_bwd",
                                        .n_in = 4,
                                        .n_out = 1,
                                        .inplace = 1u << 3,
                                        .shape = matmul_shape,
                                        .record = matmul_record,
                                        .kernel = matmul_kernel,
                                        .ref = matmul_ref,
                                        .cost = matmul_cost,
                                        .terms = matmul_terms,
                                        .sample = matmul_act_bwd_sample };
const vkt_op vkt__op_matmul_parts = { .name = "matmul_parts",
                                      .n_in = 2,
                                      .n_out = 1,
                                      .shape = matmul_shape,
                                      .record = matmul_record,
                                      .kernel = matmul_kernel,
                                      .ref = matmul_ref,
                                      .cost = matmul_cost,
                                      .terms = matmul_terms,
                                      .sample = matmul_parts_sample };
const vkt_op vkt__op_matmul_sum = { .name = "matmul_sum",
                                    .n_in = 4,
                                    .n_out = 2,
                                    .inplace = 1u << 3,
                                    .shape = matmul_sum_shape,
                                    .record = matmul_sum_record,
                                    .ref = matmul_sum_ref,
                                    .terms = matmul_sum_terms,
                                    .sample = matmul_sum_sample };

vkt_tensor *vkt_matmul(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b)
{
    return vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { a, b }, 2,
                   (vkt_attr) { .matmul = { .layout = layout } });
}

vkt_tensor *vkt_linear(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b, vkt_act act)
{
    return vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { x, w, b }, 3,
                   (vkt_attr) { .matmul = { .layout = VKT_NT, .act = act } });
}
