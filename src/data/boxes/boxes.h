/* Private to src/data: pictures and the boxes of their objects as a data set. */
#ifndef VKT_DATA_BOXES_H
#define VKT_DATA_BOXES_H

#include "data/parts/parts.h"

vkt_status vkt__boxes_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* A folder with boxes; all else as folders of pictures. */
vkt_status vkt__boxes_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
vkt_likeness vkt__boxes_are(const char *path);

#endif
