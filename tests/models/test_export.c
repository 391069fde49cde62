/* train: protocol buffers byte by byte, and the ONNX file of a trained model read back here. That
 * ONNX Runtime agrees with it is checked in the lab (tools/compare/check_onnx.sh). */
#include "recipe_run.h"

#include "formats/protobuf.h"

#define RUN "test_export_tmp"

static void protobuf_bytes(void **state)
{
    (void)state;
    vkt__str m = { 0 }, inner = { 0 };
    vkt__pb_int(&m, 1, 150); /* the encoding guide's own examples */
    vkt__pb_text(&m, 2, "testing");
    vkt__pb_int(&inner, 1, 150);
    vkt__pb_message(&m, 3, &inner);
    vkt__pb_int(&m, 1, -2);
    vkt__pb_float(&m, 20, 1.5f);
    static const uint8_t want[] = "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"
                                  "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                  "\xa5\x01\x00\x00\xc0\x3f";
    assert_int_equal(m.len, sizeof want - 1);
    assert_memory_equal(m.data, want, m.len);
    assert_int_equal(inner.len, 0);
    vkt__str_finish(&m);
    vkt__str_finish(&inner);
}

/* One field; false at the end. Length-delimited ones give their bytes. */
typedef struct field {
    uint32_t number;
    uint64_t value;
    const uint8_t *data;
} field;

static uint64_t varint(const uint8_t **p)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        v |= (uint64_t)(**p & 127) << shift;
        if (!(*(*p)++ & 128)) return v;
    }
}

static bool next(const uint8_t **p, const uint8_t *end, field *f)
{
    if (*p >= end) return false;
    uint64_t key = varint(p);
    f->number = (uint32_t)(key >> 3);
    f->data = *p;
    if ((key & 7) == 0) f->value = varint(p);
    if ((key & 7) == 5) *p += 4;
    if ((key & 7) == 2) {
        f->value = varint(p);
        f->data = *p;
        *p += f->value;
    }
    assert_true(*p <= end);
    return true;
}

/* Appends " name=1,2" of an attribute of whole numbers; of others nothing. */
static void describe_attribute(const field *attribute, vkt__str *out)
{
    field g, name = { 0 };
    const char *between = "=";
    for (const uint8_t *q = attribute->data; next(&q, attribute->data + attribute->value, &g);) {
        if (g.number == 1) name = g;
        if (g.number != 3 && g.number != 8) continue; /* i, ints */
        if (*between == '=')
            vkt__str_printf(out, " %.*s", (int)name.value, (const char *)name.data);
        vkt__str_printf(out, "%s%lld", between, (long long)g.value);
        between = ",";
    }
}

/* Appends the op types of the nodes with their attributes, and the names of inputs and outputs. */
static void describe(const uint8_t *graph, size_t n, vkt__str *out, size_t *n_weights)
{
    field f, g;
    for (const uint8_t *p = graph; next(&p, graph + n, &f);) {
        uint32_t name = f.number == 1 ? 4 : 1;
        *n_weights += f.number == 5;
        if (f.number != 1 && f.number != 11 && f.number != 12) continue;
        for (const uint8_t *q = f.data; next(&q, f.data + f.value, &g);)
            if (g.number == name) vkt__str_printf(out, "%.*s", (int)g.value, (const char *)g.data);
        for (const uint8_t *q = f.data; f.number == 1 && next(&q, f.data + f.value, &g);)
            if (g.number == 5) describe_attribute(&g, out);
        vkt__str_printf(out, "; ");
    }
}

static vkt_train_result exported;

/* Trains two steps and exports the model; the nodes in *text. */
static size_t export_recipe(const char *data, const char *model, vkt__str *text)
{
    vkt__str recipe = { 0 };
    char *file;
    size_t n, n_weights = 0;
    field f;
    REQUIRE_OK(vkt__remove_tree(RUN "/run"));
    vkt__str_printf(&recipe, "data: {%s}\ntrain: {steps: 2, batch: 32}\nmodel:\n%s", data, model);
    REQUIRE_OK(
        train_recipe(recipe.data, NULL, &(vkt_train_desc) { .run_dir = RUN "/run" }, &exported));
    vkt__str_finish(&recipe);
    REQUIRE_OK(vkt_export(&(vkt_gpu_desc) { 0 }, RUN "/run", RUN "/m.onnx"));
    REQUIRE_OK(vkt__file_read(RUN "/m.onnx", 1 << 20, &file, &n));
    const uint8_t *start = (const uint8_t *)file;
    for (const uint8_t *p = start; next(&p, start + n, &f);)
        if (f.number == 7) describe(f.data, f.value, text, &n_weights);
    free(file);
    return n_weights;
}

/* The same on the digits. */
static size_t export_model(const char *model, vkt__str *text)
{
    return export_recipe("source: digits", model, text);
}

/* What was exported last, trained at a rate that changes nothing, has the loss that it had. */
static void exported_is_what_was_trained(void)
{
    vkt_train_result again;
    REQUIRE_OK(vkt__remove_tree(RUN "/again"));
    REQUIRE_OK(train_recipe("data: {source: digits}\ninit: " RUN "/m.onnx\n"
                            "optim: {rule: sgd, lr: 1e-12}\ntrain: {steps: 1, batch: 32}\n",
                            NULL, &(vkt_train_desc) { .run_dir = RUN "/again" }, &again));
    REQUIRE_NEAR(again.valid_loss, exported.valid_loss, 1e-5);
}

static void onnx_of_linear_layers(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    size_t n_weights = export_model("  - flatten\n  - linear: 6\n  - relu\n"
                                    "  - residual: {body: [layernorm, silu]}\n  - linear\n",
                                    &text);
    assert_string_equal(text.data,
                        "Reshape; Gemm transB=1; Relu; LayerNormalization axis=-1; Sigmoid; Mul; "
                        "Add; Gemm transB=1; Identity; Div; Softmax axis=-1; input; logits; "
                        "probabilities; ");
    assert_int_equal(n_weights, 8); /* six tensors, the shape of the flattening, the temperature */
    vkt__str_finish(&text);
}

/* Around a layer of images, whose channels are first in ONNX. */
#define FIRST "Transpose perm=0,3,1,2; "
#define LAST "Transpose perm=0,2,3,1; "

static void onnx_of_image_layers(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    size_t n_weights = export_model("  - conv: {out: 4, bias: false}\n  - batch_norm\n  - relu\n"
                                    "  - avg_pool: {size: 3, stride: 1, pad: 1}\n"
                                    "  - max_pool\n  - flatten\n  - linear\n",
                                    &text);
    assert_string_equal(text.data, FIRST
                        "Conv kernel_shape=3,3 strides=1,1 pads=1,1,1,1 dilations=1,1 "
                        "group=1; " LAST FIRST "BatchNormalization; " LAST "Relu; " FIRST
                        "AveragePool kernel_shape=3,3 strides=1,1 pads=1,1,1,1 "
                        "count_include_pad=1; " LAST FIRST
                        "MaxPool kernel_shape=2,2 strides=2,2 pads=0,0,0,0; " LAST
                        "Reshape; Transpose perm=0,2,1; Reshape; Gemm transB=1; Identity; Div; "
                        "Softmax axis=-1; input; logits; probabilities; ");
    assert_int_equal(n_weights,
                     10); /* filter, four of the norm, two of the linear, two shapes, T */
    vkt__str_finish(&text);
}

static void other_endings(void **state)
{
    (void)state;
    /* Another export to the same path may be writing beside it: each has a name of its own. */
    REQUIRE_OK(vkt__mkdirs(RUN "/m.safetensors.tmp"));
    REQUIRE_OK(vkt_export(&(vkt_gpu_desc) { 0 }, RUN "/run", RUN "/m.safetensors"));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_export(&(vkt_gpu_desc) { 0 }, RUN "/run", RUN "/m.pb"), VKT_E_ARG);
    REQUIRE_LOGGED("ends in neither .onnx nor .safetensors");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static int clean(void **state)
{
    (void)state;
    return vkt__remove_tree(RUN);
}

static void onnx_of_graphs(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    export_model("  - max_pool: {name: low}\n"
                 "  - conv_transpose: {out: 4, kernel: 3, pad: 1, output_pad: 1, name: up}\n"
                 "  - upsample: {from: low, name: near}\n"
                 "  - concat: {from: [up, near], axis: 2}\n"
                 "  - slice: {axis: 1, first: 1, count: 2, step: 3}\n  - permute: [2, 0, 1]\n"
                 "  - reshape: {shape: [5, 16], name: rows}\n"
                 "  - slice: {axis: 0, count: 1, name: one}\n  - mul: [rows, one]\n"
                 "  - flatten\n  - linear\n",
                 &text);
    assert_string_equal(
        text.data,
        FIRST "MaxPool kernel_shape=2,2 strides=2,2 pads=0,0,0,0; " LAST FIRST
              "ConvTranspose kernel_shape=3,3 strides=2,2 pads=1,1,1,1 dilations=1,1 "
              "output_padding=1,1 group=1; " LAST "Add; " FIRST "Resize axes=2,3; " LAST
              "Concat axis=3; Slice; Transpose perm=0,3,1,2; Reshape; Slice; Mul; Reshape; Gemm "
              "transB=1; Identity; Div; Softmax axis=-1; input; logits; probabilities; ");
    vkt__str_finish(&text);
}

/* The members' mean is in the file. */
static void onnx_of_members(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    export_model("  - flatten\n  - members: {count: 3, body: [{linear: 8}, relu], shortcut: "
                 "[linear]}\n",
                 &text);
    assert_string_equal(
        text.data, "Reshape; Reshape; Mul; Transpose; MatMul; Add; Relu; Mul; "
                   "Transpose; MatMul; Add; Gemm transB=1; Reshape; Add; ReduceMean "
                   "keepdims=0; Identity; Div; Softmax axis=-1; input; logits; probabilities; ");
    vkt__str_finish(&text);
}

/* Weights with their gates in ONNX's order, sequences first; and what is not written says so. */
static void onnx_of_sequences(void **state)
{
    (void)state;
    vkt__str text = { 0 };
#define ROWS "Gather axis=0; Unsqueeze; "
#define TURN "Transpose perm=1,0,2; "
    export_model("  - reshape: {shape: [8, 0]}\n  - gru: {out: 3}\n"
                 "  - lstm: {out: 5, bias: false, last: true}\n  - linear\n",
                 &text);
    assert_string_equal(text.data, ROWS ROWS ROWS ROWS
                        "Concat axis=1; Reshape; " TURN
                        "GRU hidden_size=3 linear_before_reset=1; Squeeze; " TURN ROWS ROWS TURN
                        "LSTM hidden_size=5; Squeeze; " TURN "Slice; Reshape; Gemm transB=1; "
                        "Identity; Div; Softmax axis=-1; input; logits; probabilities; ");
    vkt__str_finish(&text);
}

/* Queries of one sequence to keys of another: by the fused attention, whose heads have a multiple
 * of four channels, and by its parts. Matrices that lie in one are cut along their first axis. */
static void onnx_of_attention_across(void **state)
{
    (void)state;
    vkt__str text = { 0 };
#define LINEAR "Transpose; MatMul; Add; "
#define THIRD "Slice; Slice; " LINEAR
#define HEADS "Reshape; Transpose perm=0,2,1,3; "
#define WEIGHED "Softmax axis=-1; MatMul; Transpose perm=0,2,1,3; Reshape; " LINEAR
    size_t n_weights = export_model(
        "  - reshape: {shape: [4, 16], name: asks}\n  - reshape: {shape: [8, 8], name: answers, "
        "from: input}\n"
        "  - cross_attention: {from: [asks, answers], heads: 2, name: other}\n"
        "  - cross_attention: {from: [other, asks], heads: 8, name: same}\n"
        "  - flatten\n  - linear\n",
        &text);
    assert_string_equal(text.data,
                        "Slice; Reshape; " LINEAR "Slice; Reshape; " LINEAR "Slice; " LINEAR HEADS
                        "Reshape; Transpose perm=0,2,3,1; " HEADS
                        "MatMul; Mul; " WEIGHED THIRD THIRD THIRD "Mul; " HEADS HEADS HEADS
                        "Transpose perm=0,1,3,2; MatMul; " WEIGHED "Reshape; Gemm transB=1; "
                        "Identity; Div; Softmax axis=-1; input; logits; probabilities; ");
    assert_true(n_weights > 12);
    vkt__str_finish(&text);
    exported_is_what_was_trained();
}

/* Each head's output by its layer's name. */
static void onnx_of_several_outputs(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    export_model("  - flatten: {name: all}\n  - linear: {name: early}\n"
                 "  - linear: {from: all, name: late}\nlosses: [{on: late}, {on: early}]\n",
                 &text);
    assert_string_equal(text.data,
                        "Reshape; Gemm transB=1; Gemm transB=1; Identity; Div; Softmax axis=-1; "
                        "input; logits; probabilities; Identity; early.output; ");
    vkt__str_finish(&text);
}

/* A new layer is numbered as one of the part of the file's net that is cut off. */
static void onnx_of_a_name_behind_the_cut(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    export_model("  - flatten\n  - linear: 6\n  - relu\n  - linear\n", &text);
    REQUIRE_OK(vkt__rename(RUN "/m.onnx", RUN "/net.onnx"));
    export_model("  - onnx: {file: " RUN "/net.onnx, cut: t7}\n  - relu\n  - relu\n  - linear\n",
                 &text);
    vkt__str_finish(&text);
    exported_is_what_was_trained();
}

/* Outputs of `losses` behind a file's net, and of the net itself. */
static void onnx_of_several_outputs_behind_a_net(void **state)
{
    (void)state;
    vkt__str text = { 0 }, rows = { 0 };
    vkt__str_printf(&rows, "x,a,b\n");
    for (int i = 0; i < 60; i++) vkt__str_printf(&rows, "%d,%d,%d\n", i, i * i % 7, i * i % 11);
    REQUIRE_OK(vkt__file_replace(RUN "/rows.csv", rows.data, rows.len));
    vkt__str_finish(&rows);
    static const char data[] = "source: csv, path: " RUN "/rows.csv, "
                               "label: [a, b], task: regress";
    export_recipe(data, "  - linear\n", &text);
    text.len = 0;
    REQUIRE_OK(vkt__rename(RUN "/m.onnx", RUN "/net.onnx"));
    export_recipe(data,
                  "  - onnx: {file: " RUN "/net.onnx, cut: value, name: net}\n"
                  "  - linear: {name: late}\nlosses: [{on: net}, {on: late}]\n",
                  &text);
    assert_string_equal(
        text.data,
        "Gemm transB=1; Identity; input; Gemm transB=1; Slice; Slice; Concat axis=1; Identity; "
        "Mul; Add; value_2; prediction; Identity; net.output; Identity; late.output; ");
    vkt__str_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(protobuf_bytes),
                                        cmocka_unit_test(onnx_of_linear_layers),
                                        cmocka_unit_test(onnx_of_image_layers),
                                        cmocka_unit_test(onnx_of_graphs),
                                        cmocka_unit_test(onnx_of_members),
                                        cmocka_unit_test(onnx_of_sequences),
                                        cmocka_unit_test(onnx_of_several_outputs),
                                        cmocka_unit_test(onnx_of_a_name_behind_the_cut),
                                        cmocka_unit_test(onnx_of_several_outputs_behind_a_net),
                                        cmocka_unit_test(onnx_of_attention_across),
                                        cmocka_unit_test(other_endings) };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("export", tests, clean, clean);
}
