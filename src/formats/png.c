/* png.h, by stb. */
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

#include "formats/png.h"

vkt_status vkt__png_write(const char *path, uint32_t w, uint32_t h, uint32_t channels,
                          const uint8_t *pixels)
{
    int n = 0;
    uint8_t *png =
        stbi_write_png_to_mem(pixels, (int)(w * channels), (int)w, (int)h, (int)channels, &n);
    if (!png)
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the %ux%u PNG '%s'", w, h, path);
    vkt_status st = vkt__file_replace(path, png, (size_t)n);
    STBIW_FREE(png);
    return st;
}
