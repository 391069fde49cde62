/* What a product loses on this device by the type of its operands: doctor's error table. fp32
 * products are fp32: a line for them that keeps fewer bits than fp32 sums do is a fault. */
#include <math.h>

#include "tensor/graph/sample.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/value.h"
#include "tensor/ops/matmul/ops_matmul.h"

enum { M = 64, K = 1024, SEED = 5 };

/* What this device uses under that math: as chosen; of the other math, the table's or the first
 * that fits. 0: none. */
static uint32_t kernel_for(const vkt_gpu *gpu, vkt_dtype dtype, vkt_math math)
{
    const vkt__product p = { VKT_LAYOUT_NT, M, M, K, dtype, VKT_F32, 0 };
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    uint32_t chosen = vkt__matmul_choose(gpu, &p), k = 1;
    if (vkt__matmul_splits(chosen) == (math == VKT_MATH_FAST)) return chosen;
    if (math == VKT_MATH_STRICT) return vkt__matmul_table(caps, &p);
    while (vkt__matmul_kernel_name(k) && !(vkt__matmul_splits(k) && vkt__matmul_fits(k, caps, &p)))
        k++;
    return vkt__matmul_kernel_name(k) ? k : 0;
}

/* The device's C [M, M] = A B^T with operands [M, K] rounded to dtype. */
static vkt_status multiply(vkt_gpu *gpu, vkt_dtype dtype, uint32_t kernel,
                           const double *const operand[2], float *c)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_buffer *buf = NULL;
    uint64_t bytes = M * K * vkt_dtype_bytes(dtype);
    void *data = vkt__alloc(bytes);
    vkt_tensor *in[2], *out;
    for (int i = 0; i < 2; i++) in[i] = vkt_input(g, vkt_shape2(M, K), dtype, i ? "b" : "a");
    out = vkt__op(g, &vkt__op_matmul, in, 2,
                  (vkt_attr) { .matmul = { .layout = VKT_LAYOUT_NT, .kernel = kernel } });
    vkt_keep(out, "c");
    VKT_TRY(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { 2 * bytes, VKT_MEM_DEVICE, "accuracy" }, &buf));
    for (int i = 0; i < 2; i++) {
        vkt_bind(in[i], VKT_ALL_SLOTS, buf, (uint64_t)i * bytes);
        for (uint64_t k = 0; k < M * K; k++)
            vkt__sample_encode(in[i], k, vkt__round_to(dtype, operand[i][k]), data);
        VKT_TRY(vkt_tensor_write(in[i], 0, data, bytes));
    }
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "accuracy" }));
    VKT_TRY(vkt_graph_run(g));
    VKT_TRY(vkt_tensor_read(out, 0, c, M * M * sizeof *c));
fail:
    free(data);
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &buf);
    return st;
}

static void compare(const float *c, const double *want, vkt_accuracy *a)
{
    double sum = 0, error = 0, worst = 0;
    for (uint32_t i = 0; i < M * M; i++) {
        double e = fabs((double)c[i] - want[i]);
        sum += want[i] * want[i];
        error += e * e;
        worst = e <= worst ? worst : e; /* NaN stays */
    }
    double rms = sqrt(sum / (M * M)), ulp = rms * 0x1p-23;
    a->worst = worst / ulp;
    a->rms = sqrt(error / (M * M)) / ulp;
    a->bits = 23 - log2(a->rms);
}

vkt_status vkt_measure_accuracy(vkt_gpu *gpu, vkt_accuracy out[VKT_N_ACCURACIES])
{
    static const struct {
        vkt_dtype dtype;
        vkt_math math;
    } rows[VKT_N_ACCURACIES] = { { VKT_F32, VKT_MATH_STRICT },
                                 { VKT_BF16, VKT_MATH_STRICT },
                                 { VKT_F16, VKT_MATH_STRICT },
                                 { VKT_F32, VKT_MATH_FAST } };
    vkt_status st = VKT_OK;
    double *operand[2], *want = vkt__alloc(M * M * sizeof *want);
    float *c = vkt__alloc(M * M * sizeof *c);
    for (uint64_t i = 0; i < 2; i++) {
        operand[i] = vkt__alloc(M * K * sizeof **operand);
        for (uint64_t k = 0; k < M * K; k++)
            operand[i][k] = (double)(float)vkt_rand_normal(SEED + i, VKT_RNG_TEST, k);
    }
    for (uint32_t i = 0; i < M * M; i++)
        for (uint32_t k = 0; k < K; k++)
            want[i] += operand[0][i / M * K + k] * operand[1][i % M * K + k];
    for (uint32_t i = 0; i < VKT_N_ACCURACIES; i++) {
        uint32_t kernel = kernel_for(gpu, rows[i].dtype, rows[i].math);
        out[i] = (vkt_accuracy) { .dtype = rows[i].dtype,
                                  .math = rows[i].math,
                                  .kernel = kernel ? vkt__matmul_kernel_name(kernel) : NULL };
        if (!kernel) continue;
        VKT_TRY(multiply(gpu, rows[i].dtype, kernel, (const double *const *)operand, c));
        compare(c, want, &out[i]);
    }
fail:
    for (int i = 0; i < 2; i++) free(operand[i]);
    free(want);
    free(c);
    return st;
}
