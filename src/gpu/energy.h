/* The energy that a device takes, where the driver or the system tells it; on Linux only. An NVIDIA
 * card: NVML, loaded when asked. Another GPU: the sensors of its kernel driver (hwmon), if it is
 * the only one of its kind. A CPU driver, and a GPU in a CPU without a sensor of its own: the
 * counters of the CPU's packages (RAPL), which include whatever else runs there and which mostly
 * only root may read. Knows no step and no kernel. */
#ifndef VKT_GPU_ENERGY_H
#define VKT_GPU_ENERGY_H

#include "vktrain/gpu.h"

typedef struct vkt__energy vkt__energy;

/* For tests. */
typedef struct vkt__energy_desc {
    const char *root; /* a folder that has sys/...; NULL: the system's */
    const char *nvml; /* NVML's library; NULL: libnvidia-ml.so.1 */
} vkt__energy_desc;

/* NULL: nothing tells the energy of this device. d may be NULL. */
vkt__energy *vkt__energy_open(const vkt_caps *caps, const vkt__energy_desc *d);
void vkt__energy_close(vkt__energy **e);
/* Who tells, and of what: "NVML, the whole card". */
const char *vkt__energy_source(const vkt__energy *e);
/* An interval must be as long, in seconds, for its energy to be told. */
double vkt__energy_least_s(const vkt__energy *e);
/* One interval at a time; one that was not ended ends. */
void vkt__energy_begin(vkt__energy *e);
/* Joules since then, and the seconds of the interval; NAN where it was too short, or the counter
 * failed. e may be NULL: NAN. */
double vkt__energy_end(vkt__energy *e, double *seconds);

#endif
