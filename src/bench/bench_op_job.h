/* One op row being measured: its graph and inputs, for what times it (bench_ops.c), compares it
 * with its twin (bench_op_check.c) and writes it to a folder (bench_dump.c). */
#ifndef VKT_BENCH_OP_JOB_H
#define VKT_BENCH_OP_JOB_H

#include "bench/bench_ops_table.h"
#include "bench/bencher.h"

enum { VKT__OP_SEED = 78, VKT__OP_PATTERN = 65521, VKT__OP_SETS = 32 };

/* A graph with memory of its own. */
typedef struct vkt__op_set {
    vkt_graph *g;
    vkt_buffer *inputs;
} vkt__op_set;

typedef struct vkt__op_job {
    vkt__bencher *b;
    const vkt_op *op;
    const vkt__bench_entry *entry; /* NULL: the sample */
    vkt__bench_shape s;
    uint32_t sample, checked; /* checked: as vkt__bench_sized's */
    vkt__op_set sets[VKT__OP_SETS];
    uint32_t n_sets;
    unsigned char *host; /* the inputs */
    uint64_t in_bytes;
    double worst, flops;
    char why[200];
    vkt_tensor *table_of; /* whose values `table` holds */
    double *table;        /* [VKT__OP_PATTERN] */
    /* told of each element that is compared; NULL */
    void (*on_checked)(void *user, const vkt_tensor *t, uint64_t i, double want, double limit);
    void *user;
} vkt__op_job;

bool vkt__op_job_input(const vkt_tensor *t);
bool vkt__op_job_times(const vkt__op_job *j, const vkt_node *n);
/* Values of an input repeat after this many elements. */
uint64_t vkt__op_job_period(const vkt_tensor *t);
double vkt__op_job_value(vkt__op_job *j, const vkt_tensor *t, uint64_t i);
/* The graph of the case, or with another m. */
vkt_graph *vkt__op_job_graph(const vkt__op_job *j, vkt__bench_shape s);
/* A graph of the case, with `checked` rows or examples where the twin of all takes too long. */
vkt_graph *vkt__op_job_twin(const vkt__op_job *j);
/* Makes one, fills its inputs and runs it once. */
vkt_status vkt__op_set_create(vkt__op_job *j, vkt__op_set *s);
void vkt__op_set_destroy(vkt__op_job *j, vkt__op_set *s);

#endif
