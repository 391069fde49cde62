/* Mixed precision: which tensors get 16 bits, how near the result stays to the fp32 graph's, on a
 * device without the types too; what is saved is fp32, and evaluation repeats training's. */
#include "testing.h"

#include "base/os.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/graph/value.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/conv/ops_conv.h"
#include "tensor/graph/graph.h"
#include "tensor/passes/passes.h"
#include "vktrain/vktrain.h"

enum { B = 24, C = 64, ODD = 7, MOST = C * C };

static vkt_gpu *gpu;

/* ---- a net of every row that takes 16 bits ---- */

enum { X, W1, W2, GAIN, BIAS, W3, N_WRT, LOSS = N_WRT, N_OUT };

typedef struct {
    vkt_graph *g;
    vkt_tensor *in[N_WRT], *out[N_OUT]; /* gradients of in, and the row losses */
    vkt_tensor *hidden, *odd, *logits, *shadow;
} net;

static net build(vkt_gpu *of, vkt_dtype dtype, bool plain)
{
    static const uint32_t sizes[N_WRT][2] = { { B, C }, { C, C }, { C, C },
                                              { C, 0 }, { C, 0 }, { ODD, C } };
    static const char *const names[] = { "x", "w1", "w2", "gain", "bias", "w3" };
    net n = { .g = vkt__graph_new(of) };
    vkt_graph *g = n.g;
    vkt_graph_precision(g, dtype);
    if (plain) vkt_graph_no_rewrite(g);
    for (int i = 0; i < N_WRT; i++)
        n.in[i] = vkt_input(
            g, sizes[i][1] ? vkt_shape2(sizes[i][0], sizes[i][1]) : vkt_shape1(sizes[i][0]),
            VKT_F32, names[i]);
    vkt_tensor *target = vkt_input(g, vkt_shape1(B), VKT_U32, "target"),
               *weight = vkt_input(g, vkt_shape1(B), VKT_F32, "row weight");
    if (dtype) { /* w2 has its 16 bits already */
        n.shadow = vkt_input(g, vkt_shape2(C, C), dtype, "w2");
        vkt_shadow(n.in[W2], n.shadow);
    }
    vkt_tensor *h = vkt_linear(g, n.in[X], n.in[W1], n.in[BIAS], VKT_ACT_NONE);
    h = n.hidden = vkt_dropout(g, vkt_activate(g, h, VKT_ACT_GELU), vkt_step(g), 0.2f);
    h = vkt_layernorm(g, vkt_linear(g, h, n.in[W2], NULL, VKT_ACT_NONE), n.in[GAIN], n.in[BIAS], h,
                      1e-5f, NULL);
    h = vkt_activate(g, vkt_mul(g, h, n.in[GAIN]), VKT_ACT_SILU);
    n.odd = vkt_activate(g, vkt_linear(g, h, n.in[W3], NULL, VKT_ACT_NONE), VKT_ACT_TANH);
    n.logits = vkt_matmul(g, VKT_LAYOUT_NN, n.odd, n.in[W3]); /* [B, C] */
    n.out[LOSS] =
        vkt_softmax_xent(g, n.logits, target, weight, NULL, &(vkt_xent_desc) { .smoothing = 0.1f })
            .loss;
    /* As in training: f16's gradients of a mean would fall below its normal numbers. */
    vkt_scale_loss(g, vkt_input(g, vkt_shape1(1), VKT_F32, "scale"));
    vkt_backward(g, n.out[LOSS], n.in, N_WRT, n.out);
    for (int i = 0; i < N_OUT; i++) vkt_keep(n.out[i], "result");
    return n;
}

/* Element i of an input, whatever else the graph has: a shadow's are the tensor's, rounded. */
static double value(const vkt_tensor *t, uint64_t i)
{
    if (t->hint.kind == VKT_HINT_STEP) return vkt__sample_value(t, 1, i);
    if (t->dtype == VKT_U32) return (double)(i * 7 % C);
    if (!strcmp(t->name, "row weight")) return 1.0 / B;
    if (!strcmp(t->name, "scale")) return 1024;
    uint64_t seed = (uint64_t)(unsigned char)t->name[0] * 256 + (unsigned char)t->name[1];
    double spread = t->name[0] == 'w' ? 0.125 : 1; /* products of C terms keep their size */
    return vkt__round_to(t->dtype,
                         (double)(float)(spread * vkt_rand_normal(seed, VKT_RNG_TEST, i)));
}

static void bind_inputs(vkt_graph *g, vkt_buffer *buf)
{
    uint64_t at = 0;
    uint32_t words[MOST];
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->node || t->view_of || !t->name || t->bound) continue;
        vkt_bind(t, VKT_ALL_SLOTS, buf, at);
        at += vkt__align(t->bytes, 256);
        if (!g->gpu) continue;
        for (uint64_t k = 0; k < t->count; k++) vkt__sample_encode(t, k, value(t, k), words);
        REQUIRE_OK(vkt_tensor_write(t, 0, words, t->bytes));
    }
}

static void fill(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++) data[i] = value(t, i);
}

typedef struct {
    const net *n;
    double out[N_OUT][MOST];
} taken;

static void take(void *user, const vkt_tensor *t, const double *data)
{
    taken *v = user;
    for (int i = 0; i < N_OUT; i++)
        if (t == v->n->out[i]) memcpy(v->out[i], data, t->count * sizeof *data);
}

/* The plain graph in double. */
static const taken *exact(void)
{
    static taken v;
    static vkt_buffer buf = { .bytes = 1 << 18, .label = "inputs" };
    net n = build(NULL, VKT_F32, true);
    bind_inputs(n.g, &buf);
    REQUIRE_OK(vkt_graph_plan(n.g, &(vkt_plan_desc) { 0 }));
    v.n = &n;
    vkt__graph_ref(n.g, fill, &v, take);
    vkt_graph_destroy(&n.g);
    return &v;
}

/* Each rounded tensor adds an independent relative error of at most eps to what depends on it, and
 * a layer hands relative errors on unchanged: its products add up terms whose errors are
 * independent too. So after n of them the error's norm is about eps sqrt(n) of the result's, for
 * which vkt__tol allows twice that and a little. */
static void stays_near(vkt_dtype dtype, const char *cap)
{
    static float got[MOST];
    const taken *want = exact();
    vkt_gpu *of = gpu;
    vkt_buffer *buf;
    if (cap) REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .cap = cap, .no_cache = true }, &of));
    REQUIRE_OK(vkt_buffer_create(of, &(vkt_buffer_desc) { 1 << 18, VKT_MEM_DEVICE, "test" }, &buf));
    net n = build(of, dtype, false);
    bind_inputs(n.g, buf);
    REQUIRE_OK(vkt_graph_compile(n.g, &(vkt_plan_desc) { 0 }));
    REQUIRE_OK(vkt_graph_run(n.g));
    uint32_t roundings = n.g->narrow.n_tensors + n.g->narrow.n_casts + n.g->narrow.n_shadows;
    assert_true(roundings > 8);
    for (int i = 0; i < N_OUT; i++) {
        double error = 0, norm = 0;
        REQUIRE_OK(vkt_tensor_read(n.out[i], 0, got, n.out[i]->bytes));
        assert_int_equal(n.out[i]->dtype, VKT_F32);
        for (uint64_t k = 0; k < n.out[i]->count; k++) {
            double d = (double)got[k] - want->out[i][k];
            error += d * d;
            norm += want->out[i][k] * want->out[i][k];
        }
        REQUIRE_NEAR(sqrt(error / norm), 0, vkt__tol(dtype, roundings));
        assert_true(error / norm > 1e-14); /* something was rounded: fp32 would be nearer */
    }
    vkt_graph_destroy(&n.g);
    vkt_buffer_destroy(of, &buf);
    if (cap) vkt_gpu_destroy(&of);
}

static void results_stay_near_fp32(void **state)
{
    (void)state;
    stays_near(VKT_BF16, NULL);
    stays_near(VKT_F16, NULL);
}

static void devices_without_the_types_do_too(void **state)
{
    (void)state;
    if (getenv("VKT_TEST_CAP")) skip(); /* it names its own */
    static const char *const caps[] = { "fp16=0,bf16=0,int64=0", "cpu-kernels=0,fp16=0",
                                        "subgroup-arith=0,workgroup=64" };
    for (size_t i = 0; i < VKT_COUNT(caps); i++) {
        stays_near(VKT_BF16, caps[i]);
        stays_near(VKT_F16, caps[i]);
    }
}

/* ---- which tensors ---- */

static const vkt_node *first_node(const vkt_graph *g, const vkt_op *op)
{
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->op == op) return g->nodes[k];
    fail();
    return NULL;
}

static void the_rule_decides(void **state)
{
    (void)state;
    static vkt_buffer buf = { .bytes = 1 << 18, .label = "inputs" };
    net n = build(NULL, VKT_BF16, false);
    bind_inputs(n.g, &buf);
    REQUIRE_OK(vkt_graph_plan(n.g, &(vkt_plan_desc) { 0 }));
    const vkt_node *norm = first_node(n.g, &vkt__op_layernorm),
                   *loss = first_node(n.g, &vkt__op_softmax_xent_bwd);
    assert_int_equal(n.hidden->dtype, VKT_BF16);
    assert_int_equal(n.hidden->bytes, 2 * B * C);
    assert_int_equal(norm->out[0]->dtype, VKT_BF16);
    assert_int_equal(norm->out[2]->dtype, VKT_F32); /* mean */
    assert_int_equal(norm->out[3]->dtype, VKT_F32); /* 1 / deviation */
    assert_int_equal(n.logits->dtype, VKT_F32);
    assert_int_equal(loss->out[0]->dtype, VKT_BF16);
    assert_int_equal(n.odd->dtype, VKT_F32); /* its rows would share words */
    assert_int_equal(n.g->narrow.n_shadows, 1);
    for (size_t k = 0; k < n.g->n_nodes; k++) {
        const vkt_node *m = n.g->nodes[k];
        if (m->op == &vkt__op_cast) assert_ptr_not_equal(m->in[0], n.in[W2]);
        for (uint32_t i = 0; i < 2; i++)
            if (m->op->in[i] & VKT_FACTOR) assert_int_equal(m->in[i]->dtype, VKT_BF16);
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) /* each input is made before it is read */
            assert_true(!m->in[i] || !m->in[i]->node || m->in[i]->node->index < k);
    }
    char *text = vkt_graph_explain(n.g);
    assert_non_null(strstr(text, "activations and gradients in bf16"));
    free(text);
    vkt_graph_destroy(&n.g);

    n = build(NULL, VKT_F16, true);
    bind_inputs(n.g, &buf);
    REQUIRE_OK(vkt_graph_plan(n.g, &(vkt_plan_desc) { 0 }));
    for (size_t i = 0; i < n.g->n_tensors; i++)
        assert_true(n.g->tensors[i]->dtype != VKT_F16 || n.g->tensors[i] == n.shadow);
    text = vkt_graph_explain(n.g);
    assert_non_null(strstr(text, "which are off"));
    free(text);
    vkt_graph_destroy(&n.g);
}

/* ---- a run ---- */

static void wants_f32(void *user, const vkt_tensor_info *t)
{
    ++*(int *)user;
    assert_string_equal(t->dtype, "F32");
}

static void masters_are_saved_and_evaluation_repeats(void **state)
{
    (void)state;
    static const char *const precisions[] = { "train.precision=bf16", "train.precision=fp16" };
    for (size_t k = 0; k < VKT_COUNT(precisions); k++) {
        vkt_config *c;
        vkt_train_result r;
        vkt_eval_result e;
        int n = 0;
        char path[1200];
        const char *cap = getenv("VKT_TEST_CAP");
        REQUIRE_OK(vkt_config_create(&c));
        REQUIRE_OK(vkt_config_load(c, "digits"));
        REQUIRE_OK(vkt_config_set(c, precisions[k]));
        REQUIRE_OK(vkt_config_set(c, "train.steps=60"));
        REQUIRE_OK(vkt_config_finish(c));
        vkt__remove_tree("tp_run");
        vkt_gpu_desc desc = { .cap = cap, .no_cache = true };
        REQUIRE_OK(vkt_train(c, &(vkt_train_desc) { .run_dir = "tp_run", .gpu = desc }, &r));
        vkt_config_destroy(&c);
        assert_true(r.test_accuracy > 0.85);
        assert_true(r.planned_bytes == r.device_bytes);
        snprintf(path, sizeof path, "%s/model.safetensors", r.best_checkpoint);
        REQUIRE_OK(vkt_safetensors_list(path, wants_f32, &n, NULL));
        assert_int_equal(n, 6);
        REQUIRE_OK(vkt_eval(
            &(vkt_eval_desc) { .gpu = desc, .checkpoint = "tp_run", .split = VKT_SPLIT_TEST }, &e));
        assert_true(e.loss == r.test_loss && e.accuracy == r.test_accuracy);
        vkt_eval_result_finish(&e);
    }
    vkt__remove_tree("tp_run");
}

static int open_gpu(void **state)
{
    (void)state;
    vkt_gpu_desc desc = { .cap = getenv("VKT_TEST_CAP"),
                          .validate = getenv("VKT_TEST_VALIDATE") != NULL,
                          .no_cache = true };
    REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
    vkt_gpu_destroy(&gpu);
    return 0;
}

/* Forward and both gradients, on a device that is taken for one with matrix units, and as it is. */
static void convolutions_round_where_there_are_units(void **state)
{
    (void)state;
    vkt_caps *caps = (vkt_caps *)(uintptr_t)vkt_gpu_caps(gpu);
    const vkt_gpu_class klass = caps->klass;
    for (int as_gpu = 0; as_gpu <= 1; as_gpu++) {
        bool units = as_gpu && caps->coopmat && caps->coopmat_f16[0];
        caps->klass = as_gpu ? VKT_GPU_CLASS_NVIDIA : klass;
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_graph_precision(g, VKT_F16);
        vkt_tensor *in[2] = { vkt_input(g, (vkt_shape) { 4, { 2, 9, 9, 8 } }, VKT_F32, "x"),
                              vkt_input(g, (vkt_shape) { 4, { 3, 3, 8, 16 } }, VKT_F32, "w") },
                   *d[2], *y = vkt_conv2d(g, in[0], in[1], NULL, &(vkt_conv_desc) { .pad = 1 });
        vkt_backward(g, vkt_reshape(g, y, vkt_shape1((uint32_t)y->count)), in, 2, d);
        vkt__pass_precision.run(g, true);
        REQUIRE_OK(g->status);
        uint32_t convs = 0;
        for (size_t k = 0; k < g->n_nodes; k++) {
            const vkt_node *n = g->nodes[k];
            if (!vkt__is_conv(n)) continue;
            assert_int_equal(n->attr.conv.multiply, units ? VKT_F16 : VKT_F32);
            assert_int_equal(!strncmp(vkt__conv_kernel(gpu, n), "matrix", 6), units);
            convs++;
        }
        assert_int_equal(convs, 3);
        assert_int_equal(g->narrow.n_units, units ? 3 : 0);
        vkt_graph_destroy(&g);

        /* Attention with a head of whole fragments, and with one that has none. */
        for (uint32_t head = 16; head <= 20; head += 4) {
            g = vkt__graph_new(gpu);
            vkt_graph_precision(g, VKT_F16);
            in[0] = vkt_input(g, vkt_shape3(1, 70, 3 * 2 * head), VKT_F32, "qkv");
            y = vkt_attention(g, in[0], NULL, NULL, NULL, NULL,
                              &(vkt_attention_desc) { .heads = 2 });
            vkt_backward(g, vkt_reshape(g, y, vkt_shape1((uint32_t)y->count)), in, 1, d);
            vkt__pass_precision.run(g, true);
            REQUIRE_OK(g->status);
            assert_int_equal(g->narrow.n_units, units && head == 16 ? 2 : 0);
            for (size_t k = 0; k < g->n_nodes; k++)
                if (g->nodes[k]->op->narrow)
                    assert_int_equal(!strcmp(g->nodes[k]->op->kernel(gpu, g->nodes[k]), "matrix"),
                                     units && head == 16);
            vkt_graph_destroy(&g);
        }
    }
    caps->klass = klass;
}

/* One row writes the loss and its gradient, which has 16 bits where rows do not share words. */
static void a_loss_and_its_gradient_are_one_row(void **state)
{
    (void)state;
    static vkt_buffer buf = { .bytes = 1 << 18, .label = "inputs" };
    for (uint32_t V = ODD; V <= ODD + 1; V++) {
        vkt_graph *g = vkt__graph_new(NULL);
        vkt_graph_precision(g, VKT_BF16);
        vkt_tensor *in[] = { vkt_input(g, vkt_shape2(B, C), VKT_F32, "x"),
                             vkt_input(g, vkt_shape2(V, C), VKT_F32, "w3") },
                   *target = vkt_input(g, vkt_shape1(B), VKT_U32, "target"), *d[2];
        vkt_tensor *logits = vkt_matmul(g, VKT_LAYOUT_NT, in[0], in[1]);
        vkt_backward(g, vkt_sum(g, vkt_softmax_xent(g, logits, target, NULL, NULL, NULL).loss), in,
                     2, d);
        for (int i = 0; i < 2; i++) vkt_keep(d[i], "gradient");
        bind_inputs(g, &buf);
        REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
        const vkt_tensor *dlogits = first_node(g, &vkt__op_softmax_xent)->out[VKT_XENT_OUT_DLOGITS];
        assert_non_null(dlogits);
        assert_int_equal(dlogits->dtype, V % 2 ? VKT_F32 : VKT_BF16);
        for (size_t k = 0; k < g->n_nodes; k++) {
            assert_ptr_not_equal(g->nodes[k]->op, &vkt__op_softmax_xent_bwd);
            assert_true(V % 2 || g->nodes[k]->op != &vkt__op_cast || g->nodes[k]->in[0] != dlogits);
        }
        vkt_graph_destroy(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_decides),
        cmocka_unit_test(a_loss_and_its_gradient_are_one_row),
        cmocka_unit_test(results_stay_near_fp32),
        cmocka_unit_test(devices_without_the_types_do_too),
        cmocka_unit_test(masters_are_saved_and_evaluation_repeats),
        cmocka_unit_test(convolutions_round_where_there_are_units),
    };
    return cmocka_run_group_tests_name("precision", tests, open_gpu, close_gpu);
}
