/* What a row's gradient rule asks. */
#ifndef VKT_TENSOR_GRADIENT_H
#define VKT_TENSOR_GRADIENT_H

#include "tensor/graph/op.h"

bool vkt__needs(const vkt_tensor *t);
/* The gradient of the loss with respect to itself is a marker: rules that can do so skip
 * multiplying by it. */
bool vkt__is_ones(const vkt_tensor *dy);

#endif
