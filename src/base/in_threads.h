/* Private to the library: work on many alike things, shared by a few threads. */
#ifndef VKT_BASE_IN_THREADS_H
#define VKT_BASE_IN_THREADS_H

#include <stdint.h>

/* Does thing i; `thread` is below the number of threads, and the caller's is 0. */
typedef void (*vkt__in_threads_fn)(void *user, uint32_t thread, uint32_t i);

/* Threads for n things: as many as there are processors, at most `most`; at least 1. */
uint32_t vkt__threads_for(uint64_t n, uint32_t most);
/* Calls fn once for each thing below n. Things are taken in order, whoever comes first; nothing of
 * it is logged. A thread that can't be started is done without. */
void vkt__in_threads(uint32_t n, uint32_t n_threads, vkt__in_threads_fn fn, void *user);

#endif
