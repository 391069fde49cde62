/* What NVIDIA's driver tells of a card beside Vulkan, by its management library, which is loaded
 * when asked. */
#ifndef VKT_GPU_NVML_H
#define VKT_GPU_NVML_H

#include "vktrain/gpu.h"

typedef struct vkt__nvml vkt__nvml;

/* library: NULL: libnvidia-ml.so.1. NULL: it is not there, or does not know this card. */
vkt__nvml *vkt__nvml_open(const vkt_caps *caps, const char *library);
void vkt__nvml_close(vkt__nvml **n);
/* What the card has taken since the driver was loaded, J; NAN: not told. */
double vkt__nvml_joules(const vkt__nvml *n);
/* The clock of its cores now, or the most that it may be, MHz; NAN: not told. */
double vkt__nvml_mhz(const vkt__nvml *n, bool most);
/* Seconds, since the driver was loaded, for which the card's heat held its clocks back; NAN: not
 * told. */
double vkt__nvml_too_hot_s(const vkt__nvml *n);

#endif
