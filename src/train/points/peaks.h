/* The points that heatmaps mean. */
#ifndef VKT_TRAIN_PEAKS_H
#define VKT_TRAIN_PEAKS_H

#include "train/measures/point_scores.h"

/* heat [h, w, n] of cells of `stride` pixels -> point [n]: of each its highest cell, the first of
 * equal ones, and between cells, along each axis, where the parabola through the logarithms of
 * three has its top, which of a Gaussian is exact; beside an edge the cell's middle. Source: Zhang
 * et al. 2019 (arXiv 1910.06278), by axis and without smoothing.
 * Score: the height, 0 to 1. Pixels are those of the picture that the model sees. */
void vkt__peaks(const float *heat, uint32_t h, uint32_t w, uint32_t n, uint32_t stride,
                vkt__point *point);

#endif
