/* The boxes that a detector's output means. */
#ifndef VKT_TRAIN_FOUND_H
#define VKT_TRAIN_FOUND_H

#include "data/boxes/cells.h"
#include "train/measures/detections.h"
#include "vktrain/data.h"

/* What is needed to find boxes, kept from one picture to the next. Zeroed to begin with. */
typedef struct vkt__finder {
    struct vkt__cell_score *candidate;
    size_t cap;
    vkt__found
        *found; /* [VKT__FOUND_MOST] of the last picture, on the picture that the model sees */
    uint32_t n;
    bool full; /* there may be more boxes than were looked at or are kept */
} vkt__finder;

/* out [cells, 4 + classes], as detect_loss.h has it. Boxes with at least that score, best first;
 * one that overlaps a better one of its class by more than 0.6 is left out. Deterministic: equal
 * scores by the cell, then the class. */
void vkt__find(vkt__finder *f, const vkt_dataset_info *info, const float *out, float least);
void vkt__finder_finish(vkt__finder *f);

#endif
