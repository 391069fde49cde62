/* Training steps of fixed models through the trainer's own session: loader threads, ring of
 * batches, one recorded submission a step, results a step late. Synthetic data, as the time does
 * not depend on it. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "data/synthetic.h"
#include "bench/bench_clock.h"
#include "bench/bench_key.h"
#include "bench/bench_rows.h"
#include "bench/bench_runner.h"
#include "bench/bench_suite.h"
#include "bench/bench_target.h"
#include "bench/bench_workloads.h"

/* Seconds: a step that takes longer is left out, but where it was named. */
static double most_s(const vkt__workload *w)
{
    return w->level > 2 ? 120 : 20;
}

/* The seconds that a step must take: every node at the ceilings, as if nothing stayed on chip
 * between two nodes but what fits the cache that the copy at this working set saw. */
static double roofline(const vkt__bencher *b, const vkt_graph *g, double working_set, double *flops,
                       double *bytes)
{
    double s = 0, bw = vkt__bench_bandwidth(b, working_set, 0.5);
    *flops = *bytes = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_cost c = vkt__node_cost(g->nodes[k]);
        s += VKT_MAX(bw > 0 ? c.bytes / bw : 0, b->fma > 0 ? c.flops / b->fma : 0);
        *flops += c.flops;
        *bytes += c.bytes;
    }
    return s;
}

/* Milliseconds of the step's kernels timed one by one, the medians of a few runs added up; NAN
 * where the device has no timestamps. Batch and weights can't be used afterwards. */
static vkt_status kernels_ms(const vkt__bench_runner *r, double step_s, double *ms)
{
    vkt_node_time *t = NULL;
    size_t n = 0;
    *ms = NAN;
    if (!(r->b->caps->timestamp_ns > 0)) return VKT_OK;
    uint32_t runs = r->b->desc->once || step_s > 0.3 ? 1 : step_s > 0.02 ? 5 : 51;
    vkt_status st = vkt_graph_time(r->s->train.graph, 0, runs, &t, &n);
    if (st == VKT_OK) *ms = 0;
    for (size_t i = 0; i < n; i++) *ms += t[i].ms;
    free(t);
    return st;
}

/* At least n more steps read back, from the end of one to the end of another: what the ring holds
 * at either end does not count, as a step given to a ring with room takes no time at all. */
static vkt_status window(vkt__bench_runner *r, uint32_t n, double *seconds)
{
    vkt_status st = VKT_OK;
    double began = r->ended;
    uint64_t read = r->n_read;
    while (r->n_read < read + n) VKT_TRY(vkt__bench_runner_step(r));
    *seconds = (r->ended - began) / (double)(r->n_read - read);
fail:
    return st;
}

static vkt_status measure(vkt__bench_runner *r, const vkt__workload *w)
{
    enum { MAX_WINDOWS = 200, MORE_STEPS = 6 }; /* that a long step takes: to try, warm up, time */
    vkt_status st = VKT_OK;
    vkt__bencher *b = r->b;
    double windows[MAX_WINDOWS], host = 0, one, flops, bytes, joules;
    uint32_t n = 0, per = 1;
    uint64_t steps = 0;
    vkt__times t;
    double start = vkt__now();
    VKT_TRY(vkt__bench_runner_step(r));
    VKT_TRY(vkt__steps_drain(&r->steps));
    one = vkt__now() - start;
    if (one > (b->desc->quick ? 4 : most_s(w))) {
        vkt__bench_left_out(b->out, "%s: one step takes %.1f s", w->name, one);
        goto fail;
    }
    if (b->seconds > 0 && vkt__now() - b->began + MORE_STEPS * one > b->seconds) {
        vkt__bench_left_out(b->out, "%s: no time for it in %.0f s, as one step takes %.1f s",
                            w->name, b->seconds, one);
        goto fail;
    }
    if (!b->desc->once) {
        uint32_t tries = one > 1 || b->share < 0.5 ? 1 : 3;
        start = vkt__now();
        for (uint32_t i = 0; i < tries; i++) VKT_TRY(vkt__bench_runner_step(r));
        VKT_TRY(vkt__steps_drain(&r->steps));
        one = (vkt__now() - start) / tries;
        for (double end = vkt__now() + b->share * b->warm_s; vkt__now() < end;)
            VKT_TRY(vkt__bench_runner_step(r));
        double least = b->desc->quick ? 0.02 : 0.05;
        per = (uint32_t)VKT_MAX(1, VKT_MIN(least / VKT_MAX(one, 1e-6), 10000));
    }
    double seconds = b->desc->once ? 0 : b->desc->quick ? b->share : 3.0;
    uint64_t read = r->n_read;
    if (b->energy) vkt__energy_begin(b->energy);
    uint32_t least_n = vkt__bench_min_runs(b);
    if (one > 0.3) least_n = VKT_MIN(least_n, 4);
    double begun = vkt__now(), end = begun + seconds,
           last = begun + VKT__BENCH_MOST_TIMES * seconds;
    for (; n < least_n || (n < MAX_WINDOWS && vkt__now() < end) ||
           (n < MAX_WINDOWS && vkt__now() < last && !vkt__bench_is_sure(b, windows, n));
         n++) {
        double cpu = vkt__thread_cpu(), driver = vkt__gpu_driver_cpu(r->s->gpu);
        uint64_t given = r->step;
        VKT_TRY(window(r, per, &windows[n]));
        host += vkt__thread_cpu() - cpu - (vkt__gpu_driver_cpu(r->s->gpu) - driver);
        steps += r->step - given;
    }
    joules = vkt__energy_end(b->energy, NULL);
    read = r->n_read - read;
    VKT_TRY(vkt__steps_drain(&r->steps));
    vkt__bench_stats(windows, n, &t);
    double ideal = roofline(b, r->s->train.graph, (double)r->s->planned_bytes, &flops, &bytes);
    vkt_bench_row *row = vkt__bench_row(b->out, VKT_BENCH_STEPS, w->name, "ms", false);
    vkt__bench_set(row, &t, 1e3);
    row->items_per_s = w->batch * VKT_MAX(w->context, 1u) / t.median;
    row->gflops = flops / t.median * 1e-9;
    row->gbps = bytes / t.median * 1e-9;
    row->percent = 100 * ideal / t.median;
    row->host_us = 1e6 * host / (double)steps;
    row->memory_bytes = (double)r->s->planned_bytes;
    row->energy_j = joules / (double)read;
    row->loss_first = r->first_loss;
    row->loss_last = r->loss;
    if (isfinite(row->energy_j))
        vkt__bench_note(b->out, row, "energy by %s", vkt__energy_source(b->energy));
    VKT_TRY(kernels_ms(r, one, &row->kernels_ms));
    vkt__bench_note(b->out, row, "loss %.3g to %.3g in %llu steps", r->first_loss, r->loss,
                    (unsigned long long)r->step);
    if (r->bad)
        vkt__bench_refuse(b, row, true, "wrong result: NaN or Inf in the loss or the gradient");
    else if (!b->desc->once && r->step > 200 && !(r->loss < r->first_loss))
        vkt__bench_refuse(b, row, true,
                          "wrong result: the loss did not fall in %llu steps (%.4g to %.4g)",
                          (unsigned long long)r->step, r->first_loss, r->loss);
fail:
    return st;
}

/* arg: the workload. */
static vkt_status run_workload(vkt__bencher *b, const vkt__bench_item *item)
{
    const vkt__workload *w = &vkt__bench_workloads(NULL)[item->arg];
    vkt_status st = VKT_OK;
    vkt_config *c = NULL;
    vkt_dataset *data = NULL;
    vkt__bench_runner r = { .b = b };
    vkt__str yaml = { 0 };
    uint32_t rows = w->frames ? w->frames : w->side, across = w->frames ? 1 : w->side,
             rank = rows ? 3 : 1,
             shape[] = { rows ? rows : w->inputs, across, w->inputs / VKT_MAX(rows * across, 1u) };
    double rate = b->matmul > 0 ? b->matmul : b->fma, guess = rate > 0 ? 1e9 * w->gflops / rate : 0;
    if (guess > most_s(w)) {
        vkt__bench_left_out(b->out, "%s: one step would take about %.0f s", w->name, guess);
        return VKT_OK;
    }
    bool dense = w->task != VKT_TASK_CLASSIFY;
    vkt__str_printf(&yaml, "name: bench\ndata: {source: %s}\nmodel:\n%s",
                    w->context                    ? "novel"
                    : w->task == VKT_TASK_SEGMENT ? "masks, path: none"
                    : dense                       ? "boxes, path: none"
                                                  : "digits",
                    w->model);
    vkt__str_printf(&yaml,
                    "optim: {rule: %s, lr: 0.0005}\nschedule: {kind: constant}\n"
                    "train: {steps: 1000000, batch: %u, precision: %s}\neval: {batch: %u}\n",
                    w->context ? "adamw, weight_decay: 0.01" : "adam", w->batch, w->precision,
                    w->batch);
    VKT_TRY(vkt_config_create(&c));
    VKT_TRY(vkt_config_parse(c, yaml.data, yaml.len, "the benchmark's model"));
    VKT_TRY(vkt_config_finish(c));
    c->lora = (vkt_lora) { .rank = w->rank,
                           .alpha = 2 * (float)w->rank,
                           .targets = w->rank ? VKT_LORA_ALL : NULL,
                           .base = w->base };
    if (w->context)
        VKT_TRY(vkt__dataset_synthetic_text(w->batch * 8, w->context, w->classes, 5, &data));
    else if (dense)
        VKT_TRY(vkt__dataset_synthetic_dense(w->batch * 8, w->side, w->task, w->classes, 5, &data));
    else if (w->vocab)
        VKT_TRY(vkt__dataset_synthetic_sentences(w->batch * 8, w->inputs, w->vocab, w->classes, 5,
                                                 &data));
    else
        VKT_TRY(vkt__dataset_synthetic(w->batch * 8, shape, rank, w->classes, 5, &data));
    r.c = c;
    st = vkt__bench_runner_start(&r, data);
    if (st == VKT_E_OOM_DEVICE) {
        vkt__bench_left_out(b->out, "%s: not enough device memory", w->name);
        st = VKT_OK;
        goto fail;
    }
    VKT_TRY(st);
    VKT_TRY(measure(&r, w));
fail:
    vkt__bench_runner_finish(&r);
    vkt_dataset_destroy(&data);
    vkt_config_destroy(&c);
    vkt__str_finish(&yaml);
    return st;
}

const char *vkt__bench_step_name(uint32_t i)
{
    uint32_t at = 0, n;
    const vkt__workload *workloads = vkt__bench_workloads(&n);
    while (at < n && (workloads[at].level == 0 || i--)) at++;
    return at < n ? workloads[at].name : NULL;
}

static void plan_workload(vkt__bencher *b, vkt__bench_items *list, uint32_t i)
{
    enum { LEAST_STEPS = 7 }; /* of a row in a short share of a minute */
    const vkt__workload *workloads = vkt__bench_workloads(NULL);
    double step_s = b->caps->klass == VKT_GPU_CLASS_CPU ? workloads[i].gflops / 5 : 0;
    vkt__bench_plan(list, VKT_BENCH_STEPS, workloads[i].name,
                    b->warm_s + (b->desc->quick ? 1.2 : 3.2) +
                        step_s * (b->minute_s > 0 ? LEAST_STEPS : 1),
                    run_workload, i, 0);
}

static void plan_key(vkt__bencher *b, vkt__bench_items *list)
{
    size_t n;
    const char *const *name = vkt__bench_key_steps(&n);
    const vkt__workload *workloads = vkt__bench_workloads(NULL);
    for (size_t k = 0; k < n; k++) {
        uint32_t i = 0;
        while (strcmp(workloads[i].name, name[k]) != 0) i++;
        if (vkt__bench_is_named(b, name[k]) && (!b->desc->once || workloads[i].gflops < 0.01))
            plan_workload(b, list, i);
    }
}

/* In the suite's order: what its scores are made of comes first. */
static void plan_suite(vkt__bencher *b, vkt__bench_items *list)
{
    size_t n_rows;
    uint32_t n;
    const vkt__suite_row *row = vkt__suite_rows(&n_rows);
    const vkt__workload *workloads = vkt__bench_workloads(&n);
    const char *const types[] = { NULL, vkt__suite_half(b->caps) };
    for (size_t r = 0; r < n_rows; r++)
        for (size_t k = 0; k < VKT_COUNT(types); k++) {
            char name[160];
            if (row[r].group != VKT_BENCH_STEPS ||
                !vkt__suite_name(&row[r], types[k], name, sizeof name) ||
                !vkt__suite_has(b->suite, types[1], VKT_BENCH_STEPS, name))
                continue;
            for (uint32_t i = 0; i < n; i++)
                if (!strcmp(workloads[i].name, name)) plan_workload(b, list, i);
        }
}

static void plan_all(vkt__bencher *b, vkt__bench_items *list)
{
    uint32_t n;
    const vkt__workload *workloads = vkt__bench_workloads(&n);
    bool exact = b->desc->row;
    if (b->suite) plan_suite(b, list);
    for (uint32_t i = 0; i < n && !b->suite; i++) {
        int level = workloads[i].level;
        if (!exact && (b->desc->once ? level > 0 : level == 0)) continue;
        if (!vkt__bench_is_named(b, workloads[i].name)) continue;
        if (level > 2 && !b->desc->step && !exact) continue;
        if (b->desc->quick && !exact && level == 2) {
            vkt__bench_left_out(b->out, "%s: not with --quick", workloads[i].name);
            continue;
        }
        plan_workload(b, list, i);
    }
    vkt__bench_plan_generate(b, list);
    vkt__bench_plan_targets(b, list);
}

vkt_status vkt__bench_plan_steps(vkt__bencher *b, vkt__bench_items *list)
{
    size_t before = list->n;
    if (b->desc->key)
        plan_key(b, list);
    else
        plan_all(b, list);
    if (list->n == before && b->desc->step)
        return vkt__fail(VKT_E_ARG, "bench", "nothing measured here has '%s' in its name",
                         b->desc->step);
    return VKT_OK;
}
