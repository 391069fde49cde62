/* step_packing.h */
#include "train/step_packing.h"

/* The other kind is next; after the last window, the faster kind. */
static bool end_window(vkt__packing *p, double seconds)
{
    static const double LEAST_GAIN = 0.02;
    uint32_t kind = p->window % 2;
    double each = seconds / (double)p->n_steps;
    if (p->window < 2 || each < p->best[kind]) p->best[kind] = each;
    bool ended = ++p->window == VKT__PACK_WINDOWS;
    bool packs = ended ? p->best[1] < (1 - LEAST_GAIN) * p->best[0] : p->window % 2;
    p->n = packs ? p->most : 1;
    return ended;
}

bool vkt__packing_count(vkt__packing *p, uint32_t n, double now)
{
    bool chosen = false;
    if (p->window == VKT__PACK_WINDOWS) return false;
    if (p->start > 0) {
        p->n_steps += n;
        if (p->n_steps < VKT__PACK_WINDOW_STEPS) return false;
        chosen = end_window(p, now - p->start);
    }
    p->start = now;
    p->n_steps = 0;
    return chosen;
}

void vkt__packing_pause(vkt__packing *p)
{
    p->start = 0;
}
