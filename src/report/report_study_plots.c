/* Plots of a study: the metric along each metaparameter, the best so far, the curves of the trials.
 */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "base/number.h"
#include "report/study_view.h"
#include "runs/curve.h"

enum { SHOWN_CURVES = 40, BEST = 5, ORDERS = 200 };

/* ---- along each metaparameter ---- */

/* Whether all values are numbers, and spread over more than a factor of ten above 0. */
static bool numeric(const vkt__study_view *s, const char *key, bool *wide, size_t *different)
{
    double low = INFINITY, high = -INFINITY;
    *different = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *v = vkt__trial_explores(&s->t[i]) ? vkt__trial_value(&s->t[i], key) : NULL;
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

/* As the search space has it ("log", "linear", ..): "" where the study had none. */
static const char *scale_of(const vkt__study_view *s, const char *key)
{
    const json_t *all = json_object_get(s->json, "metaparameters"), *e;
    size_t i;
    json_array_foreach(all, i, e)
    {
        if (!strcmp(vkt__study_string(e, "key"), key)) return vkt__study_string(e, "scale");
    }
    return "";
}

/* One that diverged must not hide the others. */
static bool wide_losses(const vkt__study_view *s, const double *y, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    return s->sign < 0 && low > 0 && high > 10 * low;
}

static void axis_plot(vkt__page *p, const vkt__study_view *s, const char *key)
{
    const char *names[64];
    size_t n_names = 0, n = 0, bad = 0, pruned = 0, cut = 0, top = 0, different;
    double *x = vkt__alloc((s->n + 1) * 6 * sizeof *x), *y = x + s->n + 1, *bx = y + s->n + 1,
           *by = bx + s->n + 1, *px = by + s->n + 1, *py = px + s->n + 1, worst = NAN;
    const char **label = vkt__alloc((s->n + 1) * 3 * sizeof *label), **bad_label = label + s->n + 1,
               **pruned_label = bad_label + s->n + 1;
    bool wide = false, numbers = numeric(s, key, &wide, &different);
    for (size_t i = 0; i < s->n; i++)
        if (vkt__trial_explores(&s->t[i]) && !isnan(s->t[i].best) &&
            (isnan(worst) || s->sign * (s->t[i].best - worst) < 0))
            worst = s->t[i].best;
    for (size_t i = 0; i < s->n; i++) {
        const vkt__trial_view *t = &s->t[i];
        const char *v = vkt__trial_explores(t) ? vkt__trial_value(t, key) : NULL;
        double at = v ? vkt__number_or_nan(v) : NAN;
        if (!v) continue;
        if (!numbers) {
            size_t k = 0;
            while (k < n_names && strcmp(names[k], v)) k++;
            if (k == n_names && n_names < VKT_COUNT(names)) names[n_names++] = v;
            at = (double)k;
        }
        bool was_cut = !strcmp(t->state, "cut");
        if (!isnan(t->best) && (was_cut || !strcmp(t->state, "pruned"))) {
            cut += was_cut;
            pruned_label[pruned] = t->label;
            px[pruned] = at;
            py[pruned++] = t->best;
        } else if (!isnan(t->best)) {
            if (!n || s->sign * (t->best - y[top]) > 0) top = n;
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
    const char *scale = scale_of(s, key);
    snprintf(metric, sizeof metric, "best validation %s", vkt__study_string(s->json, "metric"));
    vkt__plot plot = { .title = key,
                       .x_label = key,
                       .y_label = metric,
                       .log_x =
                           numbers && strcmp(scale, "linear") && (wide || !strcmp(scale, "log")),
                       .log_y = wide_losses(s, y, n),
                       .x_names = numbers ? NULL : names,
                       .n_x_names = n_names };
    vkt__plot_add(&plot, &(vkt__series) { "best of a trial", VKT__DOTS, n, x, y, .color = 0,
                                          .label = label });
    if (bad)
        vkt__plot_add(&plot, &(vkt__series) { "infeasible", VKT__CROSSES, bad, bx, by, .color = 1,
                                              .label = bad_label });
    if (pruned)
        vkt__plot_add(&plot, &(vkt__series) { cut ? "pruned or cut: its best until then"
                                                  : "pruned: its best until then",
                                              VKT__DOTS, pruned, px, py, .color = 2,
                                              .label = pruned_label });
    if (n > 1)
        vkt__plot_add(&plot, &(vkt__series) { "the best trial", VKT__DOTS, 1, x + top, y + top,
                                              .color = 3, .label = label + top });
    char name[80];
    snprintf(name, sizeof name, "axis-%s", key);
    if (!numbers || different > 1) vkt__page_plot(p, &plot, name);
    free(x);
    free(label);
}

/* ---- a metaparameter, isolated ---- */

/* What each part of a metaparameter reaches with the best values of the others, and the spread of
 * that (study_effects.c). nth: of the study's metaparameters. */
static void isolation_plot(vkt__page *p, const vkt__study_view *s, const json_t *e, size_t nth)
{
    const json_t *parts = json_object_get(e, "parts");
    const char *scale = vkt__study_string(e, "scale"), *key = vkt__study_string(e, "key"),
               *when = vkt__study_string(e, "when");
    size_t most = json_array_size(parts), n = 0;
    bool choice = !strcmp(scale, "choice"), logs = !strcmp(scale, "log");
    vkt__arena a = { 0 };
    double *x = vkt__alloc((most + 1) * 8 * sizeof *x), *y = x + most + 1, *rx = y + most + 1,
           *ry = rx + 3 * (most + 1);
    const char **name = vkt__alloc((most + 1) * 2 * sizeof *name), **label = name + most + 1;
    for (size_t i = 0; i < most; i++) {
        const json_t *part = json_array_get(parts, i);
        double best = vkt__json_number(part, "best"), low = vkt__json_number(part, "low"),
               high = vkt__json_number(part, "high");
        if (isnan(best) || (!choice && (isnan(low) || (logs && !(low > 0))))) continue;
        name[n] = vkt__study_string(part, "label");
        x[n] = choice ? (double)n : logs ? sqrt(low) * sqrt(high) : (low + high) / 2;
        y[n] = best;
        rx[3 * n] = rx[3 * n + 1] = rx[3 * n + 2] = x[n];
        ry[3 * n] = vkt__json_number(part, "best_low");
        ry[3 * n + 1] = vkt__json_number(part, "best_high");
        ry[3 * n + 2] = NAN; /* a line for each */
        label[n] =
            vkt__arena_printf(&a, "%s: the best of %.0f is %s", name[n],
                              vkt__json_number(part, "trials"), vkt__study_string(part, "trial"));
        n++;
    }
    const char *metric =
        vkt__arena_printf(&a, "best validation %s", vkt__study_string(s->json, "metric"));
    vkt__plot plot = { .title = vkt__arena_printf(&a, *when ? "%s, isolated (%s)" : "%s, isolated",
                                                  key, when),
                       .about = vkt__arena_printf(
                           &a,
                           "The %s that each part of %s reaches with the best values of the "
                           "others, and 80%% of resamplings of its trials",
                           metric, key),
                       .x_label = key,
                       .y_label = metric,
                       .log_x = logs,
                       .log_y = wide_losses(s, y, n),
                       .x_names = choice ? name : NULL,
                       .n_x_names = choice ? n : 0 };
    vkt__plot_add(&plot,
                  &(vkt__series) { "80% of resamplings", VKT__LINE, 3 * n, rx, ry, .color = 0 });
    vkt__plot_add(&plot, &(vkt__series) { "with the best of the others", VKT__DOTS, n, x, y,
                                          .color = 3, .label = label });
    if (n > 1)
        vkt__page_plot(p, &plot,
                       vkt__arena_printf(&a, *when ? "isolated-%s-%zu" : "isolated-%s", key, nth));
    vkt__arena_finish(&a);
    free((void *)name);
    free(x);
}

static void isolation_plots(vkt__page *p, const vkt__study_view *s)
{
    const json_t *e;
    size_t i;
    json_array_foreach(json_object_get(s->json, "metaparameters"), i, e)
    {
        if (json_is_true(json_object_get(e, "isolated"))) isolation_plot(p, s, e, i);
    }
}

/* ---- the learning rate ---- */

/* The rate of a trial of the sweep, NAN of any other. */
static double swept_rate(const vkt__trial_view *t)
{
    bool swept = !strcmp(t->group, "sweep") || !strcmp(t->group, "refine");
    const char *v = swept ? vkt__trial_value(t, "optim.lr") : NULL;
    return v ? vkt__number_or_nan(v) : NAN;
}

/* lr*, the swept rate that the metric chose; NAN: the study is of something else. */
static double best_rate(const vkt__study_view *s)
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

static void loss_by_rate(vkt__page *p, const vkt__study_view *s)
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
static void throughput(vkt__page *p, const vkt__study_view *s)
{
    double *x = vkt__alloc((s->n + 1) * 5 * sizeof *x), *y = x + s->n + 1, *mx = y + s->n + 1,
           *my = mx + s->n + 1, *of = my + s->n + 1;
    size_t n = 0, m = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char *v =
            strcmp(s->t[i].group, "speed") ? NULL : vkt__trial_value(&s->t[i], "train.batch");
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
static void ramp(vkt__page *p, const vkt__study_view *s)
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
    double *loss = vkt__curve_of(h, offsetof(vkt_history_step, loss)),
           *lr = vkt__curve_of(h, offsetof(vkt_history_step, lr));
    vkt_history_destroy(&h);
    /* What diverged would hide the rest. */
    size_t n = 0;
    for (; n < c.n && loss[n] <= 2 * loss[0];) n++;
    vkt__plot plot = { .title = "Training loss while the rate rises",
                       .x_label = "learning rate",
                       .y_label = "training loss",
                       .log_x = true };
    vkt__plot_add(&plot,
                  &(vkt__series) { "loss", VKT__LINE, n, lr, loss, .color = 0, .faint = true });
    vkt__plot_add(&plot, &(vkt__series) { "smoothed", VKT__LINE, n, lr, c.smooth, .color = 0 });
    json_array_foreach(rows, i, row)
    {
        const char *what = json_string_value(json_array_get(row, 0)),
                   *rate = json_string_value(json_array_get(row, 1));
        double at = rate ? vkt__number_or_nan(rate) : NAN;
        if (what && at > 0) vkt__plot_rule(&plot, at, true, what);
    }
    vkt__page_plot(p, &plot, "ramp");
    free(loss);
    free(lr);
    vkt__curves_finish(&c);
}

/* ---- best so far ---- */

/* In the order of the trials, and the middle four fifths of what other orders would have given. */
static void best_so_far(vkt__page *p, const vkt__study_view *s)
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
    snprintf(metric, sizeof metric, "best validation %s", vkt__study_string(s->json, "metric"));
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
static bool has_curve(const vkt__trial_view *t, double star)
{
    const char *v = vkt__trial_value(t, "optim.lr");
    if (!strcmp(t->group, "speed")) return false;
    if (isnan(star)) return vkt__trial_explores(t);
    double away = v ? vkt__number_or_nan(v) / star : NAN;
    return (vkt__trial_explores(t) || !strcmp(t->group, "above") || !strcmp(t->group, "early")) &&
           away > 0.25 && away < 10.5;
}

typedef struct shown {
    const vkt__trial_view *t;
    double key; /* by which they are sorted */
} shown;

/* What a curve is called: its rate where a study is about rates, else its name and first setting.
 */
static void name_curve(const vkt__trial_view *t, double star, char *out, size_t n)
{
    const char *set = json_string_value(json_array_get(t->set, 0));
    double lr =
        vkt__number_or_nan(vkt__trial_value(t, "optim.lr") ? vkt__trial_value(t, "optim.lr") : "");
    if (isnan(star) || isnan(lr))
        snprintf(out, n, set ? "%s, %.60s" : "%s", t->name, set);
    else if (lr == star)
        vkt__format(out, n, "%.4g = lr*", lr);
    else
        vkt__format(out, n, strcmp(t->group, "early") ? "%.4g" : "%.4g, constant", lr);
}

static int by_best(const void *a, const void *b)
{
    const shown *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->t > y->t) - (x->t < y->t);
}

/* Which trials, in the order of their legend: by rate around lr*, else the best first. */
static size_t choose(const vkt__study_view *s, double star, shown *of)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const vkt__trial_view *t = &s->t[i];
        const char *rate = vkt__trial_value(t, "optim.lr");
        double key = !isnan(star)     ? vkt__number_or_nan(rate ? rate : "")
                     : isnan(t->best) ? INFINITY
                                      : -s->sign * t->best;
        if (has_curve(t, star)) of[n++] = (shown) { t, key };
    }
    qsort(of, n, sizeof *of, by_best);
    return n;
}

/* Returns whether there are grey ones. */
static bool curves(vkt__page *p, const vkt__study_view *s)
{
    double star = best_rate(s);
    vkt__plot *q = vkt__alloc(sizeof *q);
    vkt__curves *c = vkt__alloc(SHOWN_CURVES * sizeof *c);
    shown *of = vkt__alloc((s->n + 1) * sizeof *of);
    char(*legend)[128] = vkt__alloc(SHOWN_CURVES * sizeof *legend);
    size_t n = 0, n_of = choose(s, star, of);
    *q = (vkt__plot) { .title = !isnan(star) ? "Training loss around lr*, smoothed"
                                             : "Training loss of the trials, smoothed",
                       .x_label = "step",
                       .y_label = "training loss",
                       .log_y = true };
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
        bool grey = isnan(star) && n >= BEST;
        name_curve(of[i].t, star, legend[n], sizeof legend[n]);
        vkt__plot_add(q, &(vkt__series) { grey ? NULL : legend[n], VKT__LINE, c[n].n, c[n].step,
                                          c[n].smooth, .color = (int)n, .grey = grey });
        n++;
    }
    for (size_t i = 0; i < q->n_series && !isnan(star) && n > 12; i++) q->series[i].name = NULL;
    vkt__page_plot(p, q, "trials");
    for (size_t i = 0; i < n; i++) vkt__curves_finish(&c[i]);
    free(c);
    free(of);
    free(legend);
    free(q);
    return isnan(star) && n > BEST;
}

void vkt__study_plots(vkt__page *p, const vkt__study_view *s)
{
    char keys[VKT__MAX_AXES][64];
    vkt__page_plots_begin(p);
    size_t n = strcmp(vkt__study_string(s->json, "kind"), "batch-size")
                   ? vkt__study_keys(s, false, keys)
                   : 0;
    isolation_plots(p, s);
    for (size_t i = 0; i < n; i++) axis_plot(p, s, keys[i]);
    loss_by_rate(p, s);
    throughput(p, s);
    vkt__study_data_plot(p, s);
    ramp(p, s);
    best_so_far(p, s);
    bool grey = curves(p, s);
    vkt__page_plots_end(p);
    if (grey)
        vkt__page_text(p,
                       "Of the curves, the %d with the best validation %s have colours, the "
                       "others are grey.",
                       BEST, vkt__study_string(s->json, "metric"));
}
