/* The CSV parser: RFC 4180 and what spreadsheets make of it (BOM; CR, LF or CRLF; ; | or tab), text
 * to cells. Strict: ragged rows, stray quotes, zero bytes and text that is not UTF-8 are errors
 * with their line. Knows nothing of columns' meaning, except the first line of scikit-learn's
 * files. */
#include <math.h>

#include "base/number.h"
#include "data/parts/parts.h"
#include "data/tables/csv.h"

static const char delimiters[] = "\t;|,";
enum { N_DELIMITERS = 4, LINES_LOOKED_AT = 50 };

/* How often each stands in the line at `at`, outside quotes; returns where the next one begins. */
static const char *count_delimiters(const char *at, const char *end, size_t count[N_DELIMITERS])
{
    bool quoted = false;
    memset(count, 0, N_DELIMITERS * sizeof *count);
    while (at < end && (*at == '\n' || *at == '\r')) at++;
    for (; at < end && (quoted || (*at != '\n' && *at != '\r')); at++) {
        if (*at == '"') quoted = !quoted;
        for (int i = 0; i < N_DELIMITERS; i++) count[i] += !quoted && *at == delimiters[i];
    }
    return at;
}

/* What the first lines have in common. */
typedef struct first_lines {
    size_t first[N_DELIMITERS]; /* of the first line */
    bool same[N_DELIMITERS];    /* as often, and at least once, in each */
    int n;
    bool digits; /* in each but the first, which may be a header */
} first_lines;

static first_lines look_at_lines(const char *at, const char *end)
{
    first_lines l = { .n = 1, .digits = true };
    size_t count[N_DELIMITERS];
    at = count_delimiters(at, end, l.first);
    for (int i = 0; i < N_DELIMITERS; i++) l.same[i] = l.first[i] > 0;
    for (; l.n < LINES_LOOKED_AT; l.n++) {
        while (at < end && (*at == '\n' || *at == '\r')) at++;
        if (at == end) break;
        const char *line = at;
        at = count_delimiters(at, end, count);
        for (int i = 0; i < N_DELIMITERS; i++) l.same[i] = l.same[i] && count[i] == l.first[i];
        while (line < at && !(*line >= '0' && *line <= '9')) line++;
        l.digits = l.digits && line < at;
    }
    return l;
}

/* The first of tab ; | and comma that stands equally often in each of the first lines, so that 0,1;
 * 0,2 has two columns; else the most frequent one of the first line. */
static char find_delimiter(const char *at, const char *end)
{
    int best = N_DELIMITERS - 1;
    first_lines l = look_at_lines(at, end);
    for (int i = 0; i < N_DELIMITERS; i++)
        if (l.same[i]) return delimiters[i];
    for (int i = 0; i < N_DELIMITERS; i++)
        if (l.first[i] > l.first[best]) best = i;
    return delimiters[best];
}

bool vkt__csv_looks_so(const char *text, size_t n)
{
    enum { FEWEST = 10 };
    first_lines l = look_at_lines(text, text + n);
    for (int i = 0; i < N_DELIMITERS; i++)
        if (l.same[i]) return l.n >= FEWEST && (l.first[i] > 1 || l.digits);
    return false;
}

/* "150,4,setosa,versicolor,virginica": rows, inputs, class names; the rows end in class numbers. */
static bool is_class_line(const vkt__csv *csv, size_t n_first)
{
    double v;
    size_t n_columns = csv->n_columns;
    const uint32_t *cell = csv->cell;
    if (!vkt__number(csv->text + cell[n_first + n_columns - 1], &v)) return false;
    if (n_first < 3 || !vkt__number(csv->text + cell[0], &v) || !(v >= 1) || v != floor(v))
        return false;
    if (!vkt__number(csv->text + cell[1], &v) || v != (double)n_columns - 1) return false;
    for (size_t i = 2; i < n_first; i++) {
        const char *s = csv->text + cell[i];
        if (vkt__number(s, &v) || vkt__csv_missing(s)) return false;
    }
    return true;
}

/* Takes a class line off, or checks the first line's cells against the others'. */
static vkt_status first_line(bool class_line, size_t n_first, vkt__csv *out)
{
    double n_rows;
    if (class_line && out->n_rows > 1 && is_class_line(out, n_first)) {
        vkt__number(out->text + out->cell[0], &n_rows);
        if (n_rows == (double)(out->n_rows - 1)) {
            out->n_classes = (uint32_t)n_first - 2;
            out->class_cell = vkt__alloc(out->n_classes * sizeof *out->class_cell);
            memcpy(out->class_cell, out->cell + 2, out->n_classes * sizeof *out->class_cell);
            out->n_rows--;
            memmove(out->line, out->line + 1, out->n_rows * sizeof *out->line);
            memmove(out->cell, out->cell + n_first,
                    out->n_rows * out->n_columns * sizeof *out->cell);
            return VKT_OK;
        }
        if (n_first != out->n_columns)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u promises %.0f rows, the file has %zu: is it complete?",
                             out->name, out->line[0], n_rows, out->n_rows - 1);
    }
    if (n_first != out->n_columns)
        return vkt__csv_ragged(out->name, out->line[1], out->n_columns, n_first);
    return VKT_OK;
}

static uint32_t line_of(const char *text, size_t at)
{
    uint32_t line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
    return line;
}

/* Formats that are often named .csv, or given in its place: their first bytes identify them. */
static const struct {
    const char *begins;
    size_t n;
    const char *is, *to_do;
} others[] = {
    { "PK\3\4", 4, "a ZIP archive, as Excel's .xlsx is", "save the table as CSV, or unpack it" },
    { "\xd0\xcf\x11\xe0", 4, "an Excel workbook (.xls)", "save the table as CSV" },
    { "PAR1", 4, "Parquet", "write the table as CSV" },
    { "SQLite format 3", 16, "an SQLite database", "write a query's result as CSV" },
    { "\xfd"
      "7zXZ",
      5, "compressed (xz)", "unpack it first (unxz)" },
    { "\x28\xb5\x2f\xfd", 4, "compressed (zstd)", "unpack it first (unzstd)" },
    { "BZh", 3, "compressed (bzip2)", "unpack it first (bunzip2)" },
    { "\xff\xfe", 2, "UTF-16", "save the file as UTF-8 text" },
    { "\xfe\xff", 2, "UTF-16", "save the file as UTF-8 text" },
};

static bool is_json(const char *text)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    bool list = *text == '[';
    if (list) text += 1 + strspn(text + 1, " \t\r\n");
    if (*text != '{') return false;
    text += 1 + strspn(text + 1, list ? " \t\r\n" : " \t"); /* a lone `{` may be a cell */
    return *text == '"';
}

static vkt_status check_kind(const char *text, size_t n, const char *name)
{
    for (size_t i = 0; i < VKT_COUNT(others); i++)
        if (n >= others[i].n && memcmp(text, others[i].begins, others[i].n) == 0 &&
            !vkt__utf8_ok(text, n, &(size_t) { 0 }))
            return vkt__fail(VKT_E_FORMAT, "data", "'%s' is %s, not CSV: %s", name, others[i].is,
                             others[i].to_do);
    if (!is_json(text)) return VKT_OK;
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s' is JSON, not CSV: write a table, conversations and texts as JSON lines, an "
        "object a line (jq -c '.[]' FILE.json >FILE.jsonl)",
        name);
}

static vkt_status check_text(const char *text, size_t n, const char *name, uint32_t line)
{
    size_t at;
    if (vkt__utf8_ok(text, n, &at)) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: %s: save the file as UTF-8 text", name,
                     line - 1 + line_of(text, at),
                     text[at] == 0 ? "a zero byte, so this is not text" : "not UTF-8");
}

vkt_status vkt__csv_parse(const void *bytes, size_t n, const char *name, char delimiter,
                          bool class_line, vkt__csv *out)
{
    return vkt__csv_parse_from(1, bytes, n, name, delimiter, class_line, out);
}

/* The rows of text [n]; bytes: what it was before it is written over. */
static vkt_status read_rows(vkt__csv *csv, const char *bytes, size_t from, size_t n, uint32_t line,
                            bool class_line)
{
    vkt_status st = VKT_OK;
    vkt__csv_rows r = { .name = csv->name, .delimiter = csv->delimiter, .first_line = line };
    if (!vkt__csv_rows_by_threads(&r, csv->text, from, n)) {
        if (n) memcpy(csv->text, bytes, n);
        VKT_TRY(check_text(csv->text, n, csv->name, line));
        st = vkt__csv_rows_read(&r, csv->text, from, n);
    }
    csv->cell = r.cell;
    csv->line = r.line;
    csv->said = r.said;
    csv->n_said = r.n_said;
    csv->n_rows = r.n_rows;
    csv->n_columns = r.n_columns;
    if (st != VKT_OK) return st;
    if (csv->n_rows == 0)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' is empty: it needs rows of inputs and a label",
                         csv->name);
    return first_line(class_line, r.n_first, csv);
fail:
    return st;
}

vkt_status vkt__csv_parse_from(uint32_t line, const void *bytes, size_t n, const char *name,
                               char delimiter, bool class_line, vkt__csv *out)
{
    vkt_status st = VKT_OK;
    vkt__csv csv = { .name = name };
    if (n > VKT__CSV_LIMIT)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has more than the %llu MiB that are allowed",
                         name, VKT__CSV_LIMIT >> 20);
    VKT_TRY(vkt__alloc_large(n + 1, 1, name, &csv.text));
    vkt__csv_copy(csv.text, bytes, n);
    csv.text[n] = 0;
    csv.text_n = n + 1;
    if (line == 1) VKT_TRY(check_kind(csv.text, n, name));
    size_t from = n >= 3 && memcmp(csv.text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    const char *at = csv.text + from;
    if (n - from > 5 && memcmp(at, "sep=", 4) == 0 && (at[5] == '\n' || at[5] == '\r')) {
        VKT_TRY(check_text(csv.text, n, name, line));
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' line %u: 'sep=%c' is for Excel alone: remove the line, as delimiters "
                       "are found",
                       name, line, at[4]);
        goto fail;
    }
    csv.delimiter = delimiter ? delimiter : find_delimiter(at, csv.text + n);
    VKT_TRY(read_rows(&csv, bytes, from, n, line, class_line));
    *out = csv;
    return VKT_OK;
fail:
    vkt__csv_finish(&csv);
    return st;
}

void vkt__csv_finish(vkt__csv *csv)
{
    free(csv->text);
    free(csv->cell);
    free(csv->line);
    free(csv->class_cell);
    free(csv->said);
    free(csv->number);
    free(csv->numeric);
    *csv = (vkt__csv) { 0 };
}

void vkt__csv_quote(vkt__str *s, const char *text)
{
    vkt__str_add(s, "\"", 1);
    for (; *text; text++) vkt__str_add(s, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    vkt__str_add(s, "\"", 1);
}

static int by_offset(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool vkt__csv_label_missing(const vkt__csv *csv, size_t row, size_t column)
{
    const uint32_t *cell = &csv->cell[row * csv->n_columns + column];
    return vkt__csv_missing(csv->text + *cell) &&
           !(csv->n_said && bsearch(cell, csv->said, csv->n_said, sizeof *cell, by_offset));
}
