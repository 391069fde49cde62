/* split_column.h: numbers for the values of data.group, an order by those of data.time. */
#include "data/tables/split_column.h"

#include "data/parts/parts.h"
#include "data/tables/look.h"

/* A row's cell, and its value where time decides. */
typedef struct key {
    const char *cell;
    double value;
    uint32_t row;
} key;

static int by_cell(const void *a, const void *b)
{
    return strcmp(((const key *)a)->cell, ((const key *)b)->cell);
}

/* Of whole numbers, such as nanoseconds since 1970, the digits that a double does not keep. */
static int by_digits(const char *a, const char *b)
{
    bool negative = *a == '-';
    a += *a == '+' || *a == '-';
    b += *b == '+' || *b == '-';
    size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
    if (a[n] || b[m]) return 0; /* not whole numbers: equal, as their values are */
    while (n > 1 && *a == '0') a++, n--;
    while (m > 1 && *b == '0') b++, m--;
    int order = n != m ? (n > m) - (n < m) : memcmp(a, b, n);
    return negative ? -order : order;
}

/* Rows of one time in their order. */
static int by_value(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->value < y->value || x->value > y->value) return x->value < y->value ? -1 : 1;
    int order = by_digits(x->cell, y->cell);
    if (order) return order;
    return (x->row > y->row) - (x->row < y->row);
}

static vkt_status find_column(const vkt__table *t, bool header, const char *option,
                              const char *name, uint32_t *out)
{
    for (uint32_t c = 0; header && c < t->csv->n_columns; c++) {
        *out = c;
        if (strcmp(vkt__csv_cell(t->csv, 0, c), name) == 0) return VKT_OK;
    }
    char *end;
    unsigned long at = strtoul(name, &end, 10);
    *out = (uint32_t)at;
    if (*name >= '0' && *name <= '9' && !*end && at < t->csv->n_columns) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "data", "%s: '%s' is not one column of '%s'", option,
                     vkt__show(name).s, t->csv->name);
}

static vkt_status read_keys(const vkt__table *t, uint32_t column, const char *option, key *keys)
{
    for (uint32_t i = 0; i < t->n; i++) {
        keys[i] = (key) { .cell = vkt__csv_cell(t->csv, t->rows[i], column), .row = i };
        if (vkt__csv_missing(keys[i].cell))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: no value in the column of %s: fill it", t->csv->name,
                             t->csv->line[t->rows[i]], option);
    }
    return VKT_OK;
}

static vkt_status read_times(const vkt__table *t, uint32_t column, key *keys)
{
    vkt_status st;
    vkt__look *looks = NULL;
    VKT_TRY(vkt__alloc_large(t->csv->n_columns, sizeof *looks, "columns", &looks));
    VKT_TRY(vkt__look_at(t->csv, t->rows, t->n, SIZE_MAX, looks, NULL));
    vkt__form form = looks[column].form;
    vkt__date_part part = form == VKT__FORM_TIME    ? VKT__DATE_HOUR
                          : vkt__form_is_date(form) ? VKT__DATE_YEAR
                                                    : VKT__DATE_WHOLE;
    for (uint32_t i = 0; i < t->n && st == VKT_OK; i++) {
        uint32_t line = t->csv->line[t->rows[i]];
        bool zoned = vkt__form_zone(form, keys[i].cell) != VKT__ZONE_NONE;
        if (form == VKT__FORM_TEXT ||
            !vkt__form_value_at(form, part, 0, keys[i].cell, &keys[i].value))
            st = vkt__fail(VKT_E_FORMAT, "data",
                           "'%s' line %u: '%s' in the column of data.time is no number or date",
                           t->csv->name, line, vkt__show(keys[i].cell).s);
        else if (zoned != (vkt__form_zone(form, keys[0].cell) != VKT__ZONE_NONE))
            st = vkt__fail(VKT_E_FORMAT, "data",
                           "'%s' line %u: '%s' in the column of data.time has %s UTC offset, but "
                           "'%s' has %s: write one in each, or in none",
                           t->csv->name, line, vkt__show(keys[i].cell).s, zoned ? "a" : "no",
                           vkt__show(keys[0].cell).s, zoned ? "none" : "one");
    }
fail:
    free(looks);
    return st;
}

vkt_status vkt__table_split(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__table *t)
{
    vkt_status st;
    uint32_t column, *out = NULL;
    key *keys = NULL;
    const char *option = desc->group ? "data.group" : "data.time",
               *name = desc->group ? desc->group : desc->time;
    if (!name) return vkt__split_by_column(ds, desc, &(vkt__split_by) { 0 });
    VKT_TRY(find_column(t, ds->schema.header, option, name, &column));
    if (vkt__schema_is_label(&ds->schema, column)) {
        st = vkt__fail(VKT_E_ARG, "data", "%s: '%s' is the label", option, vkt__show(name).s);
        goto fail;
    }
    VKT_TRY(vkt__alloc_large(t->n, sizeof *keys, "the split", &keys));
    VKT_TRY(vkt__alloc_large(t->n, sizeof *out, "the split", &out));
    VKT_TRY(read_keys(t, column, option, keys));
    if (desc->time) VKT_TRY(read_times(t, column, keys));
    qsort(keys, t->n, sizeof *keys, desc->group ? by_cell : by_value);
    for (uint32_t i = 0, n = 0; i < t->n; i++) {
        n += i > 0 && strcmp(keys[i - 1].cell, keys[i].cell) != 0;
        if (desc->group)
            out[keys[i].row] = n;
        else
            out[i] = keys[i].row;
    }
    VKT_TRY(vkt__split_by_column(
        ds, desc,
        &(vkt__split_by) { .group = desc->group ? out : NULL, .order = desc->time ? out : NULL }));
    if (desc->group) {
        ds->group = out;
        out = NULL;
    }
fail:
    free(keys);
    free(out);
    return st;
}
