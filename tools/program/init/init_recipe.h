/* The starter recipe for what vktrain init found out about the data. */
#ifndef VKT_TOOLS_INIT_RECIPE_H
#define VKT_TOOLS_INIT_RECIPE_H

#include "init_data.h"

/* YAML with comments. The data set's numbers must be in d->info. */
void init_write_recipe(FILE *f, const init_data *d, const char *name);

#endif
