/* Adapters: what is trained and what is allocated for it, merged against unmerged, checkpoints
 * without their base, and the files that others load. Few runs: each compiles its kernels.
 * Llama's kind is tools/compare/check_hf.sh's. */
#include "recipe_run.h"

#include <jansson.h>

#include "models/peft/adapter.h"
#include "models/language.h"
#include "vktrain/models.h"
#include "vktrain/train.h"
#include "models/import.h"
#include "nn/params.h"

#define DIR "test_lora_tmp"
#define DATA                                                                                       \
    "data: {source: text, path: " DIR "/text.txt, tokenizer: bytes, context: 16, "                 \
    "valid_fraction: 0.2, test_fraction: 0}\n"
#define GPT2 "model: [{transformer: {layers: 2, heads: 2, width: 16}}]\n"
#define TUNE "optim: {rule: adamw, lr: 0.02}\ntrain: {steps: 6, batch: 4}\neval: {every: 3}\n"

#define AVERAGED                                                                                   \
    "optim: {rule: adamw, lr: 0.02}\ntrain: {steps: 6, batch: 4, ema: 0.5}\neval: {every: 3}\n"

static vkt_status train(const char *recipe, const char *dir, bool resume, vkt_train_result *r)
{
    vkt_train_desc desc = { .run_dir = dir, .resume = resume };
    return train_recipe(recipe, NULL, &desc, r);
}

static int setup(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    vkt_train_result r;
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (int i = 0; i < 300; i++)
        vkt__str_printf(&text, "%d times %d is %d.\n\n", i % 7, i % 11, i % 7 * (i % 11));
    REQUIRE_OK(vkt__file_replace(DIR "/text.txt", text.data, text.len));
    vkt__str_finish(&text);
    REQUIRE_OK(train(DATA GPT2 TUNE, DIR "/gpt2", false, &r));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

/* Of 4 layers of 12 a rank of 2, with dropout: the counts of hand. */
static void only_adapters_have_gradients_and_moments(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    vkt_model *m;
    vkt_optim *o;
    vkt_config *c;
    const vkt_param *p;
    vkt_gpu_desc gpu_desc = { 0 };
    static const char recipe[] = DATA GPT2;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, recipe, strlen(recipe), "t.yaml"));
    REQUIRE_OK(vkt_gpu_create(&gpu_desc, &gpu));
    vkt_model_desc desc = { .layers = c->layers,
                            .n_layers = c->n_layers,
                            .input = vkt_shape1(16),
                            .n_outputs = 257,
                            .lora = { .rank = 2, .targets = "c_attn, mlp.c_proj" } };
    REQUIRE_OK(vkt_model_create(gpu, &desc, &m));
    /* A [2, 16], B [48, 2]; A [2, 64], B [16, 2]; in both blocks. */
    assert_int_equal(vkt_model_trained_count(m), 2 * (32 + 96 + 128 + 32));
    for (size_t i = 0; (p = vkt_model_param(m, i)); i++) {
        assert_int_equal(p->frozen, !strstr(p->name, ".lora_"));
        assert_int_equal(p->frozen, p->offset < vkt_model_frozen_flat(m));
    }
    /* None before it is trained. Each padded to a multiple of 256. */
    assert_int_equal(vkt__model_grads_bytes(m), 0);
    assert_int_equal(vkt_model_grads(m)->bytes, 8 * 256 * 4);
    REQUIRE_OK(vkt_optim_create(
        gpu,
        &(vkt_optim_desc) { .rule = VKT_RULE_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f },
        m, &o));
    assert_int_equal(vkt_optim_n_moments(o), 2);
    for (size_t i = 0; i < 2; i++) assert_int_equal(vkt_optim_moment(o, i)->bytes, 8 * 256 * 4);
    vkt_optim_destroy(&o);
    vkt_model_destroy(&m);
    vkt_gpu_destroy(&gpu);
    vkt_config_destroy(&c);
}

/* The loss of a mean over some 700 tokens, each by some hundred sums of float32: to 1e-6 of itself,
 * where training has moved it by far more. */
static void require_loss(const char *run, double want)
{
    vkt_eval_desc desc = { .checkpoint = run, .split = VKT_SPLIT_VALID };
    vkt_eval_result r;
    REQUIRE_OK(vkt_eval(&desc, &r));
    REQUIRE_NEAR(r.loss, want, 1e-6 * want);
    vkt_eval_result_finish(&r);
}

/* Training evaluates with the adapter apart, vkt_eval merges it. */
static void tune(const char *family, const char *targets, const char *how, const char *dir)
{
    vkt__str recipe = { 0 };
    vkt_train_result r;
    vkt__str_printf(&recipe,
                    DATA "%sinit: " DIR "/%s\nlora: {rank: 3, alpha: 5, dropout: 0.1, "
                         "targets: %s}\n",
                    how, family, targets);
    REQUIRE_OK(train(recipe.data, dir, false, &r));
    require_loss(dir, r.valid_loss);
    vkt__str_finish(&recipe);
}

static const float *weight(const vkt__language *l, const char *name)
{
    for (size_t i = 0; i < l->weights.n_model; i++)
        if (!strcmp(l->weights.model[i].name, name)) return l->weights.model[i].data;
    fail();
    return NULL;
}

static void merged_is_unmerged(void **state)
{
    (void)state;
    static const char target[] = "transformer.h.0.attn.c_attn.weight",
                      other[] = "transformer.wpe.weight";
    vkt__language base, tuned;
    size_t at;
    vkt__safetensors *f;
    float hf[16 * 48];
    tune("gpt2", "[c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj]", AVERAGED, DIR "/gpt2-tuned");
    REQUIRE_OK(vkt_export_hf(DIR "/gpt2-tuned", DIR "/hf", VKT_EXPORT_F32));
    REQUIRE_OK(vkt__language_open(DIR "/gpt2", &base));
    REQUIRE_OK(vkt__language_open(DIR "/gpt2-tuned", &tuned));
    REQUIRE_OK(vkt__safetensors_open(DIR "/hf/model.safetensors", &f));
    assert_true(vkt__safetensors_find(f, target, &at));
    REQUIRE_OK(vkt__safetensors_read(f, at, hf));
    assert_memory_equal(weight(&tuned, target), hf, sizeof hf);
    assert_memory_not_equal(weight(&base, target), hf, sizeof hf);
    assert_memory_equal(weight(&base, other), weight(&tuned, other), 16 * 16 * sizeof *hf);
    /* A run of an adapter as a beginning. */
    REQUIRE_OK(vkt__weights_import(DIR "/gpt2-tuned", base.weights.model, base.weights.n_model,
                                   (vkt__import_how) { .all = true }));
    assert_memory_equal(weight(&base, target), hf, sizeof hf);
    vkt__safetensors_close(&f);
    vkt__language_close(&base);
    vkt__language_close(&tuned);
}

static void checkpoints_hold_the_adapter_alone(void **state)
{
    (void)state;
    static const char recipe[] = DATA TUNE "init: " DIR "/gpt2\nlora: {rank: 2, base: nf4}\n",
                      half[] =
                          DATA "optim: {rule: adamw, lr: 0.02}\ntrain: {steps: 3, batch: 4}\n"
                               "eval: {every: 3}\ninit: " DIR "/gpt2\nlora: {rank: 2, base: nf4}\n";
    vkt_train_result r;
    vkt__safetensors *f;
    const vkt_tensor_info *t;
    size_t n = 0;
    REQUIRE_OK(train(recipe, DIR "/a", false, &r));
    REQUIRE_OK(train(half, DIR "/b", false, &r));
    REQUIRE_OK(train(recipe, DIR "/b", true, &r));
    require_same_file(DIR "/a", DIR "/b", "checkpoints/step-00000006/model.safetensors");
    REQUIRE_OK(vkt__safetensors_open(DIR "/a/checkpoints/step-00000006/model.safetensors", &f));
    for (; (t = vkt__safetensors_tensor(f, n)); n++) assert_non_null(strstr(t->name, ".lora_"));
    assert_int_equal(n, 4); /* A and B of c_attn in 2 blocks */
    vkt__safetensors_close(&f);
}

/* The base is a folder whose one number changes. */
static void the_base_must_be_there_and_the_same(void **state)
{
    (void)state;
    vkt__language l;
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt__rename(DIR "/gpt2", DIR "/away"));
    REQUIRE_STATUS(vkt__language_open(DIR "/a", &l), VKT_E_IO);
    vkt__language_close(&l);
    REQUIRE_LOGGED("holds only an adapter, and its base '" DIR "/gpt2' is missing");
    REQUIRE_OK(vkt__rename(DIR "/away", DIR "/gpt2"));
    REQUIRE_OK(vkt__language_open(DIR "/gpt2", &l));
    REQUIRE_OK(vkt__mkdirs(DIR "/other"));
    ((float *)l.weights.model[0].data)[0] += 1;
    REQUIRE_OK(vkt__safetensors_write(DIR "/other/model.safetensors", l.weights.model,
                                      l.weights.n_model, NULL, 0, NULL));
    vkt__language_close(&l);
    REQUIRE_OK(vkt__rename(DIR "/gpt2", DIR "/away"));
    REQUIRE_OK(vkt__rename(DIR "/other", DIR "/gpt2"));
    REQUIRE_STATUS(vkt__language_open(DIR "/a", &l), VKT_E_FORMAT);
    vkt__language_close(&l);
    REQUIRE_LOGGED("have changed since it was trained");
    REQUIRE_OK(vkt__remove_tree(DIR "/gpt2"));
    REQUIRE_OK(vkt__rename(DIR "/away", DIR "/gpt2"));
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void adapters_as_peft_has_them(void **state)
{
    (void)state; /* of the run that the test before has left */
    vkt__safetensors *f;
    size_t n, at;
    REQUIRE_OK(vkt_export_adapter(DIR "/a", DIR "/peft"));
    char *text = read_run_file(DIR "/peft", "adapter_config.json", &n);
    json_t *o = json_loadb(text, n, 0, NULL), *v;
    free(text);
    assert_string_equal(json_string_value(json_object_get(o, "peft_type")), "LORA");
    assert_int_equal(json_integer_value(json_object_get(o, "r")), 2);
    assert_int_equal(json_integer_value(json_object_get(o, "lora_alpha")), 4);
    assert_true(json_is_true(json_object_get(o, "fan_in_fan_out")));
    v = json_object_get(o, "target_modules");
    assert_int_equal(json_array_size(v), 1);
    assert_string_equal(json_string_value(json_array_get(v, 0)), "c_attn");
    json_decref(o);
    REQUIRE_OK(vkt__safetensors_open(DIR "/peft/adapter_model.safetensors", &f));
    assert_true(vkt__safetensors_find(
        f, "base_model.model.transformer.h.1.attn.c_attn.lora_A.weight", &at));
    assert_int_equal(vkt__safetensors_tensor(f, at)->shape[0], 2);
    assert_int_equal(vkt__safetensors_tensor(f, at)->shape[1], 16);
    assert_true(vkt__safetensors_find(
        f, "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight", &at));
    assert_int_equal(vkt__safetensors_tensor(f, at)->shape[0], 48);
    vkt__safetensors_close(&f);
    /* At a rate of 0 a run of it, which says neither rank nor base, is what it was. */
    vkt_train_result r;
    REQUIRE_OK(train(DATA "optim: {lr: 0}\ntrain: {steps: 1, batch: 4}\nlora: {from: " DIR
                          "/peft}\n",
                     DIR "/c", false, &r));
    require_loss(DIR "/a", r.valid_loss);
    require_loss(DIR "/peft", r.valid_loss);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_adapter(DIR "/a", DIR "/peft"), VKT_E_ARG);
    REQUIRE_LOGGED("already exists");
    REQUIRE_STATUS(vkt_export_adapter(DIR "/gpt2", DIR "/none"), VKT_E_ARG);
    REQUIRE_LOGGED("trained no adapter");
    assert_false(vkt__file_exists(DIR "/none"));
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* Llama's kind, of one matrix for embedding and output layer: DoRA on a base of few bits, ranks and
 * alphas of layers, an embedding and biases that are trained in full, averaged. A resumed run, the
 * exported adapter and the merged model are what the run is. */
#define LLAMA                                                                                      \
    "model: [{transformer: {layers: 2, heads: 2, width: 16, mlp: 32, norm: rmsnorm, positions: "   \
    "rope, activation: swiglu, qkv_bias: true}}]\n"
#define EVERY                                                                                      \
    "lora: {rank: 2, alpha: 3, rslora: true, dora: true, bias: lora_only, targets: [q_proj, "      \
    "v_proj, up_proj], rank_pattern: {1.self_attn.q_proj: 3}, alpha_pattern: {up_proj: 5}, "       \
    "modules_to_save: [embed_tokens, model.norm]}\ninit: " DIR "/llama\n"

static void every_kind_comes_back(void **state)
{
    (void)state;
    static const char half[] = DATA "optim: {rule: adamw, lr: 0.02}\ntrain: {steps: 3, batch: 4, "
                                    "ema: 0.5}\neval: {every: 3}\n" EVERY;
    vkt_train_result r;
    REQUIRE_OK(train(DATA LLAMA TUNE, DIR "/llama", false, &r));
    double before = r.valid_loss;
    REQUIRE_OK(train(DATA AVERAGED EVERY, DIR "/e", false, &r));
    double loss = r.valid_loss;
    assert_true(loss < before);
    require_loss(DIR "/e", loss); /* merged */
    REQUIRE_OK(train(half, DIR "/f", false, &r));
    REQUIRE_OK(train(DATA AVERAGED EVERY, DIR "/f", true, &r));
    require_same_file(DIR "/e", DIR "/f", "checkpoints/step-00000006/model.safetensors");
    REQUIRE_OK(vkt_export_adapter(DIR "/e", DIR "/e-peft"));
    require_loss(DIR "/e-peft", loss);
    REQUIRE_OK(train(DATA "optim: {lr: 0}\ntrain: {steps: 1, batch: 4}\nlora: {from: " DIR
                          "/e-peft}\n",
                     DIR "/g", false, &r));
    REQUIRE_NEAR(r.valid_loss, loss, 1e-6 * loss);
    /* A start of a base in few bits is that base: its magnitudes are the norms that it has. */
    REQUIRE_OK(train(DATA "optim: {lr: 0}\ntrain: {steps: 1, batch: 4}\nlora: {rank: 2, base: "
                          "nf4}\ninit: " DIR "/llama\n",
                     DIR "/h", false, &r));
    double few = r.valid_loss;
    REQUIRE_OK(train(DATA "optim: {lr: 0}\ntrain: {steps: 1, batch: 4}\nlora: {rank: 2, base: nf4, "
                          "dora: true}\ninit: " DIR "/llama\n",
                     DIR "/i", false, &r));
    REQUIRE_NEAR(r.valid_loss, few, 1e-6 * few);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *line;
    } bad[] = {
        { DATA GPT2 "lora: {rank: 2}\n", "t.yaml:3: lora.rank: an adapter needs `init`" },
        { DATA GPT2 "lora: {alpha: 2}\n",
          "t.yaml:3: lora.alpha: has no meaning without lora.rank" },
        { DATA "init: " DIR "/gpt2\nlora: {rank: 2, targets: [c_attn, q_proj]}\n",
          "lora.targets: no linear layer is called 'q_proj'; the layers are c_attn, c_proj, c_fc "
          "or "
          "all-linear" },
        { DATA "init: " DIR "/gpt2\nlora: {rank: 2, targets: \",\"}\n",
          "lora.targets names no layer" },
        { DATA "init: " DIR "/gpt2\nlora: {rank: 2, rank_pattern: {c_attn: 0.5}}\n",
          "lora.rank_pattern: 'c_attn=0.5' is not NAME=RANK, a whole number from 1 to 4096" },
        { DATA "init: " DIR "/gpt2\nlora: {rank: 2, alpha_pattern: {c_attn: 0}}\n",
          "lora.alpha_pattern: 'c_attn=0' is not NAME=ALPHA, a number above 0 and at most 1e6" },
        { DATA "init: " DIR "/gpt2\nlora: {rank: 2, alpha_pattern: {c_fc: 4}}\n",
          "lora.alpha_pattern: 'c_fc=4' names no layer that has an adapter" },
        { DATA "init: " DIR "/gpt2\nlora: {rank: 2, modules_to_save: lm_head}\n",
          "lora.modules_to_save: the model has no layer 'lm_head' (the output layer is the" },
        { DATA "init: " DIR "/gpt2\nlora: {rank: 2, dora: true}\n",
          "lora.dora: not for GPT-2's weights" },
        { DATA "init: " DIR "/gpt2\nlora: {bias: all}\n",
          "t.yaml:3: lora.bias: has no meaning without lora.rank" },
        { DATA "lora: {from: " DIR "/peft, rslora: true}\n",
          "lora.rslora: is the adapter's own with" },
        { DATA "init: " DIR "/text.txt\n", "does not describe a model" },
        { DATA "lora: {from: " DIR "/peft, alpha: 2}\n", "lora.alpha: is the adapter's own with" },
        { DATA "lora: {from: " DIR "/peft, rank: 5}\ninit: " DIR "/gpt2\n",
          "has rank 2 and alpha 4, the recipe rank 5 and alpha 10" },
    };
    vkt_train_result r;
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        TEST_LOG_CAPTURE();
        assert_int_not_equal(train(bad[i].recipe, DIR "/bad", false, &r), VKT_OK);
        REQUIRE_LOGGED(bad[i].line);
        REQUIRE_OK(vkt__remove_tree(DIR "/bad"));
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_adapters_have_gradients_and_moments),
        cmocka_unit_test(merged_is_unmerged),
        cmocka_unit_test(checkpoints_hold_the_adapter_alone),
        cmocka_unit_test(the_base_must_be_there_and_the_same),
        cmocka_unit_test(adapters_as_peft_has_them),
        cmocka_unit_test(every_kind_comes_back),
        cmocka_unit_test(mistakes_are_named),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("lora", tests, setup, teardown);
}
