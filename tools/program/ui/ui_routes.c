/* The endpoints of all parts of the page: a new part's table is a line here. */
#include "ui.h"

const ui_route *const ui_route_tables[] = { ui_files_routes,
                                            ui_data_routes,
                                            ui_recipe_routes,
                                            ui_recipes_routes,
                                            ui_start_routes,
                                            ui_runs_routes,
                                            ui_studies_routes,
                                            ui_use_routes,
                                            ui_bench_routes,
                                            ui_asks_routes,
                                            NULL };
