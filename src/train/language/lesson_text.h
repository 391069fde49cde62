/* What a language model is to learn, for a reader. */
#ifndef VKT_TRAIN_LESSON_TEXT_H
#define VKT_TRAIN_LESSON_TEXT_H

#include "base/memory.h"
#include "vktrain/data.h"

/* Appends the first conversation, or prompt with its completion, of the training set, the tokens
 * that count between [[ and ]]: nothing for other data, whose tokens all count. */
void vkt__lesson_text(const vkt_dataset *ds, vkt__str *out);

#endif
