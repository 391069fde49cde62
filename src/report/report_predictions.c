/* What a run predicted: class by class, the confusion matrix, the same examples over time. */
#include <jansson.h>
#include <math.h>

#include "base/number.h"
#include "base/os.h"
#include "report/run_view.h"
#include "runs/checkpoint.h"

enum { MAX_EXAMPLES = 32, MAX_COLUMNS = 12 };

#define CELL(...) vkt__arena_printf(a, __VA_ARGS__)

/* predictions/step-N.csv: index, target, predicted, and for classes correct, p(NAME).. */
static bool read_predictions(vkt__run_view *r, const char *name, vkt__csv *out)
{
    return vkt__run_table(r, vkt__arena_printf(&r->arena, "predictions/%s", name), out);
}

/* "p(shirt)" -> "shirt"; NULL where the column is none. */
static const char *class_name(vkt__run_view *r, const vkt__csv *csv, size_t k)
{
    if (4 + k >= csv->n_columns) return NULL;
    const char *cell = vkt__csv_cell(csv, 0, 4 + k);
    size_t n = strlen(cell);
    if (n < 3 || strncmp(cell, "p(", 2)) return NULL;
    return vkt__arena_printf(&r->arena, "%.*s", (int)(n - 3), cell + 2);
}

static const vkt_history_eval *last_eval(const vkt__run_view *r, const char *split, uint64_t step)
{
    const vkt_history_eval *found = NULL;
    for (size_t i = 0; i < r->h->n_evals; i++)
        if (!strcmp(r->h->evals[i].split, split) && r->h->evals[i].n_classes &&
            (!step || r->h->evals[i].step == step))
            found = &r->h->evals[i];
    return found;
}

static void class_table(vkt__page *p, vkt__run_view *r, const char *const *names, size_t n_names)
{
    vkt__arena *a = &r->arena;
    const vkt_history_eval *valid = last_eval(r, "valid", r->rec.best_step),
                           *test = last_eval(r, "test", 0);
    const char *const right[] = { "class", "valid right", "valid share", "test right",
                                  "test share" },
                      *const found[] = { "class", "valid found", "valid share", "test found",
                                         "test share" };
    if (!valid) valid = last_eval(r, "valid", 0);
    if (!valid && !test) return;
    size_t n = valid ? valid->n_classes : test->n_classes;
    n = VKT_MIN(n, 1000);
    const char **all = vkt__arena_alloc(a, 5 * n * sizeof *all);
    for (size_t k = 0; k < n; k++) {
        const char *name = k < n_names ? names[k] : NULL, **cells = all + 5 * k;
        cells[0] = name ? name : CELL("%zu", k);
        for (int i = 1; i < 5; i++) cells[i] = "-";
        for (int side = 0; side < 2; side++) {
            const vkt_history_eval *e = side ? test : valid;
            if (!e || k >= e->n_classes || !e->class_count[k]) continue;
            cells[1 + 2 * side] = CELL("%llu of %llu", (unsigned long long)e->class_correct[k],
                                       (unsigned long long)e->class_count[k]);
            cells[2 + 2 * side] =
                CELL("%.1f%%", 100 * (double)e->class_correct[k] / (double)e->class_count[k]);
        }
    }
    bool boxes = !isnan((valid ? valid : test)->map);
    vkt__page_table(p,
                    boxes ? "Class by class, best checkpoint: how many of how many boxes were "
                            "found, with a score of 0.3 or more and half of the area in common"
                          : "Class by class, best checkpoint: how many of how many are right",
                    boxes ? found : right, VKT_COUNT(right), all, n);
}

static double count_of(const vkt__csv *csv, size_t row, size_t column)
{
    double v = vkt__number_or_nan(vkt__csv_cell(csv, row, column));
    return isfinite(v) ? v : 0;
}

/* The confusion matrix of the whole selecting split, as the run's end wrote it, where a page has
 * room for its classes. */
static void confusion(vkt__page *p, vkt__run_view *r)
{
    enum { MOST = 40 };
    static const char *const splits[] = { "valid", "test" };
    vkt__arena *a = &r->arena;
    const char *cells[MOST + 1], *about[MOST + 1];
    double shade[MOST + 1];
    vkt__csv csv;
    size_t k = 0;
    while (k < VKT_COUNT(splits) && !vkt__run_table(r, CELL("confusion-%s.csv", splits[k]), &csv))
        k++;
    if (k == VKT_COUNT(splits)) return;
    size_t n = csv.n_columns;
    if (n <= MOST + 1 && csv.n_rows == n) {
        for (size_t i = 0; i < n; i++) cells[i] = vkt__csv_cell(&csv, 0, i);
        vkt__page_table_begin(p, CELL("Confusion matrix of the %s set, best checkpoint", splits[k]),
                              cells, n);
        for (size_t row = 1; row < n; row++) {
            double sum = 0;
            for (size_t i = 1; i < n; i++) sum += count_of(&csv, row, i);
            for (size_t i = 0; i < n; i++) {
                const char *v = vkt__csv_cell(&csv, row, i);
                cells[i] = i && !strcmp(v, "0") ? "" : v; /* what was confused stands out */
                shade[i] = i && sum > 0 ? count_of(&csv, row, i) / sum : 0;
                about[i] = i ? CELL("%s of %.0f of class %s are called %s", v, sum,
                                    vkt__csv_cell(&csv, row, 0), vkt__csv_cell(&csv, 0, i))
                             : "";
            }
            vkt__page_shaded_row(p, cells, n, shade, row, about);
        }
        vkt__page_table_end(p);
    }
    vkt__csv_finish(&csv);
}

size_t vkt__run_spread(size_t i, size_t shown, size_t n)
{
    return shown < 2 ? n - 1 : i * (n - 1) / (shown - 1);
}

/* The same examples at up to 12 evaluations: a row each. */
static void predictions_table(vkt__page *p, vkt__run_view *r, char **names, size_t n)
{
    vkt__csv csv[MAX_COLUMNS];
    unsigned long long step[MAX_COLUMNS];
    size_t k = 0, shown = VKT_MIN(n, MAX_COLUMNS), rows = SIZE_MAX;
    vkt__str *s = &p->html;
    for (size_t i = 0; i < shown; i++) {
        const char *name = names[vkt__run_spread(i, shown, n)];
        if (!read_predictions(r, name, &csv[k])) continue;
        rows = VKT_MIN(rows, csv[k].n_rows - 1);
        step[k++] = strtoull(name + strcspn(name, "0123456789"), NULL, 10);
    }
    if (!k) return;
    vkt__str_printf(
        s, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Predictions over "
           "time\"><table><caption>Predictions for the same validation examples over time "
           "(right ones carry a tick)</caption><thead><tr>"
           "<th scope=\"col\">example</th><th scope=\"col\">target</th>");
    for (size_t i = 0; i < k; i++) vkt__str_printf(s, "<th scope=\"col\">step %llu</th>", step[i]);
    vkt__str_printf(s, "</tr></thead><tbody>\n");
    for (size_t row = 1; row <= VKT_MIN(rows, MAX_EXAMPLES); row++) {
        vkt__str_printf(s, "<tr>");
        for (size_t c = 0; c < 2; c++) {
            vkt__str_printf(s, "<td>");
            vkt__markup_escape(s, vkt__csv_cell(&csv[0], row, c));
            vkt__str_printf(s, "</td>");
        }
        for (size_t i = 0; i < k; i++) {
            bool classes = csv[i].n_columns > 3 && !strcmp(vkt__csv_cell(&csv[i], 0, 3), "correct"),
                 right = classes && !strcmp(vkt__csv_cell(&csv[i], row, 3), "1");
            vkt__str_printf(s, "<td class=\"%s\">", !classes ? "n" : right ? "right" : "wrong");
            vkt__markup_escape(s, vkt__csv_cell(&csv[i], row, 2));
            vkt__str_printf(s, "%s</td>", right ? " &#10003;" : "");
        }
        vkt__str_printf(s, "</tr>\n");
    }
    vkt__page_table_end(p);
    for (size_t i = 0; i < k; i++) vkt__csv_finish(&csv[i]);
}

/* By the best checkpoint: boxes and masks have no table of predictions. */
static const char *const *names_of_checkpoint(vkt__run_view *r, size_t *n)
{
    vkt__checkpoint_state state;
    vkt__st_digest digest[2];
    const char *why, *path = vkt__arena_printf(&r->arena, "%s/checkpoints/step-%08llu/state.json",
                                               r->dir, (unsigned long long)r->rec.best_step);
    if (vkt__is_absent(path) ||
        vkt__checkpoint_read_state(&r->arena, path, &state, digest, &why) != VKT_OK ||
        !state.schema)
        return NULL;
    json_t *j = json_loads(state.schema, 0, NULL);
    const json_t *classes = json_object_get(j, "classes");
    const char **names =
        vkt__arena_alloc(&r->arena, (json_array_size(classes) + 1) * sizeof *names);
    for (const char *s; (s = json_string_value(json_array_get(classes, *n)));)
        names[(*n)++] = vkt__arena_strdup(&r->arena, s);
    json_decref(j);
    return names;
}

/* Of any of them: of the best step, which every finished run has. */
const char *const *vkt__run_class_names(vkt__run_view *r, size_t *n)
{
    vkt__csv csv;
    const char *best =
        vkt__arena_printf(&r->arena, "step-%08llu.csv", (unsigned long long)r->rec.best_step);
    *n = 0;
    if (vkt__is_absent(vkt__arena_printf(&r->arena, "%s/predictions/%s", r->dir, best)) ||
        !read_predictions(r, best, &csv))
        return names_of_checkpoint(r, n);
    const char **names = vkt__arena_alloc(&r->arena, (csv.n_columns + 1) * sizeof *names);
    for (const char *name; (name = class_name(r, &csv, *n)); ++*n) names[*n] = name;
    vkt__csv_finish(&csv);
    return names;
}

/* Whether the column "target(LABEL)" has classes: behind the first n_pairs columns stands
 * "p(LABEL=CLASS)". */
static bool is_of_classes(const vkt__csv *csv, size_t n_pairs, const char *column)
{
    size_t n = strlen(column), begin = strlen("target(");
    for (size_t c = n_pairs; c < csv->n_columns && n > begin; c++) {
        const char *name = vkt__csv_cell(csv, 0, c) + strlen("p(");
        if (!strncmp(name, column + begin, n - begin - 1) && name[n - begin - 1] == '=')
            return true;
    }
    return false;
}

/* What was predicted against what was wanted, of each number of a regression: on the line it is
 * right. Columns of pairs, target and predicted. */
static void scatter(vkt__page *p, vkt__run_view *r, const vkt__csv *csv)
{
    vkt__arena *a = &r->arena;
    size_t n = csv->n_rows - 1;
    enum { MOST = 17 };              /* of eight numbers */
    size_t n_pairs = csv->n_columns; /* columns, without the probabilities behind them */
    while (n_pairs > 1 && !strncmp(vkt__csv_cell(csv, 0, n_pairs - 1), "p(", 2)) n_pairs--;
    bool pairs = n_pairs >= 3 && n_pairs % 2 == 1 && n_pairs <= MOST;
    if (!pairs || n < 2) return;
    if (csv->n_columns > 3 && !strcmp(vkt__csv_cell(csv, 0, 3), "correct")) return;
    for (size_t c = 1; c + 1 < n_pairs; c += 2) {
        if (is_of_classes(csv, n_pairs, vkt__csv_cell(csv, 0, c))) continue;
        double *x = vkt__arena_alloc(a, n * sizeof *x), *y = vkt__arena_alloc(a, n * sizeof *y),
               *ends = vkt__arena_alloc(a, 2 * sizeof *ends);
        ends[0] = INFINITY, ends[1] = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            x[i] = vkt__number_or_nan(vkt__csv_cell(csv, i + 1, c));
            y[i] = vkt__number_or_nan(vkt__csv_cell(csv, i + 1, c + 1));
            ends[0] = fmin(ends[0], x[i]);
            ends[1] = fmax(ends[1], x[i]);
        }
        vkt__plot *plot = vkt__arena_alloc(a, sizeof *plot);
        const char *name = csv->n_columns > 3 ? vkt__csv_cell(csv, 0, c) + strlen("target(") : "";
        const char *which = *name ? CELL("%.*s: ", (int)strcspn(name, ")"), name) : "";
        *plot = (vkt__plot) {
            .title = CELL("%spredicted and target", which),
            .x_label = "target",
            .y_label = "predicted",
            .about = CELL("%zu validation examples: on the line a prediction is right.", n),
        };
        vkt__plot_add(
            plot,
            &(vkt__series) {
                .mark = VKT__LINE, .name = "right", .n = 2, .x = ends, .y = ends, .grey = true });
        vkt__plot_add(plot, &(vkt__series) { .mark = VKT__DOTS, .n = n, .x = x, .y = y });
        vkt__page_plot(p, plot, CELL("predicted-%zu", c / 2));
    }
}

void vkt__run_predictions(vkt__page *p, vkt__run_view *r)
{
    char **names = NULL, *best;
    size_t n = 0, n_classes;
    vkt__csv csv;
    const char *const *classes = vkt__run_class_names(r, &n_classes);
    const char *dir = vkt__arena_printf(&r->arena, "%s/predictions", r->dir);
    vkt_status st = vkt__is_absent(dir) ? VKT_OK : vkt__list_dir(dir, &names, &n);
    if (r->st == VKT_OK) r->st = st; /* what could not be read before stays told */
    bool some = n > 0;
    if (some || last_eval(r, "valid", 0) || last_eval(r, "test", 0))
        vkt__page_heading(p, 2, "Classes and predictions");
    best = vkt__arena_printf(&r->arena, "step-%08llu.csv", (unsigned long long)r->rec.best_step);
    bool have = some && read_predictions(r, best, &csv);
    vkt__page_side_begin(p);
    class_table(p, r, classes, n_classes);
    confusion(p, r);
    vkt__page_side_end(p);
    vkt__run_curves(p, r);
    if (have) scatter(p, r, &csv);
    if (some) predictions_table(p, r, names, n);
    if (have) vkt__csv_finish(&csv);
    vkt__names_free(names, n);
}
