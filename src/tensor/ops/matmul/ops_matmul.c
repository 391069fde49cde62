/* Matrix product rows: C = act(op(A) op(B) + bias) + r, or = op(A) op(B) act'(v) + r, in the
 * layouts that a linear layer's forward and backward need; A's or B's column sums beside TN. r may
 * lie where C does, which accumulates; with a step block it is left out in a step's first
 * micro-batch. Which kernel runs: matmul_kernels.c. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/value.h"
#include "tensor/graph/view.h"
#include "tensor/ops/matmul/matmul_samples.h"
#include "tensor/ops/matmul/ops_matmul.h"

enum { A, B, BIAS = VKT__MM_IN_BIAS, V, R, STEP, N_IN };
enum { C, PRE, SUMS, N_OUT }; /* PRE: before the activation */
/* matmul_sum has slices of the product at A, and nothing at B. */
enum { PARTS = A };

vkt__product vkt__product_of(const vkt_node *n)
{
    vkt_layout l = n->attr.matmul.layout;
    vkt_shape a = n->in[A]->shape, b = n->in[B]->shape;
    uint32_t batch = 0;
    if (n->attr.matmul.batched) { /* the matrices are the last two dimensions */
        batch = vkt__rows_of(a) / VKT_MAX(a.d[a.rank - 2], 1);
        a = vkt_shape2(a.d[a.rank - 2], vkt__last(a));
        b = vkt_shape2(b.d[b.rank - 2], vkt__last(b));
    }
    return (vkt__product) { .layout = l,
                            .M = l == VKT_LAYOUT_TN ? vkt__last(a) : vkt__rows_of(a),
                            .N = l == VKT_LAYOUT_NT ? b.d[0] : vkt__last(b),
                            .K = l == VKT_LAYOUT_TN ? vkt__rows_of(a) : vkt__last(a),
                            .in = n->in[A]->dtype,
                            .out = n->out[C] ? n->out[C]->dtype : n->attr.matmul.out,
                            .batch = batch };
}

/* What the epilogue reads besides a bias must be like the result. */
static bool fits_result(const vkt_node *n, uint32_t i, vkt_shape out, vkt_dtype dtype)
{
    const vkt_tensor *t = n->in[i];
    return !t || (t->dtype == dtype && vkt__last(t->shape) == vkt__last(out) &&
                  vkt__rows_of(t->shape) == vkt__rows_of(out));
}

static bool matmul_shape(vkt_node *n)
{
    const vkt_tensor *a = n->in[A], *b = n->in[B], *bias = n->in[BIAS];
    vkt_layout l = n->attr.matmul.layout;
    static const char *const forms[] = { "[M, K] and [N, K]", "[M, K] and [K, N]",
                                         "[K, M] and [K, N]" };
    if (a->shape.rank < 2 || b->shape.rank < 2)
        return vkt__shape_error(n, "%s and %s must be matrices", vkt__text(a), vkt__text(b));
    if (n->attr.matmul.batched) {
        uint32_t r = a->shape.rank, k1 = a->shape.d[l == VKT_LAYOUT_TN ? r - 2 : r - 1];
        bool fit = r == b->shape.rank && k1 == b->shape.d[l == VKT_LAYOUT_NT ? r - 1 : r - 2];
        for (uint32_t i = 0; i + 2 < r && fit; i++) fit = a->shape.d[i] == b->shape.d[i];
        if (!fit)
            return vkt__shape_error(n, "%s and %s do not fit as batches of %s", vkt__text(a),
                                    vkt__text(b), forms[l]);
    } else {
        uint32_t ka = l == VKT_LAYOUT_TN ? vkt__rows_of(a->shape) : vkt__last(a->shape);
        uint32_t kb = l == VKT_LAYOUT_NT ? vkt__last(b->shape) : vkt__rows_of(b->shape);
        if (ka != kb || (l != VKT_LAYOUT_TN && b->shape.rank != 2))
            return vkt__shape_error(n, "%s and %s do not fit as %s", vkt__text(a), vkt__text(b),
                                    forms[l]);
    }
    uint32_t M = vkt__product_of(n).M, N = vkt__product_of(n).N;
    if (bias && (bias->shape.rank != 1 || bias->shape.d[0] != N))
        return vkt__shape_error(n, "bias %s must be [%u] f32", vkt__text(bias), N);
    vkt_dtype dtype = n->attr.matmul.out;
    if (a->dtype != b->dtype || (dtype != VKT_F32 && dtype != a->dtype))
        return vkt__shape_error(n, "%s and %s must be of one type, f32, f16 or bf16; %s %s",
                                vkt__text(a), vkt__text(b), "the result f32 or the same, not",
                                vkt_dtype_name(dtype));
    vkt_shape out = vkt_shape2(M, N);
    if (l != VKT_LAYOUT_TN || n->attr.matmul.batched) {
        out = a->shape;
        out.d[out.rank - 1] = N;
        if (n->attr.matmul.batched) out.d[out.rank - 2] = M;
    }
    if (n->attr.matmul.slices) out = (vkt_shape) { 3, { n->attr.matmul.slices, M, N } };
    vkt__out(n, C, out, dtype);
    vkt_act act = n->attr.matmul.act;
    for (uint32_t i = V; i <= R; i++)
        if (!fits_result(n, i, out, dtype))
            return vkt__shape_error(n, "%s must be like the result %s", vkt__text(n->in[i]),
                                    vkt__text(n->out[C]));
    if (!n->in[V] && act != VKT_ACT_NONE && !vkt__act_from_output(act))
        vkt__out(n, PRE, out, dtype);
    if (n->attr.matmul.sums) {
        VKT_ASSERT(l == VKT_LAYOUT_TN && !n->attr.matmul.batched && !n->attr.matmul.slices &&
                   !bias);
        vkt__out(n, SUMS, vkt_shape1(n->attr.matmul.sums == VKT__SUMS_OF_A ? M : N), VKT_F32);
    }
    return true;
}

/* A node's kernel: by a test's wish, by tuning, by the table. */
static uint32_t kernel_of(const vkt_gpu *gpu, const vkt_node *n)
{
    vkt__product p = vkt__product_of(n);
    uint32_t kernel = n->attr.matmul.kernel;
    if (!kernel) kernel = vkt__matmul_choose(gpu, &p);
    return vkt__matmul_fits(kernel, vkt_gpu_caps(gpu), &p) ? kernel : 1;
}

static const char *matmul_kernel(const vkt_gpu *gpu, const vkt_node *n)
{
    return vkt__matmul_kernel_name(kernel_of(gpu, n));
}

/* What the kernels share of their push structs; `aux` is what a node saves, or takes a derivative
 * at. What is absent gets C's address or A's: CPU drivers load what a flag leaves out. */
static struct matmul_params params_of(const vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *c = n->out[C];
    struct matmul_params p = { .bias = vkt__addr_or(rec, n->in[BIAS], c),
                               .c = vkt__addr(rec, c),
                               .aux = vkt__addr_or(rec, n->in[V] ? n->in[V] : n->out[PRE], c),
                               .r = vkt__addr_or(rec, n->in[R], c),
                               .step = vkt__addr_or(rec, n->in[STEP], n->in[A]) };
    if (n->out[SUMS]) p.bias = vkt__addr(rec, n->out[SUMS]);
    p.flags = (n->in[BIAS] ? VKT_MM_BIAS : 0) | (n->out[PRE] ? VKT_MM_PRE : 0) |
              (n->out[SUMS] ? VKT_MM_SUMS : 0);
    return p;
}

static uint32_t act_of(const vkt_node *n)
{
    return (uint32_t)n->attr.matmul.act + (n->in[V] ? VKT_MM_ACT_BWD : 0) +
           (n->in[STEP] ? VKT_MM_MICRO : 0) + (n->in[R] ? VKT_MM_RESIDUAL : 0) +
           (n->attr.matmul.sums == VKT__SUMS_OF_B ? VKT_MM_SUMS_B : 0);
}

static void matmul_record(vkt__rec *rec, const vkt_node *n)
{
    vkt__product prod = vkt__product_of(n);
    struct matmul_params p = params_of(rec, n);
    uint32_t slices = VKT_MAX(n->attr.matmul.slices, 1);
    p.a = vkt__addr(rec, n->in[A]);
    p.b = vkt__addr(rec, n->in[B]);
    p.M = prod.M;
    p.N = prod.N;
    p.K = prod.K;
    p.slice = vkt__matmul_slice(p.K, slices);
    p.batch = prod.batch;
    vkt__matmul_launch l = vkt__matmul_prepare(kernel_of(rec->gpu, n), rec->caps, &prod, slices,
                                               act_of(n), p.a, p.b, p.c | p.aux | p.r);
    p.tiles = (uint32_t)l.groups;
    if (n->out[SUMS]) l.groups += (n->out[SUMS]->count + l.sums - 1) / l.sums;
    vkt__dispatch(rec, l.shader, l.spec, l.n_spec, &p, sizeof p, l.groups);
}

static bool matmul_sum_shape(vkt_node *n)
{
    vkt_shape parts = n->in[PARTS]->shape, out = { parts.rank - 1, { 0 } };
    memcpy(out.d, parts.d + 1, out.rank * sizeof *out.d);
    vkt_act act = n->attr.matmul.act;
    vkt__out(n, C, out, n->attr.matmul.out);
    if (act != VKT_ACT_NONE && !n->in[V] && !vkt__act_from_output(act))
        vkt__out(n, PRE, out, n->attr.matmul.out);
    return true;
}

static void matmul_sum_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape parts = n->in[PARTS]->shape;
    struct matmul_params p = params_of(rec, n);
    vkt_dtype out = n->out[C]->dtype;
    p.a = vkt__addr(rec, n->in[PARTS]);
    p.M = vkt__rows_of(n->out[C]->shape);
    p.N = vkt__last(parts);
    p.K = parts.d[0];
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_LAYOUT, VKT_LAYOUT_NT },
                                   { VKT_SPEC_ACT, act_of(n) },
                                   { VKT_SPEC_BF16, out == VKT_BF16 },
                                   { VKT_SPEC_C_PAIRS, out != VKT_F32 } };
    uint64_t count = n->out[C]->count, invocations = out == VKT_F32 ? count : (count + 1) / 2;
    vkt__dispatch(rec, out == VKT_F32 ? VKT_SHADER_MATMUL_SUM : VKT_SHADER_MATMUL_SUM_HALF, spec,
                  VKT_COUNT(spec), &p, sizeof p, (invocations + wg - 1) / wg);
}

static void end_ref(const vkt_node *n, uint64_t i, double sum, double *const *in,
                    double *const *out)
{
    bool first = in[STEP] && vkt__ref_step(in[STEP]).micro == 0;
    double r = in[R] && !first ? in[R][i] : 0;
    if (out[PRE]) out[PRE][i] = sum;
    out[C][i] = r + (in[V] ? sum * vkt__act_derivative(n->attr.matmul.act, in[V][i])
                           : vkt__act(n->attr.matmul.act, sum));
}

static void matmul_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt__product p = vkt__product_of(n);
    vkt_layout l = p.layout;
    uint32_t M = p.M, N = p.N, K = p.K, slices = VKT_MAX(n->attr.matmul.slices, 1),
             slice = p.batch ? 0 : vkt__matmul_slice(K, slices);
    for (uint64_t s = 0; s < VKT_MAX(p.batch, slices); s++)
        for (uint64_t m = 0; m < M; m++)
            for (uint64_t j = 0; j < N; j++) {
                const double *a = in[A] + (p.batch ? s * M * K : 0),
                             *b = in[B] + (p.batch ? s * N * K : 0);
                double sum = 0;
                for (uint64_t k = s * slice, end = p.batch ? K : VKT_MIN(k + slice, K); k < end;
                     k++)
                    sum += a[l == VKT_LAYOUT_TN ? k * M + m : m * K + k] *
                           b[l == VKT_LAYOUT_NT ? j * K + k : k * N + j];
                end_ref(n, (s * M + m) * N + j, sum + (in[BIAS] ? in[BIAS][j] : 0), in, out);
            }
    bool of_a = n->attr.matmul.sums == VKT__SUMS_OF_A;
    for (uint64_t c = 0, width = of_a ? M : N; c < width && out[SUMS]; c++) {
        out[SUMS][c] = 0;
        for (uint64_t k = 0; k < K; k++) out[SUMS][c] += in[of_a ? A : B][k * width + c];
    }
}

static void matmul_sum_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t count = n->out[C]->count, N = vkt__last(n->in[PARTS]->shape);
    for (uint64_t i = 0; i < count; i++) {
        double sum = 0;
        for (uint64_t s = 0; s < n->in[PARTS]->shape.d[0]; s++) sum += in[PARTS][s * count + i];
        end_ref(n, i, sum + (in[BIAS] ? in[BIAS][i % N] : 0), in, out);
    }
}

/* Gradients of parameters, and of what is cast from f32, are f32; those of activations are like
 * them. */
static vkt_dtype grad_dtype(const vkt_tensor *t)
{
    t = vkt__root(t);
    bool rounded = !t->node || (t->node->op == &vkt__op_cast && t->node->in[0]->dtype == VKT_F32);
    return rounded ? VKT_F32 : t->dtype;
}

static vkt_tensor *product(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b,
                           vkt_dtype dtype, bool batched)
{
    return vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { a, b }, 2,
                   (vkt_attr) { .matmul = { .layout = layout, .out = dtype, .batched = batched } });
}

static void matmul_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_act act = n->attr.matmul.act;
    vkt_tensor *a = n->in[A], *b = n->in[B], *d;
    /* After differentiation rewrites add more: after relu the result no longer tells the slope. */
    VKT_ASSERT(!n->in[STEP] && (!n->in[R] || act == VKT_ACT_NONE || n->out[PRE]));
    if (!dy[0]) return;
    if (n->in[R] && vkt__needs(n->in[R])) dx[R] = dy[0];
    d = vkt__real(g, dy[0], n->out[C]);
    if (act != VKT_ACT_NONE) d = vkt__act_bwd(g, d, n->out[PRE] ? n->out[PRE] : n->out[C], act);
    if (n->in[BIAS] && vkt__needs(n->in[BIAS])) dx[BIAS] = vkt_sum_rows(g, vkt_cast(g, d, VKT_F32));
    d = vkt_cast(g, d, a->dtype);
    vkt_dtype da = grad_dtype(a), db = grad_dtype(b);
    bool batched = n->attr.matmul.batched;
    switch (n->attr.matmul.layout) {
    case VKT_LAYOUT_NT:
        if (vkt__needs(a)) dx[A] = product(g, VKT_LAYOUT_NN, d, b, da, batched);
        if (vkt__needs(b)) dx[B] = product(g, VKT_LAYOUT_TN, d, a, db, batched);
        break;
    case VKT_LAYOUT_NN:
        if (vkt__needs(a)) dx[A] = product(g, VKT_LAYOUT_NT, d, b, da, batched);
        if (vkt__needs(b)) dx[B] = product(g, VKT_LAYOUT_TN, a, d, db, batched);
        break;
    case VKT_LAYOUT_TN:
        if (vkt__needs(a)) dx[A] = product(g, VKT_LAYOUT_NT, b, d, da, batched);
        if (vkt__needs(b)) dx[B] = product(g, VKT_LAYOUT_NN, a, d, db, batched);
        break;
    }
}

static vkt_cost matmul_cost(const vkt_node *n)
{
    vkt__product p = vkt__product_of(n);
    vkt_cost c = { 2.0 * p.M * p.N * p.K * VKT_MAX(p.batch, 1),
                   (double)(n->in[A]->bytes + n->in[B]->bytes + n->out[C]->bytes) };
    if (n->out[PRE]) c.bytes += (double)n->out[PRE]->bytes;
    if (n->out[SUMS]) c.bytes += (double)n->out[SUMS]->bytes;
    if (n->in[V]) c.bytes += (double)n->in[V]->bytes;
    if (n->in[R]) c.bytes += (double)n->in[R]->bytes;
    return c;
}

static double matmul_terms(const vkt_node *n)
{
    uint32_t kernel = vkt__gpu_of(n->g) ? kernel_of(vkt__gpu_of(n->g), n) : 1;
    return vkt__matmul_terms(kernel, vkt__product_of(n).K) + vkt__acts[n->attr.matmul.act].terms;
}

static double matmul_sum_terms(const vkt_node *n)
{
    return n->in[PARTS]->shape.d[0] + vkt__acts[n->attr.matmul.act].terms;
}

bool vkt__matmul_is_named(const vkt_node *n)
{
    bool product = n->op == &vkt__op_matmul || n->op == &vkt__op_matmul_act_bwd ||
                   n->op == &vkt__op_matmul_parts;
    return product && n->attr.matmul.kernel;
}

const vkt_op vkt__op_matmul = { .name = "matmul",
                                .n_in = N_IN,
                                .n_out = N_OUT,
                                .in = { [A] = VKT_FACTOR | VKT_NARROW | VKT_NARROW_ODD,
                                        [B] = VKT_FACTOR | VKT_NARROW | VKT_NARROW_ODD,
                                        [BIAS] = VKT_OPTIONAL,
                                        [V] = VKT_OPTIONAL,
                                        [R] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW |
                                              VKT_NARROW_ODD,
                                        [STEP] = VKT_OPTIONAL | VKT_WORDS },
                                .out = { [C] = VKT_INPLACE | VKT_NARROW, [PRE] = VKT_NARROW },
                                .alike = true,
                                .shape = matmul_shape,
                                .record = matmul_record,
                                .grad = matmul_grad,
                                .kernel = matmul_kernel,
                                .ref = matmul_ref,
                                .cost = matmul_cost,
                                .terms = matmul_terms,
                                .sample = vkt__matmul_sample };
const vkt_op vkt__op_matmul_act_bwd = {
    .name = "matmul_act_bwd",
    .n_in = N_IN,
    .n_out = 1,
    .in = { [A] = VKT_FACTOR | VKT_NARROW | VKT_NARROW_ODD,
            [B] = VKT_FACTOR | VKT_NARROW | VKT_NARROW_ODD,
            [BIAS] = VKT_OPTIONAL,
            [V] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW | VKT_NARROW_ODD,
            [R] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW | VKT_NARROW_ODD,
            [STEP] = VKT_OPTIONAL | VKT_WORDS },
    .out = { VKT_INPLACE | VKT_NARROW },
    .alike = true,
    .shape = matmul_shape,
    .record = matmul_record,
    .kernel = matmul_kernel,
    .ref = matmul_ref,
    .cost = matmul_cost,
    .terms = matmul_terms,
    .sample = vkt__matmul_act_bwd_sample
};
const vkt_op vkt__op_matmul_parts = { .name = "matmul_parts",
                                      .n_in = B + 1,
                                      .n_out = 1,
                                      .in = { [A] = VKT_FACTOR | VKT_NARROW | VKT_NARROW_ODD,
                                              [B] = VKT_FACTOR | VKT_NARROW | VKT_NARROW_ODD },
                                      .shape = matmul_shape,
                                      .record = matmul_record,
                                      .kernel = matmul_kernel,
                                      .ref = matmul_ref,
                                      .cost = matmul_cost,
                                      .terms = matmul_terms,
                                      .sample = vkt__matmul_parts_sample };
const vkt_op vkt__op_matmul_sum = {
    .name = "matmul_sum",
    .n_in = N_IN,
    .n_out = PRE + 1,
    .in = { [B] = VKT_OPTIONAL,
            [BIAS] = VKT_OPTIONAL,
            [V] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW | VKT_NARROW_ODD,
            [R] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW | VKT_NARROW_ODD,
            [STEP] = VKT_OPTIONAL | VKT_WORDS },
    .out = { [C] = VKT_INPLACE | VKT_NARROW, [PRE] = VKT_NARROW },
    .alike = true,
    .shape = matmul_sum_shape,
    .record = matmul_sum_record,
    .ref = matmul_sum_ref,
    .terms = matmul_sum_terms,
    .sample = vkt__matmul_sum_sample
};

vkt_tensor *vkt_matmul_as(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b,
                          vkt_dtype dtype)
{
    return product(g, layout, a, b, dtype, false);
}

vkt_tensor *vkt_matmul_batched(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b,
                               vkt_dtype dtype)
{
    return product(g, layout, a, b, dtype, true);
}

vkt_tensor *vkt_matmul(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b)
{
    return vkt_matmul_as(g, layout, a, b, a->dtype);
}

vkt_tensor *vkt_linear(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b, vkt_act act)
{
    return vkt_linear_as(g, x, w, b, act, x->dtype);
}

vkt_tensor *vkt_linear_as(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b, vkt_act act,
                          vkt_dtype dtype)
{
    return vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { x, w, b }, 3,
                   (vkt_attr) { .matmul = { .layout = VKT_LAYOUT_NT, .act = act, .out = dtype } });
}
