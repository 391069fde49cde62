/* A line typed at a terminal, edited as in a shell. */
#ifndef VKT_TOOLS_LINE_EDIT_H
#define VKT_TOOLS_LINE_EDIT_H

#include <stdbool.h>

typedef struct cli_editor cli_editor;

/* NULL where there is nothing to edit at: stdin or stderr is no terminal, the terminal is called
 * dumb, or the system edits lines itself, as Windows' console does. */
cli_editor *cli_editor_create(void);
void cli_editor_destroy(cli_editor **e);
/* Shows the prompt (ASCII) on stderr, and returns the line, for free(); what is pasted may have
 * several. NULL: the input has ended (Ctrl-D). Ctrl-C gives an empty line. */
char *cli_edit_line(cli_editor *e, const char *prompt);

#endif
