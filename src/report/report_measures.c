/* How a run's classes are ranked, and how often what it says is right: curves, from the tables that
 * the trainer left at its end. */
#include <math.h>

#include "base/number.h"
#include "report/run_view.h"

#define CELL(...) vkt__arena_printf(a, __VA_ARGS__)

/* valid-NAME.csv, or where there is none test-NAME.csv; *split which. */
static bool read_split(vkt__run_view *r, const char *name, vkt__csv *out, const char **split)
{
    static const char *const splits[] = { "valid", "test" };
    for (size_t k = 0; k < VKT_COUNT(splits); k++) {
        *split = splits[k];
        if (vkt__run_table(r, vkt__arena_printf(&r->arena, "%s-%s", splits[k], name), out))
            return true;
    }
    return false;
}

/* Column `column` of rows [from, to), behind `room` places that the caller fills. */
static double *numbers(vkt__arena *a, const vkt__csv *csv, size_t from, size_t to, size_t column,
                       size_t room)
{
    double *v = vkt__arena_alloc(a, (to - from + room) * sizeof *v);
    for (size_t i = from; i < to; i++)
        v[i - from + room] = vkt__number_or_nan(vkt__csv_cell(csv, i, column));
    return v;
}

static void diagonal(vkt__plot *plot, const char *name)
{
    static const double ends[] = { 0, 1 };
    vkt__plot_add(
        plot, &(vkt__series) {
                  .mark = VKT__LINE, .name = name, .n = 2, .x = ends, .y = ends, .grey = true });
}

static vkt__plot *square(vkt__arena *a, const char *title, const char *x, const char *y,
                         const char *about)
{
    vkt__plot *plot = vkt__arena_alloc(a, sizeof *plot);
    *plot = (vkt__plot) {
        .title = title, .x_label = x, .y_label = y, .about = about, .width = 480, .height = 400
    };
    return plot;
}

/* Which of the points from first to last, both kept, a curve within the unit square needs, so that
 * it is nowhere further than EXACT from all of them and a pointer finds a value within APART. */
static void mark_needed(const double *x, const double *y, size_t first, size_t last, bool *needed)
{
    static const double EXACT = 0.003, APART = 0.05;
    double dx = x[last] - x[first], dy = y[last] - y[first], length = hypot(dx, dy), most = -1;
    size_t at = first;
    needed[first] = needed[last] = true;
    for (size_t i = first + 1; i < last; i++) {
        double ex = x[i] - x[first], ey = y[i] - y[first],
               far = length > 0 ? fabs(dx * ey - dy * ex) / length : hypot(ex, ey);
        if (far > most) most = far, at = i;
    }
    if (most < 0) return;
    if (most <= EXACT) { /* straight */
        if (length <= APART) return;
        at = (first + last) / 2;
    }
    mark_needed(x, y, first, at, needed);
    mark_needed(x, y, at, last, needed);
}

/* Leaves of n points those that are needed; returns how many. */
static size_t thin(vkt__arena *a, double *x, double *y, size_t n)
{
    bool *needed = vkt__arena_alloc(a, n * sizeof *needed);
    size_t k = 0;
    if (n < 3) return n;
    memset(needed, 0, n * sizeof *needed);
    mark_needed(x, y, 0, n - 1, needed);
    for (size_t i = 0; i < n; i++)
        if (needed[i]) {
            x[k] = x[i];
            y[k++] = y[i];
        }
    return k;
}

/* A class's points follow one another: its name, positives, examples, threshold, recall, false
 * positive rate, precision. The corner (0, 0), where nothing is found, belongs to the ROC curve. */
static void ranking(vkt__page *p, vkt__run_view *r, const vkt__csv *csv, const char *split)
{
    vkt__arena *a = &r->arena;
    enum { NAME, POSITIVES, EXAMPLES, THRESHOLD, RECALL, FALSE_POSITIVES, PRECISION, COLUMNS };
    if (csv->n_columns != COLUMNS) return;
    vkt__plot *roc = square(a, "ROC curve", "false positive rate", "true positive rate",
                            CELL("By every threshold, %s set, best checkpoint.", split)),
              *pr = square(a, "Precision and recall", "recall", "precision",
                           CELL("By every threshold, %s set, best checkpoint.", split));
    int color = 0;
    double share = NAN;
    diagonal(roc, "chance");
    for (size_t from = 1, to; from < csv->n_rows; from = to, color++) {
        const char *name = vkt__csv_cell(csv, from, NAME);
        for (to = from; to < csv->n_rows && !strcmp(vkt__csv_cell(csv, to, NAME), name);) to++;
        double *recall = numbers(a, csv, from, to, RECALL, 1),
               *found = numbers(a, csv, from, to, RECALL, 0),
               *wrong = numbers(a, csv, from, to, FALSE_POSITIVES, 1),
               *precision = numbers(a, csv, from, to, PRECISION, 0);
        recall[0] = wrong[0] = 0;
        share = vkt__number_or_nan(vkt__csv_cell(csv, from, POSITIVES)) /
                vkt__number_or_nan(vkt__csv_cell(csv, from, EXAMPLES));
        name = vkt__arena_strdup(a, name); /* the table goes first */
        vkt__plot_add(roc, &(vkt__series) { .mark = VKT__LINE,
                                            .name = name,
                                            .n = thin(a, wrong, recall, to - from + 1),
                                            .x = wrong,
                                            .y = recall,
                                            .color = color % VKT__N_COLORS });
        vkt__plot_add(pr, &(vkt__series) { .mark = VKT__LINE,
                                           .name = name,
                                           .n = thin(a, found, precision, to - from),
                                           .x = found,
                                           .y = precision,
                                           .color = color % VKT__N_COLORS });
    }
    if (color == 1) vkt__plot_rule(pr, share, false, "share of all examples");
    vkt__page_plot(p, roc, "roc");
    vkt__page_plot(p, pr, "precision-recall");
}

/* from, to, then examples, confidence and accuracy, and where there is a temperature these three
 * with it. On the line it is right: below, the model is too sure. */
static void reliability(vkt__page *p, vkt__run_view *r, const vkt__csv *csv, const char *split)
{
    vkt__arena *a = &r->arena;
    enum { EXAMPLES = 2, CONFIDENCE, ACCURACY, COLUMNS };
    size_t n = csv->n_rows - 1;
    bool both = csv->n_columns == COLUMNS + 3;
    if (csv->n_columns != COLUMNS && !both) return;
    vkt__plot *plot =
        square(a, "Reliability", "probability of the likeliest class", "accuracy",
               CELL("%s set, best checkpoint, in %zu bins: below the line the model is too sure.",
                    split, n));
    diagonal(plot, "as often as said");
    for (size_t side = 0; side < (both ? 2 : 1); side++) {
        size_t first = 3 * side;
        const char **labels = vkt__arena_alloc(a, n * sizeof *labels);
        double *count = numbers(a, csv, 1, csv->n_rows, EXAMPLES + first, 0),
               *x = numbers(a, csv, 1, csv->n_rows, CONFIDENCE + first, 0),
               *y = numbers(a, csv, 1, csv->n_rows, ACCURACY + first, 0);
        for (size_t i = 0; i < n; i++) labels[i] = CELL("%.0f examples", count[i]);
        vkt__plot_add(plot, &(vkt__series) { .mark = VKT__DOTS,
                                             .name = side   ? "with the temperature"
                                                     : both ? "the model's own"
                                                            : "the model",
                                             .n = n,
                                             .x = x,
                                             .y = y,
                                             .color = (int)side,
                                             .label = labels });
    }
    vkt__page_plot(p, plot, "reliability");
}

/* For a table: column, shuffles, examples, then mean and deviation of the loss's rise and of a
 * score's fall, the most important first. */
static void importance(vkt__page *p, vkt__run_view *r, const vkt__csv *csv, const char *split)
{
    vkt__arena *a = &r->arena;
    enum {
        NAME,
        SHUFFLES,
        EXAMPLES,
        RISE,
        RISE_STD,
        FALL,
        FALL_STD,
        COLUMNS,
        MOST = 40,
        SHOWN = 3
    };
    size_t n = csv->n_rows - 1, shown = VKT_MIN(n, MOST);
    if (csv->n_columns != COLUMNS) return;
    const char *head = vkt__csv_cell(csv, 0, FALL),
               *columns[SHOWN] = { "column", "loss rises by",
                                   CELL(
                                       "%.*s falls by",
                                       (int)(strlen(head) - VKT_MIN(strlen(head), strlen("_fall"))),
                                       head) },
               **cells = vkt__arena_alloc(a, SHOWN * shown * sizeof *cells);
    for (size_t i = 0; i < shown; i++) {
        cells[SHOWN * i] = vkt__csv_cell(csv, i + 1, NAME);
        for (size_t k = 0; k < 2; k++)
            cells[SHOWN * i + 1 + k] =
                CELL("%.4f \302\261 %.4f",
                     vkt__number_or_nan(vkt__csv_cell(csv, i + 1, k ? FALL : RISE)),
                     vkt__number_or_nan(vkt__csv_cell(csv, i + 1, k ? FALL_STD : RISE_STD)));
    }
    vkt__page_text(p,
                   "Importance of columns: how much worse the best checkpoint becomes when one is "
                   "shuffled among %s rows of the %s set (%s times, mean and standard deviation).",
                   vkt__csv_cell(csv, 1, EXAMPLES), split, vkt__csv_cell(csv, 1, SHUFFLES));
    vkt__page_table(p,
                    n > shown ? CELL("The first %zu of %zu columns", shown, n)
                              : "What a shuffled column costs",
                    columns, SHOWN, cells, shown);
}

void vkt__run_curves(vkt__page *p, vkt__run_view *r)
{
    vkt__csv csv;
    const char *split;
    vkt__page_plots_begin(p);
    if (read_split(r, "ranking.csv", &csv, &split)) {
        ranking(p, r, &csv, split);
        vkt__csv_finish(&csv);
    }
    if (read_split(r, "reliability.csv", &csv, &split)) {
        reliability(p, r, &csv, split);
        vkt__csv_finish(&csv);
    }
    vkt__page_plots_end(p);
    if (read_split(r, "importance.csv", &csv, &split)) {
        importance(p, r, &csv, split);
        vkt__csv_finish(&csv);
    }
}
