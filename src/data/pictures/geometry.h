/* Private to src/data: how augmentation moves a picture, as one map: of pixels, and of whatever
 * lies on them. It is recorded while pixels are drawn, then applied to masks and boxes. Knows no
 * file. */
#ifndef VKT_DATA_GEOMETRY_H
#define VKT_DATA_GEOMETRY_H

#include "data/pictures/picture.h"
#include "data/pictures/picture_ops.h"

enum { VKT__TILES = 4 };

/* A part of a picture, as the model would see that, which fills a part of what it does see. */
typedef struct vkt__tile {
    uint32_t at; /* example of the part of the data */
    vkt__box from, to;
} vkt__tile;

/* In this order: the box of the source becomes the picture, its places are warped, it is shifted,
 * then mirrored. Zeroed, it is the identity of a source of the picture's own size. */
typedef struct vkt__moves {
    bool crops, warps;
    vkt__box box;     /* crops: of the source at its own size; else all of it */
    uint32_t n_tiles; /* in place of the box: parts of several pictures, each with its own boxes */
    vkt__tile tile[VKT__TILES];
    vkt__warp warp;
    int64_t dx, dy;  /* pixels of the picture; past its edge the edge is repeated */
    bool flip, turn; /* left and right, upside down */
    /* Another example that is blended in, and how that was moved; NULL: none is. The thread's
     * scratch has it. */
    const struct vkt__moves *with;
    uint64_t other;
} vkt__moves;
/* How many pictures one is made of. */
uint32_t vkt__moves_pictures(const vkt__moves *moves);

/* Where the middle of pixel (x, y) of the result, w x h, comes from in a source of `from_w` x
 * `from_h`: the pixel there. */
void vkt__moves_back(const vkt__moves *m, uint32_t w, uint32_t h, uint32_t from_w, uint32_t from_h,
                     uint32_t x, uint32_t y, uint32_t *from_x, uint32_t *from_y);
/* Where a place in a picture of w x h comes to lie in one of W x H, in pixels from the upper left
 * corner; of all of it, as large as it can be, where nothing was cropped. moves NULL: it is not
 * moved. */
void vkt__moves_forth(const vkt__moves *m, uint32_t w, uint32_t h, uint32_t W, uint32_t H,
                      double *x, double *y);
/* The nearest pixel of each: from [from_h, from_w, channels] to [h, w, channels]. moves NULL: it is
 * resized alone. */
void vkt__moves_apply(const vkt__moves *moves, const uint8_t *from, uint32_t from_w,
                      uint32_t from_h, uint32_t channels, uint32_t w, uint32_t h, uint8_t *to);

/* Where a picture of w x h lies in one of to_w x to_h that shows all of it, as large as it can be,
 * in the middle. */
vkt__box vkt__letterbox(uint32_t w, uint32_t h, uint32_t to_w, uint32_t to_h);

#endif
