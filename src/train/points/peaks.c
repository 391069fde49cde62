/* peaks.h */
#include <math.h>

#include "train/points/peaks.h"

/* Of three neighbours the middle one is the highest: how far from it the top lies, in cells. */
static double top(double before, double at, double after)
{
    const double least = 1e-3; /* of the height: what is below has no shape */
    if (!(at > 0)) return 0;
    double a = log(fmax(before / at, least)), b = log(fmax(after / at, least)), bend = -2 * (a + b);
    return bend > 0 ? fmin(fmax((b - a) / bend, -0.5), 0.5) : 0;
}

void vkt__peaks(const float *heat, uint32_t h, uint32_t w, uint32_t n, uint32_t stride,
                vkt__point *point)
{
    size_t row = (size_t)w * n;
    for (uint32_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k; i < row * h; i += n)
            if (heat[i] > heat[best]) best = i;
        uint32_t y = (uint32_t)(best / row), x = (uint32_t)(best % row / n);
        double at = (double)heat[best], dx = 0, dy = 0;
        if (x > 0 && x + 1 < w) dx = top((double)heat[best - n], at, (double)heat[best + n]);
        if (y > 0 && y + 1 < h) dy = top((double)heat[best - row], at, (double)heat[best + row]);
        point[k] =
            (vkt__point) { (x + 0.5 + dx) * stride, (y + 0.5 + dy) * stride, fmin(fmax(at, 0), 1) };
    }
}
