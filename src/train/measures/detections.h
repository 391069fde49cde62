/* How good found boxes are: average precision, as COCO computes it. Source: the COCO detection
 * evaluation (cocodataset.org), whose rules these are: boxes of one class by falling score, each
 * takes the free object that it overlaps most, if by the threshold; precision at 101 recalls, each
 * the highest from there on; at most 100 of a class and picture. */
#ifndef VKT_TRAIN_DETECTIONS_H
#define VKT_TRAIN_DETECTIONS_H

#include "comm/comm.h"
#include "data/boxes/objects.h"

typedef struct vkt__found {
    float score;
    uint32_t class;
    double box[4]; /* left, top, right, bottom */
} vkt__found;

#define VKT__FOUND_SHOWN                                                                           \
    0.3f /* from which score on a box is predicted, where one answer is wanted */

/* All that was found so far. */
typedef struct vkt__detections {
    uint32_t n_classes;
    uint64_t *n_objects;           /* [n_classes] that are there */
    uint64_t *n_shown, *n_correct; /* [n_classes] found with VKT__FOUND_SHOWN or more; of these
                                      those that overlap an object by half */
    struct vkt__detection *item;
    size_t n, cap;
} vkt__detections;

vkt__detections *vkt__detections_create(uint32_t n_classes);
void vkt__detections_destroy(vkt__detections **d);
/* found [n], in whichever order; of equal scores the first counts as the better. picture: its
 * number among all, which orders equal scores of several. OOM_HOST. */
vkt_status vkt__detections_add(vkt__detections *d, uint64_t picture, const vkt__found *found,
                               uint32_t n, const vkt__object *object, uint32_t n_objects);
/* The only thing of a picture and what was found of it, of class 0, which overlap by `alike`. */
void vkt__detections_add_alone(vkt__detections *d, uint64_t picture, float score, double alike);
/* Those of all ranks, in place of this one's. COMM, OOM_HOST. */
vkt_status vkt__detections_gather(vkt_comm *c, vkt__detections *d);
/* Means over the classes that have objects: over IoU of 0.50 to 0.95 by 0.05, and of 0.50. 0: there
 * is no object. class_ap [n_classes] gets the same by class. */
typedef struct vkt__detection_scores {
    double map, map50;
} vkt__detection_scores;
vkt__detection_scores vkt__detections_measure(vkt__detections *d, double *class_ap,
                                              double *class_ap50);
/* Share of what both cover in what either covers. */
double vkt__box_iou(const double a[4], const double b[4]);

#endif
