/* Private to src/data: tables that come as JSON lines, an object of column names a line. */
#ifndef VKT_DATA_JSON_TABLE_H
#define VKT_DATA_JSON_TABLE_H

#include "data/tables/csv.h"

/* Whether this text, ended by NUL, begins as an object of a line does. */
bool vkt__json_lines(const char *text);
/* Whether its first line with is an object of scalars, and has no key that learners of language
 * take: "text", "messages" and their like. n: of its bytes. */
bool vkt__json_table_looks_so(const char *text, size_t n);
/* A file of CSV or of JSON lines, perhaps compressed, n bytes and a NUL, to cells: of JSON the
 * columns are its keys in the file's order (out->named), numbers the shortest text that is the
 * same, true, false; null and what a line does not have are empty. delimiter, class_line: of CSV,
 * see vkt__csv_parse. FORMAT: a line is no object, or has a value that is a list or an object. */
vkt_status vkt__table_parse(const void *bytes, size_t n, const char *name, char delimiter,
                            bool class_line, vkt__csv *out);

#endif
