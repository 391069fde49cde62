/* A frozen base of a GGUF file, kept in the file's own types (lora.base: file): its numbers are the
 * file's, training is what it is on the same numbers in f32, and memory is what the types take. */
#include "recipe_run.h"

#include <math.h>

#include "base/quant.h"
#include "formats/ggml_blocks.h"
#include "models/gguf/gguf_model.h"
#include "vktrain/models.h"

#define DIR "test_gguf_kept_tmp"

static int setup(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    vkt_train_result r;
    vkt_train_desc desc = { .run_dir = DIR "/base" };
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (int i = 0; i < 200; i++)
        vkt__str_printf(&text, "%d times %d is %d.\n", i % 7, i % 11, i % 7 * (i % 11));
    REQUIRE_OK(vkt__file_replace(DIR "/text.txt", text.data, text.len));
    vkt__str_finish(&text);
    REQUIRE_OK(train_recipe("data: {source: text, path: " DIR "/text.txt, tokenizer: bytes, "
                            "context: 16, valid_fraction: 0.2, test_fraction: 0}\n"
                            "model: [{transformer: {layers: 1, heads: 2, width: 256, mlp: 256, "
                            "names: llama, positions: rope, norm: rmsnorm, activation: swiglu, "
                            "bias: false}}]\n"
                            "optim: {rule: adamw, lr: 0.002}\ntrain: {steps: 4, batch: 4}\n",
                            NULL, &desc, &r));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

/* Takes any bytes, except NaN as scales; the blocks begin behind FIRST numbers. */
static void words_are_the_blocks_numbers(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        int halves[2], every; /* where f16 numbers lie, in blocks of how many bytes */
    } rows[] = { { VKT__GGML_F16, { 0, -1 }, 2 },   { VKT__GGML_BF16, { 0, -1 }, 2 },
                 { VKT__GGML_Q8_0, { 0, -1 }, 34 }, { VKT__GGML_Q4_0, { 0, -1 }, 18 },
                 { VKT__GGML_Q4_K, { 0, 2 }, 144 }, { VKT__GGML_Q6_K, { 208, -1 }, 210 } };
    enum { N = 1024, FIRST = 256 };
    for (size_t k = 0; k < VKT_COUNT(rows); k++) {
        unsigned char b[N * 2];
        uint32_t words[N / 2 + FIRST / 2] = { 0 };
        float want[N], got[N];
        vkt_quant kind = vkt__ggml_kept(rows[k].type);
        for (uint32_t i = 0; i < sizeof b; i++)
            b[i] = (unsigned char)vkt_rand_u32(5, VKT_RNG_TEST, i);
        for (uint32_t i = 0; i < sizeof b / (uint32_t)rows[k].every; i++)
            for (int j = 0; j < 2; j++)
                if (rows[k].halves[j] >= 0) {
                    unsigned char *high =
                        &b[i * (uint32_t)rows[k].every + (uint32_t)rows[k].halves[j] + 1];
                    *high = (unsigned char)((*high & 0x83) | 0x34);
                }
        vkt__ggml_read(rows[k].type, b, N, want);
        vkt__ggml_keep(rows[k].type, b, N / 2, FIRST, words);
        vkt__ggml_keep(rows[k].type, b + vkt__ggml_bytes(rows[k].type, N / 2), N / 2, FIRST + N / 2,
                       words);
        vkt__dequantize(kind, words, FIRST, N, got);
        assert_memory_equal(got, want, sizeof want);
    }
    assert_int_equal(vkt__ggml_kept(VKT__GGML_Q5_K), VKT_QUANT_AUTO);
    assert_int_equal(vkt__ggml_kept(VKT__GGML_F32), VKT_QUANT_AUTO);
}

/* Rows of queries and keys lie otherwise in the file. */
static void tensors_are_the_file_s(void **state)
{
    (void)state;
    static const vkt_export_type types[] = { VKT_EXPORT_Q4_K, VKT_EXPORT_Q4_0, VKT_EXPORT_Q8_0,
                                             VKT_EXPORT_F16, VKT_EXPORT_BF16 };
    for (size_t k = 0; k < VKT_COUNT(types); k++) {
        vkt__gguf_weights *w;
        vkt_lora lora = { .rank = 1 };
        vkt__arena a = { 0 };
        const vkt_tensor_info *t;
        size_t n_kept = 0;
        REQUIRE_OK(vkt_export_gguf(DIR "/base", DIR "/m.gguf", types[k]));
        REQUIRE_OK(vkt__gguf_weights_open(DIR "/m.gguf", &w));
        REQUIRE_OK(vkt__gguf_base_kinds(DIR "/m.gguf", &a, &lora));
        for (size_t i = 0; (t = vkt__gguf_weights_tensor(w, i)); i++) {
            assert_string_equal(lora.base_kinds[i].name, t->name);
            vkt_quant kind = lora.base_kinds[i].kind;
            if (kind == VKT_QUANT_F32) continue;
            uint64_t n = t->shape[0] * t->shape[1];
            float *want = vkt__alloc(n * sizeof *want), *got = vkt__alloc(n * sizeof *got);
            uint32_t *words = vkt__alloc(vkt__quant_words(kind, n) * sizeof *words);
            bool done;
            REQUIRE_OK(vkt__gguf_weights_read(w, i, want));
            REQUIRE_OK(vkt__gguf_base_words(DIR "/m.gguf", t->name, kind, words, &done));
            assert_true(done);
            vkt__dequantize(kind, words, 0, n, got);
            assert_memory_equal(got, want, n * sizeof *want);
            n_kept++;
            free(want);
            free(got);
            free(words);
        }
        assert_int_equal(n_kept, 8); /* seven projections and the table */
        vkt__gguf_weights_close(&w);
        vkt__arena_finish(&a);
        REQUIRE_OK(vkt__remove_tree(DIR "/m.gguf"));
    }
}

static void tune(const char *base, const char *dir, vkt_train_result *r)
{
    vkt__str recipe = { 0 };
    vkt_train_desc desc = { .run_dir = dir };
    vkt__str_printf(&recipe,
                    "data: {source: text, path: " DIR "/text.txt, context: 16, valid_fraction: "
                    "0.2, test_fraction: 0}\ninit: " DIR "/m.gguf\nlora: {rank: 2, targets: "
                    "all-linear, base: %s}\noptim: {rule: adamw, lr: 0.01}\ntrain: {steps: 6, "
                    "batch: 4}\neval: {every: 3}\n",
                    base);
    REQUIRE_OK(train_recipe(recipe.data, NULL, &desc, r));
    vkt__str_finish(&recipe);
}

/* Losses of means over some hundred tokens, by kernels that add in other orders: 1e-5 of them,
 * where a base in NF4 moves them by more. The evaluation reads the file's own numbers. */
static void it_trains_as_the_same_numbers(void **state)
{
    (void)state;
    vkt_train_result plain, kept, other;
    vkt_eval_result e;
    REQUIRE_OK(vkt_export_gguf(DIR "/base", DIR "/m.gguf", VKT_EXPORT_Q4_K));
    tune("f32", DIR "/plain", &plain);
    tune("file", DIR "/kept", &kept);
    tune("nf4", DIR "/other", &other);
    REQUIRE_NEAR(kept.valid_loss, plain.valid_loss, 1e-5 * plain.valid_loss);
    assert_true(fabs(other.valid_loss - plain.valid_loss) > 1e-4 * plain.valid_loss);
    REQUIRE_OK(
        vkt_eval(&(vkt_eval_desc) { .checkpoint = DIR "/kept", .split = VKT_SPLIT_VALID }, &e));
    REQUIRE_NEAR(e.loss, kept.valid_loss, 1e-5 * e.loss);
    vkt_eval_result_finish(&e);
}

static void only_of_gguf_files(void **state)
{
    (void)state;
    vkt_train_result r;
    vkt_train_desc desc = { .run_dir = DIR "/no" };
    REQUIRE_STATUS(train_recipe("data: {source: text, path: " DIR "/text.txt, context: 16}\n"
                                "init: " DIR "/base\nlora: {rank: 2, base: file}\n",
                                NULL, &desc, &r),
                   VKT_E_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_the_blocks_numbers),
        cmocka_unit_test(tensors_are_the_file_s),
        cmocka_unit_test(it_trains_as_the_same_numbers),
        cmocka_unit_test(only_of_gguf_files),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
