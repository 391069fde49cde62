/* What ranks exchange in a step: between the gradients of the last micro-batch and the update, the
 * sums of gradients, loss, hits and weights over all ranks, and who wants to stop. A bucket of
 * gradients leaves when backward has made it, while the device goes on with the next.
 *
 * Where each rank updates its own part of the parameters (optim.shard), it gets the sum of that
 * part's gradients alone, and after the update the others' parameters: as many bytes. */
#ifndef VKT_TRAIN_EXCHANGE_H
#define VKT_TRAIN_EXCHANGE_H

#include "comm/comm.h"
#include "vktrain/recipe.h"

/* buckets.h */
typedef struct vkt__buckets vkt__buckets;

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
    vkt_graph *graph;             /* that makes the gradients */
    const vkt__buckets *buckets;
    vkt_optim *optim;
    const vkt_config *config;
    double share;
    uint64_t count;
    uint64_t *parts, *cuts; /* [size + 1] where the ranks' parts begin, also in a bucket; or NULL */
    float *rest;  /* [count] of train.compress: what rounding has left of gradients; or NULL */
    float *outer; /* [2, count] parameters after the last outer step, and its momentum; or NULL */
    vkt_graph *narrow; /* parameters that arrive, in 16 bits, too; or NULL */
    float *host;       /* the gradients' memory where the host sees it, else a copy of them */
    bool copies;
    vkt__comm_job *jobs[VKT__COMM_JOBS];
    float shared[VKT__SHARED_N];
    double seconds; /* in exchanges so far, after the device had made the last gradient */
    double hidden;  /* and before that: between the first bucket's start and it */
    double signals; /* in vkt__exchange_signals */
    /* The newest part of an exchange, vkt__now()'s: begun, all computed that goes into it, ended.
     */
    struct {
        double began, ready, ended;
    } newest;
    uint64_t sent; /* bytes, by this rank */
} vkt__exchange;

/* The end of the graph of a micro-batch, before it is compiled: sums of gradients, loss and hits,
 * which the host gets bucket by bucket; where they are read once only, in memory that needs no
 * copy. accumulate: micro-batches of a step. *out is for vkt__exchange_create, and to be destroyed
 * after the graph. OOM_DEVICE. */
vkt_status vkt__exchange_build(vkt_optim *o, const vkt_model *model, uint32_t accumulate,
                               vkt_tensor *loss, vkt_tensor *hits, vkt__buckets **out);

typedef struct vkt__exchange_desc {
    vkt_comm *comm;
    vkt_gpu *gpu;
    vkt_optim *optim; /* after vkt_optim_accumulate */
    vkt_model *model;
    vkt_graph *graph; /* that vkt__exchange_build has ended */
    const vkt__buckets *buckets;
    double share; /* of the batch: how much this rank's running averages count */
    const vkt_config *config;
} vkt__exchange_desc;
/* OOM_HOST. */
vkt_status vkt__exchange_create(const vkt__exchange_desc *desc, vkt__exchange **out);
void vkt__exchange_destroy(vkt__exchange **e);
/* What a new exchange of the same parameters goes on with: times, bytes, and what rounding has left
 * of gradients, which is taken out of the old one. */
typedef struct vkt__exchange_past {
    double seconds, hidden, signals;
    uint64_t sent;
    float *rest;
} vkt__exchange_past;
vkt__exchange_past vkt__exchange_take(vkt__exchange *e);
void vkt__exchange_give(vkt__exchange *e, vkt__exchange_past *past);
/* The step's last micro-batch was submitted. shared: this rank's values from
 * VKT__SHARED_WEIGHT on; all ranks' sums afterwards. */
vkt_status vkt__exchange_step(vkt__exchange *e);
/* Whether ranks exchange anything in this step: without train.sync, they do in each. */
bool vkt__exchange_due(const vkt__exchange *e, uint64_t step);
/* vkt__exchange_step where gradients stay each rank's own: only who wants to stop. */
vkt_status vkt__exchange_signals(vkt__exchange *e);
/* The update of a step with an exchange was submitted, as this ticket: with parts, waits for it and
 * exchanges what it has made; with train.sync, takes the outer step. Else OK at once. */
vkt_status vkt__exchange_update(vkt__exchange *e, uint64_t ticket);
/* data [count] that each rank has its own part of becomes whole; user: the exchange. Of moments. */
vkt_status vkt__exchange_whole(void *user, float *data);
/* Bytes that this rank sends in a step. */
uint64_t vkt__exchange_bytes(const vkt__exchange *e);
/* Number of sums in a step; with parts, of halves of sums. */
uint32_t vkt__exchange_sums(const vkt__exchange *e);

#endif
