/* Private to the library: a table with one column of the file shuffled among its rows, for
 * permutation importance. */
#ifndef VKT_DATA_PERMUTE_H
#define VKT_DATA_PERMUTE_H

#include "vktrain/data.h"

/* Columns of the file that are inputs; 0: the data set is no table of columns. Their names are
 * those of vkt__dataset_column. */
uint32_t vkt__permute_columns(const vkt_dataset *ds);
/* The first n examples of a split in an order of the seed, as a data set whose split TEST they are:
 * of a table. ds must outlive it. OOM_HOST. Destroy it with vkt_dataset_destroy. */
vkt_status vkt__permute_open(const vkt_dataset *ds, vkt_split split, uint64_t n, uint64_t seed,
                             vkt_dataset **out);
/* Column i of `taken` (of vkt__permute_open) shuffled among its rows by the seed, all others as
 * they were in ds. A date's parts and a category's inputs stay together. */
void vkt__permute_column(vkt_dataset *taken, uint32_t i, uint64_t seed);

#endif
