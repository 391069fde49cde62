/* RandAugment: picture_ops.h. */
#include <math.h>

#include "data/pictures/picture_ops.h"

typedef struct action {
    double strength, sign;
    const vkt__pixels *p;
    uint8_t *spare;
} action;

static size_t bytes(const action *a)
{
    return (size_t)a->p->w * a->p->h * a->p->channels;
}

static uint8_t byte(double v)
{
    return (uint8_t)VKT_MIN(VKT_MAX(v + 0.5, 0), 255);
}

static void by_table(const action *a, const uint8_t table[256])
{
    size_t n = bytes(a);
    for (size_t i = 0; i < n; i++) a->p->data[i] = table[a->p->data[i]];
}

/* ---- places ---- */

static void warp(const action *a, vkt__warp m)
{
    vkt__warp_apply(&m, a->p, a->spare);
    memcpy(a->p->data, a->spare, bytes(a));
}

static void identity(const action *a)
{
    (void)a;
}

static void shear_x(const action *a)
{
    double s = 0.3 * a->strength * a->sign;
    warp(a, (vkt__warp) { { 1, s, -s * (a->p->h - 1) / 2.0, 0, 1, 0, 0, 0, 1 } });
}

static void shear_y(const action *a)
{
    double s = 0.3 * a->strength * a->sign;
    warp(a, (vkt__warp) { { 1, 0, 0, s, 1, -s * (a->p->w - 1) / 2.0, 0, 0, 1 } });
}

static void translate_x(const action *a)
{
    double by = round(150.0 / 331 * a->p->w * a->strength) * a->sign;
    warp(a, (vkt__warp) { { 1, 0, by, 0, 1, 0, 0, 0, 1 } });
}

static void translate_y(const action *a)
{
    double by = round(150.0 / 331 * a->p->h * a->strength) * a->sign;
    warp(a, (vkt__warp) { { 1, 0, 0, 0, 1, by, 0, 0, 1 } });
}

static void rotate(const action *a)
{
    warp(a, vkt__warp_rotation(30 * a->strength * a->sign, a->p->w, a->p->h));
}

/* ---- tones ---- */

static double factor(const action *a)
{
    return 1 + 0.9 * a->strength * a->sign;
}

static void brightness(const action *a)
{
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = byte(v * factor(a));
    by_table(a, table);
}

static void contrast(const action *a)
{
    const vkt__pixels *p = a->p;
    size_t n = (size_t)p->w * p->h;
    double sum = 0;
    for (const uint8_t *c = p->data, *end = c + n * p->channels; c < end; c += p->channels)
        sum += p->channels == 3 ? 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] : c[0];
    uint8_t table[256];
    for (int v = 0; v < 256; v++)
        table[v] = byte(sum / (double)n + factor(a) * (v - sum / (double)n));
    by_table(a, table);
}

static void color(const action *a)
{
    if (a->p->channels == 3) vkt__saturate(a->p, factor(a));
}

/* Blended with its 3x3 mean, whose middle counts five times; the edge stays. */
static void sharpness(const action *a)
{
    const vkt__pixels *p = a->p;
    size_t row = (size_t)p->w * p->channels;
    memcpy(a->spare, p->data, bytes(a));
    for (uint32_t y = 1; y + 1 < p->h; y++)
        for (size_t x = p->channels; x + p->channels < row; x++) {
            const uint8_t *c = a->spare + y * row + x, *up = c - row, *down = c + row;
            size_t k = p->channels;
            double mean = (5.0 * c[0] + c[-(ptrdiff_t)k] + c[k] + up[0] + up[-(ptrdiff_t)k] +
                           up[k] + down[0] + down[-(ptrdiff_t)k] + down[k]) /
                          13;
            p->data[y * row + x] = byte(mean + factor(a) * (c[0] - mean));
        }
}

static void posterize(const action *a)
{
    int dropped = (int)round(4 * a->strength);
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)(v >> dropped << dropped);
    by_table(a, table);
}

static void solarize(const action *a)
{
    uint8_t table[256];
    for (int v = 0; v < 256; v++) table[v] = (uint8_t)(v >= 255 - 255 * a->strength ? 255 - v : v);
    by_table(a, table);
}

/* ---- each channel by what it has ---- */

static void auto_contrast(const action *a)
{
    for (uint32_t k = 0; k < a->p->channels; k++) {
        uint8_t low = 255, high = 0;
        for (size_t i = k; i < bytes(a); i += a->p->channels) {
            low = VKT_MIN(low, a->p->data[i]);
            high = VKT_MAX(high, a->p->data[i]);
        }
        for (size_t i = k; low < high && i < bytes(a); i += a->p->channels)
            a->p->data[i] = byte(255.0 * (a->p->data[i] - low) / (high - low));
    }
}

/* By the histogram's running sum, in steps of a 255th of all but the largest value's count. */
static void equalize(const action *a)
{
    for (uint32_t k = 0; k < a->p->channels; k++) {
        uint64_t count[256] = { 0 }, n = 0, last = 0, sum = 0;
        for (size_t i = k; i < bytes(a); i += a->p->channels, n++) count[a->p->data[i]]++;
        for (int v = 0; v < 256; v++)
            if (count[v]) last = count[v];
        uint64_t step = (n - last) / 255;
        uint8_t table[256];
        for (int v = 0; v < 256; sum += count[v++])
            table[v] = (uint8_t)(step ? VKT_MIN((sum + step / 2) / step, 255) : (uint64_t)v);
        for (size_t i = k; i < bytes(a); i += a->p->channels) a->p->data[i] = table[a->p->data[i]];
    }
}

static void (*const actions[VKT__RANDAUGMENT_OPS])(const action *a) = {
    identity, shear_x,  shear_y,   translate_x, translate_y, rotate,        brightness,
    color,    contrast, sharpness, posterize,   solarize,    auto_contrast, equalize,
};

void vkt__rand_augment_op(uint32_t k, double magnitude, double sign, const vkt__pixels *p,
                          uint8_t *spare)
{
    actions[k](&(action) { magnitude / 30, sign, p, spare });
}

void vkt__rand_augment(vkt__dice *d, uint32_t n, double magnitude, const vkt__pixels *p,
                       uint8_t *spare)
{
    for (; n > 0; n--) {
        uint32_t k = (uint32_t)(vkt__roll(d) * VKT__RANDAUGMENT_OPS);
        vkt__rand_augment_op(k, magnitude, vkt__roll(d) < 0.5 ? -1 : 1, p, spare);
    }
}
