/* Endpoints of the recipe's editor: read, check, save, and the table of options. */
#include "ui.h"

const ui_route ui_recipe_routes[] = { { 0 } };
