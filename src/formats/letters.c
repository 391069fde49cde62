/* letters.h, by stb_truetype. It checks no bounds of a font: it only ever gets the one built in. */
#include <math.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/words.h"

#define STBTT_malloc(bytes, user) ((void)(user), vkt__alloc(bytes))
#define STBTT_free(p, user) ((void)(user), free(p))
#define STBTT_STATIC
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb_truetype.h>

#include "formats/letters.h"

static stbtt_fontinfo open_font(bool bold)
{
    const vkt__embedded_file *f = vkt__embedded_page;
    stbtt_fontinfo font;
    while (strcmp(f->name, bold ? "sans-bold.ttf" : "sans.ttf")) f++;
    int opened = stbtt_InitFont(&font, f->data, 0);
    VKT_ASSERT(opened);
    return font;
}

/* The next character's glyph; false at the end. */
static bool next_glyph(const stbtt_fontinfo *font, const char **at, const char *end, int *glyph)
{
    if (*at >= end) return false;
    int32_t c = vkt__utf8_next(at, end);
    if (c < 0) { /* no UTF-8: a byte at a time */
        ++*at;
        c = 0xfffd;
    }
    *glyph = stbtt_FindGlyphIndex(font, c);
    return true;
}

static double advance(const stbtt_fontinfo *font, int glyph, double scale)
{
    int wide, bearing;
    stbtt_GetGlyphHMetrics(font, glyph, &wide, &bearing);
    return scale * wide;
}

double vkt__letters_width(const char *text, double size, bool bold)
{
    stbtt_fontinfo font = open_font(bold);
    double scale = (double)stbtt_ScaleForMappingEmToPixels(&font, (float)size), width = 0;
    const char *end = text + strlen(text);
    for (int glyph; next_glyph(&font, &text, end, &glyph);) width += advance(&font, glyph, scale);
    return width;
}

/* Turned text is set level at the origin and each pixel turned: whole pixels of the base line's
 * start, so that the letters of an axis are as sharp as those of a title. */
void vkt__letters_draw(const char *text, double x, double y, double size, bool bold, vkt__turn turn,
                       vkt__cover_fn put, void *to)
{
    stbtt_fontinfo font = open_font(bold);
    double scale = (double)stbtt_ScaleForMappingEmToPixels(&font, (float)size),
           at = turn == VKT__LEVEL ? x : 0, base = round(turn == VKT__LEVEL ? y : 0);
    int x0 = (int)round(x), y0 = (int)round(y);
    const char *end = text + strlen(text);
    for (int glyph; next_glyph(&font, &text, end, &glyph); at += advance(&font, glyph, scale)) {
        int w, h, left, top, from = (int)floor(at);
        uint8_t *cover = stbtt_GetGlyphBitmapSubpixel(
            &font, (float)scale, (float)scale, (float)(at - from), 0, glyph, &w, &h, &left, &top);
        for (int i = 0; cover && i < w * h; i++) {
            int px = from + left + i % w, py = (int)base + top + i / w;
            double share = cover[i] / 255.0;
            if (!cover[i]) continue;
            if (turn == VKT__LEVEL)
                put(to, px, py, share);
            else if (turn == VKT__UPWARD)
                put(to, x0 + py, y0 - 1 - px, share);
            else
                put(to, x0 - 1 - py, y0 + px, share);
        }
        stbtt_FreeBitmap(cover, NULL);
    }
}
