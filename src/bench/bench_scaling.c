/* How a training step's time grows with its work: a multilayer perceptron of many batches, widths
 * and depths, on the trainer's own session, and where the growth bends. The same batch again and
 * again: neither loader nor files are part of it. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "tensor/graph/graph.h"
#include "data/synthetic.h"
#include "bench/bench_clock.h"
#include "bench/commit.h"
#include "train/one_core.h"

typedef struct size3 {
    uint32_t batch, width, depth;
} size3;

enum { INPUTS = 256, CLASSES = 10 };
static const size3 base = { 128, 256, 2 };

static const struct axis {
    const char *name, *held;
    uint32_t n[VKT_SCALING_POINTS];
} axes[VKT_SCALING_CURVES] = {
    { "batch", "2 layers of width 256", { 1, 4, 16, 64, 256, 1024, 4096, 0 } },
    { "width", "2 layers, batch 128", { 8, 16, 32, 64, 128, 256, 512, 1024 } },
    { "depth", "layers of width 256, batch 128", { 1, 2, 4, 8, 16, 32, 0 } },
};

static size3 size_at(uint32_t axis, uint32_t n)
{
    size3 s = base;
    *(axis == 0 ? &s.batch : axis == 1 ? &s.width : &s.depth) = n;
    return s;
}

static vkt_status configure(size3 s, vkt_config **c)
{
    vkt_status st = VKT_OK;
    vkt__str yaml = { 0 };
    vkt__str_printf(&yaml,
                    "name: scaling\ndata: {source: digits}\nmodel: [repeat: {n: %u, body: [linear: "
                    "%u, relu]}, linear]\noptim: {rule: adam, lr: 0.0001}\n"
                    "train: {batch: %u}\neval: {batch: %u}\n",
                    s.depth, s.width, s.batch, s.batch);
    VKT_TRY(vkt_config_create(c));
    VKT_TRY(vkt_config_parse(*c, yaml.data, yaml.len, "the benchmark's model"));
    VKT_TRY(vkt_config_finish(*c));
fail:
    vkt__str_finish(&yaml);
    return st;
}

/* The first slot's batch: made-up examples. */
static void fill_batch(vkt__session *s, uint32_t batch)
{
    const vkt_batch *b = &s->train.slots[0];
    for (uint32_t i = 0; i < batch; i++) {
        for (uint32_t k = 0; k < INPUTS; k++)
            b->x[(uint64_t)i * INPUTS + k] =
                (float)((i * 31 + k * 17) % 97) / 97 - 0.5f; /* the values do not matter */
        b->y[i].u = i % CLASSES;
        b->w[i] = 1 / (float)batch;
    }
    vkt_optim_fill_step(s->optim, 1e-4, 0, 1, s->train.step[0]);
}

/* `n` steps, two in flight; seconds. */
static vkt_status run_steps(vkt__session *s, uint32_t n, double *seconds)
{
    vkt_status st = VKT_OK;
    uint64_t before = 0, now = 0;
    double start = vkt__now();
    for (uint32_t i = 0; i < n; i++) {
        VKT_TRY(vkt_graph_submit(s->train.graph, 0, &now));
        if (i) VKT_TRY(vkt_ticket_wait(s->gpu, before));
        before = now;
    }
    VKT_TRY(vkt_ticket_wait(s->gpu, now));
    *seconds = vkt__now() - start;
fail:
    return st;
}

static vkt_status time_steps(vkt__session *s, const vkt_bench_desc *desc, vkt_scaling_point *p)
{
    enum { RUNS = 15 };
    vkt_status st = VKT_OK;
    double each[RUNS], one = 0;
    uint32_t runs = desc->once ? 1 : RUNS;
    vkt__times t;
    for (int i = 0; i < 3; i++)
        VKT_TRY(run_steps(s, 1, &one)); /* the first ones may record the graph again */
    double share = (desc->quick ? 0.5 : 2.0) / RUNS;
    uint32_t per = desc->once ? 1 : (uint32_t)VKT_MAX(1, VKT_MIN(share / one, 5000));
    for (uint32_t i = 0; i < runs; i++) {
        VKT_TRY(run_steps(s, per, &each[i]));
        each[i] /= per;
    }
    if (!(s->train.scalars[0][VKT_SCALAR_OK] > 0))
        VKT_TRY(vkt__fail(VKT_E_FAILED, "bench",
                          "wrong result: NaN or Inf in the loss or the gradient"));
    vkt__bench_stats(each, runs, &t);
    p->ms = 1e3 * t.min;
    p->q1 = 1e3 * t.q1;
    p->q3 = 1e3 * t.q3;
    vkt_graph_cost(s->train.graph, &p->flops, &p->bytes);
    p->n_dispatches = (uint32_t)s->train.graph->n_nodes;
    p->memory_bytes = s->planned_bytes;
fail:
    return st;
}

/* false in *fits: no memory for it. */
static vkt_status measure(vkt_gpu *gpu, const vkt_bench_desc *desc, size3 size,
                          vkt_scaling_point *p, bool *fits)
{
    vkt_status st = VKT_OK;
    vkt_config *c = NULL;
    vkt_dataset *data = NULL;
    vkt__session *s = NULL;
    vkt_gpu *serial = NULL;
    VKT_TRY(configure(size, &c));
    VKT_TRY(vkt__dataset_synthetic(size.batch, (uint32_t[]) { INPUTS }, 1, CLASSES, 5, &data));
    st = vkt__session_create(gpu, c, data, true, &s);
    *fits = st != VKT_E_OOM_DEVICE;
    if (!*fits) st = VKT_OK;
    VKT_TRY(st);
    if (!s) goto fail;
    if (desc->gpu) VKT_TRY(vkt__session_reopen(desc->gpu, &s, &serial));
    VKT_TRY(vkt_model_init(s->model, 1));
    fill_batch(s, size.batch);
    VKT_TRY(time_steps(s, desc, p));
fail:
    vkt__session_destroy(&s);
    vkt_gpu_destroy(&serial);
    vkt_dataset_destroy(&data);
    vkt_config_destroy(&c);
    return st;
}

/* ---- what the points say ---- */

static double rate(const vkt_scaling_point *p)
{
    return p->flops / p->ms;
}

/* ms = floor + slope x flops through the first point and the best one: what remains at no work. */
static void find_bend(vkt_scaling_curve *c)
{
    const vkt_scaling_point *p = c->point, *best = &p[c->best];
    double slope = c->best ? (best->ms - p[0].ms) / (best->flops - p[0].flops) : 0;
    c->floor_ms = VKT_MAX(p[0].ms - slope * p[0].flops, 0);
    c->bend = NAN;
    for (size_t i = 1; i < c->n_points; i++) {
        double a = slope * p[i - 1].flops, b = slope * p[i].flops;
        if (a > c->floor_ms || b < c->floor_ms || a <= 0) continue;
        double at = log(c->floor_ms / a) / log(b / a);
        c->bend = p[i - 1].n * pow((double)p[i].n / p[i - 1].n, at);
        break;
    }
}

void vkt_scaling_explain(vkt_scaling_curve *c)
{
    vkt__str s = { 0 };
    c->floor_ms = c->bend = NAN;
    c->why[0] = 0;
    if (c->n_points < 2) return;
    c->best = 0;
    for (size_t i = 1; i < c->n_points; i++)
        if (rate(&c->point[i]) > rate(&c->point[c->best])) c->best = i;
    find_bend(c);
    const vkt_scaling_point *first = c->point, *best = &c->point[c->best],
                            *last = &c->point[c->n_points - 1];
    if (isfinite(c->bend))
        vkt__str_printf(
            &s,
            "bends at %s %.0f: below it a step takes %.3g ms however little it computes, "
            "%.1f us for each of its %u dispatches",
            c->name, c->bend, c->floor_ms, 1e3 * c->floor_ms / first->n_dispatches,
            first->n_dispatches);
    else if (last->n_dispatches > first->n_dispatches)
        vkt__str_printf(&s,
                        "grows in proportion from the start, as every layer brings its own "
                        "dispatches: %.3g ms for each",
                        (last->ms - first->ms) / (last->n - first->n));
    else
        vkt__str_printf(&s, "no bend at the small end in this range");
    if (c->best + 1 < c->n_points && rate(last) < 0.8 * rate(best))
        vkt__str_printf(&s,
                        "; beyond %s %u it falls from %.3g to %.3g GFLOP/s, with %.0f MiB in use "
                        "instead of %.0f: its data no longer fits the caches, unless other "
                        "programs ran",
                        c->name, best->n, rate(best) * 1e-6, rate(last) * 1e-6,
                        (double)last->memory_bytes / 1048576, (double)best->memory_bytes / 1048576);
    else
        vkt__str_printf(&s, "; then in proportion to the work, up to %.3g GFLOP/s",
                        rate(best) * 1e-6);
    snprintf(c->why, sizeof c->why, "%s", s.data);
    vkt__str_finish(&s);
}

/* ---- running ---- */

static bool is_wanted(const vkt_bench_desc *desc, size_t i)
{
    return desc->once ? i < 2 : !desc->quick || i % 2 == 0;
}

vkt_status vkt_scaling_run(vkt_gpu *gpu, const vkt_bench_desc *desc, vkt_scaling **out)
{
    vkt_status st = VKT_OK;
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt_scaling *s = vkt__alloc(sizeof *s);
    vkt_bench_progress progress = { .eta_s = NAN };
    double start = vkt__now();
    *out = NULL;
    snprintf(s->device, sizeof s->device, "%s", caps->name);
    snprintf(s->driver, sizeof s->driver, "%s %s", caps->driver, caps->driver_info);
    vkt__time_iso(s->date);
    s->commit = VKT_COMMIT;
    s->load = vkt__load_average();
    if (isfinite(s->load) && s->load > 0.3 * vkt__cpu_count() && !desc->once)
        vkt_log(VKT_LOG_WARN, "bench",
                "load average is %.1f on %u CPUs: other programs are running, and the curves will "
                "show it",
                s->load, vkt__cpu_count());
    for (uint32_t a = 0; a < VKT_SCALING_CURVES; a++)
        for (size_t i = 0; i < VKT_SCALING_POINTS; i++)
            progress.total += axes[a].n[i] && is_wanted(desc, i);
    for (uint32_t a = 0; a < VKT_SCALING_CURVES; a++) {
        vkt_scaling_curve *c = &s->curve[a];
        c->name = axes[a].name;
        c->held = axes[a].held;
        for (size_t i = 0; i < VKT_SCALING_POINTS && axes[a].n[i]; i++) {
            vkt_scaling_point *p = &c->point[c->n_points];
            bool fits = false;
            if (!is_wanted(desc, i)) continue;
            progress.what = c->name;
            progress.elapsed_s = vkt__now() - start;
            if (desc->on_progress) desc->on_progress(desc->user, &progress);
            VKT_TRY(measure(gpu, desc, size_at(a, axes[a].n[i]), p, &fits));
            progress.done++;
            p->n = axes[a].n[i];
            if (!fits || p->ms > 4000) break;
            c->n_points++;
        }
        vkt_scaling_explain(c);
    }
    *out = s;
    s = NULL;
fail:
    free(s);
    return st;
}
