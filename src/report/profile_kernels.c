/* Single kernels: their times in a training step, and three references measured the same way: a large copy, a large
 * matrix product, and kernels of one element. */
#include <math.h>

#include "base/os.h"
#include "report/profiler.h"
#include "tensor/op.h"

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_size);
    return v[n / 2];
}

/* ---- references ---- */

enum { RUNS = 5, CHAIN = 32 };

/* Milliseconds of one node of a compiled graph: the median over nodes and runs; by wall clock and graph where the
 * device has no timestamps. */
static vkt_status node_ms(vkt_gpu *gpu, vkt_graph *g, double *ms)
{
    vkt_status st = VKT_OK;
    vkt_node_time *t = NULL;
    double v[CHAIN];
    size_t n = RUNS;
    VKT_TRY(vkt_graph_run(g));
    if (vkt_gpu_caps(gpu)->timestamp_ns > 0) {
        VKT_TRY(vkt_graph_time(g, 0, RUNS, &t, &n));
        VKT_ASSERT(n > 0 && n <= CHAIN);
        for (size_t i = 0; i < n; i++) v[i] = t[i].ms;
    } else {
        for (size_t i = 0; i < n; i++) {
            double start = vkt__now();
            VKT_TRY(vkt_graph_run(g));
            v[i] = 1e3 * (vkt__now() - start);
        }
    }
    *ms = median(v, n);
fail:
    free(t);
    return st;
}

/* A buffer of random numbers in (-1, 1), not zeros: those draw less power and compress. One MiB of them repeats. */
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

/* Bytes of the largest reference tensor: past the caches, within an eighth of what may be used. */
static uint64_t reference_bytes(vkt_gpu *gpu)
{
    const vkt_caps *c = vkt_gpu_caps(gpu);
    uint64_t want = (uint64_t)(c->klass == VKT_CLASS_CPU ? 128 : 256) << 20;
    return VKT_MIN(VKT_MIN(want, c->max_alloc_bytes), c->budget_bytes / 8) / 256 * 256;
}

static vkt_status measure_copy(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    vkt_buffer *x = NULL;
    vkt_graph *g = vkt_graph_create(gpu);
    uint64_t bytes = reference_bytes(gpu);
    double ms = 0;
    vkt_tensor *t = vkt_input(g, vkt_shape1((uint32_t)(bytes / 4)), VKT_F32, "x");
    VKT_TRY(random_buffer(gpu, bytes, "copy reference", &x));
    vkt_bind(t, VKT_ALL_SLOTS, x, 0);
    vkt_keep(vkt_copy(g, t), "copy");
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "copy reference" }));
    VKT_TRY(node_ms(gpu, g, &ms));
    p->copy_gbps = 2e-6 * (double)bytes / ms;
fail:
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &x);
    return st;
}

static vkt_status time_matmul(vkt_gpu *gpu, uint32_t n, double *ms)
{
    vkt_status st = VKT_OK;
    vkt_buffer *x = NULL;
    vkt_graph *g = vkt_graph_create(gpu);
    uint64_t each = (uint64_t)n * n * 4;
    vkt_tensor *a = vkt_input(g, vkt_shape2(n, n), VKT_F32, "a"), *b = vkt_input(g, vkt_shape2(n, n), VKT_F32, "b");
    VKT_TRY(random_buffer(gpu, 2 * each, "product reference", &x));
    vkt_bind(a, VKT_ALL_SLOTS, x, 0);
    vkt_bind(b, VKT_ALL_SLOTS, x, each);
    vkt_keep(vkt_matmul(g, VKT_NT, a, b), "product");
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "product reference" }));
    VKT_TRY(node_ms(gpu, g, ms));
fail:
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &x);
    return st;
}

/* Square products, larger ones until one takes 10 ms: the best rate counts. */
static vkt_status measure_matmul(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    double ms = 0;
    uint64_t most = reference_bytes(gpu);
    for (uint32_t n = 256; n <= 4096 && (uint64_t)n * n * 8 <= most && ms < 10; n *= 2) {
        VKT_TRY(time_matmul(gpu, n, &ms));
        double rate = 2e-6 * n * n * n / ms;
        if (rate > p->matmul_gflops) {
            p->matmul_gflops = rate;
            p->matmul_n = n;
        }
    }
fail:
    return st;
}

/* A chain, so that each kernel waits for the one before as in a training step. */
static vkt_status measure_empty(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = vkt_graph_create(gpu);
    double ms = 0;
    vkt_tensor *t = vkt_fill(g, vkt_shape1(1), 1);
    for (int i = 1; i < CHAIN; i++) t = vkt_scale(g, t, 1);
    vkt_keep(t, "chain");
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "empty kernels" }));
    VKT_TRY(node_ms(gpu, g, &ms));
    p->empty_us = 1e3 * ms / (p->timestamps ? 1 : CHAIN);
fail:
    vkt_graph_destroy(&g);
    return st;
}

vkt_status vkt__profile_references(vkt_gpu *gpu, vkt_profile *p)
{
    vkt_status st = VKT_OK;
    VKT_TRY(measure_empty(gpu, p));
    VKT_TRY(measure_copy(gpu, p));
    VKT_TRY(measure_matmul(gpu, p));
fail:
    return st;
}

/* ---- the step's kernels ---- */

/* Launch: no slower than two empty ones, and less than half of that explained by its work. */
vkt_bound vkt__profile_bound(const vkt_profile *p, double ms, double flops, double bytes, double *ceiling)
{
    double memory = 1e-6 * bytes / p->copy_gbps, compute = 1e-6 * flops / p->matmul_gflops, work = VKT_MAX(memory, compute);
    if (ceiling) *ceiling = ms > 0 ? work / ms : NAN;
    if (ms < 2e-3 * p->empty_us && work < 0.5 * ms) return VKT_BOUND_LAUNCH;
    return memory >= compute ? VKT_BOUND_MEMORY : VKT_BOUND_COMPUTE;
}

static void add_kernel(vkt_profile *p, size_t *cap, const vkt_node_time *t, uint32_t times)
{
    vkt_profile_kernel *k = NULL;
    for (size_t i = 0; i < p->n_kernels && !k; i++) {
        vkt_profile_kernel *c = &p->kernels[i];
        if (!strcmp(c->op, t->op) && !strcmp(c->result, t->result) && c->flops == c->count * t->flops && c->bytes == c->count * t->bytes) k = c;
    }
    if (!k) {
        if (p->n_kernels == *cap) p->kernels = vkt__grow(p->kernels, p->n_kernels, cap, sizeof *p->kernels);
        k = &p->kernels[p->n_kernels++];
        *k = (vkt_profile_kernel) { .op = t->op, .level = t->level };
        memcpy(k->result, t->result, sizeof k->result);
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

/* As often as fits into half a second, an odd number between 3 and 31. */
static vkt_status time_graph(vkt_graph *g, vkt__dispatches *out)
{
    vkt_status st = vkt_graph_time(g, 0, 1, &out->node, &out->n);
    if (st != VKT_OK) return st;
    double ms = 1e-3;
    for (size_t i = 0; i < out->n; i++) ms += out->node[i].ms;
    free(out->node);
    out->node = NULL;
    return vkt_graph_time(g, 0, (uint32_t)VKT_MIN(VKT_MAX(500 / ms, 3), 31) | 1, &out->node, &out->n);
}

vkt_status vkt__profile_kernels(vkt__session *s, vkt_profile *p, vkt__dispatches *train, vkt__dispatches *update)
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
    VKT_TRY(time_graph(s->train.graph, train));
    if (s->update) VKT_TRY(time_graph(s->update, update));
    for (size_t i = 0; i < train->n; i++) add_kernel(p, &cap, &train->node[i], p->accumulate);
    for (size_t i = 0; i < update->n; i++) add_kernel(p, &cap, &update->node[i], 1);
    p->kernels_ms = 0;
    for (size_t i = 0; i < p->n_kernels; i++) {
        vkt_profile_kernel *k = &p->kernels[i];
        p->kernels_ms += k->ms;
        k->bound = vkt__profile_bound(p, k->ms / k->count, k->flops / k->count, k->bytes / k->count, &k->ceiling);
    }
    qsort(p->kernels, p->n_kernels, sizeof *p->kernels, longest_first);
fail:
    return st;
}
