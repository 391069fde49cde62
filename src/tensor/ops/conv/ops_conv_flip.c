/* Filters with each tap transposed, of the gradient of a convolution's input: one filter, in groups
 * or not, and several without groups in one dispatch. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/conv/conv_samples.h"
#include "tensor/ops/conv/ops_conv_flip.h"
#include "tensor/ops/ops.h"

/* ---- the filter of the gradient ---- */

static bool conv_flip_shape(vkt_node *n)
{
    const uint32_t *w = n->in[0]->shape.d;
    uint32_t groups = n->attr.conv.groups;
    vkt__out(n, 0, (vkt_shape) { 4, { w[0], w[1], w[3] / groups, w[2] * groups } }, VKT_F32);
    return true;
}

static void conv_flip_record(vkt__rec *rec, const vkt_node *n)
{
    struct conv_flip_params p = { .w = vkt__addr(rec, n->in[0]),
                                  .y = vkt__addr(rec, n->out[0]),
                                  .n = (uint32_t)n->out[0]->count,
                                  .c = n->out[0]->shape.d[3],
                                  .co = n->in[0]->shape.d[3],
                                  .groups = n->attr.conv.groups };
    vkt__dispatch_each(rec, VKT_SHADER_CONV_FLIP, &p, sizeof p, n->out[0]->count, 64);
}

static void conv_flip_ref(const vkt_node *n, double *const *in, double *const *out)
{
    const uint32_t *w = n->in[0]->shape.d;
    uint32_t co = w[3], in_c = w[2], out_c = co / n->attr.conv.groups,
             c_all = in_c * n->attr.conv.groups;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t c = i % c_all, o = i / c_all % out_c, tap = i / c_all / out_c;
        out[0][i] = in[0][(tap * in_c + c % in_c) * co + c / in_c * out_c + o];
    }
}

/* ---- of several filters without groups, in one dispatch ---- */

static bool conv_flips_shape(vkt_node *n)
{
    for (uint32_t i = 0; i < VKT_GROUPED && n->in[i]; i++) {
        const uint32_t *w = n->in[i]->shape.d;
        vkt__out(n, i, (vkt_shape) { 4, { w[0], w[1], w[3], w[2] } }, VKT_F32);
    }
    return true;
}

static void conv_flips_record(vkt__rec *rec, const vkt_node *n)
{
    struct conv_flips_params p = { 0 };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    uint64_t groups = 0;
    for (uint32_t i = 0; i < VKT_GROUPED; i++) {
        const vkt_tensor *w = n->in[n->in[i] ? i : 0], *y = n->out[n->in[i] ? i : 0];
        p.w[i] = vkt__addr(rec, w);
        p.y[i] = vkt__addr(rec, y);
        p.n[i] = n->in[i] ? (uint32_t)y->count : 0;
        p.channels[i] = w->shape.d[2] | w->shape.d[3] << 16;
        groups += ((uint64_t)p.n[i] + wg - 1) / wg;
    }
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, VKT_SHADER_CONV_FLIPS, spec, VKT_COUNT(spec), &p, sizeof p, groups);
}

static void conv_flips_ref(const vkt_node *n, double *const *in, double *const *out)
{
    for (uint32_t i = 0; i < VKT_GROUPED && n->in[i]; i++) {
        const vkt_node one = { .op = &vkt__op_conv2d_flip,
                               .in = { n->in[i] },
                               .out = { n->out[i] },
                               .attr = { .conv = { .groups = 1 } } };
        conv_flip_ref(&one, &in[i], &out[i]);
    }
}

static const char *conv_flips_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const uint32_t shapes[][4] = {
        { 3, 3, 16, 16 }, { 1, 1, 5, 7 }, { 3, 3, 1, 64 }, { 2, 5, 33, 3 }, { 1, 1, 1, 1 }
    };
    static const char *const names[] = { "one", "two", "three", "four", "five" };
    if (i >= VKT_GROUPED) return NULL;
    vkt_tensor *w[VKT_GROUPED];
    for (uint32_t k = 0; k <= i; k++) {
        vkt_shape s = { 4, { 0 } };
        memcpy(s.d, shapes[k], sizeof shapes[k]);
        w[k] = vkt__sample(g, s, VKT_F32, VKT_HINT_NORMAL, 0);
    }
    vkt__node(g, op, w, i + 1, (vkt_attr) { 0 });
    return names[i];
}

vkt_tensor *vkt__conv_flip(vkt_graph *g, vkt_tensor *w, uint32_t groups)
{
    return vkt__op(g, &vkt__op_conv2d_flip, &w, 1, (vkt_attr) { .conv = { .groups = groups } });
}

static void conv_flip_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[0]))
        dx[0] = vkt__conv_flip(g, vkt__real(g, dy[0], n->out[0]), n->attr.conv.groups);
}

static const char *conv_flip_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    const char *name;
    uint32_t groups;
    vkt_tensor *w = vkt__conv_case_filter(g, i, &groups, &name);
    (void)op;
    if (!w) return NULL;
    vkt__conv_flip(g, w, groups);
    return name;
}

/* ---- rows ---- */

const vkt_op vkt__op_conv2d_flip = { .name = "conv2d_flip",
                                     .n_in = 1,
                                     .n_out = 1,
                                     .shape = conv_flip_shape,
                                     .record = conv_flip_record,
                                     .grad = conv_flip_grad,
                                     .ref = conv_flip_ref,
                                     .sample = conv_flip_sample };
const vkt_op vkt__op_conv2d_flips = {
    .name = "conv2d_flips",
    .n_in = VKT_GROUPED,
    .n_out = VKT_GROUPED,
    .in = { [1] = VKT_OPTIONAL, [2] = VKT_OPTIONAL, [3] = VKT_OPTIONAL, [4] = VKT_OPTIONAL },
    .shape = conv_flips_shape,
    .record = conv_flips_record,
    .ref = conv_flips_ref,
    .sample = conv_flips_sample
};
