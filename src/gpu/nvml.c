/* nvml.h */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/os.h"
#include "gpu/nvml.h"

/* By its header: 0 is success, clock 1 that of the multiprocessors. */
enum { CLOCK_SM = 1, POLICY_THERMAL = 1 };

/* nvmlViolationTime_t: microseconds since 1970, nanoseconds. */
typedef struct violation {
    unsigned long long at, ns;
} violation;

struct vkt__nvml {
    void *library;
    void *device;
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_uuid)(const char *uuid, void **device);
    /* NULL: not in this version. */
    int (*energy)(void *device, unsigned long long *mj);
    int (*clock)(void *device, int which, unsigned *mhz);
    int (*most)(void *device, int which, unsigned *mhz);
    int (*violated)(void *device, int policy, violation *v);
};

static bool find(const vkt__nvml *n, const char *name, void *out, size_t bytes)
{
    return vkt__library_find(n->library, name, out, bytes);
}

static bool finds_card(vkt__nvml *n, const vkt_caps *caps)
{
    char uuid[48] = "GPU-";
    for (size_t i = 0, at = 4; i < 16; i++)
        at += (size_t)snprintf(uuid + at, sizeof uuid - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", caps->uuid[i]);
    if (!find(n, "nvmlInit_v2", &n->init, sizeof n->init) ||
        !find(n, "nvmlShutdown", &n->shutdown, sizeof n->shutdown) ||
        !find(n, "nvmlDeviceGetHandleByUUID", &n->by_uuid, sizeof n->by_uuid) || n->init() != 0)
        return false;
    if (!find(n, "nvmlDeviceGetTotalEnergyConsumption", &n->energy, sizeof n->energy))
        n->energy = NULL;
    if (!find(n, "nvmlDeviceGetClockInfo", &n->clock, sizeof n->clock)) n->clock = NULL;
    if (!find(n, "nvmlDeviceGetMaxClockInfo", &n->most, sizeof n->most)) n->most = NULL;
    if (!find(n, "nvmlDeviceGetViolationStatus", &n->violated, sizeof n->violated))
        n->violated = NULL;
    if (n->by_uuid(uuid, &n->device) == 0) return true;
    n->shutdown();
    return false;
}

vkt__nvml *vkt__nvml_open(const vkt_caps *caps, const char *library)
{
    vkt__nvml *n = vkt__alloc(sizeof *n);
    *n = (vkt__nvml) { .library = vkt__library_open(library ? library : "libnvidia-ml.so.1") };
    if (n->library && finds_card(n, caps)) return n;
    vkt__library_close(&n->library);
    free(n);
    return NULL;
}

void vkt__nvml_close(vkt__nvml **n)
{
    if (!*n) return;
    (*n)->shutdown();
    vkt__library_close(&(*n)->library);
    free(*n);
    *n = NULL;
}

double vkt__nvml_joules(const vkt__nvml *n)
{
    unsigned long long mj;
    return n->energy && n->energy(n->device, &mj) == 0 ? 1e-3 * (double)mj : NAN;
}

double vkt__nvml_mhz(const vkt__nvml *n, bool most)
{
    unsigned mhz;
    int (*ask)(void *, int, unsigned *) = most ? n->most : n->clock;
    return ask && ask(n->device, CLOCK_SM, &mhz) == 0 ? mhz : NAN;
}

double vkt__nvml_too_hot_s(const vkt__nvml *n)
{
    violation v;
    return n->violated && n->violated(n->device, POLICY_THERMAL, &v) == 0 ? 1e-9 * (double)v.ns
                                                                          : NAN;
}
