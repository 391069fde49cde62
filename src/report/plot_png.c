/* plot.h: the PNG canvas, pixels are blended by how much of them a shape covers. */
#include <math.h>

#include "base/os.h"
#include "formats/letters.h"
#include "formats/png.h"
#include "report/plot.h"

enum { SCALE = 2 };
static const double FAINT = 0.32; /* as page.css has it */

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
                    uint32_t color)
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
            blend(m, x, y, color, fmin(fmax(r + 0.5 - d, 0), 1));
        }
}

/* Faint lines are drawn apart and blended as a whole: where segments meet they are no darker. */
static void line(void *to, const double *xy, size_t n, int ink, double width, bool faint)
{
    image *m = to, apart = { .w = m->w, .h = m->h };
    size_t pixels = (size_t)m->w * (size_t)m->h;
    if (faint) apart.rgb = vkt__alloc(3 * pixels);
    for (size_t i = 1; i < n; i++)
        if (!isnan(xy[2 * i]) && !isnan(xy[2 * i - 2]))
            segment(faint ? &apart : m, SCALE * xy[2 * i - 2], SCALE * xy[2 * i - 1],
                    SCALE * xy[2 * i], SCALE * xy[2 * i + 1], SCALE * width,
                    faint ? 0xffffff : color_of(ink));
    for (size_t i = 0; faint && i < pixels; i++)
        blend(m, (int)(i % (size_t)m->w), (int)(i / (size_t)m->w), color_of(ink),
              FAINT * apart.rgb[3 * i] / 255);
    free(apart.rgb);
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
        for (int x = 0; x < m->w; x++)
            blend(m, x, y, color_of(ink), cover[x] * (faint ? FAINT : 1));
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
        segment(to, x, y, x, y, 7 * SCALE, color_of(ink));
        return;
    }
    segment(to, x - 8, y - 8, x + 8, y + 8, 2 * SCALE, color_of(ink));
    segment(to, x - 8, y + 8, x + 8, y - 8, 2 * SCALE, color_of(ink));
}

static void letter(void *to, int x, int y, double share)
{
    blend(to, x, y, color_of(VKT__INK_TEXT), share);
}

static void text(void *to, double x, double y, double size, vkt__anchor anchor, bool bold, bool up,
                 const char *t)
{
    double width = vkt__letters_width(t, SCALE * size, bold), shift = anchor == VKT__MIDDLE
                                                                          ? width / 2
                                                                      : anchor == VKT__END ? width
                                                                                           : 0;
    vkt__letters_draw(t, SCALE * x - (up ? 0 : shift), SCALE * y + (up ? shift : 0), SCALE * size,
                      bold, up ? VKT__UPWARD : VKT__LEVEL, letter, to);
}

vkt_status vkt__canvas_png(double width, double height,
                           void (*draw)(const void *what, const vkt__canvas *c), const void *what,
                           const char *path)
{
    image m = { .w = (int)(SCALE * width), .h = (int)(SCALE * height) };
    m.rgb = vkt__alloc((size_t)m.w * (size_t)m.h * 3);
    memset(m.rgb, 255, (size_t)m.w * (size_t)m.h * 3);
    draw(what, &(vkt__canvas) { &m, line, fill, dot, text, NULL });
    vkt_status st = vkt__png_write(path, (uint32_t)m.w, (uint32_t)m.h, 3, m.rgb);
    free(m.rgb);
    return st;
}

static void draw_plot(const void *what, const vkt__canvas *c)
{
    vkt__plot_draw(what, c);
}

vkt_status vkt__plot_png(const vkt__plot *p, const char *path)
{
    double width, height;
    vkt__plot_size(p, &width, &height);
    return vkt__canvas_png(width, height, draw_plot, p, path);
}
