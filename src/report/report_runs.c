/* Several runs over one another: losses, each metric by itself, findings, a table with the options
 * that differ. */
#include <math.h>
#include <stdio.h>

#include "recipe/config.h"
#include "recipe/measure.h"
#include "report/run_view.h"

enum { MAX_LEGEND = 8, BEST = 5, MAX_METRICS = 8 };

static vkt_status load(vkt__run_view *r, const char *dir)
{
    const char *why;
    r->dir = dir;
    r->rec = vkt__run_record_empty();
    vkt_status st = vkt__run_load(dir, &r->arena, &r->rec, &why);
    if (st == VKT_E_OOM_HOST) return st;
    if (st != VKT_OK) {
        vkt_log(VKT_LOG_WARN, "report", "'%s' is left out: %s", dir, why);
        return VKT_OK;
    }
    vkt__log_hold(true);
    if (vkt_history_load(dir, &r->h) == VKT_OK) vkt__curves_load(r->h, r->rec.metric, &r->c);
    vkt__log_hold(false);
    return r->rec.config ? vkt__config_of_run(r->rec.config, &r->config) : VKT_OK;
}

/* What all runs select by; NULL: not the same. */
static const char *common_metric(const vkt__run_view *r, size_t n)
{
    const char *metric = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!r[i].rec.metric) continue;
        if (metric && strcmp(metric, r[i].rec.metric)) return NULL;
        metric = r[i].rec.metric;
    }
    return metric;
}

/* rank[i]: how many runs are better than run i by what all select by; without that their order. */
static void rank_runs(const vkt__run_view *r, size_t n, size_t *rank)
{
    const char *metric = common_metric(r, n);
    const vkt__measure *measure = metric ? vkt__measure_named(metric) : NULL;
    int sign = measure ? measure->sign : -1;
    for (size_t i = 0; i < n; i++) {
        double v = sign * r[i].rec.best_metric;
        rank[i] = 0;
        for (size_t k = 0; k < n; k++) {
            double w = sign * r[k].rec.best_metric;
            bool better = metric && (w > v || (isnan(v) && !isnan(w))),
                 worse = metric && (w < v || (isnan(w) && !isnan(v)));
            rank[i] += better || (!worse && k < i);
        }
    }
}

/* Few runs each have a colour; of many the best five, the others are grey. metric NULL: the
 * training loss; else what validation measured. */
static void plot(vkt__page *p, const vkt__run_view *r, size_t n, const size_t *rank,
                 const char *metric, const char *title, const char *y_label, const char *name)
{
    vkt__plot *q = vkt__alloc(sizeof *q);
    double **made = vkt__alloc((n + 1) * sizeof *made);
    *q = (vkt__plot) { .title = title, .x_label = "step", .y_label = y_label };
    for (size_t order = 0; order < n; order++) { /* the best comes first in the legend */
        size_t i = 0;
        while (rank[i] != order) i++;
        const vkt__curves *c = &r[i].c;
        if (!r[i].h) continue;
        size_t k = 0;
        made[i] = vkt__alloc((c->n_evals + 1) * sizeof **made);
        for (size_t e = 0; metric && e < r[i].h->n_evals && k < c->n_evals; e++)
            if ((double)r[i].h->evals[e].step == c->eval_step[k] &&
                !strcmp(r[i].h->evals[e].split, r[i].h->evals[0].split))
                made[i][k++] = vkt_history_metric(&r[i].h->evals[e], metric);
        bool grey = n > MAX_LEGEND && order >= BEST;
        vkt__plot_add(
            q, &(vkt__series) { grey ? NULL : r[i].dir, VKT__LINE, metric ? k : c->n,
                                metric ? c->eval_step : c->step, metric ? made[i] : c->smooth,
                                .color = (int)(n > MAX_LEGEND ? order : i), .grey = grey });
    }
    vkt__page_plot(p, q, name);
    for (size_t i = 0; i < n; i++) free(made[i]);
    free(made);
    free(q);
}

/* Each metric that a run selects by has its own axis, and accuracy where there is one. */
static void plots(vkt__page *p, const vkt__run_view *r, size_t n)
{
    size_t *rank = vkt__alloc((n + 1) * sizeof *rank), k = 0;
    const char *metrics[MAX_METRICS];
    bool accuracy = false;
    for (size_t i = 0; i < n; i++)
        accuracy |= r[i].h && r[i].h->n_evals && !isnan(r[i].h->evals[0].accuracy);
    if (accuracy) metrics[k++] = "accuracy";
    for (size_t i = 0; i < n; i++) {
        const char *m = r[i].rec.metric;
        size_t at = 0;
        while (m && at < k && strcmp(metrics[at], m)) at++;
        if (m && at == k && k < MAX_METRICS && strcmp(m, "loss")) metrics[k++] = m;
    }
    rank_runs(r, n, rank);
    vkt__page_plots_begin(p);
    plot(p, r, n, rank, NULL, "Training loss, running mean", "training loss", "runs-loss");
    plot(p, r, n, rank, "loss", "Validation loss", "validation loss", "runs-valid-loss");
    for (size_t i = 0; i < k; i++) {
        char title[80], name[80];
        snprintf(title, sizeof title, "Validation %s", metrics[i]);
        snprintf(name, sizeof name, k == 1 ? "runs-metric" : "runs-%s", metrics[i]);
        plot(p, r, n, rank, metrics[i], title, metrics[i], name);
    }
    vkt__page_plots_end(p);
    if (n > MAX_LEGEND && common_metric(r, n))
        vkt__page_text(p, "The best five by validation %s have colours, the others are grey.",
                       common_metric(r, n));
    free(rank);
}

/* Losses and metrics of different data can't be compared: it is said which run has which. */
static void say_data(vkt__page *p, const vkt__run_view *r, size_t n)
{
    vkt__str text = { 0 };
    const vkt__run_view *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const vkt__run_record *x = &r[i].rec;
        if (!x->data) continue;
        if (!first) first = &r[i];
        if (!strcmp(x->data, first->rec.data) && x->n_train == first->rec.n_train &&
            x->n_valid == first->rec.n_valid && x->data_seed == first->rec.data_seed)
            continue;
        if (!text.len)
            vkt__str_printf(&text, "%s has %s (%llu to train with, %llu to validate, split %llu)",
                            first->dir, first->rec.data, (unsigned long long)first->rec.n_train,
                            (unsigned long long)first->rec.n_valid,
                            (unsigned long long)first->rec.data_seed);
        if (text.len < 600)
            vkt__str_printf(&text, ", %s has %s (%llu, %llu, split %llu)", r[i].dir, x->data,
                            (unsigned long long)x->n_train, (unsigned long long)x->n_valid,
                            (unsigned long long)x->data_seed);
    }
    if (text.len) {
        vkt__str_printf(&text, ": what they measured on their own validation sets does not say "
                               "which is better.");
        vkt__page_note(p, "The data differ:", text.data, false);
    }
    vkt__str_finish(&text);
}

/* ---- tables ---- */

typedef struct cells {
    const char **at;
    size_t n, cap;
    vkt__arena *arena;
    const char *dir;
} cells;

static void put(cells *c, const char *text)
{
    c->at = vkt__grow(c->at, c->n, &c->cap, sizeof *c->at);
    c->at[c->n++] = text;
}

static void tell(void *user, const char *name, const char *title, const char *text)
{
    cells *c = user;
    (void)name;
    put(c, c->dir);
    put(c, vkt__arena_strdup(c->arena, title));
    put(c, vkt__arena_strdup(c->arena, text));
}

/* Runs with findings have rows, the others a sentence. */
static void findings(vkt__page *p, vkt__run_view *r, size_t n, vkt__arena *a)
{
    enum { COLUMNS = 3, NAMED = 12 };
    static const char *const columns[COLUMNS] = { "run", "finding", "what it is, what to do" };
    cells c = { .arena = a };
    vkt__str healthy = { 0 };
    size_t n_healthy = 0;
    for (size_t i = 0; i < n; i++) {
        size_t before = c.n;
        c.dir = r[i].dir;
        if (r[i].h)
            vkt__run_findings(&r[i], tell, &c);
        else
            tell(&c, "", "can't be read", "");
        if (c.n > before) continue;
        if (n_healthy++ < NAMED)
            vkt__str_printf(&healthy, "%s%s", healthy.len ? ", " : "", r[i].dir);
    }
    vkt__page_heading(p, 2, "Findings");
    if (c.n) vkt__page_table(p, "Findings of each run", columns, COLUMNS, c.at, c.n / COLUMNS);
    if (n_healthy > NAMED)
        vkt__page_note(p, "Nothing to worry about",
                       vkt__arena_printf(a, "in %zu of the %zu runs.", n_healthy, n), true);
    else if (n_healthy)
        vkt__page_note(p, "Nothing to worry about in", healthy.data, true);
    vkt__str_finish(&healthy);
    free(c.at);
}

static void results(vkt__page *p, const vkt__run_view *r, size_t n, vkt__arena *a)
{
    static const char *const columns[] = { "run",     "status", "metric",     "best",
                                           "at step", "test",   "parameters", "seconds" };
    cells c = { .arena = a };
    for (size_t i = 0; i < n; i++) {
        const vkt__run_record *x = &r[i].rec;
        bool accuracy = !isnan(x->test_accuracy);
        put(&c, r[i].dir);
        put(&c, x->status ? x->status : "damaged");
        put(&c, x->metric ? x->metric : "-");
        put(&c, isnan(x->best_metric) ? "-" : vkt__arena_printf(a, "%.5g", x->best_metric));
        put(&c, vkt__arena_printf(a, "%llu", (unsigned long long)x->best_step));
        put(&c, accuracy              ? vkt__arena_printf(a, "%.2f%%", 100 * x->test_accuracy)
                : isnan(x->test_loss) ? "-"
                                      : vkt__arena_printf(a, "loss %.5g", x->test_loss));
        put(&c, x->n_params ? vkt__arena_printf(a, "%llu", (unsigned long long)x->n_params) : "-");
        put(&c, isnan(x->seconds) ? "-" : vkt__arena_printf(a, "%.4g", x->seconds));
    }
    vkt__page_table(p, "Results", columns, VKT_COUNT(columns), c.at, n);
    free(c.at);
}

/* ---- what differs: [rows, 1 + n], a name and the value of each run ---- */

typedef struct differences {
    cells c;
    size_t rows, n;
} differences;

static void add_layer(void *user, const char *what, const char *const *values)
{
    differences *d = user;
    put(&d->c, vkt__arena_strdup(d->c.arena, what));
    for (size_t i = 0; i < d->n; i++)
        put(&d->c, values[i] ? vkt__arena_strdup(d->c.arena, values[i]) : "-");
    d->rows++;
}

/* Text of a value without the quotes that YAML wants. */
static const char *plain(vkt__arena *a, char *v)
{
    size_t n = v ? strlen(v) : 0, quoted = n > 1 && v[0] == '"' && v[n - 1] == '"';
    const char *text = n ? vkt__arena_printf(a, "%.*s", (int)(n - 2 * quoted), v + quoted) : "-";
    free(v);
    return text;
}

/* Options whose values are not the same in all runs that can be read, except name and note. */
static void add_options(differences *d, const vkt__run_view *r)
{
    vkt_option_info info;
    const char **v = vkt__arena_alloc(d->c.arena, (d->n + 1) * sizeof *v);
    for (size_t o = 0; vkt_option(o, &info); o++) {
        const char *first = NULL;
        bool differs = false;
        if (!strcmp(info.name, "name") || !strcmp(info.name, "note")) continue;
        for (size_t i = 0; i < d->n; i++) {
            v[i] = r[i].config ? plain(d->c.arena, vkt_option_value(r[i].config, o)) : NULL;
            if (!first) first = v[i];
            differs |= v[i] && strcmp(v[i], first);
        }
        if (differs) add_layer(d, info.name, v);
    }
}

/* Few runs side by side; of many each has a row, and columns as far as a page has room. */
static void print_differences(vkt__page *p, const differences *d, const vkt__run_view *r)
{
    enum { BESIDE = MAX_LEGEND, MOST = 16 };
    const char *columns[MOST + 1] = { "" };
    cells c = { 0 };
    if (d->n <= BESIDE) {
        for (size_t i = 0; i < d->n; i++) columns[1 + i] = r[i].dir;
        vkt__page_table(p, "What differs in the recipes", columns, d->n + 1, d->c.at, d->rows);
        return;
    }
    size_t k = VKT_MIN(d->rows, MOST);
    columns[0] = "run";
    for (size_t o = 0; o < k; o++) columns[1 + o] = d->c.at[o * (d->n + 1)];
    for (size_t i = 0; i < d->n; i++) {
        put(&c, r[i].dir);
        for (size_t o = 0; o < k; o++) put(&c, d->c.at[o * (d->n + 1) + 1 + i]);
    }
    vkt__page_table(p, "What differs in the recipes", columns, k + 1, c.at, d->n);
    free(c.at);
    if (k == d->rows) return;
    vkt__str more = { 0 };
    for (size_t o = k; o < d->rows; o++)
        vkt__str_printf(&more, "%s%s", more.len ? ", " : "", d->c.at[o * (d->n + 1)]);
    vkt__page_text(p, "These differ, too: %s.", more.data);
    vkt__str_finish(&more);
}

static void what_differs(vkt__page *p, const vkt__run_view *r, size_t n, vkt__arena *a)
{
    differences d = { .c = { .arena = a }, .n = n };
    const vkt_config **configs = vkt__arena_alloc(a, (n + 1) * sizeof *configs);
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].config) configs[known++] = r[i].config;
    add_options(&d, r);
    /* A run that can't be read has no model, which is no difference. */
    if (known == n) vkt_model_differences(configs, n, add_layer, &d);
    if (d.rows)
        print_differences(p, &d, r);
    else
        vkt__page_text(p, "The recipes of these runs are the same.");
    free(d.c.at);
}

vkt_status vkt__report_runs(vkt__page *p, const char *const *dirs, size_t n)
{
    vkt__arena a = { 0 };
    vkt__run_view *r = vkt__alloc((n + 1) * sizeof *r);
    for (size_t i = 0; i < n && p->st == VKT_OK; i++) p->st = load(&r[i], dirs[i]);
    vkt__page_heading(p, 2, "%zu runs compared", n);
    say_data(p, r, n);
    plots(p, r, n);
    results(p, r, n, &a);
    what_differs(p, r, n, &a);
    findings(p, r, n, &a);
    for (size_t i = 0; i < n; i++) vkt__run_view_finish(&r[i]);
    free(r);
    vkt__arena_finish(&a);
    return p->st;
}
