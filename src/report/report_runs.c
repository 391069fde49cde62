/* Several runs over one another: losses, each metric by itself, findings, a table with the options
 * that differ. */
#include <math.h>
#include <stdio.h>

#include "recipe/config.h"
#include "recipe/measure.h"
#include "report/run_view.h"

enum { MAX_LEGEND = 8, BEST = 5, MAX_OPTIONS = 128, MAX_METRICS = 8 };

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

typedef struct teller {
    vkt__page *p;
    const char *dir;
    size_t n;
} teller;

static void tell(void *user, const char *name, const char *title, const char *text)
{
    teller *t = user;
    (void)name;
    const char *cells[] = { t->dir, title, text };
    vkt__page_row(t->p, cells, 3, 3);
    t->n++;
}

static void findings(vkt__page *p, vkt__run_view *r, size_t n)
{
    static const char *const columns[] = { "run", "finding", "what it is, what to do" };
    vkt__page_heading(p, 2, "Findings");
    vkt__page_table_begin(p, "Findings of each run", columns, VKT_COUNT(columns));
    for (size_t i = 0; i < n; i++) {
        teller t = { p, r[i].dir, 0 };
        if (r[i].h) vkt__run_findings(&r[i], tell, &t);
        const char *cells[] = { r[i].dir, r[i].h ? "nothing to worry about" : "can't be read", "" };
        if (!t.n) vkt__page_row(p, cells, 3, 3);
    }
    vkt__page_table_end(p);
}

/* Options whose values are not the same in all runs; returns how many. */
static size_t differing(const vkt__run_view *r, size_t n, size_t *out)
{
    size_t k = 0;
    vkt_option_info info;
    for (size_t o = 0; k < MAX_OPTIONS; o++) {
        bool model = !vkt_option(o, &info), differs = false;
        char *first = NULL;
        bool seen = false;
        for (size_t i = 0; i < n; i++) {
            char *v = r[i].config ? vkt_option_value(r[i].config, o) : NULL;
            if (r[i].config && !seen) {
                first = v;
                seen = true;
                continue;
            }
            if (r[i].config && strcmp(v ? v : "", first ? first : "")) differs = true;
            free(v);
        }
        free(first);
        if (differs && (model || (strcmp(info.name, "name") && strcmp(info.name, "note"))))
            out[k++] = o;
        if (model) break;
    }
    return k;
}

static void table(vkt__page *p, const vkt__run_view *r, size_t n, vkt__arena *a)
{
    enum { FIXED = 6, MOST = 12 };
    const char *columns[FIXED + MOST] = { "run", "status", "metric", "best", "at step", "test" },
                                *cells[FIXED + MOST];
    size_t option[MAX_OPTIONS], k = VKT_MIN(differing(r, n, option), MOST);
    vkt_option_info info;
    for (size_t i = 0; i < k; i++)
        columns[FIXED + i] = vkt_option(option[i], &info) ? info.name : "model";
    vkt__page_table_begin(p, "Runs, with the options that differ", columns, FIXED + k);
    for (size_t i = 0; i < n; i++) {
        const vkt__run_record *x = &r[i].rec;
        bool accuracy = !isnan(x->test_accuracy);
        cells[0] = r[i].dir;
        cells[1] = x->status ? x->status : "damaged";
        cells[2] = x->metric ? x->metric : "-";
        cells[3] = isnan(x->best_metric) ? "-" : vkt__arena_printf(a, "%.5g", x->best_metric);
        cells[4] = vkt__arena_printf(a, "%llu", (unsigned long long)x->best_step);
        cells[5] = accuracy              ? vkt__arena_printf(a, "%.2f%%", 100 * x->test_accuracy)
                   : isnan(x->test_loss) ? "-"
                                         : vkt__arena_printf(a, "loss %.5g", x->test_loss);
        for (size_t o = 0; o < k; o++) {
            char *v = r[i].config ? vkt_option_value(r[i].config, option[o]) : NULL;
            cells[FIXED + o] = v ? vkt__arena_strdup(a, v) : "-";
            free(v);
        }
        vkt__page_row(p, cells, FIXED + k, 3);
    }
    vkt__page_table_end(p);
}

vkt_status vkt__report_runs(vkt__page *p, const char *const *dirs, size_t n)
{
    vkt__arena a = { 0 };
    vkt__run_view *r = vkt__alloc((n + 1) * sizeof *r);
    for (size_t i = 0; i < n && p->st == VKT_OK; i++) p->st = load(&r[i], dirs[i]);
    vkt__page_heading(p, 2, "%zu runs compared", n);
    say_data(p, r, n);
    plots(p, r, n);
    table(p, r, n, &a);
    findings(p, r, n);
    for (size_t i = 0; i < n; i++) vkt__run_view_finish(&r[i]);
    free(r);
    vkt__arena_finish(&a);
    return p->st;
}
