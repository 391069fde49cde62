/* How fast several ranks are: each one's step before the first real one, by which a batch may be
 * shared, and what they exchange. Every call is OK at once where there is one rank. */
#ifndef VKT_TRAIN_RANK_SPEED_H
#define VKT_TRAIN_RANK_SPEED_H

#include "train/trainer_state.h"

/* Before the session is made: the shares that train.balance lists, or that a run which is resumed
 * was measured to have, into t->fit. ARG. */
vkt_status vkt__ranks_given_shares(vkt__trainer *t);
/* Times this rank's session, whose weights are not there yet; nothing else of it is changed.
 * *again: train.balance is measured, and now t->fit has other shares, with which all ranks build
 * their sessions again and call this again: two numbers of examples tell what a step takes with any
 * number. ARG: a rank would have no example. */
vkt_status vkt__ranks_time(vkt__trainer *t, bool *again);
/* Before the first step, after vkt__session_join: who does what, what is exchanged, and how much of
 * the ranks' time is left for training by what was measured. */
vkt_status vkt__ranks_say_shares(vkt__trainer *t);
/* train.balance measured: a window of steps begins; and at its end, when no step is under way,
 * whether the ranks' own times have drifted apart: *again, and t->fit has other shares, with which
 * all ranks build their sessions again. The steps that are left have to gain what that costs. */
void vkt__ranks_begin_window(vkt__trainer *t);
vkt_status vkt__ranks_end_window(vkt__trainer *t, bool *again);
/* After the last step: what the exchange took, into the log and the run's record. */
void vkt__ranks_note_exchange(vkt__trainer *t);

#endif
