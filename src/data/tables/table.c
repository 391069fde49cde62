/* A parsed table under a schema: is there a header, which file column is which, missing cells,
 * labels and inputs. Used both when a schema has just been fitted and when one is read from a
 * checkpoint. */
#include <math.h>
#include <stdatomic.h>

#include "base/number.h"
#include "base/in_threads.h"
#include "data/parts/parts.h"
#include "data/tables/csv.h"
#include "data/tables/scaling.h"
#include "data/tables/sentences.h"
#include "data/tables/table.h"
#include "data/tables/value_ids.h"

/* The first line is a header if it holds the label's name, or holds no number although some column
 * below does, or, where all is text, if none of its cells comes again in its column. */
bool vkt__table_has_header(const vkt__csv *csv, const char *label)
{
    size_t n_look = VKT_MIN(csv->n_rows, 1000), n_named = 0;
    double v;
    if (csv->n_classes) return false;
    bool position = !label || strcmp(label, "last") == 0 || vkt__number(label, &v);
    for (size_t c = 0; !position && c < csv->n_columns; c++)
        if (strcmp(vkt__csv_cell(csv, 0, c), label) == 0) return true;
    for (size_t c = 0; c < csv->n_columns; c++) {
        const char *cell = vkt__csv_cell(csv, 0, c);
        if (vkt__form_is_number(cell)) return false;
        n_named += !vkt__csv_missing(cell);
    }
    if (n_named == 0) return false;
    bool again = false;
    for (size_t c = 0; c < csv->n_columns; c++) {
        size_t n_numbers = 0;
        for (size_t r = 1; r < n_look; r++) {
            const char *cell = vkt__csv_cell(csv, r, c);
            n_numbers += vkt__number(cell, &v) || vkt__form_is_number(cell);
            again = again || strcmp(cell, vkt__csv_cell(csv, 0, c)) == 0;
        }
        if (n_numbers > 0 && 2 * n_numbers >= n_look - 1) return true;
    }
    return !again;
}

static int64_t find_name(const vkt__csv *csv, const char *name)
{
    for (size_t c = 0; c < csv->n_columns; c++)
        if (strcmp(vkt__csv_cell(csv, 0, c), name) == 0) return (int64_t)c;
    return -1;
}

/* By name; a column that had no name when the schema was fitted stands where it stood. */
static int64_t find_column(const vkt__csv *csv, const char *name, uint32_t position)
{
    int64_t at = find_name(csv, name);
    if (at < 0 && position < csv->n_columns && vkt__csv_missing(vkt__csv_cell(csv, 0, position)))
        at = position;
    return at;
}

static bool knows(const vkt__schema *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_columns; i++)
        if (!strcmp(s->columns[i].name, name)) return true;
    for (uint32_t k = 0; k < s->n_targets; k++)
        if (!strcmp(vkt__target_column(&s->targets[k]), name)) return true;
    for (uint32_t i = 0; i < s->n_ignored; i++)
        if (!strcmp(s->ignored[i], name)) return true;
    return false;
}

/* The first of n columns, by its name where it has one. */
static void say_unknown(const vkt__schema *s, const vkt__csv *csv, uint64_t n)
{
    size_t c = 0;
    while (c < csv->n_columns &&
           (knows(s, vkt__csv_cell(csv, 0, c)) || vkt__csv_missing(vkt__csv_cell(csv, 0, c))))
        c++;
    const char *name = c < csv->n_columns ? vkt__csv_cell(csv, 0, c) : "";
    vkt_log(VKT_LOG_WARN, "data",
            "'%s': %llu column%s that the training data did not have %s ignored%s%s%s", csv->name,
            (unsigned long long)n, n == 1 ? "" : "s", n == 1 ? "is" : "are",
            !*name   ? ""
            : n == 1 ? ": '"
                     : ", such as '",
            vkt__show(name).s, *name ? "'" : "");
}

static vkt_status match_names(const vkt__schema *s, bool said, vkt__table *t)
{
    uint64_t used = 0;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        used += i == 0 || s->columns[i].position != s->columns[i - 1].position;
        int64_t at = find_column(t->csv, s->columns[i].name, s->columns[i].position);
        if (at < 0)
            return vkt__fail(
                VKT_E_FORMAT, "data",
                "'%s' line %u: column '%s', which the model needs, is not in the header",
                t->csv->name, t->csv->line[0], vkt__show(s->columns[i].name).s);
        t->column[i] = (uint32_t)at;
    }
    t->first_row = 1;
    t->labelled = true;
    for (uint32_t k = 0; k < s->n_targets; k++) {
        const vkt__target *of = &s->targets[k];
        int64_t at = find_column(t->csv, vkt__target_column(of), of->position);
        used += at >= 0 && vkt__target_begins(of);
        t->labelled = t->labelled && at >= 0;
        t->label[k] = at >= 0 ? (uint32_t)at : 0;
    }
    for (uint32_t i = 0; i < s->n_ignored; i++) used += find_name(t->csv, s->ignored[i]) >= 0;
    for (size_t i = 0; s->n_ignored && i < t->csv->n_columns; i++) /* ignored without a name */
        used += vkt__csv_missing(vkt__csv_cell(t->csv, 0, i));
    if (used < t->csv->n_columns && !said) say_unknown(s, t->csv, t->csv->n_columns - used);
    return VKT_OK;
}

static vkt_status match_positions(const vkt__schema *s, vkt__table *t)
{
    size_t n = t->csv->n_columns;
    uint32_t n_labels = 0;
    for (uint32_t k = 0; k < s->n_targets; k++) n_labels += vkt__target_begins(&s->targets[k]);
    if (n != s->n_file_columns && n + n_labels != s->n_file_columns)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has %zu columns; the model needs %u, or %u without the label",
                         t->csv->name, n, s->n_file_columns, s->n_file_columns - n_labels);
    t->labelled = n == s->n_file_columns;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        uint32_t at = t->column[i] = s->columns[i].position;
        for (uint32_t k = 0; k < s->n_targets && !t->labelled; k++)
            t->column[i] -= vkt__target_begins(&s->targets[k]) && at > s->targets[k].position;
    }
    for (uint32_t k = 0; k < s->n_targets; k++) t->label[k] = s->targets[k].position;
    return VKT_OK;
}

static bool names_a_column(const vkt__schema *s, const vkt__csv *csv)
{
    for (uint32_t i = 0; i < s->n_columns; i++)
        if (find_name(csv, s->columns[i].name) >= 0) return true;
    return false;
}

vkt_status vkt__table_match(const vkt__schema *s, vkt__csv *csv, bool need_label,
                            const vkt__table_part *part, vkt__table *out)
{
    vkt_status st = VKT_OK;
    vkt__table t = { .csv = csv };
    VKT_TRY(vkt__alloc_large(s->n_columns, sizeof *t.column, "columns", &t.column));
    VKT_TRY(vkt__alloc_large(s->n_targets, sizeof *t.label, "labels", &t.label));
    bool later = part && part->later,
         header = later ? part->header
                        : s->header && csv->n_classes == 0 &&
                              (names_a_column(s, csv) || vkt__table_has_header(csv, NULL));
    if (header) VKT_TRY(vkt__csv_number_names(csv, later));
    VKT_TRY(header ? match_names(s, later, &t) : match_positions(s, &t));
    t.fixed = !need_label;
    if (need_label && !t.labelled) {
        uint32_t k = 0;
        while (header && k + 1 < s->n_targets &&
               find_name(csv, vkt__target_column(&s->targets[k])) >= 0)
            k++;
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' lacks the label column '%s'", csv->name,
                       vkt__show(vkt__target_column(&s->targets[k])).s);
        goto fail;
    }
    *out = t;
    return VKT_OK;
fail:
    vkt__table_finish(&t);
    return st;
}

void vkt__table_columns(const vkt__schema *s, vkt__table *t)
{
    free(t->column);
    t->column = vkt__alloc(s->n_columns * sizeof *t->column);
    for (uint32_t i = 0; i < s->n_columns; i++) t->column[i] = s->columns[i].position;
    free(t->label);
    t->label = vkt__alloc(s->n_targets * sizeof *t->label);
    for (uint32_t k = 0; k < s->n_targets; k++) t->label[k] = s->targets[k].position;
}

void vkt__table_finish(vkt__table *t)
{
    free(t->column);
    free(t->label);
    free(t->rows);
    *t = (vkt__table) { 0 };
}

/* A blank cell of several labels is one without any. */
static bool label_missing(const vkt__schema *s, const vkt__table *t, size_t row, uint32_t k)
{
    uint32_t column = t->label[k];
    if (s->task == VKT_TASK_REGRESS && !s->targets[k].label)
        return vkt__csv_missing(vkt__csv_cell(t->csv, row, column));
    return vkt__csv_label_missing(t->csv, row, column) &&
           (s->task != VKT_TASK_MULTILABEL || *vkt__csv_cell(t->csv, row, column));
}

/* The name of the first missing cell's column in the row, NULL if none is missing. */
const char *vkt__table_missing(const vkt__schema *s, const vkt__table *t, size_t row,
                               bool *is_label)
{
    for (uint32_t k = 0; k < s->n_targets && t->labelled; k++) {
        if (!vkt__target_begins(&s->targets[k])) continue; /* its label's cell was asked for */
        *is_label = label_missing(s, t, row, k);
        if (*is_label) return vkt__target_column(&s->targets[k]);
    }
    *is_label = false;
    for (uint32_t i = 0; i < s->n_columns; i++)
        if (vkt__csv_missing(vkt__csv_cell(t->csv, row, t->column[i]))) return s->columns[i].name;
    return NULL;
}

vkt_status vkt__table_keep(const vkt__schema *s, vkt__table *t)
{
    const vkt__csv *csv = t->csv;
    vkt_status st;
    if (csv->n_rows == t->first_row)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has a header but no rows", csv->name);
    VKT_TRY(vkt__alloc_large(csv->n_rows, sizeof *t->rows, "rows", &t->rows));
    for (size_t r = t->first_row; r < csv->n_rows; r++) {
        bool is_label;
        const char *column = vkt__table_missing(s, t, r, &is_label);
        if (column && s->missing == VKT_MISSING_ERROR)
            return vkt__fail(
                VKT_E_FORMAT, "data", "'%s' line %u: no value in column '%s'%s: fill it%s",
                csv->name, csv->line[r], vkt__show(column).s,
                is_label && *vkt__csv_cell(csv, r, t->label[0]) && s->task == VKT_TASK_CLASSIFY
                    ? " (NA is a class where it stands in quotes)"
                    : "",
                t->fixed ? ", as the model was trained without empty cells"
                         : ", or set data.missing to mean or drop");
        /* A mean is no label: the row is left out. */
        if (!column || (s->missing == VKT_MISSING_MEAN && !is_label)) {
            t->rows[t->n++] = (uint32_t)r;
            continue;
        }
        if (!t->n_dropped++) t->dropped_for = column;
        t->n_unlabelled += is_label;
    }
    if (t->n == 0)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s': all %llu rows have missing values and were dropped: set data.missing to mean",
            csv->name, (unsigned long long)t->n_dropped);
fail:
    return st;
}

vkt_status vkt__table_lines(const vkt__table *t, uint32_t **out)
{
    vkt_status st;
    VKT_TRY(vkt__alloc_large(t->n, sizeof **out, "lines", out));
    for (uint32_t i = 0; i < t->n; i++) (*out)[i] = t->csv->line[t->rows[i]];
fail:
    return st;
}

static int compare_value(const vkt__schema *s, const char *cell, double number, const char *value)
{
    double v;
    if (!s->class_numbers) return strcmp(cell, value);
    vkt__number(value, &v);
    return (number > v) - (number < v);
}

/* The class whose value the cell holds; n_outputs if none. */
static uint32_t find_class(const vkt__schema *s, const char *cell)
{
    uint32_t low = 0, high = s->n_outputs;
    double number = 0;
    if (s->class_numbers && !vkt__number(cell, &number)) return s->n_outputs;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int c = compare_value(s, cell, number, s->class_values[mid]);
        if (c == 0) return mid;
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return s->n_outputs;
}

static vkt_status not_a_number(const vkt__csv *csv, uint32_t row, const char *column,
                               vkt__form form, const char *cell, const char *also)
{
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s' line %u: '%s' in column '%s' is not a %s%s: correct it, or leave the cell "
        "empty%s",
        csv->name, csv->line[row], vkt__show(cell).s, vkt__show(column).s,
        vkt__form_is_date(form) ? "date or time written as "
        : form                  ? "number written as "
                                : "number",
        form ? vkt__form_name(form) : "", also);
}

static vkt_status too_far(const vkt__csv *csv, uint32_t row, const char *column, double v,
                          double mean, double std)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' line %u: %g in column '%s' is too far from the training data's mean %g "
                     "(deviation %g)",
                     csv->name, csv->line[row], v, vkt__show(column).s, mean, std);
}

static vkt_status class_label(const vkt__schema *s, const vkt__table *t, uint32_t row,
                              vkt_label *out)
{
    const char *cell = vkt__csv_cell(t->csv, row, t->label[0]);
    out->u = find_class(s, cell);
    if (out->u < s->n_outputs) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' line %u: class '%s' is not among the %u classes of the training data",
                     t->csv->name, t->csv->line[row], vkt__show(cell).s, s->n_outputs);
}

/* The classes of the label that begins with target k, by their texts. */
static vkt_status know_classes(const vkt__schema *s, uint32_t k, vkt__value_ids *ids)
{
    vkt_status st = VKT_OK;
    uint32_t id;
    for (uint32_t c = 0; c < s->targets[k].n_classes; c++)
        VKT_TRY(vkt__value_id(ids, s->targets[k + c].value, &id));
fail:
    return st;
}

/* of: the first class of a label; out [n_classes]: 1 at the cell's, else 0. */
static vkt_status class_labels(const vkt__table *t, uint32_t row, const char *cell,
                               const vkt__target *of, vkt__value_ids *ids, vkt_label *out)
{
    vkt_status st;
    uint32_t id;
    VKT_TRY(vkt__value_id(ids, cell, &id));
    for (uint32_t c = 0; c < of->n_classes; c++) out[c].f = c == id ? 1 : 0;
    if (id < of->n_classes) return VKT_OK;
    st = vkt__fail(VKT_E_FORMAT, "data",
                   "'%s' line %u: '%s' in column '%s' is not among its %u classes of the training "
                   "data",
                   t->csv->name, t->csv->line[row], vkt__show(cell).s, vkt__show(of->label).s,
                   of->n_classes);
fail:
    return st;
}

/* ids [n_targets] */
static vkt_status number_labels(const vkt__schema *s, const vkt__table *t, uint32_t row,
                                vkt__value_ids *ids, vkt_label *out)
{
    for (uint32_t k = 0; k < s->n_targets; k++) {
        const vkt__target *of = &s->targets[k];
        const char *cell = vkt__csv_cell(t->csv, row, t->label[k]);
        double v;
        if (of->label) {
            vkt_status st =
                of->n_classes ? class_labels(t, row, cell, of, &ids[k], out + k) : VKT_OK;
            if (st != VKT_OK) return st;
            continue;
        }
        if (!vkt__form_value(of->form, VKT__DATE_WHOLE, cell, &v))
            return not_a_number(t->csv, row, of->name, of->form, cell,
                                s->n_targets > 1 ? "; a label of classes is named in data.classes"
                                                 : "");
        if (!vkt__target_takes(of->curve, v))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: label '%s' is %g, but data.target is for %s",
                             t->csv->name, t->csv->line[row], vkt__show(of->name).s, v,
                             vkt__target_wants(of->curve));
        out[k].f = (float)vkt__target_learned(of, v);
        if (!isfinite(out[k].f))
            return too_far(t->csv, row, of->name, v, vkt__target_given(of, 0),
                           vkt__target_deviation(of));
    }
    return VKT_OK;
}

static vkt_status label_set(const vkt__schema *s, const vkt__table *t, uint32_t row, vkt_label *out)
{
    char where[300];
    snprintf(where, sizeof where, "'%.250s' line %u", t->csv->name, t->csv->line[row]);
    return vkt__label_set_read(s, vkt__csv_cell(t->csv, row, t->label[0]), where, out);
}

vkt_status vkt__table_labels(const vkt__schema *s, const vkt__table *t, vkt_label *out)
{
    vkt_status st = VKT_OK;
    uint32_t n = vkt__n_labels(s);
    vkt__value_ids *ids = vkt__alloc(s->n_targets * sizeof *ids);
    for (uint32_t k = 0; k < s->n_targets; k++) VKT_TRY(know_classes(s, k, &ids[k]));
    for (uint32_t i = 0; i < t->n; i++) {
        vkt_label *to = out + (size_t)i * n;
        VKT_TRY(s->task == VKT_TASK_CLASSIFY  ? class_label(s, t, t->rows[i], to)
                : s->task == VKT_TASK_REGRESS ? number_labels(s, t, t->rows[i], ids, to)
                                              : label_set(s, t, t->rows[i], to));
    }
fail:
    for (uint32_t k = 0; k < s->n_targets; k++) vkt__value_ids_finish(&ids[k]);
    free(ids);
    return st;
}

/* The cell's category, a blank's is the column's own; n_categories: it is none. */
static uint32_t category_of(const vkt__column *c, const char *cell)
{
    uint32_t low = 0, high = c->n_categories;
    if (vkt__csv_missing(cell)) return c->fill_category;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = strcmp(cell, c->categories[mid]);
        if (order == 0) return mid;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return c->n_categories;
}

/* One input for each category, or the row of the cell's. False: it is none of them, which no input
 * says. */
static bool category_cell(const vkt__column *c, const char *cell, float *x)
{
    uint32_t k = category_of(c, cell);
    bool known = k < c->n_categories;
    if (c->embed) {
        *x = known ? (float)(c->first_row + k) : -1;
    } else {
        memset(x, 0, c->n_categories * sizeof *x);
        if (known) x[k] = 1;
    }
    return known;
}

bool vkt__column_value(const vkt__column *c, const char *cell, double *out)
{
    int zone = c->zoned ? c->zone : VKT__ZONE_NONE;
    if (vkt__form_value_at(c->form, c->part, zone, cell, out)) return true;
    /* Programs write dates with the year first, which no column of the other orders can mean. */
    return (c->form == VKT__FORM_DAY_FIRST || c->form == VKT__FORM_MONTH_FIRST) &&
           vkt__form_value_at(VKT__FORM_YEAR_FIRST, c->part, zone, cell, out);
}

/* known: the column's numbers as they were read before, or NULL. */
static vkt_status number_cell(const vkt__table *t, uint32_t row, const vkt__column *c,
                              const double *known, const char *cell, float *x)
{
    double v = c->fill;
    if (known)
        v = isnan(known[row]) ? v : known[row];
    else if (!vkt__csv_missing(cell) && !vkt__column_value(c, cell, &v))
        return not_a_number(t->csv, row, c->name, c->form, cell, "");
    return vkt__scaling_inputs(c, v, x) ? VKT_OK
                                        : too_far(t->csv, row, c->name, v, c->mean, c->std);
}

static const double *known_numbers(const vkt__table *t, const vkt__column *c, uint32_t j)
{
    return c->form == VKT__FORM_PLAIN ? vkt__csv_numbers(t->csv, t->column[j]) : NULL;
}

static vkt_status fill_column(const vkt__schema *s, const vkt__table *t, uint32_t j, float *out)
{
    vkt_status st = VKT_OK;
    const vkt__column *c = &s->columns[j];
    uint64_t n_unseen = 0;
    const char *unseen = NULL;
    const vkt__cells cells = { t->csv, t->rows, t->n, t->column[j] };
    const double *known = known_numbers(t, c, j);
    if (c->n_tokens) return vkt__sentences_fill(s, c, &cells, out);
    for (uint32_t i = 0; i < t->n; i++) {
        float *x = out + (size_t)i * s->n_inputs + c->first_input;
        const char *cell = vkt__csv_cell(t->csv, t->rows[i], t->column[j]);
        if (!c->n_categories)
            VKT_TRY(number_cell(t, t->rows[i], c, known, cell, x));
        else if (!category_cell(c, cell, x) && !n_unseen++)
            unseen = cell;
    }
    if (n_unseen)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': column '%s' has '%s'%s in %llu of %u rows, which training did not see: the "
                "model is given none of the column's %u categories there",
                t->csv->name, vkt__show(c->name).s, vkt__show(unseen).s,
                n_unseen > 1 ? " or the like" : "", (unsigned long long)n_unseen, t->n,
                c->n_categories);
fail:
    return st;
}

enum { ROWS = 2048, ROWS_FOR_THREADS = 4 * ROWS };

/* Rows are filled in blocks, by threads. What must be said is found again by fill_column. */
typedef struct filling {
    const vkt__schema *s;
    const vkt__table *t;
    float *out;
    atomic_bool failed, *odd; /* [n_columns] has what training did not see */
} filling;

static void fill_rows(void *user, uint32_t thread, uint32_t block)
{
    filling *f = user;
    const vkt__table *t = f->t;
    uint32_t first = block * ROWS, end = first + VKT_MIN(ROWS, t->n - first);
    (void)thread;
    for (uint32_t j = 0; j < f->s->n_columns && !atomic_load(&f->failed); j++) {
        const vkt__column *c = &f->s->columns[j];
        const double *known = known_numbers(t, c, j);
        for (uint32_t i = first; i < end; i++) {
            float *x = f->out + (size_t)i * f->s->n_inputs + c->first_input;
            const char *cell = vkt__csv_cell(t->csv, t->rows[i], t->column[j]);
            if (c->n_categories && !category_cell(c, cell, x))
                atomic_store(&f->odd[j], true);
            else if (!c->n_categories && number_cell(t, t->rows[i], c, known, cell, x) != VKT_OK)
                atomic_store(&f->failed, true);
        }
    }
}

vkt_status vkt__table_inputs(const vkt__schema *s, const vkt__table *t, float *out)
{
    vkt_status st = VKT_OK;
    filling f = { .s = s, .t = t, .out = out };
    bool alone = t->n < ROWS_FOR_THREADS;
    for (uint32_t j = 0; j < s->n_columns; j++) alone = alone || s->columns[j].n_tokens;
    f.odd = vkt__alloc((s->n_columns + 1) * sizeof *f.odd);
    if (!alone) {
        uint32_t n = (t->n - 1) / ROWS + 1;
        vkt__in_threads(n, vkt__threads_for(n, 16), fill_rows, &f);
        alone = atomic_load(&f.failed);
    }
    for (uint32_t j = 0; j < s->n_columns; j++)
        if (alone || atomic_load(&f.odd[j])) VKT_TRY(fill_column(s, t, j, out));
fail:
    free((void *)f.odd);
    return st;
}

/* What cells of a column of numbers are that the training data's were not. */
typedef enum oddity { ODD_UNIT, ODD_OFFSET, ODD_DIGITS, ODD_FAR, N_ODDITIES } oddity;

static bool is_odd(const vkt__column *c, const char *cell, oddity kind)
{
    enum { FAR = 20 }; /* deviations */
    double v;
    switch (kind) {
    case ODD_UNIT:
        /* 0.15 may be meant for 15%; an amount is one without its currency, too. */
        return c->unit && (*vkt__form_unit(cell) || *c->unit == '%') &&
               strcmp(vkt__form_unit(cell), c->unit) != 0;
    case ODD_OFFSET:
        return !c->zoned && vkt__form_zone(c->form, cell) != VKT__ZONE_NONE;
    case ODD_DIGITS:
        return vkt__form_rounds(c->form, cell);
    default:
        if (c->mean == 0 && c->std == 1) return false; /* it was not standardised */
        if (c->limit > 0) return false; /* the middle's scale: tails go far beyond it */
        return vkt__column_value(c, cell, &v) && fabs(v - c->mean) > FAR * c->std;
    }
}

static void say_odd(const vkt__table *t, const vkt__column *c, oddity kind, const char *first,
                    uint64_t n)
{
    vkt__str what = { 0 };
    if (kind == ODD_UNIT)
        vkt__str_printf(&what,
                        "lack the '%s' that the training data had and are read as if they had it",
                        c->unit);
    else if (kind == ODD_OFFSET)
        vkt__str_printf(&what, "have a UTC offset, which the training data had not: it is ignored");
    else if (kind == ODD_DIGITS)
        vkt__str_printf(&what, "are whole numbers beyond 2^53: they are rounded");
    else
        vkt__str_printf(&what,
                        "are far from all that training saw (mean %.6g, deviation %.6g): don't "
                        "rely on what is predicted there",
                        c->mean, c->std);
    vkt_log(VKT_LOG_WARN, "data", "'%s': column '%s': %llu of %u cells, as '%s', %s", t->csv->name,
            vkt__show(c->name).s, (unsigned long long)n, t->n, vkt__show(first).s, what.data);
    vkt__str_finish(&what);
}

void vkt__table_say_odd(const vkt__schema *s, const vkt__table *t)
{
    for (uint32_t j = 0; j < s->n_columns; j++) {
        const vkt__column *c = &s->columns[j];
        bool again = j && s->columns[j - 1].position == c->position; /* a date's next part */
        if (c->form == VKT__FORM_TEXT || c->n_categories || c->n_tokens || again) continue;
        for (int kind = 0; kind < N_ODDITIES; kind++) {
            uint64_t n = 0;
            const char *first = NULL;
            for (uint32_t i = 0; i < t->n; i++) {
                const char *cell = vkt__csv_cell(t->csv, t->rows[i], t->column[j]);
                if (vkt__csv_missing(cell) || !is_odd(c, cell, (oddity)kind)) continue;
                if (!n++) first = cell;
            }
            if (n) say_odd(t, c, (oddity)kind, first, n);
        }
    }
}
