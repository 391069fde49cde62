/* The learning rate: real short runs, log-spaced, around the recipe's own; the best rate, lr*, by
 * the runs around the best one; then whether training is stable just above it (the whole budget)
 * and early at twice it (evaluated after each step, since early instability hides between rare
 * evaluations). */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/study_run.h"
#include "runs/curve.h"

/* "Slightly above lr*", and how many steps of the early check (the playbook's "about 500"). */
#define ABOVE 1.5
enum { EARLY_STEPS = 500 };
/* Rates of the sweep that tell of late instability, in multiples of lr* (the playbook: "5 to 10").
 */
#define LATE 10.5
/* Points of the sweep up to this factor from the best one say where lr* lies; so near to a point
 * that was tried it is that one. */
#define FIT_WITHIN 5.5
#define FIT_SAME 1.1
/* Examples of each of its evaluations: a loss that rises shows in these, and there are hundreds. */
enum { EARLY_SAMPLE = 512 };

static const char playbook[] =
    "The learning rate is the first metaparameter to tune, by real runs. Any model becomes "
    "unstable if the learning rate is large enough; that is a problem only if it forces the "
    "learning rate to be too small: if training loss rises just above lr*, curing the instability "
    "should help. Try, in this order: warmup, gradient clipping, normalisation and "
    "zero-initialised residual branches, another optimizer, and only then a lower learning rate.";

typedef struct point {
    double lr;
    vkt_study_trial t;
} point;

typedef struct sweep {
    point *points;
    size_t n, cap;
} sweep;

/* A run at each of n rates. */
static vkt_status try_rates(vkt_study *s, sweep *w, const char *group, const double *lr, size_t n)
{
    vkt__trial_spec *spec = vkt__alloc((n + 1) * sizeof *spec);
    const char **set = vkt__alloc((n + 1) * sizeof *set);
    size_t first;
    for (size_t i = 0; i < n; i++) {
        set[i] = vkt__study_value(s, "optim.lr", lr[i]);
        spec[i] = (vkt__trial_spec) { .group = group, .set = &set[i], .n_set = 1 };
    }
    vkt_status st = vkt__study_trials(s, spec, n, &first);
    for (size_t i = 0; i < n; i++) {
        w->points = vkt__grow(w->points, w->n, &w->cap, sizeof *w->points);
        w->points[w->n++] =
            (point) { vkt__number_or_nan(strchr(set[i], '=') + 1), s->trials[first + i] };
    }
    free(spec);
    free((void *)set);
    return st;
}

static int by_lr(const void *a, const void *b)
{
    double x = ((const point *)a)->lr, y = ((const point *)b)->lr;
    return (x > y) - (x < y);
}

/* With `steady` only of those whose training loss did not rise. */
static size_t find_best(const vkt_study *s, const sweep *w, bool steady)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < w->n; i++)
        if (w->points[i].t.state == VKT_TRIAL_DONE && !isnan(w->points[i].t.best) &&
            !(steady && w->points[i].t.rise > 0) &&
            (best == SIZE_MAX || vkt__study_better(s, w->points[i].t.best, w->points[best].t.best)))
            best = i;
    return best;
}

/* A rate at which training loss rises is no lr*, where there is another: its result is luck that
 * another seed need not have. */
static size_t find_star(const vkt_study *s, const sweep *w)
{
    size_t best = find_best(s, w, true);
    return best == SIZE_MAX ? find_best(s, w, false) : best;
}

/* What such a rate reached is worth a word. */
static void say_better_unstable(vkt_study *s, const sweep *w, size_t star)
{
    size_t best = find_best(s, w, false);
    const point *b = &w->points[best], *p = &w->points[star];
    if (!(b->t.rise > 0) || !vkt__study_better(s, b->t.best, p->t.best)) return;
    vkt__study_advise(s,
                      "%.4g reached %s %.4g, lr* %.4g, but training loss rises by %.3g there while "
                      "it should fall: not recommended before that is cured",
                      b->lr, s->metric, b->t.best, p->t.best, b->t.rise);
}

static void fill_table(vkt_study *s, const sweep *w, size_t best)
{
    const char *const columns[] = { "optim.lr", "final train loss",
                                    vkt__study_text(s, "best valid %s", s->metric), "at step",
                                    "training" };
    vkt__study_columns(s, columns, VKT_COUNT(columns));
    for (size_t i = 0; i < w->n; i++) {
        const vkt_study_trial *t = &w->points[i].t;
        vkt__study_cell(s, "%.4g", w->points[i].lr);
        vkt__study_cell_number(s, t->final_loss);
        vkt__study_cell_number(s, t->best);
        vkt__study_cell(s, "%llu", (unsigned long long)t->best_step);
        vkt__study_cell(s, "%s%s", i == best ? "lr*  " : "",
                        vkt__trial_word(t, w->points[best].t.final_loss));
    }
}

/* ---- lr*, from the sweep around its best point ---- */

/* Sums of w x^k and w x^k y of points (x, y) with weights w, for a parabola. */
typedef struct moments {
    double x[5], y[3];
} moments;

/* Where the parabola of these sums has its least value; NAN: it has none. By Cramer's rule. */
static double parabola_least(const moments *m)
{
    const double *s = m->x, *t = m->y;
    double minor0 = s[2] * s[4] - s[3] * s[3], minor1 = s[1] * s[4] - s[2] * s[3],
           minor2 = s[1] * s[3] - s[2] * s[2], det = s[0] * minor0 - s[1] * minor1 + s[2] * minor2;
    double b = s[0] * (t[1] * s[4] - s[3] * t[2]) - t[0] * minor1 +
               s[2] * (s[1] * t[2] - t[1] * s[2]),
           c = s[0] * (s[2] * t[2] - t[1] * s[3]) - s[1] * (s[1] * t[2] - t[1] * s[2]) +
               t[0] * minor2;
    return fabs(det) > 1e-9 && c / det > 0 ? -b / (2 * c) : NAN;
}

double vkt__lr_fit(const double *lr, const double *cost, size_t n, size_t best)
{
    moments m = { { 0 }, { 0 } };
    double low = 0, high = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        double x = log(lr[i] / lr[best]), far = fabs(x) / log(FIT_WITHIN);
        if (!(far < 1) || !isfinite(cost[i])) continue;
        double w = pow(1 - far * far * far, 3), power = w;
        for (size_t k = 0; k < 5; k++, power *= x) {
            m.x[k] += power;
            if (k < 3) m.y[k] += power * (cost[i] - cost[best]);
        }
        low = fmin(low, x);
        high = fmax(high, x);
        used++;
    }
    double at = used > 3 && low < 0 && high > 0 ? parabola_least(&m) : NAN;
    return isnan(at) ? NAN : lr[best] * exp(fmin(fmax(at, low), high));
}

/* The best of single runs is so partly by chance: its neighbours tell where the best rate lies, and
 * a run at that rate whether it is as good. */
static vkt_status fit_best(vkt_study *s, sweep *w, size_t *best)
{
    vkt_status st = VKT_OK;
    double *lr = vkt__alloc((w->n + 1) * 2 * sizeof *lr), *cost = lr + w->n, worst = -INFINITY;
    bool logs = s->metric_sign < 0; /* a loss */
    for (size_t i = 0; i < w->n; i++) {
        const vkt_study_trial *t = &w->points[i].t;
        lr[i] = w->points[i].lr;
        cost[i] = t->state == VKT_TRIAL_DONE ? -s->metric_sign * t->best : NAN;
        if (logs) logs = !(cost[i] <= 0);
    }
    for (size_t i = 0; i < w->n && logs; i++) cost[i] = log(cost[i]);
    size_t b = *best;
    double fit = b > 0 && b + 1 < w->n ? vkt__lr_fit(lr, cost, w->n, b) : NAN;
    if (isnan(fit) || fabs(log(fit / lr[b])) < log(FIT_SAME)) goto fail;
    for (size_t i = b - 1; i <= b + 1; i += 2)
        if (isfinite(cost[i])) worst = fmax(worst, cost[i]);
    VKT_TRY(try_rates(s, w, "refine", &fit, 1));
    const vkt_study_trial *t = &w->points[w->n - 1].t;
    double star = w->points[w->n - 1].lr, is = -s->metric_sign * t->best;
    bool good = t->state == VKT_TRIAL_DONE && !(t->rise > w->points[b].t.rise) &&
                (logs ? log(is) : is) <= worst;
    if (!good) star = lr[b];
    qsort(w->points, w->n, sizeof *w->points, by_lr);
    while (*best < w->n && w->points[*best].lr < star) ++*best;
    while (*best > 0 && w->points[*best].lr > star) --*best;
fail:
    free(lr);
    return st;
}

/* Median training loss of the steps after `from`, up to `to`. */
static double loss_between(const vkt_history *h, uint64_t from, uint64_t to)
{
    double *v = vkt__alloc((h->n_steps + 1) * sizeof *v);
    size_t n = 0;
    for (size_t i = 0; i < h->n_steps; i++)
        if (h->steps[i].step > from && h->steps[i].step <= to) v[n++] = h->steps[i].loss;
    double m = vkt__median(v, n);
    free(v);
    return m;
}

vkt__early vkt__early_read(const vkt_history *h)
{
    vkt__early e = { 0 };
    double *v = vkt__alloc((h->n_evals + 1) * sizeof *v);
    for (size_t i = 0; i < h->n_evals; i++) v[i] = h->evals[i].loss;
    vkt__rise r = vkt__curve_rise(v, h->n_evals);
    free(v);
    e.n = h->n_evals;
    if (!r.rises) return e;
    e.from = h->evals[r.from].step;
    e.to = h->evals[r.to].step;
    e.by = r.by;
    /* Where training loss fell on in the meantime it is overfitting. */
    uint64_t width = VKT_MAX(h->n_evals / 25, 5);
    e.rises = r.early || !(loss_between(h, e.to - VKT_MIN(width, e.to), e.to) <
                           loss_between(h, e.from, e.from + width));
    return e;
}

static vkt_status read_early(vkt_study *s, const vkt_study_trial *t, vkt__early *e)
{
    vkt_history *h;
    vkt_status st = vkt_history_load(vkt__study_text(s, "%s/%s", s->dir, t->name), &h);
    if (st != VKT_OK) return st;
    *e = vkt__early_read(h);
    vkt_history_destroy(&h);
    return VKT_OK;
}

/* ---- late instability, from the sweep itself ---- */

bool vkt__late_read(const double *loss, size_t n, vkt__rise *r)
{
    *r = vkt__curve_rise(loss, n);
    /* It fell before, by more than a tenth, so it is not the beginning that is unstable. */
    return r->rises && isfinite(r->by) && r->before > 0.1 * fabs(loss[0]) && r->from > 0;
}

/* The lowest swept rate above lr* whose loss falls and then rises; false: none up to LATE x lr*. */
static vkt_status find_late(vkt_study *s, const sweep *w, double star, bool *late, vkt__rise *r,
                            double *lr)
{
    *late = false;
    for (size_t i = 0; i < w->n && !*late; i++) {
        const point *p = &w->points[i];
        vkt_history *h;
        if (!(p->lr > star && p->lr <= LATE * star) || p->t.state != VKT_TRIAL_DONE) continue;
        vkt_status st = vkt_history_load(vkt__study_text(s, "%s/%s", s->dir, p->t.name), &h);
        if (st != VKT_OK) return st;
        double *v = vkt__alloc((h->n_steps + 1) * sizeof *v);
        for (size_t k = 0; k < h->n_steps; k++)
            v[k] = h->steps[k].updated || h->steps[k].overflow ? h->steps[k].loss : NAN;
        *late = vkt__late_read(v, h->n_steps, r);
        free(v);
        vkt_history_destroy(&h);
        *lr = p->lr;
    }
    return VKT_OK;
}

static void propose(vkt_study *s, double lr)
{
    vkt__study_advise(s, "try these in the playbook's order: (1) warmup: `%s`",
                      vkt__study_of(s, "warmup", vkt__study_text(s, "--unstable-lr %.4g", 2 * lr)));
    vkt__study_advise(s,
                      "(2) gradient clipping: `%s`; (3) normalisation layers if "
                      "there are none, at the end of each residual branch, x + Norm(f(x)), and "
                      "residual branches that are initialised to zero",
                      vkt__study_of(s, "clip", NULL));
    vkt__study_advise(s, "(4) another optimizer (Adam is more stable than momentum); (5) only then "
                         "a lower learning rate");
}

/* Once more at a rate whose loss rises, without weight decay: where it falls then, no cure of
 * instability is what helps. *decay: that it is, or 0. */
static vkt_status try_without_decay(vkt_study *s, double rate, double *decay)
{
    vkt_status st = VKT_OK;
    const vkt_study_trial *t;
    const char *set[] = { vkt__study_value(s, "optim.lr", rate), "optim.weight_decay=0" };
    double now = (double)s->priv->base->optim.weight_decay;
    *decay = 0;
    if (!(now > 0)) return VKT_OK;
    VKT_TRY(vkt__study_trial(s, &(vkt__trial_spec) { "decay", set, VKT_COUNT(set) }, &t));
    if (t->state == VKT_TRIAL_DONE && !(t->rise > 0)) *decay = now;
fail:
    return st;
}

/* The verdict on the region above the rate that is used, which is lr* or the recipe's (`name`). */
static vkt_status check_stability(vkt_study *s, const sweep *w, double lr, const char *name)
{
    vkt_status st = VKT_OK;
    const vkt_study_trial *t;
    uint64_t early = VKT_MIN(s->steps, EARLY_STEPS);
    const char *above = vkt__study_value(s, "optim.lr", ABOVE * lr);
    VKT_TRY(vkt__study_trial(s, &(vkt__trial_spec) { "above", &above, 1 }, &t));
    bool above_rises = t->state == VKT_TRIAL_INFEASIBLE || t->rise > 0;
    double by = t->rise;
    uint64_t sample = s->priv->base->eval_sample;
    if (!sample || sample > EARLY_SAMPLE) sample = VKT_MIN(s->priv->n_valid, EARLY_SAMPLE);
    const char *set[] = { vkt__study_value(s, "optim.lr", 2 * lr),
                          vkt__study_text(s, "train.steps=%llu", (unsigned long long)early),
                          vkt__study_text(s, "eval.sample=%llu", (unsigned long long)sample),
                          "schedule.kind=constant",
                          "schedule.milestones=[]",
                          "eval.every=1" };
    VKT_TRY(vkt__study_trial(s, &(vkt__trial_spec) { "early", set, VKT_COUNT(set), .check = true },
                             &t));
    if (s->priv->desc->dry_run) return VKT_OK;
    bool early_diverges = t->state == VKT_TRIAL_INFEASIBLE;
    vkt__early seen = { 0 };
    VKT_TRY(read_early(s, t, &seen));
    bool early_rises = early_diverges || seen.rises, late;
    vkt__rise rise;
    double late_lr = 0;
    VKT_TRY(find_late(s, w, lr, &late, &rise, &late_lr));
    if (!above_rises && !early_rises)
        vkt__study_advise(s,
                          "stable: training loss falls throughout at %.4g (%g x %s), and "
                          "validation loss does not rise early in %llu steps at %.4g (2 x %s), "
                          "evaluated after each step on %llu examples",
                          ABOVE * lr, ABOVE, name, (unsigned long long)seen.n, 2 * lr, name,
                          (unsigned long long)sample);
    double decay = 0, rate = above_rises ? ABOVE * lr : late_lr;
    if (above_rises || late) VKT_TRY(try_without_decay(s, rate, &decay));
    if (above_rises)
        vkt__study_advise(s,
                          isinf(by) ? "unstable: at %.4g, just above %s, training diverges"
                                    : "unstable: at %.4g, just above %s, training loss rises "
                                      "by %.3g while it should fall",
                          ABOVE * lr, name, by);
    if (early_diverges)
        vkt__study_advise(s, "unstable early: at %.4g (2 x %s) training diverges within %llu steps",
                          2 * lr, name, (unsigned long long)early);
    else if (early_rises)
        vkt__study_advise(s,
                          "unstable early: at %.4g (2 x %s) validation loss rises by %.3g between "
                          "steps %llu and %llu",
                          2 * lr, name, seen.by, (unsigned long long)seen.from,
                          (unsigned long long)seen.to);
    if (late)
        vkt__study_advise(s,
                          "unstable later: at %.4g (%.3g x %s), a rate of the sweep, training "
                          "loss falls by %.3g and then, from about step %zu, rises by %.3g%s",
                          late_lr, late_lr / lr, name, rise.before, rise.from + 1, rise.by,
                          decay > 0
                              ? ""
                              : "; if that is cured, mostly by clipping, a higher learning rate "
                                "may be the best one");
    if (decay > 0)
        vkt__study_advise(s,
                          "the cause is weight decay: without it (optim.weight_decay=0, not %.4g) "
                          "training loss does not rise at %.4g; lower it before anything else, and "
                          "repeat this study",
                          decay, rate);
    else if (above_rises || early_rises || late)
        propose(s, lr);
fail:
    return st;
}

static void find_range(const vkt_study *s, double *low, double *high, uint32_t *points)
{
    const vkt_study_desc *d = s->priv->desc;
    double lr = s->priv->base->schedule.lr;
    *low = d->from ? d->from : lr / 30;
    *high = d->to ? d->to : lr * 30;
    *points = d->points ? d->points : 9;
}

vkt_status vkt__study_lr_check(vkt_study *s)
{
    double low, high;
    uint32_t points;
    if (s->priv->desc->ramp) return vkt__study_ramp_check(s);
    find_range(s, &low, &high, &points);
    if (!(low > 0 && low < high && isfinite(high)))
        return vkt__fail(VKT_E_ARG, "study",
                         "learning rates from %g to %g are not a valid range to sweep: give --from "
                         "and --to, both above 0 (the recipe's learning rate is %g)",
                         low, high, s->priv->base->schedule.lr);
    if (points < 3)
        return vkt__fail(VKT_E_ARG, "study", "--points %u: a sweep needs at least 3", points);
    return VKT_OK;
}

vkt_status vkt__study_lr(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    double lr = s->priv->base->schedule.lr, low, high;
    uint32_t points;
    vkt_status st = VKT_OK;
    sweep w = { 0 };
    if (d->ramp) return vkt__study_ramp(s);
    s->playbook = playbook;
    find_range(s, &low, &high, &points);
    double *rate = vkt__arena_alloc(&s->priv->arena, points * sizeof *rate);
    for (uint32_t i = 0; i < points; i++)
        rate[i] = low * pow(high / low, (double)i / (double)(points - 1));
    VKT_TRY(try_rates(s, &w, "sweep", rate, points));
    if (d->dry_run) {
        s->n_more = 3 + 2 + 2 * d->repeats;
        goto fail;
    }
    size_t best = find_star(s, &w);
    if (best == SIZE_MAX) {
        st = vkt__fail(VKT_E_FAILED, "study",
                       "no learning rate from %g to %g trained without diverging; message of the "
                       "first trial: %s",
                       low, high, w.points[0].t.why ? w.points[0].t.why : "nothing");
        goto fail;
    }
    double centre = w.points[best].lr, ratio = sqrt(pow(high / low, 1.0 / (points - 1)));
    const double between[] = { centre / ratio, centre * ratio };
    VKT_TRY(try_rates(s, &w, "refine", between, VKT_COUNT(between)));
    qsort(w.points, w.n, sizeof *w.points, by_lr);
    best = find_star(s, &w);
    VKT_TRY(fit_best(s, &w, &best));
    double star = w.points[best].lr;
    fill_table(s, &w, best);
    const char *set = vkt__study_value(s, "optim.lr", star);
    bool same = fabs(star / lr - 1) < 1e-3;
    if (same) {
        vkt__study_advise(
            s, "keep the recipe's optim.lr=%.4g: it is the best (lr*) of %zu learning rates", star,
            w.n);
        s->command = vkt__study_command(s, NULL, 0);
    } else {
        VKT_TRY(vkt__study_conclude(s, vkt__study_text(s, "optim.lr=%.4g (lr*)", star), &set, 1));
    }
    say_better_unstable(s, &w, best);
    if (best == 0 || best + 1 == w.n)
        vkt__study_advise(
            s, "lr* is at the end of the range: continue the sweep with --from %.3g --to %.3g",
            star <= low * 1.001 ? star / 30 : star, star <= low * 1.001 ? star : star * 30);
    /* The rate that is used is checked: that another one is stable says little. */
    if (!same && !s->n_apply)
        VKT_TRY(check_stability(s, &w, lr, "the recipe's rate, which is kept"));
    else
        VKT_TRY(check_stability(s, &w, star, "lr*"));
fail:
    free(w.points);
    return st;
}
