/* What a recipe makes of each task: a row. */
#ifndef VKT_RECIPE_TASK_RULES_H
#define VKT_RECIPE_TASK_RULES_H

#include "recipe/measure.h"
#include "vktrain/recipe.h"

typedef struct vkt__task_rules {
    vkt_loss_kind loss; /* unless the recipe says another */
    const char *metric; /* checkpoint.metric, the same */
    bool own_loss;      /* it has no other, and no other task has it */
    vkt__measured of;   /* its own measures, and no other task has them; VKT__OF_ALL: it has none */
    vkt__measured of_too;  /* others that it has */
    const char *measures;  /* all that it has, in words */
    const char *no_losses; /* why it has no `losses`; NULL: it has */
} vkt__task_rules;
const vkt__task_rules *vkt__task_rules_of(vkt_task task);

#endif
