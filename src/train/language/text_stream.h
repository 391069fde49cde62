/* Text from a generator, token by token, given out in whole UTF-8 characters: for vkt_generate and
 * for the samples of a run. Knows no checkpoint and no run. */
#ifndef VKT_TRAIN_TEXT_STREAM_H
#define VKT_TRAIN_TEXT_STREAM_H

#include "base/memory.h"
#include "vktrain/train.h"

/* Appends the tokens of a prompt, control tokens among them where `control`; of none (NULL or "")
 * one with which a text begins. FORMAT: the vocabulary lacks what is in it. */
vkt_status vkt__prompt_tokens(vkt_tokenizer *t, const char *prompt, bool control, vkt_tokens *out);
/* A text in the making, a token at a step. Of desc n_tokens, sampler, stop, fn, cancelled and user
 * are read; tokens and generator are its own until it is finished. */
typedef struct vkt__text {
    vkt_generator *generator;
    const vkt_tokenizer *tokenizer;
    vkt_generate_desc desc;
    vkt_tokens *tokens; /* the new ones are appended */
    vkt_generate_result result;
    vkt__str held; /* not given out yet: part of a character, or what may become a stop string */
    uint32_t n_new;
    bool stopped, ended; /* at a stop string; in any way */
    bool complete;       /* by itself, not for its length or because it was cancelled */
} vkt__text;
/* After `tokens` (at least one, at most as many as the generator has positions). */
void vkt__text_begin(vkt__text *s, vkt_generator *g, const vkt_tokenizer *tokenizer,
                     const vkt_generate_desc *desc, vkt_tokens *tokens);
/* The next token; s->ended: there was none, and all text is given out. Blocks. */
vkt_status vkt__text_step(vkt__text *s);
void vkt__text_finish(vkt__text *s);
/* Generates text after `tokens` (at least one, at most as many as g has positions) and appends the
 * new tokens to them. Of desc only n_tokens, sampler, stop and fn are read. Blocks. */
vkt_status vkt__text_stream(vkt_generator *g, const vkt_tokenizer *tokenizer,
                            const vkt_generate_desc *desc, vkt_tokens *tokens,
                            vkt_generate_result *out);

#endif
