/* The tuner of products: times the matmul kernels that fit a device's class on given shapes. A
 * candidate's result must agree with sums in double, the twin's, before it may win, and it must be
 * faster by 5%, lest noise undo the table's choice. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "gpu/journal.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/act.h"
#include "tensor/ops/ops_matmul.h"
#include "tensor/check/tune.h"

static const double CHECKED_FLOPS = 20e6; /* of the twin, on the host */

typedef struct {
    vkt_gpu *gpu;
    vkt_tune_shape s;
    vkt__product p;
    vkt__tune_inputs in;
    double least_s;
} job;

/* The epilogue is the graph's: what a kernel does to its sums may decide which is the fastest. */
static void build(const vkt_tune_shape *s, vkt_gpu *gpu, uint32_t kernel, uint32_t sets,
                  vkt__tuned *c)
{
    vkt_layout l = s->layout;
    vkt_graph *g = c->g = vkt__graph_new(gpu);
    const vkt_op *op = s->derivative ? &vkt__op_matmul_act_bwd : &vkt__op_matmul;
    const vkt_attr attr = { .matmul = {
                                .layout = l, .act = s->act, .out = s->out, .kernel = kernel } };
    vkt_shape a = l == VKT_LAYOUT_TN ? vkt_shape2(s->K, s->M) : vkt_shape2(s->M, s->K),
              b = l == VKT_LAYOUT_NT ? vkt_shape2(s->N, s->K) : vkt_shape2(s->K, s->N),
              result = vkt_shape2(s->M, s->N);
    for (uint32_t i = 0; i < sets; i++) {
        vkt_tensor **in = c->in[i];
        in[0] = vkt_input(g, a, s->in, "a");
        in[1] = vkt_input(g, b, s->in, "b");
        if (s->bias) in[VKT__MM_IN_BIAS] = vkt_input(g, vkt_shape1(s->N), VKT_F32, "bias");
        if (s->derivative) in[VKT__MM_IN_V] = vkt_input(g, result, s->out, "v");
        if (s->residual) in[VKT__MM_IN_R] = vkt_input(g, result, s->out, "r");
    }
    for (uint32_t i = 0; i < VKT__TUNE_COPIES; i++)
        c->out = vkt__op(g, op, c->in[i % sets], VKT__TUNE_INPUTS, attr);
    vkt_keep(c->out, "c");
}

static vkt_status fill(job *j)
{
    vkt__tuned shape = { 0 };
    build(&j->s, NULL, 0, 1, &shape);
    vkt_status st = vkt__tune_fill(j->gpu, &shape, &j->in);
    vkt_graph_destroy(&shape.g);
    return st;
}

/* Of element i of column n, with its sum; what is added to it may cancel, but not its rounding. */
static double ended(const job *j, uint64_t i, uint64_t n, double sum, double *scale)
{
    const vkt_tune_shape *s = &j->s;
    double *const *in = j->in.values, bias = s->bias ? in[VKT__MM_IN_BIAS][n] : 0,
                  r = s->residual ? in[VKT__MM_IN_R][i] : 0;
    *scale += fabs(bias) + fabs(r);
    sum += bias;
    return r + (s->derivative ? sum * vkt__act_derivative(s->act, in[VKT__MM_IN_V][i])
                              : vkt__act(s->act, sum));
}

static double twin(const job *j, uint64_t m, uint64_t n, double *scale)
{
    const vkt__product *p = &j->p;
    double sum = 0;
    *scale = 0;
    for (uint64_t k = 0; k < p->K; k++) {
        double t = j->in.values[0][p->layout == VKT_LAYOUT_TN ? k * p->M + m : m * p->K + k] *
                   j->in.values[1][p->layout == VKT_LAYOUT_NT ? n * p->K + k : k * p->N + n];
        sum += t;
        *scale += t * t;
    }
    *scale = sqrt(*scale);
    return ended(j, m * p->N + n, n, sum, scale);
}

/* Every element of a small result, of a large one as many as fit a fraction of a second, evenly
 * spread: by a step prime to rows and tiles. */
static vkt_status check(const job *j, uint32_t kernel, const vkt__tuned *c, bool *agrees)
{
    vkt_status st = VKT_OK;
    const vkt__product *p = &j->p;
    uint64_t count = (uint64_t)p->M * p->N, most = (uint64_t)(CHECKED_FLOPS / (2.0 * p->K)) + 1,
             step = count <= most ? 1 : (count / most) | 1;
    double tol = vkt__tol(p->out, vkt__matmul_terms(kernel, p->K) + vkt__acts[j->s.act].terms);
    while (step > 1 && (p->N % step == 0 || count % step == 0)) step += 2;
    void *data = vkt__alloc(vkt__align(c->out->bytes, 4));
    VKT_TRY(vkt_tensor_read(c->out, 0, data, c->out->bytes));
    *agrees = true;
    for (uint64_t i = 0; i < count && *agrees; i += step) {
        double scale, want = twin(j, i / p->N, i % p->N, &scale),
                      got = vkt__sample_decode(c->out, i, data);
        *agrees = fabs(got - want) <= tol * (fabs(want) + scale);
    }
fail:
    free(data);
    return st;
}

bool vkt__tune_begin(vkt_gpu *gpu, const char *kernel, const char *key)
{
    if (vkt__left_out(gpu, kernel, key)) return false;
    vkt__trying(gpu, kernel, key);
    vkt__log_quiet(true);
    return true;
}

vkt_status vkt__lost_by(vkt_gpu *gpu, const char *area, const char *kernel)
{
    vkt_log(vkt__gpu_gets_over(gpu) ? VKT_LOG_WARN : VKT_LOG_ERROR, area,
            "kernel %s lost the device and is no longer used: %s", kernel, vkt__gpu_why_lost(gpu));
    return VKT_E_DEVICE;
}

vkt_status vkt__tune_end(vkt_gpu *gpu, const char *kernel, vkt_status st, double *ms)
{
    vkt__log_quiet(false);
    vkt__tried(gpu);
    if (st == VKT_OK) return VKT_OK;
    *ms = INFINITY;
    if (vkt__gpu_lost(gpu)) return vkt__lost_by(gpu, "tune", kernel);
    vkt_log(VKT_LOG_WARN, "tune", "kernel %s can't be timed here and is skipped: %s", kernel,
            vkt__last_failure());
    return VKT_OK;
}

void vkt__tune_told(const char *path)
{
    if (*path)
        vkt_log(VKT_LOG_INFO, "tune", "kept in '%s'", path);
    else
        vkt_log(VKT_LOG_INFO, "tune",
                "the results are not saved: there is no cache folder, or --no-cache was given");
}

static vkt_status try(const job *j, uint32_t kernel, const vkt__tuned *table, double best_ms,
                      vkt__tuned *c)
{
    vkt_status st = VKT_OK;
    bool agrees = false;
    build(&j->s, j->gpu, kernel, j->in.sets, c);
    VKT_TRY(vkt__tune_compile(&j->in, c));
    VKT_TRY(vkt_graph_run(c->g));
    VKT_TRY(check(j, kernel, c, &agrees));
    c->ms = INFINITY;
    if (agrees)
        VKT_TRY(vkt__tune_candidate(table, c, j->least_s, best_ms));
    else
        vkt_log(VKT_LOG_WARN, "tune",
                "kernel %s disagrees with its twin on this device: it is not used", c->kernel);
fail:
    return st;
}

static vkt__product product(const vkt_tune_shape *s)
{
    return (vkt__product) { s->layout, s->M, s->N, s->K, s->in, s->out, 0 };
}

static vkt_status tune_shape(vkt_gpu *gpu, const vkt_tune_shape *s, double seconds, bool thorough,
                             vkt_tune_result *r)
{
    vkt_status st = VKT_OK;
    job j = { .gpu = gpu, .s = *s, .p = product(s), .least_s = seconds };
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__tuned table = { 0 }, c = { 0 };
    char key[40];
    uint32_t of_table = vkt__matmul_table(caps, &j.p), best = of_table;
    r->best_ms = r->table_ms = INFINITY;
    r->shape = *s;
    r->table = r->best = vkt__matmul_kernel_name(of_table);
    vkt__matmul_key(&j.p, key);
    vkt__log_quiet(true);
    st = fill(&j);
    vkt__log_quiet(false);
    VKT_TRY(st);
    for (uint32_t i = 0, k; (k = vkt__matmul_candidate(caps, &j.p, thorough, i)) != 0; i++) {
        c = (vkt__tuned) { .kernel = vkt__matmul_kernel_name(k) };
        if (!vkt__tune_begin(gpu, c.kernel, key)) continue;
        st = try(&j, k, &table, r->best_ms, &c);
        if (st != VKT_OK) r->failed = st;
        VKT_TRY(vkt__tune_end(gpu, c.kernel, st, &c.ms));
        if (c.ms < r->best_ms) best = k, r->best_ms = c.ms;
        r->n_tried++;
        vkt__tune_keep(&table, &c, !i);
    }
    r->table_ms = table.g ? table.ms : INFINITY;
    if (r->best_ms > VKT__TUNE_GAIN * r->table_ms) best = of_table, r->best_ms = r->table_ms;
    r->best = vkt__matmul_kernel_name(best);
    if (isfinite(r->best_ms)) vkt__choice_set(gpu, key, r->best);
fail:
    if (st != VKT_OK && !vkt__gpu_lost(gpu)) {
        vkt_log(VKT_LOG_WARN, "tune", "a product is skipped: %s", vkt__last_failure());
        r->failed = st;
        st = VKT_OK;
    }
    vkt_graph_destroy(&table.g);
    vkt_graph_destroy(&c.g);
    vkt__tune_free(gpu, &j.in);
    return st;
}

vkt_status vkt_tune(vkt_gpu *gpu, const vkt_tune_shape *shapes, size_t n, const vkt_tune_desc *desc)
{
    vkt_status st = VKT_OK;
    const char *path = NULL;
    double end = vkt__now() + desc->seconds;
    if (desc->tries_again) vkt__gpu_recovers(gpu, true);
    vkt__choices_matter(gpu, desc->thorough);
    for (size_t i = 0; i < n; i++) {
        vkt_tune_result r = { .index = i, .n_shapes = n };
        VKT_ASSERT(shapes[i].M && shapes[i].N && shapes[i].K);
        if (desc->seconds > 0 && vkt__now() >= end) {
            vkt_log(VKT_LOG_INFO, "tune",
                    "time is up: %zu of %zu products were not timed and use the built-in choice; "
                    "`vktrain tune` times all",
                    n - i, n);
            break;
        }
        VKT_TRY(tune_shape(gpu, &shapes[i], vkt__tune_seconds(desc), desc->thorough, &r));
        VKT_TRY(vkt__choices_save(
            gpu, &path)); /* each time: whoever interrupts it keeps what was found */
        if (desc->fn) desc->fn(desc->user, &r);
    }
    if (path) vkt__tune_told(path);
fail:
    return st;
}

static bool is_product(const vkt_node *n)
{
    return n->op == &vkt__op_matmul || n->op == &vkt__op_matmul_act_bwd;
}

size_t vkt_graph_products(const vkt_graph *g, bool unknown_only, vkt_tune_shape *out, size_t most)
{
    size_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *node = g->nodes[k];
        if (!is_product(node)) continue;
        vkt__product p = vkt__product_of(node);
        char key[40], other[40];
        vkt__matmul_key(&p, key);
        bool known = !p.M || !p.N || !p.K || (unknown_only && vkt__choice_get(g->gpu, key));
        for (size_t i = 0; i < n && !known; i++) {
            vkt__product q = product(&out[i]);
            known = !strcmp(key, vkt__matmul_key(&q, other));
            out[i].count += known;
        }
        if (!known && n < most)
            out[n++] = (vkt_tune_shape) { .layout = p.layout,
                                          .M = p.M,
                                          .N = p.N,
                                          .K = p.K,
                                          .in = p.in,
                                          .out = p.out,
                                          .count = 1,
                                          .act = node->attr.matmul.act,
                                          .bias = node->in[VKT__MM_IN_BIAS] != NULL,
                                          .residual = node->in[VKT__MM_IN_R] != NULL,
                                          .derivative = node->in[VKT__MM_IN_V] != NULL };
    }
    return n;
}

/* Split-K's parts run on the kernel of the whole. */
static void count_split(const vkt_graph *g, uint32_t *n, uint32_t *n_split)
{
    *n = *n_split = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *node = g->nodes[k];
        if (!is_product(node) && node->op != &vkt__op_matmul_parts) continue;
        vkt__product p = vkt__product_of(node);
        *n += p.in == VKT_F32;
        *n_split += vkt__matmul_splits(vkt__matmul_choose(g->gpu, &p));
    }
}

void vkt_graph_log_math(const vkt_graph *g)
{
    const vkt_caps *caps = g->gpu ? vkt_gpu_caps(g->gpu) : NULL;
    uint32_t n, n_split;
    if (!caps || caps->math == VKT_MATH_STRICT) return;
    count_split(g, &n, &n_split);
    if (!vkt__matmul_can_split(caps))
        vkt_log(VKT_LOG_INFO, "tune",
                "math: fast changes nothing here: the device has no matrix units for bf16, or this "
                "build's shader compiler did not know them");
    else
        vkt_log(VKT_LOG_INFO, "tune",
                "math: fast: %u of %u fp32 products run on matrix units, split into %s pieces that "
                "keep %s",
                n_split, n, caps->coopmat_bf16[0] ? "bf16" : "fp16",
                caps->coopmat_bf16[0] ? "at least 22 bits of each"
                                      : "22 bits of numbers near 1 only: for tests");
}
