/* The whole trainer on a device: memory as planned, resuming bit for bit, exact evaluation, the NaN
 * policy, refusals. Its checkpoints: test_train_checkpoints.c. */
#include "train_digits.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

#include "formats/safetensors.h"

static void memory_is_as_planned_and_constant(void **state)
{
    (void)state;
    vkt_train_result r;
    REQUIRE_OK(train("tt_memory", NULL, false, 0, &r));
    assert_true(r.planned_bytes == r.device_bytes);
    assert_true(r.n_allocs_first > 0 && r.n_allocs_first == r.n_allocs_last);
    assert_int_equal(r.step, 30);
    assert_int_equal(r.n_skipped, 0);
    assert_true(r.test_accuracy > 0.5 && r.valid_accuracy > 0.5);
    assert_true(vkt__file_exists("tt_memory/best"));
}

static void resume_is_bit_exact(void **state)
{
    (void)state;
    vkt_train_result r;
    /* Runs are stopped twice, between evaluations and at one; the recipe has dropout. Lesser
     * devices and sanitizers take each fourth row. */
    static const char *const rules[] = { "optim.rule=adam", "optim.rule=momentum",
                                         "optim.rule=rmsprop", "train.precision=bf16",
                                         "train.precision=fp16" };
    for (size_t k = 0; k < VKT_COUNT(rules); k += getenv("VKT_TEST_CAP") ? 4 : 1) {
        /* So large a loss scale overflows, and grows again every 4 steps: it changes all the time.
         */
        const char *set[] = { rules[k], "optim.lr=0.002", "train.loss_scale=16777216",
                              "train.loss_scale_every=4", NULL };
        REQUIRE_OK(train("tt_straight", set, false, 0, &r));
        REQUIRE_STATUS(train("tt_resumed", set, false, 7, &r), VKT_E_INTERRUPTED);
        assert_true(r.step >= 7 && r.step < 30);
        REQUIRE_STATUS(train("tt_resumed", set, true, 20, &r), VKT_E_INTERRUPTED);
        assert_true(strstr(r.best_checkpoint, "/checkpoints/step-") && r.best_step % 10 == 0 &&
                    !isnan(r.best_metric));
        REQUIRE_OK(train("tt_resumed", set, true, 0, &r));
        require_same_file("tt_straight", "tt_resumed",
                          "checkpoints/step-00000030/model.safetensors");
        require_same_file("tt_straight", "tt_resumed",
                          "checkpoints/step-00000030/optimizer.safetensors");
        require_same_file("tt_straight", "tt_resumed", "checkpoints/step-00000030/state.json");
        char *a = timeless("tt_straight"), *b = timeless("tt_resumed");
        assert_string_equal(a, b);
        assert_true((strstr(a, "\"loss_scale\":16777216") != NULL) == (k == 4));
        assert_true((strstr(a, "\"loss_scale\":8388608") != NULL) == (k == 4));
        assert_true((r.n_overflows > 0) == (k == 4) && r.n_skipped == 0);
        free(a);
        free(b);
    }
}

static void same_seed_same_bits_other_seed_other_bits(void **state)
{
    (void)state;
    vkt_train_result r;
    REQUIRE_OK(train("tt_a", NULL, false, 0, &r));
    /* More loader threads and slots change nothing. */
    const char *threads[] = { "data.workers=3", "data.prefetch=2", NULL },
               *seed[] = { "seed=9", NULL };
    REQUIRE_OK(train("tt_b", threads, false, 0, &r));
    require_same_file("tt_a", "tt_b", "checkpoints/step-00000030/model.safetensors");
    REQUIRE_OK(train("tt_c", seed, false, 0, &r));
    char *a = timeless("tt_a"), *c = timeless("tt_c");
    assert_string_not_equal(a, c);
    free(a);
    free(c);
}

static void many_submissions_equal_one(void **state)
{
    (void)state;
    vkt_train_result r;
    REQUIRE_OK(train("tt_a", NULL, false, 0, &r));
    /* Every level in three parts, each a submission; then many workgroups to a row of the grid. */
    static const char *const caps[] = { "submit=0", "submit=0,groups=16" };
    for (size_t i = 0; i < VKT_COUNT(caps); i++) {
        more_cap = caps[i];
        vkt_status st = train("tt_b", NULL, false, 0, &r);
        more_cap = "";
        REQUIRE_OK(st);
        require_same_file("tt_a", "tt_b", "checkpoints/step-00000030/model.safetensors");
        require_same_file("tt_a", "tt_b", "checkpoints/step-00000030/optimizer.safetensors");
    }
}

/* Several steps to a submission: the same bits, the same metrics, whatever evaluations, stops and
 * resumptions fall into the middle of one. */
static void packed_steps_equal_single_ones(void **state)
{
    (void)state;
    vkt_train_result r;
    static const char *const single[] = { "train.pack_steps=1", NULL }, *const packed[] = {
        "train.pack_steps=2", "train.pack_steps=3", "train.pack_steps=0"
    };
    REQUIRE_OK(train("tt_straight", single, false, 0, &r));
    char *straight = timeless("tt_straight");
    for (size_t i = 0; i < VKT_COUNT(packed); i++) {
        const char *set[] = { packed[i], NULL };
        REQUIRE_STATUS(train("tt_resumed", set, false, 14, &r), VKT_E_INTERRUPTED);
        REQUIRE_OK(train("tt_resumed", set, true, 0, &r));
        require_same_file("tt_straight", "tt_resumed",
                          "checkpoints/step-00000030/model.safetensors");
        require_same_file("tt_straight", "tt_resumed",
                          "checkpoints/step-00000030/optimizer.safetensors");
        char *lines = timeless("tt_resumed");
        assert_string_equal(straight, lines);
        free(lines);
    }
    free(straight);
    /* A lost device, while steps are held back. */
    lose.step = 21, lose.submits = 1, lose.times = 1;
    const char *set[] = { packed[1], NULL };
    vkt_status st = train("tt_lost", set, false, 0, &r);
    vkt__gpu_lose_after(0, 0);
    REQUIRE_OK(st);
    require_same_file("tt_straight", "tt_lost", "checkpoints/step-00000030/model.safetensors");
}

static void evaluation_is_exact_whatever_the_batch(void **state)
{
    (void)state;
    vkt_train_result r;
    REQUIRE_OK(train("tt_eval", NULL, false, 0, &r));
    double loss[4];
    uint64_t correct[4] = { 0 };
    static const uint32_t batch[] = { 359, 100, 64, 1000 };
    for (int i = 0; i < 4; i++) {
        vkt_eval_result e;
        REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .gpu = gpu_desc(),
                                               .checkpoint = "tt_eval",
                                               .split = VKT_SPLIT_TEST,
                                               .batch = batch[i] },
                            &e));
        assert_int_equal(e.n, 359);
        loss[i] = e.loss;
        for (uint32_t k = 0; k < e.n_classes; k++) correct[i] += e.class_correct[k];
        vkt_eval_result_finish(&e);
        /* Rows are computed alike in any batch; only the matmul's tiling may differ. */
        REQUIRE_NEAR(loss[i], loss[0], 1e-6 * loss[0]);
        assert_int_equal(correct[i], correct[0]);
    }
    REQUIRE_NEAR(loss[0], r.test_loss, 1e-6 * loss[0]);
    REQUIRE_NEAR((double)correct[0] / 359, r.test_accuracy, 1e-12);
}

static void nan_never_reaches_the_weights(void **state)
{
    (void)state;
    vkt_train_result r;
    const char *set[] = { "optim.rule=sgd", "optim.lr=1000", "train.nan_patience=4",
                          "schedule.kind=constant", NULL };
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(train("tt_nan", set, false, 0, &r), VKT_E_NUMERIC);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_LOGGED(
        "4 updates in a row had NaN or Inf in the loss or gradient, beginning with step ");
    assert_true(r.n_skipped >= 4);
}

static void sampled_validation_reports_its_gap(void **state)
{
    (void)state;
    vkt_train_result r;
    const char *set[] = { "eval.sample=40", NULL };
    REQUIRE_OK(train("tt_sample", set, false, 0, &r));
    assert_true(!isnan(r.sample_gap));
    assert_true(fabs(r.best_metric + r.sample_gap -
                     (strcmp(r.metric, "loss") ? r.valid_accuracy : r.valid_loss)) < 1e-9);
}

static void refusals_come_before_step_one(void **state)
{
    (void)state;
    vkt_train_result r;
    vkt_config *c;
    const char *odd[] = { "train.batch=1001", "eval.batch=200000", NULL };
    TEST_LOG_CAPTURE();
    c = config(odd);
    vkt_gpu_desc small = gpu_desc();
    small.cap = "memory=1048576";
    vkt__remove_tree("tt_refused");
    REQUIRE_STATUS(vkt_train(c, &(vkt_train_desc) { .run_dir = "tt_refused", .gpu = small }, &r),
                   VKT_E_OOM_DEVICE);
    vkt_config_destroy(&c);
    assert_false(vkt__file_exists("tt_refused"));
    REQUIRE_LOGGED("optimizer moments");
    const char *batch[] = { "train.batch=5000", NULL };
    REQUIRE_STATUS(train("tt_refused", batch, false, 0, &r), VKT_E_ARG);
    REQUIRE_LOGGED("train.batch 5000 is larger than the training set of 1293 examples");
    REQUIRE_OK(train("tt_once", NULL, false, 0, &r));
    c = config(NULL);
    REQUIRE_STATUS(vkt_train(c, &(vkt_train_desc) { .run_dir = "tt_once", .gpu = gpu_desc() }, &r),
                   VKT_E_ARG);
    REQUIRE_LOGGED("--resume");
    vkt_config_destroy(&c);
    const char *more[] = { "train.steps=40", "data.seed=5", NULL };
    REQUIRE_STATUS(train("tt_once", more, true, 0, &r), VKT_E_FORMAT);
    REQUIRE_LOGGED("the data has changed");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void what_does_not_fit_is_accumulated(void **state)
{
    (void)state;
    vkt_train_result whole, r;
    const char *set[] = { "train.batch=512", "eval.batch=512", "train.steps=20",
                          "train.recompute=none", NULL };
    char cap[64];
    REQUIRE_OK(train("tt_whole", set, false, 0, &whole));
    snprintf(cap, sizeof cap, "memory=%llu", (unsigned long long)whole.planned_bytes * 7 / 10);
    TEST_LOG_CAPTURE();
    more_cap = cap;
    vkt_status straight = train("tt_straight", set, false, 0, &r),
               first = train("tt_resumed", set, false, 7, &r);
    more_cap = "";
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_OK(straight);
    REQUIRE_STATUS(first, VKT_E_INTERRUPTED);
    REQUIRE_LOGGED("train.batch 512 does not fit; each step runs ");
    assert_null(strstr(test_log, "peak device memory"));
    assert_true(r.planned_bytes == r.device_bytes && r.planned_bytes < whole.planned_bytes);
    /* The split is kept where there is memory enough, and the recipe is the user's. */
    REQUIRE_OK(train("tt_resumed", set, true, 0, &r));
    require_same_file("tt_straight", "tt_resumed", "checkpoints/step-00000020/model.safetensors");
    char *json;
    size_t n;
    json = read_run_file("tt_resumed", "run.json", &n);
    assert_non_null(strstr(json, "\"micro_batch\": "));
    assert_non_null(strstr(json, "batch: 512"));
    free(json);
    /* A model that was trained so can be used so. */
    vkt_eval_result e;
    more_cap = "memory=8388608"; /* staging included */
    vkt_status st = vkt_eval(&(vkt_eval_desc) { .gpu = gpu_desc(),
                                                .checkpoint = "tt_resumed",
                                                .split = VKT_SPLIT_TEST,
                                                .batch = 65536 },
                             &e);
    more_cap = "";
    REQUIRE_OK(st);
    REQUIRE_NEAR(e.loss, r.test_loss, 1e-6 * e.loss);
    vkt_eval_result_finish(&e);
}

static void a_changed_model_is_refused_with_both_shapes(void **state)
{
    (void)state;
    vkt_train_result r;
    REQUIRE_OK(train("tt_model", NULL, false, 0, &r));
    static const char text[] = "data: {source: digits, test_fraction: 0.2}\nmodel: [flatten, "
                               "linear: 20, relu, dropout: 0.1, linear: 128, relu, linear]\n"
                               "train: {steps: 60, batch: 32}\n";
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, text, strlen(text), "changed.yaml"));
    REQUIRE_OK(vkt_config_finish(c));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(
        vkt_train(c, &(vkt_train_desc) { .run_dir = "tt_model", .resume = true, .gpu = gpu_desc() },
                  &r),
        VKT_E_FORMAT);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_LOGGED("[128, 64]");
    REQUIRE_LOGGED("[20, 64]");
    vkt_config_destroy(&c);
}

/* The digits as IDX files (0 to 16 stretched to 0 to 255), as pictures, and what the model says of
 * both. */
typedef struct {
    size_t n;
    float value[8][10];
} said;

static void hear(void *user, const vkt_prediction *p)
{
    said *s = user;
    assert_int_equal(p->n, 10);
    assert_true(s->n < 8);
    memcpy(s->value[s->n++], p->value, sizeof s->value[0]);
}

static void a_picture_predicts_as_its_idx_example(void **state)
{
    (void)state;
    enum { N = 400, SHOWN = 8 };
    static uint8_t images[16 + N * 64], labels[8 + N];
    vkt_dataset *ds;
    vkt_train_result r;
    said idx = { 0 }, png = { 0 };
    REQUIRE_OK(vkt_dataset_open(
        &(vkt_data_desc) { .source = "digits", .standardize = VKT_STANDARDIZE_NONE }, &ds));
    memcpy(images, "\0\0\x08\x03\0\0\x01\x90\0\0\0\x08\0\0\0\x08", 16);
    memcpy(labels, "\0\0\x08\x01\0\0\x01\x90", 8);
    for (int i = 0; i < N; i++) {
        float x[64];
        vkt_label y;
        vkt_dataset_example(ds, VKT_SPLIT_TRAIN, (uint64_t)i, x, &y);
        labels[8 + i] = (uint8_t)y.u;
        for (int j = 0; j < 64; j++) images[16 + i * 64 + j] = (uint8_t)(x[j] * 255 / 16);
    }
    vkt_dataset_destroy(&ds);
    vkt__remove_tree("tt_pictures");
    REQUIRE_OK(vkt__mkdirs("tt_pictures"));
    REQUIRE_OK(vkt__file_replace("tt_pictures/train-images-idx3-ubyte", images, sizeof images));
    REQUIRE_OK(vkt__file_replace("tt_pictures/train-labels-idx1-ubyte", labels, sizeof labels));
    const char *set[] = { "data.source=idx", "data.path=tt_pictures", "train.steps=60",
                          "eval.every=60", NULL };
    REQUIRE_OK(train("tt_of_pictures", set, false, 0, &r));

    const char *png_path[SHOWN];
    char names[SHOWN][32];
    for (int i = 0; i < SHOWN; i++) {
        snprintf(names[i], sizeof names[i], "tt_pictures/%d.png", i);
        png_path[i] = names[i];
        assert_true(stbi_write_png(names[i], 8, 8, 1, images + 16 + i * 64, 8));
    }
    images[6] = 0, images[7] = SHOWN;
    const char *file = "tt_pictures/some-idx3-ubyte";
    REQUIRE_OK(vkt__file_replace(file, images, 16 + SHOWN * 64));
    vkt_gpu_desc gpu = gpu_desc();
    vkt_predict_desc p[] = { { gpu, "tt_of_pictures", png_path, SHOWN, 0, hear, &png },
                             { gpu, "tt_of_pictures", &file, 1, 0, hear, &idx } };
    for (int i = 0; i < 2; i++) REQUIRE_OK(vkt_predict(&p[i]));
    assert_true(idx.n == SHOWN && png.n == SHOWN);
    assert_memory_equal(idx.value, png.value, sizeof idx.value);
    size_t right = 0;
    for (int i = 0; i < SHOWN; i++) {
        uint32_t top = 0;
        for (uint32_t k = 1; k < 10; k++)
            if (png.value[i][k] > png.value[i][top]) top = k;
        right += top == labels[8 + i];
    }
    assert_true(right >= SHOWN - 2); /* they are what it was trained on */

    vkt_eval_result e;
    vkt_eval_desc d = { .gpu = gpu, .checkpoint = "tt_of_pictures", .data = names[0] };
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_eval(&d, &e), VKT_E_FORMAT);
    REQUIRE_LOGGED("has no labels to compare with");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void classes_weigh_by_the_recipe(void **state)
{
    (void)state;
    vkt_train_result r;
    const char *set[] = { "loss.class_weight=balanced", "optim.clip=3.5", "schedule.warmup=5",
                          "optim.rule=nesterov", NULL };
    REQUIRE_OK(train("tt_weights", set, false, 0, &r));
    assert_int_equal(r.n_steps, 35); /* warmup is added */
    size_t n, clipped = 0; /* as many as have a factor below 1 in their row: the first, not all */
    char *rows = read_run_file("tt_weights", "metrics.jsonl", &n);
    for (const char *at = rows; (at = strstr(at, "\"clip\":")); at++)
        clipped += strtod(at + 7, NULL) < 1;
    free(rows);
    assert_true(r.n_clipped > 0 && r.n_clipped < 35 && r.n_clipped == clipped);
    assert_true(r.norm_p50 <= r.norm_p90 && r.norm_p90 <= r.norm_p99);
}

/* loss, norm and accuracy of each training step. */
static size_t curve(const char *dir, double (*out)[3])
{
    char *data;
    size_t n, rows = 0;
    static const char *const keys[] = { "\"loss\":", "\"grad_norm\":", "\"accuracy\":" };
    data = read_run_file(dir, "metrics.jsonl", &n);
    for (char *line = strtok(data, "\n"); line; line = strtok(NULL, "\n")) {
        if (!strstr(line, "\"train\"")) continue;
        for (int k = 0; k < 3; k++)
            out[rows][k] = strtod(strstr(line, keys[k]) + strlen(keys[k]), NULL);
        rows++;
    }
    free(data);
    return rows;
}

static void accumulation_is_a_larger_batch(void **state)
{
    (void)state;
    vkt_train_result r;
    double whole[30][3], parts[30][3];
    /* No dropout (its masks are drawn by micro-batch), class weights (whose sums differ between
     * micro-batches), clipping. */
    static const char text[] =
        "data: {source: digits, test_fraction: 0.2}\nmodel: [flatten, linear: 32, tanh, linear]\n"
        "loss: {class_weight: balanced}\noptim: {rule: momentum, lr: 0.05, clip: 0.7}\neval: "
        "{every: 30}\n";
    static const char *const set[2][3] = {
        { "train.batch=48", "train.accumulate=1", "train.steps=30" },
        { "train.batch=12", "train.accumulate=4", "train.steps=30" }
    };
    for (int k = 0; k < 2; k++) {
        vkt_config *c;
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_parse(c, text, strlen(text), "accumulate.yaml"));
        for (int i = 0; i < 3; i++) REQUIRE_OK(vkt_config_set(c, set[k][i]));
        REQUIRE_OK(vkt_config_finish(c));
        vkt__remove_tree("tt_accumulate");
        REQUIRE_OK(
            vkt_train(c, &(vkt_train_desc) { .run_dir = "tt_accumulate", .gpu = gpu_desc() }, &r));
        vkt_config_destroy(&c);
        assert_int_equal(curve("tt_accumulate", k ? parts : whole), 30);
    }
    for (int i = 0; i < 30; i++) {
        /* Two orders of the same float32 sums, over 30 steps of momentum. */
        REQUIRE_NEAR(parts[i][0], whole[i][0], 2e-5 * whole[i][0]);
        REQUIRE_NEAR(parts[i][1], whole[i][1], 2e-4 * whole[i][1]);
        REQUIRE_NEAR(parts[i][2], whole[i][2], 0.0209); /* one example of 48 on the edge */
    }
    const char *again[] = { "train.batch=8", "train.accumulate=3", NULL };
    REQUIRE_OK(train("tt_straight", again, false, 0, &r));
    REQUIRE_STATUS(train("tt_resumed", again, false, 13, &r), VKT_E_INTERRUPTED);
    REQUIRE_OK(train("tt_resumed", again, true, 0, &r));
    require_same_file("tt_straight", "tt_resumed", "checkpoints/step-00000030/model.safetensors");
}

/* What validation layers say goes through the log. */
static uint32_t n_validation;
static void count_validation(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)area;
    if (!strncmp(line, "validation:", 11)) n_validation++;
    if (level <= VKT_LOG_WARN) print_message("%s\n", line);
}

static void validation_is_silent(void **state)
{
    (void)state;
    vkt_train_result r;
    vkt_log_set(count_validation, NULL, VKT_LOG_INFO);
    REQUIRE_OK(train("tt_validation", NULL, false, 0, &r));
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    assert_int_equal(n_validation, 0);
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_as_planned_and_constant),
        cmocka_unit_test(resume_is_bit_exact),
        cmocka_unit_test(same_seed_same_bits_other_seed_other_bits),
        cmocka_unit_test(many_submissions_equal_one),
        cmocka_unit_test(packed_steps_equal_single_ones),
        cmocka_unit_test(evaluation_is_exact_whatever_the_batch),
        cmocka_unit_test(nan_never_reaches_the_weights),
        cmocka_unit_test(sampled_validation_reports_its_gap),
        cmocka_unit_test(refusals_come_before_step_one),
        cmocka_unit_test(what_does_not_fit_is_accumulated),
        cmocka_unit_test(a_changed_model_is_refused_with_both_shapes),
        cmocka_unit_test(a_picture_predicts_as_its_idx_example),
        cmocka_unit_test(classes_weigh_by_the_recipe),
        cmocka_unit_test(accumulation_is_a_larger_batch),
        cmocka_unit_test(validation_is_silent),
    };
    cmocka_set_test_filter(getenv("VKT_TEST_PARTS")); /* one of them, for tools/hardening/mutants */
    return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
