/* What a detector's output costs: two parts for each cell. */
#ifndef VKT_TRAIN_DETECT_LOSS_H
#define VKT_TRAIN_DETECT_LOSS_H

#include "data/boxes/cells.h"
#include "vktrain/tensor.h"

#define VKT__DETECT_OTHERS 0.75f /* weight of classes that are not there */

/* out [B, cells, 4 + classes]; y [B, cells x 5]; w [B]  ->  [B], each picture's loss by its weight:
 * (classes + boxes) / max(1, cells that find something). Boxes: 1 - GIoU over these cells. Classes,
 * of all cells: for the class that is there q times the cross-entropy of p and q, where q is the
 * box's IoU and has no gradient; for all others 0.75 p^2 times that of p and 0. Sources: GIoU,
 * Rezatofighi et al. 2019 (arXiv 1902.09630); varifocal loss, Zhang et al. 2020 (2008.13367); a
 * mean by picture, as torchvision's RetinaNet. */
vkt_tensor *vkt__detect_loss(vkt_graph *g, vkt_tensor *out, vkt_tensor *y, vkt_tensor *w);

#endif
