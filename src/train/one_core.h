/* Short steps on CPU drivers. Mesa's hands every dispatch to threads of its own and waits for them:
 * some 50 us on two cores, however little there is to do, and a step of a small model is ten such
 * dispatches of less. Opened without those threads (vkt_gpu_desc.serial) it runs them on one core,
 * one after the other, with the same bits. */
#ifndef VKT_TRAIN_ONE_CORE_H
#define VKT_TRAIN_ONE_CORE_H

#include "train/session.h"

/* Whether n_dispatches of work_us on one core end sooner on that core than shared among `cpus`,
 * each handed over in hand_over_us. */
bool vkt__one_core_pays(double work_us, uint32_t n_dispatches, double hand_over_us, uint32_t cpus);
/* Whether that is so of graph g, as the device's hand-over measures now; false on a device that
 * hands nothing over. scratch: 4 bytes of it or more, overwritten. what: of g, in the one line that
 * says so: "step"; level: of that line. */
vkt_status vkt__one_core_wanted(vkt_gpu *gpu, const vkt_graph *g, const vkt_buffer *scratch,
                                const char *what, vkt_log_level level, bool *wanted);
/* The device of desc again, without threads; an error has its line. submit_ms: of the first one. */
vkt_status vkt__one_core_open(const vkt_gpu_desc *desc, uint32_t submit_ms, vkt_gpu **serial);
/* Where one core is wanted for the steps of *s: opens the device again, serial, and builds the job
 * on it. desc: how the device was opened. *serial: that device, the caller's to destroy after *s,
 * which no longer uses the first one; NULL: nothing has changed. Before anything has run; says so
 * in one line. The kernels are made then. On failure *s is NULL. */
vkt_status vkt__session_reopen(const vkt_gpu_desc *desc, vkt__session **s, vkt_gpu **serial);

#endif
