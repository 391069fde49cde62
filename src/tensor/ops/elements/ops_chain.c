/* The row of elementwise ops in one pass, which rewrite_chain.c makes of single ones. It comes into
 * being after differentiation, so it has no gradient. Kernel eltwise_chain.comp. */
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/ops.h"
#include "shaders/rng.h"

enum { X = VKT__CHAIN_IN_X, Y = VKT__CHAIN_IN_Y, STEP = VKT__CHAIN_IN_STEP }; /* Y + k: stage k's */
_Static_assert((int)VKT_MAX_STAGES == VKT_CHAIN_STAGES, "a node's attributes have all stages");

static bool chain_shape(vkt_node *n)
{
    vkt__out(n, 0, n->in[X]->shape, VKT_F32);
    return true;
}

static void chain_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *z = n->out[0];
    uint64_t y[VKT_CHAIN_STAGES];
    uint32_t m[VKT_CHAIN_STAGES], wg = VKT_MIN(rec->caps->workgroup, 256);
    vkt__constant spec[4 + 3 * VKT_CHAIN_STAGES], *of_stage = spec + 4;
    float s[VKT_CHAIN_STAGES];
    bool whole = true;
    for (uint32_t k = 0; k < VKT_CHAIN_STAGES; k++) {
        const vkt_tensor *t = n->in[Y + k];
        bool used = k < n->attr.chain.n;
        uint32_t op = used ? n->attr.chain.stage[k].op : VKT_EL_COPY;
        y[k] = vkt__addr_or(rec, t, n->in[X]);
        m[k] = t ? (uint32_t)t->count : (uint32_t)z->count;
        s[k] = op == VKT_EL_DROPOUT ? (float)(1 / (1 - (double)n->attr.chain.dropout_p))
                                    : n->attr.chain.stage[k].s;
        *of_stage++ = (vkt__constant) { VKT_SPEC_OP0 + k, op };
        *of_stage++ =
            (vkt__constant) { VKT_SPEC_ACT0 + k, used ? (uint32_t)n->attr.chain.stage[k].act : 0 };
        *of_stage++ = (vkt__constant) { VKT_SPEC_TYPE_Y0 + k, vkt__type(t) };
        whole = whole && m[k] == z->count;
    }
    struct eltwise_chain_params p = { .x = vkt__addr(rec, n->in[X]),
                                      .y0 = y[0],
                                      .y1 = y[1],
                                      .y2 = y[2],
                                      .step = vkt__addr_or(rec, n->in[STEP], n->in[X]),
                                      .z = vkt__addr(rec, z),
                                      .n = (uint32_t)z->count,
                                      .m0 = m[0],
                                      .m1 = m[1],
                                      .m2 = m[2],
                                      .s0 = s[0],
                                      .s1 = s[1],
                                      .s2 = s[2],
                                      .id = n->attr.chain.dropout_id,
                                      .threshold =
                                          vkt__dropout_threshold(n->attr.chain.dropout_p) };
    bool pairs = vkt__use_pairs(rec->caps) && whole && p.n % 2 == 0;
    spec[0] = (vkt__constant) { VKT_SPEC_WORKGROUP, wg };
    spec[1] = (vkt__constant) { VKT_SPEC_WIDE, rec->caps->klass != VKT_GPU_CLASS_CPU && whole };
    spec[2] = (vkt__constant) { VKT_SPEC_TYPE_X, vkt__type(n->in[X]) };
    spec[3] = (vkt__constant) { VKT_SPEC_TYPE_Z, vkt__type(z) };
    vkt__dispatch(rec, pairs ? VKT_SHADER_ELTWISE_CHAIN_PAIRS : VKT_SHADER_ELTWISE_CHAIN, spec,
                  VKT_COUNT(spec), &p, sizeof p, (z->count + 4 * wg - 1) / (4 * wg));
}

static double dropped(const vkt_node *n, const struct vkt_step_block *b, uint64_t i, double x)
{
    double p = (double)n->attr.chain.dropout_p;
    uint32_t first = vkt_dropout_first((uint32_t)n->out[0]->count, b->rows, b->row),
             bits = vkt_dropout_bits(b->dropout_key, b->step, n->attr.chain.dropout_id,
                                     first + (uint32_t)i);
    return bits >= p * 0x1p24 ? x / (1 - p) : 0;
}

/* x and what noise adds to it. */
static double noisy(const vkt_node *n, const struct vkt_step_block *b, uint64_t i, double x,
                    double size)
{
    uint32_t first = vkt_dropout_first((uint32_t)n->out[0]->count, b->rows, b->row),
             bits = vkt_dropout_bits(b->dropout_key, b->step, n->attr.chain.dropout_id,
                                     first + (uint32_t)i);
    return x + size * (2 * (bits * 0x1p-24) - 1);
}

static void chain_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct vkt_step_block b = { 0 };
    if (in[STEP]) b = vkt__ref_step(in[STEP]);
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        double x = in[X][i];
        for (uint32_t k = 0; k < n->attr.chain.n; k++) {
            uint32_t op = n->attr.chain.stage[k].op;
            double y = in[Y + k] ? in[Y + k][i % n->in[Y + k]->count] : 0;
            double s = (double)n->attr.chain.stage[k].s;
            x = op == VKT_EL_DROPOUT ? dropped(n, &b, i, x)
                : op == VKT_EL_NOISE
                    ? noisy(n, &b, i, x, s)
                    : vkt__eltwise_element(op, n->attr.chain.stage[k].act, s, x, y);
        }
        out[0][i] = x;
    }
}

/* As many as the worst of its stages: see activate. */
static double chain_terms(const vkt_node *n)
{
    (void)n;
    return 64.0 * VKT_CHAIN_STAGES;
}

static vkt_cost chain_cost(const vkt_node *n)
{
    vkt_cost c = { (double)n->attr.chain.n * (double)n->out[0]->count, (double)n->out[0]->bytes };
    for (uint32_t i = 0; i < n->op->n_in; i++)
        if (n->in[i]) c.bytes += (double)n->in[i]->bytes;
    return c;
}

/* Every op in some place, operands broadcast and whole, sizes around 4 elements and a workgroup. */
static const char *chain_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t r, c, n, op[VKT_CHAIN_STAGES];
        vkt_act act[VKT_CHAIN_STAGES];
        bool row[VKT_CHAIN_STAGES]; /* operand of one row */
    } s[] = {
        { "add, gelu", 7, 129, 2, { VKT_EL_ADD, VKT_EL_ACT }, { 0, VKT_ACT_GELU }, { 0 } },
        { "scale, add", 64, 128, 2, { VKT_EL_SCALE, VKT_EL_ADD }, { 0 }, { 0 } },
        { "mul, add of rows", 19, 33, 2, { VKT_EL_MUL, VKT_EL_ADD }, { 0 }, { true, true } },
        { "tanh, dropout", 37, 2000, 2, { VKT_EL_ACT, VKT_EL_DROPOUT }, { VKT_ACT_TANH }, { 0 } },
        { "dropout, relu's gradient",
          17,
          134,
          2,
          { VKT_EL_DROPOUT, VKT_EL_ACT_BWD },
          { 0, VKT_ACT_RELU },
          { 0 } },
        { "three", 5, 77, 3, { VKT_EL_MUL, VKT_EL_SCALE, VKT_EL_ADD }, { 0 }, { 0 } },
        { "three and dropout",
          6,
          64,
          3,
          { VKT_EL_ADD, VKT_EL_DROPOUT, VKT_EL_ACT_BWD },
          { 0, 0, VKT_ACT_SILU },
          { true } },
        { "noise, mul", 7, 129, 2, { VKT_EL_NOISE, VKT_EL_MUL }, { 0 }, { 0 } },
        { "one element", 1, 1, 2, { VKT_EL_ADD, VKT_EL_MUL }, { 0 }, { 0 } },
        { "empty", 0, 5, 2, { VKT_EL_ADD, VKT_EL_MUL }, { 0 }, { 0 } },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_tensor *in[VKT__CHAIN_N_IN] = { vkt__sample2(g, s[i].r, s[i].c) };
    vkt_attr attr = { .chain = { .n = s[i].n, .dropout_p = 0.3f, .dropout_id = 4 } };
    for (uint32_t k = 0; k < s[i].n; k++) {
        attr.chain.stage[k].op = s[i].op[k];
        attr.chain.stage[k].act = s[i].act[k];
        attr.chain.stage[k].s = -1.7f;
        if (s[i].op[k] == VKT_EL_DROPOUT || s[i].op[k] == VKT_EL_NOISE) in[STEP] = vkt_step(g);
        if (s[i].op[k] == VKT_EL_ADD || s[i].op[k] == VKT_EL_MUL || s[i].op[k] == VKT_EL_ACT_BWD)
            in[Y + k] = s[i].row[k] ? vkt__sample1(g, s[i].c) : vkt__sample2(g, s[i].r, s[i].c);
    }
    vkt__op(g, op, in, VKT_COUNT(in), attr);
    return s[i].name;
}

const vkt_op vkt__op_chain = { .name = "elementwise",
                               .n_in = VKT__CHAIN_N_IN,
                               .n_out = 1,
                               .in = { [X] = VKT_INPLACE | VKT_NARROW,
                                       [Y] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW,
                                       [Y + 1] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW,
                                       [Y + 2] = VKT_OPTIONAL | VKT_INPLACE | VKT_NARROW,
                                       [STEP] = VKT_OPTIONAL | VKT_WORDS },
                               .out = { VKT_INPLACE | VKT_NARROW },
                               .shape = chain_shape,
                               .record = chain_record,
                               .ref = chain_ref,
                               .cost = chain_cost,
                               .terms = chain_terms,
                               .sample = chain_sample };
