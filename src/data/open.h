/* Private to the library: opening other data under a schema. */
#ifndef VKT_DATA_OPEN_H
#define VKT_DATA_OPEN_H

#include "vktrain/data.h"

/* vkt_dataset_open_schema, for several picture files as one data set too, or for none: what the
 * schema says, without examples. */
vkt_status vkt__dataset_open_inputs(const char *schema_json, const char *const *paths, size_t n,
                                    vkt_dataset **out);

#endif
