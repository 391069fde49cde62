/* Private to src/data: one PNG, JPEG, BMP, GIF or WebP picture, from bytes. */
#ifndef VKT_DATA_PICTURE_H
#define VKT_DATA_PICTURE_H

#include "base/os.h"

enum { VKT__PICTURE_BYTES = 256 << 20 };

/* Whether a file is one, by its first bytes. Folders, pipes and devices are none. */
vkt_status vkt__picture_is(const char *path, bool *is);

/* What the header says, after checking that the file is whole and undamaged as far as it can tell,
 * and that its size is allowed: at most 16384 pixels wide or high, 64 million in all. Decodes
 * nothing but samples of 16 bits. FORMAT. */
typedef struct vkt__picture_size {
    uint32_t w, h; /* upright */
    bool color;
    uint32_t bits; /* of samples of 16 bits those that are used, 8 to 16; 0: they have 8 or less */
    bool alpha;    /* a PNG with transparency, which lies over white then */
    bool animated; /* its first frame is taken */
} vkt__picture_size;
vkt_status vkt__picture_look(const void *bytes, size_t n, const char *name, vkt__picture_size *out);

/* [h, w, channels] u8 of a picture, upright where EXIF says how it was taken; channels is 1 or 3.
 * bits: how many low bits samples of 16 bits use; the upper 8 of these are taken; 0: all 16.
 * least_w, least_h: it is wanted no larger: a JPEG may come at a half, a quarter or an eighth of
 * its size, both axes at least as long; 0: at its own size, as all others always. free(*out).
 * FORMAT, OOM_HOST. */
vkt_status vkt__picture_decode(const void *bytes, size_t n, const char *name, uint32_t channels,
                               uint32_t bits, uint32_t least_w, uint32_t least_h, uint32_t *w,
                               uint32_t *h, uint8_t **out);

/* The numbers of a PNG as it stores them, [h, w, channels]: of a palette the places in it, of fewer
 * than 8 bits 0 to 15. bytes are changed. free(*out). FORMAT: it is none, or has 16 bits;
 * OOM_HOST. */
vkt_status vkt__picture_numbers(void *bytes, size_t n, const char *name, uint32_t *w, uint32_t *h,
                                uint32_t *channels, uint8_t **out);

/* The same of a grey PNG of 8 or 16 bits a pixel, or of a palette, [h, w]; its alpha is left out.
 * *deep: it has 16; or NULL. FORMAT: it has colours. */
vkt_status vkt__picture_instances(void *bytes, size_t n, const char *name, uint32_t *w, uint32_t *h,
                                  bool *deep, uint16_t **out);

/* A rectangle of a picture in pixels. */
typedef struct vkt__box {
    uint32_t x, y, w, h;
} vkt__box;
/* The largest box in the middle of w x h that has the aspect ratio of to_w x to_h. */
vkt__box vkt__picture_middle(uint32_t w, uint32_t h, uint32_t to_w, uint32_t to_h);
/* The box of `from` [.., w, channels] into `to` [to_h, to_w, channels]: area average where it
 * shrinks, bilinear where it grows, each axis by its own rule. OOM_HOST. */
vkt_status vkt__picture_resize(const uint8_t *from, uint32_t w, vkt__box box, uint32_t channels,
                               uint8_t *to, uint32_t to_w, uint32_t to_h);

#endif
