/* The starter recipes of tables. */
#ifndef VKT_TOOLS_INIT_TABLES_H
#define VKT_TOOLS_INIT_TABLES_H

#include "init_data.h"

bool init_is_table(const init_data *d);
void init_write_table(FILE *f, const init_data *d, const char *name);
/* What --quick or --best changed, of any data, by the recipe without it and this one: a line. */
const char *init_effort_text(init_effort effort, const char *plain, const char *recipe);

#endif
