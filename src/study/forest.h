/* How much each metaparameter matters, by a forest of regression trees (functional analysis of
 * variance). Knows points and their order, nothing of runs. */
#ifndef VKT_STUDY_FOREST_H
#define VKT_STUDY_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Share of the variance of y that one metaparameter explains by itself, the others averaged over
 * their ranges: mean over the trees, and the middle 80% of them. Each tree saw another sample of
 * the trials. */
typedef struct vkt__share {
    double mean, low, high;
    bool shown; /* larger than with y shuffled, in all of 19 shuffles: 5% are so by chance */
} vkt__share;

/* u [n, d] in [0, 1], NAN: not present (taken as the middle); y [n]; out [d]. False, with nothing
 * written: fewer than VKT__FOREST_LEAST trials, or all y are the same.
 * Source: Hutter, Hoos, Leyton-Brown 2014 (ICML). */
enum { VKT__FOREST_LEAST = 10 };
bool vkt__importance(const double *u, const double *y, size_t n, size_t d, uint64_t seed,
                     vkt__share *out);

#endif
