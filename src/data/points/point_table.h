/* Private to src/data: a CSV with a row a picture, its columns known by the names in its first
 * line: the picture's path, and NAME_x and NAME_y of each point, of some NAME_v. */
#ifndef VKT_DATA_POINT_TABLE_H
#define VKT_DATA_POINT_TABLE_H

#include "data/boxes/marks.h"

extern const vkt__list_kind vkt__point_table;
vkt__list_read vkt__point_table_read;

#endif
