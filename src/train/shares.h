/* Which part of a batch each of several ranks takes: rows that follow one another, so that an
 * example's place in the batch, on which its randomness depends, is the same with any shares. */
#ifndef VKT_TRAIN_SHARES_H
#define VKT_TRAIN_SHARES_H

#include "vktrain/recipe.h"

/* Rows [row, row + rows) of a batch of n; all of it without ranks. */
typedef struct vkt__share {
    uint32_t row, rows;
} vkt__share;

/* By config->shares, or equal parts. */
vkt__share vkt__share_of(const vkt_config *c, uint32_t n);
/* The same of another rank. */
vkt__share vkt__share_of_rank(const vkt_config *c, uint32_t n, uint32_t rank);
/* Shares by speed: ms[r] is what rank r took for rows[r] examples. Equal ones where a step would
 * not be 5% shorter by it. out [ranks]. */
void vkt__shares_by_speed(const double *ms, const uint32_t *rows, uint32_t ranks, uint32_t *out);

#endif
