/* What the rows of an optimizer's update share: the scalars and factors that their twins read, and
 * the edges that each is tried at. What a rule computes is rules.h's. */
#ifndef VKT_TENSOR_UPDATES_H
#define VKT_TENSOR_UPDATES_H

#include "shaders/params.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/optim/rules.h"

/* A field of struct vkt_scalars as an element of its tensor. */
#define VKT__SCALAR(field) (offsetof(struct vkt_scalars, field) / 4)
enum { VKT__N_SCALARS = sizeof(struct vkt_scalars) / 4 };

static inline uint64_t vkt__group_blocks(uint64_t count)
{
    return (count + VKT_GROUP_BLOCK - 1) / VKT_GROUP_BLOCK;
}
/* Workgroups whose invocations take four elements each. */
static inline uint64_t vkt__update_groups(uint64_t count, uint32_t wg)
{
    return (count + 4ull * wg - 1) / (4ull * wg);
}

/* The factors of a block's elements in this step; false: its group is frozen. groups, blocks: as
 * the row's inputs hold them. */
bool vkt__update_step_of(const struct vkt_step_block *b, const double *groups, const double *blocks,
                         uint64_t block, vkt__update_step *s);
/* Roundings of the rule of n's attributes. */
double vkt__update_terms(const vkt_node *n);

/* A case that every update is tried with. scalars: the hint of sample values, POSITIVE clip factors
 * (and ok), UNIT all of them, INDEX not ok; groups: POSITIVE scale and decay, UNIT, CYCLE 0 to 2,
 * so that some are frozen and some do not decay. */
typedef struct vkt__update_case {
    const char *name;
    uint32_t n, scalars, groups;
    vkt_dtype shadow;
} vkt__update_case;
/* NULL past the last. */
const vkt__update_case *vkt__update_case_at(uint32_t i);
/* Scalars, blocks, groups and shadow of a case; the step block. */
vkt__update_in vkt__update_sample(vkt_graph *g, const vkt__update_case *c);
vkt_tensor *vkt__scalars_sample(vkt_graph *g, uint32_t hint);
vkt_tensor *vkt__blocks_sample(vkt_graph *g, uint32_t blocks);
vkt_tensor *vkt__groups_sample(vkt_graph *g, uint32_t hint);

#endif
