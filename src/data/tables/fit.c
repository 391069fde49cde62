/* Fitting a table's schema from its training rows: layout, classes, kinds of columns, categories,
 * constants. What is fitted is then applied by table.c. */
#include <math.h>

#include "base/number.h"
#include "base/in_threads.h"
#include "data/parts/parts.h"
#include "data/tables/column_stats.h"
#include "data/tables/csv.h"
#include "data/tables/fit.h"
#include "data/tables/json_table.h"
#include "data/tables/labels.h"
#include "data/tables/look.h"
#include "data/tables/scaling.h"
#include "data/tables/sentences.h"
#include "data/tables/split_column.h"
#include "data/tables/table.h"

#define MAX_CATEGORIES 1024
#define NORMAL_QUARTILES 1.349 /* of a normal distribution: deviations between its quartiles */

/* What may have been meant, else which columns there are, the first of many. */
typedef struct column_list {
    char s[400];
} column_list;
static column_list columns_are(const vkt__csv *csv, const char *wanted, const char *const *names)
{
    column_list out;
    size_t n = (size_t)snprintf(out.s, sizeof out.s, "%s",
                                vkt_did_you_mean(wanted, names, csv->n_columns).text);
    if (n) return out;
    for (size_t c = 0; c < csv->n_columns && n < 300; c++)
        n += (size_t)snprintf(out.s + n, sizeof out.s - n, "%s'%.64s'",
                              c ? ", " : ": its columns are ", vkt__show(names[c]).s);
    if (n >= 300) snprintf(out.s + 300, sizeof out.s - 300, " ...");
    return out;
}

/* The label's column: by name, by position, or the last. */
static vkt_status find_label(const vkt__csv *csv, bool header, const char *label, uint32_t *out)
{
    char *end;
    *out = (uint32_t)csv->n_columns - 1;
    for (size_t c = 0; label && header && c < csv->n_columns; c++) {
        if (strcmp(vkt__csv_cell(csv, 0, c), label) != 0) continue;
        *out = (uint32_t)c;
        return VKT_OK;
    }
    if (!label || strcmp(label, "last") == 0) return VKT_OK;
    unsigned long at = strtoul(label, &end, 10);
    bool position = label[0] >= '0' && label[0] <= '9' && *end == 0;
    if (position && at < csv->n_columns) {
        *out = (uint32_t)at;
        return VKT_OK;
    }
    if (position)
        return vkt__fail(VKT_E_ARG, "data", "data.label %s: '%s' has columns 0 to %zu", label,
                         csv->name, csv->n_columns - 1);
    if (!header)
        return vkt__fail(
            VKT_E_ARG, "data",
            "data.label '%s': '%s' has no header line; give the column's position (from 0) or last",
            label, csv->name);
    const char **names = vkt__alloc(csv->n_columns * sizeof *names);
    for (size_t c = 0; c < csv->n_columns; c++) names[c] = vkt__csv_cell(csv, 0, c);
    vkt_status st = vkt__fail(VKT_E_ARG, "data", "data.label '%s' is not a column of '%s'%s",
                              vkt__show(label).s, csv->name, columns_are(csv, label, names).s);
    free(names);
    return st;
}

/* The columns of a list "a, b, 3" [n_columns]: by name, else by position. */
static vkt_status mark_columns(const vkt__csv *csv, bool header, const char *option,
                               const char *list, bool *marked)
{
    vkt_status st = VKT_OK;
    char word[512];
    const char **names = vkt__alloc(csv->n_columns * sizeof *names);
    for (size_t c = 0; c < csv->n_columns; c++) names[c] = header ? vkt__csv_cell(csv, 0, c) : "";
    while (*list && st == VKT_OK) {
        size_t n, c = 0;
        list += strspn(list, ", ");
        n = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s", (int)VKT_MIN(n, sizeof word - 1), list);
        list += n;
        for (n = strlen(word); n > 0 && word[n - 1] == ' ';) word[--n] = 0;
        if (!n) continue;
        while (c < csv->n_columns && strcmp(names[c], word) != 0) c++;
        if (c == csv->n_columns && word[0] >= '0' && word[0] <= '9') {
            char *end;
            unsigned long at = strtoul(word, &end, 10);
            c = *end || at >= csv->n_columns ? csv->n_columns : at;
        }
        if (c < csv->n_columns)
            marked[c] = true;
        else
            st = vkt__fail(VKT_E_ARG, "data", "%s: '%s' is not a column of '%s'%s", option,
                           vkt__show(word).s, csv->name,
                           header ? columns_are(csv, word, names).s
                                  : ", which has no header line: give positions, from 0");
    }
    free(names);
    return st;
}

/* Which of the file's columns are inputs: all but the label and those that the recipe leaves out.
 */
static vkt_status choose_columns(const vkt_data_desc *desc, const vkt__csv *csv, bool header,
                                 bool *used)
{
    vkt_status st = VKT_OK;
    bool *ignored = vkt__alloc(csv->n_columns);
    for (size_t c = 0; c < csv->n_columns; c++) used[c] = !desc->columns && !desc->text;
    if (desc->text) VKT_TRY(mark_columns(csv, header, "data.text", desc->text, used));
    if (desc->columns) VKT_TRY(mark_columns(csv, header, "data.columns", desc->columns, used));
    if (desc->ignore) VKT_TRY(mark_columns(csv, header, "data.ignore", desc->ignore, ignored));
    if (desc->group) VKT_TRY(mark_columns(csv, header, "data.group", desc->group, ignored));
    if (desc->time) VKT_TRY(mark_columns(csv, header, "data.time", desc->time, ignored));
    for (size_t c = 0; c < csv->n_columns; c++) used[c] = used[c] && !ignored[c];
fail:
    free(ignored);
    return st;
}

/* Which of the inputs are embedded. */
static vkt_status choose_embedded(const vkt_data_desc *desc, const vkt__csv *csv,
                                  const vkt__schema *s, const bool *used, bool *embed)
{
    vkt_status st = VKT_OK;
    if (desc->embed) VKT_TRY(mark_columns(csv, s->header, "data.embed", desc->embed, embed));
    for (uint32_t c = 0; c < csv->n_columns && st == VKT_OK; c++)
        if (embed[c] && (!used[c] || vkt__schema_is_label(s, c)))
            st = vkt__fail(VKT_E_ARG, "data", "data.embed: column %u of '%s' is no input: it is %s",
                           c, csv->name, used[c] ? "the label" : "left out");
fail:
    return st;
}

/* Whether data.label names several columns: it has a comma and is no column's name. */
static bool several_labels(const vkt_data_desc *desc, const vkt__csv *csv, bool header)
{
    if (desc->task != VKT_TASK_REGRESS || !desc->label || !strchr(desc->label, ',')) return false;
    for (size_t c = 0; header && c < csv->n_columns; c++)
        if (strcmp(vkt__csv_cell(csv, 0, c), desc->label) == 0) return false;
    return true;
}

/* The columns of the labels, in the file's order. */
static vkt_status find_labels(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__csv *csv)
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    bool *marked = vkt__alloc(csv->n_columns), *classes = vkt__alloc(csv->n_columns);
    s->targets = vkt__arena_alloc(&ds->arena, csv->n_columns * sizeof *s->targets);
    if (several_labels(desc, csv, s->header)) {
        VKT_TRY(mark_columns(csv, s->header, "data.label", desc->label, marked));
    } else {
        uint32_t at;
        VKT_TRY(find_label(csv, s->header, desc->label, &at));
        marked[at] = true;
    }
    if (desc->classes && !several_labels(desc, csv, s->header))
        VKT_TRY(vkt__fail(VKT_E_ARG, "data",
                          "data.classes is for several labels: data.label names one, which "
                          "data.task: classify has as a class"));
    if (desc->classes)
        VKT_TRY(mark_columns(csv, s->header, "data.classes", desc->classes, classes));
    for (uint32_t c = 0; c < csv->n_columns; c++) {
        if (classes[c] && !marked[c])
            VKT_TRY(vkt__fail(VKT_E_ARG, "data",
                              "data.classes: column %u of '%s' is none of data.label's", c,
                              csv->name));
        if (marked[c])
            s->targets[s->n_targets++] =
                (vkt__target) { .position = c,
                                .scale = 1,
                                .curve = classes[c] ? VKT_TARGET_PLAIN : desc->target,
                                .n_classes = classes[c] };
    }
    if (s->n_targets == csv->n_columns)
        st = vkt__fail(VKT_E_ARG, "data", "'%s': data.label leaves no column as an input",
                       csv->name);
fail:
    free(marked);
    free(classes);
    return st;
}

/* Columns and label, still without kinds and constants. */
static vkt_status lay_out(vkt_dataset *ds, const vkt_data_desc *desc, vkt__csv *csv)
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    bool *used = NULL, *embed = NULL;
    if (csv->n_columns < 2)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' has one column; it needs inputs and a label: is the delimiter '%c' right?",
            csv->name, csv->delimiter);
    s->kind = VKT_DATA_KIND_TABLE;
    const char *how = desc->header ? desc->header : "auto";
    s->header = csv->named || strcmp(how, "yes") == 0 ||
                (strcmp(how, "auto") == 0 && vkt__table_has_header(csv, desc->label));
    if (s->header) VKT_TRY(vkt__csv_number_names(csv, false));
    VKT_TRY(find_labels(ds, desc, csv));
    s->delimiter = csv->delimiter;
    s->missing = desc->missing;
    s->n_file_columns = (uint32_t)csv->n_columns;
    used = vkt__alloc(csv->n_columns);
    embed = vkt__alloc(csv->n_columns);
    VKT_TRY(choose_columns(desc, csv, s->header, used));
    VKT_TRY(choose_embedded(desc, csv, s, used, embed));
    s->columns =
        vkt__arena_alloc(&ds->arena, VKT__N_DATE_PARTS * csv->n_columns * sizeof *s->columns);
    s->ignored = vkt__arena_alloc(&ds->arena, csv->n_columns * sizeof *s->ignored);
    for (uint32_t c = 0; c < s->n_file_columns; c++) {
        const char *cell = s->header ? vkt__csv_cell(csv, 0, c) : "";
        const char *name = vkt__csv_missing(cell) ? vkt__arena_printf(&ds->arena, "column %u", c)
                                                  : vkt__arena_strdup(&ds->arena, cell);
        if (vkt__schema_is_label(s, c)) {
            for (uint32_t k = 0; k < s->n_targets; k++) {
                if (s->targets[k].position != c) continue;
                s->targets[k].name = name;
                if (s->targets[k].n_classes) s->targets[k].label = name;
            }
        } else if (!used[c])
            s->ignored[s->n_ignored++] = name;
        else
            s->columns[s->n_columns++] =
                (vkt__column) { .name = name,
                                .position = c,
                                .embed = embed[c] || desc->text,
                                .n_tokens = desc->text ? desc->context : 0 };
    }
    if (desc->text && s->n_columns != 1)
        st = vkt__fail(VKT_E_ARG, "data",
                       "'%s': data.text must name one column, and neither the label nor one that "
                       "is left out",
                       csv->name);
    else if (s->n_columns == 0)
        st = vkt__fail(VKT_E_ARG, "data",
                       "'%s': data.columns and data.ignore leave no column but the label",
                       csv->name);
fail:
    free(used);
    free(embed);
    return st;
}

/* Whole numbers that no double keeps are names, or would be rounded to others. */
static vkt_status refuse_wide(const vkt__csv *csv, const char *name, const vkt__look *k,
                              const char *to_do)
{
    if (!k->wide) return VKT_OK;
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s': column '%s' has whole numbers beyond 2^53, as '%s', which a number can't "
        "keep: %sor write them as 1.5e18 to have them rounded",
        csv->name, vkt__show(name).s, vkt__show(k->wide).s, to_do);
}

/* The columns' forms; a date becomes a column for each of its parts. What is unusual is noted. */
static vkt_status take_forms(vkt_dataset *ds, const vkt__csv *csv, vkt__look *looks)
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    uint32_t n = s->n_columns, n_notes = 0;
    bool fill = s->missing == VKT_MISSING_MEAN;
    vkt__column *from = vkt__alloc(n * sizeof *from);
    const char **notes = vkt__arena_alloc(&ds->arena, (n + s->n_targets) * sizeof *notes);
    memcpy(from, s->columns, n * sizeof *from);
    s->n_columns = 0;
    for (uint32_t i = 0; i < n; i++) {
        vkt__look *k = &looks[from[i].position];
        if (from[i].embed) k->form = VKT__FORM_TEXT; /* its numbers are names */
        if (k->form != VKT__FORM_TEXT)
            VKT_TRY(refuse_wide(csv, from[i].name, k,
                                "name it in data.embed to learn a vector for each, leave it out "
                                "with data.ignore, "));
        from[i].zoned = vkt__form_is_date(k->form) && (k->zones || k->zone != VKT__ZONE_NONE);
        from[i].zone = from[i].zoned && !k->zones ? k->zone : 0;
        if (*k->unit && !k->other_unit && k->form != VKT__FORM_TEXT)
            from[i].unit = vkt__arena_strdup(&ds->arena, k->unit);
        const char *note = from[i].n_tokens
                               ? NULL
                               : vkt__look_note(k, from[i].name, fill, from[i].embed, &ds->arena);
        if (note) notes[n_notes++] = note;
        from[i].form = k->form;
        if (!vkt__form_is_date(k->form)) s->columns[s->n_columns++] = from[i];
        for (int p = VKT__DATE_YEAR; p < VKT__N_DATE_PARTS && vkt__form_is_date(k->form); p++) {
            if (p == VKT__DATE_HOUR ? !k->clock && k->form != VKT__FORM_TIME
                                    : k->form == VKT__FORM_TIME)
                continue;
            from[i].part = (vkt__date_part)p;
            s->columns[s->n_columns++] = from[i];
        }
    }
    for (uint32_t t = 0; t < s->n_targets && s->task == VKT_TASK_REGRESS; t++) {
        const vkt__look *label = &looks[s->targets[t].position];
        if (s->targets[t].label) continue; /* its numbers are names */
        if (label->form >= VKT__FORM_YEAR_FIRST) continue;
        VKT_TRY(refuse_wide(csv, s->targets[t].name, label, "leave them out, "));
        const char *note = vkt__look_note(label, s->targets[t].name, false, false, &ds->arena);
        s->targets[t].form = label->form;
        if (note && label->form) notes[n_notes++] = note;
    }
    ds->info.notes = notes;
    ds->info.n_notes = n_notes;
fail:
    free(from);
    return st;
}

/* csv: the table's own, which keeps the numbers that are read. */
static vkt_status look_at_columns(vkt_dataset *ds, const vkt__table *t, vkt__csv *csv)
{
    vkt_status st;
    vkt__look *looks = NULL;
    VKT_TRY(vkt__alloc_large(t->csv->n_columns, sizeof *looks, "columns", &looks));
    VKT_TRY(vkt__look_at(t->csv, t->rows, t->n, SIZE_MAX, looks, csv));
    VKT_TRY(take_forms(ds, t->csv, looks));
fail:
    free(looks);
    return st;
}

/* Labels of classes become a target for each of these. */
static vkt_status take_classes(vkt_dataset *ds, const vkt__table *t)
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    vkt__target *all = NULL;
    const char **values = NULL;
    uint32_t n_all = 0;
    VKT_TRY(vkt__alloc_large((uint64_t)t->n + 1, sizeof *values, "labels", &values));
    for (uint32_t k = 0; k < s->n_targets; k++) {
        vkt__target of = s->targets[k];
        uint32_t n = of.label ? t->n : 1;
        for (uint32_t i = 0; i < n && of.label; i++)
            values[i] = vkt__csv_cell(t->csv, t->rows[i], of.position);
        if (of.label) VKT_TRY(vkt__labels_of_column(t->csv->name, of.label, values, &n));
        vkt__target *more = vkt__arena_alloc(&ds->arena, (n_all + n) * sizeof *more);
        if (n_all) memcpy(more, all, n_all * sizeof *more);
        all = more;
        for (uint32_t i = 0; i < n; i++) {
            all[n_all] = of;
            if (of.label) {
                all[n_all].value = vkt__arena_strdup(&ds->arena, values[i]);
                all[n_all].name = vkt__arena_printf(&ds->arena, "%s=%s", of.label, values[i]);
                all[n_all].n_classes = i ? 0 : n;
            }
            n_all++;
        }
    }
    s->targets = all;
    s->n_targets = n_all;
fail:
    free(values);
    return st;
}

static vkt__table own_table(const vkt__schema *s, const vkt__csv *csv)
{
    vkt__table t = { .csv = csv, .first_row = s->header, .labelled = true };
    vkt__table_columns(s, &t);
    return t;
}

static vkt_status fit_categories(vkt_dataset *ds, const vkt__csv *csv, vkt__column *c,
                                 const char **cells, uint32_t n, bool blank)
{
    vkt_status st;
    uint32_t *count = NULL;
    if (blank) cells[n++] = ""; /* a category of its own; a blank left room for it */
    VKT_TRY(vkt__alloc_large(n, sizeof *count, "categories", &count));
    VKT_TRY(vkt__values_unique(cells, &n, count));
    c->n_categories = n;
    if (c->n_categories > MAX_CATEGORIES && !c->embed) {
        st = vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s': text column '%s' has %u different values, more than %d: name it in data.embed "
            "to learn a vector for each, or leave it out with data.ignore",
            csv->name, vkt__show(c->name).s, c->n_categories, MAX_CATEGORIES);
        goto fail;
    }
    c->categories = vkt__values_keep(&ds->arena, cells, c->n_categories);
    for (uint32_t i = 1; i < c->n_categories && !blank; i++)
        if (count[i] > count[c->fill_category]) c->fill_category = i;
fail:
    free(count);
    return st;
}

/* One column over the training rows; cells and numbers are scratch of n_train. */
static vkt_status fit_column(vkt_dataset *ds, const vkt__table *t, vkt__column *c,
                             const char **cells, double *numbers, vkt__stats *out)
{
    uint32_t n = 0, n_numbers = 0;
    bool blank = false;
    const double *known = c->form == VKT__FORM_PLAIN ? vkt__csv_numbers(t->csv, c->position) : NULL;
    if (c->n_tokens) return VKT_OK;
    for (uint64_t i = 0; i < ds->info.n[VKT_SPLIT_TRAIN]; i++) {
        uint32_t row = t->rows[ds->index[VKT_SPLIT_TRAIN][i]];
        if (known) {
            numbers[n_numbers] = known[row];
            n = n_numbers += !isnan(known[row]);
            continue;
        }
        const char *cell = vkt__csv_cell(t->csv, row, c->position);
        bool missing = vkt__csv_missing(cell);
        blank = blank || missing;
        if (missing) continue;
        cells[n++] = cell;
        n_numbers += vkt__column_value(c, cell, &numbers[n_numbers]);
    }
    if (n == 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': column '%s' has no value in any training row: remove it",
                         t->csv->name, vkt__show(c->name).s);
    *out = (vkt__stats) { 0 };
    if (c->form == VKT__FORM_TEXT) return fit_categories(ds, t->csv, c, cells, n, blank);
    *out = vkt__stats_of(numbers, n_numbers);
    if (!isfinite(out->sq) || !isfinite(out->mean))
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s': the numbers in column '%s' are too large to standardise: rescale them",
            t->csv->name, vkt__show(c->name).s);
    c->fill = c->mean = out->mean;
    c->std = vkt__stats_deviation(out);
    return VKT_OK;
}

/* The edges come from the arena, which threads do not share. */
static void scale_columns(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__table *t,
                          double *numbers)
{
    vkt__schema *s = &ds->schema;
    if (desc->standardize != VKT_STANDARDIZE_ROBUST && !desc->bins) return;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        vkt__column *c = &s->columns[i];
        uint64_t n = 0;
        if (c->form == VKT__FORM_TEXT) continue;
        for (uint64_t k = 0; k < ds->info.n[VKT_SPLIT_TRAIN]; k++)
            n += vkt__column_value(
                c, vkt__csv_cell(t->csv, t->rows[ds->index[VKT_SPLIT_TRAIN][k]], t->column[i]),
                &numbers[n]);
        vkt__scaling_fit(desc, c, numbers, n, &ds->arena);
    }
}

/* Columns of numbers are fitted by threads, each with scratch of its own. What can't be is left to
 * whoever says why. */
enum { FIT_THREADS = 4, ROWS_FOR_THREADS = 1 << 13 };
typedef struct fitting {
    vkt_dataset *ds;
    const vkt__table *t;
    const char **cells;
    double *numbers; /* both [threads, rows to train on] */
    vkt__stats *of;
    bool *fitted; /* [n_columns] */
} fitting;

static void fit_number(void *user, uint32_t thread, uint32_t i)
{
    const fitting *f = user;
    size_t scratch = thread * f->ds->info.n[VKT_SPLIT_TRAIN];
    vkt__column *c = &f->ds->schema.columns[i];
    if (c->form != VKT__FORM_TEXT)
        f->fitted[i] = fit_column(f->ds, f->t, c, f->cells + scratch, f->numbers + scratch,
                                  &f->of[i]) == VKT_OK;
}

static vkt_status fit_columns(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__table *t)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    vkt_standardize how = desc->standardize;
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN];
    uint32_t n_threads = n < ROWS_FOR_THREADS ? 1 : vkt__threads_for(s->n_columns, FIT_THREADS);
    const char **cells = NULL;
    double *numbers = NULL;
    vkt__stats *of = NULL;
    bool *fitted = vkt__alloc(s->n_columns + 1);
    VKT_TRY(vkt__alloc_large(n * n_threads, sizeof *cells, "a column", &cells));
    VKT_TRY(vkt__alloc_large(n * n_threads, sizeof *numbers, "a column", &numbers));
    VKT_TRY(vkt__alloc_large(s->n_columns, sizeof *of, "columns", &of));
    if (n_threads > 1)
        vkt__in_threads(s->n_columns, n_threads, fit_number,
                        &(fitting) { ds, t, cells, numbers, of, fitted });
    for (uint32_t i = 0; i < s->n_columns; i++)
        if (!fitted[i]) VKT_TRY(fit_column(ds, t, &s->columns[i], cells, numbers, &of[i]));
    if (how == VKT_STANDARDIZE_GLOBAL || how == VKT_STANDARDIZE_NONE) vkt__stats_share(s, of, how);
    scale_columns(ds, desc, t, numbers);
    if (!vkt__schema_place(s)) {
        st =
            vkt__fail(VKT_E_FORMAT, "data", "'%s': its columns give too many inputs", t->csv->name);
        goto fail;
    }
    if (s->input_rank == 0) s->input_shape[s->input_rank++] = s->n_inputs;
fail:
    free(fitted);
    free(cells);
    free(numbers);
    free(of);
    return st;
}

static vkt_status fit_target(vkt_dataset *ds, const vkt__table *t, vkt__target *of)
{
    vkt_status st;
    double *v = NULL, median, quartiles, n_far;
    uint64_t n = 0;
    VKT_TRY(vkt__alloc_large(ds->info.n[VKT_SPLIT_TRAIN], sizeof *v, "targets", &v));
    /* A target that is no number is reported by vkt__table_labels. */
    for (uint64_t i = 0; i < ds->info.n[VKT_SPLIT_TRAIN]; i++)
        n += vkt__form_value(
            of->form, VKT__DATE_WHOLE,
            vkt__csv_cell(t->csv, t->rows[ds->index[VKT_SPLIT_TRAIN][i]], of->position), &v[n]);
    for (uint64_t i = 0; i < n; i++)
        if (!vkt__target_takes(of->curve, v[i])) n = 0; /* vkt__table_labels says which */
    vkt__target_curve_all(of->curve, v, n);
    vkt__stats a = vkt__stats_of(v, n);
    if (!isfinite(a.sq) || !isfinite(a.mean)) {
        st =
            vkt__fail(VKT_E_FORMAT, "data",
                      "'%s': the targets in column '%s' are too large to standardise: rescale them",
                      t->csv->name, vkt__show(of->name).s);
        goto fail;
    }
    of->mean = a.mean;
    of->scale = vkt__stats_deviation(&a);
    if (!isnan(n_far = vkt__stats_far(v, n, &median, &quartiles)) && n_far > 0) {
        of->mean = median;
        of->scale = quartiles / NORMAL_QUARTILES;
        vkt__table_note(
            ds, vkt__arena_printf(
                    &ds->arena,
                    "label '%s'%s: %.0f of %llu training labels lie more than %d quartile "
                    "ranges (%.4g) away from the median %.4g: loss.kind huber weighs "
                    "them less, and the others alone give the scale",
                    vkt__show(of->name).s, of->curve == VKT_TARGET_PLAIN ? "" : ", its logarithm",
                    n_far, (unsigned long long)n, VKT__FAR_QUARTILES, quartiles, median));
    }
    if (of->curve != VKT_TARGET_PLAIN)
        vkt__table_note(ds, vkt__arena_printf(&ds->arena,
                                              "label '%s' is learned as its logarithm: predictions "
                                              "are near its median, which is below its mean where "
                                              "it is skewed",
                                              vkt__show(of->name).s));
fail:
    free(v);
    return st;
}

static vkt_status fit_targets(vkt_dataset *ds, const vkt__table *t)
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    s->n_outputs = s->n_targets;
    for (uint32_t k = 0; k < s->n_targets; k++)
        if (!s->targets[k].label) VKT_TRY(fit_target(ds, t, &s->targets[k]));
fail:
    return st;
}

/* The number of labels is known by now. */
static vkt_status fill_labels(const vkt__schema *s, const vkt__table *t, vkt__part *part)
{
    vkt_status st;
    VKT_TRY(vkt__alloc_large(t->n, (uint64_t)vkt__n_labels(s) * sizeof *part->labels, "labels",
                             &part->labels));
    VKT_TRY(vkt__table_labels(s, t, part->labels));
fail:
    return st;
}

static vkt_status fill_inputs(const vkt__schema *s, const vkt__table *t, vkt__part *part)
{
    vkt_status st;
    VKT_TRY(vkt__alloc_large(t->n, (uint64_t)s->n_inputs * sizeof(float), "inputs", &part->values));
    VKT_TRY(vkt__table_inputs(s, t, part->values));
fail:
    return st;
}

static vkt_status start_part(const vkt__schema *s, vkt__table *t, vkt__part *part)
{
    vkt_status st;
    st = vkt__table_keep(s, t);
    if (st == VKT_OK && t->n_dropped) st = vkt__labels_say_dropped(s, t);
    part->n = t->n;
    if (st == VKT_OK) st = vkt__table_lines(t, &part->line);
    return st;
}

static vkt_status parse(const void *bytes, size_t n, const char *name, const vkt_data_desc *desc,
                        vkt__csv *out)
{
    bool auto_header = !desc->header || strcmp(desc->header, "auto") == 0;
    return vkt__table_parse(bytes, n, name, desc->delimiter, auto_header, out);
}

/* "'a'", or "'a', 'b'". */
static const char *label_names(const vkt__schema *s, vkt__arena *arena)
{
    const char *all = "";
    for (uint32_t k = 0; k < s->n_targets; k++)
        if (vkt__target_begins(&s->targets[k]))
            all = vkt__arena_printf(arena, "%s%s'%s'", all, k ? ", " : "",
                                    vkt__show(vkt__target_column(&s->targets[k])).s);
    return all;
}

vkt_status vkt__table_open(vkt_dataset *ds, const vkt_data_desc *desc, const void *bytes, size_t n,
                           const char *name, const void *test_bytes, size_t test_n,
                           const char *test_name)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    vkt__csv csv = { 0 }, test_csv = { 0 };
    vkt__table t = { 0 }, test = { 0 };
    VKT_TRY(parse(bytes, n, name, desc, &csv));
    VKT_TRY(lay_out(ds, desc, &csv));
    t = own_table(s, &csv);
    VKT_TRY(start_part(s, &t, &ds->part[0]));
    VKT_TRY(look_at_columns(ds, &t, &csv));
    if (desc->classes) VKT_TRY(take_classes(ds, &t));
    vkt__table_columns(s, &t);
    if (test_bytes) {
        VKT_TRY(parse(test_bytes, test_n, test_name, desc, &test_csv));
        VKT_TRY(vkt__table_match(s, &test_csv, true, NULL, &test));
        VKT_TRY(start_part(s, &test, &ds->part[1]));
        ds->of_part[VKT_SPLIT_TEST] = 1;
    }
    if (s->task != VKT_TASK_REGRESS) {
        VKT_TRY(vkt__labels_fit_classes(ds, &t));
        VKT_TRY(fill_labels(s, &t, &ds->part[0])); /* the split needs them */
    }
    VKT_TRY(vkt__table_split(ds, desc, &t));
    if (s->task == VKT_TASK_REGRESS) {
        VKT_TRY(fit_targets(ds, &t));
        VKT_TRY(fill_labels(s, &t, &ds->part[0]));
    }
    VKT_TRY(vkt__sentences_fit(ds, desc, &(vkt__cells) { t.csv, t.rows, t.n, *t.column }));
    VKT_TRY(fit_columns(ds, desc, &t));
    VKT_TRY(fill_inputs(s, &t, &ds->part[0]));
    if (test_bytes) VKT_TRY(fill_labels(s, &test, &ds->part[1]));
    if (test_bytes) VKT_TRY(fill_inputs(s, &test, &ds->part[1]));
    if (test_bytes) vkt__table_say_odd(s, &test);
    ds->info.n_dropped = t.n_dropped + test.n_dropped;
    ds->info.source = vkt__arena_printf(
        &ds->arena, "%s%s: %u rows, %u columns, label %s%s%s",
        strcmp(desc->source, name) ? "csv " : "", name, t.n, s->n_file_columns,
        label_names(s, &ds->arena), test_bytes ? ", test set " : "", test_bytes ? test_name : "");
fail:
    vkt__table_finish(&t);
    vkt__table_finish(&test);
    vkt__csv_finish(&csv);
    vkt__csv_finish(&test_csv);
    return st;
}
