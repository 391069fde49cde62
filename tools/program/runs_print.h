/* How `vktrain runs` prints its table. */
#ifndef VKT_TOOLS_RUNS_PRINT_H
#define VKT_TOOLS_RUNS_PRINT_H

#include "runs_table.h"

void runs_print_csv(const runs_options *o, table *t);
void runs_print_json(const runs_options *o, table *t);
/* For people, or as markdown. */
void runs_print_text(const runs_options *o, table *t);
/* cell [n, n_cols] as a markdown table. */
void runs_print_markdown(const cli_column *col, size_t n_cols, const char *const *cell, size_t n);
/* Side by side; an exit code. */
int runs_compare(table *t);

#endif
