/* What the rows of an optimizer's update share: factors for the twins, samples. */
#include "tensor/ops/optim/updates.h"

#include "tensor/graph/sample.h"

bool vkt__update_step_of(const struct vkt_step_block *b, const double *groups, const double *blocks,
                         uint64_t block, vkt__update_step *s)
{
    enum { GROUP = sizeof(struct vkt_group_params) / 4 };
    const double *group = groups + GROUP * (size_t)blocks[block];
    double lr_scale = group[offsetof(struct vkt_group_params, lr_scale) / 4],
           decay = group[offsetof(struct vkt_group_params, weight_decay) / 4];
    *s = (vkt__update_step) { (double)b->lr * lr_scale, decay, (double)b->adam_m, (double)b->adam_g,
                              (double)b->adam_v };
    return lr_scale != 0;
}

double vkt__update_terms(const vkt_node *n)
{
    return vkt__rule_at(n->attr.optim.rule)->terms;
}

/* ---- samples ---- */

static const vkt__update_case cases[] = {
    { "one", 1, VKT_HINT_UNIT, VKT_HINT_UNIT },
    { "three", 3, VKT_HINT_UNIT, VKT_HINT_UNIT },
    { "block", VKT_GROUP_BLOCK, VKT_HINT_UNIT, VKT_HINT_POSITIVE },
    { "block + 1", VKT_GROUP_BLOCK + 1, VKT_HINT_UNIT, VKT_HINT_POSITIVE },
    { "many workgroups", 70144, VKT_HINT_POSITIVE, VKT_HINT_POSITIVE },
    { "frozen groups", 8192, VKT_HINT_UNIT, VKT_HINT_CYCLE },
    { "not ok", 2500, VKT_HINT_INDEX, VKT_HINT_POSITIVE },
    { "empty", 0, VKT_HINT_UNIT, VKT_HINT_UNIT },
    { "f16 shadow", 2500, VKT_HINT_UNIT, VKT_HINT_POSITIVE, VKT_F16 },
    { "bf16 shadow, odd", 773, VKT_HINT_UNIT, VKT_HINT_CYCLE, VKT_BF16 },
    { "bf16 shadow, not ok", 512, VKT_HINT_INDEX, VKT_HINT_POSITIVE, VKT_BF16 },
};

const vkt__update_case *vkt__update_case_at(uint32_t i)
{
    return i < VKT_COUNT(cases) ? &cases[i] : NULL;
}

enum { N_GROUPS = 5 };

vkt_tensor *vkt__scalars_sample(vkt_graph *g, uint32_t hint)
{
    return vkt__sample(g, vkt_shape1(VKT__N_SCALARS), VKT_F32, hint, 1);
}

vkt_tensor *vkt__blocks_sample(vkt_graph *g, uint32_t blocks)
{
    return vkt__sample(g, vkt_shape1(blocks), VKT_U32, VKT_HINT_INDEX, N_GROUPS);
}

vkt_tensor *vkt__groups_sample(vkt_graph *g, uint32_t hint)
{
    return vkt__sample(g, vkt_shape2(N_GROUPS, sizeof(struct vkt_group_params) / 4), VKT_F32, hint,
                       3);
}

vkt__update_in vkt__update_sample(vkt_graph *g, const vkt__update_case *c)
{
    vkt__update_in in = { .theta = vkt__sample1(g, c->n),
                          .scalars = vkt__scalars_sample(g, c->scalars),
                          .step = vkt_step(g),
                          .blocks = vkt__blocks_sample(g, (uint32_t)vkt__group_blocks(c->n)),
                          .groups = vkt__groups_sample(g, c->groups) };
    if (c->shadow) in.shadow = vkt__sample(g, vkt_shape1(c->n), c->shadow, VKT_HINT_NORMAL, 0);
    return in;
}
