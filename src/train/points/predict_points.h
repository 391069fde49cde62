/* What a model of points finds on pictures, in their own pixels, and PNGs with the points drawn. */
#ifndef VKT_TRAIN_PREDICT_POINTS_H
#define VKT_TRAIN_PREDICT_POINTS_H

#include "data/dataset.h"
#include "train/measures/point_scores.h"
#include "train/seen_picture.h"
#include "vktrain/train.h"

typedef struct vkt__point_finder {
    double least_score;     /* those below are not drawn */
    vkt__point *peak;       /* [n] on the picture that the model sees */
    vkt_found_point *point; /* [n] of the last picture */
    uint32_t n;
    const vkt__schema *of;  /* the data set's of the last picture, whose limbs are drawn */
    vkt__seen_picture seen; /* the last picture, or the part of it that was seen */
    uint32_t from[2];       /* where that part begins: x, y */
} vkt__point_finder;

/* Those that `out` means, on a picture of w x h pixels. */
void vkt__points_found(vkt__point_finder *f, const vkt_dataset *data, const float *out, uint32_t w,
                       uint32_t h);
/* Those of example `index` of the split test. IO, FORMAT. */
vkt_status vkt__points_predict(vkt__point_finder *f, const vkt_dataset *data, uint64_t index,
                               const float *out);
/* path.png of the last picture, or of the part that was seen. IO. */
vkt_status vkt__points_write(const vkt__point_finder *f, const char *path);
void vkt__point_finder_finish(vkt__point_finder *f);

#endif
