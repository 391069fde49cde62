/* Orders to a run in progress, by a file in its folder that the trainer polls. */
#ifndef VKT_TRAIN_CONTROL_H
#define VKT_TRAIN_CONTROL_H

#include "vktrain/runs.h"

typedef struct vkt__control {
    char path[1100];
    double polled; /* when the file was last looked for */
} vkt__control;

/* An order left over from before the run began is thrown away. */
void vkt__control_open(const char *run_dir, vkt__control *c);
/* Looks at most twice a second; takes the order away. False: there is none. What is no order is
 * said and thrown away. */
bool vkt__control_poll(vkt__control *c, vkt_run_order *out);

#endif
