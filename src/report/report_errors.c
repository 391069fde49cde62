/* What a run's best checkpoint gets most wrong, and the labels that it contradicts, as its end
 * wrote them (train/worst.h): pictures in a grid, rows of a table with what matters most in them.
 */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "base/os.h"
#include "report/run_view.h"

enum { INDEX, WHERE, TARGET, PREDICTED, P_PREDICTED, P_TARGET, PICTURE, FIXED };
enum { MOST_SHOWN = 24, MOST_DOUBTS = 12, MOST_CELLS = 6, PICTURE_LIMIT = 32 << 10 };

#define CELL(...) vkt__arena_printf(a, __VA_ARGS__)

static const char *percent(vkt__arena *a, const char *cell)
{
    double v = vkt__number_or_nan(cell);
    return isnan(v) ? "-" : CELL("%.1f%%", 100 * v);
}

/* A file's last folder and name. */
static const char *ending(const char *path)
{
    const char *from = path;
    for (const char *s = path, *last = path; *s; s++)
        if (*s == '/' || *s == '\\') from = last, last = s + 1;
    return from;
}

static void put_picture(vkt__page *p, vkt__run_view *r, const char *name, const char *about)
{
    char *data = NULL;
    size_t n = 0;
    const char *path = vkt__arena_printf(&r->arena, "%s/%s", r->dir, name);
    bool inside = !strstr(name, "..") && *name != '/';
    vkt_status st = inside ? vkt__file_read_if(path, PICTURE_LIMIT, &data, &n) : VKT_OK;
    if (st == VKT_E_IO || st == VKT_E_OOM_HOST) r->st = st;
    if (st == VKT_OK && data) {
        vkt__str_printf(&p->html, "<img alt=\"");
        vkt__markup_escape(&p->html, about);
        vkt__str_printf(&p->html, "\" src=\"data:image/png;base64,");
        vkt__str_base64(&p->html, data, n);
        vkt__str_printf(&p->html, "\">");
    }
    free(data);
}

static void pictures(vkt__page *p, vkt__run_view *r, const vkt__csv *csv, size_t shown, bool doubts)
{
    vkt__arena *a = &r->arena;
    vkt__str_printf(&p->html, "<ul class=\"shots\">\n");
    for (size_t i = 1; i <= shown; i++) {
        const char *target = vkt__csv_cell(csv, i, TARGET),
                   *said = vkt__csv_cell(csv, i, PREDICTED);
        vkt__str_printf(&p->html, "<li>");
        put_picture(p, r, vkt__csv_cell(csv, i, PICTURE),
                    !*target ? said
                             : CELL(doubts ? "labelled %s, likelier %s" : "%s, taken for %s",
                                    target, said));
        if (*target) {
            vkt__str_printf(&p->html, "<b>");
            vkt__markup_escape(&p->html, target);
            vkt__str_printf(&p->html, "</b> %s ", doubts ? "but likelier" : "taken for");
        }
        vkt__str_printf(&p->html, "<b class=\"wrong\">");
        vkt__markup_escape(&p->html, said);
        vkt__str_printf(&p->html, "</b>");
        if (*vkt__csv_cell(csv, i, P_PREDICTED))
            vkt__markup_escape(&p->html, CELL(" %s against %s",
                                              percent(a, vkt__csv_cell(csv, i, P_PREDICTED)),
                                              percent(a, vkt__csv_cell(csv, i, P_TARGET))));
        vkt__str_printf(&p->html, "<small>");
        vkt__markup_escape(&p->html, ending(vkt__csv_cell(csv, i, WHERE)));
        vkt__str_printf(&p->html, "</small></li>\n");
    }
    vkt__str_printf(&p->html, "</ul>\n");
}

/* The columns that matter most, as the importance of columns has them; where that is not known, the
 * first. */
static size_t choose_cells(vkt__run_view *r, const vkt__csv *csv, const char *split,
                           size_t out[MOST_CELLS])
{
    vkt__csv importance;
    size_t n = 0;
    bool known =
        vkt__run_table(r, vkt__arena_printf(&r->arena, "%s-importance.csv", split), &importance);
    for (size_t i = 1; known && i < importance.n_rows && n < MOST_CELLS; i++)
        for (size_t c = FIXED; c < csv->n_columns && n < MOST_CELLS; c++)
            if (!strcmp(vkt__csv_cell(csv, 0, c), vkt__csv_cell(&importance, i, 0))) {
                out[n++] = c;
                break;
            }
    if (known) vkt__csv_finish(&importance);
    for (size_t c = FIXED; !n && c < csv->n_columns && c - FIXED < MOST_CELLS; c++)
        out[c - FIXED] = c;
    return n ? n : VKT_MIN(csv->n_columns - FIXED, (size_t)MOST_CELLS);
}

static const char *off_by(vkt__arena *a, const char *target, const char *said)
{
    double by = vkt__number_or_nan(said) - vkt__number_or_nan(target);
    return isnan(by) ? "-" : CELL("%+.4g", by);
}

static void rows(vkt__page *p, vkt__run_view *r, const vkt__csv *csv, const char *split,
                 size_t shown, const char *caption, bool doubts)
{
    vkt__arena *a = &r->arena;
    size_t cell[MOST_CELLS], n_cells = choose_cells(r, csv, split, cell), wide = 0;
    const char *columns[FIXED + MOST_CELLS];
    bool classes = *vkt__csv_cell(csv, 1, P_PREDICTED),
         numbers = !isnan(vkt__number_or_nan(
             off_by(a, vkt__csv_cell(csv, 1, TARGET), vkt__csv_cell(csv, 1, PREDICTED))));
    columns[wide++] = "where";
    columns[wide++] = doubts ? "label" : "target";
    columns[wide++] = doubts ? "likelier" : "predicted";
    if (classes) {
        columns[wide++] = "probability";
        columns[wide++] = doubts ? "the label's" : "the target's";
    } else if (numbers) {
        columns[wide++] = "off by";
    }
    size_t fixed = wide;
    for (size_t k = 0; k < n_cells; k++) columns[wide++] = vkt__csv_cell(csv, 0, cell[k]);
    const char **cells = vkt__arena_alloc(a, (shown * wide + 1) * sizeof *cells), **at = cells;
    for (size_t i = 1; i <= shown; i++) {
        const char *target = vkt__csv_cell(csv, i, TARGET),
                   *said = vkt__csv_cell(csv, i, PREDICTED);
        *at++ = vkt__csv_cell(csv, i, WHERE);
        *at++ = target;
        *at++ = said;
        if (classes) {
            *at++ = percent(a, vkt__csv_cell(csv, i, P_PREDICTED));
            *at++ = percent(a, vkt__csv_cell(csv, i, P_TARGET));
        } else if (fixed > 3) {
            *at++ = off_by(a, target, said);
        }
        for (size_t k = 0; k < n_cells; k++) *at++ = vkt__csv_cell(csv, i, cell[k]);
    }
    vkt__page_table(p, caption, columns, wide, cells, shown);
}

static bool read_list(vkt__run_view *r, const char *name, vkt__csv *out, const char **split)
{
    static const char *const splits[] = { "valid", "test" };
    for (size_t k = 0; k < VKT_COUNT(splits); k++) {
        *split = splits[k];
        if (!vkt__run_table(r, vkt__arena_printf(&r->arena, "%s-%s.csv", splits[k], name), out))
            continue;
        if (out->n_columns >= FIXED) return true;
        vkt__csv_finish(out);
    }
    return false;
}

static void show(vkt__page *p, vkt__run_view *r, const vkt__csv *csv, const char *split,
                 size_t most, const char *caption, bool doubts)
{
    size_t n = csv->n_rows - 1, shown = VKT_MIN(n, most);
    if (*vkt__csv_cell(csv, 1, PICTURE))
        pictures(p, r, csv, shown, doubts);
    else
        rows(p, r, csv, split, shown, caption, doubts);
}

void vkt__run_errors(vkt__page *p, vkt__run_view *r)
{
    vkt__csv csv;
    const char *split;
    if (read_list(r, "errors", &csv, &split)) {
        bool classes = *vkt__csv_cell(&csv, 1, P_PREDICTED);
        vkt__page_heading(p, 2, "Largest errors");
        vkt__page_text(p,
                       "The best checkpoint on the %s set, its largest errors first: %s. "
                       "`%s-errors.csv` in the run's folder lists them.",
                       !strcmp(split, "valid") ? "validation" : split,
                       classes ? "the examples whose right class it finds least likely"
                               : "the examples that it is furthest off",
                       split);
        show(p, r, &csv, split, MOST_SHOWN, "The largest errors", false);
        vkt__csv_finish(&csv);
    }
    if (!r->rec.n_judged) return;
    vkt__page_heading(p, 2, "Labels worth a second look");
    vkt__page_text(
        p,
        "The best checkpoint contradicts %llu of %llu labels that it was not trained on: "
        "another class is as probable as it is on average for its own examples. A label "
        "there is wrong, or the example is hard.%s",
        (unsigned long long)r->rec.n_doubtful, (unsigned long long)r->rec.n_judged,
        r->rec.n_doubtful ? "" : " Nothing to look at.");
    if (!read_list(r, "doubtful", &csv, &split)) return;
    if (csv.n_rows - 1 > MOST_DOUBTS)
        vkt__page_text(p,
                       "The %d that it is surest of; `%s-doubtful.csv` in the run's folder has "
                       "all.",
                       MOST_DOUBTS, split);
    show(p, r, &csv, split, MOST_DOUBTS, "Labels that the network contradicts", true);
    vkt__csv_finish(&csv);
}
