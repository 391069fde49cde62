/* webp.h. A file is RIFF: chunks of a name, a length and as many bytes, padded to an even
 * number. */
#include "base/words.h"
#include "data/pictures/webp.h"

enum { HEADER = 12, CHUNK = 8, FRAME = 16 };

typedef struct chunk {
    const uint8_t *at; /* its name */
    size_t n;          /* bytes of its content, which is there */
} chunk;

static uint32_t number(const uint8_t *p, uint32_t bytes)
{
    uint32_t v = 0;
    while (bytes--) v = v << 8 | p[bytes];
    return v;
}

bool vkt__webp_is(const uint8_t *p, size_t n)
{
    return n >= HEADER && !memcmp(p, "RIFF", 4) && !memcmp(p + 8, "WEBP", 4);
}

static bool is(const chunk *c, const char *name)
{
    return c->at && !memcmp(c->at, name, 4);
}

static const uint8_t *content(const chunk *c)
{
    return c->at + CHUNK;
}

/* The chunk at p of n bytes; at NULL: it is not there as a whole. */
static chunk chunk_at(const uint8_t *p, size_t n)
{
    if (n < CHUNK || number(p + 4, 4) > n - CHUNK) return (chunk) { 0 };
    return (chunk) { p, number(p + 4, 4) };
}

static size_t whole(const chunk *c)
{
    return CHUNK + c->n + c->n % 2;
}

/* The first chunk of that name in p. */
static chunk find(const uint8_t *p, size_t n, const char *name)
{
    for (size_t at = 0; at < n;) {
        chunk c = chunk_at(p + at, n - at);
        if (!c.at || is(&c, name)) return c;
        at += whole(&c);
    }
    return (chunk) { 0 };
}

/* The size of a bitstream by its own header; false: it is none. */
static bool stream_size(const chunk *c, uint32_t *w, uint32_t *h)
{
    const uint8_t *p = content(c);
    if (is(c, "VP8 ") && c->n >= 10 && !memcmp(p + 3, "\x9d\x01\x2a", 3)) {
        *w = number(p + 6, 2) & 0x3fff;
        *h = number(p + 8, 2) & 0x3fff;
        return *w > 0 && *h > 0;
    }
    if (!is(c, "VP8L") || c->n < 5 || p[0] != 0x2f) return false;
    *w = (number(p + 1, 4) & 0x3fff) + 1;
    *h = (number(p + 1, 4) >> 14 & 0x3fff) + 1;
    return true;
}

/* A picture: what libwebp decodes, its size, and where it lies on the canvas. */
typedef struct picture {
    const uint8_t *data;
    size_t n;
    uint32_t x, y, w, h, canvas_w, canvas_h;
} picture;

/* The bitstream among the chunks of [p, n), which may have its alpha before it. */
static const char *find_stream(const uint8_t *p, size_t n, picture *out)
{
    chunk c = find(p, n, "VP8 ");
    if (!c.at) c = find(p, n, "VP8L");
    if (!c.at) return "cut short";
    return stream_size(&c, &out->w, &out->h) ? NULL : "damaged: its picture has no size";
}

static const char *find_frame(const chunk *frame, picture *out)
{
    const uint8_t *p = content(frame);
    if (frame->n < FRAME) return "damaged: a frame is too short";
    out->x = 2 * number(p, 3);
    out->y = 2 * number(p + 3, 3);
    out->data = p + FRAME;
    out->n = frame->n - FRAME;
    return find_stream(out->data, out->n, out);
}

static const char *look(const uint8_t *p, size_t n, picture *out)
{
    enum { ANIMATED = 2 };
    size_t size = number(p + 4, 4);
    *out = (picture) { .data = p };
    if (size < 4 || size > n - 8) return "cut short";
    out->n = n = size + 8;
    chunk first = chunk_at(p + HEADER, n - HEADER);
    if (!first.at) return "cut short";
    bool extended = is(&first, "VP8X"),
         animated = extended && first.n >= 10 && content(&first)[0] & ANIMATED;
    if (extended && first.n < 10) return "damaged: its header is too short";
    const char *why = NULL;
    if (animated) {
        chunk frame = find(p + HEADER, n - HEADER, "ANMF");
        why = frame.at ? find_frame(&frame, out) : "cut short";
    } else {
        why = find_stream(p + HEADER, n - HEADER, out);
    }
    out->canvas_w = extended ? number(content(&first) + 4, 3) + 1 : out->w;
    out->canvas_h = extended ? number(content(&first) + 7, 3) + 1 : out->h;
    if (!why &&
        ((uint64_t)out->x + out->w > out->canvas_w || (uint64_t)out->y + out->h > out->canvas_h))
        why = "damaged: a frame is outside the picture";
    return why;
}

const char *vkt__webp_damage(const uint8_t *p, size_t n)
{
    picture found;
    return look(p, n, &found);
}

void vkt__webp_size(const uint8_t *p, size_t n, uint32_t *w, uint32_t *h)
{
    picture found;
    look(p, n, &found);
    *w = found.canvas_w;
    *h = found.canvas_h;
}

const uint8_t *vkt__webp_exif(const uint8_t *p, size_t n, size_t *tiff_n)
{
    chunk c = find(p + HEADER, n - HEADER, "EXIF");
    bool marked = c.at && c.n >= 6 && !memcmp(content(&c), "Exif\0\0", 6);
    *tiff_n = c.at ? c.n - (marked ? 6 : 0) : 0;
    return c.at ? content(&c) + (marked ? 6 : 0) : NULL;
}

/* ---- the library ---- */

static vkt__function function(const char *name)
{
    static const char *const libraries[] = { "libwebp.so.7", "libwebp.so.6", "libwebp.7.dylib" };
    for (size_t i = 0; i < VKT_COUNT(libraries); i++) {
        vkt__function f = vkt__library_function(libraries[i], name);
        if (f) return f;
    }
    return NULL;
}

bool vkt__webp_can(void)
{
    return function("WebPDecodeRGBAInto") != NULL;
}

/* As libwebp's decode.h declares them. */
typedef int (*get_info)(const uint8_t *data, size_t n, int *w, int *h);
typedef uint8_t *(*decode_rgba)(const uint8_t *data, size_t n, uint8_t *out, size_t out_n,
                                int stride);

bool vkt__webp_decode(const uint8_t *p, size_t n, uint8_t *rgba)
{
    picture f;
    int w, h;
    get_info info = (get_info)function("WebPGetInfo");
    decode_rgba decode = (decode_rgba)function("WebPDecodeRGBAInto");
    if (!info || !decode || look(p, n, &f) || !info(f.data, f.n, &w, &h)) return false;
    if (w != (int)f.w || h != (int)f.h) return false;
    size_t row = 4 * (size_t)f.canvas_w, all = row * f.canvas_h, at = f.y * row + 4 * (size_t)f.x;
    memset(rgba, 0, all);
    return decode(f.data, f.n, rgba + at, all - at, (int)row) != NULL;
}
