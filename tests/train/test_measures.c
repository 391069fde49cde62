/* train: ROC-AUC and average precision from scores, errors of a regression from sums, against
 * scikit-learn's (tests/golden/measures.json, written by tools/golden/golden_measures.py). */
#include <jansson.h>

#include "testing.h"

#include "recipe/measure.h"
#include "train/classes.h"
#include "train/ranks.h"

/* Sums of at most 60 terms of double. */
#define TOLERANCE (60 * 2.3e-16)

static json_t *file;

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void classes(void **state)
{
    (void)state;
    const json_t *all = json_object_get(file, "classes"), *c;
    size_t k;
    assert_int_equal(json_array_size(all), 4);
    json_array_foreach(all, k, c)
    {
        const json_t *target = json_object_get(c, "target"), *score = json_object_get(c, "score");
        uint32_t n = (uint32_t)json_array_size(target),
                 n_classes = (uint32_t)number(c, "n_classes");
        vkt__ranks r;
        vkt__eval_sums e = { 0 };
        double auc, ap;
        REQUIRE_OK(vkt__ranks_create(n, n_classes, &r));
        for (uint32_t i = 0; i < n; i++) {
            float p[8];
            uint32_t top = 0;
            for (uint32_t j = 0; j < n_classes; j++) {
                p[j] = (float)json_number_value(json_array_get(score, i * n_classes + j));
                if (p[j] > p[top]) top = j;
            }
            vkt__eval_add_confidence(&e, p[top],
                                     top == json_integer_value(json_array_get(target, i)));
            vkt__ranks_add(&r, p, (uint32_t)json_integer_value(json_array_get(target, i)));
        }
        REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap));
        REQUIRE_NEAR(auc, number(c, "roc_auc"), TOLERANCE);
        REQUIRE_NEAR(ap, number(c, "average_precision"), TOLERANCE);
        REQUIRE_NEAR(vkt__eval_metric(&e, "ece"), number(c, "ece"), TOLERANCE);
        vkt__ranks_finish(&r);
    }
}

/* More scores than digits of a pass, all different: the area and precision of a perfect order, of
 * the order turned, and of scores that are all the same. */
static void orders(void **state)
{
    (void)state;
    enum { N = 5000, YES = 1250 };
    for (int how = 0; how < 3; how++) {
        vkt__ranks r;
        double auc, ap, expected = 0;
        REQUIRE_OK(vkt__ranks_create(N, 2, &r));
        for (uint32_t i = 0; i < N; i++) {
            float v = how == 0 ? (float)i / N : how == 1 ? 1 - (float)i / N : 0.25f;
            uint32_t at = i * 7 % N; /* in another order */
            v = how == 2 ? v : how == 0 ? (float)at / N : 1 - (float)at / N;
            vkt__ranks_add(&r, (float[]) { 1 - v, v }, at >= N - YES);
        }
        for (uint32_t i = 1; i <= YES; i++) expected += (double)i / (N - YES + i) / YES;
        REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap));
        REQUIRE_NEAR(auc, how == 0 ? 1 : how == 1 ? 0 : 0.5, 0);
        REQUIRE_NEAR(ap, how == 0 ? 1 : how == 1 ? expected : 0.25, N * 2.3e-16);
        vkt__ranks_finish(&r);
    }
}

static void what_can_not_be_ranked(void **state)
{
    (void)state;
    vkt__ranks r;
    double auc, ap;
    REQUIRE_OK(vkt__ranks_create(2, 2, &r)); /* one class only */
    vkt__ranks_add(&r, (float[]) { 0.5f, 0.5f }, 1);
    vkt__ranks_add(&r, (float[]) { 0.25f, 0.75f }, 1);
    REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap));
    assert_true(isnan(auc) && isnan(ap));
    r.target[0] = 0;
    r.score[0] = NAN; /* a model that diverged */
    REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap));
    assert_true(isnan(auc) && isnan(ap));
    vkt__ranks_finish(&r);
}

static void numbers(void **state)
{
    (void)state;
    const json_t *all = json_object_get(file, "numbers"), *c;
    size_t k;
    assert_int_equal(json_array_size(all), 5);
    json_array_foreach(all, k, c)
    {
        const json_t *target = json_object_get(c, "target"),
                     *predicted = json_object_get(c, "predicted");
        vkt__eval_sums e = { 0 };
        for (size_t i = 0; i < json_array_size(target); i++) {
            e.n++;
            vkt__eval_add_error(&e, json_number_value(json_array_get(predicted, i)),
                                json_number_value(json_array_get(target, i)));
        }
        /* Relative to a mean of 1e6 what is left of a spread of 1 has ten digits. */
        REQUIRE_NEAR(vkt__eval_metric(&e, "mae"), number(c, "mae"), 1e-12 * number(c, "mae"));
        REQUIRE_NEAR(vkt__eval_metric(&e, "rmse"), number(c, "rmse"), 1e-12 * number(c, "rmse"));
        REQUIRE_NEAR(vkt__eval_metric(&e, "r2"), number(c, "r2"),
                     1e-9 * fmax(fabs(number(c, "r2")), 1e-3));
    }
    vkt__eval_sums one = { .n = 1 };
    vkt__eval_add_error(&one, 1, 2);
    assert_true(isnan(vkt__eval_r2(&one)) && vkt__eval_rmse(&one) == 1);
}

static void names(void **state)
{
    (void)state;
    assert_true(vkt__measure_named("rmse")->sign < 0 && vkt__measure_named("r2")->sign > 0);
    assert_int_equal(vkt__measure_named("roc_auc")->of, VKT__OF_CLASSES);
    assert_null(vkt__measure_named("auc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(classes), cmocka_unit_test(orders),
                                        cmocka_unit_test(what_can_not_be_ranked),
                                        cmocka_unit_test(numbers), cmocka_unit_test(names) };
    file = json_load_file(VKT_TEST_DIR "/golden/measures.json", 0, NULL);
    if (!file) return 1;
    int failed = cmocka_run_group_tests_name("measures", tests, NULL, NULL);
    json_decref(file);
    return failed;
}
