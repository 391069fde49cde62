/* The starter recipes of tables. */
#ifndef VKT_TOOLS_INIT_TABLES_H
#define VKT_TOOLS_INIT_TABLES_H

#include "init_data.h"

bool init_is_table(const init_data *d);
void init_write_table(FILE *f, const init_data *d, const char *name);
/* What --quick or --best changes, of any data: a line. */
const char *init_effort_text(const init_data *d);

#endif
