/* The tuner of convolutions: times the kernels that can compute one, forward or a gradient, at a
 * given shape. As with products a candidate must agree with the twin before it may win. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops_conv.h"
#include "tensor/check/tune.h"

static const double CHECKED_FLOPS = 20e6; /* of the twin, on the host */

typedef struct {
    vkt_gpu *gpu;
    vkt_conv_shape s;
    vkt_buffer *mem;   /* the two inputs */
    double *values[2]; /* theirs */
    uint64_t second;   /* where the other begins */
} job;

typedef struct {
    vkt_graph *g;
    vkt_tensor *in[2], *out;
    double ms;
} candidate;

static const vkt_op *row_of(const vkt_conv_shape *s)
{
    static const vkt_op *const rows[] = { &vkt__op_conv2d, &vkt__op_conv2d_dx, &vkt__op_conv2d_dw };
    return rows[s->pass];
}

static void build(const vkt_conv_shape *s, vkt_gpu *gpu, uint32_t kernel, uint32_t copies,
                  candidate *c)
{
    vkt_graph *g = c->g = vkt__graph_new(gpu);
    vkt_dtype multiply = kernel && !vkt__conv_on_units(kernel) ? VKT_F32 : s->multiply;
    c->in[0] = vkt_input(g, (vkt_shape) { 4, { s->n, s->h, s->w, s->c } }, VKT_F32, "x");
    c->in[1] = s->pass == VKT_CONV_DW
                   ? vkt_input(g, (vkt_shape) { 4, { s->n, s->oh, s->ow, s->co } }, VKT_F32, "dy")
                   : vkt_input(g, (vkt_shape) { 4, { s->kh, s->kw, s->c / s->groups, s->co } },
                               VKT_F32, "filter");
    for (uint32_t i = 0; i < copies; i++)
        c->out = vkt__op(g, row_of(s), c->in, 2,
                         (vkt_attr) { .conv = { .h = s->oh,
                                                .w = s->ow,
                                                .kh = s->kh,
                                                .kw = s->kw,
                                                .stride = s->stride,
                                                .pad = s->pad,
                                                .dilation = s->dilation,
                                                .groups = s->groups,
                                                .slices = s->slices,
                                                .multiply = multiply,
                                                .kernel = kernel } });
    vkt_keep(c->out, "y");
}

/* Random inputs. */
static vkt_status fill(job *j)
{
    vkt_status st = VKT_OK;
    candidate c;
    build(&j->s, NULL, 0, 1, &c);
    VKT_TRY(c.g->status);
    j->second = vkt__align(c.in[0]->bytes, 256);
    uint64_t bytes = j->second + c.in[1]->bytes;
    unsigned char *data = vkt__alloc(bytes);
    for (int k = 0; k < 2; k++) {
        const vkt_tensor *t = c.in[k];
        j->values[k] = vkt__alloc(t->count * sizeof(double));
        for (uint64_t i = 0; i < t->count; i++)
            vkt__sample_encode(t, i, j->values[k][i] = vkt__sample_value(t, 1, i),
                               data + k * j->second);
    }
    st = vkt_buffer_create(j->gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, "tune" }, &j->mem);
    if (st == VKT_OK) st = vkt_buffer_write(j->gpu, j->mem, 0, data, bytes);
    free(data);
fail:
    vkt_graph_destroy(&c.g);
    return st;
}

/* As many elements as the twin computes in a fraction of a second, evenly spread: by a step prime
 * to channels and columns. */
static vkt_status check(const job *j, const candidate *c, bool *agrees)
{
    vkt_status st = VKT_OK;
    const vkt_node *n = c->out->node;
    double terms = row_of(&j->s)->terms(n), tol = vkt__tol(VKT_F32, terms);
    uint64_t count = c->out->count, most = (uint64_t)(CHECKED_FLOPS / (2 * terms)) + 1,
             step = count <= most ? 1 : (count / most) | 1;
    while (step > 1 && (j->s.co % step == 0 || count % step == 0)) step += 2;
    float *got = vkt__alloc(count * sizeof *got);
    VKT_TRY(vkt_tensor_read(c->out, 0, got, count * sizeof *got));
    *agrees = true;
    for (uint64_t i = 0; i < count && *agrees; i += step) {
        double scale, want = vkt__conv_element(n, j->values, i, &scale);
        *agrees = fabs(got[i] - want) <= tol * (fabs(want) + scale);
    }
fail:
    free(got);
    return st;
}

static vkt_status try(const job *j, uint32_t kernel, double seconds, candidate *c)
{
    vkt_status st = VKT_OK;
    bool agrees = false;
    build(&j->s, j->gpu, kernel, VKT__TUNE_COPIES, c);
    vkt_bind(c->in[0], VKT_ALL_SLOTS, j->mem, 0);
    vkt_bind(c->in[1], VKT_ALL_SLOTS, j->mem, j->second);
    c->ms = INFINITY;
    VKT_TRY(vkt_graph_compile(c->g, &(vkt_plan_desc) { .label = "tune" }));
    VKT_TRY(vkt_graph_run(c->g));
    VKT_TRY(check(j, c, &agrees));
    if (agrees)
        VKT_TRY(vkt__tune_time(c->g, seconds, &c->ms));
    else
        vkt_log(VKT_LOG_WARN, "tune",
                "kernel %s disagrees with its twin on this device: it is not used",
                vkt__conv_kernel_name(kernel));
fail:
    return st;
}

static vkt_status tune_shape(vkt_gpu *gpu, const vkt_conv_shape *s, double seconds,
                             vkt_tune_result *r)
{
    vkt_status st = VKT_OK;
    job j = { .gpu = gpu, .s = *s };
    candidate shape = { 0 }, c = { 0 };
    char key[40];
    build(s, NULL, 0, 1, &shape);
    r->best_ms = r->table_ms = INFINITY;
    VKT_TRY(shape.g->status);
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__conv_geometry q = vkt__conv_geometry_of(shape.out->node);
    uint32_t table = vkt__conv_table(caps, &q), best = table;
    r->table = r->best = vkt__conv_kernel_name(table);
    vkt__conv_key(&q, key);
    vkt__log_quiet(true);
    st = fill(&j);
    vkt__log_quiet(false);
    VKT_TRY(st);
    for (uint32_t k = 1; vkt__conv_kernel_name(k); k++) {
        if (k != table && !vkt__conv_is_candidate(k, caps, &q)) continue;
        const char *name = vkt__conv_kernel_name(k);
        if (!vkt__tune_begin(gpu, name, key)) continue;
        VKT_TRY(vkt__tune_end(gpu, name, try(&j, k, seconds, &c), &c.ms));
        if (k == table) r->table_ms = c.ms;
        if (c.ms < r->best_ms) best = k, r->best_ms = c.ms;
        r->n_tried++;
        vkt_graph_destroy(&c.g);
    }
    if (r->best_ms > VKT__TUNE_GAIN * r->table_ms) best = table, r->best_ms = r->table_ms;
    r->best = vkt__conv_kernel_name(best);
    if (isfinite(r->best_ms)) vkt__choice_set(gpu, key, r->best);
fail:
    if (st != VKT_OK && !vkt__gpu_lost(gpu)) {
        vkt_log(VKT_LOG_WARN, "tune", "a convolution is skipped: %s", vkt__last_failure());
        st = VKT_OK;
    }
    vkt_graph_destroy(&c.g);
    vkt_graph_destroy(&shape.g);
    vkt_buffer_destroy(gpu, &j.mem);
    free(j.values[0]);
    free(j.values[1]);
    return st;
}

vkt_status vkt_tune_convs(vkt_gpu *gpu, const vkt_conv_shape *shapes, size_t n,
                          const vkt_tune_desc *desc)
{
    vkt_status st = VKT_OK;
    const char *path = NULL;
    double end = vkt__now() + desc->seconds;
    if (desc->tries_again) vkt__gpu_recovers(gpu, true);
    vkt__choices_matter(gpu, desc->thorough);
    for (size_t i = 0; i < n; i++) {
        const vkt_conv_shape *s = &shapes[i];
        vkt_tune_result r = { .index = i, .n_shapes = n };
        if (desc->seconds > 0 && vkt__now() >= end) {
            vkt_log(VKT_LOG_INFO, "tune",
                    "time is up: %zu of %zu convolutions were not timed and use the built-in "
                    "choice; `vktrain tune` times all",
                    n - i, n);
            break;
        }
        snprintf(r.what, sizeof r.what, "%s %ux%u/%u %ux%ux%ux%u to %u", row_of(s)->name, s->kh,
                 s->kw, s->stride, s->n, s->h, s->w, s->c, s->co);
        VKT_TRY(tune_shape(gpu, s, vkt__tune_seconds(desc), &r));
        VKT_TRY(vkt__choices_save(gpu, &path)); /* each time, as vkt_tune does */
        if (desc->fn) desc->fn(desc->user, &r);
    }
    if (path) vkt__tune_told(path);
fail:
    return st;
}

static vkt_conv_shape shape_of(const vkt_node *n)
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    return (vkt_conv_shape) { .pass = n->attr.conv.pass,
                              .n = q.n,
                              .h = q.h,
                              .w = q.w,
                              .c = q.c,
                              .oh = q.oh,
                              .ow = q.ow,
                              .co = q.co,
                              .kh = n->attr.conv.kh,
                              .kw = n->attr.conv.kw,
                              .stride = n->attr.conv.stride,
                              .pad = n->attr.conv.pad,
                              .dilation = n->attr.conv.dilation,
                              .groups = n->attr.conv.groups,
                              .slices = n->attr.conv.slices,
                              .multiply = n->attr.conv.multiply,
                              .count = 1 };
}

static const char *key_of(const vkt_node *n, char key[40])
{
    vkt__conv_geometry q = vkt__conv_geometry_of(n);
    return vkt__conv_key(&q, key);
}

size_t vkt_graph_convs(const vkt_graph *g, bool unknown_only, vkt_conv_shape *out, size_t most)
{
    size_t n = 0, *first = vkt__alloc((most + 1) * sizeof *first);
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *node = g->nodes[k];
        char key[40], other[40];
        if (!vkt__is_conv(node) || !node->out[0]->count) continue;
        key_of(node, key);
        bool known = unknown_only && vkt__choice_get(g->gpu, key);
        for (size_t i = 0; i < n && !known; i++) {
            known = !strcmp(key, key_of(g->nodes[first[i]], other));
            out[i].count += known;
        }
        if (known || n == most) continue;
        first[n] = k;
        out[n++] = shape_of(node);
    }
    free(first);
    return n;
}
