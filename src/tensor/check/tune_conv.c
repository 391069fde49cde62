/* The tuner of convolutions: times the kernels that can compute one, forward or a gradient, at a
 * given shape. As with products a candidate must agree with the twin before it may win. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/conv/ops_conv.h"
#include "gpu/journal.h"
#include "tensor/check/tune.h"

static const double CHECKED_FLOPS = 20e6; /* of the twin, on the host */

typedef struct {
    vkt_gpu *gpu;
    vkt_conv_shape s;
    vkt__tune_inputs in;
} job;

static const vkt_op *row_of(const vkt_conv_shape *s)
{
    static const vkt_op *const rows[] = { &vkt__op_conv2d, &vkt__op_conv2d_dx, &vkt__op_conv2d_dw };
    return rows[s->pass];
}

static void build(const vkt_conv_shape *s, vkt_gpu *gpu, uint32_t kernel, uint32_t sets,
                  uint32_t copies, vkt__tuned *c)
{
    vkt_graph *g = c->g = vkt__graph_new(gpu);
    vkt_shape x = { 4, { s->n, s->h, s->w, s->c } }, dy = { 4, { s->n, s->oh, s->ow, s->co } },
              filter = { 4, { s->kh, s->kw, s->c / s->groups, s->co } };
    const vkt_attr attr = {
        .conv = { .h = s->oh,
                  .w = s->ow,
                  .kh = s->kh,
                  .kw = s->kw,
                  .stride = s->stride,
                  .pad = s->pad,
                  .more = { s->bottom - s->pad, s->left - s->pad, s->right - s->pad },
                  .more_stride = s->stride_w - s->stride,
                  .dilation = s->dilation,
                  .more_dilation = s->dilation_w - s->dilation,
                  .groups = s->groups,
                  .slices = s->slices,
                  .multiply = kernel && !vkt__conv_on_units(kernel) ? VKT_F32 : s->multiply,
                  .kernel = kernel }
    };
    for (uint32_t i = 0; i < sets; i++) {
        c->in[i][0] = vkt_input(g, x, VKT_F32, "x");
        c->in[i][1] = s->pass == VKT_CONV_DW ? vkt_input(g, dy, VKT_F32, "dy")
                                             : vkt_input(g, filter, VKT_F32, "filter");
    }
    c->copies = copies;
    for (uint32_t i = 0; i < copies; i++) c->out = vkt__op(g, row_of(s), c->in[i % sets], 2, attr);
    vkt_keep(c->out, "y");
}

static vkt_status fill(job *j)
{
    vkt__tuned shape = { 0 };
    build(&j->s, NULL, 0, 1, 1, &shape);
    vkt_status st = shape.g->status;
    if (st == VKT_OK) st = vkt__tune_fill(j->gpu, &shape, true, &j->in);
    vkt_graph_destroy(&shape.g);
    return st;
}

/* As many elements as the twin computes in a fraction of a second, evenly spread: by a step prime
 * to channels and columns. */
static vkt_status check(const job *j, const vkt__tuned *c, bool *agrees)
{
    vkt_status st = VKT_OK;
    const vkt_node *n = c->out->node;
    double terms = row_of(&j->s)->terms(n), tol = vkt__tol(VKT_F32, terms),
           flops = 2.0 * vkt__conv_geometry_of(n).depth;
    uint64_t count = c->out->count, most = (uint64_t)(CHECKED_FLOPS / flops) + 1,
             step = count <= most ? 1 : (count / most) | 1;
    while (step > 1 && (j->s.co % step == 0 || count % step == 0)) step += 2;
    float *got = vkt__alloc(count * sizeof *got);
    VKT_TRY(vkt_tensor_read(c->out, 0, got, count * sizeof *got));
    *agrees = true;
    for (uint64_t i = 0; i < count && *agrees; i += step) {
        double scale, want = vkt__conv_element(n, j->in.values, i, &scale);
        /* Winograd's sums have taps beyond the edge, too, that cancel: inputs have a variance of 1.
         */
        *agrees = fabs(got[i] - want) <= tol * (fabs(want) + VKT_MAX(scale, sqrt(terms)));
    }
fail:
    free(got);
    return st;
}

static vkt_status try(const job *j, uint32_t kernel, double seconds, const vkt__tuned *table,
                      double best_ms, vkt__tuned *c)
{
    vkt_status st = VKT_OK;
    bool agrees = false;
    build(&j->s, j->gpu, kernel, j->in.sets, j->in.copies, c);
    c->ms = INFINITY;
    VKT_TRY(vkt__tune_compile(&j->in, c));
    VKT_TRY(vkt_graph_run(c->g));
    VKT_TRY(check(j, c, &agrees));
    if (agrees)
        VKT_TRY(vkt__tune_candidate(table, c, seconds, best_ms));
    else
        vkt_log(VKT_LOG_WARN, "tune",
                "kernel %s disagrees with its twin on this device: it is not used", c->kernel);
fail:
    return st;
}

static vkt_status compile(const job *j, const char *key, uint32_t of_table,
                          const vkt__conv_geometry *q)
{
    if (!vkt__at_once_begin(j->gpu, key)) return VKT_OK;
    for (uint32_t k = 1; vkt__conv_kernel_name(k); k++) {
        vkt__tuned c = { 0 };
        if (k != of_table && !vkt__conv_is_candidate(k, vkt_gpu_caps(j->gpu), q)) continue;
        if (vkt__left_out(j->gpu, vkt__conv_kernel_name(k), key)) continue;
        build(&j->s, j->gpu, k, 1, 1, &c);
        vkt__tune_wish(&j->in, &c);
        vkt_graph_destroy(&c.g);
    }
    return vkt__at_once_end(j->gpu, "tune");
}

static vkt_status tune_shape(vkt_gpu *gpu, const vkt_conv_shape *s, double seconds,
                             vkt_tune_result *r)
{
    vkt_status st = VKT_OK;
    job j = { .gpu = gpu, .s = *s };
    vkt__tuned shape = { 0 }, table = { 0 }, c = { 0 };
    char key[40];
    build(s, NULL, 0, 1, 1, &shape);
    r->best_ms = r->table_ms = INFINITY;
    VKT_TRY(shape.g->status);
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    vkt__conv_geometry q = vkt__conv_geometry_of(shape.out->node);
    uint32_t of_table = vkt__conv_table(caps, &q), best = of_table;
    r->table = r->best = vkt__conv_kernel_name(of_table);
    vkt__conv_key(&q, key);
    vkt__log_quiet(true);
    st = fill(&j);
    vkt__log_quiet(false);
    VKT_TRY(st);
    VKT_TRY(compile(&j, key, of_table, &q));
    for (uint32_t i = 0; !i || vkt__conv_kernel_name(i); i++) { /* the table's first */
        uint32_t k = i ? i : of_table;
        if (i && (k == of_table || !vkt__conv_is_candidate(k, caps, &q))) continue;
        c = (vkt__tuned) { .kernel = vkt__conv_kernel_name(k) };
        if (!vkt__tune_begin(gpu, c.kernel, key)) continue;
        st = try(&j, k, seconds, &table, r->best_ms, &c);
        if (st != VKT_OK) r->failed = st;
        VKT_TRY(vkt__tune_end(gpu, c.kernel, st, &c.ms));
        if (c.ms < r->best_ms) best = k, r->best_ms = c.ms;
        r->n_tried++;
        vkt__tune_keep(&table, &c, !i);
    }
    r->table_ms = table.g ? table.ms : INFINITY;
    if (r->best_ms > VKT__TUNE_GAIN * r->table_ms) best = of_table, r->best_ms = r->table_ms;
    r->best = vkt__conv_kernel_name(best);
    if (isfinite(r->best_ms)) vkt__choice_set(gpu, key, r->best);
fail:
    if (st != VKT_OK && !vkt__gpu_lost(gpu)) {
        vkt_log(VKT_LOG_WARN, "tune", "a convolution is skipped: %s", vkt__last_failure());
        r->failed = st;
        st = VKT_OK;
    }
    vkt_graph_destroy(&table.g);
    vkt_graph_destroy(&c.g);
    vkt_graph_destroy(&shape.g);
    vkt__tune_free(gpu, &j.in);
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
                    "time is up: %zu of %zu convolutions timed; left, with the built-in choice: %s "
                    "%ux%u of %u to %u channels%s; --tune-seconds gives more time, `vktrain tune` "
                    "times all",
                    i, n, row_of(s)->name, s->kh, s->kw, s->c, s->co,
                    n - i > 1 ? " and others" : "");
            break;
        }
        snprintf(r.what, sizeof r.what, "%s %ux%u/%u %ux%ux%ux%u to %u", row_of(s)->name, s->kh,
                 s->kw, s->stride, s->n, s->h, s->w, s->c, s->co);
        VKT_TRY(tune_shape(gpu, s, vkt__tune_seconds(desc), &r));
        VKT_TRY(vkt__choices_save(gpu, &path)); /* each time, as vkt_tune does */
        vkt__gpu_keep_kernels(gpu);
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
                              .bottom = vkt__conv_pad(&n->attr, VKT__BOTTOM),
                              .left = vkt__conv_pad(&n->attr, VKT__LEFT),
                              .right = vkt__conv_pad(&n->attr, VKT__RIGHT),
                              .stride_w = vkt__conv_stride_w(&n->attr),
                              .dilation = n->attr.conv.dilation,
                              .dilation_w = vkt__conv_dilation_w(&n->attr),
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
