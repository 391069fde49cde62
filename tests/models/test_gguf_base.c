/* GGUF files as models to begin with: what a folder says is said again by its file, bit for bit;
 * blocks are what ggml makes of them; what is not understood is refused by name. That llama.cpp
 * writes the same greedy text is tools/compare/check_llama.sh's to show. */
#include "testing.h"

#include <jansson.h>

#include "base/os.h"
#include "tokenizers/tokenizer_around.h"
#include "data/text/tokenizer_chat.h"
#include "formats/ggml_blocks.h"
#include "models/gguf/gguf_model.h"
#include "models/language.h"
#include "models/weights_file.h"
#include "vktrain/models.h"

#define DIR "test_gguf_base_tmp"
#include "own_folder.h"

#define SIZES_OF(kv_heads)                                                                         \
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": " kv_heads     \
    ", "                                                                                           \
    "\"hidden_size\": 64, \"intermediate_size\": 96, \"max_position_embeddings\": 128, "           \
    "\"rms_norm_eps\": 1e-06, "
#define SIZES SIZES_OF("2")
#define BYTE_LEVEL "\"vocab_size\": 703, "

static const struct {
    const char *name, *config, *tokenizer;
} models[] = {
    { "gpt2",
      "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 4, \"n_embd\": 64, \"n_positions\": "
      "128, \"vocab_size\": 701}",
      "gpt2-small" },
    { "llama",
      "{\"model_type\": \"llama\", " SIZES BYTE_LEVEL
      "\"attention_bias\": true, \"mlp_bias\": true, \"head_dim\": 24, \"tie_word_embeddings\": "
      "false}",
      "llama3-small" },
    { "llama3",
      "{\"model_type\": \"llama\", " SIZES BYTE_LEVEL
      "\"rope_theta\": 500000.0, \"tie_word_embeddings\": true, \"rope_scaling\": {\"rope_type\": "
      "\"llama3\", \"factor\": 32.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
      "\"original_max_position_embeddings\": 8192}}",
      "llama3-small" },
    { "linear",
      "{\"model_type\": \"llama\", " SIZES BYTE_LEVEL
      "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.5}}",
      "smollm2-small" },
    { "qwen2",
      "{\"model_type\": \"qwen2\", " SIZES BYTE_LEVEL "\"rope_theta\": 1000000.0, "
      "\"tie_word_embeddings\": true}",
      "smollm2-small" },
    { "spm", "{\"model_type\": \"llama\", " SIZES "\"vocab_size\": 759}", "spm-llama2" },
    { "gemma2",
      "{\"model_type\": \"gemma2\", " SIZES "\"vocab_size\": 759, \"head_dim\": 32, "
      "\"query_pre_attn_scalar\": 32, \"sliding_window\": 16}",
      "spm-gemma" },
    { "gemma3",
      "{\"model_type\": \"gemma3_text\", " SIZES "\"vocab_size\": 759, \"head_dim\": 32, "
      "\"query_pre_attn_scalar\": 32, \"sliding_window\": 16, \"rope_scaling\": {\"rope_type\": "
      "\"linear\", \"factor\": 8.0}}",
      "spm-gemma" },
    { "phi3",
      "{\"model_type\": \"phi3\", " SIZES BYTE_LEVEL "\"partial_rotary_factor\": 0.75, "
      "\"tie_word_embeddings\": false, \"original_max_position_embeddings\": 64, "
      "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1.25, 1.5, 1.75, 2, 2.25], "
      "\"long_factor\": [1, 2, 3, 4, 5, 6]}}",
      "llama3-small" },
    { "qwen3", "{\"model_type\": \"qwen3\", " SIZES BYTE_LEVEL "\"head_dim\": 32}",
      "smollm2-small" },
    { "qwen3moe",
      "{\"model_type\": \"qwen3_moe\", " SIZES BYTE_LEVEL
      "\"num_experts\": 5, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32, "
      "\"norm_topk_prob\": true, \"tie_word_embeddings\": true}",
      "smollm2-small" },
    { "olmoe",
      "{\"model_type\": \"olmoe\", " SIZES_OF("4") BYTE_LEVEL
      "\"num_experts\": 4, \"num_experts_per_tok\": 3}",
      "smollm2-small" },
};

static const char *in_dir(vkt__arena *a, const char *name, const char *file)
{
    return vkt__arena_printf(a, DIR "/%s%s%s", name, *file && *file != '.' ? "/" : "", file);
}

static void copy(const char *from, const char *to)
{
    char *text;
    size_t n;
    REQUIRE_OK(vkt__file_read(from, 1 << 24, &text, &n));
    REQUIRE_OK(vkt__file_replace(to, text, n));
    free(text);
}

/* A Hugging Face folder with random weights of that deviation. */
static void make_folder_of(vkt__arena *a, const char *name, const char *config,
                           const char *tokenizer, double scale)
{
    const char *folder = in_dir(a, name, "");
    vkt__trained t;
    vkt__weights w;
    vkt_model *m;
    REQUIRE_OK(vkt__mkdirs(folder));
    REQUIRE_OK(vkt__file_replace(in_dir(a, name, "config.json"), config, strlen(config)));
    copy(vkt__arena_printf(a, "%s/golden/%s.json", test_dir(), tokenizer),
         in_dir(a, name, "tokenizer.json"));
    static const char settings[] = "{\"chat_template\": \"{{ messages[0]['content'] }}\"}";
    REQUIRE_OK(
        vkt__file_replace(in_dir(a, name, "tokenizer_config.json"), settings, sizeof settings - 1));
    REQUIRE_OK(vkt__trained_open(folder, &t));
    vkt_model_desc desc = { .layers = t.config->layers,
                            .n_layers = t.config->n_layers,
                            .input = vkt_shape1(t.config->data.context),
                            .n_outputs = t.config->data.vocab };
    REQUIRE_OK(vkt_model_create(NULL, &desc, &m));
    REQUIRE_OK(vkt__weights_create(m, NULL, &w));
    for (size_t i = 0; i < w.n_model; i++) {
        uint64_t n = 1;
        for (uint32_t d = 0; d < w.model[i].rank; d++) n *= w.model[i].shape[d];
        for (uint64_t e = 0; e < n; e++)
            ((float *)w.model[i].data)[e] =
                (float)(scale * vkt_rand_normal(5, VKT_RNG_TEST, (i << 32) + e));
    }
    REQUIRE_OK(vkt__safetensors_write(in_dir(a, name, "model.safetensors"), w.model, w.n_model,
                                      NULL, 0, NULL));
    vkt__weights_finish(&w);
    vkt_model_destroy(&m);
    vkt__trained_close(&t);
}

static void make_folder(vkt__arena *a, size_t k, double scale)
{
    make_folder_of(a, models[k].name, models[k].config, models[k].tokenizer, scale);
}

static uint64_t count(const vkt__st_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t d = 0; d < t->rank; d++) n *= t->shape[d];
    return n;
}

/* The same model to the last bit; of quantised types within `limit` of the largest weight. */
static void require_same_model(const vkt__language *x, const vkt__language *y, double limit)
{
    char *a = vkt__hf_config_json(&x->config, 0), *b = vkt__hf_config_json(&y->config, 0);
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_int_equal(x->weights.n_model, y->weights.n_model);
    for (size_t i = 0; i < x->weights.n_model; i++) {
        const vkt__st_tensor *s = &x->weights.model[i], *t = &y->weights.model[i];
        const float *u = s->data, *v = t->data;
        double most = 0;
        assert_string_equal(s->name, t->name);
        for (uint64_t k = 0; k < count(s); k++) most = fmax(most, fabs((double)u[k]));
        for (uint64_t k = 0; k < count(s); k++)
            REQUIRE_NEAR((double)u[k], (double)v[k], limit * most);
    }
}

static void require_same_tokens(const vkt__language *x, const vkt__language *y)
{
    static const char text[] = "The quick brown fox 12345 jumps.\n\nIt's \xc3\xa9t\xc3\xa9 \xe6\x9d"
                               "\xb1\xe4\xba\xac   \xf0\x9f\x99\x82 </s> <|endoftext|> ok\t\n";
    vkt_tokens a = { 0 }, b = { 0 };
    for (int special = 0; special < 2; special++) {
        a.n = b.n = 0;
        REQUIRE_OK(vkt_tokenizer_encode(x->tokenizer, text, strlen(text), special, &a));
        REQUIRE_OK(vkt_tokenizer_encode(y->tokenizer, text, strlen(text), special, &b));
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.id, b.id, a.n * sizeof *a.id);
    }
    assert_string_equal(vkt__tokenizer_setting(x->tokenizer, "chat_template"),
                        vkt__tokenizer_setting(y->tokenizer, "chat_template"));
    for (uint32_t id = 0; id < vkt_tokenizer_get_info(x->tokenizer)->n_vocab; id++)
        assert_true(!vkt__tokenizer_ends(x->tokenizer, id) ||
                    vkt__tokenizer_ends(y->tokenizer, id));
    free(a.id);
    free(b.id);
}

static void a_file_is_its_folder(void **state)
{
    (void)state;
    for (size_t k = 0; k < VKT_COUNT(models); k++) {
        vkt__arena a = { 0 };
        vkt__language x, y;
        make_folder(&a, k, 1);
        const char *folder = in_dir(&a, models[k].name, ""),
                   *file = in_dir(&a, models[k].name, ".gguf");
        REQUIRE_OK(vkt_export_gguf(folder, file, VKT_EXPORT_F32));
        REQUIRE_OK(vkt__language_open(folder, &x));
        REQUIRE_OK(vkt__language_open(file, &y));
        /* Gains with 1 added lose a last bit. */
        require_same_model(&x, &y, strstr(models[k].name, "gemma") ? 0x1p-22 : 0);
        require_same_tokens(&x, &y);
        vkt__language_close(&x);
        vkt__language_close(&y);
        vkt__arena_finish(&a);
    }
}

/* What the folder's tokenizer puts around a text goes into the file, and from it into another. */
static void what_is_around_texts_stays(void **state)
{
    (void)state;
    vkt__arena a = { 0 };
    make_folder_of(&a, "bos", models[0].config, models[0].tokenizer, 1);
    const char *file = in_dir(&a, "bos", "tokenizer.json");
    json_t *o = json_load_file(file, 0, NULL),
           *token = json_array_get(json_object_get(o, "added_tokens"), 0);
    uint32_t id = (uint32_t)json_integer_value(json_object_get(token, "id"));
    const char *name = json_string_value(json_object_get(token, "content"));
    json_object_set_new(o, "post_processor", vkt__around_part(name, id, name, id));
    assert_int_equal(json_dump_file(o, file, 0), 0);
    json_decref(o);
    REQUIRE_OK(vkt_export_gguf(DIR "/bos", DIR "/bos.gguf", VKT_EXPORT_F32));
    REQUIRE_OK(vkt_export_gguf(DIR "/bos.gguf", DIR "/bos2.gguf", VKT_EXPORT_F32));
    REQUIRE_OK(vkt_export_hf(DIR "/bos2.gguf", DIR "/bos-again", VKT_EXPORT_F32));
    static const char *const from[] = { DIR "/bos", DIR "/bos.gguf", DIR "/bos2.gguf",
                                        DIR "/bos-again" };
    for (size_t i = 0; i < VKT_COUNT(from); i++) {
        vkt__language l;
        REQUIRE_OK(vkt__language_open(from[i], &l));
        for (int behind = 0; behind < 2; behind++) {
            assert_int_equal(l.tokenizer->n_around[behind], 1);
            assert_int_equal(l.tokenizer->around[behind][0], id);
        }
        vkt__language_close(&l);
    }
    vkt__arena_finish(&a);
}

/* Llama 3's rule with other settings: the file has the divisors alone, which go into another file.
 */
static void divisors_go_from_file_to_file(void **state)
{
    (void)state;
    vkt__arena a = { 0 };
    vkt__language x, y;
    make_folder_of(&a, "divisors",
                   "{\"model_type\": \"llama\", " SIZES BYTE_LEVEL
                   "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, "
                   "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
                   "\"original_max_position_embeddings\": 32}}",
                   "llama3-small", 1);
    REQUIRE_OK(vkt_export_gguf(DIR "/divisors", DIR "/divisors.gguf", VKT_EXPORT_F32));
    REQUIRE_OK(vkt_export_gguf(DIR "/divisors.gguf", DIR "/again.gguf", VKT_EXPORT_F32));
    REQUIRE_OK(vkt__language_open(DIR "/divisors.gguf", &x));
    REQUIRE_OK(vkt__language_open(DIR "/again.gguf", &y));
    assert_int_equal(x.config.scaling.kind, VKT_ROPE_LONGROPE);
    require_same_model(&x, &y, 0);
    vkt__language_close(&x);
    vkt__language_close(&y);
    /* Two lists are Phi-3's. */
    make_folder_of(
        &a, "two-lists",
        "{\"model_type\": \"llama\", " SIZES BYTE_LEVEL
        "\"rope_scaling\": {\"rope_type\": \"longrope\", \"attention_factor\": 1.0, "
        "\"short_factor\": [1, 1, 1, 1, 1, 1, 1, 1], \"long_factor\": [1, 2, 3, 4, 5, 6, "
        "7, 8], \"original_max_position_embeddings\": 64}}",
        "llama3-small", 1);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_gguf(DIR "/two-lists", DIR "/two.gguf", VKT_EXPORT_F32), VKT_E_ARG);
    REQUIRE_LOGGED("rope_scaling: longrope");
    make_folder_of(&a, "yarn",
                   "{\"model_type\": \"llama\", " SIZES BYTE_LEVEL
                   "\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4.0, "
                   "\"original_max_position_embeddings\": 32}}",
                   "llama3-small", 1);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_gguf(DIR "/yarn", DIR "/yarn.gguf", VKT_EXPORT_F32), VKT_E_ARG);
    REQUIRE_LOGGED("yarn, is read from such a file, but not written");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    vkt__arena_finish(&a);
}

/* A folder of a mixture of experts has a tensor for each expert. Reading joins them again, and
 * names one that is missing. */
static void experts_are_apart_in_folders(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        { "\"model.layers.0.mlp.experts.4.up", "\"model.layers.0.mlp.experts.7.up",
          "has no tensor 'model.layers.0.mlp.experts.4.up_proj" },
        { "\"model.layers.0.mlp.experts.4.up", "\"model.layers.0.mlp.experts.x.up",
          "has no tensor 'model.layers.0.mlp.experts.4.up_proj" },
    };
    vkt__language x, y;
    char *text;
    size_t n;
    REQUIRE_OK(vkt_export_hf(DIR "/qwen3moe", DIR "/apart", VKT_EXPORT_F32));
    REQUIRE_OK(vkt__language_open(DIR "/qwen3moe", &x));
    REQUIRE_OK(vkt__language_open(DIR "/apart", &y));
    require_same_model(&x, &y, 0);
    vkt__language_close(&x);
    vkt__language_close(&y);
    REQUIRE_OK(vkt__file_read(DIR "/apart/model.safetensors", 1 << 24, &text, &n));
    for (size_t k = 0; k < VKT_COUNT(bad); k++) {
        size_t len = strlen(bad[k][0]), at = 0;
        while (at + len < n && memcmp(text + at, bad[k][0], len) != 0) at++;
        assert_true(at + len < n);
        memcpy(text + at, bad[k][1], len);
        REQUIRE_OK(vkt__file_replace(DIR "/apart/model.safetensors", text, n));
        memcpy(text + at, bad[k][0], len);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__language_open(DIR "/apart", &y), VKT_E_FORMAT);
        REQUIRE_LOGGED(bad[k][2]);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        vkt__language_close(&y);
    }
    free(text);
}

/* Numbers are within half a step of their type, q4_0's within a step, relative to a tensor's
 * largest. 4 bits keep the vocabulary's tables in 8, and rows of 96, too short for superblocks. */
static void types_are_near(void **state)
{
    (void)state;
    static const struct {
        vkt_export_type type;
        double limit;
    } rows[] = { { VKT_EXPORT_F16, 0x1p-11 },
                 { VKT_EXPORT_BF16, 0x1p-8 },
                 { VKT_EXPORT_Q8_0, 0.51 / 127 },
                 { VKT_EXPORT_Q4_0, 1.02 / 8 },
                 { VKT_EXPORT_Q4_K, 0.51 / 127 } };
    for (size_t k = 0; k < VKT_COUNT(rows); k++) {
        vkt__language x, y;
        if (rows[k].type == VKT_EXPORT_F16 || rows[k].type == VKT_EXPORT_BF16) {
            bool half = rows[k].type == VKT_EXPORT_F16;
            vkt__safetensors *f;
            REQUIRE_OK(vkt__remove_tree(DIR "/narrow"));
            REQUIRE_OK(vkt_export_hf(DIR "/qwen2", DIR "/narrow", rows[k].type));
            REQUIRE_OK(vkt__safetensors_open(DIR "/narrow/model.safetensors", &f));
            assert_string_equal(vkt__safetensors_tensor(f, 0)->dtype, half ? "F16" : "BF16");
            vkt__safetensors_close(&f);
            REQUIRE_OK(vkt__language_open(DIR "/qwen2", &x));
            REQUIRE_OK(vkt__language_open(DIR "/narrow", &y));
            y.config.dtype = x.config.dtype;
            require_same_model(&x, &y, rows[k].limit);
            vkt__language_close(&x);
            vkt__language_close(&y);
        }
        vkt__file_remove(DIR "/q.gguf");
        REQUIRE_OK(vkt_export_gguf(DIR "/qwen2", DIR "/q.gguf", rows[k].type));
        REQUIRE_OK(vkt__language_open(DIR "/qwen2", &x));
        REQUIRE_OK(vkt__language_open(DIR "/q.gguf", &y));
        require_same_model(&x, &y, rows[k].limit);
        vkt__language_close(&x);
        vkt__language_close(&y);
    }
}

/* A superblock's error, of numbers from -1 to 1: 16 steps of 2/15 between the ends of each 32. */
static void q4_k_is_near(void **state)
{
    (void)state;
    float x[256], y[256];
    unsigned char b[144];
    double sum = 0;
    for (uint32_t i = 0; i < 256; i++)
        x[i] = (i / 32 % 2 ? 0.25f : 1) * (float)(2 * vkt_rand_uniform(7, VKT_RNG_TEST, i) - 1);
    vkt__ggml_write(VKT__GGML_Q4_K, x, 256, b);
    vkt__ggml_read(VKT__GGML_Q4_K, b, 256, y);
    for (uint32_t i = 0; i < 256; i++) {
        double limit = (i / 32 % 2 ? 0.25 : 1) * (0.6 * 2 / 15) + 2 * 1.0 / 63 / 2;
        REQUIRE_NEAR((double)x[i], (double)y[i], limit);
        sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    }
    assert_true(sqrt(sum / 256) < 0.033); /* uniform rounding: 2/15 / sqrt 12 = 0.038 of the wide */
}

static void f16_has_an_end(void **state)
{
    (void)state;
    vkt__arena a = { 0 };
    REQUIRE_OK(vkt__remove_tree(DIR "/gpt2"));
    make_folder(&a, 0, 40000);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_gguf(DIR "/gpt2", DIR "/large.gguf", VKT_EXPORT_F16), VKT_E_ARG);
    REQUIRE_LOGGED("too large for f16");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_OK(vkt_export_gguf(DIR "/gpt2", DIR "/large.gguf", VKT_EXPORT_BF16));
    vkt__arena_finish(&a);
}

/* What llama.cpp has no place for, by name; nothing is left out of a file instead. */
static void what_gguf_has_not_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *config, *tokenizer, *line;
    } rows[] = {
        { "biases",
          "{\"model_type\": \"qwen3\", " SIZES BYTE_LEVEL
          "\"head_dim\": 32, \"attention_bias\": true}",
          "smollm2-small", "llama.cpp's qwen3 does not support attention_bias or mlp_bias" },
        { "uncapped",
          "{\"model_type\": \"gemma2\", " SIZES "\"vocab_size\": 759, \"head_dim\": 32, "
          "\"query_pre_attn_scalar\": 32, \"sliding_window\": 16, "
          "\"final_logit_softcapping\": null}",
          "spm-gemma", "llama.cpp's gemma2 does not support scores that are not capped" },
        { "scaled",
          "{\"model_type\": \"gemma2\", " SIZES "\"vocab_size\": 759, \"head_dim\": 32, "
          "\"query_pre_attn_scalar\": 33, \"sliding_window\": 16}",
          "spm-gemma", "llama.cpp's gemma2 does not support another scale of attention" },
        { "unigram", "{\"model_type\": \"llama\", " SIZES "\"vocab_size\": 2000}", "words-t5",
          "GGUF is not written with a tokenizer of kind unigram: --hf writes a folder" },
        { "wordpiece", "{\"model_type\": \"llama\", " SIZES "\"vocab_size\": 2000}", "words-bert",
          "GGUF is not written with a tokenizer of kind wordpiece" },
    };
    vkt__arena a = { 0 };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        make_folder_of(&a, rows[i].name, rows[i].config, rows[i].tokenizer, 0.1);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(
            vkt_export_gguf(in_dir(&a, rows[i].name, ""), DIR "/no.gguf", VKT_EXPORT_F32),
            VKT_E_ARG);
        REQUIRE_LOGGED(rows[i].line);
        assert_false(vkt__file_exists(DIR "/no.gguf"));
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    }
    vkt__arena_finish(&a);
}

/* A score says when a token is made: the n-th merge's is -n, and what none makes is below all. */
static void scores_say_the_order_of_merges(void **state)
{
    (void)state;
    vkt__gguf g;
    vkt__language l;
    REQUIRE_OK(vkt__gguf_open(DIR "/spm.gguf", &g));
    REQUIRE_OK(vkt__language_open(DIR "/spm", &l));
    const vkt__gguf_value *v = vkt__gguf_find(&g, "tokenizer.ggml.scores");
    const vkt_tokenizer *t = l.tokenizer;
    float score, least = 0;
    assert_non_null(v);
    for (uint32_t id = 0; id < t->info.n_vocab; id++) {
        memcpy(&score, (const char *)v->data + 4 * id, sizeof score);
        least = fminf(least, score);
        uint32_t first = UINT32_MAX;
        for (uint32_t i = t->info.n_merges; i-- > 0;)
            if (t->merge[i].id == id) first = i;
        if (first != UINT32_MAX) assert_true(score == -(float)first);
    }
    assert_true(least == -(float)t->info.n_merges - 1);
    /* A tensor is found by its whole name. */
    vkt__weights_file *f;
    size_t at;
    REQUIRE_OK(vkt__weights_file_open(DIR "/spm.gguf", &f));
    assert_true(vkt__weights_file_find(f, "model.norm.weight", &at));
    assert_string_equal(vkt__weights_file_tensor(f, at)->name, "model.norm.weight");
    assert_false(vkt__weights_file_find(f, "model.norm.weight2", &at));
    assert_false(vkt__weights_file_find(f, "model.norm", &at));
    vkt__weights_file_close(&f);
    vkt__language_close(&l);
    vkt__gguf_close(&g);
}

/* llama.cpp's OLMoE has one norm for queries and for keys, as long. */
static void olmoe_shares_no_keys(void **state)
{
    (void)state;
    char *text;
    size_t n;
    static const char four[] = "\"num_key_value_heads\": 4";
    vkt__arena a = { 0 };
    size_t k = VKT_COUNT(models) - 1;
    assert_string_equal(models[k].name, "olmoe");
    REQUIRE_OK(vkt__file_read(DIR "/olmoe/config.json", 1 << 20, &text, &n));
    char *at = strstr(text, four);
    assert_non_null(at);
    at[sizeof four - 2] = '2';
    make_folder_of(&a, "olmoe2", text, models[k].tokenizer, 0.1);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_gguf(DIR "/olmoe2", DIR "/olmoe2.gguf", VKT_EXPORT_F32), VKT_E_ARG);
    REQUIRE_LOGGED("llama.cpp's olmoe does not support fewer kv_heads than heads");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    vkt__arena_finish(&a);
    free(text);
}

/* ---- blocks ---- */

/* Sums of what ggml 0.27's dequantize_row_* make of two blocks of these bytes. */
static void blocks_are_ggmls(void **state)
{
    (void)state;
    static const struct {
        uint32_t type, n, bytes;
        int halves[2]; /* where f16 numbers lie; their exponents are set */
        double sum, weighted;
    } rows[] = {
        { VKT__GGML_Q4_0, 32, 18, { 0, -1 }, 12.19091796875, 697.49609375 },
        { VKT__GGML_Q4_1, 32, 20, { 0, 2 }, 195.662841796875, 6764.054931640625 },
        { VKT__GGML_Q5_0, 32, 22, { 0, -1 }, -25.8671875, -279.63232421875 },
        { VKT__GGML_Q5_1, 32, 24, { 0, 2 }, 12.964111328125, -4865.6142578125 },
        { VKT__GGML_Q8_0, 32, 34, { 0, -1 }, -178.795166015625, -3756.849853515625 },
        { VKT__GGML_Q4_K, 256, 144, { 0, 2 }, 48163.6923828125, 14406663.564453125 },
        { VKT__GGML_Q5_K, 256, 176, { 0, 2 }, -12403.123046875, -14332209.956054688 },
        { VKT__GGML_Q6_K, 256, 210, { 208, -1 }, -22739.4150390625, -2548620.2133789062 },
    };
    for (size_t k = 0; k < VKT_COUNT(rows); k++) {
        unsigned char b[2 * 210];
        float x[512];
        uint32_t s = 1;
        double sum = 0, weighted = 0;
        for (uint32_t i = 0; i < 2 * rows[k].bytes; i++) {
            s = s * 1664525u + 1013904223u;
            b[i] = (unsigned char)(s >> 24);
        }
        for (uint32_t i = 0; i < 4; i++) {
            int at = rows[k].halves[i % 2];
            unsigned char *high = &b[i / 2 * rows[k].bytes + (uint32_t)(at < 0 ? 0 : at) + 1];
            if (at >= 0) *high = (unsigned char)((*high & 0x83) | 0x34);
        }
        vkt__ggml_read(rows[k].type, b, 2 * (uint64_t)rows[k].n, x);
        for (uint32_t i = 0; i < 2 * rows[k].n; i++) {
            sum += (double)x[i];
            weighted += (double)x[i] * (i + 1);
        }
        REQUIRE_NEAR(sum, rows[k].sum, 1e-10 * fabs(rows[k].sum));
        REQUIRE_NEAR(weighted, rows[k].weighted, 1e-10 * fabs(rows[k].weighted));
    }
}

/* ---- refusals ---- */

/* The file with the first `from` behind `after` made `to`, of the same length. */
static void patch(const char *file, const char *after, const char *from, const char *to)
{
    char *text, *at = NULL;
    size_t n, len = strlen(from);
    REQUIRE_OK(vkt__file_read(file, 1 << 24, &text, &n));
    for (size_t i = 0; i + len <= n && !at; i++)
        if (!memcmp(text + i, *after ? after : from, strlen(*after ? after : from))) at = text + i;
    assert_non_null(at);
    while (memcmp(at, from, len) != 0) at++;
    memcpy(at, to, len);
    REQUIRE_OK(vkt__file_replace(DIR "/bad.gguf", text, n));
    free(text);
}

static void what_is_not_understood_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *after, *from, *to, *says;
    } cases[] = {
        { "", "llama.block_count", "llama.block_cuont", "llama.block_cuont is not supported" },
        { "general.architecture", "llama", "lxama", "architecture 'lxama' is not supported; gpt2" },
        { "", "llama.attention.value_length", "llama.attention.value_lengtx",
          "llama.attention.value_lengtx is not supported" },
        { "tokenizer.ggml.model", "gpt2", "bert", "tokenizer.ggml.model is another" },
        { "tokenizer.ggml.pre", "llama-bpe", "llama-bqe", "tokenizer.ggml.pre names a way" },
        { "", "output_norm.weight", "output_nxrm.weight",
          "bad.gguf' has no tensor 'model.norm.weight'" },
        { "", "blk.1.attn_q.weight", "blk.1.attn_Q.weight", "self_attn.q_proj.weight'" },
        { "", "blk.1.attn_q.weight", "blk.1xattn_q.weight", "self_attn.q_proj.weight'" },
        { "", "blk.1.attn_q.weight", "blk..1attn_q.weight", "self_attn.q_proj.weight'" },
    };
    for (size_t k = 0; k < VKT_COUNT(cases); k++) {
        vkt__language l;
        patch(DIR "/llama.gguf", cases[k].after, cases[k].from, cases[k].to);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__language_open(DIR "/bad.gguf", &l), VKT_E_FORMAT);
        REQUIRE_LOGGED(cases[k].says);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        vkt__language_close(&l);
    }
}

/* A type of tensor by its number in ggml.h; an end of text that is no token, which is left out. */
static void numbers_of_no_use_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t skip; /* a tensor's rank and one dimension; a value's type */
        unsigned char low, high;
        vkt_status st;
        const char *says;
    } cases[] = {
        { "output_norm.weight", 4 + 8, 16, 0, VKT_E_FORMAT,
          "tensor 'output_norm.weight' is of type 16, which is not read: F32, F16" },
        { "llama.attention.head_count", 4, 0, 0, VKT_E_FORMAT, "attention.head_count is missing" },
        { "tokenizer.ggml.bos_token_id", 4, 0, 255, VKT_OK,
          "tokenizer.ggml.bos_token_id is 65280, but there are 703 tokens: it is left out" },
    };
    for (size_t k = 0; k < VKT_COUNT(cases); k++) {
        char *data;
        size_t n, at = 0, len = strlen(cases[k].name);
        vkt__language l;
        REQUIRE_OK(vkt__file_read(DIR "/llama3.gguf", 1 << 24, &data, &n));
        while (at + len < n && memcmp(data + at, cases[k].name, len) != 0) at++;
        assert_true(at + len < n);
        at += len + cases[k].skip;
        data[at] = (char)cases[k].low;
        data[at + 1] = (char)cases[k].high;
        REQUIRE_OK(vkt__file_replace(DIR "/bad.gguf", data, n));
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__language_open(DIR "/bad.gguf", &l), cases[k].st);
        REQUIRE_LOGGED(cases[k].says);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        vkt__language_close(&l);
        free(data);
    }
}

/* Cut at any place, or with any byte another: one line, or a model that can be read. */
static void damage_is_refused(void **state)
{
    (void)state;
    char *data;
    size_t n;
    REQUIRE_OK(vkt__file_read(DIR "/llama.gguf", 1 << 24, &data, &n));
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_ERROR);
    for (size_t i = 0; i < 40000; i += i < 1500 ? 1 : 211) {
        vkt__gguf g;
        char *json = NULL, was = data[i];
        data[i] = (char)(i % 2 ? 255 : data[i] ^ 1);
        if (vkt__gguf_take(data, n, "x", &g) == VKT_OK) {
            vkt__hf_config c;
            if (vkt__gguf_config(&g, &json) == VKT_OK)
                vkt__hf_config_parse(json, strlen(json), "x", &c);
        }
        vkt__gguf_close(&g);
        free(json);
        data[i] = was;
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_its_folder),
        cmocka_unit_test(what_is_around_texts_stays),
        cmocka_unit_test(divisors_go_from_file_to_file),
        cmocka_unit_test(experts_are_apart_in_folders),
        cmocka_unit_test(types_are_near),
        cmocka_unit_test(q4_k_is_near),
        cmocka_unit_test(f16_has_an_end),
        cmocka_unit_test(what_gguf_has_not_is_refused),
        cmocka_unit_test(scores_say_the_order_of_merges),
        cmocka_unit_test(olmoe_shares_no_keys),
        cmocka_unit_test(blocks_are_ggmls),
        cmocka_unit_test(what_is_not_understood_is_named),
        cmocka_unit_test(numbers_of_no_use_are_told),
        cmocka_unit_test(damage_is_refused),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("gguf base", tests, setup, teardown);
}
