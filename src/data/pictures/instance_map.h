/* Private to src/data: masks of instances as numbers, and what a model learns of them. Knows no
 * file. */
#ifndef VKT_DATA_INSTANCE_MAP_H
#define VKT_DATA_INSTANCE_MAP_H

#include "data/parts/parts.h"

/* What a map [h, w] of numbers holds, 0: no instance. */
typedef struct vkt__instances_seen {
    uint32_t n, most; /* different numbers; the largest of them */
    uint32_t pieces;  /* pixels of one number that touch, by edges or corners, are one */
    uint32_t least_pixels, most_pixels; /* of an instance */
    uint64_t pixels;                    /* of all instances */
} vkt__instances_seen;
typedef struct vkt__areas {
    uint32_t *item;
    size_t n, cap;
} vkt__areas;
/* areas: NULL, or what gets the pixels of each instance. OOM_HOST. */
vkt_status vkt__instances_look(const uint16_t *map, uint32_t w, uint32_t h,
                               vkt__instances_seen *out, vkt__areas *areas);

/* map: [h, w] numbers of 16 bits as bytes -> y [h, w, VKT__INSTANCE_NUMBERS], of each pixel the
 * number of its instance, 0: none; how near it is to a centre, 1 at one: exp(-d^2 / 2 s^2) of the
 * nearest in units of its own s, a third of the radius of a disc with as many pixels, at least 1;
 * and how far right and down of its middle the centre of its own instance lies, in pixels. The
 * centre is the mean of the instance's pixels. Sources: centres and offsets, Cheng et al. 2020
 * (arXiv 1911.10194); s by size, Zhou et al. 2019 (1904.07850). OOM_HOST. */
vkt_status vkt__instance_target(const uint8_t *map, uint32_t w, uint32_t h, vkt_label *y);

#endif
