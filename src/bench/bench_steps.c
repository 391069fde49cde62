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
#include "bench/bench_target.h"

/* One step of each. model: layers as in a recipe. */
static const struct workload {
    const char *name;
    uint32_t inputs, classes, batch;
    uint32_t context; /* text: tokens of an example; classes is its vocabulary */
    int level;        /* 0: for tests; 2: not with --quick; 3: only where --step names it */
    double gflops;    /* of a step's products, to tell beforehand what would take too long */
    const char *precision, *model;
    uint32_t side; /* pictures: inputs are [side, side, the rest]; 0: [inputs] */
    uint32_t rank; /* of adapters on all projections of a base in `base`; 0: all is trained */
    vkt_quant base;
} workloads[] = {
#define MLP(h1, h2) "  - linear: " h1 "\n  - relu\n  - linear: " h2 "\n  - relu\n  - linear\n"
#define MLP_SMALL "  - linear: 128\n  - relu\n  - linear\n"
#define CONV(out) "  - conv: {out: " out ", bias: false}\n  - batch_norm\n  - relu\n"
#define BLOCKS(n, out, stride)                                                                     \
    "  - repeat: {n: " n ", body: [{basic_block: {out: " out ", stride: " stride "}}]}\n"
#define DEEP(out, stride, n)                                                                       \
    "  - bottleneck: {out: " out ", stride: " stride "}\n"                                         \
    "  - repeat: {n: " n ", body: [{bottleneck: {out: " out "}}]}\n"
#define GPT(layers, heads, width)                                                                  \
    "  - transformer: {layers: " layers ", heads: " heads ", width: " width "}\n"
#define SMOLLM2                                                                                    \
    "  - transformer: {layers: 30, heads: 9, kv_heads: 3, width: 576, mlp: 1536, norm: "           \
    "rmsnorm, positions: rope, activation: swiglu}\n"
#define TINYLLAMA                                                                                  \
    "  - transformer: {layers: 22, heads: 32, kv_heads: 4, width: 2048, mlp: 5632, norm: "         \
    "rmsnorm, positions: rope, activation: swiglu}\n"
    { "MLP 8-16-4, batch 8, adam", 8, 4, 8, 0, 0, 0, "fp32",
      "  - linear: 16\n  - relu\n  - linear\n" },
    { "MLP 64-128-10, batch 64, adam", 64, 10, 64, 0, 1, 0.003, "fp32", MLP_SMALL },
    { "MLP 784-256-128-10, batch 128, adam", 784, 10, 128, 0, 1, 0.18, "fp32", MLP("256", "128") },
    { "MLP 784-512-512-10, batch 128, adam", 784, 10, 128, 0, 1, 0.51, "fp32", MLP("512", "512") },
    { "MLP 784-512-512-10, batch 128, bf16", 784, 10, 128, 0, 1, 0.51, "bf16", MLP("512", "512") },
    { "MLP 784-512-512-10, batch 128, fp16", 784, 10, 128, 0, 1, 0.51, "fp16", MLP("512", "512") },
    { "MLP 3072-2048-2048-10, batch 256, adam", 3072, 10, 256, 0, 2, 16, "fp32",
      MLP("2048", "2048") },
    { "MLP 3072-2048-2048-10, batch 256, bf16", 3072, 10, 256, 0, 2, 16, "bf16",
      MLP("2048", "2048") },
    { "MLP 3072-2048-2048-10, batch 256, fp16", 3072, 10, 256, 0, 2, 16, "fp16",
      MLP("2048", "2048") },
    { "GPT of one layer, 2 x 16 tokens, adamw", 0, 17, 2, 16, 0, 0, "fp32", GPT("1", "1", "16") },
    { "GPT of one layer, LoRA on NF4, 2 x 16 tokens, adamw", 0, 17, 2, 16, 0, 0, "fp32",
      GPT("1", "1", "64"), 0, 2, VKT_QUANT_NF4 },
    { "GPT 0.8M, 12 x 64 tokens, adamw", 0, 65, 12, 64, 1, 4, "fp32", GPT("4", "4", "128") },
    { "GPT 10.8M, 16 x 256 tokens, adamw", 0, 65, 16, 256, 2, 280, "fp32", GPT("6", "6", "384") },
    { "GPT-2 124M, 1 x 128 tokens, adamw", 0, 50257, 1, 128, 2, 96, "fp32",
      GPT("12", "12", "768") },
    { "GPT-2 124M, 8 x 1024 tokens, bf16", 0, 50257, 8, 1024, 2, 6400, "bf16",
      GPT("12", "12", "768") },
    { "SmolLM2-135M, 1 x 128 tokens, adamw", 0, 49152, 1, 128, 2, 105, "fp32", SMOLLM2 },
    { "SmolLM2-135M LoRA, 1 x 512 tokens, adamw", 0, 49152, 1, 512, 3, 300, "fp32", SMOLLM2, 0, 8 },
    { "SmolLM2-135M LoRA on NF4, 1 x 512 tokens, adamw", 0, 49152, 1, 512, 3, 300, "fp32", SMOLLM2,
      0, 8, VKT_QUANT_NF4 },
    { "SmolLM2-135M, 8 x 1024 tokens, bf16", 0, 49152, 8, 1024, 3, 6900, "bf16", SMOLLM2 },
    { "SmolLM2-135M LoRA, 8 x 1024 tokens, bf16", 0, 49152, 8, 1024, 3, 4900, "bf16", SMOLLM2, 0,
      8 },
    { "TinyLlama-1.1B LoRA, 1 x 128 tokens, adamw", 0, 32000, 1, 128, 3, 530, "fp32", TINYLLAMA, 0,
      8 },
    { "TinyLlama-1.1B LoRA on NF4, 1 x 128 tokens, adamw", 0, 32000, 1, 128, 3, 530, "fp32",
      TINYLLAMA, 0, 8, VKT_QUANT_NF4 },
    { "CNN 8x8, conv 4, batch 4, adam", 64, 4, 4, 0, 0, 0, "fp32",
      CONV("4") "  - max_pool: 2\n  - flatten\n  - linear\n", 8 },
    { "CNN 28x28, conv 32-64, batch 64, adam", 784, 10, 64, 0, 1, 1.5, "fp32",
      CONV("32") "  - max_pool: 2\n" CONV("64") "  - max_pool: 2\n  - flatten\n" MLP_SMALL, 28 },
    { "ResNet-20 32x32, batch 128, adam", 3072, 10, 128, 0, 2, 31, "fp32",
      CONV("16") BLOCKS("3", "16", "1") BLOCKS("1", "32", "2") BLOCKS("2", "32", "1")
          BLOCKS("1", "64", "2") BLOCKS("2", "64", "1") "  - global_pool\n  - linear\n",
      32 },
    { "ResNet-20 32x32, batch 128, bf16", 3072, 10, 128, 0, 2, 31, "bf16",
      CONV("16") BLOCKS("3", "16", "1") BLOCKS("1", "32", "2") BLOCKS("2", "32", "1")
          BLOCKS("1", "64", "2") BLOCKS("2", "64", "1") "  - global_pool\n  - linear\n",
      32 },
    { "ResNet-50 224x224, batch 32, bf16", 224 * 224 * 3, 1000, 32, 0, 3, 785, "bf16",
      "  - conv: {out: 64, kernel: 7, stride: 2, bias: false}\n  - batch_norm\n  - relu\n"
      "  - max_pool: {size: 3, stride: 2, pad: 1}\n" DEEP("256", "1", "2") DEEP("512", "2", "3")
          DEEP("1024", "2", "5") DEEP("2048", "2", "2") "  - global_pool\n  - linear\n",
      224 },
#undef MLP
#undef MLP_SMALL
#undef CONV
#undef BLOCKS
#undef DEEP
#undef GPT
#undef SMOLLM2
#undef TINYLLAMA
};

/* Seconds: a step that takes longer is left out, but where it was named. */
static double most_s(const struct workload *w)
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

static vkt_status measure(vkt__bench_runner *r, const struct workload *w)
{
    enum { MAX_WINDOWS = 200 };
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
    if (!b->desc->once) {
        uint32_t tries = one > 1 ? 1 : 3;
        start = vkt__now();
        for (uint32_t i = 0; i < tries; i++) VKT_TRY(vkt__bench_runner_step(r));
        VKT_TRY(vkt__steps_drain(&r->steps));
        one = (vkt__now() - start) / tries;
        for (double end = vkt__now() + b->warm_s; vkt__now() < end;)
            VKT_TRY(vkt__bench_runner_step(r));
        double least = b->desc->quick ? 0.02 : 0.05;
        per = (uint32_t)VKT_MAX(1, VKT_MIN(least / VKT_MAX(one, 1e-6), 10000));
    }
    double seconds = b->desc->once ? 0 : b->desc->quick ? 1.0 : 3.0;
    uint64_t read = r->n_read;
    if (b->energy) vkt__energy_begin(b->energy);
    for (double end = vkt__now() + seconds; n < (b->desc->once ? 1
                                                 : one > 0.3   ? 4
                                                               : b->min_runs) ||
                                            (n < MAX_WINDOWS && vkt__now() < end);
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
    const struct workload *w = &workloads[item->arg];
    vkt_status st = VKT_OK;
    vkt_config *c = NULL;
    vkt_dataset *data = NULL;
    vkt__bench_runner r = { .b = b };
    vkt__str yaml = { 0 };
    uint32_t pixels = VKT_MAX(w->side * w->side, 1), rank = w->side ? 3 : 1,
             shape[] = { w->side ? w->side : w->inputs, w->side, w->inputs / pixels };
    double rate = b->matmul > 0 ? b->matmul : b->fma, guess = rate > 0 ? 1e9 * w->gflops / rate : 0;
    if (guess > most_s(w)) {
        vkt__bench_left_out(b->out, "%s: one step would take about %.0f s", w->name, guess);
        return VKT_OK;
    }
    vkt__str_printf(&yaml, "name: bench\ndata: {source: %s}\nmodel:\n%s",
                    w->context ? "novel" : "digits", w->model);
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
    uint32_t at = 0;
    while (at < VKT_COUNT(workloads) && (workloads[at].level == 0 || i--)) at++;
    return at < VKT_COUNT(workloads) ? workloads[at].name : NULL;
}

static void plan_workload(vkt__bencher *b, vkt__bench_items *list, uint32_t i)
{
    vkt__bench_plan(list, VKT_BENCH_STEPS, workloads[i].name,
                    b->warm_s + (b->desc->quick ? 1.2 : 3.2) +
                        (b->caps->klass == VKT_GPU_CLASS_CPU ? workloads[i].gflops / 5 : 0),
                    run_workload, i, 0);
}

static void plan_key(vkt__bencher *b, vkt__bench_items *list)
{
    size_t n;
    const char *const *name = vkt__bench_key_steps(&n);
    for (size_t k = 0; k < n; k++) {
        uint32_t i = 0;
        while (strcmp(workloads[i].name, name[k]) != 0) i++;
        if (vkt__bench_is_named(b, name[k]) && (!b->desc->once || workloads[i].gflops < 0.01))
            plan_workload(b, list, i);
    }
}

static void plan_all(vkt__bencher *b, vkt__bench_items *list)
{
    for (uint32_t i = 0; i < VKT_COUNT(workloads); i++) {
        if (!b->desc->row && (b->desc->once ? workloads[i].level > 0 : workloads[i].level == 0))
            continue;
        if (!vkt__bench_is_named(b, workloads[i].name)) continue;
        if (workloads[i].level > 2 && !b->desc->step && !b->desc->row) continue;
        if (b->desc->quick && !b->desc->row && workloads[i].level == 2) {
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
