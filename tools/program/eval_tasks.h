/* vktrain eval --tasks. */
#ifndef VKT_PROGRAM_EVAL_TASKS_H
#define VKT_PROGRAM_EVAL_TASKS_H

#include "cli.h"

/* Evaluates, prints, returns the exit code. */
int eval_tasks(const cli_options *common, const char *path, bool json);

#endif
