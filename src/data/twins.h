/* Private to src/data: validation and test examples that a training example equals, or nearly. */
#ifndef VKT_DATA_TWINS_H
#define VKT_DATA_TWINS_H

#include "data/parts/parts.h"

/* The hash of an example: its file's, or its inputs'. */
uint64_t vkt__example_hash(const vkt_dataset *ds, vkt_split split, uint64_t i);
/* data.duplicates drop: leaves out the validation and test examples whose inputs are those of a
 * training example, and says how many. OOM_HOST; ARG: none would be left for validation. */
vkt_status vkt__twins_drop(vkt_dataset *ds);

/* Rows of a table that lie beside a training row, far nearer than rows of their kind lie by
 * themselves; equal ones are not among them. */
typedef struct vkt__near {
    uint64_t n; /* of the held rows, by those that were looked at; 0: too few to be more than chance
                 */
    vkt_split split;
    uint64_t held, train; /* a pair: its place in the split, in training */
} vkt__near;
/* At most about 10^8 multiply-adds; where that is too few rows, nothing is found. OOM_HOST. */
vkt_status vkt__twins_near(const vkt_dataset *ds, vkt__near *out);

#endif
