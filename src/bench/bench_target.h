/* Seconds to a quality: what no wrong result can fake. */
#ifndef VKT_BENCH_TARGET_H
#define VKT_BENCH_TARGET_H

#include "bench/bencher.h"

void vkt__bench_plan_targets(vkt__bencher *b, vkt__bench_items *list);
/* The i-th one's name, NULL past the last. */
const char *vkt__bench_target_name(uint32_t i);

#endif
