/* Where the elements of a factor lie in the tensors that it was copied from: permutations, slices,
 * expansions and views walked back, so that a kernel that reads by strides needs no copy. */
#ifndef VKT_TENSOR_WALK_H
#define VKT_TENSOR_WALK_H

#include "tensor/graph/op.h"

enum { VKT__WALK_PIECES = 2 * VKT_MAX_RANK };

/* Which axes of a batch of matrices a piece belongs to. */
enum { VKT__WALK_LEADING, VKT__WALK_ROWS, VKT__WALK_COLS, VKT__WALK_AXES };

/* n steps of s elements. */
typedef struct vkt__piece {
    uint32_t n, axis;
    int64_t s;
} vkt__piece;

typedef struct vkt__walk_back {
    vkt_tensor *t;  /* a root, as which the elements are read */
    uint64_t at;    /* its element that is the first */
    uint32_t since; /* place of the first node that reads t on this way */
    float factor;   /* by which t's elements are multiplied */
    uint32_t n;
    vkt__piece p[VKT__WALK_PIECES]; /* of an axis the outer ones before the inner ones */
} vkt__walk_back;

/* t, whose last two dimensions are rows and columns, or where `turned` columns and rows, as node
 * `reader` reads it. */
vkt__walk_back vkt__walk_begin(vkt_tensor *t, bool turned, const vkt_node *reader);
/* Past the node that makes w->t, to what that reads; false: it does not merely move elements (or,
 * where `scales`, multiply them by a number), or not by strides; then w is as it was. */
bool vkt__walk_past(vkt__walk_back *w, bool scales);
/* The pieces of one axis, or of all (VKT__WALK_AXES), those joined that are walked as one, and
 * those of one step left out. How many there are. */
uint32_t vkt__walk_axis(const vkt__walk_back *w, uint32_t axis, vkt__piece *out);

#endif
