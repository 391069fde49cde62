/* Private to src/data: what a number of a column becomes: one input, or several. */
#ifndef VKT_DATA_SCALING_H
#define VKT_DATA_SCALING_H

#include "data/parts/parts.h"

/* Beside the mean and the deviation that the column has: the scale of data.standardize: robust, and
 * the edges of data.bins. v: the column's numbers of training rows, which are sorted. */
void vkt__scaling_fit(const vkt_data_desc *desc, vkt__column *c, double *v, uint64_t n,
                      vkt__arena *arena);
/* The inputs [vkt__column_inputs] of the number v. False: it has no finite value as f32. */
bool vkt__scaling_inputs(const vkt__column *c, double v, float *x);

#endif
