/* Private to src/train: whether a run's recipe is that which it began with. */
#ifndef VKT_TRAIN_SAME_RECIPE_H
#define VKT_TRAIN_SAME_RECIPE_H

#include "vktrain/recipe.h"

/* Whether two resolved recipes train the same: options that the older one does not know have their
 * defaults, and what only measures (eval.baseline) may differ. before NULL: unknown, so not. */
bool vkt__recipe_same(const char *before, const char *now);

#endif
