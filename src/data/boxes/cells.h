/* The cells of a detector: places of three grids, 8, 16 and 32 pixels apart, where each cell may
 * find one object. Which object each is to find, and where that lies. Knows no data set. */
#ifndef VKT_DATA_CELLS_H
#define VKT_DATA_CELLS_H

#include "data/boxes/objects.h"

enum {
    VKT__CELL_LEVELS = 3,
    VKT__CELL_STRIDE = 8,    /* of the finest grid, each next one twice as wide */
    VKT__CELL_MULTIPLE = 32, /* sides of the picture are multiples of it */
    VKT__CELL_TARGETS =
        5, /* class, or -1; left, top, right, bottom from the cell's middle, in strides */
};

typedef struct vkt__cell {
    double x, y, stride; /* its middle, in pixels */
} vkt__cell;
/* Cells that a picture of w x h has. */
uint32_t vkt__cells(uint32_t w, uint32_t h);
/* Cell k: the finest grid first, row by row. */
vkt__cell vkt__cell_at(uint32_t w, uint32_t h, uint32_t k);

/* An output is [cells, VKT__DETECT_BOX + classes]: for the box the middle's distance from the
 * cell's, right and down, then the logarithms of width and height, all in strides; for each class a
 * logit, to which VKT__DETECT_PRIOR is added, so that at first a cell finds nothing. */
enum { VKT__DETECT_BOX = 4 };
#define VKT__DETECT_PRIOR (-4.6f) /* a score of 0.01 */
#define VKT__DETECT_LONGEST 8.0f  /* of the logarithms */
#define VKT__DETECT_OVERLAP 0.6   /* of two boxes of a class from which on the lower score goes */
enum { VKT__FOUND_MOST = 300 };   /* boxes that are found on a picture */

/* out [cells, VKT__CELL_TARGETS] of objects that lie within w x h. An object belongs to the grid
 * that has between two and four strides along its longer side, the finest takes all that are
 * smaller and the widest all that are larger; there to the cells in it whose middles are less than
 * 1.5 strides from its own middle, and always to the one that its middle lies in. Of several
 * objects a cell takes the smallest, of equal ones the first. Source of the rules: FCOS, Tian et
 * al. 2019 (arXiv 1904.01355), with centre sampling. taken: [cells], to work in. */
void vkt__cells_assign(const vkt__object *object, uint32_t n, uint32_t w, uint32_t h,
                       vkt_label *out, double *taken);

#endif
