/* Ways of fine-tuning against tests/golden/methods.json (tools/golden/golden_methods.py), on a
 * Llama's kind of two blocks: noise on the embeddings; classes of texts, by a layer beside an
 * adapter. */
#include "recipe_run.h"

#include <jansson.h>

#include "formula_model.h"
#include "runs/history.h"
#include "vktrain/models.h"
#include "vktrain/train.h"

#define DIR "test_methods_tmp"

static json_t *golden;

static int setup(void **state)
{
    (void)state;
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR "/classes"));
    write_formula_model(DIR, 0);
    write_formula_model(DIR "/classes", 3);
    put(DIR "/texts.csv", "text,label\nIt is good.,0\nNo,1\n\"What is it, then?\",2\n!,1\n"
                          "It rains all day long.,2\n");
    put(DIR "/one.jsonl", "{\"prompt\": \"2+2=\", \"completion\": \"four, I think\"}\n");
    golden = json_load_file(test_file("golden/methods.json"), 0, NULL);
    assert_non_null(golden);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(golden);
    return vkt__remove_tree(DIR);
}

/* Means of up to a dozen log-probabilities of about 1 to 6, to float32's error of each. */
static void require_golden(double got, const json_t *want)
{
    REQUIRE_NEAR(got, json_number_value(want), 1e-5 * fmax(json_number_value(want), 1));
}

static void require_losses(const char *run, const json_t *want)
{
    vkt_history *h = NULL;
    const json_t *losses = json_object_get(want, "losses");
    vkt_eval_result e;
    REQUIRE_OK(vkt_history_load(run, &h));
    assert_int_equal(h->n_steps, json_array_size(losses));
    for (size_t i = 0; i < h->n_steps; i++)
        require_golden(h->steps[i].loss, json_array_get(losses, i));
    vkt_history_destroy(&h);
    REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .checkpoint = run, .split = VKT_SPLIT_TRAIN }, &e));
    require_golden(e.loss, json_object_get(want, "evaluated"));
    vkt_eval_result_finish(&e);
}

/* Each step has its own noise, of the row's 24 places; an evaluation has none. */
static void embeddings_have_noise_in_training(void **state)
{
    (void)state;
    static const char recipe[] = "init: " DIR "/base\nlora: {from: " DIR "/peft}\nseed: 7\n"
                                 "data: {source: text, path: " DIR "/one.jsonl, tokenizer: bytes, "
                                 "context: 24, valid_fraction: 0, test_fraction: 0}\n"
                                 "optim: {rule: sgd, lr: 0.5}\n"
                                 "train: {steps: 3, batch: 1, neftune: 40}\neval: {every: 3}\n"
                                 "checkpoint: {metric: loss}\n";
    vkt_train_desc desc = { .run_dir = DIR "/neftune", .train_on_all = true };
    vkt_train_result r;
    REQUIRE_OK(train_recipe(recipe, NULL, &desc, &r));
    require_losses(DIR "/neftune", json_object_get(golden, "neftune"));
}

#define CLASSES                                                                                    \
    "data: {source: csv, path: " DIR "/texts.csv, label: label, text: text, tokenizer: bytes, "    \
    "context: 16, valid_fraction: 0, test_fraction: 0}\noptim: {rule: sgd, lr: 0.5}\n"             \
    "train: {steps: 3, batch: 5}\neval: {every: 3, batch: 5}\n"

/* Texts that are cut and of one token. */
static void classes_are_of_the_last_token(void **state)
{
    (void)state;
    static const char recipe[] = CLASSES "init: " DIR "/base\nlora: {from: " DIR "/classes/peft}\n";
    vkt_train_desc desc = { .run_dir = DIR "/classes/run", .train_on_all = true };
    vkt_train_result r;
    REQUIRE_OK(train_recipe(recipe, NULL, &desc, &r));
    require_losses(DIR "/classes/run", json_object_get(golden, "classes"));
}

static json_t *read_json(const char *path)
{
    json_t *o = json_load_file(path, 0, NULL);
    assert_non_null(o);
    return o;
}

/* As transformers and PEFT want it; a GGUF file has no place for it. */
static void classifiers_are_exported(void **state)
{
    (void)state;
    static const char run[] = DIR "/classes/run";
    vkt__safetensors *f;
    size_t at;
    REQUIRE_OK(vkt_export_hf(run, DIR "/hf", VKT_EXPORT_F32));
    REQUIRE_OK(vkt_export_adapter(run, DIR "/peft-out"));
    assert_int_equal(vkt_export_gguf(run, DIR "/x.gguf", VKT_EXPORT_F32), VKT_E_ARG);
    json_t *o = read_json(DIR "/hf/config.json"),
           *p = read_json(DIR "/peft-out/adapter_config.json");
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "architectures"), 0)),
                        "LlamaForSequenceClassification");
    assert_string_equal(json_string_value(json_object_get(json_object_get(o, "id2label"), "2")),
                        "2");
    assert_int_equal(json_integer_value(json_object_get(o, "pad_token_id")), 256); /* the end */
    assert_string_equal(json_string_value(json_object_get(p, "task_type")), "SEQ_CLS");
    assert_string_equal(json_string_value(json_array_get(json_object_get(p, "modules_to_save"), 0)),
                        "score");
    json_decref(o);
    json_decref(p);
    REQUIRE_OK(vkt__safetensors_open(DIR "/hf/model.safetensors", &f));
    assert_true(vkt__safetensors_find(f, "score.weight", &at));
    assert_false(vkt__safetensors_find(f, "lm_head.weight", &at));
    vkt__safetensors_close(&f);
}

/* A new adapter has the classes' weights beside it. */
static void a_new_adapter_has_its_classes(void **state)
{
    (void)state;
    vkt_train_desc desc = { .run_dir = DIR "/again", .train_on_all = true };
    vkt_train_result r;
    REQUIRE_OK(train_recipe(CLASSES "init: " DIR "/base\nlora: {rank: 2}\n", NULL, &desc, &r));
    REQUIRE_OK(vkt_export_adapter(DIR "/again", DIR "/peft-again"));
    json_t *p = read_json(DIR "/peft-again/adapter_config.json");
    assert_string_equal(json_string_value(json_array_get(json_object_get(p, "modules_to_save"), 0)),
                        "score");
    json_decref(p);
}

/* All weights are trained, from the base's; then such a run is where another begins. */
static void all_weights_begin_as_the_bases(void **state)
{
    (void)state;
    vkt_train_desc desc = { .run_dir = DIR "/full", .train_on_all = true },
                   more = { .run_dir = DIR "/more", .train_on_all = true };
    vkt_train_result r;
    vkt_history *h = NULL;
    vkt_eval_result e;
    REQUIRE_OK(train_recipe(CLASSES "init: " DIR "/base\n", NULL, &desc, &r));
    REQUIRE_OK(train_recipe(CLASSES "init: " DIR "/full\n", NULL, &more, &r));
    REQUIRE_OK(
        vkt_eval(&(vkt_eval_desc) { .checkpoint = DIR "/full", .split = VKT_SPLIT_TRAIN }, &e));
    REQUIRE_OK(vkt_history_load(DIR "/more", &h));
    REQUIRE_NEAR(h->steps[0].loss, e.loss, 1e-5 * fmax(e.loss, 1));
    vkt_history_destroy(&h);
    vkt_eval_result_finish(&e);
}

/* A model of tokens has no classes, nor the other way round. */
static void others_are_refused(void **state)
{
    (void)state;
    static const char model[] = "model: [{transformer: {layers: 1, heads: 1, width: 8, positions: "
                                "rope, norm: rmsnorm, activation: swiglu",
                      text[] = "data: {source: text, path: " DIR "/one.jsonl, tokenizer: bytes, "
                               "context: 24, valid_fraction: 0, test_fraction: 0}\n"
                               "train: {steps: 3, batch: 1}\n";
    vkt_train_desc desc = { .run_dir = DIR "/no", .train_on_all = true };
    vkt_train_result r;
    vkt__str s = { 0 };
    TEST_LOG_CAPTURE();
    vkt__str_printf(&s, CLASSES "%s}}]\n", model);
    assert_int_equal(train_recipe(s.data, NULL, &desc, &r), VKT_E_ARG);
    REQUIRE_LOGGED("set score: true");
    s.len = 0;
    vkt__str_printf(&s, "%s%s, score: true}}]\n", text, model);
    assert_int_equal(train_recipe(s.data, NULL, &desc, &r), VKT_E_SHAPE);
    REQUIRE_LOGGED("data.text names a column");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    vkt__str_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embeddings_have_noise_in_training),
        cmocka_unit_test(classes_are_of_the_last_token),
        cmocka_unit_test(classifiers_are_exported),
        cmocka_unit_test(a_new_adapter_has_its_classes),
        cmocka_unit_test(all_weights_begin_as_the_bases),
        cmocka_unit_test(others_are_refused),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("methods", tests, setup, teardown);
}
