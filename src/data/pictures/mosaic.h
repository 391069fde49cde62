/* Private to src/data: a picture made of parts of several, whose boxes come with them. */
#ifndef VKT_DATA_MOSAIC_H
#define VKT_DATA_MOSAIC_H

#include "data/parts/parts.h"
#include "data/pictures/geometry.h"

/* Four pictures of a split around a random point, each a part that grows or shrinks at random:
 * example i at the upper left. moves->tile says which, for the boxes. *pixels: of the model's size,
 * until scratch is used again. Source: YOLOv4, Bochkovskiy et al. 2020 (arXiv 2004.10934).
 * FORMAT, IO, OOM_HOST. */
vkt_status vkt__mosaic(const vkt_dataset *ds, vkt_split split, uint64_t i, vkt__dice *d,
                       vkt__scratch *scratch, vkt__moves *moves, const uint8_t **pixels);

#endif
