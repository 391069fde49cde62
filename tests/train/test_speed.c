/* Throughput without a device: recent steps, start-up apart, bunches; shares of ranks by it. */
#include "testing.h"

#include "train/shares.h"
#include "train/measures/speed.h"

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

static void a_batch_is_shared_by_speed(void **state)
{
    (void)state;
    enum { RANKS = 3 };
    uint32_t rows[RANKS] = { 8, 8, 9 }, shares[RANKS];
    /* The second takes four times as long, the third for one example more as long as the first. */
    vkt__shares_by_speed((double[]) { 8, 32, 9 }, rows, RANKS, shares);
    assert_int_equal(shares[0], shares[2]);
    assert_true(shares[0] >= 4 * shares[1] - 3 && shares[0] <= 4 * shares[1] + 3);
    vkt_config c = { .ranks = RANKS, .rank = 1, .shares = shares };
    vkt__share s = vkt__share_of(&c, 90);
    assert_int_equal(s.row, 40);
    assert_int_equal(s.rows, 10);
    /* Not for a few percent, nor down to nothing. */
    vkt__shares_by_speed((double[]) { 8, 8.3, 9 }, rows, RANKS, shares);
    assert_true(shares[0] == 1 && shares[1] == 1 && shares[2] == 1);
    vkt__shares_by_speed((double[]) { 8, 1e9, 9 }, rows, RANKS, shares);
    assert_int_equal(shares[1], 1);
}

static void shares_are_all_of_a_batch(void **state)
{
    (void)state;
    static const uint32_t uneven[] = { 3, 1, 1000000, 7 };
    for (int k = 0; k < 2; k++)
        for (uint32_t n = 4; n < 300; n++) {
            vkt_config c = { .ranks = 4, .shares = k ? uneven : NULL };
            for (uint32_t at = 0; c.rank < 4; c.rank++) {
                vkt__share s = vkt__share_of(&c, n);
                assert_int_equal(s.row, at);
                at += s.rows;
                if (c.rank == 3) assert_int_equal(at, n);
                if (!k) assert_true(s.rows >= n / 4);
            }
        }
    assert_int_equal(vkt__share_of(&(vkt_config) { .ranks = 1, .shares = uneven }, 5).rows, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_up_is_apart),
        cmocka_unit_test(what_is_recent_is_recent),
        cmocka_unit_test(a_batch_is_shared_by_speed),
        cmocka_unit_test(shares_are_all_of_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
