/* Private to src/data: notes on a set of boxes. */
#ifndef VKT_DATA_BOXES_NOTES_H
#define VKT_DATA_BOXES_NOTES_H

#include "data/boxes/objects.h"

/* What was found beside what is used. */
typedef struct vkt__boxes_seen {
    uint64_t n_flat, n_outside; /* left out: without area; with none of it on the picture */
    uint64_t n_beyond;          /* clipped to the picture */
    uint64_t n_crowd, n_unnamed;
    uint32_t n_unused, n_unlisted;
} vkt__boxes_seen;

/* Notes of a data set that is split: objects of each class, pictures without any, classes that
 * training never sees, how small they are, and what was left out. */
void vkt__boxes_note(vkt_dataset *ds, const vkt__boxes_seen *seen);
/* A line for each kind of what was left out, of data that a model is judged by. */
void vkt__boxes_warn(const char *path, const vkt__boxes_seen *seen);

#endif
