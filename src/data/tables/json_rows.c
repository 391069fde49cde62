/* json_rows.h */
#include "base/number.h"
#include "data/tables/csv.h"
#include "data/tables/json_rows.h"
#include "formats/json_text.h"

/* JSON has one way to write a number; the column may have another. */
static void add_number(vkt__str *s, vkt__form form, double v)
{
    char text[32];
    vkt__double_text(v, false, text);
    if (form == VKT__FORM_COMMA || form == VKT__FORM_POINT_COMMA || form == VKT__FORM_BLANK_COMMA)
        for (char *p = text; *p; p++)
            if (*p == '.') *p = ',';
    vkt__csv_quote(s, text);
}

static vkt_status add_cell(vkt__str *s, const vkt__column *c, const json_t *v, const char *name,
                           uint32_t line)
{
    if (!v || json_is_null(v))
        vkt__csv_quote(s, "");
    else if (json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v))
        vkt__csv_quote(s, json_string_value(v));
    else if (json_is_integer(v)) { /* as it is written, also beyond 2^53 */
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
        vkt__csv_quote(s, text);
    } else if (json_is_number(v))
        add_number(s, c->form, json_number_value(v));
    else if (json_is_boolean(v))
        vkt__csv_quote(s, json_is_true(v) ? "true" : "false");
    else
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' line %u: '%s' must be a text, a number, true, false or null", name,
                         line, vkt__show(c->name).s);
    return VKT_OK;
}

/* A date's column of the file is several of the schema's. */
static bool repeats(const vkt__schema *s, uint32_t i)
{
    return i > 0 && s->columns[i].position == s->columns[i - 1].position;
}

static const char *unknown_key(const vkt__schema *s, const json_t *row)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)row, key, v)
    {
        bool known = false;
        for (uint32_t i = 0; !known && i < s->n_targets; i++)
            known = strcmp(key, vkt__target_column(&s->targets[i])) == 0;
        for (uint32_t i = 0; !known && i < s->n_columns; i++)
            known = strcmp(key, s->columns[i].name) == 0;
        for (uint32_t i = 0; !known && i < s->n_ignored; i++)
            known = strcmp(key, s->ignored[i]) == 0;
        if (!known) return key;
    }
    return NULL;
}

/* A column without a key in the row; null is said by the one who wrote it. */
static const char *absent_key(const vkt__schema *s, const json_t *row)
{
    for (uint32_t i = 0; i < s->n_columns; i++)
        if (!json_object_get(row, s->columns[i].name)) return s->columns[i].name;
    return NULL;
}

static vkt_status add_row(vkt__str *out, const vkt__schema *s, const char *text, size_t n,
                          const char *name, uint32_t line, vkt__json_told *told)
{
    vkt_status st = VKT_OK;
    json_error_t e;
    json_t *row = vkt__json_parse(text, n, JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(row)) {
        st =
            vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u is not a JSON object of column names: %s",
                      name, line, row ? "write {\"COLUMN\": VALUE, ...}" : e.text);
        goto fail;
    }
    const char *unknown = told->unknown ? NULL : unknown_key(s, row),
               *absent = told->absent ? NULL : absent_key(s, row);
    if (unknown) {
        told->unknown = true;
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' line %u: '%s' is not a column of the training data: it and others like it "
                "are ignored",
                name, line, vkt__show(unknown).s);
    }
    if (absent && s->missing != VKT_MISSING_ERROR) { /* which refuses the row */
        told->absent = true;
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' line %u: there is no '%s', a column of the training data: it and others like "
                "it are taken as blank",
                name, line, vkt__show(absent).s);
    }
    for (uint32_t i = 0; i < s->n_columns; i++) {
        if (repeats(s, i)) continue;
        if (i) vkt__str_add(out, ",", 1);
        VKT_TRY(
            add_cell(out, &s->columns[i], json_object_get(row, s->columns[i].name), name, line));
    }
fail:
    json_decref(row);
    return st;
}

vkt_status vkt__json_rows(const vkt__schema *s, const char *text, size_t n, const char *name,
                          uint32_t line, vkt__json_told *told, vkt__str *out)
{
    vkt_status st = VKT_OK;
    if (!s->header)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is JSON lines, which name columns, but the training data had no "
                         "column names: give CSV",
                         name);
    for (uint32_t i = 0; i < s->n_columns; i++) {
        if (repeats(s, i)) continue;
        if (i) vkt__str_add(out, ",", 1);
        vkt__csv_quote(out, s->columns[i].name);
    }
    vkt__str_add(out, "\n", 1);
    for (size_t at = 0; at < n; line++) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - (text + at)) : n - at;
        bool blank = strspn(text + at, " \t\r") >= len;
        if (!blank) VKT_TRY(add_row(out, s, text + at, len, name, line, told));
        vkt__str_add(out, "\n", 1);
        at += len + (end != NULL);
    }
fail:
    return st;
}
