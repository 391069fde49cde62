/* The trainer's loop without its files, for benchmark steps and targets. */
#ifndef VKT_BENCH_RUNNER_H
#define VKT_BENCH_RUNNER_H

#include "bench/bencher.h"
#include "train/steps.h"

typedef struct vkt__bench_runner {
    vkt__bencher *b;
    const vkt_config *c;
    vkt__session *s;
    vkt_gpu *serial; /* a short step's own device, or NULL */
    vkt_loader *loader;
    vkt__steps steps;
    uint64_t step, n_read;
    double ended;            /* when the newest step was read back: vkt__now() */
    double first_loss, loss; /* of the first and the newest step read back */
    bool bad;                /* NaN or Inf, except an overflow that the loss scale handles */
} vkt__bench_runner;

/* r has b and c. Finish it whatever came. */
vkt_status vkt__bench_runner_start(vkt__bench_runner *r, const vkt_dataset *data);
vkt_status vkt__bench_runner_step(vkt__bench_runner *r);
void vkt__bench_runner_finish(vkt__bench_runner *r);

#endif
