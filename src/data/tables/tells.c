/* tells.h: rows counted by the column's value and the label's, in passes over them. */
#include <math.h>

#include "data/tables/tells.h"
#include "data/tables/value_ids.h"

enum { FEWEST_ROWS = 40, ROWS_A_VALUE = 10 };
static const double most_of_one = 0.95; /* of the rows in one class: whatever is said is right */

struct vkt__tells_label {
    const vkt__csv *csv;
    const uint32_t *rows;
    uint32_t n, n_classes;
    uint32_t *class; /* [n] of each row; NO_CLASS: it has no label. NULL: it is a number */
    double *number;  /* [n]; NAN: it is none, or there is none */
    bool *missing;   /* [n] of numbers */
};
#define NO_CLASS UINT32_MAX

static vkt_status read_label(vkt__tells_label *l, size_t column, vkt__form form)
{
    vkt_status st;
    vkt__value_ids ids = { 0 };
    bool text = form == VKT__FORM_TEXT;
    if (text)
        VKT_TRY(vkt__alloc_large(l->n, sizeof *l->class, "labels", &l->class));
    else
        VKT_TRY(vkt__alloc_large(l->n, sizeof *l->number, "labels", &l->number));
    if (!text) VKT_TRY(vkt__alloc_large(l->n, sizeof *l->missing, "labels", &l->missing));
    for (uint32_t i = 0; i < l->n; i++) {
        const char *cell = vkt__csv_cell(l->csv, l->rows[i], column);
        bool missing = vkt__csv_missing(cell);
        if (text && missing)
            l->class[i] = NO_CLASS;
        else if (text)
            VKT_TRY(vkt__value_id(&ids, cell, &l->class[i]));
        else if (l->missing[i] = missing,
                 missing || !vkt__form_value(form, VKT__DATE_WHOLE, cell, &l->number[i]))
            l->number[i] = NAN;
    }
    l->n_classes = ids.n;
fail:
    vkt__value_ids_finish(&ids);
    return st;
}

vkt_status vkt__tells_label_read(const vkt__csv *csv, const uint32_t *rows, uint32_t n,
                                 size_t column, vkt__form form, vkt__tells_label **out)
{
    vkt_status st;
    vkt__tells_label *l = vkt__alloc(sizeof *l);
    *l = (vkt__tells_label) { .csv = csv, .rows = rows, .n = n };
    *out = NULL;
    VKT_TRY(read_label(l, column, form));
    *out = l;
    return VKT_OK;
fail:
    vkt__tells_label_free(&l);
    return st;
}

void vkt__tells_label_free(vkt__tells_label **l)
{
    if (!*l) return;
    free((*l)->class);
    free((*l)->number);
    free((*l)->missing);
    free(*l);
    *l = NULL;
}

/* Too few rows to tell, or too many in which the column has no value. */
static bool too_few(uint32_t n, uint32_t n_rows)
{
    return n < FEWEST_ROWS || 10 * (uint64_t)n < 9 * (uint64_t)n_rows;
}

/* ---- numbers ---- */

static const double *known_numbers(const vkt__tells_label *l, size_t column, vkt__form form)
{
    return form == VKT__FORM_PLAIN ? vkt__csv_numbers(l->csv, column) : NULL;
}

/* False: the cell of row i is blank, or no number. */
static bool number_of(const vkt__tells_label *l, const double *known, uint32_t i, size_t column,
                      vkt__form form, double *out)
{
    if (known) return *out = known[l->rows[i]], !isnan(*out);
    const char *cell = vkt__csv_cell(l->csv, l->rows[i], column);
    return !vkt__csv_missing(cell) && vkt__form_value(form, VKT__DATE_WHOLE, cell, out);
}

/* How well the numbers lie on a line. */
static double line(const vkt__tells_label *l, size_t column, vkt__form form)
{
    const double *known = known_numbers(l, column, form);
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    uint32_t n = 0;
    bool all = true;
    for (uint32_t i = 0; i < l->n; i++) {
        double number, label = l->number[i], dx, dy;
        if (l->missing[i] || !number_of(l, known, i, column, form, &number)) continue;
        all = all && !isnan(label);
        dx = number - x;
        dy = label - y;
        n++;
        x += dx / n;
        y += dy / n;
        xx += dx * (number - x);
        yy += dy * (label - y);
        xy += dx * (label - y);
    }
    if (too_few(n, l->n) || !all) return 0;
    return xx > 0 && yy > 0 ? fabs(xy) / sqrt(xx * yy) : 0;
}

/* ---- classes ---- */

/* A class's rows, and the range of its numbers. */
typedef struct class_rows {
    uint32_t n;
    double low, high;
} class_rows;

typedef struct pairs {
    uint32_t n;
    uint32_t *value, *class; /* [n] */
    vkt__value_ids ids;      /* of the values */
    bool none;               /* values tell too little: they are not counted any more */
    class_rows *of;          /* [n_classes] */
} pairs;

/* How many rows have the label that most rows of their value have: rows are laid beside those of
 * their value, whose classes are then counted. */
static vkt_status count_right(const pairs *p, uint32_t n_classes, uint64_t *right)
{
    vkt_status st;
    uint32_t n_values = p->ids.n, *begin = NULL, *class = NULL, *count = NULL;
    *right = 0;
    VKT_TRY(vkt__alloc_large((uint64_t)n_values + 1, sizeof *begin, "a column's values", &begin));
    VKT_TRY(vkt__alloc_large(p->n, sizeof *class, "a column's values", &class));
    VKT_TRY(vkt__alloc_large(n_classes, sizeof *count, "a column's values", &count));
    memset(begin, 0, ((size_t)n_values + 1) * sizeof *begin);
    memset(count, 0, n_classes * sizeof *count);
    for (uint32_t i = 0; i < p->n; i++) begin[p->value[i] + 1]++;
    for (uint32_t v = 1; v < n_values; v++) begin[v + 1] += begin[v];
    for (uint32_t i = 0; i < p->n; i++) class[begin[p->value[i]]++] = p->class[i];
    for (uint32_t v = 0, at = 0; v < n_values; v++) { /* begin[v] is the end of v's by now */
        uint32_t from = at, most = 0;
        for (; at < begin[v]; at++) {
            count[class[at]]++;
            most = VKT_MAX(most, count[class[at]]);
        }
        for (; from < at; from++) count[class[from]] = 0;
        *right += most;
    }
fail:
    free(begin);
    free(class);
    free(count);
    return st;
}

/* Rows that are wrong stay wrong when more rows come. */
static vkt_status is_hopeless(const pairs *p, const vkt__tells_label *l, bool *out)
{
    uint64_t right;
    vkt_status st = count_right(p, l->n_classes, &right);
    if (st == VKT_OK) *out = (double)(p->n - right) > (1 - VKT__TELLS_LEAST) * l->n + 1;
    return st;
}

/* The pair of row i, unless there are more values than one in ROWS_A_VALUE rows. */
static vkt_status add_pair(const vkt__tells_label *l, bool numbers, uint32_t i, double v,
                           size_t column, pairs *p)
{
    vkt_status st;
    uint32_t id = 0;
    VKT_TRY(numbers ? vkt__number_id(&p->ids, v, &id)
                    : vkt__value_id(&p->ids, vkt__csv_cell(l->csv, l->rows[i], column), &id));
    p->none = p->ids.n > l->n / ROWS_A_VALUE;
    p->value[p->n] = id;
    p->class[p->n++] = l->class[i];
fail:
    return st;
}

/* Rows with a value and a label, by classes and, as long as they may tell something, by values:
 * that is asked after a few rows, and whenever there are twice as many. */
static vkt_status count_pairs(const vkt__tells_label *l, size_t column, vkt__form form, pairs *p,
                              uint32_t *n_rows)
{
    enum { FIRST_ASKED = 1 << 12 };
    vkt_status st = VKT_OK;
    bool numbers = form != VKT__FORM_TEXT;
    uint32_t ask = FIRST_ASKED;
    const double *known = known_numbers(l, column, form);
    *n_rows = 0;
    for (uint32_t i = 0; i < l->n_classes; i++) p->of[i] = (class_rows) { 0, INFINITY, -INFINITY };
    for (uint32_t i = 0; i < l->n; i++) {
        double v = 0;
        if (l->class[i] == NO_CLASS ||
            !(numbers ? number_of(l, known, i, column, form, &v)
                      : !vkt__csv_missing(vkt__csv_cell(l->csv, l->rows[i], column))))
            continue;
        class_rows *of = &p->of[l->class[i]];
        of->n++;
        of->low = v < of->low ? v : of->low;
        of->high = v > of->high ? v : of->high;
        ++*n_rows;
        if (p->none) continue;
        VKT_TRY(add_pair(l, numbers, i, v, column, p));
        if (p->n != ask || p->none) continue;
        ask *= 2;
        VKT_TRY(is_hopeless(p, l, &p->none));
    }
fail:
    return st;
}

/* By the label that most rows of a value have. */
static vkt_status by_values(const pairs *p, uint32_t n_classes, double *share)
{
    uint64_t right;
    if (p->none || p->ids.n < 2 || p->ids.n > p->n / ROWS_A_VALUE) return VKT_OK;
    vkt_status st = count_right(p, n_classes, &right);
    if (st == VKT_OK) *share = (double)right / p->n;
    return st;
}

static int by_low(const void *a, const void *b)
{
    const class_rows *x = a, *y = b;
    return (x->low > y->low) - (x->low < y->low);
}

/* Each class is a range of its own. Classes without a row come last, at infinity. */
static bool by_ranges(class_rows *of, uint32_t n)
{
    qsort(of, n, sizeof *of, by_low);
    for (uint32_t i = 1; i < n && of[i].n; i++)
        if (!(of[i].low > of[i - 1].high)) return false;
    return true;
}

static vkt_status classes(const vkt__tells_label *l, size_t column, vkt__form form, pairs *p,
                          double *share)
{
    vkt_status st;
    uint32_t n_classes = 0, most = 0, n = 0;
    VKT_TRY(vkt__alloc_large((uint64_t)l->n + 1, sizeof *p->value, "a column's values", &p->value));
    VKT_TRY(vkt__alloc_large((uint64_t)l->n + 1, sizeof *p->class, "a column's values", &p->class));
    VKT_TRY(vkt__alloc_large((uint64_t)l->n_classes + 1, sizeof *p->of, "classes", &p->of));
    VKT_TRY(count_pairs(l, column, form, p, &n));
    if (too_few(n, l->n)) return VKT_OK;
    for (uint32_t i = 0; i < l->n_classes; i++) {
        n_classes += p->of[i].n > 0;
        most = VKT_MAX(most, p->of[i].n);
    }
    if (n_classes < 2 || n_classes > n / ROWS_A_VALUE || (double)most / n > most_of_one)
        return VKT_OK;
    VKT_TRY(by_values(p, l->n_classes, share));
    if (form != VKT__FORM_TEXT && by_ranges(p->of, l->n_classes)) *share = 1;
fail:
    return st;
}

vkt_status vkt__tells(const vkt__tells_label *l, size_t column, vkt__form form, double *share)
{
    pairs p = { 0 };
    vkt_status st = VKT_OK;
    *share = 0;
    if (l->class)
        st = classes(l, column, form, &p, share);
    else if (form != VKT__FORM_TEXT)
        *share = line(l, column, form);
    free(p.value);
    free(p.class);
    free(p.of);
    vkt__value_ids_finish(&p.ids);
    return st;
}
