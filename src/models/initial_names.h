/* Private to the library: weights of a run whose data had the same columns and classes in another
 * order, or others: what belongs to an input, a category, a class or a target is matched by its
 * name. */
#ifndef VKT_MODELS_INITIAL_NAMES_H
#define VKT_MODELS_INITIAL_NAMES_H

#include "models/weights.h"
#include "vktrain/recipe.h"

/* What of the model was filled by names: the rest is as the run has it. */
typedef struct vkt__by_name {
    const char **tensor; /* [n] their names */
    size_t n;
    vkt__arena arena;
} vkt__by_name;

/* Fills those of w's tensors whose rows or columns stand elsewhere in c->init, a run, a checkpoint
 * or a file that vkt_export wrote (else nothing is done); what has no counterpart there keeps its
 * value. A line says what was matched. schema: of the data that is trained on. fixed: nothing may
 * be moved (beside adapters). FORMAT: the model's first or last layers can't be matched so.
 * vkt__by_name_finish whatever came. */
vkt_status vkt__match_names(const vkt_config *c, const char *schema, bool fixed, vkt__weights *w,
                            vkt__by_name *out);
void vkt__by_name_finish(vkt__by_name *b);

#endif
