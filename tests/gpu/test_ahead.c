/* Kernels that other threads compile while the queue runs the first ones: on drivers that compile
 * at the first dispatch they do, on others none does, and results are the same. */
#include "on_device.h"

#include <volk.h>

#include "base/os.h"
#include "gpu/commands.h"
#include "testing.h"
#include "vktrain/tensor.h"

static vkt_gpu *gpu;

enum { N = 48 };

/* Four products of different kernels, one after another, from x [N, N]; the last one's numbers. */
static uint32_t products(float *y)
{
    vkt_buffer *x, *out;
    vkt_gpu_desc desc = test_gpu_desc("");
    REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
    REQUIRE_OK(vkt_buffer_create(
        gpu, &(vkt_buffer_desc) { .bytes = N * N * 4, .mem = VKT_MEM_UPLOAD, .label = "x" }, &x));
    REQUIRE_OK(vkt_buffer_create(
        gpu, &(vkt_buffer_desc) { .bytes = N * N * 4, .mem = VKT_MEM_READBACK, .label = "y" },
        &out));
    float *v = x->host;
    for (uint32_t i = 0; i < N * N; i++) v[i] = (float)(i * 7919 % 101) / 101 - 0.5f;
    vkt__buffer_written(gpu, x);
    vkt_graph *g;
    REQUIRE_OK(vkt_graph_create(gpu, &g));
    vkt_tensor *a = vkt_input(g, vkt_shape2(N, N), VKT_F32, "x"), *t = a;
    vkt_bind(a, VKT_ALL_SLOTS, x, 0);
    t = vkt_matmul(g, VKT_LAYOUT_NN, a, t);
    t = vkt_matmul(g, VKT_LAYOUT_NT, a, t);
    t = vkt_matmul(g, VKT_LAYOUT_TN, a, t);
    t = vkt_softmax(g, t);
    t = vkt_linear(g, t, a, NULL, VKT_ACT_GELU);
    vkt_bind(t, VKT_ALL_SLOTS, out, 0);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "products" }));
    REQUIRE_OK(vkt_graph_run(g));
    memcpy(y, out->host, N * N * 4);
    uint32_t made = vkt__ahead_made(gpu);
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &out);
    vkt_buffer_destroy(gpu, &x);
    return made;
}

static void late_compilers_have_helpers(void **state)
{
    (void)state;
    static float cold[N * N], warm[N * N];
    vkt__remove_tree("test_ahead_cache");
    vkt__setenv("MESA_SHADER_CACHE_DIR", "test_ahead_cache"); /* nothing is compiled yet */
    uint32_t made = products(cold);
    bool late = vkt_gpu_caps(gpu)->driver_id == VK_DRIVER_ID_MESA_LLVMPIPE && vkt__cpu_count() > 1;
    print_message("%u kernels were compiled by other threads\n", made);
    if (late)
        assert_true(made >= 1);
    else
        assert_int_equal(made, 0);
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
    vkt_gpu_destroy(&gpu);
    products(warm);
    assert_memory_equal(cold, warm, sizeof cold);
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
    vkt_gpu_destroy(&gpu);
    vkt__remove_tree("test_ahead_cache");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(late_compilers_have_helpers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
