/* Throughput from when steps ended: of the recent ones, and of all but the first, which waits for
 * compiled kernels and the loader's first batches. Knows no clock. */
#ifndef VKT_TRAIN_SPEED_H
#define VKT_TRAIN_SPEED_H

#include "base/words.h"

enum { VKT__SPEED_STEPS = 128 };

typedef struct vkt__speed {
    double at[VKT__SPEED_STEPS];
    uint64_t done[VKT__SPEED_STEPS];
    size_t n; /* added so far */
    double first_s;
    uint64_t first;
} vkt__speed;

/* `done` steps had ended after `seconds`, evaluations not counted. */
void vkt__speed_add(vkt__speed *s, uint64_t done, double seconds);
/* Steps a second of the last 128; NAN: too few steps to tell, of fast ones 16, since they end in
 * bunches. */
double vkt__speed_recent(const vkt__speed *s);
/* Steps a second of all steps after the first; NAN: there are none. */
double vkt__speed_all(const vkt__speed *s);

#endif
