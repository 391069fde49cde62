/* train: examples in memory are trained on without files or held-out examples, and a model that
 * stays on its device predicts arrays as vkt_predict predicts files. */
#define DIR "test_predictor_tmp"
#include "on_device.h"
#include "own_folder.h"
#include "recipe_run.h"

#define RUN DIR "/run"

enum { N = 60, WIDTH = 3 };

static const char recipe[] = "model: [{linear: 8}, relu, linear]\n"
                             "optim: {lr: 0.05}\n"
                             "train: {steps: 60, batch: 20}\n";

static float x[N][WIDTH];
static int64_t y[N];

/* Three classes, far apart. */
static void make_data(void)
{
    for (uint32_t i = 0; i < N; i++) {
        y[i] = 10 * (int64_t)(i % 3);
        for (uint32_t k = 0; k < WIDTH; k++)
            x[i][k] = (k == i % 3 ? 3.0f : 0.0f) +
                      0.5f * (float)vkt_rand_uniform(1, VKT_RNG_TEST, i * WIDTH + k);
    }
}

static vkt_arrays arrays(void)
{
    return (vkt_arrays) { { VKT_ARRAY_F32, 2, { N, WIDTH }, x }, { VKT_ARRAY_I64, 1, { N }, y } };
}

static vkt_status train(bool all, bool drops, vkt_train_result *r)
{
    vkt_config *c;
    vkt_arrays a = arrays();
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, recipe, strlen(recipe), "t.yaml"));
    REQUIRE_OK(vkt_config_set(c, "data.valid_fraction=0"));
    REQUIRE_OK(vkt_config_set(c, "data.test_fraction=0"));
    if (drops) REQUIRE_OK(vkt_config_set(c, "data.missing=drop"));
    vkt_config_set_arrays(c, &a);
    a = (vkt_arrays) { 0 }; /* the config has its own */
    REQUIRE_OK(vkt_config_finish(c));
    REQUIRE_OK(vkt__remove_tree(RUN));
    vkt_status st = vkt_train(
        c, &(vkt_train_desc) { .run_dir = RUN, .gpu = test_gpu_desc(""), .train_on_all = all }, r);
    vkt_config_destroy(&c);
    return st;
}

static void take(void *user, const vkt_prediction *p)
{
    memcpy((float *)user + 3 * p->index, p->value, 3 * sizeof(float));
}

static void arrays_are_learned_and_predicted(void **state)
{
    (void)state;
    vkt_train_result r;
    vkt_predictor *p;
    static float out[N][3], part[7][3], file[N][3];
    const char *csv = DIR "/x.csv";
    vkt_gpu_desc gpu = test_gpu_desc("");
    make_data();
    REQUIRE_STATUS(train(false, false, &r), VKT_E_ARG);
    assert_non_null(strstr(vkt_last_error(), "data.valid_fraction"));
    REQUIRE_OK(train(true, false, &r));
    assert_true(r.valid_accuracy > 0.99);
    REQUIRE_OK(vkt_predictor_open(&gpu, RUN, &p));
    const vkt_predictor_info *info = vkt_predictor_get_info(p);
    assert_int_equal(info->n_outputs, 3);
    assert_int_equal(info->n_inputs, WIDTH);
    assert_string_equal(info->class_names[2], "20");
    vkt_array a = arrays().x;
    REQUIRE_OK(vkt_predictor_run(p, &a, &out[0][0]));
    for (uint32_t i = 0; i < N; i++) assert_true(out[i][y[i] / 10] > 0.5f);
    /* A part alone, from the middle. */
    a = (vkt_array) { VKT_ARRAY_F32, 2, { 7, WIDTH }, x[31] };
    REQUIRE_OK(vkt_predictor_run(p, &a, &part[0][0]));
    assert_memory_equal(part, out[31], sizeof part);
    a.shape[1] = 2;
    REQUIRE_STATUS(vkt_predictor_run(p, &a, &part[0][0]), VKT_E_FORMAT);
    assert_non_null(strstr(vkt_last_error(), "[n, 3]"));
    a = arrays().x;
    x[5][1] = NAN;
    REQUIRE_STATUS(vkt_predictor_run(p, &a, &part[0][0]), VKT_E_FORMAT);
    assert_non_null(strstr(vkt_last_error(), "row 5"));
    make_data();
    vkt_inputs in;
    REQUIRE_STATUS(vkt_predictor_read_picture(p, "\x89PNG", 4, "it", &in), VKT_E_FORMAT);
    assert_string_equal(vkt_last_error(), "'it' is a picture, but the model was trained on a "
                                          "table: give its 3 columns");
    assert_null(in.data);
    vkt_predictor_close(&p);
    vkt_predictor_close(&p);
    /* The same as from a file. */
    FILE *f = fopen(csv, "w");
    assert_non_null(f);
    for (uint32_t i = 0; i < N; i++)
        fprintf(f, "%.9g,%.9g,%.9g\n", (double)x[i][0], (double)x[i][1], (double)x[i][2]);
    fclose(f);
    REQUIRE_OK(vkt_predict(&(vkt_predict_desc) { gpu, RUN, &csv, 1, .fn = take, .user = file }));
    for (uint32_t i = 0; i < N; i++)
        for (uint32_t k = 0; k < 3; k++) REQUIRE_NEAR(file[i][k], out[i][k], 1e-6);
}

/* Rows that training would have left out are no rows to predict. */
static void what_training_drops_is_refused(void **state)
{
    (void)state;
    vkt_train_result r;
    vkt_predictor *p;
    vkt_inputs in;
    static float out[N][3];
    static const char rows[] = "1,2,3\n1,,3\n";
    vkt_gpu_desc gpu = test_gpu_desc("");
    make_data();
    REQUIRE_OK(train(true, true, &r));
    REQUIRE_OK(vkt_predictor_open(&gpu, RUN, &p));
    vkt_array a = arrays().x;
    x[5][1] = NAN;
    REQUIRE_STATUS(vkt_predictor_run(p, &a, &out[0][0]), VKT_E_FORMAT);
    assert_non_null(strstr(vkt_last_error(), "1 rows of X have NaN, which training left out"));
    REQUIRE_STATUS(vkt_predictor_read_rows(p, rows, strlen(rows), "it", &in), VKT_E_FORMAT);
    assert_non_null(
        strstr(vkt_last_error(), "'it': 1 rows have missing values, which training left out"));
    assert_null(in.data);
    vkt_predictor_close(&p);
}

static void a_planned_device_trains_nothing(void **state)
{
    (void)state;
    vkt_config *c;
    vkt_train_result r;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, recipe, strlen(recipe), "t.yaml"));
    REQUIRE_OK(vkt_config_set(c, "data.source=digits"));
    REQUIRE_OK(vkt_config_finish(c));
    vkt_train_desc d = { .run_dir = DIR "/planned", .gpu = { .profile = "any.json" } };
    REQUIRE_STATUS(vkt_train(c, &d, &r), VKT_E_ARG);
    assert_string_equal(vkt_last_error(),
                        "a device profile is only for planning: nothing can be trained");
    assert_false(vkt__is_dir(DIR "/planned"));
    vkt_config_destroy(&c);
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    const struct CMUnitTest tests[] = { cmocka_unit_test(arrays_are_learned_and_predicted),
                                        cmocka_unit_test(what_training_drops_is_refused),
                                        cmocka_unit_test(a_planned_device_trains_nothing) };
    return cmocka_run_group_tests_name("predictor", tests, setup, teardown);
}
