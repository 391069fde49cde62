/* The row of an update by a rule that also keeps changes of the gradient: four numbers an element.
 */
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/optim/updates.h"

enum { THETA, GRAD, M, V, D, LAST, SCALARS, STEP, BLOCKS, GROUPS, BESIDE, N_IN };
static bool more_shape(vkt_node *n)
{
    uint64_t count = n->in[THETA]->count;
    for (int i = GRAD; i <= LAST; i++) VKT_ASSERT(n->in[i]->count == count);
    VKT_ASSERT(vkt__optim_has_change(n->attr) && n->in[SCALARS]->count == VKT__N_SCALARS);
    VKT_ASSERT(n->in[BLOCKS]->count == vkt__group_blocks(count) &&
               vkt__last(n->in[GROUPS]->shape) == 2);
    VKT_ASSERT(vkt__beside_fits(n, n->in[BESIDE]));
    return true;
}

static void more_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_attr *a = &n->attr;
    struct optim_update_more_params p = {
        .theta = vkt__addr(rec, n->in[THETA]),
        .grad = vkt__addr(rec, n->in[GRAD]),
        .m = vkt__addr(rec, n->in[M]),
        .v = vkt__addr(rec, n->in[V]),
        .d = vkt__addr(rec, n->in[D]),
        .last = vkt__addr(rec, n->in[LAST]),
        .scalars = vkt__addr(rec, n->in[SCALARS]),
        .step = vkt__addr(rec, n->in[STEP]),
        .blocks = vkt__addr(rec, n->in[BLOCKS]),
        .groups = vkt__addr(rec, n->in[GROUPS]),
        .beside = vkt__addr(rec, n->in[BESIDE]),
        .n = (uint32_t)n->in[THETA]->count,
        .beta1 = a->optim.beta1,
        .beta2 = a->optim.beta2,
        .beta3 = a->optim.beta3,
        .eps = a->optim.eps,
    };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, VKT_GROUP_BLOCK / 4);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_SHADOW, vkt__type(n->in[BESIDE]) } };
    vkt__dispatch(rec, VKT_SHADER_OPTIM_UPDATE_MORE, spec, VKT_COUNT(spec), &p, sizeof p,
                  vkt__update_groups(p.n, wg));
}

static void more_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    if (in[SCALARS][VKT__SCALAR(ok)] == 0) return;
    struct vkt_step_block b = vkt__ref_step(in[STEP]);
    for (uint64_t i = 0; i < n->in[THETA]->count; i++) {
        vkt__update_step s;
        if (!vkt__update_step_of(&b, in[GROUPS], in[BLOCKS], i / VKT_GROUP_BLOCK, &s)) continue;
        vkt__kept k = { in[M][i], in[V][i], in[D][i], in[LAST][i] };
        vkt__optim_element(n->attr, &s, in[SCALARS][VKT__SCALAR(scale)] * in[GRAD][i],
                           &in[THETA][i], &k);
        in[M][i] = k.m, in[V][i] = k.v, in[D][i] = k.d, in[LAST][i] = k.last;
        if (in[BESIDE]) in[BESIDE][i] = vkt__round_to(n->in[BESIDE]->dtype, in[THETA][i]);
    }
}

static vkt_cost more_cost(const vkt_node *n)
{
    double count = (double)n->in[THETA]->count;
    vkt_cost c = { 28 * count, 44 * count + (double)n->in[BLOCKS]->bytes };
    if (n->in[BESIDE]) c.bytes += (double)n->in[BESIDE]->bytes;
    return c;
}

static const char *more_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const vkt__update_case first = { "first step", 300, VKT_HINT_UNIT, VKT_HINT_POSITIVE };
    const vkt__update_case *c = i ? vkt__update_case_at(i - 1) : &first;
    if (!c) return NULL;
    vkt_attr attr = { .optim = { .rule = VKT_UP_ADAN,
                                 .beta1 = 0.9f,
                                 .beta2 = 0.75f,
                                 .beta3 = 0.8f,
                                 .eps = 0.125f } };
    vkt__update_in in = vkt__update_sample(g, c);
    in.grad = vkt__sample1(g, c->n);
    in.m = vkt__sample1(g, c->n);
    in.v = vkt__sample(g, vkt_shape1(c->n), VKT_F32, VKT_HINT_POSITIVE, 0);
    in.d = vkt__sample1(g, c->n);
    in.last = vkt__sample1(g, c->n);
    if (c == &first)
        in.step = vkt__sample(g, vkt_tensor_shape(in.step), VKT_U32, VKT_HINT_INDEX, 1);
    vkt__optim_update_more(g, &in, attr);
    return c->name;
}

const vkt_op vkt__op_optim_update_more = { .name = "optim_update_more",
                                           .n_in = N_IN,
                                           .in = { [THETA] = VKT_CHANGED,
                                                   [M] = VKT_CHANGED,
                                                   [V] = VKT_CHANGED,
                                                   [D] = VKT_CHANGED,
                                                   [LAST] = VKT_CHANGED,
                                                   [STEP] = VKT_WORDS,
                                                   [BLOCKS] = VKT_WORDS,
                                                   [BESIDE] = VKT_OPTIONAL | VKT_CHANGED |
                                                              VKT_NARROW | VKT_NARROW_ODD },
                                           .shape = more_shape,
                                           .record = more_record,
                                           .ref = more_ref,
                                           .cost = more_cost,
                                           .terms = vkt__update_terms,
                                           .sample = more_sample };

void vkt__optim_update_more(vkt_graph *g, const vkt__update_in *in, vkt_attr attr)
{
    vkt_tensor *list[N_IN] = {
        [THETA] = in->theta,   [GRAD] = in->grad,     [M] = in->m,          [V] = in->v,
        [D] = in->d,           [LAST] = in->last,     [STEP] = in->step,    [SCALARS] = in->scalars,
        [BLOCKS] = in->blocks, [GROUPS] = in->groups, [BESIDE] = in->shadow
    };
    vkt__node(g, &vkt__op_optim_update_more, list, N_IN, attr);
}
