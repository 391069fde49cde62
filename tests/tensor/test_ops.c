/* Every row's sample cases on the device that VKT_DEVICE and VKT_TEST_CAP name, against the twins.
 */
#include "testing.h"

#include "base/os.h"
#include "bound_input.h"
#include "one_device.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/graph/act.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"
#include "tensor/check/check.h"

/* user: when the row before ended. */
static void print_row(void *user, const vkt_check_result *r)
{
    double *last = user, now = vkt__now();
    printf("  %-16s %3u cases, %3.0f%% of the tolerance, %4.1f s%s%s\n", r->op, r->n_cases,
           100 * r->worst, now - *last, r->n_failed ? ": " : "", r->n_failed ? r->detail : "");
    *last = now;
}

/* VKT_TEST_FOREIGN=few: of the kernels shaped for other devices than this one a few cases: for CPU
 * drivers that take seconds to compile each, beside one that runs them all. */
static bool few_foreign(void)
{
    const char *s = getenv("VKT_TEST_FOREIGN");
    return s && !strcmp(s, "few");
}

/* How many cases of a row show what concerns all. */
static uint32_t a_few(void)
{
    return few_foreign() ? 2 : 6;
}

/* VKT_TEST_OPS: names of rows, commas between them, to check only these. VKT_TEST_PART=K/N: of each
 * row's cases every N-th, from the K-th on: for a driver that takes long over all. */
static vkt_status check_rows(uint32_t most, bool no_named)
{
    double last = vkt__now();
    const char *s = getenv("VKT_TEST_PART");
    vkt__check_desc d = { .most = most,
                          .only = getenv("VKT_TEST_OPS"),
                          .no_named = no_named,
                          .few_foreign = few_foreign() };
    if (s) {
        assert_int_equal(sscanf(s, "%u/%u", &d.part, &d.parts), 2);
        assert_true(d.part >= 1 && d.part-- <= d.parts);
        if (d.parts == 1) d.parts = 0;
    }
    return vkt__check_ops(gpu, &d, print_row, &last);
}

/* VKT_TEST_MOST: cases of each row at most, and nothing else is tried: for qemu. */
static void kernels_agree_with_their_twins(void **state)
{
    (void)state;
    const char *most = getenv("VKT_TEST_MOST");
    REQUIRE_OK(check_rows(most ? (uint32_t)strtoul(most, NULL, 10) : 0, false));
}

/* Nothing to compare is no agreement. */
static void a_case_that_runs_nothing_fails(void **state)
{
    (void)state;
    char why[256];
    vkt_graph *g = vkt__graph_new(gpu);
    vkt__sample2(g, 2, 3);
    REQUIRE_OK(vkt__check_graph(gpu, g, false, why, sizeof why));
    assert_non_null(strstr(why, "nothing is run"));
    vkt_graph_destroy(&g);
}

/* A twin with one wrong element, by this multiple of its limit. */
static double off;
static void off_ref(const vkt_node *n, double *const *in, double *const *out)
{
    double square = 0, count = (double)n->out[0]->count;
    vkt__op_cumsum.ref(n, in, out);
    for (uint64_t i = 0; i < n->out[0]->count; i++) square += out[0][i] * out[0][i];
    out[0][4] += off * vkt__limit(VKT_F32, n->op->terms(n), out[0][4], sqrt(square / count));
}

/* The self-test passes what is within the limit, and no more. */
static void a_result_beyond_its_limit_fails(void **state)
{
    (void)state;
    static const double offs[] = { 0, 0.5, 2 };
    vkt_op row = vkt__op_cumsum;
    row.ref = off_ref;
    for (size_t i = 0; i < VKT_COUNT(offs); i++) {
        char why[256];
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_tensor *x = vkt__sample2(g, 2, 3);
        vkt__op(g, &row, &x, 1, (vkt_attr) { .along = { .axis = 1 } });
        off = offs[i];
        REQUIRE_OK(vkt__check_graph(gpu, g, false, why, sizeof why));
        assert_true(offs[i] > 1 ? strstr(why, "element 4 is") != NULL : !*why);
        vkt_graph_destroy(&g);
    }
}

/* The kernels of another class: products that name theirs have run already. */
static void the_class_kernels_agree_with_their_twins(void **state)
{
    (void)state;
    REQUIRE_OK(check_rows(few_foreign() ? a_few() : 0, true));
}

/* Cut dispatches concern how a kernel finds its place, which a few cases of each row show. */
static void a_few_of_each_agree_in_parts(void **state)
{
    (void)state;
    REQUIRE_OK(check_rows(a_few(), false));
}

/* Every 16-bit pattern keeps its bits up and down again; a NaN stays a NaN. */
static void casts_of_every_16_bit_number_are_exact(void **state)
{
    (void)state;
    static uint16_t all[65536], back[65536];
    static float up[65536];
    for (uint32_t i = 0; i < 65536; i++) all[i] = (uint16_t)i;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        vkt_dtype dtype = bf16 ? VKT_BF16 : VKT_F16;
        uint32_t inf = bf16 ? 0x7f80 : 0x7c00, bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15;
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_tensor *u = vkt_cast(g, input(g, vkt_shape1(65536), dtype, all), VKT_F32),
                   *d = vkt_cast(g, u, dtype);
        vkt_keep(u, "up");
        vkt_keep(d, "down");
        REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
        REQUIRE_OK(vkt_graph_run(g));
        REQUIRE_OK(vkt_tensor_read(u, 0, up, sizeof up));
        REQUIRE_OK(vkt_tensor_read(d, 0, back, sizeof back));
        for (uint32_t i = 0; i < 65536; i++) {
            uint32_t a = i & 0x7fff, e = a >> bits, m = a & ((1u << bits) - 1), word;
            double v = ldexp(e ? m + (1u << bits) : m, (int)(e ? e : 1) - (int)bias - (int)bits);
            memcpy(&word, &up[i], 4);
            assert_int_equal(word >> 31, i >> 15);
            if (a > inf)
                assert_true((word & 0x7fffffff) > 0x7f800000 && (back[i] & 0x7fff) > inf);
            else
                assert_true(back[i] == i && (a == inf ? (word & 0x7fffffff) == 0x7f800000
                                                      : fabs((double)up[i]) == v));
        }
        destroy(&g);
    }
}

/* Ties, overflow, underflow: float32 bits and what they become. */
static void casts_round_to_nearest_even(void **state)
{
    (void)state;
    static const struct {
        uint32_t f32;
        uint16_t f16, bf16;
    } cases[] = {
        { 0x3f800000, 0x3c00, 0x3f80 },
        { 0x3f801000, 0x3c00, 0x3f80 }, /* 1, half an f16 step above it */
        { 0x3f801001, 0x3c01, 0x3f80 },
        { 0x3f803000, 0x3c02, 0x3f80 }, /* just over; halfway to an even one */
        { 0x3f808000, 0x3c04, 0x3f80 },
        { 0x3f818000, 0x3c0c, 0x3f82 }, /* ties of bf16 */
        { 0x477fefff, 0x7bff, 0x4780 },
        { 0x477ff000, 0x7c00, 0x4780 }, /* f16's largest, and where Inf begins */
        { 0x7f7f7fff, 0x7c00, 0x7f7f },
        { 0x7f7f8000, 0x7c00, 0x7f80 }, /* the same of bf16 */
        { 0x387fe000, 0x0400, 0x3880 },
        { 0x387fdfff, 0x03ff, 0x3880 }, /* subnormals round up to the least normal, or not */
        { 0x33000000, 0x0000, 0x3300 },
        { 0x33000001, 0x0001, 0x3300 }, /* half the least subnormal: a tie with 0 */
        { 0x33c00000, 0x0002, 0x33c0 },
        { 0x00000001, 0x0000, 0x0000 }, /* 1.5 of it: a tie; float32's own least */
        { 0x00018000, 0x0000, 0x0002 },
        { 0xc77ff000, 0xfc00, 0xc780 }, /* a tie among bf16's subnormals; signs */
        { 0x80000000, 0x8000, 0x8000 },
        { 0xff800000, 0xfc00, 0xff80 },
        { 0x7f800001, 0x7e00, 0x7fc0 },
    };
    enum { N = VKT_COUNT(cases) };
    uint32_t words[N];
    uint16_t got[N];
    for (size_t i = 0; i < N; i++) words[i] = cases[i].f32;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_tensor *d =
            vkt_cast(g, input(g, vkt_shape1(N), VKT_F32, words), bf16 ? VKT_BF16 : VKT_F16);
        vkt_keep(d, "down");
        REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
        REQUIRE_OK(vkt_graph_run(g));
        REQUIRE_OK(vkt_tensor_read(d, 0, got, sizeof got));
        for (size_t i = 0; i < N; i++) {
            uint16_t want = bf16 ? cases[i].bf16 : cases[i].f16;
            if (got[i] != want)
                print_error("%08x as %s is %04x, not %04x\n", words[i], bf16 ? "bf16" : "f16",
                            got[i], want);
            assert_int_equal(got[i], want);
        }
        destroy(&g);
    }
}

/* Alone, and at the end of a product: 1 times NaN, infinities, numbers. */
static void activations_and_losses_keep_nan(void **state)
{
    (void)state;
    static const float x[8] = { NAN, 1, -1, 0, INFINITY, -INFINITY, -NAN, 3 }, one[4] = { 1 };
    float factors[8][4] = { { 0 } }, got[2][8];
    for (int i = 0; i < 8; i++) factors[i][0] = x[i];
    for (vkt_act act = VKT_ACT_RELU; act < (vkt_act)VKT__N_ACTS; act++) {
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_tensor *alone = vkt_activate(g, input(g, vkt_shape1(8), VKT_F32, x), act),
                   *end = vkt_linear(g, input(g, vkt_shape2(8, 4), VKT_F32, factors),
                                     input(g, vkt_shape2(1, 4), VKT_F32, one), NULL, act);
        vkt_keep(alone, "alone");
        vkt_keep(end, "end");
        REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
        REQUIRE_OK(vkt_graph_run(g));
        REQUIRE_OK(vkt_tensor_read(alone, 0, got[0], sizeof got[0]));
        REQUIRE_OK(vkt_tensor_read(end, 0, got[1], sizeof got[1]));
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 8; i++) {
                if ((isnan(got[k][i]) != 0) == (isnan(x[i]) != 0) || isinf(x[i])) continue;
                print_error("%s of %g is %g\n", vkt__acts[act].name, (double)x[i],
                            (double)got[k][i]);
                fail();
            }
        destroy(&g);
    }
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *focal =
        vkt_focal(g, input(g, vkt_shape1(8), VKT_F32, x), &(vkt_focal_desc) { .gamma = 2 });
    vkt_keep(focal, "focal");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(focal, 0, got[0], sizeof got[0]));
    for (int i = 0; i < 8; i++)
        assert_true(isinf(x[i]) || (isnan(got[0][i]) != 0) == (isnan(x[i]) != 0));
    destroy(&g);
}

/* Of rows: a NaN is the largest and the smallest, and the logarithm of the sum of e^-infinity is
 * -infinity. */
static void reductions_keep_nan_and_infinities(void **state)
{
    (void)state;
    enum { R = 4, C = 3 };
    static const float x[R][C] = {
        { 1, NAN, 2 }, { -INFINITY, -INFINITY, -INFINITY }, { 1, INFINITY, 2 }, { 1, 1, 1 }
    };
    static const vkt_reduction kinds[] = { VKT_REDUCE_MAX, VKT_REDUCE_MIN, VKT_REDUCE_LOGSUMEXP };
    const float want[][R] = { { NAN, -INFINITY, INFINITY, 1 },
                              { NAN, -INFINITY, 1, 1 },
                              { NAN, -INFINITY, INFINITY, 1 + logf(3) } };
    for (size_t k = 0; k < VKT_COUNT(kinds); k++)
        for (uint32_t wide = 0; wide < 2; wide++) { /* an invocation a row, or a workgroup */
            uint32_t c = wide ? 9000 : C;
            float *all = vkt__alloc((size_t)R * c * sizeof *all), got[R];
            for (uint32_t i = 0; i < R * c; i++) {
                uint32_t row = i / c, j = i % c;
                bool adds_nothing = row == 3 && j >= C && kinds[k] == VKT_REDUCE_LOGSUMEXP;
                all[i] = adds_nothing ? -INFINITY : x[row][VKT_MIN(j, C - 1)];
            }
            vkt_graph *g = vkt__graph_new(gpu);
            vkt_tensor *y =
                vkt_reduce(g, kinds[k], input(g, vkt_shape2(R, c), VKT_F32, all), 2, false);
            vkt_keep(y, "y");
            REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
            REQUIRE_OK(vkt_graph_run(g));
            REQUIRE_OK(vkt_tensor_read(y, 0, got, sizeof got));
            for (int r = 0; r < R; r++)
                if (isnan(want[k][r])
                        ? !isnan(got[r])
                        : !(got[r] == want[k][r] || fabsf(got[r] - want[k][r]) < 1e-5f)) {
                    print_error("kind %zu of %u: row %d is %g, not %g\n", k, c, r, (double)got[r],
                                (double)want[k][r]);
                    fail();
                }
            free(all);
            destroy(&g);
        }
}

/* Rows: fine, NaN, +Inf, all -Inf, one -Inf (a mask), NaN but ignored, target beyond the classes,
 * NaN at the target. */
static void bad_logits_give_nan_in_their_row_only(void **state)
{
    (void)state;
    enum { R = 8, V = 5 };
    static const uint32_t target[R] = { 1, 1, 1, 1, 1, 3, 0xffffff9c, 0 };
    static const bool bad[R] = { false, true, true, true, false, false, false, true };
    static const bool bad_p[R] = { false, true, true, true, false, true, false, true };
    float x[R][V], loss[R], hit[R], dx[R][V], p[R][V];
    for (int i = 0; i < R * V; i++) x[i / V][i % V] = (float)(i * 7 % 11) / 4;
    x[1][4] = x[5][0] = x[7][0] = NAN;
    x[2][0] = INFINITY;
    for (int c = 0; c < V; c++) x[3][c] = -INFINITY;
    x[4][2] = -INFINITY;
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *in = input(g, vkt_shape2(R, V), VKT_F32, x), *din, *soft = vkt_softmax(g, in);
    vkt_loss l = vkt_softmax_xent(g, in, input(g, vkt_shape1(R), VKT_U32, target), NULL, NULL,
                                  &(vkt_xent_desc) { .ignore_index = { true, 3 } });
    vkt_keep(l.loss, "loss");
    vkt_keep(l.hit, "hit");
    vkt_keep(soft, "p");
    vkt_backward(g, l.loss, &in, 1, &din);
    vkt_keep(din, "din");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(l.loss, 0, loss, sizeof loss));
    REQUIRE_OK(vkt_tensor_read(l.hit, 0, hit, sizeof hit));
    REQUIRE_OK(vkt_tensor_read(din, 0, dx, sizeof dx));
    REQUIRE_OK(vkt_tensor_read(soft, 0, p, sizeof p));
    for (int r = 0; r < R; r++) {
        assert_int_equal(isnan(loss[r]) != 0, bad[r]);
        for (int c = 0; c < V; c++) {
            assert_int_equal(isnan(dx[r][c]) != 0, bad[r]);
            assert_int_equal(isnan(p[r][c]) != 0, bad_p[r]);
        }
        if (bad[r] || r > 4) assert_true(hit[r] == 0);
    }
    assert_true(p[4][2] == 0 && dx[4][2] == 0 && loss[4] > 0);
    assert_true(loss[5] == 0 && loss[6] == 0);
    for (int c = 0; c < V; c++) assert_true(dx[5][c] == 0 && dx[6][c] == 0);
    destroy(&g);
}

/* An MLP's gradients with fusions and without: the arithmetic is the same, except for what a
 * compiler makes of an activation beside a sum. */
static void rewrites_change_nothing(void **state)
{
    (void)state;
    enum { B = 37, D0 = 21, D1 = 33, D2 = 26, MOST = 1024 };
    static float data[MOST], grad[2][5][MOST];
    for (int i = 0; i < MOST; i++)
        data[i] = (float)vkt_rand_normal(3, VKT_RNG_TEST, (uint64_t)i) * 0.5f;
    for (int act = VKT_ACT_RELU; act <= VKT_ACT_TANH; act++) {
        for (int plain = 0; plain < 2; plain++) {
            vkt_graph *g = vkt__graph_new(gpu);
            if (plain) vkt_graph_no_rewrite(g);
            vkt_tensor *x = input(g, vkt_shape2(B, D0), VKT_F32, data),
                       *w1 = input(g, vkt_shape2(D1, D0), VKT_F32, data + 100);
            vkt_tensor *b1 = input(g, vkt_shape1(D1), VKT_F32, data),
                       *w2 = input(g, vkt_shape2(D2, D1), VKT_F32, data + 50);
            vkt_tensor *b2 = input(g, vkt_shape1(D2), VKT_F32, data),
                       *w3 = input(g, vkt_shape2(5, D2), VKT_F32, data + 7);
            vkt_tensor *wrt[] = { w1, b1, w2, b2, w3 }, *dwrt[5], *h = x;
            h = vkt_activate(g, vkt_linear(g, h, w1, b1, VKT_ACT_NONE), (vkt_act)act);
            h = vkt_activate(g, vkt_linear(g, h, w2, b2, VKT_ACT_NONE), (vkt_act)act);
            vkt_loss l = vkt_mse(g, vkt_linear(g, h, w3, NULL, VKT_ACT_NONE),
                                 input(g, vkt_shape2(B, 5), VKT_F32, data + 9), NULL);
            vkt_backward(g, l.loss, wrt, 5, dwrt);
            for (int i = 0; i < 5; i++) vkt_keep(dwrt[i], "gradient");
            REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
            char *text = vkt_graph_explain(g);
            assert_int_equal(vkt__rewrite_count(g, &vkt__pass_act_bwd), plain ? 0 : 2);
            assert_int_equal(strstr(text, "rewrites save") == NULL, plain);
            assert_int_equal(strstr(text, "activate_bwd") != NULL, plain);
            free(text);
            REQUIRE_OK(vkt_graph_run(g));
            for (int i = 0; i < 5; i++)
                REQUIRE_OK(vkt_tensor_read(dwrt[i], 0, grad[plain][i], dwrt[i]->bytes));
            destroy(&g);
        }
        /* A GPU sums a bias's gradient by the blocks of the kernel that makes its terms. */
        bool is_cpu = vkt_gpu_caps(gpu)->klass == VKT_GPU_CLASS_CPU;
        for (int i = 0; act == VKT_ACT_RELU && i < 5; i++)
            if (is_cpu || i % 2 == 0)
                assert_memory_equal(grad[0][i], grad[1][i], sizeof grad[0][i]);
        for (int i = 0; i < 5; i++) {
            double rms = 0;
            for (int j = 0; j < MOST; j++)
                rms += (double)grad[1][i][j] * (double)grad[1][i][j] / MOST;
            for (int j = 0; j < MOST; j++)
                REQUIRE_NEAR(grad[0][i][j], grad[1][i][j],
                             vkt__tol(VKT_F32, 64 + D1) *
                                 (sqrt(rms) + fabs((double)grad[1][i][j])));
        }
    }
}

/* The gradient of a matmul that something else reads stays a tensor of its own. */
static void a_gradient_read_twice_is_not_fused(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *a = vkt__sample2(g, 8, 6), *b = vkt__sample2(g, 6, 4), *v = vkt__sample2(g, 8, 4);
    vkt_tensor *d = vkt_matmul(g, VKT_LAYOUT_NN, a, b), *kept = vkt_matmul(g, VKT_LAYOUT_NN, a, b),
               *h = vkt_scale(g, v, 2.0f);
    vkt__act_bwd(g, d, h, VKT_ACT_RELU);
    vkt_add(g, d, d);
    vkt_keep(kept, "kept");
    vkt__act_bwd(g, kept, h, VKT_ACT_RELU);
    vkt_tensor *early = vkt_matmul(g, VKT_LAYOUT_NN, a, b), *late = vkt_scale(g, v, 3.0f);
    vkt__act_bwd(g, early, late, VKT_ACT_RELU);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_act_bwd), 0);
    vkt__act_bwd(g, vkt_matmul(g, VKT_LAYOUT_NN, a, b), h, VKT_ACT_RELU);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_act_bwd), 1);
    vkt_graph_destroy(&g);
}

typedef struct {
    const float *x;
    const vkt_tensor *t;
    double value;
} wanted;

static void host_values(void *user, const vkt_tensor *t, double *data)
{
    const wanted *w = user;
    for (uint64_t i = 0; i < t->count; i++) data[i] = (double)w->x[i];
}

static void take_first(void *user, const vkt_tensor *t, const double *data)
{
    wanted *w = user;
    if (t == w->t) w->value = data[0];
}

/* With allocations of at most 1 MiB the slab is several buffers; tensors of half of one lie in
 * them. */
static void a_plan_of_several_chunks_runs(void **state)
{
    (void)state;
    enum { R = 256, C = 500 };
    static float x[R * C];
    vkt_graph *g = vkt__graph_new(gpu);
    for (int i = 0; i < R * C; i++) x[i] = (float)(i % 97) / 97 - 0.4f;
    vkt_tensor *in = input(g, vkt_shape2(R, C), VKT_F32, x), *h[6], *sum = in;
    for (int i = 0; i < 6; i++) h[i] = vkt_activate(g, vkt_scale(g, in, (float)i), VKT_ACT_TANH);
    for (int i = 0; i < 6; i++) sum = vkt_add(g, sum, vkt_mul(g, h[i], h[5 - i]));
    vkt_tensor *total = vkt_sum(g, sum);
    vkt_keep(total, "total");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    assert_true(g->n_chunks > 2);
    REQUIRE_OK(vkt_graph_run(g));
    float got;
    wanted w = { x, total, 0 };
    REQUIRE_OK(vkt_tensor_read(total, 0, &got, 4));
    vkt__graph_ref(g, host_values, &w, take_first);
    REQUIRE_NEAR(got, w.value, vkt__tol(VKT_F32, R * C) * fabs(w.value));
    destroy(&g);
}

/* The norm has enough rows for GPUs to find all its gradients in one pass, whose inputs are the
 * gradients of others and die there; then those of its input and of its parameters apart. */
static void a_norm_in_one_pass_gives_what_two_give(void **state)
{
    (void)state;
    enum { R = 4100, C = 36, LAST = 4 }; /* the first two: [R, C], of x and r; then [C], of w, b */
    static float x[R * C], d[2][LAST][R * C];
    for (int i = 0; i < R * C; i++) x[i] = sinf((float)(i * 7919 % 10007));
    for (int apart = 0; apart < 3; apart++) { /* all, the first two, the last two */
        uint32_t n_rows = 0, n_sums = 0, first = apart == 2 ? 2 : 0, n = apart ? 2 : LAST;
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_tensor *in[LAST] = { input(g, vkt_shape2(R, C), VKT_F32, x),
                                 input(g, vkt_shape2(R, C), VKT_F32, x),
                                 input(g, vkt_shape1(C), VKT_F32, x + 5),
                                 input(g, vkt_shape1(C), VKT_F32, x + 77) },
                   *s, *dx[LAST], *r = vkt_activate(g, in[1], VKT_ACT_SILU);
        vkt_tensor *y = vkt_layernorm(g, in[0], in[2], in[3], r, 1e-5f, &s);
        y = vkt_mul(g, vkt_activate(g, y, VKT_ACT_TANH), vkt_activate(g, s, VKT_ACT_SILU));
        vkt_backward(g, vkt_sum(g, y), in + first, n, dx);
        for (uint32_t i = 0; i < n; i++) vkt_keep(dx[i], "gradient");
        for (size_t i = 0; i < g->n_nodes; i++) {
            n_rows += g->nodes[i]->op == &vkt__op_norm_bwd;
            n_sums += g->nodes[i]->op == &vkt__op_norm_dw;
        }
        assert_int_equal(n_rows, apart != 2);
        assert_int_equal(n_sums,
                         apart ? apart == 2 : vkt_gpu_caps(gpu)->klass == VKT_GPU_CLASS_CPU);
        REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
        REQUIRE_OK(vkt_graph_run(g));
        for (uint32_t i = 0; i < n; i++)
            REQUIRE_OK(vkt_tensor_read(dx[i], 0, d[apart > 0][first + i], dx[i]->bytes));
        destroy(&g);
    }
    for (int k = 0; k < LAST; k++) {
        double most = 0;
        size_t n = k < 2 ? R * C : C;
        for (size_t i = 0; i < n; i++) most = fmax(most, fabs((double)d[1][k][i]));
        assert_true(most > 0);
        for (size_t i = 0; i < n; i++)
            REQUIRE_NEAR(d[0][k][i], d[1][k][i], vkt__tol(VKT_F32, C) * most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_with_their_twins),
        cmocka_unit_test(a_case_that_runs_nothing_fails),
        cmocka_unit_test(a_result_beyond_its_limit_fails),
        cmocka_unit_test(casts_of_every_16_bit_number_are_exact),
        cmocka_unit_test(casts_round_to_nearest_even),
        cmocka_unit_test(activations_and_losses_keep_nan),
        cmocka_unit_test(bad_logits_give_nan_in_their_row_only),
        cmocka_unit_test(reductions_keep_nan_and_infinities),
        cmocka_unit_test(rewrites_change_nothing),
        cmocka_unit_test(a_gradient_read_twice_is_not_fused),
        cmocka_unit_test(validation_is_silent),
    }, sample[] = {
        cmocka_unit_test(kernels_agree_with_their_twins),
    }, some_rows[] = {
        cmocka_unit_test(kernels_agree_with_their_twins),
        cmocka_unit_test(a_result_beyond_its_limit_fails),
        cmocka_unit_test(activations_and_losses_keep_nan),
        cmocka_unit_test(reductions_keep_nan_and_infinities),
        cmocka_unit_test(a_few_of_each_agree_in_parts),
    }, small[] = {
        cmocka_unit_test(a_plan_of_several_chunks_runs),
        cmocka_unit_test(validation_is_silent),
    }, in_parts[] = {
        cmocka_unit_test(a_few_of_each_agree_in_parts),
        cmocka_unit_test(rewrites_change_nothing),
        cmocka_unit_test(a_norm_in_one_pass_gives_what_two_give),
        cmocka_unit_test(validation_is_silent),
    }, as_gpu[] = {
        cmocka_unit_test(the_class_kernels_agree_with_their_twins),
        cmocka_unit_test(a_norm_in_one_pass_gives_what_two_give),
        cmocka_unit_test(activations_and_losses_keep_nan),
        cmocka_unit_test(bad_logits_give_nan_in_their_row_only),
        cmocka_unit_test(reductions_keep_nan_and_infinities),
        cmocka_unit_test(validation_is_silent),
        cmocka_unit_test(activations_and_losses_keep_nan),
    };
    if (!open_gpu("exact-split=0")) return 1;
    if (getenv("VKT_TEST_MOST"))
        return cmocka_run_group_tests_name("ops, a sample of each row", sample, NULL, NULL);
    if (getenv("VKT_TEST_OPS"))
        return cmocka_run_group_tests_name("ops, some rows", some_rows, NULL, NULL);
    /* A lesser device gets a few cases of each row: all of them take minutes there. */
    if (getenv("VKT_TEST_CAP")) return cmocka_run_group_tests_name("ops", in_parts, NULL, NULL);
    int failed = cmocka_run_group_tests_name("ops", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    if (!open_gpu("alloc=1048576")) return 1;
    failed += cmocka_run_group_tests_name("ops, small allocations", small, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    if (!open_gpu("submit=0,groups=16")) return 1;
    failed += cmocka_run_group_tests_name("ops, each dispatch in three submissions", in_parts, NULL,
                                          NULL);
    vkt_gpu_destroy(&gpu);
    if (!open_gpu("cpu-kernels=0")) return 1;
    failed += cmocka_run_group_tests_name("ops, kernels of GPUs", as_gpu, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
