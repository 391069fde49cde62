/* The entries of `losses` beside the data: which targets each is of, and what the model's outputs
 * are together. */
#ifndef VKT_RECIPE_LOSS_HEADS_H
#define VKT_RECIPE_LOSS_HEADS_H

#include "base/memory.h"
#include "vktrain/recipe.h"

/* Heads for vkt_model_desc, one for each entry of `losses`; of task REGRESS entry i is of the
 * targets which[i][0 .. n_outputs). */
typedef struct vkt__loss_terms {
    size_t n;
    vkt_model_head *heads;
    vkt_loss_kind *kinds; /* of the entries, or as the data's labels want them */
    uint32_t **which;     /* NULL: all of them */
    const char **names;   /* of the entries, for files and tables */
} vkt__loss_terms;
/* ARG: a target that the data has not, one that two entries of different layers predict last, or
 * one that none does. */
vkt_status vkt__loss_terms_of(const vkt_config *c, const vkt_dataset_info *info, vkt__arena *arena,
                              vkt__loss_terms *out);
/* The columns of x [B, n] that entry i is of. */
vkt_tensor *vkt__loss_term_columns(const vkt__loss_terms *t, size_t i, vkt_graph *g, vkt_tensor *x);
/* What the model says of each example, [B, n_outputs] of the data: of REGRESS each target by the
 * last entry that is of it, else the last layer's output. */
vkt_tensor *vkt__loss_terms_output(const vkt__loss_terms *t, const vkt_model *m, vkt_graph *g,
                                   const vkt_dataset_info *info, vkt_tensor *last);
/* Of x [B, n_outputs] the outputs of each label of classes as probabilities. */
vkt_tensor *vkt__label_probabilities(const vkt_dataset_info *info, vkt_graph *g, vkt_tensor *x);
/* The table for --explain. */
void vkt__loss_terms_explain(const vkt_config *c, const vkt__loss_terms *t, vkt__str *out);

#endif
