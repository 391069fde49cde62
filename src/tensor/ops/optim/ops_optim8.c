/* The row of an update whose moments are kept in 8 bits: see shaders/optim/moments8.glsl. */
#include <math.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/optim/updates.h"
#include "tensor/twins/moments8.h"

enum { THETA, GRAD, M, V, SCALES, SCALARS, STEP, BLOCKS, GROUPS, BESIDE, N_IN };

static bool update8_shape(vkt_node *n)
{
    uint64_t count = n->in[THETA]->count, blocks = vkt__group_blocks(count);
    VKT_ASSERT(n->in[GRAD]->count == count);
    VKT_ASSERT((n->in[M] != NULL) == vkt__optim_has_m(n->attr) &&
               (n->in[V] != NULL) == vkt__optim_has_v(n->attr));
    for (int i = M; i <= V; i++) VKT_ASSERT(!n->in[i] || n->in[i]->count == (count + 3) / 4);
    VKT_ASSERT(n->in[SCALES]->count == 2 * blocks);
    VKT_ASSERT(n->in[BLOCKS]->count == blocks);
    VKT_ASSERT(vkt__beside_fits(n, n->in[BESIDE]));
    return true;
}

static void update8_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_attr *a = &n->attr;
    struct optim_update8_params p = {
        .theta = vkt__addr(rec, n->in[THETA]),
        .grad = vkt__addr(rec, n->in[GRAD]),
        .m = vkt__addr(rec, n->in[M]),
        .v = vkt__addr(rec, n->in[V]),
        .scales = vkt__addr(rec, n->in[SCALES]),
        .scalars = vkt__addr(rec, n->in[SCALARS]),
        .step = vkt__addr(rec, n->in[STEP]),
        .blocks = vkt__addr(rec, n->in[BLOCKS]),
        .groups = vkt__addr(rec, n->in[GROUPS]),
        .beside = vkt__addr(rec, n->in[BESIDE]),
        .n = (uint32_t)n->in[THETA]->count,
        .first = a->optim.first,
        .beta1 = a->optim.beta1,
        .beta2 = a->optim.beta2,
        .eps = a->optim.eps,
    };
    enum { WORDS = VKT_GROUP_BLOCK / 4, NUMBERS = 40 }; /* four elements of all, and their codes */
    uint32_t wg = VKT_MIN(vkt__reduce_workgroup(rec->caps, WORDS), WORDS);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_WORDS, WORDS / wg },
                                   { VKT_SPEC_LANES, vkt__lanes(rec->caps, wg, NUMBERS) },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) },
                                   { VKT_SPEC_RULE, a->optim.rule },
                                   { VKT_SPEC_UPDATE_FORM, vkt__update_form(a) },
                                   { VKT_SPEC_HAS_M, vkt__optim_has_m(*a) },
                                   { VKT_SPEC_HAS_V, vkt__optim_has_v(*a) },
                                   { VKT_SPEC_TYPE_SHADOW, vkt__type(n->in[BESIDE]) } };
    vkt__dispatch(rec, VKT_SHADER_OPTIM_UPDATE8, spec, VKT_COUNT(spec), &p, sizeof p,
                  vkt__group_blocks(p.n));
}

/* ---- twin ---- */

static uint32_t byte_of(const double *words, uint64_t i)
{
    return (uint32_t)words[i / 4] >> (i % 4 * 8) & 255;
}

/* Codes of a block's numbers x[n], from element `at` on, and their scale. */
static void pack(vkt__moment kind, const double *x, uint32_t n, uint64_t at, uint32_t first,
                 const struct vkt_step_block *b, double *words, double *scale)
{
    double most = 0;
    for (uint32_t k = 0; k < n; k++) most = VKT_MAX(most, fabs(x[k]));
    *scale = vkt__moment8_scale(most);
    for (uint32_t k = 0; k < n; k += 4) {
        uint32_t word = 0;
        for (uint32_t j = k; j < VKT_MIN(k + 4, n); j++) {
            double u = vkt__moment8_u(kind, b->dropout_key, b->step, first + (uint32_t)at + j);
            word |= vkt__moment8_encode(kind, x[j], *scale, u) << (j % 4 * 8);
        }
        words[(at + k) / 4] = word;
    }
}

static void update8_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    bool direction = vkt__optim_gives_direction(n->attr);
    if (in[SCALARS][VKT__SCALAR(ok)] == 0) return;
    struct vkt_step_block b = vkt__ref_step(in[STEP]);
    uint64_t count = n->in[THETA]->count, blocks = vkt__group_blocks(count);
    for (uint64_t block = 0; block < blocks; block++) {
        vkt__update_step s;
        double m[VKT_GROUP_BLOCK] = { 0 }, v[VKT_GROUP_BLOCK] = { 0 },
               scales[2] = { in[SCALES][block], in[SCALES][blocks + block] };
        uint64_t at = block * VKT_GROUP_BLOCK;
        uint32_t here = (uint32_t)VKT_MIN(count - at, VKT_GROUP_BLOCK);
        if (!vkt__update_step_of(&b, in[GROUPS], in[BLOCKS], block, &s)) continue;
        for (uint32_t k = 0; k < here; k++) {
            uint64_t i = at + k;
            if (in[M]) m[k] = vkt__moment8_decode(VKT__MOMENT_M, byte_of(in[M], i), scales[0]);
            if (in[V]) v[k] = vkt__moment8_decode(VKT__MOMENT_V, byte_of(in[V], i), scales[1]);
            vkt__kept kept = { m[k], v[k] };
            double theta = in[THETA][i];
            vkt__optim_element(n->attr, &s, in[SCALARS][VKT__SCALAR(scale)] * in[GRAD][i], &theta,
                               &kept);
            in[direction ? BESIDE : THETA][i] = theta;
            m[k] = kept.m, v[k] = kept.v;
            if (in[BESIDE] && !direction)
                in[BESIDE][i] = vkt__round_to(n->in[BESIDE]->dtype, theta);
        }
        scales[0] = scales[1] = 0;
        if (in[M]) pack(VKT__MOMENT_M, m, here, at, n->attr.optim.first, &b, in[M], &scales[0]);
        if (in[V]) pack(VKT__MOMENT_V, v, here, at, n->attr.optim.first, &b, in[V], &scales[1]);
        in[SCALES][block] = scales[0], in[SCALES][blocks + block] = scales[1];
    }
}

static int update8_code(uint32_t input, uint32_t byte)
{
    return vkt__moment8_code(input == M ? VKT__MOMENT_M : VKT__MOMENT_V, byte);
}

static vkt_cost update8_cost(const vkt_node *n)
{
    double count = (double)n->in[THETA]->count, moments = (n->in[M] != NULL) + (n->in[V] != NULL);
    vkt_cost c = { count * (4 + 40 * moments), count * (12 + 2 * moments) +
                                                   2 * (double)n->in[SCALES]->bytes +
                                                   (double)n->in[BLOCKS]->bytes };
    if (n->in[BESIDE]) c.bytes += (double)n->in[BESIDE]->bytes;
    return c;
}

/* Three more than the rule's own: a moment is unpacked. */
static double update8_terms(const vkt_node *n)
{
    return vkt__update_terms(n) + 3;
}

/* eps and beta2 keep the step small where a code says that v is next to nothing: one such element
 * would widen the tolerance of all. */
static const char *update8_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        vkt__update_case c;
        uint32_t rule;
        bool torch;
    } own[] = {
#define LIKE_MOST 2500, VKT_HINT_UNIT, VKT_HINT_POSITIVE
        { { "adamw", LIKE_MOST }, VKT_UP_ADAMW },
        { { "momentum", LIKE_MOST }, VKT_UP_MOMENTUM },
        { { "nesterov", LIKE_MOST }, VKT_UP_NESTEROV },
        { { "rmsprop", LIKE_MOST }, VKT_UP_RMSPROP },
        { { "rmsprop, torch's form", LIKE_MOST }, VKT_UP_RMSPROP, .torch = true },
        { { "nadam", LIKE_MOST }, VKT_UP_NADAM },
        { { "lion", LIKE_MOST }, VKT_UP_LION },
        { { "adamax", LIKE_MOST }, VKT_UP_ADAMAX },
        { { "lamb", 2501, VKT_HINT_UNIT, VKT_HINT_POSITIVE }, VKT_UP_LAMB },
        { { "sgd", LIKE_MOST }, VKT_UP_SGD },
#undef LIKE_MOST
        { { "bf16 shadow, two more than fours", 774, VKT_HINT_UNIT, VKT_HINT_POSITIVE, VKT_BF16 },
          VKT_UP_ADAM },
        { { "f16 shadow, three more than fours", 775, VKT_HINT_UNIT, VKT_HINT_POSITIVE, VKT_F16 },
          VKT_UP_ADAM },
    };
    bool edge = i >= VKT_COUNT(own);
    const vkt__update_case *c = edge ? vkt__update_case_at(i - VKT_COUNT(own)) : &own[i].c;
    if (!c) return NULL;
    vkt_attr attr = { .optim = { .rule = edge ? VKT_UP_ADAM : own[i].rule,
                                 .torch = !edge && own[i].torch,
                                 .beta1 = 0.9f,
                                 .beta2 = 0.75f,
                                 .eps = 0.125f,
                                 .first = 1000 * i } };
    vkt_shape codes = vkt_shape1((c->n + 3) / 4);
    vkt__update_in in = vkt__update_sample(g, c);
    in.grad = vkt__sample1(g, c->n);
    if (vkt__optim_has_m(attr)) in.m = vkt__sample(g, codes, VKT_U32, VKT_HINT_INDEX, UINT32_MAX);
    if (vkt__optim_has_v(attr)) in.v = vkt__sample(g, codes, VKT_U32, VKT_HINT_INDEX, UINT32_MAX);
    in.scales = vkt__sample(g, vkt_shape2(2, (uint32_t)vkt__group_blocks(c->n)), VKT_F32,
                            VKT_HINT_POSITIVE, 0);
    if (vkt__optim_gives_direction(attr)) in.direction = vkt__sample1(g, c->n);
    vkt__optim_update8(g, &in, attr);
    return c->name;
}

const vkt_op vkt__op_optim_update8 = { .name = "optim_update8",
                                       .n_in = N_IN,
                                       .in = { [THETA] = VKT_CHANGED,
                                               [M] = VKT_OPTIONAL | VKT_WORDS | VKT_CHANGED,
                                               [V] = VKT_OPTIONAL | VKT_WORDS | VKT_CHANGED,
                                               [SCALES] = VKT_CHANGED,
                                               [STEP] = VKT_WORDS,
                                               [BLOCKS] = VKT_WORDS,
                                               [BESIDE] = VKT_OPTIONAL | VKT_CHANGED | VKT_NARROW |
                                                          VKT_NARROW_ODD },
                                       .shape = update8_shape,
                                       .record = update8_record,
                                       .ref = update8_ref,
                                       .code = update8_code,
                                       .cost = update8_cost,
                                       .terms = update8_terms,
                                       .sample = update8_sample };

void vkt__optim_update8(vkt_graph *g, const vkt__update_in *in, vkt_attr attr)
{
    vkt_tensor *list[N_IN] = {
        [THETA] = in->theta,   [GRAD] = in->grad,
        [M] = in->m,           [V] = in->v,
        [SCALES] = in->scales, [SCALARS] = in->scalars,
        [STEP] = in->step,     [BLOCKS] = in->blocks,
        [GROUPS] = in->groups, [BESIDE] = in->direction ? in->direction : in->shadow
    };
    vkt__node(g, &vkt__op_optim_update8, list, N_IN, attr);
}
