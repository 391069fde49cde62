/* picture_ops.h, except RandAugment. */
#include <math.h>

#include "data/pictures/picture_ops.h"

double vkt__roll(vkt__dice *d)
{
    return vkt_rand_uniform(d->seed, VKT_RNG_AUGMENT, d->next++);
}

double vkt__between(vkt__dice *d, double low, double high)
{
    return low + (high - low) * vkt__roll(d);
}

/* ---- places ---- */

vkt__warp vkt__warp_none(void)
{
    return (vkt__warp) { { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
}

vkt__warp vkt__warp_then(vkt__warp a, vkt__warp b)
{
    vkt__warp out = { { 0 } };
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < 3; k++) out.m[i] += a.m[i / 3 * 3 + k] * b.m[3 * k + i % 3];
    return out;
}

vkt__warp vkt__warp_inverse(vkt__warp w)
{
    const double *m = w.m;
    vkt__warp out;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            int a = (c + 1) % 3, b = (c + 2) % 3, d = (r + 1) % 3, e = (r + 2) % 3;
            out.m[3 * r + c] = m[3 * a + d] * m[3 * b + e] - m[3 * a + e] * m[3 * b + d];
        }
    return out;
}

vkt__warp vkt__warp_rotation(double degrees, uint32_t w, uint32_t h)
{
    double turn = degrees * acos(-1) / 180, c = cos(turn), s = sin(turn);
    double x = (w - 1) / 2.0, y = (h - 1) / 2.0;
    return (vkt__warp) { { c, -s, x - c * x + s * y, s, c, y - s * x - c * y, 0, 0, 1 } };
}

vkt__warp vkt__warp_perspective(const double q[8], uint32_t w, uint32_t h)
{
    double x1 = q[2] - q[4], x2 = q[6] - q[4], sx = q[0] - q[2] + q[4] - q[6];
    double y1 = q[3] - q[5], y2 = q[7] - q[5], sy = q[1] - q[3] + q[5] - q[7];
    double by = x1 * y2 - x2 * y1, g = (sx * y2 - x2 * sy) / by, k = (x1 * sy - sx * y1) / by;
    double u = 1.0 / VKT_MAX(w - 1, 1), v = 1.0 / VKT_MAX(h - 1, 1);
    return (vkt__warp) { { (q[2] - q[0] + g * q[2]) * u, (q[6] - q[0] + k * q[6]) * v, q[0],
                           (q[3] - q[1] + g * q[3]) * u, (q[7] - q[1] + k * q[7]) * v, q[1], g * u,
                           k * v, 1 } };
}

static double within(double v, uint32_t n)
{
    return v > 0 ? fmin(v, n - 1) : 0; /* 0 for what is no number, too */
}

void vkt__warp_apply(const vkt__warp *warp, const vkt__pixels *from, uint8_t *to)
{
    const double *m = warp->m;
    uint32_t w = from->w, h = from->h, C = from->channels;
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) {
            double by = m[6] * x + m[7] * y + m[8];
            double at_x = within((m[0] * x + m[1] * y + m[2]) / by, w),
                   at_y = within((m[3] * x + m[4] * y + m[5]) / by, h);
            uint32_t left = (uint32_t)at_x, top = (uint32_t)at_y;
            size_t right = left + 1 < w ? C : 0, below = top + 1 < h ? (size_t)w * C : 0;
            double a = at_x - left, b = at_y - top;
            const uint8_t *p = from->data + ((size_t)top * w + left) * C;
            for (uint32_t c = 0; c < C; c++, p++)
                *to++ = (uint8_t)((1 - b) * ((1 - a) * p[0] + a * p[right]) +
                                  b * ((1 - a) * p[below] + a * p[below + right]) + 0.5);
        }
}

/* ---- colours ---- */

static uint8_t byte(double v)
{
    return (uint8_t)VKT_MIN(VKT_MAX(v + 0.5, 0), 255);
}

void vkt__saturate(const vkt__pixels *p, double factor)
{
    size_t n = (size_t)p->w * p->h;
    VKT_ASSERT(p->channels == 3);
    for (uint8_t *c = p->data; n > 0; n--, c += 3) {
        double grey = 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2];
        for (int k = 0; k < 3; k++) c[k] = byte(grey + factor * (c[k] - grey));
    }
}

/* One channel of a colour of largest v, smallest v - span, at a place of the hexagon. */
static uint8_t on_hexagon(double v, double span, double place)
{
    double k = place - 6 * floor(place / 6);
    return byte(v - span * VKT_MAX(0, VKT_MIN(VKT_MIN(k, 4 - k), 1)));
}

void vkt__turn_hue(const vkt__pixels *p, double share)
{
    size_t n = (size_t)p->w * p->h;
    VKT_ASSERT(p->channels == 3);
    for (uint8_t *c = p->data; n > 0; n--, c += 3) {
        double r = c[0], g = c[1], b = c[2], v = fmax(r, fmax(g, b)),
               span = v - fmin(r, fmin(g, b));
        if (span == 0) continue;
        double hue = v == r ? (g - b) / span : v == g ? 2 + (b - r) / span : 4 + (r - g) / span;
        hue += 6 * share;
        c[0] = on_hexagon(v, span, 5 + hue);
        c[1] = on_hexagon(v, span, 3 + hue);
        c[2] = on_hexagon(v, span, 1 + hue);
    }
}

/* ---- marks ---- */

void vkt__pixels_rgb(const uint8_t *pixels, uint32_t channels, size_t n, uint8_t *rgb)
{
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < 3; k++)
            rgb[3 * i + k] = pixels[i * channels + (channels == 3 ? k : 0)];
}

void vkt__tint(double turn, uint32_t k, double rgb[3])
{
    double hue = fmod(turn + k * 0.618033988749895, 1) * 6;
    for (int c = 0; c < 3; c++) {
        double at = fmod(hue + 6 - 2 * c, 6);
        rgb[c] = 255 * fmin(fmax(fabs(at - 3) - 1, 0), 1);
    }
}

void vkt__tint_pixel(uint8_t *rgb, uint32_t k)
{
    const double share = 0.45;
    double tint[3];
    vkt__tint(0, k, tint);
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((1 - share) * rgb[c] + share * tint[c] + 0.5);
}

static void blot(uint8_t *rgb, uint32_t w, uint32_t h, int64_t x, int64_t y, const uint8_t color[3])
{
    if (x >= 0 && y >= 0 && x < w && y < h) memcpy(rgb + ((size_t)y * w + (size_t)x) * 3, color, 3);
}

static void mark_color(uint32_t k, uint8_t color[3])
{
    double tint[3];
    vkt__tint(VKT__MARK_TURN, k, tint);
    for (int c = 0; c < 3; c++) color[c] = (uint8_t)tint[c];
}

void vkt__mark_cross(uint8_t *rgb, uint32_t w, uint32_t h, double x, double y, uint32_t arm,
                     uint32_t k)
{
    static const uint8_t dark[3] = { 0, 0, 0 };
    int64_t at_x = (int64_t)floor(x), at_y = (int64_t)floor(y), n = arm;
    uint8_t color[3];
    mark_color(k, color);
    for (int64_t d = -n - 1; d <= n + 1; d++)
        for (int64_t e = -1; e <= 1; e++) {
            blot(rgb, w, h, at_x + d, at_y + e, dark);
            blot(rgb, w, h, at_x + e, at_y + d, dark);
        }
    for (int64_t d = -n; d <= n; d++) {
        blot(rgb, w, h, at_x + d, at_y, color);
        blot(rgb, w, h, at_x, at_y + d, color);
    }
}

void vkt__mark_line(uint8_t *rgb, uint32_t w, uint32_t h, const double from[2], const double to[2],
                    uint32_t k)
{
    double dx = to[0] - from[0], dy = to[1] - from[1],
           steps = ceil(fmax(fmax(fabs(dx), fabs(dy)), 1));
    uint8_t color[3];
    mark_color(k, color);
    if (!(fabs(dx) + fabs(dy) <= 4 * ((double)w + h))) return; /* also: no number */
    for (double i = 0; i <= steps; i++)
        blot(rgb, w, h, (int64_t)floor(from[0] + dx * i / steps),
             (int64_t)floor(from[1] + dy * i / steps), color);
}
