/* What is calibrated on which examples, without a device. */
#include "testing.h"

#include "base/memory.h"
#include "train/measures/calibration_fit.h"

static void what_is_wanted_is_what_the_data_can_have(void **state)
{
    (void)state;
    const vkt_config both = { .temperature = true, .threshold = VKT_THRESHOLD_F1 },
                     none = { .threshold = VKT_THRESHOLD_NONE };
    static const struct {
        vkt_dataset_info info;
        bool temperature, thresholds;
    } rows[] = {
        { { .task = VKT_TASK_CLASSIFY, .n_outputs = 2, .kind = VKT_DATA_KIND_TABLE }, true, true },
        { { .task = VKT_TASK_CLASSIFY, .n_outputs = 3, .kind = VKT_DATA_KIND_TABLE }, true, false },
        { { .task = VKT_TASK_MULTILABEL, .n_outputs = 3, .kind = VKT_DATA_KIND_TABLE },
          false,
          true },
        { { .task = VKT_TASK_REGRESS, .n_outputs = 2, .kind = VKT_DATA_KIND_TABLE }, false, false },
        { { .task = VKT_TASK_SEGMENT, .n_outputs = 2, .kind = VKT_DATA_KIND_PICTURES },
          false,
          false },
        { { .task = VKT_TASK_CLASSIFY, .n_outputs = 2, .kind = VKT_DATA_KIND_TEXT }, false, false },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__calibrates what = vkt__calibration_wanted(&both, &rows[i].info);
        assert_int_equal(what.temperature, rows[i].temperature);
        assert_int_equal(what.thresholds, rows[i].thresholds);
        what = vkt__calibration_wanted(&none, &rows[i].info);
        assert_false(what.temperature || what.thresholds);
    }
}

/* Of n examples of two classes the i-th is the second with probability share(i), and is it where
 * right(i). */
static void say(vkt__said *s, vkt__calibrates what, uint32_t n, double (*share)(uint32_t),
                bool (*right)(uint32_t))
{
    vkt__said_begin(s, what, 2, false, (vkt_maybe) { .given = true, .n = 7 }, n + 1);
    vkt__said_add(s, (float[]) { 0.5f, 0.5f }, &(vkt_label) { .u = 7 }); /* does not count */
    for (uint32_t i = 0; i < n; i++) {
        float p = (float)share(i);
        vkt__said_add(s, (float[]) { 1 - p, p }, &(vkt_label) { .u = right(i) });
    }
    assert_int_equal(s->n, n);
}

static double rising(uint32_t i)
{
    return i / 100.0;
}
static bool from_30(uint32_t i)
{
    return i >= 30;
}
/* Sure of itself, and wrong in one of four. */
static double sure(uint32_t i)
{
    return i % 2 ? 0.99 : 0.01;
}
static bool of_four_three(uint32_t i)
{
    return (i % 2) ^ (i / 2 % 4 == 0);
}
static double as_right(uint32_t i)
{
    return i % 2 ? 0.75 : 0.25;
}

static void fewer_than_a_hundred_say_nothing(void **state)
{
    (void)state;
    const vkt_config c = { .threshold = VKT_THRESHOLD_F1 };
    const vkt__calibrates what = { .thresholds = true };
    for (uint32_t n = 99; n <= 100; n++) {
        vkt__calibration out = { .n = 2 };
        vkt__said s;
        bool few;
        say(&s, what, n, rising, from_30);
        REQUIRE_OK(vkt__calibration_fit(&s, &c, what, &out, &few));
        assert_int_equal(few, n < 100);
        assert_int_equal(out.n_examples, n < 100 ? 0 : 100);
        assert_int_equal(out.threshold == NULL, n < 100);
        if (n == 100) { /* in the middle of 0.29 and 0.30; the first class has none of its own */
            REQUIRE_NEAR(out.threshold[1], 0.295, 1e-6);
            REQUIRE_NEAR(out.threshold[0], 0.5, 0);
        }
        vkt__calibration_finish(&out);
        vkt__said_finish(&s);
    }
}

/* Thresholds are of the probabilities that the temperature makes. */
static void a_temperature_comes_first(void **state)
{
    (void)state;
    const vkt_config c = { .temperature = true, .threshold = VKT_THRESHOLD_F1 };
    const vkt__calibrates what = { true, true };
    vkt__calibration out = { .n = 2 };
    vkt__said s;
    bool few;
    say(&s, what, 400, sure, of_four_three);
    REQUIRE_OK(vkt__calibration_fit(&s, &c, what, &out, &few));
    /* odds of 99 become odds of 3 */
    REQUIRE_NEAR(out.temperature, log(99) / log(3), 0.05);
    REQUIRE_NEAR(s.p[3], 0.75, 0.01);
    REQUIRE_NEAR(out.threshold[1], 0.5, 0.01);
    vkt__calibration_finish(&out);
    vkt__said_finish(&s);
    /* Where it is right already, it is left. */
    out = (vkt__calibration) { .n = 2 };
    say(&s, what, 400, as_right, of_four_three);
    REQUIRE_OK(vkt__calibration_fit(&s, &c, what, &out, &few));
    assert_true(out.temperature == 0 && s.p[3] == 0.75f);
    vkt__calibration_finish(&out);
    vkt__said_finish(&s);
}

static void each_label_has_a_threshold(void **state)
{
    (void)state;
    const vkt_config c = { .threshold = VKT_THRESHOLD_COST, .miss_cost = 1 };
    const vkt__calibrates what = { .thresholds = true };
    vkt__calibration out = { .n = 2 };
    vkt__said s;
    bool few;
    vkt__said_begin(&s, what, 2, true, (vkt_maybe) { 0 }, 100);
    for (uint32_t i = 0; i < 100; i++) {
        float p = (float)rising(i);
        vkt__said_add(&s, (float[]) { p, p }, (vkt_label[]) { { .f = i >= 80 }, { .f = i >= 10 } });
    }
    REQUIRE_OK(vkt__calibration_fit(&s, &c, what, &out, &few));
    REQUIRE_NEAR(out.threshold[0], 0.795, 1e-6);
    REQUIRE_NEAR(out.threshold[1], 0.095, 1e-6);
    vkt__calibration_finish(&out);
    vkt__said_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wanted_is_what_the_data_can_have),
        cmocka_unit_test(fewer_than_a_hundred_say_nothing),
        cmocka_unit_test(a_temperature_comes_first),
        cmocka_unit_test(each_label_has_a_threshold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
