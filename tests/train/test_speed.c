/* Throughput without a device: recent steps, start-up apart, bunches; shares of ranks by it, and
 * steps of a submission. */
#include "testing.h"

#include "train/ranks/shares.h"
#include "train/measures/speed.h"
#include "train/step_packing.h"

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

static void a_drift_must_be_worth_it(void **state)
{
    (void)state;
    uint32_t out[2];
    vkt__drift d = { .cost = (vkt__rank_cost[]) { { 0, 1 }, { 0, 1 } },
                     .rows = (uint32_t[]) { 50, 50 },
                     .ms = (double[]) { 50, 150 }, /* the second became three times slower */
                     .ranks = 2,
                     .n = 100,
                     .left = 1000,
                     .open_s = 24 };
    assert_true(vkt__shares_drifted(&d, out)); /* 75 ms less, 75 s in all: 3 x 24 are less */
    assert_true(out[0] == 75 && out[1] == 25);
    d.open_s = 26;
    assert_false(vkt__shares_drifted(&d, out));
    d.left = 1100;
    assert_true(vkt__shares_drifted(&d, out));
    /* A tenth of the time: 55 ms for 60 are too little, 56.3 for 64 are enough. */
    d.open_s = 0;
    d.ms = (double[]) { 50, 60 };
    assert_false(vkt__shares_drifted(&d, out));
    d.ms = (double[]) { 50, 64 };
    assert_true(vkt__shares_drifted(&d, out));
    /* What does not depend on the examples takes twice as long, too: 60 + 2 n = 90 - n. */
    d = (vkt__drift) { .cost = (vkt__rank_cost[]) { { 0, 1 }, { 30, 1 } },
                       .rows = (uint32_t[]) { 60, 30 },
                       .ms = (double[]) { 60, 120 },
                       .ranks = 2,
                       .n = 90,
                       .left = 1 };
    assert_true(vkt__shares_drifted(&d, out));
    assert_true(out[0] == 80 && out[1] == 10);
}

/* Submissions until the choice is made, of p->n steps that take s[p->n > 1] seconds each, in the
 * window `slow` ten times as long. *now: when the last one was full. */
static void pack(vkt__packing *p, const double s[2], uint32_t slow, double *now)
{
    bool chosen = false;
    *p = (vkt__packing) { .most = 4, .n = 1 };
    for (uint32_t i = 0; i < 10000 && !chosen; i++) {
        uint32_t window = p->window;
        assert_int_equal(p->n, window % 2 ? 4 : 1); /* by turns */
        *now += p->n * s[p->n > 1] * (window == slow ? 10 : 1);
        chosen = vkt__packing_count(p, p->n, *now);
        if (p->window > window) assert_true(p->n_steps == 0 && p->start == *now);
    }
    assert_int_equal(p->window, VKT__PACK_WINDOWS);
    assert_true(chosen && !vkt__packing_count(p, p->n, *now + 1)); /* once */
    REQUIRE_NEAR(p->best[0], s[0], 1e-9);
    REQUIRE_NEAR(p->best[1], s[1], 1e-9);
}

static void several_steps_are_submitted_where_that_is_faster(void **state)
{
    (void)state;
    vkt__packing p;
    double now = 1;
    pack(&p, (double[]) { 1e-3, 0.97e-3 }, 99, &now);
    assert_int_equal(p.n, 4);
    pack(&p, (double[]) { 1e-3, 0.99e-3 }, 99, &now); /* 1% is noise */
    assert_int_equal(p.n, 1);
    pack(&p, (double[]) { 1e-3, 1.1e-3 }, 99, &now);
    assert_int_equal(p.n, 1);
    for (uint32_t slow = 0; slow < VKT__PACK_WINDOWS; slow++) { /* the shortest counts */
        pack(&p, (double[]) { 1e-3, 0.5e-3 }, slow, &now);
        assert_int_equal(p.n, 4);
    }
    /* 8 windows of 64 steps, each behind the submission with which it begins; the last begins none.
     */
    now = 0;
    pack(&p, (double[]) { 1, 1 }, 99, &now);
    REQUIRE_NEAR(now, 1 + 8 * 64, 0);
}

/* An evaluation is no part of a window. */
static void a_pause_begins_a_window_again(void **state)
{
    (void)state;
    vkt__packing p = { .most = 4, .n = 1 };
    double now = 1;
    for (int i = 0; i < 60; i++) assert_false(vkt__packing_count(&p, 1, now += 1e-3));
    vkt__packing_pause(&p);
    now += 100;
    for (int i = 0; i <= 64; i++) {
        assert_int_equal(p.window, 0);
        assert_false(vkt__packing_count(&p, 1, now += 1e-3));
    }
    assert_int_equal(p.window, 1);
    REQUIRE_NEAR(p.best[0], 1e-3, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_up_is_apart),
        cmocka_unit_test(what_is_recent_is_recent),
        cmocka_unit_test(a_batch_is_shared_by_speed),
        cmocka_unit_test(shares_are_the_best_ones),
        cmocka_unit_test(a_rank_can_be_in_the_way),
        cmocka_unit_test(two_times_tell_fixed_ones),
        cmocka_unit_test(shares_are_all_of_a_batch),
        cmocka_unit_test(a_drift_must_be_worth_it),
        cmocka_unit_test(several_steps_are_submitted_where_that_is_faster),
        cmocka_unit_test(a_pause_begins_a_window_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
