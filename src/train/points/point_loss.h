/* What heatmaps of points cost. */
#ifndef VKT_TRAIN_POINT_LOSS_H
#define VKT_TRAIN_POINT_LOSS_H

#include "vktrain/tensor.h"

#define VKT__HEAT_SIGMA 2.0f /* cells */

/* out [B, H, W, points], of cells of `stride` pixels; y [B, (points + 1) x 3], a target as
 * data/points/poses.h has it; w [B]  ->  [B], each example's loss by its weight: over the points
 * that are there, hidden ones too, the mean of the squared differences to a Gaussian of height 1
 * around the point, summed over the cells, in units of what the Gaussian alone has: 1 where nothing
 * is found. Sources: heatmaps, Tompson et al. 2014 (arXiv 1406.2984); the deviation of 2 cells,
 * Xiao et al. 2018 (1804.06208); centres between cells, Zhang et al. 2019 (1910.06278). */
vkt_tensor *vkt__point_loss(vkt_graph *g, vkt_tensor *out, vkt_tensor *y, vkt_tensor *w,
                            uint32_t stride);

#endif
