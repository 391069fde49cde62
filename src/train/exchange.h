/* What ranks exchange in a step: between the gradients of the last micro-batch and the update, the
 * sums of gradients, loss, hits and weights over all ranks, and who wants to stop. */
#ifndef VKT_TRAIN_EXCHANGE_H
#define VKT_TRAIN_EXCHANGE_H

#include "comm/comm.h"
#include "vktrain/optim.h"

/* Sums over all ranks, in floats: whole numbers are exact below 2^24. */
enum {
    VKT__SHARED_LOSS,
    VKT__SHARED_HITS,
    VKT__SHARED_WEIGHT,  /* of the examples: what the loss is divided by */
    VKT__SHARED_COUNTED, /* targets */
    VKT__SHARED_STOP,    /* ranks that were asked to stop */
    VKT__SHARED_SAVE,    /* rank 0 was asked for a checkpoint */
    VKT__SHARED_N = 16
};

typedef struct vkt__exchange {
    vkt_comm *comm;
    vkt_gpu *gpu;
    vkt_buffer *gradients, *sums; /* the optimizer's */
    vkt_model *model;             /* whose running averages become the ranks' mean */
    float *states, *own_states;   /* [vkt_model_state_count] */
    uint64_t count;
    float *host; /* the gradients' memory where the host sees it, else a copy of them */
    bool copies;
    vkt__comm_job *jobs[VKT__COMM_JOBS];
    float shared[VKT__SHARED_N];
    double seconds; /* in exchanges so far */
} vkt__exchange;

/* o: after vkt_optim_accumulate. OOM_HOST. */
vkt_status vkt__exchange_create(vkt_comm *comm, vkt_gpu *gpu, vkt_optim *o, vkt_model *model,
                                vkt__exchange **out);
void vkt__exchange_destroy(vkt__exchange **e);
/* The device is done with the step's last micro-batch. shared: this rank's values from
 * VKT__SHARED_WEIGHT on; all ranks' sums afterwards. */
vkt_status vkt__exchange_step(vkt__exchange *e);
/* Bytes that this rank sends in a step. */
uint64_t vkt__exchange_bytes(const vkt__exchange *e);

#endif
