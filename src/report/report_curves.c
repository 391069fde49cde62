/* Curves of a run: as arrays, and as the plots of its page. */
#include <math.h>

#include "recipe/options.h"
#include "report/run_view.h"
#include "runs/curve.h"

enum { BINS = 40 };

double *vkt__curve_of(const vkt_history *h, size_t offset)
{
    double *v = vkt__alloc((h->n_steps + 1) * sizeof *v);
    for (size_t i = 0; i < h->n_steps; i++)
        memcpy(&v[i], (const char *)&h->steps[i] + offset, sizeof v[i]);
    return v;
}

/* As wide as a fiftieth of the run. */
static void smooth(double *v, size_t n)
{
    vkt__smooth(v, n, 1 / fmax((double)n / 50, 1), v);
}

void vkt__curves_load(const vkt_history *h, const char *metric, vkt__curves *c)
{
    size_t eval_bytes = (h->n_evals + 1) * sizeof(double);
    double **eval_columns[] = { &c->eval_step, &c->eval_loss, &c->eval_metric };
    *c = (vkt__curves) { .n = h->n_steps };
    c->step = vkt__alloc((h->n_steps + 1) * sizeof *c->step);
    for (size_t i = 0; i < VKT_COUNT(eval_columns); i++) *eval_columns[i] = vkt__alloc(eval_bytes);
    for (size_t i = 0; i < h->n_steps; i++) c->step[i] = (double)h->steps[i].step;
    c->smooth = vkt__curve_of(h, offsetof(vkt_history_step, loss));
    smooth(c->smooth, c->n);
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
    double *all[] = { c->step, c->smooth, c->eval_step, c->eval_loss, c->eval_metric };
    for (size_t i = 0; i < VKT_COUNT(all); i++) free(all[i]);
}

/* Whose loss it is, of what, in which unit. */
static const char *loss_name(const vkt__run_view *r)
{
    if (r->h->n_evals && !isnan(r->h->evals[0].mae)) return "mean squared error";
    if (!r->config) return "loss, mean of an example";
    if (vkt__config_is_text(r->config)) return "cross-entropy, nats per token";
    switch (r->config->loss) {
    case VKT_LOSS_KIND_CROSS_ENTROPY:
        return r->config->data.task == VKT_TASK_SEGMENT ? "cross-entropy, nats per pixel"
                                                        : "cross-entropy, nats per example";
    case VKT_LOSS_KIND_DETECT:
        return "loss of classes and boxes, mean of a picture";
    case VKT_LOSS_KIND_POINTS:
        return "squared error of heatmaps, 1 where nothing is found";
    case VKT_LOSS_KIND_INSTANCES:
        return "loss of masks, centres and offsets, mean of a picture";
    case VKT_LOSS_KIND_DICE:
        return "1 - Dice, mean of a picture";
    default:
        return "loss, mean of an example";
    }
}

static void plot_loss(vkt__page *p, const vkt__run_view *r)
{
    const vkt__curves *c = &r->c;
    double *loss = vkt__curve_of(r->h, offsetof(vkt_history_step, loss));
    bool other = r->config && r->config->label_smoothing > 0;
    vkt__plot plot = { .title = "Loss", .x_label = "step", .y_label = loss_name(r) };
    vkt__plot_add(&plot,
                  &(vkt__series) { other ? "training, with label smoothing" : "training", VKT__LINE,
                                   c->n, c->step, loss, .color = 0, .faint = true });
    vkt__plot_add(&plot, &(vkt__series) { "its running mean", VKT__LINE, c->n, c->step, c->smooth,
                                          .color = 0, .smoothed = true });
    vkt__plot_add(&plot, &(vkt__series) { "validation", VKT__LINE, c->n_evals, c->eval_step,
                                          c->eval_loss, .color = 1 });
    if (r->rec.best_step) vkt__plot_rule(&plot, (double)r->rec.best_step, true, "best");
    vkt__page_plot(p, &plot, "loss");
    free(loss);
}

static void plot_metric(vkt__page *p, const vkt__run_view *r)
{
    const vkt__curves *c = &r->c;
    double *share = vkt__curve_of(r->h, offsetof(vkt_history_step, accuracy)),
           *valid = vkt__alloc((c->n_evals + 1) * sizeof *valid);
    bool accuracy = c->n && !isnan(share[0]), r2 = r->rec.metric && !strcmp(r->rec.metric, "r2"),
         rmse = r->rec.metric && !strcmp(r->rec.metric, "rmse");
    vkt__plot plot = { .title = accuracy ? "Accuracy"
                                : r2     ? "R2"
                                : rmse   ? "Root mean squared error"
                                         : "Mean absolute error",
                       .x_label = "step",
                       .y_label = accuracy ? "share correct"
                                  : r2     ? "share of the variance explained"
                                           : "units of the target" };
    const char *drawn = accuracy ? "accuracy" : r2 || rmse ? r->rec.metric : "mae";
    size_t n = 0;
    smooth(share, c->n);
    for (size_t i = 0; i < r->h->n_evals && n < c->n_evals; i++)
        if (!strcmp(r->h->evals[i].split, r->h->evals[0].split))
            valid[n++] = vkt_history_metric(&r->h->evals[i], drawn);
    if (accuracy)
        vkt__plot_add(&plot, &(vkt__series) { "training, running mean", VKT__LINE, c->n, c->step,
                                              share, .color = 0 });
    vkt__plot_add(&plot,
                  &(vkt__series) { "validation", VKT__LINE, n, c->eval_step, valid, .color = 1 });
    /* The metric that selects, where it is another one of classes. */
    if (accuracy && r->rec.metric && strcmp(r->rec.metric, "accuracy") &&
        strcmp(r->rec.metric, "loss"))
        vkt__plot_add(&plot, &(vkt__series) { r->rec.metric, VKT__LINE, c->n_evals, c->eval_step,
                                              c->eval_metric, .color = 4 });
    if (r->rec.best_step) vkt__plot_rule(&plot, (double)r->rec.best_step, true, "best");
    vkt__page_plot(p, &plot, "metric");
    free(share);
    free(valid);
}

/* Of boxes and of pictures: what they are judged by. */
static void plot_judged(vkt__page *p, const vkt__run_view *r, const char *title, const char *unit,
                        const char *const *names, size_t n_names)
{
    double *y = vkt__alloc((n_names * r->h->n_evals + 1) * sizeof *y);
    vkt__plot plot = { .title = title, .x_label = "step", .y_label = unit };
    for (size_t k = 0; k < n_names; k++) {
        size_t n = 0;
        double *own = y + k * r->h->n_evals;
        for (size_t i = 0; i < r->h->n_evals && n < r->c.n_evals; i++)
            if (!strcmp(r->h->evals[i].split, r->h->evals[0].split))
                own[n++] = vkt_history_metric(&r->h->evals[i], names[k]);
        vkt__plot_add(&plot, &(vkt__series) { names[k], VKT__LINE, n, r->c.eval_step, own,
                                              .color = k ? 4 : 1 });
    }
    if (r->rec.best_step) vkt__plot_rule(&plot, (double)r->rec.best_step, true, "best");
    vkt__page_plot(p, &plot, "metric");
    free(y);
}

static void plot_task(vkt__page *p, const vkt__run_view *r)
{
    static const char *const boxes[] = { "map", "map50" }, *const psnr[] = { "psnr" },
                             *const points[] = { "oks_ap", "pck" },
                             *const instances[] = { "instance_ap50" };
    const vkt_history_eval *e = r->h->n_evals ? r->h->evals : NULL;
    if (e && !isnan(e->map))
        plot_judged(p, r, "Mean average precision of boxes, validation", "share", boxes, 2);
    else if (e && !isnan(e->pck))
        plot_judged(p, r,
                    "Points: average precision by similarity, and share that is near, "
                    "validation",
                    "share", points, 2);
    else if (e && !isnan(e->instance_ap50))
        plot_judged(p, r, "Instances: TP / (TP + FP + FN) at IoU 0.50, validation", "share",
                    instances, 1);
    else if (e && !isnan(e->psnr))
        plot_judged(p, r, "Peak signal to noise, validation", "dB", psnr, 1);
    else
        plot_metric(p, r);
}

static void plot_lr(vkt__page *p, const vkt__run_view *r)
{
    double *lr = vkt__curve_of(r->h, offsetof(vkt_history_step, lr));
    vkt__plot plot = { .title = "Learning rate", .x_label = "step", .y_label = "learning rate" };
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__LINE, r->c.n, r->c.step, lr, .color = 2 });
    vkt__page_plot(p, &plot, "lr");
    free(lr);
}

static void plot_norm(vkt__page *p, const vkt__run_view *r, const double *norm)
{
    const vkt__curves *c = &r->c;
    double clip = r->config ? (double)r->config->optim.clip : 0;
    double p90 = vkt__quantile(norm, c->n, 0.9);
    vkt__plot plot = { .title = "Gradient norm, before clipping",
                       .x_label = "step",
                       .y_label = "L2 norm",
                       .log_y = true };
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__LINE, c->n, c->step, norm, .color = 3 });
    if (clip > 0) vkt__plot_rule(&plot, clip, false, "optim.clip");
    vkt__plot_rule(&plot, p90, false, "90th percentile");
    vkt__page_plot(p, &plot, "gradient-norm");
}

static void plot_histogram(vkt__page *p, const vkt__run_view *r, const double *norm)
{
    double x[BINS + 1], y[BINS] = { 0 }, low = INFINITY, high = 0;
    double clip = r->config ? (double)r->config->optim.clip : 0;
    vkt__plot plot = { .title = "Gradient norm, histogram over all steps",
                       .x_label = "L2 norm",
                       .y_label = "steps",
                       .log_x = true };
    for (size_t i = 0; i < r->c.n; i++)
        if (isfinite(norm[i]) && norm[i] > 0) low = fmin(low, norm[i]), high = fmax(high, norm[i]);
    if (!(high > low)) return;
    for (int b = 0; b <= BINS; b++) x[b] = low * pow(high / low, (double)b / BINS);
    for (size_t i = 0; i < r->c.n; i++)
        if (isfinite(norm[i]) && norm[i] > 0)
            y[VKT_MIN((size_t)(BINS * log(norm[i] / low) / log(high / low)), BINS - 1)]++;
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__BARS, BINS, x, y, .color = 3 });
    vkt__plot_rule(&plot, vkt__quantile(norm, r->c.n, 0.5), true, "p50");
    vkt__plot_rule(&plot, vkt__quantile(norm, r->c.n, 0.9), true, "p90");
    if (clip > 0) vkt__plot_rule(&plot, clip, true, "clip");
    vkt__page_plot(p, &plot, "gradient-histogram");
}

/* Share of updates clipped, over windows of a fiftieth of the run. */
static void plot_clipped(vkt__page *p, const vkt__run_view *r)
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

static void plot_speed(vkt__page *p, const vkt__run_view *r)
{
    double *speed = vkt__curve_of(r->h, offsetof(vkt_history_step, items_per_s));
    vkt__plot plot = { .title = "Throughput", .x_label = "step", .y_label = "examples/s" };
    vkt__plot_add(&plot, &(vkt__series) { NULL, VKT__LINE, r->c.n, r->c.step, speed, .color = 5 });
    vkt__page_plot(p, &plot, "throughput");
    free(speed);
}

void vkt__run_plots(vkt__page *p, const vkt__run_view *r)
{
    vkt__page_plots_begin(p);
    plot_loss(p, r);
    plot_task(p, r);
    plot_lr(p, r);
    double *norm = vkt__curve_of(r->h, offsetof(vkt_history_step, grad_norm));
    plot_norm(p, r, norm);
    plot_histogram(p, r, norm);
    free(norm);
    plot_clipped(p, r);
    plot_speed(p, r);
    vkt__page_plots_end(p);
}
