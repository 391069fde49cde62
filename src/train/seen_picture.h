/* The picture that something was found on, at its own size: what boxes, points and instances share
 * that are predicted. */
#ifndef VKT_TRAIN_SEEN_PICTURE_H
#define VKT_TRAIN_SEEN_PICTURE_H

#include "data/dataset.h"

typedef struct vkt__seen_picture {
    uint32_t w, h, channels; /* of the last one */
    const uint8_t *pixels;
    vkt__scratch scratch;
    uint64_t n_full; /* pictures with more on them than was given */
} vkt__seen_picture;

/* Example `index` of the split test. IO, FORMAT. */
vkt_status vkt__seen_read(vkt__seen_picture *p, const vkt_dataset *data, uint64_t index);
/* Its file, or words for a picture that has none. */
const char *vkt__seen_name(const vkt_dataset *data, uint64_t index);
/* Its pixels as RGB, to be drawn on and freed. OOM_HOST. */
vkt_status vkt__seen_rgb(const vkt__seen_picture *p, uint8_t **to);
/* Counts a picture with more on it than is given; whether it is one of the first, which are named.
 */
bool vkt__seen_is_named(vkt__seen_picture *p);
/* Where more were counted than named it says how many "pictures in all ...". have: NULL where none
 * is counted. */
void vkt__seen_finish(vkt__seen_picture *p, const char *have);

#endif
