/* Private to src/data: arrays as a table, and what arrays of every kind share: their labels. */
#ifndef VKT_DATA_ARRAY_TABLE_H
#define VKT_DATA_ARRAY_TABLE_H

#include "data/parts/parts.h"
#include "formats/npy.h"

typedef struct vkt__arrays {
    const char *name; /* of the file or folder */
    vkt__npy x, y;    /* y [n], if there is one */
    bool has_y;
} vkt__arrays;

/* Classes of the schema from y's integers, rising, named by themselves. */
vkt_status vkt__array_classes(vkt_dataset *ds, const vkt__arrays *a);
/* The classes of y's elements rows [n] (NULL: all), or with task regress the standardised targets.
 * FORMAT: a class that the schema does not have; a number that is not finite. */
vkt_status vkt__array_labels(const vkt__schema *s, const vkt__arrays *a, const uint32_t *rows,
                             uint32_t n, vkt_label *out);

/* X [n, inputs]; NaN is a missing cell. The schema is that of a CSV without a header whose last
 * column is the label, so that either reads under the other's. */
vkt_status vkt__array_table_open(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__arrays *a);
vkt_status vkt__array_table_open_schema(vkt_dataset *ds, const vkt__arrays *a);

#endif
