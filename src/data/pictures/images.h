/* Private to src/data: folders and files of IDX images. */
#ifndef VKT_DATA_IMAGES_H
#define VKT_DATA_IMAGES_H

#include "data/parts/parts.h"

vkt_likeness vkt__images_is(const char *path); /* a folder of IDX files, or one */
vkt_status vkt__images_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_status vkt__images_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
/* classes.txt, one name a line, as the schema's classes. IO, FORMAT. */
vkt_status vkt__class_names_read(vkt_dataset *ds, const char *path);

#endif
