/* Private to src/data: NumPy's arrays X and y as a data set. */
#ifndef VKT_DATA_ARRAYS_H
#define VKT_DATA_ARRAYS_H

#include "data/parts/parts.h"

/* X [n, inputs] is a table of numbers, X [n, H, W] or [n, H, W, C] of uint8 are pictures; y [n] of
 * integers are classes, or, with task regress, and of floats, numbers to predict. */
vkt_status vkt__arrays_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* y may be absent; also a .npy file alone, which is X. */
vkt_status vkt__arrays_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
/* The same for arrays in memory. */
vkt_status vkt__arrays_reopen(vkt_dataset *ds, const vkt_arrays *arrays);
vkt_likeness vkt__arrays_are(const char *path);

#endif
