/* The endpoints of all parts of the page: a new part's table is a line here. */
#include "ui.h"

const ui_route *const ui_route_tables[] = { ui_files_routes, ui_data_routes, ui_recipe_routes,
                                            NULL };
