/* baseline: the linear model beside a network, against scikit-learn's (tests/golden/baseline.json,
 * written by tools/golden/golden_baseline.py) and on data whose answer is known; and what
 * the difference between two models' results is worth. */
#include <jansson.h>

#define DIR "test_baseline_tmp"
#include "data_files.h"

#include "baseline/baseline.h"
#include "baseline/features.h"
#include "baseline/linear.h"
#include "report/finding_baseline.h"
#include "train/measures/beside.h"

enum { ROWS = 600 };
static const vkt_maybe none = { 0 };

static double noise(uint64_t i)
{
    return vkt_rand_normal(39, VKT_RNG_TEST, i);
}

/* ---- scikit-learn's numbers ---- */

static double *numbers(const json_t *o, const char *key)
{
    const json_t *a = json_object_get(o, key);
    size_t n = json_array_size(a);
    double *v = calloc(n + 1, sizeof *v);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) v[i] = json_number_value(json_array_get(a, i));
    return v;
}

static size_t count(const json_t *o, const char *key)
{
    return (size_t)json_integer_value(json_object_get(o, key));
}

/* guess: the curvature is guessed from the columns. */
static void one_case(const json_t *c, bool guess)
{
    size_t n = count(c, "n"), p = count(c, "p"), q = count(c, "q");
    const char *kind = json_string_value(json_object_get(c, "kind"));
    double *x = numbers(c, "x"), *y = numbers(c, "y"), *coef = numbers(c, "coef"),
           *constant = numbers(c, "intercept"), *w = calloc((p + 1) * q, sizeof *w),
           strength = json_number_value(json_object_get(c, "strength"));
    vkt__rows rows = { .n = n, .p = (uint32_t)p };
    uint32_t *at = calloc(n, sizeof *at);
    rows.begin = calloc(n + 1, sizeof *rows.begin);
    rows.column = calloc(n * p, sizeof *rows.column);
    rows.value = calloc(n * p, sizeof *rows.value);
    for (size_t i = 0; i < n; i++) {
        at[i] = (uint32_t)i;
        for (size_t j = 0; j < p; j++) {
            if (x[i * p + j] == 0) continue;
            rows.column[rows.n_entries] = (uint32_t)j;
            rows.value[rows.n_entries++] = (float)x[i * p + j];
        }
        rows.begin[i + 1] = rows.n_entries;
    }
    vkt__fit_rows d = { &rows, y, at, n, (uint32_t)q };
    bool ridge = !strcmp(kind, "ridge");
    double *products = guess && !ridge ? calloc((p + 1) * (p + 1), sizeof *products) : NULL;
    if (products) vkt__logistic_products(&rows, at, n, products);
    vkt__logistic_how how = { !strcmp(kind, "softmax"), strength, 1e-11, 5000, products };
    REQUIRE_OK(ridge ? vkt__ridge_fit(&d, &strength, 1, w) : vkt__logistic_fit(&d, &how, w));
    free(products);
    /* Ridge is solved by both. A gradient g of the mean leaves weights off by n g / strength: ours
     * stops at 1e-11, scikit-learn's solver where its own line search does, near 1e-9. */
    double limit = ridge ? 1e-9 : 1e-6, off = 0;
    for (size_t k = 0; k < q; k++) off += constant[k] - w[p * q + k];
    for (size_t i = 0; i < p * q; i++) REQUIRE_NEAR(w[i], coef[i], limit);
    /* a number added to all constants of a softmax changes nothing */
    for (size_t k = 0; k < q; k++)
        REQUIRE_NEAR(w[p * q + k] + (how.softmax ? off / (double)q : 0), constant[k], limit);
    vkt__rows_finish(&rows);
    free(x), free(y), free(coef), free(constant), free(w), free(at);
}

static void test_same_as_scikit_learn(void **state)
{
    (void)state;
    json_t *file = json_load_file(test_file("golden/baseline.json"), 0, NULL);
    const json_t *cases = json_object_get(file, "cases"), *c;
    size_t i;
    assert_true(json_array_size(cases) == 9);
    json_array_foreach(cases, i, c)
    {
        one_case(c, false);
        one_case(c, true);
    }
    json_decref(file);
}

/* Some of the rows, as folds take them, give what they give alone. */
static void test_some_of_the_rows(void **state)
{
    (void)state;
    enum { N = 60, P = 40, Q = 2 };
    static float value[2][N * P];
    static uint32_t column[N * P], at[2][N];
    static size_t begin[N + 1];
    static double y[2][N * Q], w[2][Q * (P + 1)];
    const double strength = 3;
    for (uint32_t p = 4; p <= P; p += P - 4) /* more rows than columns, and fewer */
        for (size_t each = 2; each <= 3; each++) {
            size_t n = N / each;
            for (size_t i = 0; i <= N; i++) begin[i] = i * p;
            for (size_t e = 0; e < N * p; e++) {
                column[e] = (uint32_t)(e % p);
                value[0][e] = (float)(3 + noise(e));
            }
            for (size_t i = 0; i < N * Q; i++) y[0][i] = noise(9000 + i) + 5 * (double)(i / Q / 30);
            for (size_t i = 0; i < n; i++) {
                at[0][i] = (uint32_t)(i * each);
                at[1][i] = (uint32_t)i;
                memcpy(value[1] + i * p, value[0] + i * each * p, p * sizeof **value);
                memcpy(y[1] + i * Q, y[0] + i * each * Q, Q * sizeof **y);
            }
            for (int k = 0; k < 2; k++) {
                vkt__rows rows = { .n = k ? n : N,
                                   .n_entries = (k ? n : N) * p,
                                   .p = p,
                                   .begin = begin,
                                   .column = column,
                                   .value = value[k] };
                vkt__fit_rows d = { &rows, y[k], at[k], n, Q };
                REQUIRE_OK(vkt__ridge_fit(&d, &strength, 1, w[k]));
            }
            for (size_t i = 0; i < Q * (p + 1); i++) REQUIRE_NEAR(w[0][i], w[1][i], 1e-12);
        }
}

/* ---- data sets ---- */

static double accuracy(vkt__baseline *b, const vkt_dataset *ds, vkt_split split)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    double *out = calloc(info->n_outputs, sizeof *out), right = 0;
    float *x = calloc(info->n_inputs, sizeof *x);
    for (uint64_t i = 0; i < info->n[split]; i++) {
        vkt_label y;
        bool read;
        uint32_t top = 0;
        REQUIRE_OK(vkt_dataset_example(ds, split, i, x, &y));
        REQUIRE_OK(vkt__baseline_predict(b, split, i, out, &read));
        assert_true(read);
        for (uint32_t k = 1; k < info->n_outputs; k++)
            if (out[k] > out[top]) top = k;
        right += top == y.u;
    }
    free(x);
    free(out);
    return right / (double)info->n[split];
}

/* A number, one far from 0, blank cells, categories that matter, one column of noise. */
static vkt_dataset *open_table(bool classes, bool learnable)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "a,year,town,noise,y\n");
    for (uint64_t i = 0; i < ROWS; i++) {
        double a = noise(4 * i), year = 2000 + 5 * noise(4 * i + 1), by = noise(4 * i + 2);
        uint32_t town = vkt_rand_below(1, VKT_RNG_TEST, i, 3);
        double sum = 2 * a + (year - 2000) / 5 + 1.5 * ((double)town - 1);
        if (!learnable) sum = 0;
        sum += 0.3 * noise(90000 + i);
        if (i % 50 == 7)
            vkt__str_printf(&s, ",");
        else
            vkt__str_printf(&s, "%.6f,", a);
        vkt__str_printf(&s, "%.4f,%c,%.6f,", year, "KUB"[town], by);
        if (classes)
            vkt__str_printf(&s, "%s\n", sum > 1 ? "high" : sum < -1 ? "low" : "mid");
        else
            vkt__str_printf(&s, "%.6f\n", 10 + 3 * sum);
    }
    vkt_dataset *ds =
        open_csv(s.data, (vkt_data_desc) { .label = "y",
                                           .task = classes ? VKT_TASK_CLASSIFY : VKT_TASK_REGRESS,
                                           .missing = VKT_MISSING_MEAN,
                                           .valid_fraction = 0.3,
                                           .seed = 4 });
    vkt__str_finish(&s);
    return ds;
}

static void test_table_of_numbers(void **state)
{
    (void)state;
    vkt_dataset *ds = open_table(false, true);
    vkt__baseline *b = NULL;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    double error = 0, square = 0, out, constant;
    const char *why;
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e8, &b, &why));
    assert_non_null(b);
    assert_string_equal(vkt__baseline_name(b), "ridge regression");
    vkt__baseline_constant(b, &constant);
    REQUIRE_NEAR(constant, 0, 1e-5); /* standardised targets */
    float x[64];
    for (uint64_t i = 0; i < info->n[VKT_SPLIT_VALID]; i++) {
        vkt_label y;
        bool read;
        REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_VALID, i, x, &y));
        REQUIRE_OK(vkt__baseline_predict(b, VKT_SPLIT_VALID, i, &out, &read));
        error += (out - (double)y.f) * (out - (double)y.f);
        square += (double)y.f * (double)y.f;
    }
    /* the noise's share of the variance is 0.09 / 6.6, the blank cells' 0.02 x 4 / 6.6 */
    assert_true(error / square < 0.06);
    assert_true(strstr(vkt__baseline_about(b), "fitted on 420 training examples") != NULL);
    vkt__baseline_destroy(&b);
    vkt_dataset_destroy(&ds);
}

static void test_table_of_classes(void **state)
{
    (void)state;
    vkt_dataset *ds = open_table(true, true);
    vkt__baseline *b = NULL, *again = NULL;
    double share[3], one[3], other[3];
    bool read;
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e8, &b, NULL));
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e8, &again, NULL));
    assert_true(accuracy(b, ds, VKT_SPLIT_VALID) > 0.85);
    vkt__baseline_constant(b, share);
    REQUIRE_NEAR(share[0] + share[1] + share[2], 1, 1e-12);
    for (uint64_t i = 0; i < 20; i++) { /* the same bits */
        REQUIRE_OK(vkt__baseline_predict(b, VKT_SPLIT_VALID, i, one, &read));
        REQUIRE_OK(vkt__baseline_predict(again, VKT_SPLIT_VALID, i, other, &read));
        assert_memory_equal(one, other, sizeof one);
        REQUIRE_NEAR(one[0] + one[1] + one[2], 1, 1e-12);
    }
    assert_true(vkt__baseline_strength(b) <= 10);
    vkt__baseline_destroy(&b);
    vkt__baseline_destroy(&again);
    vkt_dataset_destroy(&ds);
}

/* Where nothing is to be learned, the folds choose the strongest. */
static void test_noise_is_held_down(void **state)
{
    (void)state;
    for (int classes = 0; classes < 2; classes++) {
        vkt_dataset *ds = open_table(classes, false);
        vkt__baseline *b = NULL;
        REQUIRE_OK(vkt__baseline_fit(ds, none, 1e8, &b, NULL));
        if (vkt__baseline_strength(b) < 100) print_error("%g\n", vkt__baseline_strength(b));
        assert_true(vkt__baseline_strength(b) >= 100);
        vkt__baseline_destroy(&b);
        vkt_dataset_destroy(&ds);
    }
}

static void test_allowance(void **state)
{
    (void)state;
    vkt_dataset *ds = open_table(true, true);
    vkt__baseline *b = NULL;
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e5, &b, NULL));
    assert_true(strstr(vkt__baseline_about(b), "fitted on 200 of 420 training examples") != NULL);
    assert_true(accuracy(b, ds, VKT_SPLIT_VALID) > 0.8);
    assert_int_equal(vkt__baseline_affords(b, 150), 150);
    assert_true(vkt__baseline_affords(b, 100000) < 400);
    vkt__baseline_destroy(&b);
    vkt_dataset_destroy(&ds);
}

/* Where not all rows are read, they are of the whole table: what is validated lies at the end of
 * one that goes by time. */
static void test_rows_are_of_all_the_table(void **state)
{
    (void)state;
    vkt__str s = { 0 };
    vkt__baseline *b = NULL;
    vkt__str_printf(&s, "t,a,b,y\n");
    for (uint64_t i = 0; i < 2 * ROWS; i++) {
        uint64_t k = VKT_MIN(i / (ROWS / 2), 2);
        vkt__str_printf(&s, "%d,%.5f,%.5f,%c\n", (int)i, noise(i) + 8 * (double)(k == 1),
                        noise(5000 + i) + 8 * (double)(k == 2), "pqr"[k]);
    }
    vkt_dataset *ds =
        open_csv(s.data, (vkt_data_desc) { .label = "y", .time = "t", .valid_fraction = 0.3 });
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e5, &b, NULL));
    assert_non_null(strstr(vkt__baseline_about(b), "fitted on 200 of 840 training examples"));
    assert_true(accuracy(b, ds, VKT_SPLIT_VALID) > 0.97);
    vkt__baseline_destroy(&b);
    /* a class that does not count is not fitted: it has no share, and its rows are not read */
    REQUIRE_OK(vkt__baseline_fit(ds, (vkt_maybe) { true, 1 }, 1e9, &b, NULL));
    double share[3];
    vkt__baseline_constant(b, share);
    REQUIRE_NEAR(share[1], 0, 0);
    REQUIRE_NEAR(share[0] + share[2], 1, 1e-12);
    assert_non_null(strstr(vkt__baseline_about(b), "fitted on 540 training examples"));
    vkt__baseline_destroy(&b);
    vkt_dataset_destroy(&ds);
    vkt__str_finish(&s);
}

/* Twenty-four rows of a group are all but equal, and groups are noise: only folds that keep a group
 * together see that nothing is learned. */
static void test_folds_keep_groups(void **state)
{
    (void)state;
    enum { GROUPS = 25, EACH = 24, COLUMNS = 30 };
    vkt__str s = { 0 };
    vkt__baseline *b = NULL;
    double strength[2];
    for (uint64_t j = 0; j < COLUMNS; j++) vkt__str_printf(&s, "x%d,", (int)j);
    vkt__str_printf(&s, "g,y\n");
    for (uint64_t i = 0; i < GROUPS * EACH; i++) {
        uint64_t g = i % GROUPS;
        for (uint64_t j = 0; j < COLUMNS; j++)
            vkt__str_printf(&s, "%.4f,", noise(100 * g + j) + 0.01 * noise(50000 + 100 * i + j));
        vkt__str_printf(&s, "group%d,%s\n", (int)g, noise(7000 + g) > 0 ? "yes" : "no");
    }
    for (int by_group = 0; by_group < 2; by_group++) {
        vkt_dataset *ds = open_csv(s.data, (vkt_data_desc) { .label = "y",
                                                             .ignore = "g",
                                                             .group = by_group ? "g" : NULL,
                                                             .valid_fraction = 0.2 });
        REQUIRE_OK(vkt__baseline_fit(ds, none, 1e8, &b, NULL));
        strength[by_group] = vkt__baseline_strength(b);
        vkt__baseline_destroy(&b);
        vkt_dataset_destroy(&ds);
    }
    if (strength[0] > 0.1 || strength[1] < 100) print_error("%g %g\n", strength[0], strength[1]);
    assert_true(strength[0] <= 0.1 && strength[1] >= 100);
    vkt__str_finish(&s);
}

/* Pairs of words tell "hardly bad" from "hardly good": no word alone does. A text's numbers are of
 * length 1, however long it is. */
static void test_sentences(void **state)
{
    (void)state;
    static const char *const fill[] = { "the", "train", "was", "late", "again", "today", "here" };
    vkt__str s = { 0 };
    vkt__str_printf(&s, "what,y\n");
    for (uint64_t i = 0; i < ROWS; i++) {
        bool yes = i % 2;
        for (uint64_t k = 0; k < 6; k++)
            vkt__str_printf(&s, "%s ", fill[vkt_rand_below(2, VKT_RNG_TEST, 6 * i + k, 7)]);
        vkt__str_printf(&s, "%s %s", i % 4 < 2 ? "Very" : "hardly",
                        (i % 4 < 2) == yes ? "good" : "bad");
        for (uint64_t k = 0; k < 3 * (i % 3); k++) vkt__str_printf(&s, " %s", fill[k % 7]);
        vkt__str_printf(&s, ",%s\n", yes ? "yes" : "no");
    }
    vkt_dataset *ds = open_csv(
        s.data,
        (vkt_data_desc) { .label = "y", .text = "what", .context = 64, .valid_fraction = 0.3 });
    vkt__baseline *b = NULL;
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e9, &b, NULL));
    assert_non_null(b);
    assert_true(strstr(vkt__baseline_about(b), "hashed words and pairs") != NULL);
    assert_true(accuracy(b, ds, VKT_SPLIT_VALID) > 0.97);
    vkt__baseline_destroy(&b);
    vkt__features f;
    vkt__rows rows = { 0 };
    const char *why;
    bool some;
    REQUIRE_OK(vkt__features_open(ds, 1 << 15, &f, &some, &why));
    for (uint64_t i = 0; i < 30; i++)
        REQUIRE_OK(vkt__features_add(&f, VKT_SPLIT_TRAIN, i, &rows, &some));
    vkt__features_weigh(&f, &rows);
    for (size_t i = 0; i < rows.n; i++) {
        double square = 0;
        for (size_t e = rows.begin[i]; e < rows.begin[i + 1]; e++)
            square += (double)rows.value[e] * (double)rows.value[e];
        REQUIRE_NEAR(square, 1, 1e-5);
    }
    vkt__rows_finish(&rows);
    vkt__features_finish(&f);
    vkt_dataset_destroy(&ds);
    vkt__str_finish(&s);
}

/* Pictures of 24 x 20 in three classes: which third is brighter. */
static void test_pictures(void **state)
{
    (void)state;
    enum { N = 300, H = 24, W = 20 };
    vkt_dataset *ds = NULL;
    vkt__baseline *b = NULL;
    idx_images(bytes, N, H, W, 0);
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t j = 0; j < H * W; j++) {
            uint32_t at = i * H * W + j, third = j / (8 * W);
            bytes[16 + at] =
                (uint8_t)(vkt_rand_below(5, VKT_RNG_TEST, at, 120) + (third == i % 3 ? 40 : 0));
        }
    REQUIRE_OK(vkt__mkdirs(DIR "/idx"));
    put(DIR "/idx/train-images-idx3-ubyte", bytes, 16 + N * H * W);
    put(DIR "/idx/train-labels-idx1-ubyte", bytes, idx_labels(bytes, N, 3));
    vkt_data_desc d = { IDX_DESC, .valid_fraction = 0.3 };
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e9, &b, NULL));
    assert_non_null(strstr(vkt__baseline_about(b), "256 means of pixels"));
    assert_true(accuracy(b, ds, VKT_SPLIT_VALID) > 0.97);
    vkt__features f;
    vkt__rows rows = { 0 };
    const char *why;
    bool some;
    static float x[H * W];
    vkt_label y;
    REQUIRE_OK(vkt__features_open(ds, 1 << 15, &f, &some, &why));
    REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, 3, x, &y));
    REQUIRE_OK(vkt__features_add(&f, VKT_SPLIT_TRAIN, 3, &rows, &some));
    for (size_t e = 0; e < rows.n_entries; e++) { /* each pixel is in one of the areas */
        uint32_t i = rows.column[e] / 16, j = rows.column[e] % 16, n = 0;
        double sum = 0;
        for (uint32_t r = i * H / 16; r < (i + 1) * H / 16; r++)
            for (uint32_t c = j * W / 16; c < (j + 1) * W / 16; c++, n++)
                sum += (double)x[r * W + c];
        REQUIRE_NEAR((double)rows.value[e], sum / n, 1e-5);
    }
    vkt__rows_finish(&rows);
    vkt__features_finish(&f);
    vkt__baseline_destroy(&b);
    vkt_dataset_destroy(&ds);
}

static void test_digits(void **state)
{
    (void)state;
    vkt_data_desc d = { .source = "digits", .valid_fraction = 0.2 };
    vkt_dataset *ds = NULL;
    vkt__baseline *b = NULL;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e9, &b, NULL));
    assert_true(accuracy(b, ds, VKT_SPLIT_VALID) > 0.93); /* scikit-learn's: 0.95 to 0.97 */
    vkt__baseline_destroy(&b);
    vkt_dataset_destroy(&ds);
}

static void test_language_has_none(void **state)
{
    (void)state;
    const char *words = "to be or not to be that is the question, to be or not to be";
    put(DIR "/text.txt", words, strlen(words));
    vkt_data_desc d = { .source = "text",
                        .path = DIR "/text.txt",
                        .tokenizer = "bytes",
                        .context = 4,
                        .valid_fraction = 0.3 };
    vkt_dataset *ds = NULL;
    vkt__baseline *b = NULL;
    const char *why = "unset";
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_OK(vkt__baseline_fit(ds, none, 1e8, &b, &why));
    assert_null(b);
    assert_string_equal(why, "");
    vkt_dataset_destroy(&ds);
}

/* ---- what a difference is worth ---- */

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
        cmocka_unit_test(test_same_as_scikit_learn),
        cmocka_unit_test(test_table_of_numbers),
        cmocka_unit_test(test_table_of_classes),
        cmocka_unit_test(test_noise_is_held_down),
        cmocka_unit_test(test_allowance),
        cmocka_unit_test(test_some_of_the_rows),
        cmocka_unit_test(test_rows_are_of_all_the_table),
        cmocka_unit_test(test_folds_keep_groups),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_language_has_none),
        cmocka_unit_test(test_errors_of_differences),
        cmocka_unit_test(test_errors_of_numbers),
        cmocka_unit_test(test_errors_of_several_numbers),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_false_verdicts),
        cmocka_unit_test(test_finding),
    };
    if (vkt__mkdirs(DIR) != VKT_OK) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
