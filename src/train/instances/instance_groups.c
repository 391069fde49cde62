/* instance_groups.h */
#include <math.h>

#include "base/os.h"
#include "train/instances/instance_groups.h"
#include "train/instances/instance_loss.h"

enum { REACH = 3, MOST = UINT16_MAX, N = VKT__INSTANCE_OUTPUTS };

static bool is_peak(const float *heat, uint32_t h, uint32_t w, uint32_t x, uint32_t y)
{
    float at = heat[((size_t)y * w + x) * N];
    if (!(at >= VKT__HEAT_LEAST)) return false;
    for (uint32_t v = y > REACH ? y - REACH : 0; v <= VKT_MIN(y + REACH, h - 1); v++)
        for (uint32_t u = x > REACH ? x - REACH : 0; u <= VKT_MIN(x + REACH, w - 1); u++) {
            float other = heat[((size_t)v * w + u) * N];
            bool before = v < y || (v == y && u < x);
            if (other > at || (other == at && before)) return false;
        }
    return true;
}

static void find_centres(vkt__instance_groups *g, const float *out, uint32_t h, uint32_t w)
{
    g->n = g->n_more = 0;
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) {
            if (!is_peak(out + VKT__INSTANCE_HEAT, h, w, x, y)) continue;
            if (g->n == MOST) {
                g->n_more++;
                continue;
            }
            if (g->n == g->centre_cap)
                g->centre = vkt__grow(g->centre, g->n, &g->centre_cap, sizeof *g->centre);
            float score = out[((size_t)y * w + x) * N + VKT__INSTANCE_HEAT];
            g->centre[g->n++] = (vkt__centre) { x, y, VKT_MIN(score, 1), 0 };
        }
}

/* Index of the centre that is nearest to a place. They are sorted by their rows, so that those far
 * above and below need not be asked. */
static uint32_t nearest(const vkt__instance_groups *g, double x, double y)
{
    uint32_t low = 0, high = g->n, best = g->n;
    double least = INFINITY;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (g->centre[middle].y + 0.5 < y)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t up = low, down = low; /* [up, down) was asked */
    while (up > 0 || down < g->n) {
        double above = up > 0 ? y - g->centre[up - 1].y - 0.5 : INFINITY,
               below = down < g->n ? g->centre[down].y + 0.5 - y : INFINITY;
        if (!(fmin(above, below) * fmin(above, below) <= least)) break;
        uint32_t k = above <= below ? --up : down++;
        double dx = g->centre[k].x + 0.5 - x, dy = g->centre[k].y + 0.5 - y, d = dx * dx + dy * dy;
        if (d < least || (d == least && k < best)) least = d, best = k;
    }
    return best;
}

/* Numbers without gaps. */
static void renumber(vkt__instance_groups *g, size_t n)
{
    uint16_t *to = vkt__alloc((g->n + 1ull) * sizeof *to);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < g->n; k++) {
        if (!g->centre[k].pixels) continue;
        g->centre[kept] = g->centre[k];
        to[k + 1] = (uint16_t)++kept;
    }
    for (size_t i = 0; i < n; i++) g->map[i] = to[g->map[i]];
    g->n = kept;
    free(to);
}

vkt_status vkt__instance_group(vkt__instance_groups *g, const float *out, uint32_t h, uint32_t w)
{
    vkt_status st = VKT_OK;
    size_t n = (size_t)h * w;
    if (n > g->map_cap) {
        free(g->map);
        g->map = NULL;
        g->map_cap = 0;
        VKT_TRY(vkt__alloc_large(n, sizeof *g->map, "the instances", &g->map));
        g->map_cap = n;
    }
    find_centres(g, out, h, w);
    for (size_t i = 0; i < n; i++, out += N) {
        g->map[i] = 0;
        double x = (double)(i % w) + 0.5 + (double)out[VKT__INSTANCE_RIGHT],
               y = (double)(i / w) + 0.5 + (double)out[VKT__INSTANCE_DOWN];
        if (!(out[VKT__INSTANCE_MASK] > 0) || !isfinite(x) || !isfinite(y)) continue;
        uint32_t k = nearest(g, x, y);
        if (k == g->n) continue;
        g->centre[k].pixels++;
        g->map[i] = (uint16_t)(k + 1);
    }
    renumber(g, n);
fail:
    return st;
}

void vkt__instance_groups_finish(vkt__instance_groups *g)
{
    free(g->map);
    free(g->centre);
    *g = (vkt__instance_groups) { 0 };
}
