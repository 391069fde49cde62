/* What the difference between two models' results is worth: errors of measures on the same
 * examples, the verdict, and what a report finds where a network stands beside the linear model. */
#include "testing.h"

#include "data/parts/parts.h"
#include "report/finding_baseline.h"
#include "train/measures/beside.h"

static double noise(uint64_t i)
{
    return vkt_rand_normal(39, VKT_RNG_TEST, i);
}

static void test_errors_of_differences(void **state)
{
    (void)state;
    enum { N = 400 };
    static double one[2 * N], other[2 * N];
    static vkt_label y[N];
    double b01 = 0, b10 = 0, error, value, boot;
    for (uint64_t i = 0; i < N; i++) {
        y[i].u = i % 2;
        bool p = vkt_rand_uniform(3, VKT_RNG_TEST, i) < 0.8,
             q = vkt_rand_uniform(4, VKT_RNG_TEST, i) < 0.7;
        one[2 * i + y[i].u] = p ? 0.9 : 0.2;
        one[2 * i + !y[i].u] = p ? 0.1 : 0.8;
        other[2 * i + y[i].u] = q ? 0.9 : 0.2;
        other[2 * i + !y[i].u] = q ? 0.1 : 0.8;
        b01 += p && !q;
        b10 += !p && q;
    }
    vkt__beside b = { VKT_TASK_CLASSIFY, 2, 1, N, y, NULL };
    /* McNemar's: the pairs that differ, less their mean's square */
    double mean = (b01 - b10) / N, exact = sqrt(((b01 + b10) / N - mean * mean) / (N - 1));
    REQUIRE_OK(vkt__beside_error(&b, one, other, "accuracy", &error));
    REQUIRE_NEAR(error, exact, 1e-12);
    REQUIRE_OK(vkt__beside_metric(&b, one, "accuracy", NULL, &value));
    double right = 0;
    for (uint64_t i = 0; i < N; i++) right += one[2 * i + y[i].u] > 0.5;
    REQUIRE_NEAR(value, right / N, 1e-12);
    /* of those that say 0.9 and of those that say 0.8, each in its own bin */
    double surest = right / N;
    REQUIRE_OK(vkt__beside_metric(&b, one, "ece", NULL, &value));
    REQUIRE_NEAR(value, surest * fabs(1 - 0.9) + (1 - surest) * 0.8, 1e-6);
    REQUIRE_OK(vkt__beside_metric(&b, one, "loss", NULL, &value));
    REQUIRE_NEAR(value, -(right * log(0.9) + (N - right) * log(0.2)) / N, 1e-9);
    static const double level[] = { 0.5, 0.5, 0.5, 0.5 }; /* of equal ones the first is said */
    vkt__beside two = {
        VKT_TASK_CLASSIFY, 2, 1, 2, (vkt_label[]) { { .u = 0 }, { .u = 1 } }, NULL
    };
    REQUIRE_OK(vkt__beside_metric(&two, level, "accuracy", (uint32_t[]) { 0, 0 }, &value));
    REQUIRE_NEAR(value, 1, 0);
    /* where classes are balanced, the bootstrap of the mean recall has about the same error */
    REQUIRE_OK(vkt__beside_error(&b, one, other, "balanced_accuracy", &boot));
    REQUIRE_NEAR(boot / exact, 1, 0.2);
    REQUIRE_OK(vkt__beside_error(&b, one, one, "loss", &error));
    REQUIRE_NEAR(error, 0, 0);
}

static void test_errors_of_numbers(void **state)
{
    (void)state;
    enum { N = 300 };
    static double one[N], other[N];
    static vkt_label y[N];
    double scale = 7, mse[2] = { 0 }, d[N], mean = 0, square = 0, error, value;
    for (uint64_t i = 0; i < N; i++) {
        y[i].f = (float)noise(i);
        one[i] = (double)y[i].f + 0.3 * noise(1000 + i);
        other[i] = (double)y[i].f + 0.4 * noise(2000 + i);
        double e = one[i] - (double)y[i].f, o = other[i] - (double)y[i].f;
        mse[0] += e * e / N;
        mse[1] += o * o / N;
        d[i] = e * e - o * o;
        mean += d[i] / N;
    }
    for (size_t i = 0; i < N; i++) square += (d[i] - mean) * (d[i] - mean);
    vkt__beside b = { VKT_TASK_REGRESS, 1, 1, N, y, &(vkt__target) { .scale = scale } };
    REQUIRE_OK(vkt__beside_metric(&b, one, "rmse", NULL, &value));
    REQUIRE_NEAR(value, scale * sqrt(mse[0]), 1e-9);
    REQUIRE_OK(vkt__beside_metric(&b, one, "loss", NULL, &value));
    REQUIRE_NEAR(value, mse[0], 1e-12);
    REQUIRE_OK(vkt__beside_error(&b, one, other, "loss", &error));
    REQUIRE_NEAR(error, sqrt(square / (N - 1) / N), 1e-12);
    double by_loss = error;
    REQUIRE_OK(vkt__beside_error(&b, one, other, "rmse", &error));
    REQUIRE_NEAR(error, by_loss * scale / (sqrt(mse[0]) + sqrt(mse[1])), 1e-9);
}

/* A measure of several numbers is the mean over them, and its error is that of the mean. */
static void test_errors_of_several_numbers(void **state)
{
    (void)state;
    enum { N = 200, K = 3 };
    static double one[N * K], other[N * K];
    static vkt_label y[N * K];
    double scale = 7, d[N], mean = 0, square = 0, error, p, q;
    for (uint64_t i = 0; i < N; i++) {
        d[i] = 0;
        for (uint64_t k = i * K; k < (i + 1) * K; k++) {
            y[k].f = (float)noise(k);
            one[k] = (double)y[k].f + 0.3 * noise(1000 + k);
            other[k] = (double)y[k].f + 0.4 * noise(9000 + k);
            d[i] += scale * (fabs(one[k] - (double)y[k].f) - fabs(other[k] - (double)y[k].f)) / K;
        }
        mean += d[i] / N;
    }
    for (size_t i = 0; i < N; i++) square += (d[i] - mean) * (d[i] - mean);
    const vkt__target units[K] = { { .scale = scale }, { .scale = scale }, { .scale = scale } };
    vkt__beside b = { VKT_TASK_REGRESS, K, K, N, y, units };
    REQUIRE_OK(vkt__beside_metric(&b, one, "mae", NULL, &p));
    REQUIRE_OK(vkt__beside_metric(&b, other, "mae", NULL, &q));
    REQUIRE_NEAR(p - q, mean, 1e-9);
    REQUIRE_OK(vkt__beside_error(&b, one, other, "mae", &error));
    REQUIRE_NEAR(error, sqrt(square / (N - 1) / N), 1e-9);
    /* Of roots the mean, and not the root of the mean: each number has sums of its own. */
    double squares[K] = { 0 }, roots = 0;
    for (size_t i = 0; i < N * K; i++) one[i] = (double)y[i].f + (i % K) * noise(i);
    for (size_t i = 0; i < N * K; i++)
        squares[i % K] += pow(scale * (one[i] - (double)y[i].f), 2) / N;
    for (size_t k = 0; k < K; k++) roots += sqrt(squares[k]) / K;
    REQUIRE_OK(vkt__beside_metric(&b, one, "rmse", NULL, &p));
    REQUIRE_NEAR(p, roots, 1e-6);
}

/* A class of probability 1e-20 costs what that is; of none it is as with the smallest float. */
static void test_losses_of_the_impossible(void **state)
{
    (void)state;
    double loss, out[] = { 1, 1e-20 };
    vkt_label y[] = { { .u = 1 } };
    vkt__beside b = { VKT_TASK_CLASSIFY, 2, 1, 1, y, NULL };
    REQUIRE_OK(vkt__beside_metric(&b, out, "loss", NULL, &loss));
    REQUIRE_NEAR(loss, 20 * log(10), 1e-9);
    out[1] = 0;
    REQUIRE_OK(vkt__beside_metric(&b, out, "loss", NULL, &loss));
    REQUIRE_NEAR(loss, 38 * log(10), 1e-9);
}

static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        vkt__lead chosen, right;
        size_t n;
        uint64_t looks;
        const char *want;
    } of[] = {
        { { 0.3, 0.1 }, { NAN, NAN }, 1000, 1, "better" },
        { { 0.15, 0.1 }, { NAN, NAN }, 1000, 1, "level" },
        { { -0.3, 0.1 }, { NAN, NAN }, 1000, 1, "worse" },
        { { -0.15, 0.1 }, { 0.01, 0.02 }, 1000, 1, "level" },
        { { 0.1, 0.1 }, { 0.05, 0.02 }, 1000, 1, "better" },
        { { 0.1, 0.1 }, { -0.05, 0.02 }, 1000, 1, "worse" },
        { { 0.3, 0.1 }, { -0.05, 0.02 }, 1000, 1, "mixed" },
        { { 0.3, 0.1 }, { 0.05, 0.02 }, 1000, 1, "better" },
        { { 0.3, 0.1 }, { 0.01, 0.02 }, 1000, 1, "partly" },
        { { 0, 0 }, { NAN, NAN }, 1000, 1, "level" },
        { { 1e-9, 0 }, { NAN, NAN }, 1000, 1, "better" },
        { { NAN, NAN }, { NAN, NAN }, 1000, 1, "level" },
        /* t: 1.962 of many, 2.262 of ten */
        { { 0.1970, 0.1 }, { NAN, NAN }, 1000, 1, "better" },
        { { 0.1955, 0.1 }, { NAN, NAN }, 1000, 1, "level" },
        { { 0.2275, 0.1 }, { NAN, NAN }, 10, 1, "better" },
        { { 0.2250, 0.1 }, { NAN, NAN }, 10, 1, "level" },
        { { -0.2275, 0.1 }, { NAN, NAN }, 10, 20, "worse" },
        /* the luckiest of 20 equal ones: 3.543 of 18, 3.031 of many */
        { { 0.356, 0.1 }, { NAN, NAN }, 18, 20, "better" },
        { { 0.352, 0.1 }, { NAN, NAN }, 18, 20, "level" },
        { { 0.305, 0.1 }, { NAN, NAN }, 1000, 20, "better" },
        { { 0.300, 0.1 }, { NAN, NAN }, 1000, 20, "level" },
    };
    for (size_t i = 0; i < VKT_COUNT(of); i++)
        assert_string_equal(vkt__beside_verdict(of[i].chosen, of[i].right, of[i].n, of[i].looks),
                            of[i].want);
}

/* Two models are equal, and one is taken where it is best among twenty evaluations on the
 * validation examples. At most one in twenty-five is called better, however many test examples
 * there are: 2.5% and what 1,000 runs leave open, three standard errors. */
static void test_false_verdicts(void **state)
{
    (void)state;
    enum { RUNS = 1000, EVALUATIONS = 20 };
    static const size_t size[][2] = { { 176, 12 }, { 176, 0 }, { 100, 100 }, { 30, 60 } };
    for (size_t c = 0; c < VKT_COUNT(size); c++) {
        uint64_t at = 1000000 * c, n_better = 0;
        for (int run = 0; run < RUNS; run++) {
            double valid = -INFINITY, n = (double)size[c][0], m = (double)size[c][1];
            bool by_test;
            for (int e = 0; e < EVALUATIONS; e++) valid = fmax(valid, noise(at++) / sqrt(n));
            vkt__leads of_valid = { { valid, 1 / sqrt(n) }, { NAN, NAN }, size[c][0] },
                       of_test = { { NAN, NAN }, { NAN, NAN }, size[c][1] };
            if (m > 0) of_test.by = (vkt__lead) { noise(at++) / sqrt(m), 1 / sqrt(m) };
            n_better +=
                !strcmp(vkt__beside_judge(&of_valid, EVALUATIONS, &of_test, &by_test), "better");
            assert_int_equal(by_test, size[c][1] >= 50);
        }
        if (n_better > RUNS / 25) print_error("%d of %d\n", (int)n_better, RUNS);
        assert_true(n_better <= RUNS / 25);
    }
    /* a test measure that is no number judges nothing */
    vkt__leads good = { { 0.5, 0.1 }, { NAN, NAN }, 100 }, no = { { NAN, 0.1 }, { NAN, NAN }, 100 };
    bool by_test;
    assert_string_equal(vkt__beside_judge(&good, 0, &no, &by_test), "better");
    assert_false(by_test);
}

static void test_finding(void **state)
{
    (void)state;
    vkt__run_record r = vkt__run_record_empty();
    vkt__str s = { 0 };
    vkt_history_step steps[50];
    vkt_history h = { .steps = steps, .n_steps = VKT_COUNT(steps) };
    for (size_t i = 0; i < h.n_steps; i++)
        steps[i] = (vkt_history_step) { .loss = 0.6, .accuracy = 0.83 };
    r.metric = "accuracy";
    assert_false(vkt__finding_baseline(&r, &h, &s));
    r.baseline = "logistic regression";
    r.baseline_net = 0.79;
    r.baseline_metric = 0.817;
    r.baseline_error = 0.019;
    r.baseline_verdict = "better";
    assert_false(vkt__finding_baseline(&r, &h, &s));
    r.baseline_verdict = "mixed";
    assert_false(vkt__finding_baseline(&r, &h, &s));
    r.baseline_verdict = "level";
    assert_true(vkt__finding_baseline(&r, &h, &s));
    assert_non_null(strstr(s.data, "no better than a linear model (logistic regression): accuracy "
                                   "79.00% against 81.70%, difference within noise"));
    vkt__str_finish(&s);
    r.baseline_verdict = "worse";
    assert_true(vkt__finding_baseline(&r, &h, &s));
    assert_non_null(strstr(s.data, "worse than a linear model"));
    assert_non_null(
        strstr(s.data, "beyond noise (standard error of the accuracy 1.90%): look for"));
    vkt__str_finish(&s);
    /* The numbers of the set that judged. */
    r.baseline_split = "test";
    r.baseline_test = 0.9;
    r.baseline_test_net = 0.8;
    r.baseline_test_error = 0.03;
    assert_true(vkt__finding_baseline(&r, &h, &s));
    assert_non_null(strstr(s.data,
                           "on test accuracy 80.00% against 90.00%, difference beyond noise "
                           "(standard error of the accuracy 3.00%)"));
    vkt__str_finish(&s);
    r.baseline_split = NULL;
    /* Even the training examples are; of a loss by a tenth. */
    for (size_t i = 0; i < h.n_steps; i++) steps[i].accuracy = 0.8;
    assert_true(vkt__finding_baseline(&r, &h, &s));
    assert_non_null(strstr(s.data, "right for 80.00% of the training examples"));
    assert_non_null(strstr(s.data, "so it underfits"));
    vkt__str_finish(&s);
    r.metric = "loss";
    r.baseline_verdict = "partly";
    r.baseline_accuracy = 0.81;
    r.baseline_net_accuracy = 0.8;
    assert_true(vkt__finding_baseline(&r, &h, &s));
    assert_non_null(strstr(s.data, "by loss the network is better than a linear model"));
    assert_non_null(strstr(s.data, "no better: 80.00% against 81.00%, difference within noise"));
    vkt__str_finish(&s);
    r.baseline_accuracy = r.baseline_net_accuracy = NAN;
    r.baseline_verdict = "worse";
    r.baseline_net = 0.62;
    for (int i = 0; i < 2; i++) {
        r.baseline_metric = i ? 0.5 : 0.56;
        assert_true(vkt__finding_baseline(&r, &h, &s));
        assert_int_equal(strstr(s.data, "training steps is 0.6, less than") != NULL, i);
        vkt__str_finish(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_of_differences),
        cmocka_unit_test(test_errors_of_numbers),
        cmocka_unit_test(test_errors_of_several_numbers),
        cmocka_unit_test(test_losses_of_the_impossible),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_false_verdicts),
        cmocka_unit_test(test_finding),
    };
    return cmocka_run_group_tests_name("beside", tests, NULL, NULL);
}
