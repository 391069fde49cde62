/* Private to src/data: the points of pictures, and where they lie once a picture is brought to the
 * model. Knows no file. */
#ifndef VKT_DATA_POSES_H
#define VKT_DATA_POSES_H

#include "data/parts/parts.h"
#include "data/pictures/geometry.h"

/* A target is [points + 1, VKT__POINT_NUMBERS]: x and y in pixels from the upper left corner of the
 * picture that the model sees, and 0: not there, 1: hidden, 2: seen. The last row is how large the
 * whole of them is: its longer side, the root of its area, both in the same pixels, and 0. */
enum { VKT__POINT_NUMBERS = 3 };

/* The heatmaps of a picture of w x h have cells of that many pixels. */
static inline uint32_t vkt__heat_stride(uint32_t w, uint32_t h)
{
    return VKT_MAX(w, h) < 128 ? 2 : 4;
}
enum { VKT__POINTS_MULTIPLE = 8 }; /* sides of the picture are multiples of it */

struct vkt__poses {
    uint32_t n, n_points;
    vkt__box *crop; /* [n] the part of its file's picture that an example is; its size alone where
                       it is all of it */
    double (*size)[2]; /* [n] longer side and area of what has the points, in pixels */
    double *at;        /* [n, n_points, VKT__POINT_NUMBERS] in pixels of the crop */
    uint32_t *mirror;  /* [n_points] the point that each becomes in a mirror; NULL: nobody knows */
};

/* Room for n. OOM_HOST. */
vkt_status vkt__poses_create(uint32_t n, uint32_t n_points, vkt__poses **out);
void vkt__poses_destroy(vkt__poses **p);
uint64_t vkt__poses_hash(const vkt__poses *p, uint64_t seed);

/* The target of example i, moved as its picture was; moves NULL: as it is. A point that lies on the
 * picture no more is not there. Without points none is there. */
void vkt__poses_target(const vkt_dataset *ds, vkt_split split, uint64_t i, const vkt__moves *moves,
                       vkt_label *y);
void vkt__poses_nothing(const vkt_dataset *ds, vkt_label *y);
/* Points of each name that are there in a split, [n_outputs]. */
void vkt__poses_count(const vkt_dataset *ds, vkt_split split, uint64_t *out);
/* A place on the model's picture, back in one of w x h. */
void vkt__poses_back(const vkt__schema *s, uint32_t w, uint32_t h, double *x, double *y);

/* Which point each of `name` [n] becomes in a mirror. pairs: "a:b, c:d"; "none": each stays what it
 * is; NULL: those whose names differ in left and right (l and r) alone. *known false: no name says
 * left or right, one has no other side, or two have the same. FORMAT: a pair of no two points. */
vkt_status vkt__poses_mirror(const char *const *name, uint32_t n, const char *pairs,
                             uint32_t *mirror, bool *known);
/* Points that a line joins, of "a:b, c:d" or "none", in the arena. FORMAT: a pair of no two points,
 * or too many. */
vkt_status vkt__poses_limbs(const char *const *name, uint32_t n, const char *pairs,
                            vkt__arena *arena, uint32_t (**limb)[2], uint32_t *n_limbs);
/* ARG: a flip, and nobody knows which points it exchanges. */
vkt_status vkt__poses_check(const vkt_dataset *ds, const vkt_augment *how);

#endif
