/* instance_map.h */
#include <math.h>

#include "data/pictures/instance_map.h"

enum { NUMBERS = UINT16_MAX + 1, N = VKT__INSTANCE_NUMBERS };

/* All of one number that touches pixel i becomes 0; stack: room for w x h. */
static void clear(uint16_t *map, uint32_t w, uint32_t h, uint32_t i, uint32_t *stack)
{
    uint16_t number = map[i];
    size_t n = 0;
    stack[n++] = i;
    map[i] = 0;
    while (n) {
        uint32_t at = stack[--n], x = at % w, y = at / w;
        for (uint32_t v = y ? y - 1 : 0; v <= VKT_MIN(y + 1, h - 1); v++)
            for (uint32_t u = x ? x - 1 : 0; u <= VKT_MIN(x + 1, w - 1); u++) {
                if (map[(size_t)v * w + u] != number) continue;
                map[(size_t)v * w + u] = 0;
                stack[n++] = v * w + u;
            }
    }
}

vkt_status vkt__instances_look(const uint16_t *map, uint32_t w, uint32_t h,
                               vkt__instances_seen *out, vkt__areas *areas)
{
    vkt_status st;
    size_t n = (size_t)w * h;
    uint32_t *count = NULL, *stack = NULL;
    uint16_t *left = NULL;
    *out = (vkt__instances_seen) { 0 };
    VKT_TRY(vkt__alloc_large(NUMBERS, sizeof *count, "the instances", &count));
    VKT_TRY(vkt__alloc_large(n, sizeof *stack, "the instances", &stack));
    VKT_TRY(vkt__alloc_large(n, sizeof *left, "the instances", &left));
    memset(count, 0, NUMBERS * sizeof *count);
    memcpy(left, map, n * sizeof *left);
    for (size_t i = 0; i < n; i++) count[map[i]]++;
    for (uint32_t k = 1; k < NUMBERS; k++) {
        if (!count[k]) continue;
        out->least_pixels = out->n ? VKT_MIN(out->least_pixels, count[k]) : count[k];
        out->most_pixels = VKT_MAX(out->most_pixels, count[k]);
        out->pixels += count[k];
        out->most = k;
        out->n++;
        if (!areas) continue;
        if (areas->n == areas->cap)
            areas->item = vkt__grow(areas->item, areas->n, &areas->cap, sizeof *areas->item);
        areas->item[areas->n++] = count[k];
    }
    for (uint32_t i = 0; i < n; i++)
        if (left[i]) {
            clear(left, w, h, i, stack);
            out->pieces++;
        }
fail:
    free(count);
    free(stack);
    free(left);
    return st;
}

typedef struct instance {
    double x, y, n; /* its pixels' sums, then its centre */
} instance;

/* The bell of a centre, where no other is higher. */
static void ring(const instance *c, uint32_t w, uint32_t h, vkt_label *y)
{
    static const double pi = 3.14159265358979323846;
    double s = fmax(sqrt(c->n / pi) / 3, 1), reach = 4 * s;
    uint32_t left = (uint32_t)fmax(c->x - reach, 0), top = (uint32_t)fmax(c->y - reach, 0),
             right = (uint32_t)fmin(c->x + reach + 1, w), low = (uint32_t)fmin(c->y + reach + 1, h);
    for (uint32_t v = top; v < low; v++)
        for (uint32_t u = left; u < right; u++) {
            double dx = u + 0.5 - c->x, dy = v + 0.5 - c->y;
            vkt_label *to = &y[((size_t)v * w + u) * N + 1];
            to->f = fmaxf(to->f, (float)exp(-(dx * dx + dy * dy) / (2 * s * s)));
        }
}

vkt_status vkt__instance_target(const uint8_t *map, uint32_t w, uint32_t h, vkt_label *y)
{
    vkt_status st;
    size_t n = (size_t)w * h;
    instance *all = NULL;
    uint16_t number;
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(&number, map + i * sizeof number, sizeof number);
        most = VKT_MAX(most, number);
        y[i * N].f = (float)number;
        y[i * N + 1].f = y[i * N + 2].f = y[i * N + 3].f = 0;
    }
    VKT_TRY(vkt__alloc_large(most + 1ull, sizeof *all, "the instances", &all));
    memset(all, 0, (most + 1ull) * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        instance *of = &all[(uint32_t)y[i * N].f];
        of->x += (double)(i % w) + 0.5;
        of->y += (double)(i / w) + 0.5;
        of->n++;
    }
    for (uint32_t k = 1; k <= most; k++) {
        if (!(all[k].n > 0)) continue;
        all[k].x /= all[k].n;
        all[k].y /= all[k].n;
        ring(&all[k], w, h, y);
    }
    for (size_t i = 0; i < n; i++) {
        const instance *of = &all[(uint32_t)y[i * N].f];
        if (!(y[i * N].f > 0)) continue;
        y[i * N + 2].f = (float)(of->x - (double)(i % w) - 0.5);
        y[i * N + 3].f = (float)(of->y - (double)(i / w) - 0.5);
    }
fail:
    free(all);
    return st;
}
