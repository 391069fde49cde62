/* The losses that training and evaluation graphs end in. */
#ifndef VKT_TRAIN_LOSSES_H
#define VKT_TRAIN_LOSSES_H

#include "train/batch_ring.h"
#include "train/language/preference.h"
#include "recipe/loss_heads.h"

/* What they are of. class_weight [n_outputs] f32, or NULL. */
typedef struct vkt__losses {
    const vkt_config *config;
    const vkt_dataset_info *info;
    vkt_model *model;
    const vkt_buffer *class_weight;
    const vkt__loss_terms *terms;
} vkt__losses;

/* The sum of the batch's losses, each with its weight; *hits: how many are right, or NULL. last:
 * the last layer's output, whose hits are counted. */
vkt_tensor *vkt__training_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                               vkt_tensor *last, vkt_tensor **hits);
/* What an evaluation reads of each example, [B] each: the loss, the weighted sum where there are
 * several, whose terms[0 .. n) then are its parts without their weights; whether the last layer is
 * right, of classes, else NULL. No smoothing, focus or class weights: these belong to training. */
typedef struct vkt__eval_losses {
    vkt_tensor *loss, *hit, **terms;
} vkt__eval_losses;
vkt__eval_losses vkt__evaluation_losses(const vkt__losses *s, vkt__ring *l,
                                        const vkt__ring_inputs *in, vkt_tensor *last);
/* Of pairs of answers, by example; the reference is the base, in the same graph. */
vkt__preference vkt__pair_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                               vkt_tensor *logits);
/* The same of masks, without what the model adds: out [B, H, W, C], a weight for each pixel. */
vkt_tensor *vkt__mask_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                           vkt_tensor *out, vkt_tensor **hits);
/* Logits as the cross-entropy takes them, [B, C]; of masks [pixels, C]. */
vkt_tensor *vkt__class_logits(const vkt_dataset_info *info, vkt_graph *g, vkt_tensor *out);

#endif
