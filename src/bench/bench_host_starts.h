/* Private to src/bench: rows of `bench --host` on what a user waits for: a training's first step,
 * pictures, the answer to a request. */
#ifndef VKT_BENCH_HOST_STARTS_H
#define VKT_BENCH_HOST_STARTS_H

#include "bench/bench_host_files.h"

/* n pictures of 256 x 256, as PNG, and a batch of each eight of them out of a loader. */
vkt_status vkt__host_make_pictures(const vkt__host_work *w);
vkt_status vkt__host_load_pictures(const vkt__host_work *w);
/* The model of vkt__host_make_classifier opened, and n requests of a row answered one by one, as
 * serve reads and runs them. */
vkt_status vkt__host_answer_requests(const vkt__host_work *w);

#endif
