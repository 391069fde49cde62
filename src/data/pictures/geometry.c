/* geometry.h */
#include <math.h>

#include "data/pictures/geometry.h"

static uint32_t within(double v, uint32_t n)
{
    return v > 0 ? (uint32_t)VKT_MIN(v, (double)n - 1) : 0; /* 0 for what is no number, too */
}

static uint32_t shifted(uint32_t at, uint32_t n, bool mirror, int64_t by)
{
    int64_t v = (int64_t)(mirror ? n - 1 - at : at) + by;
    return v < 0 ? 0 : (uint32_t)VKT_MIN(v, (int64_t)n - 1);
}

/* The pixel of the box [from, from + length) that the middle of pixel `at` of n lies in. */
static uint32_t boxed(uint32_t at, uint32_t n, uint32_t from, uint32_t length)
{
    return from + (uint32_t)((2 * (uint64_t)at + 1) * length / (2 * (uint64_t)n));
}

void vkt__moves_back(const vkt__moves *m, uint32_t w, uint32_t h, uint32_t from_w, uint32_t from_h,
                     uint32_t x, uint32_t y, uint32_t *from_x, uint32_t *from_y)
{
    vkt__box all = { 0, 0, from_w, from_h }, box = m->crops ? m->box : all;
    x = shifted(x, w, m->flip, m->dx);
    y = shifted(y, h, m->turn, m->dy);
    if (m->warps) {
        const double *k = m->warp.m;
        double by = k[6] * x + k[7] * y + k[8], to_x = (k[0] * x + k[1] * y + k[2]) / by,
               to_y = (k[3] * x + k[4] * y + k[5]) / by;
        x = within(floor(to_x + 0.5), w);
        y = within(floor(to_y + 0.5), h);
    }
    *from_x = boxed(x, w, box.x, box.w);
    *from_y = boxed(y, h, box.y, box.h);
}

void vkt__moves_forth(const vkt__moves *m, uint32_t w, uint32_t h, uint32_t W, uint32_t H,
                      double *x, double *y)
{
    vkt__box all = { 0, 0, w, h }, from = m && m->crops ? m->box : all,
             to = m && m->crops ? (vkt__box) { 0, 0, W, H } : vkt__letterbox(w, h, W, H);
    *x = to.x + (*x - from.x) * to.w / from.w;
    *y = to.y + (*y - from.y) * to.h / from.h;
    if (!m) return;
    if (m->warps) {
        vkt__warp back = vkt__warp_inverse(m->warp);
        const double *k = back.m;
        double at_x = *x - 0.5, at_y = *y - 0.5, by = k[6] * at_x + k[7] * at_y + k[8];
        *x = (k[0] * at_x + k[1] * at_y + k[2]) / by + 0.5;
        *y = (k[3] * at_x + k[4] * at_y + k[5]) / by + 0.5;
    }
    *x -= (double)m->dx;
    *y -= (double)m->dy;
    if (m->flip) *x = W - *x;
    if (m->turn) *y = H - *y;
}

void vkt__moves_apply(const vkt__moves *moves, const uint8_t *from, uint32_t from_w,
                      uint32_t from_h, uint32_t channels, uint32_t w, uint32_t h, uint8_t *to)
{
    static const vkt__moves none = { 0 };
    uint32_t at_x, at_y;
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++, to += channels) {
            vkt__moves_back(moves ? moves : &none, w, h, from_w, from_h, x, y, &at_x, &at_y);
            memcpy(to, from + ((size_t)at_y * from_w + at_x) * channels, channels);
        }
}

vkt__box vkt__letterbox(uint32_t w, uint32_t h, uint32_t to_w, uint32_t to_h)
{
    double scale = VKT_MIN((double)to_w / w, (double)to_h / h);
    vkt__box b = { 0, 0, (uint32_t)(w * scale + 0.5), (uint32_t)(h * scale + 0.5) };
    b.w = VKT_MAX(VKT_MIN(b.w, to_w), 1);
    b.h = VKT_MAX(VKT_MIN(b.h, to_h), 1);
    b.x = (to_w - b.w) / 2;
    b.y = (to_h - b.h) / 2;
    return b;
}

uint32_t vkt__moves_pictures(const vkt__moves *moves)
{
    uint32_t n = 0;
    for (; moves; moves = moves->with) n += VKT_MAX(moves->n_tiles, 1);
    return VKT_MAX(n, 1);
}
