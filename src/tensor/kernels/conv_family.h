/* What a convolution kernel is made of: as with products (matmul_family.h) a family is what differs
 * in code, a tile what differs in numbers, a kernel a tile of a family. */
#ifndef VKT_TENSOR_CONV_FAMILY_H
#define VKT_TENSOR_CONV_FAMILY_H

#include "tensor/kernels/class_sets.h"
#include "tensor/kernels/conv.h"

typedef struct vkt__conv_family vkt__conv_family;

/* rows, columns: of the tile, columns per lane in the families of CPU drivers. steps: of the sum at
 * a time; thread_rows, thread_columns: an invocation's share, as of matmul_tiled, or a subgroup's.
 */
typedef struct vkt__conv_tile {
    const char *name;
    const vkt__conv_family *family;
    uint32_t rows, columns, steps, thread_rows, thread_columns;
} vkt__conv_tile;

/* A convolution that is launched. */
typedef struct vkt__conv_job {
    const vkt_caps *caps;
    const vkt__conv_geometry *q;
    uint64_t n, x, w, y;        /* elements of the result; addresses */
    uint32_t slices, per_group; /* output channels of a group */
} vkt__conv_job;

struct vkt__conv_family {
    vkt__shader shader, dw_shader; /* the latter for the gradient of a filter */
    uint32_t classes;              /* the devices that it is shaped for, and timed on */
    bool units;                    /* multiplies in 16 bits, and only where that is asked for */
    bool grouped_only;             /* timed only where there are groups, */
    const char *better;            /* or where this kernel does not fit; NULL: always */
    bool (*fits)(const vkt__conv_tile *t, const vkt_caps *caps, const vkt__conv_geometry *q);
    /* Workgroups of a slice of a filter's gradient; NULL: those of tiles of 32 x 64. */
    uint64_t (*dw_tiles)(const vkt_caps *caps, const vkt__conv_geometry *q);
    /* Completes what all kernels have: workgroup, constants; groups. */
    void (*launch)(const vkt__conv_tile *t, const vkt__conv_job *j, vkt__conv_launch *l);
};

extern const vkt__conv_family vkt__conv_naive, vkt__conv_block, vkt__conv_rows, vkt__conv_winograd,
    vkt__conv_tiled, vkt__conv_matrix;

/* The place of the workgroup's size among the constants. */
enum { VKT__CONV_WORKGROUP };

#endif
