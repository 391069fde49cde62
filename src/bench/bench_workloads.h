/* What the training steps of the benchmark train. */
#ifndef VKT_BENCH_WORKLOADS_H
#define VKT_BENCH_WORKLOADS_H

#include "vktrain/train.h"

typedef struct vkt__workload {
    const char *name;
    uint32_t inputs, classes, batch;
    uint32_t context; /* text: tokens of an example; classes is its vocabulary */
    int level;        /* 0: for tests; 2: not with --quick; 3: only where it is named */
    double gflops;    /* of a step's products, to tell beforehand what would take too long */
    const char *precision, *model; /* model: layers as in a recipe */
    uint32_t side;                 /* pictures: inputs are [side, side, the rest]; 0: [inputs] */
    uint32_t rank; /* of adapters on all projections of a base in `base`; 0: all is trained */
    vkt_quant base;
    vkt_task task;   /* CLASSIFY; SEGMENT, DETECT: a picture's masks or boxes are learned */
    uint32_t vocab;  /* a sentence: inputs are ids of tokens below this; 0: numbers */
    uint32_t frames; /* sound: inputs are [frames, 1, the rest]; 0: as side says */
} vkt__workload;
/* n may be NULL. */
const vkt__workload *vkt__bench_workloads(uint32_t *n);

#endif
