/* The CSV parser: RFC 4180 and what spreadsheets make of it (BOM; CR, LF or CRLF; ; | or tab), text
 * to cells. Strict: ragged rows, stray quotes, zero bytes and text that is not UTF-8 are errors
 * with their line. Knows nothing of columns' meaning, except the first line of scikit-learn's
 * files. */
#include <ctype.h>
#include <locale.h>
#include <math.h>

#include "base/number.h"
#include "data/parts/parts.h"
#include "data/tables/csv.h"

/* Reads the text once, writing cells over what has been read. */
typedef struct parser {
    const char *name;
    char *at, *end, *put;
    char delimiter;
    bool stops[256]; /* what a plain cell ends at, or may not have: a NUL is behind the text */
    uint32_t line;
    char *text;
    uint32_t *cell, *said;
    size_t n_cells, cells_cap, n_said, said_cap;
} parser;

static vkt_status push_cell(parser *p, const char *start)
{
    if (p->n_cells == p->cells_cap) {
        size_t cap = p->cells_cap ? 2 * p->cells_cap : 256;
        uint32_t *q = realloc(p->cell, cap * sizeof *q);
        if (!q)
            return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the %zu cells of '%s'", cap,
                             p->name);
        p->cell = q;
        p->cells_cap = cap;
    }
    p->cell[p->n_cells++] = (uint32_t)(start - p->text);
    return VKT_OK;
}

static bool blank(const parser *p, char c)
{
    return (c == ' ' || c == '\t') && c != p->delimiter;
}

static bool cell_ends(const parser *p)
{
    return p->at == p->end || *p->at == p->delimiter || *p->at == '\n' || *p->at == '\r';
}

static vkt_status quoted_cell(parser *p)
{
    uint32_t opened = p->line;
    for (p->at++;; p->at++) {
        if (p->at == p->end)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: a quote opened here is never closed", p->name, opened);
        if (*p->at == '"') {
            p->at++;
            if (p->at == p->end || *p->at != '"') break;
        }
        p->line += *p->at == '\n' || (*p->at == '\r' && p->at[1] != '\n');
        *p->put++ = *p->at;
    }
    while (p->at < p->end && blank(p, *p->at)) p->at++;
    if (cell_ends(p)) return VKT_OK;
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s' line %u: text after a closing quote; a quote within a quoted cell is written \"\"",
        p->name, p->line);
}

static vkt_status plain_cell(parser *p)
{
    char *start = p->put, *at = p->at, *put = p->put;
    while (!p->stops[(unsigned char)*at]) *put++ = *at++;
    if (*at == '"')
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' line %u: a quote inside a cell that is not quoted: quote the whole cell", p->name,
            p->line);
    while (put > start && blank(p, put[-1])) put--;
    p->at = at;
    p->put = put;
    return VKT_OK;
}

static void end_line(parser *p)
{
    bool cr = p->at < p->end && *p->at == '\r';
    p->at += cr;
    p->at += p->at < p->end && *p->at == '\n';
    p->line++;
}

/* One record: its cells are appended. False at the end of the file. Blank lines are skipped. */
static vkt_status record(parser *p, bool *more)
{
    while (p->at < p->end && (*p->at == '\n' || *p->at == '\r')) end_line(p);
    *more = p->at < p->end;
    if (!*more) return VKT_OK;
    for (;;) {
        vkt_status st;
        char *start = p->put;
        while (p->at < p->end && blank(p, *p->at)) p->at++;
        bool quoted = p->at < p->end && *p->at == '"';
        st = quoted ? quoted_cell(p) : plain_cell(p);
        if (st == VKT_OK) st = push_cell(p, start);
        if (st != VKT_OK) return st;
        bool last = p->at == p->end || *p->at != p->delimiter;
        if (last)
            end_line(p);
        else
            p->at++;
        *p->put++ = 0; /* over the delimiter or line end just passed, or the text's final NUL */
        if (quoted && *start && vkt__csv_missing(start)) {
            p->said = vkt__grow(p->said, p->n_said, &p->said_cap, sizeof *p->said);
            p->said[p->n_said++] = (uint32_t)(start - p->text);
        }
        if (last) return VKT_OK;
    }
}

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
static bool is_class_line(const parser *p, size_t n_first, size_t n_columns)
{
    double v;
    if (!vkt__number(p->text + p->cell[n_first + n_columns - 1], &v)) return false;
    if (n_first < 3 || !vkt__number(p->text + p->cell[0], &v) || !(v >= 1) || v != floor(v))
        return false;
    if (!vkt__number(p->text + p->cell[1], &v) || v != (double)n_columns - 1) return false;
    for (size_t i = 2; i < n_first; i++) {
        const char *s = p->text + p->cell[i];
        if (vkt__number(s, &v) || vkt__csv_missing(s)) return false;
    }
    return true;
}

static vkt_status ragged(const char *name, uint32_t line, size_t n, size_t n_before)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' line %u has %zu cells where the line before has %zu: "
                     "check its delimiters and quotes",
                     name, line, n, n_before);
}

/* Takes a class line off, or checks the first line's cells against the others'. */
static vkt_status first_line(parser *p, bool class_line, size_t n_first, vkt__csv *out)
{
    double n_rows;
    if (class_line && out->n_rows > 1 && is_class_line(p, n_first, out->n_columns)) {
        vkt__number(p->text + p->cell[0], &n_rows);
        if (n_rows == (double)(out->n_rows - 1)) {
            out->n_classes = (uint32_t)n_first - 2;
            out->class_cell = vkt__alloc(out->n_classes * sizeof *out->class_cell);
            memcpy(out->class_cell, p->cell + 2, out->n_classes * sizeof *out->class_cell);
            out->n_rows--;
            memmove(out->line, out->line + 1, out->n_rows * sizeof *out->line);
            memmove(p->cell, p->cell + n_first, out->n_rows * out->n_columns * sizeof *p->cell);
            return VKT_OK;
        }
        if (n_first != out->n_columns)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u promises %.0f rows, the file has %zu: is it complete?",
                             p->name, out->line[0], n_rows, out->n_rows - 1);
    }
    if (n_first != out->n_columns) return ragged(p->name, out->line[1], out->n_columns, n_first);
    return VKT_OK;
}

enum { LONGEST_ROW = 64 << 20 }; /* as for row_parts.c, which keeps one in memory */

static vkt_status parse_rows(parser *p, bool class_line, vkt__csv *out)
{
    vkt_status st = VKT_OK;
    size_t n_first = 0, lines_cap = 0;
    for (bool more;;) {
        size_t before = p->n_cells;
        uint32_t line;
        while (p->at < p->end && (*p->at == '\n' || *p->at == '\r')) end_line(p);
        line = p->line;
        VKT_TRY(record(p, &more));
        if (!more) break;
        size_t n = p->n_cells - before;
        if ((size_t)(p->put - p->text) - p->cell[before] > LONGEST_ROW)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: a row of more than %d MiB: is a quote opened there and "
                             "never closed?",
                             p->name, line, LONGEST_ROW >> 20);
        if (out->n_rows == 0) n_first = n;
        if (out->n_rows <= 1) out->n_columns = n;
        /* The first line is checked last: it may be a class line. */
        if (n != out->n_columns) return ragged(p->name, line, n, out->n_columns);
        if (out->n_rows == lines_cap) {
            lines_cap = lines_cap ? 2 * lines_cap : 64;
            uint32_t *q = realloc(out->line, lines_cap * sizeof *q);
            if (!q)
                return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the %zu rows of '%s'",
                                 lines_cap, p->name);
            out->line = q;
        }
        out->line[out->n_rows++] = line;
    }
    if (out->n_rows == 0)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' is empty: it needs rows of inputs and a label",
                         p->name);
    return first_line(p, class_line, n_first, out);
fail:
    return st;
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

vkt_status vkt__csv_parse_from(uint32_t line, const void *bytes, size_t n, const char *name,
                               char delimiter, bool class_line, vkt__csv *out)
{
    vkt_status st = VKT_OK;
    vkt__csv csv = { .name = name };
    parser p = { .name = name, .line = line };
    if (n > VKT__CSV_LIMIT)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has more than the %llu MiB that are allowed",
                         name, VKT__CSV_LIMIT >> 20);
    VKT_TRY(vkt__alloc_large(n + 1, 1, name, &csv.text));
    if (n) memcpy(csv.text, bytes, n);
    csv.text[n] = 0;
    if (line == 1) VKT_TRY(check_kind(csv.text, n, name));
    VKT_TRY(check_text(csv.text, n, name, line));
    p.text = p.put = p.at = csv.text;
    p.end = csv.text + n;
    if (n >= 3 && memcmp(p.at, "\xef\xbb\xbf", 3) == 0) p.at += 3;
    if (p.end - p.at > 5 && memcmp(p.at, "sep=", 4) == 0 && (p.at[5] == '\n' || p.at[5] == '\r')) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' line %u: 'sep=%c' is for Excel alone: remove the line, as delimiters "
                       "are found",
                       name, line, p.at[4]);
        goto fail;
    }
    p.delimiter = csv.delimiter = delimiter ? delimiter : find_delimiter(p.at, p.end);
    for (const char *s = "\n\r\""; *s; s++) p.stops[(unsigned char)*s] = true;
    p.stops[0] = p.stops[(unsigned char)p.delimiter] = true;
    st = parse_rows(&p, class_line, &csv);
    csv.cell = p.cell;
    csv.text_n = n + 1;
    csv.said = p.said;
    csv.n_said = p.n_said;
    if (st != VKT_OK) goto fail;
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
    *csv = (vkt__csv) { 0 };
}

void vkt__csv_quote(vkt__str *s, const char *text)
{
    vkt__str_add(s, "\"", 1);
    for (; *text; text++) vkt__str_add(s, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    vkt__str_add(s, "\"", 1);
}

bool vkt__csv_missing_word(const char *s)
{
    static const char *const words[] = { "?", "na", "nan", "n/a", "#n/a", "null" };
    for (size_t i = 0; i < VKT_COUNT(words); i++) {
        size_t n = 0;
        while (s[n] && tolower((unsigned char)s[n]) == words[i][n]) n++;
        if (!s[n] && !words[i][n]) return true;
    }
    return false;
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
