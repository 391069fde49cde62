/* A run's note as somebody has changed it since: RUN/note.txt, one line, which counts instead of
 * run.json's, so that a run in progress may have one, too. */
#ifndef VKT_RUNS_RUN_NOTE_H
#define VKT_RUNS_RUN_NOTE_H

#include "base/words.h"
#include "vktrain/runs.h"

/* The changed note, in the arena; NULL: nobody has changed it. One that can't be read says so. */
const char *vkt__run_note(const char *dir, vkt__arena *a);
/* Leaves run.json's to count again. */
vkt_status vkt__run_note_drop(const char *dir);

#endif
