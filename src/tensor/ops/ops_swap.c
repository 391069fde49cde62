/* The row that swaps the last two of three dimensions: images from pixels of channels to channels
 * of pixels, which is the order in which PyTorch flattens them. Kernel swap.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

static bool swap_shape(vkt_node *n)
{
    const vkt_shape *s = &n->in[0]->shape;
    if (s->rank != 3) return vkt__shape_error(n, "%s must be [N, A, B]", vkt__text(n->in[0]));
    vkt__out(n, 0, (vkt_shape) { 3, { s->d[0], s->d[2], s->d[1] } }, VKT_F32);
    return true;
}

static void swap_record(vkt__rec *rec, const vkt_node *n)
{
    const uint32_t *d = n->in[0]->shape.d;
    struct swap_params p = { .x = vkt__addr(rec, n->in[0]),
                             .y = vkt__addr(rec, n->out[0]),
                             .n = d[0],
                             .a = d[1],
                             .b = d[2] };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, VKT_SHADER_SWAP, spec, VKT_COUNT(spec), &p, sizeof p,
                  ((uint64_t)p.n * p.b + wg - 1) / wg);
}

static void swap_ref(const vkt_node *n, double *const *in, double *const *out)
{
    const uint32_t *d = n->in[0]->shape.d;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t a = i % d[1], b = i / d[1] % d[2], image = i / d[1] / d[2];
        out[0][i] = in[0][(image * d[1] + a) * d[2] + b];
    }
}

static vkt_tensor *swap(vkt_graph *g, vkt_tensor *x)
{
    return vkt__op(g, &vkt__op_swap, &x, 1, (vkt_attr) { 0 });
}

static void swap_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (dy[0] && vkt__needs(n->in[0])) dx[0] = swap(g, vkt__real(g, dy[0], n->out[0]));
}

static const char *swap_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t d[3];
    } s[] = {
        { "one", { 1, 1, 1 } },     { "pixels and channels", { 3, 49, 33 } },
        { "tall", { 2, 3000, 2 } }, { "wide", { 2, 2, 3000 } },
        { "none", { 0, 4, 5 } },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    swap(g, vkt__sample(g, (vkt_shape) { 3, { s[i].d[0], s[i].d[1], s[i].d[2] } }, VKT_F32,
                        VKT_HINT_NORMAL, 0));
    return s[i].name;
}

const vkt_op vkt__op_swap = { .name = "swap",
                              .n_in = 1,
                              .n_out = 1,
                              .shape = swap_shape,
                              .record = swap_record,
                              .grad = swap_grad,
                              .ref = swap_ref,
                              .sample = swap_sample };

vkt_tensor *vkt_flatten(vkt_graph *g, vkt_tensor *x)
{
    if (x->inert) return x;
    vkt_shape s = x->shape, flat = vkt_shape2(s.d[0], 1);
    for (uint32_t i = 1; i < s.rank; i++) flat.d[1] *= s.d[i];
    if (s.rank == 4 && s.d[3] > 1 && s.d[1] * s.d[2] > 1)
        x = swap(g, vkt_reshape(g, x, (vkt_shape) { 3, { s.d[0], s.d[1] * s.d[2], s.d[3] } }));
    return vkt_reshape(g, x, flat);
}
