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

#include <zlib.h>

#include "formats/png.h"

static void put_u32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* After the header, a chunk of text that says which program wrote the picture. */
static vkt_status write_signed(const char *path, const uint8_t *png, size_t n)
{
    enum { HEADER = 33, TEXT = 16, CHUNK = TEXT + 12 };
    static const char text[TEXT + 5] = "tEXtSoftware\0vktrain";
    uint8_t *all = vkt__alloc(n + CHUNK), *chunk = all + HEADER;
    memcpy(all, png, HEADER);
    put_u32(chunk, TEXT);
    memcpy(chunk + 4, text, 4 + TEXT);
    put_u32(chunk + 8 + TEXT, (uint32_t)crc32(0, (const Bytef *)text, 4 + TEXT));
    memcpy(chunk + CHUNK, png + HEADER, n - HEADER);
    vkt_status st = vkt__file_replace(path, all, n + CHUNK);
    vkt_free(all);
    return st;
}

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
    vkt_status st = write_signed(path, png, (size_t)n);
    STBIW_FREE(png);
    return st;
}
