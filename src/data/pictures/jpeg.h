/* Private to src/data: JPEG pictures by the system's libturbojpeg, which is loaded when the first
 * one is read: several times as fast as stb, and where a picture will be small it need not be
 * decoded large. */
#ifndef VKT_DATA_JPEG_H
#define VKT_DATA_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An undamaged file's pixels [*h, *w, *have], have: 1 or 3, as it stores them (EXIF is not
 * looked at): a half, a quarter or an eighth of its size where that is at least least_w x least_h,
 * both not 0. The mean of a block's pixels is kept. false: there is no such library, or it has
 * something to say against the file, or it is none that it makes RGB of (CMYK), or memory is
 * short; stb decides then. free(*out). */
bool vkt__jpeg_decode(const uint8_t *p, size_t n, uint32_t least_w, uint32_t least_h, int *w,
                      int *h, int *have, uint8_t **out);
/* Whether the library is there. */
bool vkt__jpeg_can(void);

#endif
