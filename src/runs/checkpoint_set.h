/* The checkpoints of a run together: which is the best, which is whole, which are deleted, and
 * where a path leads. */
#ifndef VKT_RUNS_CHECKPOINT_SET_H
#define VKT_RUNS_CHECKPOINT_SET_H

#include "runs/checkpoint.h"

/* What a run has, by rising step. Those whose state.json can't be read have `damaged` set. */
typedef struct vkt__checkpoint_item {
    uint64_t step;
    double value; /* NAN: none */
    bool damaged;
    char name[32]; /* "step-00001200" */
} vkt__checkpoint_item;
vkt_status vkt__checkpoint_list(const char *run_dir, vkt__checkpoint_item **items,
                                size_t *n); /* free() */
/* Opens the newest one that is whole; a damaged newer one costs a warning. IO if there is none. */
vkt_status vkt__checkpoint_newest(const char *run_dir, vkt__checkpoint **out);
/* The best of the items (sign +1: larger is better); of equals the earliest; NULL if none has a
 * value. */
const vkt__checkpoint_item *vkt__checkpoint_best(const vkt__checkpoint_item *items, size_t n,
                                                 int sign);
/* The best of a run once the one of this step and value is written; its name is "" if none has a
 * value. */
vkt_status vkt__checkpoint_best_with(const char *run_dir, uint64_t step, double value, int sign,
                                     vkt__checkpoint_item *best);
/* RUN/best -> checkpoints/step-... */
vkt_status vkt__checkpoint_link_best(const char *run_dir, const char *name);
/* Deletes all but the `keep` best and the newest; renames away first. crash: NULL. */
vkt_status vkt__checkpoint_prune(const char *run_dir, uint32_t keep, int sign, vkt__crash *crash);
/* Removes what an interrupted write or prune left behind. Call when a run is opened. */
vkt_status vkt__checkpoint_clean(const char *run_dir);
/* A checkpoint folder, by its state.json. */
bool vkt__checkpoint_is(const char *path);
/* RUN, RUN/best or a checkpoint folder -> checkpoint folder: a run's best, else its newest. Into
 * out. */
vkt_status vkt__checkpoint_find(const char *path, char *out, size_t n);

#endif
