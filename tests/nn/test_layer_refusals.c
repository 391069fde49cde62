/* nn: sizes and options of layers, of transformers and of adapters that can't be, one row each,
 * without a device. Words that are unknown, and the line of the recipe, are test_nn's. */
#include "testing.h"

#include "base/memory.h"
#include "nn/layer_set.h"
#include "vktrain/nn.h"

static const vkt_shape image = { 3, { 4, 4, 6 } }, flat = { 1, { 8 } }, tokens = { 2, { 5, 6 } };

static void refused(const vkt_model_desc *d, const char *words)
{
    vkt_model *m;
    TEST_LOG_CAPTURE();
    vkt_status st = vkt_model_create(NULL, d, &m);
    if ((st != VKT_E_ARG && st != VKT_E_SHAPE) || !strstr(test_log, words))
        print_error("wants '%s', has status %d: %s\n", words, (int)st, test_log);
    assert_true(st == VKT_E_ARG || st == VKT_E_SHAPE);
    REQUIRE_LOGGED(words);
    assert_null(m);
}

static void of_layers(void **state)
{
    (void)state;
    const struct {
        vkt_layer layer, next;
        vkt_shape in;
        const char *words;
    } rows[] = {
        { .layer = { .type = "linear" }, .in = { 1, { 0 } }, .words = "the input has no elements" },
        { .layer = { .type = "lin" }, .in = flat, .words = "no such layer type" },
        { .layer = { .type = "embed" },
          .in = flat,
          .words = "it must be the first layer, and data.embed" },
        { .layer = { .type = "sentence" }, .in = flat, .words = "and data.text name the column" },
        { .layer = { .type = "group_norm", .groups = 4 },
          .in = image,
          .words = "4 groups do not divide 6 channels" },
        { .layer = { .type = "group_norm" },
          .in = { 3, { 4, 4, 48 } },
          .words = "32 groups do not divide 48 channels" },
        { .layer = { .type = "bottleneck", .out = 6 },
          .in = image,
          .words = "6 output channels are not a multiple of 4" },
        { .layer = { .type = "tokens" }, .in = flat, .words = "the input must be an image" },
        { .layer = { .type = "convnext_block" },
          .in = flat,
          .words = "the input must be an image" },
        { .layer = { .type = "convnext_block", .kernel = 4 },
          .in = image,
          .words = "the filter's size must be odd, not 4" },
        { .layer = { .type = "class_token" },
          .in = flat,
          .words = "the input must be tokens, [T, C]" },
        { .layer = { .type = "vit_block" },
          .in = image,
          .words = "the input must be tokens, [T, C]" },
        { .layer = { .type = "vit_block", .heads = 4 },
          .in = tokens,
          .words = "4 heads share 6 channels" },
        { .layer = { .type = "transformer",
                     .transformer = { .layers = 1, .width = 8, .heads = 2 } },
          .next = { .type = "linear" },
          .in = flat,
          .words = "a transformer is the whole model: no other layers" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_layer layers[2] = { rows[i].layer, rows[i].next };
        refused(&(vkt_model_desc) { .layers = layers,
                                    .n_layers = rows[i].next.type ? 2 : 1,
                                    .input = rows[i].in,
                                    .n_outputs = 10 },
                rows[i].words);
    }
    const vkt_layer linear = { .type = "linear" };
    refused(
        &(vkt_model_desc) {
            .layers = &linear, .n_layers = 1, .input = flat, .n_outputs = 10, .embed_rows = 3 },
        "data.embed names columns: begin the model with `- embed: 16`");
}

#define SIZE .layers = 2, .heads = 2, .width = 16
#define LLAMA SIZE, .positions = "rope", .norm = "rmsnorm", .activation = "swiglu"
#define ROPE SIZE, .positions = "rope"

static void of_transformers(void **state)
{
    (void)state;
    static const struct {
        vkt_transformer t;
        const char *words;
        vkt_shape in; /* of no rank: tokens */
        uint32_t embed_rows;
    } rows[] = {
        { { .heads = 2, .width = 16 }, "layers, heads and width are needed" },
        { { SIZE }, "its input must be tokens: use text data", .in = { 3, { 4, 4, 1 } } },
        { { .layers = 1, .heads = 3, .width = 16 }, "width 16 must be 3 heads of a multiple of 4" },
        { { .layers = 1, .heads = 8, .width = 16 }, "width 16 must be 8 heads of a multiple of 4" },
        { { LLAMA, .kv_heads = 3 }, "2 heads can't share 3 kv_heads" },
        { { ROPE, .rotary = 10 }, "rotary: an even number up to the head's 8 is expected, not 10" },
        { { SIZE, .rotary = 4 }, "with positions: rope" },
        { { ROPE, .names = "gpt2" }, "names gpt2 have no place for rope" },
        { { SIZE, .names = "llama" }, "names llama have no place for learned positions" },
        { { SIZE, .activation = "swiglu", .names = "gpt2" },
          "have no place for a gated activation" },
        { { ROPE, .names = "phi3" }, "names phi3 have no place for an activation without a gate" },
        { { SIZE, .names = "gpt2", .qk_norm = true }, "no place for qk_norm or qk_norm_all" },
        { { SIZE, .names = "gpt2", .qkv_bias = true }, "no place for attention_bias" },
        { { SIZE, .names = "gpt2", .norm_place = "after" },
          "no place for norm_place: after or both" },
        { { SIZE, .names = "gpt2", .head_dim = 8 }, "no place for head_dim" },
        { { ROPE, .experts = 2, .experts_used = 1 }, "no place for experts without a gated" },
        { { SIZE, .window = 4, .window_layers = "0 9" },
          "window_layers: a window and some of the layers" },
        { { SIZE, .window_layers = "0" }, "window_layers: a window and some of the layers" },
        { { SIZE, .rope_layers = "0" }, "rope_layers: positions: rope and some of the layers" },
        { { LLAMA, .experts_layers = "0" }, "experts_layers: experts and some of the layers" },
        { { SIZE, .parallel = true, .norm_place = "post" }, "parallel needs norm_place: pre" },
        { { LLAMA, .experts_used = 2 }, "experts_balance need experts" },
        { { LLAMA, .experts = 2, .experts_used = 3 }, "1 to the 2 experts are expected, not 3" },
        { { LLAMA, .experts = 1000, .experts_used = 100 }, "is more than 50000" },
        { { LLAMA, .experts = 2, .experts_used = 1, .experts_mlp = 6 }, "must be multiples of 4" },
        { { ROPE, .rope_factor = 2 }, "rope_factor needs a rope_scaling" },
        { { SIZE, .rope_scaling = "linear", .rope_factor = 2 },
          "rope_scaling needs positions: rope" },
        { { ROPE, .rope_scaling = "llama3", .rope_factor = 2 }, "also a rope_context" },
        { { ROPE, .rope_scaling = "longrope", .rope_context = 32, .rope_short = "1 1 1" },
          "rope_short: 4 numbers above 0 are expected" },
        { { ROPE, .rope_scaling = "longrope", .rope_context = 32, .rope_short = "1 1 1 1",
            .rope_long = "1 1 1 0" },
          "rope_long: 4 numbers above 0 are expected" },
        { { LLAMA, .score = true }, "score: the data must be a table whose data.text" },
        { { SIZE, .score = true }, "score: not with learned positions", .embed_rows = 9 },
        { { LLAMA, .experts = 2, .experts_used = 1, .score = true },
          "score: not with experts",
          .embed_rows = 9 },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        const vkt_layer layer = { .type = "transformer", .transformer = rows[i].t };
        refused(&(vkt_model_desc) { .layers = &layer,
                                    .n_layers = 1,
                                    .input = rows[i].in.rank ? rows[i].in : vkt_shape1(16),
                                    .n_outputs = 10,
                                    .embed_rows = rows[i].embed_rows },
                rows[i].words);
    }
}

static void of_adapters(void **state)
{
    (void)state;
    static const struct {
        vkt_lora lora;
        const char *words;
    } rows[] = {
        { { .rank = 4, .targets = "linaer" }, "lora.targets: no linear layer is called 'linaer'" },
        { { .rank = 4, .targets = "," }, "lora.targets names no layer" },
        { { .rank = 4, .rank_pattern = "0" }, "lora.rank_pattern: '0' is not NAME=RANK" },
        { { .rank = 4, .rank_pattern = "0=5000" }, "is not NAME=RANK" },
        { { .rank = 4, .rank_pattern = "0=2, 7=2" }, "lora.rank_pattern: '7=2' names no layer" },
        { { .rank = 4, .alpha_pattern = "0=0" }, "lora.alpha_pattern: '0=0' is not NAME=ALPHA" },
        { { .rank = 4, .modules = "head" }, "lora.modules_to_save: the model has no layer 'head'" },
    };
    const vkt_layer layers[] = { { .type = "linear", .out = 8 },
                                 { .type = "relu" },
                                 { .type = "linear" } },
                    none[] = { { .type = "relu" } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        refused(&(vkt_model_desc) { .layers = layers,
                                    .n_layers = 3,
                                    .input = flat,
                                    .n_outputs = 10,
                                    .lora = rows[i].lora },
                rows[i].words);
    refused(
        &(vkt_model_desc) {
            .layers = none, .n_layers = 1, .input = flat, .n_outputs = 8, .lora = { .rank = 4 } },
        "lora: the model has no linear layer");
    const vkt_layer gpt2 = { .type = "transformer", .transformer = { SIZE } };
    refused(&(vkt_model_desc) { .layers = &gpt2,
                                .n_layers = 1,
                                .input = flat,
                                .n_outputs = 10,
                                .lora = { .rank = 4, .dora = true } },
            "lora.dora: not for GPT-2's weights");
    /* A word is a whole name, or one behind a dot, as for PEFT. */
    refused(&(vkt_model_desc) { .layers = &gpt2,
                                .n_layers = 1,
                                .input = flat,
                                .n_outputs = 10,
                                .lora = { .rank = 4, .targets = "proj" } },
            "lora.targets: no linear layer is called 'proj'");
}

/* Some of a model's blocks: in ascending order, each once, below their number; written shortly. */
static void of_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 120 };
    static const struct {
        const char *set;
        bool ok;
    } rows[] = { { "0", true },         { "0 2 5-8", true },    { "99 100-119", true },
                 { "119", true },       { "120", false },       { "0-120", false },
                 { "3 2", false },      { "2 2", false },       { "2-4 4", false },
                 { "4-4", false },      { "5-3", false },       { "", false },
                 { "1,2", false },      { "a", false },         { "1-", false },
                 { "99999999", false }, { "4294967296", false } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        if (vkt__layer_set_ok(rows[i].set, BLOCKS) != rows[i].ok)
            fail_msg("'%s' is %sa set", rows[i].set, rows[i].ok ? "" : "not ");
    static const char *const sets[] = { "0 2 5-8", "99 100", "118-119", "0-119" };
    static const char *const again[] = { "0 2 5-8", "99-100", "118-119", "0-119" };
    for (size_t i = 0; i < VKT_COUNT(sets); i++) {
        bool has[BLOCKS];
        vkt__str text = { 0 };
        for (uint32_t b = 0; b < BLOCKS; b++) has[b] = vkt__layer_set_has(sets[i], b);
        vkt__layer_set_text(has, BLOCKS, &text);
        assert_string_equal(text.data, again[i]);
        vkt__str_finish(&text);
    }
    assert_true(vkt__layer_set_has(NULL, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_blocks),
        cmocka_unit_test(of_layers),
        cmocka_unit_test(of_transformers),
        cmocka_unit_test(of_adapters),
    };
    return cmocka_run_group_tests_name("refusals of layers", tests, NULL, NULL);
}
