/* Gated activation rows: act(gate) up, and both gradients in one pass. Gate and up may lie side by
 * side in one tensor (in[UP] is NULL then), and then so do their gradients. Kernels gated.comp,
 * gated_bwd.comp. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

/* gated_bwd has DY, too, and writes the gradients in the place of Y. */
enum { GATE, UP, N_IN, DY = N_IN, N_BWD_IN };
enum { Y, DUP, N_OUT };

/* Columns of the result where gate and up lie side by side; 0: they are apart. */
static uint32_t half_of(const vkt_node *n)
{
    return n->in[UP] ? 0 : vkt__last(n->in[GATE]->shape) / 2;
}

static bool gated_shape(vkt_node *n)
{
    vkt_shape s = n->in[GATE]->shape;
    if (!n->in[UP] && vkt__last(s) % 2)
        return vkt__shape_error(n, "%s must be two halves of one size", vkt__text(n->in[GATE]));
    if (n->in[UP] && !vkt__shape_equal(n->in[GATE]->shape, n->in[UP]->shape))
        return vkt__shape_error(n, "%s and %s must have one shape", vkt__text(n->in[GATE]),
                                vkt__text(n->in[UP]));
    if (vkt__act_from_output(n->attr.gated.act))
        return vkt__shape_error(n,
                                "%s can't gate: its slope is taken from its result, which is not "
                                "kept",
                                vkt__acts[n->attr.gated.act].name);
    if (!n->in[UP] && !n->in[DY]) s.d[s.rank - 1] /= 2;
    vkt__out(n, 0, s, VKT_F32);
    if (n->in[UP] && n->in[DY]) vkt__out(n, 1, s, VKT_F32);
    return true;
}

static void gated_record(vkt__rec *rec, const vkt_node *n)
{
    struct gated_params p = { .gate = vkt__addr(rec, n->in[GATE]),
                              .up = vkt__addr(rec, n->in[UP]),
                              .dy = vkt__addr(rec, n->in[DY]),
                              .y = vkt__addr(rec, n->out[Y]),
                              .dup = vkt__addr(rec, n->out[DUP]),
                              .n = (uint32_t)n->in[GATE]->count / (n->in[UP] ? 1 : 2),
                              .cols = half_of(n) };
    uint64_t bytes = vkt_dtype_bytes(n->in[GATE]->dtype);
    if (!n->in[UP]) {
        p.up = p.gate + bytes * p.cols;
        p.dup = p.y + bytes * p.cols;
    }
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256), each = bytes == 2 ? 2 : 1;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_ACT, (uint32_t)n->attr.gated.act },
                                   { VKT_SPEC_HALVES, p.cols > 0 },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[GATE]) } };
    vkt__dispatch(rec, n->in[DY] ? VKT_SHADER_GATED_BWD : VKT_SHADER_GATED, spec, VKT_COUNT(spec),
                  &p, sizeof p, (p.n + (uint64_t)each * wg - 1) / ((uint64_t)each * wg));
}

static void gated_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_act act = n->attr.gated.act;
    uint64_t F = half_of(n), count = n->in[GATE]->count / (F ? 2 : 1);
    const double *ups = F ? in[GATE] + F : in[UP];
    double *dups = F ? out[Y] + F : out[DUP];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = F ? i + i / F * F : i;
        double gate = in[GATE][at], up = ups[at];
        if (!in[DY]) {
            out[Y][i] = vkt__act(act, gate) * up;
            continue;
        }
        out[Y][at] = in[DY][i] * up * vkt__act_derivative(act, gate);
        dups[at] = in[DY][i] * vkt__act(act, gate);
    }
}

static vkt_cost gated_cost(const vkt_node *n)
{
    double count = (double)n->in[GATE]->count / (n->in[UP] ? 1 : 2);
    vkt_cost c = { (n->in[DY] ? 12 : 6) * count,
                   (double)vkt_dtype_bytes(n->in[GATE]->dtype) * count * (n->in[DY] ? 5 : 3) };
    return c;
}

static double gated_terms(const vkt_node *n)
{
    return vkt__acts[n->attr.gated.act].terms;
}

static vkt_node *gated_bwd(vkt_graph *g, vkt_tensor *dy, const vkt_node *f)
{
    return vkt__node(g, &vkt__op_gated_bwd, (vkt_tensor *[]) { f->in[GATE], f->in[UP], dy }, 3,
                     f->attr);
}

static void gated_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_node *b = gated_bwd(g, vkt__real(g, dy[0], n->out[Y]), n);
    if (!b) return;
    if (vkt__needs(n->in[GATE])) dx[GATE] = b->out[Y];
    if (n->in[UP] && vkt__needs(n->in[UP])) dx[UP] = b->out[DUP];
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
    gated_bwd(g, vkt__sample(g, f->out[Y]->shape, VKT_F32, VKT_HINT_NORMAL, 0), f);
    return name;
}

const vkt_op vkt__op_gated = { .name = "gated",
                               .n_in = N_IN,
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
                                   .n_in = N_BWD_IN,
                                   .n_out = N_OUT,
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
