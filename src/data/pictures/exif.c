/* exif.h. Source: EXIF 2.32 (JEITA CP-3451E), tag 0x0112 in the first directory of a TIFF, which is
 * a JPEG's APP1 segment, a PNG's eXIf chunk or a WebP's EXIF chunk. Every offset is checked against
 * the bytes that follow it. */
#include "base/words.h"
#include "data/pictures/exif.h"
#include "data/pictures/webp.h"

static uint32_t number(const uint8_t *p, uint32_t bytes, bool little)
{
    uint32_t v = 0;
    for (uint32_t i = 0; i < bytes; i++) v = v << 8 | p[little ? bytes - 1 - i : i];
    return v;
}

static uint32_t of_tiff(const uint8_t *p, size_t n)
{
    enum { ORIENTATION = 0x0112, SHORT = 3, ENTRY = 12 };
    if (n < 8 || (memcmp(p, "II*\0", 4) && memcmp(p, "MM\0*", 4))) return 1;
    bool little = p[0] == 'I';
    size_t at = number(p + 4, 4, little);
    if (at > n || n - at < 2) return 1;
    uint32_t n_entries = number(p + at, 2, little);
    at += 2;
    for (; n_entries > 0 && n - at >= ENTRY; n_entries--, at += ENTRY) {
        if (number(p + at, 2, little) != ORIENTATION) continue;
        uint32_t v = number(p + at + 8, 2, little);
        bool one = number(p + at + 2, 2, little) == SHORT && number(p + at + 4, 4, little) == 1;
        return one && v >= 1 && v <= 8 ? v : 1;
    }
    return 1;
}

/* The segments before the first scan. */
static uint32_t of_jpeg(const uint8_t *p, size_t n)
{
    for (size_t at = 2; at < n;) {
        while (at < n && p[at] == 0xff) at++;
        if (n - at < 3 || p[at] == 0xda || p[at] == 0xd9) return 1;
        uint8_t mark = p[at++];
        size_t len = number(p + at, 2, false);
        if (len < 2 || len > n - at) return 1;
        if (mark == 0xe1 && len >= 8 && memcmp(p + at + 2, "Exif\0", 6) == 0)
            return of_tiff(p + at + 8, len - 8);
        at += len;
        if (at < n && p[at] != 0xff) return 1;
    }
    return 1;
}

static uint32_t of_png(const uint8_t *p, size_t n)
{
    for (size_t at = 8; n - at >= 12;) {
        size_t len = number(p + at, 4, false);
        if (len > n - at - 12) return 1;
        if (memcmp(p + at + 4, "eXIf", 4) == 0) return of_tiff(p + at + 8, len);
        at += len + 12;
    }
    return 1;
}

uint32_t vkt__exif_orientation(const uint8_t *p, size_t n)
{
    if (n >= 3 && memcmp(p, "\xff\xd8\xff", 3) == 0) return of_jpeg(p, n);
    if (n >= 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0) return of_png(p, n);
    if (vkt__webp_is(p, n)) {
        size_t tiff_n;
        const uint8_t *tiff = vkt__webp_exif(p, n, &tiff_n);
        return tiff_n ? of_tiff(tiff, tiff_n) : 1;
    }
    return 1;
}

void vkt__exif_turn(uint32_t orientation, const uint8_t *from, uint32_t w, uint32_t h,
                    uint32_t channels, uint8_t *to)
{
    /* A bit a value from 1 on: the stored x or y counts from the other end. */
    bool swap = vkt__exif_swaps(orientation), flip_x = 0x18C >> orientation & 1,
         flip_y = 0xD8 >> orientation & 1;
    uint32_t to_w = swap ? h : w, to_h = swap ? w : h;
    for (uint32_t y = 0; y < to_h; y++)
        for (uint32_t x = 0; x < to_w; x++, to += channels) {
            uint32_t u = swap ? y : x, v = swap ? x : y;
            if (flip_x) u = w - 1 - u;
            if (flip_y) v = h - 1 - v;
            memcpy(to, from + ((size_t)v * w + u) * channels, channels);
        }
}
