/* How several ranks cut the flat gradient for its exchange. Backward makes the last parameters'
 * gradients first, so all goes from the end to the beginning: the same order on every rank,
 * whatever its device and plan are. */
#ifndef VKT_TRAIN_BUCKETS_H
#define VKT_TRAIN_BUCKETS_H

#include "optim/optim_flat.h"

typedef struct vkt__buckets {
    vkt__range *whole; /* [n_whole] of whole parameters: what backward finishes together */
    uint32_t n_whole;
    vkt__range *pieces; /* [n_pieces] of these: what is summed over the ranks by one job each */
    uint32_t n_pieces;
} vkt__buckets;

/* Cuts the trained part of the model's flat gradient. least: elements of a bucket, except the last
 * one; raised where there would be more than `most` pieces. */
vkt__buckets *vkt__buckets_create(const vkt_model *model, uint64_t least, uint32_t most);
void vkt__buckets_destroy(vkt__buckets **b);

#endif
