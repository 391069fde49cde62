/* A conversation in progress, and its tokens as a prompt. */
#ifndef VKT_DATA_TURNS_H
#define VKT_DATA_TURNS_H

#include "vktrain/data.h"

typedef struct vkt__turns {
    struct json_t *messages; /* NULL: none */
} vkt__turns;

/* ARG: the content is not UTF-8. */
vkt_status vkt__turns_add(vkt__turns *t, const char *role, const char *content);
void vkt__turns_finish(vkt__turns *t);
/* Tokens of the conversation and of how an answer begins, in place of what *out has; by the
 * tokenizer's chat template, and the time of day for one that asks. */
vkt_status vkt__turns_prompt(const vkt__turns *t, vkt_tokenizer *tokenizer, bool control,
                             vkt_tokens *out);

#endif
