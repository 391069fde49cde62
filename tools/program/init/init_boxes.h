/* The detector that vktrain init writes. */
#ifndef VKT_TOOLS_INIT_BOXES_H
#define VKT_TOOLS_INIT_BOXES_H

#include "init_recipe.h"

/* The section `model`. */
void init_write_detector(FILE *f, const init_data *d);

#endif
