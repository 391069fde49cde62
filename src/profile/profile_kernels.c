/* Single kernels: their times in a training step, and three references measured the same way: a
 * large copy, a large matrix product, and kernels of one element. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "profile/profiler.h"
#include "runs/curve.h"
#include "tensor/graph/graph.h"

/* ---- references ---- */

enum { RUNS = 11, CHAIN = 32, LONG_CHAIN = 160 };

/* Least milliseconds of a submission of a compiled graph by wall clock. */
static vkt_status wall_ms(vkt_graph *g, double *ms)
{
    vkt_status st = VKT_OK;
    *ms = INFINITY;
    for (int i = 0; i <= RUNS; i++) {
        double start = vkt__now();
        VKT_TRY(vkt_graph_run(g));
        if (i) *ms = VKT_MIN(*ms, 1e3 * (vkt__now() - start));
    }
fail:
    return st;
}

/* Least milliseconds of a compiled graph, its nodes one by one, without what the timing itself
 * takes; by wall clock where the device has no timestamps. References are what the device can do,
 * so the best run counts. */
static vkt_status graph_ms(const vkt_profile *p, vkt_graph *g, double *ms)
{
    vkt_node_time *t = NULL;
    size_t n = 0;
    if (!p->timestamps) return wall_ms(g, ms);
    vkt_status st = vkt_graph_run(g);
    if (st == VKT_OK) st = vkt_graph_time(g, 0, RUNS, &t, &n);
    *ms = 0;
    for (size_t i = 0; i < n; i++)
        *ms += VKT_MAX(t[i].min_ms - 1e-3 * p->timing_us, 0.1 * t[i].min_ms);
    free(t);
    return st;
}

/* A buffer of random numbers in (-1, 1), not zeros: those draw less power and compress. One MiB of
 * them repeats. */
static vkt_status random_buffer(vkt_gpu *gpu, uint64_t bytes, const char *label, vkt_buffer **out)
{
    vkt_status st = VKT_OK;
    enum { N = 1 << 18 };
    float *v = vkt__alloc(N * sizeof *v);
    VKT_TRY(vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, label }, out));
    for (uint32_t i = 0; i < N; i++) v[i] = (float)(2 * vkt_rand_uniform(1, VKT_RNG_TEST, i) - 1);
    for (uint64_t at = 0; at < bytes; at += N * sizeof *v)
        VKT_TRY(vkt_buffer_write(gpu, *out, at, v, VKT_MIN(bytes - at, N * sizeof *v)));
fail:
    free(v);
    return st;
}

/* Bytes of the largest reference tensor: past the caches of a device, within an eighth of what may
 * be used. Smaller on CPU drivers, where a long kernel is more likely to be interrupted. */
static uint64_t reference_bytes(vkt_gpu *gpu)
{
    const vkt_caps *c = vkt_gpu_caps(gpu);
    uint64_t want = (uint64_t)(c->klass == VKT_GPU_CLASS_CPU ? 32 : 256) << 20;
    return VKT_MIN(VKT_MIN(want, c->max_alloc_bytes), c->budget_bytes / 8) / 256 * 256;
}

/* Bandwidth: the better of a copy and a sum. */
static vkt_status measure_memory(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    vkt_buffer *x = NULL;
    vkt_graph *g = NULL;
    uint64_t bytes = reference_bytes(gpu);
    VKT_TRY(random_buffer(gpu, bytes, "memory reference", &x));
    for (int sum = 0; sum < 2; sum++) {
        double ms;
        g = vkt__graph_new(gpu);
        vkt_tensor *t = vkt_input(g, vkt_shape1((uint32_t)(bytes / 4)), VKT_F32, "x");
        vkt_bind(t, VKT_ALL_SLOTS, x, 0);
        vkt_keep(sum ? vkt_sum(g, t) : vkt_copy(g, t), "reference");
        VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "memory reference" }));
        VKT_TRY(graph_ms(p, g, &ms));
        double rate = (sum ? 1e-6 : 2e-6) * (double)bytes / ms;
        vkt_log(VKT_LOG_DEBUG, "profile", "%s of %.0f MiB: %.3g GB/s", sum ? "sum" : "copy",
                (double)bytes / 1048576, rate);
        if (rate > p->memory_gbps) {
            p->memory_gbps = rate;
            p->memory_by = sum ? "sum" : "copy";
        }
        vkt_graph_destroy(&g);
    }
fail:
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &x);
    return st;
}

static vkt_status time_matmul(vkt_gpu *gpu, const vkt_profile *p, uint32_t n, double *ms)
{
    vkt_status st = VKT_OK;
    vkt_buffer *x = NULL;
    vkt_graph *g = vkt__graph_new(gpu);
    uint64_t each = (uint64_t)n * n * 4;
    vkt_tensor *a = vkt_input(g, vkt_shape2(n, n), VKT_F32, "a"),
               *b = vkt_input(g, vkt_shape2(n, n), VKT_F32, "b");
    VKT_TRY(random_buffer(gpu, 2 * each, "product reference", &x));
    vkt_bind(a, VKT_ALL_SLOTS, x, 0);
    vkt_bind(b, VKT_ALL_SLOTS, x, each);
    vkt_keep(vkt_matmul(g, VKT_LAYOUT_NT, a, b), "product");
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "product reference" }));
    VKT_TRY(graph_ms(p, g, ms));
fail:
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &x);
    return st;
}

/* Square products, larger ones until one takes 30 ms: the best rate counts. */
static vkt_status measure_matmul(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    double ms = 0;
    uint64_t most = reference_bytes(gpu);
    for (uint32_t n = 256; n <= 4096 && (uint64_t)n * n * 8 <= most && ms < 30; n *= 2) {
        VKT_TRY(time_matmul(gpu, p, n, &ms));
        double rate = 2e-6 * n * n * n / ms;
        if (rate > p->matmul_gflops) {
            p->matmul_gflops = rate;
            p->matmul_n = n;
        }
    }
fail:
    return st;
}

/* A chain, so that each kernel waits for the one before as in a training step. node_ms: the median
 * of its kernels timed apart. */
static vkt_status time_chain(vkt_gpu *gpu, const vkt_profile *p, int n, double *ms, double *node_ms)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_node_time *times = NULL;
    size_t n_times;
    double v[LONG_CHAIN];
    vkt_tensor *t = vkt_fill(g, vkt_shape1(1), 1);
    for (int i = 1; i < n; i++) t = vkt_scale(g, t, 1);
    vkt_keep(t, "chain");
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "empty kernels" }));
    VKT_TRY(wall_ms(g, ms));
    if (p->timestamps) {
        VKT_TRY(vkt_graph_time(g, 0, RUNS, &times, &n_times));
        for (size_t i = 0; i < n_times; i++) v[i] = times[i].ms;
        *node_ms = vkt__median(v, n_times);
    }
fail:
    free(times);
    vkt_graph_destroy(&g);
    return st;
}

/* What an empty kernel costs in a recorded step: a long chain less a short one. What timing it
 * apart costs beyond. */
static vkt_status measure_empty(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    double few, many, apart = 0;
    VKT_TRY(time_chain(gpu, p, CHAIN, &few, &apart));
    VKT_TRY(time_chain(gpu, p, LONG_CHAIN, &many, &apart));
    p->empty_us = 1e3 * VKT_MAX(many - few, 1e-3 * many) / (LONG_CHAIN - CHAIN);
    p->timing_us = VKT_MAX(1e3 * apart - p->empty_us, 0);
fail:
    return st;
}

vkt_status vkt__profile_references(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    VKT_TRY(measure_empty(gpu, p));
    VKT_TRY(measure_memory(gpu, p));
    VKT_TRY(measure_matmul(gpu, p));
fail:
    return st;
}

/* ---- the step's kernels ---- */

/* Launch: about as short as an empty one, or less than twice that with less than half of it
 * explained by its work. */
vkt_kernel_bound vkt__profile_bound(const vkt_profile *p, double ms, double flops, double bytes,
                                    double *ceiling)
{
    double memory = 1e-6 * bytes / p->memory_gbps, compute = 1e-6 * flops / p->matmul_gflops,
           work = VKT_MAX(memory, compute);
    if (ceiling) *ceiling = ms > 0 ? work / ms : NAN;
    if (ms < 1.2e-3 * p->empty_us || (ms < 2e-3 * p->empty_us && work < 0.5 * ms))
        return VKT_KERNEL_BOUND_LAUNCH;
    return memory >= compute ? VKT_KERNEL_BOUND_MEMORY : VKT_KERNEL_BOUND_COMPUTE;
}

static void add_kernel(vkt_profile *p, size_t *cap, const vkt_node_time *t, const char *of,
                       uint32_t times)
{
    vkt_profile_kernel *k = NULL;
    for (size_t i = 0; i < p->n_kernels && !k; i++) {
        vkt_profile_kernel *c = &p->kernels[i];
        if (!strcmp(c->op, t->op) && !strcmp(c->result, t->result) &&
            c->flops == c->count * t->flops && c->bytes == c->count * t->bytes)
            k = c;
    }
    if (!k) {
        if (p->n_kernels == *cap)
            p->kernels = vkt__grow(p->kernels, p->n_kernels, cap, sizeof *p->kernels);
        k = &p->kernels[p->n_kernels++];
        *k = (vkt_profile_kernel) { .op = t->op, .level = t->level };
        memcpy(k->result, t->result, sizeof k->result);
        memcpy(k->of, of, sizeof k->of);
    }
    k->count += times;
    k->ms += times * t->ms;
    k->flops = k->count * t->flops;
    k->bytes = k->count * t->bytes;
}

static int longest_first(const void *a, const void *b)
{
    const vkt_profile_kernel *x = a, *y = b;
    return (x->ms < y->ms) - (x->ms > y->ms);
}

/* A name that distinguishes a node from others of its op: that of its result, else of its first
 * named input.
 */
static void label(const vkt_node *n, char out[64])
{
    const char *name = n->out[0] ? n->out[0]->name : NULL;
    for (uint32_t i = 0; i < n->op->n_in && !name; i++)
        if (n->in[i] && n->in[i]->name && n->in[i] != n->g->step) name = n->in[i]->name;
    snprintf(out, 64, "%s", name ? name : "");
}

/* As often as fits into half a second, an odd number between 3 and 31. What timing costs is taken
 * off. */
static vkt_status time_graph(const vkt_profile *p, vkt_graph *g, vkt__dispatches *d)
{
    vkt_status st = VKT_OK;
    double ms = 1e-3, at = 0;
    VKT_TRY(vkt_graph_time(g, 0, 1, &d->node, &d->n));
    for (size_t i = 0; i < d->n; i++) ms += d->node[i].ms;
    free(d->node);
    d->node = NULL;
    VKT_TRY(vkt_graph_time(g, 0, (uint32_t)VKT_MIN(VKT_MAX(500 / ms, 3), 31) | 1, &d->node, &d->n));
    d->label = vkt__alloc((d->n + 1) * sizeof *d->label);
    for (size_t i = 0, k = 0; i < d->n; i++) {
        vkt_node_time *t = &d->node[i];
        t->ms = VKT_MAX(t->ms - 1e-3 * p->timing_us, VKT_MIN(t->ms, 1e-3 * p->empty_us));
        t->start_ms = at;
        at += t->ms;
        /* The same order as vkt_graph_time's: by level, then as built. */
        while (g->nodes[k % g->n_nodes]->level != t->level || k / g->n_nodes != t->level) k++;
        label(g->nodes[k++ % g->n_nodes], d->label[i]);
    }
fail:
    return st;
}

vkt_status vkt__profile_kernels(vkt__session *s, vkt_profile *p, vkt__dispatches *train,
                                vkt__dispatches *update)
{
    vkt_status st = VKT_OK;
    size_t cap = 0;
    double flops, bytes;
    vkt_graph_cost(s->train.graph, &flops, &bytes);
    p->flops = p->accumulate * flops;
    p->bytes = p->accumulate * bytes;
    p->n_dispatches = p->accumulate * (uint32_t)s->train.graph->n_nodes;
    if (s->update) {
        vkt_graph_cost(s->update, &flops, &bytes);
        p->flops += flops;
        p->bytes += bytes;
        p->n_dispatches += (uint32_t)s->update->n_nodes;
    }
    p->kernels_ms = NAN;
    if (!p->timestamps) return VKT_OK;
    VKT_TRY(time_graph(p, s->train.graph, train));
    if (s->update) VKT_TRY(time_graph(p, s->update, update));
    for (size_t i = 0; i < train->n; i++)
        add_kernel(p, &cap, &train->node[i], train->label[i], p->accumulate);
    for (size_t i = 0; i < update->n; i++)
        add_kernel(p, &cap, &update->node[i], update->label[i], 1);
    p->kernels_ms = 0;
    for (size_t i = 0; i < p->n_kernels; i++) {
        vkt_profile_kernel *k = &p->kernels[i];
        p->kernels_ms += k->ms;
        k->bound = vkt__profile_bound(p, k->ms / k->count, k->flops / k->count, k->bytes / k->count,
                                      &k->ceiling);
    }
    qsort(p->kernels, p->n_kernels, sizeof *p->kernels, longest_first);
fail:
    return st;
}
