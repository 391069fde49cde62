/* PEFT adapters read back, without a device: as a model (base and adapter merged), into a model's
 * own adapters, and what is refused. Training on from one is test_lora's; that losses agree with
 * transformers' is tools/compare/check_hf.sh's. */
#include "testing.h"

#include "base/os.h"
#include "base/half.h"
#include "models/language.h"
#include "models/import.h"
#include "vktrain/models.h"

#define DIR "test_peft_tmp"
#define PLAIN "\"r\": 2, \"lora_alpha\": 3, \"target_modules\": [\"c_attn\"]"

enum { C = 8, RANK = 2 };

/* A value for element i of the k-th tensor, exact in bf16. */
static float value(size_t k, size_t i)
{
    return (float)((int)((i * 7 + k * 5) % 31) - 15) / 16;
}

static void put(const char *path, const char *text)
{
    REQUIRE_OK(vkt__file_replace(path, text, strlen(text)));
}

static void put_config(const char *keys)
{
    vkt__str text = { 0 };
    vkt__str_printf(&text,
                    "{\"base_model_name_or_path\": \"" DIR "/base\", \"peft_type\": "
                    "\"LORA\", %s}",
                    keys);
    put(DIR "/peft/adapter_config.json", text.data);
    vkt__str_finish(&text);
}

/* What put_tensors adds to the pairs: [rows, columns], columns 0: [rows]. */
typedef struct {
    const char *name;
    uint32_t rows, columns;
    bool but_last;
} added;
static const added *more;
static size_t n_more;

static float more_value(size_t i)
{
    return (float)(i % 29 + 1) / 8;
}

static float more_data[257 * C], but_last[257 * C]; /* the other in its last element alone */

/* A pair for each layer named: A [rank, C], B [3 C, rank], in bf16. */
static void put_tensors(const char *const *layers, size_t n, uint32_t rank)
{
    uint16_t data[4][3 * C * 4];
    char names[4][96];
    vkt__st_tensor t[10];
    for (size_t i = 0; i < VKT_COUNT(more_data); i++) more_data[i] = but_last[i] = more_value(i);
    but_last[257 * C - 1]++;
    for (size_t i = 0; i < n_more; i++) {
        t[2 * n + i] = (vkt__st_tensor) { .name = more[i].name,
                                          .dtype = "F32",
                                          .rank = more[i].columns ? 2 : 1,
                                          .shape = { more[i].rows, more[i].columns },
                                          .data = more[i].but_last ? but_last : more_data };
    }
    for (size_t k = 0; k < 2 * n; k++) {
        uint64_t rows = k % 2 ? 3 * C : rank, columns = k % 2 ? rank : C;
        snprintf(names[k], sizeof names[k], "base_model.model.%s.lora_%c.weight", layers[k / 2],
                 k % 2 ? 'B' : 'A');
        for (size_t i = 0; i < rows * columns; i++) data[k][i] = vkt__to_bf16(value(k, i));
        t[k] = (vkt__st_tensor) { .name = names[k], .dtype = "BF16", .rank = 2, .data = data[k] };
        t[k].shape[0] = rows, t[k].shape[1] = columns;
    }
    REQUIRE_OK(vkt__safetensors_write(DIR "/peft/adapter_model.safetensors", t, 2 * n + n_more,
                                      NULL, 0, NULL));
}

static const char *const both[] = { "transformer.h.0.attn.c_attn", "transformer.h.1.attn.c_attn" };

/* The base: GPT-2's kind with two blocks, its weights and a tokenizer of bytes, as transformers
 * would save them. */
static vkt_model *model_create(uint32_t rank)
{
    static const char text[] =
        "model: [{transformer: {layers: 2, heads: 2, width: 8, context: 16}}]\n";
    vkt_config *c;
    vkt_model *m;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, text, strlen(text), "t.yaml"));
    vkt_model_desc desc = { .layers = c->layers,
                            .n_layers = 1,
                            .input = vkt_shape1(16),
                            .n_outputs = 257,
                            .lora = { .rank = rank, .targets = rank ? "c_attn" : NULL } };
    REQUIRE_OK(vkt_model_create(NULL, &desc, &m));
    vkt_config_destroy(&c);
    return m;
}

static int setup(void **state)
{
    (void)state;
    vkt_tokenizer *bytes;
    vkt__weights w;
    vkt__remove_tree(DIR);
    REQUIRE_OK(vkt__mkdirs(DIR "/base"));
    REQUIRE_OK(vkt__mkdirs(DIR "/peft"));
    put(DIR "/base/config.json",
        "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 2, \"n_embd\": 8, "
        "\"n_positions\": 16, \"vocab_size\": 257}");
    REQUIRE_OK(vkt_tokenizer_open("bytes", &bytes));
    char *json = vkt_tokenizer_json(bytes);
    put(DIR "/base/tokenizer.json", json);
    free(json);
    vkt_tokenizer_destroy(&bytes);
    vkt_model *m = model_create(0);
    REQUIRE_OK(vkt__weights_create(m, NULL, &w));
    for (uint64_t i = 0; i < vkt_model_flat_count(m); i++) w.values[i] = value(9, i);
    REQUIRE_OK(
        vkt__safetensors_write(DIR "/base/model.safetensors", w.model, w.n_model, NULL, 0, NULL));
    vkt__weights_finish(&w);
    vkt_model_destroy(&m);
    put_config(PLAIN);
    put_tensors(both, 2, RANK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static const float *weight(const vkt__language *l, const char *name)
{
    for (size_t i = 0; i < l->weights.n_model; i++)
        if (!strcmp(l->weights.model[i].name, name)) return l->weights.model[i].data;
    fail();
    return NULL;
}

/* W [in, out] += scale (B A)^T, all of it exact in float32 but the scale of rslora. */
static void require_merged(double scale)
{
    static const char name[] = "transformer.h.1.attn.c_attn.weight";
    vkt__language base, tuned;
    REQUIRE_OK(vkt__language_open(DIR "/base", &base));
    REQUIRE_OK(vkt__language_open(DIR "/peft", &tuned));
    const float *was = weight(&base, name), *is = weight(&tuned, name);
    for (size_t i = 0; i < C; i++)
        for (size_t o = 0; o < 3 * C; o++) {
            double sum = (double)was[i * 3 * C + o];
            for (size_t r = 0; r < RANK; r++)
                sum += scale * (double)value(3, o * RANK + r) * (double)value(2, r * C + i);
            REQUIRE_NEAR((double)is[i * 3 * C + o], sum, 0x1p-23 * 16);
        }
    static const char other[] = "transformer.h.1.mlp.c_fc.weight";
    assert_memory_equal(weight(&base, other), weight(&tuned, other), C * C * sizeof(float));
    vkt__language_close(&base);
    vkt__language_close(&tuned);
}

/* use_rslora changes only the scale: alpha / sqrt(rank). If target_modules is no list of names,
 * such as a pattern, the tensors say which matrices have an adapter. */
static void an_adapters_folder_is_its_base_with_it(void **state)
{
    (void)state;
    require_merged(3.0 / RANK);
    put_config("\"r\": 2, \"lora_alpha\": 3, \"use_rslora\": true, \"rank_pattern\": {}, "
               "\"bias\": \"none\", \"target_modules\": \"transformer.*c_attn\"");
    require_merged(3.0 / sqrt(RANK));
    put_config(PLAIN);
}

/* Patterns are regular expressions; the first key that matches counts. */
static void patterns_are_pefts(void **state)
{
    (void)state;
    put_config("\"r\": 4, \"lora_alpha\": 3, \"target_modules\": [\"c_attn\"], \"rank_pattern\": "
               "{\"c_fc\": 1, \"attn\\\\.c_attn\": 2, \"c_attn\": 3}, \"alpha_pattern\": "
               "{\"h.0.attn.c_attn\": 7, \"transformer.h\\\\.[1-9]+.*\": 5}");
    require_merged(5.0 / RANK);
    put_config("\"r\": 4, \"lora_alpha\": 3, \"use_rslora\": true, \"target_modules\": "
               "[\"c_attn\"], \"rank_pattern\": {\"c_attn\": 2}");
    require_merged(3.0 / sqrt(RANK));
    put_config(PLAIN);
}

/* Each column of W [in, out] + scale (B A)^T to its norm. */
static void a_decomposed_weight_has_its_norms(void **state)
{
    (void)state;
    static const added magnitudes[] = {
        { "base_model.model.transformer.h.0.attn.c_attn.lora_magnitude_vector", 3 * C, 0 },
        { "base_model.model.transformer.h.1.attn.c_attn.lora_magnitude_vector", 3 * C, 0 },
    };
    static const char name[] = "transformer.h.1.attn.c_attn.weight";
    vkt__language plain, tuned;
    REQUIRE_OK(vkt__language_open(DIR "/peft", &plain));
    more = magnitudes, n_more = 2;
    put_tensors(both, 2, RANK);
    put_config(PLAIN ", \"use_dora\": true");
    REQUIRE_OK(vkt__language_open(DIR "/peft", &tuned));
    const float *v = weight(&plain, name), *is = weight(&tuned, name);
    for (size_t o = 0; o < 3 * C; o++) {
        double sum = 0;
        for (size_t i = 0; i < C; i++) sum += (double)v[i * 3 * C + o] * (double)v[i * 3 * C + o];
        for (size_t i = 0; i < C; i++)
            REQUIRE_NEAR((double)is[i * 3 * C + o],
                         (double)v[i * 3 * C + o] * (double)more_value(o) / sqrt(sum),
                         0x1p-23 * (double)more_value(o));
    }
    vkt__language_close(&plain);
    vkt__language_close(&tuned);
    n_more = 0;
    put_tensors(both, 2, RANK);
    put_config(PLAIN);
}

/* Layers and biases that were trained in full take the base's place. */
static void trained_layers_replace_the_bases(void **state)
{
    (void)state;
    static const added layers[] = {
        { "base_model.model.transformer.wpe.weight", 16, C },
        { "base_model.model.transformer.ln_f.bias", C, 0 },
        { "base_model.model.transformer.h.1.attn.c_attn.base_layer.bias", 3 * C, 0 },
        { "base_model.model.lm_head.weight", 257, C },
        { "base_model.model.transformer.wte.weight", 257, C },
        { "base_model.model.lm_head.weight", 257, C, true },
    };
    static const added head[] = { { "base_model.model.lm_head.lora_A.weight", RANK, C },
                                  { "base_model.model.lm_head.lora_B.weight", 257, RANK } };
    static const struct {
        size_t first, n;
        const char *keys, *line;
    } bad[] = {
        { 0, 1, PLAIN, "wpe.weight' does not belong to a plain LoRA adapter" },
        { 1, 1, PLAIN, "ln_f.bias' does not belong to a plain LoRA adapter" },
        { 0, 1, PLAIN ", \"modules_to_save\": [\"wpe\", \"wte\"]",
          "modules_to_save has 'wte', of which there is no tensor" },
        { 4, 1, PLAIN ", \"modules_to_save\": [\"wte\"]", "trained one apart from the other" },
        { 3, 1, PLAIN ", \"modules_to_save\": [\"lm_head\"]", "trained one apart from the other" },
        { 4, 2, PLAIN ", \"modules_to_save\": [\"wte\", \"lm_head\"]", "trained two that differ" },
    };
    vkt__language l;
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        more = layers + bad[i].first, n_more = bad[i].n;
        put_tensors(both, 2, RANK);
        put_config(bad[i].keys);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__language_open(DIR "/peft", &l), VKT_E_FORMAT);
        vkt__language_close(&l);
        REQUIRE_LOGGED(bad[i].line);
    }
    more = head, n_more = VKT_COUNT(head);
    put_tensors(both, 2, RANK);
    put_config(PLAIN);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__language_open(DIR "/peft", &l), VKT_E_FORMAT);
    vkt__language_close(&l);
    REQUIRE_LOGGED("one matrix for 'transformer.wte.weight' and 'lm_head.weight', of which the "
                   "adapter changes one apart from the other");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    more = layers, n_more = VKT_COUNT(layers) - 1;
    put_tensors(both, 2, RANK);
    put_config(PLAIN ", \"bias\": \"all\", \"modules_to_save\": [\"wpe\", \"wte\", "
                     "\"lm_head\"]");
    require_merged(3.0 / RANK);
    REQUIRE_OK(vkt__language_open(DIR "/peft", &l));
    for (size_t i = 0; i < C; i++) {
        assert_true(weight(&l, "transformer.wpe.weight")[i] == more_value(i));
        assert_true(weight(&l, "transformer.wte.weight")[i] == more_value(i));
        assert_true(weight(&l, "transformer.ln_f.bias")[i] == more_value(i));
        assert_true(weight(&l, "transformer.h.1.attn.c_attn.bias")[i] == more_value(i));
    }
    vkt__language_close(&l);
    n_more = 0;
    put_tensors(both, 2, RANK);
    put_config(PLAIN);
}

static void a_models_adapters_are_filled(void **state)
{
    (void)state;
    vkt_model *m = model_create(RANK);
    vkt__weights w;
    vkt__peft p;
    REQUIRE_OK(vkt__weights_create(m, NULL, &w));
    REQUIRE_OK(vkt__peft_open(DIR "/peft", &p));
    assert_int_equal(p.lora.rank, RANK);
    assert_string_equal(p.lora.targets, "c_attn");
    REQUIRE_NEAR(p.lora.dropout, 0, 0);
    assert_int_equal(w.n_saved, 4);
    REQUIRE_OK(vkt__peft_load(&p, w.saved, w.n_saved, w.model, w.n_model));
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < (k % 2 ? 3 * C : C) * RANK; i++)
            assert_true(((float *)w.saved[k].data)[i] == value(k, i));
    /* An adapter of one block only: the model's other block has none. */
    put_tensors(both, 1, RANK);
    vkt__peft_close(&p);
    REQUIRE_OK(vkt__peft_open(DIR "/peft", &p));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__peft_load(&p, w.saved, w.n_saved, w.model, w.n_model), VKT_E_FORMAT);
    REQUIRE_LOGGED(
        "the adapter has no 'transformer.h.1.attn.c_attn.lora_A.weight', which the model");
    REQUIRE_STATUS(vkt__peft_load(&p, w.saved + 2, 2, w.model, w.n_model), VKT_E_FORMAT);
    REQUIRE_LOGGED(
        "the model has no layer for the adapter's 'transformer.h.0.attn.c_attn.lora_A.weight'");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    put_tensors(both, 2, RANK);
    vkt__peft_close(&p);
    vkt__weights_finish(&w);
    vkt_model_destroy(&m);
}

/* One line, with what is wrong in it. */
static void refused(vkt_status want, const char *line)
{
    vkt__language l;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__language_open(DIR "/peft", &l), want);
    vkt__language_close(&l);
    REQUIRE_LOGGED(line);
    assert_int_equal(strchr(test_log, '\n')[1], 0);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* Which biases it trains is what the file says. */
static void biases_are_the_files(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        vkt_lora_bias bias;
    } of[] = { { "none", VKT_LORA_BIAS_NONE },
               { "lora_only", VKT_LORA_BIAS_LORA_ONLY },
               { "all", VKT_LORA_BIAS_ALL } };
    put_tensors(both, 2, RANK);
    for (size_t i = 0; i < VKT_COUNT(of); i++) {
        vkt__peft p;
        char keys[256];
        snprintf(keys, sizeof keys, PLAIN ", \"bias\": \"%s\"", of[i].word);
        put_config(keys);
        REQUIRE_OK(vkt__peft_open(DIR "/peft", &p));
        assert_int_equal(p.lora.bias, of[i].bias);
        vkt__peft_close(&p);
    }
    put_config(PLAIN);
}

static void what_it_has_not_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *line;
    } bad[] = {
        { PLAIN ", \"use_dora\": true", "c_attn.lora_magnitude_vec" },
        { PLAIN ", \"use_qalora\": true", "use_qalora is true, which vktrain's adapters do not" },
        { PLAIN ", \"rank_pattern\": {\"c_attn\": 4}", "has rank 2, adapter_config.json says 4" },
        { PLAIN ", \"rank_pattern\": [4]", "rank_pattern is [4], which" },
        { PLAIN ", \"alpha_pattern\": {\"(\": 4}", "'(' in a pattern is no regular expression" },
        { PLAIN ", \"alpha_pattern\": {\"c_attn\": -4}", "'c_attn' in a pattern has no number" },
        { PLAIN ", \"modules_to_save\": {\"a\": 1}", "modules_to_save is {\"a\":1}, which" },
        { PLAIN ", \"bias\": \"some\"", "bias is \"some\", which" },
        { PLAIN ", \"init_lora_weights\": \"pissa\"", "init_lora_weights is \"pissa\", which" },
        { PLAIN ", \"modules_to_save\": [\"a b\"]", "modules_to_save is [\"a b\"], which" },
        { PLAIN ", \"modules_to_save\": [\"\"]", "modules_to_save is [\"\"], which" },
        { PLAIN ", \"alpha_pattern\": 4", "alpha_pattern is 4, which" },
        { PLAIN ", \"bias\": 1", "bias is 1, which" },
        { "\"r\": 0, \"lora_alpha\": 3", "r must be a rank from 1 to 4096" },
        { "\"r\": 2.5, \"lora_alpha\": 3", "r must be a rank from 1 to 4096" },
        { "\"r\": 5000, \"lora_alpha\": 3", "r must be a rank from 1 to 4096" },
        { "\"r\": 2", "lora_alpha must be above 0 and at most 1e6" },
        { "\"r\": 2, \"lora_alpha\": 1000001", "lora_alpha must be above 0 and at most 1e6" },
        { "\"r\": 2, \"lora_alpha\": 0", "lora_alpha must be above 0 and at most 1e6" },
        { "\"r\": 4097, \"lora_alpha\": 1", "r must be a rank from 1 to 4096" },
        { "\"r\": 2, \"lora_alpha\": 1e7", "lora_alpha must be above 0 and at most 1e6" },
        { "\"r\": 2, \"lora_alpha\": -1", "lora_alpha must be above 0" },
        { "\"r\": 4, \"lora_alpha\": 3", ".lora_A.weight' has rank 2, adapter_config.json says 4" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        put_config(bad[i].keys);
        refused(VKT_E_FORMAT, bad[i].line);
    }
    put(DIR "/peft/adapter_config.json", "{\"peft_type\": \"IA3\"}");
    refused(VKT_E_FORMAT, "peft_type is 'IA3', but only LORA is supported");
    put(DIR "/peft/adapter_config.json", "[]");
    refused(VKT_E_FORMAT, "adapter_config.json:1' is not a JSON object");
    put(DIR "/peft/adapter_config.json",
        "{\"peft_type\": \"LORA\", " PLAIN ", "
        "\"base_model_name_or_path\": \"HuggingFaceTB/SmolLM2-135M\"}");
    refused(VKT_E_IO, "its base 'HuggingFaceTB/SmolLM2-135M' is not a folder of a model: set");
    put_config(PLAIN);
}

static void tensors_of_another_model_are_named(void **state)
{
    (void)state;
    static const char *const other[] = { "transformer.h.7.attn.c_attn" }, *const wrong[] = {
        "transformer.h.0.attn.c_proj"
    };
    put_tensors(other, 1, RANK);
    refused(VKT_E_FORMAT,
            "the model has no layer for the adapter "
            "'base_model.model.transformer.h.7.attn.c_attn.lora_A.weight': it belongs to another "
            "base model");
    put_tensors(wrong, 1, RANK);
    refused(VKT_E_FORMAT, "does not fit its layer of the model: another shape");
    put_tensors(both, 2, RANK);
}

#define M_END ".lora_magnitude_vector"
#define NAMED(layer, end) "base_model.model." layer end

static void tensors_of_no_adapter_are_named(void **state)
{
    (void)state;
    static const struct {
        added extra;
        size_t pairs;
        const char *keys, *line;
    } bad[] = {
        { { "score.weight", 2, C }, 2, PLAIN, "'score.weight' does not belong to a plain LoRA" },
        { { NAMED("a b", ".lora_A.weight"), 2, C },
          2,
          PLAIN,
          "a b.lora_A.weight' does not belong" },
        { { NAMED("lm_head", ".lora_A.weight"), 2, 0 },
          2,
          PLAIN,
          "lora_A.weight' does not belong" },
        { { NAMED("lm_head", ".lora_A.weight"), 2, C }, 2, PLAIN, "lora_B.weight' is missing" },
        { { NAMED("lm_head", ".lora_B.weight"), C, 2 }, 2, PLAIN, "lora_A.weight' is missing" },
        { { NAMED("lm_head", ".lora_B.weight"), 2, C },
          2,
          PLAIN,
          "has rank 8, adapter_config.json says 2" },
        { { NAMED("lm_head", M_END), C, 0 }, 2, PLAIN, "_vector' does not belong" },
        { { NAMED("lm_head", M_END), C, 2 }, 1, PLAIN ", \"use_dora\": true", "is missing" },
        { { NAMED("transformer.wpe", ".weight"), 16, C },
          0,
          PLAIN ", \"modules_to_save\": [\"wpe\"]",
          "peft' has no tensor of an adapter" },
        { { NAMED("transformer.wpe", ".weight"), 15, C },
          2,
          PLAIN ", \"modules_to_save\": [\"wpe\"]",
          "'transformer.wpe.weight' is [15, 8] in the adapter, [16, 8] in the model" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        more = &bad[i].extra, n_more = 1;
        put_config(bad[i].keys);
        put_tensors(both, bad[i].pairs, RANK);
        refused(VKT_E_FORMAT, bad[i].line);
    }
    n_more = 0;
    put_config(PLAIN);
    put_tensors(both, 0, RANK);
    refused(VKT_E_FORMAT, "peft' has no tensor");
    vkt__file_remove(DIR "/peft/adapter_model.safetensors");
    refused(VKT_E_IO, "peft' has no adapter_model.safetensors\n");
    put(DIR "/peft/adapter_model.bin", "");
    refused(VKT_E_IO, "adapter_model.bin is not read, save it as safetensors");
    vkt__file_remove(DIR "/peft/adapter_model.bin");
    put_tensors(both, 2, RANK);
}

/* Only a run's adapter is exported as one, and an export overwrites nothing. */
static void what_trained_no_adapter_exports_none(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *line;
        vkt_status st;
    } bad[] = {
        { DIR "/peft", DIR "/out",
          "'" DIR "/peft' is an adapter in PEFT's format, not a run that trained one: --hf exports",
          VKT_E_ARG },
        { DIR "/peft", DIR "/out.gguf",
          "'" DIR "/peft' is an adapter in PEFT's format, not a run that trained one: --gguf",
          VKT_E_ARG },
        { DIR "/base", DIR "/out",
          "'" DIR "/base' is a model, not a run that trained an adapter: give the run, or",
          VKT_E_ARG },
        { DIR "/base", DIR "/out.gguf", "export the whole model with --gguf", VKT_E_ARG },
        { DIR "/none", DIR "/out.gguf", "'" DIR "/none'", VKT_E_IO },
        { DIR "/peft", DIR "/base", "'" DIR "/base' already exists", VKT_E_ARG },
        { DIR "/peft", DIR "/peft/adapter_config.json", "already exists", VKT_E_ARG },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        bool gguf = strchr(strrchr(bad[i].to, '/'), '.') != NULL;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(gguf ? vkt_export_adapter_gguf(bad[i].from, bad[i].to)
                            : vkt_export_adapter(bad[i].from, bad[i].to),
                       bad[i].st);
        REQUIRE_LOGGED(bad[i].line);
        assert_int_equal(strchr(test_log, '\n')[1], 0);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    }
    assert_false(vkt__file_exists(DIR "/out") || vkt__file_exists(DIR "/out.gguf"));
}

/* The file of an adapter is no model, wherever it lies. */
static void an_adapters_file_is_no_model(void **state)
{
    (void)state;
    vkt_model *m = model_create(0);
    vkt__weights w;
    REQUIRE_OK(vkt__weights_create(m, NULL, &w));
    for (int all = 0; all < 2; all++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__weights_import(DIR "/peft/adapter_model.safetensors", w.model,
                                           w.n_model, (vkt__import_how) { .all = all }),
                       VKT_E_FORMAT);
        REQUIRE_LOGGED("peft/adapter_model.safetensors' holds only a LoRA adapter, not its base "
                       "model: give the run, or");
        assert_int_equal(strchr(test_log, '\n')[1], 0);
    }
    /* Nor is its folder. */
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__adapter_refuse(DIR "/peft"), VKT_E_FORMAT);
    REQUIRE_LOGGED("holds only a LoRA adapter, not its base");
    REQUIRE_OK(vkt__adapter_refuse(DIR "/base"));
    /* In a recipe that leaves it to the file to say the model. */
    static const char text[] =
        "data: {source: novel, context: 8}\ninit: " DIR "/peft/adapter_model.safetensors\n";
    vkt_config *c;
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt_config_parse(c, text, strlen(text), "t.yaml"));
    REQUIRE_STATUS(vkt_config_finish(c), VKT_E_FORMAT);
    REQUIRE_LOGGED("holds only a LoRA adapter");
    vkt_config_destroy(&c);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    vkt__weights_finish(&w);
    vkt_model_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adapters_folder_is_its_base_with_it),
        cmocka_unit_test(patterns_are_pefts),
        cmocka_unit_test(a_decomposed_weight_has_its_norms),
        cmocka_unit_test(trained_layers_replace_the_bases),
        cmocka_unit_test(a_models_adapters_are_filled),
        cmocka_unit_test(biases_are_the_files),
        cmocka_unit_test(what_it_has_not_is_named),
        cmocka_unit_test(tensors_of_another_model_are_named),
        cmocka_unit_test(tensors_of_no_adapter_are_named),
        cmocka_unit_test(what_trained_no_adapter_exports_none),
        cmocka_unit_test(an_adapters_file_is_no_model),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("peft", tests, setup, teardown);
}
