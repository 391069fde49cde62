/* What a benchmark file says of the machine besides its GPU: read from files that Linux has;
 * elsewhere "unknown". */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_machine.h"
#include "gpu/nvml.h"

enum { LIMIT = 64 << 10, MAX_CARDS = 16, MAX_SENSORS = 16 };

/* What follows KEY and a ':' or '=' in a line of a file, without quotes; key NULL: the first line.
 * NULL: not there. */
static const char *line_of(vkt__arena *a, const char *path, const char *key)
{
    char *data = vkt__alloc(LIMIT), *out = NULL;
    size_t len = key ? strlen(key) : 0;
    FILE *in = fopen(path, "rb"); /* what the kernel makes has no size */
    data[in ? fread(data, 1, LIMIT - 1, in) : 0] = 0;
    if (in) fclose(in);
    for (char *at = data; *at && !out;) {
        char *end = at + strcspn(at, "\n"), *v = at;
        char *next = *end ? end + 1 : end;
        *end = 0;
        if (!key || !strncmp(at, key, len)) {
            if (key) {
                v += len;
                v += strspn(v, " \t:=\"");
            }
            v[strcspn(v, "\"")] = 0;
            if (*v && strlen(v) < 200) out = vkt__arena_strdup(a, v);
        }
        at = next;
    }
    free(data);
    return out;
}

const char *vkt__machine_os(vkt__arena *a)
{
    const char *name = line_of(a, "/etc/os-release", "PRETTY_NAME="),
               *kernel = line_of(a, "/proc/sys/kernel/osrelease", NULL);
    if (!name && !kernel) return "unknown";
    return vkt__arena_printf(a, "%s, kernel %s", name ? name : "unknown",
                             kernel ? kernel : "unknown");
}

const char *vkt__machine_cpu(vkt__arena *a)
{
    const char *name = line_of(a, "/proc/cpuinfo", "model name");
    return vkt__arena_printf(a, "%s, %u CPUs", name ? name : "unknown", vkt__cpu_count());
}

/* The next card from *card on with these PCI ids, and its number; NULL: there is none. */
static const char *card_of(vkt__arena *a, const char *root, uint32_t vendor_id, uint32_t device_id,
                           int *card)
{
    char want_vendor[16], want_device[16];
    snprintf(want_vendor, sizeof want_vendor, "0x%04x", vendor_id);
    snprintf(want_device, sizeof want_device, "0x%04x", device_id);
    for (; *card < MAX_CARDS; ++*card) {
        const char *dir = vkt__arena_printf(a, "%s/sys/class/drm/card%d", root, *card),
                   *vendor = line_of(a, vkt__arena_printf(a, "%s/device/vendor", dir), NULL),
                   *device = line_of(a, vkt__arena_printf(a, "%s/device/device", dir), NULL);
        if (vendor && device && !strcmp(vendor, want_vendor) && !strcmp(device, want_device))
            return dir;
    }
    return NULL;
}

/* A number of the first file of those that is there, times `by`; NAN: none is. */
static double number_of(vkt__arena *a, const char *dir, const char *file, double by)
{
    const char *text = line_of(a, vkt__arena_printf(a, "%s/%s", dir, file), NULL);
    return text ? by * strtod(text, NULL) : NAN;
}

static double first_of(double x, double y)
{
    return isnan(x) ? y : x;
}

/* MHz now and at most: amdgpu's sensor (Hz; it has no file of its limit alone), i915's files, xe's;
 * NVIDIA's by its library. */
static void gpu_clocks(vkt__arena *a, const vkt_caps *caps, const char *root, double *now,
                       double *most)
{
    int card = 0;
    *now = *most = NAN;
    vkt__nvml *nvml =
        caps->klass == VKT_GPU_CLASS_NVIDIA && !*root ? vkt__nvml_open(caps, NULL) : NULL;
    if (nvml) {
        *now = vkt__nvml_mhz(nvml, false);
        *most = vkt__nvml_mhz(nvml, true);
        vkt__nvml_close(&nvml);
        return;
    }
    const char *dir = card_of(a, root, caps->vendor_id, caps->device_id, &card);
    if (!dir || caps->klass == VKT_GPU_CLASS_CPU) return;
    for (int k = 0; k < MAX_SENSORS && isnan(*now); k++)
        *now = number_of(a, dir, vkt__arena_printf(a, "device/hwmon/hwmon%d/freq1_input", k), 1e-6);
    *now = first_of(*now, number_of(a, dir, "gt_act_freq_mhz", 1));
    *now = first_of(*now, number_of(a, dir, "device/tile0/gt0/freq0/act_freq", 1));
    *most = first_of(number_of(a, dir, "gt_max_freq_mhz", 1),
                     number_of(a, dir, "device/tile0/gt0/freq0/max_freq", 1));
}

static const char *mhz(vkt__arena *a, double x)
{
    return isnan(x) ? "unknown" : vkt__arena_printf(a, "%.0f MHz", x);
}

const char *vkt__machine_clocks(vkt__arena *a, const vkt_caps *caps, const char *root)
{
    const char *dir = vkt__arena_printf(a, "%s/sys/devices/system/cpu/cpu0/cpufreq", root),
               *now = line_of(a, vkt__arena_printf(a, "%s/proc/cpuinfo", root), "cpu MHz"),
               *governor = line_of(a, vkt__arena_printf(a, "%s/scaling_governor", dir), NULL),
               *cpu = NULL, *gpu = NULL;
    double most = number_of(a, dir, "scaling_max_freq", 1e-3), gpu_now, gpu_most;
    if (now || !isnan(most))
        cpu =
            vkt__arena_printf(a, "CPU %s MHz before, at most %s, governor %s",
                              now ? now : "unknown", mhz(a, most), governor ? governor : "unknown");
    gpu_clocks(a, caps, root, &gpu_now, &gpu_most);
    if (!isnan(gpu_now) || !isnan(gpu_most))
        gpu = vkt__arena_printf(a, "GPU %s before, at most %s", mhz(a, gpu_now), mhz(a, gpu_most));
    if (!cpu && !gpu) return "unknown";
    return cpu && gpu ? vkt__arena_printf(a, "%s; %s", cpu, gpu) : cpu ? cpu : gpu;
}

const char *vkt__machine_limits(vkt__arena *a, uint32_t vendor_id, uint32_t device_id)
{
    const char *dir, *cap;
    for (int card = 0; (dir = card_of(a, "", vendor_id, device_id, &card)); card++)
        for (int k = 0; k < MAX_SENSORS; k++) {
            cap = line_of(a, vkt__arena_printf(a, "%s/device/hwmon/hwmon%d/power1_cap", dir, k),
                          NULL);
            if (cap) return vkt__arena_printf(a, "GPU power cap %.0f W", strtod(cap, NULL) / 1e6);
        }
    return "unknown";
}
