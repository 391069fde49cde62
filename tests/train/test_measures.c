/* train: ROC-AUC and average precision from scores, errors of a regression from sums, against
 * scikit-learn's (tests/golden/measures.json, written by tools/golden/golden_measures.py). */
#include <jansson.h>

#include "testing.h"

#include "recipe/measure.h"
#include "train/measures/calibration.h"
#include "train/measures/classes.h"
#include "train/measures/ranks.h"
#include "train/predict_pictures.h"
#include "train/tiles.h"

/* Sums of at most 60 terms of double. */
#define TOLERANCE (60 * 2.3e-16)

static json_t *file;

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static void require_list(const json_t *o, const char *key, size_t at, double v)
{
    const json_t *a = json_array_get(json_object_get(o, key), at);
    assert_non_null(a);
    REQUIRE_NEAR(v, json_number_value(a), TOLERANCE);
}

static void require_curves(const json_t *c, const vkt__ranks *r, const double *class_ap)
{
    vkt__rank_point *p;
    size_t n, at = 0;
    const json_t *all = json_object_get(c, "curves"), *one;
    size_t k;
    REQUIRE_OK(vkt__ranks_curves(r, class_ap, &p, &n));
    json_array_foreach(all, k, one)
    {
        size_t n_points = json_array_size(json_object_get(one, "recall"));
        for (size_t i = 0; i < n_points; i++, at++) {
            assert_true(at < n);
            assert_int_equal(p[at].class, (uint32_t)number(one, "class"));
            require_list(one, "threshold", i, (double)p[at].threshold);
            require_list(one, "recall", i, p[at].recall);
            require_list(one, "fpr", i, p[at].false_positive_rate);
            require_list(one, "precision", i, p[at].precision);
        }
    }
    assert_int_equal(at, n);
    free(p);
}

/* The bins that are not empty. */
static void require_reliability(const json_t *c, const vkt__reliability *r)
{
    size_t at = 0;
    for (uint32_t k = 0; k < VKT__BINS; k++) {
        double n = (double)r->bin[k].n;
        if (n == 0) continue;
        require_list(c, "confidence", at, r->bin[k].confidence / n);
        require_list(c, "accuracy", at, (double)r->bin[k].correct / n);
        at++;
    }
    assert_int_equal(at, json_array_size(json_object_get(c, "accuracy")));
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
        double auc, ap, class_ap[8];
        REQUIRE_OK(vkt__ranks_create(n, n_classes, false, &r));
        for (uint32_t i = 0; i < n; i++) {
            float p[8];
            uint32_t top = 0;
            for (uint32_t j = 0; j < n_classes; j++) {
                p[j] = (float)json_number_value(json_array_get(score, i * n_classes + j));
                if (p[j] > p[top]) top = j;
            }
            vkt__eval_add_confidence(&e.raw, p[top],
                                     top == json_integer_value(json_array_get(target, i)));
            vkt__ranks_add(&r, p, (uint32_t)json_integer_value(json_array_get(target, i)));
        }
        REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap, class_ap));
        REQUIRE_NEAR(auc, number(c, "roc_auc"), TOLERANCE);
        REQUIRE_NEAR(ap, number(c, "average_precision"), TOLERANCE);
        require_curves(c, &r, class_ap);
        require_reliability(c, &e.raw);
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
        REQUIRE_OK(vkt__ranks_create(N, 2, false, &r));
        for (uint32_t i = 0; i < N; i++) {
            float v = how == 0 ? (float)i / N : how == 1 ? 1 - (float)i / N : 0.25f;
            uint32_t at = i * 7 % N; /* in another order */
            v = how == 2 ? v : how == 0 ? (float)at / N : 1 - (float)at / N;
            vkt__ranks_add(&r, (float[]) { 1 - v, v }, at >= N - YES);
        }
        for (uint32_t i = 1; i <= YES; i++) expected += (double)i / (N - YES + i) / YES;
        REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap, NULL));
        REQUIRE_NEAR(auc, how == 0 ? 1 : how == 1 ? 0 : 0.5, 0);
        REQUIRE_NEAR(ap, how == 0 ? 1 : how == 1 ? expected : 0.25, N * 2.3e-16);
        vkt__ranks_finish(&r);
    }
}

/* A curve of many points keeps fewer, the ends among them, less than 1/256 apart in each rate. */
static void require_fewer_points(uint32_t n_examples)
{
    vkt__ranks r;
    vkt__rank_point *p;
    size_t n;
    double auc, ap, class_ap[2];
    REQUIRE_OK(vkt__ranks_create(n_examples, 2, false, &r));
    for (uint32_t i = 0; i < n_examples; i++) {
        float v = (float)((uint64_t)i * 7919 % n_examples) / (float)n_examples;
        vkt__ranks_add(&r, (float[]) { 1 - v, v }, i % 3 == 0);
    }
    REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap, class_ap));
    REQUIRE_OK(vkt__ranks_curves(&r, class_ap, &p, &n));
    assert_true(n > 400 && n < 1030);
    assert_true(p[0].threshold == (float)(n_examples - 1) / (float)n_examples);
    assert_true(p[n - 1].threshold == 0);
    assert_true(p[n - 1].recall == 1 && p[n - 1].false_positive_rate == 1);
    for (size_t i = 1; i < n; i++) {
        double found = p[i].recall - p[i - 1].recall,
               wrong = p[i].false_positive_rate - p[i - 1].false_positive_rate;
        assert_true(found >= 0 && wrong >= 0 && found < 2.0 / 512 && wrong < 2.0 / 512);
    }
    free(p);
    vkt__ranks_finish(&r);
}

/* With more classes than curves can show, those that are ranked worst are kept. */
static void long_curves(void **state)
{
    (void)state;
    enum { CLASSES = 11 };
    vkt__ranks r;
    vkt__rank_point *p;
    size_t n;
    double auc, ap, class_ap[CLASSES];
    for (uint32_t k = 0; k < 30; k += 5) require_fewer_points(20000 + k); /* ends seen and not */
    REQUIRE_OK(vkt__ranks_create(CLASSES * 2, CLASSES, false, &r));
    for (uint32_t i = 0; i < CLASSES * 2; i++) {
        float v[CLASSES] = { 0 };
        v[i / 2 < 3 ? i / 2 : (i * 5) % CLASSES] = 1; /* the first three are always right */
        vkt__ranks_add(&r, v, i / 2);
    }
    REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap, class_ap));
    REQUIRE_OK(vkt__ranks_curves(&r, class_ap, &p, &n));
    uint32_t seen = 0;
    for (size_t i = 0; i < n; i++) seen |= 1u << p[i].class;
    for (uint32_t c = 0; c < CLASSES; c++) assert_int_equal(seen >> c & 1, c >= 3);
    free(p);
    vkt__ranks_finish(&r);
}

static void what_can_not_be_ranked(void **state)
{
    (void)state;
    vkt__ranks r;
    double auc, ap;
    REQUIRE_OK(vkt__ranks_create(2, 2, false, &r)); /* one class only */
    vkt__ranks_add(&r, (float[]) { 0.5f, 0.5f }, 1);
    vkt__ranks_add(&r, (float[]) { 0.25f, 0.75f }, 1);
    REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap, NULL));
    assert_true(isnan(auc) && isnan(ap));
    r.target[0] = 0;
    r.score[0] = NAN; /* a model that diverged */
    REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap, NULL));
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
        vkt__error_sums error = { 0 };
        vkt__eval_sums e = { .n_targets = 1, .error = &error };
        for (size_t i = 0; i < json_array_size(target); i++) {
            e.n++;
            vkt__eval_add_error(&e, 0, json_number_value(json_array_get(predicted, i)),
                                json_number_value(json_array_get(target, i)));
        }
        /* Beside a mean of 1e6 a spread of 1 keeps ten digits. */
        REQUIRE_NEAR(vkt__eval_metric(&e, "mae"), number(c, "mae"), 1e-12 * number(c, "mae"));
        REQUIRE_NEAR(vkt__eval_metric(&e, "rmse"), number(c, "rmse"), 1e-12 * number(c, "rmse"));
        REQUIRE_NEAR(vkt__eval_metric(&e, "r2"), number(c, "r2"),
                     1e-9 * fmax(fabs(number(c, "r2")), 1e-3));
    }
    vkt__error_sums error[2] = { 0 };
    vkt__eval_sums one = { .n = 1, .n_targets = 1, .error = error };
    vkt__eval_add_error(&one, 0, 1, 2);
    assert_true(isnan(vkt__eval_errors(&one).r2) && vkt__eval_errors(&one).rmse == 1);
    assert_true(isnan(vkt__eval_accuracy(&one)));
    one.n_targets = 2; /* several targets: means over them */
    vkt__eval_add_error(&one, 1, 5, 2);
    assert_true(vkt__eval_errors(&one).mae == 2 && vkt__eval_errors_of(&one, 1).mae == 3);
}

static float *floats(const json_t *a)
{
    float *out = vkt__alloc((json_array_size(a) + 1) * sizeof *out);
    for (size_t i = 0; i < json_array_size(a); i++)
        out[i] = (float)json_number_value(json_array_get(a, i));
    return out;
}

/* Several labels of an example, and thresholds fitted to them. */
static void labels(void **state)
{
    (void)state;
    enum { N = 80, C = 3 };
    const json_t *c = json_object_get(file, "labels");
    float *p = floats(json_object_get(c, "score")), *y = floats(json_object_get(c, "target")), t;
    uint64_t counts[3][C] = { 0 };
    double auc, ap, class_ap[C];
    vkt__eval_sums e = { .n = N,
                         .n_classes = C,
                         .several = true,
                         .class_count = counts[0],
                         .class_correct = counts[1],
                         .class_predicted = counts[2] };
    vkt__ranks r;
    assert_int_equal(json_array_size(json_object_get(c, "score")), N * C);
    REQUIRE_OK(vkt__ranks_create(N, C, true, &r));
    for (uint32_t i = 0; i < N; i++) {
        vkt_label set[C];
        for (uint32_t k = 0; k < C; k++) set[k].f = y[i * C + k];
        vkt__eval_add_labels(&e, p + i * C, set, NULL);
        vkt__ranks_add_labels(&r, p + i * C, set);
    }
    REQUIRE_OK(vkt__ranks_measure(&r, &auc, &ap, class_ap));
    REQUIRE_NEAR(auc, number(c, "roc_auc"), TOLERANCE);
    REQUIRE_NEAR(ap, number(c, "average_precision"), TOLERANCE);
    REQUIRE_NEAR(vkt__eval_metric(&e, "accuracy"), number(c, "accuracy"), TOLERANCE);
    REQUIRE_NEAR(vkt__eval_metric(&e, "macro_f1"), number(c, "macro_f1"), TOLERANCE);
    REQUIRE_NEAR(vkt__eval_metric(&e, "micro_f1"), number(c, "micro_f1"), TOLERANCE);
    assert_true(isnan(vkt__balanced_accuracy(&e)) && isnan(vkt__eval_ece(&e.raw)));
    for (uint32_t k = 0; k < C; k++) {
        const json_t *one = json_array_get(json_object_get(c, "each"), k);
        REQUIRE_NEAR(class_ap[k], number(one, "average_precision"), TOLERANCE);
        REQUIRE_OK(vkt__fit_threshold(p + k, y + k, N, C, VKT__BY_F1, 1, &t));
        REQUIRE_NEAR((double)t, number(one, "threshold"), 6e-8);
        REQUIRE_OK(vkt__fit_threshold(p + k, y + k, N, C, VKT__BY_COST, 4, &t));
        REQUIRE_NEAR((double)t, number(one, "threshold_cost_4"), 6e-8);
    }
    REQUIRE_OK(vkt__fit_threshold(p, y, 0, C, VKT__BY_F1, 1, &t)); /* nothing to fit */
    assert_true(t == 0.5f);
    /* The lower of two equally good thresholds; examples of one score stay together. */
    const float two[] = { 0.9f, 0.8f, 0.7f, 0.6f }, ends[] = { 1, 0, 0, 1 };
    REQUIRE_OK(vkt__fit_threshold(two, ends, 4, 1, VKT__BY_F1, 1, &t));
    assert_true(t == 0.3f);
    const float same[] = { 0.5f, 0.5f, 0.2f }, first[] = { 1, 0, 0 };
    REQUIRE_OK(vkt__fit_threshold(same, first, 3, 1, VKT__BY_F1, 1, &t));
    REQUIRE_NEAR((double)t, 0.35, 1e-7);
    vkt__ranks_finish(&r);
    free(p);
    free(y);
}

static void temperatures(void **state)
{
    (void)state;
    const json_t *all = json_object_get(file, "temperatures"), *c;
    size_t k;
    assert_int_equal(json_array_size(all), 3);
    json_array_foreach(all, k, c)
    {
        float *p = floats(json_object_get(c, "score")), sum = 0;
        const json_t *target = json_object_get(c, "target");
        uint32_t n = (uint32_t)json_array_size(target),
                 n_classes = (uint32_t)number(c, "n_classes");
        uint32_t *y = vkt__alloc(n * sizeof *y);
        for (uint32_t i = 0; i < n; i++)
            y[i] = (uint32_t)json_integer_value(json_array_get(target, i));
        vkt__calibration cal = { .temperature = vkt__fit_temperature(p, y, n, n_classes) };
        /* The minimum is flat: scipy's is within the root of its own tolerance. */
        REQUIRE_NEAR(cal.temperature, number(c, "temperature"), 1e-5 * cal.temperature);
        vkt__calibration_apply(&cal, p, n_classes);
        for (uint32_t i = 0; i < n_classes; i++) sum += p[i];
        REQUIRE_NEAR((double)sum, 1, 1e-6);
        REQUIRE_NEAR((double)p[0], number(c, "first"), 1e-5);
        free(p);
        free(y);
    }
}

/* 100 predictions of 3/4. Each fifth is right at another rate, so that the others mislead; or all
 * at one that is far from what they say. */
static void a_temperature_must_help_others(void **state)
{
    (void)state;
    float p[200];
    uint32_t y[100];
    static const uint32_t unlike[] = { 8, 19, 15, 16, 17 }, /* of 20; 75 in all */
        alike[] = { 11, 11, 11, 11, 11 };
    double without, with;
    for (uint32_t i = 0; i < 100; i++) {
        p[2 * i] = 0.75f, p[2 * i + 1] = 0.25f;
        y[i] = i / 5 >= unlike[i % 5];
    }
    assert_false(vkt__temperature_helps(p, y, 100, 2, &without, &with));
    assert_true(with > without);
    double each = 0; /* a fold's temperature makes the others' rate of its 3/4 */
    for (int k = 0; k < 5; k++) {
        double others = (75.0 - unlike[k]) / 80;
        each -= (unlike[k] * log(others) + (20.0 - unlike[k]) * log(1 - others)) / 100;
    }
    REQUIRE_NEAR(with, each, 1e-6);
    vkt__calibration at = { .threshold = (float[]) { 0.5f, 0.25f }, .n = 2 };
    assert_int_equal(vkt__calibration_class(&at, p, 2), 1); /* at the threshold is above it */
    REQUIRE_NEAR(without, -0.75 * log(0.75) - 0.25 * log(0.25), 1e-6);
    for (uint32_t i = 0; i < 100; i++) y[i] = i / 5 >= alike[i % 5];
    assert_true(vkt__temperature_helps(p, y, 100, 2, &without, &with));
    REQUIRE_NEAR(with, -0.55 * log(0.55) - 0.45 * log(0.45), 1e-6);
}

/* A mask of more pixels than a float counts one by one. */
static void shares_of_large_masks(void **state)
{
    (void)state;
    enum { PIXELS = (1 << 24) + (1 << 20) };
    float *p = calloc(PIXELS, sizeof *p), shares[1];
    assert_non_null(p);
    vkt__mask_shares(p, PIXELS, 1, shares);
    free(p);
    REQUIRE_NEAR((double)shares[0], 1, 0);
}

static void small_nets_have_no_tiles(void **state)
{
    (void)state;
    vkt_dataset_info info = { .task = VKT_TASK_SEGMENT,
                              .input_shape = { 8, 32, 1 },
                              .output_shape = { 8, 32, 1 } };
    vkt__log_quiet(true);
    assert_int_equal(vkt__tiles_check(&info, 8), VKT_E_ARG);
    vkt__log_quiet(false);
    assert_non_null(strstr(vkt__last_failure(), "the model sees 32x8 pixels, and tiles have at"));
    info.input_shape[0] = info.output_shape[0] = 16;
    REQUIRE_OK(vkt__tiles_check(&info, 8));
}

static void names(void **state)
{
    (void)state;
    assert_true(vkt__measure_named("rmse")->sign < 0 && vkt__measure_named("r2")->sign > 0);
    assert_int_equal(vkt__measure_named("roc_auc")->of, VKT__OF_RANKS);
    assert_int_equal(vkt__measure_named("mean_iou")->of, VKT__OF_PIXELS);
    assert_null(vkt__measure_named("auc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(classes),
                                        cmocka_unit_test(orders),
                                        cmocka_unit_test(what_can_not_be_ranked),
                                        cmocka_unit_test(long_curves),
                                        cmocka_unit_test(numbers),
                                        cmocka_unit_test(labels),
                                        cmocka_unit_test(temperatures),
                                        cmocka_unit_test(a_temperature_must_help_others),
                                        cmocka_unit_test(shares_of_large_masks),
                                        cmocka_unit_test(small_nets_have_no_tiles),
                                        cmocka_unit_test(names) };
    file = json_load_file(test_file("golden/measures.json"), 0, NULL);
    if (!file) return 1;
    int failed = cmocka_run_group_tests_name("measures", tests, NULL, NULL);
    json_decref(file);
    return failed;
}
