/* The model that the page asks. */
#ifndef VKT_TOOLS_UI_USE_H
#define VKT_TOOLS_UI_USE_H

#include <stdbool.h>

#include "ui.h"

/* Writes a token of each text that is being written; whether there is any: call it at once again
 * then. */
bool ui_use_step(ui *u);
/* Whether a model is being opened, by a thread of its own. */
bool ui_use_opens(void);
void ui_use_close(void);

#endif
