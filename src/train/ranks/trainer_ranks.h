/* What the trainer does in a run with several ranks: what they must have in common, which device
 * each takes, and what rank 0 alone knows and sends the others. Every call is OK at once where
 * there is one rank. */
#ifndef VKT_TRAIN_TRAINER_RANKS_H
#define VKT_TRAIN_TRAINER_RANKS_H

#include "train/trainer_state.h"

/* The others compute as it does, and write nothing. */
bool vkt__ranks_lead(const vkt__trainer *t);
/* The same recipe, then the same data everywhere; ARG on the rank where it is another. */
vkt_status vkt__ranks_same_recipe(vkt__trainer *t);
vkt_status vkt__ranks_same_data(vkt__trainer *t);
/* What this rank opens, into desc: by `devices`, or its place among the ranks of its host.
 * NO_DEVICE, ARG. room: of the name that desc then points to. */
vkt_status vkt__ranks_device(const vkt__trainer *t, vkt_gpu_desc *desc, char room[64]);
/* After it was opened: tells the others, and refuses two ranks on one GPU that nobody asked for. */
vkt_status vkt__ranks_meet_devices(vkt__trainer *t);
/* "llvmpipe; Iris": the devices of all ranks. */
void vkt__ranks_name_devices(const vkt__trainer *t, char *out, size_t n);
/* The measures against a lack of memory that this rank took, all ranks take; *again: all ranks have
 * to build their sessions again, with the new t->fit. */
vkt_status vkt__ranks_fit(vkt__trainer *t, bool *again);
/* Rank 0 has opened its run, and loaded or drawn the weights: now the others have them, too, and
 * its step. */
vkt_status vkt__ranks_follow(vkt__trainer *t);
/* Weights and, if asked for, moments and all else that a checkpoint holds: as on rank 0. */
vkt_status vkt__ranks_share_weights(vkt__trainer *t, bool moments);
/* Builds the session again, with t->fit's shares and the state of training that the one before had;
 * no step is under way. The caller then makes a new loader, which fills the new session's slots. */
vkt_status vkt__ranks_rebuild(vkt__trainer *t);
/* After an evaluation: which one was the best, and whether training ends. */
vkt_status vkt__ranks_share_best(vkt__trainer *t);

#endif
