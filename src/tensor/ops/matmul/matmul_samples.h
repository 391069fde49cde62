/* Sample cases of the matmul rows. */
#ifndef VKT_TENSOR_MATMUL_SAMPLES_H
#define VKT_TENSOR_MATMUL_SAMPLES_H

#include "tensor/graph/op.h"

const char *vkt__matmul_sample(const vkt_op *op, vkt_graph *g, uint32_t i);
const char *vkt__matmul_act_bwd_sample(const vkt_op *op, vkt_graph *g, uint32_t i);
const char *vkt__matmul_parts_sample(const vkt_op *op, vkt_graph *g, uint32_t i);
const char *vkt__matmul_sum_sample(const vkt_op *op, vkt_graph *g, uint32_t i);

#endif
