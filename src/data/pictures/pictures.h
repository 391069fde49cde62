/* Private to src/data: folders of pictures, and single ones, as a data set. */
#ifndef VKT_DATA_PICTURES_H
#define VKT_DATA_PICTURES_H

#include "data/parts/parts.h"

vkt_status vkt__pictures_open(vkt_dataset *ds, const vkt_data_desc *desc);
/* A folder, or picture files as one data set. */
vkt_status vkt__pictures_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
/* A picture file's bytes as the model takes it, [n_inputs] u8; size: its own width and height.
 * FORMAT: no picture, or the model takes none; OOM_HOST. */
vkt_status vkt__pictures_from_bytes(const vkt__schema *s, const void *bytes, size_t n,
                                    const char *name, uint8_t *out, uint32_t size[2]);
vkt_likeness vkt__pictures_is(const char *path);

#endif
