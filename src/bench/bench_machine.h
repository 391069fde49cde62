/* The machine around the device, for benchmark files. Texts are the arena's; "unknown" where the
 * system does not say. */
#ifndef VKT_BENCH_MACHINE_H
#define VKT_BENCH_MACHINE_H

#include "base/memory.h"
#include "vktrain/gpu.h"

const char *vkt__machine_os(vkt__arena *a);
const char *vkt__machine_cpu(vkt__arena *a);
/* Clocks of the CPU and GPU. root: a folder that has sys/... and proc/...; "": the system's. */
const char *vkt__machine_clocks(vkt__arena *a, const vkt_caps *caps, const char *root);
/* The power limit of the card with these PCI ids. */
const char *vkt__machine_limits(vkt__arena *a, uint32_t vendor_id, uint32_t device_id);

#endif
