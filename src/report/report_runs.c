/* Several runs over one another: losses, the metric, a table with the options that differ. */
#include <math.h>
#include <stdio.h>

#include "recipe/config.h"
#include "report/page.h"
#include "runs/run_folder.h"

enum { MAX_LEGEND = 8, MAX_OPTIONS = 128 };

typedef struct run {
    const char *dir;
    vkt__run_record rec;
    vkt_history *h;
    vkt__curves c;
    vkt_config *config;
} run;

static vkt_status load(run *r, const char *dir, vkt__arena *a)
{
    const char *why;
    r->dir = dir;
    vkt_status st = vkt__run_load(dir, a, &r->rec, &why);
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

static void plot(vkt__page *p, const run *r, size_t n, const char *title, const char *y_label,
                 const char *name, int what)
{
    vkt__plot *q = vkt__alloc(sizeof *q);
    *q = (vkt__plot) { .title = title, .x_label = "step", .y_label = y_label };
    for (size_t i = 0; i < n; i++) {
        const vkt__curves *c = &r[i].c;
        if (!r[i].h) continue;
        vkt__plot_add(q, &(vkt__series) { n <= MAX_LEGEND ? r[i].dir : NULL, VKT__LINE,
                                          what ? c->n_evals : c->n, what ? c->eval_step : c->step,
                                          what == 0   ? c->smooth
                                          : what == 1 ? c->eval_loss
                                                      : c->eval_metric,
                                          .color = (int)i });
    }
    vkt__page_plot(p, q, name);
    free(q);
}

/* Options whose values are not the same in all runs; returns how many. */
static size_t differing(const run *r, size_t n, size_t *out)
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

static void table(vkt__page *p, const run *r, size_t n, vkt__arena *a)
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
    run *r = vkt__alloc((n + 1) * sizeof *r);
    for (size_t i = 0; i < n && p->st == VKT_OK; i++) p->st = load(&r[i], dirs[i], &a);
    vkt__page_heading(p, 2, "%zu runs", n);
    vkt__page_plots_begin(p);
    plot(p, r, n, "Training loss, smoothed", "loss", "runs-loss", 0);
    plot(p, r, n, "Validation loss", "loss", "runs-valid-loss", 1);
    plot(p, r, n, "Validation metric that selects", "metric", "runs-metric", 2);
    vkt__page_plots_end(p);
    table(p, r, n, &a);
    for (size_t i = 0; i < n; i++) {
        if (r[i].h) vkt__curves_finish(&r[i].c);
        vkt_history_destroy(&r[i].h);
        vkt_config_destroy(&r[i].config);
    }
    free(r);
    vkt__arena_finish(&a);
    return p->st;
}
