/* One PNG, JPEG or BMP picture as an example: decoded and resized by stb, which knows neither
 * damage nor limits of its own, so both are checked here first. Rules: 16-bit samples keep their
 * upper byte; alpha is composited over white; colour becomes grey by BT.601's luma, (77 R + 150 G +
 * 29 B) / 256; grey becomes colour by copying; another size is resized to the model's without
 * regard to the aspect ratio, and said so. */
#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_MAX_DIMENSIONS 16384
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb_image.h>
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb_image_resize.h>
#include <zlib.h>

#include "data/dataset.h"

enum { FILE_LIMIT = 256 << 20, PIXEL_LIMIT = 64 << 20 };

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static const char *kind(const uint8_t *p, size_t n)
{
    if (n >= 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0) return "PNG";
    if (n >= 3 && memcmp(p, "\xff\xd8\xff", 3) == 0) return "JPEG";
    /* "BM" may begin a text; a BMP's reserved bytes are 0 and its second header's size is known. */
    if (n >= 18 && memcmp(p, "BM", 2) == 0 && memcmp(p + 6, "\0\0\0\0", 4) == 0 &&
        (le32(p + 14) == 12 || (le32(p + 14) >= 40 && le32(p + 14) <= 124)))
        return "BMP";
    return NULL;
}

vkt_status vkt__picture_is(const char *path, bool *is)
{
    uint8_t head[18];
    FILE *f = NULL;
    *is = false;
    if (vkt__is_dir(path)) return VKT_OK;
    vkt_status st = vkt__file_open(path, &f);
    if (st != VKT_OK) return st;
    *is = kind(head, fread(head, 1, sizeof head, f)) != NULL;
    fclose(f);
    return VKT_OK;
}

/* Every chunk is there, up to IEND, with the CRC-32 it was written with. */
static const char *png_damage(const uint8_t *p, size_t n)
{
    for (size_t at = 8; n - at >= 12;) {
        size_t len = be32(p + at);
        if (len > n - at - 12) return "cut short";
        if (crc32(0, p + at + 4, (uInt)(len + 4)) != be32(p + at + 8 + len))
            return "damaged: a CRC-32 is wrong";
        if (memcmp(p + at + 4, "IEND", 4) == 0) return NULL;
        at += len + 12;
    }
    return "cut short";
}

/* Walks the segments to the end mark that follows a scan. A table of more than 256 codes overruns
 * an array of stb_image before 2.28 (fuzz_data found it): such a file never reaches stb. */
static const char *jpeg_damage(const uint8_t *p, size_t n)
{
    bool scanned = false;
    for (size_t at = 2;;) {
        while (at < n && p[at] != 0xff) at++;
        while (at < n && p[at] == 0xff) at++;
        if (n - at < 3 && !(at < n && p[at] == 0xd9)) return "cut short";
        uint8_t mark = p[at++];
        if (mark == 0xd9 && scanned) return NULL;
        if (mark <= 1 || (mark >= 0xd0 && mark <= 0xd9)) continue; /* no segment */
        size_t len = (size_t)p[at] << 8 | p[at + 1], table = at + 2;
        if (len < 2) return "damaged: a segment has no length";
        while (mark == 0xc4 && table < at + len) {
            size_t codes = 0;
            for (size_t i = table + 1; i < table + 17 && i < n; i++) codes += p[i];
            if (codes > 256) return "damaged: a table has too many codes";
            table += 17 + codes;
        }
        if (len > n - at) return "cut short";
        scanned |= mark == 0xda;
        at += len;
    }
}

/* stb decodes what it finds and fills the rest: what a file's own marks say is checked before. */
static const char *damage(const uint8_t *p, size_t n)
{
    const char *k = kind(p, n);
    if (strcmp(k, "PNG") == 0) return png_damage(p, n);
    if (strcmp(k, "JPEG") == 0) return jpeg_damage(p, n);
    return le32(p + 2) > n ? "cut short" : NULL;
}

static uint8_t over_white(uint32_t v, uint32_t alpha)
{
    return (uint8_t)((v * alpha + 255 * (255 - alpha) + 127) / 255);
}

/* [n] pixels of `have` channels (grey, grey+A, RGB, RGBA) to `want` (1 or 3). */
static void convert(const uint8_t *p, size_t n, int have, uint32_t want, uint8_t *out)
{
    for (size_t i = 0; i < n; i++, p += have, out += want) {
        uint32_t alpha = have == 2 || have == 4 ? p[have - 1] : 255;
        uint8_t c[3];
        for (int k = 0; k < 3; k++) c[k] = over_white(p[have < 3 ? 0 : k], alpha);
        if (want == 3)
            memcpy(out, c, 3);
        else
            out[0] = (uint8_t)((77u * c[0] + 150u * c[1] + 29u * c[2] + 128) >> 8);
    }
}

/* Shrinking averages the area under each pixel, growing is bilinear; each axis by its own rule. */
static bool resize(const uint8_t *from, int w, int h, uint8_t *to, int to_w, int to_h, int channels)
{
    return stbir_resize(from, w, h, 0, to, to_w, to_h, 0, STBIR_TYPE_UINT8, channels,
                        STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_EDGE_CLAMP,
                        to_w < w ? STBIR_FILTER_BOX : STBIR_FILTER_TRIANGLE,
                        to_h < h ? STBIR_FILTER_BOX : STBIR_FILTER_TRIANGLE,
                        STBIR_COLORSPACE_LINEAR, NULL) != 0;
}

vkt_status vkt__picture_decode(const void *bytes, size_t n, const char *name,
                               const uint32_t shape[3], uint8_t *out)
{
    vkt_status st = VKT_OK;
    const char *k = kind(bytes, n);
    uint8_t *pixels = NULL, *same = NULL;
    int w = 0, h = 0, have = 0;
    uint32_t want = shape[2];
    if (!k) return vkt__fail(VKT_FORMAT, "data", "'%s' is no PNG, JPEG or BMP picture", name);
    if (want != 1 && want != 3)
        return vkt__fail(VKT_FORMAT, "data",
                         "'%s' is a picture, but the model takes %u channels, neither grey (1) nor "
                         "colour (3): use IDX",
                         name, want);
    if (shape[0] > STBI_MAX_DIMENSIONS || shape[1] > STBI_MAX_DIMENSIONS ||
        (uint64_t)shape[0] * shape[1] > PIXEL_LIMIT)
        return vkt__fail(
            VKT_FORMAT, "data",
            "'%s' is a picture, but the model's %ux%u inputs are too many for one: use IDX", name,
            shape[1], shape[0]);
    if (strcmp(k, "JPEG") == 0 && jpeg_damage(bytes, n))
        return vkt__fail(VKT_FORMAT, "data", "'%s' is %s: get it again", name,
                         jpeg_damage(bytes, n));
    if (n > FILE_LIMIT || !stbi_info_from_memory(bytes, (int)n, &w, &h, &have))
        return vkt__fail(VKT_FORMAT, "data",
                         "'%s' can't be read as %s: damaged, of a rare kind, or more than %d "
                         "pixels wide or high: save it again as an 8-bit PNG",
                         name, k, STBI_MAX_DIMENSIONS);
    if (w < 1 || h < 1 || (uint64_t)w * (uint64_t)h > PIXEL_LIMIT)
        return vkt__fail(
            VKT_FORMAT, "data",
            "'%s' is %dx%d pixels, more than the 64 million that are allowed: make it smaller",
            name, w, h);
    pixels = stbi_load_from_memory(bytes, (int)n, &w, &h, &have, 0);
    if (!pixels)
        return vkt__fail(VKT_FORMAT, "data",
                         "'%s' can't be read as %s (%s): save it again as an 8-bit PNG", name, k,
                         vkt__show(stbi_failure_reason()).s); /* may hold bytes of the file */
    bool fits = (uint32_t)w == shape[1] && (uint32_t)h == shape[0];
    if (fits) {
        convert(pixels, (size_t)w * (size_t)h, have, want, out);
    } else {
        VKT_TRY(vkt__data_alloc((uint64_t)w * (uint64_t)h, want, "the picture", &same));
        convert(pixels, (size_t)w * (size_t)h, have, want, same);
        if (!resize(same, w, h, out, (int)shape[1], (int)shape[0], (int)want)) {
            st = vkt__fail(VKT_OOM_HOST, "data", "no memory to resize '%s'", name);
            goto fail;
        }
        vkt_log(
            VKT_LOG_INFO, "data",
            "'%s' is %dx%d pixels: resized to the model's %ux%u (area average down, bilinear up)",
            name, w, h, shape[1], shape[0]);
    }
fail:
    stbi_image_free(pixels);
    free(same);
    return st;
}

vkt_status vkt__picture_check(const void *bytes, size_t n, const char *name)
{
    const char *why = kind(bytes, n) ? damage(bytes, n) : "no PNG, JPEG or BMP picture";
    return why ? vkt__fail(VKT_FORMAT, "data", "'%s' is %s: get it again", name, why) : VKT_OK;
}

vkt_status vkt__picture_open_schema(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    char *bytes = NULL;
    size_t n;
    VKT_TRY(vkt__file_read(path, FILE_LIMIT, &bytes, &n));
    VKT_TRY(vkt__picture_check(bytes, n, path));
    VKT_TRY(vkt__data_alloc(1, ds->schema.n_inputs, "the picture", &part->pixels));
    VKT_TRY(vkt__picture_decode(bytes, n, path, ds->schema.input_shape, part->pixels));
    VKT_TRY(vkt__data_alloc(1, sizeof *part->labels, "the label", &part->labels));
    part->labels[0].u = 0;
    part->n = 1;
    ds->info.has_labels = false;
    ds->info.source = vkt__arena_printf(&ds->arena, "picture %s", path);
fail:
    free(bytes);
    return st;
}
