/* Private to the library: inputs of a model from memory: rows of text and picture files, each read
 * by itself. vkt__dataset_open_examples puts them together. */
#ifndef VKT_DATA_INPUTS_H
#define VKT_DATA_INPUTS_H

#include "vktrain/data.h"

/* Rows of text in memory (JSON lines or CSV, called `name`), or a picture file's bytes, as inputs
 * of the model whose data set `like` is. FORMAT. */
vkt_status vkt__inputs_of_rows(const vkt_dataset *like, const char *text, size_t n,
                               const char *name, vkt_inputs *out);
vkt_status vkt__inputs_of_picture(const vkt_dataset *like, const void *bytes, size_t n,
                                  const char *name, vkt_inputs *out);
/* See vkt_predictor_get_column. */
bool vkt__dataset_column(const vkt_dataset *ds, uint32_t i, vkt_data_column *out, bool *named);

#endif
