/* Quasi-random search: points of a scrambled Halton sequence, one trial each on a fixed budget, the
 * best by its best checkpoint in retrospect. Afterwards: is the best at an end of the space, what
 * does each metaparameter do over the best of the others, does the best hold on fresh seeds. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/gp.h"
#include "study/space.h"
#include "study/study_effects.h"
#include "study/study_run.h"
#include "study/tpe.h"

enum { MAX_SHOWN_AXES = 8 };

static const char playbook[] =
    "Quasi-random search covers the space evenly, and its trials can be used afterwards to answer "
    "many questions: explore with it first, and use adaptive searches only at the end. Trust a "
    "best point only if it is not at the edge of the space, if there are enough trials near it, "
    "and if it is also good on other seeds. To see the effect of one metaparameter, compare its "
    "values, each with the best values of the others.";

/* ---- the table: best first, infeasible ones last ---- */

static void settings_cell(vkt_study *s, const vkt_study_trial *t)
{
    vkt__str all = { 0 };
    for (size_t i = 0; i < t->n_set; i++) vkt__str_printf(&all, "%s%s", i ? " " : "", t->set[i]);
    vkt__study_cell(s, "%s", all.data ? all.data : "");
    vkt__str_finish(&all);
}

static const char *value_in(const vkt__space *space, const char *key, const vkt_study_trial *t)
{
    const char *v = NULL;
    for (size_t i = 0; i < space->n && !v; i++)
        if (!strcmp(space->axis[i].key, key))
            v = vkt__axis_value(&space->axis[i], t->set, t->n_set);
    return v;
}

/* Metaparameters that differ, each once. */
static size_t find_varied(const vkt__space *space, const char **key)
{
    size_t n = 0;
    for (size_t i = 0; i < space->n; i++) {
        bool new = space->axis[i].role != VKT__ROLE_FIXED;
        for (size_t k = 0; k < n; k++) new &= strcmp(key[k], space->axis[i].key) != 0;
        if (new) key[n++] = space->axis[i].key;
    }
    return n;
}

static void fill_table(vkt_study *s, const vkt__space *space, const size_t *order, size_t n)
{
    const char *columns[MAX_SHOWN_AXES + 4], *key[VKT__MAX_AXES];
    size_t k = 0, n_keys = find_varied(space, key);
    bool apart = n_keys <= MAX_SHOWN_AXES;
    columns[k++] = "trial";
    for (size_t i = 0; i < n_keys && apart; i++) columns[k++] = key[i];
    if (!apart) columns[k++] = "settings";
    columns[k++] = vkt__study_text(s, "best valid %s", s->metric);
    columns[k++] = "at step";
    columns[k++] = "training";
    vkt__study_columns(s, columns, k);
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t = &s->trials[order[i]];
        vkt__study_cell(s, "%s", t->name);
        for (size_t x = 0; x < n_keys && apart; x++) {
            const char *v = value_in(space, key[x], t);
            vkt__study_cell(s, "%s", v ? v : "-");
        }
        if (!apart) settings_cell(s, t);
        vkt__study_cell_number(s, t->best);
        vkt__study_cell(s, "%llu", (unsigned long long)t->best_step);
        vkt__study_cell(s, "%s", vkt__trial_word(t, s->trials[order[0]].final_loss));
    }
}

/* ---- afterwards ---- */

/* NAN: a choice, or not in this trial. */
static double position(const vkt_study_trial *t, const vkt__axis *x)
{
    const char *v = x->kind == VKT__AXIS_CHOICE ? NULL : vkt__axis_value(x, t->set, t->n_set);
    return v ? vkt__axis_position(x, vkt__number_or_nan(v)) : NAN;
}

bool vkt__at_end(const double *position, size_t n)
{
    double best = position[0] > 0.5 ? 1 - position[0] : position[0];
    if (!(best < 0.1)) return false;
    for (size_t i = 1; i < n && i < 3; i++)
        if ((position[0] > 0.5 ? 1 - position[i] : position[i]) < 0.25) return true;
    return false;
}

/* An end that is the option's own limit has nothing beyond it. */
static void check_boundary(vkt_study *s, const vkt__space *space, const size_t *order, size_t n)
{
    bool inside = true;
    const vkt_study_trial *best = &s->trials[order[0]];
    for (size_t i = 0; i < space->n; i++) {
        const vkt__axis *x = &space->axis[i];
        double at[3];
        size_t k = 0;
        for (; k < VKT_MIN(n, VKT_COUNT(at)) && vkt__trial_done(&s->trials[order[k]]); k++)
            at[k] = position(&s->trials[order[k]], x);
        if (!vkt__at_end(at, k)) continue;
        bool lower = at[0] < 0.5;
        if (lower ? x->low <= x->least : x->high >= x->most) continue;
        inside = false;
        vkt__study_advise(s,
                          "the best %s=%s lies at the %s end of its range, %g to %g, and so does "
                          "another of the three best: move the range that way and search again",
                          x->key, vkt__axis_value(x, best->set, best->n_set),
                          lower ? "lower" : "upper", x->low, x->high);
    }
    if (inside) vkt__study_advise(s, "the best points are not at the edge of the space");
}

/* The playbook: never by the validation result. */
static bool tunes_batch(const vkt__space *space)
{
    for (size_t i = 0; i < space->n; i++)
        if (space->axis[i].role != VKT__ROLE_FIXED &&
            (!strcmp(space->axis[i].key, "train.batch") ||
             !strcmp(space->axis[i].key, "train.accumulate")))
            return true;
    return false;
}

static const char batch_warning[] =
    "the space has the batch size in it, which governs the speed and should not be tuned by the "
    "validation result: what looks like its effect is that of the learning rate and the "
    "regularisation, tuned for another size; choose it with `vktrain study batch-size`, and leave "
    "it out";

/* A comparison of a metaparameter's values is fair where all of them get the same points and
 * budgets. */
static void say_unfair(vkt_study *s, const vkt__space *space)
{
    const vkt_study_desc *d = s->priv->desc;
    for (size_t i = 0; i < space->n && (d->sampler || d->prune); i++)
        if (space->axis[i].role == VKT__ROLE_SCIENTIFIC) {
            vkt__study_advise(s,
                              "to compare values of %s fairly search with --sampler halton and "
                              "without --prune: %s",
                              space->axis[i].key,
                              d->sampler ? "a model gives most trials to what was good early"
                                         : "trials that end early are judged by their first steps");
            return;
        }
}

static vkt_status check_isolated(const vkt_study *s, const vkt__space *space)
{
    const char *key = s->priv->desc->isolate, *names[VKT__MAX_AXES];
    if (!key) return VKT_OK;
    for (size_t i = 0; i < space->n; i++) {
        names[i] = space->axis[i].key;
        if (!strcmp(names[i], key)) return VKT_OK;
    }
    return vkt__fail(VKT_E_ARG, "study",
                     "--isolate %s: there is no such metaparameter in the space%s", key,
                     vkt_did_you_mean(key, names, space->n).text);
}

static void tell_infeasible(vkt_study *s, const size_t *order, size_t n)
{
    size_t bad = 0, first = SIZE_MAX, pruned = 0;
    uint64_t steps = 0;
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t = &s->trials[order[i]];
        pruned += t->state == VKT_TRIAL_PRUNED;
        steps += t->steps;
        if (t->state == VKT_TRIAL_INFEASIBLE) bad++, first = VKT_MIN(first, order[i]);
    }
    if (pruned)
        vkt__study_advise(s,
                          "%zu of %zu trials were pruned: the search took %.0f%% of the steps that "
                          "all of them would have taken",
                          pruned, n, 100 * (double)steps / ((double)s->steps * (double)n));
    if (bad)
        vkt__study_advise(s, "%zu of %zu trials were infeasible; %s: %s", bad, n,
                          s->trials[first].name, s->trials[first].why ? s->trials[first].why : "");
}

static vkt_status read_space(vkt_study *s, vkt__space *space)
{
    struct vkt__study_private *p = s->priv;
    vkt_status st = VKT_OK;
    if (!p->space)
        return vkt__fail(
            VKT_E_ARG, "study",
            "search: --space FILE is missing, with lines such as `optim.lr: {log: [1e-4, 0.1]}`");
    VKT_TRY(vkt__space_parse(&p->arena, p->space, strlen(p->space), p->desc->space, p->base_yaml,
                             space));
    VKT_TRY(check_isolated(s, space));
fail:
    return st;
}

vkt_status vkt__study_search_check(vkt_study *s)
{
    uint64_t rung[VKT_STUDY_RUNGS];
    vkt__space space;
    vkt_status st = read_space(s, &space);
    if (st != VKT_OK || !s->priv->desc->prune) return st;
    const vkt_config *c = s->priv->base;
    if (vkt__prune_rungs(vkt_schedule_total(&c->schedule), c->eval_every, rung)) return VKT_OK;
    return vkt__fail(
        VKT_E_ARG, "study",
        "--prune: %llu steps with an evaluation every %llu leave none at which a trial "
        "could end early: lower eval.every",
        (unsigned long long)vkt_schedule_total(&c->schedule), (unsigned long long)c->eval_every);
}

/* ---- running ---- */

typedef struct search {
    vkt_study *s;
    vkt__space space;
    size_t *order; /* [n]: which trials the points are */
    size_t n, done;
} search;

/* Trials of settings that follow, at a time; points of the search, or those of an old one. */
static vkt_status run_sets(search *w, const vkt__trial_spec *spec, size_t n, bool points)
{
    size_t first = 0;
    vkt_status st = vkt__study_trials(w->s, spec, n, &first);
    for (size_t i = 0; i < n && points; i++) w->order[w->done++] = first + i;
    return st;
}

/* The trials so far, best first: places seen [done, space.n], and losses [done], INFINITY where a
 * trial did not get to its end. */
static void locate(const search *w, double *seen, double *loss)
{
    const vkt_study *s = w->s;
    size_t *order = vkt__alloc((w->done + 1) * sizeof *order);
    memcpy(order, w->order, w->done * sizeof *order);
    vkt__trials_sort(s, order, w->done);
    for (size_t i = 0; i < w->done; i++) {
        const vkt_study_trial *t = &s->trials[order[i]];
        vkt__space_locate(&w->space, t->set, t->n_set, seen + i * w->space.n);
        loss[i] = vkt__trial_done(t) ? -s->metric_sign * t->best : INFINITY;
    }
    free(order);
}

/* The next point, after n trials; trials that still run have no loss yet. */
static void next_point(const search *w, const double *seen, const double *loss, size_t n, double *u)
{
    const vkt_study_desc *d = w->s->priv->desc;
    if (d->sampler == VKT_SAMPLER_TPE) /* takes those at work for the worst */
        vkt__tpe_next(&w->space, seen, n, d->seed, n, u);
    else if (d->sampler == VKT_SAMPLER_GP)
        vkt__gp_next(&w->space, seen, loss, n, d->seed, n, u);
}

/* n more points: of the sequence, or after enough of it from the model. */
static vkt_status run_points(search *w, size_t n, bool model)
{
    vkt_study *s = w->s;
    vkt__trial_spec *spec = vkt__alloc((n + 1) * sizeof *spec);
    double *seen = vkt__alloc(((w->done + n) * (w->space.n + 1) + 1) * sizeof *seen),
           *loss = seen + (w->done + n) * w->space.n;
    if (model) locate(w, seen, loss);
    for (size_t i = 0; i < n; i++) {
        double u[VKT__MAX_AXES];
        uint64_t at = w->done + i;
        const char **set = vkt__arena_alloc(&s->priv->arena, (w->space.n + 1) * sizeof *set);
        if (model)
            next_point(w, seen, loss, at, u);
        else
            vkt__space_halton(&w->space, s->priv->desc->seed, at, u);
        size_t k = vkt__space_point(&w->space, u, &s->priv->arena, set);
        vkt__space_locate(&w->space, set, k, seen + at * w->space.n);
        loss[at] = NAN;
        spec[i] = (vkt__trial_spec) {
            .group = "search", .set = set, .n_set = k, .prune = s->priv->desc->prune
        };
    }
    vkt_status st = run_sets(w, spec, n, true);
    free(spec);
    free(seen);
    return st;
}

/* Old trials [from, to) of a study that is resumed, as they were planned. */
static vkt_status replay(search *w, size_t from, size_t to, bool points)
{
    vkt_study *s = w->s;
    const json_t *old = json_object_get(s->priv->old, "trials");
    vkt__trial_spec *spec = vkt__alloc((to - from + 1) * sizeof *spec);
    for (size_t i = from; i < to; i++) {
        const json_t *j = json_array_get(old, i), *list = json_object_get(j, "set");
        const char *group = json_string_value(json_object_get(j, "group"));
        size_t n = json_array_size(list);
        const char **set = vkt__arena_alloc(&s->priv->arena, (n + 1) * sizeof *set);
        for (size_t k = 0; k < n; k++) {
            const char *v = json_string_value(json_array_get(list, k));
            set[k] = v ? v : "";
        }
        spec[i - from] = (vkt__trial_spec) { .group = vkt__study_text(s, "%s", group ? group : ""),
                                             .set = set,
                                             .n_set = n,
                                             .prune = points && s->priv->desc->prune };
    }
    vkt_status st = run_sets(w, spec, to - from, points);
    free(spec);
    return st;
}

/* The trials that a resumed study has: its points, and where it is extended the comparisons of its
 * earlier ends between them. */
static vkt_status run_old(search *w)
{
    vkt_study *s = w->s;
    size_t n_old = json_array_size(json_object_get(s->priv->old, "trials")),
           had = vkt__study_points(s), i = 0;
    vkt_status st = VKT_OK;
    while (i < n_old && (w->done < had || had < w->n)) {
        size_t from = i;
        bool points = vkt__study_is_point(s, i);
        while (i < n_old && vkt__study_is_point(s, i) == points) i++;
        VKT_TRY(replay(w, from, i, points));
    }
fail:
    return st;
}

/* A third of the trials, and one more than there are dimensions, explore before the model is asked.
 */
static size_t first_of_model(const search *w)
{
    size_t explore = VKT_MAX(w->n / 3, (size_t)w->space.n_dims + 1);
    return w->s->priv->desc->sampler ? VKT_MIN(explore, w->n) : w->n;
}

static vkt_status run_all(search *w)
{
    size_t model = first_of_model(w), at_a_time = VKT_MAX(w->s->priv->desc->n_devices, 1);
    vkt_status st = VKT_OK;
    VKT_TRY(run_old(w));
    if (w->done < model) VKT_TRY(run_points(w, model - w->done, false));
    while (w->done < w->n && !w->s->priv->desc->dry_run)
        VKT_TRY(run_points(w, VKT_MIN(at_a_time, w->n - w->done), true));
fail:
    return st;
}

/* The best by its best checkpoint may be one whose training came apart afterwards. */
static void say_rising(vkt_study *s, const size_t *order, size_t n)
{
    const vkt_study_trial *best = &s->trials[order[0]], *stable = NULL;
    if (!(best->rise > 0)) return;
    for (size_t i = n; i-- > 1;) {
        const vkt_study_trial *t = &s->trials[order[i]];
        if (vkt__trial_done(t) && !(t->rise > 0)) stable = t;
    }
    vkt__study_advise(s,
                      "training loss of %s rises by %.3g where it should fall, so another seed may "
                      "do worse: cure that first (optim.clip, a longer warmup)%s%s",
                      best->name, best->rise, stable ? "; the best without it is " : "",
                      stable ? stable->name : "");
}

/* The best against the median one, of those that got to their end. */
static void say_noise(vkt_study *s, const size_t *order, size_t n)
{
    size_t ended = 0;
    while (ended < n && vkt__trial_done(&s->trials[order[ended]])) ended++;
    if (ended > 2)
        vkt__study_say_noise(s, &s->trials[order[0]], s->trials[order[ended / 2]].best, ended);
}

static vkt_status conclude(search *w)
{
    vkt_study *s = w->s;
    vkt_status st = VKT_OK;
    vkt__trials_sort(s, w->order, w->n);
    fill_table(s, &w->space, w->order, w->n);
    const vkt_study_trial best = s->trials[w->order[0]];
    if (!vkt__trial_done(&best)) {
        st = vkt__fail(VKT_E_FAILED, "study",
                       "none of the %zu trials was feasible; message of the first: %s", w->n,
                       best.why ? best.why : "");
        goto fail;
    }
    VKT_TRY(vkt__study_conclude(s, vkt__study_text(s, "the settings of %s", best.name), best.set,
                                best.n_set));
    say_noise(s, w->order, w->n);
    say_rising(s, w->order, w->n);
    check_boundary(s, &w->space, w->order, w->n);
    if (tunes_batch(&w->space)) vkt__study_advise(s, "%s", batch_warning);
    vkt__study_effects(s, &w->space, w->order, w->n);
    say_unfair(s, &w->space);
    tell_infeasible(s, w->order, w->n);
fail:
    return st;
}

vkt_status vkt__study_search(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_status st = VKT_OK;
    search *w = vkt__alloc(sizeof *w);
    *w = (search) { .s = s, .n = d->trials ? d->trials : 20 };
    s->playbook = playbook;
    VKT_TRY(read_space(s, &w->space));
    if (tunes_batch(&w->space)) vkt_log(VKT_LOG_WARN, "study", "%s", batch_warning);
    w->order = vkt__alloc((w->n + 1) * sizeof *w->order);
    VKT_TRY(run_all(w));
    if (d->dry_run)
        s->n_more = 2 * d->repeats + (uint32_t)(w->n - w->done);
    else
        VKT_TRY(conclude(w));
fail:
    free(w->order);
    free(w);
    return st;
}
