/* Private to the library: CSV text to cells. */
#ifndef VKT_DATA_CSV_H
#define VKT_DATA_CSV_H

#include "data/parts/parts.h"
#include "data/tables/csv_rows.h"

#define VKT__CSV_LIMIT (4000ull << 20) /* offsets are 32 bits */

typedef struct vkt__csv {
    const char *name;
    char *text;     /* the cells, each NUL-terminated */
    uint32_t *cell; /* [n_rows, n_columns] offsets in text */
    uint32_t *line; /* [n_rows] line of the file, from 1 */
    size_t n_rows, n_columns;
    char delimiter;
    bool named; /* the first row has the columns' names, whatever it looks like */
    size_t text_n;
    double *number; /* [n_columns, n_rows] of columns of plain numbers, NAN where a cell is blank */
    bool *numeric;  /* [n_columns] which are; NULL: vkt__look_at has kept none */
    uint32_t *said; /* [n_said] rising offsets of cells in quotes that read NA or the like */
    size_t n_said;
    uint32_t n_classes,
        *class_cell; /* names of a first line "rows,inputs,name,..", if there is one */
} vkt__csv;
/* delimiter 0: found from the first lines. class_line: a first line "rows,inputs,class names" is
 * taken apart. */
vkt_status vkt__csv_parse(const void *bytes, size_t n, const char *name, char delimiter,
                          bool class_line, vkt__csv *out);
/* line: of the text's first line, for messages. */
vkt_status vkt__csv_parse_from(uint32_t line, const void *bytes, size_t n, const char *name,
                               char delimiter, bool class_line, vkt__csv *out);
void vkt__csv_finish(vkt__csv *csv);
/* Whether this text, whole lines of any file, is a table beyond doubt: ten lines or more, and the
 * first fifty of them have as many delimiters each, two or more, or one beside digits. */
bool vkt__csv_looks_so(const char *text, size_t n);
static inline const char *vkt__csv_cell(const vkt__csv *csv, size_t row, size_t column)
{
    return csv->text + csv->cell[row * csv->n_columns + column];
}
/* The column's numbers by row, of rows that were looked at; NULL: a cell reads otherwise, or none
 * was kept. */
static inline const double *vkt__csv_numbers(const vkt__csv *csv, size_t column)
{
    return csv->numeric && csv->numeric[column] ? csv->number + column * csv->n_rows : NULL;
}
/* Columns of one name get a number behind it from the second on, "Units.1", as pandas numbers them,
 * and a line says so unless quiet: the first row has the names. OOM_HOST. */
vkt_status vkt__csv_number_names(vkt__csv *csv, bool quiet);
/* Whether a label stands there: as vkt__csv_missing has it, but that NA in quotes is a text. */
bool vkt__csv_label_missing(const vkt__csv *csv, size_t row, size_t column);
/* The text as a cell in quotes, added to s. */
void vkt__csv_quote(vkt__str *s, const char *text);

#endif
