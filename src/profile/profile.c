/* The profiler's steps: the trainer's loop without its run folder, watched. A thread of its own
 * waits for each submission, so that the end on the device is known when it comes and not when the
 * loop next looks. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "profile/profiler.h"
#include "runs/curve.h"
#include "runs/metrics.h"
#include "train/one_core.h"
#include "train/steps.h"
#include "train/ranks/trainer_ranks.h"

enum { WARMUP_MS = 300, WARMUP_MOST = 2000 };

typedef struct {
    const vkt_config *c;
    vkt__trainer job; /* as far as ranks have things in common: its configuration is c */
    vkt_train_desc job_desc;
    vkt__exchange before; /* the measured steps */
    const vkt_profile_desc *desc;
    vkt_profile *p;
    vkt_dataset *data;
    vkt_gpu *gpu;
    vkt__session *s;
    vkt_loader *loader;
    vkt__metrics *metrics;
    double step_items; /* examples of a step, or for text tokens */
    /* what is watched; the lock guards it */
    vkt__mutex *lock;
    vkt__cond *more;
    vkt__watched w;
    size_t n_seen; /* of its submissions */
    bool stop;
    vkt_status watch_status;
    vkt__thread *watcher;
    vkt__steps steps;
    vkt__steps_observer observer;
    double began;
    vkt__dispatches train, update;
} profiler;

/* ---- watching ---- */

static void add_span(profiler *t, vkt__span s)
{
    vkt__mutex_lock(t->lock);
    if (t->w.n_spans == t->w.cap_spans)
        t->w.span = vkt__grow(t->w.span, t->w.n_spans, &t->w.cap_spans, sizeof *t->w.span);
    t->w.span[t->w.n_spans++] = s;
    vkt__mutex_unlock(t->lock);
}

static void on_batch(void *user, uint32_t thread, uint64_t batch, double start, double end)
{
    profiler *t = user;
    if (t->desc->on_batch) {
        t->desc->on_batch(t->desc->user);
        end = vkt__now();
    }
    add_span(t, (vkt__span) { .kind = VKT__SPAN_FILL,
                              .thread = thread,
                              .number = batch,
                              .start = start,
                              .end = end });
}

/* The watcher: each submission in turn. */
static void watch(void *arg)
{
    profiler *t = arg;
    for (;;) {
        vkt__mutex_lock(t->lock);
        while (t->n_seen == t->w.n_sub && !t->stop) vkt__cond_wait(t->more, t->lock);
        bool go = t->n_seen < t->w.n_sub;
        uint64_t ticket = go ? t->w.sub[t->n_seen].ticket : 0;
        vkt__mutex_unlock(t->lock);
        if (!go) return;
        vkt_status st = vkt__ticket_watch(t->gpu, ticket);
        double now = vkt__now();
        vkt__mutex_lock(t->lock);
        double before = t->n_seen ? t->w.sub[t->n_seen - 1].end : 0;
        vkt__submission *s = &t->w.sub[t->n_seen++];
        s->start = VKT_MAX(s->submitted, before);
        s->end = now;
        if (st != VKT_OK) t->watch_status = st;
        vkt__mutex_unlock(t->lock);
    }
}

static void stop_watching(profiler *t)
{
    if (!t->watcher) return;
    vkt__mutex_lock(t->lock);
    t->stop = true;
    vkt__cond_broadcast(t->more);
    vkt__mutex_unlock(t->lock);
    vkt__thread_join(&t->watcher);
}

/* ---- the trainer's steps ---- */

static void on_phase(void *user, vkt__phase phase, uint64_t step, double start, double end)
{
    static const vkt__span_kind kinds[] = { [VKT__PHASE_LOADER_WAIT] = VKT__SPAN_LOADER_WAIT,
                                            [VKT__PHASE_PREPARE] = VKT__SPAN_PREPARE,
                                            [VKT__PHASE_READBACK] = VKT__SPAN_READBACK,
                                            [VKT__PHASE_DONE] = VKT__SPAN_METRICS,
                                            [VKT__PHASE_EXCHANGE_HIDDEN] =
                                                VKT__SPAN_EXCHANGE_HIDDEN,
                                            [VKT__PHASE_EXCHANGE] = VKT__SPAN_EXCHANGE };
    add_span(user,
             (vkt__span) { .kind = kinds[phase], .number = step, .start = start, .end = end });
}

static void on_submitted(void *user, const vkt__flight *f, bool update, double start, double end)
{
    profiler *t = user;
    vkt__span w = { .kind = VKT__SPAN_SUBMIT, .number = f->step, .start = start, .end = end };
    vkt__mutex_lock(t->lock);
    if (t->w.n_sub == t->w.cap_sub)
        t->w.sub = vkt__grow(t->w.sub, t->w.n_sub, &t->w.cap_sub, sizeof *t->w.sub);
    w.id = (uint32_t)t->w.n_sub;
    t->w.sub[t->w.n_sub++] = (vkt__submission) { .ticket = f->ticket,
                                                 .step = f->step,
                                                 .micro = f->micro,
                                                 .update = update,
                                                 .submitted = start };
    vkt__cond_broadcast(t->more);
    vkt__mutex_unlock(t->lock);
    add_span(t, w);
}

/* The step's numbers into words, as training would put them. */
static vkt_status on_done(void *user, const vkt__flight *f)
{
    profiler *t = user;
    const float *v = t->s->train.scalars[f->slot];
    double now = vkt__now();
    if (!f->last) return VKT_OK;
    vkt__metrics_row row = vkt__metrics_row_empty(f->step + 1, NULL);
    row.loss = (double)v[VKT_SCALAR_LOSS];
    row.accuracy = t->s->info->task == VKT_TASK_CLASSIFY || t->s->info->task == VKT_TASK_SEGMENT
                       ? (double)v[VKT_SCALAR_HITS] / f->n_counted
                       : NAN;
    row.grad_norm = (double)v[VKT_SCALAR_GRAD_NORM];
    row.clip = (double)v[VKT_SCALAR_CLIP];
    row.lr = f->lr;
    row.items_per_s = (double)(f->step + 1) * t->step_items / (now - t->began);
    row.input_wait = f->input_wait;
    row.seconds = now - t->began;
    return vkt__metrics_add(t->metrics, &row);
}

static vkt_status run_step(profiler *t, uint64_t step)
{
    double start = vkt__now();
    vkt_status st = vkt__steps_run(&t->steps, step, vkt_schedule_lr(&t->c->schedule, step));
    add_span(t, (vkt__span) {
                    .kind = VKT__SPAN_STEP, .number = step, .start = start, .end = vkt__now() });
    return st;
}

/* Whether to warm up further; with several ranks, rank 0 decides. */
static vkt_status warms_up(profiler *t, uint64_t least, bool *more)
{
    *more = t->p->warmup < least ||
            (t->p->warmup < WARMUP_MOST && vkt__now() - t->began < 1e-3 * WARMUP_MS);
    return t->w.comm ? vkt__comm_broadcast(t->w.comm, more, sizeof *more) : VKT_OK;
}

static vkt_status run_steps(profiler *t)
{
    vkt_status st = VKT_OK;
    vkt_profile *p = t->p;
    uint64_t least = t->s->train.n_slots +
                     6; /* the ring fills; a graph times its first runs and may be cut again */
    VKT_TRY(vkt__thread_start(watch, t, &t->watcher));
    t->began = vkt__now();
    for (bool more = true; more;) {
        VKT_TRY(run_step(t, p->warmup++));
        VKT_TRY(warms_up(t, least, &more));
    }
    if (t->w.comm) VKT_TRY(vkt__comm_barrier(t->w.comm));
    t->w.met = vkt__now();
    if (t->w.comm) t->before = *t->s->exchange;
    t->w.first_sub = t->w.n_sub;
    vkt_log(VKT_LOG_INFO, "profile", "%llu steps of warm-up are done; %llu steps take about %.2g s",
            (unsigned long long)p->warmup, (unsigned long long)p->steps,
            (vkt__now() - t->began) / (double)p->warmup * (double)p->steps);
    for (uint64_t i = 0; i < p->steps; i++) VKT_TRY(run_step(t, p->warmup + i));
    VKT_TRY(vkt__steps_drain(&t->steps));
fail:
    if (t->gpu) vkt__gpu_settle(t->gpu);
    stop_watching(t);
    if (st == VKT_OK) st = t->watch_status;
    return st;
}

/* ---- sums ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How long [a, b] and [c, d] have in common. */
static double common(double a, double b, double c, double d)
{
    return VKT_MAX(VKT_MIN(b, d) - VKT_MAX(a, c), 0);
}

/* Idle time between submissions, and how much of it the loop spent in spans of this kind. */
static void add_gaps(profiler *t, vkt__span_kind kind, double *idle, double *inside)
{
    size_t k = 0;
    for (size_t i = t->w.first_sub; i < t->w.n_sub; i++) {
        double a = t->w.sub[i - 1].end, b = t->w.sub[i].start;
        if (idle) *idle += b - a;
        /* The waits are in order, and so are the gaps. */
        while (k < t->w.n_spans && (t->w.span[k].kind != kind || t->w.span[k].end <= a)) k++;
        for (size_t j = k; j < t->w.n_spans; j++) {
            const vkt__span *s = &t->w.span[j];
            if (s->kind != kind) continue;
            if (s->start >= b) break;
            *inside += common(a, b, s->start, s->end);
        }
    }
}

size_t vkt__step_times(const double *end, size_t n, double from, double *ms)
{
    double apart = n ? 0.25 * (end[n - 1] - from) / (double)n : 0;
    size_t first = 0, bunches = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && end[i + 1] - end[i] < apart) continue;
        for (size_t k = first; k <= i; k++) ms[k] = 1e3 * (end[i] - from) / (double)(i + 1 - first);
        from = end[i];
        first = i + 1;
        bunches++;
    }
    return bunches;
}

static void sum_up(profiler *t)
{
    vkt_profile *p = t->p;
    double *each = vkt__alloc(p->steps * 2 * sizeof *each), *end = each + p->steps,
           per_step = 1e3 / (double)p->steps, idle = 0, idle_input = 0, idle_exchange = 0, fill = 0;
    size_t n = 0, n_fills = 0;
    t->w.from = t->w.sub[t->w.first_sub - 1].end;
    t->w.to = t->w.sub[t->w.n_sub - 1].end;
    p->seconds = t->w.to - t->w.from;
    for (size_t i = t->w.first_sub; i < t->w.n_sub; i++) {
        if (i + 1 < t->w.n_sub && t->w.sub[i + 1].step == t->w.sub[i].step) continue;
        VKT_ASSERT(n < p->steps);
        end[n++] = t->w.sub[i].end;
    }
    VKT_ASSERT(n == p->steps);
    p->bunch = (double)n / (double)vkt__step_times(end, n, t->w.from, each);
    qsort(each, n, sizeof *each, by_size);
    p->step_ms = p->seconds * per_step;
    p->step_median_ms = vkt__median(each, n);
    p->step_min_ms = each[0];
    p->step_max_ms = each[n - 1];
    p->items_per_s = (double)p->steps * t->step_items / p->seconds;
    add_gaps(t, VKT__SPAN_LOADER_WAIT, &idle, &idle_input);
    add_gaps(t, VKT__SPAN_EXCHANGE, NULL, &idle_exchange);
    p->busy = 1 - idle / p->seconds;
    p->idle_input = idle_input / p->seconds;
    p->idle_exchange = idle_exchange / p->seconds;
    p->idle_host = VKT_MAX(idle - idle_input - idle_exchange, 0) / p->seconds;
    for (size_t i = 0; i < t->w.n_spans; i++) {
        const vkt__span *s = &t->w.span[i];
        double in = common(t->w.from, t->w.to, s->start, s->end) * per_step;
        if (s->kind == VKT__SPAN_LOADER_WAIT) p->loader_wait_ms += in;
        if (s->kind == VKT__SPAN_SUBMIT) p->submit_ms += in;
        if (s->kind == VKT__SPAN_READBACK) p->readback_wait_ms += in;
        if (s->kind == VKT__SPAN_METRICS) p->metrics_ms += in;
        if (s->kind == VKT__SPAN_FILL && in > 0) fill += s->end - s->start, n_fills++;
    }
    p->fill_ms = n_fills ? 1e3 * fill / (double)n_fills : 0;
    free(each);
}

/* Whether the trace can be written, before anything else is done. */
static vkt_status check_trace(const char *path)
{
    FILE *f = NULL;
    bool existed = vkt__file_exists(path);
    vkt_status st = vkt__file_append(path, &f);
    if (f) fclose(f);
    if (st == VKT_OK && !existed) vkt__file_remove(path);
    return st;
}

/* ---- the whole ---- */

static vkt_status prepare(profiler *t)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = t->c;
    vkt_profile *p = t->p;
    vkt_gpu *serial = NULL;
    vkt_gpu_desc gpu = vkt__config_gpu(c, &t->desc->gpu);
    char device[64];
    if (t->desc->trace && vkt__ranks_lead(&t->job)) VKT_TRY(check_trace(t->desc->trace));
    VKT_TRY(vkt__ranks_same_recipe(&t->job));
    VKT_TRY(vkt_dataset_open(&c->data, &t->data));
    const vkt_dataset_info *info = t->job.info = vkt_dataset_get_info(t->data);
    t->job.data = t->data;
    VKT_TRY(vkt__ranks_same_data(&t->job));
    if (c->batch > info->n[VKT_SPLIT_TRAIN]) {
        st = vkt__fail(VKT_E_ARG, "profile",
                       "train.batch %u is larger than the training set of %llu examples", c->batch,
                       (unsigned long long)info->n[VKT_SPLIT_TRAIN]);
        goto fail;
    }
    VKT_TRY(vkt_schedule_check(&c->schedule, c->source ? c->source : "schedule"));
    VKT_TRY(vkt__ranks_device(&t->job, &gpu, device));
    VKT_TRY(vkt_gpu_create(&gpu, &t->gpu));
    t->job.gpu = t->gpu;
    VKT_TRY(vkt__ranks_meet_devices(&t->job));
    VKT_TRY(vkt__session_create(t->gpu, c, t->data, true, &t->s));
    VKT_TRY(vkt__session_reopen(&gpu, &t->s, &serial));
    if (serial) {
        vkt_gpu_destroy(&t->gpu);
        t->gpu = serial;
    }
    if (t->w.comm) VKT_TRY(vkt__session_join(t->s, t->w.comm));
    const vkt_caps *caps = vkt_gpu_caps(t->gpu);
    memcpy(p->device, caps->name, sizeof p->device);
    snprintf(p->driver, sizeof p->driver, "%s %s", caps->driver, caps->driver_info);
    p->timestamps = caps->timestamp_ns > 0;
    p->recipe = c->name;
    p->batch = c->batch;
    p->accumulate = c->accumulate;
    p->workers = c->data_workers;
    p->steps = t->desc->steps ? t->desc->steps : 20;
    t->step_items = (double)c->batch * c->accumulate * info->n_targets * (info->pairs ? 2 : 1);
    vkt_log(VKT_LOG_INFO, "profile", "measuring what the device can do");
    VKT_TRY(vkt__profile_references(t->gpu, p));
    p->slots = t->s->train.n_slots;
    VKT_TRY(vkt__metrics_open(NULL, VKT__METRICS_NEW, &t->metrics));
fail:
    return st;
}

static vkt_status start_steps(profiler *t)
{
    vkt_loader_desc d = vkt__session_loader(t->s, t->data);
    d.on_batch = on_batch;
    d.user = t;
    vkt_status st = vkt_loader_create(&d, &t->loader);
    t->observer = (vkt__steps_observer) { t, on_phase, on_submitted };
    vkt__steps_init(&t->steps, t->s, t->loader, on_done, t);
    vkt__steps_observe(&t->steps, &t->observer);
    return st;
}

static void finish(profiler *t)
{
    if (t->gpu) vkt__gpu_settle(t->gpu);
    vkt_loader_destroy(&t->loader);
    vkt__metrics_close(&t->metrics);
    vkt__session_destroy(&t->s);
    vkt_gpu_destroy(&t->gpu);
    vkt_dataset_destroy(&t->data);
    vkt__arena_finish(&t->job.paths);
    vkt__mutex_destroy(&t->lock);
    vkt__cond_destroy(&t->more);
    free(t->train.node);
    free(t->train.label);
    free(t->update.node);
    free(t->update.label);
    free(t->w.span);
    free(t->w.sub);
}

vkt_status vkt_profile_run(const vkt_config *c, const vkt_profile_desc *desc, vkt_profile **out)
{
    vkt_status st = VKT_OK;
    profiler t = { .job = { .recipe = c, .fit = *c },
                   .job_desc = { .comm = desc->comm },
                   .desc = desc,
                   .p = vkt__alloc(sizeof *t.p),
                   .lock = vkt__mutex_create(),
                   .more = vkt__cond_create() };
    *out = NULL;
    t.c = t.job.c = &t.job.fit;
    t.job.desc = &t.job_desc;
    if (vkt_comm_size(desc->comm) > 1) t.w.comm = desc->comm;
    VKT_TRY(prepare(&t));
    VKT_TRY(start_steps(&t));
    VKT_TRY(run_steps(&t));
    vkt_loader_destroy(&t.loader);
    sum_up(&t);
    if (t.w.comm) VKT_TRY(vkt__profile_ranks(t.w.comm, t.c, &t.before, t.s->exchange, t.p));
    t.s->comm = NULL; /* kernels are timed without the others */
    VKT_TRY(vkt__profile_kernels(t.s, t.p, &t.train, &t.update));
    vkt__profile_judge(t.p);
    if (desc->trace)
        VKT_TRY(vkt__profile_trace(t.p, &t.w, &t.train, &t.update, desc->command, desc->trace));
    *out = t.p;
    t.p = NULL;
fail:
    finish(&t);
    vkt_profile_destroy(&t.p);
    return st;
}

void vkt_profile_destroy(vkt_profile **p)
{
    if (!*p) return;
    free((*p)->kernels);
    free((*p)->rank);
    free(*p);
    *p = NULL;
}
