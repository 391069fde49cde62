/* Classes of devices, as a set: which of them a kernel is shaped for, or a row of a table speaks
 * of; and how many cores a device's work is cut for. */
#ifndef VKT_TENSOR_CLASS_SETS_H
#define VKT_TENSOR_CLASS_SETS_H

#include "vktrain/gpu.h"

enum { VKT__CPUS = 1u << VKT_GPU_CLASS_CPU, VKT__NVIDIA = 1u << VKT_GPU_CLASS_NVIDIA };
/* Whose matrix units are taken untimed, after check/units.c has tried them. */
enum { VKT__UNITS = VKT__NVIDIA | 1u << VKT_GPU_CLASS_AMD | 1u << VKT_GPU_CLASS_INTEL };
#define VKT__GPUS (~(uint32_t)VKT__CPUS)
#define VKT__DEVICES (~(uint32_t)0)

static inline bool vkt__is_of(uint32_t classes, const vkt_caps *caps)
{
    return classes >> caps->klass & 1;
}

/* Where the driver does not tell, 32 on discrete GPUs, 8 on others: the number must not change from
 * run to run, or results would. */
static inline uint32_t vkt__cores(const vkt_caps *caps)
{
    if (caps->cores) return caps->cores;
    return caps->type == VKT_GPU_DISCRETE ? 32 : 8;
}

#endif
