/* Schedules of the learning rate: by hand, rising then falling, refused when bad. */
#include "testing.h"

#include <jansson.h>

#include "optim/optim_flat.h"

/* ---- schedules ---- */

static vkt_schedule plain(vkt_schedule_kind kind)
{
    return (vkt_schedule) { .kind = kind,
                            .lr = 0.3,
                            .steps = 101,
                            .final_ratio = 0.1,
                            .power = 2,
                            .gamma = 0.5,
                            .decay_every = 10,
                            .decay_ratio = 0.2,
                            .milestones = { 10, 40, 90 },
                            .n_milestones = 3 };
}

static void schedules_by_hand(void **state)
{
    (void)state;
    vkt_schedule s = plain(VKT_SCHED_LINEAR);
    assert_true(vkt_schedule_lr(&s, 0) == 0.3);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 50), 0.3 * 0.55, 1e-15);
    assert_true(vkt_schedule_lr(&s, 100) == 0.3 * 0.1);
    s = plain(VKT_SCHED_COSINE);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 50), 0.3 * 0.55, 1e-15);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 25), 0.3 * (0.1 + 0.9 * (1 + sqrt(0.5)) / 2), 1e-15);
    assert_true(vkt_schedule_lr(&s, 100) == 0.3 * 0.1);
    s = plain(VKT_SCHED_POLYNOMIAL);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 75), 0.3 * (0.1 + 0.9 * 0.0625), 1e-15);
    assert_true(vkt_schedule_lr(&s, 100) == 0.3 * 0.1);
    s = plain(VKT_SCHED_RSQRT);
    assert_true(vkt_schedule_lr(&s, 10) == 0.3);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 40), 0.15, 1e-15);
    s.decay_every = 0, s.warmup = 16; /* the plateau is then as long as the warmup */
    assert_true(vkt_schedule_lr(&s, 16 + 16) == 0.3);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 16 + 64), 0.15, 1e-15);
    s = plain(VKT_SCHED_EXPONENTIAL);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 20), 0.075, 1e-15);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 5), 0.3 * sqrt(0.5), 1e-15);
    s = plain(VKT_SCHED_STEPS);
    assert_true(vkt_schedule_lr(&s, 9) == 0.3 && vkt_schedule_lr(&s, 10) == 0.15 &&
                vkt_schedule_lr(&s, 39) == 0.15);
    assert_true(vkt_schedule_lr(&s, 40) == 0.075 && vkt_schedule_lr(&s, 100) == 0.0375);
    s = plain(VKT_SCHED_WSD);
    s.steps = 100;
    assert_true(vkt_schedule_lr(&s, 79) == 0.3);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 80), 0.3 * (1 - 0.9 / 20), 1e-15);
    assert_true(vkt_schedule_lr(&s, 99) == 0.3 * 0.1);
    s.decay_ratio = 0;
    assert_true(vkt_schedule_lr(&s, 99) == 0.3);
    s.decay_ratio = 1;
    REQUIRE_NEAR(vkt_schedule_lr(&s, 0), 0.3 * (1 - 0.9 / 100), 1e-15);
    s = plain(VKT_SCHED_RAMP);
    assert_true(vkt_schedule_lr(&s, 100) == 0.3);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 0), 0.3 * 0.1, 1e-15);
    REQUIRE_NEAR(vkt_schedule_lr(&s, 50), 0.3 * sqrt(0.1), 1e-15);
    s.final_ratio = 0;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_schedule_check(&s, "test"), VKT_E_ARG);
    REQUIRE_LOGGED("a ramp needs final_ratio above 0");
}

/* Warmup rises evenly to the peak, then no kind ever rises, and the last rate is held. */
static void schedules_rise_then_fall(void **state)
{
    (void)state;
    for (vkt_schedule_kind kind = VKT_SCHED_CONSTANT; kind <= VKT_SCHED_WSD; kind++)
        for (uint64_t warmup = 0; warmup <= 64; warmup += 32)
            for (int included = 0; included < 2; included++) {
                vkt_schedule s = plain(kind);
                s.warmup = warmup;
                s.warmup_included = included;
                REQUIRE_OK(vkt_schedule_check(&s, "test"));
                uint64_t total = vkt_schedule_total(&s);
                assert_int_equal(total, included ? 101 : 101 + warmup);
                for (uint64_t i = 0; i < warmup; i++)
                    REQUIRE_NEAR(vkt_schedule_lr(&s, i),
                                 0.3 * (double)(i + 1) / (double)(warmup + 1), 1e-16);
                assert_true(vkt_schedule_lr(&s, warmup) == 0.3);
                for (uint64_t i = warmup; i + 1 < total; i++)
                    assert_true(vkt_schedule_lr(&s, i + 1) <= vkt_schedule_lr(&s, i));
                for (uint64_t i = 0; i < total; i++) assert_true(vkt_schedule_lr(&s, i) > 0);
                double last = vkt_schedule_lr(&s, total - 1);
                assert_true(vkt_schedule_lr(&s, total) == last &&
                            vkt_schedule_lr(&s, UINT64_MAX) == last);
                bool ends = kind == VKT_SCHED_LINEAR || kind == VKT_SCHED_COSINE ||
                            kind == VKT_SCHED_POLYNOMIAL || kind == VKT_SCHED_WSD;
                if (ends) assert_true(last == 0.3 * 0.1);
            }
}

/* Each cycle is a cosine schedule of its own, warmup precedes the first alone, and the last takes
 * the steps that do not divide. */
static void cosine_restarts(void **state)
{
    (void)state;
    vkt_schedule s = plain(VKT_SCHED_COSINE), one = s;
    s.cycles = 3, s.warmup = 7;
    for (uint64_t u = 0; u < 101; u++) {
        one.steps = u < 66 ? 33 : 35;
        assert_true(vkt_schedule_lr(&s, 7 + u) == vkt_schedule_lr(&one, u < 66 ? u % 33 : u - 66));
    }
    REQUIRE_NEAR(vkt_schedule_lr(&s, 3), 0.3 * 4 / 8, 1e-16);
    assert_true(vkt_schedule_lr(&s, 7 + 32) == 0.3 * 0.1 && vkt_schedule_lr(&s, 7 + 33) == 0.3);
    assert_true(vkt_schedule_lr(&s, 1000) == 0.3 * 0.1);
    s.steps = 3, s.warmup = 0; /* cycles of one step stay at the peak */
    for (uint64_t u = 0; u < 4; u++) assert_true(vkt_schedule_lr(&s, u) == 0.3);
}

/* Added warmup only shifts the schedule: step W + u has the rate of step u without it. */
static void warmup_comes_on_top(void **state)
{
    (void)state;
    for (vkt_schedule_kind kind = VKT_SCHED_CONSTANT; kind <= VKT_SCHED_WSD; kind++) {
        vkt_schedule a = plain(kind), b = plain(kind);
        b.warmup = 7;
        for (uint64_t u = 0; u < 101; u++)
            assert_true(vkt_schedule_lr(&a, u) == vkt_schedule_lr(&b, u + 7));
    }
}

static void schedules_of_few_steps(void **state)
{
    (void)state;
    for (vkt_schedule_kind kind = VKT_SCHED_CONSTANT; kind <= VKT_SCHED_WSD; kind++) {
        vkt_schedule s = plain(kind);
        s.steps = 1;
        assert_true(vkt_schedule_lr(&s, 0) == 0.3);
        s.steps = 5, s.warmup = 5, s.warmup_included = true; /* nothing but warmup */
        REQUIRE_OK(vkt_schedule_check(&s, "test"));
        REQUIRE_NEAR(vkt_schedule_lr(&s, 4), 0.3 * 5 / 6, 1e-16);
        assert_true(vkt_schedule_lr(&s, 99) == vkt_schedule_lr(&s, 4));
    }
}

static void bad_schedules_are_refused(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
#define REFUSED(kind, change, text)                                                                \
    do {                                                                                           \
        vkt_schedule s = plain(kind);                                                              \
        change;                                                                                    \
        test_log[0] = 0;                                                                           \
        REQUIRE_STATUS(vkt_schedule_check(&s, "mnist.yaml"), VKT_E_ARG);                           \
        REQUIRE_LOGGED("mnist.yaml: ");                                                            \
        REQUIRE_LOGGED(text);                                                                      \
    } while (0)
    REFUSED(VKT_SCHED_LINEAR, s.final_ratio = 1.5, "final_ratio is 1.5; it must be in [0, 1]");
    REFUSED(VKT_SCHED_LINEAR, s.final_ratio = -0.1, "final_ratio is -0.1");
    REFUSED(VKT_SCHED_LINEAR, s.final_ratio = (double)NAN, "final_ratio is");
    REFUSED(VKT_SCHED_CONSTANT, s.lr = -1, "learning rate is -1");
    REFUSED(VKT_SCHED_CONSTANT, s.lr = (double)INFINITY, "learning rate is inf");
    REFUSED(VKT_SCHED_CONSTANT, s.steps = 0, "0 training steps");
    REFUSED(VKT_SCHED_CONSTANT, (s.warmup = 200, s.warmup_included = true),
            "warmup takes 200 of only 101 steps");
    REFUSED(VKT_SCHED_STEPS, s.milestones[2] = 40, "milestones must rise, but 40 follows 40");
    REFUSED(VKT_SCHED_CONSTANT, s.warmup = 1ull << 51, "2251799813685248 steps of warmup are too");
    REFUSED(VKT_SCHED_STEPS, s.n_milestones = 0, "needs milestones");
    REFUSED(VKT_SCHED_STEPS, s.n_milestones = 17, "17 milestones; at most 16");
    REFUSED(VKT_SCHED_STEPS, s.gamma = 0, "gamma is 0; it must be in (0, 1]");
    REFUSED(VKT_SCHED_EXPONENTIAL, s.gamma = 1.01, "gamma is 1.01");
    REFUSED(VKT_SCHED_POLYNOMIAL, s.power = -1, "power is -1");
    REFUSED(VKT_SCHED_WSD, s.decay_ratio = 2, "decay_ratio is 2");
    REFUSED(VKT_SCHED_LINEAR, s.cycles = 2, "2 cycles, but only the cosine schedule has cycles");
    REFUSED(VKT_SCHED_COSINE, s.cycles = 102, "102 cycles in 101 steps");
    REFUSED((vkt_schedule_kind)99, (void)0, "no schedule number 99");
#undef REFUSED
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_by_hand),      cmocka_unit_test(schedules_rise_then_fall),
        cmocka_unit_test(cosine_restarts),        cmocka_unit_test(warmup_comes_on_top),
        cmocka_unit_test(schedules_of_few_steps), cmocka_unit_test(bad_schedules_are_refused),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
