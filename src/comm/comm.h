/* What ranks say to one another. A row is a transport: one process, or MPI. Knows bytes and floats
 * of the host's memory, no devices.
 *
 * All ranks make the same calls in the same order. A sum of ranks is taken in the order of the
 * ranks, element by element, in double: how a buffer is cut and who adds up does not change a bit.
 * Every wait ends: with what was waited for, with the status that another rank failed with, or when
 * a rank is found dead. */
#ifndef VKT_COMM_COMM_H
#define VKT_COMM_COMM_H

#include "comm/comm_row.h"

/* data [n] becomes its sum over all ranks; the data is the job's until the test says done or the
 * wait returns, which free the job. VKT__COMM_JOBS at a time, and sums of at most 2^31 elements. */
vkt_status vkt__comm_sum_start(vkt_comm *c, float *data, uint64_t n, vkt__comm_job **job);
vkt_status vkt__comm_sum_test(vkt_comm *c, vkt__comm_job **job, bool *done);
vkt_status vkt__comm_sum_wait(vkt_comm *c, vkt__comm_job **job);
/* Both in one. */
vkt_status vkt__comm_sum(vkt_comm *c, float *data, uint64_t n);
/* The first half of a sum: this rank's piece of data becomes its sum over all ranks, the other
 * pieces keep their values; or the second: each rank's piece is its own, the others' arrive. The
 * piece of rank r is cuts[r] to cuts[r + 1], some may be empty; NULL: about equal ones
 * (vkt__comm_piece). The job is tested and waited for like a sum. */
vkt_status vkt__comm_scatter_start(vkt_comm *c, float *data, uint64_t n, const uint64_t *cuts,
                                   vkt__comm_job **job);
vkt_status vkt__comm_gather_start(vkt_comm *c, float *data, uint64_t n, const uint64_t *cuts,
                                  vkt__comm_job **job);
/* A sum, or with scatter its first half, sent in bf16: half the bytes. What rounding takes from an
 * element stays in rest [n], zero at first, and is added to the element the next time (error
 * feedback: Seide et al. 2014; of the sum, too: Tang et al. 2019, arXiv 1905.05957), so that over
 * many sums nothing is lost. All ranks get the same bits. Where a sum has no finite value, rest
 * stays as it was. */
vkt_status vkt__comm_rounded_start(vkt_comm *c, const vkt__comm_work *w, vkt__comm_job **job);
/* Every rank's `mine`, one after the other: all [size, bytes]. */
vkt_status vkt__comm_all_gather(vkt_comm *c, const void *mine, void *all, uint64_t bytes);
/* Of rank 0. */
vkt_status vkt__comm_broadcast(vkt_comm *c, void *data, uint64_t bytes);
vkt_status vkt__comm_barrier(vkt_comm *c);
/* The first n ranks alone are those of the operations that follow, and the others call none, until
 * all of them call this again with as many as there are. No job is under way. */
void vkt__comm_first(vkt_comm *c, uint32_t n);
/* Ends all ranks at once, with this exit code. */
_Noreturn void vkt__comm_abort(vkt_comm *c, int code);

/* Sums of doubles, in the order of the ranks: values [n]. */
vkt_status vkt__comm_sum_doubles(vkt_comm *c, double *values, uint32_t n);
/* The text of rank 0, where it is another than this rank's: ARG and the first line that differs.
 * what: "recipe", "data", ... */
vkt_status vkt__comm_same(vkt_comm *c, const char *what, const char *text);
/* Adds to this rank's name what it works on, and learns the others' names. */
vkt_status vkt__comm_tell_device(vkt_comm *c, const char *device);

#endif
