/* How many training steps make a submission. Whether several pay is measured while training goes
 * on, as both have the same bits: windows of steps, one to a submission and several by turns. It
 * knows no device and reads no clock. */
#ifndef VKT_TRAIN_STEP_PACKING_H
#define VKT_TRAIN_STEP_PACKING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vkt__packing {
    uint32_t most;    /* steps of a submission that the ring has room for */
    uint32_t n;       /* that are submitted together now */
    uint32_t window;  /* which one this is; VKT__PACK_WINDOWS: the choice is made */
    uint64_t n_steps; /* of this window */
    double start;     /* of this window; 0: not begun */
    double best[2];   /* shortest seconds of a step: one at a time, `most` at a time */
} vkt__packing;
enum { VKT__PACK_WINDOWS = 8, VKT__PACK_WINDOW_STEPS = 64 };

/* A submission of n steps was full at `now`, in seconds: windows begin and end there, so that they
 * hold whole ones. true: with it p->n is chosen, the faster by 2% or one at a time. */
bool vkt__packing_count(vkt__packing *p, uint32_t n, double now);
/* The next step does not follow the one before: the window begins again with it. */
void vkt__packing_pause(vkt__packing *p);

#endif
