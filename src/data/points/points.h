/* Private to src/data: pictures and named points on them as a data set. */
#ifndef VKT_DATA_POINTS_H
#define VKT_DATA_POINTS_H

#include "data/parts/parts.h"

vkt_status vkt__points_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* A table or a COCO file with points; all else as boxes and pictures. */
vkt_status vkt__points_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
vkt_likeness vkt__points_are(const char *path);

#endif
