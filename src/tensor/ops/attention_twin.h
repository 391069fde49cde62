/* What the attention rows and their twins share: inputs and sizes of a node. */
#ifndef VKT_TENSOR_ATTENTION_TWIN_H
#define VKT_TENSOR_ATTENTION_TWIN_H

#include "tensor/graph/op.h"

/* Inputs of the forward row; of the backward row, after the same four. */
enum { VKT__ATT_Q, VKT__ATT_K, VKT__ATT_V, VKT__ATT_DOCS, VKT__ATT_START };
enum { VKT__ATT_DY = VKT__ATT_START, VKT__ATT_LSE, VKT__ATT_DELTA };

typedef struct {
    uint32_t B, T, S, H, Hkv, D;
    uint64_t q_row, kv_row; /* elements from row to row */
} vkt__att_dims;
vkt__att_dims vkt__att_dims_of(const vkt_node *n);

/* Whether the node names a kernel shaped for other devices. */
bool vkt__attention_is_foreign(const vkt_node *n, const vkt_caps *caps);

double vkt__att_dot(const double *a, const double *b, uint64_t n);
/* The twins. */
void vkt__attention_ref(const vkt_node *n, double *const *in, double *const *out);
void vkt__attention_bwd_ref(const vkt_node *n, double *const *in, double *const *out);
void vkt__attention_delta_ref(const vkt_node *n, double *const *in, double *const *out);

#endif
