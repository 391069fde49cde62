/* Private to src/data: a column of sentences (data.text), as tokens. */
#ifndef VKT_DATA_SENTENCES_H
#define VKT_DATA_SENTENCES_H

#include "data/tables/csv.h"

/* A column's cells in the rows [n] of a file. */
typedef struct vkt__cells {
    const vkt__csv *csv;
    const uint32_t *rows;
    uint32_t n, column;
} vkt__cells;

/* The tokenizer of the schema's first column where that is one of sentences: as the recipe names
 * it, or trained on the training rows; and a note on what is read. all: the column, of the file. */
vkt_status vkt__sentences_fit(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__cells *all);
/* The inputs of all cells: ids of tokens, -1 behind the last; a longer sentence's end is cut. out
 * [n, n_inputs]. FORMAT: the schema's tokenizer is none. */
vkt_status vkt__sentences_fill(const vkt__schema *s, const vkt__column *c, const vkt__cells *cells,
                               float *out);

#endif
