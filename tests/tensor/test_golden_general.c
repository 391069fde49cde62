/* The meaning of general ops: tests/golden/general.json has inputs, outputs and gradients of
 * PyTorch's in double (written by tools/golden/golden_general.py). Both sides compute in double
 * from the same numbers, so they agree to roundings. general.float16.json and general.bfloat16.json
 * have the same cases as PyTorch computes them in 16 bits: the twins of graphs that are narrowed
 * agree to some roundings of the type. */
#include "testing.h"

#include <jansson.h>

#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "tensor/graph/value.h"
#include "tensor/passes/precision.h"

enum { MOST_ELEMENTS = 4096, MOST_INPUTS = 16 };

typedef struct {
    size_t number;
    json_t *file, *attrs, *inputs;
    vkt_tensor *in[MOST_INPUTS], *grad[MOST_INPUTS];
    const vkt_tensor *dout, *out;
    size_t n;
    /* of 16 bits, else NULL and f32 */
    const json_t *narrow;
    vkt_dtype type;
    size_t n_narrow; /* tensors compared that have them */
} golden;

static void fill(const json_t *list, double *data)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        data[i] = json_number_value(json_array_get(list, i));
}

static json_t *of_input(const golden *c, size_t i, const char *key)
{
    return json_object_get(json_array_get(c->inputs, i), key);
}

static void init(void *user, const vkt_tensor *t, double *data)
{
    golden *c = user;
    if (t == c->dout) fill(json_object_get(c->file, "dout"), data);
    for (size_t i = 0; i < c->n; i++)
        if (t == c->in[i]) fill(of_input(c, i, "data"), data);
}

/* Numbers of an op's operands and of what lies within it are rounded on both sides, at other
 * places: some roundings of the type, as a share of the number and of all numbers' root mean
 * square. Attention's scores, of up to 32, are rounded before their exponentials are taken, and
 * each of an RNN's steps, up to 4, rounds its state. */
static void compare_narrow(golden *c, const char *what, const json_t *list, const vkt_tensor *t,
                           const double *got)
{
    const char *op = json_string_value(json_object_get(c->file, "op"));
    double roundings = !strcmp(op, "attention_general") ? 32
                       : !strcmp(op, "rnn")             ? 16
                                                        : 4,
           eps = c->type == VKT_F16 ? 0x1p-11 : 0x1p-8, rms = 0;
    bool narrow = vkt_dtype_bytes(t->dtype) == 2;
    assert_true(json_array_size(list) == t->count);
    for (uint64_t i = 0; i < t->count; i++) {
        double want = json_number_value(json_array_get(list, i));
        rms += want * want / (double)t->count;
    }
    c->n_narrow += narrow;
    for (uint64_t i = 0; i < t->count; i++) {
        double want = json_number_value(json_array_get(list, i));
        bool rounded = !narrow || got[i] == vkt__round_to(c->type, got[i]);
        if (rounded && fabs(got[i] - want) <= roundings * eps * (fabs(want) + sqrt(rms))) continue;
        print_error("case %zu, %s in %s: %s[%u] is %.9g, PyTorch's %.9g: %.1f roundings\n",
                    c->number, op, vkt_dtype_name(c->type), what, (unsigned)i, got[i], want,
                    fabs(got[i] - want) / eps / (fabs(want) + sqrt(rms)));
        fail();
    }
}

static void compare(const golden *c, const char *what, const json_t *list, const vkt_tensor *t,
                    const double *got)
{
    double want[MOST_ELEMENTS], rms = 0;
    assert_true(t->count <= MOST_ELEMENTS && json_array_size(list) == t->count);
    fill(list, want);
    for (uint64_t i = 0; i < t->count; i++) rms += want[i] * want[i] / (double)t->count;
    for (uint64_t i = 0; i < t->count; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-12 * (fabs(want[i]) + sqrt(rms)))) {
            print_error("case %zu, %s: %s[%u] is %.17g, PyTorch's %.17g\n", c->number,
                        json_string_value(json_object_get(c->file, "op")), what, (unsigned)i,
                        got[i], want[i]);
            fail();
        }
}

static void done(void *user, const vkt_tensor *t, const double *data)
{
    golden *c = user;
    const json_t *grads = json_object_get(c->narrow, "grads");
    if (t == c->out && c->narrow)
        compare_narrow(c, "out", json_object_get(c->narrow, "out"), t, data);
    for (size_t i = 0, k = 0; i < c->n && c->narrow; i++) {
        if (!of_input(c, i, "grad")) continue;
        if (t == c->grad[i]) compare_narrow(c, "gradient", json_array_get(grads, k), t, data);
        k++;
    }
    if (c->narrow) return;
    if (t == c->out) compare(c, "out", json_object_get(c->file, "out"), t, data);
    for (size_t i = 0; i < c->n; i++)
        if (t == c->grad[i]) compare(c, "gradient", of_input(c, i, "grad"), t, data);
}

static double attr(const golden *c, const char *key)
{
    return json_number_value(json_object_get(c->attrs, key));
}

static uint32_t whole(const golden *c, const char *key)
{
    return (uint32_t)attr(c, key);
}

static vkt_shape shape_of(const json_t *list)
{
    vkt_shape s = { (uint32_t)json_array_size(list), { 0 } };
    for (uint32_t i = 0; i < s.rank; i++)
        s.d[i] = (uint32_t)json_integer_value(json_array_get(list, i));
    return s;
}

/* A list of numbers, one for each dimension. */
static vkt_shape list(const golden *c, const char *key)
{
    return shape_of(json_object_get(c->attrs, key));
}

static vkt_tensor *convolution(golden *c, vkt_graph *g, const char *op)
{
    vkt_shape pads = list(c, "pads"), strides = list(c, "strides"),
              dilations = list(c, "dilations"), more = list(c, "output_pads");
    vkt_conv_desc d = { .stride = whole(c, "stride"),
                        .dilation = whole(c, "dilation"),
                        .groups = whole(c, "groups"),
                        .pads = pads.d,
                        .strides = strides.rank ? strides.d : NULL,
                        .dilations = dilations.rank ? dilations.d : NULL,
                        .output_pads = more.rank ? more.d : NULL };
    if (!strcmp(op, "conv_transpose2d"))
        return vkt_conv_transpose2d(g, c->in[0], c->in[1], c->in[2], &d, 0);
    if (!strcmp(op, "conv2d")) return vkt_conv2d(g, c->in[0], c->in[1], c->in[2], &d);
    if (!strcmp(op, "conv1d")) return vkt_conv1d(g, c->in[0], c->in[1], c->in[2], &d);
    return vkt_conv_transpose1d(g, c->in[0], c->in[1], c->in[2], &d, whole(c, "output_pad"));
}

static vkt_tensor *attention(golden *c, vkt_graph *g)
{
    bool bias = whole(c, "bias") != 0, mask = whole(c, "mask") != 0;
    vkt_attention_in in = { c->in[0], c->in[1], c->in[2], bias ? c->in[3] : NULL,
                            mask ? c->in[3 + bias] : NULL };
    vkt_attention_desc d = { .heads = whole(c, "heads"),
                             .kv_heads = whole(c, "kv_heads"),
                             .full = whole(c, "full") != 0,
                             .scale = (float)attr(c, "scale") };
    return vkt_attention_general(g, &in, &d);
}

/* The last element of x [B, T, H]. */
static vkt_tensor *last_of(vkt_graph *g, vkt_tensor *x)
{
    const uint32_t *d = x->shape.d;
    x = vkt_slice(g, x, (uint32_t[]) { 0, d[1] - 1, 0 }, (uint32_t[]) { d[0], 1, d[2] }, NULL);
    return vkt_reshape(g, x, vkt_shape2(x->shape.d[0], x->shape.d[2]));
}

static vkt_tensor *recurrent(golden *c, vkt_graph *g)
{
    vkt_tensor *cells;
    vkt_rnn_desc d = { .kind = whole(c, "lstm") ? VKT_RNN_LSTM : VKT_RNN_GRU,
                       .w_ih = c->in[1],
                       .w_hh = c->in[2],
                       .b_ih = c->in[3],
                       .b_hh = c->in[4],
                       .h0 = c->n > 5 ? c->in[5] : NULL,
                       .c0 = c->n > 6 ? c->in[6] : NULL,
                       .reverse = whole(c, "reverse") != 0 };
    vkt_tensor *y = vkt_rnn(g, c->in[0], &d, &cells);
    return whole(c, "cells") ? last_of(g, cells) : y;
}

static vkt_tensor *build(golden *c, vkt_graph *g, const char *op)
{
    vkt_tensor *x = c->in[0], *y = c->in[1];
    uint32_t axis = whole(c, "axis");
    if (!strcmp(op, "unary"))
        return vkt_unary(g, (vkt_fn)whole(c, "fn"), x, (float)attr(c, "s"), (float)attr(c, "t"));
    if (!strcmp(op, "binary")) return vkt_binary(g, (vkt_fn2)whole(c, "fn"), x, y);
    if (!strcmp(op, "where")) return vkt_where(g, x, y, c->in[2]);
    if (!strcmp(op, "permute")) return vkt_permute(g, x, list(c, "order").d);
    if (!strcmp(op, "expand")) return vkt_expand(g, x, list(c, "to"));
    if (!strcmp(op, "slice"))
        return vkt_slice(g, x, list(c, "first").d, list(c, "count").d, list(c, "step").d);
    if (!strcmp(op, "pad"))
        return vkt_pad(g, x, list(c, "before").d, list(c, "after").d, (float)attr(c, "value"));
    if (!strcmp(op, "concat")) return vkt_concat(g, c->in, (uint32_t)c->n, axis);
    if (!strcmp(op, "reduce"))
        return vkt_reduce(g, (vkt_reduction)whole(c, "kind"), x, whole(c, "axes"),
                          whole(c, "keep") != 0);
    if (!strcmp(op, "softmax")) return vkt_softmax_axis(g, x, axis);
    if (!strcmp(op, "log_softmax")) return vkt_log_softmax(g, x, axis);
    if (!strcmp(op, "resize"))
        return vkt_resize(g, x,
                          &(vkt_resize_desc) { (vkt_resize_kind)whole(c, "kind"), whole(c, "h"),
                                               whole(c, "w"), whole(c, "align") != 0 });
    if (!strcmp(op, "conv_transpose2d") && !json_object_get(c->attrs, "pads"))
        return vkt_conv_transpose2d(g, x, y, c->in[2],
                                    &(vkt_conv_desc) { .stride = whole(c, "stride"),
                                                       .pad = whole(c, "pad"),
                                                       .dilation = whole(c, "dilation"),
                                                       .groups = whole(c, "groups") },
                                    whole(c, "output_pad"));
    if (json_object_get(c->attrs, "pads")) return convolution(c, g, op);
    if (json_object_get(c->attrs, "sizes") && json_object_get(c->attrs, "strides")) {
        vkt_shape sizes = list(c, "sizes"), strides = list(c, "strides"),
                  pads = list(c, "window_pads");
        vkt_pool_desc d = { .sizes = sizes.d,
                            .strides = strides.d,
                            .pads = pads.d,
                            .ceil = whole(c, "ceil") != 0,
                            .pixels_only = whole(c, "pixels") != 0 };
        return (strcmp(op, "max_pool") == 0 ? vkt_max_pool : vkt_avg_pool)(g, x, &d);
    }
    if (!strcmp(op, "gather")) return vkt_gather(g, x, y, axis);
    if (!strcmp(op, "arg"))
        return vkt_cast(g,
                        vkt_arg(g, (vkt_reduction)whole(c, "kind"), x, axis, whole(c, "keep") != 0),
                        VKT_F32);
    if (!strcmp(op, "cumsum")) return vkt_cumsum(g, x, axis, whole(c, "backward") != 0);
    if (!strcmp(op, "flip")) return vkt_flip(g, x, whole(c, "axes"));
    if (!strcmp(op, "pad_by"))
        return vkt_pad_by(g, x, (vkt_padding)whole(c, "kind"), list(c, "before").d,
                          list(c, "after").d);
    if (!strcmp(op, "one_hot")) return vkt_one_hot(g, x, whole(c, "n"));
    if (!strcmp(op, "top_k")) {
        vkt_tensor *ids, *top = vkt_top_k(g, x, whole(c, "k"), &ids);
        return whole(c, "ids") ? vkt_cast(g, ids, VKT_F32) : top;
    }
    if (!strcmp(op, "repeat")) return vkt_repeat(g, x, list(c, "counts").d);
    if (!strcmp(op, "split")) {
        vkt_tensor *parts[2];
        vkt_split_along(g, x, list(c, "sizes").d, 2, axis, parts);
        return parts[whole(c, "part")];
    }
    if (!strcmp(op, "instance_norm"))
        return vkt_instance_norm(g, x, y, c->in[2], (float)attr(c, "eps"));
    if (!strcmp(op, "attention_general")) return attention(c, g);
    if (!strcmp(op, "rnn")) return recurrent(c, g);
    if (!strcmp(op, "matmul_broadcast"))
        return vkt_matmul_broadcast(g, (vkt_layout)whole(c, "layout"), x, y);
    assert_string_equal(op, "scatter_add");
    return vkt_scatter_add(g, x, y, axis, whole(c, "size"));
}

static void run_case(golden *c)
{
    vkt_tensor *wrt[MOST_INPUTS], *dwrt[MOST_INPUTS];
    size_t n_wrt = 0, of[MOST_INPUTS];
    vkt_graph *g = vkt__graph_new(NULL);
    c->attrs = json_object_get(c->file, "attrs");
    c->inputs = json_object_get(c->file, "inputs");
    c->n = json_array_size(c->inputs);
    assert_true(c->n <= MOST_INPUTS);
    for (size_t i = 0; i < c->n; i++) {
        c->in[i] = vkt_input(g, shape_of(of_input(c, i, "shape")),
                             json_is_true(of_input(c, i, "words")) ? VKT_U32 : VKT_F32, "in");
        if (of_input(c, i, "grad")) of[n_wrt] = i, wrt[n_wrt++] = c->in[i];
    }
    vkt_tensor *y = build(c, g, json_string_value(json_object_get(c->file, "op")));
    assert_int_equal(g->status, VKT_OK);
    vkt_shape want = shape_of(json_object_get(c->file, "shape"));
    if (!vkt__shape_equal(y->shape, want)) print_error("case %zu: wrong shape\n", c->number);
    assert_true(vkt__shape_equal(y->shape, want));
    c->out = y;
    vkt_tensor *dout = vkt_input(g, want, VKT_F32, "dout");
    c->dout = dout;
    vkt_backward(g, vkt_sum(g, vkt_mul(g, y, dout)), wrt, n_wrt, dwrt);
    assert_int_equal(g->status, VKT_OK);
    for (size_t k = 0; k < n_wrt; k++) c->grad[of[k]] = dwrt[k];
    if (!c->narrow || vkt__narrow_all(g, c->type)) vkt__graph_ref(g, init, c, done);
    vkt_graph_destroy(&g);
}

static void twins_agree_with_pytorch(void **state)
{
    (void)state;
    json_error_t error;
    json_t *file = json_load_file(test_file("golden/general.json"), 0, &error);
    assert_non_null(file);
    for (size_t i = 0; i < json_array_size(file); i++)
        run_case(&(golden) { .number = i, .file = json_array_get(file, i) });
    print_message("%zu cases\n", json_array_size(file));
    assert_true(json_array_size(file) >= 355);
    json_decref(file);
}

static void twins_in_16_bits_agree_with_pytorch(void **state)
{
    (void)state;
    static const struct {
        vkt_dtype type;
        const char *file;
    } types[] = { { VKT_F16, "golden/general.float16.json" },
                  { VKT_BF16, "golden/general.bfloat16.json" } };
    json_error_t error;
    json_t *file = json_load_file(test_file("golden/general.json"), 0, &error);
    for (size_t k = 0; k < VKT_COUNT(types); k++) {
        json_t *narrow = json_load_file(test_file(types[k].file), 0, &error);
        size_t n = 0;
        assert_true(json_array_size(narrow) == json_array_size(file));
        for (size_t i = 0; i < json_array_size(file); i++) {
            golden c = { .number = i,
                         .file = json_array_get(file, i),
                         .narrow = json_array_get(narrow, i),
                         .type = types[k].type };
            run_case(&c);
            n += c.n_narrow;
        }
        print_message("%zu tensors of %s\n", n, vkt_dtype_name(types[k].type));
        assert_true(n >= 250);
        json_decref(narrow);
    }
    json_decref(file);
}

/* ---- what is refused, and told ---- */

typedef vkt_tensor *build_fn(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids);

static vkt_tensor *mismatched(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids;
    return vkt_binary(g, VKT_FN2_DIV, x, y);
}
static vkt_tensor *twice_an_axis(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_permute(g, x, (uint32_t[]) { 0, 0 });
}
static vkt_tensor *expand_wrong(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_expand(g, x, vkt_shape2(6, 4));
}
static vkt_tensor *slice_past(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_slice(g, x, (uint32_t[]) { 0, 1 }, (uint32_t[]) { 3, 2 }, (uint32_t[]) { 1, 3 });
}
static vkt_tensor *pad_much(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_pad(g, x, (uint32_t[]) { UINT32_MAX, 0 }, (uint32_t[]) { 0, 0 }, 0);
}
static vkt_tensor *concat_wrong(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids;
    return vkt_concat(g, (vkt_tensor *[]) { x, y }, 2, 0);
}
static vkt_tensor *concat_of_two_types(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)x, (void)y;
    vkt_tensor *floats = vkt_input(g, vkt_shape1(7), VKT_F32, "floats");
    return vkt_concat(g, (vkt_tensor *[]) { ids, floats }, 2, 0);
}
static vkt_tensor *no_such_axis(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_log_softmax(g, x, 77);
}
static vkt_tensor *largest_of_none(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    uint32_t zero[2] = { 0, 0 };
    return vkt_reduce(g, VKT_REDUCE_MAX, vkt_slice(g, x, zero, (uint32_t[]) { 3, 0 }, NULL), 2,
                      false);
}
static vkt_tensor *resize_to_none(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    x = vkt_reshape(g, x, (vkt_shape) { 4, { 1, 3, 4, 1 } });
    return vkt_resize(g, x, &(vkt_resize_desc) { VKT_RESIZE_NEAREST, 0, 4, false });
}
static vkt_tensor *transpose_wrong(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids;
    return vkt_conv_transpose2d(g, x, y, NULL, &(vkt_conv_desc) { 0 }, 0);
}
static vkt_tensor *ids_of_floats(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids, (void)y;
    return vkt_gather(g, x, x, 0);
}
static vkt_tensor *ids_of_another_shape(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y;
    return vkt_scatter_add(g, x, ids, 1, 9);
}

static vkt_tensor *mirror_much(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_pad_by(g, x, VKT_PAD_REFLECT, (uint32_t[]) { 0, 0 }, (uint32_t[]) { 3, 0 });
}
static vkt_tensor *flip_no_axis(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_flip(g, x, 4);
}
static vkt_tensor *split_less(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    vkt_tensor *parts[2];
    vkt_split_along(g, x, (uint32_t[]) { 1, 2 }, 2, 1, parts);
    return parts[1];
}
/* The last of three parts that does not fit shows where it begins. */
static vkt_tensor *third_part(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)x, (void)ids;
    vkt_tensor *parts[3];
    vkt_split_along(g, y, (uint32_t[]) { 1, 3, 1 }, 3, 1, parts);
    assert_int_equal(parts[2]->node->attr.window.first[1], 4);
    return vkt_flip(g, parts[2], 4);
}
static vkt_tensor *repeat_all(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    x = vkt_reshape(g, x, (vkt_shape) { 4, { 3, 2, 2, 1 } });
    return vkt_repeat(g, x, (uint32_t[]) { 2, 2, 2, 2 });
}
static vkt_tensor *largest_of_two_axes(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_arg(g, VKT_REDUCE_MAX, x, 2, false);
}
static vkt_tensor *classes_of_floats(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_one_hot(g, x, 3);
}
static vkt_tensor *no_classes(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)x, (void)y;
    return vkt_one_hot(g, ids, 0);
}
static vkt_tensor *products_of_two_batches(vkt_graph *g, vkt_tensor *x, vkt_tensor *y,
                                           vkt_tensor *ids)
{
    (void)ids;
    x = vkt_reshape(g, x, vkt_shape3(2, 3, 2)), y = vkt_reshape(g, y, vkt_shape3(3, 1, 5));
    return vkt_matmul_broadcast(g, VKT_LAYOUT_NN, x, y);
}
static vkt_tensor *sums_along_none(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_cumsum(g, x, 2, false);
}
static vkt_tensor *line_of_a_picture(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids;
    return vkt_conv1d(g, vkt_reshape(g, x, (vkt_shape) { 4, { 1, 1, 3, 4 } }), y, NULL,
                      &(vkt_conv_desc) { 0 });
}
static vkt_tensor *attention_to_less(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids;
    x = vkt_reshape(g, x, vkt_shape3(1, 3, 4)), y = vkt_reshape(g, y, vkt_shape3(1, 3, 5));
    return vkt_attention_general(g, &(vkt_attention_in) { x, y, y, NULL, NULL },
                                 &(vkt_attention_desc) { .heads = 2 });
}
static vkt_tensor *bias_of_more(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids, (void)y;
    vkt_tensor *bias = vkt_fill(g, vkt_shape3(7, 3, 3), 0);
    x = vkt_reshape(g, x, vkt_shape3(1, 3, 4));
    return vkt_attention_general(g, &(vkt_attention_in) { x, x, x, bias, NULL },
                                 &(vkt_attention_desc) { .heads = 1 });
}
static vkt_tensor *gates_of_another(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)ids;
    return vkt_rnn(g, vkt_reshape(g, x, vkt_shape3(1, 3, 4)),
                   &(vkt_rnn_desc) { .w_ih = vkt_fill(g, vkt_shape2(9, 4), 0), .w_hh = y }, NULL);
}
static vkt_tensor *more_than_there_are(vkt_graph *g, vkt_tensor *x, vkt_tensor *y, vkt_tensor *ids)
{
    (void)y, (void)ids;
    return vkt_top_k(g, x, 5, NULL);
}

static void wrong_shapes_are_told(void **state)
{
    (void)state;
    static const struct {
        build_fn *build;
        const char *says;
    } cases[] = {
        { mismatched, "binary: div of x [3, 4] f32 and y [3, 5] f32 do not fit" },
        { twice_an_axis, "permute: x [3, 4] f32: the order must name each of its 2 axes once" },
        { expand_wrong, "expand: x [3, 4] f32 can't become [6, 4] f32" },
        { slice_past, "slice: x [3, 4] f32 and [3, 2] f32: the smaller does not lie within" },
        { pad_much, "pad: x [3, 4] f32: axis 0 would have 4294967298 elements" },
        { concat_wrong, "concat: y [3, 5] f32 does not go behind x [3, 4] f32 along axis 0" },
        { concat_of_two_types, "concat: floats [7] f32 does not go behind ids [7] u32" },
        { no_such_axis, "reduce: x [3, 4] f32 has only 2 axes" },
        { largest_of_none, "no elements have no largest" },
        { resize_to_none, "to 0 x 4: it takes [N, H, W, C]" },
        { transpose_wrong, "conv_transpose2d: x [3, 4] f32 and y [3, 5] f32" },
        { ids_of_floats, "must be u32" },
        { mirror_much, "pad: x [3, 4] f32 has not 0 elements to put before and 3 after axis 0" },
        { flip_no_axis, "permute: x [3, 4] f32 has only 2 axes to flip" },
        { split_less, "split: x [3, 4] f32 in 2 parts of 3 elements along axis 1" },
        { third_part, "permute: " },
        { repeat_all, "too many axes are repeated: 7 in all" },
        { largest_of_two_axes, "place: x [3, 4] f32 has only 2 axes" },
        { classes_of_floats, "must be u32" },
        { no_classes, "in 0 classes" },
        { products_of_two_batches, "matmul_broadcast: leading dimensions of" },
        { sums_along_none, "cumsum: x [3, 4] f32 has no axis 2" },
        { line_of_a_picture, "[1, 1, 3, 4] f32 must be [N, L, C]" },
        { more_than_there_are, "top_k: " },
        { attention_to_less, "do not fit 2 heads, 2 of keys" },
        { bias_of_more,
          "bias or mask make the scores [1, 7, 3, 3] f32: they must be [1, 1, 3, 3]" },
        { gates_of_another, "do not fit: a GRU takes [B, T, 3 H] and [H, 3 H]" },
        { ids_of_another_shape, "scatter_add: x [3, 4] f32 and ids ids [7] u32 do not fit" },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_graph *g = vkt__graph_new(NULL);
        TEST_LOG_CAPTURE();
        vkt_tensor *x = vkt_input(g, vkt_shape2(3, 4), VKT_F32, "x"),
                   *y = vkt_input(g, vkt_shape2(3, 5), VKT_F32, "y"),
                   *ids = vkt_input(g, vkt_shape1(7), VKT_U32, "ids");
        assert_true(cases[i].build(g, x, y, ids)->inert);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        assert_int_equal(g->status, VKT_E_SHAPE);
        REQUIRE_LOGGED(cases[i].says);
        vkt_graph_destroy(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twins_agree_with_pytorch),
        cmocka_unit_test(twins_in_16_bits_agree_with_pytorch),
        cmocka_unit_test(wrong_shapes_are_told),
    };
    return cmocka_run_group_tests_name("golden general", tests, NULL, NULL);
}
