/* Training steps on their way to the device and back: the ring of batches, what is in flight, how
 * many steps make one submission. The trainer and the benchmark drive it; it knows no files. */
#ifndef VKT_TRAIN_STEPS_H
#define VKT_TRAIN_STEPS_H

#include "train/step_packing.h"
#include "train/session.h"

/* A micro-batch that was given to the device, or is held back until its submission is full. */
typedef struct vkt__flight {
    uint64_t step, ticket;
    uint32_t slot, micro; /* which of the step's micro-batches */
    bool last;            /* of them: carries the step's numbers */
    uint32_t n_counted;   /* targets of the step so far; at its end, those of all ranks */
    double weight;        /* sum over the step's examples so far */
    double lr, input_wait;
} vkt__flight;

/* What the calling thread was about, in the order of a micro-batch's way. */
typedef enum vkt__phase {
    VKT__PHASE_LOADER_WAIT,
    VKT__PHASE_PREPARE,
    VKT__PHASE_READBACK, /* waits for the device */
    VKT__PHASE_DONE,     /* in `done` */
    /* several ranks: gradients are sent while the device makes the next; it waits for all ranks' */
    VKT__PHASE_EXCHANGE_HIDDEN,
    VKT__PHASE_EXCHANGE
} vkt__phase;

/* Who wants to know where the time goes. Times are vkt__now()'s. */
typedef struct vkt__steps_observer {
    void *user;
    void (*phase)(void *user, vkt__phase phase, uint64_t step, double start, double end);
    /* f's submission was given to the device between the two times; update: the one that only
     * updates, after the last of several micro-batches. */
    void (*submitted)(void *user, const vkt__flight *f, bool update, double start, double end);
} vkt__steps_observer;

typedef struct vkt__steps {
    vkt__session *s;
    vkt_loader *loader;
    /* A micro-batch has ended; its slot is the caller's until this returns. */
    vkt_status (*done)(void *user, const vkt__flight *f);
    void *user;
    vkt__flight flights[VKT_MAX_SLOTS];
    uint32_t n_flights, oldest;
    uint32_t n_held; /* the newest of them: not submitted yet */
    double wait_s;   /* for the loader, in all */
    bool stop, save; /* several ranks: this rank's request, after an exchange any rank's */
    bool later;      /* train.sync: a checkpoint was asked for since the last exchange */
    vkt__packing packing;
    const vkt__steps_observer *observer; /* or NULL */
} vkt__steps;

/* Steps of the session's training graph with batches of the loader, which was made with
 * vkt__session_loader. Packs by the configuration's pack_steps. */
void vkt__steps_init(vkt__steps *t, vkt__session *s, vkt_loader *loader,
                     vkt_status (*done)(void *user, const vkt__flight *f), void *user);
/* Tells the observer from now on, and makes each step a submission of its own. Before the first
 * step; *observer stays the caller's. */
void vkt__steps_observe(vkt__steps *t, const vkt__steps_observer *observer);
/* The next step, at rate lr: waits for its batches, hands it to the device or holds it back, calls
 * `done` for what has ended. Blocks while the ring is full. */
vkt_status vkt__steps_run(vkt__steps *t, uint64_t step, double lr);
/* Submits what is held back and waits for all: before an evaluation, a checkpoint, an end. */
vkt_status vkt__steps_drain(vkt__steps *t);

#endif
