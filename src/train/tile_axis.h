/* Tiles of a picture that is larger than what a model sees, along one axis: where they are, and how
 * much each counts where two lie. It knows no pixels. */
#ifndef VKT_TRAIN_TILE_AXIS_H
#define VKT_TRAIN_TILE_AXIS_H

#include <stdint.h>

typedef struct vkt__tile_axis {
    uint32_t length, tile, overlap, n;
} vkt__tile_axis;

/* The fewest tiles that cover `length`, each but the last `overlap` before the end of the one
 * before; the last ends with the picture. One of a picture that is no longer than a tile. */
vkt__tile_axis vkt__tile_axis_of(uint32_t length, uint32_t tile, uint32_t overlap);
/* Where tile i begins. */
uint32_t vkt__tile_place(const vkt__tile_axis *a, uint32_t i);
/* How much a place of tile i counts, 0 to 1; `at`: pixels from the tile's beginning. Nothing in the
 * outer three eighths of the overlap, then a ramp as long as a quarter of it, then 1. What is at
 * the picture's own edge counts whole. */
double vkt__tile_share(const vkt__tile_axis *a, uint32_t i, double at);

#endif
