/* nn: nets that are no list, without a device: whose output a layer takes, what can't be (each with
 * its line of the recipe), names of parameters, the listing. */
#include "testing.h"

#include "base/memory.h"
#include "nn/layer_from.h"
#include "nn/params.h"
#include "tensor/graph/graph.h"
#include "vktrain/recipe.h"

/* The model of that recipe for an example of this shape; its line in messages is the recipe's.
 * output of rank 0: ten numbers. */
static vkt_status plan_as(const char *recipe, vkt_shape input, vkt_shape output, vkt_model **m)
{
    vkt_config *c;
    *m = NULL;
    REQUIRE_OK(vkt_config_create(&c));
    vkt_status st = vkt_config_parse(c, recipe, strlen(recipe), "r.yaml");
    if (st == VKT_OK)
        st = vkt_model_create(
            NULL,
            &(vkt_model_desc) { .layers = c->layers,
                                .n_layers = c->n_layers,
                                .input = input,
                                .n_outputs = output.rank ? output.d[output.rank - 1] : 10,
                                .output = output,
                                .source = "r.yaml" },
            m);
    vkt_config_destroy(&c);
    return st;
}

static vkt_status plan(const char *recipe, vkt_shape input, vkt_model **m)
{
    return plan_as(recipe, input, (vkt_shape) { 0 }, m);
}

static const vkt_shape image = { 3, { 4, 6, 3 } };

static void what_can_not_be(void **state)
{
    (void)state;
    static const struct {
        const char *layers, *words;
    } rows[] = {
        /* whose output */
        { "  - conv: {name: wide}\n  - conv: {name: low}\n  - add: [low, wied]\n",
          "r.yaml:4: layer 2 (add): from: no layer before it in its list has the name 'wied'; did "
          "you mean 'wide'?" },
        { "  - conv: {from: nothing}\n", "r.yaml:2: layer 0 (conv): from: no layer before it" },
        { "  - conv: {from: late}\n  - relu: {name: late}\n",
          "r.yaml:2: layer 0 (conv): from: 'late' is defined later, on line 3" },
        { "  - conv: {name: me, from: me}\n",
          "r.yaml:2: layer me (conv): from: it can't take its" },
        { "  - conv: {name: a}\n  - relu: {from: [a, input]}\n",
          "r.yaml:3: layer 1 (relu): from: it takes one output, not 2: join them first" },
        { "  - conv: {name: a}\n  - add: a\n", "layer 1 (add): it takes outputs of two layers" },
        { "  - conv\n  - mul\n", "layer 1 (mul): it takes outputs of several layers: name them" },
        { "  - conv: {name: a}\n  - conv: {name: lost}\n  - relu: {from: a}\n",
          "r.yaml:3: layer lost (conv): no layer takes its output" },
        { "  - conv: {name: a}\n  - conv: {name: a}\n",
          "r.yaml:3: the name 'a' is taken by the layer on line 2" },
        { "  - residual: {body: [{conv: {name: in}}, {relu: {from: out}}]}\n",
          "layer 0.body.1 (relu): from: no layer before it in its list has the name 'out'" },
        { "  - repeat: {n: 2, body: [{conv: {name: f}}, {add: [ff, input]}]}\n",
          "layer 0.0.1 (add): from: no layer before it in its list has the name 'ff'; did you mean "
          "'f'?" },
        /* shapes */
        { "  - conv: {name: a}\n  - max_pool: {name: b}\n  - add: [a, b]\n",
          "r.yaml:4: layer 2 (add): 'a' gives [4, 6, 3] f32 and 'b' gives [2, 3, 3] f32: from the "
          "last dimension on" },
        { "  - conv: {name: a}\n  - max_pool: {name: b}\n  - concat: [a, b]\n",
          "r.yaml:4: layer 2 (concat): 'a' gives [4, 6, 3] f32 and 'b' gives [2, 3, 3] f32: all "
          "sizes but" },
        { "  - concat: {from: [input, input], axis: 3}\n",
          "layer 0 (concat): there is no axis 3: an example is [4, 6, 3] f32" },
        { "  - upsample: {size: [20000, 30000], name: a}\n"
          "  - concat: {from: [a, a, a, a], axis: 0}\n",
          "2^31 elements of an example are too many" },
        { "  - slice: {axis: 1, first: 4, count: 3}\n",
          "axis 1 of [4, 6, 3] f32 has no 3 elements from 4 on" },
        { "  - slice: {axis: 1, first: 6}\n", "has no 1 elements from 6 on" },
        { "  - slice: {axis: 1, count: 3, step: 3}\n", "has no 3 elements from 0 on, each 3-th" },
        { "  - permute: [1, 0]\n", "`order` must name each axis of an example once" },
        { "  - permute: [1, 0, 1]\n", "`order` must name each axis of an example once" },
        { "  - reshape: [5, 0]\n", "[4, 6, 3] f32, 72 elements, can't become [5, 0] f32" },
        { "  - reshape: [0, 0]\n", "can't become [0, 0] f32" },
        { "  - reshape: [2147483647, 2147483647, 2147483647, 2147483647, 4]\n", "can't become" },
        { "  - reshape\n", "it needs `shape`" },
        { "  - flatten\n  - upsample\n", "layer 1 (upsample): the input must be an image" },
        { "  - upsample: {scale: 2, size: [8, 8]}\n",
          "give `scale`, or `size` as [rows, columns]" },
        { "  - upsample: {size: [8]}\n", "give `scale`, or `size` as [rows, columns]" },
        { "  - upsample: {align_corners: true}\n", "set mode: bilinear" },
        { "  - upsample: 200\n  - upsample: 200\n", "1 to 30000 are possible" },
        { "  - upsample: {size: [30000, 30000]}\n", "2^31 elements of an example are too many" },
        { "  - conv_transpose: {out: 4, groups: 2}\n", "2 groups must divide both 3 input and 4" },
        { "  - conv_transpose: {output_pad: 2}\n", "output_pad 2 must be below the stride, 2" },
        { "  - conv_transpose: {pad: 4}\n", "a padding of 4 leaves nothing of [4, 6, 3]" },
        { "  - flatten\n  - squeeze_excite\n", "the input must be an image" },
        { "  - gru: 4\n", "it takes sequences, [T, C], not [4, 6, 3] f32" },
        { "  - reshape: [2, 0]\n  - lstm: 2000\n", "lstm.out: 2000 is out of range: 1 to 1024" },
        { "  - reshape: {shape: [2, 0], name: a}\n  - cross_attention: [a, a, a]\n",
          "it takes outputs of two layers: from: [asks, answers]" },
        { "  - cross_attention: [input, input]\n", "it takes sequences, [T, C], not [4, 6, 3]" },
        { "  - reshape: {shape: [2, 0], name: a}\n"
          "  - cross_attention: {from: [a, a], heads: 5}\n",
          "5 heads do not divide 36 channels" },
    };
    size_t n_bad = 0;
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        char text[400];
        vkt_model *m;
        snprintf(text, sizeof text, "model:\n%s", rows[i].layers);
        TEST_LOG_CAPTURE();
        vkt_status st = plan(text, image, &m);
        const char *end = strchr(test_log, '\n'); /* one line */
        bool refused = (st == VKT_E_ARG || st == VKT_E_SHAPE) && strstr(test_log, rows[i].words) &&
                       end && !end[1];
        if (!refused)
            print_error("%swants '%s', has status %d: %s\n", text, rows[i].words, (int)st,
                        test_log);
        n_bad += !refused;
        vkt_model_destroy(&m);
    }
    assert_int_equal(n_bad, 0);
}

/* Shapes that layers give, each axis another length: what is planned is what is built. */
static void shapes_are_those_of_the_graph(void **state)
{
    (void)state;
    static const struct {
        const char *layers;
        uint32_t d[3];
    } rows[] = {
        { "  - permute: [1, 0, 2]\n", { 6, 4, 3 } },
        { "  - permute: [2, 0, 1]\n", { 3, 4, 6 } },
        { "  - permute: [1, 2, 0]\n", { 6, 3, 4 } },
        { "  - relu: {name: a}\n  - concat: [a, input]\n", { 4, 6, 6 } },
        { "  - relu: {name: a}\n  - concat: {from: [a, input, a], axis: 0}\n", { 12, 6, 3 } },
        { "  - relu: {name: a}\n  - concat: {from: [a, input], axis: 1}\n", { 4, 12, 3 } },
        { "  - slice: {axis: 1, first: 1, step: 2}\n", { 4, 3, 3 } },
        { "  - slice: {first: 1}\n", { 4, 6, 2 } },
        { "  - slice: {axis: 0, count: 2, step: 3}\n", { 2, 6, 3 } },
        { "  - reshape: [2, 0, 9]\n", { 2, 4, 9 } },
        { "  - upsample: {size: [5, 9]}\n", { 5, 9, 3 } },
        { "  - upsample\n", { 8, 12, 3 } },
        { "  - conv_transpose: {out: 5, kernel: 3, pad: 1, output_pad: 1}\n", { 8, 12, 5 } },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        char text[400];
        vkt_model *m;
        snprintf(text, sizeof text, "model:\n%s  - permute: [0, 1, 2]\n", rows[i].layers);
        REQUIRE_OK(plan_as(text, image, vkt_shape3(rows[i].d[0], rows[i].d[1], rows[i].d[2]), &m));
        vkt_graph *g = vkt__graph_new(NULL);
        vkt_tensor *x = vkt_input(g, (vkt_shape) { 4, { 2, 4, 6, 3 } }, VKT_F32, "x"),
                   *y = vkt_model_build(m, g, x, false);
        assert_int_equal(g->status, VKT_OK);
        vkt_shape got = vkt_tensor_shape(y);
        assert_int_equal(got.rank, 4);
        for (int k = 0; k < 3; k++) assert_int_equal(got.d[k + 1], rows[i].d[k]);
        vkt_graph_destroy(&g);
        vkt_model_destroy(&m);
    }
}

/* Columns that hold numbers of values are read by `embed` alone. */
static void ids_are_the_first_layers(void **state)
{
    (void)state;
    const vkt_layer layers[] = {
        { .type = "embed", .name = "e", .out = 2 },
        { .type = "concat", .from = (const char *const[]) { "e", "input" }, .n_from = 2 },
        { .type = "linear" }
    };
    vkt_model *m;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_model_create(NULL,
                                    &(vkt_model_desc) { .layers = layers,
                                                        .n_layers = 3,
                                                        .input = vkt_shape1(3),
                                                        .n_outputs = 2,
                                                        .n_plain = 1,
                                                        .embed_rows = 7 },
                                    &m),
                   VKT_E_ARG);
    REQUIRE_LOGGED("layer 1 (concat): from: `input` holds numbers of words or values");
}

/* Without a recipe: two layers have one name, and a third takes it. */
static void names_are_asked_for_once(void **state)
{
    (void)state;
    const vkt_layer layers[] = {
        { .type = "relu", .name = "a" },
        { .type = "relu", .name = "a" },
        { .type = "linear", .from = (const char *const[]) { "a" }, .n_from = 1 }
    };
    vkt_model *m;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_model_create(NULL,
                                    &(vkt_model_desc) { .layers = layers,
                                                        .n_layers = 3,
                                                        .input = vkt_shape1(3),
                                                        .n_outputs = 2 },
                                    &m),
                   VKT_E_ARG);
    REQUIRE_LOGGED("layer a (relu): the name 'a' is given twice, to layers or cuts");
}

/* The number of a layer without a name is no name that a later layer could take. */
static void a_cut_may_be_called_as_a_layer_s_number(void **state)
{
    (void)state;
    vkt__layer two[] = {
        { .spec = { .cut = (const char *const[]) { "1" }, .n_cut = 1 }, .name = "0", .where = "0" },
        { .name = "1", .where = "1" }
    };
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt__layers_check(two, 2));
    two[1].spec.name = "1";
    REQUIRE_STATUS(vkt__layers_check(two, 2), VKT_E_ARG);
    REQUIRE_LOGGED("the name '1' is given twice, to layers or cuts");
    two[0] = (vkt__layer) { .name = "1", .where = "0" };
    two[1].spec.name = NULL;
    REQUIRE_STATUS(vkt__layers_check(two, 2), VKT_E_ARG);
}

/* Names of parameters depend on the layer's own name alone. */
static void parameters_have_their_layers_names(void **state)
{
    (void)state;
    static const char *const names[] = { "stem.weight",     "stem.bias",       "up.weight",
                                         "up.bias",         "gate.fc1.weight", "gate.fc1.bias",
                                         "gate.fc2.weight", "gate.fc2.bias",   "6.0.0.f.weight",
                                         "6.0.0.f.bias",    "6.1.0.f.weight",  "6.1.0.f.bias",
                                         "head.weight",     "head.bias" };
    vkt_model *m;
    REQUIRE_OK(plan("model:\n  - conv: {out: 4, name: stem}\n  - max_pool\n"
                    "  - conv_transpose: {name: up}\n  - concat: {from: [stem, up]}\n"
                    "  - squeeze_excite: {name: gate}\n  - global_pool\n"
                    "  - repeat: {n: 2, body: [{linear: {out: 8, name: f}}, "
                    "{add: {from: [f, input], name: s}}, {mul: [s, f]}]}\n"
                    "  - linear: {name: head}\n",
                    image, &m));
    for (size_t i = 0; i < VKT_COUNT(names); i++)
        assert_string_equal(vkt_model_param(m, i)->name, names[i]);
    assert_null(vkt_model_param(m, VKT_COUNT(names)));
    assert_int_equal(vkt_model_param(m, 4)->shape.d[0], 2); /* a quarter of the 8 channels */
    vkt_model_destroy(&m);
}

static void listing_says_whose_output(void **state)
{
    (void)state;
    static const char graph[] =
        "  layer                type         output                     parameters  from\n"
        "  input                             [8] f32                 \n"
        "  a                    linear       [8] f32                            72  input\n"
        "  b                    relu         [8] f32                                a\n"
        "  2                    add          [8] f32                                b, input, a\n"
        "  3                    repeat       [8] f32                                2\n"
        "  3.0.0                tanh         [8] f32                                input\n"
        "  3.0.1.s              relu         [8] f32                                3.0.0\n"
        "  3.0.2                mul          [8] f32                                3.0.1.s, "
        "input\n"
        "  3.1.0                tanh         [8] f32                                3.0.2\n"
        "  3.1.1.s              relu         [8] f32                                3.1.0\n"
        "  3.1.2                mul          [8] f32                                3.1.1.s, "
        "3.0.2\n"
        "  4                    linear       [10] f32                           90  3\n",
                      list[] =
                          "  layer                type         output                     "
                          "parameters\n"
                          "  input                             [8] f32                 \n"
                          "  0                    relu         [8] f32                 \n"
                          "  1                    linear       [10] f32                          "
                          " 90\n";
    static const char *const recipes[] = {
        "model:\n  - linear: {out: 8, name: a}\n  - relu: {name: b}\n  - add: {from: [b, input, "
        "a]}\n  - repeat: {n: 2, body: [tanh, {relu: {name: s}}, {mul: [s, input]}]}\n  - linear\n",
        "model: [relu, linear]\n"
    };
    for (int i = 0; i < 2; i++) {
        vkt_model *m;
        REQUIRE_OK(plan(recipes[i], vkt_shape1(8), &m));
        char *text = vkt_model_summary(m), *total = strstr(text, "  total");
        assert_non_null(total);
        *total = 0;
        assert_string_equal(text, i ? list : graph);
        vkt_free(text);
        vkt_model_destroy(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_not_be),
        cmocka_unit_test(shapes_are_those_of_the_graph),
        cmocka_unit_test(ids_are_the_first_layers),
        cmocka_unit_test(names_are_asked_for_once),
        cmocka_unit_test(a_cut_may_be_called_as_a_layer_s_number),
        cmocka_unit_test(parameters_have_their_layers_names),
        cmocka_unit_test(listing_says_whose_output),
    };
    return cmocka_run_group_tests_name("graphs of layers", tests, NULL, NULL);
}
