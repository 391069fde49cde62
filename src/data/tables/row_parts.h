/* Private to the library: rows to predict, of a file or of standard input, a part of them at a
 * time, so that memory does not grow with their number. CSV under a schema, or JSON lines: an
 * object a line, whose keys name the schema's columns. */
#ifndef VKT_DATA_ROW_PARTS_H
#define VKT_DATA_ROW_PARTS_H

#include "data/parts/parts.h"

typedef struct vkt__row_parts vkt__row_parts;
/* path "-": standard input, whose rows are given as soon as they arrive. IO, FORMAT. */
vkt_status vkt__row_parts_open(const char *path, vkt__row_parts **out);
/* The same for text in memory, which is called `name`; both must outlive the parts. */
vkt_status vkt__row_parts_open_text(const char *text, size_t n, const char *name,
                                    vkt__row_parts **out);
/* The next rows into ds, which has its schema and no part yet, without labels. *more false: there
 * were none. */
vkt_status vkt__row_parts_next(vkt__row_parts *p, vkt_dataset *ds, bool *more);
bool vkt__row_parts_ended(const vkt__row_parts *p); /* nothing comes after the last part */
void vkt__row_parts_close(vkt__row_parts **p);

#endif
