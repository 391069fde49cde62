/* How `vktrain runs` prints its table. */
#ifndef VKT_TOOLS_RUNS_PRINT_H
#define VKT_TOOLS_RUNS_PRINT_H

#include "runs_table.h"

void runs_print_csv(const runs_options *o, table *t);
void runs_print_json(const runs_options *o, table *t);
/* For people, or as markdown. */
void runs_print_text(const runs_options *o, table *t);
/* Side by side; an exit code. */
int runs_compare(table *t);

#endif
