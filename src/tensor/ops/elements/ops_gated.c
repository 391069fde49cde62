/* Gated activation rows: act(gate) up, and both gradients in one pass. Gate and up may lie side by
 * side in one tensor (in[1] is NULL then), and then so do their gradients. Kernels gated.comp,
 * gated_bwd.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

/* Columns of the result where gate and up lie side by side; 0: they are apart. */
static uint32_t half_of(const vkt_node *n)
{
    return n->in[1] ? 0 : vkt__last(n->in[0]->shape) / 2;
}

static bool gated_shape(vkt_node *n)
{
    vkt_shape s = n->in[0]->shape;
    if (!n->in[1] && vkt__last(s) % 2)
        return vkt__shape_error(n, "%s must be two halves of one size", vkt__text(n->in[0]));
    if (n->in[1] && !vkt__shape_equal(n->in[0]->shape, n->in[1]->shape))
        return vkt__shape_error(n, "%s and %s must have one shape", vkt__text(n->in[0]),
                                vkt__text(n->in[1]));
    if (vkt__act_from_output(n->attr.gated.act))
        return vkt__shape_error(n,
                                "%s can't gate: its slope is taken from its result, which is not "
                                "kept",
                                vkt__acts[n->attr.gated.act].name);
    if (!n->in[1] && !n->in[2]) s.d[s.rank - 1] /= 2;
    vkt__out(n, 0, s, VKT_F32);
    if (n->in[1] && n->in[2]) vkt__out(n, 1, s, VKT_F32);
    return true;
}

static void gated_record(vkt__rec *rec, const vkt_node *n)
{
    struct gated_params p = { .gate = vkt__addr(rec, n->in[0]),
                              .up = vkt__addr(rec, n->in[1]),
                              .dy = vkt__addr(rec, n->in[2]),
                              .y = vkt__addr(rec, n->out[0]),
                              .dup = vkt__addr(rec, n->out[1]),
                              .n = (uint32_t)n->in[0]->count / (n->in[1] ? 1 : 2),
                              .cols = half_of(n) };
    uint64_t bytes = vkt_dtype_bytes(n->in[0]->dtype);
    if (!n->in[1]) {
        p.up = p.gate + bytes * p.cols;
        p.dup = p.y + bytes * p.cols;
    }
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256), each = bytes == 2 ? 2 : 1;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_ACT, (uint32_t)n->attr.gated.act },
                                   { VKT_SPEC_HALVES, p.cols > 0 },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[0]) } };
    vkt__dispatch(rec, n->in[2] ? VKT_SHADER_GATED_BWD : VKT_SHADER_GATED, spec, VKT_COUNT(spec),
                  &p, sizeof p, (p.n + (uint64_t)each * wg - 1) / ((uint64_t)each * wg));
}

static void gated_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_act act = n->attr.gated.act;
    uint64_t F = half_of(n), count = n->in[0]->count / (F ? 2 : 1);
    const double *ups = F ? in[0] + F : in[1];
    double *dups = F ? out[0] + F : out[1];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = F ? i + i / F * F : i;
        double gate = in[0][at], up = ups[at];
        if (!in[2]) {
            out[0][i] = vkt__act(act, gate) * up;
            continue;
        }
        out[0][at] = in[2][i] * up * vkt__act_derivative(act, gate);
        dups[at] = in[2][i] * vkt__act(act, gate);
    }
}

static vkt_cost gated_cost(const vkt_node *n)
{
    double count = (double)n->in[0]->count / (n->in[1] ? 1 : 2);
    vkt_cost c = { (n->in[2] ? 12 : 6) * count,
                   (double)vkt_dtype_bytes(n->in[0]->dtype) * count * (n->in[2] ? 5 : 3) };
    return c;
}

static double gated_terms(const vkt_node *n)
{
    return vkt__acts[n->attr.gated.act].terms;
}

static vkt_node *gated_bwd(vkt_graph *g, vkt_tensor *dy, const vkt_node *f)
{
    return vkt__node(g, &vkt__op_gated_bwd, (vkt_tensor *[]) { f->in[0], f->in[1], dy }, 3,
                     f->attr);
}

static void gated_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_node *b = gated_bwd(g, vkt__real(g, dy[0], n->out[0]), n);
    if (!b) return;
    if (vkt__needs(n->in[0])) dx[0] = b->out[0];
    if (n->in[1] && vkt__needs(n->in[1])) dx[1] = b->out[1];
}

/* Sizes with silu, then every activation that can gate. */
static const struct {
    const char *name;
    uint32_t r, c;
    bool packed;
} sizes[] = { { "one", 1, 1, false },
              { "odd", 7, 129, false },
              { "many", 37, 200, false },
              { "side by side", 7, 65, true },
              { "side by side, many", 37, 200, true },
              { "no rows", 0, 5, false } };

/* Activation k of those that can gate; VKT_ACT_NONE past the last. */
static vkt_act gate_at(uint32_t k)
{
    for (int a = 1; a < VKT__N_ACTS; a++)
        if (!vkt__acts[a].from_output && k-- == 0) return (vkt_act)a;
    return VKT_ACT_NONE;
}

/* The node of case i and its name; NULL past the last. */
static const vkt_node *sample(vkt_graph *g, uint32_t i, const char **name)
{
    uint32_t n = VKT_COUNT(sizes), r = i < n ? sizes[i].r : 9, c = i < n ? sizes[i].c : 33;
    vkt_act act = i < n ? VKT_ACT_SILU : gate_at(i - n);
    if (act == VKT_ACT_NONE) return NULL;
    *name = i < n ? sizes[i].name : vkt__acts[act].name;
    if (i < n && sizes[i].packed) return vkt_gated(g, vkt__sample2(g, r, 2 * c), NULL, act)->node;
    return vkt_gated(g, vkt__sample2(g, r, c), vkt__sample2(g, r, c), act)->node;
}

static const char *gated_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    const char *name;
    return sample(g, i, &name) ? name : NULL;
}

static const char *gated_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    const char *name;
    const vkt_node *f = sample(g, i, &name);
    if (!f) return NULL;
    gated_bwd(g, vkt__sample(g, f->out[0]->shape, VKT_F32, VKT_HINT_NORMAL, 0), f);
    return name;
}

const vkt_op vkt__op_gated = { .name = "gated",
                               .n_in = 2,
                               .n_out = 1,
                               .in = { VKT_INPLACE | VKT_NARROW,
                                       VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW },
                               .out = { VKT_INPLACE | VKT_NARROW },
                               .alike = true,
                               .shape = gated_shape,
                               .record = gated_record,
                               .grad = gated_grad,
                               .ref = gated_ref,
                               .cost = gated_cost,
                               .terms = gated_terms,
                               .sample = gated_sample };
const vkt_op vkt__op_gated_bwd = { .name = "gated_bwd",
                                   .n_in = 3,
                                   .n_out = 2,
                                   .in = { VKT_INPLACE | VKT_NARROW,
                                           VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW,
                                           VKT_INPLACE | VKT_NARROW },
                                   .out = { VKT_INPLACE | VKT_NARROW, VKT_NARROW },
                                   .alike = true,
                                   .shape = gated_shape,
                                   .record = gated_record,
                                   .ref = gated_ref,
                                   .cost = gated_cost,
                                   .terms = gated_terms,
                                   .sample = gated_bwd_sample };

vkt_tensor *vkt_gated(vkt_graph *g, vkt_tensor *gate, vkt_tensor *up, vkt_act act)
{
    return vkt__op(g, &vkt__op_gated, (vkt_tensor *[]) { gate, up }, 2,
                   (vkt_attr) { .gated = { act } });
}
