/* Hugging Face folders: config.json to a recipe and back, weights of every type, in shards, and
 * what is refused. That losses and logits agree with transformers' is tools/compare/check_hf.sh's
 * to show.
 */
#include "testing.h"

#include "base/os.h"
#include "models/gguf/gguf_names.h"
#include "models/language.h"
#include "recipe/recipe_model.h"
#include "models/import.h"

#define DIR "test_hf_tmp"
#include "own_folder.h"

static const char gpt2[] =
    "{\"model_type\": \"gpt2\", \"n_layer\": 12, \"n_head\": 12, \"n_embd\": 768, "
    "\"n_positions\": 1024, \"vocab_size\": 50257, \"n_inner\": null}";
static const char smollm2[] =
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 30, \"num_attention_heads\": 9, "
    "\"num_key_value_heads\": 3, \"hidden_size\": 576, \"intermediate_size\": 1536, "
    "\"max_position_embeddings\": 8192, \"rms_norm_eps\": 1e-05, \"rope_theta\": 100000, "
    "\"rope_scaling\": null, \"hidden_act\": \"silu\", \"tie_word_embeddings\": true, "
    "\"attention_bias\": false, \"vocab_size\": 49152}";

/* The config, as a recipe, as a config, as JSON, as a config: nothing is lost. */
static void require_same_again(const char *json, const char *recipe)
{
    vkt__hf_config a, b, c;
    vkt__str text = { 0 };
    vkt_config *config;
    REQUIRE_OK(vkt__hf_config_parse(json, strlen(json), "config.json", &a));
    vkt_layer layer = vkt__hf_config_layer(&a);
    vkt__str_printf(&text, "model:\n");
    vkt__model_yaml(&layer, 1, 2, &text);
    if (recipe) assert_string_equal(text.data, recipe);
    REQUIRE_OK(vkt_config_create(&config));
    REQUIRE_OK(vkt_config_parse(config, text.data, text.len, "r.yaml"));
    REQUIRE_OK(vkt__hf_config_of(config->layers, config->n_layers, &b));
    b.vocab = a.vocab;
    char *again = vkt__hf_config_json(&b, 0);
    REQUIRE_OK(vkt__hf_config_parse(again, strlen(again), "again", &c));
    assert_string_equal(a.activation, c.activation);
    a.activation = c.activation = NULL;
    /* A recipe's numbers are float32. */
    REQUIRE_NEAR(a.eps, c.eps, 1e-7 * a.eps);
    REQUIRE_NEAR(a.theta, c.theta, 1e-7 * a.theta);
    assert_true(
        a.gpt2 == c.gpt2 && a.layers == c.layers && a.heads == c.heads &&
        a.kv_heads == c.kv_heads && a.width == c.width && a.mlp == c.mlp &&
        a.context == c.context && a.vocab == c.vocab && a.window == c.window &&
        !strcmp(a.window_layers, c.window_layers) && a.tied == c.tied && a.qkv_bias == c.qkv_bias &&
        a.attention_bias == c.attention_bias && a.mlp_bias == c.mlp_bias &&
        a.qk_norm == c.qk_norm && (a.gpt2 || a.head_dim == c.head_dim) && a.scaled == c.scaled &&
        a.scaling.kind == c.scaling.kind && a.scaling.factor == c.scaling.factor &&
        a.scaling.low == c.scaling.low && a.scaling.high == c.scaling.high &&
        a.scaling.context == c.scaling.context && a.scaling.exact == c.scaling.exact &&
        !strcmp(a.rope_short, c.rope_short) && !strcmp(a.rope_long, c.rope_long) &&
        !strcmp(a.rope_layers, c.rope_layers) && a.rotary == c.rotary && a.experts == c.experts &&
        a.experts_used == c.experts_used && a.experts_norm == c.experts_norm);
    REQUIRE_NEAR(a.scaling.attention, c.scaling.attention, 1e-7 * a.scaling.attention);
    free(again);
    vkt_config_destroy(&config);
    vkt__str_finish(&text);
}

static void configs_become_recipes(void **state)
{
    (void)state;
    require_same_again(
        gpt2,
        "model:\n  - transformer: {layers: 12, heads: 12, kv_heads: 12, width: 768, mlp: 3072, "
        "context: 1024, norm: layernorm, positions: learned, activation: gelu, names: gpt2, eps: "
        "1e-05}\n");
    require_same_again(
        smollm2,
        "model:\n  - transformer: {layers: 30, heads: 9, kv_heads: 3, width: 576, mlp: 1536, "
        "context: 8192, norm: rmsnorm, positions: rope, activation: swiglu, theta: 100000, "
        "names: llama, eps: 1e-05}\n");
}

#define QWEN2                                                                                      \
    "{\"model_type\": \"qwen2\", \"num_hidden_layers\": 6, \"num_attention_heads\": 4, "           \
    "\"num_key_value_heads\": 2, \"hidden_size\": 64, \"intermediate_size\": 96, "                 \
    "\"max_position_embeddings\": 512, \"rms_norm_eps\": 1e-06, \"hidden_act\": \"silu\", "        \
    "\"vocab_size\": 99, \"architectures\": [\"Qwen2ForCausalLM\"], "

static void windows_are_of_layers(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *line;
    } cases[] = {
        { "\"rope_theta\": 1e6, \"sliding_window\": 32, \"use_sliding_window\": false, "
          "\"max_window_layers\": 3}",
          "context: 512, norm" },
        { "\"rope_theta\": 1e6, \"sliding_window\": 32, \"use_sliding_window\": true, "
          "\"max_window_layers\": 4}",
          "context: 512, window: 32, window_layers: \"4-5\", norm" },
        { "\"rope_theta\": 1e6, \"sliding_window\": 32, \"use_sliding_window\": true, "
          "\"max_window_layers\": 0}",
          "context: 512, window: 32, norm" },
        { "\"rope_theta\": 1e6, \"sliding_window\": 32, \"use_sliding_window\": true, "
          "\"max_window_layers\": 6}",
          "context: 512, norm" },
        { "\"rope_theta\": 1e6, \"sliding_window\": 32, \"use_sliding_window\": true, "
          "\"max_window_layers\": 0, \"layer_types\": [\"sliding_attention\", \"full_attention\", "
          "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\", "
          "\"full_attention\"]}",
          "context: 512, window: 32, window_layers: \"0 2-4\", norm" },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt__str json = { 0 }, recipe = { 0 };
        vkt__str_printf(&json, QWEN2 "%s", cases[i].keys);
        vkt__str_printf(&recipe,
                        "model:\n  - transformer: {layers: 6, heads: 4, kv_heads: 2, width: 64, "
                        "mlp: 96, %s: rmsnorm, positions: rope, activation: swiglu, theta: "
                        "1000000, names: llama, tie: false, qkv_bias: true, eps: 1e-06}\n",
                        cases[i].line);
        require_same_again(json.data, recipe.data);
        vkt__str_finish(&json);
        vkt__str_finish(&recipe);
    }
}

/* What no recipe may say is not let in by another way. */
static void descriptions_are_checked(void **state)
{
    (void)state;
    vkt_config *c;
    vkt__hf_config h;
    REQUIRE_OK(vkt__hf_config_parse(gpt2, strlen(gpt2), "config.json", &h));
    REQUIRE_OK(vkt_config_create(&c));
    vkt_layer good = vkt__hf_config_layer(&h), bad = good;
    vkt_layer around = { .type = "repeat", .repeat = 2, .body = &bad, .n_body = 1 };
    REQUIRE_OK(vkt__model_take(c, &good, 1, "config.json"));
    assert_ptr_not_equal(c->layers, &good);
    assert_ptr_not_equal(c->layers->transformer.activation, good.transformer.activation);
    assert_string_equal(c->layers->transformer.activation, good.transformer.activation);
    TEST_LOG_CAPTURE();
    bad.transformer.layers = 1001;
    REQUIRE_STATUS(vkt__model_take(c, &around, 1, "config.json"), VKT_E_ARG);
    REQUIRE_LOGGED("config.json: transformer.layers: 1001 is out of range: 1 to 1000");
    bad = good;
    bad.transformer.activation = "gelo";
    REQUIRE_STATUS(vkt__model_take(c, &bad, 1, "config.json"), VKT_E_ARG);
    REQUIRE_LOGGED("transformer.activation: unknown word 'gelo'");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    assert_int_equal(c->layers->transformer.layers, 12);
    vkt_config_destroy(&c);
}

#define SIZE .layers = 1, .heads = 2, .width = 16
#define LLAMA SIZE, .positions = "rope", .norm = "rmsnorm", .activation = "swiglu"
#define NEOX SIZE, .names = "neox", .positions = "rope"

/* What transformers has no place for, each by what it is. */
static void models_of_no_architecture_are_not_written(void **state)
{
    (void)state;
    static const struct {
        vkt_transformer t;
        bool no_bias;
        const char *words; /* NULL: it can be written */
    } rows[] = {
        { { SIZE } },
        { { LLAMA } },
        { { NEOX } },
        { { SIZE, .activation = "elu" }, .words = "its activation" },
        { { SIZE, .norm_place = "post" }, .words = "norm_place: post" },
        { { LLAMA, .rope_layout = "interleaved" }, .words = "rope_layout: interleaved" },
        { { SIZE, .norm = "rmsnorm" }, .words = "GPT-2 has learned positions, layernorm, biases" },
        { { SIZE, .window = 4 }, .words = "biases and no window" },
        { { SIZE }, true, "GPT-2 has learned positions" },
        { { SIZE, .kv_heads = 1 }, .words = "GPT-2 with kv_heads" },
        { { NEOX, .norm = "rmsnorm" }, .words = "GPT-NeoX has rope, layernorm, biases" },
        { { NEOX, .activation = "swiglu" }, .words = "GPT-NeoX has rope, layernorm, biases" },
        { { SIZE, .positions = "rope" },
          .words = "Llama has a gated activation, rope and rmsnorm" },
        { { LLAMA, .qkv_bias = true, .qk_norm_all = true }, .words = "no architecture there has" },
    };
    vkt__hf_config c;
    vkt_layer two[] = { { .type = "transformer", .transformer = { SIZE } }, { .type = "linear" } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        const vkt_layer l = { .type = "transformer",
                              .no_bias = rows[i].no_bias,
                              .transformer = rows[i].t };
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__hf_config_of(&l, 1, &c), rows[i].words ? VKT_E_ARG : VKT_OK);
        if (rows[i].words) REQUIRE_LOGGED(rows[i].words);
    }
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__hf_config_of(two, 2, &c), VKT_E_ARG);
    REQUIRE_STATUS(vkt__hf_config_of(two + 1, 1, &c), VKT_E_ARG);
    static const char line[] = "this model can't be written for transformers: it is not one "
                               "`transformer`; GPT-2's and Llama's architectures can\n";
    REQUIRE_LOGGED(line);
    assert_string_equal(test_log + sizeof line - 1, line);
    /* Nor has llama.cpp one for each of transformers'. */
    const vkt__gguf_arch *arch;
    REQUIRE_OK(vkt__gguf_arch_of("mistral", "", &arch));
    assert_string_equal(arch->name, "llama");
    REQUIRE_STATUS(vkt__gguf_arch_of("granite", "--hf writes a folder", &arch), VKT_E_ARG);
    REQUIRE_LOGGED("GGUF is not written of granite yet, only of mistral, gpt2, llama, qwen2, ");
    REQUIRE_LOGGED(" and phi3: --hf writes a folder\n");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void refused_config(const char *json, const char *line)
{
    vkt__hf_config c;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__hf_config_parse(json, strlen(json), "config.json", &c), VKT_E_FORMAT);
    REQUIRE_LOGGED(line);
    assert_int_equal(strchr(test_log, '\n')[1], 0);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void configs_are_refused(void **state)
{
    (void)state;
    refused_config("[1]", "'config.json' is not a JSON object");
    refused_config("{\"n_layer\": 3", "'config.json' is not a JSON object");
    refused_config("{}", "model_type is missing");
    refused_config(
        "{\"model_type\": \"falcon\"}",
        "architecture 'falcon' is not supported; gpt2, llama, mistral, qwen2, qwen3, "
        "qwen3_moe, olmoe, smollm3, olmo2, granite, gemma2, gemma3_text, phi3 and gpt_neox are");
    refused_config("{\"model_type\": \"gpt2\"}", "n_layer is missing");
    refused_config("{\"model_type\": \"gpt2\", \"n_layer\": -1}", "n_layer must be a whole number");
    refused_config("{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_head\": 1, \"n_embd\": 8, "
                   "\"vocab_size\": 9, \"activation_function\": \"quick_gelu\"}",
                   "activation_function is an activation that is not supported");
    refused_config(
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
        "\"hidden_size\": 8, \"intermediate_size\": 8, \"vocab_size\": 9, \"rope_scaling\": "
        "{\"rope_type\": \"dynamic\", \"factor\": 4}}",
        "'config.json': rope_type is 'dynamic': only default, linear, llama3, yarn and longrope "
        "are "
        "supported");
    refused_config(
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
        "\"hidden_size\": 8, \"intermediate_size\": 8, \"vocab_size\": 9, \"rope_scaling\": "
        "{\"rope_type\": \"llama3\", \"factor\": 8}}",
        "low_freq_factor is missing in rope's parameters");
    refused_config(
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 3, "
        "\"hidden_size\": 8, \"intermediate_size\": 8, \"vocab_size\": 9}",
        "hidden_size must be a multiple of num_attention_heads without a head_dim");
}

#define MOE                                                                                        \
    "{\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"hidden_size\": 8, "                  \
    "\"intermediate_size\": 8, \"vocab_size\": 9, \"model_type\": "

static void experts_are_read_or_refused(void **state)
{
    (void)state;
    static const char same[] = MOE "\"qwen3_moe\", \"num_local_experts\": 6, "
                                   "\"num_experts_per_tok\": 2, \"moe_intermediate_size\": 12, "
                                   "\"decoder_sparse_step\": 2}";
    vkt__hf_config c;
    REQUIRE_OK(vkt__hf_config_parse(same, strlen(same), "config.json", &c));
    assert_true(c.experts == 6 && c.experts_used == 2 && c.experts_mlp == 12 && !c.experts_norm);
    assert_string_equal(c.experts_layers, "1");
    refused_config(MOE "\"qwen3_moe\", \"num_experts\": 4, \"num_local_experts\": 6}",
                   "num_local_experts must be the same as num_experts");
    refused_config(MOE "\"qwen3_moe\", \"num_experts\": 4}",
                   "num_experts_per_tok must be a whole number up to 64 and the number of experts");
    refused_config(MOE "\"qwen3_moe\", \"mlp_only_layers\": [0, 1]}",
                   "mlp_only_layers leaves no layer with experts");
    refused_config(MOE "\"qwen3_moe\", \"mlp_only_layers\": [\"0\"]}",
                   "mlp_only_layers must be a list of layers");
    refused_config(MOE "\"qwen3_moe\", \"router_aux_loss_coef\": -1}",
                   "router_aux_loss_coef must be a number from 0 to 100");
    refused_config(MOE "\"olmoe\", \"clip_qkv\": 8.0}", "clip_qkv is 8.0: only null is supported");
    refused_config(MOE "\"olmoe\", \"mlp_only_layers\": [0]}", "mlp_only_layers is [0]: this key");
    refused_config(MOE "\"llama\", \"num_experts\": 4}", "num_experts is 4: this key is not known");
}

/* Each gave a silently wrong result once, or could. */
static void keys_are_read_or_refused(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *line;
    } bad[] = {
        { "\"is_causal\": false}",
          "'config.json': is_causal is false: only true is supported (a token attends to those "
          "before it only)" },
        { "\"rope_theta\": 1e4, \"rope_parameters\": {\"rope_theta\": 1e6}}",
          "rope_theta has another value in rope_parameters" },
        { "\"rope_parameters\": {\"rope_theta\": 1e6}, \"rope_scaling\": {\"type\": \"yarn\"}}",
          "rope_scaling and rope_parameters say different things" },
        { "\"rope_parameters\": {\"full_attention\": {}}}",
          "full_attention is {}: this key is not known" },
        { "\"attention_multiplier\": 0.5}", "attention_multiplier is 0.5: only null is supported" },
        { "\"logit_scale\": 0.0625}",
          "logit_scale is 0.0625: this key is not known; if the model computes the same without "
          "it, remove it" },
        { "\"quantization_config\": {\"bits\": 4}}",
          "quantization_config is {\"bits\":4}: only null is supported (weights are read" },
        { "\"partial_rotary_factor\": 0.5}", "partial_rotary_factor is 0.5: only 1 is supported" },
        { "\"tie_word_embeddings\": 1}", "tie_word_embeddings must be true or false" },
        { "\"layer_types\": [\"full_attention\"]}",
          "layer_types must be a list of num_hidden_layers words" },
        { "\"use_sliding_window\": true, \"max_window_layers\": -1}",
          "max_window_layers must be a whole number from 0" },
        { "\"layer_types\": [\"full_attention\", \"full_attention\", \"full_attention\", "
          "\"full_attention\", \"full_attention\", \"chunked_attention\"]}",
          "layer_types has a word that is not supported" },
        { "\"layer_types\": [\"full_attention\", \"full_attention\", \"full_attention\", "
          "\"full_attention\", \"full_attention\", \"sliding_attention\"]}",
          "layer_types names sliding_attention, but there is no sliding_window" },
        { "\"vocab_size\": 98}", "duplicate object key" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        vkt__str json = { 0 };
        vkt__str_printf(&json, QWEN2 "%s", bad[i].keys);
        refused_config(json.data, bad[i].line);
        vkt__str_finish(&json);
    }
    refused_config(
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
        "\"hidden_size\": 8, \"intermediate_size\": 8, \"vocab_size\": 9, \"architectures\": "
        "[\"LlamaForSequenceClassification\"]}",
        "architectures names no language model");
    refused_config(
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
        "\"hidden_size\": 8, \"intermediate_size\": 8, \"vocab_size\": 9, \"sliding_window\": 4}",
        "sliding_window must be null for this architecture");
}

/* Keys that only some families have. */
static void own_keys_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *type, *keys, *line;
    } bad[] = {
        { "smollm3", "\"no_rope_layers\": [1]", "no_rope_layers must be a list of" },
        { "smollm3", "\"no_rope_layers\": [0, 0]", "no_rope_layers leaves no layer with rope" },
        { "llama", "\"no_rope_layers\": [1, 0]", "no_rope_layers is [1,0]: this key is not known" },
        { "llama", "\"rms_norm_eps\": 0", "rms_norm_eps must be a number above 0" },
        { "llama", "\"rope_theta\": 0", "rope_theta must be a number above 0" },
        { "llama", "\"num_key_value_heads\": \"2\"",
          "num_key_value_heads must be a whole number from 1" },
        { "llama", "\"num_key_value_heads\": 1.5",
          "num_key_value_heads must be a whole number from 1" },
        { "llama", "\"max_position_embeddings\": 16777217",
          "max_position_embeddings must be a whole number from 1 to 16777216" },
        { "mistral",
          "\"sliding_window\": 4, \"layer_types\": [\"sliding_attention\", \"full_attention\"]",
          "layer_types must have one word for all layers of this architecture" },
        { "llama",
          "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"beta_fast\": 2, "
          "\"beta_slow\": 2, \"original_max_position_embeddings\": 64}",
          "beta_slow must be below beta_fast" },
        { "llama",
          "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"truncate\": 1, "
          "\"original_max_position_embeddings\": 64}",
          "truncate must be true or false" },
        { "olmo2", "\"sliding_window\": 8", "sliding_window must be null for this architecture" },
        { "granite", "\"logits_scaling\": 0", "logits_scaling must be a number above 0" },
        { "phi3",
          "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1], \"long_factor\": [1, "
          "2]},"
          "\"original_max_position_embeddings\": 64",
          "short_factor must be a list of numbers above 0, one for each pair that turns" },
        { "phi3", "\"partial_rotary_factor\": 0.3",
          "partial_rotary_factor must give an even number of a head's size" },
        { "gemma3_text",
          "\"rope_local_base_freq\": 5e3, \"rope_parameters\": {\"full_attention\": "
          "{\"rope_theta\": "
          "1e6}, \"sliding_attention\": {\"rope_theta\": 1e4}}",
          "rope_local_base_freq has another value in rope_parameters" },
        { "gemma3_text", "\"use_bidirectional_attention\": true",
          "use_bidirectional_attention is true: only false is supported" },
        { "llama", "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4}",
          "original_max_position_embeddings is missing in rope's parameters" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        vkt__str json = { 0 };
        vkt__str_printf(&json,
                        "{\"model_type\": \"%s\", \"num_hidden_layers\": 2, "
                        "\"num_attention_heads\": 2, \"hidden_size\": 8, \"head_dim\": 4, "
                        "\"intermediate_size\": 8, \"vocab_size\": 9, %s}",
                        bad[i].type, bad[i].keys);
        refused_config(json.data, bad[i].line);
        vkt__str_finish(&json);
    }
}

/* YaRN's length of queries and keys where mscale says it: 0.1 m ln(factor) + 1, a quotient of two.
 */
static void mscale_is_a_length(void **state)
{
    (void)state;
    static const char json[] =
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
        "\"hidden_size\": 8, \"intermediate_size\": 8, \"vocab_size\": 9, \"rope_scaling\": "
        "{\"type\": \"yarn\", \"factor\": 4, \"mscale\": 0.7, \"mscale_all_dim\": 0.4, "
        "\"original_max_position_embeddings\": 64}}";
    vkt__hf_config c;
    REQUIRE_OK(vkt__hf_config_parse(json, strlen(json), "config.json", &c));
    REQUIRE_NEAR(c.scaling.attention, (0.07 * log(4) + 1) / (0.04 * log(4) + 1), 1e-12);
}

/* What a key says where it stands there, and what holds where it does not, as transformers has it.
 */
static void what_is_not_said_is_transformers_default(void **state)
{
    (void)state;
    static const struct {
        const char *type, *keys, *windows;
        double attention;
        bool exact, norm;
    } rows[] = {
#define YARN                                                                                       \
    "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": " \
    "64"
        { "llama", YARN "}", "", 0, false, false },
        { "llama", YARN ", \"truncate\": false}", "", 0, true, false },
        { "llama", YARN ", \"truncate\": true, \"attention_factor\": 1.5}", "", 1.5, false, false },
        { "llama", YARN ", \"mscale\": 0.7}", "", 0, false, false },
        { "llama", YARN ", \"mscale_all_dim\": 0.7}", "", 0, false, false },
        { "llama", "\"is_causal\": null, \"quantization_config\": null", "", 0, false, false },
        { "qwen3_moe", "\"num_experts\": 8", "", 0, false, false },
        { "qwen3_moe", "\"num_experts\": 8, \"norm_topk_prob\": true", "", 0, false, true },
        { "gemma3_text", "\"sliding_window\": 4, \"sliding_window_pattern\": 2", "0 2", 0, false,
          false },
        { "gemma3_text", "\"sliding_window\": 4, \"_sliding_window_pattern\": 3", "0-1 3", 0, false,
          false },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__hf_config c;
        vkt__str json = { 0 };
        vkt__str_printf(&json,
                        "{\"model_type\": \"%s\", \"num_hidden_layers\": 4, "
                        "\"num_attention_heads\": 2, \"hidden_size\": 8, \"head_dim\": 4, "
                        "\"num_key_value_heads\": 1, \"intermediate_size\": 8, \"vocab_size\": 9, "
                        "\"rms_norm_eps\": 1e-6, \"max_position_embeddings\": 256, %s}",
                        rows[i].type, rows[i].keys);
        REQUIRE_OK(vkt__hf_config_parse(json.data, json.len, "config.json", &c));
        assert_string_equal(c.window_layers, rows[i].windows);
        REQUIRE_NEAR(c.scaling.attention, rows[i].attention, 1e-12);
        assert_int_equal(c.scaling.exact, rows[i].exact);
        assert_int_equal(c.experts_norm, rows[i].norm);
        require_same_again(json.data, NULL);
        vkt__str_finish(&json);
    }
}

/* transformers 5 takes rope_parameters' theta, and the other where that has none. */
static void theta_may_stand_outside(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"rope_theta\": 5e5, \"rope_parameters\": {\"rope_type\": \"default\"}}",
        "\"rope_theta\": 5e5, \"rope_parameters\": {\"rope_theta\": 500000}}",
        "\"rope_parameters\": {\"rope_theta\": 5e5}}", "\"rope_theta\": 5e5}"
    };
    for (size_t i = 0; i < VKT_COUNT(keys); i++) {
        vkt__hf_config c;
        vkt__str json = { 0 };
        vkt__str_printf(&json, QWEN2 "%s", keys[i]);
        REQUIRE_OK(vkt__hf_config_parse(json.data, json.len, "config.json", &c));
        REQUIRE_NEAR(c.theta, 500000, 0);
        vkt__str_finish(&json);
    }
}

/* ---- weights ---- */

static void put_tensor(const char *file, const char *name, const char *dtype, const void *data)
{
    vkt__st_tensor t = { .name = name, .dtype = dtype, .rank = 2, .shape = { 2, 3 } };
    t.data = (void *)(uintptr_t)data;
    REQUIRE_OK(vkt__safetensors_write(file, &t, 1, NULL, 0, NULL));
}

static vkt_status load(const char *folder, const char *name, uint64_t columns, float out[6])
{
    vkt__st_tensor t = { .name = name, .dtype = "F32", .rank = 2, .shape = { 2, columns } };
    t.data = out;
    return vkt__weights_import(folder, &t, 1, (vkt__import_how) { .all = true });
}

static void weights_are_widened(void **state)
{
    (void)state;
    static const float f32[] = { 1, -2, 0.5f, 65504, -0.0f, 6.103515625e-5f };
    /* The same in f16, and its least and largest parts: subnormal 2^-24, infinity. */
    static const uint16_t f16[] = { 0x3C00, 0xC000, 0x3800, 0x7BFF, 0x8000, 0x0400 },
                          odd[] = { 0x0001, 0x7C00, 0xFC00, 0x83FF, 0x7C01, 0x03FF },
                          bf16[] = { 0x3F80, 0xC000, 0x3F00, 0x4780, 0x8000, 0x3880 };
    float out[6];
    REQUIRE_OK(vkt__mkdirs(DIR "/w"));
    put_tensor(DIR "/w/model.safetensors", "wte.weight", "F32", f32);
    REQUIRE_OK(load(DIR "/w", "transformer.wte.weight", 3, out)); /* its prefix may be lacking */
    assert_memory_equal(out, f32, sizeof f32);
    put_tensor(DIR "/w/model.safetensors", "a", "F16", f16);
    REQUIRE_OK(load(DIR "/w", "a", 3, out));
    assert_memory_equal(out, f32, sizeof f32);
    put_tensor(DIR "/w/model.safetensors", "a", "F16", odd);
    REQUIRE_OK(load(DIR "/w", "a", 3, out));
    REQUIRE_NEAR(out[0], ldexp(1, -24), 0);
    assert_true(isinf(out[1]) && out[1] > 0 && isinf(out[2]) && out[2] < 0 && isnan(out[4]));
    REQUIRE_NEAR(out[3], -1023 * ldexp(1, -24), 0);
    REQUIRE_NEAR(out[5], 1023 * ldexp(1, -24), 0);
    put_tensor(DIR "/w/model.safetensors", "a", "BF16", bf16);
    REQUIRE_OK(load(DIR "/w", "a", 3, out));
    REQUIRE_NEAR(out[3], 65536, 0);
    REQUIRE_NEAR(out[1], -2, 0);
}

static void put(const char *path, const char *text)
{
    REQUIRE_OK(vkt__file_replace(path, text, strlen(text)));
}

static void weights_in_shards_and_wrong_ones(void **state)
{
    (void)state;
    static const float f32[] = { 1, 2, 3, 4, 5, 6 };
    float out[6];
    static const struct {
        const char *name, *line;
        uint64_t columns;
    } bad[] = { { "c", "test_hf_tmp/s' has no tensor 'c': it belongs to another model", 3 },
                { "a", "tensor 'a' is [2, 3] in the file, [2, 2] in the model", 2 },
                { "i", "tensor 'i' is of type I32; F32, F16 and BF16 are read", 3 } };
    REQUIRE_OK(vkt__mkdirs(DIR "/s"));
    put_tensor(DIR "/s/one.safetensors", "a", "F32", f32);
    put_tensor(DIR "/s/two.safetensors", "b", "F32", f32);
    put_tensor(DIR "/s/int.safetensors", "i", "I32", f32);
    put(DIR "/s/model.safetensors.index.json",
        "{\"weight_map\": {\"a\": \"one.safetensors\", \"b\": \"two.safetensors\", \"i\": "
        "\"int.safetensors\"}}");
    REQUIRE_OK(load(DIR "/s", "b", 3, out));
    assert_memory_equal(out, f32, sizeof f32);
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(load(DIR "/s", bad[i].name, bad[i].columns, out), VKT_E_FORMAT);
        REQUIRE_LOGGED(bad[i].line);
    }
    TEST_LOG_CAPTURE();
    put(DIR "/s/model.safetensors.index.json", "{\"weight_map\": {\"a\": \"../one.safetensors\"}}");
    REQUIRE_STATUS(load(DIR "/s", "a", 3, out), VKT_E_FORMAT);
    REQUIRE_LOGGED("its weight_map names a file outside the folder, '../one.safetensors'");
    put(DIR "/s/model.safetensors.index.json", "{\"weight_map\": {\"a\": 1}}");
    REQUIRE_STATUS(load(DIR "/s", "a", 3, out), VKT_E_FORMAT);
    REQUIRE_LOGGED("has no weight_map of tensors and file names");
    REQUIRE_OK(vkt__mkdirs(DIR "/p"));
    put(DIR "/p/pytorch_model.bin", "x");
    put(DIR "/p/config.json", "{}");
    REQUIRE_STATUS(load(DIR "/p", "a", 3, out), VKT_E_FORMAT);
    REQUIRE_LOGGED("pytorch_model.bin is not read, save it as safetensors");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* What a whole model's folder may hold besides, and numbers that are none. */
static void folders_hold_the_model_and_no_other(void **state)
{
    (void)state;
    static const float table[] = { 1, 2, 3, 4, 5, 6 }, other[] = { 1, 2, 3, 4, 5, 7 };
    float out[6] = { 1, 2, 3, 4, 5, 6 };
    vkt__st_tensor model = { .name = "model.embed_tokens.weight",
                             .dtype = "F32",
                             .rank = 2,
                             .shape = { 2, 3 },
                             .data = out },
                   file[2] = { model, model };
    static const struct {
        const char *name, *line;
        const float *data;
    } cases[] = {
        { "lm_head.weight", NULL, table },
        { "model.layers.0.self_attn.rotary_emb.inv_freq", NULL, other },
        { "lm_head.weight",
          "'lm_head.weight' differ from the embedding's: set it to false, or remove that tensor",
          other },
        { "model.layers.0.self_attn.q_proj.bias",
          "the model that config.json describes has no tensor "
          "'model.layers.0.self_attn.q_proj.bias'",
          other },
    };
    REQUIRE_OK(vkt__mkdirs(DIR "/m"));
    file[0].data = (void *)(uintptr_t)table;
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        file[1].name = cases[i].name;
        file[1].data = (void *)(uintptr_t)cases[i].data;
        REQUIRE_OK(vkt__safetensors_write(DIR "/m/model.safetensors", file, 2, NULL, 0, NULL));
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__import_check(DIR "/m", &model, 1),
                       cases[i].line ? VKT_E_FORMAT : VKT_OK);
        if (cases[i].line) REQUIRE_LOGGED(cases[i].line);
    }
    REQUIRE_OK(vkt__weights_check_finite("m", &model, 1));
    for (int i = 0; i < 6; i++) {
        char line[100];
        float was = out[i];
        snprintf(line, sizeof line,
                 "'m': tensor 'model.embed_tokens.weight' is not finite: element %d is %s", i,
                 i % 2 ? "NaN" : "infinite");
        out[i] = i % 2 ? NAN : -INFINITY;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__weights_check_finite("m", &model, 1), VKT_E_FORMAT);
        REQUIRE_LOGGED(line);
        out[i] = was;
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configs_become_recipes),
        cmocka_unit_test(descriptions_are_checked),
        cmocka_unit_test(models_of_no_architecture_are_not_written),
        cmocka_unit_test(configs_are_refused),
        cmocka_unit_test(windows_are_of_layers),
        cmocka_unit_test(keys_are_read_or_refused),
        cmocka_unit_test(experts_are_read_or_refused),
        cmocka_unit_test(own_keys_are_checked),
        cmocka_unit_test(mscale_is_a_length),
        cmocka_unit_test(what_is_not_said_is_transformers_default),
        cmocka_unit_test(theta_may_stand_outside),
        cmocka_unit_test(weights_are_widened),
        cmocka_unit_test(weights_in_shards_and_wrong_ones),
        cmocka_unit_test(folders_hold_the_model_and_no_other),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
