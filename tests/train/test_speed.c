/* Throughput without a device: recent steps, start-up apart, bunches; shares of ranks by it. */
#include "testing.h"

#include "train/ranks/shares.h"
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
    /* The second takes four times as long. */
    vkt__rank_cost cost[RANKS] = { { 0, 1 }, { 0, 4 }, { 0, 1 } };
    uint32_t shares[RANKS];
    vkt__shares_by_cost(cost, RANKS, 90, shares);
    assert_true(shares[0] == 40 && shares[1] == 10 && shares[2] == 40);
    vkt_config c = { .ranks = RANKS, .rank = 1, .shares = shares };
    assert_int_equal(vkt__share_of(&c, 90).row, 40);
    assert_int_equal(vkt__share_of(&c, 90).rows, 10);
    /* What does not depend on the examples: 30 + 4 n = n', n + 2 n' = 90. */
    cost[1].fixed = 30;
    vkt__shares_by_cost(cost, RANKS, 90, shares);
    assert_true(shares[0] == 44 && shares[1] == 3 && shares[2] == 43);
    REQUIRE_NEAR(vkt__longest_ms(cost, RANKS, shares), 44, 1e-9);
    /* Everyone has one. */
    cost[1].fixed = 1e9, cost[2].each = 1e-9;
    for (uint32_t n = RANKS; n < 50; n++) {
        vkt__shares_by_cost(cost, RANKS, n, shares);
        assert_true(shares[0] && shares[1] == 1 && shares[2]);
        assert_int_equal(shares[0] + shares[1] + shares[2], n);
    }
}

/* No other shares are done sooner. */
static void shares_are_the_best_ones(void **state)
{
    (void)state;
    static const vkt__rank_cost costs[][3] = { { { 0, 1 }, { 0, 4 }, { 0, 1 } },
                                               { { 0, 1 }, { 30, 4 }, { 0, 1 } },
                                               { { 2, 1 }, { 9, 1 }, { 9, 2 } },
                                               { { 5, 3 }, { 5, 2 }, { 40, 1 } } };
    for (size_t k = 0; k < VKT_COUNT(costs); k++)
        for (uint32_t n = 3; n < 24; n++) {
            uint32_t got[3];
            double best = INFINITY;
            for (uint32_t a = 1; a < n - 1; a++)
                for (uint32_t b = 1; a + b < n; b++)
                    best =
                        fmin(best, vkt__longest_ms(costs[k], 3, (uint32_t[]) { a, b, n - a - b }));
            vkt__shares_by_cost(costs[k], 3, n, got);
            REQUIRE_NEAR(vkt__longest_ms(costs[k], 3, got), best, 1e-9);
        }
}

static void a_rank_can_be_in_the_way(void **state)
{
    (void)state;
    double without;
    vkt__rank_cost cost[] = { { 5, 1 }, { 200, 4 }, { 5, 1 } };
    assert_int_equal(vkt__rank_in_the_way(cost, 3, 90, &without), 1);
    REQUIRE_NEAR(without, 50, 1e-9);
    cost[1].fixed = 30; /* 47.8 ms with it */
    assert_int_equal(vkt__rank_in_the_way(cost, 3, 90, &without), 3);
    assert_int_equal(vkt__rank_in_the_way(cost, 1, 90, &without), 1);
    cost[1].fixed = 47; /* 51 ms with it: a fiftieth is no gain */
    assert_int_equal(vkt__rank_in_the_way(cost, 3, 90, &without), 3);
    cost[1].fixed = 49; /* 53 ms: more than a twentieth */
    assert_int_equal(vkt__rank_in_the_way(cost, 3, 90, &without), 1);
    REQUIRE_NEAR(without, 50, 1e-9);
    /* What takes less than a millisecond is as long as it is. */
    const vkt__rank_cost fast[] = { { 0, 0.01 }, { 0.02, 0.01 } };
    REQUIRE_NEAR(vkt__longest_ms(fast, 2, (uint32_t[]) { 10, 5 }), 0.1, 1e-12);
    REQUIRE_NEAR(vkt__longest_ms(fast, 2, (uint32_t[]) { 5, 10 }), 0.12, 1e-12);
}

static void two_times_tell_fixed_ones(void **state)
{
    (void)state;
    vkt__rank_cost c =
        vkt__rank_cost_of((double[]) { 50 + 4 * 64, 50 + 4 * 8 }, (uint32_t[]) { 64, 8 });
    REQUIRE_NEAR(c.fixed, 50, 1e-9);
    REQUIRE_NEAR(c.each, 4, 1e-9);
    /* With about as many examples in both, the newer time counts. */
    c = vkt__rank_cost_of((double[]) { 10, 22 }, (uint32_t[]) { 10, 11 });
    assert_true(c.fixed == 0 && c.each == 2);
    c = vkt__rank_cost_of((double[]) { 10, 10.5 }, (uint32_t[]) { 10, 11 });
    assert_true(c.fixed == 0 && c.each == 10.5 / 11);
    c = vkt__rank_cost_of((double[]) { 10, 11 }, (uint32_t[]) { 8, 10 }); /* a quarter more */
    REQUIRE_NEAR(c.fixed, 6, 1e-9);
    /* Fewer examples that take longer, and fewer that take less than their part. */
    c = vkt__rank_cost_of((double[]) { 10, 20 }, (uint32_t[]) { 20, 10 });
    assert_true(c.fixed > 0 && c.each > 0);
    REQUIRE_NEAR(vkt__rank_ms(&c, 10), 20, 1e-9);
    c = vkt__rank_cost_of((double[]) { 20, 5 }, (uint32_t[]) { 20, 10 });
    assert_true(c.fixed == 0 && c.each == 0.5);
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
        cmocka_unit_test(start_up_is_apart),          cmocka_unit_test(what_is_recent_is_recent),
        cmocka_unit_test(a_batch_is_shared_by_speed), cmocka_unit_test(shares_are_the_best_ones),
        cmocka_unit_test(a_rank_can_be_in_the_way),   cmocka_unit_test(two_times_tell_fixed_ones),
        cmocka_unit_test(shares_are_all_of_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
