/* What the benchmark's files share: the benchmark under way, the items that it measures, a piece of
 * work to be timed. bench.c: what is measured and the header of the results. bench_order.c: in
 * which order, and what once more. bench_rows.c: the results. bench_clock.c: the clock.
 * bench_ceiling.c, bench_matrix.c, bench_ops.c, bench_steps.c, bench_target.c,
 * bench_generate.c, bench_host.c: what is measured.
 * bench_file.c, bench_compare.c and bench_svg.c know the results only. */
#ifndef VKT_BENCH_BENCHER_H
#define VKT_BENCH_BENCHER_H

#include "bench/bench_conditions.h"
#include "gpu/commands.h"
#include "gpu/energy.h"
#include "tensor/graph/op.h"
#include "vktrain/bench.h"

/* Seconds per repetition. */
typedef struct vkt__times {
    double median, min, max, q1, q3;
    double other; /* median by the other clock; NAN */
    double ci;    /* half of the median's 95% confidence interval, as a share of it; 0: unknown */
    uint32_t runs;
} vkt__times;

enum { VKT__BW_SIZES = 5 };

typedef struct vkt__bencher {
    vkt_gpu *gpu;
    const vkt_caps *caps;
    vkt_gpu *reopened; /* gpu, where the caller's was lost */
    const vkt_bench_desc *desc;
    vkt_bench *out;
    uint32_t suite;   /* vkt__suite_set */
    bool dumped;      /* desc->dump has been written: a row that is measured again writes nothing */
    bool wall;        /* the verdict is by wall clock: CPU drivers, devices without timestamps */
    uint32_t n_wrong; /* rows whose result was, or that failed */
    const char *first_wrong; /* the first of them, and why */
    vkt__energy *energy;     /* of the device; NULL: nothing tells it */
    vkt__conditions beside;  /* other programs, heat */
    double warm_s, time_s;   /* per measurement, at share 1 */
    uint32_t min_runs;
    double
        minute_s; /* quick: by then all should be measured, with fewer runs; 0: no such promise */
    double share; /* of warm_s, time_s and min_runs that the item gets; 1, or less for minute_s */
    /* best runs of the ceilings, bytes/s and flops/s; 0: not measured */
    struct {
        double bytes, rate;
    } copy[VKT__BW_SIZES];
    uint32_t n_copy;
    double read, write, triad, fma;
    double matrix[VKT_U32]; /* of matrix units, by the type of the operands */
    double matmul;          /* flops/s of the fastest product so far; 0: none yet */
    /* progress */
    double began, weight_done, weight_all, seconds; /* seconds: 0, or how long it may take */
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

/* ---- the files that measure: each adds its items to the list ---- */

void vkt__bench_plan_ceilings(vkt__bencher *b, vkt__bench_items *list, bool all);
/* Matrix units, or why they are left out. */
void vkt__bench_plan_matrix(vkt__bencher *b, vkt__bench_items *list);
vkt_status vkt__bench_plan_ops(vkt__bencher *b, vkt__bench_items *list);
vkt_status vkt__bench_plan_steps(vkt__bencher *b, vkt__bench_items *list);
/* Of training steps, then of generation: the name, NULL past the last. */
const char *vkt__bench_step_name(uint32_t i);
const char *vkt__bench_generate_name(uint32_t i);
/* Whether --step wants what has this name. */
bool vkt__bench_is_named(const vkt__bencher *b, const char *name);
/* The steps that generate text. */
void vkt__bench_plan_generate(vkt__bencher *b, vkt__bench_items *list);

/* What the host does. */
void vkt__bench_plan_host(vkt__bencher *b, vkt__bench_items *list);

/* Measures the items in their order, then again, up to twice, what was slower than the baseline,
 * above 105% of a ceiling or disturbed, and flags what still is above or was disturbed each time.
 * If an item fails, its row says so and the rest goes on; DEVICE: the device was lost and can't be
 * opened again. */
vkt_status vkt__bench_measure(vkt__bencher *b, const vkt__bench_items *list);

#endif
