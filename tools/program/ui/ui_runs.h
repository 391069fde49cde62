/* What other parts ask of the list of runs. */
#ifndef VKT_TOOLS_UI_RUNS_H
#define VKT_TOOLS_UI_RUNS_H

#include "ui.h"

/* The folder of each trial's study, as often as it has trials. */
void ui_runs_studies(const ui *u, void (*fn)(void *to, const char *dir), void *to);

#endif
