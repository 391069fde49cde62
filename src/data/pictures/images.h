/* Private to src/data: folders and files of IDX images. */
#ifndef VKT_DATA_IMAGES_H
#define VKT_DATA_IMAGES_H

#include "data/parts/parts.h"

bool vkt__images_is(vkt_dataset *ds, const char *dir); /* a folder of IDX files */
vkt_status vkt__images_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_status vkt__images_open_schema(vkt_dataset *ds, const char *path);

#endif
