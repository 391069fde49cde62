/* What vktrain init saw, for programs: `vktrain init DATA --json`, and the page of `vktrain ui`. */
#ifndef VKT_TOOLS_INIT_JSON_H
#define VKT_TOOLS_INIT_JSON_H

#include "init_recipe.h"

/* The file's name, the recipe and the data that it opens, as one object on stdout: examples of each
 * split, classes, columns with their histograms, pictures' files, the first texts. An exit code. */
int init_json(const init_data *d, const char *file, const char *recipe);

#endif
