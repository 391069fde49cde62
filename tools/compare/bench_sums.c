/* Development bench: a sum over ranks by vktrain, in buckets that are under way at the same time as
 * gradients are, beside MPI's own MPI_Allreduce of the same data, one after the other.
 * mpirun -n RANKS bench_sums [PAIRS [MEGABYTES [MEGABYTES_OF_A_BUCKET]]]     (21, 40, 1.4) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/os.h"
#include "comm/comm.h"

enum { MOST_PAIRS = 1000 };

typedef struct sums {
    vkt_comm *comm;
    float *data;
    uint64_t n, bucket;
} sums;

static vkt_status ours(const sums *s)
{
    vkt_status st = VKT_OK;
    vkt__comm_job *jobs[VKT__COMM_JOBS] = { 0 };
    uint32_t n = 0;
    for (uint64_t at = 0; at < s->n; at += s->bucket)
        VKT_TRY(
            vkt__comm_sum_start(s->comm, s->data + at, VKT_MIN(s->bucket, s->n - at), &jobs[n++]));
    for (uint32_t i = 0; i < n; i++) VKT_TRY(vkt__comm_sum_wait(s->comm, &jobs[i]));
fail:
    return st;
}

static vkt_status theirs(const sums *s)
{
    int rc = MPI_Allreduce(MPI_IN_PLACE, s->data, (int)s->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return rc == MPI_SUCCESS ? VKT_OK : VKT_E_COMM;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ms [pairs], of either way: the slowest rank's; cpu_ms: this rank's, in the mean. */
static vkt_status measure(const sums *s, int pairs, double *ms[2], double cpu_ms[2])
{
    vkt_status st = VKT_OK;
    for (int i = -2; i < pairs; i++) /* two are not counted */
        for (int way = 0; way < 2; way++) {
            VKT_TRY(vkt__comm_barrier(s->comm));
            clock_t cpu = clock();
            double start = vkt__now();
            VKT_TRY(way ? theirs(s) : ours(s));
            cpu = clock() - cpu;
            VKT_TRY(vkt__comm_barrier(s->comm));
            if (i < 0) continue;
            ms[way][i] = 1e3 * (vkt__now() - start);
            cpu_ms[way] += 1e3 * (double)cpu / CLOCKS_PER_SEC / pairs;
        }
fail:
    return st;
}

int main(int argc, char **argv)
{
    int pairs = argc > 1 ? atoi(argv[1]) : 21;
    double mb = argc > 2 ? atof(argv[2]) : 40, bucket = argc > 3 ? atof(argv[3]) : 1.4;
    double *ms[2] = { calloc(MOST_PAIRS, sizeof **ms), calloc(MOST_PAIRS, sizeof **ms) },
           cpu_ms[2] = { 0 };
    sums s = { .n = (uint64_t)(mb * 1e6 / 4), .bucket = (uint64_t)(bucket * 1e6 / 4) };
    s.data = calloc(s.n + 1, sizeof *s.data);
    if (!ms[0] || !ms[1] || !s.data || pairs < 1 || pairs > MOST_PAIRS || s.bucket == 0 ||
        s.n > (uint64_t)VKT__COMM_JOBS * s.bucket || s.n > INT32_MAX) {
        fprintf(stderr, "bench_sums: 1 to %d pairs, at most %d buckets\n", MOST_PAIRS,
                VKT__COMM_JOBS);
        return 2;
    }
    if (vkt_comm_open(&s.comm) != VKT_OK) return 1;
    vkt_status st = measure(&s, pairs, ms, cpu_ms);
    for (int way = 0; way < 2; way++) qsort(ms[way], (size_t)pairs, sizeof **ms, by_value);
    for (int way = 0; way < 2 && st == VKT_OK && s.comm->rank == 0; way++)
        printf("%-14s %u ranks, %g MB: %.2f ms (%.2f to %.2f), %.2f ms of processor time; %.2f of "
               "MPI's median, %.2f of its best\n",
               way ? "MPI_Allreduce" : "vktrain", s.comm->size, mb, ms[way][pairs / 2], ms[way][0],
               ms[way][pairs - 1], cpu_ms[way], ms[way][pairs / 2] / ms[1][pairs / 2],
               ms[way][0] / ms[1][0]);
    st = vkt_comm_close(&s.comm, st);
    free(s.data);
    free(ms[0]);
    free(ms[1]);
    return st != VKT_OK;
}
