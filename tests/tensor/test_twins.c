/* The twins' gradients against central differences of the twins, in double and without a GPU: every
 * row's sample cases, then graphs in which rows meet. With this and test_ops the kernels' gradients
 * rest on differences alone. */
#include "testing.h"

#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/experts/ops_expert.h"

enum { SEED = 5, MOST_ELEMENTS = 20000, PER_INPUT = 6, MOST_WRT = 8 };
static const double STEP = 1e-5;

/* One run of the twins: the value of `loss` summed, with element `at` of `moved` displaced by h. */
typedef struct {
    const vkt_tensor *loss, *moved;
    uint64_t at;
    double h, sum;
    vkt_tensor *const *dwrt;
    size_t n_wrt;
    double *grad[MOST_WRT];
    double **samples; /* by tensor's index, kept from run to run: most of the time was theirs */
} run;

static void init(void *user, const vkt_tensor *t, double *data)
{
    const run *r = user;
    double **kept = &r->samples[t->index];
    if (!*kept) {
        *kept = vkt__alloc(t->count * sizeof **kept);
        for (uint64_t i = 0; i < t->count; i++) (*kept)[i] = vkt__sample_value(t, SEED, i);
    }
    memcpy(data, *kept, t->count * sizeof *data);
    if (t == r->moved) data[r->at] += r->h;
}

static void done(void *user, const vkt_tensor *t, const double *data)
{
    run *r = user;
    for (uint64_t i = 0; t == r->loss && i < t->count; i++) r->sum += data[i];
    for (size_t k = 0; k < r->n_wrt; k++)
        if (t == r->dwrt[k]) memcpy(r->grad[k], data, t->count * sizeof *data);
}

/* By the first n_forward nodes: the gradients' nodes come after them. */
static double value_at(vkt_graph *g, size_t n_forward, double **samples, const vkt_tensor *loss,
                       const vkt_tensor *moved, uint64_t at, double h)
{
    run r = { .loss = loss, .moved = moved, .at = at, .h = h, .samples = samples };
    size_t n_nodes = g->n_nodes;
    g->n_nodes = n_forward;
    vkt__graph_ref(g, init, &r, done);
    g->n_nodes = n_nodes;
    return r.sum;
}

/* Differentiates sum(loss) and compares; returns the number of gradients looked at. A difference
 * errs by the roundings of the sum, 1e-16 each over the step of 1e-5, and by the third derivative,
 * 1e-10 of it. */
static unsigned check_gradients(vkt_graph *g, vkt_tensor *loss, vkt_tensor *const *wrt, size_t n,
                                const char *name)
{
    vkt_tensor *dwrt[MOST_WRT];
    unsigned seen = 0;
    size_t n_forward = g->n_nodes;
    assert_true(n <= MOST_WRT);
    vkt_backward(g, loss, wrt, n, dwrt);
    assert_int_equal(g->status, VKT_OK);
    run r = { .loss = loss, .dwrt = dwrt, .n_wrt = n };
    r.samples = vkt__alloc(g->n_tensors * sizeof *r.samples);
    for (size_t k = 0; k < n; k++) {
        assert_true(vkt__shape_equal(dwrt[k]->shape, wrt[k]->shape));
        r.grad[k] = vkt__alloc(wrt[k]->count * sizeof(double));
    }
    vkt__graph_ref(g, init, &r, done);
    for (size_t k = 0; k < n; k++) {
        double rms = 0;
        for (uint64_t i = 0; i < wrt[k]->count; i++)
            rms += r.grad[k][i] * r.grad[k][i] / (double)wrt[k]->count;
        rms = sqrt(rms);
        for (uint64_t j = 0; j < VKT_MIN(PER_INPUT, wrt[k]->count); j++) {
            uint64_t i = wrt[k]->count <= PER_INPUT
                             ? j
                             : vkt_rand_below(SEED, VKT_RNG_SAMPLE, j, (uint32_t)wrt[k]->count);
            double up = value_at(g, n_forward, r.samples, loss, wrt[k], i, STEP),
                   down = value_at(g, n_forward, r.samples, loss, wrt[k], i, -STEP);
            double want = (up - down) / (2 * STEP), got = r.grad[k][i];
            double limit = 1e-6 * (fabs(want) + rms) +
                           1e-16 / STEP * (10 + sqrt((double)loss->count)) * (1 + fabs(up));
            if (!(fabs(got - want) <= limit)) {
                print_error(
                    "%s: gradient of %s at %llu is %.9g, the difference %.9g (limit %.2g)\n", name,
                    vkt__text(wrt[k]), (unsigned long long)i, got, want, limit);
                fail();
            }
            seen++;
        }
        free(r.grad[k]);
    }
    for (size_t i = 0; i < g->n_tensors; i++) free(r.samples[i]);
    free(r.samples);
    return seen;
}

static vkt_tensor *times_constant(vkt_graph *g, vkt_tensor *t)
{
    return vkt_sum(g, vkt_mul(g, t, vkt__sample(g, t->shape, VKT_F32, VKT_HINT_NORMAL, 0)));
}

/* ---- every row ---- */

/* Which outputs of a row are results; the others are saved for its gradient. */
static uint32_t results(const vkt_op *op)
{
    return op == &vkt__op_layernorm || op == &vkt__op_rmsnorm ? 3 : 1;
}

/* The f32 inputs that a row has gradients for: not the weights of losses, a table of
 * angles, running averages, what is not a number.
 */
static size_t differentiable_inputs(const vkt_graph *g, const vkt_node *n, vkt_tensor **wrt)
{
    bool weighs =
        n->op == &vkt__op_softmax_xent || n->op == &vkt__op_element_loss || n->op == &vkt__op_rope;
    bool averages = n->op == &vkt__op_batch_norm || n->op == &vkt__op_batch_norm_pool;
    size_t n_wrt = 0;
    for (size_t i = 0; i < g->n_tensors && n_wrt < MOST_WRT; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->node || !t->name || t->dtype != VKT_F32 ||
            (weighs && t->hint.kind == VKT_HINT_POSITIVE))
            continue;
        if (averages && (t == n->in[1] || t == n->in[2])) continue;
        if (n->op == &vkt__op_lookup && t == n->in[0]) continue; /* ids */
        if (n->op == &vkt__op_focal && t != n->in[0]) continue;
        if (n->op == &vkt__op_where && t == n->in[0]) continue; /* the condition */
        wrt[n_wrt++] = t;
    }
    return n_wrt;
}

static bool has_16bit(const vkt_graph *g)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (vkt_dtype_bytes(g->tensors[i]->dtype) == 2) return true;
    return false;
}

/* Casts, and gradients that are rounded to 16 bits, are steps, and so is which of equal numbers is
 * taken, and what moves whole numbers has none: no differences there. Sums of squares are for
 * gradient norms, experts' other products are gradients themselves, and a start is for generation:
 * nothing differentiates those. Experts' places in samples are not those that rows go to:
 * a_mixture_of_experts has those. */
static bool has_differences(const vkt_op *op, const vkt_graph *g)
{
    const vkt_node *last = g->nodes[g->n_nodes - 1];
    if (last->out[0]->dtype == VKT_U32) return false;
    if (op == &vkt__op_embedding && (last->in[3] || !last->in[4])) return false;
    if ((op == &vkt__op_attention || op == &vkt__op_attention_cached) && last->in[4]) return false;
    if (op == &vkt__op_top_k && last->in[0]->hint.kind == VKT_HINT_UNIT) return false;
    if (op == &vkt__op_expert_matmul && last->attr.route.layout != VKT_LAYOUT_NT) return false;
    if (op == &vkt__op_expert_gather || op == &vkt__op_expert_combine) return false;
    return !has_16bit(g) && !(op == &vkt__op_sum && g->nodes[0]->attr.sum.square);
}

static bool is_small(const vkt_graph *g)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->count == 0 || g->tensors[i]->count > MOST_ELEMENTS)
            return g->tensors[i] == g->inert || g->tensors[i] == g->ones;
    return true;
}

/* Twice: the results times constants, so that a real gradient arrives; the bare result, so that the
 * marker does. */
static void each_row(bool bare)
{
    unsigned n_rows = 0, n_cases = 0, n_grads = 0;
    for (size_t k = 0; vkt__rows[k]; k++) {
        const vkt_op *op = vkt__rows[k];
        if (!op->grad) continue;
        n_rows++;
        for (uint32_t i = 0;; i++) {
            vkt_graph *g = vkt__graph_new(NULL);
            const char *name = op->sample(op, g, i);
            if (!name) {
                vkt_graph_destroy(&g);
                break;
            }
            const vkt_node *n = g->nodes[g->n_nodes - 1];
            vkt_tensor *wrt[MOST_WRT], *loss = n->out[0];
            size_t n_wrt = differentiable_inputs(g, n, wrt);
            char text[96];
            snprintf(text, sizeof text, "%s '%s'%s", op->name, name, bare ? ", bare" : "");
            if (is_small(g) && has_differences(op, g)) {
                if (!bare) {
                    loss = times_constant(g, n->out[0]);
                    for (uint32_t o = 1; o < op->n_out; o++)
                        if (n->out[o] && results(op) >> o & 1)
                            loss = vkt_add(g, loss, times_constant(g, n->out[o]));
                }
                n_grads += check_gradients(g, loss, wrt, n_wrt, text);
                n_cases++;
            }
            vkt_graph_destroy(&g);
        }
    }
    print_message("%u rows, %u cases, %u gradients\n", n_rows, n_cases, n_grads);
    assert_true(n_rows >= 12 && n_cases >= 60);
}

static void every_row_with_an_upstream_gradient(void **state)
{
    (void)state;
    each_row(false);
}
static void every_row_as_the_loss_itself(void **state)
{
    (void)state;
    each_row(true);
}

/* ---- rows together ---- */

/* Gradients of tokens, probabilities and weights, through the experts and back. */
static void a_mixture_of_experts(void **state)
{
    (void)state;
    for (int norm = 0; norm < 2; norm++) {
        vkt_graph *g = vkt__graph_new(NULL);
        vkt_tensor *x = vkt__sample2(g, 11, 8),
                   *p = vkt__sample(g, vkt_shape2(11, 5), VKT_F32, VKT_HINT_POSITIVE, 0),
                   *w = vkt__sample(g, vkt_shape3(5, 12, 8), VKT_F32, VKT_HINT_NORMAL, 0);
        vkt__routes r = vkt__route(g, p, 2, norm != 0);
        vkt_tensor *y = vkt__expert_linear(g, vkt__expert_gather(g, x, &r), w, &r);
        y = vkt__expert_combine(g, y, &r);
        check_gradients(g, times_constant(g, y), (vkt_tensor *[]) { x, p, w }, 3, "experts");
        vkt_graph_destroy(&g);
    }
}

static void residual_used_twice(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 5, 7), *w = vkt__sample2(g, 7, 7);
    vkt_tensor *h = vkt_add(g, x, vkt_linear(g, x, w, NULL, VKT_ACT_TANH));
    vkt_tensor *y = vkt_add(g, vkt_mul(g, h, h), vkt_add(g, h, x));
    check_gradients(g, times_constant(g, y), (vkt_tensor *[]) { x, w }, 2, "residual");
    vkt_graph_destroy(&g);
}

/* A transformer's block: the norm's sum goes on as the residual, and its gradient comes back into
 * the norm. */
static void norm_whose_sum_is_used(void **state)
{
    (void)state;
    for (int rms = 0; rms < 2; rms++) {
        vkt_graph *g = vkt__graph_new(NULL);
        vkt_shape shape = { 3, { 3, 5, 8 } };
        vkt_tensor *x = vkt__sample(g, shape, VKT_F32, VKT_HINT_NORMAL, 0),
                   *r = vkt__sample(g, shape, VKT_F32, VKT_HINT_NORMAL, 0);
        vkt_tensor *w = vkt__sample2(g, 8, 8), *b = vkt__sample1(g, 8), *nw = vkt__sample1(g, 8),
                   *nb = vkt__sample1(g, 8), *sum, *sum2;
        vkt_tensor *h = vkt_linear(g, x, w, b, VKT_ACT_GELU);
        vkt_tensor *y = rms ? vkt_rmsnorm(g, h, nw, r, 1e-5f, &sum)
                            : vkt_layernorm(g, h, nw, nb, r, 1e-5f, &sum);
        y = rms ? vkt_rmsnorm(g, y, nw, NULL, 1e-5f, &sum2)
                : vkt_layernorm(g, y, nw, NULL, NULL, 1e-5f, &sum2);
        assert_ptr_equal(sum2, g->tensors[sum2->index]);
        vkt_tensor *out = vkt_add(g, vkt_add(g, y, sum), vkt_scale(g, sum2, 0.5f));
        check_gradients(g, times_constant(g, out), (vkt_tensor *[]) { x, r, w, b, nw, nb },
                        rms ? 5 : 6, "norm and sum");
        vkt_graph_destroy(&g);
    }
}

static void norm_of_which_only_the_sum_is_used(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 4, 6), *r = vkt__sample2(g, 4, 6), *w = vkt__sample1(g, 6),
               *sum;
    vkt_layernorm(g, x, w, NULL, r, 1e-5f, &sum);
    check_gradients(g, times_constant(g, sum), (vkt_tensor *[]) { x, r, w }, 3, "only the sum");
    vkt_graph_destroy(&g);
}

/* More rows than a chunk of norm_dw and sum_rows, so that the second stage runs. */
static void norm_of_many_rows(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 300, 4), *w = vkt__sample1(g, 4), *b = vkt__sample1(g, 4);
    check_gradients(g, times_constant(g, vkt_layernorm(g, x, w, b, NULL, 1e-5f, NULL)),
                    (vkt_tensor *[]) { x, w, b }, 3, "many rows");
    vkt_graph_destroy(&g);
}

static void broadcasts_and_reshapes(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample(g, (vkt_shape) { 3, { 2, 3, 4 } }, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_tensor *m = vkt__sample2(g, 3, 4), *v = vkt__sample1(g, 4), *one = vkt__sample1(g, 1);
    vkt_tensor *y = vkt_mul(g, vkt_add(g, vkt_mul(g, vkt_add(g, x, m), v), v), one);
    y = vkt_activate(g, vkt_reshape(g, y, vkt_shape2(4, 6)), VKT_ACT_SILU);
    y = vkt_add(g, vkt_reshape(g, y, vkt_shape1(24)), vkt_reshape(g, x, vkt_shape1(24)));
    check_gradients(g, times_constant(g, y), (vkt_tensor *[]) { x, m, v, one }, 4, "broadcast");
    vkt_graph_destroy(&g);
}

static void classifier_with_everything(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 20, 6), *w1 = vkt__sample2(g, 8, 6), *b1 = vkt__sample1(g, 8),
               *w2 = vkt__sample2(g, 5, 8);
    vkt_tensor *target = vkt__sample(g, vkt_shape1(20), VKT_U32, VKT_HINT_INDEX, 7);
    vkt_tensor *rw = vkt__sample(g, vkt_shape1(20), VKT_F32, VKT_HINT_POSITIVE, 0),
               *cw = vkt__sample(g, vkt_shape1(5), VKT_F32, VKT_HINT_POSITIVE, 0);
    vkt_tensor *h = vkt_dropout(g, vkt_linear(g, x, w1, b1, VKT_ACT_SILU), vkt_step(g), 0.4f);
    vkt_tensor *logits =
        vkt_linear(g, vkt_dropout(g, h, vkt_step(g), 0.2f), w2, NULL, VKT_ACT_NONE);
    vkt_loss l =
        vkt_softmax_xent(g, logits, target, rw, cw, &(vkt_xent_desc) { 0.15f, { true, 2 } });
    check_gradients(g, l.loss, (vkt_tensor *[]) { x, w1, b1, w2 }, 4, "classifier");
    vkt_graph_destroy(&g);
}

static void regression_on_two_outputs(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 9, 4), *w = vkt__sample2(g, 3, 4), *y = vkt__sample2(g, 9, 3);
    vkt_tensor *p = vkt_softmax(g, vkt_linear(g, x, w, NULL, VKT_ACT_NONE));
    vkt_tensor *loss =
        vkt_add(g, vkt_mse(g, p, y, NULL).loss, vkt_mse(g, y, vkt_scale(g, p, 2.0f), NULL).loss);
    check_gradients(g, loss, (vkt_tensor *[]) { x, w, y }, 3, "regression");
    vkt_graph_destroy(&g);
}

/* ---- what differences can't see ---- */

static void a_cast_gives_its_gradient_through(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 3, 5), *dx;
    vkt_tensor *y = vkt_cast(g, vkt_cast(g, x, VKT_BF16), VKT_F32);
    vkt_backward(g, times_constant(g, y), &x, 1, &dx);
    assert_int_equal(dx->dtype, VKT_F32);
    assert_ptr_equal(dx->node->op, &vkt__op_cast);
    assert_int_equal(dx->node->in[0]->dtype, VKT_BF16);
    vkt_graph_destroy(&g);
}

/* x -> bf16, w -> bf16: y = x w^T in bf16. The gradients are f32 sums, rounded on their way through
 * y and, of w, nowhere else. */
static void gradients_of_a_16_bit_product(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 5, 8), *w = vkt__sample2(g, 6, 8), *dx[2];
    vkt_tensor *h =
        vkt_linear(g, vkt_cast(g, x, VKT_BF16), vkt_cast(g, w, VKT_BF16), NULL, VKT_ACT_NONE);
    assert_int_equal(h->dtype, VKT_BF16);
    vkt_tensor *y =
        vkt_matmul(g, VKT_LAYOUT_NT, h, vkt__sample(g, vkt_shape2(4, 6), VKT_BF16, 0, 0));
    vkt_backward(g, times_constant(g, vkt_cast(g, y, VKT_F32)), (vkt_tensor *[]) { x, w }, 2, dx);
    assert_int_equal(g->status, VKT_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dx[i]->dtype, VKT_F32);
        assert_ptr_equal(dx[i]->node->op, &vkt__op_matmul);
        for (int k = 0; k < 2; k++) assert_int_equal(dx[i]->node->in[k]->dtype, VKT_BF16);
    }
    vkt_graph_destroy(&g);
}

static void weights_of_a_loss_have_no_gradient(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 3, 5), *w = vkt__sample1(g, 3), *dw;
    TEST_LOG_CAPTURE();
    vkt_backward(g, vkt_mse(g, x, vkt__sample2(g, 3, 5), w).loss, &w, 1, &dw);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    assert_int_equal(g->status, VKT_E_SHAPE);
    REQUIRE_LOGGED("no gradient with respect to weights");
    vkt_graph_destroy(&g);
}

typedef struct {
    const vkt_tensor *t;
    double data[4096];
} kept;

static void init_ones(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++)
        data[i] = t->hint.kind == VKT_HINT_STEP ? vkt__sample_value(t, SEED, i) : 1;
}

static void keep(void *user, const vkt_tensor *t, const double *data)
{
    kept *k = user;
    if (t == k->t) memcpy(k->data, data, t->count * sizeof *data);
}

/* Rates within 4 standard deviations; neighbours and the masks of two ops are independent. */
static void dropout_is_fair(void **state)
{
    (void)state;
    static kept a, b;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 64, 64);
    a.t = vkt_dropout(g, x, vkt_step(g), 0.25f);
    b.t = vkt_dropout(g, x, vkt_step(g), 0.25f);
    assert_ptr_equal(vkt_dropout(g, x, vkt_step(g), 0), x);
    vkt__graph_ref(g, init_ones, &a, keep);
    vkt__graph_ref(g, init_ones, &b, keep);
    double n = 4096, kept_a = 0, pairs = 0, both = 0;
    for (int i = 0; i < 4096; i++) {
        bool ka = a.data[i] != 0, next = a.data[(i + 1) % 4096] != 0, kb = b.data[i] != 0;
        if (ka) REQUIRE_NEAR(a.data[i], 4.0 / 3, 1e-15);
        kept_a += ka, pairs += ka && next, both += ka && kb;
    }
    REQUIRE_NEAR(kept_a / n, 0.75, 4 * sqrt(0.75 * 0.25 / n));
    REQUIRE_NEAR(
        pairs / n, 0.5625,
        4 * sqrt(0.5625 * 0.4375 * 2 / n)); /* overlapping pairs: twice the variance at most */
    REQUIRE_NEAR(both / n, 0.5625, 4 * sqrt(0.5625 * 0.4375 / n));
    vkt_graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_with_an_upstream_gradient),
        cmocka_unit_test(every_row_as_the_loss_itself),
        cmocka_unit_test(a_mixture_of_experts),
        cmocka_unit_test(residual_used_twice),
        cmocka_unit_test(norm_whose_sum_is_used),
        cmocka_unit_test(norm_of_which_only_the_sum_is_used),
        cmocka_unit_test(norm_of_many_rows),
        cmocka_unit_test(broadcasts_and_reshapes),
        cmocka_unit_test(classifier_with_everything),
        cmocka_unit_test(regression_on_two_outputs),
        cmocka_unit_test(a_cast_gives_its_gradient_through),
        cmocka_unit_test(gradients_of_a_16_bit_product),
        cmocka_unit_test(weights_of_a_loss_have_no_gradient),
        cmocka_unit_test(dropout_is_fair),
    };
    return cmocka_run_group_tests_name("twins", tests, NULL, NULL);
}
