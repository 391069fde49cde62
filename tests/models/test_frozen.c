/* A frozen base in few bits: it trains as the numbers that it holds do in float32, bit for bit; it
 * takes the memory that it says, and its unpacked weights take turns in little. */
#include "one_device.h"

#include "models/weights.h"
#include "nn/params.h"
#include "tensor/graph/graph.h"
#include "vktrain/models.h"
#include "vktrain/nn.h"

enum { B = 2, T = 16, V = 256 };
#define FILE_NAME "test_frozen_tmp.safetensors"

static const char llama[] = "llama", neox[] = "neox", experts[] = "llama"; /* told by address */

static vkt_model *model_of(const char *names, uint32_t layers, vkt_quant base, vkt_dtype precision)
{
    vkt_model *m;
    vkt_layer l = { .type = "transformer",
                    .transformer = { .layers = layers,
                                     .heads = 4,
                                     .width = 64,
                                     .mlp = 192,
                                     .context = T,
                                     .names = names,
                                     .norm = names == neox ? NULL : "rmsnorm",
                                     .positions = "rope",
                                     .activation = names == neox ? NULL : "swiglu",
                                     .untied = names == neox } };
    if (names == experts) l.transformer.experts = 4, l.transformer.experts_used = 2;
    vkt_model_desc desc = { .layers = &l,
                            .n_layers = 1,
                            .input = vkt_shape1(T),
                            .n_outputs = V,
                            .precision = precision,
                            .lora = { .rank = 2, .targets = VKT_LORA_ALL, .base = base } };
    REQUIRE_OK(vkt_model_create(gpu, &desc, &m));
    return m;
}

/* Adapters' B would be 0. */
static void fill_trained(vkt_model *m)
{
    uint64_t first = vkt_model_frozen_flat(m), n = vkt_model_flat_count(m) - first;
    float *v = vkt__alloc(n * sizeof *v);
    for (uint64_t i = 0; i < n; i++) v[i] = (float)(0.1 * vkt_rand_normal(3, VKT_RNG_TEST, i));
    REQUIRE_OK(vkt_buffer_write(gpu, vkt_model_values(m), first * 4, v, n * 4));
    REQUIRE_OK(vkt_model_values_changed(m));
    free(v);
}

static vkt_graph *training(vkt_model *m, vkt_tensor **loss)
{
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *ids = vkt_input(g, vkt_shape2(B, T), VKT_U32, "tokens"),
               *targets = vkt_input(g, vkt_shape1(B * T), VKT_U32, "targets");
    vkt_tensor *logits = vkt_reshape(g, vkt_model_build(m, g, ids, true), vkt_shape2(B * T, V));
    vkt_loss l = vkt_softmax_xent(g, logits, targets, NULL, NULL, NULL);
    *loss = vkt_sum(g, l.loss);
    vkt_keep(*loss, "loss");
    vkt_model_backward(m, g, *loss);
    return g;
}

/* The loss and the adapters' gradients; *n floats. */
static float *step(vkt_model *m, uint64_t *n)
{
    vkt_tensor *loss;
    vkt_graph *g = training(m, &loss);
    vkt_buffer *batch;
    uint32_t ids[2 * B * T];
    for (uint32_t i = 0; i < 2 * B * T; i++) ids[i] = i * 37 % V;
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { sizeof ids, VKT_MEM_DEVICE, "batch" }, &batch));
    REQUIRE_OK(vkt_buffer_write(gpu, batch, 0, ids, sizeof ids));
    vkt_bind(vkt__input_named(g, "tokens"), VKT_ALL_SLOTS, batch, 0);
    vkt_bind(vkt__input_named(g, "targets"), VKT_ALL_SLOTS, batch, B * T * 4);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "step" }));
    REQUIRE_OK(vkt_graph_run(g));
    *n = vkt_model_flat_count(m) - vkt_model_frozen_flat(m) + 1;
    float *out = vkt__alloc(*n * sizeof *out);
    REQUIRE_OK(vkt_tensor_read(loss, 0, out, 4));
    REQUIRE_OK(vkt_buffer_read(gpu, vkt_model_grads(m), 0, out + 1, (*n - 1) * 4));
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &batch);
    return out;
}

static void trains_as(const char *names, vkt_quant base)
{
    uint64_t n, n_plain;
    vkt_model *m = model_of(names, 2, base, VKT_F32),
              *plain = model_of(names, 2, VKT_QUANT_F32, VKT_F32);
    REQUIRE_OK(vkt_model_init(m, 1));
    fill_trained(m);
    REQUIRE_OK(vkt_model_save(m, FILE_NAME)); /* the numbers that it holds */
    REQUIRE_OK(vkt_model_load(plain, FILE_NAME));
    assert_true(vkt_model_frozen_bytes(m) > 0);
    assert_int_equal(vkt_model_frozen_bytes(plain), 0);
    float *a = step(m, &n), *b = step(plain, &n_plain);
    assert_int_equal(n, n_plain);
    assert_memory_equal(a, b, n * sizeof *a);
    assert_true(a[0] > 1 && a[1] * a[1] + a[2] * a[2] > 0);
    /* And back: what is read into it is packed. */
    REQUIRE_OK(vkt_model_init(m, 2));
    REQUIRE_OK(vkt_model_load(m, FILE_NAME));
    float *c = step(m, &n);
    REQUIRE_NEAR(c[0], a[0], 1e-3 * (double)a[0]);
    free(a), free(b), free(c);
    vkt_model_destroy(&m);
    vkt_model_destroy(&plain);
}

static void a_packed_base_is_its_numbers(void **state)
{
    (void)state;
    trains_as(llama, VKT_QUANT_NF4);
    trains_as(experts, VKT_QUANT_NF4);
    trains_as(neox, VKT_QUANT_Q8_0); /* whose rows are in another order in memory */
    remove(FILE_NAME);
}

/* What fills no block is said, and with what was asked for. */
static void what_no_block_fits_is_said(void **state)
{
    (void)state;
    static const uint32_t widths[] = { 64, 40 };
    for (size_t i = 0; i < VKT_COUNT(widths); i++) {
        vkt_model *m;
        vkt_layer l = {
            .type = "transformer",
            .transformer = { .layers = 1, .heads = 2, .width = widths[i], .mlp = 128, .context = T }
        };
        vkt_model_desc desc = { .layers = &l,
                                .n_layers = 1,
                                .input = vkt_shape1(T),
                                .n_outputs = V,
                                .lora = {
                                    .rank = 2, .targets = VKT_LORA_ALL, .base = VKT_QUANT_NF4 } };
        REQUIRE_OK(vkt_model_create(gpu, &desc, &m));
        TEST_LOG_CAPTURE();
        vkt__model_say_unfit(m);
        assert_int_equal(strstr(test_log, "that are to be nf4 are kept in 32 bits") != NULL,
                         i == 1);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        vkt_model_destroy(&m);
    }
}

/* Experts as other matrices; their router, whose choices a rounding would change, is not packed. */
static void experts_are_packed_but_not_their_router(void **state)
{
    (void)state;
    vkt_model *m = model_of(experts, 1, VKT_QUANT_NF4, VKT_F32);
    const vkt_param *p;
    uint32_t n_experts = 0, n_routers = 0;
    for (size_t i = 0; (p = vkt_model_param(m, i)); i++) {
        bool router = strstr(p->name, "mlp.gate.weight") != NULL;
        bool expert = strstr(p->name, "mlp.experts.") != NULL;
        if (expert) assert_true(p->frozen && p->quant == VKT_QUANT_NF4 && p->shape.rank == 3);
        if (router) assert_true(p->frozen && p->quant == VKT_QUANT_AUTO);
        n_experts += expert;
        n_routers += router;
    }
    assert_int_equal(n_experts, 3);
    assert_int_equal(n_routers, 1);
    vkt_model_destroy(&m);
}

static uint64_t memory_of(const vkt_model *m)
{
    return vkt_model_frozen_bytes(m) + vkt_model_values(m)->bytes +
           (vkt_model_shadow(m) ? vkt_model_shadow(m)->bytes : 0);
}

/* The bits per number give the memory of the matrices; gains and adapters are small. */
static void it_takes_the_memory_that_it_says(void **state)
{
    (void)state;
    static const struct {
        vkt_quant base;
        vkt_dtype precision;
        double bits;
    } rows[] = { { VKT_QUANT_F32, VKT_F32, 32 },   { VKT_QUANT_AUTO, VKT_F32, 32 },
                 { VKT_QUANT_AUTO, VKT_BF16, 16 }, { VKT_QUANT_BF16, VKT_F32, 16 },
                 { VKT_QUANT_Q8_0, VKT_F32, 8.5 }, { VKT_QUANT_Q4_0, VKT_F32, 4.5 },
                 { VKT_QUANT_NF4, VKT_BF16, 4.25 } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_model *m = model_of(llama, 2, rows[i].base, rows[i].precision);
        /* A layer: 4 C C and 3 C mlp; the table, which has 8.5 bits at least or those asked for. */
        double layers = 2 * (4 * 64 * 64 + 3 * 64 * 192), table = V * 64,
               table_bits = rows[i].bits < 8 ? 8.5 : rows[i].bits,
               want = (layers * rows[i].bits + table * table_bits) / 8, all = (double)memory_of(m);
        /* Beside them: gains and adapters, padded to 256 each, and buffers' padding. */
        assert_true(all >= want && all < want + 70 * 1024);
        vkt_model_destroy(&m);
    }
}

/* More layers need no more memory for unpacked weights. */
static void layers_take_turns(void **state)
{
    (void)state;
    uint64_t slab[2][2];
    for (uint32_t packed = 0; packed < 2; packed++)
        for (uint32_t deep = 0; deep < 2; deep++) {
            vkt_tensor *loss;
            vkt_buffer *batch;
            vkt_model *m =
                model_of(llama, deep ? 8 : 2, packed ? VKT_QUANT_NF4 : VKT_QUANT_F32, VKT_F32);
            vkt_graph *g = training(m, &loss);
            vkt_buffer_desc desc = { 2 * B * T * 4, VKT_MEM_DEVICE, "batch" };
            REQUIRE_OK(vkt_buffer_create(gpu, &desc, &batch));
            vkt_bind(vkt__input_named(g, "tokens"), VKT_ALL_SLOTS, batch, 0);
            vkt_bind(vkt__input_named(g, "targets"), VKT_ALL_SLOTS, batch, B * T * 4);
            REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
            slab[packed][deep] = vkt_graph_bytes(g);
            vkt_graph_destroy(&g);
            vkt_buffer_destroy(gpu, &batch);
            vkt_model_destroy(&m);
        }
    uint64_t shallow = slab[1][0] - slab[0][0], deep = slab[1][1] - slab[0][1];
    /* At most what one layer has, and all of one product's neighbours: the numbers of some
     * matrices. */
    assert_true(shallow <= 4 * 64 * 192 * 4);
    assert_true(deep <= shallow + 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_base_is_its_numbers),
        cmocka_unit_test(what_no_block_fits_is_said),
        cmocka_unit_test(experts_are_packed_but_not_their_router),
        cmocka_unit_test(it_takes_the_memory_that_it_says),
        cmocka_unit_test(layers_take_turns),
        cmocka_unit_test(validation_is_silent),
    };
    if (!open_gpu("")) return 77;
    int failed = cmocka_run_group_tests_name("frozen", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
