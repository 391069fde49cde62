/* Sums of all elements up to each, along an axis. Kernel cumsum.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

static bool cumsum_shape(vkt_node *n)
{
    enum { MOST = 1 << 24 };
    if (!vkt__has_axis(n, n->attr.along.axis)) return false;
    if (n->in[0]->shape.d[n->attr.along.axis] > MOST)
        return vkt__shape_error(n, "%s: more than 2^24 elements along axis %u", vkt__text(n->in[0]),
                                n->attr.along.axis);
    vkt__out(n, 0, n->in[0]->shape, VKT_F32);
    return true;
}

/* Lines whose neighbours lie beside each other, and short ones, an invocation each; on CPU drivers,
 * to which a barrier costs a coroutine's switch, all that it can walk. */
static void cumsum_record(vkt__rec *rec, const vkt_node *n)
{
    enum { MOST_ALONE = 4096, MOST_ALONE_CPU = 30000 /* quirk LOOP_TRIPS */ };
    struct along_params p = vkt__along(n);
    p.x = p.ids = vkt__addr(rec, n->in[0]);
    p.y = vkt__addr(rec, n->out[0]);
    uint64_t lines = (uint64_t)p.outer * p.inner;
    bool cpu = rec->caps->klass == VKT_GPU_CLASS_CPU,
         apart =
             cpu ? p.from <= MOST_ALONE_CPU : p.from <= 8 || (p.inner > 1 && p.from <= MOST_ALONE);
    uint32_t wg =
        apart ? VKT_MIN(rec->caps->workgroup, 64) : vkt__row_workgroup(rec->caps, p.from, 8);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_SPLIT, apart },
                                   { VKT_SPEC_BACKWARD, n->attr.along.backward },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[0]) } };
    vkt__dispatch(rec, VKT_SHADER_CUMSUM, spec, VKT_COUNT(spec), &p, sizeof p,
                  apart ? (lines + wg - 1) / wg : lines);
}

static void cumsum_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct along_params p = vkt__along(n);
    for (uint64_t line = 0; line < (uint64_t)p.outer * p.inner; line++) {
        uint64_t first = line / p.inner * p.from * p.inner + line % p.inner;
        double sum = 0;
        for (uint64_t j = 0; j < p.from; j++) {
            uint64_t at = first + (n->attr.along.backward ? p.from - 1 - j : j) * p.inner;
            out[0][at] = sum += in[0][at];
        }
    }
}

static double cumsum_terms(const vkt_node *n)
{
    return n->in[0]->shape.d[n->attr.along.axis];
}

static void cumsum_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[0]))
        dx[0] = vkt_cumsum(g, vkt__real(g, dy[0], n->out[0]), n->attr.along.axis,
                           !n->attr.along.backward);
}

static const char *cumsum_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        vkt_shape x;
        uint32_t axis;
    } s[] = {
        { "rows", { 2, { 5, 129 } }, 1 },          { "columns", { 2, { 33, 70 } }, 0 },
        { "the middle", { 3, { 5, 37, 6 } }, 1 },  { "short", { 2, { 130, 3 } }, 1 },
        { "six", { 6, { 2, 3, 1, 4, 2, 3 } }, 3 }, { "long", { 2, { 2, 31007 } }, 1 },
        { "long columns", { 2, { 5000, 3 } }, 0 }, { "one", { 1, { 1 } }, 0 },
        { "empty", { 2, { 3, 0 } }, 1 },
    };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    vkt_cumsum(g, vkt__sample(g, s[i / 2].x, VKT_F32, VKT_HINT_NORMAL, 0), s[i / 2].axis,
               i % 2 != 0);
    return s[i / 2].name;
}

const vkt_op vkt__op_cumsum = { .name = "cumsum",
                                .n_in = 1,
                                .n_out = 1,
                                .in = { VKT_NARROW | VKT_NARROW_ODD },
                                .shape = cumsum_shape,
                                .record = cumsum_record,
                                .grad = cumsum_grad,
                                .ref = cumsum_ref,
                                .terms = cumsum_terms,
                                .sample = cumsum_sample };

vkt_tensor *vkt_cumsum(vkt_graph *g, vkt_tensor *x, uint32_t axis, bool backward)
{
    return vkt__op(g, &vkt__op_cumsum, &x, 1,
                   (vkt_attr) { .along = { .axis = axis, .backward = backward } });
}
