/* What a model of instances finds on pictures, in their own pixels: a box around each, and as files
 * PNGs of their numbers and of the picture with each in a colour. */
#ifndef VKT_TRAIN_PREDICT_INSTANCES_H
#define VKT_TRAIN_PREDICT_INSTANCES_H

#include "data/dataset.h"
#include "train/instances/instance_groups.h"
#include "train/seen_picture.h"
#include "vktrain/train.h"

typedef struct vkt__instance_finder {
    vkt__instance_groups groups;
    vkt_found_box *box; /* [n] of the last picture, in the order of their numbers from 1 on */
    uint32_t n;
    size_t cap;
    vkt__seen_picture seen; /* the last picture */
} vkt__instance_finder;

/* Those that `out` means, on a picture of w x h pixels. OOM_HOST. */
vkt_status vkt__instances_found(vkt__instance_finder *f, const vkt_dataset *data, const float *out,
                                uint32_t w, uint32_t h);
/* Says of the picture `name` that it has more centres than a mask can number. The first ones are
 * named, the finder's end says how many there were. */
void vkt__instances_say_full(vkt__instance_finder *f, const char *name);
/* Those of example `index` of the split test. IO, FORMAT, OOM_HOST. */
vkt_status vkt__instances_predict(vkt__instance_finder *f, const vkt_dataset *data, uint64_t index,
                                  const float *out);
/* path.png, of 16 bits a pixel, and path-overlay.png of the last picture. IO, OOM_HOST. */
vkt_status vkt__instances_write(const vkt__instance_finder *f, const vkt_dataset *data,
                                const char *path);
void vkt__instance_finder_finish(vkt__instance_finder *f);

#endif
