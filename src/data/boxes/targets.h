/* Private to src/data: boxes as the targets of a detector. */
#ifndef VKT_DATA_TARGETS_H
#define VKT_DATA_TARGETS_H

#include "data/boxes/objects.h"

/* What the cells are to find in example i, [n_labels] (data/boxes/cells.h), moved as its picture
 * was; moves NULL: as it is. Without boxes no cell finds anything. OOM_HOST. */
vkt_status vkt__boxes_target(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__moves *moves, vkt__scratch *scratch, vkt_label *y);
/* A target without an object. */
void vkt__boxes_nothing(const vkt_dataset *ds, vkt_label *y);
/* Objects of each class in a split, [n_outputs]. */
void vkt__boxes_count(const vkt_dataset *ds, vkt_split split, uint64_t *out);

#endif
