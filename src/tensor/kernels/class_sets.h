/* Classes of devices, as a set: which of them a kernel is shaped for, or a row of a table speaks
 * of. */
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

#endif
