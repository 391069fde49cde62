/* Rewrites that only GPUs get, here run by a CPU driver that is taken for one: a batch norm's last
 * sums into what reads them, its statistics into the convolution, gradients' sums and filters by
 * groups. They give the plain graph's bits, except where statistics are summed in other chunks. */
#include "testing.h"

#include "one_device.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"

enum { B = 4, SIDE = 7, C = 12, T = 64, V = 33, MOST = 1 << 16, MOST_READ = 24 };

typedef struct {
    vkt_graph *g;
    vkt_tensor *read[MOST_READ]; /* what is compared */
    size_t n_read;
    vkt_tensor *wrt[MOST_READ];
    size_t n_wrt;
} net;

static vkt_tensor *param(net *n, vkt_shape s, const char *name)
{
    return n->wrt[n->n_wrt++] = vkt_input(n->g, s, VKT_F32, name);
}

/* ---- pictures: blocks of a residual net ---- */

static vkt_tensor *conv(net *n, vkt_tensor *x, uint32_t c, bool bias)
{
    vkt_tensor *w = param(n, (vkt_shape) { 4, { 3, 3, vkt__last(x->shape), c } }, "w"),
               *b = bias ? param(n, vkt_shape1(c), "b") : NULL;
    return vkt_conv2d(n->g, x, w, b, &(vkt_conv_desc) { .pad = 1 });
}

static vkt_tensor *norm(net *n, vkt_tensor *x, uint32_t virtual_batch)
{
    uint32_t c = vkt__last(x->shape);
    vkt_batch_norm_desc d = { .w = param(n, vkt_shape1(c), "gain"),
                              .b = param(n, vkt_shape1(c), "shift"),
                              .running_mean = vkt_input(n->g, vkt_shape1(c), VKT_F32, "mean"),
                              .running_var = vkt_input(n->g, vkt_shape1(c), VKT_F32, "variance"),
                              .count = vkt_input(n->g, vkt_shape1(1), VKT_U32, "count"),
                              .eps = 1e-5f,
                              .momentum = 0.1f,
                              .virtual_batch = virtual_batch,
                              .train = true };
    n->read[n->n_read++] = d.running_mean;
    n->read[n->n_read++] = d.running_var;
    n->read[n->n_read++] = d.count;
    return vkt_batch_norm(n->g, x, &d);
}

static vkt_tensor *pictures(net *n, bool bias, uint32_t virtual_batch)
{
    vkt_tensor *x = vkt_input(n->g, (vkt_shape) { 4, { B, SIDE, SIDE, 3 } }, VKT_F32, "pictures");
    vkt_tensor *h = vkt_activate(n->g, norm(n, conv(n, x, C, bias), virtual_batch), VKT_ACT_RELU);
    for (int i = 0; i < 2; i++) {
        vkt_tensor *s = vkt_activate(n->g, norm(n, conv(n, h, C, bias), virtual_batch),
                                     i ? VKT_ACT_SILU : VKT_ACT_RELU);
        s = norm(n, conv(n, s, C, bias), virtual_batch);
        h = vkt_activate(n->g, vkt_add(n->g, s, h), VKT_ACT_RELU);
    }
    return vkt_global_avg_pool(n->g, h);
}

static vkt_tensor *with_biases(net *n)
{
    return pictures(n, true, 0);
}

static vkt_tensor *with_ghosts(net *n)
{
    return pictures(n, true, 2);
}

static vkt_tensor *without_biases(net *n)
{
    return pictures(n, false, 0);
}

/* ---- text: a tied table, norms, products with biases ---- */

static vkt_tensor *text(net *n)
{
    enum { W = 24 };
    vkt_graph *g = n->g;
    vkt_embedding_in in = {
        .table = param(n, vkt_shape2(V, W), "table"),
        .ids = vkt__sample(g, vkt_shape2(B, T), VKT_U32, VKT_HINT_CYCLE, V),
        .order = vkt__sample(g, vkt_shape1(B * T), VKT_U32, VKT_HINT_ORDER, V),
        .segments = vkt__sample(g, vkt_shape1(V + 1), VKT_U32, VKT_HINT_SEGMENTS, B * T),
    };
    vkt_tensor *h = vkt_embedding(g, &in);
    for (int i = 0; i < 2; i++) {
        vkt_tensor *y = vkt_layernorm(g, h, param(n, vkt_shape1(W), "gain"),
                                      param(n, vkt_shape1(W), "shift"), NULL, 1e-5f, NULL);
        y = vkt_linear(g, y, param(n, vkt_shape2(W, W), "w"), param(n, vkt_shape1(W), "b"),
                       VKT_ACT_NONE);
        h = vkt_add(g, h, y);
    }
    h = vkt_reshape(g, h, vkt_shape2(B * T, W));
    return vkt_matmul(g, VKT_LAYOUT_NT, h, in.table);
}

static const struct {
    const char *name;
    vkt_tensor *(*build)(net *n);
    bool exact;
    const vkt__pass *passes[4];
    uint32_t n[4];
} nets[] = {
    { "pictures",
      with_biases,
      true,
      { &vkt__pass_batch_join, &vkt__pass_flips, &vkt__pass_residual },
      { 10, 4, 2 } },
    { "pictures, ghost batches", with_ghosts, true, { &vkt__pass_flips }, { 4 } },
    { "pictures, statistics by convolutions",
      without_biases,
      false,
      { &vkt__pass_batch_join, &vkt__pass_flips, &vkt__pass_residual, &vkt__pass_conv_stats },
      { 10, 4, 2, 5 } },
    { "text", text, true, { &vkt__pass_sum_group, &vkt__pass_residual }, { 5, 4 } },
};

static double value(const vkt_tensor *t, uint64_t i)
{
    if (!strcmp(t->name, "variance")) return 1 + (double)i / 7;
    if (!strcmp(t->name, "count")) return 3;
    if (!strcmp(t->name, "target")) return (double)(i * 7 % C);
    if (t->dtype == VKT_U32) return vkt__sample_value(t, 1, i);
    return (double)(0.3f * (float)vkt_rand_normal(t->index, VKT_RNG_TEST, i));
}

static void bind_inputs(vkt_graph *g, vkt_buffer *buf)
{
    static uint32_t words[MOST];
    uint64_t at = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->node || t->view_of || !t->name || t->bound) continue;
        vkt_bind(t, VKT_ALL_SLOTS, buf, at);
        at += vkt__align(t->bytes, 256);
        assert_true(t->count <= MOST);
        for (uint64_t k = 0; k < t->count; k++) vkt__sample_encode(t, k, value(t, k), words);
        REQUIRE_OK(vkt_tensor_write(t, 0, words, t->bytes));
    }
}

/* The graph, planned. n: its tensors that are compared, the loss and gradients among them. */
static void build(size_t which, bool plain, net *n, vkt_buffer *buf)
{
    *n = (net) { .g = vkt__graph_new(gpu) };
    if (plain) vkt_graph_no_rewrite(n->g);
    vkt_tensor *logits = nets[which].build(n), *d[MOST_READ];
    uint32_t rows = vkt__rows_of(logits->shape);
    vkt_tensor *target = vkt_input(n->g, vkt_shape1(rows), VKT_U32, "target");
    logits = vkt_reshape(n->g, logits, vkt_shape2(rows, vkt__last(logits->shape)));
    vkt_tensor *loss =
        vkt_softmax_xent(n->g, logits, target, NULL, NULL, &(vkt_xent_desc) { .smoothing = 0.1f })
            .loss;
    vkt_backward(n->g, loss, n->wrt, n->n_wrt, d);
    n->read[n->n_read++] = loss;
    vkt_keep(loss, "loss");
    for (size_t i = 0; i < n->n_wrt; i++) {
        vkt_keep(d[i], "gradient");
        assert_true(n->n_read < MOST_READ * 2);
        n->wrt[i] = d[i];
    }
    bind_inputs(n->g, buf);
    REQUIRE_OK(vkt_graph_compile(n->g, &(vkt_plan_desc) { 0 }));
}

/* Gradients are of size 1 / rows at most: what is lost is so relative to the largest of a tensor.
 */
static void compare(const char *name, const vkt_tensor *t, const float *got, const float *plain,
                    bool exact)
{
    double most = 0;
    if (exact) {
        if (memcmp(got, plain, t->bytes)) print_error("%s of '%s'\n", t->name, name);
        assert_memory_equal(got, plain, t->bytes);
        return;
    }
    for (uint64_t i = 0; i < t->count; i++) most = VKT_MAX(most, fabs((double)plain[i]));
    for (uint64_t i = 0; i < t->count && t->dtype == VKT_F32; i++)
        REQUIRE_NEAR(got[i], plain[i], vkt__tol(VKT_F32, B * SIDE * SIDE * C) * (most + 1e-6));
}

static void gpus_compute_the_same(void **state)
{
    (void)state;
    static float got[2][2 * MOST_READ][MOST / 16];
    vkt_buffer *buf;
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { 1 << 20, VKT_MEM_DEVICE, "test" }, &buf));
    for (size_t k = 0; k < VKT_COUNT(nets); k++) {
        uint32_t levels[2];
        for (int plain = 0; plain < 2; plain++) {
            net n;
            build(k, plain, &n, buf);
            levels[plain] = n.g->n_levels;
            for (size_t i = 0; i < VKT_COUNT(nets[k].passes) && nets[k].passes[i]; i++) {
                uint32_t did = vkt__rewrite_count(n.g, nets[k].passes[i]);
                if (did != (plain ? 0 : nets[k].n[i]))
                    print_error("'%s': %u x %s\n", nets[k].name, did, nets[k].passes[i]->name);
                assert_int_equal(did, plain ? 0 : nets[k].n[i]);
            }
            REQUIRE_OK(vkt_graph_run(n.g));
            for (size_t i = 0; i < n.n_read + n.n_wrt; i++) {
                vkt_tensor *t = i < n.n_read ? n.read[i] : n.wrt[i - n.n_read];
                assert_true(t->bytes <= sizeof got[0][0]);
                REQUIRE_OK(vkt_tensor_read(t, 0, got[plain][i], t->bytes));
                if (plain) compare(nets[k].name, t, got[0][i], got[1][i], nets[k].exact);
            }
            vkt_graph_destroy(&n.g);
        }
        assert_true(levels[0] < levels[1]);
    }
    vkt_buffer_destroy(gpu, &buf);
}

/* Statistics that a host takes over, and what is computed again, stay on their own. */
static vkt_status nothing(void *user, const vkt_node *n, uint32_t slot)
{
    (void)user, (void)n, (void)slot;
    return VKT_OK;
}

static void what_others_take_over_is_not_joined(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        net n = { .g = vkt__graph_new(gpu) };
        vkt_tensor *y = vkt_sum(n.g, without_biases(&n)), *d[MOST_READ];
        vkt_backward(n.g, y, n.wrt, n.n_wrt, d);
        if (way)
            vkt_graph_recompute(n.g);
        else
            vkt__graph_sync(n.g, 2, nothing, NULL);
        vkt__rewrite_whole(n.g);
        assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_batch_join), 0);
        assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_conv_stats), 0);
        vkt_graph_destroy(&n.g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_compute_the_same),
        cmocka_unit_test(what_others_take_over_is_not_joined),
        cmocka_unit_test(validation_is_silent),
    };
    if (!open_gpu("cpu-kernels=0")) return 1;
    int failed = cmocka_run_group_tests_name("rewrites of GPUs", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
