/* Kernels of products on matrix units that devices are to time before they take them, where this
 * driver runs them: three layouts, of whole tiles or of ragged edges with an epilogue; against the
 * twin. Each name once. */
#include "testing.h"

#include "tensor/check/check.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/matmul/ops_matmul.h"

static vkt_gpu *gpu;

static vkt_tensor *sample(vkt_graph *g, uint32_t rows, uint32_t cols, vkt_dtype type)
{
    return vkt__sample(g, vkt_shape2(rows, cols), type, VKT_HINT_NORMAL, 0);
}

static void compare(uint32_t kernel, vkt__product p, bool ended)
{
    char why[256] = "";
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_layout l = p.layout;
    vkt_tensor *in[VKT__MM_IN_R + 1] = {
        l == VKT_LAYOUT_TN ? sample(g, p.K, p.M, p.in) : sample(g, p.M, p.K, p.in),
        l == VKT_LAYOUT_NT ? sample(g, p.N, p.K, p.in) : sample(g, p.K, p.N, p.in),
    };
    if (ended) in[VKT__MM_IN_BIAS] = vkt__sample(g, vkt_shape1(p.N), VKT_F32, VKT_HINT_NORMAL, 0);
    if (ended) in[VKT__MM_IN_R] = sample(g, p.M, p.N, p.out);
    vkt__op(g, &vkt__op_matmul, in, VKT__MM_IN_R + 1,
            (vkt_attr) { .matmul = { .layout = l,
                                     .kernel = kernel,
                                     .out = p.out,
                                     .act = ended ? VKT_ACT_RELU : VKT_ACT_NONE } });
    REQUIRE_OK(vkt__check_graph(gpu, g, false, why, sizeof why));
    if (*why)
        fail_msg("%s %s %u x %u x %u: %s", vkt__matmul_kernel_name(kernel), vkt_layout_name(l), p.M,
                 p.N, p.K, why);
    vkt_graph_destroy(&g);
}

/* What the table takes test_ops has compared. A CPU driver takes minutes to compile large tiles,
 * and where a subgroup has matrices of any size there is one tile for all, written out or not. */
static bool is_compared(uint32_t k, const vkt_caps *c)
{
    const char *name = vkt__matmul_kernel_name(k);
    bool small = !strcmp(name, "matrix.32x32.twice") || !strcmp(name, "matrix2.128x256.rolled");
    return vkt__matmul_on_units(k) && !vkt__matmul_in_table(k) && (c->type != VKT_GPU_CPU || small);
}

static void kernels_on_units_agree_with_their_twins(void **state)
{
    (void)state;
    static const struct {
        uint32_t M, N, K;
    } shapes[] = { { 64, 64, 128 }, { 70, 66, 200 } };
    const vkt_caps *c = vkt_gpu_caps(gpu);
    uint32_t n = 0;
    for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++)
        for (int l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN; l++) {
            size_t i = (k + (uint32_t)l) % VKT_COUNT(shapes);
            vkt__product p = {
                (vkt_layout)l, shapes[i].M, shapes[i].N, shapes[i].K, VKT_F16, VKT_F32, 0
            };
            if (!is_compared(k, c) || !vkt__matmul_fits(k, c, &p)) continue;
            p.out = i == 1 ? VKT_F16 : VKT_F32;
            compare(k, p, i == 1);
            n++;
        }
    if (!n) skip();
}

static void names_are_told_apart(void **state)
{
    (void)state;
    for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++)
        for (uint32_t i = 1; i < k; i++)
            assert_string_not_equal(vkt__matmul_kernel_name(k), vkt__matmul_kernel_name(i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_on_units_agree_with_their_twins),
        cmocka_unit_test(names_are_told_apart),
    };
    const vkt_gpu_desc desc = { .cap = getenv("VKT_TEST_CAP"),
                                .validate = getenv("VKT_TEST_VALIDATE") != NULL };
    if (vkt_gpu_create(&desc, &gpu) != VKT_OK) return 1;
    int failed = cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
