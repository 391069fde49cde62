/* Queries about nodes of the matmul rows. */
#ifndef VKT_TENSOR_OPS_MATMUL_H
#define VKT_TENSOR_OPS_MATMUL_H

#include "tensor/kernels/matmul.h"
#include "tensor/ops/ops.h"

vkt__product vkt__product_of(const vkt_node *n);

/* Whether it is a product whose kernel was named, whatever the device's class. */
bool vkt__matmul_is_named(const vkt_node *n);

#endif
