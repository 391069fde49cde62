/* What a detector finds on pictures, in their own pixels, and as files: texts as YOLO's, and PNGs
 * with the boxes drawn. */
#ifndef VKT_TRAIN_PREDICT_BOXES_H
#define VKT_TRAIN_PREDICT_BOXES_H

#include "data/dataset.h"
#include "train/detect/found.h"
#include "train/seen_picture.h"
#include "vktrain/train.h"

typedef struct vkt__box_finder {
    vkt__finder finder;
    float least_score;  /* 0: VKT__FOUND_SHOWN */
    vkt_found_box *box; /* [VKT__FOUND_MOST] of the last picture */
    uint32_t n;
    vkt__seen_picture seen; /* the last picture */
} vkt__box_finder;

/* Those that `out` means, on a picture of w x h pixels, with a score that one answer is given for,
 * best first. */
void vkt__boxes_found(vkt__box_finder *f, const vkt_dataset *data, const float *out, uint32_t w,
                      uint32_t h);
/* Says of the picture `name` that there may be more than these: by their number, or where too many
 * cells have such a score. The first pictures are named, the finder's end says how many there
 * were. */
void vkt__boxes_say_full(vkt__box_finder *f, const char *name);
/* Those of example `index` of the split test. IO, FORMAT. */
vkt_status vkt__boxes_predict(vkt__box_finder *f, const vkt_dataset *data, uint64_t index,
                              const float *out);
/* path.txt and path.png of the last picture. IO. */
vkt_status vkt__boxes_write(const vkt__box_finder *f, const char *path);
void vkt__box_finder_finish(vkt__box_finder *f);

#endif
