/* Which kernels ended the program or lost the device while they were tried, and are left out since:
 * a file beside the tuned choices, of the same device, driver and kernels. */
#ifndef VKT_GPU_JOURNAL_H
#define VKT_GPU_JOURNAL_H

#include "vktrain/gpu.h"

/* Called before and after the first run of a kernel on this device. If the program dies between the
 * two, the next start reports it. Kernels and keys are those of choices. */
void vkt__trying(vkt_gpu *gpu, const char *kernel, const char *key);
void vkt__tried(vkt_gpu *gpu);
/* A kernel that lost the device, or ended programs twice, is left out for all keys whose first word
 * is the same; one that ended a program once, for that key. */
bool vkt__left_out(const vkt_gpu *gpu, const char *kernel, const char *key);

#endif
