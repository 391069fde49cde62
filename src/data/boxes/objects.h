/* Private to src/data: the objects of pictures, and where they lie once a picture is brought to the
 * model. Knows no file. */
#ifndef VKT_DATA_OBJECTS_H
#define VKT_DATA_OBJECTS_H

#include "data/parts/parts.h"
#include "data/pictures/geometry.h"

enum { VKT__OBJECTS_MOST = 2000 }; /* of a picture */

/* Left, top, right and bottom edge: pixels from the picture's upper left corner. */
typedef struct vkt__object {
    double box[4];
    uint32_t class;
} vkt__object;

struct vkt__objects {
    uint32_t n;
    uint64_t *first;     /* [n + 1] */
    vkt__object *item;   /* [first[n]] */
    uint32_t (*size)[2]; /* [n] width and height of each picture */
    uint32_t most;       /* objects of one picture */
};

/* Room for the objects of n pictures, n_items in all. OOM_HOST. */
vkt_status vkt__objects_create(uint32_t n, uint64_t n_items, vkt__objects **out);
void vkt__objects_destroy(vkt__objects **o);
uint64_t vkt__objects_hash(const vkt__objects *o, uint64_t seed);

/* The objects of example i on the picture that the model sees, clipped to it. moves:
 * how augmentation moved it; NULL: it did not. One is dropped where less than a quarter of its area
 * is left, or less than a pixel in either direction, but never where nothing moved. A mosaic
 * has those of all its pictures, and so has a blend. out [part.objects->most], times
 * vkt__moves_pictures; returns how many. */
uint32_t vkt__objects_seen(const vkt_dataset *ds, vkt_split split, uint64_t i,
                           const vkt__moves *moves, vkt__object *out);
/* A box on the model's picture, back on one of w x h, clipped to it. */
void vkt__objects_back(const vkt__schema *s, uint32_t w, uint32_t h, double box[4]);

#endif
