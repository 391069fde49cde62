/* Private to src/data: how a camera was held, by the one tag of EXIF that says so. */
#ifndef VKT_DATA_EXIF_H
#define VKT_DATA_EXIF_H

#include "vktrain/base.h"

/* 1 to 8 as EXIF numbers them; 1, as the picture is stored, where a JPEG or PNG does not say, or
 * says it in a way that can't be read. */
uint32_t vkt__exif_orientation(const uint8_t *picture, size_t n);
/* Whether width and height change places. */
static inline bool vkt__exif_swaps(uint32_t orientation)
{
    return orientation >= 5;
}
/* The picture upright: from [h, w, channels] as stored, to [w, h, channels] if it swaps, else [h,
 * w, channels]. */
void vkt__exif_turn(uint32_t orientation, const uint8_t *from, uint32_t w, uint32_t h,
                    uint32_t channels, uint8_t *to);

#endif
