/* Private to src/data: tables as data sets: CSV files, and the digits that are built in. */
#ifndef VKT_DATA_TABLE_SOURCE_H
#define VKT_DATA_TABLE_SOURCE_H

#include "data/parts/parts.h"

vkt_status vkt__csv_open(vkt_dataset *ds, const vkt_data_desc *desc);
vkt_status vkt__csv_open_schema(vkt_dataset *ds, const char *const *paths, size_t n);
vkt_likeness vkt__csv_is(const char *path);
vkt_status vkt__digits_open(vkt_dataset *ds, const vkt_data_desc *desc);

#endif
