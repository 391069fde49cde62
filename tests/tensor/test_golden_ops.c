/* The twins' meaning: tests/golden/ops.json has inputs, outputs and gradients of PyTorch's ops in
 * double (written by tools/golden/golden_ops.py). Both sides compute in double from the same
 * numbers, so they agree to roundings. */
#include "testing.h"

#include <jansson.h>

#include "tensor/ops/experts/ops_expert.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "tensor/ops/ops.h"
#include "vktrain/data.h"

enum { MOST_ELEMENTS = 256 };
static const char *const names[] = {
    "x",           "r", "w", "b",    "y",   "target", "weight", "class_weight", "running_mean",
    "running_var", "k", "v", "docs", "ids", "pos"
};
enum { N_NAMES = sizeof names / sizeof names[0] };

typedef struct {
    const vkt_tensor *count; /* [1] u32, batch norm's */
    const vkt_tensor *tensor[N_NAMES], *dout, *out, *grad[N_NAMES];
    vkt_tensor *order, *segments, *angles; /* made here, not in the file */
    json_t *file, *inputs;
    const char *name;
    double worst;
} golden;

static void fill(const json_t *list, double *data)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        data[i] = json_number_value(json_array_get(list, i));
}

static double attr(const golden *c, const char *key)
{
    return json_number_value(json_object_get(json_object_get(c->file, "attrs"), key));
}

static void fill_order(const golden *c, double *order, double *segments)
{
    const json_t *ids = json_object_get(json_object_get(c->inputs, "ids"), "data");
    uint32_t token[MOST_ELEMENTS], sorted[MOST_ELEMENTS], begin[MOST_ELEMENTS];
    uint32_t n = (uint32_t)c->order->count, n_vocab = (uint32_t)c->segments->count - 1;
    for (uint32_t i = 0; i < n; i++)
        token[i] = (uint32_t)json_integer_value(json_array_get(ids, i));
    vkt_token_order(token, n, n_vocab, sorted, begin);
    for (uint32_t i = 0; i < n && order; i++) order[i] = sorted[i];
    for (uint32_t i = 0; i <= n_vocab && segments; i++) segments[i] = begin[i];
}

static void fill_angles(const golden *c, double *data)
{
    float table[MOST_ELEMENTS];
    vkt_shape s = c->angles->shape;
    vkt_rope_table(s.d[0], s.d[1], attr(c, "theta"), NULL, table);
    for (uint64_t i = 0; i < c->angles->count; i++) data[i] = (double)table[i];
}

static void init(void *user, const vkt_tensor *t, double *data)
{
    golden *c = user;
    if (t == c->order) fill_order(c, data, NULL);
    if (t == c->segments) fill_order(c, NULL, data);
    if (t == c->angles) fill_angles(c, data);
    if (t == c->count) data[0] = 5;
    if (t == c->dout) fill(json_object_get(c->file, "dout"), data);
    for (size_t k = 0; k < N_NAMES; k++)
        if (t == c->tensor[k])
            fill(json_object_get(json_object_get(c->inputs, names[k]), "data"), data);
}

static void compare(golden *c, const char *what, const json_t *list, const vkt_tensor *t,
                    const double *got)
{
    double want[MOST_ELEMENTS], rms = 0;
    assert_true(t->count <= MOST_ELEMENTS);
    assert_int_equal(json_array_size(list), t->count);
    fill(list, want);
    for (uint64_t i = 0; i < t->count; i++) rms += want[i] * want[i] / (double)t->count;
    for (uint64_t i = 0; i < t->count; i++) {
        double limit = 1e-12 * (fabs(want[i]) + sqrt(rms)), err = fabs(got[i] - want[i]);
        if (!(err <= limit)) {
            print_error("%s: %s[%u] is %.17g, PyTorch's %.17g\n", c->name, what, (unsigned)i,
                        got[i], want[i]);
            fail();
        }
        if (err > 0) c->worst = VKT_MAX(c->worst, err / limit);
    }
}

static void done(void *user, const vkt_tensor *t, const double *data)
{
    golden *c = user;
    if (t == c->out) compare(c, "out", json_object_get(c->file, "out"), t, data);
    for (size_t k = 0; k < N_NAMES; k++)
        if (t == c->grad[k])
            compare(c, names[k], json_object_get(json_object_get(c->inputs, names[k]), "grad"), t,
                    data);
    /* What the op leaves in its state. */
    const json_t *after = json_object_get(c->file, "after");
    for (size_t k = 0; k < N_NAMES; k++)
        if (t == c->tensor[k] && json_object_get(after, names[k]))
            compare(c, names[k], json_object_get(after, names[k]), t, data);
    if (t == c->count && json_object_get(after, "count"))
        compare(c, "count", json_object_get(after, "count"), t, data);
}

static uint32_t whole(const golden *c, const char *key)
{
    return (uint32_t)attr(c, key);
}

/* Ops of images; NULL: another op. */
static vkt_tensor *build_image(golden *c, const char *op, vkt_graph *g, vkt_tensor *const *in)
{
    vkt_tensor *x = in[0], *w = in[2], *b = in[3];
    vkt_pool_desc pool = { whole(c, "size"), whole(c, "stride"), whole(c, "pad") };
    vkt_conv_desc conv = { .stride = whole(c, "stride"),
                           .pad = whole(c, "pad"),
                           .dilation = whole(c, "dilation"),
                           .groups = whole(c, "groups") };
    if (!strcmp(op, "conv2d")) return vkt_conv2d(g, x, w, b, &conv);
    if (!strcmp(op, "max_pool")) return vkt_max_pool(g, x, &pool);
    if (!strcmp(op, "avg_pool")) return vkt_avg_pool(g, x, &pool);
    if (!strcmp(op, "global_pool")) return vkt_global_avg_pool(g, x);
    if (!strcmp(op, "flatten")) return vkt_flatten(g, x);
    if (!strcmp(op, "pad2d")) return vkt_pad2d(g, x, 1, 2, 3, 0);
    if (!strcmp(op, "group_norm"))
        return vkt_group_norm(g, x, w, b, whole(c, "groups"), (float)attr(c, "eps"));
    if (strcmp(op, "batch_norm")) return NULL;
    vkt_tensor *count = vkt_input(g, vkt_shape1(1), VKT_U32, "count");
    c->count = count;
    vkt_batch_norm_desc norm = { .w = w,
                                 .b = b,
                                 .running_mean = in[8],
                                 .running_var = in[9],
                                 .count = count,
                                 .eps = (float)attr(c, "eps"),
                                 .momentum = 0.1f,
                                 .virtual_batch = whole(c, "virtual"),
                                 .train = whole(c, "train") };
    return vkt_batch_norm(g, x, &norm);
}

static vkt_tensor *build(golden *c, const char *op, vkt_graph *g, vkt_tensor *const *in)
{
    vkt_tensor *image = build_image(c, op, g, in);
    if (image) return image;
    vkt_tensor *x = in[0], *r = in[1], *w = in[2], *b = in[3], *y = in[4], *target = in[5],
               *weight = in[6], *class_weight = in[7];
    if (!strcmp(op, "layernorm")) return vkt_layernorm(g, x, w, b, r, (float)attr(c, "eps"), NULL);
    if (!strcmp(op, "rmsnorm")) return vkt_rmsnorm(g, x, w, r, (float)attr(c, "eps"), NULL);
    if (!strcmp(op, "mse")) return vkt_mse(g, x, y, weight).loss;
    if (!strcmp(op, "element_loss")) {
        vkt_element_loss_desc desc = { (vkt_element_loss)whole(c, "kind"), weight, class_weight,
                                       (float)attr(c, "delta") };
        return vkt_element_losses(g, x, y, &desc).loss;
    }
    if (!strcmp(op, "focal")) {
        vkt_tensor *ce = vkt_softmax_xent(g, x, target, NULL, NULL, NULL).loss;
        return vkt_focal(
            g, ce, &(vkt_focal_desc) { weight, class_weight, target, (float)attr(c, "gamma") });
    }
    if (!strcmp(op, "lookup")) return vkt_lookup(g, y, w, whole(c, "plain"));
    if (!strcmp(op, "experts")) {
        vkt__routes to = vkt__route(g, vkt_softmax(g, r), whole(c, "k"), attr(c, "norm") > 0);
        vkt_tensor *rows = vkt__expert_gather(g, x, &to);
        return vkt__expert_combine(g, vkt__expert_linear(g, rows, w, &to), &to);
    }
    if (!strcmp(op, "softmax")) return vkt_softmax(g, x);
    if (!strcmp(op, "act")) return vkt_activate(g, x, (vkt_act)attr(c, "act"));
    if (!strcmp(op, "linear")) return vkt_linear(g, x, w, b, (vkt_act)attr(c, "act"));
    if (!strcmp(op, "gated")) return vkt_gated(g, x, y, (vkt_act)attr(c, "act"));
    if (!strcmp(op, "attention")) {
        vkt_attention_desc desc = { .heads = (uint32_t)attr(c, "heads"),
                                    .kv_heads = (uint32_t)attr(c, "kv_heads"),
                                    .window = (uint32_t)attr(c, "window"),
                                    .full = attr(c, "full") > 0 };
        return vkt_attention(g, x, in[10], in[11], in[12], NULL, &desc);
    }
    if (!strcmp(op, "rope")) {
        uint32_t D = (uint32_t)attr(c, "head");
        c->angles = vkt_input(g, vkt_shape2(x->shape.d[1], D), VKT_F32, "angles");
        vkt_rope_desc desc = { D, (uint32_t)attr(c, "heads"),
                               attr(c, "halves") > 0 ? VKT_ROPE_HALF : VKT_ROPE_INTERLEAVED };
        return vkt_rope(g, x, c->angles, NULL, NULL, &desc);
    }
    if (!strcmp(op, "embedding")) {
        c->order = vkt_input(g, vkt_shape1((uint32_t)in[13]->count), VKT_U32, "order");
        c->segments = vkt_input(g, vkt_shape1(x->shape.d[0] + 1), VKT_U32, "segments");
        return vkt_embedding(g, &(vkt_embedding_in) { .table = x,
                                                      .ids = in[13],
                                                      .pos = in[14],
                                                      .order = c->order,
                                                      .segments = c->segments });
    }
    assert_string_equal(op, "xent");
    vkt_xent_desc desc = { .smoothing = (float)attr(c, "smoothing") };
    if (attr(c, "ignore") > 0) /* the file has one more, 0: none */
        desc.ignore_index = (vkt_maybe) { true, (uint32_t)attr(c, "ignore") - 1 };
    return vkt_softmax_xent(g, x, target, weight, class_weight, &desc).loss;
}

static bool is_whole_number(const char *name)
{
    return !strcmp(name, "target") || !strcmp(name, "docs") || !strcmp(name, "ids");
}

static double check_case(json_t *file)
{
    golden c = { .file = file,
                 .inputs = json_object_get(file, "inputs"),
                 .name = json_string_value(json_object_get(file, "name")) };
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *in[N_NAMES] = { 0 }, *wrt[N_NAMES], *dwrt[N_NAMES];
    size_t n = 0, which[N_NAMES];
    for (size_t k = 0; k < N_NAMES; k++) {
        const json_t *input = json_object_get(c.inputs, names[k]),
                     *dims = json_object_get(input, "shape");
        if (!input) continue;
        vkt_shape shape = { (uint32_t)json_array_size(dims), { 0 } };
        for (uint32_t d = 0; d < shape.rank; d++)
            shape.d[d] = (uint32_t)json_integer_value(json_array_get(dims, d));
        c.tensor[k] = in[k] =
            vkt_input(g, shape, is_whole_number(names[k]) ? VKT_U32 : VKT_F32, names[k]);
        if (!json_object_get(input, "grad")) continue;
        which[n] = k;
        wrt[n++] = in[k];
    }
    vkt_tensor *out = build(&c, json_string_value(json_object_get(file, "op")), g, in);
    vkt_tensor *dout = vkt_input(g, out->shape, VKT_F32, "dout");
    c.out = out;
    c.dout = dout;
    vkt_backward(g, vkt_mul(g, out, dout), wrt, n, dwrt);
    assert_int_equal(g->status, VKT_OK);
    for (size_t k = 0; k < n; k++) c.grad[which[k]] = dwrt[k];
    vkt__graph_ref(g, init, &c, done);
    vkt_graph_destroy(&g);
    return c.worst;
}

static void twins_mean_what_pytorch_means(void **state)
{
    (void)state;
    json_error_t error;
    json_t *root = json_load_file(test_file("golden/ops.json"), 0, &error);
    if (!root) print_error("%s: %s\n", error.source, error.text);
    assert_non_null(root);
    json_t *cases = json_object_get(root, "cases");
    double worst = 0;
    for (size_t i = 0; i < json_array_size(cases); i++)
        worst = VKT_MAX(worst, check_case(json_array_get(cases, i)));
    print_message("%u cases of PyTorch %s, %.2g of the tolerance\n",
                  (unsigned)json_array_size(cases),
                  json_string_value(json_object_get(root, "torch")), worst);
    assert_true(json_array_size(cases) >= 60);
    json_decref(root);
}

/* The bounds of the angles that are mixed are those of transformers 5.12's yarn: the last one is an
 * index below the number of values that turn, also where the formula is beyond it. */
static void a_slow_yarn_mixes_up_to_the_last_angle(void **state)
{
    (void)state;
    const vkt_rope_scaling yarn = {
        .kind = VKT_ROPE_YARN, .factor = 4, .low = 1, .high = 32, .context = 1000
    };
    const double want[4] = { 1, 0.5623413324356079, 0.3162277638912201, 0.15115374326705933 };
    for (uint32_t i = 0; i < 4; i++)
        assert_true(fabs(vkt__rope_frequency(i, 8, 10, &yarn) - want[i]) < 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(twins_mean_what_pytorch_means),
                                        cmocka_unit_test(a_slow_yarn_mixes_up_to_the_last_angle) };
    return cmocka_run_group_tests_name("golden_ops", tests, NULL, NULL);
}
