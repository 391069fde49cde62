/* Shared by checkpoint.c and checkpoint_set.c only. */
#ifndef VKT_TRAIN_CHECKPOINT_SET_H
#define VKT_TRAIN_CHECKPOINT_SET_H

#include "runs/checkpoint.h"

/* Counts one file operation; true: stop before it. */
bool vkt__crash_now(vkt__crash *crash);
/* FORMAT with *why, unlogged; IO, logged. */
vkt_status vkt__checkpoint_read_state(vkt__arena *a, const char *path, vkt__checkpoint_state *s,
                                      vkt__st_digest digest[2], const char **why);

#endif
