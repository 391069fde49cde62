/* The gpu layer on a device: choice, --cap switches, memory, the pipeline cache, waiting. */
#include "testing.h"

#include "base/os.h"
#include "gpu/commands.h"
#include "shaders/params.h"
#include "vktrain/tensor.h"

static vkt_gpu_desc desc(const char *device, const char *cap)
{
    return (vkt_gpu_desc) { .device = device, .cap = cap, .no_cache = true };
}

static void devices_are_chosen_by_index_kind_name_and_uuid(void **state)
{
    (void)state;
    vkt_gpu_info *list;
    size_t n;
    vkt_gpu *gpu;
    REQUIRE_OK(vkt_gpu_list(&list, &n));
    assert_true(n > 0 && list[0].usable);
    char name[300], uuid[40] = "", index[8] = "0";
    snprintf(name, sizeof name, "%.8s", list[0].caps.name);
    for (int i = 0; i < 16; i++)
        snprintf(uuid + strlen(uuid), 8, "%s%02x", i == 4 || i == 6 ? "-" : "",
                 list[0].caps.uuid[i]);
    const char *good[] = { NULL, index, list[0].caps.type == VKT_GPU_CPU ? "cpu" : "gpu",
                           n == 1 ? name : index, n == 1 ? uuid : index };
    for (size_t i = 0; i < VKT_COUNT(good); i++) {
        vkt_gpu_desc d = desc(good[i], NULL);
        REQUIRE_OK(vkt_gpu_create(&d, &gpu));
        assert_memory_equal(vkt_gpu_caps(gpu)->uuid, list[0].caps.uuid, 16);
        vkt_gpu_destroy(&gpu);
        assert_null(gpu);
    }
    const char *bad[] = { "99", "no such card", "00000000-0000-0000-0000-000000000000" };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        vkt_gpu_desc d = desc(bad[i], NULL);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_gpu_create(&d, &gpu), VKT_E_NO_DEVICE);
        REQUIRE_LOGGED("fits no device; the devices are 0: ");
        assert_null(gpu);
    }
    free(list);
}

static void caps_only_take_away(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    vkt_gpu_desc d = desc(NULL, "workgroup=64,shared=16384,int64=0,fp16=0,subgroup-arith=0,memory="
                                "8388608,unified=0,cpu-kernels=0");
    REQUIRE_OK(vkt_gpu_create(&d, &gpu));
    const vkt_caps *c = vkt_gpu_caps(gpu);
    assert_true(c->workgroup == 64 && c->shared_bytes == 16384 && !c->int64 && !c->fp16 &&
                !c->subgroup_arith && !c->unified);
    assert_true(c->budget_bytes == 8388608 && c->klass != VKT_GPU_CLASS_CPU);
    vkt_gpu_destroy(&gpu);
    d = desc(NULL, "workgroup=1000000");
    REQUIRE_OK(vkt_gpu_create(&d, &gpu));
    assert_true(vkt_gpu_caps(gpu)->workgroup < 1000000);
    vkt_gpu_destroy(&gpu);
    static const struct {
        const char *cap, *log;
    } bad[] = {
        { "int32=0",
          "no capability 'int32' (`vktrain devices --help` lists them); did you mean 'int64'?" },
        { "fp16", "is not name=number" },
        { "fp16=2", "flag" },
        { "workgroup=1", "below the least useful" },
        { "subgroup=7", "lanes" },
        { "attention=8", "--cap attention=8: there is no such kernel (5 to 7, " },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        d = desc(NULL, bad[i].cap);
        TEST_LOG_CAPTURE();
        assert_true(vkt_gpu_create(&d, &gpu) != VKT_OK);
        REQUIRE_LOGGED(bad[i].log);
    }
}

static void memory_is_counted_and_keeps_its_contents(void **state)
{
    (void)state;
    static const char *const caps[] = { NULL, "unified=0", "unified=0,alloc=1048576" };
    for (size_t k = 0; k < VKT_COUNT(caps); k++) {
        vkt_gpu *gpu;
        vkt_gpu_desc d = desc(NULL, caps[k]);
        REQUIRE_OK(vkt_gpu_create(&d, &gpu));
        vkt_buffer *b[40] = { 0 };
        unsigned char data[5000], got[5000];
        for (size_t i = 0; i < 40; i++) {
            uint64_t bytes = i % 10 == 9 ? 900 * 1024 : 100 + 37 * i;
            REQUIRE_OK(vkt_buffer_create(
                gpu, &(vkt_buffer_desc) { bytes, (vkt_mem)(i % 3), "test" }, &b[i]));
            assert_true(b[i]->addr % 256 == 0 && b[i]->bytes >= bytes);
            uint64_t n = VKT_MIN(bytes, sizeof data);
            REQUIRE_OK(vkt_buffer_read(gpu, b[i], 0, got, n));
            for (uint64_t j = 0; j < n; j++) assert_int_equal(got[j], 0);
            memset(data, (int)i + 1, sizeof data);
            REQUIRE_OK(vkt_buffer_write(gpu, b[i], 0, data, n));
        }
        for (size_t i = 0; i < 40; i++) {
            uint64_t n = VKT_MIN(b[i]->bytes, 100);
            REQUIRE_OK(vkt_buffer_read(gpu, b[i], 0, got, n));
            for (uint64_t j = 0; j < n; j++) assert_int_equal(got[j], i + 1);
            for (size_t j = 0; j < i; j++)
                assert_true(b[i]->addr + b[i]->bytes <= b[j]->addr ||
                            b[j]->addr + b[j]->bytes <= b[i]->addr);
        }
        uint64_t sum = 0, before = vkt_gpu_get_stats(gpu).bytes;
        for (size_t i = 0; i < 40; i++) sum += b[i]->bytes;
        assert_true(before >= sum);
        for (size_t i = 0; i < 40; i++) vkt_buffer_destroy(gpu, &b[i]);
        assert_true(before - vkt_gpu_get_stats(gpu).bytes == sum &&
                    vkt_gpu_get_stats(gpu).peak_bytes >= before);
        vkt_gpu_destroy(&gpu);
    }
}

/* Where the host does not reach the memory, one submission fills it, and one repeats what lies in
 * it, however large it is. */
static void the_device_fills_memory(void **state)
{
    enum { BYTES = 9 << 20, UNIT = 3 * 37 * 16 };
    (void)state;
    unsigned char *data = malloc(BYTES);
    static const char *const caps[] = { NULL, "unified=0" };
    for (size_t k = 0; k < VKT_COUNT(caps); k++) {
        vkt_gpu *gpu;
        vkt_buffer *b;
        vkt_gpu_desc d = desc(NULL, caps[k]);
        REQUIRE_OK(vkt_gpu_create(&d, &gpu));
        for (int again = 0; again < 2; again++) {
            vkt__gpu_lose_after(2, 1);
            REQUIRE_OK(
                vkt_buffer_create(gpu, &(vkt_buffer_desc) { BYTES, VKT_MEM_DEVICE, "large" }, &b));
            vkt__gpu_lose_after(0, 0);
            memset(data, 1, BYTES);
            REQUIRE_OK(vkt_buffer_read(gpu, b, 0, data, BYTES));
            for (size_t i = 0; i < BYTES; i++)
                if (data[i]) fail_msg("byte %zu is %d", i, data[i]);
            for (size_t i = 0; i < UNIT; i++) data[i] = (unsigned char)(i % 251 + 1);
            REQUIRE_OK(vkt_buffer_write(gpu, b, 256, data, UNIT));
            vkt__gpu_lose_after(2, 1);
            REQUIRE_OK(vkt__buffer_repeat(gpu, b, 256, UNIT, BYTES - 1000));
            vkt__gpu_lose_after(0, 0);
            REQUIRE_OK(vkt_buffer_read(gpu, b, 0, data, BYTES));
            for (size_t i = 0; i < BYTES; i++) {
                bool in = i >= 256 && i < 256 + BYTES - 1000;
                if (data[i] != (in ? (i - 256) % UNIT % 251 + 1 : 0))
                    fail_msg("byte %zu is %d", i, data[i]);
            }
            vkt_buffer_destroy(gpu, &b);
        }
        vkt_gpu_destroy(&gpu);
    }
    free(data);
}

/* The driver of this test goes on to work: only what this library remembers refuses. */
static void a_lost_device_takes_nothing_more(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    vkt__cmd *cmd;
    uint64_t ticket;
    vkt_gpu_desc d = desc(NULL, NULL);
    REQUIRE_OK(vkt_gpu_create(&d, &gpu));
    REQUIRE_OK(vkt__cmd_create(gpu, "nothing", 0, &cmd));
    REQUIRE_OK(vkt__cmd_end(cmd));
    TEST_LOG_CAPTURE();
    vkt__gpu_lose_after(1, 1);
    REQUIRE_STATUS(vkt__submit(gpu, cmd, &ticket), VKT_E_DEVICE);
    vkt__gpu_lose_after(0, 0);
    REQUIRE_STATUS(vkt__submit(gpu, cmd, &ticket), VKT_E_DEVICE);
    vkt__cmd_destroy(gpu, &cmd);
    vkt_gpu_destroy(&gpu);
}

static void too_much_memory_is_refused_with_numbers(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    vkt_buffer *b, *rest;
    /* staging, which the first buffer brings along, has 4 MiB */
    vkt_gpu_desc d = desc(NULL, "memory=12582912,alloc=4194304,unified=0");
    REQUIRE_OK(vkt_gpu_create(&d, &gpu));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { 5 << 20, VKT_MEM_DEVICE, "big one" }, &b),
        VKT_E_OOM_DEVICE);
    REQUIRE_LOGGED("buffer 'big one' needs 5.0 MiB; the device allocates at most 4.0 MiB");
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 4 << 20, VKT_MEM_DEVICE, "first" }, &b));
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { 3 << 20, VKT_MEM_DEVICE, "second" }, &rest));
    vkt_buffer *third;
    REQUIRE_STATUS(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { 3 << 20, VKT_MEM_DEVICE, "third" }, &third),
        VKT_E_OOM_DEVICE);
    REQUIRE_LOGGED("buffer 'third' needs 3.0 MiB; the device has left 1.0 MiB");
    vkt_buffer_destroy(gpu, &b);
    vkt_buffer_destroy(gpu, &rest);
    vkt_gpu_destroy(&gpu);
}

/* A copy that never ends: said after 30 slices of a second, which are short here, given up after
 * 120. The device is not used again, and another one can be opened. */
static void what_never_ends_is_given_up(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    vkt_buffer *b;
    int data[4] = { 1, 2, 3, 4 };
    atomic_int stop = 0;
    vkt_gpu_desc d = desc(NULL, "unified=0,cpu-kernels=0"); /* CPU drivers are given longer */
    vkt__gpu_wait_slice(1);
    for (int asked = 0; asked < 2; asked++) {
        REQUIRE_OK(vkt_gpu_create(&d, &gpu));
        REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 256, VKT_MEM_DEVICE, "b" }, &b));
        stop = asked;
        vkt__gpu_stop_by(gpu, &stop);
        TEST_LOG_CAPTURE();
        vkt__gpu_hang_after(1);
        REQUIRE_STATUS(vkt_buffer_write(gpu, b, 0, data, sizeof data), VKT_E_DEVICE);
        if (asked) {
            REQUIRE_LOGGED("asked to stop, but 'staging' has not ended for 5 s");
        } else {
            REQUIRE_LOGGED(
                "'staging' has been running for 30 s, 0.0 s were expected: the device may");
            REQUIRE_LOGGED(
                "'staging' has been running for 120 s, 0.0 s were expected: the device h");
        }
        assert_true(vkt__gpu_lost(gpu));
        REQUIRE_STATUS(vkt_gpu_wait(gpu), VKT_E_DEVICE);
        REQUIRE_STATUS(vkt_buffer_read(gpu, b, 0, data, sizeof data), VKT_E_DEVICE);
        vkt_buffer_destroy(gpu, &b);
        vkt_gpu_destroy(&gpu);
        assert_null(gpu);
    }
    vkt__gpu_wait_slice(0);
    REQUIRE_OK(vkt_gpu_create(&d, &gpu));
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { 256, VKT_MEM_DEVICE, "b" }, &b));
    vkt_buffer_destroy(gpu, &b);
    vkt_gpu_destroy(&gpu);
}

static void cache_path(char out[600])
{
    char **names;
    size_t n;
    REQUIRE_OK(vkt__list_dir("test_gpu_cache", &names, &n));
    assert_int_equal(n, 1);
    snprintf(out, 600, "test_gpu_cache/%s", names[0]);
    vkt__names_free(names, n);
}

static void make_pipeline(bool *said_damaged)
{
    vkt_gpu *gpu;
    vkt__kernel *k;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, 64 },
                                   { VKT_SPEC_TYPE_X, 0 },
                                   { VKT_SPEC_TOGETHER, 1 } };
    test_log[0] = 0;
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
    REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .cache_dir = "test_gpu_cache" }, &gpu));
    REQUIRE_OK(vkt__kernel_get(gpu, VKT_SHADER_SUM_ROWS, spec, 3, &k));
    REQUIRE_STATUS(vkt__kernel_get(gpu, VKT_SHADER_NONE, spec, 3, &k), VKT_E_UNSUPPORTED);
    vkt_gpu_destroy(&gpu);
    *said_damaged = strstr(test_log, "is damaged or from another driver: it is rebuilt") != NULL;
}

static void kernels_wished_for_are_made_together(void **state)
{
    (void)state;
    vkt_gpu *gpu;
    vkt__kernel *k[3], *again;
    const uint32_t types[] = { 0, 1, 2 };
    REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { 0 }, &gpu));
    for (uint32_t fails = 0; fails < 2; fails++) { /* then: a failure shows when asked */
        for (uint32_t i = 0; i < 6; i++) {
            const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, fails ? 64 : 32 },
                                           { VKT_SPEC_TYPE_X, types[i % 3] },
                                           { VKT_SPEC_TOGETHER, 1 } };
            vkt__kernel_wish(gpu, VKT_SHADER_SUM_ROWS, spec, 3);
        }
        vkt__kernel_wish(gpu, VKT_SHADER_NONE, &(vkt__constant) { VKT_SPEC_WORKGROUP, 32 }, 1);
        vkt__gpu_fail_pipeline(fails);
        vkt__kernels_make(gpu);
        for (uint32_t i = 0; i < 3; i++) {
            const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, fails ? 64 : 32 },
                                           { VKT_SPEC_TYPE_X, types[i] },
                                           { VKT_SPEC_TOGETHER, 1 } };
            if (fails && i == 0)
                REQUIRE_STATUS(vkt__kernel_get(gpu, VKT_SHADER_SUM_ROWS, spec, 3, &k[i]),
                               VKT_E_DEVICE);
            REQUIRE_OK(vkt__kernel_get(gpu, VKT_SHADER_SUM_ROWS, spec, 3, &k[i]));
            REQUIRE_OK(vkt__kernel_get(gpu, VKT_SHADER_SUM_ROWS, spec, 3, &again));
            assert_ptr_equal(k[i], again);
        }
        assert_true(k[0] != k[1] && k[1] != k[2]);
        assert_int_equal(vkt_gpu_get_stats(gpu).n_pipelines, fails ? 6 : 3);
    }
    vkt_gpu_destroy(&gpu);
}

/* It is on the disk before the device is closed, which a run that is killed never does. */
static void compiled_kernels_are_kept_meanwhile(void **state)
{
    (void)state;
    char path[600];
    vkt_gpu *gpu;
    vkt_check_result r;
    REQUIRE_OK(vkt__remove_tree("test_gpu_cache"));
    REQUIRE_OK(vkt__mkdirs("test_gpu_cache"));
    REQUIRE_OK(vkt_gpu_create(&(vkt_gpu_desc) { .cache_dir = "test_gpu_cache" }, &gpu));
    REQUIRE_OK(vkt_compile_op(gpu, "add", &r));
    cache_path(path);
    int64_t bytes = vkt__file_size(path);
    assert_true(bytes > 0);
    vkt_gpu_destroy(&gpu);
    assert_int_equal(vkt__file_size(path), bytes);
    REQUIRE_OK(vkt__remove_tree("test_gpu_cache"));
}

static void a_damaged_cache_is_made_anew(void **state)
{
    (void)state;
    bool damaged;
    char path[600], *data;
    size_t n;
    REQUIRE_OK(vkt__remove_tree("test_gpu_cache"));
    REQUIRE_OK(vkt__mkdirs("test_gpu_cache"));
    make_pipeline(&damaged);
    assert_false(damaged);
    cache_path(path);
    make_pipeline(&damaged);
    assert_false(damaged);
    REQUIRE_OK(vkt__file_read(path, 1 << 26, &data, &n));
    const size_t flips[] = { 0, 20, 60, n / 2, n - 1 };
    for (size_t i = 0; i < VKT_COUNT(flips); i++) {
        data[flips[i]] ^= 1;
        REQUIRE_OK(vkt__file_replace(path, data, n));
        data[flips[i]] ^= 1;
        make_pipeline(&damaged);
        assert_true(damaged);
        make_pipeline(&damaged);
        assert_false(damaged);
    }
    REQUIRE_OK(vkt__file_replace(path, data, n / 3));
    make_pipeline(&damaged);
    assert_true(damaged);
    free(data);
    /* A cache that can be neither read nor written is done without, and logs no error. */
    char inner[1100];
    snprintf(inner, sizeof inner, "%s/inner", path); /* Wine renames over an empty folder */
    REQUIRE_OK(vkt__remove_tree(path));
    REQUIRE_OK(vkt__mkdirs(inner));
    make_pipeline(&damaged);
    REQUIRE_LOGGED("it is not a file: done without it");
    REQUIRE_LOGGED("what was compiled and timed is not kept");
    assert_null(strstr(test_log, "Is a directory\n"));
    REQUIRE_OK(vkt__remove_tree("test_gpu_cache"));
}

/* One invocation adds 1 to the counter `at` of a buffer of 64: in it, or beyond all buffers. What
 * the layer says of it, which is all that can be seen. */
static uint32_t messages_of_counting(uint32_t at, uint32_t *value)
{
    vkt_gpu *gpu;
    vkt_buffer *b;
    vkt__kernel *k;
    vkt__cmd *cmd;
    uint64_t ticket;
    static const uint32_t zeros[64];
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, 64 } };
    vkt_gpu_desc d = desc(NULL, NULL);
    d.validate = VKT_VALIDATION_GPU;
    REQUIRE_OK(vkt_gpu_create(&d, &gpu));
    REQUIRE_OK(
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { sizeof zeros, VKT_MEM_DEVICE, "b" }, &b));
    REQUIRE_OK(vkt_buffer_write(gpu, b, 0, zeros, sizeof zeros));
    REQUIRE_OK(vkt__kernel_get(gpu, VKT_SHADER_BENCH_COUNT, spec, 1, &k));
    REQUIRE_OK(vkt__cmd_create(gpu, "count", 0, &cmd));
    struct bench_count_params p = { b->addr, at, 0 };
    vkt__cmd_dispatch(cmd, k, &p, sizeof p, 1);
    REQUIRE_OK(vkt__cmd_end(cmd));
    REQUIRE_OK(vkt__submit(gpu, cmd, &ticket));
    REQUIRE_OK(vkt_ticket_wait(gpu, ticket));
    REQUIRE_OK(vkt_buffer_read(gpu, b, sizeof(uint32_t) * 3, value, sizeof *value));
    uint32_t n = (uint32_t)vkt_gpu_get_stats(gpu).n_validation;
    vkt__cmd_destroy(gpu, &cmd);
    vkt_buffer_destroy(gpu, &b);
    vkt_gpu_destroy(&gpu);
    return n;
}

/* --validate gpu sees an address that is in no buffer, and keeps the kernel from it. By hand, with
 * VKT_TEST_VALIDATE=gpu: layer 1.3.239 waits ten seconds for each submission, 1.4 lets the kernel
 * go on, which ends the process on a CPU driver. */
static void a_stray_address_is_told(void **state)
{
    (void)state;
    uint32_t value = 0;
    const char *validate = getenv("VKT_TEST_VALIDATE");
    if (!validate || strcmp(validate, "gpu") != 0) skip();
    TEST_LOG_CAPTURE();
    assert_int_equal(messages_of_counting(3, &value), 0);
    assert_int_equal(value, 1);
    assert_true(messages_of_counting(1u << 28, &value) > 0);
    assert_int_equal(value, 0);
    REQUIRE_LOGGED("validation: ");
}

int main(void)
{
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_chosen_by_index_kind_name_and_uuid),
        cmocka_unit_test(caps_only_take_away),
        cmocka_unit_test(memory_is_counted_and_keeps_its_contents),
        cmocka_unit_test(the_device_fills_memory),
        cmocka_unit_test(a_lost_device_takes_nothing_more),
        cmocka_unit_test(too_much_memory_is_refused_with_numbers),
        cmocka_unit_test(what_never_ends_is_given_up),
        cmocka_unit_test(kernels_wished_for_are_made_together),
        cmocka_unit_test(compiled_kernels_are_kept_meanwhile),
        cmocka_unit_test(a_damaged_cache_is_made_anew),
        cmocka_unit_test(a_stray_address_is_told),
    };
    return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
