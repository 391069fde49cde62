/* GRU and LSTM: one dispatch for all steps, and one for their gradients. What the input gives to
 * the gates is a product of all steps before it; what the weights get, one after it. Kernels
 * rnn.comp, rnn_bwd.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"

/* Steps: quirk LOOP_TRIPS. Units: their gates lie in the 16 KiB of shared memory that every device
 * has. */
enum { MOST_STEPS = 30000, MOST_UNITS = 1024 };
enum { XP, W, BIAS, H0, C0 };                                    /* inputs of rnn */
enum { Y, GATES, CELLS };                                        /* its results */
enum { B_DY, B_DCELLS, B_GATES, B_W, B_Y, B_H0, B_CELLS, B_C0 }; /* inputs of rnn_bwd */
enum { B_DXP, B_DHP, B_DH, B_DC };                               /* its results */

static bool is_lstm(const vkt_node *n)
{
    return n->attr.rnn.kind == VKT_RNN_LSTM;
}

static uint32_t n_gates(const vkt_node *n)
{
    return is_lstm(n) ? 4 : 3;
}

typedef struct sizes {
    uint32_t b, t, h, gates;
} sizes;

static sizes sizes_of(const vkt_node *n)
{
    const uint32_t *d = n->op == &vkt__op_rnn ? n->out[Y]->shape.d : n->in[B_Y]->shape.d;
    return (sizes) { d[0], d[1], d[2], n_gates(n) };
}

/* The element of t that step s is for. */
static uint64_t step_at(const vkt_node *n, sizes q, uint64_t s)
{
    return n->attr.rnn.reverse ? q.t - 1 - s : s;
}

/* ---- forward ---- */

static bool rnn_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[XP], *w = n->in[W], *b = n->in[BIAS];
    uint32_t gates = n_gates(n), h = w->shape.d[0];
    const char *kind = is_lstm(n) ? "an LSTM" : "a GRU";
    if (x->shape.rank != 3 || w->shape.rank != 2 || w->shape.d[1] != gates * h ||
        x->shape.d[2] != gates * h)
        return vkt__shape_error(n, "%s and %s do not fit: %s takes [B, T, %u H] and [H, %u H]",
                                vkt__text(x), vkt__text(w), kind, gates, gates);
    if (!h || h > MOST_UNITS || x->shape.d[1] > MOST_STEPS)
        return vkt__shape_error(n, "%s: 1 to %u units are possible, and up to %u steps",
                                vkt__text(x), MOST_UNITS, MOST_STEPS);
    if (b && (b->shape.rank != 1 || b->shape.d[0] != gates * h))
        return vkt__shape_error(n, "bias %s must be [%u]", vkt__text(b), gates * h);
    for (int i = H0; i <= C0; i++) {
        const vkt_tensor *first = n->in[i];
        if (first && (first->shape.rank != 2 || first->shape.d[0] != x->shape.d[0] ||
                      first->shape.d[1] != h))
            return vkt__shape_error(n, "the first state %s must be [%u, %u]", vkt__text(first),
                                    x->shape.d[0], h);
    }
    if (n->in[C0] && !is_lstm(n)) return vkt__shape_error(n, "a GRU has no cells");
    vkt_shape y = vkt_shape3(x->shape.d[0], x->shape.d[1], h);
    vkt__out(n, Y, y, VKT_F32);
    if (is_lstm(n)) vkt__out(n, CELLS, y, VKT_F32);
    y.d[2] = 4 * h;
    vkt__out(n, GATES, y, VKT_F32);
    return true;
}

/* How many examples share what a workgroup reads of the weights: as many as leave each core work,
 * and whose numbers fit into the memory that it shares. */
static uint32_t examples_of(const vkt_caps *caps, sizes q, uint32_t numbers)
{
    enum { MOST = 4 };
    uint32_t n = 1, cores = caps->klass == VKT_GPU_CLASS_CPU ? 4 : 64;
    while (n < MOST && q.b >= 2 * n * cores && 2ull * n * numbers * 4 <= caps->shared_bytes) n *= 2;
    return n;
}

static void dispatch(vkt__rec *rec, const vkt_node *n, sizes q, vkt__shader shader,
                     uint32_t numbers, const struct rnn_params *p)
{
    uint32_t examples = examples_of(rec->caps, q, numbers),
             wg = vkt__row_workgroup(rec->caps, q.h, 1);
    const vkt__constant spec[] = {
        { VKT_SPEC_WORKGROUP, wg },    { VKT_SPEC_LANES, vkt__lanes(rec->caps, wg, VKT__MANY) },
        { VKT_SPEC_HIDDEN, q.h },      { VKT_SPEC_EXAMPLES, examples },
        { VKT_SPEC_LSTM, is_lstm(n) }, { VKT_SPEC_BACKWARD, n->attr.rnn.reverse },
    };
    vkt__dispatch(rec, shader, spec, VKT_COUNT(spec), p, sizeof *p,
                  ((uint64_t)q.b + examples - 1) / examples);
}

static void rnn_record(vkt__rec *rec, const vkt_node *n)
{
    sizes q = sizes_of(n);
    const vkt_tensor *any = n->in[XP];
    struct rnn_params p = { .xp = vkt__addr(rec, n->in[XP]),
                            .w = vkt__addr(rec, n->in[W]),
                            .bias = vkt__addr_or(rec, n->in[BIAS], any),
                            .h0 = vkt__addr_or(rec, n->in[H0], any),
                            .c0 = vkt__addr_or(rec, n->in[C0], any),
                            .y = vkt__addr(rec, n->out[Y]),
                            .gates = vkt__addr(rec, n->out[GATES]),
                            .cells = vkt__addr_or(rec, n->out[CELLS], any),
                            .b = q.b,
                            .t = q.t,
                            .flags = (n->in[BIAS] ? RNN_BIAS : 0) | (n->in[H0] ? RNN_H0 : 0) |
                                     (n->in[C0] ? RNN_C0 : 0) };
    dispatch(rec, n, q, VKT_SHADER_RNN, 2 * q.h, &p);
}

/* U h + b' of gate q and unit j. */
static double gate_sum(const vkt_node *n, double *const *in, sizes q, uint32_t gate, uint32_t j,
                       const double *before)
{
    uint64_t width = (uint64_t)q.gates * q.h, at = (uint64_t)gate * q.h + j;
    double sum = in[BIAS] ? in[BIAS][at] : 0;
    (void)n;
    for (uint64_t k = 0; before && k < q.h; k++) sum += before[k] * in[W][k * width + at];
    return sum;
}

static void rnn_ref(const vkt_node *n, double *const *in, double *const *out)
{
    sizes q = sizes_of(n);
    for (uint64_t i = 0; i < (uint64_t)q.b * q.t; i++) {
        uint64_t b = i / q.t, s = i % q.t, at = b * q.t + step_at(n, q, s),
                 last = s ? b * q.t + step_at(n, q, s - 1) : 0;
        const double *h = s        ? out[Y] + last * q.h
                          : in[H0] ? in[H0] + b * q.h
                                   : NULL,
                     *c = s ? (out[CELLS] ? out[CELLS] + last * q.h : NULL)
                            : (in[C0] ? in[C0] + b * q.h : NULL);
        for (uint32_t j = 0; j < q.h; j++) {
            double x[4], u[4], *gates = out[GATES] + at * 4 * q.h + j;
            for (uint32_t g = 0; g < q.gates; g++) {
                x[g] = in[XP][(at * q.gates + g) * q.h + j];
                u[g] = gate_sum(n, in, q, g, j, h);
            }
            double first = vkt__act(VKT_ACT_SIGMOID, x[0] + u[0]),
                   second = vkt__act(VKT_ACT_SIGMOID, x[1] + u[1]), third, fourth;
            if (is_lstm(n)) {
                third = tanh(x[2] + u[2]);
                fourth = vkt__act(VKT_ACT_SIGMOID, x[3] + u[3]);
                double cell = second * (c ? c[j] : 0) + first * third;
                out[CELLS][at * q.h + j] = cell;
                out[Y][at * q.h + j] = fourth * tanh(cell);
            } else {
                fourth = u[2];
                third = tanh(x[2] + first * fourth);
                out[Y][at * q.h + j] = (1 - second) * third + second * (h ? h[j] : 0);
            }
            gates[0] = first;
            gates[q.h] = second;
            gates[2ull * q.h] = third;
            gates[3ull * q.h] = fourth;
        }
    }
}

static vkt_cost rnn_cost(const vkt_node *n)
{
    sizes q = sizes_of(n);
    double numbers = (double)q.b * q.t * q.h;
    return (vkt_cost) { 2 * numbers * q.gates * q.h, 4 * numbers * (2 * q.gates + 3) };
}

/* Each step rounds a sum over the units and the activations of the gates, and goes on with what the
 * step before has rounded. */
static double rnn_terms(const vkt_node *n)
{
    sizes q = sizes_of(n);
    double units = (n->op == &vkt__op_rnn ? 1.0 : q.gates) * q.h;
    return q.t * (units + q.gates * vkt__acts[VKT_ACT_TANH].terms);
}

/* ---- backward ---- */

static bool rnn_bwd_shape(vkt_node *n)
{
    sizes q = sizes_of(n);
    vkt_shape gates = vkt_shape3(q.b, q.t, q.gates * q.h);
    vkt__out(n, B_DXP, gates, VKT_F32);
    if (!is_lstm(n)) vkt__out(n, B_DHP, gates, VKT_F32);
    vkt__out(n, B_DH, vkt_shape2(q.b, q.h), VKT_F32);
    if (is_lstm(n)) vkt__out(n, B_DC, vkt_shape2(q.b, q.h), VKT_F32);
    return true;
}

static void rnn_bwd_record(vkt__rec *rec, const vkt_node *n)
{
    sizes q = sizes_of(n);
    const vkt_tensor *any = n->in[B_W];
    struct rnn_params p = { .xp = vkt__addr(rec, n->out[B_DXP]),
                            .w = vkt__addr(rec, n->in[B_W]),
                            .h0 = vkt__addr_or(rec, n->in[B_H0], any),
                            .c0 = vkt__addr_or(rec, n->in[B_C0], any),
                            .y = vkt__addr(rec, n->in[B_Y]),
                            .gates = vkt__addr(rec, n->in[B_GATES]),
                            .cells = vkt__addr_or(rec, n->in[B_CELLS], any),
                            .dy = vkt__addr_or(rec, n->in[B_DY], any),
                            .dcells = vkt__addr_or(rec, n->in[B_DCELLS], any),
                            .dhp = vkt__addr_or(rec, n->out[B_DHP], any),
                            .dh = vkt__addr(rec, n->out[B_DH]),
                            .dc = vkt__addr_or(rec, n->out[B_DC], any),
                            .b = q.b,
                            .t = q.t,
                            .flags = (n->in[B_H0] ? RNN_H0 : 0) | (n->in[B_C0] ? RNN_C0 : 0) |
                                     (n->in[B_DY] ? RNN_DY : 0) |
                                     (n->in[B_DCELLS] ? RNN_DCELLS : 0) };
    dispatch(rec, n, q, VKT_SHADER_RNN_BWD, q.gates * q.h, &p);
}

/* dx, du: gradients of the gates' two terms for unit j. *dh and *dc, gradients of its state and
 * cell, become those of the step before, without what goes through the gates. */
static void unit_bwd(const vkt_node *n, double *const *in, sizes q, uint64_t b, uint64_t s,
                     uint32_t j, double *dh, double *dc, double dx[4], double du[4])
{
    uint64_t at = b * q.t + step_at(n, q, s), last = s ? b * q.t + step_at(n, q, s - 1) : 0;
    const double *gates = in[B_GATES] + at * 4 * q.h + j;
    double g0 = gates[0], g1 = gates[q.h], g2 = gates[2ull * q.h], g3 = gates[3ull * q.h];
    if (in[B_DY]) *dh += in[B_DY][at * q.h + j];
    if (is_lstm(n)) {
        double c = tanh(in[B_CELLS][at * q.h + j]), before = s ? in[B_CELLS][last * q.h + j]
                                                             : in[B_C0] ? in[B_C0][b * q.h + j]
                                                                        : 0;
        if (in[B_DCELLS]) *dc += in[B_DCELLS][at * q.h + j];
        *dc += *dh * g3 * (1 - c * c);
        du[0] = *dc * g2 * g0 * (1 - g0);
        du[1] = *dc * before * g1 * (1 - g1);
        du[2] = *dc * g0 * (1 - g2 * g2);
        du[3] = *dh * c * g3 * (1 - g3);
        memcpy(dx, du, 4 * sizeof *dx);
        *dc *= g1;
        *dh = 0;
        return;
    }
    double before = s ? in[B_Y][last * q.h + j] : in[B_H0] ? in[B_H0][b * q.h + j] : 0;
    dx[2] = *dh * (1 - g1) * (1 - g2 * g2);
    du[0] = dx[0] = dx[2] * g3 * g0 * (1 - g0);
    du[1] = dx[1] = *dh * (before - g2) * g1 * (1 - g1);
    du[2] = dx[2] * g0;
    *dh *= g1;
}

static void rnn_bwd_ref(const vkt_node *n, double *const *in, double *const *out)
{
    sizes q = sizes_of(n);
    uint64_t width = (uint64_t)q.gates * q.h;
    double *all = vkt__alloc(width * sizeof *all), none;
    for (uint64_t b = 0; b < q.b; b++) {
        double *dh = out[B_DH] + b * q.h, *dc = out[B_DC] ? out[B_DC] + b * q.h : NULL;
        for (uint32_t j = 0; j < q.h; j++) dh[j] = 0;
        for (uint32_t j = 0; dc && j < q.h; j++) dc[j] = 0;
        for (uint64_t s = q.t; s-- > 0;) {
            uint64_t at = (b * q.t + step_at(n, q, s)) * width;
            for (uint32_t j = 0; j < q.h; j++) {
                double dx[4], du[4];
                unit_bwd(n, in, q, b, s, j, &dh[j], dc ? &dc[j] : &none, dx, du);
                for (uint32_t g = 0; g < q.gates; g++) {
                    uint64_t i = (uint64_t)g * q.h + j;
                    out[B_DXP][at + i] = dx[g];
                    if (out[B_DHP]) out[B_DHP][at + i] = du[g];
                    all[i] = du[g];
                }
            }
            for (uint32_t j = 0; j < q.h; j++)
                for (uint64_t i = 0; i < width; i++) dh[j] += all[i] * in[B_W][i * q.h + j];
        }
    }
    free(all);
}

/* h before each step: [B T, H]. */
static vkt_tensor *states_before(vkt_graph *g, const vkt_node *n, sizes q)
{
    bool back = n->attr.rnn.reverse;
    vkt_shape first = vkt_shape3(q.b, 1, q.h);
    vkt_tensor *h0 = n->in[H0] ? vkt_reshape(g, n->in[H0], first) : vkt_fill(g, first, 0),
               *all = h0;
    if (q.t > 1) {
        vkt_tensor *rest = vkt_slice(g, n->out[Y], (uint32_t[]) { 0, back, 0 },
                                     (uint32_t[]) { q.b, q.t - 1, q.h }, NULL);
        all = vkt_concat(g, back ? (vkt_tensor *[]) { rest, h0 } : (vkt_tensor *[]) { h0, rest }, 2,
                         1);
    }
    return vkt_reshape(g, all, vkt_shape2(q.b * q.t, q.h));
}

static void rnn_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    sizes q = sizes_of(n);
    vkt_tensor *in[] = { dy[Y] ? vkt__real(g, dy[Y], n->out[Y]) : NULL,
                         dy[CELLS] ? vkt__real(g, dy[CELLS], n->out[CELLS]) : NULL,
                         n->out[GATES],
                         vkt_permute(g, n->in[W], (uint32_t[]) { 1, 0 }),
                         n->out[Y],
                         n->in[H0],
                         n->out[CELLS],
                         n->in[C0] };
    vkt_node *b = vkt__node(g, &vkt__op_rnn_bwd, in, VKT_COUNT(in), n->attr);
    if (!b) return;
    vkt_tensor *sums =
        vkt_reshape(g, b->out[is_lstm(n) ? B_DXP : B_DHP], vkt_shape2(q.b * q.t, q.gates * q.h));
    if (vkt__needs(n->in[XP])) dx[XP] = b->out[B_DXP];
    if (vkt__needs(n->in[W]) && q.t)
        dx[W] = vkt_matmul(g, VKT_LAYOUT_TN, states_before(g, n, q), sums);
    if (n->in[BIAS] && vkt__needs(n->in[BIAS])) dx[BIAS] = vkt_sum_rows(g, sums);
    if (n->in[H0] && vkt__needs(n->in[H0])) dx[H0] = b->out[B_DH];
    if (n->in[C0] && vkt__needs(n->in[C0])) dx[C0] = b->out[B_DC];
}

/* ---- samples ---- */

static const struct {
    const char *name;
    uint32_t b, t, h;
    bool bias, first, reverse;
} cases[] = {
    { "a few", 3, 4, 5, true, true, false },
    { "to the front, without bias", 2, 5, 5, false, true, true },
    { "from zeros", 5, 3, 33, true, false, false },
    { "one unit", 7, 1, 1, true, true, false },
    { "many examples", 300, 2, 5, true, true, false },
    { "wide", 2, 2, 129, true, true, true },
    { "no steps", 2, 0, 5, true, true, false },
    { "no examples", 0, 3, 5, true, true, false },
};

static vkt_tensor *sample(vkt_graph *g, vkt_shape s)
{
    return vkt__sample(g, s, VKT_F32, VKT_HINT_NORMAL, 0);
}

/* Weights as small as a layer's first ones: sums of variance 1. */
static vkt_node *sample_node(vkt_graph *g, uint32_t i, vkt_rnn_kind kind)
{
    uint32_t b = cases[i].b, t = cases[i].t, h = cases[i].h, gates = kind == VKT_RNN_LSTM ? 4 : 3;
    vkt_tensor *in[] = { sample(g, vkt_shape3(b, t, gates * h)),
                         vkt_scale(g, sample(g, vkt_shape2(h, gates * h)), 1 / sqrtf((float)h)),
                         cases[i].bias ? sample(g, vkt_shape1(gates * h)) : NULL,
                         cases[i].first ? sample(g, vkt_shape2(b, h)) : NULL,
                         cases[i].first && gates == 4 ? sample(g, vkt_shape2(b, h)) : NULL };
    return vkt__node(g, &vkt__op_rnn, in, VKT_COUNT(in),
                     (vkt_attr) { .rnn = { .kind = kind, .reverse = cases[i].reverse } });
}

static const char *rnn_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    if (i >= 2 * VKT_COUNT(cases)) return NULL;
    sample_node(g, i / 2, i % 2 ? VKT_RNN_LSTM : VKT_RNN_GRU);
    return cases[i / 2].name;
}

static const char *rnn_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    if (i >= 2 * VKT_COUNT(cases)) return NULL;
    const vkt_node *n = sample_node(g, i / 2, i % 2 ? VKT_RNN_LSTM : VKT_RNN_GRU);
    vkt_tensor *in[] = { sample(g, n->out[Y]->shape),
                         i % 2 && i < 4 ? sample(g, n->out[Y]->shape) : NULL,
                         n->out[GATES],
                         vkt_permute(g, n->in[W], (uint32_t[]) { 1, 0 }),
                         n->out[Y],
                         n->in[H0],
                         n->out[CELLS],
                         n->in[C0] };
    vkt__node(g, op, in, VKT_COUNT(in), n->attr);
    return cases[i / 2].name;
}

/* ---- rows and builder ---- */

const vkt_op vkt__op_rnn = {
    .name = "rnn",
    .n_in = 5,
    .n_out = 3,
    .in = { [BIAS] = VKT_OPTIONAL, [H0] = VKT_OPTIONAL, [C0] = VKT_OPTIONAL },
    .shape = rnn_shape,
    .record = rnn_record,
    .grad = rnn_grad,
    .ref = rnn_ref,
    .cost = rnn_cost,
    .terms = rnn_terms,
    .sample = rnn_sample
};
const vkt_op vkt__op_rnn_bwd = { .name = "rnn_bwd",
                                 .n_in = 8,
                                 .n_out = 4,
                                 .in = { [B_DY] = VKT_OPTIONAL,
                                         [B_DCELLS] = VKT_OPTIONAL,
                                         [B_H0] = VKT_OPTIONAL,
                                         [B_CELLS] = VKT_OPTIONAL,
                                         [B_C0] = VKT_OPTIONAL },
                                 .shape = rnn_bwd_shape,
                                 .record = rnn_bwd_record,
                                 .ref = rnn_bwd_ref,
                                 .cost = rnn_cost,
                                 .terms = rnn_terms,
                                 .sample = rnn_bwd_sample };

vkt_tensor *vkt_rnn(vkt_graph *g, vkt_tensor *x, const vkt_rnn_desc *desc, vkt_tensor **cells)
{
    if (cells) *cells = vkt__inert(g);
    if (x->inert || desc->w_hh->inert) return vkt__inert(g);
    vkt_tensor *in[] = { vkt_linear(g, x, desc->w_ih, desc->b_ih, VKT_ACT_NONE),
                         vkt_permute(g, desc->w_hh, (uint32_t[]) { 1, 0 }), desc->b_hh, desc->h0,
                         desc->c0 };
    vkt_node *n = vkt__node(g, &vkt__op_rnn, in, VKT_COUNT(in),
                            (vkt_attr) { .rnn = { desc->kind, desc->reverse } });
    if (!n) return vkt__inert(g);
    if (cells && n->out[CELLS]) *cells = n->out[CELLS];
    return n->out[Y];
}
