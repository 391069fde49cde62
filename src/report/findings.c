/* findings.h. Thresholds stand beside the finding that uses them. */
#include <math.h>
#include <stdio.h>

#include "report/findings.h"
#include "runs/curve.h"

static bool say(vkt__str *text, const char *fmt, ...) VKT_PRINTF(2, 3);
static bool say(vkt__str *text, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(text, fmt, ap);
    va_end(ap);
    return true;
}

/* ---- series out of the history ---- */

typedef struct series {
    double *v;
    uint64_t *step;
    size_t n;
} series;

static void series_finish(series *s)
{
    free(s->v);
    free(s->step);
}

/* One value per evaluation of the split that selects: the first one's. metric NULL: the loss. */
static series evaluations(const vkt__evidence *e, const char *metric)
{
    const vkt_history *h = e->h;
    series s = { .v = vkt__alloc((h->n_evals + 1) * sizeof *s.v),
                 .step = vkt__alloc((h->n_evals + 1) * sizeof *s.step) };
    for (size_t i = 0; i < h->n_evals; i++) {
        const vkt_history_eval *x = &h->evals[i];
        double v = metric ? vkt_history_metric(x, metric) : x->loss;
        if (strcmp(x->split, h->evals[0].split) || isnan(v)) continue;
        if (s.n && x->step <= s.step[s.n - 1]) continue; /* the run's conclusion */
        s.step[s.n] = x->step;
        s.v[s.n++] = v;
    }
    return s;
}

static series losses(const vkt__evidence *e)
{
    const vkt_history *h = e->h;
    series s = { .v = vkt__alloc((h->n_steps + 1) * sizeof *s.v), .n = h->n_steps };
    for (size_t i = 0; i < h->n_steps; i++) s.v[i] = h->steps[i].updated ? h->steps[i].loss : NAN;
    return s;
}

/* Median training loss of the steps in (from, to]. */
static double loss_between(const vkt__evidence *e, uint64_t from, uint64_t to)
{
    size_t a = 0, b;
    while (a < e->h->n_steps && e->h->steps[a].step <= from) a++;
    for (b = a; b < e->h->n_steps && e->h->steps[b].step <= to;) b++;
    double *v = vkt__alloc((b - a + 1) * sizeof *v);
    for (size_t i = a; i < b; i++) v[i - a] = e->h->steps[i].loss;
    double m = vkt__median(v, b - a);
    free(v);
    return m;
}

/* ---- the findings ---- */

/* Updates that were not made, or a loss that rises while it should fall (curve.h). */
static bool instability(const vkt__evidence *e, vkt__str *text)
{
    size_t skipped = 0;
    uint64_t first = 0;
    for (size_t i = e->h->n_steps; i-- > 0;)
        if (!e->h->steps[i].updated) skipped++, first = e->h->steps[i].step;
    if (skipped)
        return say(text,
                   "%zu of %zu updates had NaN or Inf in the loss or gradient, the first at step "
                   "%llu: lower optim.lr, or try schedule.warmup or optim.clip",
                   skipped, e->h->n_steps, (unsigned long long)first);
    series s = losses(e);
    vkt__rise r = vkt__curve_rise(s.v, s.n);
    series_finish(&s);
    if (!r.rises) return false;
    return say(text,
               "training loss rises by %.3g between steps %llu and %llu, where it should fall: try "
               "`vktrain study lr`, then warmup, clipping, and only then a lower learning rate",
               r.by, (unsigned long long)e->h->steps[r.from].step,
               (unsigned long long)e->h->steps[r.to].step);
}

/* Validation loss ends above its lowest point by a tenth of its whole fall, and training loss fell
 * on in the meantime. */
static bool overfitting(const vkt__evidence *e, vkt__str *text)
{
    series s = evaluations(e, NULL);
    size_t low = 0, n = s.n;
    bool found = false;
    for (size_t i = 1; i < n; i++)
        if (s.v[i] < s.v[low]) low = i;
    if (n >= 4 && low + 1 < n) {
        /* The end by two evaluations: one may be an accident. */
        double end = (s.v[n - 1] + s.v[n - 2]) / 2, by = end - s.v[low];
        uint64_t back = s.step[1] - s.step[0];
        double then = loss_between(e, s.step[low] - VKT_MIN(back, s.step[low]), s.step[low]),
               now = loss_between(e, s.step[n - 1] - back, s.step[n - 1]);
        found = low + 2 < n && by > 0.1 * (s.v[0] - s.v[low]) && by > 0.03 * s.v[low] && now < then;
        if (found)
            say(text,
                "validation loss was lowest at step %llu (%.4g) and ends at %.4g, while training "
                "loss kept falling from %.4g to %.4g: try more regularisation (dropout, weight "
                "decay, label smoothing), more data, or fewer steps; the best checkpoint is kept",
                (unsigned long long)s.step[low], s.v[low], s.v[n - 1], then, now);
    }
    series_finish(&s);
    return found;
}

/* The metric that selects ends worse than its best by a tenth of what was gained. */
static bool best_not_last(const vkt__evidence *e, vkt__str *text)
{
    series s = evaluations(e, e->metric);
    size_t best = 0, n = s.n;
    bool found = false;
    for (size_t i = 1; i < n; i++)
        if (e->metric_sign * (s.v[i] - s.v[best]) > 0) best = i;
    if (n >= 4 && best + 2 < n) {
        double lost = e->metric_sign * (s.v[best] - s.v[n - 1]), gained = fabs(s.v[best] - s.v[0]);
        found = lost > 0.1 * gained && lost > 0.01 * fabs(s.v[best]);
        if (found)
            say(text,
                "the best checkpoint is not the last: validation %s was %.4g at step %llu and %.4g "
                "at the end (step %llu): the run is longer than necessary, or the learning rate "
                "should decay towards the end",
                e->metric, s.v[best], (unsigned long long)s.step[best], s.v[n - 1],
                (unsigned long long)s.step[n - 1]);
    }
    series_finish(&s);
    return found;
}

/* More than a tenth of the time between the first and last step went into waiting for data. */
static bool input_bound(const vkt__evidence *e, vkt__str *text)
{
    const vkt_history *h = e->h;
    double waited = 0, evaluating = 0;
    if (h->n_steps < 20) return false;
    for (size_t i = 1; i < h->n_steps; i++)
        if (h->steps[i].input_wait > 0) waited += h->steps[i].input_wait;
    /* Those after the last step are not within the span. */
    double until = 0;
    for (size_t i = 0, k = 0; i < h->n_evals; i++) {
        while (k < h->n_steps && h->steps[k].step < h->evals[i].step) k++;
        if (k + 1 >= h->n_steps) break;
        if (h->steps[k].step != h->evals[i].step) continue;
        double from = fmax(h->steps[k].seconds, until);
        evaluating += fmax(h->evals[i].seconds - from, 0);
        until = fmax(h->evals[i].seconds, until);
    }
    double span = h->steps[h->n_steps - 1].seconds - h->steps[0].seconds - evaluating;
    if (!(span > 0) || waited <= 0.1 * span) return false;
    return say(text,
               "%.0f%% of the training time (%.3g of %.3g s) was spent waiting for data: raise "
               "data.workers (now %u), or store the data preprocessed (`vktrain pack`)",
               100 * waited / span, waited, span, e->workers);
}

static bool clipped_too_much(const vkt__evidence *e, vkt__str *text)
{
    size_t n = 0, updated = 0;
    if (!(e->clip > 0)) return false;
    double *norm = vkt__alloc((e->h->n_steps + 1) * sizeof *norm);
    for (size_t i = 0; i < e->h->n_steps; i++)
        if (e->h->steps[i].updated) {
            norm[updated++] = e->h->steps[i].grad_norm;
            n += e->h->steps[i].clip < 1;
        }
    double p90 = vkt__quantile(norm, updated, 0.9);
    free(norm);
    if (updated < 20 || 2 * n <= updated) return false;
    return say(text,
               "%.0f%% of the updates were clipped at %.4g, which acts like a lower learning rate: "
               "lower optim.lr, or raise optim.clip to the 90th percentile of the norm, %.4g",
               100 * (double)n / (double)updated, e->clip, p90);
}

/* A period in the evaluations that explains two thirds of what is left after the trend, and is of a
 * size that matters; or one of an epoch in the training loss. */
static bool periodicity(const vkt__evidence *e, vkt__str *text)
{
    enum { WINDOWS = 240 };
    size_t lag;
    series s = evaluations(e, NULL);
    double strength = s.n >= 16 ? vkt__periodicity(s.v, s.n, &lag) : 0;
    bool found = strength > 0.66;
    if (found)
        say(text,
            "validation loss is periodic, with a period of %llu steps (correlation %.2f): check "
            "whether the training examples are shuffled, and whether some are also in the "
            "validation set",
            (unsigned long long)(lag * (s.step[1] - s.step[0])), strength);
    series_finish(&s);
    if (found || e->h->n_steps < 4 * WINDOWS) return found;
    double v[WINDOWS];
    uint64_t last = e->h->steps[e->h->n_steps - 1].step, width = last / WINDOWS;
    for (size_t i = 0; i < WINDOWS; i++) v[i] = loss_between(e, i * width, (i + 1) * width);
    /* The first fall is no period. */
    strength = vkt__periodicity(v + WINDOWS / 4, WINDOWS - WINDOWS / 4, &lag);
    if (strength <= 0.66) return false;
    uint64_t period = lag * width;
    return say(text,
               "training loss is periodic, with a period of about %llu steps (correlation %.2f)%s: "
               "check whether the examples are shuffled",
               (unsigned long long)period, strength,
               e->steps_per_epoch && period + 2 * width >= e->steps_per_epoch &&
                       period <= e->steps_per_epoch + 2 * width
                   ? ", one epoch"
                   : "");
}

/* A sampled evaluation and the full one of the same checkpoint differ by more than three standard
 * errors of the sample. */
static bool sample_skew(const vkt__evidence *e, vkt__str *text)
{
    if (!e->sample || isnan(e->full_accuracy)) return false;
    for (size_t i = 0; i < e->h->n_evals; i++) {
        const vkt_history_eval *x = &e->h->evals[i];
        if (x->step != e->best_step || strcmp(x->split, e->h->evals[0].split) || !x->n) continue;
        double p = e->full_accuracy, error = sqrt(fmax(p * (1 - p), 1e-4) / (double)x->n);
        if (fabs(x->accuracy - p) <= 3 * error) return false;
        return say(
            text,
            "the %llu examples evaluated during training do not represent the full validation set: "
            "accuracy %.2f%% against %.2f%%, %.1f standard errors apart: raise eval.sample",
            (unsigned long long)x->n, 100 * x->accuracy, 100 * p, fabs(x->accuracy - p) / error);
    }
    return false;
}

/* A class with fewer than ten validation examples and less than half of the usual number: a gain of
 * one example is then a tenth of its accuracy. */
static bool rare_class(const vkt__evidence *e, vkt__str *text)
{
    if (!e->h->n_evals || !e->h->evals[0].n_classes) return false;
    const vkt_history_eval *x = &e->h->evals[0];
    double *v = vkt__alloc(x->n_classes * sizeof *v);
    size_t rare = 0, least = 0;
    for (size_t k = 0; k < x->n_classes; k++) v[k] = (double)x->class_count[k];
    double usual = vkt__median(v, x->n_classes);
    for (size_t k = 0; k < x->n_classes; k++) {
        rare += v[k] < 10 && v[k] < usual / 2;
        if (v[k] < v[least]) least = k;
    }
    free(v);
    if (!rare) return false;
    uint64_t n = x->class_count[least];
    if (!n)
        return say(text,
                   "%zu of %u classes have too few validation examples to measure an improvement; "
                   "class %zu has none: raise data.valid_fraction, or collect more data",
                   rare, x->n_classes, least);
    return say(text,
               "%zu of %u classes have too few validation examples to measure an improvement: "
               "class %zu has %llu, so that one example changes its accuracy by %.0f points; "
               "compare the number of correct examples instead",
               rare, x->n_classes, least, (unsigned long long)n, 100 / (double)n);
}

/* Validation or test examples that training has too. A handful are twins by chance, as any small
 * table has them; more than a hundredth of what judges the run is not. */
static bool overlap(const vkt__evidence *e, vkt__str *text)
{
    if (e->n_shared < 5 || 100 * e->n_shared <= e->n_held) return false;
    return say(text,
               "%llu of the %llu validation and test examples are also in the training set, so "
               "validation and test results are too good: remove them from one of the sets (the "
               "first lines of the run's output name some)",
               (unsigned long long)e->n_shared, (unsigned long long)e->n_held);
}

static const vkt__finding findings[] = {
    { "instability", "Unstable training", instability },
    { "overlap", "Validation overlaps training", overlap },
    { "input-bound", "Waiting for data", input_bound },
    { "clipped", "Clipped too often", clipped_too_much },
    { "overfitting", "Overfitting", overfitting },
    { "best-not-last", "The best checkpoint is not the last", best_not_last },
    { "periodicity", "Periodic metric", periodicity },
    { "sample-skew", "The evaluated sample is not representative", sample_skew },
    { "rare-class", "Too few examples of a class", rare_class },
};

const vkt__finding *vkt__findings(size_t *n)
{
    *n = VKT_COUNT(findings);
    return findings;
}
