/* Tuning of convolutions: a graph's are listed once, what was found is kept, and used by the next
 * device and not with no_tune. Of products: test_ops. */
#include "testing.h"

#include "base/os.h"
#include "gpu/journal.h"
#include "tensor/check/check.h"
#include "tensor/check/tune.h"
#include "tensor/check/units.h"
#include "tensor/ops/conv/ops_conv.h"
#include "tensor/graph/graph.h"
#include "tensor/kernels/matmul.h"

static char dir[64];

static vkt_gpu *device(bool no_tune)
{
    vkt_gpu *gpu;
    REQUIRE_OK(vkt_gpu_create(
        &(vkt_gpu_desc) { .cap = getenv("VKT_TEST_CAP"), .cache_dir = dir, .no_tune = no_tune },
        &gpu));
    return gpu;
}

/* Two convolutions of one shape, one after the other, the first of a picture: forward, dx and dw.
 */
static vkt_graph *net(vkt_gpu *gpu)
{
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *x = vkt_input(g, (vkt_shape) { 4, { 2, 9, 7, 6 } }, VKT_F32, "x"),
               *w = vkt_input(g, (vkt_shape) { 4, { 3, 3, 6, 6 } }, VKT_F32, "w"), *dw;
    vkt_conv_desc same = { .pad = 1 };
    vkt_tensor *y = vkt_conv2d(g, vkt_conv2d(g, x, w, NULL, &same), w, NULL, &same),
               *loss = vkt_sum(g, vkt_mul(g, y, y));
    vkt_backward(g, loss, &w, 1, &dw);
    REQUIRE_OK(g->status);
    return g;
}

/* The kernel that the graph's first convolution gets. */
static const char *kernel_of_first(vkt_gpu *gpu)
{
    vkt_graph *g = net(gpu);
    const char *name = vkt__conv_kernel(gpu, g->nodes[0]);
    vkt_graph_destroy(&g);
    return name;
}

static void count(void *user, const vkt_tune_result *r)
{
    assert_true(r->table_ms > 0 && r->best_ms <= r->table_ms && r->n_tried > 0);
    assert_non_null(strstr(r->what, "conv2d"));
    ++*(int *)user;
}

static void choices_of_convolutions_are_kept_and_used(void **state)
{
    (void)state;
    vkt_conv_shape s[8];
    const char *path;
    char key[40], table[32];
    int n_told = 0;
    vkt_gpu *gpu = device(false);
    vkt_graph *g = net(gpu);
    vkt__conv_geometry first = vkt__conv_geometry_of(g->nodes[0]);
    snprintf(table, sizeof table, "%s",
             vkt__conv_kernel_name(vkt__conv_table(vkt_gpu_caps(gpu), &first)));
    size_t n = vkt_graph_convs(g, true, s, 8);
    assert_int_equal(n, 3);
    assert_int_equal(vkt_graph_convs(g, true, s, 2), 2);
    n = vkt_graph_convs(g, true, s, 8);
    assert_true(s[0].pass == VKT_CONV_FORWARD && s[0].h == 9 && s[0].ow == 7 && s[0].co == 6);
    REQUIRE_OK(vkt_tune_convs(gpu, s, n, &(vkt_tune_desc) { .fn = count, .user = &n_told }));
    assert_int_equal(n_told, 3);
    assert_int_equal(vkt_graph_convs(g, true, s, 8), 0);
    assert_int_equal(vkt_graph_convs(g, false, s, 8), 3);
    vkt__choice_set(gpu, vkt__conv_key(&first, key), "naive");
    REQUIRE_OK(vkt__choices_save(gpu, &path));
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);

    gpu = device(false);
    assert_string_equal(kernel_of_first(gpu), "naive");
    vkt_gpu_destroy(&gpu);
    gpu = device(true);
    assert_string_equal(kernel_of_first(gpu), table);
    vkt_gpu_destroy(&gpu);
}

/* If the folder can't be written, training's choices are used and not kept, with one warning; who
 * asks for them gets an error. */
static void choices_that_cannot_be_kept(void **state)
{
    (void)state;
    vkt_conv_shape s[8];
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    vkt_gpu *gpu = device(false);
    vkt_graph *g = net(gpu);
    size_t n = vkt_graph_convs(g, true, s, 8);
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__file_replace(dir, "x", 1));
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_tune_convs(gpu, s, n, &(vkt_tune_desc) { 0 }));
    REQUIRE_LOGGED("what was compiled and timed is not kept");
    assert_null(strstr(strstr(test_log, "is not kept") + 1, "is not kept"));
    assert_int_equal(vkt_graph_convs(g, true, s, 8), 0);
    n = vkt_graph_convs(g, false, s, 8);
    REQUIRE_STATUS(vkt_tune_convs(gpu, s, 1, &(vkt_tune_desc) { .thorough = true }), VKT_E_IO);
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt__file_remove(dir);
}

/* When time is up, the other shapes keep the table's kernels, and are not saved as if timed. */
static void what_was_not_timed_is_not_kept(void **state)
{
    (void)state;
    vkt_conv_shape s[8];
    int n_told = 0;
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    vkt_gpu *gpu = device(false);
    vkt_graph *g = net(gpu);
    size_t n = vkt_graph_convs(g, true, s, 8);
    REQUIRE_OK(vkt_tune_convs(gpu, s, n,
                              &(vkt_tune_desc) { .seconds = 1e-9, .fn = count, .user = &n_told }));
    assert_int_equal(n_told, 0);
    assert_int_equal(vkt_graph_convs(g, true, s, 8), 3);
    const vkt_tune_shape product = { VKT_LAYOUT_NT, 64, 64, 64, VKT_F32, VKT_F32, 1 };
    const vkt__product p = { VKT_LAYOUT_NT, 64, 64, 64, VKT_F32, VKT_F32, 0 };
    char key[40];
    REQUIRE_OK(vkt_tune(gpu, &product, 1, &(vkt_tune_desc) { .seconds = 1e-9 }));
    assert_null(vkt__choice_get(gpu, vkt__matmul_key(&p, key)));
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);
}

/* Two nodes of 0.6 ms take as many submissions as the device's limit asks for. */
static void timing_submits_no_longer_than_steps_do(void **state)
{
    (void)state;
    static const struct {
        const char *cap;
        uint64_t submits;
    } kinds[] = { { "submit=0", 6 }, { "submit=100", 1 }, { "submit=1", 2 } };
    const char *more = getenv("VKT_TEST_CAP");
    if (more && strstr(more, "timestamps=0")) skip(); /* there it submits otherwise */
    for (size_t k = 0; k < VKT_COUNT(kinds); k++)
        for (uint64_t at = kinds[k].submits; at <= kinds[k].submits + 1; at++) {
            char cap[300];
            vkt_gpu *gpu;
            vkt_node_time *t = NULL;
            size_t n = 0;
            snprintf(cap, sizeof cap, "%s%s%s", kinds[k].cap, more ? "," : "", more ? more : "");
            REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .cap = cap, .no_cache = true }, &gpu));
            vkt_graph *g = vkt__graph_new(gpu);
            vkt_keep(vkt_scale(g, vkt_fill(g, vkt_shape2(200, 160), 1), 2), "y");
            REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "two", .no_reuse = true }));
            assert_int_equal(g->n_nodes, 2);
            for (size_t i = 0; i < g->n_levels; i++) g->level_ms[i] = 0.6;
            TEST_LOG_CAPTURE();
            vkt__gpu_lose_after(at, 1);
            vkt_status st = vkt_graph_time(g, 0, 1, &t, &n);
            vkt__gpu_lose_after(0, 0);
            vkt_log_set(NULL, NULL, VKT_LOG_WARN);
            REQUIRE_STATUS(st, at == kinds[k].submits ? VKT_E_DEVICE : VKT_OK);
            assert_true(st != VKT_OK || (n == 2 && t[0].ms >= 0 && t[1].start_ms == t[0].ms));
            free(t);
            vkt_graph_destroy(&g);
            vkt_gpu_destroy(&gpu);
        }
}

static const vkt_tune_shape square = { VKT_LAYOUT_NT, 48, 48, 48, VKT_F32, VKT_F32, 1 };

static void note_tried(void *user, const vkt_tune_result *r)
{
    *(vkt_tune_result *)user = *r;
}

static vkt_status tune_square(vkt_gpu *gpu, vkt_tune_result *r)
{
    *r = (vkt_tune_result) { 0 };
    return vkt_tune(gpu, &square, 1, &(vkt_tune_desc) { .fn = note_tried, .user = r });
}

/* The path of the file of kernels that are left out; false: there is none. */
static bool journal(char path[600])
{
    char **names;
    size_t n;
    bool found = false;
    REQUIRE_OK(vkt__list_dir(dir, &names, &n));
    for (size_t i = 0; i < n; i++)
        if (strstr(names[i], "-left-out.txt") && (found = true))
            snprintf(path, 600, "%s/%s", dir, names[i]);
    vkt__names_free(names, n);
    return found;
}

static void a_kernel_that_fails_is_passed_over(void **state)
{
    (void)state;
    vkt_tune_result all, less;
    char path[600];
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    vkt_gpu *gpu = device(false);
    REQUIRE_OK(tune_square(gpu, &all));
    assert_true(all.n_tried >= 2 && isfinite(all.best_ms));
    assert_int_equal(vkt_gpu_get_stats(gpu).n_pipelines, all.n_tried); /* all wished for, or none */
    vkt_gpu_destroy(&gpu);
    gpu = device(false);
    TEST_LOG_CAPTURE();
    vkt__gpu_fail_pipeline(1);
    REQUIRE_OK(tune_square(gpu, &less));
    REQUIRE_LOGGED("can't be timed here and is skipped: vkCreateComputePipelines");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    assert_true(isfinite(less.best_ms));
    assert_false(journal(path));
    vkt_gpu_destroy(&gpu);
    /* No memory for the operands: the shape is passed over, and nothing kept. */
    char key[40], cap[300];
    const char *more = getenv("VKT_TEST_CAP");
    const vkt__product p = { VKT_LAYOUT_NT, 1024, 1024, 1024, VKT_F32, VKT_F32, 0 };
    const vkt_tune_shape large = { VKT_LAYOUT_NT, 1024, 1024, 1024, VKT_F32, VKT_F32, 1 };
    snprintf(cap, sizeof cap, "memory=2097152%s%s", more ? "," : "", more ? more : "");
    REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .cap = cap, .no_cache = true }, &gpu));
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_tune(gpu, &large, 1, &(vkt_tune_desc) { 0 }));
    REQUIRE_LOGGED("a product is skipped: buffer 'tune' needs ");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    assert_null(vkt__choice_get(gpu, vkt__matmul_key(&p, key)));
    vkt_gpu_destroy(&gpu);
}

static void a_kernel_that_loses_the_device_is_left_out(void **state)
{
    (void)state;
    vkt_tune_result all, less;
    char path[600];
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    vkt_gpu *gpu = device(false);
    REQUIRE_OK(tune_square(gpu, &all));
    if (!vkt_gpu_caps(gpu)->unified) { /* where filling operands is submitted, too */
        vkt_gpu_destroy(&gpu);
        skip();
    }
    TEST_LOG_CAPTURE();
    vkt__gpu_lose_after(2, 1);
    vkt_status st = tune_square(gpu, &less);
    vkt__gpu_lose_after(0, 0);
    REQUIRE_STATUS(st, VKT_E_DEVICE);
    REQUIRE_LOGGED("lost the device and is no longer used");
    vkt_gpu_destroy(&gpu);
    assert_true(journal(path));
    gpu = device(false);
    REQUIRE_OK(tune_square(gpu, &less));
    assert_int_equal(less.n_tried, all.n_tried - 1);
    vkt_gpu_destroy(&gpu);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* What a program leaves that ends in the midst of a try: for this key, and for all after the second
 * time. Not if it still runs. */
static void a_kernel_that_ended_the_program_is_left_out(void **state)
{
    (void)state;
    char path[600], *file, name[40];
    size_t n;
    const char *keys[] = { "matmul NT 5 5 5", "matmul NT 9 9 9" };
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    vkt_tune_result r;
    vkt_gpu *gpu = device(false);
    REQUIRE_OK(tune_square(gpu, &r));
    snprintf(name, sizeof name, "%s", r.best);
    for (int k = 0; k < 2; k++) {
        vkt__trying(gpu, name, keys[k]);
        assert_true(journal(path));
        vkt_gpu_destroy(&gpu);
        REQUIRE_OK(vkt__file_read(path, 1 << 20, &file, &n));
        char *other = strstr(file, "trying ");
        assert_non_null(other);
        *other = 0;
        vkt__str s = { 0 };
#ifndef _WIN32 /* where process 1 always runs */
        vkt__str_printf(&s, "%strying 1 %s %s\n", file, name, keys[k]);
        REQUIRE_OK(vkt__file_replace(path, s.data, s.len));
        gpu = device(false);
        assert_false(vkt__left_out(gpu, name, keys[k]));
        vkt_gpu_destroy(&gpu);
        s.len = 0;
#endif
        vkt__str_printf(&s, "%strying 99999999 %s %s\n", file, name, keys[k]);
        REQUIRE_OK(vkt__file_replace(path, s.data, s.len));
        vkt__str_finish(&s);
        free(file);
        TEST_LOG_CAPTURE();
        gpu = device(false);
        vkt_log_set(NULL, NULL, VKT_LOG_WARN);
        REQUIRE_LOGGED("an earlier run crashed while trying kernel");
        assert_true(vkt__left_out(gpu, name, keys[k]));
        assert_true(vkt__left_out(gpu, name, "matmul NT 7 7 7") == (k == 1));
        assert_false(vkt__left_out(gpu, name, "conv2d 7 7 7"));
    }
    TEST_LOG_CAPTURE();
    vkt_gpu_destroy(&gpu);
    gpu = device(false); /* told once */
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    assert_null(strstr(test_log, "an earlier run crashed"));
    assert_true(vkt__left_out(gpu, name, "matmul NT 7 7 7"));
    vkt_gpu_destroy(&gpu);
}

/* A program that ended while all candidates were compiled names none of them: next time they are
 * compiled one by one. */
static void what_ended_all_at_once_is_compiled_one_by_one(void **state)
{
    (void)state;
    char path[600], *file;
    size_t n;
    vkt_tune_result all, again;
    const char *key = "matmul NT 5 5 5"; /* square's */
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    vkt_gpu *gpu = device(false);
    REQUIRE_OK(tune_square(gpu, &all));
    assert_true(vkt__at_once_begin(gpu, key));
    assert_true(journal(path));
    REQUIRE_OK(vkt__file_read(path, 1 << 20, &file, &n));
    REQUIRE_OK(vkt__at_once_end(gpu, "tune"));
    vkt_gpu_destroy(&gpu);
    char *trying = strstr(file, "trying ");
    assert_non_null(trying);
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%.*strying 99999999 all-at-once %s\n", (int)(trying - file), file, key);
    REQUIRE_OK(vkt__file_replace(path, s.data, s.len));
    vkt__str_finish(&s);
    free(file);
    TEST_LOG_CAPTURE();
    gpu = device(false);
    assert_false(vkt__at_once_begin(gpu, key));
    REQUIRE_OK(tune_square(gpu, &again));
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    assert_int_equal(again.n_tried, all.n_tried);
    assert_true(isfinite(again.best_ms));
    vkt_gpu_destroy(&gpu);
}

/* The self-test of one op on a device that is lost meanwhile, then on a new one. */
static void the_self_test_survives_a_lost_device(void **state)
{
    (void)state;
    vkt_check_result r;
    bool listed = false;
    const char *name;
    vkt_gpu *gpu = device(false);
    for (size_t i = 0; (name = vkt_check_name(i)); i++) listed |= !strcmp(name, "fill");
    assert_true(listed);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_check_op(gpu, "fil", &r), VKT_E_ARG);
    REQUIRE_LOGGED("no op 'fil'; did you mean 'fill'?");
    vkt__gpu_lose_after(1, 1);
    REQUIRE_STATUS(vkt_check_op(gpu, "fill", &r), VKT_E_DEVICE);
    vkt__gpu_lose_after(0, 0);
    assert_true(r.n_failed == 1 && strstr(r.detail, "device"));
    vkt__gpu_fail_pipeline(1); /* a case that can't be compiled is one that failed */
    vkt_gpu_destroy(&gpu);
    gpu = device(false);
    REQUIRE_STATUS(vkt_check_op(gpu, "fill", &r), VKT_E_FAILED);
    assert_true(r.n_failed == 1 && r.n_cases > 1);
    vkt__gpu_fail_pipeline(2);
    REQUIRE_STATUS(vkt_compile_op(gpu, "add", &r), VKT_E_FAILED);
    assert_true(r.n_failed == 1 && r.n_cases > 1);
    if (vkt_gpu_caps(gpu)->unified) vkt__gpu_lose_after(1, 1); /* nothing is submitted */
    REQUIRE_OK(vkt_compile_op(gpu, "add", &r));
    vkt__gpu_lose_after(0, 0);
    REQUIRE_OK(vkt_check_op(gpu, "fill", &r));
    assert_true(r.n_failed == 0 && !strcmp(r.op, "fill"));
    vkt_gpu_destroy(&gpu);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void ignore(void *user, const vkt_check_result *r)
{
    (void)user, (void)r;
}

/* Those that are made at the same time are those that the cases need, no more and no others. */
static void kernels_are_compiled_together(void **state)
{
    (void)state;
    static const char *const ops[] = { "layernorm", "sum_rows", "rope", "norm_dw" };
    for (size_t i = 0; i < VKT_COUNT(ops); i++) {
        uint32_t n[2];
        for (uint32_t at_once = 0; at_once < 2; at_once++) {
            const vkt__check_desc desc = { .only = ops[i],
                                           .compile_only = true,
                                           .at_once = at_once };
            vkt_gpu *gpu = device(true);
            REQUIRE_OK(vkt__check_ops(gpu, &desc, ignore, NULL));
            n[at_once] = vkt_gpu_get_stats(gpu).n_pipelines;
            vkt_gpu_destroy(&gpu);
        }
        if (n[0] != n[1]) fail_msg("%s: %u kernels, and at once %u", ops[i], n[0], n[1]);
    }
}

/* On a driver with matrix units: taken for a GPU's, they are tried once, and given up where a
 * kernel fails: the first, or the second after the first was right. A CPU driver compiles the
 * second for minutes, so that none passes them all here. */
static void matrix_units_are_tried_before_they_are_used(void **state)
{
    (void)state;
    for (uint32_t fails = 1; fails <= 2; fails++) {
        vkt_gpu *gpu = device(true);
        vkt_caps *caps = (vkt_caps *)(uintptr_t)vkt_gpu_caps(gpu);
        if (!caps->coopmat || !caps->coopmat_f16[0]) {
            vkt_gpu_destroy(&gpu);
            skip();
        }
        REQUIRE_OK(vkt__units_check(gpu, VKT_F16));
        uint32_t before = vkt_gpu_get_stats(gpu).n_pipelines;
        assert_int_equal(before, 0); /* a CPU driver's are none of the table's */
        caps->klass = VKT_GPU_CLASS_NVIDIA;
        TEST_LOG_CAPTURE();
        if (!caps->coopmat_bf16[0]) {
            vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
            REQUIRE_OK(vkt__units_check(gpu, VKT_BF16));
            REQUIRE_LOGGED("matrix units multiply fp16, not bf16");
        }
        vkt__gpu_fail_pipeline(fails);
        REQUIRE_OK(vkt__units_check(gpu, VKT_F16));
        vkt__gpu_fail_pipeline(0);
        uint32_t n = vkt_gpu_get_stats(gpu).n_pipelines;
        assert_true(!caps->coopmat && n == fails - 1);
        REQUIRE_LOGGED(fails == 1 ? "matrix units are not used: kernel matrix.32x32 for f16"
                                  : "matrix units are not used: kernel matrix.64x64 for f16");
        REQUIRE_OK(vkt__units_check(gpu, VKT_F16));
        assert_int_equal(vkt_gpu_get_stats(gpu).n_pipelines, n);
        vkt_gpu_destroy(&gpu);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* So are those of any size, without which the other kernels stay. Fragments that no kernel of those
 * has leave these alone here. */
static void matrices_of_any_size_are_tried_before_they_are_used(void **state)
{
    (void)state;
    for (uint32_t fails = 0; fails <= 1; fails++) {
        vkt_gpu *gpu = device(true);
        vkt_caps *caps = (vkt_caps *)(uintptr_t)vkt_gpu_caps(gpu);
        if (!caps->coopmat2 || !caps->coopmat2_f16[0]) {
            vkt_gpu_destroy(&gpu);
            skip();
        }
        caps->klass = VKT_GPU_CLASS_NVIDIA;
        caps->coopmat_f16[0] = 256;
        TEST_LOG_CAPTURE();
        vkt__gpu_fail_pipeline(fails);
        REQUIRE_OK(vkt__units_check(gpu, VKT_F16));
        vkt__gpu_fail_pipeline(0);
        assert_true(caps->coopmat && caps->coopmat2 == !fails);
        /* Six forms in three layouts each; long sums are the plain ones again. All kernels are one
         * here. */
        assert_int_equal(vkt_gpu_get_stats(gpu).n_pipelines, fails ? 0 : 18);
        if (fails)
            REQUIRE_LOGGED("matrices of any size on the device's matrix units are not used: kernel "
                           "matrix2.128x128 for f16 products");
        else
            assert_string_equal(test_log, "");
        vkt_gpu_destroy(&gpu);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

static void attention_is_tried_before_it_is_used(void **state)
{
    (void)state;
    vkt_gpu *gpu = device(true);
    vkt_caps *caps = (vkt_caps *)(uintptr_t)vkt_gpu_caps(gpu);
    if (!caps->coopmat || !caps->coopmat_f16[0]) {
        vkt_gpu_destroy(&gpu);
        skip();
    }
    TEST_LOG_CAPTURE();
    vkt__gpu_fail_pipeline(1);
    REQUIRE_OK(vkt__units_check_attention(gpu, VKT_F16));
    vkt__gpu_fail_pipeline(0);
    assert_true(caps->coopmat && caps->plain_attention);
    REQUIRE_LOGGED("attention is not computed on the device's matrix units: kernel matrix for f16");
    vkt_gpu_destroy(&gpu);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* x + 1 over x: another result each time. Beside it: the same. */
static void a_kernel_whose_bits_change_is_not_used(void **state)
{
    (void)state;
    enum { N = 64, BYTES = 4 * N };
    vkt_gpu *gpu = device(true);
    vkt_buffer *mem;
    float ones[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 3 * BYTES, VKT_MEM_DEVICE, "x" }, &mem));
    REQUIRE_OK(vkt_buffer_write(gpu, mem, 0, ones, sizeof ones));
    REQUIRE_OK(vkt_buffer_write(gpu, mem, BYTES, ones, sizeof ones));
    for (int over = 0; over < 2; over++) {
        const vkt__tune_inputs inputs = { .mem = mem, .at = { 0, BYTES }, .sets = 1 };
        const vkt__tuned table = { 0 };
        vkt__tuned c = { .kernel = "one more", .g = vkt__graph_new(gpu) };
        for (int k = 0; k < 2; k++) c.in[0][k] = vkt_input(c.g, vkt_shape1(N), VKT_F32, "x");
        c.out = vkt_add(c.g, c.in[0][0], c.in[0][1]);
        vkt_bind(c.out, VKT_ALL_SLOTS, mem, over ? 0 : 2 * BYTES);
        REQUIRE_OK(vkt__tune_compile(&inputs, &c));
        TEST_LOG_CAPTURE();
        REQUIRE_OK(vkt__tune_candidate(&table, &c, 0, INFINITY));
        assert_int_equal(isfinite(c.ms) != 0, !over);
        if (over) REQUIRE_LOGGED("kernel one more gives other bits from run to run");
        vkt_graph_destroy(&c.g);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    vkt_buffer_destroy(gpu, &mem);
    vkt_gpu_destroy(&gpu);
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "tune-%d", vkt__pid());
    return vkt__mkdirs(dir) != VKT_OK;
}

static int clean(void **state)
{
    (void)state;
    return vkt__remove_tree(dir) != VKT_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_of_convolutions_are_kept_and_used),
        cmocka_unit_test(choices_that_cannot_be_kept),
        cmocka_unit_test(what_was_not_timed_is_not_kept),
        cmocka_unit_test(timing_submits_no_longer_than_steps_do),
        cmocka_unit_test(kernels_are_compiled_together),
        cmocka_unit_test(the_self_test_survives_a_lost_device),
        cmocka_unit_test(a_kernel_that_fails_is_passed_over),
        cmocka_unit_test(a_kernel_that_loses_the_device_is_left_out),
        cmocka_unit_test(a_kernel_whose_bits_change_is_not_used),
        cmocka_unit_test(a_kernel_that_ended_the_program_is_left_out),
        cmocka_unit_test(what_ended_all_at_once_is_compiled_one_by_one),
        cmocka_unit_test(matrix_units_are_tried_before_they_are_used),
        cmocka_unit_test(matrices_of_any_size_are_tried_before_they_are_used),
        cmocka_unit_test(attention_is_tried_before_it_is_used),
    };
    return cmocka_run_group_tests_name("tune", tests, setup, clean);
}
