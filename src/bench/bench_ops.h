/* An op row in the benchmark: how bench_ops_plan.c names a case, and what measures it. */
#ifndef VKT_BENCH_OPS_H
#define VKT_BENCH_OPS_H

#include "bench/bencher.h"

/* An item's arg is the row; its arg2 is the size of the row's entry, or one of these plus the
 * sample or the place in --key's list, of the shape for this device or (KEY_GPU) for a GPU. */
enum { VKT__BENCH_SAMPLE = 1000, VKT__BENCH_KEY = 2000, VKT__BENCH_KEY_GPU = 3000 };

vkt_status vkt__bench_run_op(vkt__bencher *b, const vkt__bench_item *item);
/* Whether the device, or a run that is to be short, takes the small shapes. */
bool vkt__bench_is_small(const vkt__bencher *b);

#endif
