/* findings_course.h. Thresholds stand beside what uses them. */
#include <math.h>

#include "report/findings_course.h"
#include "report/findings_scores.h"

static double *losses_of(const vkt_history *h)
{
    double *v = vkt__alloc((h->n_steps + 1) * sizeof *v);
    for (size_t i = 0; i < h->n_steps; i++) v[i] = h->steps[i].updated ? h->steps[i].loss : NAN;
    return v;
}

/* ---- the order of the examples ---- */

/* Deviations from the mean of an epoch around each step, by their place in the epoch. An order that
 * is always the same makes each batch's own difficulty come back, too: parts of several batches
 * hardly have it. */
double vkt__course_by_epoch(const vkt__evidence *e)
{
    enum { PARTS = 8, BATCHES_A_PART = 3, EPOCHS = 4, FEWEST = 100 };
    size_t n = e->h->n_steps, half = (size_t)(e->steps_per_epoch / 2), count[PARTS] = { 0 };
    double part[PARTS] = { 0 }, all = 0, between = 0;
    if (e->steps_per_epoch < PARTS * BATCHES_A_PART || (double)n < EPOCHS * e->steps_per_epoch)
        return 0;
    double *v = losses_of(e->h), *sum = vkt__alloc((n + 1) * sizeof *sum);
    for (size_t i = 0; i < n; i++) sum[i + 1] = sum[i] + v[i];
    size_t from = VKT_MAX(n / 4, half), used = 0; /* the first fall is no order */
    for (size_t i = from; i + half < n && isfinite(sum[n]); i++, used++) {
        double d = v[i] - (sum[i + half + 1] - sum[i - half]) / (double)(2 * half + 1),
               at = fmod((double)i, e->steps_per_epoch) / e->steps_per_epoch;
        size_t k = VKT_MIN((size_t)(at * PARTS), (size_t)PARTS - 1);
        part[k] += d;
        count[k]++;
        all += d * d;
    }
    for (size_t k = 0; k < PARTS; k++)
        if (count[k]) between += part[k] * part[k] / (double)count[k];
    free(v);
    free(sum);
    return used >= FEWEST && all > 0 ? between / all : 0;
}

/* By whole epochs, which an order does not change. */
static vkt__rise rise_of_epochs(const double *v, size_t n, double length)
{
    size_t n_epochs = (size_t)((double)n / length);
    double *u = vkt__alloc((n_epochs + 1) * sizeof *u);
    for (size_t k = 0; k < n_epochs; k++) {
        size_t from = (size_t)((double)k * length), to = (size_t)((double)(k + 1) * length);
        for (size_t i = from; i < to; i++) u[k] += v[i] / (double)(to - from);
    }
    vkt__rise r = vkt__curve_rise(u, n_epochs);
    r.from = (size_t)((double)r.from * length);
    r.to = VKT_MIN((size_t)((double)(r.to + 1) * length), n) - 1;
    free(u);
    return r;
}

/* ---- restarts of the rate ---- */

/* The first step after i whose rate begins again, after it had fallen: a fifth up at once. n: none.
 */
static size_t restart_after(const vkt_history *h, size_t i)
{
    double top = 0;
    for (size_t k = 0; k < h->n_steps; k++) {
        double lr = h->steps[k].lr, last = k ? h->steps[k - 1].lr : lr;
        if (k > i && lr > 1.2 * last && last < 0.8 * top) return k;
        top = fmax(top, lr);
    }
    return h->n_steps;
}

/* Median loss of the steps in [from, to) whose rate is at least `rate`; NAN: there is none. */
static double loss_at_rate(const vkt_history *h, size_t from, size_t to, double rate)
{
    double *v = vkt__alloc((to - from + 1) * sizeof *v), median;
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        if (h->steps[i].lr >= rate) v[n++] = h->steps[i].loss;
    median = vkt__median(v, n);
    free(v);
    return median;
}

/* Over a restart, the loss rises to what it had been at that rate before, or less. */
static bool is_planned(const vkt_history *h, const vkt__rise *r)
{
    size_t at = restart_after(h, r->from), last = at, next;
    if (at > r->to) return false;
    while ((next = restart_after(h, last)) <= r->to) last = next;
    double rate = 0;
    for (size_t i = last; i <= r->to; i++) rate = fmax(rate, h->steps[i].lr);
    double before = loss_at_rate(h, 0, at, 0.8 * rate),
           now = loss_at_rate(h, last, r->to + 1, 0.8 * rate);
    return now <= 1.1 * before;
}

/* The part of a cycle, [from, to), in which the loss should fall: from where it is highest in the
 * first fifth. */
static size_t falls_from(const double *v, size_t from, size_t to)
{
    enum { STEPS = 5 };
    size_t top = from;
    double most = -INFINITY;
    for (size_t i = from; i + STEPS <= from + (to - from) / 5; i += STEPS) {
        double m = vkt__median(v + i, STEPS);
        if (m > most) most = m, top = i;
    }
    return top;
}

static vkt__rise rise_of_cycles(const vkt_history *h, const double *v)
{
    vkt__rise worst = { 0 };
    for (size_t from = 0, to; from < h->n_steps; from = to) {
        to = restart_after(h, from);
        size_t first = from ? falls_from(v, from, to) : 0;
        vkt__rise r = vkt__curve_rise(v + first, to - first);
        if (!r.rises || (worst.rises && r.by <= worst.by)) continue;
        worst = r;
        worst.from += first;
        worst.to += first;
    }
    return worst;
}

vkt__rise vkt__course_rise(const vkt__evidence *e)
{
    double *v = losses_of(e->h);
    size_t n = e->h->n_steps;
    vkt__rise r = vkt__curve_rise(v, n);
    if (r.rises && isfinite(r.by) && vkt__course_by_epoch(e) > VKT__ORDERED)
        r = rise_of_epochs(v, n, e->steps_per_epoch);
    if (r.rises && isfinite(r.by) && is_planned(e->h, &r)) r = rise_of_cycles(e->h, v);
    free(v);
    return r;
}

/* ---- weight decay ---- */

/* Decoupled decay takes rate x decay of each weight a step: a hundredth halves it in 69 steps.
 * Coupled decay is a gradient of decay x weights: it decides where that is half of the loss's own
 * or more, and the weights have shrunk to half of what they were at the run's best. */
bool vkt__find_decay(const vkt__evidence *e, vkt__str *text)
{
    static const double most_a_step = 0.01;
    const vkt_history *h = e->h;
    vkt__str other = { 0 };
    if (!(e->weight_decay > 0)) return false;
    bool trouble = vkt__course_rise(e).rises || vkt__find_chance(e, &other);
    vkt__str_finish(&other);
    if (!trouble) return false;
    double *v = vkt__alloc((h->n_steps + 1) * sizeof *v), rate, norm;
    for (size_t i = 0; i < h->n_steps; i++) v[i] = h->steps[i].lr;
    rate = vkt__median(v, h->n_steps);
    size_t tenth = h->n_steps / 10;
    for (size_t i = 0; i < tenth; i++) {
        const vkt_history_step *s = &h->steps[h->n_steps - tenth + i];
        v[i] = s->updated ? s->grad_norm * fmin(s->clip, 1) : NAN;
    }
    norm = vkt__median(v, tenth);
    free(v);
    double taken = rate * e->weight_decay, pull = e->weight_decay * e->weight_norm;
    bool shrunk = e->weight_norm < 0.5 * e->best_weight_norm;
    if (e->decoupled ? !(taken > most_a_step) : !(pull > 0.5 * norm && shrunk)) return false;
    if (e->decoupled)
        vkt__str_printf(text,
                        "weight decay takes %.3g%% of each weight a step (optim.weight_decay %.3g "
                        "times the rate %.3g), half of it in %.0f steps, faster than most losses "
                        "put back",
                        100 * taken, e->weight_decay, rate, ceil(log(2) / taken));
    else
        vkt__str_printf(text,
                        "weight decay pulls as hard as the loss: the weights' norm fell from %.3g "
                        "at step %llu, the best one, to %.3g, and optim.weight_decay %.3g times "
                        "that is %.3g, where the gradient's norm is %.3g",
                        e->best_weight_norm, (unsigned long long)e->best_step, e->weight_norm,
                        e->weight_decay, pull, norm);
    vkt__str_printf(text, ": lower optim.weight_decay first (--set optim.weight_decay=0 shows "
                          "whether it is the cause); warmup and clipping do not make up for it");
    return true;
}
