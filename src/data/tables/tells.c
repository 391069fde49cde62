/* tells.h: rows sorted by the column's cell, so that equal values and ranges lie side by side. */
#include <math.h>

#include "data/tables/tells.h"

enum { FEWEST_ROWS = 40, ROWS_A_VALUE = 10 };
static const double most_of_one = 0.95; /* of the rows in one class: whatever is said is right */

typedef struct pair {
    const char *cell, *label;
    double number;
} pair;

static int by_cell(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    int order = strcmp(x->cell, y->cell);
    return order ? order : strcmp(x->label, y->label);
}

static int by_number(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->number != y->number ? (x->number > y->number) - (x->number < y->number)
                                  : strcmp(x->label, y->label);
}

static int by_label(const void *a, const void *b)
{
    return strcmp(((const pair *)a)->label, ((const pair *)b)->label);
}

static bool same_value(const pair *a, const pair *b, bool numbers)
{
    return numbers ? a->number == b->number : !strcmp(a->cell, b->cell);
}

/* Classes, and the share of the largest. */
static uint32_t count_classes(pair *p, uint32_t n, double *largest)
{
    uint32_t n_classes = 0, run = 0, most = 0;
    qsort(p, n, sizeof *p, by_label);
    for (uint32_t i = 0; i < n; i++) {
        run = i && !strcmp(p[i].label, p[i - 1].label) ? run + 1 : 1;
        n_classes += run == 1;
        most = VKT_MAX(most, run);
    }
    *largest = (double)most / n;
    return n_classes;
}

/* By the label that most rows of a value have. */
static double by_values(const pair *p, uint32_t n, bool numbers)
{
    uint32_t n_values = 0, right = 0, run = 0, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool value = i && same_value(&p[i], &p[i - 1], numbers);
        run = value && !strcmp(p[i].label, p[i - 1].label) ? run + 1 : 1;
        if (!value) {
            right += most;
            most = 0;
            n_values++;
        }
        most = VKT_MAX(most, run);
    }
    return n_values > 1 && n_values <= n / ROWS_A_VALUE ? (double)(right + most) / n : 0;
}

/* 1: each class is a range of its own. */
static double by_ranges(const pair *p, uint32_t n, uint32_t n_classes)
{
    uint32_t n_runs = 1;
    for (uint32_t i = 1; i < n; i++) {
        n_runs += strcmp(p[i].label, p[i - 1].label) != 0;
        if (p[i].number == p[i - 1].number && strcmp(p[i].label, p[i - 1].label) != 0) return 0;
    }
    return n_runs == n_classes;
}

static double classes(pair *p, uint32_t n, bool numbers)
{
    double largest;
    uint32_t n_classes = count_classes(p, n, &largest);
    if (n_classes < 2 || n_classes > n / ROWS_A_VALUE || largest > most_of_one) return 0;
    qsort(p, n, sizeof *p, numbers ? by_number : by_cell);
    double share = by_values(p, n, numbers);
    return numbers ? fmax(share, by_ranges(p, n, n_classes)) : share;
}

static double line(const pair *p, uint32_t n, vkt__form label_form)
{
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (uint32_t i = 0; i < n; i++) {
        double label, dx, dy;
        if (!vkt__form_value(label_form, VKT__DATE_WHOLE, p[i].label, &label)) return 0;
        dx = p[i].number - x;
        dy = label - y;
        x += dx / (i + 1);
        y += dy / (i + 1);
        xx += dx * (p[i].number - x);
        yy += dy * (label - y);
        xy += dx * (label - y);
    }
    return xx > 0 && yy > 0 ? fabs(xy) / sqrt(xx * yy) : 0;
}

vkt_status vkt__tells(const vkt__tells_of *of, double *share)
{
    vkt_status st;
    bool numbers = of->form != VKT__FORM_TEXT, line_of = of->label_form != VKT__FORM_TEXT;
    uint32_t n = 0;
    pair *p = NULL;
    *share = 0;
    VKT_TRY(vkt__alloc_large((uint64_t)of->n + 1, sizeof *p, "a column's values", &p));
    for (uint32_t i = 0; i < of->n; i++) {
        const char *cell = vkt__csv_cell(of->csv, of->rows[i], of->column),
                   *label = vkt__csv_cell(of->csv, of->rows[i], of->label);
        p[n] = (pair) { cell, label, 0 };
        if (vkt__csv_missing(cell) || vkt__csv_missing(label)) continue;
        n += !numbers || vkt__form_value(of->form, VKT__DATE_WHOLE, cell, &p[n].number);
    }
    if (n < FEWEST_ROWS || 10 * (uint64_t)n < 9 * (uint64_t)of->n) goto fail;
    if (!line_of)
        *share = classes(p, n, numbers);
    else if (numbers)
        *share = line(p, n, of->label_form);
fail:
    free(p);
    return st;
}
