/* The whole trainer on a convolutional network: its running averages are state that checkpoints
 * carry, resumed runs repeat and evaluation uses; weights are in files as PyTorch's are. */
#include "on_device.h"
#include "recipe_run.h"

#include "formats/safetensors.h"

static const char recipe[] = "name: cnn\n"
                             "data: {source: digits}\n"
                             "model:\n"
                             "  - conv: {out: 6, bias: false}\n"
                             "  - batch_norm: {virtual_batch: 12}\n"
                             "  - relu\n"
                             "  - max_pool: 2\n"
                             "  - basic_block: {out: 8, stride: 2, zero: true}\n"
                             "  - flatten\n"
                             "  - linear\n"
                             "optim: {rule: adamw, lr: 0.01}\n"
                             "train: {steps: 30, batch: 32}\n"
                             "eval: {every: 10, batch: 64}\n";

static vkt_status train_text(const char *text, const char *dir, const char *set, bool resume,
                             uint64_t stop, vkt_train_result *r)
{
    const char *const sets[] = { set, NULL };
    if (!resume) vkt__remove_tree(dir);
    return train_recipe(text, sets,
                        &(vkt_train_desc) { .run_dir = dir,
                                            .resume = resume,
                                            .gpu = test_gpu_desc(""),
                                            .on_progress = stop_at_step,
                                            .user = stop ? &stop : NULL },
                        r);
}

static vkt_status train(const char *dir, const char *set, bool resume, uint64_t stop,
                        vkt_train_result *r)
{
    return train_text(recipe, dir, set, resume, stop, r);
}

/* The tensor of a checkpoint, into data. Its dtype's name lasts until the next call. */
static vkt_tensor_info tensor_of(const char *path, const char *name, void *data)
{
    vkt__safetensors *s;
    const vkt_tensor_info *t;
    size_t i = 0;
    REQUIRE_OK(vkt__safetensors_open(path, &s));
    while ((t = vkt__safetensors_tensor(s, i)) && strcmp(t->name, name)) i++;
    assert_non_null(t);
    static char dtype[16];
    vkt_tensor_info copy = *t;
    snprintf(dtype, sizeof dtype, "%s", t->dtype);
    copy.name = name;
    copy.dtype = dtype;
    if (data) REQUIRE_OK(vkt__safetensors_read(s, i, data));
    vkt__safetensors_close(&s);
    return copy;
}

static void resume_is_bit_exact(void **state)
{
    (void)state;
    vkt_train_result r;
    static const char *const files[] = { "checkpoints/step-00000030/model.safetensors",
                                         "checkpoints/step-00000030/optimizer.safetensors" };
    REQUIRE_OK(train("tc_straight", NULL, false, 0, &r));
    REQUIRE_STATUS(train("tc_resumed", NULL, false, 13, &r), VKT_E_INTERRUPTED);
    REQUIRE_OK(train("tc_resumed", NULL, true, 0, &r));
    for (size_t i = 0; i < VKT_COUNT(files); i++)
        require_same_file("tc_straight", "tc_resumed", files[i]);
}

static void files_hold_what_pytorch_would(void **state)
{
    (void)state;
    static const struct {
        const char *name, *dtype;
        uint32_t rank;
        uint64_t shape[4];
    } want[] = {
        { "0.weight", "F32", 4, { 6, 1, 3, 3 } },
        { "1.weight", "F32", 1, { 6 } },
        { "1.running_mean", "F32", 1, { 6 } },
        { "1.running_var", "F32", 1, { 6 } },
        { "1.num_batches_tracked", "I64", 0, { 0 } },
        { "4.conv1.weight", "F32", 4, { 8, 6, 3, 3 } },
        { "4.bn2.running_var", "F32", 1, { 8 } },
        { "4.downsample.0.weight", "F32", 4, { 8, 6, 1, 1 } },
        { "6.weight", "F32", 2, { 10, 32 } },
    };
    vkt_train_result r;
    REQUIRE_OK(train("tc_files", NULL, false, 0, &r));
    const char *path = "tc_files/checkpoints/step-00000030/model.safetensors";
    for (size_t i = 0; i < VKT_COUNT(want); i++) {
        vkt_tensor_info t = tensor_of(path, want[i].name, NULL);
        assert_string_equal(t.dtype, want[i].dtype);
        assert_int_equal(t.rank, want[i].rank);
        for (uint32_t k = 0; k < t.rank; k++) assert_int_equal(t.shape[k], want[i].shape[k]);
    }
    /* 30 steps of ghost batches of 12, 12 and 8. */
    int64_t count = 0;
    float var[6];
    tensor_of(path, "1.num_batches_tracked", &count);
    assert_int_equal(count, 90);
    tensor_of(path, "1.running_var", var);
    for (int i = 0; i < 6; i++) assert_true(var[i] > 0 && var[i] != 1);
}

/* A frozen norm, alone or of a block, trains by its running averages, which stay as they began, and
 * what is not frozen by train.freeze is trained through it. */
static void frozen_norms_keep_their_averages(void **state)
{
    (void)state;
    static const char frozen[] = "name: cnn\n"
                                 "data: {source: digits}\n"
                                 "model:\n"
                                 "  - conv: {out: 6, bias: false}\n"
                                 "  - batch_norm: {frozen: true}\n"
                                 "  - relu\n"
                                 "  - basic_block: {out: 8, stride: 4, frozen: true}\n"
                                 "  - flatten\n"
                                 "  - linear\n"
                                 "optim: {rule: adamw, lr: 0.01}\n"
                                 "train: {steps: 5, batch: 32, freeze: \"1.*\"}\n";
    static const char *const norms[] = { "1", "3.bn1", "3.bn2", "3.downsample.1" };
    static const char path[] = "tc_frozen/checkpoints/step-00000005/model.safetensors";
    vkt_train_result r;
    REQUIRE_OK(train_text(frozen, "tc_frozen", NULL, false, 0, &r));
    for (size_t i = 0; i < VKT_COUNT(norms); i++) {
        char name[64];
        float mean[8] = { 0 }, var[8], gain[8];
        int64_t count = -1;
        uint64_t channels = i ? 8 : 6;
        bool trained = false;
        snprintf(name, sizeof name, "%s.running_mean", norms[i]);
        tensor_of(path, name, mean);
        snprintf(name, sizeof name, "%s.running_var", norms[i]);
        tensor_of(path, name, var);
        snprintf(name, sizeof name, "%s.num_batches_tracked", norms[i]);
        tensor_of(path, name, &count);
        snprintf(name, sizeof name, "%s.weight", norms[i]);
        tensor_of(path, name, gain);
        assert_int_equal(count, 0);
        for (uint64_t k = 0; k < channels; k++) {
            assert_true(mean[k] == 0 && var[k] == 1);
            trained |= gain[k] != 1;
        }
        assert_true(trained == (i > 0));
    }
}

static void every_micro_batch_is_a_ghost_batch(void **state)
{
    (void)state;
    vkt_train_result r;
    int64_t count = 0;
    REQUIRE_OK(train("tc_micro", "train.accumulate=3", false, 0, &r));
    tensor_of("tc_micro/checkpoints/step-00000030/model.safetensors", "4.bn1.num_batches_tracked",
              &count);
    assert_int_equal(count, 90);
}

/* Running averages do not depend on the evaluation's batch, nor on its padding. */
static void evaluation_goes_by_the_running_averages(void **state)
{
    (void)state;
    vkt_train_result r;
    double loss[2];
    REQUIRE_OK(train("tc_eval", NULL, false, 0, &r));
    assert_true(r.test_accuracy > 0.6);
    for (uint32_t i = 0; i < 2; i++) {
        vkt_eval_result e;
        vkt_eval_desc d = { .gpu = test_gpu_desc(""),
                            .checkpoint = "tc_eval",
                            .split = VKT_SPLIT_TEST,
                            .batch = i ? 7 : 64 };
        REQUIRE_OK(vkt_eval(&d, &e));
        loss[i] = e.loss;
        REQUIRE_NEAR(e.accuracy, r.test_accuracy, 0);
        vkt_eval_result_finish(&e);
    }
    REQUIRE_NEAR(loss[0], loss[1], 1e-6); /* the same kernels on other rows: no sum crosses them */
}

/* A short run logs that its running averages can't follow. MobileNetV3's momentum is too small, and
 * inverted blocks have it by default. */
static void averages_that_cannot_follow(void **state)
{
    (void)state;
    static const struct {
        const char *layer;
        bool told;
    } cases[] = { { "batch_norm: {momentum: 0.05}", true },
                  { "batch_norm", false },
                  { "inverted_block: {out: 4, hidden: 4}", true },
                  { "inverted_block: {out: 4, hidden: 4, momentum: 0.1}", false },
                  { "inverted_block: {out: 4, hidden: 4, frozen: true}", false },
                  { "residual: [batch_norm: {momentum: 0.01}]", true } };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        char text[512];
        vkt_train_result r;
        snprintf(text, sizeof text,
                 "name: a\ndata: {source: digits}\nmodel:\n  - conv: {out: 4, stride: 2}\n  - %s\n"
                 "  - flatten\n  - linear\ntrain: {steps: 30, batch: 32}\neval: {every: 30}\n",
                 cases[i].layer);
        TEST_LOG_CAPTURE();
        REQUIRE_OK(train_text(text, "tc_averages", NULL, false, 0, &r));
        bool told = strstr(test_log, "batch norm: after 30 steps the running averages") != NULL;
        assert_int_equal(told, cases[i].told);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resume_is_bit_exact),
        cmocka_unit_test(files_hold_what_pytorch_would),
        cmocka_unit_test(frozen_norms_keep_their_averages),
        cmocka_unit_test(every_micro_batch_is_a_ghost_batch),
        cmocka_unit_test(evaluation_goes_by_the_running_averages),
        cmocka_unit_test(averages_that_cannot_follow),
    };
    return cmocka_run_group_tests_name("train_cnn", tests, NULL, NULL);
}
