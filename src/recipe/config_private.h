/* The private side of a configuration: its memory, and where each option was set. */
#ifndef VKT_RECIPE_CONFIG_PRIVATE_H
#define VKT_RECIPE_CONFIG_PRIVATE_H

#include "base/memory.h"
#include "vktrain/recipe.h"

enum { VKT__MAX_OPTIONS = 192 };

struct vkt__config_private {
    vkt__arena arena;
    const char *where[VKT__MAX_OPTIONS]; /* "recipe.yaml:7", "--set optim.lr"; NULL: the default */
};

#endif
