/* The same 100 steps as PyTorch: same data, initial weights, AdamW, clipping.
 * tools/golden/golden_curve.py made the golden file. */
#include "testing.h"

#include <jansson.h>

#include "vktrain/vktrain.h"
#include "tensor/graph/graph.h"

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static double item(const json_t *o, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(o, key), i));
}

static void follows_pytorch(void **state)
{
    (void)state;
    json_t *j = json_load_file(test_file("golden/curve.json"), 0, NULL);
    assert_non_null(j);
    uint32_t n = (uint32_t)number(j, "n"), d = (uint32_t)number(j, "d"),
             h = (uint32_t)number(j, "h"), batch = (uint32_t)number(j, "batch");
    vkt_gpu *gpu;
    REQUIRE_OK(
        vkt_gpu_create(&(vkt_gpu_desc) { .no_cache = true, .cap = getenv("VKT_TEST_CAP") }, &gpu));
    vkt_layer layers[] = {
        { .type = "linear", .out = h }, { .type = "layernorm" }, { .type = "gelu" },
        { .type = "linear", .out = h }, { .type = "relu" },      { .type = "linear" }
    };
    vkt_model *m;
    vkt_model_desc md = { .layers = layers,
                          .n_layers = 6,
                          .input = vkt_shape1(d),
                          .n_outputs = (uint32_t)number(j, "classes") };
    REQUIRE_OK(vkt_model_create(gpu, &md, &m));
    const vkt_param *p;
    for (size_t i = 0; (p = vkt_model_param(m, i)); i++) {
        const json_t *init = json_object_get(json_object_get(j, "init"), p->name);
        assert_int_equal(json_array_size(init), p->count);
        for (size_t k = 0; k < p->count; k++) {
            float v = (float)json_number_value(json_array_get(init, k));
            REQUIRE_OK(vkt_buffer_write(gpu, vkt_model_values(m), (p->offset + k) * 4, &v, 4));
        }
    }
    vkt_optim *optim;
    vkt_optim_desc od = { .rule = VKT_RULE_ADAMW,
                          .beta1 = 0.875f,
                          .beta2 = 0.9921875f,
                          .eps = 0x1p-20f,
                          .weight_decay = 0.125f,
                          .clip = 0.5f };
    REQUIRE_OK(vkt_optim_create(gpu, &od, m, &optim));

    vkt_graph *g = vkt__graph_new(gpu);
    vkt_buffer *buf;
    uint64_t x_bytes = (uint64_t)batch * d * 4, y_at = (x_bytes + 255) / 256 * 256,
             step_at = y_at + 256, out_at = step_at + 256;
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { out_at + 256, VKT_MEM_READBACK, "test" },
                                 &buf));
    vkt_tensor *x = vkt_input(g, vkt_shape2(batch, d), VKT_F32, "x"),
               *y = vkt_input(g, vkt_shape1(batch), VKT_U32, "y");
    vkt_bind(x, VKT_ALL_SLOTS, buf, 0);
    vkt_bind(y, VKT_ALL_SLOTS, buf, y_at);
    vkt_bind(vkt_step(g), VKT_ALL_SLOTS, buf, step_at);
    vkt_loss loss = vkt_softmax_xent(g, vkt_model_build(m, g, x, true), y, NULL, NULL,
                                     &(vkt_xent_desc) { .smoothing = 0.0625f });
    vkt_tensor *mean = vkt_scale(g, vkt_sum(g, loss.loss), 1.0f / (float)batch);
    vkt_model_backward(m, g, mean);
    vkt_tensor *scalars = vkt_optim_build(optim, g, mean, NULL);
    vkt_bind(scalars, VKT_ALL_SLOTS, buf, out_at);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "test" }));

    float *px = buf->host, *out = (float *)(void *)((char *)buf->host + out_at);
    uint32_t *py = (uint32_t *)(void *)((char *)buf->host + y_at);
    /* A few times what PyTorch's own float32 strays from its float64. */
    double loss_limit = 4 * number(j, "loss_stray"), norm_limit = 4 * number(j, "norm_stray"),
           worst = 0;
    for (uint32_t t = 0; t < 100; t++) {
        for (uint32_t i = 0; i < batch; i++) {
            uint32_t e = (t * batch + i) % n;
            py[i] = (uint32_t)item(j, "y", e);
            for (uint32_t k = 0; k < d; k++) px[i * d + k] = (float)item(j, "x", (size_t)e * d + k);
        }
        vkt_optim_fill_step(optim, 0x1p-7, t, 1, (char *)buf->host + step_at);
        REQUIRE_OK(vkt_graph_run(g));
        double want = item(j, "loss", t);
        worst = fmax(worst, fabs((double)out[VKT_SCALAR_LOSS] - want) / want / loss_limit);
        REQUIRE_NEAR(out[VKT_SCALAR_LOSS], want, loss_limit * want);
        REQUIRE_NEAR(out[VKT_SCALAR_GRAD_NORM], item(j, "norm", t),
                     norm_limit * item(j, "norm", t));
    }
    printf("  loss within %.0f%% of the limit (relative %.2g)\n", 100 * worst, loss_limit);
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &buf);
    vkt_optim_destroy(&optim);
    vkt_model_destroy(&m);
    vkt_gpu_destroy(&gpu);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(follows_pytorch) };
    return cmocka_run_group_tests_name("curve", tests, NULL, NULL);
}
