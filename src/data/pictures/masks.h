/* Private to src/data: pictures and their masks as a data set. */
#ifndef VKT_DATA_MASKS_H
#define VKT_DATA_MASKS_H

#include "data/parts/parts.h"

vkt_status vkt__masks_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* A folder with masks; all else as folders of pictures. */
vkt_status vkt__masks_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
vkt_likeness vkt__masks_are(const char *path);

#endif
