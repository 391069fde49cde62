/* Elementwise rows: add, mul, scale, copy, fill, activations and their gradients. One kernel,
 * eltwise.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

/* Rows of one operand have X only. activate_bwd: X is a gradient, Y what its slope is taken at. */
enum { X, Y, N_IN };

/* ---- recording ---- */

static void eltwise_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *z = n->out[0], *y = n->in[Y];
    struct eltwise_params p = { .x = vkt__addr(rec, n->in[X]),
                                .y = vkt__addr(rec, y),
                                .z = vkt__addr(rec, z),
                                .n = (uint32_t)z->count,
                                .m = y ? (uint32_t)y->count : 1,
                                .s = n->attr.eltwise.s };
    /* 4 elements an invocation: 16 bytes at a time on GPUs, four subgroup-wide rows on CPU drivers.
     */
    bool whole = p.m == p.n || !y, words = z->dtype == VKT_U32,
         pairs = vkt__use_pairs(rec->caps) && whole && !words && p.n % 2 == 0;
    uint32_t wide = rec->caps->klass != VKT_GPU_CLASS_CPU && whole;
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_OP, n->attr.eltwise.op },
                                   { VKT_SPEC_ACT, (uint32_t)n->attr.eltwise.act },
                                   { VKT_SPEC_WIDE, wide },
                                   { VKT_SPEC_TYPE_X, vkt__type(n->in[X]) },
                                   { VKT_SPEC_TYPE_Y, vkt__type(y) },
                                   { VKT_SPEC_TYPE_Z, vkt__type(z) } };
    vkt__dispatch(rec, pairs ? VKT_SHADER_ELTWISE_PAIRS : VKT_SHADER_ELTWISE, spec, VKT_COUNT(spec),
                  &p, sizeof p, (z->count + 4 * wg - 1) / (4 * wg));
}

/* ---- shapes ---- */

/* y's dimensions are x's last ones, or y has one element. */
static bool broadcasts(vkt_shape x, vkt_shape y)
{
    if (y.rank == 1 && y.d[0] == 1) return true;
    if (y.rank > x.rank) return false;
    for (uint32_t i = 0; i < y.rank; i++)
        if (x.d[x.rank - 1 - i] != y.d[y.rank - 1 - i]) return false;
    return true;
}

static bool binary_shape(vkt_node *n)
{
    if (!broadcasts(n->in[X]->shape, n->in[Y]->shape))
        return vkt__shape_error(
            n,
            "%s and %s do not fit: the second must have the first's shape or its last dimensions",
            vkt__text(n->in[X]), vkt__text(n->in[Y]));
    vkt__out(n, 0, n->in[X]->shape, VKT_F32);
    return true;
}

static bool unary_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[X]->shape, VKT_F32);
    return true;
}

static bool copy_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[X]->shape, n->in[X]->dtype == VKT_U32 ? VKT_U32 : VKT_F32);
    return true;
}

static bool fill_shape(vkt_node *n)
{
    vkt__out(n, 0, n->attr.eltwise.shape, VKT_F32);
    return true;
}

/* ---- the twin ---- */

double vkt__eltwise_element(uint32_t op, vkt_act act, double s, double x, double y)
{
    switch (op) {
    case VKT_EL_ADD:
        return x + y;
    case VKT_EL_MUL:
        return x * y;
    case VKT_EL_SCALE:
        return x * s;
    case VKT_EL_FILL:
        return s;
    case VKT_EL_ACT:
        return vkt__act(act, x);
    case VKT_EL_ACT_BWD:
        return x * vkt__act_derivative(act, y);
    default: /* VKT_EL_COPY */
        return x;
    }
}

static void eltwise_ref(const vkt_node *n, double *const *in, double *const *out)
{
    uint64_t m = n->in[Y] ? n->in[Y]->count : 1;
    for (uint64_t i = 0; i < n->out[0]->count; i++)
        out[0][i] =
            vkt__eltwise_element(n->attr.eltwise.op, n->attr.eltwise.act, (double)n->attr.eltwise.s,
                                 in[X] ? in[X][i] : 0, in[Y] ? in[Y][i % m] : 0);
}

static double act_terms(const vkt_node *n)
{
    return VKT_MAX(1, vkt__acts[n->attr.eltwise.act].terms);
}

/* ---- gradients ---- */

/* dy summed over the dimensions that y was broadcast over. */
static vkt_tensor *unbroadcast(vkt_graph *g, vkt_tensor *d, const vkt_tensor *y)
{
    if (d->count == y->count) return d;
    if (y->count == 1) return vkt_sum(g, d);
    vkt_tensor *rows =
        vkt_reshape(g, d, vkt_shape2((uint32_t)(d->count / y->count), (uint32_t)y->count));
    return vkt_reshape(g, vkt_sum_rows(g, rows), y->shape);
}

static void add_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[X])) dx[X] = dy[0];
    if (vkt__needs(n->in[Y]))
        dx[Y] = n->in[Y]->count == n->out[0]->count
                    ? dy[0]
                    : unbroadcast(g, vkt__real(g, dy[0], n->out[0]), n->in[Y]);
}

static void mul_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_tensor *d = vkt__real(g, dy[0], n->out[0]);
    if (vkt__needs(n->in[X])) dx[X] = vkt_mul(g, d, n->in[Y]);
    if (vkt__needs(n->in[Y])) dx[Y] = unbroadcast(g, vkt_mul(g, d, n->in[X]), n->in[Y]);
}

static void scale_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[X]))
        dx[X] = vkt_scale(g, vkt__real(g, dy[0], n->out[0]), n->attr.eltwise.s);
}

static void copy_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    (void)g;
    if (n->attr.eltwise.s == 0 && vkt__needs(n->in[X])) dx[X] = dy[0];
}

static void act_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[X]))
        dx[X] = vkt__act_bwd(g, vkt__real(g, dy[0], n->out[0]),
                             vkt__act_from_output(n->attr.eltwise.act) ? n->out[0] : n->in[X],
                             n->attr.eltwise.act);
}

/* ---- samples ---- */

/* Sizes around the 4 elements of an invocation and the 256 of a workgroup, and more than one
 * workgroup. */
static const struct {
    const char *name;
    uint32_t r, c;
} sizes[] = {
    { "one", 1, 1 },     { "three", 1, 3 },
    { "odd", 7, 129 },   { "power of two", 64, 128 },
    { "tall", 1000, 3 }, { "many groups", 37, 2000 },
    { "empty", 0, 5 },
};

static const char *binary_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    vkt_tensor *(*build)(vkt_graph *, vkt_tensor *, vkt_tensor *) =
        op == &vkt__op_add ? vkt_add : vkt_mul;
    if (i < VKT_COUNT(sizes)) {
        build(g, vkt__sample2(g, sizes[i].r, sizes[i].c), vkt__sample2(g, sizes[i].r, sizes[i].c));
        return sizes[i].name;
    }
    if (i == VKT_COUNT(sizes)) {
        build(g, vkt__sample2(g, 19, 33), vkt__sample1(g, 33));
        return "broadcast over rows";
    }
    if (i == VKT_COUNT(sizes) + 1) {
        build(g, vkt__sample2(g, 19, 33), vkt__sample1(g, 1));
        return "broadcast of one";
    }
    return NULL;
}

static const char *scale_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_scale(g, vkt__sample2(g, sizes[i].r, sizes[i].c), -1.7f);
    return sizes[i].name;
}

static const char *copy_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i < VKT_COUNT(sizes)) {
        vkt_copy(g, vkt__sample2(g, sizes[i].r, sizes[i].c));
        return sizes[i].name;
    }
    if (i > VKT_COUNT(sizes)) return NULL;
    vkt_copy(g, vkt__sample(g, vkt_shape2(7, 130), VKT_U32, VKT_HINT_INDEX, 1000));
    return "whole numbers";
}

static const char *fill_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= VKT_COUNT(sizes)) return NULL;
    vkt_fill(g, vkt_shape2(sizes[i].r, sizes[i].c), 2.5f);
    return sizes[i].name;
}

static const char *act_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i + 1 >= VKT__N_ACTS) return NULL;
    vkt_activate(g, vkt_scale(g, vkt__sample2(g, 17, 134), 4.0f), (vkt_act)(i + 1));
    return vkt__acts[i + 1].name;
}

static const char *act_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i + 1 == VKT__N_ACTS) { /* where 1 - y y would have lost most of its digits */
        vkt_tensor *near = vkt__sample(g, vkt_shape2(5, 40), VKT_F32, VKT_HINT_POSITIVE, 0),
                   *y = vkt_add(g, vkt_scale(g, near, 0x1p-10f),
                                vkt_fill(g, vkt_shape2(5, 40), 0.9975f));
        vkt_keep(y, NULL);
        vkt__act_bwd(g, vkt__sample2(g, 5, 40), y, VKT_ACT_TANH);
        return "tanh near 1";
    }
    if (i + 1 > VKT__N_ACTS) return NULL;
    vkt__act_bwd(g, vkt__sample2(g, 17, 134), vkt_scale(g, vkt__sample2(g, 17, 134), 2.0f),
                 (vkt_act)(i + 1));
    return vkt__acts[i + 1].name;
}

/* ---- rows and builders ---- */

const vkt_op vkt__op_add = { .name = "add",
                             .n_in = N_IN,
                             .n_out = 1,
                             .in = { [X] = VKT_INPLACE | VKT_NARROW, [Y] = VKT_NARROW },
                             .out = { VKT_INPLACE | VKT_NARROW },
                             .shape = binary_shape,
                             .record = eltwise_record,
                             .grad = add_grad,
                             .ref = eltwise_ref,
                             .sample = binary_sample };
const vkt_op vkt__op_mul = { .name = "mul",
                             .n_in = N_IN,
                             .n_out = 1,
                             .in = { [X] = VKT_INPLACE | VKT_NARROW, [Y] = VKT_NARROW },
                             .out = { VKT_INPLACE | VKT_NARROW },
                             .shape = binary_shape,
                             .record = eltwise_record,
                             .grad = mul_grad,
                             .ref = eltwise_ref,
                             .sample = binary_sample };
const vkt_op vkt__op_scale = { .name = "scale",
                               .n_in = 1,
                               .n_out = 1,
                               .in = { VKT_INPLACE | VKT_NARROW },
                               .out = { VKT_INPLACE | VKT_NARROW },
                               .shape = unary_shape,
                               .record = eltwise_record,
                               .grad = scale_grad,
                               .ref = eltwise_ref,
                               .sample = scale_sample };
const vkt_op vkt__op_copy = { .name = "copy",
                              .n_in = 1,
                              .n_out = 1,
                              .in = { VKT_WORDS | VKT_NARROW },
                              .out = { VKT_NARROW },
                              .shape = copy_shape,
                              .record = eltwise_record,
                              .grad = copy_grad,
                              .ref = eltwise_ref,
                              .sample = copy_sample };
const vkt_op vkt__op_fill = { .name = "fill",
                              .n_in = 0,
                              .n_out = 1,
                              .out = { VKT_NARROW },
                              .shape = fill_shape,
                              .record = eltwise_record,
                              .ref = eltwise_ref,
                              .sample = fill_sample };
const vkt_op vkt__op_act = { .name = "activate",
                             .n_in = 1,
                             .n_out = 1,
                             .in = { VKT_INPLACE | VKT_NARROW },
                             .out = { VKT_INPLACE | VKT_NARROW },
                             .shape = unary_shape,
                             .record = eltwise_record,
                             .grad = act_grad,
                             .ref = eltwise_ref,
                             .terms = act_terms,
                             .sample = act_sample };
const vkt_op vkt__op_act_bwd = { .name = "activate_bwd",
                                 .n_in = N_IN,
                                 .n_out = 1,
                                 .in = { [X] = VKT_INPLACE | VKT_NARROW, [Y] = VKT_NARROW },
                                 .out = { VKT_INPLACE | VKT_NARROW },
                                 .shape = binary_shape,
                                 .record = eltwise_record,
                                 .ref = eltwise_ref,
                                 .terms = act_terms,
                                 .sample = act_bwd_sample };

vkt_tensor *vkt_add(vkt_graph *g, vkt_tensor *x, vkt_tensor *y)
{
    return vkt__op(g, &vkt__op_add, (vkt_tensor *[]) { x, y }, 2,
                   (vkt_attr) { .eltwise = { .op = VKT_EL_ADD } });
}

vkt_tensor *vkt_mul(vkt_graph *g, vkt_tensor *x, vkt_tensor *y)
{
    return vkt__op(g, &vkt__op_mul, (vkt_tensor *[]) { x, y }, 2,
                   (vkt_attr) { .eltwise = { .op = VKT_EL_MUL } });
}

vkt_tensor *vkt_scale(vkt_graph *g, vkt_tensor *x, float s)
{
    return vkt__op(g, &vkt__op_scale, &x, 1,
                   (vkt_attr) { .eltwise = { .op = VKT_EL_SCALE, .s = s } });
}

vkt_tensor *vkt_copy(vkt_graph *g, vkt_tensor *x)
{
    return vkt__op(g, &vkt__op_copy, &x, 1, (vkt_attr) { .eltwise = { .op = VKT_EL_COPY } });
}

/* s of a copy is not 0 where its gradient goes no further; the kernel does not look at it. */
vkt_tensor *vkt_detach(vkt_graph *g, vkt_tensor *x)
{
    return vkt__op(g, &vkt__op_copy, &x, 1,
                   (vkt_attr) { .eltwise = { .op = VKT_EL_COPY, .s = 1 } });
}

vkt_tensor *vkt_fill(vkt_graph *g, vkt_shape shape, float value)
{
    return vkt__op(g, &vkt__op_fill, NULL, 0,
                   (vkt_attr) { .eltwise = { .op = VKT_EL_FILL, .s = value, .shape = shape } });
}

vkt_tensor *vkt_activate(vkt_graph *g, vkt_tensor *x, vkt_act act)
{
    if (act == VKT_ACT_NONE) return x;
    return vkt__op(g, &vkt__op_act, &x, 1,
                   (vkt_attr) { .eltwise = { .op = VKT_EL_ACT, .act = act } });
}

vkt_tensor *vkt__act_bwd(vkt_graph *g, vkt_tensor *dy, vkt_tensor *v, vkt_act act)
{
    return vkt__op(g, &vkt__op_act_bwd, (vkt_tensor *[]) { dy, v }, 2,
                   (vkt_attr) { .eltwise = { .op = VKT_EL_ACT_BWD, .act = act } });
}

vkt_tensor *vkt__real(vkt_graph *g, vkt_tensor *dy, const vkt_tensor *t)
{
    return vkt__is_ones(dy) ? vkt_fill(g, t->shape, 1.0f) : dy;
}
