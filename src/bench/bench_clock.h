/* The benchmark's clock: times of recorded work, their statistics, the bandwidth to compare with.
 */
#ifndef VKT_BENCH_CLOCK_H
#define VKT_BENCH_CLOCK_H

#include "bench/bencher.h"

/* Warms up by time, then measures by time: submissions of many repetitions between two timestamps.
 */
vkt_status vkt__bench_time(vkt__bencher *b, const vkt__bench_job *job, vkt__times *out);
/* Sorts s in place. */
void vkt__bench_stats(double *s, uint32_t n, vkt__times *out);

/* Whether the median of n times is known well enough: outside a suite always, in one to 2%. Else
 * more runs are made, for up to three times as long as otherwise. */
enum { VKT__BENCH_MOST_TIMES = 3 };
/* How many runs a row has at least, in the item's share of the time. */
uint32_t vkt__bench_min_runs(const vkt__bencher *b);
bool vkt__bench_is_sure(const vkt__bencher *b, const double *s, uint32_t n);

/* Best bandwidth in bytes/s of anything that touches `working_set` bytes over and over; write_share
 * of the bytes are written. */
double vkt__bench_bandwidth(const vkt__bencher *b, double working_set, double write_share);

#endif
