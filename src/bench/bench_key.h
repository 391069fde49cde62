/* The rows that decide: what `vktrain bench --key` measures in 90 seconds on a GPU. */
#ifndef VKT_BENCH_KEY_H
#define VKT_BENCH_KEY_H

#include "bench/bench_ops_table.h"

enum { VKT__KEY_SECONDS = 90 };

/* gpu, cpu: its shape on a GPU, and a smaller one for drivers that run on the processor. checked:
 * as vkt__bench_sized's, on a GPU. */
typedef struct vkt__bench_key_op {
    const vkt_op *op;
    vkt__bench_shape gpu, cpu;
    uint32_t checked;
} vkt__bench_key_op;
const vkt__bench_key_op *vkt__bench_key_ops(size_t *n);

/* Training steps, by name, in their order. */
const char *const *vkt__bench_key_steps(size_t *n);

#endif
