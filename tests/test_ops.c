/* Every row's sample cases on the device that VKT_DEVICE and VKT_TEST_CAP name, against the twins. */
#include "testing.h"

#include "vktrain/tensor.h"

static vkt_gpu *gpu;

static void print_row(void *user, const vkt_check_result *r)
{
    (void)user;
    printf("  %-16s %3u cases, %3.0f%% of the tolerance%s%s\n", r->op, r->n_cases, 100 * r->worst, r->n_failed ? ": " : "",
           r->n_failed ? r->detail : "");
}

static void kernels_agree_with_their_twins(void **state)
{
    (void)state;
    REQUIRE_OK(vkt_check_ops(gpu, print_row, NULL));
}

static void validation_is_silent(void **state)
{
    (void)state;
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
}

int main(void)
{
    vkt_gpu_desc desc = { .cap = getenv("VKT_TEST_CAP"), .validate = getenv("VKT_TEST_VALIDATE") != NULL, .no_cache = true };
    if (vkt_gpu_create(&desc, &gpu) != VKT_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_with_their_twins),
        cmocka_unit_test(validation_is_silent),
    };
    int failed = cmocka_run_group_tests_name("ops", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
