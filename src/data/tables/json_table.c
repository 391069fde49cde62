/* json_table.h: the lines as CSV text, which the reader of CSV then takes apart, so that a table is
 * learned in one way whatever it came as. */
#include <stdio.h>

#include "base/number.h"
#include "base/words.h"
#include "data/tables/json_table.h"
#include "formats/json_text.h"

enum { MOST_COLUMNS = 65536 };

/* The columns: keys in the order in which they come, and which there are; lines that are rows. */
typedef struct {
    json_t *list, *known;
    uint32_t *line;
    size_t n_lines, cap;
} columns;

static bool is_scalar(const json_t *v)
{
    return !json_is_object(v) && !json_is_array(v);
}

/* A lone `{` may be a cell. */
bool vkt__json_lines(const char *text)
{
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    text += strspn(text, " \t\r\n");
    return *text == '{' && text[1 + strspn(text + 1, " \t")] == '"';
}

bool vkt__json_table_looks_so(const char *text, size_t n)
{
    static const char *const of_language[] = { "text",        "messages",      "prompt",
                                               "completion",  "conversations", "conversation",
                                               "instruction", "chosen",        "rejected" };
    const char *key, *end = text + n;
    if (!vkt__json_lines(text)) return false;
    text = strchr(text, '{');
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    json_t *v, *o = vkt__json_parse(text, (size_t)((stop ? stop : end) - text), 0, NULL);
    bool is = json_object_size(o) > 1;
    json_object_foreach(o, key, v) is = is && is_scalar(v);
    for (size_t i = 0; i < VKT_COUNT(of_language); i++)
        is = is && !json_object_get(o, of_language[i]);
    json_decref(o);
    return is;
}

static void add_cell(vkt__str *s, const json_t *v)
{
    char text[32] = "";
    if (json_is_string(v)) {
        vkt__csv_quote(s, json_string_value(v));
        return;
    }
    if (json_is_integer(v))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        vkt__double_text(json_real_value(v), false, text);
    else if (json_is_boolean(v))
        snprintf(text, sizeof text, "%s", json_is_true(v) ? "true" : "false");
    vkt__csv_quote(s, text);
}

/* Line `line` as an object of scalars; its keys become columns. */
static vkt_status read_row(const char *text, size_t n, const char *name, uint32_t line, columns *c,
                           json_t **out)
{
    json_error_t e = { 0 };
    const char *key;
    json_t *v, *row = *out = vkt__json_parse(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(row))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' line %u is not a JSON object of column names: %s", name, line,
                         row ? "write {\"COLUMN\": VALUE, ...}" : vkt__show(e.text).s);
    json_object_foreach(row, key, v)
    {
        if (!is_scalar(v))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: '%s' must be a text, a number, true, false or null",
                             name, line, vkt__show(key).s);
        if (json_object_get(c->known, key)) continue;
        if (json_array_size(c->list) == MOST_COLUMNS)
            return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: more than %d different keys",
                             name, line, MOST_COLUMNS);
        json_object_set_new(c->known, key, json_true());
        json_array_append_new(c->list, json_string(key));
    }
    return VKT_OK;
}

/* Each line once: to find the columns (out NULL), then to write them. */
static vkt_status walk(const char *text, size_t n, const char *name, columns *c, vkt__str *out)
{
    uint32_t line = 1;
    for (size_t at = 0; at < n; line++) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - (text + at)) : n - at;
        bool blank = strspn(text + at, " \t\r") >= len;
        json_t *row = NULL;
        vkt_status st = blank ? VKT_OK : read_row(text + at, len, name, line, c, &row);
        for (size_t i = 0; out && row && st == VKT_OK && i < json_array_size(c->list); i++) {
            if (i) vkt__str_add(out, ",", 1);
            add_cell(out, json_object_get(row, json_string_value(json_array_get(c->list, i))));
        }
        if (out && row) {
            vkt__str_add(out, "\n", 1);
            c->line = vkt__grow(c->line, c->n_lines, &c->cap, sizeof *c->line);
            c->line[c->n_lines++] = line;
        }
        json_decref(row);
        if (st != VKT_OK) return st;
        at += len + (end != NULL);
    }
    return VKT_OK;
}

/* A line of names, then the rows: cells of several lines may be among them, so lines are known
 * from JSON's. */
static vkt_status parse_rows(const char *text, size_t n, const char *name, vkt__csv *out)
{
    vkt_status st;
    vkt__str s = { 0 };
    columns c = { .list = json_array(), .known = json_object() };
    VKT_TRY(walk(text, n, name, &c, NULL));
    for (size_t i = 0; i < json_array_size(c.list); i++) {
        if (i) vkt__str_add(&s, ",", 1);
        vkt__csv_quote(&s, json_string_value(json_array_get(c.list, i)));
    }
    vkt__str_add(&s, "\n", 1);
    VKT_TRY(walk(text, n, name, &c, &s));
    VKT_TRY(vkt__csv_parse(s.data, s.len, name, ',', false, out));
    out->named = true;
    VKT_ASSERT(out->n_rows == c.n_lines + 1);
    for (size_t i = 0; i < c.n_lines; i++) out->line[i + 1] = c.line[i];
fail:
    vkt__str_finish(&s);
    free(c.line);
    json_decref(c.list);
    json_decref(c.known);
    return st;
}

vkt_status vkt__table_parse(const void *bytes, size_t n, const char *name, char delimiter,
                            bool class_line, vkt__csv *out)
{
    vkt_status st;
    char *unpacked = NULL;
    size_t text_n = n;
    vkt__str decoded = { 0 };
    vkt__decoder d = { 0 };
    const char *text = bytes;
    bool changed;
    if (vkt__is_gzip(bytes, n)) {
        VKT_TRY(vkt__bytes_all(bytes, n, name, VKT__CSV_LIMIT, &unpacked, &text_n));
        text = unpacked;
    }
    VKT_TRY(vkt__decode(&d, name, text, text_n, true, &decoded, &changed));
    if (changed) {
        vkt__str_add(&decoded, "", 0); /* something, of nothing */
        text = decoded.data;
        text_n = decoded.len;
        free(unpacked);
        unpacked = NULL;
    }
    size_t mark = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    st = vkt__json_lines(text) ? parse_rows(text + mark, text_n - mark, name, out)
                               : vkt__csv_parse(text, text_n, name, delimiter, class_line, out);
fail:
    free(unpacked);
    vkt__str_finish(&decoded);
    return st;
}
