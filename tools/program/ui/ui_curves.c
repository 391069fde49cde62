/* ui_curves.h */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui_curves.h"

enum { MOST_SPLITS = 8 };

/* The lowest, the highest and the last of a part, in their order. */
static size_t put_part(const size_t part[3], size_t *keep, size_t n)
{
    size_t a = part[0], b = part[1];
    if (a > b) a = part[1], b = part[0];
    keep[n++] = a;
    if (b != a) keep[n++] = b;
    if (part[2] != b) keep[n++] = part[2];
    return n;
}

size_t ui_thin(const double *x, const double *y, size_t n, double low, double high, size_t columns,
               size_t *keep)
{
    size_t part[3] = { 0 }, at = SIZE_MAX, kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(y[i]) || !(x[i] >= low && x[i] <= high)) continue;
        double place = high > low ? (x[i] - low) / (high - low) * (double)columns : 0;
        size_t now = (size_t)fmin(place, (double)columns - 1);
        if (at == SIZE_MAX || now > at) { /* x that falls back stays in its last part */
            if (at != SIZE_MAX) kept = put_part(part, keep, kept);
            part[0] = part[1] = i;
            at = now;
        }
        if (y[i] < y[part[0]]) part[0] = i;
        if (y[i] > y[part[1]]) part[1] = i;
        part[2] = i;
    }
    return at == SIZE_MAX ? 0 : put_part(part, keep, kept);
}

/* ---- a series ---- */

typedef struct lines {
    const vkt_history *h;
    size_t columns, *keep;
    double *x, *y; /* room for all steps or evaluations */
    double low, high;
} lines;

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* Of l->x, l->y [n]; NULL: there is no number in it. */
static json_t *series(const lines *l, const char *name, size_t n)
{
    size_t kept = ui_thin(l->x, l->y, n, l->low, l->high, l->columns, l->keep);
    if (!kept) return NULL;
    json_t *x = json_array(), *y = json_array();
    for (size_t i = 0; i < kept; i++) {
        json_array_append_new(x, json_integer((json_int_t)l->x[l->keep[i]]));
        json_array_append_new(y, number(l->y[l->keep[i]]));
    }
    return json_pack("{s:s, s:o, s:o}", "name", name, "x", x, "y", y);
}

static double field(const void *of, size_t at)
{
    double v;
    memcpy(&v, (const char *)of + at, sizeof v);
    return v;
}

static void add_steps(const lines *l, json_t *to, size_t at)
{
    for (size_t i = 0; i < l->h->n_steps; i++) {
        l->x[i] = (double)l->h->steps[i].step;
        l->y[i] = field(&l->h->steps[i], at);
    }
    json_t *one = series(l, "training", l->h->n_steps);
    if (one) json_array_append_new(to, one);
}

/* The splits that were evaluated, in the order in which they came. */
static size_t splits(const vkt_history *h, const char *names[MOST_SPLITS])
{
    size_t n = 0;
    for (size_t i = 0; i < h->n_evals; i++) {
        size_t k = 0;
        while (k < n && strcmp(names[k], h->evals[i].split) != 0) k++;
        if (k == n && n < MOST_SPLITS) names[n++] = h->evals[i].split;
    }
    return n;
}

/* at SIZE_MAX: the metric of that name. */
static void add_evals(const lines *l, json_t *to, size_t at, const char *metric)
{
    const char *names[MOST_SPLITS];
    size_t n_names = splits(l->h, names);
    for (size_t k = 0; k < n_names; k++) {
        size_t n = 0;
        for (size_t i = 0; i < l->h->n_evals; i++) {
            const vkt_history_eval *e = &l->h->evals[i];
            if (strcmp(e->split, names[k]) != 0) continue;
            l->x[n] = (double)e->step;
            l->y[n++] = at == SIZE_MAX ? vkt_history_metric(e, metric) : field(e, at);
        }
        json_t *one = series(l, names[k], n);
        if (one) json_array_append_new(to, one);
    }
}

/* ---- all of them ---- */

#define STEP(f) offsetof(vkt_history_step, f)
#define EVAL(f) offsetof(vkt_history_eval, f)
enum { NONE = -1 };
static const struct {
    const char *key, *title;
    long step, eval;
} curves[] = {
    { "loss", "Loss", STEP(loss), EVAL(loss) },
    { "accuracy", "Accuracy", STEP(accuracy), EVAL(accuracy) },
    { "mae", "Mean absolute error", NONE, EVAL(mae) },
    { "mean_iou", "Mean overlap of masks (IoU)", NONE, EVAL(mean_iou) },
    { "psnr", "PSNR, dB", NONE, EVAL(psnr) },
    { "map", "Mean average precision of boxes", NONE, EVAL(map) },
    { "oks_ap", "Points: average precision by similarity", NONE, EVAL(oks_ap) },
    { "pck", "Points within a tenth of the size (PCK)", NONE, EVAL(pck) },
    { "point_error", "Mean error of points, pixels", NONE, EVAL(point_error) },
    { "instance_ap50", "Instances: TP / (TP + FP + FN) at IoU 0.50", NONE, EVAL(instance_ap50) },
    { "grad_norm", "Gradient norm", STEP(grad_norm), NONE },
    { "lr", "Learning rate", STEP(lr), NONE },
    { "items_per_s", "Throughput, examples or tokens a second", STEP(items_per_s), NONE },
};

static void add_curve(json_t *to, const char *key, const char *title, json_t *all)
{
    if (json_array_size(all))
        json_array_append_new(
            to, json_pack("{s:s, s:s, s:O}", "key", key, "title", title, "series", all));
    json_decref(all);
}

json_t *ui_curves(const vkt_history *h, const char *metric, size_t columns, uint64_t from,
                  uint64_t to)
{
    size_t most = h->n_steps > h->n_evals ? h->n_steps : h->n_evals;
    lines l = { .h = h,
                .columns = columns,
                .keep = cli_grow(NULL, (3 * columns + 3) * sizeof *l.keep),
                .x = cli_grow(NULL, (most + 1) * sizeof *l.x),
                .y = cli_grow(NULL, (most + 1) * sizeof *l.y),
                .low = (double)from,
                .high = (double)to };
    json_t *out = json_array();
    bool known = !metric;
    for (size_t c = 0; c < CLI_COUNT(curves); c++) {
        json_t *all = json_array();
        if (curves[c].step != NONE) add_steps(&l, all, (size_t)curves[c].step);
        if (curves[c].eval != NONE) add_evals(&l, all, (size_t)curves[c].eval, NULL);
        add_curve(out, curves[c].key, curves[c].title, all);
        known = known || !strcmp(metric, curves[c].key);
    }
    if (!known) {
        json_t *all = json_array();
        add_evals(&l, all, SIZE_MAX, metric);
        add_curve(out, metric, metric, all);
    }
    free(l.keep);
    free(l.x);
    free(l.y);
    return out;
}
