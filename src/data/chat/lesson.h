/* Private to the library: what of a conversation an assistant is to learn. */
#ifndef VKT_DATA_LESSON_H
#define VKT_DATA_LESSON_H

#include "data/chat/conversation.h"

/* Whether message k of v, or of these in their place, is to be learned. */
bool vkt__turn_counts(const vkt__conversation *v, const struct json_t *messages, size_t k);
/* What is wrong with a message's "weight" or "train", which say whether it counts: 0 or 1, true or
 * false; NULL: nothing. */
const char *vkt__weight_wrong(const struct json_t *message);
/* The conversation to learn from. Where the template has {% generation %}, what these blocks write
 * counts; else each of the assistant's turns with the end tokens that the template writes behind
 * it, but no turn with "weight": 0 or "train": false. Control tokens' texts that stand in the
 * messages of others than the assistant stay texts. FORMAT: the template refuses it, or it can't be
 * told where a turn begins and ends. *out: zeroed or of an earlier call. */
vkt_status vkt__chat_lesson(const vkt__chat *c, const vkt__conversation *v, vkt__chat_text *out);

#endif
