/* Which kernel a product or a convolution gets where nothing was tuned, by class of device and
 * shape: as in tests/golden/choices.txt, a letter a kernel, a line a kind of product. Whoever means
 * to change a choice writes the file again, `test_choices print > tests/golden/choices.txt`, and
 * shows what changed. No device is needed: the tables see its capabilities only. */
#include "testing.h"

#include "base/os.h"
#include "gpu/gpu_vk.h"
#include "tensor/check/tune.h"
#include "tensor/graph/workgroup.h"
#include "tensor/kernels/conv.h"
#include "tensor/kernels/matmul.h"

#define COMMON                                                                                     \
    .workgroup = 1024, .shared_bytes = 32768, .int64 = true, .storage8 = true, .fp16 = true,       \
    .subgroup_arith = true, .subgroup_control = true, .exact_split = true
static const struct {
    const char *name;
    vkt_caps caps;
} devices[] = {
    { "cpu, 8 lanes", { COMMON, .klass = VKT_GPU_CLASS_CPU, .subgroup = 8 } },
    { "cpu, 16 lanes", { COMMON, .klass = VKT_GPU_CLASS_CPU, .subgroup = 16 } },
    { "cpu, 4 lanes, no 64-bit integers",
      { .workgroup = 256,
        .shared_bytes = 32768,
        .subgroup_arith = true,
        .klass = VKT_GPU_CLASS_CPU,
        .subgroup = 4 } },
    { "nvidia", { COMMON, .klass = VKT_GPU_CLASS_NVIDIA, .subgroup = 32 } },
    { "amd", { COMMON, .klass = VKT_GPU_CLASS_AMD, .subgroup = 64 } },
    { "a small gpu",
      { .workgroup = 128, .shared_bytes = 16384, .klass = VKT_GPU_CLASS_GENERIC, .subgroup = 16 } },
};

static char letter(uint32_t kernel)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    assert_true(kernel < sizeof letters);
    return letters[kernel - 1];
}

static void legend(vkt__str *s, const char *what, const char *(*name)(uint32_t))
{
    vkt__str_printf(s, "%s:", what);
    for (uint32_t k = 1; name(k); k++) vkt__str_printf(s, " %c %s", letter(k), name(k));
    vkt__str_printf(s, "\n");
}

static void products(vkt__str *s, const vkt_caps *caps, vkt__product p)
{
    static const uint32_t rows[] = { 1, 2, 33, 64, 512, 4096 }, columns[] = { 1, 10, 64, 65, 768 },
                          depths[] = { 64, 65, 768 };
    vkt__str_printf(s, "  %s %s %s x%u ", vkt_layout_name(p.layout), vkt_dtype_name(p.in),
                    vkt_dtype_name(p.out), p.batch);
    for (size_t m = 0; m < VKT_COUNT(rows); m++)
        for (size_t n = 0; n < VKT_COUNT(columns); n++)
            for (size_t k = 0; k < VKT_COUNT(depths); k++) {
                p.M = rows[m];
                p.N = columns[n];
                p.K = depths[k];
                vkt__str_printf(s, "%c", letter(vkt__matmul_table(caps, &p)));
            }
    vkt__str_printf(s, "\n");
}

static void convolutions(vkt__str *s, const vkt_caps *caps, vkt_conv_pass pass, uint32_t groups)
{
    static const uint32_t channels[] = { 4, 8, 16, 48, 64, 256 }, sizes[] = { 4, 14, 56 },
                          taps[] = { 1, 3 };
    static const char *const passes[] = { "forward", "dx", "dw" };
    vkt__str_printf(s, "  %s, groups of 1/%u: ", passes[pass], groups);
    for (size_t c = 0; c < VKT_COUNT(channels); c++)
        for (size_t h = 0; h < VKT_COUNT(sizes); h++)
            for (size_t t = 0; t < VKT_COUNT(taps); t++) {
                vkt_attr attr = { .conv = {
                                      .kh = taps[t], .kw = taps[t], .stride = 1, .dilation = 1 } };
                attr.conv.groups = groups;
                attr.conv.pass = pass;
                vkt__conv_geometry q = { .attr = &attr,
                                         .n = 8,
                                         .h = sizes[h],
                                         .w = sizes[h],
                                         .c = channels[c],
                                         .oh = sizes[h],
                                         .ow = sizes[h],
                                         .co = channels[c],
                                         .ci = channels[c] / groups };
                q.depth = taps[t] * taps[t] * q.ci;
                vkt__str_printf(s, "%c", letter(vkt__conv_table(caps, &q)));
            }
    vkt__str_printf(s, "\n");
}

static void choices(vkt__str *s)
{
    static const vkt_dtype types[][2] = { { VKT_F32, VKT_F32 },
                                          { VKT_F16, VKT_F16 },
                                          { VKT_BF16, VKT_F32 } };
    legend(s, "products", vkt__matmul_kernel_name);
    legend(s, "convolutions", vkt__conv_kernel_name);
    for (size_t d = 0; d < VKT_COUNT(devices); d++) {
        const vkt_caps *caps = &devices[d].caps;
        vkt__str_printf(s, "%s\n", devices[d].name);
        for (int l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN; l++)
            for (size_t t = 0; t < VKT_COUNT(types); t++)
                for (uint32_t batch = 0; batch <= 8; batch += 8)
                    products(s, caps,
                             (vkt__product) { .layout = (vkt_layout)l,
                                              .in = types[t][0],
                                              .out = types[t][1],
                                              .batch = batch });
        for (int pass = VKT_CONV_FORWARD; pass <= VKT_CONV_DW; pass++)
            for (uint32_t groups = 1; groups <= 4; groups += 3)
                convolutions(s, caps, (vkt_conv_pass)pass, groups);
    }
}

static void kernels_are_chosen_as_before(void **state)
{
    (void)state;
    char *want;
    size_t n;
    vkt__str got = { 0 };
    choices(&got);
    REQUIRE_OK(vkt__file_read(test_file("golden/choices.txt"), 1 << 20, &want, &n));
    for (char *g = got.data, *w = want; *g || *w;) {
        size_t a = strcspn(g, "\n"), b = strcspn(w, "\n");
        if (a != b || memcmp(g, w, a) != 0)
            fail_msg("chosen is\n%.*s\nand was\n%.*s", (int)a, g, (int)b, w);
        g += a + (g[a] != 0);
        w += b + (w[b] != 0);
    }
    free(want);
    vkt__str_finish(&got);
}

/* A choice is not taken from rows that are loaded in vectors to rows that can't be. */
static void keys_know_how_rows_are_loaded(void **state)
{
    (void)state;
    static const struct {
        vkt__product p;
        const char *key;
    } cases[] = {
        { { VKT_LAYOUT_NT, 64, 512, 784, VKT_F32, VKT_F32, 0 }, "matmul NT 6 9 9" },
        { { VKT_LAYOUT_NT, 65, 512, 784, VKT_F32, VKT_F32, 0 }, "matmul NT 6 9 9" },
        { { VKT_LAYOUT_NT, 64, 512, 785, VKT_F32, VKT_F32, 0 }, "matmul NT 6 9 9 odd" },
        { { VKT_LAYOUT_NT, 64, 510, 784, VKT_F32, VKT_F32, 0 }, "matmul NT 6 8 9 even" },
        { { VKT_LAYOUT_TN, 65, 512, 784, VKT_F32, VKT_F32, 0 }, "matmul TN 6 9 9 odd" },
        { { VKT_LAYOUT_TN, 64, 512, 785, VKT_F32, VKT_F32, 0 }, "matmul TN 6 9 9" },
        { { VKT_LAYOUT_NN, 1u << 20, 50257, 1u << 20, VKT_BF16, VKT_BF16, 1u << 12 },
          "matmul NN 20 15 20 odd x12 bf16 bf16" },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        char key[40];
        assert_string_equal(vkt__matmul_key(&cases[i].p, key), cases[i].key);
    }
}

/* A kernel that is held: taken wherever it fits, whatever the table or tuning says; where it does
 * not, the table's, told once. */
static void a_held_kernel_is_taken_where_it_fits(void **state)
{
    (void)state;
    const vkt__product fits = { VKT_LAYOUT_NT, 512, 512, 64, VKT_F32, VKT_F32, 0 },
                       few = { VKT_LAYOUT_NT, 4, 512, 64, VKT_F32, VKT_F32, 0 },
                       half = { VKT_LAYOUT_NN, 512, 511, 64, VKT_F16, VKT_F16, 0 };
    static const char *const bad[] = { "kernel=naive", "kernel=conv2d=naive", "kernel=matmul=",
                                       "kernel=matmul=a-name-that-is-longer-than-all-of-ours-are" };
    vkt_caps caps = devices[3].caps;
    vkt_gpu *gpu;
    char key[40];
    REQUIRE_OK(vkt__caps_apply("kernel=matmul=tiled.64x64.4x4,submit=5", &caps));
    assert_string_equal(caps.kernel, "tiled.64x64.4x4");
    REQUIRE_OK(vkt__matmul_check_held(&caps));
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    vkt__choice_set(gpu, vkt__matmul_key(&fits, key), "naive");
    test_log[0] = 0;
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
    assert_string_equal(vkt__matmul_kernel_name(vkt__matmul_choose(gpu, &fits)), caps.kernel);
    assert_string_equal(vkt__matmul_kernel_name(vkt__matmul_choose(gpu, &few)), caps.kernel);
    assert_string_equal(test_log, "");
    assert_int_equal(vkt__matmul_choose(gpu, &half), vkt__matmul_table(&caps, &half));
    REQUIRE_LOGGED("kernel tiled.64x64.4x4 can't compute all products here, e.g. NN 512 x 511");
    test_log[0] = 0;
    vkt__matmul_choose(gpu, &half);
    assert_string_equal(test_log, "");
    vkt_gpu_destroy(&gpu);
    TEST_LOG_CAPTURE();
    caps = devices[3].caps;
    REQUIRE_OK(vkt__caps_apply("kernel=matmul=matrix2.128x265", &caps));
    REQUIRE_STATUS(vkt__matmul_check_held(&caps), VKT_E_ARG);
    REQUIRE_LOGGED("no matmul kernel 'matrix2.128x265' (--cap kernel=, VKT_KERNEL); did you mean "
                   "'matrix2.128x256'?");
    for (size_t i = 0; i < VKT_COUNT(bad); i++)
        REQUIRE_STATUS(vkt__caps_apply(bad[i], &caps), VKT_E_ARG);
    REQUIRE_LOGGED("a kernel is held as matmul=NAME, e.g. matmul=tiled.64x64, not 'conv2d=naive'");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static uint32_t count_on_units(const uint32_t *kernels, uint32_t n)
{
    uint32_t on_units = 0;
    for (uint32_t i = 0; i < n; i++) on_units += vkt__matmul_on_units(kernels[i]);
    return on_units;
}

/* Where units multiply, no time is lost on scalar kernels, unless all are asked for. */
static void scalar_kernels_are_timed_where_units_do_not_serve(void **state)
{
    (void)state;
    uint32_t k[64], n;
    const vkt__product p = { VKT_LAYOUT_NT, 4096, 4096, 768, VKT_F16, VKT_F16, 0 },
                       row = { VKT_LAYOUT_NT, 2, 4096, 768, VKT_F16, VKT_F16, 0 };
    vkt_caps caps = devices[3].caps;
    n = vkt__tune_candidates(&caps, &p, false, 0, k, 64);
    assert_true(n > 1 && count_on_units(k, n) == 0);
    assert_int_equal(vkt__tune_candidates(&caps, &p, false, 1, k, 64), 0);
    caps.coopmat = true;
    caps.subgroup_min = caps.subgroup_max = 32;
    caps.workgroup_subgroups = 32;
    for (int i = 0; i < 3; i++) caps.coopmat_f16[i] = 16;
    n = vkt__tune_candidates(&caps, &p, false, 0, k, 64);
    assert_true(n > 1 && count_on_units(k, n) == n && k[0] == vkt__matmul_table(&caps, &p));
    n = vkt__tune_candidates(&caps, &p, false, 1, k, 64);
    assert_true(n > 1 && count_on_units(k, n) == 0);
    n = vkt__tune_candidates(&caps, &p, true, 0, k, 64);
    assert_true(count_on_units(k, n) > 1 && count_on_units(k, n) < n);
    n = vkt__tune_candidates(&caps, &row, false, 0, k, 64);
    assert_true(!vkt__matmul_on_units(k[0]) && count_on_units(k, n) < n);
}

static void tuning_has_its_time(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    REQUIRE_OK(vkt__gpu_plan(&devices[3].caps, &gpu));
    assert_true(vkt__gpu_tune_seconds(gpu) == 20);
    gpu->tune_seconds = 3;
    assert_true(vkt__gpu_tune_seconds(gpu) == 3);
    vkt_gpu_destroy(&gpu);
}

/* What might gain most comes first: a small tile of much work before a large one of a bit more. */
static void what_may_gain_most_is_timed_first(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    const vkt_tune_shape large = { VKT_LAYOUT_NT, 4096, 4096, 1024, VKT_F32, VKT_F32, 1 },
                         small = { VKT_LAYOUT_NT, 130, 130, 1000000, VKT_F32, VKT_F32, 1 },
                         twice = { VKT_LAYOUT_NT, 4096, 4096, 1024, VKT_F32, VKT_F32, 2 };
    REQUIRE_OK(vkt__gpu_plan(&devices[3].caps, &gpu));
    assert_true(vkt__tune_gain(gpu, &small) > vkt__tune_gain(gpu, &large));
    REQUIRE_NEAR(vkt__tune_gain(gpu, &twice), 2 * vkt__tune_gain(gpu, &large), 1);
    assert_true(vkt__tune_gain(gpu, &large) > 0);
    vkt_gpu_destroy(&gpu);
}

/* Intel's lanes share a thread's registers: 8 lanes have 128 each on Arc A, 16 have them on Arc B.
 */
static void lanes_leave_enough_registers(void **state)
{
    (void)state;
    vkt_caps a = { COMMON,
                   .klass = VKT_GPU_CLASS_INTEL,
                   .subgroup = 32,
                   .subgroup_min = 8,
                   .subgroup_max = 32,
                   .workgroup_subgroups = 64 },
             b = a, amd = a, fixed = a;
    b.subgroup_min = 16;
    amd.klass = VKT_GPU_CLASS_AMD;
    fixed.subgroup_control = false;
    assert_int_equal(vkt__lanes(&a, 256, 32), 32);
    assert_int_equal(vkt__lanes(&a, 256, 33), 16);
    assert_int_equal(vkt__lanes(&a, 256, VKT__MANY), 8);
    assert_int_equal(vkt__lanes(&a, 1024, VKT__MANY), 16); /* 128 subgroups are too many */
    assert_int_equal(vkt__lanes(&b, 256, 64), 32);
    assert_int_equal(vkt__lanes(&b, 1024, 1000), 16);
    assert_int_equal(vkt__lanes(&amd, 256, VKT__MANY), 32);
    assert_int_equal(vkt__lanes(&fixed, 256, VKT__MANY), 32);
    vkt__row_form f = vkt__row_form_of(&a, 768, 2, 3);
    assert_true(f.held && f.lanes == 16 && f.wg == 64 && f.per == 12);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(kernels_are_chosen_as_before),
                                        cmocka_unit_test(a_held_kernel_is_taken_where_it_fits),
                                        cmocka_unit_test(
                                            scalar_kernels_are_timed_where_units_do_not_serve),
                                        cmocka_unit_test(tuning_has_its_time),
                                        cmocka_unit_test(what_may_gain_most_is_timed_first),
                                        cmocka_unit_test(keys_know_how_rows_are_loaded),
                                        cmocka_unit_test(lanes_leave_enough_registers) };
    if (argc > 1 && !strcmp(argv[1], "print")) {
        vkt__str s = { 0 };
        choices(&s);
        fputs(s.data, stdout);
        vkt__str_finish(&s);
        return 0;
    }
    return cmocka_run_group_tests_name("choices", tests, NULL, NULL);
}
