/* Sample cases of the convolution rows. */
#ifndef VKT_TENSOR_CONV_SAMPLES_H
#define VKT_TENSOR_CONV_SAMPLES_H

#include "tensor/graph/op.h"

const char *vkt__conv_sample(const vkt_op *op, vkt_graph *g, uint32_t i);
const char *vkt__conv_dw_sample(const vkt_op *op, vkt_graph *g, uint32_t i);

/* Inputs of vkt__conv_dx, with h and w in the attributes. False past the last. */
typedef struct vkt__conv_dx_case {
    vkt_tensor *dy, *w;
    vkt_attr attr;
    const char *name;
} vkt__conv_dx_case;
bool vkt__conv_dx_case_of(vkt_graph *g, uint32_t i, vkt__conv_dx_case *c);
/* The filter of case i; NULL past the last. */
vkt_tensor *vkt__conv_case_filter(vkt_graph *g, uint32_t i, uint32_t *groups, const char **name);

#endif
