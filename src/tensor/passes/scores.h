/* Attention's scores as general ops make them: a product of queries and keys, times a number,
 * perhaps capped, with places hidden by masks whose numbers are known. */
#ifndef VKT_TENSOR_SCORES_H
#define VKT_TENSOR_SCORES_H

#include "tensor/graph/op.h"

typedef struct vkt__scores {
    vkt_node *product; /* queries times keys */
    double scale, cap; /* cap 0: none */
    uint32_t window;   /* 0: none */
    bool full;         /* not causal */
} vkt__scores;

/* Reads x, a softmax's input that nothing else reads, back to its product. False: something else
 * is done to it, other places are hidden than attention's row can hide, or another reads what is
 * between. A place is hidden where at most VKT__HIDDEN is added or put there. */
#define VKT__HIDDEN (-1e4)
bool vkt__scores_of(const vkt_tensor *x, vkt__scores *out);

#endif
