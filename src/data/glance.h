/* Private to the library: an example as a person knows it: where it lies, what its row says, a
 * small picture of it. */
#ifndef VKT_DATA_GLANCE_H
#define VKT_DATA_GLANCE_H

#include "data/parts/parts.h"

/* "line 17" of the table's file, a picture's file, or "example 17", counted from 0 in the file of
 * its split. Texts belong to the arena. */
const char *vkt__example_where(const vkt_dataset *ds, vkt_split split, uint64_t i, vkt__arena *a);

typedef struct vkt__seen_cell {
    const char *name, *value;
} vkt__seen_cell;
/* The cells of a table's row, up to `most`, from what the model is given: numbers in their own
 * units, texts by name, sentences by their tokens (tokenizer: the data's; NULL: they are left out).
 * Dates, which are several inputs, are left out. Returns how many; 0: the data is no table. */
size_t vkt__example_cells(const vkt_dataset *ds, vkt_split split, uint64_t i,
                          const vkt_tokenizer *tokenizer, vkt__arena *a, size_t most,
                          vkt__seen_cell *out);
/* The tokenizer of its column of sentences; *out NULL: it has none. Destroy it. OOM_HOST, FORMAT.
 */
vkt_status vkt__example_tokenizer(const vkt_dataset *ds, vkt_tokenizer **out);

/* pixels [h, w, channels], 1 or 3 of these; free them. */
typedef struct vkt__thumbnail {
    uint32_t w, h, channels;
    uint8_t *pixels; /* NULL: the data has no pictures */
} vkt__thumbnail;
/* The picture as the model sees it, at most `most` pixels wide and high. FORMAT, IO: it can't be
 * read; OOM_HOST. */
vkt_status vkt__example_thumbnail(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t most,
                                  vkt__thumbnail *out);

#endif
