/* Private to src/data: pictures and the instances on them as a data set. */
#ifndef VKT_DATA_INSTANCES_H
#define VKT_DATA_INSTANCES_H

#include "data/parts/parts.h"

vkt_status vkt__instances_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* A folder with instances; all else as folders of pictures. */
vkt_status vkt__instances_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
/* NAME: the masks may be of instances or of classes. */
vkt_likeness vkt__instances_are(const char *path);

#endif
