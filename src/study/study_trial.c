/* Trials: runs in the study's folder, several at a time where they don't depend on one another,
 * resumed where they were killed. A trial that diverges or does not fit is a result, not an error.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "study/study_run.h"

vkt_status vkt__trial_config(const vkt_study *s, const char *const *set, size_t n_set,
                             vkt_config **out)
{
    const vkt_study_desc *d = s->priv->desc;
    vkt_status st = VKT_OK;
    vkt_config *c = NULL;
    char steps[48];
    VKT_TRY(vkt_config_create(&c));
    VKT_TRY(vkt_config_load(c, d->recipe));
    VKT_TRY(vkt_config_set(c, "checkpoint.keep=1")); /* many trials, one of them is wanted */
    s->priv->has_patience = c->patience > 0;
    VKT_TRY(vkt_config_set(c, "train.patience=0")); /* all get the same steps */
    for (size_t i = 0; i < d->n_set; i++) VKT_TRY(vkt_config_set(c, d->set[i]));
    if (d->steps) {
        snprintf(steps, sizeof steps, "train.steps=%llu", (unsigned long long)d->steps);
        VKT_TRY(vkt_config_set(c, steps));
    }
    for (size_t i = 0; i < n_set; i++) VKT_TRY(vkt_config_set(c, set[i]));
    VKT_TRY(vkt_config_finish(c));
    *out = c;
    return VKT_OK;
fail:
    vkt_config_destroy(&c);
    return st;
}

static vkt_study_trial *add_trial(vkt_study *s, const vkt__trial_spec *spec)
{
    struct vkt__study_private *p = s->priv;
    const char **set = vkt__arena_alloc(&p->arena, (spec->n_set + 1) * sizeof *set);
    for (size_t i = 0; i < spec->n_set; i++) set[i] = vkt__arena_strdup(&p->arena, spec->set[i]);
    s->trials = vkt__grow(s->trials, s->n_trials, &p->cap_trials, sizeof *s->trials);
    vkt_study_trial *t = &s->trials[s->n_trials++];
    *t = (vkt_study_trial) { .group = spec->group,
                             .set = set,
                             .n_set = spec->n_set,
                             .best = NAN,
                             .first_loss = NAN,
                             .final_loss = NAN,
                             .clipped = NAN,
                             .items_per_s = NAN,
                             .step_ms = NAN,
                             .step_j = NAN };
    for (size_t i = 0; i < VKT_STUDY_RUNGS; i++) t->rung[i] = NAN;
    snprintf(t->name, sizeof t->name, "trial-%04zu", s->n_trials - 1);
    return t;
}

/* ---- running it ---- */

/* Trials at work: which is next, who may touch the study. A worker trains with the lock released.
 */
typedef struct pool {
    vkt_study *s;
    const vkt__trial_spec *spec;
    const bool *finished; /* [n]: recalled */
    size_t first, next, n;
    vkt__mutex *lock; /* NULL: one worker, no threads */
    vkt_status st;    /* what ended the work, or OK */
    atomic_int stop;  /* st is not OK: the others end with a checkpoint, to be resumed */
} pool;

typedef struct worker {
    pool *p;
    const char *device; /* NULL: the study's */
    vkt__thread *thread;
} worker;

/* One trial under way. */
typedef struct job {
    vkt_study *s;
    pool *p;
    size_t trial;      /* of s->trials, which moves */
    bool until_target; /* else it runs its whole budget */
    uint64_t rung[VKT_STUDY_RUNGS];
    size_t n_rungs;
    double best;
    double earlier;        /* seconds before the study was resumed */
    double began, seconds; /* INFINITY: it may take any time */
    bool stopped, pruned, cut;
    uint64_t energy_from; /* step after which the energy is counted; 0: not yet */
    double step_j;
} job;

static void lock(pool *p)
{
    if (p->lock) vkt__mutex_lock(p->lock);
}

static void unlock(pool *p)
{
    if (p->lock) vkt__mutex_unlock(p->lock);
}

/* The energy of the steps between the first fifth, as their times, and the last twentieth, behind
 * which an evaluation is. */
static void watch_energy(job *j, const vkt_progress *p)
{
    vkt__energy *e = j->s->priv->energy;
    if (!e || p->step >= p->total || !isnan(j->step_j)) return;
    if (!j->energy_from && p->step > p->total / 5) {
        vkt__energy_begin(e);
        j->energy_from = p->step;
    } else if (j->energy_from && p->step >= p->total - p->total / 20 && p->step > j->energy_from) {
        j->step_j = vkt__energy_end(e, NULL) / (double)(p->step - j->energy_from);
    }
}

static void on_progress(void *user, const vkt_progress *p)
{
    job *j = user;
    double target = j->s->priv->desc->target, value = p->eval_metric;
    if (atomic_load(&j->p->stop)) vkt_train_stop();
    watch_energy(j, p);
    double now = vkt__now() - j->began;
    lock(j->p);
    j->s->trials[j->trial].seconds = j->earlier + now; /* which others' time is counted by */
    unlock(j->p);
    if (now > j->seconds && p->step < p->total) j->stopped = j->cut = true;
    if (!p->evaluated || j->stopped) return;
    if (vkt__study_better(j->s, value, j->best)) j->best = value;
    if (j->n_rungs) {
        lock(j->p);
        j->pruned =
            vkt__prune_now(j->s, &j->s->trials[j->trial], j->rung, j->n_rungs, p->step, j->best);
        unlock(j->p);
    }
    bool reached = j->until_target && !isnan(value) && !vkt__study_better(j->s, target, value);
    j->stopped = (j->pruned || reached) && p->step < p->total;
}

/* A model or a batch that can't be or does not fit is an outcome where those are what trials
 * change; else no trial could be run, and that says nothing of rates. Host memory may also be what
 * others have taken for a moment: a trial is too large for it where it is short again. */
static bool is_outcome(const vkt_study *s, vkt_status st, bool again)
{
    bool changes_model =
        s->kind == VKT_STUDY_SEARCH || s->kind == VKT_STUDY_BATCH_SIZE || s->kind == VKT_STUDY_AUTO;
    return st == VKT_E_NUMERIC ||
           (changes_model && (st == VKT_E_OOM_DEVICE || (st == VKT_E_OOM_HOST && again) ||
                              st == VKT_E_ARG || st == VKT_E_SHAPE));
}

static const char *last_failure(vkt_study *s, vkt_status st)
{
    return vkt__arena_strdup(&s->priv->arena,
                             *vkt__last_failure() ? vkt__last_failure() : vkt_status_name(st));
}

double vkt__study_spent(const vkt_study *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->n_trials; i++) sum += s->trials[i].seconds;
    return sum / (double)VKT_MAX(s->priv->desc->n_devices, 1);
}

/* Under the lock, which it releases while the device is at work. */
static vkt_status run_trial(const worker *w, const vkt__trial_spec *spec, const vkt_config *c,
                            bool again, vkt_study_trial *t)
{
    vkt_study *s = w->p->s;
    struct vkt__study_private *p = s->priv;
    const char *dir = vkt__arena_printf(&p->arena, "%s/%s", s->dir, t->name);
    vkt_train_result r = { 0 };
    bool begun;
    vkt_status st = vkt__file_look(vkt__arena_printf(&p->arena, "%s/.lock", dir), &begun);
    if (st != VKT_OK) return st;
    double left = spec->until > 0 ? spec->until - vkt__study_spent(s) : INFINITY;
    job j = { .s = s,
              .p = w->p,
              .trial = (size_t)(t - s->trials),
              .until_target = spec->until_target,
              .best = NAN,
              .earlier = t->seconds,
              .began = vkt__now(),
              .seconds = left,
              .step_j = NAN };
    if (left <= 0 && !begun) { /* one that was begun ends at its next step */
        t->why = VKT__NO_TIME;
        t->state = VKT_TRIAL_CUT;
        return VKT_OK;
    }
    if (spec->prune)
        j.n_rungs = vkt__prune_rungs(vkt_schedule_total(&c->schedule), c->eval_every, j.rung);
    vkt_train_desc d = { .run_dir = dir,
                         .resume = begun,
                         .gpu = p->desc->gpu,
                         .no_checkpoints = spec->check,
                         .no_baseline = !spec->baseline,
                         .no_test = spec->no_test,
                         .on_progress = on_progress,
                         .user = &j,
                         .stop = &j.stopped,
                         .command = vkt__study_command(s, t->set, t->n_set) };
    if (w->device) d.gpu.device = w->device;
    unlock(w->p);
    vkt__log_hold(true);
    st = vkt_train(c, &d, &r);
    vkt__log_hold(false);
    lock(w->p);
    t->seconds = j.earlier + vkt__now() - j.began;
    bool cut = st == VKT_E_INTERRUPTED && j.cut;
    if (st == VKT_E_INTERRUPTED && j.stopped) st = VKT_OK;
    if (st == VKT_E_INTERRUPTED) return st;
    if (st == VKT_E_OOM_HOST && !again && is_outcome(s, st, true))
        return run_trial(w, spec, c, true, t);
    bool diverged = st == VKT_E_NUMERIC;
    if (is_outcome(s, st, again)) {
        t->why = last_failure(s, st);
        t->state = VKT_TRIAL_INFEASIBLE;
        if (!diverged) return VKT_OK;
    } else if (st != VKT_OK) {
        return vkt__fail(st, "study", "%s: %s", t->name, last_failure(s, st));
    }
    st = vkt__trial_outcome(s, c, dir, t);
    if (st != VKT_OK) {
        t->state = VKT_TRIAL_RUNNING; /* it is read again when the study is resumed */
        return st;
    }
    if (diverged) {
        t->rise = INFINITY;
        return VKT_OK;
    }
    t->best = r.best_metric;
    t->best_step = r.best_step;
    t->device_bytes = r.device_bytes;
    t->step_j = j.step_j;
    t->state = j.pruned ? VKT_TRIAL_PRUNED : cut ? VKT_TRIAL_CUT : VKT_TRIAL_DONE;
    if (cut)
        t->why = vkt__study_text(s, "the time ended it at step %llu of %llu",
                                 (unsigned long long)t->steps,
                                 (unsigned long long)vkt_schedule_total(&c->schedule));
    return VKT_OK;
}

static void tell(vkt_study *s, const vkt_study_trial *t, const char *device, bool reused)
{
    const struct vkt__study_private *p = s->priv;
    vkt_study_progress pr = { .trial = t, .device = device, .n_done = p->n_done, .reused = reused };
    if (p->desc->on_progress) p->desc->on_progress(p->desc->user, &pr);
}

/* Under the lock: from its configuration to its entry in study.json. */
static vkt_status do_trial(const worker *w, const vkt__trial_spec *spec, vkt_study_trial *t)
{
    vkt_study *s = w->p->s;
    vkt_config *c = NULL;
    vkt__log_hold(true);
    vkt_status st = vkt__trial_config(s, t->set, t->n_set, &c);
    vkt__log_hold(false);
    if (st == VKT_E_OOM_HOST || st == VKT_E_IO) { /* that says nothing of its settings */
        vkt__fail(st, "study", "%s: %s", t->name, last_failure(s, st));
        goto fail;
    }
    if (!c) t->why = last_failure(s, st);
    t->state = VKT_TRIAL_RUNNING;
    VKT_TRY(vkt__study_save(s));
    tell(s, t, w->device, false);
    if (c)
        VKT_TRY(run_trial(w, spec, c, false, t));
    else
        t->state = VKT_TRIAL_INFEASIBLE;
    VKT_TRY(vkt__study_save(s));
    s->priv->n_done++;
    tell(s, t, w->device, false);
fail:
    vkt_config_destroy(&c);
    return st;
}

static void work(void *arg)
{
    const worker *w = arg;
    pool *p = w->p;
    lock(p);
    while (p->st == VKT_OK && p->next < p->n) {
        size_t i = p->next++;
        if (p->finished[i]) continue;
        vkt_status st = do_trial(w, &p->spec[i], &p->s->trials[p->first + i]);
        if (st == VKT_OK) continue;
        if (p->st == VKT_OK) p->st = st;
        atomic_store(&p->stop, 1);
    }
    unlock(p);
}

static vkt_status recall(vkt_study *s, size_t first, size_t n, bool *finished)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < n && s->priv->old; i++) {
        vkt_study_trial *t = &s->trials[first + i];
        VKT_TRY(vkt__study_recall(s, first + i, t, &finished[i]));
        if (!finished[i]) continue;
        s->priv->n_done++;
        tell(s, t, NULL, true);
    }
fail:
    return st;
}

vkt_status vkt__study_trials(vkt_study *s, const vkt__trial_spec *spec, size_t n, size_t *first)
{
    enum { MOST = 64 };
    const vkt_study_desc *d = s->priv->desc;
    worker workers[MOST];
    size_t n_workers = VKT_MIN(VKT_MIN(VKT_MAX(d->n_devices, 1), VKT_MAX(n, 1)), MOST), started = 1;
    bool *finished = vkt__alloc((n + 1) * sizeof *finished);
    vkt_status st = VKT_OK;
    *first = s->n_trials;
    for (size_t i = 0; i < n; i++) add_trial(s, &spec[i]);
    pool p = { .s = s, .spec = spec, .finished = finished, .first = *first, .n = n };
    if (d->dry_run) goto fail;
    VKT_TRY(recall(s, *first, n, finished));
    for (size_t i = 0; i < n_workers; i++)
        workers[i] = (worker) { .p = &p, .device = d->n_devices ? d->devices[i] : NULL };
    if (n_workers > 1) p.lock = vkt__mutex_create();
    for (; started < n_workers; started++)
        if (vkt__thread_start(work, &workers[started], &workers[started].thread) != VKT_OK) break;
    work(&workers[0]);
    for (size_t i = 1; i < started; i++) vkt__thread_join(&workers[i].thread);
    vkt__mutex_destroy(&p.lock);
    st = p.st;
fail:
    free(finished);
    return st;
}

vkt_status vkt__study_trial(vkt_study *s, const vkt__trial_spec *spec, const vkt_study_trial **out)
{
    size_t at;
    vkt_status st = vkt__study_trials(s, spec, 1, &at);
    *out = &s->trials[at];
    return st;
}
