/* A line of a file of tasks, in each of the forms that vkt_eval_tasks takes: what is to be scored
 * or written. It knows no model and no tokens. */
#ifndef VKT_TRAIN_TASK_LINES_H
#define VKT_TRAIN_TASK_LINES_H

#include "base/memory.h"

typedef struct vkt__task_choice {
    const char *context, *continuation; /* the latter is scored behind the former */
    size_t bytes;                       /* of the choice itself, without a delimiter */
} vkt__task_choice;

typedef enum vkt__task_kind {
    VKT__TASK_CHOICES, /* which of them is likeliest */
    VKT__TASK_ANSWER,  /* what is written behind the prompt */
    VKT__TASK_TEXT     /* how likely the one choice is */
} vkt__task_kind;

typedef struct vkt__task {
    vkt__task_kind kind;
    const char *category;           /* or NULL */
    const vkt__task_choice *choice; /* [n_choices] */
    size_t n_choices, gold;
    const char *prompt, *answer, *const *stop; /* [n_stop] */
    size_t n_stop;
    uint64_t n_tokens; /* of an answer, at most */
} vkt__task;

/* line [n]. NULL, or what is wrong with it. All texts are the arena's. */
const char *vkt__task_read(const char *line, size_t n, vkt__arena *a, vkt__task *out);

#endif
