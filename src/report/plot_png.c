/* plot.h: the PNG canvas, pixels are blended by how much of them a shape covers; the
 * letters are stb_easy_font's, ASCII only. */
#include <stb_easy_font.h>

#include <math.h>

#include "base/os.h"
#include "formats/png.h"
#include "report/plot.h"

enum { SCALE = 2, GLYPH_BYTES = 64 << 10 };

typedef struct image {
    int w, h;
    uint8_t *rgb; /* [h, w, 3] */
} image;

static uint32_t color_of(int ink)
{
    static const uint32_t series[VKT__N_COLORS] = { 0x2f4bd2, 0xfa5718, 0x28a07e, 0xbb6fda,
                                                    0x632517, 0x7e5186, 0xae3807, 0x1d3769 };
    return ink == VKT__INK_TEXT   ? 0x222222
           : ink == VKT__INK_AXIS ? 0x888888
           : ink == VKT__INK_GRID ? 0xdddddd
                                  : series[(ink - VKT__INK_SERIES) % VKT__N_COLORS];
}

static void blend(image *m, int x, int y, uint32_t color, double cover)
{
    if (x < 0 || y < 0 || x >= m->w || y >= m->h || cover <= 0) return;
    uint8_t *p = m->rgb + 3 * ((size_t)y * (size_t)m->w + (size_t)x);
    for (int k = 0; k < 3; k++) {
        double c = (double)(color >> (16 - 8 * k) & 255);
        p[k] = (uint8_t)(p[k] + (c - p[k]) * VKT_MIN(cover, 1) + 0.5);
    }
}

/* A segment with round ends: covered by the distance of a pixel's centre. */
static void segment(image *m, double x0, double y0, double x1, double y1, double width,
                    uint32_t color, double alpha)
{
    double r = width / 2, dx = x1 - x0, dy = y1 - y0, len2 = dx * dx + dy * dy;
    int from_y = (int)fmax(floor(fmin(y0, y1) - r - 1), 0),
        to_y = (int)fmin(ceil(fmax(y0, y1) + r + 1), m->h - 1);
    int from_x = (int)fmax(floor(fmin(x0, x1) - r - 1), 0),
        to_x = (int)fmin(ceil(fmax(x0, x1) + r + 1), m->w - 1);
    for (int y = from_y; y <= to_y; y++)
        for (int x = from_x; x <= to_x; x++) {
            double px = x + 0.5 - x0, py = y + 0.5 - y0;
            double t = len2 > 0 ? fmin(fmax((px * dx + py * dy) / len2, 0), 1) : 0;
            double d = hypot(px - t * dx, py - t * dy);
            blend(m, x, y, color, alpha * fmin(fmax(r + 0.5 - d, 0), 1));
        }
}

static void line(void *to, const double *xy, size_t n, int ink, double width, bool faint)
{
    for (size_t i = 1; i < n; i++)
        if (!isnan(xy[2 * i]) && !isnan(xy[2 * i - 2]))
            segment(to, SCALE * xy[2 * i - 2], SCALE * xy[2 * i - 1], SCALE * xy[2 * i],
                    SCALE * xy[2 * i + 1], SCALE * width, color_of(ink), faint ? 0.3 : 1);
}

/* Where a horizontal line crosses the polygon's sides, from left to right. */
static size_t cuts_at(const double *xy, size_t n, double at, double *cut)
{
    size_t cuts = 0;
    for (size_t i = 0; i < n; i++) {
        size_t j = (i + 1) % n;
        double ya = SCALE * xy[2 * i + 1], yb = SCALE * xy[2 * j + 1];
        if ((ya <= at) == (yb <= at)) continue;
        double x = SCALE * (xy[2 * i] + (at - ya) / (yb - ya) * (xy[2 * j] - xy[2 * i]));
        size_t p = cuts++;
        for (; p > 0 && cut[p - 1] > x; p--) cut[p] = cut[p - 1];
        cut[p] = x;
    }
    return cuts;
}

/* Even-odd filling: four lines of samples to a pixel's height, exact along x. */
static void fill(void *to, const double *xy, size_t n, int ink, bool faint)
{
    image *m = to;
    enum { SAMPLES = 4 };
    double low = INFINITY, high = -INFINITY, *cut = vkt__alloc((n + 1) * sizeof *cut),
           *cover = vkt__alloc((size_t)m->w * sizeof *cover);
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, SCALE * xy[2 * i + 1]);
        high = fmax(high, SCALE * xy[2 * i + 1]);
    }
    for (int y = (int)fmax(floor(low), 0); y <= (int)fmin(ceil(high), m->h - 1); y++) {
        memset(cover, 0, (size_t)m->w * sizeof *cover);
        for (int k = 0; k < SAMPLES; k++) {
            size_t cuts = cuts_at(xy, n, y + (k + 0.5) / SAMPLES, cut);
            for (size_t i = 0; i + 1 < cuts; i += 2)
                for (int x = (int)fmax(floor(cut[i]), 0);
                     x <= (int)fmin(floor(cut[i + 1]), m->w - 1); x++)
                    cover[x] += fmax(fmin(cut[i + 1], x + 1) - fmax(cut[i], x), 0) / SAMPLES;
        }
        for (int x = 0; x < m->w; x++) blend(m, x, y, color_of(ink), cover[x] * (faint ? 0.3 : 1));
    }
    free(cut);
    free(cover);
}

static void dot(void *to, double x, double y, int ink, bool cross, const char *label)
{
    (void)label;
    x *= SCALE;
    y *= SCALE;
    if (!cross) {
        segment(to, x, y, x, y, 7 * SCALE, color_of(ink), 1);
        return;
    }
    segment(to, x - 8, y - 8, x + 8, y + 8, 2 * SCALE, color_of(ink), 1);
    segment(to, x - 8, y + 8, x + 8, y - 8, 2 * SCALE, color_of(ink), 1);
}

/* One corner of stb_easy_font's quads. */
typedef struct corner {
    float x, y, z;
    unsigned char color[4];
} corner;

static void rectangle(image *m, double x0, double y0, double x1, double y1)
{
    for (int y = (int)floor(y0); y <= (int)floor(y1); y++)
        for (int x = (int)floor(x0); x <= (int)floor(x1); x++)
            blend(m, x, y, color_of(VKT__INK_TEXT),
                  fmax(fmin(x1, x + 1) - fmax(x0, x), 0) * fmax(fmin(y1, y + 1) - fmax(y0, y), 0));
}

static void text(void *to, double x, double y, double size, vkt__anchor anchor, bool bold, bool up,
                 const char *t)
{
    image *m = to;
    char ascii[200];
    size_t n = 0;
    for (const char *p = t; *p && n + 1 < sizeof ascii; p++) {
        unsigned char b = (unsigned char)*p;
        if ((b & 0xc0) == 0x80) continue; /* the rest of a character */
        ascii[n++] = b >= 32 && b < 127 ? *p : '?';
    }
    ascii[n] = 0;
    /* The font's letters are 7 high above the baseline. */
    double s = SCALE * size / 10.5, width = s * stb_easy_font_width(ascii);
    double shift = anchor == VKT__MIDDLE ? width / 2 : anchor == VKT__END ? width : 0;
    corner *c = vkt__alloc(GLYPH_BYTES);
    int quads = stb_easy_font_print(0, 0, ascii, NULL, c, GLYPH_BYTES);
    for (int q = 0; q < quads; q++) {
        double x0 = s * c[4 * q].x - shift, y0 = s * (c[4 * q].y - 7),
               x1 = s * c[4 * q + 2].x - shift, y1 = s * (c[4 * q + 2].y - 7);
        if (bold) x1 += 0.6 * SCALE;
        if (up)
            rectangle(m, SCALE * x + y0, SCALE * y - x1, SCALE * x + y1, SCALE * y - x0);
        else
            rectangle(m, SCALE * x + x0, SCALE * y + y0, SCALE * x + x1, SCALE * y + y1);
    }
    free(c);
}

vkt_status vkt__plot_png(const vkt__plot *p, const char *path)
{
    double width, height;
    vkt__plot_size(p, &width, &height);
    image m = { .w = (int)(SCALE * width), .h = (int)(SCALE * height) };
    m.rgb = vkt__alloc((size_t)m.w * (size_t)m.h * 3);
    memset(m.rgb, 255, (size_t)m.w * (size_t)m.h * 3);
    vkt__plot_draw(p, &(vkt__canvas) { &m, line, fill, dot, text, NULL });
    vkt_status st = vkt__png_write(path, (uint32_t)m.w, (uint32_t)m.h, 3, m.rgb);
    free(m.rgb);
    return st;
}
