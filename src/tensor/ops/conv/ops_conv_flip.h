/* Filters of gradients. */
#ifndef VKT_TENSOR_OPS_CONV_FLIP_H
#define VKT_TENSOR_OPS_CONV_FLIP_H

#include "tensor/graph/op.h"

/* w with each tap transposed: the filter of the gradient of x. */
vkt_tensor *vkt__conv_flip(vkt_graph *g, vkt_tensor *w, uint32_t groups);

#endif
