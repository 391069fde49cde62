/* Private to src/data: CSV text to cells and rows, a long text by threads. */
#ifndef VKT_DATA_CSV_ROWS_H
#define VKT_DATA_CSV_ROWS_H

#include "data/parts/parts.h"

/* A row may be as long as this; row_parts.c keeps one in memory. */
enum { VKT__CSV_LONGEST_ROW = 64 << 20 };

typedef struct vkt__csv_rows {
    const char *name; /* of the file, for messages */
    char delimiter;
    uint32_t first_line; /* of the text, for messages */
    /* What is read: offsets are from the text's begin. */
    uint32_t *cell; /* [n_cells] */
    uint32_t *line; /* [n_rows] */
    uint32_t *said; /* [n_said] rising offsets of cells in quotes that read NA or the like */
    size_t n_cells, n_rows, n_said;
    size_t n_first, n_columns; /* cells of the first row, and of each other one */
} vkt__csv_rows;

/* Reads text [n] with a NUL behind it, from `from` on, once, and writes cells over what has been
 * read. FORMAT, logged: a row has other cells than the one before, a quote stands where none may.
 */
vkt_status vkt__csv_rows_read(vkt__csv_rows *r, char *text, size_t from, size_t n);
/* The same for long texts by threads, and UTF-8 is checked: true, and the rows are those that
 * vkt__csv_rows_read finds. False: the text is short, or something is wrong with it, or memory is
 * short; nothing is logged, and the text may be partly written over. */
bool vkt__csv_rows_by_threads(vkt__csv_rows *r, char *text, size_t from, size_t n);
/* The refusal of a row of n cells at this line. */
vkt_status vkt__csv_ragged(const char *name, uint32_t line, size_t n, size_t n_before);
void vkt__csv_rows_finish(vkt__csv_rows *r);
/* dst [n] = src [n], by threads where it is long. */
void vkt__csv_copy(char *dst, const char *src, size_t n);
/* Empty, ?, or NA, NaN, N/A, #N/A, NULL in any case. */
bool vkt__csv_missing_word(const char *cell);
static inline bool vkt__csv_missing(const char *cell)
{
    char c = *cell;
    return !c || ((c == '?' || c == 'n' || c == 'N' || c == '#') && vkt__csv_missing_word(cell));
}

#endif
