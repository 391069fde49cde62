/* What a study says: its names, its advice and its table in its arena, and the commands that it
 * prints. Knows no trial under way and no file. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/study_run.h"

const char *vkt_study_kind_name(vkt_study_kind k)
{
    static const char *const names[VKT_STUDY_N_KINDS] = { [VKT_STUDY_SEARCH] = "search",
                                                          [VKT_STUDY_LR] = "lr",
                                                          [VKT_STUDY_WARMUP] = "warmup",
                                                          [VKT_STUDY_CLIP] = "clip",
                                                          [VKT_STUDY_BATCH_SIZE] = "batch-size",
                                                          [VKT_STUDY_FOLDS] = "folds",
                                                          [VKT_STUDY_AUTO] = "auto",
                                                          [VKT_STUDY_DATA] = "data" };
    return k < VKT_STUDY_N_KINDS ? names[k] : "?";
}

const char *vkt_trial_state_name(vkt_trial_state s)
{
    static const char *const names[] = { "planned",     "running", "done", "infeasible",
                                         "interrupted", "pruned",  "cut" };
    return names[s];
}

/* ---- the result: advice, settings, table ---- */

const char *vkt__study_text(vkt_study *s, const char *fmt, ...)
{
    vkt__str t = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&t, fmt, ap);
    va_end(ap);
    const char *out = vkt__arena_strdup(&s->priv->arena, t.data ? t.data : "");
    vkt__str_finish(&t);
    return out;
}

static const char **append(const char **list, size_t *n, size_t *cap, const char *text)
{
    list = vkt__grow((void *)list, *n, cap, sizeof *list);
    list[(*n)++] = text;
    return list;
}

void vkt__study_advise(vkt_study *s, const char *fmt, ...)
{
    vkt__str t = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&t, fmt, ap);
    va_end(ap);
    s->advice = append(s->advice, &s->n_advice, &s->priv->cap_advice,
                       vkt__arena_strdup(&s->priv->arena, t.data));
    vkt__str_finish(&t);
}

void vkt__study_answer_first(vkt_study *s)
{
    const char *last = s->advice[s->n_advice - 1];
    memmove((void *)(s->advice + 1), s->advice, (s->n_advice - 1) * sizeof *s->advice);
    s->advice[0] = last;
}

void vkt__study_apply(vkt_study *s, const char *setting)
{
    s->apply = append(s->apply, &s->n_apply, &s->priv->cap_apply,
                      vkt__arena_strdup(&s->priv->arena, setting));
}

void vkt__study_columns(vkt_study *s, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        s->columns = append(s->columns, &s->n_columns, &s->priv->cap_columns, names[i]);
}

void vkt__study_cell(vkt_study *s, const char *fmt, ...)
{
    struct vkt__study_private *p = s->priv;
    vkt__str t = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&t, fmt, ap);
    va_end(ap);
    s->cells = append(s->cells, &p->n_cells, &p->cap_cells,
                      vkt__arena_strdup(&p->arena, t.data ? t.data : ""));
    s->n_rows = p->n_cells / s->n_columns;
    vkt__str_finish(&t);
}

void vkt__study_cell_number(vkt_study *s, double v)
{
    if (isnan(v))
        vkt__study_cell(s, "-");
    else
        vkt__study_cell(s, "%.4g", v);
}

const char *vkt__study_value(vkt_study *s, const char *key, double v)
{
    char text[32];
    return vkt__study_text(s, "%s=%s", key, vkt__double_text(vkt__rounded("%.4g", v), false, text));
}

/* ---- commands ---- */

static void add_word(vkt__str *s, const char *word)
{
    vkt__str_add(s, " ", 1);
    vkt__shell_word(s, word);
}

/* Whether one of the settings is for the same key. */
static bool sets_key_of(const char *one, const char *const *set, size_t n_set)
{
    size_t key = strcspn(one, "=") + 1;
    for (size_t i = 0; i < n_set; i++)
        if (!strncmp(one, set[i], key)) return true;
    return false;
}

/* Trials have all their steps, so what was tried ends as it did only without the recipe's patience.
 */
static void add_patience(const vkt_study *s, const char *const *set, size_t n_set, vkt__str *t)
{
    const vkt_study_desc *d = s->priv->desc;
    if (s->priv->has_patience && !sets_key_of("train.patience=", d->set, d->n_set) &&
        !sets_key_of("train.patience=", set, n_set))
        vkt__str_printf(t, " --set train.patience=0");
}

const char *vkt__study_of(vkt_study *s, const char *kind, const char *more)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt__str t = { 0 };
    vkt__str_printf(&t, "vktrain study %s", kind);
    add_word(&t, d->recipe);
    for (size_t i = 0; i < d->n_set; i++) {
        vkt__str_printf(&t, " --set");
        add_word(&t, d->set[i]);
    }
    if (d->steps) vkt__str_printf(&t, " --steps %llu", (unsigned long long)d->steps);
    if (d->gpu.device) {
        vkt__str_printf(&t, " --device");
        add_word(&t, d->gpu.device);
    }
    if (more) vkt__str_printf(&t, " %s", more);
    const char *out = vkt__arena_strdup(&s->priv->arena, t.data);
    vkt__str_finish(&t);
    return out;
}

const char *vkt__study_command(vkt_study *s, const char *const *set, size_t n_set)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt__str t = { 0 };
    vkt__str_printf(&t, "vktrain train");
    add_word(&t, d->recipe);
    for (size_t i = 0; i < d->n_set + n_set; i++) {
        const char *one = i < d->n_set ? d->set[i] : set[i - d->n_set];
        if (i < d->n_set && sets_key_of(one, set, n_set)) continue;
        vkt__str_printf(&t, " --set");
        add_word(&t, one);
    }
    add_patience(s, set, n_set, &t);
    /* The trial's own settings come last and win; the study's budget goes before them. */
    bool has_steps = false;
    for (size_t i = 0; i < n_set; i++) has_steps |= !strncmp(set[i], "train.steps=", 12);
    if (d->steps && !has_steps)
        vkt__str_printf(&t, " --set train.steps=%llu", (unsigned long long)d->steps);
    if (d->gpu.device) {
        vkt__str_printf(&t, " --device");
        add_word(&t, d->gpu.device);
    }
    const char *out = vkt__arena_strdup(&s->priv->arena, t.data);
    vkt__str_finish(&t);
    return out;
}
