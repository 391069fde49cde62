/* The blocks of vision models on the device in bf16 and fp16: outputs and gradients beside the
 * twins' of the plain graph in double, which test_golden_layers holds against PyTorch. */
#include "testing.h"

#include "on_device.h"
#include "nn/params.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"

enum { B = 4, N_OUTPUTS = 8, MOST = 32 };

typedef struct block {
    const char *name;
    vkt_layer layer;
    vkt_shape input;
} block;

#define MAP                                                                                        \
    {                                                                                              \
        3,                                                                                         \
        {                                                                                          \
            6, 6, 16                                                                               \
        }                                                                                          \
    }
static const block blocks[] = {
    { "vit_block", { .type = "vit_block", .heads = 2 }, { 2, { 12, 16 } } },
    { "convnext_block", { .type = "convnext_block", .init_scale = 1 }, MAP },
    { "inverted_block, squeeze, 5x5, stride 2",
      { .type = "inverted_block",
        .out = 24,
        .hidden = 32,
        .kernel = 5,
        .stride = 2,
        .squeeze = true,
        .activation = "hardswish" },
      MAP },
};

static vkt_gpu *gpu;

static vkt_model *model_of(vkt_gpu *of, const block *b, vkt_dtype precision)
{
    vkt_layer layers[] = { b->layer, { .type = "flatten" }, { .type = "linear" } };
    vkt_model_desc desc = { .layers = layers,
                            .n_layers = VKT_COUNT(layers),
                            .input = b->input,
                            .n_outputs = N_OUTPUTS,
                            .precision = precision };
    vkt_model *m;
    REQUIRE_OK(vkt_model_create(of, &desc, &m));
    return m;
}

/* Biases of 0 and gains of 1 would leave gradients that cancel: a gain before a depthwise
 * convolution and another batch norm has none. */
static void disturb(vkt_model *m)
{
    vkt_buffer *b = vkt_model_values(m);
    float *v = vkt__alloc(b->bytes);
    REQUIRE_OK(vkt_buffer_read(gpu, b, 0, v, b->bytes));
    for (uint64_t i = 0; i < b->bytes / 4; i++)
        v[i] += 0.35f * (float)vkt_rand_normal(3, VKT_RNG_TEST, i);
    REQUIRE_OK(vkt_buffer_write(gpu, b, 0, v, b->bytes));
    REQUIRE_OK(vkt_model_values_changed(m));
    free(v);
}

typedef struct built {
    vkt_graph *g;
    vkt_tensor *x, *dout, *result[MOST]; /* the output, dx, and a gradient for each parameter */
    size_t n;
    double *want[MOST]; /* by the twins */
} built;

static built build(vkt_gpu *of, vkt_model *m, const block *b)
{
    built k = { .g = vkt__graph_new(of) };
    vkt_shape in = { .rank = b->input.rank + 1, .d = { B } };
    memcpy(in.d + 1, b->input.d, b->input.rank * sizeof *in.d);
    k.x = vkt_input(k.g, in, VKT_F32, "x");
    vkt_tensor *y = vkt_model_build(m, k.g, k.x, true), *wrt[MOST] = { k.x };
    size_t n;
    vkt_tensor *const *params = vkt_model_params(m, k.g, &n);
    assert_true(n + 2 <= MOST);
    memcpy(wrt + 1, params, n * sizeof(vkt_tensor *));
    k.dout = vkt_input(k.g, y->shape, VKT_F32, "dout");
    k.result[0] = y;
    vkt_backward(k.g, vkt_mul(k.g, y, k.dout), wrt, n + 1, k.result + 1);
    k.n = n + 2;
    assert_int_equal(k.g->status, VKT_OK);
    return k;
}

static float value(const built *k, const vkt_tensor *t, uint64_t i)
{
    return (float)vkt_rand_normal(t == k->x ? 1 : 2, VKT_RNG_TEST, i);
}

static void fill(void *user, const vkt_tensor *t, double *data)
{
    const built *k = user;
    for (uint64_t i = 0; i < t->count; i++) {
        const void *host = t->bound ? (char *)t->buf[0]->host + t->buf_offset[0] : NULL;
        if (t == k->x || t == k->dout)
            data[i] = value(k, t, i);
        else if (host && t->dtype == VKT_U32)
            data[i] = (double)((const uint32_t *)host)[i];
        else if (host)
            data[i] = (double)((const float *)host)[i];
    }
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    built *k = user;
    for (size_t i = 0; i < k->n; i++) {
        if (t != k->result[i]) continue;
        k->want[i] = vkt__alloc(t->count * sizeof *data);
        memcpy(k->want[i], data, t->count * sizeof *data);
    }
}

/* The weights of a model on the device. */
static built exact(const block *b, const vkt_model *from, vkt_model **m)
{
    *m = model_of(NULL, b, VKT_F32);
    vkt_buffer *to[] = { vkt_model_values(*m), vkt_model_states(*m) }, *const of[] = {
        vkt_model_values(from), vkt_model_states(from)
    };
    for (size_t i = 0; i < VKT_COUNT(to); i++)
        if (to[i] && of[i]) REQUIRE_OK(vkt_buffer_read(gpu, of[i], 0, to[i]->host, to[i]->bytes));
    built k = build(NULL, *m, b);
    vkt__graph_ref(k.g, fill, &k, take);
    return k;
}

/* As in test_precision: the norm of the error after n roundings, relative to the result's. */
static void compare(const block *b, const built *k, const built *twin, vkt_dtype dtype)
{
    static float got[1 << 14];
    uint32_t roundings = k->g->narrow.n_tensors + k->g->narrow.n_casts + k->g->narrow.n_shadows;
    assert_true(roundings > 8);
    for (size_t i = 0; i < k->n; i++) {
        double error = 0, norm = 0;
        assert_true(k->result[i]->bytes <= sizeof got && twin->want[i]);
        REQUIRE_OK(vkt_tensor_read(k->result[i], 0, got, k->result[i]->bytes));
        for (uint64_t e = 0; e < k->result[i]->count; e++) {
            double d = (double)got[e] - twin->want[i][e];
            error += d * d;
            norm += twin->want[i][e] * twin->want[i][e];
        }
        double limit = vkt__tol(dtype, roundings), is = sqrt(error / norm);
        if (!(is <= limit))
            fail_msg("%s in %s: result %zu is %.3g from the twin's, limit %.3g", b->name,
                     vkt_dtype_name(dtype), i, is, limit);
    }
}

static void check(const block *b, vkt_dtype dtype)
{
    vkt_model *m = model_of(gpu, b, dtype), *plain;
    vkt_buffer *buf;
    REQUIRE_OK(vkt_model_init(m, 1));
    disturb(m);
    built twin = exact(b, m, &plain), k = build(gpu, m, b);
    uint64_t at = vkt__align(k.x->bytes, 256);
    REQUIRE_OK(vkt_buffer_create(
        gpu, &(vkt_buffer_desc) { at + k.dout->bytes, VKT_MEM_DEVICE, "test" }, &buf));
    vkt_bind(k.x, VKT_ALL_SLOTS, buf, 0);
    vkt_bind(k.dout, VKT_ALL_SLOTS, buf, at);
    for (size_t i = 0; i < k.n; i++) vkt_keep(k.result[i], "result");
    REQUIRE_OK(vkt_graph_compile(k.g, &(vkt_plan_desc) { .label = "test" }));
    for (int i = 0; i < 2; i++) {
        vkt_tensor *t = i ? k.dout : k.x;
        float *data = vkt__alloc(t->bytes);
        for (uint64_t e = 0; e < t->count; e++) data[e] = value(&k, t, e);
        REQUIRE_OK(vkt_tensor_write(t, 0, data, t->bytes));
        free(data);
    }
    REQUIRE_OK(vkt_graph_run(k.g));
    compare(b, &k, &twin, dtype);
    for (size_t i = 0; i < twin.n; i++) free(twin.want[i]);
    vkt_graph_destroy(&twin.g);
    vkt_graph_destroy(&k.g);
    vkt_model_destroy(&plain);
    vkt_model_destroy(&m);
    vkt_buffer_destroy(gpu, &buf);
}

static void blocks_agree_with_their_twins(void **state)
{
    (void)state;
    static const vkt_dtype types[] = { VKT_BF16, VKT_F16 };
    vkt_gpu_desc desc = test_gpu_desc("");
    REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
    for (size_t i = 0; i < VKT_COUNT(blocks); i++)
        for (size_t t = 0; t < VKT_COUNT(types); t++) check(&blocks[i], types[t]);
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
    vkt_gpu_destroy(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(blocks_agree_with_their_twins) };
    return cmocka_run_group_tests_name("vision_blocks", tests, NULL, NULL);
}
