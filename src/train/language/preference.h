/* Losses of preferences: pairs of answers, in two rows of a batch each. */
#ifndef VKT_TRAIN_PREFERENCE_H
#define VKT_TRAIN_PREFERENCE_H

#include "vktrain/recipe.h"

/* Of B pairs: loss [B] f32; rewards [2 B] f32, each pair's chosen answer's and rejected one's;
 * hits [1]: how many pairs have the higher reward for the chosen one, a tie as one half. */
typedef struct vkt__preference {
    vkt_tensor *loss, *rewards, *hits;
} vkt__preference;

/* h = reward(chosen) - reward(rejected) - loss.margin; the loss is -log sigmoid(h), with label
 * smoothing e (1 - e) times that and e times -log sigmoid(-h). ce, reference [2 B * T] f32: the
 * cross-entropies of tokens, 0 where one does not count; of each two rows of T the first is the
 * chosen answer's. An answer's reward is
 * - dpo: loss.beta times how much likelier it is than for the reference, log p - log p_ref
 *   (Rafailov et al. 2023, arXiv 2305.18290);
 * - simpo: loss.beta times the mean of its tokens' log p; ce is weighted by 1 / tokens, and there
 *   is no reference, NULL (Meng et al. 2024, arXiv 2405.14734). */
vkt__preference vkt__preference_loss(vkt_graph *g, const vkt_config *c, vkt_tensor *ce,
                                     vkt_tensor *reference, uint32_t B);

#endif
