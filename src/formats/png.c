/* png.h, by stb, which does not ask whether it got memory. */
#include "base/memory.h"

static void *regrow(void *p, size_t old, size_t bytes)
{
    void *q = vkt__alloc(bytes);
    if (p) memcpy(q, p, old);
    free(p);
    return q;
}

#define STBIW_MALLOC(bytes) vkt__alloc(bytes)
#define STBIW_REALLOC_SIZED(p, old, bytes) regrow(p, old, bytes)
#define STBIW_FREE(p) free(p)
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

#include "formats/png.h"

vkt_status vkt__png_write(const char *path, uint32_t w, uint32_t h, uint32_t channels,
                          const uint8_t *pixels)
{
    int n = 0;
    /* It filters the pixels, and deflates them into a buffer that is doubled. */
    void *room = malloc(4 * ((size_t)w * channels + 1) * h);
    free(room);
    uint8_t *png =
        room ? stbi_write_png_to_mem(pixels, (int)(w * channels), (int)w, (int)h, (int)channels, &n)
             : NULL;
    if (!png)
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the %ux%u PNG '%s'", w, h, path);
    vkt_status st = vkt__file_replace(path, png, (size_t)n);
    STBIW_FREE(png);
    return st;
}
