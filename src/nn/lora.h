/* Low-rank adapters beside linear layers: what layers with a linear map call. */
#ifndef VKT_NN_LORA_H
#define VKT_NN_LORA_H

#include "nn/params.h"

/* The parameters of an adapter on the linear layer `module`, if it is a target. by_default: where
 * no targets are named. heads: not 0 where the rows of the layer's weights lie by head
 * (VKT_PARAM_ORDER_HEADS). Returns how many were added: 0 or 2. */
uint32_t vkt__lora_add(vkt_model *m, const char *module, uint32_t in, uint32_t out, uint32_t heads,
                       bool by_default);
/* ARG: a target has matched no layer. */
vkt_status vkt__lora_check(const vkt__adapters *a, const char *source);
/* y = layer(x), plus what the layer's adapter adds, where it has one. */
vkt_tensor *vkt__lora_build(vkt_model *m, vkt_graph *g, const char *module, vkt_tensor *x,
                            vkt_tensor *y, bool train);

#endif
