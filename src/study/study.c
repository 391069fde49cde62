/* A study's life: what all kinds share before, between and after their trials. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/study_run.h"
#include "runs/curve.h"
#include "recipe/options.h"

typedef struct kind {
    const char *name;
    vkt_status (*check)(vkt_study *s);
    vkt_status (*run)(vkt_study *s);
} kind;
static const kind kinds[VKT_STUDY_N_KINDS] = {
    [VKT_STUDY_SEARCH] = { "search", vkt__study_search_check, vkt__study_search },
    [VKT_STUDY_LR] = { "lr", vkt__study_lr_check, vkt__study_lr },
    [VKT_STUDY_WARMUP] = { "warmup", vkt__study_warmup_check, vkt__study_warmup },
    [VKT_STUDY_CLIP] = { "clip", vkt__study_clip_check, vkt__study_clip },
    [VKT_STUDY_BATCH_SIZE] = { "batch-size", vkt__study_batch_size_check, vkt__study_batch_size },
};

const char *vkt_study_kind_name(vkt_study_kind k)
{
    return k < VKT_STUDY_N_KINDS ? kinds[k].name : "?";
}

const char *vkt_trial_state_name(vkt_trial_state s)
{
    static const char *const names[] = { "planned", "running", "done", "infeasible" };
    return names[s];
}

/* ---- texts ---- */

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
    char short_text[32], text[32];
    snprintf(short_text, sizeof short_text, "%.4g", v);
    return vkt__study_text(s, "%s=%s", key, vkt__double_text(atof(short_text), false, text));
}

/* ---- commands ---- */

static void add_word(vkt__str *s, const char *word)
{
    bool plain = *word && !word[strcspn(word, " \t\"'\\$&|;<>()*?[]#~`!{}")];
    vkt__str_printf(s, plain ? " %s" : " '%s'", word);
}

/* Whether one of the settings is for the same key. */
static bool sets_key_of(const char *one, const char *const *set, size_t n_set)
{
    size_t key = strcspn(one, "=") + 1;
    for (size_t i = 0; i < n_set; i++)
        if (!strncmp(one, set[i], key)) return true;
    return false;
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

/* ---- judging a trial ---- */

const char *vkt__trial_word(const vkt_study_trial *t, double reference)
{
    if (t->state == VKT_TRIAL_INFEASIBLE) return isinf(t->rise) ? "diverged" : "infeasible";
    if (t->rise > 0) return "loss rises";
    if (t->first_loss - t->final_loss < 0.5 * (t->first_loss - reference)) return "hardly learns";
    return "stable";
}

bool vkt__trial_stable(const vkt_study_trial *t, double reference)
{
    return !strcmp(vkt__trial_word(t, reference), "stable");
}

/* ---- comparing ---- */

bool vkt__study_better(const vkt_study *s, double a, double b)
{
    if (isnan(a) || isnan(b)) return !isnan(a) && isnan(b);
    return s->metric_sign * (a - b) > 0;
}

/* A configuration on fresh seeds, as trials to be run: spec [repeats]. */
static void on_seeds(vkt_study *s, const char *group, const char *const *set, size_t n_set,
                     vkt__trial_spec *spec)
{
    for (uint32_t r = 0; r < s->priv->desc->repeats; r++) {
        const char **all = vkt__arena_alloc(&s->priv->arena, (n_set + 1) * sizeof *all);
        if (n_set) memcpy(all, set, n_set * sizeof *all);
        all[n_set] =
            vkt__study_text(s, "seed=%llu", (unsigned long long)(s->priv->base->seed + 101 + r));
        spec[r] = (vkt__trial_spec) { .group = group, .set = all, .n_set = n_set + 1 };
    }
}

/* The metric of n trials; an infeasible one counts as the worst. */
static void metrics(const vkt_study *s, size_t first, uint32_t n, double *value)
{
    for (uint32_t i = 0; i < n; i++) {
        double v = s->trials[first + i].best;
        value[i] = isnan(v) ? -s->metric_sign * INFINITY : v;
    }
}

static void spread(const double *v, uint32_t n, double *median, double *low, double *high)
{
    *median = vkt__median(v, n);
    *low = vkt__quantile(v, n, 0);
    *high = vkt__quantile(v, n, 1);
}

vkt_status vkt__study_compare(vkt_study *s, const char *const *set, size_t n_set,
                              vkt__comparison *out)
{
    uint32_t n = s->priv->desc->repeats;
    vkt_status st = VKT_OK;
    size_t first;
    vkt__trial_spec *spec = vkt__alloc((2 * (size_t)n + 1) * sizeof *spec);
    double *a = vkt__alloc((n + 1) * sizeof *a), *b = vkt__alloc((n + 1) * sizeof *b);
    *out = (vkt__comparison) { NAN, NAN, NAN, NAN, NAN, NAN, false };
    on_seeds(s, "recipe", NULL, 0, spec);
    on_seeds(s, "candidate", set, n_set, spec + n);
    VKT_TRY(vkt__study_trials(s, spec, 2 * (size_t)n, &first));
    if (s->priv->desc->dry_run) goto fail;
    metrics(s, first, n, a);
    metrics(s, first + n, n, b);
    spread(a, n, &out->recipe, &out->recipe_low, &out->recipe_high);
    spread(b, n, &out->candidate, &out->candidate_low, &out->candidate_high);
    out->holds = isfinite(out->candidate) && !vkt__study_better(s, out->recipe, out->candidate);
fail:
    free(spec);
    free(a);
    free(b);
    return st;
}

vkt_status vkt__study_conclude(vkt_study *s, const char *what, const char *const *set, size_t n_set)
{
    vkt__comparison c;
    vkt_status st = vkt__study_compare(s, set, n_set, &c);
    if (st != VKT_OK || s->priv->desc->dry_run) return st;
    const char *numbers = vkt__study_text(
        s,
        "%s %.4g (%.4g to %.4g) against %.4g (%.4g to %.4g), median and extremes of %u fresh "
        "seed%s",
        s->metric, c.candidate, c.candidate_low, c.candidate_high, c.recipe, c.recipe_low,
        c.recipe_high, s->priv->desc->repeats, s->priv->desc->repeats == 1 ? "" : "s");
    if (c.holds) {
        vkt__study_advise(s, "%s: on validation it is at least as good as the recipe: %s", what,
                          numbers);
        for (size_t i = 0; i < n_set; i++) vkt__study_apply(s, set[i]);
    } else {
        vkt__study_advise(
            s, "leave the recipe as it is: %s was chosen by one seed and does not hold: %s", what,
            numbers);
    }
    if (fmin(c.recipe_high, c.candidate_high) >= fmax(c.recipe_low, c.candidate_low) &&
        c.recipe != c.candidate)
        vkt__study_advise(s, "the seeds' ranges overlap: the difference is not certain; --seeds N "
                             "compares on more");
    s->command = vkt__study_command(s, s->apply, s->n_apply);
    return VKT_OK;
}

/* ---- the whole ---- */

static const char *default_dir(vkt_study *s)
{
    char t[32];
    vkt__time_iso(t);
    const char *base = vkt__study_text(s, "runs/%s-%s-%.4s%.2s%.2s-%.2s%.2s%.2s", s->name,
                                       vkt_study_kind_name(s->kind), t, t + 5, t + 8, t + 11,
                                       t + 14, t + 17),
               *dir = base;
    for (int i = 2; vkt__file_exists(dir); i++) dir = vkt__study_text(s, "%s-%d", base, i);
    return dir;
}

static vkt_status check_data(vkt_study *s)
{
    struct vkt__study_private *p = s->priv;
    vkt_dataset *data = NULL;
    vkt_status st = vkt_dataset_open(&p->base->data, &data);
    if (st != VKT_OK) return st;
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    p->n_train = info->n[VKT_TRAIN];
    p->n_valid = info->n[VKT_VALID];
    vkt_dataset_destroy(&data);
    if (!p->n_valid)
        return vkt__fail(VKT_ARG, "study",
                         "there are no validation examples to judge by: set data.valid_fraction");
    return VKT_OK;
}

/* All devices that trials will ask for, before a folder is made for them. A study that goes on has
 * its folder, and perhaps nothing left to run. */
static vkt_status check_devices(const vkt_study *s)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_gpu_desc gpu = d->gpu;
    vkt_status st = VKT_OK;
    if (d->resume) return VKT_OK;
    if (!gpu.device) gpu.device = s->priv->base->device;
    if (!d->n_devices) return vkt_gpu_check(&gpu);
    for (size_t i = 0; i < d->n_devices && st == VKT_OK; i++) {
        gpu.device = d->devices[i];
        st = vkt_gpu_check(&gpu);
    }
    return st;
}

static vkt_status prepare(vkt_study *s)
{
    struct vkt__study_private *p = s->priv;
    const vkt_study_desc *d = p->desc;
    vkt_status st = VKT_OK;
    char *data = NULL;
    size_t n;
    VKT_TRY(vkt__trial_config(s, NULL, 0, &p->base));
    p->base_yaml = vkt_config_yaml(p->base);
    s->name = p->base->name;
    s->note = d->note ? d->note : p->base->note;
    s->metric = p->base->metric;
    s->metric_sign = p->base->metric_sign;
    s->steps = p->base->schedule.steps;
    if (d->space) {
        VKT_TRY(vkt__file_read(d->space, 1 << 20, &data, &n));
        p->space = vkt__arena_strdup(&p->arena, data);
    }
    p->options = vkt__study_text(
        s,
        "trials=%u points=%u from=%g to=%g seeds=%u unstable_lr=%g factor=%g norms_from=%s "
        "target=%g%s",
        d->trials, d->points, d->from, d->to, d->repeats, d->unstable_lr, d->factor,
        d->norms_from ? d->norms_from : "-", d->has_target ? d->target : NAN,
        d->ramp ? " ramp" : "");
    VKT_TRY(check_data(s));
    vkt__checkout_of(d->recipe, &p->checkout);
    s->dir = d->dir ? vkt__arena_strdup(&p->arena, d->dir) : default_dir(s);
    VKT_TRY(kinds[s->kind].check(s));
    VKT_TRY(check_devices(s));
    VKT_TRY(vkt__study_open(s));
fail:
    free(data);
    return st;
}

static vkt_status estimate(vkt_study *s)
{
    double most = 0, seconds;
    vkt_status st = VKT_OK;
    if (!s->n_trials) return VKT_OK;
    VKT_TRY(vkt__trial_estimate(s, s->trials[0].set, s->trials[0].n_set, &seconds));
    most = seconds;
    size_t at_a_time = VKT_MAX(s->priv->desc->n_devices, 1);
    s->estimate_s = most * (double)((s->n_trials + at_a_time - 1) / at_a_time);
fail:
    return st;
}

vkt_status vkt_study_run(const vkt_study_desc *desc, vkt_study **out)
{
    vkt_status st = VKT_OK;
    vkt_study_desc d = *desc;
    vkt_study *s = vkt__alloc(sizeof *s);
    s->priv = vkt__alloc(sizeof *s->priv);
    *out = NULL;
    if (!d.repeats) d.repeats = 3;
    s->priv->desc = &d;
    s->kind = d.kind;
    s->recipe = d.recipe;
    s->status = "running";
    s->estimate_s = NAN;
    if ((unsigned)d.kind >= VKT_STUDY_N_KINDS) {
        st = vkt__fail(VKT_ARG, "study", "there is no study number %d", (int)d.kind);
        goto fail;
    }
    VKT_TRY(prepare(s));
    st = kinds[d.kind].run(s);
    if (st == VKT_OK && d.dry_run) st = estimate(s);
    s->status = st == VKT_OK ? "done" : st == VKT_INTERRUPTED ? "interrupted" : "failed";
    vkt_status saved = s->priv->lock ? vkt__study_save(s) : VKT_OK;
    if (st == VKT_OK) st = saved;
    if (st == VKT_OK || st == VKT_INTERRUPTED) {
        *out = s;
        s = NULL;
    }
fail:
    if (*out) {
        vkt__lock_release(&(*out)->priv->lock);
        (*out)->priv->desc = NULL;
    }
    vkt_study_destroy(&s);
    return st;
}

void vkt_study_destroy(vkt_study **s)
{
    if (!*s) return;
    struct vkt__study_private *p = (*s)->priv;
    vkt__lock_release(&p->lock);
    vkt_config_destroy(&p->base);
    free(p->base_yaml);
    json_decref(p->old);
    vkt__arena_finish(&p->arena);
    free((*s)->trials);
    free((void *)(*s)->columns);
    free((void *)(*s)->cells);
    free((void *)(*s)->advice);
    free((void *)(*s)->apply);
    free(p);
    free(*s);
    *s = NULL;
}
