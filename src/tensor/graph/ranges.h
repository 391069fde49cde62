/* Bound tensors by the memory that they lie in: which of them overlap one, without a look at the
 * others. */
#ifndef VKT_TENSOR_RANGES_H
#define VKT_TENSOR_RANGES_H

#include "tensor/graph/op.h"

/* Begins as zeros. */
typedef struct vkt__ranges {
    struct vkt__range *list; /* a balanced tree; [0] stands for none */
    size_t n, cap;
    uint32_t top;
} vkt__ranges;

/* A bound tensor, at the place where it is bound now. */
void vkt__ranges_add(vkt__ranges *r, const vkt_tensor *t);
/* Calls fn for each tensor that was added and overlaps t where both were then and are now, t too;
 * for some more than once. Stops when fn returns true, which it then returns, too. */
bool vkt__ranges_find(const vkt__ranges *r, const vkt_tensor *t,
                      bool (*fn)(const vkt_tensor *other, void *arg), void *arg);
void vkt__ranges_finish(vkt__ranges *r);

#endif
