/* Text from a generator, token by token, given out in whole UTF-8 characters: for vkt_generate and
 * for the samples of a run. Knows no checkpoint and no run. */
#ifndef VKT_TRAIN_TEXT_STREAM_H
#define VKT_TRAIN_TEXT_STREAM_H

#include "vktrain/train.h"

/* Appends the tokens of a prompt, control tokens among them where `control`; of none (NULL or "")
 * one with which a text begins. FORMAT: the vocabulary lacks what is in it. */
vkt_status vkt__prompt_tokens(vkt_tokenizer *t, const char *prompt, bool control, vkt_tokens *out);
/* Generates text after `tokens` (at least one, at most as many as g has positions) and appends the
 * new tokens to them. Of desc only n_tokens, sampler, stop and fn are read. Blocks. */
vkt_status vkt__text_stream(vkt_generator *g, const vkt_tokenizer *tokenizer,
                            const vkt_generate_desc *desc, vkt_tokens *tokens,
                            vkt_generate_result *out);

#endif
