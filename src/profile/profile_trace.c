/* A profile's steps as a trace: what the host did, what the device did, an arrow from each
 * submission to its work. */
#include <stdio.h>

#include "profile/profiler.h"
#include "profile/trace.h"

typedef struct {
    const vkt_profile *p;
    const vkt__watched *w;
    const vkt__dispatches *train, *update;
    int host, device;     /* processes: a rank's two groups of tracks */
    uint64_t first_arrow; /* a rank's own numbers */
} view;

enum { MAX_LOADERS = 64 };
enum { HOST = 1, DEVICE = 2 };
enum { LOOP = 1, LOADER = 2, EXCHANGE = LOADER + MAX_LOADERS };
enum { STEPS = 1, KERNELS = 2 };

static void rank_name(const view *t, const char *what, char *out, size_t n)
{
    if (t->w->comm)
        snprintf(out, n, "rank %u, %s", t->w->comm->rank, what);
    else
        snprintf(out, n, "%s", what);
}

static void trace_host(const view *t, vkt__trace *out)
{
    static const struct {
        const char *name, *category;
    } kinds[VKT__N_SPANS] = {
        { "step", "loop" },
        { "loader wait", "wait" },
        { "step block", "loop" },
        { "submit", "submit" },
        { "read-back wait", "wait" },
        { "metrics", "loop" },
        { "fill batch", "loader" },
        { "exchange", "exchange" },
        { "exchange, device waits", "exchange" },
    };
    bool seen[MAX_LOADERS] = { false };
    char name[400];
    rank_name(t, "host", name, sizeof name);
    vkt__trace_process(out, t->host, name);
    vkt__trace_track(out, t->host, LOOP, "training loop");
    if (t->w->comm)
        vkt__trace_track(out, t->host, EXCHANGE,
                         "exchange: beside the device's work, and after it");
    for (size_t i = 0; i < t->w->n_spans; i++) {
        const vkt__span *s = &t->w->span[i];
        bool fill = s->kind == VKT__SPAN_FILL, whole = fill || s->kind == VKT__SPAN_STEP;
        int track = fill ? LOADER + (int)VKT_MIN(s->thread, MAX_LOADERS - 1)
                    : s->kind >= VKT__SPAN_EXCHANGE_HIDDEN ? EXCHANGE
                                                           : LOOP;
        if (s->end < t->w->from) continue;
        if (fill && !seen[track - LOADER]) {
            snprintf(name, sizeof name, "loader %d", track - LOADER);
            vkt__trace_track(out, t->host, track, name);
            seen[track - LOADER] = true;
        }
        snprintf(name, sizeof name, whole ? "%s %llu" : "%s", kinds[s->kind].name,
                 (unsigned long long)s->number + 1);
        vkt__trace_span(out, t->host, track, name, kinds[s->kind].category, s->start, s->end,
                        json_pack("{sI}", fill ? "batch" : "step", (json_int_t)s->number + 1));
        if (s->kind == VKT__SPAN_SUBMIT)
            vkt__trace_arrow(out, t->host, LOOP, t->first_arrow + s->id, false, s->start);
    }
}

static void submission_name(const view *t, const vkt__submission *s, char *name, size_t n)
{
    if (s->update)
        snprintf(name, n, "step %llu, update", (unsigned long long)s->step + 1);
    else if (t->p->accumulate == 1)
        snprintf(name, n, "step %llu", (unsigned long long)s->step + 1);
    else
        snprintf(name, n, "step %llu, micro-batch %u", (unsigned long long)s->step + 1,
                 s->micro + 1);
}

/* The kernels of one submission one after the other from `at`, each as long as it took when timed
 * apart. Returns the end. */
static double trace_kernels(const view *t, vkt__trace *out, const vkt__dispatches *d, double at)
{
    for (size_t i = 0; i < d->n; i++) {
        const vkt_node_time *k = &d->node[i];
        double start = at, ms = k->ms, ceiling;
        at += 1e-3 * ms; /* one's end is exactly the next one's start */
        const char *bound =
            vkt_kernel_bound_name(vkt__profile_bound(t->p, ms, k->flops, k->bytes, &ceiling));
        json_t *args = json_pack("{ss ss si sf sf ss}", "op", k->op, "shape",
                                 *k->result ? k->result : "in place", "level", (int)k->level,
                                 "flop", k->flops, "bytes", k->bytes, "bound by", bound);
        if (*d->label[i]) json_object_set_new(args, "of", json_string(d->label[i]));
        if (ms > 0) {
            json_object_set_new(args, "GFLOP/s", json_real(1e-6 * k->flops / ms));
            json_object_set_new(args, "GB/s", json_real(1e-6 * k->bytes / ms));
            json_object_set_new(args, "% of reference", json_real(100 * ceiling));
        }
        vkt__trace_span(out, t->device, KERNELS, k->op, "kernel", start, at, args);
    }
    return at;
}

static void trace_device(const view *t, vkt__trace *out)
{
    char name[400];
    size_t chosen = t->w->first_sub;
    char device[300];
    snprintf(device, sizeof device, "device: %s", t->p->device);
    rank_name(t, device, name, sizeof name);
    vkt__trace_process(out, t->device, name);
    vkt__trace_track(out, t->device, STEPS, "steps, from submission to the end as the host saw it");
    for (size_t i = t->w->first_sub; i < t->w->n_sub; i++) {
        const vkt__submission *s = &t->w->sub[i];
        submission_name(t, s, name, sizeof name);
        vkt__trace_span(out, t->device, STEPS, name, "step", s->start, s->end,
                        json_pack("{sI sf}", "step", (json_int_t)s->step + 1, "queued ms",
                                  1e3 * (s->start - s->submitted)));
        if (s->submitted >= t->w->from)
            vkt__trace_arrow(out, t->device, STEPS, t->first_arrow + i, true, s->start);
        /* The step in the middle represents all steps. */
        if (s->step == t->w->sub[t->w->first_sub].step + t->p->steps / 2 &&
            t->w->sub[chosen].step != s->step)
            chosen = i;
    }
    if (!t->p->timestamps) return;
    snprintf(name, sizeof name, "kernels of step %llu, timed one by one",
             (unsigned long long)t->w->sub[chosen].step + 1);
    vkt__trace_track(out, t->device, KERNELS, name);
    double at = trace_kernels(t, out, t->train, t->w->sub[chosen].start);
    if (!t->update->n) return;
    for (size_t i = chosen; i < t->w->n_sub && t->w->sub[i].step == t->w->sub[chosen].step; i++)
        if (t->w->sub[i].update) at = VKT_MAX(at, t->w->sub[i].start);
    trace_kernels(t, out, t->update, at);
}

vkt_status vkt__profile_trace(const vkt_profile *p, const vkt__watched *w,
                              const vkt__dispatches *train, const vkt__dispatches *update,
                              const char *command, const char *path)
{
    vkt_status st = VKT_OK;
    int rank = (int)vkt_comm_rank(w->comm);
    const view t = {
        p, w, train, update, 2 * rank + HOST, 2 * rank + DEVICE, (uint64_t)rank << 32
    };
    vkt__trace out = { 0 };
    double origin = w->from;
    for (size_t i = 0; i < w->n_spans; i++)
        if (w->span[i].end >= w->from) origin = VKT_MIN(origin, w->span[i].start);
    double since_met = origin - w->met;
    if (w->comm) VKT_TRY(vkt__profile_first(w->comm, &since_met));
    vkt__trace_init(&out, w->comm ? w->met + since_met : origin);
    trace_host(&t, &out);
    trace_device(&t, &out);
    if (w->comm) VKT_TRY(vkt__profile_texts(w->comm, &out.text));
    if (rank > 0) goto fail;
    json_t *about = json_pack(
        "{ss ss* ss* ss ss si sI sI ss}", "program", "vktrain " VKT_VERSION, "command", command,
        "recipe", p->recipe, "device", p->device, "driver", p->driver, "batch", (int)p->batch,
        "steps", (json_int_t)p->steps, "warm-up steps", (json_int_t)p->warmup, "kernels",
        p->timestamps ? "timed one by one after the steps, a barrier after each; what "
                        "timing takes is taken off"
                      : "not timed: the device has no timestamps");
    json_object_set_new(about, "verdict", json_string(vkt_profile_verdict_name(p->verdict)));
    json_object_set_new(about, "why", json_string(p->why));
    json_object_set_new(about, "advice", json_string(p->advice));
    if (w->comm) {
        json_object_set_new(about, "ranks", json_integer(w->comm->size));
        json_object_set_new(about, "clocks",
                            json_string("each rank's own, from when all had met at a barrier"));
    }
    VKT_TRY(vkt__trace_write(&out, path, about));
fail:
    vkt__trace_finish(&out);
    return st;
}
