/* A recipe's tree -> options and model. */
#ifndef VKT_RECIPE_RECIPE_H
#define VKT_RECIPE_RECIPE_H

#include "formats/yaml.h"
#include "recipe/config_private.h"
#include "recipe/options.h"

/* The tree of a recipe -> options and model. */
vkt_status vkt__recipe_apply(vkt_config *c, const vkt__yaml *root, const char *source);
/* One option from a tree: any type. */
vkt_status vkt__option_set_node(vkt_config *c, int index, const vkt__yaml *node, const char *where);

#endif
