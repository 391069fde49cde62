/* GGUF: what is written is read back, with the rows and columns where llama.cpp looks for them;
 * what is damaged is refused. */
#include "recipe_run.h"

#include "formats/gguf.h"
#include "base/half.h"
#include "formats/safetensors.h"
#include "runs/checkpoint_set.h"

#define DIR "test_gguf_tmp"
#define TEXT "data: {source: text, path: " DIR "/text.txt, tokenizer: bytes, context: 16}\n"
#define TRAIN "train: {steps: 1, batch: 2}\n"

static void train(const char *model, const char *dir)
{
    vkt_train_result r;
    vkt__str recipe = { 0 };
    vkt__str_printf(&recipe, TEXT TRAIN "model: [{transformer: {%s}}]\n", model);
    REQUIRE_OK(train_recipe(recipe.data, NULL, &(vkt_train_desc) { .run_dir = dir }, &r));
    vkt__str_finish(&recipe);
}

static int setup(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    for (int i = 0; i < 60; i++) vkt__str_printf(&text, "line %d of a text\n\n", i);
    REQUIRE_OK(vkt__file_replace(DIR "/text.txt", text.data, text.len));
    vkt__str_finish(&text);
    /* Norms of 48 bytes, so that tensors do not lie in place without padding. */
    train("layers: 1, heads: 1, width: 12", DIR "/gpt2");
    train(
        "layers: 1, heads: 4, kv_heads: 2, width: 32, norm: rmsnorm, positions: rope, activation: "
        "swiglu, all_bias: true",
        DIR "/llama");
    train(
        "layers: 1, heads: 2, width: 16, head_dim: 16, norm: rmsnorm, positions: rope, activation: "
        "swiglu, rope_scaling: llama3, rope_factor: 8, rope_context: 64",
        DIR "/llama3");
    train(
        "layers: 1, heads: 2, width: 16, head_dim: 16, norm: rmsnorm, positions: rope, activation: "
        "swiglu, rope_scaling: linear, rope_factor: 2, qk_norm: true",
        DIR "/qwen3");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

typedef struct {
    const char *name; /* searched for */
    uint64_t at, end; /* of it; of all before */
    vkt_tensor_info t;
    char dtype[8];
    vkt__str values;
} found;

static void on_value(void *user, const char *key, const char *value)
{
    vkt__str_printf(&((found *)user)->values, "%s=%s\n", key, value);
}

static void on_tensor(void *user, const vkt_tensor_info *t)
{
    found *f = user;
    if (!strcmp(t->name, f->name)) {
        f->t = *t;
        f->at = f->end;
        snprintf(f->dtype, sizeof f->dtype, "%s", t->dtype);
    }
    f->end += vkt__align(t->bytes, VKT__GGUF_ALIGN);
}

/* The tensor's bytes: data lies at the file's end. */
static void *read_tensor(const char *path, found *f)
{
    char *data;
    size_t n;
    vkt_gguf_visitor v = { on_value, on_tensor, f };
    f->end = 0;
    f->t.bytes = 0;
    REQUIRE_OK(vkt_gguf_list(path, &v));
    assert_int_not_equal(f->t.bytes, 0);
    REQUIRE_OK(vkt__file_read(path, 1 << 26, &data, &n));
    assert_true(f->end < n);
    memmove(data, data + (n - f->end) + f->at, f->t.bytes);
    return data;
}

static float *trained(const char *run, const char *name)
{
    vkt__safetensors *f;
    size_t at;
    char path[256];
    REQUIRE_OK(vkt__checkpoint_find(run, path, sizeof path));
    strcat(path, "/model.safetensors");
    REQUIRE_OK(vkt__safetensors_open(path, &f));
    assert_true(vkt__safetensors_find(f, name, &at));
    float *data = malloc(vkt__safetensors_tensor(f, at)->bytes);
    REQUIRE_OK(vkt__safetensors_read_f32(f, at, data));
    vkt__safetensors_close(&f);
    return data;
}

static void gpt2_is_transposed(void **state)
{
    (void)state;
    found f = { .name = "blk.0.attn_qkv.weight" };
    REQUIRE_OK(vkt_export_gguf(DIR "/gpt2", DIR "/gpt2.gguf", VKT_EXPORT_F32));
    float *got = read_tensor(DIR "/gpt2.gguf", &f),
          *want = trained(DIR "/gpt2", "transformer.h.0.attn.c_attn.weight"); /* [12, 36] */
    assert_true(f.t.rank == 2 && f.t.shape[0] == 36 && f.t.shape[1] == 12);
    for (size_t o = 0; o < 36; o++)
        for (size_t i = 0; i < 12; i++) assert_true(got[o * 12 + i] == want[i * 36 + o]);
    assert_non_null(strstr(f.values.data, "general.architecture=gpt2\n"));
    assert_non_null(strstr(f.values.data, "gpt2.context_length=16\n"));
    assert_non_null(strstr(f.values.data, "tokenizer.ggml.model=gpt2\n"));
    assert_non_null(strstr(f.values.data, "tokenizer.ggml.tokens=257: "));
    assert_non_null(strstr(f.values.data, "tokenizer.ggml.eos_token_id=256\n"));
    free(got);
    free(want);
    vkt__str_finish(&f.values);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_gguf(DIR "/gpt2", DIR "/gpt2.gguf", VKT_EXPORT_F32), VKT_E_ARG);
    REQUIRE_LOGGED("already exists");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void write_text(const char *path, const char *text)
{
    REQUIRE_OK(vkt_file_write(path, text, strlen(text)));
}

/* An export takes the place of one that is there, and of nothing else. */
static void an_export_replaces_one(void **state)
{
    (void)state;
    write_text(DIR "/over.gguf", "old");
    write_text(DIR "/over.new", "new");
    REQUIRE_OK(vkt_export_replace(NULL, DIR "/over.gguf"));
    REQUIRE_OK(vkt_export_replace(DIR "/over.new", DIR "/over.gguf"));
    assert_false(vkt__file_exists(DIR "/over.new"));
    assert_int_equal(vkt__file_size(DIR "/over.gguf"), 3);
    REQUIRE_OK(vkt__mkdirs(DIR "/over"));
    REQUIRE_OK(vkt__mkdirs(DIR "/fresh"));
    write_text(DIR "/over/model-00001-of-00002.safetensors", "");
    write_text(DIR "/fresh/config.json", "{}");
    REQUIRE_OK(vkt_export_replace(DIR "/fresh", DIR "/over"));
    assert_true(vkt__file_exists(DIR "/over/config.json"));
    assert_false(vkt__file_exists(DIR "/over/model-00001-of-00002.safetensors"));
    write_text(DIR "/over/notes.txt", "");
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_replace(NULL, DIR "/over"), VKT_E_ARG);
    REQUIRE_LOGGED("holds 'notes.txt', which no export writes");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* In a head of 8 rows, llama.cpp's rows 0, 1, 2, ... are Hugging Face's 0, 4, 1, 5, ... */
static void llama_turns_neighbours(void **state)
{
    (void)state;
    found f = { .name = "blk.0.attn_k.weight" }, b = { .name = "blk.0.attn_k.bias" },
          v = { .name = "blk.0.attn_v.weight" };
    REQUIRE_OK(vkt_export_gguf(DIR "/llama", DIR "/llama.gguf", VKT_EXPORT_F16));
    uint16_t *got = read_tensor(DIR "/llama.gguf", &f);
    float *bias = read_tensor(DIR "/llama.gguf", &b);
    float *want = trained(DIR "/llama", "model.layers.0.self_attn.k_proj.weight"),
          *want_bias = trained(DIR "/llama", "model.layers.0.self_attn.k_proj.bias");
    assert_string_equal(f.dtype, "F16");
    assert_string_equal(b.dtype, "F32");
    for (size_t r = 0; r < 16; r++) {
        size_t from = r / 8 * 8 + r % 8 / 2 + r % 2 * 4;
        assert_true(bias[r] == want_bias[from]);
        for (size_t c = 0; c < 32; c++)
            assert_int_equal(got[r * 32 + c], vkt__to_f16(want[from * 32 + c]));
    }
    free(got);
    free(want);
    got = read_tensor(DIR "/llama.gguf", &v);
    want = trained(DIR "/llama", "model.layers.0.self_attn.v_proj.weight");
    for (size_t i = 0; i < 16 * 32; i++) assert_int_equal(got[i], vkt__to_f16(want[i]));
    free(got);
    free(want);
    free(bias);
    free(want_bias);
    vkt__str_finish(&f.values);
    vkt__str_finish(&b.values);
    vkt__str_finish(&v.values);
}

/* 64 positions: waves of 6 stay, of 20 to 63 are between, longer ones are stretched by 8. */
static void llama3_has_factors_of_frequencies(void **state)
{
    (void)state;
    found f = { .name = "rope_freqs.weight" };
    REQUIRE_OK(vkt_export_gguf(DIR "/llama3", DIR "/llama3.gguf", VKT_EXPORT_F16));
    float *got = read_tensor(DIR "/llama3.gguf", &f);
    assert_true(f.t.rank == 1 && f.t.shape[0] == 8);
    assert_string_equal(f.dtype, "F32");
    for (int i = 0; i < 8; i++) {
        double wave = 2 * 3.14159265358979 * pow(10000, i / 8.0), smooth = (64 / wave - 1) / 3;
        double want = wave < 16 ? 1 : wave > 64 ? 8 : 1 / ((1 - smooth) / 8 + smooth);
        REQUIRE_NEAR(got[i], want, 1e-6 * want);
    }
    assert_non_null(strstr(f.values.data, "llama.attention.key_length=16\n"));
    assert_non_null(strstr(f.values.data, "llama.rope.dimension_count=16\n"));
    free(got);
    vkt__str_finish(&f.values);
}

static void qwen3_has_norms_of_heads(void **state)
{
    (void)state;
    found f = { .name = "blk.0.attn_k_norm.weight" }, q = { .name = "blk.0.attn_q.weight" };
    REQUIRE_OK(vkt_export_gguf(DIR "/qwen3", DIR "/qwen3.gguf", VKT_EXPORT_F32));
    float *norm = read_tensor(DIR "/qwen3.gguf", &f), *got = read_tensor(DIR "/qwen3.gguf", &q),
          *want_norm = trained(DIR "/qwen3", "model.layers.0.self_attn.k_norm.weight"),
          *want = trained(DIR "/qwen3", "model.layers.0.self_attn.q_proj.weight");
    assert_true(f.t.rank == 1 && f.t.shape[0] == 16);
    assert_memory_equal(norm, want_norm, 16 * 4);
    assert_memory_equal(got, want, 32 * 16 * 4); /* halves are rotated there, too */
    assert_non_null(strstr(f.values.data, "general.architecture=qwen3\n"));
    assert_non_null(strstr(f.values.data, "qwen3.attention.key_length=16\n"));
    assert_non_null(strstr(f.values.data, "qwen3.rope.scaling.type=linear\n"));
    assert_non_null(strstr(f.values.data, "qwen3.rope.scaling.factor=2\n"));
    free(norm);
    free(got);
    free(want_norm);
    free(want);
    vkt__str_finish(&f.values);
    vkt__str_finish(&q.values);
}

/* Rows of queries and keys as in the weights that the adapter is added to; alpha / rank as trained.
 */
static void an_adapter_is_turned_as_its_base(void **state)
{
    (void)state;
    vkt_train_result r;
    vkt__gguf g;
    REQUIRE_OK(train_recipe(TEXT TRAIN "init: " DIR "/llama\n"
                                       "lora: {rank: 2, alpha: 6, targets: 'q_proj, k_proj, "
                                       "down_proj'}\noptim: {lr: 0.1}\n",
                            NULL, &(vkt_train_desc) { .run_dir = DIR "/adapter" }, &r));
    REQUIRE_OK(vkt_export_adapter_gguf(DIR "/adapter", DIR "/adapter.gguf"));
    REQUIRE_OK(vkt__gguf_open(DIR "/adapter.gguf", &g));
    assert_int_equal(g.n_tensors, 6);
    REQUIRE_NEAR(vkt__gguf_number(vkt__gguf_find(&g, "adapter.lora.alpha"), 0), 6, 1e-6);
    const vkt__gguf_tensor *a = vkt__gguf_tensor_find(&g, "blk.0.attn_k.weight.lora_a"),
                           *b = vkt__gguf_tensor_find(&g, "blk.0.attn_k.weight.lora_b"),
                           *d = vkt__gguf_tensor_find(&g, "blk.0.ffn_down.weight.lora_b");
    assert_true(a && b && d && a->info.shape[0] == 2 && a->info.shape[1] == 32 &&
                b->info.shape[0] == 16 && b->info.shape[1] == 2);
    float *want_a = trained(DIR "/adapter", "model.layers.0.self_attn.k_proj.lora_A.weight"),
          *want_b = trained(DIR "/adapter", "model.layers.0.self_attn.k_proj.lora_B.weight"),
          *want_d = trained(DIR "/adapter", "model.layers.0.mlp.down_proj.lora_B.weight");
    assert_memory_equal(a->data, want_a, a->info.bytes);
    assert_memory_equal(d->data, want_d, d->info.bytes);
    for (size_t row = 0; row < 16; row++) {
        size_t from = row / 8 * 8 + row % 8 / 2 + row % 2 * 4;
        assert_memory_equal(b->data + row * 8, want_b + from * 2, 8);
    }
    assert_memory_not_equal(want_b, want_b + 2, 8); /* rows differ: training has moved them */
    vkt__gguf_close(&g);
    free(want_a);
    free(want_b);
    free(want_d);
    REQUIRE_OK(train_recipe(TEXT TRAIN "init: " DIR "/llama\n"
                                       "lora: {rank: 2, targets: 'q_proj, down_proj', "
                                       "alpha_pattern: {down_proj: 5}}\n",
                            NULL, &(vkt_train_desc) { .run_dir = DIR "/alphas" }, &r));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export_adapter_gguf(DIR "/llama", DIR "/none.gguf"), VKT_E_ARG);
    REQUIRE_LOGGED("trained no adapter");
    REQUIRE_STATUS(vkt_export_adapter_gguf(DIR "/alphas", DIR "/none.gguf"), VKT_E_ARG);
    REQUIRE_LOGGED("alphas by layer");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* Cut at every length, and with every byte of the header set to 255: one line, or a header that
 * still holds together; never more. */
static void damage_is_refused(void **state)
{
    (void)state;
    char *data;
    size_t n, refused = 0;
    vkt_gguf_visitor none = { 0 };
    REQUIRE_OK(vkt__file_read(DIR "/gpt2.gguf", 1 << 26, &data, &n));
    REQUIRE_OK(vkt__gguf_parse(data, n, "x", &none));
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_ERROR);
    for (size_t i = 0; i < n; i += i < 4096 ? 1 : 997) {
        test_log[0] = 0;
        char *cut = malloc(i + 1); /* of its own length, so that reading past it is seen */
        memcpy(cut, data, i);
        REQUIRE_STATUS(vkt__gguf_parse(cut, i, "x", &none), VKT_E_FORMAT);
        free(cut);
        assert_ptr_equal(strchr(test_log, '\n') + 1, test_log + strlen(test_log));
    }
    for (size_t i = 0; i < 4096; i++) {
        char was = data[i];
        data[i] = (char)255;
        test_log[0] = 0;
        refused += vkt__gguf_parse(data, n, "x", &none) != VKT_OK;
        data[i] = was;
    }
    assert_true(refused > 500);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    free(data);
}

static void halves_round_to_even(void **state)
{
    (void)state;
    static const struct {
        float from;
        uint16_t f16, bf16;
    } cases[] = { { 1, 0x3C00, 0x3F80 },
                  { -0.0f, 0x8000, 0x8000 },
                  { 65504, 0x7BFF, 0x4780 },
                  { 65519.996f, 0x7BFF, 0x4780 },
                  { 65520, 0x7C00, 0x4780 },
                  { 1 + 0x1p-11f, 0x3C00, 0x3F80 },    /* between two: the even one */
                  { 1 + 0x3p-11f, 0x3C02, 0x3F80 },    /* and upwards */
                  { 1 + 0x3p-8f, 0x3C0C, 0x3F82 },     /* bf16's */
                  { 0x1p-24f, 0x0001, 0x3380 },        /* the least of f16 */
                  { 0x1p-25f, 0x0000, 0x3300 },        /* half of it */
                  { 0x1.000002p-25f, 0x0001, 0x3300 }, /* and a bit */
                  { 0x1.ff8p-15f, 0x03FF, 0x3880 },    /* below the normal range */
                  { INFINITY, 0x7C00, 0x7F80 },
                  { -3.4e38f, 0xFC00, 0xFF80 } };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        assert_int_equal(vkt__to_f16(cases[i].from), cases[i].f16);
        assert_int_equal(vkt__to_bf16(cases[i].from), cases[i].bf16);
    }
    for (uint32_t h = 0; h < 65536; h++) {
        float f = vkt__from_f16((uint16_t)h), b = vkt__from_bf16((uint16_t)h);
        assert_true(isnan(f) ? isnan(vkt__from_f16(vkt__to_f16(f))) : vkt__to_f16(f) == h);
        assert_true(isnan(b) ? isnan(vkt__from_bf16(vkt__to_bf16(b))) : vkt__to_bf16(b) == h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_round_to_even),
        cmocka_unit_test(an_export_replaces_one),
        cmocka_unit_test(gpt2_is_transposed),
        cmocka_unit_test(llama_turns_neighbours),
        cmocka_unit_test(llama3_has_factors_of_frequencies),
        cmocka_unit_test(qwen3_has_norms_of_heads),
        cmocka_unit_test(an_adapter_is_turned_as_its_base),
        cmocka_unit_test(damage_is_refused),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("gguf", tests, setup, teardown);
}
