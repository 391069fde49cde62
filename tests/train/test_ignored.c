/* loss.ignore_index: the mean, its gradient and evaluations are over the examples that count. All
 * inputs are 0, so the logits are the biases, and what is right can be said. */
#include <math.h>

#include "recipe_run.h"

#define RUN "test_ignored_tmp"

enum { TRAINED = 48, ALL = 60, CLASSES = 3, IGNORED = 0 };

static const char recipe[] =
    "data: {source: csv, path: " RUN "/rows.csv, time: t, standardize: none, valid_fraction: 0.2,\n"
    "  test_fraction: 0, sampling: in-order}\n"
    "model: [linear]\noptim: {rule: sgd, lr: 1, momentum: 0}\n"
    "train: {steps: 1, batch: 48}\neval: {every: 1}\n"
    "calibration: {temperature: false}\nloss: {ignore_index: 0}\n";

static uint32_t class_of(uint32_t row)
{
    return row % 4 ? row % CLASSES : IGNORED;
}

static int write_rows(void **state)
{
    (void)state;
    FILE *f;
    if (vkt__remove_tree(RUN) != VKT_OK || vkt__mkdirs(RUN) != VKT_OK) return 1;
    if (vkt__file_create(RUN "/rows.csv", &f) != VKT_OK) return 1;
    fputs("t,a,b,y\n", f);
    for (uint32_t i = 0; i < ALL; i++) fprintf(f, "%u,0,0,%c\n", i, "pqr"[class_of(i)]);
    fclose(f);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    return vkt__remove_tree(RUN);
}

/* Finds `line` in the run's metrics, and returns the number behind the next `key`. */
static double number_of(const char *line, const char *key)
{
    char *text = NULL;
    size_t bytes;
    double v = NAN;
    REQUIRE_OK(vkt__file_read(RUN "/r/metrics.jsonl", 1 << 20, &text, &bytes));
    const char *at = strstr(text, line);
    if (at && (at = strstr(at, key))) v = strtod(at + strlen(key), NULL);
    free(text);
    return v;
}

/* Losses of logits that are all equal, then of the logits after one step. */
static void the_mean_is_over_what_counts(void **state)
{
    (void)state;
    static const struct {
        double weight[CLASSES], smoothing;
        const char *set[4];
    } cases[] = {
        { { 1, 1, 1 }, 0, { NULL } },
        { { 5, 2, 1 }, 0, { "loss.class_weight=[5, 2, 1]" } },
        { { 1, 1, 1 }, 0.1, { "loss.label_smoothing=0.1" } },
        { { 5, 2, 1 }, 0.1, { "loss.class_weight=[5, 2, 1]", "loss.label_smoothing=0.1" } },
        { { 1, 1, 1 }, 0, { "train.batch=16", "train.accumulate=3" } },
        { { 5, 2, 1 },
          0,
          { "train.batch=16", "train.accumulate=3", "loss.class_weight=[5, 2, 1]" } },
    };
    for (size_t k = 0; k < VKT_COUNT(cases); k++) {
        const double *w = cases[k].weight, e = cases[k].smoothing, all = w[0] + w[1] + w[2];
        double loss = 0, weight = 0, bias[CLASSES] = { 0 }, valid = 0, n_valid = 0, n, sum = 0;
        for (uint32_t i = 0; i < TRAINED; i++) {
            uint32_t t = class_of(i);
            if (t == IGNORED) continue;
            weight += w[t];
            loss += ((1 - e) * w[t] + e / CLASSES * all) * log(CLASSES);
            for (uint32_t c = 0; c < CLASSES; c++)
                bias[c] -= (1 - e) * w[t] * (1.0 / CLASSES - (c == t)) +
                           e / CLASSES * (all / CLASSES - w[c]);
        }
        for (uint32_t c = 0; c < CLASSES; c++) sum += exp(bias[c] /= weight);
        for (uint32_t i = TRAINED; i < ALL; i++) {
            if (class_of(i) == IGNORED) continue;
            valid += log(sum) - bias[class_of(i)];
            n_valid++;
        }
        vkt_train_result r;
        REQUIRE_OK(vkt__remove_tree(RUN "/r"));
        REQUIRE_OK(
            train_recipe(recipe, cases[k].set, &(vkt_train_desc) { .run_dir = RUN "/r" }, &r));
        /* Sums of 48 terms of about 1 in fp32. */
        REQUIRE_NEAR(number_of("\"kind\":\"train\"", "\"loss\":"), loss / weight, 48 * 6e-8);
        REQUIRE_NEAR(number_of("\"kind\":\"eval\"", "\"loss\":"), valid / n_valid, 48 * 6e-8);
        n = number_of("\"kind\":\"eval\"", "\"n\":");
        assert_true(n == n_valid);
    }
}

/* The ignored class is predicted for, but not counted. */
static void predictions_have_all_rows(void **state)
{
    (void)state;
    vkt_eval_result r;
    vkt_eval_desc d = { .checkpoint = RUN "/r",
                        .split = VKT_SPLIT_VALID,
                        .predictions = RUN "/predictions.csv" };
    size_t bytes, lines = 0;
    REQUIRE_OK(vkt_eval(&d, &r));
    assert_int_equal(r.n, 6);
    vkt_eval_result_finish(&r);
    char *text = read_run_file(RUN, "predictions.csv", &bytes);
    for (const char *s = text; *s; s++) lines += *s == '\n';
    assert_int_equal(lines, 1 + ALL - TRAINED);
    free(text);
}

/* A step without an example that counts changes nothing; a class that is not there is refused. */
static void nothing_counts(void **state)
{
    (void)state;
    vkt_train_result r;
    const char *const first[] = { "train.batch=1", "eval.every=1", NULL }, *const none[] = {
        "loss.ignore_index=3", NULL
    };
    REQUIRE_OK(vkt__remove_tree(RUN "/r"));
    REQUIRE_OK(train_recipe(recipe, first, &(vkt_train_desc) { .run_dir = RUN "/r" }, &r));
    assert_true(number_of("\"kind\":\"train\"", "\"loss\":") == 0);
    REQUIRE_NEAR(number_of("\"kind\":\"eval\"", "\"loss\":"), log(CLASSES), 6e-8 * 2);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(train_recipe(recipe, none, &(vkt_train_desc) { .run_dir = RUN "/n" }, &r),
                   VKT_E_ARG);
    REQUIRE_LOGGED("loss.ignore_index 3 is none of the data's 3 classes");
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_over_what_counts),
        cmocka_unit_test(predictions_have_all_rows),
        cmocka_unit_test(nothing_counts),
    };
    return cmocka_run_group_tests_name("ignored", tests, write_rows, clean);
}
