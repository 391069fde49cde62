/* Recipes as the page names them: a file within the roots, or a built-in one by its name. */
#ifndef VKT_TOOLS_UI_RECIPES_H
#define VKT_TOOLS_UI_RECIPES_H

#include "ui.h"

/* The word for a command line; NULL: r was refused. Free it. */
char *ui_recipe_word(ui *u, http_request *r, const json_t *in, const char *name);
/* The recipe that a run was made with, where it is still there and may be read; NULL: r was
 * refused. Free it. */
char *ui_recipe_of_run(ui *u, http_request *r, const char *run);
/* "photos" of "/home/me/photos.yaml", of letters that any system takes. Valid until the next call.
 */
const char *ui_recipe_stem(const char *recipe);
bool ui_recipe_is_built_in(const char *name);

#endif
