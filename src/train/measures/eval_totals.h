/* Joins the ranks' parts of an evaluation: every rank gets the whole. */
#ifndef VKT_TRAIN_EVAL_TOTALS_H
#define VKT_TRAIN_EVAL_TOTALS_H

#include "comm/comm.h"
#include "train/measures/eval_sums.h"
#include "train/measures/ranks.h"

/* sums become those of all ranks' examples, counts exact. scores: of this rank's examples, which
 * become all of them; without room: none are measured. OOM_HOST; COMM. */
vkt_status vkt__eval_total(vkt_comm *c, vkt__eval_sums *sums, vkt__ranks *scores);

#endif
