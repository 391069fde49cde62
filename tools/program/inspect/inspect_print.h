/* The table that the kinds of `vktrain inspect` print, and their error line. */
#ifndef VKT_TOOLS_INSPECT_PRINT_H
#define VKT_TOOLS_INSPECT_PRINT_H

#include "cli.h"

/* A growing list of table cells; each is a copy, harmless to a terminal. */
typedef struct inspect_cells {
    char **text;
    size_t n;
} inspect_cells;
void inspect_cell(inspect_cells *c, const char *text);
void inspect_cells_print(const inspect_cells *c, const cli_column *col, size_t n_cols);
void inspect_cells_free(inspect_cells *c);

/* "'PATH': WHY" as the error line; CLI_DATA. */
int inspect_damaged(const char *path, const char *why);

#endif
