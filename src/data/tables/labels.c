/* labels.h: classes from the cells of a label's column. */
#include <math.h>

#include "base/number.h"
#include "data/tables/labels.h"
#include "data/tables/value_ids.h"

/* ---- different values ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    double x = 0, y = 0;
    vkt__number(*(const char *const *)a, &x);
    vkt__number(*(const char *const *)b, &y);
    return (x > y) - (x < y);
}

/* Spellings of one number in the same order on every system. */
static int by_number_and_spelling(const void *a, const void *b)
{
    int order = by_number(a, b);
    return order ? order : strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A value and how often it came. */
typedef struct counted {
    const char *text; /* first: sorted by_text */
    uint32_t n;
} counted;

vkt_status vkt__values_unique(const char **s, uint32_t *n, uint32_t *count)
{
    vkt_status st = VKT_OK;
    vkt__value_ids ids = { 0 };
    counted *all = NULL;
    for (uint32_t i = 0, id; i < *n; i++) {
        uint32_t known = ids.n;
        VKT_TRY(vkt__value_id(&ids, s[i], &id));
        if (count) count[id] = ids.n > known ? 1 : count[id] + 1;
    }
    *n = ids.n;
    VKT_TRY(vkt__alloc_large((uint64_t)ids.n + 1, sizeof *all, "a column's values", &all));
    for (uint32_t i = 0; i < *n; i++) all[i] = (counted) { ids.text[i], count ? count[i] : 0 };
    if (*n) qsort(all, *n, sizeof *all, by_text);
    for (uint32_t i = 0; i < *n; i++) {
        s[i] = all[i].text;
        if (count) count[i] = all[i].n;
    }
fail:
    vkt__value_ids_finish(&ids);
    free(all);
    return st;
}

const char **vkt__values_keep(vkt__arena *arena, const char *const *s, uint32_t n)
{
    const char **out = vkt__arena_alloc(arena, n * sizeof *out);
    for (uint32_t i = 0; i < n; i++) out[i] = vkt__arena_strdup(arena, s[i]);
    return out;
}

/* ---- classes ---- */

void vkt__table_note(vkt_dataset *ds, const char *note)
{
    uint32_t n = ds->info.n_notes;
    const char **all = vkt__arena_alloc(&ds->arena, (n + 1) * sizeof *all);
    if (n) memcpy(all, ds->info.notes, n * sizeof *all);
    all[n] = note;
    ds->info.notes = all;
    ds->info.n_notes = n + 1;
}

/* Of labels that are all numbers the first one that is a name rather than that: its value would
 * lose a leading zero, or digits beyond 2^53. NULL: there is none. */
static const char *as_names(const char *const *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (vkt__form_rounds(VKT__FORM_PLAIN, values[i]) || vkt__form_is_code(values[i]))
            return values[i];
    return NULL;
}

static void note_names(vkt_dataset *ds, const vkt__target *label, const char *value)
{
    vkt__table_note(
        ds, vkt__arena_printf(&ds->arena,
                              "label column '%s': classes as '%s' are names, not numbers: each "
                              "different spelling is a class of its own",
                              vkt__show(label->name).s, vkt__show(value).s));
}

/* 1 and 1.0 are one class, which is said. */
static uint32_t merge_numbers(vkt_dataset *ds, const vkt__target *label, const char **values,
                              uint32_t n)
{
    uint32_t k = 0;
    bool said = false;
    qsort(values, n, sizeof *values, by_number_and_spelling);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || by_number(&values[k - 1], &values[i]) != 0) {
            values[k++] = values[i];
        } else if (!said) {
            said = true;
            vkt__table_note(ds, vkt__arena_printf(
                                    &ds->arena,
                                    "label column '%s': '%s' and '%s' are one number, so one class",
                                    vkt__show(label->name).s, vkt__show(values[k - 1]).s,
                                    vkt__show(values[i]).s));
        }
    }
    return k;
}

/* Class names from a first line "rows,inputs,name,..": labels are their positions. */
static void named_classes(vkt_dataset *ds, const vkt__csv *csv)
{
    vkt__schema *s = &ds->schema;
    s->n_outputs = csv->n_classes;
    s->class_numbers = true;
    s->classes = vkt__arena_alloc(&ds->arena, s->n_outputs * sizeof *s->classes);
    s->class_values = vkt__arena_alloc(&ds->arena, s->n_outputs * sizeof *s->class_values);
    for (uint32_t i = 0; i < s->n_outputs; i++) {
        s->classes[i] = vkt__arena_strdup(&ds->arena, csv->text + csv->class_cell[i]);
        s->class_values[i] = vkt__arena_printf(&ds->arena, "%u", i);
    }
}

vkt_status vkt__labels_fit_classes(vkt_dataset *ds, const vkt__table *t)
{
    vkt_status st = VKT_OK;
    vkt__schema *s = &ds->schema;
    const char **values = NULL;
    double v;
    bool whole = true;
    const vkt__target *label = s->targets;
    if (t->csv->n_classes && label->position == s->n_file_columns - 1 &&
        s->task == VKT_TASK_CLASSIFY) {
        named_classes(ds, t->csv);
        return VKT_OK;
    }
    VKT_TRY(vkt__alloc_large(t->n, sizeof *values, "labels", &values));
    for (uint32_t i = 0; i < t->n; i++)
        values[i] = vkt__csv_cell(t->csv, t->rows[i], label->position);
    if (s->task == VKT_TASK_MULTILABEL) {
        VKT_TRY(vkt__label_sets_fit(values, t->n, t->csv->name, &ds->arena, s));
        s->class_values = s->classes;
        goto fail;
    }
    uint32_t n = t->n;
    VKT_TRY(vkt__values_unique(values, &n, NULL));
    s->class_numbers = true;
    for (uint32_t i = 0; i < n; i++) {
        s->class_numbers = s->class_numbers && vkt__number(values[i], &v);
        whole = whole && s->class_numbers && v == floor(v);
    }
    const char *name = s->class_numbers ? as_names(values, n) : NULL;
    if (name) s->class_numbers = false;
    if (name) note_names(ds, label, name);
    if (s->class_numbers) n = merge_numbers(ds, label, values, n);
    if (n < 2)
        st = vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s': label column '%s' is '%s' everywhere: there is nothing to learn; set data.label",
            t->csv->name, vkt__show(label->name).s, vkt__show(values[0]).s);
    else if (n > 20 && (n > t->n / 2 || (s->class_numbers && !whole)))
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': label column '%s' has %u different values in %u rows: too many for "
                       "classes; set data.task: regress, or data.label",
                       t->csv->name, vkt__show(label->name).s, n, t->n);
    if (st != VKT_OK) goto fail;
    s->n_outputs = n;
    s->classes = s->class_values = vkt__values_keep(&ds->arena, values, n);
fail:
    free(values);
    return st;
}

vkt_status vkt__labels_of_column(const char *file, const char *label, const char **values,
                                 uint32_t *n)
{
    vkt_status st;
    bool numbers = true;
    double v;
    VKT_TRY(vkt__values_unique(values, n, NULL));
    for (uint32_t i = 0; i < *n; i++) numbers = numbers && vkt__number(values[i], &v);
    if (numbers) qsort(values, *n, sizeof *values, by_number_and_spelling);
    if (*n < 2)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': label column '%s' of data.classes has the same value in every row",
                       file, vkt__show(label).s);
    else if (*n > VKT__MOST_LABEL_CLASSES)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': label column '%s' of data.classes has %u different values, more than "
                       "%d: %s",
                       file, vkt__show(label).s, *n, VKT__MOST_LABEL_CLASSES,
                       numbers ? "is it a number?"
                               : "leave it out of data.label, or put rare ones together");
fail:
    return st;
}

/* ---- rows that are left out ---- */

/* Texts of the label in the rows that are not kept, into `out`; returns how many. */
static uint32_t labels_left_out(const vkt__table *t, const char **out)
{
    const vkt__csv *csv = t->csv;
    uint32_t n = 0, k = 0;
    for (size_t r = t->first_row; r < csv->n_rows; r++) {
        if (k < t->n && t->rows[k] == r)
            k++;
        else
            out[n++] = vkt__csv_cell(csv, r, t->label[0]);
    }
    return n;
}

/* ", none of class 'NA' is left": of the labels [n] left out those that no kept row has. */
static vkt_status say_lost(const vkt__table *t, const char **lost, uint32_t n, vkt__str *s)
{
    enum { SHOWN = 5 };
    vkt_status st;
    uint32_t n_lost = 0, n_kept = t->n;
    const char **kept = vkt__alloc((t->n + 1) * sizeof *kept);
    for (uint32_t i = 0; i < t->n; i++) kept[i] = vkt__csv_cell(t->csv, t->rows[i], t->label[0]);
    VKT_TRY(vkt__values_unique(kept, &n_kept, NULL));
    VKT_TRY(vkt__values_unique(lost, &n, NULL));
    for (uint32_t i = 0; i < n; i++) {
        if (!*lost[i] || bsearch(&lost[i], kept, n_kept, sizeof *kept, by_text)) continue;
        if (n_lost < SHOWN)
            vkt__str_printf(s, "%s'%s'", n_lost ? ", " : "; no row is left with the label ",
                            vkt__show(lost[i]).s);
        n_lost++;
    }
    if (n_lost > SHOWN) vkt__str_printf(s, " and %u more", n_lost - SHOWN);
fail:
    free(kept);
    return st;
}

vkt_status vkt__labels_say_dropped(const vkt__schema *s, const vkt__table *t)
{
    vkt_status st = VKT_OK;
    vkt__str text = { 0 };
    size_t n_rows = t->csv->n_rows - t->first_row;
    vkt__str_printf(&text,
                    "'%s': %llu of %zu rows are left out, for lack of a value (the first in "
                    "column '%s')",
                    t->csv->name, (unsigned long long)t->n_dropped, n_rows,
                    vkt__show(t->dropped_for).s);
    if (t->n_unlabelled)
        vkt__str_printf(&text, ", %llu of them of a label", (unsigned long long)t->n_unlabelled);
    if (t->labelled && s->task == VKT_TASK_CLASSIFY && t->n) {
        const char **lost = vkt__alloc((n_rows + 1) * sizeof *lost);
        st = say_lost(t, lost, labels_left_out(t, lost), &text);
        if (strstr(text.data, "no row is left with the label") && t->n_unlabelled)
            vkt__str_printf(&text, " (NA is a class where it stands in quotes)");
        free(lost);
    }
    if (st == VKT_OK) vkt_log(VKT_LOG_WARN, "data", "%s", text.data);
    vkt__str_finish(&text);
    return st;
}
