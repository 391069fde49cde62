/* Numbers to predict come back in the data's units, and their errors are exact where the mean is
 * large. */
#include "testing.h"

#include "train/measures/target_numbers.h"

enum { N = 2 };

/* What two targets become, with their sums of one example. */
typedef struct took {
    double number[2 * N], mae;
    float row[N];
    vkt_label labels[N];
    bool finite;
} took;

static took take(const vkt__target *t, const float *out, const float *y, bool shortest)
{
    took to = { 0 };
    vkt_label labels[N] = { { .f = y[0] }, { .f = y[1] } };
    vkt__error_sums error[N] = { 0 };
    vkt__eval_sums sums = { .n = 1, .n_targets = N, .error = error };
    const vkt__numbers at = { to.number, to.row, to.labels };
    to.finite = vkt__numbers_take(t, N, out, labels, shortest, &at, &sums);
    to.mae = vkt__eval_errors(&sums).mae;
    return to;
}

/* Beside 1e17 a double has no quarter; the error has it. */
static void a_large_mean_leaves_errors_exact(void **state)
{
    (void)state;
    const vkt__target t[N] = { { .mean = 1e17, .scale = 2 }, { .mean = -3, .scale = 0.5 } };
    took to = take(t, (float[]) { 0.5f, 2 }, (float[]) { 0.375f, 4 }, false);
    assert_true(to.finite);
    REQUIRE_NEAR(to.number[0], 1e17, 0);
    REQUIRE_NEAR(to.number[N], 1e17, 0);
    REQUIRE_NEAR(to.number[1], -2, 0);
    REQUIRE_NEAR(to.number[N + 1], -1, 0);
    REQUIRE_NEAR(to.mae, (0.25 + 1) / 2, 1e-12);
    assert_true(to.row[1] == -2 && to.labels[1].f == -1);
}

/* What is learned on a curve has errors in the data's units, too. */
static void a_curve_is_undone(void **state)
{
    (void)state;
    const vkt__target t[N] = { { .mean = log(10), .scale = log(10), .curve = VKT_TARGET_LOG },
                               { .mean = 0, .scale = log(2), .curve = VKT_TARGET_LOG1P } };
    took to = take(t, (float[]) { 1, 3 }, (float[]) { 0, 1 }, false);
    REQUIRE_NEAR(to.number[0], 100, 1e-10);
    REQUIRE_NEAR(to.number[N], 10, 1e-11);
    REQUIRE_NEAR(to.number[1], 7, 1e-11);
    REQUIRE_NEAR(to.number[N + 1], 1, 1e-12);
    REQUIRE_NEAR(to.mae, (90 + 6) / 2.0, 1e-9);
}

/* 0.1 and 1200 as files have them, and not the nearest floats behind mean and scale. */
static void labels_are_as_they_were_given(void **state)
{
    (void)state;
    static const double given[] = { 0.1, 1200, -3.25, 0, 123456, 7e-5 };
    vkt__target t[N] = { { .mean = 0.37, .scale = 1.7 }, { .mean = 900, .scale = 333 } };
    for (size_t i = 0; i < VKT_COUNT(given); i++)
        for (int k = 0; k < N; k++) {
            float y[N] = { 0 };
            y[k] = (float)vkt__target_learned(&t[k], given[i]);
            took to = take(t, y, y, true);
            if ((double)y[k] != (double)(float)vkt__target_learned(&t[k], to.number[N + k]))
                fail_msg("%.17g is another label than %.17g", to.number[N + k], given[i]);
            if (k == 0 || fabs(given[i]) > 1) REQUIRE_NEAR(to.number[N + k], given[i], 0);
            REQUIRE_NEAR(take(t, y, y, false).number[N + k], given[i],
                         1e-6 * (fabs(given[i]) + 1000)); /* a float of the learned one */
        }
}

static void a_class_beside_a_number_is_a_probability(void **state)
{
    (void)state;
    const vkt__target t[N] = { { .label = "kind", .n_classes = 0, .mean = 5, .scale = 9 },
                               { .mean = 5, .scale = 9 } };
    took to = take(t, (float[]) { 0.75f, 0 }, (float[]) { 1, 0 }, true);
    assert_true(to.number[0] == 0.75 && to.number[N] == 1 && to.number[1] == 5);
    assert_true(to.row[0] == 0.75f && to.labels[0].f == 1);
    REQUIRE_NEAR(to.mae, 0, 0);
}

static void what_is_no_number_is_said(void **state)
{
    (void)state;
    const vkt__target t[N] = { { .mean = 0, .scale = 1, .curve = VKT_TARGET_LOG }, { .scale = 1 } };
    assert_false(take(t, (float[]) { 800, 0 }, (float[]) { 0, 0 }, false).finite); /* exp(800) */
    assert_false(take(t, (float[]) { 0, NAN }, (float[]) { 0, 0 }, false).finite);
    assert_true(take(t, (float[]) { 0, 0 }, (float[]) { 0, 0 }, false).finite);
    const vkt__target kind[N] = { { .label = "kind" }, { .scale = 1 } };
    assert_false(take(kind, (float[]) { NAN, 0 }, (float[]) { 0, 0 }, false).finite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_mean_leaves_errors_exact),
        cmocka_unit_test(a_curve_is_undone),
        cmocka_unit_test(labels_are_as_they_were_given),
        cmocka_unit_test(a_class_beside_a_number_is_a_probability),
        cmocka_unit_test(what_is_no_number_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
