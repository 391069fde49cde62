/* The profiler's steps: the trainer's loop without its run folder, watched. A thread of its own
 * waits for each submission, so that the end on the device is known when it comes and not when the
 * loop next looks. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "report/profiler.h"
#include "report/trace.h"
#include "train/metrics.h"

enum { WARMUP_MS = 300, WARMUP_MOST = 2000, MAX_LOADERS = 64 };

typedef enum {
    SPAN_STEP,
    SPAN_LOADER_WAIT,
    SPAN_PREPARE,
    SPAN_SUBMIT,
    SPAN_READBACK,
    SPAN_METRICS,
    SPAN_FILL,
    N_SPANS
} span_kind;

typedef struct {
    span_kind kind;
    uint32_t thread; /* of the loader */
    uint64_t number; /* step from 0; batch of a fill */
    uint32_t id;     /* submit: index of the submission */
    double start, end;
} span;

/* One command buffer given to the device. */
typedef struct {
    uint64_t ticket, step;
    uint32_t micro, slot;
    bool update; /* accumulation: the step's last one */
    double submitted, start,
        end; /* on the device: from the submission, or the end of the one before */
} submission;

typedef struct {
    const vkt_config *c;
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
    span *spans;
    size_t n_spans, cap_spans;
    submission *sub;
    size_t n_sub, cap_sub, n_seen;
    bool stop;
    vkt_status watch_status;
    vkt__thread *watcher;
    /* the loop */
    struct {
        size_t last;
        uint32_t n_counted;
        bool ends;
        double lr, input_wait;
    } flights[VKT_MAX_SLOTS];
    uint32_t n_flights, oldest;
    double began;
    /* the measured part, on the device's side */
    size_t first_sub; /* of the first measured step */
    double from, to;
    vkt__dispatches train, update;
} profiler;

/* ---- watching ---- */

static void add_span(profiler *t, span s)
{
    vkt__mutex_lock(t->lock);
    if (t->n_spans == t->cap_spans)
        t->spans = vkt__grow(t->spans, t->n_spans, &t->cap_spans, sizeof *t->spans);
    t->spans[t->n_spans++] = s;
    vkt__mutex_unlock(t->lock);
}

/* A span from `start` to now; returns now. */
static double until_now(profiler *t, span_kind kind, uint64_t step, double start)
{
    double now = vkt__now();
    add_span(t, (span) { .kind = kind, .number = step, .start = start, .end = now });
    return now;
}

static void on_batch(void *user, uint32_t thread, uint64_t batch, double start, double end)
{
    profiler *t = user;
    if (t->desc->on_batch) {
        t->desc->on_batch(t->desc->user);
        end = vkt__now();
    }
    add_span(
        t, (span) {
               .kind = SPAN_FILL, .thread = thread, .number = batch, .start = start, .end = end });
}

/* The watcher: each submission in turn. */
static void watch(void *arg)
{
    profiler *t = arg;
    for (;;) {
        vkt__mutex_lock(t->lock);
        while (t->n_seen == t->n_sub && !t->stop) vkt__cond_wait(t->more, t->lock);
        bool go = t->n_seen < t->n_sub;
        uint64_t ticket = go ? t->sub[t->n_seen].ticket : 0;
        vkt__mutex_unlock(t->lock);
        if (!go) return;
        vkt_status st = vkt__ticket_watch(t->gpu, ticket);
        double now = vkt__now();
        vkt__mutex_lock(t->lock);
        double before = t->n_seen ? t->sub[t->n_seen - 1].end : 0;
        submission *s = &t->sub[t->n_seen++];
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

/* ---- the trainer's loop ---- */

static vkt_status submit(profiler *t, vkt_graph *g, submission s)
{
    span w = { .kind = SPAN_SUBMIT, .number = s.step, .start = vkt__now() };
    s.submitted = w.start;
    vkt_status st = vkt_graph_submit(g, s.slot, &s.ticket);
    w.end = vkt__now();
    if (st != VKT_OK) return st;
    vkt__mutex_lock(t->lock);
    if (t->n_sub == t->cap_sub) t->sub = vkt__grow(t->sub, t->n_sub, &t->cap_sub, sizeof *t->sub);
    w.id = (uint32_t)t->n_sub;
    t->sub[t->n_sub++] = s;
    vkt__cond_broadcast(t->more);
    vkt__mutex_unlock(t->lock);
    add_span(t, w);
    return VKT_OK;
}

/* Waits for the oldest micro-batch in flight, puts its numbers into words, lets the loader have its
 * slot. */
static vkt_status retire(profiler *t)
{
    vkt_status st = VKT_OK;
    uint32_t at = t->oldest;
    vkt__mutex_lock(t->lock);
    submission s = t->sub[t->flights[at].last];
    vkt__mutex_unlock(t->lock);
    double now = vkt__now();
    VKT_TRY(vkt_ticket_wait(t->gpu, s.ticket));
    now = until_now(t, SPAN_READBACK, s.step, now);
    t->oldest = (at + 1) % VKT_MAX_SLOTS;
    t->n_flights--;
    if (t->flights[at].ends) {
        const float *v = t->s->train.scalars[s.slot];
        vkt__metrics_row row = vkt__metrics_row_empty(s.step + 1, NULL);
        row.loss = (double)v[VKT_SCALAR_LOSS];
        row.accuracy = t->s->info->task == VKT_CLASSIFY
                           ? (double)v[VKT_SCALAR_HITS] / t->flights[at].n_counted
                           : NAN;
        row.grad_norm = (double)v[VKT_SCALAR_GRAD_NORM];
        row.clip = (double)v[VKT_SCALAR_CLIP];
        row.lr = t->flights[at].lr;
        row.items_per_s = (double)(s.step + 1) * t->step_items / (now - t->began);
        row.input_wait = t->flights[at].input_wait;
        row.seconds = now - t->began;
        VKT_TRY(vkt__metrics_add(t->metrics, &row));
        until_now(t, SPAN_METRICS, s.step, now);
    }
    vkt_loader_release(t->loader, s.slot);
fail:
    return st;
}

static bool oldest_done(profiler *t)
{
    vkt__mutex_lock(t->lock);
    uint64_t ticket = t->sub[t->flights[t->oldest].last].ticket;
    vkt__mutex_unlock(t->lock);
    return vkt_ticket_done(t->gpu, ticket);
}

static vkt_status run_step(profiler *t, uint64_t step)
{
    vkt_status st = VKT_OK;
    uint32_t n = t->c->accumulate, n_counted = 0, most = VKT_MAX(t->s->train.n_slots - 1, 1);
    double weight = 0, waited = 0, lr = vkt_schedule_lr(&t->c->schedule, step), start = vkt__now(),
           now = start;
    for (uint32_t k = 0; k < n; k++) {
        submission s = { .step = step, .micro = k };
        double wait = 0;
        VKT_TRY(vkt_loader_next(t->loader, &s.slot, &wait));
        now = until_now(t, SPAN_LOADER_WAIT, step, now);
        const vkt_batch *b = &t->s->train.slots[s.slot];
        waited += wait;
        n_counted += b->n_counted;
        vkt__session_fill(t->s, s.slot, step, k, lr, &weight);
        until_now(t, SPAN_PREPARE, step, now);
        uint32_t at = (t->oldest + t->n_flights) % VKT_MAX_SLOTS;
        VKT_TRY(submit(t, t->s->train.graph, s));
        s.update = k + 1 == n && t->s->update;
        if (s.update) VKT_TRY(submit(t, t->s->update, s));
        t->flights[at].last = t->n_sub - 1;
        t->flights[at].n_counted = n_counted;
        t->flights[at].ends = k + 1 == n;
        t->flights[at].lr = lr;
        t->flights[at].input_wait = waited;
        t->n_flights++;
        while (t->n_flights && (t->n_flights >= most || oldest_done(t))) VKT_TRY(retire(t));
        now = vkt__now();
    }
    until_now(t, SPAN_STEP, step, start);
fail:
    return st;
}

static vkt_status run_steps(profiler *t)
{
    vkt_status st = VKT_OK;
    vkt_profile *p = t->p;
    uint64_t least = t->s->train.n_slots +
                     6; /* the ring fills; a graph times its first runs and may be cut anew */
    VKT_TRY(vkt__thread_start(watch, t, &t->watcher));
    t->began = vkt__now();
    while (p->warmup < least ||
           (p->warmup < WARMUP_MOST && vkt__now() - t->began < 1e-3 * WARMUP_MS))
        VKT_TRY(run_step(t, p->warmup++));
    t->first_sub = t->n_sub;
    vkt_log(VKT_LOG_INFO, "profile", "%llu steps of warm-up are done; %llu steps take about %.2g s",
            (unsigned long long)p->warmup, (unsigned long long)p->steps,
            (vkt__now() - t->began) / (double)p->warmup * (double)p->steps);
    for (uint64_t i = 0; i < p->steps; i++) VKT_TRY(run_step(t, p->warmup + i));
    while (t->n_flights) VKT_TRY(retire(t));
fail:
    if (t->gpu) vkt_gpu_wait(t->gpu);
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

/* Idle time between submissions, and how much of it the loop spent waiting for the loader. */
static void add_gaps(profiler *t, double *idle, double *idle_input)
{
    size_t k = 0;
    for (size_t i = t->first_sub; i < t->n_sub; i++) {
        double a = t->sub[i - 1].end, b = t->sub[i].start;
        *idle += b - a;
        /* The waits are in order, and so are the gaps. */
        while (k < t->n_spans && (t->spans[k].kind != SPAN_LOADER_WAIT || t->spans[k].end <= a))
            k++;
        for (size_t j = k; j < t->n_spans; j++) {
            const span *s = &t->spans[j];
            if (s->kind != SPAN_LOADER_WAIT) continue;
            if (s->start >= b) break;
            *idle_input += common(a, b, s->start, s->end);
        }
    }
}

static void sum_up(profiler *t)
{
    vkt_profile *p = t->p;
    double *each = vkt__alloc(p->steps * sizeof *each), per_step = 1e3 / (double)p->steps, idle = 0,
           idle_input = 0, fill = 0;
    size_t n = 0, n_fills = 0;
    t->from = t->sub[t->first_sub - 1].end;
    t->to = t->sub[t->n_sub - 1].end;
    p->seconds = t->to - t->from;
    double before = t->from;
    for (size_t i = t->first_sub; i < t->n_sub; i++) {
        if (i + 1 < t->n_sub && t->sub[i + 1].step == t->sub[i].step) continue;
        each[n++] = 1e3 * (t->sub[i].end - before);
        before = t->sub[i].end;
    }
    VKT_ASSERT(n == p->steps);
    qsort(each, n, sizeof *each, by_size);
    p->step_ms = p->seconds * per_step;
    p->step_median_ms = each[n / 2];
    p->step_min_ms = each[0];
    p->step_max_ms = each[n - 1];
    p->items_per_s = (double)p->steps * t->step_items / p->seconds;
    add_gaps(t, &idle, &idle_input);
    p->busy = 1 - idle / p->seconds;
    p->idle_input = idle_input / p->seconds;
    p->idle_host = (idle - idle_input) / p->seconds;
    for (size_t i = 0; i < t->n_spans; i++) {
        const span *s = &t->spans[i];
        double in = common(t->from, t->to, s->start, s->end) * per_step;
        if (s->kind == SPAN_LOADER_WAIT) p->loader_wait_ms += in;
        if (s->kind == SPAN_SUBMIT) p->submit_ms += in;
        if (s->kind == SPAN_READBACK) p->readback_wait_ms += in;
        if (s->kind == SPAN_METRICS) p->metrics_ms += in;
        if (s->kind == SPAN_FILL && in > 0) fill += s->end - s->start, n_fills++;
    }
    p->fill_ms = n_fills ? 1e3 * fill / (double)n_fills : 0;
    free(each);
}

/* ---- the trace ---- */

enum { HOST = 1, DEVICE = 2 };
enum { LOOP = 1, LOADER = 2 };
enum { STEPS = 1, KERNELS = 2 };

static void trace_host(const profiler *t, vkt__trace *out)
{
    static const struct {
        const char *name, *category;
    } kinds[N_SPANS] = {
        { "step", "loop" },         { "loader wait", "wait" },    { "step block", "loop" },
        { "submit", "submit" },     { "read-back wait", "wait" }, { "metrics", "loop" },
        { "fill batch", "loader" },
    };
    bool seen[MAX_LOADERS] = { false };
    vkt__trace_process(out, HOST, "host");
    vkt__trace_track(out, HOST, LOOP, "training loop");
    for (size_t i = 0; i < t->n_spans; i++) {
        const span *s = &t->spans[i];
        char name[64];
        bool fill = s->kind == SPAN_FILL, whole = fill || s->kind == SPAN_STEP;
        int track = fill ? LOADER + (int)VKT_MIN(s->thread, MAX_LOADERS - 1) : LOOP;
        if (s->end < t->from) continue;
        if (fill && !seen[track - LOADER]) {
            snprintf(name, sizeof name, "loader %d", track - LOADER);
            vkt__trace_track(out, HOST, track, name);
            seen[track - LOADER] = true;
        }
        snprintf(name, sizeof name, whole ? "%s %llu" : "%s", kinds[s->kind].name,
                 (unsigned long long)s->number + 1);
        vkt__trace_span(out, HOST, track, name, kinds[s->kind].category, s->start, s->end,
                        json_pack("{sI}", fill ? "batch" : "step", (json_int_t)s->number + 1));
        if (s->kind == SPAN_SUBMIT) vkt__trace_arrow(out, HOST, LOOP, s->id, false, s->start);
    }
}

static void submission_name(const profiler *t, const submission *s, char *name, size_t n)
{
    if (t->c->accumulate == 1)
        snprintf(name, n, "step %llu", (unsigned long long)s->step + 1);
    else if (s->update)
        snprintf(name, n, "step %llu, update", (unsigned long long)s->step + 1);
    else
        snprintf(name, n, "step %llu, micro-batch %u", (unsigned long long)s->step + 1,
                 s->micro + 1);
}

/* The kernels of one submission one after the other from `at`, each as long as it took when timed
 * apart. Returns the end. */
static double trace_kernels(const profiler *t, vkt__trace *out, const vkt__dispatches *d, double at)
{
    for (size_t i = 0; i < d->n; i++) {
        const vkt_node_time *k = &d->node[i];
        double start = at, ms = k->ms, ceiling;
        at += 1e-3 * ms; /* one's end is exactly the next one's start */
        const char *bound =
            vkt_bound_name(vkt__profile_bound(t->p, ms, k->flops, k->bytes, &ceiling));
        json_t *args = json_pack("{ss ss si sf sf ss}", "op", k->op, "shape",
                                 *k->result ? k->result : "in place", "level", (int)k->level,
                                 "flop", k->flops, "bytes", k->bytes, "bound by", bound);
        if (*d->label[i]) json_object_set_new(args, "of", json_string(d->label[i]));
        if (ms > 0) {
            json_object_set_new(args, "GFLOP/s", json_real(1e-6 * k->flops / ms));
            json_object_set_new(args, "GB/s", json_real(1e-6 * k->bytes / ms));
            json_object_set_new(args, "% of reference", json_real(100 * ceiling));
        }
        vkt__trace_span(out, DEVICE, KERNELS, k->op, "kernel", start, at, args);
    }
    return at;
}

static void trace_device(const profiler *t, vkt__trace *out)
{
    char name[400];
    size_t chosen = t->first_sub;
    snprintf(name, sizeof name, "device: %s", t->p->device);
    vkt__trace_process(out, DEVICE, name);
    vkt__trace_track(out, DEVICE, STEPS, "steps, from submission to the end as the host saw it");
    for (size_t i = t->first_sub; i < t->n_sub; i++) {
        const submission *s = &t->sub[i];
        submission_name(t, s, name, sizeof name);
        vkt__trace_span(out, DEVICE, STEPS, name, "step", s->start, s->end,
                        json_pack("{sI sf}", "step", (json_int_t)s->step + 1, "queued ms",
                                  1e3 * (s->start - s->submitted)));
        if (s->submitted >= t->from) vkt__trace_arrow(out, DEVICE, STEPS, i, true, s->start);
        /* The step in the middle stands for all. */
        if (s->step == t->sub[t->first_sub].step + t->p->steps / 2 &&
            t->sub[chosen].step != s->step)
            chosen = i;
    }
    if (!t->p->timestamps) return;
    snprintf(name, sizeof name, "kernels of step %llu, timed one by one",
             (unsigned long long)t->sub[chosen].step + 1);
    vkt__trace_track(out, DEVICE, KERNELS, name);
    double at = trace_kernels(t, out, &t->train, t->sub[chosen].start);
    if (!t->update.n) return;
    for (size_t i = chosen; i < t->n_sub && t->sub[i].step == t->sub[chosen].step; i++)
        if (t->sub[i].update) at = VKT_MAX(at, t->sub[i].start);
    trace_kernels(t, out, &t->update, at);
}

static vkt_status write_trace(const profiler *t)
{
    const vkt_profile *p = t->p;
    vkt__trace out;
    double origin = t->from;
    if (!t->desc->trace) return VKT_OK;
    for (size_t i = 0; i < t->n_spans; i++)
        if (t->spans[i].end >= t->from) origin = VKT_MIN(origin, t->spans[i].start);
    vkt__trace_init(&out, origin);
    trace_host(t, &out);
    trace_device(t, &out);
    json_t *about =
        json_pack("{ss ss* ss* ss ss si sI sI ss}", "program", "vktrain " VKT_VERSION, "command",
                  t->desc->command, "recipe", p->recipe, "device", p->device, "driver", p->driver,
                  "batch", (int)p->batch, "steps", (json_int_t)p->steps, "warm-up steps",
                  (json_int_t)p->warmup, "kernels",
                  p->timestamps ? "timed one by one after the steps, a barrier after each; what "
                                  "timing takes is taken off"
                                : "not timed: the device has no timestamps");
    json_object_set_new(about, "verdict", json_string(vkt_verdict_name(p->verdict)));
    json_object_set_new(about, "why", json_string(p->why));
    json_object_set_new(about, "advice", json_string(p->advice));
    vkt_status st = vkt__trace_write(&out, t->desc->trace, about);
    vkt__trace_finish(&out);
    return st;
}

/* Whether the trace can be written, before anything else is done. */
static vkt_status check_trace(const char *path)
{
    FILE *f = NULL;
    bool existed = vkt__file_exists(path);
    vkt_status st = vkt__file_append(path, &f);
    if (f) fclose(f);
    if (st == VKT_OK && !existed) remove(path);
    return st;
}

/* ---- the whole ---- */

static vkt_status prepare(profiler *t)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = t->c;
    vkt_profile *p = t->p;
    vkt_gpu_desc gpu = vkt__config_gpu(c, &t->desc->gpu);
    if (t->desc->trace) VKT_TRY(check_trace(t->desc->trace));
    VKT_TRY(vkt_dataset_open(&c->data, &t->data));
    const vkt_dataset_info *info = vkt_dataset_get_info(t->data);
    if (c->batch > info->n[VKT_TRAIN]) {
        st = vkt__fail(VKT_ARG, "profile",
                       "train.batch %u is larger than the training set of %llu examples", c->batch,
                       (unsigned long long)info->n[VKT_TRAIN]);
        goto fail;
    }
    VKT_TRY(vkt_schedule_check(&c->schedule, c->source ? c->source : "schedule"));
    VKT_TRY(vkt_gpu_create(&gpu, &t->gpu));
    const vkt_caps *caps = vkt_gpu_caps(t->gpu);
    memcpy(p->device, caps->name, sizeof p->device);
    snprintf(p->driver, sizeof p->driver, "%s %s", caps->driver, caps->driver_info);
    p->timestamps = caps->timestamp_ns > 0;
    p->recipe = c->name;
    p->batch = c->batch;
    p->accumulate = c->accumulate;
    p->workers = c->data_workers;
    p->steps = t->desc->steps ? t->desc->steps : 20;
    t->step_items = (double)c->batch * c->accumulate * vkt_dataset_get_info(t->data)->n_targets;
    vkt_log(VKT_LOG_INFO, "profile", "measuring what the device can do");
    VKT_TRY(vkt__profile_references(t->gpu, p));
    VKT_TRY(vkt__session_create(t->gpu, c, t->data, true, &t->s));
    p->slots = t->s->train.n_slots;
    VKT_TRY(vkt__metrics_open(NULL, VKT__METRICS_NEW, &t->metrics));
fail:
    return st;
}

static vkt_status start_loader(profiler *t)
{
    vkt_loader_desc d = vkt__session_loader(t->s, t->data);
    d.on_batch = on_batch;
    d.user = t;
    return vkt_loader_create(&d, &t->loader);
}

static void finish(profiler *t)
{
    if (t->gpu) vkt_gpu_wait(t->gpu);
    vkt_loader_destroy(&t->loader);
    vkt__metrics_close(&t->metrics);
    vkt__session_destroy(&t->s);
    vkt_gpu_destroy(&t->gpu);
    vkt_dataset_destroy(&t->data);
    vkt__mutex_destroy(&t->lock);
    vkt__cond_destroy(&t->more);
    free(t->train.node);
    free(t->train.label);
    free(t->update.node);
    free(t->update.label);
    free(t->spans);
    free(t->sub);
}

vkt_status vkt_profile_run(const vkt_config *c, const vkt_profile_desc *desc, vkt_profile **out)
{
    vkt_status st = VKT_OK;
    profiler t = { .c = c,
                   .desc = desc,
                   .p = vkt__alloc(sizeof *t.p),
                   .lock = vkt__mutex_create(),
                   .more = vkt__cond_create() };
    *out = NULL;
    VKT_TRY(prepare(&t));
    VKT_TRY(start_loader(&t));
    VKT_TRY(run_steps(&t));
    vkt_loader_destroy(&t.loader);
    sum_up(&t);
    VKT_TRY(vkt__profile_kernels(t.s, t.p, &t.train, &t.update));
    vkt__profile_judge(t.p);
    VKT_TRY(write_trace(&t));
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
    free(*p);
    *p = NULL;
}
