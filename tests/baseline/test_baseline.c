/* baseline: the linear model beside a network, against scikit-learn's (tests/golden/baseline.json,
 * written by tools/golden/golden_baseline.py) and on data whose answer is known. What
 * the difference between their results is worth: test_beside.c. */
#include <jansson.h>
#include <math.h>

#define DIR "test_baseline_tmp"
#include "data_files.h"

#include "baseline/baseline.h"
#include "baseline/features.h"
#include "baseline/linear.h"

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
    float *before = malloc(rows.n_entries * sizeof *before);
    double *texts = calloc(rows.p, sizeof *texts); /* that have a word */
    memcpy(before, rows.value, rows.n_entries * sizeof *before);
    for (size_t e = 0; e < rows.n_entries; e++) texts[rows.column[e]]++;
    vkt__features_weigh(&f, &rows);
    for (size_t i = 0; i < rows.n; i++) { /* as scikit-learn's TfidfVectorizer(sublinear_tf=True) */
        double square = 0, length = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t e = rows.begin[i]; e < rows.begin[i + 1]; e++) {
                double idf = log((1 + (double)rows.n) / (1 + texts[rows.column[e]])) + 1,
                       want = (double)before[e] * idf;
                if (pass) REQUIRE_NEAR((double)rows.value[e], want / sqrt(length), 1e-6);
                length += pass ? 0 : want * want;
                square += pass ? 0 : (double)rows.value[e] * (double)rows.value[e];
            }
        REQUIRE_NEAR(square, 1, 1e-5);
    }
    free(before);
    free(texts);
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
    };
    if (vkt__mkdirs(DIR) != VKT_OK) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
