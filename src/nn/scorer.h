/* Log-likelihoods of texts in batches: a transformer's graphs without caches, whole texts side by
 * side. A graph has a length and a number of rows, and is made when a batch first needs it. */
#ifndef VKT_NN_SCORER_H
#define VKT_NN_SCORER_H

#include "vktrain/nn.h"

typedef struct vkt__scorer vkt__scorer;

/* A text to score: the sum of log p(id[i] | id[0..i)) over i in [first, n), in nats. 1 <= first <
 * n, n - 1 <= the scorer's positions. */
typedef struct vkt__scored {
    const uint32_t *id;
    uint32_t n, first;
    double sum;
} vkt__scored;

/* Of texts of at most n_positions tokens (0: as many as the model has). ARG: m is no transformer.
 * The scorer must not outlive m. */
vkt_status vkt__scorer_create(vkt_model *m, uint32_t n_positions, vkt__scorer **out);
void vkt__scorer_destroy(vkt__scorer **s);
uint32_t vkt__scorer_positions(const vkt__scorer *s);
/* Whether the scores of a text of n tokens have room: a token's are the vocabulary. */
bool vkt__scorer_takes(const vkt__scorer *s, uint32_t n);
/* Sets the sums of texts [n], which it sorts by length. ARG: an id is beyond the vocabulary.
 * Blocks. */
vkt_status vkt__scorer_run(vkt__scorer *s, vkt__scored *const *text, size_t n);

#endif
