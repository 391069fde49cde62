/* The attention rows' twins. */
#ifndef VKT_TENSOR_ATTENTION_TWIN_H
#define VKT_TENSOR_ATTENTION_TWIN_H

#include "tensor/kernels/attention.h"

double vkt__att_dot(const double *a, const double *b, uint64_t n);
/* The twins. */
void vkt__attention_ref(const vkt_node *n, double *const *in, double *const *out);
void vkt__attention_bwd_ref(const vkt_node *n, double *const *in, double *const *out);
void vkt__attention_delta_ref(const vkt_node *n, double *const *in, double *const *out);

/* Attention on matrix units and its gradients, of samples: what units.c tries. */
const vkt_node *vkt__attention_units_sample(vkt_graph *g, vkt_dtype multiply);

#endif
