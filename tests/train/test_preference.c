/* Losses of preferences against tests/golden/preference.json (tools/golden/golden_preference.py):
 * a Llama's kind of two blocks and an adapter that already does something, before and after a step;
 * and what a run of them is evaluated and resumed to. */
#include "recipe_run.h"

#include <jansson.h>

#include "models/weights.h"
#include "runs/history.h"
#include "vktrain/train.h"

#define DIR "test_preference_tmp"

static json_t *golden;

/* Element i of a tensor, as golden_preference.py has it. */
static float formula(const char *name, size_t i)
{
    static const char norm[] = "norm.weight";
    size_t n = strlen(name), k = 0;
    for (const char *p = name; *p; p++) k += (unsigned char)*p;
    double v = (double)((i * 7919 + k % 97 * 10473) % 1009) / 1009 - 0.5;
    bool gain = n >= sizeof norm - 1 && !strcmp(name + n - (sizeof norm - 1), norm);
    return (float)(gain ? 1 + v / 4 : v * 0.75);
}

static void put(const char *path, const char *text)
{
    REQUIRE_OK(vkt__file_replace(path, text, strlen(text)));
}

/* Tensors [rows, columns], or [rows] where columns is 0. */
typedef struct {
    const char *name;
    uint32_t rows, columns;
} kind;
enum { LAYERS = 2, WIDTH = 16, HALF = 8, INNER = 24, VOCAB = 257, RANK = 2, MOST = 24 };

static void add(vkt__st_tensor *t, const char *name, const kind *k)
{
    size_t n = (size_t)k->rows * VKT_MAX(k->columns, 1);
    float *v = malloc(n * sizeof *v);
    const char *own = strncmp(name, "base_model.model.", 17) ? name : name + 17;
    for (size_t i = 0; i < n; i++) v[i] = formula(own, i);
    *t = (vkt__st_tensor) { .name = strcpy(malloc(strlen(name) + 1), name),
                            .dtype = "F32",
                            .rank = k->columns ? 2 : 1,
                            .shape = { k->rows, k->columns },
                            .data = v };
}

static void write_tensors(const char *path, const char *before, const kind *layer, size_t n_layer,
                          const kind *whole, size_t n_whole)
{
    vkt__st_tensor t[MOST];
    size_t n = 0;
    char name[128];
    for (size_t i = 0; i < n_whole; i++) add(&t[n++], whole[i].name, &whole[i]);
    for (int k = 0; k < LAYERS; k++)
        for (size_t i = 0; i < n_layer; i++) {
            snprintf(name, sizeof name, "%smodel.layers.%d.%s", before, k, layer[i].name);
            add(&t[n++], name, &layer[i]);
        }
    REQUIRE_OK(vkt__safetensors_write(path, t, n, NULL, 0, NULL));
    while (n--) {
        free((void *)(uintptr_t)t[n].name);
        free(t[n].data);
    }
}

static int setup(void **state)
{
    (void)state;
    static const kind whole[] = { { "model.embed_tokens.weight", VOCAB, WIDTH },
                                  { "model.norm.weight", WIDTH, 0 },
                                  { "lm_head.weight", VOCAB, WIDTH } },
                      layer[] = { { "input_layernorm.weight", WIDTH, 0 },
                                  { "self_attn.q_proj.weight", WIDTH, WIDTH },
                                  { "self_attn.k_proj.weight", HALF, WIDTH },
                                  { "self_attn.v_proj.weight", HALF, WIDTH },
                                  { "self_attn.o_proj.weight", WIDTH, WIDTH },
                                  { "post_attention_layernorm.weight", WIDTH, 0 },
                                  { "mlp.gate_proj.weight", INNER, WIDTH },
                                  { "mlp.up_proj.weight", INNER, WIDTH },
                                  { "mlp.down_proj.weight", WIDTH, INNER } },
                      adapter[] = { { "self_attn.q_proj.lora_A.weight", RANK, WIDTH },
                                    { "self_attn.q_proj.lora_B.weight", WIDTH, RANK },
                                    { "self_attn.v_proj.lora_A.weight", RANK, WIDTH },
                                    { "self_attn.v_proj.lora_B.weight", HALF, RANK } };
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR "/base"));
    REQUIRE_OK(vkt__mkdirs(DIR "/peft"));
    write_tensors(DIR "/base/model.safetensors", "", layer, VKT_COUNT(layer), whole,
                  VKT_COUNT(whole));
    write_tensors(DIR "/peft/adapter_model.safetensors", "base_model.model.", adapter,
                  VKT_COUNT(adapter), NULL, 0);
    put(DIR "/base/config.json",
        "{\"model_type\": \"llama\", \"vocab_size\": 257, \"hidden_size\": 16, "
        "\"intermediate_size\": 24, \"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
        "\"num_key_value_heads\": 1, \"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5, "
        "\"tie_word_embeddings\": false, \"rope_theta\": 10000}");
    put(DIR "/peft/adapter_config.json",
        "{\"base_model_name_or_path\": \"" DIR "/base\", \"peft_type\": \"LORA\", \"r\": 2, "
        "\"lora_alpha\": 3, \"target_modules\": [\"q_proj\", \"v_proj\"]}");
    /* The third one's prompt is what its answers begin with. */
    put(DIR "/pairs.jsonl",
        "{\"prompt\": \"Is it? \", \"chosen\": \"Yes.\", \"rejected\": \"No way\"}\n"
        "{\"prompt\": \"2+2=\", \"chosen\": \"4\", \"rejected\": \"five\"}\n"
        "{\"chosen\": \"The sky is blue\", \"rejected\": \"The sky is green\"}\n");
    golden = json_load_file(VKT_TEST_DIR "/golden/preference.json", 0, NULL);
    assert_non_null(golden);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(golden);
    return vkt__remove_tree(DIR);
}

static double number(const json_t *c, const char *key)
{
    return json_number_value(json_object_get(c, key));
}

/* Sums of some dozen log-probabilities of about 6, to float32's error of each. */
static const double limit = 1e-5;

static void require_golden(double got, double want)
{
    REQUIRE_NEAR(got, want, limit * fmax(fabs(want), 1));
}

static void train(const json_t *c, const char *dir, const char *more, vkt_train_result *r)
{
    vkt__str recipe = { 0 };
    const char *loss = json_string_value(json_object_get(c, "kind"));
    vkt__str_printf(&recipe,
                    "init: " DIR "/base\nlora: {from: " DIR "/peft}\n"
                    "data: {source: text, path: " DIR "/pairs.jsonl, tokenizer: bytes, "
                    "context: 24, valid_fraction: 0, test_fraction: 0}\n"
                    "loss: {kind: %s, beta: %g, label_smoothing: %g",
                    loss, number(c, "beta"), number(c, "smoothing"));
    if (!strcmp(loss, "simpo")) vkt__str_printf(&recipe, ", margin: %g", number(c, "margin"));
    vkt__str_printf(&recipe,
                    "}\noptim: {rule: sgd, lr: 4}\ntrain: {steps: 1, %s}\n"
                    "checkpoint: {metric: loss}\n",
                    more);
    vkt_train_desc desc = { .run_dir = dir, .train_on_all = true };
    REQUIRE_OK(train_recipe(recipe.data, NULL, &desc, r));
    vkt__str_finish(&recipe);
}

/* The losses of both steps, and the rewards after the first, in memory and in the checkpoint. */
static void require_case(const json_t *c, const char *more)
{
    vkt_train_result r;
    vkt_eval_result e;
    vkt_history *h = NULL;
    static const char dir[] = DIR "/run";
    REQUIRE_OK(vkt__remove_tree(dir));
    train(c, dir, more, &r);
    REQUIRE_OK(vkt_history_load(dir, &h));
    assert_int_equal(h->n_steps, 1);
    require_golden(h->steps[0].loss, number(c, "loss_before"));
    vkt_history_destroy(&h);
    REQUIRE_OK(vkt_eval(&(vkt_eval_desc) { .checkpoint = dir, .split = VKT_SPLIT_TRAIN }, &e));
    assert_int_equal(e.n, 3);
    require_golden(e.loss, number(c, "loss_after"));
    require_golden(e.rewards_chosen, number(c, "chosen"));
    require_golden(e.rewards_rejected, number(c, "rejected"));
    require_golden(e.rewards_margin, number(c, "chosen") - number(c, "rejected"));
    REQUIRE_NEAR(e.accuracy, number(c, "accuracy"), 1e-12);
    vkt_eval_result_finish(&e);
}

static void losses_and_rewards_are_pytorchs(void **state)
{
    (void)state;
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(golden, "cases"), i, c) require_case(c, "batch: 3");
}

/* Micro-batches of one pair sum up to the same. */
static void micro_batches_are_the_same(void **state)
{
    (void)state;
    require_case(json_array_get(json_object_get(golden, "cases"), 0), "batch: 1, accumulate: 3");
}

/* Other preferences are read as the run's own; a text is measured as text. */
static void a_run_is_evaluated_on_others(void **state)
{
    (void)state;
    vkt_eval_result e;
    put(DIR "/others.jsonl", "{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"cd\"}\n");
    REQUIRE_OK(
        vkt_eval(&(vkt_eval_desc) { .checkpoint = DIR "/run", .data = DIR "/others.jsonl" }, &e));
    assert_int_equal(e.n, 1);
    assert_true(isfinite(e.rewards_margin));
    vkt_eval_result_finish(&e);
    put(DIR "/text.txt", "It is what it is.");
    REQUIRE_OK(
        vkt_eval(&(vkt_eval_desc) { .checkpoint = DIR "/run", .data = DIR "/text.txt" }, &e));
    assert_int_equal(e.n, 16 + 1);
    assert_true(isfinite(e.perplexity) && isnan(e.rewards_margin));
    vkt_eval_result_finish(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_rewards_are_pytorchs),
        cmocka_unit_test(micro_batches_are_the_same),
        cmocka_unit_test(a_run_is_evaluated_on_others),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("preference", tests, setup, teardown);
}
