/* A model of masks or pictures over a picture that is larger than what it sees: at the picture's
 * own pixels, tile by tile. */
#ifndef VKT_TRAIN_TILES_H
#define VKT_TRAIN_TILES_H

#include "train/measures/eval_sums.h"
#include "train/session.h"

typedef struct vkt__tiled {
    uint32_t w, h, n; /* of the result; h x w may be a multiple of the picture's */
    float *value;     /* [h, w, n] probabilities of classes, or the other picture */
    float *weight;    /* [h, w] */
} vkt__tiled;

/* ARG: such data, or that overlap, has no tiles. */
vkt_status vkt__tiles_check(const vkt_dataset_info *info, uint32_t overlap);
/* pixels [h, w, C] of a picture -> *out. Tiles are of the model's size and overlap by `overlap`
 * pixels, the last ones by more, so that none reaches beyond the picture; of a smaller picture the
 * edge is repeated. The outer three eighths of an overlap do not count: the net sees nothing beyond
 * its tile there. Between them the two tiles are blended. A net that sees no further than three
 * eighths of the overlap in each direction gives the same as for the whole picture. */
vkt_status vkt__tiles_run(vkt__session *s, const char *schema, const uint8_t *pixels, uint32_t w,
                          uint32_t h, uint32_t overlap, vkt__tiled *out);
/* As vkt__evaluate, over all of the split, at the sizes of masks and pictures: the loss is the
 * cross-entropy of pixels; pictures have none, NAN: the recipe's is of pictures of the model's
 * size. FORMAT: the two sizes differ. ARG, IO: nothing counts, nothing can be read. */
vkt_status vkt__tiles_evaluate(vkt__session *s, const char *schema, const vkt_dataset *data,
                               vkt_split split, uint32_t overlap, vkt__eval_sums *sums);
void vkt__tiled_finish(vkt__tiled *t);

#endif
