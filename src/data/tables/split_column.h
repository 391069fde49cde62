/* Private to src/data: the split of a table. */
#ifndef VKT_DATA_SPLIT_COLUMN_H
#define VKT_DATA_SPLIT_COLUMN_H

#include "data/tables/table.h"

/* By data.group or data.time where the description has one of them. FORMAT: a cell of that column
 * is blank or, of time, no number or date. */
vkt_status vkt__table_split(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__table *t);

#endif
