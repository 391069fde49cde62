/* marks.h: boxes as a table, a row each. The first line names the columns: nothing is guessed from
 * where they stand. Text of other encodings is read as tables read it. */
#include <math.h>

#include "base/number.h"
#include "data/boxes/marks.h"
#include "data/tables/csv.h"

enum { FILE_NAME, CLASS, LEFT, TOP, RIGHT, BOTTOM, X, Y, WIDE, HIGH, SPLIT, N_COLUMNS };
#define NOWHERE SIZE_MAX

static const char *const names[N_COLUMNS][8] = {
    [FILE_NAME] = { "file", "filename", "file_name", "path", "image", "image_path", "img" },
    [CLASS] = { "class", "label", "category", "class_name", "name" },
    [LEFT] = { "xmin", "x_min", "x1", "left" },
    [TOP] = { "ymin", "y_min", "y1", "top" },
    [RIGHT] = { "xmax", "x_max", "x2", "right" },
    [BOTTOM] = { "ymax", "y_max", "y2", "bottom" },
    [X] = { "x" },
    [Y] = { "y" },
    [WIDE] = { "width", "w" },
    [HIGH] = { "height", "h" },
    [SPLIT] = { "split", "set" },
};
static const char *const meaning[N_COLUMNS] = {
    "picture",     "class",        "left edge", "upper edge", "right edge", "lower edge",
    "left corner", "upper corner", "width",     "height",     "split",
};

typedef struct columns {
    size_t at[N_COLUMNS];
    int twice;    /* a meaning that two columns have, or N_COLUMNS */
    size_t other; /* the second of them */
    bool edges;   /* left, top, right, bottom: then width and height are the picture's */
} columns;

/* false: these are no boxes. */
static bool find_columns(const vkt__csv *csv, columns *c)
{
    c->twice = N_COLUMNS;
    for (int k = 0; k < N_COLUMNS; k++) {
        c->at[k] = NOWHERE;
        for (size_t i = 0; i < csv->n_columns && csv->n_rows; i++) {
            bool is = false;
            for (size_t w = 0; names[k][w]; w++)
                is |= vkt__same_word(vkt__csv_cell(csv, 0, i), names[k][w]);
            if (is && c->at[k] != NOWHERE && c->twice == N_COLUMNS) c->twice = k, c->other = i;
            if (is && c->at[k] == NOWHERE) c->at[k] = i;
        }
    }
    bool corner = true, sides = true;
    for (int k = LEFT; k <= BOTTOM; k++) corner &= c->at[k] != NOWHERE;
    for (int k = X; k <= HIGH; k++) sides &= c->at[k] != NOWHERE;
    c->edges = corner;
    return (corner || sides) && c->at[FILE_NAME] != NOWHERE && c->at[CLASS] != NOWHERE;
}

static const char *cell(const vkt__csv *csv, const columns *c, size_t row, int column)
{
    return c->at[column] == NOWHERE ? "" : vkt__csv_cell(csv, row, c->at[column]);
}

/* ---- rows ---- */

typedef struct reading {
    const char *name, *root;
    vkt__csv csv;
    columns c;
    uint32_t *order; /* rows by their pictures, those of the first first */
    uint32_t n;
    vkt__arena *arena;
} reading;

typedef struct of_picture {
    const char *file;
    uint32_t row, first; /* first: the first row of this picture */
} of_picture;

static int by_file(const void *a, const void *b)
{
    const of_picture *x = a, *y = b;
    int c = strcmp(x->file, y->file);
    return c ? c : (x->row > y->row) - (x->row < y->row);
}

static int by_first(const void *a, const void *b)
{
    const of_picture *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static const char *file_of(const reading *r, size_t row)
{
    return vkt__marks_plain(cell(&r->csv, &r->c, row, FILE_NAME), r->arena);
}

/* Rows of one picture one after another, pictures in the order in which the file names them. */
static vkt_status sort_rows(reading *r)
{
    vkt_status st;
    of_picture *all = NULL;
    r->n = (uint32_t)(r->csv.n_rows - 1);
    VKT_TRY(vkt__alloc_large(r->n + 1ull, sizeof *all, "the boxes", &all));
    VKT_TRY(vkt__alloc_large(r->n + 1ull, sizeof *r->order, "the boxes", &r->order));
    for (uint32_t i = 0; i < r->n; i++) all[i] = (of_picture) { file_of(r, i + 1), i + 1, i + 1 };
    if (r->n) qsort(all, r->n, sizeof *all, by_file);
    for (uint32_t i = 1; i < r->n; i++)
        if (!strcmp(all[i].file, all[i - 1].file)) all[i].first = all[i - 1].first;
    if (r->n) qsort(all, r->n, sizeof *all, by_first);
    for (uint32_t i = 0; i < r->n; i++) r->order[i] = all[i].row;
fail:
    free(all);
    return st;
}

static vkt_status bad_row(const reading *r, size_t row, const char *why)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: %s", r->name, r->csv.line[row], why);
}

static vkt_status take_row(const reading *r, size_t row, vkt__marks *m)
{
    double v[4];
    uint32_t class = 0;
    bool blank = true;
    const char *word = cell(&r->csv, &r->c, row, CLASS);
    const int from = r->c.edges ? LEFT : X;
    for (int k = 0; k < 4; k++) blank &= !*cell(&r->csv, &r->c, row, from + k);
    if (blank && !*word) return VKT_OK; /* a picture without an object */
    if (!*word) return bad_row(r, row, "a box without a class");
    for (int k = 0; k < 4; k++)
        if (!vkt__number(cell(&r->csv, &r->c, row, from + k), &v[k]) || !(fabs(v[k]) < 1e9))
            return bad_row(r, row, "an edge of the box is no number");
    if (!r->c.edges) v[2] += v[0], v[3] += v[1];
    vkt_status st = vkt__marks_class(m, word, r->name, r->arena, &class);
    return st == VKT_OK ? vkt__marks_add(m, v, class, r->name) : st;
}

/* Width and height of the picture that a row says; 0: it says none. */
static uint32_t side_of(const reading *r, size_t row, int column)
{
    double v;
    bool said =
        r->c.edges && vkt__number(cell(&r->csv, &r->c, row, column), &v) && v >= 1 && v < 1 << 20;
    return said ? (uint32_t)v : 0;
}

/* The rows [from, to) of `order`. */
static vkt_status take_picture(const reading *r, uint32_t from, uint32_t to, uint8_t split,
                               vkt__marks *m)
{
    vkt_status st = VKT_OK;
    size_t row = r->order[from];
    const char *file = cell(&r->csv, &r->c, row, FILE_NAME), *of = cell(&r->csv, &r->c, row, SPLIT);
    if (!vkt__marks_below(file))
        return bad_row(r, row, "the picture's name is no path below the file's folder");
    if (*of && !vkt__folder_split_named(of, &split))
        return bad_row(r, row, "the split is none of train, valid and test");
    for (uint32_t i = from; i < to; i++)
        if (strcmp(cell(&r->csv, &r->c, r->order[i], SPLIT), of) != 0)
            return bad_row(r, r->order[i], "this picture is of another split in a line before");
    const char *path = vkt__marks_find(r->root, file, split, r->arena);
    if (!path)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' line %u names the picture '%s', which is not there", r->name,
                         r->csv.line[row], vkt__show(file).s);
    uint32_t w = side_of(r, row, WIDE), h = side_of(r, row, HIGH);
    vkt__marks_picture(m, path, split, w && h ? w : 0, w && h ? h : 0);
    if (split < VKT_N_SPLITS) m->pictures.own[split] = true;
    for (uint32_t i = from; i < to && st == VKT_OK; i++) st = take_row(r, r->order[i], m);
    if (st != VKT_OK) vkt__marks_drop(m);
    return st;
}

/* Boxes that all lie within the first two pixels, some between them: shares of the pictures. One
 * that was rounded may be a little above 1. */
static bool are_shares(const vkt__mark *mark, size_t n)
{
    double most = 0;
    bool fraction = false;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) {
            most = fmax(most, mark[i].box[k]);
            fraction |= mark[i].box[k] != floor(mark[i].box[k]);
        }
    return fraction && most < 2;
}

vkt_status vkt__box_table_read(char *text, size_t n, const char *name, const char *root,
                               uint8_t split, bool stop, vkt__arena *arena, vkt__marks *m)
{
    vkt_status st;
    reading r = { .name = name, .root = root, .arena = arena };
    vkt__str own = { 0 };
    const char *from_utf8 = text;
    size_t before = m->n;
    VKT_TRY(vkt__decode_text(name, false, false, &own, &from_utf8, &n));
    VKT_TRY(vkt__csv_parse(from_utf8, n, name, 0, false, &r.csv));
    if (!find_columns(&r.csv, &r.c)) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': its first line names no columns file, class, xmin, ymin, xmax, ymax "
                       "(or x, y, width, height: the upper left corner and the size)",
                       name);
        goto fail;
    }
    if (r.c.twice < N_COLUMNS) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': columns '%s' and '%s' both name the %s: rename one", name,
                       vkt__show(vkt__csv_cell(&r.csv, 0, r.c.at[r.c.twice])).s,
                       vkt__show(vkt__csv_cell(&r.csv, 0, r.c.other)).s, meaning[r.c.twice]);
        goto fail;
    }
    VKT_TRY(sort_rows(&r));
    for (uint32_t from = 0, to; from < r.n; from = to) {
        const char *file = file_of(&r, r.order[from]);
        to = from + 1;
        while (to < r.n && !strcmp(file_of(&r, r.order[to]), file)) to++;
        if (!stop) vkt__log_quiet(true);
        st = take_picture(&r, from, to, split, m);
        if (!stop) vkt__log_quiet(false);
        if (st != VKT_OK) VKT_TRY(vkt__marks_failed(m, st, stop));
    }
    if (m->n > before && are_shares(m->item + before, m->n - before)) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s': edges are shares of the picture; pixels are expected", name);
        goto fail;
    }
    vkt__marks_sort_classes(m);
fail:
    vkt__str_finish(&own);
    free(r.order);
    vkt__csv_finish(&r.csv);
    return st;
}

/* A first line of these columns and a line [line, end), whose picture is there. */
static bool names_picture(const vkt__str *first, const char *line, size_t n, const char *root,
                          vkt__arena *arena)
{
    vkt__csv csv = { 0 };
    columns c;
    uint8_t split = VKT_N_SPLITS;
    vkt__str two = { 0 };
    vkt__str_add(&two, first->data, first->len);
    vkt__str_add(&two, line, n);
    bool is = vkt__csv_parse(two.data, two.len, "", 0, false, &csv) == VKT_OK &&
              find_columns(&csv, &c) && csv.n_rows == 2;
    const char *file = is ? cell(&csv, &c, 1, FILE_NAME) : "";
    if (is) vkt__folder_split_named(cell(&csv, &c, 1, SPLIT), &split);
    is = is && vkt__marks_below(file) && vkt__marks_find(root, file, split, arena);
    vkt__csv_finish(&csv);
    vkt__str_finish(&two);
    return is;
}

static const char *line_end(const char *p, const char *end)
{
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    return stop ? stop + 1 : end;
}

/* The columns, and a picture that is there: a line alone may be wrong. */
static bool begins_so(char *head, size_t n, const char *root)
{
    vkt__arena arena = { 0 };
    vkt__csv csv = { 0 };
    columns c;
    vkt__str own = { 0 }, first = { 0 };
    const char *text = head;
    bool is = false;
    vkt__log_ignore(true);
    if (vkt__decode_text("", true, n == VKT__LIST_HEAD, &own, &text, &n) == VKT_OK && n) {
        const char *end = text + n, *line = line_end(text, end);
        vkt__str_add(&first, text, (size_t)(line - text));
        bool of_boxes = vkt__csv_parse(first.data, first.len, "", 0, false, &csv) == VKT_OK &&
                        find_columns(&csv, &c);
        for (const char *next; of_boxes && !is && line < end; line = next) {
            next = line_end(line, end);
            is = names_picture(&first, line, (size_t)(next - line), root, &arena);
        }
    }
    vkt__log_ignore(false);
    vkt__csv_finish(&csv);
    vkt__str_finish(&own);
    vkt__str_finish(&first);
    vkt__arena_finish(&arena);
    return is;
}

const vkt__list_kind vkt__box_table = { ".csv", false, NULL, begins_so };
