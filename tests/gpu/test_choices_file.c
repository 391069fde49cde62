/* What is kept of kernels between runs: tuned choices and the journal of those that are left out,
 * of a device that need not be here. What is of another driver or damaged is not believed. */
#include "testing.h"

#define DIR "test_choices_file_tmp"
#include "own_folder.h"

#include "gpu/apart.h"
#include "gpu/gpu_vk.h"
#include "gpu/journal.h"

static vkt_gpu *device(uint32_t driver)
{
    vkt_gpu *gpu = vkt__alloc(sizeof *gpu);
    memset(gpu, 0, sizeof *gpu);
    snprintf(gpu->caps.name, sizeof gpu->caps.name, "made up");
    gpu->caps.driver_version = driver;
    vkt__choices_open(gpu, DIR);
    return gpu;
}

static void forget(vkt_gpu *gpu)
{
    free(gpu->choices);
    free(gpu->culprits);
    free(gpu);
}

static void choices_come_back(void **state)
{
    (void)state;
    static const char *const keys[][2] = { { "NN f32 1x2x3", "tiled.64x64" },
                                           { "conv 3", "direct" },
                                           { "a key of thirty-nine letters, no more !", "x" } };
    vkt_gpu *gpu = device(1);
    const char *path;
    for (size_t i = 0; i < VKT_COUNT(keys); i++) vkt__choice_set(gpu, keys[i][0], "first");
    for (size_t i = 0; i < VKT_COUNT(keys); i++) vkt__choice_set(gpu, keys[i][0], keys[i][1]);
    assert_int_equal(gpu->n_choices, VKT_COUNT(keys));
    REQUIRE_OK(vkt__choices_save(gpu, &path));
    forget(gpu);
    gpu = device(1);
    assert_int_equal(gpu->n_choices, VKT_COUNT(keys));
    for (size_t i = 0; i < VKT_COUNT(keys); i++)
        assert_string_equal(vkt__choice_get(gpu, keys[i][0]), keys[i][1]);
    assert_null(vkt__choice_get(gpu, "conv"));
    forget(gpu);
    TEST_LOG_CAPTURE();
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
    gpu = device(2); /* the same file: its name has no version */
    assert_int_equal(gpu->n_choices, 0);
    REQUIRE_LOGGED("are from another driver or version of vktrain: ignored");
    forget(gpu);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* Each byte of the choices and of their sum changed, and the file cut anywhere: all or nothing. */
static void a_damaged_file_gives_nothing(void **state)
{
    (void)state;
    vkt_gpu *gpu = device(1);
    const char *path;
    char *text, *bad, file[1100];
    size_t n, n_whole = 0;
    gpu->n_choices = 0;
    vkt__choice_set(gpu, "NN f32", "tiled");
    vkt__choice_set(gpu, "NT f32", "row");
    REQUIRE_OK(vkt__choices_save(gpu, &path));
    snprintf(file, sizeof file, "%s", path);
    forget(gpu);
    REQUIRE_OK(vkt__file_read(file, 1 << 20, &text, &n));
    size_t head = (size_t)(strstr(text, "NN f32") - text);
    bad = vkt__alloc(n + 1);
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_ERROR);
    for (size_t i = head; i < n; i++)
        for (int cut = 0; cut < 2; cut++) {
            memcpy(bad, text, n);
            bad[i] ^= 1;
            REQUIRE_OK(vkt__file_replace(file, bad, cut ? i : n));
            gpu = device(1);
            n_whole += gpu->n_choices == 2;
            assert_true(gpu->n_choices == 0 || gpu->n_choices == 2);
            if (gpu->n_choices) assert_string_equal(vkt__choice_get(gpu, "NN f32"), "tiled");
            forget(gpu);
        }
    assert_true(n_whole <= 3); /* the file's last letter may differ */
    free(bad);
    free(text);
    gpu = device(1);
    gpu->n_choices = 0; /* its sum is right, but a line is none: those before it do not count */
    vkt__choice_set(gpu, "NN f32", "tiled");
    vkt__choice_set(gpu, "NT f32", "");
    REQUIRE_OK(vkt__choices_save(gpu, &path));
    forget(gpu);
    gpu = device(1);
    assert_int_equal(gpu->n_choices, 0);
    forget(gpu);
    vkt__file_remove(file);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void write_journal(vkt_gpu *gpu, const char *lines)
{
    vkt__str s = { 0 };
    vkt__choices_heading(gpu, &s);
    vkt__str_printf(&s, "%s", lines);
    REQUIRE_OK(vkt__file_replace(gpu->journal_path, s.data, s.len));
    vkt__str_finish(&s);
    free(gpu->culprits);
    gpu->culprits = NULL;
    gpu->n_culprits = gpu->cap_culprits = 0;
    vkt__journal_open(gpu);
}

/* Whom the journal's lines leave out. This process does not try what it finds as its own: an
 * earlier one had its number. */
static void what_ended_a_run_is_left_out(void **state)
{
    (void)state;
    char own[100];
    vkt_gpu *gpu = device(1);
    vkt__journal_open(gpu);
    snprintf(own, sizeof own, "trying %d tiled NN f32\n", vkt__pid());
    const struct {
        const char *lines;
        size_t n;
        bool same, kind, other; /* tiled is left out for: NN f32, NN f16, NT f32 */
    } rows[] = {
        { "", 0, false, false, false },
        { own, 1, true, false, false },
        { "trying 999999999 tiled NN f32\n", 1, true, false, false },
        { "ended 0 tiled NN f32\n", 1, true, false, false },
        { "ended 0 tiled NN f64\nended 0 tiled NN f32\n", 2, true, true, false },
        { "lost 0 tiled NN f64\n", 1, true, true, false },
        { "lost 0 row NN f64\n", 1, false, false, false },
        { "no journal's line\nlost 0 tiled NN f64\n", 1, true, true, false },
#ifndef _WIN32
        { "trying 1 tiled NN f32\n", 0, false, false, false }, /* it runs: nothing is known yet */
#endif
    };
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_ERROR);
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        write_journal(gpu, rows[i].lines);
        assert_int_equal(gpu->n_culprits, rows[i].n);
        assert_int_equal(vkt__left_out(gpu, "tiled", "NN f32"), rows[i].same);
        assert_int_equal(vkt__left_out(gpu, "tiled", "NN f16"), rows[i].kind);
        assert_int_equal(vkt__left_out(gpu, "tiled", "NT f32"), rows[i].other);
    }
    /* what was read is kept, and what is tried now stands behind it until it ends */
    write_journal(gpu, "lost 0 row NN f64\n");
    vkt__trying(gpu, "wide", "NT f16");
    gpu->lost = true;
    vkt__tried(gpu);
    gpu->n_culprits = 0;
    vkt__journal_open(gpu);
    assert_int_equal(gpu->n_culprits, 2);
    assert_true(vkt__left_out(gpu, "wide", "NT f32") && vkt__left_out(gpu, "row", "NN f16"));
    gpu->lost = false;
    vkt__trying(gpu, "narrow", "NT f16");
    vkt__tried(gpu);
    assert_false(vkt__left_out(gpu, "narrow", "NT f16"));
    /* of another driver: nothing */
    gpu->caps.driver_version = 7;
    gpu->n_culprits = 0;
    vkt__journal_open(gpu);
    assert_int_equal(gpu->n_culprits, 0);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    forget(gpu);
}

/* Each kind of unit is tried once for a driver: the file names it by a line of its own. */
static void what_was_tried_apart_is_not_again(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *what;
        bool tried;
    } rows[] = { { "f16\n", "f16", true },
                 { "f16\n", "bf16", false },
                 { "bf16\n", "f16", false },
                 { "f16\nbf16\n", "bf16", true },
                 { "\n", "f16", false } };
    vkt_gpu *gpu = device(1);
    vkt__journal_open(gpu);
    char path[1100];
    size_t n = strlen(gpu->journal_path) - strlen("-left-out.txt");
    snprintf(path, sizeof path, "%.*s-tried.txt", (int)n, gpu->journal_path);
    vkt_helper_set(true);
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__str s = { 0 };
        vkt__choices_heading(gpu, &s);
        vkt__str_printf(&s, "%s", rows[i].lines);
        REQUIRE_OK(vkt__file_replace(path, s.data, s.len));
        vkt__str_finish(&s);
        TEST_LOG_CAPTURE();
        vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
        assert_true(vkt__tried_apart(gpu, rows[i].what)); /* this program is no helper */
        assert_int_equal(strstr(test_log, "are first tried in a process of their own") == NULL,
                         rows[i].tried);
    }
    vkt_helper_set(false);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt__file_remove(path);
    forget(gpu);
}

/* Memory without a device: what is counted is what is held, its peak stays, and what is too much is
 * refused with both numbers. */
static void memory_is_counted(void **state)
{
    (void)state;
    vkt_gpu *gpu = device(1);
    vkt_buffer *a = NULL, *b = NULL, *c = NULL;
    gpu->caps.max_alloc_bytes = 3 << 20;
    gpu->caps.max_buffer_bytes = 8 << 20;
    gpu->caps.budget_bytes = 4 << 20;
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 2 << 20, VKT_MEM_DEVICE, "a" }, &a));
    uint64_t one = gpu->stats.bytes;
    assert_true(one >= 2 << 20);
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 1 << 20, VKT_MEM_DEVICE, "b" }, &b));
    uint64_t both = gpu->stats.bytes;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 2 << 20, VKT_MEM_DEVICE, "c" }, &c),
                   VKT_E_OOM_DEVICE);
    REQUIRE_LOGGED("buffer 'c' needs 2.0 MiB; the device has left");
    assert_null(c);
    REQUIRE_STATUS(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 4 << 20, VKT_MEM_DEVICE, "d" }, &c),
                   VKT_E_OOM_DEVICE);
    REQUIRE_LOGGED("buffer 'd' needs 4.0 MiB; the device allocates at most 3.0 MiB");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    /* the host's own is none of the device's budget */
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 2 << 20, VKT_MEM_HOST, "h" }, &c));
    assert_int_equal(gpu->stats.bytes, both);
    assert_true(gpu->stats.host_bytes >= 2 << 20);
    vkt_buffer_destroy(gpu, &c);
    assert_int_equal(gpu->stats.host_bytes, 0);
    vkt_buffer_destroy(gpu, &a);
    assert_int_equal(gpu->stats.bytes, both - one);
    assert_int_equal(gpu->stats.peak_bytes, both);
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 1 << 20, VKT_MEM_DEVICE, "e" }, &a));
    assert_int_equal(gpu->stats.peak_bytes, both); /* less than once was */
    vkt_buffer_destroy(gpu, &a);
    vkt_buffer_destroy(gpu, &b);
    assert_int_equal(gpu->stats.bytes, 0);
    forget(gpu);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) return 0; /* started by what is tested, as a helper, which this is not */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_come_back),
        cmocka_unit_test(a_damaged_file_gives_nothing),
        cmocka_unit_test(what_ended_a_run_is_left_out),
        cmocka_unit_test(what_was_tried_apart_is_not_again),
        cmocka_unit_test(memory_is_counted),
    };
    return cmocka_run_group_tests_name("choices' file", tests, setup, teardown);
}
