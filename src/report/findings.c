/* findings.h. Thresholds stand beside the finding that uses them. */
#include <math.h>
#include <stdio.h>

#include "report/findings.h"
#include "report/findings_course.h"
#include "report/findings_labels.h"
#include "report/findings_limits.h"
#include "report/findings_scores.h"
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

/* The first step after `step`, of a history whose steps rise. */
static size_t step_after(const vkt_history *h, uint64_t step)
{
    size_t low = 0, high = h->n_steps;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (h->steps[mid].step <= step)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Median training loss of the steps in (from, to]. */
static double loss_between(const vkt__evidence *e, uint64_t from, uint64_t to)
{
    size_t a = step_after(e->h, from), b = VKT_MAX(a, step_after(e->h, to));
    double *v = vkt__alloc((b - a + 1) * sizeof *v);
    for (size_t i = a; i < b; i++) v[i - a] = e->h->steps[i].loss;
    double m = vkt__median(v, b - a);
    free(v);
    return m;
}

/* Mean of the series' values [from, to). */
static double mean(const double *v, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++) sum += v[i];
    return sum / (double)(to - from);
}

/* Spread of the values around a smooth curve, from what neighbours differ by: robust, or with what
 * lies far off too. */
static double jitter(const double *v, size_t n, bool robust)
{
    double *d = vkt__alloc((n + 1) * sizeof *d);
    for (size_t i = 0; i + 1 < n; i++) d[i] = v[i + 1] - v[i];
    double trend = n > 1 ? vkt__median(d, n - 1) : 0;
    double squares = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        d[i] = fabs(d[i] - trend);
        squares += d[i] * d[i];
    }
    double sd =
        n < 3
            ? 0
            : (robust ? 1.4826 * vkt__median(d, n - 1) : sqrt(squares / (double)(n - 1))) / sqrt(2);
    free(d);
    return sd;
}

/* How far the metric came, from the first evaluation to the best. */
static double gain(const vkt__evidence *e, const series *s)
{
    double best = s->v[0];
    for (size_t i = 1; i < s->n; i++)
        if (e->metric_sign * (s->v[i] - best) > 0) best = s->v[i];
    return fabs(best - s->v[0]);
}

/* ---- the findings ---- */

/* Updates that were not made, or a loss that rises while it should fall; not where another finding
 * names the cause. */
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
    vkt__rise r = vkt__course_rise(e);
    vkt__str other = { 0 };
    bool by_decay = r.rises && isfinite(r.by) && vkt__find_decay(e, &other);
    vkt__str_finish(&other);
    if (!r.rises || by_decay) return false;
    return say(text,
               "training loss rises by %.3g between steps %llu and %llu, where it should fall: try "
               "`vktrain study lr`, then warmup, clipping, and only then a lower learning rate",
               r.by, (unsigned long long)e->h->steps[r.from].step,
               (unsigned long long)e->h->steps[r.to].step);
}

/* The lowest of many evaluations lies below the others by chance, too: so far below the last ones,
 * in standard deviations of the noise between neighbours, it rarely does. */
#define BEYOND_CHANCE 4

/* Over the later half, or over all evaluations since `from`, because the first fall is not noise.
 */
static double late_jitter(const series *s, size_t from)
{
    from = VKT_MIN(from, s->n / 2);
    return jitter(s->v + from, s->n - from, false);
}

static bool labels_shuffled(const vkt__evidence *e)
{
    vkt__str text = { 0 };
    bool found = vkt__find_shuffled_labels(e, &text);
    vkt__str_finish(&text);
    return found;
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
        found = low + 2 < n && by > 0.1 * (s.v[0] - s.v[low]) && by > 0.03 * s.v[low] &&
                now < then && by > BEYOND_CHANCE * late_jitter(&s, low) && !labels_shuffled(e);
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

/* What the end of such a run is worth is said by the finding that names its cause. */
static bool said_otherwise(const vkt__evidence *e)
{
    vkt__str text = { 0 };
    bool found = instability(e, &text) || vkt__find_decay(e, &text) || vkt__find_chance(e, &text) ||
                 vkt__find_shuffled_labels(e, &text);
    vkt__str_finish(&text);
    return found;
}

/* Whether the rate ends below half of its highest. */
static bool decays(const vkt_history *h)
{
    double most = 0;
    for (size_t i = 0; i < h->n_steps; i++) most = fmax(most, h->steps[i].lr);
    return h->n_steps && h->steps[h->n_steps - 1].lr < most / 2;
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
        found = lost > 0.1 * gained && lost > 0.01 * fabs(s.v[best]) &&
                lost > BEYOND_CHANCE * late_jitter(&s, best) && !said_otherwise(e);
        if (found)
            say(text,
                "the best checkpoint is not the last: validation %s was %.4g at step %llu and %.4g "
                "at the end (step %llu): the run is longer than necessary%s",
                e->metric, s.v[best], (unsigned long long)s.step[best], s.v[n - 1],
                (unsigned long long)s.step[n - 1],
                decays(e->h) ? "" : ", or the learning rate should decay towards the end");
    }
    series_finish(&s);
    return found;
}

/* The last quarter of the evaluations is better than the quarter before, by a twentieth of the
 * whole gain and by three standard errors. */
static bool still_improving(const vkt__evidence *e, vkt__str *text)
{
    series s = evaluations(e, e->metric);
    size_t n = s.n, q = n / 4;
    bool found = false;
    if (n >= 8) {
        double before = mean(s.v, n - 2 * q, n - q), last = mean(s.v, n - q, n),
               by = e->metric_sign * (last - before), all = gain(e, &s),
               error = jitter(s.v + n - 2 * q, 2 * q, false) * sqrt(2 / (double)q);
        found = by > 0.05 * all && by > 3 * error && all > 0;
        if (found)
            say(text,
                "validation %s was still improving when the run ended: %.4g over steps %llu to "
                "%llu, %.4g over steps %llu to %llu, %.0f%% of all that it gained: raise "
                "train.steps",
                e->metric, before, (unsigned long long)s.step[n - 2 * q],
                (unsigned long long)s.step[n - q - 1], last, (unsigned long long)s.step[n - q],
                (unsigned long long)s.step[n - 1], 100 * by / all);
    }
    series_finish(&s);
    return found;
}

/* Late in the run the metric jumps from one evaluation to the next by a twentieth of its whole
 * gain, and by a twentieth of the loss, or one point of a share. */
static bool noisy(const vkt__evidence *e, vkt__str *text)
{
    series s = evaluations(e, e->metric);
    size_t n = s.n, half = n / 2, lag;
    bool found = false;
    if (n >= 16 && vkt__periodicity(s.v, n, &lag) <= 0.66) {
        double sd = jitter(s.v + half, n - half, true),
               level = fabs(vkt__median(s.v + half, n - half));
        bool share = e->metric_sign > 0;
        found = sd > 0.05 * gain(e, &s) && sd > (share ? 0.01 : 0.05 * level) && !said_otherwise(e);
        /* What the number of examples alone explains, of a share of right ones. */
        uint64_t examples = e->h->evals[0].n;
        double sampling = !strcmp(e->metric, "accuracy") && examples
                              ? sqrt(fmax(level * (1 - level), 0) / (double)examples)
                              : 0;
        if (found)
            say(text,
                "validation %s varies by %.2g (standard deviation) from one evaluation to the next "
                "in the second half of the run, so smaller differences between runs mean nothing: "
                "%s",
                e->metric, sd,
                sampling > 0.7 * sd
                    ? "there are too few validation examples, raise data.valid_fraction"
                : decays(e->h)
                    ? "raise train.batch, average the weights (train.ema), or evaluate more "
                      "examples"
                    : "let the learning rate decay towards the end (schedule.kind), raise "
                      "train.batch, average the weights (train.ema), or evaluate more examples");
    }
    series_finish(&s);
    return found;
}

/* More than a tenth of the time between the first and last step went into waiting for data. Less
 * than a second says nothing. */
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
    if (span < 1 || waited <= 0.1 * span) return false;
    waited = fmin(waited, span);
    vkt__str_printf(text,
                    "%.0f%% of the training time (%.3g of %.3g s) was spent waiting for data: ",
                    100 * waited / span, waited, span);
    if (e->workers < VKT_MAX_SLOTS)
        vkt__str_printf(text, "raise data.workers (now %u), or ", e->workers);
    return say(text, "store the data preprocessed (`vktrain pack`)");
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

/* A period in the validation loss with a correlation above 0.66 once the trend is taken out; or one
 * in the training loss. */
static bool periodicity(const vkt__evidence *e, vkt__str *text)
{
    enum { WINDOWS = 240 };
    size_t lag;
    series s = evaluations(e, NULL);
    double strength = s.n >= 16 ? vkt__periodicity(s.v, s.n, &lag) : 0,
           by_epoch = vkt__course_by_epoch(e);
    bool ordered = by_epoch > VKT__ORDERED, found = strength > 0.66 && !ordered;
    if (ordered)
        say(text,
            "training loss goes round with the epoch, every %.4g steps: the place in the epoch "
            "explains %.0f%% of how it varies, so the examples come in the same order each time, "
            "like beside like: shuffle them (data.sampling shuffle)",
            e->steps_per_epoch, 100 * by_epoch);
    if (found)
        say(text,
            "validation loss is periodic, with a period of %llu steps (correlation %.2f): check "
            "whether the training examples are shuffled, and whether some are also in the "
            "validation set",
            (unsigned long long)(lag * (s.step[1] - s.step[0])), strength);
    series_finish(&s);
    if (found || ordered || e->h->n_steps < 4 * WINDOWS) return found || ordered;
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
               e->steps_per_epoch > 0 &&
                       fabs((double)period - e->steps_per_epoch) <= 2 * (double)width
                   ? ", one epoch"
                   : "");
}

/* Of numbers, by the mean absolute error, whose standard error is about its value by the root of n:
 * that of so few examples is off by half, or it differs by a quarter and by four of them. */
static bool skewed_numbers(const vkt__evidence *e, const vkt_history_eval *x, vkt__str *text)
{
    enum { FEW = 50 };
    if (!(e->full_mae > 0) || !(x->mae > 0)) return false;
    double by = fabs(log(x->mae / e->full_mae)), error = 1 / sqrt((double)x->n);
    bool few = x->n < FEW && by > log(1.5), skewed = by > fmax(log(1.25), 4 * error);
    if (!few && !skewed) return false;
    return say(text,
               "the %llu examples evaluated during training do not represent the full validation "
               "set: mean absolute error %.4g against %.4g%s: raise eval.sample",
               (unsigned long long)x->n, x->mae, e->full_mae, skewed ? "" : ", as so few can't");
}

/* A sampled evaluation and the full one of the same checkpoint differ by more than three standard
 * errors of the sample. */
static bool sample_skew(const vkt__evidence *e, vkt__str *text)
{
    if (!e->sample) return false;
    for (size_t i = 0; i < e->h->n_evals; i++) {
        const vkt_history_eval *x = &e->h->evals[i];
        if (x->step != e->best_step || strcmp(x->split, e->h->evals[0].split) || !x->n) continue;
        if (isnan(e->full_accuracy)) return skewed_numbers(e, x, text);
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
    const char *name = least < e->n_class_names ? e->class_names[least] : NULL;
    vkt__str_printf(
        text, "%zu of %u classes %s too few validation examples to measure an improvement: ", rare,
        x->n_classes, rare == 1 ? "has" : "have");
    if (name)
        vkt__str_printf(text, "class '%s' has ", vkt__show(name).s);
    else
        vkt__str_printf(text, "class number %zu has ", least);
    if (!n) return say(text, "none: raise data.valid_fraction, or collect more data");
    return say(text,
               "%llu, so that one example changes its accuracy by %.0f points; compare the number "
               "of correct examples instead",
               (unsigned long long)n, 100 / (double)n);
}

/* Validation or test examples that training has too. A handful are twins by chance, as any small
 * table has them; more than a hundredth of what judges the run is not. */
static bool overlap(const vkt__evidence *e, vkt__str *text)
{
    bool equal = e->n_shared >= 5 && 100 * e->n_shared > e->n_held,
         near = e->n_near >= 5 && 100 * e->n_near > e->n_held;
    if (equal)
        say(text,
            "%llu of the %llu validation and test examples are also in the training set, so "
            "validation and test results are too good: data.duplicates=drop leaves them out (the "
            "first lines of the run's output name some)",
            (unsigned long long)e->n_shared, (unsigned long long)e->n_held);
    if (near)
        say(text,
            "%sabout %llu of the %llu validation and test examples nearly equal a training "
            "example, far nearer than others lie, so validation and test results are too good: "
            "put copies of an original into one split (data.group), or remove them (the first "
            "lines of the run's output name a pair)",
            equal ? "; " : "", (unsigned long long)e->n_near, (unsigned long long)e->n_held);
    return equal || near;
}

static const vkt__finding findings[] = {
    { "instability", "Unstable training", instability },
    { "weight-decay", "Weight decay is too strong", vkt__find_decay },
    { "at-chance", "No better than guessing", vkt__find_chance },
    { "overlap", "Validation overlaps training", overlap },
    { "test-differs", "The test result contradicts validation", vkt__find_test_differs },
    { "surer-than-right", "Surer than right", vkt__find_surer_than_right },
    { "doubtful-labels", "Labels that are probably wrong", vkt__find_doubtful_labels },
    { "shuffled-labels", "A part of the labels belongs to other rows", vkt__find_shuffled_labels },
    { "never-right", "Classes that are never right", vkt__find_never_right },
    { "held-back", "Regularisation holds training back", vkt__find_held_back },
    { "input-bound", "Waiting for data", input_bound },
    { "clipped", "Clipped too often", clipped_too_much },
    { "overfitting", "Overfitting", overfitting },
    { "best-not-last", "The best checkpoint is not the last", best_not_last },
    { "improving", "Still improving at the end", still_improving },
    { "noisy", "The metric varies from step to step", noisy },
    { "periodicity", "Periodic metric", periodicity },
    { "sample-skew", "The evaluated sample is not representative", sample_skew },
    { "rare-class", "Too few examples of a class", rare_class },
};

const vkt__finding *vkt__findings(size_t *n)
{
    *n = VKT_COUNT(findings);
    return findings;
}
