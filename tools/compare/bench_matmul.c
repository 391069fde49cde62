/* Development bench: matmul shapes through the public graph API. A graph holds enough independent
 * copies of one product to hide the submission's fixed cost; graphs take turns, so that noise of
 * the machine falls on all. "cpu ms" is the lower quartile of processor time: on CPU drivers it
 * says what a busy machine's wall time hides. bench_matmul [--device D] [--cap LIST] [--seconds S]
 * [[NT:|NN:|TN:]MxNxK ...]; without a layout: all three. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vktrain/tensor.h"

enum { MAX_CASES = 64, MAX_RUNS = 4096, MAX_COPIES = 32 };
static const double FLOPS_PER_RUN = 100e6;
static const char *const layout_names[] = { "NT", "NN", "TN" };

typedef struct {
    vkt_layout layout;
    uint32_t m, n, k, copies;
    vkt_graph *graph;
    vkt_buffer *memory;
    vkt_tensor *result; /* the last copy's */
    double ms[MAX_RUNS],
        cpu_ms[MAX_RUNS]; /* of one product: wall time, processor time of all threads */
    uint32_t n_runs;
} bench;

static bench cases[MAX_CASES];
static uint32_t n_cases;
static vkt_gpu *gpu;

/* The hidden layers, output layer and both gradients of an MLP 784-512-512-10 at batch 128, then
 * squares. */
static const char *const usual[] = {
    "NT:128x512x784", "NT:128x512x512", "NT:128x10x512",  "NN:128x512x10", "NN:128x512x512",
    "TN:10x512x128",  "TN:512x512x128", "TN:512x784x128", "512x512x512",   "1024x1024x1024",
};

static double now(void)
{
    struct timespec t;
#ifdef _WIN32 /* whose C library has no timespec_get */
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    timespec_get(&t, TIME_UTC);
#endif
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "bench_matmul: %s '%s'\n", what, detail);
    exit(2);
}

static void must(vkt_status st, const char *what)
{
    if (st != VKT_OK) die(vkt_status_name(st), what);
}

static void add_case(const char *text)
{
    uint32_t first = 0, last = 2, m, n, k;
    const char *shape = text;
    for (uint32_t l = 0; l < 3; l++)
        if (!strncmp(text, layout_names[l], 2) && text[2] == ':') {
            first = last = l;
            shape = text + 3;
        }
    if (sscanf(shape, "%ux%ux%u", &m, &n, &k) != 3 || !m || !n || !k)
        die("not [NT:|NN:|TN:]MxNxK:", text);
    for (uint32_t l = first; l <= last; l++) {
        if (n_cases == MAX_CASES) die("too many cases at", text);
        cases[n_cases++] = (bench) { .layout = (vkt_layout)l, .m = m, .n = n, .k = k };
    }
}

/* A fast wrong kernel is no result: a sample of elements against sums in double. */
static void spot_check(const bench *b, const float *x, const float *y)
{
    uint64_t count = (uint64_t)b->m * b->n;
    float *c = malloc(4 * count);
    must(vkt_tensor_read(b->result, 0, c, 4 * count), "result");
    for (uint64_t i = 0; i < count; i += 1 + count / 997) {
        uint64_t m = i / b->n, n = i % b->n;
        double sum = 0;
        for (uint64_t k = 0; k < b->k; k++)
            sum += (double)x[b->layout == VKT_LAYOUT_TN ? k * b->m + m : m * b->k + k] *
                   y[b->layout == VKT_LAYOUT_NT ? n * b->k + k : k * b->n + n];
        if (!(fabs(c[i] - sum) <= 1e-4 * (1 + fabs(sum))))
            die("wrong result in", layout_names[b->layout]);
    }
    free(c);
}

static void prepare(bench *b)
{
    double flops = 2.0 * b->m * b->n * b->k, copies = FLOPS_PER_RUN / flops;
    b->copies = copies < 1 ? 1 : copies > MAX_COPIES ? MAX_COPIES : (uint32_t)copies;
    uint64_t bytes_a = (4ull * b->m * b->k + 255) / 256 * 256, bytes = bytes_a + 4ull * b->n * b->k;
    must(vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, "operands" },
                           &b->memory),
         "operands");
    float *data = malloc(bytes);
    for (uint64_t i = 0; i < bytes / 4; i++)
        data[i] = (float)vkt_rand_uniform(1, VKT_RNG_TEST, i) - 0.5f;
    must(vkt_buffer_write(gpu, b->memory, 0, data, bytes), "operands");
    must(vkt_graph_create(gpu, &b->graph), "graph");
    for (uint32_t i = 0; i < b->copies; i++) {
        vkt_shape sa = b->layout == VKT_LAYOUT_TN ? vkt_shape2(b->k, b->m) : vkt_shape2(b->m, b->k);
        vkt_shape sb = b->layout == VKT_LAYOUT_NT ? vkt_shape2(b->n, b->k) : vkt_shape2(b->k, b->n);
        vkt_tensor *x = vkt_input(b->graph, sa, VKT_F32, "a"),
                   *y = vkt_input(b->graph, sb, VKT_F32, "b");
        vkt_bind(x, VKT_ALL_SLOTS, b->memory, 0);
        vkt_bind(y, VKT_ALL_SLOTS, b->memory, bytes_a);
        b->result = vkt_matmul(b->graph, b->layout, x, y);
        vkt_keep(b->result, "c");
    }
    must(vkt_graph_compile(b->graph, &(vkt_plan_desc) { .label = "bench" }), "compile");
    must(vkt_graph_run(b->graph), "run");
    spot_check(b, data, data + bytes_a / 4);
    free(data);
}

static void run(bench *b)
{
    double start = now();
    clock_t cpu = clock();
    must(vkt_graph_run(b->graph), "run");
    if (b->n_runs == MAX_RUNS) return;
    b->cpu_ms[b->n_runs] = (double)(clock() - cpu) / CLOCKS_PER_SEC * 1e3 / b->copies;
    b->ms[b->n_runs++] = (now() - start) * 1e3 / b->copies;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    vkt_gpu_desc desc = { 0 };
    double seconds = 5, total = 0, total_median = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--device") && i + 1 < argc)
            desc.device = argv[++i];
        else if (!strcmp(argv[i], "--cap") && i + 1 < argc)
            desc.cap = argv[++i];
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            seconds = atof(argv[++i]);
        else
            add_case(argv[i]);
    }
    if (n_cases == 0)
        for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) add_case(usual[i]);
    must(vkt_gpu_create(&desc, &gpu), "device");
    for (uint32_t i = 0; i < n_cases; i++) prepare(&cases[i]);
    double end = now() + seconds;
    do
        for (uint32_t i = 0; i < n_cases; i++) run(&cases[i]);
    while (now() < end);
    printf("%-4s %5s %5s %5s %9s %9s %9s %9s %9s %6s\n", "form", "M", "N", "K", "min ms", "median",
           "GFLOP/s", "median", "cpu ms", "runs");
    for (uint32_t i = 0; i < n_cases; i++) {
        bench *b = &cases[i];
        qsort(b->ms, b->n_runs, sizeof *b->ms, ascending);
        qsort(b->cpu_ms, b->n_runs, sizeof *b->cpu_ms, ascending);
        double min = b->ms[0], median = b->ms[b->n_runs / 2], flops = 2.0 * b->m * b->n * b->k;
        printf("%-4s %5u %5u %5u %9.3f %9.3f %9.2f %9.2f %9.3f %6u\n", layout_names[b->layout],
               b->m, b->n, b->k, min, median, flops / min * 1e-6, flops / median * 1e-6,
               b->cpu_ms[b->n_runs / 4], b->n_runs);
        total += min;
        total_median += median;
        vkt_graph_destroy(&b->graph);
        vkt_buffer_destroy(gpu, &b->memory);
    }
    printf("sum %29.3f %9.3f\n", total, total_median);
    vkt_gpu_destroy(&gpu);
    return 0;
}
