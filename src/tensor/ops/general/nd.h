/* What general ops share: shapes that are broadcast, strides, and the dispatch of nd.comp. */
#ifndef VKT_TENSOR_ND_H
#define VKT_TENSOR_ND_H

#include "tensor/graph/op.h"
#include "tensor/graph/record.h"

/* Strides of a shape's elements in order, as many as it has dimensions. */
typedef struct vkt__strides {
    int64_t s[VKT_MAX_RANK];
} vkt__strides;
vkt__strides vkt__strides_of(vkt_shape s);
/* Strides by which a tensor of shape `from` is read as one of shape `as`: 0 where it is repeated.
 */
vkt__strides vkt__strides_as(vkt_shape from, vkt_shape as);

/* The shape that both have when they are broadcast; false: they do not fit. */
bool vkt__broadcast(vkt_shape a, vkt_shape b, vkt_shape *out);
/* Where element i of a shape, walked in order, lies by these strides: for twins. */
uint64_t vkt__place_of(vkt_shape shape, const vkt__strides *strides, uint64_t i);

/* Of up to three operands, each with its strides over the shape. Dimensions that all of them walk
 * as one become one. */
typedef struct vkt__walk {
    uint32_t dims, n_operands;
    uint32_t d[VKT_MAX_RANK];
    int64_t s[3][VKT_MAX_RANK];
} vkt__walk;
vkt__walk vkt__walk_of(vkt_shape shape, const vkt__strides *strides, uint32_t n_operands);

/* A dispatch of nd.comp. Copies: y is NULL, and its strides are the result's. */
typedef struct vkt__nd {
    uint32_t part, fn;
    const vkt_tensor *x, *y, *w, *z;
    vkt_shape shape;
    vkt__strides strides[3]; /* of x, y, w */
    float s, t;
    uint64_t from, to; /* of copies: the first element of x, of z */
} vkt__nd;
void vkt__nd_dispatch(vkt__rec *rec, const vkt__nd *nd);

/* The copy of in[0] into out[0], walked by these strides from element `from` on; and its twin. */
void vkt__nd_copy(vkt__rec *rec, const vkt_node *n, const vkt__strides *strides, uint64_t from);
void vkt__nd_copy_ref(const vkt_node *n, const vkt__strides *strides, uint64_t from,
                      const double *in, double *out);
/* Whole numbers stay whole numbers. */
static inline vkt_dtype vkt__moved_type(const vkt_tensor *x)
{
    return x->dtype == VKT_U32 ? VKT_U32 : VKT_F32;
}

/* For shape rules: false, and an error, where a tensor has no such axis. */
bool vkt__has_axis(vkt_node *n, uint32_t axis);
/* For rows that compute nothing. */
double vkt__no_terms(const vkt_node *n);

/* vkt_scatter_add by sorting, of as many ids as there are; NULL: of none, or beyond 2^31. It has
 * no gradient. */
vkt_tensor *vkt__add_sorted(vkt_graph *g, vkt_tensor *x, vkt_tensor *ids, uint32_t axis,
                            uint32_t size);
/* An axis of x, for ops that go along it: x [outer, from, inner] -> y [outer, to, inner]. */
struct along_params vkt__along(const vkt_node *n);

#endif
