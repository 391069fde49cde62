/* Throughput without a device: recent steps, start-up apart, bunches. */
#include "testing.h"

#include "train/speed.h"

/* A first step of 1.57 s, then 0.12 ms each, four at a time. */
static void start_up_is_apart(void **state)
{
    (void)state;
    vkt__speed s = { 0 };
    assert_true(isnan(vkt__speed_recent(&s)) && isnan(vkt__speed_all(&s)));
    for (uint64_t i = 1; i <= 1000; i++) {
        vkt__speed_add(&s, i, 1.57 + 0.12e-3 * 4 * (double)((i - 1) / 4));
        if (i < 16) assert_true(isnan(vkt__speed_recent(&s)));
    }
    REQUIRE_NEAR(vkt__speed_all(&s), 1 / 0.12e-3, 40);
    REQUIRE_NEAR(vkt__speed_recent(&s), 1 / 0.12e-3, 300); /* four of 128 */
    REQUIRE_NEAR(s.first_s, 1.57, 0);
}

static void what_is_recent_is_recent(void **state)
{
    (void)state;
    vkt__speed s = { 0 };
    double at = 0;
    for (uint64_t i = 1; i <= 300; i++) vkt__speed_add(&s, i, at += i > 150 ? 0.5 : 0.001);
    REQUIRE_NEAR(vkt__speed_recent(&s), 2, 1e-9);
    /* Slow steps need not be many. */
    s = (vkt__speed) { 0 };
    vkt__speed_add(&s, 41, 3);
    vkt__speed_add(&s, 42, 5);
    REQUIRE_NEAR(vkt__speed_recent(&s), 0.5, 0);
    REQUIRE_NEAR(vkt__speed_all(&s), 0.5, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_up_is_apart),
        cmocka_unit_test(what_is_recent_is_recent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
