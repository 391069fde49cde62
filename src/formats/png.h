/* PNG files out of pixels; for the layers above too. */
#ifndef VKT_FORMATS_PNG_H
#define VKT_FORMATS_PNG_H

#include "base/os.h"

/* pixels [h, w, channels] u8, channels 1 (grey) or 3 (RGB); replaces the file whole. IO, OOM_HOST.
 */
vkt_status vkt__png_write(const char *path, uint32_t w, uint32_t h, uint32_t channels,
                          const uint8_t *pixels);
/* number [h, w] as grey of 16 bits a pixel. IO, OOM_HOST. */
vkt_status vkt__png_write_numbers(const char *path, uint32_t w, uint32_t h, const uint16_t *number);

#endif
