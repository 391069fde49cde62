/* A net of an ONNX file with several outputs: each cut is what the net has there, layers take it by
 * its name, and what does not fit gets one line. */
#include <math.h>

#include "models/onnx_back.h"
#include "nn/onnx_net.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "testing.h"
#include "vktrain/models.h"

#define GOLDEN VKT_TEST_DIR "/golden/onnx/"
#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { C = 8, EXAMPLES = 2 }; /* channels that the golden picture's net has everywhere */

static char line[600];

static void keep_line(void *user, vkt_log_level level, const char *area, const char *text)
{
    (void)user, (void)area;
    if (level == VKT_LOG_ERROR) snprintf(line, sizeof line, "%s", text);
}

static vkt_status make(const vkt_layer *layers, size_t n, uint32_t side, uint32_t outputs,
                       vkt_model **m)
{
    vkt_model_desc d = {
        .layers = layers, .n_layers = n, .input = vkt_shape3(side, side, 3), .n_outputs = outputs
    };
    *line = 0;
    vkt_log_set(keep_line, NULL, VKT_LOG_ERROR);
    return vkt_model_create(NULL, &d, m);
}

typedef struct run {
    vkt_model *m;
    vkt_tensor *x, *y;
    double out[EXAMPLES * 2 * C];
} run;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    run *r = user;
    for (uint64_t i = 0; t == r->x && i < t->count; i++) data[i] = sin((double)i);
    for (size_t i = 0; i < r->m->n_params + r->m->n_states && t != r->x; i++) {
        const vkt__param *p =
            i < r->m->n_params ? &r->m->params[i] : &r->m->states[i - r->m->n_params];
        if (!t->name || strcmp(t->name, p->pub.name) != 0 || !p->fill) continue;
        float *v = vkt__alloc((size_t)p->pub.count * sizeof *v);
        p->fill(p, v);
        for (uint64_t k = 0; k < p->pub.count; k++) data[k] = (double)v[k];
        free(v);
    }
}

static void look(void *user, const vkt_tensor *t, const double *data)
{
    run *r = user;
    if (t == r->y) memcpy(r->out, data, t->count * sizeof *data);
}

static void compute(const vkt_layer *layers, size_t n, uint32_t outputs, run *r)
{
    *r = (run) { 0 };
    assert_int_equal(make(layers, n, 8, outputs, &r->m), VKT_OK);
    vkt_graph *g = vkt__graph_new(NULL);
    r->x = vkt_input(g, (vkt_shape) { 4, { EXAMPLES, 8, 8, 3 } }, VKT_F32, "x");
    r->y = vkt_model_build(r->m, g, r->x, false);
    assert_int_equal(g->status, VKT_OK);
    assert_int_equal(r->y->count, EXAMPLES * outputs);
    vkt__graph_ref(g, fill, r, look);
    vkt_graph_destroy(&g);
}

/* The means of both cuts side by side are those of each net cut there alone. */
static void each_cut_is_what_the_net_has_there(void **state)
{
    (void)state;
    static run both, one, other;
    const vkt_layer net = { .type = "onnx", .file = GOLDEN "picture/model.onnx" };
    vkt_layer layers[] = { net,
                           { .type = "concat", .from = NAMES("/conv1/Conv", "/Relu"), .n_from = 2 },
                           { .type = "global_pool" } };
    vkt_layer alone[] = { net, { .type = "global_pool" } };
    layers[0].cut = NAMES("/conv1/Conv", "/Relu");
    layers[0].n_cut = 2;
    compute(layers, 3, 2 * C, &both);
    alone[0].cut = NAMES("/conv1/Conv");
    alone[0].n_cut = 1;
    compute(alone, 2, C, &one);
    alone[0].cut = NAMES("/Relu");
    compute(alone, 2, C, &other);
    for (int e = 0; e < EXAMPLES; e++)
        for (int c = 0; c < C; c++) {
            REQUIRE_NEAR(both.out[e * 2 * C + c], one.out[e * C + c], 1e-12);
            REQUIRE_NEAR(both.out[e * 2 * C + C + c], other.out[e * C + c], 1e-12);
        }
    char *s = vkt_model_summary(both.m);
    assert_non_null(strstr(s, "  /conv1/Conv          cut          [8, 8, 8]"));
    assert_non_null(strstr(s, "/conv1/Conv, 0\n"));
    vkt_free(s);
    vkt_model_destroy(&both.m);
    vkt_model_destroy(&one.m);
    vkt_model_destroy(&other.m);
}

/* What is needed for either cut is trained, and is written back. */
static void all_that_the_cuts_need_is_trained(void **state)
{
    (void)state;
    vkt_model *m;
    vkt__str graph = { 0 };
    const vkt_layer layers[] = {
        { .type = "onnx",
          .file = GOLDEN "picture/model.onnx",
          .cut = NAMES("/short/Conv", "/conv2/Conv"),
          .n_cut = 2 },
        { .type = "conv", .out = 2, .from = NAMES("/short/Conv"), .n_from = 1 },
        { .type = "global_pool", .name = "a" },
        { .type = "conv", .out = 2, .from = NAMES("/conv2/Conv"), .n_from = 1 },
        { .type = "global_pool", .name = "b" },
        { .type = "add", .from = NAMES("a", "b"), .n_from = 2 },
    };
    assert_int_equal(make(layers, 6, 8, 2, &m), VKT_OK);
    bool found[3] = { false };
    static const char *const names[] = { "short.weight", "conv2.weight", "out.weight" };
    for (size_t i = 0; i < m->n_params; i++)
        for (size_t k = 0; k < 3; k++) found[k] |= !strcmp(m->params[i].pub.name, names[k]);
    assert_true(found[0] && found[1] && !found[2]);
    vkt__onnx_back_graph(vkt__onnx_net_of(m), &(vkt__weights) { 0 }, false, &graph);
    bool both[2] = { false };
    for (size_t i = 0; i + 11 <= graph.len; i++) {
        both[0] |= !memcmp(graph.data + i, "/short/Conv", 11);
        both[1] |= !memcmp(graph.data + i, "/conv2/Conv", 11);
    }
    assert_true(both[0] && both[1]);
    vkt__str_finish(&graph);
    vkt_model_destroy(&m);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *cut[2], *from[2], *says;
        vkt_shape strides;
        uint32_t side;
    } cases[] = {
        { { "/Relu", "/conv1/Conv" },
          { "/conv1/Conv", "/conv1/Conv" },
          "no layer takes its cut '/Relu'",
          { 0 },
          8 },
        { { "/Relu", "/conv1/Conv" }, { "/Relu", "/Reul" }, "did you mean '/Relu'?", { 0 }, 8 },
        { { "/Relu", "/Relu" }, { "/Relu", "/Relu" }, "the name '/Relu' is given twice", { 0 }, 8 },
        { { "/Relu", "/conv1/Conv" },
          { "/Relu", "/conv1/Conv" },
          "cut '/conv1/Conv' gives [8, 8, 8] f32 of a picture [8, 8, 3] f32, and what is built on "
          "it needs "
          "4 "
          "rows and 4 columns, 2 pixels a cell",
          { 2, { 1, 2 } },
          8 },
        { { "/Relu", "/conv1/Conv" },
          { "/Relu", "/conv1/Conv" },
          "strides are for a picture, one for each cut",
          { 1, { 1 } },
          8 },
        { { "/Relu", "/conv1/Conv" },
          { "/Relu", "/conv1/Conv" },
          "are no whole number of cells of 3 pixels",
          { 2, { 1, 3 } },
          8 },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_model *m;
        const vkt_layer layers[] = {
            { .type = "onnx",
              .file = GOLDEN "picture/model.onnx",
              .cut = cases[i].cut,
              .n_cut = 2,
              .sizes = cases[i].strides },
            { .type = "concat", .from = cases[i].from, .n_from = 2 },
            { .type = "global_pool" },
        };
        assert_int_not_equal(make(layers, 3, cases[i].side, 2 * C, &m), VKT_OK);
        if (!strstr(line, cases[i].says)) {
            print_error("case %zu: '%s' lacks '%s'\n", i, line, cases[i].says);
            fail();
        }
    }
}

/* A file's names that a layer's position has, too, would be one tensor. */
static void one_name_for_two_tensors(void **state)
{
    (void)state;
    vkt_model *m;
    const vkt_layer layers[] = {
        { .type = "onnx", .file = GOLDEN "picture/model.onnx", .cut = NAMES("/Relu"), .n_cut = 1 },
        { .type = "conv", .out = 2, .name = "conv1" },
        { .type = "global_pool" },
    };
    assert_int_equal(make(layers, 3, 8, 2, &m), VKT_E_ARG);
    assert_non_null(strstr(line, "both the net of the file and a layer behind it have a "
                                 "'conv1.weight'"));
}

/* A net that is cut before its size matters takes other pictures than the file says; whole, it does
 * not. */
static void pictures_of_another_size(void **state)
{
    (void)state;
    vkt_model *m;
    vkt_layer layers[] = { { .type = "onnx", .file = GOLDEN "picture/model.onnx" },
                           { .type = "global_pool" } };
    assert_int_not_equal(make(layers, 1, 16, 4, &m), VKT_OK);
    layers[0].cut = NAMES("/HardSwish");
    layers[0].n_cut = 1;
    assert_int_equal(make(layers, 2, 16, C, &m), VKT_OK);
    assert_int_equal(m->layers.layers[0].out.d[0], 8);
    assert_true(vkt__onnx_net_of(m)->resized);
    vkt_model_destroy(&m);
}

/* A level is the last value of those with the most channels; what the last layer gives does not
 * count. */
static void levels_of_a_net(void **state)
{
    (void)state;
    vkt_backbone_level l[8];
    size_t n = 0;
    const uint32_t shape[] = { 16, 16, 3 }, grey[] = { 16, 16, 1 };
    assert_int_equal(vkt_backbone_levels(GOLDEN "picture/model.onnx", shape, l, 8, &n), VKT_OK);
    assert_int_equal(n, 2); /* the mean of all places is no size */
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(l[k].pixels, k + 1);
        assert_int_equal(l[k].channels, C);
    }
    assert_string_equal(l[0].cut, "/Relu_output_0");
    assert_string_equal(l[1].cut, "/HardSwish_output_0");
    vkt_log_set(keep_line, NULL, VKT_LOG_ERROR);
    assert_int_not_equal(vkt_backbone_levels(GOLDEN "picture/model.onnx", grey, l, 8, &n), VKT_OK);
    assert_non_null(strstr(line, "takes pictures of 3 channels, the data's have 1"));
    assert_int_not_equal(vkt_backbone_levels(GOLDEN "mlp/model.onnx", shape, l, 8, &n), VKT_OK);
    assert_non_null(strstr(line, "its input has 2 dimensions, not the 4"));
    assert_int_not_equal(vkt_backbone_levels(GOLDEN "node_matmul_4d/model.onnx", shape, l, 8, &n),
                         VKT_OK);
    assert_non_null(strstr(line, "it has 2 inputs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cut_is_what_the_net_has_there),
        cmocka_unit_test(all_that_the_cuts_need_is_trained),
        cmocka_unit_test(refusals),
        cmocka_unit_test(one_name_for_two_tensors),
        cmocka_unit_test(pictures_of_another_size),
        cmocka_unit_test(levels_of_a_net),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
