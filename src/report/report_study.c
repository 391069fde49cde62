/* A study's part of a report, read from its study.json: the answer, the table, the metric along
 * each metaparameter, the best so far, the curves of the trials. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "base/number.h"
#include "base/os.h"
#include "report/page.h"
#include "runs/curve.h"

enum { STUDY_LIMIT = 64 << 20, MAX_AXES = 24, SHOWN_CURVES = 40, ORDERS = 200 };

typedef struct trial {
    const char *name, *group, *state, *why;
    const json_t *set;
    double best, final_loss, step_ms, items_per_s;
    char *label;
} trial;

typedef struct study {
    const char *dir;
    json_t *json;
    trial *t;
    size_t n;
    int sign;
} study;

static const char *text(const json_t *j, const char *key)
{
    const char *v = json_string_value(json_object_get(j, key));
    return v ? v : "";
}

static double number(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

/* "lr" of the settings "optim.lr=0.1": the text after '='; NULL if it is not set. */
static const char *value_of(const trial *t, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < json_array_size(t->set); i++) {
        const char *v = json_string_value(json_array_get(t->set, i));
        if (v && !strncmp(v, key, n) && v[n] == '=') return v + n + 1;
    }
    return NULL;
}

static vkt_status load(study *s)
{
    char path[1100], *data = NULL;
    size_t n;
    json_error_t err;
    vkt_status st = VKT_OK;
    snprintf(path, sizeof path, "%s/study.json", s->dir);
    VKT_TRY(vkt__file_read(path, STUDY_LIMIT, &data, &n));
    s->json = json_loadb(data, n, 0, &err);
    if (!s->json || strcmp(text(s->json, "format"), "vktrain study")) {
        st = vkt__fail(VKT_E_FORMAT, "report", "'%s' is damaged or was not written by vktrain%s%s",
                       path, s->json ? "" : ": ", s->json ? "" : err.text);
        goto fail;
    }
    const json_t *trials = json_object_get(s->json, "trials");
    s->sign = number(s->json, "metric_sign") > 0 ? 1 : -1;
    s->t = vkt__alloc((json_array_size(trials) + 1) * sizeof *s->t);
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const json_t *j = json_array_get(trials, i);
        trial *t = &s->t[s->n++];
        vkt__str label = { 0 };
        *t = (trial) { .name = text(j, "name"),
                       .group = text(j, "group"),
                       .state = text(j, "state"),
                       .why = text(j, "why"),
                       .set = json_object_get(j, "set"),
                       .best = number(j, "best"),
                       .final_loss = number(j, "final_loss"),
                       .step_ms = number(j, "step_ms"),
                       .items_per_s = number(j, "items_per_s") };
        vkt__str_printf(&label, "%s", t->name);
        for (size_t k = 0; k < json_array_size(t->set); k++)
            vkt__str_printf(&label, " %s",
                            json_string_value(json_array_get(t->set, k))
                                ? json_string_value(json_array_get(t->set, k))
                                : "");
        t->label = label.data;
    }
fail:
    free(data);
    return st;
}

/* Trials of the question itself, not of checks and comparisons. */
static bool explores(const trial *t)
{
    static const char *const groups[] = { "search",  "sweep", "refine", "clip",
                                          "no-clip", "rate",  "speed" };
    for (size_t i = 0; i < VKT_COUNT(groups); i++)
        if (!strcmp(t->group, groups[i])) return true;
    return false;
}

/* ---- along each metaparameter ---- */

static size_t find_keys(const study *s, char keys[MAX_AXES][64])
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!explores(&s->t[i])) continue;
        for (size_t k = 0; k < json_array_size(s->t[i].set); k++) {
            const char *v = json_string_value(json_array_get(s->t[i].set, k));
            size_t len = v ? strcspn(v, "=") : 0, at = 0;
            if (!len || len >= 64) continue;
            while (at < n && (strlen(keys[at]) != len || strncmp(keys[at], v, len))) at++;
            if (at == n && n < MAX_AXES) snprintf(keys[n++], 64, "%.*s", (int)len, v);
        }
    }
    return n;
}

/* Whether all values are numbers, and spread over more than a factor of ten above 0. */
static bool numeric(const study *s, const char *key, bool *wide, size_t *different)
{
    double low = INFINITY, high = -INFINITY;
    *different = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *v = explores(&s->t[i]) ? value_of(&s->t[i], key) : NULL;
        double x;
        if (!v) continue;
        if (!vkt__number(v, &x)) return false;
        *different += x < low || x > high;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    *wide = low > 0 && high >= 10 * low;
    return true;
}

static void axis_plot(vkt__page *p, const study *s, const char *key)
{
    const char *names[64];
    size_t n_names = 0, n = 0, bad = 0, different;
    double *x = vkt__alloc((s->n + 1) * 4 * sizeof *x), *y = x + s->n + 1, *bx = y + s->n + 1,
           *by = bx + s->n + 1, worst = NAN;
    const char **label = vkt__alloc((s->n + 1) * 2 * sizeof *label), **bad_label = label + s->n + 1;
    bool wide = false, numbers = numeric(s, key, &wide, &different);
    for (size_t i = 0; i < s->n; i++)
        if (explores(&s->t[i]) && !isnan(s->t[i].best) &&
            (isnan(worst) || s->sign * (s->t[i].best - worst) < 0))
            worst = s->t[i].best;
    for (size_t i = 0; i < s->n; i++) {
        const trial *t = &s->t[i];
        const char *v = explores(t) ? value_of(t, key) : NULL;
        double at = v ? vkt__number_or_nan(v) : NAN;
        if (!v) continue;
        if (!numbers) {
            size_t k = 0;
            while (k < n_names && strcmp(names[k], v)) k++;
            if (k == n_names && n_names < VKT_COUNT(names)) names[n_names++] = v;
            at = (double)k;
        }
        if (!isnan(t->best)) {
            label[n] = t->label;
            x[n] = at;
            y[n++] = t->best;
        } else if (!strcmp(t->state, "infeasible")) {
            bad_label[bad] = t->label;
            bx[bad] = at;
            by[bad++] = worst; /* where nothing worse stands */
        }
    }
    char metric[80];
    snprintf(metric, sizeof metric, "best validation %s", text(s->json, "metric"));
    vkt__plot plot = { .title = key,
                       .x_label = key,
                       .y_label = metric,
                       .log_x = numbers && wide,
                       .x_names = numbers ? NULL : names,
                       .n_x_names = n_names };
    vkt__plot_add(&plot, &(vkt__series) { bad ? "best of a trial" : NULL, VKT__DOTS, n, x, y,
                                          .color = 0, .label = label });
    if (bad)
        vkt__plot_add(&plot, &(vkt__series) { "infeasible", VKT__CROSSES, bad, bx, by, .color = 1,
                                              .label = bad_label });
    char name[80];
    snprintf(name, sizeof name, "axis-%s", key);
    if (!numbers || different > 1) vkt__page_plot(p, &plot, name);
    free(x);
    free(label);
}

/* ---- the learning rate ---- */

/* The rate of a trial of the sweep, NAN of any other. */
static double swept_rate(const trial *t)
{
    bool swept = !strcmp(t->group, "sweep") || !strcmp(t->group, "refine");
    const char *v = swept ? value_of(t, "optim.lr") : NULL;
    return v ? vkt__number_or_nan(v) : NAN;
}

/* lr*, the swept rate that the metric chose; NAN: the study is of something else. */
static double best_rate(const study *s)
{
    double best = NAN, rate = NAN;
    for (size_t i = 0; i < s->n; i++) {
        double at = swept_rate(&s->t[i]), v = s->t[i].best;
        if (isnan(at) || isnan(v) || s->sign * (v - best) <= 0) continue;
        best = v;
        rate = at;
    }
    return rate;
}

static void loss_by_rate(vkt__page *p, const study *s)
{
    double *x = vkt__alloc((s->n + 1) * 2 * sizeof *x), *y = x + s->n + 1, star = best_rate(s);
    const char **label = vkt__alloc((s->n + 1) * sizeof *label);
    double low = INFINITY, high = -INFINITY;
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        double at = swept_rate(&s->t[i]);
        if (isnan(at) || !isfinite(s->t[i].final_loss)) continue;
        label[n] = s->t[i].label;
        x[n] = at;
        y[n++] = s->t[i].final_loss;
        low = fmin(low, y[n - 1]);
        high = fmax(high, y[n - 1]);
    }
    vkt__plot plot = { .title = "Final training loss by learning rate",
                       .x_label = "optim.lr",
                       .y_label = "training loss",
                       .log_x = true,
                       .log_y = low > 0 && high > 10 * low };
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__DOTS, n, x, y, .color = 0, .label = label });
    if (!isnan(star)) vkt__plot_rule(&plot, star, true, "lr*");
    if (n) vkt__page_plot(p, &plot, "final-loss");
    free((void *)label);
    free(x);
}

/* ---- batch sizes ---- */

/* Each measurement a dot, a line through the medians of the sizes. */
static void throughput(vkt__page *p, const study *s)
{
    double *x = vkt__alloc((s->n + 1) * 5 * sizeof *x), *y = x + s->n + 1, *mx = y + s->n + 1,
           *my = mx + s->n + 1, *of = my + s->n + 1;
    size_t n = 0, m = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *v = strcmp(s->t[i].group, "speed") ? NULL : value_of(&s->t[i], "train.batch");
        if (!v || isnan(s->t[i].items_per_s)) continue;
        x[n] = vkt__number_or_nan(v);
        y[n++] = s->t[i].items_per_s;
    }
    for (size_t i = 0; i < n; i++) { /* sizes come first in their order */
        size_t k = 0, all = 0;
        while (k < m && mx[k] < x[i]) k++;
        if (k < m) continue;
        for (size_t j = 0; j < n; j++)
            if (!(x[j] < x[i]) && !(x[j] > x[i])) of[all++] = y[j];
        mx[m] = x[i];
        my[m++] = vkt__median(of, all);
    }
    vkt__plot plot = { .title = "Throughput by batch size",
                       .x_label = "train.batch",
                       .y_label = "examples/s",
                       .log_x = true,
                       .log_y = true };
    vkt__plot_add(&plot, &(vkt__series) { "median", VKT__LINE, m, mx, my, .color = 5 });
    vkt__plot_add(&plot, &(vkt__series) { "each measurement", VKT__DOTS, n, x, y, .color = 5 });
    vkt__page_plot(p, &plot, "throughput");
    free(x);
}

/* ---- the ramp ---- */

/* Loss against rate, and the rates that the study read off it: its table. */
static void ramp(vkt__page *p, const study *s)
{
    const json_t *rows = json_object_get(s->json, "rows"), *row;
    char dir[1200];
    size_t i;
    vkt_history *h;
    vkt__curves c;
    if (!s->n || strcmp(s->t[0].group, "ramp")) return;
    snprintf(dir, sizeof dir, "%s/%s", s->dir, s->t[0].name);
    vkt__log_hold(true);
    vkt_status st = vkt_history_load(dir, &h);
    vkt__log_hold(false);
    if (st != VKT_OK) return;
    vkt__curves_load(h, "loss", &c);
    vkt_history_destroy(&h);
    /* What diverged would hide the rest. */
    size_t n = 0;
    for (; n < c.n && c.loss[n] <= 2 * c.loss[0];) n++;
    vkt__plot plot = { .title = "Training loss while the rate rises",
                       .x_label = "learning rate",
                       .y_label = "training loss",
                       .log_x = true };
    vkt__plot_add(&plot,
                  &(vkt__series) { "loss", VKT__LINE, n, c.lr, c.loss, .color = 0, .faint = true });
    vkt__plot_add(&plot, &(vkt__series) { "smoothed", VKT__LINE, n, c.lr, c.smooth, .color = 0 });
    json_array_foreach(rows, i, row)
    {
        const char *what = json_string_value(json_array_get(row, 0)),
                   *rate = json_string_value(json_array_get(row, 1));
        double at = rate ? vkt__number_or_nan(rate) : NAN;
        if (what && at > 0) vkt__plot_rule(&plot, at, true, what);
    }
    vkt__page_plot(p, &plot, "ramp");
    vkt__curves_finish(&c);
}

/* ---- best so far ---- */

/* In the order of the trials, and the middle four fifths of what other orders would have given. */
static void best_so_far(vkt__page *p, const study *s)
{
    double *v = vkt__alloc((s->n + 1) * sizeof *v), *x = vkt__alloc((s->n + 1) * 4 * sizeof *x);
    double *best = x + s->n + 1, *low = best + s->n + 1, *high = low + s->n + 1, column[ORDERS];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->t[i].group, "search") && !isnan(s->t[i].best)) v[n++] = s->t[i].best;
    double *orders = vkt__alloc((n + 1) * ORDERS * sizeof *orders),
           *w = vkt__alloc((n + 1) * sizeof *w);
    for (size_t o = 0; o < ORDERS && n > 1; o++) {
        memcpy(w, v, n * sizeof *w);
        for (size_t i = n - 1; i > 0; i--) {
            size_t k = vkt_rand_below(1, VKT_RNG_SAMPLE, o * 65536 + i, (uint32_t)(i + 1));
            double t = w[i];
            w[i] = w[k];
            w[k] = t;
        }
        for (size_t i = 0; i < n; i++) {
            if (i && s->sign * (w[i] - w[i - 1]) < 0) w[i] = w[i - 1];
            orders[i * ORDERS + o] = w[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)(i + 1);
        best[i] = i && s->sign * (v[i] - best[i - 1]) < 0 ? best[i - 1] : v[i];
        memcpy(column, orders + i * ORDERS, sizeof column);
        low[i] = vkt__quantile(column, ORDERS, 0.1);
        high[i] = vkt__quantile(column, ORDERS, 0.9);
    }
    char metric[80];
    snprintf(metric, sizeof metric, "best validation %s", text(s->json, "metric"));
    vkt__plot plot = { .title = "Best so far", .x_label = "feasible trials", .y_label = metric };
    vkt__plot_add(&plot, &(vkt__series) { "80% of other orders", VKT__BAND, n, x, low, high,
                                          .color = 0, .faint = true });
    vkt__plot_add(&plot, &(vkt__series) { "this order", VKT__LINE, n, x, best, .color = 0 });
    if (n > 1) vkt__page_plot(p, &plot, "best-so-far");
    free(orders);
    free(w);
    free(v);
    free(x);
}

/* ---- curves of the trials ---- */

/* Trials whose curves are shown: those that explore; of rates the ones from a quarter of lr* to 10
 * times it, and the two runs above it that the verdict on stability is from. */
static bool has_curve(const trial *t, double star)
{
    const char *v = value_of(t, "optim.lr");
    if (!strcmp(t->group, "speed")) return false;
    if (isnan(star)) return explores(t);
    double away = v ? vkt__number_or_nan(v) / star : NAN;
    return (explores(t) || !strcmp(t->group, "above") || !strcmp(t->group, "early")) &&
           away > 0.25 && away < 10.5;
}

typedef struct shown {
    const trial *t;
    double lr;
} shown;

static int by_rate(const void *a, const void *b)
{
    const shown *x = a, *y = b;
    return x->lr != y->lr ? (x->lr > y->lr) - (x->lr < y->lr) : (x->t > y->t) - (x->t < y->t);
}

/* What a curve is called: its rate where a study is about rates, else the first of its settings. */
static void name_curve(const trial *t, double star, char *out, size_t n)
{
    const char *set = json_string_value(json_array_get(t->set, 0));
    double lr = vkt__number_or_nan(value_of(t, "optim.lr") ? value_of(t, "optim.lr") : "");
    if (isnan(star) || isnan(lr))
        snprintf(out, n, "%s", set ? set : t->name);
    else if (lr == star)
        vkt__format(out, n, "%.4g = lr*", lr);
    else
        vkt__format(out, n, strcmp(t->group, "early") ? "%.4g" : "%.4g, constant", lr);
}

static void curves(vkt__page *p, const study *s)
{
    double star = best_rate(s);
    vkt__plot *q = vkt__alloc(sizeof *q);
    vkt__curves *c = vkt__alloc(SHOWN_CURVES * sizeof *c);
    shown *of = vkt__alloc((s->n + 1) * sizeof *of);
    char(*legend)[64] = vkt__alloc(SHOWN_CURVES * sizeof *legend);
    size_t n = 0, n_of = 0;
    *q = (vkt__plot) { .title = isnan(star) ? "Training loss of the trials, smoothed"
                                            : "Training loss around lr*, smoothed",
                       .x_label = "step",
                       .y_label = "training loss",
                       .log_y = true };
    for (size_t i = 0; i < s->n; i++)
        if (has_curve(&s->t[i], star))
            of[n_of++] =
                (shown) { &s->t[i],
                          isnan(star) ? NAN : vkt__number_or_nan(value_of(&s->t[i], "optim.lr")) };
    if (!isnan(star)) qsort(of, n_of, sizeof *of, by_rate);
    for (size_t i = 0; i < n_of && n < SHOWN_CURVES; i++) {
        char dir[1200];
        vkt_history *h;
        snprintf(dir, sizeof dir, "%s/%s", s->dir, of[i].t->name);
        vkt__log_hold(true);
        vkt_status st = vkt_history_load(dir, &h);
        vkt__log_hold(false);
        if (st != VKT_OK) continue;
        vkt__curves_load(h, "loss", &c[n]);
        vkt_history_destroy(&h);
        name_curve(of[i].t, star, legend[n], sizeof legend[n]);
        vkt__plot_add(q, &(vkt__series) { legend[n], VKT__LINE, c[n].n, c[n].step, c[n].smooth,
                                          .color = (int)n });
        n++;
    }
    for (size_t i = 0; i < q->n_series && n > 12; i++) q->series[i].name = NULL;
    vkt__page_plot(p, q, "trials");
    for (size_t i = 0; i < n; i++) vkt__curves_finish(&c[i]);
    free(c);
    free(of);
    free(legend);
    free(q);
}

/* ---- the whole ---- */

static void study_facts(vkt__page *p, const study *s)
{
    size_t done = 0, bad = 0;
    double best = NAN;
    char trials[80], value[80];
    for (size_t i = 0; i < s->n; i++) {
        done += !strcmp(s->t[i].state, "done");
        bad += !strcmp(s->t[i].state, "infeasible");
        if (!isnan(s->t[i].best) && (isnan(best) || s->sign * (s->t[i].best - best) > 0))
            best = s->t[i].best;
    }
    snprintf(trials, sizeof trials, "%zu: %zu done, %zu infeasible", s->n, done, bad);
    vkt__format(value, sizeof value, "%.5g", best);
    const char *const list[][2] = {
        { "recipe", text(s->json, "recipe") },        { "selects by", text(s->json, "metric") },
        { "best trial", isnan(best) ? NULL : value }, { "trials", trials },
        { "status", text(s->json, "status") },        { "started", text(s->json, "started") },
    };
    vkt__page_facts(p, list, VKT_COUNT(list));
}

static void answer(vkt__page *p, const study *s)
{
    const json_t *advice = json_object_get(s->json, "advice");
    vkt__page_heading(p, 2, "Study %s: %s", text(s->json, "kind"), text(s->json, "name"));
    study_facts(p, s);
    if (strcmp(text(s->json, "status"), "done"))
        vkt__page_note(p, "Not finished:", text(s->json, "status"), false);
    for (size_t i = 0; i < json_array_size(advice); i++) {
        const char *line = json_string_value(json_array_get(advice, i));
        if (line && !i)
            vkt__page_note(p, "Recommendation:", line, true);
        else if (line)
            vkt__page_text(p, "%s", line);
    }
    if (*text(s->json, "command"))
        vkt__page_details(p, "the command that reproduces it", text(s->json, "command"));
    vkt__page_text(p, "The playbook: %s", text(s->json, "playbook"));
}

static void result_table(vkt__page *p, const study *s)
{
    enum { MOST = 24 };
    const json_t *columns = json_object_get(s->json, "columns"),
                 *rows = json_object_get(s->json, "rows");
    const char *cells[MOST];
    size_t n = VKT_MIN(json_array_size(columns), MOST);
    if (!n) return;
    for (size_t i = 0; i < n; i++) {
        const char *v = json_string_value(json_array_get(columns, i));
        cells[i] = v ? v : "";
    }
    vkt__page_table_begin(p, "Result", cells, n);
    for (size_t r = 0; r < json_array_size(rows); r++) {
        for (size_t i = 0; i < n; i++) {
            const char *v = json_string_value(json_array_get(json_array_get(rows, r), i));
            cells[i] = v ? v : "";
        }
        vkt__page_row(p, cells, n, n);
    }
    vkt__page_table_end(p);
}

static void trial_table(vkt__page *p, const study *s)
{
    static const char *const columns[] = { "trial", "group",       "state",
                                           "best",  "ms per step", "settings" };
    char best[32], ms[32];
    vkt__page_table_begin(p, "Trials: each is a run in the study's folder", columns, 6);
    for (size_t i = 0; i < s->n; i++) {
        const trial *t = &s->t[i];
        vkt__format(best, sizeof best, isnan(t->best) ? "-" : "%.5g", t->best);
        vkt__format(ms, sizeof ms, isnan(t->step_ms) ? "-" : "%.3g", t->step_ms);
        const char *cells[] = {
            t->name, t->group, *t->why ? t->why : t->state,
            best,    ms,       strchr(t->label, ' ') ? strchr(t->label, ' ') + 1 : ""
        };
        vkt__page_row(p, cells, 6, 6);
    }
    vkt__page_table_end(p);
}

vkt_status vkt__report_study(vkt__page *p, const char *dir)
{
    study s = { .dir = dir };
    char keys[MAX_AXES][64];
    vkt_status st = load(&s);
    if (st == VKT_OK) {
        answer(p, &s);
        result_table(p, &s);
        vkt__page_plots_begin(p);
        size_t n = strcmp(text(s.json, "kind"), "batch-size") ? find_keys(&s, keys) : 0;
        for (size_t i = 0; i < n; i++) axis_plot(p, &s, keys[i]);
        loss_by_rate(p, &s);
        throughput(p, &s);
        ramp(p, &s);
        best_so_far(p, &s);
        curves(p, &s);
        vkt__page_plots_end(p);
        trial_table(p, &s);
        vkt__page_details(p, "the complete recipe (YAML)", text(s.json, "config"));
        if (*text(s.json, "space")) vkt__page_details(p, "the space", text(s.json, "space"));
        st = p->st;
    }
    for (size_t i = 0; i < s.n; i++) free(s.t[i].label);
    free(s.t);
    json_decref(s.json);
    return st;
}
