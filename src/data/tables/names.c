/* csv.h: the names of a table's columns; two columns may have the same name. It knows no schema. */
#include "data/parts/parts.h"
#include "data/tables/csv.h"

typedef struct name {
    const char *text;
    uint32_t column;
} name;

static int by_text(const void *a, const void *b)
{
    const name *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

static bool is_name(const name *all, size_t n, const char *text)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(text, all[mid].text);
        if (order == 0) return true;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

/* "Units" as "Units.1", or by the next number that is no column's name already; into `more`. */
static void number(const name *all, size_t n, const name *of, uint32_t *k, vkt__str *more)
{
    size_t from = more->len;
    do {
        more->len = from;
        vkt__str_printf(more, "%s.%u", of->text, ++*k);
    } while (is_name(all, n, more->data + from));
    vkt__str_add(more, "", 1); /* its end */
}

static void say(const vkt__csv *csv, const name *of, const char *as, size_t n_more)
{
    char others[40] = "";
    if (n_more) snprintf(others, sizeof others, ", and %zu more like it", n_more);
    vkt_log(VKT_LOG_WARN, "data",
            "'%s' line %u: two columns are named '%s': the second is taken as '%s'%s", csv->name,
            csv->line[0], vkt__show(of->text).s, vkt__show(as).s, others);
}

vkt_status vkt__csv_number_names(vkt__csv *csv, bool quiet)
{
    vkt_status st = VKT_OK;
    vkt__str more = { 0 };
    name *all = NULL;
    size_t n = 0, n_renamed = 0, first = 0;
    VKT_TRY(vkt__alloc_large(csv->n_columns, sizeof *all, "column names", &all));
    for (uint32_t c = 0; c < csv->n_columns; c++)
        if (!vkt__csv_missing(vkt__csv_cell(csv, 0, c)))
            all[n++] = (name) { vkt__csv_cell(csv, 0, c), c };
    if (n) qsort(all, n, sizeof *all, by_text);
    uint32_t k = 0;
    for (size_t i = 1; i < n; i++) {
        if (strcmp(all[i - 1].text, all[i].text) != 0) {
            k = 0;
            continue;
        }
        size_t at = csv->text_n + more.len;
        number(all, n, &all[i], &k, &more);
        if (at > UINT32_MAX) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: two columns are named '%s'",
                           csv->name, csv->line[0], vkt__show(all[i].text).s);
            goto fail;
        }
        if (!n_renamed++) first = i;
        csv->cell[all[i].column] = (uint32_t)at;
    }
    if (!n_renamed) goto fail;
    if (!quiet) say(csv, &all[first], more.data, n_renamed - 1);
    char *text = realloc(csv->text, csv->text_n + more.len);
    if (!text) {
        st = vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the names of '%s'", csv->name);
        goto fail;
    }
    memcpy(text + csv->text_n, more.data, more.len);
    csv->text = text;
    csv->text_n += more.len;
fail:
    vkt__str_finish(&more);
    free(all);
    return st;
}
