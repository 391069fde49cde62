/* A row's result against its twin. */
#ifndef VKT_BENCH_OP_CHECK_H
#define VKT_BENCH_OP_CHECK_H

#include "bench/bench_op_job.h"

/* Compares what sets[0] computed; j->why says what is wrong. few: some elements of a product, by
 * the definition. */
vkt_status vkt__op_job_check(vkt__op_job *j, bool few);

#endif
