/* Private to src/data: targets that are pictures, of masks the classes of their pixels. */
#ifndef VKT_DATA_DENSE_H
#define VKT_DATA_DENSE_H

#include "data/parts/parts.h"
#include "data/pictures/geometry.h"

/* What ds->target says of targets, from the schema. */
void vkt__dense_open(vkt_dataset *ds);
/* The target of example i, [n_labels], moved as its picture was; moves NULL: as it is. Where the
 * data has no targets nothing counts. FORMAT, IO, OOM_HOST. */
vkt_status vkt__dense_target(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__moves *moves, vkt__scratch *scratch, vkt_label *y);
/* A target without a pixel that counts. */
void vkt__dense_nothing(const vkt_dataset *ds, vkt_label *y);
/* Notes what the training masks hold: the classes' shares of the pixels, pictures with nothing but
 * the commonest class, and classes that training does not see. */
void vkt__dense_note_masks(vkt_dataset *ds);
void vkt__dense_note(vkt_dataset *ds, const char *text); /* a line of the arena */
/* Pixels of each class over the masks of a split, [n_outputs]. */
void vkt__dense_count(const vkt_dataset *ds, vkt_split split, uint64_t *out);

#endif
