/* Models from descriptions: sizes, names, initial values, errors that name the layer and the recipe
 * line. */
#include "testing.h"

#include "base/words.h"
#include "vktrain/nn.h"

static vkt_status create(const vkt_layer *layers, size_t n, vkt_shape input, vkt_model **m)
{
    vkt_model_desc d = {
        .layers = layers, .n_layers = n, .input = input, .n_outputs = 10, .source = "r.yaml"
    };
    return vkt_model_create(NULL, &d, m);
}

static void sizes_and_names(void **state)
{
    (void)state;
    vkt_layer inner[] = { { .type = "layernorm" },
                          { .type = "linear", .out = 32 },
                          { .type = "gelu" },
                          { .type = "linear", .out = 16, .name = "down" } };
    vkt_layer branch[] = { { .type = "residual", .body = inner, .n_body = 4, .zero = true } };
    vkt_layer layers[] = { { .type = "flatten" },
                           { .type = "linear", .out = 16 },
                           { .type = "repeat", .repeat = 2, .body = branch, .n_body = 1 },
                           { .type = "rmsnorm" },
                           { .type = "linear", .no_bias = true } };
    vkt_model *m;
    vkt_shape in = { .rank = 3, .d = { 4, 4, 1 } };
    REQUIRE_OK(create(layers, 5, in, &m));
    static const struct {
        const char *name;
        uint32_t r, c;
    } want[] = {
        { "1.weight", 16, 16 },
        { "1.bias", 16, 0 },
        { "2.0.0.body.0.weight", 16, 0 },
        { "2.0.0.body.0.bias", 16, 0 },
        { "2.0.0.body.1.weight", 32, 16 },
        { "2.0.0.body.1.bias", 32, 0 },
        { "2.0.0.body.down.weight", 16, 32 },
        { "2.0.0.body.down.bias", 16, 0 },
        { "2.1.0.body.0.weight", 16, 0 },
        { "2.1.0.body.0.bias", 16, 0 },
        { "2.1.0.body.1.weight", 32, 16 },
        { "2.1.0.body.1.bias", 32, 0 },
        { "2.1.0.body.down.weight", 16, 32 },
        { "2.1.0.body.down.bias", 16, 0 },
        { "3.weight", 16, 0 },
        { "4.weight", 10, 16 },
    };
    uint64_t sum = 0;
    for (size_t i = 0; i < VKT_COUNT(want); i++) {
        const vkt_param *p = vkt_model_param(m, i);
        assert_non_null(p);
        assert_string_equal(p->name, want[i].name);
        assert_int_equal(p->shape.d[0], want[i].r);
        assert_int_equal(p->shape.rank, want[i].c ? 2 : 1);
        if (want[i].c) assert_int_equal(p->shape.d[1], want[i].c);
        assert_int_equal(p->offset % VKT_PARAM_ALIGN, 0);
        assert_int_equal(p->decay, want[i].c != 0);
        sum += p->count;
    }
    assert_null(vkt_model_param(m, VKT_COUNT(want)));
    assert_int_equal(vkt_model_count(m), sum);
    char *text = vkt_model_summary(m);
    assert_non_null(strstr(text, "2.1.0.body.down"));
    free(text);
    vkt_model_destroy(&m);
}

static const float *values(vkt_model *m, const char *name, uint64_t *n)
{
    for (size_t i = 0;; i++) {
        const vkt_param *p = vkt_model_param(m, i);
        assert_non_null(p);
        if (strcmp(p->name, name)) continue;
        *n = p->count;
        return (const float *)vkt_model_values(m)->host + p->offset;
    }
}

static void initial_values_have_their_moments(void **state)
{
    (void)state;
    vkt_layer branch[] = { { .type = "linear", .out = 300 } };
    vkt_layer layers[] = { { .type = "linear", .out = 300 },
                           { .type = "linear", .out = 300, .init = "xavier" },
                           { .type = "linear", .out = 300, .init = "normal", .init_scale = 2 },
                           { .type = "residual", .zero = true, .body = branch, .n_body = 1 },
                           { .type = "layernorm" },
                           { .type = "linear", .init = "zeros" } };
    vkt_model *m;
    REQUIRE_OK(create(layers, 6, vkt_shape1(200), &m));
    REQUIRE_OK(vkt_model_init(m, 7));
    static const struct {
        const char *name;
        double deviation, limit;
    } want[] = {
        { "0.weight", 0.1, 9 },  { "1.weight", 0.0577350269, 0.1 },
        { "2.weight", 0.04, 9 }, { "3.body.0.weight", 0, 0 },
        { "5.weight", 0, 0 },    { "0.bias", 0, 0 },
    };
    for (size_t k = 0; k < VKT_COUNT(want); k++) {
        uint64_t n;
        const float *v = values(m, want[k].name, &n);
        double mean = 0, sq = 0;
        for (uint64_t i = 0; i < n; i++) {
            mean += (double)v[i] / (double)n;
            sq += (double)v[i] * (double)v[i] / (double)n;
            assert_true(fabs((double)v[i]) <= want[k].limit * 1.000001);
        }
        REQUIRE_NEAR(mean, 0, 5 * want[k].deviation / sqrt((double)n)); /* five standard errors */
        REQUIRE_NEAR(sqrt(sq), want[k].deviation, 5 * want[k].deviation / sqrt(2.0 * (double)n));
    }
    uint64_t n;
    const float *gain = values(m, "4.weight", &n), first = values(m, "0.weight", &n)[0];
    assert_true(gain[0] == 1 && gain[299] == 1);
    REQUIRE_OK(vkt_model_init(m, 8));
    assert_true(values(m, "0.weight", &n)[0] != first);
    REQUIRE_OK(vkt_model_init(m, 7));
    assert_true(values(m, "0.weight", &n)[0] == first);
    vkt_model_destroy(&m);
}

/* Names and shapes as torchvision's; the order in memory is the kernels'; the branch's last norm
 * starts at zero; He's deviation is by the filter's fan-in. */
static void convolutions_and_blocks(void **state)
{
    (void)state;
    vkt_layer layers[] = { { .type = "conv", .out = 64, .no_bias = true },
                           { .type = "basic_block", .out = 32, .stride = 2, .zero = true },
                           { .type = "wide_block", .out = 32 },
                           { .type = "bottleneck", .out = 64 },
                           { .type = "max_pool" },
                           { .type = "global_pool" },
                           { .type = "linear" } };
    vkt_model *m;
    const vkt_param *p;
    uint64_t n;
    double sq = 0;
    REQUIRE_OK(create(layers, 7, (vkt_shape) { 3, { 9, 8, 3 } }, &m));
    REQUIRE_OK(vkt_model_init(m, 7));
    static const struct {
        const char *name;
        uint32_t d[4];
    } want[] = {
        { "0.weight", { 64, 3, 3, 3 } },
        { "1.conv1.weight", { 32, 64, 3, 3 } },
        { "1.downsample.0.weight", { 32, 64, 1, 1 } },
        { "2.conv2.weight", { 32, 32, 3, 3 } },
        { "3.conv2.weight", { 16, 16, 3, 3 } },
        { "3.downsample.0.weight", { 64, 32, 1, 1 } },
        { "6.weight", { 10, 64, 0, 0 } },
    };
    for (size_t k = 0; k < VKT_COUNT(want); k++) {
        size_t i = 0;
        while ((p = vkt_model_param(m, i)) && strcmp(p->name, want[k].name)) i++;
        assert_non_null(p);
        assert_true(p->decay);
        for (uint32_t d = 0; d < p->shape.rank; d++) assert_int_equal(p->shape.d[d], want[k].d[d]);
    }
    assert_int_equal(vkt_model_param(m, 0)->order, VKT_PARAM_ORDER_CONV);
    /* [64, 3, 3, 3] element (5, 2, 1, 0) lies at (1, 0, 2, 5) of [3, 3, 3, 64]. */
    assert_int_equal(vkt_param_at(vkt_model_param(m, 0), ((5 * 3 + 2) * 3 + 1) * 3),
                     ((1 * 3 + 0) * 3 + 2) * 64 + 5);
    /* Two heads of 4: of [2, 3, 4] element (1, 2, 3) lies at (2, 1, 3) of [3, 2, 4]. */
    const vkt_param heads = { .order = VKT_PARAM_ORDER_HEADS, .heads = 2, .count = 2 * 3 * 4 };
    assert_int_equal(vkt_param_at(&heads, (1 * 3 + 2) * 4 + 3), (2 * 2 + 1) * 4 + 3);
    assert_int_equal(vkt_param_at(&heads, 1 * 4), 2 * 4);
    assert_true(values(m, "1.bn2.weight", &n)[0] == 0 && values(m, "1.bn1.weight", &n)[0] == 1);
    const float *v = values(m, "1.conv1.weight", &n);
    for (uint64_t i = 0; i < n; i++) sq += (double)v[i] * (double)v[i] / (double)n;
    double he = sqrt(2.0 / (64 * 9));
    REQUIRE_NEAR(sqrt(sq), he, 5 * he / sqrt(2.0 * (double)n));
    p = vkt_model_state(m, 1);
    assert_string_equal(p->name, "1.bn1.running_var");
    assert_true(((const float *)vkt_model_states(m)->host)[p->offset + 31] == 1);
    assert_string_equal(vkt_model_state(m, 2)->name, "1.bn1.num_batches_tracked");
    assert_int_equal(vkt_model_state(m, 2)->dtype, VKT_U32);
    vkt_model_destroy(&m);
}

/* A pixel of a transposed convolution is a sum of kernel^2 / stride^2 terms a channel. */
static void transposed_filters_keep_the_variance(void **state)
{
    (void)state;
    static const struct {
        uint32_t kernel, stride;
        double terms; /* of 16 channels */
    } of[] = { { 4, 2, 16 * 4 }, { 2, 3, 16 }, { 3, 1, 16 * 9 } };
    for (size_t k = 0; k < VKT_COUNT(of); k++) {
        vkt_layer layers[] = {
            { .type = "conv_transpose", .out = 64, .kernel = of[k].kernel, .stride = of[k].stride },
            { .type = "global_pool" },
            { .type = "linear" }
        };
        vkt_model *m;
        uint64_t n;
        double sq = 0, he = sqrt(2 / of[k].terms);
        REQUIRE_OK(create(layers, 3, (vkt_shape) { 3, { 6, 6, 16 } }, &m));
        REQUIRE_OK(vkt_model_init(m, 7));
        const float *v = values(m, "0.weight", &n);
        for (uint64_t i = 0; i < n; i++) sq += (double)v[i] * (double)v[i] / (double)n;
        REQUIRE_NEAR(sqrt(sq), he, 5 * he / sqrt(2.0 * (double)n));
        vkt_model_destroy(&m);
    }
}

static void errors_name_layer_and_line(void **state)
{
    (void)state;
    vkt_model *m;
    vkt_layer narrow[] = { { .type = "linear", .out = 7, .line = 9 } };
    struct {
        vkt_layer layers[2];
        size_t n;
        vkt_shape in;
        vkt_status st;
        const char *log;
    } c[] = {
        { { { .type = "linear", .line = 3 } },
          1,
          { 3, { 8, 8, 1 } },
          VKT_E_SHAPE,
          "r.yaml:3: layer 0 (linear): the input is an image, [8, 8, 1] f32: put `- flatten` "
          "before it" },
        { { { .type = "linear", .out = 12, .line = 4 } },
          1,
          { 1, { 8 } },
          VKT_E_SHAPE,
          "r.yaml:4: layer 0 (linear) gives [12] f32, but the data has 10 outputs" },
        { { { .type = "liner", .line = 5 } },
          1,
          { 1, { 8 } },
          VKT_E_ARG,
          "r.yaml:5: layer 0 (liner): no such layer type; did you mean 'linear'?" },
        { { { .type = "linear", .init = "kaimin", .line = 6 } },
          1,
          { 1, { 8 } },
          VKT_E_ARG,
          "did you mean 'kaiming'?" },
        { { { .type = "transformer",
              .transformer = { .layers = 1, .width = 8, .heads = 2, .activation = "swigelu" },
              .line = 7 } },
          1,
          { 1, { 8 } },
          VKT_E_ARG,
          "r.yaml:7: layer 0 (transformer): activation: 'swigelu' is not one of " },
        { { { .type = "residual", .body = narrow, .n_body = 1, .line = 8 }, { .type = "linear" } },
          2,
          { 1, { 8 } },
          VKT_E_SHAPE,
          "r.yaml:8: layer 0 (residual): the branch gives [7] f32, but is added to [8] f32" },
        { { { .type = "conv", .out = 4, .line = 3 } },
          1,
          { 1, { 64 } },
          VKT_E_SHAPE,
          "r.yaml:3: layer 0 (conv): the input must be an image, [H, W, C], not [64] f32" },
        { { { .type = "conv", .out = 4, .kernel = 5, .pad = { true, 0 }, .line = 3 } },
          1,
          { 3, { 4, 9, 1 } },
          VKT_E_SHAPE,
          "layer 0 (conv): a window of 5 with padding 0 is larger than the image, [4, 9, 1] f32" },
        { { { .type = "conv", .out = 4, .groups = 3, .line = 3 } },
          1,
          { 3, { 4, 9, 6 } },
          VKT_E_SHAPE,
          "3 groups must divide both 6 input and 4 output channels" },
        { { { .type = "conv", .out = 4, .kernel = 3, .width = 2, .line = 3 } },
          1,
          { 3, { 4, 9, 6 } },
          VKT_E_SHAPE,
          "a filter of 3x2 has no padding of its own: set `pad`" },
        { { { .type = "max_pool", .kernel = 2, .pad = { true, 2 }, .line = 3 } },
          1,
          { 3, { 4, 9, 6 } },
          VKT_E_SHAPE,
          "padding 2 is more than half of the window, 2" },
    };
    for (size_t i = 0; i < VKT_COUNT(c); i++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(create(c[i].layers, c[i].n, c[i].in, &m), c[i].st);
        REQUIRE_LOGGED(c[i].log);
        assert_null(m);
    }
}

/* A word that an option does not take is refused, whatever the type: it would build another model.
 */
static void unknown_words_are_refused(void **state)
{
    (void)state;
    const vkt_transformer size = { .layers = 1, .heads = 1, .width = 8 };
    vkt_layer words[] = { { .type = "conv", .init = "xaver" },
                          { .type = "linear", .init = "zero" } };
    vkt_layer of_transformer[6];
    for (size_t i = 0; i < VKT_COUNT(of_transformer); i++)
        of_transformer[i] = (vkt_layer) { .type = "transformer", .transformer = size };
    of_transformer[0].transformer.norm = "rmsnrom";
    of_transformer[1].transformer.norm_place = "prae";
    of_transformer[2].transformer.positions = "rotary";
    of_transformer[3].transformer.activation = "swigelu";
    of_transformer[4].transformer.rope_layout = "halves";
    of_transformer[5].transformer.names = "lama";
    static const char *const logs[] = {
        "norm: 'rmsnrom' is not one of layernorm, rmsnorm; did you mean 'rmsnorm'?",
        "norm_place: 'prae' is not one of",
        "positions: 'rotary' is not one of learned, rope, none",
        "; did you mean 'swiglu'?",
        "rope_layout: 'halves' is not one of",
        "names: 'lama' is not one of gpt2, llama, phi3, neox; did you mean 'llama'?",
    };
    vkt_model *m;
    for (size_t i = 0; i < VKT_COUNT(of_transformer); i++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(create(&of_transformer[i], 1, vkt_shape1(16), &m), VKT_E_ARG);
        REQUIRE_LOGGED(logs[i]);
        assert_null(m);
    }
    for (size_t i = 0; i < VKT_COUNT(words); i++) {
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(create(&words[i], 1, (vkt_shape) { 3, { 4, 4, 1 } }, &m), VKT_E_ARG);
        REQUIRE_LOGGED("is not one of kaiming, xavier, normal, zeros; did you mean");
    }
}

static void an_adapter_scales_by_alpha_over_rank(void **state)
{
    (void)state;
    REQUIRE_NEAR(vkt_lora_scale(&(vkt_lora) { .rank = 4 }), 2, 0); /* alpha: twice the rank */
    REQUIRE_NEAR(vkt_lora_scale(&(vkt_lora) { .rank = 4, .alpha = 4 }), 1, 0);
    REQUIRE_NEAR(vkt_lora_scale(&(vkt_lora) { .rank = 8, .alpha = 4 }), 0.5, 0);
    REQUIRE_NEAR(vkt_lora_scale(&(vkt_lora) { .alpha = 4 }), 0, 0);
}

/* 2,001 tokens take 2,048 rows, and the last ones stay zeros. Few tokens, and other matrices, get
 * no more rows than they have. */
static void tables_of_many_odd_rows_have_room(void **state)
{
    (void)state;
    enum { WIDTH = 8 };
    for (uint32_t V = 2001; V >= 1001; V -= 1000) {
        const vkt_layer l = { .type = "transformer",
                              .transformer = { .layers = 1, .heads = 1, .width = WIDTH } };
        const vkt_model_desc d = {
            .layers = &l, .n_layers = 1, .input = vkt_shape1(4), .n_outputs = V, .source = "r.yaml"
        };
        vkt_model *m;
        REQUIRE_OK(vkt_model_create(NULL, &d, &m));
        REQUIRE_OK(vkt_model_init(m, 1));
        const float *x = vkt_model_values(m)->host;
        const vkt_param *p, *next;
        uint32_t wide = 0;
        for (size_t i = 0; (p = vkt_model_param(m, i)); i++) {
            bool pads = p->shape.d[0] == 2001;
            wide += pads;
            assert_int_equal(p->room, pads ? 2048 * WIDTH : p->count);
            next = vkt_model_param(m, i + 1);
            uint64_t end = next ? next->offset : vkt_model_flat_count(m);
            assert_true(end >= p->offset + p->room);
            for (uint64_t k = p->offset + p->count; k < end; k++) assert_true(x[k] == 0);
        }
        assert_int_equal(wide, V == 2001);
        vkt_model_destroy(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_names),
        cmocka_unit_test(initial_values_have_their_moments),
        cmocka_unit_test(convolutions_and_blocks),
        cmocka_unit_test(transposed_filters_keep_the_variance),
        cmocka_unit_test(errors_name_layer_and_line),
        cmocka_unit_test(unknown_words_are_refused),
        cmocka_unit_test(an_adapter_scales_by_alpha_over_rank),
        cmocka_unit_test(tables_of_many_odd_rows_have_room),
    };
    return cmocka_run_group_tests_name("nn", tests, NULL, NULL);
}
