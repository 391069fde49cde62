/* How many instances are found: each is a set of pixels. */
#ifndef VKT_TRAIN_INSTANCE_SCORES_H
#define VKT_TRAIN_INSTANCE_SCORES_H

#include "train/measures/eval_sums.h"

/* Adds one picture of n pixels: to class_count its instances, to class_predicted those of `found`
 * [n], to class_correct the pairs of one each whose IoU is at least 0.5. target: [n,
 * VKT__INSTANCE_NUMBERS], of each pixel first the number of its instance. OOM_HOST. */
vkt_status vkt__instances_add(vkt__eval_sums *s, const vkt_label *target, const uint16_t *found,
                              size_t n);
/* TP / (TP + FP + FN) over all pictures together: what Cellpose and StarDist call the average
 * precision at IoU 0.5; there is no ranking by scores, as in COCO's. NAN: not of instances, or
 * there is none and none is found. Sources: Stringer et al. 2021, Schmidt et al. 2018 (arXiv
 * 1806.03535); StarDist's matching_dataset adds up all pictures, too, Cellpose's
 * average_precision is each picture's. */
double vkt__instance_ap50(const vkt__eval_sums *s);

#endif
