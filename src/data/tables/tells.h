/* Private to src/data: whether one column of a table gives its label away. */
#ifndef VKT_DATA_TELLS_H
#define VKT_DATA_TELLS_H

#include "data/tables/csv.h"

/* Of rows [n] the share whose label a rule of this column alone has right: classes by its values,
 * where they are few, or by ranges of its numbers, one a class; of numbers how well they lie on a
 * line (the correlation's size). 0: there is no such rule, or a constant says as much, or rows are
 * too few to tell. form: how the column's cells are written; label_form: the label's where it is a
 * number, else TEXT. OOM_HOST. */
typedef struct vkt__tells_of {
    const vkt__csv *csv;
    const uint32_t *rows;
    uint32_t n;
    size_t column, label;
    vkt__form form, label_form;
} vkt__tells_of;
vkt_status vkt__tells(const vkt__tells_of *of, double *share);

#endif
