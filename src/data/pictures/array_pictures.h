/* Private to src/data: arrays of pixels as pictures. */
#ifndef VKT_DATA_ARRAY_PICTURES_H
#define VKT_DATA_ARRAY_PICTURES_H

#include "data/tables/array_table.h"

/* X [n, H, W] or [n, H, W, C] of uint8, in the memory *block, which becomes the data set's. */
vkt_status vkt__array_pictures_open(vkt_dataset *ds, const vkt_data_desc *desc,
                                    const vkt__arrays *a, uint8_t **block);
vkt_status vkt__array_pictures_open_schema(vkt_dataset *ds, const vkt__arrays *a, uint8_t **block);

#endif
