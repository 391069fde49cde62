/* Private to src/data: whether one column of a table gives its label away. */
#ifndef VKT_DATA_TELLS_H
#define VKT_DATA_TELLS_H

#include "data/tables/csv.h"

/* The label of some rows [n], read once for all columns. form: the label's where it is a number,
 * else TEXT: classes. OOM_HOST. The table and the rows outlive it. */
typedef struct vkt__tells_label vkt__tells_label;
vkt_status vkt__tells_label_read(const vkt__csv *csv, const uint32_t *rows, uint32_t n,
                                 size_t column, vkt__form form, vkt__tells_label **out);
void vkt__tells_label_free(vkt__tells_label **l);

/* A share of classes below this is of no use, and may be given as 0. */
#define VKT__TELLS_LEAST 0.995

/* The share of rows whose label a rule of this column alone has right: classes by its values,
 * where they are few, or by ranges of its numbers, one a class; of numbers how well they lie on a
 * line (the correlation's size). 0: there is no such rule, or a constant says as much, or rows are
 * too few to tell. form: how the column's cells are written. OOM_HOST. */
vkt_status vkt__tells(const vkt__tells_label *l, size_t column, vkt__form form, double *share);

#endif
