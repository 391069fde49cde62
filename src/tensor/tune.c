/* The tuner: times the matmul kernels that fit a device's class on given shapes. A candidate's
 * result must agree with the naive kernel's before it may win, and it must be faster by 5%, lest
 * noise undo the table's choice. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "tensor/matmul.h"

enum { COPIES = 8, LEAST_RUNS = 3 };
static const double LEAST_S = 0.03;

typedef struct {
    vkt_graph *g;
    vkt_tensor *c;
    double ms;
} candidate;

static vkt_status build(vkt_gpu *gpu, const vkt_tune_shape *s, uint32_t kernel, int copies,
                        const vkt_buffer *mem, candidate *out)
{
    vkt_layout l = s->layout;
    vkt_graph *g = out->g = vkt_graph_create(gpu);
    vkt_tensor *a =
        vkt_input(g, l == VKT_TN ? vkt_shape2(s->K, s->M) : vkt_shape2(s->M, s->K), VKT_F32, "a");
    vkt_tensor *b =
        vkt_input(g, l == VKT_NT ? vkt_shape2(s->N, s->K) : vkt_shape2(s->K, s->N), VKT_F32, "b");
    vkt_bind(a, VKT_ALL_SLOTS, mem, 0);
    vkt_bind(b, VKT_ALL_SLOTS, mem, vkt__align(a->bytes, 256));
    for (int i = 0; i < copies; i++)
        out->c = vkt__op(g, &vkt__op_matmul, (vkt_tensor *[]) { a, b }, 2,
                         (vkt_attr) { .matmul = { .layout = l, .kernel = kernel } });
    vkt_keep(out->c, "c");
    return vkt_graph_compile(g, &(vkt_plan_desc) { .label = "tune" });
}

static bool agrees(const float *got, const float *want, uint64_t n, uint32_t K)
{
    double sum = 0, tol = 2 * vkt__tol(VKT_F32, K); /* both sides round */
    for (uint64_t i = 0; i < n; i++) sum += (double)want[i] * (double)want[i];
    double rms = sqrt(sum / (double)n);
    for (uint64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tol * (fabs((double)want[i]) + rms)))
            return false;
    return true;
}

static vkt_status measure(candidate *c)
{
    vkt_status st = VKT_OK;
    double begin = vkt__now();
    c->ms = INFINITY;
    for (int i = 0; i < LEAST_RUNS || vkt__now() - begin < LEAST_S; i++) {
        double start = vkt__now();
        VKT_TRY(vkt_graph_run(c->g));
        c->ms = fmin(c->ms, (vkt__now() - start) * 1e3 / COPIES);
    }
fail:
    return st;
}

static vkt_status tune_shape(vkt_gpu *gpu, const vkt_tune_shape *s, vkt_tune_result *r)
{
    vkt_status st = VKT_OK;
    vkt_buffer *mem = NULL;
    candidate c = { 0 };
    const vkt__product p = { .layout = s->layout, .M = s->M, .N = s->N, .K = s->K };
    uint64_t n = (uint64_t)s->M * s->N, bytes_a = vkt__align(4ull * s->M * s->K, 256),
             bytes = bytes_a + 4ull * s->N * s->K;
    uint32_t best = 0, table = vkt__matmul_table(vkt_gpu_caps(gpu), &p);
    float *data = vkt__alloc(bytes), *want = vkt__alloc(n * 4), *got = vkt__alloc(n * 4);
    for (uint64_t i = 0; i < bytes / 4; i++)
        data[i] = (float)vkt_rand_uniform(1, VKT_RNG_TEST, i) - 0.5f;
    VKT_TRY(vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, "tune" }, &mem));
    VKT_TRY(vkt_buffer_write(gpu, mem, 0, data, bytes));
    r->best_ms = r->table_ms = INFINITY;
    for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++) {
        bool reference = k == 1,
             tried = k == table || vkt__matmul_is_candidate(k, vkt_gpu_caps(gpu), &p);
        if (!reference && !tried) continue;
        VKT_TRY(build(gpu, s, k, tried ? COPIES : 1, mem, &c));
        VKT_TRY(vkt_graph_run(c.g));
        VKT_TRY(vkt_tensor_read(c.c, 0, reference ? want : got, n * 4));
        if (!reference && !agrees(got, want, n, s->K)) {
            vkt_log(VKT_LOG_WARN, "tune",
                    "kernel %s computes something else than the naive one here: not used",
                    vkt__matmul_kernel_name(k));
            tried = false;
        }
        if (tried) {
            VKT_TRY(measure(&c));
            if (k == table) r->table_ms = c.ms;
            if (c.ms < r->best_ms) best = k, r->best_ms = c.ms;
        }
        vkt_graph_destroy(&c.g);
    }
    if (r->best_ms > 0.95 * r->table_ms) best = table, r->best_ms = r->table_ms;
    r->shape = *s;
    r->table = vkt__matmul_kernel_name(table);
    r->best = vkt__matmul_kernel_name(best);
    char key[40];
    vkt__choice_set(gpu, vkt__matmul_key(&p, key), r->best);
fail:
    vkt_graph_destroy(&c.g);
    vkt_buffer_destroy(gpu, &mem);
    free(data);
    free(want);
    free(got);
    return st;
}

vkt_status vkt_tune(vkt_gpu *gpu, const vkt_tune_shape *shapes, size_t n,
                    void (*fn)(void *user, const vkt_tune_result *r), void *user)
{
    vkt_status st = VKT_OK;
    const char *path = "";
    for (size_t i = 0; i < n; i++) {
        vkt_tune_result r = { 0 };
        VKT_ASSERT(shapes[i].M && shapes[i].N && shapes[i].K);
        VKT_TRY(tune_shape(gpu, &shapes[i], &r));
        VKT_TRY(vkt__choices_save(
            gpu, &path)); /* each time: whoever interrupts it keeps what was found */
        fn(user, &r);
    }
    if (*path)
        vkt_log(VKT_LOG_INFO, "tune", "kept in '%s'", path);
    else
        vkt_log(VKT_LOG_INFO, "tune",
                "not kept: there is no cache folder, or it was not to be used");
fail:
    return st;
}
