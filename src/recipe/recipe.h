/* A recipe's text -> options and model. */
#ifndef VKT_RECIPE_RECIPE_H
#define VKT_RECIPE_RECIPE_H

#include "formats/yaml.h"
#include "recipe/config_private.h"
#include "recipe/options.h"

/* The text of a recipe, called `source` -> options and model. ARG. */
vkt_status vkt__recipe_apply(vkt_config *c, const char *text, size_t n, const char *source);
/* ARG, which says what to give, if the path is a folder, of a run or of data. */
vkt_status vkt__recipe_not_folder(vkt_config *c, const char *path);
/* One option from a tree: any type. */
vkt_status vkt__option_set_node(vkt_config *c, int index, const vkt__yaml *node, const char *where);

#endif
