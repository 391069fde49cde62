/* Private to src/data: pairs of pictures, before and after, as a data set. */
#ifndef VKT_DATA_PICTURE_PAIRS_H
#define VKT_DATA_PICTURE_PAIRS_H

#include "data/parts/parts.h"

vkt_status vkt__picture_pairs_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* A folder with pairs; all else as folders of pictures. */
vkt_status vkt__picture_pairs_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
vkt_likeness vkt__picture_pairs_are(const char *path);

#endif
