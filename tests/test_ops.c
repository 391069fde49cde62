/* Every row's sample cases on the device that VKT_DEVICE and VKT_TEST_CAP name, against the twins.
 */
#include "testing.h"

#include "base/os.h"
#include "tensor/matmul.h"
#include "tensor/rewrite.h"

static vkt_gpu *gpu;

/* An input with memory of its own, until destroy(). */
static vkt_buffer *buffers[8];
static size_t n_buffers;
static vkt_tensor *input(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, const void *data)
{
    vkt_tensor *t = vkt_input(g, shape, dtype, "input");
    assert_true(n_buffers < VKT_COUNT(buffers));
    REQUIRE_OK(vkt_buffer_create(
        g->gpu, &(vkt_buffer_desc) { vkt__align(t->bytes, 4), VKT_MEM_DEVICE, "test" },
        &buffers[n_buffers]));
    vkt_buffer *buf = buffers[n_buffers++];
    vkt_bind(t, VKT_ALL_SLOTS, buf, 0);
    REQUIRE_OK(vkt_buffer_write(g->gpu, buf, 0, data, t->bytes));
    return t;
}

static void destroy(vkt_graph **g)
{
    vkt_gpu *of = (*g)->gpu;
    vkt_graph_destroy(g);
    while (n_buffers) vkt_buffer_destroy(of, &buffers[--n_buffers]);
}

static void print_row(void *user, const vkt_check_result *r)
{
    (void)user;
    printf("  %-16s %3u cases, %3.0f%% of the tolerance%s%s\n", r->op, r->n_cases, 100 * r->worst,
           r->n_failed ? ": " : "", r->n_failed ? r->detail : "");
}

static void kernels_agree_with_their_twins(void **state)
{
    (void)state;
    REQUIRE_OK(vkt_check_ops(gpu, print_row, NULL));
}

/* Cut dispatches concern how a kernel finds its place, which a few cases of each row show. */
static void a_few_of_each_agree_in_parts(void **state)
{
    (void)state;
    REQUIRE_OK(vkt__check_ops(gpu, 6, print_row, NULL));
}

/* Every 16-bit pattern up and down again: the same bits, but for NaN, which stays one. */
static void casts_of_every_16_bit_number_are_exact(void **state)
{
    (void)state;
    static uint16_t all[65536], back[65536];
    static float up[65536];
    for (uint32_t i = 0; i < 65536; i++) all[i] = (uint16_t)i;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        vkt_dtype dtype = bf16 ? VKT_BF16 : VKT_F16;
        uint32_t inf = bf16 ? 0x7f80 : 0x7c00, bits = bf16 ? 7 : 10, bias = bf16 ? 127 : 15;
        vkt_graph *g = vkt_graph_create(gpu);
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
        vkt_graph *g = vkt_graph_create(gpu);
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
    vkt_graph *g = vkt_graph_create(gpu);
    vkt_tensor *in = input(g, vkt_shape2(R, V), VKT_F32, x), *din, *soft = vkt_softmax(g, in);
    vkt_loss l = vkt_softmax_xent(g, in, input(g, vkt_shape1(R), VKT_U32, target), NULL, NULL,
                                  (vkt_xent_desc) { 0.0f, 4 });
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

/* An MLP's loss and gradients with fusions and without: the same arithmetic, but for what a
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
            vkt_graph *g = vkt_graph_create(gpu);
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
        if (act == VKT_ACT_RELU) assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
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
    vkt_graph *g = vkt_graph_create(NULL);
    vkt_tensor *a = vkt__sample2(g, 8, 6), *b = vkt__sample2(g, 6, 4), *v = vkt__sample2(g, 8, 4);
    vkt_tensor *d = vkt_matmul(g, VKT_NN, a, b), *kept = vkt_matmul(g, VKT_NN, a, b),
               *h = vkt_scale(g, v, 2.0f);
    vkt__act_bwd(g, d, h, VKT_ACT_RELU);
    vkt_add(g, d, d);
    vkt_keep(kept, "kept");
    vkt__act_bwd(g, kept, h, VKT_ACT_RELU);
    vkt_tensor *early = vkt_matmul(g, VKT_NN, a, b), *late = vkt_scale(g, v, 3.0f);
    vkt__act_bwd(g, early, late, VKT_ACT_RELU);
    vkt__rewrite_whole(g);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_act_bwd), 0);
    vkt__act_bwd(g, vkt_matmul(g, VKT_NN, a, b), h, VKT_ACT_RELU);
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
    vkt_graph *g = vkt_graph_create(gpu);
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

/* On GPUs, small outputs of deep products are summed in slices: within the tolerance of the whole,
 * the same bits each time. */
static void deep_products_are_cut_into_slices(void **state)
{
    (void)state;
    enum { M = 11, N = 24, K = 3001 };
    static float data[K * N], got[3][M * N];
    double rms = 0;
    for (int i = 0; i < K * N; i++) data[i] = (float)vkt_rand_normal(4, VKT_RNG_TEST, (uint64_t)i);
    for (int run = 0; run < 3; run++) {
        vkt_graph *g = vkt_graph_create(gpu);
        if (run == 2) vkt_graph_no_rewrite(g);
        vkt_tensor *v = vkt_scale(g, input(g, vkt_shape2(M, N), VKT_F32, data), 0.5f);
        vkt_tensor *c = vkt_matmul(g, VKT_TN, input(g, vkt_shape2(K, M), VKT_F32, data),
                                   input(g, vkt_shape2(K, N), VKT_F32, data));
        c = vkt__act_bwd(g, c, v, VKT_ACT_SILU);
        vkt_keep(c, "c");
        REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
        char *text = vkt_graph_explain(g);
        assert_int_equal(vkt__rewrite_count(g, &vkt__pass_split), run < 2);
        assert_int_equal(strstr(text, "matmul_sum") != NULL, run < 2);
        free(text);
        REQUIRE_OK(vkt_graph_run(g));
        REQUIRE_OK(vkt_tensor_read(c, 0, got[run], sizeof got[run]));
        destroy(&g);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
    for (int i = 0; i < M * N; i++) rms += (double)got[2][i] * (double)got[2][i] / (M * N);
    for (int i = 0; i < M * N; i++)
        REQUIRE_NEAR(got[0][i], got[2][i],
                     vkt__tol(VKT_F32, K) * (sqrt(rms) + fabs((double)got[2][i])));
}

/* The product of `run` on a gpu with or without the choices kept in `dir`: its result, and the
 * kernel in the plan. */
static void product_with_choices(const char *dir, bool no_tune, const char *kernel, float *got)
{
    enum { N = 40 };
    static float data[N * N];
    vkt_gpu *of;
    for (int i = 0; i < N * N; i++) data[i] = (float)vkt_rand_normal(8, VKT_RNG_TEST, (uint64_t)i);
    REQUIRE_OK(vkt_gpu_create(
        &(vkt_gpu_desc) { .cap = getenv("VKT_TEST_CAP"), .cache_dir = dir, .no_tune = no_tune },
        &of));
    vkt_graph *g = vkt_graph_create(of);
    vkt_tensor *c = vkt_matmul(g, VKT_NN, input(g, vkt_shape2(N, N), VKT_F32, data),
                               input(g, vkt_shape2(N, N), VKT_F32, data));
    vkt_keep(c, "c");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    char *text = vkt_graph_explain(g);
    if (!strstr(text, kernel)) print_error("'%s' is not in\n%s", kernel, text);
    assert_non_null(strstr(text, kernel));
    free(text);
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(c, 0, got, N * N * 4));
    destroy(&g);
    vkt_gpu_destroy(&of);
}

static void count_shapes(void *user, const vkt_tune_result *r)
{
    assert_true(r->table_ms > 0 && r->best_ms <= r->table_ms);
    ++*(int *)user;
}

/* Choices are used by the next gpu, not with no_tune, not from files that are damaged or of other
 * kernels. */
static void tuned_choices_are_kept_and_checked(void **state)
{
    (void)state;
    static float first[1600], again[1600];
    static const vkt_tune_shape shapes[] = { { VKT_NN, 40, 40, 40, VKT_F32, VKT_F32 },
                                             { VKT_TN, 9, 7, 33, VKT_F32, VKT_F32 } };
    const vkt__product square = { VKT_NN, 40, 40, 40, VKT_F32, VKT_F32 },
                       flat = { VKT_TN, 9, 7, 33, VKT_F32, VKT_F32 };
    char dir[64], key[40], from_table[64], *file;
    const char *path;
    int n_shapes = 0;
    size_t n;
    vkt_gpu *of;
    snprintf(dir, sizeof dir, "tuned-%d", vkt__pid());
    REQUIRE_OK(vkt__mkdirs(dir));
    REQUIRE_OK(
        vkt_gpu_create(&(vkt_gpu_desc) { .cap = getenv("VKT_TEST_CAP"), .cache_dir = dir }, &of));
    snprintf(from_table, sizeof from_table, "kernel %s",
             vkt__matmul_kernel_name(vkt__matmul_table(vkt_gpu_caps(of), &square)));
    REQUIRE_OK(vkt_tune(of, shapes, VKT_COUNT(shapes),
                        &(vkt_tune_desc) { .fn = count_shapes, .user = &n_shapes }));
    assert_int_equal(n_shapes, VKT_COUNT(shapes));
    assert_non_null(vkt__choice_get(of, vkt__matmul_key(&flat, key)));
    vkt__choice_set(of, vkt__matmul_key(&square, key), "naive");
    REQUIRE_OK(vkt__choices_save(of, &path));
    char saved[1200];
    snprintf(saved, sizeof saved, "%s", path);
    vkt_gpu_destroy(&of);
    product_with_choices(dir, false, "kernel naive", first);
    product_with_choices(dir, false, "kernel naive", again);
    assert_memory_equal(first, again, sizeof first);
    product_with_choices(dir, true, from_table, again);
    REQUIRE_OK(vkt__file_read(saved, 1 << 20, &file, &n));
    for (size_t at = 0; at < n; at += 7) { /* a bit anywhere, and the file cut there */
        if (strcmp(from_table, "kernel naive") == 0) break;
        file[at] ^= 1;
        REQUIRE_OK(vkt__file_replace(saved, file, n));
        file[at] ^= 1;
        if (at % 5 == 0) product_with_choices(dir, false, from_table, again);
        REQUIRE_OK(vkt__file_replace(saved, file, at));
        if (at % 5 == 1) product_with_choices(dir, false, from_table, again);
    }
    free(file);
    REQUIRE_OK(vkt__remove_tree(dir));
}

static void fill_with_small_numbers(vkt_tensor *t)
{
    uint16_t data[64 * 64];
    for (uint64_t i = 0; i < t->count; i++) vkt__sample_encode(t, i, (double)(i * 7 % 5) - 2, data);
    REQUIRE_OK(vkt_tensor_write(t, 0, data, t->bytes));
}

/* A product that asks for matrix units, of whole numbers: exact with them; where --cap takes them
 * away no kernel of theirs fits any more, and the naive one gives the same. */
static void matrix_units_are_used_only_where_they_are(void **state)
{
    enum { N = 64 };
    (void)state;
    static float got[N * N];
    static uint16_t zeros[N * N];
    const vkt__product p = { VKT_NN, N, N, N, VKT_F16, VKT_F32, 0 };
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    uint32_t kernel = 1;
    while (strncmp(vkt__matmul_kernel_name(kernel), "matrix", 6) != 0) kernel++;
    for (uint32_t k = kernel; vkt__matmul_kernel_name(k) && !caps->coopmat; k++)
        assert_false(vkt__matmul_fits(k, caps, &p) || vkt__matmul_is_candidate(k, caps, &p, true));
    vkt_graph *g = vkt_graph_create(gpu);
    vkt_tensor *in[] = { input(g, vkt_shape2(N, N), VKT_F16, zeros),
                         input(g, vkt_shape2(N, N), VKT_F16, zeros) };
    vkt_tensor *c = vkt__op(g, &vkt__op_matmul, in, 2,
                            (vkt_attr) { .matmul = { .layout = VKT_NN, .kernel = kernel } });
    for (int i = 0; i < 2; i++) fill_with_small_numbers(in[i]);
    vkt_keep(c, "c");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    char *text = vkt_graph_explain(g);
    assert_non_null(
        strstr(text, vkt__matmul_fits(kernel, caps, &p) ? "kernel matrix." : "kernel naive"));
    free(text);
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(c, 0, got, sizeof got));
    for (int i = 0; i < N * N; i++) {
        int sum = 0;
        for (int k = 0; k < N; k++)
            sum += ((i / N * N + k) * 7 % 5 - 2) * ((k * N + i % N) * 7 % 5 - 2);
        assert_true(got[i] == (float)sum);
    }
    destroy(&g);
}

/* Rounding errors are random and uniform: of sums vkt__tol; of two operands, each off by at most
 * 2^-8 in bf16 and 2^-11 in fp16, sqrt(2/3) of that together, which leaves 8.3 and 11.3 bits. */
static void products_keep_the_bits_of_their_type(void **state)
{
    (void)state;
    vkt_accuracy a[VKT_N_ACCURACIES];
    REQUIRE_OK(vkt_measure_accuracy(gpu, a));
    assert_true(a[0].dtype == VKT_F32 && a[0].rms <= vkt__tol(VKT_F32, 1024) * 0x1p23);
    assert_true(a[0].worst >= a[0].rms && a[1].worst >= a[1].rms && a[2].worst >= a[2].rms);
    assert_true(a[1].dtype == VKT_BF16 && a[1].bits >= 8 && a[1].bits < 11);
    assert_true(a[2].dtype == VKT_F16 && a[2].bits >= 11 && a[2].bits < 14);
    assert_true(a[0].bits > a[2].bits);
}

static void without_matrix_units_none_are_seen(void **state)
{
    assert_false(vkt_gpu_caps(gpu)->coopmat);
    matrix_units_are_used_only_where_they_are(state);
}

/* Each power of two once, forward and backward; those of which a choice is known only on request.
 */
static void products_of_a_graph_are_listed_once(void **state)
{
    (void)state;
    vkt_graph *g = vkt_graph_create(gpu);
    vkt_tensor *x = vkt__sample2(g, 16, 24), *w = vkt__sample2(g, 24, 24), *dw;
    vkt_tensor *h = vkt_linear(g, x, w, NULL, VKT_ACT_NONE);
    vkt_backward(g, vkt_sum(g, vkt_linear(g, h, w, NULL, VKT_ACT_NONE)), &w, 1, &dw);
    vkt_tune_shape s[8];
    assert_int_equal(vkt_graph_products(g, false, s, 8), 3); /* NT, NN, TN */
    assert_int_equal(vkt_graph_products(g, false, s, 2), 2);
    vkt__product p = { s[0].layout, 17, 31, 25, VKT_F32, VKT_F32 };
    char key[40];
    vkt__choice_set(gpu, vkt__matmul_key(&p, key), "naive");
    assert_int_equal(vkt_graph_products(g, true, s, 8), 2);
    vkt__choice_set(gpu, key, "");
    vkt_graph_destroy(&g);
}

static void validation_is_silent(void **state)
{
    (void)state;
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
}

static bool open_gpu(const char *more_cap)
{
    const char *cap = getenv("VKT_TEST_CAP");
    char caps[256];
    snprintf(caps, sizeof caps, "%s%s%s", cap ? cap : "", cap && *cap && *more_cap ? "," : "",
             more_cap);
    vkt_gpu_desc desc = { .cap = caps,
                          .validate = getenv("VKT_TEST_VALIDATE") != NULL,
                          .no_cache = true };
    return vkt_gpu_create(&desc, &gpu) == VKT_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_agree_with_their_twins),
        cmocka_unit_test(casts_of_every_16_bit_number_are_exact),
        cmocka_unit_test(casts_round_to_nearest_even),
        cmocka_unit_test(bad_logits_give_nan_in_their_row_only),
        cmocka_unit_test(rewrites_change_nothing),
        cmocka_unit_test(a_gradient_read_twice_is_not_fused),
        cmocka_unit_test(tuned_choices_are_kept_and_checked),
        cmocka_unit_test(products_of_a_graph_are_listed_once),
        cmocka_unit_test(matrix_units_are_used_only_where_they_are),
        cmocka_unit_test(products_keep_the_bits_of_their_type),
        cmocka_unit_test(validation_is_silent),
    }, small[] = {
        cmocka_unit_test(a_plan_of_several_chunks_runs),
        cmocka_unit_test(validation_is_silent),
    }, in_parts[] = {
        cmocka_unit_test(a_few_of_each_agree_in_parts),
        cmocka_unit_test(rewrites_change_nothing),
        cmocka_unit_test(validation_is_silent),
    }, no_matrix_units[] = {
        cmocka_unit_test(without_matrix_units_none_are_seen),
        cmocka_unit_test(validation_is_silent),
    }, as_gpu[] = {
        cmocka_unit_test(kernels_agree_with_their_twins),
        cmocka_unit_test(bad_logits_give_nan_in_their_row_only),
        cmocka_unit_test(deep_products_are_cut_into_slices),
        cmocka_unit_test(validation_is_silent),
    };
    if (!open_gpu("")) return 1;
    /* Of a lesser device a few cases of each row: all of them take minutes there. */
    if (getenv("VKT_TEST_CAP")) return cmocka_run_group_tests_name("ops", in_parts, NULL, NULL);
    int failed = cmocka_run_group_tests_name("ops", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    if (!open_gpu("alloc=1048576")) return 1;
    failed += cmocka_run_group_tests_name("ops, small allocations", small, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    if (!open_gpu("coopmat=0")) return 1;
    failed += cmocka_run_group_tests_name("ops, no matrix units", no_matrix_units, NULL, NULL);
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
