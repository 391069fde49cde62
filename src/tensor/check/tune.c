/* The tuner of products: times the matmul kernels that fit a device's class on given shapes. A
 * candidate's result must agree with sums in double, the twin's, before it may win, and it must be
 * faster by 5%, lest noise undo the table's choice. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "gpu/journal.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"
#include "tensor/ops/matmul/ops_matmul.h"
#include "tensor/check/tune.h"
#include "tensor/check/tune_product.h"

typedef struct {
    vkt_gpu *gpu;
    vkt__tune_product product;
    vkt__product p;
    const vkt_tune_desc *desc;
    char key[40];
    uint32_t of_table, best; /* kernels */
} job;

static const char all_at_once[] = "all-at-once";

bool vkt__at_once_begin(vkt_gpu *gpu, const char *key)
{
    return vkt__tune_begin(gpu, all_at_once, key);
}

vkt_status vkt__at_once_end(vkt_gpu *gpu, const char *area)
{
    vkt__kernels_make(gpu);
    vkt__log_quiet(false);
    vkt__tried(gpu);
    return vkt__gpu_lost(gpu) ? vkt__lost_by(gpu, area, all_at_once) : VKT_OK;
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
                      vkt__tuned *c, vkt_tune_candidate *told)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__tune_product_run(&j->product, kernel, c, &told->share));
    if (j->desc->each) told->registers = vkt__node_registers(c->out->node);
    c->ms = INFINITY;
    if (told->share <= 1 || (j->desc->keeps_nothing && isfinite(told->share)))
        VKT_TRY(vkt__tune_candidate(table, c, vkt__tune_seconds(j->desc), best_ms));
    if (!(told->share <= 1) && !j->desc->keeps_nothing)
        vkt_log(VKT_LOG_WARN, "tune",
                "kernel %s disagrees with its twin on this device: it is not used", c->kernel);
fail:
    return st;
}

static vkt__product product(const vkt_tune_shape *s)
{
    return (vkt__product) { s->layout, s->M, s->N, s->K, s->in, s->out, 0 };
}

uint32_t vkt__tune_candidates(const vkt_caps *caps, const vkt__product *p, bool all, int pass,
                              uint32_t *out, uint32_t most)
{
    bool units = vkt__matmul_on_units(vkt__matmul_table(caps, p)) && !all;
    uint32_t n = 0, k;
    if (pass == 0)
        while (n < most && (k = vkt__matmul_candidate(caps, p, all, n)) != 0) out[n++] = k;
    else
        for (k = 1; units && vkt__matmul_kernel_name(k) && n < most; k++)
            if (!vkt__matmul_on_units(k) && vkt__matmul_is_candidate(k, caps, p, true))
                out[n++] = k;
    return n;
}

static vkt_status compile(const job *j, const uint32_t *kernels, uint32_t n)
{
    if (!vkt__at_once_begin(j->gpu, j->key)) return VKT_OK;
    for (uint32_t i = 0; i < n; i++)
        if (!vkt__left_out(j->gpu, vkt__matmul_kernel_name(kernels[i]), j->key))
            vkt__tune_product_wish(&j->product, kernels[i]);
    return vkt__at_once_end(j->gpu, "tune");
}

/* One after the other; the best so far is in j->best and r. table: the first one's graph, kept. */
static vkt_status try_all(job *j, const uint32_t *kernels, uint32_t n, vkt__tuned *table,
                          vkt_tune_result *r)
{
    vkt_status st = VKT_OK;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = kernels[i];
        vkt__tuned c = { .kernel = vkt__matmul_kernel_name(k), .ms = INFINITY };
        vkt_tune_candidate told = { .shape = &j->product.s, .kernel = c.kernel, .share = INFINITY };
        if (!vkt__tune_begin(j->gpu, c.kernel, j->key)) continue;
        st = try(j, k, table, r->best_ms, &c, &told);
        if (st != VKT_OK) r->failed = told.failed = st;
        st = vkt__tune_end(j->gpu, c.kernel, st, &c.ms);
        if (st == VKT_OK && told.share <= 1 && c.ms < r->best_ms) j->best = k, r->best_ms = c.ms;
        r->n_tried++;
        told.ms = c.ms;
        vkt__tune_keep(table, &c, k == j->of_table && !table->g && told.share <= 1);
        VKT_TRY(st);
        if (j->desc->each) j->desc->each(j->desc->user, &told);
    }
fail:
    return st;
}

static vkt_status tune_shape(vkt_gpu *gpu, const vkt_tune_shape *s, const vkt_tune_desc *desc,
                             vkt_tune_result *r)
{
    enum { MOST = 64 };
    vkt_status st = VKT_OK;
    job j = { .gpu = gpu, .p = product(s), .desc = desc };
    vkt__tuned table = { 0 };
    uint32_t kernels[MOST];
    j.of_table = j.best = vkt__matmul_table(vkt_gpu_caps(gpu), &j.p);
    r->best_ms = r->table_ms = INFINITY;
    r->shape = *s;
    r->table = r->best = vkt__matmul_kernel_name(j.of_table);
    vkt__matmul_key(&j.p, j.key);
    VKT_TRY(vkt__tune_product_open(gpu, s, &j.product));
    for (int pass = 0; pass < 2 && !isfinite(r->best_ms); pass++) {
        uint32_t n =
            vkt__tune_candidates(vkt_gpu_caps(gpu), &j.p, desc->thorough, pass, kernels, MOST);
        VKT_TRY(compile(&j, kernels, n));
        VKT_TRY(try_all(&j, kernels, n, &table, r));
    }
    r->table_ms = table.g ? table.ms : INFINITY;
    if (r->best_ms > VKT__TUNE_GAIN * r->table_ms) j.best = j.of_table, r->best_ms = r->table_ms;
    r->best = vkt__matmul_kernel_name(j.best);
    if (isfinite(r->best_ms) && !desc->keeps_nothing) vkt__choice_set(gpu, j.key, r->best);
fail:
    if (st != VKT_OK && !vkt__gpu_lost(gpu)) {
        vkt_log(VKT_LOG_WARN, "tune", "a product is skipped: %s", vkt__last_failure());
        r->failed = st;
        st = VKT_OK;
    }
    vkt_graph_destroy(&table.g);
    vkt__tune_product_close(&j.product);
    return st;
}

/* How many results a workgroup has: by its root the loads of a flop go down. */
static double tile_of(uint32_t kernel, const vkt_caps *caps, const vkt__product *p)
{
    vkt__matmul_launch l = vkt__matmul_prepare(kernel, caps, p, 1, VKT_ACT_NONE, 0, 0, 0);
    return (double)p->M * p->N / VKT_MAX((double)l.groups, 1);
}

double vkt__tune_gain(const vkt_gpu *gpu, const vkt_tune_shape *s)
{
    static const double BY_CHANCE = 0.1; /* what may be gained though the table's tile is largest */
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__product p = product(s);
    uint32_t of_table = vkt__matmul_table(caps, &p);
    double mine = tile_of(of_table, caps, &p), most = mine;
    for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++)
        if (vkt__matmul_is_candidate(k, caps, &p, false) &&
            vkt__matmul_on_units(k) == vkt__matmul_on_units(of_table))
            most = VKT_MAX(most, tile_of(k, caps, &p));
    double share = BY_CHANCE + (1 - BY_CHANCE) * (1 - sqrt(mine / most));
    return 2.0 * s->M * s->N * s->K * VKT_MAX(s->count, 1) * share;
}

/* "NT 8192 x 768 x 768 bf16 to f32, ..." of those that were not reached. */
static void tell_rest(const vkt_tune_shape *shapes, size_t n, size_t done)
{
    enum { NAMED = 4 };
    vkt__str left = { 0 };
    for (size_t i = done; i < n && i < done + NAMED; i++)
        vkt__str_printf(&left, "%s%s %u x %u x %u %s to %s", i > done ? ", " : "",
                        vkt_layout_name(shapes[i].layout), shapes[i].M, shapes[i].N, shapes[i].K,
                        vkt_dtype_name(shapes[i].in), vkt_dtype_name(shapes[i].out));
    if (n > done + NAMED) vkt__str_printf(&left, " and %zu more", n - done - NAMED);
    vkt_log(VKT_LOG_INFO, "tune",
            "time is up: %zu of %zu products timed; left, with the built-in choice: %s; "
            "--tune-seconds gives more time, `vktrain tune` times all",
            done, n, left.data);
    vkt__str_finish(&left);
}

vkt_status vkt_tune(vkt_gpu *gpu, const vkt_tune_shape *shapes, size_t n, const vkt_tune_desc *desc)
{
    vkt_status st = VKT_OK;
    const char *path = NULL;
    double end = vkt__now() + desc->seconds;
    if (desc->tries_again) vkt__gpu_recovers(gpu, true);
    vkt__choices_matter(gpu, desc->thorough);
    VKT_TRY(vkt__matmul_check_held(vkt_gpu_caps(gpu)));
    for (size_t i = 0; i < n; i++) {
        vkt_tune_result r = { .index = i, .n_shapes = n };
        VKT_ASSERT(shapes[i].M && shapes[i].N && shapes[i].K);
        if (desc->seconds > 0 && vkt__now() >= end) {
            tell_rest(shapes, n, i);
            break;
        }
        VKT_TRY(tune_shape(gpu, &shapes[i], desc, &r));
        if (!desc->keeps_nothing) /* each time: whoever interrupts it keeps what was found */
            VKT_TRY(vkt__choices_save(gpu, &path));
        vkt__gpu_keep_kernels(gpu);
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
    if (unknown_only && g->gpu && *vkt_gpu_caps(g->gpu)->kernel) return 0; /* it is held */
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
