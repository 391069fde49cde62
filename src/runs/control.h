/* Orders to a run in progress, by a file in its folder that the trainer polls. */
#ifndef VKT_RUNS_CONTROL_H
#define VKT_RUNS_CONTROL_H

#include "vktrain/runs.h"

typedef struct vkt__control {
    char path[1100];
    double polled; /* when the file was last looked for */
} vkt__control;

/* Discards a request that is left over from before the run began. */
void vkt__control_open(const char *run_dir, vkt__control *c);
/* Checks at most twice a second, and removes the request that it returns. False: there is none. An
 * unknown request is logged and discarded. */
bool vkt__control_poll(vkt__control *c, vkt_run_order *out);

#endif
