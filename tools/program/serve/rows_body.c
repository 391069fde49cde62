/* rows_body.h */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows_body.h"

typedef struct text {
    char *data;
    size_t n, cap;
    bool full; /* no memory */
} text;

static int add(const char *from, size_t n, void *to)
{
    text *t = to;
    if (t->n + n + 1 > t->cap) {
        size_t cap = 2 * (t->n + n + 1);
        char *p = t->full ? NULL : realloc(t->data, cap);
        if (!p) {
            t->full = true;
            return -1;
        }
        t->data = p;
        t->cap = cap;
    }
    memcpy(t->data + t->n, from, n);
    t->n += n;
    t->data[t->n] = 0;
    return 0;
}

/* A cell of CSV: text in quotes. */
static bool add_cell(text *out, const json_t *v)
{
    char number[64];
    if (json_is_null(v)) return add("\"\"", 2, out) == 0;
    if (json_is_integer(v))
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        snprintf(number, sizeof number, "%.17g", json_real_value(v));
    if (json_is_number(v)) return add(number, strlen(number), out) == 0;
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v)) return false;
    add("\"", 1, out);
    for (const char *p = json_string_value(v); *p; p++)
        add(*p == '"' ? "\"\"" : p, 1 + (*p == '"'), out);
    return add("\"", 1, out) == 0;
}

static const char *add_list(text *out, const json_t *row, const char *const *names, size_t n_names,
                            bool named)
{
    if (json_array_size(row) != n_names)
        return "a list has as many values as the model has columns";
    if (!named) {
        for (size_t i = 0; i < n_names; i++) {
            if (i) add(",", 1, out);
            if (!add_cell(out, json_array_get(row, i)))
                return "a value in a list must be a text, a number or null";
        }
        return NULL;
    }
    json_t *o = json_object();
    for (size_t i = 0; i < n_names; i++) json_object_set(o, names[i], json_array_get(row, i));
    int bad = json_dump_callback(o, add, out, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(o);
    return bad ? "a list can't be read" : NULL;
}

static const char *add_row(text *out, const json_t *row, const char *const *names, size_t n_names,
                           bool named)
{
    if (json_is_array(row)) return add_list(out, row, names, n_names, named);
    if (!json_is_object(row)) return "a row must be an object of columns' names, or a list";
    if (!named) return "the model's columns have no names: give lists of values";
    return json_dump_callback(row, add, out, JSON_COMPACT | JSON_REAL_PRECISION(17))
               ? "it can't be read"
               : NULL;
}

static const char *add_rows(text *out, const json_t *all, const char *const *names, size_t n_names,
                            bool named)
{
    bool one = !json_is_array(all) ||
               (json_array_size(all) > 0 && !json_is_array(json_array_get(all, 0)) &&
                !json_is_object(json_array_get(all, 0)));
    size_t n = one ? 1 : json_array_size(all);
    if (n == 0) return "there are no rows";
    for (size_t i = 0; i < n; i++) {
        const char *bad = add_row(out, one ? all : json_array_get(all, i), names, n_names, named);
        if (bad) return bad;
        add("\n", 1, out);
    }
    return out->full ? "there is no memory for it" : NULL;
}

char *rows_body_text(const char *body, size_t n, const char *const *names, size_t n_names,
                     bool named, char *why, size_t cap)
{
    json_error_t e;
    text out = { 0 };
    json_t *all = json_loadb(body, n, JSON_REJECT_DUPLICATES, &e);
    if (!all) {
        snprintf(why, cap, "the body is not JSON: %s (line %d)", e.text, e.line);
        return NULL;
    }
    const char *bad = add_rows(&out, all, names, n_names, named);
    json_decref(all);
    if (!bad) return out.data;
    snprintf(why, cap, "the body: %s", bad);
    free(out.data);
    return NULL;
}
