/* The --set values that a run began with, which resuming it keeps: out of the command in its
 * run.json. */
#ifndef KEPT_SETS_H
#define KEPT_SETS_H

#include "cli.h"

typedef struct kept_sets {
    char **set; /* [n] KEY=VALUE, without the keys that are given again */
    size_t n;
    char *text; /* what they point into */
    char *line; /* the command line with them, for run.json */
} kept_sets;
/* Nothing where the folder has no run.json or a damaged one, or another command made it. The status
 * of a run.json that can't be read has its line. */
vkt_status kept_sets_of(const char *run_dir, const cli_list *now, const char *line, kept_sets *out);
void kept_sets_finish(kept_sets *k);

#endif
