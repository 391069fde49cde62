/* Parameter groups: from name patterns to a table by blocks of the flat buffer. */
#include <math.h>

#include "optim/optim_flat.h"
#include "shaders/params.h"

static struct vkt_group_params group_of(const vkt_optim_desc *desc, const vkt_param *p,
                                        size_t *which)
{
    struct vkt_group_params v = { 1, p->decay || desc->decay_all ? desc->weight_decay : 0 };
    for (*which = 0; *which < desc->n_groups; ++*which) {
        const vkt_optim_group *g = &desc->groups[*which];
        if (!vkt__glob(g->pattern, p->name)) continue;
        v.lr_scale = g->lr_scale;
        if (!isnan(g->weight_decay)) v.weight_decay = g->weight_decay;
        break;
    }
    return v;
}

bool vkt__optim_is_own(const vkt_optim_desc *desc, const vkt_param *p, bool hidden)
{
    vkt__whole whole = vkt__rule_at((uint32_t)desc->rule)->whole;
    return whole == VKT__WHOLE_ORTHOGONAL ? p->shape.rank >= 2 && hidden
                                          : whole == VKT__WHOLE_LINES;
}

static uint32_t index_of(vkt__groups *t, struct vkt_group_params v)
{
    size_t i = 0;
    while (i < t->n_groups &&
           (t->groups[i].lr_scale != v.lr_scale || t->groups[i].weight_decay != v.weight_decay))
        i++;
    if (i == t->n_groups) {
        t->groups = vkt__grow(t->groups, t->n_groups, &t->cap_groups, sizeof *t->groups);
        t->groups[t->n_groups++] = v;
    }
    return (uint32_t)i;
}

static void add_live(vkt__groups *t, uint64_t offset, uint64_t count)
{
    vkt__range *last = t->n_live ? &t->live[t->n_live - 1] : NULL;
    if (last && last->offset + last->count == offset) {
        last->count += count;
        return;
    }
    t->live = vkt__grow(t->live, t->n_live, &t->cap_live, sizeof *t->live);
    t->live[t->n_live++] = (vkt__range) { offset, count };
}

static void warn_unused(const vkt_optim_desc *desc, const vkt__flat *flat, const size_t *used)
{
    for (size_t i = 0; i < desc->n_groups; i++) {
        if (used[i]) continue;
        const char *first = NULL;
        for (size_t k = 0; k < flat->n && !first; k++)
            if (vkt__glob(desc->groups[i].pattern, flat->params[k].name))
                first = flat->params[k].name;
        if (first)
            vkt_log(VKT_LOG_WARN, "optim",
                    "group '%s' has no effect: earlier groups already match '%s' and all its other "
                    "parameters",
                    desc->groups[i].pattern, first);
        else
            vkt_log(VKT_LOG_WARN, "optim",
                    "group '%s' matches no parameter; the first one's name is '%s'",
                    desc->groups[i].pattern, flat->n ? flat->params[0].name : "");
    }
}

void vkt__groups_init(vkt__groups *t, const vkt_optim_desc *desc, const vkt__flat *flat)
{
    static_assert(VKT_PARAM_ALIGN % VKT_GROUP_BLOCK == 0, "a block belongs to one parameter");
    *t = (vkt__groups) { .n_blocks = (flat->count + VKT_GROUP_BLOCK - 1) / VKT_GROUP_BLOCK };
    t->blocks = vkt__alloc(t->n_blocks * sizeof *t->blocks);
    size_t *used = vkt__alloc((desc->n_groups + 1) * sizeof *used);
    const vkt__rule *rule = vkt__rule_at((uint32_t)desc->rule);
    for (size_t i = 0; i < flat->n; i++) {
        const vkt_param *p = &flat->params[i];
        size_t which;
        struct vkt_group_params v = group_of(desc, p, &which);
        if (rule->rest && !vkt__optim_is_own(desc, p, !flat->hidden || flat->hidden[i]))
            v.lr_scale *= desc->rest_lr;
        used[which]++;
        uint32_t group = index_of(t, v);
        uint64_t first = p->offset / VKT_GROUP_BLOCK,
                 end = (p->offset + VKT_MAX(p->count, p->room) + VKT_GROUP_BLOCK - 1) /
                       VKT_GROUP_BLOCK;
        VKT_ASSERT(p->offset % VKT_GROUP_BLOCK == 0 && p->offset + p->count <= flat->count);
        for (uint64_t b = first; b < end; b++) t->blocks[b] = group;
        /* With the padding behind it, which is zero, so that neighbours join. */
        if (v.lr_scale != 0)
            add_live(t, p->offset, VKT_MIN(end * VKT_GROUP_BLOCK, flat->count) - p->offset);
    }
    if (t->n_groups == 0) index_of(t, (struct vkt_group_params) { 1, 0 });
    warn_unused(desc, flat, used);
    free(used);
}

void vkt__groups_finish(vkt__groups *t)
{
    free(t->blocks);
    free(t->groups);
    free(t->live);
    *t = (vkt__groups) { 0 };
}
