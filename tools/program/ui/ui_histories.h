/* What the runs that were asked for last have measured, read in parts, so that a run of a million
 * steps does not keep the page waiting. */
#ifndef VKT_TOOLS_UI_HISTORIES_H
#define VKT_TOOLS_UI_HISTORIES_H

#include <stdbool.h>

#include "vktrain/runs.h"

/* As far as it is read; *more: ask again. NULL: it has measured nothing yet, or can't be read.
 * Valid until the next call. */
const vkt_history *ui_history_of(const char *dir, bool *more);
/* Reads on; whether there is more: call it again at once then. */
bool ui_histories_step(void);

#endif
