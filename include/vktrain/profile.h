/* vktrain profile layer: where the time of a recipe's training steps goes.
 *
 * Threads: as train.h. Aborts: nothing but a small host allocation. Ownership: a profile owns its
 * lists.
 */
#ifndef VKTRAIN_PROFILE_H
#define VKTRAIN_PROFILE_H

#include "vktrain/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- profile: where the time of a recipe's training steps goes ---- */

/* What limits a step. */
typedef enum vkt_profile_verdict {
    VKT_PROFILE_INPUT_BOUND,  /* the device idles while the loop waits for the loader */
    VKT_PROFILE_HOST_BOUND,   /* the device idles while the host prepares, submits and reads back */
    VKT_PROFILE_LAUNCH_BOUND, /* most kernel time is in dispatches about as short as an empty one */
    VKT_PROFILE_MEMORY_BOUND, /* ... in kernels on the memory side of the roofline */
    VKT_PROFILE_COMPUTE_BOUND, /* ... on the arithmetic side */
    VKT_PROFILE_UNCLEAR,       /* kernels are less than half of what the device is busy for */
    VKT_PROFILE_EXCHANGE_BOUND /* the device idles while ranks exchange, or wait for one another */
} vkt_profile_verdict;
VKT_API const char *vkt_profile_verdict_name(vkt_profile_verdict v); /* "input-bound", ... */

/* What bounds one kernel. */
typedef enum vkt_kernel_bound {
    VKT_KERNEL_BOUND_LAUNCH,
    VKT_KERNEL_BOUND_MEMORY,
    VKT_KERNEL_BOUND_COMPUTE
} vkt_kernel_bound;
VKT_API const char *vkt_kernel_bound_name(vkt_kernel_bound b); /* "launch", ... */

/* The dispatches of a step that are alike: same op, result and cost. */
typedef struct vkt_profile_kernel {
    const char *op;
    char result[96]; /* shape and dtype of the first output; "" when it works in place */
    char of[64];    /* of the first one: the result's name, or a parameter's that it reads; or "" */
    uint32_t level; /* of the first one */
    uint32_t count; /* in a step */
    double ms;      /* of all of them, each timed apart */
    double flops, bytes; /* of all of them, by the row's cost function */
    double ceiling;      /* share of the reference rate of its side of the roofline */
    vkt_kernel_bound bound;
} vkt_profile_kernel;

/* One rank's part of a profile. */
typedef struct vkt_profile_rank {
    char name[160];                /* host and device */
    uint32_t rows;                 /* examples of a micro-batch that are its own */
    double own_ms;                 /* of a step: all but exchange_ms */
    double hidden_ms, exchange_ms; /* of a step, in the exchange: while the device computes; after
                                      that, waiting for slower ranks, too */
    uint64_t bytes;                /* that it sends in a step */
} vkt_profile_rank;

typedef struct vkt_profile {
    char device[256], driver[520];
    const char *recipe; /* belongs to the config */
    uint32_t batch, accumulate, workers, slots;
    uint64_t steps, warmup; /* measured; before them */
    double seconds;         /* of the measured steps */
    double step_ms, step_median_ms, step_min_ms,
        step_max_ms; /* mean and spread, from end to end on the device */
    double bunch; /* steps that are seen to end at a time, mean; their times are means of those */
    double items_per_s;
    /* Shares of the measured time, which add up to 1. */
    double busy, idle_input, idle_host, idle_exchange;
    /* The training loop's thread, milliseconds a step. */
    double loader_wait_ms, submit_ms, readback_wait_ms, metrics_ms;
    double fill_ms; /* one loader thread fills one batch */
    /* References, measured with vktrain's own kernels: the better of a large copy and sum, the best
     * square product, a kernel of one element. timing_us: what timing a kernel apart takes, taken
     * off their times. */
    double memory_gbps, matmul_gflops, empty_us, timing_us;
    const char *memory_by;       /* "copy" or "sum" */
    uint32_t matmul_n;           /* the product's size, each way */
    bool timestamps;             /* false: the device has none; no kernel is timed */
    uint32_t n_dispatches;       /* of a step */
    double kernels_ms;           /* sum over a step's kernels; NAN without timestamps */
    double flops, bytes;         /* of a step */
    vkt_profile_kernel *kernels; /* by time, longest first */
    size_t n_kernels;
    vkt_profile_rank *rank; /* of several; all else is that of rank 0 */
    uint32_t n_ranks;       /* 0: one */
    vkt_profile_verdict verdict;
    char why[400], advice[400]; /* a sentence each */
} vkt_profile;

typedef struct vkt_profile_desc {
    vkt_gpu_desc gpu;    /* device NULL: the config's */
    uint32_t steps;      /* measured; 0: 20 */
    const char *trace;   /* Chrome trace to write (ui.perfetto.dev opens it), or NULL */
    const char *command; /* command line, for the trace */
    vkt_comm *comm; /* NULL: one rank. With several, all make the call, and rank 0 gets the whole */
    /* Called in the loader's thread for each batch before it is given out: for tests. */
    void (*on_batch)(void *user);
    void *user;
} vkt_profile_desc;

/* Trains for some steps, writes nothing but the trace, and forgets what it trained. Blocks for a
 * few seconds. IO when the trace can't be written, found out first. Else as vkt_train. Free with
 * vkt_profile_destroy. */
VKT_API vkt_status vkt_profile_run(const vkt_config *c, const vkt_profile_desc *desc,
                                   vkt_profile **out);
VKT_API void vkt_profile_destroy(vkt_profile **p);

#ifdef __cplusplus
}
#endif
#endif
