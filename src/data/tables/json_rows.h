/* Private to src/data: rows of JSON lines as CSV text. */
#ifndef VKT_DATA_JSON_ROWS_H
#define VKT_DATA_JSON_ROWS_H

#include "data/parts/parts.h"

/* The schema's columns as a header, then a row a line: text quoted, a number as its column writes
 * numbers, null and what is not there left empty. Lines are lines of the text, blank ones too.
 * line: of the first one, for messages. told: what was said of keys, once for all rows. */
typedef struct vkt__json_told {
    bool unknown, absent; /* keys that the schema does not know; its columns that have no key */
} vkt__json_told;
vkt_status vkt__json_rows(const vkt__schema *s, const char *text, size_t n, const char *name,
                          uint32_t line, vkt__json_told *told, vkt__str *out);

#endif
