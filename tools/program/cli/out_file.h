/* Whether a command may write a file: one that is there and that vktrain did not write is not
 * overwritten unasked. */
#ifndef VKT_TOOLS_OUT_FILE_H
#define VKT_TOOLS_OUT_FILE_H

#include <stdbool.h>

/* 0 if there is no file at `path`, or one that vktrain wrote, or an empty one, or none of the
 * ordinary kind, or `force`; else CLI_USAGE after a line that says so. */
int cli_may_write(const char *command, const char *path, bool force);

#endif
