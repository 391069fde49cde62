/* The energy that a device takes, and its clocks, from sensors that are files of this test and from
 * a library that has NVML's names. */
#include "testing.h"

#include <math.h>

#include "base/os.h"
#include "bench/bench_conditions.h"
#include "bench/bench_machine.h"
#include "gpu/energy.h"
#include "gpu/nvml.h"

#define DIR "te"
#include "own_folder.h"

static void put(const char *path, const char *text)
{
    char dir[256];
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = 0;
    REQUIRE_OK(vkt__mkdirs(dir));
    REQUIRE_OK(vkt__file_replace(path, text, strlen(text)));
}

static vkt__energy *opened(vkt_gpu_class klass, vkt_gpu_type type, const char *root)
{
    vkt_caps caps = { .klass = klass, .type = type, .vendor_id = 0x1002, .device_id = 0x73bf };
    return vkt__energy_open(&caps, &(vkt__energy_desc) { .root = root, .nvml = "./no-nvml.so" });
}

static vkt__energy *card(const char *root)
{
    return opened(VKT_GPU_CLASS_AMD, VKT_GPU_DISCRETE, root);
}

static vkt__energy *cpu(const char *root)
{
    return opened(VKT_GPU_CLASS_CPU, VKT_GPU_CPU, root);
}

#define RAPL "te/sys/class/powercap/intel-rapl:"
#define CARD "te/sys/class/drm/card"

static void packages_are_added_up(void **state)
{
    (void)state;
    double seconds;
    assert_null(cpu("te"));
    put(RAPL "0/name", "package-0\n");
    put(RAPL "0/energy_uj", "5000000\n");
    assert_null(cpu("te")); /* without its range */
    put(RAPL "0/max_energy_range_uj", "262143000000\n");
    put(RAPL "1/name", "package-1\n");
    put(RAPL "1/max_energy_range_uj", "262143000000\n");
    assert_null(cpu("te")); /* half of a sum is none */
    put(RAPL "1/energy_uj", "262142000000\n");
    put(RAPL "2/name", "psys\n"); /* the whole board: not to be added */
    put(RAPL "2/energy_uj", "1\n");
    vkt__energy *e = cpu("te");
    assert_non_null(e);
    assert_non_null(strstr(vkt__energy_source(e), "RAPL"));
    vkt__energy_begin(e);
    put(RAPL "0/energy_uj", "7000000\n");
    put(RAPL "1/energy_uj", "500000\n"); /* began again: 1 J to its range, and a half */
    bool known = !isnan(vkt__energy_end(e, &seconds));
    assert_true(known == (seconds >= 0.1)); /* what is shorter, is not told */
    put(RAPL "0/energy_uj", "5000000\n");
    put(RAPL "1/energy_uj", "262142000000\n");
    vkt__energy_begin(e);
    vkt__sleep_ms(120);
    put(RAPL "0/energy_uj", "7000000\n");
    put(RAPL "1/energy_uj", "500000\n");
    REQUIRE_NEAR(vkt__energy_end(e, &seconds), 3.5, 1e-9);
    assert_true(seconds >= 0.1);
    vkt__energy_begin(e);
    vkt__sleep_ms(120);
    vkt__file_remove(RAPL "0/energy_uj");
    assert_true(isnan(vkt__energy_end(e, NULL)));
    vkt__energy_close(&e);
    assert_true(isnan(vkt__energy_end(NULL, &seconds)) && isnan(seconds));
    /* A GPU of its own has nothing to do with the CPU's packages; one in the CPU has. */
    put(RAPL "0/energy_uj", "7000000\n");
    assert_null(card("te"));
    e = opened(VKT_GPU_CLASS_INTEL, VKT_GPU_INTEGRATED, "te");
    assert_non_null(e);
    vkt__energy_close(&e);
}

static void a_card_is_found_by_its_ids(void **state)
{
    (void)state;
    put(CARD "0/device/vendor", "0x8086\n");
    put(CARD "0/device/device", "0x73bf\n");
    put(CARD "0/device/hwmon/hwmon0/energy1_input", "1\n");
    assert_null(card("te"));
    put(CARD "1/device/vendor", "0x1002\n");
    put(CARD "1/device/device", "0x73bf\n");
    assert_null(card("te")); /* it has no sensor */
    put(CARD "1/device/hwmon/hwmon7/power1_average", "30000000\n");
    vkt__energy *e = card("te");
    assert_non_null(e);
    assert_non_null(strstr(vkt__energy_source(e), "sampled"));
    vkt__energy_begin(e); /* 30 W: the same energy however the samples fall */
    vkt__sleep_ms(1100);
    double seconds, joules = vkt__energy_end(e, &seconds);
    assert_true(seconds >= 1);
    REQUIRE_NEAR(joules / seconds, 30, 1e-6);
    vkt__energy_begin(e); /* a second interval is its own */
    vkt__sleep_ms(1100);
    joules = vkt__energy_end(e, &seconds);
    assert_true(seconds >= 1 && seconds < 30);
    REQUIRE_NEAR(joules / seconds, 30, 1e-6);
    vkt__energy_begin(e);
    vkt__energy_close(&e); /* its sampler ends */
    put(CARD "1/device/hwmon/hwmon7/energy1_input", "1000000\n");
    e = card("te");
    assert_non_null(strstr(vkt__energy_source(e), "counter"));
    vkt__energy_close(&e);
    put(CARD "2/device/vendor", "0x1002\n"); /* two of a kind: nobody says which is which */
    put(CARD "2/device/device", "0x73bf\n");
    put(CARD "2/device/hwmon/hwmon8/energy1_input", "1000000\n");
    assert_null(card("te"));
}

static void nvml_is_asked_by_uuid(void **state)
{
    (void)state;
#ifdef VKT_FAKE_NVML
    vkt_caps caps = { .klass = VKT_GPU_CLASS_NVIDIA, .type = VKT_GPU_DISCRETE };
    vkt__energy_desc d = { .root = "none", .nvml = VKT_FAKE_NVML };
    assert_null(vkt__energy_open(&caps, &d)); /* another card's */
    for (uint8_t i = 0; i < 16; i++) caps.uuid[i] = i;
    vkt__energy *e = vkt__energy_open(&caps, &d);
    assert_non_null(e);
    assert_non_null(strstr(vkt__energy_source(e), "NVML"));
    vkt__energy_begin(e);
    vkt__sleep_ms(1050);
    REQUIRE_NEAR(vkt__energy_end(e, NULL), 7, 1e-9);
    vkt__energy_close(&e);
    vkt__nvml *n = vkt__nvml_open(&caps, VKT_FAKE_NVML);
    REQUIRE_NEAR(vkt__nvml_mhz(n, false), 2520, 1e-9);
    REQUIRE_NEAR(vkt__nvml_mhz(n, true), 3105, 1e-9);
    vkt__nvml_close(&n);
    d.nvml = "./no-nvml.so";
    assert_null(vkt__energy_open(&caps, &d));
#endif
}

static void clocks_are_told_where_files_say_them(void **state)
{
    (void)state;
    vkt__arena a = { 0 };
    vkt_caps amd = { .klass = VKT_GPU_CLASS_AMD, .vendor_id = 0x1002, .device_id = 0x73bf },
             arc = { .klass = VKT_GPU_CLASS_INTEL, .vendor_id = 0x8086, .device_id = 0xe20b };
    assert_string_equal(vkt__machine_clocks(&a, &amd, "te"), "unknown");
    put(CARD "0/device/vendor", "0x8086\n");
    put(CARD "0/device/device", "0xe20b\n");
    put(CARD "0/gt_max_freq_mhz", "2850\n");
    put(CARD "1/device/vendor", "0x1002\n");
    put(CARD "1/device/device", "0x73bf\n");
    put(CARD "1/device/hwmon/hwmon3/freq1_input", "2512000000\n");
    assert_string_equal(vkt__machine_clocks(&a, &amd, "te"),
                        "GPU 2512 MHz before, at most unknown");
    assert_string_equal(vkt__machine_clocks(&a, &arc, "te"),
                        "GPU unknown before, at most 2850 MHz");
    put("te/proc/cpuinfo", "processor : 0\ncpu MHz : 3200.5\n");
    put("te/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "4900000\n");
    put(CARD "0/gt_act_freq_mhz", "600\n");
    assert_string_equal(vkt__machine_clocks(&a, &arc, "te"),
                        "CPU 3200.5 MHz before, at most 4900 MHz, governor unknown; GPU 600 MHz "
                        "before, at most 2850 MHz");
    arc.klass = VKT_GPU_CLASS_CPU; /* a CPU driver has no card */
    assert_null(strstr(vkt__machine_clocks(&a, &arc, "te"), "GPU"));
    vkt__arena_finish(&a);
}

/* The counters of a machine in proc/stat, in hundredths of a second: user, nice, system, idle,
 * waiting, interrupts (two kinds), what the hypervisor took. */
static void counted(long user, long steal)
{
    char text[200];
    snprintf(text, sizeof text, "cpu  %ld 10 20 123456 7 3 2 %ld 0 0\ncpu0 1 2 3\n", user, steal);
    put("te/proc/stat", text);
}

static void what_other_programs_took_is_told(void **state)
{
    (void)state;
#ifdef _WIN32
    skip(); /* its counters are no files */
#endif
    char why[200];
    vkt__conditions c;
    long most = (long)vkt__cpu_count();
    vkt__conditions_open(&c, NULL, "te", NULL);
    counted(5000, 100);
    vkt__conditions_begin(&c);
    vkt__sleep_ms(50);
    counted(5000 + 100 * most, 100);
    assert_false(vkt__conditions_end(&c, why, sizeof why)); /* too short to be told */
    vkt__sleep_ms(200);
    assert_true(vkt__conditions_end(&c, why, sizeof why));
    assert_non_null(strstr(why, "other programs took "));
    counted(5000, 100 + 100 * most);
    assert_true(vkt__conditions_end(&c, why, sizeof why)); /* another guest of the machine */
    counted(5000, 100);
    assert_false(vkt__conditions_end(&c, why, sizeof why));
    vkt__file_remove("te/proc/stat");
    assert_false(vkt__conditions_end(&c, why, sizeof why));
    vkt__conditions_close(&c);
    /* Its own work is none of others'. */
    counted(5000, 100);
    vkt__conditions_begin(&c);
    double before = vkt__process_cpu_s();
    while (vkt__process_cpu_s() - before < 0.25) {
    }
    counted(5025, 100);
    assert_false(vkt__conditions_end(&c, why, sizeof why));
    vkt__conditions_close(&c);
}

#ifdef VKT_FAKE_NVML
static void a_card_that_is_too_hot_is_told(void **state)
{
    (void)state;
    char why[200];
    vkt__conditions c;
    vkt_caps caps = { .klass = VKT_GPU_CLASS_NVIDIA };
    for (uint8_t i = 0; i < 16; i++) caps.uuid[i] = i;
    vkt__conditions_open(&c, &caps, "none", VKT_FAKE_NVML);
    vkt__conditions_begin(&c);
    vkt__sleep_ms(250);
    assert_true(vkt__conditions_end(&c, why, sizeof why));
    assert_non_null(strstr(why, "too hot"));
    vkt__conditions_close(&c);
    assert_null(c.nvml);
    caps.uuid[0] = 9; /* a card that the library does not know */
    vkt__conditions_open(&c, &caps, "none", VKT_FAKE_NVML);
    vkt__conditions_begin(&c);
    vkt__sleep_ms(250);
    assert_false(vkt__conditions_end(&c, why, sizeof why));
    vkt__conditions_close(&c);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packages_are_added_up, setup, teardown),
        cmocka_unit_test_setup_teardown(a_card_is_found_by_its_ids, setup, teardown),
        cmocka_unit_test_setup_teardown(what_other_programs_took_is_told, setup, teardown),
#ifdef VKT_FAKE_NVML
        cmocka_unit_test(a_card_that_is_too_hot_is_told),
#endif
        cmocka_unit_test(nvml_is_asked_by_uuid),
        cmocka_unit_test_setup_teardown(clocks_are_told_where_files_say_them, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
