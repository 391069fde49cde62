/* What masks, centres and offsets of instances cost. */
#ifndef VKT_TRAIN_INSTANCE_LOSS_H
#define VKT_TRAIN_INSTANCE_LOSS_H

#include "vktrain/tensor.h"

/* Numbers of a pixel that a model gives: the logit of being on an instance, how near a centre is,
 * and how far right and down of its middle the centre of its own instance lies, in pixels. */
enum {
    VKT__INSTANCE_MASK,
    VKT__INSTANCE_HEAT,
    VKT__INSTANCE_RIGHT,
    VKT__INSTANCE_DOWN,
    VKT__INSTANCE_OUTPUTS
};

/* out [B, H, W, 4]; y [B, H x W x 4], a target as data/pictures/instance_map.h has it; w [B]  ->
 * [B], each example's loss by its weight, the sum of three: the binary cross-entropy of the mask,
 * mean over the pixels; the squared differences to the heat map, in units of the map's own squares,
 * 1 where nothing is found; and on instances the absolute differences of the offsets, in units of
 * the offsets themselves, 1 where all are 0. Source of the parts: Cheng et al. 2020 (arXiv
 * 1911.10194), whose fixed weights suit objects of one size. */
vkt_tensor *vkt__instance_loss(vkt_graph *g, vkt_tensor *out, vkt_tensor *y, vkt_tensor *w);

#endif
