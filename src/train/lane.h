/* Making a session's lanes: between session.c and lane.c. */
#ifndef VKT_TRAIN_LANE_H
#define VKT_TRAIN_LANE_H

#include "train/session.h"

typedef struct vkt__lane_inputs {
    vkt_tensor *x, *y, *w, *step;
    vkt_tensor *y2, *w2; /* of a lane that mixes */
} vkt__lane_inputs;

/* The graph's inputs, and how they lie in one slot's memory, which is allocated later. l->mixes,
 * l->sorts and l->masks say which there are. */
void vkt__lane_create(vkt__session *s, vkt__lane *l, uint32_t batch, uint32_t n_slots,
                      uint64_t readback_bytes, const char *label, vkt__lane_inputs *in);
/* t lies at byte `at` of each slot's memory, of results where `result`. */
void vkt__lane_bind(vkt__lane *l, vkt_tensor *t, uint64_t at, bool result);
/* A result's place in each slot's readback memory: at *at, which moves on. Returns where. */
uint64_t vkt__lane_result(vkt__lane *l, vkt_tensor *t, uint64_t *at);
/* The slots' memory itself, once all is known to fit; bound in the place of the stand-ins. */
vkt_status vkt__lane_allocate(vkt__session *s, vkt__lane *l, const char *label);
void vkt__lane_destroy(vkt_gpu *gpu, vkt__lane *l);

#endif
