/* The rows of dropout and noise. What they draw is a function of (step block, node id, element), so
 * dropout's gradient is the same op on dy. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/ops/ops.h"
#include "shaders/rng.h"

enum { X, STEP, N_IN };

/* What the kernel reads of it is not bounded by its size. */
static bool check_step(vkt_node *n)
{
    const vkt_tensor *step = n->in[STEP];
    if (step->count == sizeof(struct vkt_step_block) / 4) return true;
    return vkt__shape_error(n, "the step %s must be the graph's, vkt_step", vkt__text(step));
}

static bool dropout_shape(vkt_node *n)
{
    float p = n->attr.dropout.p;
    if (!(p >= 0 && p < 1))
        return vkt__shape_error(n, "probability %g is not in [0, 1)", (double)p);
    vkt__out(n, 0, n->in[X]->shape, VKT_F32);
    return check_step(n);
}

/* Both are computed by the kernel of elementwise chains: a chain of this one stage. */
static vkt_node chain_of(const vkt_node *n, uint32_t op, uint32_t id)
{
    vkt_node chain = { .op = &vkt__op_chain, .g = n->g };
    chain.in[VKT__CHAIN_IN_X] = n->in[X];
    chain.in[VKT__CHAIN_IN_STEP] = n->in[STEP];
    chain.out[0] = n->out[0];
    chain.attr.chain.n = 1;
    chain.attr.chain.stage[0].op = op;
    chain.attr.chain.dropout_id = id;
    return chain;
}

static void dropout_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_node chain = chain_of(n, VKT_EL_DROPOUT, n->attr.dropout.id);
    chain.attr.chain.dropout_p = n->attr.dropout.p;
    vkt__op_chain.record(rec, &chain);
}

static void dropout_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct vkt_step_block b = vkt__ref_step(in[STEP]);
    double p = (double)n->attr.dropout.p;
    uint32_t first = vkt_dropout_first((uint32_t)n->out[0]->count, b.rows, b.row);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint32_t bits =
            vkt_dropout_bits(b.dropout_key, b.step, n->attr.dropout.id, first + (uint32_t)i);
        out[0][i] = bits >= p * 0x1p24 ? in[X][i] / (1 - p) : 0;
    }
}

static vkt_tensor *dropout(vkt_graph *g, vkt_tensor *x, vkt_tensor *step, vkt_attr attr)
{
    return vkt__op(g, &vkt__op_dropout, (vkt_tensor *[]) { x, step }, 2, attr);
}

static void dropout_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[X]))
        dx[X] = dropout(g, vkt__real(g, dy[0], n->out[0]), n->in[STEP], n->attr);
}

static const char *dropout_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t r, c;
        float p;
    } s[] = {
        { "one", 1, 1, 0.5f },
        { "odd", 7, 129, 0.1f },
        { "many groups", 37, 2000, 0.3f },
        { "nearly all", 64, 65, 0.99f },
        { "hardly any", 64, 65, 1e-6f },
        { "empty", 0, 5, 0.5f },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_tensor *x = vkt__sample2(g, s[i].r, s[i].c);
    vkt_dropout(g, vkt_dropout(g, x, vkt_step(g), s[i].p), vkt_step(g), 0.25f); /* two ids */
    return s[i].name;
}

const vkt_op vkt__op_dropout = { .name = "dropout",
                                 .n_in = N_IN,
                                 .n_out = 1,
                                 .in = { [X] = VKT_INPLACE | VKT_NARROW, [STEP] = VKT_WORDS },
                                 .out = { VKT_INPLACE | VKT_NARROW },
                                 .shape = dropout_shape,
                                 .record = dropout_record,
                                 .grad = dropout_grad,
                                 .ref = dropout_ref,
                                 .sample = dropout_sample };

/* ---- noise ---- */

static bool noise_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[X]->shape, VKT_F32);
    return check_step(n);
}

static vkt_node noise_chain(const vkt_node *n)
{
    vkt_node chain = chain_of(n, VKT_EL_NOISE, n->attr.noise.id);
    chain.attr.chain.stage[0].s = n->attr.noise.size;
    return chain;
}

static void noise_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_node chain = noise_chain(n);
    vkt__op_chain.record(rec, &chain);
}

static void noise_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_node chain = noise_chain(n);
    double *ins[VKT__CHAIN_N_IN] = { [VKT__CHAIN_IN_X] = in[X], [VKT__CHAIN_IN_STEP] = in[STEP] };
    vkt__op_chain.ref(&chain, ins, out);
}

static void noise_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    (void)g;
    if (vkt__needs(n->in[X])) dx[X] = dy[0];
}

static const char *noise_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t r, c;
        float size;
    } s[] = {
        { "odd", 7, 129, 0.1f },
        { "many groups", 37, 2000, 3 },
        { "empty", 0, 5, 0.5f },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_tensor *x = vkt__sample2(g, s[i].r, s[i].c);
    vkt_noise(g, vkt_noise(g, x, vkt_step(g), s[i].size), vkt_step(g), 0.25f); /* two ids */
    return s[i].name;
}

const vkt_op vkt__op_noise = { .name = "noise",
                               .n_in = N_IN,
                               .n_out = 1,
                               .in = { [X] = VKT_INPLACE | VKT_NARROW, [STEP] = VKT_WORDS },
                               .out = { VKT_INPLACE | VKT_NARROW },
                               .shape = noise_shape,
                               .record = noise_record,
                               .grad = noise_grad,
                               .ref = noise_ref,
                               .sample = noise_sample };

vkt_tensor *vkt_noise(vkt_graph *g, vkt_tensor *x, vkt_tensor *step, float size)
{
    vkt_tensor *in[] = { x, step };
    return vkt__op(g, &vkt__op_noise, in, 2,
                   (vkt_attr) { .noise = { .size = size, .id = vkt__new_dropout(g) } });
}

vkt_tensor *vkt_dropout(vkt_graph *g, vkt_tensor *x, vkt_tensor *step, float p)
{
    if (p == 0) return x;
    return dropout(g, x, step, (vkt_attr) { .dropout = { .p = p, .id = vkt__new_dropout(g) } });
}
