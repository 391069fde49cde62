/* Private to src/data: what a table's columns are standardised by. */
#ifndef VKT_DATA_COLUMN_STATS_H
#define VKT_DATA_COLUMN_STATS_H

#include "data/parts/parts.h"

typedef struct vkt__stats {
    uint64_t n;
    double mean, sq; /* sq: sum of squared distances from the mean */
} vkt__stats;
vkt__stats vkt__stats_of(const double *v, uint64_t n);
double vkt__stats_deviation(const vkt__stats *a); /* 1 for a constant */
/* Replaces the columns' own constants by common ones (GLOBAL) or by none (NONE). */
void vkt__stats_share(vkt__schema *s, const vkt__stats *of, vkt_standardize how);

/* Sorts v; returns how many lie more than VKT__FAR_QUARTILES times the range between the quartiles
 * away from the median. NAN: too few, or that range is 0. */
enum { VKT__FAR_QUARTILES = 20 };
/* Whether numbers [n], sorted, are above 0 with a tail to the right that their logarithms have not,
 * as prices have it. */
bool vkt__stats_skewed(const double *v, uint64_t n);
double vkt__stats_far(double *v, uint64_t n, double *median, double *quartiles);

#endif
