/* Queries about nodes of the matmul rows. */
#ifndef VKT_TENSOR_OPS_MATMUL_H
#define VKT_TENSOR_OPS_MATMUL_H

#include "tensor/kernels/matmul.h"
#include "tensor/ops/ops.h"

/* Inputs of the product rows by number, after A and B: of the sums' epilogue, and what a step's
 * first micro-batch is known by. */
enum { VKT__MM_IN_BIAS = 2, VKT__MM_IN_V, VKT__MM_IN_R, VKT__MM_IN_STEP };

vkt__product vkt__product_of(const vkt_node *n);

/* Whether it is a product whose kernel was named, whatever the device's class. */
bool vkt__matmul_is_named(const vkt_node *n);

#endif
