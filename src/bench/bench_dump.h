/* A row that runs alone: its kernels and numbers as a folder. */
#ifndef VKT_BENCH_DUMP_H
#define VKT_BENCH_DUMP_H

#include "bench/bench_op_job.h"

/* What was compared, kept for the folder; vkt__dump_checks is a job's on_checked, its user one of
 * these. */
typedef struct vkt__dump_expected {
    const vkt_tensor *t;
    uint64_t i;
    double want, limit;
} vkt__dump_expected;
typedef struct vkt__dump {
    vkt__dump_expected *all;
    size_t n, cap;
    bool few, unknown; /* few: all are kept; unknown: some have no limit */
} vkt__dump;
void vkt__dump_checks(void *user, const vkt_tensor *t, uint64_t i, double want, double limit);

/* "matmul_tiled 0123abcd:89ab4567, ...": the kernels of the timed nodes, digests of their SPIR-V
 * and constants, and of what the driver tells of them. */
void vkt__bench_kernels(const vkt__op_job *j, vkt__str *out);

/* Writes the new folder `dir`: row.txt, SPIR-V, inputs, expected numbers and the program
 * that runs them. j has two sets, and was checked. */
vkt_status vkt__bench_dump(const vkt__op_job *j, const vkt__dump *d, const vkt_bench_row *r,
                           const char *dir);

#endif
