/* What graphs become on nine GPUs that are not here (tests/files/devices) but not on CPU drivers,
 * or in what pieces: the choices of passes and of the model's flat buffers by what a device is. */
#include "device_profiles.h"

#include "tensor/graph/graph.h"
#include "tensor/passes/rewrite.h"
#include "train/session.h"

/* The nodes that find the gradients of a norm of [R, C]; klass: what the device is said to be. */
static void norm_nodes(vkt_caps caps, vkt_gpu_class klass, uint32_t R, uint32_t C, bool trains_x,
                       uint32_t *n_bwd, uint32_t *n_dw)
{
    vkt_gpu *gpu;
    caps.klass = klass;
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *in[] = { vkt_input(g, vkt_shape1(C), VKT_F32, "w"),
                         vkt_input(g, vkt_shape1(C), VKT_F32, "b"),
                         vkt_input(g, vkt_shape2(R, C), VKT_F32, "x") },
               *d[3];
    vkt_tensor *y = vkt_layernorm(g, in[2], in[0], in[1], NULL, 1e-5f, NULL);
    vkt_backward(g, vkt_sum(g, vkt_mul(g, y, y)), in, trains_x ? 3 : 2, d);
    *n_bwd = *n_dw = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        *n_bwd += !strcmp(g->nodes[i]->op->name, "norm_bwd");
        *n_dw += !strcmp(g->nodes[i]->op->name, "norm_dw");
    }
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);
}

/* In one pass on every GPU, where there are rows enough, four of a row at a time, and few. */
static void a_norm_s_gradient_takes_one_pass_on_gpus(void **state)
{
    (void)state;
    static const struct {
        uint32_t rows, cols;
        bool trains_x, one_pass;
    } cases[] = { { 8192, 768, true, true },   { 4096, 768, true, true },
                  { 4095, 768, true, false },  { 8192, 766, true, false },
                  { 8192, 4096, true, true },  { 8192, 4100, true, false },
                  { 8192, 768, false, false }, { 65536, 64, true, true } };
    vkt_caps caps;
    uint32_t n_bwd, n_dw;
    for (size_t d = 0; d < VKT_COUNT(devices); d++) {
        read_device(devices[d], &caps);
        for (size_t i = 0; i < VKT_COUNT(cases); i++) {
            norm_nodes(caps, caps.klass, cases[i].rows, cases[i].cols, cases[i].trains_x, &n_bwd,
                       &n_dw);
            assert_int_equal(n_bwd, cases[i].trains_x);
            assert_int_equal(n_dw, !cases[i].one_pass);
            norm_nodes(caps, VKT_GPU_CLASS_CPU, cases[i].rows, cases[i].cols, cases[i].trains_x,
                       &n_bwd, &n_dw);
            assert_int_equal(n_bwd, cases[i].trains_x);
            assert_int_equal(n_dw, 1);
        }
    }
    caps.workgroup = 128; /* 32 of a row to an invocation */
    norm_nodes(caps, caps.klass, 8192, 4096, true, &n_bwd, &n_dw);
    assert_int_equal(n_dw, 1);
}

/* Parts of the keys that one token's attention is cut into: 1, it is one node. */
static uint32_t parts_of(vkt_caps caps, vkt_gpu_class klass, uint32_t B, uint32_t T, uint32_t S,
                         uint32_t H, uint32_t window)
{
    enum { D = 64 };
    vkt_gpu *gpu;
    caps.klass = klass;
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *q = vkt_input(g, vkt_shape3(B, T, H * D), VKT_F32, "q"),
               *k = vkt_input(g, vkt_shape3(B, S, H * D), VKT_F32, "k"),
               *v = vkt_input(g, vkt_shape3(B, S, H * D), VKT_F32, "v"),
               *start = vkt_input(g, vkt_shape1(1), VKT_U32, "start");
    vkt_attention_desc d = { .heads = H, .window = window };
    vkt_keep(vkt_attention(g, q, k, v, NULL, start, &d), "y");
    vkt__rewrite_whole(g);
    uint32_t parts = 1;
    for (size_t i = 0; i < g->n_nodes; i++) {
        bool is_parts = !strcmp(g->nodes[i]->op->name, "attention_parts");
        if (!is_parts) continue;
        parts = g->nodes[i]->attr.attention.parts;
        assert_string_equal(g->nodes[i + 1]->op->name, "attention_join");
        assert_int_equal(g->n_nodes, 2);
    }
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);
    return parts;
}

/* Two workgroups a core, of 512 keys at least, and on no CPU driver. */
static void a_token_s_attention_is_cut_where_cores_would_idle(void **state)
{
    (void)state;
    static const struct {
        uint32_t cores, B, T, S, H, window, parts;
    } cases[] = {
        { 132, 1, 1, 8192, 32, 0, 8 }, { 132, 1, 1, 2048, 9, 0, 4 },
        { 132, 1, 1, 1023, 9, 0, 1 },  { 132, 1, 1, 8192, 9, 1024, 2 },
        { 132, 8, 1, 8192, 32, 0, 1 }, { 132, 1, 2, 8192, 32, 0, 1 },
        { 16, 1, 1, 8192, 9, 0, 3 },   { 132, 1, 1, 131072, 2, 0, 32 },
        { 132, 0, 1, 8192, 32, 0, 1 },
    };
    vkt_caps caps;
    for (size_t d = 0; d < VKT_COUNT(devices); d++) {
        read_device(devices[d], &caps);
        for (size_t i = 0; i < VKT_COUNT(cases); i++) {
            caps.cores = cases[i].cores;
            assert_int_equal(parts_of(caps, caps.klass, cases[i].B, cases[i].T, cases[i].S,
                                      cases[i].H, cases[i].window),
                             cases[i].parts);
            assert_int_equal(parts_of(caps, VKT_GPU_CLASS_CPU, cases[i].B, cases[i].T, cases[i].S,
                                      cases[i].H, cases[i].window),
                             1);
        }
    }
}

/* More than 2^32 parameters, where an allocation has at most this many bytes. */
static void cut_in(uint64_t most_bytes, size_t n_pieces)
{
    enum { N = 80, WIDTH = 8192 };
    vkt_layer layers[N];
    for (int i = 0; i < N; i++) layers[i] = (vkt_layer) { .type = "linear", .out = WIDTH };
    vkt_model_desc d = { .layers = layers,
                         .n_layers = N,
                         .input = vkt_shape1(WIDTH),
                         .n_outputs = WIDTH,
                         .precision = VKT_BF16,
                         .source = "r.yaml" };
    vkt_caps caps;
    vkt_gpu *gpu;
    vkt_model *m;
    vkt_optim *o;
    vkt_buffer *step;
    read_device("h200", &caps);
    caps.max_alloc_bytes = caps.max_buffer_bytes = most_bytes;
    caps.budget_bytes = caps.heap_bytes = 1ull << 40;
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    REQUIRE_OK(vkt_model_create(gpu, &d, &m));
    assert_true(vkt_model_flat_count(m) > 1ull << 32);
    const struct {
        const vkt_buffer *all;
        uint64_t each;
    } flats[] = { { vkt_model_values(m), 4 },
                  { vkt_model_grads(m), 4 },
                  { vkt_model_shadow(m), 2 } };
    for (size_t f = 0; f < VKT_COUNT(flats); f++) {
        const vkt_param *p;
        uint64_t end, bytes = 0;
        for (size_t i = 0; i < flats[f].all->n_pieces; i++) {
            assert_true(flats[f].all->pieces[i]->bytes <= caps.max_alloc_bytes);
            bytes += flats[f].all->pieces[i]->bytes;
        }
        assert_true(bytes == flats[f].all->bytes);
        for (size_t i = 0; (p = vkt_model_param(m, i)); i++) {
            vkt__buffer_piece(flats[f].all, p->offset * flats[f].each, &end);
            assert_true((p->offset + p->count) * flats[f].each <= end);
        }
    }
    assert_int_equal(flats[0].all->n_pieces, n_pieces);
    vkt_optim_desc adam = { .rule = VKT_RULE_ADAMW, .beta1 = 0.9f, .beta2 = 0.99f, .eps = 1e-8f };
    REQUIRE_OK(vkt_optim_create(gpu, &adam, m, &o));
    assert_int_equal(vkt_optim_moment(o, 1)->n_pieces, n_pieces);
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *loss = vkt_input(g, vkt_shape1(1), VKT_F32, "loss");
    vkt_tensor *scalars = vkt_optim_build(o, g, loss, NULL);
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 768, VKT_MEM_UPLOAD, "step" }, &step));
    vkt_bind(vkt_step(g), VKT_ALL_SLOTS, step, 0);
    vkt_bind(scalars, VKT_ALL_SLOTS, step, 256);
    vkt_bind(loss, VKT_ALL_SLOTS, step, 512);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "update" }));
    size_t n_updates = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        n_updates += !strcmp(g->nodes[i]->op->name, "optim_update");
    assert_int_equal(n_updates, n_pieces);
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &step);
    vkt_optim_destroy(&o);
    vkt_model_destroy(&m);
    vkt_gpu_destroy(&gpu);
}

static void flat_buffers_are_cut_between_parameters(void **state)
{
    (void)state;
    cut_in(1ull << 31, 12); /* of seven matrices each */
    cut_in(1ull << 40, 3);  /* of 31: a tensor has fewer than 2^31 elements */
    vkt_layer layers[] = { { .type = "linear", .out = 8 }, { .type = "linear" } };
    vkt_model_desc d = { .layers = layers,
                         .n_layers = 2,
                         .input = vkt_shape1(1 << 27),
                         .n_outputs = 8,
                         .source = "r.yaml" };
    vkt_caps caps;
    vkt_gpu *gpu;
    vkt_model *m;
    read_device("h200", &caps);
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_model_create(gpu, &d, &m), VKT_E_SHAPE);
    REQUIRE_LOGGED("r.yaml: parameter '0.weight' takes 4096 MiB; one allocation of this device has "
                   "at most 4094 MiB");
    vkt_gpu_destroy(&gpu);
}

/* GPT-2's head of 8 x 1024 tokens: 1.6 GB of logits. */
static uint32_t chunks_of(const vkt_caps *caps)
{
    vkt_gpu *gpu;
    vkt_buffer *all;
    REQUIRE_OK(vkt__gpu_plan(caps, &gpu));
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 1 << 28, VKT_MEM_DEVICE, "all" }, &all));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *x = vkt_input(g, vkt_shape2(8192, 768), VKT_F32, "x"), *d[2],
               *w = vkt_input(g, vkt_shape2(50304, 768), VKT_F32, "w"),
               *y = vkt_input(g, vkt_shape1(8192), VKT_U32, "target");
    vkt_tensor *in[] = { x, w, y }, *logits = vkt_matmul(g, VKT_LAYOUT_NT, vkt_scale(g, x, 2), w);
    vkt_loss l = vkt_softmax_xent(g, logits, y, NULL, NULL, &(vkt_xent_desc) { 0 });
    vkt_tensor *loss = vkt_sum(g, l.loss);
    vkt_backward(g, loss, (vkt_tensor *[]) { x, w }, 2, d);
    for (int i = 0; i < 2; i++) vkt_keep(d[i], "gradient");
    for (int i = 0; i < 3; i++) vkt_bind(in[i], VKT_ALL_SLOTS, all, 0);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "head" }));
    uint32_t made = g->head.made;
    char want[64];
    snprintf(want, sizeof want, "in %u chunk%s of %u.", made, made == 1 ? "" : "s", 1572 / made);
    char *text = vkt_graph_explain(g);
    if (!strstr(text, want)) fail_msg("no '%s' in\n%s", want, text);
    vkt_free(text);
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &all);
    vkt_gpu_destroy(&gpu);
    return made;
}

/* By the memory of a card, not by what is free of it: a recipe gives the same bits each time. Where
 * memory is the host's, too, in eight. */
static void a_head_is_cut_where_memory_is_short(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        uint64_t bytes; /* 0: the profile's */
        uint32_t chunks;
    } cases[] = { { "h100", 0, 1 },           { "rtx-4090", 0, 1 },  { "h100", 14ull << 30, 2 },
                  { "rtx-4090", 8e9, 8 },     { "rtx-2060", 0, 8 },  { "radeon-780m", 0, 8 },
                  { "radeon-780m", 1e12, 8 }, { "iris-xe", 1e12, 8 } };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_caps caps;
        read_device(cases[i].device, &caps);
        if (cases[i].bytes) caps.heap_bytes = cases[i].bytes;
        caps.budget_bytes = caps.heap_bytes;
        assert_int_equal(chunks_of(&caps), cases[i].chunks);
        caps.budget_bytes /= 2;
        assert_int_equal(chunks_of(&caps), cases[i].chunks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_norm_s_gradient_takes_one_pass_on_gpus),
        cmocka_unit_test(a_token_s_attention_is_cut_where_cores_would_idle),
        cmocka_unit_test(flat_buffers_are_cut_between_parameters),
        cmocka_unit_test(a_head_is_cut_where_memory_is_short),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    return cmocka_run_group_tests_name("device passes", tests, NULL, NULL);
}
