/* What log-likelihoods of texts say of tasks: which choice is likeliest, whether an answer is the
 * one, and their sums. Numbers and texts only: it knows no model. */
#ifndef VKT_TRAIN_TASK_SCORES_H
#define VKT_TRAIN_TASK_SCORES_H

#include "nn/scorer.h"
#include "vktrain/train.h"

/* log softmax(scores [n])[id]. */
double vkt__log_share(const float *scores, uint32_t n, uint32_t id);
/* The tokens [first, n) of a text are to be scored by a model that sees `most` of those before
 * one: the first token that is kept. false: what is to score is longer than that itself. */
bool vkt__task_window(size_t n, size_t first, size_t most, size_t *begin);
/* A question, of its choices' texts [n] and bytes [n]; of equally likely ones the first counts. */
vkt_tasks_group vkt__task_question(const vkt__scored *text, const size_t *bytes, size_t n,
                                   size_t gold);
/* One text. */
vkt_tasks_group vkt__task_text(const vkt__scored *text, uint64_t bytes);
/* Whether the text that was written is the right one; white space around it does not count. */
vkt_tasks_group vkt__task_answer(const char *made, const char *answer);
void vkt__task_add(vkt_tasks_group *to, const vkt_tasks_group *g);
/* Bytes of a text [n] without the white space at its end. */
size_t vkt__task_trimmed(const char *text, size_t n);

#endif
