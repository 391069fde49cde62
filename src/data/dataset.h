/* Private to the library: an example as the model sees it. */
#ifndef VKT_DATA_DATASET_H
#define VKT_DATA_DATASET_H

#include "data/parts/parts.h"

/* Example `i` of the split as the model sees it: the loader's inner loop. draw NULL: as it is. x is
 * written only (mapped memory). FORMAT, IO: its picture can't be read (any more). */
vkt_status vkt__dataset_fill(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x);

/* The target of example i where it is as large as a picture (vkt__is_dense), [n_labels], moved as
 * its picture was; moves NULL: as it is. Where the data has none nothing counts. FORMAT, IO,
 * OOM_HOST. */
struct vkt__moves;
vkt_status vkt__dataset_target(const vkt_dataset *ds, vkt_split split, uint64_t i,
                               const struct vkt__moves *moves, vkt__scratch *scratch, vkt_label *y);
/* Such a target that says nothing. */
void vkt__dataset_no_target(const vkt_dataset *ds, vkt_label *y);

/* The picture of example i at its own size, [*h, *w, C], in the scratch until it is used again.
 * Only of pictures in files. FORMAT, IO, OOM_HOST. */
vkt_status vkt__dataset_picture(const vkt_dataset *ds, vkt_split split, uint64_t i,
                                vkt__scratch *scratch, uint32_t *w, uint32_t *h,
                                const uint8_t **pixels);

/* The same of its target, a mask's classes (VKT__MASK_IGNORE: none) or another picture. ARG: the
 * data has none in files. */
vkt_status vkt__dataset_other_picture(const vkt_dataset *ds, vkt_split split, uint64_t i,
                                      vkt__scratch *scratch, uint32_t *w, uint32_t *h,
                                      const uint8_t **pixels);

/* Whether a text's tokens, or which of them count, may differ from those that a run began with,
 * though its text does not: the run's schema is of an earlier version, and the text has
 * conversations or a tokenizer that puts tokens around texts. */
bool vkt__dataset_reads_anew(const vkt_dataset *ds, const char *schema_json);

#endif
