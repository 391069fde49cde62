/* The playbook's order in one study, within a time: a first look, the learning rate, width and
 * regularisation by successive halving, fresh seeds for the best of them, and one longer run that
 * is to be used. Every stage has a share of the time; what it takes is read from the trials that
 * have ended, so that a study that is resumed plans the same. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/study_run.h"

enum { FEWEST_STEPS = 30, EVALUATIONS = 27, MOST_CANDIDATES = 60, MOST_FINALISTS = 3 };
/* The time until which each stage begins trials, as a share of all; the last has the rest. A trial
 * takes at most this part of it. */
#define LOOK_SHARE 0.1
#define RATES_UNTIL 0.3
#define SEARCH_UNTIL 0.6
#define SEEDS_UNTIL 0.85
#define TRIAL_SHARE (1.0 / 40)
/* A best checkpoint before this share of a trial's steps: it had too many; after the other: few. */
#define EARLY_BEST 0.6
#define LATE_BEST 0.75
#define LONGER 8

static const char playbook[] =
    "Begin with a simple configuration that is clearly better than chance. Tune the learning rate "
    "first, then few others together, and change the plan as results come in: short runs allow "
    "more experiments, long ones tell more. Before a change is adopted, repeat it with other "
    "seeds. Last, train longer. The batch size is left alone: it governs speed.";

typedef struct plan {
    vkt_study *s;
    double budget, start, step;   /* seconds: of all; of a trial without its steps; of a step */
    uint64_t full, wanted, steps; /* the recipe's; that it seems to need; of a trial */
    size_t first_look;            /* its best trial */
    double lr;                    /* lr* */
    size_t at_lr;                 /* the trial with it, all else as in the recipe */
    vkt__settings finalist[MOST_FINALISTS + 1]; /* the last is the recipe */
    size_t n_finalists, winner;
    double median, recipe_median; /* the winner's over its seeds */
    bool late;                    /* its best checkpoints are near the end */
    size_t best_seed;             /* its best trial of those */
    bool seeds_cut;               /* seeds were begun, and none ended in time for all */
    bool left_out;                /* there was no time for a stage, or for its end */
    size_t result;                /* trial to be used */
} plan;

static double cost(const plan *p, uint64_t steps)
{
    return p->start + p->step * (double)steps;
}

/* What a trial of a stage adds to the time that is spent. */
static double each(const plan *p)
{
    return cost(p, p->steps) / (double)VKT_MAX(p->s->priv->desc->n_devices, 1);
}

/* Steps of a trial that takes so long. */
static double affords(const plan *p, double seconds)
{
    return p->step > 0 ? fmax((seconds - p->start) / p->step, 0) : (double)p->full;
}

/* The settings, then the length that all trials of a stage have. */
static vkt__trial_spec spec(const plan *p, const char *group, const vkt__settings *of,
                            uint64_t steps)
{
    vkt_study *s = p->s;
    /* None but the last takes the time of the last, and that ends with the time. */
    double until = p->budget * (strcmp(group, "final") ? SEEDS_UNTIL : 1);
    const char **set = vkt__arena_alloc(&s->priv->arena, (of->n + 3) * sizeof *set);
    /* The time of a step is read from those that follow no evaluation, so there must be some: all
     * but where the recipe evaluates after each step, see measure(). */
    uint64_t every =
        VKT_MIN(VKT_MAX((steps + EVALUATIONS - 1) / EVALUATIONS, 2), s->priv->base->eval_every);
    if (of->n) memcpy(set, of->set, of->n * sizeof *set);
    set[of->n] = vkt__study_text(s, "train.steps=%llu", (unsigned long long)steps);
    set[of->n + 1] = vkt__study_text(s, "eval.every=%llu", (unsigned long long)VKT_MAX(every, 1));
    return (vkt__trial_spec) { .group = group, .set = set, .n_set = of->n + 2, .until = until };
}

/* Whether one more of the stage's trials is likely to end while trials may run. */
static bool has_time(const plan *p)
{
    return vkt__study_spent(p->s) + cost(p, p->steps) <= SEEDS_UNTIL * p->budget;
}

/* A row of the table: the best trial of a stage, which began when so much had been spent. */
static void row(plan *p, const char *stage, size_t first, double began, size_t best)
{
    vkt_study *s = p->s;
    const vkt_study_trial *t = &s->trials[best];
    vkt__noise z = vkt__study_noise(s, t);
    vkt__str set = { 0 };
    for (size_t i = 0; i + 2 < t->n_set; i++)
        vkt__str_printf(&set, "%s%s", i ? " " : "", t->set[i]);
    vkt__study_cell(s, "%s", stage);
    vkt__study_cell(s, "%zu", s->n_trials - first);
    vkt__study_cell(s, "%.1f", vkt__study_spent(s) - began);
    vkt__study_cell(s, "%s", t->name);
    vkt__study_cell_number(s, t->best);
    vkt__study_cell_number(s, z.metric == s->metric ? vkt__rounded("%.2g", z.error) : NAN);
    vkt__study_cell(s, "%s", set.len ? set.data : "-");
    vkt__str_finish(&set);
}

/* ---- 1: a first look ---- */

/* The time of a step and of a trial without its steps, by those from the i-th on: evaluations come
 * with steps, so they count as such. */
static void measure(plan *p, size_t i)
{
    const vkt_study *s = p->s;
    double sum = 0, step = 0;
    size_t n = 0;
    for (size_t k = i; k < s->n_trials; k++)
        if (!isnan(s->trials[k].step_ms)) step = fmax(step, s->trials[k].step_ms / 1e3);
    if (step > 0) p->step = 1.3 * step;
    /* An evaluation after each step: a step took no longer than the longest trial's steps on
     * average, which have the smallest share of its start. */
    for (size_t k = i, most = 0; k < s->n_trials && !(step > 0); k++)
        if (s->trials[k].seconds > 0 && s->trials[k].steps > most) {
            most = s->trials[k].steps;
            p->step = s->trials[k].seconds / (double)most;
        }
    for (size_t k = i; k < s->n_trials; k++) {
        if (!(s->trials[k].seconds > 0)) continue;
        sum += s->trials[k].seconds - p->step * (double)s->trials[k].steps;
        n++;
    }
    if (n) p->start = fmax(sum / (double)n, 0);
}

/* A short run for the time, a longer one for the steps: the recipe as it is. */
static vkt_status look(plan *p)
{
    vkt_study *s = p->s;
    vkt_status st = VKT_OK;
    const vkt__settings none = { 0 };
    const vkt_study_trial *t;
    uint64_t few = VKT_MIN(p->full, 50);
    size_t first = s->n_trials;
    vkt__trial_spec one = spec(p, "first", &none, few);
    one.until = 0; /* without it nothing is known */
    VKT_TRY(vkt__study_trial(s, &one, &t));
    if (s->priv->desc->dry_run) goto fail;
    measure(p, first);
    uint64_t steps = (uint64_t)fmin(affords(p, LOOK_SHARE * p->budget), (double)p->full);
    if (steps > 2 * few && vkt__trial_usable(t)) {
        one = spec(p, "first", &none, steps);
        VKT_TRY(vkt__study_trial(s, &one, &t));
        measure(p, first + 1); /* the first one may have compiled its kernels */
    } else {
        steps = few;
    }
    bool early = vkt__trial_usable(t) && (double)t->best_step < EARLY_BEST * (double)t->steps;
    double wanted = early ? fmax(2 * (double)t->best_step, (double)t->steps / 4) : (double)p->full;
    /* No shorter than takes as long as the start of a trial: nothing would be saved. */
    double most = fmax(affords(p, TRIAL_SHARE * p->budget), p->start / fmax(p->step, 1e-9));
    p->wanted = (uint64_t)fmin(fmax(wanted, FEWEST_STEPS), (double)p->full);
    p->steps = (uint64_t)fmin((double)p->wanted, fmax(most, FEWEST_STEPS));
    p->first_look = s->n_trials - 1;
    if (vkt__trial_usable(&s->trials[first]) &&
        vkt__study_better(s, s->trials[first].best, t->best))
        p->first_look = first;
    if (t->state == VKT_TRIAL_CUT && !vkt__trial_usable(t)) t = &s->trials[p->first_look];
    if (!vkt__trial_usable(t)) {
        vkt__study_advise(s, "1. first look: the recipe as it is fails in %llu steps: %s",
                          (unsigned long long)steps,
                          t->why ? t->why : "no evaluation has a number");
        goto fail;
    }
    row(p, "first look", first, 0, p->first_look);
    vkt__study_advise(
        s,
        "1. first look: the recipe as it is has %s %.4g after %llu of %llu steps%s; "
        "trials have %llu steps, about %.2g s each",
        s->metric, t->best, (unsigned long long)t->best_step, (unsigned long long)t->steps,
        early ? ", and was not better in the rest, so that shorter runs are enough" : "",
        (unsigned long long)p->steps, cost(p, p->steps));
fail:
    return st;
}

/* ---- 2: the learning rate ---- */

/* Those that had all of their steps, or diverged; n_cut: those that the time has cut. */
typedef struct rates {
    double lr[32];
    size_t trial[32], n, n_cut;
} rates;

static vkt_status try_rates(plan *p, rates *r, const double *lr, size_t n)
{
    vkt_study *s = p->s;
    vkt__trial_spec specs[8] = { 0 };
    size_t first;
    for (size_t i = 0; i < n; i++) {
        const char *set = vkt__study_value(s, "optim.lr", lr[i]);
        specs[i] = spec(p, "sweep", &(vkt__settings) { &set, 1 }, p->steps);
    }
    vkt_status st = vkt__study_trials(s, specs, n, &first);
    for (size_t i = 0; i < n && r->n < VKT_COUNT(r->lr); i++) {
        r->n_cut += s->trials[first + i].state == VKT_TRIAL_CUT;
        if (s->trials[first + i].state == VKT_TRIAL_CUT) continue;
        r->lr[r->n] = vkt__number_or_nan(vkt__study_value(s, "", lr[i]) + 1);
        r->trial[r->n++] = first + i;
    }
    return st;
}

/* The best whose training loss does not rise, else the best; r->n: none has a result. */
static size_t best_rate(const vkt_study *s, const rates *r)
{
    for (int steady = 1; steady >= 0; steady--) {
        size_t best = r->n;
        for (size_t i = 0; i < r->n; i++) {
            const vkt_study_trial *t = &s->trials[r->trial[i]];
            if (!vkt__trial_usable(t) || (steady && t->rise > 0)) continue;
            if (best == r->n || vkt__study_better(s, t->best, s->trials[r->trial[best]].best))
                best = i;
        }
        if (best < r->n) return best;
    }
    return r->n;
}

static bool is_end(const rates *r, size_t at, bool upper)
{
    for (size_t i = 0; i < r->n; i++)
        if (upper ? r->lr[i] > r->lr[at] : r->lr[i] < r->lr[at]) return false;
    return true;
}

/* The recipe's, by the first look at it. */
static void keep_rate(plan *p, double own, const char *why)
{
    p->lr = own;
    p->at_lr = p->first_look;
    p->left_out = true;
    vkt__study_advise(p->s, "2. learning rate: %s", why);
}

static vkt_status find_rate(plan *p)
{
    enum { EXTENSIONS = 6 };
    vkt_study *s = p->s;
    vkt_status st = VKT_OK;
    rates r = { .n = 0 };
    size_t first = s->n_trials, best = 0, more = 0;
    double own = s->priv->base->schedule.lr, began = vkt__study_spent(s),
           until = RATES_UNTIL * p->budget;
    const double around[] = { own / 10, own / 3, own, own * 3, own * 10 };
    size_t n = VKT_COUNT(around); /* an odd number, those in the middle */
    /* The rate tells most: three of them may take the time of the next stage. */
    while (n > 3 && began + (double)n * each(p) > until) n -= 2;
    if (began + (double)n * each(p) > SEARCH_UNTIL * p->budget) n = 1;
    bool looked = vkt__trial_usable(&s->trials[p->first_look]);
    if (n == 1 && looked) { /* which has that rate */
        keep_rate(p, own, "there was no time to try any but the recipe's");
        goto fail;
    }
    VKT_TRY(try_rates(p, &r, around + (VKT_COUNT(around) - n) / 2, n));
    if (s->priv->desc->dry_run) goto fail;
    measure(p, first);
    best = best_rate(s, &r);
    if (best == r.n && r.n_cut && looked) {
        keep_rate(p, own, "none that was tried ended in time with a result, so the recipe's stays");
        goto fail;
    }
    if (s->trials[first + n / 2].state == VKT_TRIAL_CUT && looked) { /* the recipe's own */
        r.lr[r.n] = own;
        r.trial[r.n++] = p->first_look;
        best = best_rate(s, &r);
    }
    for (; more < EXTENSIONS && !r.n_cut && vkt__study_spent(s) < until && has_time(p);
         more++, best = best_rate(s, &r)) {
        bool none = best == r.n, upper = !none && is_end(&r, best, true);
        if (!none && !upper && !is_end(&r, best, false)) break;
        double next = upper ? r.lr[best] * 3 : INFINITY;
        for (size_t i = 0; i < r.n && !upper; i++) next = fmin(next, r.lr[i] / 3);
        VKT_TRY(try_rates(p, &r, &next, 1));
    }
    if (best == r.n) {
        const vkt_study_trial *t = &s->trials[first];
        st = r.n_cut ? vkt__fail(VKT_E_FAILED, "study",
                                 "the time ended before a learning rate had a result: --minutes "
                                 "must be more")
                     : vkt__fail(VKT_E_FAILED, "study",
                                 "none of %zu learning rates trained without diverging; message of "
                                 "the first trial: %s",
                                 r.n, t->why ? t->why : "nothing");
        goto fail;
    }
    if (!r.n_cut && vkt__study_spent(s) + 2 * each(p) < until) {
        const double between[] = { r.lr[best] / sqrt(3), r.lr[best] * sqrt(3) };
        VKT_TRY(try_rates(p, &r, between, VKT_COUNT(between)));
        best = best_rate(s, &r);
    }
    p->lr = r.lr[best];
    p->at_lr = r.trial[best];
    row(p, "learning rate", first, began, r.trial[best]);
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < r.n; i++) low = fmin(low, r.lr[i]), high = fmax(high, r.lr[i]);
    bool open = is_end(&r, best, true) || is_end(&r, best, false);
    vkt__study_advise(s,
                      "2. learning rate: of %zu from %.3g to %.3g the best is %.4g (the recipe's: "
                      "%.4g), %s %.4g%s",
                      r.n, low, high, p->lr, own, s->metric, s->trials[r.trial[best]].best,
                      open ? "; it is at the end of those that there was time for"
                           : "; it lies inside that range");
fail:
    return st;
}

/* ---- 3: width and regularisation ---- */

static vkt_status search(plan *p)
{
    vkt_study *s = p->s;
    vkt_status st = VKT_OK;
    size_t first = s->n_trials, n = 0, order[MOST_CANDIDATES], pruned = 0, cut = 0,
           wave = VKT_MIN(VKT_MAX(s->priv->desc->n_devices, 1), 8), at;
    double began = vkt__study_spent(s), until = SEARCH_UNTIL * p->budget;
    vkt__trial_spec specs[8];
    vkt__settings of[MOST_CANDIDATES];
    of[0] = vkt__candidate(s, p->lr, 0); /* which the sweep of rates has tried */
    order[n++] = p->at_lr;
    while (n + wave <= MOST_CANDIDATES && has_time(p) &&
           vkt__study_spent(s) + 0.6 * cost(p, p->steps) < until) {
        for (size_t i = 0; i < wave; i++) {
            of[n + i] = vkt__candidate(s, p->lr, n + i);
            specs[i] = spec(p, "search", &of[n + i], p->steps);
            specs[i].prune = true;
        }
        VKT_TRY(vkt__study_trials(s, specs, wave, &at));
        for (size_t i = 0; i < wave; i++) order[n + i] = at + i;
        n += wave;
    }
    measure(p, first);
    for (size_t i = 0; i < n; i++) {
        pruned += s->trials[order[i]].state == VKT_TRIAL_PRUNED;
        cut += s->trials[order[i]].state == VKT_TRIAL_CUT && order[i] != p->at_lr;
    }
    vkt__trials_sort(s, order, n);
    while (p->n_finalists < VKT_MIN(n, MOST_FINALISTS) &&
           vkt__trial_done(&s->trials[order[p->n_finalists]])) {
        size_t trial = order[p->n_finalists];
        p->finalist[p->n_finalists++] = of[trial == p->at_lr ? 0 : trial - first + 1];
    }
    if (!p->n_finalists) p->finalist[p->n_finalists++] = vkt__candidate(s, p->lr, 0);
    p->best_seed = order[0]; /* until there are seeds */
    p->median = p->recipe_median = NAN;
    p->late = (double)s->trials[order[0]].best_step > LATE_BEST * (double)s->trials[order[0]].steps;
    p->left_out |= n == 1;
    if (n == 1) {
        vkt__study_advise(s, "3. width and regularisation: there was no time for a candidate");
        goto fail;
    }
    row(p, "width and regularisation", first, began, order[0]);
    vkt__study_advise(s,
                      "3. width and regularisation: %zu candidates around that rate (weight decay, "
                      "dropout, width, decay of the rate), %zu of them ended early since others "
                      "were better%s; the best has %s %.4g; %s",
                      n, pruned,
                      cut ? vkt__study_text(s, ", %zu since the time was over", cut) : "",
                      s->metric, s->trials[order[0]].best,
                      n + wave > MOST_CANDIDATES ? "more would only fit the validation set"
                                                 : "its share of the time was used");
    vkt__study_say_noise(s, &s->trials[order[0]], s->trials[p->at_lr].best, n);
fail:
    return st;
}

/* ---- 4: fresh seeds ---- */

/* Trials from `at`, k to a seed: how many of the first seeds no trial was cut of. */
static size_t whole_seeds(const vkt_study *s, size_t at, size_t k, size_t n)
{
    for (size_t i = 0; i < k * n; i++)
        if (s->trials[at + i].state == VKT_TRIAL_CUT) return i / k;
    return n;
}

static vkt_status seeds(plan *p)
{
    vkt_study *s = p->s;
    vkt_status st = VKT_OK;
    double began = vkt__study_spent(s), left = SEEDS_UNTIL * p->budget - began;
    size_t first = s->n_trials, n = s->priv->desc->repeats, at, best = SIZE_MAX;
    while (p->n_finalists > 1 && (double)((p->n_finalists + 1) * n) * each(p) > left)
        p->n_finalists--;
    while (n > 0 && (double)((p->n_finalists + 1) * n) * each(p) > left) n--;
    p->left_out |= !n;
    if (!n) {
        vkt__study_advise(s, "4. fresh seeds: there was no time for them, so that chance may have "
                             "chosen among the candidates");
        return VKT_OK;
    }
    size_t k = p->n_finalists + 1, n_late = 0;
    p->finalist[p->n_finalists] = (vkt__settings) { 0 };
    vkt__trial_spec *specs = vkt__alloc((k * n + 1) * sizeof *specs);
    double *value = vkt__alloc((n + 1) * sizeof *value), median[MOST_FINALISTS + 1];
    for (size_t i = 0; i < k * n; i++) { /* a seed after the other: the time may end between them */
        uint64_t seed = s->priv->base->seed + 101 + i / k;
        vkt__settings of = vkt__settings_with(
            s, &p->finalist[i % k], vkt__study_text(s, "seed=%llu", (unsigned long long)seed));
        specs[i] = spec(p, i % k < p->n_finalists ? "candidate" : "recipe", &of, p->steps);
    }
    VKT_TRY(vkt__study_trials(s, specs, k * n, &at));
    size_t whole = whole_seeds(s, at, k, n);
    p->left_out |= whole < n;
    p->seeds_cut = !whole;
    if (!whole) {
        vkt__study_advise(s, "4. fresh seeds: the time ended before each candidate had one");
        goto fail;
    }
    p->winner = p->n_finalists;
    for (size_t c = k; c-- > 0;) {
        for (size_t i = 0; i < whole; i++) {
            double v = s->trials[at + i * k + c].best;
            value[i] = isnan(v) ? -s->metric_sign * INFINITY : v;
        }
        median[c] = vkt__median(value, whole);
        if (c == p->n_finalists || vkt__study_better(s, median[c], median[p->winner]))
            p->winner = c;
    }
    for (size_t i = at + p->winner; i < at + whole * k; i += k) {
        const vkt_study_trial *t = &s->trials[i];
        n_late += vkt__trial_done(t) && (double)t->best_step > LATE_BEST * (double)t->steps;
        if (vkt__trial_done(t) &&
            (best == SIZE_MAX || vkt__study_better(s, t->best, s->trials[best].best)))
            best = i;
    }
    if (best == SIZE_MAX) {
        st = vkt__fail(VKT_E_FAILED, "study", "no candidate ended on a new seed; the first: %s",
                       s->trials[at].why ? s->trials[at].why : "nothing");
        goto fail;
    }
    p->late = 2 * n_late >= whole;
    p->best_seed = best;
    p->median = median[p->winner];
    p->recipe_median = median[p->n_finalists];
    row(p, "fresh seeds", first, began, best);
    vkt__study_advise(s,
                      "4. fresh seeds: %s, median %s %.4g over %zu new seed%s; the recipe as it is "
                      "%.4g%s",
                      p->winner == p->n_finalists ? "no candidate is better than the recipe"
                                                  : "the best candidate stays ahead",
                      s->metric, p->median, whole, whole == 1 ? "" : "s", p->recipe_median,
                      whole < 3 ? "; so few show no difference" : "");
fail:
    free(specs);
    free(value);
    return st;
}

/* ---- 5: the run to be used ---- */

static vkt_status train_longer(plan *p)
{
    vkt_study *s = p->s;
    vkt_status st = VKT_OK;
    size_t first = s->n_trials;
    double began = vkt__study_spent(s), most = affords(p, p->budget - began),
           now = (double)p->steps;
    double longer = p->late ? fmax(fmin(LONGER * now, 4 * (double)p->full), (double)p->wanted)
                            : (double)p->wanted;
    uint64_t steps = (uint64_t)fmin(longer, most);
    bool is_longer = steps > p->steps;
    const char *stage = is_longer ? "longer run" : "final run";
    const vkt_study_trial *t, *looked = &s->trials[p->first_look];
    p->left_out |= most < now;
    if (most < now) {
        p->result = p->best_seed;
        if (vkt__trial_usable(looked) &&
            !vkt__study_better(s, s->trials[p->result].best, looked->best))
            p->result = p->first_look;
        vkt__study_advise(s, "5. longer run: there was no time for one as long as the trials");
        goto fail;
    }
    vkt__trial_spec one = spec(p, "final", &p->finalist[p->winner], steps);
    one.baseline = true;
    VKT_TRY(vkt__study_trial(s, &one, &t));
    looked = &s->trials[p->first_look]; /* they have moved */
    double least = isnan(p->median) ? s->trials[p->best_seed].best : p->median;
    bool good = vkt__trial_usable(t) && !vkt__study_better(s, least, t->best);
    p->result = good ? s->n_trials - 1 : p->best_seed;
    double result = s->trials[p->result].best;
    bool first_best = vkt__trial_usable(looked) && vkt__study_better(s, looked->best, result);
    if (first_best) p->result = p->first_look;
    row(p, stage, first, began, s->n_trials - 1);
    const char *why = is_longer && p->late ? "the best checkpoints were near the end"
                      : is_longer          ? "the trials were shorter than the recipe needs"
                      : p->late            ? "there was no time for a longer one"
                                : "the best checkpoints came long before the end, so that "
                                  "no longer run is worth it";
    const char *taken = first_best ? "; the first look at the recipe is better, and is taken"
                        : good     ? ""
                        : isnan(p->median)
                            ? "; the best trial is better, and is taken"
                            : "; the best run on fresh seeds is better, and is taken";
    const char *cut = t->why ? vkt__study_text(s, " (%s)", t->why) : "";
    p->left_out |= t->state == VKT_TRIAL_CUT;
    if (!vkt__trial_usable(t))
        vkt__study_advise(s, "5. %s: it has no result%s%s", stage, cut, taken);
    else
        vkt__study_advise(s, "5. %s: %llu steps%s, since %s: %s %.4g at step %llu%s", stage,
                          (unsigned long long)t->steps, cut, why, s->metric, t->best,
                          (unsigned long long)t->best_step, taken);
fail:
    return st;
}

static void conclude(plan *p)
{
    vkt_study *s = p->s;
    const vkt_study_trial *t = &s->trials[p->result];
    vkt__noise z = vkt__study_noise(s, t);
    double used = vkt__study_spent(s);
    size_t begun = 0;
    for (size_t i = 0; i < s->n_trials; i++) begun += s->trials[i].seconds > 0;
    const vkt__settings none = { 0 };
    const vkt__settings *won = p->result == p->first_look ? &none : &p->finalist[p->winner];
    vkt__str set = { 0 };
    for (size_t i = 0; i < won->n; i++) {
        vkt__study_apply(s, won->set[i]);
        vkt__str_printf(&set, "%s%s", i ? " " : "", won->set[i]);
    }
    s->best_run = vkt__study_text(s, "%s/%s", s->dir, t->name);
    s->command = vkt__study_command(s, t->set, t->n_set);
    vkt__study_advise(
        s,
        used > p->budget ? "%zu trials took %.0f s, more than the %.0f s asked for: a trial's "
                           "start and its last evaluation are not cut short"
        : p->left_out
            ? "%zu trials took %.0f of %.0f s; it ends here since there was no time for every stage"
            : "%zu trials took %.0f of %.0f s; it ends here since every stage is done",
        begun, used, p->budget);
    const char *error = z.metric == s->metric && !isnan(z.error)
                            ? vkt__study_text(s, " (standard error %.2g)", z.error)
                            : "";
    double gain = s->metric_sign * (p->median - p->recipe_median);
    vkt__str seeds = { 0 };
    if (isnan(p->median))
        vkt__str_printf(&seeds, "%s, so that part of it may be luck",
                        p->seeds_cut ? "fresh seeds did not end in time"
                                     : "no fresh seeds were tried");
    else
        vkt__str_printf(&seeds,
                        "on fresh seeds in equal steps the recipe as it is has %.4g, the best "
                        "candidate %.4g%s",
                        p->recipe_median, p->median,
                        won->n && !isnan(z.error) && z.metric == s->metric && gain < z.error
                            ? ": less than the standard error apart"
                            : "");
    vkt__study_advise(s, "use the run %s: %s %.4g on validation%s, with %s; %s", s->best_run,
                      s->metric, t->best, error, set.len ? set.data : "the recipe's own settings",
                      seeds.data);
    vkt__str_finish(&seeds);
    vkt__study_answer_first(s);
    vkt__str_finish(&set);
}

vkt_status vkt__study_auto_check(vkt_study *s)
{
    double minutes = s->priv->desc->minutes;
    if (minutes >= 0 && isfinite(minutes)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "study", "--minutes is %g, must be above 0", minutes);
}

vkt_status vkt__study_auto(vkt_study *s)
{
    static const char *const columns[] = { "stage", "trials",         "seconds", "best",
                                           NULL,    "standard error", "settings" };
    const vkt_study_desc *d = s->priv->desc;
    const char *names[VKT_COUNT(columns)];
    vkt_status st = VKT_OK;
    plan p = { .s = s,
               .budget = 60 * (d->minutes > 0 ? d->minutes : 10),
               .full = VKT_MAX(s->steps, 1),
               .steps = FEWEST_STEPS };
    s->playbook = playbook;
    memcpy(names, columns, sizeof names);
    names[4] = vkt__study_text(s, "valid %s", s->metric);
    vkt__study_columns(s, names, VKT_COUNT(names));
    VKT_TRY(look(&p));
    VKT_TRY(find_rate(&p));
    if (d->dry_run) {
        s->n_more = 8 + MOST_CANDIDATES + (MOST_FINALISTS + 1) * d->repeats + 1;
        goto fail;
    }
    VKT_TRY(search(&p));
    VKT_TRY(seeds(&p));
    VKT_TRY(train_longer(&p));
    conclude(&p);
fail:
    return st;
}
