/* Adapters on the net of an ONNX file: a transformer encoder of PyTorch's, whose matrices lie [in,
 * out] under names that the exporter made. What training measures with the adapter apart is what
 * the merged net gives; a resumed run has the same bits; names are the modules'. */
#include "recipe_run.h"

#include "formats/safetensors.h"
#include "vktrain/models.h"
#include "vktrain/train.h"

#define DIR "test_onnx_lora_tmp"
#define RECIPE                                                                                     \
    "data: {source: text, path: " DIR "/text.txt, tokenizer: chars, context: 6, valid_fraction: "  \
    "0.2, test_fraction: 0}\n"                                                                     \
    "model: {onnx: " VKT_TEST_DIR "/golden/onnx/words/model.onnx}\n"                               \
    "optim: {rule: adamw, lr: 0.02}\neval: {every: 3}\n"

static int setup(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (int i = 0; i < 400; i++) vkt__str_printf(&text, "%d ", i * i % 97);
    REQUIRE_OK(vkt__file_replace(DIR "/text.txt", text.data, text.len));
    vkt__str_finish(&text);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static void tune(const char *how, const char *steps, const char *dir, bool resume,
                 vkt_train_result *r)
{
    vkt__str recipe = { 0 };
    const vkt_train_desc desc = { .run_dir = dir, .resume = resume };
    vkt__str_printf(&recipe, RECIPE "lora: %s\ntrain: {steps: %s, batch: 8}\n", how, steps);
    REQUIRE_OK(train_recipe(recipe.data, NULL, &desc, r));
    vkt__str_finish(&recipe);
}

static void merged_is_unmerged(void **state)
{
    (void)state;
    static const char *const hows[] = { "{rank: 2, alpha: 5}", "{rank: 2, alpha: 5, dora: true}" };
    double first = 0;
    for (size_t i = 0; i < VKT_COUNT(hows); i++) {
        char dir[64];
        vkt_train_result r;
        vkt_eval_result e;
        snprintf(dir, sizeof dir, DIR "/run%zu", i);
        tune(hows[i], "6", dir, false, &r);
        REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .checkpoint = dir, .split = VKT_SPLIT_VALID }, &e));
        REQUIRE_NEAR(e.loss, r.valid_loss, 2e-6 * r.valid_loss);
        assert_true(!i || r.valid_loss != first);
        first = r.valid_loss;
        vkt_eval_result_finish(&e);
    }
}

static void a_resumed_run_has_the_same_bits(void **state)
{
    (void)state;
    vkt_train_result r;
    tune("{rank: 2, alpha: 5}", "3", DIR "/half", false, &r);
    tune("{rank: 2, alpha: 5}", "6", DIR "/half", true, &r);
    require_same_file(DIR "/run0", DIR "/half", "checkpoints/step-00000006/model.safetensors");
}

static void layers_have_the_names_of_modules(void **state)
{
    (void)state;
    static const char *const names[] = { "body.layers.0.self_attn.lora_A.weight",
                                         "body.layers.0.self_attn.out_proj.lora_A.weight",
                                         "body.layers.0.linear1.lora_A.weight",
                                         "body.layers.0.linear2.lora_B.weight",
                                         "head.lora_B.weight" };
    vkt__safetensors *f;
    const vkt_tensor_info *t;
    size_t n = 0;
    REQUIRE_OK(vkt_export_adapter(DIR "/run0", DIR "/adapter"));
    REQUIRE_OK(vkt__safetensors_open(DIR "/adapter/adapter_model.safetensors", &f));
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        char name[120];
        size_t at;
        snprintf(name, sizeof name, "base_model.model.%s", names[i]);
        assert_true(vkt__safetensors_find(f, name, &at));
    }
    while ((t = vkt__safetensors_tensor(f, n))) n++;
    assert_int_equal(n, 2 * VKT_COUNT(names));
    vkt__safetensors_close(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_is_unmerged),
        cmocka_unit_test(a_resumed_run_has_the_same_bits),
        cmocka_unit_test(layers_have_the_names_of_modules),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
