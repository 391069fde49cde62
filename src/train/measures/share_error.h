/* How far a share that n independent examples gave may be off. */
#ifndef VKT_TRAIN_SHARE_ERROR_H
#define VKT_TRAIN_SHARE_ERROR_H

#include <math.h>
#include <stdint.h>

/* Standard error, not 0 at 0 and 1 (Agresti and Coull). NAN: no examples, or no share. */
static inline double vkt__share_error(double share, uint64_t n)
{
    double count = (double)n, p = (share * count + 2) / (count + 4);
    return n && !isnan(share) ? sqrt(fmax(p * (1 - p), 0) / count) : NAN;
}

/* A set so small that its result is to be read with that error beside it: fewer than 50 examples,
 * or an error of more than three points. */
static inline bool vkt__is_small_set(double share_error, uint64_t n)
{
    return n > 0 && (n < 50 || share_error > 0.03);
}

#endif
