/* One picture: decoded (WebP by libwebp, JPEG by libturbojpeg where that is installed, else by stb)
 * and resized by stb, which knows neither damage nor limits of its own, so both are checked here
 * first. Rules: of an animation the first frame is taken; of 16-bit samples eight bits are taken,
 * from the highest that the data uses on; a palette gives its colours; CMYK is turned into RGB by
 * stb; of an animated PNG the still picture is taken; alpha is composited over white; colour
 * becomes grey by BT.601's luma, (77 R + 150 G + 29 B) / 256; grey becomes colour by copying;
 * EXIF's orientation is applied (exif.h). */
#include <stdbool.h>
#include <stdlib.h>

/* stb_image's allocations; whether one failed: what it says of a file then is not the file's. */
static _Thread_local bool no_memory;

static void *get(void *p, size_t n)
{
    void *q = realloc(p, n);
    no_memory |= !q;
    return q;
}
#define STBI_MALLOC(n) get(NULL, n)
#define STBI_REALLOC(p, n) get(p, n)
#define STBI_FREE(p) free(p)
#define STBI_NO_STDIO
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_MAX_DIMENSIONS 16384
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb_image.h>
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb_image_resize.h>
#include <zlib.h>

#include "data/parts/parts.h"
#include "data/pictures/exif.h"
#include "data/pictures/jpeg.h"
#include "data/pictures/picture.h"
#include "data/pictures/webp.h"

enum { PIXEL_LIMIT = 64 << 20 };

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
    if (n >= 6 && (memcmp(p, "GIF87a", 6) == 0 || memcmp(p, "GIF89a", 6) == 0)) return "GIF";
    if (vkt__webp_is(p, n)) return "WebP";
    /* "BM" may begin a text; a BMP's reserved bytes are 0 and its second header's size is known. */
    if (n >= 18 && memcmp(p, "BM", 2) == 0 && memcmp(p + 6, "\0\0\0\0", 4) == 0 &&
        (le32(p + 14) == 12 || (le32(p + 14) >= 40 && le32(p + 14) <= 124)))
        return "BMP";
    return NULL;
}

/* What it is, where it is a picture of a kind that is known but not read; else NULL. */
static const char *unread_kind(const uint8_t *p, size_t n)
{
    static const struct {
        const char *name, *begin;
        size_t at, n;
    } kinds[] = {
        { "a TIFF", "II*\0", 0, 4 },         { "a TIFF", "MM\0*", 0, 4 },
        { "an AVIF", "ftypavif", 4, 8 },     { "a HEIC", "ftypheic", 4, 8 },
        { "a HEIC", "ftypheix", 4, 8 },      { "a HEIC", "ftypmif1", 4, 8 },
        { "a JPEG 2000", "ftypjp2", 16, 7 }, { "a JPEG XL", "\xff\x0a", 0, 2 },
    };
    for (size_t i = 0; i < VKT_COUNT(kinds); i++)
        if (n >= kinds[i].at + kinds[i].n && !memcmp(p + kinds[i].at, kinds[i].begin, kinds[i].n))
            return kinds[i].name;
    return NULL;
}

static vkt_status not_read(const void *bytes, size_t n, const char *name)
{
    const char *k = unread_kind(bytes, n);
    if (k)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is %s picture, which is not read: convert it to PNG or JPEG", name,
                         k);
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' is not a PNG, JPEG, BMP, GIF or WebP picture",
                     name);
}

vkt_status vkt__picture_is(const char *path, bool *is)
{
    uint8_t head[18];
    FILE *f = NULL;
    *is = false;
    uint64_t id[2];
    vkt__path_kind what = vkt__path_look(path, id);
    if (what == VKT__FOLDER || what == VKT__OTHER) return VKT_OK;
    vkt_status st = vkt__file_open(path, &f);
    if (st != VKT_OK) return st;
    *is = kind(head, fread(head, 1, sizeof head, f)) != NULL;
    fclose(f);
    return VKT_OK;
}

/* Every chunk is there, up to IEND, and, where asked for, with the CRC-32 it was written with. */
static const char *png_damage(const uint8_t *p, size_t n, bool sums)
{
    for (size_t at = 8; n - at >= 12;) {
        size_t len = be32(p + at);
        if (len > n - at - 12) return "cut short";
        if (sums && crc32(0, p + at + 4, (uInt)(len + 4)) != be32(p + at + 8 + len))
            return "damaged: a CRC-32 is wrong";
        if (memcmp(p + at + 4, "IEND", 4) == 0) return NULL;
        at += len + 12;
    }
    return "cut short";
}

/* What a JPEG's segments have brought. stb takes a table that never came, and a component without a
 * scan, as the memory was that it got for them (fuzz_data found it): such a file never reaches it.
 */
typedef struct {
    uint8_t dc, ac, quant; /* tables, a bit each */
    bool progressive;
    uint8_t n, id[4], table[4]; /* the frame's components, their quantization tables */
    uint8_t scanned;            /* a bit each */
} jpeg_seen;

/* Tables in p[at, end) of a file of n bytes. One of more than 256 codes overruns an array of
 * stb_image before 2.28, which also reads a table past the segment's end. */
static const char *see_huffman(jpeg_seen *j, const uint8_t *p, size_t n, size_t at, size_t end)
{
    while (at < end) {
        size_t codes = 0;
        for (size_t i = at + 1; i < at + 17 && i < n; i++) codes += p[i];
        if (codes > 256) return "damaged: a table has too many codes";
        *(p[at] >> 4 ? &j->ac : &j->dc) |= (uint8_t)(1u << (p[at] & 3));
        at += 17 + codes;
    }
    return NULL;
}

static void see_quantization(jpeg_seen *j, const uint8_t *p, size_t at, size_t end)
{
    for (; at < end; at += p[at] >> 4 ? 129 : 65) j->quant |= (uint8_t)(1u << (p[at] & 3));
}

static void see_frame(jpeg_seen *j, const uint8_t *p, size_t at, size_t end, bool progressive)
{
    j->progressive = progressive;
    j->n = j->scanned = 0;
    for (at += 6; at + 2 < end && j->n < 4; at += 3) {
        j->id[j->n] = p[at];
        j->table[j->n++] = p[at + 2] & 3;
    }
}

/* A scan's components and tables; a progressive one codes either the mean or other frequencies, and
 * refines the mean without a table. */
static const char *see_scan(jpeg_seen *j, const uint8_t *p, size_t at, size_t end)
{
    size_t n = at < end ? p[at] : 0;
    if (n < 1 || n > 4 || at + 1 + 2 * n + 3 > end) return "damaged: a scan names no components";
    const uint8_t *c = p + at + 1, *range = c + 2 * n;
    bool first = !j->progressive || range[0] == 0, ac = !j->progressive || !first,
         dc = first && !(j->progressive && range[2] >> 4);
    for (; n > 0; n--, c += 2) {
        uint8_t k = 0;
        while (k < j->n && j->id[k] != c[0]) k++;
        if (k == j->n) return "damaged: a scan is of a component that is not there";
        if (!(j->quant >> j->table[k] & 1) || (dc && !(j->dc >> (c[1] >> 4 & 3) & 1)) ||
            (ac && !(j->ac >> (c[1] & 3) & 1)))
            return "damaged: a scan's table is not there";
        if (first) j->scanned |= (uint8_t)(1u << k);
    }
    return NULL;
}

/* Lossless, hierarchical, by arithmetic coding: all but baseline, extended and progressive. */
static bool is_rare_frame(uint8_t mark)
{
    return mark >= 0xc3 && mark <= 0xcf && mark != 0xc4 && mark != 0xc8 && mark != 0xcc;
}

/* Walks the segments to the end mark that follows the scans. */
static const char *jpeg_damage(const uint8_t *p, size_t n)
{
    jpeg_seen j = { 0 };
    for (size_t at = 2;;) {
        const uint8_t *next = at < n ? memchr(p + at, 0xff, n - at) : NULL;
        at = next ? (size_t)(next - p) : n;
        while (at < n && p[at] == 0xff) at++;
        if (n - at < 3 && !(at < n && p[at] == 0xd9)) return "cut short";
        uint8_t mark = p[at++];
        if (mark == 0xd9 && j.scanned)
            return j.scanned == (1u << j.n) - 1 ? NULL : "damaged: a component has no scan";
        if (mark <= 1 || (mark >= 0xd0 && mark <= 0xd9)) continue; /* no segment */
        size_t len = (size_t)p[at] << 8 | p[at + 1], body = at + 2;
        const char *why = NULL;
        if (len < 2) return "damaged: a segment has no length";
        if (is_rare_frame(mark)) return NULL; /* stb reads no further, and says so */
        if (mark == 0xc4) why = see_huffman(&j, p, n, body, VKT_MIN(at + len, n));
        if (!why && len > n - at) why = "cut short";
        if (!why && mark == 0xdb) see_quantization(&j, p, body, at + len);
        if (!why && mark >= 0xc0 && mark <= 0xc2) see_frame(&j, p, body, at + len, mark == 0xc2);
        if (!why && mark == 0xda) why = see_scan(&j, p, body, at + len);
        if (why) return why;
        at += len;
    }
}

/* Passes the sub-blocks from `at` on, each a length and as many bytes, up to an empty one: where
 * they end, 0: they do not. */
static size_t past_blocks(const uint8_t *p, size_t n, size_t at)
{
    while (at < n && p[at]) at += 1 + (size_t)p[at];
    return at < n ? at + 1 : 0;
}

/* Walks the blocks to the end of the first picture. */
static const char *gif_damage(const uint8_t *p, size_t n)
{
    enum { HEADER = 13, PICTURE = 10, TABLE = 0x80 };
    if (n < HEADER) return "cut short";
    size_t at = HEADER + (p[10] & TABLE ? (size_t)6 << (p[10] & 7) : 0);
    for (;;) {
        if (at >= n) return "cut short";
        if (p[at] == ';') return "without a picture";
        bool extension = p[at] == '!', picture = p[at] == ',';
        if (!extension && !picture) return "damaged: a block is of no known kind";
        if (picture && n - at < PICTURE) return "cut short";
        if (picture) at += PICTURE + (p[at + 9] & TABLE ? (size_t)6 << (p[at + 9] & 7) : 0) + 1;
        if (extension) at += 2;
        at = past_blocks(p, n, at);
        if (!at) return "cut short";
        if (picture) return NULL;
    }
}

/* stb decodes what it finds and fills the rest, and allocates what a length says: what a file's own
 * marks say is checked before. */
static const char *damage(const uint8_t *p, size_t n, bool sums)
{
    const char *k = kind(p, n);
    if (strcmp(k, "PNG") == 0) return png_damage(p, n, sums);
    if (strcmp(k, "JPEG") == 0) return jpeg_damage(p, n);
    if (strcmp(k, "GIF") == 0) return gif_damage(p, n);
    if (strcmp(k, "WebP") == 0) return vkt__webp_damage(p, n);
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

vkt__box vkt__picture_middle(uint32_t w, uint32_t h, uint32_t to_w, uint32_t to_h)
{
    vkt__box b = { 0, 0, w, h };
    if ((uint64_t)w * to_h > (uint64_t)h * to_w)
        b.w = (uint32_t)VKT_MAX(((uint64_t)h * to_w + to_h / 2) / to_h, 1);
    else
        b.h = (uint32_t)VKT_MAX(((uint64_t)w * to_h + to_w / 2) / to_w, 1);
    b.w = VKT_MIN(b.w, w);
    b.h = VKT_MIN(b.h, h);
    b.x = (w - b.w) / 2;
    b.y = (h - b.h) / 2;
    return b;
}

vkt_status vkt__picture_resize(const uint8_t *from, uint32_t w, vkt__box box, uint32_t channels,
                               uint8_t *to, uint32_t to_w, uint32_t to_h)
{
    size_t row = (size_t)w * channels, to_row = (size_t)to_w * channels;
    const uint8_t *start = from + box.y * row + (size_t)box.x * channels;
    if (box.w == to_w && box.h == to_h) {
        for (uint32_t y = 0; y < to_h; y++) memcpy(to + y * to_row, start + y * row, to_row);
        return VKT_OK;
    }
    if (stbir_resize(start, (int)box.w, (int)box.h, (int)row, to, (int)to_w, (int)to_h, 0,
                     STBIR_TYPE_UINT8, (int)channels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                     STBIR_EDGE_CLAMP, to_w < box.w ? STBIR_FILTER_BOX : STBIR_FILTER_TRIANGLE,
                     to_h < box.h ? STBIR_FILTER_BOX : STBIR_FILTER_TRIANGLE,
                     STBIR_COLORSPACE_LINEAR, NULL))
        return VKT_OK;
    return vkt__fail(VKT_E_OOM_HOST, "data", "no memory to resize a picture of %ux%u", box.w,
                     box.h);
}

/* Whether the header promises more pixels in a row or column than are read. stb's own limit would
 * stop it too, but could not say why. */
static bool too_large(const uint8_t *p, size_t n, const char *kind_of, uint32_t *w, uint32_t *h)
{
    *w = *h = 0;
    if (strcmp(kind_of, "PNG") == 0 && n >= 24) *w = be32(p + 16), *h = be32(p + 20);
    if (strcmp(kind_of, "GIF") == 0) *w = le32(p + 6) & 0xffff, *h = le32(p + 8) & 0xffff;
    if (strcmp(kind_of, "WebP") == 0) vkt__webp_size(p, n, w, h);
    return *w > STBI_MAX_DIMENSIONS || *h > STBI_MAX_DIMENSIONS;
}

static void read_webp(const void *bytes, size_t n, int *w, int *h, int *have)
{
    uint32_t wide, high;
    vkt__webp_size(bytes, n, &wide, &high);
    *w = (int)wide;
    *h = (int)high;
    *have = 4;
}

static vkt_status no_memory_for(const char *name)
{
    return vkt__fail(VKT_E_OOM_HOST, "data", "no memory to decode '%s'", name);
}

static bool has_alpha(int have)
{
    return have == 2 || have == 4;
}

/* More than one picture: of a PNG by its chunk acTL, which is before the data, of a WebP by its
 * header's flag, of a GIF by what follows the first. Whole files, see damage(). */
static bool is_animated(const uint8_t *p, size_t n, const char *kind_of)
{
    if (strcmp(kind_of, "WebP") == 0) return n > 20 && !memcmp(p + 12, "VP8X", 4) && (p[20] & 2);
    if (strcmp(kind_of, "PNG") == 0)
        for (size_t at = 8; n - at >= 12 && memcmp(p + at + 4, "IDAT", 4) != 0;) {
            if (memcmp(p + at + 4, "acTL", 4) == 0) return true;
            if (be32(p + at) > n - at - 12) return false;
            at += (size_t)be32(p + at) + 12;
        }
    if (strcmp(kind_of, "GIF") != 0 || n < 13) return false;
    uint32_t pictures = 0;
    for (size_t at = 13 + (p[10] & 0x80 ? (size_t)6 << (p[10] & 7) : 0); at < n && pictures < 2;) {
        bool picture = p[at] == ',';
        if ((p[at] != '!' && !picture) || (picture && n - at < 10)) break;
        pictures += picture;
        at += picture ? 11 + (p[at + 9] & 0x80 ? (size_t)6 << (p[at + 9] & 7) : 0) : 2;
        at = past_blocks(p, n, at);
        if (!at) break;
    }
    return pictures > 1;
}

static vkt_status read_header(const void *bytes, size_t n, const char *name, const char *k,
                              vkt__picture_size *out)
{
    int w = 0, h = 0, have = 0;
    uint32_t wide, high;
    if (too_large(bytes, n, k, &wide, &high))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is %ux%u pixels by its header, more than %d wide or high: make it "
                         "smaller",
                         name, wide, high, STBI_MAX_DIMENSIONS);
    bool webp = strcmp(k, "WebP") == 0;
    if (webp && !vkt__webp_can())
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' is a WebP picture, for which libwebp is needed: install it (libwebp7 "
            "is Debian's name), or convert the picture to PNG or JPEG",
            name);
    if (webp) read_webp(bytes, n, &w, &h, &have);
    no_memory = false;
    if (n > VKT__PICTURE_BYTES || (!webp && !stbi_info_from_memory(bytes, (int)n, &w, &h, &have)))
        return no_memory
                   ? no_memory_for(name)
                   : vkt__fail(VKT_E_FORMAT, "data",
                               "'%s' can't be read as %s: damaged, of a rare kind, or more than %d "
                               "pixels wide or high: save it again as an 8-bit PNG",
                               name, k, STBI_MAX_DIMENSIONS);
    if (w < 1 || h < 1 || (uint64_t)w * (uint64_t)h > PIXEL_LIMIT)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' is %dx%d pixels, more than the 64 million that are allowed: make it smaller",
            name, w, h);
    bool swap = vkt__exif_swaps(vkt__exif_orientation(bytes, n));
    *out = (vkt__picture_size) { .w = (uint32_t)(swap ? h : w),
                                 .h = (uint32_t)(swap ? w : h),
                                 .color = have >= 3,
                                 .alpha = strcmp(k, "PNG") == 0 && has_alpha(have),
                                 .animated = is_animated(bytes, n, k) };
    return VKT_OK;
}

/* ---- samples of 16 bits, which PNG alone has of what is read ---- */

static bool is_deep(const uint8_t *p, size_t n, const char *kind_of)
{
    return strcmp(kind_of, "PNG") == 0 && n > 24 && p[24] == 16;
}

/* free(*out), whatever is returned. */
static vkt_status read_deep(const void *bytes, size_t n, const char *name, uint16_t **out, int *w,
                            int *h, int *have)
{
    no_memory = false;
    *out = stbi_load_16_from_memory(bytes, (int)n, w, h, have, 0);
    if (*out) return VKT_OK;
    if (no_memory) return no_memory_for(name);
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' can't be read as PNG (%s): save it again as an 8-bit PNG", name,
                     vkt__show(stbi_failure_reason()).s);
}

/* The bits of the largest sample, 8 at least. */
static vkt_status find_bits(const void *bytes, size_t n, const char *name, uint32_t *bits)
{
    int w, h, have;
    uint16_t *p = NULL, most = 0;
    vkt_status st = read_deep(bytes, n, name, &p, &w, &h, &have);
    for (size_t i = 0; p && i < (size_t)w * (size_t)h * (size_t)have; i++)
        if (!has_alpha(have) || i % (size_t)have + 1 < (size_t)have) most = VKT_MAX(most, p[i]);
    free(p);
    for (*bits = 8; *bits < 16 && most >> *bits;) ++*bits;
    return st;
}

/* Of `bits` bits the upper 8; what is above all of them is white. */
static vkt_status read_deep_pixels(const void *bytes, size_t n, const char *name, uint32_t bits,
                                   uint8_t **out, int *w, int *h, int *have)
{
    uint16_t *p = NULL;
    vkt_status st;
    VKT_TRY(read_deep(bytes, n, name, &p, w, h, have));
    size_t channels = (size_t)*have, n_samples = (size_t)*w * (size_t)*h * channels;
    VKT_TRY(vkt__alloc_large(n_samples, 1, "the picture", out));
    for (size_t i = 0; i < n_samples; i++) {
        bool alpha = has_alpha(*have) && i % channels + 1 == channels;
        uint32_t v = p[i] >> ((alpha ? 16 : bits) - 8);
        (*out)[i] = (uint8_t)VKT_MIN(v, 255u);
    }
fail:
    free(p);
    return st;
}

vkt_status vkt__picture_look(const void *bytes, size_t n, const char *name, vkt__picture_size *out)
{
    const char *k = kind(bytes, n), *why = k ? damage(bytes, n, true) : NULL;
    if (n == 0) return vkt__fail(VKT_E_FORMAT, "data", "'%s' is empty: get it again", name);
    if (!k) return not_read(bytes, n, name);
    if (why) return vkt__fail(VKT_E_FORMAT, "data", "'%s' is %s: get it again", name, why);
    vkt_status st = read_header(bytes, n, name, k, out);
    if (st == VKT_OK && is_deep(bytes, n, k)) st = find_bits(bytes, n, name, &out->bits);
    return st;
}

/* least: as vkt__picture_decode has it, as the file is stored. *out for free(), whatever is
 * returned. */
static vkt_status read_pixels(const void *bytes, size_t n, const char *name, const char *k,
                              const uint32_t least[2], uint8_t **out, int *w, int *h, int *have)
{
    vkt_status st = VKT_OK;
    const char *why = "its data is damaged";
    bool webp = strcmp(k, "WebP") == 0, ok;
    if (webp) {
        read_webp(bytes, n, w, h, have);
        VKT_TRY(vkt__alloc_large((uint64_t)*w * (uint64_t)*h, 4, "the picture", out));
        ok = vkt__webp_decode(bytes, n, *out);
    } else if (strcmp(k, "JPEG") == 0 &&
               vkt__jpeg_decode(bytes, n, least[0], least[1], w, h, have, out)) {
        ok = true;
    } else {
        no_memory = false;
        *out = stbi_load_from_memory(bytes, (int)n, w, h, have, 0);
        ok = *out != NULL;
        if (!ok) why = stbi_failure_reason();
        if (!ok && no_memory) return no_memory_for(name);
    }
    if (!ok)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' can't be read as %s (%s): save it again as an 8-bit PNG", name, k,
                       vkt__show(why).s); /* may hold bytes of the file */
fail:
    return st;
}

vkt_status vkt__picture_decode(const void *bytes, size_t n, const char *name, uint32_t channels,
                               uint32_t bits, uint32_t least_w, uint32_t least_h, uint32_t *out_w,
                               uint32_t *out_h, uint8_t **out)
{
    vkt_status st = VKT_OK;
    const char *k = kind(bytes, n);
    uint8_t *pixels = NULL, *upright = NULL;
    vkt__picture_size size;
    int w, h, have;
    *out = NULL;
    if (!k) return not_read(bytes, n, name);
    const char *why = damage(bytes, n, false); /* its sums were right when it was looked at first */
    if (why) return vkt__fail(VKT_E_FORMAT, "data", "'%s' is %s: get it again", name, why);
    VKT_TRY(read_header(bytes, n, name, k, &size));
    uint32_t orientation = vkt__exif_orientation(bytes, n);
    bool swap = vkt__exif_swaps(orientation);
    if (is_deep(bytes, n, k) && bits)
        VKT_TRY(read_deep_pixels(bytes, n, name, bits, &pixels, &w, &h, &have));
    else
        VKT_TRY(read_pixels(bytes, n, name, k,
                            (uint32_t[]) { swap ? least_h : least_w, swap ? least_w : least_h },
                            &pixels, &w, &h, &have));
    *out_w = (uint32_t)(swap ? h : w);
    *out_h = (uint32_t)(swap ? w : h);
    if (have == (int)channels && !has_alpha(have)) { /* nothing would change */
        *out = pixels;
        pixels = NULL;
    } else {
        VKT_TRY(vkt__alloc_large((uint64_t)w * (uint64_t)h, channels, "the picture", out));
        convert(pixels, (size_t)w * (size_t)h, have, channels, *out);
    }
    if (orientation != 1) {
        VKT_TRY(vkt__alloc_large((uint64_t)w * (uint64_t)h, channels, "the picture", &upright));
        vkt__exif_turn(orientation, *out, (uint32_t)w, (uint32_t)h, channels, upright);
        uint8_t *stored = *out;
        *out = upright;
        upright = stored;
    }
fail:
    if (st != VKT_OK) {
        free(*out);
        *out = NULL;
    }
    free(upright);
    free(pixels); /* as stb allocates, too */
    return st;
}

/* ---- masks ---- */

/* Makes a palette's PNG one of grey, whose numbers are the places in it: the header's colour type,
 * and a name that nobody reads for the chunks that grey has not. Returns the bits of a number. */
static uint32_t without_palette(uint8_t *p, size_t n)
{
    enum { TYPE = 25, PALETTE = 3 };
    uint32_t bits = p[24];
    if (p[TYPE] != PALETTE) return bits;
    p[TYPE] = 0;
    for (size_t at = 8; n - at >= 12 && memcmp(p + at + 4, "IDAT", 4) != 0;
         at += (size_t)be32(p + at) + 12)
        if (!memcmp(p + at + 4, "PLTE", 4) || !memcmp(p + at + 4, "tRNS", 4))
            memcpy(p + at + 4, "noNe", 4);
    return bits;
}

vkt_status vkt__picture_numbers(void *bytes, size_t n, const char *name, uint32_t *out_w,
                                uint32_t *out_h, uint32_t *channels, uint8_t **out)
{
    vkt_status st = VKT_OK;
    vkt__picture_size size;
    const char *k = kind(bytes, n);
    int w, h, have;
    *out = NULL;
    VKT_TRY(vkt__picture_look(bytes, n, name, &size));
    if (strcmp(k, "PNG") != 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a %s: a mask must be a PNG, which keeps its numbers", name, k);
    if (is_deep(bytes, n, k))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a mask of 16 bits a pixel: save it with 8 bits, grey, of a "
                         "palette or in colours",
                         name);
    uint32_t bits = without_palette(bytes, n);
    no_memory = false;
    *out = stbi_load_from_memory(bytes, (int)n, &w, &h, &have, 0);
    if (!*out)
        return no_memory ? no_memory_for(name)
                         : vkt__fail(VKT_E_FORMAT, "data",
                                     "'%s' can't be read as PNG (%s): save it again", name,
                                     vkt__show(stbi_failure_reason()).s);
    size_t count = (size_t)w * (size_t)h * (size_t)have;
    uint32_t step = bits < 8 ? 255 / ((1u << bits) - 1) : 1; /* what stb widens fewer bits by */
    for (size_t i = 0; i < count && step > 1; i++) (*out)[i] /= (uint8_t)step;
    *out_w = (uint32_t)w;
    *out_h = (uint32_t)h;
    *channels = (uint32_t)have;
fail:
    return st;
}

vkt_status vkt__picture_instances(void *bytes, size_t n, const char *name, uint32_t *w, uint32_t *h,
                                  bool *deep, uint16_t **out)
{
    vkt_status st;
    vkt__picture_size size;
    uint32_t channels = 0;
    uint8_t *narrow = NULL;
    uint16_t *wide = NULL;
    const char *k = kind(bytes, n);
    bool is = k && is_deep(bytes, n, k);
    *out = NULL;
    if (is) {
        int dw, dh, have;
        VKT_TRY(vkt__picture_look(bytes, n, name, &size));
        VKT_TRY(read_deep(bytes, n, name, &wide, &dw, &dh, &have));
        *w = (uint32_t)dw;
        *h = (uint32_t)dh;
        channels = (uint32_t)have;
    } else {
        VKT_TRY(vkt__picture_numbers(bytes, n, name, w, h, &channels, &narrow));
    }
    if (channels > 2) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' is a mask of colours: instances are numbers, of a grey PNG of 8 or 16 "
                       "bits, 0 where there is none",
                       name);
        goto fail;
    }
    size_t count = (size_t)*w * *h;
    VKT_TRY(vkt__alloc_large(count, sizeof **out, "the mask", out));
    for (size_t i = 0; i < count; i++) (*out)[i] = is ? wide[i * channels] : narrow[i * channels];
    if (deep) *deep = is;
fail:
    free(narrow);
    free(wide);
    return st;
}
