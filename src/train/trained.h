/* A checkpoint opened for use: its recipe, and its weights as the plain model has them, an adapter
 * merged into its base. */
#ifndef VKT_TRAIN_TRAINED_H
#define VKT_TRAIN_TRAINED_H

#include "train/session.h"
#include "vktrain/train.h"

typedef struct vkt__trained {
    vkt__checkpoint *ckpt;
    vkt_config *config; /* finished, without its adapter: the model is the plain one */
    vkt_lora lora;      /* what the run trained beside its base, config->init; rank 0: none */
} vkt__trained;

/* path: a run (its best checkpoint) or a checkpoint folder. vkt__trained_close whatever came. */
vkt_status vkt__trained_open(const char *path, vkt__trained *out);
void vkt__trained_close(vkt__trained *t);
/* Outputs of its model, whose tokenizer may have fewer. */
uint32_t vkt__trained_n_vocab(const vkt__trained *t, const vkt_tokenizer *tokenizer);
/* Fills the plain model's tensors: the average of the weights where the run kept one, unless raw.
 * FORMAT: they are of another model, or the base of an adapter is not the one that it was trained
 * beside; IO: it is not there. */
vkt_status vkt__trained_fill(const vkt__trained *t, const vkt__st_tensor *tensors, size_t n,
                             bool raw);
/* A language model's weights in host memory, in a model without a device; the caller destroys the
 * model and finishes the weights, whatever came. */
vkt_status vkt__trained_text(const vkt__trained *t, const vkt_tokenizer *tokenizer,
                             vkt_model **model, vkt__weights *weights);

#endif
