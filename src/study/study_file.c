/* A study's folder: lock, study.json, and recalling from it. study.json is written after each
 * trial, whole or not at all; a trial that it calls finished is never run again. */
#include <math.h>
#include <stdio.h>

#include "study/study_run.h"

enum { STUDY_LIMIT = 64 << 20 };

/* ---- numbers ---- */

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : isinf(v) ? json_string("inf") : json_null();
}

static double to_number(const json_t *j)
{
    return json_is_number(j) ? json_number_value(j) : json_is_string(j) ? INFINITY : NAN;
}

/* The numbers of a trial, for writing and reading alike. */
typedef struct field {
    const char *name;
    size_t offset;
    bool count;
} field;
#define NUMBER(f)                                                                                  \
    {                                                                                              \
#f, offsetof(vkt_study_trial, f), false                                                    \
    }
#define COUNT(f)                                                                                   \
    {                                                                                              \
#f, offsetof(vkt_study_trial, f), true                                                     \
    }
static const field fields[] = {
    COUNT(steps),       COUNT(best_step), NUMBER(best),    NUMBER(first_loss),
    NUMBER(final_loss), NUMBER(rise),     NUMBER(clipped), NUMBER(items_per_s),
    NUMBER(step_ms),    NUMBER(step_j),   NUMBER(seconds), COUNT(device_bytes),
    COUNT(to_target),
};

static json_t *numbers(const double *v, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(a, number(v[i]));
    return a;
}

static json_t *text_list(const char *const *text, size_t n)
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(a, json_string(text[i]));
    return a;
}

static json_t *trial_json(const vkt_study_trial *t)
{
    json_t *j = json_pack("{ss ss ss so ss?}", "name", t->name, "group", t->group, "state",
                          vkt_trial_state_name(t->state), "set", text_list(t->set, t->n_set), "why",
                          t->why);
    for (size_t i = 0; i < VKT_COUNT(fields); i++) {
        const char *at = (const char *)t + fields[i].offset;
        uint64_t u;
        double d;
        if (fields[i].count) {
            memcpy(&u, at, sizeof u);
            json_object_set_new(j, fields[i].name, json_integer((json_int_t)u));
        } else {
            memcpy(&d, at, sizeof d);
            json_object_set_new(j, fields[i].name, number(d));
        }
    }
    if (!isnan(t->rung[0])) json_object_set_new(j, "rungs", numbers(t->rung, VKT_STUDY_RUNGS));
    return j;
}

/* Until a resumed study is done, what it has not come to is as it was: it may end before that. */
static json_t *trials_json(const vkt_study *s)
{
    const json_t *old = json_object_get(s->priv->old, "trials");
    size_t n_old = strcmp(s->status, "done") ? json_array_size(old) : 0;
    json_t *a = json_array();
    for (size_t i = 0; i < VKT_MAX(s->n_trials, n_old); i++) {
        bool begun = i < s->n_trials && s->trials[i].state != VKT_TRIAL_PLANNED;
        if (begun || i >= n_old)
            json_array_append_new(a, trial_json(&s->trials[i]));
        else
            json_array_append(a, json_array_get(old, i));
    }
    return a;
}

static json_t *part_json(const vkt_study_part *p)
{
    return json_pack("{ss so so sI sI sI so so so ss?}", "label", p->label, "low", number(p->low),
                     "high", number(p->high), "trials", (json_int_t)p->n, "infeasible",
                     (json_int_t)p->infeasible, "pruned", (json_int_t)p->pruned, "best",
                     number(p->best), "best_low", number(p->best_low), "best_high",
                     number(p->best_high), "trial", p->trial);
}

json_t *vkt__study_effects_json(const vkt_study *s)
{
    json_t *all = json_array();
    for (size_t i = 0; i < s->n_effects; i++) {
        const vkt_study_effect *e = &s->effects[i];
        json_t *parts = json_array();
        for (size_t k = 0; k < e->n_parts; k++)
            json_array_append_new(parts, part_json(&e->parts[k]));
        json_array_append_new(
            all, json_pack("{ss ss? ss ss so so so so so sb sb so}", "key", e->key, "when", e->when,
                           "role", e->role, "scale", e->scale, "low", number(e->low), "high",
                           number(e->high), "importance", number(e->share), "importance_low",
                           number(e->share_low), "importance_high", number(e->share_high),
                           "importance_shown", (int)e->shown, "isolated", (int)e->isolated, "parts",
                           parts));
    }
    return all;
}

/* As the study was begun: what it was resumed with does not begin it. */
static const char *first_command(const vkt_study *s)
{
    const char *first = json_string_value(json_object_get(s->priv->old, "study_command"));
    return first ? first : s->priv->desc->command;
}

static json_t *study_json(const vkt_study *s)
{
    const struct vkt__study_private *p = s->priv;
    json_t *rows = json_array();
    for (size_t i = 0; i < s->n_rows; i++)
        json_array_append_new(rows, text_list(s->cells + i * s->n_columns, s->n_columns));
    json_t *j = json_pack("{ss ss ss ss ss? ss ss? ss ss ss si}", "format", "vktrain study",
                          "version", VKT_VERSION, "kind", vkt_study_kind_name(s->kind), "name",
                          s->name, "note", s->note, "recipe", s->recipe, "study_command",
                          first_command(s), "started", p->started, "status", s->status, "metric",
                          s->metric, "metric_sign", s->metric_sign);
    if (s->priv->old)
        json_object_set_new(j, "resumed_with",
                            p->desc->command ? json_string(p->desc->command) : json_null());
    char hash[24];
    snprintf(hash, sizeof hash, "%016llx",
             (unsigned long long)vkt__hash(p->base_yaml, strlen(p->base_yaml), 0));
    json_object_set_new(j, "recipe_hash", json_string(hash));
    json_object_set_new(j, "commit",
                        *p->checkout.commit ? json_string(p->checkout.commit) : json_null());
    json_object_set_new(j, "changes",
                        p->checkout.known ? json_string(p->checkout.changes) : json_null());
    json_object_set_new(j, "seed", json_integer((json_int_t)p->desc->seed));
    json_object_set_new(j, "steps", json_integer((json_int_t)s->steps));
    json_object_set_new(j, "options", json_string(p->options));
    json_object_set_new(j, "space", p->space ? json_string(p->space) : json_null());
    json_object_set_new(j, "set", text_list(p->desc->set, p->desc->n_set));
    json_object_set_new(j, "config", json_string(p->base_yaml));
    json_object_set_new(j, "trials", trials_json(s));
    json_object_set_new(j, "columns", text_list(s->columns, s->n_columns));
    json_object_set_new(j, "rows", rows);
    json_object_set_new(j, "advice", text_list(s->advice, s->n_advice));
    json_object_set_new(j, "apply", text_list(s->apply, s->n_apply));
    if (s->n_effects) json_object_set_new(j, "metaparameters", vkt__study_effects_json(s));
    json_object_set_new(j, "playbook", json_string(s->playbook ? s->playbook : ""));
    json_object_set_new(j, "command", s->command ? json_string(s->command) : json_null());
    if (s->best_run) json_object_set_new(j, "best_run", json_string(s->best_run));
    return j;
}

vkt_status vkt__study_save(const vkt_study *s)
{
    vkt__str path = { 0 }, out = { 0 };
    if (s->priv->desc->dry_run) return VKT_OK;
    json_t *j = study_json(s);
    char *text = json_dumps(j, JSON_INDENT(1));
    vkt__str_printf(&path, "%s/study.json", s->dir);
    vkt__str_printf(&out, "%s\n", text ? text : "");
    vkt_status st = text ? vkt__file_replace(path.data, out.data, out.len)
                    : j  ? vkt__fail(VKT_E_OOM_HOST, "study", "no memory for '%s'", path.data)
                         : vkt__fail(VKT_E_ARG, "study", "'%s': a text is not UTF-8", path.data);
    json_decref(j);
    free(text);
    vkt__str_finish(&path);
    vkt__str_finish(&out);
    return st;
}

/* ---- opening ---- */

static const char *old_text(const vkt_study *s, const char *key)
{
    const char *v = json_string_value(json_object_get(s->priv->old, key));
    return v ? v : "";
}

bool vkt__study_is_point(const vkt_study *s, size_t i)
{
    const json_t *j = json_array_get(json_object_get(s->priv->old, "trials"), i);
    const char *group = json_string_value(json_object_get(j, "group"));
    return group && !strcmp(group, "search");
}

size_t vkt__study_points(const vkt_study *s)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(s->priv->old, "trials")); i++)
        n += vkt__study_is_point(s, i);
    return n;
}

/* Whether the recipe is the study's: an older version's lacks newer options, which have their
 * defaults then. */
static vkt_status compare_recipes(const vkt_study *s, bool *same)
{
    const char *old = old_text(s, "config");
    vkt_config *c = NULL;
    char *yaml = NULL;
    vkt_status st = VKT_OK;
    *same = !strcmp(old, s->priv->base_yaml);
    if (*same) return VKT_OK;
    vkt__log_hold(true); /* an old recipe's faults are not the user's */
    VKT_TRY(vkt_config_create(&c));
    VKT_TRY(vkt_config_parse(c, old, strlen(old), "study.json"));
    VKT_TRY(vkt_config_finish(c));
    yaml = vkt_config_yaml(c);
    *same = yaml && !strcmp(yaml, s->priv->base_yaml);
fail:
    vkt__log_hold(false);
    free(yaml);
    vkt_config_destroy(&c);
    return st == VKT_E_OOM_HOST ? vkt__fail(st, "study", "%s", vkt__last_failure()) : VKT_OK;
}

/* What makes it the same study, most telling first. */
static vkt_status check_same(const vkt_study *s)
{
    const struct vkt__study_private *p = s->priv;
    const json_t *seed = json_object_get(p->old, "seed");
    bool same;
    if (strcmp(old_text(s, "format"), "vktrain study") || !*old_text(s, "kind"))
        return vkt__fail(VKT_E_FORMAT, "study", "'%s/study.json' was not written by vktrain",
                         s->dir);
    if (strcmp(old_text(s, "kind"), vkt_study_kind_name(s->kind)))
        return vkt__fail(VKT_E_ARG, "study",
                         "'%s' holds a study of kind %s, not %s: give another --study", s->dir,
                         vkt__show(old_text(s, "kind")).s, vkt_study_kind_name(s->kind));
    vkt_status st = compare_recipes(s, &same);
    if (st != VKT_OK) return st;
    if (!same && s->kind == VKT_STUDY_BATCH_SIZE)
        return vkt__fail(VKT_E_ARG, "study",
                         "the recipe has changed since '%s' was measured (it was '%s'): the best "
                         "batch size may have, too: measure again, with another --study",
                         s->dir, old_text(s, "recipe"));
    if (!same)
        return vkt__fail(VKT_E_ARG, "study",
                         "'%s' is a study of another recipe ('%s', or with other options): give "
                         "another --study, or the recipe and --set as they were",
                         s->dir, old_text(s, "recipe"));
    if (strcmp(old_text(s, "space"), p->space ? p->space : ""))
        return vkt__fail(VKT_E_ARG, "study",
                         "'%s' is a study of another space: give another --study, or the space as "
                         "it was",
                         s->dir);
    bool search = s->kind == VKT_STUDY_SEARCH;
    size_t points = search ? vkt__study_points(s) : 0,
           asked = p->desc->trials ? p->desc->trials : 20;
    if (search && points > asked)
        return vkt__fail(
            VKT_E_ARG, "study",
            "'%s' has %zu trials of its search already: --trials must be at least that "
            "many, more extend it",
            s->dir, points);
    /* The number of trials comes first among the options: more of them are the same study. */
    const char *was = old_text(s, "options"), *is = p->options;
    if (search) was += strcspn(was, " "), is += strcspn(is, " ");
    if (strcmp(was, is) || (uint64_t)json_integer_value(seed) != p->desc->seed)
        return vkt__fail(VKT_E_ARG, "study",
                         "'%s' was started with other options (%s seed=%lld): give them again, or "
                         "another --study",
                         s->dir, old_text(s, "options"), (long long)json_integer_value(seed));
    return VKT_OK;
}

static vkt_status read_old(vkt_study *s, const char *path)
{
    struct vkt__study_private *p = s->priv;
    json_error_t err;
    char *data = NULL;
    size_t n;
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__file_read(path, STUDY_LIMIT, &data, &n));
    p->old = json_loadb(data, n, 0, &err);
    if (!p->old) {
        st = vkt__fail(VKT_E_FORMAT, "study", "'%s' is damaged: line %d: %s", path, err.line,
                       err.text);
        goto fail;
    }
    VKT_TRY(check_same(s));
    if (*old_text(s, "started"))
        snprintf(p->started, sizeof p->started, "%s", old_text(s, "started"));
fail:
    free(data);
    return st;
}

vkt_status vkt__study_open(vkt_study *s)
{
    struct vkt__study_private *p = s->priv;
    const vkt_study_desc *d = p->desc;
    vkt_status st = VKT_OK;
    const char *path = vkt__arena_printf(&p->arena, "%s/study.json", s->dir);
    bool there = !vkt__is_absent(path);
    vkt__time_iso(p->started);
    if (d->dry_run) return VKT_OK;
    if (d->resume && !there) {
        st = vkt__fail(VKT_E_ARG, "study",
                       "no study in '%s' to resume; leave out --resume to start one", s->dir);
        goto fail;
    }
    if (!d->resume && there) {
        st = vkt__fail(
            VKT_E_ARG, "study",
            "'%s' already holds a study: add --resume to continue it, or give another --study",
            s->dir);
        goto fail;
    }
    VKT_TRY(vkt__mkdirs(s->dir));
    VKT_TRY(vkt__lock_take(vkt__arena_printf(&p->arena, "%s/.lock", s->dir), &p->lock));
    if (!p->lock) {
        st = vkt__fail(VKT_E_ARG, "study",
                       "another process works on the study in '%s': wait for it, or give another "
                       "--study",
                       s->dir);
        goto fail;
    }
    VKT_TRY(vkt__asides_remove(s->dir));
    if (there) VKT_TRY(read_old(s, path));
fail:
    return st;
}

/* ---- recalling ---- */

static bool same_settings(const json_t *list, const vkt_study_trial *t)
{
    if (json_array_size(list) != t->n_set) return false;
    for (size_t i = 0; i < t->n_set; i++) {
        const char *v = json_string_value(json_array_get(list, i));
        if (!v || strcmp(v, t->set[i])) return false;
    }
    return true;
}

vkt_status vkt__study_recall(const vkt_study *s, size_t i, vkt_study_trial *t, bool *found)
{
    const json_t *j = json_array_get(json_object_get(s->priv->old, "trials"), i);
    const char *state = json_string_value(json_object_get(j, "state")),
               *group = json_string_value(json_object_get(j, "group")),
               *why = json_string_value(json_object_get(j, "why"));
    *found = false;
    if (!j) return VKT_OK;
    if (!group || !state || strcmp(group, t->group) || !same_settings(json_object_get(j, "set"), t))
        return vkt__fail(VKT_E_ARG, "study",
                         "'%s/study.json': trial %zu differs from the one that this version of "
                         "vktrain plans: start a new study",
                         s->dir, i);
    static const vkt_trial_state ended[] = { VKT_TRIAL_DONE, VKT_TRIAL_INFEASIBLE, VKT_TRIAL_PRUNED,
                                             VKT_TRIAL_CUT };
    for (size_t k = 0; k < VKT_COUNT(ended) && !*found; k++) {
        *found = !strcmp(state, vkt_trial_state_name(ended[k]));
        if (*found) t->state = ended[k];
    }
    if (!*found) { /* it goes on, and what it took so far was spent */
        const json_t *seconds = json_object_get(j, "seconds");
        t->seconds = json_is_number(seconds) ? json_number_value(seconds) : 0;
        return VKT_OK;
    }
    const json_t *rungs = json_object_get(j, "rungs");
    for (size_t k = 0; k < VKT_STUDY_RUNGS; k++) t->rung[k] = to_number(json_array_get(rungs, k));
    for (size_t k = 0; k < VKT_COUNT(fields); k++) {
        const json_t *v = json_object_get(j, fields[k].name);
        char *at = (char *)t + fields[k].offset;
        uint64_t u = json_is_integer(v) ? (uint64_t)json_integer_value(v) : 0;
        double d = to_number(v);
        if (fields[k].count)
            memcpy(at, &u, sizeof u);
        else
            memcpy(at, &d, sizeof d);
    }
    t->why = why ? vkt__arena_strdup(&s->priv->arena, why) : NULL;
    return VKT_OK;
}
