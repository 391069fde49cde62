/* The losses that training and evaluation graphs end in. */
#ifndef VKT_TRAIN_LOSSES_H
#define VKT_TRAIN_LOSSES_H

#include "train/batch_ring.h"
#include "train/language/preference.h"

/* What they are of. class_weight [n_outputs] f32, or NULL. */
typedef struct vkt__losses {
    const vkt_config *config;
    const vkt_dataset_info *info;
    vkt_model *model;
    const vkt_buffer *class_weight;
} vkt__losses;

/* The sum of the batch's losses, each with its weight; *hits: how many are right, or NULL. */
vkt_tensor *vkt__training_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                               vkt_tensor *logits, vkt_tensor **hits);
/* Of pairs of answers, by example; the reference is the base, in the same graph. */
vkt__preference vkt__pair_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                               vkt_tensor *logits);
/* Logits as the cross-entropy takes them, [B, C]; of masks [pixels, C]. */
vkt_tensor *vkt__class_logits(const vkt_dataset_info *info, vkt_graph *g, vkt_tensor *out);
/* Of numbers, or of several labels, whose weights of y = 1 may be `positive`. */
vkt_loss vkt__number_loss(const vkt_config *c, vkt_graph *g, const vkt__ring_inputs *in,
                          vkt_tensor *out, vkt_tensor *positive);

#endif
