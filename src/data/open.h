/* Private to the library: opening other data under a schema. */
#ifndef VKT_DATA_OPEN_H
#define VKT_DATA_OPEN_H

#include "data/tables/row_parts.h"
#include "vktrain/data.h"

/* vkt_dataset_open_schema, for several picture files as one data set too, or for none: what the
 * schema says, without examples. */
vkt_status vkt__dataset_open_inputs(const char *schema_json, const char *const *paths, size_t n,
                                    vkt_dataset **out);
/* The same of pictures that will be used at their own size. */
vkt_status vkt__dataset_open_sized(const char *schema_json, const char *const *paths, size_t n,
                                   vkt_dataset **out);
/* The same for arrays in memory; y may be absent. The schema is not a text's. */
vkt_status vkt__dataset_open_arrays(const char *schema_json, const vkt_arrays *arrays,
                                    vkt_dataset **out);
/* Inputs that lie in several places, one after the other, as a data set without labels. */
vkt_status vkt__dataset_open_examples(const char *schema_json, const vkt_inputs *in, size_t n_in,
                                      vkt_dataset **out);
/* *out: the rows of a table that the path holds ("-": standard input); NULL: it holds something
 * else, which vkt__dataset_open_inputs opens or refuses. */
vkt_status vkt__dataset_rows(const char *schema_json, const char *path, vkt__row_parts **out);
/* The next part of them. *out NULL: there is none. */
vkt_status vkt__dataset_open_rows(const char *schema_json, vkt__row_parts *rows, vkt_dataset **out);

#endif
