/* vktrain eval --tasks. */
#ifndef VKT_PROGRAM_EVAL_TASKS_H
#define VKT_PROGRAM_EVAL_TASKS_H

#include "cli.h"

/* Evaluates, prints, returns the exit code. */
int eval_tasks(const vkt_text_desc *model, const char *path, bool json);

#endif
