/* The transformer layer's parts, for training (transformer.c) and generation (generator.c). */
#ifndef VKT_NN_TRANSFORMER_H
#define VKT_NN_TRANSFORMER_H

#include "nn/transformer_shape.h"

/* Its kind, and the end of that table. */
extern const vkt__layer_kind vkt__transformer_kinds[];

/* What the ops of one graph are built from. */
typedef struct vkt__tbuilder {
    vkt_model *m;
    vkt_graph *g;
    const vkt__layer *l;
    vkt__tshape s;
    bool train;
    vkt_tensor *docs; /* [B, T] u32 or NULL */
    vkt_tensor
        *there; /* of full attention [B, T] u32: 1 where there is a token, 0 behind the last */
    vkt_tensor *start; /* [1] u32: position of the first token; NULL: 0, and no caches */
    /* Sums over all layers with experts so far, [E]: rows that each expert gets, and the experts'
     * probabilities; NULL: none. */
    vkt_tensor *expert_rows, *expert_sums;
    uint32_t routed;                 /* rows of all these layers */
    vkt_tensor **cache_k, **cache_v; /* of each layer [B, P, Hkv D], or NULL */
} vkt__tbuilder;

/* Tokens [B, n] u32 -> [B, n, C]; then -> logits [B, n, V]. */
vkt_tensor *vkt__transformer_body(vkt__tbuilder *b, vkt_tensor *tokens);
vkt_tensor *vkt__transformer_head(vkt__tbuilder *b, vkt_tensor *x);

/* A generator's graph of one token, and the device's memory that its scores come in: for whoever
 * asks how it runs best. */
const vkt_graph *vkt__generator_graph(const vkt_generator *gen);
const vkt_buffer *vkt__generator_scores(const vkt_generator *gen);

#endif
