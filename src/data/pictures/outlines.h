/* Private to src/data: instances that are outlines, polygons or runs of pixels, and the masks that
 * they are. Knows no file. */
#ifndef VKT_DATA_OUTLINES_H
#define VKT_DATA_OUTLINES_H

#include "data/parts/parts.h"

enum { VKT__OUTLINES_MOST = UINT16_MAX }; /* of a picture: a mask numbers them in 16 bits */

/* One closed line: n numbers, x and y of each corner in pixels from the upper left corner; or of
 * runs their lengths, of pixels outside and inside in turn, from the first one of the first column
 * down, column by column. */
typedef struct vkt__ring {
    uint64_t from;
    uint32_t n;
} vkt__ring;

/* What several rings hold. runs: it has one, of runs. */
typedef struct vkt__outline {
    uint64_t from;
    uint32_t n;
    bool runs;
} vkt__outline;

/* Zeroed to begin with. */
typedef struct vkt__outlines {
    double *number;
    vkt__ring *ring;
    vkt__outline *item;
    size_t n_numbers, n_rings, n, cap_numbers, cap_rings, cap;
    uint64_t n_thin; /* polygons of less than three corners, which are left out */
    uint64_t n_bare; /* what has no outline that can be used, and is left out */
    /* Once it is known which pictures they are of: */
    uint32_t n_pictures;
    uint64_t *first;     /* [n_pictures] item of each */
    uint32_t *count;     /* [n_pictures] */
    uint32_t (*size)[2]; /* [n_pictures] width and height */
} vkt__outlines;

/* A new one, whose rings follow; items from `at` on are dropped. */
void vkt__outlines_begin(vkt__outlines *o, size_t at, bool runs);
/* Room for a ring's n numbers. */
double *vkt__outlines_ring(vkt__outlines *o, uint32_t n);
void vkt__outlines_destroy(vkt__outlines **o);

/* Where instances of a picture lie on each other. */
typedef struct vkt__overlaps {
    uint64_t n_shared; /* pixels of several */
    uint32_t n_hidden; /* instances that have no pixel of their own */
} vkt__overlaps;

/* The mask [h, w] of picture i, of 16 bits a pixel, for free(): number k + 1 is its k-th outline. A
 * pixel belongs to a polygon where a line from its middle crosses the polygon's edges an odd number
 * of times, to an outline where it belongs to one of its rings. What several have is the smallest
 * one's, of equal ones the first's. overlaps: NULL, or what is added to. OOM_HOST. */
vkt_status vkt__outlines_draw(const vkt__outlines *o, uint32_t i, uint16_t **mask,
                              vkt__overlaps *overlaps);
/* What it takes to draw n outlines from `first` on in a picture of w x h, in pixels that are filled
 * and rows that edges cross; and the most that one picture may take. */
double vkt__outlines_steps(const vkt__outlines *o, uint64_t first, uint32_t n, uint32_t w,
                           uint32_t h);
double vkt__outlines_most_steps(uint32_t w, uint32_t h);
uint64_t vkt__outlines_hash(const vkt__outlines *o, uint32_t i);

#endif
