/* Private to src/data: a table's schema, fitted. */
#ifndef VKT_DATA_FIT_H
#define VKT_DATA_FIT_H

#include "data/parts/parts.h"

/* A table's classes, kinds of columns and constants, from its training rows. Bytes may be
 * gzip; test may be NULL. An input_shape already in the schema stays, else it is [n_inputs]. */
vkt_status vkt__table_open(vkt_dataset *ds, const vkt_data_desc *desc, const void *bytes, size_t n,
                           const char *name, const void *test, size_t test_n,
                           const char *test_name);

#endif
