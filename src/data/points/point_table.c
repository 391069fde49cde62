/* point_table.h: points as a table. Columns that are none of a point say nothing here. */
#include <math.h>

#include "base/number.h"
#include "data/points/point_table.h"
#include "data/tables/csv.h"

enum { X, Y, SEEN, PARTS };
static const char parts[PARTS] = { 'x', 'y', 'v' };
#define NOWHERE SIZE_MAX

static const char *const file_names[] = { "file",  "filename",   "file_name", "path",
                                          "image", "image_path", "img" },
                         *const split_names[] = { "split", "set" };

typedef struct columns {
    size_t file, split, at[VKT__POINTS_MOST][PARTS];
    size_t twice[2]; /* two that say the same */
    size_t lone;     /* the first x without its y */
    uint32_t n, n_lone;
    bool many; /* more of both than there may be */
} columns;

static bool one_of(const char *word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (vkt__same_word(word, names[i])) return true;
    return false;
}

/* Length of "nose" in "nose_x"; 0: it is no such name. */
static size_t stem(const char *name, int part)
{
    size_t n = strlen(name);
    return n > 2 && name[n - 2] == '_' && (name[n - 1] | 32) == parts[part] ? n - 2 : 0;
}

static size_t column_of(const vkt__csv *csv, size_t from, const char *name, size_t length, int part)
{
    for (size_t i = from; i < csv->n_columns; i++) {
        const char *other = vkt__csv_cell(csv, 0, i);
        if (stem(other, part) == length && !strncmp(other, name, length)) return i;
    }
    return NOWHERE;
}

static void take_column(columns *c, size_t *to, size_t at)
{
    if (*to != NOWHERE) c->twice[0] = *to, c->twice[1] = at;
    if (*to == NOWHERE) *to = at;
}

/* The point whose x is column i, unless a column before it has that name. */
static void find_point(const vkt__csv *csv, size_t i, columns *c)
{
    const char *name = vkt__csv_cell(csv, 0, i);
    size_t length = stem(name, X), at[PARTS], again;
    if (!length || c->many || column_of(csv, 0, name, length, X) != i) return;
    c->many = c->n + c->n_lone == VKT__POINTS_MOST;
    if (c->many) return;
    for (int k = 0; k < PARTS; k++) at[k] = column_of(csv, 0, name, length, k);
    if (at[Y] == NOWHERE) {
        if (!c->n_lone++) c->lone = i;
        return;
    }
    for (int k = 0; k < PARTS; k++)
        if (at[k] != NOWHERE && (again = column_of(csv, at[k] + 1, name, length, k)) != NOWHERE)
            c->twice[0] = at[k], c->twice[1] = again;
    memcpy(c->at[c->n++], at, sizeof at);
}

/* false: these are no points. */
static bool find_columns(const vkt__csv *csv, columns *c)
{
    *c = (columns) { .file = NOWHERE, .split = NOWHERE, .twice = { NOWHERE, NOWHERE } };
    for (size_t i = 0; i < csv->n_columns && csv->n_rows; i++) {
        const char *name = vkt__csv_cell(csv, 0, i);
        if (one_of(name, file_names, VKT_COUNT(file_names))) take_column(c, &c->file, i);
        if (one_of(name, split_names, VKT_COUNT(split_names))) take_column(c, &c->split, i);
        find_point(csv, i, c);
    }
    return c->file != NOWHERE && c->n;
}

typedef struct named {
    const char *path, *file; /* path: as it was found, file: as the table says */
    uint32_t line;
} named;

typedef struct reading {
    const char *name, *root;
    vkt__csv csv;
    columns c;
    named *found; /* [n_found] pictures that are there */
    size_t n_found;
    vkt__arena *arena;
} reading;

static const char *cell(const reading *r, size_t row, size_t column)
{
    return column == NOWHERE ? "" : vkt__csv_cell(&r->csv, row, column);
}

static vkt_status bad_row(const reading *r, size_t row, const char *why)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: %s", r->name, r->csv.line[row], why);
}

static vkt_status take_names(const reading *r, vkt__mark_points *p)
{
    bool fresh = !p->name;
    if (r->c.many)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has more than %d columns NAME_x of points",
                         r->name, VKT__POINTS_MOST);
    if (r->c.twice[0] != NOWHERE)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': the columns '%s' and '%s' say the same: rename or remove one",
                         r->name, vkt__show(cell(r, 0, r->c.twice[0])).s,
                         vkt__show(cell(r, 0, r->c.twice[1])).s);
    if (!fresh && r->c.n != p->n)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has %u points, the files before have %u",
                         r->name, r->c.n, p->n);
    if (fresh) p->name = vkt__arena_alloc(r->arena, r->c.n * sizeof *p->name);
    p->n = r->c.n;
    p->whole = true;
    p->n_lone += r->c.n_lone;
    if (r->c.n_lone && !p->lone) p->lone = vkt__arena_strdup(r->arena, cell(r, 0, r->c.lone));
    for (uint32_t k = 0; k < p->n; k++) {
        const char *x = cell(r, 0, r->c.at[k][X]);
        size_t at, length = stem(x, X);
        if (!vkt__utf8_ok(x, strlen(x), &at))
            return vkt__fail(VKT_E_FORMAT, "data", "'%s': a column's name is not UTF-8", r->name);
        if (fresh)
            p->name[k] = vkt__arena_printf(r->arena, "%.*s", (int)length, x);
        else if (strlen(p->name[k]) != length || strncmp(p->name[k], x, length) != 0)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': point %u is '%.*s', in the files before it is '%s'", r->name, k,
                             (int)length, x, vkt__show(p->name[k]).s);
    }
    return VKT_OK;
}

/* x, y and how it was seen; x and y both empty: it is not there. */
static vkt_status take_point(const reading *r, size_t row, uint32_t k, double out[3])
{
    const char *text[PARTS];
    for (int i = 0; i < PARTS; i++) text[i] = cell(r, row, r->c.at[k][i]);
    out[0] = out[1] = out[2] = 0;
    if (!*text[X] && !*text[Y]) return VKT_OK;
    for (int i = X; i <= Y; i++)
        if (!vkt__number(text[i], &out[i]) || !(fabs(out[i]) < 1e9))
            return bad_row(r, row,
                           "a point's place is no number: give x and y, or neither where "
                           "it is not there");
    out[2] = 2;
    if (*text[SEEN] &&
        (!vkt__number(text[SEEN], &out[2]) || (out[2] != 0 && out[2] != 1 && out[2] != 2)))
        return bad_row(r, row, "how a point is seen is none of 0 (not there), 1 (hidden) and 2");
    return VKT_OK;
}

static vkt_status take_row(reading *r, size_t row, uint8_t split, vkt__marks *m)
{
    vkt_status st = VKT_OK;
    double at[3 * VKT__POINTS_MOST];
    bool any = false;
    const char *file = cell(r, row, r->c.file), *of = cell(r, row, r->c.split);
    if (!vkt__marks_below(file))
        return bad_row(r, row, "the picture's name is no path below the file's folder");
    if (*of && !vkt__folder_split_named(of, &split))
        return bad_row(r, row, "the split is none of train, valid and test");
    for (uint32_t k = 0; k < r->c.n; k++) {
        if ((st = take_point(r, row, k, at + 3 * (size_t)k)) != VKT_OK) return st;
        any |= at[3 * k + 2] > 0;
    }
    const char *path = vkt__marks_find(r->root, file, split, r->arena);
    if (!path)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' line %u names the picture '%s', which is not there", r->name,
                         r->csv.line[row], vkt__show(file).s);
    r->found[r->n_found++] = (named) { path, file, r->csv.line[row] };
    m->points->n_bare += !any;
    if (!any) return VKT_OK;
    vkt__marks_picture(m, path, split, 0, 0);
    if (split < VKT_N_SPLITS) m->pictures.own[split] = true;
    return vkt__marks_add_points(m, (double[4]) { 0 }, 0, at, r->name);
}

static int by_path(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int c = strcmp(x->path, y->path);
    return c ? c : (x->line > y->line) - (x->line < y->line);
}

/* A model has the points of one thing on a picture. */
static vkt_status check_once(const reading *r)
{
    named *all = r->found;
    if (r->n_found) qsort(all, r->n_found, sizeof *all, by_path);
    for (size_t i = 1; i < r->n_found; i++)
        if (!strcmp(all[i].path, all[i - 1].path))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' lines %u and %u are both of '%s': a table has one thing on each "
                             "picture; cut it, or write COCO's keypoints, whose boxes cut it",
                             r->name, all[i - 1].line, all[i].line, vkt__show(all[i].file).s);
    return VKT_OK;
}

vkt_status vkt__point_table_read(char *text, size_t n, const char *name, const char *root,
                                 uint8_t split, bool stop, vkt__arena *arena, vkt__marks *m)
{
    vkt_status st;
    reading r = { .name = name, .root = root, .arena = arena };
    vkt__str own = { 0 };
    const char *from = text;
    VKT_TRY(vkt__decode_text(name, false, false, &own, &from, &n));
    VKT_TRY(vkt__csv_parse(from, n, name, 0, false, &r.csv));
    if (!find_columns(&r.csv, &r.c)) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': its first line names no columns file, and NAME_x and NAME_y of each "
                       "point",
                       name);
        goto fail;
    }
    VKT_TRY(take_names(&r, m->points));
    VKT_TRY(vkt__alloc_large(r.csv.n_rows, sizeof *r.found, "the points", &r.found));
    for (size_t row = 1; row < r.csv.n_rows; row++) {
        if (!stop) vkt__log_quiet(true);
        st = take_row(&r, row, split, m);
        if (!stop) vkt__log_quiet(false);
        if (st != VKT_OK) VKT_TRY(vkt__marks_failed(m, st, stop));
    }
    VKT_TRY(check_once(&r));
fail:
    free(r.found);
    vkt__str_finish(&own);
    vkt__csv_finish(&r.csv);
    return st;
}

static const char *line_end(const char *p, const char *end)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    return stop ? stop + 1 : end;
}

/* The columns, and a picture that is there in one of the first lines. */
static bool begins_so(char *head, size_t n, const char *root)
{
    enum { LINES = 20 };
    vkt__arena arena = { 0 };
    vkt__str own = { 0 };
    reading r = { .arena = &arena };
    const char *text = head;
    bool is = false;
    vkt__log_ignore(true);
    if (vkt__decode_text("", true, n == VKT__LIST_HEAD, &own, &text, &n) == VKT_OK && n) {
        const char *end = text + n, *stop = text;
        for (int i = 0; i < LINES && stop < end; i++) {
            const char *next = line_end(stop, end);
            if (next == end && end[-1] != '\n' && i > 1) break; /* it may be cut */
            stop = next;
        }
        is = vkt__csv_parse(text, (size_t)(stop - text), "", 0, false, &r.csv) == VKT_OK &&
             find_columns(&r.csv, &r.c);
    }
    bool there = false;
    for (size_t row = 1; is && row < r.csv.n_rows && !there; row++) {
        uint8_t split = VKT_N_SPLITS;
        const char *file = cell(&r, row, r.c.file);
        vkt__folder_split_named(cell(&r, row, r.c.split), &split);
        there = vkt__marks_below(file) && vkt__marks_find(root, file, split, &arena);
    }
    vkt__log_ignore(false);
    vkt__csv_finish(&r.csv);
    vkt__str_finish(&own);
    vkt__arena_finish(&arena);
    return there;
}

const vkt__list_kind vkt__point_table = { ".csv", false, NULL, begins_so };
