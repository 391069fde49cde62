/* The rows that follow a rule's directions where it looks at whole tensors: sums of squares by
 * block, the ratio of each tensor, and the step itself. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/optim/updates.h"

/* ---- optim_squares ---- */

enum { SQ_THETA, SQ_U, SQ_SCALARS, SQ_SQUARES, N_SQUARES_IN };

static bool squares_shape(vkt_node *n)
{
    uint64_t count = n->in[SQ_THETA]->count;
    VKT_ASSERT(n->in[SQ_U]->count == count && n->in[SQ_SCALARS]->count == VKT__N_SCALARS);
    VKT_ASSERT(n->in[SQ_SQUARES]->count == 2 * vkt__group_blocks(count));
    return true;
}

static void squares_record(vkt__rec *rec, const vkt_node *n)
{
    struct optim_squares_params p = { .theta = vkt__addr(rec, n->in[SQ_THETA]),
                                      .u = vkt__addr(rec, n->in[SQ_U]),
                                      .squares = vkt__addr(rec, n->in[SQ_SQUARES]),
                                      .scalars = vkt__addr(rec, n->in[SQ_SCALARS]),
                                      .n = (uint32_t)n->in[SQ_THETA]->count };
    uint32_t wg = vkt__reduce_workgroup(rec->caps, VKT_GROUP_BLOCK / 4);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) } };
    vkt__dispatch(rec, VKT_SHADER_OPTIM_SQUARES, spec, VKT_COUNT(spec), &p, sizeof p,
                  vkt__group_blocks(p.n));
}

static void squares_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    uint64_t count = n->in[SQ_THETA]->count;
    if (in[SQ_SCALARS][VKT__SCALAR(ok)] == 0) return;
    for (uint64_t i = 0; i < count; i++) {
        double *to = &in[SQ_SQUARES][2 * (i / VKT_GROUP_BLOCK)];
        if (i % VKT_GROUP_BLOCK == 0) to[0] = to[1] = 0;
        to[0] += in[SQ_THETA][i] * in[SQ_THETA][i];
        to[1] += in[SQ_U][i] * in[SQ_U][i];
    }
}

static double squares_terms(const vkt_node *n)
{
    (void)n;
    return VKT_GROUP_BLOCK;
}

static vkt_cost squares_cost(const vkt_node *n)
{
    double count = (double)n->in[SQ_THETA]->count;
    return (vkt_cost) { 4 * count, 8 * count + (double)n->in[SQ_SQUARES]->bytes };
}

static const char *squares_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t n, scalars;
    } s[] = {
        { "one", 1, VKT_HINT_UNIT },
        { "block", VKT_GROUP_BLOCK, VKT_HINT_UNIT },
        { "block + 1", VKT_GROUP_BLOCK + 1, VKT_HINT_UNIT },
        { "many workgroups", 70001, VKT_HINT_UNIT },
        { "not ok", 2500, VKT_HINT_INDEX },
        { "empty", 0, VKT_HINT_UNIT },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt__update_in in = { .theta = vkt__sample1(g, s[i].n),
                          .direction = vkt__sample1(g, s[i].n),
                          .scalars = vkt__scalars_sample(g, s[i].scalars) };
    vkt__block_squares(g, &in, vkt__sample1(g, 2 * (uint32_t)vkt__group_blocks(s[i].n)));
    return s[i].name;
}

const vkt_op vkt__op_optim_squares = { .name = "optim_squares",
                                       .n_in = N_SQUARES_IN,
                                       .in = { [SQ_SQUARES] = VKT_CHANGED },
                                       .shape = squares_shape,
                                       .record = squares_record,
                                       .ref = squares_ref,
                                       .terms = squares_terms,
                                       .cost = squares_cost,
                                       .sample = squares_sample };

void vkt__block_squares(vkt_graph *g, const vkt__update_in *in, vkt_tensor *squares)
{
    vkt_tensor *list[N_SQUARES_IN] = { [SQ_THETA] = in->theta,
                                       [SQ_U] = in->direction,
                                       [SQ_SCALARS] = in->scalars,
                                       [SQ_SQUARES] = squares };
    vkt__node(g, &vkt__op_optim_squares, list, N_SQUARES_IN, (vkt_attr) { 0 });
}

/* ---- optim_trust ---- */

enum { TR_SQUARES, TR_TENSORS, TR_TRUST, TR_COUNTS, TR_STEP, TR_BLOCKS, TR_GROUPS, N_TRUST_IN };

static bool trust_shape(vkt_node *n)
{
    VKT_ASSERT(n->in[TR_SQUARES]->count == 2 * n->in[TR_TRUST]->count);
    VKT_ASSERT(n->in[TR_TENSORS]->count >= 1);
    VKT_ASSERT(n->in[TR_COUNTS]->count + 1 == n->in[TR_TENSORS]->count);
    VKT_ASSERT(n->in[TR_BLOCKS]->count == n->in[TR_TRUST]->count);
    return true;
}

static void trust_record(vkt__rec *rec, const vkt_node *n)
{
    struct optim_trust_params p = { .squares = vkt__addr(rec, n->in[TR_SQUARES]),
                                    .tensors = vkt__addr(rec, n->in[TR_TENSORS]),
                                    .trust = vkt__addr(rec, n->in[TR_TRUST]),
                                    .counts = vkt__addr(rec, n->in[TR_COUNTS]),
                                    .step = vkt__addr(rec, n->in[TR_STEP]),
                                    .blocks = vkt__addr(rec, n->in[TR_BLOCKS]),
                                    .groups = vkt__addr(rec, n->in[TR_GROUPS]),
                                    .n = (uint32_t)n->in[TR_TENSORS]->count - 1 };
    uint32_t wg = vkt__reduce_workgroup(rec->caps, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) },
                                   { VKT_SPEC_RULE, n->attr.optim.rule } };
    vkt__dispatch(rec, VKT_SHADER_OPTIM_TRUST, spec, VKT_COUNT(spec), &p, sizeof p, p.n);
}

static void trust_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    struct vkt_step_block b = vkt__ref_step(in[TR_STEP]);
    for (uint64_t t = 0; t + 1 < n->in[TR_TENSORS]->count; t++) {
        uint64_t first = (uint64_t)in[TR_TENSORS][t], end = (uint64_t)in[TR_TENSORS][t + 1];
        double theta = 0, u = 0, ratio;
        vkt__update_step s;
        if (first == end) continue;
        vkt__update_step_of(&b, in[TR_GROUPS], in[TR_BLOCKS], first, &s);
        for (uint64_t k = first; k < end; k++)
            theta += in[TR_SQUARES][2 * k], u += in[TR_SQUARES][2 * k + 1];
        ratio = vkt__optim_ratio(n->attr.optim.rule, &s, in[TR_COUNTS][t], theta, u);
        for (uint64_t k = first; k < end; k++) in[TR_TRUST][k] = ratio;
    }
}

static double trust_terms(const vkt_node *n)
{
    return 16 + (double)n->in[TR_TRUST]->count;
}

static const char *trust_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t rule, tensors, blocks, hint, count;
    } s[] = {
        { "one tensor", VKT_UP_LAMB, 1, 700, VKT_HINT_POSITIVE },
        { "many", VKT_UP_LAMB, 129, 1500, VKT_HINT_POSITIVE },
        { "norms of 0", VKT_UP_LAMB, 40, 130, VKT_HINT_INDEX },
        { "one block", VKT_UP_LAMB, 1, 1, VKT_HINT_POSITIVE },
        { "muon", VKT_UP_MUON, 129, 1500, VKT_HINT_POSITIVE },
        { "muon, norms of 0", VKT_UP_MUON, 40, 130, VKT_HINT_INDEX },
        { "adafactor", VKT_UP_ADAFACTOR, 129, 1500, VKT_HINT_POSITIVE, 300 },
        { "adafactor, clipped", VKT_UP_ADAFACTOR, 129, 1500, VKT_HINT_POSITIVE, 2 },
        { "adafactor, norms of 0", VKT_UP_ADAFACTOR, 40, 130, VKT_HINT_INDEX, 300 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt__update_in in = { .step = vkt_step(g),
                          .groups = vkt__groups_sample(g, VKT_HINT_POSITIVE),
                          .blocks = vkt__blocks_sample(g, s[i].blocks) };
    vkt__optim_trust_ratios(
        g, &in, vkt__sample(g, vkt_shape2(s[i].blocks, 2), VKT_F32, s[i].hint, 2),
        vkt__sample(g, vkt_shape1(s[i].tensors + 1), VKT_U32, VKT_HINT_SEGMENTS, s[i].blocks),
        vkt__sample(g, vkt_shape1(s[i].tensors), VKT_U32, VKT_HINT_CONSTANT, s[i].count),
        vkt__sample1(g, s[i].blocks), s[i].rule);
    return s[i].name;
}

const vkt_op vkt__op_optim_trust = { .name = "optim_trust",
                                     .n_in = N_TRUST_IN,
                                     .in = { [TR_TENSORS] = VKT_WORDS,
                                             [TR_TRUST] = VKT_CHANGED,
                                             [TR_COUNTS] = VKT_WORDS,
                                             [TR_STEP] = VKT_WORDS,
                                             [TR_BLOCKS] = VKT_WORDS },
                                     .shape = trust_shape,
                                     .record = trust_record,
                                     .ref = trust_ref,
                                     .terms = trust_terms,
                                     .sample = trust_sample };

void vkt__optim_trust_ratios(vkt_graph *g, const vkt__update_in *in, vkt_tensor *squares,
                             vkt_tensor *tensors, vkt_tensor *counts, vkt_tensor *trust,
                             uint32_t rule)
{
    vkt_tensor *list[N_TRUST_IN] = {
        [TR_SQUARES] = squares,  [TR_TENSORS] = tensors, [TR_TRUST] = trust,
        [TR_COUNTS] = counts,    [TR_STEP] = in->step,   [TR_BLOCKS] = in->blocks,
        [TR_GROUPS] = in->groups
    };
    vkt__node(g, &vkt__op_optim_trust, list, N_TRUST_IN, (vkt_attr) { .optim = { .rule = rule } });
}

/* ---- optim_apply ---- */

enum { THETA, U, TRUST, SCALARS, STEP, BLOCKS, GROUPS, SHADOW, N_APPLY_IN };

static bool apply_shape(vkt_node *n)
{
    uint64_t count = n->in[THETA]->count;
    VKT_ASSERT(n->in[U]->count == count && n->in[SCALARS]->count == VKT__N_SCALARS);
    VKT_ASSERT(!n->in[TRUST] || n->in[TRUST]->count == vkt__group_blocks(count));
    VKT_ASSERT(n->in[BLOCKS]->count == vkt__group_blocks(count));
    VKT_ASSERT(!n->in[SHADOW] || n->in[SHADOW]->count == count);
    return true;
}

static void apply_record(vkt__rec *rec, const vkt_node *n)
{
    struct optim_apply_params p = { .theta = vkt__addr(rec, n->in[THETA]),
                                    .u = vkt__addr(rec, n->in[U]),
                                    .trust = vkt__addr(rec, n->in[TRUST]),
                                    .scalars = vkt__addr(rec, n->in[SCALARS]),
                                    .step = vkt__addr(rec, n->in[STEP]),
                                    .blocks = vkt__addr(rec, n->in[BLOCKS]),
                                    .groups = vkt__addr(rec, n->in[GROUPS]),
                                    .shadow = vkt__addr(rec, n->in[SHADOW]),
                                    .n = (uint32_t)n->in[THETA]->count };
    uint32_t wg = 1, most = VKT_MIN(rec->caps->workgroup, VKT_GROUP_BLOCK);
    while (2 * wg <= most) wg *= 2;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TRUST, n->in[TRUST] != NULL },
                                   { VKT_SPEC_UPDATE_FORM, vkt__update_form(&n->attr) },
                                   { VKT_SPEC_TYPE_SHADOW, vkt__type(n->in[SHADOW]) } };
    vkt__dispatch(rec, VKT_SHADER_OPTIM_APPLY, spec, VKT_COUNT(spec), &p, sizeof p,
                  vkt__update_groups(p.n, wg));
}

static void apply_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    if (in[SCALARS][VKT__SCALAR(ok)] == 0) return;
    struct vkt_step_block b = vkt__ref_step(in[STEP]);
    bool decays = vkt__update_form(&n->attr) & VKT_UP_DECOUPLED;
    for (uint64_t i = 0; i < n->in[THETA]->count; i++) {
        uint64_t block = i / VKT_GROUP_BLOCK;
        vkt__update_step s;
        vkt__update_step_of(&b, in[GROUPS], in[BLOCKS], block, &s);
        double rate = in[TRUST] ? s.lr * in[TRUST][block] : s.lr;
        if (rate == 0) continue;
        if (decays) in[THETA][i] -= s.lr * s.weight_decay * in[THETA][i];
        in[THETA][i] -= rate * in[U][i];
        if (in[SHADOW]) in[SHADOW][i] = vkt__round_to(n->in[SHADOW]->dtype, in[THETA][i]);
    }
}

static double apply_terms(const vkt_node *n)
{
    (void)n;
    return 7; /* two for the rate, and for that of decay; two products, a difference each */
}

static vkt_cost apply_cost(const vkt_node *n)
{
    double count = (double)n->in[THETA]->count;
    vkt_cost c = { 2 * count, 12 * count + 2 * (double)n->in[BLOCKS]->bytes };
    if (n->in[SHADOW]) c.bytes += (double)n->in[SHADOW]->bytes;
    return c;
}

static const char *apply_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        vkt__update_case c;
        uint32_t rule;
    } own[] = {
        { { "muon", 2501, VKT_HINT_UNIT, VKT_HINT_POSITIVE }, VKT_UP_MUON },
        { { "adafactor, f16 shadow", 2501, VKT_HINT_UNIT, VKT_HINT_POSITIVE, VKT_F16 },
          VKT_UP_ADAFACTOR },
    };
    bool edge = i >= VKT_COUNT(own);
    const vkt__update_case *c = edge ? vkt__update_case_at(i - VKT_COUNT(own)) : &own[i].c;
    uint32_t rule = edge ? VKT_UP_LAMB : own[i].rule;
    if (!c) return NULL;
    vkt__update_in in = vkt__update_sample(g, c);
    in.direction = vkt__sample1(g, c->n);
    vkt_shape blocks = vkt_tensor_shape(in.blocks);
    vkt_tensor *trust =
        rule == VKT_UP_MUON ? NULL : vkt__sample(g, blocks, VKT_F32, VKT_HINT_POSITIVE, 0);
    vkt__optim_apply(g, &in, trust, rule);
    return c->name;
}

const vkt_op vkt__op_optim_apply = { .name = "optim_apply",
                                     .n_in = N_APPLY_IN,
                                     .in = { [THETA] = VKT_CHANGED,
                                             [TRUST] = VKT_OPTIONAL,
                                             [STEP] = VKT_WORDS,
                                             [BLOCKS] = VKT_WORDS,
                                             [SHADOW] = VKT_OPTIONAL | VKT_CHANGED | VKT_NARROW |
                                                        VKT_NARROW_ODD },
                                     .shape = apply_shape,
                                     .record = apply_record,
                                     .ref = apply_ref,
                                     .terms = apply_terms,
                                     .cost = apply_cost,
                                     .sample = apply_sample };

void vkt__optim_apply(vkt_graph *g, const vkt__update_in *in, vkt_tensor *trust, uint32_t rule)
{
    vkt_tensor *list[N_APPLY_IN] = {
        [THETA] = in->theta, [U] = in->direction,   [TRUST] = trust,       [SCALARS] = in->scalars,
        [STEP] = in->step,   [BLOCKS] = in->blocks, [GROUPS] = in->groups, [SHADOW] = in->shadow
    };
    vkt__node(g, &vkt__op_optim_apply, list, N_APPLY_IN, (vkt_attr) { .optim = { .rule = rule } });
}
