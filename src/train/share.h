/* What part of each batch is a rank's. */
#ifndef VKT_TRAIN_SHARE_H
#define VKT_TRAIN_SHARE_H

#include "vktrain/recipe.h"

/* Rows [row, row + rows) of a batch of n; all of it without ranks. */
typedef struct vkt__share {
    uint32_t row, rows;
} vkt__share;

static inline vkt__share vkt__share_of(const vkt_config *c, uint32_t n)
{
    if (c->ranks < 2) return (vkt__share) { 0, n };
    uint64_t begin = (uint64_t)n * c->rank / c->ranks, end = (uint64_t)n * (c->rank + 1) / c->ranks;
    return (vkt__share) { (uint32_t)begin, (uint32_t)(end - begin) };
}

#endif
