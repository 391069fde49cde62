/* A run's part of a report: what to mind, curves, classes, predictions, time, configuration. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "data/dataset.h"
#include "report/findings.h"
#include "report/page.h"
#include "train/curve.h"
#include "train/run.h"

enum { PREDICTIONS_LIMIT = 16 << 20, MAX_EXAMPLES = 32, MAX_COLUMNS = 12, BINS = 40 };

typedef struct run {
    const char *dir;
    vkt__arena arena;
    vkt__run_record rec;
    vkt_config *config; /* NULL: not readable */
    vkt_history *h;
    vkt__curves c;
} run;

/* ---- curves ---- */

void vkt__curves_load(const vkt_history *h, const char *metric, vkt__curves *c)
{
    size_t bytes = (h->n_steps + 1) * sizeof(double),
           eval_bytes = (h->n_evals + 1) * sizeof(double);
    double **columns[] = { &c->step, &c->loss, &c->smooth,     &c->accuracy,
                           &c->norm, &c->lr,   &c->items_per_s };
    double **eval_columns[] = { &c->eval_step, &c->eval_loss, &c->eval_metric };
    *c = (vkt__curves) { .n = h->n_steps };
    for (size_t i = 0; i < VKT_COUNT(columns); i++) *columns[i] = vkt__alloc(bytes);
    for (size_t i = 0; i < VKT_COUNT(eval_columns); i++) *eval_columns[i] = vkt__alloc(eval_bytes);
    for (size_t i = 0; i < h->n_steps; i++) {
        const vkt_history_step *s = &h->steps[i];
        c->step[i] = (double)s->step;
        c->loss[i] = s->loss;
        c->accuracy[i] = s->accuracy;
        c->norm[i] = s->grad_norm;
        c->lr[i] = s->lr;
        c->items_per_s[i] = s->items_per_s;
    }
    /* As wide as a fiftieth of the run. */
    vkt__smooth(c->loss, c->n, 1 / fmax((double)c->n / 50, 1), c->smooth);
    for (size_t i = 0; i < h->n_evals; i++) {
        const vkt_history_eval *e = &h->evals[i];
        if (strcmp(e->split, h->evals[0].split)) continue;
        if (c->n_evals && (double)e->step <= c->eval_step[c->n_evals - 1]) continue;
        c->eval_step[c->n_evals] = (double)e->step;
        c->eval_loss[c->n_evals] = e->loss;
        c->eval_metric[c->n_evals++] = vkt_history_metric(e, metric ? metric : "loss");
    }
}

void vkt__curves_finish(vkt__curves *c)
{
    double *all[] = { c->step, c->loss,        c->smooth,    c->accuracy,  c->norm,
                      c->lr,   c->items_per_s, c->eval_step, c->eval_loss, c->eval_metric };
    for (size_t i = 0; i < VKT_COUNT(all); i++) free(all[i]);
}

static void plot_loss(vkt__page *p, const run *r)
{
    const vkt__curves *c = &r->c;
    vkt__plot plot = { .title = "Loss", .x_label = "step", .y_label = "loss" };
    vkt__plot_add(&plot, &(vkt__series) { "training", VKT__LINE, c->n, c->step, c->loss, .color = 0,
                                          .faint = true });
    vkt__plot_add(&plot, &(vkt__series) { "training, smoothed", VKT__LINE, c->n, c->step, c->smooth,
                                          .color = 0 });
    vkt__plot_add(&plot, &(vkt__series) { "validation", VKT__LINE, c->n_evals, c->eval_step,
                                          c->eval_loss, .color = 1 });
    if (r->rec.best_step) vkt__plot_rule(&plot, (double)r->rec.best_step, true, "best");
    vkt__page_plot(p, &plot, "loss");
}

static void plot_metric(vkt__page *p, const run *r)
{
    const vkt__curves *c = &r->c;
    double *smooth = vkt__alloc((c->n + 1) * sizeof *smooth),
           *valid = vkt__alloc((c->n_evals + 1) * sizeof *valid);
    bool accuracy = c->n && !isnan(c->accuracy[0]);
    vkt__plot plot = { .title = accuracy ? "Accuracy" : "Mean absolute error",
                       .x_label = "step",
                       .y_label = accuracy ? "share that is right" : "units of the target" };
    size_t n = 0;
    vkt__smooth(c->accuracy, c->n, 1 / fmax((double)c->n / 50, 1), smooth);
    for (size_t i = 0; i < r->h->n_evals && n < c->n_evals; i++)
        if (!strcmp(r->h->evals[i].split, r->h->evals[0].split))
            valid[n++] = accuracy ? r->h->evals[i].accuracy : r->h->evals[i].mae;
    if (accuracy)
        vkt__plot_add(&plot, &(vkt__series) { "training, smoothed", VKT__LINE, c->n, c->step,
                                              smooth, .color = 0 });
    vkt__plot_add(&plot,
                  &(vkt__series) { "validation", VKT__LINE, n, c->eval_step, valid, .color = 1 });
    if (r->rec.best_step) vkt__plot_rule(&plot, (double)r->rec.best_step, true, "best");
    vkt__page_plot(p, &plot, "metric");
    free(smooth);
    free(valid);
}

static void plot_lr(vkt__page *p, const run *r)
{
    vkt__plot plot = { .title = "Learning rate", .x_label = "step", .y_label = "rate" };
    vkt__plot_add(&plot,
                  &(vkt__series) { NULL, VKT__LINE, r->c.n, r->c.step, r->c.lr, .color = 2 });
    vkt__page_plot(p, &plot, "lr");
}

static void plot_norm(vkt__page *p, const run *r)
{
    const vkt__curves *c = &r->c;
    double clip = r->config ? (double)r->config->optim.clip : 0;
    double p90 = vkt__quantile(c->norm, c->n, 0.9);
    vkt__plot plot = { .title = "Gradient norm, before clipping",
                       .x_label = "step",
                       .y_label = "L2 norm",
                       .log_y = true };
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__LINE, c->n, c->step, c->norm, .color = 3 });
    if (clip > 0) vkt__plot_rule(&plot, clip, false, "optim.clip");
    vkt__plot_rule(&plot, p90, false, "90th percentile");
    vkt__page_plot(p, &plot, "gradient-norm");
}

static void plot_histogram(vkt__page *p, const run *r)
{
    double x[BINS + 1], y[BINS] = { 0 }, low = INFINITY, high = 0;
    double clip = r->config ? (double)r->config->optim.clip : 0;
    vkt__plot plot = { .title = "Gradient norm, histogram over all steps",
                       .x_label = "L2 norm",
                       .y_label = "steps",
                       .log_x = true };
    for (size_t i = 0; i < r->c.n; i++)
        if (isfinite(r->c.norm[i]) && r->c.norm[i] > 0)
            low = fmin(low, r->c.norm[i]), high = fmax(high, r->c.norm[i]);
    if (!(high > low)) return;
    for (int b = 0; b <= BINS; b++) x[b] = low * pow(high / low, (double)b / BINS);
    for (size_t i = 0; i < r->c.n; i++)
        if (isfinite(r->c.norm[i]) && r->c.norm[i] > 0)
            y[VKT_MIN((size_t)(BINS * log(r->c.norm[i] / low) / log(high / low)), BINS - 1)]++;
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__BARS, BINS, x, y, .color = 3 });
    vkt__plot_rule(&plot, vkt__quantile(r->c.norm, r->c.n, 0.5), true, "p50");
    vkt__plot_rule(&plot, vkt__quantile(r->c.norm, r->c.n, 0.9), true, "p90");
    if (clip > 0) vkt__plot_rule(&plot, clip, true, "clip");
    vkt__page_plot(p, &plot, "gradient-histogram");
}

/* Share of updates clipped, over windows of a fiftieth of the run. */
static void plot_clipped(vkt__page *p, const run *r)
{
    size_t n = r->h->n_steps, width = VKT_MAX(n / 50, 1), k = 0;
    double x[64], y[64];
    if (!r->config || !(r->config->optim.clip > 0)) return;
    for (size_t at = 0; at + width <= n && k < VKT_COUNT(x); at += width) {
        size_t clipped = 0;
        for (size_t i = at; i < at + width; i++) clipped += r->h->steps[i].clip < 1;
        x[k] = (double)r->h->steps[at + width - 1].step;
        y[k++] = (double)clipped / (double)width;
    }
    vkt__plot plot = { .title = "Share of the updates that were clipped",
                       .x_label = "step",
                       .y_label = "share" };
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__LINE, k, x, y, .color = 4 });
    vkt__plot_rule(&plot, 0.5, false, "half");
    vkt__page_plot(p, &plot, "clipped");
}

static void plot_speed(vkt__page *p, const run *r)
{
    vkt__plot plot = { .title = "Throughput, since the start",
                       .x_label = "step",
                       .y_label = "examples/s" };
    vkt__plot_add(
        &plot, &(vkt__series) { NULL, VKT__LINE, r->c.n, r->c.step, r->c.items_per_s, .color = 5 });
    vkt__page_plot(p, &plot, "throughput");
}

/* ---- tables ---- */

#define CELL(...) vkt__arena_printf(a, __VA_ARGS__)
static const char *text_or(const char *s)
{
    return s && *s ? s : "-";
}

static const char *number(vkt__arena *a, double v)
{
    return isnan(v) ? "-" : CELL("%.5g", v);
}

static void summary(vkt__page *p, run *r)
{
    vkt__arena *a = &r->arena;
    const vkt__run_record *x = &r->rec;
    const char *const columns[] = { "", "" };
    const char *rows[][2] = {
        { "run", r->dir },
        { "status", x->error ? CELL("%s: %s", text_or(x->status), x->error) : text_or(x->status) },
        { "note", text_or(x->note) },
        { "steps",
          CELL("%llu of %llu", (unsigned long long)x->step, (unsigned long long)x->total) },
        { "best checkpoint", CELL("valid %s %s at step %llu", text_or(x->metric),
                                  number(a, x->best_metric), (unsigned long long)x->best_step) },
        { "valid, full set", CELL("loss %s, accuracy %s, mae %s", number(a, x->valid_loss),
                                  number(a, x->valid_accuracy), number(a, x->valid_mae)) },
        { "test", CELL("loss %s, accuracy %s, mae %s", number(a, x->test_loss),
                       number(a, x->test_accuracy), number(a, x->test_mae)) },
        { "parameters", CELL("%llu", (unsigned long long)x->n_params) },
        { "data", text_or(x->data) },
        { "device", text_or(x->device) },
        { "driver", text_or(x->driver) },
        { "recipe", text_or(x->source) },
        { "recipe's commit", x->commit
                                 ? CELL("%s%s", x->commit,
                                        !x->changes   ? ", changes unknown"
                                        : *x->changes ? ", with changes that are not committed"
                                                      : "")
                                 : "-" },
        { "started, finished (UTC)", CELL("%s, %s", text_or(x->started), text_or(x->finished)) },
        { "command", text_or(x->command) },
    };
    vkt__page_table_begin(p, "The run", columns, 2);
    for (size_t i = 0; i < VKT_COUNT(rows); i++) vkt__page_row(p, rows[i], 2, 2);
    vkt__page_table_end(p);
}

/* Where the time of the run went. */
static void time_table(vkt__page *p, run *r)
{
    vkt__arena *a = &r->arena;
    const vkt_history *h = r->h;
    const char *const columns[] = { "", "seconds", "share" };
    double wait = 0, eval = 0, all;
    if (h->n_steps < 2) return;
    for (size_t i = 1; i < h->n_steps; i++) wait += fmax(h->steps[i].input_wait, 0);
    for (size_t i = 0, k = 0; i < h->n_evals; i++) {
        while (k + 1 < h->n_steps && h->steps[k].step < h->evals[i].step) k++;
        double next = k + 1 < h->n_steps ? h->steps[k + 1].seconds : h->evals[i].seconds;
        if (h->steps[k].step == h->evals[i].step &&
            (i + 1 == h->n_evals || h->evals[i + 1].step != h->evals[i].step))
            eval += fmax(next - h->steps[k].seconds, 0);
    }
    all = h->steps[h->n_steps - 1].seconds;
    if (h->n_evals) all = fmax(all, h->evals[h->n_evals - 1].seconds);
    if (!(all > 0)) return;
    const struct {
        const char *what;
        double s;
    } rows[] = { { "training steps", fmax(all - wait - eval, 0) },
                 { "waiting for data", wait },
                 { "evaluations and checkpoints", eval },
                 { "all", all } };
    vkt__page_table_begin(p, "Where the time went", columns, 3);
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        const char *cells[] = { rows[i].what, CELL("%.3g", rows[i].s),
                                CELL("%.1f%%", 100 * rows[i].s / all) };
        vkt__page_row(p, cells, 3, 1);
    }
    vkt__page_table_end(p);
}

/* ---- what was predicted ---- */

/* predictions/step-N.csv: index, target, predicted, and for classes correct, p(NAME).. */
static bool read_predictions(run *r, const char *name, vkt__csv *out)
{
    char *data = NULL;
    size_t n;
    const char *path = vkt__arena_printf(&r->arena, "%s/predictions/%s", r->dir, name);
    vkt__log_hold(true);
    vkt_status st = vkt__file_read(path, PREDICTIONS_LIMIT, &data, &n);
    if (st == VKT_OK) st = vkt__csv_parse(data, n, path, ',', false, out);
    vkt__log_hold(false);
    free(data);
    if (st == VKT_OK && out->n_rows > 1 && out->n_columns >= 3) return true;
    if (st == VKT_OK) vkt__csv_finish(out);
    return false;
}

/* "p(shirt)" -> "shirt"; NULL where the column is none. */
static const char *class_name(run *r, const vkt__csv *csv, size_t k)
{
    if (4 + k >= csv->n_columns) return NULL;
    const char *cell = vkt__csv_cell(csv, 0, 4 + k);
    size_t n = strlen(cell);
    if (n < 3 || strncmp(cell, "p(", 2)) return NULL;
    return vkt__arena_printf(&r->arena, "%.*s", (int)(n - 3), cell + 2);
}

static const vkt_history_eval *last_eval(const run *r, const char *split, uint64_t step)
{
    const vkt_history_eval *found = NULL;
    for (size_t i = 0; i < r->h->n_evals; i++)
        if (!strcmp(r->h->evals[i].split, split) && r->h->evals[i].n_classes &&
            (!step || r->h->evals[i].step == step))
            found = &r->h->evals[i];
    return found;
}

static void class_table(vkt__page *p, run *r, const vkt__csv *names)
{
    vkt__arena *a = &r->arena;
    const vkt_history_eval *valid = last_eval(r, "valid", r->rec.best_step),
                           *test = last_eval(r, "test", 0);
    const char *const columns[] = { "class", "valid right", "valid share", "test right",
                                    "test share" };
    if (!valid) valid = last_eval(r, "valid", 0);
    if (!valid && !test) return;
    size_t n = valid ? valid->n_classes : test->n_classes;
    vkt__page_table_begin(p, "Class by class, best checkpoint: how many of how many are right",
                          columns, VKT_COUNT(columns));
    for (size_t k = 0; k < n && k < 1000; k++) {
        const char *name = names ? class_name(r, names, k) : NULL;
        const char *cells[5] = { name ? name : CELL("%zu", k), "-", "-", "-", "-" };
        for (int side = 0; side < 2; side++) {
            const vkt_history_eval *e = side ? test : valid;
            if (!e || k >= e->n_classes || !e->class_count[k]) continue;
            cells[1 + 2 * side] = CELL("%llu of %llu", (unsigned long long)e->class_correct[k],
                                       (unsigned long long)e->class_count[k]);
            cells[2 + 2 * side] =
                CELL("%.1f%%", 100 * (double)e->class_correct[k] / (double)e->class_count[k]);
        }
        vkt__page_row(p, cells, 5, 1);
    }
    vkt__page_table_end(p);
}

/* Of a sample: drawn where it has enough examples to say something. */
static void confusion(vkt__page *p, run *r, const vkt__csv *csv)
{
    enum { MOST = 24 };
    vkt__arena *a = &r->arena;
    const char *name[MOST], *columns[MOST + 1], *cells[MOST + 1];
    size_t n = 0, count[MOST][MOST] = { { 0 } };
    while (n < MOST && (name[n] = class_name(r, csv, n))) n++;
    if (n < 2 || class_name(r, csv, n) || csv->n_rows - 1 < 5 * n) return;
    for (size_t i = 1; i < csv->n_rows; i++) {
        size_t t = 0, o = 0;
        while (t < n && strcmp(vkt__csv_cell(csv, i, 1), name[t])) t++;
        while (o < n && strcmp(vkt__csv_cell(csv, i, 2), name[o])) o++;
        if (t < n && o < n) count[t][o]++;
    }
    columns[0] = "is \\ predicted";
    memcpy(columns + 1, name, n * sizeof *name);
    vkt__page_table_begin(
        p, CELL("Confusion matrix of the %zu examples whose predictions are kept", csv->n_rows - 1),
        columns, n + 1);
    for (size_t t = 0; t < n; t++) {
        cells[0] = name[t];
        for (size_t o = 0; o < n; o++) cells[o + 1] = count[t][o] ? CELL("%zu", count[t][o]) : "";
        vkt__page_row(p, cells, n + 1, 1);
    }
    vkt__page_table_end(p);
}

/* The i-th of `shown` of n things, the first and the last among them. */
static size_t spread(size_t i, size_t shown, size_t n)
{
    return shown < 2 ? n - 1 : i * (n - 1) / (shown - 1);
}

/* The same examples at up to 12 evaluations: a row each. */
static void predictions_table(vkt__page *p, run *r, char **names, size_t n)
{
    vkt__csv csv[MAX_COLUMNS];
    unsigned long long step[MAX_COLUMNS];
    size_t k = 0, shown = VKT_MIN(n, MAX_COLUMNS), rows = SIZE_MAX;
    vkt__str *s = &p->html;
    for (size_t i = 0; i < shown; i++) {
        const char *name = names[spread(i, shown, n)];
        if (!read_predictions(r, name, &csv[k])) continue;
        rows = VKT_MIN(rows, csv[k].n_rows - 1);
        step[k++] = strtoull(name + strcspn(name, "0123456789"), NULL, 10);
    }
    if (!k) return;
    vkt__str_printf(s,
                    "<div class=\"scroll\" tabindex=\"0\"><table><caption>Predictions for the same "
                    "validation examples over time (right ones carry a tick)</caption><thead><tr>"
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
            bool classes = csv[i].n_columns > 3,
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

static void what_was_predicted(vkt__page *p, run *r)
{
    char **names = NULL, *best;
    size_t n = 0;
    vkt__csv csv;
    const char *dir = vkt__arena_printf(&r->arena, "%s/predictions", r->dir);
    bool some = vkt__is_dir(dir) && vkt__list_dir(dir, &names, &n) == VKT_OK && n > 0;
    best = vkt__arena_printf(&r->arena, "step-%08llu.csv", (unsigned long long)r->rec.best_step);
    bool have = some && read_predictions(r, best, &csv);
    class_table(p, r, have ? &csv : NULL);
    if (have) confusion(p, r, &csv);
    if (some) predictions_table(p, r, names, n);
    if (have) vkt__csv_finish(&csv);
    vkt__names_free(names, n);
}

/* ---- the whole ---- */

static void say_findings(vkt__page *p, const run *r, size_t *found)
{
    size_t n, before = *found;
    const vkt__finding *f = vkt__findings(&n);
    const vkt_config *c = r->config;
    vkt__evidence e = { .h = r->h,
                        .metric = r->rec.metric ? r->rec.metric : "loss",
                        .metric_sign = !r->rec.metric || !strcmp(r->rec.metric, "loss") ||
                                               !strcmp(r->rec.metric, "mae")
                                           ? -1
                                           : 1,
                        .clip = c ? (double)c->optim.clip : 0,
                        .workers = c ? c->data_workers : 1,
                        .full_loss = r->rec.valid_loss,
                        .full_accuracy = r->rec.valid_accuracy,
                        .best_step = r->rec.best_step,
                        .sample = c ? c->eval_sample : 0 };
    if (c && r->rec.n_train)
        e.steps_per_epoch = r->rec.n_train / VKT_MAX((uint64_t)c->batch * c->accumulate, 1);
    vkt__page_heading(p, 2, "Findings");
    for (size_t i = 0; i < n; i++) {
        vkt__str text = { 0 };
        if (f[i].find(&e, &text)) {
            vkt__page_note(p, f[i].title, text.data, false);
            ++*found;
        }
        vkt__str_finish(&text);
    }
    if (*found == before)
        vkt__page_note(p, "Nothing to worry about:",
                       "no sign of instability, overfitting, waiting for data, clipping too often, "
                       "periodic metrics or rare classes.",
                       true);
    if (r->h->n_damaged)
        vkt__page_text(
            p, "%llu damaged lines of metrics.jsonl were left out, the first is line %llu.",
            (unsigned long long)r->h->n_damaged, (unsigned long long)r->h->first_damaged);
}

static vkt_status load(run *r)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__run_load(r->dir, &r->arena, &r->rec, NULL));
    VKT_TRY(vkt_history_load(r->dir, &r->h));
    if (r->rec.config && vkt_config_create(&r->config) == VKT_OK) {
        vkt__log_hold(true);
        if (vkt_config_parse(r->config, r->rec.config, strlen(r->rec.config), "run.json") != VKT_OK)
            vkt_config_destroy(&r->config);
        vkt__log_hold(false);
    }
    vkt__curves_load(r->h, r->rec.metric, &r->c);
fail:
    return st;
}

vkt_status vkt__report_run(vkt__page *p, const char *dir, size_t *findings)
{
    run r = { .dir = dir };
    vkt_status st = load(&r);
    if (st == VKT_OK) {
        say_findings(p, &r, findings);
        vkt__page_heading(p, 2, "Curves");
        vkt__str_printf(&p->html, "<div class=\"plots\">\n");
        plot_loss(p, &r);
        plot_metric(p, &r);
        plot_lr(p, &r);
        plot_norm(p, &r);
        plot_histogram(p, &r);
        plot_clipped(p, &r);
        plot_speed(p, &r);
        vkt__str_printf(&p->html, "</div>\n");
        vkt__page_heading(p, 2, "The run");
        summary(p, &r);
        time_table(p, &r);
        vkt__page_heading(p, 2, "Classes and predictions");
        what_was_predicted(p, &r);
        vkt__page_heading(p, 2, "Configuration");
        vkt__page_details(p, "the configuration as resolved (YAML)",
                          r.rec.config ? r.rec.config : "not recorded");
        st = p->st;
    }
    if (r.h) vkt__curves_finish(&r.c);
    vkt_history_destroy(&r.h);
    vkt_config_destroy(&r.config);
    vkt__arena_finish(&r.arena);
    return st;
}
