/* The cast row: f32 to f16 or bf16 and back, by hand-packed bits. A 16-bit tensor of odd count
 * occupies its bytes rounded up to 4. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

static bool cast_shape(vkt_node *n)
{
    vkt_dtype from = n->in[0]->dtype, to = n->attr.cast.to;
    bool down = from == VKT_F32 && (to == VKT_F16 || to == VKT_BF16),
         up = to == VKT_F32 && (from == VKT_F16 || from == VKT_BF16);
    if (!down && !up)
        return vkt__shape_error(n, "%s can't become %s: casts go between f32 and f16 or bf16",
                                vkt__text(n->in[0]), vkt_dtype_name(to));
    vkt__out(n, 0, n->in[0]->shape, to);
    return true;
}

static void cast_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *x = n->in[0], *y = n->out[0];
    struct cast_params p = { .x = vkt__addr(rec, x),
                             .y = vkt__addr(rec, y),
                             .n = (uint32_t)y->count };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_X, vkt__type(x) },
                                   { VKT_SPEC_TYPE_Y, vkt__type(y) } };
    vkt__dispatch(rec, VKT_SHADER_CAST, spec, VKT_COUNT(spec), &p, sizeof p,
                  ((y->count + 1) / 2 + wg - 1) / wg);
}

/* The rounding is every output's: vkt__node_ref. */
static void cast_ref(const vkt_node *n, double *const *in, double *const *out)
{
    memcpy(out[0], in[0], n->out[0]->count * sizeof *out[0]);
}

static void cast_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[0])) dx[0] = vkt_cast(g, vkt__real(g, dy[0], n->out[0]), n->in[0]->dtype);
}

static const char *cast_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t n;
        vkt_dtype to;
        float scale;
    } s[] = {
        { "f16 one", 1, VKT_F16, 1 },
        { "f16 odd", 1029, VKT_F16, 1 },
        { "f16 subnormal", 514, VKT_F16, 1e-6f },
        { "bf16 one", 1, VKT_BF16, 1 },
        { "bf16 odd", 1029, VKT_BF16, 1 },
        { "bf16 large", 514, VKT_BF16, 1e30f },
        { "f16 empty", 0, VKT_F16, 1 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    /* a power of two scales exactly: the twin and the device round the same number */
    vkt_tensor *x =
        vkt_scale(g, vkt__sample1(g, s[i].n), (float)exp2(floor(log2((double)s[i].scale))));
    vkt_cast(g, vkt_cast(g, x, s[i].to), VKT_F32);
    return s[i].name;
}

const vkt_op vkt__op_cast = { .name = "cast",
                              .n_in = 1,
                              .n_out = 1,
                              .narrow_in = 1,
                              .narrow_odd = 1,
                              .shape = cast_shape,
                              .record = cast_record,
                              .grad = cast_grad,
                              .ref = cast_ref,
                              .sample = cast_sample };

vkt_tensor *vkt_cast(vkt_graph *g, vkt_tensor *x, vkt_dtype to)
{
    if (x->inert || x->dtype == to) return x;
    return vkt__op(g, &vkt__op_cast, &x, 1, (vkt_attr) { .cast = { to } });
}
