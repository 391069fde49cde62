/* Batch size: throughput at doubling sizes until memory ends or throughput stops rising; with a
 * target also the steps that each size needs to reach it. It recommends by speed, never by the
 * validation result. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/batch_choice.h"
#include "study/study_run.h"
#include "runs/run_folder.h"
#include "train/batch_for.h"
#include "train/session.h"

/* A doubling is (nearly) perfect from here on. */
#define NEARLY_DOUBLE 1.8
/* Long enough to be reliable: seconds of measured steps in one trial, and a number of them. */
#define SECONDS 0.6
enum { MIN_STEPS = 20, MAX_STEPS = 20000, MAX_SIZES = 24 };
/* Each size is measured this often, in turns with the others; again where the result can't be. */
enum { REPEATS = 3, MOST_REPEATS = 7 };
/* Twice the batch in less time than before, or in more than a device could need. */
#define LEAST_RATIO 0.9
#define MOST_RATIO 2.1
/* Spread of the middle measurements, of the median, up to which a time is trusted. */
#define STEADY 0.25

static const char playbook[] =
    "The batch size determines the speed of training; do not tune it for validation performance. "
    "With the optimizer and regularisation tuned for it, and enough steps, every size can reach "
    "the same. After a change of the batch size most metaparameters must be tuned again, above all "
    "the learning rate and regularisation, so choose it early. Below the critical size, twice the "
    "batch needs half the steps; above, the gain becomes smaller. The fastest size is usually the "
    "largest that still reduces the number of steps.";

typedef struct size {
    uint32_t batch;
    vkt_study_trial t; /* the first one; step_ms and items_per_s of the median */
    double ms[MOST_REPEATS], joules[MOST_REPEATS]; /* of a step */
    size_t n;
    double ratio; /* items/s over the half size's; NAN: none */
} size;

typedef struct sizes {
    size z[MAX_SIZES];
    size_t n;
} sizes;

/* If memory is short, the trainer uses micro-batches, which do not raise throughput. */
static vkt_status check_fits(vkt_study *s, uint32_t batch, vkt_study_trial *t)
{
    vkt__run_record r;
    const char *why, *dir = vkt__study_text(s, "%s/%s", s->dir, t->name);
    vkt_status st = vkt__run_load(dir, &s->priv->arena, &r, &why);
    if (st == VKT_E_OOM_HOST) return st; /* which has been told */
    if (st == VKT_E_IO && !vkt__is_absent(vkt__study_text(s, "%s/run.json", dir)))
        return vkt__fail(st, "study", "'%s': %s", dir, why);
    if (st != VKT_OK) return VKT_OK;
    s->priv->n_weights = r.n_params;
    if (!r.micro_batch || r.micro_batch >= batch) return VKT_OK;
    t->state = VKT_TRIAL_INFEASIBLE;
    t->why = vkt__study_text(s, "does not fit into device memory; ran as micro-batches of %llu",
                             (unsigned long long)r.micro_batch);
    return VKT_OK;
}

/* What a sensor of energy can tell is longer. */
static double seconds_of(const vkt_study *s)
{
    const vkt__energy *e = s->priv->energy;
    return e ? fmax(SECONDS, 1.5 * vkt__energy_least_s(e)) : SECONDS;
}

static vkt_status measure(vkt_study *s, const char *group, uint32_t batch, double step_ms,
                          vkt_study_trial *out)
{
    uint64_t steps =
        isnan(step_ms)
            ? 60
            : (uint64_t)fmin(fmax(round(1e3 * seconds_of(s) / step_ms), MIN_STEPS), MAX_STEPS);
    const vkt_study_trial *t;
    const char *set[] = { vkt__study_text(s, "train.batch=%u", batch),
                          "train.accumulate=1",
                          "eval.batch=0",
                          vkt__study_text(s, "train.steps=%llu", (unsigned long long)steps),
                          vkt__study_text(s, "eval.every=%llu", (unsigned long long)steps),
                          "schedule.kind=constant",
                          "schedule.milestones=[]",
                          "schedule.warmup=0",
                          "train.nan_patience=1000000" };
    vkt_status st =
        vkt__study_trial(s, &(vkt__trial_spec) { group, set, VKT_COUNT(set), .check = true }, &t);
    *out = *t;
    if (st == VKT_OK && t->state == VKT_TRIAL_DONE) st = check_fits(s, batch, out);
    return st;
}

/* The number of steps follows from times, which differ each time: a resumed study takes those of
 * its trial. */
static double recalled_step_ms(const vkt_study *s, double step_ms)
{
    const json_t *j = json_array_get(json_object_get(s->priv->old, "trials"), s->n_trials),
                 *set = json_object_get(j, "set");
    for (size_t i = 0; i < json_array_size(set); i++) {
        const char *v = json_string_value(json_array_get(set, i));
        if (v && !strncmp(v, "train.steps=", 12)) {
            return 1e3 * seconds_of(s) / vkt__number_or_nan(v + 12);
        }
    }
    return step_ms;
}

/* ---- what the measurements say ---- */

double vkt__spread(const double *v, size_t n)
{
    /* Of many, without the slowest and the fastest: other programs come and go. */
    double low = n > 3 ? 1 / (double)(n - 1) : 0;
    return (vkt__quantile(v, n, 1 - low) - vkt__quantile(v, n, low)) / vkt__median(v, n);
}

bool vkt__ratio_is_odd(double ratio)
{
    return ratio < LEAST_RATIO || ratio > MOST_RATIO;
}

static bool fits(const size *x)
{
    return x->t.state != VKT_TRIAL_INFEASIBLE;
}

/* Medians into the sizes' own times, and their ratios. */
static void sum_up(sizes *m)
{
    for (size_t i = 0; i < m->n; i++) {
        size *x = &m->z[i];
        if (!x->n) continue;
        x->t.step_ms = vkt__median(x->ms, x->n);
        x->t.items_per_s = 1e3 * x->batch / x->t.step_ms;
        x->ratio = i ? x->t.items_per_s / m->z[i - 1].t.items_per_s : NAN;
    }
}

/* Whether larger sizes are not worth a try: the last two did not pay, or the last did not fit. */
static bool ended(const sizes *m)
{
    size_t n = m->n;
    if (n && !fits(&m->z[n - 1])) return true;
    return n > 2 && m->z[n - 1].ratio < VKT__BATCH_PAYS && m->z[n - 2].ratio < VKT__BATCH_PAYS;
}

/* ---- measuring ---- */

static vkt_status again(vkt_study *s, size *x)
{
    vkt_study_trial t;
    vkt_status st = VKT_OK;
    if (!fits(x) || x->n == MOST_REPEATS) return VKT_OK;
    double expected = x->n ? vkt__median(x->ms, x->n) : x->t.step_ms;
    VKT_TRY(measure(s, "speed", x->batch, recalled_step_ms(s, expected), &t));
    if (!x->n || t.state == VKT_TRIAL_INFEASIBLE) x->t = t;
    if (t.state == VKT_TRIAL_INFEASIBLE) return VKT_OK;
    x->joules[x->n] = t.step_j;
    x->ms[x->n++] = t.step_ms;
fail:
    return st;
}

/* The next size, once; its time is guessed from the one before. */
static vkt_status try_next(vkt_study *s, sizes *m, double batch)
{
    size *x = &m->z[m->n++];
    vkt_status st = VKT_OK;
    *x = (size) { .batch = (uint32_t)batch, .ratio = NAN };
    if (m->n == 1)
        VKT_TRY(measure(s, "warm-up", x->batch, NAN, &x->t)); /* how long is a step? */
    else
        x->t.step_ms = 2 * m->z[m->n - 2].t.step_ms;
    VKT_TRY(again(s, x));
    sum_up(m);
fail:
    return st;
}

/* What the sizes that fit recommend. */
static vkt__batch_choice choose(const sizes *m)
{
    vkt__batch_times z[MAX_SIZES];
    size_t n = 0;
    for (; n < m->n && fits(&m->z[n]) && m->z[n].n; n++)
        z[n] = (vkt__batch_times) { m->z[n].batch, m->z[n].ms, m->z[n].n };
    return n ? vkt__batch_choose(z, n) : (vkt__batch_choice) { .certain = true };
}

/* Rounds over all sizes, so that what else the machine does meets them alike; then once more those
 * whose ratio can't be, with their neighbours, those whose times differ widely, and those between
 * which the times do not decide. */
static vkt_status repeat(vkt_study *s, sizes *m)
{
    vkt_status st = VKT_OK;
    for (size_t r = 1; r < REPEATS; r++)
        for (size_t i = 0; i < m->n; i++)
            if (m->z[i].n <= r) VKT_TRY(again(s, &m->z[i]));
    sum_up(m);
    for (size_t r = REPEATS; r < MOST_REPEATS; r++) {
        bool odd[MAX_SIZES] = { false }, any = false;
        vkt__batch_choice c = choose(m);
        for (size_t i = 0; i < m->n; i++) {
            bool bad = i && fits(&m->z[i]) && vkt__ratio_is_odd(m->z[i].ratio);
            odd[i] |= !c.certain && i >= c.low && i <= c.high;
            odd[i] |= bad || (fits(&m->z[i]) && vkt__spread(m->z[i].ms, m->z[i].n) > STEADY);
            if (bad) odd[i - 1] = true;
        }
        for (size_t i = 0; i < m->n; i++)
            if (odd[i]) {
                any = true;
                VKT_TRY(again(s, &m->z[i]));
            }
        if (!any) break;
        sum_up(m);
    }
fail:
    return st;
}

static vkt_status measure_all(vkt_study *s, sizes *m, double from, double to)
{
    vkt_status st = VKT_OK;
    double b = from;
    bool dry = s->priv->desc->dry_run;
    do {
        for (; b <= to && m->n < MAX_SIZES && (dry || !ended(m)); b *= 2)
            VKT_TRY(try_next(s, m, b));
        if (dry) break;
        VKT_TRY(repeat(s, m));
    } while (b <= to && m->n < MAX_SIZES && !ended(m)); /* one slow measurement was no end */
fail:
    return st;
}

/* What the times are worth. */
static void say_noise(vkt_study *s, const sizes *m)
{
    const size *worst = NULL, *odd = NULL;
    double spread = STEADY;
    for (size_t i = 0; i < m->n; i++) {
        const size *x = &m->z[i];
        double v = fits(x) ? vkt__spread(x->ms, x->n) : 0;
        if (v > spread) spread = v, worst = x;
        if (i && fits(x) && vkt__ratio_is_odd(x->ratio)) odd = x;
    }
    if (worst)
        vkt__study_advise(
            s,
            "the machine is too busy for these times to be exact: a step of batch size %u "
            "took from %.3g to %.3g ms; measure again when nothing else runs",
            worst->batch, vkt__quantile(worst->ms, worst->n, 0),
            vkt__quantile(worst->ms, worst->n, 1));
    if (odd)
        vkt__study_advise(s,
                          "batch size %u has %.2f times the throughput of half its size, also in "
                          "repeated measurements: %s",
                          odd->batch, odd->ratio,
                          odd->ratio > 1 ? "something other than the size slows the smaller one"
                                         : "it is slower, which kernels of another size or memory "
                                           "can cause");
}

/* J of a step; NAN: nobody tells it. */
static double joules(const size *x)
{
    return fits(x) ? vkt__median(x->joules, x->n) : NAN;
}

static void fill_table(vkt_study *s, const sizes *m)
{
    const char *columns[] = { "batch",
                              "step ms",
                              "spread",
                              "measured",
                              "items/s",
                              "vs half the size",
                              "device s per 1000",
                              NULL,
                              NULL,
                              NULL };
    size_t n = 7;
    bool energy = false;
    for (size_t i = 0; i < m->n; i++) energy |= isfinite(joules(&m->z[i]));
    if (energy) columns[n++] = "J per 1000";
    columns[n++] = "peak memory MiB";
    columns[n++] = "note";
    vkt__study_columns(s, columns, n);
    for (size_t i = 0; i < m->n; i++) {
        const size *x = &m->z[i];
        vkt__study_cell(s, "%u", x->batch);
        vkt__study_cell_number(s, fits(x) ? x->t.step_ms : NAN);
        vkt__study_cell(s, fits(x) ? "%.0f%%" : "-",
                        100 * (fits(x) ? vkt__spread(x->ms, x->n) : 0));
        vkt__study_cell(s, "%zu x", x->n);
        vkt__study_cell(s, fits(x) ? "%.0f" : "-", x->t.items_per_s);
        vkt__study_cell(s, isnan(x->ratio) || !fits(x) ? "-" : "%.2f x", x->ratio);
        vkt__study_cell_number(s, fits(x) ? 1e3 / x->t.items_per_s : NAN);
        if (energy) vkt__study_cell_number(s, 1e3 * joules(x) / x->batch);
        vkt__study_cell(s, "%.1f", (double)x->t.device_bytes / 1048576);
        vkt__study_cell(s, "%s", fits(x) ? "" : "does not fit");
    }
}

/* train.batch_for of this size; NULL: no trial's record says how many weights there are. */
static const char *measured(vkt_study *s, uint32_t batch)
{
    const vkt_config *c = s->priv->base;
    return s->priv->n_weights
               ? vkt__batch_for(&s->priv->arena, c->optim.rule, s->priv->n_weights, batch)
               : NULL;
}

/* Whether the recipe's own size was measured with another model or optimizer, as it says. */
static bool is_stale(vkt_study *s)
{
    const vkt_config *c = s->priv->base;
    const char *now = measured(s, c->batch);
    return c->batch_for && now && strcmp(c->batch_for, now) != 0;
}

/* To train with this size, which then says what it was measured with. */
static const char *command_with(vkt_study *s, uint32_t batch)
{
    const char *set[2], *with = measured(s, batch);
    size_t n = 0;
    if (batch != s->priv->base->batch) set[n++] = vkt__study_text(s, "train.batch=%u", batch);
    if (with && (n || is_stale(s))) set[n++] = vkt__study_text(s, "train.batch_for=%s", with);
    return vkt__study_command(s, set, n);
}

/* ---- steps to a target ---- */

static vkt_status steps_to_target(vkt_study *s, const size *z, size_t n)
{
    vkt_status st = VKT_OK;
    double last = NAN, cheapest = NAN, fewest = NAN;
    uint32_t last_batch = 0, critical = 0, cheapest_batch = 0, fewest_batch = 0;
    uint64_t every = VKT_MAX(s->steps / 100, 1);
    size_t reached = 0, at_once = 0;
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t;
        const char *set[] = { vkt__study_text(s, "train.batch=%u", z[i].batch),
                              "train.accumulate=1",
                              "eval.batch=0",
                              vkt__study_text(s, "eval.every=%llu", (unsigned long long)every),
                              "schedule.kind=constant",
                              "schedule.milestones=[]" };
        if (z[i].t.state != VKT_TRIAL_DONE) continue;
        VKT_TRY(vkt__study_trial(
            s, &(vkt__trial_spec) { "target", set, VKT_COUNT(set), true, true }, &t));
        if (s->priv->desc->dry_run) continue;
        if (!t->to_target) {
            vkt__study_advise(s, "batch size %u: the target was not reached in %llu steps",
                              z[i].batch, (unsigned long long)t->steps);
            continue;
        }
        reached++;
        at_once += t->to_target == every;
        double steps = (double)t->to_target, time = 1e-3 * steps * z[i].t.step_ms;
        double cut = last / steps;
        vkt__study_advise(
            s,
            "batch size %u: the target is reached after %.0f steps, %.0f examples, %.3g "
            "device-seconds%s%s%s",
            z[i].batch, steps, steps * z[i].batch, time,
            isnan(joules(&z[i])) ? "" : vkt__study_text(s, " and %.3g J", steps * joules(&z[i])),
            isnan(cut) ? ""
                       : vkt__study_text(s, ", %.2f times fewer steps than with batch size %u", cut,
                                         last_batch),
            isnan(cut)   ? ""
            : cut >= 1.7 ? " (nearly perfect scaling)"
            : cut > 1.05 ? " (diminishing returns)"
                         : " (no gain)");
        if (isnan(last) || cut > 1.05) critical = z[i].batch;
        if (isnan(cheapest) || time < cheapest) cheapest = time, cheapest_batch = z[i].batch;
        if (isnan(fewest) || steps * z[i].batch < fewest)
            fewest = steps * z[i].batch, fewest_batch = z[i].batch;
        last = steps;
        last_batch = z[i].batch;
    }
    if (at_once && at_once == reached) {
        vkt__study_advise(s,
                          "the target is too easy to tell batch sizes apart: each that reaches it "
                          "does so by the first evaluation, at step %llu; give --steps-to a value "
                          "that is harder to reach",
                          (unsigned long long)every);
    } else if (critical) {
        vkt__study_advise(
            s,
            "%s batch size %u (evaluated every %llu steps, other metaparameters "
            "unchanged); batch size %u reaches the target in the least time, and %u with the "
            "fewest examples: a budget of steps favours large sizes, one of examples "
            "or epochs small ones",
            critical == last_batch ? "the number of steps still falls at the largest size tried,"
                                   : "the number of steps no longer falls beyond",
            critical, (unsigned long long)every, cheapest_batch, fewest_batch);
        s->command = command_with(s, cheapest_batch);
    }
fail:
    return st;
}

/* ---- the whole ---- */

static vkt_status explain_limit(vkt_study *s, uint32_t batch)
{
    const vkt_study_desc *d = s->priv->desc;
    char text[1000] = "";
    vkt_config *c = NULL;
    vkt_status st = VKT_OK;
    const char *set[] = { vkt__study_text(s, "train.batch=%u", batch), "eval.batch=0" };
    if (!d->bottleneck) return VKT_OK;
    VKT_TRY(vkt__trial_config(s, set, VKT_COUNT(set), &c));
    vkt__log_hold(true);
    st = d->bottleneck(d->user, c, text, sizeof text);
    vkt__log_hold(false);
    if (st == VKT_E_OOM_DEVICE) { /* the sizes themselves are measured */
        vkt__study_advise(s, "what limits batch size %u could not be measured: %s", batch,
                          vkt__last_failure());
        st = VKT_OK;
        goto fail;
    }
    if (st != VKT_OK) {
        vkt__fail(st, "study", "profiling batch size %u: %s", batch, vkt__last_failure());
        goto fail;
    }
    /* A larger batch is what this study has measured, so that is no advice here. */
    char *advice = strstr(text, "; to do: ");
    if (advice && strstr(advice, "raise train.batch")) *advice = 0;
    vkt__study_advise(s, "what limits batch size %u: %s", batch, text);
fail:
    vkt_config_destroy(&c);
    return st;
}

/* The size that may be used: 0 where the times don't tell. */
static uint32_t say_answer(vkt_study *s, const sizes *m, const vkt__batch_choice *c)
{
    const size *z = m->z, *low = &z[c->low], *pays = &z[c->pays];
    double spread = 0;
    for (size_t i = 0; i < m->n; i++)
        if (fits(&z[i])) spread = fmax(spread, vkt__spread(z[i].ms, z[i].n));
    if (c->certain && spread <= STEADY) {
        vkt__study_advise(s,
                          "%u is the largest batch size that still raises throughput: %.0f "
                          "examples/s, %.3g ms per step%s",
                          pays->batch, pays->t.items_per_s, pays->t.step_ms,
                          pays->batch == s->priv->base->batch ? "; the recipe uses it" : "");
        return pays->batch;
    }
    if (c->certain) {
        vkt__study_advise(s,
                          "%u is probably the largest batch size that still raises throughput, "
                          "%.0f examples/s: %.0f%% of redrawn samples of the times give it, but "
                          "times of one size differ by up to %.0f%%, so it may be another "
                          "when it is measured again; measure when nothing else runs",
                          pays->batch, pays->t.items_per_s, 100 * c->share, 100 * spread);
        return pays->batch;
    }
    if (spread > STEADY) {
        vkt__study_advise(s,
                          "the machine is too busy to tell which is the largest batch size that "
                          "still raises throughput: by these times it may be any from %u to %u; "
                          "measure again when nothing else runs",
                          low->batch, z[c->high].batch);
        return 0;
    }
    vkt__study_advise(s,
                      "%u is large enough: %.0f examples/s, %.3g ms per step; whether sizes up to "
                      "%u raise throughput by another tenth is not certain after %zu measurements",
                      low->batch, low->t.items_per_s, low->t.step_ms, z[c->high].batch, low->n);
    return low->batch;
}

static void recommend(vkt_study *s, const sizes *m, const vkt__batch_choice *c, size_t doubles)
{
    const size *z = m->z, *last = &z[m->n - 1];
    uint32_t batch = say_answer(s, m, c);
    const char *set = vkt__study_text(s, "train.batch=%u", batch);
    say_noise(s, m);
    if (doubles)
        vkt__study_advise(s, "throughput (nearly) doubles with the batch size up to %u",
                          z[doubles].batch);
    if (!fits(last))
        vkt__study_advise(s, "batch size %u does not fit into memory: %s", last->batch,
                          last->t.why);
    vkt__study_advise(s, "measure again when the model, the optimizer or the device has changed: "
                         "these times are of this one; train.batch_for in the recipe makes "
                         "training say so for the first two");
    if (batch && batch == s->priv->base->batch && is_stale(s)) {
        vkt__study_advise(s,
                          "put train.batch_for: %s into the recipe: what it has was measured "
                          "with another model or optimizer",
                          measured(s, batch));
        s->command = command_with(s, batch);
    }
    if (!batch || batch == s->priv->base->batch) return;
    vkt__study_advise(
        s,
        "the batch size is about speed and is not applied automatically; after --set %s tune the "
        "learning rate again (`%s`), and the regularisation",
        set, vkt__study_of(s, "lr", vkt__study_text(s, "--set %s", set)));
    s->command = command_with(s, batch);
}

static void find_range(const vkt_study *s, double *from, double *to)
{
    const vkt_study_desc *d = s->priv->desc;
    *from = d->from ? d->from : VKT_MIN(8, s->priv->n_train);
    *to = fmin(d->to ? d->to : 1 << 20, (double)s->priv->n_train);
}

vkt_status vkt__study_batch_size_check(vkt_study *s)
{
    double from, to;
    find_range(s, &from, &to);
    if (from >= 1 && from <= to && from == floor(from)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "study",
                     "batch-size: %g to %g is not a valid range: --from must be a whole number "
                     "from 1 to --to, and at most the %llu training examples",
                     from, to, (unsigned long long)s->priv->n_train);
}

/* Who tells the energy of the device that the trials run on. */
static vkt_status open_energy(vkt_study *s)
{
    vkt_gpu_desc desc = vkt__config_gpu(s->priv->base, &s->priv->desc->gpu);
    vkt_gpu *gpu = NULL;
    if (s->priv->desc->dry_run) return VKT_OK;
    vkt__log_hold(true);
    vkt_status st = vkt_gpu_create(&desc, &gpu);
    vkt__log_hold(false);
    if (st != VKT_OK) return vkt__fail(st, "study", "%s", vkt__last_failure());
    s->priv->energy = vkt__energy_open(vkt_gpu_caps(gpu), NULL);
    vkt_gpu_destroy(&gpu);
    return VKT_OK;
}

vkt_status vkt__study_batch_size(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    double from, to;
    sizes m = { .n = 0 };
    size_t doubles = 0, limited = 0;
    vkt__batch_choice c;
    vkt_status st = VKT_OK;
    double load = vkt__load_average();
    s->playbook = playbook;
    find_range(s, &from, &to);
    if (isfinite(load) && load > 0.3 * vkt__cpu_count() && !d->dry_run)
        vkt_log(VKT_LOG_WARN, "study",
                "load average is %.1f on %u CPUs: other programs are running, and step times will "
                "show it",
                load, vkt__cpu_count());
    VKT_TRY(open_energy(s));
    VKT_TRY(measure_all(s, &m, from, to));
    if (d->dry_run) {
        s->n_more = (uint32_t)m.n * (MOST_REPEATS - 1) + (d->has_target ? (uint32_t)m.n : 0);
        goto fail;
    }
    if (!fits(&m.z[0])) {
        st = vkt__fail(VKT_E_OOM_DEVICE, "study", "not even batch size %u can be trained: %s",
                       m.z[0].batch, m.z[0].t.why);
        goto fail;
    }
    for (size_t i = 1; i < m.n && fits(&m.z[i]); i++) {
        if (m.z[i].ratio >= NEARLY_DOUBLE && doubles == i - 1) doubles = i;
        if (!limited && m.z[i].ratio < NEARLY_DOUBLE) limited = i;
    }
    fill_table(s, &m);
    s->command = vkt__study_command(s, NULL, 0);
    c = choose(&m);
    recommend(s, &m, &c, doubles);
    if (isfinite(joules(&m.z[0])))
        vkt__study_advise(s, "the energy is measured by %s", vkt__energy_source(s->priv->energy));
    /* Where throughput ends, or else where it first does not double. */
    if (limited) VKT_TRY(explain_limit(s, m.z[c.pays + 1 < m.n ? c.pays : limited].batch));
    if (d->has_target) VKT_TRY(steps_to_target(s, m.z, m.n));
fail:
    vkt__energy_close(&s->priv->energy);
    return st;
}
