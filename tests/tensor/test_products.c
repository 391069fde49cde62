/* Which kernel a product gets, and what it may round: tuned choices, matrix units, split-K, math:
 * fast. */
#include "testing.h"

#include "base/os.h"
#include "bound_input.h"
#include "one_device.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/ops/matmul/ops_matmul.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"

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
        vkt_graph *g = vkt__graph_new(gpu);
        if (run == 2) vkt_graph_no_rewrite(g);
        vkt_tensor *v = vkt_scale(g, input(g, vkt_shape2(M, N), VKT_F32, data), 0.5f);
        vkt_tensor *c = vkt_matmul(g, VKT_LAYOUT_TN, input(g, vkt_shape2(K, M), VKT_F32, data),
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
    vkt_graph *g = vkt__graph_new(of);
    vkt_tensor *c = vkt_matmul(g, VKT_LAYOUT_NN, input(g, vkt_shape2(N, N), VKT_F32, data),
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
    static const vkt_tune_shape shapes[] = { { VKT_LAYOUT_NN, 40, 40, 40, VKT_F32, VKT_F32 },
                                             { VKT_LAYOUT_TN, 9, 7, 33, VKT_F32, VKT_F32 } };
    const vkt__product square = { VKT_LAYOUT_NN, 40, 40, 40, VKT_F32, VKT_F32 },
                       flat = { VKT_LAYOUT_TN, 9, 7, 33, VKT_F32, VKT_F32 };
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

/* A single row's products that reading B limits get this kernel; nothing else does. */
static void one_row_has_its_kernel(void **state)
{
    (void)state;
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    bool cpu = caps->klass == VKT_GPU_CLASS_CPU,
         has = !cpu || (caps->int64 && caps->storage8 && caps->subgroup_arith);
    const char *name = cpu ? "row" : "vec";
    static const vkt__product not [] = { { VKT_LAYOUT_TN, 1, 64, 64, VKT_F32, VKT_F32, 0 },
                                         { VKT_LAYOUT_NT, 2, 64, 64, VKT_F32, VKT_F32, 0 },
                                         { VKT_LAYOUT_NT, 1, 64, 64, VKT_BF16, VKT_F32, 0 },
                                         { VKT_LAYOUT_NN, 1, 64, 64, VKT_F32, VKT_F32, 3 } };
    for (vkt_layout l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_NN; l++) {
        const vkt__product p = { l, 1, 64, 64, VKT_F32, VKT_F32, 0 };
        assert_int_equal(!strcmp(vkt__matmul_kernel_name(vkt__matmul_table(caps, &p)), name), has);
    }
    for (size_t i = 0; i < VKT_COUNT(not ); i++)
        assert_string_not_equal(vkt__matmul_kernel_name(vkt__matmul_table(caps, &not [i])), name);
}

static bool is_few(uint32_t kernel)
{
    return !strncmp(vkt__matmul_kernel_name(kernel), "few.", 4);
}

/* On GPUs, of 2 to 16 rows; of 16-bit numbers that matrix units multiply, up to 8; and one of any.
 */
static void few_rows_have_their_kernel(void **state)
{
    (void)state;
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    const bool cpu = caps->klass == VKT_GPU_CLASS_CPU,
               units = caps->coopmat && caps->coopmat_f16[0];
    vkt_caps adreno = *caps;
    adreno.subgroup = 128;
    for (vkt_layout l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN; l++)
        for (uint32_t M = 1; M <= 17; M++)
            for (uint32_t batch = 0; batch < 2; batch++) {
                const vkt__product p = { l, M, 64, 64, VKT_F32, VKT_F32, batch },
                                   h = { l, M, 64, 64, VKT_F16, VKT_F32, batch };
                bool one = M == 1 && l != VKT_LAYOUT_TN && !batch;
                assert_int_equal(is_few(vkt__matmul_table(caps, &p)), !cpu && !one && M <= 16);
                assert_int_equal(is_few(vkt__matmul_table(&adreno, &p)), !cpu && !one && M <= 8);
                assert_int_equal(is_few(vkt__matmul_table(caps, &h)),
                                 !cpu && caps->int64 && M <= (units ? 8 : 16));
            }
}

static uint32_t constant(const vkt__matmul_launch *l, uint32_t id)
{
    for (uint32_t i = 0; i < l->n_spec; i++)
        if (l->spec[i].id == id) return l->spec[i].value;
    assert_true(!"it has this constant");
    return 0;
}

/* Rows in registers: a product of few steps has no code for a rest of them where fewer at a time
 * leave none; of many it keeps its steps. */
static void few_steps_leave_no_rest(void **state)
{
    (void)state;
    static const struct {
        uint32_t K, steps, rest;
    } of[] = { { 10, 2, 0 }, { 12, 4, 0 }, { 30, 2, 0 }, { 34, 4, 2 }, { 1026, 4, 2 } };
    uint32_t kernel = 1;
    while (strcmp(vkt__matmul_kernel_name(kernel), "pairs.32x4") != 0) kernel++;
    for (size_t i = 0; i < VKT_COUNT(of); i++) {
        const vkt__product p = { VKT_LAYOUT_NN, 64, 128, of[i].K, VKT_F32, VKT_F32, 0 };
        vkt__matmul_launch l =
            vkt__matmul_prepare(kernel, vkt_gpu_caps(gpu), &p, 1, VKT_ACT_NONE, 0, 0, 0);
        assert_int_equal(constant(&l, VKT_SPEC_STEPS), of[i].steps);
        assert_int_equal(constant(&l, VKT_SPEC_REST), of[i].rest);
    }
    const vkt__product odd = { VKT_LAYOUT_TN, 64, 128, 11, VKT_F32, VKT_F32, 0 };
    vkt__matmul_launch l =
        vkt__matmul_prepare(kernel, vkt_gpu_caps(gpu), &odd, 1, VKT_ACT_NONE, 0, 0, 0);
    assert_int_equal(constant(&l, VKT_SPEC_STEPS), 4); /* two at a time would leave one, too */
}

/* Rows end in a loop where that compiles faster, and where the driver is right in it. */
static void wide_rows_end_in_a_loop(void **state)
{
    (void)state;
    static const struct {
        const char *driver;
        uint32_t lanes;
        bool loops;
    } of[] = {
        { "Mesa 25.0.7 (LLVM 15.0.6)", 8, true },    { "Mesa 25.0.7 (LLVM 15.0.6)", 16, true },
        { "Mesa 26.1.6-1 (LLVM 21.1.8)", 8, false }, { "Mesa 22.3.6 (LLVM 15.0.6)", 8, false },
        { "Mesa 22.3.6 (LLVM 15.0.6)", 16, true },   { "Mesa 25.0.7 (LLVM 15.0.6)", 4, false }
    };
    static const vkt__product p = { VKT_LAYOUT_NN, 64, 128, 64, VKT_F32, VKT_F32, 0 };
    vkt_caps caps = *vkt_gpu_caps(gpu);
    uint32_t kernel = 1;
    while (strcmp(vkt__matmul_kernel_name(kernel), "pairs.32x4") != 0) kernel++;
    for (size_t i = 0; i < VKT_COUNT(of); i++) {
        snprintf(caps.driver_info, sizeof caps.driver_info, "%s", of[i].driver);
        caps.subgroup = of[i].lanes;
        vkt__matmul_launch l = vkt__matmul_prepare(kernel, &caps, &p, 1, VKT_ACT_NONE, 0, 0, 0);
        assert_int_equal(constant(&l, VKT_SPEC_ENDS_LOOP), of[i].loops);
    }
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
    const vkt__product p = { VKT_LAYOUT_NN, N, N, N, VKT_F16, VKT_F32, 0 };
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    uint32_t kernel = 1;
    while (strncmp(vkt__matmul_kernel_name(kernel), "matrix", 6) != 0) kernel++;
    for (uint32_t k = kernel; vkt__matmul_kernel_name(k) && !caps->coopmat; k++)
        assert_false(vkt__matmul_fits(k, caps, &p) || vkt__matmul_is_candidate(k, caps, &p, true));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *in[] = { input(g, vkt_shape2(N, N), VKT_F16, zeros),
                         input(g, vkt_shape2(N, N), VKT_F16, zeros) };
    vkt_tensor *c = vkt__op(g, &vkt__op_matmul, in, 2,
                            (vkt_attr) { .matmul = { .layout = VKT_LAYOUT_NN, .kernel = kernel } });
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
    assert_true(a[3].dtype == VKT_F32 && a[3].math == VKT_MATH_FAST);
    /* Two bf16 pieces instead of three would leave 16 bits. */
    if (a[3].kernel) assert_true(a[3].rms <= vkt__tol(VKT_F32, 1024) * 0x1p23 && a[3].bits > 20);
}

static void without_matrix_units_none_are_seen(void **state)
{
    assert_false(vkt_gpu_caps(gpu)->coopmat);
    matrix_units_are_used_only_where_they_are(state);
}

/* Lists each power of two once, forward and backward; products with a known choice on request. */
static void products_of_a_graph_are_listed_once(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *x = vkt__sample2(g, 16, 24), *w = vkt__sample2(g, 24, 24), *dw;
    vkt_tensor *h = vkt_linear(g, x, w, NULL, VKT_ACT_NONE);
    vkt_backward(g, vkt_sum(g, vkt_linear(g, h, w, NULL, VKT_ACT_NONE)), &w, 1, &dw);
    vkt_tune_shape s[8];
    assert_int_equal(vkt_graph_products(g, false, s, 8), 3); /* NT, NN, TN */
    assert_int_equal(vkt_graph_products(g, false, s, 2), 2);
    vkt__product p = { s[0].layout, 17, 16, 24, VKT_F32, VKT_F32 };
    char key[40];
    vkt__choice_set(gpu, vkt__matmul_key(&p, key), "naive");
    assert_int_equal(vkt_graph_products(g, true, s, 8), 2);
    vkt__choice_set(gpu, key, "");
    vkt_graph_destroy(&g);
}

static void require_some_kernel(void *user, const vkt_tune_result *r)
{
    assert_true(isfinite(r->best_ms) && r->n_tried > 0);
    ++*(int *)user;
}

/* What a graph's products do to their sums is timed, and checked, with them. */
static void products_are_timed_with_their_epilogues(void **state)
{
    (void)state;
    const vkt_tune_shape shapes[] = {
        { VKT_LAYOUT_NT, 9, 20, 24, VKT_F32, VKT_F32, 1, VKT_ACT_GELU, true, true, false },
        { VKT_LAYOUT_NN, 9, 20, 24, VKT_F32, VKT_F32, 1, VKT_ACT_SILU, false, true, true }
    };
    int n = 0;
    REQUIRE_OK(vkt_tune(gpu, shapes, VKT_COUNT(shapes),
                        &(vkt_tune_desc) { .fn = require_some_kernel, .user = &n }));
    assert_int_equal(n, VKT_COUNT(shapes));
    for (size_t i = 0; i < VKT_COUNT(shapes); i++) {
        vkt__product p = { shapes[i].layout, 9, 20, 24, VKT_F32, VKT_F32, 0 };
        char key[40];
        vkt__choice_set(gpu, vkt__matmul_key(&p, key), "");
    }
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *x = vkt__sample2(g, 9, 24), *w = vkt__sample2(g, 20, 24), *b = vkt__sample1(g, 20);
    vkt_linear(g, x, w, b, VKT_ACT_GELU);
    vkt_tune_shape s;
    assert_int_equal(vkt_graph_products(g, false, &s, 1), 1);
    assert_true(s.act == VKT_ACT_GELU && s.bias && !s.residual && !s.derivative);
    vkt_graph_destroy(&g);
}

/* ---- math: fast ---- */

/* The first kernel that splits f32 operands, which strict never gets; 0: this device has none. */
static uint32_t split_kernel(const vkt_caps *caps, const vkt__product *p)
{
    uint32_t k = 1;
    while (vkt__matmul_kernel_name(k) && !(vkt__matmul_splits(k) && vkt__matmul_fits(k, caps, p)))
        k++;
    return vkt__matmul_kernel_name(k) ? k : 0;
}

/* As matmul_split.comp takes them. */
static void bf16_pieces(double x, double piece[3])
{
    for (int i = 0; i < 3; i++) {
        piece[i] = vkt__round_to(VKT_BF16, x);
        if (isinf(piece[i])) piece[i] = copysign(0x1.fep127, x);
        x -= piece[i];
    }
    assert_true(x == 0);
}

/* The mathematics, which no device here has the units to show: three bf16 pieces are the number, up
 * to the largest, and what the six products leave out is below 2^-22 of the product. */
static void six_products_of_bf16_pieces_keep_22_bits(void **state)
{
    enum { N = 100000 };
    (void)state;
    double worst = 0;
    for (uint64_t i = 0; i < N; i++) {
        double v[2], p[2][3];
        for (uint64_t j = 0; j < 2; j++) {
            uint64_t exponent = vkt_rand_below(3, VKT_RNG_TEST, 4 * i + j, 231);
            double fraction = vkt_rand_uniform(3, VKT_RNG_TEST, 4 * i + 2 + j);
            v[j] =
                (double)(float)ldexp(1 + floor(fraction * 0x1p23) * 0x1p-23, (int)exponent - 103);
            if (i < 256) v[j] = ldexp(0x1p24 - 1 - (double)i, 104); /* the largest */
            bf16_pieces(v[j], p[j]);
        }
        double six = p[0][2] * p[1][0] + p[0][0] * p[1][2] + p[0][1] * p[1][1] + p[0][1] * p[1][0] +
                     p[0][0] * p[1][1] + p[0][0] * p[1][0];
        worst = fmax(worst, fabs(six / (v[0] * v[1]) - 1));
    }
    assert_true(worst > 0x1p-26 && worst <= 0x1p-22);
}

/* Numbers that lose bits when their pieces do: all 24 of them set here and there. Times the
 * identity they must come out as they went in, in every layout and wherever tiles end. */
static void pieces_add_up_to_the_number(void **state)
{
    enum { N = 45 };
    (void)state;
    static float x[N * N], one[N * N], got[N * N];
    for (uint32_t i = 0; i < N * N; i++) {
        uint32_t bits = 0x3f000000u + (uint32_t)(vkt_rand_uniform(9, VKT_RNG_TEST, i) * 0x1000000);
        if (i < 24) bits = 0x3f800000u | 1u << i >> 1;
        memcpy(&x[i], &bits, 4);
        x[i] = i % 3 ? x[i] : -x[i];
        one[i] = i / N == i % N;
    }
    for (int l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN; l++) {
        const vkt__product p = { (vkt_layout)l, N, N, N, VKT_F32, VKT_F32, 0 };
        uint32_t kernel = split_kernel(vkt_gpu_caps(gpu), &p);
        if (!kernel) skip();
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_tensor *in[] = { input(g, vkt_shape2(N, N), VKT_F32, l == VKT_LAYOUT_TN ? one : x),
                             input(g, vkt_shape2(N, N), VKT_F32, l == VKT_LAYOUT_TN ? x : one) };
        vkt_tensor *c = vkt__op(g, &vkt__op_matmul, in, 2,
                                (vkt_attr) { .matmul = { .layout = p.layout, .kernel = kernel } });
        vkt_keep(c, "c");
        REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
        REQUIRE_OK(vkt_graph_run(g));
        REQUIRE_OK(vkt_tensor_read(c, 0, got, sizeof got));
        assert_memory_equal(got, x, sizeof got);
        destroy(&g);
    }
}

/* Only fast tries, takes and keeps kernels that split; strict computes in fp32 whatever it finds
 * kept. */
static void only_fast_splits(void **state)
{
    (void)state;
    const vkt__product p = { VKT_LAYOUT_NT, 32, 32, 64, VKT_F32, VKT_F32, 0 };
    const vkt_tune_shape shape = { VKT_LAYOUT_NT, 32, 32, 64, VKT_F32, VKT_F32 };
    uint32_t split = split_kernel(vkt_gpu_caps(gpu), &p);
    char key[40];
    if (!split) skip();
    for (int math = VKT_MATH_STRICT; math <= VKT_MATH_FAST; math++) {
        bool fast = math == VKT_MATH_FAST;
        vkt_gpu_desc desc = test_gpu_desc("cpu-kernels=0,exact-split=0");
        vkt_gpu *of;
        desc.math = math;
        REQUIRE_OK(vkt_gpu_create(&desc, &of));
        const vkt_caps *caps = vkt_gpu_caps(of);
        for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++)
            if (vkt__matmul_splits(k))
                assert_int_equal(vkt__matmul_is_candidate(k, caps, &p, true),
                                 fast && vkt__matmul_fits(k, caps, &p));
        assert_false(vkt__matmul_splits(vkt__matmul_table(caps, &p)));
        int n = 0;
        REQUIRE_OK(vkt_tune(of, &shape, 1, &(vkt_tune_desc) { .fn = count_shapes, .user = &n }));
        assert_int_equal(n, 1);
        vkt__choice_set(of, vkt__matmul_key(&p, key), vkt__matmul_kernel_name(split));
        assert_int_equal(vkt__matmul_choose(of, &p) == split, fast);
        vkt_gpu_destroy(&of);
    }
}

/* A layer's products under fast, all on kernels that split: as near to sums in double as its bound
 * says, forward and backward; and the log says how many there are. */
static void fast_products_keep_22_bits(void **state)
{
    enum { M = 50, N = 70, K = 333 };
    (void)state;
    static float x[M * K], w[N * K], y[M * N];
    char key[40];
    vkt__product p = { VKT_LAYOUT_NT, M, N, K, VKT_F32, VKT_F32, 0 };
    vkt_gpu_desc desc = test_gpu_desc("cpu-kernels=0,exact-split=0");
    vkt_gpu *of;
    desc.math = VKT_MATH_FAST;
    REQUIRE_OK(vkt_gpu_create(&desc, &of));
    uint32_t split = split_kernel(vkt_gpu_caps(of), &p);
    if (split) vkt__choice_set(of, vkt__matmul_key(&p, key), vkt__matmul_kernel_name(split));
    for (uint64_t i = 0; i < M * K; i++) x[i] = (float)vkt_rand_normal(1, VKT_RNG_TEST, i);
    for (uint64_t i = 0; i < N * K; i++) w[i] = (float)vkt_rand_normal(2, VKT_RNG_TEST, i);
    vkt_graph *g = vkt__graph_new(of);
    vkt_tensor *c = vkt_matmul(g, VKT_LAYOUT_NT, input(g, vkt_shape2(M, K), VKT_F32, x),
                               input(g, vkt_shape2(N, K), VKT_F32, w));
    vkt_keep(c, "c");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    test_log[0] = 0;
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
    vkt_graph_log_math(g);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_LOGGED(split ? "math: fast: 1 of 1 fp32 products run on matrix units"
                         : "math: fast changes nothing here");
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(c, 0, y, sizeof y));
    for (int i = 0; i < M * N; i++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < K; k++) {
            double t = (double)x[i / N * K + k] * (double)w[i % N * K + k];
            sum += t;
            squares += t * t;
        }
        REQUIRE_NEAR(y[i], sum,
                     vkt__tol(VKT_F32, vkt__matmul_terms(split, K)) * (fabs(sum) + sqrt(squares)));
    }
    destroy(&g);
    vkt_gpu_destroy(&of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuned_choices_are_kept_and_checked),
        cmocka_unit_test(products_of_a_graph_are_listed_once),
        cmocka_unit_test(products_are_timed_with_their_epilogues),
        cmocka_unit_test(one_row_has_its_kernel),
        cmocka_unit_test(few_rows_have_their_kernel),
        cmocka_unit_test(few_steps_leave_no_rest),
        cmocka_unit_test(wide_rows_end_in_a_loop),
        cmocka_unit_test(six_products_of_bf16_pieces_keep_22_bits),
        cmocka_unit_test(matrix_units_are_used_only_where_they_are),
        cmocka_unit_test(products_keep_the_bits_of_their_type),
        cmocka_unit_test(validation_is_silent),
    }, no_matrix_units[] = {
        cmocka_unit_test(without_matrix_units_none_are_seen),
        cmocka_unit_test(validation_is_silent),
    }, as_gpu[] = {
        cmocka_unit_test(deep_products_are_cut_into_slices),
        cmocka_unit_test(one_row_has_its_kernel),
        cmocka_unit_test(few_rows_have_their_kernel),
        cmocka_unit_test(pieces_add_up_to_the_number),
        cmocka_unit_test(only_fast_splits),
        cmocka_unit_test(fast_products_keep_22_bits),
        cmocka_unit_test(products_keep_the_bits_of_their_type),
        cmocka_unit_test(validation_is_silent),
    };
    if (!open_gpu("")) return 1;
    int failed = cmocka_run_group_tests_name("products", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    if (!open_gpu("coopmat=0")) return 1;
    failed += cmocka_run_group_tests_name("products, no matrix units", no_matrix_units, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    if (!open_gpu("cpu-kernels=0,exact-split=0")) return 1;
    failed += cmocka_run_group_tests_name("products, kernels of GPUs", as_gpu, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
