/* train: weights of another run as a beginning, a new head, frozen layers. */
#include "recipe_run.h"

#include "train/session.h"

#define RUN "test_finetune_tmp"
#define BODY "model:\n  - flatten\n  - linear: {out: 12, name: body}\n  - relu\n"

static vkt_status train(const char *recipe, const char *dir)
{
    vkt_train_result r;
    return train_recipe(recipe, NULL, &(vkt_train_desc) { .run_dir = dir }, &r);
}

static float *tensor(const char *path, const char *name, size_t *n)
{
    vkt__safetensors *f;
    const vkt_tensor_info *t;
    float *out = NULL;
    REQUIRE_OK(vkt__safetensors_open(path, &f));
    for (size_t i = 0; (t = vkt__safetensors_tensor(f, i)); i++) {
        if (strcmp(t->name, name) != 0) continue;
        out = malloc(t->bytes);
        *n = t->bytes / 4;
        REQUIRE_OK(vkt__safetensors_read(f, i, out));
    }
    vkt__safetensors_close(&f);
    assert_non_null(out);
    return out;
}

#define FIRST RUN "/first/checkpoints/step-00000004/model.safetensors"
#define SECOND RUN "/second/checkpoints/step-00000003/model.safetensors"

static void new_head_on_a_frozen_body(void **state)
{
    (void)state;
    size_t n, m;
    REQUIRE_OK(train("data: {source: digits}\n" BODY "  - linear: {name: head}\n"
                     "train: {steps: 4, batch: 32}\n",
                     RUN "/first"));
    REQUIRE_OK(vkt__mkdirs(RUN "/set"));
    vkt__str csv = { 0 };
    for (int i = 0; i < 200; i++) { /* 64 inputs, two classes */
        for (int k = 0; k < 64; k++) vkt__str_printf(&csv, "%d,", (i * 7 + k * k) % 17);
        vkt__str_printf(&csv, "%s\n", i % 2 ? "odd" : "even");
    }
    REQUIRE_OK(vkt__file_replace(RUN "/two.csv", csv.data, csv.len));
    vkt__str_finish(&csv);
    TEST_LOG_CAPTURE();
    REQUIRE_OK(train("data: {source: csv, path: " RUN "/two.csv}\n" BODY
                     "  - linear: {name: head}\n"
                     "  - linear: {name: extra}\n"
                     "train: {steps: 3, batch: 32, init_from: " RUN
                     "/first/checkpoints/step-00000004, freeze: \"body.*\"}\n",
                     RUN "/second"));
    REQUIRE_LOGGED(
        "training starts with 2 of the model's 6 tensors from '" RUN
        "/first/checkpoints/step-00000004'; random weights: 4 tensors, 'head.weight' is F32 "
        "[10, 12] there and F32 [2, 12] here, 2 not in the file, such as 'extra.weight'");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    float *a = tensor(FIRST, "body.weight", &n), *b = tensor(SECOND, "body.weight", &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n * sizeof *a); /* taken, and left as it is */
    free(a), free(b);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(train("data: {source: digits}\nmodel:\n  - flatten\n  - linear: {name: other}\n"
                         "train: {steps: 2, batch: 32, init_from: " FIRST "}\n",
                         RUN "/third"),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("no tensor of '" FIRST "' agrees with the model");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* 1.5, -0.25, 65504, 2^-24, 0, infinity as F16; 1.5, -0.25, 3.0, ... as BF16. */
static void half_precision_files(void **state)
{
    (void)state;
    static const uint16_t half[] = { 0x3e00, 0xb400, 0x7bff, 0x0001 };
    static const uint16_t brain[] = { 0x3fc0, 0xbe80, 0x4040, 0x0000 };
    static const float want[2][4] = { { 1.5f, -0.25f, 65504, 0x1p-24f }, { 1.5f, -0.25f, 3, 0 } };
    for (int k = 0; k < 2; k++) {
        uint16_t weight[64 * 10] = { 0 };
        size_t n;
        memcpy(weight, k ? brain : half, sizeof half);
        vkt__st_tensor t = { .name = "1.weight",
                             .dtype = k ? "BF16" : "F16",
                             .rank = 2,
                             .shape = { 10, 64 },
                             .data = weight };
        REQUIRE_OK(vkt__mkdirs(RUN));
        REQUIRE_OK(vkt__safetensors_write(RUN "/half.safetensors", &t, 1, NULL, 0, NULL));
        REQUIRE_OK(vkt__remove_tree(RUN "/h"));
        REQUIRE_OK(train("data: {source: digits}\nmodel:\n  - flatten\n  - linear\n"
                         "train: {steps: 1, batch: 32, init_from: " RUN "/half.safetensors, "
                         "freeze: \"1.weight\"}\n",
                         RUN "/h"));
        float *w = tensor(RUN "/h/checkpoints/step-00000001/model.safetensors", "1.weight", &n);
        assert_memory_equal(w, want[k], sizeof want[k]);
        free(w);
    }
}

static int clean(void **state)
{
    (void)state;
    return vkt__remove_tree(RUN);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(new_head_on_a_frozen_body),
                                        cmocka_unit_test(half_precision_files) };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("finetune", tests, clean, clean);
}
