/* labels_file.h. Columns are known by the names that people give them, or by data.label. */
#include "base/number.h"
#include "data/pictures/labels_file.h"
#include "data/tables/csv.h"

enum { LABELS_LIMIT = 1 << 30 };

typedef struct columns {
    size_t file, split; /* split SIZE_MAX: none */
    size_t *label, n;   /* [n] */
    bool header;
} columns;

static bool one_of(const char *cell, const char *const *words)
{
    for (; *words; words++)
        if (vkt__same_word(cell, *words)) return true;
    return false;
}

static bool given(const vkt_data_desc *desc)
{
    return desc->label && strcmp(desc->label, "last") != 0;
}

/* The columns that data.label names, a comma between two of them. */
static vkt_status find_given(const vkt_data_desc *desc, const vkt__csv *csv, columns *c)
{
    const char *names[64];
    size_t n_names = VKT_MIN(csv->n_columns, VKT_COUNT(names));
    for (size_t i = 0; i < n_names; i++) names[i] = vkt__csv_cell(csv, 0, i);
    for (const char *at = desc->label; *at;) {
        char word[256];
        size_t n = strcspn(at, ","), i = 0;
        snprintf(word, sizeof word, "%.*s", (int)VKT_MIN(n, sizeof word - 1), at);
        at += n + (at[n] != 0);
        char *name = word + strspn(word, " ");
        for (size_t k = strlen(name); k && name[k - 1] == ' ';) name[--k] = 0;
        while (i < csv->n_columns && strcmp(vkt__csv_cell(csv, 0, i), name) != 0) i++;
        if (i == csv->n_columns || i == c->file || i == c->split)
            return vkt__fail(
                VKT_E_ARG, "data", "data.label: '%s' is not a column of labels in '%s'%s",
                vkt__show(name).s, csv->name, vkt_did_you_mean(name, names, n_names).text);
        for (size_t k = 0; k < c->n; k++)
            if (c->label[k] == i)
                return vkt__fail(VKT_E_ARG, "data", "data.label names '%s' twice",
                                 vkt__show(name).s);
        c->label[c->n++] = i;
        if (desc->task != VKT_TASK_REGRESS && c->n > 1)
            return vkt__fail(VKT_E_ARG, "data",
                             "data.label '%s' names several columns: only data.task: regress has "
                             "several",
                             desc->label);
    }
    return VKT_OK;
}

/* Without a header: file, label, split; of numbers file, number, number, ... */
static vkt_status by_position(const vkt_data_desc *desc, const vkt__csv *csv, columns *c)
{
    bool numbers = desc->task == VKT_TASK_REGRESS;
    if (csv->n_columns < 2)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has one column: lines of file,label[,split] are expected",
                         csv->name);
    if (given(desc))
        return vkt__fail(
            VKT_E_ARG, "data",
            "data.label '%s': the first line of '%s' names no columns: name one 'file'",
            desc->label, csv->name);
    c->file = 0;
    c->n = numbers ? csv->n_columns - 1 : 1;
    for (size_t k = 0; k < c->n; k++) c->label[k] = k + 1;
    c->split = csv->n_columns > 2 && !numbers ? 2 : SIZE_MAX;
    return VKT_OK;
}

/* c->label: room for all columns. */
static vkt_status find_columns(const vkt_data_desc *desc, const vkt__csv *csv, columns *c)
{
    static const char *const files[] = { "file", "filename", "file_name", "path", "image", NULL };
    static const char *const labels[] = { "label", "class", "category", "labels", "tags", NULL };
    static const char *const splits[] = { "split", "set", NULL };
    size_t label = SIZE_MAX;
    bool numbers = desc->task == VKT_TASK_REGRESS;
    c->file = c->split = SIZE_MAX;
    for (size_t i = 0; i < csv->n_columns; i++) {
        const char *cell = vkt__csv_cell(csv, 0, i);
        if (one_of(cell, files)) c->file = i;
        if (one_of(cell, labels)) label = i;
        if (one_of(cell, splits)) c->split = i;
    }
    c->header = c->file != SIZE_MAX || label != SIZE_MAX;
    if (!c->header) return by_position(desc, csv, c);
    if (c->file == SIZE_MAX)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': its first line has no file column: name one 'file'", csv->name);
    if (given(desc)) return find_given(desc, csv, c);
    for (size_t i = 0; i < csv->n_columns && numbers; i++)
        if (i != c->file && i != c->split) c->label[c->n++] = i;
    if (!numbers && label != SIZE_MAX) c->label[c->n++] = label;
    if (c->n) return VKT_OK;
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s': its first line has no label column: name one 'label', or set data.label", csv->name);
}

/* ---- what the labels are ---- */

/* Numbers by value, before texts by their bytes. */
static int by_label(const void *a, const void *b)
{
    const char *s = *(const char *const *)a, *t = *(const char *const *)b;
    double x, y;
    bool p = vkt__number(s, &x), q = vkt__number(t, &y);
    if (p && q && x < y) return -1;
    if (p && q && x > y) return 1;
    if (p != q) return p ? -1 : 1;
    return strcmp(s, t);
}

static vkt_status fit_classes(const vkt__csv *csv, const char **cells, size_t n, vkt__arena *arena,
                              vkt__folder *out)
{
    vkt_status st = VKT_OK;
    if (n) qsort(cells, n, sizeof *cells, by_label);
    for (size_t i = 0; i < n; i++) {
        uint32_t unused;
        if (i && strcmp(cells[i], cells[i - 1]) == 0) continue;
        VKT_TRY(vkt__folder_class(out, arena, cells[i], csv->name,
                                  out->n_classes ? out->n_classes - 1 : 0, &unused));
    }
    out->closed = true;
fail:
    return st;
}

static void fit_targets(const vkt__csv *csv, const columns *c, vkt__arena *arena, vkt__schema *s)
{
    s->targets = vkt__arena_alloc(arena, c->n * sizeof *s->targets);
    s->n_targets = s->n_outputs = (uint32_t)c->n;
    for (size_t k = 0; k < c->n; k++)
        s->targets[k] = (vkt__target) {
            .name = c->header ? vkt__arena_strdup(arena, vkt__csv_cell(csv, 0, c->label[k]))
                              : vkt__arena_printf(arena, "column %zu", c->label[k]),
            .scale = 1
        };
}

/* cells [rows] is scratch. */
static vkt_status fit_labels(const vkt__csv *csv, const columns *c, const char **cells,
                             vkt__arena *arena, vkt__schema *s, vkt__folder *out)
{
    vkt_status st = VKT_OK;
    size_t n = 0;
    for (size_t r = c->header; r < csv->n_rows; r++)
        cells[n++] = vkt__csv_cell(csv, r, c->label[0]);
    if (s->task == VKT_TASK_CLASSIFY) return fit_classes(csv, cells, n, arena, out);
    if (s->task == VKT_TASK_REGRESS)
        fit_targets(csv, c, arena, s);
    else
        VKT_TRY(vkt__label_sets_fit(cells, (uint32_t)n, csv->name, arena, s));
    out->n_values = s->n_outputs;
    VKT_TRY(vkt__alloc_large(csv->n_rows, (uint64_t)out->n_values * sizeof *out->value, "labels",
                             &out->value));
fail:
    return st;
}

/* ---- rows ---- */

static vkt_status read_numbers(const vkt__csv *csv, const columns *c, size_t r, double *out)
{
    for (size_t k = 0; k < c->n; k++) {
        const char *cell = vkt__csv_cell(csv, r, c->label[k]);
        if (!vkt__number(cell, &out[k]))
            return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: '%s' is not a number to predict",
                             csv->name, csv->line[r], vkt__show(cell).s);
    }
    return VKT_OK;
}

/* room [n_values]. */
static vkt_status read_set(const vkt__schema *s, const vkt__csv *csv, const columns *c, size_t r,
                           vkt_label *room, double *out)
{
    char where[300];
    snprintf(where, sizeof where, "'%.250s' line %u", csv->name, csv->line[r]);
    vkt_status st = vkt__label_set_read(s, vkt__csv_cell(csv, r, c->label[0]), where, room);
    for (uint32_t k = 0; k < s->n_outputs && st == VKT_OK; k++) out[k] = (double)room[k].f;
    return st;
}

static vkt_status take_row(const char *root, const vkt__schema *s, const vkt__csv *csv,
                           const columns *c, size_t r, vkt_label *room, vkt__arena *arena,
                           vkt__folder *out)
{
    vkt_status st = VKT_OK;
    uint32_t label = (uint32_t)r;
    uint8_t split = VKT_N_SPLITS;
    uint64_t id[2];
    double *value = out->value ? out->value + r * out->n_values : NULL;
    if (c->split != SIZE_MAX) {
        const char *cell = vkt__csv_cell(csv, r, c->split);
        if (!vkt__folder_split_named(cell, &split))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' line %u: split '%s' is not one of train, valid, test", csv->name,
                             csv->line[r], vkt__show(cell).s);
        out->own[split] = true;
    }
    if (s->task == VKT_TASK_REGRESS) {
        VKT_TRY(read_numbers(csv, c, r, value));
    } else if (s->task == VKT_TASK_MULTILABEL) {
        VKT_TRY(read_set(s, csv, c, r, room, value));
    } else {
        const char *cell = vkt__csv_cell(csv, r, c->label[0]);
        if (!*cell)
            return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: there is no label", csv->name,
                             csv->line[r]);
        const char **found =
            bsearch(&cell, out->classes, out->n_classes, sizeof *out->classes, by_label);
        VKT_ASSERT(found);
        label = (uint32_t)(found - out->classes);
    }
    const char *path = vkt__arena_printf(arena, "%s/%s", root, vkt__csv_cell(csv, r, c->file));
    if (vkt__path_look(path, id) == VKT__FILE)
        vkt__folder_add(out, path, label, split);
    else if (!out->n_absent++)
        vkt_log(VKT_LOG_WARN, "data", "'%s' line %u: there is no picture '%s'", csv->name,
                csv->line[r], path);
fail:
    return st;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A picture of two rows may be in training and in validation, or have two labels. */
static void say_repeats(const char *name, const vkt__folder *f)
{
    size_t n = 0;
    const char **all = vkt__alloc((f->n + 1) * sizeof *all), *first = NULL;
    for (size_t i = 0; i < f->n; i++) all[i] = f->item[i].path;
    if (f->n) qsort(all, f->n, sizeof *all, by_path);
    for (size_t i = 1; i < f->n; i++)
        if (strcmp(all[i - 1], all[i]) == 0 && !n++) first = all[i];
    if (n)
        vkt_log(
            VKT_LOG_WARN, "data",
            "'%s': %zu row%s a picture that another has, as '%s': each is an example of its own",
            name, n, n == 1 ? " names" : "s name", first);
    free(all);
}

vkt_status vkt__labels_file_read(const vkt_data_desc *desc, vkt__schema *s, vkt__arena *arena,
                                 vkt__folder *out)
{
    vkt_status st = VKT_OK;
    char *bytes = NULL;
    size_t n;
    vkt__csv csv = { 0 };
    columns c = { 0 };
    const char **cells = NULL;
    vkt_label *room = NULL;
    *out = (vkt__folder) { .has_labels = true };
    if (!vkt__is_dir(desc->path))
        return vkt__fail(VKT_E_IO, "data", "'%s' is not a folder: give the folder of the pictures",
                         desc->path);
    const char *root = vkt__folder_root(desc->path, arena);
    VKT_TRY(vkt__file_read(desc->labels, LABELS_LIMIT, &bytes, &n));
    VKT_TRY(vkt__decode_all(desc->labels, &bytes, &n));
    VKT_TRY(vkt__csv_parse(bytes, n, desc->labels, 0, false, &csv));
    VKT_TRY(vkt__alloc_large(csv.n_columns, sizeof *c.label, "columns", &c.label));
    VKT_TRY(find_columns(desc, &csv, &c));
    VKT_TRY(vkt__alloc_large(csv.n_rows, sizeof *cells, "labels", &cells));
    VKT_TRY(fit_labels(&csv, &c, cells, arena, s, out));
    VKT_TRY(vkt__alloc_large(out->n_values, sizeof *room, "labels", &room));
    for (size_t r = c.header; r < csv.n_rows; r++)
        VKT_TRY(take_row(root, s, &csv, &c, r, room, arena, out));
    say_repeats(desc->labels, out);
fail:
    vkt__csv_finish(&csv);
    free(bytes);
    free(c.label);
    free(cells);
    free(room);
    return st;
}
