/* Graph rewrites: every pass against the plain graph, bit for bit on the device and exactly in the
 * twins; how often each finds something; what it must leave alone. */
#include "testing.h"

#include "one_device.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"
#include "shaders/params.h"

enum { B = 6, C = 64, MOST = C * C };

/* ---- nets that the passes change: x [B, C], w [C, C], v [C] -> [B, C] ---- */

typedef struct {
    vkt_graph *g;
    vkt_tensor *x, *w, *v;
} net;

static vkt_tensor *residual_norm(net n)
{
    vkt_tensor *h = vkt_linear(n.g, n.x, n.w, n.v, VKT_ACT_RELU), *s = vkt_add(n.g, n.x, h);
    vkt_tensor *y = vkt_layernorm(n.g, s, n.v, n.v, NULL, 1e-5f, NULL);
    return vkt_add(n.g, s, vkt_linear(n.g, y, n.w, NULL, VKT_ACT_NONE));
}

static vkt_tensor *residual_rms(net n)
{
    vkt_tensor *s = vkt_add(n.g, vkt_linear(n.g, n.x, n.w, NULL, VKT_ACT_NONE), n.x);
    vkt_tensor *y = vkt_rmsnorm(n.g, s, n.v, NULL, 1e-5f, NULL);
    y = vkt_activate(n.g, vkt_linear(n.g, y, n.w, n.v, VKT_ACT_NONE), VKT_ACT_RELU);
    return vkt_add(n.g, y, s);
}

/* Two products read x, and two read w: their gradients are sums of products. */
static vkt_tensor *read_twice(net n)
{
    vkt_tensor *a = vkt_linear(n.g, n.x, n.w, n.v, VKT_ACT_NONE),
               *b = vkt_linear(n.g, n.x, n.w, NULL, VKT_ACT_NONE);
    return vkt_add(n.g, vkt_linear(n.g, vkt_mul(n.g, a, b), n.w, NULL, VKT_ACT_NONE), n.x);
}

static vkt_tensor *relu_dropout(net n)
{
    vkt_tensor *h = vkt_linear(n.g, n.x, n.w, n.v, VKT_ACT_RELU);
    h = vkt_linear(n.g, vkt_dropout(n.g, h, vkt_step(n.g), 0.4f), n.w, n.v, VKT_ACT_RELU);
    return vkt_linear(n.g, vkt_dropout(n.g, h, vkt_step(n.g), 0.2f), n.w, NULL, VKT_ACT_NONE);
}

static vkt_tensor *add_relu(net n)
{
    vkt_tensor *h = vkt_linear(n.g, n.x, n.w, NULL, VKT_ACT_NONE);
    h = vkt_activate(n.g, vkt_add(n.g, h, n.v), VKT_ACT_RELU);
    return vkt_linear(n.g, vkt_activate(n.g, vkt_add(n.g, h, n.x), VKT_ACT_TANH), n.w, NULL,
                      VKT_ACT_NONE);
}

static vkt_tensor *scale_add(net n)
{
    vkt_tensor *h = vkt_linear(n.g, n.x, n.w, NULL, VKT_ACT_NONE);
    h = vkt_add(n.g, n.x, vkt_scale(n.g, vkt_mul(n.g, h, n.v), 0.3f));
    return vkt_linear(n.g, h, n.w, NULL, VKT_ACT_NONE);
}

static vkt_tensor *gated(net n)
{
    vkt_tensor *a = vkt_rmsnorm(n.g, n.x, n.v, NULL, 1e-5f, NULL),
               *b = vkt_linear(n.g, n.x, n.w, n.v, VKT_ACT_NONE);
    vkt_tensor *h = vkt_mul(n.g, vkt_activate(n.g, a, VKT_ACT_SILU), b);
    return vkt_linear(n.g, vkt_dropout(n.g, vkt_scale(n.g, h, 1.7f), vkt_step(n.g), 0.5f), n.w,
                      NULL, VKT_ACT_NONE);
}

/* Pictures [B, 5, 5, C] out of x, by a filter out of w. */
static vkt_tensor *convolve(net n, vkt_tensor *b)
{
    vkt_tensor *x = vkt_reshape(n.g, n.x, (vkt_shape) { 4, { B, 4, 4, C / 16 } }),
               *w = vkt_reshape(n.g, n.w, (vkt_shape) { 4, { 4, 4, C / 16, C } });
    return vkt_conv2d(n.g, x, w, b, &(vkt_conv_desc) { .pad = 2 });
}

static vkt_tensor *batch_norm(net n, vkt_tensor *x)
{
    vkt_batch_norm_desc d = { .w = n.v,
                              .b = n.v,
                              .running_mean = vkt_input(n.g, vkt_shape1(C), VKT_F32, "mean"),
                              .running_var = vkt_input(n.g, vkt_shape1(C), VKT_F32, "variance"),
                              .count = vkt_input(n.g, vkt_shape1(1), VKT_U32, "count"),
                              .eps = 1e-5f,
                              .momentum = 0.1f,
                              .virtual_batch = 4,
                              .train = true };
    return vkt_batch_norm(n.g, x, &d);
}

static vkt_tensor *conv_acts(net n)
{
    vkt_tensor *h = vkt_activate(n.g, convolve(n, n.v), VKT_ACT_RELU);
    h = vkt_add(n.g, h, vkt_activate(n.g, convolve(n, NULL), VKT_ACT_SILU));
    return vkt_global_avg_pool(n.g, h);
}

static vkt_tensor *batch_residual(net n)
{
    vkt_tensor *h = convolve(n, NULL);
    h = vkt_activate(n.g, vkt_add(n.g, batch_norm(n, h), h), VKT_ACT_RELU);
    h = vkt_activate(n.g, batch_norm(n, h), VKT_ACT_SILU);
    return vkt_global_avg_pool(n.g, h);
}

static vkt_tensor *batch_pool(net n)
{
    vkt_tensor *h = vkt_activate(n.g, batch_norm(n, convolve(n, NULL)), VKT_ACT_RELU);
    h = vkt_max_pool(n.g, h, &(vkt_pool_desc) { .size = 2 });
    h = vkt_max_pool(n.g, batch_norm(n, h), &(vkt_pool_desc) { .size = 2, .stride = 3 });
    return vkt_global_avg_pool(n.g, h);
}

static vkt_tensor *perceptron(net n)
{
    vkt_tensor *h = vkt_linear(n.g, n.x, n.w, n.v, VKT_ACT_NONE);
    return vkt_scale(n.g, vkt_activate(n.g, h, VKT_ACT_TANH), 2);
}

static const struct {
    const char *name;
    vkt_tensor *(*build)(net n);
    const vkt__pass *passes[3];
    uint32_t least[3];
} nets[] = {
    { "residual, layer norm",
      residual_norm,
      { &vkt__pass_residual_norm, &vkt__pass_residual },
      { 1, 1 } },
    { "residual, RMS norm",
      residual_rms,
      { &vkt__pass_residual_norm, &vkt__pass_act, &vkt__pass_residual },
      { 1, 1, 1 } },
    { "read twice", read_twice, { &vkt__pass_residual }, { 4 } },
    { "relu, dropout", relu_dropout, { &vkt__pass_relu_dropout, &vkt__pass_chain }, { 2, 2 } },
    { "add, relu and tanh",
      add_relu,
      { &vkt__pass_bias, &vkt__pass_act, &vkt__pass_chain },
      { 1, 1, 1 } },
    { "mul, scale, add", scale_add, { &vkt__pass_chain }, { 2 } },
    { "gated", gated, { &vkt__pass_chain }, { 2 } },
    { "convolution, relu and silu", conv_acts, { &vkt__pass_act }, { 2 } },
    { "batch norm, residual, relu; silu", batch_residual, { &vkt__pass_batch_norm }, { 3 } },
    { "batch norm, relu, max pooling; without relu",
      batch_pool,
      { &vkt__pass_batch_norm, &vkt__pass_batch_pool },
      { 1, 2 } },
    { "perceptron",
      perceptron,
      { &vkt__pass_sum_rows, &vkt__pass_xent, &vkt__pass_act },
      { 1, 1, 1 } },
};

typedef struct {
    vkt_graph *g;
    vkt_tensor *loss, *dwrt[3];
} built;

static built build(size_t which, vkt_gpu *of, bool plain)
{
    built b = { .g = vkt__graph_new(of) };
    if (plain) vkt_graph_no_rewrite(b.g);
    net n = { b.g, vkt_input(b.g, vkt_shape2(B, C), VKT_F32, "x"),
              vkt_input(b.g, vkt_shape2(C, C), VKT_F32, "w"),
              vkt_input(b.g, vkt_shape1(C), VKT_F32, "v") };
    vkt_tensor *target = vkt_input(b.g, vkt_shape1(B), VKT_U32, "target"),
               *wrt[] = { n.x, n.w, n.v };
    vkt_step(b.g);
    b.loss = vkt_softmax_xent(b.g, nets[which].build(n), target, NULL, NULL,
                              &(vkt_xent_desc) { .smoothing = 0.1f })
                 .loss;
    vkt_keep(b.loss, "loss");
    vkt_backward(b.g, b.loss, wrt, 3, b.dwrt);
    for (int i = 0; i < 3; i++) vkt_keep(b.dwrt[i], "gradient");
    return b;
}

/* Element i of an input, whatever the graph's other tensors are. */
static double value(const vkt_tensor *t, uint64_t i)
{
    if (t->hint.kind == VKT_HINT_STEP) return vkt__sample_value(t, 1, i);
    if (t->dtype == VKT_U32) return (double)(i * 7 % C);
    return (double)(0.5f * (float)vkt_rand_normal(t->name[0], VKT_RNG_TEST, i));
}

static void bind_inputs(vkt_graph *g, vkt_buffer *buf)
{
    uint64_t at = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->node || t->view_of || !t->name || t->bound) continue;
        vkt_bind(t, VKT_ALL_SLOTS, buf, at);
        at += vkt__align(t->bytes, 256);
        if (!g->gpu) continue;
        uint32_t words[MOST];
        for (uint64_t k = 0; k < t->count; k++) vkt__sample_encode(t, k, value(t, k), words);
        REQUIRE_OK(vkt_tensor_write(t, 0, words, t->bytes));
    }
}

/* ---- on the device ---- */

static void the_device_computes_the_same_bits(void **state)
{
    (void)state;
    static float got[2][4][MOST];
    vkt_buffer *buf;
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { 1 << 16, VKT_MEM_DEVICE, "test" }, &buf));
    for (size_t k = 0; k < VKT_COUNT(nets); k++) {
        memset(got, 0, sizeof got);
        for (int plain = 0; plain < 2; plain++) {
            built b = build(k, gpu, plain);
            bind_inputs(b.g, buf);
            REQUIRE_OK(vkt_graph_compile(b.g, &(vkt_plan_desc) { 0 }));
            REQUIRE_OK(vkt_graph_run(b.g));
            REQUIRE_OK(vkt_tensor_read(b.loss, 0, got[plain][3], b.loss->bytes));
            for (int i = 0; i < 3; i++)
                REQUIRE_OK(vkt_tensor_read(b.dwrt[i], 0, got[plain][i], b.dwrt[i]->bytes));
            vkt_graph_destroy(&b.g);
        }
        assert_true(got[0][3][0] > 0 && got[0][1][1] != 0);
        /* A GPU sums v's gradient, and a batch norm's statistics, by the blocks of the kernels that
         * make the terms. */
        bool is_cpu = vkt_gpu_caps(gpu)->klass == VKT_GPU_CLASS_CPU,
             has_statistics = strstr(nets[k].name, "batch norm") != NULL;
        for (int i = 0; i < 4; i++) {
            double most = 0;
            if (is_cpu || (i != 2 && !has_statistics)) {
                if (memcmp(got[0][i], got[1][i], sizeof got[0][i]))
                    print_error("in '%s'\n", nets[k].name);
                assert_memory_equal(got[0][i], got[1][i], sizeof got[0][i]);
                continue;
            }
            for (int j = 0; j < MOST; j++) most = fmax(most, fabs((double)got[1][i][j]));
            for (int j = 0; j < MOST; j++)
                REQUIRE_NEAR(got[0][i][j], got[1][i][j], vkt__tol(VKT_F32, B * C) * most);
        }
    }
    vkt_buffer_destroy(gpu, &buf);
}

/* Two micro-batches: gradients that a product makes between others that none does, and padding. */
enum { WIDE = 512, HEAD = 64, TAIL = 100, ALL = HEAD + WIDE * WIDE + TAIL };

static void accumulate_twice(bool plain, float *sums)
{
    static float x[2 * B * WIDE];
    vkt_buffer *buf, *grads, *sum;
    const vkt_shape rows = vkt_shape2(B, WIDE);
    const uint64_t in_bytes = sizeof x, all_bytes = 4 * ALL;
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { in_bytes + 256, VKT_MEM_DEVICE, "test" },
                                 &buf));
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { all_bytes, VKT_MEM_DEVICE, "grads" }, &grads));
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { all_bytes, VKT_MEM_DEVICE, "sums" }, &sum));
    vkt_graph *g = vkt__graph_new(gpu);
    if (plain) vkt_graph_no_rewrite(g);
    vkt_tensor *a = vkt_input(g, rows, VKT_F32, "a"), *b = vkt_input(g, rows, VKT_F32, "b"),
               *all = vkt_input(g, vkt_shape1(ALL), VKT_F32, "gradients"),
               *total = vkt_input(g, vkt_shape1(ALL), VKT_F32, "sums");
    vkt_tensor *dw = vkt_matmul(g, VKT_LAYOUT_TN, a, b),
               *db = vkt_scale(g, vkt_reshape(g, a, vkt_shape1(B * WIDE)), 2);
    db = vkt_sum(g, db);
    vkt_bind(a, VKT_ALL_SLOTS, buf, 0);
    vkt_bind(b, VKT_ALL_SLOTS, buf, in_bytes / 2);
    vkt_bind(vkt_step(g), VKT_ALL_SLOTS, buf, in_bytes);
    vkt_bind(dw, VKT_ALL_SLOTS, grads, 4 * HEAD);
    vkt_bind(db, VKT_ALL_SLOTS, grads, 4 * (HEAD + WIDE * WIDE));
    vkt_bind(all, VKT_ALL_SLOTS, grads, 0);
    vkt_bind(total, VKT_ALL_SLOTS, sum, 0);
    vkt__accumulate(g, total, all);
    memset(sums, 0, all_bytes);
    REQUIRE_OK(vkt_buffer_write(gpu, grads, 0, sums, all_bytes));
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_accumulate), plain ? 0 : 1);
    for (uint32_t micro = 0; micro < 2; micro++) {
        const struct vkt_step_block step = { .micro = micro };
        for (uint32_t i = 0; i < 2 * B * WIDE; i++)
            x[i] = (float)vkt_rand_normal(micro, VKT_RNG_TEST, i);
        REQUIRE_OK(vkt_buffer_write(gpu, buf, 0, x, in_bytes));
        REQUIRE_OK(vkt_buffer_write(gpu, buf, in_bytes, &step, sizeof step));
        REQUIRE_OK(vkt_graph_run(g));
    }
    REQUIRE_OK(vkt_buffer_read(gpu, sum, 0, sums, all_bytes));
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &buf);
    vkt_buffer_destroy(gpu, &grads);
    vkt_buffer_destroy(gpu, &sum);
}

static void products_accumulate_to_the_same_bits(void **state)
{
    (void)state;
    static float got[2][ALL];
    for (int plain = 0; plain < 2; plain++) accumulate_twice(plain, got[plain]);
    assert_true(got[1][HEAD] != 0 && got[1][HEAD + WIDE * WIDE] != 0);
    assert_memory_equal(got[0], got[1], sizeof got[0]);
}

/* x doubled three times, each result in memory of the caller's: the host can have the first before
 * the second is made, also after the first runs' times have cut the submissions again. */
static void memory_is_handed_over_when_it_is_final(void **state)
{
    (void)state;
    enum { N = 64, STAGES = 3, RUNS = 5 };
    vkt_buffer *buf;
    float x[N];
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_graph_no_rewrite(g);
    REQUIRE_OK(vkt_buffer_create(
        gpu, &(vkt_buffer_desc) { (STAGES + 1) * 256, VKT_MEM_DEVICE, "test" }, &buf));
    vkt_tensor *t = vkt_input(g, vkt_shape1(N), VKT_F32, "x");
    vkt_bind(t, VKT_ALL_SLOTS, buf, 0);
    for (uint32_t i = 1; i <= STAGES; i++) {
        t = vkt_scale(g, t, 2);
        vkt_bind(t, VKT_ALL_SLOTS, buf, 256 * i);
    }
    for (uint32_t i = 0; i < STAGES; i++) /* the last first: of the others, more than is written */
        assert_int_equal(vkt__graph_hand_over(g, buf, 256 * (STAGES - i), 256), i);
    assert_int_equal(vkt__graph_hand_over(g, buf, 256, 256 * STAGES), STAGES);
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    for (uint32_t run = 0; run < RUNS; run++) {
        uint64_t ticket, before = 0;
        for (uint32_t i = 0; i < N; i++) x[i] = (float)(run + i);
        REQUIRE_OK(vkt_buffer_write(gpu, buf, 0, x, sizeof x));
        REQUIRE_OK(vkt_graph_submit(g, 0, &ticket));
        for (uint32_t i = STAGES; i-- > 0; before = vkt__graph_handed(g, i))
            assert_true(vkt__graph_handed(g, i) > before);
        assert_int_equal(before, ticket);
        assert_int_equal(vkt__graph_handed(g, STAGES), ticket);
        for (uint32_t i = 1; i <= STAGES; i++) {
            REQUIRE_OK(vkt_ticket_wait(gpu, vkt__graph_handed(g, STAGES - i)));
            REQUIRE_OK(vkt_buffer_read(gpu, buf, 256 * i, x, sizeof x));
            assert_true(x[1] == (float)(run + 1) * (float)(1 << i));
        }
    }
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &buf);
}

/* Sums that a step's scalars take over: of an odd number, of pairs, of several chunks of squares.
 */
static void the_steps_scalars_keep_their_bits(void **state)
{
    static const struct {
        uint32_t grad, rows;
    } s[] = { { 9610, 64 }, { 70001, 129 }, { 4095, 66 }, { 5200, 5000 } };
    (void)state;
    for (size_t k = 0; k < VKT_COUNT(s); k++) {
        struct vkt_scalars got[2];
        struct vkt_step_block step = { .clip = 1, .inv_weight = 1 };
        uint64_t at = vkt__align(s[k].grad * 4, 256);
        vkt_buffer *buf;
        REQUIRE_OK(
            vkt_buffer_create(gpu, &(vkt_buffer_desc) { 1 << 20, VKT_MEM_DEVICE, "test" }, &buf));
        float *x = vkt__alloc(s[k].grad * sizeof *x);
        for (uint32_t i = 0; i < s[k].grad; i++) x[i] = (float)vkt_rand_normal(k, VKT_RNG_TEST, i);
        REQUIRE_OK(vkt_buffer_write(gpu, buf, 0, x, s[k].grad * sizeof *x));
        free(x);
        REQUIRE_OK(vkt_buffer_write(gpu, buf, at + 256, &step, sizeof step));
        for (int plain = 0; plain < 2; plain++) {
            vkt_graph *g = vkt__graph_new(gpu);
            if (plain) vkt_graph_no_rewrite(g);
            vkt_tensor *grad = vkt_input(g, vkt_shape1(s[k].grad), VKT_F32, "gradient"),
                       *loss = vkt_input(g, vkt_shape1(s[k].rows), VKT_F32, "loss"),
                       *skipped = vkt_input(g, vkt_shape1(1), VKT_U32, "skipped");
            vkt_bind(grad, VKT_ALL_SLOTS, buf, 0);
            vkt_bind(loss, VKT_ALL_SLOTS, buf, 256);
            vkt_bind(skipped, VKT_ALL_SLOTS, buf, at);
            vkt_bind(vkt_step(g), VKT_ALL_SLOTS, buf, at + 256);
            vkt_tensor *scalars =
                vkt__optim_state(g, &(vkt__state_in) { .squares = vkt__sum_squares(g, grad),
                                                       .loss = vkt_sum(g, loss),
                                                       .hits = vkt_sum(g, loss),
                                                       .step = vkt_step(g),
                                                       .skipped = skipped });
            vkt_keep(scalars, "scalars");
            REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
            assert_int_equal(vkt__rewrite_count(g, &vkt__pass_state), plain ? 0 : 1);
            REQUIRE_OK(vkt_graph_run(g));
            REQUIRE_OK(vkt_tensor_read(scalars, 0, &got[plain], sizeof got[plain]));
            vkt_graph_destroy(&g);
        }
        assert_true(got[0].ok == 1 && got[0].grad_norm > 1 && got[0].loss != 0);
        assert_memory_equal(&got[0], &got[1], sizeof got[0]);
        vkt_buffer_destroy(gpu, &buf);
    }
}

/* ---- in the twins ---- */

typedef struct {
    const built *b;
    double got[4][MOST];
} values;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++) data[i] = value(t, i);
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    values *v = user;
    for (int i = 0; i < 4; i++)
        if (t == (i < 3 ? v->b->dwrt[i] : v->b->loss)) memcpy(v->got[i], data, t->count * 8);
}

static void the_twins_compute_the_same(void **state)
{
    (void)state;
    static values v[2];
    static vkt_buffer buf = { .bytes = 1 << 16, .label = "inputs" };
    for (size_t k = 0; k < VKT_COUNT(nets); k++) {
        memset(v, 0, sizeof v);
        for (int plain = 0; plain < 2; plain++) {
            built b = build(k, NULL, plain);
            bind_inputs(b.g, &buf);
            REQUIRE_OK(vkt_graph_plan(b.g, &(vkt_plan_desc) { 0 }));
            v[plain].b = &b;
            vkt__graph_ref(b.g, fill, &v[plain], take);
            for (int i = 0; i < 3 && nets[k].passes[i]; i++) {
                uint32_t n = vkt__rewrite_count(b.g, nets[k].passes[i]);
                if (plain ? n != 0 : n < nets[k].least[i])
                    print_error("'%s': %u x %s\n", nets[k].name, n, nets[k].passes[i]->name);
                assert_true(plain ? n == 0 : n >= nets[k].least[i]);
            }
            vkt_graph_destroy(&b.g);
        }
        assert_true(v[0].got[3][0] > 0);
        for (int i = 0; i < 4; i++)
            assert_memory_equal(v[0].got[i], v[1].got[i], sizeof v[0].got[i]);
    }
}

static void rewrites_save_what_they_say(void **state)
{
    (void)state;
    static vkt_buffer buf = { .bytes = 1 << 16, .label = "inputs" };
    for (size_t k = 0; k < VKT_COUNT(nets); k++) {
        double bytes[2], flops, said = 0;
        for (int plain = 0; plain < 2; plain++) {
            built b = build(k, NULL, plain);
            bind_inputs(b.g, &buf);
            REQUIRE_OK(vkt_graph_plan(b.g, &(vkt_plan_desc) { 0 }));
            vkt_graph_cost(b.g, &flops, &bytes[plain]);
            for (int i = 0; i < VKT_MAX_PASSES; i++) said += b.g->rewrites[i].bytes;
            vkt_graph_destroy(&b.g);
        }
        assert_true(said > 0 && bytes[0] < bytes[1]);
        /* What the forward passes save again in the gradient is theirs, but not in their count. */
        assert_true(bytes[1] - bytes[0] >= said);
    }
}

/* ---- what must stay ---- */

static vkt_tensor *in2(vkt_graph *g)
{
    return vkt__sample2(g, B, C);
}

static void what_others_read_is_not_fused_away(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *twice = vkt_add(g, in2(g), in2(g)), *kept = vkt_add(g, in2(g), in2(g));
    vkt_activate(g, twice, VKT_ACT_RELU);
    vkt_scale(g, twice, 2);
    vkt_keep(kept, "kept");
    vkt_activate(g, kept, VKT_ACT_RELU);
    vkt_tensor *both = vkt_scale(g, in2(g), 3);
    vkt_add(g, both, both);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_chain), 0);
    vkt_graph_destroy(&g);
}

/* A read may not move past a write: the product is of x before x is accumulated into. */
static void a_read_does_not_move_past_a_write(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = in2(g), *y = vkt_scale(g, x, 2);
    vkt__accumulate(g, x, in2(g));
    vkt_activate(g, y, VKT_ACT_RELU);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_chain), 0);
    vkt_activate(g, vkt_scale(g, x, 2), VKT_ACT_RELU);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_chain), 1);
    vkt_graph_destroy(&g);
}

/* A sum that something reads before the norm, and one that is broadcast, stay sums. */
static void sums_that_are_no_residual_stay(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *w = vkt__sample1(g, C), *s = vkt_add(g, in2(g), in2(g));
    vkt_scale(g, s, 2);
    vkt_rmsnorm(g, s, w, NULL, 1e-5f, NULL);
    vkt_rmsnorm(g, vkt_add(g, in2(g), w), w, NULL, 1e-5f, NULL);
    vkt__rewrite(g, true);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_residual_norm), 0);
    vkt_graph_destroy(&g);
}

/* A term that something else reads, that is made after the product, or is broadcast; a product that
 * has one already, or whose result is the caller's memory. */
static void sums_that_no_product_can_write_stay(void **state)
{
    (void)state;
    static vkt_buffer buf = { .bytes = 1 << 16, .label = "caller's" };
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = in2(g), *w = vkt__sample2(g, C, C), *v = vkt__sample1(g, C);
    vkt_tensor *mm = vkt_matmul(g, VKT_LAYOUT_NN, x, w);
    vkt_add(g, mm, x);
    vkt_scale(g, mm, 2);
    mm = vkt_matmul(g, VKT_LAYOUT_NN, x, w);
    vkt_add(g, mm, vkt_scale(g, x, 3));
    vkt_add(g, vkt_matmul(g, VKT_LAYOUT_NN, x, w), v);
    vkt_bind(vkt_add(g, vkt_matmul(g, VKT_LAYOUT_NN, x, w), x), VKT_ALL_SLOTS, &buf, 0);
    mm = vkt_matmul(g, VKT_LAYOUT_NN, x, w);
    vkt_add(g, mm, mm);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_residual), 0);
    vkt_add(g, vkt_add(g, vkt_matmul(g, VKT_LAYOUT_NN, x, w), x), x);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_residual), 1);
    vkt_graph_destroy(&g);
}

/* relu(x) read by more than its dropout keeps its own gradient. */
static void relu_read_elsewhere_keeps_its_gradient(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = in2(g), *y = vkt_activate(g, x, VKT_ACT_RELU), *dx;
    vkt_tensor *z = vkt_mul(g, vkt_dropout(g, y, vkt_step(g), 0.5f), y);
    vkt_backward(g, vkt_sum(g, z), &x, 1, &dx);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_relu_dropout), 0);
    vkt_graph_destroy(&g);
}

/* Pooling that overlaps, that pads, that sees another shape, or that is not the norm's only reader;
 * an activation whose gradient needs more than the place. */
static void pooling_that_does_not_fit_stays(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    net n = { g, in2(g), vkt__sample2(g, C, C), vkt__sample1(g, C) };
    vkt_tensor *y = batch_norm(n, convolve(n, NULL));
    vkt_max_pool(g, y, &(vkt_pool_desc) { .size = 2 });
    vkt_scale(g, y, 2);
    vkt_max_pool(g, batch_norm(n, convolve(n, NULL)), &(vkt_pool_desc) { .size = 3, .stride = 2 });
    vkt_max_pool(g, batch_norm(n, convolve(n, NULL)), &(vkt_pool_desc) { .size = 2, .pad = 1 });
    vkt_max_pool(g, vkt_activate(g, batch_norm(n, convolve(n, NULL)), VKT_ACT_SILU),
                 &(vkt_pool_desc) { .size = 2 });
    vkt_tensor *flat = batch_norm(n, convolve(n, NULL)); /* pooled as a picture of another shape */
    const uint32_t *d = flat->shape.d;
    vkt_max_pool(g, vkt_reshape(g, flat, (vkt_shape) { 4, { d[0], 2 * d[1], d[2], d[3] / 2 } }),
                 &(vkt_pool_desc) { .size = 2 });
    vkt__rewrite(g, true);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_batch_pool), 0);
    vkt_graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_computes_the_same_bits),
        cmocka_unit_test(products_accumulate_to_the_same_bits),
        cmocka_unit_test(memory_is_handed_over_when_it_is_final),
        cmocka_unit_test(the_steps_scalars_keep_their_bits),
        cmocka_unit_test(the_twins_compute_the_same),
        cmocka_unit_test(rewrites_save_what_they_say),
        cmocka_unit_test(what_others_read_is_not_fused_away),
        cmocka_unit_test(a_read_does_not_move_past_a_write),
        cmocka_unit_test(sums_that_are_no_residual_stay),
        cmocka_unit_test(sums_that_no_product_can_write_stay),
        cmocka_unit_test(relu_read_elsewhere_keeps_its_gradient),
        cmocka_unit_test(pooling_that_does_not_fit_stays),
        cmocka_unit_test(validation_is_silent),
    };
    if (!open_gpu("")) return 1;
    int failed = cmocka_run_group_tests_name("rewrite", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
