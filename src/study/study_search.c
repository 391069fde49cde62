/* Quasi-random search: points of a scrambled Halton sequence, one trial each on a fixed budget, the
 * best by its best checkpoint in retrospect. Afterwards: is the best at an end of the space, what
 * does each metaparameter do over the best of the others, does the best hold on fresh seeds. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/space.h"
#include "study/study_run.h"

enum { MAX_SHOWN_AXES = 8, BINS = 5 };

static const char playbook[] =
    "Quasi-random search covers the space evenly, and its trials can be used afterwards to answer "
    "many questions: explore with it first, and use adaptive searches only at the end. Trust a "
    "best point only if it is not at the edge of the space, if there are enough trials near it, "
    "and if it is also good on other seeds. To see the effect of one metaparameter, compare its "
    "values, each with the best values of the others.";

static const char *value_of(const vkt_study_trial *t, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < t->n_set; i++)
        if (!strncmp(t->set[i], key, n) && t->set[i][n] == '=') return t->set[i] + n + 1;
    return NULL;
}

static bool counts(const vkt_study_trial *t)
{
    return t->state == VKT_TRIAL_DONE && !isnan(t->best);
}

/* ---- the table: best first, infeasible ones last ---- */

static void sort(const vkt_study *s, size_t *order, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i;
             k > 0 && vkt__study_better(s, s->trials[order[k]].best, s->trials[order[k - 1]].best);
             k--) {
            size_t t = order[k];
            order[k] = order[k - 1];
            order[k - 1] = t;
        }
}

static void settings_cell(vkt_study *s, const vkt_study_trial *t)
{
    vkt__str all = { 0 };
    for (size_t i = 0; i < t->n_set; i++) vkt__str_printf(&all, "%s%s", i ? " " : "", t->set[i]);
    vkt__study_cell(s, "%s", all.data ? all.data : "");
    vkt__str_finish(&all);
}

static void fill_table(vkt_study *s, const vkt__space *space, const size_t *order, size_t n)
{
    const char *columns[MAX_SHOWN_AXES + 4];
    size_t k = 0;
    bool apart = space->n <= MAX_SHOWN_AXES;
    columns[k++] = "trial";
    for (size_t i = 0; i < space->n && apart; i++) columns[k++] = space->axis[i].key;
    if (!apart) columns[k++] = "settings";
    columns[k++] = vkt__study_text(s, "best valid %s", s->metric);
    columns[k++] = "at step";
    columns[k++] = "training";
    vkt__study_columns(s, columns, k);
    for (size_t i = 0; i < n; i++) {
        const vkt_study_trial *t = &s->trials[order[i]];
        vkt__study_cell(s, "%s", t->name);
        for (size_t x = 0; x < space->n && apart; x++) {
            const char *v = value_of(t, space->axis[x].key);
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
    const char *v = x->kind == VKT__AXIS_CHOICE ? NULL : value_of(t, x->key);
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
        for (; k < VKT_MIN(n, VKT_COUNT(at)) && counts(&s->trials[order[k]]); k++)
            at[k] = position(&s->trials[order[k]], x);
        if (!vkt__at_end(at, k)) continue;
        bool lower = at[0] < 0.5;
        if (lower ? x->low <= x->least : x->high >= x->most) continue;
        inside = false;
        vkt__study_advise(s,
                          "the best %s=%s lies at the %s end of its range, %g to %g, and so does "
                          "another of the three best: move the range that way and search again",
                          x->key, value_of(best, x->key), lower ? "lower" : "upper", x->low,
                          x->high);
    }
    if (inside) vkt__study_advise(s, "the best points are not at the edge of the space");
}

/* The playbook: never by the validation result. */
static bool tunes_batch(const vkt__space *space)
{
    for (size_t i = 0; i < space->n; i++)
        if (!strcmp(space->axis[i].key, "train.batch") ||
            !strcmp(space->axis[i].key, "train.accumulate"))
            return true;
    return false;
}

static const char batch_warning[] =
    "the space has the batch size in it, which governs the speed and should not be tuned by the "
    "validation result: what looks like its effect is that of the learning rate and the "
    "regularisation, tuned for another size; choose it with `vktrain study batch-size`, and leave "
    "it out";

/* Best of the trials in each part of one axis. */
static void isolate(vkt_study *s, const vkt__axis *x, const size_t *order, size_t n)
{
    size_t parts = x->kind == VKT__AXIS_CHOICE ? x->n_choices : BINS;
    vkt__str line = { 0 };
    for (size_t b = 0; b < parts; b++) {
        double best = NAN, low = INFINITY, high = -INFINITY;
        size_t in = 0, bad = 0;
        for (size_t k = 0; k < n; k++) {
            size_t i = order[k];
            const char *v = value_of(&s->trials[i], x->key);
            if (!v) continue;
            size_t at = b + 1;
            if (x->kind == VKT__AXIS_CHOICE)
                at = strcmp(v, x->choice[b]) ? b + 1 : b;
            else
                at = VKT_MIN((size_t)(fmax(vkt__axis_position(x, vkt__number_or_nan(v)), 0) * BINS),
                             BINS - 1);
            if (at != b) continue;
            in++;
            low = fmin(low, vkt__number_or_nan(v));
            high = fmax(high, vkt__number_or_nan(v));
            bad += !counts(&s->trials[i]);
            if (counts(&s->trials[i]) && vkt__study_better(s, s->trials[i].best, best))
                best = s->trials[i].best;
        }
        if (!in) continue;
        vkt__str_printf(&line, "%s", line.len ? "; " : "");
        if (x->kind == VKT__AXIS_CHOICE)
            vkt__str_printf(&line, "%s", x->choice[b]);
        else
            vkt__str_printf(&line, "%.3g to %.3g", low, high);
        if (isnan(best))
            vkt__str_printf(&line, ": infeasible (%zu)", in);
        else
            vkt__str_printf(&line, ": %.4g (%zu trial%s%s)", best, in, in == 1 ? "" : "s",
                            bad ? vkt__study_text(s, ", %zu infeasible", bad) : "");
    }
    if (line.len)
        vkt__study_advise(s, "%s, with the best values of the others: %s", x->key, line.data);
    vkt__str_finish(&line);
}

static vkt_status find_axis(const vkt_study *s, const vkt__space *space, const vkt__axis **out)
{
    const char *key = s->priv->desc->isolate, *names[VKT__MAX_AXES];
    *out = &space->axis[0];
    if (!key) return VKT_OK;
    for (size_t i = 0; i < space->n; i++) {
        names[i] = space->axis[i].key;
        *out = &space->axis[i];
        if (!strcmp(names[i], key)) return VKT_OK;
    }
    return vkt__fail(VKT_E_ARG, "study",
                     "--isolate %s: there is no such metaparameter in the space%s", key,
                     vkt_did_you_mean(key, names, space->n).text);
}

static void tell_infeasible(vkt_study *s, const size_t *order, size_t n)
{
    size_t bad = 0, first = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        if (s->trials[order[i]].state == VKT_TRIAL_INFEASIBLE)
            bad++, first = VKT_MIN(first, order[i]);
    if (bad)
        vkt__study_advise(s, "%zu of %zu trials were infeasible; %s: %s", bad, n,
                          s->trials[first].name, s->trials[first].why ? s->trials[first].why : "");
}

static vkt_status read_space(vkt_study *s, vkt__space *space, const vkt__axis **axis)
{
    struct vkt__study_private *p = s->priv;
    vkt_status st = VKT_OK;
    if (!p->space)
        return vkt__fail(
            VKT_E_ARG, "study",
            "search: --space FILE is missing, with lines such as `optim.lr: {log: [1e-4, 0.1]}`");
    VKT_TRY(vkt__space_parse(&p->arena, p->space, strlen(p->space), p->desc->space, p->base_yaml,
                             space));
    VKT_TRY(find_axis(s, space, axis));
fail:
    return st;
}

vkt_status vkt__study_search_check(vkt_study *s)
{
    vkt__space space;
    const vkt__axis *axis;
    return read_space(s, &space, &axis);
}

/* Points [from, to) of the sequence, a trial each; which trials those are into `order`. */
static vkt_status run_points(vkt_study *s, const vkt__space *space, size_t from, size_t to,
                             size_t *order)
{
    vkt__trial_spec *spec = vkt__alloc((to - from + 1) * sizeof *spec);
    size_t first = 0;
    for (size_t i = from; i < to; i++) {
        double u[VKT__MAX_AXES];
        const char **set = vkt__arena_alloc(&s->priv->arena, (space->n + 1) * sizeof *set);
        for (uint32_t x = 0; x < space->n; x++) u[x] = vkt__halton(s->priv->desc->seed, x, i);
        size_t k = vkt__space_point(space, u, &s->priv->arena, set);
        spec[i - from] = (vkt__trial_spec) { .group = "search", .set = set, .n_set = k };
    }
    vkt_status st = vkt__study_trials(s, spec, to - from, &first);
    for (size_t i = from; i < to; i++) order[i] = first + i - from;
    free(spec);
    return st;
}

/* A search that is extended has the comparisons of its earlier ends between its points: old trials
 * [from, to) that are none of these. */
static vkt_status replay(vkt_study *s, size_t from, size_t to)
{
    const json_t *old = json_object_get(s->priv->old, "trials");
    vkt_status st = VKT_OK;
    for (size_t i = from; i < to; i++) {
        const json_t *j = json_array_get(old, i), *list = json_object_get(j, "set");
        const char *group = json_string_value(json_object_get(j, "group"));
        const vkt_study_trial *t;
        size_t n = json_array_size(list);
        const char **set = vkt__arena_alloc(&s->priv->arena, (n + 1) * sizeof *set);
        for (size_t k = 0; k < n; k++) {
            const char *v = json_string_value(json_array_get(list, k));
            set[k] = v ? v : "";
        }
        vkt__trial_spec spec = { .group = vkt__study_text(s, "%s", group ? group : ""),
                                 .set = set,
                                 .n_set = n };
        VKT_TRY(vkt__study_trial(s, &spec, &t));
    }
fail:
    return st;
}

/* The first n points: those that a resumed study has, where it has them, then the new ones. */
static vkt_status run_all(vkt_study *s, const vkt__space *space, size_t n, size_t *order)
{
    const json_t *old = json_object_get(s->priv->old, "trials");
    size_t n_old = json_array_size(old), had = vkt__study_points(s), point = 0, i = 0;
    vkt_status st = VKT_OK;
    while (i < n_old && (point < had || had < n)) {
        size_t end = i, from = i;
        bool search = vkt__study_is_point(s, i);
        while (end < n_old && vkt__study_is_point(s, end) == search) end++;
        i = end;
        if (search)
            VKT_TRY(run_points(s, space, point, point + end - from, order));
        else
            VKT_TRY(replay(s, from, end));
        if (search) point += end - from;
    }
    if (point < n) VKT_TRY(run_points(s, space, point, n, order));
fail:
    return st;
}

vkt_status vkt__study_search(vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_status st = VKT_OK;
    vkt__space space;
    const vkt__axis *axis = NULL;
    size_t n = d->trials ? d->trials : 20, *order = NULL;
    s->playbook = playbook;
    VKT_TRY(read_space(s, &space, &axis));
    if (tunes_batch(&space)) vkt_log(VKT_LOG_WARN, "study", "%s", batch_warning);
    order = vkt__alloc((n + 1) * sizeof *order);
    VKT_TRY(run_all(s, &space, n, order));
    if (d->dry_run) {
        s->n_more = 2 * d->repeats;
        goto fail;
    }
    sort(s, order, n);
    fill_table(s, &space, order, n);
    const vkt_study_trial best = s->trials[order[0]];
    if (!counts(&best)) {
        st = vkt__fail(VKT_E_FAILED, "study",
                       "none of the %zu trials was feasible; message of the first: %s", n,
                       best.why ? best.why : "");
        goto fail;
    }
    VKT_TRY(vkt__study_conclude(s, vkt__study_text(s, "the settings of %s", best.name), best.set,
                                best.n_set));
    check_boundary(s, &space, order, n);
    if (tunes_batch(&space)) vkt__study_advise(s, "%s", batch_warning);
    isolate(s, axis, order, n);
    tell_infeasible(s, order, n);
fail:
    free(order);
    return st;
}
