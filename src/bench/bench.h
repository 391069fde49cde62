/* The benchmark's own view: what the measuring files share. bench.c: the order of things, the
 * clock, statistics, the header. bench_ceiling.c, bench_matrix.c, bench_ops.c, bench_steps.c,
 * bench_generate.c: what is measured. bench_file.c, bench_compare.c, bench_svg.c know results only.
 */
#ifndef VKT_REPORT_BENCH_H
#define VKT_REPORT_BENCH_H

#include "gpu/stream.h"
#include "tensor/graph/op.h"
#include "vktrain/bench.h"

struct vkt__bench_private {
    vkt__arena arena;
    size_t cap_rows, cap_left_out;
};

/* Seconds per repetition. */
typedef struct vkt__times {
    double median, min, max, q1, q3;
    double other; /* median by the other clock; NAN */
    uint32_t runs;
} vkt__times;

enum { VKT__BW_SIZES = 5 };

typedef struct vkt__bencher {
    vkt_gpu *gpu;
    const vkt_caps *caps;
    const vkt_bench_desc *desc;
    vkt_bench *out;
    bool wall;  /* the verdict is by wall clock: CPU drivers, devices without timestamps */
    bool wrong; /* some result was */
    double warm_s, time_s; /* per measurement */
    uint32_t min_runs;
    /* best runs of the ceilings, bytes/s and flops/s; 0: not measured */
    struct {
        double bytes, rate;
    } copy[VKT__BW_SIZES];
    uint32_t n_copy;
    double read, write, triad, fma;
    double matrix[VKT_U32]; /* of matrix units, by the type of the operands */
    double matmul;          /* flops/s of the fastest product so far; 0: none yet */
    /* progress */
    double began, weight_done, weight_all;
    uint32_t n_done, n_all;
} vkt__bencher;

/* One thing to measure. weight: seconds it is thought to take. */
typedef struct vkt__bench_item {
    vkt_bench_group group;
    const char *name;
    double weight;
    vkt_status (*run)(vkt__bencher *b, const struct vkt__bench_item *item);
    uint32_t arg, arg2;
} vkt__bench_item;
typedef struct vkt__bench_items {
    vkt__bench_item *item;
    size_t n, cap;
} vkt__bench_items;
void vkt__bench_plan(vkt__bench_items *list, vkt_bench_group group, const char *name, double weight,
                     vkt_status (*run)(vkt__bencher *, const vkt__bench_item *), uint32_t arg,
                     uint32_t arg2);

/* A new row, its numbers NAN; name is copied. */
vkt_bench_row *vkt__bench_row(vkt_bench *b, vkt_bench_group group, const char *name,
                              const char *unit, bool higher);
void vkt__bench_note(vkt_bench *b, vkt_bench_row *r, const char *fmt, ...) VKT_PRINTF(3, 4);
/* The row gets no speed, and the benchmark fails if the reason is a wrong result. */
void vkt__bench_refuse(vkt__bencher *b, vkt_bench_row *r, bool wrong, const char *fmt, ...)
    VKT_PRINTF(4, 5);
void vkt__bench_left_out(vkt_bench *b, const char *fmt, ...) VKT_PRINTF(2, 3);
/* Value and spread from times: amount / time (higher is better) or amount * time. */
void vkt__bench_set(vkt_bench_row *r, const vkt__times *t, double amount);

/* Records repetition `rep` of what is measured. */
typedef vkt_status (*vkt__bench_record)(void *user, vkt__cmd *cmd, uint32_t rep);
typedef struct vkt__bench_job {
    const char *label;
    vkt__bench_record record;
    void *user;
    bool no_barriers;      /* else one after each repetition */
    double warm_s, time_s; /* 0: the benchmark's */
    uint32_t max_reps;     /* in a submission; 0: as many as fill about 20 ms */
    bool trial;            /* two runs will do */
} vkt__bench_job;
/* Warms up by time, then measures by time: submissions of many repetitions between two timestamps.
 */
vkt_status vkt__bench_time(vkt__bencher *b, const vkt__bench_job *job, vkt__times *out);
/* Sorts s in place. */
void vkt__bench_stats(double *s, uint32_t n, vkt__times *out);

/* Best bandwidth in bytes/s of anything that touches `working_set` bytes over and over; write_share
 * of the bytes are written. */
double vkt__bench_bandwidth(const vkt__bencher *b, double working_set, double write_share);

void vkt__bench_plan_ceilings(vkt__bencher *b, vkt__bench_items *list, bool all);
/* Matrix units, or why they are left out: bench_matrix.c. */
void vkt__bench_plan_matrix(vkt__bencher *b, vkt__bench_items *list);
vkt_status vkt__bench_plan_ops(vkt__bencher *b, vkt__bench_items *list);
vkt_status vkt__bench_plan_steps(vkt__bencher *b, vkt__bench_items *list);
/* Of --step's those that generate: bench_generate.c. */
void vkt__bench_plan_generate(vkt__bencher *b, vkt__bench_items *list);

/* An empty result with arena, and one with everything. */
vkt_bench *vkt__bench_create(void);

#endif
