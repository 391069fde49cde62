/* Private to src/data: WebP pictures, decoded by the system's libwebp, which is loaded when the
 * first one comes: a program without any needs none. An animation gives its first frame. Sources:
 * the WebP container specification; RFC 6386, 9.1 (VP8); the WebP lossless specification, 3
 * (VP8L). */
#ifndef VKT_DATA_WEBP_H
#define VKT_DATA_WEBP_H

#include "base/os.h"

bool vkt__webp_is(const uint8_t *p, size_t n);
/* What is wrong with the file as far as its chunks tell; NULL: nothing. */
const char *vkt__webp_damage(const uint8_t *p, size_t n);
/* An undamaged file's size, and the TIFF of its EXIF chunk; *tiff_n 0: it has none. */
void vkt__webp_size(const uint8_t *p, size_t n, uint32_t *w, uint32_t *h);
const uint8_t *vkt__webp_exif(const uint8_t *p, size_t n, size_t *tiff_n);
/* Whether the library is there. */
bool vkt__webp_can(void);
/* [h, w, 4] RGBA of an undamaged file: room for vkt__webp_size's. false: its data is damaged. */
bool vkt__webp_decode(const uint8_t *p, size_t n, uint8_t *rgba);

#endif
