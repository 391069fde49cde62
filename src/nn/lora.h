/* Low-rank adapters beside linear layers: what layers with a linear map call. */
#ifndef VKT_NN_LORA_H
#define VKT_NN_LORA_H

#include "nn/params.h"

/* The parameters of an adapter on the linear layer `module`, if it is a target. by_default: where
 * no targets are named. heads: not 0 where the rows of the layer's weights lie by head
 * (VKT_PARAM_ORDER_HEADS). Returns how many were added. */
uint32_t vkt__lora_add(vkt_model *m, const char *module, uint32_t in, uint32_t out, uint32_t heads,
                       bool by_default);
/* What a magnitude begins with: the norm of each row of w [out, in], or with in_first of each
 * column of [in, out]. */
void vkt__lora_norms(const float *w, uint64_t out, uint64_t in, bool in_first, float *norms);
/* What else is trained: the parameters of desc.modules, and the biases; beside the net of a file
 * whatever is not the file's. After all layers are planned. */
void vkt__lora_thaw(vkt_model *m);
/* A layer's scale and rank. */
float vkt__lora_of(const vkt_lora *l, const char *module, uint32_t *rank);
/* ARG: a target, or a name of the patterns or modules, has matched no layer, or a pattern is no
 * list of names and values. */
vkt_status vkt__lora_check(const vkt__adapters *a, const char *source);
/* What a linear layer reads: x [..., in], its weights w, [out, in] in layout NT or [in, out] in NN,
 * and its bias b [out] or NULL. */
typedef struct vkt__linear {
    vkt_tensor *x, *w, *b;
    vkt_layout layout;
} vkt__linear;
/* The layer `module`, and what its adapter adds, where it has one. */
vkt_tensor *vkt__lora_linear(vkt_model *m, vkt_graph *g, const char *module, const vkt__linear *l,
                             bool train);

#endif
