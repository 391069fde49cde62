/* Whose memory a tensor is. */
#ifndef VKT_TENSOR_VIEW_H
#define VKT_TENSOR_VIEW_H

#include "tensor/graph/op.h"

/* The tensor whose memory t is a view of; t itself where it is none; NULL for NULL. As strchr it
 * takes a const tensor and hands out what a caller with a right to may write. */
vkt_tensor *vkt__root(const vkt_tensor *t);
/* The tensor whose memory it is once in-place ops have been planned, too. */
vkt_tensor *vkt__home(const vkt_tensor *t);
/* Of t's memory, the element that t begins with. */
uint64_t vkt__view_at(const vkt_tensor *t);
/* Whether two roots share memory: the same one, or ranges of one bound buffer. */
bool vkt__overlap(const vkt_tensor *a, const vkt_tensor *b);

#endif
