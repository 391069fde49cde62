/* What a benchmark file says of the machine besides its GPU: read from files that Linux has;
 * elsewhere "unknown". */
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_machine.h"

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

const char *vkt__machine_clocks(vkt__arena *a)
{
    static const char dir[] = "/sys/devices/system/cpu/cpu0/cpufreq";
    const char *now = line_of(a, "/proc/cpuinfo", "cpu MHz"),
               *most = line_of(a, vkt__arena_printf(a, "%s/scaling_max_freq", dir), NULL),
               *governor = line_of(a, vkt__arena_printf(a, "%s/scaling_governor", dir), NULL);
    if (!now && !most) return "unknown";
    const char *limit =
        most ? vkt__arena_printf(a, "%.0f MHz", strtod(most, NULL) / 1000) : "unknown";
    return vkt__arena_printf(a, "CPU %s MHz before, at most %s, governor %s", now ? now : "unknown",
                             limit, governor ? governor : "unknown");
}

const char *vkt__machine_limits(vkt__arena *a, uint32_t vendor_id, uint32_t device_id)
{
    char want_vendor[16], want_device[16];
    snprintf(want_vendor, sizeof want_vendor, "0x%04x", vendor_id);
    snprintf(want_device, sizeof want_device, "0x%04x", device_id);
    for (int card = 0; card < MAX_CARDS; card++) {
        const char *dir = vkt__arena_printf(a, "/sys/class/drm/card%d/device", card),
                   *vendor = line_of(a, vkt__arena_printf(a, "%s/vendor", dir), NULL),
                   *device = line_of(a, vkt__arena_printf(a, "%s/device", dir), NULL);
        if (!vendor || !device || strcmp(vendor, want_vendor) || strcmp(device, want_device))
            continue;
        for (int k = 0; k < MAX_SENSORS; k++) {
            const char *cap =
                line_of(a, vkt__arena_printf(a, "%s/hwmon/hwmon%d/power1_cap", dir, k), NULL);
            if (cap) return vkt__arena_printf(a, "GPU power cap %.0f W", strtod(cap, NULL) / 1e6);
        }
    }
    return "unknown";
}
