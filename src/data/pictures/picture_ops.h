/* Private to src/data: what can be done to a picture of bytes [h, w, C]: places moved by one map,
 * tones and colours changed. Functions of their arguments; RandAugment draws from its dice. */
#ifndef VKT_DATA_PICTURE_OPS_H
#define VKT_DATA_PICTURE_OPS_H

#include "data/parts/parts.h"

typedef struct vkt__pixels {
    uint8_t *data;
    uint32_t w, h, channels; /* 1 or 3 */
} vkt__pixels;

/* Draws of one example: the next of a sequence that is a function of seed. */
typedef struct vkt__dice {
    uint64_t seed, next;
} vkt__dice;
double vkt__roll(vkt__dice *d); /* [0, 1) */
double vkt__between(vkt__dice *d, double low, double high);

/* Where a pixel of the new picture comes from in the old one: (x, y, 1) by a matrix, row by row,
 * divided by the third. */
typedef struct vkt__warp {
    double m[9];
} vkt__warp;
vkt__warp vkt__warp_none(void);
/* By degrees about the middle, counter-clockwise as one sees it. */
vkt__warp vkt__warp_rotation(double degrees, uint32_t w, uint32_t h);
/* The four corners of the new picture, from the upper left one clockwise, come from these places.
 * Source: Heckbert 1989, Fundamentals of Texture Mapping, 2.2.3. */
vkt__warp vkt__warp_perspective(const double corners[8], uint32_t w, uint32_t h);
/* First as `a` says, then of the picture that is made so as `b`. */
vkt__warp vkt__warp_then(vkt__warp a, vkt__warp b);
/* Back, up to a factor. */
vkt__warp vkt__warp_inverse(vkt__warp m);
/* Bilinear between pixels' middles; beyond the edge its pixels are repeated. */
void vkt__warp_apply(const vkt__warp *m, const vkt__pixels *from, uint8_t *to);

/* The picture's pixels [n, channels], of one or three channels, in red, green and blue. */
void vkt__pixels_rgb(const uint8_t *pixels, uint32_t channels, size_t n, uint8_t *rgb);
/* The k-th colour, 0 to 255, from a turn of the hues on; neighbouring numbers have colours far
 * apart. */
void vkt__tint(double turn, uint32_t k, double rgb[3]);
/* A pixel of what is number k: nearly half of it is of its colour. */
void vkt__tint_pixel(uint8_t *rgb, uint32_t k);
#define VKT__MARK_TURN 0.1 /* where the colours of boxes and crosses begin */
/* A cross at a place of an RGB picture, its arms that long, in the k-th colour, with a dark edge;
 * what lies beyond the edge is not drawn. Neighbouring numbers have colours far apart. */
void vkt__mark_cross(uint8_t *rgb, uint32_t w, uint32_t h, double x, double y, uint32_t arm,
                     uint32_t k);
/* A line from a place to another in the k-th colour; what lies beyond the edge is not drawn. Places
 * are no further than the picture's sides beyond it. */
void vkt__mark_line(uint8_t *rgb, uint32_t w, uint32_t h, const double from[2], const double to[2],
                    uint32_t k);
/* Of three channels: the distance from grey (BT.601's luma) times `factor`; the hue turned by a
 * share of the circle. */
void vkt__saturate(const vkt__pixels *p, double factor);
void vkt__turn_hue(const vkt__pixels *p, double share);

/* n operations of the fourteen at magnitude 0 to 30, in place; spare: as many bytes. Source: Cubuk
 * et al. 2019 (arXiv 1909.13719), magnitudes as torchvision's; edge pixels are repeated where it
 * would fill. */
enum { VKT__RANDAUGMENT_MOST = 16, VKT__RANDAUGMENT_OPS = 14 };
void vkt__rand_augment(vkt__dice *d, uint32_t n, double magnitude, const vkt__pixels *p,
                       uint8_t *spare);
/* The k-th operation by itself, strength of either sign. */
void vkt__rand_augment_op(uint32_t k, double magnitude, double sign, const vkt__pixels *p,
                          uint8_t *spare);

#endif
