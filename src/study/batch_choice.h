/* Which batch size repeated measurements of step times recommend, and whether other measurements of
 * the same kind would recommend it, too. Knows no trial. */
#ifndef VKT_STUDY_BATCH_CHOICE_H
#define VKT_STUDY_BATCH_CHOICE_H

#include "base/words.h"

/* A larger batch pays while it raises throughput by a tenth. */
#define VKT__BATCH_PAYS 1.1

typedef struct vkt__batch_times {
    uint32_t batch;
    const double *ms; /* [n] of a step, each measured; n is 1 or more */
    size_t n;
} vkt__batch_times;

typedef struct vkt__batch_choice {
    size_t pays;      /* index of the largest size whose throughput is a tenth above that of the
                         largest smaller one that pays; by medians */
    double share;     /* of the resamplings of the measurements that say the same */
    bool certain;     /* nine of ten do */
    size_t low, high; /* what resamplings say, without a twentieth at either end */
} vkt__batch_choice;

/* Sizes rise. Each resampling draws as many measurements of each size as there are, with
 * replacement; the random numbers are always the same ones. */
vkt__batch_choice vkt__batch_choose(const vkt__batch_times *z, size_t n);

#endif
