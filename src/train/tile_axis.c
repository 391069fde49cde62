/* tile_axis.h */
#include <math.h>

#include "base/memory.h"
#include "train/tile_axis.h"

vkt__tile_axis vkt__tile_axis_of(uint32_t length, uint32_t tile, uint32_t overlap)
{
    uint32_t step = tile - overlap;
    return (vkt__tile_axis) { length, tile, overlap,
                              length > tile ? (length - tile + step - 1) / step + 1 : 1 };
}

uint32_t vkt__tile_place(const vkt__tile_axis *a, uint32_t i)
{
    uint64_t at = (uint64_t)i * (a->tile - a->overlap);
    return a->length > a->tile ? (uint32_t)VKT_MIN(at, a->length - a->tile) : 0;
}

double vkt__tile_share(const vkt__tile_axis *a, uint32_t i, double at)
{
    double margin = 3.0 / 8 * a->overlap, ramp = a->overlap / 4.0,
           before = i ? (at - margin) / ramp : 1,
           after = i + 1 < a->n ? (a->tile - at - margin) / ramp : 1;
    return fmin(fmax(fmin(before, after), 0), 1);
}
