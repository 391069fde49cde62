/* Sample cases of the matmul rows: see vkt_op.sample. */
#include <stdio.h>

#include "tensor/graph/sample.h"
#include "tensor/kernels/matmul.h"
#include "tensor/ops/matmul/matmul_samples.h"
#include "tensor/ops/ops.h"

static vkt_tensor *sample_of(vkt_graph *g, uint32_t rows, uint32_t cols, vkt_dtype dtype)
{
    return vkt__sample(g, vkt_shape2(rows, cols), dtype, VKT_HINT_NORMAL, 0);
}

/* A and B of a product. */
static void operands(vkt_graph *g, const vkt__product *p, vkt_tensor *in[2])
{
    vkt_layout l = p->layout;
    in[0] = l == VKT_LAYOUT_TN ? sample_of(g, p->K, p->M, p->in) : sample_of(g, p->M, p->K, p->in);
    in[1] = l == VKT_LAYOUT_NT ? sample_of(g, p->N, p->K, p->in) : sample_of(g, p->K, p->N, p->in);
}

/* Types of operands and result; of an odd shape, then of an even one. */
static const struct {
    vkt_dtype in, out;
} types16[] = {
    { VKT_F16, VKT_F32 }, { VKT_BF16, VKT_BF16 }, { VKT_F16, VKT_F16 }, { VKT_BF16, VKT_F32 }
};

static uint32_t n_kernels(void)
{
    uint32_t n = 0;
    while (vkt__matmul_kernel_name(n + 1)) n++;
    return n;
}

/* Kernel i of those that differ by more than their tile; 0 past the last. */
static uint32_t kernel_at(uint32_t i)
{
    for (uint32_t k = 1; k <= n_kernels(); k++)
        if (vkt__matmul_is_first(k) && i-- == 0) return k;
    return 0;
}

/* Whether the kernel multiplies 16-bit operands only. */
static bool is_narrow(uint32_t kernel)
{
    return !strncmp(vkt__matmul_kernel_name(kernel), "matrix", 6);
}

/* `rows`; for a kernel of few rows 16 if rows > 100, else 8, and one less if rows is odd. */
static uint32_t rows_for(uint32_t kernel, uint32_t rows)
{
    bool few = kernel && !strncmp(vkt__matmul_kernel_name(kernel), "few", 3);
    return few ? (rows > 100 ? 16 : 8) - rows % 2 : rows;
}

static uint32_t n_shaders(void)
{
    uint32_t n = 0;
    while (kernel_at(n)) n++;
    return n;
}

/* So many workgroups that those of the sums come last; of one element an invocation. */
static const char *sample_many(const vkt_op *op, vkt_graph *g)
{
    enum { NAIVE = 1 };
    vkt__product p = { VKT_LAYOUT_TN, 1450, 1450, 2, VKT_F32, VKT_F32, 0 };
    vkt_tensor *in[2];
    operands(g, &p, in);
    vkt__op(
        g, op, in, 2,
        (vkt_attr) { .matmul = { .layout = p.layout, .kernel = NAIVE, .sums = VKT__SUMS_OF_A } });
    return "many workgroups and sums";
}

/* One row with all that an epilogue has, in pairs and torn. */
static const char *sample_row(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i == 2) return sample_many(op, g);
    if (i > 2) return NULL;
    vkt__product p = { VKT_LAYOUT_NT, 1, i ? 45 : 150, 38, VKT_F32, VKT_F32, 0 };
    vkt_tensor *in[VKT__MM_IN_R + 1] = { NULL };
    operands(g, &p, in);
    in[VKT__MM_IN_BIAS] = vkt__sample1(g, p.N);
    in[VKT__MM_IN_R] = sample_of(g, p.M, p.N, p.out);
    vkt__op(g, op, in, VKT_COUNT(in),
            (vkt_attr) { .matmul = { .layout = p.layout, .act = VKT_ACT_GELU } });
    return i ? "a row, bias gelu plus, odd" : "a row, bias gelu plus";
}

/* What is added to the result, with every shader: alone, and after a bias and an activation that
 * saves its input; in 16 bits too, where they lie in fours and where a row tears a pair. */
static const char *sample_residual(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const vkt_dtype dtypes[] = { VKT_F32, VKT_F16, VKT_BF16 };
    static char name[64];
    uint32_t act = i & 1, d = i / 2 % VKT_COUNT(dtypes),
             kernel = kernel_at(i / 2 / VKT_COUNT(dtypes)), odd = act && dtypes[d] == VKT_F16;
    if (!kernel) return sample_row(op, g, i - 2 * VKT_COUNT(dtypes) * n_shaders());
    uint32_t M = rows_for(kernel, 34 - odd);
    vkt__product p = { (vkt_layout)(i % 3), M, 68 - odd, 38 - odd, dtypes[d], dtypes[d], 0 };
    vkt_tensor *in[VKT__MM_IN_R + 1] = { NULL };
    operands(g, &p, in);
    if (act) in[VKT__MM_IN_BIAS] = vkt__sample1(g, p.N);
    in[VKT__MM_IN_R] = sample_of(g, p.M, p.N, p.out);
    vkt__op(g, op, in, VKT_COUNT(in),
            (vkt_attr) { .matmul = { .layout = p.layout,
                                     .act = act ? VKT_ACT_GELU : VKT_ACT_NONE,
                                     .out = p.out,
                                     .kernel = kernel } });
    snprintf(name, sizeof name, "%splus, %s, kernel %u", act ? "bias gelu " : "",
             vkt_dtype_name(p.in), kernel);
    return name;
}

/* The step block of the second micro-batch, or of the first, which is zeros. */
static vkt_tensor *micro_batch(vkt_graph *g, bool first)
{
    vkt_tensor *step = vkt_step(g);
    return first ? vkt__sample(g, step->shape, VKT_U32, VKT_HINT_CYCLE, 1) : step;
}

/* Accumulation with every shader. */
static const char *sample_accumulated(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static char name[64];
    uint32_t kernel = kernel_at(i / 2);
    if (!kernel) return NULL;
    bool narrow = is_narrow(kernel);
    uint32_t M = rows_for(kernel, 34);
    vkt__product p = { VKT_LAYOUT_TN, M, 68, 38, narrow ? VKT_F16 : VKT_F32, VKT_F32, 0 };
    vkt_tensor *in[VKT__MM_IN_STEP + 1] = { NULL };
    operands(g, &p, in);
    in[VKT__MM_IN_R] = sample_of(g, p.M, p.N, VKT_F32);
    in[VKT__MM_IN_STEP] = micro_batch(g, i & 1);
    vkt__op(g, op, in, VKT_COUNT(in),
            (vkt_attr) { .matmul = { .layout = p.layout, .kernel = kernel } });
    snprintf(name, sizeof name, "%s, kernel %u", i & 1 ? "first micro-batch" : "accumulated",
             kernel);
    return name;
}

/* Batches with every shader in every layout, of f32 and of 16 bits: one operand's matrices of odd
 * size, so that they begin anywhere; then even ones. */
static const char *sample_batched(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static char name[64];
    static const vkt_dtype in[] = { VKT_F32, VKT_F32, VKT_F16, VKT_BF16 },
                           out[] = { VKT_F32, VKT_F32, VKT_F16, VKT_F32 };
    uint32_t t = i % VKT_COUNT(in), even = t & 1, l = i / VKT_COUNT(in) % 3,
             which = i / VKT_COUNT(in) / 3, kernel = which ? kernel_at(which - 1) : 0, M = 5 + even,
             N = 35 + even, K = 13 + even;
    if (which && !kernel) return sample_residual(op, g, i - VKT_COUNT(in) * 3 * (n_shaders() + 1));
    vkt_shape a = { 4, { 2, 2, l == VKT_LAYOUT_TN ? K : M, l == VKT_LAYOUT_TN ? M : K } },
              b = { 4, { 2, 2, l == VKT_LAYOUT_NT ? N : K, l == VKT_LAYOUT_NT ? K : N } };
    vkt__op(g, op,
            (vkt_tensor *[]) { vkt__sample(g, a, in[t], VKT_HINT_NORMAL, 0),
                               vkt__sample(g, b, in[t], VKT_HINT_NORMAL, 0) },
            2,
            (vkt_attr) {
                .matmul = {
                    .layout = (vkt_layout)l, .out = out[t], .kernel = kernel, .batched = true } });
    snprintf(name, sizeof name, "batched %s, layout %u, kernel %u", vkt_dtype_name(in[t]), l,
             kernel);
    return name;
}

/* 16-bit operands with every shader in every layout; first the kernel of the device's class. */
static const char *sample16(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static char name[64];
    uint32_t t = i % VKT_COUNT(types16), even = t / 2;
    uint32_t which = i / VKT_COUNT(types16) / 3, kernel = which ? kernel_at(which - 1) : 0;
    vkt__product p = { .layout = (vkt_layout)(i / VKT_COUNT(types16) % 3),
                       .M = rows_for(kernel, 33 + even),
                       .N = 65 + even,
                       .K = 69 + even,
                       .in = types16[t].in,
                       .out = types16[t].out };
    if (which && !kernel)
        return sample_batched(op, g, i - VKT_COUNT(types16) * 3 * (n_shaders() + 1));
    vkt_tensor *in[2];
    operands(g, &p, in);
    vkt__op(g, op, in, 2,
            (vkt_attr) { .matmul = { .layout = p.layout, .out = p.out, .kernel = kernel } });
    snprintf(name, sizeof name, "%s to %s, layout %u, kernel %u", vkt_dtype_name(p.in),
             vkt_dtype_name(p.out), p.layout, kernel);
    return name;
}

/* Edges of every tile size in use, tiny and odd sizes, deep and shallow products, epilogues, with
 * the kernel that the device's class gets; the first few with every other kernel too. */
const char *vkt__matmul_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const char *const forms[] = { "NT", "NN", "TN" };
    enum { FOR_EVERY_KERNEL = 2 };
    static const struct {
        const char *name;
        uint32_t m, n, k;
    } s[] = {
        { "tiles + 1", 129, 257, 129 }, { "tiles + 2", 130, 34, 70 },
        { "flat", 10, 200, 60 },        { "odd", 33, 65, 31 },
        { "no inner", 6, 10, 0 },       { "one", 1, 1, 1 },
        { "row", 1, 129, 3 },           { "column", 127, 1, 17 },
        { "pairs", 34, 66, 34 },        { "tiles", 128, 128, 64 },
        { "tiles - 1", 63, 127, 127 },  { "thin", 200, 10, 60 },
        { "a row", 1, 200, 66 },        { "a row of tiles", 1, 1100, 38 },
        { "a row, odd", 1, 131, 70 },   { "deep", 5, 9, 3001 },
        { "no inner, odd", 5, 9, 0 },   { "no rows", 0, 9, 4 },
    };
    enum { OWN = 3 * VKT_COUNT(s), TILES = 9 };
    const uint32_t others = 3 * FOR_EVERY_KERNEL * n_kernels(),
                   epilogues = VKT__N_ACTS + n_shaders();
    static char name[64];
    uint32_t kernel = 0, j = i / 3, l = i % 3;
    if (i >= OWN + others) {
        vkt_act act = (vkt_act)(i - OWN - others);
        if (i >= OWN + others + epilogues) return sample16(op, g, i - OWN - others - epilogues);
        if ((int)act >= VKT__N_ACTS) {
            kernel = kernel_at(act - VKT__N_ACTS);
            act = VKT_ACT_GELU;
        }
        vkt_tensor *x = vkt__sample2(g, rows_for(kernel, 37), 20), *w = vkt__sample2(g, 41, 20),
                   *b = vkt__sample1(g, 41);
        vkt__op(g, op, (vkt_tensor *[]) { x, w, b }, 3,
                (vkt_attr) { .matmul = { .layout = VKT_LAYOUT_NT, .act = act, .kernel = kernel } });
        snprintf(name, sizeof name, "bias%s%s, kernel %u", act ? " " : "",
                 act ? vkt__acts[act].name : "", kernel);
        return name;
    }
    vkt_dtype dtype = VKT_F32;
    if (i >= OWN) {
        kernel = 1 + (i - OWN) / (3 * FOR_EVERY_KERNEL);
        j = (i - OWN) / 3 % FOR_EVERY_KERNEL;
        if (is_narrow(kernel)) dtype = VKT_F16, j = j ? TILES : j;
    }
    vkt_tensor *in[2];
    uint32_t m = rows_for(kernel, s[j].m);
    operands(g, &(vkt__product) { (vkt_layout)l, m, s[j].n, s[j].k, dtype, VKT_F32 }, in);
    uint32_t sums = l != VKT_LAYOUT_TN || j % 3 == 2 ? 0
                    : j % 3 == 0                     ? VKT__SUMS_OF_A
                                                     : VKT__SUMS_OF_B;
    vkt__op(g, op, in, 2,
            (vkt_attr) { .matmul = { .layout = (vkt_layout)l, .kernel = kernel, .sums = sums } });
    snprintf(name, sizeof name, "%s %s%s, kernel %u", s[j].name, forms[l], sums ? " and sums" : "",
             kernel);
    return name;
}

/* Every activation, then every shader in every layout, then in 16 bits. */
const char *vkt__matmul_act_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    enum { ACTS = VKT__N_ACTS - 1, ODD = 2 };
    static char name[64];
    const uint32_t of_kernels = ODD * 3 * 2 * n_shaders();
    bool plus = i >= ACTS + of_kernels; /* the kernels again, with something added */
    if (plus) i -= of_kernels;
    bool by_kernel = i >= ACTS;
    uint32_t j = i - ACTS, odd = by_kernel ? j % ODD : 0,
             l = by_kernel ? j / ODD % 3 : VKT_LAYOUT_NN, which = by_kernel ? j / ODD / 3 : 0;
    bool half = which >= n_shaders();
    uint32_t kernel = by_kernel ? kernel_at(half ? which - n_shaders() : which) : 0;
    if (by_kernel && !kernel) return plus ? sample_accumulated(op, g, i - ACTS - of_kernels) : NULL;
    vkt_act act = by_kernel ? VKT_ACT_SILU : (vkt_act)(i + 1);
    vkt_dtype dtype = !half ? VKT_F32 : odd ? VKT_BF16 : VKT_F16;
    uint32_t M = rows_for(kernel, 34 - odd), N = (plus ? 68 : 66) - odd; /* fours, or pairs only */
    vkt__product p = { (vkt_layout)l, M, N, 22 - odd, dtype, dtype };
    vkt_tensor *in[VKT__MM_IN_R + 1] = { NULL };
    operands(g, &p, in);
    in[VKT__MM_IN_V] = sample_of(g, p.M, p.N, dtype);
    if (plus) in[VKT__MM_IN_R] = sample_of(g, p.M, p.N, dtype);
    vkt_attr attr = { .matmul = {
                          .layout = p.layout, .act = act, .out = dtype, .kernel = kernel } };
    vkt__op(g, op, in, VKT_COUNT(in), attr);
    snprintf(name, sizeof name, "%s, activation %u%s, layout %u, %s, kernel %u",
             vkt_dtype_name(dtype), act, plus ? " plus" : "", l, odd ? "odd" : "even", kernel);
    return name;
}

/* Every shader and layout; the last slice is shorter than the others. */
const char *vkt__matmul_parts_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    enum { ODD = 2 };
    static char name[64];
    uint32_t odd = i % ODD, l = i / ODD % 3, which = i / ODD / 3;
    bool half = which >= n_shaders();
    uint32_t kernel = kernel_at(half ? which - n_shaders() : which);
    if (!kernel) return NULL;
    vkt_dtype dtype = !half ? VKT_F32 : odd ? VKT_F16 : VKT_BF16;
    uint32_t M = rows_for(kernel, 34 - odd);
    vkt__product p = { (vkt_layout)l, M, 68 - odd, 150 - odd, dtype, VKT_F32 };
    vkt_tensor *in[2];
    operands(g, &p, in);
    vkt__op(g, op, in, 2,
            (vkt_attr) { .matmul = { .layout = (vkt_layout)l, .kernel = kernel, .slices = 3 } });
    snprintf(name, sizeof name, "%s, layout %u, %s, kernel %u", vkt_dtype_name(dtype), l,
             odd ? "odd" : "even", kernel);
    return name;
}

const char *vkt__matmul_sum_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        vkt_act act;
        bool bias, derivative, plus, step;
        vkt_dtype out;
    } s[] = {
        { "plain", VKT_ACT_NONE, false, false, false, false, VKT_F32 },
        { "bias", VKT_ACT_NONE, true, false, false, false, VKT_F32 },
        { "bias gelu", VKT_ACT_GELU, true, false, false, false, VKT_F32 },
        { "bias relu", VKT_ACT_RELU, true, false, false, false, VKT_F32 },
        { "times a derivative", VKT_ACT_SILU, false, true, false, false, VKT_F32 },
        { "f16 plain", VKT_ACT_NONE, false, false, false, false, VKT_F16 },
        { "bf16 bias gelu", VKT_ACT_GELU, true, false, false, false, VKT_BF16 },
        { "f16 times a derivative", VKT_ACT_SILU, false, true, false, false, VKT_F16 },
        { "bias gelu plus", VKT_ACT_GELU, true, false, true, false, VKT_F32 },
        { "accumulated", VKT_ACT_NONE, false, false, true, true, VKT_F32 },
        { "f16 times a derivative plus", VKT_ACT_SILU, false, true, true, false, VKT_F16 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_tensor *parts =
        vkt__sample(g, (vkt_shape) { 3, { 5, 19, 33 } }, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_tensor *bias = s[i].bias ? vkt__sample1(g, 33) : NULL,
               *v = s[i].derivative ? sample_of(g, 19, 33, s[i].out) : NULL,
               *r = s[i].plus ? sample_of(g, 19, 33, s[i].out) : NULL;
    vkt__op(g, op,
            (vkt_tensor *[]) { parts, NULL, bias, v, r, s[i].step ? micro_batch(g, false) : NULL },
            6, (vkt_attr) { .matmul = { .act = s[i].act, .out = s[i].out } });
    return s[i].name;
}
