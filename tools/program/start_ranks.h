/* Several devices by one command: the program starts itself once for each, by the launcher of MPI.
 */
#ifndef VKT_TOOLS_START_RANKS_H
#define VKT_TOOLS_START_RANKS_H

#include "cli.h"

/* The devices of `list`, names with commas between them, or "all" GPUs; 0: said why not. */
size_t start_ranks_count(const char *list);
/* argv, the whole command line, run as n ranks; their exit code. Signals go to all of them. */
int start_ranks(size_t n, char **argv);

/* Refuses a command that was started as several processes and can't run so. */
int start_ranks_refuse(const char *command);

#endif
