/* What may crash in a driver's compiler is tried in another process first: this test, started again
 * with the words that vktrain gets. What that process does is in VKT_TEST_CHILD. */
#define DIR "units_apart_test"
#include "own_folder.h"

#include <signal.h>

#include "gpu/apart.h"
#include "gpu/gpu_vk.h"
#include "gpu/journal.h"
#include "tensor/check/units.h"

#define STARTED DIR "/started"
#define JOURNAL DIR "/choices-1-left-out.txt"

/* A device that only plans, with a journal. */
static vkt_gpu *planned(void)
{
    vkt_gpu *gpu;
    REQUIRE_OK(vkt__gpu_plan(&(vkt_caps) { .name = "Fake 9000", .driver_info = "1.2.3" }, &gpu));
    snprintf(gpu->choices_path, sizeof gpu->choices_path, DIR "/choices-1.txt");
    vkt__journal_open(gpu);
    return gpu;
}

/* ---- the other process ---- */

static void crash(void)
{
#ifndef _WIN32
    raise(SIGKILL); /* as a crash, without a core */
#endif
    abort();
}

static VKAPI_ATTR VkResult VKAPI_CALL crash_in_compiler(VkDevice device, VkPipelineCache cache,
                                                        uint32_t n,
                                                        const VkComputePipelineCreateInfo *info,
                                                        const VkAllocationCallbacks *a,
                                                        VkPipeline *out)
{
    (void)device, (void)cache, (void)n, (void)info, (void)a, (void)out;
    crash();
    return VK_SUCCESS;
}

static vkt_gpu *real(const char *index)
{
    vkt_gpu *gpu;
    REQUIRE_OK(vkt_gpu_create(
        &(vkt_gpu_desc) { .device = index, .cap = getenv("VKT_TEST_CAP"), .cache_dir = DIR },
        &gpu));
    ((vkt_caps *)(uintptr_t)vkt_gpu_caps(gpu))->klass = VKT_GPU_CLASS_NVIDIA;
    return gpu;
}

static int child(const char *mode, char **argv)
{
    FILE *f = fopen(STARTED, "a");
    if (f) {
        fputs("x", f);
        fclose(f);
    }
    if (!strcmp(mode, "silent")) return 0;
    vkt_gpu *gpu = !strcmp(mode, "driver") ? real(argv[3]) : planned();
    puts(VKT__APART_OPENED);
    fflush(stdout);
    if (!strcmp(mode, "driver")) {
        vkCreateComputePipelines = crash_in_compiler;
        REQUIRE_OK(vkt__units_check(gpu, VKT_F16));
    } else if (!strcmp(mode, "nameless")) {
        crash();
    } else if (!strcmp(mode, "kernels")) {
        static const char *const names[] = { "matrix.32x32", "matrix2.128x128" };
        for (size_t i = 0; i < VKT_COUNT(names); i++) {
            if (vkt__left_out(gpu, names[i], "matmul 1 2 3")) continue;
            vkt__trying(gpu, names[i], "matmul 1 2 3");
            crash();
        }
    }
    puts(VKT__APART_DONE);
    return 0;
}

/* ---- */

static size_t n_started(void)
{
    int64_t n = vkt__file_size(STARTED);
    vkt__file_remove(STARTED);
    return n > 0 ? (size_t)n : 0;
}

static void two_kernels_that_crash_are_left_out(void **state)
{
    (void)state;
    vkt__setenv("VKT_TEST_CHILD", "kernels");
    vkt_helper_set(true);
    for (int again = 0; again < 2; again++) {
        TEST_LOG_CAPTURE();
        vkt_gpu *gpu = planned();
        assert_true(vkt__tried_apart(gpu, "f16"));
        assert_int_equal(n_started(), again ? 0 : 3); /* each crash, and the rest */
        assert_true(vkt__left_out(gpu, "matrix.32x32", "matmul 1 2 3"));
        assert_true(vkt__left_out(gpu, "matrix2.128x128", "matmul 1 2 3"));
        assert_false(vkt__left_out(gpu, "matrix.64x64", "matmul 1 2 3"));
        if (!again) REQUIRE_LOGGED("an earlier run crashed while trying kernel matrix.32x32");
        vkt_gpu_destroy(&gpu);
    }
    vkt__setenv("VKT_TEST_CHILD", "fine"); /* another type is another question */
    vkt_gpu *gpu = planned();
    assert_true(vkt__tried_apart(gpu, "bf16"));
    assert_int_equal(n_started(), 1);
    assert_true(vkt__tried_apart(gpu, "f16") && vkt__tried_apart(gpu, "bf16"));
    assert_int_equal(n_started(), 0);
    gpu->caps.driver_version++; /* and another driver is another device */
    assert_true(vkt__tried_apart(gpu, "f16"));
    assert_int_equal(n_started(), 1);
    vkt_gpu_destroy(&gpu);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void what_tells_nothing_is_not_kept(void **state)
{
    (void)state;
    static const struct {
        const char *child;
        bool helps, serves;
        size_t n;
    } of[] = { { "nameless", true, false, 1 },
               { "silent", true, true, 1 },
               { "fine", false, true, 0 } };
    for (size_t i = 0; i < VKT_COUNT(of); i++) {
        vkt__setenv("VKT_TEST_CHILD", of[i].child);
        vkt_helper_set(of[i].helps);
        for (int again = 0; again < 2; again++) {
            vkt_gpu *gpu = planned();
            assert_int_equal(vkt__tried_apart(gpu, "f16"), of[i].serves);
            assert_int_equal(n_started(), of[i].n);
            gpu->journal_path[0] = 0; /* nowhere to keep what comes out */
            assert_true(vkt__tried_apart(gpu, "f16"));
            assert_int_equal(n_started(), 0);
            vkt_gpu_destroy(&gpu);
        }
    }
}

/* On a driver with matrix units, taken for NVIDIA's, whose compiler crashes in the first kernel. */
static void a_driver_that_crashes_loses_its_matrix_units_only(void **state)
{
    (void)state;
    vkt_gpu *gpu = real(NULL);
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    if (!caps->coopmat || !caps->coopmat_f16[0]) {
        vkt_gpu_destroy(&gpu);
        skip();
    }
    vkt__setenv("VKT_TEST_CHILD", "driver");
    vkt_helper_set(true);
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt__units_check(gpu, VKT_F16));
    assert_false(caps->coopmat);
    assert_true(n_started() >= 1);
    assert_int_equal(vkt_gpu_get_stats(gpu).n_pipelines, 0);
    REQUIRE_LOGGED("an earlier run crashed while trying kernel matrix.32x32");
    REQUIRE_LOGGED("the device's matrix units are not used: kernel matrix.32x32 for f16 products: "
                   "it is no longer used, because a run crashed in it");
    vkt_buffer *b = NULL; /* and the device is there still */
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 256, VKT_MEM_DEVICE, "b" }, &b));
    vkt_buffer_destroy(gpu, &b);
    vkt_gpu_destroy(&gpu);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

int main(int argc, char **argv)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    if (argc > 3 && !strcmp(argv[1], VKT__APART_COMMAND))
        return child(getenv("VKT_TEST_CHILD"), argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_kernels_that_crash_are_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(what_tells_nothing_is_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_driver_that_crashes_loses_its_matrix_units_only, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("units apart", tests, NULL, NULL);
}
