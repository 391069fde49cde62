/* How near found points are to those that are there. Both in pixels of one picture; targets as
 * data/points/poses.h has them. */
#ifndef VKT_TRAIN_POINT_SCORES_H
#define VKT_TRAIN_POINT_SCORES_H

#include "train/measures/eval_sums.h"

typedef struct vkt__point {
    double x, y, score;
} vkt__point;

#define VKT__PCK 0.1          /* of the longer side: a point within it is right */
#define VKT__POINT_SIGMA 0.05 /* of the root of the area, of points that are not COCO's */

/* How exactly people place each of the points, as a share of the root of the area: of COCO's 17 by
 * their names, in their order, COCO's; of all others VKT__POINT_SIGMA. sigma [n]. */
void vkt__point_sigmas(const char *const *name, uint32_t n, double *sigma);
/* Object keypoint similarity: over the points that are there, the mean of exp(-d^2 / (2 area (2
 * sigma)^2)). NAN: none is there, or it has no size. Source: the COCO keypoint evaluation
 * (cocodataset.org). */
double vkt__oks(const vkt_label *target, const vkt__point *found, const double *sigma, uint32_t n);

/* Adds one example: to class_count the points that are there, to class_correct those within
 * VKT__PCK of the longer side, to class_error their distances; and its similarity, for the average
 * precision, by the mean of its points' scores. target [n_classes + 1, 3]. */
void vkt__points_add(vkt__eval_sums *s, uint64_t example, const vkt_label *target,
                     const vkt__point *found);
/* Share of the points that are right; mean distance in pixels of the picture that the model sees.
 * NAN: not of points, or none is there. */
double vkt__pck(const vkt__eval_sums *s);
double vkt__point_error(const vkt__eval_sums *s);

#endif
