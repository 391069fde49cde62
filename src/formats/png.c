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

static vkt_status no_room(const char *path, uint32_t w, uint32_t h)
{
    return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for the %ux%u PNG '%s'", w, h, path);
}

/* NULL: no memory. */
static uint8_t *deflated(uint32_t w, uint32_t h, uint32_t channels, const uint8_t *pixels, int *n)
{
    /* It filters the pixels, and deflates them into a buffer that is doubled. */
    void *room = malloc(4 * ((size_t)w * channels + 1) * h);
    free(room);
    return room ? stbi_write_png_to_mem(pixels, (int)(w * channels), (int)w, (int)h, (int)channels,
                                        n)
                : NULL;
}

/* Grey with alpha of 8 bits each has the same bytes: the header alone is another. */
vkt_status vkt__png_write_numbers(const char *path, uint32_t w, uint32_t h, const uint16_t *number)
{
    enum { CHUNK = 12, DEPTH = 24, KIND = 25, CRC = 29 };
    int n = 0;
    size_t count = (size_t)w * h;
    uint8_t *bytes = malloc(2 * count), *png = NULL;
    if (!bytes) return no_room(path, w, h);
    for (size_t i = 0; i < count; i++) {
        bytes[2 * i] = (uint8_t)(number[i] >> 8);
        bytes[2 * i + 1] = (uint8_t)number[i];
    }
    png = deflated(w, h, 2, bytes, &n);
    free(bytes);
    if (!png) return no_room(path, w, h);
    png[DEPTH] = 16;
    png[KIND] = 0;
    put_u32(png + CRC, (uint32_t)crc32(0, png + CHUNK, CRC - CHUNK));
    vkt_status st = write_signed(path, png, (size_t)n);
    STBIW_FREE(png);
    return st;
}

vkt_status vkt__png_write(const char *path, uint32_t w, uint32_t h, uint32_t channels,
                          const uint8_t *pixels)
{
    int n = 0;
    uint8_t *png = deflated(w, h, channels, pixels, &n);
    if (!png) return no_room(path, w, h);
    vkt_status st = write_signed(path, png, (size_t)n);
    STBIW_FREE(png);
    return st;
}
