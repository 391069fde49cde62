/* A library with NVML's names: one device, whose counter rises by 7 J at each call. */
#include <string.h>

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj);
int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *mhz);

struct violation {
    unsigned long long at, ns;
};
int nvmlDeviceGetViolationStatus(void *device, int policy, struct violation *v);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    static int one;
    *device = &one;
    return strcmp(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f") ? 6 : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    static unsigned long long now = 5000000000ull;
    if (!device) return 2;
    *mj = now += 7000;
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    *mhz = 2520;
    return device && which == 1 ? 0 : 3;
}

int nvmlDeviceGetMaxClockInfo(void *device, int which, unsigned *mhz)
{
    *mhz = 3105;
    return device && which == 1 ? 0 : 3;
}

/* Too hot for 0.1 s more at each call. */
int nvmlDeviceGetViolationStatus(void *device, int policy, struct violation *v)
{
    static unsigned long long ns;
    v->at = 0;
    v->ns = ns += 100000000;
    return device && policy == 1 ? 0 : 3;
}
