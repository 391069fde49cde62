/* What may crash in a driver's compiler is first tried in a process of its own, once for each
 * device, version of the driver and build of the kernels.
 *
 * That process is this program, started again with "try-units" and arguments that name the device:
 * a process that only forked would share Vulkan's instance and threads with its parent, which no
 * driver allows. So it is done where the program said that it takes these words (vkt_helper_set):
 * vktrain does, on Linux and Windows. Others that use the library, Python among them, and systems
 * that don't tell the program's path try in their own process, as does who has no cache folder to
 * keep the result in: a crash there ends the program, and the next start leaves the kernel out
 * (journal.h).
 *
 * The other process keeps the journal, too. It says on its standard output how far it got: without
 * "done" it ended in the driver, and the journal has the kernel in which. It is started again for
 * the rest, which leaves that kernel out. */
#ifndef VKT_GPU_APART_H
#define VKT_GPU_APART_H

#include "vktrain/gpu.h"

#define VKT__APART_COMMAND "try-units"
#define VKT__APART_OPENED "opened"
#define VKT__APART_DONE "done"

/* `what`, "bf16" or "f16", was tried before or now, and what crashed is left out; true, too, where
 * it can only be tried in this process. False: another process ended in it without a kernel to
 * blame. */
bool vkt__tried_apart(vkt_gpu *gpu, const char *what);

#endif
