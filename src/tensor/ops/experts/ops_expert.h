/* Mixtures of experts: rows go to k experts each (vkt__route), are sorted by them, multiplied with
 * each expert's own matrices, and added up again. R rows, E experts, P places: k R and as many more
 * as make every expert's a multiple of VKT_EXPERT_ROWS. */
#ifndef VKT_TENSOR_OPS_EXPERT_H
#define VKT_TENSOR_OPS_EXPERT_H

#include "tensor/graph/op.h"

typedef struct vkt__routes {
    vkt_tensor *w;     /* [R, k] f32: probabilities of those chosen, or their shares of their sum */
    vkt_tensor *count; /* [E] f32: rows that each expert gets; no gradient */
    vkt_tensor *source; /* [P] u32: which of the k R a place holds; k R: none */
    vkt_tensor *place;  /* [R, k] u32: where each lies */
    vkt_tensor *first;  /* [E + 1] u32: each expert's first place, in VKT_EXPERT_ROWS */
} vkt__routes;

/* p [R, E] f32: the k largest of each row, of equal ones the first. norm: as shares of their sum.
 * Kernels top_k.comp, expert_count.comp, expert_order.comp. SHAPE: k is 0 or more than E. */
vkt__routes vkt__route(vkt_graph *g, vkt_tensor *p, uint32_t k, bool norm);
/* x [R, C] -> [P, C], zeros in empty places. C a multiple of 4. */
vkt_tensor *vkt__expert_gather(vkt_graph *g, vkt_tensor *x, const vkt__routes *r);
/* x [P, K], w [E, N, K] -> [P, N]: x w[e]^T, e the place's expert. N and K multiples of 4. */
vkt_tensor *vkt__expert_linear(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, const vkt__routes *r);
/* x [P, C] -> [R, C]: the sum of each row's places, each times its w. */
vkt_tensor *vkt__expert_combine(vkt_graph *g, vkt_tensor *x, const vkt__routes *r);

#endif
