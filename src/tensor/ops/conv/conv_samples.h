/* Sample cases of the convolution rows. */
#ifndef VKT_TENSOR_CONV_SAMPLES_H
#define VKT_TENSOR_CONV_SAMPLES_H

#include "tensor/graph/op.h"

const char *vkt__conv_sample(const vkt_op *op, vkt_graph *g, uint32_t i);
const char *vkt__conv_dx_sample(const vkt_op *op, vkt_graph *g, uint32_t i);
const char *vkt__conv_dw_sample(const vkt_op *op, vkt_graph *g, uint32_t i);
const char *vkt__conv_flip_sample(const vkt_op *op, vkt_graph *g, uint32_t i);

#endif
