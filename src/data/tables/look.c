/* look.h: kinds of columns from their cells. A form is chosen by the column; where several forms
 * read it equally well, by the other columns of the file. */
#include <math.h>

#include "base/in_threads.h"
#include "data/tables/look.h"

enum { MANY_CATEGORIES = 50, LEAST_ROWS = 10 };

/* ---- counting ---- */

/* How many different cells the column has. */
static vkt_status count_distinct(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t c,
                                 uint32_t *out)
{
    vkt_status st;
    uint32_t size = 16, *slot = NULL; /* open addressing; 0: free, else a row's place + 1 */
    while (size < 2 * (uint64_t)n && size < 1u << 31) size *= 2;
    *out = 0;
    VKT_TRY(vkt__alloc_large(size, sizeof *slot, "a column's values", &slot));
    memset(slot, 0, size * sizeof *slot);
    for (uint32_t i = 0; i < n; i++) {
        const char *cell = vkt__csv_cell(csv, rows[i], c);
        if (vkt__csv_missing(cell)) continue;
        uint32_t at = (uint32_t)vkt__hash(cell, strlen(cell), 1) & (size - 1);
        while (slot[at] && strcmp(vkt__csv_cell(csv, rows[slot[at] - 1], c), cell) != 0)
            at = (at + 1) & (size - 1);
        *out += !slot[at];
        if (!slot[at]) slot[at] = i + 1;
    }
    free(slot);
fail:
    return st;
}

/* Pairs of forms that can read the same cell to different values. */
static const vkt__form pairs[][2] = { { VKT__FORM_POINT, VKT__FORM_COMMA },
                                      { VKT__FORM_POINT, VKT__FORM_POINT_COMMA },
                                      { VKT__FORM_PLAIN, VKT__FORM_POINT_COMMA },
                                      { VKT__FORM_DAY_FIRST, VKT__FORM_MONTH_FIRST } };
enum { N_PAIRS = 4 };

typedef struct counts {
    uint32_t form[VKT__N_FORMS];
    bool differ[N_PAIRS]; /* in a cell at least */
} counts;

static void count_cell(const char *cell, counts *out)
{
    double v[VKT__N_FORMS];
    bool is[VKT__N_FORMS];
    if (!strpbrk(cell, "0123456789")) return; /* each form has a digit */
    for (int f = 0; f < VKT__N_FORMS; f++) {
        is[f] = vkt__form_value((vkt__form)f, VKT__DATE_YEAR, cell, &v[f]);
        out->form[f] += is[f];
    }
    for (int p = 0; p < N_PAIRS; p++) {
        vkt__form a = pairs[p][0], b = pairs[p][1];
        out->differ[p] |= is[a] && is[b] && v[a] != v[b];
    }
}

/* Range and order of numbers, one after the other. */
typedef struct extent {
    double before, step, low, high;
    bool begun, whole, rising, even;
} extent;

static extent no_extent(void)
{
    return (extent) { NAN, NAN, INFINITY, -INFINITY, false, true, true, true };
}

static void extent_add(extent *r, double v)
{
    r->low = v < r->low ? v : r->low;
    r->high = v > r->high ? v : r->high;
    r->whole = r->whole && v == floor(v);
    if (r->begun) {
        if (isnan(r->step)) r->step = v - r->before;
        r->rising = r->rising && v > r->before;
        r->even = r->even && v - r->before == r->step && r->step != 0;
    }
    r->begun = true;
    r->before = v;
}

#define FEWEST_WIDE 1e15 /* below it a whole number has digits that a double keeps */

/* What a column is found to be, row by row. */
typedef struct finding {
    counts count;
    extent plain; /* of its plain numbers */
    const char *wide;
} finding;

/* Some of the rows: how many cells each form reads; all forms only where plain numbers do not read
 * all. number: by row of the table, until a cell is none; or NULL. */
static void count_forms(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t c, bool all,
                        double *number, finding *f, vkt__look *k)
{
    double v;
    for (uint32_t i = 0; i < n; i++) {
        const char *cell = vkt__csv_cell(csv, rows[i], c);
        if (vkt__csv_missing(cell)) {
            k->n_blank++;
            if (number && !k->odd) number[rows[i]] = NAN;
            continue;
        }
        if (!k->n++) k->first = cell, k->constant = true;
        k->constant = k->constant && strcmp(cell, k->first) == 0;
        bool plain = vkt__form_value(VKT__FORM_PLAIN, VKT__DATE_WHOLE, cell, &v);
        if (plain) extent_add(&f->plain, v);
        if (plain && number && !k->odd) number[rows[i]] = v;
        if (plain && !f->wide && fabs(v) >= FEWEST_WIDE && vkt__form_rounds(VKT__FORM_PLAIN, cell))
            f->wide = cell;
        if (!plain && !k->odd) k->odd = cell;
        if (!k->code && vkt__form_is_code(cell)) k->code = cell;
        if (all)
            count_cell(cell, &f->count);
        else
            f->count.form[VKT__FORM_PLAIN] += plain;
    }
}

/* All forms of a column. */
static void count_all(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t c, finding *f,
                      vkt__look *k)
{
    *f = (finding) { .plain = no_extent() };
    k->n = k->n_blank = 0;
    count_forms(csv, rows, n, c, true, NULL, f, k);
}

static bool comma(vkt__form f)
{
    return f == VKT__FORM_COMMA || f == VKT__FORM_POINT_COMMA || f == VKT__FORM_BLANK_COMMA;
}

/* The form that reads most cells, the simpler where two do; and the other one. */
static void choose(vkt__look *k, const counts *count)
{
    int best = 0;
    for (int f = 1; f < VKT__N_FORMS; f++)
        if (count->form[f] > count->form[best]) best = f;
    bool most = k->n && 2 * (uint64_t)count->form[best] >= k->n;
    k->form = most ? (vkt__form)best : VKT__FORM_TEXT;
    k->other = VKT__FORM_TEXT;
    for (int p = 0; p < N_PAIRS && most; p++)
        if (k->other == VKT__FORM_TEXT && pairs[p][0] == k->form && count->differ[p] &&
            count->form[pairs[p][1]] == count->form[best])
            k->other = pairs[p][1];
}

/* Whether decimal commas are likely decides what 1,234 is, what 1.234 and what 5/6/2024. */
static void settle(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t c, bool commas,
                   vkt__look *k)
{
    if (k->form == VKT__FORM_PLAIN && commas && !k->odd && k->n) {
        /* 1.234 in every cell could be thousands: only now it matters. */
        finding f;
        vkt__look again = { 0 };
        count_all(csv, rows, n, c, &f, &again);
        choose(k, &f.count);
    }
    bool dates = k->form == VKT__FORM_DAY_FIRST;
    if (k->other != VKT__FORM_TEXT && (dates ? !commas && strchr(k->first, '/') : commas)) {
        vkt__form first = k->form;
        k->form = k->other;
        k->other = first;
        if (!k->odd) k->odd = k->first;
    }
}

/* UTC offsets of dates; units of numbers, and whether they have more digits than a number keeps. */
static void measure_cell(const char *cell, bool first, vkt__look *k)
{
    if (vkt__form_is_date(k->form)) {
        int zone = vkt__form_zone(k->form, cell);
        if (first) k->zone = zone;
        k->zones = k->zones || zone != k->zone;
        return;
    }
    if (!k->wide && vkt__form_rounds(k->form, cell)) k->wide = cell;
    const char *unit = k->form == VKT__FORM_PLAIN ? "" : vkt__form_unit(cell);
    if (!*unit) return;
    if (!*k->unit) k->unit = unit;
    if (strcmp(k->unit, unit) != 0) k->other_unit = unit;
    k->n_unit++;
}

/* Range and order of what the form reads. */
static void measure(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t c,
                    const finding *f, vkt__look *k)
{
    extent r = k->form == VKT__FORM_PLAIN ? f->plain : no_extent();
    vkt__date_part part = k->form == VKT__FORM_TIME    ? VKT__DATE_HOUR
                          : vkt__form_is_date(k->form) ? VKT__DATE_YEAR
                                                       : VKT__DATE_WHOLE;
    if (k->form == VKT__FORM_PLAIN) k->wide = f->wide;
    for (uint32_t i = 0; i < n && k->form != VKT__FORM_PLAIN; i++) {
        double v, hour;
        const char *cell = vkt__csv_cell(csv, rows[i], c);
        if (vkt__csv_missing(cell) || !vkt__form_value(k->form, part, cell, &v)) continue;
        measure_cell(cell, !r.begun, k);
        extent_add(&r, v);
        if (part && vkt__form_value(k->form, VKT__DATE_HOUR, cell, &hour)) k->clock |= hour != 0;
    }
    k->whole = r.whole;
    k->rising = r.rising;
    k->even = r.even;
    k->low = r.low;
    k->high = r.high;
}

/* Each whole number once, in a range of at most twice as many as there are. */
static vkt_status find_numbering(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t c,
                                 vkt__look *k)
{
    vkt_status st;
    uint8_t *seen = NULL;
    const double *known = vkt__csv_numbers(csv, c);
    double range = k->high - k->low;
    if (k->form != VKT__FORM_PLAIN || !k->whole || k->n < 2 || !(range <= 2.0 * k->n))
        return VKT_OK;
    VKT_TRY(vkt__alloc_large((uint64_t)range + 1, 1, "a column's values", &seen));
    memset(seen, 0, (size_t)range + 1);
    k->numbered = true;
    for (uint32_t i = 0; i < n && k->numbered; i++) {
        double v = known ? known[rows[i]] : 0;
        const char *cell = known ? "" : vkt__csv_cell(csv, rows[i], c);
        if (known ? isnan(v) : vkt__csv_missing(cell)) continue;
        k->numbered = (known || vkt__form_value(k->form, VKT__DATE_WHOLE, cell, &v)) &&
                      !seen[(size_t)(v - k->low)];
        if (k->numbered) seen[(size_t)(v - k->low)] = 1;
    }
    free(seen);
fail:
    return st;
}

/* Cells that are 999, -99 or the like, three times as far away as all others lie apart: what some
 * write where there is no value. */
static void find_far(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t c, vkt__look *k)
{
    static const double values[] = { 99, 999, 9999, 99999, 999999 };
    k->far = 0;
    for (size_t i = 0; i < VKT_COUNT(values); i++)
        if (k->high == values[i] || k->low == -values[i])
            k->far = k->high == values[i] ? k->high : k->low;
    if (k->form >= VKT__FORM_YEAR_FIRST || k->far == 0) return;
    k->near_low = INFINITY, k->near_high = -INFINITY;
    uint32_t n_far = 0;
    for (uint32_t i = 0; i < n; i++) {
        double v;
        const char *cell = vkt__csv_cell(csv, rows[i], c);
        if (vkt__csv_missing(cell) || !vkt__form_value(k->form, VKT__DATE_WHOLE, cell, &v))
            continue;
        n_far += v == k->far;
        if (v == k->far) continue;
        k->near_low = fmin(k->near_low, v);
        k->near_high = fmax(k->near_high, v);
    }
    double range = k->near_high - k->near_low,
           gap = k->far > k->near_high ? k->far - k->near_high : k->near_low - k->far;
    if (range > 0 && gap > 3 * range) k->n_far = n_far;
}

/* Columns are looked at in threads, where there are cells enough for them. */
enum { CELLS_FOR_THREADS = 1 << 16 };

typedef struct looking {
    const vkt__csv *csv;
    const uint32_t *rows;
    uint32_t n;
    bool commas;
    finding *found;
    vkt__look *out;
    double *number; /* [n_columns, n_rows of the table], or NULL */
} looking;

static uint32_t threads_for(const looking *l)
{
    bool few = (uint64_t)l->n * l->csv->n_columns < CELLS_FOR_THREADS;
    return few ? 1 : vkt__threads_for(l->csv->n_columns, 16);
}

/* Columns i, i + each, ..: rows of them in blocks, whose cells stay in a cache meanwhile. */
static void count_columns(void *user, uint32_t thread, uint32_t i)
{
    enum { ROWS = 512 };
    const looking *l = user;
    size_t each = threads_for(l), n_columns = l->csv->n_columns;
    (void)thread;
    for (uint32_t r = 0; r < l->n; r += VKT_MIN(ROWS, l->n - r))
        for (size_t c = i; c < n_columns; c += each)
            count_forms(l->csv, l->rows + r, VKT_MIN(ROWS, l->n - r), c, false,
                        l->number ? l->number + c * l->csv->n_rows : NULL, &l->found[c],
                        &l->out[c]);
    for (size_t c = i; c < n_columns; c += each) {
        vkt__look *k = &l->out[c];
        if (l->found[c].count.form[VKT__FORM_PLAIN] < k->n)
            count_all(l->csv, l->rows, l->n, c, &l->found[c], k);
        choose(k, &l->found[c].count);
    }
}

static void measure_column(void *user, uint32_t thread, uint32_t c)
{
    const looking *l = user;
    vkt__look *k = &l->out[c];
    (void)thread;
    settle(l->csv, l->rows, l->n, c, l->commas, k);
    k->zone = VKT__ZONE_NONE;
    k->unit = "";
    if (k->form == VKT__FORM_TEXT) return;
    measure(l->csv, l->rows, l->n, c, &l->found[c], k);
    find_far(l->csv, l->rows, l->n, c, k);
}

/* Columns that are blank and plain numbers throughout, with the table. */
static vkt_status keep_numbers(looking *l, vkt__csv *csv)
{
    vkt_status st;
    bool any = false;
    free(csv->number);
    free(csv->numeric);
    csv->number = NULL;
    csv->numeric = NULL;
    VKT_TRY(vkt__alloc_large(csv->n_columns, 1, "columns", &csv->numeric));
    for (size_t c = 0; c < csv->n_columns; c++)
        any |= csv->numeric[c] = l->number && l->out[c].n && !l->out[c].odd;
    if (!any) return VKT_OK;
    csv->number = l->number;
    l->number = NULL;
fail:
    return st;
}

vkt_status vkt__look_at(const vkt__csv *csv, const uint32_t *rows, uint32_t n, size_t label,
                        vkt__look *out, vkt__csv *keep)
{
    vkt_status st;
    looking l = { csv, rows, n, csv->delimiter == ';', NULL, out, NULL };
    VKT_TRY(vkt__alloc_large(csv->n_columns, sizeof *l.found, "columns", &l.found));
    if (keep) { /* without room for them they are parsed again */
        vkt__log_ignore(true);
        if (vkt__alloc_large(csv->n_columns, (uint64_t)csv->n_rows * sizeof *l.number,
                             "a table's numbers", &l.number) != VKT_OK)
            l.number = NULL;
        vkt__log_ignore(false);
    }
    for (size_t c = 0; c < csv->n_columns; c++) {
        l.found[c] = (finding) { .plain = no_extent() };
        out[c] = (vkt__look) { 0 };
    }
    vkt__in_threads(threads_for(&l), threads_for(&l), count_columns, &l);
    for (size_t c = 0; c < csv->n_columns; c++) l.commas = l.commas || comma(out[c].form);
    if (keep) VKT_TRY(keep_numbers(&l, keep));
    vkt__in_threads((uint32_t)csv->n_columns, threads_for(&l), measure_column, &l);
    for (size_t c = 0; c < csv->n_columns; c++) {
        vkt__look *k = &out[c];
        if (k->form != VKT__FORM_TEXT) VKT_TRY(find_numbering(csv, rows, n, c, k));
        if (k->form == VKT__FORM_TEXT || c == label)
            VKT_TRY(count_distinct(csv, rows, n, c, &k->n_distinct));
    }
fail:
    free(l.found);
    free(l.number);
    return st;
}

/* ---- in words ---- */

static void kind_note(const vkt__look *k, bool embed, vkt__str *s)
{
    char unsure[80] = "";
    if (k->other != VKT__FORM_TEXT)
        snprintf(unsure, sizeof unsure, " (a guess: %s would read it, too)",
                 vkt__form_name(k->other));
    if (embed)
        vkt__str_printf(s, "%u cells as '%s': a vector is learned for each different one", k->n,
                        vkt__show(k->first).s);
    else if (vkt__form_is_date(k->form))
        vkt__str_printf(s, "dates or times as '%s', read as %s%s%s: %s are inputs",
                        vkt__show(k->first).s, vkt__form_name(k->form), unsure,
                        !k->zones ? "" : ", by the clock of UTC, as their offsets differ",
                        k->form == VKT__FORM_TIME ? "hours"
                        : k->clock
                            ? "year with its fraction, month, day, weekday (Monday is 0) "
                              "and hour"
                            : "year with its fraction, month, day and weekday (Monday is 0)");
    else if (k->form != VKT__FORM_PLAIN && k->form != VKT__FORM_TEXT)
        vkt__str_printf(s, "numbers as '%s', read as %s%s: from %.6g to %.6g", vkt__show(k->odd).s,
                        vkt__form_name(k->form), unsure, k->low, k->high);
    else if (k->form == VKT__FORM_TEXT && k->n_distinct > MANY_CATEGORIES)
        vkt__str_printf(s,
                        "text, %u different values in %u rows, as '%s': an input for each; "
                        "data.embed learns a vector for each",
                        k->n_distinct, k->n, vkt__show(k->first).s);
    else if (k->form == VKT__FORM_PLAIN && k->code)
        vkt__str_printf(s,
                        "numbers as '%s', read without the leading zeros; if they are codes, "
                        "data.embed learns a vector for each",
                        vkt__show(k->code).s);
}

/* Cells that are read as if they were written like the others. */
static void unit_note(const vkt__look *k, vkt__str *s)
{
    if (!k->unit || !*k->unit || k->form == VKT__FORM_TEXT) return;
    if (k->other_unit)
        vkt__str_printf(s, "%scells have '%s' and '%s', which make no difference",
                        s->len ? "; " : "", k->unit, k->other_unit);
    else if (k->n_unit < k->n && *k->unit == '%')
        vkt__str_printf(s, "%s%u of %u cells lack the '%s' and are read as if they had it",
                        s->len ? "; " : "", k->n - k->n_unit, k->n, k->unit);
}

static void far_note(const vkt__look *k, vkt__str *s)
{
    if (k->n_far)
        vkt__str_printf(s,
                        "%s%u cell%s %.6g, far from the others' %.6g to %.6g: if that is no value, "
                        "empty them",
                        s->len ? "; " : "", k->n_far, k->n_far == 1 ? " is" : "s are", k->far,
                        k->near_low, k->near_high);
}

const char *vkt__look_note(const vkt__look *k, const char *name, bool fill, bool embed,
                           vkt__arena *arena)
{
    vkt__str s = { 0 };
    kind_note(k, embed, &s);
    if (!embed) unit_note(k, &s);
    if (!embed) far_note(k, &s);
    if (k->n_blank)
        vkt__str_printf(&s, "%s%u of %u cells are blank%s", s.len ? "; " : "", k->n_blank,
                        k->n + k->n_blank,
                        !fill                       ? ""
                        : k->form == VKT__FORM_TEXT ? ": a category of their own"
                                                    : ": the mean stands there");
    const char *useless = embed ? NULL : vkt__look_useless(k, name, arena);
    if (useless) vkt__str_printf(&s, "%s%s", s.len ? "; " : "", useless);
    const char *out =
        s.len ? vkt__arena_printf(arena, "column '%s': %s", vkt__show(name).s, s.data) : NULL;
    vkt__str_finish(&s);
    return out;
}

/* "column 0": it has no name, as the names of R's rows. */
static bool named_id(const char *name)
{
    static const char *const words[] = { "id",    "index",     "row",       "rownames",
                                         "rowid", "row_id",    "uuid",      "Unnamed: 0",
                                         "X",     "rownumber", "row number" };
    size_t n = strlen(name);
    for (size_t i = 0; i < VKT_COUNT(words); i++)
        if (vkt__same_word(name, words[i])) return true;
    return (n > 3 && vkt__same_word(name + n - 3, "_id")) || strcmp(name, "column 0") == 0;
}

const char *vkt__look_useless(const vkt__look *k, const char *name, vkt__arena *arena)
{
    if (k->n == 0) return "no cell has a value";
    if (k->n + k->n_blank < LEAST_ROWS) return NULL;
    if (k->constant && !k->n_blank)
        return vkt__arena_printf(arena, "every cell is '%s'", vkt__show(k->first).s);
    bool numbers = k->form == VKT__FORM_PLAIN;
    if (numbers && k->even && k->whole && !k->n_blank) return "it counts the rows";
    if (k->wide)
        return vkt__arena_printf(arena, "whole numbers beyond 2^53, as '%s': an identifier",
                                 vkt__show(k->wide).s);
    if (k->numbered && named_id(name)) return "it numbers the rows";
    if (numbers && k->whole && named_id(name) && (k->rising || k->high > 10.0 * k->n))
        return "it is an identifier by its name";
    if (k->form == VKT__FORM_TEXT && k->n_distinct > k->n / 2 && k->n_distinct > 20)
        return vkt__arena_printf(arena,
                                 "text, %u different values in %u rows: an identifier, or "
                                 "free text",
                                 k->n_distinct, k->n);
    return NULL;
}
