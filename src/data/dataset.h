/* Private to the library: an example as the model sees it. */
#ifndef VKT_DATA_DATASET_H
#define VKT_DATA_DATASET_H

#include "data/parts/parts.h"

/* Example `i` of the split as the model sees it: the loader's inner loop. draw NULL: as it is. x is
 * written only (mapped memory). FORMAT, IO: its picture can't be read (any more). */
vkt_status vkt__dataset_fill(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x);

#endif
