/* The starter recipes of tables. */
#ifndef VKT_TOOLS_INIT_TABLES_H
#define VKT_TOOLS_INIT_TABLES_H

#include "init_data.h"

void init_write_table(FILE *f, const init_data *d, const char *name);

#endif
