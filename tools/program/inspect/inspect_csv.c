/* inspect: a CSV file's columns, their kinds and ranges. */
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

typedef struct column {
    char *name;
    uint64_t n_numbers, n_text, n_missing;
    double low, high;
    bool first_is_number;
} column;

enum { MAX_LINE = 1 << 22, MAX_COLUMNS = 16384 };

/* The next field of a line, in place; quotes removed. NULL past the end. */
static char *next_field(char **at, char delimiter)
{
    char *p = *at, *out = p, *start = p;
    bool quoted = false;
    if (!p) return NULL;
    for (; *p && (quoted || *p != delimiter); p++) {
        if (*p != '"')
            *out++ = *p;
        else if (quoted && p[1] == '"')
            *out++ = *p++;
        else
            quoted = !quoted;
    }
    *at = *p ? p + 1 : NULL;
    *out = 0;
    return start;
}

static bool is_missing(const char *s)
{
    while (*s == ' ') s++;
    return !*s || !strcmp(s, "NA") || !strcmp(s, "NaN") || !strcmp(s, "nan") || !strcmp(s, "?");
}

static bool is_number(const char *s, double *v)
{
    char *end;
    *v = strtod(s, &end);
    if (end == s) return false;
    while (*end == ' ') end++;
    return !*end;
}

static char find_delimiter(const char *line)
{
    static const char candidates[] = { ',', ';', '\t', '|' };
    size_t best = 0, best_n = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t n = 0;
        for (const char *p = line; *p; p++) n += *p == candidates[i];
        if (n > best_n) best = i, best_n = n;
    }
    return candidates[best];
}

/* One line into the columns; the first gives names and their number. */
static const char *csv_line(char *line, char delimiter, uint64_t line_number, column *col,
                            size_t *n_cols)
{
    size_t i = 0;
    double v;
    for (char *at = line, *s; (s = next_field(&at, delimiter)); i++) {
        if (i >= (line_number == 1 ? MAX_COLUMNS : *n_cols))
            return "has more columns than the first";
        column *c = &col[i];
        if (line_number == 1) {
            size_t bytes = strlen(s) + 1;
            c->name = memcpy(cli_grow(NULL, bytes), s, bytes);
            c->first_is_number = is_missing(s) || is_number(s, &v);
            continue;
        }
        if (is_missing(s))
            c->n_missing++;
        else if (!is_number(s, &v))
            c->n_text++;
        else {
            if (!c->n_numbers || v < c->low) c->low = v;
            if (!c->n_numbers || v > c->high) c->high = v;
            c->n_numbers++;
        }
    }
    if (line_number == 1) *n_cols = i;
    return i < *n_cols ? "has fewer columns than the first" : NULL;
}

static void print_columns(const column *col, size_t n, bool header)
{
    static const cli_column title[] = { { "column", true, 0 }, { "name", false, 40 },
                                        { "kind", false, 0 },  { "missing", true, 0 },
                                        { "least", true, 0 },  { "largest", true, 0 } };
    inspect_cells c = { 0 };
    for (size_t i = 0; i < n; i++) {
        bool number = col[i].n_text == 0 && col[i].n_numbers;
        inspect_cell(&c, cli_text("%zu", i));
        inspect_cell(&c, header ? col[i].name : "-");
        inspect_cell(&c, number ? "number" : col[i].n_text ? "text" : "empty");
        inspect_cell(&c, cli_count(col[i].n_missing));
        inspect_cell(&c, number ? cli_text("%.6g", col[i].low) : "-");
        inspect_cell(&c, number ? cli_text("%.6g", col[i].high) : "-");
    }
    inspect_cells_print(&c, title, CLI_COUNT(title));
    inspect_cells_free(&c);
}

int inspect_csv(const char *path, gzFile f)
{
    char *line = cli_grow(NULL, MAX_LINE), delimiter = ',';
    column *col = cli_zeros(MAX_COLUMNS, sizeof *col);
    size_t n_cols = 0;
    uint64_t n = 0;
    int rc = CLI_OK;
    while (rc == CLI_OK && gzgets(f, line, MAX_LINE)) {
        size_t len = strlen(line);
        if (len + 1 == MAX_LINE) rc = inspect_damaged(path, "no CSV: a line of more than 4 MiB");
        while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) line[--len] = 0;
        if (!len) continue;
        for (size_t i = 0; i < len && rc == CLI_OK; i++)
            if ((unsigned char)line[i] < 32 && line[i] != '\t')
                rc = inspect_damaged(path, "no kind of file that `vktrain inspect --help` names");
        if (rc) break;
        bool mark = !n && !strncmp(line, "\xef\xbb\xbf", 3); /* of UTF-8, no part of a name */
        if (!n++) delimiter = find_delimiter(line);
        const char *why = csv_line(line + (mark ? 3 : 0), delimiter, n, col, &n_cols);
        if (why)
            rc = inspect_damaged(path, cli_text("line %s %s (%zu)", cli_count(n), why, n_cols));
    }
    if (rc == CLI_OK && !n) rc = inspect_damaged(path, "is empty");
    if (rc == CLI_OK) {
        /* A first line is a header when it has text where the rows below have numbers. */
        bool header = false;
        for (size_t i = 0; i < n_cols; i++)
            header |= !col[i].first_is_number && col[i].n_numbers && !col[i].n_text;
        printf("%s%s%s: CSV, %s rows of %zu columns, %s, '%s' between them\n\n",
               cli_color(stdout, CLI_BOLD), path, cli_color(stdout, CLI_PLAIN),
               cli_count(n - header), n_cols, header ? "with a header line" : "no header line",
               delimiter == '\t' ? "tab" : cli_text("%c", delimiter));
        print_columns(col, n_cols, header);
    }
    for (size_t i = 0; i < n_cols; i++) free(col[i].name);
    free(col);
    free(line);
    return rc;
}
